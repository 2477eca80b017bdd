"""Comparisons between two waves of a panel, linked by a number that phones send, and between experimental arms."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toolkit.analysis.estimating import CountSource
from toolkit.analysis.reports import Reader
from toolkit.core.checks import is_missing, reject
from toolkit.core.estimate import Estimate
from toolkit.core.inference.special import ndtr, ndtri
from toolkit.frames.counts import has_column, row_counts
from toolkit.local.waves import Memo
from toolkit.survey.questions.question import Question, arm_pairs
from toolkit.survey.questions.survey_fields import PERSON, check_panel
from toolkit.survey.spec import Survey

WaveEstimator = Callable[[Memo, Any, Any], Estimate]
"""`Memo.change` or `Memo.flows`."""


def estimate_between_waves(
    question: Question, earlier: object, later: object, estimate: WaveEstimator, minimum: int = 0
) -> Estimate:
    """Return an estimate from the people who reported in two waves; its notes state how many people are left out.

    `earlier` and `later` are frames from `collector.reports()`. An error is raised if fewer than `minimum` people are
    in both frames.
    """
    memo = question.memo
    if memo is None:
        rule = "a change between waves needs a question with a memo"
        reject(rule, repr(question.name)[:60], "only a memo is a joint design of two waves")
    first, second = (_reports_by_person(frame, question) for frame in (earlier, later))
    repeated = {person for wave in (first, second) for person, reports in wave.items() if len(reports) > 1}
    both = sorted(person for person in first.keys() & second.keys() if person not in repeated)
    pairs = [(first[person][0], second[person][0]) for person in both]
    used = [pair for pair in pairs if None not in pair]
    if not used:
        reject("somebody must be in both waves", "nobody", "only people in both waves show a change")
    n_in_one_wave = [len(wave.keys() - other.keys() - repeated) for wave, other in ((first, second), (second, first))]
    out = n_in_one_wave[0], n_in_one_wave[1], len(repeated), len(pairs) - len(used)
    if len(used) < minimum:
        rule = f"at least {minimum:,} people must be in both waves"
        reject(rule, "fewer", "their reports could be inferred; the limit is the survey's `minimum`")
    change = estimate(memo, *map(list, zip(*used, strict=True)))
    return replace(change, notes=(*change.notes, *_wave_notes(*out, minimum)))


def check_waves(survey: Survey, earlier: Survey) -> None:
    """Reject two surveys that are not an earlier and a later wave of one panel."""
    rule = "both results must belong to the same panel"
    check_panel(survey, earlier, rule, "their reports come from other questions or other memos")
    if not earlier.wave < survey.wave:
        rule = "`earlier` must be the results of an earlier wave"
        reject(
            rule, f"wave {earlier.wave} for wave {survey.wave}", "the change is the later wave minus the earlier one"
        )


def closed_wave_reports(source: object, by: Sequence[str], is_closed: bool) -> Any:
    """Return the reports behind the results of a closed collection; reject results with weights or groups."""
    if not is_closed:
        why = "a person who is new in both waves between two results could be identified"
        reject("both collections must be closed", "one that is not closed", why)
    if by or not isinstance(source, CountSource):
        received = f"by {', '.join(by)}" if by else "a sample with weights"
        reject("a change between waves needs results for all people", received, "estimate both waves without it")
    return source.frame


def _reports_by_person(frame: Any, question: Question) -> dict[str, list[str | int | None]]:
    """Return the reports of each person in a wave, as labels, or None for a missing report."""
    if not has_column(frame, PERSON):
        reject(
            f"reports of waves must have the column {PERSON}", "none", "it links the waves; export it with the reports"
        )
    rows = [(row, count) for row, count in row_counts(frame, [PERSON, question.name]) if not is_missing(row[0])]
    reader = Reader(question.name, question.design)  # type: ignore[arg-type]  # a memo has one
    codes = reader.read_all([(row[1], count) for row, count in rows])
    labels = question.report_options  # codes could be mistaken for labels that are numbers
    reports: dict[str, list[str | int | None]] = {}
    for (row, count), (code, _) in zip(rows, codes, strict=True):
        reports.setdefault(str(row[0]), []).extend([None if code is None else labels[code]] * count)
    return reports


def _wave_notes(
    n_earlier_only: int, n_later_only: int, n_repeated: int, n_without_report: int, minimum: int
) -> list[str]:
    notes = [f"of people in both waves; in the earlier only {n_earlier_only:,}, in the later only {n_later_only:,}"]
    if any(0 < lone < minimum for lone in (n_earlier_only, n_later_only)):
        notes.append(
            "together with the estimates of each wave, this estimate reveals the estimates of the few people in only "
            "one wave: publish one of the two"
        )
    if n_without_report:
        notes.append(f"{n_without_report:,} sent no report on this question in one of the waves")
    if n_repeated:
        notes.append(
            f"{n_repeated:,} of the numbers that link waves occurred more than once in a wave: their reports are left "
            "out, because a person sends one report per wave"
        )
    return notes


@dataclass(frozen=True)
class ArmDifference:
    """The difference between two experimental arms that were asked the same question in different forms.

    Parameters
    ----------
    reference : str
        The name of the reference question.
    compared : str
        The name of the question that is compared with the reference.
    answer : str
        The answer whose share is compared.
    values : pair of float
        The shares in the reference and in the compared question.
    value : float
        The share in the compared question minus the share in the reference.
    se : float
        The standard error of the difference; variances add up because the people in the two arms differ.

    Examples
    --------
    >>> ArmDifference("direct", "randomized", "yes", (0.1, 0.25), 0.15, 0.05).interval()
    (0.052..., 0.247...)
    """

    reference: str
    compared: str
    answer: str
    values: tuple[float, float]
    value: float
    se: float

    @property
    def p_value(self) -> float:
        """The two-sided p-value of the hypothesis of no difference, by the normal approximation."""
        return float(2 * ndtr(-abs(self.value) / self.se)) if self.se > 0 else math.nan

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval for the difference, by the normal approximation.

        Parameters
        ----------
        level : float
            The confidence level.

        Returns
        -------
        tuple of float
            The limits of the interval.
        """
        margin = float(ndtri(0.5 + level / 2)) * self.se
        return self.value - margin, self.value + margin

    def __str__(self) -> str:
        low, high = self.interval()
        shares = f"{self.compared} {self.values[1]:.3f}, {self.reference} {self.values[0]:.3f}"
        sentence = f"{self.answer}: {shares}, difference {self.value:+.3f} (95 % interval {low:+.3f} to {high:+.3f}, "
        return f"{sentence}p = {self.p_value:.2g}). More is better only if nobody falsely admits anything."


def arm_differences(
    questions: Sequence[Question], estimate_of: Callable[[str], Estimate | None]
) -> tuple[ArmDifference, ...]:
    """Return the difference between the arms for each pair of questions and each answer except the first."""
    contrasts = []
    for first, second in arm_pairs(questions):
        first_estimate, second_estimate = estimate_of(first.name), estimate_of(second.name)
        if first_estimate is None or second_estimate is None:
            continue
        for index in range(1, len(first.options)):
            (low, low_error), (high, high_error) = (
                _share_with_error(estimate, index) for estimate in (first_estimate, second_estimate)
            )
            error = math.hypot(low_error, high_error)
            answer = str(first.options[index])
            contrasts.append(ArmDifference(first.name, second.name, answer, (low, high), high - low, error))
    return tuple(contrasts)


def _share_with_error(estimate: Estimate, index: int) -> tuple[float, float]:
    """Return the share of an answer and its standard error; with two answers only the second share is estimated."""
    values, errors = np.atleast_1d(estimate.value), np.atleast_1d(estimate.se)
    position = 0 if len(values) == 1 else index
    return float(values[position]), float(errors[position])
