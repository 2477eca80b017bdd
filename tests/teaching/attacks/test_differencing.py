import math

import numpy as np
import pytest

from data import make_attack_data as made
from toolkit.audit.bounds import advantage
from toolkit.central.laplace import Laplace
from toolkit.teaching.attacks.differencing import GuardedTable, Outlier, outlier, resignation, tracker

ROWS = made.salaries()
SALARY = np.array([row[2] for row in ROWS], dtype=float)
DEPARTMENT = np.array([row[0] for row in ROWS])
YEARS = np.array([row[1] for row in ROWS])


def test_two_means_tell_the_salary_of_whoever_left():
    for leaver in range(len(SALARY)):
        rest = np.delete(SALARY, leaver)
        assert resignation(SALARY.mean(), len(SALARY), rest.mean()) == pytest.approx(SALARY[leaver], abs=1e-3)
    assert resignation(50, 2, 40) == 60


def test_noisy_means_tell_the_salary_no_better_than_their_noise_times_n():
    rng = np.random.default_rng(1)
    before, after = 50_000 + rng.normal(0, 10, 4000), 50_000 + rng.normal(0, 10, 4000)
    guesses = [resignation(b, 100, a) for b, a in zip(before, after, strict=True)]
    # the standard error of 4000 draws is 1.1 %
    assert np.std(guesses) == pytest.approx(10 * math.hypot(100, 99), rel=0.05)


def test_differential_privacy_bounds_the_resignation_attack():
    """Did a high or a low earner leave? Both means are released at epsilon / 2; 3000 trials, Hoeffding's margin at a
    false-alarm rate of 1e-6.
    """
    epsilon, n, trials = 1.0, 20, 3000
    rng = np.random.default_rng(2)
    mechanism = Laplace.for_epsilon(epsilon / 2, sensitivity=100 / (n - 1))
    secret = rng.integers(0, 2, trials)
    before = mechanism.release((50.0 * (n - 1) + 100.0 * secret) / n, rng).value
    after = mechanism.release(np.full(trials, 50.0), rng).value
    right = np.count_nonzero((resignation(before, n, after) > 50) == secret)
    margin = math.sqrt(math.log(1e6) / (2 * trials))
    assert 0.5 + 2 * margin / 3 < right / trials <= (1 + advantage(epsilon)) / 2 + margin


def test_a_tracker_gets_the_answer_that_the_server_refuses():
    server = GuardedTable({"salary": SALARY}, min_size=10)
    legal, veteran = DEPARTMENT == "legal", (YEARS == 34) & (SALARY > 10**6)
    with pytest.raises(ValueError, match="a group must have"):
        server.sum(legal & veteran, "salary")
    assert tracker(server, legal, veteran) == 1
    assert tracker(server, legal, veteran, "salary") == 90_000_000


def test_noise_on_each_answer_blinds_the_tracker():
    rng = np.random.default_rng(3)
    server = GuardedTable({"x": np.ones(100)}, min_size=10, noise=lambda answer: answer + rng.laplace(scale=10))
    half, one = np.arange(100) < 50, np.arange(100) == 7
    answers = [tracker(server, half, one) for _ in range(2000)]
    assert np.std(answers) == pytest.approx(20, rel=0.1)  # two Laplace draws of scale 10


def test_fill_nates_is_found_in_the_department_that_he_is_in():
    usual, sd = float(np.median(SALARY)), 16_000.0
    for name in np.unique(DEPARTMENT):
        group = SALARY[name == DEPARTMENT]
        found = outlier(group.mean(), len(group), usual=usual, sd=sd)
        assert found.is_present == (name == "legal")
        if found.is_present:
            assert found.implied == pytest.approx(90_000_000, rel=0.02)


def test_the_value_is_exact_where_the_others_are_as_usual():
    assert outlier(mean=3, n=4, usual=1, sd=6, noise_sd=4) == Outlier(implied=9, surprise=0.4)  # of 1, 1, 1 and 9
    assert not outlier(mean=6, n=4, usual=1, sd=2).is_present  # five standard errors
    assert outlier(mean=6.1, n=4, usual=1, sd=2).is_present


def test_a_clamped_and_noisy_mean_does_not_give_him_away():
    group = np.clip(SALARY[DEPARTMENT == "legal"], 0, 200_000)
    noise = 200_000 / len(group)
    assert not outlier(
        group.mean(), len(group), usual=float(np.median(SALARY)), sd=16_000, noise_sd=math.sqrt(2) * noise
    ).is_present


def test_the_smallest_and_the_largest_group_are_answered_and_none_beyond():
    server, people = GuardedTable({"x": np.arange(10.0)}, min_size=3), np.arange(10)
    assert [server.sum(people < size) for size in (3, 7)] == [3, 7]
    for size in (2, 8):
        with pytest.raises(ValueError, match="a group must have 3 to 7 people"):
            server.sum(people < size)
    with pytest.raises(ValueError, match="`n` must be at least 2"):
        outlier(mean=3, n=1, usual=1, sd=6)
    assert outlier(mean=3, n=2, usual=1, sd=6).implied == 5
