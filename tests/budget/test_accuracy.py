import math
from functools import partial

import numpy as np
import pytest

from toolkit import k_ary, warner
from toolkit.budget.accuracy import Accuracy, Case, Spread, is_randomizer, margin_grid, member, spread_of
from toolkit.budget.field import Field
from toolkit.local import numeric, oracles


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
def test_noise_and_sampling_add_up_to_the_variance_and_sampling_is_that_of_shares(randomizer, truth):
    spread = spread_of(randomizer, truth, None)
    assert spread.noise + spread.sampling == pytest.approx(np.atleast_1d(randomizer.variance(truth, 1)))
    shares = np.atleast_1d(truth)
    assert spread.sampling == pytest.approx(shares * (1 - shares))


def test_the_sampling_variance_of_a_mean_is_its_standard_deviation_or_the_widest_possible():
    design = numeric.hybrid((0, 10), 1.0)
    assert spread_of(design, 4, 2).sampling == pytest.approx(4)
    assert spread_of(design, 4, None).sampling == pytest.approx(24)
    known = spread_of(design, 4, 2)
    assert known.noise + known.sampling == pytest.approx(design.variance(4, 1, sd=2))


def test_margins_and_powers_of_many_sizes_at_once():
    accuracy = Case(warner, 0.1, 0.95, detect=0.2).accuracy(1.0)
    sizes = np.array([100, 1000, 10_000])
    assert accuracy.margin(sizes) == pytest.approx([accuracy.margin(int(n)) for n in sizes])
    assert accuracy.power(sizes) == pytest.approx([accuracy.power(int(n)) for n in sizes])


def test_power_is_the_normal_formula():
    accuracy = Case(warner("3/4"), 0.1, 0.95, detect=0.2).accuracy(None)
    se0, se1 = (math.sqrt(warner("3/4").variance(x, 400)) for x in (0.1, 0.2))
    expected = 0.5 * math.erfc(-((0.1 - 1.6448536269514722 * se0) / se1) / math.sqrt(2))
    assert accuracy.power(400) == pytest.approx(expected, rel=1e-12)


def test_without_a_truth_to_detect_there_is_no_power():
    with pytest.raises(ValueError, match="detect"):
        Accuracy(Field(), 0.95, Spread(np.ones(1), np.ones(1))).power(10)


def test_the_option_with_the_widest_interval_governs():
    accuracy = Case(partial(k_ary, 3), [0.98, 0.01, 0.01], 0.95).accuracy(1.0)
    widest = max(k_ary(3, epsilon=1.0).variance([0.98, 0.01, 0.01], 100))
    assert accuracy.margin(100) == pytest.approx(1.959963984540054 * math.sqrt(widest))


def test_a_grid_of_margins_is_every_single_margin():
    grid = margin_grid(warner, 0.3, epsilons=[0.5, 2.0], ns=[50, 500, 5000])
    for row, epsilon in zip(grid, (0.5, 2.0), strict=True):
        assert row == pytest.approx(
            [1.959963984540054 * math.sqrt(warner(epsilon=epsilon).variance(0.3, n)) for n in (50, 500, 5000)]
        )


def test_a_family_is_called_by_name_or_by_place_and_told_from_a_randomizer():
    assert member(warner, 1.0) == member(lambda e: warner(epsilon=e), 1.0)
    assert is_randomizer(warner("3/4"))
    assert not is_randomizer(warner)
    assert not is_randomizer(partial(k_ary, 3))


def test_several_questions_to_everybody_share_the_budget():
    case = Case(warner, 0.1, 0.95, field=Field(questions=4, one_each=False))
    assert case.randomizer(2.0).epsilon <= 0.5
    assert Case(warner, 0.1, 0.95, field=Field(questions=4)).randomizer(2.0).epsilon == pytest.approx(2.0)


def test_conduct_is_for_designs_only():
    from toolkit.budget.field import Compliance

    with pytest.raises(ValueError, match="needs a design with a matrix"):
        Case(partial(oracles.best, 20), [0.05] * 20, 0.95, field=Field(compliance=Compliance(random=0.1))).accuracy(1.0)
