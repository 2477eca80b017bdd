"""Noise for private classifiers: on the weights, or in the objective before it is minimized.

The objective is a sum over people of losses of margins, plus ridge / 2 |w|**2 with ridge = 1 / C. Every row has a norm
of at most 1 and every slope is at most 1, so a person's gradient has a norm of at most 1.

**Output perturbation** (Chaudhuri, Monteleoni and Sarwate 2011). If a person is replaced, the minimum changes by at
most 2 / ridge = 2 C. If a person is added or removed, it changes by at most C. Twice the error of the solver is added
to both bounds.

**Objective perturbation.** Add a linear term push . w with a random vector `push`, which masks one person's gradient,
then minimize. The weights w and the data determine `push`. For a neighboring table and the same w, `push` differs by at
most 2 in norm, and in each entry by at most twice the largest entry of a row. The density of w contains the determinant
of the Hessian as a factor (the Jacobian). Let H be the Hessian of all other rows plus the ridge. One row changes it to
H + a x x', and det(H + a x x') / det(H) lies between 1 and 1 + curvature / ridge. So the determinants cost at most ln(1
+ curvature / ridge), and the rest of epsilon covers the shift. If the ridge is so small that the determinants would
cost more than half of epsilon, it is raised.

The vector `push` is drawn on a grid. If it is spread evenly over a cell of the grid, it has a density, whose logarithm
changes by at most the epsilon of `push`; this epsilon takes the cells into account. The cell and the tolerance of the
solver change the weights by a bounded amount. Noise that covers this amount is added to the weights, at a cost of a
64th of epsilon.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.core.arrays import Array
from toolkit.core.checks import Number, check_integer, check_positive, reject
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.core.randomness import Rng, below, big_below
from toolkit.core.sampling import Integers, floor_log2, gaussian_sampler, laplace_sampler
from toolkit.core.search import bisect, bracket, smallest_where

# This part defines losses of a margin (label times score) and finds the weights with the smallest penalized loss.
#
# Both losses have slopes of at most 1, so the gradient of a row with a norm of at most 1 has a norm of at most 1. Both
# have a bounded second derivative, which objective perturbation requires.
#
# Newton's method finds the minimum to a tolerance that does not depend on the data. It takes the full step if this
# halves the gradient; otherwise it uses a line search. The second derivative is at least `ridge` in every direction, so
# at a gradient with norm t, the minimum is at most t / ridge away. The rounding error of the gradient is bounded in
# advance (`gradient_tolerance`) and is part of the sensitivity.


@dataclass(frozen=True)
class LogisticLoss:
    """The logistic loss ln(1 + e**-m)."""

    curvature: float = 0.25

    def value(self, margins: Array) -> Array:
        return np.logaddexp(0.0, -margins)

    def slope(self, margins: Array) -> Array:
        return np.asarray(-expit(-margins))

    def second_derivative(self, margins: Array) -> Array:
        share = expit(-np.abs(margins))
        return np.asarray(share * (1 - share))


@dataclass(frozen=True)
class HuberHinge:
    """The hinge loss max(0, 1 - m), with a parabola from 1 - width to 1 + width instead of the corner."""

    width: float

    @property
    def curvature(self) -> float:
        return 1 / (2 * self.width)

    def value(self, margins: Array) -> Array:
        near = np.clip(1 + self.width - margins, 0.0, 2 * self.width)
        return near**2 / (4 * self.width) + np.maximum(1 - self.width - margins, 0.0)

    def slope(self, margins: Array) -> Array:
        near = np.clip(margins, 1 - self.width, 1 + self.width)
        return np.clip((near - 1 - self.width) / (2 * self.width), -1.0, 0.0)

    def second_derivative(self, margins: Array) -> Array:
        return np.where(np.abs(margins - 1) <= self.width, self.curvature, 0.0)


MarginLoss = LogisticLoss | HuberHinge
"""A convex loss with 0 <= -slope <= 1 and 0 <= second derivative <= curvature."""


MAX_ROWS = 10**8
_ROUNDING = 2.0**-53
# A term is rounded 16 + 3 times in a block of NumPy's pairwise sums, 20 times for blocks, and 4 times each for slope
# and product.
_ROUNDINGS_PER_TERM = 60
_MAX_ROUNDS = 500
_LINE_SEARCH_AFTER = 50  # after this number of rounds, every step uses the line search, so that the iteration ends
_MAX_STEP_SIZE, _MAX_HALVINGS = 2.0**20, 45
_SUBSAMPLE_ABOVE = 20_000  # with more rows, the iteration starts from the minimum over every sixteenth row


RowBatches: TypeAlias = Callable[[], Iterable[Array]]
"""A function that yields all rows in batches, with one column per person."""


def in_memory(read_batches: RowBatches) -> Array:
    batches = list(read_batches())
    return batches[0] if len(batches) == 1 else np.concatenate(batches, axis=1)


def gradient_tolerance(n_rows: int, loss: MarginLoss, ridge: float, size: int, push: float = 0.0) -> float:
    """Return the tolerance for the norm of the gradient: four times a bound on its rounding error.

    At the minimum, ridge / 2 |w|**2 <= n_rows + push |w|, which bounds |w|. A margin then has an error of at most size
    |w| roundings, and its slope has an error that is `curvature` times as large. The sum over people, whose terms have
    a norm of at most 1, adds a few roundings per term.
    """
    max_norm = (push + math.sqrt(push**2 + 2 * ridge * n_rows)) / ridge
    n_roundings = n_rows * (_ROUNDINGS_PER_TERM + loss.curvature * (size + 2) * max_norm)
    return 4 * _ROUNDING * (n_roundings + 8 * (ridge * max_norm + push) + 1)


def minimize_objective(rows: Array, loss: MarginLoss, ridge: float, push: Array, tolerance: float) -> Array:
    """Minimize the sum of loss(w . row) plus ridge / 2 |w|**2 + push . w; each column of `rows` is a row times y."""
    weights = np.zeros(len(rows))
    if rows.shape[1] > _SUBSAMPLE_ABOVE:
        subsample = np.ascontiguousarray(rows[:, ::16])
        weights = minimize_objective(subsample, loss, ridge / 16, push / 16, 1e-3 * subsample.shape[1])
    gradient = _gradient(rows, loss, ridge, push, weights)
    for round_number in range(_MAX_ROUNDS):
        if np.linalg.norm(gradient) <= tolerance and _gradient_norm(rows, loss, ridge, push, weights) <= tolerance / 2:
            break
        scaled_rows = rows * np.sqrt(loss.second_derivative(weights @ rows))
        step = -_solve(scaled_rows @ scaled_rows.T + ridge * np.eye(len(rows)), gradient)
        new_weights = weights + step
        new_gradient = _gradient(rows, loss, ridge, push, new_weights)
        if round_number > _LINE_SEARCH_AFTER or np.linalg.norm(new_gradient) > np.linalg.norm(gradient) / 2:
            new_weights = weights + _line_search(rows, loss, ridge, push, weights, step) * step
            new_gradient = _gradient(rows, loss, ridge, push, new_weights)
        weights, gradient = new_weights, new_gradient
    return weights


def _solve(hessian: Array, gradient: Array) -> Array:
    """Solve for Newton's step; if the Hessian is numerically singular, return the shortest solution."""
    try:
        return np.asarray(np.linalg.solve(hessian, gradient), dtype=float)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(hessian, gradient, rcond=None)[0], dtype=float)


def _line_search(rows: Array, loss: MarginLoss, ridge: float, push: Array, weights: Array, direction: Array) -> float:
    """Return the step size at which the derivative of the convex objective along a direction is 0."""
    margins, margin_changes = weights @ rows, direction @ rows
    initial_slope, curvature = float((ridge * weights + push) @ direction), ridge * float(direction @ direction)

    def is_increasing(step_size: float) -> bool:
        loss_slope = float(loss.slope(margins + step_size * margin_changes) @ margin_changes)
        return loss_slope + initial_slope + step_size * curvature > 0

    low, high = bracket(is_increasing, 0.0, 1.0, _MAX_STEP_SIZE)
    return float(sum(bisect(is_increasing, low, min(high, _MAX_STEP_SIZE), max_rounds=_MAX_HALVINGS))) / 2


def _gradient(rows: Array, loss: MarginLoss, ridge: float, push: Array, weights: Array) -> Array:
    return np.asarray(rows @ loss.slope(weights @ rows) + ridge * weights + push)


def _gradient_norm(rows: Array, loss: MarginLoss, ridge: float, push: Array, weights: Array) -> float:
    """Return the norm of the gradient, computed with NumPy's pairwise sums, which have smaller rounding errors."""
    slopes = loss.slope(weights @ rows)
    sums = np.array([np.sum(row * slopes) for row in rows])
    return float(np.linalg.norm(sums + ridge * weights + push))


# There are three distributions for the vector `push` of the random linear term. `Ball` and `Cube` satisfy
# Pure(epsilon). For `Ball`, one person shifts the vector by at most 2 in norm; its norm is nearly Gamma(d, 2 / epsilon)
# and its direction nearly uniform. For `Cube`, one person shifts each entry by at most 2 `max_entry`, because no row
# has an entry above `max_entry`; the largest entry of the vector is nearly Gamma(d, 2 max_entry / epsilon). For columns
# with bounds, no entry exceeds 1 / sqrt(d), and the variance of `Cube` is a third of the variance of `Ball`: the best
# norm is the one that matches the possible changes (Awan and Slavković 2021). `GaussianPerturbation` satisfies Approx,
# with discrete Gaussian noise on each entry. Pure(epsilon) implies Approx(epsilon, delta), so the distribution with the
# smallest variance is chosen among all that satisfy the loss.

# The cost of Gaussian noise in the objective follows from Rényi divergences of all orders, and so does the noise for a
# given cost.
#
# For neighbors that differ in one replaced row, Redberg, Koskela and Wang (2023) prove that the divergence of order
# t + 1 is below
#
#     determinants + 4 / (2 sigma**2) + ln E[e**(t |N(0, 4 / sigma**2)|)] / t,
#
# because the random vector p changes by g x - g' x' with |g|, |g'| at most 1. The proof uses |p . (g x - g' x')| <=
# |p . x| + |p . x'| and the Cauchy–Schwarz inequality. E[e**(t |N|)] is at most 2 e**(2 t**2 / sigma**2), also for the
# discrete Gaussian on a grid. On the grid, the change is a whole number of cells. Each of its coordinates is off by up
# to a cell, which adds |p_1| + … + |p_k| cells. Hölder's inequality, with the exponent 2**-20 for this sum, gives the
# small terms below.

_HOLDER = 2.0**-20  # the exponent of Hölder's inequality for the cells
_CELL_SIZE = 2.0**-30  # the largest cell of the grid, in units of sigma
_MAX_SIGMA = 2.0**60  # the largest sigma that is tried
_SAFETY_FACTOR = 1 + 1e-9  # a factor that covers the rounding error of these computations


def renyi_divergence(t: float, sigma: float, determinants: float, size: int) -> float:
    shift = (2 + math.sqrt(size) * _CELL_SIZE * sigma) ** 2 / (2 * sigma**2)
    rows = math.log(2) * (1 + size * _HOLDER) + 2 * t**2 / sigma**2 / (1 - _HOLDER)
    cells = size * t**2 * _CELL_SIZE**2 / _HOLDER / 2
    return (determinants + shift + (rows + cells) / t) * _SAFETY_FACTOR


def objective_epsilon(sigma: float, delta: float, determinants: float, size: int) -> float:
    """Return the smallest epsilon over all orders, by the conversion of Canonne, Kamath and Steinke (2020)."""

    def epsilon_at_order(log_order: float) -> float:
        t = math.exp(log_order)
        bound = renyi_divergence(t, sigma, determinants, size)
        return bound + (-math.log(delta) - math.log1p(t)) / t - math.log1p(1 / t)

    low, high, ratio = -5.0, 25.0, (math.sqrt(5) - 1) / 2
    for _ in range(100):  # golden section; every order gives a valid bound, so the search need not find the best order
        first, second = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, second) if epsilon_at_order(first) <= epsilon_at_order(second) else (first, high)
    return epsilon_at_order((low + high) / 2) + 1e-9


@lru_cache(maxsize=64)
def smallest_sigma(epsilon: float, delta: float, determinants: float, size: int) -> float:
    """Return the smallest sigma, to nine digits, that costs at most epsilon at delta, or infinity if none does."""

    def is_sufficient(sigma: float) -> bool:
        return objective_epsilon(sigma, delta, determinants, size) <= epsilon

    return smallest_where(is_sufficient, 0.0, 1.0, rtol=1e-9, highest=_MAX_SIGMA)


# Integer vectors with Pr[k] proportional to e**(-m / scale), where m is the largest absolute entry, are drawn exactly
# in any dimension.
#
# This is the noise for vectors in which one person can change every entry by a bounded amount. The cubes {-r … r}**d
# are nested, and e**(-m / scale) is (1 - q) times the sum of q**r over all r >= m, with q = e**(-1 / scale). So a
# radius r is drawn with weight (2 r + 1)**d q**r, and then a vector is drawn uniformly from its cube.
#
# **The radius.** The nonnegative draws of the two-sided distribution have Pr[g] proportional to q**g. The sum of d + 1
# such draws is r with weight (r + 1) (r + 2) … (r + d) q**r / d!. The sum is accepted with a probability equal to the
# product of (2 r + 1) / (2 r + 2 i) over i = 1 … d, so that the weight becomes (2 r + 1)**d q**r times a constant.


def cubic_laplace(scale: Number, dimension: int, rng: Rng = None) -> Integers:
    """Draw an integer vector with Pr[k] proportional to e**(-max |k_i| / scale), for scale >= dimension."""
    unit, size = check_positive(scale, "scale"), check_integer(dimension, "dimension")
    if unit < size:
        reject("`scale` must be at least the dimension", float(unit), "choose a finer grid")
    sampler = laplace_sampler(unit)
    while True:
        radius = 0
        n_missing = size + 1
        while n_missing:
            noise = sampler.draw(n_missing, rng)
            nonnegative = noise[noise >= 0]
            radius, n_missing = radius + int(nonnegative.sum()), n_missing - len(nonnegative)
        if all(big_below(2 * (radius + i), rng) <= 2 * radius for i in range(1, size + 1)):
            return _uniform_in_cube(radius, size, rng)


def _uniform_in_cube(radius: int, size: int, rng: Rng) -> Integers:
    """Draw `size` integers, each uniform on -radius … radius."""
    width = 2 * radius + 1
    if radius < 2**62:
        return below(width, size, rng).astype(np.int64) - radius
    return np.array([*(big_below(width, rng) - radius for _ in range(size)), None], dtype=object)[:-1]


GRID = 30  # the number of bits by which the grid is finer than the noise and the shift


@dataclass(frozen=True)
class Ball:
    """Noise for a shift of at most 2 in norm."""

    epsilon: Fraction
    size: int

    @cached_property
    def _law(self) -> Laplace:
        return Laplace.for_epsilon(self.epsilon, sensitivity=2, norm="l2")

    @property
    def scale(self) -> float:
        return self._law.scale

    @property
    def sd(self) -> float:
        return math.sqrt(self.size + 1) * self.scale

    @property
    def length_bound(self) -> float:
        """A scale for the norm of the noise, which exceeds four times this value with probability below e**-100."""
        return (self.size + 50) * self.scale

    def draw(self, rng: Rng) -> Array:
        return np.asarray(self._law._perturb(np.zeros(self.size), rng))


@dataclass(frozen=True)
class Cube:
    """Noise for a shift of at most 2 `max_entry` in each entry, on a grid.

    The noise is the vector `push` of objective perturbation, spread evenly over its cell. One person changes each entry
    by at most `shift` cells, where `shift` is rounded up. So a density proportional to e**(-largest entry / scale),
    with entries in cells, changes by a factor of at most e**(shift / scale).
    """

    epsilon: Fraction
    size: int
    max_entry: float

    @cached_property
    def exponent(self) -> int:
        scale = 2 * Fraction(self.max_entry)
        return floor_log2(min(scale, scale / self.epsilon)) - GRID - self.size.bit_length()

    @cached_property
    def shift(self) -> int:
        """The sensitivity of an entry, in cells."""
        return math.ceil(2 * Fraction(self.max_entry) / Fraction(2) ** self.exponent)

    @property
    def scale(self) -> float:
        return float(self.shift / self.epsilon * Fraction(2) ** self.exponent)

    @property
    def sd(self) -> float:
        """The standard deviation of an entry, which is uniform in a cube with a radius of Gamma(d + 1, scale)."""
        return math.sqrt((self.size + 1) * (self.size + 2) / 3) * self.scale

    @property
    def length_bound(self) -> float:
        """A scale for the norm of the noise, which exceeds four times this value with probability below e**-100."""
        return math.sqrt(self.size) * (self.size + 51) * self.scale

    def draw(self, rng: Rng) -> Array:
        cells = cubic_laplace(self.shift / self.epsilon, self.size, rng)
        return np.asarray(np.ldexp(cells.astype(float), self.exponent))


@dataclass(frozen=True)
class GaussianPerturbation:
    """Gaussian noise on a grid, for a shift of at most 2 in norm and the cost of the determinants."""

    epsilon: Fraction
    size: int
    delta: float
    determinants: float

    @cached_property
    def sd(self) -> float:
        return smallest_sigma(float(self.epsilon), self.delta, self.determinants, self.size)

    @property
    def length_bound(self) -> float:
        """A scale for the norm of the noise, which exceeds four times this value with probability below e**-100."""
        return (math.sqrt(self.size) + 12) * self.sd

    def draw(self, rng: Rng) -> Array:
        sigma = Fraction(self.sd)
        exponent = floor_log2(sigma) - GRID
        cells = gaussian_sampler((sigma / Fraction(2) ** exponent) ** 2).draw(self.size, rng)
        return np.asarray(np.ldexp(cells.astype(float), exponent))


PushNoise: TypeAlias = Ball | Cube | GaussianPerturbation


def best_push_noise(
    epsilon: Fraction, determinants: float, size: int, max_entry: float, delta: float = 0.0
) -> PushNoise:
    """Return the distribution with the smallest variance; the cost of the determinants is subtracted from epsilon."""
    remaining = epsilon - Fraction(determinants)
    laws: list[PushNoise] = [Ball(remaining, size), Cube(remaining, size, max_entry)]
    if delta:
        laws.append(GaussianPerturbation(epsilon, size, delta, determinants))
    return min(laws, key=lambda law: law.sd)


_SOLVER_SHARE = Fraction(1, 64)


@dataclass(frozen=True)
class OutputPerturbation:
    """Noise on the weights: spherical Laplace for Pure, Gaussian for Approx and Zcdp."""

    loss: Loss
    ridge: float
    margin_loss: MarginLoss
    size: int
    n_rows: int
    neighbors: str = "replace"

    @property
    def tolerance(self) -> float:
        """The tolerance for the norm of the gradient; a private number of rows is replaced by its maximum."""
        n_rows = self.n_rows if self.neighbors == "replace" else MAX_ROWS
        return gradient_tolerance(n_rows, self.margin_loss, self.ridge, self.size)

    @cached_property
    def sensitivity(self) -> Fraction:
        """The sensitivity of the weights: 2 C or C, plus twice the tolerance."""
        times = 2 if self.neighbors == "replace" else 1
        return (times + 2 * Fraction(self.tolerance)) / Fraction(self.ridge)

    @cached_property
    def mechanism(self) -> Laplace | Gaussian:
        return additive_mechanism(self.loss, self.sensitivity)

    @property
    def price(self) -> Laplace | Gaussian:
        """The mechanism for which a ledger is charged; it may have a cost in more than one type of loss."""
        return self.mechanism

    def weights(self, read_batches: RowBatches, rng: Rng) -> Array:
        weights = minimize_objective(
            in_memory(read_batches), self.margin_loss, self.ridge, np.zeros(self.size), self.tolerance
        )
        return np.asarray(self.mechanism._perturb(weights, rng))


@dataclass(frozen=True)
class ObjectivePerturbation:
    """Noise in the objective, under "replace".

    The noise is Laplace noise on a ball or a cube (Chaudhuri, Monteleoni and Sarwate 2011; Awan and Slavković 2021).
    For Approx it may also be Gaussian noise (Redberg, Koskela and Wang 2023). `max_entry` is the largest possible entry
    of a row.
    """

    loss: Pure | Approx
    min_ridge: float
    margin_loss: MarginLoss
    size: int
    n_rows: int
    max_entry: float

    @property
    def epsilon_for_objective(self) -> Fraction:
        return Fraction(self.loss.amount) * (1 - _SOLVER_SHARE)

    @cached_property
    def ridge(self) -> float:
        """The requested ridge, or, if larger, the ridge for which the determinants cost half of epsilon."""
        half = math.expm1(min(float(self.epsilon_for_objective) / 2, 700.0))
        return max(self.min_ridge, self.margin_loss.curvature / half)

    @property
    def determinants(self) -> float:
        """The cost of the Jacobian: ln(1 + curvature / ridge), rounded up."""
        return math.log1p(self.margin_loss.curvature / self.ridge) * (1 + 1e-14)

    @cached_property
    def push_noise(self) -> PushNoise:
        """The distribution of `push`, which costs epsilon minus the cost of the determinants."""
        delta = float(self.loss.slack) if isinstance(self.loss, Approx) else 0.0
        return best_push_noise(self.epsilon_for_objective, self.determinants, self.size, self.max_entry, delta)

    @property
    def tolerance(self) -> float:
        """The tolerance for the norm of the gradient, which includes half a cell of `push`.

        The norm of `push` is assumed to be at most `length_bound`. The factor of four in `gradient_tolerance` also
        covers four times this norm, which `push` exceeds with probability below e**-100.
        """
        cell = math.sqrt(self.size) * max(2.0, 2 * self.push_noise.sd) * 2.0**-GRID
        return (
            gradient_tolerance(self.n_rows, self.margin_loss, self.ridge, self.size, self.push_noise.length_bound)
            + cell
        )

    @cached_property
    def mechanism(self) -> Laplace:
        """The noise on the weights, which covers the tolerance and the cell."""
        scale = 2 * Fraction(self.tolerance) / Fraction(self.ridge)
        return Laplace.for_epsilon(Fraction(self.loss.amount) * _SOLVER_SHARE, sensitivity=scale, norm="l2")

    @property
    def price(self) -> Loss:
        return self.loss

    def weights(self, read_batches: RowBatches, rng: Rng) -> Array:
        weights = minimize_objective(
            in_memory(read_batches), self.margin_loss, self.ridge, self.push_noise.draw(rng), self.tolerance
        )
        return np.asarray(self.mechanism._perturb(weights, rng))


@lru_cache(maxsize=64)
def zcdp_within(loss: Approx | Zcdp) -> Zcdp:
    """Return the largest Zcdp loss that satisfies the given loss; the search takes a while for Approx."""
    return loss if isinstance(loss, Zcdp) else Zcdp.within(loss)


@lru_cache(maxsize=64)
def additive_mechanism(loss: Loss, sensitivity: Fraction) -> Laplace | Gaussian:
    """Return noise for a vector that one person changes by at most `sensitivity` in the L2 norm."""
    if isinstance(loss, Pure):
        return Laplace.for_epsilon(loss.amount, sensitivity=sensitivity, norm="l2")
    if isinstance(loss, Zcdp):
        return Gaussian.for_rho(loss.amount, sensitivity=sensitivity)
    return Gaussian.for_loss(loss.amount, loss.slack, sensitivity=sensitivity)
