"""Record and replay of tables: the largest move of what is released is the claimed one, in the norm of its
noise.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from toolkit import MISSING, OTHER, Curator, Estimate, Gaussian, Ledger, Zcdp

Call = Callable[[Curator, dict[str, Any]], Estimate]
BY = {"g": ["a", "b", MISSING]}
VERBS: dict[str, tuple[Call, bool]] = {
    "count by": (lambda c, pay: c.count(by=BY, **pay), True),
    "count by, everybody": (lambda c, pay: c.count(by={"g": ["a", OTHER]}, **pay), True),
    "count where": (lambda c, pay: c.count({"g": "a"}, **pay), True),
    "sum by": (lambda c, pay: c.sum("x", bounds=(-1, 3), missing="drop", by=BY, **pay), True),
    "sum by, positive": (lambda c, pay: c.sum("x", bounds=(1, 3), missing=2, by=BY, **pay), True),
    "sum where": (lambda c, pay: c.sum("x", bounds=(1, 3), missing=1, where={"g": "a"}, **pay), True),
    "sum, dropped": (lambda c, pay: c.sum("x", bounds=(-1, 3), missing="drop", **pay), True),
    "mean by": (lambda c, pay: c.mean("x", bounds=(-1, 3), missing="drop", by=BY, **pay), True),
    "mean where": (lambda c, pay: c.mean("x", bounds=(-1, 3), missing=1, where={"g": "a"}, **pay), True),
    "mean, dropped": (lambda c, pay: c.mean("x", bounds=(-1, 3), missing="drop", **pay), True),
    "variance by": (lambda c, pay: c.variance("x", bounds=(-1, 3), missing="drop", by=BY, **pay), True),
    "variance, dropped": (lambda c, pay: c.variance("x", bounds=(-1, 3), missing="drop", **pay), True),
    "covariance by": (
        lambda c, pay: c.covariance(
            "x", "y", bounds={"x": (-1, 3), "y": (0, 1)}, missing="drop", by=BY, **pay
        ),
        True,
    ),
    "covariance": (
        lambda c, pay: c.covariance("x", "y", bounds={"x": (-1, 3), "y": (0, 1)}, missing=0, **pay),
        False,  # the others decide how near one person comes
    ),
    "two means": (
        lambda c, pay: c.mean(["x", "y"], bounds={"x": (-1, 3), "y": (0, 1)}, missing="drop", by=BY, **pay),
        True,
    ),
}
PEOPLE = [
    (x, y, g) for x in (np.nan, -np.inf, 0.5, 9.0) for y in (np.nan, 0.0, 1.0) for g in ("a", "b", None)
]


def frame(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["x", "y", "g"])
    return table.astype({"x": float, "y": float, "g": "str"})


@pytest.mark.slow
@pytest.mark.parametrize("currency", ["epsilon", "rho"])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("name", VERBS)
def test_the_largest_move_of_a_table_is_the_claimed_one(
    name: str, neighbors: str, currency: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In Laplace noise the moves over their scales add up to 1 at most, in Gaussian noise their squares over
    twice the variances; both are attained.
    """
    call, attained = VERBS[name]
    seen: list[tuple[list[Any], list[list[int]]]] = []
    plain = Curator._paid

    def watched(self: Curator, mechanism: Any, *rest: Any) -> Any:
        value = plain(self, mechanism, *rest)
        parts = getattr(mechanism, "parts", (mechanism,))
        seen.append((list(parts), [list(map(int, v)) for v in (value if len(parts) > 1 else [value])]))
        return value

    monkeypatch.setattr(Curator, "_paid", watched)
    others = [(1.0, 0.0, "b"), (np.nan, 1.0, "a")]
    rows = [[*others, person] for person in PEOPLE] + [others] * (neighbors == "add_remove")
    for one in rows:
        call(Curator(frame(one), Ledger(Zcdp(100)), neighbors), {currency: 1})
    assert len({str(parts) for parts, _ in seen}) == 1
    parts = seen[0][0]
    against = seen if neighbors == "replace" else seen[-1:]
    power = 2 if isinstance(parts[0], Gaussian) else 1
    scales = [2 * part.variance if power == 2 else part.exact_scale for part in parts]
    costs = [
        sum(
            (
                Fraction(_moved(*pair, power)) / scale
                for pair, scale in zip(zip(x, y, strict=True), scales, strict=True)
            )
        )
        for _, x in seen
        for _, y in against
    ]
    assert max(costs) <= 1
    if attained:
        assert float(max(costs)) == pytest.approx(1, abs=1e-12)  # but for an irrational root


def _moved(one: list[int], other: list[int], power: int) -> int:
    return sum(abs(a - b) ** power for a, b in zip(one, other, strict=True))
