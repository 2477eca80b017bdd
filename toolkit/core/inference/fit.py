"""Tests of whether the reports are consistent with any share, or whether people did not follow the design."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.inference.digits import concise
from toolkit.core.inference.intervals import Interval, Normal, Shares

DOUBTFUL = 0.05
"""A fit with a smaller p-value is noted wherever the estimate is shown, even if its interval is not empty."""

# If there are many options, tails are computed only for the options farthest outside. Ignoring the other options is
# conservative.
_CANDIDATES = 256
_CAUSES = "the instructions were not followed, or another design was used, or it is chance"
_AMONG_MANY = "chance alone does this to about 1 in 40 of the options that nobody has"


class CountedShares(Protocol):
    """Shares that are estimated from counts of reports."""

    @property
    def value(self) -> float | Array: ...

    @property
    def methods(self) -> tuple[str, ...]: ...

    def interval(self, level: float, method: str) -> Interval: ...


@dataclass(frozen=True, eq=False)
class DesignFit:
    """The result of a test of how well the best-fitting truth agrees with the reports.

    Parameters
    ----------
    p : float or array
        The p-value: the greatest probability, over all shares, of reports at least as far outside the possible range
        as the observed reports, if people follow the design. It is a single number for shares that sum to one, and an
        array with one number per box for several boxes.
    method : str
        The method by which p was computed.
    quantity : str
        The quantity that is fitted: a share or a mean.

    Examples
    --------
    >>> DesignFit(0.01, "exact binomial tail").doubtful
    True
    """

    p: float | Array
    method: str
    quantity: str = "share"

    __repr__ = concise

    @property
    def doubtful(self) -> bool:
        """Whether the p-value is below 0.05; several p-values are adjusted for their number."""
        return bool(np.size(self.p) * np.nanmin(self.p) < DOUBTFUL) if not np.all(np.isnan(self.p)) else False

    def words(self, entry: int | None = None) -> str:
        """Format the p-value of an entry.

        Parameters
        ----------
        entry : int, optional
            The index of the entry; by default the entry with the smallest p-value.

        Returns
        -------
        str
            A text such as "p = 0.026".
        """
        return format_p(float(np.nanmin(self.p) if entry is None else np.ravel(self.p)[entry]))


def format_p(p: float) -> str:
    """Format a p-value with two digits, and with one digit below 0.001."""
    if p < 1e-300:
        return "p < 1e-300"
    return f"p = {p:.0e}" if p < 0.001 else f"p = {p:.2g}"


def edge_fit(shares: Shares, *, together: bool, of: str = "share") -> DesignFit:
    """Test the fit exactly, by the binomial tails of the reports for each option at the nearest edge, 0 or 1.

    For a single share, the p-value is the greatest probability, over all shares, of at most (or at least) this number
    of reports. For shares that sum to one (`together`), the p-value is the smallest tail times the number of tails, so
    that it falls below 0.05 in at most 5 % of surveys.
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
    """Test the fit of shares that sum to one by their values and standard errors, with normal tails."""
    tails = _edge_tails(shares, "wald")
    return DesignFit(
        float(tails[0]) if len(tails) == 1 else float(min(1.0, 2 * len(tails) * np.nanmin(tails))), "normal tails"
    )


def _edge_tails(shares: Shares | Normal, method: str = "exact") -> Array:
    """Return the probability at the nearest edge of reports as far outside as those observed; 1 for a share inside."""
    # Tails are expensive to compute, and are not needed for a share within [0, 1].
    if isinstance(shares, Shares):
        outside = (shares.value < 0) | (shares.value > 1)
        if not outside.all():
            tails = np.where(np.isnan(shares.value), np.nan, 1.0)
            tails[outside] = _edge_tails(shares.rows(np.flatnonzero(outside))) if outside.any() else 1.0
            return tails
    few, many = (np.atleast_1d(tail) for tail in (shares.tails(0.0, method)[1], shares.tails(1.0, method)[2]))
    beyond = np.where(shares.value < 0, few, np.where(shares.value > 1, many, 1.0))
    return np.where(np.isnan(few + many + shares.value), np.nan, beyond)


def fit_notes(fit: DesignFit, shares: CountedShares, comparison: str = "") -> tuple[str, ...]:
    """Return notes if the fit is doubtful or a 95 % interval is empty.

    `comparison` describes the reports and the design, as in "10 of 300 reports were yes, where the design makes at
    least 50".
    """
    value = np.asarray(shares.value)
    inside = bool(np.all((value >= 0) & (value <= 1)))  # no interval is empty in this case
    if inside and not fit.doubtful:
        return ()
    interval = shares.interval(0.95, shares.methods[0])
    empty = int(np.count_nonzero(interval.empty))
    if not empty and not fit.doubtful:
        return ()
    facts, quantity = f": {comparison}" if comparison else "", fit.quantity
    if np.ndim(interval.low) == 0:
        verdict = (
            f"no {quantity} agrees with these reports at 95 %"
            if empty
            else f"the reports hardly agree with any {quantity}"
        )
        return (
            (f"{verdict}{facts} ({fit.words()}); {_CAUSES}{f'; do not publish it as a {quantity}' if empty else ''}"),
        )
    chance = f"{fit.words()} over all options" if np.ndim(fit.p) == 0 else f"the least {fit.words()}"
    options = f"for {empty} of {np.size(interval.low)} options no {quantity} agrees with the reports at 95 %"
    verdict = options if empty else f"the reports hardly agree with any {quantity}s"
    return (f"{verdict}{facts} ({chance}); {_CAUSES if fit.doubtful else _AMONG_MANY}",)


_INSIDE = {"mle": "maximum likelihood (mle)", "simplex": "the nearest distribution (simplex)"}


def boundary_note(value: float | Array, inside: str | None = "mle") -> tuple[str, ...]:
    """Return a note if an unbiased estimate of a share lies outside [0, 1]; `inside` names another method."""
    outside = int(np.count_nonzero((np.asarray(value) < 0) | (np.asarray(value) > 1)))
    if not outside or np.isnan(np.sum(value)):
        return ()
    which = "the estimate lies" if np.ndim(value) == 0 else f"{outside} of {np.size(value)} estimates lie"
    instead = f", and {_INSIDE[inside]} for display" if inside else ""
    return (f"{which} outside 0 to 1, as an unbiased estimate may; use it in averages{instead}",)
