"""Intervals for shares that are estimated from randomized reports, and for numbers with a standard error.

A share x is not observed directly. The distribution of the reports is a mixture of two known distributions, x *
probs_with + (1 - x) * probs_without. Every method computes limits from the reports, converts them to limits of x, and
truncates them to [0, 1]. If nothing remains, the data contradict every share at this level, and the interval is empty.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array
from toolkit.core.checks import check_choice, check_level
from toolkit.core.inference.posterior import RandomizedCounts, shortest_on_grid
from toolkit.core.inference.special import bdtr, bdtrc, betaincinv, ndtr, ndtri, stdtr, stdtrit
from toolkit.core.search import bisect

# A smaller 1 - level cannot be represented by a float.
_LEAST = 1e-15
Tails = tuple[Any, Any, Any]
"""A statistic, and the p-values for the alternatives "less" and "greater"."""


@dataclass(frozen=True)
class Interval:
    """A lower and an upper limit, floats or arrays: `low, high = estimate.interval()`.

    Parameters
    ----------
    low, high : float or array
        The limits; NaN where the interval is empty.
    level : float
        The confidence level.
    method : str
        The method of the interval.
    empty : bool or array
        Whether the data contradict every possible value at this level.

    Examples
    --------
    >>> low, high = Interval(0.1, 0.3)
    >>> low, high
    (0.1, 0.3)
    """

    low: float | Array
    high: float | Array
    level: float = 0.95
    method: str = "wald"
    empty: bool | npt.NDArray[np.bool_] = False

    @property
    def width(self) -> float | Array:
        """The upper limit minus the lower limit."""
        return self.high - self.low

    def __iter__(self) -> Iterator[float | Array]:
        return iter((self.low, self.high))

    def __repr__(self) -> str:
        low, high = (np.array2string(np.asarray(limit), precision=4, separator=", ") for limit in (self.low, self.high))
        origin = f"level={self.level:g}, method='{self.method}'"
        if np.ndim(self.low) == 0 and self.empty:
            return f"Interval(empty, {origin}: the data contradict every value at this level)"
        note = ", nan where empty: the data contradict every value at this level" if np.any(self.empty) else ""
        return f"Interval(low={low}, high={high}, {origin}{note})"


def cut(low: float | Array, high: float | Array, within: tuple[float, float], level: float, method: str) -> Interval:
    """Truncate an interval to the possible range `within`; the result is empty if the two do not overlap."""
    slack = 1e-12 * (within[1] - within[0]) if np.isfinite(within).all() else 0.0  # tolerance for rounding
    empty = (np.asarray(high) < within[0] - slack) | (np.asarray(low) > within[1] + slack)
    low, high = (np.where(empty, np.nan, np.clip(limit, *within)) for limit in (low, high))
    if np.ndim(empty):
        return Interval(low, high, level, method, empty)
    return Interval(float(low), float(high), level, method, bool(empty))


def wald(value: float | Array, se: float | Array, level: float) -> tuple[Any, Any]:
    """Return the value minus and plus the normal quantile times the standard error."""
    margin = float(ndtri(0.5 + level / 2)) * se
    return value - margin, value + margin


def imbens_manski_quantile(width: float, level: float) -> float:
    """Return the number of standard errors to add at each end of a range that is `width` standard errors wide."""
    low, high = float(ndtri(level)), float(ndtri((1 + level) / 2))
    return float(bisect(lambda errors: ndtr(errors + width) - ndtr(-errors) >= level, low, high, max_rounds=60)[1])


class IntervalBasis(Protocol):
    """The numbers from which an estimate computes intervals of any level; the first method is the default.

    A basis may also have `tails(null, method)`; otherwise, a test finds the level at which the interval meets the null.
    A basis can be part of a difference if it has a `value` and `uncut(level, method)`, which returns the limits before
    they are truncated to the possible range `within`.
    """

    @property
    def methods(self) -> tuple[str, ...]: ...

    def interval(self, level: float, method: str) -> Interval: ...


def interval_from(basis: IntervalBasis, level: float, method: str | None) -> Interval:
    return basis.interval(check_level(level), check_choice(method or basis.methods[0], "method", basis.methods))


@dataclass(frozen=True, eq=False)
class Normal:
    """A value and its standard error, with the Wald interval truncated to `within`."""

    value: float | Array
    se: float | Array
    within: tuple[float, float] = (-np.inf, np.inf)
    methods: tuple[str, ...] = ("wald",)

    def interval(self, level: float, method: str) -> Interval:
        return cut(*self.uncut(level, method), self.within, level, method)

    def uncut(self, level: float, _method: str) -> tuple[Any, Any]:
        return wald(self.value, self.se, level)

    def tails(self, null: float, _method: str) -> Tails:
        z = _ratio(self.value - null, self.se)
        return z, ndtr(z), ndtr(-z)


@dataclass(frozen=True, eq=False)
class Student:
    """A mean and its standard error, estimated from the same answers with `df` degrees of freedom: the t interval.

    If all answers are equal, the estimated standard error is zero, and there is no interval. The interval is truncated
    to `within`.
    """

    value: float | Array
    se: float | Array
    df: int
    methods: tuple[str, ...] = ("t",)
    within: tuple[float, float] = (-np.inf, np.inf)

    def interval(self, level: float, method: str) -> Interval:
        return cut(*self.uncut(level, method), self.within, level, method)

    def uncut(self, level: float, _method: str) -> tuple[Any, Any]:
        quantile = float(stdtrit(self.df, 0.5 + level / 2)) if self.df > 0 else np.nan
        return self.value - quantile * self._error, self.value + quantile * self._error

    def tails(self, null: float, _method: str) -> Tails:
        t = (self.value - null) / self._error
        return t, stdtr(max(self.df, 1), t), stdtr(max(self.df, 1), -t)

    @property
    def _error(self) -> Any:
        error = np.where(np.asarray(self.se) > 0, self.se, np.nan)
        return error if error.ndim else float(error)


@dataclass(frozen=True, eq=False)
class Affine:
    """The intervals of another basis in another unit: offset + factor * limit, for a positive factor."""

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
class EntryBasis:
    """The intervals of one entry of a basis with several entries."""

    basis: IntervalBasis
    value: float | Array
    se: float | Array
    index: int

    @property
    def methods(self) -> tuple[str, ...]:
        return self.basis.methods

    @property
    def equal_tails(self) -> bool:
        return bool(getattr(self.basis, "equal_tails", False))

    @property
    def least_p(self) -> float:
        return float(getattr(self.basis, "least_p", 0.0))

    def pick(self, part: Any) -> float:
        """Return this entry from an array of all entries."""
        return float(np.atleast_1d(part)[self.index])

    def interval(self, level: float, method: str) -> Interval:
        inner = self.basis.interval(level, method)
        empty = bool(np.broadcast_to(inner.empty, np.shape(np.atleast_1d(self.value)))[self.index])
        return replace(inner, low=self.pick(inner.low), high=self.pick(inner.high), empty=empty)


def single_entry(basis: IntervalBasis, value: float | Array, se: float | Array, index: int) -> IntervalBasis:
    """Return the basis of one entry; an `Affine` remains the outermost basis, as tests and differences expect."""
    if isinstance(basis, Affine):
        value, se = (np.asarray(value) - basis.offset) / basis.factor, np.asarray(se) / basis.factor
        return replace(basis, basis=single_entry(basis.basis, value, se, index))
    return EntryBasis(basis, value, se, index)


def possible_range(basis: object) -> tuple[float, float]:
    """Return the range of possible values in the unit of the estimate, such as 0 to 1 for a share."""
    if isinstance(basis, EntryBasis):
        return possible_range(basis.basis)
    if isinstance(basis, Affine):
        low, high = (basis.offset + basis.factor * end for end in possible_range(basis.basis))
        return low, high
    limits: tuple[float, float] = getattr(basis, "within", (-np.inf, np.inf))
    return limits


@dataclass(frozen=True, eq=False)
class Mapped:
    """The intervals of another basis under a monotone function, which is applied to the limits."""

    basis: IntervalBasis
    function: Callable[[Any], Any]

    @property
    def methods(self) -> tuple[str, ...]:
        return self.basis.methods

    def interval(self, level: float, method: str) -> Interval:
        inner = self.basis.interval(level, method)
        with np.errstate(all="ignore"):  # where the function is undefined, the limit is infinite or NaN
            ends = [np.asarray(self.function(np.asarray(limit)), dtype=np.float64) for limit in inner]
        low, high = np.minimum(*ends), np.maximum(*ends)
        return replace(inner, low=low if low.ndim else float(low), high=high if high.ndim else float(high))


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares estimated from the mean scores of n reports, one row per share; the first method is the default.

    `spread_with` and `spread_without` are the mean squared scores of people with and without the option. `probs_with`
    and `probs_without` are the probabilities of the reports in `counts` for these people. `support_range_without`
    holds the smallest and greatest probability of a supporting report from people without the option. `joint` holds
    the whole matrix with all counts if the posterior of one share depends on the other shares.
    """

    value: Array
    se: Array
    n: int
    spread_with: Array
    spread_without: Array
    counts: Array
    probs_with: Array
    probs_without: Array
    support_range_without: tuple[Array, Array]
    joint: RandomizedCounts | None = None
    methods: tuple[str, ...] = ("wilson", "exact", "bayes", "wald")
    within: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @classmethod
    def from_support(cls, counts: Array, n: int, p: Array, q: Array) -> "Shares":
        """Make shares from binomial counts: a report supports the true option with probability p, and others with q."""
        probs_with, probs_without = np.stack([p, 1 - p], axis=1), np.stack([q, 1 - q], axis=1)
        observed, slope = counts / n, p - q
        scores = np.stack([(1 - q) / slope, -q / slope], axis=1) ** 2
        return cls(
            value=(observed - q) / slope,
            se=share_error(counts, n, p, q),
            n=n,
            spread_with=(probs_with * scores).sum(axis=1),
            spread_without=(probs_without * scores).sum(axis=1),
            counts=np.stack([counts, n - counts], axis=1),
            probs_with=probs_with,
            probs_without=probs_without,
            support_range_without=(np.where(slope > 0, q, 1 - q), np.where(slope > 0, q, 1 - q)),
        )

    def interval(self, level: float, method: str) -> Interval:
        low, high = self.uncut(level, method)
        if len(self.value) == 1:
            low, high = low[0], high[0]
        return cut(low, high, self.within, level, method)

    def rows(self, indices: npt.NDArray[np.intp]) -> "Shares":
        """Select some of the shares, without the joint posterior of all shares."""
        names = ("value", "se", "spread_with", "spread_without", "counts", "probs_with", "probs_without")
        ends = (self.support_range_without[0][indices], self.support_range_without[1][indices])
        methods = tuple(name for name in self.methods if name != "bayes" or self.joint is None)
        selection = {name: getattr(self, name)[indices] for name in names}
        return replace(self, **selection, support_range_without=ends, joint=None, methods=methods)

    def uncut(self, level: float, method: str) -> tuple[Array, Array]:
        """Return the limits before truncation to [0, 1], from which differences and tests are computed."""
        if method == "wald":
            return wald(self.value, self.se, level)
        return {"wilson": self._wilson, "exact": self._exact, "bayes": self._bayes}[method](level)

    def tails(self, null: float, method: str) -> Tails:
        """Return the p-values of the test that rejects a share exactly when the untruncated interval excludes it."""
        if method == "exact":
            below, above = self._binomial_tails(null)
            z = self.score(null)
        else:
            z = self.score(null) if method == "wilson" else _ratio(self.value - null, self.se)
            below, above = ndtr(z), ndtr(-z)
        return (z[0], below[0], above[0]) if len(z) == 1 else (z, below, above)

    def _wilson(self, level: float) -> tuple[Array, Array]:
        """Solve (value - x)**2 <= z**2 / n * (variance of one score at x), which is quadratic in x."""
        return self.score_limits(self.value, ndtri(0.5 + level / 2) ** 2 / self.n)

    def score_limits(self, value: Array, factor: float | Array) -> tuple[Array, Array]:
        """Return the limits of Wilson's interval for a value, with `factor` in place of z**2 / n."""
        lead = 1 + factor
        middle = (2 * value + factor * (self.spread_with - self.spread_without)) / (2 * lead)
        margin = np.sqrt(np.maximum(middle**2 - (value**2 - factor * self.spread_without) / lead, 0))
        return middle - margin, middle + margin

    def score(self, null: float) -> Array:
        """Return the score statistic: the distance from the null in standard errors at the null."""
        variance = null * self.spread_with + (1 - null) * self.spread_without - null**2
        return np.asarray(_ratio(self.value - null, np.sqrt(np.maximum(variance, 0) / self.n)))

    def support(self) -> tuple[Array, Array]:
        """Return the number of supporting reports, and their probability for people who have the option."""
        supports = self.probs_with > self.probs_without
        return np.where(supports, self.counts, 0).sum(axis=1), np.where(supports, self.probs_with, 0).sum(axis=1)

    def _binomial_tails(self, null: float) -> tuple[Array, Array]:
        """Return the greatest null probabilities of at most and of at least the observed supporting reports."""
        (count, p), (least, greatest) = self.support(), self.support_range_without
        fewest, most = (np.clip(null * p + (1 - null) * least, 0, 1), np.clip(null * p + (1 - null) * greatest, 0, 1))
        below = np.where(count < self.n, bdtr(count, self.n, fewest), 1)
        above = np.where(count > 0, bdtrc(np.maximum(count - 1, 0), self.n, most), 1)
        return np.where(p > greatest, below, 1), np.where(p > greatest, above, 1)

    def _exact(self, level: float) -> tuple[Array, Array]:
        """Return Clopper and Pearson's limits for the number of supporting reports, which guarantee the coverage."""
        count, _ = self.support()
        tail = (1 - level) / 2
        low = np.where(count > 0, betaincinv(np.maximum(count, 1), self.n - count + 1, tail), 0)
        high = np.where(count < self.n, betaincinv(count + 1, np.maximum(self.n - count, 1), 1 - tail), 1)
        return self.share_limits(low, high)

    def share_limits(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Convert limits of the probability of a supporting report to limits of the share."""
        (_, p), (least, greatest) = self.support(), self.support_range_without
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = (low - greatest) / (p - greatest), (high - least) / (p - least)
        return np.where(p > greatest, low, 0), np.where(p > greatest, high, 1)

    def _bayes(self, level: float) -> tuple[Array, Array]:
        """Return the shortest interval with posterior probability `level` under a flat prior."""
        if self.joint is not None:
            return self.joint.shortest(level)
        pairs = [
            shortest_on_grid(c, g, w, level)
            for c, g, w in zip(self.counts, self.probs_with, self.probs_without, strict=True)
        ]
        low, high = np.array(pairs).T
        return low, high


@dataclass(frozen=True, eq=False)
class SampleShares:
    """Shares of a weighted, stratified or clustered sample, with intervals for an effective sample size.

    Let v be the variance under the sampling design, V(x) the variance of one person's score at the share x, and k =
    t**2 / m, where t is the quantile with the degrees of freedom of the design. "wilson" contains all x with (value -
    x)**2 <= k V(x). Here m = min(V(value) / v, Kish's number), because an estimated v may be far too small with few
    clusters or very unequal weights. The other two methods apply to the reports: "korn-graubard" (Korn and Graubard
    1998) is Clopper and Pearson's interval with m times the squared ratio of the two t quantiles as the sample size,
    and "logit" is the interval of R's svyciprop. In all 74 cells of benchmarks/interval_coverage.py, enumerated or
    simulated 2,000 times, the coverage is at least .941 for "wilson" with randomized answers and at least .953 for
    "korn-graubard" with plain answers, so these are the defaults. `effective` is the size of the simple random sample
    with the same variance; a finite population multiplies it by `gain`.
    """

    shares: Shares
    value: Array
    se: Array
    effective: Array
    kish: Array
    n: Array
    df: int
    gain: Array
    methods: tuple[str, ...] = ("wilson", "korn-graubard", "logit", "t")
    within: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def interval(self, level: float, method: str) -> Interval:
        low, high = self.uncut(level, method)
        # At a share of 0 or 1 there is no sampling error, so the edges are tested with Kish's number of people.
        edges = self.shares.score_limits(self.value, ndtri(0.5 + level / 2) ** 2 / self.kish)
        low, high = np.where(edges[0] > 1, np.inf, low), np.where(edges[1] < 0, -np.inf, high)
        low, high = (low, high) if len(self.value) > 1 else (low[0], high[0])
        return cut(low, high, self.within, level, method)

    def uncut(self, level: float, method: str) -> tuple[Array, Array]:
        t = float(stdtrit(max(self.df, 1), 0.5 + level / 2))
        people = np.minimum(self.effective, self.kish) * self.gain
        if method == "t":
            return self.value - t * self.se, self.value + t * self.se
        count, p = self.shares.support()
        least, greatest = self.shares.support_range_without
        share = np.clip(np.where(least == greatest, least + (p - least) * self.value, count / self.shares.n), 0, 1)
        if method == "korn-graubard":
            ratio = stdtrit(np.maximum(self.n - 1, 1), 0.5 + level / 2) / t
            people, tail = np.minimum(self.effective * ratio**2, self.kish) * self.gain, (1 - level) / 2
            low = np.where(share > 0, betaincinv(people * np.maximum(share, 1e-12), people * (1 - share) + 1, tail), 0)
            high = betaincinv(people * share + 1, people * np.maximum(1 - share, 1e-12), 1 - tail)
            return self.shares.share_limits(low, np.where(share < 1, high, 1))
        if method == "wilson":
            return self.shares.score_limits(self.value, t**2 / people)
        with np.errstate(all="ignore"):
            middle, margin = np.log(share / (1 - share)), t / np.sqrt(people * share * (1 - share))
            low, high = (1 / (1 + np.exp(-np.nan_to_num(middle + side * margin, nan=0.0))) for side in (-1, 1))
        agree = (share == 0) | (share == 1)
        low, high = self.shares.share_limits(low, high)
        edges = self.uncut(level, "wilson")  # a logit has no error if all reports agree
        return np.where(agree, edges[0], low), np.where(agree, edges[1], high)

    def tails(self, null: float, method: str) -> Tails:
        """Return p-values from the level at which a limit meets the null, so that test and interval always agree."""
        if method == "t":
            single = len(self.value) == 1
            value, se = (self.value[0], self.se[0]) if single else (self.value, self.se)
            return Student(value, se, self.df).tails(null, method)
        p = p_value_by_inversion(lambda level: self.uncut(level, method), self.value, null)
        side = np.sign(self.value - null)
        t = side * np.abs(stdtrit(max(self.df, 1), p / 2))
        below, above = np.where(side < 0, p / 2, 1 - p / 2), np.where(side > 0, p / 2, 1 - p / 2)
        return (t[0], below[0], above[0]) if len(t) == 1 else (t, below, above)


def p_value_by_inversion(uncut: Callable[[float], Iterable[Any]], value: Array, null: float) -> Array:
    """Find the smallest 1 - level (at least 1e-15) whose interval excludes the null, to 12 digits by bisection."""
    defined = ~np.any([np.isnan(np.broadcast_to(limit, value.shape)) for limit in uncut(0.5)], axis=0)
    levels = np.full(value.shape, np.nan)
    for entry in np.ndindex(value.shape):

        def leaves_out(log_error: float, entry: tuple[int, ...] = entry) -> bool:
            low, high = (np.broadcast_to(limit, value.shape)[entry] for limit in uncut(1 - math.exp(log_error)))
            return not low <= null <= high

        if defined[entry] and leaves_out(math.log(_LEAST)):
            levels[entry] = _LEAST
        elif defined[entry]:  # more than 45 rounds could reach a level of 0, which has no quantile
            levels[entry] = math.exp(bisect(leaves_out, math.log(_LEAST), 0.0, max_rounds=45)[1])
    return levels


def _ratio(distance: float | Array, error: float | Array) -> Any:
    """Divide a distance by an error; with an error of 0 the ratio is infinite, or 0 for a distance of 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(
            np.asarray(distance) == 0, np.where(np.isnan(error), np.nan, 0.0), np.asarray(distance) / error
        )
    return ratio if ratio.ndim else float(ratio)


def share_error(counts: Array, n: int, p: float | Array, q: float | Array) -> Array:
    """Return the standard errors of shares; a report supports the true option with probability p, and any other with q.

    The variance of the proportion s of supporting reports is estimated by s (1 - s) / (n - 1). If all reports agree,
    the estimate is the variance under the design at the nearest share within [0, 1]. If the reports at that share
    always agree, because answers are not randomized, one more report of each kind is added. A single report has no
    standard error.

    >>> share_error(np.array([0.0, 0.0, 50.0]), 300, 5 / 6, 1 / 6).round(4), share_error(np.zeros(1), 8, 1, 0)
    (array([0.0323, 0.0323, 0.0323]), array([0.10606602]))
    """
    if n < 2:
        return np.full(np.shape(counts), np.nan)
    observed, agree = counts / n, (counts == 0) | (counts == n)
    nearest = np.clip(observed, np.minimum(p, q), np.maximum(p, q))
    law = np.where(nearest * (1 - nearest) > 0, nearest, (counts + 1) / (n + 2))
    variance = np.where(agree, law * (1 - law) / n, observed * (1 - observed) / (n - 1))
    return np.asarray(np.sqrt(variance) / np.abs(np.asarray(p) - q))
