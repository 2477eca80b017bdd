"""Codings of means, variances and covariances: the largest move of one person is the claimed one, exactly."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tests.slowly import each, slowly
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.noise.laws import GeometricLaw
from toolkit.central.tables import Composed, MomentStatistic, covariance_statistic, mean_statistic, variance_statistic
from toolkit.core.loss import Pure, Zcdp
from toolkit.frames.persons import Caps


def moves(coding: MomentStatistic, rows: list[list[int]], cells: int, neighbors: str) -> tuple[int, int]:
    """The largest L1 and squared L2 distance between the tables of one person who has one of the rows, or none."""
    nothing = [0] * len(rows[0])
    tables = [coding.integers([nothing] * cells)]
    tables += [
        coding.integers([row if place == cell else nothing for place in range(cells)])
        for row in rows
        for cell in range(cells)
    ]
    others = tables if neighbors == "replace" else tables[:1]
    gaps = [np.abs(np.array(a, dtype=object) - np.array(b, dtype=object)) for a in tables for b in others]
    return max(gap.sum() for gap in gaps), max((gap**2).sum() for gap in gaps)


@pytest.mark.parametrize("span", slowly([2, 3, 4], [3, 4]))
@each(laplace=[True, False], cells=[1, 2], neighbors=["replace", "add_remove"])
def test_one_person_moves_the_entries_by_what_is_claimed(span: int, cells: int, neighbors: str, laplace: bool) -> None:
    steps = range(span + 1)
    one = mean_statistic(span, cells, neighbors, laplace=laplace)
    two = variance_statistic(span, cells, neighbors, laplace=laplace)
    pair = covariance_statistic((span, 2), cells, neighbors)
    for coding, rows in (
        (one, [[1, s] for s in steps]),
        (two, [[1, s, s * s] for s in steps]),
        (pair, [[x**i * y**j for i in range(3) for j in range(3)] for x, y in product(steps, range(3))]),
    ):
        l1, squared = moves(coding, rows, cells, neighbors)
        assert l1 == coding.sensitivity.l1
        exact = not (laplace and cells == 1 and neighbors == "replace") or coding is pair
        assert squared == coding.sensitivity.l2_squared if exact else squared <= coding.sensitivity.l2_squared


def test_sensitivities_in_units_are_those_of_the_table() -> None:
    """1 in both norms where a person comes or goes, 2 (and length root of 2) where a record changes."""
    for cells, neighbors, l1 in ((3, "add_remove", 1), (3, "replace", 2), (1, "add_remove", 1), (1, "replace", 2)):
        assert mean_statistic(10, cells, neighbors).sensitivity.l1 == 10 * l1
        assert mean_statistic(10, cells, neighbors, laplace=False).sensitivity.l2_squared == 100 * l1
        assert covariance_statistic((10, 7), cells, neighbors).sensitivity.l1 == 4900 * l1
    assert variance_statistic(10, 1, "replace").sensitivity.l1 == 500
    assert variance_statistic(10, 2, "replace").sensitivity.l1 == 200
    assert mean_statistic(10, 2, "replace", Caps(5, 3, 2)).sensitivity.l1 == 80  # two cells hold 4 of the 5


def decoded_sums(coded: MomentStatistic, sums: list[int]) -> list[float]:
    """The sums of powers of t of one cell, from its entries."""
    return coded.moments(coded.integers([sums]), GeometricLaw(1.0)).sums[0].tolist()


@pytest.mark.parametrize("coded", [mean_statistic(6, 2, "replace"), mean_statistic(6, 1, "replace")])
def test_the_way_back_gives_number_and_sum(coded: MomentStatistic) -> None:
    steps = [0, 6, 6, 3, 1]
    assert decoded_sums(coded, [5, sum(steps)]) == pytest.approx([5, sum(2 * s / 6 - 1 for s in steps)])


@pytest.mark.parametrize("cells", [1, 2])
def test_the_way_back_gives_squares_and_products(cells: int) -> None:
    x, y = np.array([0, 6, 6, 3, 1]), np.array([4, 4, 0, 1, 3])
    t, u = 2 * x / 6 - 1, 2 * y / 4 - 1
    two = variance_statistic(6, cells, "replace")
    assert decoded_sums(two, [5, x.sum(), (x**2).sum()]) == pytest.approx([5, t.sum(), (t**2).sum()])
    pair = covariance_statistic((6, 4), cells, "add_remove")
    sums = [int((x**i * y**j).sum()) for i in range(3) for j in range(3)]
    expected = [(t**i * u**j).sum() for i in range(3) for j in range(3)]
    assert decoded_sums(pair, sums) == pytest.approx(expected)


def test_entries_are_whole_and_of_any_size() -> None:
    span = 2**33
    entries = mean_statistic(span, 2, "add_remove").integers([[10**10, 10**10 * span], [0, 0]])
    assert entries == [0, 10**10 * span, 0, 0]
    assert all(
        isinstance(factor, int | Fraction)
        for row in variance_statistic(3, 1, "replace").decoding_matrix
        for factor in row
    )


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("laplace", [True, False])
def test_several_rows_of_a_person_scale_the_sensitivity(cells: int, neighbors: str, laplace: bool) -> None:
    """With k rows of a person, entries move k times as far as with one row.

    All of them alike and in one cell: 20 times one row's move, its square 400 times.
    """
    many, span = Caps(20), 3
    for make in (mean_statistic, variance_statistic):
        one, more = (make(span, cells, neighbors, caps, laplace=laplace) for caps in (Caps(), many))
        assert (more.sensitivity.l1, more.sensitivity.l2_squared) == (
            20 * one.sensitivity.l1,
            400 * one.sensitivity.l2_squared,
        )
    one, more = (covariance_statistic((span, 2), cells, neighbors, caps) for caps in (Caps(), many))
    assert (more.sensitivity.l1, more.sensitivity.l2_squared) == (
        20 * one.sensitivity.l1,
        400 * one.sensitivity.l2_squared,
    )


def test_losses_and_concentrated_costs_of_parts_add_up() -> None:
    """Two halves of epsilon 1 cost 1/8 each, not the 1/2 of their sum."""
    both = Composed((Laplace.for_epsilon(0.1), Laplace.for_epsilon(0.2)))
    assert both.loss == Pure(0.3)
    assert [estimate.loss for estimate in both.release((1, 2))] == [Pure(0.1), Pure(0.2)]
    assert Composed((Laplace.for_epsilon("1/2"),) * 2).zcdp == Zcdp("1/4")
    rounded = Composed((Gaussian.for_rho("1/8"),) * 2)
    assert (rounded.loss, rounded.zcdp) == (Zcdp("1/4"), Zcdp("1/4"))
