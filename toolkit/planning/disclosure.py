"""Information that an observer gains from one report: epsilon interpreted as odds, a bet, a guess and a test."""

import math
from dataclasses import dataclass

import numpy as np

from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, exact_fraction, read_shares, reject
from toolkit.core.inference.digits import concise
from toolkit.local.design import Design
from toolkit.local.questions import warner


@dataclass(frozen=True)
class Posterior:
    """The change in an observer's belief in yes, the last option, after one report.

    Parameters
    ----------
    report : str or int
        The report.
    chance : float
        The probability of this report.
    before, after : float
        The probability of yes before and after the report.
    odds_factor : float
        The factor by which the report multiplies the odds of yes, between e**-epsilon and e**epsilon.

    Examples
    --------
    >>> Posterior("yes", 0.3, 0.1, 0.25, 3.0).stake_factor
    2.5
    """

    report: str | int
    chance: float
    before: float
    after: float
    odds_factor: float

    __repr__ = concise

    @property
    def stake_factor(self) -> float:
        """The value, after the report, of a fair bet of 1 on yes that was placed before the report."""
        return self.after / self.before if self.before else 1.0

    def __str__(self) -> str:
        """Describe the change in belief in one sentence with the odds of a bet."""
        chance = f"of people who report “{self.report}”, about {100 * self.after:.0f} in 100 have it"
        return (
            f"{chance}; before the report it was {100 * self.before:.0f}. Nothing more can be concluded "
            "about this person."
        )


def learned(design: Design, prior: Number) -> tuple[Posterior, ...]:
    """Compute an observer's posterior probability of yes after each possible report.

    Parameters
    ----------
    design : Design
        A design with two options.
    prior : number
        The observer's probability of yes before the report.

    Returns
    -------
    tuple of Posterior
        One entry for each report.

    Examples
    --------
    >>> from toolkit import warner
    >>> [round(step.after, 3) for step in learned(warner("3/4"), 0.1)]
    [0.036, 0.25]
    """
    belief = _check_prior(design, prior)
    after = design.posterior(belief)[1]
    chances = np.array([1 - belief, belief]) @ design.matrix
    with np.errstate(divide="ignore"):
        factors = design.matrix[1] / design.matrix[0]
    rows = zip(design.report_options, chances, after, factors, strict=True)
    return tuple(Posterior(report, float(c), belief, float(a), float(f)) for report, c, a, f in rows)


def guess_rate(epsilon: Number) -> float:
    """Compute the probability that the best guess of a yes/no answer, given one report, is right.

    Parameters
    ----------
    epsilon : number
        The epsilon of the design.

    Returns
    -------
    float
        The probability, which is at most e**epsilon / (1 + e**epsilon).

    Examples
    --------
    >>> round(guess_rate(1.0), 3)
    0.731
    """
    return 1 / (1 + math.exp(-_check_epsilon(epsilon)))


def guess_rate_of(design: Design, prior: Number = 0.5) -> float:
    """Return the probability that the best guess after a report is right, for an observer with this prior."""
    belief = _check_prior(design, prior)
    joint = np.array([[1 - belief], [belief]]) * design.matrix
    return float(joint.max(axis=0).sum())


def bet(epsilon: Number) -> float:
    """Compute the largest value that a fair bet of 1 on a person's answer can have after a report.

    The value is e**epsilon, for any prior knowledge.

    Parameters
    ----------
    epsilon : number
        The epsilon of the design.

    Returns
    -------
    float
        The factor e**epsilon.

    Examples
    --------
    >>> round(bet(1.0), 3)
    2.718
    """
    return math.exp(_check_epsilon(epsilon))


def roc_limit(false_alarms: ArrayLike, epsilon: Number) -> Array:
    """Compute the largest share of yes answers that a test can detect: min(e**epsilon x, 1 - e**-epsilon (1 - x)).

    Parameters
    ----------
    false_alarms : array
        The share x of no answers that the test classifies as yes.
    epsilon : number
        The epsilon of the design.

    Returns
    -------
    array
        One limit for each false-alarm rate.

    References
    ----------
    L. Wasserman and S. Zhou, Journal of the American Statistical Association 105 (2010).

    Examples
    --------
    >>> roc_limit([0.0, 0.1, 1.0], 1.0).round(2).tolist()
    [0.0, 0.27, 1.0]
    """
    share, factor = read_shares(false_alarms, "false_alarms"), math.exp(_check_epsilon(epsilon))
    if np.any((share < 0) | (share > 1)):
        reject("`false_alarms` must lie between 0 and 1", "another value", "write shares such as 0.05")
    return np.minimum(factor * share, 1 - (1 - share) / factor)


def roc(design: Design) -> Array:
    """Return the corners of the ROC curve: rows of (false-alarm rate, detection rate), from (0, 0) to (1, 1)."""
    if len(design.options) != 2:
        reject("`design` must have two options", len(design.options), "give a yes/no design")
    no, yes = design.matrix
    with np.errstate(divide="ignore"):
        order = np.argsort(-(yes / no), kind="stable")
    return np.vstack([[0.0, 0.0], np.cumsum(np.stack([no[order], yes[order]], axis=1), axis=0)])


def people_at_equal_epsilon(design: Design, prevalence: ArrayLike) -> float:
    """Compute the number of people that a yes/no design needs, relative to Warner's design with the same epsilon.

    Parameters
    ----------
    design : Design
        A design with two options and a finite epsilon.
    prevalence : number
        The guessed truth.

    Returns
    -------
    float
        The ratio, which is at least 1.

    References
    ----------
    N. Holohan, D. J. Leith and O. Mason, Optimal differentially private mechanisms for randomized response (2017).

    Examples
    --------
    >>> from toolkit import unrelated
    >>> round(people_at_equal_epsilon(unrelated(p=0.7, prevalence=0.3), 0.1), 2)
    1.17
    """
    if len(design.options) != 2 or not math.isfinite(design.epsilon):
        rule = "`design` must have two options and a finite epsilon"
        reject(rule, design, "give a yes/no design in which every report is possible for both answers")
    best = warner(epsilon=design.epsilon)
    return float(design.variance(prevalence, 1)) / float(best.variance(prevalence, 1))


def _check_prior(design: Design, prior: Number) -> float:
    if len(design.options) != 2:
        reject("`design` must have two options", len(design.options), "give a yes/no design")
    belief = exact_fraction(prior, "prior")
    if not 0 <= belief <= 1:
        reject("`prior` must lie between 0 and 1", prior, "write a probability such as 0.1")
    return float(belief)


def _check_epsilon(epsilon: Number) -> float:
    number = exact_fraction(epsilon, "epsilon")
    if number < 0:
        reject("`epsilon` must not be negative", epsilon, "write 1.0, for example")
    return float(number)
