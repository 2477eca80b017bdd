"""What a survey found: counts, and an estimate for each question, in all or by group, with what to think of
them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.core.counting import Group, counted, has_column, in_order
from toolkit.core.estimate import Estimate
from toolkit.core.extras import extra
from toolkit.local.anchor import attention_counts
from toolkit.local.compliance import worst_shift
from toolkit.local.design import has_matrix
from toolkit.local.protocol import Randomizer
from toolkit.survey.question import Question
from toolkit.survey.reading.counting import checked_groups, refuse_strange
from toolkit.survey.reading.findings import Finding, Results
from toolkit.survey.reading.hidden import Values, checked_method, counts_of, hidden_estimate
from toolkit.survey.reading.nobody import nobody
from toolkit.survey.reading.plain_estimates import plain_estimate
from toolkit.survey.reading.remarks import TRIED_OUT
from toolkit.survey.reading.table import REHEARSAL, UNDERSTOOD, value_of
from toolkit.survey.reading.turnout import Rows, Turnout, turnout
from toolkit.survey.spec import Survey

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Finding", "Results", "estimate", "tally"]


def tally(survey: Survey, reports: Any, by: Sequence[str] | str | None = None) -> "pd.DataFrame":
    """How often each report came: one row for each question, group and report.

    `reports` : a frame with a column for each question, of pandas, polars, pyarrow, DuckDB, Dask, PySpark or
    Ibis; the counting is done there. `by` : plain questions, or "understood".
    """
    pd = extra("pandas")

    groups = checked_groups(survey, by)
    rows = [
        {"question": question.name, **dict(zip(groups, group, strict=True)), "report": report, "count": count}
        for question in survey.questions
        if question.kind != "text" and question.name not in groups
        for group, counts in counted(reports, question.name, groups).items()
        for report, count in counts.items()
    ]
    return pd.DataFrame(rows)


def estimate(
    survey: Survey, reports: Any, by: Sequence[str] | str | None = None, *, method: str | None = None
) -> Results:
    """An estimate for each question: of a randomized one through its design, of a plain one as usual.

    Parameters
    ----------
    reports : a frame as for `tally`; `collector.reports()` and `toolkit export` make one.
    by : plain questions, or "understood": then there is one estimate for each group of people.
    method : of hidden shares: "moment" (unbiased, the default), "mle" or "simplex" (inside 0 to 1, for
    display).

    >>> import pandas as pd
    >>> from toolkit import warner
    >>> survey = Survey(
    ...     "Exams", [Question("cheated", "Cheated?", design=warner(p="3/4"))], consent="Why.", check=False
    ... )
    >>> round(estimate(survey, pd.DataFrame({"cheated": ["yes"] * 40 + ["no"] * 60}))["cheated"].value, 3)
    0.3
    """
    groups, way = checked_groups(survey, by), checked_method(method)
    rows = Rows(survey, reports, groups)
    people = _ordered(survey, groups, rows.people())
    findings = [
        finding
        for question in survey.questions
        if question.kind != "text" and question.name not in groups
        for finding in _findings(
            question, people, counted(reports, question.name, groups), rows.asked(question), way
        )
    ]
    remarks = (TRIED_OUT,) if survey.rehearsal or has_column(reports, REHEARSAL) else ()
    trust = _understood(survey, reports), _attention(survey, reports), rows.groupless()
    return Results(survey, groups, tuple(findings), *trust, remarks)


def _values(question: Question, counts: Mapping[Any, int]) -> Values:
    values = {found: value_of(question, found) for found in counts}
    refuse_strange(question, values)
    return [(values[found], count) for found, count in counts.items()]


def _ordered(survey: Survey, by: Sequence[str], people: Mapping[Group, int]) -> dict[Group, int]:
    """Groups in order, without empty ones; what is no answer to the question that groups are made by is
    refused.
    """
    for place, name in enumerate(by):
        if name != UNDERSTOOD:
            refuse_strange(
                survey[name], {group[place]: value_of(survey[name], group[place]) for group in people}
            )
    return {group: people[group] for group in sorted(people, key=in_order) if people[group]}


def _findings(
    question: Question,
    people: Mapping[Group, int],
    counts: Mapping[Group, Mapping[Any, int]],
    asked: Mapping[Group, int],
    method: str,
) -> Iterator[Finding]:
    """One for each group, also where it left the question empty."""
    for group, number in people.items():
        values = _values(question, counts.get(group, {}))
        answered = sum(count for _, count in values)
        yield _finding(
            question, group, values, turnout(question, group, answered, asked.get(group, 0), number), method
        )


def _finding(question: Question, group: Group, values: Values, people: Turnout, method: str) -> Finding:
    if not values:
        return Finding(question.name, group, nobody(question), None, people)
    if question.design is None:
        return Finding(question.name, group, plain_estimate(question, values), None, people)
    found = hidden_estimate(question.design, values, method)
    return Finding(question.name, group, found, _worst(question.design, found), people)


def _worst(design: Randomizer, found: Estimate) -> float | None:
    """How far 1 % of liars can move it, seen from the estimate pulled into the range of the truth."""
    low, high = (0.0, 1.0) if design.bounds is None else (float(limit) for limit in design.bounds)
    value = np.asarray(found.value)
    truth = np.clip(
        value[np.isfinite(value)] if value.ndim else value, low, high
    )  # without boxes that nobody was asked about
    if design.matrix is not None and np.ndim(truth):
        truth = truth / truth.sum() if truth.sum() else np.full(len(truth), 1 / len(truth))
    try:
        return worst_shift(design, truth)
    except TypeError:  # a distribution, of which no single number is moved
        return None


def _understood(survey: Survey, reports: Any) -> tuple[int, int] | None:
    if not survey.check:
        return None
    counts = counted(reports, UNDERSTOOD).get((), {})
    return sum(count for value, count in counts.items() if str(value) in ("True", "true", "1")), sum(
        counts.values()
    )


def _attention(survey: Survey, reports: Any) -> dict[str, Estimate]:
    found = {}
    for question in survey.questions:
        if question.anchor is None or question.design is None or not has_matrix(question.design):
            continue
        counts = counted(reports, question.name).get(())
        if counts:
            told = counts_of(question.design, _values(question, counts))
            found[question.name] = attention_counts(question.design, told, truth=question.anchor)
    return found
