import math
from decimal import Context
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import chi2, norm

from toolkit.central.robust.admissible import PowerLaw, SmoothGaussian, SmoothLaplace, log_rounded_up
from toolkit.core.loss import Pure


def worst_log_ratio(t: float, a: float, c: float) -> float:
    """Of f + c S Z on a fine grid of outputs, for shifts up to the smaller S and scales e**-t to e**t apart."""
    z = np.concatenate([np.linspace(-60, 60, 12_001), np.geomspace(60, 1e9, 200)])
    worst = 0.0
    for r, share in product(np.exp(np.linspace(-t, t, 21)), (-1, -0.5, 0, 0.5, 1)):
        shift = share * min(1, r)
        one = -math.log(c) - a * np.log1p(np.abs(z) / c)
        other = -math.log(c * r) - a * np.log1p(np.abs(z - shift) / (c * r))
        worst = max(worst, float(np.abs(one - other).max()))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
def test_the_power_law_uses_its_epsilon_up_exactly_and_never_more(epsilon: float) -> None:
    for m in (3, 6, 20):
        law = PowerLaw(Pure(epsilon), m)
        worst = worst_log_ratio(epsilon / m, m + 1, float(law.relative_scale))
        assert worst <= epsilon * (1 + 1e-12)
        assert worst == pytest.approx(epsilon, abs=1e-3)


def test_what_a_summary_elsewhere_says_costs_more() -> None:
    """a = epsilon / t and c = 1 / t look as good; at epsilon = 0.5 they cost 0.527."""
    epsilon = 0.5
    t = epsilon / 6
    assert worst_log_ratio(t, epsilon / t, 1 / t) == pytest.approx(0.527, abs=1e-3)


def test_the_power_law_has_its_moments_and_quantiles() -> None:
    for epsilon, m in ((1, 6), (0.5, 3), (2, 9)):
        law = PowerLaw(Pure(epsilon), m)
        mass = 2 * quad(lambda z, law=law: float(law.density(z)), 0, np.inf)[0]
        square = 2 * quad(lambda z, law=law: z * z * float(law.density(z)), 0, np.inf, limit=200)[0]
        assert mass == pytest.approx(1, abs=1e-8)
        assert math.sqrt(square) == pytest.approx(law.sd, rel=1e-4)
        inside = 2 * quad(lambda z, law=law: float(law.density(z)), 0, law.two_sided_quantile(0.95))[0]
        assert inside == pytest.approx(0.95, abs=1e-8)


@pytest.mark.parametrize(("share", "sd"), [("1/20", 1.690), ("1/10", 2.037), ("1/6", 2.656), ("1/4", 3.849)])
def test_standard_deviations_in_units_of_the_smooth_sensitivity(share: str, sd: float) -> None:
    """At epsilon = 1, for t a share of it; computed elsewhere by integration. A third is the largest share."""
    assert PowerLaw.for_epsilon(1, t="1/3").m == 3
    assert PowerLaw.for_epsilon(1, t=share).sd == pytest.approx(sd, abs=6e-4)
    assert PowerLaw.for_epsilon(2, t=2 * Fraction(share)).sd == pytest.approx(sd / 2, abs=6e-4)


def laplace_delta(epsilon: float, scale: float, other: float, shift: float) -> float:
    """Of two Laplace laws: the integral of (p - e**epsilon q)+, on a fine grid."""
    z = np.linspace(-80 * scale, 80 * scale, 800_001)
    p = np.exp(-np.abs(z) / scale) / (2 * scale)
    q = np.exp(-np.abs(z - shift) / other) / (2 * other)
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * (z[1] - z[0]))


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-2), (1, 1e-6), (2, 1e-4)])
def test_smooth_laplace_noise_keeps_its_delta_at_the_worst_allowed_pair(epsilon: float, delta: float) -> None:
    law = SmoothLaplace.for_loss(epsilon, delta)
    t, scale = float(law.smoothness), float(law.relative_scale)
    found = max(
        laplace_delta(epsilon, scale, scale * r, shift * min(1, r))
        for r, shift in product((math.exp(-t), 1.0, math.exp(t)), (0, 1))
    )
    assert found <= 0.07 * delta
    assert t == pytest.approx(epsilon / (2 * math.log(2 / delta)))


def test_smooth_laplace_at_one_in_a_million_is_as_computed_elsewhere() -> None:
    law = SmoothLaplace.for_loss(1, 1e-6)
    scale, r = float(law.relative_scale), math.exp(-float(law.smoothness))
    assert laplace_delta(1, scale, scale * r, r) == pytest.approx(4.1e-9, rel=0.05)


@pytest.mark.slow
def test_smooth_gaussian_noise_keeps_its_delta_at_the_worst_allowed_pair() -> None:
    """By integration: 3.2e-10 where 1e-4 is promised."""
    law = SmoothGaussian.for_loss(1, 1e-4)
    z = np.linspace(-40, 40, 400_001)
    t, c = float(law.smoothness), law.sd
    p = norm.pdf(z)
    found = max(
        float(np.maximum(p - math.e * norm.pdf(z, s * min(1, r) / c, r), 0).sum() * (z[1] - z[0]))
        for r, s in product((math.exp(-t), 1.0, math.exp(t)), (0, 1))
    )
    assert found == pytest.approx(3.2e-10, rel=0.1)


def test_what_is_not_proven_is_refused() -> None:
    for call, message in (
        (lambda: PowerLaw.for_epsilon(1, t="1/2"), "must be below epsilon / 2"),
        (lambda: PowerLaw.for_epsilon(1, t=2), "must be below epsilon / 2"),
        (lambda: PowerLaw.for_epsilon(1, t=0), "`t` must be above 0"),
        (lambda: PowerLaw.for_epsilon(1, t="2/7"), "must be whole"),
        (lambda: PowerLaw.for_epsilon(0), "`epsilon` must be above 0"),
        (lambda: SmoothLaplace.for_loss(1, 0), "`delta` must lie between"),
        (lambda: SmoothLaplace.for_loss(100, 1e-6), "`epsilon` must be moderate"),
        (lambda: SmoothGaussian.for_loss(300, 1e-6), "`epsilon` must be moderate"),
        (lambda: SmoothGaussian.for_loss(1, 1), "`delta` must lie between"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_tails_are_enclosed_between_floats_of_the_law() -> None:
    smooth = Fraction(7, 3)
    for law in (PowerLaw.for_epsilon(1), SmoothLaplace.for_loss(1, 1e-6), SmoothGaussian.for_loss(1, 1e-6)):
        for level in (0.5, 0.95, 0.999):
            assert law.two_sided_quantile(level) > 0
            low, high = law.tail(Fraction(law.two_sided_quantile(level)) * smooth, smooth)(64)
            assert low / 2**64 == pytest.approx(1 - level, rel=1e-9)
            assert 0 <= high - low <= 8
        assert quad(lambda level, law=law: law.two_sided_quantile(level) ** 2, 0, 1)[0] == pytest.approx(
            law.sd**2, rel=1e-4
        )


@pytest.mark.parametrize("number", [Fraction(2), Fraction(1001, 1000), Fraction(10**80, 3), Fraction(2, 10**7)])
def test_logarithms_are_rounded_up_at_the_thirtieth_digit(number: Fraction) -> None:
    exact = Fraction(Context(prec=80).ln(Context(prec=80).divide(number.numerator, number.denominator)))
    assert 0 < log_rounded_up(number) - exact <= Fraction(2, 10**30)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-2), (2, 1e-4)])
def test_noise_and_smoothness_are_those_of_the_paper(epsilon: float, delta: float) -> None:
    log, laplace, gaussian = (
        math.log(2 / delta),
        *(one.for_loss(epsilon, delta) for one in (SmoothLaplace, SmoothGaussian)),
    )
    assert (laplace.relative_scale, float(laplace.smoothness)) == (
        2 / Fraction(epsilon),
        pytest.approx(epsilon / (2 * log)),
    )
    assert gaussian.sd == pytest.approx(5 * math.sqrt(2 * log) / epsilon, rel=1e-14)
    assert float(gaussian.smoothness) == pytest.approx(epsilon / (4 * (1 + log)), rel=1e-14)


@pytest.mark.parametrize("delta", [0.1, 1e-2, 1e-6])
def test_the_largest_epsilon_is_where_the_proof_ends(delta: float) -> None:
    """What the shift and the worst scale cost together, as in the proof, with the quantiles of scipy."""

    def laplace(epsilon: float) -> float:
        t = epsilon / (2 * math.log(2 / delta))
        return epsilon / 2 + t - math.expm1(t) * math.log(1 / delta)

    def gaussian(epsilon: float) -> float:
        t, c = epsilon / (4 * (1 + math.log(2 / delta))), 5 * math.sqrt(2 * math.log(2 / delta)) / epsilon
        g, square, shift = norm.isf(delta / 2), chi2.isf(delta / 2, 1), 1 / (2 * c**2)
        return epsilon - max(square * math.expm1(2 * t) / 2 - t + math.exp(t) * g / c, t + g / c) - shift

    for left, make in ((laplace, SmoothLaplace.for_loss), (gaussian, SmoothGaussian.for_loss)):
        edge = brentq(left, 1e-3, 1e3)
        assert make(edge * (1 - 1e-6), delta).loss.epsilon == pytest.approx(edge, rel=1e-5)
        with pytest.raises(ValueError, match="`epsilon` must be moderate"):
            make(edge * (1 + 1e-6), delta)
