import copy
import math
import multiprocessing
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from toolkit.central import selection, sparse
from toolkit.central.sparse import AboveThreshold


def first_yes_law(values: list[float], threshold: float, epsilon: float) -> list[float]:
    """Pr[first yes at each value], and of none, with continuous Laplace noise 2/e on the threshold and 4/e on
    the values.
    """
    bar = np.linspace(-80 / epsilon, 80 / epsilon, 40_001)
    density = np.exp(-np.abs(bar) * epsilon / 2)
    density /= density.sum()
    law, none = [], density
    for value in values:
        gap = threshold + bar - value
        no = np.where(
            gap < 0, 0.5 * np.exp(np.minimum(gap, 0) * epsilon / 4), 1 - 0.5 * np.exp(-np.maximum(gap, 0) * epsilon / 4)
        )
        law.append(float((none * (1 - no)).sum()))
        none = none * no
    return [*law, float(none.sum())]


@pytest.mark.slow
def test_the_first_yes_has_the_law_of_the_noises() -> None:
    """3000 runs over four values; chi-squared against the integral over the threshold's noise, false alarms 1e-6."""
    values, rng, seen = [0, 4, 2, 6], np.random.default_rng(31), [0] * 5
    for _ in range(3000):
        alarm = AboveThreshold(5, epsilon=2, rng=rng)
        seen[next((i for i, value in enumerate(values) if alarm.ask(value)), 4)] += 1
    expected = 3000 * np.array(first_yes_law(values, 5, 2.0))
    assert expected.sum() == pytest.approx(3000)
    assert chi2.sf(((np.array(seen) - expected) ** 2 / expected).sum(), 4) > 1e-6


@pytest.mark.slow
def test_all_small_neighbors_are_within_e_to_the_epsilon() -> None:
    """Every value may move by 1, in any direction: the law of the first yes changes by at most e**epsilon."""
    here = np.array(first_yes_law([0, 3, 1], 2, 1.0))
    worst = max(
        float(np.max(np.abs(np.log(np.array(first_yes_law([0 + a, 3 + b, 1 + c], 2, 1.0)) / here))))
        for a in (-1, 0, 1)
        for b in (-1, 0, 1)
        for c in (-1, 0, 1)
    )
    assert 0.4 < worst <= 1.0 + 1e-6


def test_it_stops_itself_after_the_last_yes_and_counts_down() -> None:
    alarm = AboveThreshold(0, epsilon=50, count=2)
    assert not alarm.ask(-1000)
    assert alarm.ask(1000)
    assert (alarm.open, repr(alarm)) == (True, "<AboveThreshold 0; ε = 50; 1 of 2 yeses left>")
    assert alarm.ask(1000)
    assert (alarm.open, repr(alarm)) == (False, "<AboveThreshold 0; ε = 50; stopped>")
    for value in (1000, -1000):
        with pytest.raises(RuntimeError, match="all of epsilon is spent"):
            alarm.ask(value)


@pytest.mark.parametrize("epsilon", ["1/7", 1, 70])
def test_noise_scales_and_fresh_thresholds(epsilon: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threshold 2 count sensitivity / epsilon, values twice that, in steps of the grid, which is finer than both by 30
    powers of two; a new threshold after each yes.
    """
    drawn: list[tuple[Fraction, int]] = []
    stream: Iterator[int] = iter([0, 0, 0, 10**15, 0, 10**15])

    def record(scale: Fraction, size: int, _rng: object) -> np.ndarray:
        drawn.append((scale, size))
        return np.array([next(stream)])

    monkeypatch.setattr(sparse, "discrete_laplace", record)
    alarm = AboveThreshold(10, epsilon=epsilon, sensitivity=3, count=2)
    bar = drawn[0][0]
    unit = Fraction(2) ** alarm._exponent
    assert 0 <= bar * unit / (2 * 2 * 3 / Fraction(epsilon)) - 1 < Fraction(1, 2**29)
    assert 1 <= min(3, 12 / Fraction(epsilon)) / unit / 2**30 < 2
    assert not alarm.ask(9.99)
    assert alarm.ask(10)  # equal counts as above
    assert len(drawn) == 4
    assert [scale / bar for scale, _ in drawn] == [1, 2, 2, 1]
    assert not alarm.ask(10)  # the new threshold is 10**15 steps higher
    assert alarm.ask(10)


def test_it_cannot_be_copied_or_pickled() -> None:
    alarm = AboveThreshold(0, epsilon=1)
    for attempt in (lambda: copy.copy(alarm), lambda: copy.deepcopy(alarm), lambda: pickle.dumps(alarm)):
        with pytest.raises(TypeError, match="must not be copied or pickled"):
            attempt()


def _ask_in_child(alarm: AboveThreshold, connection: "multiprocessing.connection.Connection") -> None:
    try:
        alarm.ask(1)
        connection.send("answered")
    except ValueError as error:
        connection.send(str(error))


def test_a_forked_process_cannot_ask_and_threads_take_turns() -> None:
    alarm = AboveThreshold(0, epsilon=1)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe()
    process = context.Process(target=_ask_in_child, args=(alarm, sender))
    process.start()
    assert "another process" in receiver.recv()
    process.join()
    many = AboveThreshold(0, epsilon=500, count=20)

    def ask(_: int) -> bool | None:
        try:
            return many.ask(10**6)
        except RuntimeError:
            return None

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(100)))
    assert (answers.count(True), answers.count(None), answers.count(False)) == (20, 80, 0)


def test_seeds_are_marked_and_the_secret_is_not_shown() -> None:
    assert AboveThreshold(0, epsilon=1, rng=np.random.default_rng(1)).seeded
    alarm = AboveThreshold(0, epsilon=1)
    assert not alarm.seeded
    assert (alarm.sensitivity, alarm.count) == (1, 1)
    assert str(alarm._noisy_threshold) not in repr(alarm)


@pytest.mark.parametrize("bad", [math.nan, math.inf, "abc", True, None, [1, 2], np.array([1.0, 2.0])], ids=repr)
def test_values_and_thresholds_must_be_single_numbers(bad: object) -> None:
    with pytest.raises((ValueError, TypeError), match="`value` must"):
        AboveThreshold(0, epsilon=1).ask(bad)
    with pytest.raises((ValueError, TypeError), match="`threshold` must"):
        AboveThreshold(bad, epsilon=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, True, "abc"])
def test_epsilon_sensitivity_and_count_must_be_positive(bad: object) -> None:
    for arguments in ({"epsilon": bad}, {"epsilon": 1, "sensitivity": bad}, {"epsilon": 1, "count": bad}):
        with pytest.raises((ValueError, TypeError, OverflowError), match="must be"):
            AboveThreshold(0, **arguments)


def test_it_is_found_with_the_other_selections() -> None:
    assert selection.AboveThreshold is AboveThreshold
