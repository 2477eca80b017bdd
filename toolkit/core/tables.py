"""`Publishable`: the table of an estimate as CSV text, or adjusted for display."""

import csv
import io
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from toolkit.core.arrays import ArrayLike, Steps, project_onto_simplex
from toolkit.core.checks import check_integer, reject
from toolkit.core.covers import Covers
from toolkit.core.loss import Loss
from toolkit.core.rounding import apportion

NUMBERS = {
    "estimate": "the released number; a count may be negative, which keeps it unbiased unless notes object",
    "se": "its standard error due to the noise, to two digits; empty where it would reveal something about the data",
    "low": "lower end of the interval, rounded down",
    "high": "upper end of the interval, rounded up",
}
COUNTS = {
    "count": "the number of values behind it, with noise; it may be negative",
    "count se": "the standard error of that number",
}
_WHOLE = 2**53
# A float has at most 309 digits before the point; a released number is written in full, whatever its size.
_EVERY_DIGIT = Context(prec=400)


def key_columns(axes: Sequence[str]) -> list[str]:
    """Return the names of the key columns, with the prefix "key" for names that a column of numbers already has."""
    return [f"key {axis}" if axis in NUMBERS or axis in COUNTS else axis for axis in axes] or ["label"]


def csv_text(
    axes: Sequence[str], rows: Sequence[Sequence[Any]], whole: bool, counts: Sequence[tuple[float, float]] | None = None
) -> str:
    """Return CSV text with one line per cell: keys, estimate, se, low and high, and the count of values if released.

    Numbers have as many digits as their errors justify. A key that a spreadsheet would interpret as a formula is
    preceded by an apostrophe.
    """
    columns = key_columns(axes)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*map(escape_formulas, columns), *NUMBERS, *(COUNTS if counts is not None else ())])
    errors = [se for *_, se, _, _ in rows if math.isfinite(se) and se > 0]
    digits = 0 if whole or not errors else max(0, 1 - math.floor(math.log10(min(errors))))
    for index, (label, value, se, low, high) in enumerate(rows):
        keys = label if isinstance(label, tuple) and len(columns) > 1 else (label,)
        has_error = math.isfinite(se)
        count = None if counts is None else counts[index]
        count_cells = () if count is None else (_number(count[0], 0, ROUND_HALF_EVEN), _error(count[1]))
        writer.writerow(
            [
                *(str(escape_formulas(key)) for key in keys),
                _number(value, digits if has_error else None, ROUND_HALF_EVEN),
                _error(se),
                _number(low, digits if has_error else None, ROUND_FLOOR),
                _number(high, digits if has_error else None, ROUND_CEILING),
                *count_cells,
            ]
        )
    return out.getvalue()


def _number(number: float, digits: int | None, rounding: str) -> str:
    if not math.isfinite(number):
        return ""
    if digits is None:
        return str(int(number)) if number == int(number) and abs(number) < _WHOLE else str(number)
    return str(Decimal(str(number)).quantize(Decimal(1).scaleb(-digits), rounding, _EVERY_DIGIT))


def _error(se: float) -> str:
    if not math.isfinite(se) or se <= 0:
        return ""
    digits = 1 - math.floor(math.log10(se))
    return f"{round(se, digits):.{max(digits, 0)}f}"


TIDIED = "tidied for display: biased, do not add up; small counts lose and empty cells gain; cite the raw table"
"""The note of a table that must not be used in computations."""


def tidied(values: ArrayLike, total: int | None) -> Steps:
    """Return the nearest table of nonnegative whole numbers with a given total; the default is the rounded sum.

    The projection of the values onto the simplex (norm-sub) is rounded by largest remainders.

    References: Wang, Lopuhaä-Zwakenberg, Li, Skoric and Li (2020), Locally differentially private frequency estimation
    with consistency.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim == 0 or not np.all(np.isfinite(table)):
        reject("only a table of numbers can be tidied", "a single number, or NaN", "its cells share a total")
    size = max(0, round(float(table.sum()))) if total is None else check_integer(total, "total", minimum=0)
    return np.array(apportion(project_onto_simplex(table, size).tolist(), size), dtype=np.int64)


class ReleaseRecord(Protocol):
    """The interface of `toolkit.budget.publishing.ReleaseFacts`: the public facts of a release."""

    @property
    def query(self) -> Mapping[str, Any]: ...
    def after(self, step: str) -> Any: ...
    def publish(
        self,
        estimate: Any,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        level: float = 0.95,
        overwrite: bool = False,
    ) -> Path: ...


class Publishable:
    """The methods `publish`, `tidied` and `to_csv` of an `Estimate`."""

    if TYPE_CHECKING:
        value: Any
        labels: tuple[Any, ...]
        axes: tuple[str, ...]
        counts: "Publishable | None"
        loss: Loss | None
        n: int | None
        covers: Covers
        method: str
        notes: tuple[str, ...]
        release: ReleaseRecord | None

        @property
        def whole(self) -> bool: ...

        def _rows(self, level: float) -> list[tuple[Any, float, float, float, float, bool]]: ...

    def publish(
        self, path: str | os.PathLike[str], *, title: str | None = None, level: float = 0.95, overwrite: bool = False
    ) -> Path:
        """Write the table to `path`.csv, the public facts to `path`.json, and a readable page to `path`.md.

        The page is a .html, .docx or .pdf file instead if `path` has that suffix.

        The files contain nothing from the data except the released numbers. In particular, they do not contain the
        number of clamped values or of rows without a value. The ledger records the publication; see `ledger.report()`.

        Parameters
        ----------
        path : str or path
            A path without a suffix, or with the suffix of one of the three files.
        title : str, optional
            The title of the page; by default the name of the release.
        level : float
            The level of the intervals.
        overwrite : bool
            Whether existing files may be replaced.

        Returns
        -------
        pathlib.Path
            The path of the JSON file.

        Raises
        ------
        ValueError
            If no curator released the estimate, the folder does not exist, or a file exists already.
        """
        if self.release is None:
            consequence = "a document states the cost and the ledger of a release"
            reject("only the release of a curator can be published", "another estimate", consequence)
        return self.release.publish(self, path, title=title, level=level, overwrite=overwrite)

    def tidied(self, total: int | None = None) -> Self:
        """Return a presentable table of nonnegative whole numbers with a given total.

        Display this table next to the raw table; it does not replace the raw table, because it is biased and has no
        standard error.

        Parameters
        ----------
        total : int, optional
            The required sum of the cells; by default the rounded sum of the estimates.

        Returns
        -------
        Estimate
            Whole numbers without an error.
        """
        if self.release is not None and "tables" in self.release.query:
            reject("only one table can be tidied", "several", "tidied separately, they would disagree")
        cells = tidied(self.value, total)
        unknown = np.full(len(cells), math.nan)
        return replace(  # type: ignore[type-var]
            self,
            value=cells,
            se=unknown,
            cov=None,
            basis=None,
            notes=(*self.notes, TIDIED),
            release=self._after(TIDIED),
        )

    def _after(self, step: str) -> "ReleaseRecord | None":
        return None if self.release is None else self.release.after(step)

    def to_csv(self, level: float = 0.95) -> str:
        """Return the table as CSV, with one line per cell; no spreadsheet reads a key as a formula.

        Parameters
        ----------
        level : float
            The level of the intervals.

        Returns
        -------
        str
            The contents of the CSV file that `publish` writes.

        Examples
        --------
        >>> from toolkit import forced
        >>> print(forced("1/6", "1/6").estimate_counts({"no": 713, "yes": 287}).to_csv())
        label,estimate,se,low,high
        yes,0.180,0.021,0.139,0.224
        <BLANKLINE>
        """
        numbers = np.atleast_1d(self.value).tolist() if self.whole else [row[1] for row in self._rows(level)]
        rows = [
            (label, number, se, low, high)
            for number, (label, _, se, low, high, _) in zip(numbers, self._rows(level), strict=True)
        ]
        counts = None if self.counts is None else [(row[1], row[2]) for row in self.counts._rows(level)]
        return csv_text(self.axes, rows, self.whole, counts)


_STARTS = r"(?:^|(?<=[;,\t\r\n]))"
_FORMULA = r"(?=[\s\"']*[=+\-@＝＋－＠])"
_DANGER = re.compile(_STARTS + _FORMULA)
_DEFUSED = re.compile(f"{_STARTS}'{_FORMULA}")


def escape_formulas(value: object) -> Any:
    """Return a cell for a CSV file, with an apostrophe before every part that a spreadsheet would read as a formula.

    A German version of Excel splits a file at semicolons even if its columns are separated by commas. So a formula may
    also begin after any separator or line break inside a text. `unescape_formulas` removes the apostrophes.
    """
    return _DANGER.sub("'", value) if isinstance(value, str) and _DANGER.search(value) else value


def unescape_formulas(value: object) -> Any:
    """Return a cell without the apostrophes that `escape_formulas` has added."""
    return _DEFUSED.sub("", value) if isinstance(value, str) else value
