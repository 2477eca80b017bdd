"""Designs with two groups whose devices differ: cheater detection, lie detector, extended crosswise, unknown question.

With a formula, a model is fitted. Counts, and reports without a formula, give unbiased shares.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, Unpack, overload

import numpy as np

from toolkit.analysis.latent.group_counts import (
    Cheating,
    ExtendedCrosswise,
    GroupCounts,
    Lying,
    Probabilities,
    Unknown,
    cheating_from_counts,
    crosswise_from_counts,
    group_indices,
    lying_from_counts,
    probabilities_by_group,
    read_groups,
    unknown_from_counts,
)
from toolkit.analysis.latent.known_shares import KnownShares, known_columns, known_share_term, known_suffix
from toolkit.analysis.regression.latent_model import (
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
from toolkit.analysis.regression.rows import AnswerRows, Codes, read_answer_rows
from toolkit.analysis.regression.scoring import ErrorKind, checked_penalty
from toolkit.analysis.regression.stan import SOFTMAX_SHARES, StanBlocks
from toolkit.analysis.reports import Data
from toolkit.analysis.sampling.sample import Sampled
from toolkit.core.arrays import Array, Mask, Values
from toolkit.core.checks import explain_call, reject
from toolkit.core.inference.special import expit, softmax
from toolkit.local.matrix.encoding import encode
from toolkit.local.two_groups import TWO_GROUP_DESIGNS, TwoGroupDesign

FromCounts = TypeVar("FromCounts")


class GroupOptions(FitOptions, total=False):
    """Options of a fit of two groups.

    `direct_group` is the value of `group` of people who were asked directly, and `known` holds known shares by group.
    """

    direct_group: object
    known: KnownShares | None


@overload
def cheater_detection(
    reports: str, data: Data, *, p: Probabilities, group: Values, **options: Unpack[GroupOptions]
) -> LatentFit: ...
@overload
def cheater_detection(reports: Values, *, p: Probabilities, group: Values | None = None) -> Cheating: ...
@explain_call("cheater_detection([[748, 483], [201, 968]], p=(0.2, 0.8))")
def cheater_detection(
    reports: str | Values,
    data: Data | None = None,
    *,
    p: Probabilities,
    group: Values | None = None,
    direct_group: object = None,
    known: KnownShares | None = None,
    se: ErrorKind | None = None,
    penalty: Literal["jeffreys"] | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> LatentFit | Cheating:
    r"""Estimate the share of carriers if some people say no regardless of the device.

    In each group, the device says "say yes" with the group's probability :math:`p_g`, and otherwise demands the truth.
    Carriers say yes, honest non-carriers say yes when the device demands it, and cheaters always say no (Clark and
    Desharnais 1998): :math:`\Pr(yes) = \pi_{carrier}(x) + p_g\,\pi_{honest}(x)`. Cheaters may be carriers, so the true
    share of carriers lies between the estimated share of carriers and the sum of the estimated shares of carriers and
    cheaters. With a formula, the log odds of carriers and of cheaters against honest non-carriers are linear in the
    covariates.

    Parameters
    ----------
    reports : str or array
        "report ~ covariates"; or counts [[no, yes], [no, yes]] of the two groups, or one report per person.
    data : frame, optional
        The columns of a formula: a pandas, polars or pyarrow frame, or a mapping of names to arrays.
    p : mapping, or tuple for counts
        The probability of "say yes" in each group, {"a": 0.2, "b": 0.8}.
    group : str or array, optional
        The column of groups, or the group of each report. Leave it out for counts.
    direct_group : object, optional
        For a formula, the value of `group` of a third group, which was asked directly. Its reports are "no" and "yes",
        and all of its carriers are assumed to admit it. A column that marks the group as a covariate estimates by how
        much direct answers differ.
    known : mapping, optional
        For a formula, shares of carriers in the population that are known for the groups of one or more columns,
        {"county": {"A": 0.2, "B": (0.3, 0.01)}}: a share, or a share with its standard error. The fit uses them as well
        as the reports. To test them, call `compare` on the fit without them.
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
    fitting = {"direct_group": direct_group, "known": known, "se": se, "penalty": penalty}
    options = {**fitting, **sampling, "missing": missing}
    return _estimate("cheater_detection", cheating_from_counts, reports, data, p, group, options)


@overload
def lie_detector(
    reports: str,
    data: Data,
    *,
    p: Probabilities,
    group: Values,
    honesty: str | None = None,
    **options: Unpack[GroupOptions],
) -> LatentFit: ...
@overload
def lie_detector(reports: Values, *, p: Probabilities, group: Values | None = None) -> Lying: ...
@explain_call("lie_detector([[300, 700], [750, 250]], p=(0.3, 0.8))")
def lie_detector(
    reports: str | Values,
    data: Data | None = None,
    *,
    p: Probabilities,
    group: Values | None = None,
    honesty: str | None = None,
    direct_group: object = None,
    known: KnownShares | None = None,
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
    direct_group, known, se, penalty, sample, weights, strata, clusters, missing : optional
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
    fitting = {"direct_group": direct_group, "known": known, "se": se, "penalty": penalty}
    options = {**fitting, **sampling, "missing": missing}
    return _estimate("lie_detector", lying_from_counts, reports, data, p, group, options, honesty)


@overload
def extended_crosswise(
    reports: str,
    data: Data,
    *,
    p: Probabilities,
    group: Values,
    always_different: str | None = None,
    **options: Unpack[GroupOptions],
) -> LatentFit: ...
@overload
def extended_crosswise(reports: Values, *, p: Probabilities, group: Values | None = None) -> ExtendedCrosswise: ...
@explain_call("extended_crosswise([[250, 750], [740, 260]], p=(0.15, 0.85))")
def extended_crosswise(
    reports: str | Values,
    data: Data | None = None,
    *,
    p: Probabilities,
    group: Values | None = None,
    always_different: str | None = None,
    direct_group: object = None,
    known: KnownShares | None = None,
    se: ErrorKind | None = None,
    penalty: Literal["jeffreys"] | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> LatentFit | ExtendedCrosswise:
    r"""Estimate a prevalence with the crosswise question in two groups, with innocuous prevalences p and 1 - p.

    If people follow the instructions, "same" is as frequent in one group as "different" in the other (Heck, Hoffmann
    and Moshagen 2018). People who prefer one of the answers violate this; people who answer at random do not, and
    remain undetected. With a formula, a share :math:`\gamma` of people says "different" regardless of the truth, and
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
    direct_group, known, se, penalty, sample, weights, strata, clusters, missing : optional
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
    fitting = {"direct_group": direct_group, "known": known, "se": se, "penalty": penalty}
    options = {**fitting, **sampling, "missing": missing}
    return _estimate("extended_crosswise", crosswise_from_counts, reports, data, p, group, options, always_different)


@overload
def unknown_question(
    reports: str,
    data: Data,
    *,
    p: Probabilities,
    group: Values,
    innocuous: str | None = None,
    **options: Unpack[GroupOptions],
) -> LatentFit: ...
@overload
def unknown_question(reports: Values, *, p: Probabilities, group: Values | None = None) -> Unknown: ...
@explain_call("unknown_question([[842, 389], [747, 422]], p=(0.75, 0.2))")
def unknown_question(
    reports: str | Values,
    data: Data | None = None,
    *,
    p: Probabilities,
    group: Values | None = None,
    innocuous: str | None = None,
    direct_group: object = None,
    known: KnownShares | None = None,
    se: ErrorKind | None = None,
    penalty: Literal["jeffreys"] | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> LatentFit | Unknown:
    r"""Estimate the prevalences of a sensitive and of an innocuous trait, from reports about one or the other.

    The sensitive question is answered with the group's probability :math:`p_g`, and otherwise an innocuous question
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
    direct_group, known, se, penalty, sample, weights, strata, clusters, missing : optional
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
    fitting = {"direct_group": direct_group, "known": known, "se": se, "penalty": penalty}
    options = {**fitting, **sampling, "missing": missing}
    return _estimate("unknown_question", unknown_from_counts, reports, data, p, group, options, innocuous)


def _estimate(
    name: str,
    from_counts: Callable[[GroupCounts], FromCounts],
    reports: Values,
    data: Data | None,
    p: Probabilities,
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
        reject("a formula must be given with `data` and `group`", "one without", "it names their columns")
    sampling = {key: options[key] for key in ("sample", "weights", "strata", "clusters")}
    probabilities = probabilities_by_group(p)
    formulas = {} if second_formula is None else {design.second_class: second_formula}
    known, columns = options["known"], {"group": group, **known_columns(options["known"])}
    answers = read_answer_rows(reports, data, columns, sampling, options["missing"], formulas)
    codes, odds, is_direct = _read_reports(design, answers, probabilities, options["direct_group"])
    share = _carriers if design.is_exclusive else trait_share
    auxiliary = known_share_term(known, answers, share)
    has_one_group = np.ptp(odds) == 0 and not is_direct.any() and known is None
    settings = FitSettings(
        f"{design.title} with covariates",
        f"{design.title}{', with direct answers' if is_direct.any() else ''}{known_suffix(auxiliary)}",
        (design.title, odds, is_direct),
        share,
        options["se"],
        checked_penalty(options["penalty"]),
        advice=_ONE_GROUP if has_one_group else ADVICE,
        auxiliary=auxiliary,
    )
    distribution = TwoGroupDistribution(design, odds, is_direct)
    return fit_latent(answers, codes, distribution, _predictors(design, answers), settings)


def _predictors(design: TwoGroupDesign, answers: AnswerRows) -> tuple[Predictor, Predictor]:
    """Return the linear predictors of the trait and of the second class."""
    labels, start = answers.covariates.labels, _STARTS[design.second_class]
    trait = Predictor("", answers.covariates, intercept_start(labels, -1.0))
    if design.is_exclusive:
        return trait, Predictor(design.second_class, answers.covariates, intercept_start(labels, start))
    return trait, further_share(design.second_class, answers, start)


def _read_reports(
    design: TwoGroupDesign, answers: AnswerRows, probabilities: Mapping[Any, float], direct_group: object
) -> tuple[Codes, Array, Mask]:
    """Return each person's coded report, the probability of the device, and whether the person was asked directly."""
    groups, reports = answers.columns["group"], answers.columns["answers"]
    is_direct = (
        np.zeros(len(groups), dtype=bool) if direct_group is None else np.asarray(groups == direct_group, dtype=bool)
    )
    if direct_group is not None and (is_direct.all() or not is_direct.any()):
        received = "all rows" if is_direct.all() else "no row"
        reject("`direct_group` must be the value of `group` in some of the rows", received, "the others used a device")
    device_odds = np.array([*probabilities.values()])
    codes, odds = np.empty(len(groups), dtype=np.intp), np.full(len(groups), device_odds[0])
    codes[~is_direct] = encode(reports[~is_direct], design.report_options, "answers").codes
    odds[~is_direct] = device_odds[group_indices(groups[~is_direct], probabilities)]
    if direct_group is not None:
        codes[is_direct] = encode(reports[is_direct], ("no", "yes"), "direct answers").codes
    return codes, odds, is_direct


_STARTS = {"cheater": -2.0, "honesty": 1.0, "always different": -2.0, "innocuous": 0.0}
_ONE_GROUP = "ask a second group with other odds: one group alone hardly identifies the parameters"


@dataclass(frozen=True, eq=False)
class TwoGroupDistribution:
    """The distribution of a report, given the probability `odds` of each person's device.

    The answers of people who were asked directly are true, so they say yes if they have the trait. It is a class and
    not a closure, so that a fit can be pickled.
    """

    design: TwoGroupDesign
    odds: Array
    is_direct: Mask

    def __call__(self, eta: Array) -> tuple[Array, Array]:
        trait, second, slopes = _shares(eta, self.design.is_exclusive)
        by_device = self.design.yes_shares(self.odds, trait, second)
        directly = (trait, np.ones_like(trait), np.zeros_like(trait))
        yes, by_trait, by_second = (np.where(self.is_direct, *pair) for pair in zip(directly, by_device, strict=True))
        derivatives = slopes[:, 0] * by_trait + slopes[:, 1] * by_second
        return np.column_stack([1 - yes, yes]), np.stack([-derivatives, derivatives], axis=2)

    def stan_blocks(self, responses: Codes) -> StanBlocks:
        """Return the likelihood of the reports in Stan; the truths are the cells of trait and second class."""
        design, odds = self.design, np.unique(self.odds)
        cells = [(0, 0), (0, 1), (1, 0), *([] if design.is_exclusive else [(1, 1)])]
        yes = np.array([design.yes_probability(cell, odds) for cell in cells])
        in_group = [*yes.T, np.array([trait for trait, _ in cells], dtype=float)]  # the last group is asked directly
        matrices = [np.column_stack([1 - yes_in_group, yes_in_group]) for yes_in_group in in_group]
        index = np.where(self.is_direct, len(odds), np.searchsorted(odds, self.odds))
        second = design.second_class.replace(" ", "_")
        model: tuple[str, ...] = (
            "vector[N] trait = inv_logit(eta_trait);",
            f"vector[N] second = inv_logit(eta_{second});",
            "matrix[N, T] share;",
            "share[, 1] = (1 - trait) .* (1 - second);",
            "share[, 2] = (1 - trait) .* second;",
            "share[, 3] = trait .* (1 - second);",
            "share[, 4] = trait .* second;",
        )
        if design.is_exclusive:
            model = (
                f"matrix[N, T] eta = append_col(rep_vector(0, N), append_col(eta_{second}, eta_trait));",
                *SOFTMAX_SHARES,
            )
        return StanBlocks({}, (), model).with_reports(matrices[: index.max() + 1], index, responses)


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
