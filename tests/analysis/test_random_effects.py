"""Laplace's approximation with several random effects, against a dense likelihood written here."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from toolkit.analysis.random_effects import BorderedPrecision, LaplaceModel, RandomTerm, maximum
from toolkit.analysis.random_intercepts import GroupModel, maximum_without_groups
from toolkit.analysis.regression.scoring import Evaluation
from toolkit.core.arrays import Array

PARAMS = np.array([-0.4, 0.5, 0.7, 0.2, 0.5, 0.6, 0.3])  # two coefficients, a root with a slope, two intercepts


def people(seed: int = 1, rows: int = 300, *, plain: bool = False) -> LaplaceModel:
    """A slope and an intercept in 9 groups, and intercepts in 6 and 4 other groups."""
    rng = np.random.default_rng(seed)
    first, second, third = (rng.integers(groups, size=rows) for groups in (9, 6, 4))
    columns = np.column_stack([np.ones(rows), rng.normal(size=rows)])
    slopes = rng.normal(size=(9, 2)) * [0.8, 0.6]
    eta = columns @ [-0.4, 0.5] + (slopes[first] * columns).sum(axis=1) + 0.6 * rng.normal(size=6)[second]
    truth = rng.random(rows) < expit(eta)
    report = truth if plain else rng.random(rows) < np.where(truth, 5 / 6, 1 / 6)
    low, high = (0.0, 1.0) if plain else (1 / 6, 5 / 6)
    likelihood = np.where(report, [[low], [high]], [[high], [low]])
    ones = np.ones((rows, 1))
    terms = (RandomTerm(first, columns, 9), RandomTerm(second, ones, 6), RandomTerm(third, ones, 4))
    return LaplaceModel(columns, likelihood, rng.integers(1, 3, size=rows) * 1.0, terms)


def dense_laplace(model: LaplaceModel) -> Callable[[Array], float]:
    """Laplace's approximation with one dense matrix of loadings, and a trust region for the mode."""
    rows, (no, yes) = len(model.columns), model.report_likelihood

    def loglike(params: Array) -> float:
        blocks, start = [], model.columns.shape[1]
        for term in model.terms:
            width = term.columns.shape[1]
            root = np.zeros((width, width))
            for a in range(width):
                for b in range(a + 1):
                    root[a, b], start = params[start], start + 1
            block = np.zeros((rows, term.groups, width))
            block[np.arange(rows), term.codes] = term.columns @ root
            blocks.append(block.reshape(rows, -1))
        loadings, fixed = np.hstack(blocks), model.columns @ params[: model.columns.shape[1]]

        def negative(u: Array) -> float:
            share = expit(fixed + loadings @ u)
            return -float(model.times @ np.log(no * (1 - share) + yes * share)) + float(u @ u) / 2

        def negative_gradient(u: Array) -> Array:
            share = expit(fixed + loadings @ u)
            slopes = (yes - no) * share * (1 - share) / (no * (1 - share) + yes * share)
            return np.asarray(u - loadings.T @ (model.times * slopes))

        def hessian(u: Array) -> Array:
            share = expit(fixed + loadings @ u)
            slopes = (yes - no) * share * (1 - share) / (no * (1 - share) + yes * share)
            curvature = model.times * slopes * (1 - 2 * share - slopes)
            return np.asarray(np.eye(len(u)) - loadings.T @ (curvature[:, None] * loadings))

        start = np.zeros(loadings.shape[1])
        mode = minimize(negative, start, jac=negative_gradient, hess=hessian, method="trust-exact", tol=1e-7).x
        for _ in range(2):
            mode = mode - np.linalg.solve(hessian(mode), negative_gradient(mode))
        return -negative(mode) - float(np.linalg.slogdet(hessian(mode))[1]) / 2

    return loglike


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("plain", [False, True])
def test_the_likelihood_is_that_of_a_dense_matrix_and_its_score_its_gradient(seed: int, plain: bool) -> None:
    model = people(seed, plain=plain)
    dense, params = dense_laplace(model), PARAMS * np.random.default_rng(seed).uniform(0.5, 1.5, size=7)
    mode = model.mode(params)
    assert mode.loglike == pytest.approx(dense(params), abs=1e-8)
    steps = 1e-5 * np.eye(7)
    gradient = [(dense(params + step) - dense(params - step)) / 2e-5 for step in steps]
    assert model.score(mode) == pytest.approx(gradient, abs=1e-5)


def test_a_mode_does_not_depend_on_its_start() -> None:
    model = people()
    mode, other = model.mode(PARAMS), model.mode(PARAMS, np.full(28, 0.5))
    assert other.effects == pytest.approx(mode.effects, abs=1e-9)
    assert other.loglike == pytest.approx(mode.loglike, abs=1e-9)


def test_the_precision_is_that_of_one_matrix() -> None:
    """Three groups of two effects, and four other effects."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(10, 10))
    whole = root @ root.T + np.eye(10)
    whole[:6, :6] *= np.kron(np.eye(3), np.ones((2, 2)))  # groups of one term are not connected
    whole += 20 * np.eye(10)
    first = np.array([whole[2 * g : 2 * g + 2, 2 * g : 2 * g + 2] for g in range(3)])
    precision, inverse = BorderedPrecision.of(first, whole[:6, 6:], whole[6:, 6:]), np.linalg.inv(whole)
    assert precision.log_det == pytest.approx(np.linalg.slogdet(whole)[1], rel=1e-12)
    right = rng.normal(size=(10, 3))
    assert precision.solve(right) == pytest.approx(inverse @ right, rel=1e-9)
    assert precision.solve(right[:, 0]) == pytest.approx(inverse @ right[:, 0], rel=1e-9)
    for rows, columns in (([0, 2, 5], [1, 2, 4]), ([0, 3], [6, 9]), ([7, 8], [1, 5]), ([6, 9], [7, 9])):
        a, b = np.array(rows), np.array(columns)
        assert precision.covariance(a, b) == pytest.approx(inverse[a, b], rel=1e-9)
    with pytest.raises(np.linalg.LinAlgError):
        BorderedPrecision.of(-first, whole[:6, 6:], whole[6:, 6:])


def one_factor(groups: int, size: int, *, sd: float = 0.8, seed: int = 5) -> tuple[LaplaceModel, GroupModel]:
    rng, n = np.random.default_rng(seed), groups * size
    codes, columns = np.repeat(np.arange(groups), size), np.column_stack([np.ones(n), rng.normal(size=n)])
    truth = rng.random(n) < expit(columns @ [-0.5, 0.6] + sd * rng.normal(size=groups)[codes])
    report = rng.random(n) < np.where(truth, 5 / 6, 1 / 6)
    likelihood, ones = np.where(report, [[1 / 6], [5 / 6]], [[5 / 6], [1 / 6]]), np.ones(n)
    laplace = LaplaceModel(columns, likelihood, ones, (RandomTerm(codes, ones[:, None], groups),))
    starts = np.arange(0, n, size)
    return laplace, GroupModel(columns, likelihood, starts, np.ones(groups), 1, ones)


def test_with_one_factor_it_is_adaptive_quadrature_with_one_node() -> None:
    """With one node, the weight of the rule is sqrt(pi)."""
    laplace, quadrature = one_factor(12, 20)
    for sd in (0.3, 0.8, 1.4):
        params = np.array([-0.4, 0.5, np.log(sd)])
        approximation = laplace.mode(np.append(params[:2], sd)).loglike
        assert approximation == pytest.approx(quadrature.loglike(params), abs=1e-8)


@pytest.mark.slow
def test_in_large_groups_it_is_close_to_the_integral() -> None:
    """The error of a group's log-likelihood is proportional to 1 / its information."""
    errors = []
    for size in (30, 1000):
        laplace, _ = one_factor(10, size)
        grid, params = np.linspace(-5, 5, 401), np.array([-0.4, 0.5, 0.7])
        eta = laplace.columns @ params[:2] + 0.7 * grid[:, None]
        logs = np.log(laplace.report_likelihood[0] + np.diff(laplace.report_likelihood, axis=0)[0] * expit(eta))
        sums = logs.reshape(len(grid), 10, size).sum(axis=2) - grid[:, None] ** 2 / 2
        exact = float((logsumexp(sums, axis=0) + np.log(grid[1] - grid[0]) - np.log(2 * np.pi) / 2).sum())
        errors.append(abs(laplace.mode(params).loglike - exact))
    assert errors[1] < 0.03
    assert errors[1] < errors[0] / 5


def test_means_of_effects_are_closer_to_those_of_the_integral_than_the_mode() -> None:
    laplace, _ = one_factor(10, 60)
    grid, params = np.linspace(-5, 5, 201), np.array([-0.4, 0.5, 0.7])
    eta = laplace.columns @ params[:2] + 0.7 * grid[:, None]
    logs = np.log(laplace.report_likelihood[0] + np.diff(laplace.report_likelihood, axis=0)[0] * expit(eta))
    weights = np.exp(logs.reshape(len(grid), 10, 60).sum(axis=2) - grid[:, None] ** 2 / 2 + 40)
    exact, mode = grid @ weights / weights.sum(axis=0), laplace.mode(params)
    of_mode, of_mean = (np.abs(effects - exact).max() for effects in (mode.effects, laplace.mean_effects(mode)))
    assert of_mean < of_mode / 3


def without_groups(model: LaplaceModel) -> Evaluation:
    likelihood, times = model.report_likelihood, model.times
    return maximum_without_groups(GroupModel(model.columns, likelihood, np.zeros(1, dtype=int), np.ones(1), 9, times))


@pytest.mark.slow
@pytest.mark.parametrize("plain", [False, True])
def test_the_maximum_is_above_other_points_and_has_its_curvature(plain: bool) -> None:
    """The covariance is the inverse of second differences of the dense likelihood."""
    model = people(7, 600, plain=plain)
    best, dense = maximum(model, without_groups(model)), dense_laplace(model)
    assert best.loglike == pytest.approx(dense(best.params), abs=1e-8)
    for seed in range(20):
        other = best.params + np.random.default_rng(seed).normal(scale=0.2, size=7)
        assert dense(other) < best.loglike
    steps = 1e-3 * np.eye(7)
    differences = [
        [-sum(i * j * dense(best.params + i * a + j * b) for i in (-1, 1) for j in (-1, 1)) / 4e-6 for b in steps]
        for a in steps
    ]
    is_free = np.abs(best.params) > 1e-3
    expected = np.linalg.inv(np.array(differences)[np.ix_(is_free, is_free)])
    assert best.cov[np.ix_(is_free, is_free)] == pytest.approx(expected, rel=1e-3, abs=1e-4)
