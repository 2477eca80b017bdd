"""`LogisticFit`: what follows from the coefficients: predictions, margins, and one person's posterior."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from toolkit.analysis.regression.binary import BinaryModel
from toolkit.analysis.regression.fitted import Fitted
from toolkit.analysis.regression.links import Link
from toolkit.analysis.regression.margins import Effect, effects, margin_estimate
from toolkit.analysis.regression.reading.rows import Rows
from toolkit.core.arrays import Array
from toolkit.core.checks import choice, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Mapped, Normal, Student

_MANY = 1000  # predictions whose covariance matrix is still kept
PERSONAL = (
    "a posterior speaks of one person's secret: never publish it, and never join it to a name. The design "
    "moves "
    "the odds by at most a factor e**epsilon, but the odds before come from covariates, which nothing "
    "protects."
)


@dataclass(frozen=True, eq=False, repr=False)
class LogisticFit(Fitted):
    """A fitted `logistic` model."""

    data: Rows
    link: Link

    @property
    def ratios(self) -> str:  # type: ignore[override]
        return {"logit": "odds ratio", "cloglog": "hazard ratio"}.get(self.link.name, "")

    def predict(self, data: Any = None) -> Estimate:
        """The prevalence among people with these covariates, one entry a row; of the rows of the fit
        without `data`.

        The interval is that of the linear predictor, mapped through the link, and lies inside 0 to 1. It is
        for the prevalence, not for one person's truth.
        """
        matrix = self.data.covariates.matrix if data is None else self.data.covariates.of(data)
        eta, slope = matrix @ self.value, self.link.slope(matrix @ self.value)
        spread = np.sqrt(np.einsum("ij,jk,ik->i", matrix, self.cov, matrix))
        basis = self.coefficients.basis
        inner = Student(eta, spread, basis.df) if isinstance(basis, Student) else Normal(eta, spread)
        few = len(eta) <= _MANY
        return Estimate(
            value=self.link.share(eta),
            se=slope * spread,
            labels=tuple(range(len(eta))),
            cov=slope[:, None] * (matrix @ self.cov @ matrix.T) * slope if few else None,
            n=self.n,
            loss=self.coefficients.loss,
            covers=self.coefficients.covers,
            method=f"prediction of a logistic regression ({self.link.name} link)",
            basis=Mapped(inner, self.link.share),
        )

    def margins(
        self,
        variable: str | None = None,
        *,
        levels: Sequence[Any] | None = None,
        respondents: Literal["fixed", "sample"] = "fixed",
    ) -> Estimate:
        """Prevalences and differences of prevalences, averaged over the people of the fit.

        Without a variable: the mean predicted prevalence. With a variable: how much the prevalence changes by
        one unit of it (the mean derivative), or, for a column of two values or of categories, from its first
        value to each other one. With `levels`: the prevalence if everybody had each of these values.
        Intervals of prevalences are cut to 0 to 1.

        The standard error is by the delta method. respondents="fixed" takes the covariates as they are;
        "sample" adds that other people could have been drawn.
        """
        sampled = choice(respondents, "respondents", ("fixed", "sample")) == "sample"
        found = effects(self.data.covariates, self._shares, variable, levels)
        return margin_estimate(
            self.coefficients,
            self.data.people,
            found,
            self._influence() if sampled else None,
            variable is None or levels is not None,
        )

    def posterior(self) -> Array:
        """Pr(yes | report, covariates) for each person of the fit; every call warns, since it must stay
        unpublished.

        Its mean is the mean prediction, which `predict` gives without speaking of anybody.
        """
        warnings.warn(PERSONAL, UserWarning, stacklevel=2)
        eta, channel = self.data.covariates.matrix @ self.value, self.data.channel
        share, rest = self.link.share(eta), self.link.rest(eta)
        return np.asarray(share * channel.seen[1] / channel.likelihood(share, rest))

    def _shares(self, matrix: Array) -> list[Effect]:
        eta = matrix @ self.value
        return [Effect("", self.link.share(eta), self.link.slope(eta)[:, None] * matrix)]

    def _influence(self) -> Array:
        """What each person moves the coefficients by, to first order: one row a person."""
        if self.footing.penalised:
            refuse(
                "respondents='sample' needs a fit without penalty",
                "penalty='jeffreys'",
                "use respondents='fixed'",
            )
        model = BinaryModel(self.data.covariates.matrix, self.link, self.data.channel, self.data.people)
        return np.asarray(np.linalg.solve(model.observed(self.value), model.scores(self.value).T).T)
