from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest

from toolkit import Pure
from toolkit.audit.replay import replay
from toolkit.audit.running import replacements
from toolkit.budget.ledger import Ledger
from toolkit.central import statistics
from toolkit.central.laplace import Laplace
from toolkit.curator.curator import Curator
from toolkit.frames.sums import Bounds
from toolkit.teaching.attacks import gallery

SALARIES = [30.0, 40.0, 50.0, 60.0]


def test_an_unclamped_mean_moves_too_far_and_a_clamped_one_does_not():
    pairs = replacements(SALARIES, (0, 100))
    wrong = replay(partial(gallery._mean, clamps=False), pairs, sensitivity=100 / 4 + 1 / 64)
    right = replay(partial(gallery._mean, clamps=True), pairs, sensitivity=100 / 4 + 1 / 64)
    assert [r.exceeds for r in wrong] == [False, False, True, True]
    assert not any(r.exceeds for r in right)
    assert max(r.moved for r in right) == pytest.approx(17.5, abs=0.02)  # 30 becomes 100


def test_a_histogram_moves_by_two_under_replace():
    (found,) = replay(partial(gallery._histogram, scale=1), (np.array([0, 1]), np.array([2, 1])), sensitivity=1)
    assert found.moved == pytest.approx(2)
    assert found.exceeds
    pair = (np.array([0, 1]), np.array([2, 1]))
    (length,) = replay(partial(gallery._histogram, scale=1), pair, sensitivity=2, norm="l2")
    assert length.moved == pytest.approx(np.sqrt(2))
    with pytest.raises(ValueError, match="`norm` must be one of l1, l2"):
        replay(partial(gallery._histogram, scale=1), pair, sensitivity=2, norm="l3")


@pytest.mark.parametrize("name", ["total", "mean", "variance"])
def test_our_statistics_stay_within_their_sensitivity(name):
    bounds = Bounds.of((0, 100), 14)
    n = len(SALARIES)
    statistic = statistics.total(bounds, "replace", n) if name == "total" else getattr(statistics, name)(bounds, n)

    def release(column, rng):
        value = statistic.from_sums(bounds.sums(np.asarray(column), squares=True))
        return Laplace.for_epsilon(1, sensitivity=statistic.sensitivity.l1).release(value, rng)

    found = replay(release, replacements(SALARIES, (0, 100)), sensitivity=statistic.sensitivity.l1)
    assert all(r.same_flow and not r.exceeds for r in found)


def test_a_mechanism_that_declares_its_sensitivity_needs_nothing_else():
    found = replay(Laplace.for_epsilon(1, sensitivity=Fraction(1, 4)))
    assert [r.exceeds for r in found] == [False, False]
    assert found[0].moved == pytest.approx(0.25)


def test_a_release_that_is_not_a_number_exceeds_any_sensitivity():
    """The same holds for two releases of different shapes."""

    def leaky(column, rng):
        return (column if len(column) == 2 else column.sum()) + rng.laplace()

    def poisoned(column, rng):
        return column.mean() + rng.laplace()

    assert replay(leaky, (np.array([1, 2]), np.array([1])), sensitivity=1)[0].exceeds
    assert replay(poisoned, (np.array([1.0]), np.array([np.nan])), sensitivity=1)[0].exceeds


def test_randomness_that_depends_on_the_data_is_told():
    def uneven(value, rng):
        return value + rng.laplace(size=1 + value).sum()

    (found,) = replay(uneven, (0, 1), sensitivity=0.001)
    assert not found.same_flow
    assert not found.exceeds


def test_the_largest_movement_of_the_noises_that_flow_alike_is_told():
    def scaled(value, rng):
        noise = rng.random()
        if value and noise > 0.9:
            rng.random()
        return value * noise

    noises = [np.random.default_rng(seed).random() for seed in range(8)]
    for seeds in (2, 5, 8):
        (found,) = replay(scaled, (0, 1), sensitivity=1, n_seeds=seeds)
        assert found.moved == max(noise for noise in noises[:seeds] if noise <= 0.9)
        assert found.same_flow
    assert max(noises[:5]) > 0.9
    runs = []
    replay(lambda value, rng: runs.append((value, rng.random())) or 0.0, (0, 1), sensitivity=1)
    assert runs == [(value, noise) for noise in noises[:5] for value in (0, 1)]  # five noises where nothing is said


def test_a_replay_needs_a_generator_and_a_sensitivity():
    """Without noise to freeze there is nothing to replay."""
    with pytest.raises(TypeError, match="must take `rng`"):
        replay(lambda value: value, (0, 1), sensitivity=1)
    with pytest.raises(TypeError, match="`sensitivity` must be given"):
        replay(partial(gallery._count, scale=1), (0, 1))


STATISTICS = {
    "count": (lambda curator, rng: curator.count({"hours": 30.0}, epsilon=1, rng=rng), 1),
    "sum": (lambda curator, rng: curator.sum("hours", bounds=(0, 100), missing=50, epsilon=1, rng=rng), 100),
    "mean": (lambda curator, rng: curator.mean("hours", bounds=(0, 100), missing=50, epsilon=1, rng=rng), 25),
    "variance": (lambda curator, rng: curator.variance("hours", bounds=(0, 100), missing=50, epsilon=1, rng=rng), 2500),
    "histogram": (lambda curator, rng: curator.histogram("hours", edges=[0, 50, 100], epsilon=1, rng=rng), 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STATISTICS)
def test_one_replaced_record_moves_a_statistic_within_its_sensitivity(name):
    """This holds for every statistic of a curator.

    Outliers and missing values included.
    """
    statistic, reach = STATISTICS[name]

    def release(column, rng):
        return statistic(Curator(pd.DataFrame({"hours": column}), Ledger(Pure(10), simulated=True), "replace"), rng)

    found = replay(release, replacements(SALARIES, (0, 100), options=[np.nan]), sensitivity=reach)
    assert all(r.same_flow for r in found)
    assert not [r for r in found if r.exceeds]
    assert max(r.moved for r in found) > 0.1 * reach
