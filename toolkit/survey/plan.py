"""`SurveyPlan` has the precision of every question with n people, overall and in the smallest subgroup."""

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
from toolkit.planning.fieldwork import Field, checked_field
from toolkit.survey.questions.errors import error_location
from toolkit.survey.questions.question import Question, arm_pairs, is_share

if TYPE_CHECKING:
    import pandas as pd

_HEADS = ("question", "guess", "people", "margin", "people in the smallest subgroup", "margin there")


@dataclass(frozen=True)
class Planned:
    """The planned precision of one question.

    A margin is half the width of the interval, for the answer with the widest interval.

    Parameters
    ----------
    question : str
        Name of the question.
    share : bool
        Whether margins are shares; otherwise they are in the answer's unit.
    guess : str
        The assumed truth, as text.
    people : int
        Number of people who are asked.
    margin : float
        The margin for all of them.
    of : float
        The range of the estimated quantity, 1 for a share.
    small : int, optional
        Number of people in the smallest subgroup.
    small_margin : float, optional
        The margin in the smallest subgroup.

    Examples
    --------
    >>> from toolkit import Survey
    >>> survey = Survey("Study", [Question("year", "Year?", options=[1, 2])], consent="Why.")
    >>> survey.plan(100)["year"].people
    100
    """

    question: str
    share: bool
    guess: str
    people: int
    margin: float
    of: float
    small: int | None = None
    small_margin: float | None = None

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
    questions : tuple of Planned
        One for each question except free text.
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
    questions: tuple[Planned, ...]
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> Planned:
        by_name = {question.question: question for question in self.questions}
        if name not in by_name:
            rule = f"a question of this plan must be one of {', '.join(by_name)}"
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
            (question.question, question.guess, question.people, question.margin, question.small, question.small_margin)
            for question in self.questions
        ]
        return extra("pandas", "collect").DataFrame(rows, columns=list(_HEADS))

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
    """Return a plan as rows of text, column names first, without the columns of subgroups if there are none."""
    rows = [
        (
            row.question,
            row.guess,
            f"{row.people:,}",
            margin_text(row, row.margin),
            "" if row.small is None else f"{row.small:,}",
            margin_text(row, row.small_margin),
        )
        for row in survey_plan.questions
    ]
    width = len(_HEADS) if any(row.small is not None for row in survey_plan.questions) else 4
    return [row[:width] for row in (_HEADS, *rows)]


def margin_text(row: Planned, margin: float | None) -> str:
    """Format a margin with its unit, rounded up, so that it never looks better than it is; "" for None."""
    if margin is None:
        return ""
    if not math.isfinite(margin):  # a distribution has no single margin, and an empty group has none
        return "—"
    return f"± {_round_up(100 * margin)} points" if row.share else f"± {_round_up(margin)}"


def planned(
    title: str,
    questions: Sequence[Question],
    n: int | None = None,
    *,
    wishes: Mapping[str, Any] | None = None,
    **options: Any,
) -> SurveyPlan | PeopleNeeded:
    """Return the precision with n people, or the number of people that all wishes need; see `Survey.plan`."""
    if (n is None) == (wishes is None):
        received = "none" if n is None else "both"
        reject("exactly one of n and wishes must be given", received, "the other one is computed")
    if n is not None:
        return margins(title, questions, n, **options)
    designs = {question.name: question.design for question in questions if question.design is not None}
    prevalences = options.pop("prevalence", None) or {}
    guesses = {
        question.name: _guess(question, prevalences.get(question.name))[0]
        for question in questions
        if question.name in designs
    }
    return plan_survey(designs, wishes or {}, prevalence=guesses, **options)


def margins(
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
    people, guesses, confidence = check_integer(n, "n"), dict(prevalence or {}), check_level(level)
    field = checked_field(1, None, 1, 1, None, deff, weighting)
    estimable = [question for question in questions if question.kind != "text"]
    if strange := [name for name in guesses if name not in {question.name for question in estimable}]:
        reject(
            "`prevalence` must be a mapping from question to guess",
            repr(strange[0])[:60],
            "there is no such question to estimate",
        )
    smallest, grouping, notes = _smallest(questions, subgroup)
    shares = {question.name: _share_asked(question, estimable) for question in estimable}
    rows = []
    for question in estimable:
        # Within a group all people have the same answer to the question that defines the group.
        subgroup_share = None if question.name == grouping else smallest
        guess = guesses.get(question.name)
        with error_location(question=question.name):
            rows.append(_planned(question, people, shares[question.name], subgroup_share, guess, confidence, field))
    planned_rows = [row for row, question in zip(rows, estimable, strict=True) if question.chances is None]
    remarks = (*_notes(planned_rows, shares, people, confidence), *_compared(estimable, rows), *notes)
    return SurveyPlan(title, people, confidence, tuple(planned_rows), remarks)


def _compared(questions: Sequence[Question], rows: Sequence[Planned]) -> list[str]:
    """Return notes on the margins of differences between arms, whose variances add up as the people differ."""
    by_name = {row.question: row for row in rows}
    notes = []
    for first, second in arm_pairs(questions):
        row, other_row = by_name[first.name], by_name[second.name]
        margin = margin_text(other_row, math.hypot(row.margin, other_row.margin))
        notes.append(
            f"{second.name} minus {first.name}: {margin} (two forms of a question, asked of different people)."
        )
    return notes


def _planned(
    question: Question, n: int, share: Fraction, smallest: Fraction | None, guess: object, level: float, field: Field
) -> Planned:
    truth, label = _guess(question, guess)
    low, high = _bounds(question)
    in_all = _margin(question, truth, n, share, level, field)
    all_people = Planned(question.name, is_share(question), label, math.floor(n * share), in_all, high - low)
    if smallest is None:
        return all_people
    inside = _margin(question, truth, n, share * smallest, level, field)
    return replace(all_people, small=math.floor(n * share * smallest), small_margin=inside)


def _margin(question: Question, truth: Any, n: int, share_asked: Fraction, level: float, field: Field) -> float:
    """Return the margin of `toolkit.plan`, or for a plain question the usual margin at the largest variance."""
    if isinstance(question.design, SquareWave):
        return math.nan  # a distribution has no single margin
    if n * share_asked < 1:
        return math.inf
    if question.design is not None:
        sampling: dict[str, Any] = {"deff": field.deff, "weighting": field.weighting}
        return plan(question.design, prevalence=truth, n=n, subgroup=share_asked, level=level, **sampling).margin
    low, high = _bounds(question)
    if is_share(question):
        widest = max((share * (1 - share) for share in (truth if isinstance(truth, list) else [truth])), default=0.0)
    else:
        widest = max((truth - low) * (high - truth), 0.0)
    widest *= field.deff * field.weighting  # a plain answer has sampling variance only
    return float(ndtri(0.5 + level / 2)) * math.sqrt(widest / float(n * share_asked))


def _bounds(question: Question) -> tuple[float, float]:
    low, high = (0, 1) if is_share(question) or question.bounds is None else question.bounds
    return float(low), float(high)


def _guess(question: Question, guess: Any) -> tuple[Any, str]:
    """Return the assumed truth and its description; by default equally common answers, or the middle of a range."""
    if guess is not None:
        several = isinstance(guess, Sequence) and not isinstance(guess, str)
        truth = (
            [float(exact_fraction(share, "prevalence")) for share in guess]
            if several
            else float(exact_fraction(guess, "prevalence"))
        )
        return (truth, "as given" if several else f"{100 * truth:.3g} %" if is_share(question) else f"mean {truth:.4g}")
    if isinstance(question.design, SquareWave):
        return None, "a distribution"
    if not is_share(question):
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


def _share_asked(question: Question, others: Sequence[Question]) -> Fraction:
    """Return the share of people who are asked, if the plain answers that decide it are equally common."""
    deciding = {other.name: other for other in others}
    shares = [_share(deciding[name], answers) for name, answers in (question.show_if or {}).items()]
    return math.prod(shares, start=Fraction(1))


def _share(question: Question, answers: Sequence[str | int]) -> Fraction:
    """Return the share of people with one of these answers: exact for arms, else with equally common answers."""
    if question.chances is None:
        return Fraction(len(answers), len(question.options))
    return sum((question.chances[question.options.index(answer)] for answer in answers), Fraction(0))


def _smallest(questions: Sequence[Question], subgroup: Number | None) -> tuple[Fraction | None, str, list[str]]:
    """Return the share of the smallest subgroup, the question that defines it, and a note.

    By default subgroups are defined by the plain question with the most answers.
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
        if not question.randomized and question.kind == "choice" and question.chances is None and not question.arms
    ]
    if not candidates:
        return None, "", []
    finest = max(candidates, key=lambda question: len(question.options))
    k = len(finest.options)
    note = f"The smallest subgroup is taken to be 1 of {k} of equal size by {finest.name}"
    return Fraction(1, k), finest.name, [f"{note}; the margin of a smaller one is wider."]


def _notes(rows: Sequence[Planned], shares: Mapping[str, Fraction], n: int, level: float) -> list[str]:
    how = f"Margins are half the width of a {100 * level:g} % interval, by the normal approximation, at the guess"
    notes = [f"{how}; of numbers at the widest spread that is possible. Another guess gives other margins."]
    for row in rows:
        if shares[row.question] < 1:
            sentence = f"{row.people:,} of {n:,} if plain answers that decide it are equally common"
            notes.append(f"{row.question} is asked of some: {sentence}.")
        wide = "is at least half of its whole range"
        if row.margin >= row.of / 2:
            notes.append(f"{row.question}: {margin_text(row, row.margin)} {wide}: it would tell next to nothing.")
        elif row.small_margin is not None and row.small_margin >= row.of / 2:
            subgroup_margin = f"{margin_text(row, row.small_margin)} in the smallest subgroup {wide}"
            notes.append(f"{row.question}: {subgroup_margin}: there it would tell next to nothing.")
    return notes


def _round_up(number: float) -> str:
    """Round a number up to two digits, or to a whole number if it has more digits before the decimal point."""
    return f"{round_up(number, max(2, len(str(int(number))))):,f}"
