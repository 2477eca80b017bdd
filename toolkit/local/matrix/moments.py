"""The unbiased estimator of a design, its covariance, and what its intervals rest on: linear algebra on one matrix.

Rows are truths, columns are reports: P[truth, report]. With x the shares of the truths, reports follow x P. A
score matrix G[report, truth] with P G = 1 makes the mean score of the reports an unbiased estimate of x.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Labels
from toolkit.core.checks import reject
from toolkit.core.inference.intervals import Shares
from toolkit.core.inference.posterior import Through
from toolkit.local.matrix.tables import TABLE_LIMIT

# Scores: for each report a number for each option whose mean over the randomization is 1 or 0, the truth.
#
# The mean score of the reports is the unbiased estimate. Weighted means, strata, clusters and regressions can be made
# of scores as of any measured variable.


def scored_option(options: Labels, option: object, *, focus: bool = True) -> int | None:
    """The code of the option that scores are asked for, None for all; of two in `focus` the last, as in estimates."""
    if option is None:
        if len(options) == 2 and focus:
            return 1
        if len(options) > TABLE_LIMIT:
            rule = f"scores of all options are there for up to {TABLE_LIMIT} of them"
            reject(rule, f"{len(options)} options", "name one: scores(reports, option=…)")
        return None
    if isinstance(option, bool) or option not in options:
        reject("`option` must be one of the design's options", repr(option)[:40], "it has no score")
    return options.index(option)


def from_table(table: Array, codes: npt.NDArray[Any], options: Labels, option: object) -> Array:
    """Scores of codes from a table G[report, option]: one row per report; a single number of one option."""
    column = scored_option(options, option)
    return np.asarray((table if column is None else table[:, column])[codes], dtype=np.float64)


def from_support(
    supports: Callable[[int], npt.NDArray[np.bool_]],
    limits: tuple[Array, Array],
    options: Labels,
    option: object,
    *,
    focus: bool = True,
) -> Array:
    """Scores of reports that support an option or do not: one of two numbers, `limits`."""
    column = scored_option(options, option, focus=focus)
    if column is not None:
        return np.where(supports(column), limits[1], limits[0])
    return np.stack([np.where(supports(code), limits[1], limits[0]) for code in range(len(options))], axis=1)


Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Forced:
    """A report is the truth with weight `truth`, else option j with weight forced[j]: the form of every 2 x 2 design
    (with `truth` negative when reports lean to the opposite), and of every k-ary one.
    """

    truth: int
    forced: Integers

    def over(self, denominator: int) -> tuple[float, Array]:
        return self.truth / denominator, self.forced / denominator


def forced_form(weights: Integers) -> Forced | None:
    """The forced form of integer weights, whose rows have one sum, or None if they have none."""
    k, reports = weights.shape
    if k != reports:
        return None
    forced = np.where(np.arange(k) == 0, weights[1], weights[0])
    if np.any((weights != forced) & ~np.eye(k, dtype=bool)):
        return None
    return Forced(int(weights[0, 0] - forced[0]), forced)


def scores(matrix: Array, form: Forced | None, denominator: int) -> Array:
    """G[report, truth] with P G = 1.

    A square matrix has only its inverse. With more reports than truths there is a choice; weighting the
    reports by the inverse of their probability at equal shares gives the best unbiased estimate near equal
    shares, and keeps the sum at one.
    """
    k = len(matrix)
    if form is not None:
        return (np.eye(k) - form.forced / denominator) * (denominator / form.truth)
    if matrix.shape[0] == matrix.shape[1]:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    weighted = (matrix / matrix.mean(axis=0)).T
    return np.asarray(weighted @ np.linalg.inv(matrix @ weighted))


def covariance(
    score: Array, reports: Array, shares: Array, form: Forced | None, *, fixed_respondents: bool = False
) -> Array:
    """Covariance of one report's scores, from the shares of the reports and those of the truths.

    For a random sample of respondents this holds both sampling and randomization; for fixed respondents the
    randomization alone. In the forced form the scores of a report differ by 1 / truth in one place, which
    saves a product of three tables.
    """
    spread = np.diag(reports) - np.outer(reports, reports)
    cov = spread * float(score[0, 0] - score[1, 0]) ** 2 if form is not None else score.T @ spread @ score
    return np.asarray(cov - (np.diag(shares) - np.outer(shares, shares)) if fixed_respondents else cov)


def information_covariance(matrix: Array, shares: Array) -> Array:
    """Large-sample covariance of the maximum-likelihood estimate for one report: the inverse Fisher information."""
    reports = np.maximum(shares @ matrix, np.finfo(float).tiny)
    return np.asarray(np.linalg.inv((matrix / reports) @ matrix.T) - np.outer(shares, shares))


def interval_basis(matrix: Array, score: Array, counts: Array, form: Forced | None, se: Array) -> Shares:
    """What intervals are made from: one row an option, or the last option's row alone for a binary design."""
    n, k = int(counts.sum()), len(matrix)
    options = np.array([1]) if k == 2 else np.arange(k)
    if form is not None:
        p, q = np.diag(matrix)[options], (matrix.sum(axis=0) - np.diag(matrix))[options] / (k - 1)
        return replace(Shares.from_support(counts[options], n, p, q), se=se[options])
    return _general_interval_basis(matrix, score, counts, se, options)


def _general_interval_basis(
    matrix: Array, score: Array, counts: Array, se: Array, options: npt.NDArray[np.intp]
) -> Shares:
    """For any matrix. Those without an option are mixed as the estimate says they are, which matters for k > 2 only."""
    n = int(counts.sum())
    value = counts @ score / n
    mixture = _mixtures(np.clip(value, 0, None), len(matrix))[options]
    having, without = matrix[options], mixture @ matrix
    others = [np.delete(matrix, option, axis=0) for option in options]
    speaks = [having[i] > other.max(axis=0) for i, other in enumerate(others)]
    if len(matrix) > 2:  # two kinds of report: those that speak for the option more than for any other, and the rest
        table = np.array(
            [[_halves(row, mask) for row in (counts, having[i], without[i])] for i, mask in enumerate(speaks)]
        )
        kinds, given_kinds, without_kinds = table[:, 0], table[:, 1], table[:, 2]
    else:
        kinds, given_kinds, without_kinds = counts[None, :], having, without
    among_others = [other[:, mask].sum(axis=1) for other, mask in zip(others, speaks, strict=True)]
    squares = score[:, options].T ** 2
    likely = (counts + 1) / (n + len(counts))  # one more of each, so that reports of a single kind have a spread, too
    cov = covariance(score, likely, likely @ score, None) / n
    return Shares(
        value=value[options],
        se=se[options],
        n=n,
        spread_given=(having * squares).sum(axis=1),
        spread_without=(without * squares).sum(axis=1),
        counts=kinds,
        given=given_kinds,
        without=without_kinds,
        without_range=(np.array([q.min() for q in among_others]), np.array([q.max() for q in among_others])),
        through=Through(matrix, counts, cov) if len(matrix) > 2 else None,
    )


def _halves(row: Array, mask: npt.NDArray[np.bool_]) -> tuple[float, float]:
    return float(row[mask].sum()), float(row[~mask].sum())


def _mixtures(shares: Array, k: int) -> Array:
    """Row j: how those without option j divide over the other options."""
    rows = np.tile(shares, (k, 1)) * (1 - np.eye(k))
    empty = rows.sum(axis=1) <= 0
    rows[empty] = 1 - np.eye(k)[empty]
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))
