"""The most likely mistakes in the functions that students write, each with the step that went wrong.

A mistake is stored as a wrong version of the function, and `attempt` recognizes it by its result. Results of functions
that draw random numbers are compared by a few statistics; their wrong versions return the expected statistics.
"""

# ruff: noqa: ARG005 — a wrong version takes all arguments of the function, but may ignore some.

from collections.abc import Callable
from functools import partial
from math import exp, log, nan, pi, sqrt
from typing import Any

import numpy as np

from toolkit.teaching.survey_mistakes import SURVEY_MISTAKES, Mistake, Numbers


def find_mistake(name: str, result: Numbers, expected: Numbers, arguments: tuple[Any, ...]) -> Mistake | None:
    """Return the known mistake that gives the same result as a student's function; None if the result is right."""
    if name in STATISTICS and result.shape != expected.shape:
        return None
    observed = _summarize(name, result, arguments)
    if _statistics_agree(name, observed, _summarize(name, expected, arguments)):
        return None
    for mistake in MISTAKES.get(name, ()):
        with np.errstate(all="ignore"):
            wrong_result = np.asarray(mistake.wrong_version(*arguments), dtype=float)
        if _statistics_agree(name, observed, wrong_result):
            return mistake
    return None


def results_agree(
    name: str, result: Numbers, expected: Numbers, arguments: tuple[Any, ...], rtol: float = 1e-9
) -> bool:
    """Return whether a function's result equals the expected one, up to `rtol` or up to random variation."""
    if result.shape != expected.shape:
        return False
    return _statistics_agree(name, _summarize(name, result, arguments), _summarize(name, expected, arguments), rtol)


def _statistics_agree(name: str, observed: Numbers, expected: Numbers, rtol: float = 1e-9) -> bool:
    if observed.shape != expected.shape:
        return False
    rtol, atol = (0.03, _TOLERANCES[name]) if name in STATISTICS else (rtol, 1e-12)
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


def _least_squares(groups: Numbers, answers: Numbers) -> Numbers:
    return np.asarray(np.linalg.lstsq(groups.astype(float), answers)[0])


def _probability_ratios(first: dict[Any, Any], second: dict[Any, Any]) -> Numbers:
    return np.array([float(first[output] / second[output]) for output in first])


def _softmax(exponents: Numbers) -> Numbers:
    weights = np.exp(exponents - exponents.max())
    return np.asarray(weights / weights.sum())


def _laplace_statistics(factor: float) -> list[float]:
    return [factor, 0, exp(-3 / factor), 1]


def _log_density(z: Numbers, a: float, c: float) -> Numbers:
    return np.asarray(-a * np.log1p(np.abs(z) / c))


def _tree_blocks(counts: Any, noise: Any) -> list[tuple[int, float]]:
    """Return, for each week, the length of the block that it completes and the noisy sum of the block."""
    sizes = [week & -week for week in range(1, len(counts) + 1)]
    return [(size, sum(counts[week - size : week]) + noise[week - 1]) for week, size in enumerate(sizes, 1)]


def _audit_bounds(outcomes: Numbers, cuts: Numbers, errors: float = 4) -> Numbers:
    """Return, for each event "below the cut", the log ratio of its counts minus some standard errors."""
    a, b = (np.array([np.sum(row < cut) for cut in cuts]) for row in outcomes)
    return np.asarray(np.log(a / b) - errors * np.sqrt(1 / a + 1 / b - 2 / outcomes.shape[1]))


def _audit(search: Numbers, fresh: Numbers, cuts: Numbers, chosen_by: float = 4, errors: float = 4) -> float:
    return float(_audit_bounds(fresh, cuts, errors)[np.argmax(_audit_bounds(search, cuts, chosen_by))])


def _clipped_rows(gradients: Numbers, limit: float) -> Numbers:
    return np.asarray(gradients / np.maximum(np.linalg.norm(gradients, axis=1, keepdims=True) / limit, 1))


def _step_noise(limit: float, rho: float, normal: Numbers) -> Numbers:
    return np.asarray(2 * limit / np.sqrt(2 * rho) * normal)


def _finest_table(n: int, sizes: Numbers, epsilon: float, share: float, factor: float = 2 * log(20)) -> float:
    """Return the largest number of cells whose margin, a factor divided by epsilon, is a small share of a cell."""
    return float(np.max(sizes, where=factor / epsilon <= share * n / np.asarray(sizes), initial=-1))


MISTAKES: dict[str, tuple[Mistake, ...]] = {
    **SURVEY_MISTAKES,
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
    "my_audit": (
        Mistake(
            lambda search, fresh, cuts: _audit_bounds(search, cuts).max(),
            "The largest of many bounds is partly luck. Return the bound of the same event in the fresh outcomes.",
        ),
        Mistake(
            lambda search, fresh, cuts: _audit_bounds(fresh, cuts).max(),
            "The fresh outcomes choose the event here, so luck is counted again. They may test one event only.",
        ),
        Mistake(
            lambda search, fresh, cuts: _audit(search, fresh, cuts, chosen_by=0),
            "Rare events have the largest ratios, by luck. Choose the event with the largest bound.",
        ),
        *(
            Mistake(partial(_audit, chosen_by=chosen_by, errors=errors), reason)
            for errors, reason in (
                (0, "This is an estimate, and too large half of the time. A bound is four standard errors lower."),
                (-4, "This is an upper bound. Only a lower bound refutes a claim: subtract the four standard errors."),
                (1, "This subtracts one standard error, so one true claim in six is refuted. Subtract four."),
            )
            for chosen_by in (4, errors)
        ),
        Mistake(
            lambda search, fresh, cuts: exp(_audit(search, fresh, cuts)), "This is a ratio. Epsilon is its logarithm."
        ),
    ),
    "my_step": (
        Mistake(
            lambda g, limit, rho, normal: (
                (limit * g / np.linalg.norm(g, axis=1, keepdims=True)).sum(axis=0) + _step_noise(limit, rho, normal)
            ),
            "Short rows were made longer. Shorten the rows that are longer than the limit, and keep the others.",
        ),
        Mistake(
            lambda g, limit, rho, normal: np.clip(g, -limit, limit).sum(axis=0) + _step_noise(limit, rho, normal),
            "Each entry is clipped here, so a row of many entries is still too long. Clip the length of each row.",
        ),
        Mistake(
            lambda g, limit, rho, normal: (
                _clipped_rows(g.sum(axis=0, keepdims=True), limit)[0] + _step_noise(limit, rho, normal)
            ),
            "The sum is clipped here, which erases nearly everybody. Clip each row, then add up.",
        ),
        Mistake(
            lambda g, limit, rho, normal: g.sum(axis=0) + _step_noise(limit, rho, normal),
            "Nothing is clipped, so one long row moves the sum by more than the noise hides.",
        ),
        Mistake(
            lambda g, limit, rho, normal: _clipped_rows(g, limit).sum(axis=0) + _step_noise(limit, rho, normal) / 2,
            "A replaced person takes one row away and brings another: the sum moves by 2 limit, not by limit.",
        ),
        Mistake(
            lambda g, limit, rho, normal: _clipped_rows(g, limit).sum(axis=0) + _step_noise(1, rho, normal),
            "The noise must grow with the limit: a person moves the sum by up to 2 limit.",
        ),
        Mistake(
            lambda g, limit, rho, normal: _clipped_rows(g, limit).sum(axis=0) + 2 * limit / (2 * rho) * normal,
            "The root is missing: the standard deviation is 2 limit / sqrt(2 rho).",
        ),
        Mistake(
            lambda g, limit, rho, normal: _clipped_rows(g, limit).mean(axis=0) + _step_noise(limit, rho, normal),
            "This is the mean of the rows, with noise for their sum. Add the rows up.",
        ),
        Mistake(
            lambda g, limit, rho, normal: _clipped_rows(g, limit).sum(axis=0),
            "There is no noise in this sum. Clipping alone hides nobody.",
        ),
    ),
    "my_table": (
        Mistake(
            lambda n, sizes, e, share: _finest_table(n, sizes, e, share, factor=log(20)),
            "Who moves changes two cells: the scale is 2 / epsilon.",
        ),
        Mistake(
            lambda n, sizes, e, share: sqrt(_finest_table(n, np.square(sizes), e, share)),
            "This divides epsilon among the cells. A table is one charge, however many cells it has.",
        ),
        Mistake(
            lambda n, sizes, e, share: np.min(sizes),
            "This is the coarsest table. Choose the finest of those that are precise enough.",
        ),
        Mistake(
            lambda n, sizes, e, share: np.max(sizes),
            "This is the finest of all tables. The margin must be compared with a cell of average size, n / cells.",
        ),
        Mistake(
            lambda n, sizes, e, share: _finest_table(n, sizes, e, share, factor=2),
            "This takes the scale as the margin, and more than a third of the cells exceed it. Multiply by ln 20.",
        ),
        Mistake(
            lambda n, sizes, e, share: _finest_table(n, sizes, e, share, factor=2 * sqrt(2)),
            "This takes the standard deviation as the margin, and a quarter of the cells exceed it. Use ln 20 scales.",
        ),
        Mistake(
            lambda n, sizes, e, share: _finest_table(n, sizes, e, share, factor=1.96 * 2 * sqrt(2)),
            "1.96 standard deviations are for normal noise. Laplace noise is within ln 20 scales 19 times in 20.",
        ),
    ),
}
"""The known mistakes by name of the function; if two give the same result, the first one is reported."""
