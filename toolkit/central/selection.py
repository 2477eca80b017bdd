"""Private selection of one of many candidates: exponential mechanism, permute-and-flip and report-noisy-max.

A higher score means a better candidate, and one person changes each score by at most `sensitivity`. All three
mechanisms sample exactly, with integers, and their running time does not depend on the scores. Scores are private and
must be finite; error messages quote no score.

`Odds` uses integers to represent the weights e**(rate (score - best)) times a base measure. The weight of a candidate
is enclosed between integers in units of 2**-40 of the largest weight. Only operations that IEEE 754 specifies to the
last bit are used (subtract, multiply, compare, read the bits of a double), with a margin for each rounding. Powers of 2
come from tables of integers that are rounded up. The same operations are executed for every candidate.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from toolkit.central.noise.grid import (
    NO_FINITE_NOISE,
    NO_NOISE_NEEDED,
    PrivateValue,
    check_magnitude,
    grid_exponent,
    read_private_value,
    round_to_steps,
    rounded_sensitivity,
    steps_below_maximum,
)
from toolkit.central.sparse import AboveThreshold as AboveThreshold
from toolkit.core.arrays import Array, ArrayLike, Steps
from toolkit.core.checks import Number, check_positive, explain_call, reject
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import WORD, Rng, below, big_below, check_rng, falls_below, words
from toolkit.core.rounding import to_decimal
from toolkit.core.sampling import discrete_laplace, exp_minus_enclosure, exp_of, floor_log2

UNIT_BITS = 40

_FRACTION = 20  # logarithms to base 2 are in units of 2**-20

_HALF = 10

_MASK = (1 << _HALF) - 1

_SECOND = 22

_CAP = float(2**50)

_BIAS = 1023 << _FRACTION  # the exponent bias of a double

_CURVE = 90_300  # above 0.0861 * 2**20, plus a unit for the lower half of the bits

_CHUNK_SIZE = 1 << 14

_SURE = 88 * 2**WORD // 100

_MARGIN = 1 - 2.0**-48  # covers more than six roundings of 2**-53 each

_LN2 = Decimal("0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687")


@lru_cache(maxsize=1)
def _tables() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return tables of 2**-i/1024 in units of 2**-40 and of 2**-j/2**20 in units of 2**-22, rounded up."""
    first = [exp_minus_enclosure(Fraction(_LN2) * i / 2**_HALF, UNIT_BITS)[1] for i in range(1 << _HALF)]
    second = [exp_minus_enclosure(Fraction(_LN2) * j / 2**_FRACTION, _SECOND)[1] for j in range(1 << _HALF)]
    return np.array(first, dtype=np.uint64), np.array(second, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Odds:
    """The weights base * e**(-rate * (best - score)) of all candidates; `rate` is exact."""

    scores: PrivateValue
    rate: Fraction
    base: npt.NDArray[Any] | None = None

    @cached_property
    def best_score(self) -> Any:
        """The highest score among the candidates that the base allows."""
        entries = self.scores.entries
        return entries.max() if self.base is None else entries.max(where=self.base > 0, initial=entries.min())

    def score_gaps(self, chunk: slice) -> npt.NDArray[np.float64]:
        """Return the difference between the best score and each score, rounded once or twice.

        The difference of two 64-bit integers may wrap to a negative number, which adding 2**64 corrects. The correction
        takes the same time for all data, unlike the processor's conversion of unsigned integers.
        """
        with np.errstate(over="ignore"):
            gaps = (self.best_score - self.scores.entries[chunk]).astype(np.float64)
        return np.asarray(gaps + (gaps < 0) * 2.0**64 if self.scores.is_whole else gaps)

    def negative_log2(self, chunk: slice) -> npt.NDArray[np.int64]:
        """Return lower bounds, at most 2 units too low, on -log2 of e**(-rate * gap) in units of 2**-20."""
        with np.errstate(over="ignore"):
            scaled = self.score_gaps(chunk) * self._log2_rate
        # A gap is negative only where the base is 0; with integer scores, it then appears as a very large number.
        return np.asarray(np.clip(scaled, 0, _CAP, out=scaled).astype(np.int64))

    @cached_property
    def levels(self) -> npt.NDArray[np.int64]:
        """Lower bounds on -log2 of the weights, in units of 2**-20, up to the constant `level_offset`.

        The upper half of the bits of a double is a piecewise linear approximation of its logarithm, exact at powers of
        2. The approximation is never above the logarithm, and at most 0.0861 below it.
        """
        levels = np.empty(len(self.scores.entries), dtype=np.int64)
        for chunk in self.chunks():
            levels[chunk] = self.negative_log2(chunk)
            if self.base is not None:
                levels[chunk] -= self.base[chunk].astype(np.float64).view(np.int64) >> 32
        return levels

    @cached_property
    def smallest_level(self) -> int:
        return int(self.levels.min())

    @property
    def level_offset(self) -> int:
        return 0 if self.base is None else _BIAS - _CURVE

    def envelope(self, chunk: slice) -> npt.NDArray[np.uint64]:
        """Return integers that are at least 2 and at least 2**unit_bits times weight / largest weight.

        The inverse of the same linear approximation gives a power of 2 that is at least as large as the exact power,
        and at most 1.0615 times as large.
        """
        top = (1023 + self.unit_bits) << _FRACTION
        bits = np.maximum(top + self.smallest_level - self.levels[chunk], _BIAS)
        return np.asarray((bits << 32).view(np.float64).astype(np.uint64) + np.uint64(1))

    @cached_property
    def envelope_sums(self) -> npt.NDArray[np.uint64]:
        """The cumulative sum of the envelope at the end of each chunk."""
        if self._whole_envelope is not None:
            return np.array([self._whole_envelope.sum()], dtype=np.uint64)
        return np.cumsum([self.envelope(chunk).sum() for chunk in self.chunks()], dtype=np.uint64)

    @cached_property
    def _whole_envelope(self) -> npt.NDArray[np.uint64] | None:
        """The whole envelope if all candidates fit into one chunk; otherwise None, to compute chunks on demand."""
        return self.envelope(slice(None)) if len(self.scores.entries) <= _CHUNK_SIZE else None

    def _envelope_at(self, i: int) -> int:
        return int(self.envelope(slice(i, i + 1))[0] if self._whole_envelope is None else self._whole_envelope[i])

    def locate(self, position: int) -> int:
        """Return the candidate whose interval of the cumulative envelope contains `position`."""
        chunk_index = int(np.searchsorted(self.envelope_sums, np.uint64(position), side="right"))
        start, before = chunk_index * _CHUNK_SIZE, int(self.envelope_sums[chunk_index - 1]) if chunk_index else 0
        inside = np.cumsum(
            self.envelope(slice(start, start + _CHUNK_SIZE)) if self._whole_envelope is None else self._whole_envelope
        )
        return start + int(np.searchsorted(inside, np.uint64(position - before), side="right"))

    def chunks(self) -> Iterator[slice]:
        """Return slices of candidates whose working arrays fit into the processor's cache."""
        return (slice(start, start + _CHUNK_SIZE) for start in range(0, len(self.scores.entries), _CHUNK_SIZE))

    @cached_property
    def _log2_rate(self) -> float:
        return float(self.rate * 2**_FRACTION / Fraction(_LN2)) * _MARGIN

    @property
    def unit_bits(self) -> int:
        """The number of bits of the envelope's unit, reduced for very many candidates to keep the sum below 2**64."""
        return min(UNIT_BITS, 62 - len(self.scores.entries).bit_length())

    def exact_exponent(self, i: int) -> Fraction:
        return self.rate * (Fraction(self.best_score.item()) - Fraction(self.scores.entries[i].item()))

    def is_surely_accepted(self, i: int, word: int) -> bool:
        """Return whether a uniform word is so low that candidate i is accepted in any case.

        If the envelope is not small, the probability of such a word is above 0.88. The two linear approximations
        contribute a factor of at least 2**-0.0862 / 1.0616, and rounding to units a factor of at least 1 - 2**-17.
        """
        return word < _SURE and self._envelope_at(i) >= 2**20

    def acceptance(self, i: int, bits: int) -> tuple[int, int]:
        """Return bounds on 2**bits times the acceptance probability of candidate i.

        The probability is e**-x with x = exponent - ln2 * level / 2**20 - ln(base * 2**unit_bits / envelope). Each
        term is computed with at least 20 extra digits.
        """
        if self.base is not None and self.base[i] <= 0:
            return 0, 0
        exponent = self.exact_exponent(i)
        if exponent > bits + 4096:  # all other terms together are below 4096
            return 0, 1
        measure = Fraction(1 if self.base is None else self.base[i].item())
        factor = measure * 2**self.unit_bits / self._envelope_at(i)
        context = Context(prec=bits * 302 // 1000 + 30)
        level = context.divide(Decimal(self.smallest_level + self.level_offset), Decimal(2**_FRACTION))
        reference = context.multiply(context.ln(Decimal(2)), level)
        power = context.subtract(
            context.add(context.ln(to_decimal(factor, context)), reference), to_decimal(exponent, context)
        )
        numerator, denominator = context.exp(min(power, Decimal(0))).as_integer_ratio()
        middle = (numerator << bits) // denominator
        return max(middle - 1, 0), middle + 2


def upper_powers(logs: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Return integers that exceed 2**(40 - log) by a factor between 1 + 2**-20 and 2, for logs in units of 2**-20."""
    first, second = _tables()
    product = np.take(first, (logs >> _HALF) & _MASK) * np.take(second, logs & _MASK)
    shift = np.minimum((logs >> _FRACTION) + _SECOND, WORD - 1).view(np.uint64)
    return np.asarray((product >> shift) + np.uint64(1))


def lower_powers(logs: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Return integers slightly below 2**(40 - log): the upper bound minus its largest excess."""
    bound = upper_powers(logs)
    return np.asarray(bound - np.minimum((bound >> np.uint64(19)) + np.uint64(2), bound))


def check_base(base: PrivateValue, n_candidates: int) -> npt.NDArray[Any]:
    """Check that the base weights of the candidates are non-negative and not all 0."""
    if base.size != n_candidates:
        reject(
            "`base` must have one weight for each candidate",
            f"{base.size} weights",
            f"there are {n_candidates} candidates",
        )
    if base.entries.min() < 0 or base.entries.max() <= 0:
        reject("`base` must have no negative and some positive weights", "others", "base weights form a measure")
    return np.asarray(base.entries)


_EXACT = 2**50


@dataclass(frozen=True, repr=False)
class SelectionMechanism:
    """The base class of selection mechanisms, with a loss, a sensitivity of the scores, and a method `choose`."""

    loss: Pure
    sensitivity: Fraction = Fraction(1)
    _description: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_selection_loss(self.loss)
        object.__setattr__(self, "sensitivity", check_magnitude(self.sensitivity, "sensitivity", NO_NOISE_NEEDED))
        check_magnitude(self._rate, "epsilon / (2 sensitivity)", NO_FINITE_NOISE)

    @classmethod
    def for_epsilon(cls, epsilon: Number, *, sensitivity: Number = 1) -> Self:
        """Make the mechanism that costs Pure(epsilon).

        Parameters
        ----------
        epsilon : Number
            The cost of a selection.
        sensitivity : Number
            The largest change of a score that one person can cause.

        Returns
        -------
        Self
            The mechanism.
        """
        return cls(
            Pure(check_positive(epsilon, "epsilon", NO_FINITE_NOISE)),
            check_magnitude(sensitivity, "sensitivity", NO_NOISE_NEEDED),
        )

    def _describe(self) -> dict[str, Any]:
        """Describe the mechanism for publication, with the sensitivity and the rate that determine the loss."""
        words = {"mechanism": type(self).__name__, "words": self._description or type(self).__name__}
        return words | {"sensitivity": str(self.sensitivity), "rate": str(self._rate)}

    @property
    def _rate(self) -> Fraction:
        """The rate epsilon / (2 sensitivity) at which the log-odds of a candidate increase with its score."""
        return Fraction(self.loss.amount) / (2 * self.sensitivity)

    def choose(self, candidates: Sequence[Any], scores: ArrayLike, *, rng: Rng = None) -> Any:
        """Choose one of the candidates.

        Parameters
        ----------
        candidates : sequence
            The candidates.
        scores : array-like
            The score of each candidate; higher is better.
        rng : Generator, optional
            A generator for simulations; the default is the operating system's randomness.

        Returns
        -------
        object
            The chosen candidate.
        """
        numbers, source = _read_scores(scores), check_rng(rng)
        _check_lengths(candidates, numbers)
        return _candidate_at(candidates, self._select_index(numbers, source))

    def _select_index(self, scores: PrivateValue, rng: Rng) -> int:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} sensitivity {float(self.sensitivity):.4g}; {self.loss}>"


@explain_call("Exponential.for_epsilon(1.0, sensitivity=1)", scores="how good each candidate is, one number each")
@dataclass(frozen=True, repr=False)
class Exponential(SelectionMechanism):
    """The exponential mechanism, with probabilities proportional to base * e**(epsilon score / (2 sensitivity)).

    Sampling is exact. A candidate is proposed with probability proportional to an integer bound on its weight, and
    accepted with probability weight / bound, evaluated to as many digits as needed. Nearly all proposals are accepted.

    Parameters
    ----------
    loss : Pure
        The cost of a selection.
    sensitivity : Fraction
        The largest change of a score that one person can cause.

    References
    ----------
    McSherry and Talwar (2007).

    Examples
    --------
    >>> mechanism = Exponential.for_epsilon(2, sensitivity=1)
    >>> mechanism.probabilities([1, 0, 0])
    array([0.576..., 0.211..., 0.211...])
    >>> mechanism.choose(["a", "b", "c"], [100, 0, 0])
    'a'
    """

    _description = "the exponential mechanism"

    @classmethod
    def for_rho(cls, rho: Number, *, sensitivity: Number = 1) -> Self:
        """Make the mechanism that costs Zcdp(rho), with epsilon = sqrt(8 rho) rounded down.

        Parameters
        ----------
        rho : Number
            The cost of a selection.
        sensitivity : Number
            The largest change of a score that one person can cause.

        Returns
        -------
        Self
            The mechanism.

        Examples
        --------
        >>> Exponential.for_rho("1/8").loss
        Pure(1.0)
        """
        return cls.for_epsilon(
            sqrt_rounded_down(8 * check_positive(rho, "rho", NO_FINITE_NOISE)), sensitivity=sensitivity
        )

    @property
    def zcdp(self) -> Zcdp:
        """The cost in concentrated privacy, epsilon**2 / 8 (Cesar and Rogers 2021).

        One person changes each score by at most `sensitivity`, and the normalizing constant is the same for all
        candidates. So the changes of their log-probabilities differ by at most epsilon. For two distributions with this
        bounded range, the Rényi divergence of every order a is at most a * epsilon**2 / 8.
        """
        return Zcdp(Fraction(self.loss.amount) ** 2 / 8)

    def choose(
        self, candidates: Sequence[Any], scores: ArrayLike, base: ArrayLike | None = None, rng: Rng = None
    ) -> Any:
        """Choose one of the candidates.

        Parameters
        ----------
        candidates : sequence
            The candidates.
        scores : array-like
            The score of each candidate; higher is better.
        base : array-like, optional
            The base measure, with a weight for each candidate; the default is equal weights.
        rng : Generator, optional
            A generator for simulations; the default is the operating system's randomness.

        Returns
        -------
        object
            The chosen candidate.
        """
        odds, source = self._odds(scores, base), check_rng(rng)
        _check_lengths(candidates, odds.scores)
        return _candidate_at(candidates, _draw_index(odds, source))

    def _choose_point(
        self, edges: ArrayLike, scores: ArrayLike, *, exponent: int | None = None, rng: Rng = None
    ) -> float:
        """Choose a real number with a score that is constant between edges.

        The density is proportional to e**(epsilon score / (2 sensitivity)). The candidates are the multiples of
        2**exponent from the first to the last edge, inclusive. An interval includes its lower edge; the last
        interval also includes its upper edge.

        Parameters
        ----------
        edges : array-like
            Non-decreasing edges. The first and the last edge are public; the other edges may be private.
        scores : array-like
            The score of each interval, which may be private.
        exponent : int, optional
            The public exponent of the grid. By default, the grid is fine relative to the distance between the outer
            edges.
        rng : Generator, optional
            A generator for simulations; the default is the operating system's randomness.

        Returns
        -------
        float
            The chosen point.

        Examples
        --------
        >>> 1 <= Exponential.for_epsilon(2)._choose_point([0, 1, 2, 10], [0, 100, 0], exponent=-3) < 2
        True
        """
        source, ends = check_rng(rng), read_private_value(edges, "edges")
        limits = ends.entries if not ends.is_scalar else np.array([ends.entries])
        spacing = _default_exponent(limits) if exponent is None else int(exponent)
        first = _first_steps(limits, spacing)
        if len(first) != np.size(scores) + 1:
            rule = "`edges` must have one more entry than `scores`"
            reject(rule, f"{len(first)} edges", "each score belongs to the interval between two edges")
        if first[-1] == first[0]:
            reject("`exponent` must leave a candidate between the outer edges", spacing, "choose a finer grid")
        if np.diff(first).min() < 0:
            reject("`edges` must not decrease", "edges out of order", "sort them")
        return float(self._choose_step(first, scores, source) * Fraction(2) ** spacing)

    def _choose_step(self, starts: Steps, scores: ArrayLike, rng: Rng = None) -> int:
        """Choose an integer with a score that is constant on intervals.

        `starts` holds the first integer of each interval in increasing order, and finally the integer after the last
        interval.
        """
        counts = np.diff(starts)
        index = _draw_index(Odds(_read_scores(scores), self._rate, counts), check_rng(rng))
        return int(starts[index]) + big_below(int(counts[index]), rng)

    def probabilities(self, scores: ArrayLike, base: ArrayLike | None = None) -> Array:
        """Compute the selection probabilities in floating point, for teaching and tests.

        Parameters
        ----------
        scores : array-like
            The score of each candidate; higher is better.
        base : array-like, optional
            The base measure, with a weight for each candidate; the default is equal weights.

        Returns
        -------
        Array
            The probability of each candidate.
        """
        odds = self._odds(scores, base)
        with np.errstate(over="ignore", under="ignore"):
            weights = np.exp(-float(self._rate) * odds.score_gaps(slice(None)))
        if odds.base is not None:
            weights = np.where(odds.base > 0, weights, 0.0) * odds.base
        return np.asarray(weights / weights.sum())

    def _odds(self, scores: ArrayLike, base: ArrayLike | None) -> Odds:
        numbers = _read_scores(scores)
        return Odds(
            numbers, self._rate, None if base is None else check_base(read_private_value(base, "base"), numbers.size)
        )


@explain_call("PermuteAndFlip.for_epsilon(1.0, sensitivity=1)")
@dataclass(frozen=True, repr=False)
class PermuteAndFlip(SelectionMechanism):
    """Permute-and-flip: candidates in random order, each accepted with e**(epsilon (score - best) / (2 sensitivity)).

    It costs Pure(epsilon) and is never worse than the exponential mechanism with the same epsilon. Its zCDP cost,
    however, can be larger: nearly epsilon**2 / 2 for a small epsilon and two candidates with equal scores, if one score
    rises while the other falls. The first accepted candidate in random order is uniformly distributed among all
    accepted candidates. So the implementation decides on all candidates and then draws one of the accepted candidates.
    Its running time therefore reveals nothing about the scores.

    Parameters
    ----------
    loss : Pure
        The cost of a selection.
    sensitivity : Fraction
        The largest change of a score that one person can cause.

    References
    ----------
    McKenna and Sheldon (2020).

    Examples
    --------
    >>> PermuteAndFlip.for_epsilon(2).choose(["a", "b"], [100, 0])
    'a'
    """

    def _select_index(self, scores: PrivateValue, rng: Rng) -> int:
        odds = Odds(scores, self._rate)
        accepted = np.concatenate([chunk.start + self._accepted(odds, chunk, rng) for chunk in odds.chunks()])
        return int(accepted[int(below(len(accepted), 1, rng)[0])])

    def _accepted(self, odds: Odds, chunk: slice, rng: Rng) -> npt.NDArray[np.intp]:
        """Return the indices, within a chunk, of the accepted candidates."""
        logs = odds.negative_log2(chunk)
        uniform = words(len(logs), WORD, rng) >> np.uint64(WORD - UNIT_BITS)
        is_accepted = uniform < lower_powers(logs + 2)
        for i in np.flatnonzero(~is_accepted & (uniform < upper_powers(logs))):
            is_accepted[i] = falls_below(
                exp_of(odds.exact_exponent(chunk.start + int(i))), int(uniform[i]), UNIT_BITS, rng
            )
        return np.flatnonzero(is_accepted)


@explain_call("NoisyMax.for_epsilon(1.0, sensitivity=1)")
@dataclass(frozen=True, repr=False)
class NoisyMax(SelectionMechanism):
    """Report-noisy-max: the highest score after Laplace noise of scale 2 sensitivity / epsilon is added to each score.

    Only the winner is released, without its score; ties go to the first candidate. Given the noise of all other
    candidates, a candidate wins if its own noise reaches a threshold. One person changes this threshold by at most
    twice the sensitivity. The same holds on a grid of whole steps.

    Parameters
    ----------
    loss : Pure
        The cost of a selection.
    sensitivity : Fraction
        The largest change of a score that one person can cause.

    References
    ----------
    Dwork and Roth (2014), claim 3.9.

    Examples
    --------
    >>> NoisyMax.for_epsilon(2).choose(["a", "b"], [100, 0])
    'a'
    """

    def _select_index(self, scores: PrivateValue, rng: Rng) -> int:
        is_whole = scores.is_whole and self.sensitivity >= 1
        exponent = 0 if is_whole else grid_exponent(self.sensitivity, 1 / self._rate)
        sensitivity = self.sensitivity
        if not is_whole:
            sensitivity = rounded_sensitivity(sensitivity / Fraction(2) ** exponent, 1, "l1")
        noise = discrete_laplace(2 * sensitivity / Fraction(self.loss.amount), scores.size, rng)
        if scores.is_whole > is_whole or noise.dtype == object or np.abs(noise).max() > _EXACT:
            pairs = zip(scores.entries.tolist(), noise, strict=True)
            steps = [round_to_steps(Fraction(score), exponent) + int(k) for score, k in pairs]
            return steps.index(max(steps))
        # If noise - gap is above -2**50, as for the best score, both are below 2**52 and therefore exact floats.
        return int(np.argmax(noise - steps_below_maximum(scores, exponent)))


def check_selection_loss(loss: object) -> None:
    """Reject a loss other than Pure(epsilon) with a positive epsilon."""
    if not isinstance(loss, Pure):
        reject("`loss` must be Pure(epsilon)", type(loss).__name__, "a selection has a pure loss", TypeError)
    check_positive(loss.amount, "epsilon", NO_FINITE_NOISE)


def sqrt_rounded_down(square: Fraction) -> Fraction:
    """Return a square root, rounded down to 60 binary digits after the leading digit."""
    shift = 60 + max(0, square.denominator.bit_length() - square.numerator.bit_length())
    return Fraction(math.isqrt(math.floor(square * 4**shift)), 2**shift)


def _read_scores(scores: object) -> PrivateValue:
    if isinstance(scores, np.ndarray) and scores.dtype == np.int64 and scores.ndim == 1 and len(scores):
        return PrivateValue(scores, is_whole=True, is_scalar=False)  # ranks have this dtype, and integers need no check
    numbers = read_private_value(scores, "scores")
    return PrivateValue(np.array([numbers.entries]), numbers.is_whole, False) if numbers.is_scalar else numbers


def _check_lengths(candidates: Sequence[Any], scores: PrivateValue) -> None:
    if len(candidates) != scores.size:
        received = f"{len(candidates)} candidates and {scores.size} scores"
        reject("`candidates` must have one score each", received, "each candidate is chosen by its score")


def _candidate_at(candidates: Sequence[Any], index: int) -> Any:
    return candidates.iloc[index] if hasattr(candidates, "iloc") else candidates[index]


def _draw_index(odds: Odds, rng: Rng) -> int:
    """Draw a candidate with probability proportional to its weight, by rejection sampling from the envelope."""
    total = int(odds.envelope_sums[-1])
    while True:
        index = odds.locate(int(below(total, 1, rng)[0]))
        word = int(words(1, WORD, rng)[0])
        if odds.is_surely_accepted(index, word) or falls_below(partial(odds.acceptance, index), word, WORD, rng):
            return index


def _default_exponent(edges: npt.NDArray[Any]) -> int:
    """Return the exponent of a grid that is fine relative to the range of the edges, but not finer than floats."""
    low, high = Fraction(edges[0].item()), Fraction(edges[-1].item())
    if low >= high:
        rule = "the last of the `edges` must exceed the first"
        reject(rule, "equal or decreasing edges", "there is no point between them")
    return max(floor_log2(high - low) - 32, floor_log2(max(abs(low), abs(high))) - 52)


def _first_steps(edges: npt.NDArray[Any], exponent: int) -> npt.NDArray[np.int64]:
    """Return the first grid step at or above each edge; the last edge belongs to the last interval."""
    low, high = (Fraction(edges[i].item()) / Fraction(2) ** exponent for i in (0, -1))
    if max(abs(low), abs(high)) > 2**53:
        reject("`exponent` must not be finer than 2**-53 of the outer edges", exponent, "floats cannot be finer")
    start, end = -(-low.numerator // low.denominator), high.numerator // high.denominator + 1
    if edges.dtype == np.int64 and exponent == 0:
        return np.append(np.clip(edges[:-1], start, end), end)
    scaled = np.ldexp(edges, -exponent) if abs(exponent) > 1000 else edges * 2.0**-exponent
    steps = np.ceil(np.clip(scaled, float(start), float(end), out=scaled), out=scaled).astype(np.int64)
    steps[-1] = end
    return steps
