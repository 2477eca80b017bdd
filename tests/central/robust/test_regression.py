import numpy as np
import pytest

from toolkit.central.robust.estimators import Huber, Logistic, Mean
from toolkit.central.robust.influence import regression


def data(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    rows = np.column_stack([np.ones(n), rng.normal(size=n)])
    return rows, rows @ [1.0, 2.0] + rng.normal(size=n)


def test_the_mean_without_a_cut_is_least_squares() -> None:
    rows, y = data()
    expected = np.linalg.lstsq(rows, y, rcond=None)[0]
    assert np.allclose(regression(Mean(), rows, y, clip=1e6).coefficients, expected)


@pytest.mark.parametrize("estimator", [Huber(1.345), Logistic()], ids=repr)
def test_the_scores_sum_to_zero_and_a_new_row_follows_the_influence(estimator: Huber) -> None:
    """Adding one row moves the coefficients as the influence function predicts."""
    rows, y = data()
    fit = regression(estimator, rows, y, clip=2)
    weights = np.minimum(1, 2 / np.linalg.norm(rows, axis=1))
    scores = (rows * (weights * estimator.psi(y - rows @ fit.coefficients))[:, None]).sum(axis=0)
    assert np.abs(scores).max() < 1e-6
    for x, target in (([1.0, 3.0], 50.0), ([1.0, -1.0], 0.0), ([5.0, 40.0], -100.0), ([0.0, 0.0], 9.0)):
        more = regression(estimator, np.vstack([rows, x]), np.append(y, target), clip=2)
        moved = (more.coefficients - fit.coefficients) * 401
        assert np.allclose(moved, fit(x, target), atol=0.05 * fit.gross_error_sensitivity)
        assert np.linalg.norm(fit(x, target)) <= fit.gross_error_sensitivity * (1 + 1e-9)


def test_the_largest_influence_is_reached() -> None:
    """In the direction of the least eigenvalue, at a residual beyond k."""
    rows, y = data()
    fit = regression(Huber(1.345), rows, y, clip=2)
    direction = np.linalg.eigh(fit.matrix)[1][:, 0] * 2
    reached = np.linalg.norm(fit(direction, 1e6))
    assert reached == pytest.approx(fit.gross_error_sensitivity)


def test_without_a_bound_of_the_scores_there_is_none_of_the_influence() -> None:
    rows, y = data()
    assert regression(Mean(), rows, y, clip=2).gross_error_sensitivity == np.inf
    with pytest.raises(ValueError, match="`clip` must be above 0"):
        regression(Huber(1), rows, y, clip=0)
    with pytest.raises(ValueError, match="must be a table"):
        regression(Huber(1), rows, y[:3], clip=1)
