import math

import numpy as np
import pytest
from scipy.stats import binom

from toolkit.attacks.membership import promised_advantage
from toolkit.attacks.streams import Canaries, canaries, exact_totals, new_noise_every_week, one_loss, spot
from toolkit.core.loss import Pure, Zcdp

COUNTS = [12, 7, 9, 15, 8, 11, 10, 6, 13, 9]


def test_exact_totals_tell_everything() -> None:
    assert spot(exact_totals, COUNTS, 4, runs=20, rng=np.random.default_rng(1)).area == 1.0
    found = canaries(exact_totals, COUNTS, rng=np.random.default_rng(1))
    assert found.right == found.guesses == 10


def test_new_noise_every_week_is_averaged_away() -> None:
    """52 weeks with noise of scale 1 each: the mean of all has a standard deviation of 0.196, and a person is
    nearly always told from nobody. Theory for the mean of Laplace noise, close to normal: area
    Phi(1 / (0.196 sqrt 2)) = 0.9998; 100 runs below 0.97 would be beyond 1e-6.
    """
    found = spot(new_noise_every_week(1), [10] * 52, 1, runs=200, rng=np.random.default_rng(2))
    assert found.area > 0.97


@pytest.mark.slow
@pytest.mark.parametrize("loss", [Pure(1), Zcdp("1/8")], ids=str)
def test_one_loss_for_all_weeks_keeps_its_promise(loss: Pure | Zcdp) -> None:
    """The same weeks under one loss: hits exceed false alarms by at most tanh(1/2) = 0.462 under Pure(1);
    150 runs on each side, 0.16 above is beyond 1e-3 by Dvoretzky-Kiefer-Wolfowitz.
    """
    found = spot(one_loss(loss), [10] * 12, 1, runs=300, rng=np.random.default_rng(3))
    assert promised_advantage(1) == pytest.approx(math.tanh(0.5))
    assert found.advantage < promised_advantage(1) + 0.16
    assert found.area < 0.8


def test_canaries_refute_a_loss_that_is_too_small_and_no_other() -> None:
    """One run of 52 weeks each: exact totals refute every epsilon up to 2.8; a stream of Pure(1) refutes
    nothing below 1, which for luck alone would have a chance of 5 %.
    """
    exact = canaries(exact_totals, [10] * 52, rng=np.random.default_rng(4))
    kept = canaries(one_loss(Pure(1)), [10] * 52, rng=np.random.default_rng(4))
    assert exact.epsilon == pytest.approx(2.83, abs=0.005)
    assert kept.epsilon <= 1
    assert kept.right < 45


def test_the_bound_is_the_epsilon_at_which_so_many_right_guesses_have_the_chance() -> None:
    found = Canaries(100, 80, 0.95)
    share = 1 / (1 + math.exp(-found.epsilon))
    assert binom.sf(79, 100, share) == pytest.approx(0.05)
    assert Canaries(100, 40, 0.95).epsilon == 0.0
    assert Canaries(10, 0, 0.95).epsilon == 0.0


def test_a_week_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="`week` must be one of the weeks, got 11: there are 10"):
        spot(exact_totals, COUNTS, 11)
