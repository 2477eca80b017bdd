"""`AdaptiveTables`: noisy tables of columns and pairs, each chosen because a model of earlier tables fits it badly."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations
from math import prod
from typing import Any, Protocol

import numpy as np

from toolkit.central.gaussian import Gaussian
from toolkit.central.publishing.agreeing import table_noise
from toolkit.central.publishing.spanning import MAX_TOTAL, UNITS_PER_ROW, Axes
from toolkit.central.release import loss_and_notes
from toolkit.central.selection import Exponential
from toolkit.central.tables import CellEstimates
from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import check_integer, reject
from toolkit.core.estimate import Estimate
from toolkit.core.inference.special import ndtri
from toolkit.core.loss import Zcdp
from toolkit.core.randomness import Rng, check_rng

ROUNDS_PER_COLUMN = 16
"""The number of rounds per column into which the budget is first divided; AIM uses the same."""

_MEASURED_SHARE = Fraction(9, 10)

# The largest size of a model in megabytes; a round may use the share of it that the budget used so far allows.
_MAX_MEGABYTES = 80

_LARGEST_PENALTY = 2**58

_NOTE = "intervals use the normal distribution, as if the tables that were measured again had been fixed beforehand"


class TableModels(Protocol):
    """The interface of a library that fits a model to noisy tables."""

    def fit(self, tables: Mapping[Axes, tuple[Array, float]]) -> Callable[[Axes], Array]:
        """Fit a model to noisy tables with their standard deviations; return its tables as a function of the axes."""
        ...

    def megabytes(self, tables: Sequence[Axes]) -> float:
        """Return the size of a model of these tables."""
        ...


@dataclass(frozen=True)
class AdaptiveTables:
    """The measurements of AIM for all pairs of columns: the next table is the one that the model fits worst.

    The first tables are those of the columns. Then each round chooses a column or a pair with the exponential
    mechanism, and adds noise to its table. The score is the L1 distance between the table and that of a model of the
    noisy tables so far, less the distance that noise alone would cause, times the number of columns of the table. If
    the model hardly changes, the budget of a round is multiplied by 4. The last round gets what is left, so that the
    rounds use exactly rho, whatever their number is; it is at most 16 per column.

    One person changes a table by at most `l1_sensitivity` in the L1 norm. A score changes by at most twice as much,
    because the model, the expected noise and the budgets of the rounds depend on released values alone. Adaptive
    budgets compose as fixed ones do if their sum never exceeds rho (Feldman and Zrnic 2021). The time of a release and
    the number of its tables depend on released values, too. Whether a table is measured again depends on its earlier
    noise as well, which standard errors and intervals ignore. `squared_l2_sensitivity` is the squared L2 sensitivity of
    a table.

    References
    ----------
    McKenna, Mullins, Sow and Miklau (2022), AIM: an adaptive and iterative mechanism for differentially private
    synthetic data.
    """

    loss: Zcdp
    axis_sizes: tuple[int, ...]
    l1_sensitivity: int
    squared_l2_sensitivity: int

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Zcdp):
            reject("`loss` must be Zcdp", type(self.loss).__name__, "AIM adds Gaussian noise: write rho=0.1", TypeError)
        for name in ("l1_sensitivity", "squared_l2_sensitivity"):
            check_integer(getattr(self, name), name)
        for size in self.axis_sizes:
            check_integer(size, "axis_sizes")
        if len(self.axis_sizes) < 2:
            reject("`axis_sizes` must have at least two entries", len(self.axis_sizes), "a pair has two columns")

    @cached_property
    def tables(self) -> tuple[Axes, ...]:
        """The tables of all columns, followed by those of all pairs: the candidates of a round."""
        axes = range(len(self.axis_sizes))
        return (*((axis,) for axis in axes), *combinations(axes, 2))

    @property
    def first_budget(self) -> Fraction:
        """The budget of the first round, which is also the smallest."""
        return Fraction(self.loss.amount) / (ROUNDS_PER_COLUMN * len(self.axis_sizes))

    @cached_property
    def column_noise(self) -> Gaussian:
        """The noise on the first table of each column."""
        return self.noise(self.first_budget)

    def noise(self, budget: Fraction) -> Gaussian:
        """Return the noise of a round: nine tenths of its budget."""
        noise = table_noise(Zcdp(budget * _MEASURED_SHARE), self.l1_sensitivity, self.squared_l2_sensitivity)
        assert isinstance(noise, Gaussian)
        return noise

    def selection(self, budget: Fraction) -> Exponential:
        """Return the mechanism that chooses the table of a round: a tenth of its budget."""
        sensitivity = 2 * self.l1_sensitivity * UNITS_PER_ROW
        return Exponential.for_rho(budget * (1 - _MEASURED_SHARE), sensitivity=sensitivity)

    def release(
        self,
        counts: Sequence[Steps],
        labels: Callable[[Sequence[Axes]], Sequence[Any]],
        models: TableModels,
        rng: Rng = None,
    ) -> Estimate:
        """Release the noisy tables as one estimate; a table that was measured repeatedly is averaged.

        Parameters
        ----------
        counts : sequence of integer arrays
            The exact tables, in the order of `tables`.
        labels : callable
            A function that returns the labels of all cells of the tables with the given axes.
        models : TableModels
            The library that fits the models.
        rng : Generator, optional
            A generator for simulations; the default is the operating system's randomness.

        Returns
        -------
        Estimate
            The noisy counts with their errors.
        """
        source = check_rng(rng)
        exact = dict(zip(self.tables, (np.ravel(table).astype(np.int64) for table in counts), strict=True))
        measured = self._measure(exact, models, source)
        chosen = sorted(measured, key=lambda axes: (len(axes), axes))
        value = np.concatenate([measured[axes][0] for axes in chosen])
        se = np.concatenate([np.full(len(measured[axes][0]), measured[axes][1]) for axes in chosen])
        return replace(
            CellEstimates(value, se, partial(_normal_limits, value, se)).estimate(),
            labels=tuple(labels(chosen)),
            method="Gaussian",
            **loss_and_notes(self.loss, source, _NOTE),
        )

    def _measure(self, exact: Mapping[Axes, Steps], models: TableModels, rng: Rng) -> dict[Axes, tuple[Array, float]]:
        """Return the noisy tables with their standard deviations. Only mechanisms use the exact tables."""
        measured: dict[Axes, tuple[Array, float]] = {}
        for axis in range(len(self.axis_sizes)):
            _add_measurement(measured, (axis,), exact[axis,], self.column_noise, rng)
        model, budget = models.fit(measured), self.first_budget
        remaining = Fraction(self.loss.amount) - _MEASURED_SHARE * budget * len(self.axis_sizes)
        while remaining:
            remaining -= budget
            noise = self.noise(budget)
            candidates = self._candidates(measured, models, 1 - remaining / Fraction(self.loss.amount))
            scores = [self.score(axes, exact[axes], model(axes), noise) for axes in candidates]
            chosen = self.selection(budget).choose(candidates, np.array(scores, dtype=np.int64), rng=rng)
            _add_measurement(measured, chosen, exact[chosen], noise, rng)
            before, model = model(chosen), models.fit(measured)
            change = float(np.abs(model(chosen) - before).sum())
            budget = next_budget(remaining, budget, has_converged=change <= self._expected_distance(chosen, noise))
        return measured

    def score(self, axes: Axes, table: Steps, modelled: Array, noise: Gaussian) -> int:
        """Return how badly a model fits a table, as an integer in units of 2**-16 rows.

        The table of the model is rounded to these units. So the score is exact, and changes by at most 2 units for a
        change of the table by one unit.
        """
        cells = np.maximum(np.nan_to_num(np.asarray(modelled, dtype=float), posinf=MAX_TOTAL), 0)
        scale = min(1.0, MAX_TOTAL / max(float(cells.sum()), 1.0))
        expected = np.rint(cells * (scale * UNITS_PER_ROW)).astype(np.int64)
        distance = int(np.abs(table * UNITS_PER_ROW - expected).sum())
        penalty = min(round(self._expected_distance(axes, noise) * UNITS_PER_ROW), _LARGEST_PENALTY)
        return len(axes) * (distance - penalty)

    def _expected_distance(self, axes: Axes, noise: Gaussian) -> float:
        """Return the expected L1 norm of the noise on a table."""
        n_cells = prod(self.axis_sizes[axis] for axis in axes)
        return math.sqrt(2 / math.pi) * noise._integer_law.sd * n_cells

    def _candidates(self, measured: Mapping[Axes, Any], models: TableModels, share: Fraction) -> list[Axes]:
        """Return the tables for which the model is small enough, given the share of the budget that is used."""
        limit = float(share) * _MAX_MEGABYTES
        return [
            axes
            for axes in self.tables
            if len(axes) == 1 or axes in measured or models.megabytes([*measured, axes]) <= limit
        ]

    def _describe(self) -> dict[str, Any]:
        """Describe the mechanism for publication."""
        return {
            "mechanism": type(self).__name__,
            "words": "Gaussian noise in the table of each column, and in tables that the exponential mechanism chose "
            "one after the other, where the model of the earlier tables fitted badly",
            "columns": self.column_noise._describe_noise() | {"loss": str(self.column_noise.loss)},
            "rounds": f"at most {ROUNDS_PER_COLUMN * len(self.axis_sizes)}",
            "first round": str(Zcdp(self.first_budget)),
        }


def next_budget(remaining: Fraction, budget: Fraction, *, has_converged: bool) -> Fraction:
    """Return the budget of the next round: four times as much if the model has converged, or all that is left.

    Noise with half the standard deviation and choices with twice the epsilon cost four times as much.
    """
    larger = 4 * budget if has_converged else budget
    return remaining if remaining <= 2 * larger else larger


def _add_measurement(
    measured: dict[Axes, tuple[Array, float]], axes: Axes, table: Steps, noise: Gaussian, rng: Rng
) -> None:
    """Add noise to a table, and average the result with earlier ones by their inverse variances."""
    value, sd = np.asarray(noise.release(table, rng=rng).value, dtype=float), noise._integer_law.sd
    if axes in measured:
        earlier, earlier_sd = measured[axes]
        weight = earlier_sd**2 / (earlier_sd**2 + sd**2)
        value, sd = earlier + weight * (value - earlier), sd * math.sqrt(weight)
    measured[axes] = value, sd


def _normal_limits(value: Array, se: Array, level: float) -> tuple[Array, Array]:
    margin = ndtri(0.5 + level / 2) * se
    return value - margin, value + margin
