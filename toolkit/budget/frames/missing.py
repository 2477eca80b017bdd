"""What a missing value counts as."""

from fractions import Fraction
from typing import Any

from toolkit.central.steps import Bounds, written
from toolkit.core.checks import exact, refuse


def settled(missing: Any, limits: Bounds) -> tuple[Fraction | None, str]:
    """What a missing value counts as, None if it is dropped, and the words for it."""
    if isinstance(missing, str) and missing == "drop":
        return None, "missing dropped"
    if missing is None:
        remedy = 'write missing="drop" to leave them out, or the number to put there'
        refuse("`missing` must say what a missing value counts as", "nothing", remedy)
    if isinstance(missing, str) and not any(map(str.isdigit, missing)):
        refuse(
            '`missing` must be "drop" or a number',
            repr(missing)[:40],
            'write missing="drop" to leave them out',
        )
    fill = exact(missing, "missing")
    if not limits.low <= fill <= limits.high:
        refuse(
            '`missing` must be "drop" or a number within the bounds',
            missing,
            "values beyond them are clamped",
        )
    return fill, f"missing counted as {written(float(fill))}"
