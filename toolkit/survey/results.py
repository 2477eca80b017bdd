"""What a survey found: counts, and an estimate for each question, in all or by group, with what to think of them."""

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.core.checks import refuse
from toolkit.core.estimate import Estimate
from toolkit.local.anchor import attention_counts
from toolkit.local.compliance import worst_shift
from toolkit.local.design import Design
from toolkit.survey.question import Question
from toolkit.survey.reading.counting import Group, checked_groups, counted, refuse_strange
from toolkit.survey.reading.nobody import nobody
from toolkit.survey.reading.plainly import plain_estimate
from toolkit.survey.reading.table import UNDERSTOOD, value_of
from toolkit.survey.reading.turnout import Rows, Turnout, turnout, turnout_notes
from toolkit.survey.spec import Survey

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Finding:
    """One question in one group. Where nobody answered, the estimate is NaN and says so.

    `turnout` : how many answered, refused, left no report, or were not asked.
    `liars` : how far 1 % of people who agree on what to send can move the estimate at most; None where that has no meaning.
    """

    question: str
    group: Group
    estimate: Estimate
    liars: float | None
    turnout: Turnout


@dataclass(frozen=True, repr=False)
class Results:
    """All findings of a survey, and how far they can be trusted.

    `understood` : how many passed the comprehension check, and how many took it. `attention` : for each anchor question the
    share of people who followed the instructions. `groupless` : how many people are in no group, as their answer to the plain
    question that they are sorted by is missing.
    """

    survey: Survey
    by: tuple[str, ...]
    findings: tuple[Finding, ...]
    understood: tuple[int, int] | None
    attention: Mapping[str, Estimate]
    groupless: int = 0

    def __getitem__(self, name: str) -> Any:
        """The estimate of a question; if there are groups, one for each of them."""
        self.survey[name]  # refuses a name that is none
        found = {finding.group: finding.estimate for finding in self.findings if finding.question == name}
        if not found:
            refuse(
                "the question must have something to estimate", f"{name!r}", "it is free text, or there is no report yet", KeyError
            )
        if not self.by:
            return found[()]
        return {group[0] if len(self.by) == 1 else group: estimate for group, estimate in found.items()}

    def to_frame(self, level: float = 0.95) -> "pd.DataFrame":
        """One row for each question, group and option: estimate, standard error, interval, fit, people, and the 1 % of liars.

        `n` answered; "refused", "missing" and "not asked" are the others, as `Turnout` explains them.
        """
        import pandas as pd

        rows = [
            {"question": finding.question, **dict(zip(self.by, finding.group, strict=True)), "option": option, **numbers.to_dict()}
            | {"empty": bool(numbers.get("empty", False)), "fit p": numbers.get("fit p", np.nan)}
            | _people(finding.turnout)
            | {"1 % of liars": finding.liars}
            for finding in self.findings
            for option, numbers in finding.estimate.to_frame(level).iterrows()
        ]
        return pd.DataFrame(rows)

    def notes(self) -> list[str]:
        """How far to trust it, in sentences: the survey as a whole, then each estimate that its reports contradict."""
        doubtful = [finding for finding in self.findings if finding.estimate.contradicted]
        return [*self._trust(), *(f"{self._named(finding)}: {note}." for finding in doubtful for note in finding.estimate.notes)]

    def _named(self, finding: Finding) -> str:
        group = ", ".join(f"{name} {value}" for name, value in zip(self.by, finding.group, strict=True))
        return f"{finding.question}{f' ({group})' if group else ''}"

    def _trust(self) -> list[str]:
        said = []
        if self.understood is not None and self.understood[1]:
            passed, asked = self.understood
            said.append(f"{passed} of {asked} ({100 * passed / asked:.0f} %) passed the comprehension check.")
        for name, share in self.attention.items():
            limits = share.interval()
            low, high = (100 * float(limit) for limit in limits)
            between = "(no share fits)" if limits.empty else f"({low:.0f} to {high:.0f})"
            followed = 100 * min(max(float(share), 0.0), 1.0)
            said.append(f"By the anchor question {name}, {followed:.0f} % {between} followed the instructions.")
        return said + turnout_notes([finding.turnout for finding in self.findings], self.by, self.groupless)

    def __repr__(self) -> str:
        groups = f" by {', '.join(self.by)}" if self.by else ""
        people = max((finding.estimate.n or 0 for finding in self.findings), default=0)
        title = self.survey.title[self.survey.languages[0]]
        return f"<Results of {title!r}{groups}: {len(self.findings)} estimates, up to {people:,} people>"

    def _repr_html_(self) -> str:
        parts = [f"<h3>{html.escape(self.survey.title[self.survey.languages[0]])}</h3>"]
        for finding in self.findings:
            question = self.survey[finding.question]
            group = ", ".join(f"{name} {value}" for name, value in zip(self.by, finding.group, strict=True))
            heading = f"{_words(question, self.survey)}{f' ({group})' if group else ''}"
            parts += [f"<h4>{html.escape(heading)}</h4>", finding.estimate._repr_html_(), _liars(finding)]
        return "".join([*parts, *(f"<p>{html.escape(note)}</p>" for note in self._trust())])


def tally(survey: Survey, reports: Any, by: Sequence[str] | str | None = None) -> "pd.DataFrame":
    """How often each report came: one row for each question, group and report.

    `reports` : a frame with a column for each question, of pandas, polars, pyarrow, DuckDB, Dask, PySpark or Ibis; the
    counting is done there. `by` : plain questions, or "understood".
    """
    import pandas as pd

    groups = checked_groups(survey, by)
    rows = [
        {"question": question.name, **dict(zip(groups, group, strict=True)), "report": report, "count": count}
        for question in survey.questions
        if question.kind != "text" and question.name not in groups
        for group, counts in counted(reports, question.name, groups).items()
        for report, count in counts.items()
    ]
    return pd.DataFrame(rows)


def estimate(survey: Survey, reports: Any, by: Sequence[str] | str | None = None) -> Results:
    """An estimate for each question: of a randomized one through its design, of a plain one as usual.

    Parameters
    ----------
    reports : a frame as for `tally`; `collector.reports()` and `toolkit export` make one.
    by : plain questions, or "understood": then there is one estimate for each group of people.

    >>> import pandas as pd
    >>> from toolkit import warner
    >>> survey = Survey("Exams", [Question("cheated", "Cheated?", design=warner(p="3/4"))], consent="Why.", check=False)
    >>> round(estimate(survey, pd.DataFrame({"cheated": ["yes"] * 40 + ["no"] * 60}))["cheated"].value, 3)
    0.3
    """
    groups = checked_groups(survey, by)
    rows = Rows(survey, reports, groups)
    people = _ordered(survey, groups, rows.people())
    findings = [
        finding
        for question in survey.questions
        if question.kind != "text" and question.name not in groups
        for finding in _findings(question, people, counted(reports, question.name, groups), rows.asked(question))
    ]
    return Results(survey, groups, tuple(findings), _understood(survey, reports), _attention(survey, reports), rows.groupless())


Values = Sequence[tuple[Any, int]]
"""Reports as codes, numbers or lists, each with the number of people who sent it."""


def _values(question: Question, counts: Mapping[Any, int]) -> Values:
    values = {found: value_of(question, found) for found in counts}
    refuse_strange(question, values)
    return [(values[found], count) for found, count in counts.items()]


def _ordered(survey: Survey, by: Sequence[str], people: Mapping[Group, int]) -> dict[Group, int]:
    """Groups in order, without empty ones; what is no answer to the question that groups are made by is refused."""
    for place, name in enumerate(by):
        if name != UNDERSTOOD:
            refuse_strange(survey[name], {group[place]: value_of(survey[name], group[place]) for group in people})
    return {group: people[group] for group in sorted(people) if people[group]}


def _findings(
    question: Question, people: Mapping[Group, int], counts: Mapping[Group, Mapping[Any, int]], asked: Mapping[Group, int]
) -> Iterator[Finding]:
    """One for each group, also where it left the question empty."""
    for group, number in people.items():
        values = _values(question, counts.get(group, {}))
        answered = sum(count for _, count in values)
        yield _finding(question, group, values, turnout(question, group, answered, asked.get(group, 0), number))


def _finding(question: Question, group: Group, values: Values, people: Turnout) -> Finding:
    if not values:
        return Finding(question.name, group, nobody(question), None, people)
    if question.design is None:
        return Finding(question.name, group, plain_estimate(question, values), None, people)
    found = question.design.estimate_sent([value for value, _ in values], [count for _, count in values])
    return Finding(question.name, group, found, _worst(question.design, found), people)


def _counts(design: Design, values: Values) -> list[int]:
    counts = [0] * len(design.report_options)
    for code, count in values:
        counts[code] += count
    return counts


def _worst(design: Any, found: Estimate) -> float | None:
    """How far 1 % of liars can move it, seen from the estimate pulled into the range of the truth."""
    low, high = (float(design.low), float(design.high)) if hasattr(design, "low") else (0.0, 1.0)
    value = np.asarray(found.value)
    truth = np.clip(value[np.isfinite(value)] if value.ndim else value, low, high)  # without boxes that nobody was asked about
    if isinstance(design, Design) and np.ndim(truth):
        truth = truth / truth.sum() if truth.sum() else np.full(len(truth), 1 / len(truth))
    try:
        return worst_shift(design, truth)
    except TypeError:  # a distribution, of which no single number is moved
        return None


def _understood(survey: Survey, reports: Any) -> tuple[int, int] | None:
    if not survey.check:
        return None
    counts = counted(reports, UNDERSTOOD).get((), {})
    return sum(count for value, count in counts.items() if str(value) in ("True", "true", "1")), sum(counts.values())


def _attention(survey: Survey, reports: Any) -> dict[str, Estimate]:
    found = {}
    for question in survey.questions:
        if question.anchor is None or not isinstance(question.design, Design):
            continue
        counts = counted(reports, question.name).get(())
        if counts:
            told = _counts(question.design, _values(question, counts))
            found[question.name] = attention_counts(question.design, told, truth=question.anchor)
    return found


def _people(found: Turnout) -> dict[str, int]:
    return {"n": found.answered, "refused": found.refused, "missing": found.missing, "not asked": found.not_asked}


def _words(question: Question, survey: Survey) -> str:
    text = question.text
    return text if isinstance(text, str) else text[survey.languages[0]]


def _liars(finding: Finding) -> str:
    if finding.liars is None:
        return ""
    return f"<p>If 1 % of the people lied in concert, this could be off by {finding.liars:.2g} more.</p>"
