"""`Query`: what all statistics of a table are asked with: which rows, in which cells, for how much."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from toolkit.budget.frames.rows import Rows
from toolkit.budget.frames.summing import Variable
from toolkit.budget.tables.spending import Spending
from toolkit.central.steps import Bounds
from toolkit.core.randomness import Rng


@dataclass(frozen=True, eq=False)
class Query:
    """Public arguments, checked: nothing of the frame was read.

    Parameters
    ----------
    rows : which rows count, and in which cell.
    spending : what it may cost.
    rng : None, or a generator where the ledger is a simulation's.
    label : what it is, for the ledger and the estimate.
    how : what becomes of missing values.
    notes : what a reader must not miss.
    limits : what the values of each column are clamped to, by its name.
    """

    rows: Rows
    spending: Spending
    rng: Rng
    label: str = ""
    how: str = ""
    notes: tuple[str, ...] = ()
    limits: Mapping[str, Bounds] = field(default_factory=dict)

    def named(self, what: str, how: str = "", notes: tuple[str, ...] = ()) -> "Query":
        return replace(self, label=f"{what}{self.rows.words}", how=how, notes=(*self.rows.notes, *notes))

    def clamped(self, *variables: tuple[str, Variable]) -> "Query":
        """The same, with the limits of its columns."""
        return replace(self, limits={name: variable.limits for name, variable in variables})
