"""`Boxes`: the base class of randomizers for questions in which several boxes may be ticked."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Codes, Labels, Mask, Values, as_array
from toolkit.core.checks import reject
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.fit import DesignFit, edge_fit, fit_notes
from toolkit.core.inference.intervals import Interval, Shares, Tails
from toolkit.local.matrix.moments import scored_option_code, scores_from_support
from toolkit.local.oracles.support import SupportRandomizer, covariance_note, outside_range_note

_LABEL_TYPES = (str, int, float, np.number)
_BOOLEAN_TYPES = (bool, np.bool_)  # they equal the labels 0 and 1, but are not labels


@dataclass(frozen=True, repr=False)
class Boxes(SupportRandomizer):
    """A randomizer of answers that tick any of `options`; it estimates the share of people who tick each option."""

    answer_kind = "ticks"

    @property
    def _sensitivity(self) -> float:
        # Replacing an answer may change any number of boxes.
        return float(len(self.options))

    def scores(self, reports: Values, option: str | int | None = None) -> Array:
        read, box = self._read_reports(reports)
        scores = scores_from_support(read, self._score_range(), self.options, option, last_by_default=False)
        if box is None:
            return scores
        column = scored_option_code(self.options, option, last_by_default=False)
        whom = box == column if column is not None else box[:, None] == np.arange(len(self.options))
        return np.where(whom, scores, np.nan)

    @abstractmethod
    def _read_reports(self, reports: Values) -> tuple[Callable[[int], Mask], Codes | None]:
        """Return a function from a box to its yes reports, and the box of each report if it concerns only one box."""

    def _encode_answers(self, answers: Values) -> tuple[Mask, bool]:
        return read_ticks(answers, self.options)

    def _make_estimate(
        self,
        values: Array,
        se: Array,
        cov: Array | None,
        n: int,
        basis: "Shares | BoxShares",
        notes: tuple[str, ...] = (),
    ) -> Estimate:
        fit = basis.fit() if isinstance(basis, BoxShares) else edge_fit(basis, together=False)
        doubts = fit_notes(fit, basis) or outside_range_note(values[np.isfinite(values)], inside=None)
        return Estimate(
            value=values,
            se=se,
            labels=self.options,
            cov=cov,
            n=n,
            loss=self.loss,
            covers=SAMPLED,
            method=f"{self.name.replace('_', ' ')}, unbiased",
            notes=(*notes, *doubts, *covariance_note(len(values))),
            basis=basis,
            fit=fit,
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.options)}: epsilon {self.epsilon:.4g}>"


def read_ticks(answers: Values, options: Labels) -> tuple[Mask, bool]:
    """Read answers as a table of truth values; also return whether the input was a single person's answer."""
    if isinstance(answers, list) and all(isinstance(row, list | tuple | set | frozenset) for row in answers):
        table = (
            _table_from_labels(answers, options) if not _are_truth_rows(answers, len(options)) else np.array(answers)
        )
    else:
        table = as_array(answers.to_numpy() if hasattr(answers, "to_numpy") else answers)
    single = table.ndim == 1
    table = table.reshape(1, -1) if single else table
    if table.ndim != 2 or table.shape[1] != len(options):
        consequence = "give a truth value for each box"
        reject(f"answers must have {len(options)} columns, one per box", f"shape {table.shape}", consequence)
    if len(table) == 0:
        reject("answers must hold at least one person", "none", "there is nothing to randomize")
    if table.dtype.kind == "O":
        table = _to_numbers(table)
    strange = int(np.count_nonzero((table != 0) & (table != 1))) if table.dtype.kind in "biuf" else table.size
    if strange:
        reject("answers must be truth values, 0 or 1", f"{strange} others of {table.size}", "a box is ticked or not")
    return table.astype(bool), single


def _to_numbers(table: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Convert objects to numbers; cells of other types become NaN."""
    numbers = [
        [float(cell) if isinstance(cell, bool | int | float | np.number | np.bool_) else np.nan for cell in row]
        for row in table
    ]
    return np.array(numbers, dtype=np.float64)


def _are_truth_rows(rows: list[Any], k: int) -> bool:
    """Return whether every row consists of k truth values rather than of labels."""
    return all(
        isinstance(row, list | tuple) and len(row) == k and all(isinstance(c, _BOOLEAN_TYPES) for c in row)
        for row in rows
    )


def _looks_like_zeros_and_ones(row: list[Any] | tuple[Any, ...], k: int) -> bool:
    """Return whether a list of integer labels could also be read as k answers."""
    return len(row) == k and set(row) <= {0, 1}


def _table_from_labels(rows: list[Any], options: Labels) -> Mask:
    positions = {option: column for column, option in enumerate(options)}
    table = np.zeros((len(rows), len(options)), dtype=bool)
    ticks = [label for row in rows for label in row]
    valid = sum(
        isinstance(tick, _LABEL_TYPES) and not isinstance(tick, _BOOLEAN_TYPES) and tick in positions for tick in ticks
    )
    if valid < len(ticks):
        reject("ticks must be among the options", f"{len(ticks) - valid} others", "check spelling and case")
    either = sum(1 for row in rows if isinstance(row, list | tuple) and _looks_like_zeros_and_ones(row, len(options)))
    if either:
        rule = "a list of ticked labels must not look like a row of 0 and 1"
        consequence = "give truth values, an array of 0 and 1, or a set of labels for each person"
        reject(rule, f"{either} of {len(rows)} that do", consequence)
    for row, cells in zip(rows, table, strict=True):
        cells[[positions[label] for label in row]] = True
    return table


@dataclass(frozen=True, eq=False)
class BoxShares:
    """Shares of `k` boxes, each estimated from the people who were asked about that box.

    Boxes about which the same number of people were asked form a group: `groups` holds the shares and `columns` the
    boxes. The share of a box that nobody was asked about is NaN.
    """

    k: int
    groups: tuple[Shares, ...]
    columns: tuple[npt.NDArray[np.intp], ...]
    within: ClassVar[tuple[float, float]] = Shares.within

    @property
    def methods(self) -> tuple[str, ...]:
        return self.groups[0].methods

    @property
    def value(self) -> Array:
        return self._assemble([group.value for group in self.groups])

    @property
    def se(self) -> Array:
        return self._assemble([group.se for group in self.groups])

    def uncut(self, level: float, method: str) -> tuple[Array, Array]:
        limits = [group.uncut(level, method) for group in self.groups]
        return self._assemble([low for low, _ in limits]), self._assemble([high for _, high in limits])

    def interval(self, level: float, method: str) -> Interval:
        intervals = [group.interval(level, method) for group in self.groups]
        low, high, empty = (
            self._assemble([getattr(interval, side) for interval in intervals]) for side in ("low", "high", "empty")
        )
        return Interval(low, high, level, method, empty == 1)

    def tails(self, null: float, method: str) -> Tails:
        tails = [group.tails(null, method) for group in self.groups]
        statistic, below, above = (self._assemble([numbers[i] for numbers in tails]) for i in range(3))
        return statistic, below, above

    def fit(self) -> DesignFit:
        """Test for each box whether the reports are consistent with any share."""
        p = self._assemble([edge_fit(group, together=False).p for group in self.groups])
        return DesignFit(p, "exact binomial tail of each box")

    def _assemble(self, entries: list[Any]) -> Array:
        """Combine the values of the groups into one array over all boxes."""
        assembled = np.full(self.k, np.nan)
        for columns, numbers in zip(self.columns, entries, strict=True):
            assembled[columns] = numbers
        return assembled
