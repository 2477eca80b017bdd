"""What the tests of the ledger spend with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from toolkit.budget.ledger import Ledger
from toolkit.core.loss import Loss

Opener = Callable[..., Ledger]


@dataclass
class Counter:
    """A mechanism that adds no noise and counts how often it was asked."""

    loss: Loss
    drawn: list[Any] = field(default_factory=list)
    before: Callable[[], None] = lambda: None

    def release(self, value: Any, rng: np.random.Generator | None = None) -> Any:
        self.before()
        self.drawn.append((value, rng))
        return value
