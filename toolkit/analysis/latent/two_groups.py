"""Two groups with other odds, and covariates: cheaters, liars, crosswise answers, unknown questions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from toolkit.analysis.latent.model import Fit, LatentFit, Predictor, fit_latent, further_share, lean, trait_share
from toolkit.analysis.regression.rows import Answers, Codes, read_answers
from toolkit.analysis.regression.scoring import Error
from toolkit.analysis.reports import Data
from toolkit.analysis.sampling.sample import Sampled
from toolkit.analysis.twogroup.group_counts import chances_by_group, group_places
from toolkit.core.arrays import Array, Values
from toolkit.core.inference.special import expit, softmax
from toolkit.local.matrix.encoding import encode


def cheater_detection(
    formula: str,
    data: Data,
    *,
    p: Mapping[Any, Any],
    group: Values,
    se: Error | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> LatentFit:
    r"""Cheater detection with covariates: who has the trait, and who says no whatever the device demands.

    Each group is told "say yes" with its own probability :math:`p_g`, else to tell the truth. Carriers say
    yes, honest non-carriers say yes when told so, cheaters never do (Clark and Desharnais 1998). The log odds
    of carriers and of cheaters against honest non-carriers are linear in the covariates, and
    :math:`\Pr(yes) = \pi_{carrier}(x) + p_g\,\pi_{honest}(x)`.

    Parameters
    ----------
    formula, data : str and frame
        "report ~ covariates", and a frame of pandas, polars or pyarrow, or a mapping of names to arrays.
    p : mapping
        The probability of "say yes" in each group, {"a": 0.2, "b": 0.8}.
    group : str or array
        The column of groups.
    se, sample, weights, strata, clusters, missing : optional
        As for `toolkit.analysis.logistic`; `missing` is "refuse" or "drop".

    Returns
    -------
    LatentFit
        `predict` and `margins` are of carriers who follow the instructions; a cheater may be a carrier, too.

    Examples
    --------
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
    answers, codes, odds = _read(formula, data, p, group, sampling, missing)
    covariates, name = answers.covariates, "cheater detection"
    first = Predictor("", covariates, lean(covariates.labels, -1.0))
    second = Predictor("cheater", covariates, lean(covariates.labels, -2.0))
    how = Fit(f"{name} with covariates", name, (name, odds), _carriers, se)
    return fit_latent(answers, codes, GroupLaw(_cheating, odds), (first, second), how)


def lie_detector(
    formula: str,
    data: Data,
    *,
    p: Mapping[Any, Any],
    group: Values,
    honesty: str | None = None,
    se: Error | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> LatentFit:
    r"""The stochastic lie detector with covariates: some carriers deny the trait.

    Non-carriers tell the truth with the probability :math:`p_g` of their group, else lie; carriers say yes
    with probability t, whatever the group (Moshagen, Musch and Erdfelder 2012):
    :math:`\Pr(yes) = t\,\pi(x) + (1 - p_g)(1 - \pi(x))`.

    Parameters
    ----------
    formula, data : str and frame
        "report ~ covariates", and a frame of pandas, polars or pyarrow, or a mapping of names to arrays.
    p : mapping
        The probability that a non-carrier is told to say the truth in each group.
    group : str or array
        The column of groups.
    honesty : str, optional
        "~ age" if the honesty of carriers depends on covariates, too.
    se, sample, weights, strata, clusters, missing : optional
        As for `toolkit.analysis.logistic`; `missing` is "refuse" or "drop".

    Returns
    -------
    LatentFit
        "honesty: Intercept" is the log odds that a carrier says yes.

    Examples
    --------
    >>> rng = np.random.default_rng(2)
    >>> version, carrier = rng.integers(2, size=4000), rng.random(4000) < 0.3
    >>> yes = np.where(carrier, rng.random(4000) < 0.7, rng.random(4000) < np.where(version, 0.2, 0.7))
    >>> frame = {"report": yes.astype(bool), "version": version}
    >>> fit = lie_detector("report ~ 1", frame, p={0: 0.3, 1: 0.8}, group="version")
    >>> round(float(fit.margins().value), 2)
    0.28
    """
    sampling = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters}
    read = _read(formula, data, p, group, sampling, missing, {"honesty": honesty})
    return _one_trait(read, _lying, ("honesty", 1.0), "stochastic lie detector", se)


def extended_crosswise(
    formula: str,
    data: Data,
    *,
    p: Mapping[Any, Any],
    group: Values,
    always_different: str | None = None,
    se: Error | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> LatentFit:
    r"""The extended crosswise model with covariates, and a share who always answer "different".

    Two groups with innocuous prevalences p and 1 - p (Heck, Hoffmann and Moshagen 2018). A share
    :math:`\gamma` says "different" whatever is true; of the others
    :math:`\Pr(same) = (1-\gamma)(p_g\,\pi(x) + (1-p_g)(1-\pi(x)))`.

    Parameters
    ----------
    formula : str
        "report ~ covariates"; reports are "different" and "same", or 0 and 1.
    data : frame
        Of pandas, polars or pyarrow, or a mapping of names to arrays.
    p : mapping
        The innocuous prevalence in each group, {"a": 0.15, "b": 0.85}.
    group : str or array
        The column of groups.
    always_different : str, optional
        "~ age" if that share depends on covariates, too.
    se, sample, weights, strata, clusters, missing : optional
        As for `toolkit.analysis.logistic`; `missing` is "refuse" or "drop".

    Returns
    -------
    LatentFit
        "always different: Intercept" is the log odds of that share. People who answer at random are not seen.

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> version, carrier = rng.integers(2, size=4000), rng.random(4000) < 0.2
    >>> same = carrier == (rng.random(4000) < np.where(version, 0.85, 0.15))
    >>> same &= rng.random(4000) > 0.1
    >>> frame = {"report": np.where(same, "same", "different"), "version": version}
    >>> fit = extended_crosswise("report ~ 1", frame, p={0: 0.15, 1: 0.85}, group="version")
    >>> round(float(fit.margins().value), 1)
    0.2
    """
    labels = ("different", "same")
    sampling = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters}
    read = _read(formula, data, p, group, sampling, missing, {"always different": always_different}, labels)
    return _one_trait(read, _crosswise, ("always different", -2.0), "extended crosswise model", se)


def unknown_question(
    formula: str,
    data: Data,
    *,
    p: Mapping[Any, Any],
    group: Values,
    innocuous: str | None = None,
    se: Error | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> LatentFit:
    r"""An unrelated question of unknown prevalence, with covariates of the trait.

    With the probability :math:`p_g` of the group the sensitive question is answered, else an innocuous one
    (Greenberg and others 1969): :math:`\Pr(yes) = p_g\,\pi(x) + (1 - p_g)\,q`.

    Parameters
    ----------
    formula, data : str and frame
        "report ~ covariates", and a frame of pandas, polars or pyarrow, or a mapping of names to arrays.
    p : mapping
        The probability of the sensitive question in each group, {"a": 0.75, "b": 0.2}.
    group : str or array
        The column of groups.
    innocuous : str, optional
        "~ age" if the innocuous prevalence depends on covariates, too.
    se, sample, weights, strata, clusters, missing : optional
        As for `toolkit.analysis.logistic`; `missing` is "refuse" or "drop".

    Returns
    -------
    LatentFit
        "innocuous: Intercept" is the log odds of yes to the innocuous question.

    Examples
    --------
    >>> rng = np.random.default_rng(4)
    >>> version, carrier = rng.integers(2, size=4000), rng.random(4000) < 0.3
    >>> asked = rng.random(4000) < np.where(version, 0.2, 0.75)
    >>> frame = {"report": np.where(asked, carrier, rng.random(4000) < 0.4).astype(bool), "version": version}
    >>> fit = unknown_question("report ~ 1", frame, p={0: 0.75, 1: 0.2}, group="version")
    >>> fit.labels
    ('Intercept', 'innocuous: Intercept')
    """
    sampling = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters}
    read = _read(formula, data, p, group, sampling, missing, {"innocuous": innocuous})
    return _one_trait(read, _unknown, ("innocuous", 0.0), "unrelated question of unknown prevalence", se)


Curve = Callable[[Array, Array], tuple[Array, list[Array]]]
"""Linear predictors and the odds of each person's group -> Pr(yes), and its derivatives by the predictors."""


@dataclass(frozen=True, eq=False)
class GroupLaw:
    """A curve with the odds of each person's group; a fit that holds it can be pickled."""

    curve: Curve
    odds: Array

    def __call__(self, eta: Array) -> tuple[Array, Array]:
        yes, slopes = self.curve(eta, self.odds)
        by = np.array(slopes)
        return np.column_stack([1 - yes, yes]), np.stack([-by, by], axis=2)


def _cheating(eta: Array, odds: Array) -> tuple[Array, list[Array]]:
    carrier, cheater = _three(eta)
    honest = 1 - carrier - cheater
    by_carrier = carrier * (1 - carrier) - odds * carrier * honest
    return carrier + odds * honest, [by_carrier, -carrier * cheater - odds * cheater * honest]


def _carriers(eta: Array) -> tuple[Array, Array]:
    carrier, cheater = _three(eta)
    return carrier, np.array([carrier * (1 - carrier), -carrier * cheater])


def _lying(eta: Array, odds: Array) -> tuple[Array, list[Array]]:
    trait, honest = expit(eta[0]), expit(eta[1])
    by_trait = trait * (1 - trait) * (honest - 1 + odds)
    return trait * honest + (1 - trait) * (1 - odds), [by_trait, trait * honest * (1 - honest)]


def _crosswise(eta: Array, odds: Array) -> tuple[Array, list[Array]]:
    trait, never = expit(eta[0]), expit(eta[1])
    same = trait * odds + (1 - trait) * (1 - odds)
    by_trait = (1 - never) * trait * (1 - trait) * (2 * odds - 1)
    return (1 - never) * same, [by_trait, -never * (1 - never) * same]


def _unknown(eta: Array, odds: Array) -> tuple[Array, list[Array]]:
    trait, other = expit(eta[0]), expit(eta[1])
    slopes = [odds * trait * (1 - trait), (1 - odds) * other * (1 - other)]
    return odds * trait + (1 - odds) * other, slopes


def _one_trait(
    read: tuple[Answers, Codes, Array], curve: Curve, other: tuple[str, float], name: str, se: Error | None
) -> LatentFit:
    """A trait with a logit, and one more share."""
    answers, codes, odds = read
    first = Predictor("", answers.covariates, lean(answers.covariates.labels, -1.0))
    second = further_share(other[0], answers, other[1])
    how = Fit(f"{name} with covariates", name, (name, odds), trait_share, se)
    return fit_latent(answers, codes, GroupLaw(curve, odds), (first, second), how)


def _read(
    formula: str,
    data: Data,
    p: Mapping[Any, Any],
    group: Values,
    sampling: Mapping[str, Any],
    missing: str,
    shares: Mapping[str, str | None] = MappingProxyType({}),
    labels: tuple[str, str] = ("no", "yes"),
) -> tuple[Answers, Codes, Array]:
    """Covariates and people; the answers as 0 and 1; and the odds of each person's group."""
    chances = chances_by_group(p)
    further = {name: text for name, text in shares.items() if text is not None}
    answers = read_answers(formula, data, {"group": group}, sampling, missing, further)
    codes = encode(answers.columns["answers"], labels, "answers").codes
    odds = np.array([*chances.values()])[group_places(answers.columns["group"], chances)]
    return answers, np.asarray(codes, dtype=np.intp), odds


def _three(eta: Array) -> tuple[Array, Array]:
    """Shares of two classes against a third."""
    one, two, _ = softmax(np.stack([eta[0], eta[1], np.zeros_like(eta[0])]), axis=0)
    return one, two
