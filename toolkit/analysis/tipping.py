"""How many people who do not follow the instructions would explain an estimate: `tipping_point` of a share,
`sensitivity` of differences, coefficients and margins, `bounds` where nothing is assumed of them.

If a share g answers so that the last report comes with probability r, whatever is true, the reports come with
(1 - g) * l0 + g * r instead of l0, which a share x0 alone would make. Solved for g.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from toolkit.core.arrays import Array, Codes, Label, Values
from toolkit.core.checks import Number, choice, probability, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.extras import extra
from toolkit.core.inference.contrasts import limits_of
from toolkit.core.inference.intervals import Interval, Shares
from toolkit.frames.table import array_of
from toolkit.local.anchor import at_random
from toolkit.local.design import Design

if TYPE_CHECKING:
    import pandas as pd

WAYS = ("random", "self_protective", "self_incriminating")
SHARES = (0.0, 0.05, 0.1, 0.15, 0.2)


@dataclass(frozen=True, repr=False)
class TippingPoint:
    """Shares of people who do not follow the instructions that would explain an estimate.

    The ways are "random" (report anything, evenly), "self_protective" (always report what speaks most for the first
    option) and "self_incriminating" (always report what speaks most for the last option). NaN: no share does it.

    Parameters
    ----------
    null : float
        What the truth would be instead.
    level : float
        Level of the interval that `doubt` is about.
    explains : dict of float
        For each way, the share that would explain the estimate.
    doubt : dict of float
        For each way, the share that would explain the limit nearest to `null`: from it on the estimate is in doubt.

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
            One row for each way.
        """
        pd = extra("pandas", "analysis")
        return pd.DataFrame({"explains": self.explains, "doubt": self.doubt})

    def __repr__(self) -> str:
        parts = [f"{way} {_percent(share)}" for way, share in self.explains.items()]
        return f"<TippingPoint: if the truth were {self.null:g}, it would be explained by {', '.join(parts)}>"


def tipping_point(
    estimate: Estimate, null: Number = 0, *, design: Design | None = None, level: float = 0.95
) -> TippingPoint:
    """Find the share of people who answer at random, or always the same, that would explain an estimate of a share.

    Parameters
    ----------
    estimate : Estimate
        Of a design with two answers and two reports.
    null : number
        What the truth might be instead: what people said when they were asked directly, or 0.
    design : Design, optional
        Where the estimate was not made by it alone, as of a sample.
    level : float
        Of the interval whose nearer limit is explained, too.

    Returns
    -------
    TippingPoint
        One share for each way of not following the instructions; NaN where no share does it.

    Examples
    --------
    >>> from toolkit import warner
    >>> tipping_point(warner("3/4").estimate_counts([700, 300]))
    <TippingPoint: if the truth were 0, it would be explained by random 20 %, self_protective no share, ...>
    """
    truth, (no, yes) = float(probability(null, "null")), _row(estimate, design)
    chances = {way: _chance((no, yes), way) for way in WAYS}
    low, high = (float(limit) for limit in estimate.interval(level))
    value = float(estimate.value)
    expected, seen = (no + (yes - no) * share for share in (truth, value))
    explains = {way: _share(seen, expected, chance) for way, chance in chances.items()}
    if low <= truth <= high:  # the interval holds it already
        return TippingPoint(truth, level, explains, dict.fromkeys(WAYS, 0.0))
    limit = no + (yes - no) * (low if value > truth else high)
    return TippingPoint(
        truth, level, explains, {way: _share(limit, expected, chance) for way, chance in chances.items()}
    )


def _share(seen: float, expected: float, otherwise: float) -> float:
    if math.isclose(otherwise, expected):
        return math.nan
    share = (seen - expected) / (otherwise - expected)
    return share if 0 <= share <= 1 else math.nan


def _row(estimate: object, design: Design | None) -> tuple[float, float]:
    """How probable the last report is from those without and with the last option."""
    if not isinstance(estimate, Estimate):
        consequence = "as design.estimate(…) or estimates(…)['question'] gives it"
        refuse("the estimate must be an Estimate", type(estimate).__name__, consequence, TypeError)
    if np.ndim(estimate.value):
        refuse("the estimate must be of one share", f"{len(estimate.labels)} values", "take two answers together")
    if design is not None:
        if design.matrix.shape != (2, 2):
            rule = "`design` must have two answers and two reports"
            refuse(rule, f"shape {design.matrix.shape}", "others have no name here")
        return float(design.matrix[0, 1]), float(design.matrix[1, 1])
    basis = estimate.basis
    if not isinstance(basis, Shares) or basis.given.shape != (1, 2):
        refuse("the estimate must be made by a design of two answers and two reports", "another", "give design=…")
    return float(basis.without[0, 0]), float(basis.given[0, 0])  # the report that is counted first is the last one


# What if they did not follow? Differences, coefficients and margins under other conduct.


@dataclass(frozen=True, eq=False)
class _Conduct:
    """A design as people really used it: what a model reads of it."""

    matrix: Array
    options: tuple[Any, ...]
    epsilon: float
    name: str


@dataclass(frozen=True, eq=False)
class _Shares:
    """Estimates of shares, one or two; of two the difference is meant."""

    estimates: tuple[Estimate, ...]
    rows: tuple[tuple[float, float], ...]

    def at(self, way: str, shares: tuple[float, ...]) -> Estimate:
        parts = zip(self.estimates, self.rows, shares, strict=True)
        moved = [_moved(estimate, row, way, share) for estimate, row, share in parts]
        return moved[0] if len(moved) == 1 else moved[0] - moved[1]


def _moved(estimate: Estimate, row: tuple[float, float], way: str, share: float) -> Estimate:
    """The estimate of reports (1 - g) * l + g * r in place of l; of carriers alone, who have a report less."""
    (no, yes), r = row, _chance(row, way)
    if way == "carriers":
        left = (1 - share) * (yes - no) + share * (r - no)
        if left * (yes - no) <= 0:
            refuse(
                "carriers must still be told from others", f"a share of {share:g}", "their reports would be the same"
            )
        return estimate.rescaled((yes - no) / left)
    return estimate.rescaled(1 / (1 - share), share * (no - r) / ((1 - share) * (yes - no)))


def _chance(row: tuple[float, float], way: str) -> float:
    """How probable the last report is from those who do not follow."""
    if way == "random":
        return 0.5
    return float((row[1] > row[0]) == (way == "self_incriminating"))


@dataclass(frozen=True, eq=False)
class _Model:
    """A fit, the place of each row's group, and what is asked of the fit."""

    fit: Any
    places: Codes
    of: Callable[[Any], Estimate]

    def at(self, way: str, shares: tuple[float, ...]) -> Estimate:
        channel = self.fit.data.channel
        designs = tuple(
            _Conduct(_mixed(one.matrix, way, share), one.options, one.epsilon, one.name)
            for one in channel.designs
            for share in shares
        )
        which = channel.which * len(shares) + self.places
        return self.of(self.fit.through(replace(channel, designs=designs, which=which)))


def _mixed(matrix: Array, way: str, share: float) -> Array:
    """The matrix that reports come from if a share of people, or of carriers, does not follow."""
    speaks = matrix[0] / matrix.sum(axis=0)
    aside = np.full(len(speaks), 1 / len(speaks))
    if way != "random":
        aside = np.eye(len(speaks))[np.argmin(speaks) if way == "self_incriminating" else np.argmax(speaks)]
    moved = (1 - share) * matrix + share * aside
    return np.vstack([matrix[:-1], moved[-1:]]) if way == "carriers" else moved


@dataclass(frozen=True, eq=False, repr=False)
class ComplianceSensitivity:
    """What an estimate becomes if a share of each group does not follow the instructions.

    Parameters
    ----------
    groups : tuple of str
        Whose shares can differ: one or two groups.
    way : str
        What those people do instead.
    null : float
        The value that is explained away.
    level : float
        Of the intervals.
    source : object
        What is computed again for each pair of shares.

    Examples
    --------
    >>> from toolkit import warner
    >>> from toolkit.analysis import sensitivity
    >>> found = sensitivity(warner("3/4").estimate_counts([700, 300]), way="random")
    >>> found.groups, round(float(found.at(0.1)), 3)
    (('everybody',), 0.056)
    """

    groups: tuple[str, ...]
    way: str
    null: float
    level: float
    source: Any

    def at(self, *shares: float) -> Estimate:
        """Return the estimate if these shares do not follow.

        Parameters
        ----------
        *shares : float
            From 0 to below 1, one for each group; a single one is that of all groups.

        Returns
        -------
        Estimate
            Of the same kind as the one that was given.
        """
        checked = tuple(float(probability(share, "share")) for share in shares)
        checked = checked * len(self.groups) if len(checked) == 1 else checked
        if len(checked) != len(self.groups) or max(checked) >= 1:
            rule = f"there must be a share below 1 for each of {', '.join(self.groups)}"
            refuse(rule, f"{shares}", "one number is for all of them")
        found: Estimate = self.source.at(self.way, checked)
        return found

    def to_frame(self, shares: Sequence[float] = SHARES) -> "pd.DataFrame":
        """Return estimate, error and limits for every combination of these shares.

        Parameters
        ----------
        shares : sequence of float
            Of people who do not follow.

        Returns
        -------
        pandas.DataFrame
            The shares are its index; NaN where a model has no maximum.
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
        """Which share explains the estimate away: of each group by itself, and of all alike.

        And the share from which the interval holds the null. NaN: no share does it.
        """
        ends = {name: tuple(float(name == other) for other in self.groups) for name in self.groups}
        if len(self.groups) > 1:
            ends["everybody"] = (1.0,) * len(self.groups)
        value, _, low, high = self._row((0.0,) * len(self.groups))
        limit = 0 if low <= self.null <= high else 2 if value > self.null else 3
        points = {}
        for name, end in ends.items():

            def off(share: float, place: int, end: tuple[float, ...] = end) -> float:
                return self._row(tuple(share * one for one in end))[place] - self.null

            doubt = _root(off, limit) if limit else 0.0
            points[name] = TippingPoint(self.null, self.level, {self.way: _root(off, 0)}, {self.way: doubt})
        return points

    def plot(self, most: float = 0.2, ax: Any = None) -> Any:
        """Draw the estimate against the shares: contours of two groups, a band of one.

        Parameters
        ----------
        most : float
            The largest share that is drawn.
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes
            The picture.
        """
        from toolkit.show.fits import conduct

        return conduct(self, most=most, ax=ax)

    def __repr__(self) -> str:
        words = [
            f"{name} {_percent(point.explains[self.way])} (in doubt from {_percent(point.doubt[self.way])})"
            for name, point in self.tipping.items()
        ]
        return f"<Sensitivity to {self.way}: {float(self.at(0)):.3g} becomes {self.null:g} by {', '.join(words)}>"


def _percent(share: float) -> str:
    return "no share" if math.isnan(share) else f"{100 * share:.3g} %"


def _root(off: Callable[[float, int], float], place: int) -> float:
    """The least share at which a number changes its sign: a scan, then the regula falsi of Illinois."""
    before, start = 0.0, off(0.0, place)
    for after in (*np.linspace(0, 1, 21)[1:-1], 0.999):
        end = off(float(after), place)
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
        value = off(middle, place)
        a, b = ((a[0], a[1] / 2) if value * b[1] > 0 else b), (middle, value)
    return b[0]


def sensitivity(
    result: Any,
    of: Label | Callable[[Any], Estimate] | None = None,
    *,
    by: Values | None = None,
    way: Literal["self_protective", "random", "self_incriminating", "carriers"] = "self_protective",
    null: float = 0.0,
    level: float = 0.95,
    design: Design | None = None,
) -> ComplianceSensitivity:
    """Ask what becomes of an estimate if people did not follow the instructions, and how many would explain it away.

    Estimates are made again as if a share of people reported the same whatever is true. Equal shares in all groups
    hardly move a difference; unequal ones do, and it takes few: so shares of two groups can differ.

    Parameters
    ----------
    result : fit, Estimate, or mapping of two estimates
        A fit of `logistic` or `multinomial`; an estimate of a share; or two by name, whose difference is meant.
    of : str or callable, optional
        Of a fit: a coefficient by its label, or a function of the fit such as ``lambda fit: fit.margins("job")``.
    by : str or array, optional
        Of a fit: a variable of its formula, or one value per row of the fit; two groups. Without it, all are one.
    way : {"self_protective", "random", "self_incriminating", "carriers"}
        What those people do: report what speaks most for the first option; anything, evenly; what speaks most for the
        last; or the first, but only people who have the trait.
    null : float
        The value that is explained away.
    level : float
        Of intervals.
    design : Design, optional
        Of estimates that were not made by it alone, as of a sample.

    Returns
    -------
    Sensitivity
        `at`, `to_frame`, `tipping` and `plot`.

    Examples
    --------
    >>> from toolkit import forced
    >>> women, men = (forced("1/6", "1/6").estimate_counts(counts) for counts in ([761, 469], [777, 393]))
    >>> found = sensitivity({"women": women, "men": men})
    >>> round(float(found.at(0, 0.1)), 3), round(found.tipping["men"].explains["self_protective"], 3)
    (0.012, 0.119)
    """
    choice(way, "way", (*WAYS, "carriers"))
    if not hasattr(result, "through"):
        named = result if isinstance(result, Mapping) else {"everybody": result}
        if len(named) not in (1, 2):
            refuse("`result` must be a fit, an estimate, or two estimates by name", len(named), "two are subtracted")
        rows = tuple(_row(one, design) for one in named.values())
        source: Any = _Shares(tuple(named.values()), rows)
        return ComplianceSensitivity(tuple(map(str, named)), way, float(null), level, source)
    if of is None:
        refuse(
            "`of` must say what of the fit is meant", "nothing", f"a label such as {result.labels[-1]!r}, or a function"
        )
    groups, places = _groups(result, by)
    source = _Model(result, places, of if callable(of) else itemgetter(of))
    return ComplianceSensitivity(groups, way, float(null), level, source)


def _groups(fit: Any, by: Values | None) -> tuple[tuple[str, ...], Codes]:
    rows = len(fit.data.channel.codes)
    if by is None:
        return ("everybody",), np.zeros(rows, dtype=np.intp)
    values = fit.covariates.values(by) if isinstance(by, str) else array_of(by)
    if len(values) != rows:
        refuse("`by` must have one value for each row of the fit", f"{len(values)} for {rows}", "rows belong together")
    names, places = np.unique(values.astype(str), return_inverse=True)
    if len(names) != 2:
        refuse("`by` must make two groups", len(names), "each has a share, and a picture has two axes")
    label = f"{by} = " if isinstance(by, str) else ""
    return tuple(f"{label}{name}" for name in names), places.reshape(-1)


@dataclass(frozen=True, repr=False)
class IdentificationBounds:
    """Where a share lies if nothing is assumed of those who do not follow; a difference of two has bounds, too.

    Parameters
    ----------
    low, high : float
        The least and the greatest share that agree with the reports.
    interval : Interval
        The same with the error of the reports.

    Examples
    --------
    >>> from toolkit import forced
    >>> from toolkit.analysis import bounds
    >>> found = bounds(forced("1/6", "1/6").estimate_counts([761, 469]), 0.05, way="self_protective")
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


def bounds(
    estimate: Estimate | Sequence[Estimate],
    share: Number | Sequence[Number] | Estimate,
    *,
    way: str | None = None,
    level: float = 0.95,
    design: Design | None = None,
) -> IdentificationBounds:
    """Bound a share if nothing is assumed of those who do not follow: all of them may have the trait, or none.

    In 432 cells, enumerated (a die, crosswise; 30, 100, 400 people; shares of 0.01 to 0.5; 0.05 to 0.2 of all do not
    follow, in the worst ways), the 95 % interval holds the share in at least 94.7 % of surveys.

    Parameters
    ----------
    estimate : Estimate or sequence of Estimate
        Of a design with two answers and two reports; of several arms with other odds, which must agree.
    share : number, pair or Estimate
        How many do not follow: a number, from where to where, or an anchor's estimate of those who do follow.
    way : {"self_protective", "random", "self_incriminating"}, optional
        What they report; without it, anything.
    level : float
        Of the interval; half of its error goes to an anchor.
    design : Design, optional
        Of estimates that were not made by it alone.

    Returns
    -------
    Bounds
        Cut to 0 to 1; of several arms what agrees with all of them.

    Raises
    ------
    ValueError
        If arms have nothing in common.

    Examples
    --------
    >>> from toolkit import forced
    >>> bounds(forced("1/6", "1/6").estimate_counts([761, 469]), 0.05, way="self_protective")
    <Bounds 0.334 to 0.384 (95 % interval 0.294 to 0.426)>
    """
    arms = [estimate] if isinstance(estimate, Estimate) else list(estimate)
    if isinstance(share, Estimate):
        level_of_each = 1 - (1 - level) / 2
        limits = share.interval(level_of_each)
        if np.isnan([*limits]).any():
            why = at_random(share, level_of_each) if limits.empty else "its reports say nothing of the error"
            refuse("an anchor must have an interval", "none", why)
        ends = [min(max(1 - float(limit), 0.0), 1.0) for limit in limits]
    else:
        level_of_each = level
        given = [share] if isinstance(share, str) or not isinstance(share, Sequence) else share
        ends = [float(probability(end, "share")) for end in given]
    if not arms:
        refuse("there must be an estimate", "none", "it is what is bounded")
    parts = [_arm(one, _row(one, design), ends, way, level_of_each) for one in arms]
    low, high, least, most = (
        float(pick(values)) for pick, values in zip((max, min, max, min), zip(*parts, strict=True), strict=True)
    )
    if least > most:
        refuse("the arms must have a share in common", "none at this level", "more people do not follow, or otherwise")
    # Arms whose points contradict each other within their errors agree somewhere between them.
    low, high = (low, high) if low <= high else ((low + high) / 2,) * 2
    return IdentificationBounds(low, high, Interval(min(least, low), max(most, high), level, "bounds"))


def _arm(
    estimate: Estimate, row: tuple[float, float], ends: Sequence[float], way: str | None, level: float
) -> tuple[float, float, float, float]:
    """Least and greatest share, and limits of both: those who follow, and all or none of the others."""
    no, yes = row
    chances = (0.0, 1.0) if way is None else (_chance(row, choice(way, "way", WAYS)),)
    shifts = [share * (no - r) / (yes - no) for share in ends for r in chances]
    tops = [shift + share for shift, share in zip(shifts, np.repeat(ends, len(chances)), strict=True)]
    value = float(estimate)
    _, lower, upper = (float(np.ravel(limit)[0]) for limit in limits_of(estimate.basis, level))
    raw = (value + min(shifts), value + max(tops), lower + min(shifts), upper + max(tops))
    low, high, least, most = (min(max(one, 0.0), 1.0) for one in raw)
    return low, high, least, most
