"""`plain`: questions without randomization, estimated together with randomized ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.analysis.reports import AnalyzedQuestion, QuestionModel
from toolkit.analysis.sampling.units import ALIKE
from toolkit.core.arrays import Array, Codes, Counts, Label, Labels
from toolkit.core.checks import Number, check_bounds, exact_fraction, reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Shares, Student
from toolkit.local.design import Design
from toolkit.local.protocol import AnswerKind, is_code, is_code_set

_COVERS = Covers([ErrorSource.SAMPLING])
_PLAIN = "plain answers"


@dataclass(frozen=True)
class Plain:
    """A question without randomization, with the methods that an analysis calls on randomizers."""

    answer_kind: AnswerKind
    options: Labels = ()
    bounds: tuple[Fraction, Fraction] | None = None
    name = "plain"
    matrix = None
    epsilon = float("inf")
    loss = None

    @property
    def report_options(self) -> Labels:
        return self.options if self.answer_kind == "choice" else ()

    def describe(self) -> str:
        return "The answer is given as it is: nothing hides it."

    def _accepts(self, report: object) -> bool:
        """Return whether a report is an answer: a code, a list of ticked codes, or a number within the bounds."""
        if self.bounds is None:
            return (is_code_set if self.answer_kind == "ticks" else is_code)(report, len(self.options))
        number = isinstance(report, int | float) and not isinstance(report, bool) and np.isfinite(report)
        return bool(number) and self.bounds[0] <= exact_fraction(report, "answer") <= self.bounds[1]  # type: ignore[arg-type]

    def scores(self, reports: Iterable[Any], option: Label | None = None) -> Array:
        """Return answers as numbers: 1 for the last of two options, and a row of 0 and 1 for more options."""
        if self.answer_kind == "number":
            return np.asarray(reports, dtype=np.float64)
        if self.answer_kind == "ticks":
            rows = np.array([[float(code in ticked) for code in range(len(self.options))] for ticked in reports])
        else:
            rows = np.eye(len(self.options))[np.asarray(reports, dtype=np.intp)]
        if option is not None:
            return np.asarray(rows[:, self.options.index(option)])
        return rows[:, 1] if self.answer_kind == "choice" and len(self.options) == 2 else rows

    def _scores_of_raw_reports(self, reports: Sequence[Any]) -> Array:
        return self.scores(reports)

    def _estimate_from_raw_reports(
        self, reports: Sequence[Any], times: Sequence[int] | None = None, method: object = "moment", /
    ) -> Estimate:
        """Estimate the shares of the options, or the mean of a number."""
        del method  # all methods agree: the unbiased estimate lies within [0, 1] and maximizes the likelihood
        counts = np.ones(len(reports), dtype=np.int64) if times is None else np.asarray(times, dtype=np.int64)
        if self.answer_kind == "number":
            return _mean(self.scores(reports), counts)
        if self.answer_kind == "ticks" or len(self.options) == 1:
            return _boxes(self.scores(reports), counts, self.options)
        return _shares(np.asarray(reports, dtype=np.intp), counts, self.options)


def plain(
    options: Sequence[str | int] | None = None, *, bounds: tuple[Number, Number] | None = None, multiple: bool = False
) -> Plain:
    """Declare a column of plain (not randomized) answers for `estimates`: a choice, several choices, or a number.

    Parameters
    ----------
    options : sequence of str or int, optional
        Labels of the answers.
    bounds : tuple of two numbers, optional
        Smallest and largest number, instead of options.
    multiple : bool
        Whether several options may be ticked.

    Returns
    -------
    Plain
        The question, to be used in place of a design.

    Examples
    --------
    >>> import pandas as pd
    >>> from toolkit.analysis import estimates
    >>> frame = pd.DataFrame({"age": [20, 25, 30], "sex": ["f", "m", "m"]})
    >>> found = estimates(frame, {"age": plain(bounds=(0, 99)), "sex": plain(["f", "m"])})
    >>> found["age"].value, round(found["sex"].value, 3)
    (25.0, 0.667)
    """
    if (options is None) == (bounds is None):
        received = "none" if options is None else "both"
        consequence = "answers are either labels or numbers"
        reject("exactly one of `options` and `bounds` must be given", received, consequence)
    if bounds is not None:
        return Plain("number", (), check_bounds(bounds, consequence="answers lie between them"))
    if isinstance(options, str):
        consequence = "its letters would become the options"
        reject("`options` must be a list of labels", "one string", consequence, TypeError)
    labels = tuple(options or ())
    if not labels or len({str(label) for label in labels}) < len(labels):
        reject("`options` must be different labels", f"{len(labels)} of them", "answers are identified by their labels")
    return Plain("ticks" if multiple else "choice", labels)


def as_design(model: Any) -> Any:
    """Return plain choices as a design with the identity matrix; other models are returned unchanged."""
    if not isinstance(model, Plain) or model.answer_kind != "choice":
        return model
    labels: Labels = ("no", "yes") if list(map(repr, model.options)) == ["False", "True"] else model.options
    return Design(np.eye(len(labels), dtype=np.int64), 1, labels, name="direct")


def question_model(question: AnalyzedQuestion) -> QuestionModel:
    """Return the design of a survey's question, or a model of its plain answers."""
    if question.design is not None:
        return question.design
    if question.bounds is not None:
        return plain(bounds=question.bounds)
    return plain(question.options, multiple=question.kind == "ticks")


def _shares(codes: Codes, times: Counts, options: Labels) -> Estimate:
    """Estimate shares with the identity matrix as the design, and intervals for shares of directly observed counts."""
    counts = np.zeros(len(options), dtype=np.int64)
    np.add.at(counts, codes, times)
    direct = as_design(Plain("choice", tuple(range(len(counts)))))
    estimate, labels = direct.estimate_counts(counts), options[1:] if len(options) == 2 else options
    return Estimate(
        estimate.value, estimate.se, labels, estimate.cov, estimate.n, None, _COVERS, _PLAIN, basis=estimate.basis
    )


def _boxes(rows: Array, counts: Counts, labels: Labels) -> Estimate:
    """Estimate the share of people who tick each box; the intervals are those of binomial proportions."""
    n = int(counts.sum())
    basis = Shares.from_support(counts @ rows, n, np.ones(len(labels)), np.zeros(len(labels)))
    centred = rows - basis.value
    cov = (centred * counts[:, None]).T @ centred / n / (n - 1) if n > 1 else np.full((len(labels),) * 2, np.nan)
    np.fill_diagonal(cov, basis.se**2)  # above 0 even if all answers agree
    value, se = (float(basis.value[0]), float(basis.se[0])) if len(labels) == 1 else (basis.value, basis.se)
    return Estimate(value, se, labels, cov, n, None, _COVERS, _PLAIN, basis=basis)


def _mean(numbers: Array, counts: Counts) -> Estimate:
    """Estimate the mean of numbers from the distinct numbers and their counts, with a t interval."""
    n = int(counts.sum())
    mean = float(counts @ numbers / n)
    equal = np.ptp(numbers[counts > 0]) == 0
    se = float(np.sqrt(counts @ (numbers - mean) ** 2 / n / (n - 1))) if n > 1 and not equal else np.nan
    notes = (ALIKE,) if n > 1 and equal else ()
    method = f"{_PLAIN}, t with {n - 1} degrees of freedom" if n > 1 else _PLAIN
    return Estimate(mean, se, ("mean",), np.array([[se**2]]), n, None, _COVERS, method, notes, Student(mean, se, n - 1))
