import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, gamma, ncx2, norm
from scipy.stats import laplace as continuous_laplace

from tests.central.catalogue import MECHANISMS
from tests.slowly import each, slowly
from toolkit.central import Gaussian, Laplace
from toolkit.central import gaussian as gaussian_module
from toolkit.central import laplace as laplace_module
from toolkit.central.noise.gaussian_delta import grid_bits
from toolkit.central.noise.grid import grid_exponent, rounded_sensitivity
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.sampling import LatticeSampler, floor_log2


@pytest.mark.parametrize(("epsilon", "sensitivity"), [("1/2", 1), (1, 1), (2, 3), ("1/10", 5)])
def test_probabilities_of_releases_change_by_at_most_e_to_the_epsilon(epsilon: object, sensitivity: int) -> None:
    """Enclosed probabilities of the sampler's own table, for all neighbors 0 and 1 … sensitivity: largest
    ratio is e**epsilon.
    """
    power = Fraction(epsilon)
    low, high = LatticeSampler(power / sensitivity, Fraction(0))._edges(640)
    bounds = {}
    for cell in range(2 * (20 + sensitivity)):
        before = (0, 0) if cell == 0 else (low[cell - 1], high[cell - 1])
        bounds[(cell >> 1) ^ -(cell & 1)] = (low[cell] - before[1], high[cell] - before[0])
    digits = Context(prec=60)
    limit = Fraction(digits.exp(digits.divide(Decimal(power.numerator), Decimal(power.denominator)))) * (
        1 + Fraction(1, 10**50)
    )
    worst = Fraction(0)
    for shift in range(1, sensitivity + 1):
        for k in range(-20, 20):
            worst = max(
                worst, Fraction(bounds[k][1], bounds[k + shift][0]), Fraction(bounds[k + shift][1], bounds[k][0])
            )
    assert worst <= limit
    assert worst >= limit * (1 - Fraction(1, 10**45))


@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if isinstance(m, Laplace)], ids=repr)
@pytest.mark.parametrize("size", [1, 2, 1000])
def test_the_noise_scale_of_reals_covers_the_rounded_sensitivity(mechanism: Laplace, size: int) -> None:
    """Scale in steps times epsilon is the sensitivity in steps, rounding included; and the cost of rounding is tiny."""
    exponent, draw, _ = laplace_module._grid_noise(mechanism, size)
    scale = draw.args[0] if isinstance(draw, partial) else 1 / draw.__self__._linear
    assert exponent == grid_exponent(mechanism.sensitivity, mechanism._exact_scale)
    unit = Fraction(2) ** exponent
    reach = scale * mechanism.loss.amount
    assert reach == rounded_sensitivity(mechanism.sensitivity / unit, size, mechanism.norm)
    assert mechanism.sensitivity / unit <= reach <= mechanism.sensitivity / unit * (1 + Fraction(size, 2**29))


def noise_on_grid(mechanism: Gaussian, size: int, whole: bool) -> tuple[int, LatticeSampler]:
    """The exponent of the grid, and the noise in its steps."""
    if not whole:
        return gaussian_module._grid_noise(mechanism, size)[:2]
    sampler, bits = mechanism._integer_sampler(size)
    return -bits, sampler


@each(whole=[True, False], size=[1, 2, 1000], mechanism=[m for m in MECHANISMS if isinstance(m, Gaussian)])
def test_the_gaussian_ratio_of_noise_to_sensitivity_survives_the_grid(
    mechanism: Gaussian, size: int, whole: bool
) -> None:
    exponent, sampler = noise_on_grid(mechanism, size, whole)
    variance = 1 / (2 * sampler._square)
    unit = Fraction(2) ** exponent
    reach = mechanism.sensitivity / unit if whole else rounded_sensitivity(mechanism.sensitivity / unit, size, "l2")
    assert reach**2 / variance == mechanism.sensitivity**2 / mechanism.variance
    assert not whole or exponent <= 0
    assert variance >= 2**59


@pytest.mark.parametrize(
    ("epsilon", "delta", "size", "finer"),
    [
        (1, 1e-6, 1, False),
        (1e-6, 1e-6, 10**6, False),
        (1e-6, 0.9, 10**6, True),
        (1e-12, 0.9, 1, True),
        (1e-9, 0.5, 10**5, True),
    ],
)
def test_the_gaussian_grid_is_as_fine_as_its_slack_asks_for(
    epsilon: float, delta: float, size: int, finer: bool
) -> None:
    """With little noise and a tiny epsilon it must be finer than the grid that all mechanisms have, or the
    proof has no room.
    """
    mechanism = Gaussian.for_loss(epsilon, delta)
    sigma = Fraction(mechanism.scale)
    for whole in (True, False):
        exponent, _ = noise_on_grid(mechanism, size, whole)
        needed = floor_log2(sigma) - grid_bits(Fraction(mechanism.loss.amount), mechanism.loss.slack, size)
        usual = grid_exponent(sigma, mechanism.sensitivity)
        assert (needed < usual) is finer
        assert exponent == min(needed, usual, *([0] if whole else []))


@pytest.mark.parametrize("variance", ["2", "1/3", "2e-30", "123456789/7", "2e40"])
def test_the_root_of_an_irrational_variance_is_rounded_down_and_hardly(variance: str) -> None:
    sigma = Gaussian(Zcdp(10**40), Fraction(variance))._sigma
    assert sigma**2 < Fraction(variance) < (sigma * (1 + Fraction(1, 10**30))) ** 2


@pytest.mark.parametrize(
    "make", [lambda s: Laplace(Pure(1), s), lambda s: Gaussian(Zcdp(1), Fraction(100), s)], ids=["Laplace", "Gaussian"]
)
def test_the_sensitivity_of_a_mechanism_made_directly_is_read(make: Callable[..., Laplace | Gaussian]) -> None:
    for given, number in (("1/3", Fraction(1, 3)), (0.1, Fraction(1, 10)), (2, Fraction(2))):
        found = make(given).sensitivity
        assert found == number
        assert isinstance(found, Fraction)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.1, 1e-5), (4, 1e-4)])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_delta_of_whole_gaussian_releases_by_summation(epsilon: float, delta: float, sensitivity: int) -> None:
    """The hockey-stick sum over the integers, at every shift up to the sensitivity, stays below delta; near
    it at the last.
    """
    mechanism = Gaussian.for_loss(epsilon, delta, sensitivity=sensitivity)
    k = np.arange(-int(40 * mechanism.scale), int(40 * mechanism.scale) + 1)
    found = [
        np.maximum(mechanism.pmf(k) - math.exp(epsilon) * mechanism.pmf(k - shift), 0).sum()
        for shift in range(1, sensitivity + 1)
    ]
    assert max(found) <= delta
    assert found[-1] > 0.5 * delta


def test_the_gaussian_cost_in_concentrated_privacy_is_exact() -> None:
    assert Gaussian.for_rho("1/7", sensitivity=3).zcdp == Zcdp("1/7")
    assert Gaussian.for_rho("1/7", sensitivity=3).loss == Zcdp("1/7")
    mechanism = Gaussian.for_loss(1, 1e-6, sensitivity="1/3")
    assert mechanism.zcdp.amount == mechanism.sensitivity**2 / (2 * mechanism.variance)


def test_calibrations_differ_as_the_lectures_do() -> None:
    """sqrt(2 ln(1.25/delta)) / epsilon in one lecture, sqrt(2 ln(2/delta)) / epsilon in the other; the exact
    one is smaller.
    """
    scales = {c: Gaussian.for_loss(0.5, 1e-5, calibration=c).scale for c in ("analytic", "classic", "lecture")}
    assert scales["classic"] == pytest.approx(math.sqrt(2 * math.log(1.25e5)) / 0.5, rel=1e-12)
    assert scales["lecture"] == pytest.approx(math.sqrt(2 * math.log(2e5)) / 0.5, rel=1e-12)
    assert scales["analytic"] < scales["classic"] < scales["lecture"]
    with pytest.raises(ValueError, match="at most 1 for the classic"):
        Gaussian.for_loss(1.001, 1e-5, calibration="classic")
    Gaussian.for_loss(1, 1e-5, calibration="classic")
    with pytest.raises(ValueError, match="must be small for the lecture formula"):
        Gaussian.for_loss(20, 1e-5, calibration="lecture")
    with pytest.raises(ValueError, match="`calibration` must be one of"):
        Gaussian.for_loss(1, 1e-5, calibration="best")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (Laplace.for_epsilon(0.5, sensitivity="1/1000"), lambda scale: continuous_laplace(scale=scale)),
        (Laplace.for_epsilon(3, sensitivity=1000), lambda scale: continuous_laplace(scale=scale)),
        (Gaussian.for_loss(1, 1e-6, sensitivity="1/7"), lambda scale: norm(scale=scale)),
        (Gaussian.for_rho(2, sensitivity=50), lambda scale: norm(scale=scale)),
    ],
    ids=["fine Laplace", "coarse Laplace", "fine Gaussian", "coarse Gaussian"],
)
def test_real_releases_have_the_scale_that_is_claimed_and_no_other(
    mechanism: Laplace | Gaussian, law: Callable
) -> None:
    """400,000 draws in 40 cells: false alarms 1e-6, scales off by 2 % rejected with power above 0.999."""
    n, value = 400_000, 0.123
    noise = mechanism.release(np.full(n, value), np.random.default_rng(11)).value - value
    edges = law(mechanism.scale).ppf(np.linspace(0, 1, 41))
    observed, limit = np.histogram(noise, bins=edges)[0], chi2.isf(1e-6, 39)
    assert ((observed - n / 40) ** 2 / (n / 40)).sum() < limit
    for factor in (0.98, 1.02):
        share = np.diff(law(mechanism.scale * factor).cdf(edges))
        assert ncx2.sf(limit, 39, n * ((share - 1 / 40) ** 2 / share).sum()) > 0.999
        assert ((observed - n * share) ** 2 / (n * share)).sum() > limit


@pytest.mark.parametrize(
    "mechanism", [Laplace.for_epsilon(0.5), Gaussian.for_loss(1, 1e-4), Gaussian.for_rho(1)], ids=repr
)
def test_whole_releases_follow_the_pmf(mechanism: Laplace | Gaussian) -> None:
    """200,000 draws, chi-squared over the integers, false alarms 1e-6."""
    n = 200_000
    noise = mechanism.release(np.full(n, 10), np.random.default_rng(12)).value - 10
    k = np.arange(-int(4 * mechanism.scale), int(4 * mechanism.scale) + 1)
    observed = np.array([np.count_nonzero(noise == i) for i in k])
    share = mechanism.pmf(k)
    rest = 1 - share.sum()
    statistic = ((observed - n * share) ** 2 / (n * share)).sum() + (n - observed.sum() - n * rest) ** 2 / (n * rest)
    assert chi2.sf(statistic, len(k)) > 1e-6


@pytest.mark.slow
@each(level=[0.5, 0.95], value=[3, 2.5], mechanism=[m for m in MECHANISMS if getattr(m, "norm", "") != "l2"])
def test_intervals_cover_as_often_as_they_say(mechanism: Laplace | Gaussian, value: float, level: float) -> None:
    """20,000 releases: coverage within 5 standard errors of the level, false alarms 6e-7; above it by one
    integer's share.
    """
    interval = mechanism.release(np.full(20_000, value), np.random.default_rng(13)).interval(level)
    inside = (interval.low <= value) & (value <= interval.high)
    error = 5 * math.sqrt(level * (1 - level) / 20_000)
    step = 2 * float(mechanism.pmf(0)) if mechanism.sensitivity >= 1 and isinstance(value, int) else 0
    assert interval.method == "noise"
    assert level - error <= inside.mean() <= level + error + step


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3, 50])
def test_intervals_of_one_coordinate_of_vector_laplace_noise_cover(dimension: int) -> None:
    """600 vectors, all coordinates counted; the mean share within 6 standard errors, false alarms 2e-9."""
    rng, level = np.random.default_rng(16), 0.9
    mechanism = Laplace.for_epsilon(1, sensitivity=3, norm="l2")
    found = [mechanism.release(np.zeros(dimension), rng) for _ in range(600)]
    reach = found[0].interval(level).high[0] - found[0].value[0]
    shares = [np.mean(np.abs(estimate.value) <= reach) for estimate in found]
    assert abs(np.mean(shares) - level) < 6 * np.std(shares) / math.sqrt(600)
    assert found[0].se[0] == pytest.approx(3 * math.sqrt(dimension + 1), rel=1e-6)


@pytest.mark.parametrize("dimension", [1, 2, 50])
def test_error_bounds_the_length_of_vector_laplace_noise(dimension: int) -> None:
    """The length is Gamma(dimension, scale); of one entry the noise is on both sides."""
    mechanism = Laplace.for_epsilon(2, sensitivity="1/2", norm="l2")
    for level in (0.5, 0.95):
        error = mechanism.error(level, dimension=dimension)
        assert gamma(dimension, scale=0.25).sf(error) < 1 - level
        assert gamma(dimension, scale=0.25).sf(error) == pytest.approx(1 - level, rel=1e-6)


@each(level=[0.5, 0.95], error=["1/100", 6], sensitivity=["1/2", 300])
def test_the_epsilon_for_an_error_is_enough_and_hardly_less_is_not(
    sensitivity: object, error: object, level: float
) -> None:
    reach: dict[str, Any] = {"sensitivity": sensitivity}
    found = Laplace.epsilon_for(error=error, level=level, **reach)
    enough, less = (Laplace.for_epsilon(epsilon, **reach).error(level) for epsilon in (found, found * (1 - 1e-9)))
    assert enough <= Fraction(error) < less


EACH = [*product([0.5, 0.95], ["1/100", "7/4", 6, 10**4], ["1/2", 1, 300])]


@pytest.mark.parametrize("case", slowly(EACH, {*EACH} - {(0.95, "7/4", 1), (0.95, 6, 1)}))
def test_so_it_is_for_gaussian_noise(case: tuple[float, object, object]) -> None:
    level, error, sensitivity = case
    reach: dict[str, Any] = {"sensitivity": sensitivity}
    found = Gaussian.epsilon_for(error=error, level=level, delta="1e-6", **reach)
    enough, less = (Gaussian.for_loss(epsilon, "1e-6", **reach).error(level) for epsilon in (found, found * (1 - 1e-6)))
    assert enough <= Fraction(error) < less


@pytest.mark.parametrize("delta", ["1/10", "1/100"])
def test_epsilon_for_an_error_is_1e_9_where_delta_alone_is_enough(delta: str) -> None:
    """A target error that delta alone allows needs only the smallest epsilon.

    Without an epsilon delta is 2 Phi(1 / (2 sigma)) - 1: that sigma's error, rounded up to halves, and one below.
    """
    alone = norm.isf(0.025) / (2 * norm.isf((1 - float(Fraction(delta))) / 2))
    enough, less = (Gaussian.epsilon_for(error=alone * share, delta=delta, sensitivity="1/2") for share in (0.51, 0.49))
    assert enough == 1e-9 < less
    assert Gaussian.for_loss(enough, delta, sensitivity="1/2").error() <= alone * 0.51


@each(level=[0.5, 0.9, 0.95, 0.999], mechanism=MECHANISMS)
def test_error_bounds_the_noise_of_whole_numbers_and_of_reals(mechanism: Laplace | Gaussian, level: float) -> None:
    """Pr[|noise| > error] <= 1 - level from the exact laws, and an error one step smaller would be too small
    for one of them.
    """
    error = mechanism.error(level)
    law = continuous_laplace(scale=mechanism.scale) if isinstance(mechanism, Laplace) else norm(scale=mechanism.scale)
    k = np.arange(0, math.floor(error) + 1)
    outside = 1 - mechanism.pmf(0) - 2 * mechanism.pmf(k[1:]).sum() if mechanism.sensitivity >= 1 else 0.0
    assert max(outside, 2 * law.sf(error)) <= 1 - level + 1e-12
    shorter = error - 1 if mechanism.sensitivity >= 1 else error * (1 - 1e-6)
    assert 2 * law.sf(shorter) > 1 - level


def test_estimates_say_what_they_are() -> None:
    estimate = Laplace.for_epsilon(0.5).release(100)
    assert isinstance(estimate, Estimate)
    assert (estimate.covers, estimate.loss, estimate.n, estimate.notes) == ("noise", Pure("1/2"), None, ())
    assert (estimate.labels, estimate.method) == (("value",), "Laplace")
    assert estimate.se == pytest.approx(
        math.sqrt(float(2 * sum(k**2 * p for k, p in enumerate(Laplace.for_epsilon(0.5).pmf(np.arange(400))))))
    )
    seeded = Laplace.for_epsilon(0.5).release(100, rng=np.random.default_rng(1))
    assert "simulated: drawn with a generator" in seeded.notes[0]
    assert "simulated, no privacy claim" in seeded._repr_html_()
    assert seeded.loss is None
    vector = Gaussian.for_rho(1).release(np.zeros(3))
    assert (vector.labels, vector.method) == ((0, 1, 2), "Gaussian")
    assert np.array_equal(vector.cov, np.diag(vector.se**2))
    with pytest.raises(ValueError, match="read-only"):
        vector.cov[0, 0] = 1


def test_standard_errors_of_rounded_gaussians_are_right_at_every_scale() -> None:
    for rho in (0.01, 0.5, 2, 20, 200):
        mechanism = Gaussian.for_rho(rho)
        k = np.arange(-200, 201)
        assert mechanism.release(0).se == pytest.approx(math.sqrt((k**2 * mechanism.pmf(k)).sum()), rel=1e-9)


def test_density_and_pmf_are_laws() -> None:
    x, k = np.linspace(-60, 60, 240_001), np.arange(-400, 401)
    for mechanism in (Laplace.for_epsilon(1), Gaussian.for_rho("1/8")):
        assert mechanism.density(x).sum() * (x[1] - x[0]) == pytest.approx(1, abs=1e-6)
        assert mechanism.pmf(k).sum() == pytest.approx(1, abs=1e-12)
    assert Laplace.for_epsilon(1).pmf(0) == pytest.approx((1 - math.exp(-1)) / (1 + math.exp(-1)))
