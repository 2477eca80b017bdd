"""`CountingVerbs`: counts, sums and histograms of a curator, in all or by groups, each for one charge."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from toolkit.budget.frames.asked import listed_once
from toolkit.budget.frames.conditions import Where
from toolkit.budget.frames.missing import settled
from toolkit.budget.frames.rows import By, Rows, keys_of
from toolkit.budget.frames.summing import Variable, counted, summed
from toolkit.budget.record import Entry
from toolkit.budget.tables.margins import MarginVerbs
from toolkit.budget.tables.preview import Noise
from toolkit.budget.tables.query import Query
from toolkit.budget.tables.spending import Spending
from toolkit.central import statistics
from toolkit.central.release import released
from toolkit.central.statistics import Statistic
from toolkit.central.steps import SUM_BITS, Bounds, Sums
from toolkit.central.tables import caps
from toolkit.core.arrays import Codes
from toolkit.core.checks import Number, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.frames.frame import Frame
from toolkit.core.randomness import Rng


class CountingVerbs(MarginVerbs):
    """Statistics of which each cell is one whole number with noise."""

    def count(
        self,
        where: Where | None = None,
        *,
        by: By | Sequence[By] | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Estimate:
        """How many rows meet a condition: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
        MISSING}; in all, or in each group: by={"region": REGIONS, "age": bands(18, 30, 45, 65)}.

        A column must have the value, one of a list of values, lie between two (both included), or be missing;
        all columns must. A date asks for the whole day. `where` may also be a function of one row, a dict: it
        is given copies, and does not hold where it fails. It is trusted code of the curator's own: one that
        remembers rows, or looks at others, breaks the promise, and nothing here could notice.

        The keys of `by` are public: every one has a row, in the order given, whether or not anybody is there;
        with OTHER at the end nobody is left out. A table costs what one number costs. `epsilon` buys Laplace
        noise, `rho` Gaussian noise (in a ledger with a Zcdp ceiling).

        A list of tables, by=[{"region": REGIONS, "sex": SEXES}, {"region": REGIONS}, {}], is one charge, and
        its tables agree: weighted least squares makes them so, unbiased, and no longer whole. Their labels
        say "(all)" for a column that a table is not split by; {} is the total.
        """
        if isinstance(by, list | tuple):
            return self._margins(by, where, epsilon, rho, rng)
        query = self._query(where, cast("By | None", by), epsilon, rho, rng)
        if not query.rows.some and self._public_n() is not None:
            refuse(
                "`where` or `by` must be given under 'replace'",
                "none",
                "the number of all rows is public there: len(frame)",
            )
        return self._counted(query.named("count"))

    def histogram(
        self,
        column: str | int,
        *,
        options: Iterable[Any] | None = None,
        edges: Iterable[Number] | None = None,
        where: Where | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Estimate:
        """How many rows hold each of the given options, or fall between given edges; all others are not
        counted.

        Options are counted in the order given; MISSING may be one of them. A date counts the whole day. It is
        a count by one column.
        """
        if (options is None) == (edges is None):
            received = "none" if options is None else "both"
            refuse("exactly one of `options` and `edges` must be given", received, "they say what is counted")
        query = self._query(where, None, epsilon, rho, rng).named(f"histogram of {self._frame.name(column)}")
        if options is not None:
            axis: Any = keys_of(self._frame, column, options, "options")
        else:
            self._summable(column)
            if isinstance(edges, int):
                refuse(
                    "`edges` must be a list",
                    "a number",
                    "where bins end is public: edges=[0, 10, 20]",
                    TypeError,
                )
            edge = statistics.Edges.of(listed_once(edges, "edges"))
            axis = Edges(column, self._frame.name(column), edge)
        return self._counted(replace(query, rows=replace(query.rows, axes=(axis,))))

    def sum(
        self,
        column: str | int,
        *,
        bounds: Any,
        missing: Any = None,
        where: Where | None = None,
        by: By | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Estimate:
        """The sum of a column, each value clamped to `bounds`; `missing` is "drop" (adds nothing) or a number
        to put there. `where`, `by`, `epsilon` and `rho` as for a count.
        """
        name = self._frame.name(column)
        variable, how = self._variable(column, bounds, missing)
        query = self._query(where, by, epsilon, rho, rng).named(f"sum of {name}", how).clamped((name, variable))
        n = self._known(query.rows, variable)
        statistic = (
            statistics.totals(variable.limits, query.rows.cells, self.neighbors, self._caps)
            if n is None
            else statistics.total(variable.limits, self.neighbors, n)
        )
        return self._sums(statistic, variable, 1, query)

    def _query(self, where: Where | None, by: By | None, epsilon: Number | None, rho: Number | None, rng: Rng) -> Query:
        """All that is public, read once and checked."""
        return Query(self._rows(where, by), Spending.of(epsilon, rho), self.ledger.source(rng))

    def _variable(self, column: Any, bounds: Any, missing: Any, bits: int = SUM_BITS) -> tuple[Variable, str]:
        limits = Bounds.of(bounds, bits)
        self._summable(column)
        fill, how = settled(missing, limits)
        return Variable(column, limits, fill), how

    def _known(self, rows: Rows, *variables: Variable) -> int | None:
        """The number of values, where that is public."""
        dropped = any(variable.fill is None for variable in variables)
        return None if rows.some or dropped else self._public_n()

    def _counted(self, query: Query) -> Estimate:
        reach = caps.counts(query.rows.cells, self.neighbors, self._caps)
        statistic = Statistic(int(reach.l1), int, squared=int(reach.l2_squared))
        return self._linear(statistic, partial(counted, self._frame, query.rows), query)

    def _sums(self, statistic: Statistic, variable: Variable, order: int, query: Query) -> Estimate:
        def read() -> list[Sums]:
            return [Sums(*cell) for cell in summed(self._frame, query.rows, variable, order)]

        return self._linear(statistic, read, query)

    def _linear(self, statistic: Statistic, read: Callable[[], Iterable[Any]], query: Query) -> Estimate:
        """One whole number a cell, with noise."""
        mechanism, rows = query.spending.mechanism(statistic.reach(self.neighbors)), query.rows
        receipt: list[Entry] = []
        value = self._paid(
            mechanism,
            query.label,
            lambda: [statistic.of(cell) for cell in read()],
            lambda: Noise(rows.cells, float(statistic.factor) * mechanism.whole_law.sd),
            receipt,
        )
        noisy, law = mechanism.integers(value, query.rng)
        found = released(
            noisy[0] if not rows.axes else _numbers(noisy),
            law,
            loss=mechanism.loss,
            method=type(mechanism).__name__,
            rng=query.rng,
            labels=rows.labels if rows.axes else None,
        )
        found = replace(found, axes=rows.names) if rows.axes else found
        if statistic.factor != 1 or statistic.offset != 0:
            found = found.rescaled(float(statistic.factor), float(statistic.offset))
        told = self._told(found, query.label, query.how, query.notes)
        return self._documented(told, mechanism, receipt, query.label, rows, query.limits, query.how)


@dataclass(frozen=True, eq=False)
class Edges:
    """A column that is split at given numbers."""

    label: Any
    name: str
    edges: statistics.Edges

    @property
    def labels(self) -> tuple[str, ...]:
        return self.edges.names

    def codes(self, frame: Frame) -> Codes:
        return self.edges.codes(frame.column(self.label).floats())


def _numbers(noisy: list[int]) -> Any:
    """Whole numbers of 64 bits, or floats where some are longer."""
    short = min(noisy) >= -(2**63) and max(noisy) < 2**63
    return np.array(noisy, dtype=np.int64) if short else np.array([float(number) for number in noisy])
