"""What stands in a cell, read as a report of a design: never guessed, and never quoted; and what one question
is estimated to be in one group.

Text is stripped and its case does not matter. A design's own labels win. Where its reports are a yes and a
no, truth values, 0 and 1 and the usual words stand for them; of any other design, as the crosswise one with
"same" and "different", they would have to be guessed, and are refused.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NewType, Protocol, TypeAlias, TypeGuard, runtime_checkable

import numpy as np

from toolkit.core.arrays import Array, DataFrame, Labels, Values
from toolkit.core.checks import is_missing, reject
from toolkit.core.covers import Covers
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Interval, IntervalBasis
from toolkit.core.loss import Pure
from toolkit.frames.counts import Group
from toolkit.local.catalogue import restore
from toolkit.local.design import Design
from toolkit.local.matrix.encoding import NO, YES, says_yes
from toolkit.local.oracles.support import COVARIANCE_LIMIT
from toolkit.local.protocol import AnswerKind


@runtime_checkable
class QuestionModel(Protocol):
    """A part of `Randomizer`; of plain answers the loss is None, as nothing is promised."""

    @property
    def name(self) -> str: ...
    @property
    def asks(self) -> AnswerKind: ...
    @property
    def options(self) -> Labels: ...
    @property
    def report_options(self) -> Labels: ...
    @property
    def bounds(self) -> tuple[Fraction, Fraction] | None: ...
    @property
    def matrix(self) -> Array | None: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def loss(self) -> Pure | None: ...
    def _accepts(self, report: object) -> bool: ...
    def _estimate_sent(
        self, reports: Sequence[Any], times: Sequence[int] | None = None, method: Any = "moment", /
    ) -> Estimate: ...
    def _scores_sent(self, reports: Sequence[Any], /) -> Array: ...
    def describe(self) -> str: ...


class AnalyzedQuestion(Protocol):
    """A question of a survey, as an analysis reads it; plain answers have no design."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def options(self) -> Labels: ...
    @property
    def bounds(self) -> tuple[Fraction, Fraction] | None: ...
    @property
    def design(self) -> QuestionModel | None: ...


class Asked(Protocol):
    """A survey, as an analysis reads it."""

    @property
    def questions(self) -> Sequence[AnalyzedQuestion]: ...


Data: TypeAlias = DataFrame | Mapping[str, Values]
"""A frame, or a mapping of names to arrays."""
Designs: TypeAlias = Mapping[str, Any] | Asked
"""What hides each column: its design, or what `to_dict` wrote; or the survey that asked."""
if not TYPE_CHECKING:  # `help` shows the name
    Data, Designs = NewType("Data", object), NewType("Designs", object)


def checked_designs(designs: object) -> dict[str, QuestionModel]:
    """What was asked in each column: the object itself, or the data that its `to_dict` wrote."""
    if not isinstance(designs, dict) or not designs:
        reject("`designs` must be randomizers by column", type(designs).__name__, "{'report': design}", TypeError)
    models = {}
    for name, design in designs.items():
        if not isinstance(name, str):
            reject("columns must be named by text", type(name).__name__, "{'report': design}", TypeError)
        rule = f"the design of {name!r} must be a randomizer, or what its to_dict wrote"
        if isinstance(design, str):
            reject(rule, "a word", "write warner('3/4') and not 'warner': its numbers matter", TypeError)
        model = restore(design) if isinstance(design, dict) else design
        if not isinstance(model, QuestionModel) or isinstance(model, type):
            reject(rule, type(design).__name__, "see toolkit.local, or plain(…)", TypeError)
        models[name] = model
    return models


def with_matrix(model: QuestionModel) -> TypeGuard[Design]:
    """Whether a table holds the probabilities of its reports."""
    return model.matrix is not None


def estimated_labels(model: QuestionModel) -> Labels:
    """What the entries of an estimate are called: options (of two the last), points of a distribution, or the mean."""
    if not model.options:
        points: Labels = getattr(model, "_labels", ("mean",))
        return points
    return model.options[1:] if len(model.options) == 2 and model.asks == "choice" else model.options


def of_shares(model: QuestionModel) -> bool:
    """Whether shares are estimated, of options or of the points of a distribution; else it is a mean."""
    return model.bounds is None or hasattr(model, "_labels")


def is_single(model: QuestionModel) -> bool:
    return len(estimated_labels(model)) == 1 and model.asks != "ticks" and not hasattr(model, "_labels")


STRANGE = object()
"""What is no report of the design."""


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads the cells of a column. `missing` : no answers, besides empty cells. `advice` : on what is no report."""

    name: str
    design: QuestionModel
    missing: tuple[Any, ...] = ()
    advice: str = "say what stands for no answer with missing=(…)"

    def __post_init__(self) -> None:
        for code in self.missing:
            if self._labels.get(cell_key(code)) is not None or self._by_word(_plain(code)) is not None:
                rule = f"`missing` must not name a report of {self.name!r}"
                reject(rule, repr(code)[:40], "it would be a report and none")

    @cached_property
    def _missing(self) -> frozenset[Any]:
        return frozenset(cell_key(code) for code in self.missing) | {""}

    @cached_property
    def _labels(self) -> dict[Any, int]:
        """Codes by label; where two labels differ in their case only, as they are written."""
        exact = {label: code for code, label in enumerate(self.design.report_options)}
        keys = [cell_key(label) for label in exact]
        return {key: code for key, code in zip(keys, exact.values(), strict=True) if keys.count(key) == 1}

    @cached_property
    def _says_yes(self) -> dict[bool, int] | None:
        return says_yes(self.design.report_options)

    def read(self, cell: object) -> Any:
        """A report's code, number or list; None where it is missing; STRANGE where it is neither."""
        if isinstance(cell, list | np.ndarray):
            return self._sent([part.item() if isinstance(part, np.generic) else part for part in cell])
        if is_missing(cell):
            return None
        value = _plain(cell)
        if not isinstance(value, bool) and cell_key(value) in self._missing:
            return None
        labels = self.design.report_options
        if not labels:
            return self._sent(value)
        if isinstance(value, str) and value in labels:
            return labels.index(value)
        known = not isinstance(value, bool) or value in [x for x in labels if isinstance(x, bool)]
        code = self._labels.get(cell_key(value)) if known else None
        return code if code is not None else self._by_word(value, STRANGE)

    def _by_word(self, value: object, otherwise: object = None) -> Any:
        """By a truth value, 0 or 1, or a word for yes or no."""
        if self._says_yes is None:
            return otherwise
        word = str(value).strip().casefold()
        return self._says_yes[word in YES] if word in YES | NO else otherwise

    def _sent(self, value: object) -> Any:
        """A number, or a list of numbers as JSON text, as phones send them."""
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return STRANGE
        return value if not isinstance(value, bool) and self.design._accepts(value) else STRANGE

    def read_all(self, cells: Iterable[tuple[Any, int]]) -> list[tuple[Any, int]]:
        """What cells are read as, each with how many rows it has; None where they are missing."""
        read = [(self.read(cell), count) for cell, count in cells]
        strange = sum(count for value, count in read if value is STRANGE)
        if strange:
            self._reject(strange, sum(count for _, count in read))
        return read

    def _reject(self, strange: int, rows: int) -> None:
        labels = self.design.report_options
        known = ", ".join(map(str, labels[:8])) + (", …" if len(labels) > 8 else "")
        rule = f"the column {self.name!r} must hold reports of its design{f' ({known})' if known else ''}"
        # Which code stands for what is for the reader to say: 1 is yes in one file, and the first option in another.
        says, quoted = self._says_yes, [repr(label) for label in labels[:3]]
        if says is not None:
            yes, no = quoted[says[True]], quoted[says[False]]
            mapped = f"1 is read as yes and 0 as no; if 1 is yes and 2 no, write column.replace({{1: {yes}, 2: {no}}})"
        else:
            pairs = ", ".join(f"…: {label}" for label in quoted)
            mapped = f"map them to these labels, column.replace({{{pairs}}})" if labels else ""
        # Where no row is a report, a code for no answer is not what is missing.
        advice = "" if mapped and strange == rows else self.advice
        remedy = "; ".join(filter(None, (mapped, advice)))
        reject(rule, f"{strange:,} of {rows:,} rows with something else", remedy)


def _plain(cell: object) -> Any:
    """A cell as Python has it: whole numbers and dates as such, also where an engine made floats or times of them."""
    value = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(value, datetime) and value == datetime.combine(value, time()):
        return value.date()
    if isinstance(value, bool) or not isinstance(value, float | Decimal):
        return value
    return int(value) if value == value and abs(value) != float("inf") and value == int(value) else float(value)


def cell_key(cell: object) -> str:
    """What two cells have in common that mean the same: "Yes " and "yes", "1" and 1."""
    return str(_plain(cell)).strip().casefold()


@dataclass(frozen=True)
class GroupEstimate:
    """One question in one group: the estimate, and the people that it was made from.

    Parameters
    ----------
    question : str
        The name of the question.
    group : tuple
        The values of the columns of `by`; empty for all people.
    estimate : Estimate
        What was found.
    rows : int
        How many rows the group has.
    missing : int
        How many of them have no report.
    yes : float, optional
        The share of the reports that are the last one, as they are, where there are two.
    deff : float or array, optional
        The variance as a multiple of that of as many people drawn alike; None without a sample.
    weighted : bool, optional
        Whether the people of a sample have weights; None without one.

    Examples
    --------
    >>> import pandas as pd
    >>> from toolkit import warner
    >>> from toolkit.analysis import estimates
    >>> frame = pd.DataFrame({"report": ["yes"] * 40 + ["no"] * 60})
    >>> (group,) = estimates(frame, {"report": warner("3/4")}).group_estimates
    >>> group.question, group.rows, group.used
    ('report', 100, 100)
    """

    question: str
    group: Group
    estimate: Estimate
    rows: int
    missing: int
    yes: float | None = None
    deff: Any = None
    weighted: bool | None = None

    @property
    def used(self) -> int:
        """How many people the estimate is made from."""
        return self.rows - self.missing

    @property
    def turnout(self) -> dict[str, int]:
        """What became of the rows of the group, under the names of a table's columns."""
        return {"missing report": self.missing, "missing group": 0, "used": self.used}

    @property
    def df(self) -> int | None:
        """Degrees of freedom of the interval of a sample."""
        return None if self.weighted is None else getattr(self.estimate.basis, "df", None)

    def _deff_of(self, index: int) -> float:
        """Return the design effect of the option with this index; NaN where there is none."""
        return float(np.broadcast_to(np.nan if self.deff is None else self.deff, len(self.estimate.labels))[index])

    def _entries(self) -> list[tuple[str | int, Estimate]]:
        """Return labels and estimates of the single options."""
        if np.ndim(self.estimate.value) == 0:
            return [(self.estimate.labels[0], self.estimate)]
        return [(label, entry(self.estimate, index)) for index, label in enumerate(self.estimate.labels)]


def empty_estimate(design: QuestionModel) -> Estimate:
    """The estimate where nobody answered: no number, under the labels that an estimate would have."""
    labels = estimated_labels(design)
    k = len(labels)
    nothing = float("nan") if is_single(design) else np.full(k, np.nan)
    return Estimate(
        value=nothing,
        se=nothing,
        labels=labels,
        cov=np.full((k, k), np.nan) if k <= COVARIANCE_LIMIT else None,
        n=0,
        loss=design.loss,
        covers=Covers((), more="nothing, as nobody answered"),
        notes=("nobody answered: there is nothing to estimate from",),
    )


@dataclass(frozen=True, eq=False)
class EntryIntervals:
    """The intervals of one entry of an estimate that has several."""

    basis: IntervalBasis
    place: int

    @property
    def methods(self) -> tuple[str, ...]:
        return self.basis.methods

    def interval(self, level: float, method: str) -> Interval:
        limits = self.basis.interval(level, method)
        low, high = (float(np.atleast_1d(limit)[self.place]) for limit in limits)
        empty = np.broadcast_to(limits.empty, np.shape(limits.low))
        return replace(limits, low=low, high=high, empty=bool(np.atleast_1d(empty)[self.place]))


def entry(estimate: Estimate, place: int) -> Estimate:
    """One entry as an estimate of its own, with the same intervals."""
    value, se = np.atleast_1d(estimate.value)[place], np.atleast_1d(estimate.se)[place]
    return replace(
        estimate,
        value=float(value),
        se=float(se),
        labels=(estimate.labels[place],),
        cov=np.array([[se**2]]),
        basis=None if estimate.basis is None else EntryIntervals(estimate.basis, place),
        fit=None,
    )
