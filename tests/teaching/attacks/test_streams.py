import math

import numpy as np
import pytest
from scipy.stats import binom

from toolkit.core.loss import Pure, Zcdp
from toolkit.teaching.attacks.membership import promised_advantage
from toolkit.teaching.attacks.streams import Canaries, canaries, exact_totals, new_noise_every_week, one_loss, spot

COUNTS = [12, 7, 9, 15, 8, 11, 10, 6, 13, 9]


def test_exact_totals_tell_everything() -> None:
    assert spot(exact_totals, COUNTS, 4, runs=20, rng=np.random.default_rng(1)).area == 1.0
    found = canaries(exact_totals, COUNTS, rng=np.random.default_rng(1))
    assert found.right == found.guesses == 10


def test_new_noise_every_week_is_averaged_away() -> None:
    """52 weeks with noise of scale 1 each: the mean has a standard deviation of 0.196, and one person changes it by 1.

    Estimating the covariance from 200 runs costs a quarter of the effect: the area is still above 0.99, and falling
    below 0.97 with 200 runs on each side has probability below 1e-6.
    """
    found = spot(new_noise_every_week(1), [10] * 52, 1, runs=400, rng=np.random.default_rng(2))
    assert found.area > 0.97


def test_noise_that_all_weeks_share_hides_nobody() -> None:
    """If all totals are off by the same large number, the week in which they increase by one more reveals the
    person.
    """

    def shared(counts, rng):
        return np.cumsum(counts) + rng.normal(0, 1000) + rng.normal(0, 0.1, len(counts))

    assert spot(shared, COUNTS, 4, runs=200, rng=np.random.default_rng(5)).area > 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "best"), [(Pure(1), 0.463), (Zcdp("1/8"), 0.198)], ids=["pure", "zcdp"])
def test_one_loss_for_all_weeks_keeps_its_promise(loss: Pure | Zcdp, best: float) -> None:
    """Under one loss no test has an advantage above tanh(1/2) = 0.462 for Pure(1); for this Gaussian stream the best
    has 2 Phi(1/4) - 1. With 120 runs on each side, the estimated curve exceeds the true one by 0.3 with probability
    below 1 in 20,000 (Smirnov).
    """
    found = spot(one_loss(loss), [10] * 12, 1, runs=240, rng=np.random.default_rng(3))
    assert promised_advantage(1) == pytest.approx(math.tanh(0.5))
    assert found.advantage < best + 0.3


def test_canaries_refute_a_loss_that_is_too_small_and_no_other() -> None:
    """One run of 52 weeks each: exact totals refute every epsilon up to 2.8; a stream of Pure(1) refutes nothing above
    1 (which would happen by chance in 5 % of runs).
    """
    exact = canaries(exact_totals, [10] * 52, rng=np.random.default_rng(4))
    kept = canaries(one_loss(Pure(1)), [10] * 52, rng=np.random.default_rng(4))
    assert exact.epsilon == pytest.approx(2.83, abs=0.005)
    assert kept.epsilon <= 1
    assert kept.right < 45


def test_a_generator_adds_the_same_canaries_again() -> None:
    seen: list[list[int]] = []
    for _ in range(2):
        canaries(lambda counts, _: seen.append(counts) or np.cumsum(counts), [10] * 52, rng=np.random.default_rng(4))
    assert seen[0] == seen[1]


def test_a_canary_is_added_in_about_every_other_week() -> None:
    """400 coin flips: 200 heads, with a tolerance of five standard errors of 10."""
    added = []

    def publish(counts, rng):
        added.extend(count - 7 for count in counts)
        return exact_totals(counts, rng)

    assert canaries(publish, [7] * 400, rng=np.random.default_rng(6)).right == 400
    assert set(added) == {0, 1}
    assert sum(added) == pytest.approx(200, abs=50)


def test_the_bound_is_the_epsilon_that_explains_the_right_guesses() -> None:
    """At this epsilon, as many or more right guesses have a probability of one minus the level."""
    found = Canaries(100, 80, 0.95)
    share = 1 / (1 + math.exp(-found.epsilon))
    assert binom.sf(79, 100, share) == pytest.approx(0.05)
    assert Canaries(100, 40, 0.95).epsilon == 0.0
    assert Canaries(10, 0, 0.95).epsilon == 0.0
    assert min(Canaries(400, right, 0.95).epsilon for right in range(401)) == 0.0


def test_the_first_and_the_last_week_and_four_runs_are_enough() -> None:
    for week in (1, 10):
        assert spot(exact_totals, COUNTS, week, runs=4, rng=np.random.default_rng(1)).area == 1.0
    late = "`week` must be one of the weeks, got 11: write a number from 1 to 10"
    for said, error in (({"week": 0}, "`week` must"), ({"week": 11}, late), ({"week": 1, "runs": 3}, "`runs` must")):
        with pytest.raises(ValueError, match=error):
            spot(exact_totals, COUNTS, **said)
