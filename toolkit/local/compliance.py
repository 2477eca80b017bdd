"""People who do not follow the instructions, and how far they move an estimate.

Randomized answers are right on average only if people do as they were told. Some say the harmless thing whatever the
die shows, some answer anything, some forget the die and tell the truth. No interval covers that: so say beforehand how
much of it an estimate could bear, and measure it with an anchor question (`toolkit.local.anchor`).
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, ArrayLike, first_largest
from toolkit.core.checks import Number, exact, floats, probability, reject
from toolkit.core.inference.digits import concise
from toolkit.local.design import Design
from toolkit.local.matrix.moments import forced_form, scores
from toolkit.local.protocol import Randomizer

WAYS = ("self_protective", "random", "candid")


@dataclass(frozen=True)
class Compliance:
    """Shares of people who do not follow the instructions; the others do.

    Parameters
    ----------
    self_protective : float
        Report what speaks most for the first option, as a plain "no", whatever the device shows.
    random : float
        Report anything, evenly.
    candid : float
        Leave the device aside, and report what speaks most for their true answer.

    References
    ----------
    L. K. John et al., Organizational Behavior and Human Decision Processes 148 (2018), for such estimates.

    Examples
    --------
    >>> from toolkit import forced
    >>> round(Compliance(self_protective=0.2).bias(forced("1/6", "1/6"), 0.05), 3)  # of 5 %, so -1 % is estimated
    -0.06
    """

    self_protective: float = 0.0
    random: float = 0.0
    candid: float = 0.0

    __repr__ = concise

    def __post_init__(self) -> None:
        for way in WAYS:
            object.__setattr__(self, way, float(probability(getattr(self, way), way)))
        if self._followers <= 0:
            consequence = "else the reports say nothing"
            reject("some people must follow the instructions", f"{self._followers:.3g} of them", consequence)

    @property
    def _followers(self) -> float:
        """The share of people who follow the instructions."""
        return 1 - self.self_protective - self.random - self.candid

    def _effective_design(self, design: Design) -> Design:
        """Return the design that the reports really come from, people behaving as they do.

        Parameters
        ----------
        design : Design
            The design as it was meant.

        Returns
        -------
        Design
            Its estimates are right for these people.
        """
        telling, lost = _telling(design), [exact(getattr(self, way), way) for way in WAYS]
        protective, random, candid = lost
        rows = [
            [(1 - sum(lost)) * Fraction(weight, design.denominator) for weight in row]
            for row in design.weights.tolist()
        ]
        for row, candidly in zip(rows, telling, strict=True):
            row[:] = [share + random / len(row) for share in row]
            row[telling[0]] += protective
            row[candidly] += candid
        return Design.from_matrix(rows, design.options, design.report_options, design.name)

    def bias(self, design: Design, prevalence: ArrayLike) -> float:
        """Return how far the design's own estimate is off on average.

        Parameters
        ----------
        design : Design
            The design as it was meant.
        prevalence : float or sequence
            The true share of yes, or of every option.

        Returns
        -------
        float
            Of yes, or of the option that is moved farthest.
        """
        shares = _shares(prevalence)
        off = shares @ (self._mixed(design) - design.matrix) @ report_scores(design)
        return float(off[1] if len(shares) == 2 else off[first_largest(np.abs(off))])

    def _mixed(self, design: Design) -> Array:
        telling, kinds = _telling(design), np.eye(len(design.report_options))
        aside = self.self_protective * kinds[telling[0]] + self.random / len(kinds)
        return np.asarray(self._followers * design.matrix + aside + self.candid * kinds[telling])


def one_percent(design: Design, prevalence: ArrayLike) -> dict[str, float]:
    """How far one person in a hundred moves the estimate, by what they do instead of following the instructions."""
    return {way: Compliance(**{way: 0.01}).bias(design, prevalence) for way in WAYS}


def worst_shift(randomizer: Randomizer, truth: ArrayLike, share: Number = "1/100") -> float:
    """Return how far a share of liars who agree on what to send can move the estimate, at most.

    Every report has a score, and the estimate is the mean score; liars send the score farthest from the truth. Infinite
    where a report has no bound, as with Laplace noise (Cheu, Smith and Ullman 2021, Manipulation attacks in local
    differential privacy).
    """
    liars = randomizer._weight_of_liars(float(probability(share, "share")))
    low, high = randomizer._score_range()
    honest = np.atleast_1d(floats(truth, "truth"))
    if low.shape == (2,):  # a design of two options has a score for each
        honest = _shares(honest)
    return liars * float(np.max(np.maximum(high - honest, honest - low)))


def report_scores(design: Design) -> Array:
    """What each report adds to the estimate, a row per report and a column per option: the estimate is the mean row."""
    return scores(design.matrix, forced_form(design.weights), design.denominator)


def _telling(design: Design) -> npt.NDArray[np.intp]:
    """For each truth the report that speaks most for it: the largest likelihood against the likeliest other truth."""
    rest = [np.delete(design.matrix, i, axis=0).max(axis=0) for i in range(len(design.options))]
    with np.errstate(divide="ignore"):
        return np.asarray(np.argmax(design.matrix / np.array(rest), axis=1))


def _shares(prevalence: ArrayLike) -> Array:
    truth = np.atleast_1d(floats(prevalence, "prevalence"))
    return np.array([1 - truth[0], truth[0]]) if len(truth) == 1 else truth
