"""Compliance: people who do not follow the instructions, and the bias that they cause.

Estimates are unbiased only if people follow the instructions. Some always give the harmless answer, some answer at
random, and some ignore the die and tell the truth. Confidence intervals do not include this bias. So state in advance
how much non-compliance an estimate can tolerate, and measure it with an anchor question (`toolkit.local.anchor`).
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, ArrayLike, index_of_largest
from toolkit.core.checks import Number, check_probability, exact_fraction, float_array, reject
from toolkit.core.inference.digits import concise
from toolkit.local.design import Design
from toolkit.local.matrix.moments import forced_form, make_score_matrix
from toolkit.local.protocol import Randomizer

DEVIATIONS = ("self_protective", "random", "candid")


@dataclass(frozen=True)
class Compliance:
    """The shares of people who deviate from the instructions in three ways; all other people follow them.

    Parameters
    ----------
    self_protective : float
        The share of people who always give the report that favors the first option most, such as "no".
    random : float
        The share of people who give a uniformly random report.
    candid : float
        The share of people who ignore the device and give the report that favors their true answer most.

    References
    ----------
    L. K. John et al., Organizational Behavior and Human Decision Processes 148 (2018), for estimates of such shares.

    Examples
    --------
    >>> from toolkit import forced
    >>> round(Compliance(self_protective=0.2).bias(forced("1/6", "1/6"), 0.05), 3)  # the mean estimate is -1 %, not 5 %
    -0.06
    """

    self_protective: float = 0.0
    random: float = 0.0
    candid: float = 0.0

    __repr__ = concise

    def __post_init__(self) -> None:
        for deviation in DEVIATIONS:
            object.__setattr__(self, deviation, float(check_probability(getattr(self, deviation), deviation)))
        if self._follower_share <= 0:
            consequence = "otherwise the reports say nothing"
            reject("some people must follow the instructions", f"a share of {self._follower_share:.3g}", consequence)

    @property
    def _follower_share(self) -> float:
        """The share of people who follow the instructions."""
        return 1 - self.self_protective - self.random - self.candid

    def _effective_design(self, design: Design) -> Design:
        """Return the design that generates the reports if people behave this way.

        Parameters
        ----------
        design : Design
            The intended design.

        Returns
        -------
        Design
            The design whose estimates are unbiased for these people.
        """
        most_telling, shares = (
            _most_telling_reports(design),
            [exact_fraction(getattr(self, deviation), deviation) for deviation in DEVIATIONS],
        )
        protective, random, candid = shares
        rows = [
            [(1 - sum(shares)) * Fraction(weight, design.denominator) for weight in row]
            for row in design.weights.tolist()
        ]
        for row, report in zip(rows, most_telling, strict=True):
            row[:] = [share + random / len(row) for share in row]
            row[most_telling[0]] += protective
            row[report] += candid
        return Design.from_matrix(rows, design.options, design.report_options, design.name)

    def bias(self, design: Design, prevalence: ArrayLike) -> float:
        """Return the bias of the intended design's estimate.

        Parameters
        ----------
        design : Design
            The intended design.
        prevalence : float or sequence
            The true share of yes, or of every option.

        Returns
        -------
        float
            The bias of the share of yes, or the largest bias of an option's share.
        """
        shares = _distribution(prevalence)
        off = shares @ (self._effective_matrix(design) - design.matrix) @ report_scores(design)
        return float(off[1] if len(shares) == 2 else off[index_of_largest(np.abs(off))])

    def _effective_matrix(self, design: Design) -> Array:
        most_telling, unit_rows = _most_telling_reports(design), np.eye(len(design.report_options))
        aside = self.self_protective * unit_rows[most_telling[0]] + self.random / len(unit_rows)
        return np.asarray(self._follower_share * design.matrix + aside + self.candid * unit_rows[most_telling])


def bias_of_one_percent(design: Design, prevalence: ArrayLike) -> dict[str, float]:
    """Return the bias of the estimate, for each kind of deviation, if one person in a hundred deviates."""
    return {deviation: Compliance(**{deviation: 0.01}).bias(design, prevalence) for deviation in DEVIATIONS}


def worst_shift(randomizer: Randomizer, truth: ArrayLike, share: Number = "1/100") -> float:
    """Return the largest change of the estimate that a share of colluding liars can cause.

    The estimate is the mean score of the reports, and liars send the report whose score is farthest from the truth. The
    result is infinite if scores are unbounded, as with Laplace noise (Cheu, Smith and Ullman 2021, Manipulation attacks
    in local differential privacy).
    """
    liars = randomizer._liar_weight(float(check_probability(share, "share")))
    low, high = randomizer._score_range()
    honest = np.atleast_1d(float_array(truth, "truth"))
    if low.shape == (2,):  # a design of two options has a score for each option
        honest = _distribution(honest)
    return liars * float(np.max(np.maximum(high - honest, honest - low)))


def report_scores(design: Design) -> Array:
    """Return the scores of all reports, with a row per report and a column per option; the estimate is the mean row."""
    return make_score_matrix(design.matrix, forced_form(design.weights), design.denominator)


def _most_telling_reports(design: Design) -> npt.NDArray[np.intp]:
    """Return, for each truth, the report with the largest likelihood ratio against the most likely other truth."""
    others_max = [np.delete(design.matrix, i, axis=0).max(axis=0) for i in range(len(design.options))]
    with np.errstate(divide="ignore"):
        return np.asarray(np.argmax(design.matrix / np.array(others_max), axis=1))


def _distribution(prevalence: ArrayLike) -> Array:
    truth = np.atleast_1d(float_array(prevalence, "prevalence"))
    return np.array([1 - truth[0], truth[0]]) if len(truth) == 1 else truth
