import math

import numpy as np
import pytest

from toolkit.core.loss import Approx, Pure, Zcdp
from toolkit.learning.moments import STEPS, Moments, _signed, _solve_ridge, whole_moments


def unit_rows(rng: np.random.Generator, size: int, n: int) -> np.ndarray:
    rows = rng.normal(size=(size, n))
    return rows / np.linalg.norm(rows, axis=0)


def test_orthogonal_rows_reach_the_root_of_two() -> None:
    """|aa' - bb'| in Frobenius' norm; 1.41421356 was the largest that a search found."""
    one, other = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    moved = np.linalg.norm(whole_moments(one, None) - whole_moments(other, None)) / STEPS
    assert moved == pytest.approx(math.sqrt(2), rel=1e-9)
    assert float(Moments(Zcdp(1), 2, "replace").sensitivity) / STEPS == pytest.approx(math.sqrt(2), rel=1e-6)


def test_the_sensitivity_of_moments_with_a_target_is_attained() -> None:
    """Two rows and targets at sixty degrees reach the square root of four and a half."""
    one, other = np.array([[1.0], [0.0]]), np.array([[0.5], [math.sqrt(0.75)]])
    moved = whole_moments(one, np.ones(1)) - whole_moments(other, -np.ones(1))
    claimed = float(Moments(Zcdp(1), 2, "replace", target=True).sensitivity)
    assert np.linalg.norm(moved) / STEPS == pytest.approx(math.sqrt(4.5), rel=1e-9)
    assert claimed / STEPS == pytest.approx(math.sqrt(4.5), rel=1e-6)
    assert np.linalg.norm(moved) <= claimed


@pytest.mark.parametrize(("sigma", "least"), [(0.1, 0.1 * math.sqrt(6)), (0.5, 0.5 * math.sqrt(6)), (0, 0.2)])
def test_the_ridge_lifts_the_least_eigenvalue_to_the_noise(sigma, least) -> None:
    """The largest eigenvalue of noise on a symmetric 3 x 3 matrix is about sigma sqrt(6)."""
    turned, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    matrix, products = turned @ np.diag([0.2, 1.0, 3.0]) @ turned.T, np.array([1.0, -2.0, 0.5])
    expected = np.linalg.solve(matrix + (least - 0.2) * np.eye(3), products)
    np.testing.assert_allclose(_solve_ridge(matrix, products, sigma), expected)


@pytest.mark.slow
@pytest.mark.parametrize("target", [False, True])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_no_pair_of_rows_is_further_apart_than_claimed(size, target) -> None:
    rng = np.random.default_rng(size)
    replaced = Moments(Zcdp(1), size, "replace", target=target)
    came = Moments(Zcdp(1), size, "add_remove", target=target)
    for _ in range(300):
        rows = unit_rows(rng, size, 2) * rng.choice([1, 1, rng.random()], 2)
        goals = rng.choice([-1.0, 1.0], 2) if target else None
        both = [whole_moments(rows[:, [i]], None if goals is None else goals[[i]]) for i in (0, 1)]
        assert len(both[0]) == replaced.entries
        assert np.linalg.norm(both[0] - both[1]) <= replaced.sensitivity
        assert np.linalg.norm(both[0]) <= came.sensitivity


@pytest.mark.parametrize(("neighbors", "target"), [(n, t) for n in ("replace", "add_remove") for t in (False, True)])
def test_the_sensitivity_of_moments_includes_rounding(neighbors, target) -> None:
    """Each entry of two rows adds half a step of rounding."""
    for size in range(1, 30):
        moments = Moments(Zcdp(1), size, neighbors, target=target)
        exact = math.sqrt(
            {(True, False): 2, (True, True): 4.5, (False, False): 1, (False, True): 2}[neighbors == "replace", target]
        )
        assert 0 <= float(moments.sensitivity) - exact * STEPS - math.sqrt(size * (size + 1) // 2 + size * target) < 3


def test_without_noise_they_are_the_moments() -> None:
    rng = np.random.default_rng(2)
    rows, target = unit_rows(rng, 4, 50), rng.uniform(-1, 1, 50)
    quiet = Moments(Zcdp(10**12), 4, "replace", target=True)
    matrix, products = quiet.release([(rows, target)], None)
    np.testing.assert_allclose(matrix, rows @ rows.T, atol=1e-4)
    np.testing.assert_allclose(products, rows @ target, atol=1e-4)
    np.testing.assert_array_equal(matrix, matrix.T)


def test_the_noise_of_moments_is_smaller_off_the_diagonal() -> None:
    """On the diagonal it is the noise of the reference.

    4.53 and 6.41 at the rho of (1, 1e-6). 600 draws: within 5 standard errors of a variance.
    """
    assert Moments(Zcdp(0.024356), 5, "add_remove").sigma == pytest.approx(4.531, rel=1e-3)
    noise = Moments(Zcdp(0.024356), 5, "replace")
    assert noise.sigma == pytest.approx(6.408, rel=1e-3)
    rng = np.random.default_rng(3)
    drawn = np.array([noise.release([(np.zeros((5, 1)), None)], rng)[0] for _ in range(120)])
    on = drawn[:, range(5), range(5)].ravel()
    off = drawn[:, *np.triu_indices(5, 1)].ravel()
    assert abs(np.mean(on**2) / noise.sigma**2 - 1) < 5 * math.sqrt(2 / 600)
    assert abs(np.mean(off**2) / noise.sigma**2 - 0.5) < 2.5 * math.sqrt(2 / 1200)


def test_purely_private_moments_are_refused() -> None:
    with pytest.raises(ValueError, match="need `rho`"):
        Moments(Pure(1), 2, "replace")
    assert Moments(Approx(1, 1e-6), 2, "replace").mechanism.loss == Approx(1, 1e-6)


def test_the_largest_entry_of_a_component_is_positive() -> None:
    rows = np.array([[0.6, -0.8], [-0.8, 0.6], [0.5, 0.5], [-0.5, 0.5]])
    assert _signed(rows).tolist() == [[-0.6, 0.8], [0.8, -0.6], [0.5, 0.5], [0.5, -0.5]]
