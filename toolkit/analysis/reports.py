"""The cells of a column read as reports of a design, and the estimate of one question in one group.

Text is stripped, and its case does not matter. The labels of the design come first. If its reports are yes and no,
booleans, 0 and 1 and the usual words are read as well. For other designs, such as the crosswise design with "same" and
"different", the meaning of such cells would be a guess, so they are rejected. Messages never quote a cell.
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
from toolkit.local.matrix.encoding import NO_WORDS, YES_WORDS, format_labels, yes_no_codes
from toolkit.local.oracles.support import COVARIANCE_LIMIT
from toolkit.local.protocol import AnswerKind


@runtime_checkable
class QuestionModel(Protocol):
    """The part of `Randomizer` that an analysis uses; for plain answers the loss is None."""

    @property
    def name(self) -> str: ...
    @property
    def answer_kind(self) -> AnswerKind: ...
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
    def _estimate_from_raw_reports(
        self, reports: Sequence[Any], times: Sequence[int] | None = None, method: Any = "moment", /
    ) -> Estimate: ...
    def _scores_of_raw_reports(self, reports: Sequence[Any], /) -> Array: ...
    def describe(self) -> str: ...


class AnalyzedQuestion(Protocol):
    """The part of a survey's question that an analysis uses; plain answers have no design."""

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


class SurveyLike(Protocol):
    """The part of a survey that an analysis uses."""

    @property
    def questions(self) -> Sequence[AnalyzedQuestion]: ...


Data: TypeAlias = DataFrame | Mapping[str, Values]
"""A frame, or a mapping of names to arrays."""
Designs: TypeAlias = Mapping[str, Any] | SurveyLike
"""The design of each column, or the dictionary of its `to_dict`; or the survey that asked the questions."""
if not TYPE_CHECKING:  # `help` shows the names
    Data, Designs = NewType("Data", object), NewType("Designs", object)


def checked_designs(designs: object) -> dict[str, QuestionModel]:
    """Return the randomizer of each column, which may be given as the dictionary from its `to_dict`."""
    if not isinstance(designs, dict) or not designs:
        reject("`designs` must be randomizers by column", type(designs).__name__, "{'report': design}", TypeError)
    models = {}
    for name, design in designs.items():
        if not isinstance(name, str):
            reject("columns must be named by text", type(name).__name__, "{'report': design}", TypeError)
        rule = f"the design of {name!r} must be a randomizer, or the dictionary of its `to_dict`"
        if isinstance(design, str):
            reject(rule, "a text", "write warner('3/4') and not 'warner': its probabilities are needed", TypeError)
        model = restore(design) if isinstance(design, dict) else design
        if not isinstance(model, QuestionModel) or isinstance(model, type):
            reject(rule, type(design).__name__, "see toolkit.local, or plain(…)", TypeError)
        models[name] = model
    return models


def has_matrix(model: QuestionModel) -> TypeGuard[Design]:
    """Return whether a model has a matrix of report probabilities."""
    return model.matrix is not None


def estimated_labels(model: QuestionModel) -> Labels:
    """Return the labels of an estimate: options (the last of two), points of a distribution, or the mean."""
    if not model.options:
        labels: Labels = getattr(model, "_labels", ("mean",))
        return labels
    return model.options[1:] if len(model.options) == 2 and model.answer_kind == "choice" else model.options


def model_estimates_shares(model: QuestionModel) -> bool:
    """Return whether estimates are shares, of options or of points of a distribution, rather than a mean."""
    return model.bounds is None or hasattr(model, "_labels")


def is_single(model: QuestionModel) -> bool:
    """Return whether an estimate is a single number."""
    return len(estimated_labels(model)) == 1 and model.answer_kind != "ticks" and not hasattr(model, "_labels")


UNREADABLE = object()
"""A marker for a cell that is not a report of the design."""


@dataclass(frozen=True, eq=False)
class Reader:
    """A reader of a column's cells as reports of a design.

    `missing` holds codes for missing answers, besides empty cells; `advice` is the remedy in the error about cells that
    are not reports.
    """

    name: str
    design: QuestionModel
    missing: tuple[Any, ...] = ()
    advice: str = "list the codes for missing answers in missing=(…)"

    def __post_init__(self) -> None:
        for code in self.missing:
            if self._labels.get(cell_key(code)) is not None or self._by_word(_plain(code)) is not None:
                rule = f"`missing` must not name a report of {self.name!r}"
                reject(rule, repr(code)[:40], "it would be both a report and a missing answer")

    @cached_property
    def _missing(self) -> frozenset[Any]:
        return frozenset(cell_key(code) for code in self.missing) | {""}

    @cached_property
    def _labels(self) -> dict[Any, int]:
        """Codes by case-folded label, without labels that differ from another label only in case."""
        exact = {label: code for code, label in enumerate(self.design.report_options)}
        keys = [cell_key(label) for label in exact]
        return {key: code for key, code in zip(keys, exact.values(), strict=True) if keys.count(key) == 1}

    @cached_property
    def _says_yes(self) -> dict[bool, int] | None:
        return yes_no_codes(self.design.report_options)

    def read(self, cell: object) -> Any:
        """Return the code, number or list of a report; None if it is missing, UNREADABLE if it is not a report."""
        if isinstance(cell, list | np.ndarray):
            return self._sent([code.item() if isinstance(code, np.generic) else code for code in cell])
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
        # True is a label only if a label is a boolean: the text "true" is another label.
        may_be_label = not isinstance(value, bool) or value in [label for label in labels if isinstance(label, bool)]
        code = self._labels.get(cell_key(value)) if may_be_label else None
        return code if code is not None else self._by_word(value, UNREADABLE)

    def _by_word(self, value: object, otherwise: object = None) -> Any:
        """Return the code of a boolean, 0 or 1, or a word for yes or no."""
        if self._says_yes is None:
            return otherwise
        word = str(value).strip().casefold()
        return self._says_yes[word in YES_WORDS] if word in YES_WORDS | NO_WORDS else otherwise

    def _sent(self, value: object) -> Any:
        """Return a number or a list of numbers; a value may be the JSON text that phones send."""
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return UNREADABLE
        return value if not isinstance(value, bool) and self.design._accepts(value) else UNREADABLE

    def read_all(self, cells: Iterable[tuple[Any, int]]) -> list[tuple[Any, int]]:
        """Return the report of each cell (None if missing) with its number of rows; reject any other cell."""
        reports = [(self.read(cell), count) for cell, count in cells]
        strange = sum(count for value, count in reports if value is UNREADABLE)
        if strange:
            self._reject(strange, sum(count for _, count in reports))
        return reports

    def _reject(self, strange: int, rows: int) -> None:
        labels = self.design.report_options
        expected = f" {format_labels(labels)}" if labels else ""
        rule = f"the column {self.name!r} must hold reports of its design{expected}"
        # Only the user knows the meaning of a code: 1 is yes in one file and the first option in another.
        yes_code, quoted = self._says_yes, [repr(label) for label in labels[:3]]
        if yes_code is not None:
            yes, no = quoted[yes_code[True]], quoted[yes_code[False]]
            mapped = f"1 is read as yes and 0 as no; if 1 is yes and 2 no, write column.replace({{1: {yes}, 2: {no}}})"
        else:
            pairs = ", ".join(f"…: {label}" for label in quoted)
            mapped = f"map them to these labels, column.replace({{{pairs}}})" if labels else ""
        # If no row is a report, codes for missing answers would not help.
        advice = "" if mapped and strange == rows else self.advice
        remedy = "; ".join(filter(None, (mapped, advice)))
        reject(rule, f"{strange:,} of {rows:,} rows with something else", remedy)


def _plain(cell: object) -> Any:
    """Return a cell as a Python value; floats that are integers and datetimes at midnight become integers and dates."""
    value = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(value, datetime) and value == datetime.combine(value, time()):
        return value.date()
    if isinstance(value, bool) or not isinstance(value, float | Decimal):
        return value
    return int(value) if value == value and abs(value) != float("inf") and value == int(value) else float(value)


def cell_key(cell: object) -> str:
    """Return a key that is equal for cells of the same meaning, such as "Yes " and "yes", or "1" and 1."""
    return str(_plain(cell)).strip().casefold()


@dataclass(frozen=True)
class GroupEstimate:
    """The estimate of one question in one group, with the number of its people.

    Parameters
    ----------
    question : str
        Name of the question.
    group : tuple
        Values of the columns of `by`; empty for all people.
    estimate : Estimate
        The estimate.
    rows : int
        Number of rows of the group.
    missing : int
        Number of rows without a report.
    yes : float, optional
        The share of the second of two reports, before any correction.
    deff : float or array, optional
        Design effect: the variance relative to a simple random sample of the same size; None without a sample.
    weighted : bool, optional
        Whether the sample has weights; None without a sample.

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
        """Number of people with a report."""
        return self.rows - self.missing

    @property
    def turnout(self) -> dict[str, int]:
        """Numbers of rows that are missing and used, by the column names of `Findings.missing`."""
        return {"missing report": self.missing, "missing group": 0, "used": self.used}

    @property
    def df(self) -> int | None:
        """Degrees of freedom of the interval of a sample."""
        return None if self.weighted is None else getattr(self.estimate.basis, "df", None)

    def _deff_of(self, index: int) -> float:
        """Return the design effect of the option with this index; NaN if there is none."""
        return float(np.broadcast_to(np.nan if self.deff is None else self.deff, len(self.estimate.labels))[index])

    def _entries(self) -> list[tuple[str | int, Estimate]]:
        """Return the label and the estimate of each option."""
        if np.ndim(self.estimate.value) == 0:
            return [(self.estimate.labels[0], self.estimate)]
        return [(label, entry(self.estimate, index)) for index, label in enumerate(self.estimate.labels)]


def empty_estimate(design: QuestionModel) -> Estimate:
    """Return an estimate without numbers, for a question that nobody answered."""
    labels = estimated_labels(design)
    k = len(labels)
    value = float("nan") if is_single(design) else np.full(k, np.nan)
    return Estimate(
        value=value,
        se=value,
        labels=labels,
        cov=np.full((k, k), np.nan) if k <= COVARIANCE_LIMIT else None,
        n=0,
        loss=design.loss,
        covers=Covers((), more="nothing, as nobody answered"),
        notes=("nobody answered: there is nothing to estimate from",),
    )


@dataclass(frozen=True, eq=False)
class EntryIntervals:
    """The intervals of one entry of an estimate with several entries."""

    basis: IntervalBasis
    index: int

    @property
    def methods(self) -> tuple[str, ...]:
        return self.basis.methods

    def interval(self, level: float, method: str) -> Interval:
        limits = self.basis.interval(level, method)
        low, high = (float(np.atleast_1d(limit)[self.index]) for limit in limits)
        empty = np.broadcast_to(limits.empty, np.shape(limits.low))
        return replace(limits, low=low, high=high, empty=bool(np.atleast_1d(empty)[self.index]))


def entry(estimate: Estimate, index: int) -> Estimate:
    """Return one entry as a scalar estimate with the same intervals."""
    value, se = np.atleast_1d(estimate.value)[index], np.atleast_1d(estimate.se)[index]
    return replace(
        estimate,
        value=float(value),
        se=float(se),
        labels=(estimate.labels[index],),
        cov=np.array([[se**2]]),
        basis=None if estimate.basis is None else EntryIntervals(estimate.basis, index),
        fit=None,
    )
