from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.slowly import each
from toolkit.central.noise.grid import PrivateValue, read_private_value
from toolkit.central.selection import _LN2, _SURE, UNIT_BITS, Odds, lower_powers, upper_powers

PRECISE = Context(prec=120)


def power(exponent: Fraction) -> Fraction:
    """e**exponent to 120 digits."""
    return Fraction(PRECISE.exp(PRECISE.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))))


def odds(scores: object, rate: object, base: object = None) -> Odds:
    return Odds(read_private_value(scores, "scores"), Fraction(rate), None if base is None else np.asarray(base))


def test_the_constant_is_the_logarithm_of_2() -> None:
    assert abs(Fraction(_LN2) - Fraction(PRECISE.ln(Decimal(2)))) < Fraction(1, 10**98)


def check_powers(logs: list[int]) -> None:
    found = np.array(logs)
    for log, low, high in zip(logs, lower_powers(found).tolist(), upper_powers(found).tolist(), strict=True):
        exact = power(Fraction(_LN2) * (UNIT_BITS - Fraction(log, 2**20)))
        assert low <= exact <= high
        assert high - low <= exact / 2**18 + 4


@pytest.mark.slow
@given(st.lists(st.integers(0, 70 << 20), min_size=1, max_size=20))
def test_powers_of_two_are_enclosed(logs: list[int]) -> None:
    check_powers(logs)


def test_so_are_those_at_the_ends_of_the_tables() -> None:
    check_powers(
        [0, 1, 1023, 1024, 2**20 - 1, 2**20, 3 << 19, 20 << 20, 39 << 20, 40 << 20, 41 << 20, 42 << 20, 70 << 20]
    )


SCORES = [
    [0, 0, 0], [5, 3, -2, 4], [0.1, 0.2, 0.30000000000000004, -7.5], [0.0, -745.0, -746.0, -5000.0, -1e6],
    [2**63 - 1, -(2**63), 0, 2**63 - 2], [1e308, -1e308, 1e308, 9.999999e307], [1e-320, 0.0, -5e-324],
    [2**53 + 1, 2**53, 2**53 + 3], [7],
]  # fmt: skip
RATES = ["1/2", "1/1000", 30, Fraction(1, 3)]
BASES = [None, "even", "steep", "zeros"]


def base_for(kind: str | None, size: int) -> np.ndarray | None:
    if kind is None:
        return None
    if kind == "even":
        return np.full(size, 3)
    if kind == "steep":
        return 2.0 ** np.linspace(-900, 900, size)
    return np.array([0, 1, 2**62, 7, 1])[:size] if size > 1 else np.array([1])


def check_weights(scores: list[float], rate: object, kind: str | None) -> None:
    base = base_for(kind, len(scores))
    found = odds(scores, rate, base)
    constants = []
    for i in range(len(scores)):
        low, high = found.acceptance(i, 160)
        assert high <= 2**160 + 2
        if found.is_surely_accepted(i, _SURE - 1):
            assert low >= _SURE << 96
        if base is not None and base[i] == 0:
            assert (low, high) == (0, 0)
            continue
        exponent = found.exact_exponent(i)
        if exponent > 4000:
            assert (low, high)[0] == 0
            continue
        weight = power(-exponent) * Fraction(1 if base is None else base[i].item())
        scale = int(found.envelope(slice(i, i + 1))[0]) / weight / 2**160
        constants.append((low * scale, high * scale, high - low))
    lowest, highest = max(c[0] for c in constants), min(c[1] for c in constants)
    assert lowest <= highest
    assert all(width <= 3 for *_, width in constants)


@pytest.mark.slow
@each(kind=BASES, rate=RATES, scores=SCORES)
def test_envelope_times_kept_share_is_the_weight_of_every_candidate(
    scores: list[float], rate: object, kind: str | None
) -> None:
    """Proof by enumeration: envelope * share / (base * e**(rate * score)) is one constant, to 150 binary digits."""
    check_weights(scores, rate, kind)


@each(kind=BASES, scores=[SCORES[1], SCORES[3], SCORES[4]])
def test_so_it_is_of_some_of_them(scores: list[float], kind: str | None) -> None:
    check_weights(scores, Fraction(1, 3), kind)


@each(kind=BASES, scores=SCORES)
def test_nearly_everything_drawn_is_kept(scores: list[float], kind: str | None) -> None:
    """Expected share kept, from the enclosures: at least 85 % whatever the scores, so the time does not tell them."""
    found = odds(scores, "1/2", base_for(kind, len(scores)))
    assert found.is_surely_accepted(int(np.argmax(found.envelope(slice(None)))), 0)
    kept = sum(
        int(found.envelope(slice(i, i + 1))[0]) * Fraction(found.acceptance(i, 64)[0], 2**64)
        for i in range(len(scores))
    )
    assert kept / int(found.envelope_sums[-1]) > 0.85


@pytest.mark.slow
@given(
    scores=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12),
    weights=st.lists(st.integers(0, 2**40), min_size=12, max_size=12),
    rate=st.fractions(Fraction(1, 100), 10),
)
def test_the_envelope_is_never_below_the_weight(scores: list[float], weights: list[int], rate: Fraction) -> None:
    base = np.array(weights[: len(scores)])
    base[int(np.argmin(scores))] += 1
    found = odds(scores, rate, base)
    for i in range(len(scores)):
        low, _ = found.acceptance(i, 64)
        assert low <= 2**64


@each(scores=SCORES, rate=RATES)
def test_logarithms_are_rounded_down_and_hardly(scores: list[float], rate: Fraction) -> None:
    found = odds(scores, rate)
    for i, log in enumerate(found.negative_log2(slice(None)).tolist()):
        exact = found.exact_exponent(i) * 2**20 / Fraction(_LN2)
        assert log <= exact
        assert log > exact - 2 or exact > 2**46


def test_the_envelopes_of_all_candidates_add_up_to_less_than_2_to_the_64() -> None:
    """The sum fits one machine word for any number of candidates.

    Each is at most 1.0615 units and 1; of up to four millions the unit is 2**40.
    """
    for bits in (0, 21, 22, 30, 45):
        size = 2**bits
        found = Odds(PrivateValue(np.broadcast_to(np.int64(7), size), is_whole=True, is_scalar=False), Fraction(1))
        assert size * (1.0615 * 2**found.unit_bits + 1) < 2**64
        assert found.unit_bits == 40 or size * 2**found.unit_bits >= 2**61


def test_a_candidate_far_behind_keeps_a_positive_probability() -> None:
    """Gaps of 80 and of 1000 scale units, in both orders: where another library gives exactly 0 to one of them."""
    for scores in ([0, -160], [-160, 0], [0, -2000], [-2000, 0]):
        found = odds(scores, "1/2")
        far = int(np.argmin(scores))
        bits = int(found.exact_exponent(far) * 3 / 2) + 64
        low, high = found.acceptance(far, bits)
        assert found.envelope(slice(far, far + 1)) == 2
        assert low > 0
        expected = power(-found.exact_exponent(far)) * 2**UNIT_BITS / 2
        assert abs(Fraction(low + high, 2) / 2**bits / expected - 1) < Fraction(1, 10**15)


@pytest.mark.slow
def test_a_million_candidates_do_not_overflow_the_sum() -> None:
    found = odds(np.zeros(3_000_000), 1)
    exact = int(found.envelope(slice(None)).astype(object).sum())
    assert exact == int(found.envelope_sums[-1]) < 2**64
    assert found.unit_bits <= UNIT_BITS


@pytest.mark.slow
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_a_place_is_located_in_the_candidate_that_covers_it(scores: list[int], random: object) -> None:
    found = odds(scores, "1/2")
    widths = found.envelope(slice(None)).tolist()
    edges = [0, *np.cumsum(np.array(widths, dtype=object)).tolist()]
    for i in range(len(scores)):
        for place in (edges[i], edges[i + 1] - 1, random.randrange(edges[i], edges[i + 1])):  # type: ignore[attr-defined]
            assert found.locate(place) == i


def test_places_in_later_parts_are_located_too() -> None:
    scores = np.random.default_rng(3).integers(0, 20, 40_000)
    found = odds(scores, "1/3")
    edges = np.cumsum(found.envelope(slice(None)).astype(object))
    for i in (0, 1, 16_383, 16_384, 16_385, 32_768, 39_999):
        assert found.locate(edges[i] - 1) == i
        assert i == 39_999 or found.locate(edges[i]) == i + 1
