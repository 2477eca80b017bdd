"""Thresholds for unknown keys: the numbers of the reference, and the exact delta by sums over all outputs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from tests.recorder import Draw, recorded
from tests.slowly import slowly
from toolkit.central.publishing.keys import KeyThreshold
from toolkit.core.estimate import SIMULATED
from toolkit.core.loss import Approx, Zcdp

AR, RP = "add_remove", "replace"


@pytest.mark.parametrize(
    ("epsilon", "delta", "keys", "expected"),
    [
        (0.1, 1e-6, 1, 133), (0.1, 1e-6, 3, 429), (0.1, 1e-6, 10, 1544), (0.1, 1e-6, 50, 8519),
        (0.5, 1e-6, 1, 28), (0.5, 1e-6, 3, 87), (0.5, 1e-6, 10, 310), (0.5, 1e-6, 50, 1705),
        (1, 1e-6, 1, 15), (1, 1e-6, 3, 45), (1, 1e-6, 10, 156), (1, 1e-6, 50, 854),
        (1, 1e-9, 1, 22), (1, 1e-9, 3, 65), (1, 1e-9, 10, 225), (1, 1e-9, 50, 1199),
        (2, 1e-6, 1, 8), (2, 1e-6, 3, 23), (2, 1e-6, 10, 79), (2, 1e-6, 50, 428),
        (1, 1e-3, 1, 8), (0.1, 1e-4, 1, 87), (2, 1e-9, 1, 12), (1, 1e-3, 2, 16),
    ],
)  # fmt: skip
def test_laplace_thresholds_are_those_of_the_formula(epsilon: float, delta: float, keys: int, expected: int) -> None:
    """1 + k for the least k with q**k / (1+q) <= 1 - (1-delta)**(1/keys), computed apart with 50 digits."""
    found = KeyThreshold.for_loss(epsilon, delta, neighbors=AR, keys_per_person=keys)
    assert found.threshold == expected
    assert found.loss == Approx(epsilon, delta)


def test_replacing_doubles_the_scale_and_rows_raise_the_threshold() -> None:
    assert KeyThreshold.for_loss(1, 1e-6, neighbors=RP).threshold == 28
    assert KeyThreshold.for_loss(1, 1e-5, neighbors=AR, rows_per_person=3).threshold == 36


SLOW = [
    (0.1, 1e-6, 1, 203), (0.1, 1e-6, 3, 364), (0.1, 1e-6, 10, 693), (0.1, 1e-6, 50, 1629),
    (0.5, 1e-6, 1, 46), (0.5, 1e-6, 3, 81), (0.5, 1e-6, 10, 153), (0.5, 1e-6, 50, 358),
    (1, 1e-6, 1, 25), (1, 1e-6, 3, 43), (1, 1e-6, 50, 187),
    (1, 1e-9, 1, 38), (1, 1e-9, 10, 122), (2, 1e-6, 1, 14), (2, 1e-6, 50, 99), (1, 1e-3, 1, 12),
]  # fmt: skip


@pytest.mark.parametrize("case", slowly([(1, 1e-6, 10, 81), *SLOW], SLOW))
def test_gaussian_thresholds_stay_within_the_claim(case: tuple[float, float, int, int]) -> None:
    """rho within (epsilon, delta/2), sigma**2 = keys / (2 rho), the tail of rounded noise for delta/2."""
    epsilon, delta, keys, expected = case
    rho = Zcdp.within(Approx(epsilon, Fraction(str(delta)) / 2)).rho
    found = KeyThreshold.for_rho(rho, delta, neighbors=AR, keys_per_person=keys)
    assert found.threshold == expected
    assert found.loss <= Approx(epsilon, delta)


def law(count: int, q: Fraction, threshold: int, most: int) -> dict[int, Fraction]:
    """Of one key: 0 if it is not released, else its noisy count; `most` stands for all from there on."""
    if count == 0:
        return {0: Fraction(1)}
    found = {v: (1 - q) / (1 + q) * q ** abs(v - count) for v in range(threshold, most)}
    found[most] = q ** (most - count) / (1 + q)
    return {**found, 0: 1 - sum(found.values())}


def exact_delta(one: list[int], other: list[int], q: Fraction, power: Fraction, threshold: int) -> Fraction:
    """The hockey-stick divergence at e**epsilon = power, in both directions, over the outputs of all keys."""
    most = threshold + 6
    laws = [[law(n, q, threshold, most) for n in counts] for counts in (one, other)]
    worst = Fraction(0)
    for first, second in (laws, laws[::-1]):
        total = Fraction(0)
        for output in itertools.product([0, *range(threshold, most + 1)], repeat=len(one)):
            p, r = (math.prod(part.get(v, Fraction(0)) for part, v in zip(side, output, strict=True))
                    for side in (first, second))  # fmt: skip
            total += max(p - power * r, Fraction(0))
        worst = max(worst, total)
    return worst


@pytest.mark.parametrize(
    ("epsilon", "delta", "expected", "one_less"),
    [(1, 1e-3, 6.67e-4, 1.81e-3), (1, 1e-6, 6.08e-7, 1.65e-6), (0.1, 1e-4, 9.67e-5, None)],
)
def test_one_key_has_the_exact_delta_and_a_threshold_one_lower_breaks_it(
    epsilon: float, delta: float, expected: float, one_less: float | None
) -> None:
    threshold = KeyThreshold.for_loss(epsilon, delta, neighbors=AR).threshold
    q = Fraction(math.exp(-epsilon))
    worst = [
        max(exact_delta([n + 1], [n], q, 1 / q, bar) for n in (0, 1, 2, bar, bar + 4))
        for bar in (threshold, threshold - 1)
    ]
    assert float(worst[0]) == pytest.approx(expected, rel=0.006)
    assert worst[0] <= delta < worst[1]
    if one_less is not None:
        assert float(worst[1]) == pytest.approx(one_less, rel=0.006)


def test_replacing_a_person_with_unique_keys_stays_within_delta() -> None:
    """The person has keys that nobody else has both before and after the replacement."""
    found = KeyThreshold.for_loss(1, 1e-6, neighbors=RP)
    q = Fraction(math.exp(-0.5))
    cases = itertools.product((0, 1, 29), repeat=2)  # counts of the key left and of the key entered
    worst = max(exact_delta([a + 1, b], [a, b + 1], q, q**-2, found.threshold) for a, b in cases)
    assert float(worst) == pytest.approx(8.5e-7, rel=0.01)
    assert worst <= Fraction(1, 10**6)
    broken = exact_delta([1, 0], [0, 1], q, q**-2, found.threshold - 1)
    assert broken > Fraction(1, 10**6)


def test_a_person_with_two_keys_stays_within_delta() -> None:
    found = KeyThreshold.for_loss(1, 1e-3, neighbors=AR, keys_per_person=2)
    q = Fraction(math.exp(-0.5))
    cases = [(0, 0), (0, 1), (0, 20), (1, 1), (20, 20)]
    worst = max(exact_delta([a + 1, b + 1], [a, b], q, q**-2, found.threshold) for a, b in cases)
    assert float(worst) == pytest.approx(6.9e-4, rel=0.01)
    assert worst <= Fraction(1, 1000)


def test_rows_in_one_key_stay_within_delta() -> None:
    found = KeyThreshold.for_loss(1, 1e-5, neighbors=AR, rows_per_person=3)
    q = Fraction(math.exp(-1 / 3))
    worst = max(exact_delta([n + c], [n], q, q**-3, found.threshold) for n in (0, 1, 5) for c in (1, 2, 3))
    assert float(worst) == pytest.approx(9.7e-6, rel=0.01)
    assert worst <= Fraction(1, 10**5)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (1, 1e-3)])
def test_one_key_with_gaussian_noise_has_less_than_its_delta(epsilon: float, delta: float) -> None:
    """By sums over the rounded normal law: 2.4e-7 and 3.4e-4, below the claims."""
    rho = Zcdp.within(Approx(epsilon, Fraction(str(delta)) / 2)).rho
    found = KeyThreshold.for_rho(rho, delta, neighbors=AR)
    sigma, bar = found.noise.scale, found.threshold
    outputs = np.arange(bar, bar + 400)

    def shown(count: int) -> np.ndarray:
        mass = norm.sf((outputs - count - 0.5) / sigma) - norm.sf((outputs - count + 0.5) / sigma)
        return np.append(mass if count else 0 * mass, norm.cdf((bar - count - 0.5) / sigma) if count else 1)

    worst = 0.0
    for n in range(0, 60, 3):
        for one, other in ((n, n + 1), (n + 1, n)):
            worst = max(worst, float(np.maximum(shown(one) - math.exp(epsilon) * shown(other), 0).sum()))
    assert worst == pytest.approx({1e-6: 2.4e-7, 1e-3: 3.4e-4}[delta], rel=0.03)


def test_a_large_delta_and_a_small_epsilon_still_bound_the_way_back() -> None:
    """p <= 1 - q binds: with delta alone the threshold would be lower, and removing would break epsilon."""
    found = KeyThreshold.for_loss(0.05, 0.4, neighbors=AR)
    q = Fraction(math.exp(-0.05))
    assert q ** (found.threshold - 1) / (1 + q) <= 1 - q
    assert exact_delta([1], [0], q, 1 / q, found.threshold) <= Fraction(4, 10)


def test_what_is_released_reached_the_threshold_and_comes_largest_first() -> None:
    mechanism = KeyThreshold.for_loss(2, 1e-6, neighbors=AR)
    found = mechanism.release({"a": 500, "b": 900, "rare": 1, "c": 700}, rng=np.random.default_rng(1))
    assert found.labels == ("b", "c", "a")
    assert np.all(np.diff(found.value) <= 0)
    assert found.value.dtype == np.int64
    assert SIMULATED in found.notes
    assert found.loss is None
    assert "reached 8" in found.notes[0]


def test_nothing_found_is_an_estimate_without_an_entry() -> None:
    found = KeyThreshold.for_loss(1, 1e-6, neighbors=RP).release({})
    assert (found.labels, len(found.value), found.loss) == ((), 0, Approx(1, 1e-6))
    assert "Estimate" in repr(found)
    assert len(found.to_frame()) == 0


@pytest.mark.parametrize("delta", [0, 1, -1, 2])
def test_a_delta_that_is_none_is_refused(delta: float) -> None:
    with pytest.raises(ValueError, match="`delta` must lie strictly between 0 and 1"):
        KeyThreshold.for_loss(1, delta, neighbors=AR)


@pytest.mark.parametrize(
    ("threshold", "law", "scale", "unit"),
    [
        (KeyThreshold.for_loss(1, 1e-6, neighbors=RP, keys_per_person=2), "laplace", Fraction(4), 1),
        (KeyThreshold.for_rho("1/8", 1e-6, neighbors=AR, keys_per_person=4), "gaussian", 16 * Fraction(4) ** 29, 2**29),
    ],
)
def test_what_is_compared_and_told_is_the_noisy_count(
    threshold: KeyThreshold, law: str, scale: Fraction, unit: int
) -> None:
    """One draw for all keys, and one more for none; the grid of Gaussian noise is 2**-30 of its reach."""
    least = threshold.threshold
    counts = {"hidden by noise": least + 50, "kept": least, "shown by noise": least - 2}
    with recorded([-51 * unit, 0, 3 * unit]) as drawn:
        found = threshold.release(counts)
    assert drawn == [Draw(law, scale, 4)]
    assert found.labels == ("shown by noise", "kept")
    assert found.value.tolist() == [least + 1, least]
    assert found.se.tolist() == [threshold.noise._integer_law.sd] * 2
    assert found.cov == pytest.approx(np.diag(found.se**2))


def test_keys_that_come_in_parts_are_all_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkit.central.publishing.keys._BATCH_SIZE", 2)
    mechanism = KeyThreshold.for_loss(1, 1e-6, neighbors=AR)
    for number in range(6):
        with recorded() as drawn:
            found = mechanism.release((str(key), 100 + key) for key in range(number))
        assert found.labels == tuple(str(key) for key in reversed(range(number)))
        assert sum(draw.size for draw in drawn) == number + number // 2 + 1  # one more in each part


@pytest.mark.parametrize(("neighbors", "squares"), [(AR, 18), (RP, 36)])
def test_gaussian_noise_is_for_the_length_of_what_a_person_changes(neighbors: str, squares: int) -> None:
    """Two keys, three rows in each; under "replace" of who goes and of who comes."""
    noise = KeyThreshold.for_rho("1/8", 1e-6, neighbors=neighbors, keys_per_person=2, rows_per_person=3).noise
    assert 0 <= noise.sensitivity**2 / squares - 1 < Fraction(1, 10**12)
