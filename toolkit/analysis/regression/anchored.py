"""Logistic regression with an anchor question: attentive people answer by the design, inattentive people at random.

With probability a(z), a person with covariates x and z follows the instructions. The reports on the question and on the
anchor then have probability g(x) P[yes, report] + (1 - g(x)) P[no, report] times that of the anchor's true answer.
Otherwise, all pairs of reports are equally likely (Atsusaka and Stevenson 2023).
"""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from toolkit.analysis.regression.anchor import AnchorReports, check_same_reports
from toolkit.analysis.regression.latent_model import (
    ADVICE,
    FitSettings,
    LatentFit,
    Predictor,
    fit_latent,
    intercept_start,
)
from toolkit.analysis.regression.margins import Effect, margin_estimate
from toolkit.analysis.regression.rows import AnswerRows, Channel, ModelRows
from toolkit.analysis.regression.stan import LINK_FUNCTIONS, StanBlocks
from toolkit.core.arrays import Array, Codes
from toolkit.core.covers import ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.inference.special import expit
from toolkit.local.anchor import ASSUMPTION

_START = 1.0  # log odds of attention


class ShareLink(Protocol):
    """The part of a link that the model uses: probability, complement and slope at a linear predictor."""

    @property
    def name(self) -> str: ...

    def evaluate(self, eta: Array) -> tuple[Array, Array, Array]: ...


@dataclass(frozen=True, eq=False, repr=False)
class AnchoredFit(LatentFit):
    """A fitted `logistic` model with an anchor question.

    The coefficients of the trait come first, under the names of the covariates. The coefficients of attention, the log
    odds that a person follows the instructions, have names that begin with "attention: ".

    Parameters
    ----------
    link : object
        The link function of the trait; its `name` is "logit", "probit" or "cloglog".

    Examples
    --------
    >>> import numpy as np
    >>> from toolkit import crosswise
    >>> from toolkit.analysis import logistic
    >>> rng, same = np.random.default_rng(0), crosswise("0.15")
    >>> attentive, cheated = rng.random(4000) < 0.8, rng.random(4000) < 0.2
    >>> by_the_rule = {"cheated": same.randomize(cheated, rng=rng), "moon": same.randomize(cheated & False, rng=rng)}
    >>> frame = {name: np.where(attentive, reports, rng.random(4000) < 0.5) for name, reports in by_the_rule.items()}
    >>> fit = logistic("cheated ~ 1", frame, same, anchor="moon")
    >>> round(float(fit.margins().value), 1), round(float(fit.attention().value), 1)
    (0.2, 0.8)
    """

    link: ShareLink

    @property
    def ratio_name(self) -> str:
        return "odds ratio" if self.link.name == "logit" else ""

    @property
    def _only_trait_matters(self) -> bool:
        return True

    def attention(self) -> Estimate:
        """Estimate the share of people who followed the instructions.

        Returns
        -------
        Estimate
            The mean over the people in the fitted data, with an error by the delta method.
        """
        trait, attention = (predictor.covariates.matrix for predictor in self.predictors)
        share = expit(attention @ self.value[trait.shape[1] :])
        gradient = np.hstack([np.zeros_like(trait), (share * (1 - share))[:, None] * attention])
        effect = Effect("attentive", share, gradient)
        return margin_estimate(self.coefficients, self._people, [effect], None, are_shares=True)


@dataclass(frozen=True, eq=False)
class TraitShare:
    """The prevalence of the trait, which depends on the first linear predictor only."""

    link: ShareLink

    def __call__(self, eta: Array) -> tuple[Array, Array]:
        share, _, slope = self.link.evaluate(eta[0])
        slopes = np.zeros_like(eta)
        slopes[0] = slope
        return share, slopes


@dataclass(frozen=True, eq=False)
class AnchoredDistribution:
    """The distribution of a person's pair of reports; the code of a pair is report * anchor reports + anchor report."""

    link: ShareLink
    channel: Channel
    anchor: AnchorReports

    @cached_property
    def _matrices(self) -> Array:
        """Pr(report | truth) of each person's design: (person, truth, report)."""
        return np.array([design.matrix for design in self.channel.designs])[self.channel.design_index]

    def __call__(self, eta: Array) -> tuple[Array, Array]:
        share, complement, slope = (column[:, None] for column in self.link.evaluate(eta[0]))
        attentive = expit(eta[1])[:, None]
        if_no, if_yes = self._matrices[:, 0], self._matrices[:, 1]
        anchor = self.anchor.truth_rows[self.anchor.channel.design_index]
        by_the_rule = _pairs(if_no * complement + if_yes * share, anchor)
        at_random = 1 / by_the_rule.shape[1]
        law = attentive * by_the_rule + (1 - attentive) * at_random
        by_trait = attentive * _pairs(slope * (if_yes - if_no), anchor)
        by_attention = attentive * expit(-eta[1])[:, None] * (by_the_rule - at_random)
        return law, np.stack([by_trait, by_attention])

    def stan_blocks(self, responses: Codes) -> StanBlocks:
        """Return the likelihood of the pairs of reports in Stan; inattentive people are a third truth."""
        indices = np.column_stack([self.channel.design_index, self.anchor.channel.design_index])
        pairs, pair_index = np.unique(indices, axis=0, return_inverse=True)
        by_the_rule = [_pairs(self.channel.designs[k].matrix, self.anchor.truth_rows[[m, m]]) for k, m in pairs]
        matrices = [np.vstack([matrix, np.full(matrix.shape[1], 1 / matrix.shape[1])]) for matrix in by_the_rule]
        model = (
            f"vector[N] trait = {LINK_FUNCTIONS[self.link.name]}(eta_trait);",
            "vector[N] attention = inv_logit(eta_attention);",
            "matrix[N, T] share;",
            "share[, 1] = attention .* (1 - trait);",
            "share[, 2] = attention .* trait;",
            "share[, 3] = 1 - attention;",
        )
        return StanBlocks({}, (), model).with_reports(matrices, pair_index.reshape(-1), responses)


def _pairs(reports: Array, anchor: Array) -> Array:
    """Return the products of each person's numbers for the report and for the anchor."""
    return (reports[:, :, None] * anchor[:, None, :]).reshape(len(reports), -1)


def fit_anchored(
    rows: ModelRows, anchor: AnchorReports, link: ShareLink, se: str | None, with_jeffreys: bool
) -> AnchoredFit:
    """Fit the trait and attention together."""
    channel, attention = rows.channel, anchor.attention
    check_same_reports([design.matrix for design in channel.designs], "the question")
    codes = channel.codes * anchor.truth_rows.shape[1] + anchor.channel.codes
    answers = AnswerRows(rows.covariates, {}, rows.people, rows.dropped, rows.notes, {"attention": attention})
    predictors = (
        Predictor("", rows.covariates, intercept_start(rows.covariates.labels, -1.0)),
        Predictor("attention", attention, intercept_start(attention.labels, _START)),
    )
    settings = FitSettings(
        f"logistic regression through a randomized answer, with an anchor ({link.name} link)",
        f"{channel.description}, {link.name} link, attention by an anchor",
        (link.name, *(design.matrix for design in channel.designs), channel.design_index, anchor.truth_rows),
        TraitShare(link),
        se,
        with_jeffreys,
        notes=(ASSUMPTION,),
        advice=anchor.advice(rows.people.row_weights, ADVICE),
        loss=channel.loss,
        may_rest_on_form=False,
    )
    fit = fit_latent(answers, codes, AnchoredDistribution(link, channel, anchor), predictors, settings)
    covers = fit.covers.replaced(ErrorSource.RANDOMIZATION, ErrorSource.RANDOMIZATION, ErrorSource.ANCHOR)
    values = {field.name: getattr(fit, field.name) for field in fields(fit)}
    return AnchoredFit(**values | {"coefficients": replace(fit.coefficients, covers=covers)}, link=link)
