"""The precision of every question of a survey with n people, overall and in the smallest subgroup."""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from toolkit.core.checks import Number, check_integer, check_level, exact_fraction, reject
from toolkit.core.extras import extra
from toolkit.core.inference.digits import concise, round_up
from toolkit.core.inference.special import ndtri
from toolkit.local.numeric.square_wave import SquareWave
from toolkit.planning import PeopleNeeded, plan, plan_survey
from toolkit.planning.fieldwork import Field, check_field
from toolkit.survey.questions.errors import error_location
from toolkit.survey.questions.question import Question, arm_pairs, estimates_shares

if TYPE_CHECKING:
    import pandas as pd

_HEADINGS = ("question", "guess", "people", "margin", "people in the smallest subgroup", "margin there")


@dataclass(frozen=True)
class PlannedQuestion:
    """The planned precision of one question.

    A margin is half the width of the interval, for the answer with the widest interval.

    Parameters
    ----------
    question : str
        Name of the question.
    is_share : bool
        Whether margins are shares of people; otherwise they have the unit of the answer.
    guess : str
        The assumed truth, as text.
    n_people : int
        Number of people who are asked.
    margin : float
        The margin for all people who are asked.
    span : float
        The width of the range of the estimated quantity, 1 for a share.
    n_subgroup : int, optional
        Number of people in the smallest subgroup.
    subgroup_margin : float, optional
        The margin in the smallest subgroup.

    Examples
    --------
    >>> from toolkit import Survey
    >>> survey = Survey("Study", [Question("year", "Year?", options=[1, 2])], consent="Why.")
    >>> survey.plan(100)["year"].n_people
    100
    """

    question: str
    is_share: bool
    guess: str
    n_people: int
    margin: float
    span: float
    n_subgroup: int | None = None
    subgroup_margin: float | None = None

    __repr__ = concise


@dataclass(frozen=True, repr=False)
class SurveyPlan:
    """The precision that each question of a survey would have with n people.

    Parameters
    ----------
    title : str
        Title of the survey.
    n : int
        Number of people.
    level : float
        Confidence level of the intervals.
    questions : tuple of PlannedQuestion
        One entry for each question except free text.
    notes : tuple of str
        Assumptions, and the questions whose margins would be too wide to be useful.

    Examples
    --------
    >>> from toolkit import Survey, warner
    >>> survey = Survey("Exams", [Question("cheated", "Cheated?", design=warner("3/4"))], consent="Why.")
    >>> survey.plan(1000)
    <Plan of 'Exams' with 1,000 people: cheated ± 6.2 points at 95 %>
    """

    title: str
    n: int
    level: float
    questions: tuple[PlannedQuestion, ...]
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> PlannedQuestion:
        by_name = {question.question: question for question in self.questions}
        if name not in by_name:
            rule = f"the question must be one of {', '.join(by_name)}"
            reject(rule, repr(name)[:60], "there is no other", KeyError)
        return by_name[name]

    def to_frame(self) -> "pd.DataFrame":
        """Return the plan as a table with margins as numbers.

        Returns
        -------
        pandas.DataFrame
            One row per question.
        """
        rows = [
            (
                question.question,
                question.guess,
                question.n_people,
                question.margin,
                question.n_subgroup,
                question.subgroup_margin,
            )
            for question in self.questions
        ]
        return extra("pandas", "collect").DataFrame(rows, columns=list(_HEADINGS))

    def __repr__(self) -> str:
        worst = ", ".join(
            f"{question.question} {margin_text(question, question.margin)}" for question in self.questions
        )
        return f"<Plan of {self.title!r} with {self.n:,} people: {worst} at {100 * self.level:g} %>"

    def _repr_html_(self) -> str:
        head, *lines = plan_table(self)
        heads = "".join(f"<th>{name}</th>" for name in head)
        cells = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in line)}</tr>" for line in lines)
        title = f"<b>{html.escape(self.title)}</b>, {100 * self.level:g} % intervals"
        caption = f"<caption style='text-align:left'>{title}</caption>"
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table>{notes}"


def plan_table(survey_plan: SurveyPlan) -> list[tuple[str, ...]]:
    """Return a plan as rows of text, starting with the column names; subgroup columns are left out if empty."""
    rows = [
        (
            row.question,
            row.guess,
            f"{row.n_people:,}",
            margin_text(row, row.margin),
            "" if row.n_subgroup is None else f"{row.n_subgroup:,}",
            margin_text(row, row.subgroup_margin),
        )
        for row in survey_plan.questions
    ]
    width = len(_HEADINGS) if any(row.n_subgroup is not None for row in survey_plan.questions) else 4
    return [row[:width] for row in (_HEADINGS, *rows)]


def margin_text(row: PlannedQuestion, margin: float | None) -> str:
    """Format a margin with its unit, rounded up so that it never looks better than it is; return "" for None."""
    if margin is None:
        return ""
    if not math.isfinite(margin):  # a distribution has no single margin, and an empty group has no margin
        return "—"
    return f"± {_round_up(100 * margin)} points" if row.is_share else f"± {_round_up(margin)}"


def plan_questions(
    title: str,
    questions: Sequence[Question],
    n: int | None = None,
    *,
    goals: Mapping[str, Any] | None = None,
    **options: Any,
) -> SurveyPlan | PeopleNeeded:
    """Return the precision with n people, or the number of people that meets all goals; see `Survey.plan`."""
    if (n is None) == (goals is None):
        received = "none" if n is None else "both"
        reject("exactly one of n and goals must be given", received, "the other one is computed")
    if n is not None:
        return plan_margins(title, questions, n, **options)
    designs = {question.name: question.design for question in questions if question.design is not None}
    prevalences = options.pop("prevalence", None) or {}
    guesses = {
        question.name: _assumed_truth(question, prevalences.get(question.name))[0]
        for question in questions
        if question.name in designs
    }
    return plan_survey(designs, goals or {}, prevalence=guesses, **options)


def plan_margins(
    title: str,
    questions: Sequence[Question],
    n: int,
    *,
    subgroup: Number | None = None,
    prevalence: Mapping[str, Any] | None = None,
    level: Number = 0.95,
    deff: Number = 1,
    weighting: Number = 1,
) -> SurveyPlan:
    """Return the margins of all questions except free text."""
    n_people, guesses, confidence = check_integer(n, "n"), dict(prevalence or {}), check_level(level)
    field = check_field(1, None, 1, 1, None, deff, weighting)
    estimable = [question for question in questions if question.kind != "text"]
    if strange := [name for name in guesses if name not in {question.name for question in estimable}]:
        reject(
            "`prevalence` must be a mapping from question to guess",
            repr(strange[0])[:60],
            "there is no such question to estimate",
        )
    smallest, grouping, notes = _smallest_subgroup(questions, subgroup)
    shares = {question.name: _share_asked(question, estimable) for question in estimable}
    rows = []
    for question in estimable:
        # Within a subgroup everybody has the same answer to the question that defines the subgroups.
        subgroup_share = None if question.name == grouping else smallest
        guess = guesses.get(question.name)
        with error_location(question=question.name):
            share = shares[question.name]
            rows.append(_planned_question(question, n_people, share, subgroup_share, guess, confidence, field))
    planned_rows = [row for row, question in zip(rows, estimable, strict=True) if question.draw_probabilities is None]
    all_notes = (*_plan_notes(planned_rows, shares, n_people, confidence), *_difference_notes(estimable, rows), *notes)
    return SurveyPlan(title, n_people, confidence, tuple(planned_rows), all_notes)


def _difference_notes(questions: Sequence[Question], rows: Sequence[PlannedQuestion]) -> list[str]:
    """Return notes on the margins of differences between arms; variances add up because no person is in two arms."""
    by_name = {row.question: row for row in rows}
    notes = []
    for first, second in arm_pairs(questions):
        first_row, second_row = by_name[first.name], by_name[second.name]
        margin = margin_text(second_row, math.hypot(first_row.margin, second_row.margin))
        notes.append(
            f"{second.name} minus {first.name}: {margin} (two forms of a question, asked of different people)."
        )
    return notes


def _planned_question(
    question: Question, n: int, share: Fraction, smallest: Fraction | None, guess: object, level: float, field: Field
) -> PlannedQuestion:
    truth, label = _assumed_truth(question, guess)
    low, high = _bounds(question)
    margin = _margin(question, truth, n, share, level, field)
    all_people = PlannedQuestion(
        question.name, estimates_shares(question), label, math.floor(n * share), margin, high - low
    )
    if smallest is None:
        return all_people
    subgroup_margin = _margin(question, truth, n, share * smallest, level, field)
    return replace(all_people, n_subgroup=math.floor(n * share * smallest), subgroup_margin=subgroup_margin)


def _margin(question: Question, truth: Any, n: int, share_asked: Fraction, level: float, field: Field) -> float:
    """Return the margin of `toolkit.plan`, or for a plain question the normal approximation at the maximum variance."""
    if isinstance(question.design, SquareWave):
        return math.nan  # a distribution has no single margin
    if n * share_asked < 1:
        return math.inf
    if question.design is not None:
        sampling: dict[str, Any] = {"deff": field.deff, "weighting": field.weighting}
        return plan(question.design, prevalence=truth, n=n, subgroup=share_asked, level=level, **sampling).margin
    low, high = _bounds(question)
    if estimates_shares(question):
        variance = max((share * (1 - share) for share in (truth if isinstance(truth, list) else [truth])), default=0.0)
    else:
        variance = max((truth - low) * (high - truth), 0.0)
    variance *= field.deff * field.weighting  # a plain answer has sampling variance only
    return float(ndtri(0.5 + level / 2)) * math.sqrt(variance / float(n * share_asked))


def _bounds(question: Question) -> tuple[float, float]:
    low, high = (0, 1) if estimates_shares(question) or question.bounds is None else question.bounds
    return float(low), float(high)


def _assumed_truth(question: Question, guess: Any) -> tuple[Any, str]:
    """Return the assumed truth and its description; the default is equal shares, or the middle of the range."""
    if guess is not None:
        is_list = isinstance(guess, Sequence) and not isinstance(guess, str)
        truth = (
            [float(exact_fraction(share, "prevalence")) for share in guess]
            if is_list
            else float(exact_fraction(guess, "prevalence"))
        )
        return (
            truth,
            "as given" if is_list else f"{100 * truth:.3g} %" if estimates_shares(question) else f"mean {truth:.4g}",
        )
    if isinstance(question.design, SquareWave):
        return None, "a distribution"
    if not estimates_shares(question):
        middle = sum(_bounds(question)) / 2
        return middle, f"mean {middle:.4g}"
    k = len(question.options)
    if question.anchor is not None:
        everybody = [float(option == question.anchor) for option in question.options]
        return everybody[-1] if k == 2 else everybody, f"all {question.anchor}"
    if question.kind == "ticks":
        each = min(0.5, getattr(question.design, "most", k) / k)
        return [each] * k, f"{100 * each:.3g} % tick each"
    return (0.5, "50 %") if k == 2 else ([1 / k] * k, f"{100 / k:.3g} % each")


def _share_asked(question: Question, questions: Sequence[Question]) -> Fraction:
    """Return the share of people who are asked, assuming uniform answers to the questions in its condition."""
    by_name = {other.name: other for other in questions}
    shares = [_share_answering(by_name[name], answers) for name, answers in (question.show_if or {}).items()]
    return math.prod(shares, start=Fraction(1))


def _share_answering(question: Question, answers: Sequence[str | int]) -> Fraction:
    """Return the share of people who give one of these answers: exact for arms, otherwise assuming uniform answers."""
    if question.draw_probabilities is None:
        return Fraction(len(answers), len(question.options))
    return sum((question.draw_probabilities[question.options.index(answer)] for answer in answers), Fraction(0))


def _smallest_subgroup(
    questions: Sequence[Question], subgroup: Number | None
) -> tuple[Fraction | None, str, list[str]]:
    """Return the share of the smallest subgroup, the question that defines the subgroups, and notes.

    By default the plain question with the most options defines them.
    """
    if subgroup is not None:
        share = exact_fraction(subgroup, "subgroup")
        if not 0 < share <= 1:
            reject(
                "`subgroup` must be a share above 0 and at most 1", subgroup, "it is the subgroup's share of the people"
            )
        return share, "", [f"The smallest subgroup has {float(100 * share):.3g} % of the people, as given."]
    candidates = [
        question
        for question in questions
        if not question.randomized
        and question.kind == "choice"
        and question.draw_probabilities is None
        and not question.arms
    ]
    if not candidates:
        return None, "", []
    grouping = max(candidates, key=lambda question: len(question.options))
    k = len(grouping.options)
    note = f"The smallest subgroup is assumed to be 1 of {k} of equal size by {grouping.name}"
    return Fraction(1, k), grouping.name, [f"{note}; the margin of a smaller subgroup is wider."]


def _plan_notes(rows: Sequence[PlannedQuestion], shares: Mapping[str, Fraction], n: int, level: float) -> list[str]:
    method = f"Margins are half the width of a {100 * level:g} % interval, by the normal approximation, at the guess"
    notes = [f"{method}; for numbers, the widest possible spread is assumed. Other guesses give other margins."]
    for row in rows:
        if shares[row.question] < 1:
            sentence = f"{row.n_people:,} of {n:,} if the plain answers in its condition are equally common"
            notes.append(f"{row.question} is asked of some people only: {sentence}.")
        too_wide = "is at least half of the whole range, so the estimate would say almost nothing"
        if row.margin >= row.span / 2:
            notes.append(f"{row.question}: {margin_text(row, row.margin)} {too_wide}.")
        elif row.subgroup_margin is not None and row.subgroup_margin >= row.span / 2:
            subgroup_margin = f"{margin_text(row, row.subgroup_margin)} in the smallest subgroup"
            notes.append(f"{row.question}: {subgroup_margin} {too_wide}.")
    return notes


def _round_up(number: float) -> str:
    """Format a number rounded up to two digits, or to a whole number if its integer part has more digits."""
    return f"{round_up(number, max(2, len(str(int(number))))):,f}"
