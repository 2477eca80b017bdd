"""List experiments with covariates, by nonlinear least squares or by likelihood.

There is no epsilon here, because a person who says "none" or "all" has revealed every answer.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Unpack, overload

import numpy as np
import numpy.typing as npt

from toolkit.analysis.homogeneity import wald_f
from toolkit.analysis.latent.joint import JointLaw, ListLaw
from toolkit.analysis.latent.list_counts import NO_EPSILON, ListExperiment, item_counts, list_of_counts, mean_difference
from toolkit.analysis.latent.model import (
    FitOptions,
    FitSettings,
    LatentFit,
    Model,
    Predictor,
    fit_latent,
    further_share,
    influence_on,
    intercept_start,
    only_with_formula,
    trait_share,
    vanishing_share,
)
from toolkit.analysis.regression.covariates import split_formula, standardize
from toolkit.analysis.regression.fit import Comparison, FitProvenance, coefficient_estimate, covers_of
from toolkit.analysis.regression.rows import AnswerRows, Codes, People, read_answer_rows
from toolkit.analysis.regression.scoring import ErrorKind, Evaluation, maximize, newton, smallest_remaining_share
from toolkit.analysis.reports import Data
from toolkit.analysis.sampling.sample import Sampled
from toolkit.core.arrays import Array, Mask, Values
from toolkit.core.checks import check_choice, check_integer, explain_call, reject
from toolkit.core.covers import ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Student
from toolkit.core.inference.special import expit, ndtr
from toolkit.frames.table import as_frame, column, floats_or_none, with_column
from toolkit.local.matrix.encoding import encode

_NO_MODEL = "least squares does not model the control count; its errors are robust"
_GAUSS_NEWTON = 30  # Gauss-Newton steps before the first Newton step
# A curve whose information falls below this share of its start is a step function; its slope fell to 1/3000.
_STEP = 1e-7
# Below this share of the variance of the difference in means, the model's mean is identical to the difference.
_SAME = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class ListFit(LatentFit):
    """A fitted list experiment.

    Parameters
    ----------
    difference : Estimate
        The difference in means, which needs no model.
    gap : float, optional
        The variance of the model's mean prevalence minus `difference`, with weights, strata or clusters; NaN if the two
        are identical.

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
        """The test whether the mean prevalence of the model agrees with the difference in means (Hausman 1978).

        If the assumed distribution of the control items is wrong, a likelihood can be precise and badly biased. With
        weights, strata or clusters, the likelihood need not be more precise even if the distribution is right. The
        variance of the distance is then computed from each person's influence on both estimates, and an F test is used.

        Returns
        -------
        Comparison
            The squared distance in units of its standard error; NaN if the model is not more precise than the
            difference, or is the same.
        """
        mean = self.margins()
        if self.gap is not None:
            apart = np.array([float(mean) - float(self.difference)])
            test = wald_f(apart, np.array([[self.gap]]), self.answers.people.df)
            return Comparison(test.statistic, 1, test.p, "model against difference in means, F")
        spread = float(np.asarray(self.difference.se)) ** 2 - float(np.asarray(mean.se)) ** 2
        z = (float(mean) - float(self.difference)) / np.sqrt(spread) if spread > 0 else np.nan
        return Comparison(float(z**2), 1, float(2 * ndtr(-abs(z))), "model against difference in means")


class ListOptions(FitOptions, total=False):
    """Options of `list_experiment` for a formula."""

    method: Literal["nls", "ml"]
    control: Literal["binomial", "beta-binomial", "logit-normal"]
    constrained: bool
    floor: bool | str
    ceiling: bool | str
    direct: Values | None
    second: Values | None
    control_items: Sequence[str] | None


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
    direct: Values | None = None,
    second: Values | None = None,
    control_items: Sequence[str] | None = None,
    se: ErrorKind | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> ListFit | ListExperiment:
    r"""Estimate the prevalence of a sensitive trait from the number of list items that people report (Imai 2011).

    Some people see a list of J harmless items, the others the same list with the sensitive item added. Without a
    formula, the means of the two groups are compared. A formula is fitted by nonlinear least squares by default: first
    the control group's mean, :math:`J\,g(x'\gamma)`, then the addition by the sensitive item, :math:`g(x'\delta)`. The
    standard errors account for both steps.

    Least squares makes no assumption about the distribution of the control count. The likelihoods do. They are more
    precise if the assumption holds, but can be badly biased otherwise: in 1,000 simulated surveys in which the count
    depends on the trait, the intervals of the constrained binomial model covered the truth in 26 % of surveys, those of
    least squares in 96 %. `agreement` compares the model with the difference in means. With two lists, or with items
    that were asked one by one, the likelihood is that of all answers of a person. If the harmless items are correlated
    within people, only control="logit-normal" is correct.

    In 2,000 simulated surveys each of 600 and of 1,500 people, least-squares intervals covered the slopes in 95.8 to
    96.5 % of surveys with two lists or with items that were asked one by one. With one list, they covered the
    coefficients in 94.6 to 98.7 %; in 22 of the 2,000 surveys of 600 people there was no minimum at finite coefficients
    and an error was raised. Least squares can have several minima. The reported minimum is the one reached from equal
    shares for everybody; a curve close to a step function may fit even better.

    Parameters
    ----------
    counts : str or array
        A formula, "count ~ covariates", or the number of items that each person reported.
    data : frame, optional
        The columns of a formula: a frame of pandas, polars or pyarrow, or a mapping of names to arrays.
    treatment : str or array
        True, 1 or "yes" for people who saw the long list.
    items : int
        The number of items on the short list.
    method : {"nls", "ml"}
        Least squares, or maximum likelihood.
    control : {"binomial", "beta-binomial", "logit-normal"}
        The distribution of the control count, for method="ml". "logit-normal" gives the log odds of all harmless items
        of a person a common random effect. With several lists or single items, the other distributions assume that a
        person's items are independent.
    constrained : bool
        Whether this distribution is the same for carriers and non-carriers, for method="ml".
    floor : bool or str
        Whether carriers with none of the harmless items may deny the sensitive one, for method="ml"; "~ age" if
        this depends on covariates.
    ceiling : bool or str
        Whether carriers with all of the harmless items may deny the sensitive one, given in the same form.
    direct : str or array, optional
        Everybody's answers to the direct question; false confessions are assumed not to occur. Needs method="ml".
    second : str or array, optional
        Counts of a second list with the same number of items. Its long form was shown to those who saw the short
        form of the first list.
    control_items : sequence of str, optional
        The modified design: columns of the harmless items, 0 or 1, for people without the long list, who were asked
        about each item separately.
    se, sample, weights, strata, clusters, missing : optional
        As for `toolkit.analysis.logistic`; `missing` is "refuse" or "drop".

    Returns
    -------
    ListFit or ListExperiment
        With a formula, the coefficients of the trait followed by those of the control count; the fit also has
        `difference` and `agreement`. With counts, the difference in means, a test of its assumptions, and the shares
        of people whose count reveals all their answers. Counts take only `treatment` and `items`.

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
    most = check_integer(items, "items")
    law = {"method": method, "control": control, "constrained": constrained, "floor": floor, "ceiling": ceiling}
    columns = {"direct": direct, "second": second, "control_items": control_items}
    sampling = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters}
    if not isinstance(counts, str):
        only_with_formula({"data": data, **law, **columns, **sampling, "se": se, "missing": missing})
        return list_of_counts(counts, treatment, most)
    if data is None:
        reject("a formula must go with `data`", "none", "it names columns")
    return _fit(counts, data, most, {"treatment": treatment, **columns}, law, sampling, missing, se)


def _fit(
    formula: str,
    data: Data,
    most: int,
    columns: Mapping[str, Any],
    law: Mapping[str, Any],
    sampling: Mapping[str, Any],
    missing: str,
    se: ErrorKind | None,
) -> ListFit:
    """Fit a formula by least squares, or by the likelihood of one list or of all answers of a person."""
    control = check_choice(law["control"], "control", ("binomial", "beta-binomial", "logit-normal"))
    constrained, single = law["constrained"], columns["control_items"]
    rest = {"floor": law["floor"], "ceiling": law["ceiling"], "direct": columns["direct"] is not None}
    for_ml = {"control": control != "binomial", "constrained": not constrained, "se": se is not None}
    if check_choice(law["method"], "method", ("nls", "ml")) == "nls":
        _only_for({**rest, **for_ml}, "method='ml'", "method='nls'", _NO_MODEL)
    joint = _is_joint(columns["second"] is not None, single is not None, control, rest)
    named = {name: columns[name] for name in ("treatment", "direct", "second")}
    answers, counts, treated = _read(formula, data, named, single, most, sampling, missing, rest)
    design = _design(answers, counts, treated, most)
    if law["method"] == "nls":
        return _least_squares(answers, design)
    if joint:
        parts = {name: part.most for name, part in design.short.items()}
        together = JointLaw(parts, single is not None, treated, constrained, control == "logit-normal")
        return _likelihood(answers, together, together.codes(design.columns), design, se)
    alone = ListLaw(most, treated, control != "binomial", constrained, *map(bool, rest.values()))
    confessed = encode(answers.columns["direct"], ("no", "yes"), "direct").codes if alone.direct else 0
    return _likelihood(answers, alone, ((1 + alone.direct) * counts + confessed).astype(np.intp), design, se)


def _is_joint(second: bool, single: bool, control: str, rest: Mapping[str, object]) -> bool:
    """Return whether the likelihood is that of all answers of a person; reject options that it does not support."""
    if second and single:
        reject("`second` must go without `control_items`", "both", "these are two designs")
    if not (second or single or control == "logit-normal"):
        return False
    why = "no likelihood of them with several lists, single items or a normal spread is offered"
    rest = {**rest, "control='beta-binomial'": control == "beta-binomial"}
    _only_for(rest, "one list, and a binomial or beta-binomial control count", "another", why)
    return True


def _read(
    formula: str,
    data: Data,
    named: Mapping[str, Any],
    control_items: Sequence[str] | None,
    most: int,
    sampling: Mapping[str, Any],
    missing: str,
    rest: Mapping[str, bool | str],
) -> tuple[AnswerRows, Array, Mask]:
    """Return the columns, the counts, and a mask of the people who saw the long list."""
    shares = {name: text for name, text in rest.items() if isinstance(text, str)}
    columns = {name: value for name, value in named.items() if value is not None}
    if control_items is not None:
        data = _with_sums(formula, data, named["treatment"], control_items, most)
        columns |= {f"control item {name}": name for name in control_items}
    answers = read_answer_rows(formula, data, columns, sampling, missing, shares)
    treated = encode(answers.columns["treatment"], ("no", "yes"), "treatment").codes == 1
    counts = _counts(answers.columns["answers"], treated, most)
    return replace(answers, notes=(*answers.notes, NO_EPSILON)), counts, treated


def _with_sums(formula: str, data: Data, treatment: object, control_items: Sequence[str], most: int) -> Any:
    """Add the counts of people who were asked item by item: the sums of their items; others have no single items."""
    if len(control_items) != most:
        reject("`control_items` must name the items of the short list", len(control_items), f"there are {most}")
    frame, left = as_frame(data), split_formula(formula)[0]
    treated = encode(column(frame, treatment, "`treatment`"), ("no", "yes"), "treatment").codes == 1
    single = []
    for name in control_items:
        values = floats_or_none(column(frame, name, "a control item"))
        if values is None or np.any(~treated & ~np.isnan(values) & (values != 0) & (values != 1)):
            reject(f"the control item {name!r} must be 0 or 1", "something else", "it says who has it")
        single.append(np.where(treated, 0.0, values))
        frame = with_column(frame, name, single[-1])
    counts = floats_or_none(column(frame, left, "answers"))
    return with_column(frame, left, np.where(treated, np.nan if counts is None else counts, np.sum(single, axis=0)))


def _design(answers: AnswerRows, counts: Array, treated: Mask, most: int) -> "Lists":
    """Return the design of the columns: one list, two lists, or items that were asked one by one."""
    single = {
        name: values.astype(float) for name, values in answers.columns.items() if name.startswith("control item ")
    }
    if "second" in answers.columns:
        other = _counts(answers.columns["second"], ~treated, most)
        short = {"control": Told(~treated, counts, most), "second control": Told(treated, other, most)}
        long = [Told(treated, counts, holds=(0,)), Told(~treated, other, holds=(1,))]
        plain, moves = _difference(answers.people, (counts - other) / 2, treated, "double list, difference of means")
        return Lists(short, long, plain, moves, "double list experiment", [counts, other])
    plain, moves = _difference(answers.people, counts, treated, "difference in means")
    if single:
        short = {name: Told(~treated, values, 1) for name, values in single.items()}
        long = [Told(treated, counts, holds=tuple(range(most)))]
        return Lists(short, long, plain, moves, "list experiment, modified design", [*single.values(), counts])
    long = [Told(treated, counts, holds=(0,))]
    return Lists({"control": Told(~treated, counts, most)}, long, plain, moves, "list experiment", [counts])


def _difference(people: People, told: Array, treated: Mask, method: str) -> tuple[Estimate, Array]:
    """Return the difference in means and each person's influence on it; errors take the sample into account."""
    plain = mean_difference(told[~treated], told[treated], method)
    share = np.column_stack([treated, ~treated]) * people.row_weights[:, None]
    share /= share.sum(axis=0)
    means = told @ share
    moves = np.asarray(((told[:, None] - means) * share) @ np.array([1.0, -1.0]))
    if not people.is_complex:
        return plain, moves
    value, cov = float(means[0] - means[1]), people.variance_of_sum(moves[:, None])
    se, covers = float(np.sqrt(cov[0, 0])), covers_of(people).replaced(ErrorSource.RANDOMIZATION)
    return replace(plain, value=value, se=se, cov=cov, covers=covers, basis=Student(value, se, people.df)), moves


def _only_for(options: Mapping[str, object], other: str, received: str, why: str) -> None:
    if names := ", ".join(f"`{name}`" for name, there in options.items() if there):
        reject(f"{names} must go with {other}", received, why)


def _counts(values: npt.NDArray[Any], treated: Mask, most: int) -> Array:
    rule = f"counts must be whole numbers from 0 to {most}, and to {most + 1} on the long list"
    counts = item_counts(values, most + treated, rule)
    for arm, name in ((treated, "long"), (~treated, "short")):
        if (people := int(arm.sum())) < 2:
            rule = "each list must have at least two people"
            reject(rule, f"{people} with the {name} one", "they are compared")
    return counts


# Nonlinear least squares


@dataclass(frozen=True, eq=False)
class Told:
    """Counts that some people reported, at most `most`; a long list names the control curves that it `holds`."""

    rows: Mask
    counts: Array
    most: int = 0
    holds: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Lists:
    """A design: the short lists or single items by name, and the long lists.

    It also has the difference in means, each person's influence on it, and the columns of all counts.
    """

    short: dict[str, Told]
    long: list[Told]
    plain: Estimate
    moves: Array
    title: str
    columns: list[Array]

    def curves(self, x: Array, row_weights: Array) -> dict[str, Array | None]:
        """Fit the curve of each short list or single item by least squares; None if it turns into a step."""
        return {
            name: _curve_fit(x[one.rows], one.counts[one.rows] / one.most, row_weights[one.rows], np.zeros(x.shape[1]))
            for name, one in self.short.items()
        }


def _least_squares(answers: AnswerRows, design: Lists) -> ListFit:
    """Fit a curve for each short list or control item, and then the addition by the sensitive item on long lists.

    The errors are the sandwich estimate for both steps together (Imai 2011, appendix). A row of scores includes all
    answers of a person.
    """
    (x, back), row_weights = standardize(answers.covariates), answers.people.row_weights
    width, curves, long = x.shape[1], list(design.short.values()), design.long
    at = [_finite(name, curve) for name, curve in design.curves(x, row_weights).items()]
    shares = [expit(x @ one) for one in at]
    rests = [one.counts - sum(curves[k].most * shares[k] for k in one.holds) for one in long]
    start = _intercept_only(answers.covariates.labels, float(np.asarray(design.plain.value)))
    stacked = [
        np.concatenate([part[one.rows] for part, one in zip(parts, long, strict=True)])
        for parts in ([x] * len(long), rests, [row_weights] * len(long))
    ]
    delta = _finite("the sensitive item", _curve_fit(stacked[0], stacked[1], stacked[2], start))
    trait = expit(x @ delta)
    slopes = [x * (trait * (1 - trait))[:, None]]
    slopes += [x * (c.most * share * (1 - share))[:, None] for c, share in zip(curves, shares, strict=True)]
    scores = [sum(slopes[0] * (one.rows * (rest - trait))[:, None] for one, rest in zip(long, rests, strict=True))]
    scores += [
        slope * (c.rows * (c.counts - c.most * share))[:, None]
        for c, share, slope in zip(curves, shares, slopes[1:], strict=True)
    ]
    bread = np.zeros((width * len(slopes),) * 2)
    for one in long:
        for k in (-1, *one.holds):
            bread[:width, (k + 1) * width : (k + 2) * width] += slopes[0].T @ (
                slopes[k + 1] * (row_weights * one.rows)[:, None]
            )
    for k, c in enumerate(curves, 1):
        here = slice(k * width, (k + 1) * width)
        bread[here, here] = slopes[k].T @ (slopes[k] * (row_weights * c.rows)[:, None])
    wide = np.kron(np.eye(len(slopes)), back)
    inverse = wide @ np.linalg.inv(bread)
    each = np.column_stack(scores)
    cov = inverse @ _scatter(answers.people, each) @ inverse.T
    reports = tuple(np.where(c.rows, c.counts, -1) for c in (*curves, *long))
    about = (design.plain, design.title, reports)
    fit = _as_list_fit(answers, tuple(design.short), wide @ np.concatenate([delta, *at]), cov, about)
    return _with_gap(fit, lambda: each * row_weights[:, None] @ inverse.T, design.moves)


def _with_gap(fit: ListFit, influence: Callable[[], Array], moves: Array) -> ListFit:
    """Add the variance of the model's mean minus the difference in means, for weights, strata or clusters."""
    people = fit.answers.people
    if not people.is_complex:
        return fit
    shares, gradient = fit._shares_of([one.covariates.matrix for one in fit.predictors])
    row_weights = people.row_weights / people.row_weights.sum()
    apart = row_weights * (shares - row_weights @ shares) + influence() @ (row_weights @ gradient) - moves
    gap = float(people.variance_of_sum(apart[:, None])[0, 0])
    return replace(fit, gap=gap if gap > _SAME * float(np.asarray(fit.difference.se)) ** 2 else np.nan)


def _scatter(people: People, scores: Array) -> Array:
    if people.weights is not None:
        scores = scores * people.weights[:, None]
    if people.is_complex:
        return people.variance_of_sum(scores)
    return np.asarray(scores.T @ (scores * (1 if people.times is None else people.times[:, None])))


def _curve_fit(x: Array, y: Array, row_weights: Array, start: Array) -> Array | None:
    """Fit a share on a logistic curve by least squares; None if the curve turns into a step.

    Gauss-Newton steps reach the right region, but converge only linearly there if residuals are large. Newton's method
    then finds a strict minimum. If the Gauss-Newton steps led to a step function, Newton's method starts without them.
    """

    def evaluate(at: Array) -> Evaluation:
        share = expit(x @ at)
        slope = x * (share * (1 - share))[:, None]
        error = y - share
        information = slope.T @ (slope * row_weights[:, None])
        return Evaluation(at, -float(row_weights @ error**2) / 2, slope.T @ (row_weights * error), information)

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
        rule = f"the curve of {name} must have its least squares at finite coefficients"
        received = "one that turns into a step, as where nobody or everybody of a group has an item"
        reject(rule, received, "leave out such an item, use fewer covariates, or ask more people")
    return curve


def _as_list_fit(
    answers: AnswerRows,
    names: tuple[str, ...],
    value: Array,
    cov: Array,
    about: tuple[Estimate, str, tuple[Array, ...]],
) -> ListFit:
    people, covariates, (plain, title, reports) = answers.people, answers.covariates, about
    predictors = tuple(Predictor(name, covariates, value[:0]) for name in ("", *names))
    labels = tuple(label for one in predictors for label in one.labels)
    method = f"{title}, nonlinear least squares, robust errors"
    estimate = coefficient_estimate(value, cov, labels, people, None, method, answers.notes)
    provenance = FitProvenance(("nls", *reports, people.row_weights), covariates.matrix, "robust", False, people.df)
    used, about_it = {"used": people.n, **answers.dropped}, f"{title} with covariates (nonlinear least squares)"
    parts = (_without_randomization(estimate), np.nan, used, about_it, provenance, answers, predictors)
    return ListFit(*parts, trait_share, None, plain)


def _without_randomization(estimate: Estimate) -> Estimate:
    """Remove the randomization error, because no device randomizes a list."""
    return replace(estimate, covers=estimate.covers.replaced(ErrorSource.RANDOMIZATION))


# Likelihoods


def _likelihood(
    answers: AnswerRows, law: ListLaw | JointLaw, codes: Codes, design: Lists, se: ErrorKind | None
) -> ListFit:
    """Maximize the likelihood; shares that go to 0 are removed from the model, and a note says so."""
    notes: tuple[str, ...] = ()
    x, back = standardize(answers.covariates)
    controls = {
        name: np.zeros(x.shape[1]) if curve is None else back @ curve
        for name, curve in design.curves(x, answers.people.row_weights).items()
    }
    controls |= {f"{name} of carriers": start for name, start in controls.items()}
    controls[""] = _intercept_only(answers.covariates.labels, float(np.asarray(design.plain.value)))
    while True:
        predictors = tuple(
            Predictor(name, answers.covariates, controls[name])
            if name in controls
            else further_share(name, answers, _STARTS.get(name, -1.0), may_vanish=name != "confession")
            for name in law.names
        )
        model = Model(law.probabilities, tuple(one.covariates.matrix for one in predictors), codes, answers.people)
        gone = vanishing_share(model, predictors, np.concatenate([one.start for one in predictors]))
        if gone is None:
            break
        law, notes = law.without(gone), (*notes, f"no {gone} was seen: fitted without it")
    title, shared = f"{design.title} with covariates ({law.form})", (law.treated, law.direct)
    how = FitSettings(title, f"{design.title}, {law.form} control count{law.more}", shared, trait_share, se, notes)
    fit = fit_latent(answers, codes, law.probabilities, predictors, how)
    parts = {field.name: getattr(fit, field.name) for field in fields(LatentFit)}
    parts |= {"coefficients": _without_randomization(fit.coefficients)}
    whole = ListFit(**parts, difference=design.plain)
    return _with_gap(whole, lambda: influence_on(model, predictors, fit.value), design.moves)


_STARTS = {"overdispersion": -2.0, "overdispersion of carriers": -2.0, "confession": 0.0}


def _intercept_only(labels: tuple[str, ...], share: float) -> Array:
    odds = float(np.clip(share, 0.05, 0.95))
    return intercept_start(labels, math.log(odds / (1 - odds)))
