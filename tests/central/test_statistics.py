"""Record and replay: the same statistic on a neighbouring column moves by at most its declared sensitivity.

The columns are hostile on purpose: ends of the range, values just beside them, infinities, denormals, huge numbers.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.central import statistics
from toolkit.central.statistics import SQUARE_BITS, Bounds, Statistic

extremes = st.sampled_from([0.0, -0.0, 1.0, -1.0, 80.0, 79.99999999999999, np.inf, -np.inf, 5e-324, 1e308, -1e308, 2.0**53, 0.1])
numbers = st.one_of(extremes, st.floats(allow_nan=False), st.floats(-100, 100))
limits = st.sampled_from(
    [(0, 80), (-1, 1), (-5.5, 80), ("1/3", "2/3"), (1024, 1024 + 4 * np.spacing(1024.0)), (10**9, 10**9 + 1), (-3, -1)]
)
relations = st.sampled_from(["replace", "add_remove"])
shares = st.sampled_from([Fraction(1, 2), Fraction(0), Fraction(1), Fraction(1, 10), Fraction(9, 10), Fraction(1, 3)])


def neighbour(values: list[float], new: float, place: int, relation: str) -> tuple[np.ndarray, np.ndarray]:
    """A column and one of its neighbours."""
    column = np.array(values)
    if relation == "add_remove":
        return column, np.insert(column, place % (len(column) + 1), new)
    other = column.copy()
    other[place % len(column)] = new
    return column, other


def distance(one: Statistic, other: Statistic) -> int:
    if isinstance(one.value, int) and isinstance(other.value, int):
        return abs(one.value - other.value)
    return int(np.abs(one.value - other.value).sum())


columns = st.lists(numbers, min_size=2, max_size=30)


@given(columns, numbers, st.integers(0, 100), limits, relations)
def test_sums_move_by_at_most_their_sensitivity(values: list[float], new: float, place: int, bounds: object, relation: str) -> None:
    box = Bounds.of(bounds)
    one, other = (statistics.total(column, box, relation) for column in neighbour(values, new, place, relation))
    assert one.sensitivity == other.sensitivity
    assert distance(one, other) <= one.sensitivity


@given(columns, numbers, st.integers(0, 100), limits)
def test_means_and_variances_move_by_at_most_their_sensitivity(values: list[float], new: float, place: int, bounds: object) -> None:
    column, changed = neighbour(values, new, place, "replace")
    for make, box in ((statistics.mean, Bounds.of(bounds)), (statistics.variance, Bounds.of(bounds, SQUARE_BITS))):
        one, other = make(column, box), make(changed, box)
        assert (one.sensitivity, one.factor, one.offset) == (other.sensitivity, other.factor, other.offset)
        assert distance(one, other) <= one.sensitivity


@given(columns, numbers, st.integers(0, 100), limits, relations, st.booleans())
def test_moments_move_by_at_most_their_sensitivity(
    values: list[float], new: float, place: int, bounds: object, relation: str, vanishes: bool
) -> None:
    """Also when, under "replace", a value becomes missing and is dropped."""
    column, changed = neighbour(values, new, place, relation)
    if vanishes and relation == "replace":
        changed = np.delete(column, place % len(column))
    box = Bounds.of(bounds, SQUARE_BITS)
    pairs = zip(
        statistics.moments(column, box, (0, 1, 2), relation), statistics.moments(changed, box, (0, 1, 2), relation), strict=True
    )
    for one, other in pairs:
        assert one.sensitivity == other.sensitivity
        assert distance(one, other) <= one.sensitivity


@given(columns, numbers, st.integers(0, 100), relations)
def test_histograms_and_counts_move_by_at_most_their_sensitivity(
    values: list[float], new: float, place: int, relation: str
) -> None:
    column, changed = neighbour(values, new, place, relation)
    one, other = (statistics.histogram(statistics.bin_codes(c, [-1, 0, 1, 80])[0], 3, relation) for c in (column, changed))
    assert one.sensitivity == {"replace": 2, "add_remove": 1}[relation]
    assert distance(one, other) <= one.sensitivity
    assert distance(statistics.count(column > 0), statistics.count(changed > 0)) <= 1


@given(columns, numbers, st.integers(0, 100), limits, relations, shares, st.booleans())
def test_rank_scores_move_by_at_most_their_sensitivity(
    values: list[float], new: float, place: int, bounds: object, relation: str, q: Fraction, vanishes: bool
) -> None:
    column, changed = neighbour(values, new, place, relation)
    if vanishes and relation == "replace":
        changed = np.delete(column, place % len(column))
    box = Bounds.of(bounds, 8)
    (one, sensitivity), (other, same) = (statistics.rank_scores(c, box, q, relation) for c in (column, changed))
    assert sensitivity == same
    assert len(one) == len(other) == box.span + 1
    assert np.abs(one - other).max() <= sensitivity


@given(columns, limits)
def test_the_order_of_the_rows_does_not_matter(values: list[float], bounds: object) -> None:
    """Floating-point sums differ by up to 1000 here (re-ordering attack); integer sums do not differ at all."""
    column, box = np.array(values), Bounds.of(bounds)
    for reordered in (column[::-1], np.sort(column)):
        assert statistics.total(column, box, "replace").value == statistics.total(reordered, box, "replace").value
        assert (
            statistics.variance(column, Bounds.of(bounds, SQUARE_BITS)).value
            == statistics.variance(reordered, Bounds.of(bounds, SQUARE_BITS)).value
        )


def test_the_tight_mean_is_not_disclosed_by_rounding() -> None:
    """Bounds (1024, 1024 + 4 ulp), n = 1000: elsewhere two neighbours gave two disjoint constants at epsilon 1."""
    ulp = float(np.spacing(1024.0))
    box = Bounds.of((1024, 1024 + 4 * ulp))
    low, high = statistics.mean(np.full(1000, 1024.0), box), statistics.mean(np.r_[np.full(999, 1024.0), 1024 + 4 * ulp], box)
    assert 0.9 * low.sensitivity < distance(low, high) <= low.sensitivity == box.span
    assert low.offset == 1024


def test_no_sum_overflows() -> None:
    box = Bounds.of((0, 1))
    assert box.span * (2**29) < 2**63
    assert statistics.total(np.ones(100_000), box, "replace").value == 100_000 * box.span
    coarse = Bounds.of((0, 1), SQUARE_BITS)
    half = np.r_[np.zeros(50_000), np.ones(50_000)]
    assert statistics.variance(half, coarse).value == 50_000**2 * coarse.span**2


@pytest.mark.parametrize("bounds", [(0, 80), (-1, 1), (18, 100), (0, 200_000)])
def test_the_way_back_to_the_unit_is_exact_to_the_grid(bounds: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    values = rng.uniform(*bounds, size=1000)
    box, coarse = Bounds.of(bounds), Bounds.of(bounds, SQUARE_BITS)
    width = bounds[1] - bounds[0]
    for statistic, truth, error in (
        (statistics.total(values, box, "replace"), values.sum(), 1000 * width * 2**-33),
        (statistics.total(values, box, "add_remove"), values.sum(), 1000 * width * 2**-33),
        (statistics.mean(values, box), values.mean(), width * 2**-33),
        (statistics.variance(values, coarse), values.var(ddof=1), width**2 * 2**-14),
    ):
        assert abs(float(statistic.offset + statistic.factor * statistic.value) - truth) <= error + 1e-9 * width


def test_sensitivities_are_those_of_the_textbook() -> None:
    """Mean of n numbers in [0, 1]: 1/n under "replace". Sum: 1 either way. Variance: 1/n. Histogram: 2 and 1."""
    values, box = np.linspace(0, 1, 50), Bounds.of((0, 1))
    mean = statistics.mean(values, box)
    assert mean.sensitivity * mean.factor == Fraction(1, 50)
    for relation in ("replace", "add_remove"):
        total = statistics.total(values, box, relation)
        assert total.sensitivity * total.factor == 1
    variance = statistics.variance(values, Bounds.of((0, 1), SQUARE_BITS))
    assert variance.sensitivity * variance.factor == Fraction(1, 50)
    shifted = statistics.total(values - 5, Bounds.of((-5, -4)), "add_remove")
    assert shifted.sensitivity * shifted.factor == 5


def test_quantile_scores_are_best_at_the_quantile_even_with_ties() -> None:
    box = Bounds.of((0, 64), 6)
    for values, q, best in (
        ([10.0] * 9 + [20.0] * 2, Fraction(1, 2), 10),
        ([64.0] * 5, Fraction(1, 10), 64),
        ([0.0] * 5, Fraction(9, 10), 0),
    ):
        scores, _ = statistics.rank_scores(np.array(values), box, q, "replace")
        assert scores[best] == scores.max() == 0
        assert np.count_nonzero(scores == 0) == 1


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((1, 0), "must be below"),
        ((1, 1), "must be below"),
        ((0, np.inf), "finite"),
        ((np.nan, 1), "finite"),
        (5, "two finite"),
        ((0, 1, 2), "two finite"),
        ((0, True), "two finite"),
    ],
)
def test_bounds_that_bound_nothing_are_refused(bounds: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Bounds.of(bounds)


@pytest.mark.parametrize("edges", [[1], [2, 1], [1, 1], []])
def test_edges_must_increase(edges: list[float]) -> None:
    with pytest.raises(ValueError, match="increasing"):
        statistics.bin_codes(np.array([1.0]), edges)


def test_values_on_an_edge_fall_into_the_bin_above_but_the_last_is_closed() -> None:
    codes, labels = statistics.bin_codes(np.array([0, 5, 10, -0.1, 10.1, np.nan, np.inf, -np.inf]), [0, 5, 10])
    assert codes.tolist() == [0, 1, 1, -1, -1, -1, -1, -1]
    assert labels == ("0 to 5", "5 to 10")


def test_neighbours_must_be_said() -> None:
    with pytest.raises(ValueError, match="`neighbors` must be one of replace, add_remove"):
        statistics.total(np.array([1.0]), Bounds.of((0, 1)), "both")


def test_a_step_may_be_chosen() -> None:
    assert Bounds.of((18, 100)).with_step(1).span == 82
    with pytest.raises(ValueError, match="`step` must be between"):
        Bounds.of((0, 1)).with_step(1e-9)
