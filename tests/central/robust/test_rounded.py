import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare, norm

from toolkit.central.robust import admissible
from toolkit.central.robust.admissible import LazyUniform, draw_rounded_sum, normal_tail, pi
from toolkit.core.randomness import Enclosure, Rng
from toolkit.core.sampling import exp_of


def laplace_about(center: Fraction, scale: Fraction, rng: Rng) -> int:
    return draw_rounded_sum(center, lambda away: exp_of(away / scale), rng)


def normal(sigma: Fraction, rng: Rng) -> int:
    return draw_rounded_sum(Fraction(-7, 4), lambda away: normal_tail((away / sigma) ** 2), rng)


def laplace_cdf(x: np.ndarray, scale: float) -> np.ndarray:
    return np.where(x < 0, np.exp(x / scale) / 2, 1 - np.exp(-x / scale) / 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace", "normal"])
def test_draws_follow_the_continuous_law_rounded_halves_up(name: str) -> None:
    """Chi-square on 400 seeded draws, the tails pooled; a false alarm has probability 1e-4."""
    rng, scale, edges = np.random.default_rng(8), 3, np.arange(-4, 5) - 0.5
    if name == "laplace":
        drawn = [laplace_about(Fraction(1, 3), Fraction(scale), rng) for _ in range(400)]
        upto = laplace_cdf(edges - 1 / 3, scale)
    else:
        drawn = [normal(Fraction(scale), rng) for _ in range(400)]
        upto = norm.cdf(edges + 7 / 4, scale=scale)
    law = np.diff(np.concatenate([[0], upto, [1]]))
    seen = np.bincount(np.digitize(drawn, edges), minlength=len(law))
    assert chisquare(seen, 400 * law).pvalue > 1e-4


def test_scales_far_below_and_far_above_the_grid_work() -> None:
    """A scale far below the grid gives the nearest whole number and one far above is no trouble."""
    for center in (Fraction(5, 2), Fraction(-5, 2), Fraction(7), Fraction(1, 3)):
        nearest = math.floor(center + Fraction(1, 2))
        drawn = {
            draw_rounded_sum(center, lambda away: exp_of(away * 10**30), np.random.default_rng(i)) for i in range(20)
        }
        # A half goes up or down with the sign of the noise, however small that is.
        assert drawn == ({nearest} if (center + Fraction(1, 2)).denominator > 1 else {nearest, nearest - 1})
    assert abs(draw_rounded_sum(Fraction(0), lambda away: exp_of(away / 10**60))) > 10**40


def test_the_rounded_sum_is_the_center_plus_a_quantile_of_the_law(monkeypatch) -> None:
    """The sum of the center and a quantile of the law is rounded to the nearest integer, halves upwards.

    A fair coin says the sign, and a uniform number u the size: -3 ln u for Laplace noise of scale 3.
    """
    centers = (Fraction(0), Fraction(1, 3), Fraction(5, 2), Fraction(-7, 4))
    for center, coin, word in product(centers, (0, 1, 254, 255), (2**64 - 1, 3 << 62, 2**62, 2**50, 1)):
        stream = [coin, word, 2**63]
        monkeypatch.setattr(admissible, "words", lambda *_, stream=stream: np.array([stream.pop(0)], dtype=np.uint64))
        share = Fraction(2 * word + 1, 2**65)
        size = Fraction(-3 * (math.log(share) if share < Fraction(1, 2) else math.log1p(share - 1)))
        nearest = math.floor(center + (size if coin % 2 else -size) + Fraction(1, 2))
        assert laplace_about(center, Fraction(3), None) == nearest


@pytest.mark.parametrize("z", [0, 1e-9, 0.1, 1, 2.5, 5, 8, 12])
def test_the_normal_tail_is_enclosed_at_every_precision(z: float) -> None:
    tail = normal_tail(Fraction(z) ** 2)
    before: tuple[Fraction, Fraction] = (Fraction(0), Fraction(2))
    for bits in (16, 64, 200, 400):
        low, high = tail(bits)
        assert high - low <= 3
        ends = Fraction(low, 2**bits), Fraction(high, 2**bits)
        assert before[0] <= ends[1]
        assert ends[0] <= before[1]
        before = ends
    assert float(before[0]) == pytest.approx(2 * norm.sf(z), rel=1e-12)


def test_pi_is_pi() -> None:
    """Its 50 digits, from any table."""
    assert str(pi(50)) == "3.1415926535897932384626433832795028841971693993751"
    assert str(pi(300)).startswith(str(pi(100))[:-1])


def test_one_uniform_number_answers_all_questions_alike() -> None:
    def at(share: Fraction) -> Enclosure:
        return lambda bits: (
            (share.numerator << bits) // share.denominator,
            (share.numerator << bits) // share.denominator + 1,
        )

    for seed in range(50):
        uniform = LazyUniform(np.random.default_rng(seed))
        answers = [uniform.is_below(at(Fraction(k, 64))) for k in range(65)]
        assert answers == sorted(answers)
        assert [uniform.is_below(at(Fraction(k, 64))) for k in range(65)] == answers
        assert answers[-1]
        assert not answers[0]


THIRD = 2**64 // 3


@pytest.mark.parametrize(
    ("stream", "outcome"), [([THIRD - 1], True), ([THIRD, 0], True), ([THIRD, 2**64 - 1], False), ([THIRD + 1], False)]
)
def test_a_number_that_an_edge_cuts_gets_more_bits_and_no_other(monkeypatch, stream: list[int], outcome: bool) -> None:
    monkeypatch.setattr(admissible, "words", lambda *_: np.array([stream.pop(0)], dtype=np.uint64))
    uniform = LazyUniform()
    for _ in range(2):
        assert uniform.is_below(lambda bits: (2**bits // 3, 2**bits // 3 + 1)) is outcome
    assert not stream
