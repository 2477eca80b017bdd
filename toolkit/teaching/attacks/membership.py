"""Was this person in the data? From nothing but a mean, a table of frequencies, or the weights of a classifier.

The statistic of the lecture is Q_i = mean . x_i. For a person in the data it is larger by |x_i|**2 / n on average, and
with enough columns that stands out of the noise: what counts is the number of columns divided by the number of people.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.audit.bounds import advantage
from toolkit.audit.running import protocol, value_of
from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import floats, refuse, whole
from toolkit.core.extras import chunks
from toolkit.core.inference.special import ndtr
from toolkit.core.randomness import Rng, check_rng
from toolkit.teaching.attacks.equivalence_classes import read_cells


@dataclass(frozen=True, eq=False)
class Roc:
    """True against false alarms of all thresholds.

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
        """The most that hits exceed false alarms by, at the best threshold (found on the same scores)."""
        return float(np.max(self.hits - self.false_alarms))


def roc(members: ArrayLike, outsiders: ArrayLike) -> Roc:
    """Compute the curve of a score that should be high for members; ties count one half.

    Parameters
    ----------
    members : array-like
        Scores of members.
    outsiders : array-like
        Scores of outsiders.

    Returns
    -------
    Roc
        The curve.

    Examples
    --------
    >>> roc([3, 2], [1, 2]).area
    0.875
    """
    inside, outside = floats(members, "members"), floats(outsiders, "outsiders")
    if not len(inside) or not len(outside):
        refuse("there must be members and outsiders", f"{len(inside)} and {len(outside)}", "a curve compares them")
    if np.isnan(inside).any() or np.isnan(outside).any():
        refuse("scores must be numbers", "NaN", "it has no place among them")
    levels = np.unique(np.concatenate([inside, outside]))[::-1]
    hits = 1 - np.searchsorted(np.sort(inside), levels) / len(inside)
    alarms = 1 - np.searchsorted(np.sort(outside), levels) / len(outside)
    hits, alarms = np.concatenate([[0.0], hits]), np.concatenate([[0.0], alarms])
    return Roc(alarms, hits, float(np.trapezoid(hits, alarms)))


def _columns(values: ArrayLike, name: str, rows: Array) -> Array:
    """Numbers, one for each column of a table, or one for all."""
    numbers, width = floats(values, name), rows.shape[-1:]
    if numbers.shape not in ((), width):
        refuse(f"`{name}` must be one number for each column of the people", numbers.shape, f"these are {rows.shape}")
    return np.broadcast_to(numbers, width)


def _shares(frequencies: Array) -> Array:
    if not np.all((frequencies > 0) & (frequencies < 1)):
        refuse("`frequencies` must lie between 0 and 1", "others", "a column alike in all tells nobody apart")
    return frequencies


def inner_product(mean: ArrayLike, people: ArrayLike, frequencies: ArrayLike | None = None) -> Array:
    """Compute Q_i = mean . x_i for each row.

    The centred form is sum of (mean_j - p_j) (x_ij - p_j) / (p_j (1 - p_j)) for columns of 0 and 1.

    Parameters
    ----------
    mean : array-like
        The released mean.
    people : array-like
        A row per person.
    frequencies : array-like, optional
        Of the population; both are then centered, and each column is in its own unit.

    Returns
    -------
    Array
        A score per person.

    Examples
    --------
    >>> inner_product([0.5, 1.0], [[1, 1], [0, 1]])
    array([1.5, 1. ])
    """
    rows = floats(people, "people")
    average = _columns(mean, "mean", rows)
    if frequencies is None:
        return np.asarray(rows @ average)
    p = _shares(_columns(frequencies, "frequencies", rows))
    return np.asarray((rows - p) @ ((average - p) / (p * (1 - p))))


def inner_product_area(d: int, n: int, *, kurtosis: float = 0.0, noise_variance: float = 0.0) -> float:
    """Compute the area under the curve of Q_i in theory, for independent columns of variance 1.

    Phi(d/n / sqrt(v_in + v_out)): outsiders have variance d (1/n + s), members d ((n-1)/n**2 + s) + d
    kurtosis / n**2, where s is the variance of noise on each mean and kurtosis the variance of a squared
    entry (0 for +1 and -1, 2 for normal ones).

    Parameters
    ----------
    d : int
        Columns.
    n : int
        People.
    kurtosis : float
        The variance of a squared entry.
    noise_variance : float
        Of noise on each mean.

    Returns
    -------
    float
        The area.

    Examples
    --------
    >>> round(inner_product_area(200, 100), 3)
    0.842
    """
    within = d * ((n - 1) / n**2 + kurtosis / n**2 + noise_variance)
    return float(ndtr(d / n / np.sqrt(within + d * (1 / n + noise_variance))))


def fit(features: ArrayLike, labels: ArrayLike, *, ridge: float = 0.0) -> Array:
    """Fit a linear classifier by (ridge) least squares, as a hospital might publish one.

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
    x, y = floats(features, "features"), floats(labels, "labels")
    if x.ndim != 2 or y.shape != x.shape[:1]:
        refuse("`labels` must be one for each row of `features`", f"{y.shape} for {x.shape}", "nothing can be fitted")
    try:
        return np.asarray(np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ y))
    except np.linalg.LinAlgError:
        refuse("columns of `features` must be independent", "some that are not", "a `ridge` above 0 takes them, too")


def simulate(d: int, n: int, mechanism: object = None, *, studies: int = 20, rng: Rng = None) -> float:
    """Compute the area of Q_i over simulated studies with columns of +1 and -1.

    Parameters
    ----------
    d : int
        Columns.
    n : int
        People.
    mechanism : object, optional
        Releases the mean: anything with `release(value, rng)` or a function of the mean; None releases it as it is.
    studies : int
        How many.
    rng : Generator, optional
        For simulation; None draws from a fresh generator.

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
    for _ in chunks(whole(studies, "studies"), 1, "simulating studies"):
        people = source.choice([-1.0, 1.0], (2 * n, d))
        release: Any = people[:n].mean(axis=0)
        if mechanism is not None:
            release = protocol(mechanism)[0](release, source)
        scores = inner_product(value_of(release), people)
        areas.append(roc(scores[:n], scores[n:]).area)
    return float(np.mean(areas))


def promised_advantage(epsilon: float, delta: float = 0.0) -> float:
    """Compute what differential privacy promises: no attack at all has a larger advantage.

    Parameters
    ----------
    epsilon : float
        Of the claim.
    delta : float
        Of the claim.

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


# Was this person in the training set? A canary is put into the data or left out, and the model is asked.
#
# The owner of a model can score a person with it. A model that is a function of its data alone scores a canary in one
# way where it was there and in another where it was not, so that one look tells. What privacy promises is a bound on
# how well any look can tell: `membership.promised_advantage`.


def _canary_scores(
    learn: Callable[[Any, Any], Any], rows: ArrayLike, labels: ArrayLike, canary: tuple[Any, Any], *, games: int
) -> tuple[list[float], list[float]]:
    """Score a canary by models that were trained with it, and by models that were not.

    Parameters
    ----------
    learn : callable
        `learn(rows, labels)` fits a new classifier.
    rows : array-like
        A row per person.
    labels : array-like
        A label per person.
    canary : tuple
        A row and its label; it takes the place of the first row, so that both tables are neighbors by "replace".
    games : int
        How many models of each kind.

    Returns
    -------
    tuple
        The models' own scores with the sign of the label: with the canary, and without.

    Examples
    --------
    >>> rows, labels = np.eye(4), np.array([1, 0, 1, 0])
    >>> _canary_scores(learn, rows, labels, (rows[0], 1), games=20)  # doctest: +SKIP
    """
    row, label = canary
    table, known = floats(rows, "rows").copy(), read_cells(lambda: np.array(labels))
    if table.ndim != 2 or len(known) != len(table) or np.shape(row) != table.shape[1:]:
        rule = "`rows` must be a table, `labels` one for each row, the canary a row and a label"
        refuse(rule, "others", "there is no game")
    planted, marked = table.copy(), known.copy()
    planted[0], marked[0] = row, label
    inside: list[float] = []
    outside: list[float] = []
    for _ in chunks(whole(games, "games"), 1, "training models"):
        for scores, data in ((inside, (planted, marked)), (outside, (table, known))):
            model = learn(*data)
            sign = 1 if label == model.classes_[1] else -1
            scores.append(sign * float(model.decision_function([row])[0]))
    return inside, outside


def canary_game(
    learn: Callable[[Any, Any], Any], rows: ArrayLike, labels: ArrayLike, canary: tuple[Any, Any], *, games: int = 50
) -> Roc:
    """Play how often one look at a model tells whether the canary was in its data.

    Parameters
    ----------
    learn : callable
        As for `canary_scores`.
    rows : array-like
        A row per person.
    labels : array-like
        A label per person.
    canary : tuple
        A row and its label.
    games : int
        How many models of each kind.

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
