"""`plan_slope`: sample sizes for the slope of a logistic regression on randomized answers.

Let g(x) = 1 / (1 + exp(-a - b x)). The Fisher information of one report about a + b x is g'**2 times the sum over
reports y of (P[1, y] - P[0, y])**2 / Pr(y | x). The covariance matrix of intercept and slope is the inverse of the mean
information over the covariate.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import (
    Number,
    check_integer,
    check_level,
    check_probability,
    exact_fraction,
    explain_call,
    reject,
)
from toolkit.core.inference.special import expit, ndtr, ndtri
from toolkit.core.search import smallest_integer_where
from toolkit.local.design import Design, has_matrix
from toolkit.planning.accuracy import critical_value
from toolkit.planning.families import is_randomizer
from toolkit.planning.fieldwork import whole_people
from toolkit.planning.models.differences import binomial_support, check_power

_QUADRATURE_POINTS = 200
_MAX_EXACT_N = 50_000


@dataclass(frozen=True)
class SlopePlan:
    """A plan for a logistic regression, as returned by `plan_slope`.

    Parameters
    ----------
    design : Design
        The design of the question.
    slope : float
        The slope of the log-odds.
    n : int
        The number of people whose reports arrive.
    level : float
        The confidence level.
    power : float
        The power of the two-sided Wald test of a slope of 0, which is approximate for a normal covariate.
    variance : float
        The variance of the estimated slope, multiplied by n.

    Examples
    --------
    >>> from toolkit import forced
    >>> round(plan_slope(forced("1/6", "1/6"), intercept=-1, slope=0.5, n=497).se, 2)
    0.18
    """

    design: Design
    slope: float
    n: int
    level: float
    power: float
    variance: float

    @property
    def se(self) -> float:
        """The standard error of the slope."""
        return math.sqrt(self.variance / self.n)

    def __repr__(self) -> str:
        return (
            f"<SlopePlan: about {self.n:,} people, power {self.power:.3g} to tell a slope of {self.slope:g} "
            f"from 0, standard error {self.se:.3g}; {self.design.name}>"
        )


@explain_call('plan_slope(forced("1/6", "1/6"), intercept=-1, slope=0.5, n=1000)')
def plan_slope(
    design: Design,
    *,
    intercept: Number,
    slope: Number,
    n: int | None = None,
    power: Number | None = None,
    level: Number = 0.95,
    covariate: ArrayLike = "normal",
) -> SlopePlan:
    """Plan a logistic regression with one covariate, given n or a power.

    For a normal covariate the plan is approximate: in simulations with a target of 80 %, the Wald test had a power of
    85 % (intercept -1, slope 0.5) and 83 % (intercept -2). For a binary covariate and two reports the power is exact
    for up to 50,000 people; a survey whose likelihood has no maximum counts as no detection.

    Parameters
    ----------
    design : Design
        A design with two answers.
    intercept, slope : number
        The intercept and slope of the log-odds of the last answer.
    n : int, optional
        The number of people whose reports arrive.
    power : number, optional
        The target, in place of n.
    level : number
        The confidence level; the test has size 1 - level.
    covariate : {"normal"} or number
        "normal" for a covariate of mean 0 and standard deviation 1; for a binary covariate, the share of people whose
        value is 1.

    Returns
    -------
    SlopePlan
        A plan with the number of people, the power and the standard error.

    Examples
    --------
    >>> from toolkit import forced
    >>> plan_slope(forced("1/6", "1/6"), intercept=-1, slope=0.5, power=0.8).n
    497
    """
    if not is_randomizer(design) or not has_matrix(design) or len(design.options) != 2:
        reject("`design` must have two answers", type(design).__name__, "give a yes/no design", TypeError)
    a, b, confidence = (
        float(exact_fraction(intercept, "intercept")),
        float(exact_fraction(slope, "slope")),
        check_level(level),
    )
    if b == 0:
        reject("`slope` must differ from 0", slope, "write slope=0.5, for example")
    if (n is None) == (power is None):
        reject("exactly one of n and power must be given", "both" if n is not None else "none", "write power=0.8 alone")
    x, probabilities = _covariate_distribution(covariate)
    variance, z = slope_variance(design, a, b, x, probabilities), critical_value(confidence, 2)

    def power_with(n_people: int) -> float:
        if len(x) > 2 or design.matrix.shape != (2, 2) or n_people > _MAX_EXACT_N:
            return float(ndtr(abs(b) * math.sqrt(n_people / variance) - z))
        return _exact_power(design, expit(a + b * x), float(probabilities[1]), n_people, z)

    if n is None:
        target = check_power(power, confidence)  # type: ignore[arg-type]  # it is given
        n_people = whole_people((z + float(ndtri(target))) ** 2 * variance / b**2)
        n_people = (
            n_people
            if len(x) > 2
            else smallest_integer_where(lambda number: power_with(number) >= target, 1, max(2, n_people))
        )
    else:
        n_people = check_integer(n, "n", minimum=2)
    return SlopePlan(design, b, n_people, confidence, power_with(n_people), variance)


def _exact_power(design: Design, shares: Array, share: float, n_people: int, z: float) -> float:
    """Return the power of the Wald test of two log-odds, over all counts and random sizes of the groups."""
    points, weights = np.polynomial.hermite_e.hermegauss(5)
    power, (no, yes) = 0.0, design.matrix[:, 1]
    for point, weight in zip(points, weights / weights.sum(), strict=True):
        second = round(n_people * share + point * math.sqrt(n_people * share * (1 - share)))
        sizes = (n_people - second, second)
        if min(sizes) < 1:
            continue
        probabilities, odds, variances = [], [], []
        for size, truth in zip(sizes, shares, strict=True):
            counts, likely = binomial_support(size, float(no + (yes - no) * truth))
            observed = counts / size
            estimate = (observed - no) / (yes - no)
            inside = (estimate > 1e-9) & (estimate < 1 - 1e-9)  # otherwise the coefficient is not finite
            observed, estimate = observed[inside], estimate[inside]
            probabilities.append(likely[inside])
            odds.append(np.log(estimate / (1 - estimate)))
            variances.append(observed * (1 - observed) / size / ((yes - no) * estimate * (1 - estimate)) ** 2)
        hits = np.abs(np.subtract.outer(*odds)) > z * np.sqrt(np.add.outer(*variances))
        power += weight * float(probabilities[0] @ hits @ probabilities[1])
    return power


def slope_variance(design: Design, intercept: float, slope: float, x: Array, probabilities: Array) -> float:
    """Return n times the asymptotic variance of the slope, for a covariate with these values and probabilities."""
    share = expit(intercept + slope * x)
    difference = design.matrix[1] - design.matrix[0]
    reports = design.matrix[0] + np.outer(share, difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_report = np.where(difference == 0, 0, difference**2 / reports).sum(axis=1)
    weight = probabilities * (share * (1 - share)) ** 2 * per_report
    information = np.array([[weight.sum(), weight @ x], [weight @ x, weight @ x**2]])
    return float(np.linalg.inv(information)[1, 1])


def _covariate_distribution(covariate: Any) -> tuple[Array, Array]:
    """Return the covariate's values and their probabilities, by Gauss-Hermite quadrature if it is normal."""
    if isinstance(covariate, str) and covariate == "normal":
        points, weights = np.polynomial.hermite_e.hermegauss(_QUADRATURE_POINTS)
        return points, weights / weights.sum()
    share = float(check_probability(covariate, "covariate"))
    if not 0 < share < 1:
        reject(
            "`covariate` must be 'normal' or a share strictly between 0 and 1",
            covariate,
            "write 0.5 for two equal groups",
        )
    return np.array([0.0, 1.0]), np.array([1 - share, share])
