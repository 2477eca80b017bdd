import math
from decimal import Context, Decimal
from fractions import Fraction
from itertools import islice, pairwise

import numpy as np
import pytest
from scipy.stats import chi2, gamma, ncx2

from toolkit.core import randomness
from toolkit.core import sampling as radial
from toolkit.core.sampling import _gap, _radii, radial_laplace
from toolkit.core.sampling import _interval_edges as _edges

PRECISE = Context(prec=80)


def decimal(number: Fraction) -> Decimal:
    return PRECISE.divide(Decimal(number.numerator), Decimal(number.denominator))


@pytest.mark.parametrize("dimension", [1, 2, 7, 100, 5000])
def test_radii_grow_and_never_by_more_than_a_factor_of_three(dimension: int) -> None:
    radii = list(islice(_radii(dimension), 200))
    assert radii[0] == 0
    assert all(a < b <= 3 * a for a, b in pairwise(radii[1:]))


@pytest.mark.parametrize("dimension", [1, 2, 10, 1000])
@pytest.mark.parametrize("bits", [64, 128])
def test_the_interval_weights_are_those_of_the_gaussians(dimension: int, bits: int) -> None:
    """Weight e**(-a b / (a + b)) (a + b)**(d/2), computed here in another way: by a power and a root, without
    logarithms.
    """
    low, high = _edges(dimension, bits)
    weights: list[Fraction] = []
    for a, b in pairwise(_radii(dimension)):
        root = PRECISE.sqrt(PRECISE.power(Decimal(a + b), dimension))
        weights.append(Fraction(PRECISE.multiply(root, PRECISE.exp(decimal(Fraction(-a * b, a + b))))))
        if weights[-1] * 10**60 < max(weights):
            break
    total, running = sum(weights), Fraction(0)
    for lower, upper, weight in zip(low, high, weights, strict=False):
        running += weight
        assert lower <= running / total * 2**bits <= upper
        assert upper - lower <= 2


def test_a_discrete_gaussians_sum_is_exact_at_the_least_scale() -> None:
    """The sum is sqrt(2 pi variance) to all digits. theta / sqrt(2 pi variance) = 1: the constants that cancel
    between intervals cancel exactly enough.
    """
    for variance in (2**19, 2**20 * 1.5):
        k = np.arange(-20 * int(variance**0.5), 20 * int(variance**0.5) + 1, dtype=float)
        assert math.fsum(np.exp(-(k**2) / (2 * variance))) / math.sqrt(2 * math.pi * variance) == pytest.approx(
            1, abs=1e-14
        )


@pytest.mark.parametrize(("inner", "outer"), [(0, 1), (3, 5), (100, 121)])
def test_chord_times_kept_share_is_the_law(inner: int, outer: int) -> None:
    """e**-(y + a b)/(a + b) * e**-gap = e**-sqrt(y) for every squared length y of the interval, and the gap
    is never negative.
    """
    for part in range(1, 50):
        squared = inner**2 + Fraction(part, 50) * (outer**2 - inner**2)
        low, high = _gap(squared, inner, outer)(128)
        chord = PRECISE.exp(decimal(-(squared + inner * outer) / (inner + outer)))
        target = PRECISE.exp(PRECISE.sqrt(decimal(squared)).copy_negate())
        share = Fraction(target) / Fraction(chord) * 2**128
        assert low <= share <= high
        assert high - low <= 8
        assert share <= 2**128


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2, 40])
def test_length_is_gamma_and_scales_off_by_some_percent_are_rejected(dimension: int) -> None:
    """1200 vectors, 20 equally likely cells of the length; false alarms 1e-6, power against the two wrong
    scales above 0.999.
    """
    rng = np.random.default_rng(77)
    n, wrong = 1200, 1 + 0.5 / math.sqrt(dimension)
    lengths = [math.sqrt(sum(k * k for k in radial_laplace(2**20, dimension, rng).tolist())) / 2**20 for _ in range(n)]
    law, limit = gamma(dimension), chi2.isf(1e-6, 19)
    edges = law.ppf(np.linspace(0, 1, 21))
    observed = np.histogram(lengths, bins=edges)[0]
    assert ((observed - n / 20) ** 2 / (n / 20)).sum() < limit
    for factor in (wrong, 1 / wrong):
        share = np.diff(law.cdf(edges / factor))
        assert ncx2.sf(limit, 19, n * ((share - 1 / 20) ** 2 / share).sum()) > 0.999
        assert ((observed - n * share) ** 2 / (n * share)).sum() > limit


@pytest.mark.slow
def test_the_direction_in_the_plane_is_uniform() -> None:
    """2400 vectors, 24 sectors of the circle, edges off the axes; chi-squared with false alarms 1e-6."""
    rng = np.random.default_rng(78)
    vectors = np.array([radial_laplace(2**20, 2, rng) for _ in range(2400)], dtype=float)
    sector = np.floor((np.arctan2(vectors[:, 1], vectors[:, 0]) + 0.1) / (2 * np.pi) * 24).astype(int) % 24
    observed = np.bincount(sector, minlength=24)
    assert chi2.sf(((observed - 100) ** 2 / (100)).sum(), 23) > 1e-6


class Always:
    """The interval (1, 2) in one dimension."""

    def draw_one(self, _rng: object) -> int:
        return 1


@pytest.mark.parametrize(("off", "kept"), [(-(2**20), True), (2**20, False)])
def test_a_vector_is_kept_with_the_probability_of_its_length(
    off: int, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Length 3/2 between radii 1 and 2: e**-(1/2 * 1/2 / 3), against a word just below it and one just above."""
    cut = int(PRECISE.multiply(PRECISE.exp(decimal(Fraction(-1, 12))), 2**64))
    lengths, stream = [1536, 1024], [cut + off, 0]
    monkeypatch.setattr(radial, "_intervals", lambda _dimension: Always())
    monkeypatch.setattr(radial, "discrete_gaussian", lambda *_: np.array([lengths.pop(0)]))
    monkeypatch.setattr(randomness, "words", lambda *_: [stream.pop(0)])
    assert radial_laplace(1024, 1).tolist() == [1536 if kept else 1024]


def test_a_vector_outside_its_interval_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interval (1, 2) in one dimension: too short, at the open end and too long are rejected; at the closed
    end all are kept.
    """
    assert list(islice(_radii(1), 1, 3)) == [1, 2]
    for _ in range(20):
        lengths = iter([0, 1023, 2 * 1024, 10**6, 1024])
        monkeypatch.setattr(radial, "_intervals", lambda _dimension: Always())
        monkeypatch.setattr(radial, "discrete_gaussian", lambda _v, _d, _r, lengths=lengths: np.array([next(lengths)]))
        assert radial_laplace(1024, 1).tolist() == [1024]


def test_small_scales_are_refused_and_large_ones_are_python_integers() -> None:
    with pytest.raises(ValueError, match="`scale` must be at least 1024"):
        radial_laplace(1000, 3)
    assert radial_laplace(2**60, 3).dtype == object
    assert radial_laplace(2**31, 3).dtype == np.int64
