"""`Fitted`: what all models share once they are fitted: coefficients with their errors, a table, a comparison,
and prevalences and their differences, averaged over the people of a fit.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from toolkit.analysis.homogeneity import wald_f
from toolkit.analysis.regression.covariates import Covariates
from toolkit.analysis.regression.rows import ModelRows, People
from toolkit.analysis.regression.tables import FitTable, p_value
from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import choice, exact, refuse
from toolkit.core.covers import SAMPLED, Covers
from toolkit.core.estimate import Estimate
from toolkit.core.extras import extra
from toolkit.core.inference.digits import between, concise
from toolkit.core.inference.intervals import Interval, Normal, Student
from toolkit.core.inference.significance import Significance
from toolkit.core.inference.special import chdtrc
from toolkit.core.loss import Loss
from toolkit.frames.table import Values

if TYPE_CHECKING:
    import pandas as pd


MANY = 1000  # predictions whose covariance matrix is still kept


@dataclass(frozen=True)
class Comparison:
    """Whether a larger model says more than a smaller one inside it.

    Parameters
    ----------
    statistic : float
        Twice the gain in log-likelihood, or what stands for it in a sample.
    df : float
        How many coefficients more.
    p : float
        The p-value.
    method : str
        What was computed, in words.

    Examples
    --------
    >>> from toolkit import warner
    >>> from toolkit.analysis import logistic
    >>> coin, age, rng = warner("3/4"), np.arange(2000) % 50, np.random.default_rng(1)
    >>> answers = coin.randomize(rng.random(2000) < 0.2 + age / 100, rng=rng)
    >>> larger, smaller = logistic(answers, age, coin), logistic(answers, np.ones((2000, 0)), coin)
    >>> larger.compare(smaller).df
    1
    """

    statistic: float
    df: float
    p: float
    method: str

    __repr__ = concise


@dataclass(frozen=True, eq=False)
class FitProvenance:
    """What two fits must share to be compared: rows, reports, designs, weights, and how errors were made."""

    reports: tuple[Any, ...]
    columns: Array
    error: str
    penalized: bool
    df: int | None


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """A fitted model; `value`, `se`, `labels`, `cov`, `n`, `loss` and so on are those of its coefficients.

    Parameters
    ----------
    coefficients : Estimate
        The coefficients.
    log_likelihood : float
        At the coefficients, without any penalty; weighted where people have weights, whose mean is made 1.
    rows : mapping
        How many rows were used, and how many were left out, by where a value was missing; people, where a row stands
        for several.
    title : str
        What was fitted, in a few words.
    provenance : FitProvenance
        What another fit must share to be compared with this one.
    """

    coefficients: Estimate
    log_likelihood: float
    rows: Mapping[str, int]
    title: str
    provenance: FitProvenance
    ratios: ClassVar[str] = ""
    """What the exponential of a coefficient is called; nothing where it has no meaning."""
    in_units: ClassVar[bool] = False
    """Whether predictions are in the unit of the outcome, and no shares."""

    @property
    def value(self) -> Array:
        """The coefficients."""
        return np.asarray(self.coefficients.value)

    @property
    def se(self) -> Array:
        """Their standard errors."""
        return np.asarray(self.coefficients.se)

    @property
    def cov(self) -> Array:
        """Covariances of the coefficients."""
        return np.asarray(self.coefficients.cov)

    @property
    def labels(self) -> tuple[str | int, ...]:
        """Names of the coefficients."""
        return self.coefficients.labels

    @property
    def n(self) -> int | None:
        """How many people the fit is of."""
        return self.coefficients.n

    @property
    def loss(self) -> Loss | None:
        """What the reports cost each person; None where nothing is claimed."""
        return self.coefficients.loss

    @property
    def covers(self) -> Covers:
        """What the standard errors cover."""
        return self.coefficients.covers

    @property
    def method(self) -> str:
        """How the coefficients were estimated, in words."""
        return self.coefficients.method

    @property
    def notes(self) -> tuple[str, ...]:
        """What else the reader should know."""
        return self.coefficients.notes

    def __getitem__(self, label: str) -> Estimate:
        """Return the coefficient with this label; a difference of two knows their covariance."""
        self._weights({label: 1.0})
        return self.coefficients[label]

    def contrast(self, weights: Mapping[str, float]) -> Estimate:
        """Estimate a weighted sum of coefficients, with the error that their covariance gives.

        Parameters
        ----------
        weights : mapping
            Weights by label, {"female": 1, "male": -1}.

        Returns
        -------
        Estimate
            With the same kind of interval as the coefficients.
        """
        by = self._weights(weights)
        label = " + ".join(f"{by[self.labels.index(name)]:g} × {name}" for name in weights)
        return replace(self.coefficients.contrast(by), labels=(label,))

    def _weights(self, weights: Mapping[str, float]) -> Array:
        """One weight for each coefficient, zero where none was named."""
        if not isinstance(weights, Mapping) or not weights:
            rule = "weights must be numbers by label, as in {'female': 1, 'male': -1}"
            refuse(
                rule, "none" if isinstance(weights, Mapping) else type(weights).__name__, "they are summed", TypeError
            )
        row = np.zeros(len(self.labels))
        for label, weight in weights.items():
            if label not in self.labels:
                known = ", ".join(map(str, self.labels))
                refuse("a coefficient must be one of the labels", repr(label), f"they are {known}")
            row[self.labels.index(label)] = exact(weight, "weight")
        return row

    def interval(self, level: float = 0.95) -> Interval:
        """Compute an interval for each coefficient: by the normal law, or by t where a sample has degrees of freedom.

        Parameters
        ----------
        level : float
            How often such an interval holds the truth.

        Returns
        -------
        Interval
            Limits of each coefficient.
        """
        return self.coefficients.interval(level)

    def test(self, null: float = 0, sides: int = 2, *, direction: str | None = None) -> Significance:
        """Test each coefficient, for itself.

        Parameters
        ----------
        null : float
            The value that is tested.
        sides : {1, 2}
            Two, or one in the `direction`.
        direction : {"greater", "less"}, optional
            Of a test with one side.

        Returns
        -------
        Significance
            Statistics and p-values.
        """
        return self.coefficients.test(null, sides, direction=direction)

    def to_frame(self, exp: bool = False, level: float = 0.95) -> "pd.DataFrame":
        """Return one row per coefficient: estimate, standard error, limits, statistic and p-value of the test of zero.

        Parameters
        ----------
        exp : bool
            Whether the estimate and the limits are exponentials (odds ratios for the logit link), with a standard
            error by the delta method; statistic and p stay those of the coefficient.
        level : float
            Confidence level.

        Returns
        -------
        pandas.DataFrame
            One row per coefficient.
        """
        tests = self.test()
        frame = (self.ratio_estimate() if exp else self.coefficients).to_frame(level)
        frame = frame.assign(statistic=tests.statistic, p=tests.p)
        return frame.rename(columns={"estimate": self.ratios}) if exp else frame

    def ratio_estimate(self) -> Estimate:
        """Take exponentials of the coefficients; refused where they have no meaning.

        Returns
        -------
        Estimate
            The exponentials, with their limits, and errors by the delta method.
        """
        if not self.ratios:
            rule = "`exp` needs a link whose coefficients are logarithms of ratios"
            refuse(rule, "another", "their exponentials have no meaning")
        return self.coefficients.map(np.exp, np.exp)

    def _series(self, values: ArrayLike) -> "pd.Series[Any]":
        return extra("pandas", "analysis").Series(np.asarray(values, dtype=float), index=list(self.labels))

    @property
    def params(self) -> "pd.Series[Any]":
        """The coefficients by label."""
        return self._series(self.value)

    @property
    def bse(self) -> "pd.Series[Any]":
        """Their standard errors."""
        return self._series(self.se)

    @property
    def tvalues(self) -> "pd.Series[Any]":
        """Each coefficient in its standard errors."""
        return self._series(self.test().statistic)

    @property
    def pvalues(self) -> "pd.Series[Any]":
        """The p-value of each coefficient's test of zero."""
        return self._series(self.test().p)

    def conf_int(self, *, level: float = 0.95, alpha: float | None = None) -> "pd.DataFrame":
        """Return the limits of each coefficient.

        Parameters
        ----------
        level : float
            Confidence level.
        alpha : float, optional
            One less the level, as other packages have it.

        Returns
        -------
        pandas.DataFrame
            Columns low and high.
        """
        return self.to_frame(level=level if alpha is None else 1 - alpha)[["low", "high"]]

    @property
    def nobs(self) -> int | None:
        """How many people it was fitted to."""
        return self.n

    @property
    def llf(self) -> float:
        """The log-likelihood; NaN of a fit that has none."""
        return self.log_likelihood

    @property
    def parameters(self) -> int:
        """How many parameters the likelihood has, those of the covariates among them."""
        return len(self.labels)

    @property
    def aic(self) -> float:
        """Akaike's criterion; NaN where there is no likelihood: least squares, a penalty, weights, strata, clusters."""
        return 2 * self.parameters - 2 * self._likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion, with the number of people; NaN where there is no likelihood."""
        return float(np.log(self.n or np.nan)) * self.parameters - 2 * self._likelihood

    @property
    def _likelihood(self) -> float:
        whole = not self.provenance.penalized and self.provenance.df is None
        return self.log_likelihood if whole else np.nan

    def measures(self) -> list[tuple[str, str]]:
        """List what a table says of the whole fit.

        Returns
        -------
        list of tuple of str
            Name and text.
        """
        loss, df = "no privacy claim" if self.loss is None else str(self.loss), self.provenance.df
        height = "log-likelihood" if df is None else "weighted log-likelihood"
        numbers = {height: self.log_likelihood, "AIC": self.aic, "BIC": self.bic}
        return [
            ("n", f"{self.n:,}"),
            *([] if df is None else [("degrees of freedom", f"{df:,}")]),
            *((name, f"{number:.2f}") for name, number in numbers.items() if not np.isnan(number)),
            ("privacy loss", loss),
        ]

    def summary(self, level: float = 0.95) -> FitTable:
        """Return all that is known of the fit as a table that prints, with `to_latex` and `to_html`.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        FitTable
            Coefficients, errors, tests and intervals; people, likelihood, privacy; what the errors cover.
        """
        tests, limits = self.test(), np.atleast_2d(self.conf_int(level=level))
        several = zip(
            self.coefficients.text_rows(), np.atleast_1d(tests.statistic), np.atleast_1d(tests.p), strict=True
        )
        rows = [
            (str(label), value, se, f"{z:.2f}", p_value(float(p)), between(low, high, float(error)))
            for ((label, value, se, _), z, p), (low, high), error in zip(several, limits, self.se, strict=True)
        ]
        letter = "t" if isinstance(self.coefficients.basis, Student) else "z"
        head = ("", "estimate", "se", letter, "p", f"{100 * level:g} % interval")
        measures = tuple((name, text, "", "", "", "") for name, text in self.measures())
        return FitTable(
            self.title, head, tuple(rows), measures, (f"covers {self.covers}; {self.method}", *self._notes())
        )

    def to_latex(self, path: str | Path | None = None, level: float = 0.95) -> str | None:
        """Write the summary as a LaTeX tabular (with booktabs).

        Parameters
        ----------
        path : path, optional
            Where to; the text is returned without it.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        str or None
            The text, where there is no path.
        """
        return self.summary(level).to_latex(path)

    def plot(self, variable: str | None = None, *, level: float = 0.95, ax: Any = None) -> Any:
        """Draw the coefficients with their intervals; or the mean prediction along a variable, with its band.

        Parameters
        ----------
        variable : str, optional
            A variable of the formula: the prediction averaged over the people of the fit, if all of them had each of
            its values. Without it, the coefficients but the intercept.
        level : float
            Confidence level.
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes
            The picture.
        """
        from toolkit.show import fits

        if variable is None:
            return fits.coefficients(self, level=level, ax=ax)
        return fits.along(self, variable, level=level, ax=ax)

    def compare(self, smaller: "Fitted") -> Comparison:
        """Test this model against a smaller one inside it, fitted to the same rows.

        By the likelihood ratio, on chi-squared; with weights, strata or clusters, where there is no likelihood of the
        sample, by Wald's statistic of the coefficients that the smaller one lacks, on F.

        Parameters
        ----------
        smaller : Fitted
            A model of the same kind with fewer coefficients.

        Returns
        -------
        Comparison
            Statistic, degrees of freedom and p-value.
        """
        added = self._added(smaller)
        if self.provenance.penalized or smaller.provenance.penalized:
            refuse("models to compare must not be penalized", "penalty='jeffreys'", "their heights are no likelihoods")
        if self.provenance.df is None:
            statistic = max(2 * (self.log_likelihood - smaller.log_likelihood), 0.0)
            more = len(self.labels) - len(smaller.labels)
            return Comparison(statistic, more, float(chdtrc(more, statistic)), "likelihood ratio")
        if len(added) != len(self.labels) - len(smaller.labels):
            rule = "the smaller model must have the coefficients of the larger, less some"
            refuse(rule, "others", "Wald's test sets coefficients to zero; write both formulas alike")
        if self.provenance.df < len(added):
            consequence = "F has no degrees of freedom left"
            refuse("there must be more sampling units than coefficients to test", str(self.provenance.df), consequence)
        test = wald_f(self.value[added], self.cov[np.ix_(added, added)], self.provenance.df)
        return Comparison(test.statistic, len(added), test.p, "Wald, F")

    def _added(self, smaller: "Fitted") -> list[int]:
        """Places of the coefficients that the smaller model lacks."""
        rule = "models to compare must be of one kind, through the same designs and rows"
        if type(self) is not type(smaller):
            refuse(rule, type(smaller).__name__, "their likelihoods are of different data")
        mine, other = self.provenance, smaller.provenance
        same = len(mine.reports) == len(other.reports) and all(
            np.array_equal(one, two) for one, two in zip(mine.reports, other.reports, strict=True)
        )
        if not same:
            refuse(rule, "others", "their likelihoods are of different data")
        added = [place for place, label in enumerate(self.labels) if label not in smaller.labels]
        left = other.columns - mine.columns @ np.linalg.lstsq(mine.columns, other.columns, rcond=None)[0]
        if len(self.labels) <= len(smaller.labels) or np.abs(left).max(initial=0) > 1e-8 * np.abs(other.columns).max(
            initial=1
        ):
            consequence = "compare(smaller) tests what was added"
            refuse("the other model must be a smaller one inside this one", "another", consequence)
        return added

    def __repr__(self) -> str:
        return str(self._table("se"))

    def _repr_html_(self) -> str:
        return self._table("standard error").to_html()

    def _table(self, error: str) -> FitTable:
        chances = np.atleast_1d(self.test().p)
        rows = [
            (str(label), value, se, limits, p_value(float(p)))
            for (label, value, se, limits), p in zip(self.coefficients.text_rows(), chances, strict=True)
        ]
        head = ("", "estimate", error, "95 % interval", "p")
        return FitTable(self.title, head, tuple(rows), (), (self._foot(), *self._notes()))

    def _notes(self) -> tuple[str, ...]:
        return tuple(f"note: {note}" for note in self.notes)

    def _foot(self) -> str:
        estimate = self.coefficients
        size = f"n = {estimate.n:,}" + (
            "" if np.isnan(self.log_likelihood) else f"; log-likelihood {self.log_likelihood:.2f}"
        )
        loss = "no privacy claim" if estimate.loss is None else f"privacy loss {estimate.loss}"
        return f"{size}; covers {estimate.covers}; {loss}; {estimate.method}"


def covers_of(people: People) -> Covers:
    if not people.complex:
        return SAMPLED
    return Covers(SAMPLED.sources, f"({', '.join(people.described)}; {people.df:,} df)")


def as_estimate(
    value: Array,
    cov: Array,
    labels: tuple[str, ...],
    people: People,
    loss: Loss | None,
    method: str,
    notes: tuple[str, ...],
) -> Estimate:
    """Coefficients with t intervals where the sample has degrees of freedom, else with normal ones."""
    se = np.sqrt(np.diag(cov))
    basis = Student(value, se, people.df) if people.complex else Normal(value, se)
    return Estimate(value, se, labels, cov, people.n, loss, covers_of(people), method, notes, basis)


def provenance_of(rows: ModelRows, form: str, kind: str, jeffreys: bool) -> FitProvenance:
    """What another fit must share with this one to be compared with it."""
    matrices = tuple(design.matrix for design in rows.channel.designs)
    shared = (form, *matrices, rows.channel.which, rows.channel.codes, rows.people.mass)
    return FitProvenance(
        shared, rows.covariates.matrix, kind, jeffreys, rows.people.df if rows.people.complex else None
    )


_STEP = 1e-4  # of a standard deviation, to both sides: the derivative of a formula's columns by a variable


@dataclass(frozen=True, eq=False)
class Effect:
    """A quantity of each person, and its derivatives by the coefficients; `label` is its option, if of several."""

    label: str
    each: Array
    gradient: Array


Shares = Callable[[Array], list[Effect]]
"""The prevalences that a matrix of covariates leads to: one effect for each option that has one."""


def effects(covariates: Covariates, shares: Shares, variable: str | None, levels: Sequence[Any] | None) -> list[Effect]:
    """What is to be averaged: prevalences, their differences, or their derivatives by a variable."""
    if variable is None:
        return shares(covariates.matrix)
    values = covariates.values(variable)
    if levels is not None:
        if isinstance(levels, str) or not isinstance(levels, Iterable) or not (several := list(levels)):
            refuse("`levels` must be a list of at least one value", "something else", "each has its prevalence")
        return [effect for level in several for effect in _at(covariates, shares, variable, level)]
    in_steps = any(label.startswith(f"C({variable}") for label in covariates.labels)
    steps = covariates.declared(variable) or _steps(values, in_steps)
    if steps is None:
        return _derivatives(covariates, shares, variable, values)
    first = shares(covariates.where(variable, _everywhere(covariates, steps[0])))
    differences = []
    for level in steps[1:]:
        others = shares(covariates.where(variable, _everywhere(covariates, level)))
        named = f"{variable}: {level} − {steps[0]}"
        differences += [_less(_named(named, one.label), one, zero) for one, zero in zip(others, first, strict=True)]
    return differences


def _steps(values: Values, in_steps: bool) -> list[Any] | None:
    """The values of a variable that goes in steps: of two numbers, or of categories; None for a quantity."""
    if values.dtype.kind in "OUTb":
        return sorted(set(values.tolist()))
    distinct = np.unique(values)
    return distinct.tolist() if in_steps or len(distinct) == 2 else None


def _everywhere(covariates: Covariates, level: object) -> Values:
    kind = float if isinstance(level, int | float | np.number) else object
    return np.full(len(covariates.matrix), level, dtype=kind)


def _at(covariates: Covariates, shares: Shares, variable: str, level: object) -> list[Effect]:
    """The prevalences of each person if the variable had this value."""
    prevalences = shares(covariates.where(variable, _everywhere(covariates, level)))
    return [replace(effect, label=_named(f"{variable} = {level}", effect.label)) for effect in prevalences]


def _derivatives(covariates: Covariates, shares: Shares, variable: str, values: Values) -> list[Effect]:
    numbers = values.astype(np.float64)
    step = _STEP * float(numbers.std())
    above, below = (shares(covariates.where(variable, numbers + side * step)) for side in (1, -1))
    return [_less(_named(variable, up.label), up, down, 2 * step) for up, down in zip(above, below, strict=True)]


def _less(label: str, one: Effect, other: Effect, width: float = 1.0) -> Effect:
    return Effect(label, (one.each - other.each) / width, (one.gradient - other.gradient) / width)


def _named(change: str, option: str) -> str:
    return f"{change}, {option}" if option else change


def margin_estimate(
    coefficients: Estimate, people: People, averages: list[Effect], influence: Array | None, shares: bool
) -> Estimate:
    """Effects averaged over people: `shares`, or differences. With `influence`, people are a sample, too."""
    mass = people.mass / people.mass.sum()
    means = np.array([mass @ effect.each for effect in averages])
    slopes = np.array([mass @ effect.gradient for effect in averages])
    if influence is None:
        cov = slopes @ np.asarray(coefficients.cov) @ slopes.T
        covers = coefficients.covers.adding(", at the covariates of these people")
    else:
        weights = 1.0 if people.weights is None else people.weights
        own = np.column_stack([weights * (effect.each - mean) for effect, mean in zip(averages, means, strict=True)])
        cov = people.scatter(own / people.mass.sum() + influence @ slopes.T)
        covers = coefficients.covers.adding(", of the covariates, too")
    se, one = np.sqrt(np.diag(cov)), len(averages) == 1
    value, error = (float(means[0]), float(se[0])) if one else (means, se)
    return Estimate(
        value=value,
        se=error,
        labels=tuple(effect.label or ("mean prevalence" if shares else "mean") for effect in averages),
        cov=cov,
        n=coefficients.n,
        loss=coefficients.loss,
        covers=covers,
        method=f"average over people; {coefficients.method}",
        basis=basis_of(coefficients, value, error, shares=shares),
    )


def basis_of(coefficients: Estimate, value: float | Array, se: float | Array, *, shares: bool) -> Normal | Student:
    """By t where the coefficients have degrees of freedom, else normal; of shares cut to 0 … 1.

    Through a design most of the error is randomization, which is nearly the same for small and large shares:
    so limits are symmetric about the share. Of 300 to 2,000 people by a die, at shares from 0.02 to 0.5 and
    by enumeration of all counts, they cover it in 94.3 to 97.8 % of surveys; limits made on the logit in 80
    to 96 %, and are up to three times as far apart.
    """
    basis, within = coefficients.basis, (0.0, 1.0) if shares else (-np.inf, np.inf)
    if isinstance(basis, Student):
        return Student(value, se, basis.df, within=within)
    return Normal(value, se, within)


@dataclass(frozen=True, eq=False, repr=False)
class AnswerFit(Fitted):
    """A regression of randomized answers; a subclass says what shares covariates lead to, and how people move it.

    Parameters
    ----------
    data : object
        The rows that it was fitted to.
    """

    data: ModelRows

    @property
    def covariates(self) -> Covariates:
        """The matrix of covariates, and how it is made of a frame."""
        return self.data.covariates

    def margins(
        self,
        variable: str | None = None,
        *,
        levels: Sequence[Any] | None = None,
        respondents: Literal["fixed", "sample"] = "fixed",
    ) -> Estimate:
        """Estimate prevalences, or how they differ, averaged over the people of the fit; of several options, for each.

        Errors are by the delta method; intervals of prevalences are cut to 0 to 1.

        Parameters
        ----------
        variable : str, optional
            Without it, the mean predicted prevalence. With it, how much the prevalence changes by one unit of it (the
            mean derivative), or, for a column of two values or of categories, from its first value to each other one.
        levels : sequence, optional
            The prevalence if everybody had each of these values of the variable.
        respondents : {"fixed", "sample"}
            Whether the covariates are taken as they are, or other people could have been drawn.

        Returns
        -------
        Estimate
            One entry for each level, category or option.
        """
        sampled = choice(respondents, "respondents", ("fixed", "sample")) == "sample"
        averaged = effects(self.covariates, self._shares, variable, levels)
        influence, shares = self._influence() if sampled else None, variable is None or levels is not None
        return margin_estimate(self.coefficients, self.data.people, averaged, influence, shares)

    def _shares(self, matrix: Array) -> list[Effect]:
        raise NotImplementedError

    def _influence(self) -> Array:
        raise NotImplementedError
