"""`SurveyPlan`: how precise every question would be with n people, in all and in the smallest subgroup."""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from toolkit.core.checks import Number, exact, reject, whole
from toolkit.core.checks import level as checked_level
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
    """The precision of one question. A margin is half the width of the interval, for the answer with the widest one.

    Parameters
    ----------
    question : str
        Its name.
    share : bool
        Whether margins are shares; else they are in the answer's unit.
    guess : str
        The truth that they are computed for.
    people : int
        How many are asked.
    margin : float
        The margin of all of them.
    of : float
        The range of what is estimated, 1 for a share.
    small : int, optional
        The people in the smallest subgroup.
    small_margin : float, optional
        The margin there.

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
        The survey's.
    n : int
        The people.
    level : float
        Level of the intervals.
    questions : tuple of Planned
        One for each question but free text.
    notes : tuple of str
        Assumptions, and the questions for which the margin would be too wide to be of use.

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
        """Return a row per question.

        Returns
        -------
        pandas.DataFrame
            With margins as numbers.
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
    """Return a plan as text: the column names, then a row per question; without subgroups where there are none."""
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
    """A margin in its unit, rounded up, so that it is never stated as better than it is; empty if there is none."""
    if margin is None:
        return ""
    if not math.isfinite(margin):  # of a distribution, or of nobody
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
        reject("exactly one of n and wishes must be given", received, "the other follows")
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
    """Return the margins of all questions but free text."""
    people, guesses, at = whole(n, "n"), dict(prevalence or {}), checked_level(level)
    field = checked_field(1, None, 1, 1, None, deff, weighting)
    estimable = [question for question in questions if question.kind != "text"]
    if strange := [name for name in guesses if name not in {question.name for question in estimable}]:
        reject(
            "`prevalence` must be guesses by question", repr(strange[0])[:60], "there is no such question to estimate"
        )
    smallest, sorting, notes = _smallest(questions, subgroup)
    shares = {question.name: _share_asked(question, estimable) for question in estimable}
    rows = []
    for question in estimable:
        subgroup_share = (
            None if question.name == sorting else smallest
        )  # in a group by a question all have the same answer to it
        with error_location(question=question.name):
            rows.append(
                _planned(question, people, shares[question.name], subgroup_share, guesses.get(question.name), at, field)
            )
    planned_rows = [row for row, question in zip(rows, estimable, strict=True) if question.chances is None]
    remarks = (*_notes(planned_rows, shares, people, at), *_compared(estimable, rows), *notes)
    return SurveyPlan(title, people, at, tuple(planned_rows), remarks)


def _compared(questions: Sequence[Question], rows: Sequence[Planned]) -> list[str]:
    """The margins of differences between arms. The arms have different people, so that both variances add up."""
    by_name = {row.question: row for row in rows}
    notes = []
    for first, second in arm_pairs(questions):
        row, other_row = by_name[first.name], by_name[second.name]
        margin = margin_text(other_row, math.hypot(row.margin, other_row.margin))
        notes.append(f"{second.name} minus {first.name}: {margin} (two ways to ask, of different people).")
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
    """The margin of `toolkit.plan`, or for a plain question the usual one at the largest variance."""
    if isinstance(question.design, SquareWave):
        return math.nan  # of a distribution there is no single margin
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
    widest *= field.deff * field.weighting  # nothing hides it: all of it comes from drawing people
    return float(ndtri(0.5 + level / 2)) * math.sqrt(widest / float(n * share_asked))


def _bounds(question: Question) -> tuple[float, float]:
    low, high = (0, 1) if is_share(question) or question.bounds is None else question.bounds
    return float(low), float(high)


def _guess(question: Question, guess: Any) -> tuple[Any, str]:
    """The truth to plan for, and in words: as given; else answers equally common, or the middle of a range."""
    if guess is not None:
        several = isinstance(guess, Sequence) and not isinstance(guess, str)
        truth = [float(exact(share, "prevalence")) for share in guess] if several else float(exact(guess, "prevalence"))
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
    """The share of people who are asked, if the plain answers that decide it are equally common."""
    deciding = {other.name: other for other in others}
    shares = [_share(deciding[name], answers) for name, answers in (question.show_if or {}).items()]
    return math.prod(shares, start=Fraction(1))


def _share(question: Question, answers: Sequence[str | int]) -> Fraction:
    """The share of people with one of these answers: exact where chance answers, else as if all were equally common."""
    if question.chances is None:
        return Fraction(len(answers), len(question.options))
    return sum((question.chances[question.options.index(answer)] for answer in answers), Fraction(0))


def _smallest(questions: Sequence[Question], subgroup: Number | None) -> tuple[Fraction | None, str, list[str]]:
    """The share of the smallest subgroup, as given or by the plain question with the most answers; and a note."""
    if subgroup is not None:
        share = exact(subgroup, "subgroup")
        if not 0 < share <= 1:
            reject(
                "`subgroup` must be a share above 0 and at most 1", subgroup, "it says how many of the people are in it"
            )
        return share, "", [f"The smallest subgroup has {float(100 * share):.3g} % of the people, as given."]
    sorting = [
        question
        for question in questions
        if not question.randomized and question.kind == "choice" and question.chances is None and not question.arms
    ]
    if not sorting:
        return None, "", []
    finest = max(sorting, key=lambda question: len(question.options))
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
    """A number rounded up to two digits, or to a whole number where it has more digits before the point."""
    return f"{round_up(number, max(2, len(str(int(number))))):,f}"
