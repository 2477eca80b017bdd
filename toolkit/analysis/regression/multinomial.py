"""`multinomial`: who chose what? Regression of a truth among k options, seen through randomized reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from toolkit.analysis.regression.fitted import Fitted, as_estimate, footing_of
from toolkit.analysis.regression.likelihoods import OptionsModel, option_shares
from toolkit.analysis.regression.margins import Effect, basis_of, effects, margin_estimate
from toolkit.analysis.regression.reading.covariates import standardized
from toolkit.analysis.regression.reading.rows import Rows, read_rows
from toolkit.analysis.regression.scoring import (
    climb,
    covariance,
    inner_maximum,
    kind_of_error,
    penalised_maximum,
    with_penalty,
)
from toolkit.core.arrays import Array
from toolkit.core.checks import choice, explains, refuse
from toolkit.core.estimate import Estimate

Error = Literal["observed", "expected", "opg", "robust"]
_ADVICE = "use penalty='jeffreys', join rare options, or leave out covariates"


@dataclass(frozen=True, eq=False, repr=False)
class MultinomialFit(Fitted):
    """A fitted `multinomial` model; its labels are "option: column"."""

    data: Rows
    order: tuple[int, ...]
    ratios: ClassVar[str] = "odds ratio"

    @property
    def options(self) -> tuple[str | int, ...]:
        """The options, the base first."""
        return tuple(self.data.channel.options[place] for place in self.order)

    def predict(self, data: Any = None) -> Estimate:
        """The share of each option among people with these covariates: for each row, the options in order,
        the base first; of the rows of the fit without `data`. Intervals are by t where the coefficients have
        degrees of freedom, and cut to 0 to 1.
        """
        matrix = self.data.covariates.matrix if data is None else self.data.covariates.of(data)
        found = self._shares(matrix)
        value = np.stack([effect.each for effect in found], axis=1)
        variance = [np.einsum("ij,jk,ik->i", effect.gradient, self.cov, effect.gradient) for effect in found]
        se = np.sqrt(np.stack(variance, axis=1))
        return Estimate(
            value=value.ravel(),
            se=se.ravel(),
            labels=tuple(f"{row}: {option}" for row in range(len(matrix)) for option in self.options),
            cov=None,
            n=self.n,
            loss=self.coefficients.loss,
            covers=self.coefficients.covers,
            method="prediction of a multinomial regression",
            basis=basis_of(self.coefficients, value.ravel(), se.ravel(), shares=True),
        )

    def margins(
        self,
        variable: str | None = None,
        *,
        levels: Sequence[Any] | None = None,
        respondents: Literal["fixed", "sample"] = "fixed",
    ) -> Estimate:
        """Shares of the options and their differences, averaged over people: as `logistic` has them, for each
        option.
        """
        sampled = choice(respondents, "respondents", ("fixed", "sample")) == "sample"
        found = effects(self.data.covariates, self._shares, variable, levels)
        model = OptionsModel(self.data.covariates.matrix, self.data.channel, self.data.people, self.order)
        influence = None
        if sampled:
            influence = np.asarray(np.linalg.solve(model.observed(self.value), model.scores(self.value).T).T)
        shares = variable is None or levels is not None
        return margin_estimate(self.coefficients, self.data.people, found, influence, shares)

    def _shares(self, matrix: Array) -> list[Effect]:
        shares = option_shares(matrix, self.value, len(self.order))
        found = []
        for place, (share, option) in enumerate(zip(shares, self.options, strict=True)):
            moves = [share * ((place == other) - shares[other]) for other in range(1, len(shares))]
            gradient = np.concatenate([move[:, None] * matrix for move in moves], axis=1)
            found.append(Effect(str(option), share, gradient))
        return found


@explains(
    'multinomial("choice ~ age", frame, k_ary(["bus", "car", "bike"], epsilon=1.0))',
    design="reports are read through it",
)
def multinomial(
    formula: Any,
    data: Any,
    design: Any,
    *,
    base: str | int | None = None,
    design_by: Any = None,
    se: Error | None = None,
    penalty: Literal["jeffreys"] | None = None,
    sample: Any = None,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    times: Any = None,
    missing: Any = "refuse",
) -> MultinomialFit:
    """Regression of a truth among k options on covariates, from reports that a design has randomized.

    Each option but the base has coefficients of its own, the logarithms of odds against the base. The
    likelihood is climbed by Fisher scoring from zero to an inner maximum; where it rises towards infinity,
    the fit is refused; with penalty="jeffreys" the maximum is always finite.

    Parameters
    ----------
    base : the option that the others are compared with; the first one without it.
    formula, data, design, design_by, se, penalty, sample, weights, strata, clusters, times, missing : as for
    `logistic`.

    >>> from toolkit import k_ary
    >>> rng, design = np.random.default_rng(0), k_ary(("never", "once", "often"), epsilon=2.0)
    >>> old = rng.random(5000) < 0.5
    >>> truth = np.where(rng.random(5000) < np.where(old, 0.6, 0.3), 0, rng.integers(1, 3, 5000))
    >>> fit = multinomial(design.randomize(truth, rng=rng), old, design)
    >>> fit.labels
    ('once: Intercept', 'once: x1', 'often: Intercept', 'often: x1')
    """
    sampling = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters, "times": times}
    rows = read_rows(formula, data, design, design_by, sampling, missing)
    options = rows.channel.options
    if base is not None and base not in options:
        refuse("`base` must be one of the options", repr(base), f"they are {', '.join(map(str, options))}")
    first = 0 if base is None else options.index(base)
    order = (first, *(place for place in range(len(options)) if place != first))
    jeffreys = penalty is not None and choice(penalty, "penalty", ("jeffreys",)) == "jeffreys"
    return _fit(rows, order, kind_of_error(se, rows.people, jeffreys), jeffreys)


def _fit(rows: Rows, order: tuple[int, ...], kind: str, jeffreys: bool) -> MultinomialFit:
    """The maximum, its errors, and both in the units of the covariates."""
    options = rows.channel.options
    columns, back = standardized(rows.covariates)
    model = OptionsModel(columns, rows.channel, rows.people, order)
    point = with_penalty(model.point, lambda at: model.point(at).information) if jeffreys else model.point
    found = climb(point, np.zeros(model.width))
    at = penalised_maximum(point, found) if jeffreys else inner_maximum(model.observed, found, _ADVICE)
    cov = covariance(model, at, kind, model.point(at).information)
    wide = np.kron(np.eye(len(order) - 1), back)
    labels = tuple(f"{options[place]}: {name}" for place in order[1:] for name in rows.covariates.labels)
    method = f"{rows.channel.described}, {'penalized' if jeffreys else 'maximum'} likelihood, {kind} errors"
    against = f"against {options[order[0]]!r}{', Jeffreys penalty' if jeffreys else ''}"
    return MultinomialFit(
        as_estimate(wide @ at, wide @ cov @ wide.T, labels, rows, method),
        model.log_likelihood(at),
        {"used": rows.people.n, **rows.dropped},
        f"multinomial regression through a randomized answer ({against})",
        footing_of(rows, f"against {options[order[0]]!r}", kind, jeffreys),
        rows,
        order,
    )
