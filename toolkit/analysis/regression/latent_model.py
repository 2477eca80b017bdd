"""Models with latent classes: who belongs to a class depends on covariates, and each class answers by its own rule.

A model is a distribution of the responses given a few linear predictors, one of which is for the trait. Log-likelihood,
score and expected information follow from it.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict

import numpy as np

from toolkit.analysis.regression.covariates import Covariates, covariates_from_table, standardize
from toolkit.analysis.regression.diagnostics import GoodnessOfFit, ReportLaw
from toolkit.analysis.regression.fit import (
    MAX_PREDICTIONS_WITH_COV,
    Comparison,
    Fit,
    FitProvenance,
    PredictiveFit,
    coefficient_estimate,
    wald_comparison,
)
from toolkit.analysis.regression.margins import Effect, interval_basis
from toolkit.analysis.regression.responses import (
    Auxiliary,
    Distribution,
    ResponseModel,
    block_diagonal,
    linear_predictors,
)
from toolkit.analysis.regression.rows import AnswerRows, Codes, People
from toolkit.analysis.regression.scoring import (
    ErrorKind,
    Evaluation,
    Maximization,
    checked_error_kind,
    covariance,
    finish_by_newton,
    influence_of,
    interior_maximum,
    is_maximum,
    maximize,
)
from toolkit.analysis.regression.stan import (
    StanBlocks,
    StanDistribution,
    StanVariable,
    covariates_in_stan,
    element_labels,
    stan_name,
)
from toolkit.analysis.reports import Data
from toolkit.analysis.sampling.sample import Sampled
from toolkit.core.arrays import Array, Values
from toolkit.core.checks import reject
from toolkit.core.covers import ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Mapped
from toolkit.core.inference.special import chdtrc, expit
from toolkit.core.loss import Loss

Share = Callable[[Array], tuple[Array, Array]]
"""From linear predictors to each person's probability of the trait, with its derivatives (predictor, person)."""

_TINY = 1e-300
_UNIDENTIFIED = 1e-8
_BY_FORM = 0.02
# In none of 120 simulated surveys of 1,000 people did another starting point lead to a higher maximum.
_MANY_ROWS = 1000
_FURTHER_STARTS = 12
# A further start is abandoned if its log-likelihood is lower by more than this after a few steps.
_PROMISING = 0.5
_HIGHER = 1e-4
# A share counts as 0 or 1 if its log odds are beyond this value for everybody.
_LOG_ODDS_OF_LIMIT = 7
HIGHER_AT_INFINITY = (
    "the likelihood is higher still where coefficients grow without limit: the estimates are its highest maximum at "
    "finite coefficients"
)
FORM_ONLY = (
    "identified by the shape of the curve only: without the assumed link, these answers would not identify the "
    "parameters"
)
ADVICE = "use penalty='jeffreys', fewer covariates, or ask more people"


class FitOptions(TypedDict, total=False):
    """Options of a fit: standard errors, penalty, the sampling design, and how missing values are treated."""

    se: ErrorKind | None
    penalty: Literal["jeffreys"] | None
    sample: Sampled | None
    weights: Values | None
    strata: Values | None
    clusters: Values | None
    missing: str


_DEFAULTS = {
    "missing": "refuse",
    "method": "nls",
    "control": "binomial",
    "constrained": True,
    "floor": False,
    "ceiling": False,
}


def only_with_formula(options: Mapping[str, object]) -> None:
    """Reject options of a fit that are given together with counts or reports."""

    def is_default(name: str, value: object) -> bool:
        return value is None or (isinstance(value, str | bool) and value == _DEFAULTS.get(name))

    if given := ", ".join(f"`{name}`" for name, value in options.items() if not is_default(name, value)):
        reject(f"{given} must go with a formula", "counts or reports", 'write "report ~ 1" and give `data`')


@dataclass(frozen=True, eq=False)
class Predictor:
    """A linear predictor; the predictor of the trait has no name.

    A parameter that goes to one of its `limits` is left out: a share may go to 0 or 1, a spread to 0.
    """

    name: str
    covariates: Covariates
    start: Array
    limits: tuple[int, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        prefix = f"{self.name}: " if self.name else ""
        return tuple(f"{prefix}{label}" for label in self.covariates.labels)


def trait_share(eta: Array) -> tuple[Array, Array]:
    """Return the inverse logit of the first linear predictor; the others do not change the prevalence."""
    share, slopes = expit(eta[0]), np.zeros_like(eta)
    slopes[0] = share * (1 - share)
    return share, slopes


def further_share(name: str, answers: AnswerRows, start: float, limits: tuple[int, ...] = ()) -> Predictor:
    """Return the linear predictor of a share other than the trait's: with its own covariates, or only an intercept."""
    covariates = answers.share_covariates.get(name)
    if covariates is None:
        covariates = covariates_from_table(np.empty((len(answers.covariates.matrix), 0)))
    return Predictor(name, covariates, intercept_start(covariates.labels, start), limits)


def intercept_start(labels: tuple[str, ...], value: float) -> Array:
    """Return starting values: 0 for all coefficients but the intercept."""
    return np.where(np.array(labels) == "Intercept", value, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class LatentFit(PredictiveFit):
    """A fitted model with latent classes.

    The trait's coefficients come first, under the names of the covariates. Other coefficients have the name of their
    share before the name of the covariate.

    In 2,000 simulated surveys of 1,000 people each, 95 % intervals covered coefficients and prevalences in 94.7 to
    95.4 % (unrelated question), 94.5 to 97.1 % (lie detector), 94.8 to 96.0 % (extended crosswise) and 94.9 to 96.5 %
    (cheater detection) of surveys. At most 7 of the 2,000 surveys had no maximum at finite coefficients; these were
    rejected. With the known shares of three groups, in 2,000 surveys of 1,020 people with a lie detector, intervals
    covered the coefficient of a covariate in 96.4 % and honesty in 95.2 %, but the intercept in 88.2 % and the
    coefficients of groups in 91.3 and 98.3 %: known shares tie these to the covariate's coefficient along a curve,
    which intervals take for a line.

    Parameters
    ----------
    answers : AnswerRows
        The rows that the model was fitted to.
    predictors : tuple of Predictor
        The linear predictors with their covariates; the predictor of the trait is first.
    share : Share
        The prevalence of the trait as a function of the linear predictors.
    model : ResponseModel, optional
        The likelihood without a penalty; None for least squares. With known shares, it contains their density.

    Examples
    --------
    >>> import numpy as np
    >>> from toolkit.analysis import LatentFit, list_experiment
    >>> rng = np.random.default_rng(1)
    >>> treated = rng.random(800) < 0.5
    >>> count = rng.binomial(4, 0.4, size=800) + (treated & (rng.random(800) < 0.3))
    >>> fit = list_experiment("count ~ 1", {"count": count, "t": treated}, treatment="t", items=4)
    >>> isinstance(fit, LatentFit), fit.labels
    (True, ('Intercept', 'control: Intercept'))
    """

    answers: AnswerRows
    predictors: tuple[Predictor, ...]
    share: Share
    model: ResponseModel | None

    @property
    def covariates(self) -> Covariates:
        return self.predictors[0].covariates

    @property
    def _people(self) -> People:
        return self.answers.people

    def predict(self, data: Data | Values | None = None) -> Estimate:
        matrices = [
            predictor.covariates.matrix if data is None else self._matrix(predictor, data)
            for predictor in self.predictors
        ]
        value, gradient = self._shares_of(matrices)
        se = np.sqrt(np.einsum("ij,jk,ik->i", gradient, self.cov, gradient))
        # Intervals are computed for the log odds, so they lie within [0, 1].
        eta = np.log(np.maximum(value, _TINY)) - np.log(np.maximum(1 - value, _TINY))
        eta_se = se / np.maximum(value * (1 - value), _TINY)
        return replace(
            self.coefficients,
            value=value,
            se=se,
            labels=tuple(range(len(value))),
            cov=gradient @ self.cov @ gradient.T if len(value) <= MAX_PREDICTIONS_WITH_COV else None,
            notes=(),
            method=f"prediction; {self.method}",
            basis=Mapped(interval_basis(self.coefficients, eta, eta_se, are_shares=False), expit),
        )

    def compare(self, smaller: Fit) -> Comparison:
        """Test this model against a smaller model nested in it, which may lack a share or have known shares.

        Parameters
        ----------
        smaller : Fit
            A model of the same kind with fewer coefficients, or without a share; or the same model with known shares,
            which are then tested.

        Returns
        -------
        Comparison
            The likelihood-ratio test. A share of 0 lies on the boundary of the parameter space; the reference is then
            a mixture of chi-squared distributions (Self and Liang 1987), as if the shares were estimated independently.
        """
        if self._auxiliary is not None:
            consequence = "call compare on the fit without them, or read the p-values of the coefficients"
            reject("a fit with known shares must be the smaller model of a comparison", "the larger one", consequence)
        if isinstance(smaller, LatentFit) and smaller._auxiliary is not None:
            return self._compare_with_known(smaller, smaller._auxiliary)
        plain = super().compare(smaller)
        shares = [predictor for predictor in self.predictors if predictor.limits and len(predictor.labels) == 1]
        n_boundary = sum(not set(predictor.labels) & set(smaller.labels) for predictor in shares)
        if not n_boundary or plain.method != "likelihood ratio":
            return plain
        p = 0.0
        for n_interior in range(n_boundary + 1):
            df = int(plain.df) - n_boundary + n_interior
            tail = float(chdtrc(df, plain.statistic)) if df else float(plain.statistic < 1e-9)
            p += math.comb(n_boundary, n_interior) / 2**n_boundary * tail
        return replace(plain, p=p, method="likelihood ratio, on the edge")

    @property
    def _auxiliary(self) -> Auxiliary | None:
        return None if self.model is None else self.model.auxiliary

    def _compare_with_known(self, smaller: "LatentFit", auxiliary: Auxiliary) -> Comparison:
        """Test known shares, which the smaller model has in its likelihood."""
        mine, other = self.provenance, smaller.provenance
        if self.model is None or self.labels != smaller.labels or not mine.has_data_of(other):
            consequence = "fit the same formula to the same rows with `known` and without it"
            reject("a model with known shares must otherwise be the same", "another model", consequence)
        if mine.is_penalized or other.is_penalized:
            reject("models to compare must not be penalized", "penalty='jeffreys'", "fit both without `penalty`")
        if mine.df is None:
            statistic, df = max(2 * (self.llf - smaller.llf), 0.0), len(auxiliary.covariance)
            return Comparison(statistic, df, float(chdtrc(df, statistic)), "likelihood ratio, known shares")
        model, people = replace(self.model, auxiliary=auxiliary), self._people
        differences, gradient = model.differences(self.value)
        influence = influence_on(self.model, self.predictors, self.value)
        rows = auxiliary.contributions(model.predictors(self.value), people) + influence @ gradient.T
        cov = people.variance_of_sum(rows) + np.diag(auxiliary.given_variance)
        return wald_comparison(differences, cov, mine.df, "Wald, F, known shares")

    def goodness_of_fit(self, groups: int = 10) -> GoodnessOfFit:
        if self._auxiliary is not None:
            consequence = "compare the fit without them with this one"
            reject("this test needs coefficients estimated from the reports alone", "known shares", consequence)
        return super().goodness_of_fit(groups)

    def _report_law(self) -> ReportLaw:
        if self.model is None:
            return super()._report_law()
        law, slopes = self.model.distribution(self.model.predictors(self.value))
        gradient = np.concatenate(
            [slope[:, :, None] * x[:, None] for x, slope in zip(self.model.columns, slopes, strict=True)], axis=2
        )
        trait, *_ = self._predictions(self.covariates.matrix)
        return ReportLaw(law, gradient, self.model.responses, tuple(range(law.shape[1])), trait.value, self._people)

    def _stan_blocks(self) -> tuple[str, StanBlocks, People]:
        distribution: object = None if self.model is None else self.model.distribution
        if self.model is None or self._auxiliary is not None or not isinstance(distribution, StanDistribution):
            return super()._stan_blocks()
        blocks = distribution.stan_blocks(self.model.responses)
        names = [stan_name(predictor.name) for predictor in self.predictors]
        labels, data = dict[str, str](), list[StanVariable]()
        for name, predictor, x in zip(names, self.predictors, self.model.columns, strict=True):
            labels |= element_labels(f"beta_{name}", predictor.labels)
            data += covariates_in_stan(x, f"_{name}")
        blocks = replace(
            blocks,
            labels=labels,
            parameters=tuple(f"vector[K_{name}] beta_{name};" for name in names),
            model=(*(f"vector[N] eta_{name} = X_{name} * beta_{name};" for name in names), *blocks.model),
            data=(*data, *blocks.data),
        )
        return self.title.partition(",")[0], blocks, self._people

    def _predictions(self, matrix: Array) -> list[Effect]:
        first, others = self.covariates, [predictor.covariates for predictor in self.predictors[1:]]
        matrices = [matrix, *(matrix if covariates is first else covariates.matrix for covariates in others)]
        return [Effect("", *self._shares_of(matrices))]

    def _matrix(self, predictor: Predictor, data: Data | Values) -> Array:
        """Return the covariates of new people; other shares need covariates only if they change the prevalence."""
        if predictor is self.predictors[0] or not self._only_trait_matters:
            return predictor.covariates.matrix_of(data)
        return np.ones((len(self.predictors[0].covariates.matrix_of(data)), len(predictor.labels)))

    @property
    def _only_trait_matters(self) -> bool:
        """Whether the prevalence depends on the linear predictor of the trait alone."""
        return self.share is trait_share

    def _shares_of(self, matrices: Sequence[Array]) -> tuple[Array, Array]:
        """Return each person's probability of the trait, and its gradient with respect to all coefficients."""
        value, slopes = self.share(linear_predictors(matrices, self.value))
        return value, np.column_stack([x * slope[:, None] for x, slope in zip(matrices, slopes, strict=True)])


@dataclass(frozen=True, eq=False)
class FitSettings:
    """Settings of a fit, and the texts that describe the fit.

    `shared` holds the properties that other fits must share to be compared; `advice` is the remedy if there is no
    maximum. `loss` is the privacy loss of a person's reports, if one is claimed. `may_rest_on_form` states whether some
    responses identify the parameters by the shape of the curve only. `auxiliary` holds facts from outside of the
    reports.
    """

    title: str
    method: str
    shared: tuple[Any, ...]
    share: Share
    se: str | None = None
    with_jeffreys: bool = False
    notes: tuple[str, ...] = ()
    advice: str = ADVICE
    loss: Loss | None = None
    may_rest_on_form: bool = True
    auxiliary: Auxiliary | None = None


def fit_latent(
    answers: AnswerRows,
    responses: Codes,
    distribution: Distribution,
    predictors: Sequence[Predictor],
    settings: FitSettings,
) -> LatentFit:
    """Maximize the likelihood; return coefficients and errors for the covariates in their original units."""
    people, with_jeffreys = answers.people, settings.with_jeffreys
    error_kind = checked_error_kind(settings.se, people, with_jeffreys)
    columns, back = _standardized(predictors)
    model = ResponseModel(distribution, columns, responses, people, with_jeffreys, settings.auxiliary)
    start = np.linalg.solve(back, np.concatenate([predictor.start for predictor in predictors]))
    model, point, observed, maximum_notes = _maximum_of_fit(model, start, settings)
    cov = covariance(model, point.params, error_kind, point.information, observed)
    plain = replace(model, with_jeffreys=False)
    labels = tuple(label for predictor in predictors for label in predictor.labels)
    estimator = "penalized" if with_jeffreys else "maximum"
    method = f"{settings.method}, {estimator} likelihood, {error_kind} errors"
    notes = (*answers.notes, *settings.notes, *maximum_notes)
    own_units = tuple(predictor.covariates.matrix for predictor in predictors)
    return LatentFit(
        coefficient_estimate(back @ point.params, back @ cov @ back.T, labels, people, settings.loss, method, notes),
        plain.evaluate(point.params).loglike if with_jeffreys else point.loglike,
        {"used": people.n, **answers.dropped},
        f"{settings.title}{', Jeffreys penalty' if with_jeffreys else ''}",
        FitProvenance(
            (*settings.shared, responses, people.row_weights),
            np.column_stack(own_units),
            error_kind,
            with_jeffreys,
            people.df if people.is_complex else None,
        ),
        answers,
        tuple(predictors),
        settings.share,
        replace(plain, columns=own_units),
    )


def _maximum_of_fit(
    model: ResponseModel, start: Array, settings: FitSettings
) -> tuple[ResponseModel, Evaluation, Array, tuple[str, ...]]:
    """Return the model with the covariance of its auxiliary differences, its maximum, the information, and notes.

    With auxiliary differences, a first maximum with their largest possible variances is consistent, and a second one
    with the variances that follow from it is efficient.
    """
    point, observed, notes = _maximum(model, start, settings.advice)
    identification_notes = _identified(point.information) if settings.may_rest_on_form else ()
    if model.auxiliary is not None:
        auxiliary = model.auxiliary.with_sampling_variance(model.predictors(point.params), model.people)
        model = replace(model, auxiliary=auxiliary)
        point, observed, _ = _maximum(model, point.params, settings.advice, with_further_starts=False)
    return model, point, observed, (*identification_notes, *notes)


def _maximum(
    model: ResponseModel, start: Array, advice: str = ADVICE, with_further_starts: bool = True
) -> tuple[Evaluation, Array, tuple[str, ...]]:
    """Return the highest maximum, its observed information, and a note if the likelihood is higher at infinity."""
    generic = start + np.random.default_rng(1).normal(size=len(start))
    if model.with_jeffreys:
        # The penalty is infinite where the information is singular.
        _identified(model.evaluate(generic).information)
        start = start if np.isfinite(model.evaluate(start).loglike) else generic
    # With a penalty, Fisher scoring converges slowly, because it uses the information of the likelihood alone.
    scoring = maximize(model.evaluate, start, 30 if model.with_jeffreys else 100)
    ascent = finish_by_newton(model.evaluate, model.observed_information, scoring)
    observed, notes = model.observed_information(ascent.point.params), tuple[str, ...]()
    proper = is_maximum(ascent, observed)
    for other in _higher_ascents(model, ascent) if with_further_starts else ():
        information = model.observed_information(other.point.params)
        if is_maximum(other, information):
            ascent, observed, proper, notes = other, information, True, ()
        elif proper:
            notes = (HIGHER_AT_INFINITY,)
        else:
            ascent = other
    if not proper:
        # If the information is singular at a point without symmetry, more people would not help.
        _identified(model.evaluate(generic).information)
        interior_maximum(model.observed_information, ascent, advice)
    return ascent.point, observed, notes


def _higher_ascents(model: ResponseModel, first: Maximization) -> Iterator[Maximization]:
    """Maximize from random starting points, and yield each end point that is higher than all previous ones.

    Likelihoods with latent classes can have several maxima if few people answered.
    """
    if len(model.responses) > _MANY_ROWS:
        return
    rng, best = np.random.default_rng(0), first.point.loglike
    for _ in range(_FURTHER_STARTS):
        params = first.start.params + rng.normal(scale=2, size=len(first.start.params))
        ascent = maximize(model.evaluate, params, max_steps=20)
        if ascent.point.loglike > best - _PROMISING and not ascent.converged and not ascent.is_flat:
            ascent = finish_by_newton(model.evaluate, model.observed_information, ascent)
        if ascent.point.loglike > best + _HIGHER:
            best = ascent.point.loglike
            yield replace(ascent, start=first.start)


def vanishing_share(model: ResponseModel, predictors: Sequence[Predictor], start: Array) -> tuple[str, int] | None:
    """Return the name and the limit of the first parameter that goes to one of its limits on the way to the maximum."""
    if not any(predictor.limits for predictor in predictors):
        return None
    ascent = maximize(model.evaluate, start, max_steps=60)
    for predictor, eta in zip(predictors, model.predictors(ascent.point.params), strict=True):
        if 0 in predictor.limits and float(eta.max()) < -_LOG_ODDS_OF_LIMIT:
            return predictor.name, 0
        if 1 in predictor.limits and float(eta.min()) > _LOG_ODDS_OF_LIMIT:
            return predictor.name, 1
    return None


def influence_on(model: ResponseModel, predictors: Sequence[Predictor], params: Array) -> Array:
    """Return the first-order influence of each person on the coefficients: one row per person.

    Columns are standardized, because the Hessian is computed by differences.
    """
    columns, back = _standardized(predictors)
    influence = influence_of(replace(model, columns=columns), np.asarray(np.linalg.solve(back, params), dtype=float))
    return np.asarray(influence @ back.T)


def _least_eigenvalue(information: Array) -> float:
    """Return the smallest eigenvalue of the information matrix, scaled to unit diagonal; near 0 if not identified."""
    scale = np.sqrt(np.maximum(np.diag(information), _TINY))
    return float(np.linalg.eigvalsh(information / np.outer(scale, scale))[0])


def _identified(information: Array) -> tuple[str, ...]:
    """Reject parameters that are not identified; return a note if only the model's functional form identifies them."""
    least = _least_eigenvalue(information)
    if least < _UNIDENTIFIED:
        consequence = "a second group with other odds, or a second list, identifies them"
        reject("the answers must identify the parameters", f"a smallest eigenvalue of {least:.1g}", consequence)
    return (FORM_ONLY,) if least < _BY_FORM else ()


def _standardized(predictors: Sequence[Predictor]) -> tuple[tuple[Array, ...], Array]:
    """Return standardized columns of each predictor, and the matrix that converts coefficients to original units."""
    scaled = [standardize(predictor.covariates) for predictor in predictors]
    return tuple(columns for columns, _ in scaled), block_diagonal([matrix for _, matrix in scaled])


def without_randomization(estimate: Estimate) -> Estimate:
    """Return the estimate without randomization among its sources of error: no device randomizes a list."""
    return replace(estimate, covers=estimate.covers.replaced(ErrorSource.RANDOMIZATION))
