"""`Results` presents the estimates of a survey, overall or by group, as tables, notes and plots."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from toolkit.analysis.findings import Findings
from toolkit.analysis.paper_table import format_rows, is_outside
from toolkit.analysis.reports import GroupEstimate
from toolkit.core.checks import check_level, reject, warn
from toolkit.core.estimate import Estimate
from toolkit.core.extras import extra
from toolkit.frames.counts import Group
from toolkit.local.anchor import describe_random_share
from toolkit.local.waves import Memo
from toolkit.survey.consent.device_check import guess_probabilities
from toolkit.survey.questions.question import Question, estimates_shares, readable_text
from toolkit.survey.questions.survey_fields import CHANNEL
from toolkit.survey.results.comparing import (
    ArmDifference,
    WaveEstimator,
    arm_differences,
    check_waves,
    closed_wave_reports,
    estimate_between_waves,
)
from toolkit.survey.results.registration import Registration
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import phrases

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ResultRow:
    """One row of a question's table, formatted as text in one unit."""

    group: tuple[str, ...]
    option: str
    estimate: str
    se: str
    interval: str
    n: int


PASSED_FIRST_TRY, PASSED_SECOND_TRY = ("True", "true", "1", "1.0"), ("2", "2.0")
"""The values in engines and files for a comprehension check that was passed at the first or the second try."""


def option_label(survey: Survey, name: str, option: object) -> str:
    """Return the label of an option or group, as respondents read it."""
    question = {other.name: other for other in survey.questions}.get(name)
    if name == CHANNEL:
        return str(option)
    if question is None:  # the comprehension check, which allows two tries if it is about the device
        is_second_try = str(option) in PASSED_SECOND_TRY
        return (
            "passed at the second try"
            if is_second_try
            else "passed"
            if str(option) in PASSED_FIRST_TRY
            else "did not pass"
        )
    language = survey.languages[0]
    options = {str(answer): answer for answer in (*question.options, *question.report_options)}
    return (
        question.label(options[str(option)], language, phrases(language, survey.words))
        if str(option) in options
        else str(option)
    )


def html_table(rows: Sequence[ResultRow], by: Sequence[str]) -> str:
    """Return one question's table as HTML; `by` are the questions by which people are grouped."""
    options = any(row.option != "mean" for row in rows)
    heads = [*by, *(["answer"] if options else []), "estimate", "standard error", "95 % interval", "people"]
    head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
    lines = []
    for row in rows:
        labels = [*row.group, *([row.option] if options else [])]
        cells = "".join(f"<th style='text-align:left'>{html.escape(text)}</th>" for text in labels)
        cells += "".join(f"<td>{html.escape(text)}</td>" for text in (row.estimate, row.se, row.interval, f"{row.n:,}"))
        lines.append(f"<tr>{cells}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


NOTHING_TO_SHOW = "there is nothing to show yet"
OUTSIDE_NOTE = (
    "An estimate marked * lies outside 0 to 100 %, as an unbiased estimate can by chance or if instructions were not "
    'followed; the interval contains the values that agree with the reports, and method="mle" stays inside.'
)


@dataclass(frozen=True, kw_only=True)
class SurveyEstimate(GroupEstimate):
    """The estimate of one question in one group, with the numbers of people who did not answer, by reason.

    Parameters
    ----------
    lie_shift : float or None
        The maximum shift that 1 % of the people can cause by lying in concert; None if it is not defined.
    n_refused : int
        Number of people who left an optional question empty.
    n_not_asked : int
        Number of people to whom the question does not apply because of earlier plain answers.

    Examples
    --------
    >>> from toolkit import warner
    >>> reports = warner(p="3/4").estimate([0, 1, 0, 1])
    >>> SurveyEstimate("cheated", (), reports, 5, 1, lie_shift=None, n_refused=1, n_not_asked=0).counts
    {'n': 4, 'refused': 1, 'missing': 0, 'not asked': 0}
    """

    lie_shift: float | None
    n_refused: int
    n_not_asked: int

    @property
    def n_unanswered(self) -> int:
        """The number of people who were required to answer but whose report is missing."""
        return self.missing - self.n_refused - self.n_not_asked

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows by outcome, with the column names of the tables as keys."""
        return {"n": self.used, "refused": self.n_refused, "missing": self.n_unanswered, "not asked": self.n_not_asked}

    @property
    def turnout(self) -> dict[str, int]:
        """The number of rows by outcome, for the rows of this group."""
        return {**self.counts, "missing group": 0}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Results(Findings):
    """The estimates of a survey, as tables with the labels that respondents read, and notes on their reliability.

    Parameters
    ----------
    survey : Survey
        The survey.
    understood : tuple of int or None
        Numbers of people who passed the comprehension check (on each of the two tries if it is about the device),
        followed by the number of people who took it.
    attention : mapping
        For each anchor question, the share of people who did not answer at random.
    complete : bool
        Whether the collection is closed, so that no reports can be added.
    registration : Registration, optional
        The preregistration; see `registered`.

    Examples
    --------
    >>> import pandas as pd
    >>> from toolkit import Question, Survey, warner
    >>> from toolkit.survey import estimate
    >>> survey = Survey("Exams", [Question("cheated", "Cheated?", design=warner("3/4"))], consent="Why.", check=False)
    >>> estimate(survey, pd.DataFrame({"cheated": ["yes"] * 40 + ["no"] * 60}))
    <Results of 'Exams': 1 estimates, up to 100 people>
    """

    group_estimates: tuple[SurveyEstimate, ...]
    survey: Survey
    understood: tuple[int, ...] | None
    attention: Mapping[str, Estimate]
    complete: bool = True
    registration: Registration | None = None

    def _check(self, *names: str) -> None:
        for name in names:
            self.survey[name]  # raises an error for an unknown name
            if name not in self.designs:
                self._reject_without_estimate(name)

    def _estimates_of(self, name: str) -> list[SurveyEstimate]:
        return [estimate for estimate in self.group_estimates if estimate.question == name]

    @property
    def estimated(self) -> tuple[Question, ...]:
        """The questions that have estimates, in the order of the survey."""
        names = {finding.question for finding in self.group_estimates}
        return tuple(question for question in self.survey.questions if question.name in names)

    def suppress_below(self, minimum: int) -> Self:
        """Withhold estimates that are based on fewer than `minimum` people; a remark states how many were withheld.

        Parameters
        ----------
        minimum : int
            The minimum number of people.

        Returns
        -------
        Results
            The results without these estimates.
        """
        enough = super().suppress_below(minimum)
        visible = tuple(finding for finding in enough.group_estimates if (finding.estimate.n or 0) >= minimum)
        remarks = self.remarks
        if left_out := len(self.group_estimates) - len(visible):
            remark = (
                f"{left_out:,} of {len(self.group_estimates):,} estimates are not shown, as fewer than {minimum:,} "
                "people answered (the survey's `minimum`)."
            )
            if self.by:
                remark += (
                    " If they belong to one group, they can be computed from the estimates of the other groups and of "
                    "all people: publish one of the two."
                )
            remarks = (*remarks, remark)
        attention = {name: share for name, share in self.attention.items() if (share.n or 0) >= minimum}
        few = self.understood is not None and 0 < self.understood[-1] < minimum
        understood = None if few else self.understood
        return replace(enough, group_estimates=visible, attention=attention, understood=understood, remarks=remarks)

    def differences(self, reference: object, *, adjust: str | None = None, level: float = 0.95) -> "pd.DataFrame":
        """Return the difference of every group from a reference group, with a test, for each question and option.

        Parameters
        ----------
        reference : Any
            The reference group, a tuple if `by` has several questions.
        adjust : str, optional
            The method that adjusts for multiple testing, over all tests of the table: "holm" or "bonferroni".
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            One row per question, group and option.
        """
        frame = super().differences(reference, adjust=adjust, level=level)
        if self.registration is not None:
            frame["status"] = [self.registration.status(name, self.by, reference) for name in frame["question"]]
        return frame

    def registered(self, registration: Registration | str | Path) -> "Results":
        """Return the results with a status for each estimate: registered or exploratory.

        Parameters
        ----------
        registration : Registration, str or Path
            The preregistration, or the file that was written by `toolkit register`.

        Returns
        -------
        Results
            The results, with a column "status" in tables, frames and differences.

        Raises
        ------
        ValueError
            If a different survey was registered.
        """
        if isinstance(registration, str | Path):
            registration = Registration.load(registration)
        registration.check(self.survey)
        sentence = f"Registered on {registration.date} (SHA-256 {registration.seal[:16]}…); all else is exploratory."
        return replace(self, registration=registration, remarks=(*self.remarks, sentence))

    def status(self, name: str) -> str:
        """Return whether the estimates of a question were registered.

        Parameters
        ----------
        name : str
            The question.

        Returns
        -------
        str
            "registered" or "exploratory", or "" without a registration.
        """
        return "" if self.registration is None else str(self.registration.status(name, self.by))

    def _status_by_column(self, name: str) -> dict[str, str]:
        return {} if self.registration is None else {"status": self.status(name)}

    def report(self, path: str | Path, *, title: str | None = None, level: float = 0.95) -> Path:
        """Write a report with questions, turnout, estimates, plots, methods and the protection of privacy.

        Parameters
        ----------
        path : str or Path
            A .html, .docx, .pdf or .md file.
        title : str, optional
            Title of the report, by default the title of the survey.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        Path
            The file.
        """
        from toolkit.survey.exchange.written_report import report_document

        return report_document(self, check_level(level), title or self.survey.name).save(path)

    def arms(self) -> tuple[ArmDifference, ...]:
        """Return the differences between experimental arms that were asked the same question in different forms.

        Returns
        -------
        tuple of ArmDifference
            One entry for each pair of questions with the same text in different arms and each answer except the first.
        """
        if self.by:
            reject("arms are compared without groups", f"groups by {', '.join(self.by)}", "leave `by` out")
        single = {finding.question: finding.estimate for finding in self.group_estimates}
        return arm_differences(self.survey.questions, single.get)

    def change(self, earlier: "Results", name: str) -> Estimate:
        """Return the change in the prevalence of a question with a memo since an earlier wave.

        Only people in both waves are compared; they are linked by the number that phones send. Both collections must be
        closed, and the number of people in both must reach the survey's minimum. Notes state how many people are left
        out.

        Parameters
        ----------
        earlier : Results
            The results of an earlier wave of the same panel, without groups or weights.
        name : str
            A question with a memo.

        Returns
        -------
        Estimate
            The later prevalence minus the earlier one.
        """
        return self._estimate_since(earlier, name, Memo.change)

    def flows(self, earlier: "Results", name: str) -> Estimate:
        """Return the joint distribution of the true answers in an earlier wave and in this one.

        Parameters
        ----------
        earlier : Results
            The results of an earlier wave, as for `change`.
        name : str
            A question with a memo.

        Returns
        -------
        Estimate
            The share of people for each pair of answers.
        """
        return self._estimate_since(earlier, name, Memo._truth_flows)

    def _estimate_since(self, earlier: "Results", name: str, estimate: WaveEstimator) -> Estimate:
        check_waves(self.survey, earlier.survey)
        before, now = (closed_wave_reports(results.source, results.by, results.complete) for results in (earlier, self))
        least = max(self.minimum, earlier.minimum)
        return estimate_between_waves(self.survey[name], before, now, estimate, least)

    def to_frame(self, level: float = 0.95) -> "pd.DataFrame":
        """Return the results as unrounded numbers for further analyses; `summary` returns formatted numbers.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            One row per question, group and option, with estimate, standard error, interval, fit, the number `n` of
            answers, the other counts of `SurveyEstimate`, and the maximum shift if 1 % of people lie.
        """
        rows = [
            {
                "question": finding.question,
                **dict(zip(self.by, finding.group, strict=True)),
                "option": option,
                **numbers.to_dict(),
            }
            | {"empty": bool(numbers.get("empty", False)), "fit p": numbers.get("fit p", np.nan)}
            | finding.counts
            | {"shift by 1 % of liars": finding.lie_shift}
            | self._status_by_column(finding.question)
            for finding in self.group_estimates
            for option, numbers in finding.estimate.to_frame(level).iterrows()
        ]
        return extra("pandas", "collect").DataFrame(rows)

    def summary(self, level: float = 0.95) -> "pd.DataFrame":
        """Return a table for a paper, with labels, shares in percent, and consistent decimals within a question.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            A table of text, for `to_csv` or `to_latex`.

        Examples
        --------
        >>> import pandas as pd
        >>> from toolkit import Question, Survey, warner
        >>> from toolkit.survey.results import estimate
        >>> survey = Survey(
        ...     "Exams", [Question("cheated", "Cheated?", design=warner(p="3/4"))], consent="Why.", check=False
        ... )
        >>> estimate(survey, pd.DataFrame({"cheated": ["yes"] * 40 + ["no"] * 60})).summary().T
                                     0
        question               cheated
        answer                     Yes
        estimate                30.0 %
        standard error      9.8 points
        95 % interval   11.9 to 49.6 %
        people                     100
        """
        numbers = ("estimate", "standard error", f"{100 * check_level(level):g} % interval", "people")
        marks = () if self.registration is None else ("status",)
        if not self.group_estimates:
            warn(f"The table is empty: {' '.join([f'{NOTHING_TO_SHOW}.', *self.remarks])}")
        rows = [
            (question.name, *row.group, row.option, row.estimate, row.se, row.interval, row.n, *marked)
            for question in self.estimated
            for marked in [self._status_by_column(question.name).values()]
            for row in table_rows(self, question.name, level)
        ]
        return extra("pandas", "collect").DataFrame(rows, columns=["question", *self.by, "answer", *numbers, *marks])

    def plot(self, level: float = 0.95) -> Any:  # type: ignore[override]  # several panels with separate axes
        """Draw all estimates with their intervals: shares on one axis in percent, and each mean on a separate axis.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        PanelFigure
            The figure, with its content as text.
        """
        from toolkit.show.findings import findings

        return findings(self, level=check_level(level))

    def notes(self) -> list[str]:
        """Return notes on the reliability of the results, and on each estimate whose reports contradict the design.

        Returns
        -------
        list of str
            The notes.
        """
        notes = [*self._general_notes(), *([OUTSIDE_NOTE] if any(map(self._has_share_outside, self.estimated)) else [])]
        for finding in self.group_estimates:
            if finding.estimate.contradicted:
                where = f" ({group_label(self, finding.group)})" if self.by else ""
                notes += [f"{finding.question}{where}: {note}." for note in finding.estimate.notes]
        return notes

    def _has_share_outside(self, question: Question) -> bool:
        """Return whether an estimated share of the question lies outside 0 to 100 %."""
        values = [np.ravel(finding.estimate.value) for finding in self._estimates_of(question.name)]
        return estimates_shares(question) and bool(is_outside(np.concatenate(values)).any())

    def _general_notes(self) -> list[str]:
        notes = list(self.remarks)
        if self.understood is not None and self.understood[-1]:
            notes.append(_comprehension_note(*self.understood))
        notes += [] if self.by else [f"Asked in two ways, {finding}" for finding in self.arms()]
        notes += [
            f"By the anchor question {name}, {describe_random_share(share)}." for name, share in self.attention.items()
        ]
        for question in self.estimated:
            findings = self._estimates_of(question.name)
            answered = sum(finding.used for finding in findings)
            refused, missing = (
                sum(finding.n_refused for finding in findings),
                sum(finding.n_unanswered for finding in findings),
            )
            if refused or missing:
                notes.append(f"{question.name}: {answered:,} answered, {refused:,} refused, {missing:,} missing.")
        if self.ungrouped:
            people = "person has" if self.ungrouped == 1 else "people have"
            notes.append(
                f"{self.ungrouped:,} {people} no group, as the answer to {' or '.join(self.by)} is missing: no "
                "estimate here includes them."
            )
        return notes

    def __repr__(self) -> str:
        groups = f" by {', '.join(self.by)}" if self.by else ""
        if not self.group_estimates:
            return f"<Results of {self.survey.name!r}{groups}: {' '.join([f'{NOTHING_TO_SHOW}.', *self.remarks])}>"
        people = max(finding.estimate.n or 0 for finding in self.group_estimates)
        count = len(self.group_estimates)
        return f"<Results of {self.survey.name!r}{groups}: {count} estimates, up to {people:,} people>"

    def _repr_html_(self) -> str:
        blocks = [f"<h3>{html.escape(self.survey.name)}</h3>"]
        blocks += [] if self.group_estimates else [f"<p>{NOTHING_TO_SHOW}.</p>"]
        for question in self.estimated:
            blocks += [
                f"<h4>{html.escape(readable_text(question, self.survey.languages[0]))}</h4>",
                html_table(table_rows(self, question.name), self.by),
                *(f"<p>{html.escape(line)}</p>" for line in footnotes(self, question)),
            ]
        return "".join([*blocks, *(f"<p>{html.escape(note)}</p>" for note in self._general_notes())])


def group_label(results: Results, group: Group) -> str:
    """Return the label of a group, such as "faculty law, year 2"."""
    return ", ".join(
        f"{name} {option_label(results.survey, name, value)}" for name, value in zip(results.by, group, strict=True)
    )


def table_rows(results: Results, name: str, level: float = 0.95) -> list[ResultRow]:
    """Return the rows of one question's table; a star marks a share outside 0 to 100 %."""
    survey = results.survey
    lines = format_rows(results._estimates_of(name), check_level(level), are_shares=estimates_shares(survey[name]))
    return [
        ResultRow(
            tuple(option_label(survey, by, value) for by, value in zip(results.by, line.finding.group, strict=True)),
            option_label(survey, name, line.option),
            f"{line.estimate} *" if line.outside else line.estimate,
            line.se,
            line.interval,
            line.finding.used,
        )
        for line in lines
    ]


def footnotes(results: Results, question: Question) -> list[str]:
    """Return the footnotes of a question's table: what its errors cover, privacy loss, notes, and effect of lies."""
    findings = results._estimates_of(question.name)
    typical = next((finding.estimate for finding in findings if finding.estimate.n), findings[0].estimate)
    privacy = "no privacy claim" if typical.loss is None else f"privacy loss {typical.loss}"
    footing = "; ".join(part for part in (f"The errors cover {typical.covers}", privacy, typical.method) if part)
    lines = [OUTSIDE_NOTE] if results._has_share_outside(question) else []
    lines += [f"{footing}.", *(f"This is {status}." for status in results._status_by_column(question.name).values())]
    for finding in findings:
        prefix = f"{group_label(results, finding.group)}: " if results.by else ""
        lines += [f"Note: {prefix}{note}." for note in finding.estimate.notes]
    lie_shift = max((finding.lie_shift for finding in findings if finding.lie_shift is not None), default=None)
    if lie_shift is not None:
        shift_text = f"{100 * lie_shift:.2g} percentage points" if estimates_shares(question) else f"{lie_shift:.2g}"
        lines.append(
            f"If 1 % of people coordinated false reports, the estimate could be off by up to {shift_text} more."
        )
    return lines


def _format_percent(count: int, whole: int) -> str:
    """Format a share in percent, rounded to "100 %" or "0 %" only if that is exact."""
    share, decimals = 100 * count / whole, 0
    while count not in (0, whole) and round(share, decimals) in (0, 100):
        decimals += 1
    return f"{share:.{decimals}f} %"


def _comprehension_note(*counts: int) -> str:
    """Return a sentence on how many people passed the comprehension check, and how many would pass it by chance."""
    *n_passed, n_tried = counts
    rate = _format_percent(sum(n_passed), n_tried)
    passed = f"{sum(n_passed):,} of {n_tried:,} ({rate}) passed the comprehension check"
    if len(n_passed) == 1:
        return f"{passed}; chance alone would give {_format_percent(1, 2)}."
    once, twice = (_format_percent(share.numerator, share.denominator) for share in guess_probabilities(3))
    first_try = f"{_format_percent(n_passed[0], n_tried)} at the first try"
    return f"{passed}, {first_try}; chance alone would give {twice}, {once} at the first."
