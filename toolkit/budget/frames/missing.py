"""What a missing value counts as, and the sums of a column that keep to it."""

from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.budget.frames.columns import Column
from toolkit.central.steps import Bounds, Sums, written
from toolkit.core.checks import exact, refuse


def settled(missing: Any, limits: Bounds) -> tuple[Fraction | None, str]:
    """What a missing value counts as, None if it is dropped, and the words for it."""
    if isinstance(missing, str) and missing == "drop":
        return None, "missing dropped"
    if missing is None:
        remedy = 'write missing="drop" to leave them out, or the number to put there'
        refuse("`missing` must say what a missing value counts as", "nothing", remedy)
    fill = exact(missing, "missing")
    if not limits.low <= fill <= limits.high:
        refuse(
            '`missing` must be "drop" or a number within the bounds',
            missing,
            "values beyond them are clamped",
        )
    return fill, f"missing counted as {written(float(fill))}"


def sums_within(found: Column, limits: Bounds, fill: Fraction | None, *, squares: bool = False) -> Sums:
    """Values clamped to the limits, on their own grid; a missing one counts as `fill`, or is left out."""
    return limits.sums(found.floats(), squares=squares, fill=fill)


def clamped_sums(found: Column, limits: Bounds, wide: Bounds) -> Sums:
    """Values clamped to the limits, on the grid of wider ones that hold zero; a missing value adds
    nothing.
    """
    return wide.sums(np.clip(found.floats(), float(limits.low), float(limits.high)), fill=0)
