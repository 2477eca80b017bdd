"""Weights made to add up to known totals: of cells (poststratification) or of several margins (raking).

What the totals explain has no sampling error any more: linearized values are replaced by their residuals from
the weighted regression on the cells or margins (Deville and Särndal 1992).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.analysis.sampling.inputs import codes
from toolkit.core.arrays import Array, Values
from toolkit.core.checks import Number, exact, refuse

_STEPS, _CLOSE = 1000, 1e-12


@dataclass(frozen=True, eq=False)
class Margin:
    """Which class each row is in, and how many people the classes have in the population."""

    place: npt.NDArray[np.intp]
    totals: Array

    def fitted(self, weights: Array) -> Array:
        """Weights that add up to the totals, class by class."""
        sums = np.bincount(self.place, weights, len(self.totals))
        return np.asarray(weights * (self.totals / np.where(sums > 0, sums, 1))[self.place])

    def miss(self, weights: Array) -> float:
        """How far the sums are from the totals, as a share of them."""
        return float(np.abs(np.bincount(self.place, weights, len(self.totals)) / self.totals - 1).max())


@dataclass(frozen=True, eq=False)
class Calibration:
    """One or several margins that the weights add up to."""

    margins: tuple[Margin, ...]

    def weights(self, base: Array) -> Array:
        """Iterative proportional fitting; one margin takes a single step."""
        weights = base
        for _ in range(_STEPS):
            for margin in self.margins:
                weights = margin.fitted(weights)
            if max(margin.miss(weights) for margin in self.margins) < _CLOSE:
                return weights
        consequence = "their totals may contradict each other, or classes have nobody in common"
        refuse("the margins must be ones that weights can add up to", f"no such weights in {_STEPS} steps", consequence)

    def residuals(self, values: Array, weights: Array) -> Array:
        """What is left of each column after the weighted regression on the classes of all margins."""
        if len(self.margins) == 1:
            (margin,) = self.margins
            sums = np.bincount(margin.place, weights, len(margin.totals))
            means = [np.bincount(margin.place, weights * column, len(sums)) / sums for column in values.T]
            return np.asarray(values - np.stack(means, axis=1)[margin.place])
        dummies = np.concatenate([np.eye(len(m.totals))[m.place] for m in self.margins], axis=1)
        root = np.sqrt(weights)[:, None]
        fitted, *_ = np.linalg.lstsq(dummies * root, values * root, rcond=None)
        return np.asarray(values - dummies @ fitted)


def margin(column: Values, totals: Mapping[Any, Number], name: str, rows: int | None) -> Margin:
    """A column's classes and their totals by name; the classes named must be those that people have."""
    place, names = codes(column, name)
    if rows is not None and len(place) != rows:
        refuse(f"`{name}` must have {rows} rows, as the sample has", len(place), "rows go by place")
    if not isinstance(totals, Mapping):
        refuse(f"totals of `{name}` must be given by class", type(totals).__name__, "{class: people, …}", TypeError)
    people = {key: float(exact(value, "total")) for key, value in totals.items()}
    if set(people) != set(names):
        missing, empty = set(names) - set(people), set(people) - set(names)
        received = f"{len(missing)} without a total, {len(empty)} that nobody in the sample has"
        refuse(f"totals of `{name}` must name the classes of the sample", received, "merge or drop classes")
    if min(people.values()) <= 0:
        refuse(f"totals of `{name}` must be above 0", "others", "they count people")
    return Margin(place, np.array([people[key] for key in names]))


def calibration(margins: Mapping[str, Any], columns: Any, rows: int | None) -> Calibration:
    """Margins by the name of their column, in a frame or a mapping."""
    if not isinstance(margins, Mapping) or not margins:
        refuse("margins must be totals by column", "none", "{column: {class: people}}", TypeError)
    classes = []
    for name, totals in margins.items():
        try:
            column = columns[name]
        except (KeyError, TypeError, IndexError):
            refuse("`columns` must hold every margin", f"none called {name!r}", "columns go by name")
        classes.append(margin(column, totals, name, rows))
    sums = [one.totals.sum() for one in classes]
    if max(sums) - min(sums) > 1e-9 * max(sums):
        refuse("all margins must have the same total", f"{min(sums):g} to {max(sums):g}", "they count one population")
    return Calibration(tuple(classes))
