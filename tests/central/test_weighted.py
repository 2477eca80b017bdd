"""Weighted sums: sensitivity by enumeration, and errors compared with the formulas."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from toolkit.central.laplace import Laplace
from toolkit.central.noise.laws import GeometricLaw
from toolkit.central.sensitivity import worst_case
from toolkit.central.tables import NoisyMoments
from toolkit.central.weighted import SampledCells, SamplingModel, weighted_mean, weighted_sums, weighted_total

LOWEST, HIGHEST, SPAN = 1, 3, 2
ROWS = [(cell, weight, step) for cell in (0, 1) for weight in range(HIGHEST - LOWEST + 1) for step in range(SPAN + 1)]


def powers(rows: Sequence[tuple[int, int, int]], *, squares: bool, with_value: bool) -> list[list[int]]:
    """Return the sums of weight**i step**j of two cells, in plain Python."""
    exponents = list(product(range(3 if squares else 2), range(3 if with_value else 1)))
    return [[sum(w**i * s**j for cell, w, s in rows if cell == c) for i, j in exponents] for c in (0, 1)]


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("with_value", [True, False])
@pytest.mark.parametrize("squares", [True, False])
def test_the_sensitivity_is_the_largest_change_of_all_tables(squares: bool, with_value: bool, neighbors: Any) -> None:
    span = SPAN if with_value else None
    statistic = weighted_sums((LOWEST, HIGHEST), span, 2, neighbors, squares=squares)

    def terms(rows: Sequence[Any]) -> list[int]:
        return statistic.integers(powers(rows, squares=squares, with_value=with_value))

    for norm, claimed in (("l1", statistic.sensitivity.l1), ("l2", statistic.sensitivity.l2_squared)):
        found = worst_case(terms, ROWS, 2, neighbors=neighbors, norm=norm)
        assert found.is_complete
        assert float(found.at_least) ** (2 if norm == "l2" else 1) == pytest.approx(float(claimed))
    for row in ROWS:
        assert min(terms([row])) >= 0
        assert sum(terms([row])) == statistic.unit


@pytest.mark.parametrize("squares", [True, False])
def test_the_terms_decode_to_the_sums_of_powers_exactly(squares: bool) -> None:
    statistic = weighted_sums((LOWEST, HIGHEST), SPAN, 1, "add_remove", squares=squares)
    for _, weight, step in ROWS:
        v, t = Fraction(LOWEST + weight, HIGHEST), Fraction(2 * step, SPAN) - 1
        (cell, _) = powers([(0, weight, step)], squares=squares, with_value=True)
        terms = [Fraction(term, statistic.unit) for term in statistic.integers([cell])]
        found = [sum(a * b for a, b in zip(row, terms, strict=True)) for row in statistic.decoding_matrix]
        assert found == [v**i * t**j for i in range(3 if squares else 2) for j in range(3)]


def sums(v: np.ndarray, t: np.ndarray, model: SamplingModel) -> np.ndarray:
    orders = product(range(3 if model.deff is None else 2), range(3))
    return np.array([[np.sum(v**i * t**j) for i, j in orders]])


def exact(v: np.ndarray, t: np.ndarray, model: SamplingModel) -> NoisyMoments:
    """Return the moments of a release with almost no noise."""
    statistic = weighted_sums((0, 8), 8, 1, "add_remove", squares=model.deff is None)
    return NoisyMoments(sums(v, t, model), statistic.slopes / statistic.unit, GeometricLaw(1e-9))


def limits(cells: SampledCells, method: str) -> tuple[float, float]:
    low, high = cells.interval(0.95, method)
    return float(np.ravel(low)[0]), float(np.ravel(high)[0])


V, T = np.array([0.5, 1.0, 0.25, 0.75, 1.0]), np.array([-1.0, 0.5, 0.25, 1.0, 0.0])


def test_a_mean_has_the_error_of_svymean() -> None:
    """For a sample with replacement: n / (n - 1) times the sum of (w (x - m))**2, over the squared sum of weights."""
    mean = np.average(T, weights=V)
    for n in (None, 5):
        found = weighted_mean(exact(V, T, SamplingModel(n)), SamplingModel(n))
        error = np.sqrt(5 / 4 * np.sum((V * (T - mean)) ** 2)) / V.sum()
        assert (found.value[0], found.se[0]) == pytest.approx((mean, error))
        assert found.noise_se[0] < 1e-6


def test_a_total_has_the_error_of_svytotal_or_of_a_sample_of_random_size() -> None:
    """With a public n, n times the sample variance of w x; with a private n, the sum of (w x)**2."""
    scores = V * (3 + 2 * T)
    for n, variance in ((5, 5 * np.var(scores, ddof=1)), (None, np.sum(scores**2))):
        model = SamplingModel(n)
        found = weighted_total(exact(V, T, model), model, 3.0, 2.0)
        assert (found.value[0], found.se[0] ** 2) == pytest.approx((scores.sum(), variance))


def test_a_design_effect_multiplies_the_variance_of_a_simple_random_sample() -> None:
    """For the mean: deff s**2 / n with the weighted variance; for a total with a private n, deff times the mean weight
    times the sum of w x**2.
    """
    model, mean = SamplingModel(deff=1.7), np.average(T, weights=V)
    found = weighted_mean(exact(V, T, model), model)
    spread = 5 / 4 * np.average((T - mean) ** 2, weights=V)
    assert found.se[0] ** 2 == pytest.approx(1.7 * spread / 5)
    total = weighted_total(exact(V, T, model), model, 3.0, 2.0)
    assert total.se[0] ** 2 == pytest.approx(1.7 * V.mean() * np.sum(V * (3 + 2 * T) ** 2))


def test_kishs_design_effect_gives_the_error_of_a_total_of_weights() -> None:
    """With deff = 1 + cv**2 of the weights, the sum of all weights has n times their variance (with denominator n)."""
    n = len(V)
    model = SamplingModel(n, 1 + np.var(V) / np.mean(V) ** 2)
    statistic = weighted_sums((0, 8), None, 1, "replace", squares=False)
    moments = NoisyMoments(np.array([[n, V.sum()]]), statistic.slopes / statistic.unit, GeometricLaw(1e-9))
    assert weighted_total(moments, model).se[0] ** 2 == pytest.approx(n / (n - 1) * n * np.var(V))


def test_covariances_of_totals_of_a_fixed_sample_are_those_of_its_scores() -> None:
    """Two groups: the covariance matrix is n times that of the scores, of which one is 0 in each row."""
    group, model = np.array([0, 1, 0, 1, 0]), SamplingModel(5)
    cells = np.concatenate([sums(V[group == g], T[group == g], model) for g in (0, 1)])
    statistic = weighted_sums((0, 8), 8, 2, "replace")
    moments = NoisyMoments(cells, statistic.slopes / statistic.unit, GeometricLaw(1e-9))
    found = weighted_total(moments, model, 0.0, 1.0).estimate()
    scores = np.stack([V * T * (group == g) for g in (0, 1)])
    assert found.cov == pytest.approx(5 * np.cov(scores))
    assert found.se == pytest.approx(np.sqrt(np.diag(found.cov)))


def test_covariances_are_positive_semidefinite_whatever_the_noise() -> None:
    rng, model = np.random.default_rng(1), SamplingModel(30)
    statistic = weighted_sums((0, 8), 8, 4, "replace")
    for _ in range(200):
        noisy = rng.normal(3, 20, (4, 9))
        moments = NoisyMoments(noisy, statistic.slopes / statistic.unit, GeometricLaw(1e-9))
        cov = weighted_total(moments, model, 1.0, 1.0).estimate().cov
        assert cov is not None
        assert np.linalg.eigvalsh(cov).min() > -1e-9 * np.abs(cov).max()


def test_the_noise_of_a_release_has_the_stated_standard_error() -> None:
    """400 draws: with kurtosis below 6, a standard deviation has a standard error of at most 5.6 %; 4.5 of them."""
    model, rng = SamplingModel(), np.random.default_rng(2)
    statistic = weighted_sums((0, 8), 8, 1, "add_remove")
    mechanism = Laplace.for_epsilon(1, sensitivity=statistic.sensitivity.l1)
    rows = 4000
    truth = [rows * 4**i * 4**j for i in range(3) for j in range(3)]
    integers = statistic.integers([truth])
    values: dict[str, list[float]] = {"total": [], "mean": []}
    for _ in range(400):
        noisy, law = mechanism._perturb_integers(integers, rng)
        moments = statistic.moments(noisy, law)
        total, mean = weighted_total(moments, model, 3.0, 2.0), weighted_mean(moments, model)
        values["total"].append(total.value[0])
        values["mean"].append(mean.value[0])
    assert np.std(values["total"]) == pytest.approx(total.noise_se[0], rel=0.25)
    assert np.std(values["mean"]) == pytest.approx(mean.noise_se[0], rel=0.25)
    assert np.mean(values["total"]) == pytest.approx(rows * 0.5 * 3, rel=0.01)


def test_intervals_of_the_noise_alone_are_inside_those_of_both_errors() -> None:
    for model in (SamplingModel(), SamplingModel(5), SamplingModel(5, 2.0)):
        moments = NoisyMoments(
            sums(V, T, model),
            weighted_sums((0, 8), 8, 1, "replace", squares=model.deff is None).slopes / 2**12,
            GeometricLaw(10.0),
        )
        for cells in (weighted_mean(moments, model), weighted_total(moments, model, 3.0, 2.0)):
            (low, high), (noise_low, noise_high) = (limits(cells, method) for method in cells.methods)
            assert low < noise_low < cells.value[0] < noise_high < high


@pytest.mark.slow
@pytest.mark.parametrize("center", [0, 8])
@pytest.mark.parametrize("squares", [True, False])
def test_intervals_of_the_noise_cover_the_mean_of_the_rows(squares: bool, center: int) -> None:
    """600 releases of 400 rows: if 95 % of the intervals hold the mean, fewer than 93 % do with probability .01."""
    model, rng = SamplingModel(deff=None if squares else 1.0), np.random.default_rng(4)
    statistic = weighted_sums((0, 8), 8, 1, "add_remove", squares=squares)
    mechanism = Laplace.for_epsilon(1, sensitivity=statistic.sensitivity.l1)
    integers = statistic.integers([[400 * 4**i * center**j for i in range(3 if squares else 2) for j in range(3)]])
    covered = 0
    for _ in range(600):
        moments = statistic.moments(*mechanism._perturb_integers(integers, rng))
        low, high = limits(weighted_mean(moments, model), "noise")
        covered += low <= center / 4 - 1 <= high
    assert covered >= 0.93 * 600


def test_where_weights_are_lost_in_noise_a_mean_has_the_whole_range() -> None:
    model = SamplingModel()
    statistic = weighted_sums((0, 8), 8, 1, "add_remove")
    moments = NoisyMoments(np.full((1, 9), -0.5), statistic.slopes, GeometricLaw(1.0))
    found = weighted_mean(moments, model)
    assert limits(found, "combined") == (-1, 1)
    assert -1 <= found.value[0] <= 1
