"""`plan_survey`: how many people a whole survey needs for all that is wanted of it, and what decides."""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolkit.core.checks import Number, exact, explain_call, refuse
from toolkit.core.extras import extra
from toolkit.core.inference.digits import concise
from toolkit.local.protocol import Randomizer
from toolkit.planning.fieldwork import Field, checked_field, whole_people
from toolkit.planning.models import plan_difference, plan_slope
from toolkit.planning.planner import plan

if TYPE_CHECKING:
    import pandas as pd

_POWER = 0.8
_PURPOSES = {
    "margin": ("margin", "subgroup", "assurance"),
    "test": ("detect", "power", "sides", "subgroup"),
    "difference": ("difference", "power", "groups"),
    "slope": ("slope", "intercept", "power", "covariate", "subgroup"),
}


@dataclass(frozen=True)
class Needed:
    """What one wish needs, a row of `PeopleNeeded`.

    Parameters
    ----------
    question : str
        What it is about.
    purpose : {"margin", "test", "difference", "slope"}
        What is wished for.
    group : str
        Of whom, in words.
    share : float
        The group's share of the people; of a difference the first one's.
    target : str
        What is to be reached, in words.
    n : int
        People in the group.
    people : int
        People in the survey.
    invited : int
        People to invite.
    binding : bool
        Whether no other wish needs more.

    Examples
    --------
    >>> from toolkit import warner
    >>> needed = plan_survey({"a": warner("3/4")}, {"a": {"margin": 0.05}}, prevalence={"a": 0.2}, response="1/2")
    >>> [(row.target, row.invited == 2 * row.people) for row in needed.rows]
    [('± 0.05', True)]
    """

    question: str
    purpose: str
    group: str
    share: float
    target: str
    n: int
    people: int
    invited: int
    binding: bool

    __repr__ = concise


@dataclass(frozen=True, repr=False)
class PeopleNeeded:
    """How many people a survey needs for all wishes together, as `plan_survey` returns it.

    Parameters
    ----------
    rows : tuple of Needed
        One for each wish.
    notes : tuple of str
        What a reader must not miss.

    Examples
    --------
    >>> from toolkit import warner
    >>> plan_survey({"a": warner("3/4")}, {"a": {"margin": 0.05}}, prevalence={"a": 0.2}).n > 1000
    True
    """

    rows: tuple[Needed, ...]
    notes: tuple[str, ...]

    @property
    def n(self) -> int:
        """People whose reports must arrive, for all wishes together."""
        return max(row.people for row in self.rows)

    @property
    def invited(self) -> int:
        """People to invite so that as many answer."""
        return max(row.invited for row in self.rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per wish.

        Returns
        -------
        pandas.DataFrame
            What each wish needs, and which one decides.
        """
        return extra("pandas").DataFrame([vars(row) for row in self.rows])

    def __repr__(self) -> str:
        binding = next(row for row in self.rows if row.binding)
        what = f"{binding.question}, {binding.target} ({binding.group}) decides"
        size = f"{self.n:,} people, {self.invited:,} invited, for {len(self.rows)} wishes"
        return f"<PeopleNeeded: {size}; {what}>"

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"{self.to_frame().to_html(index=False)}{notes}"


_CALL = 'plan_survey({"cheated": warner("3/4")}, {"cheated": {"margin": 0.05}}, prevalence={"cheated": 0.2})'


@explain_call(_CALL)
def plan_survey(
    designs: Mapping[str, Randomizer],
    wishes: Mapping[str, Any],
    *,
    prevalence: Mapping[str, Any],
    level: Number = 0.95,
    response: Number = 1,
    population: int | None = None,
    deff: Number = 1,
    weighting: Number = 1,
) -> PeopleNeeded:
    """Compute how many people must answer, so that every wish is fulfilled.

    Parameters
    ----------
    designs : mapping
        The randomizer of each question.
    wishes : mapping
        For each question one wish, or a list of them: {"margin": 0.03} in all, {"margin": 0.06, "subgroup": "1/4"} in
        a part of the people; {"detect": 0.2} a test against the guess; {"difference": (0.1, 0.2), "groups": ("1/2",
        "1/2")} between two groups; {"slope": 0.5, "intercept": -1} of a logistic regression. Tests have "power": 0.8
        unless it is said.
    prevalence : mapping
        A guess of each truth, as for `plan`.
    level : number
        Confidence level.
    response, population, deff, weighting : optional
        As for `plan`; a population smaller than those to invite is refused.

    Returns
    -------
    PeopleNeeded
        People for all wishes, and for each.

    Examples
    --------
    >>> from toolkit import forced
    >>> die = forced("1/6", "1/6")
    >>> wishes = [{"margin": 0.03}, {"margin": 0.06, "subgroup": "1/4"}, {"slope": 0.5, "intercept": -1}]
    >>> plan_survey({"cheated": die}, {"cheated": wishes}, prevalence={"cheated": 0.1}, response=0.5)
    <PeopleNeeded: 1,720 people, 3,440 invited, for 3 wishes; cheated, ± 0.06 (1/4 of the people) decides>
    """
    field = checked_field(1, population, response, 1, None, deff, weighting)
    needs: list[tuple[str, str, str, float, str, int, int]] = []
    if not all(isinstance(one, Mapping) for one in (designs, wishes, prevalence)):
        refuse("designs, wishes and guesses must be mappings by question", "others", _CALL, TypeError)
    for name, wish_or_wishes in wishes.items():
        if not isinstance(wish_or_wishes, Mapping | list | tuple):
            refuse("a wish must be a mapping, or several", type(wish_or_wishes).__name__, _CALL, TypeError)
        if name not in designs:
            refuse("wishes must be of hidden questions", repr(name)[:60], f"they are {', '.join(designs)}")
        needs += [
            (name, *_needed(designs[name], wish, prevalence.get(name), level, field))
            for wish in ([wish_or_wishes] if isinstance(wish_or_wishes, Mapping) else wish_or_wishes)
        ]
    if not needs:
        refuse("there must be a wish", "none", "{'cheated': {'margin': 0.03}}")
    most = max(people for *_, people in needs)
    rows = tuple(
        Needed(name, purpose, group, share, target, n, people, field.invited(people), people == most)
        for name, purpose, group, share, target, n, people in needs
    )
    if field.population is not None and field.invited(most) > field.population:
        rule = f"the population must hold the {field.invited(most):,} people to invite"
        refuse(rule, f"{field.population:,}", "nobody is asked twice; wish for less")
    return PeopleNeeded(rows, _notes(rows, field))


_Row = tuple[str, str, float, str, int, int]


def _needed(design: Any, wish: object, guess: object, level: Number, field: Field) -> _Row:
    """Purpose, group in words, its share, target in words, people in the group, and in all."""
    purpose, terms = _purpose(wish)
    if guess is None and purpose in ("margin", "test"):
        refuse("`prevalence` must hold a guess for each question", "none for one", "errors depend on it")
    if purpose == "difference":
        return _difference(design, terms, level, field)
    share = exact(terms.pop("subgroup", 1), "subgroup")
    if not 0 < share <= 1:
        refuse("`subgroup` must be a share above 0 and at most 1", share, "it says how many are in it")
    shared: dict[str, Any] = {"level": level}
    if purpose == "slope":
        slope_plan = plan_slope(design, **{"power": _POWER, **terms}, **shared)
        n = whole_people(slope_plan.n * field.weighting)
        target = f"slope {slope_plan.slope:g} with power {float(terms.get('power', _POWER)):g}"
    else:
        shared |= {"prevalence": guess, "deff": field.deff, "weighting": field.weighting}
        more = {"power": _POWER, **terms} if purpose == "test" else terms
        n = plan(design, **more, **shared).n
        target = (
            f"± {float(terms['margin']):g}"
            if purpose == "margin"
            else f"{terms['detect']} from {guess} with power {float(more['power']):g}"
        )
    group = "all" if share == 1 else f"{share} of the people"
    return purpose, group, float(share), target, n, math.ceil(n / share)


def _difference(design: Any, terms: dict[str, Any], level: Number, field: Field) -> _Row:
    shares = [exact(one, "groups") for one in terms.pop("groups", ("1/2", "1/2"))]
    if len(shares) != 2 or min(shares) <= 0 or sum(shares) > 1:
        refuse("`groups` must be the shares of two groups", f"{len(shares)} of them", "('1/2', '1/2')")
    pair, power = terms["difference"], terms.get("power", _POWER)
    difference_plan = plan_difference(
        design,
        prevalence=pair,
        power=power,
        level=level,
        ratio=shares[1] / shares[0],
        deff=field.deff,
        weighting=field.weighting,
    )
    target = f"{pair[0]} from {pair[1]} with power {float(power):g}"
    people = max(math.ceil(n / share) for n, share in zip(difference_plan.n, shares, strict=True))
    group = f"{shares[0]} and {shares[1]} of the people"
    return "difference", group, float(shares[0]), target, difference_plan.n[0], people


def _purpose(wish: object) -> tuple[str, dict[str, Any]]:
    """What is wished for, by the word that only this purpose has."""
    if not isinstance(wish, Mapping):
        refuse("a wish must be a mapping", type(wish).__name__, "{'margin': 0.03}", TypeError)
    heads = {words[0]: purpose for purpose, words in _PURPOSES.items()}
    named = [heads[word] for word in wish if word in heads]
    if len(named) != 1:
        refuse(f"a wish must have one of {', '.join(heads)}", f"{len(named)} of them", "it has one purpose")
    strange = [str(word) for word in wish if word not in _PURPOSES[named[0]]]
    if strange:
        rule = f"a wish for a {named[0]} may have {', '.join(_PURPOSES[named[0]])}"
        refuse(rule, ", ".join(strange)[:60], "nothing else is planned for")
    return named[0], dict(wish)


def _notes(rows: Sequence[Needed], field: Field) -> tuple[str, ...]:
    notes = ["n are people whose reports arrive; margins are by the normal approximation"]
    if any(row.purpose == "slope" for row in rows):
        notes.append("people for a slope are approximate, and clusters are not accounted for in them")
    if field.population is not None:
        notes.append("no error was taken to be smaller because the population is finite")
    return tuple(notes)
