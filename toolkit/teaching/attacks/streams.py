"""Attacks on totals that are published every week: was this person counted, and in which week?

The attacker knows the counts of all other people. For exact totals, a single difference is enough. For totals with
fresh noise every week, averaging over the weeks cancels the noise, because a person who came early is in every later
total. For a `RunningTotal`, all weeks together reveal no more than its loss allows.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from toolkit.audit.bounds import clopper_pearson
from toolkit.central.laplace import Laplace
from toolkit.central.stream import RunningTotal
from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import check_integer, check_level, float_array, reject
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng
from toolkit.teaching.attacks.equivalence_classes import read_without_quoting
from toolkit.teaching.attacks.membership import Roc, roc

Publish: TypeAlias = Callable[[Sequence[int], np.random.Generator], ArrayLike]
"""A function from the counts of all weeks to the published totals."""


def exact_totals(counts: Sequence[int], _: Rng = None) -> Array:
    """Publish exact totals.

    Parameters
    ----------
    counts : sequence of int
        The counts of all weeks.
    _ : Generator, optional
        Ignored.

    Returns
    -------
    Array
        The totals.

    Examples
    --------
    >>> exact_totals([3, 1, 2])
    array([3., 4., 6.])
    """
    return np.cumsum(float_array(counts, "counts"))


def new_noise_every_week(epsilon: float) -> Publish:
    """Make a publisher of totals with independent noise: each total costs Pure(epsilon), and the losses add up.

    Parameters
    ----------
    epsilon : float
        The loss of each total.

    Returns
    -------
    callable
        The publishing function.

    Examples
    --------
    >>> new_noise_every_week(1.0)([3, 4, 5], np.random.default_rng(1)).shape
    (3,)
    """
    mechanism = Laplace.for_epsilon(epsilon)

    def publish(counts: Sequence[int], rng: np.random.Generator) -> Array:
        return np.asarray(mechanism.release(np.cumsum(counts), rng=rng).value, dtype=float)

    return publish


def one_loss(loss: Pure | Zcdp) -> Publish:
    """Make a publisher that uses a `RunningTotal`, with one loss for all weeks together.

    Parameters
    ----------
    loss : Pure or Zcdp
        The loss of all weeks together.

    Returns
    -------
    callable
        The publishing function.

    Examples
    --------
    >>> one_loss(Pure(1.0))([3, 4, 5], np.random.default_rng(1)).shape
    (3,)
    """

    def publish(counts: Sequence[int], rng: np.random.Generator) -> Array:
        total = RunningTotal(loss, len(counts), rng=rng)
        return np.array([float(total.add(int(count))) for count in counts])

    return publish


def spot(publish: Publish, counts: Sequence[int], week: int, *, runs: int = 400, rng: Rng = None) -> Roc:
    """Compute the ROC curve of detecting a person who comes in a given week, if all other counts are known.

    The score is the best linear score: the published totals minus the totals of all others, weighted by the inverse
    covariance of the noise. The covariance is estimated from half of the runs, and the curve from the other half.

    Parameters
    ----------
    publish : callable
        A function of the counts of all weeks and a generator that returns the published totals.
    counts : sequence of int
        The counts of all other people.
    week : int
        The week in which the person comes, from 1.
    runs : int
        The number of runs; half of them estimate the noise, and half are scored.
    rng : Generator, optional
        A generator for simulations; by default, a new generator.

    Returns
    -------
    Roc
        The curve.

    Examples
    --------
    >>> spot(exact_totals, [5] * 10, 3, runs=40, rng=np.random.default_rng(1)).area
    1.0
    """
    counts, source = _whole(counts), check_rng(rng) or np.random.default_rng()
    periods = len(counts)
    if not 1 <= check_integer(week, "week") <= periods:
        reject("`week` must be one of the weeks", week, f"write a number from 1 to {periods}")
    half = check_integer(runs, "runs", minimum=4) // 2
    totals, step = np.cumsum(counts), (np.arange(1, periods + 1) >= week).astype(float)
    with_person = [count + (index == week - 1) for index, count in enumerate(counts)]
    noise = np.array([np.asarray(publish(counts, source)) - totals for _ in range(half)])
    # A small ridge keeps the covariance invertible if there is no noise, or if there are fewer runs than weeks.
    covariance = np.cov(noise, rowvar=False) + np.eye(periods) * (1e-9 + 1e-3 * noise.var())
    weights = np.linalg.solve(covariance, step)
    members, outsiders = (
        [weights @ (np.asarray(publish(people, source)) - totals) for _ in range(half)]
        for people in (with_person, counts)
    )
    return roc(members, outsiders)


@dataclass(frozen=True)
class Canaries:
    """The result of guessing which canary records were added to the data; a coin flip decided on each of them.

    If all weeks together are Pure(epsilon), each guess is right with probability at most e**epsilon / (1 +
    e**epsilon), given all other guesses. The number of right guesses therefore refutes every epsilon below `epsilon`,
    at the given confidence level (Steinke, Nasr and Jagielski 2023).

    Parameters
    ----------
    guesses : int
        The number of guesses.
    right : int
        The number of right guesses.
    level : float
        Confidence level of the bound.

    Examples
    --------
    >>> Canaries(guesses=100, right=100, level=0.95).epsilon > 3
    True
    """

    guesses: int
    right: int
    level: float

    @property
    def epsilon(self) -> float:
        """The lower bound on epsilon; 0 if the guesses are no better than chance."""
        share = float(clopper_pearson(self.right, self.guesses, 1 - self.level)[0])
        return math.log(share / (1 - share)) if share > 0.5 else 0.0


def canaries(publish: Publish, counts: Sequence[int], *, level: float = 0.95, rng: Rng = None) -> Canaries:
    """Add a canary record to each week by a coin flip, and guess each flip from that week's difference of totals.

    Parameters
    ----------
    publish : callable
        A function of the counts of all weeks and a generator that returns the published totals.
    counts : sequence of int
        The counts of all other people, which the attacker knows.
    level : float
        Confidence level of the bound.
    rng : Generator, optional
        A generator for simulations; by default, a new generator.

    Returns
    -------
    Canaries
        The number of guesses and of right guesses.

    Examples
    --------
    >>> found = canaries(exact_totals, [5] * 52, rng=np.random.default_rng(1))
    >>> found.right, round(found.epsilon, 2)
    (52, 2.83)
    """
    counts, source = _whole(counts), check_rng(rng) or np.random.default_rng()
    coins = source.integers(0, 2, len(counts))
    totals = np.asarray(publish([c + int(coin) for c, coin in zip(counts, coins, strict=True)], source))
    guesses = np.diff(totals, prepend=0.0) - np.asarray(counts) > 0.5
    return Canaries(len(coins), int(np.count_nonzero(guesses == coins)), check_level(level))


def _whole(counts: Sequence[int]) -> list[int]:
    return read_without_quoting(lambda: [int(count) for count in float_array(counts, "counts")])
