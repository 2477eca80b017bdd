"""`Publishable`: what an estimate that was released can do to become a document."""

import csv
import datetime as dt
import hashlib
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from toolkit import __version__
from toolkit.core.arrays import ArrayLike, Steps, project_onto_simplex
from toolkit.core.checks import refuse, whole
from toolkit.core.covers import Covers
from toolkit.core.document import Document, harmless
from toolkit.core.inference.digits import round_up, short
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.core.rounding import apportion


class PublicationRegister(Protocol):
    """Where a publication is written down: a ledger's list of what was published."""

    def add(self, entry: int, file: str, digest: str) -> None: ...


@dataclass(frozen=True, eq=False)
class ReleaseFacts:
    """Public facts about a release: mappings of names to texts, numbers, truth values, lists and mappings.

    `query` is what was asked, `unit` whom the promise is about, `noise` the mechanism, `ledger` its entry with what it
    cost, `steps` what was done to the released numbers afterwards, `register` where a publication is written down.
    """

    query: Mapping[str, Any]
    unit: Mapping[str, Any]
    noise: Mapping[str, Any]
    ledger: Mapping[str, Any]
    steps: tuple[str, ...] = ()
    register: PublicationRegister | None = field(default=None, repr=False)

    def after(self, step: str) -> "ReleaseFacts":
        """The same facts, and one more thing that was done to the numbers."""
        return replace(self, steps=(*self.steps, step))


SCHEMA = "toolkit.release/1"
NUMBERS = {
    "estimate": "the released number; a count may be negative, which keeps it unbiased unless notes object",
    "se": "its standard error by the noise, to two digits; empty where the error would tell about the data",
    "low": "lower end of the interval, rounded down",
    "high": "upper end of the interval, rounded up",
}
COUNTS = {
    "count": "the number of values behind it, with noise of its own; it may be negative",
    "count se": "the standard error of that number",
}
_OTHER_FILES = (".xlsx", ".xls", ".ods", ".tsv", ".txt", ".parquet", ".feather", ".sav", ".dta", ".xml", ".tex", ".doc")
_WHOLE = 2**53
# A float has at most 309 digits before the point; what was released is written whatever its size.
_EVERY_DIGIT = Context(prec=400)
_UNITS = {
    ("person", "replace"): "one person, whose record is exchanged for another",
    ("person", "add_remove"): "one person, who comes or goes",
    ("record", "replace"): "one record, which is exchanged for another",
    ("record", "add_remove"): "one record, which comes or goes",
}


def key_columns(axes: Sequence[str]) -> list[str]:
    """What the columns of keys are called: as in the data, unless that is the name of a number."""
    return [f"key {axis}" if axis in NUMBERS or axis in COUNTS else axis for axis in axes] or ["label"]


def csv_text(
    axes: Sequence[str], rows: Sequence[Sequence[Any]], whole: bool, counts: Sequence[tuple[float, float]] | None = None
) -> str:
    """One line a cell: its keys, estimate, se, low, high, with the digits that the error allows, and the number of
    values behind it, where that is told. A key that a spreadsheet would take for a formula has an apostrophe before
    it.
    """
    columns = key_columns(axes)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*map(harmless, columns), *NUMBERS, *(COUNTS if counts is not None else ())])
    errors = [se for *_, se, _, _ in rows if math.isfinite(se) and se > 0]
    digits = 0 if whole or not errors else max(0, 1 - math.floor(math.log10(min(errors))))
    for place, (label, value, se, low, high) in enumerate(rows):
        keys = label if isinstance(label, tuple) and len(columns) > 1 else (label,)
        known = math.isfinite(se)
        count = None if counts is None else counts[place]
        behind = () if count is None else (_number(count[0], 0, ROUND_HALF_EVEN), _error(count[1]))
        writer.writerow(
            [
                *(str(harmless(key)) for key in keys),
                _number(value, digits if known else None, ROUND_HALF_EVEN),
                _error(se),
                _number(low, digits if known else None, ROUND_FLOOR),
                _number(high, digits if known else None, ROUND_CEILING),
                *behind,
            ]
        )
    return out.getvalue()


def page_text(title: str, facts: Mapping[str, Any], promise: str, covers: Covers) -> str:
    """For people: what was counted, how sure it is, and what it costs whom."""
    query, unit, noise, ledger = (facts[part] for part in ("query", "unit", "noise", "ledger"))
    table, estimate = facts["table"], facts["estimate"]
    level = f"{100 * estimate['level']:g}"
    spent = f"spent {ledger['before']} before, {ledger['after']} after, of {ledger['ceiling']}"
    spread = f", standard deviation {short(noise['sd'])} in a cell" if noise.get("sd") else ""
    lines = [f"# {title}", ""]
    if facts["randomness"] != "operating system":
        lines += ["**Simulated: drawn with a generator. These numbers protect nobody.**", ""]
    lines += [
        f"- What: {query['statistic']}; {table['cells']:,} cell{'s' * (table['cells'] != 1)}, in {table['file']}.",
        *([f"- Only rows where {query['where']}."] if query.get("where") else []),
        *(
            f"- Values of {name}: clamped to {limits['low']} to {limits['high']}, in steps of {limits['step']}."
            for name, limits in query.get("bounds", {}).items()
        ),
        *([f"- Missing values: {query['missing']}."] if query.get("missing") else []),
        f"- Noise: {noise.get('words', noise['mechanism'])}{spread}; no number here is exact.",
        f"- Error: {_error_words(covers, level, clamped=bool(query.get('bounds')))}.",
        f"- Whom it protects: {_UNITS[unit.get('one', 'person'), unit['neighbors']]}; {unit['person']}.",
        f"- Cost: {ledger['loss']}. {promise}",
        *([f"- Charged: {ledger['charged']}; {ledger['terms']}."] if ledger.get("terms") else []),
        f"- Ledger {ledger['id']}, entry {ledger['entry']}: {spent}.",
        *(f"- Afterwards: {step}." for step in facts["post_processing"]),
        *(f"- Note: {note}." for note in estimate["notes"]),
        f"- Made on {facts['date']} with {facts['software']}; SHA-256 of the table {table['sha256']}.",
    ]
    return "\n".join(lines) + "\n"


def _error_words(covers: Covers, level: str, *, clamped: bool) -> str:
    """What is known of the error; one "in ranks", say, has no interval in the unit of the table."""
    left = f"covers {covers.words} alone, not who was asked{', nor what was clamped' if clamped else ''}"
    reach = f"how far it is off in {covers.unit} is in the notes" if covers.unit else f"intervals of {level} %"
    return f"{left}; {reach}"


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
"""The note of a table that is not to be computed with."""


def tidied(values: ArrayLike, total: int | None) -> Steps:
    """Return the nearest table of whole numbers, none negative, that add up to the total; without one, to the sum of
    the values, rounded and at least 0.

    Its projection onto the simplex (norm-sub) is rounded by largest remainders.

    References: Wang, Lopuhaä-Zwakenberg, Li, Skoric and Li (2020), Locally differentially private frequency estimation
    with consistency.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim == 0 or not np.all(np.isfinite(table)):
        refuse("only a table of numbers can be tidied", "a single number, or NaN", "its cells share a total")
    known = max(0, round(float(table.sum()))) if total is None else whole(total, "total", least=0)
    return np.array(apportion(project_onto_simplex(table, known).tolist(), known), dtype=np.int64)


class Publishable:
    """The verbs `publish`, `tidied` and `to_csv` of an `Estimate`."""

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
        release: ReleaseFacts | None

        @property
        def whole(self) -> bool: ...

        def _rows(self, level: float) -> list[tuple[Any, float, float, float, float, bool]]: ...

    def publish(
        self, path: str | os.PathLike[str], *, title: str | None = None, level: float = 0.95, overwrite: bool = False
    ) -> Path:
        """Write `path`.csv, `path`.json and `path`.md: the table, public facts, a page for people.

        The page is a .html, .docx or .pdf file instead if `path` ends so.

        Nothing in them was read from the data but the released numbers: not how many values were clamped, nor how
        many rows were left out. The ledger records the publication; see `ledger.report()`.

        Parameters
        ----------
        path : str or path
            Without a suffix, or with that of one of the three files.
        title : str, optional
            Of the page; what was released if left out.
        level : float
            Of the intervals.
        overwrite : bool
            Whether files that exist may be replaced.

        Returns
        -------
        pathlib.Path
            The path of the JSON.

        Raises
        ------
        ValueError
            If a curator did not release it, the folder does not exist, or a file exists.
        """
        release = self.release
        if release is None:
            consequence = "a document says what it cost and which ledger paid"
            refuse("only what a curator released can be published", "another estimate", consequence)
        if not isinstance(path, str | os.PathLike):
            refuse("`path` must be a text or a Path", type(path).__name__, "files are written there", TypeError)
        base = Path(path)
        if base.suffix.lower() in _OTHER_FILES:
            rule = "`path` must have no suffix, or one of .csv, .json, .md, .html, .docx and .pdf"
            consequence = f'publish("{base.stem}") writes {base.stem}.csv, which spreadsheets open'
            refuse(rule, base.suffix, f"{consequence}; to_frame() is for other files")
        kind = base.suffix.lower()[1:] if base.suffix.lower() in (".html", ".docx", ".pdf") else "md"
        base = base.with_suffix("") if base.suffix.lower() in (".csv", ".json", f".{kind}") else base
        files = {one: base.with_name(f"{base.name}.{one}") for one in ("csv", kind, "json")}
        if not base.parent.is_dir():
            rule = "`path` must lie in a folder that is there"
            refuse(rule, str(base.parent), "nothing was written; make it first, or name another")
        there = [file.name for file in files.values() if file.exists()]
        if there and not overwrite:
            refuse("a publication must not replace another", ", ".join(there), "say overwrite=True if it should")
        table = self.to_csv(level).encode("utf-8", "backslashreplace")
        facts = self._document(release, files["csv"].name, hashlib.sha256(table).hexdigest(), level)
        name = release.query["statistic"] if title is None else title
        files["csv"].write_bytes(table)
        page = page_text(name, facts, promise_of(self.loss, release.unit.get("one", "person")), self.covers)
        if kind == "md":
            files["md"].write_bytes(page.encode("utf-8", "backslashreplace"))
        else:
            Document.from_markdown(page).save(files[kind])
        document = json.dumps({"title": name, **facts}, indent=2, ensure_ascii=False, default=str) + "\n"
        files["json"].write_bytes(document.encode("utf-8", "backslashreplace"))
        if release.register is not None:
            release.register.add(release.ledger["entry"], files["json"].name, facts["table"]["sha256"])
        return files["json"]

    def tidied(self, total: int | None = None) -> Self:
        """Return the table made presentable: no count below 0, all whole, with a given total.

        For display beside the raw table, never in its place: it is biased, and so it has no standard error.

        Parameters
        ----------
        total : int, optional
            What the cells add up to; their own sum, rounded, if left out.

        Returns
        -------
        Estimate
            Whole numbers without an error.
        """
        if self.release is not None and "tables" in self.release.query:
            refuse("only one table can be tidied", "several", "tidied apart they would not agree any more")
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

    def _after(self, step: str) -> "ReleaseFacts | None":
        return None if self.release is None else self.release.after(step)

    def to_csv(self, level: float = 0.95) -> str:
        """Return the table as CSV, a line per cell with its interval; no key in it is a formula for a spreadsheet.

        Parameters
        ----------
        level : float
            Of the intervals.

        Returns
        -------
        str
            The file that `publish` writes.

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
        behind = None if self.counts is None else [(row[1], row[2]) for row in self.counts._rows(level)]
        return csv_text(self.axes, rows, self.whole, behind)

    def _document(self, release: "ReleaseFacts", file: str, digest: str, level: float) -> dict[str, Any]:
        keys = dict.fromkeys(key_columns(self.axes), "a key of the table") | NUMBERS
        keys |= {} if self.counts is None else COUNTS
        return {
            "schema": SCHEMA,
            "table": {"file": file, "sha256": digest, "cells": len(self.labels), "columns": keys},
            "query": dict(release.query),
            "unit": dict(release.unit),
            "noise": dict(release.noise),
            "ledger": dict(release.ledger),
            "estimate": {
                "covers": str(self.covers),
                "level": level,
                "method": self.method,
                "n": self.n,
                "notes": list(self.notes),
            },
            "post_processing": list(release.steps),
            "randomness": "operating system" if self.loss is not None else "a generator: simulated",
            "software": f"toolkit {__version__}",
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
        }


def promise_of(loss: Loss | None, one: str = "person") -> str:
    if isinstance(loss, Pure):
        return f"Through one {one} no outcome becomes more than {_factor(loss.epsilon)} times as probable."
    if isinstance(loss, Approx):
        return (
            f"Through one {one} the probability of any set of outcomes becomes at most {_factor(loss.epsilon)} times "
            f"as large, plus δ = {loss.delta:g}."
        )
    if isinstance(loss, Zcdp):
        return f"That is at most ε = {_up(loss.to_approx('1e-6').epsilon, 4)} with δ = 1e-06."
    return "It claims no privacy."


def _factor(epsilon: float) -> str:
    return f"e^{epsilon:g}" if epsilon > 600 else _up(math.exp(epsilon), 3)


def _up(value: float, digits: int) -> str:
    return f"{value:g}" if math.isinf(value) else f"{round_up(value, digits):f}"
