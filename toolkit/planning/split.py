"""`budget_for`: divide the privacy budget of a respondent among the questions of a survey."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.core.checks import Number, check_integer, check_level, check_positive, exact_fraction, explain_call, reject
from toolkit.core.extras import extra
from toolkit.core.search import bisect
from toolkit.local.protocol import Randomizer
from toolkit.planning.accuracy import PlanInputs
from toolkit.planning.families import Family, make_randomizer, round_down

if TYPE_CHECKING:
    import pandas as pd

_GRID_POINTS = 48
_SMALLEST_SHARE = 1e-3  # the smallest share of the budget for a question


@dataclass(frozen=True, repr=False)
class Split:
    """A privacy budget divided among questions; the exact sum of the questions' epsilons is at most `epsilon`.

    Parameters
    ----------
    epsilon : float
        The total privacy loss of one person.
    n : int
        The number of people whose reports arrive.
    level : float
        The confidence level.
    shares : mapping
        The epsilon of each question.
    designs : mapping
        The randomizer of each question.
    margins : mapping
        The margin of each question.
    one_question_margins : mapping
        The margins if each person answered one question, drawn at random, with the whole budget.

    Examples
    --------
    >>> from toolkit import warner
    >>> budget_for({"a": (warner, 0.5), "b": (warner, 0.5)}, epsilon=2.0).shares["a"]
    1.0
    """

    epsilon: float
    n: int
    level: float
    shares: Mapping[str, float]
    designs: Mapping[str, Randomizer]
    margins: Mapping[str, float]
    one_question_margins: Mapping[str, float]

    @property
    def largest(self) -> float:
        """The largest margin."""
        return max(self.margins.values())

    @property
    def gain(self) -> float:
        """The factor by which one random question per person reduces the sample size for the largest margin."""
        return (self.largest / max(self.one_question_margins.values())) ** 2

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per question.

        Returns
        -------
        pandas.DataFrame
            A table of epsilon, margin, and the margin for one random question per person.
        """
        pd = extra("pandas")

        one_question = self.one_question_margins
        rows = {"epsilon": self.shares, "margin": self.margins, "margin, one random question": one_question}
        return pd.DataFrame({name: dict(values) for name, values in rows.items()}, index=pd.Index(list(self.shares)))

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} {share:.3g}" for name, share in self.shares.items())
        advice = (
            f"one random question each needs {self.gain:.3g} times fewer"
            if self.gain > 1
            else "better than one random question each"
        )
        return (
            f"<Split of epsilon {self.epsilon:.4g}: {parts}; largest margin {self.largest:.3g} with "
            f"{self.n:,} people; {advice}>"
        )


@explain_call('budget_for({"cheated": (warner, 0.2), "lied": (warner, 0.5)}, epsilon=1.0)')
def budget_for(
    questions: Mapping[str, tuple[Family, Any]],
    *,
    epsilon: Number,
    n: int = 1000,
    level: Number = 0.95,
    weights: Mapping[str, Number] | None = None,
) -> Split:
    """Divide epsilon among questions that everybody answers, by weights or to minimize the largest margin.

    Parameters
    ----------
    questions : mapping
        A mapping from the name of each question to a family (a function of epsilon) and the guessed truth.
    epsilon : number
        The largest total privacy loss of one person.
    n : int
        The number of people whose reports arrive.
    level : number
        The confidence level.
    weights : mapping, optional
        Weights of the questions, in any unit; by default, the largest margin is minimized.

    Returns
    -------
    Split
        The epsilon, randomizer and margin of each question.

    Examples
    --------
    >>> from toolkit import k_ary, warner
    >>> from functools import partial
    >>> asked = {"cheated": (warner, 0.1), "transport": (partial(k_ary, 4), [0.25] * 4)}
    >>> {name: round(share, 2) for name, share in budget_for(asked, epsilon=2.0).shares.items()}
    {'cheated': 0.83, 'transport': 1.17}
    """
    total = exact_fraction(
        round_down(check_positive(epsilon, "epsilon")), "epsilon"
    )  # the exact value of the reported float
    people, confidence = check_integer(n, "n"), check_level(level)
    if not questions:
        reject("`questions` must hold at least one question", "none", 'write {"cheated": (warner, 0.2)}')
    if not isinstance(questions, Mapping) or not all(
        isinstance(question, tuple | list) and len(question) == 2 for question in questions.values()
    ):
        consequence = 'write {"cheated": (warner, 0.2)}'
        reject("each question must be a family and a guess of the truth", "others", consequence, TypeError)
    cases = {name: PlanInputs(family, truth, confidence) for name, (family, truth) in questions.items()}
    for name, case in cases.items():
        if case.is_fixed:
            rule = "each question must be a family, a function of epsilon"
            reject(rule, f"a fixed design for {name!r}", "its epsilon is fixed; write warner in place of warner(0.7)")
    proportions = (
        _check_weights(questions, weights) if weights is not None else _epsilons_at_equal_margin(cases, float(total))
    )
    shares = _exact_shares(proportions, total)
    margins = {name: float(case.accuracy(float(shares[name])).margin(people)) for name, case in cases.items()}
    alone = {name: float(case.accuracy(float(total)).margin(people / len(cases))) for name, case in cases.items()}
    designs = {name: make_randomizer(family, float(shares[name])) for name, (family, _) in questions.items()}
    return Split(float(total), people, confidence, {k: float(v) for k, v in shares.items()}, designs, margins, alone)


def _check_weights(questions: Mapping[str, Any], weights: Mapping[str, Number]) -> dict[str, float]:
    if set(weights) != set(questions):
        reject("`weights` must name every question once", "other names", "use the names of `questions`")
    return {
        name: float(check_positive(weights[name], "weights", "a question without a budget yields no information"))
        for name in questions
    }


def _epsilons_at_equal_margin(cases: Mapping[str, PlanInputs], total: float) -> dict[str, float]:
    """Return the epsilons that use up the budget with equal margins, from curves of margin against epsilon."""
    grid = np.geomspace(_SMALLEST_SHARE * total, total, _GRID_POINTS)
    curves = {name: np.log([case.accuracy(e).margin(1) for e in grid]) for name, case in cases.items()}

    def needed(log_margin: float) -> dict[str, float]:
        """Interpolate the epsilon of each question at this margin."""
        return {name: math.exp(np.interp(-log_margin, -curve, np.log(grid))) for name, curve in curves.items()}

    low, high = max(curve[-1] for curve in curves.values()), max(curve[0] for curve in curves.values())
    return needed(bisect(lambda margin: sum(needed(margin).values()) <= total, low, high, max_rounds=60)[1])


def _exact_shares(weights: Mapping[str, float], total: Fraction) -> dict[str, Fraction]:
    """Return shares in proportion to weights as the exact values of floats; their sum is at most the total."""
    weight_sum = sum(Fraction(weight) for weight in weights.values())
    shares = {name: exact_fraction(float(Fraction(w) / weight_sum * total), "epsilon") for name, w in weights.items()}
    while sum(shares.values(), Fraction(0)) > total:
        shares = {name: exact_fraction(math.nextafter(float(share), 0.0), "epsilon") for name, share in shares.items()}
    return shares
