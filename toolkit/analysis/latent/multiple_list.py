"""`multiple_list`: a list experiment with several sensitive items, each shown to a separate group of people."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from toolkit.analysis.latent.joint import ListDistribution
from toolkit.analysis.latent.list_counts import NO_EPSILON, item_counts
from toolkit.analysis.regression.covariates import Covariates
from toolkit.analysis.regression.fit import PredictiveFit
from toolkit.analysis.regression.latent_model import (
    FitSettings,
    LatentFit,
    Predictor,
    fit_latent,
    intercept_start,
    trait_share,
    without_randomization,
)
from toolkit.analysis.regression.margins import Effect
from toolkit.analysis.regression.rows import read_answer_rows
from toolkit.analysis.regression.scoring import ErrorKind, checked_penalty
from toolkit.analysis.reports import Data
from toolkit.analysis.sampling.sample import Sampled
from toolkit.core.arrays import Array, Codes, Values
from toolkit.core.checks import check_integer, check_labels, explain_call, reject
from toolkit.core.estimate import Estimate
from toolkit.core.inference.special import expit
from toolkit.local.matrix.encoding import encode

_CONTROL = "control"


@dataclass(frozen=True, eq=False, repr=False)
class MultipleListFit(LatentFit):
    """A fitted list experiment with several sensitive items; predictions and margins have one entry per item.

    Parameters
    ----------
    sensitive : tuple of str
        The sensitive items.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> group = rng.integers(3, size=3000)
    >>> count = rng.binomial(4, 0.4, size=3000) + (group > 0) * (rng.random(3000) < 0.2 * group)
    >>> frame = {"count": count, "list": np.array(["control", "a", "b"])[group]}
    >>> fit = multiple_list("count ~ 1", frame, treatment="list", items=4, sensitive=["a", "b"])
    >>> fit.margins().labels
    ('a', 'b')
    """

    sensitive: tuple[str, ...]

    def predict(self, data: Data | Values | None = None) -> Estimate:
        return PredictiveFit.predict(self, data)

    def _predictions(self, matrix: Array) -> list[Effect]:
        width, effects = matrix.shape[1], []
        for index, item in enumerate(self.sensitive):
            share = expit(matrix @ self.value[index * width : (index + 1) * width])
            gradient = np.zeros((len(matrix), len(self.value)))
            gradient[:, index * width : (index + 1) * width] = matrix * (share * (1 - share))[:, None]
            effects.append(Effect(item, share, gradient))
        return effects


@dataclass(frozen=True, eq=False)
class MultipleListDistribution:
    """The distribution of a count on the control items and at most one of several sensitive items.

    `group` is 0 for people with the control items alone, and k for those who also saw the k-th sensitive item. The
    linear predictors are those of the sensitive items, then that of the control count.
    """

    items: int
    group: Codes
    n_sensitive: int

    def __call__(self, eta: Array) -> tuple[Array, Array]:
        one_list = ListDistribution(
            self.items, self.group > 0, overdispersed=False, constrained=True, floor=False, ceiling=False, direct=False
        )
        # The count on the control items does not depend on any trait, so any predictor serves for this group.
        trait = eta[np.maximum(self.group - 1, 0), np.arange(len(self.group))]
        law, (by_trait, by_control) = one_list(np.stack([trait, eta[-1]]))
        in_list = [self.group == 1 + index for index in range(self.n_sensitive)]
        return law, np.stack([*(is_shown[:, None] * by_trait for is_shown in in_list), by_control])


@explain_call('multiple_list("count ~ age", frame, treatment="list", items=3, sensitive=["fraud", "bribes"])')
def multiple_list(
    formula: str,
    data: Data,
    *,
    treatment: Values,
    items: int,
    sensitive: Sequence[str],
    se: ErrorKind | None = None,
    penalty: Literal["jeffreys"] | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    missing: str = "refuse",
) -> MultipleListFit:
    r"""Estimate who has each of several traits, from counts on lists with the same control items.

    One group of people sees a list of J control items; each other group sees the same list with one sensitive item
    added (Blair and Imai 2012). All groups are fitted together by maximum likelihood. The control count is binomial;
    its distribution is the same in all groups and, given the covariates, does not depend on the traits. The estimates
    for different items share the control group, and differences between them account for it.

    Parameters
    ----------
    formula : str
        "count ~ covariates".
    data : frame
        A pandas, polars or pyarrow frame, or a mapping of names to arrays.
    treatment : str or array
        The list of each person: "control", or the sensitive item that was added.
    items : int
        Number of control items.
    sensitive : sequence of str
        The sensitive items, as they are named in `treatment`.
    se, penalty, sample, weights, strata, clusters, missing : optional
        As for `list_experiment`.

    Returns
    -------
    MultipleListFit
        The coefficients of each item, "item: covariate", then those of the control count. Predictions and margins have
        one entry per item.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x, group = rng.normal(size=4000), rng.integers(3, size=4000)
    >>> carrier = rng.random(4000) < expit(x - np.where(group == 1, 1, 0))
    >>> frame = {"count": rng.binomial(4, 0.4, size=4000) + ((group > 0) & carrier), "x": x}
    >>> frame["list"] = np.array(["control", "fraud", "bribes"])[group]
    >>> fit = multiple_list("count ~ x", frame, treatment="list", items=4, sensitive=["fraud", "bribes"])
    >>> fit.labels[:4]
    ('fraud: Intercept', 'fraud: x', 'bribes: Intercept', 'bribes: x')
    >>> shares = fit.margins()
    >>> (shares["bribes"] - shares["fraud"]).labels
    ('bribes less fraud',)
    """
    n_items, names = check_integer(items, "items"), tuple(map(str, check_labels(sensitive, "sensitive items")))
    if _CONTROL in names:
        reject("a sensitive item must not be called 'control'", "one that is", "that names the list without it")
    sampling = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters}
    answers = read_answer_rows(formula, data, {"treatment": treatment}, sampling, missing)
    group = np.asarray(encode(answers.columns["treatment"], (_CONTROL, *names), "treatment").codes, dtype=np.intp)
    counts = item_counts(answers.columns["answers"], group > 0, n_items)
    predictors = _predictors(names, answers.covariates, counts, group, n_items)
    title = "list experiment with several sensitive items"
    settings = FitSettings(
        f"{title} (constrained binomial)",
        f"{title}, constrained binomial control count",
        (title, group),
        trait_share,
        se,
        checked_penalty(penalty),
        notes=(NO_EPSILON,),
    )
    distribution = MultipleListDistribution(n_items, group, len(names))
    fit = fit_latent(answers, counts.astype(np.intp), distribution, predictors, settings)
    values = {field.name: getattr(fit, field.name) for field in fields(LatentFit)}
    return MultipleListFit(**{**values, "coefficients": without_randomization(fit.coefficients)}, sensitive=names)


def _predictors(
    names: tuple[str, ...], covariates: Covariates, counts: Array, group: Codes, items: int
) -> list[Predictor]:
    """Return the predictors of the sensitive items and of the control count, which start at differences in means."""
    sizes = np.bincount(group, minlength=1 + len(names))
    if few := int(np.count_nonzero(sizes < 2)):
        reject("every list must have at least two people", f"{few} lists with fewer", "they are compared")
    means = np.bincount(group, counts) / sizes
    shares = np.clip([*(means[1:] - means[0]), means[0] / items], 0.05, 0.95)
    starts = np.log(shares / (1 - shares))
    return [
        Predictor(name, covariates, intercept_start(covariates.labels, start))
        for name, start in zip((*names, _CONTROL), starts, strict=True)
    ]
