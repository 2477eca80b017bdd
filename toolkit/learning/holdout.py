"""`Thresholdout`: a reusable holdout, which answers with noise only if the training set is misleading."""

import os
import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

import numpy as np

from toolkit.budget.ledger import Ledger
from toolkit.central.laplace import Laplace
from toolkit.central.sparse import AboveThreshold
from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, check_integer, check_positive, exact_fraction, quietly, reject
from toolkit.core.loss import Pure
from toolkit.core.randomness import Rng, check_rng
from toolkit.learning.base import resolve_randomness
from toolkit.learning.tables import TargetColumn, target_column

_UNITS = 2**20  # scores are rounded to multiples of 1 / _UNITS


@dataclass(frozen=True)
class Answered:
    """A mean, as returned by `Thresholdout.ask`.

    Parameters
    ----------
    value : float
        The mean.
    from_holdout : bool
        Whether the mean is a noisy mean of the holdout; otherwise it is the mean of the training set.

    Examples
    --------
    >>> reuse = Thresholdout(1000, threshold=0.5, answers=5, rng=np.random.default_rng(1))
    >>> reuse.ask([0, 1], [0, 1] * 500)
    Answered(value=0.5, from_holdout=False)
    """

    value: float
    from_holdout: bool

    def __float__(self) -> float:
        return self.value


class Thresholdout:
    """Means of scores between 0 and 1, from the training set if the holdout agrees, otherwise from the holdout.

    If the two means differ by more than a noisy threshold, the holdout's mean is released with noise, and one of
    `answers` is used up. Laplace noise of scale 2 sigma is added to the threshold, 4 sigma to each difference, and
    sigma to each answer. The formal loss of each person in a holdout of n rows is Pure(2 answers / (sigma n)) in total.
    In experiments the method prevents overfitting even if this loss is too large to guarantee anything, so the repr
    shows the loss next to the numbers of questions and answers.

    Parameters
    ----------
    n : int
        The number of rows of the holdout, which is public.
    threshold : Number
        The largest difference at which the training set's mean is returned.
    sigma : Number
        The noise level: the scale of the Laplace noise on each answer.
    answers : int
        The number of answers from the holdout, after which every question is rejected.
    ledger : Ledger, optional
        A ledger that is charged for all answers immediately.
    rng : Generator, optional
        A generator for simulations, without a privacy guarantee; the default is the operating system's randomness.

    References
    ----------
    Dwork, Feldman, Hardt, Pitassi, Reingold and Roth (2015), The reusable holdout.

    Examples
    --------
    >>> reuse = Thresholdout(1000, threshold=0.04, sigma=0.01, answers=5)
    >>> reuse
    <Thresholdout: formal loss ε = 1 for 5 answers of 1,000 rows; 0 asked, 0 of them answered by the holdout>
    """

    def __init__(
        self,
        n: int,
        *,
        threshold: Number = 0.04,
        sigma: Number = 0.01,
        answers: int,
        ledger: Ledger | None = None,
        rng: Rng = None,
    ) -> None:
        self.n, self.answers = check_integer(n, "n"), check_integer(answers, "answers")
        self.threshold = exact_fraction(threshold, "threshold")
        self.sigma = check_positive(sigma, "sigma", "without noise nothing is protected")
        epsilon_per_answer, one_row = 1 / (self.sigma * self.n), Fraction(1, self.n)
        self.loss = Pure(2 * self.answers * epsilon_per_answer)
        source = check_rng(rng)
        if ledger is not None:
            source = resolve_randomness(ledger, rng)
            ledger.charge(self.loss, "reusable holdout", mechanism="Thresholdout", neighbors="replace", unit="row")
        self._threshold_test = AboveThreshold(
            self.threshold,
            epsilon=self.answers * epsilon_per_answer,
            sensitivity=one_row,
            count=self.answers,
            rng=source,
        )
        self._noise, self._rng = Laplace.for_epsilon(epsilon_per_answer, sensitivity=one_row), source
        self.queries = self.used = 0
        self._lock, self._process = threading.Lock(), os.getpid()

    @property
    def used_loss(self) -> Pure:
        """The formal loss of the answers so far and of the open round, if no further question is asked."""
        epsilon_per_answer = 1 / (self.sigma * self.n)
        return Pure(2 * self.used * epsilon_per_answer + (epsilon_per_answer if self._threshold_test.open else 0))

    def ask(self, training: ArrayLike, holdout: ArrayLike) -> Answered:
        """Compute the mean of a score, from the training set or the holdout.

        Scores are clipped to 0 … 1 and rounded to multiples of 2**-20. A score that is not a number silently counts as
        0. The function that computes the scores must not use any information about the holdout except the results of
        this object.

        Parameters
        ----------
        training : array-like
            One score per row of the training set.
        holdout : array-like
            One score per row of the holdout.

        Returns
        -------
        Answered
            The mean and its source.

        Raises
        ------
        RuntimeError
            If the holdout has already given its last answer.
        """
        if os.getpid() != self._process:
            rule = "`ask` must be called in the process that made the object"
            reject(rule, "another process", "both would use the same noise")
        training_scores, holdout_scores = _scores(training, "training"), _scores(holdout, "holdout")
        if holdout_scores.n_rows != self.n:
            rule = "`holdout` must have a score for each of its rows"
            reject(rule, holdout_scores.n_rows, f"there are {self.n} rows")
        with self._lock:
            if not self._threshold_test.open:
                rule = "`ask` must not be called after the last answer of the holdout"
                received = f"a question after {self.answers} answers"
                reject(rule, received, "the formal loss covers this number of answers", RuntimeError)
            mean, other = _mean(training_scores), _mean(holdout_scores)
            self.queries += 1
            if not self._threshold_test.ask(abs(other - mean)):
                return Answered(float(mean), False)
            self.used += 1
            return Answered(float(self._noise.release(other, rng=self._rng)), True)

    def __reduce__(self) -> NoReturn:
        reject("a Thresholdout must not be copied or pickled", "a copy", "both would use the same noise", TypeError)

    def __repr__(self) -> str:
        mark = "" if self._rng is None else "; simulated, no privacy claim"
        return (
            f"<Thresholdout: formal loss {self.loss} for {self.answers:,} answers of {self.n:,} rows; "
            f"{self.queries:,} asked, {self.used:,} of them answered by the holdout{mark}>"
        )


def _scores(scores: ArrayLike, name: str) -> TargetColumn:
    """Return a column of numbers or booleans, after checking its type."""
    target = target_column(scores)
    target.column.require_numbers(f"`{name}`, a column of scores,")
    if target.n_rows == 0:
        reject(f"`{name}` must have scores", "none", "their mean is computed", TypeError)
    return target


def _mean(scores: TargetColumn) -> Fraction:
    """Return the mean of scores in multiples of 2**-20; a score that is not a number counts as 0."""
    numbers: Array = quietly(scores.column.floats)
    cut = np.nan_to_num(np.clip(numbers, 0.0, 1.0), nan=0.0)
    return Fraction(int(np.rint(cut * _UNITS).astype(np.int64).sum()), _UNITS * scores.n_rows)
