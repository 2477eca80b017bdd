"""Reports as a table: one row per person, one column per question, in words that an analyst reads."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from toolkit.core.extras import extra
from toolkit.survey.question import Question, code_labels
from toolkit.survey.spec import Survey
from toolkit.survey.writing.survey_fields import CHANNEL, PERSON, PHONE, REHEARSAL, UNDERSTOOD

if TYPE_CHECKING:
    import pandas as pd


def table(survey: Survey, bodies: Iterable[str]) -> "pd.DataFrame":
    """Return a frame of what a store holds, in the order of its random keys, so that the order says nothing.

    A choice is its label ("yes"; as text where labels are numbers and texts), a number is itself, and a report that is
    a list of numbers is its JSON text, so that every column can be counted, compared and written to a file. What was
    not asked, or left out, is missing. Of several waves, "person" is the number that joins the reports of one phone
    over them.
    """
    people = [json.loads(body) for body in bodies]
    columns = {
        question.name: [cell(question, person["answers"][question.name]) for person in people]
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
    return extra("pandas").DataFrame(columns)


def cell(question: Question, value: Any) -> Any:
    """Return one answer as it stands in a table."""
    if value is None:
        return None
    if isinstance(value, list):
        return json.dumps(value, separators=(",", ":"))
    labels = code_labels(question)
    if not labels:
        return value
    mixed = len({isinstance(label, str) for label in labels}) > 1  # no engine could sort or write such a column
    return str(labels[value]) if mixed else labels[value]


def value_of(question: Question, entry: object) -> Any:
    """Return the code, number or list behind a cell, whatever the engine made of it: 3.0 for 3, or "3"."""
    if isinstance(entry, str) and entry.startswith("["):
        return json.loads(entry)
    plain = int(entry) if isinstance(entry, float) and entry.is_integer() else entry
    if labels := code_labels(question):
        names = {str(label): code for code, label in enumerate(labels)}
        return names.get(str(plain), -1)  # -1 is no report of any question
    return plain
