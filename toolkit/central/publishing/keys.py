"""Release of keys, column limits and top options that are unknown in advance, from noisy counts.

`KeyThreshold` releases keys that enough people share, `RangeFinder` finds powers of two that bound a column, and `TopK`
selects the most frequent options in rounds of the exponential mechanism.

The upper tail of integer noise is the probability that noise alone reaches a threshold. This probability determines
delta, so every tail probability is a fraction that is rounded up.
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
from toolkit.central.noise.gaussian_delta import mills_ratio_bounds
from toolkit.central.noise.grid import GRID_BITS, NO_FINITE_NOISE, check_delta
from toolkit.central.noise.laws import NoiseBasis
from toolkit.central.release import constant_diagonal, loss_and_notes
from toolkit.central.selection import Exponential, check_selection_loss, sqrt_rounded_down
from toolkit.central.sensitivity import sqrt_rounded_up
from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import Number, check_integer, check_neighbors, check_positive, reject
from toolkit.core.covers import NOISE
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng
from toolkit.core.rounding import to_decimal
from toolkit.core.sampling import exp_minus_enclosure
from toolkit.core.search import smallest_integer_where

IntegerTail: TypeAlias = Callable[[int], Fraction]
"""An upper bound on Pr[noise >= k] for k >= 1, which decreases in k."""

_BITS = 256

_BATCH_SIZE = 2**16  # the number of keys per batch of noise

_DIGITS = Context(prec=60)

_MORE = Fraction(10**30 + 1, 10**30)  # exceeds the rounding error of sigma and of a few operations with 60 digits

_ROOT_OF_TWO_PI = Fraction("2.506628274631000502415765284811045253006986740609938316629923")  # rounded down


def geometric_tail(scale: Fraction) -> IntegerTail:
    """Return the tail of the discrete Laplace distribution, Pr[Z >= k] = q**k / (1 + q) with q = e**(-1/scale)."""
    floor = Fraction(exp_minus_enclosure(1 / scale, _BITS)[0], 2**_BITS)

    def tail(k: int) -> Fraction:
        return Fraction(exp_minus_enclosure(k / scale, _BITS)[1], 2**_BITS) / (1 + floor)

    return tail


def rounded_normal_tail(variance: Fraction) -> IntegerTail:
    """Return the tail Pr[Z >= k] of a discrete Gaussian on the grid of `Gaussian`, rounded to integers.

    Z is at least k if the discrete Gaussian is at least k - 1/2. The probability of this is at most the probability
    that a normal variable is at least k - 1/2 minus one grid step (Canonne, Kamath and Steinke 2020, proposition 25). A
    grid step is at most sigma / 2**GRID_BITS.
    """
    shift = 120 + max(0, variance.denominator.bit_length())
    sigma = Fraction(math.isqrt(math.ceil(variance * 4**shift)) + 1, 2**shift)

    def tail(k: int) -> Fraction:
        point = (k - Fraction(1, 2)) / sigma - Fraction(1, 2**GRID_BITS)
        if point <= 0:
            return Fraction(1)
        x = to_decimal(point, _DIGITS)
        power = _DIGITS.exp(_DIGITS.multiply(_DIGITS.multiply(x, x), Decimal("-0.5")))
        return Fraction(power) * Fraction(mills_ratio_bounds(x)[1]) / _ROOT_OF_TWO_PI * _MORE

    return tail


def threshold_description(noise: Laplace | Gaussian) -> str:
    return f"{type(noise).__name__} noise on counts, which are compared with a threshold"


def integer_noise_tail(noise: Laplace | Gaussian) -> IntegerTail:
    """Return the tail of the noise that a mechanism with a sensitivity of at least 1 adds to integers."""
    return geometric_tail(noise._exact_scale) if isinstance(noise, Laplace) else rounded_normal_tail(noise.variance)


def smallest_threshold(tail: IntegerTail, is_small_enough: Callable[[Fraction], bool]) -> int:
    """Return the smallest k >= 1 whose tail probability satisfies `is_small_enough`."""
    return smallest_integer_where(lambda k: is_small_enough(tail(k)), 0, 1)


_DELTA_MEANING = "the chance that a rare key is released"


@dataclass(frozen=True)
class KeyThreshold:
    """A release of the keys whose noisy counts are large enough, with integer noise on the count of every key.

    A person has at most K = `keys_per_person` keys, and at most R = `rows_per_person` rows with each key. With L = K R
    (2 K R under "replace") the noise is discrete Laplace with q = e**(-epsilon / L). The threshold is R + k for the
    smallest k such that p = Pr[noise >= k] satisfies (1 - p)**K >= 1 - delta and p <= 1 - q.

    The mechanism is (epsilon, delta)-private. Let j be the number of keys that only the person in question has, and E
    the event that none of these keys is released. On E the probabilities of an output with and without the person
    differ only because of the remaining keys, by a factor of at most e**(epsilon (L - j) / L), and Pr[E] >= (1 - p)**j
    >= 1 - delta. In the other direction the factor is at most e**(epsilon (L - j) / L) / (1 - p)**j <= e**epsilon,
    because 1 - p >= q. A replaced person can have such keys before and after the change; the inequalities then hold for
    both records together.

    With `rho` the noise is Gaussian. Half of delta covers the conversion: epsilon is the epsilon of Zcdp(rho) at delta
    / 2. The other half covers the threshold: (1 - p)**K >= 1 / (1 + delta / 2). If the remaining keys alone
    give a set of outputs the probability b, all keys together give it a probability of at least c = (1 - p)**j b. If
    e**epsilon c >= 1, there is nothing to show. Otherwise the difference e**epsilon (b - c), which is e**epsilon c
    times 1 / (1 - p)**j - 1, is at most 1 / (1 - p)**j - 1 <= delta / 2.

    References: Korolova, Kenthapadi, Mishra and Ntoulas (2009); Desfontaines, Voss, Gipson and Mandayam (2022).
    """

    loss: Approx
    neighbors: str
    keys_per_person: int = 1
    rows_per_person: int = 1
    rho: Fraction | None = None

    def __post_init__(self) -> None:
        check_neighbors(self.neighbors)
        check_integer(self.keys_per_person, "keys_per_person")
        check_integer(self.rows_per_person, "rows_per_person")
        if not isinstance(self.loss, Approx) or not 0 < self.loss.slack < 1 or self.loss.amount == 0:
            reject("`loss` must be Approx(epsilon, delta), both above 0 and delta below 1", self.loss, NO_FINITE_NOISE)
        if self.rho is not None and not Zcdp(self.rho).to_approx(self.loss.slack / 2) <= self.loss:
            reject(f"`rho` must be small enough for {self.loss}", float(self.rho), "the claim would not hold")

    @classmethod
    def for_loss(
        cls, epsilon: Number, delta: Number, *, neighbors: str, keys_per_person: int = 1, rows_per_person: int = 1
    ) -> "KeyThreshold":
        """Make the mechanism with Laplace noise that costs Approx(epsilon, delta)."""
        return cls(
            Approx(check_positive(epsilon, "epsilon", NO_FINITE_NOISE), check_delta(delta, _DELTA_MEANING)),
            neighbors,
            keys_per_person,
            rows_per_person,
        )

    @classmethod
    def for_rho(
        cls, rho: Number, delta: Number, *, neighbors: str, keys_per_person: int = 1, rows_per_person: int = 1
    ) -> "KeyThreshold":
        """Make the mechanism with Gaussian noise calibrated to Zcdp(rho).

        The thresholds are lower than with Laplace noise if a person can have many keys: at (epsilon, delta) = (1,
        1e-6), three or more.
        """
        amount, slack = check_positive(rho, "rho", NO_FINITE_NOISE), check_delta(delta, _DELTA_MEANING)
        return cls(
            Approx(Zcdp(amount).to_approx(slack / 2).amount, slack), neighbors, keys_per_person, rows_per_person, amount
        )

    @property
    def n_changed_people(self) -> int:
        """The number of people by which neighbors differ: 1 for "add_remove" and 2 for "replace"."""
        return 2 if self.neighbors == "replace" else 1

    @cached_property
    def noise(self) -> Laplace | Gaussian:
        if self.rho is None:
            sensitivity = self.n_changed_people * self.keys_per_person * self.rows_per_person
            return Laplace.for_epsilon(Fraction(self.loss.amount), sensitivity=sensitivity)
        # Counts are nonnegative, so the squared distance between two people's counts is at most the sum of the squared
        # norms.
        return Gaussian.for_rho(
            self.rho,
            sensitivity=sqrt_rounded_up(self.n_changed_people * self.keys_per_person * self.rows_per_person**2),
        )

    @cached_property
    def threshold(self) -> int:
        """The smallest noisy count that is released."""
        slack, max_share = self.loss.slack, Fraction(1)
        min_absent = 1 - slack if self.rho is None else 1 / (1 + slack / 2)
        if isinstance(self.noise, Laplace):
            max_share = 1 - Fraction(exp_minus_enclosure(1 / self.noise._exact_scale, _BITS)[1], 2**_BITS)

        def is_small_enough(share: Fraction) -> bool:
            return share <= max_share and (1 - share) ** self.keys_per_person >= min_absent

        return self.rows_per_person + smallest_threshold(integer_noise_tail(self.noise), is_small_enough)

    def _describe(self) -> dict[str, Any]:
        """Describe the mechanism for publication."""
        words = {"mechanism": type(self).__name__, "words": threshold_description(self.noise)}
        return (
            words | self.noise._describe_noise() | {"threshold": self.threshold, "keys a person": self.keys_per_person}
        )

    def release(self, counts: Mapping[Any, int] | Iterable[tuple[Any, int]], rng: Rng = None) -> Estimate:
        """Return the keys whose noisy counts reach the threshold, largest first.

        `counts` may be an iterator. Keys with equal noisy counts remain in the order of `counts`, which must depend on
        the keys alone.
        """
        source, law = check_rng(rng), self.noise._integer_law
        items = iter(counts.items() if isinstance(counts, Mapping) else counts)
        above: list[tuple[Any, int]] = []
        chunk: list[tuple[Any, int]] | None = None
        while chunk is None or len(chunk) == _BATCH_SIZE:
            chunk = list(islice(items, _BATCH_SIZE))
            answer = np.array([*(number for _, number in chunk), 0], dtype=np.int64)  # the 0 keeps the array non-empty
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
            cov=constant_diagonal(law.sd**2, len(counts_above)) if len(counts_above) else None,
            n=None,
            covers=NOISE,
            method=f"{type(self.noise).__name__} threshold",
            basis=NoiseBasis(counts_above, law),
            **loss_and_notes(self.loss, source, self.note),
        )

    @property
    def note(self) -> str:
        return (
            f"keys whose noisy count reached {self.threshold}; the number of other keys is not published. A count near "
            "the threshold is shown only if its noise was high, so such counts are too high on average"
        )


_MAX_POWER = 300


@dataclass(frozen=True)
class RangeFinder:
    """A search for the limits of a column, in bins with the edges 0 and ±2**e.

    The limits are the outer edges of the bins whose noisy count reaches `threshold`. With probability 1 - beta, no
    empty bin reaches the threshold, because the threshold is the smallest k with Pr[noise >= k] <= p, where (1 -
    p)**n_bins = 1 - beta. A value beyond the outermost powers belongs to the outermost bin. If no bin reaches the
    threshold, the limits are the outermost edges.

    References: Wilson and others (2020), Differentially private SQL with bounded user contribution, section 5.
    """

    noise: Laplace | Gaussian
    first_power: int = -31
    last_power: int = 32
    beta: Fraction = Fraction(1, 1000)

    def __post_init__(self) -> None:
        powers = tuple(
            check_integer(power, "powers", minimum=-_MAX_POWER) for power in (self.first_power, self.last_power)
        )
        if not powers[0] < powers[1] <= _MAX_POWER:
            rule = f"`powers` must be two increasing whole numbers within ±{_MAX_POWER}"
            reject(rule, powers, "bins end at these powers of two")
        if not 0 < self.beta < 1:
            reject("`beta` must lie strictly between 0 and 1", self.beta, "it is the chance that an empty bin counts")

    def _describe(self) -> dict[str, Any]:
        facts = {"mechanism": type(self).__name__, "words": threshold_description(self.noise)}
        return facts | self.noise._describe_noise() | {"threshold": self.threshold, "bins": self.n_bins}

    @property
    def loss(self) -> Loss:
        return self.noise.loss

    @cached_property
    def edges(self) -> tuple[Fraction, ...]:
        """All bin edges, in increasing order."""
        powers = [Fraction(2) ** power for power in range(self.first_power, self.last_power + 1)]
        return (*(-power for power in reversed(powers)), Fraction(0), *powers)

    @property
    def n_bins(self) -> int:
        return len(self.edges) - 1

    @cached_property
    def threshold(self) -> int:
        def is_small_enough(share: Fraction) -> bool:
            return (1 - share) ** self.n_bins >= 1 - self.beta

        return smallest_threshold(integer_noise_tail(self.noise), is_small_enough)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, range(self.n_bins)))

    @property
    def cuts(self) -> tuple[list[float], list[int]]:
        return [float(edge) for edge in self.edges[1:-1]], list(range(self.n_bins))

    def codes(self, values: Array) -> Steps:
        """Return the index of the bin of each value, or -1 for a missing value; a bin includes its lower edge."""
        return np.where(np.isnan(values), -1, np.searchsorted(self.cuts[0], values, side="right"))

    def limits_from_counts(self, noisy_counts: Steps) -> tuple[Fraction, Fraction]:
        """Return the limits from the noisy count of each bin."""
        bins = np.flatnonzero(np.asarray(noisy_counts) >= self.threshold)
        if not len(bins):
            return self.edges[0], self.edges[-1]
        return self.edges[int(bins[0])], self.edges[int(bins[-1]) + 1]

    def choose(self, counts: Steps, rng: Rng = None) -> tuple[Fraction, Fraction]:
        """Add noise to the count of each bin and return the limits."""
        return self.limits_from_counts(np.asarray(self.noise.release(counts, rng=rng).value))


@dataclass(frozen=True)
class TopK:
    """Selection of the top k in k rounds without replacement, with probabilities proportional to e**(rate count).

    One person changes a count by at most R = `rows_per_person`, and the sum of k counts by at most S =
    `max_total_change` in one direction. So the normalizing sum of a round changes by a factor of at most e**(rate R),
    and the product of the selected odds over all rounds by at most e**(rate S). Under "add_remove" all counts change in
    the same direction and the two factors partly cancel, so no selection becomes more than e**(rate k R) times as
    likely. Under "replace" some counts rise and others fall, so the factor is at most e**(rate (k R + S)).
    """

    loss: Pure
    k: int
    neighbors: str
    rows_per_person: int
    max_total_change: int

    def __post_init__(self) -> None:
        check_selection_loss(self.loss)
        check_neighbors(self.neighbors)
        check_integer(self.k, "k")
        check_integer(self.rows_per_person, "rows_per_person")
        if (
            not self.rows_per_person
            <= check_integer(self.max_total_change, "max_total_change")
            <= self.k * self.rows_per_person
        ):
            rule = "`max_total_change` must lie between `rows_per_person` and k * `rows_per_person`"
            reject(rule, self.max_total_change, "it is the total change of k counts that one person can cause")

    def _describe(self) -> dict[str, Any]:
        """Describe the mechanism for publication."""
        words = "the exponential mechanism chose them, one after the other"
        return {"mechanism": type(self).__name__, "words": words, "rounds": self.k, "rate": str(self.rate)}

    @classmethod
    def for_epsilon(
        cls, epsilon: Number, k: int, *, neighbors: str, rows_per_person: int = 1, max_total_change: int | None = None
    ) -> "TopK":
        """Make the mechanism that costs Pure(epsilon); `max_total_change` is k * rows_per_person by default."""
        amount, rows = (
            Pure(check_positive(epsilon, "epsilon", NO_FINITE_NOISE)),
            check_integer(rows_per_person, "rows_per_person"),
        )
        return cls(
            amount, check_integer(k, "k"), neighbors, rows, k * rows if max_total_change is None else max_total_change
        )

    @classmethod
    def for_rho(
        cls, rho: Number, k: int, *, neighbors: str, rows_per_person: int = 1, max_total_change: int | None = None
    ) -> "TopK":
        """Make the mechanism that costs k bounded_range**2 / 8 = Zcdp(rho), with `bounded_range` rounded down."""
        unit = cls.for_epsilon(
            1, k, neighbors=neighbors, rows_per_person=rows_per_person, max_total_change=max_total_change
        )
        amount = sqrt_rounded_down(8 * check_positive(rho, "rho", NO_FINITE_NOISE) / k) / unit.bounded_range
        return cls.for_epsilon(
            amount, k, neighbors=neighbors, rows_per_person=rows_per_person, max_total_change=unit.max_total_change
        )

    @property
    def rate(self) -> Fraction:
        """The increase of the log-odds per unit of the count."""
        replaced = self.max_total_change if self.neighbors == "replace" else 0
        return Fraction(self.loss.amount) / (self.k * self.rows_per_person + replaced)

    @property
    def bounded_range(self) -> Fraction:
        """The bounded range of a round: one person changes the difference of two log-odds by at most this amount."""
        return (2 if self.neighbors == "replace" else 1) * self.rate * self.rows_per_person

    @property
    def zcdp(self) -> Zcdp:
        """The zCDP cost of all rounds, each of which costs bounded_range**2 / 8."""
        return Zcdp(self.k * self.bounded_range**2 / 8)

    @property
    def round_mechanism(self) -> Exponential:
        return Exponential.for_epsilon(2 * self.rate * self.rows_per_person, sensitivity=self.rows_per_person)

    def choose(self, counts: Steps | list[int], rng: Rng = None) -> list[int]:
        """Return the indices of k options, in the order in which they were chosen."""
        source, numbers = check_rng(rng), np.asarray(counts, dtype=np.int64)
        remaining = np.arange(len(numbers))
        if len(remaining) < self.k:
            reject("`k` must be at most the number of options", self.k, f"there are {len(remaining)} options")
        selection = []
        for _ in range(self.k):
            index = self.round_mechanism.choose(range(len(remaining)), numbers[remaining], rng=source)
            selection.append(int(remaining[index]))
            remaining = np.delete(remaining, index)
        return selection

    def error_bound(self, n_options: int) -> int:
        """Return a 95 % bound on the difference between the best remaining count and the chosen count."""
        return math.ceil((math.log(n_options) + math.log(20 * self.k)) / float(self.round_mechanism._rate))
