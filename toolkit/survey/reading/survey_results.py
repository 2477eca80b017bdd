"""`Results`: what was found of each question, in all or by group, and how it is shown: tables, sentences, a
picture.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.analysis.findings import Findings
from toolkit.core.checks import level as checked_level
from toolkit.core.checks import refuse
from toolkit.core.estimate import Estimate
from toolkit.core.extras import extra
from toolkit.core.lazy import lazy
from toolkit.frames.counts import Group
from toolkit.local.anchor import at_random
from toolkit.local.waves import Memo
from toolkit.survey.question import Question
from toolkit.survey.reading.printing import Row, html_table, label_of, rows_of, text_of
from toolkit.survey.reading.stepwise_disclosure import Shown, steps_note
from toolkit.survey.reading.turnout import Turnout, turnout_notes
from toolkit.survey.reading.waves import Between, between, check_waves, frame_of
from toolkit.survey.spec import Survey

if TYPE_CHECKING:
    import pandas as pd


TRIED_OUT = "This is a rehearsal: its reports were made to try the survey out, not to learn from."
OPEN_ACCESS = (
    "Access is open: whoever has the link can answer, and as often as they like; nothing in the reports "
    "would show it. "
    "Links that work once (access by token or blind) prevent it."
)
FLOODED = (
    "Until it is closed, whoever sends many reports of their own and watches these results can tell what one "
    "other person sent, though not the answer behind it."
)


def remarks(survey: Survey, shown: Shown, by: Sequence[str] = ()) -> tuple[str, ...]:
    """The sentences about a collection, besides that it is a rehearsal, which its reports say themselves."""
    everybody = survey.access == "open"
    flooded = everybody and shown.moving and not survey.rehearsal
    said = (steps_note(survey, shown, by), OPEN_ACCESS if everybody else "", FLOODED if flooded else "")
    return tuple(sentence for sentence in said if sentence)


NOTHING = "there is nothing to estimate from yet"


@dataclass(frozen=True)
class Finding:
    """One question in one group. Where nobody answered, the estimate is NaN and says so.

    `turnout` : how many answered, refused, left no report, or were not asked.
    `liars` : how far 1 % of people who agree on what to send can move the estimate at most; None where that
    has no meaning.
    """

    question: str
    group: Group
    estimate: Estimate
    liars: float | None
    turnout: Turnout


@dataclass(frozen=True, repr=False)
class Results:
    """All findings of a survey, and how far they can be trusted.

    `analysis` : the same estimates, with their designs, as `toolkit.analysis.estimates` makes them.
    `understood` : how many passed the comprehension check, and how many took it. `attention` : for each
    anchor question the share of people who did not answer at random. `groupless` : how many people are in no
    group, as their answer to the plain question that they are sorted by is missing. `remarks` : sentences
    about the collection that it comes from. `complete` : whether no more reports can come. `minimum` : the
    people below which no part of them is shown.
    """

    survey: Survey
    analysis: Findings
    findings: tuple[Finding, ...]
    understood: tuple[int, int] | None
    attention: Mapping[str, Estimate]
    groupless: int = 0
    remarks: tuple[str, ...] = ()
    complete: bool = True
    minimum: int = 0

    @property
    def by(self) -> tuple[str, ...]:
        """The plain questions that people are sorted by."""
        return self.analysis.by

    def __getitem__(self, name: str) -> Any:
        """The estimate of a question; if there are groups, one for each of them."""
        self.survey[name]  # refuses a name that is none
        found = {finding.group: finding.estimate for finding in self._of(name)}
        if not found:
            why = "it is free text, or there are no reports, or too few to show: see notes()"
            refuse("the question must have something to estimate", f"{name!r}", why, KeyError)
        if not self.by:
            return found[()]
        return {group[0] if len(self.by) == 1 else group: estimate for group, estimate in found.items()}

    def _of(self, name: str) -> list[Finding]:
        return [finding for finding in self.findings if finding.question == name]

    @property
    def estimated(self) -> tuple[Question, ...]:
        """The questions that there are findings of, in the order of the survey."""
        names = {finding.question for finding in self.findings}
        return tuple(question for question in self.survey.questions if question.name in names)

    def from_minimum(self, minimum: int) -> "Results":
        """Only what at least so many people answered; of fewer people in all, what all of them were asked.
        What is left out is counted in a remark.
        """
        everybody = max((sum(_people(one.turnout).values()) for one in self.findings), default=0)
        strict = bool(self.by) or everybody >= minimum
        kept = tuple(
            one for one in self.findings if (one.estimate.n or 0) >= minimum or not (strict or one.turnout.not_asked)
        )
        names = {(one.question, one.group) for one in kept}
        found = tuple(one for one in self.analysis.found if (one.question, one.group) in names)
        analysis = replace(self.analysis.from_minimum(minimum if strict else 0), found=found)
        shown = replace(self, analysis=analysis, findings=kept, minimum=minimum)
        left = len(self.findings) - len(kept)
        if not left:
            return shown
        told = (
            f"{left:,} of {len(self.findings):,} estimates are not shown, as fewer than {minimum:,} people "
            "answered (the survey's `minimum`). Whoever has the others and those of all people can work them "
            "out if they are of one group: publish one of the two."
        )
        return replace(shown, remarks=(*self.remarks, told))

    def differences(self, reference: Any, *, adjust: str | None = None, level: float = 0.95) -> "pd.DataFrame":
        """Every group less the reference, for each question and option, with a test of no difference.

        `reference` : a group, as `by` has it; of several questions a tuple. `adjust` : "holm" or
        "bonferroni", for all tests of the table together.
        """
        return self.analysis.differences(reference, adjust=adjust, level=level)

    def joint(self, first: str, second: str) -> Any:
        """Two hidden questions together: a share for each pair of answers; if there are groups, for each."""
        return self.analysis.joint(first, second)

    def change(self, earlier: "Results", name: str) -> Estimate:
        """How much the prevalence of a question with a memo has changed since an earlier wave, among the
        people in both; both collections must be closed. Of fewer than the survey's minimum it is shown only
        if all people are in both.

        Reports are joined by the number that phones send. Notes say who is left out.
        """
        return self._since(earlier, name, Memo.change)

    def flows(self, earlier: "Results", name: str) -> Estimate:
        """The share of people behind each pair of answers, in an earlier wave and in this one: who stayed,
        who came, who went; as for `change`.
        """
        return self._since(earlier, name, Memo.flows)

    def _since(self, earlier: "Results", name: str, estimate: Between) -> Estimate:
        check_waves(self.survey, earlier.survey)
        before, now = (frame_of(one.analysis.source, one.by, one.complete) for one in (earlier, self))
        least = max(self.minimum, earlier.minimum)
        return between(self.survey[name], before, now, estimate, least)

    @property
    def missing(self) -> "pd.DataFrame":
        """What became of every row, for each question and group; the counts add up to `rows`.

        Rows without a group are a row of their own.
        """
        pd = extra("pandas")
        told = [
            {"question": one.question, **dict(zip(self.by, one.group, strict=True))}
            | {"rows": sum(_people(one.turnout).values()), **_people(one.turnout), "missing group": 0}
            for one in self.findings
        ]
        if self.groupless:
            nobody = _people(Turnout("", (), 0, 0, 0, 0))
            told += [
                {"question": name, **dict.fromkeys(self.by), "rows": self.groupless, **nobody}
                | {"missing group": self.groupless}
                for name in dict.fromkeys(one.question for one in self.findings)
            ]
        return pd.DataFrame(told)

    def to_frame(self, level: float = 0.95) -> "pd.DataFrame":
        """One row for each question, group and option: estimate, standard error, interval, fit, people, and
        the 1 % of liars.

        Numbers for further work, shares as 0.25; `to_table` has them as people read them. `n` answered;
        "refused", "missing" and "not asked" are the others, as `Turnout` explains them.
        """
        pd = extra("pandas")

        rows = [
            {
                "question": finding.question,
                **dict(zip(self.by, finding.group, strict=True)),
                "option": option,
                **numbers.to_dict(),
            }
            | {"empty": bool(numbers.get("empty", False)), "fit p": numbers.get("fit p", np.nan)}
            | _people(finding.turnout)
            | {"shift by 1 % of liars": finding.liars}
            for finding in self.findings
            for option, numbers in finding.estimate.to_frame(level).iterrows()
        ]
        return pd.DataFrame(rows)

    def to_table(self, level: float = 0.95) -> "pd.DataFrame":
        """The same for a paper: labels, shares in percent, one number of decimals a question; write it with
        `to_csv` or `to_latex`.

        >>> import pandas as pd
        >>> from toolkit import Question, Survey, warner
        >>> from toolkit.survey.results import estimate
        >>> survey = Survey(
        ...     "Exams", [Question("cheated", "Cheated?", design=warner(p="3/4"))], consent="Why.", check=False
        ... )
        >>> estimate(survey, pd.DataFrame({"cheated": ["yes"] * 40 + ["no"] * 60})).to_table().T
                                     0
        question               cheated
        answer                     Yes
        estimate                30.0 %
        standard error      9.8 points
        95 % interval   11.9 to 49.6 %
        people                     100
        """
        pd = extra("pandas")

        rows = [
            {"question": question.name, **dict(zip(self.by, row.group, strict=True)), "answer": row.option}
            | {
                "estimate": row.estimate,
                "standard error": row.se,
                f"{100 * level:g} % interval": row.interval,
                "people": row.n,
            }
            for question in self.estimated
            for row in self.rows(question.name, level)
        ]
        return pd.DataFrame(rows)

    def rows(self, name: str, level: float = 0.95) -> list[Row]:
        """The lines of one question's table, as text."""
        found = [one for one in self.analysis.found if one.question == name]
        return rows_of(self.survey, self.survey[name], self.by, found, checked_level(level))

    def plot(self, level: float = 0.95) -> Any:
        """All estimates with their intervals in one picture: shares on one axis in percent, each mean on its
        own.
        """
        return lazy("toolkit.show.findings", "findings")(self, level=checked_level(level))

    def notes(self) -> list[str]:
        """How far to trust it, in sentences: the survey as a whole, then each estimate that its reports
        contradict.
        """
        doubtful = [finding for finding in self.findings if finding.estimate.contradicted]
        return [
            *self._trust(),
            *(f"{self._named(finding)}: {note}." for finding in doubtful for note in finding.estimate.notes),
        ]

    def _named(self, finding: Finding) -> str:
        group = self.group_words(finding.group)
        return f"{finding.question}{f' ({group})' if group else ''}"

    def group_words(self, group: Group) -> str:
        """A group in words: "faculty law, year 2"."""
        return ", ".join(
            f"{name} {label_of(self.survey, name, value)}" for name, value in zip(self.by, group, strict=True)
        )

    def _trust(self) -> list[str]:
        said = list(self.remarks)
        if self.understood is not None and self.understood[1]:
            passed, asked = self.understood
            said.append(f"{passed} of {asked} ({_percent(passed, asked)}) passed the comprehension check.")
        for name, share in self.attention.items():
            said.append(f"By the anchor question {name}, {at_random(share)}.")
        return said + turnout_notes([finding.turnout for finding in self.findings], self.by, self.groupless)

    def __repr__(self) -> str:
        groups = f" by {', '.join(self.by)}" if self.by else ""
        if not self.findings:
            return f"<Results of {self.survey.name!r}{groups}: {' '.join([f'{NOTHING}.', *self.remarks])}>"
        people = max(finding.estimate.n or 0 for finding in self.findings)
        return f"<Results of {self.survey.name!r}{groups}: {len(self.findings)} estimates, up to {people:,} people>"

    def _repr_html_(self) -> str:
        parts = [f"<h3>{html.escape(self.survey.name)}</h3>"]
        parts += [] if self.findings else [f"<p>{NOTHING}.</p>"]
        for question in self.estimated:
            heads = {name: name for name in self.by}
            parts += [
                f"<h4>{html.escape(text_of(self.survey, question))}</h4>",
                html_table(self.rows(question.name), heads, 0.95),
            ]
            parts += [f"<p>{html.escape(line)}</p>" for line in self._below(question)]
        return "".join([*parts, *(f"<p>{html.escape(note)}</p>" for note in self._trust())])

    def _below(self, question: Question) -> list[str]:
        """What must stand below a question's table: what its errors cover and cost, every note, and what
        liars could do.
        """
        found = self._of(question.name)
        first = next((finding.estimate for finding in found if finding.estimate.n), found[0].estimate)
        privacy = "no privacy claim" if first.loss is None else f"privacy loss {first.loss}"
        footing = "; ".join(part for part in (f"The errors cover {first.covers}", privacy, first.method) if part)
        notes = [
            f"{self.group_words(one.group)}: {note}".removeprefix(": ") for one in found for note in one.estimate.notes
        ]
        liars = max((one.liars for one in found if one.liars is not None), default=None)
        return [
            f"{footing}.",
            *(f"Note: {note}." for note in notes),
            *([] if liars is None else [_liars(question, liars)]),
        ]


def _people(found: Turnout) -> dict[str, int]:
    return {"n": found.answered, "refused": found.refused, "missing": found.missing, "not asked": found.not_asked}


def _percent(part: int, whole: int) -> str:
    """A part in percent; all, and none, only if it is so.

    >>> _percent(604, 606), _percent(606, 606), _percent(1, 606), _percent(90, 100)
    ('99.7 %', '100 %', '0.2 %', '90 %')
    """
    share, places = 100 * part / whole, 0
    while part not in (0, whole) and round(share, places) in (0, 100):
        places += 1
    return f"{share:.{places}f} %"


def _liars(question: Question, liars: float) -> str:
    size = f"{100 * liars:.2g} percentage points" if question.is_share else f"{liars:.2g}"
    return f"If 1 % of the people lied in concert, this could be off by up to {size} more."
