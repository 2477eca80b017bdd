import math
from typing import Any

import numpy as np
import pytest

from tests.recorder import recorded
from toolkit.central.robust.estimators import Huber, Logistic, Tukey
from toolkit.central.robust.influence import location
from toolkit.core.loss import Pure, Zcdp
from toolkit.teaching.robust.descent import NoisyDescent


def descent(**changes: Any) -> NoisyDescent:
    options: dict[str, Any] = {
        "estimator": Huber("1.345"), "bounds": (-50, 50), "loss": Pure(1), "n": 2000, "steps": 30, "rate": 1,
        "start": 0, "neighbors": "replace",
    }  # fmt: skip
    return NoisyDescent(**(options | changes))


@pytest.mark.parametrize("estimator", [Huber(1.345), Tukey(4.685), Logistic()], ids=repr)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_no_person_moves_the_sum_further_than_the_noise_is_for(estimator: Any, neighbors: str) -> None:
    """At every location, for every person who is added, removed or replaced: missing values, values at the bounds and
    beyond them.
    """
    made = descent(estimator=estimator, neighbors=neighbors)
    people = [math.nan, -1e9, -50.0, -3.0, 0.2, 1.0, 4.0, 50.0, math.inf]
    for at in (-50.0, 0.0, 1.7, 50.0):
        totals = [made._total_score([1.0, 2.0, person], at) for person in people]
        without = made._total_score([1.0, 2.0], at)
        moved = max(totals) - min(totals) if neighbors == "replace" else max(abs(x - without) for x in totals)
        assert moved <= made._mechanism.sensitivity


def test_the_loss_is_split_evenly_over_the_steps() -> None:
    """Under "replace", the noise covers twice the bound of a score."""
    assert descent().sensitivity == pytest.approx(2 * 1.345 / 2000)
    assert descent().sensitivity == pytest.approx(0.001345)
    assert descent(neighbors="add_remove").sensitivity == pytest.approx(1.345 / 2000)
    assert descent()._mechanism.loss == Pure("1/30")
    assert descent(loss=Zcdp(1))._mechanism.loss == Zcdp("1/30")
    assert descent().noise_sd == pytest.approx(math.sqrt(2) * 2 * 1.345 * 30 / 2000, rel=1e-6)
    assert descent(loss=Zcdp("1/2")).noise_sd == pytest.approx(2 * 1.345 / 2000 * math.sqrt(30), rel=1e-6)


def test_it_goes_uphill_to_the_location_and_not_away_from_it() -> None:
    """With almost no noise; with the sign of the lecture slide, descent ran to -40 instead of 2.944 in 60 steps."""
    values = np.random.default_rng(5).normal(3, 1, 2000)
    found = float(descent(loss=Pure(10**6), steps=60).release(values, np.random.default_rng(1)))
    assert found == pytest.approx(location(Huber(1.345), values), abs=1e-3)


def test_a_step_is_the_rate_times_the_mean_of_noisy_scores() -> None:
    """Steps are clamped to the bounds.

    From 4, the scores of 1, 5 and 9 are -2, 1 and 2; 2**20 units of noise equal the bound 2.
    """
    made = descent(estimator=Huber(2), bounds=(0, 10), n=3, rate="1/2", start=4, steps=1)
    for noise_sd, expected in ((0, 4 + 0.5 * 1 / 3), (2**20, 4 + 0.5 * 3 / 3), (10**9, 10), (-(10**9), 0)):
        with recorded([noise_sd]) as drawn:
            assert float(made.release([1.0, 5.0, 9.0])) == pytest.approx(expected, rel=1e-6)
        assert [(one.law, one.scale) for one in drawn] == [("laplace", 2 * 2**20)]


@pytest.mark.slow
def test_more_steps_drown() -> None:
    """Eight runs each at epsilon 1 and n = 300: with too few steps descent does not converge, with too many the noise
    dominates.
    """
    values, rng = np.random.default_rng(5).normal(20, 1, 300), np.random.default_rng(2)
    error = {}
    for steps in (3, 20, 200):
        made = descent(n=300, steps=steps)
        error[steps] = np.sqrt(np.mean([(float(made.release(values, rng)) - 20) ** 2 for _ in range(8)]))
    assert error[20] < error[3]
    assert error[20] < error[200]


def test_a_release_says_its_noise_which_is_public() -> None:
    found = descent().release([1.0, math.nan])
    assert found.loss == Pure(1)
    assert "30 steps" in found.notes[0]
    assert -50 <= float(found) <= 50


def test_a_simulation_is_repeated_by_its_seed() -> None:
    values = np.linspace(-1, 3, 50)
    first, again, other = (descent(n=50).release(values, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.value == again.value != other.value
