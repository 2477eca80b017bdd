import itertools
from fractions import Fraction

import numpy as np
import pytest

from tests.central.stream.noises import published
from toolkit.central.stream import RunningTotal, SquareRoot, Tree, roots
from toolkit.central.stream.roots import inverse_root_coefficients, root_coefficients
from toolkit.core.loss import Zcdp


def toeplitz(coefficients: np.ndarray) -> np.ndarray:
    n = len(coefficients)
    return np.array([[coefficients[i - j] if i >= j else Fraction(0) for j in range(n)] for i in range(n)])


@pytest.mark.parametrize("window", [None, 1, 2, 3, 5, 12, 40])
def test_the_root_times_itself_is_the_matrix_of_totals_exactly(window: int | None) -> None:
    half, back = toeplitz(root_coefficients(12, window)), toeplitz(inverse_root_coefficients(12, window))
    totals = [[int(0 <= i - j < (window or 12)) for j in range(12)] for i in range(12)]
    assert half[0, 0] == 1
    assert (half @ half).tolist() == totals
    assert (half @ back).tolist() == np.eye(12, dtype=int).tolist()


@pytest.mark.parametrize(
    ("periods", "squares", "sum_"),
    [(7, 1.6745, 2.9326), (52, 2.3225, 8.1173), (365, 2.9441, 21.5503), (3650, 3.6772, 68.1690)],
)
def test_coefficients_have_the_known_sums(periods: int, squares: float, sum_: float) -> None:
    """Central binomial coefficients over 4**k: sums of squares and sums, from another program."""
    found = root_coefficients(periods, unit=1.0)
    assert np.sum(found**2) == pytest.approx(squares, abs=5e-5)
    assert np.sum(found) == pytest.approx(sum_, abs=5e-5)


@pytest.mark.parametrize(
    ("periods", "largest", "typical"), [(7, 1.534, 1.471), (52, 2.147, 2.064), (365, 2.756, 2.668)]
)
def test_columns_of_equal_length_have_the_known_errors(periods: int, largest: float, typical: float) -> None:
    """Henzinger, Kalinin and Upadhyay (2025): at most 0.846 + ln(T) / pi; numbers from another program."""
    spread = SquareRoot(periods).error_factors
    assert spread.max() == pytest.approx(largest, abs=5e-4)
    assert np.sqrt(np.mean(spread**2)) == pytest.approx(typical, abs=5e-4)
    assert spread.max() <= 0.846 + np.log(periods) / np.pi + 0.07


@pytest.mark.parametrize(("window", "largest"), [(4, 1.55), (7, 1.78), (28, 2.34), (90, 2.80)])
def test_windows_have_the_known_errors(window: int, largest: float) -> None:
    assert SquareRoot(365, window).error_factors.max() == pytest.approx(largest, abs=6e-3)


@pytest.mark.parametrize("way", [SquareRoot(9), SquareRoot(9, 3), SquareRoot(9, 1)])
def test_what_is_published_is_the_total_plus_noise_of_the_claimed_spread(way: SquareRoot) -> None:
    """The noise of each period alone, one unit large, gives the rows of B; without noise totals are exact."""

    def make() -> RunningTotal:
        return RunningTotal(Zcdp(1), 9, window=way.window, factorization=way)

    counts = [3, 1, 4, 1, 5, 0, 2, 2**62, 5]
    exact, _ = published(make, counts)
    assert exact == [float(sum(counts[max(0, t - (way.window or 9)) : t])) for t in range(1, 10)]
    moved = [published(make, [0] * 9, [way._unit * (i == place) for i in range(9)])[0] for place in range(9)]
    assert np.linalg.norm(moved, axis=0) == pytest.approx(way.error_factors, rel=1e-6)


@pytest.mark.parametrize("way", [SquareRoot(9), SquareRoot(9, 3)])
@pytest.mark.parametrize("times", [1, 2, 3, 9])
def test_no_person_moves_what_is_measured_further_than_claimed(way: SquareRoot, times: int) -> None:
    """By brute force over all sets of periods and all signs, in whole numbers."""
    columns = []
    for period in range(9):
        counts = [int(period == other) for other in range(9)]
        columns.append([way.encode(counts[: t + 1])[0] for t in range(9)])
    far = long = 0
    for chosen in itertools.combinations(columns, times):
        for signs in itertools.product((-1, 1), repeat=times):
            moved = np.array(signs, dtype=object) @ np.array(chosen, dtype=object)
            far, long = max(far, sum(map(abs, moved))), max(long, sum(move**2 for move in moved))
    assert far <= way.l1_sensitivity(times) * way._unit
    assert long <= way._l2_squared(times) * way._unit**2
    if times == 1:
        assert (far, long) == (way.l1_sensitivity() * way._unit, way._l2_squared() * way._unit**2)


def test_every_period_is_protected_alike() -> None:
    """Columns of length 1, but for the rounding to 2**-24."""
    way = SquareRoot(52)
    lengths = [np.linalg.norm(way._column(period) / way._unit) for period in range(1, 53)]
    assert lengths == pytest.approx([1.0] * 52, abs=1e-6)
    assert 1 <= way._l2_squared() <= 1 + 2e-7
    assert way.description == "the square root of the matrix of totals, columns of equal length"


def test_several_periods_of_a_person_are_bounded_below_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sensitivity to several periods of one person is smaller than their number times that of one.

    Four of 52 weeks: 3.51 where four times one would be 4; all 52: 29.1. Beyond 1,024 periods the number.
    """
    assert float(SquareRoot(52)._l2_squared(4)) ** 0.5 == pytest.approx(3.51, abs=5e-3)
    assert float(SquareRoot(52)._l2_squared(52)) ** 0.5 == pytest.approx(29.07, abs=5e-3)
    for way in (SquareRoot(52), Tree(52, 8, 2)):  # nobody is in more periods than there are
        assert (way.l1_sensitivity(99), way._l2_squared(99)) == (way.l1_sensitivity(52), way._l2_squared(52))
    assert roots._GRAM_LIMIT == 1024
    for limit, root_of_square in ((52, 3.51), (51, 4)):
        monkeypatch.setattr(roots, "_GRAM_LIMIT", limit)
        assert float(SquareRoot(52)._l2_squared(4)) ** 0.5 == pytest.approx(root_of_square, abs=5e-3)
