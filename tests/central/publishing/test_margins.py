"""Least squares over tables, against explicit matrices; fractions stay fractions."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from toolkit.central.publishing.agreeing import Margins, budget_weights

CASES = [
    ((2, 3, 4), ((0,), (1, 2), (0, 2), ())),
    ((3, 2), ((0, 1), (0,), (1,))),
    ((4,), ((0,), ())),
    ((2, 2, 2), ((0, 1), (1, 2), (0, 2))),
]
VARIANCES = (Fraction(1, 3), Fraction(2), Fraction(5, 7), Fraction(4))


def query(margins: Margins) -> np.ndarray:
    """One row a cell of a table, one column a cell of the table over all axes."""
    full = list(itertools.product(*map(range, margins.axis_sizes)))
    cells = [
        (axes, cell)
        for axes in margins.table_axes
        for cell in itertools.product(*(range(margins.axis_sizes[axis]) for axis in axes))
    ]
    return np.array([[float(tuple(one[a] for a in axes) == cell) for one in full] for axes, cell in cells])


def shapes(margins: Margins) -> list[list[int]]:
    return [[margins.axis_sizes[axis] for axis in axes] for axes in margins.table_axes]


@pytest.mark.parametrize(("sizes", "tables"), CASES)
def test_it_is_weighted_least_squares_with_its_covariance(
    sizes: tuple[int, ...], tables: tuple[tuple[int, ...], ...]
) -> None:
    margins = Margins(sizes, tables, VARIANCES[: len(tables)])
    matrix, rng = query(margins), np.random.default_rng(1)
    spread = np.concatenate(
        [np.full(int(np.prod(s)), float(v)) for s, v in zip(shapes(margins), margins.variances, strict=True)]
    )
    covariance = matrix @ np.linalg.pinv(matrix.T @ np.diag(1 / spread) @ matrix) @ matrix.T
    noisy = [rng.integers(-5, 50, shape) for shape in shapes(margins)]
    expected = covariance @ (np.concatenate([np.ravel(one) for one in noisy]) / spread)
    found = np.concatenate([np.ravel(one).astype(float) for one in margins.reconcile(noisy)])
    assert found == pytest.approx(expected, abs=1e-9)
    assert margins.covariance() == pytest.approx(covariance, abs=1e-9)
    each = np.concatenate(
        [
            np.full(int(np.prod(s)), float(margins.cell_variance(a)))
            for s, a in zip(shapes(margins), tables, strict=True)
        ]
    )
    assert np.diag(covariance) == pytest.approx(each, abs=1e-9)


def test_tables_of_fractions_agree_exactly_and_truth_stays_as_it_is() -> None:
    margins = Margins((2, 3, 4), ((0,), (1, 2), (0, 2), ()), VARIANCES)
    truth = np.array([Fraction(k * k % 17) for k in range(24)], dtype=object).reshape(2, 3, 4)
    tables = [truth.sum(axis=(1, 2)), truth.sum(axis=0), truth.sum(axis=1), np.asarray(truth.sum())]
    for made, told in zip(margins.reconcile(tables), tables, strict=True):
        assert np.all(np.asarray(made) == np.asarray(told))
    noisy = [table + Fraction(k, 3) for k, table in enumerate(tables)]
    first, second, third, total = margins.reconcile(noisy)
    assert third.sum(axis=1).tolist() == first.tolist()
    assert third.sum(axis=0).tolist() == second.sum(axis=0).tolist()
    assert second.sum() == first.sum() == total.item()


def test_a_row_and_its_margin_follow_the_closed_form() -> None:
    """r = (margin/t2 + sum/(J s2)) / (1/t2 + 1/(J s2)); every cell gets an even part of the rest."""
    s2, t2, j = Fraction(3), Fraction(2), 3
    margins = Margins((2, j), ((0, 1), (0,)), (s2, t2))
    cells = np.array([[Fraction(k) for k in row] for row in ((4, 1, 7), (0, 2, 5))], dtype=object)
    rows = np.array([Fraction(15), Fraction(4)], dtype=object)
    made, sums = margins.reconcile([cells, rows])
    for i in range(2):
        best = (rows[i] / t2 + cells[i].sum() / (j * s2)) / (1 / t2 + 1 / (j * s2))
        assert sums[i] == best
        assert made[i].tolist() == [cell + (best - cells[i].sum()) / j for cell in cells[i]]
    assert margins.cell_variance((0,)) == 1 / (1 / t2 + 1 / (j * s2))


@pytest.mark.slow
def test_fifteen_margins_have_the_total_variances_of_the_reference() -> None:
    """Sizes 2, 3, 5, 10, 20, all margins of order 1 and 2, rho = 0.024354: 128,419 with equal shares and
    79,837 with shares in proportion to the root of the cells; 175,845 and 124,060 before least squares.
    """
    sizes, rho = (2, 3, 5, 10, 20), 0.024354
    tables = tuple(itertools.chain(((a,) for a in range(5)), itertools.combinations(range(5), 2)))
    cells = [int(np.prod([sizes[a] for a in axes])) for axes in tables]
    for weights, raw, agreed in (([1] * 15, 175_845, 128_419), (budget_weights(cells, 0.5), 124_060, 79_837)):
        variances = tuple(sum(weights) / weight / (2 * rho) for weight in weights)
        margins = Margins(sizes, tables, variances)
        assert np.dot(cells, variances) == pytest.approx(raw, rel=1e-4)
        total = sum(n * margins.cell_variance(axes) for n, axes in zip(cells, tables, strict=True))
        assert total == pytest.approx(agreed, rel=1e-4)
