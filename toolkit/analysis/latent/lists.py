"""`list_experiment`: a list experiment with covariates, fitted by nonlinear least squares or by maximum likelihood.

No epsilon is stated, because a count of none or all of the items reveals every answer.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Unpack, overload

import numpy as np

from toolkit.analysis.homogeneity import wald_f
from toolkit.analysis.latent.joint import (
    CONFESSION,
    ERRORS,
    OUTCOME,
    OUTCOME_OF_CARRIERS,
    TOP_CODING,
    UNIFORM_LONG,
    UNIFORM_SHORT,
    JointDistribution,
    ListDistribution,
)
from toolkit.analysis.latent.known_shares import (
    KnownShares,
    KnownShareTerm,
    known_columns,
    known_share_term,
    known_suffix,
)
from toolkit.analysis.latent.list_counts import (
    NO_EPSILON,
    ListExperiment,
    item_counts,
    list_of_counts,
    sampled_difference,
    with_item_sums,
)
from toolkit.analysis.regression.covariates import standardize
from toolkit.analysis.regression.fit import Comparison, FitProvenance, coefficient_estimate
from toolkit.analysis.regression.latent_model import (
    FitOptions,
    FitSettings,
    LatentFit,
    Predictor,
    fit_latent,
    further_share,
    influence_on,
    intercept_start,
    only_with_formula,
    trait_share,
    vanishing_share,
    without_randomization,
)
from toolkit.analysis.regression.responses import ResponseModel
from toolkit.analysis.regression.rows import AnswerRows, Codes, People, read_answer_rows
from toolkit.analysis.regression.scoring import (
    ErrorKind,
    Evaluation,
    checked_penalty,
    maximize,
    newton,
    smallest_remaining_share,
)
from toolkit.analysis.reports import Data
from toolkit.analysis.sampling.sample import Sampled
from toolkit.core.arrays import Array, Mask, Values
from toolkit.core.checks import check_choice, check_integer, explain_call, reject
from toolkit.core.estimate import Estimate
from toolkit.core.inference.special import expit, ndtr
from toolkit.local.matrix.encoding import encode

# Answers to other questions that the likelihood may include.
_BESIDE = ("direct", "outcome")
_NO_MODEL = "least squares does not model the control count; its errors are robust"
# The number of Gauss–Newton steps before Newton's method takes over.
_GAUSS_NEWTON = 30
# A curve counts as a step if less than this share of the starting information remains: slopes are 1/3000 as steep.
_STEP = 1e-7
# If the variance of the gap is below this share of the variance of the difference in means, the two count as equal.
_SAME = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class ListFit(LatentFit):
    """A fitted list experiment.

    Parameters
    ----------
    difference : Estimate
        The difference in means, which needs no model.
    gap : float, optional
        The variance of the difference between the model's mean prevalence and the difference in means, with weights,
        strata or clusters; NaN if the two are the same.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> treated = rng.random(800) < 0.5
    >>> count = rng.binomial(4, 0.4, size=800) + (treated & (rng.random(800) < 0.3))
    >>> fit = list_experiment("count ~ 1", {"count": count, "t": treated}, treatment="t", items=4)
    >>> fit.difference.labels
    ('difference',)
    """

    difference: Estimate
    gap: float | None = None

    @property
    def agreement(self) -> Comparison:
        """Whether the mean prevalence of the model agrees with the difference in means (Hausman 1978).

        If the distribution of the control count is misspecified, the maximum-likelihood estimate can be far off
        although its standard error is small. With weights, strata or clusters, the model need not be the more precise
        of the two even if it is correct; the variance of their difference then follows from each person's influence on
        both, and the test is an F test.

        Returns
        -------
        Comparison
            The squared difference in units of its variance; NaN if the model is not the more precise of the two, or if
            it is the difference in means itself.
        """
        mean = self.margins()
        if self.gap is not None:
            distance = np.array([float(mean) - float(self.difference)])
            test = wald_f(distance, np.array([[self.gap]]), self.answers.people.df)
            return Comparison(test.statistic, 1, test.p, "model against difference in means, F")
        variance = float(np.asarray(self.difference.se)) ** 2 - float(np.asarray(mean.se)) ** 2
        z = (float(mean) - float(self.difference)) / np.sqrt(variance) if variance > 0 else np.nan
        return Comparison(float(z**2), 1, float(2 * ndtr(-abs(z))), "model against difference in means")


class ListOptions(FitOptions, total=False):
    """Options of `list_experiment` for a formula."""

    method: Literal["nls", "ml"]
    control: Literal["binomial", "beta-binomial", "logit-normal"]
    constrained: bool
    floor: bool | str
    ceiling: bool | str
    error: Literal["topcode", "uniform"] | None
    direct: Values | None
    outcome: Values | None
    second: Values | None
    control_items: Sequence[str] | None
    known: KnownShares | None


@overload
def list_experiment(
    counts: str, data: Data, *, treatment: Values, items: int, **options: Unpack[ListOptions]
) -> ListFit: ...
@overload
def list_experiment(counts: Values, *, treatment: Values, items: int) -> ListExperiment: ...
@explain_call("list_experiment([0, 1, 1, 2, 1, 1, 2, 3], treatment=[0, 0, 0, 0, 1, 1, 1, 1], items=3)")
def list_experiment(
    counts: str | Values,
    data: Data | None = None,
    *,
    treatment: Values,
    items: int,
    method: Literal["nls", "ml"] = "nls",
    control: Literal["binomial", "beta-binomial", "logit-normal"] = "binomial",
    constrained: bool = True,
    floor: bool | str = False,
    ceiling: bool | str = False,
    error: Literal["topcode", "uniform"] | None = None,
    direct: Values | None = None,
    outcome: Values | None = None,
    second: Values | None = None,
    control_items: Sequence[str] | None = None,
    known: KnownShares | None = None,
    se: ErrorKind | None = None,
    penalty: Literal["jeffreys"] | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> ListFit | ListExperiment:
    r"""Estimate who has the trait, from the number of list items that apply to each person (Imai 2011).

    Some people see a list of J control items, the others the same list with the sensitive item added. Without a
    formula, the two means are compared. With a formula, the default is nonlinear least squares: the mean of the control
    group, :math:`J\,g(x'\gamma)`, is fitted first, then the amount that the long list adds to it, :math:`g(x'\delta)`;
    the standard errors account for both steps. Least squares assumes nothing about the distribution of the control
    count.

    Maximum likelihood does assume a distribution. It is more precise if that distribution is correct, but can be far
    off otherwise: in 1,000 simulated surveys in which the count depends on the trait, 26 % of the intervals of the
    constrained binomial model covered the truth, and 96 % of the intervals of least squares. `agreement` compares a fit
    with the difference in means. With two lists, or items asked one by one, the likelihood is that of all responses of
    a person; if people to whom one control item applies tend to have others that apply as well, only
    control="logit-normal" is appropriate.

    Coverage of least squares was simulated in 2,000 surveys of 600 people and 2,000 of 1,500 people. Intervals for
    slopes from two lists, or from items asked one by one, covered the slopes in 95.8 to 96.5 % of surveys. Intervals
    for all coefficients from one list covered them in 94.6 to 98.7 % of surveys; 22 of the 2,000 surveys of 600 people
    had no minimum at finite coefficients and were rejected. Least squares can have several minima. The fit reports the
    one that is reached when starting from equal shares for everybody; a curve that turns into a step may fit the counts
    better.

    Parameters
    ----------
    counts : str or array
        "count ~ covariates"; or the count of each person.
    data : frame, optional
        The columns of a formula: a pandas, polars or pyarrow frame, or a mapping of names to arrays.
    treatment : str or array
        True, 1 or "yes" for those who saw the long list.
    items : int
        Number of items on the short list.
    method : {"nls", "ml"}
        Nonlinear least squares, or maximum likelihood.
    control : {"binomial", "beta-binomial", "logit-normal"}
        Distribution of the control count, for "ml". With "logit-normal", a normal random effect shifts the log odds of
        all control items of a person; with several lists or single items, the other two treat items as independent.
    constrained : bool
        Whether the control count has the same distribution for carriers and others, for "ml".
    floor : bool or str
        Whether carriers to whom no control item applies may deny the sensitive one, for "ml"; "~ age" if their share
        depends on covariates. A share that goes to 0 or 1 is fixed at that value, and a note says so.
    ceiling : bool or str
        Whether carriers to whom all control items apply may deny the sensitive one; as for `floor`.
    error : {"topcode", "uniform"}, optional
        A share of people who answer by mistake, for "ml" without a direct question (Blair, Chou and Imai 2019). With
        "topcode", they give the largest possible count; with "uniform", they give any possible count with equal
        probability, and their share may differ between the short and the long list. A share that goes to 0 is left out,
        and a note says so.
    direct : str or array, optional
        Each person's answer to the direct question, for "ml"; it is assumed that nobody confesses falsely.
    outcome : str or array, optional
        Another answer, 0 or 1, that depends on the trait, for "ml": the list answers are then on the right-hand side of
        its logistic regression (Imai, Park and Greene 2015). Its log odds are linear in the same covariates, and
        "outcome of carriers: Intercept" is the log odds ratio between carriers and others. Given trait and covariates,
        it is taken to be independent of the count and of the list that was shown.
    second : str or array, optional
        Counts on a second list with the same number of items. People who saw the short form of the first list saw the
        long form of the second.
    control_items : sequence of str, optional
        For the modified design: the columns with the answers (0 or 1) of the control group, which was asked about the
        control items one by one.
    known : mapping, optional
        For "ml", known shares of the trait in groups of the population, as for `cheater_detection`:
        {"county": {"A": 0.2, "B": (0.3, 0.01)}}.
    se : str, optional
        As for `toolkit.analysis.logistic`.
    penalty : {"jeffreys"}, optional
        Add half the log determinant of the information matrix to the log-likelihood, for "ml"; estimates are then
        finite.
    sample, weights, strata, clusters, missing : optional
        As for `toolkit.analysis.logistic`; `missing` is "refuse" or "drop".

    Returns
    -------
    ListFit or ListExperiment
        For a formula, a fit with the coefficients of the trait first, then those of the control count; it also has
        `difference` and `agreement`. For counts, the difference in means, a test of its assumption, and the shares of
        those whose count reveals their answer. Only `treatment` and `items` can be combined with counts.

    Examples
    --------
    >>> treatment = np.repeat([False, True], 6)
    >>> found = list_experiment([0, 1, 1, 2, 2, 1, 1, 1, 2, 3, 2, 1], treatment=treatment, items=3)
    >>> round(found.estimate.value, 3), round(found.estimate.se, 3)
    (0.5, 0.453)

    With covariates:

    >>> rng = np.random.default_rng(1)
    >>> x, treated = rng.normal(size=3000), rng.random(3000) < 0.5
    >>> carrier = rng.random(3000) < 1 / (1 + np.exp(1 - x))
    >>> count = rng.binomial(4, 0.4, size=3000) + (treated & carrier)
    >>> fit = list_experiment("count ~ x", {"count": count, "x": x, "t": treated}, treatment="t", items=4)
    >>> fit.labels
    ('Intercept', 'x', 'control: Intercept', 'control: x')
    """
    n_items = check_integer(items, "items")
    model = {"method": method, "control": control, "constrained": constrained, "floor": floor, "ceiling": ceiling}
    fitting = {"error": error, "se": se, "penalty": penalty}
    columns = {"direct": direct, "outcome": outcome, "second": second, "control_items": control_items, "known": known}
    sampling = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters}
    if not isinstance(counts, str):
        only_with_formula({"data": data, **model, **columns, **sampling, **fitting, "missing": missing})
        return list_of_counts(counts, treatment, n_items)
    if data is None:
        reject("a formula must go with `data`", "none", "it names columns")
    return _fit(counts, data, n_items, {"treatment": treatment, **columns}, {**model, **fitting}, sampling, missing)


def _fit(
    formula: str,
    data: Data,
    items: int,
    columns: Mapping[str, Any],
    model: Mapping[str, Any],
    sampling: Mapping[str, Any],
    missing: str,
) -> ListFit:
    """Fit a formula by least squares, or by maximum likelihood for one list or for all responses of a person."""
    shares, constrained = {"floor": model["floor"], "ceiling": model["ceiling"]}, model["constrained"]
    errors = () if model["error"] is None else ERRORS[check_choice(model["error"], "error", tuple(ERRORS))]
    is_joint = _is_joint(columns, model)
    answers, counts, treated = _read(formula, data, columns, items, sampling, missing, shares)
    design = _design(answers, counts, treated, items)
    if model["method"] == "nls":
        return _least_squares(answers, design)
    distribution: ListDistribution | JointDistribution
    if is_joint:
        lists = {name: control_list.items for name, control_list in design.control.items()}
        is_random = model["control"] == "logit-normal"
        distribution = JointDistribution(lists, columns["control_items"] is not None, treated, constrained, is_random)
        responses = distribution.codes(design.columns)
    else:
        distribution = ListDistribution(
            items,
            treated,
            overdispersed=model["control"] == "beta-binomial",
            constrained=constrained,
            floor=bool(shares["floor"]),
            ceiling=bool(shares["ceiling"]),
            direct=columns["direct"] is not None,
            outcome=columns["outcome"] is not None,
            errors=errors,
        )
        responses = counts.astype(np.intp)
        for name in (name for name in _BESIDE if columns[name] is not None):
            responses = 2 * responses + encode(answers.columns[name], ("no", "yes"), name).codes
    known = known_share_term(columns["known"], answers, trait_share)
    return _likelihood(answers, distribution, responses, design, known, model)


def _is_joint(columns: Mapping[str, Any], model: Mapping[str, Any]) -> bool:
    """Check which options go together; return whether the likelihood is joint for all responses of a person."""
    control = check_choice(model["control"], "control", ("binomial", "beta-binomial", "logit-normal"))
    has_errors, answers_beside = model["error"] is not None, {name: columns[name] is not None for name in _BESIDE}
    for_one_list = {"floor": model["floor"], "ceiling": model["ceiling"], **answers_beside, "error": has_errors}
    if check_choice(model["method"], "method", ("nls", "ml")) == "nls":
        for_ml = {"control": control != "binomial", "constrained": not model["constrained"]}
        for_ml |= {name: model[name] is not None for name in ("se", "penalty")}
        for_ml["known"] = columns["known"] is not None
        _reject_options({**for_one_list, **for_ml}, "method='ml'", "method='nls'", _NO_MODEL)
    has_second, item_by_item = columns["second"] is not None, columns["control_items"] is not None
    if has_second and item_by_item:
        reject("`second` must be given without `control_items`", "both", "these are two designs")
    is_joint = has_second or item_by_item or control == "logit-normal"
    if is_joint:
        consequence = "such likelihoods are available only for one list without a random effect"
        options = {**for_one_list, "control='beta-binomial'": control == "beta-binomial"}
        _reject_options(options, "one list, and a binomial or beta-binomial control count", "another", consequence)
    if sum([*answers_beside.values(), has_errors]) > 1:
        rule = "only one of `direct`, `outcome` and `error` may be given"
        reject(rule, "several", "their likelihoods are not combined")
    return is_joint


def _reject_options(options: Mapping[str, object], requirement: str, received: str, consequence: str) -> None:
    if names := ", ".join(f"`{name}`" for name, used in options.items() if used):
        reject(f"{names} must go with {requirement}", received, consequence)


def _read(
    formula: str,
    data: Data,
    columns: Mapping[str, Any],
    items: int,
    sampling: Mapping[str, Any],
    missing: str,
    shares: Mapping[str, bool | str],
) -> tuple[AnswerRows, Array, Mask]:
    """Read the rows of the model; return them with the counts and a mask of the people who saw the long list."""
    share_formulas = {name: text for name, text in shares.items() if isinstance(text, str)}
    answer_columns = {
        name: columns[name] for name in ("treatment", "direct", "outcome", "second") if columns[name] is not None
    }
    answer_columns |= known_columns(columns["known"])
    if (control_items := columns["control_items"]) is not None:
        data = with_item_sums(formula, data, columns["treatment"], control_items, items)
        answer_columns |= {f"control item {name}": name for name in control_items}
    answers = read_answer_rows(formula, data, answer_columns, sampling, missing, share_formulas)
    treated = encode(answers.columns["treatment"], ("no", "yes"), "treatment").codes == 1
    counts = item_counts(answers.columns["answers"], treated, items)
    return replace(answers, notes=(*answers.notes, NO_EPSILON)), counts, treated


@dataclass(frozen=True, eq=False)
class ControlList:
    """A short list, or a single item, with the counts; `rows` marks the people who saw it."""

    rows: Mask
    counts: Array
    items: int


@dataclass(frozen=True, eq=False)
class LongList:
    """A list with the sensitive item: the counts, and the indices of the control lists that make up its other items."""

    rows: Mask
    counts: Array
    control: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ListDesign:
    """The lists of an experiment and the difference in means.

    `influence` is the influence of each person on the difference; `columns` are all counts, as encoded by a joint
    distribution.
    """

    control: dict[str, ControlList]
    long: list[LongList]
    difference: Estimate
    influence: Array
    title: str
    columns: list[Array]

    def control_curves(self, x: Array, row_weights: Array) -> dict[str, Array | None]:
        """Fit the curve of each control list by least squares; None for a curve that turns into a step."""
        return {
            name: _fit_curve(
                x[control_list.rows],
                control_list.counts[control_list.rows] / control_list.items,
                row_weights[control_list.rows],
                np.zeros(x.shape[1]),
            )
            for name, control_list in self.control.items()
        }


def _design(answers: AnswerRows, counts: Array, treated: Mask, items: int) -> ListDesign:
    """Return the design of the experiment: one list, two lists, or items that were asked one by one."""
    people = answers.people
    if "second" in answers.columns:
        second = item_counts(answers.columns["second"], ~treated, items)
        control = {
            "control": ControlList(~treated, counts, items),
            "second control": ControlList(treated, second, items),
        }
        long = [LongList(treated, counts, (0,)), LongList(~treated, second, (1,))]
        difference = sampled_difference(people, (counts - second) / 2, treated, "double list, difference of means")
        return ListDesign(control, long, *difference, "double list experiment", [counts, second])
    difference = sampled_difference(people, counts, treated, "difference in means")
    single_items = {
        name: values.astype(float) for name, values in answers.columns.items() if name.startswith("control item ")
    }
    if single_items:
        control = {name: ControlList(~treated, values, 1) for name, values in single_items.items()}
        long, title = [LongList(treated, counts, tuple(range(items)))], "list experiment, modified design"
        return ListDesign(control, long, *difference, title, [*single_items.values(), counts])
    control, long = {"control": ControlList(~treated, counts, items)}, [LongList(treated, counts, (0,))]
    return ListDesign(control, long, *difference, "list experiment", [counts])


# Nonlinear least squares


def _least_squares(answers: AnswerRows, design: ListDesign) -> ListFit:
    """Fit a curve to each control list, then a curve to the amount that the long lists add to the sum of the curves."""
    (x, back), row_weights = standardize(answers.covariates), answers.people.row_weights
    control, long = list(design.control.values()), design.long
    curves = [_finite(name, curve) for name, curve in design.control_curves(x, row_weights).items()]
    shares = [expit(x @ curve) for curve in curves]
    remainders = [each.counts - sum(control[k].items * shares[k] for k in each.control) for each in long]
    start = _intercept_start(answers, design)
    stacked_x, stacked_remainders, stacked_weights = (
        np.concatenate([values[each.rows] for values, each in zip(columns, long, strict=True)])
        for columns in ([x] * len(long), remainders, [row_weights] * len(long))
    )
    delta = _finite("the sensitive item", _fit_curve(stacked_x, stacked_remainders, stacked_weights, start))
    scores, bread = _estimating_equations(x, row_weights, design, expit(x @ delta), remainders, shares)
    back = np.asarray(np.kron(np.eye(1 + len(curves)), back))
    inverse = back @ np.linalg.inv(bread)
    cov = inverse @ _score_variance(answers.people, scores) @ inverse.T
    fit = _as_list_fit(answers, design, back @ np.concatenate([delta, *curves]), cov)
    return _with_gap(fit, lambda: scores * row_weights[:, None] @ inverse.T, design.influence)


def _estimating_equations(
    x: Array, row_weights: Array, design: ListDesign, trait: Array, remainders: list[Array], shares: list[Array]
) -> tuple[Array, Array]:
    """Return each person's score in both steps, and the derivative of the summed scores (Imai 2011, appendix).

    The blocks are those of the trait and of each control list.
    """
    control = list(design.control.values())
    slopes = [x * (trait * (1 - trait))[:, None]]
    slopes += [
        x * (control_list.items * share * (1 - share))[:, None]
        for control_list, share in zip(control, shares, strict=True)
    ]
    residuals = [
        sum(long.rows * (remainder - trait) for long, remainder in zip(design.long, remainders, strict=True)),
        *(
            control_list.rows * (control_list.counts - control_list.items * share)
            for control_list, share in zip(control, shares, strict=True)
        ),
    ]
    width, rows = x.shape[1], row_weights[:, None]
    bread = np.zeros((width * len(slopes),) * 2)
    for long in design.long:
        # The second step depends on the curves of the first.
        for k in (0, *(1 + index for index in long.control)):
            bread[:width, k * width : (k + 1) * width] += slopes[0].T @ (slopes[k] * rows * long.rows[:, None])
    for k, control_list in enumerate(control, 1):
        block = slice(k * width, (k + 1) * width)
        bread[block, block] = slopes[k].T @ (slopes[k] * rows * control_list.rows[:, None])
    scores = [slope * np.asarray(residual)[:, None] for slope, residual in zip(slopes, residuals, strict=True)]
    return np.column_stack(scores), bread


def _score_variance(people: People, scores: Array) -> Array:
    if people.weights is not None:
        scores = scores * people.weights[:, None]
    if people.is_complex:
        return people.variance_of_sum(scores)
    return np.asarray(scores.T @ (scores * (1 if people.times is None else people.times[:, None])))


def _with_gap(fit: ListFit, influence: Callable[[], Array], difference_influence: Array) -> ListFit:
    """Return the fit with the variance of its distance from the difference in means, for a complex sample."""
    people = fit.answers.people
    if not people.is_complex:
        return fit
    shares, gradient = fit._shares_of([predictor.covariates.matrix for predictor in fit.predictors])
    row_weights = people.row_weights / people.row_weights.sum()
    mean_influence = row_weights * (shares - row_weights @ shares) + influence() @ (row_weights @ gradient)
    gap = float(people.variance_of_sum((mean_influence - difference_influence)[:, None])[0, 0])
    return replace(fit, gap=gap if gap > _SAME * float(np.asarray(fit.difference.se)) ** 2 else np.nan)


def _fit_curve(x: Array, y: Array, row_weights: Array, start: Array) -> Array | None:
    """Fit a logistic curve by least squares; return None if it turns into a step.

    The Gauss–Newton method comes close to a minimum, but converges only linearly if residuals are large. Newton's
    method then converges to a strict minimum. If the Gauss–Newton method led to a step function, Newton's method is
    used alone, from the original starting values.
    """

    def evaluate(params: Array) -> Evaluation:
        share = expit(x @ params)
        slope = x * (share * (1 - share))[:, None]
        residual = y - share
        loglike, score = -float(row_weights @ residual**2) / 2, slope.T @ (row_weights * residual)
        return Evaluation(params, loglike, score, slope.T @ (slope * row_weights[:, None]))

    def information(point: Evaluation) -> Array:
        share = expit(x @ point.params)
        weights = row_weights * (y - share) * share * (1 - share) * (1 - 2 * share)
        return np.asarray(point.information - x.T @ (x * weights[:, None]))

    first = evaluate(start).information
    for steps in (_GAUSS_NEWTON, 0):
        point, converged = newton(evaluate, maximize(evaluate, start, steps).point, information=information)
        if converged and smallest_remaining_share(first, point.information) > _STEP:
            return point.params
    return None


def _finite(name: str, curve: Array | None) -> Array:
    if curve is None:
        rule = f"the least-squares curve of {name} must have finite coefficients"
        received = "one that turns into a step, as when nobody or everybody in a group has an item"
        reject(rule, received, "leave out such an item, use fewer covariates, or ask more people")
    return curve


def _as_list_fit(answers: AnswerRows, design: ListDesign, value: Array, cov: Array) -> ListFit:
    people, covariates, title = answers.people, answers.covariates, design.title
    predictors = tuple(Predictor(name, covariates, value[:0]) for name in ("", *design.control))
    labels = tuple(label for predictor in predictors for label in predictor.labels)
    method = f"{title}, nonlinear least squares, robust errors"
    estimate = coefficient_estimate(value, cov, labels, people, None, method, answers.notes)
    lists: list[ControlList | LongList] = [*design.control.values(), *design.long]
    counts = tuple(np.where(each.rows, each.counts, -1) for each in lists)
    return ListFit(
        without_randomization(estimate),
        np.nan,
        {"used": people.n, **answers.dropped},
        f"{title} with covariates (nonlinear least squares)",
        FitProvenance(("nls", *counts, people.row_weights), covariates.matrix, "robust", False, people.df),
        answers,
        predictors,
        trait_share,
        None,
        design.difference,
    )


# Maximum likelihood


def _likelihood(
    answers: AnswerRows,
    distribution: ListDistribution | JointDistribution,
    responses: Codes,
    design: ListDesign,
    known: KnownShareTerm | None,
    options: Mapping[str, Any],
) -> ListFit:
    """Fit the distribution by maximum likelihood, without parameters that go to a limit.

    With a penalty, every parameter stays inside its limits, so no parameter is dropped.
    """
    notes, starts = tuple[str, ...](), _starting_values(answers, design)
    with_jeffreys = checked_penalty(options["penalty"])
    while True:
        predictors = tuple(
            Predictor(name, answers.covariates, starts[name])
            if name in starts
            else further_share(name, answers, _STARTS.get(name, -1.0), _LIMITS.get(name, (0,)))
            for name in distribution.names
        )
        columns = tuple(predictor.covariates.matrix for predictor in predictors)
        model = ResponseModel(distribution, columns, responses, answers.people, with_jeffreys, known)
        start = np.concatenate([predictor.start for predictor in predictors])
        vanishing = None if with_jeffreys else vanishing_share(model, predictors, start)
        if vanishing is None:
            break
        distribution, notes = distribution.without(*vanishing), (*notes, _NOTES[vanishing[1]].format(vanishing[0]))
    method = f"{design.title}, {distribution.form} control count{distribution.further_shares}{known_suffix(known)}"
    shared = (distribution.treated, distribution.direct, distribution.all_deny)
    title, se = f"{design.title} with covariates ({distribution.form})", options["se"]
    settings = FitSettings(title, method, shared, trait_share, se, with_jeffreys, notes, auxiliary=known)
    fit = fit_latent(answers, responses, distribution, predictors, settings)
    values = {field.name: getattr(fit, field.name) for field in fields(LatentFit)}
    values |= {"coefficients": without_randomization(fit.coefficients)}
    list_fit = ListFit(**values, difference=design.difference)
    final = replace(model, auxiliary=None if fit.model is None else fit.model.auxiliary)
    return _with_gap(list_fit, lambda: influence_on(final, predictors, fit.value), design.influence)


_STARTS = {"overdispersion": -2.0, "overdispersion of carriers": -2.0, CONFESSION: 0.0, OUTCOME_OF_CARRIERS: 0.0}
_STARTS |= dict.fromkeys((TOP_CODING, UNIFORM_SHORT, UNIFORM_LONG), -2.0)
_LIMITS: dict[str, tuple[int, ...]] = {"floor": (0, 1), "ceiling": (0, 1), CONFESSION: (), OUTCOME_OF_CARRIERS: ()}
_NOTES = (
    "no {} was found: the model was fitted without it",
    "the share of carriers who deny at the {} went to 1: the model was fitted as if all of them did",
)


def _starting_values(answers: AnswerRows, design: ListDesign) -> dict[str, Array]:
    """Return the difference in means as the trait's intercept, and the least-squares coefficients of the lists."""
    x, back = standardize(answers.covariates)
    starts = {
        name: np.zeros(x.shape[1]) if curve is None else back @ curve
        for name, curve in design.control_curves(x, answers.people.row_weights).items()
    }
    starts |= {f"{name} of carriers": start for name, start in starts.items()}
    return starts | {OUTCOME: np.zeros(x.shape[1]), "": _intercept_start(answers, design)}


def _intercept_start(answers: AnswerRows, design: ListDesign) -> Array:
    share = float(np.clip(np.asarray(design.difference.value), 0.05, 0.95))
    return intercept_start(answers.covariates.labels, math.log(share / (1 - share)))
