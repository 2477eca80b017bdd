"""Several mechanisms that are paid for together."""

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Loss, Zcdp
from toolkit.core.randomness import Rng


@dataclass(frozen=True)
class Composed:
    """Several mechanisms as one: their losses add up, and each draws for its own value."""

    parts: tuple[Laplace | Gaussian, ...]

    @property
    def loss(self) -> Loss:
        return reduce(add, (part.loss for part in self.parts))

    @property
    def zcdp(self) -> Zcdp:
        """The parts' concentrated costs added up: less than what the sum of their epsilons would cost."""
        costs = (part.zcdp if isinstance(part, Gaussian) else part.loss.to_zcdp() for part in self.parts)
        return Zcdp(sum((Fraction(cost.amount) for cost in costs), Fraction(0)))

    def facts(self) -> dict[str, Any]:
        """What a document says of it."""
        parts = [part.facts() | {"loss": str(part.loss)} for part in self.parts]
        words = f"{type(self.parts[0]).__name__} noise for each column"
        return {"mechanism": type(self).__name__, "words": words, "parts": parts}

    def release(self, value: Any, rng: Rng = None) -> tuple[Estimate, ...]:
        """One estimate a part."""
        return tuple(part.release(number, rng=rng) for part, number in zip(self.parts, value, strict=True))
