"""Choosing among learners privately: the best on rows that none was trained on, or the best of some runs."""

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from toolkit.central.selection import Exponential
from toolkit.core.arrays import number
from toolkit.core.checks import Number, positive, probability, refuse
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.loss import Pure
from toolkit.core.randomness import Rng, big_below, check_rng
from toolkit.learning.paying import allowed

Candidate = TypeVar("Candidate")
Cells: TypeAlias = npt.NDArray[Any]
Output = TypeVar("Output")


def choose_classifier(
    candidates: Sequence[Candidate],
    X: Any,  # noqa: N803 — scikit-learn's name
    y: Any,
    *,
    epsilon: Number,
    neighbors: str = "replace",
    ledger: Any = None,
    rng: Rng = None,
) -> Candidate:
    """One of some fitted classifiers, better ones likelier: by how many rows of X it labels as y does.

    One person moves each number of right answers by at most 1, under both relations, so that the exponential
    mechanism costs Pure(epsilon). For that a candidate's answer must depend on its row alone. X and y must be
    rows that no candidate was trained on; of rows that were, what the training cost is to be added. A row
    that a candidate fails on, or whose label is missing, counts as wrong without a word; all others count.

    >>> from sklearn.dummy import DummyClassifier
    >>> ones, zeros = (
    ...     DummyClassifier(strategy="constant", constant=c).fit([[0]] * 2, [0, 1]) for c in (1, 0)
    ... )
    >>> choose_classifier([zeros, ones], [[0]] * 500, [1] * 500, epsilon=1) is ones
    True
    """
    listed, relation = list(candidates), check_neighbors(neighbors)
    if not listed or not all(callable(getattr(one, "predict", None)) for one in listed):
        received = "none" if not listed else "one without `predict`"
        refuse("`candidates` must be fitted classifiers", received, "the best of them is sought", TypeError)
    truth = _labels(y)
    if truth.ndim != 1:
        refuse("`y` must be a column of labels", f"shape {truth.shape}", "answers are compared with it")
    mechanism, source = Exponential.for_epsilon(epsilon), check_rng(rng)
    if ledger is not None:
        source = allowed(ledger, rng)
        ledger.charge(mechanism, "choice of a classifier", neighbors=relation, unit="row")
    scores = [_right(one, X, truth) for one in listed]
    place: int = mechanism.choose(range(len(listed)), scores, rng=source)
    return listed[place]


def _labels(y: Any) -> Cells:
    """A column of labels; of a list as objects, so that no label decides what the others are read as."""
    if isinstance(y, np.ndarray) or hasattr(y, "__array__"):
        return np.asarray(y)
    listed = list(y)
    found = np.empty(len(listed), dtype=object)
    found[:] = listed
    return found


def _right(candidate: Any, rows: Any, truth: Cells) -> int:
    """How many rows are labelled as they should be: all at once, or row by row where that fails."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = _predicted(candidate, rows, len(truth))
        if found is not None:
            return _equal(found, truth)
        single = (_predicted(candidate, _one_row(rows, place), 1) for place in range(len(truth)))
        return sum(
            _equal(label, truth[place : place + 1]) for place, label in enumerate(single) if label is not None
        )


def _predicted(candidate: Any, rows: Any, count: int) -> Cells | None:
    try:
        found = np.asarray(candidate.predict(rows))
    except Exception:
        return None
    return found if found.shape == (count,) else None


def _one_row(rows: Any, place: int) -> Any:
    if hasattr(rows, "iloc"):
        return rows.iloc[place : place + 1]
    return rows.slice(place, 1) if hasattr(rows, "slice") else rows[place : place + 1]


def _equal(found: Cells, truth: Cells) -> int:
    """How many entries are equal, each judged by itself: one that cannot be compared is not equal."""
    if found.dtype.kind in "biuf" and truth.dtype.kind in "biuf":
        return int(np.count_nonzero(found == truth))
    return sum(_same(one, other) for one, other in zip(found.tolist(), truth.tolist(), strict=True))


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:
        return False


def best_of(
    run: Callable[[], tuple[Any, Output]],
    *,
    epsilon: Number,
    stop: Number = "1/20",
    neighbors: str,
    ledger: Any = None,
    rng: Rng = None,
) -> tuple[Any, Output]:
    """The best of several runs, each Pure(epsilon): Pure(3 epsilon), however many there are.

    After each run it ends with probability `stop`, so that there are 1 / stop runs in the mean. Their number
    is random and stays untold: of a number that is fixed, or that is told, each run would cost epsilon. Who
    can see how long it takes sees something of it.

    Parameters
    ----------
    run : draws anew: a score, higher is better, and an output. Both together must be Pure(epsilon); that is
        the caller's word. It must not charge a ledger itself. A score that is NaN or no number is the worst,
        wherever it comes.
    epsilon : the cost of one run.
    stop : the chance to end after each run, fixed before.
    ledger : charged Pure(3 epsilon), before the first run.

    Returns the score and the output of the best run, the first of equals.

    References
    ----------
    Liu and Talwar (2019); Papernot and Steinke (2022): a geometric number of runs costs 3 epsilon.
    """
    each, chance = positive(epsilon, "epsilon"), probability(stop, "stop")
    if not 0 < chance < 1:
        refuse("`stop` must lie strictly between 0 and 1", stop, "the number of runs must be random")
    relation, source = check_neighbors(neighbors), check_rng(rng)
    if ledger is not None:
        source = allowed(ledger, rng)
        ledger.charge(
            Pure(3 * each), "best of several runs", mechanism="best_of", neighbors=relation, unit="row"
        )
    best = run()
    while big_below(chance.denominator, source) >= chance.numerator:
        other = run()
        best = other if _height(other[0]) > _height(best[0]) else best
    return best


def _height(score: Any) -> float:
    """A score as a float that all others can be compared with: without an order of all of them the cost is
    more than 3 epsilon.
    """
    found = number(score)
    if math.isnan(found) and not isinstance(score, str):
        with suppress(Exception):  # an Estimate, say
            found = float(score)
    return -math.inf if math.isnan(found) else found


def law_of_best(probabilities: Sequence[Number], stop: Number) -> list[Fraction]:
    """With which probability each outcome of a run is the best, outcomes in the order of their scores.

    With c the probability that a run is not better than an outcome, the best of all is not better with
    probability stop c / (1 - (1 - stop) c).

    >>> [str(share) for share in law_of_best(["1/2", "1/2"], "1/2")]
    ['1/3', '2/3']
    """
    chance, below, law = probability(stop, "stop"), Fraction(0), list[Fraction]()
    reached = Fraction(0)
    for share in probabilities:
        below += probability(share, "a probability")
        through = chance * below / (1 - (1 - chance) * below)
        law.append(through - reached)
        reached = through
    return law
