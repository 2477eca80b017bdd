"""Findings as people read them: labels for codes, shares in percent, one number of decimals per table."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolkit.analysis.group_estimate import GroupEstimate
from toolkit.analysis.paper_table import lines_of
from toolkit.survey.question import Question
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import phrases


@dataclass(frozen=True)
class Row:
    """One line of a question's table, as text in one unit: group, answer, estimate, error, interval, people."""

    group: tuple[str, ...]
    option: str
    estimate: str
    se: str
    interval: str
    n: int


def label_of(survey: Survey, name: str, option: object) -> str:
    """Return an option of a question, or a group by it, in the words that people read."""
    known = {question.name: question for question in survey.questions}.get(name)
    if known is None:  # the comprehension check
        return "passed" if option in (True, 1, "True", "true") else "did not pass"
    code = survey.languages[0]
    options = {str(one): one for one in (*known.options, *known.report_options)}
    return (
        known.label(options[str(option)], code, phrases(code, survey.words)) if str(option) in options else str(option)
    )


def rows_of(
    survey: Survey, question: Question, by: Sequence[str], estimates: Iterable[GroupEstimate], level: float = 0.95
) -> list[Row]:
    """Return the lines of one question's table, for each group and option, in the words that people read."""
    return [
        Row(
            tuple(label_of(survey, name, value) for name, value in zip(by, line.of.group, strict=True)),
            label_of(survey, question.name, line.option),
            line.estimate,
            line.se,
            line.interval,
            line.of.used,
        )
        for line in lines_of(estimates, level, share=question.is_share)
    ]


def html_table(rows: Sequence[Row], by: Sequence[str], level: float) -> str:
    """Return one question's table; `by` are the questions that people are sorted by."""
    options = len({row.option for row in rows}) > 1 or any(row.option != "mean" for row in rows)
    heads = [
        *by,
        *(["answer"] if options else []),
        "estimate",
        "standard error",
        f"{100 * level:g} % interval",
        "people",
    ]
    head = "".join(f"<th>{html.escape(words)}</th>" for words in heads)
    lines = []
    for row in rows:
        named = [*row.group, *([row.option] if options else [])]
        cells = "".join(f"<th style='text-align:left'>{html.escape(words)}</th>" for words in named)
        cells += "".join(
            f"<td>{html.escape(words)}</td>" for words in (row.estimate, row.se, row.interval, f"{row.n:,}")
        )
        lines.append(f"<tr>{cells}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
