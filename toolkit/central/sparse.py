"""The sparse vector technique: comparisons with a threshold in which only the answer "above" costs privacy."""

import os
import threading
from fractions import Fraction
from typing import NoReturn

from toolkit.central.noise.grid import (
    NO_FINITE_NOISE,
    NO_NOISE_NEEDED,
    check_magnitude,
    grid_exponent,
    read_private_value,
    round_to_steps,
    rounded_sensitivity,
)
from toolkit.core.checks import Number, check_integer, check_positive, exact_fraction, reject
from toolkit.core.loss import Pure
from toolkit.core.randomness import Rng, check_rng
from toolkit.core.sampling import discrete_laplace


class AboveThreshold:
    """Noisy comparisons of numbers with a threshold, until `count` comparisons have been answered yes.

    Numbers below the threshold cost nothing. Let e = epsilon / count. In each round, the threshold gets fresh Laplace
    noise of scale 2 sensitivity / e, and each number gets fresh noise of scale 4 sensitivity / e. A yes ends the round,
    and no question is answered after `count` yes answers. All noise is on the same grid, and ties are answered yes.

    A copy would reuse the noisy threshold, so the object cannot be copied, pickled or used in a forked process. A lock
    admits one thread at a time.

    Parameters
    ----------
    threshold : Number
        The public threshold.
    epsilon : Number
        The total cost of all answers.
    sensitivity : Number
        The sensitivity of each number.
    count : int
        The maximum number of yes answers.
    rng : Generator, optional
        A generator for simulations; the default is the operating system's randomness.

    References
    ----------
    Dwork and Roth (2014), algorithms 1 and 2; Lyu, Su and Li (2017) on the variants that are not private.

    Examples
    --------
    >>> alarm = AboveThreshold(1000, epsilon=2, sensitivity=1)
    >>> alarm.ask(0), alarm.ask(5000), alarm.open
    (False, True, False)
    """

    def __init__(
        self, threshold: Number, *, epsilon: Number, sensitivity: Number = 1, count: int = 1, rng: Rng = None
    ) -> None:
        self.loss = Pure(check_positive(epsilon, "epsilon", NO_FINITE_NOISE))
        self.sensitivity = check_magnitude(sensitivity, "sensitivity", NO_NOISE_NEEDED)
        self.threshold = exact_fraction(threshold, "threshold")
        self.count = check_integer(count, "count")
        self._rng = check_rng(rng)
        scale = check_magnitude(
            2 * self.sensitivity * self.count / Fraction(self.loss.amount),
            "sensitivity * count / epsilon",
            NO_FINITE_NOISE,
        )
        self._exponent = grid_exponent(self.sensitivity, scale)
        sensitivity = rounded_sensitivity(self.sensitivity / Fraction(2) ** self._exponent, 1, "l1")
        self._scale = 2 * sensitivity * self.count / Fraction(self.loss.amount)
        self._remaining = self.count
        self._lock, self._process = threading.Lock(), os.getpid()
        self._noisy_threshold = self._draw_threshold()

    @property
    def open(self) -> bool:
        """Whether another yes answer is possible."""
        return self._remaining > 0

    @property
    def seeded(self) -> bool:
        """Whether the noise comes from a generator, which is for simulations only."""
        return self._rng is not None

    def ask(self, value: object) -> bool:
        """Return whether the number plus fresh noise is at least the noisy threshold.

        Parameters
        ----------
        value : int or float or Fraction
            A number that one person changes by at most `sensitivity`.

        Returns
        -------
        bool
            True if the noisy number is at least the noisy threshold.

        Raises
        ------
        RuntimeError
            If `count` questions have been answered yes already.
        """
        if os.getpid() != self._process:
            rule = "`ask` must be called in the process that made the object"
            reject(rule, "another process", "both would use the same noise")
        answer = read_private_value(value)
        if not answer.is_scalar:
            reject("`value` must be one number", f"{answer.size} numbers", "ask for each in turn", TypeError)
        with self._lock:
            if not self.open:
                rule = "`ask` must not be called after the last yes answer"
                reject(rule, "another question", "all of epsilon is spent", RuntimeError)
            noise = int(discrete_laplace(2 * self._scale, 1, self._rng)[0])
            is_above = round_to_steps(Fraction(answer.entries), self._exponent) + noise >= self._noisy_threshold
            if is_above:
                self._remaining -= 1
                if self.open:
                    self._noisy_threshold = self._draw_threshold()
            return is_above

    def _draw_threshold(self) -> int:
        return round_to_steps(self.threshold, self._exponent) + int(discrete_laplace(self._scale, 1, self._rng)[0])

    def __reduce__(self) -> NoReturn:
        reject("an AboveThreshold must not be copied or pickled", "a copy", "both would use the same noise", TypeError)

    def __repr__(self) -> str:
        state = f"{self._remaining} of {self.count} yeses left" if self.open else "stopped"
        return f"<AboveThreshold {float(self.threshold):g}; {self.loss}; {state}>"
