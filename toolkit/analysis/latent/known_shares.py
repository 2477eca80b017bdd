"""Shares of the trait that are known for groups of the population, such as turnout by county, as part of a likelihood.

The mean prediction of the people sampled from a group differs from the known share by chance, because their covariates
were sampled. The likelihood is that of the reports times a normal density of these differences. Scores of the reports
are uncorrelated with the differences, because they have mean zero at all covariates, so the estimates are as precise as
those of the efficient generalized method of moments (Chou, Imai and Rosenfeld 2020).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from toolkit.analysis.regression.latent_model import Share
from toolkit.analysis.regression.rows import AnswerRows, People
from toolkit.core.arrays import Array, Mask
from toolkit.core.checks import reject

KnownShares = Mapping[str, Mapping[Any, float | Sequence[float]]]
"""From a column to the shares of its groups, {"county": {"A": 0.2, "B": (0.3, 0.01)}}: a share, or (share, se)."""

# A difference that cannot vary is treated as if its share were known from a million times as many people.
_LEAST_VARIANCE = 1e-6


@dataclass(frozen=True, eq=False)
class KnownShareTerm:
    """The log density of the differences between mean predictions and known shares, in log odds.

    `members` marks the people of each group: one row per group. `covariance` is the covariance of the differences, and
    `given_variance` the part of their variances that is due to the errors of the known shares.
    """

    share: Share
    members: Array
    log_odds: Array
    given_variance: Array
    covariance: Array

    def differences(self, eta: Array, people: People) -> tuple[Array, Array]:
        """Return the differences, and their derivatives by the linear predictors: (group, predictor, person)."""
        value, slopes = self.share(eta)
        weights = self._averaging_weights(people)
        mean = weights @ value
        by_log_odds = weights[:, None, :] * slopes / (mean * (1 - mean))[:, None, None]
        return np.log(mean) - np.log1p(-mean) - self.log_odds, by_log_odds

    def contributions(self, eta: Array, people: People) -> Array:
        """Return what each person adds to the differences in the sample: one row per person, one column per group."""
        value, _ = self.share(eta)
        weights = self._averaging_weights(people)
        mean = weights @ value
        return np.asarray((weights * (value - mean[:, None]) / (mean * (1 - mean))[:, None]).T)

    def with_sampling_variance(self, eta: Array, people: People) -> Self:
        """Return the term with the sampling variance of the mean predictions at these linear predictors."""
        sampling = people.variance_of_sum(self.contributions(eta, people))
        least = _LEAST_VARIANCE * (np.diag(self.covariance) - self.given_variance)
        return replace(self, covariance=sampling + np.diag(self.given_variance + least))

    def _averaging_weights(self, people: People) -> Array:
        weights = self.members * people.row_weights
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def known_columns(known: KnownShares | None) -> dict[str, str]:
    """Return the columns to read for the groups with known shares."""
    if known is None:
        return {}
    if not isinstance(known, Mapping) or not known or not all(isinstance(shares, Mapping) for shares in known.values()):
        rule = "`known` must be a mapping from columns to shares by group"
        reject(rule, type(known).__name__, 'write known={"county": {"A": 0.2, "B": 0.3}}', TypeError)
    return {f"known {name}": name for name in known}


def known_share_term(known: KnownShares | None, answers: AnswerRows, share: Share) -> KnownShareTerm | None:
    """Return the term of the known shares, with the largest variances of mean predictions of independent people."""
    if known is None:
        return None
    pairs = [(name, group, *_share_and_error(value)) for name in known for group, value in known[name].items()]
    members = np.array([answers.columns[f"known {name}"] == group for name, group, *_ in pairs], dtype=np.float64)
    if not pairs or not members.any(axis=1).all():
        received = f"{int((~members.any(axis=1)).sum())} of {len(pairs)} without people" if pairs else "no group"
        reject("every group in `known` must have people in the data", received, "its mean prediction is not defined")
    shares, errors = np.array([pair[2:] for pair in pairs]).T
    _check_freedom(answers.covariates.matrix, members[errors == 0] == 1)
    slopes, weights = shares * (1 - shares), members * answers.people.row_weights
    effective_sizes = weights.sum(axis=1) ** 2 / (weights**2).sum(axis=1)
    given, largest = (errors / slopes) ** 2, 1 / (effective_sizes * slopes)
    return KnownShareTerm(share, members, np.log(shares / (1 - shares)), given, np.diag(largest + given))


def known_suffix(term: KnownShareTerm | None) -> str:
    """Return the end of the name of a method that uses known shares."""
    return "" if term is None else f", {len(term.members)} known shares"


def _check_freedom(matrix: Array, members: Mask) -> None:
    """Reject exact shares of groups with constant covariates if some of these shares determine the others."""
    of_group = (matrix[rows] for rows in members)
    covariates = np.array([rows[0] for rows in of_group if (rows == rows[0]).all()]).reshape(-1, matrix.shape[1])
    if (rank := int(np.linalg.matrix_rank(covariates))) < len(covariates):
        received = f"{len(covariates)} shares, of which {rank} determine the others"
        consequence = "put the column of the groups into the formula, as in C(county), or give standard errors"
        reject("the model must allow any known shares of groups", received, consequence)


def _share_and_error(value: Any) -> tuple[float, float]:
    """Return a known share and its standard error, which is 0 unless it is given."""
    share, error = value if isinstance(value, tuple | list) and len(value) == 2 else (value, 0.0)
    try:
        share, error = float(share), float(error)
    except (TypeError, ValueError):
        reject("a known share must be a number or a pair (share, se)", type(value).__name__, "write 0.3 or (0.3, 0.01)")
    if not 0 < share < 1 or not 0 <= error < np.inf:
        rule = "a known share must be above 0 and below 1, and its standard error must not be negative"
        reject(rule, f"{share:g}, {error:g}", "the log odds of 0 and 1 are infinite")
    return share, error
