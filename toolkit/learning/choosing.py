"""Private selection of a learner by its results on rows outside the training data, or of the best of several runs."""

import math
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from toolkit.budget.ledger import Ledger
from toolkit.central.selection import Exponential
from toolkit.core.arrays import ArrayLike, DataFrame, number_or_nan
from toolkit.core.checks import Number, check_neighbors, check_positive, check_probability, quietly, reject
from toolkit.core.loss import Pure
from toolkit.core.randomness import Rng, big_below, check_rng
from toolkit.frames.engines.cells import MISSING_KEY, key
from toolkit.learning.base import resolve_randomness
from toolkit.learning.tables import target_column

Candidate = TypeVar("Candidate")

Output = TypeVar("Output")


def choose_classifier(
    candidates: Sequence[Candidate],
    X: DataFrame | ArrayLike,  # noqa: N803 — scikit-learn's name
    y: ArrayLike,
    *,
    epsilon: Number,
    neighbors: str = "replace",
    ledger: Ledger | None = None,
    rng: Rng = None,
) -> Candidate:
    """Choose one of several fitted classifiers, preferring classifiers that label more rows of X correctly.

    Under both neighbor relations, one person changes each number of correct answers by at most 1, so the exponential
    mechanism costs Pure(epsilon). This requires that a candidate's answer depends on its row alone. A row on which a
    candidate fails, or whose label is missing, silently counts as wrong. Answers and labels are compared individually,
    strings with strings and numbers with numbers. The running time depends on the data and must not be published.

    Parameters
    ----------
    candidates : sequence
        Fitted classifiers with a `predict` method.
    X : array-like
        Rows on which no candidate was trained. If some candidate was trained on them, add the cost of its training.
    y : array-like
        The labels of the rows.
    epsilon : Number
        The epsilon of the choice, which costs Pure(epsilon).
    neighbors : str
        The neighbor relation, "replace" or "add_remove".
    ledger : Ledger, optional
        The ledger that is charged before any row is read.
    rng : Generator, optional
        A generator for simulations; the default is the operating system's randomness.

    Returns
    -------
    Candidate
        The chosen candidate.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> ones, zeros = (DummyClassifier(strategy="constant", constant=c).fit([[0]] * 2, [0, 1]) for c in (1, 0))
    >>> choose_classifier([zeros, ones], [[0]] * 500, [1] * 500, epsilon=1) is ones
    True
    """
    classifiers, relation = list(candidates), check_neighbors(neighbors)
    if not classifiers or not all(callable(getattr(classifier, "predict", None)) for classifier in classifiers):
        received = "none" if not classifiers else "one without `predict`"
        reject("`candidates` must be fitted classifiers", received, "the best candidate is chosen", TypeError)
    truth = target_column(y).column
    mechanism, source = Exponential.for_epsilon(epsilon), check_rng(rng)
    if ledger is not None:
        source = resolve_randomness(ledger, rng)
        ledger.charge(mechanism, "choice of a classifier", neighbors=relation, unit="row")
    scores = quietly(lambda: count_correct(classifiers, X, truth.cells()), consequence="the charge remains")
    index: int = mechanism.choose(range(len(classifiers)), scores, rng=source)
    return classifiers[index]


def count_correct(candidates: Sequence[Any], rows: DataFrame | ArrayLike, labels: Sequence[Any]) -> list[int]:
    """Count the rows that each candidate labels correctly, in one call or, if that fails, row by row.

    Each answer is compared with its label by type and value, so that no cell changes how another cell is read.
    """
    truth = [key(label) for label in labels]
    return [_count_correct(candidate, rows, truth) for candidate in candidates]


def _count_correct(candidate: object, rows: DataFrame | ArrayLike, truth: Sequence[Hashable]) -> int:
    answers = _predict(candidate, rows, len(truth))
    if answers is None:
        single = [_predict(candidate, _row_at(rows, index), 1) for index in range(len(truth))]
        answers = [None if answer is None else answer[0] for answer in single]
    pairs = zip(answers, truth, strict=True)
    return sum(answer is not None and answer is not MISSING_KEY and answer == label for answer, label in pairs)


def _predict(candidate: Any, rows: Any, count: int) -> list[Hashable] | None:
    """Return a key for the comparison of each answer, or None if there is not one answer per row."""
    with suppress(Exception):
        return [key(answer) for answer in target_column(candidate.predict(rows), count).column.cells()]
    return None


def _row_at(rows: Any, index: int) -> Any:
    if hasattr(rows, "iloc"):
        return rows.iloc[index : index + 1]
    return rows.slice(index, 1) if hasattr(rows, "slice") else rows[index : index + 1]


def best_of(
    run: Callable[[], tuple[Any, Output]],
    *,
    epsilon: Number,
    stop: Number = "1/20",
    neighbors: str,
    ledger: Ledger | None = None,
    rng: Rng = None,
) -> tuple[Any, Output]:
    """Return the best of several runs that each cost Pure(epsilon), at a total cost of Pure(3 epsilon).

    The cost is the same for any number of runs. The function stops after each run with probability `stop`, so the mean
    number of runs is 1 / stop. The number of runs is random and must remain secret: if it is fixed or revealed, each
    run costs epsilon. Anyone who observes the running time learns something about this number.

    Parameters
    ----------
    run : callable
        A function that draws a score and an output, independently each time; a higher score is better. The caller must
        ensure that releasing both costs at most Pure(epsilon). The function must not charge a ledger itself. A score
        that is NaN or not a number counts as the worst.
    epsilon : Number
        The cost of one run.
    stop : Number
        The probability of stopping after each run, which must not depend on the data.
    neighbors : str
        The neighbor relation, "replace" or "add_remove".
    ledger : Ledger, optional
        The ledger that is charged Pure(3 epsilon) before the first run.
    rng : Generator, optional
        A generator for simulations; the default is the operating system's randomness.

    Returns
    -------
    tuple
        The score and the output of the best run; ties go to the first run.

    References
    ----------
    Liu and Talwar (2019); Papernot and Steinke (2022): a geometrically distributed number of runs costs 3 epsilon.

    Examples
    --------
    >>> score, output = best_of(lambda: (1.0, "only one"), epsilon="1/10", neighbors="replace")
    >>> output
    'only one'
    """
    run_epsilon, stop_probability = check_positive(epsilon, "epsilon"), check_probability(stop, "stop")
    if not 0 < stop_probability < 1:
        reject("`stop` must lie strictly between 0 and 1", stop, "the number of runs must be random")
    relation, source = check_neighbors(neighbors), check_rng(rng)
    if ledger is not None:
        source = resolve_randomness(ledger, rng)
        ledger.charge(
            Pure(3 * run_epsilon), "best of several runs", mechanism="best_of", neighbors=relation, unit="row"
        )
    best = run()
    while big_below(stop_probability.denominator, source) >= stop_probability.numerator:
        other = run()
        best = other if _as_number(other[0]) > _as_number(best[0]) else best
    return best


def _as_number(score: Any) -> float:
    """Return a score as a float; unordered scores would cost more than 3 epsilon."""
    value = number_or_nan(score)
    if math.isnan(value) and not isinstance(score, str):
        with suppress(Exception):  # for example an Estimate
            value = float(score)
    return -math.inf if math.isnan(value) else value
