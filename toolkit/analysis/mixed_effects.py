"""Logistic regression of randomized answers with several random effects or slopes, by Laplace's approximation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from toolkit.analysis.poststratification import NO_GROUP, MultilevelFit, codes_of_groups, direct_estimates, normal_rule
from toolkit.analysis.random_effects import LaplaceModel, Mode, RandomTerm, maximum
from toolkit.analysis.random_intercepts import GroupModel, distinct_rows, maximum_without_groups
from toolkit.analysis.regression.covariates import slope_labels, standardize
from toolkit.analysis.regression.fit import coefficient_estimate, provenance_of
from toolkit.analysis.regression.margins import Effect, interval_basis
from toolkit.analysis.regression.responses import block_diagonal
from toolkit.analysis.regression.rows import Codes, ModelRows, People
from toolkit.core.arrays import Array
from toolkit.core.checks import reject
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import IntervalBasis, Mapped
from toolkit.core.inference.special import expit
from toolkit.frames.table import as_frame, column

# A random effect with more groups than this would need too much memory beside another one.
_MOST_EFFECTS = 5000
_STEP = 1e-5
# The logistic function is close to a normal distribution function with this standard deviation.
_LOGISTIC_SD = 1.702
# Points of the grid of a standard deviation are this fraction of its error apart.
_GRID_STEP = 0.75
_GRID_BELOW = 4
_GRID_ABOVE = 16
_START_ERROR = 0.5
# A correlation this close to 1 is at its limit.
_LIMIT = 0.9999


@dataclass(frozen=True, eq=False)
class RandomEffect:
    """A term such as (x | school): the column of groups, and the covariates with their own coefficients in each group.

    `labels` are the names of the covariates, the intercept first if there is one; `indices` are the columns of the
    slopes in the matrix of covariates. Slopes are in units of `scale`, and relative to `center`.
    """

    factor: str
    labels: tuple[str, ...]
    groups: Mapping[Any, int]
    indices: tuple[int, ...]
    center: Array
    scale: Array

    @property
    def has_intercept(self) -> bool:
        return len(self.labels) > len(self.indices)

    @property
    def names(self) -> list[str]:
        """The names of the effects: that of the factor for the intercept, followed by the covariate for a slope."""
        return [self.factor if label == "Intercept" else f"{self.factor}: {label}" for label in self.labels]

    def columns(self, matrix: Array) -> Array:
        """Return the covariates of the effects, with a column of ones for the intercept."""
        slopes = (matrix[:, self.indices] - self.center) / self.scale
        return np.column_stack([np.ones(len(matrix)), slopes]) if self.has_intercept else slopes

    def covariance(self, root: Array) -> Array:
        """Return the covariance of the effects in the units of the covariates."""
        to_own_units = np.diag(np.append(1.0, 1 / self.scale) if self.has_intercept else 1 / self.scale)
        if self.has_intercept:
            to_own_units[0, 1:] = -self.center / self.scale
        scaled_root = to_own_units @ root
        return np.asarray(scaled_root @ scaled_root.T)

    def spread(self, root: Array) -> tuple[Array, Array]:
        """Return the standard deviations of the effects, and their correlations, row by row."""
        covariance = self.covariance(root)
        sd, (rows, columns) = np.sqrt(covariance.diagonal()), np.tril_indices(len(root), -1)
        with np.errstate(invalid="ignore"):
            return sd, covariance[rows, columns] / (sd[rows] * sd[columns])

    @property
    def correlation_names(self) -> list[str]:
        rows, columns = np.tril_indices(len(self.labels), -1)
        return [f"{self.factor}: {self.labels[b]}, {self.labels[a]}" for a, b in zip(rows, columns, strict=True)]


@dataclass(frozen=True, eq=False, repr=False)
class MixedEffectsFit(MultilevelFit):
    """A fitted `mixed_logistic` model with several random effects, or with slopes.

    `value`, `se` and `labels` describe the coefficients of the covariates. `all_parameters` also has the logarithms of
    the standard deviations of the random effects, and the inverse hyperbolic tangents of their correlations.

    Parameters
    ----------
    effects : tuple of RandomEffect
        The random effects, those with the most groups first.
    model : LaplaceModel
        The likelihood.
    point, point_cov : array
        The coefficients, and the elements of the roots of the covariances of the random effects; their covariance.

    Examples
    --------
    >>> from toolkit import forced
    >>> from toolkit.analysis import mixed_logistic
    >>> rng, die = np.random.default_rng(1), forced("1/6", "1/6")
    >>> state, age = rng.integers(30, size=2000), rng.integers(6, size=2000)
    >>> log_odds = rng.normal(size=30)[state] + 0.5 * rng.normal(size=6)[age]
    >>> data = {"report": die.randomize(rng.random(2000) < expit(log_odds), rng=rng), "state": state, "age": age}
    >>> fit = mixed_logistic("report ~ 1 + (1 | state) + (1 | age)", data, die)
    >>> {name: round(sd, 1) for name, sd in fit.group_sd.items()}
    {'state': 0.8, 'age': 0.2}
    """

    effects: tuple[RandomEffect, ...]
    model: LaplaceModel
    point: Array
    point_cov: Array

    @property
    def group_sd(self) -> dict[str, float]:
        """The standard deviation of each random effect, by name: "school" for an intercept, "school: x" for a slope."""
        return {
            name: float(sd)
            for effect, root in zip(self.effects, self.model.roots(self.point), strict=True)
            for name, sd in zip(effect.names, effect.spread(root)[0], strict=True)
        }

    @property
    def group_correlation(self) -> dict[str, float]:
        """The correlation of two effects by name, such as "school: Intercept, x"; NaN if one of them does not vary."""
        return {
            name: float(correlation)
            for effect, root in zip(self.effects, self.model.roots(self.point), strict=True)
            for name, correlation in zip(effect.correlation_names, effect.spread(root)[1], strict=True)
        }

    @property
    def _n_parameters(self) -> int:
        return len(self.point)

    def _fit_measures(self) -> list[tuple[str, str]]:
        groups = {effect.factor: len(effect.groups) for effect in self.effects}
        return [
            *super()._fit_measures(),
            *((f"groups of {name}", f"{count:,}") for name, count in groups.items()),
            *((f"standard deviation of {name}", f"{sd:.3g}") for name, sd in self.group_sd.items()),
            *(
                (f"correlation of {name}", f"{value:.3g}")
                for name, value in self.group_correlation.items()
                if not np.isnan(value)
            ),
        ]

    @property
    def _people(self) -> People:
        return self.data.people

    @property
    def _margin_coefficients(self) -> Estimate:
        return replace(self.all_parameters, cov=self.point_cov)

    def _predictions(self, matrix: Array) -> list[Effect]:
        """Return each row's prevalence, averaged over groups, and its gradient with respect to all parameters."""
        variance, by_element = np.zeros(len(matrix)), []
        for effect, root in zip(self.effects, self.model.roots(self.point), strict=True):
            columns, (a, b) = effect.columns(matrix), np.tril_indices(len(root))
            loadings = columns @ root
            variance += (loadings**2).sum(axis=1)
            by_element.append(columns[:, a] * loadings[:, b])
        points, weights = normal_rule()
        sd = np.sqrt(variance)
        share = expit((matrix @ self.value)[:, None] + sd[:, None] * points)
        slope = share * (1 - share) * weights
        by_sd = (slope @ points) / np.where(sd > 0, sd, 1.0)
        gradient = [matrix * slope.sum(axis=1)[:, None], np.column_stack(by_element) * by_sd[:, None]]
        return [Effect("", share @ weights, np.column_stack(gradient))]

    @property
    def _factors(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(effect.factor for effect in self.effects))

    @cached_property
    def _direct_estimates(self) -> Mapping[str, Mapping[Any, tuple[int, float, float]]]:
        codes = self._group_codes(self.covariates.data)
        return {
            effect.factor: dict(
                zip(effect.groups, direct_estimates(self.data, column, len(effect.groups)), strict=True)
            )
            for effect, column in zip(self.effects, codes.T, strict=True)
        }

    def _group_codes(self, data: object) -> Codes:
        frame = as_frame(data)
        codes = [
            codes_of_groups(column(frame, effect.factor, "the groups").tolist(), effect.groups)
            for effect in self.effects
        ]
        return np.column_stack(codes)

    def _no_groups(self, rows: int) -> Codes:
        return np.full((rows, len(self.effects)), NO_GROUP)

    @cached_property
    def _modes(self) -> dict[bytes, tuple[Mode, Array]]:
        return {}

    def _posterior(self, params: Array) -> tuple[Mode, Array]:
        """Return the mode and the mean of the effects; several averages need them at the same parameters."""
        if (key := params.tobytes()) not in self._modes:
            start = None if params is self.point else self._posterior(self.point)[0].effects
            mode = self.model.mode(params, start)
            self._modes[key] = mode, self.model.mean_effects(mode)
        return self._modes[key]

    def _averages(self, matrix: Array, codes: Codes, weights: Array, typical: bool = False) -> tuple[Array, Array]:
        """Return weighted prevalences and their covariance.

        It is the covariance due to unknown effects, to first order in the effects, plus that due to the parameters.
        """
        steps = _STEP * np.eye(len(self.point))
        above, below = (
            np.array([weights @ self._cells(self.point + side * step, matrix, codes, typical)[0] for step in steps])
            for side in (1, -1)
        )
        slopes = (above - below) / (2 * _STEP)
        means, by_eta = self._cells(self.point, matrix, codes, typical)
        between = 0.0 if typical else self._between(self.point, matrix, codes, weights * by_eta)[0]
        return np.asarray(weights @ means), between + slopes.T @ self.point_cov @ slopes

    def _mixture(self, blocks: Sequence[tuple[Array, Codes, Array]]) -> IntervalBasis:
        """Return intervals of the log odds that average over the standard deviation of each random effect in turn.

        Mean and variance of the log odds are those at the estimates, plus what each average changes.
        """
        estimate = self.model.conditional_information(self._posterior(self.point)[0])
        center, variance = self._log_odds(blocks, self.point, estimate)
        mean, total = center.copy(), variance.copy()
        for grid in self._by_sd:
            moments = [self._log_odds(blocks, params, information) for params, information, _ in grid]
            weights = np.array([weight for *_, weight in grid])
            centers, variances = (np.array(values) for values in zip(*moments, strict=True))
            average = weights @ centers
            mean += average - center
            total += np.maximum(weights @ (variances + centers**2) - average**2 - variance, 0)
        single = len(mean) == 1
        spread = np.sqrt(total)
        numbers = (float(mean[0]), float(spread[0])) if single else (mean, spread)
        return Mapped(interval_basis(self.all_parameters, *numbers, are_shares=False), expit)

    def _log_odds(
        self, blocks: Sequence[tuple[Array, Codes, Array]], params: Array, information: Array
    ) -> tuple[Array, Array]:
        """Return means and variances of the log odds of weighted prevalences at these standard deviations."""
        centers, variances = [], []
        for matrix, codes, weights in blocks:
            means, by_eta = self._cells(params, matrix, codes, False)
            between, by_effects = self._between(params, matrix, codes, weights * by_eta)
            by_coefficients = self.model.effects_by_coefficients(self._posterior(params)[0])
            slopes = (weights * by_eta) @ matrix + by_effects @ by_coefficients
            cov = between + slopes @ np.linalg.solve(information, slopes.T)
            center, spread = self._log_odds_of(weights @ means, np.sqrt(cov.diagonal()))
            centers.append(center)
            variances.append(spread**2)
        return np.concatenate(centers), np.concatenate(variances)

    @cached_property
    def _by_sd(self) -> list[list[tuple[Array, Array, float]]]:
        """For each random effect, return parameters on a grid of its standard deviation, with information and weight.

        The weight is the marginal likelihood with a flat prior of the coefficients and of the standard deviation. The
        grid ends at 0, or where the likelihood is 1/100 of its maximum.
        """
        grids, start = [], self.model.n_coefficients
        for root in self.model.roots(self.point):
            for row in range(len(root)):
                elements = start + row * (row + 1) // 2 + np.arange(row + 1)
                grids.append(self._grid(elements, root[row, : row + 1]))
            start += len(root) * (len(root) + 1) // 2
        return grids

    def _grid(self, elements: Codes, row: Array) -> list[tuple[Array, Array, float]]:
        """Return the grid for one row of a root: the standard deviation varies, its correlations do not."""
        sd = float(np.sqrt(row @ row))
        direction = row / sd if sd > 0 else np.eye(len(row))[-1]
        error = float(np.sqrt(direction @ self.point_cov[np.ix_(elements, elements)] @ direction)) or _START_ERROR
        step, fits = _GRID_STEP * error, list[tuple[Array, Array, float, float]]()
        below = np.arange(sd, 0, -step)[: _GRID_BELOW + 1][::-1]
        below = np.append(0.0, below) if len(below) <= _GRID_BELOW else below
        for size in [*below, *(sd + step * np.arange(1, _GRID_ABOVE))]:
            params = self.point.copy()
            params[elements] = size * direction
            params, mode = self.model.given_roots(params, self._posterior(self.point)[0].effects)
            self._modes[params.tobytes()] = mode, self.model.mean_effects(mode)
            information = self.model.conditional_information(mode)
            loglike = mode.loglike - float(np.linalg.slogdet(information)[1]) / 2
            fits.append((params, information, loglike, float(size)))
            if size > sd and loglike < max(fit[2] for fit in fits) - np.log(100):
                break
        sizes, loglikes = np.array([fit[3] for fit in fits]), np.array([fit[2] for fit in fits])
        widths = np.convolve(np.diff(sizes), [0.5, 0.5])
        weights = widths * np.exp(loglikes - loglikes.max())
        weights /= weights.sum()
        return [(params, information, float(w)) for (params, information, *_), w in zip(fits, weights, strict=True)]

    def _cells(self, params: Array, matrix: Array, codes: Codes, typical: bool) -> tuple[Array, Array]:
        """Return the mean prevalence of each row given the reports, and its mean derivative by the linear predictor.

        Given the reports, the effects of known groups are normal around their mean; those of new groups are normal
        around 0.
        """
        eta, variance = matrix @ params[: self.model.n_coefficients], np.zeros(len(matrix))
        if not typical:
            (mode, effects), loadings = self._posterior(params), list(self._loadings(params, matrix, codes))
            for is_known, index, loading in loadings:
                eta += np.where(is_known, effects[index] * loading, 0.0)
                for is_other_known, other, other_loading in loadings:
                    both = is_known & is_other_known
                    variance[both] += (
                        mode.precision.covariance(index[both], other[both]) * (loading * other_loading)[both]
                    )
                variance += np.where(is_known, 0.0, loading**2)
        points, weights = normal_rule()
        share = expit(eta[:, None] + np.sqrt(np.maximum(variance, 0))[:, None] * points)
        return share @ weights, (share * (1 - share)) @ weights

    def _loadings(self, params: Array, matrix: Array, codes: Codes) -> Iterator[tuple[Any, Codes, Array]]:
        """Yield, for each standardized effect, whether the rows' groups are known, its index, and its loading."""
        offsets = self.model.offsets[:-1]
        terms = zip(self.effects, self.model.terms, self.model.roots(params), offsets, codes.T, strict=True)
        for effect, term, root, offset, code in terms:
            is_known, loadings = code >= 0, effect.columns(matrix) @ root
            for index in range(term.width):
                yield is_known, np.where(is_known, offset + code * term.width + index, offset), loadings[:, index]

    def _between(self, params: Array, matrix: Array, codes: Codes, slopes: Array) -> tuple[Array, Array]:
        """Return the covariance of sums of linear predictors with these weights that is due to unknown effects.

        The mean over the population of groups has no such covariance. Return also the loading of each sum on the
        effects of known groups.
        """
        known, new = np.zeros((self.model.offsets[-1], len(slopes))), dict[Any, Array]()
        loadings = list(self._loadings(params, matrix, codes))
        factor_of = np.repeat(np.arange(len(self.effects)), [term.width for term in self.model.terms])
        for number, (is_known, index, loading) in enumerate(loadings):
            weighted, code = (slopes * loading).T, codes[:, factor_of[number]]
            np.add.at(known, index[is_known], weighted[is_known])
            for group in set(code[~is_known].tolist()) - {NO_GROUP}:
                new[number, group] = weighted[code == group].sum(axis=0)
        total = known.T @ self._posterior(params)[0].precision.solve(known)
        return np.asarray(total + sum(np.outer(row, row) for row in new.values())), known.T

    def _log_odds_of(self, value: Array, se: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation of normal log odds whose share has this mean and, to first order, this se.

        The logistic function is replaced by a normal distribution function, of which the mean is known exactly.
        """
        ratio = np.minimum(se / (value * (1 - value)) / _LOGISTIC_SD, 0.99)
        stretch = 1 / np.sqrt(1 - ratio**2)
        return np.log(value / (1 - value)) * stretch, _LOGISTIC_SD * ratio * stretch


def fit_mixed_effects(rows: ModelRows, terms: Sequence[tuple[str, str]]) -> MixedEffectsFit:
    """Fit the random effects of these terms, each with the text of its covariates and a column of groups."""
    effects = sorted(
        (_effect(rows, *term) for term in terms), key=lambda effect: -len(effect.groups) * len(effect.labels)
    )
    names = [name for effect in effects for name in effect.names]
    if duplicate := next((name for name in names if names.count(name) > 1), None):
        reject("every random effect must be in one term", f"{duplicate!r} twice", "leave one of them out")
    if (others := sum(len(effect.groups) * len(effect.labels) for effect in effects[1:])) > _MOST_EFFECTS:
        rule = f"all terms but the largest must have at most {_MOST_EFFECTS:,} effects"
        reject(rule, f"{others:,}", "make some groups covariates, or leave them out")
    data, matrix = rows.covariates.data, rows.covariates.matrix
    codes = [codes_of_groups(column(data, effect.factor, "the groups").tolist(), effect.groups) for effect in effects]
    columns, back = standardize(rows.covariates)
    # People with equal covariates, groups and reports share a row of the model.
    first, times = distinct_rows([*codes, *columns.T, *rows.channel.report_likelihood])
    likelihood = rows.channel.report_likelihood[:, first]
    random_terms = tuple(
        RandomTerm(code[first], effect.columns(matrix[first]), len(effect.groups))
        for effect, code in zip(effects, codes, strict=True)
    )
    model = LaplaceModel(columns[first], likelihood, times, random_terms)
    one_group = GroupModel(model.columns, likelihood, np.zeros(1, dtype=np.intp), np.ones(1), 9, times)
    best = maximum(model, maximum_without_groups(one_group))
    to_own_units = block_diagonal([back, np.eye(len(best.params) - len(back))])
    point, cov = to_own_units @ best.params, to_own_units @ best.cov @ to_own_units.T
    model = replace(model, columns=matrix[first])
    return _as_fit(rows, tuple(effects), codes, model, point, cov, best.loglike)


def _effect(rows: ModelRows, text: str, factor: str) -> RandomEffect:
    """Return a random effect; its covariates must be among the covariates of the formula."""
    covariates = rows.covariates
    labels = slope_labels(text, covariates)
    values = column(covariates.data, factor, "the groups").tolist()
    groups = {label: index for index, label in enumerate(dict.fromkeys(values))}
    if len(groups) < 2:
        reject("random effects must have at least two groups", f"one of {factor!r}", "leave the term out")
    indices = tuple(covariates.labels.index(label) for label in labels if label != "Intercept")
    slopes = covariates.matrix[:, indices]
    center = slopes.mean(axis=0) if "Intercept" in labels else np.zeros(len(indices))
    scale = np.sqrt(((slopes - center) ** 2).mean(axis=0))
    return RandomEffect(factor, labels, groups, indices, center, scale)


def _as_fit(
    rows: ModelRows,
    effects: tuple[RandomEffect, ...],
    codes: Sequence[Codes],
    model: LaplaceModel,
    point: Array,
    cov: Array,
    loglike: float,
) -> MixedEffectsFit:
    count, roots = model.n_coefficients, model.roots(point)
    factors = ", ".join(dict.fromkeys(effect.factor for effect in effects))
    method = f"{rows.channel.description}, logit link, effects by {factors}, Laplace approximation, observed errors"
    loss, labels = rows.channel.loss, rows.covariates.labels
    value, natural_cov, names = _natural(effects, model, point, cov)
    notes = (*rows.notes, *_boundary_notes(effects, roots))
    provenance = provenance_of(rows, "logit", "observed", False)
    by_terms = (tuple(name for effect in effects for name in effect.names), *codes)
    return MixedEffectsFit(
        coefficient_estimate(point[:count], cov[:count, :count], labels, rows.people, loss, method, notes),
        loglike,
        {"used": rows.people.n, **rows.dropped},
        f"logistic regression through a randomized answer, with random effects by {factors}",
        replace(provenance, shared_data=(*provenance.shared_data, *by_terms)),
        coefficient_estimate(value, natural_cov, (*labels, *names), rows.people, loss, method, ()),
        rows,
        effects,
        model,
        point,
        cov,
    )


def _boundary_notes(effects: Sequence[RandomEffect], roots: Sequence[Array]) -> list[str]:
    notes = []
    for effect, root in zip(effects, roots, strict=True):
        sd, correlation = effect.spread(root)
        zero = [name for name, size in zip(effect.names, sd, strict=True) if size == 0]
        limit = [name for name, r in zip(effect.correlation_names, correlation, strict=True) if abs(r) > _LIMIT]
        notes += [
            f"the standard deviation of {name} is estimated as 0: groups differ no more than by chance" for name in zero
        ]
        notes += [f"the correlation of {name} is estimated at its limit" for name in limit]
    return notes


def _natural(
    effects: Sequence[RandomEffect], model: LaplaceModel, point: Array, cov: Array
) -> tuple[Array, Array, list[str]]:
    """Return the coefficients, log standard deviations and transformed correlations, with covariance and names.

    The covariance of a standard deviation of 0, or of a correlation of 1, is NaN.
    """

    def natural(params: Array) -> Array:
        spreads = [effect.spread(root) for effect, root in zip(effects, model.roots(params), strict=True)]
        sd, correlation = (np.concatenate(values) for values in zip(*spreads, strict=True))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.concatenate([params[: model.n_coefficients], np.log(sd), np.arctanh(np.clip(correlation, -1, 1))])

    value = natural(point)
    with np.errstate(invalid="ignore"):
        jacobian = np.array(
            [(natural(point + step) - natural(point - step)) / (2 * _STEP) for step in _STEP * np.eye(len(point))]
        ).T
    is_boundary = ~np.isfinite(value) | (np.abs(value) > np.arctanh(_LIMIT)) & (
        np.arange(len(value)) >= model.n_coefficients
    )
    jacobian[is_boundary] = 0.0
    natural_cov = jacobian @ cov @ jacobian.T
    natural_cov[is_boundary] = natural_cov[:, is_boundary] = np.nan
    names = [f"log sd {name}" for effect in effects for name in effect.names]
    names += [f"atanh correlation {name}" for effect in effects for name in effect.correlation_names]
    return value, natural_cov, names
