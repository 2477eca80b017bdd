"""Noisy gradient descent: each step adds noise to the sum of gradients over all people or a random subsample.

The gradient of a row has a norm of at most 1, so it need not be clipped. Gradients are rounded to whole steps, their
sums are exact, and discrete Gaussian noise is added. The weights depend on the data only through noisy sums, so they
are public.

If every step uses all people, the costs add up exactly, in Zcdp. The steps cost less if each step uses a random
subsample, which includes each person independently with probability `rate`. Google's `dp-accounting` computes this cost
from Rényi divergences, for "add_remove" and normal noise. The noise here lies on a grid: a number with noise of
standard deviation sigma differs from rounded normal noise by at most (2**-30 / sigma)**2 / 24 in total variation, which
is below 2**-60. A thousandth of delta is reserved for this difference.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.checks import reject
from toolkit.core.extras import extra
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.core.randomness import Rng, below
from toolkit.core.sampling import gaussian_sampler
from toolkit.core.search import smallest_where
from toolkit.learning.perturbation import MarginLoss, RowBatches, zcdp_within

STEPS = 2**30
_FOR_GRID = Fraction(1, 1000)
_ORDERS = [1.5, 2.5, 3.5, 4.5, 5.5, *range(2, 65), 80, 96, 128, 192, 256, 512]
_MIN_SIGMA = 0.25  # the smallest noise in units of a gradient, so that the grid is fine in comparison


@dataclass(frozen=True)
class NoisyGradientDescent:
    """Noisy gradient descent with a fixed number of steps.

    A step is w <- w - learning rate * ((sum of gradients + noise) / (sampling rate * people) + w / (C * people)).
    `n_people` is public: the number of people under "replace", or a guess at this number under "add_remove".
    """

    loss: Loss
    ridge: float
    margin_loss: MarginLoss
    size: int
    n_people: int
    neighbors: str
    n_steps: int
    sampling_rate: Fraction

    def __post_init__(self) -> None:
        if isinstance(self.loss, Pure) or (self.sampling_rate < 1 and isinstance(self.loss, Zcdp)):
            needed = "`rho`, or `epsilon` with `delta`" if self.sampling_rate == 1 else "`epsilon` with `delta`"
            reject(f"method='descent' at this rate needs {needed}", self.loss, "the cost of its noise has this form")
        if self.sampling_rate < 1 and self.neighbors != "add_remove":
            rule = "a `rate` below 1 needs neighbors='add_remove'"
            reject(rule, self.neighbors, "the cost of subsampling is known only if a person is added or removed")
        if self.sampling_rate < 1 and self._grid_delta > _FOR_GRID * self._slack:
            reject(
                "`delta` must be larger for so many steps",
                float(self._slack),
                "part of it covers the rounding to a grid",
            )

    @property
    def _slack(self) -> Fraction:
        return self.loss.slack if isinstance(self.loss, Approx) else Fraction(0)

    @property
    def _grid_delta(self) -> Fraction:
        """The delta due to the grid: (1 + e**epsilon) times the total variation distance from normal noise."""
        ratio = Fraction(1 + math.exp(min(float(self.loss.amount), 700.0)))
        return ratio * self.n_steps * self.size / 2**60

    @property
    def price(self) -> Loss:
        return self.loss

    @cached_property
    def sigma(self) -> float:
        """The standard deviation of the noise on each entry of a sum, in units of the largest gradient norm."""
        if self.sampling_rate == 1:
            assert not isinstance(self.loss, Pure)
            rho, sensitivity = zcdp_within(self.loss), 2 if self.neighbors == "replace" else 1
            return sensitivity * math.sqrt(self.n_steps / (2 * float(rho.amount))) * (1 + 1e-12)
        delta = float(self._slack * (1 - _FOR_GRID))
        return max(sampled_sigma(float(self.loss.amount), delta, float(self.sampling_rate), self.n_steps), _MIN_SIGMA)

    def weights(self, read_batches: RowBatches, rng: Rng) -> Array:
        """Run the descent from 0 and return the last weights; every step reads the rows in batches to save memory."""
        max_norm = STEPS + math.isqrt(self.size) + 1  # the norm in steps, with half a step for each entry
        noise = gaussian_sampler((Fraction(self.sigma) * max_norm) ** 2)
        weights, expected_sample_size = np.zeros(self.size), float(self.sampling_rate) * self.n_people
        ridge_per_person = self.ridge / self.n_people
        learning_rate = 1 / (self.margin_loss.curvature + ridge_per_person)
        for _ in range(self.n_steps):
            total = np.zeros(self.size, dtype=np.int64)
            for rows in read_batches():
                sampled_rows = rows if self.sampling_rate == 1 else rows[:, self._sampled_people(rows.shape[1], rng)]
                gradients = sampled_rows * self.margin_loss.slope(weights @ sampled_rows)
                total += np.rint(gradients * STEPS).astype(np.int64).sum(axis=1)
            noisy_gradient = (total + noise.draw(self.size, rng)).astype(float) / STEPS
            weights = weights - learning_rate * (noisy_gradient / expected_sample_size + ridge_per_person * weights)
        return np.asarray(weights)

    def _sampled_people(self, n_people: int, rng: Rng) -> Array:
        return np.asarray(
            below(self.sampling_rate.denominator, n_people, rng) < np.uint64(self.sampling_rate.numerator)
        )


def sampled_epsilon(sigma: float, delta: float, rate: float, steps: int) -> float:
    """Return an upper bound on the cost of steps over subsamples, from the Rényi accountant of `dp-accounting`."""
    tool, rdp = extra("dp_accounting"), extra("dp_accounting.rdp.rdp_privacy_accountant")
    accountant = rdp.RdpAccountant(_ORDERS, tool.NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(tool.PoissonSampledDpEvent(rate, tool.GaussianDpEvent(sigma)), steps)
    return float(accountant.get_epsilon(delta)) * (1 + 1e-6)


@lru_cache(maxsize=64)
def sampled_sigma(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """Return the smallest noise, to three digits, that costs at most epsilon."""
    sigma = smallest_where(
        lambda noise: sampled_epsilon(noise, delta, rate, steps) <= epsilon, 0.0, 1.0, rtol=1e-3, highest=2**19
    )
    if math.isinf(sigma):
        reject("`epsilon` must be larger for so many steps", epsilon, "no noise of a sensible size is enough")
    return sigma
