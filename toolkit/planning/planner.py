"""`plan`: solve for the number of people, the privacy loss or the margin of a survey, given two of the three."""

import html
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.core.arrays import as_array
from toolkit.core.checks import Number, check_integer, check_level, check_positive, exact_fraction, explain_call, reject
from toolkit.core.extras import extra
from toolkit.local.design import has_matrix
from toolkit.local.protocol import Randomizer
from toolkit.planning.accuracy import Accuracy, PlanInputs, check_sides
from toolkit.planning.families import Family, check_family, is_randomizer, round_down
from toolkit.planning.fieldwork import Compliance, Field, check_field
from toolkit.planning.search import (
    OutOfReach,
    Target,
    epsilon_for,
    format_margin,
    margin_with_tolerance,
    people_for,
    power_with_tolerance,
)
from toolkit.planning.trust_models import TrustModel, check_delta, default_guesses, solutions_at, trust_models

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Plan:
    """A plan: the number of people, the privacy loss and the precision.

    Parameters
    ----------
    design : Randomizer
        The randomizer of an answer.
    solved : str
        The name of the quantity that was solved for.
    epsilon : float
        The total privacy loss of one person.
    n : int
        The number of reports that must arrive; `invited` is the number of people to invite.
    margin : float
        Half the width of an interval with coverage `level`, in the smallest subgroup if a subgroup was given.
    level : float
        The confidence level.
    prevalence : float or list
        The guessed truth.
    se : float
        The largest standard error among the options.
    power : float or None
        The power of the test, with size 1 - `level`, of `prevalence` against `detect`; the notes state how it was
        computed.
    detect : float or list or None
        The truth to detect.
    bias : float
        The bias of an estimate that is not corrected for people who do not comply; n and margin are for the corrected
        estimate.
    notes : tuple of str
        Caveats of the plan.
    case : PlanInputs
        The question and the conditions in the field.
    target : Target
        The margin or power that was requested, or that is attained.

    Examples
    --------
    >>> from toolkit import plan, warner
    >>> plan(warner, prevalence=0.2, n=1000, epsilon=1.0).solved
    'margin'
    """

    design: Randomizer
    solved: str
    epsilon: float
    n: int
    margin: float
    level: float
    prevalence: Any
    se: float
    power: float | None = None
    detect: Any = None
    bias: float = 0.0
    notes: tuple[str, ...] = ()
    case: PlanInputs = field(kw_only=True)
    target: Target = field(kw_only=True)

    @property
    def invited(self) -> int:
        """The number of people to invite, given the response rate."""
        return self.case.field.invited(self.n)

    @property
    def _direct_margin(self) -> float:
        """The margin of direct questions to n people, if everybody answers truthfully."""
        return float(self.case.accuracy(self.epsilon).without_noise().margin(self.n))

    def trust_models(self, delta: float = 1e-6) -> tuple[TrustModel, ...]:
        """Compute the errors at this epsilon and n, and the number of people needed, under four trust models.

        Parameters
        ----------
        delta : float
            The delta of shuffled reports.

        Returns
        -------
        tuple of TrustModel
            The four models: direct, local, shuffled and central.
        """
        return trust_models(self.case, self.epsilon, self.n, self.target, check_delta(delta))

    def compare(self, delta: float = 1e-6) -> "pd.DataFrame":
        """Compare four trust models: their errors, the people needed for the target, and who must be trusted.

        The local and the central model guarantee epsilon; the shuffled model guarantees (epsilon, delta). `local
        epsilon` is the guarantee that remains if the shuffler fails. Margins use the normal approximation; the Laplace
        noise of the central model is added exactly. In a plan with `assurance`, the margins of the shuffled and the
        central model refer to the expected width.

        Parameters
        ----------
        delta : float
            The delta of shuffled reports.

        Returns
        -------
        pandas.DataFrame
            One row for each trust model.
        """
        pd = extra("pandas")
        models = self.trust_models(delta)
        rows = [(m.epsilon, m.delta, m.local_epsilon, m.noise_se, m.se, m.margin, m.n_needed, m.trust) for m in models]
        columns = ("epsilon", "delta", "local epsilon", "noise se", "se", "margin", "n needed", "who must be trusted")
        return pd.DataFrame(rows, columns=columns, index=pd.Index([model.name for model in models], name="way"))

    def sensitivity(self, prevalences: "tuple[Any, ...] | list[Any] | None" = None) -> "pd.DataFrame":
        """Compute how the solved quantity changes if the guessed prevalence is wrong.

        Parameters
        ----------
        prevalences : sequence, optional
            Alternative truths; by default, values around the guess.

        Returns
        -------
        pandas.DataFrame
            The solved quantity at each truth; NaN if the target cannot be reached.
        """
        pd = extra("pandas")
        guesses = tuple(prevalences) if prevalences is not None else default_guesses(self.prevalence)
        answers = solutions_at(self.case, self.solved, self.epsilon, self.n, self.target, guesses)
        return pd.DataFrame({"prevalence": list(guesses), self.solved: answers})

    @property
    def _is_share(self) -> bool:
        """Whether the estimate is a share, with margins in percentage points, rather than a mean in its own unit."""
        return self.design.bounds is None

    def direct_n(self) -> int:
        """Compute the number of people that direct questions would need if everybody answered truthfully.

        Returns
        -------
        int
            The number of people for the same target.
        """
        return people_for(self.case.accuracy(self.epsilon).without_noise(), self.target)

    def _rows(self) -> list[tuple[str, str]]:
        rows = [
            ("people whose reports must arrive", f"{self.n:,}"),
            ("epsilon, the largest loss of one person", f"{self.epsilon:.4g}"),
            (f"margin at {100 * self.level:g} %", format_margin(self.margin, is_share=self._is_share)),
            ("margin of direct questions", format_margin(self._direct_margin, is_share=self._is_share)),
        ]
        if self.invited != self.n:
            rows.insert(1, ("people to invite", f"{self.invited:,}"))
        if self.power is not None:
            rows.append((f"power to detect {self.detect}", f"{self.power:.3g}"))
        if self.bias:
            rows.append(("bias without a correction for noncompliance", f"{self.bias:+.3g}"))
        return rows

    def __repr__(self) -> str:
        power = f", power {self.power:.3g} to detect {self.detect}" if self.power is not None else ""
        return (
            f"<Plan: {self.n:,} people, epsilon {self.epsilon:.4g}, margin "
            f"{format_margin(self.margin, is_share=self._is_share)} "
            f"at {100 * self.level:g} %{power}; solved for {self.solved}; {self.design.name}>"
        )

    def _repr_html_(self) -> str:
        names = {"n": "people whose", "epsilon": "epsilon,", "margin": "margin at", "power": "power"}
        cells = "".join(
            _html_row(name, text, solved=name.startswith(names[self.solved])) for name, text in self._rows()
        )
        foot = [f"{self.design.name} design; prevalence guessed as {_format_guess(self.prevalence)}", *self.notes]
        footer = "<br>".join(html.escape(note) for note in foot)
        return (
            f"<table><tbody>{cells}</tbody><tfoot><tr><td colspan='2' "
            f"style='text-align:left'>{footer}</td></tr></tfoot></table>"
        )


def _html_row(name: str, text: str, *, solved: bool) -> str:
    cell = f"<strong>{html.escape(text)}</strong>" if solved else html.escape(text)
    return f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{cell}</td></tr>"


def _format_guess(prevalence: object) -> str:
    return f"{prevalence:g}" if isinstance(prevalence, int | float) else "given shares"


@explain_call(
    "plan(warner, prevalence=0.2, epsilon=1.0, margin=0.03)",
    confidence="it is level=0.95",
    alpha="write level=0.95 where alpha is 0.05",
    prevalence="the error depends on the truth: guess it, or take 0.5",
)
def plan(
    design: Family | Randomizer,
    *,
    prevalence: object,
    epsilon: Number | None = None,
    n: int | None = None,
    margin: Number | None = None,
    level: Number = 0.95,
    power: Number | None = None,
    detect: object = None,
    sides: int = 2,
    sd: Number | None = None,
    subgroup: Number = 1,
    population: int | None = None,
    response: Number = 1,
    questions: int = 1,
    compliance: Mapping[str, Number] | Compliance | None = None,
    deff: Number = 1,
    weighting: Number = 1,
    assurance: Number | None = None,
) -> Plan:
    """Solve for epsilon, n or margin, whichever is left out; n is rounded up, so that the target is reached.

    With `detect`, the plan is for a test instead of a margin, and one of epsilon, n and power is left out. The test
    agrees with the default interval. For one yes/no question and at most a million people, its power is computed from
    the binomial distribution of the reports, and n is the smallest size such that this and all larger sizes suffice.
    Margins, and power in all other cases, use the normal approximation; a note states how the power was computed.

    Parameters
    ----------
    design : callable or Randomizer
        A family (a function with the parameter `epsilon`, such as `warner`), or a randomizer, whose epsilon is fixed.
    prevalence : number or sequence
        The guessed truth: a share, one share per option, or a mean.
    epsilon : number, optional
        The largest total privacy loss of one person.
    n : int, optional
        The number of people whose reports arrive.
    margin : number, optional
        Half the width of the interval, on the scale of the estimate: 0.03 is 3 percentage points.
    level : number
        The confidence level.
    power : number, optional
        The probability that a test of nominal size 1 - `level` rejects `prevalence` if `detect` is the truth.
    detect : number or sequence, optional
        The truth that the test should distinguish from `prevalence`.
    sides : {2, 1}
        The number of sides of the test; 1 if only a deviation toward `detect` matters.
    sd : number, optional
        The guessed standard deviation of the answers, for a mean; by default, the largest possible.
    subgroup : number
        The share of the smallest subgroup that needs this precision.
    population : int, optional
        The size of a finite population.
    response : number
        The share of invited people who answer; nobody in a population is invited twice.
    questions : int
        The number of questions that the same people answer.
    compliance : mapping, optional
        The shares of people who do not follow the instructions, as {"self_protective": share, "random": share}.
    deff : number
        The design effect, 1 + (people per cluster - 1) * intraclass correlation. It applies to the sampling variance,
        not to the variance of the randomization.
    weighting : number
        The factor by which unequal weights multiply every variance: 1 + their squared coefficient of variation.
    assurance : number, optional
        The share of surveys whose interval does not exceed the margin, such as 0.9. By default, the margin is half the
        expected width, which about half of the surveys exceed. For one yes/no question and at most a million people, n
        is computed from the binomial distribution and Wilson's interval; otherwise by the normal approximation.

    Returns
    -------
    Plan
        All quantities of the plan.

    Raises
    ------
    ValueError
        If no number of people or no epsilon reaches the target.

    Examples
    --------
    >>> from toolkit import forced, warner
    >>> plan(warner, prevalence=0.2, margin=0.03, level=0.95, epsilon=1.0)
    <Plan: 4,613 people, epsilon 1, margin ±3 points at 95 %; solved for n; warner>
    >>> plan(forced("1/6", "1/6"), prevalence=0.1, margin=0.03).n
    1718
    >>> plan(forced("1/6", "1/6"), prevalence=0.1, margin=0.03, assurance=0.9).n
    1780
    >>> plan(forced("1/6", "1/6"), prevalence=0, detect=0.1, power=0.8).n
    277
    >>> plan(forced("1/6", "1/6"), prevalence=0, detect=0.1, power=0.8, sides=1).n  # 212 by the normal formula
    223
    """
    goals = {"epsilon": epsilon, "n": n, "margin": margin, "power": power}
    solved = _solved_quantity(design, goals, testing=detect is not None)
    field = check_field(subgroup, population, response, questions, compliance, deff, weighting)
    truth, alternative = _parse_truth(prevalence, "prevalence"), _parse_truth(detect, "detect")
    sure = _check_assurance(assurance, alternative)
    case = PlanInputs(design, truth, check_level(level), alternative, sd, field, check_sides(sides), sure)
    goal = _check_goals(case, goals, solved)
    return _solve(case, goal) if field.questions == 1 or case.is_fixed else _better_plan(case, goal)


@dataclass(frozen=True)
class _Goal:
    """The given quantities as numbers; the quantity to solve for is None."""

    solved: str
    epsilon: float | None
    n: int | None
    target: Target


def _solved_quantity(design: object, goals: Mapping[str, Any], *, testing: bool) -> str:
    """Return the name of the quantity that was left out."""
    goal, idle = ("power", "margin") if testing else ("margin", "power")
    if goals[idle] is not None:
        missing = "" if testing else "; give `detect`, the share that the test should detect"
        rule = f"`{idle}` must be left out {'with' if testing else 'without'} `detect`"
        reject(rule, goals[idle], f"plan a margin or a test{missing}")
    names = ["epsilon", "n", goal]
    if is_randomizer(design):
        if goals["epsilon"] is not None:
            consequence = "the design has its own; or give a family"
            reject("`epsilon` must be left out when the design is given", goals["epsilon"], consequence)
        names.remove("epsilon")
    else:
        check_family(design)
    left_out = [name for name in names if goals[name] is None]
    if len(left_out) != 1:
        names_left = " and ".join(f"`{name}`" for name in left_out)
        received = f"{names_left} left out" if left_out else "all of them"
        advice = f"give {len(left_out) - 1} more of them" if left_out else "leave out the one to solve for"
        reject(f"exactly one of {', '.join(names[:-1])} and {names[-1]} must be left out", received, advice)
    return left_out[0]


def _check_goals(case: PlanInputs, goals: Mapping[str, Any], solved: str) -> _Goal:
    """Return the given quantities as numbers; reject contradictions."""
    if (margin := goals["margin"]) is not None:
        margin = float(check_positive(margin, "margin", "every sample has an error"))
    people = None if goals["n"] is None else check_integer(goals["n"], "n")
    epsilon = float(case.design_or_family.epsilon) if case.is_fixed else None  # type: ignore[union-attr]
    if goals["epsilon"] is not None:
        epsilon = round_down(check_positive(goals["epsilon"], "epsilon", "at 0 a report carries no information"))
    power = None if goals["power"] is None else exact_fraction(goals["power"], "power")
    if power is not None and not 1 - case.level < power < 1:
        rule = f"`power` must lie between {1 - case.level:.3g} and 1"
        reject(rule, goals["power"], "write 0.8 for 80 percent")
    _check_people(case.field, people)
    shares = case.randomizer(epsilon or 1.0).bounds is None
    if margin is not None and shares and margin >= 1:
        consequence = "a share lies between 0 and 1, and 3 percentage points are 0.03"
        reject("`margin` must be below 1", goals["margin"], consequence)
    if case.detect is not None and np.shape(case.detect) != np.shape(case.prevalence):
        rule = "`detect` must have as many shares as `prevalence`"
        reject(rule, "another number", "both describe the same options")
    accuracy = case.accuracy(epsilon or 1.0)  # checks the prevalence, before any search
    if accuracy.shift is not None and not np.any(accuracy.shift > 0):
        reject("`detect` must differ from `prevalence`", case.detect, "there is nothing to detect")
    target = Target(margin, None if power is None else float(power), shares)
    return _Goal(solved, epsilon, people, target)


def _check_people(field: Field, n: int | None) -> None:
    """Reject an n above the number of people who answer when the whole population is invited once."""
    most = field.max_respondents()
    if n is None or most is None or n <= most:
        return
    if n > (field.population or 0):
        reject(f"`n` must be at most the population, {field.population:,}", f"{n:,}", "nobody is asked twice")
    consequence = f"{field.invited(n):,} would have to be invited, and nobody is invited twice"
    rule = f"`n` must be at most {most:,}, the number who answer when all {field.population:,} are invited"
    reject(rule, f"{n:,}", consequence)


def _solve(case: PlanInputs, goal: _Goal) -> Plan:
    solved, target = goal.solved, goal.target
    epsilon = goal.epsilon or epsilon_for(case, target, goal.n or 0)  # at most one of epsilon and n is missing
    accuracy = case.accuracy(epsilon)
    people = goal.n or people_for(accuracy, target)
    power = None if case.detect is None else power_with_tolerance(accuracy, people)
    margin = target.margin if target.margin is not None else margin_with_tolerance(accuracy, people)
    randomizer, compliance = case.randomizer(epsilon), case.field.compliance
    bias = compliance.bias(randomizer, case.prevalence) if compliance and has_matrix(randomizer) else 0.0
    reached = {"power": power} if solved == "power" else {"margin": margin} if power is None else {}
    return Plan(
        design=randomizer,
        solved=solved,
        epsilon=epsilon,
        n=people,
        margin=margin,
        level=case.level,
        prevalence=case.prevalence,
        se=float(np.sqrt(accuracy.variance(people).max())),
        power=power,
        detect=case.detect,
        bias=bias,
        notes=(*_notes(case), *_test_note(case, accuracy, target, people)),
        case=case,
        target=replace(target, **reached),
    )


def _better_plan(case: PlanInputs, goal: _Goal) -> Plan:
    """Plan for one random question per person, and for all questions with a divided budget; return the better plan."""
    solved = goal.solved
    plans: list[Plan] = []
    for one_question_each in (True, False):
        try:
            plans.append(_solve(replace(case, field=replace(case.field, one_question_each=one_question_each)), goal))
        except OutOfReach as error:
            failure = error
    if not plans:
        raise failure

    def cost(plan: Plan) -> float:
        # The numbers are rounded to nine digits, so that rounding errors do not decide between equal plans.
        return (-1 if solved == "power" else 1) * float(f"{getattr(plan, solved):.9g}")

    plans.sort(key=cost)
    if len(plans) == 1:
        note = "the other way of asking several questions cannot reach the target"
        return replace(plans[0], notes=(*plans[0].notes, note))
    second_best = getattr(plans[1], solved)
    words = f"{second_best:,}" if solved == "n" else f"{second_best:.3g}"
    if solved == "margin":
        words = format_margin(second_best, is_share=goal.target.is_share)
    mode = "all questions to everybody" if plans[0].case.field.one_question_each else "one random question each"
    return replace(plans[0], notes=(*plans[0].notes, f"{mode} would have {solved} {words}"))


def _notes(case: PlanInputs) -> tuple[str, ...]:
    field = case.field
    notes = []
    if field.questions > 1:
        mode = "everybody answers all, with the budget split"
        if field.one_question_each:
            mode = "each person is asked one of them, drawn at random"
        notes.append(f"{field.questions} questions: {mode}")
    if field.subgroup_share < 1:
        notes.append(f"the precision holds in a subgroup of {100 * field.subgroup_share:.3g} % of the people")
    if field.population:
        notes.append(f"drawn from a population of {field.population:,}")
    if field.deff != 1:
        notes.append(f"the design effect of {field.deff:.3g} applies to the sampling variance, not to randomization")
    if field.weighting != 1:
        notes.append(f"weights multiply every variance by {field.weighting:.4g}")
    if case.assurance is not None:
        notes.append(f"if the guess is right, {100 * case.assurance:.3g} % of such surveys keep the margin")
    if field.compliance:
        others = 100 * (1 - field.compliance._follower_share)
        notes.append(f"{others:.3g} % do not follow the instructions, and the estimate corrects for it")
    return tuple(notes)


def _test_note(case: PlanInputs, accuracy: Accuracy, target: Target, n: int) -> tuple[str, ...]:
    """Describe the test and how its power was computed; if the power is exact, also the sizes that reach the target."""
    if case.detect is None:
        return ()
    test = f"{'two-sided' if case.sides == 2 else 'one-sided'} test at {100 * (1 - case.level):.3g} %"
    if not Target(power=target.power).has_exact_power(accuracy, n):
        return (f"{test}, power by the normal approximation",)
    message = f"{test}, power computed from the binomial distribution"
    if target.power is None or accuracy.exact_test is None:
        return (message,)
    first, stays = accuracy.exact_test.first_n(target.power), accuracy.exact_test.sustained_n(target.power)
    return (
        f"{message}: {target.power:.3g} is first reached with {first:,} people, and by every size from {stays:,} on",
    )


def _check_assurance(assurance: Number | None, detect: object) -> float | None:
    if assurance is None:
        return None
    share = float(exact_fraction(assurance, "assurance"))
    if detect is not None or not 0.5 <= share < 1:
        rule = "`assurance` must be from 0.5 to below 1, for a margin and not with `detect`"
        reject(rule, assurance, "write assurance=0.9 if nine of ten surveys should keep the margin")
    return share


def _parse_truth(value: Any, name: str) -> Any:
    """Return a share or a mean as a float, or several shares as a list of floats; fractions may be given as strings."""
    if value is None and name == "detect":
        return None
    shares = as_array(value)
    if shares.ndim == 0:
        return float(exact_fraction(value, name))
    return [float(exact_fraction(share, name)) for share in shares.tolist()]
