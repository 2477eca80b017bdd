"""Reports as a table with one row per person and one column per question, and counts of the people who were asked."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolkit.core.arrays import DataFrame
from toolkit.core.checks import is_missing, reject
from toolkit.core.extras import check_extras, extra
from toolkit.frames.counts import Group, row_counts
from toolkit.survey.questions.errors import error_location
from toolkit.survey.questions.question import Question, accepts, coded_labels
from toolkit.survey.questions.survey_fields import CHANNEL, PERSON, PHONE, REHEARSAL, UNDERSTOOD
from toolkit.survey.spec import Survey

if TYPE_CHECKING:
    import pandas as pd


def reports_table(survey: Survey, bodies: Iterable[str]) -> "pd.DataFrame":
    """Return stored reports as a frame, in the order of their random keys, which reveals nothing.

    A choice is given by its label (as a string if the labels are a mix of numbers and strings), a number as itself, and
    a list of numbers as JSON, so that every column can be counted, compared and written to a file. Answers that were
    left out or not asked for are missing. With several waves, the column "person" links the reports of a phone.
    """
    try:
        columns = _report_columns(survey, [json.loads(body) for body in bodies])
    except (LookupError, TypeError, ValueError):  # the message is replaced, because it could quote a report
        columns = None
    if columns is None:
        consequence = "another program has changed the database; read an earlier copy"
        reject("every stored report must be one that the survey's page could send", "another report", consequence)
    return extra("pandas", "collect").DataFrame(columns)


def _report_columns(survey: Survey, people: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    columns = {
        question.name: [report_cell(question, person["answers"][question.name]) for person in people]
        for question in survey.questions
    }
    if survey.check:
        columns[UNDERSTOOD] = [person[UNDERSTOOD] for person in people]
    if survey.waves > 1:
        columns[PERSON] = [person[PERSON] for person in people]
    if any(CHANNEL in person for person in people):
        columns[CHANNEL] = [person.get(CHANNEL, PHONE) for person in people]
    if survey.rehearsal:
        columns[REHEARSAL] = [True] * len(people)
    return columns


def report_cell(question: Question, value: Any) -> Any:
    """Return the table cell of one report."""
    if value is None:
        return None
    if isinstance(value, list):
        return json.dumps(value, separators=(",", ":"))
    labels = coded_labels(question)
    if not labels:
        return value
    mixed = len({isinstance(label, str) for label in labels}) > 1  # no engine could sort or write such a column
    return str(labels[value]) if mixed else labels[value]


def cell_value(question: Question, entry: object) -> Any:
    """Return the code, number or list that a cell represents, even if an engine wrote 3.0 or "3" instead of 3."""
    plain = int(entry) if isinstance(entry, float) and entry.is_integer() else entry
    if labels := coded_labels(question):
        names = {str(label): code for code, label in enumerate(labels)}
        return names.get(str(plain), -1)  # no question has the report -1
    return json.loads(plain) if isinstance(plain, str) and plain.startswith("[") else plain


def checked_groups(survey: Survey, by: Sequence[str] | str | None) -> tuple[str, ...]:
    """Check and return the names by which reports are grouped: plain choices, or the comprehension check."""
    if not isinstance(survey, Survey):
        reject(
            "`survey` must be a Survey",
            type(survey).__name__,
            "the survey comes first: estimate(survey, reports)",
            TypeError,
        )
    names = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    for name in names:
        if (name == UNDERSTOOD and survey.check) or name == CHANNEL:
            continue
        question = survey[name]
        if question.randomized or question.kind != "choice":
            rule = "`by` must name plain questions with options"
            why = "people cannot be grouped by a randomized answer; ask it plainly, or estimate the joint distribution"
            reject(rule, f"{name!r}, which is {'randomized' if question.randomized else 'a ' + question.kind}", why)
    return names


def reject_invalid_values(question: Question, values: Mapping[Any, Any]) -> None:
    """Reject values that the question cannot have; the message states their number and quotes none."""
    with error_location(question=question.name):
        invalid = sum(not accepts(question, value) for value in values.values())
        if invalid:
            rule = "the column must hold reports of this question"
            reject(rule, f"{invalid} different values that are not", "check the survey")


class GroupedRows:
    """Counts of the rows of a frame, by group and by the plain answers that decide which questions are asked."""

    def __init__(self, survey: Survey, reports: DataFrame, groups: tuple[str, ...]) -> None:
        check_extras("narwhals", name="collect")
        self._survey, self._reports, self._groups = survey, reports, groups
        self._counts: dict[tuple[str, ...], list[tuple[Mapping[str, Any], int]]] = {}

    def _row_counts(self, deciding: Iterable[str] = ()) -> list[tuple[Mapping[str, Any], int]]:
        names = tuple(dict.fromkeys((*self._groups, *deciding)))  # a question may define both groups and conditions
        if names not in self._counts:
            counts = row_counts(self._reports, names)
            self._counts[names] = [(dict(zip(names, row, strict=True)), count) for row, count in counts]
        return self._counts[names]

    def _group(self, row: Mapping[str, Any]) -> Group | None:
        """Return the group of a row, or None if an answer that defines it is missing."""
        group = tuple(row[name] for name in self._groups)
        return None if any(map(is_missing, group)) else group

    def count_people(self) -> dict[Group, int]:
        """Return the number of rows of each group, without rows that belong to no group."""
        return _sum_by_group((self._group(row), count) for row, count in self._row_counts())

    def count_eligible(self, question: Question) -> dict[Group, int]:
        rows = self._row_counts(question.show_if or ())
        return _sum_by_group((self._group(row), count) for row, count in rows if self._is_asked(question, row))

    def _is_asked(self, question: Question, answers: Mapping[str, Any]) -> bool:
        """Return whether a question is asked, given the plain answers of a row."""
        for name, options in (question.show_if or {}).items():
            decider, answer = self._survey[name], answers[name]
            code = -1 if is_missing(answer) else cell_value(decider, answer)
            if not accepts(decider, code) or decider.options[code] not in options:
                return False
        return True


def nonresponse_counts(question: Question, n_answered: int, n_eligible: int, n_people: int) -> dict[str, int]:
    """Return the numbers of people in a group who did not have to answer, as fields of a `SurveyEstimate`."""
    optional = not question.randomized and not question.required
    refused = max(n_eligible - n_answered, 0) if optional else 0
    return {"n_refused": refused, "n_not_asked": max(n_people - max(n_eligible, n_answered), 0)}


def _sum_by_group(counts: Iterable[tuple[Group | None, int]]) -> dict[Group, int]:
    """Add up the counts of each group, without rows that belong to no group."""
    sums: dict[Group, int] = {}
    for group, count in counts:
        if group is not None:
            sums[group] = sums.get(group, 0) + count
    return sums
