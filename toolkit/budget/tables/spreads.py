"""`SpreadVerbs`: means and variances of a curator, in all or by groups.

Where the number of values is private, which it is in every group, all that is needed is released as one
vector with one charge, and the number of values comes along.
"""

from functools import partial
from typing import Any

import numpy as np

from toolkit.budget.frames.conditions import Where
from toolkit.budget.frames.rows import By
from toolkit.budget.frames.summing import Variable, summed
from toolkit.budget.record import Entry
from toolkit.budget.tables.counting import CountingVerbs
from toolkit.budget.tables.estimated import Part, estimated, of_column, per_value, unit
from toolkit.budget.tables.preview import Noise
from toolkit.budget.tables.query import Query
from toolkit.central import statistics
from toolkit.central.steps import SQUARE_BITS
from toolkit.central.tables import coding, found
from toolkit.central.tables.found import Moments
from toolkit.central.tables.parts import Composed
from toolkit.core.arrays import Array
from toolkit.core.checks import Number, refuse
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.randomness import Rng


class SpreadVerbs(CountingVerbs):
    """Statistics that are computed from several noisy sums of each cell."""

    def mean(
        self,
        column: str | int | list[str | int],
        *,
        bounds: Any,
        missing: Any = None,
        where: Where | None = None,
        by: By | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Estimate:
        """The mean of a column, each value clamped to `bounds`; `missing` is "drop" or a number to put there.

        `where`, `by`, `epsilon` and `rho` as for a count. Where the number of values is private
        ("add_remove", missing="drop", `where` or `by`), it comes along, in `counts` of the estimate. A list
        of columns, with bounds for each by name, shares the charge evenly among them.
        """
        query = self._query(where, by, epsilon, rho, rng)
        if isinstance(column, list):
            return self._means(column, bounds, missing, query)
        variable, how = self._variable(column, bounds, missing)
        name = self._frame.name(column)
        query = query.named(f"mean of {name}", how).clamped((name, variable))
        if (n := self._known(query.rows, variable)) is not None:
            return self._sums(statistics.mean(variable.limits, n), variable, 1, query)
        return self._coded([self._mean(variable, query)], query)

    def variance(
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
        """The sample variance of a column, each value clamped to `bounds`; all else as for the mean."""
        query = self._query(where, by, epsilon, rho, rng)
        return self._variance_of("variance", column, bounds, missing, query)

    def std(
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
        """The sample standard deviation of a column: the root of the variance, which costs the same; a noisy
        variance below 0 counts as 0.
        """
        query = self._query(where, by, epsilon, rho, rng)
        squared = self._variance_of("standard deviation", column, bounds, missing, query)
        return squared.map(_root, _root_slope)

    def _variance_of(self, what: str, column: Any, bounds: Any, missing: Any, query: Query) -> Estimate:
        variable, how = self._variable(column, bounds, missing, SQUARE_BITS)
        name = self._frame.name(column)
        query = query.named(f"{what} of {name}", how).clamped((name, variable))
        limits, rows = variable.limits, query.rows
        if (n := self._known(rows, variable)) is not None:
            return self._sums(statistics.variance(limits, n), variable, 2, query)
        laplace, half = query.spending.laplace, unit(limits)[0]
        code = coding.second_order(limits.span, rows.cells, self.neighbors, self._caps, laplace=laplace)
        read = partial(summed, self._frame, rows, variable, 2)
        return self._coded([Part("", code, read, found.variance, half**2, 0.0, (0.0, 2 * half**2))], query)

    def _means(self, columns: list[Any], bounds: Any, missing: Any, query: Query) -> Estimate:
        if len(set(columns)) < len(columns) or not columns:
            received = "repetitions" if columns else "none"
            refuse("`column` must list distinct columns, and at least one", received, "each is paid for")
        names = [self._frame.name(label) for label in columns]
        read = [
            self._variable(label, of_column(bounds, label, "bounds"), of_column(missing, label, "missing"))
            for label in columns
        ]
        hows = list(dict.fromkeys(how for _, how in read))
        said = [f"{name}: {how}" for name, (_, how) in zip(names, read, strict=True)]
        query = query.named(f"mean of {', '.join(names)}", hows[0] if len(hows) == 1 else ", ".join(said))
        variables = [variable for variable, _ in read]
        query = query.clamped(*zip(names, variables, strict=True))
        return self._coded([self._mean(variable, query) for variable in variables], query)

    def _mean(self, variable: Variable, query: Query) -> Part:
        limits, rows = variable.limits, query.rows
        laplace = query.spending.laplace
        code = coding.first_order(limits.span, rows.cells, self.neighbors, self._caps, laplace=laplace)
        read = partial(summed, self._frame, rows, variable, 1)
        ends = float(limits.low), float(limits.high)
        return Part(self._frame.name(variable.label), code, read, found.mean, *unit(limits), ends)

    def _coded(self, parts: list[Part], query: Query) -> Estimate:
        """Several whole numbers a cell, with noise, and what is found from them."""
        share = query.spending.part(len(parts))
        mechanisms = tuple(share.mechanism(part.coding.sensitivity) for part in parts)
        mechanism = mechanisms[0] if len(parts) == 1 else Composed(mechanisms)

        def computed() -> Any:
            entries = [part.coding.entries(part.read()) for part in parts]
            return entries[0] if len(parts) == 1 else entries

        receipt: list[Entry] = []

        def noise() -> Noise:
            return Noise(query.rows.cells * len(parts), per_value=per_value(parts, mechanisms))

        value = self._paid(mechanism, query.label, computed, noise, receipt)
        values = [value] if len(parts) == 1 else value
        moments = [
            Moments.of(part.coding, *one.integers(entries, query.rng))
            for part, one, entries in zip(parts, mechanisms, values, strict=True)
        ]
        paid: dict[str, Any] = {
            "loss": mechanism.loss if query.rng is None else None,
            "method": type(mechanisms[0]).__name__,
            "notes": () if query.rng is None else (SIMULATED,),
        }
        estimate, counts = estimated(parts, moments, query.rows, **paid)
        along = self._told(counts, f"values behind {query.label}", query.how, query.rows.notes)
        told = self._told(estimate, query.label, query.how, query.notes, counts=along)
        return self._documented(told, mechanism, receipt, query.label, query.rows, query.limits, query.how)


def _root(variance: Array) -> Array:
    return np.asarray(np.sqrt(np.maximum(variance, 0)))


def _root_slope(variance: Array) -> Array:
    return np.asarray(0.5 / np.sqrt(np.where(variance > 0, variance, np.nan)))
