"""Releases from noisy counts of keys, limits and ranks that are unknown in advance.

`KeyThreshold` releases keys that enough people share, `RangeFinder` finds limits of a column by powers of two, and
`TopK` finds the most frequent options by rounds of the exponential mechanism.

The upper tails of whole noise say how improbable it is that noise alone reaches a threshold. They decide a delta, so
every number is a fraction that is never below the truth.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.noise.gaussian_delta import mills
from toolkit.central.noise.grid import GRID_BITS, NO_END, proper
from toolkit.central.noise.laws import NoiseBasis
from toolkit.central.release import equal_diagonal, paid
from toolkit.central.selection import Exponential, root_below
from toolkit.central.sensitivity import root_up
from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import Number, check_integer, check_neighbors, check_positive, reject
from toolkit.core.covers import NOISE
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng
from toolkit.core.sampling import exp_enclosure
from toolkit.core.search import smallest_integer_where

Tail: TypeAlias = Callable[[int], Fraction]
"""A bound of Pr[noise >= k], for k of at least 1; it falls with k."""

_BITS = 256

_AT_A_TIME = 2**16  # keys that get their noise

_DIGITS = Context(prec=60)

_MORE = Fraction(10**30 + 1, 10**30)  # more than the roundings of sigma and of some operations on 60 digits

_ROOT_OF_TWO_PI = Fraction("2.506628274631000502415765284811045253006986740609938316629923")  # rounded down


def geometric_tail(scale: Fraction) -> Tail:
    """Return Pr[Z >= k] = q**k / (1 + q), q = e**(-1/scale), for the discrete Laplace law."""
    floor = Fraction(exp_enclosure(1 / scale, _BITS)[0], 2**_BITS)

    def tail(k: int) -> Fraction:
        return Fraction(exp_enclosure(k / scale, _BITS)[1], 2**_BITS) / (1 + floor)

    return tail


def rounded_normal_tail(variance: Fraction) -> Tail:
    """Pr[Z >= k] of a discrete Gaussian on the grid of `Gaussian`, rounded to whole numbers: it reaches k where the
    discrete Gaussian reaches k - 1/2, at most as often as the normal law reaches one step of the grid less (Canonne,
    Kamath and Steinke 2020, proposition 25); a step is at most sigma / 2**GRID_BITS.
    """
    shift = 120 + max(0, variance.denominator.bit_length())
    sigma = Fraction(math.isqrt(math.ceil(variance * 4**shift)) + 1, 2**shift)

    def tail(k: int) -> Fraction:
        point = (k - Fraction(1, 2)) / sigma - Fraction(1, 2**GRID_BITS)
        if point <= 0:
            return Fraction(1)
        x = _DIGITS.divide(Decimal(point.numerator), Decimal(point.denominator))
        power = _DIGITS.exp(_DIGITS.multiply(_DIGITS.multiply(x, x), Decimal("-0.5")))
        return Fraction(power) * Fraction(mills(x)[1]) / _ROOT_OF_TWO_PI * _MORE

    return tail


def threshold_words(noise: Laplace | Gaussian) -> str:
    return f"{type(noise).__name__} noise on counts, which are compared with a threshold"


def tail_of(noise: Laplace | Gaussian) -> Tail:
    """Return the tail of the integer noise that a mechanism adds to whole numbers; its sensitivity is at least 1."""
    return geometric_tail(noise._exact_scale) if isinstance(noise, Laplace) else rounded_normal_tail(noise.variance)


def least_reach(tail: Tail, enough: Callable[[Fraction], bool]) -> int:
    """Return the smallest k >= 1 whose tail probability is small enough."""
    return smallest_integer_where(lambda k: enough(tail(k)), 0, 1)


_SHOWS = "the chance that a rare key shows"


@dataclass(frozen=True)
class KeyThreshold:
    """Integer noise on the count of every key that occurs, which releases the keys whose noisy count is large enough.

    A person counts in at most `keys` keys, at most `rows` times in each. With L = keys * rows (twice that under
    "replace") the noise is discrete Laplace with q = e**(-epsilon / L), and the threshold is rows + k for the least k
    with p = Pr[noise >= k] so small that (1 - p)**keys >= 1 - delta and p <= 1 - q.

    That is (epsilon, delta): let E be that none of the j keys that one person alone holds appears. On E the outputs
    with and without the person differ in the other keys only, by a factor of at most e**(epsilon (L - j) / L), and
    Pr[E] >= (1 - p)**j >= 1 - delta. The other way round the factor is at most e**(epsilon (L - j) / L) / (1 - p)**j <=
    e**epsilon, because 1 - p >= q. A replaced person has such keys on both sides; the two inequalities hold together.

    With `rho` the noise is Gaussian, for half of delta: epsilon is what Zcdp(rho) converts to at delta / 2, and (1 -
    p)**keys >= 1 / (1 + delta / 2). A set of outputs with more than e**-epsilon / (1 - p)**j of the law without noise
    on the j keys needs no bound, and for the others what is missing is at most 1 / (1 - p)**j - 1.

    References: Korolova, Kenthapadi, Mishra and Ntoulas (2009); Desfontaines, Voss, Gipson and Mandayam (2022).
    """

    loss: Approx
    neighbors: str
    keys: int = 1
    rows: int = 1
    rho: Fraction | None = None

    def __post_init__(self) -> None:
        check_neighbors(self.neighbors)
        check_integer(self.keys, "keys")
        check_integer(self.rows, "rows")
        if not isinstance(self.loss, Approx) or not 0 < self.loss.slack < 1 or self.loss.amount == 0:
            reject("`loss` must be Approx(epsilon, delta), both above 0 and delta below 1", self.loss, NO_END)
        if self.rho is not None and not Zcdp(self.rho).to_approx(self.loss.slack / 2) <= self.loss:
            reject(f"`rho` must be small enough for {self.loss}", float(self.rho), "the claim would not hold")

    @classmethod
    def for_loss(
        cls, epsilon: Number, delta: Number, *, neighbors: str, keys: int = 1, rows: int = 1
    ) -> "KeyThreshold":
        """Make the mechanism with Laplace noise that costs Approx(epsilon, delta)."""
        return cls(Approx(check_positive(epsilon, "epsilon", NO_END), proper(delta, _SHOWS)), neighbors, keys, rows)

    @classmethod
    def for_rho(cls, rho: Number, delta: Number, *, neighbors: str, keys: int = 1, rows: int = 1) -> "KeyThreshold":
        """Gaussian noise of Zcdp(rho): lower thresholds where a person has many keys, at (1, 1e-6) from three on."""
        amount, slack = check_positive(rho, "rho", NO_END), proper(delta, _SHOWS)
        return cls(Approx(Zcdp(amount).to_approx(slack / 2).amount, slack), neighbors, keys, rows, amount)

    @property
    def people(self) -> int:
        """The number of people by which neighbors differ: 1 for "add_remove" and 2 for "replace"."""
        return 2 if self.neighbors == "replace" else 1

    @cached_property
    def noise(self) -> Laplace | Gaussian:
        if self.rho is None:
            sensitivity = self.people * self.keys * self.rows
            return Laplace.for_epsilon(Fraction(self.loss.amount), sensitivity=sensitivity)
        # Counts are not negative, so the squares of who goes and who comes add up.
        return Gaussian.for_rho(self.rho, sensitivity=root_up(self.people * self.keys * self.rows**2))

    @cached_property
    def threshold(self) -> int:
        """The smallest noisy count that is released."""
        slack, most = self.loss.slack, Fraction(1)
        least = 1 - slack if self.rho is None else 1 / (1 + slack / 2)
        if isinstance(self.noise, Laplace):
            most = 1 - Fraction(exp_enclosure(1 / self.noise._exact_scale, _BITS)[1], 2**_BITS)

        def enough(share: Fraction) -> bool:
            return share <= most and (1 - share) ** self.keys >= least

        return self.rows + least_reach(tail_of(self.noise), enough)

    def _describe(self) -> dict[str, Any]:
        words = {"mechanism": type(self).__name__, "words": threshold_words(self.noise)}
        return words | self.noise._describe_noise() | {"threshold": self.threshold, "keys a person": self.keys}

    def release(self, counts: Mapping[Any, int] | Iterable[tuple[Any, int]], rng: Rng = None) -> Estimate:
        """Return the keys whose noisy counts reach the threshold, largest first.

        `counts` may be an iterator. Keys with equal noisy counts keep its order, which must depend on the keys alone.
        """
        source, law = check_rng(rng), self.noise._integer_law
        items = iter(counts.items() if isinstance(counts, Mapping) else counts)
        above: list[tuple[Any, int]] = []
        chunk: list[tuple[Any, int]] | None = None
        while chunk is None or len(chunk) == _AT_A_TIME:
            chunk = list(islice(items, _AT_A_TIME))
            answer = np.array([*(number for _, number in chunk), 0], dtype=np.int64)  # never empty
            noisy = np.asarray(self.noise.release(answer, rng=source).value)[:-1]
            above += [
                (chunk[index][0], int(noisy[index])) for index in np.flatnonzero(noisy >= self.threshold).tolist()
            ]
        above.sort(key=lambda item: -item[1])
        counts_above: Any = np.array([number for _, number in above], dtype=np.int64)
        return Estimate(
            value=counts_above,
            se=np.full(len(counts_above), law.sd),
            labels=tuple(key for key, _ in above),
            cov=equal_diagonal(law.sd**2, len(counts_above)) if len(counts_above) else None,
            n=None,
            covers=NOISE,
            method=f"{type(self.noise).__name__} threshold",
            basis=NoiseBasis(counts_above, law),
            **paid(self.loss, source, self.note),
        )

    @property
    def note(self) -> str:
        return (
            f"keys whose noisy count reached {self.threshold}; how many did not is not told. A count near "
            "the threshold is shown only where its noise was high, so such counts are too high on average"
        )


_FARTHEST = 300


@dataclass(frozen=True)
class RangeFinder:
    """Limits of a column, at the outer edges 0 or ±2**e of the bins whose noisy count reaches `threshold`.

    The threshold is so high that with probability 1 - beta no empty bin reaches it: the least k with Pr[noise >= k] <=
    p, (1 - p)**bins = 1 - beta. A value beyond the outermost powers is in the outermost bin. If no bin reaches the
    threshold, the limits are the whole range.

    References: Wilson and others (2020), Differentially private SQL with bounded user contribution, section 5.
    """

    noise: Laplace | Gaussian
    first: int = -31
    last: int = 32
    beta: Fraction = Fraction(1, 1000)

    def __post_init__(self) -> None:
        powers = tuple(check_integer(power, "powers", minimum=-_FARTHEST) for power in (self.first, self.last))
        if not powers[0] < powers[1] <= _FARTHEST:
            rule = f"`powers` must be two increasing whole numbers within ±{_FARTHEST}"
            reject(rule, powers, "bins end at these powers of two")
        if not 0 < self.beta < 1:
            reject("`beta` must lie strictly between 0 and 1", self.beta, "it is the chance of a wide range")

    def _describe(self) -> dict[str, Any]:
        facts = {"mechanism": type(self).__name__, "words": threshold_words(self.noise)}
        return facts | self.noise._describe_noise() | {"threshold": self.threshold, "bins": self.bins}

    @property
    def loss(self) -> Loss:
        return self.noise.loss

    @cached_property
    def edges(self) -> tuple[Fraction, ...]:
        """All edges of bins, in increasing order."""
        powers = [Fraction(2) ** power for power in range(self.first, self.last + 1)]
        return (*(-power for power in reversed(powers)), Fraction(0), *powers)

    @property
    def bins(self) -> int:
        return len(self.edges) - 1

    @cached_property
    def threshold(self) -> int:
        def enough(share: Fraction) -> bool:
            return (1 - share) ** self.bins >= 1 - self.beta

        return least_reach(tail_of(self.noise), enough)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, range(self.bins)))

    @property
    def cuts(self) -> tuple[list[float], list[int]]:
        return [float(edge) for edge in self.edges[1:-1]], list(range(self.bins))

    def codes(self, values: Array) -> Steps:
        """Return the bin of each value, which includes its lower edge, or -1 for a missing value."""
        return np.where(np.isnan(values), -1, np.searchsorted(self.cuts[0], values, side="right"))

    def limits(self, noisy: Steps) -> tuple[Fraction, Fraction]:
        """From noisy counts, which nothing but noise separates from the data."""
        bins = np.flatnonzero(np.asarray(noisy) >= self.threshold)
        if not len(bins):
            return self.edges[0], self.edges[-1]
        return self.edges[int(bins[0])], self.edges[int(bins[-1]) + 1]

    def choose(self, counts: Steps, rng: Rng = None) -> tuple[Fraction, Fraction]:
        """Return the limits of the bins with these counts."""
        return self.limits(np.asarray(self.noise.release(counts, rng=rng).value))


@dataclass(frozen=True)
class TopK:
    """Top-k selection by repeated choice without replacement, with odds of e**(rate count).

    One person moves a count by at most `rows`, and those of k options by at most `together` in one direction. What
    makes the odds of a round add up to 1 moves by at most e**(rate rows), and what was chosen, over all rounds, by at
    most e**(rate together). Under "add_remove" all counts move in one direction, and the two against each other: no
    choice becomes more than e**(rate k rows) times likelier. Under "replace" some rise and some fall, and it is
    e**(rate (k rows + together)) at most.
    """

    loss: Pure
    k: int
    neighbors: str
    rows: int
    together: int

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Pure):
            reject("`loss` must be Pure(epsilon)", type(self.loss).__name__, "choices cost that", TypeError)
        check_positive(self.loss.amount, "epsilon", NO_END)
        check_neighbors(self.neighbors)
        check_integer(self.k, "k")
        check_integer(self.rows, "rows")
        if not self.rows <= check_integer(self.together, "together") <= self.k * self.rows:
            rule = "`together` must be at least `rows`, and at most that for each of k options"
            reject(rule, self.together, "one person moves the counts of k options by so much")

    def _describe(self) -> dict[str, Any]:
        words = "the exponential mechanism chose them, one after the other"
        return {"mechanism": type(self).__name__, "words": words, "rounds": self.k, "rate": str(self.rate)}

    @classmethod
    def for_epsilon(
        cls, epsilon: Number, k: int, *, neighbors: str, rows: int = 1, together: int | None = None
    ) -> "TopK":
        """Costs Pure(epsilon) in all; `together` is k times `rows` if not given, which is always enough."""
        amount, each = Pure(check_positive(epsilon, "epsilon", NO_END)), check_integer(rows, "rows")
        return cls(amount, check_integer(k, "k"), neighbors, each, k * each if together is None else together)

    @classmethod
    def for_rho(cls, rho: Number, k: int, *, neighbors: str, rows: int = 1, together: int | None = None) -> "TopK":
        """Make the mechanism that costs Zcdp(rho) up to rounding down: k bounded_range**2 / 8."""
        unit = cls.for_epsilon(1, k, neighbors=neighbors, rows=rows, together=together)
        amount = root_below(8 * check_positive(rho, "rho", NO_END) / k) / unit.bounded_range
        return cls.for_epsilon(amount, k, neighbors=neighbors, rows=rows, together=unit.together)

    @property
    def rate(self) -> Fraction:
        """The increase of the log-odds per count."""
        both = self.together if self.neighbors == "replace" else 0
        return Fraction(self.loss.amount) / (self.k * self.rows + both)

    @property
    def bounded_range(self) -> Fraction:
        """The bounded range of a round: the largest spread of the changes of its log-odds."""
        return (2 if self.neighbors == "replace" else 1) * self.rate * self.rows

    @property
    def zcdp(self) -> Zcdp:
        """The zCDP cost of all rounds, bounded_range**2 / 8 each."""
        return Zcdp(self.k * self.bounded_range**2 / 8)

    @property
    def round(self) -> Exponential:
        return Exponential.for_epsilon(2 * self.rate * self.rows, sensitivity=self.rows)

    def choose(self, counts: Steps | list[int], rng: Rng = None) -> list[int]:
        """Return the places of k options, in the order in which they were chosen."""
        source, numbers = check_rng(rng), np.asarray(counts, dtype=np.int64)
        remaining = np.arange(len(numbers))
        if len(remaining) < self.k:
            reject("`k` must be at most the number of options", self.k, f"there are {len(remaining)}")
        selection = []
        for _ in range(self.k):
            point = self.round.choose(range(len(remaining)), numbers[remaining], rng=source)
            selection.append(int(remaining[point]))
            remaining = np.delete(remaining, point)
        return selection

    def off_by(self, options: int) -> int:
        """Return the count by which, with probability 95 %, no chosen option falls short of the best remaining one."""
        return math.ceil((math.log(options) + math.log(20 * self.k)) / float(self.round._rate))
