"""Designs with two groups whose devices differ: cheater detection, lie detector, extended crosswise, unknown question.

With a formula, a model is fitted. Counts, and reports without a formula, give unbiased shares.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, Unpack, overload

import numpy as np

from toolkit.analysis.latent.group_counts import (
    Chances,
    Cheating,
    ExtendedCrosswise,
    GroupCounts,
    Lying,
    Unknown,
    cheating_from_counts,
    crosswise_from_counts,
    group_indices,
    lying_from_counts,
    probabilities_by_group,
    read_groups,
    unknown_from_counts,
)
from toolkit.analysis.latent.model import (
    ADVICE,
    FitOptions,
    FitSettings,
    LatentFit,
    Predictor,
    fit_latent,
    further_share,
    intercept_start,
    only_with_formula,
    trait_share,
)
from toolkit.analysis.regression.rows import read_answer_rows
from toolkit.analysis.regression.scoring import ErrorKind, checked_penalty
from toolkit.analysis.reports import Data
from toolkit.analysis.sampling.sample import Sampled
from toolkit.core.arrays import Array, Values
from toolkit.core.checks import explain_call, reject
from toolkit.core.inference.special import expit, softmax
from toolkit.local.matrix.encoding import encode
from toolkit.local.two_groups import TWO_GROUP_DESIGNS, TwoGroupDesign

FromCounts = TypeVar("FromCounts")


@overload
def cheater_detection(
    reports: str, data: Data, *, p: Chances, group: Values, **options: Unpack[FitOptions]
) -> LatentFit: ...
@overload
def cheater_detection(reports: Values, *, p: Chances, group: Values | None = None) -> Cheating: ...
@explain_call("cheater_detection([[748, 483], [201, 968]], p=(0.2, 0.8))")
def cheater_detection(
    reports: str | Values,
    data: Data | None = None,
    *,
    p: Chances,
    group: Values | None = None,
    se: ErrorKind | None = None,
    penalty: Literal["jeffreys"] | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> LatentFit | Cheating:
    r"""Estimate the share of carriers if some people say no regardless of the device.

    In each group, the device says "say yes" with its probability :math:`p_g`, and otherwise demands the truth. Carriers
    say yes, honest non-carriers say yes when the device demands it, and cheaters always say no (Clark and Desharnais
    1998): :math:`\Pr(yes) = \pi_{carrier}(x) + p_g\,\pi_{honest}(x)`. Cheaters may be carriers, so the true share of
    carriers lies between the estimated share of carriers and the sum of the estimated shares of carriers and cheaters.
    With a formula, the log odds of carriers and of cheaters against honest non-carriers are linear in the covariates.

    Parameters
    ----------
    reports : str or array
        "report ~ covariates"; or counts [[no, yes], [no, yes]] of the two groups, or one report per person.
    data : frame, optional
        The columns of a formula: a frame of pandas, polars or pyarrow, or a mapping of names to arrays.
    p : mapping, or tuple for counts
        The probability of "say yes" in each group, {"a": 0.2, "b": 0.8}.
    group : str or array, optional
        The column of groups, or the group of each report. Leave it out for counts.
    se, penalty, sample, weights, strata, clusters, missing : optional
        For a formula, as for `toolkit.analysis.logistic`; `missing` is "refuse" or "drop".

    Returns
    -------
    LatentFit or Cheating
        For a formula, a fit whose `predict` and `margins` are for carriers who follow the instructions. For counts, the
        shares of carriers, honest non-carriers and cheaters, an interval, and a test for cheaters.

    Examples
    --------
    >>> found = cheater_detection([[748, 483], [201, 968]], p=(0.2, 0.8))
    >>> found.estimate.value.round(3), found.interval()
    (array([0.247, 0.726, 0.027]), Interval(low=0.2151, high=0.324, level=0.95, method='imbens-manski'))

    With covariates:

    >>> rng = np.random.default_rng(1)
    >>> version, u = rng.integers(2, size=3000), rng.random(3000)
    >>> told = rng.random(3000) < np.where(version, 0.8, 0.2)
    >>> yes = (u < 0.3) | ((u < 0.9) & told)
    >>> frame = {"report": yes, "version": version, "x": rng.normal(size=3000)}
    >>> fit = cheater_detection("report ~ x", frame, p={0: 0.2, 1: 0.8}, group="version")
    >>> fit.labels
    ('Intercept', 'x', 'cheater: Intercept', 'cheater: x')
    """
    sampling = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters}
    options = {"se": se, "penalty": penalty, **sampling, "missing": missing}
    return _estimate("cheater_detection", cheating_from_counts, reports, data, p, group, options)


@overload
def lie_detector(
    reports: str, data: Data, *, p: Chances, group: Values, honesty: str | None = None, **options: Unpack[FitOptions]
) -> LatentFit: ...
@overload
def lie_detector(reports: Values, *, p: Chances, group: Values | None = None) -> Lying: ...
@explain_call("lie_detector([[300, 700], [750, 250]], p=(0.3, 0.8))")
def lie_detector(
    reports: str | Values,
    data: Data | None = None,
    *,
    p: Chances,
    group: Values | None = None,
    honesty: str | None = None,
    se: ErrorKind | None = None,
    penalty: Literal["jeffreys"] | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> LatentFit | Lying:
    r"""Estimate the share of carriers if some of them deny it: the stochastic lie detector.

    Non-carriers tell the truth with the probability :math:`p_g` of their group, and lie otherwise. Carriers say yes
    with probability t in both groups (Moshagen, Musch and Erdfelder 2012):
    :math:`\Pr(yes) = t\,\pi(x) + (1 - p_g)(1 - \pi(x))`.

    Parameters
    ----------
    reports : str or array
        "report ~ covariates"; or counts or reports, as for `cheater_detection`.
    data : frame, optional
        The columns of a formula.
    p : mapping, or tuple for counts
        The probability in each group that the device tells a non-carrier to tell the truth.
    group : str or array, optional
        The column of groups, or the group of each report. Leave it out for counts.
    honesty : str, optional
        "~ age" if the honesty of carriers depends on covariates as well.
    se, penalty, sample, weights, strata, clusters, missing : optional
        As for `cheater_detection`.

    Returns
    -------
    LatentFit or Lying
        For a formula, a fit; "honesty: Intercept" is the log odds that a carrier says yes. For counts, the share of
        carriers, the share of honest people among them, and a test that all are honest.

    Examples
    --------
    >>> found = lie_detector([[300, 700], [750, 250]], p=(0.3, 0.8))
    >>> found.estimate.value.round(3), found.estimate.se.round(3)
    (array([0.1, 0.7]), array([0.04 , 0.145]))

    With covariates:

    >>> rng = np.random.default_rng(2)
    >>> version, carrier = rng.integers(2, size=4000), rng.random(4000) < 0.3
    >>> yes = np.where(carrier, rng.random(4000) < 0.7, rng.random(4000) < np.where(version, 0.2, 0.7))
    >>> frame = {"report": yes.astype(bool), "version": version}
    >>> fit = lie_detector("report ~ 1", frame, p={0: 0.3, 1: 0.8}, group="version")
    >>> round(float(fit.margins().value), 2)
    0.28
    """
    sampling = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters}
    options = {"se": se, "penalty": penalty, **sampling, "missing": missing}
    return _estimate("lie_detector", lying_from_counts, reports, data, p, group, options, honesty)


@overload
def extended_crosswise(
    reports: str,
    data: Data,
    *,
    p: Chances,
    group: Values,
    always_different: str | None = None,
    **options: Unpack[FitOptions],
) -> LatentFit: ...
@overload
def extended_crosswise(reports: Values, *, p: Chances, group: Values | None = None) -> ExtendedCrosswise: ...
@explain_call("extended_crosswise([[250, 750], [740, 260]], p=(0.15, 0.85))")
def extended_crosswise(
    reports: str | Values,
    data: Data | None = None,
    *,
    p: Chances,
    group: Values | None = None,
    always_different: str | None = None,
    se: ErrorKind | None = None,
    penalty: Literal["jeffreys"] | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> LatentFit | ExtendedCrosswise:
    r"""Estimate a prevalence by the crosswise question in two groups, with innocuous prevalences p and 1 - p.

    If people follow the instructions, "same" is as frequent in one group as "different" in the other (Heck, Hoffmann
    and Moshagen 2018). People who prefer one of the answers violate this; people who answer at random do not, and
    remain undetected. With a formula, a share :math:`\gamma` says "different" regardless of the truth, and
    :math:`\Pr(same) = (1-\gamma)(p_g\,\pi(x) + (1-p_g)(1-\pi(x)))`.

    Parameters
    ----------
    reports : str or array
        "report ~ covariates"; or counts [[different, same], [different, same]], or one report per person. Reports are
        "different" and "same", or 0 and 1.
    data : frame, optional
        The columns of a formula.
    p : mapping, or tuple for counts
        The innocuous prevalence in each group, {"a": 0.15, "b": 0.85}.
    group : str or array, optional
        The column of groups, or the group of each report. Leave it out for counts.
    always_different : str, optional
        "~ age" if the share of people who always say "different" depends on covariates as well.
    se, penalty, sample, weights, strata, clusters, missing : optional
        As for `cheater_detection`.

    Returns
    -------
    LatentFit or ExtendedCrosswise
        For a formula, a fit; "always different: Intercept" is the log odds of always saying "different". For counts,
        the prevalence from both groups together and from each group, and a test that the groups agree.

    Examples
    --------
    >>> found = extended_crosswise([[250, 750], [740, 260]], p=(0.15, 0.85))
    >>> round(found.estimate.value, 4), round(found.test.p, 4)
    (0.15, 0.6079)

    With covariates:

    >>> rng = np.random.default_rng(3)
    >>> version, carrier = rng.integers(2, size=4000), rng.random(4000) < 0.2
    >>> same = carrier == (rng.random(4000) < np.where(version, 0.85, 0.15))
    >>> same &= rng.random(4000) > 0.1
    >>> frame = {"report": np.where(same, "same", "different"), "version": version}
    >>> fit = extended_crosswise("report ~ 1", frame, p={0: 0.15, 1: 0.85}, group="version")
    >>> round(float(fit.margins().value), 1)
    0.2
    """
    sampling = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters}
    options = {"se": se, "penalty": penalty, **sampling, "missing": missing}
    return _estimate("extended_crosswise", crosswise_from_counts, reports, data, p, group, options, always_different)


@overload
def unknown_question(
    reports: str, data: Data, *, p: Chances, group: Values, innocuous: str | None = None, **options: Unpack[FitOptions]
) -> LatentFit: ...
@overload
def unknown_question(reports: Values, *, p: Chances, group: Values | None = None) -> Unknown: ...
@explain_call("unknown_question([[842, 389], [747, 422]], p=(0.75, 0.2))")
def unknown_question(
    reports: str | Values,
    data: Data | None = None,
    *,
    p: Chances,
    group: Values | None = None,
    innocuous: str | None = None,
    se: ErrorKind | None = None,
    penalty: Literal["jeffreys"] | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> LatentFit | Unknown:
    r"""Estimate the prevalences of a sensitive and of an innocuous trait, from reports about one or the other.

    With the probability :math:`p_g` of the group the sensitive question is answered, otherwise an innocuous one
    (Greenberg and others 1969): :math:`\Pr(yes) = p_g\,\pi(x) + (1 - p_g)\,q`.

    Parameters
    ----------
    reports : str or array
        "report ~ covariates"; or counts or reports, as for `cheater_detection`.
    data : frame, optional
        The columns of a formula.
    p : mapping, or tuple for counts
        The probability of the sensitive question in each group, {"a": 0.75, "b": 0.2}.
    group : str or array, optional
        The column of groups, or the group of each report. Leave it out for counts.
    innocuous : str, optional
        "~ age" if the innocuous prevalence depends on covariates as well.
    se, penalty, sample, weights, strata, clusters, missing : optional
        As for `cheater_detection`.

    Returns
    -------
    LatentFit or Unknown
        For a formula, a fit; "innocuous: Intercept" is the log odds of yes to the innocuous question. For counts, both
        prevalences, unbiased and by maximum likelihood.

    Examples
    --------
    >>> unknown_question([[842, 389], [747, 422]], p=(0.75, 0.2)).estimate.value.round(4)
    array([0.2956, 0.3774])

    With covariates:

    >>> rng = np.random.default_rng(4)
    >>> version, carrier = rng.integers(2, size=4000), rng.random(4000) < 0.3
    >>> asked = rng.random(4000) < np.where(version, 0.2, 0.75)
    >>> frame = {"report": np.where(asked, carrier, rng.random(4000) < 0.4).astype(bool), "version": version}
    >>> fit = unknown_question("report ~ 1", frame, p={0: 0.75, 1: 0.2}, group="version")
    >>> fit.labels
    ('Intercept', 'innocuous: Intercept')
    """
    sampling = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters}
    options = {"se": se, "penalty": penalty, **sampling, "missing": missing}
    return _estimate("unknown_question", unknown_from_counts, reports, data, p, group, options, innocuous)


def _estimate(
    name: str,
    from_counts: Callable[[GroupCounts], FromCounts],
    reports: Values,
    data: Data | None,
    p: Chances,
    group: Values | None,
    options: Mapping[str, Any],
    second_formula: str | None = None,
) -> LatentFit | FromCounts:
    """Fit a formula, or apply `from_counts` to counts or to reports without covariates."""
    design = TWO_GROUP_DESIGNS[name]
    if not isinstance(reports, str):
        only_with_formula({"data": data, design.second_class: second_formula, **options})
        return from_counts(read_groups(design, reports, p, group))
    if data is None or group is None:
        reject("a formula must go with `data` and `group`", "one without them", "it names columns, and odds by group")
    sampling = {key: options[key] for key in ("sample", "weights", "strata", "clusters")}
    probabilities = probabilities_by_group(p)
    formulas = {} if second_formula is None else {design.second_class: second_formula}
    answers = read_answer_rows(reports, data, {"group": group}, sampling, options["missing"], formulas)
    codes = np.asarray(encode(answers.columns["answers"], design.report_options, "answers").codes, dtype=np.intp)
    odds = np.array([*probabilities.values()])[group_indices(answers.columns["group"], probabilities)]
    trait = Predictor("", answers.covariates, intercept_start(answers.covariates.labels, -1.0))
    start = _STARTS[design.second_class]
    if design.is_exclusive:
        labels = answers.covariates.labels
        second = Predictor(design.second_class, answers.covariates, intercept_start(labels, start))
    else:
        second = further_share(design.second_class, answers, start)
    settings = FitSettings(
        f"{design.title} with covariates",
        design.title,
        (design.title, odds),
        _carriers if design.is_exclusive else trait_share,
        options["se"],
        checked_penalty(options["penalty"]),
        advice=_ONE_GROUP if np.ptp(odds) == 0 else ADVICE,
    )
    return fit_latent(answers, codes, TwoGroupDistribution(design, odds), (trait, second), settings)


_STARTS = {"cheater": -2.0, "honesty": 1.0, "always different": -2.0, "innocuous": 0.0}
_ONE_GROUP = "ask a second group with other odds: one group alone hardly tells the parameters apart"


@dataclass(frozen=True, eq=False)
class TwoGroupDistribution:
    """The distribution of a report, given the probability `odds` of each person's device.

    It is a class and not a closure, so that a fit can be pickled.
    """

    design: TwoGroupDesign
    odds: Array

    def __call__(self, eta: Array) -> tuple[Array, Array]:
        trait, second, slopes = _shares(eta, self.design.is_exclusive)
        yes, by_trait, by_second = self.design.yes_shares(self.odds, trait, second)
        derivatives = slopes[:, 0] * by_trait + slopes[:, 1] * by_second
        return np.column_stack([1 - yes, yes]), np.stack([-derivatives, derivatives], axis=2)


def _shares(eta: Array, is_exclusive: bool) -> tuple[Array, Array, Array]:
    """Return the shares of the trait and of the second class, with derivatives (predictor, share, person)."""
    if is_exclusive:
        trait, second, _ = softmax(np.stack([eta[0], eta[1], np.zeros_like(eta[0])]), axis=0)
        cross = -trait * second
    else:
        trait, second = expit(eta)
        cross = np.zeros_like(trait)
    slopes = np.array([[trait * (1 - trait), cross], [cross, second * (1 - second)]])
    return trait, second, slopes


def _carriers(eta: Array) -> tuple[Array, Array]:
    trait, _, slopes = _shares(eta, True)
    return trait, slopes[:, 0]
