"""`ReleaseFacts`: what is public about a release, as plain values for a document. Nothing of it is data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol


class Register(Protocol):
    """Where a publication is written down: a ledger's list of what was published."""

    def add(self, entry: int, file: str, digest: str) -> None: ...


@dataclass(frozen=True, eq=False)
class ReleaseFacts:
    """Public facts about a release: mappings of names to texts, numbers, truth values, lists and mappings.

    Parameters
    ----------
    query : statistic, by, where, bounds, missing: what was asked.
    unit : neighbors, and whom the promise is about.
    noise : mechanism, sensitivity, scale, standard deviation in a cell.
    ledger : which ledger, which entry, what it cost, the totals before and after, the ceiling.
    steps : what was done to the released numbers afterwards, in order.
    register : where a publication of it is written down.
    """

    query: Mapping[str, Any]
    unit: Mapping[str, Any]
    noise: Mapping[str, Any]
    ledger: Mapping[str, Any]
    steps: tuple[str, ...] = ()
    register: Register | None = field(default=None, repr=False)

    def after(self, step: str) -> "ReleaseFacts":
        """The same facts, and one more thing that was done to the numbers.

        >>> ReleaseFacts({}, {}, {}, {}).after("rounded").steps
        ('rounded',)
        """
        return replace(self, steps=(*self.steps, step))
