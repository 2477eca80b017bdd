"""Base classes of fitted models: coefficients with standard errors, tables, tests, comparisons, predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from toolkit.analysis.homogeneity import wald_f
from toolkit.analysis.regression.covariates import Covariates
from toolkit.analysis.regression.diagnostics import (
    GoodnessOfFit,
    ReportLaw,
    ResidualKind,
    goodness_of_fit,
    report_law,
    residuals,
)
from toolkit.analysis.regression.marginal_effects import as_effects_model
from toolkit.analysis.regression.margins import Effect, interval_basis, margin_effects, margin_estimate, split_by_group
from toolkit.analysis.regression.rows import Channel, ModelRows, People
from toolkit.analysis.regression.scoring import Likelihood, influence_of
from toolkit.analysis.regression.stan import StanBlocks, StanModel
from toolkit.analysis.reports import Data
from toolkit.core.arrays import Array, ArrayLike, Values
from toolkit.core.checks import check_choice, exact_fraction, reject
from toolkit.core.covers import SAMPLED, Covers
from toolkit.core.estimate import Estimate
from toolkit.core.extras import extra
from toolkit.core.fit_table import Cells, FitTable, coefficient_rows, format_p_value
from toolkit.core.inference.digits import concise
from toolkit.core.inference.intervals import Interval, Normal, Student
from toolkit.core.inference.special import chdtrc
from toolkit.core.loss import Loss
from toolkit.core.randomness import Rng

if TYPE_CHECKING:
    import pandas as pd


MAX_PREDICTIONS_WITH_COV = 1000  # for more predictions, the covariance matrix would be too large to compute


@dataclass(frozen=True)
class Comparison:
    """Result of a test of a model against a smaller model nested in it.

    Parameters
    ----------
    statistic : float
        The likelihood-ratio statistic, or Wald's F statistic for a complex sample.
    df : float
        Number of coefficients that only the larger model has.
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
    """The properties that two fits must share to be compared: rows, reports, designs, weights, and fitting options."""

    shared_data: tuple[Any, ...]
    covariates: Array
    error_kind: str
    is_penalized: bool
    df: int | None

    def has_data_of(self, other: "FitProvenance") -> bool:
        """Whether both fits have the same reports, designs, rows and weights."""
        return len(self.shared_data) == len(other.shared_data) and all(
            np.array_equal(first, second) for first, second in zip(self.shared_data, other.shared_data, strict=True)
        )


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """A fitted model, the result of every regression of this package, with the attribute names of statsmodels.

    Parameters
    ----------
    coefficients : Estimate
        The coefficients.
    llf : float
        The log-likelihood at the coefficients, without any penalty; NaN for least squares. With sampling weights, it is
        the weighted log-likelihood, for weights with mean 1.
    rows : mapping
        Number of rows that were used, and numbers of rows that were left out, by the column with the missing value. If
        a row stands for several people, people are counted instead of rows.
    title : str
        Kind of model, as it appears above tables.
    provenance : FitProvenance
        The properties that another fit must share to be compared with this fit.

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
        """Privacy loss of each person's reports; None if no privacy is claimed."""
        return self.coefficients.loss

    @property
    def covers(self) -> Covers:
        """Sources of error that the standard errors cover."""
        return self.coefficients.covers

    @property
    def method(self) -> str:
        """Description of how the coefficients were estimated."""
        return self.coefficients.method

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats that a reader should know."""
        return self.coefficients.notes

    @property
    def ratio_name(self) -> str:
        """Name of the exponential of a coefficient, such as "odds ratio"; empty if the exponential has no meaning."""
        return ""

    def __getitem__(self, label: str) -> Estimate:
        """Return the coefficient with this label; a difference of two coefficients includes their covariance."""
        self._contrast_weights({label: 1.0})
        return self.coefficients[label]

    def contrast(self, weights: Mapping[str, float]) -> Estimate:
        """Estimate a weighted sum of coefficients; its standard error follows from their covariance.

        Parameters
        ----------
        weights : mapping
            Weights by label, {"female": 1, "male": -1}.

        Returns
        -------
        Estimate
            The weighted sum, with the same kind of interval as the coefficients.
        """
        row = self._contrast_weights(weights)
        label = " + ".join(f"{row[self.labels.index(name)]:g} × {name}" for name in weights)
        return replace(self.coefficients.contrast(row), labels=(label,))

    def _contrast_weights(self, weights: Mapping[str, float]) -> Array:
        """Return a weight for each coefficient: 0 for labels that `weights` does not mention."""
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
        """Compute a confidence interval for each coefficient: normal, or a t interval for a complex sample.

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
        """Return one row per coefficient: estimate, standard error, interval, and the test that it is zero.

        Parameters
        ----------
        exp : bool
            Whether to return exponentials of the estimate and its limits (odds ratios for the logit link), with a
            standard error by the delta method. The statistic and the p-value still refer to the coefficient.
        level : float
            Confidence level.

        Returns
        -------
        pandas.DataFrame
            One row per coefficient.
        """
        test = self.coefficients.test()
        frame = (self._exponentials() if exp else self.coefficients).to_frame(level)
        frame = frame.assign(statistic=test.statistic, p=test.p)
        return frame.rename(columns={"estimate": self.ratio_name}) if exp else frame

    def _exponentials(self) -> Estimate:
        """Return the exponentials of the coefficients and of their limits, with errors by the delta method."""
        if not self.ratio_name:
            rule = "`exp` needs a link whose coefficients are logarithms of ratios"
            reject(rule, "another", "leave out `exp`: exponentials have no meaning here")
        return self.coefficients.map(np.exp, np.exp)

    def _labelled_series(self, values: ArrayLike) -> "pd.Series[Any]":
        return extra("pandas", "analysis").Series(np.asarray(values, dtype=float), index=list(self.labels))

    @property
    def params(self) -> "pd.Series[Any]":
        """Coefficients by label."""
        return self._labelled_series(self.value)

    @property
    def bse(self) -> "pd.Series[Any]":
        """Standard errors by label."""
        return self._labelled_series(self.se)

    @property
    def pvalues(self) -> "pd.Series[Any]":
        """P-values of the tests that each coefficient is zero, by label."""
        return self._labelled_series(self.coefficients.test().p)

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
            A frame with the columns low and high.
        """
        return self.to_frame(level=level if alpha is None else 1 - alpha)[["low", "high"]]

    @property
    def nobs(self) -> int | None:
        """Number of people, under the name that statsmodels uses."""
        return self.n

    @property
    def _slope_indices(self) -> list[int]:
        """Indices of the coefficients without the intercepts."""
        return [index for index, label in enumerate(self.labels) if str(label).rpartition(": ")[2] != "Intercept"]

    @property
    def _n_parameters(self) -> int:
        """Number of parameters of the likelihood, including those that are not coefficients."""
        return len(self.labels)

    @property
    def aic(self) -> float:
        """Akaike's criterion; NaN if there is no likelihood (least squares, a penalty, weights, strata or clusters)."""
        return 2 * self._n_parameters - 2 * self._comparable_llf

    @property
    def bic(self) -> float:
        """Schwarz's criterion, with the number of people as the sample size; NaN if there is no likelihood."""
        return float(np.log(self.n or np.nan)) * self._n_parameters - 2 * self._comparable_llf

    @property
    def _comparable_llf(self) -> float:
        has_likelihood = not self.provenance.is_penalized and self.provenance.df is None
        return self.llf if has_likelihood else np.nan

    def _fit_measures(self) -> list[tuple[str, str]]:
        """Return the measures of the whole fit that tables report, as pairs of name and formatted value."""
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
        """Return a printable table of the whole fit, with methods `to_latex` and `to_html`.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        FitTable
            Coefficients with errors, tests and intervals; number of people, likelihood, privacy loss; notes.
        """
        rows = coefficient_rows(self.coefficients, np.atleast_2d(self.conf_int(level=level)))
        letter = "t" if isinstance(self.coefficients.basis, Student) else "z"
        head = ("", "estimate", "se", letter, "p", f"{100 * level:g} % interval")
        measures = tuple((name, text, "", "", "", "") for name, text in self._fit_measures())
        notes = (f"covers {self.covers}; {self.method}", *self._note_lines())
        return FitTable(self.title, head, self._table_rows(rows), measures, notes)

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
            The text, if no path is given.
        """
        return self.summary(level).to_latex(path)

    def plot(self, variable: str | None = None, *, level: float = 0.95, ax: Any = None) -> Any:
        """Plot the coefficients with their intervals, or the mean prediction against a variable, with its band.

        Parameters
        ----------
        variable : str, optional
            A variable of the formula. For each of its values, the plot shows the prediction averaged over the people of
            the fit, as if all of them had that value. Without it, all coefficients but the intercept are plotted.
        level : float
            Confidence level.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        from toolkit.show import fits

        if variable is None:
            return fits.coefficients(self, level=level, ax=ax)
        return fits.along(self, variable, level=level, ax=ax)

    def compare(self, smaller: "Fit") -> Comparison:
        """Test this model against a smaller model that is nested in it and was fitted to the same rows.

        The test is a likelihood-ratio test with a chi-squared reference. With weights, strata or clusters, for which
        there is no likelihood to compare, it is a Wald F test of the coefficients that the smaller model lacks.

        Parameters
        ----------
        smaller : Fit
            A model of the same kind with fewer coefficients.

        Returns
        -------
        Comparison
            Statistic, degrees of freedom and p-value.
        """
        added = self._added_coefficients(smaller)
        if self.provenance.is_penalized or smaller.provenance.is_penalized:
            remedy = "fit both without `penalty`: penalized likelihoods have no ratio test"
            reject("models to compare must not be penalized", "penalty='jeffreys'", remedy)
        if self.provenance.df is None:
            statistic = max(2 * (self.llf - smaller.llf), 0.0)
            df = len(self.labels) - len(smaller.labels)
            return Comparison(statistic, df, float(chdtrc(df, statistic)), "likelihood ratio")
        if len(added) != len(self.labels) - len(smaller.labels):
            rule = "the smaller model must have a subset of the larger model's coefficients"
            reject(rule, "others", "Wald's test sets coefficients to zero; write both formulas alike")
        return wald_comparison(self.value[added], self.cov[np.ix_(added, added)], self.provenance.df, "Wald, F")

    def residuals(self, kind: ResidualKind = "quantile", *, rng: Rng = None) -> Array:
        """Compute residuals of the reports, given their probabilities under the model and the design.

        Quantile residuals are randomized (Dunn and Smyth 1996): for each report, a number is drawn uniformly between
        the probability of all smaller reports and the probability of at most this report, and mapped to a normal
        quantile. If the model is right, they are standard normal, up to the error of the coefficients. Pearson and
        deviance residuals take few different values, because a person gives one of few reports.

        With sampling weights, strata or clusters, a residual still belongs to one person's report, but residuals may be
        dependent within clusters, and are standard normal only if the sampling does not depend on the report.

        Parameters
        ----------
        kind : {"quantile", "pearson", "deviance"}
            Kind of residuals.
        rng : numpy.random.Generator, optional
            Source of randomness of quantile residuals; by default, they differ from call to call.

        Returns
        -------
        array
            One number for each person; a row with `times` has as many entries as people. With more than two possible
            reports, Pearson and deviance residuals have one column per report: that report against all others.
        """
        return residuals(self._report_law(), kind, rng)

    def goodness_of_fit(self, groups: int = 10) -> GoodnessOfFit:
        """Test the fit by comparing observed and expected reports in groups of people with similar predictions.

        This is the test of Hosmer and Lemeshow (1980) for randomized reports. Its degrees of freedom are the mean of
        the statistic under the model: for a yes/no trait close to `groups` - 2. Reports contain less information than
        true answers, so the test needs more people to detect the same misfit.

        Parameters
        ----------
        groups : int
            Number of groups. The number is reduced if too few predictions are distinct.

        Returns
        -------
        GoodnessOfFit
            Statistic, degrees of freedom, p-value, and the table of observed and expected reports.

        Raises
        ------
        ValueError
            If the sample has weights, strata or clusters, or the model does not describe the probabilities of reports.
        """
        return goodness_of_fit(self._report_law(), groups)

    def to_stan(self, priors: str | None = None) -> StanModel:
        """Write the model as a Stan program with its data, to which priors can be added.

        The program has the likelihood of the fit, which can be that of `logistic` (with or without an anchor),
        `multinomial`, `ordinal`, `mixed_logistic`, a design with two groups, or one list by maximum likelihood. Random
        intercepts are parameters of the program. A penalty is not part of it.

        Reports that protect privacy are possible under every truth. Their likelihood therefore does not fall to 0 where
        coefficients grow without limit, and flat priors give no proper posterior: state priors.

        Parameters
        ----------
        priors : str, optional
            Statements for the model block, such as "beta ~ normal(0, 2.5);"; without them, priors are flat, and a
            comment in the program says where to write them.

        Returns
        -------
        StanModel
            The program and its data, with a method `write` for the files that cmdstanpy reads.

        Raises
        ------
        ValueError
            If the sample has weights, strata or clusters, or the model has no program.

        Examples
        --------
        >>> from toolkit import warner
        >>> from toolkit.analysis import logistic
        >>> coin, age, rng = warner("3/4"), np.arange(2000) % 50, np.random.default_rng(1)
        >>> fit = logistic(coin.randomize(rng.random(2000) < 0.2 + age / 100, rng=rng), age, coin)
        >>> fit.to_stan("beta ~ normal(0, 2.5);").labels
        {'beta[1]': 'Intercept', 'beta[2]': 'x1'}
        """
        title, blocks, people = self._stan_blocks()
        if self.provenance.df is not None:
            consequence = "with them there is no likelihood, so there is no posterior"
            reject("a Stan program needs a sample without weights, strata or clusters", "one with them", consequence)
        penalty = "The fit has Jeffreys' penalty, which is not part of this program."
        return blocks.to_model(title, people.row_weights, priors, [penalty] if self.provenance.is_penalized else [])

    def _stan_blocks(self) -> tuple[str, StanBlocks, People]:
        """Return the title and the blocks of a Stan program, and the people behind the rows of its data."""
        rule = "a Stan program needs a model whose likelihood is written in Stan"
        consequence = (
            "least squares, several lists, items or random effects, known shares, predictor() and linear() have none"
        )
        reject(rule, f"{type(self).__name__}: {self.method}", consequence)

    def _report_law(self) -> ReportLaw:
        """Return the distribution of each person's report under the model."""
        rule = "residuals need a fit of logistic(), multinomial(), ordinal() or a two-group model by likelihood"
        consequence = "other models do not describe independent reports by their probabilities"
        reject(rule, f"{type(self).__name__}: {self.method}", consequence)

    def _added_coefficients(self, smaller: "Fit") -> list[int]:
        """Return the indices of the coefficients that the smaller model lacks."""
        rule = "models to compare must be of one kind, with the same designs and rows"
        if type(self) is not type(smaller):
            reject(rule, type(smaller).__name__, "fit both by the same function")
        mine, other = self.provenance, smaller.provenance
        if not mine.has_data_of(other):
            reject(rule, "others", "fit both to the same reports, rows and weights")
        added = [index for index, label in enumerate(self.labels) if label not in smaller.labels]
        # The smaller model is nested if its columns lie in the span of the larger model's columns.
        residual = (
            other.covariates - mine.covariates @ np.linalg.lstsq(mine.covariates, other.covariates, rcond=None)[0]
        )
        tolerance = 1e-8 * np.abs(other.covariates).max(initial=1)
        if len(self.labels) <= len(smaller.labels) or np.abs(residual).max(initial=0) > tolerance:
            remedy = "call compare on the larger model: larger.compare(smaller)"
            reject("the other model must be nested in this one", "another", remedy)
        return added

    def __repr__(self) -> str:
        return str(self._coefficient_table("se"))

    def _repr_html_(self) -> str:
        return self._coefficient_table("standard error").to_html()

    def _coefficient_table(self, error_title: str) -> FitTable:
        pvalues = np.atleast_1d(self.coefficients.test().p)
        rows = [
            (str(label), value, se, limits, format_p_value(float(p)))
            for (label, value, se, limits), p in zip(self.coefficients.text_rows(), pvalues, strict=True)
        ]
        head = ("", "estimate", error_title, "95 % interval", "p")
        return FitTable(self.title, head, self._table_rows(rows), (), (self._footer(), *self._note_lines()))

    def _table_rows(self, rows: Sequence[Cells]) -> tuple[Cells, ...]:
        """Arrange the rows of the coefficients; a model with coefficients of several kinds adds headings."""
        return tuple(rows)

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

    @property
    def predicts_means(self) -> bool:
        """Whether predictions are means in the unit of the outcome, rather than shares."""
        return False

    @property
    def covariates(self) -> Covariates:
        """The matrix of covariates, and how it is made from new data."""
        raise NotImplementedError

    def predict(self, data: Data | Values | None = None) -> Estimate:
        """Estimate the prevalence of the trait, or the mean of the outcome, among people with these covariates.

        The interval is for the prevalence or mean, not for the true answer of one person.

        Parameters
        ----------
        data : frame or array, optional
            The covariates of new people; by default, predictions are for the people in the fitted data.

        Returns
        -------
        Estimate
            One entry per row; with several options or outcomes, one entry per row and option or outcome, row by row.
        """
        matrix = self.covariates.matrix if data is None else self.covariates.matrix_of(data)
        return self._predict(matrix)

    def _predict(self, matrix: Array) -> Estimate:
        predicted = self._predictions(matrix)
        value = np.stack([effect.value for effect in predicted], axis=1).ravel()
        gradient = np.stack([effect.gradient for effect in predicted], axis=1).reshape(len(value), -1)
        se = np.sqrt(np.einsum("ij,jk,ik->i", gradient, self.cov, gradient))
        names = [effect.label for effect in predicted]
        return replace(
            self.coefficients,
            value=value,
            se=se,
            labels=tuple(f"{row}: {name}" if name else row for row in range(len(matrix)) for name in names),
            cov=gradient @ self.cov @ gradient.T if len(value) <= MAX_PREDICTIONS_WITH_COV else None,
            notes=(),
            method=f"prediction; {self.method}",
            basis=interval_basis(self.coefficients, value, se, are_shares=not self.predicts_means),
        )

    def margins(
        self,
        variable: str | None = None,
        *,
        levels: Sequence[Any] | None = None,
        at: Mapping[str, Any] | None = None,
        by: str | None = None,
        respondents: Literal["fixed", "sample"] = "fixed",
    ) -> Estimate:
        """Estimate mean predicted prevalences or average marginal effects, over the people in the fitted data.

        Errors are by the delta method; intervals of prevalences are truncated to [0, 1]. For a linear model, the mean
        of the outcome takes the place of the prevalence.

        Parameters
        ----------
        variable : str, optional
            The variable whose average marginal effect is estimated: the mean derivative of the prevalence, or, for a
            binary or categorical variable, the difference between each value and the first one. Without it, the mean
            predicted prevalence is estimated.
        levels : sequence, optional
            Values of the variable: for each of them, the mean prevalence if everybody had this value.
        at : mapping, optional
            Values at which other variables are fixed for everybody, such as {"age": 30}.
        by : str, optional
            A variable with few values: averages are then over the people with each value, instead of over all people.
        respondents : {"fixed", "sample"}
            Whether the covariates are treated as fixed or as sampled. "sample" is available for `logistic`,
            `multinomial` and `ordinal` fits without a penalty.

        Returns
        -------
        Estimate
            One entry for each level, category, option or outcome, and for each value of `by`. A difference of entries
            takes their covariance into account: ``margins["x = 1"] - margins["x = 0"]``.
        """
        is_sample = check_choice(respondents, "respondents", ("fixed", "sample")) == "sample"
        covariates = self.covariates
        for name, value in (at or {}).items():
            covariates = covariates.with_value(name, value)
        effects = margin_effects(covariates, self._predictions, variable, levels)
        if by is not None:
            effects = split_by_group(self.covariates, by, effects)
        are_shares = not self.predicts_means and (variable is None or levels is not None)
        return margin_estimate(
            self._margin_coefficients, self._people, effects, self._influence() if is_sample else None, are_shares
        )

    @property
    def _people(self) -> People:
        raise NotImplementedError

    @property
    def _margin_coefficients(self) -> Estimate:
        """The parameters with respect to which the gradients of effects are taken."""
        return self.coefficients

    def _predictions(self, matrix: Array) -> list[Effect]:
        raise NotImplementedError

    def _influence(self) -> Array:
        rule = "respondents='sample' needs a fit of logistic(), multinomial() or ordinal()"
        reject(rule, type(self).__name__, "use respondents='fixed'")


@dataclass(frozen=True, eq=False, repr=False)
class AnswerFit(PredictiveFit):
    """A fitted regression with randomized answers as its outcome.

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

    def to_marginaleffects(self) -> Any:
        """Return the fit as a model for the functions of the package marginaleffects.

        Pass the result to `predictions`, `comparisons`, `slopes` or their averages. Averages are over rows; with
        weights, or rows that stand for several people, pass ``wts="row_weight"``. The package must be installed. With
        text among the covariates, its version 0.6.0 needs polars before 2.

        Returns
        -------
        marginaleffects.classes.ModelAbstract
            The model, with the coefficients and the covariance matrix of the fit.
        """

        def predictions(params: Array, matrix: Array) -> list[Effect]:
            return replace(self, coefficients=replace(self.coefficients, value=params))._predictions(matrix)

        return as_effects_model(self, self.covariates, self._people, predictions)

    def _truth_shares(self) -> list[Effect]:
        """Return the probability of each option for the people in the fitted data, in the model's order of options."""
        return self._predictions(self.covariates.matrix)

    def _report_law(self) -> ReportLaw:
        shares = self._truth_shares()
        in_order_of_design = [shares[index] for index in np.argsort(self._option_order, kind="stable")]
        # The first option has the smallest share where all others together have the largest.
        prediction = np.asarray(sum(share.value for share in shares[1:]))
        return report_law(self.data.channel, in_order_of_design, prediction, self._people)

    @property
    def _option_order(self) -> Sequence[int]:
        """Indices of the options of the design in the order of the model."""
        return range(len(self.data.channel.options))

    def _refit(self, channel: Channel) -> "AnswerFit":
        """Fit the same model again under different randomization designs."""
        raise NotImplementedError

    def _model(self) -> Likelihood:
        """Return the log-likelihood of the rows of the fit, with covariates in their original units."""
        raise NotImplementedError

    def _influence(self) -> Array:
        if self.provenance.is_penalized:
            reject("respondents='sample' needs a fit without penalty", "penalty='jeffreys'", "use respondents='fixed'")
        return influence_of(self._model(), self.value)


def wald_comparison(value: Array, cov: Array, df: int, method: str) -> Comparison:
    """Test by Wald's F whether all these numbers are zero, with the degrees of freedom of the sample."""
    if df < len(value):
        rule = "there must be more sampling units than coefficients to test"
        reject(rule, str(df), "compare with a model that lacks fewer coefficients")
    test = wald_f(value, cov, df)
    return Comparison(test.statistic, len(value), test.p, method)


def covers_of(people: People) -> Covers:
    """Return the sources of error that are covered, with a description of the sample if it is complex."""
    if not people.is_complex:
        return SAMPLED
    return Covers(SAMPLED.sources, f"({', '.join(people.description)}; {people.df:,} df)")


def coefficient_estimate(
    value: Array,
    cov: Array,
    labels: tuple[str, ...],
    people: People,
    loss: Loss | None,
    method: str,
    notes: tuple[str, ...],
) -> Estimate:
    """Return the coefficients as an estimate: with t intervals for a complex sample, or with normal intervals."""
    se = np.sqrt(np.diag(cov))
    basis = Student(value, se, people.df) if people.is_complex else Normal(value, se)
    return Estimate(value, se, labels, cov, people.n, loss, covers_of(people), method, notes, basis)


AnswerFitFields = tuple[Estimate, float, Mapping[str, int], str, FitProvenance, ModelRows]


def answer_fit_fields(
    name: str,
    rows: ModelRows,
    point: tuple[Array, Array, tuple[str, ...], float],
    form: str,
    error_kind: str,
    with_jeffreys: bool,
) -> AnswerFitFields:
    """Return the fields of an `AnswerFit`.

    `point` holds coefficients, covariance, labels and log-likelihood; `form` describes the variant of the model.
    """
    value, cov, labels, loglike = point
    estimator = "penalized" if with_jeffreys else "maximum"
    method = f"{rows.channel.description}, {form}, {estimator} likelihood, {error_kind} errors"
    return (
        coefficient_estimate(value, cov, labels, rows.people, rows.channel.loss, method, rows.notes),
        loglike,
        {"used": rows.people.n, **rows.dropped},
        f"{name} regression through a randomized answer ({form}{', Jeffreys penalty' if with_jeffreys else ''})",
        provenance_of(rows, form, error_kind, with_jeffreys),
        rows,
    )


def provenance_of(rows: ModelRows, model_form: str, error_kind: str, is_penalized: bool) -> FitProvenance:
    """Return the properties that another fit must share to be compared with a fit to these rows."""
    matrices = tuple(design.matrix for design in rows.channel.designs)
    shared = (model_form, *matrices, rows.channel.design_index, rows.channel.codes, rows.people.row_weights)
    df = rows.people.df if rows.people.is_complex else None
    return FitProvenance(shared, rows.covariates.matrix, error_kind, is_penalized, df)
