"""Counts of a survey's reports, and estimates of each question, overall or by group."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.analysis.estimating import CountSource, checked_method, estimates, ungrouped_notes
from toolkit.analysis.findings import Findings
from toolkit.analysis.plain import question_model
from toolkit.analysis.reports import GroupEstimate, Reader
from toolkit.analysis.sampling.replicates import Replicates
from toolkit.analysis.sampling.sample import Sample
from toolkit.core.arrays import DataFrame
from toolkit.core.checks import check_integer
from toolkit.core.estimate import Estimate
from toolkit.core.extras import check_extras, extra
from toolkit.frames.counts import Group, has_column, value_counts
from toolkit.local.anchor import attention_counts
from toolkit.local.birthdays import count_days, estimate_shift
from toolkit.local.compliance import worst_shift
from toolkit.local.design import has_matrix
from toolkit.local.protocol import Randomizer
from toolkit.survey.questions.question import Question
from toolkit.survey.questions.survey_fields import CHANNEL, REHEARSAL, UNDERSTOOD
from toolkit.survey.results.survey_results import PASSED_FIRST_TRY, PASSED_SECOND_TRY, Results, SurveyEstimate
from toolkit.survey.results.table import (
    GroupedRows,
    cell_value,
    checked_groups,
    nonresponse_counts,
    reject_invalid_values,
)
from toolkit.survey.spec import REHEARSAL_REMARK, Survey

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Results", "SurveyEstimate", "estimate", "tally"]


def tally(
    survey: Survey, reports: DataFrame, by: Sequence[str] | str | None = None, *, minimum: int | None = None
) -> "pd.DataFrame":
    """Count the reports of each question.

    Parameters
    ----------
    survey : Survey
        The survey.
    reports : frame
        A pandas, polars, pyarrow, DuckDB, Dask, PySpark or Ibis table with a column for each question. Rows are counted
        by the engine of the table.
    by : str or sequence of str, optional
        Plain questions, or "understood".
    minimum : int, optional
        Number of people below which a question or group is left out, by default the survey's minimum.

    Returns
    -------
    DataFrame
        One row per question, group and report.

    Examples
    --------
    >>> import pandas as pd
    >>> survey = Survey("Study", [Question("year", "Year?", options=[1, 2])], consent="Why.")
    >>> tally(survey, pd.DataFrame({"year": [1, 2, 2]}), minimum=3)
      question  report  count
    0     year       1      1
    1     year       2      2
    """
    check_extras("narwhals", name="collect")
    groups, min_people = checked_groups(survey, by), _min_people(survey, minimum)
    rows = [
        {"question": question.name, **dict(zip(groups, group, strict=True)), "report": report, "count": count}
        for question in survey.questions
        if question.kind != "text" and question.name not in groups
        for group, counts in value_counts(reports, question.name, groups).items()
        if sum(counts.values()) >= min_people
        for report, count in counts.items()
    ]
    return extra("pandas", "collect").DataFrame(rows)


def estimate(
    survey: Survey,
    reports: DataFrame,
    by: Sequence[str] | str | None = None,
    *,
    method: str | None = None,
    sample: Sample | Replicates | None = None,
    missing: Sequence[Any] = (),
    minimum: int | None = None,
) -> Results:
    """Estimate each question with `toolkit.analysis.estimates`, using the sampling design if there is one.

    Parameters
    ----------
    survey : Survey
        The survey.
    reports : frame
        A table as for `tally`, for example from `collector.reports()` or `toolkit export`.
    by : str or sequence of str, optional
        Plain questions, or "understood", by which people are grouped.
    method : str, optional
        As for `toolkit.analysis.estimates`.
    sample : Sample or Replicates, optional
        The sampling design, as for `toolkit.analysis.estimates`.
    missing : sequence
        Values that stand for missing reports, as for `toolkit.analysis.estimates`.
    minimum : int, optional
        Number of people below which an estimate is withheld, by default the survey's minimum. If a different number is
        given, a remark states it.

    Returns
    -------
    Results
        The estimates, with tables, notes and plots.

    Raises
    ------
    ValueError
        If a column is missing or holds values that are not reports of its question.

    Examples
    --------
    >>> import pandas as pd
    >>> from toolkit import warner
    >>> survey = Survey("Exams", [Question("cheated", "Cheated?", design=warner(p="3/4"))], consent="Why.", check=False)
    >>> round(estimate(survey, pd.DataFrame({"cheated": ["yes"] * 40 + ["no"] * 60}))["cheated"].value, 3)
    0.3
    """
    groups, checked = checked_groups(survey, by), checked_method(method)
    designs = {
        question.name: question_model(question)
        for question in survey.questions
        if question.kind != "text" and question.name not in groups
    }
    rows = GroupedRows(survey, reports, groups)
    people = rows.count_people()
    _check_groups(survey, groups, people)
    findings = Findings(designs, groups, (), CountSource(reports, groups, {}))
    if designs and any(people.values()):
        findings = estimates(reports, designs, groups, sample=sample, missing=missing, method=checked)
    eligible = {name: rows.count_eligible(survey[name]) for name in designs}
    with_turnout = [
        _with_turnout(survey[finding.question], finding, eligible[finding.question])
        for finding in findings.group_estimates
    ]
    min_people = _min_people(survey, minimum)
    results = Results(
        designs,
        groups,
        group_estimates=tuple(with_turnout),
        source=findings.source,
        remarks=_general_remarks(survey, reports, findings, min_people),
        survey=survey,
        understood=_comprehension_counts(survey, reports),
        attention=_attention_shares(survey, reports),
    ).suppress_below(min_people)
    # The remarks on birthdays depend on the estimates, so they must be derived from estimates that are not withheld.
    return replace(results, remarks=(*results.remarks, *_birthday_remarks(results)))


def _birthday_remarks(results: Results) -> list[str]:
    """Return a remark on each question whose innocent question is about birthdays."""
    return [
        _season_remark(results.survey[name], innocent["born"], results.group_estimates)
        for name in results.designs
        if (innocent := results.survey[name].innocent) is not None
    ]


def _general_remarks(survey: Survey, reports: DataFrame, findings: Findings, min_people: int) -> tuple[str, ...]:
    """Return the sentences that apply to all estimates."""
    remarks = [REHEARSAL_REMARK] if survey.rehearsal or has_column(reports, REHEARSAL) else []
    if min_people != survey.minimum:
        sentence = f"Shown for {min_people:,} or more people, as requested; the survey's minimum is {survey.minimum:,}."
        remarks.append(sentence)
    # Notes on people without a group are left out here, because `Results.notes` has them.
    excluded = ungrouped_notes(findings.ungrouped, findings.by) if findings.group_estimates else ()
    return *remarks, *(f"{note[:1].upper()}{note[1:]}." for note in findings.remarks if note not in excluded)


def _season_remark(question: Question, months: str, estimates: Sequence[SurveyEstimate]) -> str:
    """Return a sentence on how birthdays were counted and how much seasonality of births could change an estimate."""
    assumption = f"{question.name}: birthdays in {months} are taken as {float(count_days(months)):g} of 365.25 days"
    values = [estimate.estimate.value for estimate in estimates if estimate.question == question.name and estimate.used]
    design = question.design
    if not values or design is None or not has_matrix(design) or design.procedure == "unrelated":
        return f"{assumption}; births differ by season."
    largest_shift = max((estimate_shift(design, float(np.clip(value, 0, 1))) for value in values), key=abs)
    each = "each percentage point more of them in these months moves an estimate by"
    return f"{assumption}. Births differ by season: {each} {100 * largest_shift:+.2g} points."


def _min_people(survey: Survey, minimum: int | None) -> int:
    return survey.minimum if minimum is None else check_integer(minimum, "minimum", minimum=0)


def _check_groups(survey: Survey, by: Sequence[str], people: Mapping[Group, int]) -> None:
    """Raise an error if a group is not an answer to the question by which people are grouped."""
    for index, name in enumerate(by):
        if name not in (UNDERSTOOD, CHANNEL):
            reject_invalid_values(
                survey[name], {group[index]: cell_value(survey[name], group[index]) for group in people}
            )


def _with_turnout(question: Question, estimate: GroupEstimate, eligible: Mapping[Group, int]) -> SurveyEstimate:
    is_estimated = question.design is not None and estimate.used
    liars = _worst_shift(question.design, estimate.estimate) if is_estimated else None  # type: ignore[arg-type]
    fields: dict[str, Any] = {field.name: getattr(estimate, field.name) for field in dataclasses.fields(estimate)}
    fields |= nonresponse_counts(question, estimate.used, eligible.get(estimate.group, 0), estimate.rows)
    return SurveyEstimate(**fields, lie_shift=liars)


def _worst_shift(design: Randomizer, estimate: Estimate) -> float | None:
    """Return the maximum shift if 1 % of people lie, evaluated at the estimate clipped to the range of the truth."""
    low, high = (0.0, 1.0) if design.bounds is None else (float(limit) for limit in design.bounds)
    value = np.asarray(estimate.value)
    truth = np.clip(value[np.isfinite(value)] if value.ndim else value, low, high)  # NaN: nobody was asked
    if design.matrix is not None and np.ndim(truth):
        truth = truth / truth.sum() if truth.sum() else np.full(len(truth), 1 / len(truth))
    try:
        return worst_shift(design, truth)
    except TypeError:  # the estimate is a distribution, for which the shift of a single number is not defined
        return None


def _comprehension_counts(survey: Survey, reports: DataFrame) -> tuple[int, ...] | None:
    if not survey.check or not has_column(reports, UNDERSTOOD):  # paper sheets have no such question
        return None
    counts = value_counts(reports, UNDERSTOOD).get((), {})
    right = [PASSED_FIRST_TRY, *([PASSED_SECOND_TRY] if survey.check == "device" else [])]
    tries = [sum(count for value, count in counts.items() if str(value) in values) for values in right]
    return *tries, sum(counts.values())


def _attention_shares(survey: Survey, reports: object) -> dict[str, Estimate]:
    """Return the share of attentive people for each anchor question, over all groups."""
    shares = {}
    for question in survey.questions:
        if question.anchor is None or question.design is None or not has_matrix(question.design):
            continue
        source = CountSource(reports, (), {question.name: Reader(question.name, question.design)})
        if counts := source.counts(question.name):
            shares[question.name] = attention_counts(question.design, counts[()], truth=question.anchor)
    return shares
