"""`Estimate`: a number with its error, the sources of this error, and its privacy loss."""

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from toolkit.core.arrays import Array, ArrayLike, Label
from toolkit.core.checks import Number, check_choice, check_level, check_positive, exact_fraction, explain_call, reject
from toolkit.core.composition import parallel
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.extras import extra
from toolkit.core.inference import contrasts
from toolkit.core.inference.digits import format_estimate, format_limits
from toolkit.core.inference.fit import DesignFit
from toolkit.core.inference.intervals import (
    Affine,
    Interval,
    IntervalBasis,
    Mapped,
    Normal,
    interval_from,
    single_entry,
)
from toolkit.core.inference.significance import Significance, significance
from toolkit.core.loss import Loss
from toolkit.core.tables import Publishable, ReleaseRecord

if TYPE_CHECKING:
    import pandas as pd


_COLUMNS = ("estimate", "se", "low", "high", "empty")


def estimate_frame(rows: Sequence[tuple[Any, ...]], axes: tuple[str, ...]) -> "pd.DataFrame":
    """Make a frame from rows that hold a label and numbers; the labels are its index, with one level per axis."""
    pd = extra("pandas")
    labels = [row[0] for row in rows]
    if len(axes) > 1:
        index = pd.MultiIndex.from_tuples(labels, names=axes)
    else:
        index = pd.Index(labels, name=axes[0] if axes else None, tupleize_cols=False)
    return pd.DataFrame([row[1:] for row in rows], columns=_COLUMNS, index=index)


def cross_tab(frame: "pd.DataFrame", wide: str, axes: tuple[str, ...]) -> "pd.DataFrame":
    """Pivot the estimates so that the keys of one axis become columns, in their order."""
    if len(axes) < 2:
        reject("a cross-tab needs a table by two or more columns", f"{len(axes)}", "use to_frame() without `wide`")
    level = axes.index(check_choice(wide, "wide", axes))
    rest = [axis for axis in axes if axis != wide]
    across = frame.index.get_level_values(level).unique()
    down = frame.index.droplevel(level).unique()
    table = frame["estimate"].unstack(level=level).reindex(index=down, columns=across)
    table.index.names = rest
    return table


def text_or_int(label: Any) -> str | int:
    """Format a label; several keys are joined by commas."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else label


SIMULATED = "simulated: drawn with a generator, so without any protection; whoever knows the seed has the data"
"""The note of a result that was not drawn from the operating system's randomness."""
INDEPENDENT_GROUPS = "independent groups: the errors of both are added, which holds if nobody is in both"
INDEPENDENT_NOISE = "independent noise: the errors of both are added"
# The largest number of rows shown in a notebook: a page with a million rows would freeze the browser.
_MOST_ROWS = 1000


def _reject_operation(_: object, other: object) -> NoReturn:
    rule = "an estimate supports `-` with an estimate or a number, and `/` with an estimate"
    consequence = "use .rescaled(100) for percent, .map(…) for a function, .contrast(…) for a sum of entries"
    reject(rule, f"another operation with {type(other).__name__}", consequence, TypeError)


@explain_call(
    path='publish("pay") writes pay.csv, pay.json and pay.md',
    weights='write {"often": 1, "never": -1}',
    alpha="write level=0.95 where alpha is 0.05",
    alternative='write sides=1, direction="greater", or "less"',
    derivative="the delta method needs the slope of the function",
)
@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Publishable):
    """The common result type of local estimates, regression coefficients and central releases.

    Parameters
    ----------
    value, se : float or array
        The number and its standard error; an array has one entry per label.
    labels : tuple
        The name of each entry. In a table by several columns, a name is a tuple of keys.
    cov : array or None
        The covariance matrix of the entries; None if it would be too large.
    n : int or None
        The number of reports or records; None if that number is private.
    loss : Pure, Approx, Zcdp or None
        The privacy loss of each person.
    covers : Covers
        The sources of error that `se` and the intervals account for.
    method : str
        The method of the estimate, in a few words.
    notes : tuple of str
        Warnings and conditions for readers.
    basis : IntervalBasis, optional
        The numbers from which intervals and tests are computed.
    fit : DesignFit, optional
        The test of whether the reports are consistent with any truth; None if they always are.
    release : ReleaseFacts, optional
        The public facts of a release, for `publish`; None for an estimate that a curator did not release.
    axes : tuple of str
        The columns by which a table is split.
    counts : Estimate, optional
        The noisy number of values behind each entry, if it was released.
    origin : Origin, optional
        The estimate from whose entries a single number was computed. Two numbers with the same origin have a
        covariance, which `-` and `/` use.

    Examples
    --------
    >>> from toolkit import warner
    >>> warner("3/4").estimate_counts({"no": 600, "yes": 400})
    <Estimate 0.300 (standard error 0.031; 95 % interval 0.240 to 0.361); n = 1,000; covers ...>
    """

    value: float | Array
    se: float | Array
    labels: tuple[Any, ...]
    cov: Array | None
    n: int | None
    loss: Loss | None
    covers: Covers
    method: str = ""
    notes: tuple[str, ...] = ()
    basis: IntervalBasis | None = field(default=None)
    fit: DesignFit | None = None
    release: ReleaseRecord | None = field(default=None)
    axes: tuple[str, ...] = ()
    counts: "Estimate | None" = None
    origin: "Origin | None" = field(default=None)

    def interval(self, level: float = 0.95, method: str | None = None, *, adjust: str | None = None) -> Interval:
        """Return an interval of the given level: `low, high = estimate.interval()`.

        If the data contradict every share at this level, the interval is `empty`: its limits are NaN, and it covers no
        share. The table shows the coverage of the nominal 95 % intervals of Warner's design and the largest probability
        of an empty interval. The numbers were computed by enumerating all counts, for epsilon 0.5, 1 and 2, seven
        sample sizes from 50 to 5000 and ten prevalences from 0 to 0.5.

        ======  ======  =====  =====
        method  lowest  mean   empty
        ======  ======  =====  =====
        wilson  0.935   0.950  0.029
        exact   0.950   0.957  0.025
        bayes   0.881   0.953  0.000
        wald    0.885   0.946  0.053
        ======  ======  =====  =====

        The prior of "bayes" is flat on 0 to 1 if each share has its own reports, as with two options, the forced form,
        oracles and boxes. For any other matrix with up to 16 options, the prior is flat on all shares that sum to one,
        and the joint posterior is simulated from a fixed seed. The next table shows the coverage for two Warner
        questions (3/4) asked jointly, over the four shares, in 500 simulated surveys of 3000 people. The shares are
        (0.6, 0.15, 0.1, 0.15), and (0.7, 0.25, 0.05, 0), where a flat prior pulls the estimate away from the edge.

        ==========  ======  =====
        shares      lowest  mean
        ==========  ======  =====
        inside      0.93    0.94
        on an edge  0.86    0.90
        ==========  ======  =====

        Parameters
        ----------
        level : float
            The confidence level, strictly between 0 and 1.
        method : str, optional
            For shares estimated through a design: "wilson" (the default), "exact" (Clopper and Pearson, with guaranteed
            coverage), "bayes" (the shortest interval with this posterior probability under a flat prior, which is never
            empty) or "wald". For means whose error is estimated from the same answers: "t". For a difference: "mover".
        adjust : {"bonferroni"}, optional
            Widen the intervals so that they cover all entries together.

        Returns
        -------
        Interval
            The limits, as arrays if the estimate has several entries.
        """
        if adjust is not None:
            check_choice(adjust, "adjust", ("bonferroni",))
            level = 1 - (1 - check_level(level)) / len(self.labels)
        return interval_from(self._basis, level, method)

    def test(
        self,
        null: Number = 0,
        sides: int = 2,
        *,
        direction: str | None = None,
        method: str | None = None,
        adjust: str | None = None,
    ) -> Significance:
        """Test a value: p is at most 1 - level exactly when the interval of that level excludes the value.

        The test uses the interval before its limits are truncated to [0, 1], so that zero can be tested.

        Parameters
        ----------
        null : number
            The value that is tested; each entry is tested separately.
        sides : int
            The number of sides: 2, or 1 for a test with a direction.
        direction : {"greater", "less"}, optional
            The alternative of a one-sided test; "greater" (the default) means that the truth is above the null.
        method : str, optional
            A method of `interval`: "wilson" is the score test, and "exact" doubles the smaller tail. There is no test
            for "bayes".
        adjust : {"holm", "bonferroni"}, optional
            The adjustment of the p-values for the number of entries.

        Returns
        -------
        Significance
            The p-value and the statistic.

        Examples
        --------
        >>> from toolkit import forced
        >>> test = forced("1/6", "1/6").estimate_counts([1538, 862]).test(0.25)
        >>> round(test.statistic, 4), round(test.p, 5)
        (2.6847, 0.00726)
        """
        return significance(self._basis, self.value, self.se, null, sides, direction, method, adjust)

    def __sub__(self, other: "Estimate | float | Fraction") -> "Estimate":
        """Subtract an estimate from an independent group, another entry of the same estimate, or a number.

        >>> from toolkit import forced
        >>> women, men = (forced("1/6", "1/6").estimate_counts(counts) for counts in ([761, 469], [777, 393]))
        >>> women - men
        <Estimate 0.068 (standard error 0.029; 95 % interval 0.011 to 0.125); n = 2,400; covers ...>
        """
        if isinstance(other, Estimate):
            return difference(self, other)
        if not isinstance(other, int | float | Fraction | np.integer | np.floating):
            return NotImplemented
        number = float(exact_fraction(other, "number"))
        step, method = f"less {number:g}", f"{self.method}, " if self.method else ""
        return replace(self.rescaled(1.0, -number), method=f"{method}{step}", release=self._after(step))

    def __truediv__(self, other: "Estimate") -> "Estimate":
        """Divide by an estimate from an independent group, or by another entry of the same estimate.

        The interval is Fieller's, computed from the limits of both estimates; it has no upper limit if the denominator
        could be 0. `interval(method="log")` uses the delta method on the logarithmic scale. Test a ratio against 1.
        Both intervals were compared for a die and Warner's design, 50 to 500 people in each group and shares of 0.02 to
        0.5 (42 cells, by enumeration of all counts). Fieller's interval covers the truth in 94.8 to 96.1 % of surveys,
        and the interval on the logarithmic scale in 31 to 99 %.

        >>> from toolkit import forced
        >>> women, men = (forced("1/6", "1/6").estimate_counts(counts) for counts in ([761, 469], [777, 393]))
        >>> women / men
        <Estimate 1.27 (standard error 0.13; 95 % interval 1.04 to 1.56); n = 2,400; covers ...>
        """
        return quotient(self, other) if isinstance(other, Estimate) else _reject_operation(self, other)

    def ratio(self, top: object, bottom: object) -> "Estimate":
        """Return the ratio of two entries, with their covariance, such as a risk ratio of margins.

        Parameters
        ----------
        top, bottom : label
            The labels of the entries.

        Returns
        -------
        Estimate
            The ratio with Fieller's interval.
        """
        return self[top] / self[bottom]

    def __getitem__(self, label: object) -> "Estimate":
        """Return the entry with this label; combinations of entries use their covariances.

        >>> from toolkit import k_ary
        >>> table = k_ary(["no", "once", "often"], epsilon=2).estimate_counts([50, 30, 20])
        >>> round(table["once"].value, 3)
        0.284
        >>> (table["once"] - table["often"]).se == table.contrast({"once": 1, "often": -1}).se
        True
        """
        if label not in self.labels:
            entries = ", ".join(repr(entry) for entry in self.labels[:8]) + (", …" if len(self.labels) > 8 else "")
            remedy = ".value is the number, or the array of all entries"
            reject(f"an estimate has the entries {entries}", repr(label), remedy, LookupError)
        if np.ndim(self.value) == 0:
            return self
        index = self.labels.index(label)
        value, se = (np.asarray(part)[index].item() for part in (self.value, self.se))
        fit = (
            None
            if self.fit is None
            else replace(self.fit, p=float(np.broadcast_to(self.fit.p, len(self.labels))[index]))
        )
        return self._made_of(
            label,
            Origin(self, np.eye(1, len(self.labels), index)[0]),
            "one of its entries",
            value=value,
            se=se,
            basis=single_entry(self._basis, self.value, self.se, index),
            fit=fit,
            counts=None if self.counts is None else self.counts[label],
        )

    def _made_of(self, label: object, origin: "Origin", step: str, **numbers: Any) -> "Estimate":
        """Make an estimate of a single number that is computed from entries of `origin`."""
        cov, release = np.array([[numbers["se"] ** 2]]), self._after(step)
        return replace(self, **numbers, labels=(label,), cov=cov, axes=(), origin=origin, release=release)

    __iter__ = __array_ufunc__ = None  # an estimate is neither a sequence nor an array

    if not TYPE_CHECKING:  # a type checker must still reject these operations
        __add__ = __radd__ = __mul__ = __rmul__ = __rtruediv__ = __rsub__ = _reject_operation

    def contrast(self, weights: Mapping[Label, float] | ArrayLike) -> "Estimate":
        """Return a weighted sum of the entries, whose error follows from their covariances.

        Parameters
        ----------
        weights : sequence or mapping
            One number per entry, or a mapping such as {"never": 1, "often": -1}.

        Returns
        -------
        Estimate
            A single number.
        """
        factors = contrasts.entry_weights(weights, self.labels)
        value, se = float(factors @ np.atleast_1d(self.value)), contrasts.error(self.cov, factors)
        origin = Origin(self, factors) if self.origin is None else self.origin.scaled(float(factors[0]))
        return _weighted_sum(self, "contrast", origin, value, se)

    @property
    def _basis(self) -> IntervalBasis:
        return self.basis or Normal(self.value, self.se)

    @property
    def contradicted(self) -> bool:
        """Whether the reports contradict their design: some 95 % interval is empty, or the fit's p is below 0.05."""
        return bool(np.any(self.interval().empty)) or (self.fit is not None and self.fit.doubtful)

    def rescaled(self, factor: float, offset: float = 0.0) -> "Estimate":
        """Return the estimate in another unit: offset + factor * value.

        Parameters
        ----------
        factor : number
            The factor, above 0.
        offset : number
            The number that is added to the product.

        Returns
        -------
        Estimate
            The estimate with intervals and errors in the new unit.

        Examples
        --------
        >>> from toolkit import warner
        >>> round(warner("3/4").estimate_counts([600, 400]).rescaled(100).value)
        30
        """
        factor = float(check_positive(factor, "factor", "a negative factor would swap the limits; use .contrast(…)"))
        offset = float(exact_fraction(offset, "offset"))
        return replace(
            self,
            value=offset + factor * self.value,
            se=factor * self.se,
            cov=None if self.cov is None else factor**2 * self.cov,
            basis=Affine(self._basis, factor, offset),
            origin=None if self.origin is None else self.origin.scaled(factor),
        )

    def map(self, function: Callable[[Any], Any], derivative: Callable[[Any], Any]) -> "Estimate":
        """Return a monotone function of the estimate; its error follows from the delta method.

        The function is applied to the limits of the interval, so that the coverage does not change. A function of an
        unbiased estimate is usually biased.

        Parameters
        ----------
        function : callable
            The function, which is applied to an array.
        derivative : callable
            The derivative of the function, which is applied to an array.

        Returns
        -------
        Estimate
            The transformed estimate.

        Examples
        --------
        >>> from toolkit import warner
        >>> odds = warner("3/4").estimate_counts([600, 400]).map(lambda p: p / (1 - p), lambda p: 1 / (1 - p) ** 2)
        >>> round(odds.value, 4), round(odds.se, 4)
        (0.4286, 0.0633)
        """
        with np.errstate(all="ignore"):  # where the function is undefined, the result is NaN or infinite
            value = np.asarray(function(np.asarray(self.value)), dtype=np.float64)
            slope = np.asarray(derivative(np.asarray(self.value)), dtype=np.float64)
            se = np.abs(slope) * self.se
        return replace(
            self,
            value=value if value.ndim else float(value),
            se=se if np.ndim(se) else float(se),
            cov=None if self.cov is None else np.outer(slope, slope) * self.cov,
            method=f"a function of: {self.method}" if self.method else "a function of an estimate",
            notes=(*self.notes, "a function of an estimate: as a rule not unbiased"),
            basis=Mapped(self._basis, function),
            origin=None if self.origin is None else self.origin.scaled(float(slope)),
            release=self._after("a function of its entries"),
        )

    def to_frame(self, level: float = 0.95, *, wide: str | None = None) -> "pd.DataFrame":
        """Return a data frame with a row per label: estimate, standard error, and limits of the interval.

        If the reports could contradict their design, there are two more columns. "empty" is true if no share is
        consistent with the reports at this level, so that the limits are NaN. "fit p" is the p-value of `fit`.

        Parameters
        ----------
        level : float
            The level of the interval.
        wide : str, optional
            The column whose keys become columns, for a cross-tab of the estimates.

        Returns
        -------
        pandas.DataFrame
            The frame, with the labels as its index.
        """
        frame = estimate_frame(self._rows(level), self.axes)
        if self.whole:  # counts of people; fractional limits remain floats
            numbers = [name for name in ("estimate", "low", "high") if (frame[name] % 1 == 0).all()]
            frame[numbers] = frame[numbers].astype("int64")
        if wide is not None:
            return cross_tab(frame, wide, self.axes)
        return frame.drop(columns="empty") if self.fit is None else frame.assign(**{"fit p": self.fit.p})

    def plot(self, level: float = 0.95, ax: Any = None) -> Any:
        """Draw each entry as a dot with its interval, one row per label.

        In a table by two columns, the keys of the second share a row if there are at most four.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the intervals.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes
            The picture.

        Examples
        --------
        >>> from toolkit import k_ary
        >>> k_ary(["no", "once", "often"], epsilon=2).estimate_counts([50, 30, 20]).plot()
        <Picture: 3 entries with 95 % intervals: no 0.578259, once 0.284348, often 0.137393>
        """
        from toolkit.show.tables import table

        return table(self, level=level, ax=ax)

    @property
    def whole(self) -> bool:
        """Whether the entries are whole numbers, as counts with integer noise are."""
        return bool(np.issubdtype(np.asarray(self.value).dtype, np.integer))

    def __float__(self) -> float:
        if isinstance(self.value, np.ndarray):
            reject("only a scalar estimate is a float", f"{len(self.labels)} values", "use .value", TypeError)
        return float(self.value)

    def __repr__(self) -> str:
        rows = self.text_rows(6)
        if np.ndim(self.value) == 0:
            return f"<Estimate {self._number_text(*rows[0][1:])}; {self._footer()}>"
        parts = [
            f"{label}: {value} (se {se}{f'; {limits}' if limits.startswith('no ') else ''})"
            for label, value, se, limits in rows
        ]
        more = [f"… {len(self.labels) - 6} more"] if len(self.labels) > 6 else []
        doubt = [f"fits badly: {self.fit.words()}"] if self.fit is not None and self.fit.doubtful else []
        return f"<Estimate {'; '.join(parts + more + doubt)}; {self._footer()}>"

    def _number_text(self, value: str, se: str, limits: str) -> str:
        """Format a single number with its error and its interval."""
        if se == "—" and limits == "— to —":
            return f"{value} without an error"
        if limits.startswith("no "):
            return f"{value} (standard error {se}; {limits})"
        doubt = f"; fits badly: {self.fit.words()}" if self.fit is not None and self.fit.doubtful else ""
        return f"{value} (standard error {se}; 95 % interval {limits}{doubt})"

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th>{html.escape(str(label))}</th><td>{value}</td><td>{se}</td><td>{interval}</td></tr>"
            for label, value, se, interval in self.text_rows(_MOST_ROWS)
        )
        if len(self.labels) > _MOST_ROWS:
            cells += (
                f"<tr><td colspan='4' style='text-align:left'>… {len(self.labels) - _MOST_ROWS:,} more: "
                "see to_frame()</td></tr>"
            )
        head = "<tr><th></th><th>estimate</th><th>standard error</th><th>95 % interval</th></tr>"
        notes = "".join(f"<br>Note: {html.escape(note)}" for note in self.notes)
        return (
            f"<table><thead>{head}</thead><tbody>{cells}</tbody>"
            "<tfoot><tr><td colspan='4' "
            f"style='text-align:left'>{html.escape(self._footer())}{notes}</td></tr></tfoot></table>"
        )

    def text_rows(self, max_rows: int | None = None) -> list[tuple[str | int, str, str, str]]:
        """Format the rows with as many digits as their errors justify; whole numbers have no decimals.

        Parameters
        ----------
        max_rows : int, optional
            The maximum number of rows; by default, all rows are returned.

        Returns
        -------
        list of tuple
            Rows of label, value, standard error and 95 % interval.
        """
        whole = self.whole
        return [
            (
                text_or_int(label),
                format_estimate(value, se, whole=whole),
                format_estimate(se, se),
                self._empty_text(i) if empty else format_limits(low, high, se, whole=whole),
            )
            for i, (label, value, se, low, high, empty) in enumerate(self._rows(0.95, max_rows))
        ]

    def _empty_text(self, entry: int) -> str:
        """Return the text that is shown in place of an empty interval."""
        if self.fit is None:
            return "no value fits at 95 %"
        detail = f": {self.fit.words(entry)}" if np.ndim(self.fit.p) == np.ndim(self.value) else ""
        return f"no {self.fit.quantity} fits at 95 %{detail}"

    def _footer(self) -> str:
        """Return the last line of every display: size, sources of error, privacy loss and method."""
        privacy = "no privacy claim" if self.loss is None else f"privacy loss {self.loss}"
        privacy = f"simulated, {privacy}" if SIMULATED in self.notes else privacy
        size = "n private" if self.n is None else f"n = {self.n:,}"
        return "; ".join(part for part in (size, f"covers {self.covers}", privacy, self.method) if part)

    def _rows(self, level: float, max_rows: int | None = None) -> list[tuple[Any, float, float, float, float, bool]]:
        interval = self.interval(level)
        arrays = (self.value, self.se, interval.low, interval.high)
        columns = (np.atleast_1d(array)[:max_rows].tolist() for array in arrays)
        empty = np.broadcast_to(interval.empty, len(self.labels))[:max_rows].tolist()
        return [
            (label, *map(float, row), is_empty)
            for label, *row, is_empty in zip(self.labels[:max_rows], *columns, empty, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Origin:
    """The estimate from which a number was computed, and the gradient of the number.

    Parameters
    ----------
    whole : Estimate
        The estimate.
    gradient : array
        The derivatives of the number with respect to the entries of `whole`; for a weighted sum, these are the weights.

    Examples
    --------
    >>> from toolkit import k_ary
    >>> table = k_ary(["no", "once", "often"], epsilon=2).estimate_counts([50, 30, 20])
    >>> table["once"].origin.gradient
    array([0., 1., 0.])
    """

    whole: Estimate
    gradient: Array

    def scaled(self, factor: float) -> "Origin":
        """Return the origin of a multiple of the number.

        Parameters
        ----------
        factor : float
            The factor of the number.

        Returns
        -------
        Origin
            The origin with the gradient of the multiple.
        """
        return replace(self, gradient=factor * self.gradient)


def _weighted_sum(estimate: Estimate, label: str, origin: Origin, value: float, se: float) -> Estimate:
    basis, step = contrasts.contrast_basis(origin.whole._basis, value, se), "a weighted sum of its entries"
    return estimate._made_of(label, origin, step, value=value, se=se, basis=basis, fit=None, counts=None)


def loss_of_both(first: Loss | None, second: Loss | None, *, sampled: bool) -> Loss | None:
    """Compose the losses of two estimates: in parallel for independent samples, otherwise sequentially."""
    if first is None or second is None:
        return None
    return parallel([first, second], neighbors="add_remove") if sampled else first + second


def difference(first: Estimate, second: Estimate) -> Estimate:
    """Return first - second, for independent groups or for releases with independent noise."""
    _comparable(first, second, "difference")
    if first.origin and second.origin and _same_object(first.origin.whole, second.origin.whole):
        return _dependent_difference(first, first.origin, second, second.origin)
    value, se = first.value - second.value, np.hypot(first.se, second.se)
    se = se if np.ndim(se) else float(se)
    cov = None if first.cov is None or second.cov is None else first.cov + second.cov
    basis = contrasts.difference_basis(first._basis, second._basis, value, se)
    return _of_both(first, second, "difference", value=value, se=se, cov=cov, basis=basis)


def quotient(first: Estimate, second: Estimate) -> Estimate:
    """Return first / second, for independent groups or for releases with independent noise."""
    _comparable(first, second, "ratio")
    if first.origin and second.origin and _same_object(first.origin.whole, second.origin.whole):
        return _dependent_quotient(first, first.origin, second, second.origin)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.divide(first.value, second.value)
        error = np.hypot(np.divide(first.se, first.value), np.divide(second.se, second.value))
        # On the logarithmic scale, the error would be undefined for a first estimate of 0.
        se = np.hypot(first.se, value * second.se) / np.abs(second.value)
    single = np.ndim(value) == 0
    value, se = (float(value), float(se)) if single else (value, se)
    basis = contrasts.quotient_basis(first._basis, second._basis, value, se, error)
    return _of_both(first, second, "ratio", value=value, se=se, cov=None, basis=basis)


def _same_object(first: Estimate, second: Estimate) -> bool:
    """Return whether two estimates are the same object; reject different objects with the same numbers."""
    if first is second or first.labels != second.labels or first.cov is None or second.cov is None:
        return first is second
    pairs = ((first.value, second.value), (first.cov, second.cov))
    if all(np.array_equal(*pair, equal_nan=True) for pair in pairs):
        rule = "two entries must be taken from one object, or from estimates that differ"
        remedy = "name the estimate and index it twice; for independent groups, subtract the whole estimates first"
        reject(rule, "entries of two estimates with the same numbers", remedy)
    return False


def _dependent_difference(first: Estimate, origin: Origin, second: Estimate, other: Origin) -> Estimate:
    """Return first - second, for two combinations of entries of one estimate."""
    gradient = origin.gradient - other.gradient
    if not gradient.any():
        reject("a difference must be of two entries", "an entry and itself", "it is always 0")
    value, se = float(first.value - second.value), contrasts.error(origin.whole.cov, gradient)
    both = replace(first, notes=tuple(dict.fromkeys((*first.notes, *second.notes))))
    label = f"{text_or_int(first.labels[0])} less {text_or_int(second.labels[0])}"
    return _weighted_sum(both, label, Origin(origin.whole, gradient), value, se)


def _dependent_quotient(first: Estimate, origin: Origin, second: Estimate, other: Origin) -> Estimate:
    """Return first / second, for two combinations of entries of one estimate, by the delta method."""
    cov = contrasts.covariance(origin.whole.cov, origin.gradient, other.gradient)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(np.divide(first.value, second.value))
        gradient = np.divide(origin.gradient - value * other.gradient, second.value)
        se = contrasts.error(origin.whole.cov, gradient)
        log_se, correlation = float(np.divide(se, abs(value))), float(np.divide(cov, first.se * second.se))
    top, bottom = (
        contrasts.ratio_basis(estimate._basis, float(estimate.value), float(estimate.se))
        for estimate in (first, second)
    )
    return replace(first, method=f"ratio; {first.method}")._made_of(
        f"{text_or_int(first.labels[0])} / {text_or_int(second.labels[0])}",
        Origin(origin.whole, gradient),
        "a ratio of its entries",
        value=value,
        se=se,
        basis=contrasts.quotient_basis(top, bottom, value, se, log_se, correlation),
        fit=None,
        counts=None,
    )


def _comparable(first: Estimate, second: Estimate, operation: str) -> None:
    if first is second:
        reject(f"a {operation} must be of two estimates", "an estimate and itself", "they are not independent")
    same = first.labels == second.labels
    if np.shape(first.value) != np.shape(second.value) or (np.ndim(first.value) and not same):
        both = " and ".join(", ".join(map(str, estimate.labels[:8])) for estimate in (first, second))
        reject(f"a {operation} must be of estimates with the same labels", both, "entries are matched by label")


def _of_both(first: Estimate, second: Estimate, operation: str, **numbers: Any) -> Estimate:
    """Combine two independent estimates, with their sizes, losses, sources of error and notes."""
    same = first.labels == second.labels
    covers = [Covers.of(estimate.covers) for estimate in (first, second)]
    sampled = all(ErrorSource.SAMPLING in estimate.sources for estimate in covers)
    notes = [
        f"{position}: {note}"
        for position, estimate in (("first", first), ("second", second))
        for note in estimate.notes
    ]
    others = [note for note in notes if not note.endswith(SIMULATED)]
    notes = [SIMULATED, *others] if len(others) < len(notes) else notes
    method = first.method if first.method == second.method else f"{first.method}; {second.method}"
    return replace(
        first,
        **numbers,
        labels=first.labels if same else (operation,),
        axes=first.axes if same else (),
        counts=None,
        n=None if first.n is None or second.n is None else first.n + second.n,
        loss=loss_of_both(first.loss, second.loss, sampled=sampled),
        covers=covers[0].both(covers[1]),
        method=method if operation == "difference" else f"ratio; {method}",
        notes=(INDEPENDENT_GROUPS if sampled else INDEPENDENT_NOISE, *notes),
        fit=None,
        release=None,
        origin=None,
    )
