"""The likelihood of binary reports with several normal random effects, by Laplace's approximation, and its maximum."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from toolkit.analysis.regression.rows import Codes
from toolkit.analysis.regression.scoring import Evaluation, inverse_information, line_search, negative_hessian
from toolkit.core.arrays import Array
from toolkit.core.checks import reject
from toolkit.core.inference.special import expit

LEAST = 1e-150
# A standard deviation of a standardized effect below this counts as 0; lme4 has the same limit.
LEAST_SD = 1e-4
_START_SDS = (0.5, 0.1)
_NO_LOSS = 1e-6
_MODE_STEPS = 100
# Newton's method doubles the number of digits: after a step as short as this, the mode is exact to rounding.
_SHORT_STEP = 1e-6
_HALVINGS = 40
# Relative rounding error of a log-likelihood.
_ROUNDING = 1e-13
_STEP = 1e-4
_STEPS = 60
# The iteration ends when another step would gain less than this.
_GAIN = 1e-12
# The same for the coefficients at given roots, which need not be as accurate.
_CONDITIONAL_GAIN = 1e-3
_CONDITIONAL_STEPS = 6
# At a maximum, the last step of the coefficients is short; toward a maximum at infinity it is not.
_SHORT_LAST_STEP = 0.01


@dataclass(frozen=True, eq=False)
class RandomTerm:
    """The groups of one term such as (x | school), and the covariates whose coefficients differ between groups.

    `codes` is the group of each row, and `columns` has a column of ones for the intercept and one for each slope.
    """

    codes: Codes
    columns: Array
    groups: int

    @property
    def width(self) -> int:
        return int(self.columns.shape[1])

    @property
    def size(self) -> int:
        return self.groups * self.width


@dataclass(frozen=True, eq=False)
class BorderedPrecision:
    """The negative Hessian of the joint log density of reports and standardized effects, as a bordered matrix.

    The effects of the first term have the block diagonal part `first`, one block for each group; those of all other
    terms have the dense part `rest`; `border` is the part between them. The inverse of `first`, its product `projected`
    with the border, and the inverse of the Schur complement of `rest` are stored. The cost is proportional to the
    number of groups of the first term, and to the cube of the number of all other effects.
    """

    inverse_first: Array
    projected: Array
    inverse_schur: Array
    log_det: float

    @classmethod
    def of(cls, first: Array, border: Array, rest: Array) -> "BorderedPrecision":
        """Factorize; raise `LinAlgError` if the matrix is not positive definite."""
        groups, width, _ = first.shape
        root = np.linalg.cholesky(first)
        inverse_first = np.linalg.inv(first)
        projected = (inverse_first @ border.reshape(groups, width, -1)).reshape(border.shape)
        schur = rest - border.T @ projected
        schur_root = np.linalg.cholesky(schur)
        diagonals = (root.diagonal(axis1=1, axis2=2), schur_root.diagonal())
        log_det = 2 * float(sum(np.log(diagonal).sum() for diagonal in diagonals))
        return cls(np.asarray(inverse_first), projected, np.asarray(np.linalg.inv(schur)), log_det)

    def solve(self, right: Array) -> Array:
        """Return the inverse times a vector, or times the columns of a matrix."""
        size = len(self.projected)
        first, rest = right[:size], right[size:]
        solved_rest = self.inverse_schur @ (rest - self.projected.T @ first)
        blocks = first.reshape(*self.inverse_first.shape[:2], -1)
        solved_first = (self.inverse_first @ blocks).reshape(first.shape) - self.projected @ solved_rest
        return np.concatenate([solved_first, solved_rest])

    @cached_property
    def _between(self) -> Array:
        """The covariance of the effects of the first term with all others."""
        return -self.projected @ self.inverse_schur

    @cached_property
    def _within(self) -> Array:
        """The covariance of the effects of each group of the first term."""
        blocks = (*self.inverse_first.shape[:2], -1)
        added = self._between.reshape(blocks) @ np.moveaxis(self.projected.reshape(blocks), 1, 2)
        return np.asarray(self.inverse_first - added)

    def covariance(self, row: Codes, column: Codes) -> Array:
        """Return the covariance of pairs of effects; each array belongs to one term, and pairs to one group of it."""
        size, width = len(self.projected), self.inverse_first.shape[1]
        if len(row) == 0:
            return np.zeros(0)
        if row[0] >= size and column[0] >= size:
            return np.asarray(self.inverse_schur[row - size, column - size])
        if row[0] >= size:
            return np.asarray(self._between[column, row - size])
        if column[0] >= size:
            return np.asarray(self._between[row, column - size])
        return np.asarray(self._within[row // width, row % width, column % width])


@dataclass(frozen=True, eq=False)
class RowDerivatives:
    """The log-likelihood of each row, its derivatives with respect to the linear predictor, and p (1 - p).

    The last is the information of a truth on the linear predictor, which is never below that of its report.
    """

    log: Array
    score: Array
    hessian: Array
    third: Array
    truth_information: Array


@dataclass(frozen=True, eq=False)
class Mode:
    """The posterior mode of the standardized effects at given parameters, with the precision there.

    `loadings` has, for each row, the factor of each of its effects in the linear predictor.
    """

    effects: Array
    precision: BorderedPrecision
    loadings: Array
    log_joint: float
    rows: RowDerivatives

    @property
    def loglike(self) -> float:
        """The log-likelihood by Laplace's approximation."""
        return self.log_joint - self.precision.log_det / 2


@dataclass(frozen=True, eq=False)
class LaplaceModel:
    """The likelihood with random effects that are normal with mean 0, independent between terms and groups.

    People with equal values share a row, and `times` counts them. `report_likelihood` is Pr(observed report | truth),
    one row per truth. The effects of a group are L u with standard normal u; the parameters are the coefficients and,
    for each term, the elements of its lower triangular L, row by row. The first term has the most effects.
    """

    columns: Array
    report_likelihood: Array
    times: Array
    terms: tuple[RandomTerm, ...]

    @property
    def n_coefficients(self) -> int:
        return int(self.columns.shape[1])

    def roots(self, params: Array) -> tuple[Array, ...]:
        """Return the triangular root of the covariance of the effects of each term."""
        roots, start = list[Array](), self.n_coefficients
        for term in self.terms:
            root, elements = np.zeros((term.width,) * 2), np.tril_indices(term.width)
            root[elements] = params[start : start + len(elements[0])]
            start += len(elements[0])
            roots.append(root)
        return tuple(roots)

    @cached_property
    def offsets(self) -> list[int]:
        """The index of the first effect of each term, and the number of all effects."""
        return [0, *np.cumsum([term.size for term in self.terms]).tolist()]

    @cached_property
    def _indices(self) -> list[Codes]:
        """The index of the effect of each row, for each column of each term."""
        return [
            offset + term.codes * term.width + column
            for term, offset in zip(self.terms, self.offsets[:-1], strict=True)
            for column in range(term.width)
        ]

    def row_derivatives(self, eta: Array) -> RowDerivatives:
        share, (no, yes) = expit(eta), self.report_likelihood
        likelihood = np.maximum(no + (yes - no) * share, LEAST)
        variance = share * (1 - share)
        score = (yes - no) * variance / likelihood
        slope = 1 - 2 * share - score
        hessian = score * slope
        third = hessian * slope - score * (2 * variance + hessian)
        return RowDerivatives(np.log(likelihood), score, hessian, third, variance)

    def _sums(self, loadings: Array, values: Array) -> Array:
        """Return the sum over rows of their loadings times these values, for each effect."""
        total = np.zeros(self.offsets[-1])
        for column, index in zip(loadings.T, self._indices, strict=True):
            total += np.bincount(index, values * column, minlength=len(total))
        return total

    def _precision(self, loadings: Array, weights: Array) -> BorderedPrecision:
        """Return 1 plus the weighted Gram matrix of loadings; raise `LinAlgError` if it is not positive definite."""
        size, total, index = self.offsets[1], self.offsets[-1], self._indices
        term, others = self.terms[0], total - size
        first = np.zeros((term.groups, term.width, term.width)) + np.eye(term.width)
        border, rest = np.zeros((size, others)), np.eye(others)
        for a in range(loadings.shape[1]):
            weighted = weights * loadings[:, a]
            for b in range(a, loadings.shape[1]):
                values = weighted * loadings[:, b]
                if b < term.width:
                    sums = np.bincount(term.codes, values, minlength=term.groups)
                    first[:, a, b] += sums
                    first[:, b, a] += sums if a != b else 0
                elif a < term.width:
                    flat = index[a] * others + (index[b] - size)
                    border += np.bincount(flat, values, minlength=border.size).reshape(border.shape)
                else:
                    flat = (index[a] - size) * others + (index[b] - size)
                    block = np.bincount(flat, values, minlength=rest.size).reshape(rest.shape)
                    rest += block if a == b else block + block.T
        return BorderedPrecision.of(first, border, rest)

    def _precision_at(self, loadings: Array, rows: RowDerivatives) -> BorderedPrecision:
        """Return the observed information; if it is not positive definite, the information of the truths.

        At a mode, the observed information is positive definite, except where the joint density is flat.
        """
        try:
            return self._precision(loadings, -self.times * rows.hessian)
        except np.linalg.LinAlgError:
            return self._precision(loadings, self.times * rows.truth_information)

    def mode(self, params: Array, start: Array | None = None) -> Mode:
        """Find the posterior mode of the effects by Newton's method with halved steps."""
        roots = self.roots(params)
        loadings = np.column_stack([term.columns @ root for term, root in zip(self.terms, roots, strict=True)])
        fixed = self.columns @ params[: self.n_coefficients]

        def joint(effects: Array) -> tuple[float, RowDerivatives]:
            eta = fixed.copy()
            for column, index in zip(loadings.T, self._indices, strict=True):
                eta += column * effects[index]
            rows = self.row_derivatives(eta)
            return float(self.times @ rows.log - effects @ effects / 2), rows

        effects, is_last = np.zeros(self.offsets[-1]) if start is None else start, False
        log_joint, rows = joint(effects)
        for _ in range(_MODE_STEPS):
            precision = self._precision_at(loadings, rows)
            if is_last:
                break
            step = precision.solve(self._sums(loadings, self.times * rows.score) - effects)
            for _ in range(_HALVINGS):
                new, new_rows = joint(effects + step)
                if new >= log_joint - _ROUNDING * (1 + abs(log_joint)):
                    effects, log_joint, rows = effects + step, new, new_rows
                    break
                step = step / 2
            is_last = bool(np.abs(step).max() < _SHORT_STEP)
        return Mode(effects, precision, loadings, log_joint, rows)

    def _local_products(self, mode: Mode) -> Array:
        """Return, for each row, the covariance of its effects times its loadings."""
        products = np.zeros_like(mode.loadings)
        for a, row in enumerate(self._indices):
            for b, column in enumerate(self._indices[: a + 1]):
                covariance = mode.precision.covariance(row, column)
                products[:, a] += covariance * mode.loadings[:, b]
                if a != b:
                    products[:, b] += covariance * mode.loadings[:, a]
        return products

    def mean_effects(self, mode: Mode) -> Array:
        """Return the posterior means of the effects, which differ from the mode by the third derivatives."""
        leverage = (mode.loadings * self._local_products(mode)).sum(axis=1)
        return mode.effects + mode.precision.solve(
            self._sums(mode.loadings, self.times * mode.rows.third * leverage / 2)
        )

    def score(self, mode: Mode) -> Array:
        """Return the gradient of the log-likelihood by Laplace's approximation.

        The mode and the determinant depend on the parameters, the latter by the third derivatives of the likelihood.
        """
        products, score = self._local_products(mode), self.times * mode.rows.score
        hessian, leverage = self.times * mode.rows.hessian, (mode.loadings * products).sum(axis=1)
        determinant = self.times * mode.rows.third * leverage / 2
        shift = mode.precision.solve(self._sums(mode.loadings, determinant))
        shift_rows = [shift[index] for index in self._indices]
        by_shift = sum(column * values for column, values in zip(mode.loadings.T, shift_rows, strict=True))
        by_eta = score + determinant + hessian * by_shift
        gradient, first = [self.columns.T @ by_eta], 0
        for term in self.terms:
            block = range(first, first + term.width)
            sums = np.column_stack(
                [
                    mode.effects[self._indices[j]] * by_eta + shift_rows[j] * score + hessian * products[:, j]
                    for j in block
                ]
            )
            gradient.append((term.columns.T @ sums)[np.tril_indices(term.width)])
            first += term.width
        return np.concatenate(gradient)

    def effects_by_coefficients(self, mode: Mode) -> Array:
        """Return the derivatives of the mode by the coefficients, one column for each of them."""
        weighted = self.columns * (self.times * mode.rows.hessian)[:, None]
        return mode.precision.solve(np.column_stack([self._sums(mode.loadings, column) for column in weighted.T]))

    def conditional_information(self, mode: Mode) -> Array:
        """Return the information on the coefficients, with a normal approximation to the distribution of the effects.

        It lacks the derivatives of the determinant, and serves to find the maximum.
        """
        weighted = self.columns * (self.times * mode.rows.hessian)[:, None]
        cross = np.column_stack([self._sums(mode.loadings, column) for column in weighted.T])
        return np.asarray(-self.columns.T @ weighted - cross.T @ self.effects_by_coefficients(mode))

    def given_roots(self, params: Array, start: Array) -> tuple[Array, Mode]:
        """Maximize over the coefficients at the roots in `params`; return all parameters with the mode there."""
        params, mode = params.copy(), self.mode(params, start)
        for _ in range(_CONDITIONAL_STEPS):
            score = self.score(mode)[: self.n_coefficients]
            step = np.linalg.solve(self.conditional_information(mode), score)
            if score @ step < _CONDITIONAL_GAIN:
                break
            params[: self.n_coefficients] += step
            mode = self.mode(params, mode.effects)
        return params, mode


@dataclass(frozen=True, eq=False)
class EffectsMaximum:
    """The maximum of a likelihood with random effects: parameters, log-likelihood, and their covariance.

    A standard deviation of 0 is uncorrelated with all other parameters, and its variance has no meaning.
    """

    params: Array
    loglike: float
    cov: Array


class _Objective:
    """The log-likelihood as a function of the parameters, which starts each mode from the one before."""

    def __init__(self, model: LaplaceModel) -> None:
        self.model = model
        self.effects: Array | None = None

    def evaluate(self, params: Array) -> Evaluation:
        mode = self.model.mode(params, self.effects)
        self.effects = mode.effects
        return Evaluation(params, mode.loglike, self.model.score(mode), self.model.conditional_information(mode))

    def information(self, point: Evaluation) -> Array:
        """Return minus the Hessian; derivatives by elements of the roots are differences of the score."""
        size, count = len(point.params), self.model.n_coefficients
        total = np.zeros((size, size))
        total[:count, :count] = point.information
        for index in range(count, size):
            moved = self.model.mode(point.params + _STEP * np.eye(size)[index], self.effects)
            total[index] = total[:, index] = (point.score - self.model.score(moved)) / _STEP
        corner = total[count:, count:]
        total[count:, count:] = (corner + corner.T) / 2
        return total

    def maximize(self, start: Array) -> tuple[Evaluation, bool]:
        """Maximize by Newton's method; return the end point and whether it is a maximum.

        Minus the Hessian may have an eigenvalue of 0: if the standard deviation of an intercept is 0, several roots
        describe the same covariance of intercept and slope.
        """
        point, count = self.evaluate(start), self.model.n_coefficients
        for _ in range(_STEPS):
            values, vectors = np.linalg.eigh(self.information(point))
            size = np.maximum(np.abs(values), 1e-8 * np.abs(values).max())
            step = vectors @ (vectors.T @ point.score / size)
            if float(point.score @ step) < _GAIN:
                is_maximum = values[0] > -1e-6 * values[-1] and np.abs(step[:count]).max() < _SHORT_LAST_STEP
                return point, bool(is_maximum)
            improved = line_search(self.evaluate, point, step, _ROUNDING)
            if improved is None:
                return point, False
            point = improved
        return point, False


def maximum(model: LaplaceModel, plain: Evaluation) -> EffectsMaximum:
    """Maximize the likelihood, starting with the coefficients of `plain`, the maximum without groups.

    The likelihood is an even function of each column of a root, so a standard deviation of 0 is an ordinary maximum.
    """
    objective, ends = _Objective(model), list[Evaluation]()
    for sd in _START_SDS:
        roots = [sd * np.eye(term.width)[np.tril_indices(term.width)] for term in model.terms]
        point, converged = objective.maximize(np.concatenate([plain.params, *roots]))
        ends += [point] if converged else []
        if ends and ends[-1].loglike >= plain.loglike - _NO_LOSS:
            break
    if not ends:
        rule = "the likelihood must have its maximum at finite coefficients and standard deviations"
        remedy = "use fewer covariates, fewer random effects, or more reports per group"
        reject(rule, "none", remedy)
    params = _normalized(model, max(ends, key=lambda end: end.loglike).params)
    mode = model.mode(params)
    information = negative_hessian(lambda moved: model.score(model.mode(moved, mode.effects)), params)
    return EffectsMaximum(params, mode.loglike, _covariance(information, model.n_coefficients))


def _covariance(information: Array, n_coefficients: int) -> Array:
    """Return the inverse of the information; directions of the roots without information get a variance of 0."""
    values, vectors = np.linalg.eigh(information[n_coefficients:, n_coefficients:])
    keep = values > 1e-6 * max(values.max(initial=0.0), 1.0)
    basis = np.eye(len(information))[:, : n_coefficients + int(keep.sum())]
    basis[n_coefficients:, n_coefficients:] = vectors[:, keep]
    return np.asarray(basis @ inverse_information(basis.T @ information @ basis) @ basis.T)


def _normalized(model: LaplaceModel, params: Array) -> Array:
    """Change the signs of the columns of the roots so that their diagonals are positive; tiny columns become 0."""
    roots = []
    for root in model.roots(params):
        positive = root * np.where(root.diagonal() < 0, -1.0, 1.0)
        positive[:, np.sqrt((positive**2).sum(axis=0)) < LEAST_SD] = 0.0
        roots.append(positive[np.tril_indices(len(root))])
    return np.concatenate([params[: model.n_coefficients], *roots])
