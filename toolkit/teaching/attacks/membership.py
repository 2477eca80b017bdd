"""Membership inference from a mean, a table of frequencies, or a classifier: was this person in the data?

The statistic is Q_i = mean . x_i. For a person in the data, the statistic is larger by |x_i|**2 / n on average. The
power of the attack therefore depends on the number of columns divided by the number of people.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.audit.bounds import advantage
from toolkit.audit.running import protocol, unwrap_estimate
from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import check_integer, float_array, reject
from toolkit.core.extras import chunks
from toolkit.core.inference.special import ndtr
from toolkit.core.randomness import Rng, check_rng
from toolkit.teaching.attacks.equivalence_classes import read_without_quoting


@dataclass(frozen=True, eq=False)
class Roc:
    """A ROC curve: hits against false alarms at all thresholds.

    Parameters
    ----------
    false_alarms : Array
        Shares of outsiders above each threshold.
    hits : Array
        Shares of members above each threshold.
    area : float
        The probability that a member scores above an outsider.

    Examples
    --------
    >>> Roc(np.array([0.0, 1.0]), np.array([0.5, 1.0]), 0.75).area
    0.75
    """

    false_alarms: Array
    hits: Array
    area: float

    @property
    def advantage(self) -> float:
        """The largest difference between hits and false alarms, at the best threshold for these scores."""
        return float(np.max(self.hits - self.false_alarms))


def roc(members: ArrayLike, outsiders: ArrayLike) -> Roc:
    """Compute the ROC curve of a score that is higher for members; ties count one half.

    Parameters
    ----------
    members : array-like
        The scores of members.
    outsiders : array-like
        The scores of outsiders.

    Returns
    -------
    Roc
        The curve.

    Examples
    --------
    >>> roc([3, 2], [1, 2]).area
    0.875
    """
    member_scores, outsider_scores = float_array(members, "members"), float_array(outsiders, "outsiders")
    if not len(member_scores) or not len(outsider_scores):
        reject(
            "there must be members and outsiders",
            f"{len(member_scores)} and {len(outsider_scores)}",
            "give at least one score of each",
        )
    if np.isnan(member_scores).any() or np.isnan(outsider_scores).any():
        reject("scores must be numbers", "NaN", "drop the people without a score")
    levels = np.unique(np.concatenate([member_scores, outsider_scores]))[::-1]
    hits = 1 - np.searchsorted(np.sort(member_scores), levels) / len(member_scores)
    alarms = 1 - np.searchsorted(np.sort(outsider_scores), levels) / len(outsider_scores)
    hits, alarms = np.concatenate([[0.0], hits]), np.concatenate([[0.0], alarms])
    return Roc(alarms, hits, float(np.trapezoid(hits, alarms)))


def _broadcast_to_columns(values: ArrayLike, name: str, rows: Array) -> Array:
    """Broadcast numbers to the columns of a table; a single number applies to all columns."""
    numbers, width = float_array(values, name), rows.shape[-1:]
    if numbers.shape not in ((), width):
        reject(f"`{name}` must be one number for each column of the people", numbers.shape, f"these are {rows.shape}")
    return np.broadcast_to(numbers, width)


def _check_frequencies(frequencies: Array) -> Array:
    if not np.all((frequencies > 0) & (frequencies < 1)):
        reject("`frequencies` must lie between 0 and 1", "others", "drop columns in which all people are equal")
    return frequencies


def inner_product(mean: ArrayLike, people: ArrayLike, frequencies: ArrayLike | None = None) -> Array:
    """Compute Q_i = mean . x_i for each row.

    The centered form is the sum of (mean_j - p_j) (x_ij - p_j) / (p_j (1 - p_j)) for columns of 0 and 1.

    Parameters
    ----------
    mean : array-like
        The released mean.
    people : array-like
        A row per person.
    frequencies : array-like, optional
        The frequencies in the population, by which the mean and the rows are centered and scaled.

    Returns
    -------
    Array
        A score per person.

    Examples
    --------
    >>> inner_product([0.5, 1.0], [[1, 1], [0, 1]])
    array([1.5, 1. ])
    """
    rows = float_array(people, "people")
    mean_by_column = _broadcast_to_columns(mean, "mean", rows)
    if frequencies is None:
        return np.asarray(rows @ mean_by_column)
    p = _check_frequencies(_broadcast_to_columns(frequencies, "frequencies", rows))
    return np.asarray((rows - p) @ ((mean_by_column - p) / (p * (1 - p))))


def inner_product_area(d: int, n: int, *, kurtosis: float = 0.0, noise_variance: float = 0.0) -> float:
    """Compute the theoretical area under the curve of Q_i, for independent columns of variance 1.

    The area is Phi(d/n / sqrt(v_in + v_out)). Outsiders have variance v_out = d (1/n + s), and members have variance
    v_in = d ((n-1)/n**2 + s) + d kurtosis / n**2. Here s is the variance of the noise in each mean, and `kurtosis` is
    the variance of a squared entry (0 for +1 and -1, 2 for normal entries).

    Parameters
    ----------
    d : int
        The number of columns.
    n : int
        The number of people.
    kurtosis : float
        The variance of a squared entry.
    noise_variance : float
        The variance of the noise in each mean.

    Returns
    -------
    float
        The area.

    Examples
    --------
    >>> round(inner_product_area(200, 100), 3)
    0.842
    """
    member_variance = d * ((n - 1) / n**2 + kurtosis / n**2 + noise_variance)
    return float(ndtr(d / n / np.sqrt(member_variance + d * (1 / n + noise_variance))))


def fit(features: ArrayLike, labels: ArrayLike, *, ridge: float = 0.0) -> Array:
    """Fit a linear classifier by (ridge) least squares, such as a hospital might publish.

    Parameters
    ----------
    features : array-like
        A row per person.
    labels : array-like
        -1 or 1 per person.
    ridge : float
        The penalty.

    Returns
    -------
    Array
        The weights.

    Examples
    --------
    >>> fit([[1.0, 0.0], [0.0, 1.0]], [1, -1]).tolist()
    [1.0, -1.0]
    """
    x, y = float_array(features, "features"), float_array(labels, "labels")
    if x.ndim != 2 or y.shape != x.shape[:1]:
        reject(
            "`labels` must have one entry per row of `features`",
            f"{y.shape} for {x.shape}",
            "give as many labels as rows",
        )
    try:
        return np.asarray(np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ y))
    except np.linalg.LinAlgError:
        reject("columns of `features` must be independent", "others", "write ridge=1")


def simulate(d: int, n: int, mechanism: object = None, *, studies: int = 20, rng: Rng = None) -> float:
    """Compute the area under the curve of Q_i in simulated studies with columns of +1 and -1.

    Parameters
    ----------
    d : int
        The number of columns.
    n : int
        The number of people.
    mechanism : object, optional
        An object with `release(value, rng)` or a function of the mean; None releases the mean without noise.
    studies : int
        The number of studies.
    rng : Generator, optional
        A generator for simulations; by default, a new generator.

    Returns
    -------
    float
        The mean area.

    Examples
    --------
    >>> simulate(200, 50, rng=np.random.default_rng(1)) > 0.85
    True
    """
    source, areas = check_rng(rng) or np.random.default_rng(), []
    for _ in chunks(check_integer(studies, "studies"), 1, "simulating studies"):
        people = source.choice([-1.0, 1.0], (2 * n, d))
        release: Any = people[:n].mean(axis=0)
        if mechanism is not None:
            release = protocol(mechanism)[0](release, source)
        scores = inner_product(unwrap_estimate(release), people)
        areas.append(roc(scores[:n], scores[n:]).area)
    return float(np.mean(areas))


def promised_advantage(epsilon: float, delta: float = 0.0) -> float:
    """Compute the largest advantage that any membership attack can have under differential privacy.

    Parameters
    ----------
    epsilon : float
        The epsilon of the claim.
    delta : float
        The delta of the claim.

    Returns
    -------
    float
        The advantage.

    Examples
    --------
    >>> round(promised_advantage(1.0), 3)
    0.462
    """
    return advantage(epsilon, delta)


# Membership in a training set: a canary is added to the data or not, and the model scores it. If the model is a
# deterministic function of its data, the scores with and without the canary differ, so a single query reveals the
# canary. Differential privacy bounds the advantage of any such attack; see `promised_advantage`.


def _canary_scores(
    learn: Callable[[Any, Any], Any], rows: ArrayLike, labels: ArrayLike, canary: tuple[Any, Any], *, games: int
) -> tuple[list[float], list[float]]:
    """Return the canary's scores under models that were trained with it and under models that were not."""
    row, label = canary
    table, classes = float_array(rows, "rows").copy(), read_without_quoting(lambda: np.array(labels))
    if table.ndim != 2 or len(classes) != len(table) or np.shape(row) != table.shape[1:]:
        rule = "`rows` must be a table, `labels` one for each row, the canary a row and a label"
        reject(rule, "others", "give a canary with as many columns as the rows: canary=(row, label)")
    # The canary replaces the first row, so the two tables are neighbors under "replace".
    canary_table, canary_classes = table.copy(), classes.copy()
    canary_table[0], canary_classes[0] = row, label
    member_scores: list[float] = []
    outsider_scores: list[float] = []
    for _ in chunks(check_integer(games, "games"), 1, "training models"):
        for scores, data in ((member_scores, (canary_table, canary_classes)), (outsider_scores, (table, classes))):
            model = learn(*data)
            sign = 1 if label == model.classes_[1] else -1
            scores.append(sign * float(model.decision_function([row])[0]))
    return member_scores, outsider_scores


def canary_game(
    learn: Callable[[Any, Any], Any], rows: ArrayLike, labels: ArrayLike, canary: tuple[Any, Any], *, games: int = 50
) -> Roc:
    """Estimate how well the score of a model reveals whether the canary was in its training data.

    Parameters
    ----------
    learn : callable
        `learn(rows, labels)` fits a new classifier.
    rows : array-like
        A row per person.
    labels : array-like
        A label per person.
    canary : tuple
        A row and its label, which replace the first row in half of the models.
    games : int
        The number of models with the canary, and of models without it.

    Returns
    -------
    Roc
        The curve over all thresholds.

    Examples
    --------
    >>> class Mean:
    ...     classes_ = (0, 1)
    ...
    ...     def __init__(self, X, y):
    ...         self.mean = X[y == 1].mean()
    ...
    ...     def decision_function(self, rows):
    ...         return [row[0] * self.mean for row in rows]
    >>> canary_game(Mean, [[1.0], [2.0]], [1, 1], ([9.0], 1), games=2).area
    1.0
    """
    return roc(*_canary_scores(learn, rows, labels, canary, games=games))
