"""What a survey's reports may be grouped by, and what may stand in their columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolkit.core.checks import refuse
from toolkit.survey.question import Question
from toolkit.survey.reading.table import UNDERSTOOD
from toolkit.survey.spec import Survey
from toolkit.survey.writing.problem import naming


def checked_groups(survey: Survey, by: Sequence[str] | str | None) -> tuple[str, ...]:
    """The names of plain choices, or of the comprehension check, that reports may be grouped by."""
    if not isinstance(survey, Survey):
        refuse(
            "`survey` must be a Survey",
            type(survey).__name__,
            "the survey comes first: estimate(survey, reports)",
            TypeError,
        )
    names = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    for name in names:
        if name == UNDERSTOOD and survey.check:
            continue
        question = survey[name]
        if question.randomized or question.kind != "choice":
            refuse(
                "`by` must name plain questions with options",
                f"{name!r}, which is {'randomized' if question.randomized else 'a ' + question.kind}",
                "people cannot be sorted by an answer that is hidden; ask it plainly, or estimate the joint design",
            )
    return names


def refuse_strange(question: Question, values: Mapping[Any, Any]) -> None:
    """All values must be reports that the question can have; which one is not is not said, as it is
    somebody's.
    """
    with naming(f"question {question.name!r}"):
        strange = sum(not question.accepts(value) for value in values.values())
        if strange:
            refuse(
                "the column must hold reports of this question",
                f"{strange} kinds of value that are none",
                "check the survey",
            )
