"""The estimator of all oracles: a report supports each option or not, and the counts of support are sufficient.

A report supports an option with probability p if it is the sender's answer, else with probability q. If C of n reports
support an option, (C/n - q) / (p - q) is an unbiased estimate of its share. The frequencies with which two options are
supported together determine the covariances.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, ArrayLike, Counts, Labels, Values, project_onto_simplex
from toolkit.core.checks import check_choice, check_integer, check_labels, read_shares, reject
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.fit import boundary_note, edge_fit, fit_notes
from toolkit.core.inference.intervals import Shares, share_error
from toolkit.core.loss import Loss
from toolkit.local.matrix.encoding import checked_whole_counts
from toolkit.local.matrix.tables import TABLE_LIMIT
from toolkit.local.protocol import Respondents
from toolkit.local.sampled_randomizer import ExactOddsRandomizer

COVARIANCE_LIMIT = TABLE_LIMIT
"""The number of options beyond which covariances are left out, because their table alone would fill the memory."""

_METHODS = {"moment": "unbiased", "simplex": "projected to the simplex"}


@dataclass(frozen=True)
class SupportLaw:
    """The probabilities p and q that a report supports an option, and the probabilities that it supports two options.

    `both_if_either` applies to two options if one of them is the answer, `both_if_neither` if neither is.
    """

    p: Fraction
    q: Fraction
    both_if_either: Fraction
    both_if_neither: Fraction

    @classmethod
    def independent(cls, p: Fraction, q: Fraction) -> "SupportLaw":
        """Make the law of reports that support the options independently, given the answer."""
        return cls(p, q, p * q, q * q)

    @property
    def slope(self) -> float:
        return float(self.p - self.q)

    def interval_basis(self, counts: Array, n: int) -> Shares:
        """Return the estimates, their errors and the basis of intervals; p and q are stored once for all options."""
        k, observed = len(counts), counts / n
        single = Shares.from_support(np.zeros(1), n, np.array([float(self.p)]), np.array([float(self.q)]))
        least, greatest = single.support_range_without
        return replace(
            single,
            value=(observed - float(self.q)) / self.slope,
            se=share_error(counts, n, float(self.p), float(self.q)),
            spread_with=np.broadcast_to(single.spread_with, k),
            spread_without=np.broadcast_to(single.spread_without, k),
            counts=np.stack([counts, n - counts], axis=1),
            probs_with=np.broadcast_to(single.probs_with, (k, 2)),
            probs_without=np.broadcast_to(single.probs_without, (k, 2)),
            support_range_without=(np.broadcast_to(least, k), np.broadcast_to(greatest, k)),
        )

    def score_range(self) -> tuple[Array, Array]:
        """Return the score of a report that does not support the option, and the score of a report that does."""
        return np.array(-float(self.q) / self.slope), np.array((1 - float(self.q)) / self.slope)

    def variance(self, shares: Array, respondents: Respondents = "sample") -> Array:
        """Return the variance of each estimated share for one respondent.

        It is lam (1-lam) / (p-q)**2 with lam = q + x (p-q). For fixed respondents the sampling variance x (1-x) is
        subtracted.
        """
        observed = float(self.q) + shares * self.slope
        fixed = check_choice(respondents, "respondents", ("sample", "fixed")) == "fixed"
        return np.asarray(observed * (1 - observed) / self.slope**2 - (shares * (1 - shares) if fixed else 0))

    def covariance(self, shares: Array, respondents: Respondents = "sample") -> Array:
        if len(shares) > COVARIANCE_LIMIT:
            consequence = "use `variance`, which needs no table"
            reject(f"covariances are available for up to {COVARIANCE_LIMIT} options", len(shares), consequence)
        # E[(b_u - q)(b_v - q)] is linear in the share of people whose answer is u or v. The table can be large, so it
        # is computed in place.
        neither = self.both_if_neither - self.q**2
        single = self.both_if_either - self.p * self.q
        covariance = np.add.outer(shares, shares)
        covariance *= float(single - neither) / self.slope**2
        covariance += float(neither) / self.slope**2
        if check_choice(respondents, "respondents", ("sample", "fixed")) == "sample":
            covariance -= np.outer(shares, shares)
        np.fill_diagonal(covariance, self.variance(shares, respondents))
        return covariance

    def total_variance(self, k: int) -> float:
        """Return the sum of variances over k exclusive options for one respondent at equal shares, the worst case."""
        return k * float(self.variance(np.array([1 / k]))[0])

    def estimate(
        self, counts: Array, n: int, options: tuple[str | int, ...], loss: Loss, name: str, method: str
    ) -> Estimate:
        """Estimate the shares of mutually exclusive options; for two options, the share of the second."""
        check_choice(method, "method", tuple(_METHODS))
        everybody = self.interval_basis(counts, n)
        shares = everybody.value
        binary, spread = len(options) == 2, self._estimated_covariance(everybody, n)
        basis = self.interval_basis(counts[1:], n) if binary else everybody
        fit = edge_fit(basis, together=True)
        notes = fit_notes(fit, basis)
        if method == "moment" and not notes:
            notes = outside_range_note(basis.value)
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

    def _estimated_covariance(self, shares: Shares, n: int) -> Array | None:
        """Estimate the covariances of the shares: NaN from a single report, None if the table would be too large."""
        if len(shares.value) > COVARIANCE_LIMIT:
            return None
        if n == 1:
            return np.full((len(shares.value),) * 2, np.nan)
        cov = self.covariance(shares.value)
        cov /= n - 1
        np.fill_diagonal(cov, shares.se**2)
        return cov


def covariance_note(k: int) -> tuple[str, ...]:
    """Return a note if there are too many options for a table of covariances."""
    return (
        (f"covariances between options are left out beyond {COVARIANCE_LIMIT} options",) if k > COVARIANCE_LIMIT else ()
    )


def outside_range_note(shares: Array, inside: str | None = "simplex") -> tuple[str, ...]:
    """Return a note if unbiased shares lie outside 0 to 1.

    The note recommends projection, because maximum likelihood is expensive for an oracle.
    """
    value = float(shares[0]) if len(shares) == 1 else shares
    return boundary_note(value, inside)


def checked_shares(prevalence: ArrayLike, k: int) -> Array:
    """Check shares from 0 to 1, one for each box; a single number applies to all boxes."""
    given = read_shares(prevalence, "prevalence")
    given = np.full(k, float(given)) if given.ndim == 0 else given
    if given.shape != (k,):
        consequence = "give one share for each option, or one number for all"
        reject(f"`prevalence` must have a share for each of {k} options", f"shape {given.shape}", consequence)
    if not np.all((given >= 0) & (given <= 1)):
        reject("`prevalence` must be shares from 0 to 1", "others", "give fractions of the respondents")
    return given


def checked_support_counts(counts: ArrayLike, n: object, k: int) -> tuple[Array, int]:
    """Check the number of reports that support each option and the number of reports."""
    reports, numbers = check_integer(n, "n"), checked_whole_counts(counts, k, "options", "they are in option order")
    if numbers.min() < 0 or numbers.max() > reports:
        reject(f"`counts` must lie between 0 and n = {reports}", "others", "a report supports an option at most once")
    return numbers, reports


@dataclass(frozen=True, repr=False)
class SupportRandomizer(ExactOddsRandomizer):
    """A randomizer whose reports each support some of the `options`; the counts of support suffice for estimates.

    Parameters
    ----------
    options : sequence of str or int
        The options, or the boxes.
    """

    options: Labels

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", check_labels(self.options, "options"))

    @property
    @abstractmethod
    def _support_law(self) -> SupportLaw:
        """The probabilities that a report supports the sender's answer, another option, or two options together."""

    def _score_range(self) -> tuple[Array, Array]:
        return self._support_law.score_range()

    @abstractmethod
    def tally(self, reports: Values, times: ArrayLike | None = None) -> tuple[Counts, Any]:
        """Count the reports that support each option, and all reports.

        Parameters
        ----------
        reports : sequence or array
            Reports, as returned by `randomize`.
        times : sequence of int, optional
            The number of times each report occurred; once each if left out.

        Returns
        -------
        tuple
            The counts, one for each option, and the number of reports.
        """

    @abstractmethod
    def estimate_counts(self, counts: ArrayLike, n: Any) -> Estimate:
        """Estimate from the number of reports that support each option, and the number of all reports.

        Parameters
        ----------
        counts : array-like
            The number of reports that support each option.
        n : int
            The number of reports.

        Returns
        -------
        Estimate
            The same estimate as `estimate` computes from the reports.
        """
