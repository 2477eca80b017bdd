"""`Keeper`: what every verb of a curator stands on: the frame, the ledger, and the order of charging and
reading.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from toolkit.budget.charges import Priced
from toolkit.budget.frames.columns import Column
from toolkit.budget.frames.conditions import Where
from toolkit.budget.frames.frame import Frame
from toolkit.budget.frames.rows import By, Rows, rows_of
from toolkit.budget.ledger import Ledger
from toolkit.budget.record import Entry
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.checks import refuse
from toolkit.core.estimate import Estimate

_LONGEST_LABEL = 200


class Keeper:
    """A frame that is read only after a ledger was charged; the verbs are those of `Curator`."""

    def __init__(self, frame: Any, ledger: Ledger, neighbors: str) -> None:
        self._frame, self.ledger, self.neighbors = Frame(frame), ledger, check_neighbors(neighbors)

    def _numbers(self, column: str | int) -> Column:
        return self._frame.column(column).adds_up(f"column {self._frame.name(column)}")

    def _rows(self, where: Where | None = None, by: By | None = None) -> Rows:
        """Which rows count and in which cell each is: refused for what the arguments say alone."""
        return rows_of(self._frame, where, by)

    def _public_n(self) -> int | None:
        return len(self._frame) if self.neighbors == "replace" else None

    def _charged(self, mechanism: Priced, label: str) -> Entry:
        short = label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"
        return self.ledger.charge(mechanism, short, neighbors=self.neighbors)

    def _paid(self, mechanism: Priced, label: str, compute: Callable[[], Any]) -> Any:
        """Charge, then compute. Nothing that happens then comes out, but that it failed: the charge
        remains.
        """
        self._charged(mechanism, label)
        return self._computed(compute)

    @staticmethod
    def _computed(compute: Callable[[], Any]) -> Any:
        """What is computed of the frame, after it was paid for."""
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return compute()
        except Exception:
            failed = True
        if failed:  # outside of `except`, so that the error, which may quote data, is not chained
            refuse(
                "a frame must be readable by its engine",
                "a failure that is not told",
                "the charge remains",
                RuntimeError,
            )

    def _told(self, estimate: Estimate, label: str, how: str, notes: tuple[str, ...] = ()) -> Estimate:
        names = (label,) if len(estimate.labels) == 1 else estimate.labels
        method = ", ".join(
            part
            for part in (label, how, f"{estimate.method} mechanism", f"neighbors: {self.neighbors}")
            if part
        )
        return replace(
            estimate, labels=names, n=self._public_n(), method=method, notes=(*estimate.notes, *notes)
        )

    def __repr__(self) -> str:
        return (
            f"<Curator: columns {', '.join(self._frame.names)}; neighbors: {self.neighbors}; {self.ledger!r}>"
        )
