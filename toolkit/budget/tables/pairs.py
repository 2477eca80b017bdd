"""`PairVerbs`: covariances and correlations of two columns, in all or by groups."""

from functools import partial
from typing import Any

from toolkit.budget.frames.conditions import Where
from toolkit.budget.frames.rows import By
from toolkit.budget.frames.summing import Variable, summed_pairs
from toolkit.budget.tables.estimated import Part, of_column, unit
from toolkit.budget.tables.query import Query
from toolkit.budget.tables.spreads import SpreadVerbs
from toolkit.central import statistics
from toolkit.central.steps import PAIR_BITS
from toolkit.central.tables import coding, found
from toolkit.core.checks import Number
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng

_LINEAR = ("NaN where a noisy variance is not above 0; the interval follows the linear part of the error",)


class PairVerbs(SpreadVerbs):
    """Statistics of two columns: rows that have both."""

    def covariance(
        self,
        first: str | int,
        second: str | int,
        *,
        bounds: Any,
        missing: Any = None,
        where: Where | None = None,
        by: By | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Estimate:
        """The sample covariance of two columns, with bounds for each by name: {"x": (0, 10), "y": (0, 1)}.

        `missing` is "drop" (rows without both are left out), or a number to put there, or one for each column
        by name. `where`, `by`, `epsilon` and `rho` as for a count.
        """
        query = self._query(where, by, epsilon, rho, rng)
        (x, y), query = self._both("covariance", (first, second), bounds, missing, query)
        read = partial(summed_pairs, self._frame, query.rows, (x, y))
        if (n := self._known(query.rows, x, y)) is not None:
            return self._linear(statistics.covariance((x.limits, y.limits), n), read, query)
        wide = unit(x.limits)[0] * unit(y.limits)[0]
        part = Part("", self._pairs(x, y, query), read, found.covariance, wide, 0.0, (-2 * wide, 2 * wide))
        return self._coded([part], query)

    def correlation(
        self,
        first: str | int,
        second: str | int,
        *,
        bounds: Any,
        missing: Any = None,
        where: Where | None = None,
        by: By | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Estimate:
        """The correlation of two columns; all else as for the covariance. NaN where a noisy variance is not
        above 0; its interval is near its level, not guaranteed.
        """
        query = self._query(where, by, epsilon, rho, rng)
        (x, y), query = self._both("correlation", (first, second), bounds, missing, query, _LINEAR)
        read = partial(summed_pairs, self._frame, query.rows, (x, y))
        part = Part("", self._pairs(x, y, query), read, found.correlation, 1.0, 0.0, (-1.0, 1.0))
        return self._coded([part], query)

    def _both(
        self,
        what: str,
        labels: tuple[Any, Any],
        bounds: Any,
        missing: Any,
        query: Query,
        notes: tuple[str, ...] = (),
    ) -> tuple[list[Variable], Query]:
        names = [self._frame.name(label) for label in labels]
        read = [
            self._variable(label, of_column(bounds, label, "bounds"), of_column(missing, label, "missing"), PAIR_BITS)
            for label in labels
        ]
        (_, how), (_, also) = read
        how = how if how == also else f"{names[0]}: {how}, {names[1]}: {also}"
        query = query.named(f"{what} of {names[0]} and {names[1]}", how, notes)
        variables = [variable for variable, _ in read]
        return variables, query.clamped(*zip(names, variables, strict=True))

    def _pairs(self, x: Variable, y: Variable, query: Query) -> coding.Coding:
        spans = x.limits.span, y.limits.span
        return coding.pairs(spans, query.rows.cells, self.neighbors, self._caps)
