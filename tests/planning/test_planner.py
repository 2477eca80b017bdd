"""`plan` inverts itself on the safe side, keeps what it promises, and explains errors."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom

from toolkit import crosswise, forced, k_ary, kuk, triangular, warner
from toolkit.core.inference.intervals import Shares
from toolkit.local import numeric, oracles
from toolkit.local.design import Design
from toolkit.planning.planner import plan
from toolkit.planning.search import OutOfReach, Target

SMOOTH = 3e-7  # the digits of the search
STEPS = 0.02  # windows and turns are whole numbers, and one bit alone is used up to 0.61: hybrids move in steps
# subset sizes are whole numbers, so at uneven shares the largest variance jumps, and several epsilons may do
JUMPS = 0.03


def random_case(rng):
    """A survey to plan: family, truth, level, epsilon, n, and how uneven the family is in epsilon."""
    kind = rng.integers(0, 4)
    epsilon = float(np.exp(rng.uniform(np.log(0.2), np.log(4))))
    n, level = int(np.exp(rng.uniform(np.log(30), np.log(1e6)))), float(rng.choice([0.8, 0.9, 0.95, 0.99]))
    if kind == 0:
        return warner, float(rng.uniform(0, 1)), level, epsilon, n, SMOOTH
    if kind == 1:
        k = int(rng.integers(3, 7))
        return partial(k_ary, k), rng.dirichlet(np.ones(k)).tolist(), level, epsilon, n, SMOOTH
    if kind == 2:
        k = int(rng.integers(3, 30))
        return partial(oracles.best, k), rng.dirichlet(np.ones(k)).tolist(), level, epsilon, n, JUMPS
    return partial(numeric.hybrid, (-5, 20)), float(rng.uniform(-5, 20)), level, epsilon, n, STEPS


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_solving_for_each_unknown_returns_the_others(seed):
    """The result is always on the safe side. 25 random surveys per seed, 100 in all."""
    rng = np.random.default_rng(seed)
    for _ in range(25):
        family, truth, level, epsilon, n, uneven = random_case(rng)
        common = {"prevalence": truth, "level": level}
        margin = plan(family, epsilon=epsilon, n=n, **common).margin
        if margin >= 1 and uneven != STEPS:
            continue  # no margin of a share
        people = plan(family, epsilon=epsilon, margin=margin, **common).n
        assert people == n
        found = plan(family, n=n, margin=margin, **common).epsilon
        assert found <= epsilon * (1 + uneven)
        assert found >= epsilon * (1 - 1e-3) or uneven > SMOOTH
        again = plan(family, epsilon=found, n=n, **common).margin
        assert again <= margin * (1 + 1e-9)
        assert again >= margin * (1 - 1e-5) or uneven > SMOOTH


@pytest.mark.slow
def test_power_inverts_itself_on_the_safe_side():
    rng = np.random.default_rng(100)
    for _ in range(20):
        low, epsilon = rng.uniform(0, 0.4), float(rng.uniform(0.4, 3))
        common = {"prevalence": float(low), "detect": float(low + rng.uniform(0.02, 0.3)), "level": 0.95}
        n = plan(warner, epsilon=epsilon, power=0.8, **common).n
        assert plan(warner, epsilon=epsilon, n=n, **common).power >= 0.8
        assert n == 1 or plan(warner, epsilon=epsilon, n=n - 1, **common).power < 0.8
        found = plan(warner, n=n, power=0.8, **common)
        assert found.power >= 0.8
        assert plan(warner, epsilon=found.epsilon, power=0.8, **common).n <= n
        # along the teeth of a counted power several epsilons may do
        assert 0.9 * epsilon < found.epsilon < 1.03 * epsilon


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_power_by_the_normal_formula_inverts_itself_on_the_safe_side(seed):
    rng = np.random.default_rng(200 + seed)
    for _ in range(15):
        epsilon = float(rng.uniform(0.4, 3))
        low = rng.dirichlet(np.ones(3))
        common = {
            "prevalence": low.tolist(),
            "detect": (0.8 * low + 0.2 / 3).tolist(),
            "sides": int(rng.integers(1, 3)),
        }
        family = partial(k_ary, 3)
        n = plan(family, epsilon=epsilon, power=0.8, **common).n
        assert plan(family, epsilon=epsilon, n=n, **common).power >= 0.8 - 2e-12
        assert n == 1 or plan(family, epsilon=epsilon, n=n - 1, **common).power < 0.8
        assert plan(family, n=n, power=0.8, **common).epsilon <= epsilon * (1 + 3e-7)


def test_the_smallest_number_of_people_is_the_smallest():
    found = plan(warner, prevalence=0.2, margin=0.03, epsilon=1.0)
    assert found.n == 4613
    assert plan(warner, prevalence=0.2, n=4613, epsilon=1.0).margin <= 0.03 + 1e-12
    assert plan(warner, prevalence=0.2, n=4612, epsilon=1.0).margin > 0.03


DIE = {"design": forced("1/6", "1/6"), "prevalence": 0}


@pytest.mark.slow
@pytest.mark.parametrize(("sides", "formula", "first", "stays"), [(1, 212, 205, 223), (2, 266, 254, 277)])
def test_power_is_planned_for_the_test_that_exists(sides, formula, first, stays):
    """Die design, 0 against 0.1: R's rr 1.4.2 has the first of the one-sided numbers, the usual formula 211.25."""
    found = plan(**DIE, detect=0.1, power=0.8, sides=sides)
    assert found.n == stays
    assert f"0.8 is first reached with {first} people, and by every size from {stays} on" in found.notes[-1]
    powers = [plan(**DIE, detect=0.1, n=n, sides=sides).power for n in range(stays - 1, stays + 120)]
    assert powers[0] < 0.8 <= min(powers[1:])
    assert found.power == powers[1]
    exact = plan(**DIE, detect=0.1, n=formula, sides=sides)
    assert exact.power == pytest.approx(0.7886 if sides == 1 else 0.7889, abs=5e-5)
    accuracy = exact.case.accuracy(None)
    assert accuracy.normal_power(formula - 1) < 0.8 < accuracy.normal_power(formula)


def test_a_plan_is_two_sided_unless_one_side_is_asked_for():
    assert plan(**DIE, detect=0.1, power=0.8) == plan(**DIE, detect=0.1, power=0.8, sides=2)
    for sides in (0, 3, -1):
        with pytest.raises(ValueError, match="`sides` must be"):
            plan(**DIE, detect=0.1, power=0.8, sides=sides)


@pytest.mark.parametrize(
    ("design", "prevalence", "detect", "n"),
    [(warner("3/4"), 0, 0.1, 628), (crosswise(0.15), 0, 0.1, 232), (DIE["design"], 0.05, 0.15, 312)],
)
def test_the_same_for_other_designs(design, prevalence, detect, n):
    assert plan(design, prevalence=prevalence, detect=detect, power=0.8).n == n


def test_a_note_says_how_the_power_was_found():
    counted = plan(**DIE, detect=0.1, n=300)
    assert counted.notes == ("two-sided test at 5 %, power computed from the binomial distribution",)
    fields = ({"subgroup": 0.5}, {"population": 10_000}, {"compliance": {"random": 0.1}}, {"questions": 2})
    for given in (*fields, {"deff": 2}, {"weighting": 1.1}):
        notes = plan(**DIE, detect=0.1, n=300, sides=1, **given).notes
        assert "one-sided test at 5 %, power by the normal approximation" in notes
    many = plan(**DIE, detect=0.001, power=0.8)
    assert many.n > 10**6
    assert many.notes == ("two-sided test at 5 %, power by the normal approximation",)
    assert plan(**DIE, n=300).notes == ()
    for given, words in (
        ({"subgroup": 0.5}, "in a subgroup of 50 %"),
        ({"population": 1000}, "a population of 1,000"),
        ({"deff": 2}, "the design effect of 2"),
        ({"weighting": 1.5}, "every variance by 1.5"),
        ({"compliance": {"random": 0.1}}, "10 % do not follow"),
    ):
        (note,) = plan(**DIE, n=300, **given).notes
        assert words in note


def test_an_epsilon_that_reaches_a_power_reaches_it_with_more_people_too():
    found = plan(warner, prevalence=0.1, detect=0.2, power=0.8, n=1000)
    powers = [plan(found.design, prevalence=0.1, detect=0.2, n=n).power for n in range(1000, 1100)]
    assert min(powers) >= 0.8
    for part in (0.95, 0.9, 0.8):  # below the tips of the teeth there is nothing to be found
        assert plan(warner, prevalence=0.1, detect=0.2, power=0.8, epsilon=part * found.epsilon).n > 1000


def test_a_plan_is_compared_at_the_power_that_was_asked_for():
    """A plan may have more power, but replanning aims for the requested power."""
    found = plan(**DIE, detect=0.1, power=0.8)
    assert found.power > 0.8
    frame = found.sensitivity([0, 0.05])
    assert frame["n"].tolist()[0] == 277
    assert found.compare().loc["local", "n needed"] == 277
    assert found.direct_n() == 16


def test_the_multiplier_is_the_squared_hyperbolic_cotangent():
    for epsilon, times in ((0.5, 16.67), (1.0, 4.68), (2.0, 1.72)):
        planned = plan(warner, prevalence=0.5, epsilon=epsilon, n=1000)
        found = (planned.margin / planned._direct_margin) ** 2
        assert found == pytest.approx(1 / math.tanh(epsilon / 2) ** 2, rel=1e-6)
        assert found == pytest.approx(times, rel=5e-3)


def test_people_compared_with_direct_questioning():
    for p, times in (("3/4", 9.33), ("5/6", 4.47)):
        planned = plan(warner(p), prevalence=0.1, n=1000)
        assert (planned.margin / planned._direct_margin) ** 2 == pytest.approx(times, abs=5e-3)


def test_a_simulated_survey_reaches_the_planned_margin():
    """20,000 surveys; the share within the margin is 0.95 up to the normal approximation (0.004) and 4
    standard errors.

    False-alarm rate below 7e-5.
    """
    found = plan(warner, prevalence=0.2, margin=0.05, epsilon=1.0)
    rng = np.random.default_rng(3)
    yes = rng.binomial(found.n, 0.2 * found.design.matrix[1, 1] + 0.8 * found.design.matrix[0, 1], 20_000)
    keep = found.design.matrix[1, 1]
    estimates = (yes / found.n - (1 - keep)) / (2 * keep - 1)
    assert np.mean(np.abs(estimates - 0.2) <= 0.05) == pytest.approx(
        0.95, abs=0.004 + 4 * math.sqrt(0.05 * 0.95 / 20_000)
    )
    assert np.std(estimates) == pytest.approx(found.se, rel=4 / math.sqrt(2 * 20_000))


@pytest.mark.slow
def test_a_simulated_test_reaches_the_planned_power_and_holds_its_size():
    """20,000 surveys each, judged by the default interval; 4 standard errors. False-alarm rate below 2e-4.

    The size of the side that is looked at is 0.025 up to the normal approximation (0.004).
    """
    design = forced("1/6", "1/6")
    found = plan(design, prevalence=0.05, detect=0.15, power=0.8)
    rng, rates = np.random.default_rng(4), []
    above = [design.estimate_counts([found.n - yes, yes]).interval().low > 0.05 for yes in range(found.n + 1)]
    for truth in (0.05, 0.15):
        yes = rng.binomial(found.n, 1 / 6 + truth * 2 / 3, 20_000)
        rates.append(np.mean(np.array(above)[yes]))
    assert rates[0] == pytest.approx(0.025, abs=0.004 + 4 * math.sqrt(0.025 * 0.975 / 20_000))
    assert rates[1] == pytest.approx(found.power, abs=4 * math.sqrt(0.2 * 0.8 / 20_000))


def test_the_smallest_subgroup_governs():
    whole, part = (plan(warner, prevalence=0.2, margin=0.05, epsilon=1.0, subgroup=s).n for s in (1, 0.1))
    assert abs(part - 10 * whole) <= 10
    assert plan(warner, prevalence=0.2, n=part, epsilon=1.0, subgroup=0.1).margin <= 0.05 + 1e-12


def test_response_rates_are_for_invitations_only():
    found = plan(warner, prevalence=0.2, margin=0.05, epsilon=1.0, response=0.3)
    assert found.invited == math.ceil(found.n / 0.3)
    assert found.n == plan(warner, prevalence=0.2, margin=0.05, epsilon=1.0).n


@pytest.mark.parametrize("given", [{"n": 904}, {"margin": 0.03}, {"n": 751}])
def test_nobody_is_invited_twice(given):
    """With half of them answering, 904 reports would need 1,808 of 1,500 people; 750 can arrive."""
    with pytest.raises(ValueError, match=r"750.*all 1,500"):
        plan(warner("3/4"), prevalence=0.1, population=1500, response=0.5, **given)
    assert plan(warner("3/4"), prevalence=0.1, population=1500, response=0.5, n=750).invited == 1500


@pytest.mark.slow
def test_more_invitations_than_people_are_never_planned():
    """5,000 people of whom 40 % answer: 2,000 reports, a quarter of them in the subgroup."""
    with pytest.raises(ValueError, match="the 2,000 people who answer when all 5,000"):
        plan(warner, prevalence=0.1, epsilon=1.0, margin=0.05, population=5000, subgroup=0.25, response=0.4)
    found = plan(warner, prevalence=0.1, epsilon=1.0, n=2000, population=5000, response=0.4)
    assert found.sensitivity([0.1])["margin"].notna().all()
    needed = replace(found, target=Target(margin=0.02)).compare()["n needed"]
    assert math.isnan(needed["local"])
    assert needed.dropna().max() <= 2000


def test_the_margin_of_a_mean_of_everybody_is_that_of_the_worst_answers():
    """One bit at epsilon 2, 900 of 1,000 people: the error was planned 31 % too small."""
    found = plan(partial(numeric.one_bit, (0, 1)), prevalence=0.5, epsilon=2.0, n=900, population=1000)
    for sd in (0.0, 0.25, 0.5):
        known = plan(partial(numeric.one_bit, (0, 1)), prevalence=0.5, epsilon=2.0, n=900, population=1000, sd=sd)
        assert known.se <= found.se * (1 + 1e-12)
    assert found.se == pytest.approx(0.021884, abs=1e-6)


def test_a_finite_population_spares_sampling_error_but_not_noise():
    everyone = plan(warner, prevalence=0.2, n=2000, epsilon=1.0, population=2000)
    design = warner(epsilon=1.0)
    assert everyone.se**2 == pytest.approx(design.variance(0.2, 2000, respondents="fixed"), rel=1e-9)
    half = plan(warner, prevalence=0.2, n=1000, epsilon=1.0, population=2000)
    noise = design.variance(0.2, 1000, respondents="fixed")
    assert half.se**2 == pytest.approx(noise + 0.16 / 1000 * 1000 / 1999, rel=1e-9)


def test_asking_each_person_one_of_several_questions_is_better():
    """The plan says by how much."""
    found = plan(warner, prevalence=0.1, margin=0.05, epsilon=1.0, questions=4)
    one, all_split = (plan(warner, prevalence=0.1, margin=0.05, epsilon=e).n for e in (1.0, 0.25))
    assert plan(warner, prevalence=0.1, margin=0.05, epsilon=1.0).notes == ()  # there is nothing to choose
    assert len(plan(warner("3/4"), prevalence=0.1, margin=0.05, questions=4).notes) == 1  # nor where nothing is split
    assert found.case.field.one_question_each
    assert abs(found.n - 4 * one) <= 4
    assert found.notes == (
        "4 questions: each person is asked one of them, drawn at random",
        f"all questions to everybody would have n {all_split:,}",
    )


def test_the_method_of_asking_with_more_power_is_planned():
    """Each person answers either all of several questions or one of them."""
    for epsilon, one_question_each in ((1.0, True), (12.0, False)):
        found = plan(warner, prevalence=0.1, detect=0.2, n=1000, epsilon=epsilon, questions=3)
        assert found.case.field.one_question_each is one_question_each
        other = float(found.notes[-1].split()[-1])
        assert found.power > other
        assert "would have power" in found.notes[-1]


@pytest.mark.parametrize(("epsilon", "questions", "population", "margin"), [(1, 3, 4000, 0.08), (12, 2, 100, 0.05)])
def test_the_only_feasible_method_of_asking_is_planned(epsilon, questions, population, margin):
    """The note says that the other method cannot reach the target. Everybody would answer all three with a third of
    the budget; or each of two questions half of the people.
    """
    asked = {"questions": questions, "population": population}
    found = plan(warner, prevalence=0.1, epsilon=epsilon, margin=margin, **asked)
    assert found.case.field.one_question_each is (questions == 3)
    assert found.notes[-1] == "the other way of asking several questions cannot reach the target"


def test_thirty_questions_can_be_asked_one_each():
    """Direct questioning is evaluated at an epsilon that a report can have, however many questions there are."""
    found = plan(warner, prevalence=0.1, n=100_000, margin=0.05, questions=30)
    assert found.case.field.one_question_each


def test_one_option_that_does_not_move_is_no_obstacle():
    found = plan(partial(k_ary, 3), prevalence=(0.4, 0.4, 0.2), detect=(0.5, 0.3, 0.2), epsilon=1.0, power=0.8)
    assert found.power >= 0.8
    with pytest.raises(ValueError, match="nothing to detect"):
        plan(partial(k_ary, 3), prevalence=(0.4, 0.4, 0.2), detect=(0.4, 0.4, 0.2), epsilon=1.0, power=0.8)


def test_truths_are_compared_share_by_share():
    """0.1 and [0.8, 0.2] differ by 0.1, not by 0.7."""
    with pytest.raises(ValueError, match="`detect` must have as many shares as `prevalence`"):
        plan(warner, prevalence=0.1, detect=[0.8, 0.2], epsilon=1.0, power=0.8)
    pair = plan(warner, prevalence=[0.9, 0.1], detect=[0.8, 0.2], epsilon=1.0, power=0.8)
    assert pair.n == plan(warner, prevalence=0.1, detect=0.2, epsilon=1.0, power=0.8).n


def test_with_a_large_budget_asking_everybody_everything_is_better():
    found = plan(warner, prevalence=0.1, n=1000, epsilon=12.0, questions=2)
    assert not found.case.field.one_question_each
    assert found.design.epsilon <= 6.0
    assert found.notes[0] == "2 questions: everybody answers all, with the budget split"
    assert "one random question each" in found.notes[-1]


def test_people_who_do_not_comply_are_corrected_for_and_the_bias_is_told():
    """Die design: a fifth always says no, prevalence 0.05: the estimate would be -0.01. Random answers: pi +
    rho (1/2 - pi).
    """
    found = plan(forced("1/6", "1/6"), prevalence=0.05, margin=0.05, compliance={"self_protective": 0.2})
    assert 0.05 + found.bias == pytest.approx(-0.01)
    at_random = plan(warner("3/4"), prevalence=0.02, margin=0.05, compliance={"random": 0.1})
    assert 0.02 + at_random.bias == pytest.approx(0.068)
    seen, keep = 0.9 * (0.25 + 0.02 * 0.5) + 0.05, 0.9 * 0.5
    assert at_random.se**2 == pytest.approx(seen * (1 - seen) / (at_random.n * keep**2), rel=1e-6)


def test_a_mean_takes_the_guessed_standard_deviation():
    family = partial(numeric.one_bit, (0, 80))
    known = plan(family, prevalence=30, margin=2, epsilon=1.0, sd=10)
    unknown = plan(family, prevalence=30, margin=2, epsilon=1.0)
    assert known.n == unknown.n  # one bit has the same variance for every spread, but not the same direct margin
    assert known._direct_margin == pytest.approx(1.959964 * 10 / math.sqrt(known.n), rel=1e-6)
    assert "±2 at" in repr(known)


def test_a_margin_so_wide_that_any_epsilon_keeps_it_gets_the_smallest():
    assert plan(warner, prevalence=0.5, n=10**9, margin=0.5).epsilon == 1e-3


def test_a_design_without_deniability_can_be_planned_with():
    found = plan(triangular("1/4"), prevalence=0.1, n=500)
    assert found.epsilon == math.inf


def test_no_more_errors_than_a_sure_thing():
    assert plan(Design([[1, 0], [0, 1]], 1, ("no", "yes")), prevalence=0, margin=0.01).n == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "`epsilon` and `n` and `margin` left out: give 2 more"),
        ({"epsilon": 1}, "`n` and `margin` left out: give 1 more"),
        ({"epsilon": 1, "n": 100, "margin": 0.1}, "got all of them: leave out the one"),
        ({"n": 100, "margin": 0}, "`margin` must be above 0"),
        ({"n": 100, "margin": 1}, "`margin` must be below 1"),
        ({"epsilon": 0, "n": 100}, "`epsilon` must be above 0"),
        ({"epsilon": 1, "n": 0}, "`n` must be at least 1"),
        ({"epsilon": 1, "n": 100, "power": 0.8}, "give `detect`"),
        ({"epsilon": 1, "n": 100, "detect": 0.3, "margin": 0.1}, "`margin` must be left out with `detect`"),
        ({"epsilon": 1, "power": 0.01, "detect": 0.3}, "`power` must lie between 0.05 and 1"),
        ({"epsilon": 1, "power": 1, "detect": 0.3}, "`power` must lie between 0.05 and 1"),
        ({"epsilon": 1, "power": 0.8, "detect": 0.5}, "`detect` must differ from `prevalence`"),
        ({"epsilon": 1, "n": 300, "population": 200}, "`n` must be at most the population"),
        ({"epsilon": 1, "n": 300, "subgroup": 0}, "`subgroup` must be a share"),
        ({"epsilon": 1, "n": 300, "response": 2}, "`response` must be a share"),
        ({"epsilon": 1, "n": 300, "compliance": {"lazy": 0.1}}, "self_protective, random, candid"),
        ({"epsilon": 1, "n": 300, "compliance": {"random": 1}}, "some people must follow"),
        ({"n": 200, "margin": 0.01}, "with 200 people, got ±1 points: even direct questioning has ±6.93 points"),
        ({"n": 20, "detect": 0.51, "power": 0.8}, "even direct questioning has a power of"),
        (
            {"epsilon": 1, "margin": 0.01, "population": 500},
            "all 500 people of the population, got ±1 points: with this privacy",
        ),
    ],
)
def test_bad_input_gets_an_error_that_says_what_to_do(given, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        plan(warner, prevalence=0.5, **given)


@pytest.mark.parametrize("prevalence", [-0.1, 1.1, [0.5, 0.6]])
def test_a_prevalence_that_is_none_is_refused(prevalence):
    with pytest.raises(ValueError, match="`prevalence` must be shares from 0 to 1"):
        plan(warner, prevalence=prevalence, epsilon=1, n=100)


def test_a_given_design_has_its_own_epsilon():
    with pytest.raises(ValueError, match="the design has its own"):
        plan(warner("3/4"), prevalence=0.5, epsilon=1, n=100)
    with pytest.raises(TypeError, match="a randomizer or a family"):
        plan("warner", prevalence=0.5, epsilon=1, n=100)
    assert plan(warner("3/4"), prevalence=0.5, n=100).epsilon == warner("3/4").epsilon


def test_the_epsilon_of_a_plan_never_says_more_than_was_given():
    """The float nearest to 5/7 is above it."""
    assert Fraction(repr(plan(warner, prevalence=0.2, n=1000, epsilon="5/7").epsilon)) <= Fraction(5, 7)


def test_the_power_of_a_test_that_ignores_the_reports_is_no_goal():
    """At level 1/2 the two are the same float, so that the edge itself is tried."""
    with pytest.raises(ValueError, match=r"`power` must lie between 0.5 and 1, got 1/2"):
        plan(forced("1/6", "1/6"), prevalence=0, detect=0.1, level=0.5, power="1/2")


def test_a_plan_that_was_solved_for_power_has_that_power_as_its_goal():
    found = plan(forced("1/6", "1/6"), prevalence=0, detect=0.1, n=300)
    assert found.target.power == found.power


@pytest.mark.parametrize(
    ("design", "prevalence", "margin", "n"),
    [
        (forced("1/6", "1/6"), 0.1, 0.03, 1780),
        (forced("1/6", "1/6"), 0.3, 0.05, 818),
        (warner("3/4"), 0.1, 0.05, 1326),
        (warner("3/4"), 0.05, 0.03, 3474),
    ],
)
def test_an_assured_margin_is_kept_by_nine_surveys_of_ten(design, prevalence: float, margin: float, n: int) -> None:
    """Enumerated twice, here by the analysis's own intervals of all counts; from n on it stays, and the normal formula
    that plans all else is on the safe side.
    """
    planned = plan(design, prevalence=prevalence, margin=margin, assurance=0.9)
    assert planned.n == n
    assert "90 % of such surveys keep the margin" in planned.notes[-1]
    no, yes = design.matrix[:, 1]

    def kept(people: int) -> float:
        counts = np.arange(people + 1.0)
        ones = np.ones(people + 1)
        low, high = Shares.from_support(counts, people, yes * ones, no * ones).uncut(0.95, "wilson")
        return float(binom.pmf(counts, people, no + (yes - no) * prevalence)[(high - low) / 2 <= margin + 1e-12].sum())

    assert kept(n) >= 0.9 > kept(n - 1)
    assert min(kept(n + more) for more in range(1, 8)) >= 0.9
    assert plan(design, prevalence=prevalence, margin=margin).n < n
    safe = plan(design, prevalence=prevalence, n=n, assurance=0.9).margin
    assert margin <= safe < 1.01 * margin


def test_assurance_goes_with_the_field_and_not_with_a_test() -> None:
    people = [plan(warner, prevalence=0.1, epsilon=1, margin=0.05, assurance=0.9, deff=deff).n for deff in (1, 3)]
    assert people[0] < people[1]
    assert plan(warner, prevalence=0.1, n=4000, margin=0.03, assurance=0.9).epsilon > (
        plan(warner, prevalence=0.1, n=4000, margin=0.03).epsilon
    )
    even = plan(warner, prevalence=0.1, epsilon=1, margin=0.05, assurance=0.5).n
    assert plan(warner, prevalence=0.1, epsilon=1, margin=0.05, assurance=0.51).n > even
    for change, words in (
        ({"detect": 0.2, "power": 0.8, "n": None}, "not with `detect`"),
        ({"assurance": "499/1000"}, "from 0.5 to below 1"),
        ({"assurance": 1}, "from 0.5 to below 1"),
    ):
        with pytest.raises(ValueError, match=words):
            plan(warner, **({"prevalence": 0.1, "epsilon": 1, "n": 100, "assurance": 0.9} | change))
    for design, prevalence in (
        (k_ary(3, epsilon=1), [0.2, 0.3, 0.5]),
        (oracles.best(3, 1.0), [0.2, 0.3, 0.5]),
        (kuk("4/5", "1/5", draws=2), 0.2),
        (warner("3/4"), [0.8, 0.2]),
    ):
        with pytest.raises(ValueError, match="one yes/no question with two reports"):
            plan(design, prevalence=prevalence, margin=0.1, assurance=0.9)


def test_what_no_way_to_ask_several_questions_reaches_is_refused():
    with pytest.raises(OutOfReach, match="even direct questioning has ±5"):
        plan(warner, prevalence=0.1, margin=0.01, n=100, questions=3)
