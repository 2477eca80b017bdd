"""`RecursiveQuantiles`: many quantiles of one column for little more than the cost of a single quantile.

Values are integers, the points of a public grid. A cut separates the values below it from all other values. The middle
quantile is chosen first. Then the smaller quantiles are chosen among the values below the cut, and the larger quantiles
among the other values. So at each level of the recursion, a person contributes to only one part.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from toolkit.central.noise.grid import NO_FINITE_NOISE
from toolkit.central.selection import Exponential, check_selection_loss, sqrt_rounded_down
from toolkit.core.arrays import Steps
from toolkit.core.checks import Number, check_integer, check_neighbors, check_positive, exact_fraction, reject
from toolkit.core.loss import Pure, Zcdp, format_amount
from toolkit.core.randomness import WORD, Rng, check_rng, falls_below, words
from toolkit.core.sampling import exp_of

MAX_ROWS = 2**30
"""The maximum number of rows for which rank error bounds hold if the number of rows is private."""
MAX_SHARE_DENOMINATOR = 2**20
"""The largest denominator of a quantile; its product with 2**42 rows (32 TiB of floats) is below 2**63."""
_MAX_TIES = 16  # the assumed maximum number of values at one point of the grid
_FAR_LOG_ODDS = 30  # an interval with odds below e**-30 times the best odds is refined only if drawn
_COIN_BATCH = 2**26
_RUN_LENGTHS = (3, 4, 6, 8, 12, 16, 24, 32)
_CLOSE_PROBABILITY = 2e-5  # the probability that values lie closer together than assumed
_ONE_IN = 20.01  # the inverse of 5 % minus `_CLOSE_PROBABILITY`, rounded up


@dataclass(frozen=True)
class QuantileSplit:
    """One node of the recursion, which chooses a quantile in a part of the data.

    `index` is the position of the quantile in the list, `level` the recursion level, and `share` the quantile within
    the part. The part contains the quantiles from `start` up to, but not including, `stop`.
    """

    index: int
    level: int
    share: Fraction
    start: int
    stop: int


@dataclass(frozen=True)
class RecursiveQuantiles:
    """The recursive exponential mechanism for a list of quantiles, with one selection per quantile.

    If r of the n values of a part lie below a cut, the cut has the score -|r - share n|. A person who enters or leaves
    the part changes the score by at most d = max(share, 1 - share), and a person who stays in the part by at most 1 <=
    2 d. Each level of the recursion gets epsilon / n_levels. Under "add_remove" a person is in one part per level, and
    the odds fall by a factor of e**(-epsilon_per_level / (2 d)) per rank. Under "replace" a person can move from one
    part to another, so the odds fall half as fast. The first part contains all people. So under "replace" its score
    changes by at most 1, unless `is_grouped` states that a person can move to another table of the release. All rates
    are divided by `rows_per_person`.

    References: Kaplan, Schnapp and Stemmer (2022), Differentially private approximate quantiles.
    """

    loss: Pure
    quantiles: tuple[Fraction, ...]
    neighbors: str
    rows_per_person: int = 1
    is_grouped: bool = False

    def __post_init__(self) -> None:
        check_selection_loss(self.loss)
        check_neighbors(self.neighbors)
        check_integer(self.rows_per_person, "rows_per_person")
        quantiles = self.quantiles
        ordered = all(low < high for low, high in pairwise(quantiles))
        if not quantiles or not ordered or not 0 <= quantiles[0] <= quantiles[-1] <= 1:
            rule = "quantiles must be increasing shares between 0 and 1"
            reject(rule, f"{len(quantiles)} other numbers", "sort them and leave out duplicates")

    @classmethod
    def for_epsilon(
        cls,
        epsilon: Number,
        quantiles: Sequence[Number],
        *,
        neighbors: str,
        rows_per_person: int = 1,
        is_grouped: bool = False,
    ) -> "RecursiveQuantiles":
        amount = Pure(check_positive(epsilon, "epsilon", NO_FINITE_NOISE))
        return cls(
            amount, tuple(exact_fraction(q, "quantiles") for q in quantiles), neighbors, rows_per_person, is_grouped
        )

    @classmethod
    def for_rho(
        cls,
        rho: Number,
        quantiles: Sequence[Number],
        *,
        neighbors: str,
        rows_per_person: int = 1,
        is_grouped: bool = False,
    ) -> "RecursiveQuantiles":
        """Make the mechanism that costs n_levels * epsilon_per_level**2 / 8 = Zcdp(rho); epsilon is rounded down."""
        n_levels = len(quantiles).bit_length()
        epsilon_per_level = sqrt_rounded_down(8 * check_positive(rho, "rho", NO_FINITE_NOISE) / n_levels)
        return cls.for_epsilon(
            n_levels * epsilon_per_level,
            quantiles,
            neighbors=neighbors,
            rows_per_person=rows_per_person,
            is_grouped=is_grouped,
        )

    def _describe(self) -> dict[str, Any]:
        words = "the exponential mechanism chose each, the middle one first"
        facts = {"mechanism": type(self).__name__, "words": words}
        return facts | {"levels": self.n_levels, "epsilon a level": format_amount(self.epsilon_per_level)}

    @property
    def n_levels(self) -> int:
        """The number of recursion levels, for example 4 for nine deciles."""
        return len(self.quantiles).bit_length()

    @property
    def epsilon_per_level(self) -> Fraction:
        """The epsilon of one recursion level."""
        return Fraction(self.loss.amount) / self.n_levels

    @property
    def zcdp(self) -> Zcdp:
        """The zCDP cost, epsilon_per_level**2 / 8 per level.

        The bounded range of the selections of a level is epsilon_per_level if one part changes. If two parts change, it
        is half of this for each part.
        """
        return Zcdp(self.n_levels * self.epsilon_per_level**2 / 8)

    @cached_property
    def splits(self) -> tuple[QuantileSplit, ...]:
        """All splits; a split comes after the splits of all enclosing parts."""
        return tuple(self._make_splits(0, len(self.quantiles), Fraction(0), Fraction(1), 0))

    @lru_cache(maxsize=1024)  # noqa: B019  (mechanisms and splits are public and small)
    def selection_mechanism(self, split: QuantileSplit) -> Exponential:
        """Return the mechanism of one split, for scores in units of 1 / denominator of its share."""
        unit, share = split.share.denominator, split.share.numerator
        farthest = max(share, unit - share)
        if self.neighbors == "add_remove":
            return Exponential.for_epsilon(self.epsilon_per_level / self.rows_per_person, sensitivity=farthest)
        if split.level == 0 and not self.is_grouped:
            return Exponential.for_epsilon(self.epsilon_per_level / self.rows_per_person, sensitivity=unit)
        return Exponential.for_epsilon(self.epsilon_per_level / (2 * self.rows_per_person), sensitivity=farthest)

    def choose(self, values: Steps, n_points: int, rng: Rng = None) -> list[int]:
        """Choose non-decreasing cuts from 0 to `n_points`, one per quantile; values lie in 0 … n_points - 1."""
        source, ordered = check_rng(rng), np.sort(values)
        cuts: dict[int, int] = {-1: 0, len(self.quantiles): n_points}
        for split in self.splits:
            low, high = cuts[split.start - 1], cuts[split.stop]
            inside = ordered[slice(*np.searchsorted(ordered, [low, high]))]
            cuts[split.index] = self.selection_mechanism(split)._choose_step(
                *rank_scores(inside, split.share, low, high), source
            )
        return [cuts[index] for index in range(len(self.quantiles))]

    def choose_lazily(self, values: "StepCounts", rng: Rng = None) -> list[int]:
        """Choose cuts with the same distribution as `choose`, but draw random digits only when they matter."""
        source, cuts = check_rng(rng), {-1: 0, len(self.quantiles): values.n_points}
        for split in self.splits:
            cuts[split.index] = self._draw_cut(split, values, cuts[split.start - 1], cuts[split.stop], source)
        return [cuts[index] for index in range(len(self.quantiles))]

    def _draw_cut(self, split: QuantileSplit, values: "StepCounts", low: int, high: int, rng: Rng) -> int:
        """Choose a cut of one part by rejection sampling.

        A cut is proposed with the weight of the best possible score in its interval. It is accepted with a probability
        equal to its true weight divided by this weight. If a cut is rejected, its interval is halved. The distribution
        of the accepted cut is exact for any intervals. The intervals are short where scores are high, so most proposals
        are accepted.
        """
        mechanism, unit = self.selection_mechanism(split), split.share.denominator
        start, number = values.rank(low), values.rank(high) - values.rank(low)
        sought, rate = split.share.numerator * number, float(mechanism._rate)

        def best(first: Any, last: Any) -> Any:
            return -np.maximum(np.maximum(unit * first - sought, sought - unit * last), 0)

        def halves(at: int, end: int, first: int, last: int) -> Iterator[tuple[int, int]]:
            """Yield split points of an interval, and the number of values below each, until splits hardly matter."""
            steep, far = (last - first) * unit * rate > 2, -best(first, last) * rate > _FAR_LOG_ODDS
            if end - at > 1 and steep and not far:
                middle = (at + end) // 2
                below = values.rank(middle) - start
                yield from halves(at, middle, first, below)
                yield middle, below
                yield from halves(middle, end, below, last)

        edges, ranks = values.edges(low, high, start)
        near = (best(ranks[:-1], ranks[1:]) * rate >= -_FAR_LOG_ODDS) & (np.diff(ranks) * (unit * rate) > 2)
        more = [
            (index + 1, *half)
            for index in np.flatnonzero(near).tolist()
            for half in halves(*edges[index : index + 2].tolist(), *ranks[index : index + 2].tolist())
        ]
        while True:
            at, cut_at, below = np.array(more, dtype=np.int64).reshape(-1, 3).T
            edges, ranks = np.insert(edges, at, cut_at), np.insert(ranks, at, below)
            scores = best(ranks[:-1], np.where(np.diff(edges) > 1, ranks[1:], ranks[:-1]))
            cut = mechanism._choose_step(edges, scores, rng)
            index = int(np.searchsorted(edges, cut, "right")) - 1
            rank = values.rank(cut) - start
            worse = int(scores[index]) + abs(unit * rank - sought)
            if not worse or falls_below(exp_of(mechanism._rate * worse), int(words(1, WORD, rng)[0]), WORD, rng):
                return cut
            middle = int(edges[index] + edges[index + 1]) // 2
            more = [(index + 1, middle, values.rank(middle) - start)] if middle > edges[index] else []

    def rank_error_bound(self, n_points: int, n_steps: int | None = None, max_rows: int = MAX_ROWS) -> int:
        """Return the rank error that no quantile exceeds, with probability 95 %, for up to `max_rows` rows.

        The grid of `n_points` points consists of `n_steps` steps, each refined by random digits.

        Consider a selection among C cuts, w of which have a rank error of at most k. The error of the selected cut
        exceeds k + ln(C / (w b)) / rate with probability at most b. The parts of a level share `n_points` cuts. One
        choice is w = 1 and k = 8, because with 30 digits and 2**30 rows, the probability of 17 values at one point is
        below 4e-6. The alternative is k = 2 run_length and w = `smallest_distance`: among 2 run_length consecutive
        values, either half are in the same step, or a whole step lies between two of them. A quantile between two
        quantiles with errors e and f has the additional error (1 - share) e + share f. A smaller bound would require
        the data, which determine ties and gaps.
        """
        log_cuts = math.log((n_points + len(self.quantiles)) * self.n_levels * _ONE_IN)
        bounds = [self._joint_bound(log_cuts, _MAX_TIES // 2)]
        if n_steps is not None:
            widths = {
                run_length: smallest_distance(n_points // n_steps, max_rows, run_length) for run_length in _RUN_LENGTHS
            }
            bounds += [
                self._joint_bound(log_cuts - math.log(w), 2 * run_length) for run_length, w in widths.items() if w
            ]
        if n_steps is not None and self.n_levels == 1:
            bounds.append(self._single_bound(n_steps))
        return min(bounds)

    def _joint_bound(self, log_cuts: float, near_error: int) -> int:
        """Return the bound if, in each selection, one of `e**log_cuts` cuts has an error of at most `near_error`."""
        bounds = {-1: 0.0, len(self.quantiles): 0.0}
        for split in self.splits:
            share, error = float(split.share), log_cuts / self._rate(split) + near_error
            bounds[split.index] = error + (1 - share) * bounds[split.start - 1] + share * bounds[split.stop]
        return math.ceil(max(bounds.values()))

    def _single_bound(self, n_steps: int) -> int:
        """Return a bound on the number of values strictly between the step of a single quantile and the true step.

        Let m be the number of values in the nearest occupied step on one side. Let W be the share of cuts in that step
        that have at most j of these values on the side of the quantile. W is 1 if m <= j, and otherwise stochastically
        at least Beta(j + 1, m - j), so E[1 / W] is at most m / j. The rank error of a cut with more than r values in
        between exceeds that of these cuts by at least max(r + 1, m) - j. The total probability of such cuts is below
        n_steps (r + 1) / j e**(-rate (r + 1 - j)) for any j up to r, if r + 1 is at least 1 / rate.
        """
        rate = self._rate(self.splits[0])
        near = max(1, math.floor(1 / rate))
        more = near + 1.0  # r + 1, above 1 / rate
        for _ in range(60):
            more = max(more, near + math.log(n_steps * _ONE_IN * more / near) / rate)
        return math.ceil(more + 1e-9) - 1

    def _rate(self, split: QuantileSplit) -> float:
        """Return the decrease of the log-odds per rank in one part."""
        return float(self.selection_mechanism(split)._rate * split.share.denominator)

    @property
    def has_rounded_share(self) -> bool:
        """Whether the share of some split was rounded because its denominator is too large."""
        ends = {-1: Fraction(0), len(self.quantiles): Fraction(1)} | dict(enumerate(self.quantiles))
        return any(
            split.share * (ends[split.stop] - ends[split.start - 1]) != ends[split.index] - ends[split.start - 1]
            for split in self.splits
        )

    def _make_splits(self, start: int, stop: int, low: Fraction, high: Fraction, level: int) -> Iterator[QuantileSplit]:
        if start == stop:
            return
        middle = (start + stop) // 2
        quantile = self.quantiles[middle]
        share = round_share((quantile - low) / (high - low))
        yield QuantileSplit(middle, level, share, start, stop)
        yield from self._make_splits(start, middle, low, quantile, level + 1)
        yield from self._make_splits(middle + 1, stop, quantile, high, level + 1)


class StepCounts:
    """The number of values in each step; random digits that refine the steps are drawn on demand.

    When a cut needs a digit, the number of zeros among n values is drawn from Binomial(n, 1/2). The distribution is the
    same as if all digits of all values were drawn, but memory grows with the number of steps and cuts and not with the
    data.
    """

    def __init__(self, counts: Steps, n_digits: int, rng: Rng = None) -> None:
        self._below, self._n_digits, self._rng = np.concatenate([[0], np.cumsum(counts)]), n_digits, rng
        self._zeros: dict[tuple[int, int], int] = {}
        self.n_points = len(counts) << n_digits

    def rank(self, cut: int) -> int:
        """Return the number of values below a cut."""
        step, rest = divmod(cut, 2**self._n_digits)
        rank = int(self._below[step])
        number, digit = int(self._below[step + 1]) - rank if rest else 0, self._n_digits
        while number and rest:
            digit -= 1
            key = digit, cut >> (digit + 1)
            if key not in self._zeros:
                self._zeros[key] = _draw_heads(number, self._rng)
            if rest >> digit:
                rank, number, rest = rank + self._zeros[key], number - self._zeros[key], rest - 2**digit
            else:
                number = self._zeros[key]
        return rank

    def edges(self, low: int, high: int, start_rank: int) -> tuple[Steps, Steps]:
        """Return the step edges from `low` to `high`, and the number of values between `start_rank` and each edge."""
        first, last = low // 2**self._n_digits + 1, -(-high // 2**self._n_digits)
        edges = np.concatenate([[low], np.arange(first, last, dtype=np.int64) << self._n_digits, [high + 1]])
        ranks = np.concatenate([[self.rank(low)], self._below[first:last], [self.rank(high)]])
        return edges, ranks - start_rank


def _draw_heads(n_coins: int, rng: Rng) -> int:
    """Draw the number of heads in `n_coins` fair coins."""
    heads = 0
    for start in range(0, n_coins, _COIN_BATCH):
        coins = words(-(-min(_COIN_BATCH, n_coins - start) // 64), 64, rng).copy()
        coins[-1] >>= np.uint64(-min(_COIN_BATCH, n_coins - start) % 64)
        heads += int(np.bitwise_count(coins).sum())
    return heads


def round_share(q: Fraction) -> Fraction:
    """Return the nearest fraction with a denominator of at most `MAX_SHARE_DENOMINATOR`."""
    return q.limit_denominator(MAX_SHARE_DENOMINATOR)


def rank_scores(ordered_values: Steps, share: Fraction, low: int, high: int) -> tuple[Steps, Steps]:
    """Return the first cuts with 0, 1, …, n sorted values below them, followed by the end, and the n + 1 scores."""
    number, unit = len(ordered_values), share.denominator
    scores = -np.abs(unit * np.arange(number + 1, dtype=np.int64) - share.numerator * number)
    return np.concatenate([[low], ordered_values + 1, [high + 1]]).astype(np.int64), scores


def smallest_distance(n_points: int, n_rows: int, run_length: int) -> int:
    """Return a lower bound, with probability 1 - 2e-5, on the span of `run_length` consecutive values of one step.

    The distance is measured in points of a step, and is 0 if no bound is available. Let w be a distance, n = `n_rows`
    and r = `run_length`. The probability that r of at most n random points lie within fewer than w neighboring points
    is at most n C(n - 1, r - 1) (w / n_points)**(r - 1): one of the n points is the first, and r - 1 others follow it.
    """
    others = run_length - 1
    sets = math.lgamma(n_rows) - math.lgamma(run_length) - math.lgamma(n_rows - others) if n_rows > run_length else 0.0
    return math.floor(
        n_points * math.exp(min((math.log(_CLOSE_PROBABILITY) - math.log(max(n_rows, 1)) - sets) / others, 0))
    )
