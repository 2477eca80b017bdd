"""Whether groups have the same shares, over all options together.

Through a square matrix the truths agree exactly when the reports do, so the ordinary chi-squared test of the
table of reports is the test, and privacy needs no correction. With more reports than truths it is the
likelihood ratio.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import floats, reject
from toolkit.core.inference.special import chdtrc, fdtrc, xlogy
from toolkit.local.design import Design
from toolkit.local.matrix.encoding import checked_counts
from toolkit.local.matrix.likelihood import maximize


@dataclass(frozen=True)
class TableTest:
    """A test of a table: whether groups, or two answers, go together.

    Parameters
    ----------
    statistic : float
        How far the reports are from what was tested.
    df : int or tuple
        Degrees of freedom; of an F test two of them.
    p : float
        The p-value.
    method : str
        What was computed, in words.

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
    """Pearson's test that the rows of a table of counts follow one law; empty columns are left out."""
    counts = np.asarray(table, dtype=np.float64)
    counts = counts[:, counts.any(axis=0)]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    statistic, df = (float(((counts - expected) ** 2 / expected).sum()), (len(counts) - 1) * (counts.shape[1] - 1))
    p = float(chdtrc(df, statistic)) if df else 1.0
    return TableTest(statistic, df, p, "Pearson's chi-squared of the reports")


def homogeneity(design: Design, tables: Sequence[Any]) -> TableTest:
    """Test whether groups have the same shares, from counts of their reports through a design.

    Parameters
    ----------
    design : Design
        What the reports came through.
    tables : sequence of sequence of int
        Counts of reports, one row per group.

    Returns
    -------
    TableTest
        Pearson's chi-squared; the likelihood ratio for a design with more reports than options.

    Examples
    --------
    >>> from toolkit import warner
    >>> homogeneity(warner("3/4"), [[372, 291], [491, 290], [675, 281]]).df
    2
    """
    counts = floats(tables, "tables")
    if counts.ndim != 2 or counts.shape[1] != len(design.report_options):
        rule = f"counts must have {len(design.report_options)} columns, one a report"
        reject(rule, f"shape {counts.shape}", "one row per group")
    if len(counts) < 2 or not counts.any(axis=1).all():
        reject("at least two groups must have reports", len(counts), "there is nothing to compare")
    counts = np.array([checked_counts(row, counts.shape[1]) for row in counts])
    if design.matrix.shape[0] == design.matrix.shape[1]:
        return chi_squared(counts)
    apart = sum(_highest(design, row) for row in counts)
    statistic = max(2 * (apart - _highest(design, counts.sum(axis=0))), 0.0)
    df = (len(counts) - 1) * (len(design.options) - 1)
    return TableTest(statistic, df, float(chdtrc(df, statistic)), "likelihood ratio")


def _highest(design: Design, counts: Array) -> float:
    """The greatest log-likelihood of counts, over all shares."""
    return float(xlogy(counts, maximize(design.matrix, counts, None) @ design.matrix).sum())


def wald_f(difference: Array, cov: Array, df: int) -> TableTest:
    """W = d' V**-1 d of q differences; F = (v - q + 1) / (v q) W on q and v - q + 1 degrees of freedom."""
    q = len(difference)
    rest = df - q + 1
    if rest < 1:
        reject(
            "a sample must have more clusters than differences that are tested", f"{df} df", "merge options or groups"
        )
    wald = float(difference @ np.linalg.solve(cov, difference))
    statistic = rest / (df * q) * wald
    return TableTest(statistic, (q, rest), float(fdtrc(q, rest, statistic)), f"Wald's F, W = {wald:.6g}")


def rao_scott(shares: Array, cov: Array, n: int, df: int) -> TableTest:
    """Pearson's test of a table of weighted shares, corrected for how people were drawn (Rao and Scott 1984, second
    order): F = X**2 / tr on d and d * df degrees of freedom, with tr the sum of the design effects of all
    interactions and d their number as these are spread. Expected shares stand in its weights, so that it is never
    negative.
    """
    rows, columns = shares.any(axis=1), shares.any(axis=0)
    table, places = shares[rows][:, columns], np.outer(rows, columns).ravel()
    g, k = table.shape
    if min(g, k) < 2:  # all are alike in what was seen
        return TableTest(0.0, (0.0, 0.0), 1.0, "Rao and Scott's F of the reports")
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    pearson = float(n * ((table - expected) ** 2 / expected).sum())
    # what is left of each interaction after rows and columns
    apart = [np.eye(size)[:, 1:] - 1 / size for size in (g, k)]
    contrasts = np.kron(*apart) / expected.ravel()[:, None]
    alike = (contrasts * expected.ravel()[:, None]).T @ contrasts / n
    delta = np.linalg.solve(alike, contrasts.T @ cov[np.ix_(places, places)] @ contrasts)
    total, squares = float(np.trace(delta)), float(np.trace(delta @ delta))
    free = total**2 / squares
    statistic = pearson / total
    p = float(fdtrc(free, free * df, statistic)) if df > 0 else np.nan
    how = f"Rao and Scott's F of the reports, X² = {pearson:.5g}"
    return TableTest(statistic, (round(free, 6), round(free * df, 6)), p, how)
