"""Was this person counted, and in which week? From nothing but totals that are published every week.

The attacker knows everybody else. Of exact totals one difference is enough; of totals with new noise every
week the weeks are averaged, as each says the same of a person who came early; of a `RunningTotal` all weeks
together say no more than its loss allows.
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
from toolkit.core.checks import floats, refuse, whole
from toolkit.core.checks import level as check_level
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng
from toolkit.teaching.attacks.equivalence_classes import read_cells
from toolkit.teaching.attacks.membership import Roc, roc

Publish: TypeAlias = Callable[[Sequence[int], np.random.Generator], ArrayLike]
"""From the counts of all weeks to the totals that are published."""


def exact_totals(counts: Sequence[int], _: Rng = None) -> Array:
    """Publish totals as they are.

    Parameters
    ----------
    counts : sequence of int
        Of all weeks.
    _ : Generator, optional
        Not used.

    Returns
    -------
    Array
        The totals.

    Examples
    --------
    >>> exact_totals([3, 1, 2])
    array([3., 4., 6.])
    """
    return np.cumsum(floats(counts, "counts"))


def new_noise_every_week(epsilon: float) -> Publish:
    """Publish each total with noise of its own, Pure(epsilon) each: a person in all of them loses epsilon times weeks.

    Parameters
    ----------
    epsilon : float
        Of each total.

    Returns
    -------
    callable
        What publishes.

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
    """Publish by a `RunningTotal`: one loss for all weeks together.

    Parameters
    ----------
    loss : Pure or Zcdp
        Of all weeks together.

    Returns
    -------
    callable
        What publishes.

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
    """Compute how well a person who comes in a week is told from nobody, with everybody else known.

    The score is the best linear one: what is published beyond everybody else, weighted by the inverse of the
    covariance of the noise, which is learnt from half of the runs; the curve is of the other half.

    Parameters
    ----------
    publish : callable
        From the counts of all weeks and a generator to the totals that are published.
    counts : sequence of int
        Of everybody else.
    week : int
        Counted from 1.
    runs : int
        Half of them learn the noise, half are scored.
    rng : Generator, optional
        For simulation; None draws from a fresh generator.

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
    if not 1 <= whole(week, "week") <= periods:
        refuse("`week` must be one of the weeks", week, f"there are {periods}")
    half = whole(runs, "runs", least=4) // 2
    known, step = np.cumsum(counts), (np.arange(1, periods + 1) >= week).astype(float)
    arrived = [count + (place == week - 1) for place, count in enumerate(counts)]
    noise = np.array([np.asarray(publish(counts, source)) - known for _ in range(half)])
    spread = np.cov(noise, rowvar=False) + np.eye(periods) * (1e-9 + 1e-3 * noise.var())
    weights = np.linalg.solve(spread, step)
    inside, outside = (
        [weights @ (np.asarray(publish(people, source)) - known) for _ in range(half)] for people in (arrived, counts)
    )
    return roc(inside, outside)


@dataclass(frozen=True)
class Canaries:
    """Invented records of which each was added or not by a coin, and guesses of the coins.

    If all weeks together are Pure(epsilon), each guess is right with probability at most e**epsilon / (1 +
    e**epsilon), whatever the others; this number of right ones refutes every epsilon below `epsilon` (Steinke, Nasr
    and Jagielski 2023), but for a chance of 1 - level.

    Parameters
    ----------
    guesses : int
        How many.
    right : int
        How many were right.
    level : float
        Of the bound.

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
        """The lower bound: 0 where the guesses could be luck."""
        share = float(clopper_pearson(self.right, self.guesses, 1 - self.level)[0])
        return math.log(share / (1 - share)) if share > 0.5 else 0.0


def canaries(publish: Publish, counts: Sequence[int], *, level: float = 0.95, rng: Rng = None) -> Canaries:
    """Add one invented record per week by a coin, and guess each coin from that week's difference of totals.

    Parameters
    ----------
    publish : callable
        From the counts of all weeks and a generator to the totals that are published.
    counts : sequence of int
        Of everybody else, who are known.
    level : float
        Of the bound.
    rng : Generator, optional
        For simulation; None draws from a fresh generator.

    Returns
    -------
    Canaries
        The guesses.

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
    return read_cells(lambda: [int(count) for count in floats(counts, "counts")])
