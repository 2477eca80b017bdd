"""`Query`: what is asked of a table: which rows, in which cells, for which price. Public, and checked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from toolkit.core.checks import exact, refuse
from toolkit.core.randomness import Rng
from toolkit.curator.release import Data, Mechanism, Price, Release, Unit
from toolkit.frames.bounds import SUM_BITS, Bounds, written
from toolkit.frames.column import Column
from toolkit.frames.frame import Frame
from toolkit.frames.groups import Grouping
from toolkit.frames.persons import ONE, Caps
from toolkit.frames.sums import Variable


@dataclass(frozen=True, eq=False)
class Query:
    """Public arguments, checked: nothing of the frame was read."""

    frame: Frame
    unit: Unit
    price: Price
    rows: Grouping

    @property
    def neighbors(self) -> str:
        return self.unit.neighbors

    @property
    def caps(self) -> Caps:
        """The most that is used of one person."""
        return ONE if self.unit.persons is None else self.unit.persons.caps

    def public_n(self, *variables: Variable) -> int | None:
        """The number of values, where it is public: all rows, under "replace", and none is dropped."""
        dropped = any(variable.fill is None for variable in variables)
        return None if dropped or self.rows.is_part else self.unit.n

    def numbers(self, label: Any) -> Column:
        """The column, if it holds numbers."""
        return self.frame.column(label).adds_up(f"column {self.frame.name(label)}")

    def variable(self, label: Any, bounds: Any, missing: Any, bits: int = SUM_BITS) -> tuple[Variable, str]:
        """A column clamped to bounds, and what becomes of its missing values in words."""
        limits = Bounds.of(bounds, bits)
        self.numbers(label)
        fill, words = resolve_missing(missing, limits)
        return Variable(label, limits, fill), words

    def release(
        self,
        statistic: str,
        mechanism: Mechanism,
        read: Callable[[], Data],
        draw: Callable[[Data, Rng], Any],
        *,
        limits: Mapping[str, Bounds] | None = None,
        query: Mapping[str, Any] | None = None,
        notes: tuple[str, ...] = (),
        **more: Any,
    ) -> Release[Data]:
        """The release of a statistic of these rows: `more` as `Release` has it."""
        rows, facts = self.rows, dict[str, Any]()
        if rows.axes:
            facts |= {"by": {axis.name: list(axis.labels) for axis in rows.axes}, "keys": "given"}
        if rows.where.words:
            facts["where"] = rows.where.words
        if limits:
            facts["bounds"] = {
                name: {part: str(getattr(one, part)) for part in ("low", "high", "step")}
                for name, one in limits.items()
            }
        notes, facts = (*notes, *rows.notes), facts | dict(query or {})
        return Release(statistic, mechanism, self.unit, read, draw, facts, notes=notes, **more)


def resolve_missing(missing: Any, limits: Bounds) -> tuple[Fraction | None, str]:
    """What a missing value counts as, None if it is dropped, and the words for it."""
    if isinstance(missing, str) and missing == "drop":
        return None, "missing dropped"
    if missing is None:
        remedy = 'write missing="drop" to leave them out, or the number to put there'
        refuse("`missing` must say what a missing value counts as", "nothing", remedy)
    if isinstance(missing, str) and not any(map(str.isdigit, missing)):
        remedy = 'write missing="drop" to leave them out'
        refuse('`missing` must be "drop" or a number', repr(missing)[:40], remedy)
    fill = exact(missing, "missing")
    if not limits.low <= fill <= limits.high:
        rule = '`missing` must be "drop" or a number within the bounds'
        refuse(rule, missing, "values beyond them are clamped")
    return fill, f"missing counted as {written(float(fill))}"


def by_column(given: Any, label: Any, name: str) -> Any:
    """What is given for one of several columns: bounds by name, what is missing by name or for all."""
    if isinstance(given, Mapping):
        if label not in given:
            refuse(f"`{name}` must have an entry for each column", "fewer", "each column has its own")
        return given[label]
    if name == "bounds":
        remedy = 'write bounds={"x": (0, 1), "y": (0, 100)}'
        refuse("`bounds` of several columns must be given by name", type(given).__name__, remedy, TypeError)
    return given
