"""What the tests of the ledger spend with."""

import collections
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.budget.ledger import Ledger
from toolkit.core.loss import Loss, Pure

Opener = Callable[..., Ledger]
WORKERS = Path(__file__).with_name("race_workers.py")


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


def race(url: str, folder: Path, workers: int, kills: int, grants: int) -> None:
    """Processes charge at once, some are killed; a grant is never lost, the ceiling never passed."""
    command = [sys.executable, str(WORKERS), url, str(folder), *map(str, (workers, kills, grants, 20))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.split() == [f"{kills}", f"{workers - kills}"], done.stderr
    entries = Ledger.open(url).entries()
    assert [entry.total for entry in entries] == [Pure(Fraction(n, grants)) for n in range(1, grants + 1)]
    recorded = collections.Counter(entry.label for entry in entries)
    granted = collections.Counter(
        line for file in folder.glob("*.txt") for line in file.read_text().split("\n") if line
    )
    assert granted <= recorded
    assert recorded.total() - granted.total() <= kills  # a killed worker leaves at most one charge without a release
    assert max(recorded.values()) == 1
