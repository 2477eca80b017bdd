"""`Curator`: a confidential frame and a ledger. Every verb describes a release; `_run` charges before it reads."""

import hashlib
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from toolkit.budget.ledger import Ledger
from toolkit.central.release import Preview
from toolkit.central.selection import Exponential
from toolkit.core.arrays import DataFrame, Label
from toolkit.core.checks import ENDS, Number, choice, explains, fills, refuse, untold
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng
from toolkit.curator import counts, keys, moments, quantiles, robust
from toolkit.curator.release import CHANGED, Price, Query, Release, Unit, preview_of
from toolkit.frames.conditions import Where
from toolkit.frames.engines import cells
from toolkit.frames.frame import Frame, as_list
from toolkit.frames.persons import Caps, Persons
from toolkit.frames.sums import BoundsByColumn, BoundsLike, By, Missing, grouping

if TYPE_CHECKING:
    from toolkit.central.robust.estimators import Huber

Result = TypeVar("Result")
_LONGEST_LABEL = 200
_WHY = {
    "neighbors": 'neighbors="replace" promises for when one person\'s record changes, and the number of rows '
    'is public; neighbors="add_remove" for when one person comes or goes',
    "bounds": "values are clamped to `bounds` and the noise is made for them; read from the data they would "
    "tell its extremes, so say what is possible, bounds=(0, 100), or pay for `curator.bounds`",
    "estimator": "Huber(k) of toolkit.central.robust cuts values k away from the location",
    "trim": "trim=0.1 leaves out a tenth of the rows at each end",
    "epsilon": "epsilon=0.5 is the price",
    "options": "what can be chosen is public, so it is given: options=[…]",
    "sensitivity": "by how much one person moves the score decides the noise",
    "missing": "missing values are left out here",
    "bins": "where bins begin and end is public, and is not read from the data: edges=[0, 10, 20]",
    "histogram.by": 'of several columns it is a count: count(by={"city": […], "age": bands(18, 30, 65)})',
    "q": "q=0.5 is the median",
    "k": "it says how many are wanted",
    "second": "two columns vary together",
    "score": "score(frame, candidate) says how good a candidate is",
    "seed": "rng=… is for a ledger with simulated=True",
    "count": 'conditions are a mapping: count({"city": "north"}, epsilon=0.5)',
    "delta": "it belongs to unknown keys; noise is bought with epsilon or with rho",
}
_ELSEWHERE = {
    "groupby": 'a table by groups is one call: count(by={"city": ["north", "south"]}), and so is a mean',
    "value_counts": 'write count(by={"city": ["north", "south"]}), or keys(…) where they are not known',
    "describe": "each statistic is paid for by itself: mean, std, quantiles",
    **dict.fromkeys(("head", "loc", "iloc", "columns", "shape"), "rows are never shown"),
    **dict.fromkeys(("min", "max"), "extremes are single people; quantile(…, 0.01), or `bounds`"),
}
_ROWS = """
    where : mapping or callable, optional
        Which rows count: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay": MISSING}."""
_BY = """
    by : mapping, optional
        The public keys of each column that splits the table: {"region": REGIONS, "age": bands(18, 30, 65)}.
        Every key has a row, in the order given, whether or not anybody is there."""
_RNG = """
    rng : numpy.random.Generator, optional
        Only with a ledger of a simulation: what it draws is no release."""
_PRICE = f"""
    epsilon : number, optional
        The price of Laplace noise, or of a choice; exactly one of `epsilon` and `rho` is given.
    rho : number, optional
        The price of Gaussian noise, in a ledger with a Zcdp ceiling; of a choice, epsilon**2 / 8.{_RNG}"""
_BOUNDS = """
    bounds : pair of numbers
        Values are clamped to them; chosen without the data."""
_RETURNS = """

    Returns
    -------
    Estimate
        The released numbers with the error of their noise."""
_SHARED = {
    "price": _PRICE,
    "bounds": _BOUNDS,
    "where": _ROWS,
    "groups": _ROWS + _BY,
    "paid": _PRICE + _RETURNS,
    "rows": _ROWS + _PRICE + _RETURNS,
    "cells": f"""
    bounds : pair of numbers
        Values are clamped to them; chosen without the data. Of several columns by name.
    missing : "drop" or number
        Whether missing values are left out, or what they count as. Of several columns by name, or for all.
{_ROWS[1:]}{_BY}{_PRICE}{_RETURNS}""",
    "smooth": f"""{_BOUNDS}
    epsilon : number
        The price.
    missing : number
        What missing values count as.{_RNG}{_RETURNS}""",
}


@fills(**_SHARED)
class Verbs(Generic[Result]):
    """The statistics of a confidential frame. A `Curator` releases them; its `preview` says their price."""

    _frame: Frame
    _unit: Unit

    @abstractmethod
    def _run(self, release: Release[Any], rng: Rng) -> Result:
        """What becomes of a described release."""

    def _query(
        self, epsilon: Number | None, rho: Number | None, where: Where | None = None, by: By | None = None
    ) -> Query:
        rows = grouping(self._frame, where, by, self._unit.persons)
        return Query(self._frame, self._unit, Price.of(epsilon, rho), rows)

    def count(
        self,
        where: Where | None = None,
        *,
        by: By | Sequence[By] | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Result:
        """Count the rows that meet a condition, in all or in each group, for one charge.

        A column must have the value, one of a list of values, lie between two (both included), or be missing;
        all columns must. A date asks for the whole day. With OTHER as the last key of `by` nobody is left
        out. A list of tables, by=[{"region": REGIONS, "sex": SEXES}, {"region": REGIONS}, {}], is one charge,
        and its tables agree: weighted least squares makes them so, unbiased, and no longer whole. Labels say
        "(all)" for a column that a table is not split by; {} is the total.

        Parameters
        ----------
        where : mapping or callable, optional
            Which rows count: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay": MISSING}. A
            function is given a copy of one row, a dict; where it raises, it counts as False. It is trusted
            code: one that remembers rows, or looks at others, breaks the promise, and nothing could notice.
        by : mapping or list of mappings, optional
            The public keys of each column that splits the table: {"region": REGIONS, "age": bands(18, 65)}.
            Every key has a row, in the order given, whether or not anybody is there.
        %(paid)s
        """
        if isinstance(by, list | tuple):
            return self._run(counts.agreeing_counts(self._query(epsilon, rho, where), by), rng)
        return self._run(counts.count(self._query(epsilon, rho, where, by)), rng)  # type: ignore[arg-type]

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
        """Count the rows that hold each of the given options, or fall between given edges.

        Parameters
        ----------
        column : str or int
            The column.
        options : iterable, optional
            What is counted, in this order; MISSING may be one of them. Rows with other values are not counted.
        edges : iterable of numbers, optional
            Where bins begin and end; the last one includes its upper edge.
        %(rows)s
        """
        return self._run(counts.histogram(self._query(epsilon, rho, where), column, options, edges), rng)

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
        """Release the sum of a column, each value clamped to `bounds`.

        Parameters
        ----------
        column : str or int
            The column.
        %(cells)s
        """
        return self._run(counts.total(self._query(epsilon, rho, where, by), column, bounds, missing), rng)

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
        """Release the mean of a column, each value clamped to `bounds`.

        Where the number of values is private ("add_remove", missing="drop", `where` or `by`), it comes along,
        in `counts` of the estimate.

        Parameters
        ----------
        column : str, int, or list of them
            The column; several share the price evenly.
        %(cells)s
        """
        return self._run(moments.mean(self._query(epsilon, rho, where, by), column, bounds, missing), rng)

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
        """Release the sample variance of a column, each value clamped to `bounds`.

        Parameters
        ----------
        column : str or int
            The column.
        %(cells)s
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
        """Release the sample standard deviation of a column: the root of the variance, for the same price.

        Parameters
        ----------
        column : str or int
            The column.
        %(cells)s
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
        """Release the sample covariance of two columns, of rows that have both.

        Parameters
        ----------
        first : str or int
            One column.
        second : str or int
            The other.
        %(cells)s
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
        """Release the correlation of two columns, of rows that have both.

        It is NaN where a noisy variance is not above 0. Its interval is near its level, not guaranteed.

        Parameters
        ----------
        first : str or int
            One column.
        second : str or int
            The other.
        %(cells)s
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
        """Release the values below which shares `q` of the column lie: [0.1, 0.2, …, 0.9] are deciles.

        The exponential mechanism chooses them, the middle one first; all together are one charge, in all
        groups of `by`, and they never decrease along q. Equal values are told apart at random; missing ones
        are left out. How far the ranks may be off is in the notes, for up to 2**30 rows if their number is
        private: in the column's unit that depends on the data.

        Parameters
        ----------
        column : str or int
            The column.
        q : number or iterable of numbers
            Shares, each read as the nearest fraction with a denominator of at most 2**20.
        %(bounds)s
        %(groups)s
        step : number, optional
            Candidates are its multiples between the bounds: a power of two from 2**-21 to 2**-20 of their
            distance if not given; of whole numbers say step=1.
        %(paid)s
        """
        query = self._query(epsilon, rho, where, by)
        return self._run(quantiles.quantiles(query, column, q, bounds, step), rng)

    quantiles = quantile

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
        """Release the quantile at one half, or the median with noise for its smooth sensitivity.

        "exponential" leaves missing values out; nearly always it is the more precise, and it alone takes `where`, `by`
        and `rho`. "smooth" is the middle value, of an even number of rows the midpoint of two, with noise whose scale
        depends on the data and is not told; it needs "replace" and all rows, whose number is public.

        Parameters
        ----------
        column : str or int
            The column.
        %(bounds)s
        %(groups)s
        method : "exponential" or "smooth"
            How it is chosen.
        step : number, optional
            As for a quantile; only of "exponential".
        missing : number, optional
            What missing values count as; only of "smooth".
        %(paid)s
        """
        query = self._query(epsilon, rho, where, by)
        if choice(method, "method", ("exponential", "smooth")) == "smooth":
            if step is not None:
                refuse("`step` is said only for method='exponential'", step, "the other has its own grid")
            return self._run(robust.smooth(query, "median", column, bounds, missing), rng)
        if missing is not None:
            rule = "`missing` is said only for method='smooth'"
            refuse(rule, missing, "the other leaves missing values out")
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
        """Release the Huber location of a column: the values, cut at `estimator.k`, differ from it by 0 on average.

        It is chosen by inverse sensitivity; missing values are left out. Of a skewed column it is neither the
        median nor the mean: it is the target itself that the estimate names. Under "replace" a person can
        move from one group to another, so that each group has half of the price. Every group is sought on
        the whole grid, which takes about a tenth of a second: of many say a coarser `step`.

        Parameters
        ----------
        column : str or int
            The column.
        estimator : Huber
            Where values are cut.
        %(bounds)s
        %(groups)s
        step : number, optional
            Candidates are its multiples between the bounds: a power of two from 2**-17 to 2**-16 of their
            distance if not given.
        %(paid)s
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
        """Release the mean without a share of the rows at each end, with noise for its smooth sensitivity.

        It needs "replace" and all rows, whose number is public: there is no `where`. The scale of the noise
        is not told.

        Parameters
        ----------
        column : str or int
            The column.
        trim : number
            The share that is cut off at each end, below 1/2.
        %(smooth)s
        """
        return self._run(robust.trimmed_mean(self._query(epsilon, None), column, trim, bounds, missing), rng)

    def iqr(
        self, column: Label, *, bounds: BoundsLike, epsilon: Number, missing: Missing = None, rng: Rng = None
    ) -> Result:
        """Release the distance of the quartiles, with noise for its smooth sensitivity.

        The quartiles are the values of ranks n/4 and 3n/4, rounded up. It needs "replace" and all rows, whose
        number is public: there is no `where`. The scale of the noise is not told.

        Parameters
        ----------
        column : str or int
            The column.
        %(smooth)s
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
        """Find the values of a column that many people have, with noisy counts, the most frequent first.

        Nobody needs to know the keys: those whose noisy count reaches a threshold are told, and are public
        afterwards: by={"city": found.labels}. `rho` buys Gaussian noise for half of delta, better where a
        person has three keys or more. It costs an Approx loss: a ledger with a Pure or Zcdp ceiling refuses.
        How long it takes depends on the number of different keys.

        Parameters
        ----------
        column : str or int
            The column.
        delta : number
            The chance that a key of one person alone shows; the threshold follows from it.
        %(rows)s
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
        """Find limits of a column, for `bounds=`: powers of two between which many values lie.

        Values are counted by sign and power of two; a bin whose noisy count reaches a threshold is inside. Values
        beyond the limits are clamped later: an outer bin that is missed holds about as many values as the threshold.

        Parameters
        ----------
        column : str or int
            The column.
        %(where)s
        powers : pair of int
            Bins reach from 2**powers[0] to 2**powers[1].
        beta : number
            The chance that an empty bin is inside.
        %(paid)s
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
        """Find the k most frequent of the given options, the first chosen first; their counts are not released.

        Labels are the options, values their places 1 … k. A count of them is another release:
        count(by={"city": found.labels}).

        Parameters
        ----------
        column : str or int
            The column.
        k : int
            How many.
        options : iterable
            What can be chosen.
        %(rows)s
        """
        return self._run(keys.top(self._query(epsilon, rho, where), column, k, options), rng)

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
        """Choose one of the candidates, better ones with higher probability.

        The score is trusted code of the curator's own, given a copy of the frame; how far one person moves it
        is the curator's word. A score that fails, or is not finite, counts as 0 without a word: saying so
        would tell about the data.

        Parameters
        ----------
        candidates : iterable
            What can be chosen.
        score : callable
            Called with frame and candidate; higher is better.
        sensitivity : number
            How far one person can move a score.
        %(price)s

        Returns
        -------
        object
            The candidate.
        """
        query, listed = self._query(epsilon, rho), as_list(candidates, "candidates")
        mechanism = Exponential.for_epsilon(query.price.choice, sensitivity=sensitivity)
        if not listed or not callable(score):
            received = "no candidate" if not listed else type(score).__name__
            rule = "`choose` needs candidates and a score, a function of frame and candidate"
            refuse(rule, received, "the best is sought")

        def read() -> list[float]:
            table = self._frame.copy()
            return [_score(score, table, candidate) for candidate in listed]

        def draw(scores: list[float], source: Rng) -> Any:
            return listed[mechanism.choose(range(len(listed)), scores, rng=source)]

        return self._run(query.release("choice", mechanism, read, draw), rng)

    if not TYPE_CHECKING:  # so that a type checker goes on to tell which names there are

        def __getattr__(self, name: str) -> NoReturn:
            """A name that is not there, with the verb that does it."""
            verbs = ", ".join(verb for verb in dir(type(self)) if not verb.startswith("_"))
            remedy = _ELSEWHERE.get(name, "it has no other name")
            refuse(f"a curator has {verbs}", f"`{name}`", remedy, AttributeError)


@explains('Curator(frame, Ledger(Pure(1.0)), neighbors="replace")', **_WHY)
class Curator(Verbs[Estimate]):
    """Releases statistics of a confidential frame under the budget of a ledger.

    Bounds, options, edges and conditions are given by the analyst and never read from the data. A call is
    refused for what it says, for the columns' labels and types, or for the budget; then the ledger is charged;
    then the frame is read, and no cell of a table in memory decides whether an error, a warning or another
    shape appears. Labels and types are public: where a program guessed them, a single cell may have decided
    them, so write `dtype=` or `schema=` when you read a file. A number that is published every week is its
    ledger's: `curator.ledger.every(…)`.

    Parameters
    ----------
    frame : DataFrame
        A table of pandas, polars, pyarrow, DuckDB or PySpark, one row per person unless `person` is given. One
        of an engine is read anew for each release, and must not change. Its query should not be able to fail:
        if it does at some value, so does the release, and the charge remains.
    ledger : Ledger
        What pays.
    neighbors : "replace" or "add_remove"
        Whether one record changes, and the number of rows is public; or one comes or goes. An engine counts
        public rows here, before anything is charged.
    person : str or int, optional
        The column that says whose a row is, where somebody may have several; all that is promised is then
        promised to people. Rows that name nobody are not used. Join tables before, not after.
    rows : int, optional
        The most rows that are used of one person; drawn by a secret key from that person's rows alone.
    groups : int, optional
        The most groups of a table that one person's rows are used in.
    rows_in_group : int, optional
        The most rows of one person in one group.

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
    ) -> None:
        if not isinstance(ledger, Ledger):
            refuse("`ledger` must be a Ledger", type(ledger).__name__, "it pays: Ledger(Pure(1.0))", TypeError)
        self._frame, self.ledger, self.neighbors = Frame(frame), ledger, check_neighbors(neighbors)
        if (person is None) != (rows is None) or (person is None and (groups or rows_in_group)):
            rule = "`person` and `rows` must be given together, `groups` and `rows_in_group` with them"
            consequence = "without a person's column each row is a person; with one, `rows` says how many are used"
            refuse(rule, "one without the other", consequence)
        persons = n = None
        if person is not None and rows is not None:
            persons = Persons.of(self._frame, person, Caps(rows, groups, rows_in_group))
        elif self.neighbors == "replace":
            n = len(self._frame)  # public, and for an engine to count before anything is charged
        self._unit = Unit(self.neighbors, persons, n)

    def _run(self, release: Release[Any], rng: Rng) -> Any:
        """Charge, read, draw, document: in this order, whatever the statistic."""
        ledger, label = self.ledger, release.label
        if len(label) > _LONGEST_LABEL:
            digest = hashlib.sha256(label.encode()).hexdigest()
            label = f"{label[: _LONGEST_LABEL - len(digest) - 2]}… {digest}"
        source = ledger.source(rng)
        entry = ledger.charge(release.mechanism, label, **release.unit.charge)
        rule = "a frame must be readable by its engine"
        estimate = untold(lambda: release.draw(release.read(), source), rule, consequence="the charge remains")
        if estimate is CHANGED:
            rule, consequence = "the table of a curator must not change", "its noise is for that; the charge remains"
            refuse(rule, "another number of rows than it had at first", consequence, RuntimeError)
        if not isinstance(estimate, Estimate):
            return estimate
        estimate = release.document(release.describe(estimate), ledger, entry)
        return estimate if release.finish is None else release.finish(estimate)

    @property
    def preview(self) -> "Previews":
        """The same verbs, which say what a statistic would cost and how noisy it would be.

        Nothing is paid or read.

        Examples
        --------
        >>> import pandas as pd
        >>> from toolkit import Ledger, Pure
        >>> curator = Curator(pd.DataFrame({"pay": [2000.0, 3000.0]}), Ledger(Pure(1.0)), "add_remove")
        >>> round(curator.preview.mean("pay", bounds=(0, 9000), missing="drop", epsilon=0.5).se(n=1000), 3)
        18.0
        """
        return Previews(self._frame, self._unit, self.ledger)

    def __repr__(self) -> str:
        persons = self._unit.persons
        return (
            f"<Curator: columns {', '.join(self._frame.names)}; "
            f"{'' if persons is None else f'{persons.words}; '}"
            f"neighbors: {self.neighbors}; {self.ledger!r}>"
        )


@explains('Curator(frame, Ledger(Pure(1.0)), neighbors="replace").preview', **_WHY)
class Previews(Verbs[Preview]):
    """The verbs of a curator, each of which returns a `Preview`."""

    _public_name = "Curator.preview"

    def __init__(self, frame: Frame, unit: Unit, ledger: Ledger) -> None:
        self._frame, self._unit, self._ledger = frame, unit, ledger

    def _run(self, release: Release[Any], rng: Rng) -> Preview:
        self._ledger.source(rng)
        return preview_of(release, self._ledger)


def _score(score: Callable[[Any, Any], Any], table: object, candidate: object) -> float:
    try:
        value = score(table, candidate)
        key = cells.key(value)
        number = key if isinstance(key, int | float) else float(value)
        return number if math.isfinite(number) else 0
    except ENDS:
        raise
    except BaseException:
        return 0
