"""What all randomizers of tick boxes share: how answers are read, and an estimate for each box."""

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
from toolkit.local.matrix.moments import from_support, scored_option
from toolkit.local.oracles.support import SupportRandomizer, covariance_note, display_note

_LABEL = (str, int, float, np.number)
_TRUTH = (bool, np.bool_)  # equal to the labels 0 and 1, and none


@dataclass(frozen=True, repr=False)
class Boxes(SupportRandomizer):
    """Any of `options` may be ticked; the estimate is the share of people who tick each."""

    asks = "ticks"

    @property
    def _sensitivity(self) -> float:
        # Each box may change.
        return float(len(self.options))

    def scores(self, reports: Values, option: str | int | None = None) -> Array:
        read, box = self._read(reports)
        scores = from_support(read, self._score_range(), self.options, option, focus=False)
        if box is None:
            return scores
        column = scored_option(self.options, option, focus=False)
        whom = box == column if column is not None else box[:, None] == np.arange(len(self.options))
        return np.where(whom, scores, np.nan)

    @abstractmethod
    def _read(self, reports: Values) -> tuple[Callable[[int], Mask], Codes | None]:
        """Which reports say yes for a box, by its code; and the one box that each was asked about, if so."""

    def _encoded(self, answers: Values) -> tuple[Mask, bool]:
        return read_ticks(answers, self.options)

    def _estimated(
        self,
        values: Array,
        se: Array,
        cov: Array | None,
        n: int,
        basis: "Shares | BoxShares",
        notes: tuple[str, ...] = (),
    ) -> Estimate:
        fit = basis.fit() if isinstance(basis, BoxShares) else edge_fit(basis, together=False)
        doubts = fit_notes(fit, basis) or display_note(values[np.isfinite(values)], inside=None)
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
    """Answers as a table of truth values, and whether they were one person's row."""
    if isinstance(answers, list) and all(isinstance(row, list | tuple | set | frozenset) for row in answers):
        table = _from_labels(answers, options) if not _numeric(answers, len(options)) else np.array(answers)
    else:
        table = as_array(answers.to_numpy() if hasattr(answers, "to_numpy") else answers)
    single = table.ndim == 1
    table = table.reshape(1, -1) if single else table
    if table.ndim != 2 or table.shape[1] != len(options):
        consequence = "each box is ticked or not"
        reject(f"answers must have {len(options)} columns, one a box", f"shape {table.shape}", consequence)
    if len(table) == 0:
        reject("answers must hold at least one person", "none", "there is nothing to randomize")
    if table.dtype.kind == "O":
        table = _plain(table)
    strange = int(np.count_nonzero((table != 0) & (table != 1))) if table.dtype.kind in "biuf" else table.size
    if strange:
        reject("answers must be truth values, 0 or 1", f"{strange} others of {table.size}", "a box is ticked or not")
    return table.astype(bool), single


def _plain(table: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Objects as numbers; what is none of True, False, 0 and 1 becomes NaN."""
    known = [
        [float(cell) if isinstance(cell, bool | int | float | np.number | np.bool_) else np.nan for cell in row]
        for row in table
    ]
    return np.array(known, dtype=np.float64)


def _numeric(rows: list[Any], k: int) -> bool:
    """A list of rows of k truth values, rather than lists of labels."""
    return all(
        isinstance(row, list | tuple) and len(row) == k and all(isinstance(c, _TRUTH) for c in row) for row in rows
    )


def _zeros_and_ones(row: list[Any] | tuple[Any, ...], k: int) -> bool:
    """Whether labels that are whole numbers could as well be k answers."""
    return len(row) == k and set(row) <= {0, 1}


def _from_labels(rows: list[Any], options: Labels) -> Mask:
    place = {option: column for column, option in enumerate(options)}
    table = np.zeros((len(rows), len(options)), dtype=bool)
    ticks = [label for row in rows for label in row]
    known = sum(isinstance(tick, _LABEL) and not isinstance(tick, _TRUTH) and tick in place for tick in ticks)
    if known < len(ticks):
        reject("ticks must be among the options", f"{len(ticks) - known} that are not", "check spelling and case")
    either = sum(1 for row in rows if isinstance(row, list | tuple) and _zeros_and_ones(row, len(options)))
    if either:
        rule = "a list of ticked labels must not look like a row of 0 and 1"
        consequence = "give truth values, an array of 0 and 1, or a set of labels for each person"
        reject(rule, f"{either} of {len(rows)} that do", consequence)
    for row, cells in zip(rows, table, strict=True):
        cells[[place[label] for label in row]] = True
    return table


@dataclass(frozen=True, eq=False)
class BoxShares:
    """`k` shares, each from a sample of its own; those of equally many people together, NaN of nobody."""

    k: int
    parts: tuple[Shares, ...]
    places: tuple[npt.NDArray[np.intp], ...]
    within: ClassVar[tuple[float, float]] = Shares.within

    @property
    def methods(self) -> tuple[str, ...]:
        return self.parts[0].methods

    @property
    def value(self) -> Array:
        return self._laid_out([part.value for part in self.parts])

    @property
    def se(self) -> Array:
        return self._laid_out([part.se for part in self.parts])

    def uncut(self, level: float, method: str) -> tuple[Array, Array]:
        limits = [part.uncut(level, method) for part in self.parts]
        return self._laid_out([low for low, _ in limits]), self._laid_out([high for _, high in limits])

    def interval(self, level: float, method: str) -> Interval:
        intervals = [part.interval(level, method) for part in self.parts]
        low, high, empty = (
            self._laid_out([getattr(one, side) for one in intervals]) for side in ("low", "high", "empty")
        )
        return Interval(low, high, level, method, empty == 1)

    def tails(self, null: float, method: str) -> Tails:
        tails = [part.tails(null, method) for part in self.parts]
        statistic, below, above = (self._laid_out([one[i] for one in tails]) for i in range(3))
        return statistic, below, above

    def fit(self) -> DesignFit:
        """Whether any share agrees with each box's reports."""
        p = self._laid_out([edge_fit(part, together=False).p for part in self.parts])
        return DesignFit(p, "exact binomial tail of each box")

    def _laid_out(self, entries: list[Any]) -> Array:
        """What the parts have, each in its place."""
        laid = np.full(self.k, np.nan)
        for place, numbers in zip(self.places, entries, strict=True):
            laid[place] = numbers
        return laid
