"""What an observer learns from one report: as odds, as a bet, as a guess, as a test. All four are epsilon,
said differently.
"""

import math
from dataclasses import dataclass

import numpy as np

from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, exact, read_shares, refuse
from toolkit.core.inference.digits import concise
from toolkit.local.design import Design
from toolkit.local.questions import warner


@dataclass(frozen=True)
class Learned:
    """What one report does to an observer's belief in the last option, yes.

    Parameters
    ----------
    report : str or int
        The report.
    chance : float
        How often this report is received.
    before, after : float
        The probability of yes without and with the report.
    odds_factor : float
        By how much it multiplies the odds of yes; within e**epsilon and its inverse.

    Examples
    --------
    >>> Learned("yes", 0.3, 0.1, 0.25, 3.0).stake_factor
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
        """What a fair bet of 1 on yes, placed before the report came, is worth after it."""
        return self.after / self.before if self.before else 1.0

    def __str__(self) -> str:
        """In the words of someone with an interest in the answer, as an insurer."""
        chance = f"of people who report “{self.report}”, about {100 * self.after:.0f} in 100 have it"
        return (
            f"{chance}; before the report it was {100 * self.before:.0f}. Nothing more can be concluded "
            "about this person."
        )


def learned(design: Design, prior: Number) -> tuple[Learned, ...]:
    """Compute what an observer concludes from each report.

    Parameters
    ----------
    design : Design
        Of two options.
    prior : number
        The observer's probability of yes before.

    Returns
    -------
    tuple of Learned
        One for each report.

    Examples
    --------
    >>> from toolkit import warner
    >>> [round(step.after, 3) for step in learned(warner("3/4"), 0.1)]
    [0.036, 0.25]
    """
    belief = _belief(design, prior)
    after = design.posterior(belief)[1]
    chances = np.array([1 - belief, belief]) @ design.matrix
    with np.errstate(divide="ignore"):
        factors = design.matrix[1] / design.matrix[0]
    rows = zip(design.report_options, chances, after, factors, strict=True)
    return tuple(Learned(report, float(c), belief, float(a), float(f)) for report, c, a, f in rows)


def guess_rate(epsilon: Number) -> float:
    """Compute how often the best guess of a yes or no is right, from one report and no other knowledge.

    Parameters
    ----------
    epsilon : number
        Of the design.

    Returns
    -------
    float
        At most e**epsilon / (1 + e**epsilon).

    Examples
    --------
    >>> round(guess_rate(1.0), 3)
    0.731
    """
    return 1 / (1 + math.exp(-_epsilon(epsilon)))


def guess_rate_of(design: Design, prior: Number = 0.5) -> float:
    """How often the best guess of the answer is right after a report, for an observer who held `prior` before."""
    belief = _belief(design, prior)
    joint = np.array([[1 - belief], [belief]]) * design.matrix
    return float(joint.max(axis=0).sum())


def bet(epsilon: Number) -> float:
    """Compute the most that a stake of 1 on a person's answer, at odds fair before the report, is worth after it.

    The stake is multiplied by e**epsilon at the very most, whatever was known before.

    Parameters
    ----------
    epsilon : number
        Of the design.

    Returns
    -------
    float
        The factor e**epsilon.

    Examples
    --------
    >>> round(bet(1.0), 3)
    2.718
    """
    return math.exp(_epsilon(epsilon))


def roc_limit(false_alarms: ArrayLike, epsilon: Number) -> Array:
    """Compute the largest share of yes that any test finds: min(e**e x, 1 - e**-e (1 - x)).

    Parameters
    ----------
    false_alarms : array
        The share x of no that the test takes for yes.
    epsilon : number
        Of the design.

    Returns
    -------
    array
        One limit for each share of false alarms.

    References
    ----------
    L. Wasserman and S. Zhou, Journal of the American Statistical Association 105 (2010).

    Examples
    --------
    >>> roc_limit([0.0, 0.1, 1.0], 1.0).round(2).tolist()
    [0.0, 0.27, 1.0]
    """
    share, factor = read_shares(false_alarms, "false_alarms"), math.exp(_epsilon(epsilon))
    if np.any((share < 0) | (share > 1)):
        refuse("`false_alarms` must lie between 0 and 1", "others", "they are shares")
    return np.minimum(factor * share, 1 - (1 - share) / factor)


def roc(design: Design) -> Array:
    """The corners of what tests can do with this design: rows of (false alarms, yes found), from (0, 0) to (1, 1)."""
    if len(design.options) != 2:
        refuse("`design` must have two options", len(design.options), "a test tells two answers apart")
    no, yes = design.matrix
    with np.errstate(divide="ignore"):
        order = np.argsort(-(yes / no), kind="stable")
    return np.vstack([[0.0, 0.0], np.cumsum(np.stack([no[order], yes[order]], axis=1), axis=0)])


def people_at_equal_epsilon(design: Design, prevalence: ArrayLike) -> float:
    """Compute how many times as many people this yes/no design needs as Warner's with the same epsilon.

    Parameters
    ----------
    design : Design
        Of two options and a finite epsilon.
    prevalence : number
        A guess of the truth.

    Returns
    -------
    float
        Never below 1.

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
        refuse(rule, design, "only then is there a Warner design beside it")
    best = warner(epsilon=design.epsilon)
    return float(design.variance(prevalence, 1)) / float(best.variance(prevalence, 1))


def _belief(design: Design, prior: Number) -> float:
    if len(design.options) != 2:
        refuse("`design` must have two options", len(design.options), "a single prior is about yes and no")
    belief = exact(prior, "prior")
    if not 0 <= belief <= 1:
        refuse("`prior` must lie between 0 and 1", prior, "it is a probability")
    return float(belief)


def _epsilon(epsilon: Number) -> float:
    number = exact(epsilon, "epsilon")
    if number < 0:
        refuse("`epsilon` must not be negative", epsilon, "a loss is never below zero")
    return float(number)
