"""Choosing one of many privately: the exponential mechanism, permute-and-flip, report-noisy-max.

A score says how good a candidate is, higher is better, and one person moves each score by at most
`sensitivity`. All three draw exactly, from integers (`toolkit.central.exact_weights`), in a time that does not
depend on the scores. Scores are private: they must be finite, and the one refusal of those that are not
quotes none of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from toolkit.central.exact_weights import UNIT_BITS, Odds, check_base, lower_powers, upper_powers
from toolkit.central.noise.grid import (
    NO_END,
    NO_NOISE,
    Answer,
    charged,
    gaps_in_steps,
    grid_exponent,
    read,
    sensible,
    steps_of,
)
from toolkit.central.sparse import AboveThreshold as AboveThreshold
from toolkit.core.arrays import Array
from toolkit.core.checks import Number, explains, positive, refuse
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng, below, big_below, check_rng, words
from toolkit.core.sampling.enclosure import WORD, exp_of, falls_below, floor_log2
from toolkit.core.sampling.noise import discrete_laplace

_EXACT = 2**50


@dataclass(frozen=True, repr=False)
class Selection:
    """What the three have in common: a loss, a sensitivity of the scores, and the verb `choose`."""

    loss: Pure
    sensitivity: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Pure):
            refuse("`loss` must be Pure(epsilon)", type(self.loss).__name__, "the choice is purely private", TypeError)
        positive(self.loss.amount, "epsilon", NO_END)
        object.__setattr__(self, "sensitivity", sensible(self.sensitivity, "sensitivity", NO_NOISE))
        sensible(self.rate, "epsilon / (2 sensitivity)", NO_END)

    @classmethod
    def for_epsilon(cls, epsilon: Number, *, sensitivity: Number = 1) -> Self:
        """The mechanism that costs Pure(epsilon), for scores that one person moves by at most
        `sensitivity`.
        """
        return cls(Pure(positive(epsilon, "epsilon", NO_END)), sensible(sensitivity, "sensitivity", NO_NOISE))

    def facts(self) -> dict[str, Any]:
        """What a document says of it: sensitivity and rate, by which a reader checks the loss."""
        told = {"mechanism": type(self).__name__, "words": self._words}
        return told | {"sensitivity": str(self.sensitivity), "rate": str(self.rate)}

    @property
    def _words(self) -> str:
        return type(self).__name__

    @property
    def epsilon(self) -> float:
        return self.loss.epsilon

    @property
    def rate(self) -> Fraction:
        """Epsilon / (2 sensitivity): how fast the odds of a candidate fall with its score."""
        return Fraction(self.loss.amount) / (2 * self.sensitivity)

    def choose(self, candidates: Sequence[Any], scores: npt.ArrayLike, *, rng: Rng = None) -> Any:
        """One of the candidates."""
        found, source = _read_scores(scores), check_rng(rng)
        _check_lengths(candidates, found)
        return _item(candidates, self._index(found, source))

    def _index(self, scores: Answer, rng: Rng) -> int:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} sensitivity {float(self.sensitivity):.4g}; {self.loss}>"


@explains("Exponential.for_epsilon(1.0, sensitivity=1)", scores="how good each candidate is, one number each")
@dataclass(frozen=True, repr=False)
class Exponential(Selection):
    """Candidate i with probability proportional to base_i * e**(epsilon score_i / (2 sensitivity)):
    Pure(epsilon).

    Examples
    --------
    >>> mechanism = Exponential.for_epsilon(2, sensitivity=1)
    >>> mechanism.probabilities([1, 0, 0])
    array([0.576..., 0.211..., 0.211...])
    >>> mechanism.choose(["a", "b", "c"], [100, 0, 0])
    'a'

    Exact draws: a candidate is drawn in proportion to an integer not below its weight, and kept with the
    share of that integer which is its weight, decided with as many digits as it takes. Nearly all are kept at
    once.

    References
    ----------
    McSherry and Talwar (2007).
    """

    @property
    def _words(self) -> str:
        return "the exponential mechanism"

    @classmethod
    def for_rho(cls, rho: Number, *, sensitivity: Number = 1) -> Self:
        """The mechanism that costs at most Zcdp(rho), by less than a billionth: epsilon = (8 rho)**(1/2).

        >>> Exponential.for_rho("1/8").loss
        Pure(1.0)
        """
        return cls.for_epsilon(root_below(8 * positive(rho, "rho", NO_END)), sensitivity=sensitivity)

    @property
    def zcdp(self) -> Zcdp:
        """The cost in concentrated privacy, epsilon**2 / 8 (Cesar and Rogers 2021): less than of other pure
        mechanisms.

        One person moves ln(probability) of the candidates by amounts that lie within epsilon of each other,
        as each score moves by at most `sensitivity` and what makes the sum 1 is the same for all. Of two laws
        whose logarithms differ within such a range the Rényi divergence of every order a is at most a *
        epsilon**2 / 8.
        """
        return Zcdp(Fraction(self.loss.amount) ** 2 / 8)

    def choose(
        self, candidates: Sequence[Any], scores: npt.ArrayLike, base: npt.ArrayLike | None = None, rng: Rng = None
    ) -> Any:
        """One of the candidates; `base` weighs them before any score, evenly if left out."""
        odds, source = self._odds(scores, base), check_rng(rng)
        _check_lengths(candidates, odds.scores)
        return _item(candidates, _draw(odds, source))

    def choose_point(
        self, edges: npt.ArrayLike, scores: npt.ArrayLike, *, exponent: int | None = None, rng: Rng = None
    ) -> float:
        """A point of the line, with density proportional to e**(epsilon score / (2 sensitivity)), score
        constant between edges.

        The candidates are the multiples of 2**exponent from the first to the last edge, both included; these
        two edges and the exponent must be public, the edges between them and the scores may be private. An
        interval holds the candidates from its lower edge on, below its upper one, and the last also its end.

        >>> Exponential.for_epsilon(2).choose_point([0, 1, 2, 10], [0, 100, 0], exponent=-3) in (
        ...     1,
        ...     1.125,
        ...     1.25,
        ...     1.375,
        ...     1.5,
        ...     1.625,
        ...     1.75,
        ...     1.875,
        ... )
        True
        """
        source, found = check_rng(rng), read(edges, "edges")
        limits = found.entries if not found.scalar else np.array([found.entries])
        spacing = _spacing(limits) if exponent is None else int(exponent)
        first = _first_steps(limits, spacing)
        if len(first) != np.size(scores) + 1:
            refuse("`edges` must be one more than `scores`", f"{len(first)} edges", "they enclose the intervals")
        counts = np.diff(first)
        if counts.min() < 0:
            refuse("`edges` must not decrease", "edges out of order", "sort them")
        if first[-1] == first[0]:
            refuse("`exponent` must leave a candidate between the outer edges", spacing, "choose a finer grid")
        chosen = _draw(Odds(_read_scores(scores), self.rate, counts), source)
        place = int(first[chosen]) + big_below(int(counts[chosen]), source)
        return float(Fraction(place) * Fraction(2) ** spacing)

    def probabilities(self, scores: npt.ArrayLike, base: npt.ArrayLike | None = None) -> Array:
        """The law of the choice, as floats, for teaching and tests."""
        odds = self._odds(scores, base)
        with np.errstate(over="ignore", under="ignore"):
            weights = np.exp(-float(self.rate) * odds.gaps(slice(None)))
        if odds.base is not None:
            weights = np.where(odds.base > 0, weights * odds.base, 0.0)
        return np.asarray(weights / weights.sum())

    def _odds(self, scores: npt.ArrayLike, base: npt.ArrayLike | None) -> Odds:
        found = _read_scores(scores)
        measure = None if base is None else check_base(read(base, "base"), found.size)
        return Odds(found, self.rate, measure)


@explains("PermuteAndFlip.for_epsilon(1.0, sensitivity=1)")
@dataclass(frozen=True, repr=False)
class PermuteAndFlip(Selection):
    """Candidates in random order, each taken with probability e**(epsilon (score - best) / (2 sensitivity)):
    Pure(epsilon).

    Never worse than the exponential mechanism, at the same epsilon; its concentrated cost has no such
    discount: for two candidates whose equal scores may move apart it is nearly epsilon**2 / 2 when epsilon is
    small. The first candidate taken in random order is evenly one of all whose coins say yes, so all coins
    are flipped and one of those is drawn: the time tells nothing of the scores.

    >>> PermuteAndFlip.for_epsilon(2).choose(["a", "b"], [100, 0])
    'a'

    References
    ----------
    McKenna and Sheldon (2020).
    """

    def _index(self, scores: Answer, rng: Rng) -> int:
        odds = Odds(scores, self.rate)
        heads = np.concatenate([part.start + self._heads(odds, part, rng) for part in odds.parts()])
        return int(heads[int(below(len(heads), 1, rng)[0])])

    def _heads(self, odds: Odds, part: slice, rng: Rng) -> npt.NDArray[np.intp]:
        """Whose coins say yes, counted from the start of the part."""
        logs = odds.logs(part)
        uniform = words(len(logs), WORD, rng) >> np.uint64(WORD - UNIT_BITS)
        taken = uniform < lower_powers(logs + 2)
        for i in np.flatnonzero(~taken & (uniform < upper_powers(logs))):
            taken[i] = falls_below(exp_of(odds.exponent(part.start + int(i))), int(uniform[i]), UNIT_BITS, rng)
        return np.flatnonzero(taken)


@explains("NoisyMax.for_epsilon(1.0, sensitivity=1)")
@dataclass(frozen=True, repr=False)
class NoisyMax(Selection):
    """The candidate whose score is highest after Laplace noise of scale 2 sensitivity / epsilon on each:
    Pure(epsilon).

    Only the winner is told, not its score; among equals the first. For fixed noise on the others a candidate
    wins when its own noise reaches a threshold, which one person moves by at most twice the sensitivity; on a
    grid of whole steps, too.

    >>> NoisyMax.for_epsilon(2).choose(["a", "b"], [100, 0])
    'a'

    References
    ----------
    Dwork and Roth (2014), claim 3.9.
    """

    def _index(self, scores: Answer, rng: Rng) -> int:
        whole = scores.whole and self.sensitivity >= 1
        exponent = 0 if whole else grid_exponent(self.sensitivity, 1 / self.rate)
        reach = self.sensitivity if whole else charged(self.sensitivity / Fraction(2) ** exponent, 1, "l1")
        noise = discrete_laplace(2 * reach / Fraction(self.loss.amount), scores.size, rng)
        if scores.whole > whole or noise.dtype == object or np.abs(noise).max() > _EXACT:
            steps = [
                steps_of(Fraction(score), exponent) + int(k)
                for score, k in zip(scores.entries.tolist(), noise, strict=True)
            ]
            return steps.index(max(steps))
        # Where noise - gap is above -2**50, as the best score's is, both are below 2**52 and so exact as
        # floats.
        return int(np.argmax(noise - gaps_in_steps(scores, exponent)))


def root_below(square: Fraction) -> Fraction:
    """The root, rounded down to 60 binary digits after its first."""
    shift = 60 + max(0, square.denominator.bit_length() - square.numerator.bit_length())
    return Fraction(math.isqrt(math.floor(square * 4**shift)), 2**shift)


def _read_scores(scores: object) -> Answer:
    found = read(scores, "scores")
    return Answer(np.array([found.entries]), found.whole, False) if found.scalar else found


def _check_lengths(candidates: Sequence[Any], scores: Answer) -> None:
    if len(candidates) != scores.size:
        refuse(
            "`candidates` must have one score each", f"{len(candidates)} and {scores.size} scores", "pair them first"
        )


def _item(candidates: Any, index: int) -> Any:
    return candidates.iloc[index] if hasattr(candidates, "iloc") else candidates[index]


def _draw(odds: Odds, rng: Rng) -> int:
    """A candidate in proportion to its weight: drawn by the envelope, kept by the share of it that is the
    weight.
    """
    total = int(odds.sums[-1])
    while True:
        chosen = odds.locate(int(below(total, 1, rng)[0]))

        word = int(words(1, WORD, rng)[0])
        if odds.surely_keeps(chosen, word) or falls_below(partial(odds.kept, chosen), word, WORD, rng):
            return chosen


def _spacing(edges: npt.NDArray[Any]) -> int:
    """An exponent for the grid of points, from the outer edges: fine against their distance, not finer than
    floats there.
    """
    low, high = Fraction(edges[0].item()), Fraction(edges[-1].item())
    if low >= high:
        refuse("the outer `edges` must be apart", "none or reversed", "there is no point between them")
    return max(floor_log2(high - low) - 32, floor_log2(max(abs(low), abs(high))) - 52)


def _first_steps(edges: npt.NDArray[Any], exponent: int) -> npt.NDArray[np.int64]:
    """For each edge the first multiple of the grid not below it, in steps; the last edge belongs to the last
    interval.
    """
    low, high = (Fraction(edges[i].item()) / Fraction(2) ** exponent for i in (0, -1))
    if max(abs(low), abs(high)) > 2**53:
        refuse("`exponent` must not be finer than 2**-53 of the outer edges", exponent, "floats are no finer")
    start, end = -(-low.numerator // low.denominator), high.numerator // high.denominator + 1
    if edges.dtype == np.int64 and exponent == 0:
        return np.append(np.clip(edges[:-1], start, end), end)
    scaled = np.ldexp(edges, -exponent) if abs(exponent) > 1000 else edges * 2.0**-exponent
    steps = np.ceil(np.clip(scaled, float(start), float(end), out=scaled), out=scaled).astype(np.int64)
    steps[-1] = end
    return steps
