"""The most likely mistakes in the functions about randomized answers that students write; `mistakes` has the others."""

# ruff: noqa: ARG005 — a wrong version takes all arguments of the function, but may ignore some.

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Mistake:
    """A wrong version of a function, and the message for a student who wrote it.

    Parameters
    ----------
    wrong_version : Callable
        A function of the same arguments. It returns the wrong result or, for a random function, the expected
        statistics; NaN stands for a statistic that may have any value.
    reason : str
        A sentence about the wrong step.
    """

    wrong_version: Callable[..., Any]
    reason: str


def _log_odds(belief: float) -> float:
    return float(np.log(belief / (1 - belief)))


def _report_variance(s: float, f: float, share: float) -> float:
    yes = f + (s - f) * share
    return yes * (1 - yes)


def _people_needed(prevalence: float, margin: float, noise: float) -> float:
    return (1.959964 / margin) ** 2 * (prevalence * (1 - prevalence) + noise)


def _noise_variance(epsilon: float) -> float:
    return exp(epsilon) / (exp(epsilon) - 1) ** 2


def _logistic(scores: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-scores)))


def _report_probabilities(b: Numbers, x: Numbers, y: Any, matrix: Numbers) -> Numbers:
    share = _logistic(x @ b)
    return np.asarray(matrix[0, y] * (1 - share) + matrix[1, y] * share)


def _share_following(moon: Any) -> float:
    return float((0.5 - np.mean(moon)) / 0.25)


def _yes(share: float) -> float:
    """Return the probability of a yes report with two coins."""
    return 1 / 4 + share / 2


def _predicted(yes: float, n: int, spread: float) -> Numbers:
    return np.array([n * yes - spread, n * yes + spread])


SURVEY_MISTAKES: dict[str, tuple[Mistake, ...]] = {
    "my_warner": (
        Mistake(lambda _, p, rng: [1 - p, 1 - p], "Reports are turned around with probability p. It must be 1 - p."),
        Mistake(
            lambda _, p, rng: [(1 + p) / 2, (1 + p) / 2],
            "If the truth is not reported, report the opposite, not a random answer.",
        ),
        Mistake(lambda *_: [1, 1], "No report was turned around: draw one random number for each answer."),
        Mistake(lambda *_: [0, 0], "All reports were turned around: draw one random number for each answer."),
        Mistake(lambda _, p, rng: [1, p], "Only those who mean no are randomized. Turn the yes around as well."),
        Mistake(lambda _, p, rng: [p, 1], "Only those who mean yes are randomized. Turn the no around as well."),
        Mistake(lambda *_: [2 / 3, 2 / 3], "The probability is always 2/3. Use p."),
    ),
    "my_estimate": (
        Mistake(np.linalg.solve, "x P = r has the rows of P as columns: transpose the matrix before solving."),
        Mistake(
            lambda matrix, reported: reported @ matrix, "This randomizes the reports once more. Solve for x instead."
        ),
        Mistake(lambda matrix, reported: matrix @ reported, "This multiplies by the matrix. Solve for x instead."),
        Mistake(
            lambda matrix, reported: reported, "These are the shares of the reports. Solve for those of the truth."
        ),
    ),
    "my_times": (
        Mistake(
            lambda s, f, x: _report_variance(s, f, x) / (s - f) / (x * (1 - x)),
            "A variance is divided by the square of s - f.",
        ),
        Mistake(
            lambda s, f, x: _report_variance(s, f, x) / (s - f) ** 2,
            "This is the variance. Divide it by that of asking directly, x (1 - x).",
        ),
        Mistake(
            lambda s, f, x: _report_variance(s, f, x) / (x * (1 - x)),
            "This is the variance of a report. Divide it by (s - f) squared.",
        ),
        Mistake(
            lambda s, f, x: 1 / (s - f) ** 2,
            "This uses the variance of the truth. Reports vary with y (1 - y), where y = f + (s - f) x.",
        ),
        Mistake(
            lambda s, f, x: s * x * (1 - s * x) / (s - f) ** 2 / (x * (1 - x)),
            "A yes also comes from people who did not do it: y = f + (s - f) x.",
        ),
        Mistake(
            lambda s, f, x: x * (1 - x) * (s - f) ** 2 / _report_variance(s, f, x),
            "This is upside down: how many times as many people does the design need?",
        ),
    ),
    "my_limit": (
        Mistake(lambda before, after: np.log(after / before), "This compares beliefs. Compare odds."),
        Mistake(
            lambda before, after: exp(_log_odds(after) - _log_odds(before)),
            "This is the factor between the odds. Epsilon is its logarithm.",
        ),
        Mistake(
            lambda before, after: _log_odds(before) - _log_odds(after),
            "The sign is wrong: divide the odds after by the odds before.",
        ),
        Mistake(lambda before, after: after - before, "This is a difference. Epsilon is the logarithm of a ratio."),
    ),
    "my_belief": (
        Mistake(
            lambda before, epsilons: before * exp(sum(epsilons)),
            "The odds are multiplied, not the belief: turn the belief into odds first.",
        ),
        Mistake(
            lambda before, epsilons: exp(_log_odds(before) + sum(epsilons)),
            "These are the odds. A belief is odds / (1 + odds).",
        ),
        Mistake(
            lambda before, epsilons: _logistic(np.array(_log_odds(before) + max(epsilons))),
            "Only the largest epsilon counts here. Every report multiplies the odds.",
        ),
        Mistake(
            lambda before, epsilons: _logistic(np.array(_log_odds(before) + sum(epsilons) / len(epsilons))),
            "This uses the mean of the epsilons. They add up.",
        ),
        Mistake(
            lambda before, epsilons: _logistic(np.array(_log_odds(before) + np.log(sum(epsilons)))),
            "The odds are multiplied by e to the power of epsilon, not by epsilon.",
        ),
        Mistake(
            lambda before, epsilons: _logistic(np.array(_log_odds(before) - sum(epsilons))),
            "A yes makes the belief larger: multiply the odds, do not divide them.",
        ),
    ),
    "my_people": (
        Mistake(
            lambda share, m, e: np.floor(_people_needed(share, m, _noise_variance(e))),
            "Round up: with one person fewer the margin is too wide.",
        ),
        Mistake(lambda share, m, e: _people_needed(share, m, _noise_variance(e)), "People are whole: round up."),
        Mistake(
            lambda share, m, e: np.ceil(_people_needed(share, m, 0)),
            "This is a survey without randomization. Add the variance of the noise.",
        ),
        Mistake(
            lambda share, m, e: np.ceil((1.959964 / m) ** 2 * _noise_variance(e)),
            "This is the variance of the noise alone. Add the variance of sampling, share (1 - share).",
        ),
        Mistake(
            lambda share, m, e: np.ceil(1.959964 / m * (share * (1 - share) + _noise_variance(e))),
            "1.96 / m must be squared.",
        ),
        Mistake(
            lambda share, m, e: np.ceil((1 / m) ** 2 * (share * (1 - share) + _noise_variance(e))),
            "The margin is 1.96 standard errors, not one.",
        ),
        Mistake(
            lambda share, m, e: np.ceil(_people_needed(share, m, 1 / (exp(e) - 1) ** 2)),
            "The variance of the noise has exp(epsilon) as its numerator.",
        ),
        Mistake(
            lambda share, m, e: np.ceil((1.96 / 1.959964) ** 2 * _people_needed(share, m, _noise_variance(e))),
            "Use 1.959964; with 1.96 this is one person too many.",
        ),
    ),
    "my_log_likelihood": (
        Mistake(
            lambda b, x, y, matrix: np.log(np.where(y == 1, _logistic(x @ b), 1 - _logistic(x @ b))).sum(),
            "This takes each report for the truth. A report has probability P[no, y] (1 - share) + P[yes, y] share.",
        ),
        Mistake(
            lambda b, x, y, matrix: np.log(_report_probabilities(b, x, y, matrix.T)).sum(),
            "Rows of the matrix are truths and columns reports: matrix[0, y], not matrix[y, 0].",
        ),
        Mistake(
            lambda b, x, y, matrix: np.log(_report_probabilities(b, x, y, matrix[::-1])).sum(),
            "The two truths are exchanged: row 1 of the matrix belongs to the share, row 0 to 1 - share.",
        ),
        Mistake(
            lambda b, x, y, matrix: np.log(_report_probabilities(-b, x, y, matrix)).sum(),
            "The sign in the exponent is wrong: the share is 1 / (1 + exp(-x b)).",
        ),
        Mistake(
            lambda b, x, y, matrix: np.log(_report_probabilities(b, x, y, matrix)).mean(),
            "This is the mean of the logarithms. Chances of all people multiply, so logarithms add up.",
        ),
        Mistake(
            lambda b, x, y, matrix: np.log(_report_probabilities(b, x, y, matrix).sum()),
            "This is the logarithm of a sum. Take the logarithm of each chance, then add.",
        ),
        Mistake(
            lambda b, x, y, matrix: _report_probabilities(b, x, y, matrix).prod(),
            "This is a product, and too small for the computer. Add the logarithms.",
        ),
        Mistake(
            lambda b, x, y, matrix: -np.log(_report_probabilities(b, x, y, matrix)).sum(),
            "The sign is wrong: the logarithm of a chance is negative.",
        ),
    ),
    "my_corrected": (
        Mistake(lambda reports, moon: 2 * np.mean(reports) - 0.5, "This is x. It must still be corrected by g."),
        Mistake(
            lambda reports, moon: (2 * np.mean(reports) - 0.5) / _share_following(moon),
            "Divide the distance from one half by g, not the share itself.",
        ),
        Mistake(
            lambda reports, moon: 0.5 + (2 * np.mean(reports) - 1) / np.mean(moon),
            "g is not the share of yes to the moon: that is 1/4 if all follow, and 1/2 if nobody does.",
        ),
        Mistake(
            lambda reports, moon: 0.5 + (2 * np.mean(reports) - 1) / (1 - _share_following(moon)),
            "This divides by the share who do not follow. Divide by the share who do.",
        ),
        Mistake(
            lambda reports, moon: 0.5 + (np.mean(reports) - 0.5) / _share_following(moon),
            "The coins are not undone: first x = 2 times the share of yes, less one half.",
        ),
        Mistake(
            lambda reports, moon: 0.5 + (2 * np.mean(reports) - 1) * _share_following(moon),
            "Random answers have pulled x towards one half. Divide by g to undo it.",
        ),
    ),
    "my_prediction": (
        Mistake(
            lambda share, n: _predicted(share, n, 1.96 * sqrt(n * share * (1 - share))),
            "These are people who have copied, not reports. A report is yes with probability 1/4 + share / 2.",
        ),
        Mistake(
            lambda share, n: _predicted(_yes(share), n, 1.96 * sqrt(n * share * (1 - share))),
            "Reports vary with y (1 - y), where y = 1/4 + share / 2: the coins add variance.",
        ),
        Mistake(
            lambda share, n: _predicted(_yes(share), n, 1.96 * n * sqrt(_yes(share) * (1 - _yes(share)))),
            "The variances of n reports add up, not their standard deviations: take the root of n y (1 - y).",
        ),
        Mistake(
            lambda share, n: _predicted(_yes(share), n, 1.96 * n * _yes(share) * (1 - _yes(share))),
            "This is 1.96 times the variance. The standard deviation is its root.",
        ),
        Mistake(
            lambda share, n: _predicted(_yes(share), n, sqrt(n * _yes(share) * (1 - _yes(share)))),
            "This is one standard deviation, and only two classes in three stay within it. Take 1.96.",
        ),
        Mistake(
            lambda share, n: _predicted(_yes(share), n, 2 * sqrt(n * _yes(share) * (1 - _yes(share)))),
            "Use 1.96 standard deviations, not 2.",
        ),
        Mistake(
            lambda share, n: _predicted(_yes(share), n, 1.96 * sqrt(n * _yes(share) * (1 - _yes(share)))) / n,
            "These are shares. Multiply them by n to get numbers of reports.",
        ),
        Mistake(
            lambda share, n: _predicted(share, n, 2 * 1.96 * sqrt(n * _yes(share) * (1 - _yes(share)))),
            "This predicts the estimate. Predict the reports: y = 1/4 + share / 2 of them are yes.",
        ),
    ),
}
"""The known mistakes by name of the function; if two give the same result, the first one is reported."""
