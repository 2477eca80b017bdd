"""Local sensitivities at growing distances, for tests."""

from fractions import Fraction
from typing import Any

from toolkit.central.robust.smooth import _exact_values, _prepare


def sensitivities(
    name: str, values: Any, *, bounds: Any, most: int, rank: int | None = None, trim: int | None = None
) -> list[Fraction]:
    """The largest local sensitivity at a distance of at most k people, for k = 0 ... most."""
    ranks, ordered, (low, high) = _prepare(name, _exact_values(values), bounds, rank, trim)
    return [Fraction(reach) / ranks.divisor for reach in ranks._sensitivities(ordered, low, high, most)]
