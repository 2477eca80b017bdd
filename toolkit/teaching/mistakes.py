"""The most likely mistakes in the functions that students write, each with the step that went wrong.

A mistake is stored as a wrong version of the function, and `attempt` recognizes it by its result. Results of functions
that draw random numbers are compared by a few statistics; their wrong versions return the expected statistics.
"""

# ruff: noqa: ARG005 — a wrong version takes all arguments of the function, but may ignore some.

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, nan, pi, sqrt
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


def find_mistake(name: str, result: Numbers, expected: Numbers, arguments: tuple[Any, ...]) -> Mistake | None:
    """Return the known mistake that gives the same result as a student's function; None if the result is right."""
    if name in STATISTICS and result.shape != expected.shape:
        return None
    observed = _summarize(name, result, arguments)
    if _results_agree(name, observed, _summarize(name, expected, arguments)):
        return None
    for mistake in MISTAKES.get(name, ()):
        with np.errstate(all="ignore"):
            wrong_result = np.asarray(mistake.wrong_version(*arguments), dtype=float)
        if _results_agree(name, observed, wrong_result):
            return mistake
    return None


def _results_agree(name: str, observed: Numbers, expected: Numbers) -> bool:
    """Return whether two results are equal: up to rounding or, for a random function, up to random variation."""
    if observed.shape != expected.shape:
        return False
    rtol, atol = (0.03, _TOLERANCES[name]) if name in STATISTICS else (1e-9, 1e-12)
    near = np.abs(observed - expected) <= atol + rtol * np.abs(expected)
    return bool(np.all(np.isnan(expected) | near | (observed == expected)))


def _summarize(name: str, result: Any, arguments: tuple[Any, ...]) -> Numbers:
    """Return the statistics of a random function's result; for any other function, the result itself."""
    statistics = STATISTICS.get(name)
    return np.asarray(statistics(result, *arguments) if statistics else result, dtype=float)


def _truthful_shares(reports: Any, answers: Any, *_: Any) -> list[float]:
    """Return the shares of truthful reports among people whose answer is yes and among those whose answer is no."""
    same = np.asarray(reports) == answers
    return [float(same[answers].mean()), float(same[~answers].mean())]


def _noise_statistics(noisy: Any, value: Any, sensitivity: float, epsilon: float, *_: Any) -> list[float]:
    """Return four statistics of the noise in units of its scale.

    They are the mean absolute value, the mean, the share of values beyond 3 and the share of distinct values.
    """
    noise = (np.asarray(noisy) - value) * epsilon / sensitivity
    sizes = np.abs(noise)
    distinct = np.unique(sizes.round(9)).size / sizes.size
    return [float(sizes.mean()), float(noise.mean()), float((sizes > 3).mean()), distinct]


def _vector_statistics(vectors: Any, d: int, epsilon: float, *_: Any) -> list[float]:
    """Return statistics of random vectors that distinguish incorrect noise from correct noise.

    They are the mean and the standard deviation of epsilon times the norm, the largest mean of a coordinate of the
    direction, and the share of coordinates of the direction between -1/2 and 1/2. This share is one half in three
    dimensions, because there each coordinate of a uniform direction is uniform between -1 and 1 (Archimedes).
    """
    vectors = np.reshape(vectors, (-1, d))
    lengths = np.linalg.norm(vectors, axis=1)
    with np.errstate(invalid="ignore"):
        directions = vectors / lengths[:, None]
    largest = float(np.abs(directions.mean(axis=0)).max())
    central = float((np.abs(directions) < 1 / 2).mean())
    return [float(lengths.mean() * epsilon), float(lengths.std() * epsilon), largest, central]


STATISTICS: dict[str, Callable[..., list[float]]] = {
    "my_warner": _truthful_shares,
    "my_laplace": _noise_statistics,
    "my_vector": _vector_statistics,
}
"""Functions that return the statistics by which results of random functions are compared."""

_TOLERANCES = {"my_warner": (0.01, 0.01), "my_laplace": (0.03, 0.2, 0.01, 0.3), "my_vector": (0.2, 0.3, 0.1, 0.02)}


def _log_odds(belief: float) -> float:
    return float(np.log(belief / (1 - belief)))


def _least_squares(groups: Numbers, answers: Numbers) -> Numbers:
    return np.asarray(np.linalg.lstsq(groups.astype(float), answers)[0])


def _probability_ratios(first: dict[Any, Any], second: dict[Any, Any]) -> Numbers:
    return np.array([float(first[output] / second[output]) for output in first])


def _report_variance(s: float, f: float, share: float) -> float:
    yes = f + (s - f) * share
    return yes * (1 - yes)


def _people_needed(prevalence: float, margin: float, noise: float) -> float:
    return (1.959964 / margin) ** 2 * (prevalence * (1 - prevalence) + noise)


def _noise_variance(epsilon: float) -> float:
    return exp(epsilon) / (exp(epsilon) - 1) ** 2


def _softmax(exponents: Numbers) -> Numbers:
    weights = np.exp(exponents - exponents.max())
    return np.asarray(weights / weights.sum())


def _laplace_statistics(factor: float) -> list[float]:
    return [factor, 0, exp(-3 / factor), 1]


def _logistic(scores: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-scores)))


def _report_probabilities(b: Numbers, x: Numbers, y: Any, matrix: Numbers) -> Numbers:
    share = _logistic(x @ b)
    return np.asarray(matrix[0, y] * (1 - share) + matrix[1, y] * share)


def _log_density(z: Numbers, a: float, c: float) -> Numbers:
    return np.asarray(-a * np.log1p(np.abs(z) / c))


def _tree_blocks(counts: Any, noise: Any) -> list[tuple[int, float]]:
    """Return, for each week, the length of the block that it completes and the noisy sum of the block."""
    sizes = [week & -week for week in range(1, len(counts) + 1)]
    return [(size, sum(counts[week - size : week]) + noise[week - 1]) for week, size in enumerate(sizes, 1)]


def _share_following(moon: Any) -> float:
    return float((0.5 - np.mean(moon)) / 0.25)


MISTAKES: dict[str, tuple[Mistake, ...]] = {
    "my_attack": (
        Mistake(_least_squares, "These are numbers still. Compare each with one half."),
        Mistake(lambda g, a: _least_squares(g, a) > 0, "The threshold is one half, not zero."),
        Mistake(lambda g, a: _least_squares(g, a) < 0.5, "Above one half is a yes; these are the people below it."),
        Mistake(
            lambda g, a: (g.T @ a) / g.sum(axis=0) > np.mean(a),
            "The groups overlap, so one person's sums are not enough: solve for all people at once.",
        ),
    ),
    "my_epsilon": (
        Mistake(
            lambda p, q: max(_probability_ratios(p, q).max(), 1 / _probability_ratios(p, q).min()),
            "This is the largest ratio. Epsilon is its logarithm.",
        ),
        Mistake(
            lambda p, q: np.log(_probability_ratios(p, q).max()),
            "This looks at first / second only. Look at second / first as well.",
        ),
        Mistake(
            lambda p, q: -np.log(_probability_ratios(p, q).min()),
            "This looks at second / first only. Look at first / second as well.",
        ),
        Mistake(
            lambda p, q: np.abs(np.log(_probability_ratios(p, q))).sum(),
            "Epsilon is the largest logarithm over all outputs, not their sum.",
        ),
        Mistake(
            lambda p, q: max(abs(float(p[output] - q[output])) for output in p),
            "This is a difference of probabilities. Epsilon compares them by their ratio.",
        ),
        Mistake(
            lambda p, q: np.log2(max(_probability_ratios(p, q).max(), 1 / _probability_ratios(p, q).min())),
            "Take the natural logarithm, not the one to base 2.",
        ),
    ),
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
    "my_laplace": (
        Mistake(
            lambda value, s, e, rng: _laplace_statistics((e / s) ** 2),
            "The scale is upside down: divide the sensitivity by epsilon.",
        ),
        Mistake(
            lambda value, s, e, rng: _laplace_statistics(1 / s), "The scale must be multiplied by the sensitivity."
        ),
        Mistake(lambda value, s, e, rng: _laplace_statistics(e), "The scale must be divided by epsilon."),
        Mistake(
            lambda value, s, e, rng: _laplace_statistics(e**2), "The scale must be divided by epsilon, not multiplied."
        ),
        Mistake(
            lambda value, s, e, rng: [sqrt(2 / pi), 0, 0.0027, 1],
            "These are normal numbers: large ones are too rare. Draw exponential sizes.",
        ),
        Mistake(lambda *_: [nan, nan, nan, 1e-5], "All have the same size: draw one random size for each value."),
        Mistake(lambda *_: [1, 1, exp(-3), 1], "All noise is positive: each number needs a random sign."),
        Mistake(lambda *_: [1, -1, exp(-3), 1], "All noise is negative: each number needs a random sign of its own."),
        Mistake(
            lambda value, s, e, rng: [nan, float(-np.mean(value) * e / s), nan, 1],
            "This is the noise alone. Add it to the value.",
        ),
    ),
    "my_choice": (
        Mistake(lambda scores, s, e: _softmax(e * scores / s), "The exponent has a 2 below: epsilon / (2 S)."),
        Mistake(lambda scores, s, e: _softmax(e * scores / 2), "The exponent is divided by the sensitivity."),
        Mistake(
            lambda scores, s, e: _softmax(-e * scores / (2 * s)),
            "The worst wins here: a better score must have a larger weight.",
        ),
        Mistake(
            lambda scores, s, e: np.exp(e * (scores - scores.max()) / (2 * s)),
            "These are weights. Divide them by their sum, so that they are shares.",
        ),
        Mistake(
            lambda scores, s, e: np.exp(e * scores / (2 * s)),
            "These are weights. Divide them by their sum, so that they are shares.",
        ),
        Mistake(
            lambda scores, s, e: (scores == scores.max()).astype(float),
            "This always takes the best. Each score needs a weight, exp(epsilon score / (2 S)).",
        ),
    ),
    "my_vector": (
        Mistake(
            lambda *_: [3, sqrt(3), 0, 0.442],
            "Some directions are likelier than others: corners of a cube, for one. Normal numbers have no corners.",
        ),
        Mistake(
            lambda *_: [3, sqrt(3), 0, 0],
            "Only the corners of a cube are possible. Take the direction of a vector of normal numbers.",
        ),
        Mistake(
            lambda d, e, rng: [3 * e**2, sqrt(3) * e**2, 0, 0.5], "The length is divided by epsilon, not multiplied."
        ),
        Mistake(lambda d, e, rng: [3 * e, sqrt(3) * e, 0, 0.5], "The length must be divided by epsilon."),
        Mistake(lambda *_: [1, 1, 0, 0.5], "The length has a Gamma(d) law; this is an exponential one, Gamma(1)."),
        Mistake(lambda *_: [3, 0, 0, 0.5], "Every vector has the same length. Draw it: Gamma(d) / epsilon."),
        Mistake(
            lambda *_: [4.788, nan, 0, 0.5], "Divide the normal vector by its length: a direction has the length 1."
        ),
        Mistake(
            lambda *_: [2.289, nan, 0, 0.535],
            "Each coordinate has its own Laplace noise here. Draw one direction and one length.",
        ),
        Mistake(
            lambda *_: [nan, nan, 0.5, nan],
            "All coordinates are positive, so half of space is never reached: take normal numbers with their signs.",
        ),
    ),
    "my_log_likelihood": (
        Mistake(
            lambda b, x, y, matrix: np.log(np.where(y == 1, _logistic(x @ b), 1 - _logistic(x @ b))).sum(),
            "This takes each report for the truth. A report has the chance P[no, y] (1 - share) + P[yes, y] share.",
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
    "my_log_ratio": (
        Mistake(
            lambda z, t, a, c: _log_density(z, a, c) - _log_density(z - 1, a, c * exp(t)),
            "The second density is divided by e^t: subtract t from its logarithm.",
        ),
        Mistake(
            lambda z, t, a, c: _log_density(z - 1, a, c * exp(t)) - t - _log_density(z, a, c),
            "This is the second divided by the first.",
        ),
        Mistake(
            lambda z, t, a, c: np.exp(_log_density(z, a, c) - _log_density(z - 1, a, c * exp(t)) + t),
            "This is the ratio. Its logarithm is needed.",
        ),
        Mistake(
            lambda z, t, a, c: _log_density(z, a, c) - _log_density(z - 1, a, c) + t,
            "The neighbor's noise is wider: divide z - 1 by e^t.",
        ),
        Mistake(
            lambda z, t, a, c: _log_density(z, a, c) - _log_density(z, a, c * exp(t)) + t,
            "The neighbor's median is 1 higher: its noise is z - 1.",
        ),
        Mistake(
            lambda z, t, a, c: _log_density(z, a, c) - _log_density(z - 1, a, c * exp(t)) - t,
            "The second density is divided by e^t, which makes its logarithm smaller by t and the difference larger.",
        ),
    ),
    "my_totals": (
        Mistake(
            lambda counts, noise: np.add(np.cumsum(counts), noise),
            "Each total has noise of its own here. The blocks get it, and a total keeps that of its blocks.",
        ),
        Mistake(
            lambda counts, noise: np.cumsum(np.add(counts, noise)),
            "Each week's noise is in every later total. A total is the last block and the total before the block.",
        ),
        Mistake(
            lambda counts, noise: [total for _, total in _tree_blocks(counts, noise)],
            "These are the blocks. Add the total of the weeks before the block.",
        ),
        Mistake(
            lambda counts, noise: np.cumsum([total for _, total in _tree_blocks(counts, noise)]),
            "The block is added to last week's total, which holds some of its weeks already. Go back to before it.",
        ),
        Mistake(
            lambda counts, noise: np.cumsum(counts), "There is no noise in these totals. Each block gets noise once."
        ),
        Mistake(
            lambda counts, noise: [0, *np.cumsum(counts)],
            "The first number is the 0 from which you began. Leave it out.",
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
}
"""The known mistakes by name of the function; if two give the same result, the first one is reported."""
