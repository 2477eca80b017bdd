"""The one core of all oracles: a report supports each option or not, and counting the support is enough.

A report supports an option with probability p if it is the sender's answer, else with probability q. With C
reports of n supporting an option, its share is estimated by (C/n - q) / (p - q), without bias. How often two
options are supported together gives the covariances.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, ArrayLike, Counts, Labels, Values, project_onto_simplex
from toolkit.core.checks import choice, labels, read_shares, reject, whole
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.fit import boundary_note, edge_fit, fit_notes
from toolkit.core.inference.intervals import Shares, share_error
from toolkit.core.loss import Loss
from toolkit.local.matrix.encoding import whole_counts
from toolkit.local.matrix.tables import TABLE_LIMIT
from toolkit.local.protocol import Respondents
from toolkit.local.sampled_randomizer import SampledAtOdds

COVARIANCE_LIMIT = TABLE_LIMIT
"""Beyond this many options covariances between options are left out: their table alone would fill the memory."""

_METHODS = {"moment": "unbiased", "simplex": "projected to the simplex"}


@dataclass(frozen=True)
class Support:
    """p and q, and how often two options are supported together: by someone whose answer is one of them, or neither."""

    p: Fraction
    q: Fraction
    both_if_one: Fraction
    both_if_neither: Fraction

    @classmethod
    def independent(cls, p: Fraction, q: Fraction) -> "Support":
        """Support of one option says nothing about support of another."""
        return cls(p, q, p * q, q * q)

    @property
    def slope(self) -> float:
        return float(self.p - self.q)

    def interval_basis(self, counts: Array, n: int) -> Shares:
        """Estimates, standard errors, and the basis of all intervals; p and q are stored once, not per option."""
        k, seen = len(counts), counts / n
        one = Shares.from_support(np.zeros(1), n, np.array([float(self.p)]), np.array([float(self.q)]))
        least, greatest = one.without_range
        return replace(
            one,
            value=(seen - float(self.q)) / self.slope,
            se=share_error(counts, n, float(self.p), float(self.q)),
            spread_given=np.broadcast_to(one.spread_given, k),
            spread_without=np.broadcast_to(one.spread_without, k),
            counts=np.stack([counts, n - counts], axis=1),
            given=np.broadcast_to(one.given, (k, 2)),
            without=np.broadcast_to(one.without, (k, 2)),
            without_range=(np.broadcast_to(least, k), np.broadcast_to(greatest, k)),
        )

    def score_range(self) -> tuple[Array, Array]:
        """What a report adds to the share of an option that it does not support, and of one that it does."""
        return np.array(-float(self.q) / self.slope), np.array((1 - float(self.q)) / self.slope)

    def variance(self, shares: Array, respondents: Respondents = "sample") -> Array:
        """Variance of each estimated share for one respondent: lam (1-lam) / (p-q)**2 with lam = q + x (p-q). For fixed
        respondents the part x (1-x) that comes from choosing them falls away.
        """
        seen = float(self.q) + shares * self.slope
        fixed = choice(respondents, "respondents", ("sample", "fixed")) == "fixed"
        return np.asarray(seen * (1 - seen) / self.slope**2 - (shares * (1 - shares) if fixed else 0))

    def covariance(self, shares: Array, respondents: Respondents = "sample") -> Array:
        if len(shares) > COVARIANCE_LIMIT:
            consequence = "use `variance`: it takes one row"
            reject(f"covariances are there for up to {COVARIANCE_LIMIT} options", len(shares), consequence)
        # E[(b_u - q)(b_v - q)] is linear in the share of those whose answer is u or v; in place, for the
        # memory's sake.
        neither = self.both_if_neither - self.q**2
        one = self.both_if_one - self.p * self.q
        covariance = np.add.outer(shares, shares)
        covariance *= float(one - neither) / self.slope**2
        covariance += float(neither) / self.slope**2
        if choice(respondents, "respondents", ("sample", "fixed")) == "sample":
            covariance -= np.outer(shares, shares)
        np.fill_diagonal(covariance, self.variance(shares, respondents))
        return covariance

    def risk(self, k: int) -> float:
        """Sum over k exclusive options of the variance for one respondent, at equal shares: the worst case."""
        return k * float(self.variance(np.array([1 / k]))[0])

    def estimate(
        self, counts: Array, n: int, options: tuple[str | int, ...], loss: Loss, name: str, method: str
    ) -> Estimate:
        """Shares of exclusive options; of two options the share of the last, as for a binary design."""
        choice(method, "method", tuple(_METHODS))
        everybody = self.interval_basis(counts, n)
        shares = everybody.value
        binary, spread = len(options) == 2, self._spread(everybody, n)
        basis = self.interval_basis(counts[1:], n) if binary else everybody
        fit = edge_fit(basis, together=True)
        notes = fit_notes(fit, basis)
        if method == "moment" and not notes:
            notes = display_note(basis.value)
        if method == "simplex":
            shares = project_onto_simplex(shares)
        return Estimate(
            value=float(shares[1]) if binary else shares,
            se=float(everybody.se[1]) if binary else everybody.se,
            labels=options[1:] if binary else options,
            cov=spread[1:, 1:] if binary and spread is not None else spread,
            n=n,
            loss=loss,
            covers=SAMPLED,
            method=f"{name}, {_METHODS[method]}",
            notes=notes + covariance_note(len(options)),
            basis=basis,
            fit=fit,
        )

    def _spread(self, shares: Shares, n: int) -> Array | None:
        """Estimated covariances of the shares: NaN from a single report, None where the table would be too large."""
        if len(shares.value) > COVARIANCE_LIMIT:
            return None
        if n == 1:
            return np.full((len(shares.value),) * 2, np.nan)
        cov = self.covariance(shares.value)
        cov /= n - 1
        np.fill_diagonal(cov, shares.se**2)
        return cov


def covariance_note(k: int) -> tuple[str, ...]:
    """Say so where there are too many options for a table of covariances."""
    return (
        (f"covariances between options are left out beyond {COVARIANCE_LIMIT} options",) if k > COVARIANCE_LIMIT else ()
    )


def display_note(shares: Array, inside: str | None = "simplex") -> tuple[str, ...]:
    """Say so when unbiased shares lie outside 0 to 1; oracles are shown by projection, having no cheap likelihood."""
    value = float(shares[0]) if len(shares) == 1 else shares
    return boundary_note(value, inside)


def checked_shares(prevalence: ArrayLike, k: int) -> Array:
    """One share for each box, from 0 to 1; one number is that of all."""
    given = read_shares(prevalence, "prevalence")
    given = np.full(k, float(given)) if given.ndim == 0 else given
    if given.shape != (k,):
        reject(f"`prevalence` must have a share for each of {k} options", f"shape {given.shape}", "they must match")
    if not np.all((given >= 0) & (given <= 1)):
        reject("`prevalence` must be shares from 0 to 1", "others", "they describe the answers")
    return given


def checked_support(counts: ArrayLike, n: object, k: int) -> tuple[Array, int]:
    """How many reports support each option, and how many reports there are."""
    reports, numbers = whole(n, "n"), whole_counts(counts, k, "options", "they are in option order")
    if numbers.min() < 0 or numbers.max() > reports:
        reject(f"`counts` must lie between 0 and n = {reports}", "others", "a report supports an option at most once")
    return numbers, reports


@dataclass(frozen=True, repr=False)
class SupportRandomizer(SampledAtOdds):
    """A report supports some of the `options`, and counts of the support are enough to estimate.

    Parameters
    ----------
    options : sequence of str or int
        The options, or the boxes.
    """

    options: Labels

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", labels(self.options, "options"))

    @property
    @abstractmethod
    def _support(self) -> Support:
        """How often a report supports an option: the sender's own, another, two together."""

    def _score_range(self) -> tuple[Array, Array]:
        return self._support.score_range()

    @abstractmethod
    def tally(self, reports: Values, times: ArrayLike | None = None) -> tuple[Counts, Any]:
        """Count how many reports support each option, and how many reports there are.

        Parameters
        ----------
        reports : sequence or array
            Reports as `randomize` makes them.
        times : sequence of int, optional
            How often each of the reports came; once if left out.

        Returns
        -------
        tuple
            The counts, one for each option, and the number of reports.
        """

    @abstractmethod
    def estimate_counts(self, counts: ArrayLike, n: Any) -> Estimate:
        """Estimate from the number of reports that support each option, and the number of reports.

        Parameters
        ----------
        counts : array-like
            How many reports support each option.
        n : int
            How many reports there are.

        Returns
        -------
        Estimate
            As `estimate` gives it.
        """
