"""What mechanisms that add noise have in common: a preview, and the release of a value with noise."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from toolkit.central.noise.grid import Answer, Noisy, read
from toolkit.central.noise.laws import NoiseLaw
from toolkit.central.release import Preview, released
from toolkit.core.checks import Number
from toolkit.core.checks import level as check_level
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Loss
from toolkit.core.randomness import Rng, check_rng


class Additive(ABC):
    """A value goes in, the value with noise comes out. Each law adds its scale, its error, and the noise
    itself.
    """

    loss: Loss

    @property
    @abstractmethod
    def scale(self) -> float:
        """The size of the noise, in the unit of the value."""

    @abstractmethod
    def error(self, level: Number = 0.95) -> float:
        """The bound that the noise exceeds with probability at most 1 - level."""

    @abstractmethod
    def _noisy(self, answer: Answer, rng: Rng) -> tuple[Noisy, NoiseLaw]:
        """The value with noise, and the law of what was added."""

    def preview(self, level: float = 0.95) -> Preview:
        """Scale, error and cost, before anything is spent."""
        return Preview(type(self).__name__, self.scale, self.error(level), check_level(level), self.loss)

    def integers(self, values: Sequence[int], rng: Rng = None) -> tuple[list[int], NoiseLaw]:
        """Integers of any size with whole noise, and the law of that: what a statistic is then computed
        from. The sensitivity must be at least 1.
        """
        if len(values) == 1:
            noisy, law = self._noisy(Answer(values[0], whole=True, scalar=True), check_rng(rng))
            return [cast("int", noisy)], law
        noisy, law = self._noisy(Answer(np.array(values, dtype=object), whole=True, scalar=False), check_rng(rng))
        return cast("npt.NDArray[np.int64]", noisy).tolist(), law

    def release(self, value: object, rng: Rng = None, *, labels: Sequence[str | int] | None = None) -> Estimate:
        """The value with noise: an `Estimate` that covers the noise and says what it cost.

        Parameters
        ----------
        value : an int, a float, a Fraction, or a one-dimensional array or list of them; finite.
        rng : None draws from the operating system; a Generator is for simulation: the estimate says so, and
        claims no loss.
        labels : a name for each entry.
        """
        source, answer = check_rng(rng), read(value)
        noisy, law = self._noisy(answer, source)
        return released(noisy, law, loss=self.loss, method=type(self).__name__, rng=source, labels=labels)
