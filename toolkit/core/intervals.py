"""Intervals for shares that are seen through randomization.

A share x is never counted directly. What is counted are reports whose probabilities are a mixture of two known rows,
x * given + (1 - x) * without. Every method works on the reports, then maps back to x and cuts to [0, 1]; when nothing
is left, the data disagree with every share at this level, and the interval says so instead of hiding it.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri, xlogy

from toolkit.core.checks import choice
from toolkit.core.checks import level as check_level

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """Lower and upper limit, floats or one array each.

    `empty` marks limits that the data contradict at this level: no share from 0 to 1 is compatible with the reports,
    and the nearest share (0 or 1) stands for both limits.
    """

    low: float | Array
    high: float | Array
    level: float = 0.95
    method: str = "wald"
    empty: bool | npt.NDArray[np.bool_] = False

    @property
    def width(self) -> float | Array:
        return self.high - self.low

    def __repr__(self) -> str:
        low, high = (np.array2string(np.asarray(limit), precision=4, separator=", ") for limit in (self.low, self.high))
        note = ", empty: the data contradict every share at this level" if np.any(self.empty) else ""
        return f"Interval(low={low}, high={high}, level={self.level:g}, method='{self.method}'{note})"


class IntervalBasis(Protocol):
    """What an estimate keeps so that intervals of any level can be made later; the first method is the default."""

    @property
    def methods(self) -> tuple[str, ...]: ...

    def interval(self, level: float, method: str) -> Interval: ...


def interval_from(basis: IntervalBasis, level: float, method: str | None) -> Interval:
    """The interval of the named method, or of the basis's default."""
    return basis.interval(check_level(level), choice(method or basis.methods[0], "method", basis.methods))


@dataclass(frozen=True, eq=False)
class Normal:
    """Value and standard error, nothing else known: the Wald interval, not cut to any range."""

    value: float | Array
    se: float | Array
    methods: tuple[str, ...] = ("wald",)

    def interval(self, level: float, method: str) -> Interval:
        reach = float(ndtri(0.5 + level / 2)) * self.se
        return Interval(self.value - reach, self.value + reach, level, method)


@dataclass(frozen=True, eq=False)
class Affine:
    """The intervals of another basis, moved to a new unit: offset + factor * limit, for a positive factor."""

    basis: IntervalBasis
    factor: float
    offset: float

    @property
    def methods(self) -> tuple[str, ...]:
        return self.basis.methods

    def interval(self, level: float, method: str) -> Interval:
        inner = self.basis.interval(level, method)
        return replace(inner, low=self.offset + self.factor * inner.low, high=self.offset + self.factor * inner.high)


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of a sample of n, one row each, estimated by a mean of report scores.

    Parameters
    ----------
    value, se : the unbiased estimates and their standard errors.
    n : the number of reports.
    spread_given, spread_without : mean squared score of a report from those who have the option, and from the others.
    counts, given, without : reports of each kind, and their probabilities under "has it" and "has it not".
    without_range : least and greatest probability of the kinds that speak for the option among those without it.
    """

    value: Array
    se: Array
    n: int
    spread_given: Array
    spread_without: Array
    counts: Array
    given: Array
    without: Array
    without_range: tuple[Array, Array]
    methods: tuple[str, ...] = ("wilson", "exact", "bayes", "wald")

    @classmethod
    def from_support(cls, counts: Array, n: int, p: Array, q: Array) -> "Shares":
        """Each count is binomial: a report supports the option with probability p from those who have it, else q."""
        given, without = np.stack([p, 1 - p], axis=1), np.stack([q, 1 - q], axis=1)
        seen, slope = counts / n, p - q
        scores = np.stack([(1 - q) / slope, -q / slope], axis=1) ** 2
        return cls(
            value=(seen - q) / slope,
            se=_root(seen * (1 - seen), n - 1) / np.abs(slope),
            n=n,
            spread_given=(given * scores).sum(axis=1),
            spread_without=(without * scores).sum(axis=1),
            counts=np.stack([counts, n - counts], axis=1),
            given=given,
            without=without,
            without_range=(np.where(slope > 0, q, 1 - q), np.where(slope > 0, q, 1 - q)),
        )

    def interval(self, level: float, method: str) -> Interval:
        make = {"wilson": self._wilson, "exact": self._exact, "bayes": self._bayes, "wald": self._wald}[method]
        low, high = make(level)
        empty = (high < 0) | (low > 1)
        low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
        if len(self.value) == 1:
            return Interval(float(low[0]), float(high[0]), level, method, bool(empty[0]))
        return Interval(low, high, level, method, empty)

    def _wald(self, level: float) -> tuple[Array, Array]:
        reach = ndtri(0.5 + level / 2) * self.se
        return self.value - reach, self.value + reach

    def _wilson(self, level: float) -> tuple[Array, Array]:
        """All x with (value - x)**2 <= z**2 / n * variance of one score at x; that variance is quadratic in x."""
        factor = ndtri(0.5 + level / 2) ** 2 / self.n
        lead = 1 + factor
        middle = (2 * self.value + factor * (self.spread_given - self.spread_without)) / (2 * lead)
        reach = np.sqrt(np.maximum(middle**2 - (self.value**2 - factor * self.spread_without) / lead, 0))
        return middle - reach, middle + reach

    def _exact(self, level: float) -> tuple[Array, Array]:
        """Clopper and Pearson on the number of reports that speak for the option; coverage is guaranteed."""
        speaks = self.given > self.without
        count, p = np.where(speaks, self.counts, 0).sum(axis=1), np.where(speaks, self.given, 0).sum(axis=1)
        tail = (1 - level) / 2
        low = np.where(count > 0, betaincinv(np.maximum(count, 1), self.n - count + 1, tail), 0)
        high = np.where(count < self.n, betaincinv(count + 1, np.maximum(self.n - count, 1), 1 - tail), 1)
        least, greatest = self.without_range
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = (low - greatest) / (p - greatest), (high - least) / (p - least)
        return np.where(p > greatest, low, 0), np.where(p > greatest, high, 1)

    def _bayes(self, level: float) -> tuple[Array, Array]:
        """The shortest interval that holds `level` of the posterior from a flat prior on [0, 1]."""
        pairs = [_shortest(c, g, w, level) for c, g, w in zip(self.counts, self.given, self.without, strict=True)]
        low, high = np.array(pairs).T
        return low, high


def _shortest(counts: Array, given: Array, without: Array, level: float) -> tuple[float, float]:
    """Highest-density interval of the likelihood of x on [0, 1], on a grid laid over where the likelihood is.

    With two kinds of report this posterior is a truncated Beta; the grid serves every number of kinds, and does not
    lose its digits when the truncation leaves only the far tail.
    """

    def log_likelihood(x: Array) -> Array:
        mixture = np.multiply.outer(x, given) + np.multiply.outer(1 - x, without)
        return np.asarray(xlogy(counts, mixture).sum(axis=-1))

    grid = np.linspace(0, 1, 513)
    for _ in range(6):  # each round keeps the part within e**-40 of the mode and looks closer
        height = log_likelihood(grid)
        inside = np.flatnonzero(height >= height.max() - 40)
        first, last = max(inside[0] - 1, 0), min(inside[-1] + 1, len(grid) - 1)
        if last - first >= len(grid) // 2:
            break
        grid = np.linspace(grid[first], grid[last], len(grid))
    grid = np.linspace(grid[first], grid[last], 4001)
    height = log_likelihood(grid)
    density = np.exp(height - height.max())
    mass = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    mass /= mass[-1]
    tails = np.linspace(0, 1 - level, 401)
    lows, highs = np.interp(tails, mass, grid), np.interp(tails + level, mass, grid)
    best = int(np.argmin(highs - lows))
    return float(lows[best]), float(highs[best])


def _root(variance: Array, divisor: int) -> Array:
    """Standard errors; one report alone has none."""
    return np.sqrt(variance / divisor) if divisor > 0 else np.full_like(variance, np.nan)
