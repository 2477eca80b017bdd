"""`RecursiveQuantiles`: many quantiles of one column at little more than the cost of one, starting from the middle.

Values are whole numbers: the points of a public grid. A quantile is a cut with the values below it on its left. After
the middle quantile is chosen, smaller ranks are chosen among the values on its left and larger ones among those on its
right, so that a person is in one part at a time.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from toolkit.central.noise.grid import NO_END
from toolkit.central.selection import Exponential, root_below
from toolkit.core.arrays import Steps
from toolkit.core.checks import Number, check_integer, check_neighbors, check_positive, exact_fraction, reject
from toolkit.core.loss import Pure, Zcdp, format_amount
from toolkit.core.randomness import WORD, Rng, check_rng, falls_below, words
from toolkit.core.sampling import exp_of

MOST_ROWS = 2**30
"""The number of rows up to which bounds on ranks hold if the number of rows is private."""
MOST_RANK_UNITS = 2**20
"""The largest denominator of a quantile: 2**20 times 2**42 rows, which are 32 TiB of floats, is below 2**63.
"""
_MOST_EQUAL = 16  # the largest number of values at one point of the grid
_FAR = 30  # cuts that are less likely by e**-30 than the best are refined only if drawn
_COINS = 2**26
_RUNS = (3, 4, 6, 8, 12, 16, 24, 32)
_ONE_IN, _LEFT = 20.01, 2e-5  # 5 %, minus the probability that values lie closer than assumed


@dataclass(frozen=True)
class Part:
    """A quantile between two others or the ends, with its index in the list, its recursion level and its share."""

    index: int
    level: int
    share: Fraction
    start: int
    stop: int


@dataclass(frozen=True)
class RecursiveQuantiles:
    """The recursive exponential mechanism for a list of quantiles, with one choice per quantile in parts of the data.

    A cut with r of a part's n values on its left has the score -|r - share n|. A person who enters or leaves the part
    changes it by at most d = max(share, 1 - share), and one who stays in the part by at most 1 <= 2 d. Each level of
    the recursion has epsilon / levels. Under "add_remove" a person is in one part per level, and odds fall by
    e**(-epsilon_level / (2 d)) per rank. Under "replace" a person can change from one part to another, so they fall
    half as fast. If there is only one part, the first of a list that is not `grouped` (nobody can move to another table
    of the release), the score changes by at most 1 under "replace". With several `rows` per person all rates are
    divided by their number.

    References: Kaplan, Schnapp and Stemmer (2022), Differentially private approximate quantiles.
    """

    loss: Pure
    quantiles: tuple[Fraction, ...]
    neighbors: str
    rows: int = 1
    grouped: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Pure):
            reject("`loss` must be Pure(epsilon)", type(self.loss).__name__, "choices cost that", TypeError)
        check_positive(self.loss.amount, "epsilon", NO_END)
        check_neighbors(self.neighbors)
        check_integer(self.rows, "rows")
        quantiles = self.quantiles
        ordered = all(low < high for low, high in pairwise(quantiles))
        if not quantiles or not ordered or not 0 <= quantiles[0] <= quantiles[-1] <= 1:
            rule = "quantiles must be increasing shares between 0 and 1"
            reject(rule, f"{len(quantiles)} others", "sort them")

    @classmethod
    def for_epsilon(
        cls, epsilon: Number, quantiles: Sequence[Number], *, neighbors: str, rows: int = 1, grouped: bool = False
    ) -> "RecursiveQuantiles":
        amount = Pure(check_positive(epsilon, "epsilon", NO_END))
        return cls(amount, tuple(exact_fraction(q, "quantiles") for q in quantiles), neighbors, rows, grouped)

    @classmethod
    def for_rho(
        cls, rho: Number, quantiles: Sequence[Number], *, neighbors: str, rows: int = 1, grouped: bool = False
    ) -> "RecursiveQuantiles":
        """Make the mechanism that costs Zcdp(rho) up to rounding down: levels * epsilon_level**2 / 8."""
        levels = len(quantiles).bit_length()
        each = root_below(8 * check_positive(rho, "rho", NO_END) / levels)
        return cls.for_epsilon(levels * each, quantiles, neighbors=neighbors, rows=rows, grouped=grouped)

    def _describe(self) -> dict[str, Any]:
        words = "the exponential mechanism chose each, the middle one first"
        facts = {"mechanism": type(self).__name__, "words": words}
        return facts | {"levels": self.levels, "epsilon a level": format_amount(self.each)}

    @property
    def levels(self) -> int:
        """The number of levels of the recursion, for example 4 for nine deciles."""
        return len(self.quantiles).bit_length()

    @property
    def each(self) -> Fraction:
        """The epsilon of one level."""
        return Fraction(self.loss.amount) / self.levels

    @property
    def zcdp(self) -> Zcdp:
        """The zCDP cost, epsilon_level**2 / 8 per level.

        The choices of a level have bounded range: epsilon_level if a person is in one part, and half of it in each of
        two parts.
        """
        return Zcdp(self.levels * self.each**2 / 8)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All parts, in an order in which each follows the parts that enclose it."""
        return tuple(self._parts(0, len(self.quantiles), Fraction(0), Fraction(1), 0))

    @lru_cache(maxsize=1024)  # noqa: B019  (mechanisms and parts are public, and small)
    def choice(self, part: Part) -> Exponential:
        """Return the mechanism of one part, for scores in units of 1 / denominator of its share."""
        unit, share = part.share.denominator, part.share.numerator
        farthest = max(share, unit - share)
        if self.neighbors == "add_remove":
            return Exponential.for_epsilon(self.each / self.rows, sensitivity=farthest)
        if part.level == 0 and not self.grouped:
            return Exponential.for_epsilon(self.each / self.rows, sensitivity=unit)
        return Exponential.for_epsilon(self.each / (2 * self.rows), sensitivity=farthest)

    def choose(self, values: Steps, most: int, rng: Rng = None) -> list[int]:
        """Choose a cut from 0 to `most` for each quantile, in non-decreasing order; values lie in 0 … most - 1."""
        source, ordered = check_rng(rng), np.sort(values)
        cuts: dict[int, int] = {-1: 0, len(self.quantiles): most}
        for part in self.parts:
            low, high = cuts[part.start - 1], cuts[part.stop]
            inside = ordered[slice(*np.searchsorted(ordered, [low, high]))]
            cuts[part.index] = self.choice(part)._choose_step(*rank_scores(inside, part.share, low, high), source)
        return [cuts[index] for index in range(len(self.quantiles))]

    def choose_spread(self, values: "StepCounts", rng: Rng = None) -> list[int]:
        """Choose cuts for values whose random digits are drawn only where they matter, with the law of `choose`."""
        source, cuts = check_rng(rng), {-1: 0, len(self.quantiles): values.most}
        for part in self.parts:
            cuts[part.index] = self._cut(part, values, cuts[part.start - 1], cuts[part.stop], source)
        return [cuts[index] for index in range(len(self.quantiles))]

    def _cut(self, part: Part, values: "StepCounts", low: int, high: int, rng: Rng) -> int:
        """Choose a cut of one part by rejection sampling.

        Cuts are proposed by the best score possible in their interval, and accepted with the ratio of the true weight;
        an interval whose cut is rejected is halved. The law of the accepted cut is exact for any intervals. They are
        short where scores are high, so most proposals are accepted.
        """
        choice, unit = self.choice(part), part.share.denominator
        start, number = values.rank(low), values.rank(high) - values.rank(low)
        sought, rate = part.share.numerator * number, float(choice._rate)

        def best(first: Any, last: Any) -> Any:
            return -np.maximum(np.maximum(unit * first - sought, sought - unit * last), 0)

        def halves(at: int, end: int, first: int, last: int) -> Iterator[tuple[int, int]]:
            """Yield the points that split an interval, with the number of values below, until splits matter little."""
            steep, far = (last - first) * unit * rate > 2, -best(first, last) * rate > _FAR
            if end - at > 1 and steep and not far:
                middle = (at + end) // 2
                below = values.rank(middle) - start
                yield from halves(at, middle, first, below)
                yield middle, below
                yield from halves(middle, end, below, last)

        edges, ranks = values.edges(low, high, start)
        near = (best(ranks[:-1], ranks[1:]) * rate >= -_FAR) & (np.diff(ranks) * (unit * rate) > 2)
        more = [
            (index + 1, *half)
            for index in np.flatnonzero(near).tolist()
            for half in halves(*edges[index : index + 2].tolist(), *ranks[index : index + 2].tolist())
        ]
        while True:
            at, cut_at, below = np.array(more, dtype=np.int64).reshape(-1, 3).T
            edges, ranks = np.insert(edges, at, cut_at), np.insert(ranks, at, below)
            scores = best(ranks[:-1], np.where(np.diff(edges) > 1, ranks[1:], ranks[:-1]))
            cut = choice._choose_step(edges, scores, rng)
            index = int(np.searchsorted(edges, cut, "right")) - 1
            rank = values.rank(cut) - start
            worse = int(scores[index]) + abs(unit * rank - sought)
            if not worse or falls_below(exp_of(choice._rate * worse), int(words(1, WORD, rng)[0]), WORD, rng):
                return cut
            middle = int(edges[index] + edges[index + 1]) // 2
            more = [(index + 1, middle, values.rank(middle) - start)] if middle > edges[index] else []

    def off_by(self, most: int, steps: int | None = None, rows: int = MOST_ROWS) -> int:
        """Return the rank error that no quantile exceeds with probability 95 %, for any data of at most `rows` rows.

        There are `most` points, which are `steps` followed by random digits.

        A choice among C cuts, w of which have a rank error of at most k, has an error above k + ln(C / (w b)) / rate
        with probability at most b; the parts of a level share `most` cuts. Either w = 1 and k = 8, because 17 values at
        one point have probability below 4e-6 with 30 digits and 2**30 rows. Or k = 2 run and w = `least_distance`,
        because of 2 run consecutive values half have the same step, or a step lies between them. A quantile between two
        others with errors e and f has the additional error (1 - share) e + share f. A smaller bound would need the
        data, which determine how many values are equal and where gaps are.
        """
        cuts = math.log((most + len(self.quantiles)) * self.levels * _ONE_IN)
        bounds = [self._off_by_all(cuts, _MOST_EQUAL // 2)]
        if steps is not None:
            widths = {run: least_distance(most // steps, rows, run) for run in _RUNS}
            bounds += [self._off_by_all(cuts - math.log(w), 2 * run) for run, w in widths.items() if w]
        if steps is not None and self.levels == 1:
            bounds.append(self._off_by_one(steps))
        return min(bounds)

    def _off_by_all(self, cuts: float, near: int) -> int:
        """Return the bound if one of `e**cuts` cuts in each choice has an error of at most `near`."""
        off = {-1: 0.0, len(self.quantiles): 0.0}
        for part in self.parts:
            share, error = float(part.share), cuts / self._rate(part) + near
            off[part.index] = error + (1 - share) * off[part.start - 1] + share * off[part.stop]
        return math.ceil(max(off.values()))

    def _off_by_one(self, steps: int) -> int:
        """Return the bound for a single quantile, on the number of values strictly between its step and the true one.

        Let m values have the next step on one side. The cuts in that step with at most j of these values on the side of
        the quantile fill a share W of the step. W is 1 if m <= j, and otherwise stochastically at least
        Beta(j + 1, m - j), so E[1 / W] is at most m / j. Cuts with more than r values in between have a rank error that
        is larger by at least max(r + 1, m) - j. Together they are less likely than
        steps (r + 1) / j e**(-rate (r + 1 - j)) for any j up to r, if r + 1 is at least 1 / rate.
        """
        rate = self._rate(self.parts[0])
        near = max(1, math.floor(1 / rate))
        more = near + 1.0  # r + 1, above 1 / rate
        for _ in range(60):
            more = max(more, near + math.log(steps * _ONE_IN * more / near) / rate)
        return math.ceil(more + 1e-9) - 1

    def _rate(self, part: Part) -> float:
        """Return the decrease of the log-odds per rank."""
        return float(self.choice(part)._rate * part.share.denominator)

    @property
    def rounded(self) -> bool:
        """Whether the share of some part is rounded, because its denominator is too large."""
        ends = {-1: Fraction(0), len(self.quantiles): Fraction(1)} | dict(enumerate(self.quantiles))
        return any(
            part.share * (ends[part.stop] - ends[part.start - 1]) != ends[part.index] - ends[part.start - 1]
            for part in self.parts
        )

    def _parts(self, start: int, stop: int, low: Fraction, high: Fraction, level: int) -> Iterator[Part]:
        if start == stop:
            return
        middle = (start + stop) // 2
        quantile = self.quantiles[middle]
        share = rank_unit((quantile - low) / (high - low))
        yield Part(middle, level, share, start, stop)
        yield from self._parts(start, middle, low, quantile, level + 1)
        yield from self._parts(middle + 1, stop, quantile, high, level + 1)


class StepCounts:
    """The number of values in each step, with random digits after the step that are drawn lazily.

    When a cut needs a digit, the number of zeros among n values is drawn from Binomial(n, 1/2). The law is that of
    drawing all digits of all values, but the memory grows with the steps and the cuts instead of the data.
    """

    def __init__(self, counts: Steps, digits: int, rng: Rng = None) -> None:
        self._below, self._digits, self._rng = np.concatenate([[0], np.cumsum(counts)]), digits, rng
        self._zeros: dict[tuple[int, int], int] = {}
        self.most = len(counts) << digits

    def rank(self, cut: int) -> int:
        step, rest = divmod(cut, 2**self._digits)
        rank = int(self._below[step])
        number, digit = int(self._below[step + 1]) - rank if rest else 0, self._digits
        while number and rest:
            digit -= 1
            key = digit, cut >> (digit + 1)
            if key not in self._zeros:
                self._zeros[key] = _heads(number, self._rng)
            if rest >> digit:
                rank, number, rest = rank + self._zeros[key], number - self._zeros[key], rest - 2**digit
            else:
                number = self._zeros[key]
        return rank

    def edges(self, low: int, high: int, start: int) -> tuple[Steps, Steps]:
        """Return the edges of the steps from low to high, and the number of values below each, from rank `start`."""
        first, last = low // 2**self._digits + 1, -(-high // 2**self._digits)
        edges = np.concatenate([[low], np.arange(first, last, dtype=np.int64) << self._digits, [high + 1]])
        ranks = np.concatenate([[self.rank(low)], self._below[first:last], [self.rank(high)]])
        return edges, ranks - start


def _heads(number: int, rng: Rng) -> int:
    """Draw the number of heads in `number` fair coins."""
    heads = 0
    for start in range(0, number, _COINS):
        coins = words(-(-min(_COINS, number - start) // 64), 64, rng).copy()
        coins[-1] >>= np.uint64(-min(_COINS, number - start) % 64)
        heads += int(np.bitwise_count(coins).sum())
    return heads


def rank_unit(q: Fraction) -> Fraction:
    """Return the nearest fraction to q with a denominator of at most `MOST_RANK_UNITS`: within 2**-21 of it."""
    return q.limit_denominator(MOST_RANK_UNITS)


def rank_scores(inside: Steps, share: Fraction, low: int, high: int) -> tuple[Steps, Steps]:
    """Where the cuts begin that leave 0, 1, …, n sorted values on their left, and one after the last; their scores."""
    number, unit = len(inside), share.denominator
    scores = -np.abs(unit * np.arange(number + 1, dtype=np.int64) - share.numerator * number)
    return np.concatenate([[low], inside + 1, [high + 1]]).astype(np.int64), scores


def least_distance(places: int, rows: int, run: int) -> int:
    """Return the least distance spanned by `run` consecutive values of one step, with probability 1 - 2e-5.

    It is measured in points of a step, and 0 if no bound is available. The probability that `run` of at most `rows`
    random points lie within fewer than w neighboring points is at most
    rows * C(rows - 1, run - 1) * (w / places)**(run - 1), because one of them is the first and the others follow
    within.
    """
    others = run - 1
    sets = math.lgamma(rows) - math.lgamma(run) - math.lgamma(rows - others) if rows > run else 0.0
    return math.floor(places * math.exp(min((math.log(_LEFT) - math.log(max(rows, 1)) - sets) / others, 0)))
