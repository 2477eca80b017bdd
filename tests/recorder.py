"""Replacements for noise that record the requested noise and the exact values, and return fixed numbers.

`recorded` replaces the samplers: it records the distribution, the scale and the size of every draw, and returns fixed
numbers, so that releases can be computed by hand. `Meeting` replaces the methods of the mechanisms: it records their
input, so that two neighbors can be compared with the charge; their output is fixed, so that any other dependence on the
data becomes visible.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from toolkit.central import laplace, selection
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.noise.grid import PrivateValue
from toolkit.central.publishing.keys import KeyThreshold, TopK
from toolkit.central.publishing.quantiles import RecursiveQuantiles, StepCounts
from toolkit.central.robust import releases
from toolkit.central.robust.inverse import InverseSensitivity
from toolkit.central.selection import Exponential, Odds
from toolkit.core.loss import Loss, Zcdp
from toolkit.core.sampling import LatticeSampler


@dataclass(frozen=True)
class Draw:
    """One draw: its kind, scale and context.

    The scale of "laplace", "radial" and "cubic" noise, the variance of "gaussian" noise; the rate of a "choice", with
    its scores in `about`; the probability of a size above 1 of "rounded" noise, with the exact number in `about`.
    """

    law: str
    scale: Fraction
    size: int
    about: tuple[Any, ...] = ()


@contextmanager
def recorded(noise: Iterable[int] = (), choices: Iterable[int] = ()) -> Iterator[list[Draw]]:
    """All draws, in their order. Noise is taken from the given numbers, in the units of the sampler, and then is 0;
    choices are the given positions, and then the first.
    """
    drawn: list[Draw] = []
    numbers, places = iter(noise), iter(choices)

    def given(size: int) -> Any:
        return np.array([next(numbers, 0) for _ in range(size)], dtype=np.int64)

    def lattice(sampler: LatticeSampler, size: int, _: object = None) -> Any:
        one, two = sampler.exponent(0, 1), sampler.exponent(0, 2)  # a + b and 2 a + 4 b of e**-(a n + b n**2)
        square = (two - 2 * one) / 2
        law, scale = ("gaussian", 1 / (2 * square)) if square else ("laplace", 1 / one)
        drawn.append(Draw(law, scale, size))
        return given(size)

    def vector(law: str) -> Callable[..., Any]:
        def draw(scale: Fraction, size: int, _: object = None) -> Any:
            drawn.append(Draw(law, Fraction(scale), size))
            return given(size)

        return draw

    def choice(odds: Odds, _: object) -> int:
        drawn.append(Draw("choice", odds.rate, odds.scores.size, tuple(odds.scores.entries.tolist())))
        return next(places, 0)

    def rounded(center: Fraction, tail: Any, _: object = None) -> int:
        drawn.append(Draw("rounded", Fraction(tail(Fraction(1))(64)[0], 2**64), 1, (center,)))
        return math.floor(center + Fraction(1, 2)) + next(numbers, 0)

    from toolkit.learning import perturbation as pushing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LatticeSampler, "draw", lattice)
        patch.setattr(laplace, "radial_laplace", vector("radial"))
        patch.setattr(pushing, "cubic_laplace", vector("cubic"))
        patch.setattr(selection, "_draw_index", choice)
        patch.setattr(releases, "draw_rounded_sum", rounded)
        laplace._grid_noise.cache_clear()  # it imports the sampler directly
        try:
            yield drawn
        finally:
            laplace._grid_noise.cache_clear()


@dataclass(frozen=True, eq=False)
class Met:
    """A mechanism, and its input."""

    mechanism: Any
    numbers: Any


def _values(spread: StepCounts) -> Any:
    """Return the step of every value."""
    counts = np.diff(spread._below)
    return np.repeat(np.arange(len(counts)), counts)


class Meeting:
    """A replacement for all mechanisms: it records their input and returns fixed numbers."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.met: list[Met] = []
        self._inside = False
        for kind in (Laplace, Gaussian):
            patch.setattr(kind, "_add_noise", lambda one, answer, _: self._release(one, answer))
            patch.setattr(kind, "_perturb_integers", lambda one, numbers, _=None: self._integers(one, numbers))
        self._watch(patch, KeyThreshold, "release", dict, None)
        self._watch(patch, TopK, "choose", np.asarray, lambda one: list(range(one.k)))
        self._watch(patch, RecursiveQuantiles, "choose", np.sort, lambda one: list(range(len(one.quantiles))))
        self._watch(patch, RecursiveQuantiles, "choose_lazily", _values, lambda one: list(range(len(one.quantiles))))
        self._watch(patch, InverseSensitivity, "_choose_point", np.asarray, lambda one: float(one.bounds.low))
        self._watch(patch, releases.SmoothSensitivity, "_draw", lambda summary: summary, None)
        choose = Exponential.choose

        def chosen(one: Exponential, candidates: Any, scores: Any, *rest: Any, **more: Any) -> Any:
            if self._inside:
                return choose(one, candidates, scores, *rest, **more)
            self.met.append(Met(one, np.array(scores)))
            return candidates[0]

        patch.setattr(Exponential, "choose", chosen)
        patch.setattr(releases, "draw_rounded_sum", lambda *_: 7)

    def _release(self, one: Laplace | Gaussian, answer: Any) -> Any:
        numbers = [Fraction(number) for number in np.ravel(answer.entries).tolist()]
        if not self._inside:
            self.met.append(Met(one, numbers))
        made = np.arange(answer.size) * 2**33 + len(self.met)
        if answer.is_whole:
            return int(made[0]) if answer.is_scalar else made, one._integer_law
        return float(made[0]) if answer.is_scalar else made.astype(float), one._integer_law

    def _integers(self, one: Laplace | Gaussian, numbers: list[int]) -> Any:
        noisy, law = self._release(one, PrivateValue(np.array(numbers, dtype=object), is_whole=True, is_scalar=False))
        return noisy.tolist(), law

    def _watch(
        self,
        patch: pytest.MonkeyPatch,
        kind: type,
        verb: str,
        read: Callable[[Any], Any],
        outcome: Callable[[Any], Any] | None,
    ) -> None:
        """Replace a method so that it returns a given outcome, or its own result for the given numbers."""
        plain = getattr(kind, verb)

        def watched(one: Any, numbers: Any, *rest: Any, **more: Any) -> Any:
            self.met.append(Met(one, read(numbers)))
            if outcome is not None:
                return outcome(one)
            self._inside = True
            try:
                return plain(one, numbers, *rest, **more)
            finally:
                self._inside = False

        patch.setattr(kind, verb, watched)

    def of(self, call: Callable[[], Any]) -> tuple[list[Met], Any]:
        """Return the recorded input of mechanisms during a call, and the result of the call."""
        self.met = []
        return self.met, call()


def cost(one: list[Met], other: list[Met]) -> Fraction:
    """Return the cost of a move in the noise that hides it: epsilon, or rho for Gaussian noise; for a choice, the
    largest epsilon, given how far its scores moved, and with Gaussian noise beside it the rho of this epsilon.
    """
    assert len(one) == len(other)
    total, gone, come = Fraction(0), 0, 0
    has_gaussian = any(isinstance(x.mechanism, Gaussian) for x in one)
    for x, y in zip(one, other, strict=True):
        mechanism = x.mechanism
        assert repr(mechanism) == repr(y.mechanism), "the data decided on the noise"
        if isinstance(mechanism, Laplace | Gaussian):
            total += _additive(mechanism, x.numbers, y.numbers)
        elif isinstance(mechanism, KeyThreshold):
            total += _keys(mechanism, x.numbers, y.numbers)
        elif isinstance(mechanism, TopK):
            total += _top(mechanism, x.numbers, y.numbers)
        elif isinstance(mechanism, releases.SmoothSensitivity):
            total += _smooth(mechanism, x.numbers, y.numbers)
        elif isinstance(mechanism, RecursiveQuantiles):  # for one group: a person may move to another group
            before, after = Counter(x.numbers.tolist()), Counter(y.numbers.tolist())
            gone, come = gone + (before - after).total(), come + (after - before).total()
        else:  # a choice; for an InverseSensitivity, one per group
            choice = getattr(mechanism, "_selection", mechanism)
            moved = max(abs(Fraction(a) - Fraction(b)) for a, b in _pairs(x.numbers, y.numbers))
            epsilon = Fraction(choice.loss.amount) * moved / choice.sensitivity
            total += epsilon**2 / 8 if has_gaussian else epsilon
    if gone + come:
        moved = gone + come if mechanism.neighbors == "add_remove" else max(gone, come)
        total += Fraction(mechanism.loss.amount) * moved / mechanism.rows_per_person
    return total


def share(one: list[Met], other: list[Met], spent: Loss) -> Fraction:
    """Return the cost of a move, as a share of the charge."""
    for met in one:
        if isinstance(met.mechanism, Laplace | Gaussian):
            return cost(one, other) / Fraction(spent.amount)
    mechanism = one[0].mechanism  # a choice, or a threshold: the ledger counts it in its own currency
    assert (mechanism.zcdp if isinstance(spent, Zcdp) else mechanism.loss) == spent
    return cost(one, other) / Fraction(getattr(mechanism, "rho", None) or mechanism.loss.amount)


def _pairs(one: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    return zip(np.ravel(one).tolist(), np.ravel(other).tolist(), strict=True)


def _additive(noise: Laplace | Gaussian, one: Any, other: Any) -> Fraction:
    moves = [abs(Fraction(a) - Fraction(b)) for a, b in zip(one, other, strict=True)]
    squared = sum((move**2 for move in moves), Fraction(0))
    if isinstance(noise, Gaussian):
        return squared / (2 * noise.variance)
    if noise.norm == "l2" and len(moves) > 1:
        return Fraction(math.sqrt(squared)) / noise._exact_scale
    return sum(moves, Fraction(0)) / noise._exact_scale


def _keys(threshold: KeyThreshold, one: dict[Any, int], other: dict[Any, int]) -> Fraction:
    """The counts of all keys; the number and the rows of keys that belong to a single person are limited."""
    keys = [*one, *(key for key in other if key not in one)]
    alone = [(set(one) - set(other), one), (set(other) - set(one), other)]
    for own, counts in alone:
        assert len(own) <= threshold.keys_per_person
        assert max((counts[key] for key in own), default=0) <= threshold.rows_per_person
    return _additive(threshold.noise, *([counts.get(key, 0) for key in keys] for counts in (one, other)))


def _top(top: TopK, one: Any, other: Any) -> Fraction:
    """Return the largest change of the logarithm of any choice's probability, to nine digits."""

    def law(counts: Any) -> dict[tuple[int, ...], float]:
        found = {}
        for chosen in permutations(range(len(counts)), top.k):
            left, log = list(range(len(counts))), 0.0
            for place in chosen:
                log += math.log(top.round_mechanism.probabilities(counts[left])[left.index(place)])
                left.remove(place)
            found[chosen] = log
        return found

    before, after = law(one), law(other)
    moved = max(abs(before[chosen] - after[chosen]) for chosen in before)
    return Fraction(moved) * (1 - Fraction(1, 10**9))


def _smooth(mechanism: Any, one: Any, other: Any) -> Fraction:
    """The statistic moves by at most its smooth sensitivity, and the sensitivity by a factor of at most e**t: if both
    hold, the distribution provably costs its epsilon.
    """
    moved = abs(one.value - other.value) / min(one.smooth_sensitivity, other.smooth_sensitivity)
    factor = abs(math.log(one.smooth_sensitivity / other.smooth_sensitivity)) / float(mechanism.noise.smoothness)
    return Fraction(mechanism.loss.amount) * max(moved, Fraction(factor))
