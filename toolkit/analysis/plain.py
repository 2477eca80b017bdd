"""`plain`: answers that nothing hides, estimated beside hidden ones: shares and means as every survey has them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.analysis.reports import AnalyzedQuestion, QuestionModel
from toolkit.analysis.sampling.units import ALIKE
from toolkit.core.arrays import Array, Codes, Counts, Label, Labels
from toolkit.core.checks import Number, exact, limits, reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Shares, Student
from toolkit.local.design import Design
from toolkit.local.protocol import AnswerKind, is_code, is_set

_COVERS = Covers([ErrorSource.SAMPLING])
_PLAIN = "plain answers"


@dataclass(frozen=True)
class Plain:
    """A question that is asked plainly, with the verbs that an analysis asks of a randomizer."""

    asks: AnswerKind
    options: Labels = ()
    bounds: tuple[Fraction, Fraction] | None = None
    name = "plain"
    matrix = None
    epsilon = float("inf")
    loss = None

    @property
    def report_options(self) -> Labels:
        return self.options if self.asks == "choice" else ()

    def describe(self) -> str:
        return "The answer is given as it is: nothing hides it."

    def _accepts(self, report: object) -> bool:
        """Whether this is an answer: a code, a list of ticked codes, or a number within the bounds."""
        if self.bounds is None:
            return (is_set if self.asks == "ticks" else is_code)(report, len(self.options))
        number = isinstance(report, int | float) and not isinstance(report, bool) and np.isfinite(report)
        return bool(number) and self.bounds[0] <= exact(report, "answer") <= self.bounds[1]  # type: ignore[arg-type]

    def scores(self, reports: Iterable[Any], option: Label | None = None) -> Array:
        """Each answer as it is: of two options whether it is the last one, of more a row of 0 and 1."""
        if self.asks == "number":
            return np.asarray(reports, dtype=np.float64)
        if self.asks == "ticks":
            rows = np.array([[float(code in one) for code in range(len(self.options))] for one in reports])
        else:
            rows = np.eye(len(self.options))[np.asarray(reports, dtype=np.intp)]
        if option is not None:
            return np.asarray(rows[:, self.options.index(option)])
        return rows[:, 1] if self.asks == "choice" and len(self.options) == 2 else rows

    def _scores_sent(self, reports: Sequence[Any]) -> Array:
        return self.scores(reports)

    def _estimate_sent(
        self, reports: Sequence[Any], times: Sequence[int] | None = None, method: object = "moment", /
    ) -> Estimate:
        """Shares of the options, or the mean of a number, whatever the method; there is no privacy claim."""
        del method  # the unbiased estimate lies inside 0 to 1, and is the likeliest
        counts = np.ones(len(reports), dtype=np.int64) if times is None else np.asarray(times, dtype=np.int64)
        if self.asks == "number":
            return _mean(self.scores(reports), counts)
        if self.asks == "ticks" or len(self.options) == 1:
            return _boxes(self.scores(reports), counts, self.options)
        return _shares(np.asarray(reports, dtype=np.intp), counts, self.options)


def plain(
    options: Sequence[str | int] | None = None, *, bounds: tuple[Number, Number] | None = None, multiple: bool = False
) -> Plain:
    """Declare a column of plain answers, for `estimates`: one of the options, several of them, or a number.

    Parameters
    ----------
    options : sequence of str or int, optional
        The labels of the answers.
    bounds : tuple of two numbers, optional
        The least and the greatest number, in place of options.
    multiple : bool
        Whether several options may be ticked.

    Returns
    -------
    Plain
        With the verbs that an analysis asks of a randomizer; nothing is hidden.

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
        reject("exactly one of options and bounds must be given", received, "answers are one or the other")
    if bounds is not None:
        return Plain("number", (), limits(bounds, consequence="answers lie between them"))
    if isinstance(options, str):
        consequence = "its letters would become the options"
        reject("`options` must be a list of labels", "one string", consequence, TypeError)
    labels = tuple(options or ())
    if not labels or len({str(label) for label in labels}) < len(labels):
        reject("`options` must be different labels", f"{len(labels)} of them", "answers go by label")
    return Plain("ticks" if multiple else "choice", labels)


def as_design(model: Any) -> Any:
    """Plain choices as the design that hides nothing, where a table of probabilities is needed; others as they are."""
    if not isinstance(model, Plain) or model.asks != "choice":
        return model
    return Design(np.eye(len(model.options), dtype=np.int64), 1, model.options, name="direct")


def question_model(question: AnalyzedQuestion) -> QuestionModel:
    """What was asked by a question of a survey: its design, or plain answers."""
    if question.design is not None:
        return question.design
    if question.bounds is not None:
        return plain(bounds=question.bounds)
    return plain(question.options, multiple=question.kind == "ticks")


def _shares(codes: Codes, times: Counts, options: Labels) -> Estimate:
    """Through the design that hides nothing, whose intervals are those of a share."""
    counts = np.zeros(len(options), dtype=np.int64)
    np.add.at(counts, codes, times)
    direct = as_design(Plain("choice", tuple(range(len(counts)))))
    estimate, labels = direct.estimate_counts(counts), options[1:] if len(options) == 2 else options
    return Estimate(
        estimate.value, estimate.se, labels, estimate.cov, estimate.n, None, _COVERS, _PLAIN, basis=estimate.basis
    )


def _boxes(rows: Array, counts: Counts, labels: Labels) -> Estimate:
    """The share of people who tick each box: each is counted, so its intervals are those of a share."""
    n = int(counts.sum())
    basis = Shares.from_support(counts @ rows, n, np.ones(len(labels)), np.zeros(len(labels)))
    apart = rows - basis.value
    cov = (apart * counts[:, None]).T @ apart / n / (n - 1) if n > 1 else np.full((len(labels),) * 2, np.nan)
    np.fill_diagonal(cov, basis.se**2)  # also where all answers agree
    value, se = (float(basis.value[0]), float(basis.se[0])) if len(labels) == 1 else (basis.value, basis.se)
    return Estimate(value, se, labels, cov, n, None, _COVERS, _PLAIN, basis=basis)


def _mean(numbers: Array, counts: Counts) -> Estimate:
    """The mean of numbers that each occur several times, with a t interval by their own spread."""
    n = int(counts.sum())
    mean = float(counts @ numbers / n)
    alike = np.ptp(numbers[counts > 0]) == 0
    se = float(np.sqrt(counts @ (numbers - mean) ** 2 / n / (n - 1))) if n > 1 and not alike else np.nan
    notes = (ALIKE,) if n > 1 and alike else ()
    method = f"{_PLAIN}, t with {n - 1} degrees of freedom" if n > 1 else _PLAIN
    return Estimate(mean, se, ("mean",), np.array([[se**2]]), n, None, _COVERS, method, notes, Student(mean, se, n - 1))
