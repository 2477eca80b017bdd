import math

import numpy as np
import pytest
from scipy.stats import norm

from toolkit.central.laplace import Laplace
from toolkit.teaching.attacks import reconstruction as attack


def laplace(scale):
    def mechanism(counts, rng):
        return counts + rng.laplace(scale=scale, size=len(counts))

    return mechanism


def attacked(n, mechanism, seed=1, count=None, method="least_squares"):
    rng = np.random.default_rng(seed)
    secret, asked = rng.integers(0, 2, n), attack.queries(n, count, rng)
    return attack.reconstruct(asked, attack.answers(secret, asked, mechanism, rng), method=method).accuracy(secret)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [None, attack.rounding_mechanism(2), attack._bounded_noise(2), laplace(2)])
@pytest.mark.parametrize("method", ["least_squares", "linear_program"])
def test_noise_far_below_the_root_of_n_reveals_95_percent_of_the_bits(mechanism, method):
    """At least 95 percent of the bits are reconstructed."""
    assert attacked(64, mechanism, count=1000, method=method) >= 0.95


@pytest.mark.slow
def test_512_bits_are_reconstructed():
    share = attacked(512, attack._bounded_noise(4))  # n log2(n)**2 = 41,472 queries, noise of a fifth of sqrt(n)
    assert share >= 0.95


@pytest.mark.slow
def test_long_work_shows_a_bar(monkeypatch):
    shown = []
    monkeypatch.setattr("toolkit.core.extras._with_bar", lambda starts, what: shown.append(what) or starts)
    attacked(256, attack._bounded_noise(2))
    assert shown == ["reading answers"]


def test_bounded_noise_is_reproducible_and_stays_within_its_bound():
    """A generator with the same seed repeats the noise."""
    first, second = (attack._bounded_noise(2)(np.zeros(1000), np.random.default_rng(1)) for _ in range(2))
    assert np.array_equal(first, second)
    assert 1.9 < np.abs(first).max() <= 2
    assert not np.array_equal(attack._bounded_noise(2)(np.zeros(9), None), attack._bounded_noise(2)(np.zeros(9), None))


def test_wild_answers_mislead_least_squares_but_not_the_linear_program():
    """One answer in ten is far from the truth."""

    def wild(counts, rng):
        return np.where(rng.random(len(counts)) < 0.1, 1000 * rng.normal(size=len(counts)), counts)

    assert attacked(64, wild, count=600) < 0.8
    assert attacked(64, wild, count=600, method="linear_program") == 1


@pytest.mark.slow
def test_the_threshold_lies_at_the_root_of_n():
    """With noise well below sqrt(n) nearly all bits are found; well above it, little more than with a coin flip."""
    n = 256
    below, above = attack.sweep(n, [n**0.5 / 8, 8 * n**0.5], repeats=4, rng=np.random.default_rng(1))
    assert below[1] >= 0.95
    assert above[1] <= 0.6


def test_a_generator_repeats_a_sweep():
    first, second = (attack.sweep(32, [2.0, 4.0, 8.0, 16.0], repeats=5, rng=np.random.default_rng(1)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("sd", [4, 8, 16, 40])
def test_the_share_found_is_what_theory_says(sd):
    """n = 256, four tables: 1024 nearly independent bits have a standard error of at most 0.016; the tolerance is 4
    standard errors.
    """
    (found,) = attack.sweep(256, [sd * math.sqrt(3)], repeats=4, rng=np.random.default_rng(2))
    assert found[1] == pytest.approx(norm.cdf(math.sqrt(1024 - 256) / (4 * sd)), abs=0.064)


def test_known_noise_helps_most_with_as_many_answers_as_people():
    """Knowing the noise never reduces the share of correct bits.

    Ten tables of 64 bits: plain least squares amplifies the noise where there are as many answers as people.
    """
    found = {}
    for count in (32, 64, 96, 256):
        rng, shares = np.random.default_rng(5), np.zeros(2)
        for _ in range(10):
            secret, asked = rng.integers(0, 2, 64), attack.queries(64, count, rng)
            told = attack.answers(secret, asked, laplace(1), rng)
            shares += [attack.reconstruct(asked, told, noise_sd=sd).accuracy(secret) / 10 for sd in (0, math.sqrt(2))]
        found[count] = shares
    assert all(informed >= plain for plain, informed in found.values())
    assert found[64][1] > found[64][0] + 0.15
    # more answers than people never make it worse
    assert sorted(found) == sorted(found, key=lambda count: found[count][1])


def test_the_pull_towards_one_half_is_that_of_the_posterior_mean():
    """One person, one answer of 1 with noise of variance v: the best linear guess is 1/2 + (1/2) (1/4) / (1/4 + v)."""
    guess = attack.reconstruct(np.array([[True]]), [1.0], noise_sd=2.0).fractional[0]
    assert guess == pytest.approx(0.5 + 0.5 * 0.25 / (0.25 + 4.0))
    nobody = attack.reconstruct(np.array([[True, False]]), [1.0])
    assert (nobody.fractional[1], nobody.bits.tolist()) == (0.5, [True, False])  # a bit that is in no query


def test_more_queries_wash_out_noise_beyond_the_root_of_n():
    few, many = (attacked(128, laplace(12), count=count) for count in (512, 20_000))
    assert few < 0.8
    assert many >= 0.95


@pytest.mark.parametrize("alpha", [0, 0.5, 1, 1.5, 2])
def test_the_exhaustive_attack_is_wrong_in_at_most_4_alpha_positions(alpha):
    """The theorem holds for random tables with random and with one-sided errors of up to alpha."""
    rng = np.random.default_rng(3)
    for trial in range(12):
        secret = rng.integers(0, 2, 9)
        sums = attack.subset_sums(secret)
        errors = rng.uniform(-alpha, alpha, len(sums)) if trial % 2 else alpha * rng.choice([-1, 1], len(sums))
        found = attack.exhaustive(sums + errors, alpha)
        assert np.count_nonzero(found.bits != secret) <= 4 * alpha


def test_an_adversarial_curator_comes_near_the_bound_of_the_theorem():
    """Answers halfway between two tables that differ in 2 alpha bits: both tables agree with them, so that many bits
    can be wrong.
    """
    alpha, secret = 2, np.zeros(8, dtype=int)
    other = np.array([1, 1, 1, 1, 0, 0, 0, 0])
    told = (attack.subset_sums(secret) + attack.subset_sums(other)) / 2
    wrong = [np.count_nonzero(attack.exhaustive(told, alpha).bits != table) for table in (secret, other)]
    assert 2 * alpha <= max(wrong) <= 4 * alpha


def test_errors_beyond_alpha_are_refused_and_so_are_missing_subsets():
    sums = attack.subset_sums([1, 0, 1]).astype(float)
    sums[0] = 9
    with pytest.raises(ValueError, match="the errors are larger"):
        attack.exhaustive(sums, 1)
    with pytest.raises(ValueError, match=r"2\*\*n answers"):
        attack.exhaustive([0, 1, 2], 1)
    with pytest.raises(ValueError, match=r"2\*\*n answers"):
        attack.exhaustive([0], 1)
    assert attack.exhaustive([0, 1], 0).bits.tolist() == [True]


def test_subset_sums_are_the_sums_of_the_subsets():
    secret = [1, 0, 1, 1]
    assert [attack.subset_sums(secret)[mask] for mask in range(16)] == [
        sum(bit for i, bit in enumerate(secret) if mask >> i & 1) for mask in range(16)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_differential_privacy_keeps_the_attack_within_its_bound(epsilon):
    """One bit per table, 1500 tables: success at most e**eps / (1 + e**eps), plus Hoeffding's margin at a false-alarm
    rate of 1e-6. The noise of all answers is drawn in one row.
    """
    trials, n, count = 1500, 8, 24
    rng, found = np.random.default_rng(4), 0
    zeros = np.zeros(trials * count, dtype=np.int64)
    noise = Laplace.for_epsilon(epsilon, sensitivity=count).release(zeros, rng).value.reshape(trials, count)
    for added in noise:
        secret, asked = rng.integers(0, 2, n), attack.queries(n, count, rng)
        found += attack.reconstruct(asked, attack.answers(secret, asked) + added).bits[0] == secret[0]
    assert found / trials <= math.exp(epsilon) / (1 + math.exp(epsilon)) + math.sqrt(math.log(1e6) / (2 * trials))


def test_one_answer_for_each_query_is_asked_for():
    with pytest.raises(ValueError, match="one answer for each query"):
        attack.reconstruct(attack.queries(4, 6), [1, 2])


def test_a_sweep_asks_about_random_tables_at_each_level():
    """If all answers are 0, all reconstructed bits are 0, which is right for half of 800 bits (five standard errors).
    With exact answers, all bits are found.
    """
    tried = []

    def noise(level):
        tried.append(level)
        return lambda counts: counts * (1 - level)

    found = attack.sweep(40, [0.0, 1.0], noise=noise, n_queries=120, repeats=20, rng=np.random.default_rng(1))
    assert tried == [0.0] * 20 + [1.0] * 20
    assert found[0] == pytest.approx((0.0, 1.0))
    assert found[1][1] == pytest.approx(0.5, abs=5 * math.sqrt(0.25 / 800))


def test_all_subsets_of_fourteen_people_are_the_most():
    told = np.zeros(2**15)
    assert not attack.exhaustive(told[: 2**14], 0).bits.any()
    with pytest.raises(ValueError, match="n from 1 to 14, got 32768"):
        attack.exhaustive(told, 0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: attack.subset_sums(np.ones(40)), "at most 14 bits, got 40"),
        (lambda: attack.answers([1, 0], np.ones((3, 4), bool)), "one bit for each person"),
        (lambda: attack.Reconstruction(np.ones(3, bool), np.ones(3)).accuracy([1, 0]), "one bit for each person"),
        (lambda: attack.reconstruct(np.eye(2, dtype=bool), [np.nan, 1]), "finite numbers"),
        (lambda: attack.rounding_mechanism(0), "`step`"),
    ],
)
def test_what_cannot_be_reconstructed_is_refused_in_its_own_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()
