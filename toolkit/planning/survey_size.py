"""`plan_survey`: the number of people that each goal of a survey needs, and the goal that needs the most people."""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolkit.core.checks import Number, exact_fraction, explain_call, reject
from toolkit.core.extras import extra
from toolkit.core.inference.digits import concise
from toolkit.local.protocol import Randomizer
from toolkit.planning.fieldwork import Field, check_field, whole_people
from toolkit.planning.models import plan_difference, plan_slope
from toolkit.planning.planner import plan

if TYPE_CHECKING:
    import pandas as pd

_DEFAULT_POWER = 0.8
_KEYS_BY_PURPOSE = {
    "margin": ("margin", "subgroup", "assurance"),
    "test": ("detect", "power", "sides", "subgroup"),
    "difference": ("difference", "power", "groups"),
    "slope": ("slope", "intercept", "power", "covariate", "subgroup"),
}


@dataclass(frozen=True)
class PeopleForGoal:
    """The number of people needed for one goal, as a row of `PeopleNeeded`.

    Parameters
    ----------
    question : str
        The name of the question.
    purpose : {"margin", "test", "difference", "slope"}
        The kind of goal.
    group : str
        A description of the group.
    share : float
        The group's share of the people; for a difference, the share of the first group.
    target : str
        A description of the target.
    n : int
        The number of people in the group.
    people : int
        The number of people in the survey.
    invited : int
        The number of people to invite.
    binding : bool
        Whether no other goal needs more people.

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
    """The people needed for all goals of a survey, as returned by `plan_survey`.

    Parameters
    ----------
    rows : tuple of PeopleForGoal
        A row for each goal.
    notes : tuple of str
        Caveats of the plan.

    Examples
    --------
    >>> from toolkit import warner
    >>> plan_survey({"a": warner("3/4")}, {"a": {"margin": 0.05}}, prevalence={"a": 0.2}).n > 1000
    True
    """

    rows: tuple[PeopleForGoal, ...]
    notes: tuple[str, ...]

    @property
    def n(self) -> int:
        """The number of reports that must arrive, for all goals together."""
        return max(row.people for row in self.rows)

    @property
    def invited(self) -> int:
        """The number of people to invite, so that enough of them answer."""
        return max(row.invited for row in self.rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per goal.

        Returns
        -------
        pandas.DataFrame
            The people needed for each goal; `binding` marks the goal that needs the most people.
        """
        return extra("pandas").DataFrame([vars(row) for row in self.rows])

    def __repr__(self) -> str:
        binding = next(row for row in self.rows if row.binding)
        reason = f"{binding.question}, {binding.target} ({binding.group}) decides"
        size = f"{self.n:,} people, {self.invited:,} invited, for {len(self.rows)} goals"
        return f"<PeopleNeeded: {size}; {reason}>"

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"{self.to_frame().to_html(index=False)}{notes}"


_CALL = 'plan_survey({"cheated": warner("3/4")}, {"cheated": {"margin": 0.05}}, prevalence={"cheated": 0.2})'


@explain_call(_CALL)
def plan_survey(
    designs: Mapping[str, Randomizer],
    goals: Mapping[str, Any],
    *,
    prevalence: Mapping[str, Any],
    level: Number = 0.95,
    response: Number = 1,
    population: int | None = None,
    deff: Number = 1,
    weighting: Number = 1,
) -> PeopleNeeded:
    """Compute how many people must answer to reach several goals.

    Parameters
    ----------
    designs : mapping
        The randomizer of each question.
    goals : mapping
        One or several goals for each question: {"margin": 0.03} for all people, {"margin": 0.06, "subgroup": "1/4"} for
        a subgroup, {"detect": 0.2} for a test against the guess, {"difference": (0.1, 0.2), "groups": ("1/2", "1/2")}
        between two groups, and {"slope": 0.5, "intercept": -1} for a logistic regression. The default power of tests is
        0.8.
    prevalence : mapping
        The guessed truth of each question, as for `plan`.
    level : number
        The confidence level.
    response, population, deff, weighting : optional
        As for `plan`; the population must be at least as large as the number of people to invite.

    Returns
    -------
    PeopleNeeded
        The number of people needed for all goals together, and for each goal.

    Examples
    --------
    >>> from toolkit import forced
    >>> die = forced("1/6", "1/6")
    >>> goals = [{"margin": 0.03}, {"margin": 0.06, "subgroup": "1/4"}, {"slope": 0.5, "intercept": -1}]
    >>> plan_survey({"cheated": die}, {"cheated": goals}, prevalence={"cheated": 0.1}, response=0.5)
    <PeopleNeeded: 1,720 people, 3,440 invited, for 3 goals; cheated, ± 0.06 (1/4 of the people) decides>
    """
    field = check_field(1, population, response, 1, None, deff, weighting)
    needs: list[tuple[str, str, str, float, str, int, int]] = []
    if not all(isinstance(mapping, Mapping) for mapping in (designs, goals, prevalence)):
        reject("designs, goals and guesses must be mappings by question", "something else", _CALL, TypeError)
    for name, question_goals in goals.items():
        if not isinstance(question_goals, Mapping | list | tuple):
            reject("goals must be a mapping or a list of mappings", type(question_goals).__name__, _CALL, TypeError)
        if name not in designs:
            reject("goals must be for randomized questions", repr(name)[:60], f"they are {', '.join(designs)}")
        needs += [
            (name, *_size_for_goal(designs[name], goal, prevalence.get(name), level, field))
            for goal in ([question_goals] if isinstance(question_goals, Mapping) else question_goals)
        ]
    if not needs:
        reject("there must be at least one goal", "none", "{'cheated': {'margin': 0.03}}")
    most = max(people for *_, people in needs)
    rows = tuple(
        PeopleForGoal(name, purpose, group, share, target, n, people, field.invited(people), people == most)
        for name, purpose, group, share, target, n, people in needs
    )
    if field.population is not None and field.invited(most) > field.population:
        rule = f"the population must hold the {field.invited(most):,} people to invite"
        reject(rule, f"{field.population:,}", "nobody is asked twice; choose more modest goals")
    return PeopleNeeded(rows, _notes(rows, field))


_Row = tuple[str, str, float, str, int, int]


def _size_for_goal(design: Any, goal: object, guess: object, level: Number, field: Field) -> _Row:
    """Return the purpose, the group, its share, the target, the people in the group, and the people in total."""
    purpose, terms = _parse_goal(goal)
    if guess is None and purpose in ("margin", "test"):
        reject("`prevalence` must hold a guess for each question", "none for one", 'write prevalence={"cheated": 0.2}')
    if purpose == "difference":
        return _size_for_difference(design, terms, level, field)
    share = exact_fraction(terms.pop("subgroup", 1), "subgroup")
    if not 0 < share <= 1:
        reject("`subgroup` must be a share above 0 and at most 1", share, "write 0.25 for a quarter of the people")
    shared: dict[str, Any] = {"level": level}
    if purpose == "slope":
        slope_plan = plan_slope(design, **{"power": _DEFAULT_POWER, **terms}, **shared)
        n = whole_people(slope_plan.n * field.weighting)
        target = f"slope {slope_plan.slope:g} with power {float(terms.get('power', _DEFAULT_POWER)):g}"
    else:
        shared |= {"prevalence": guess, "deff": field.deff, "weighting": field.weighting}
        more = {"power": _DEFAULT_POWER, **terms} if purpose == "test" else terms
        n = plan(design, **more, **shared).n
        target = (
            f"± {float(terms['margin']):g}"
            if purpose == "margin"
            else f"{terms['detect']} from {guess} with power {float(more['power']):g}"
        )
    group = "all" if share == 1 else f"{share} of the people"
    return purpose, group, float(share), target, n, math.ceil(n / share)


def _size_for_difference(design: Any, terms: dict[str, Any], level: Number, field: Field) -> _Row:
    shares = [exact_fraction(share, "groups") for share in terms.pop("groups", ("1/2", "1/2"))]
    if len(shares) != 2 or min(shares) <= 0 or sum(shares) > 1:
        reject("`groups` must be the shares of two groups", f"{len(shares)} of them", "('1/2', '1/2')")
    pair, power = terms["difference"], terms.get("power", _DEFAULT_POWER)
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


def _parse_goal(goal: object) -> tuple[str, dict[str, Any]]:
    """Return the kind of a goal and its options; each kind of goal has its own key."""
    if not isinstance(goal, Mapping):
        reject("a goal must be a mapping", type(goal).__name__, "{'margin': 0.03}", TypeError)
    keys = {options[0]: purpose for purpose, options in _KEYS_BY_PURPOSE.items()}
    purposes = [keys[key] for key in goal if key in keys]
    if len(purposes) != 1:
        reject(f"a goal must have one of {', '.join(keys)}", f"{len(purposes)} of them", "write a list of goals")
    purpose = purposes[0]
    if unknown := [str(key) for key in goal if key not in _KEYS_BY_PURPOSE[purpose]]:
        rule = f"a goal for a {purpose} may have {', '.join(_KEYS_BY_PURPOSE[purpose])}"
        reject(rule, ", ".join(unknown)[:60], "leave the others out")
    return purpose, dict(goal)


def _notes(rows: Sequence[PeopleForGoal], field: Field) -> tuple[str, ...]:
    notes = ["n are people whose reports arrive; margins are by the normal approximation"]
    if any(row.purpose == "slope" for row in rows):
        notes.append("the number of people for a slope is approximate and ignores clusters")
    if field.population is not None:
        notes.append("the finite population correction is not applied")
    return tuple(notes)
