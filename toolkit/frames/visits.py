"""`Visits`: how often each person was counted, so that a promise about people holds."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from toolkit.core.checks import refuse, whole


class Visits:
    """Counts people: each once a period, and in the first `per_person` periods in which they come.

    What a person adds depends on that person's own records alone: a `RunningTotal` with the same `per_person`
    then promises about people. A record without a name (None, NaN) is nobody's, and is not counted.

    Parameters
    ----------
    per_person : in how many periods one person is counted at most.
    seen : how often each was counted before, from `seen` of another one, to go on after a restart.

    Examples
    --------
    >>> visits = Visits(2)
    >>> visits.count(["ann", "bob", "ann"]), visits.count(["ann"]), visits.count(["ann", "bob"])
    (2, 1, 1)
    """

    def __init__(self, per_person: int, seen: Mapping[Any, int] | None = None) -> None:
        self.per_person = whole(per_person, "per_person")
        self._seen: dict[Hashable, int] = dict(seen or {})

    @property
    def seen(self) -> dict[Hashable, int]:
        """How often each person was counted: as confidential as the data."""
        return dict(self._seen)

    def count(self, people: Iterable[Any]) -> int:
        """How many people of a period are counted; one entry a record, in any order."""
        if isinstance(people, str | bytes):
            refuse("`people` must be a list of names", "one text", "its letters would be people", TypeError)
        present = {name for name in people if _is_name(name)}
        counted = [name for name in present if self._seen.get(name, 0) < self.per_person]
        for name in counted:
            self._seen[name] = self._seen.get(name, 0) + 1
        return len(counted)

    def __repr__(self) -> str:
        return f"<Visits: each person in at most {self.per_person:,} periods>"


def _is_name(value: Any) -> bool:
    """Whether a record says whose it is: what is missing is not equal to itself, and no value is an error."""
    try:
        hash(value)
        return value is not None and bool(value == value)
    except Exception:
        return False
