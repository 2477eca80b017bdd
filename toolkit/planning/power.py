"""The power of the test of one share, counted from the binomial law of the reports, not from a bell curve."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from toolkit.core.inference.special import betainc, rel_entr

MOST_COUNTED = 10**6
"""Up to this number of people power is counted; beyond, by the normal formula."""
_ROUNDING = 1e-12  # forty times what the incomplete beta function was seen to be off by at these sizes


@dataclass(frozen=True)
class ScoreTest:
    """Tells one share from another by the number of reports that speak for the other.

    It rejects when the Wilson interval, before it is cut to [0, 1], lies beyond the first share on the side of the
    other: when more than n * null + critical * sqrt(n * null * (1 - null)) reports speak for the other. Power rises
    with n and falls whenever that number rises, as the teeth of a saw: n people may be enough, and n + 1 not.

    null, truth : probability of such a report at the first share, and at the other; null < truth.
    critical : at least 0, in standard errors: 1.96 for a two-sided test at 5 %, 1.645 for a one-sided one.
    """

    null: float
    truth: float
    critical: float

    def power(self, n: int) -> float:
        """Probability to reject when the other share is true."""
        return self._rejects(n, self._accepted(n))

    def envelope(self, n: int) -> float:
        """What the power is at least, without the teeth: the threshold is not rounded down to whole reports."""
        return self._rejects(n, self._edge(n))

    def ceiling(self, n: int) -> float:
        """What it is at most: the threshold is rounded down by a whole report."""
        return self._rejects(n, max(self._edge(n) - 1, 0))

    def _accepted(self, n: int) -> int:
        """The most reports for the other share with which the first is not rejected."""
        return math.floor(self._edge(n))

    def _edge(self, n: int) -> float:
        edge = n * self.null + self.critical * math.sqrt(n * self.null * (1 - self.null))
        return edge + 1e-12 * (1 + edge)  # a count on the edge does not reject

    def _rejects(self, n: int, accepted: float) -> float:
        """Probability that over `accepted` of n reports speak for the other share, never rounded above the truth."""
        if accepted >= n:
            return 0.0
        return max(float(betainc(accepted + 1, n - accepted, self.truth)) - _ROUNDING, 0.0)

    def first(self, power: float) -> int:
        """The smallest n that reaches this power; larger ones may miss it again.

        Blocks of n are dismissed together: none in a block has more power than its largest n with the mildest
        threshold.
        """
        n, step = 1, 1
        while True:
            if self._rejects(n + step - 1, self._accepted(n)) < power:
                n, step = n + step, 2 * step
            elif step > 1:
                step //= 2
            else:
                return n

    def stays(self, power: float) -> int:
        """The smallest n that reaches this power and from which on every larger one does."""
        n, step = self._surely(power), 1
        while n > 1:
            step = min(step, n - 1)
            if self._block(n - step, n - 1) >= power:
                n, step = n - step, 2 * step
            elif step > 1:
                step //= 2
            else:
                return n
        return 1

    def keeps(self, power: float, n: int) -> bool:
        """Whether n people, and every larger number, reach this power."""
        surely, step = self._surely(power), 1
        while n < surely:
            if self._block(n, n + step - 1) >= power:
                n, step = n + step, 2 * step
            elif step > 1:
                step //= 2
            else:
                return False
        return True

    def _block(self, least: int, most: int) -> float:
        """No n from least to most has less power than this: the fewest people with the strictest threshold."""
        return self._rejects(least, self._accepted(most))

    def _surely(self, power: float) -> int:
        """An n from which on Chernoff's bound, exp(-n KL(threshold / n || truth)), which falls, keeps the power."""
        n = 1
        while True:
            edge = self.null + self.critical * math.sqrt(self.null * (1 - self.null) / n)
            if (edge := edge * (1 + 1e-9)) < self.truth:  # a little stricter: no rounding can matter
                distance = rel_entr(edge, self.truth) + rel_entr(1 - edge, 1 - self.truth)
                if math.exp(-n * distance) <= 1 - power:
                    return n
            n *= 2


def score_tests(
    matrix: npt.NDArray[np.float64], prevalence: float, detect: float, critical: float
) -> tuple[ScoreTest, ScoreTest] | None:
    """The test by reports of two kinds on two answers, and that of asking directly; None where it is another."""
    if matrix.shape != (2, 2) or critical < 0 or prevalence == detect:
        return None
    tests = []
    for no, yes in (matrix[:, 1], (0.0, 1.0)):
        null, truth = (float(no + (yes - no) * share) for share in (prevalence, detect))
        tests.append(ScoreTest(*((null, truth) if null < truth else (1 - null, 1 - truth)), critical))
    return tests[0], tests[1]
