"""Designs with two groups: cheater detection, lie detector, extended crosswise and unknown questions.

A formula is fitted with covariates. Counts, and reports without a formula, give unbiased estimates of the shares.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack, overload

import numpy as np

from toolkit.analysis.latent.group_counts import (
    Chances,
    Cheating,
    ExtendedCrosswise,
    GroupCounts,
    Lying,
    Unknown,
    chances_by_group,
    cheating_in,
    crosswise_in,
    group_places,
    lying_in,
    read_groups,
    unknown_in,
)
from toolkit.analysis.latent.model import (
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
from toolkit.analysis.regression.scoring import ErrorKind
from toolkit.analysis.reports import Data
from toolkit.analysis.sampling.sample import Sampled
from toolkit.core.arrays import Array, Values
from toolkit.core.checks import explain_call, reject
from toolkit.core.inference.special import expit, softmax
from toolkit.local.matrix.encoding import encode
from toolkit.local.two_groups import TWO_GROUP_DESIGNS, TwoGroupDesign


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
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> LatentFit | Cheating:
    r"""Estimate the share of carriers if some people always say no, even if instructed to say yes.

    People in group g are instructed to say yes with probability :math:`p_g`, and otherwise to tell the truth. Carriers
    say yes, honest non-carriers say yes if instructed, and cheaters never say yes (Clark and Desharnais 1998):
    :math:`\Pr(yes) = \pi_{carrier}(x) + p_g\,\pi_{honest}(x)`. Cheaters may be carriers, so the true share lies between
    the share of carriers who say yes and that share plus the share of cheaters. With a formula, the log odds of
    carriers and of cheaters against honest non-carriers are linear in the covariates.

    Parameters
    ----------
    reports : str or array
        A formula, "report ~ covariates"; counts [[no, yes], [no, yes]] of the two groups; or one report per person.
    data : frame, optional
        The columns of a formula: a frame of pandas, polars or pyarrow, or a mapping of names to arrays.
    p : mapping, or tuple for counts
        The probability of "say yes" in each group, {"a": 0.2, "b": 0.8}.
    group : str or array, optional
        The column that identifies the group, or the group of each report; must be omitted for counts.
    se, sample, weights, strata, clusters, missing : optional
        For a formula, as for `toolkit.analysis.logistic`; `missing` is "refuse" or "drop".

    Returns
    -------
    LatentFit or Cheating
        With a formula, a fit whose `predict` and `margins` are for carriers who follow the instructions. With counts,
        the shares of carriers, honest non-carriers and cheaters, an interval, and a test for cheaters.

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
    options = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters}
    found = _fit("cheater_detection", reports, data, p, group, {**options, "se": se, "missing": missing})
    return cheating_in(found) if isinstance(found, GroupCounts) else found


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
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> LatentFit | Lying:
    r"""Estimate the share of carriers if some of them deny the trait: the stochastic lie detector.

    Non-carriers in group g tell the truth with probability :math:`p_g` and otherwise lie. In both groups, carriers say
    yes with probability t (Moshagen, Musch and Erdfelder 2012):
    :math:`\Pr(yes) = t\,\pi(x) + (1 - p_g)(1 - \pi(x))`.

    Parameters
    ----------
    reports : str or array
        A formula, "report ~ covariates"; counts [[no, yes], [no, yes]] of the two groups; or one report per person.
    data : frame, optional
        The columns of a formula: a frame of pandas, polars or pyarrow, or a mapping of names to arrays.
    p : mapping, or tuple for counts
        The probability that a non-carrier in each group is told to tell the truth.
    group : str or array, optional
        The column that identifies the group, or the group of each report; must be omitted for counts.
    honesty : str, optional
        "~ age" if the honesty of carriers depends on covariates as well.
    se, sample, weights, strata, clusters, missing : optional
        For a formula, as for `toolkit.analysis.logistic`; `missing` is "refuse" or "drop".

    Returns
    -------
    LatentFit or Lying
        With a formula, a fit; "honesty: Intercept" is the log odds that a carrier says yes. With counts, the share of
        carriers, the share of carriers who are honest, and a test of honesty.

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
    options = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters}
    found = _fit("lie_detector", reports, data, p, group, {**options, "se": se, "missing": missing}, honesty)
    return lying_in(found) if isinstance(found, GroupCounts) else found


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
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> LatentFit | ExtendedCrosswise:
    r"""Estimate a prevalence by the crosswise model in two groups, with innocuous prevalences p and 1 - p.

    If people follow the instructions, "same" in one group is as frequent as "different" in the other (Heck, Hoffmann
    and Moshagen 2018). People who prefer one of the answers break this symmetry. People who answer at random do not,
    and are not detected. With a formula, a share :math:`\gamma` always says "different", and
    :math:`\Pr(same) = (1-\gamma)(p_g\,\pi(x) + (1-p_g)(1-\pi(x)))`.

    Parameters
    ----------
    reports : str or array
        A formula, "report ~ covariates"; counts [[different, same], [different, same]]; or one report per person.
        Reports are "different" and "same", or 0 and 1.
    data : frame, optional
        The columns of a formula: a frame of pandas, polars or pyarrow, or a mapping of names to arrays.
    p : mapping, or tuple for counts
        The innocuous prevalence in each group, {"a": 0.15, "b": 0.85}.
    group : str or array, optional
        The column that identifies the group, or the group of each report; must be omitted for counts.
    always_different : str, optional
        "~ age" if the share who always say "different" depends on covariates as well.
    se, sample, weights, strata, clusters, missing : optional
        For a formula, as for `toolkit.analysis.logistic`; `missing` is "refuse" or "drop".

    Returns
    -------
    LatentFit or ExtendedCrosswise
        With a formula, a fit; "always different: Intercept" is the log odds of the share who always say "different".
        With counts, the prevalence from both groups and from each, and a test of whether they agree.

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
    options = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters}
    found = _fit(
        "extended_crosswise", reports, data, p, group, {**options, "se": se, "missing": missing}, always_different
    )
    return crosswise_in(found) if isinstance(found, GroupCounts) else found


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
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> LatentFit | Unknown:
    r"""Estimate the prevalence of a sensitive trait and of an innocuous one, from reports that may be about either.

    People in group g answer the sensitive question with probability :math:`p_g`, and otherwise an innocuous one
    (Greenberg and others 1969): :math:`\Pr(yes) = p_g\,\pi(x) + (1 - p_g)\,q`.

    Parameters
    ----------
    reports : str or array
        A formula, "report ~ covariates"; counts [[no, yes], [no, yes]] of the two groups; or one report per person.
    data : frame, optional
        The columns of a formula: a frame of pandas, polars or pyarrow, or a mapping of names to arrays.
    p : mapping, or tuple for counts
        The probability of the sensitive question in each group, {"a": 0.75, "b": 0.2}.
    group : str or array, optional
        The column that identifies the group, or the group of each report; must be omitted for counts.
    innocuous : str, optional
        "~ age" if the innocuous prevalence depends on covariates as well.
    se, sample, weights, strata, clusters, missing : optional
        For a formula, as for `toolkit.analysis.logistic`; `missing` is "refuse" or "drop".

    Returns
    -------
    LatentFit or Unknown
        With a formula, a fit; "innocuous: Intercept" is the log odds of yes to the innocuous question. With counts,
        unbiased estimates of both prevalences, and maximum likelihood estimates between 0 and 1.

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
    options = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters}
    found = _fit("unknown_question", reports, data, p, group, {**options, "se": se, "missing": missing}, innocuous)
    return unknown_in(found) if isinstance(found, GroupCounts) else found


@dataclass(frozen=True, eq=False)
class GroupLaw:
    """The probabilities of both answers, given the probability of each person's group.

    It is a class because a fit that holds it must be picklable.
    """

    design: TwoGroupDesign
    odds: Array

    def __call__(self, eta: Array) -> tuple[Array, Array]:
        trait, other, slopes = _shares(eta, self.design.is_exclusive)
        yes, by_trait, by_other = self.design.yes_shares(self.odds, trait, other)
        by = slopes[:, 0] * by_trait + slopes[:, 1] * by_other
        return np.column_stack([1 - yes, yes]), np.stack([-by, by], axis=2)


def _shares(eta: Array, exclusive: bool) -> tuple[Array, Array, Array]:
    """Return the shares of the trait and of the second class, and their derivatives (predictor, share, person)."""
    if exclusive:
        trait, other, _ = softmax(np.stack([eta[0], eta[1], np.zeros_like(eta[0])]), axis=0)
        together = -trait * other
    else:
        trait, other = expit(eta)
        together = np.zeros_like(trait)
    slopes = np.array([[trait * (1 - trait), together], [together, other * (1 - other)]])
    return trait, other, slopes


def _carriers(eta: Array) -> tuple[Array, Array]:
    trait, _, slopes = _shares(eta, True)
    return trait, slopes[:, 0]


_STARTS = {"cheater": -2.0, "honesty": 1.0, "always different": -2.0, "innocuous": 0.0}


def _fit(
    name: str,
    reports: Values,
    data: Data | None,
    p: Chances,
    group: Values | None,
    options: Mapping[str, Any],
    formula: str | None = None,
) -> LatentFit | GroupCounts:
    """Fit a formula; return counts, or reports without a formula, as `GroupCounts`.

    `formula` is that of the second class.
    """
    design = TWO_GROUP_DESIGNS[name]
    if not isinstance(reports, str):
        only_with_formula({"data": data, design.second_class: formula, **options})
        return read_groups(design, reports, p, group)
    if data is None or group is None:
        reject("a formula must go with `data` and `group`", "one without them", "it names columns, and odds by group")
    se, missing = options["se"], options["missing"]
    sampling = {key: value for key, value in options.items() if key not in ("se", "missing")}
    chances, further = chances_by_group(p), {} if formula is None else {design.second_class: formula}
    answers = read_answer_rows(reports, data, {"group": group}, sampling, missing, further)
    codes = np.asarray(encode(answers.columns["answers"], design.report_options, "answers").codes, dtype=np.intp)
    odds = np.array([*chances.values()])[group_places(answers.columns["group"], chances)]
    first = Predictor("", answers.covariates, intercept_start(answers.covariates.labels, -1.0))
    second = further_share(design.second_class, answers, _STARTS[design.second_class])
    if design.is_exclusive:
        second = Predictor(
            design.second_class,
            answers.covariates,
            intercept_start(answers.covariates.labels, _STARTS[design.second_class]),
        )
    share = _carriers if design.is_exclusive else trait_share
    how = FitSettings(f"{design.title} with covariates", design.title, (design.title, odds), share, se)
    return fit_latent(answers, codes, GroupLaw(design, odds), (first, second), how)
