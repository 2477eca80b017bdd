import math

import numpy as np
import pytest

from toolkit.core.loss import Approx, Pure, Zcdp
from toolkit.learning.moment_equations import RegressionMoments
from toolkit.learning.moments import STEPS, Moments, _signed, whole_moments


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
    claimed = float(Moments(Zcdp(1), 2, "replace", has_target=True).sensitivity)
    assert np.linalg.norm(moved) / STEPS == pytest.approx(math.sqrt(4.5), rel=1e-9)
    assert claimed / STEPS == pytest.approx(math.sqrt(4.5), rel=1e-6)
    assert np.linalg.norm(moved) <= claimed


@pytest.mark.parametrize(("sigma", "least"), [(0.1, 0.1 * math.sqrt(6)), (0.5, 0.5 * math.sqrt(6)), (0, 0.2)])
def test_the_ridge_lifts_the_least_eigenvalue_to_the_noise(sigma, least) -> None:
    """The largest eigenvalue of noise on a symmetric 3 x 3 matrix is about sigma sqrt(6)."""
    turned, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    matrix, products = turned @ np.diag([0.2, 1.0, 3.0]) @ turned.T, np.array([1.0, -2.0, 0.5])
    expected = np.linalg.solve(matrix + (least - 0.2) * np.eye(3), products)
    moments = RegressionMoments(matrix, products, 1.0, 0.0, 10.0, sigma)
    assert moments.ridge == pytest.approx(least - 0.2, abs=1e-12)
    np.testing.assert_allclose(moments.solve(moments.ridge), expected)


@pytest.mark.slow
@pytest.mark.parametrize("target", [False, True])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_no_pair_of_rows_is_further_apart_than_claimed(size, target) -> None:
    rng = np.random.default_rng(size)
    replaced = Moments(Zcdp(1), size, "replace", has_target=target)
    came = Moments(Zcdp(1), size, "add_remove", has_target=target)
    for _ in range(300):
        rows = unit_rows(rng, size, 2) * rng.choice([1, 1, rng.random()], 2)
        goals = rng.choice([-1.0, 1.0, rng.uniform(-1, 1), np.nan], 2) if target else None
        if goals is not None:
            rows = rows * ~np.isnan(goals)
        both = [whole_moments(rows[:, [i]], None if goals is None else goals[[i]]) for i in (0, 1)]
        assert len(both[0]) == replaced.n_entries
        assert np.linalg.norm(both[0] - both[1]) <= replaced.sensitivity
        alone = whole_moments(rows[:, [0]], None if goals is None else goals[[0]], 0.25)
        assert np.linalg.norm(alone) <= came.sensitivity


def test_the_sums_of_targets_and_rows_add_nothing_to_the_sensitivity() -> None:
    """For replaced rows at an angle with cosine q, on a grid of targets and angles, with and without a target."""
    q, t, s = np.meshgrid(np.linspace(-1, 1, 81), np.linspace(-1, 1, 41), np.linspace(-1, 1, 41))
    both = 2 - 2 * q**2 + t**2 + s**2 - 2 * q * t * s + (t**2 - s**2) ** 2
    assert both.max() == pytest.approx(4.5)
    assert (1 + t**2 + (1 - t**2) ** 2 + 1).max() == pytest.approx(3)
    assert (1 + t**2 + (1 - t**2) ** 2 + 1 / 16).max() == pytest.approx(2 + 1 / 16)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_the_sums_of_targets_and_rows_are_released(neighbors) -> None:
    """A row without a target counts in neither, and the last row is zero without being absent."""
    rows = np.array([[0.5, 0.0, 0.0], [-0.5, 0.0, 0.0]])
    moments = Moments(Zcdp(10**14), 2, neighbors, has_target=True)
    released = moments.release([(rows, np.array([0.5, np.nan, -1.0]))], None)
    assert released.n == pytest.approx(2, abs=1e-5)
    assert released.target_square == pytest.approx(1.25, abs=1e-5)
    np.testing.assert_allclose(released.products, [0.25, -0.25], atol=1e-5)


@pytest.mark.parametrize(("neighbors", "target"), [(n, t) for n in ("replace", "add_remove") for t in (False, True)])
def test_the_sensitivity_of_moments_includes_rounding(neighbors, target) -> None:
    """Each entry of two rows adds half a step of rounding."""
    for size in range(1, 30):
        moments = Moments(Zcdp(1), size, neighbors, has_target=target)
        exact = math.sqrt(
            {(True, False): 2, (True, True): 4.5, (False, False): 1, (False, True): 33 / 16}[
                neighbors == "replace", target
            ]
        )
        entries = size * (size + 1) // 2 + (size + 2) * target
        assert 0 <= float(moments.sensitivity) - exact * STEPS - math.sqrt(entries) < 3


def test_without_noise_they_are_the_moments() -> None:
    rng = np.random.default_rng(2)
    rows, target = unit_rows(rng, 4, 50), rng.uniform(-1, 1, 50)
    quiet = Moments(Zcdp(10**12), 4, "replace", has_target=True)
    released = quiet.release([(rows, target)], None)
    np.testing.assert_allclose(released.matrix, rows @ rows.T, atol=1e-4)
    np.testing.assert_allclose(released.products, rows @ target, atol=1e-4)
    np.testing.assert_array_equal(released.matrix, released.matrix.T)


def test_the_noise_of_moments_is_smaller_off_the_diagonal() -> None:
    """On the diagonal it is the noise of the reference.

    4.53 and 6.41 at the rho of (1, 1e-6). 600 draws: within 5 standard errors of a variance.
    """
    assert Moments(Zcdp(0.024356), 5, "add_remove").sigma == pytest.approx(4.531, rel=1e-3)
    noise = Moments(Zcdp(0.024356), 5, "replace")
    assert noise.sigma == pytest.approx(6.408, rel=1e-3)
    rng = np.random.default_rng(3)
    drawn = np.array([noise.release([(np.zeros((5, 1)), None)], rng).matrix for _ in range(120)])
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
