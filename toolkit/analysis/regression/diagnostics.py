"""Goodness of fit: residuals of reports, and a test that compares observed with expected reports in groups.

A device randomizes the truths, so only reports can be compared with a model: the distribution of a report is the
model's distribution of the truth times the matrix of the design.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from toolkit.analysis.regression.margins import Effect
from toolkit.analysis.regression.responses import block_diagonal
from toolkit.analysis.regression.rows import SMALLEST_LIKELIHOOD, Channel, Codes, People
from toolkit.core.arrays import Array, Labels
from toolkit.core.checks import check_choice, check_integer, reject
from toolkit.core.extras import extra
from toolkit.core.inference.special import chdtrc, ndtri
from toolkit.core.randomness import Rng, check_rng

if TYPE_CHECKING:
    import pandas as pd

ResidualKind = Literal["quantile", "pearson", "deviance"]

_DIGITS = 10  # predictions that agree to this many digits count as equal: such people are in the same group
_LEAST_DF = 0.5


@dataclass(frozen=True, eq=False)
class GoodnessOfFit:
    """Result of the Hosmer–Lemeshow test, which compares observed and expected reports in groups of people.

    Parameters
    ----------
    statistic : float
        The sum over groups and reports of (observed - expected)**2 / expected.
    df : float
        The mean of the statistic if the model is right, which is the degrees of freedom of the chi-squared reference.
    p : float
        The p-value.
    reports : tuple
        The possible reports.
    people : array
        Number of people in each group.
    prediction : array
        Mean prediction of each group, by which the groups are ordered.
    observed, expected : array
        Number of reports, one row per group and one column per report.

    Examples
    --------
    >>> from toolkit import warner
    >>> from toolkit.analysis import logistic
    >>> rng, coin, age = np.random.default_rng(1), warner("3/4"), np.arange(2000) % 50
    >>> fit = logistic(coin.randomize(rng.random(2000) < 0.2 + age / 100, rng=rng), age, coin)
    >>> fit.goodness_of_fit()
    <GoodnessOfFit p = 0.4283: statistic 8.0602, df 8.007, 10 groups>
    """

    statistic: float
    df: float
    p: float
    reports: Labels
    people: Array
    prediction: Array
    observed: Array
    expected: Array

    def __repr__(self) -> str:
        test = f"statistic {self.statistic:.5g}, df {self.df:.4g}, {len(self.people)} groups"
        return f"<GoodnessOfFit p = {self.p:.4g}: {test}>"

    def to_frame(self) -> "pd.DataFrame":
        """Return the observed and the expected number of each report by group.

        Returns
        -------
        pandas.DataFrame
            One row per group: number of people, mean prediction, and two columns for each report.
        """
        columns = {"people": self.people, "prediction": self.prediction}
        for index, report in enumerate(self.reports):
            columns |= {f"observed {report}": self.observed[:, index], f"expected {report}": self.expected[:, index]}
        pandas = extra("pandas", "analysis")
        return pandas.DataFrame(columns, index=pandas.RangeIndex(1, len(self.people) + 1, name="group"))

    def plot(self, *, ax: Any = None) -> Any:
        """Plot the observed against the expected share of each report, one point per group.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        from toolkit.show import fits

        return fits.goodness_of_fit(self, ax=ax)


@dataclass(frozen=True, eq=False)
class ReportLaw:
    """The distribution of each person's report under a fitted model, and the reports that were observed.

    `probabilities` has one row per person and one column per report, and `gradient` holds its derivatives with respect
    to the coefficients. `codes` are the observed reports. `prediction` orders people for the groups of a test.
    """

    probabilities: Array
    gradient: Array
    codes: Codes
    reports: Labels
    prediction: Array
    people: People

    def reordered(self, order: Sequence[int]) -> "ReportLaw":
        """Return the same distribution with the reports in another order."""
        columns = list(order)
        return ReportLaw(
            self.probabilities[:, columns],
            self.gradient[:, columns],
            np.argsort(columns, kind="stable")[self.codes],
            tuple(self.reports[index] for index in columns),
            self.prediction,
            self.people,
        )


def report_law(channel: Channel, shares: Sequence[Effect], prediction: Array, people: People) -> ReportLaw:
    """Return the distribution of reports, given the probability of each option of the design for each person."""
    labels = [design.report_options for design in channel.designs]
    if len({len(reports) for reports in labels}) > 1:
        received = " and ".join(str(len(reports)) for reports in labels)
        reject("designs must have the same number of reports", received, "fit the people of each design alone")
    values = np.stack([share.value for share in shares], axis=1)
    slopes = np.stack([share.gradient for share in shares], axis=1)
    probabilities = np.empty((len(values), len(labels[0])))
    gradient = np.empty((*probabilities.shape, slopes.shape[2]))
    for rows, matrix in channel.rows_by_design():
        probabilities[rows] = values[rows] @ matrix
        gradient[rows] = matrix.T @ slopes[rows]
    # Designs may have different labels for the same code, such as "yes" and "different".
    reports = tuple(" / ".join(dict.fromkeys(map(str, several))) for several in zip(*labels, strict=True))
    return ReportLaw(probabilities, gradient, channel.codes, reports, prediction, people)


def residuals(law: ReportLaw, kind: ResidualKind, rng: Rng) -> Array:
    """Return residuals of each person's report: one column per report, or one number for each person."""
    check_choice(kind, "kind", ("quantile", "pearson", "deviance"))
    probabilities, codes = law.probabilities, law.codes
    if law.people.times is not None:
        row = np.repeat(np.arange(len(codes)), law.people.times.astype(np.intp))
        probabilities, codes = probabilities[row], codes[row]
    if kind == "quantile":
        return _quantile_residuals(probabilities, codes, check_rng(rng) or np.random.default_rng())
    is_observed = np.eye(probabilities.shape[1], dtype=bool)[codes]
    # The complement is a sum and not a difference from 1, which would lose the digits of a small probability.
    complement = np.maximum(probabilities @ (1 - np.eye(probabilities.shape[1])), SMALLEST_LIKELIHOOD)
    probability = np.maximum(probabilities, SMALLEST_LIKELIHOOD)
    if kind == "pearson":
        values = np.where(is_observed, np.sqrt(complement / probability), -np.sqrt(probability / complement))
    else:
        sizes = np.sqrt(np.maximum(-2 * np.log(np.where(is_observed, probability, complement)), 0))
        values = np.where(is_observed, sizes, -sizes)
    return values[:, 1] if values.shape[1] == 2 else values


def _quantile_residuals(probabilities: Array, codes: Codes, rng: np.random.Generator) -> Array:
    """Return randomized quantile residuals (Dunn and Smyth 1996), computed in the smaller tail."""
    index, draw = np.arange(probabilities.shape[1]), rng.random(len(codes))
    observed = probabilities[np.arange(len(codes)), codes]
    below = (probabilities * (index < codes[:, None])).sum(axis=1) + draw * observed
    above = (probabilities * (index > codes[:, None])).sum(axis=1) + (1 - draw) * observed
    tail = ndtri(np.maximum(np.minimum(below, above), SMALLEST_LIKELIHOOD))
    return np.asarray(np.where(below < above, tail, -tail))


def goodness_of_fit(law: ReportLaw, groups: int) -> GoodnessOfFit:
    """Compare observed and expected reports in groups of people with similar predictions."""
    if law.people.is_complex:
        rule = "the Hosmer–Lemeshow test needs independent people of equal weight"
        remedy = "the test of Archer and Lemeshow for complex samples is not available; look at `residuals`"
        reject(rule, f"a sample with {', '.join(law.people.description)}", remedy)
    group = _groups(law.prediction, law.people.row_weights, check_integer(groups, "groups", minimum=2, maximum=1000))
    members = np.eye(group.max() + 1)[group] * law.people.row_weights[:, None]
    people = members.sum(axis=0)
    observed = members.T @ np.eye(law.probabilities.shape[1])[law.codes]
    expected = members.T @ law.probabilities
    statistic = float(((observed - expected) ** 2 / np.maximum(expected, SMALLEST_LIKELIHOOD)).sum())
    df = float((np.diag(_residual_covariance(law, members)) / np.maximum(expected, SMALLEST_LIKELIHOOD).ravel()).sum())
    if df < _LEAST_DF:
        received = f"{len(people)} groups with different predictions"
        reject("people must differ in more predictions than the model has coefficients", received, "nothing to test")
    prediction = members.T @ law.prediction / people
    p = float(chdtrc(df, statistic))
    return GoodnessOfFit(statistic, df, p, law.reports, people.astype(int), prediction, observed, expected)


def _groups(prediction: Array, row_weights: Array, count: int) -> Codes:
    """Return the group of each row: at most `count` groups of about equally many people with similar predictions.

    People with equal predictions are in the same group.
    """
    values, index = np.unique(np.round(prediction, _DIGITS), return_inverse=True)
    sizes = np.bincount(index, row_weights, minlength=len(values))
    middle = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    return np.asarray(np.unique(np.floor(middle * count), return_inverse=True)[1][index], dtype=np.intp)


def _residual_covariance(law: ReportLaw, members: Array) -> Array:
    """Return the covariance of observed minus expected reports, one row per group and report.

    It is the multinomial covariance of the reports minus J I**-1 J', because the coefficients were fitted to the same
    reports. J holds the derivatives of the expected reports, and I is the expected information. The eigenvalues of the
    covariance divided by the expected reports are between 0 and 1, so the chi-squared reference whose degrees of
    freedom are their sum has the same mean as the statistic, and at least its variance.
    """
    expected = members.T @ law.probabilities
    blocks = [
        np.diag(total) - law.probabilities.T @ (law.probabilities * weight[:, None])
        for total, weight in zip(expected, members.T, strict=True)
    ]
    n_coefficients = law.gradient.shape[2]
    slopes = np.einsum("ig,ijq->gjq", members, law.gradient).reshape(-1, n_coefficients)
    weight = law.people.row_weights[:, None] / np.maximum(law.probabilities, SMALLEST_LIKELIHOOD)
    # The triangular root of the information is used, because the information itself has the square of its condition
    # number.
    scores = (law.gradient * np.sqrt(weight)[:, :, None]).reshape(-1, n_coefficients)
    root = np.asarray(np.linalg.qr(scores, mode="r"))
    half = np.linalg.solve(root.T, slopes.T)
    return np.asarray(block_diagonal(blocks) - half.T @ half)
