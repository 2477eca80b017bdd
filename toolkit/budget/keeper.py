"""`Keeper`: what every verb of a curator stands on: the frame, the ledger, and the order of charging and
reading.
"""

import hashlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from toolkit.budget.charges import Priced
from toolkit.budget.facts import documented, query_facts
from toolkit.budget.frames.conditions import Where
from toolkit.budget.frames.people import People
from toolkit.budget.frames.rows import By, Rows, rows_of
from toolkit.budget.ledger import Ledger
from toolkit.budget.record import Entry
from toolkit.central.steps import Bounds
from toolkit.central.tables.caps import ONE, Caps
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.checks import refuse
from toolkit.core.estimate import Estimate
from toolkit.core.frames.columns import Column
from toolkit.core.frames.frame import Frame

_LONGEST_LABEL = 200


class Keeper:
    """A frame that is read only after a ledger was charged; the verbs are those of `Curator`."""

    def __init__(
        self,
        frame: Any,
        ledger: Ledger,
        neighbors: str,
        *,
        person: str | int | None = None,
        rows: int | None = None,
        groups: int | None = None,
        rows_in_group: int | None = None,
    ) -> None:
        if not isinstance(ledger, Ledger):
            refuse("`ledger` must be a Ledger", type(ledger).__name__, "it pays: Ledger(Pure(1.0))", TypeError)
        self._frame, self.ledger, self.neighbors = Frame(frame), ledger, check_neighbors(neighbors)
        self._people: People | None = None
        if self.neighbors == "replace" and person is None:
            len(self._frame)  # public, and for an engine to count before anything is charged
        if (person is None) != (rows is None) or (person is None and (groups or rows_in_group)):
            refuse(
                "`person` and `rows` must be given together, `groups` and `rows_in_group` with them",
                "one without the other",
                "without a person's column each row is a person; with one, `rows` says how many are used",
            )
        if person is not None and rows is not None:
            self._people = People.of(self._frame, person, Caps(rows, groups, rows_in_group))

    @property
    def _caps(self) -> Caps:
        return ONE if self._people is None else self._people.caps

    def _numbers(self, column: str | int) -> Column:
        """A column of numbers, for statistics of one row a person; those of several rows go through
        `_rows`.
        """
        if self._people is not None:
            refuse(
                "this statistic needs one row a person",
                f"a curator with {self._people.words}",
                "how far several rows move it is not known here; count, sum, mean and spread have tables",
            )
        return self._summable(column)

    def _summable(self, column: str | int) -> Column:
        return self._frame.column(column).adds_up(f"column {self._frame.name(column)}")

    def _rows(self, where: Where | None = None, by: By | None = None) -> Rows:
        """Which rows count and in which cell each is: refused for what the arguments say alone."""
        return rows_of(self._frame, where, by, self._people)

    def _public_n(self) -> int | None:
        """The number of rows, where that is public: under "replace", if each is a person."""
        return len(self._frame) if self.neighbors == "replace" and self._people is None else None

    def _unit(self) -> dict[str, Any]:
        """Whom the promise is about, for a document."""
        whom = "each row is a person" if self._people is None else self._people.sentence
        return {"neighbors": self.neighbors, "person": whom}

    @property
    def _about(self) -> dict[str, Any]:
        """The unit of what is charged, and what is used of one."""
        if self._people is None:
            return {"unit": "row"}
        return {"unit": "person", "terms": self._people.words}

    def _documented(
        self,
        estimate: Estimate,
        mechanism: Any,
        receipt: list[Entry],
        label: str,
        rows: Rows | None = None,
        limits: Mapping[str, Bounds] | None = None,
        how: str = "",
        **more: Any,
    ) -> Estimate:
        """The estimate with all that is public about it, for `publish`."""
        query = query_facts(label, rows, limits, how) | more
        return documented(estimate, self.ledger, receipt[0], mechanism, self._unit(), query)

    def _paid(
        self,
        mechanism: Priced,
        label: str,
        compute: Callable[[], Any],
        _noise: Callable[[], object] | None = None,
        receipt: list[Entry] | None = None,
    ) -> Any:
        """Charge, then compute. Nothing that happens then comes out, but that it failed: the charge remains.
        The noise is said for previews, which stop here; `receipt` gets the entry of the charge, for a
        document.
        """
        entry = self.ledger.charge(mechanism, shortened(label), neighbors=self.neighbors, **self._about)
        if receipt is not None:
            receipt.append(entry)
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

    def _told(self, estimate: Estimate, label: str, how: str, notes: tuple[str, ...] = (), **more: Any) -> Estimate:
        names = (label,) if len(estimate.labels) == 1 and not estimate.axes else estimate.labels
        whom = "" if self._people is None else self._people.words
        method = ", ".join(
            part for part in (label, how, whom, f"{estimate.method} mechanism", f"neighbors: {self.neighbors}") if part
        )
        said: dict[str, Any] = {"labels": names, "n": self._public_n(), "method": method}
        return replace(estimate, notes=(*estimate.notes, *notes), **said, **more)

    def __repr__(self) -> str:
        return (
            f"<Curator: columns {', '.join(self._frame.names)}; "
            f"{'' if self._people is None else f'{self._people.words}; '}"
            f"neighbors: {self.neighbors}; {self.ledger!r}>"
        )


def shortened(label: str) -> str:
    """A label as the ledger takes it: one that is too long ends with the SHA-256 of all of it."""
    if len(label) <= _LONGEST_LABEL:
        return label
    digest = hashlib.sha256(label.encode()).hexdigest()
    return f"{label[: _LONGEST_LABEL - len(digest) - 2]}… {digest}"
