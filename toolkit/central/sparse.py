"""The sparse vector technique: many questions against a threshold, paid for only by the answers "above"."""

import os
import threading
from fractions import Fraction
from typing import NoReturn

from toolkit.central.noise.grid import NO_END, NO_NOISE, grid_exponent, read, rounded_sensitivity, sensible, steps_of
from toolkit.core.checks import Number, exact, positive, reject, whole
from toolkit.core.loss import Pure
from toolkit.core.randomness import Rng, check_rng
from toolkit.core.sampling import discrete_laplace


class AboveThreshold:
    """Whether one number after the other is above a threshold, give or take noise; stops after `count` yeses.

    Numbers below cost nothing further, however many are asked. With e = epsilon / count, each round has a threshold
    with fresh Laplace noise of scale 2 sensitivity / e, and each number fresh noise of scale 4 sensitivity / e; a yes
    ends the round, and the last one ends the object. All noise is on one grid; equal counts as above.

    The noisy threshold is a secret that must not be asked twice over: the object cannot be copied, pickled,
    or used in a forked process, and two threads take turns.

    Parameters
    ----------
    threshold : Number
        Public.
    epsilon : Number
        The cost of all answers together.
    sensitivity : Number
        How far one person can move each number.
    count : int
        How many yeses there may be.
    rng : Generator, optional
        For simulation.

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
        self.loss = Pure(positive(epsilon, "epsilon", NO_END))
        self.sensitivity = sensible(sensitivity, "sensitivity", NO_NOISE)
        self.threshold = exact(threshold, "threshold")
        self.count = whole(count, "count")
        self._rng = check_rng(rng)
        scale = sensible(
            2 * self.sensitivity * self.count / Fraction(self.loss.amount), "sensitivity * count / epsilon", NO_END
        )
        self._exponent = grid_exponent(self.sensitivity, scale)
        reach = rounded_sensitivity(self.sensitivity / Fraction(2) ** self._exponent, 1, "l1")
        self._scale = 2 * reach * self.count / Fraction(self.loss.amount)
        self._left = self.count
        self._lock, self._process = threading.Lock(), os.getpid()
        self._bar = self._fresh_bar()

    @property
    def open(self) -> bool:
        """Whether there is a yes left to give."""
        return self._left > 0

    @property
    def seeded(self) -> bool:
        """Whether the noise came from a Generator: for simulation only."""
        return self._rng is not None

    def ask(self, value: object) -> bool:
        """Tell whether the number, with fresh noise, is at least the noisy threshold.

        Parameters
        ----------
        value : int or float or Fraction
            A number that one person moves by at most `sensitivity`.

        Returns
        -------
        bool
            The answer.

        Raises
        ------
        RuntimeError
            After the last yes.
        """
        if os.getpid() != self._process:
            rule = "`ask` must stay in the process that made the object"
            reject(rule, "another process", "both would spend one noise")
        answer = read(value)
        if not answer.scalar:
            reject("`value` must be one number", f"{answer.size} numbers", "ask for each in turn", TypeError)
        with self._lock:
            if not self.open:
                rule = "`ask` must come before the last yes"
                reject(rule, "a question after it", "all of epsilon is spent", RuntimeError)
            noise = int(discrete_laplace(2 * self._scale, 1, self._rng)[0])
            above = steps_of(Fraction(answer.entries), self._exponent) + noise >= self._bar
            if above:
                self._left -= 1
                if self.open:
                    self._bar = self._fresh_bar()
            return above

    def _fresh_bar(self) -> int:
        return steps_of(self.threshold, self._exponent) + int(discrete_laplace(self._scale, 1, self._rng)[0])

    def __reduce__(self) -> NoReturn:
        reject("an AboveThreshold must not be copied or pickled", "a copy", "both would spend one noise", TypeError)

    def __repr__(self) -> str:
        state = f"{self._left} of {self.count} yeses left" if self.open else "stopped"
        return f"<AboveThreshold {float(self.threshold):g}; {self.loss}; {state}>"
