"""Tests of homogeneity: whether groups have the same shares, over all options together.

With a square design matrix, the shares of truths are equal if and only if the shares of reports are equal, so the
ordinary chi-squared test of the table of reports is valid without a correction. With more reports than truths, the test
is the likelihood ratio test.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import float_array, reject
from toolkit.core.inference.special import chdtrc, fdtrc, xlogy
from toolkit.local.design import Design
from toolkit.local.matrix.encoding import checked_counts
from toolkit.local.matrix.likelihood import maximize


@dataclass(frozen=True)
class TableTest:
    """The result of a test of homogeneity or independence.

    Parameters
    ----------
    statistic : float
        The test statistic.
    df : int or tuple
        Degrees of freedom; two numbers for an F test.
    p : float
        The p-value.
    method : str
        Name of the test.

    Examples
    --------
    >>> from toolkit import warner
    >>> from toolkit.analysis import homogeneity
    >>> homogeneity(warner("3/4"), [[372, 291], [491, 290]]).df
    1
    """

    statistic: float
    df: Any
    p: float
    method: str

    def __repr__(self) -> str:
        return f"<TableTest p = {self.p:.4g}: statistic {self.statistic:.5g}, df {self.df}, {self.method}>"


def chi_squared(table: ArrayLike) -> TableTest:
    """Test whether the rows of a table of counts have the same distribution (Pearson); empty columns are left out."""
    counts = np.asarray(table, dtype=np.float64)
    counts = counts[:, counts.any(axis=0)]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    statistic, df = (float(((counts - expected) ** 2 / expected).sum()), (len(counts) - 1) * (counts.shape[1] - 1))
    p = float(chdtrc(df, statistic)) if df else 1.0
    return TableTest(statistic, df, p, "Pearson's chi-squared of the reports")


def homogeneity(design: Design, tables: Sequence[Any]) -> TableTest:
    """Test whether groups have the same shares, based on the counts of their randomized reports.

    Parameters
    ----------
    design : Design
        The design of the reports.
    tables : sequence of sequence of int
        Counts of reports, one row per group.

    Returns
    -------
    TableTest
        Pearson's chi-squared test, or the likelihood ratio test for a design with more reports than options.

    Examples
    --------
    >>> from toolkit import warner
    >>> homogeneity(warner("3/4"), [[372, 291], [491, 290], [675, 281]]).df
    2
    """
    counts = float_array(tables, "tables")
    if counts.ndim != 2 or counts.shape[1] != len(design.report_options):
        rule = f"`tables` must have {len(design.report_options)} columns, one for each report"
        reject(rule, f"shape {counts.shape}", "give one row per group")
    if len(counts) < 2 or not counts.any(axis=1).all():
        reject("at least two groups must have reports", len(counts), "there is nothing to compare")
    counts = np.array([checked_counts(row, counts.shape[1]) for row in counts])
    if design.matrix.shape[0] == design.matrix.shape[1]:
        return chi_squared(counts)
    separate = sum(_max_loglike(design, row) for row in counts)
    statistic = max(2 * (separate - _max_loglike(design, counts.sum(axis=0))), 0.0)
    df = (len(counts) - 1) * (len(design.options) - 1)
    return TableTest(statistic, df, float(chdtrc(df, statistic)), "likelihood ratio")


def _max_loglike(design: Design, counts: Array) -> float:
    """Return the maximum of the log-likelihood of counts over all shares."""
    return float(xlogy(counts, maximize(design.matrix, counts, None) @ design.matrix).sum())


def wald_f(difference: Array, cov: Array, df: int) -> TableTest:
    """Test whether q differences d with covariance V are zero, by Wald's F; the sample has v degrees of freedom.

    W = d' V**-1 d, and F = (v - q + 1) / (v q) W has q and v - q + 1 degrees of freedom.
    """
    q = len(difference)
    rest = df - q + 1
    if rest < 1:
        rule = "a sample must have more clusters than differences to test"
        reject(rule, f"{df} df", "merge options or groups")
    wald = float(difference @ np.linalg.solve(cov, difference))
    statistic = rest / (df * q) * wald
    return TableTest(statistic, (q, rest), float(fdtrc(q, rest, statistic)), f"Wald's F, W = {wald:.6g}")


def rao_scott(shares: Array, cov: Array, n: int, df: int) -> TableTest:
    """Test independence in a table of weighted shares by Pearson's statistic with the correction of Rao and Scott.

    The correction is of second order (Rao and Scott 1984): F = X**2 / tr has d and d * df degrees of freedom. Here tr
    is the sum of the design effects of all interactions, and d is tr**2 over the sum of their squares. The weights are
    expected shares, so F is never negative.
    """
    rows, columns = shares.any(axis=1), shares.any(axis=0)
    table, cells = shares[rows][:, columns], np.outer(rows, columns).ravel()
    g, k = table.shape
    if min(g, k) < 2:  # no interaction
        return TableTest(0.0, (0.0, 0.0), 1.0, "Rao and Scott's F of the reports")
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    pearson = float(n * ((table - expected) ** 2 / expected).sum())
    # One contrast for each interaction, orthogonal to rows and columns.
    margins = [np.eye(size)[:, 1:] - 1 / size for size in (g, k)]
    contrasts = np.kron(*margins) / expected.ravel()[:, None]
    simple_cov = (contrasts * expected.ravel()[:, None]).T @ contrasts / n
    design_effects = np.linalg.solve(simple_cov, contrasts.T @ cov[np.ix_(cells, cells)] @ contrasts)
    trace, squares = float(np.trace(design_effects)), float(np.trace(design_effects @ design_effects))
    df_numerator = trace**2 / squares
    statistic = pearson / trace
    p = float(fdtrc(df_numerator, df_numerator * df, statistic)) if df > 0 else np.nan
    method = f"Rao and Scott's F of the reports, X² = {pearson:.5g}"
    return TableTest(statistic, (round(df_numerator, 6), round(df_numerator * df, 6)), p, method)
