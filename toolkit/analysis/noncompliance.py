"""Noncompliance: how estimates change if some people do not follow the instructions.

`tipping_point` is for a share, and `compliance_sensitivity` is for differences, coefficients and margins.
`identification_bounds` makes no assumption about these people.

Suppose that a share g of people sends the last report with probability r, regardless of the truth. If the true share is
x0, the probability of the last report is then (1 - g) * l0 + g * r, where l0 is the probability without these people.
The functions solve this for g.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from toolkit.analysis.regression.fit import AnswerFit
from toolkit.core.arrays import Array, Codes, Label, Values
from toolkit.core.checks import Number, check_choice, check_probability, reject
from toolkit.core.estimate import Estimate
from toolkit.core.extras import extra
from toolkit.core.inference.contrasts import limits_of
from toolkit.core.inference.intervals import Interval, Shares
from toolkit.frames.table import array_of
from toolkit.local.anchor import describe_random_share
from toolkit.local.design import Design

if TYPE_CHECKING:
    import pandas as pd

BEHAVIORS = ("random", "self_protective", "self_incriminating")
SHARES = (0.0, 0.05, 0.1, 0.15, 0.2)


@dataclass(frozen=True, repr=False)
class TippingPoint:
    """The shares of noncompliant people that would explain an estimate.

    The behaviors are "random" (a uniformly random report), "self_protective" (always the report that favors the first
    option most) and "self_incriminating" (always the report that favors the last option most). NaN means that no share
    explains the estimate.

    Parameters
    ----------
    null : float
        The alternative value of the true share.
    level : float
        Confidence level of the interval that `doubt` refers to.
    explains : dict of float
        For each behavior, the share that would explain the estimate.
    doubt : dict of float
        For each behavior, the share that would explain the limit nearest to `null`; from this share upwards the
        estimate is in doubt.

    Examples
    --------
    >>> from toolkit import warner
    >>> from toolkit.analysis import tipping_point
    >>> round(tipping_point(warner("3/4").estimate_counts([700, 300])).explains["random"], 3)
    0.2
    """

    null: float
    level: float
    explains: dict[str, float]
    doubt: dict[str, float]

    def to_frame(self) -> "pd.DataFrame":
        """Return the shares as a frame.

        Returns
        -------
        pandas.DataFrame
            One row for each behavior.
        """
        pd = extra("pandas", "analysis")
        return pd.DataFrame({"explains": self.explains, "doubt": self.doubt})

    def __repr__(self) -> str:
        shares = [f"{behavior} {_percent(share)}" for behavior, share in self.explains.items()]
        return f"<TippingPoint: if the truth were {self.null:g}, it would be explained by {', '.join(shares)}>"


def tipping_point(
    estimate: Estimate, null: Number = 0, *, design: Design | None = None, level: float = 0.95
) -> TippingPoint:
    """Find the share of random or constant answers that would explain an estimate of a share.

    Parameters
    ----------
    estimate : Estimate
        An estimate from a design with two answers and two reports.
    null : number
        The alternative value of the true share: for example 0, or the share of yes answers to direct questions.
    design : Design, optional
        The design, if the estimate does not follow from the design alone, as with a sample.
    level : float
        Confidence level of the interval, whose limit nearest to `null` is explained as well.

    Returns
    -------
    TippingPoint
        One share for each behavior; NaN if no share explains the estimate.

    Examples
    --------
    >>> from toolkit import warner
    >>> tipping_point(warner("3/4").estimate_counts([700, 300]))
    <TippingPoint: if the truth were 0, it would be explained by random 20 %, self_protective no share, ...>
    """
    truth, (no, yes) = float(check_probability(null, "null")), _last_report(estimate, design)
    probabilities = {behavior: _noncompliant_report((no, yes), behavior) for behavior in BEHAVIORS}
    low, high = (float(limit) for limit in estimate.interval(level))
    value = float(estimate.value)
    expected, observed = (no + (yes - no) * share for share in (truth, value))
    explains = {behavior: _share(observed, expected, r) for behavior, r in probabilities.items()}
    if low <= truth <= high:  # the estimate is in doubt even if everybody complies
        return TippingPoint(truth, level, explains, dict.fromkeys(BEHAVIORS, 0.0))
    limit = no + (yes - no) * (low if value > truth else high)
    doubt = {behavior: _share(limit, expected, r) for behavior, r in probabilities.items()}
    return TippingPoint(truth, level, explains, doubt)


def _share(observed: float, expected: float, noncompliant: float) -> float:
    if math.isclose(noncompliant, expected):
        return math.nan
    share = (observed - expected) / (noncompliant - expected)
    return share if 0 <= share <= 1 else math.nan


def _last_report(estimate: object, design: Design | None) -> tuple[float, float]:
    """Return the probability of the last report from people without and with the last option."""
    if not isinstance(estimate, Estimate):
        remedy = "as design.estimate(…) or estimates(…)['question'] returns it"
        reject("the estimate must be an Estimate", type(estimate).__name__, remedy, TypeError)
    if np.ndim(estimate.value):
        reject("the estimate must be of one share", f"{len(estimate.labels)} values", "merge answers until two remain")
    if design is not None:
        if design.matrix.shape != (2, 2):
            rule = "`design` must have two answers and two reports"
            reject(rule, f"shape {design.matrix.shape}", "join answers or reports")
        return float(design.matrix[0, 1]), float(design.matrix[1, 1])
    basis = estimate.basis
    if not isinstance(basis, Shares) or basis.probs_with.shape != (1, 2):
        reject("the estimate must be made by a design of two answers and two reports", "another", "give design=…")
    return float(basis.probs_without[0, 0]), float(basis.probs_with[0, 0])  # the basis lists the last report first


def _noncompliant_report(row: tuple[float, float], behavior: str) -> float:
    """Return the probability of the last report from people who do not follow the instructions."""
    if behavior == "random":
        return 0.5
    return float((row[1] > row[0]) == (behavior == "self_incriminating"))


@dataclass(frozen=True, eq=False)
class _UsedDesign:
    """A design as people actually used it, with the attributes that a model reads."""

    matrix: Array
    options: tuple[Any, ...]
    epsilon: float
    name: str


@dataclass(frozen=True, eq=False)
class _ShareSource:
    """One estimate of a share, or two estimates whose difference is of interest."""

    estimates: tuple[Estimate, ...]
    rows: tuple[tuple[float, float], ...]

    def at(self, behavior: str, shares: tuple[float, ...]) -> Estimate:
        columns = zip(self.estimates, self.rows, shares, strict=True)
        adjusted = [_adjusted(estimate, row, behavior, share) for estimate, row, share in columns]
        return adjusted[0] if len(adjusted) == 1 else adjusted[0] - adjusted[1]


def _adjusted(estimate: Estimate, row: tuple[float, float], behavior: str, share: float) -> Estimate:
    """Estimate with report probabilities (1 - g) * l + g * r in place of l; with "carriers", only those of carriers."""
    (no, yes), r = row, _noncompliant_report(row, behavior)
    if behavior == "carriers":
        slope = (1 - share) * (yes - no) + share * (r - no)
        if slope * (yes - no) <= 0:
            rule = "reports of carriers must still differ from those of others"
            reject(rule, f"a share of {share:g}", "take a smaller share")
        return estimate.rescaled((yes - no) / slope)
    return estimate.rescaled(1 / (1 - share), share * (no - r) / ((1 - share) * (yes - no)))


@dataclass(frozen=True, eq=False)
class _FitSource:
    """A fit, the group of each row, and the quantity of interest as a function of the fit."""

    fit: AnswerFit
    groups: Codes
    quantity: Callable[[Any], Estimate]

    def at(self, behavior: str, shares: tuple[float, ...]) -> Estimate:
        channel = self.fit.data.channel
        designs: Any = tuple(
            _UsedDesign(_used_matrix(design.matrix, behavior, share), design.options, design.epsilon, design.name)
            for design in channel.designs
            for share in shares
        )
        index = channel.design_index * len(shares) + self.groups
        return self.quantity(self.fit._refit(replace(channel, designs=designs, design_index=index)))


def _used_matrix(matrix: Array, behavior: str, share: float) -> Array:
    """Return the effective matrix of reports if a share of people, or of carriers, does not follow the instructions."""
    evidence = matrix[0] / matrix.sum(axis=0)  # how strongly each report favors the first option
    reports = np.full(len(evidence), 1 / len(evidence))
    if behavior != "random":
        extreme = np.argmin(evidence) if behavior == "self_incriminating" else np.argmax(evidence)
        reports = np.eye(len(evidence))[extreme]
    used = (1 - share) * matrix + share * reports
    return np.vstack([matrix[:-1], used[-1:]]) if behavior == "carriers" else used


@dataclass(frozen=True, eq=False, repr=False)
class ComplianceSensitivity:
    """An estimate as a function of the share of each group that does not follow the instructions.

    Parameters
    ----------
    groups : tuple of str
        One or two groups, each with its own share.
    behavior : str
        The behavior of people who do not follow the instructions.
    null : float
        The value at which the estimate is explained away.
    level : float
        Confidence level of the intervals.
    source : object
        The object that recomputes the estimate for each pair of shares.

    Examples
    --------
    >>> from toolkit import warner
    >>> from toolkit.analysis import compliance_sensitivity
    >>> found = compliance_sensitivity(warner("3/4").estimate_counts([700, 300]), behavior="random")
    >>> found.groups, round(float(found.at(0.1)), 3)
    (('everybody',), 0.056)
    """

    groups: tuple[str, ...]
    behavior: str
    null: float
    level: float
    source: Any

    @property
    def is_share(self) -> bool:
        """Whether the estimate is a share or a difference of two shares, rather than a result of a fitted model."""
        return isinstance(self.source, _ShareSource)

    def at(self, *shares: float) -> Estimate:
        """Return the estimate if these shares of people do not follow the instructions.

        Parameters
        ----------
        *shares : float
            Shares from 0 to below 1, one for each group; a single share applies to all groups.

        Returns
        -------
        Estimate
            An estimate of the same kind as the original estimate.
        """
        checked = tuple(float(check_probability(share, "share")) for share in shares)
        checked = checked * len(self.groups) if len(checked) == 1 else checked
        if len(checked) != len(self.groups) or max(checked) >= 1:
            rule = f"there must be a share below 1 for each of {', '.join(self.groups)}"
            reject(rule, f"{shares}", "one number is for all of them")
        estimate: Estimate = self.source.at(self.behavior, checked)
        return estimate

    def to_frame(self, shares: Sequence[float] = SHARES) -> "pd.DataFrame":
        """Return estimate, error and limits for every combination of these shares.

        Parameters
        ----------
        shares : sequence of float
            Shares of people who do not follow the instructions.

        Returns
        -------
        pandas.DataFrame
            A table that is indexed by the shares; NaN if a model has no maximum.
        """
        pd = extra("pandas", "analysis")
        pairs = list(product(shares, repeat=len(self.groups)))
        index = pd.MultiIndex.from_tuples(pairs, names=list(self.groups))
        return pd.DataFrame(map(self._row, pairs), index=index, columns=["estimate", "se", "low", "high"])

    def _row(self, shares: tuple[float, ...]) -> tuple[float, float, float, float]:
        try:
            estimate = self.at(*shares)
        except ValueError:
            return (math.nan,) * 4
        low, high = estimate.interval(self.level)
        return float(estimate), float(estimate.se), float(low), float(high)

    @cached_property
    def tipping(self) -> dict[str, TippingPoint]:
        """The shares that explain the estimate away or put it in doubt, for each group and for all groups alike.

        The estimate is in doubt from the share at which its interval covers the null. NaN means that there is no such
        share.
        """
        ends = {name: tuple(float(name == other) for other in self.groups) for name in self.groups}
        if len(self.groups) > 1:
            ends["everybody"] = (1.0,) * len(self.groups)
        value, _, low, high = self._row((0.0,) * len(self.groups))
        limit = 0 if low <= self.null <= high else 2 if value > self.null else 3
        points = {}
        for name, end in ends.items():

            def distance(share: float, column: int, end: tuple[float, ...] = end) -> float:
                return self._row(tuple(share * weight for weight in end))[column] - self.null

            doubt = _root(distance, limit) if limit else 0.0
            explains = {self.behavior: _root(distance, 0)}
            points[name] = TippingPoint(self.null, self.level, explains, {self.behavior: doubt})
        return points

    def plot(self, max_share: float = 0.2, ax: Any = None) -> Any:
        """Draw the estimate against the shares: contours for two groups, a line with a band for one group.

        Parameters
        ----------
        max_share : float
            The largest share that is drawn.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes
            The picture.
        """
        from toolkit.show.fits import noncompliance

        return noncompliance(self, max_share=max_share, ax=ax)

    def __repr__(self) -> str:
        tips = [
            f"{name} {_percent(tip.explains[self.behavior])} (in doubt from {_percent(tip.doubt[self.behavior])})"
            for name, tip in self.tipping.items()
        ]
        return f"<Sensitivity to {self.behavior}: {float(self.at(0)):.3g} becomes {self.null:g} by {', '.join(tips)}>"


def _percent(share: float) -> str:
    return "no share" if math.isnan(share) else f"{100 * share:.3g} %"


def _root(function: Callable[[float, int], float], column: int) -> float:
    """Return the smallest share at which a function changes sign, by a scan and the Illinois method."""
    before, start = 0.0, function(0.0, column)
    for after in (*np.linspace(0, 1, 21)[1:-1], 0.999):
        end = function(float(after), column)
        if math.isnan(end) and not math.isnan(start):
            # The model has no maximum at this share, but the sign may change before the last share with a maximum.
            share, value = _last_finite(function, column, before, float(after))
            after, end = (share, value) if start * value <= 0 else (after, end)
        if start * end <= 0:
            break
        before, start = float(after), end
    else:
        return math.nan
    a, b = (before, start), (float(after), end)
    for _ in range(60):
        if abs(b[0] - a[0]) < 1e-9 or b[1] == 0:
            break
        middle = (a[0] * b[1] - b[0] * a[1]) / (b[1] - a[1])
        value = function(middle, column)
        a, b = ((a[0], a[1] / 2) if value * b[1] > 0 else b), (middle, value)
    return b[0]


def _last_finite(function: Callable[[float, int], float], column: int, low: float, high: float) -> tuple[float, float]:
    """Return the largest share from `low` to `high` at which a number is finite, and the number."""
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if math.isnan(function(middle, column)) else (middle, high)
    return low, function(low, column)


def compliance_sensitivity(
    result: Any,
    quantity: Label | Callable[[Any], Estimate] | None = None,
    *,
    by: Values | None = None,
    behavior: Literal["self_protective", "random", "self_incriminating", "carriers"] = "self_protective",
    null: float = 0.0,
    level: float = 0.95,
    design: Design | None = None,
) -> ComplianceSensitivity:
    """Compute how an estimate changes with the share of noncompliant people, and which share would explain it away.

    Estimates are recomputed as if a share of people sent reports that do not depend on the truth. Equal shares in all
    groups hardly change a difference, but small unequal shares do; the shares of two groups can therefore differ.

    Parameters
    ----------
    result : fit, Estimate, or mapping of two estimates
        A fit of `logistic`, `multinomial` or `ordinal`; an estimate of a share; or two estimates by name, which are
        subtracted.
    quantity : str or callable, optional
        The quantity of interest in a fit: the label of a coefficient, or a function of the fit such as ``lambda fit:
        fit.margins("job")``.
    by : str or array, optional
        The two groups of a fit: a variable of its formula, or one value per row of the fit. If left out, all people are
        one group.
    behavior : {"self_protective", "random", "self_incriminating", "carriers"}
        The behavior of people who do not follow the instructions: they send the report that favors the first option
        most, a uniformly random report, or the report that favors the last option most. With "carriers", only people
        with the trait do not follow the instructions, and they send the report that favors the first option most.
    null : float
        The value at which the estimate is explained away.
    level : float
        Confidence level of the intervals.
    design : Design, optional
        The design, for estimates that do not follow from the design alone, as with a sample.

    Returns
    -------
    ComplianceSensitivity
        An object with `at`, `to_frame`, `tipping` and `plot`.

    Examples
    --------
    >>> from toolkit import forced
    >>> women, men = (forced("1/6", "1/6").estimate_counts(counts) for counts in ([761, 469], [777, 393]))
    >>> found = compliance_sensitivity({"women": women, "men": men})
    >>> round(float(found.at(0, 0.1)), 3), round(found.tipping["men"].explains["self_protective"], 3)
    (0.012, 0.119)
    """
    check_choice(behavior, "behavior", (*BEHAVIORS, "carriers"))
    if not isinstance(result, AnswerFit):
        estimates = result if isinstance(result, Mapping) else {"everybody": result}
        if len(estimates) not in (1, 2):
            rule = "`result` must be a fit, an estimate, or two estimates by name"
            reject(rule, len(estimates), "give two, which are subtracted")
        rows = tuple(_last_report(estimate, design) for estimate in estimates.values())
        source: Any = _ShareSource(tuple(estimates.values()), rows)
        return ComplianceSensitivity(tuple(map(str, estimates)), behavior, float(null), level, source)
    if quantity is None:
        remedy = f"give a label such as {result.labels[-1]!r}, or a function of the fit"
        reject("`quantity` must name the result of the fit to examine", "nothing", remedy)
    names, groups = _two_groups(result, by)
    source = _FitSource(result, groups, quantity if callable(quantity) else itemgetter(quantity))
    return ComplianceSensitivity(names, behavior, float(null), level, source)


def _two_groups(fit: AnswerFit, by: Values | None) -> tuple[tuple[str, ...], Codes]:
    """Return the names of the groups, and the group of each row of the fit."""
    rows = len(fit.data.channel.codes)
    if by is None:
        return ("everybody",), np.zeros(rows, dtype=np.intp)
    values = fit.covariates.values(by) if isinstance(by, str) else array_of(by)
    if len(values) != rows:
        reject("`by` must have one value for each row of the fit", f"{len(values)} for {rows}", "align it with the fit")
    names, groups = np.unique(values.astype(str), return_inverse=True)
    if len(names) != 2:
        reject("`by` must have two values", len(names), "combine its values into two groups")
    label = f"{by} = " if isinstance(by, str) else ""
    return tuple(f"{label}{name}" for name in names), groups.reshape(-1)


@dataclass(frozen=True, repr=False)
class IdentificationBounds:
    """Range of a share without assumptions about noncompliant people; two ranges can be subtracted.

    Parameters
    ----------
    low, high : float
        The smallest and the largest share that are consistent with the reports.
    interval : Interval
        An interval for the range, which includes the error of the reports.

    Examples
    --------
    >>> from toolkit import forced
    >>> from toolkit.analysis import identification_bounds
    >>> found = identification_bounds(
    ...     forced("1/6", "1/6").estimate_counts([761, 469]), 0.05, behavior="self_protective"
    ... )
    >>> round(found.low, 3), round(found.high, 3)
    (0.334, 0.384)
    """

    low: float
    high: float
    interval: Interval

    def __sub__(self, other: "IdentificationBounds") -> "IdentificationBounds":
        low, high = self.low - other.high, self.high - other.low
        below = math.hypot(self.low - self.interval.low, other.interval.high - other.high)
        above = math.hypot(self.interval.high - self.high, other.low - other.interval.low)
        return IdentificationBounds(low, high, replace(self.interval, low=low - below, high=high + above))

    def __repr__(self) -> str:
        limits = f"{self.interval.low:.3f} to {self.interval.high:.3f}"
        return f"<Bounds {self.low:.3f} to {self.high:.3f} ({100 * self.interval.level:g} % interval {limits})>"


def identification_bounds(
    estimate: Estimate | Sequence[Estimate],
    share: Number | Sequence[Number] | Estimate,
    *,
    behavior: str | None = None,
    level: float = 0.95,
    design: Design | None = None,
) -> IdentificationBounds:
    """Bound a share without assumptions about noncompliant people: all or none of them may have the trait.

    In 432 enumerated cases, the 95 % interval covers the share in at least 94.7 % of surveys. The cases have a die or a
    crosswise design, 30 to 400 people, shares of 0.01 to 0.5, and 5 to 20 % of noncompliant people, who behave in the
    worst possible way.

    Parameters
    ----------
    estimate : Estimate or sequence of Estimate
        An estimate from a design with two answers and two reports; or estimates from several arms with different odds,
        which must be compatible.
    share : number, pair or Estimate
        The share of noncompliant people: a number, a range, or an anchor's estimate of the share of compliant people.
    behavior : {"self_protective", "random", "self_incriminating"}, optional
        The reports of noncompliant people; by default, any reports.
    level : float
        Confidence level of the interval; an anchor uses half of the error probability.
    design : Design, optional
        The design, for estimates that do not follow from the design alone.

    Returns
    -------
    IdentificationBounds
        The range within [0, 1]; for several arms, the range that is consistent with all of them.

    Raises
    ------
    ValueError
        If no share is consistent with all arms.

    Examples
    --------
    >>> from toolkit import forced
    >>> identification_bounds(forced("1/6", "1/6").estimate_counts([761, 469]), 0.05, behavior="self_protective")
    <Bounds 0.334 to 0.384 (95 % interval 0.294 to 0.426)>
    """
    arms = [estimate] if isinstance(estimate, Estimate) else list(estimate)
    if isinstance(share, Estimate):
        level_of_each = 1 - (1 - level) / 2
        limits = share.interval(level_of_each)
        if np.isnan([*limits]).any():
            reason = (
                describe_random_share(share, level_of_each) if limits.empty else "its reports do not reveal its error"
            )
            reject("an anchor must have an interval", "none", reason)
        ends = [min(max(1 - float(limit), 0.0), 1.0) for limit in limits]
    else:
        level_of_each = level
        numbers = [share] if isinstance(share, str) or not isinstance(share, Sequence) else share
        ends = [float(check_probability(end, "share")) for end in numbers]
    if not arms:
        reject("there must be an estimate", "none", "give one, or one for each arm")
    ranges = [_bounds_of_arm(arm, _last_report(arm, design), ends, behavior, level_of_each) for arm in arms]
    low, high, least, most = (
        float(pick(values)) for pick, values in zip((max, min, max, min), zip(*ranges, strict=True), strict=True)
    )
    if least > most:
        remedy = "more people may not comply, or may behave differently: raise `share` or change `behavior`"
        reject("the arms must have a share in common", "none at this level", remedy)
    # If the ranges of the arms do not overlap, but their intervals do, the midpoint of the gap is taken.
    low, high = (low, high) if low <= high else ((low + high) / 2,) * 2
    return IdentificationBounds(low, high, Interval(min(least, low), max(most, high), level, "bounds"))


def _bounds_of_arm(
    estimate: Estimate, row: tuple[float, float], ends: Sequence[float], behavior: str | None, level: float
) -> tuple[float, float, float, float]:
    """Return the smallest and largest share with their limits, if none or all noncompliant people have the trait."""
    no, yes = row
    reports = (
        (0.0, 1.0) if behavior is None else (_noncompliant_report(row, check_choice(behavior, "behavior", BEHAVIORS)),)
    )
    shifts = [share * (no - r) / (yes - no) for share in ends for r in reports]
    tops = [shift + share for shift, share in zip(shifts, np.repeat(ends, len(reports)), strict=True)]
    value = float(estimate)
    _, lower, upper = (float(np.ravel(limit)[0]) for limit in limits_of(estimate.basis, level))
    raw = (value + min(shifts), value + max(tops), lower + min(shifts), upper + max(tops))
    low, high, least, most = (min(max(limit, 0.0), 1.0) for limit in raw)
    return low, high, least, most
