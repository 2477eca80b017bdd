import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from tests.slowly import each
from toolkit import forced, k_ary, warner
from toolkit.local import numeric, oracles
from toolkit.planning.accuracy import (
    Accuracy,
    PlanInputs,
    VarianceSources,
    critical_value,
    margin_grid,
    variance_sources,
)
from toolkit.planning.fieldwork import Compliance, Field


@pytest.mark.parametrize(
    ("randomizer", "truth"),
    [
        (warner("3/4"), 0.2),
        (k_ary(4, epsilon=1.0), [0.4, 0.3, 0.2, 0.1]),
        (oracles.best(10, 1.0), [0.1] * 10),
        (oracles.tick_boxes(6, 1.0), [0.5] * 6),
    ],
    ids=["warner", "k_ary", "subset", "boxes"],
)
def test_noise_and_sampling_add_up_to_the_variance(randomizer, truth):
    """The sampling variance is that of a share."""
    spread = variance_sources(randomizer, truth, None)
    assert spread.noise + spread.sampling == pytest.approx(np.atleast_1d(randomizer.variance(truth, 1)))
    shares = np.atleast_1d(truth)
    assert spread.sampling == pytest.approx(shares * (1 - shares))


def test_the_sampling_variance_of_a_mean_follows_its_spread():
    """Without a standard deviation, the widest possible spread is used."""
    design = numeric.hybrid((0, 10), 1.0)
    assert variance_sources(design, 4, 2).sampling == pytest.approx(4)
    assert variance_sources(design, 4, None).sampling == pytest.approx(24)
    known = variance_sources(design, 4, 2)
    assert known.noise + known.sampling == pytest.approx(design.variance(4, 1, sd=2))


@pytest.mark.slow
@each(
    n=[1, 100, 700, 1000],
    epsilon=[0.5, 2.0, 4.0],
    make=[numeric.one_bit, numeric.piecewise, numeric.hybrid, numeric.local_laplace],
)
def test_a_mean_of_a_finite_population_is_planned_for_the_worst_spread(make, epsilon, n):
    """For one bit, the noise is largest if all answers are equal: a census has this noise alone."""
    design = make((0, 10), epsilon)
    accuracy = PlanInputs(design, 4, 0.95, field=Field(population=1000)).accuracy(None)
    left = (1000 - n) / 999
    worst = max(
        design.variance(4, n, sd=sd, respondents="fixed") + left * sd**2 / n
        for sd in np.sqrt(np.linspace(0, 24, 50)).tolist()
    )
    assert accuracy.variance(n).item() == pytest.approx(worst, rel=1e-9)


def test_a_distribution_without_a_formula_is_not_planned():
    with pytest.raises(ValueError, match="must be for shares or for a mean, got square_wave"):
        PlanInputs(numeric.square_wave((0, 10), 1.0), 4, 0.95).accuracy(None)


def test_margins_and_powers_of_many_sizes_at_once():
    accuracy = PlanInputs(warner, 0.1, 0.95, detect=0.2).accuracy(1.0)
    sizes = np.array([100, 1000, 10_000])
    assert accuracy.margin(sizes) == pytest.approx([accuracy.margin(int(n)) for n in sizes])
    assert accuracy.power(sizes) == pytest.approx([accuracy.power(int(n)) for n in sizes])
    assert accuracy.normal_power(sizes) == pytest.approx([accuracy.normal_power(int(n)) for n in sizes])
    assert isinstance(accuracy.normal_power(100), float)


@pytest.mark.parametrize(("sides", "z"), [(1, 1.6448536269514722), (2, 1.959963984540054)])
def test_the_normal_formula_is_that_of_the_literature(sides, z):
    accuracy = PlanInputs(warner("3/4"), 0.1, 0.95, detect=0.2, sides=sides).accuracy(None)
    se0, se1 = (math.sqrt(warner("3/4").variance(x, 400)) for x in (0.1, 0.2))
    expected = 0.5 * math.erfc(-((0.1 - z * se0) / se1) / math.sqrt(2))
    assert accuracy.normal_power(400) == pytest.approx(expected, rel=1e-12)


def test_the_power_figure_of_blair_imai_and_zhou():
    """JASA 110 (2015), figure 2: one-sided at 0.01, die design; values of R's power.rr.test, which is the
    normal formula.
    """
    for n, detect, power in ((250, 0.10, 0.6708998), (2500, 0.05, 0.9772077)):
        found = PlanInputs(forced("1/6", "1/6"), 0, 0.99, detect=detect, sides=1).accuracy(None).normal_power(n)
        assert found == pytest.approx(power, abs=2e-7)


@pytest.mark.parametrize(
    ("family", "prevalence", "detect", "field"),
    [
        (partial(k_ary, 3), [0.5, 0.3, 0.2], [0.4, 0.4, 0.2], Field()),
        (partial(numeric.hybrid, (0, 10)), 4, 5, Field()),
        (warner, 0.1, 0.2, Field(subgroup_share=0.5)),
        (warner, 0.1, 0.2, Field(population=5000)),
        (warner, 0.1, 0.2, Field(questions=2)),
        (warner, 0.1, 0.2, Field(compliance=Compliance(random=0.1))),
    ],
    ids=["options", "mean", "subgroup", "population", "questions", "compliance"],
)
def test_only_one_question_of_yes_and_no_to_a_large_population_is_counted(family, prevalence, detect, field):
    accuracy = PlanInputs(family, prevalence, 0.95, detect, field=field).accuracy(1.0)
    assert accuracy.exact_test is None
    assert accuracy.power(500) == accuracy.normal_power(500)
    assert PlanInputs(warner, 0.1, 0.95, detect=0.2).accuracy(1.0).exact_test is not None


def test_beyond_a_million_people_the_formula_stands_in():
    accuracy = PlanInputs(warner, 0.1, 0.95, detect=0.1004).accuracy(2.0)
    assert accuracy.power(10**6) != accuracy.normal_power(10**6)
    assert accuracy.power(10**6 + 1) == accuracy.normal_power(10**6 + 1)


def test_a_pair_of_shares_is_counted_as_its_last():
    pair = PlanInputs(warner, [0.9, 0.1], 0.95, detect=[0.8, 0.2]).accuracy(1.0)
    assert pair.power(500) == PlanInputs(warner, 0.1, 0.95, detect=0.2).accuracy(1.0).power(500)
    uneven = forced("1/6", "1/3")  # with Warner's design, no and yes have the same power
    pair = PlanInputs(uneven, [0.9, 0.1], 0.95, detect=[0.8, 0.2]).accuracy(None)
    assert pair.power(500) == PlanInputs(uneven, 0.1, 0.95, detect=0.2).accuracy(None).power(500)


def test_a_test_that_is_on_the_edge_without_any_spread_detects_nothing():
    """The estimate is sure to lie where the test begins to reject: 0 / 0, and no promise."""
    edge = critical_value(0.95, 2)
    accuracy = Accuracy(
        Field(),
        0.95,
        VarianceSources(np.zeros(1), np.ones(1)),
        VarianceSources(np.zeros(1), np.zeros(1)),
        np.array([edge]),
    )
    assert accuracy.power(1) == 0
    assert Accuracy(Field(), 0.95, accuracy.at_guess, accuracy.at_detect, np.array([1.001 * edge])).power(1) == 1


def test_without_a_truth_to_detect_there_is_no_power():
    with pytest.raises(ValueError, match="detect"):
        Accuracy(Field(), 0.95, VarianceSources(np.ones(1), np.ones(1))).power(10)


def test_the_option_with_the_widest_interval_governs():
    accuracy = PlanInputs(partial(k_ary, 3), [0.98, 0.01, 0.01], 0.95).accuracy(1.0)
    widest = max(k_ary(3, epsilon=1.0).variance([0.98, 0.01, 0.01], 100))
    assert accuracy.margin(100) == pytest.approx(1.959963984540054 * math.sqrt(widest))


def test_a_grid_of_margins_is_every_single_margin():
    grid = margin_grid(warner, 0.3, epsilons=[0.5, 2.0], ns=[50, 500, 5000])
    for row, epsilon in zip(grid, (0.5, 2.0), strict=True):
        assert row == pytest.approx(
            [1.959963984540054 * math.sqrt(warner(epsilon=epsilon).variance(0.3, n)) for n in (50, 500, 5000)]
        )


def test_several_questions_to_everybody_share_the_budget():
    case = PlanInputs(warner, 0.1, 0.95, field=Field(questions=4, one_question_each=False))
    assert case.randomizer(2.0).epsilon <= 0.5
    assert PlanInputs(warner, 0.1, 0.95, field=Field(questions=4)).randomizer(2.0).epsilon == pytest.approx(2.0)


@pytest.mark.slow
@pytest.mark.parametrize("questions", [3, 7, 11, 13])
def test_a_budget_that_is_split_adds_up_to_no_more_than_it_was(questions):
    """A float divided by 3 may be rounded up, and three of them are then more than it was."""
    made = []

    def spy(epsilon):
        made.append(Fraction(repr(epsilon)))
        return warner(epsilon=epsilon)

    for i in range(1, 200):
        PlanInputs(spy, 0.1, 0.95, field=Field(questions=questions, one_question_each=False)).randomizer(i / 10)
        assert questions * made[-1] <= Fraction(i, 10)


def test_conduct_is_for_designs_only():
    with pytest.raises(ValueError, match="needs a design with a matrix"):
        PlanInputs(
            partial(oracles.best, 20), [0.05] * 20, 0.95, field=Field(compliance=Compliance(random=0.1))
        ).accuracy(1.0)
