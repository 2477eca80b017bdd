from fractions import Fraction

import numpy as np
import pytest

from tests.recorder import Draw, recorded
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.publishing.keys import RangeFinder


def counts(finder: RangeFinder, values: list[float]) -> np.ndarray:
    return np.bincount(finder.codes(np.array(values)) + 1, minlength=finder.n_bins + 1)[1:]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "beta", "first", "last", "expected"),
    [
        (0.1, "1e-3", -31, 32, 112), (0.1, "1e-9", -31, 32, 250), (1, "1e-3", -31, 32, 12),
        (1, "1e-9", -31, 32, 26), (1, "1e-9", -524, 525, 29),
    ],
)  # fmt: skip
def test_thresholds_are_those_of_the_formula(
    epsilon: float, beta: str, first: int, last: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The least k with q**k / (1+q) <= 1 - (1-beta)**(1/bins); 128 and 2,100 bins."""
    monkeypatch.setattr("toolkit.central.publishing.keys._MAX_POWER", 600)
    finder = RangeFinder(Laplace.for_epsilon(epsilon), first, last, Fraction(beta))
    assert finder.n_bins in (128, 2100)
    assert finder.threshold == expected


def test_every_value_is_in_one_bin_and_a_missing_one_in_none() -> None:
    finder = RangeFinder(Laplace.for_epsilon(1), -2, 3)
    values = [0.0, -0.0, 0.24, 0.25, 1.0, 7.99, 8.0, 1e300, np.inf, -np.inf, -0.1, -8.0, np.nan]
    assert counts(finder, values).tolist() == [2, 0, 0, 0, 0, 1, 3, 1, 0, 1, 0, 4]
    assert finder.n_bins == len(finder.edges) - 1


def test_one_person_moves_one_bin_or_two() -> None:
    finder = RangeFinder(Laplace.for_epsilon(1))
    people = [np.nan, 0.0, -1.0, 5.0, 1e9, np.inf]
    counted = [counts(finder, [1.0, 2.0, one]) for one in people]
    moves = [int(np.abs(a - b).sum()) for a in counted for b in counted]
    assert max(moves) == 2
    assert max(int(np.abs(c - counted[0]).sum()) for c in counted) == 1


@pytest.mark.parametrize("noise", [Laplace.for_epsilon(1), Gaussian.for_rho("1/10")])
def test_limits_are_the_outer_edges_of_what_was_found(noise: Laplace | Gaussian) -> None:
    finder = RangeFinder(noise)
    assert finder.choose(counts(finder, [20.0, -3.0] * 5000), np.random.default_rng(1)) == (-4, 32)
    nothing = finder.choose(counts(finder, [1.0]), np.random.default_rng(1))
    assert nothing == (-(2**32), 2**32)


def test_an_empty_bin_passes_with_probability_beta_at_most() -> None:
    """Simulated: 400 empty tables at beta = 1/10; 40 expected, more than 67 with probability 1e-5."""
    finder = RangeFinder(Laplace.for_epsilon(1), beta=Fraction(1, 10))
    rng, whole = np.random.default_rng(2), (finder.edges[0], finder.edges[-1])
    empty = np.zeros(finder.n_bins, dtype=np.int64)
    passed = sum(finder.choose(empty, rng) != whole for _ in range(400))
    assert 5 < passed <= 67


def test_what_is_compared_with_the_threshold_is_the_noisy_count_of_a_bin() -> None:
    finder = RangeFinder(Laplace.for_epsilon(1, sensitivity=2), first_power=0, last_power=2)
    counts = np.array([0, 0, 0, finder.threshold + 9, 0, finder.threshold - 1])
    with recorded([0, 0, 0, -10, finder.threshold, 1]) as drawn:
        assert finder.choose(counts) == (1, 4)
    assert drawn == [Draw("laplace", Fraction(2), 6)]
