import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tests.central.robust.sensitivities import sensitivities
from tests.recorder import recorded
from toolkit.central.robust.proposing import ProposeTestRelease
from toolkit.central.robust.ranks import RankStatistic
from toolkit.central.robust.smooth import neighbors, tables
from toolkit.core.loss import Approx
from toolkit.frames.sums import Bounds

GRID = Bounds.of((0, 6)).with_step(1)


def small(proposed: float, n: int = 4) -> ProposeTestRelease:
    return ProposeTestRelease(RankStatistic.from_name("median", n), GRID, proposed, 1, "1/100")


def first_beyond(proposed: float, table: tuple[float, ...]) -> int:
    listed = sensitivities("median", table, bounds=(0, 6), most=5)
    return next((k for k, reach in enumerate(listed) if reach > Fraction(proposed)), 5)


def test_the_distance_is_the_first_reach_beyond_the_proposal() -> None:
    """On a grid of halves; the median of four is half of a sum, which reaches twice as far."""
    fine = Bounds.of((0, 6)).with_step("1/2")
    for proposed, table in product([0.5, 1, 1.25, 3], [(0, 0.5, 3, 6), (2, 3, 3, 4), (0, 0, 6, 6), (1, 1, 1, 1)]):
        made = ProposeTestRelease(RankStatistic.from_name("median", 4), fine, proposed, 1, "1/100")
        assert made.distance(table) == first_beyond(proposed, table)


@pytest.mark.slow
@pytest.mark.parametrize("proposed", [0.5, 0.75, 1, 2.5, 2.9, 3])
def test_on_all_tables_the_distance_moves_by_one_at_most(proposed: float) -> None:
    made, found = small(proposed), {}
    for table in tables(range(7), 4):
        found[table] = made.distance(table)
        assert found[table] == first_beyond(proposed, table)
    for table, far in found.items():
        assert max(abs(far - found[near]) for near in neighbors(table, range(7))) <= 1


def test_a_false_proposal_passes_with_probability_below_delta() -> None:
    """Where the proposed bound does not hold, the test passes with less than delta.

    The noise is a whole number, above the threshold with probability e**-(epsilon (threshold + 1)) / (1 +
    e**-epsilon).
    """
    for epsilon, delta in ((1, "1/100"), ("1/2", "1e-6"), (3, "1/10")):
        made = ProposeTestRelease(RankStatistic.from_name("median", 3), GRID, 1, epsilon, delta)
        share = float(Fraction(epsilon))
        passes = math.exp(-share * (made.threshold + 1)) / (1 + math.exp(-share))
        assert passes < Fraction(delta)
        assert made.threshold == math.ceil(math.log(1 / Fraction(delta)) / share)
        assert made.loss == Approx(2 * Fraction(epsilon), delta)


def test_a_dense_sample_passes_and_a_sparse_one_does_not() -> None:
    median = RankStatistic.from_name("median", 1001)
    made = ProposeTestRelease(median, Bounds.of((0, 100)), 5, 1, "1e-6")
    rng = np.random.default_rng(1)
    dense, sparse = np.linspace(0, 100, 1001), np.repeat([0.0, 100.0], [500, 501])
    drawn = [float(made.release(dense, rng)) for _ in range(50)]
    assert abs(np.mean(drawn) - 50) < 4.5 * math.sqrt(2) * 5 / math.sqrt(50)
    assert all(math.isnan(float(made.release(sparse, rng))) for _ in range(50))


def test_bad_arguments_are_refused() -> None:
    for message, change in (
        ("`proposed` must be above 0", {"proposed": 0}),
        ("`epsilon` must be above 0", {"epsilon": 0}),
        ("`delta` must lie between", {"delta": 0}),
        ("`delta` must lie between", {"delta": 1}),
    ):
        options = {"proposed": 1, "epsilon": 1, "delta": "1/2"} | change
        with pytest.raises(ValueError, match=message):
            ProposeTestRelease(RankStatistic.from_name("median", 3), GRID, **options)
    with pytest.raises(ValueError, match="there must be 4 values"):
        small(1).release([1.0])


def test_the_noisy_distance_decides_and_the_proposal_scales_the_noise() -> None:
    """The test compares the noisy distance and the release has noise for the proposal."""
    made = ProposeTestRelease(RankStatistic.from_name("median", 5), Bounds.of((2, 8)).with_step(1), 6, "1/2", "1/100")
    values = [3.0] * 5
    far = made.distance(values)
    for noise, passed in ((made.threshold - far, False), (made.threshold - far + 1, True)):
        with recorded([noise, 2**30]) as drawn:
            told = float(made.release(values))
        test, release = drawn
        assert (test.law, test.scale) == ("laplace", 2)
        assert math.isnan(told) is not passed
    assert (told - 3) / 2**30 * float(release.scale) == pytest.approx(6 / 0.5, rel=1e-6)


def test_a_distance_of_quartiles_does_not_start_at_the_lower_bound() -> None:
    made = ProposeTestRelease(RankStatistic.from_name("iqr", 4), Bounds.of((2, 8)).with_step(1), 6, 1, "1/100")
    with recorded([made.threshold + 1]):
        assert float(made.release([math.nan, 4.0, 7.0, 8.0])) == 5  # a missing value is one at the lower bound
