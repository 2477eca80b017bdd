"""The base classes of fitted models: coefficients with their errors, tables, tests, comparisons, predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from toolkit.analysis.homogeneity import wald_f
from toolkit.analysis.regression.covariates import Covariates
from toolkit.analysis.regression.margins import Effect, by_group, effects, margin_estimate
from toolkit.analysis.regression.rows import Channel, ModelRows, People
from toolkit.analysis.regression.tables import FitTable, p_value
from toolkit.analysis.reports import Data
from toolkit.core.arrays import Array, ArrayLike, Values
from toolkit.core.checks import check_choice, exact_fraction, reject
from toolkit.core.covers import SAMPLED, Covers
from toolkit.core.estimate import Estimate
from toolkit.core.extras import extra
from toolkit.core.inference.digits import concise, format_limits
from toolkit.core.inference.intervals import Interval, Normal, Student
from toolkit.core.inference.special import chdtrc
from toolkit.core.loss import Loss

if TYPE_CHECKING:
    import pandas as pd


MANY = 1000  # predictions beyond which there is no covariance matrix, which would be too large


@dataclass(frozen=True)
class Comparison:
    """Test of a larger model against a smaller one nested in it.

    Parameters
    ----------
    statistic : float
        Twice the gain in log-likelihood, or Wald's statistic for a complex sample.
    df : float
        Number of coefficients that the larger model adds.
    p : float
        The p-value.
    method : str
        Name of the test.

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
class Fit:
    """A fitted model: what every regression of this package returns, under the names of statsmodels.

    Parameters
    ----------
    coefficients : Estimate
        The coefficients.
    llf : float
        The log-likelihood at the coefficients, without any penalty; NaN for least squares. With weights, which are
        divided by their mean, it is a weighted one.
    rows : mapping
        How many rows were used, and how many were left out, by the column whose value was missing. Where a row stands
        for several people, people are counted.
    title : str
        The kind of model, in a few words.
    provenance : FitProvenance
        What another fit must share to be compared with this one.

    Examples
    --------
    >>> from toolkit import warner
    >>> from toolkit.analysis import logistic
    >>> coin = warner("3/4")
    >>> fit = logistic(coin.randomize(np.arange(200) % 3 == 0, rng=np.random.default_rng(1)), np.ones((200, 0)), coin)
    >>> isinstance(fit, Fit), fit.nobs, fit.labels
    (True, 200, ('Intercept',))
    """

    coefficients: Estimate
    llf: float
    rows: Mapping[str, int]
    title: str
    provenance: FitProvenance

    @property
    def value(self) -> Array:
        """The coefficients."""
        return np.asarray(self.coefficients.value)

    @property
    def se(self) -> Array:
        """Standard errors of the coefficients."""
        return np.asarray(self.coefficients.se)

    @property
    def cov(self) -> Array:
        """Covariance matrix of the coefficients."""
        return np.asarray(self.coefficients.cov)

    @property
    def labels(self) -> tuple[str | int, ...]:
        """Names of the coefficients."""
        return self.coefficients.labels

    @property
    def n(self) -> int | None:
        """Number of people that the model was fitted to."""
        return self.coefficients.n

    @property
    def loss(self) -> Loss | None:
        """Privacy loss of each person's reports; None where nothing is claimed."""
        return self.coefficients.loss

    @property
    def covers(self) -> Covers:
        """Sources of error that the standard errors cover."""
        return self.coefficients.covers

    @property
    def method(self) -> str:
        """How the coefficients were estimated, in words."""
        return self.coefficients.method

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats that a reader should know."""
        return self.coefficients.notes

    @property
    def ratio_name(self) -> str:
        """Name of the exponential of a coefficient, such as "odds ratio"; empty where it has no meaning."""
        return ""

    def __getitem__(self, label: str) -> Estimate:
        """Return the coefficient with this label; the difference of two takes their covariance into account."""
        self._weights({label: 1.0})
        return self.coefficients[label]

    def contrast(self, weights: Mapping[str, float]) -> Estimate:
        """Estimate a weighted sum of coefficients, with the error that follows from their covariance.

        Parameters
        ----------
        weights : mapping
            Weights by label, {"female": 1, "male": -1}.

        Returns
        -------
        Estimate
            With the same kind of interval as the coefficients.
        """
        row = self._weights(weights)
        label = " + ".join(f"{row[self.labels.index(name)]:g} × {name}" for name in weights)
        return replace(self.coefficients.contrast(row), labels=(label,))

    def _weights(self, weights: Mapping[str, float]) -> Array:
        """Return one weight for each coefficient, zero for those not mentioned."""
        if not isinstance(weights, Mapping) or not weights:
            rule = "weights must be numbers by label, as in {'female': 1, 'male': -1}"
            received = "none" if isinstance(weights, Mapping) else type(weights).__name__
            reject(rule, received, "give one for each coefficient of the sum", TypeError)
        row = np.zeros(len(self.labels))
        for label, weight in weights.items():
            if label not in self.labels:
                labels = ", ".join(map(str, self.labels))
                reject("a coefficient must be one of the labels", repr(label), f"they are {labels}")
            row[self.labels.index(label)] = exact_fraction(weight, "weight")
        return row

    def interval(self, level: float = 0.95) -> Interval:
        """Compute an interval for each coefficient: a normal one, or a t interval for a complex sample.

        Parameters
        ----------
        level : float
            Confidence level.

        Returns
        -------
        Interval
            Limits of each coefficient.
        """
        return self.coefficients.interval(level)

    def to_frame(self, exp: bool = False, level: float = 0.95) -> "pd.DataFrame":
        """Return one row per coefficient: estimate, standard error, limits, statistic and p-value of the test of zero.

        Parameters
        ----------
        exp : bool
            Whether to give exponentials of the estimate and its limits (odds ratios for the logit link), with a
            standard error by the delta method; statistic and p-value stay those of the coefficient.
        level : float
            Confidence level.

        Returns
        -------
        pandas.DataFrame
            One row per coefficient.
        """
        test = self.coefficients.test()
        frame = (self._ratios() if exp else self.coefficients).to_frame(level)
        frame = frame.assign(statistic=test.statistic, p=test.p)
        return frame.rename(columns={"estimate": self.ratio_name}) if exp else frame

    def _ratios(self) -> Estimate:
        """Return exponentials of the coefficients, with their limits, and errors by the delta method."""
        if not self.ratio_name:
            rule = "`exp` needs a link whose coefficients are logarithms of ratios"
            reject(rule, "another", "leave out `exp`: exponentials have no meaning here")
        return self.coefficients.map(np.exp, np.exp)

    def _series(self, values: ArrayLike) -> "pd.Series[Any]":
        return extra("pandas", "analysis").Series(np.asarray(values, dtype=float), index=list(self.labels))

    @property
    def params(self) -> "pd.Series[Any]":
        """Coefficients by label."""
        return self._series(self.value)

    @property
    def bse(self) -> "pd.Series[Any]":
        """Standard errors by label."""
        return self._series(self.se)

    @property
    def pvalues(self) -> "pd.Series[Any]":
        """P-values of the tests that a coefficient is zero, by label."""
        return self._series(self.coefficients.test().p)

    def conf_int(self, *, level: float = 0.95, alpha: float | None = None) -> "pd.DataFrame":
        """Return the limits of each coefficient.

        Parameters
        ----------
        level : float
            Confidence level.
        alpha : float, optional
            One minus the level, as in statsmodels.

        Returns
        -------
        pandas.DataFrame
            Columns low and high.
        """
        return self.to_frame(level=level if alpha is None else 1 - alpha)[["low", "high"]]

    @property
    def nobs(self) -> int | None:
        """Number of people, as statsmodels calls `n`."""
        return self.n

    @property
    def _parameter_count(self) -> int:
        """Number of parameters of the likelihood, including those that are not coefficients."""
        return len(self.labels)

    @property
    def aic(self) -> float:
        """Akaike's criterion; NaN without a likelihood: least squares, a penalty, weights, strata, clusters."""
        return 2 * self._parameter_count - 2 * self._likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion, with the number of people; NaN where there is no likelihood."""
        return float(np.log(self.n or np.nan)) * self._parameter_count - 2 * self._likelihood

    @property
    def _likelihood(self) -> float:
        whole = not self.provenance.penalized and self.provenance.df is None
        return self.llf if whole else np.nan

    def _measures(self) -> list[tuple[str, str]]:
        """Return what a table reports of the whole fit, as pairs of name and text."""
        loss, df = "no privacy claim" if self.loss is None else str(self.loss), self.provenance.df
        likelihood = "log-likelihood" if df is None else "weighted log-likelihood"
        numbers = {likelihood: self.llf, "AIC": self.aic, "BIC": self.bic}
        return [
            ("n", f"{self.n:,}"),
            *([] if df is None else [("degrees of freedom", f"{df:,}")]),
            *((name, f"{number:.2f}") for name, number in numbers.items() if not np.isnan(number)),
            ("privacy loss", loss),
        ]

    def summary(self, level: float = 0.95) -> FitTable:
        """Return a table of the whole fit that prints, with `to_latex` and `to_html`.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        FitTable
            Coefficients, errors, tests and intervals; people, likelihood, privacy; what the errors cover.
        """
        test, limits = self.coefficients.test(), np.atleast_2d(self.conf_int(level=level))
        columns = zip(self.coefficients.text_rows(), np.atleast_1d(test.statistic), np.atleast_1d(test.p), strict=True)
        rows = [
            (str(label), value, se, f"{z:.2f}", p_value(float(p)), format_limits(low, high, float(error)))
            for ((label, value, se, _), z, p), (low, high), error in zip(columns, limits, self.se, strict=True)
        ]
        letter = "t" if isinstance(self.coefficients.basis, Student) else "z"
        head = ("", "estimate", "se", letter, "p", f"{100 * level:g} % interval")
        measures = tuple((name, text, "", "", "", "") for name, text in self._measures())
        notes = (f"covers {self.covers}; {self.method}", *self._note_lines())
        return FitTable(self.title, head, tuple(rows), measures, notes)

    def to_latex(self, path: str | Path | None = None, level: float = 0.95) -> str | None:
        """Write the summary as a LaTeX tabular (with booktabs).

        Parameters
        ----------
        path : path, optional
            File to write; without it, the text is returned.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        str or None
            The text, if there is no path.
        """
        return self.summary(level).to_latex(path)

    def plot(self, variable: str | None = None, *, level: float = 0.95, ax: Any = None) -> Any:
        """Draw the coefficients with their intervals; or the mean prediction along a variable, with its band.

        Parameters
        ----------
        variable : str, optional
            A variable of the formula: the prediction averaged over the people of the fit, as if all of them had each of
            its values. Without it, all coefficients but the intercept are drawn.
        level : float
            Confidence level.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes
            The picture.
        """
        from toolkit.show import fits

        if variable is None:
            return fits.coefficients(self, level=level, ax=ax)
        return fits.along(self, variable, level=level, ax=ax)

    def compare(self, smaller: "Fit") -> Comparison:
        """Test this model against a smaller one nested in it, fitted to the same rows.

        The test is the likelihood ratio, on chi-squared. With weights, strata or clusters, where the sample has no
        likelihood, it is Wald's test of the coefficients that the smaller model lacks, on F.

        Parameters
        ----------
        smaller : Fit
            A model of the same kind with fewer coefficients.

        Returns
        -------
        Comparison
            Statistic, degrees of freedom and p-value.
        """
        added = self._added(smaller)
        if self.provenance.penalized or smaller.provenance.penalized:
            remedy = "fit both without `penalty`: penalized likelihoods have no ratio test"
            reject("models to compare must not be penalized", "penalty='jeffreys'", remedy)
        if self.provenance.df is None:
            statistic = max(2 * (self.llf - smaller.llf), 0.0)
            df = len(self.labels) - len(smaller.labels)
            return Comparison(statistic, df, float(chdtrc(df, statistic)), "likelihood ratio")
        if len(added) != len(self.labels) - len(smaller.labels):
            rule = "the smaller model must have the coefficients of the larger, less some"
            reject(rule, "others", "Wald's test sets coefficients to zero; write both formulas alike")
        if self.provenance.df < len(added):
            rule = "there must be more sampling units than coefficients to test"
            reject(rule, str(self.provenance.df), "compare with a model that lacks fewer coefficients")
        test = wald_f(self.value[added], self.cov[np.ix_(added, added)], self.provenance.df)
        return Comparison(test.statistic, len(added), test.p, "Wald, F")

    def _added(self, smaller: "Fit") -> list[int]:
        """Return the indices of the coefficients that the smaller model lacks."""
        rule = "models to compare must be of one kind, through the same designs and rows"
        if type(self) is not type(smaller):
            reject(rule, type(smaller).__name__, "fit both by the same function")
        mine, other = self.provenance, smaller.provenance
        same = len(mine.reports) == len(other.reports) and all(
            np.array_equal(first, second) for first, second in zip(mine.reports, other.reports, strict=True)
        )
        if not same:
            reject(rule, "others", "fit both to the same reports, rows and weights")
        added = [index for index, label in enumerate(self.labels) if label not in smaller.labels]
        # The smaller model is nested if its columns lie in the span of the larger model's columns.
        residual = other.columns - mine.columns @ np.linalg.lstsq(mine.columns, other.columns, rcond=None)[0]
        tolerance = 1e-8 * np.abs(other.columns).max(initial=1)
        if len(self.labels) <= len(smaller.labels) or np.abs(residual).max(initial=0) > tolerance:
            remedy = "call compare on the larger model: larger.compare(smaller)"
            reject("the other model must be a smaller one inside this one", "another", remedy)
        return added

    def __repr__(self) -> str:
        return str(self._table("se"))

    def _repr_html_(self) -> str:
        return self._table("standard error").to_html()

    def _table(self, error: str) -> FitTable:
        pvalues = np.atleast_1d(self.coefficients.test().p)
        rows = [
            (str(label), value, se, limits, p_value(float(p)))
            for (label, value, se, limits), p in zip(self.coefficients.text_rows(), pvalues, strict=True)
        ]
        head = ("", "estimate", error, "95 % interval", "p")
        return FitTable(self.title, head, tuple(rows), (), (self._footer(), *self._note_lines()))

    def _note_lines(self) -> tuple[str, ...]:
        return tuple(f"note: {note}" for note in self.notes)

    def _footer(self) -> str:
        likelihood = "" if np.isnan(self.llf) else f"; log-likelihood {self.llf:.2f}"
        loss = "no privacy claim" if self.loss is None else f"privacy loss {self.loss}"
        return f"n = {self.n:,}{likelihood}; covers {self.covers}; {loss}; {self.method}"


@dataclass(frozen=True, eq=False, repr=False)
class PredictiveFit(Fit):
    """A fitted model that predicts an outcome for given covariates.

    Examples
    --------
    >>> from toolkit import warner
    >>> from toolkit.analysis import logistic
    >>> coin = warner("3/4")
    >>> fit = logistic(coin.randomize(np.arange(200) % 3 == 0, rng=np.random.default_rng(1)), np.ones((200, 0)), coin)
    >>> isinstance(fit, PredictiveFit), len(fit.predict().value)
    (True, 200)
    """

    in_units: ClassVar[bool] = False
    """Whether predictions are in the unit of the outcome, rather than shares."""

    @property
    def covariates(self) -> Covariates:
        """The matrix of covariates, and how it is made from a frame."""
        raise NotImplementedError

    def predict(self, data: Data | Values | None = None) -> Estimate:
        """Estimate the prevalence, or the mean of the outcome, among people with these covariates.

        The interval is for the prevalence or mean, not for one person's truth.

        Parameters
        ----------
        data : frame or array, optional
            New people; without it, those of the fit.

        Returns
        -------
        Estimate
            One entry per row; with several options or outcomes, each of them in order for every row.
        """
        matrix = self.covariates.matrix if data is None else self.covariates.matrix_of(data)
        return self._predict(matrix)

    def _predict(self, matrix: Array) -> Estimate:
        raise NotImplementedError

    def margins(
        self,
        variable: str | None = None,
        *,
        levels: Sequence[Any] | None = None,
        at: Mapping[str, Any] | None = None,
        by: str | None = None,
        respondents: Literal["fixed", "sample"] = "fixed",
    ) -> Estimate:
        """Estimate prevalences, or how they differ, averaged over the people of the fit.

        Errors are by the delta method; intervals of prevalences are cut to 0 to 1. For a linear model the mean of the
        outcome takes the place of the prevalence.

        Parameters
        ----------
        variable : str, optional
            Without it, the mean predicted prevalence. With it, the change of the prevalence per unit of the variable
            (the mean derivative), or, for a variable of two values or of categories, from its first value to each other
            value.
        levels : sequence, optional
            The prevalence if everybody had each of these values of the variable.
        at : mapping, optional
            Values that everybody has of other variables, such as {"age": 30}.
        by : str, optional
            A variable of few values: averages over the people who have each of them, instead of over all people.
        respondents : {"fixed", "sample"}
            Whether the covariates are fixed, or those of a sample of people. Only `logistic` and `multinomial` fits
            without penalty have "sample".

        Returns
        -------
        Estimate
            One entry for each level, category, option or outcome, and for each value of `by`. Differences of entries
            know their covariances: ``margins["x = 1"] - margins["x = 0"]``.
        """
        sampled = check_choice(respondents, "respondents", ("fixed", "sample")) == "sample"
        covariates = self.covariates
        for name, value in (at or {}).items():
            covariates = covariates.fixed(name, value)
        averaged = effects(covariates, self._effects, variable, levels)
        if by is not None:
            averaged = by_group(self.covariates, by, averaged)
        shares = not self.in_units and (variable is None or levels is not None)
        return margin_estimate(
            self._margin_coefficients, self._people, averaged, self._influence() if sampled else None, shares
        )

    @property
    def _people(self) -> People:
        raise NotImplementedError

    @property
    def _margin_coefficients(self) -> Estimate:
        """The parameters that gradients of effects refer to."""
        return self.coefficients

    def _effects(self, matrix: Array) -> list[Effect]:
        raise NotImplementedError

    def _influence(self) -> Array:
        rule = "respondents='sample' needs a fit of logistic() or multinomial()"
        reject(rule, type(self).__name__, "use respondents='fixed'")


@dataclass(frozen=True, eq=False, repr=False)
class AnswerFit(PredictiveFit):
    """A regression with randomized answers as its outcome.

    Parameters
    ----------
    data : ModelRows
        The rows that the model was fitted to.
    """

    data: ModelRows

    @property
    def covariates(self) -> Covariates:
        return self.data.covariates

    @property
    def _people(self) -> People:
        return self.data.people

    def _refit(self, channel: Channel) -> "AnswerFit":
        """Fit the same model again, with the reports read through other designs."""
        raise NotImplementedError


def covers_of(people: People) -> Covers:
    """Return the sources of error for these people: sampling and randomization, with the sample's description."""
    if not people.complex:
        return SAMPLED
    return Covers(SAMPLED.sources, f"({', '.join(people.description)}; {people.df:,} df)")


def as_estimate(
    value: Array,
    cov: Array,
    labels: tuple[str, ...],
    people: People,
    loss: Loss | None,
    method: str,
    notes: tuple[str, ...],
) -> Estimate:
    """Return coefficients with t intervals where the sample has degrees of freedom, else with normal ones."""
    se = np.sqrt(np.diag(cov))
    basis = Student(value, se, people.df) if people.complex else Normal(value, se)
    return Estimate(value, se, labels, cov, people.n, loss, covers_of(people), method, notes, basis)


def provenance_of(rows: ModelRows, form: str, kind: str, jeffreys: bool) -> FitProvenance:
    """Return what another fit must share with a fit to these rows to be compared with it."""
    matrices = tuple(design.matrix for design in rows.channel.designs)
    shared = (form, *matrices, rows.channel.design_index, rows.channel.codes, rows.people.row_weights)
    df = rows.people.df if rows.people.complex else None
    return FitProvenance(shared, rows.covariates.matrix, kind, jeffreys, df)
