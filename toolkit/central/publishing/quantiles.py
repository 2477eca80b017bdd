"""`RecursiveQuantiles`: many quantiles of one column for little more than one, the middle one first.

Values are whole numbers here, the places of a column on a public grid. A quantile is a cut: the values below
it are on its left. After the middle quantile was chosen, those of smaller rank are sought among the values on
its left, the others among those on its right, so that one person is in one part at a time.
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
from toolkit.core.checks import Number, exact, positive, reject, whole
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.loss import Pure, Zcdp, shown
from toolkit.core.randomness import WORD, Rng, check_rng, falls_below, words
from toolkit.core.sampling import exp_of

MOST_ROWS = 2**30
"""Of a table whose number of rows is private: what is said of ranks holds up to this number."""
MOST_RANK_UNITS = 2**20
"""The largest denominator of a quantile: 2**20 times 2**42 rows, which are 32 TiB of floats, is below 2**63.
"""
_MOST_EQUAL = 16  # values at one place
_FAR = 30  # less likely by e**-30 than the best: looked at more closely only if drawn
_COINS = 2**26
_RUNS = (3, 4, 6, 8, 12, 16, 24, 32)
_ONE_IN, _LEFT = 20.01, 2e-5  # 5 %, less what is left for values that lie closer than is assumed


@dataclass(frozen=True)
class Part:
    """A quantile between two others or the ends: its place in the list, its level from 0 on, its share on the left."""

    place: int
    level: int
    share: Fraction
    start: int
    stop: int


@dataclass(frozen=True)
class RecursiveQuantiles:
    """All quantiles of a list, by the exponential mechanism: one choice for each, in parts of the data.

    A cut that leaves r of a part's n values on its left has the score -|r - share n|. One person who enters or leaves
    moves it by at most d = max(share, 1 - share), one who stays in the part by at most 1 <= 2 d. A level of the
    recursion has epsilon / levels: under "add_remove" a person is in one part of a level, whose odds then fall by
    e**(-epsilon_level / (2 d)) a rank; under "replace" one part is left and another entered, so they fall half as fast.
    Where there is one part only, the first of a list that is not `grouped` (nobody can move to another table of the
    release), the score moves by at most 1 under "replace". With `rows` rows a person all rates are divided by that
    number.

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
        positive(self.loss.amount, "epsilon", NO_END)
        check_neighbors(self.neighbors)
        whole(self.rows, "rows")
        listed = self.quantiles
        ordered = all(low < high for low, high in pairwise(listed))
        if not listed or not ordered or not 0 <= listed[0] <= listed[-1] <= 1:
            rule = "quantiles must be increasing shares between 0 and 1"
            reject(rule, f"{len(listed)} numbers that are not", "each is sought between its neighbors")

    @classmethod
    def for_epsilon(
        cls, epsilon: Number, quantiles: Sequence[Number], *, neighbors: str, rows: int = 1, grouped: bool = False
    ) -> "RecursiveQuantiles":
        amount = Pure(positive(epsilon, "epsilon", NO_END))
        return cls(amount, tuple(exact(q, "quantiles") for q in quantiles), neighbors, rows, grouped)

    @classmethod
    def for_rho(
        cls, rho: Number, quantiles: Sequence[Number], *, neighbors: str, rows: int = 1, grouped: bool = False
    ) -> "RecursiveQuantiles":
        """Costs at most Zcdp(rho), by less than a billionth: levels * epsilon_level**2 / 8."""
        levels = len(quantiles).bit_length()
        each = root_below(8 * positive(rho, "rho", NO_END) / levels)
        return cls.for_epsilon(levels * each, quantiles, neighbors=neighbors, rows=rows, grouped=grouped)

    def _describe(self) -> dict[str, Any]:
        words = "the exponential mechanism chose each, the middle one first"
        facts = {"mechanism": type(self).__name__, "words": words}
        return facts | {"levels": self.levels, "epsilon a level": shown(self.each)}

    @property
    def levels(self) -> int:
        """How often the list is halved until nothing is left: 4 for nine deciles."""
        return len(self.quantiles).bit_length()

    @property
    def each(self) -> Fraction:
        """Epsilon of one level."""
        return Fraction(self.loss.amount) / self.levels

    @property
    def zcdp(self) -> Zcdp:
        """A level costs epsilon_level**2 / 8: its choices are of bounded range, within epsilon_level where a person is
        in one part, and within half of it in each of two.
        """
        return Zcdp(self.levels * self.each**2 / 8)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All parts, each after those around it."""
        return tuple(self._parts(0, len(self.quantiles), Fraction(0), Fraction(1), 0))

    @lru_cache(maxsize=1024)  # noqa: B019  (mechanisms and parts are public, and small)
    def choice(self, part: Part) -> Exponential:
        """The mechanism of one part, for scores in units of 1 / denominator of its share."""
        unit, share = part.share.denominator, part.share.numerator
        farthest = max(share, unit - share)
        if self.neighbors == "add_remove":
            return Exponential.for_epsilon(self.each / self.rows, sensitivity=farthest)
        if part.level == 0 and not self.grouped:
            return Exponential.for_epsilon(self.each / self.rows, sensitivity=unit)
        return Exponential.for_epsilon(self.each / (2 * self.rows), sensitivity=farthest)

    def choose(self, values: Steps, most: int, rng: Rng = None) -> list[int]:
        """A cut from 0 to `most` for each quantile, never decreasing; values lie in 0 … most - 1."""
        source, ordered = check_rng(rng), np.sort(values)
        cuts: dict[int, int] = {-1: 0, len(self.quantiles): most}
        for part in self.parts:
            low, high = cuts[part.start - 1], cuts[part.stop]
            inside = ordered[slice(*np.searchsorted(ordered, [low, high]))]
            cuts[part.place] = self.choice(part)._choose_step(*rank_scores(inside, part.share, low, high), source)
        return [cuts[place] for place in range(len(self.quantiles))]

    def choose_spread(self, values: "StepCounts", rng: Rng = None) -> list[int]:
        """The same of values whose digits after their steps are drawn where they decide: the same law."""
        source, cuts = check_rng(rng), {-1: 0, len(self.quantiles): values.most}
        for part in self.parts:
            cuts[part.place] = self._cut(part, values, cuts[part.start - 1], cuts[part.stop], source)
        return [cuts[place] for place in range(len(self.quantiles))]

    def _cut(self, part: Part, values: "StepCounts", low: int, high: int, rng: Rng) -> int:
        """A cut of one part. Cuts are drawn by the best score that their interval can have, and kept with the share
        of it that is theirs; an interval whose cut is not kept is halved. Whatever the intervals, what is kept has
        the law of the scores; they are short where scores are high, so that most cuts are.
        """
        choice, unit = self.choice(part), part.share.denominator
        start, number = values.rank(low), values.rank(high) - values.rank(low)
        sought, rate = part.share.numerator * number, float(choice._rate)

        def best(first: Any, last: Any) -> Any:
            return -np.maximum(np.maximum(unit * first - sought, sought - unit * last), 0)

        def halves(at: int, end: int, first: int, last: int) -> Iterator[tuple[int, int]]:
            """Where an interval is cut, and how many values are below, until a rank or the place decides little."""
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
            (place + 1, *one)
            for place in np.flatnonzero(near).tolist()
            for one in halves(*edges[place : place + 2].tolist(), *ranks[place : place + 2].tolist())
        ]
        while True:
            at, cut_at, below = np.array(more, dtype=np.int64).reshape(-1, 3).T
            edges, ranks = np.insert(edges, at, cut_at), np.insert(ranks, at, below)
            scores = best(ranks[:-1], np.where(np.diff(edges) > 1, ranks[1:], ranks[:-1]))
            cut = choice._choose_step(edges, scores, rng)
            place = int(np.searchsorted(edges, cut, "right")) - 1
            rank = values.rank(cut) - start
            worse = int(scores[place]) + abs(unit * rank - sought)
            if not worse or falls_below(exp_of(choice._rate * worse), int(words(1, WORD, rng)[0]), WORD, rng):
                return cut
            middle = int(edges[place] + edges[place + 1]) // 2
            more = [(place + 1, middle, values.rank(middle) - start)] if middle > edges[place] else []

    def off_by(self, most: int, steps: int | None = None, rows: int = MOST_ROWS) -> int:
        """Ranks that with probability 95 % no quantile is off by more, whatever the data of at most so many
        `rows`: of `most` places, which are `steps` with random digits after them.

        A choice among C cuts, w of which are off by at most k ranks, is off by more than k + ln(C / (w b)) / rate with
        probability at most b; the parts of a level share `most` cuts. Either w = 1 and k = 8, as no 17 values have one
        place: with 30 digits and 2**30 rows that has probability below 4e-6. Or k = 2 run and w = `least_distance`: of
        2 run values that follow each other, half have one step, or a step lies between. A quantile that is sought
        between two others, which are off by e and f ranks, is off by another (1 - share) e + share f. It cannot be less
        without reading the data: how many values are equal, and where a gap lies, is what they say.
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
        """The same, if each choice has `e**cuts` cuts, for one that is off by `near`."""
        off = {-1: 0.0, len(self.quantiles): 0.0}
        for part in self.parts:
            share, own = float(part.share), cuts / self._rate(part) + near
            off[part.place] = own + (1 - share) * off[part.start - 1] + share * off[part.stop]
        return math.ceil(max(off.values()))

    def _off_by_one(self, steps: int) -> int:
        """The same for one quantile: values that lie between its step and the one sought, neither counted.

        Let m values have the next step on one side. The cuts there that leave at most j of them on the
        sought one's side fill a part W of the step: all of it if m <= j, else in law no less than a
        Beta(j + 1, m - j), so that E[1 / W] is at most m / j. Cuts with more than r values between have at
        least max(r + 1, m) - j ranks more against them; together they are less likely than
        steps (r + 1) / j e**(-rate (r + 1 - j)) for any j up to r, if r + 1 is at least 1 / rate.
        """
        rate = self._rate(self.parts[0])
        near = max(1, math.floor(1 / rate))
        more = near + 1.0  # r + 1, above 1 / rate
        for _ in range(60):
            more = max(more, near + math.log(steps * _ONE_IN * more / near) / rate)
        return math.ceil(more + 1e-9) - 1

    def _rate(self, part: Part) -> float:
        """How fast the logarithm of the odds falls with a rank."""
        return float(self.choice(part)._rate * part.share.denominator)

    @property
    def rounded(self) -> bool:
        """Whether a share of a part has too long a denominator, so that a little beside it is sought."""
        ends = {-1: Fraction(0), len(self.quantiles): Fraction(1)} | dict(enumerate(self.quantiles))
        return any(
            part.share * (ends[part.stop] - ends[part.start - 1]) != ends[part.place] - ends[part.start - 1]
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
    """How many values each step has. The random digits after a step are drawn where a cut asks for them, by halves: of
    n values each has the next digit 0 with probability 1/2. So the law is that of drawing all digits of all values,
    and what is remembered is as large as the steps and the cuts, not as the data.
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
        """Where the steps of cuts from low to high begin, and the end; how many values from `start` on lie below."""
        first, last = low // 2**self._digits + 1, -(-high // 2**self._digits)
        edges = np.concatenate([[low], np.arange(first, last, dtype=np.int64) << self._digits, [high + 1]])
        ranks = np.concatenate([[self.rank(low)], self._below[first:last], [self.rank(high)]])
        return edges, ranks - start


def _heads(number: int, rng: Rng) -> int:
    """Of so many fair coins."""
    heads = 0
    for start in range(0, number, _COINS):
        coins = words(-(-min(_COINS, number - start) // 64), 64, rng).copy()
        coins[-1] >>= np.uint64(-min(_COINS, number - start) % 64)
        heads += int(np.bitwise_count(coins).sum())
    return heads


def rank_unit(q: Fraction) -> Fraction:
    """The nearest fraction to q with a denominator of at most `MOST_RANK_UNITS`: within 2**-21 of it."""
    return q.limit_denominator(MOST_RANK_UNITS)


def rank_scores(inside: Steps, share: Fraction, low: int, high: int) -> tuple[Steps, Steps]:
    """Where the cuts begin that leave 0, 1, …, n sorted values on their left, and one after the last; their scores."""
    number, unit = len(inside), share.denominator
    scores = -np.abs(unit * np.arange(number + 1, dtype=np.int64) - share.numerator * number)
    return np.concatenate([[low], inside + 1, [high + 1]]).astype(np.int64), scores


def least_distance(places: int, rows: int, run: int) -> int:
    """The least distance of the first and last of any `run` neighboring values of one step, with probability 1 - 2e-5.

    It is counted in the places of a step, and 0 if none is known. That `run` of at most `rows` random places lie in
    fewer than w next to each other has at most the probability rows * C(rows - 1, run - 1) * (w / places)**(run - 1):
    one of them is the first, the others are within.
    """
    others = run - 1
    sets = math.lgamma(rows) - math.lgamma(run) - math.lgamma(rows - others) if rows > run else 0.0
    return math.floor(places * math.exp(min((math.log(_LEFT) - math.log(max(rows, 1)) - sets) / others, 0)))
