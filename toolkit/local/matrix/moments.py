"""The unbiased estimator of a design, its covariance, and the basis of its intervals, computed from the matrix.

The rows of P[truth, report] are truths, and the columns are reports. If x holds the shares of the truths, the shares of
the reports are x P. A score matrix G[report, truth] with P G = 1 makes the mean score of the reports an unbiased
estimate of x.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Labels
from toolkit.core.checks import reject
from toolkit.core.inference.intervals import Shares
from toolkit.core.inference.posterior import RandomizedCounts
from toolkit.local.matrix.tables import TABLE_LIMIT

# A report's score for an option has expected value 1 over the randomization if the option is the true answer, else 0.
#
# The mean score of the reports is the unbiased estimate. Scores can be used in weighted means, strata, clusters and
# regressions like any measured variable.


def scored_option_code(options: Labels, option: object, *, last_by_default: bool = True) -> int | None:
    """Return the code of the option whose scores are requested, or None for all options.

    With `last_by_default` the default for two options is the second one, as in estimates.
    """
    if option is None:
        if len(options) == 2 and last_by_default:
            return 1
        if len(options) > TABLE_LIMIT:
            rule = f"scores of all options are available for up to {TABLE_LIMIT} of them"
            reject(rule, f"{len(options)} options", "select one: scores(reports, option=…)")
        return None
    if isinstance(option, bool) or option not in options:
        reject("`option` must be one of the design's options", repr(option)[:40], "other options have no scores")
    return options.index(option)


def scores_from_table(table: Array, codes: npt.NDArray[Any], options: Labels, option: object) -> Array:
    """Look up the scores of codes in a table G[report, option]: a row per report, or a number for a single option."""
    column = scored_option_code(options, option)
    return np.asarray((table if column is None else table[:, column])[codes], dtype=np.float64)


def scores_from_support(
    supports: Callable[[int], npt.NDArray[np.bool_]],
    limits: tuple[Array, Array],
    options: Labels,
    option: object,
    *,
    last_by_default: bool = True,
) -> Array:
    """Return the scores of reports: the upper of two `limits` if a report supports an option, else the lower."""
    column = scored_option_code(options, option, last_by_default=last_by_default)
    if column is not None:
        return np.where(supports(column), limits[1], limits[0])
    return np.stack([np.where(supports(code), limits[1], limits[0]) for code in range(len(options))], axis=1)


Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ForcedForm:
    """The forced form: a report is the truth with weight `truth_weight`, else option j with weight forced_weights[j].

    Every k-ary design has this form, and so does every 2 x 2 design; `truth_weight` is negative if reports favor the
    opposite answer.
    """

    truth_weight: int
    forced_weights: Integers

    def probabilities(self, denominator: int) -> tuple[float, Array]:
        return self.truth_weight / denominator, self.forced_weights / denominator


def forced_form(weights: Integers) -> ForcedForm | None:
    """Return the forced form of integer weights whose rows have equal sums, or None if there is none."""
    k, n_reports = weights.shape
    if k != n_reports:
        return None
    forced = np.where(np.arange(k) == 0, weights[1], weights[0])
    if np.any((weights != forced) & ~np.eye(k, dtype=bool)):
        return None
    return ForcedForm(int(weights[0, 0] - forced[0]), forced)


def make_score_matrix(matrix: Array, form: ForcedForm | None, denominator: int) -> Array:
    """Return scores G[report, truth] with P G = 1.

    For a square matrix G is the inverse. With more reports than truths there are several solutions. The solution that
    weights reports by the inverse of their probability at equal shares gives the best unbiased estimate near equal
    shares, and its scores sum to one.
    """
    k = len(matrix)
    if form is not None:
        return (np.eye(k) - form.forced_weights / denominator) * (denominator / form.truth_weight)
    if matrix.shape[0] == matrix.shape[1]:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    weighted = (matrix / matrix.mean(axis=0)).T
    return np.asarray(weighted @ np.linalg.inv(matrix @ weighted))


def score_covariance(
    score_matrix: Array,
    report_shares: Array,
    shares: Array,
    form: ForcedForm | None,
    *,
    fixed_respondents: bool = False,
) -> Array:
    """Return the covariance of one report's scores, from the shares of the reports and of the truths.

    For a random sample of respondents it includes sampling and randomization; for fixed respondents it includes only
    randomization. In the forced form, a report's scores are a constant plus a multiple of its indicator, which
    saves a product of three matrices.
    """
    spread = np.diag(report_shares) - np.outer(report_shares, report_shares)
    cov = (
        spread * float(score_matrix[0, 0] - score_matrix[1, 0]) ** 2
        if form is not None
        else score_matrix.T @ spread @ score_matrix
    )
    return np.asarray(cov - (np.diag(shares) - np.outer(shares, shares)) if fixed_respondents else cov)


def information_covariance(matrix: Array, shares: Array) -> Array:
    """Return the inverse Fisher information of one report, the large-sample covariance of maximum likelihood."""
    report_shares = np.maximum(shares @ matrix, np.finfo(float).tiny)
    return np.asarray(np.linalg.inv((matrix / report_shares) @ matrix.T) - np.outer(shares, shares))


def interval_basis(matrix: Array, score_matrix: Array, counts: Array, form: ForcedForm | None, se: Array) -> Shares:
    """Return the basis of intervals, with a row for each option or, for a binary design, for the last option."""
    n, k = int(counts.sum()), len(matrix)
    options = np.array([1]) if k == 2 else np.arange(k)
    if form is not None:
        p, q = np.diag(matrix)[options], (matrix.sum(axis=0) - np.diag(matrix))[options] / (k - 1)
        return replace(Shares.from_support(counts[options], n, p, q), se=se[options])
    return _general_interval_basis(matrix, score_matrix, counts, se, options)


def _general_interval_basis(
    matrix: Array, score_matrix: Array, counts: Array, se: Array, options: npt.NDArray[np.intp]
) -> Shares:
    """Return the basis of intervals for any matrix.

    For k > 2, people without an option are a mixture of people with the other options, with the estimated shares as
    weights.
    """
    n = int(counts.sum())
    value = counts @ score_matrix / n
    mixture = _mixtures_of_others(np.clip(value, 0, None), len(matrix))[options]
    given, without = matrix[options], mixture @ matrix
    others = [np.delete(matrix, option, axis=0) for option in options]
    is_evidence = [given[i] > other.max(axis=0) for i, other in enumerate(others)]
    if len(matrix) > 2:
        # Reports are split into two groups: those that are more likely under the option than under any other, and the
        # rest.
        table = np.array(
            [[_split_sum(row, mask) for row in (counts, given[i], without[i])] for i, mask in enumerate(is_evidence)]
        )
        kinds, given_kinds, without_kinds = table[:, 0], table[:, 1], table[:, 2]
    else:
        kinds, given_kinds, without_kinds = counts[None, :], given, without
    among_others = [other[:, mask].sum(axis=1) for other, mask in zip(others, is_evidence, strict=True)]
    squares = score_matrix[:, options].T ** 2
    # One more report of each kind is added, so that the variance is positive even if all reports are of one kind.
    likely = (counts + 1) / (n + len(counts))
    cov = score_covariance(score_matrix, likely, likely @ score_matrix, None) / n
    return Shares(
        value=value[options],
        se=se[options],
        n=n,
        spread_with=(given * squares).sum(axis=1),
        spread_without=(without * squares).sum(axis=1),
        counts=kinds,
        probs_with=given_kinds,
        probs_without=without_kinds,
        support_range_without=(np.array([q.min() for q in among_others]), np.array([q.max() for q in among_others])),
        joint=RandomizedCounts(matrix, counts, cov) if len(matrix) > 2 else None,
    )


def _split_sum(row: Array, mask: npt.NDArray[np.bool_]) -> tuple[float, float]:
    return float(row[mask].sum()), float(row[~mask].sum())


def _mixtures_of_others(shares: Array, k: int) -> Array:
    """Return a matrix whose row j has the shares of the other options among people without option j."""
    rows = np.tile(shares, (k, 1)) * (1 - np.eye(k))
    empty = rows.sum(axis=1) <= 0
    rows[empty] = 1 - np.eye(k)[empty]
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))
