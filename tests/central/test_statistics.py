"""Record and replay: the same statistic on a neighboring column moves by at most its declared sensitivity.

The columns are hostile on purpose: ends of the range, values just beside them, infinities, denormals, huge
numbers.
"""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.central import sensitivity, statistics
from toolkit.central.publishing.quantiles import MAX_SHARE_DENOMINATOR, round_share
from toolkit.frames.sums import SQUARE_BITS, Bounds

extremes = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 80.0, 79.99999999999999, np.inf, -np.inf, 5e-324, 1e308, -1e308, 2.0**53, 0.1]
)
numbers = st.one_of(extremes, st.floats(allow_nan=False), st.floats(-100, 100))
limits = st.sampled_from(
    [(0, 80), (-1, 1), (-5.5, 80), ("1/3", "2/3"), (1024, 1024 + 4 * np.spacing(1024.0)), (10**9, 10**9 + 1), (-3, -1)]
)
relations = st.sampled_from(["replace", "add_remove"])
shares = st.sampled_from([Fraction(1, 2), Fraction(0), Fraction(1), Fraction(1, 10), Fraction(9, 10), Fraction(1, 3)])


def neighbor(values: list[float], new: float, place: int, relation: str) -> tuple[np.ndarray, np.ndarray]:
    """A column and one of its neighbors."""
    column = np.array(values)
    if relation == "add_remove":
        return column, np.insert(column, place % (len(column) + 1), new)
    other = column.copy()
    other[place % len(column)] = new
    return column, other


def moved(one: object, other: object) -> int:
    """How far two values of a statistic are apart, in whole numbers of any size."""
    return sum(
        abs(int(a) - int(b)) for a, b in zip(np.atleast_1d(one).tolist(), np.atleast_1d(other).tolist(), strict=True)
    )


columns = st.lists(numbers, min_size=2, max_size=30)


@pytest.mark.slow
@given(columns, numbers, st.integers(0, 100), limits, relations)
def test_sums_move_by_at_most_their_sensitivity(
    values: list[float], new: float, place: int, bounds: object, relation: str
) -> None:
    box = Bounds.of(bounds)
    statistic = statistics.total(box, relation, len(values))
    one, other = (statistic.from_sums(box.sums(column)) for column in neighbor(values, new, place, relation))
    assert moved(one, other) <= statistic.sensitivity.l1


@pytest.mark.slow
@given(columns, numbers, st.integers(0, 100), limits)
def test_means_and_variances_move_by_at_most_their_sensitivity(
    values: list[float], new: float, place: int, bounds: object
) -> None:
    column, changed = neighbor(values, new, place, "replace")
    for make, box in ((statistics.mean, Bounds.of(bounds)), (statistics.variance, Bounds.of(bounds, SQUARE_BITS))):
        statistic, squares = make(box, len(values)), make is statistics.variance
        one, other = (statistic.from_sums(box.sums(c, squares=squares)) for c in (column, changed))
        assert moved(one, other) <= statistic.sensitivity.l1


@pytest.mark.slow
@given(columns, numbers, st.integers(0, 100), limits, relations, st.booleans())
def test_sums_of_cells_change_by_at_most_their_sensitivity(
    values: list[float], new: float, place: int, bounds: object, relation: str, vanishes: bool
) -> None:
    """Also when, under "replace", a value becomes missing and is dropped, or goes to another cell."""
    column, changed = neighbor(values, new, place, relation)
    if vanishes and relation == "replace":
        changed[place % len(column)] = np.nan
    box = Bounds.of(bounds)
    alone, two = statistics.cell_totals(box, 1, relation), statistics.cell_totals(box, 2, relation)
    assert moved(alone.from_sums(box.sums(column)), alone.from_sums(box.sums(changed))) <= alone.sensitivity.l1
    one, other = ([two.from_sums(box.sums(c[above])) for above in (c > 0, ~(c > 0))] for c in (column, changed))
    assert moved(one, other) <= two.sensitivity.l1


@pytest.mark.slow
@given(columns, limits)
def test_the_order_of_the_rows_does_not_matter(values: list[float], bounds: object) -> None:
    """Floating-point sums differ by up to 1000 here (re-ordering attack); integer sums do not differ at all."""
    column, box, coarse = np.array(values), Bounds.of(bounds), Bounds.of(bounds, SQUARE_BITS)
    for reordered in (column[::-1], np.sort(column)):
        assert box.sums(column) == box.sums(reordered)
        assert coarse.sums(column, squares=True) == coarse.sums(reordered, squares=True)


def test_the_tight_mean_is_not_disclosed_by_rounding() -> None:
    """Bounds (1024, 1024 + 4 ulp), n = 1000: elsewhere two neighbors gave two disjoint constants at epsilon 1."""
    ulp = float(np.spacing(1024.0))
    box = Bounds.of((1024, 1024 + 4 * ulp))
    mean = statistics.mean(box, 1000)
    low, high = (
        mean.from_sums(box.sums(c)) for c in (np.full(1000, 1024.0), np.r_[np.full(999, 1024.0), 1024 + 4 * ulp])
    )
    assert 0.9 * mean.sensitivity.l1 < moved(low, high) <= mean.sensitivity.l1 == box.span
    assert mean.offset == 1024


@pytest.mark.parametrize("bounds", [(0, 80), (-1, 1), (18, 100), (0, 200_000)])
def test_the_way_back_to_the_unit_is_exact_to_the_grid(bounds: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    values = rng.uniform(*bounds, size=1000)
    box, coarse = Bounds.of(bounds), Bounds.of(bounds, SQUARE_BITS)
    width = bounds[1] - bounds[0]
    sums, squares = box.sums(values), coarse.sums(values, squares=True)
    for statistic, column, truth, error in (
        (statistics.total(box, "replace", 1000), sums, values.sum(), 1000 * width * 2**-33),
        (statistics.total(box, "add_remove"), sums, values.sum(), 1000 * width * 2**-33),
        (statistics.mean(box, 1000), sums, values.mean(), width * 2**-33),
        (statistics.variance(coarse, 1000), squares, values.var(ddof=1), width**2 * 2**-14),
    ):
        assert (
            abs(float(statistic.offset + statistic.factor * statistic.from_sums(column)) - truth)
            <= error + 1e-9 * width
        )


@pytest.mark.parametrize("edges", [[1], [2, 1], [1, 1], []])
def test_edges_must_be_a_list_that_increases(edges: list[float]) -> None:
    for other in ("15", 7):
        with pytest.raises(TypeError, match="must be a list of numbers"):
            statistics.Edges.of(other)
    with pytest.raises(ValueError, match="increasing"):
        statistics.Edges.of(edges)


def test_values_on_an_edge_fall_into_the_bin_above_but_the_last_is_closed() -> None:
    edges = statistics.Edges.of([0, 5, 10])
    assert edges.names == ("0 to 5", "5 to 10")
    for value, code in ((0, 0), (5, 1), (10, 1), *((v, -1) for v in (-0.1, 10.1, np.nan, np.inf, -np.inf))):
        assert edges.codes(np.array([value], dtype=float)).tolist() == [code]


def test_bins_that_differ_have_different_names() -> None:
    assert statistics.Edges.of([1_000_000, 1_000_001, 1_000_002]).names == (
        "1e+06 to 1000001.0",
        "1000001.0 to 1000002.0",
    )


def test_neighbors_must_be_said() -> None:
    """A misspelt relation would otherwise mean "add_remove": half the noise that "replace" needs."""
    box = Bounds.of((0, 1))
    for call in (
        lambda relation: statistics.total(box, relation, 3),
        lambda relation: statistics.cell_totals(box, 2, relation),
    ):
        for relation in ("both", "Replace", None):
            with pytest.raises(ValueError, match="`neighbors` must be one of replace, add_remove"):
                call(relation)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_one_pair_moves_a_covariance_by_exactly_its_sensitivity(n: int) -> None:
    """All columns of pairs on a grid of 3 by 3: one half, a third and a quarter of the product of the widths."""
    box = Bounds.of((0, 2)).with_step(1)
    statistic, points = statistics.covariance((box, box), n), list(product(range(3), repeat=2))
    furthest = 0
    for others in combinations_with_replacement(points, n - 1):
        found = [
            statistic.from_sums([n, sum(y for _, y in rows), 0, sum(x for x, _ in rows), sum(x * y for x, y in rows)])
            for rows in ([*others, point] for point in points)
        ]
        furthest = max(furthest, max(found) - min(found))
    assert furthest == statistic.sensitivity.l1
    assert statistic.sensitivity.l1 * statistic.factor == Fraction(4, n)


def test_n_is_required_where_it_is_public_and_must_be_large_enough() -> None:
    """The number of rows must be a whole number that suffices for the statistic."""
    box = Bounds.of((0, 1), SQUARE_BITS)
    for n in (None, 2.5, True, "3"):
        with pytest.raises(TypeError, match="`n` must be a whole number"):
            statistics.total(box, "replace", n)
    assert statistics.total(box, "replace", 0).offset == 0
    with pytest.raises(ValueError, match="`n` must be at least 0, got -1"):
        statistics.total(box, "replace", -1)
    with pytest.raises(ValueError, match="at least 1 rows, got 0"):
        statistics.mean(box, 0)
    with pytest.raises(ValueError, match="at least 2 rows, got 1"):
        statistics.variance(box, 1)


def test_the_denominator_of_a_quantile_is_bounded_whatever_is_asked() -> None:
    """And with it every rank score, for any number of rows that fits into memory: 2**42 are 32 TiB of floats."""
    assert MAX_SHARE_DENOMINATOR * 2**42 < 2**63
    for q in (Fraction(10**40 + 1, 3 * 10**40), Fraction(1, 2**20 + 7), Fraction(0), Fraction(1), Fraction(1, 3)):
        near = round_share(q)
        assert near.denominator <= MAX_SHARE_DENOMINATOR
        assert abs(near - q) <= Fraction(1, 2**21)


@pytest.mark.parametrize("bounds", [(0, 8), (-3, 5), ("1/4", "5/4")])
def test_what_a_curator_charges_for_is_what_the_sensitivities_say(bounds: object) -> None:
    """Two files state them, one in steps and one in the column's unit; this holds them together. All bounds
    lie on the grid.
    """
    limits, n = Bounds.of(bounds), 50

    def reach(statistic: statistics.Statistic) -> Fraction:
        return statistic.sensitivity.l1 * statistic.factor

    for relation in ("replace", "add_remove"):
        public = n if relation == "replace" else None
        assert reach(statistics.total(limits, relation, public)) == sensitivity.total(bounds, neighbors=relation).l1
        assert sensitivity.table_counts(3, relation).l1 == sensitivity.histogram(neighbors=relation).l1
        assert sensitivity.table_counts(1, relation).l1 == sensitivity.count(neighbors=relation).l1
    assert reach(statistics.mean(limits, n)) == sensitivity.mean(bounds, n, neighbors="replace").l1
    assert reach(statistics.variance(limits, n)) == sensitivity.variance(bounds, n, neighbors="replace").l1
