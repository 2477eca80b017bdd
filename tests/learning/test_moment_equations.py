"""Intervals of a private regression: equal to least squares without noise, and with coverage at every noise."""

import math
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.stats import binom, norm, t

from toolkit.core.loss import Zcdp
from toolkit.learning import PrivateLinearRegression
from toolkit.learning.moment_equations import MomentEquations, RegressionMoments


def survey(n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, [10, 1], (n, 2))
    return x, 20 + x @ [3.0, -7.0] + 2 * rng.normal(size=n)


def equations(sigma: float, n: int = 200, seed: int = 2) -> MomentEquations:
    """Return the equations of two columns, with moments that have no noise, for noise of any standard deviation."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-0.7, 0.7, (n, 2))
    target = rows @ [0.4, -0.3] + 0.2 * rng.normal(size=n)
    moments = RegressionMoments(rows.T @ rows, rows.T @ target, float(target @ target), 0.0, n, sigma)
    return MomentEquations(moments, np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([0.0, 5.0]))


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("intercept", [True, False])
def test_without_noise_the_table_is_that_of_least_squares(neighbors, intercept) -> None:
    x, y = survey(500)
    y = y if intercept else y - 20
    model = PrivateLinearRegression(
        rho=1e18,
        missing="middle",
        bounds=[(0, 10), (0, 1)],
        target_bounds=(-60, 60),
        fit_intercept=intercept,
        neighbors=neighbors,
    ).fit(x, y)
    columns = np.column_stack([np.ones(500), x] if intercept else [x])
    inverse = np.linalg.inv(columns.T @ columns)
    value = inverse @ columns.T @ y
    df = 500 - columns.shape[1]
    se = np.sqrt(np.diag(inverse) * np.sum((y - columns @ value) ** 2) / df)
    assert model.bse.index.tolist() == ["Intercept", "x1", "x2"][1 - intercept :]
    np.testing.assert_allclose(model.coefficients_.value, value, rtol=1e-6)
    np.testing.assert_allclose(model.bse, se, rtol=1e-6)
    margin = t.ppf(0.95, df) * se
    np.testing.assert_allclose(model.conf_int(level=0.9), np.column_stack([value - margin, value + margin]), rtol=1e-6)
    np.testing.assert_allclose(model.pvalues, 2 * t.sf(np.abs(value / se), df), rtol=1e-3)
    assert model.conf_int(alpha=0.1).equals(model.conf_int(level=0.9))


def test_the_covariance_of_the_equations_is_that_of_the_noise() -> None:
    """Each entry of a symmetric matrix changes E w; the off-diagonal entries have half the variance."""
    basis, sigma, weights = equations(3.0), 3.0, np.array([0.7, -1.9])
    noise = sigma**2 * np.eye(2)
    for i, j in combinations_with_replacement(range(2), 2):
        change = np.zeros((2, 2))
        change[i, j] = change[j, i] = sigma if i == j else sigma / math.sqrt(2)
        noise += np.outer(change @ weights, change @ weights)
    np.testing.assert_allclose(basis.equation_cov(weights) - basis.sampling, noise)


def test_the_gradient_is_the_slope_of_the_quadratic_form() -> None:
    basis, weights = equations(2.0), np.array([0.3, 0.8])
    _, gradient = basis.quadratic_form(weights)
    for index, step in enumerate(1e-6 * np.eye(2)):
        rise = basis.quadratic_form(weights + step)[0] - basis.quadratic_form(weights - step)[0]
        assert rise / 2e-6 == pytest.approx(gradient[index], rel=1e-5)


def test_the_statistic_is_the_minimum_over_the_other_coefficient() -> None:
    """The first coefficient is twice the first weight, so a line of second weights is searched."""
    basis = equations(2.0)
    for distance in (-3.0, 1.5):
        first = basis.weights[0] + distance * math.sqrt(basis.cov[0, 0]) / 2
        seconds = np.linspace(-5, 5, 20_001)
        least = min(basis.quadratic_form(np.array([first, second]))[0] for second in seconds)
        assert basis.statistic(0, distance) == pytest.approx(least, rel=1e-4)


def test_a_test_rejects_at_the_limits_of_the_interval() -> None:
    basis = equations(1.0)
    low, high = basis.interval(0.9, "moments")
    for index in range(2):
        for limit, tail in ((low[index], 2), (high[index], 1)):
            assert basis.tails(float(limit), "moments")[tail][index] == pytest.approx(0.05, rel=1e-6)


def test_the_residual_variance_accounts_for_the_noise_of_the_sums() -> None:
    """Var(t't - 2 w e + w E w) is computed from each entry of the noise; a variance in [-1, 1] is at most 1."""
    basis, moments = equations(0.5), equations(0.5).moments
    weights = basis.weights
    entries = [weights[0] ** 2, weights[1] ** 2, 2 * weights[0] * weights[1] / math.sqrt(2), *(2 * weights)]
    sd = 0.5 * math.sqrt(sum(entry**2 for entry in entries))
    residual = moments.target_square - weights @ moments.products + norm.ppf(0.95) * sd
    np.testing.assert_allclose(basis.sampling, residual / 198 * moments.matrix)
    loud = replace(moments, target_square_sd=1e9)
    np.testing.assert_allclose(replace(basis, moments=loud).sampling, moments.matrix)


def test_the_interval_of_a_single_weight_is_fieller_s() -> None:
    """(p - M w)**2 = c (S + sigma**2 + sigma**2 w**2) is a quadratic equation in w."""
    matrix, product, sigma, n = 40.0, 12.0, 3.0, 300
    basis = MomentEquations(
        RegressionMoments(np.array([[matrix]]), np.array([product]), 30.0, 0.0, n, sigma), np.eye(1), np.zeros(1)
    )
    c, weight = t.ppf(0.975, n - 1) ** 2, product / matrix
    residual = 30 - product * weight + norm.ppf(0.95) * sigma * math.sqrt(4 * weight**2 + weight**4)
    sampling = residual / (n - 1) * matrix
    roots = np.roots([matrix**2 - c * sigma**2, -2 * product * matrix, product**2 - c * (sampling + sigma**2)])
    low, high = basis.interval(0.95, "moments")
    np.testing.assert_allclose([*low, *high], np.sort(roots), rtol=1e-6)


def test_intervals_are_unbounded_if_an_eigenvalue_is_within_the_noise() -> None:
    eigenvalue = float(np.linalg.eigvalsh(equations(1.0).moments.matrix)[0])
    for factor, bounded in ((0.99, True), (1.01, False)):
        basis = equations(factor * eigenvalue / t.ppf(0.975, 198))
        limits = np.array(list(basis.interval(0.95, "moments")))
        assert np.isfinite(limits).all() == bounded
        assert np.isinf(limits).all() != bounded
    _, below, above = equations(10 * eigenvalue).tails(100.0, "moments")
    assert min(*below, *above) > 0.4
    negative = RegressionMoments(np.diag([-1.0, 5.0]), np.ones(2), 9.0, 0.0, 20.0, 1.0)
    assert MomentEquations(negative, np.eye(2), np.zeros(2)).tails(0.0, "moments")[1].tolist() == [0.5, 0.5]


def test_a_ridge_leaves_no_standard_error_and_a_note() -> None:
    x, y = survey(50)
    model = PrivateLinearRegression(
        rho=0.01, missing="drop", bounds=[(0, 10), (0, 1)], target_bounds=(0, 60), rng=np.random.default_rng(1)
    ).fit(x, y)
    assert np.isnan(model.bse).all()
    text = str(model.summary())
    assert "note: a ridge was necessary" in text
    assert "—" in text
    assert "-inf to inf" in text


def test_the_table_names_columns_and_states_the_loss() -> None:
    import pandas as pd

    x, y = survey(2000)
    model = PrivateLinearRegression(rho=1, missing="drop", bounds=[(0, 10), (0, 1)], target_bounds=(0, 60))
    with pytest.raises(ValueError, match="must be fitted first"):
        model.summary()
    model.fit(pd.DataFrame(x, columns=["age", "sex"]), y)
    table = model.summary(level=0.9)
    assert [row[0] for row in table.rows] == ["Intercept", "age", "sex"]
    assert table.head[-1] == "90 % interval"
    assert table.measures[1][:2] == ("privacy loss", str(Zcdp(1)))
    difference = model.coefficients_["age"] - model.coefficients_["sex"]
    assert difference.value == pytest.approx(model.coef_[0] - model.coef_[1])


CASES = [(0.02, 1000), (0.02, 4000), (0.3, 1000), (50.0, 1000)]


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "n"), CASES)
def test_the_intervals_hold_the_truth(rho, n) -> None:
    """300 surveys; if an interval covers with probability 0.95, this fails for one of all twelve in 100 seeds.

    At the least rho, most intervals are unbounded.
    """
    rng, truth = np.random.default_rng(3), np.array([20.0, 3.0, -7.0])
    covered = np.zeros(3)
    for _ in range(300):
        x = rng.uniform(0, [10, 1], (n, 2))
        y = 20 + x @ truth[1:] + 2 * rng.normal(size=n)
        model = PrivateLinearRegression(
            rho=rho, missing="middle", bounds=[(0, 10), (0, 1)], target_bounds=(0, 60), rng=rng
        ).fit(x, y)
        numbers = zip(model.bse.index, truth, strict=True)
        covered += [model.coefficients_[label].test(number).p > 0.05 for label, number in numbers]
    assert covered.min() >= binom.ppf(0.01 / 12, 300, 0.95)


@pytest.mark.slow
def test_standard_errors_without_a_ridge_are_those_of_repeated_fits() -> None:
    """200 fits: a standard deviation within 25 %, five of its own standard errors; a z-score of 4.5 for the mean."""
    rng, values, errors = np.random.default_rng(4), [], []
    for _ in range(200):
        x = rng.uniform(0, [10, 1], (3000, 2))
        y = 20 + x @ [3.0, -7.0] + 2 * rng.normal(size=3000)
        model = PrivateLinearRegression(
            rho=2, missing="middle", bounds=[(0, 10), (0, 1)], target_bounds=(0, 60), rng=rng
        ).fit(x, y)
        values.append(model.coefficients_.value)
        errors.append(model.bse)
    np.testing.assert_allclose(np.std(values, axis=0), np.mean(errors, axis=0), rtol=0.25)
    z = (np.mean(values, axis=0) - [20, 3, -7]) / (np.mean(errors, axis=0) / math.sqrt(200))
    assert norm.sf(4.5) < 1e-5
    assert np.abs(z).max() < 4.5
