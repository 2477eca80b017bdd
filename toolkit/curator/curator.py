"""`Curator`: releases from a confidential frame. Each method describes a release; `_run` charges, then reads."""

import hashlib
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from toolkit.budget.ledger import Ledger
from toolkit.central.release import Preview
from toolkit.central.selection import Exponential
from toolkit.core.arrays import DataFrame, Label
from toolkit.core.checks import PROGRAM_EXITS, Number, check_choice, check_neighbors, explain_call, quietly, reject
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng
from toolkit.curator import counts, keys, moments, quantiles, robust, synthetic
from toolkit.curator.rehearsal import ReleaseRehearsal, rehearse_release
from toolkit.curator.release import CHANGED, PlannedRelease, Price, Query, Unit, preview_of
from toolkit.curator.weights import Weights, reject_weights
from toolkit.frames.conditions import Where
from toolkit.frames.engines import cells
from toolkit.frames.frame import Frame, as_list
from toolkit.frames.persons import Caps, Persons
from toolkit.frames.sums import BoundsByColumn, BoundsLike, By, Missing, parse_grouping

if TYPE_CHECKING:
    from toolkit.central.robust.estimators import Huber

Result = TypeVar("Result")
_LONGEST_LABEL = 200
_CLAMPED = ("sum", "mean", "variance", "std", "covariance", "correlation", "quantile", "median")
_WHY = {
    "neighbors": 'neighbors="replace" protects against a change of one person\'s record, and the number '
    'of rows is public; neighbors="add_remove" protects against one person coming or going',
    "bounds": "values are clamped to `bounds`, which scale the noise; bounds read from the data would reveal its "
    "extremes, so write those that are possible, bounds=(0, 100), or pay for `curator.bounds`",
    "estimator": "write estimator=Huber(k), from toolkit.central.robust; it clips values k away from the location",
    "trim": "trim=0.1 drops a tenth of the rows at each end",
    "epsilon": "epsilon=0.5 is the privacy loss of the release",
    "options": "options are public and not read from the data: options=[…]",
    "sensitivity": "the noise depends on how far one person can move the score: sensitivity=1",
    "missing": "missing values are dropped here",
    "bins": "the edges of bins are public and not read from the data: edges=[0, 10, 20]",
    "histogram.by": 'for several columns write count(by={"city": […], "age": bands(18, 30, 65)})',
    "q": "q=0.5 is the median",
    "k": "k=10 finds the ten most frequent options",
    "columns": 'the options of each column are public: columns={"region": ["north", "south"], "sex": ["f", "m"]}',
    "second": "a covariance needs two columns",
    "score": "score(frame, candidate) returns a number, higher for better candidates",
    "seed": "rng=… is for a ledger with simulated=True",
    "count": 'conditions are a mapping: count({"city": "north"}, epsilon=0.5)',
    "weights": 'weights="w" names a column; write weight_bounds=(0, 50) and weights_are_fixed=True with it',
    "weight_bounds": "weights are clipped to public bounds, which scale the noise: weight_bounds=(0, 50)",
    "delta": "only `keys` takes `delta`; epsilon or rho determines the noise",
}
_ALTERNATIVES = {
    "groupby": 'write count(by={"city": ["north", "south"]}) for a table by groups; mean and others also accept `by`',
    "value_counts": 'write count(by={"city": ["north", "south"]}), or keys(…) if the values are unknown',
    "describe": "each statistic has its own price: mean, std, quantile",
    **dict.fromkeys(
        ("join", "merge"),
        "in a join of confidential tables, one person could change many rows; add public columns with "
        "toolkit.frames.with_lookup before you make a curator",
    ),
    **dict.fromkeys(("head", "loc", "iloc", "columns", "shape"), "rows are never shown"),
    **dict.fromkeys(("min", "max"), "an extreme is a single person's value; write quantile(…, 0.01), or `bounds`"),
}


class ReleaseMethods(Generic[Result]):
    """The methods that describe statistics of a confidential frame, for a `Curator` and its `preview`."""

    _frame: Frame
    _unit: Unit
    _weights: Weights | None = None

    @abstractmethod
    def _run(self, release: PlannedRelease[Any], rng: Rng) -> Result:
        """Release a described statistic, or preview it."""

    def _query(
        self,
        epsilon: Number | None,
        rho: Number | None,
        where: Where | None = None,
        by: By | None = None,
        *,
        has_weighted_form: bool = False,
    ) -> Query:
        if self._weights is not None and not has_weighted_form:
            reject_weights()
        rows = parse_grouping(self._frame, where, by, self._unit.persons)
        return Query(self._frame, self._unit, Price.of(epsilon, rho), rows, self._weights)

    def count(
        self,
        where: Where | None = None,
        *,
        by: By | Sequence[By] | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Result:
        """Count the rows that meet a condition, in total or in each group, for one charge.

        A condition is a value, a list of values, a range with both ends included, or MISSING; it must hold in every
        named column. A date matches the whole day. With OTHER as the last key of `by`, the table includes every row. A
        list of tables, by=[{"region": REGIONS, "sex": SEXES}, {"region": REGIONS}, {}], costs one charge. Its tables
        are reconciled by weighted least squares: they agree with each other and are unbiased, but their cells are not
        whole numbers. If a table is not split by a column, the label of this column is "(all)"; {} is the total.

        Parameters
        ----------
        where : mapping or callable, optional
            The condition that rows must meet: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
            MISSING}. A function receives a copy of one row as a dict; if it raises an exception, the row is not
            counted. The function is trusted code: a function that remembers rows or uses other data breaks the
            guarantee, and this is not detected.
        by : mapping or list of mappings, optional
            The public keys of each column that splits the table: {"region": REGIONS, "age": bands(18, 65)}. The table
            has a row for every key, in the given order, even if the key does not occur in the frame.
        epsilon : number, optional
            The epsilon of the Laplace noise or exponential mechanism. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the Gaussian noise or of the exponential mechanism (epsilon**2 / 8). The ledger must have a Zcdp
            ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        if isinstance(by, list | tuple):
            return self._run(counts.agreeing_counts(self._query(epsilon, rho, where), by), rng)
        query = self._query(epsilon, rho, where, by, has_weighted_form=True)  # type: ignore[arg-type]
        return self._run(counts.count(query), rng)

    def histogram(
        self,
        column: Label,
        *,
        options: Iterable[Any] | None = None,
        edges: Iterable[Number] | None = None,
        where: Where | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Result:
        """Count the rows with each of the given options, or in bins with the given edges.

        Parameters
        ----------
        column : str or int
            The column.
        options : iterable, optional
            The values to count, in this order; MISSING may be one of them. Rows with other values are not counted.
        edges : iterable of numbers, optional
            The edges of the bins. The last bin includes its upper edge.
        where : mapping or callable, optional
            The condition that rows must meet: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
            MISSING}.
        epsilon : number, optional
            The epsilon of the Laplace noise or exponential mechanism. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the Gaussian noise or of the exponential mechanism (epsilon**2 / 8). The ledger must have a Zcdp
            ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        query = self._query(epsilon, rho, where, has_weighted_form=True)
        return self._run(counts.histogram(query, column, options, edges), rng)

    def sum(
        self,
        column: Label,
        *,
        bounds: BoundsLike,
        missing: Missing = None,
        where: Where | None = None,
        by: By | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Result:
        """Release the sum of a column, with each value clamped to `bounds`.

        Parameters
        ----------
        column : str or int
            The column.
        bounds : pair of numbers, or mapping
            Public limits to which values are clamped; for several columns, a mapping from column to limits.
        missing : "drop", number or mapping
            The treatment of missing values: "drop", or a number that replaces them. For several columns, it may be a
            mapping.
        where : mapping or callable, optional
            The condition that rows must meet: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
            MISSING}.
        by : mapping, optional
            The public keys of each column that splits the table: {"region": REGIONS, "age": bands(18, 30, 65)}. The
            table has a row for every key, in the given order, even if the key does not occur in the frame.
        epsilon : number, optional
            The epsilon of the Laplace noise or exponential mechanism. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the Gaussian noise or of the exponential mechanism (epsilon**2 / 8). The ledger must have a Zcdp
            ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        query = self._query(epsilon, rho, where, by, has_weighted_form=True)
        return self._run(counts.total(query, column, bounds, missing), rng)

    def mean(
        self,
        column: Label | list[Label],
        *,
        bounds: BoundsByColumn,
        missing: Missing = None,
        where: Where | None = None,
        by: By | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Result:
        """Release the mean of a column, with each value clamped to `bounds`.

        If the number of values is private ("add_remove", missing="drop", `where` or `by`), it is released together with
        the mean, as the attribute `counts` of the estimate.

        Parameters
        ----------
        column : str, int, or list of them
            The column, or a list of columns, which share the budget evenly.
        bounds : pair of numbers, or mapping
            Public limits to which values are clamped; for several columns, a mapping from column to limits.
        missing : "drop", number or mapping
            The treatment of missing values: "drop", or a number that replaces them. For several columns, it may be a
            mapping.
        where : mapping or callable, optional
            The condition that rows must meet: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
            MISSING}.
        by : mapping, optional
            The public keys of each column that splits the table: {"region": REGIONS, "age": bands(18, 30, 65)}. The
            table has a row for every key, in the given order, even if the key does not occur in the frame.
        epsilon : number, optional
            The epsilon of the Laplace noise or exponential mechanism. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the Gaussian noise or of the exponential mechanism (epsilon**2 / 8). The ledger must have a Zcdp
            ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        query = self._query(epsilon, rho, where, by, has_weighted_form=True)
        return self._run(moments.mean(query, column, bounds, missing), rng)

    def variance(
        self,
        column: Label,
        *,
        bounds: BoundsLike,
        missing: Missing = None,
        where: Where | None = None,
        by: By | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Result:
        """Release the sample variance of a column, with each value clamped to `bounds`.

        Parameters
        ----------
        column : str or int
            The column.
        bounds : pair of numbers, or mapping
            Public limits to which values are clamped; for several columns, a mapping from column to limits.
        missing : "drop", number or mapping
            The treatment of missing values: "drop", or a number that replaces them. For several columns, it may be a
            mapping.
        where : mapping or callable, optional
            The condition that rows must meet: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
            MISSING}.
        by : mapping, optional
            The public keys of each column that splits the table: {"region": REGIONS, "age": bands(18, 30, 65)}. The
            table has a row for every key, in the given order, even if the key does not occur in the frame.
        epsilon : number, optional
            The epsilon of the Laplace noise or exponential mechanism. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the Gaussian noise or of the exponential mechanism (epsilon**2 / 8). The ledger must have a Zcdp
            ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        return self._run(moments.variance(self._query(epsilon, rho, where, by), column, bounds, missing), rng)

    def std(
        self,
        column: Label,
        *,
        bounds: BoundsLike,
        missing: Missing = None,
        where: Where | None = None,
        by: By | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Result:
        """Release the sample standard deviation of a column: the root of the variance, at the same privacy loss.

        Parameters
        ----------
        column : str or int
            The column.
        bounds : pair of numbers, or mapping
            Public limits to which values are clamped; for several columns, a mapping from column to limits.
        missing : "drop", number or mapping
            The treatment of missing values: "drop", or a number that replaces them. For several columns, it may be a
            mapping.
        where : mapping or callable, optional
            The condition that rows must meet: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
            MISSING}.
        by : mapping, optional
            The public keys of each column that splits the table: {"region": REGIONS, "age": bands(18, 30, 65)}. The
            table has a row for every key, in the given order, even if the key does not occur in the frame.
        epsilon : number, optional
            The epsilon of the Laplace noise or exponential mechanism. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the Gaussian noise or of the exponential mechanism (epsilon**2 / 8). The ledger must have a Zcdp
            ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        return self._run(moments.std(self._query(epsilon, rho, where, by), column, bounds, missing), rng)

    def covariance(
        self,
        first: Label,
        second: Label,
        *,
        bounds: BoundsByColumn,
        missing: Missing = None,
        where: Where | None = None,
        by: By | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Result:
        """Release the sample covariance of two columns, from the rows that have a value in both columns.

        Parameters
        ----------
        first : str or int
            The first column.
        second : str or int
            The second column.
        bounds : pair of numbers, or mapping
            Public limits to which values are clamped; for several columns, a mapping from column to limits.
        missing : "drop", number or mapping
            The treatment of missing values: "drop", or a number that replaces them. For several columns, it may be a
            mapping.
        where : mapping or callable, optional
            The condition that rows must meet: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
            MISSING}.
        by : mapping, optional
            The public keys of each column that splits the table: {"region": REGIONS, "age": bands(18, 30, 65)}. The
            table has a row for every key, in the given order, even if the key does not occur in the frame.
        epsilon : number, optional
            The epsilon of the Laplace noise or exponential mechanism. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the Gaussian noise or of the exponential mechanism (epsilon**2 / 8). The ledger must have a Zcdp
            ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        query = self._query(epsilon, rho, where, by)
        return self._run(moments.covariance(query, (first, second), bounds, missing), rng)

    def correlation(
        self,
        first: Label,
        second: Label,
        *,
        bounds: BoundsByColumn,
        missing: Missing = None,
        where: Where | None = None,
        by: By | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Result:
        """Release the correlation of two columns, from the rows that have a value in both columns.

        The correlation is NaN if a noisy variance is not positive. The level of its interval is approximate.

        Parameters
        ----------
        first : str or int
            The first column.
        second : str or int
            The second column.
        bounds : pair of numbers, or mapping
            Public limits to which values are clamped; for several columns, a mapping from column to limits.
        missing : "drop", number or mapping
            The treatment of missing values: "drop", or a number that replaces them. For several columns, it may be a
            mapping.
        where : mapping or callable, optional
            The condition that rows must meet: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
            MISSING}.
        by : mapping, optional
            The public keys of each column that splits the table: {"region": REGIONS, "age": bands(18, 30, 65)}. The
            table has a row for every key, in the given order, even if the key does not occur in the frame.
        epsilon : number, optional
            The epsilon of the Laplace noise or exponential mechanism. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the Gaussian noise or of the exponential mechanism (epsilon**2 / 8). The ledger must have a Zcdp
            ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        query = self._query(epsilon, rho, where, by)
        return self._run(moments.correlation(query, (first, second), bounds, missing), rng)

    def quantile(
        self,
        column: Label,
        q: Number | Iterable[Number],
        *,
        bounds: BoundsLike,
        where: Where | None = None,
        by: By | None = None,
        step: Number | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Result:
        """Release quantiles of a column, such as the deciles at [0.1, 0.2, …, 0.9].

        The exponential mechanism chooses the quantiles, beginning with the middle one. All quantiles in all groups of
        `by` cost one charge. The quantiles never decrease in q. Ties are broken at random, and missing values are
        dropped. The notes bound the error of the ranks; if the number of rows is private, the bound holds for up to
        2**30 rows. The error in the unit of the column depends on the data.

        Parameters
        ----------
        column : str or int
            The column.
        q : number or iterable of numbers
            The shares, each rounded to the nearest fraction with a denominator of at most 2**20.
        bounds : pair of numbers
            Public limits to which values are clamped.
        where : mapping or callable, optional
            The condition that rows must meet: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
            MISSING}.
        by : mapping, optional
            The public keys of each column that splits the table: {"region": REGIONS, "age": bands(18, 30, 65)}. The
            table has a row for every key, in the given order, even if the key does not occur in the frame.
        step : number, optional
            The grid step: candidates are its multiples between the bounds. The default is a power of two, from 2**-21
            to 2**-20 of the distance between the bounds. Use step=1 for whole numbers.
        epsilon : number, optional
            The epsilon of the Laplace noise or exponential mechanism. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the Gaussian noise or of the exponential mechanism (epsilon**2 / 8). The ledger must have a Zcdp
            ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        query = self._query(epsilon, rho, where, by)
        return self._run(quantiles.quantiles(query, column, q, bounds, step), rng)

    def median(
        self,
        column: Label,
        *,
        bounds: BoundsLike,
        where: Where | None = None,
        by: By | None = None,
        method: str = "exponential",
        step: Number | None = None,
        missing: Missing = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Result:
        """Release the median, with the exponential mechanism or with noise scaled to its smooth sensitivity.

        "exponential" drops missing values, is nearly always more precise, and is the only method that accepts `where`,
        `by` and `rho`. "smooth" releases the middle value, or the midpoint of two values, with noise whose scale
        depends on the data and is not published. This method requires neighbors="replace" and uses all rows, whose
        number is public.

        Parameters
        ----------
        column : str or int
            The column.
        bounds : pair of numbers
            Public limits to which values are clamped.
        where : mapping or callable, optional
            The condition that rows must meet: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
            MISSING}.
        by : mapping, optional
            The public keys of each column that splits the table: {"region": REGIONS, "age": bands(18, 30, 65)}. The
            table has a row for every key, in the given order, even if the key does not occur in the frame.
        method : "exponential" or "smooth"
            The method by which the median is released.
        step : number, optional
            The grid step, as for `quantile`; only for "exponential".
        missing : number, optional
            The number that replaces missing values; only for "smooth".
        epsilon : number, optional
            The epsilon of the Laplace noise or exponential mechanism. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the Gaussian noise or of the exponential mechanism (epsilon**2 / 8). The ledger must have a Zcdp
            ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        query = self._query(epsilon, rho, where, by)
        if check_choice(method, "method", ("exponential", "smooth")) == "smooth":
            if step is not None:
                reject("`step` must be given only for method='exponential'", step, "the other method has its own grid")
            return self._run(robust.smooth(query, "median", column, bounds, missing), rng)
        if missing is not None:
            rule = "`missing` must be given only for method='smooth'"
            reject(rule, missing, "the other method leaves missing values out")
        return self._run(quantiles.quantiles(query, column, "1/2", bounds, step), rng)

    def location(
        self,
        column: Label,
        *,
        estimator: "Huber",
        bounds: BoundsLike,
        where: Where | None = None,
        by: By | None = None,
        step: Number | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Result:
        """Release the Huber location of a column, at which the deviations, clipped at `estimator.k`, sum to zero.

        The location is chosen by inverse sensitivity, and missing values are dropped. For a skewed column it estimates
        neither the median nor the mean. Under neighbors="replace" a person can move from one group to another, so each
        group gets half of the budget. Each group takes about a tenth of a second; a coarser `step` is faster.

        Parameters
        ----------
        column : str or int
            The column.
        estimator : Huber
            The estimator with its clipping constant.
        bounds : pair of numbers
            Public limits to which values are clamped.
        where : mapping or callable, optional
            The condition that rows must meet: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
            MISSING}.
        by : mapping, optional
            The public keys of each column that splits the table: {"region": REGIONS, "age": bands(18, 30, 65)}. The
            table has a row for every key, in the given order, even if the key does not occur in the frame.
        step : number, optional
            The grid step: candidates are its multiples between the bounds. The default is a power of two, from 2**-17
            to 2**-16 of the distance between the bounds.
        epsilon : number, optional
            The epsilon of the Laplace noise or exponential mechanism. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the Gaussian noise or of the exponential mechanism (epsilon**2 / 8). The ledger must have a Zcdp
            ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        query = self._query(epsilon, rho, where, by)
        return self._run(robust.location(query, column, estimator, bounds, step), rng)

    def trimmed_mean(
        self,
        column: Label,
        *,
        trim: Number,
        bounds: BoundsLike,
        epsilon: Number,
        missing: Missing = None,
        rng: Rng = None,
    ) -> Result:
        """Release the trimmed mean of a column, with noise scaled to its smooth sensitivity.

        The release requires neighbors="replace" and uses all rows, whose number is public; there is no `where`. The
        scale of the noise depends on the data and is not published.

        Parameters
        ----------
        column : str or int
            The column.
        trim : number
            The share of rows that is dropped at each end, below 1/2.
        bounds : pair of numbers
            Public limits to which values are clamped.
        epsilon : number
            The epsilon of the release.
        missing : number
            The number that replaces missing values.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        return self._run(robust.trimmed_mean(self._query(epsilon, None), column, trim, bounds, missing), rng)

    def iqr(
        self, column: Label, *, bounds: BoundsLike, epsilon: Number, missing: Missing = None, rng: Rng = None
    ) -> Result:
        """Release the interquartile range of a column, with noise scaled to its smooth sensitivity.

        The quartiles are the values of ranks n/4 and 3n/4, rounded up. The release requires neighbors="replace" and
        uses all rows, whose number is public; there is no `where`. The scale of the noise depends on the data and is
        not published.

        Parameters
        ----------
        column : str or int
            The column.
        bounds : pair of numbers
            Public limits to which values are clamped.
        epsilon : number
            The epsilon of the release.
        missing : number
            The number that replaces missing values.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        return self._run(robust.smooth(self._query(epsilon, None), "iqr", column, bounds, missing), rng)

    def keys(
        self,
        column: Label,
        *,
        delta: Number | None = None,
        where: Where | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Result:
        """Find the frequent values of a column, with noisy counts, the most frequent first.

        Values whose noisy counts reach a threshold are released. Afterwards they can be used as public keys:
        by={"city": result.labels}. With `rho`, the noise is Gaussian and uses half of delta, which is better if a
        person can have three or more keys. The loss is Approx, so a ledger with a Pure or Zcdp ceiling rejects it. The
        running time depends on the number of distinct keys.

        Parameters
        ----------
        column : str or int
            The column.
        delta : number
            The probability that the key of a single person is released; it determines the threshold.
        where : mapping or callable, optional
            The condition that rows must meet: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
            MISSING}.
        epsilon : number, optional
            The epsilon of the Laplace noise or exponential mechanism. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the Gaussian noise or of the exponential mechanism (epsilon**2 / 8). The ledger must have a Zcdp
            ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        return self._run(keys.keys(self._query(epsilon, rho, where), column, delta), rng)

    def bounds(
        self,
        column: Label,
        *,
        where: Where | None = None,
        powers: tuple[int, int] = (-31, 32),
        beta: Number = Fraction(1, 1000),
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Result:
        """Find limits of a column for `bounds=`: powers of two between which most values lie.

        Values are counted in bins by sign and power of two, and the limits enclose every bin whose noisy count reaches
        a threshold. A missed outer bin contains at most about as many values as the threshold; these values are later
        clamped.

        Parameters
        ----------
        column : str or int
            The column.
        where : mapping or callable, optional
            The condition that rows must meet: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
            MISSING}.
        powers : pair of int
            The exponents of the smallest and the largest bin.
        beta : number
            The probability that an empty bin reaches the threshold.
        epsilon : number, optional
            The epsilon of the Laplace noise or exponential mechanism. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the Gaussian noise or of the exponential mechanism (epsilon**2 / 8). The ledger must have a Zcdp
            ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        return self._run(keys.bounds(self._query(epsilon, rho, where), column, powers, beta), rng)

    def top(
        self,
        column: Label,
        k: int,
        *,
        options: Iterable[Any],
        where: Where | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Result:
        """Find the k most frequent of the given options, without their counts.

        The labels of the estimate are the options, and its values are the ranks 1 … k. To release the counts as well,
        use count(by={"city": result.labels}).

        Parameters
        ----------
        column : str or int
            The column.
        k : int
            The number of options to find.
        options : iterable
            The public options.
        where : mapping or callable, optional
            The condition that rows must meet: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
            MISSING}.
        epsilon : number, optional
            The epsilon of the Laplace noise or exponential mechanism. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the Gaussian noise or of the exponential mechanism (epsilon**2 / 8). The ledger must have a Zcdp
            ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Estimate
            The released numbers, with the standard errors of their noise.
        """
        return self._run(keys.top(self._query(epsilon, rho, where), column, k, options), rng)

    def synthesize(
        self,
        columns: Mapping[Label, Iterable[Any]],
        *,
        where: Where | None = None,
        method: str = "mst",
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Any:
        """Release a synthetic table: made-up rows that fit noisy counts of columns and of pairs of columns.

        The counts are chosen by MST or by AIM. MST measures each column and the pairs of a tree that connects all
        columns. AIM measures each column, and then round by round a column or pair that the model of the earlier
        counts fits badly. The rows are drawn from a graphical model of these counts, which needs the extra
        `synthetic`. Statistics that were not measured have no interval.

        All counts are read once, after the charge. With AIM, the number of rounds and the time depend on the released
        counts, and the models are fitted as part of the release.

        Parameters
        ----------
        columns : mapping
            The public options of each column: {"region": REGIONS, "age": bands(18, 30, 65), "pay": [MISSING, OTHER]}.
            A row is counted if it has one of the options in every column.
        where : mapping or callable, optional
            The condition that rows must meet: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
            MISSING}.
        method : "mst" or "aim"
            The method that chooses the counts. "aim" needs `rho`.
        epsilon : number, optional
            The epsilon of the whole release, with Laplace noise. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the whole release, with Gaussian noise. The ledger must have a Zcdp ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        SyntheticTable
            The synthetic rows as `frame`, and the measured counts with their errors as `marginals`.
        """
        return self._run(synthetic.synthesize(self._query(epsilon, rho, where), columns, method), rng)

    def choose(
        self,
        candidates: Iterable[Any],
        score: Callable[[Any, Any], float],
        *,
        sensitivity: Number,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Any:
        """Choose one of the candidates with the exponential mechanism.

        The score is trusted code that receives a copy of the frame, and its sensitivity is not verified. A score that
        fails or is not finite counts as 0 without a message, because a message would depend on the data.

        Parameters
        ----------
        candidates : iterable
            The public candidates.
        score : callable
            A function of the frame and a candidate; a higher score is better.
        sensitivity : number
            The largest change of a score that one person can cause.
        epsilon : number, optional
            The epsilon of the Laplace noise or exponential mechanism. Exactly one of `epsilon` and `rho` must be given.
        rho : number, optional
            The rho of the Gaussian noise or of the exponential mechanism (epsilon**2 / 8). The ledger must have a Zcdp
            ceiling.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        object
            The chosen candidate.
        """
        query, options = self._query(epsilon, rho), as_list(candidates, "candidates")
        mechanism = Exponential.for_epsilon(query.price.selection_epsilon, sensitivity=sensitivity)
        if not options or not callable(score):
            received = "no candidate" if not options else type(score).__name__
            rule = "`choose` needs candidates and a score, a function of frame and candidate"
            reject(rule, received, "write choose([1, 2], score, sensitivity=1, epsilon=0.5)")

        def read() -> list[float]:
            table = self._frame.copy()
            return [_score(score, table, candidate) for candidate in options]

        def draw(scores: list[float], source: Rng) -> Any:
            return options[mechanism.choose(range(len(options)), scores, rng=source)]

        return self._run(query.release("choice", mechanism, read, draw), rng)

    if not TYPE_CHECKING:  # type checkers report unknown names themselves

        def __getattr__(self, name: str) -> NoReturn:
            """Reject an unknown name; the message suggests the method to use."""
            methods = ", ".join(method for method in dir(type(self)) if not method.startswith("_"))
            remedy = _ALTERNATIVES.get(name, "see help(Curator)")
            reject(f"a curator has {methods}", f"`{name}`", remedy, AttributeError)


@explain_call('Curator(frame, Ledger(Pure(1.0)), neighbors="replace")', **_WHY)
class Curator(ReleaseMethods[Estimate]):
    """A curator that releases statistics of a confidential frame under the budget of a ledger.

    Bounds, options, edges and conditions are given by the analyst and never read from the data. A call can be rejected
    because of its arguments, the labels and types of columns, or the budget. Otherwise the ledger is charged, and the
    frame is read only after the charge. No cell of a table in memory can cause an error, a warning or a result of a
    different shape. Labels and types are public. If a program inferred the types, a single cell may have determined
    them, so pass `dtype=` or `schema=` when you read a file. For a number that is published every week, use
    `curator.ledger.every(…)`.

    Parameters
    ----------
    frame : DataFrame
        A table of pandas, polars, pyarrow, DuckDB or PySpark, with one row per person unless `person` is given. A table
        of a query engine is read again for each release and must not change. If the query fails because of a value, the
        release fails, and the charge remains.
    ledger : Ledger
        The ledger that is charged.
    neighbors : "replace" or "add_remove"
        "replace" protects against a change of one record. The number of rows is then public, and a query engine counts
        the rows when the curator is created, before any charge. "add_remove" protects against adding or removing one
        record.
    person : str or int, optional
        The column that identifies people, if a person can have several rows. The guarantee then protects people instead
        of rows. Rows with a missing identifier are not used. Tables must be joined before they are passed.
    rows : int, optional
        The largest number of rows that are used per person. The sample of a person's rows depends on a secret key and
        on this person's rows alone.
    groups : int, optional
        The largest number of groups of a table in which one person's rows are used.
    rows_in_group : int, optional
        The largest number of rows of one person in one group.
    weights : str or int, optional
        The column of sampling weights. The methods `count`, `histogram`, `sum` and `mean` then estimate the population,
        with an error that accounts for sampling and noise, and the other methods are refused.
    weight_bounds : pair of numbers
        Public limits to which weights are clipped; the upper limit scales the noise. A missing weight counts as the
        lower limit.
    weights_are_fixed : bool
        The statement that each weight depends on its own row alone, as the weights of a sampling design do. Weights
        that are calibrated on the data do not: one person's row moves many of them.
    deff : number, optional
        A public design effect of the sample, with which strata and clusters are accounted for. Without it, the sampling
        variance is estimated from noisy squares, as for a sample with replacement.

    Examples
    --------
    >>> import pandas as pd
    >>> from toolkit import Ledger, Pure, bands, between
    >>> curator = Curator(pd.DataFrame({"age": [21, 34, 45, 28] * 500}), Ledger(Pure(1.0)), neighbors="replace")
    >>> curator.mean("age", bounds=(18, 100), missing="drop", epsilon=0.5).loss
    Pure(0.5)
    >>> curator.count({"age": between(30, 39)}, epsilon=0.25).labels
    ('count where age between 30 and 39',)
    >>> ages = curator.count(by={"age": bands(18, 30, 65)}, epsilon=0.125)
    >>> ages.axes, ages.labels
    (('age',), ('18 to under 30', '30 to 65'))
    >>> curator.ledger.remaining
    Pure(0.125)
    """

    def __init__(
        self,
        frame: DataFrame,
        ledger: Ledger,
        neighbors: str,
        *,
        person: Label | None = None,
        rows: int | None = None,
        groups: int | None = None,
        rows_in_group: int | None = None,
        weights: Label | None = None,
        weight_bounds: BoundsLike | None = None,
        weights_are_fixed: bool = False,
        deff: Number | None = None,
    ) -> None:
        if not isinstance(ledger, Ledger):
            reject("`ledger` must be a Ledger", type(ledger).__name__, "write Ledger(Pure(1.0))", TypeError)
        self._frame, self.ledger, self.neighbors = Frame(frame), ledger, check_neighbors(neighbors)
        self._weights = Weights.of(self._frame, weights, weight_bounds, deff, are_fixed=weights_are_fixed)
        if (person is None) != (rows is None) or (person is None and (groups or rows_in_group)):
            rule = "`person` and `rows` must be given together, `groups` and `rows_in_group` with them"
            consequence = 'write person="id", rows=3; without `person` each row is a person'
            reject(rule, "one without the other", consequence)
        persons = n = None
        if person is not None and rows is not None:
            persons = Persons.of(self._frame, person, Caps(rows, groups, rows_in_group))
        elif self.neighbors == "replace":
            n = len(self._frame)  # the public number of rows, which a query engine counts before any charge
        self._unit = Unit(self.neighbors, persons, n)
        self._given_frame = frame
        self._settings: dict[str, Any] = {
            "person": person,
            "rows": rows,
            "groups": groups,
            "rows_in_group": rows_in_group,
            "weights": weights,
            "weight_bounds": weight_bounds,
            "weights_are_fixed": weights_are_fixed,
            "deff": deff,
        }

    def _run(self, release: PlannedRelease[Any], rng: Rng) -> Any:
        """Charge the ledger, then read the frame, draw the noise and document the release."""
        ledger, label = self.ledger, release.label
        if len(label) > _LONGEST_LABEL:
            digest = hashlib.sha256(label.encode()).hexdigest()
            label = f"{label[: _LONGEST_LABEL - len(digest) - 2]}… {digest}"
        source = ledger.source(rng)
        entry = ledger.charge(release.mechanism, label, **release.unit.charge)
        rule = "a frame must be readable by its engine"
        estimate = quietly(lambda: release.draw(release.read(), source), rule, consequence="the charge remains")
        if estimate is CHANGED:
            rule, consequence = "the table of a curator must not change", "make a new Curator; the charge remains"
            reject(rule, "a different number of rows", consequence, RuntimeError)
        if not isinstance(estimate, Estimate):
            return estimate
        estimate = release.document(release.describe(estimate), ledger, entry)
        return estimate if release.finish is None else release.finish(estimate)

    @property
    def preview(self) -> "Previews":
        """The same methods, which return the cost and the noise of a statistic without a charge.

        Examples
        --------
        >>> import pandas as pd
        >>> from toolkit import Ledger, Pure
        >>> curator = Curator(pd.DataFrame({"pay": [2000.0, 3000.0]}), Ledger(Pure(1.0)), "add_remove")
        >>> round(curator.preview.mean("pay", bounds=(0, 9000), missing="drop", epsilon=0.5).se(n=1000), 3)
        18.0
        """
        return Previews(self._frame, self._unit, self.ledger, self._weights)

    def rehearse(
        self,
        frame: DataFrame,
        statistic: str,
        *columns: Any,
        bounds: Sequence[BoundsByColumn],
        epsilon: Iterable[Number] | None = None,
        rho: Iterable[Number] | None = None,
        runs: int = 100,
        rng: Rng = None,
        **options: Any,
    ) -> ReleaseRehearsal:
        """Measure the errors of noise and of clamping on a public frame, for several bounds and prices.

        Nothing is charged, and the confidential frame is not read. Nothing protects the public frame: it may be the
        published data of an earlier year, or data that were made up. The errors apply to the confidential frame as far
        as its number of rows and its values are similar.

        Parameters
        ----------
        frame : DataFrame
            A public table with the columns of the release.
        statistic : str
            The name of a method: "sum", "mean", "variance", "std", "covariance", "correlation", "quantile" or "median".
        *columns : str or int
            The positional arguments of this method: `rehearse(old, "quantile", "pay", 0.5, …)`.
        bounds : list
            The choices of bounds, such as [(0, 50), (0, 100)].
        epsilon : list of numbers, optional
            The prices as epsilon.
        rho : list of numbers, optional
            The prices as rho.
        runs : int
            The number of simulated releases for each choice of bounds and price.
        rng : numpy.random.Generator, optional
            A generator for results that can be repeated; the default is the operating system's randomness.
        **options
            Further arguments of the method: `missing`, `where`, `by`.

        Returns
        -------
        ReleaseRehearsal
            The errors, with `to_frame()`, `best` and `plot()`.

        Examples
        --------
        >>> import pandas as pd
        >>> from toolkit import Ledger, Pure
        >>> curator = Curator(pd.DataFrame({"age": [21, 34, 45, 28] * 500}), Ledger(Pure(1.0)), neighbors="replace")
        >>> old = pd.DataFrame({"age": [23, 39, 80, 31] * 500})
        >>> curator.rehearse(old, "mean", "age", bounds=[(18, 50), (18, 100)], epsilon=[1], missing="drop")
        <ReleaseRehearsal: mean of age on public data; bounds with the smallest error: epsilon 1: 18 to 100>
        """
        if frame is self._given_frame:
            rule, consequence = "a rehearsal needs a public frame", "its results are not protected"
            reject(rule, "the frame of the curator", consequence)
        name = check_choice(statistic, "statistic", _CLAMPED)
        public = Curator(frame, self.ledger, self.neighbors, **self._settings)
        method = getattr(Plans(public._frame, public._unit, public._weights), name)

        def plan(limits: object, price: Mapping[str, Number]) -> PlannedRelease[Any]:
            planned: PlannedRelease[Any] = method(*columns, bounds=limits, **price, **options)
            return planned

        column, prices = columns[0] if columns else None, {"epsilon": epsilon, "rho": rho}
        return rehearse_release(plan, public._frame, bounds, prices, column=column, runs=runs, rng=rng)

    def __repr__(self) -> str:
        persons = self._unit.persons
        return (
            f"<Curator: columns {', '.join(self._frame.names)}; "
            f"{'' if persons is None else f'{persons.description}; '}"
            f"{'' if self._weights is None else f'{self._weights.description}; '}"
            f"neighbors: {self.neighbors}; {self.ledger!r}>"
        )


class Plans(ReleaseMethods[PlannedRelease[Any]]):
    """The methods of a curator, each of which returns the description of a release."""

    def __init__(self, frame: Frame, unit: Unit, weights: Weights | None) -> None:
        self._frame, self._unit, self._weights = frame, unit, weights

    def _run(self, release: PlannedRelease[Any], rng: Rng) -> PlannedRelease[Any]:  # noqa: ARG002
        return release


@explain_call('Curator(frame, Ledger(Pure(1.0)), neighbors="replace").preview', **_WHY)
class Previews(ReleaseMethods[Preview]):
    """The methods of a curator, each of which returns a `Preview`."""

    _public_name = "Curator.preview"

    def __init__(self, frame: Frame, unit: Unit, ledger: Ledger, weights: Weights | None = None) -> None:
        self._frame, self._unit, self._ledger, self._weights = frame, unit, ledger, weights

    def _run(self, release: PlannedRelease[Any], rng: Rng) -> Preview:
        self._ledger.source(rng)
        return preview_of(release, self._ledger)


def _score(score: Callable[[Any, Any], Any], table: object, candidate: object) -> float:
    try:
        value = score(table, candidate)
        key = cells.key(value)
        number = key if isinstance(key, int | float) else float(value)
        return number if math.isfinite(number) else 0
    except PROGRAM_EXITS:
        raise
    except BaseException:
        return 0
