"""A mean or a variance when the number of values is private: noisy sums divided by a noisy number."""

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from toolkit.central.laplace import Laplace
from toolkit.central.steps import Bounds
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Interval
from toolkit.core.loss import Loss, Zcdp
from toolkit.core.randomness import Rng


@dataclass(frozen=True)
class Composed:
    """Several mechanisms as one: their losses add up, and each draws for its own value."""

    parts: tuple[Laplace, ...]

    @property
    def loss(self) -> Loss:
        return reduce(add, (part.loss for part in self.parts))

    @property
    def zcdp(self) -> Zcdp:
        """The parts' concentrated costs added up: less than what the sum of their epsilons would cost."""
        return Zcdp(sum((Fraction(part.loss.to_zcdp().amount) for part in self.parts), Fraction(0)))

    def release(self, value: Any, rng: Rng = None) -> tuple[Estimate, ...]:
        """One estimate a part."""
        return tuple(part.release(number, rng=rng) for part, number in zip(self.parts, value, strict=True))


@dataclass(frozen=True, eq=False)
class Quotient:
    """Intervals for offset + factor * (second / first), or for the sample variance when there is a third.

    Each noisy number lies in its own interval with a share of the error probability; the limits are the
    extremes over all combinations, so the level is guaranteed, whatever the noise.
    """

    parts: tuple[Estimate, ...]
    factor: float
    offset: float
    limits: tuple[float, float]
    methods: tuple[str, ...] = ("noise",)

    def interval(self, level: float, method: str) -> Interval:
        share = 1 - (1 - level) / len(self.parts)
        boxes = [part.interval(share) for part in self.parts]
        number = np.maximum([float(boxes[0].low), float(boxes[0].high)], _fewest(self.parts))
        means = np.divide.outer([float(boxes[1].low), float(boxes[1].high)], number)
        low, high = means.min(), means.max()
        if len(boxes) == 3:
            squares = np.divide.outer([float(boxes[2].low), float(boxes[2].high)], number)
            least = 0.0 if low <= 0 <= high else min(low**2, high**2)
            low, high = squares.min() - max(low**2, high**2), squares.max() - least
        ends = np.clip(self.offset + self.factor * np.array([low, high]), *self.limits)
        if len(boxes) == 3:
            ends *= number[::-1] / (
                number[::-1] - 1
            )  # the more values, the less their sample variance is above their variance
        return Interval(float(ends[0]), float(ends[1]), level, method)


def quotient(
    parts: tuple[Estimate, ...], *, factor: float, offset: float, limits: tuple[float, float]
) -> Estimate:
    """The mean (two parts: number, sum) or the sample variance (three: number, sum, sum of squares), cut to
    what is possible.

    `limits` are those of the mean, or of the variance before it is multiplied with n / (n - 1).
    """
    number = max(float(parts[0]), _fewest(parts))
    mean = float(parts[1]) / number
    value, slopes, freedom = mean, [mean, 1.0], number
    if len(parts) == 3:
        value, freedom = float(parts[2]) / number - mean**2, number - 1
        slopes = [value * number / freedom - mean**2, 2 * mean, 1.0]
    errors = [slope * float(np.max(part.se)) for slope, part in zip(slopes, parts, strict=True)]
    se = abs(factor) * float(np.linalg.norm(errors)) / freedom
    first = parts[0]
    losses = [part.loss for part in parts if part.loss is not None]  # simulated parts claim none
    return Estimate(
        value=float(np.clip(offset + factor * value, *limits)) * (number / freedom),
        se=se,
        labels=("value",),
        cov=np.array([[se**2]]),
        n=None,
        loss=reduce(add, losses) if len(losses) == len(parts) else None,
        covers="noise",
        method=first.method,
        notes=first.notes,
        basis=Quotient(parts, factor, offset, limits),
    )


def _fewest(parts: tuple[Estimate, ...]) -> float:
    """A mean needs one value, a sample variance two; a noisy number may be below."""
    return float(len(parts) - 1)


def from_moments(noisy: tuple[Estimate, ...], bounds: Bounds) -> Estimate:
    """A mean from number and sum, a variance from number, sum and sum of squares: of centred steps, as
    `statistics.moments`.
    """
    low, high = float(bounds.low), float(bounds.high)
    if len(noisy) == 2:
        middle = float((bounds.least + -(-bounds.span // 2)) * bounds.step)
        return quotient(noisy, factor=float(bounds.step), offset=middle, limits=(low, high))
    return quotient(noisy, factor=float(bounds.step**2), offset=0.0, limits=(0.0, (high - low) ** 2 / 4))
