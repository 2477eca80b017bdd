"""Whether any share at all agrees with the reports: what is said when people did not follow a design."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.inference.digits import concise
from toolkit.core.inference.intervals import Interval, Normal, Shares

DOUBTFUL = 0.05
"""A fit with a smaller p-value is mentioned wherever the estimate is shown, even if an interval is left."""

# of many options only those farthest out have their tails computed: leaving out others is on the safe side
_CANDIDATES = 256
_CAUSES = "the instructions were not followed, or the design was another, or it is chance"
_AMONG_MANY = "chance alone does this to about 1 in 40 of the options that nobody has"


class Counted(Protocol):
    """Shares that reports were counted for."""

    @property
    def value(self) -> float | Array: ...

    @property
    def methods(self) -> tuple[str, ...]: ...

    def interval(self, level: float, method: str) -> Interval: ...


@dataclass(frozen=True, eq=False)
class DesignFit:
    """How well the best-fitting truth agrees with the reports.

    Parameters
    ----------
    p : float or array
        The greatest chance, over all shares and if the design was followed, of reports as far or farther out on
        the side where they lie. One number for shares that belong together, one for each of several boxes.
    method : str
        How it was computed.
    of : str
        What would have to fit: a share, or a mean.

    Examples
    --------
    >>> DesignFit(0.01, "exact binomial tail").doubtful
    True
    """

    p: float | Array
    method: str
    of: str = "share"

    __repr__ = concise

    @property
    def doubtful(self) -> bool:
        """Whether the p-value is below 0.05, or the least of several, times their number."""
        return bool(np.size(self.p) * np.nanmin(self.p) < DOUBTFUL) if not np.all(np.isnan(self.p)) else False

    def words(self, entry: int | None = None) -> str:
        """Write the p-value of an entry.

        Parameters
        ----------
        entry : int, optional
            Its place; the least of several p-values if left out.

        Returns
        -------
        str
            As in "p = 0.026".
        """
        return p_written(float(np.nanmin(self.p) if entry is None else np.ravel(self.p)[entry]))


def p_written(p: float) -> str:
    """A p-value with two digits; with one below a thousandth."""
    if p < 1e-300:
        return "p < 1e-300"
    return f"p = {p:.0e}" if p < 0.001 else f"p = {p:.2g}"


def edge_fit(shares: Shares, *, together: bool, of: str = "share") -> DesignFit:
    """Exact, from the binomial tails of the reports for each option at the nearest edge, 0 or 1.

    Of one share the p-value is the greatest chance, over all shares, of as few reports (or as many). Of
    several that belong `together` it is the least of all tails times their number, so that it stays below
    0.05 in at most 5 % of surveys.
    """
    k = len(shares.value)
    if together and np.all((shares.value >= 0) & (shares.value <= 1)):
        return DesignFit(1.0, "exact binomial tail", of)
    if k == 1:
        return DesignFit(float(_edge_tails(shares)[0]), "exact binomial tail", of)
    if not together:
        return DesignFit(_edge_tails(shares), "exact binomial tail of each option", of)
    beyond = np.maximum(-shares.score(0.0), shares.score(1.0))
    farthest = np.argsort(-beyond, kind="stable")[:_CANDIDATES]
    least = float(_edge_tails(shares.rows(farthest)).min())
    return DesignFit(min(1.0, 2 * k * least), "exact binomial tails of all options (Bonferroni)", of)


def wald_fit(shares: Normal) -> DesignFit:
    """The same where only values and standard errors are known, from the normal tails; shares that belong together."""
    each = _edge_tails(shares, "wald")
    return DesignFit(
        float(each[0]) if len(each) == 1 else float(min(1.0, 2 * len(each) * np.nanmin(each))), "normal tails"
    )


def _edge_tails(shares: Shares | Normal, method: str = "exact") -> Array:
    """For each share outside 0 to 1 the chance, at the nearest edge, of reports as far out; 1 for one inside."""
    if isinstance(shares, Shares):  # tails are costly, and of one that lies between they are not asked for
        outside = (shares.value < 0) | (shares.value > 1)
        if not outside.all():
            tails = np.where(np.isnan(shares.value), np.nan, 1.0)
            tails[outside] = _edge_tails(shares.rows(np.flatnonzero(outside))) if outside.any() else 1.0
            return tails
    few, many = (np.atleast_1d(tail) for tail in (shares.tails(0.0, method)[1], shares.tails(1.0, method)[2]))
    beyond = np.where(shares.value < 0, few, np.where(shares.value > 1, many, 1.0))
    return np.where(np.isnan(few + many + shares.value), np.nan, beyond)


def fit_notes(fit: DesignFit, shares: Counted, seen: str = "") -> tuple[str, ...]:
    """What must be said of a fit that leaves a 95 % interval empty, or that is doubtful; `seen` : what came and what
    the design makes, as in "10 of 300 reports were yes, where the design makes at least 50".
    """
    value = np.asarray(shares.value)
    inside = bool(np.all((value >= 0) & (value <= 1)))  # then no interval is empty
    if inside and not fit.doubtful:
        return ()
    interval = shares.interval(0.95, shares.methods[0])
    empty = int(np.count_nonzero(interval.empty))
    if not empty and not fit.doubtful:
        return ()
    facts = f": {seen}" if seen else ""
    if np.ndim(interval.low) == 0:
        verdict = (
            f"no {fit.of} agrees with these reports at 95 %" if empty else f"the reports hardly agree with any {fit.of}"
        )
        return (
            (f"{verdict}{facts} ({fit.words()}); {_CAUSES}{f'; do not publish it as a {fit.of}' if empty else ''}"),
        )
    chance = f"{fit.words()} over all options" if np.ndim(fit.p) == 0 else f"the least {fit.words()}"
    options = f"for {empty} of {np.size(interval.low)} options no {fit.of} agrees with the reports at 95 %"
    verdict = options if empty else f"the reports hardly agree with any {fit.of}s"
    return (f"{verdict}{facts} ({chance}); {_CAUSES if fit.doubtful else _AMONG_MANY}",)


_INSIDE = {"mle": "maximum likelihood (mle)", "simplex": "the nearest distribution (simplex)"}


def boundary_note(value: float | Array, inside: str | None = "mle") -> tuple[str, ...]:
    """Say so when an unbiased estimate of a share lies outside 0 to 1; `inside` : a method that stays within."""
    outside = int(np.count_nonzero((np.asarray(value) < 0) | (np.asarray(value) > 1)))
    if not outside or np.isnan(np.sum(value)):
        return ()
    which = "the estimate lies" if np.ndim(value) == 0 else f"{outside} of {np.size(value)} estimates lie"
    instead = f", and {_INSIDE[inside]} for display" if inside else ""
    return (f"{which} outside 0 to 1, as an unbiased estimate may; use it in averages{instead}",)
