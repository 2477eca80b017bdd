"""Was this person in the data? From nothing but a mean, a table of frequencies, or the weights of a classifier.

The statistic of the lecture is Q_i = mean . x_i. For a person in the data it is larger by |x_i|**2 / n on
average, and with enough columns that stands out of the noise: what counts is the number of columns divided by
the number of people.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.attacks.audit.bounds import advantage
from toolkit.attacks.audit.running import protocol
from toolkit.attacks.equivalence_classes import floats, quietly
from toolkit.core.arrays import Array
from toolkit.core.checks import refuse, whole
from toolkit.core.estimate import Estimate
from toolkit.core.inference.special import ndtr
from toolkit.core.progress import chunks
from toolkit.core.randomness import Rng, check_rng


@dataclass(frozen=True, eq=False)
class Roc:
    """True against false alarms of all thresholds; `area` is the chance that a member scores above an outsider."""

    false_alarms: Array
    hits: Array
    area: float

    @property
    def advantage(self) -> float:
        """The most that hits exceed false alarms by, at the best threshold (found on the same scores)."""
        return float(np.max(self.hits - self.false_alarms))


def roc(members: npt.ArrayLike, outsiders: npt.ArrayLike) -> Roc:
    """The curve of a score that should be high for members; ties count one half.

    >>> roc([3, 2], [1, 2]).area
    0.875
    """
    inside, outside = floats(members, "members"), floats(outsiders, "outsiders")
    if not len(inside) or not len(outside):
        refuse("there must be members and outsiders", f"{len(inside)} and {len(outside)}", "a curve compares them")
    levels = np.unique(np.concatenate([inside, outside]))[::-1]
    hits = 1 - np.searchsorted(np.sort(inside), levels) / len(inside)
    alarms = 1 - np.searchsorted(np.sort(outside), levels) / len(outside)
    hits, alarms = np.concatenate([[0.0], hits]), np.concatenate([[0.0], alarms])
    return Roc(alarms, hits, float(np.trapezoid(hits, alarms)))


def inner_product(mean: npt.ArrayLike, people: npt.ArrayLike, frequencies: npt.ArrayLike | None = None) -> Array:
    """Q_i = mean . x_i for each row; with known population frequencies, both centred, and each column in its own unit.

    The centred form is sum of (mean_j - p_j) (x_ij - p_j) / (p_j (1 - p_j)) for columns of 0 and 1.

    >>> inner_product([0.5, 1.0], [[1, 1], [0, 1]])
    array([1.5, 1. ])
    """
    rows, average = floats(people, "people"), floats(mean, "mean")
    if frequencies is None:
        return np.asarray(rows @ average)
    p = floats(frequencies, "frequencies")
    return np.asarray((rows - p) @ ((average - p) / (p * (1 - p))))


def inner_product_area(d: int, n: int, *, kurtosis: float = 0.0, noise_variance: float = 0.0) -> float:
    """The area under the curve of Q_i in theory, for d independent columns in units of their standard deviation.

    Phi(d/n / sqrt(v_in + v_out)): outsiders have variance d (1/n + s), members d ((n-1)/n**2 + s) + d
    kurtosis / n**2, where s is the variance of noise on each mean and kurtosis the variance of a squared
    entry (0 for +1 and -1, 2 for normal ones).

    >>> round(inner_product_area(200, 100), 3)
    0.842
    """
    within = d * ((n - 1) / n**2 + kurtosis / n**2 + noise_variance)
    return float(ndtr(d / n / np.sqrt(within + d * (1 / n + noise_variance))))


def frequency_kurtosis(frequencies: npt.ArrayLike) -> float:
    """The mean variance of a squared, centred and scaled entry of 0 or 1: (1 - 4 p q) / (p q)."""
    p = floats(frequencies, "frequencies")
    return float(np.mean((1 - 4 * p * (1 - p)) / (p * (1 - p))))


def likelihood_ratio(mean: npt.ArrayLike, people: npt.ArrayLike, frequencies: npt.ArrayLike) -> Array:
    """The log likelihood that a person of 0s and 1s was drawn with the released frequencies rather than the
    population's.

    Sum of x ln(m/p) + (1-x) ln((1-m)/(1-p)); released frequencies outside (0, 1), as noise makes them, are
    moved inside.

    References: S. Sankararaman et al., Genomic privacy and limits of individual detection in a pool (2009);
    N. Homer et al. (2008).
    """
    rows, p = floats(people, "people"), floats(frequencies, "frequencies")
    m = np.clip(floats(mean, "mean"), 1e-3, 1 - 1e-3)
    return np.asarray(rows @ np.log(m / p) + (1 - rows) @ np.log((1 - m) / (1 - p)))


def fit(features: npt.ArrayLike, labels: npt.ArrayLike, *, ridge: float = 0.0) -> Array:
    """Weights of a linear classifier by (ridge) least squares on labels -1 and 1: what a hospital might publish."""
    x, y = floats(features, "features"), floats(labels, "labels")
    return np.asarray(np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ y))


def fit_score(weights: npt.ArrayLike, features: npt.ArrayLike, labels: npt.ArrayLike) -> Array:
    """How well published weights fit each person: minus the size of the residual, larger for those they were fitted to.

    >>> fit_score([1.0], [[1.0], [1.0]], [1.0, 0.5])
    array([-0. , -0.5])
    """
    residual = floats(labels, "labels") - floats(features, "features") @ floats(weights, "weights")
    return np.asarray(-np.abs(residual))


def fit_area(d: int, n: int) -> float:
    """The area of that score in theory, for normal columns: (2/pi) atan(sd_out / sd_in), residual variances 1
    - d/n and 1 + d/(n - d - 1) in units of the noise.

    >>> round(fit_area(50, 100), 3)
    0.706
    """
    if d >= n - 1:
        refuse("there must be more people than columns", f"{n} and {d}", "the weights fit everyone exactly")
    return float(2 / np.pi * np.arctan(np.sqrt((1 + d / (n - d - 1)) / (1 - d / n))))


def simulate(d: int, n: int, mechanism: Any = None, *, studies: int = 20, rng: Rng = None) -> float:
    """The area of Q_i over simulated studies of n people with d columns of +1 and -1, whose mean a mechanism releases.

    `mechanism` is anything with `release(value, rng)` or a function of the mean; None releases it as it is.

    >>> simulate(200, 50, rng=np.random.default_rng(1)) > 0.85
    True
    """
    source, areas = check_rng(rng) or np.random.default_rng(), []
    for _ in chunks(whole(studies, "studies"), 1, "simulating studies"):
        people = source.choice([-1.0, 1.0], (2 * n, d))
        told: Any = people[:n].mean(axis=0)
        if mechanism is not None:
            told = protocol(mechanism)[0](told, source)
        scores = inner_product(told.value if isinstance(told, Estimate) else told, people)
        areas.append(roc(scores[:n], scores[n:]).area)
    return float(np.mean(areas))


def promised_advantage(epsilon: float, delta: float = 0.0) -> float:
    """What differential privacy promises: no attack at all has a larger advantage than this."""
    return advantage(epsilon, delta)


# Was this person in the training set? A canary is put into the data or left out, and the model is asked.
#
# The owner of a model can score a person with it. A model that is a function of its data alone scores a canary in one
# way where it was there and in another where it was not, so that one look tells. What privacy promises is a bound on
# how well any look can tell: `membership.promised_advantage`.


def canary_scores(
    learn: Callable[[Any, Any], Any], rows: Any, labels: Any, canary: tuple[Any, Any], *, games: int
) -> tuple[list[float], list[float]]:
    """How well models fit a canary: of models that were trained with it, and of models that were not.

    `learn(rows, labels)` fits a new classifier. The canary, a row and its label, takes the place of the
    first row, so that both tables are neighbors by "replace". The score is the model's own, with the sign of
    the label.
    """
    row, label = canary
    table, known = floats(rows, "rows").copy(), quietly(lambda: np.array(labels))
    if table.ndim != 2 or len(known) != len(table) or np.shape(row) != table.shape[1:]:
        refuse(
            "`rows` must be a table, `labels` one for each row, the canary a row and a label",
            "others",
            "there is no game",
        )
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
    learn: Callable[[Any, Any], Any], rows: Any, labels: Any, canary: tuple[Any, Any], *, games: int = 50
) -> Roc:
    """How often one look at a model tells whether the canary was in its data, at all thresholds.

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
    return roc(*canary_scores(learn, rows, labels, canary, games=games))
