"""Record and replay of tables: the statistics to which noise is added move by at most the claimed amount, in the norm
of the noise; and given the noisy numbers, no part of a release depends on the frame.

Together these prove the claim of every method that adds noise: the distribution of the noise is enumerated in
`tests/central`, and postprocessing of noisy numbers costs nothing.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from toolkit import MISSING, OTHER, Curator, Estimate, Gaussian, Laplace, Ledger, Zcdp
from toolkit.central.noise.grid import PrivateValue

Call = Callable[[Curator, dict[str, Any]], Estimate]
BY = {"g": ["a", "b", MISSING]}
VERBS: dict[str, tuple[str, Call, bool]] = {
    "count by": ("g", lambda c, pay: c.count(by=BY, **pay), True),
    "count by, everybody": ("g", lambda c, pay: c.count(by={"g": ["a", OTHER]}, **pay), True),
    "count where": ("g", lambda c, pay: c.count({"g": "a"}, **pay), True),
    "sum by": ("xg", lambda c, pay: c.sum("x", bounds=(-1, 3), missing="drop", by=BY, **pay), True),
    "sum by, positive": ("xg", lambda c, pay: c.sum("x", bounds=(1, 3), missing=2, by=BY, **pay), True),
    "sum by, negative": ("xg", lambda c, pay: c.sum("x", bounds=(-9, -2), missing=-3, by=BY, **pay), True),
    "sum where": ("xg", lambda c, pay: c.sum("x", bounds=(1, 3), missing=1, where={"g": "a"}, **pay), True),
    "sum, dropped": ("x", lambda c, pay: c.sum("x", bounds=(-1, 3), missing="drop", **pay), True),
    "mean by": ("xg", lambda c, pay: c.mean("x", bounds=(-1, 3), missing="drop", by=BY, **pay), True),
    "mean where": ("xg", lambda c, pay: c.mean("x", bounds=(-1, 3), missing=1, where={"g": "a"}, **pay), True),
    "mean, dropped": ("x", lambda c, pay: c.mean("x", bounds=(-1, 3), missing="drop", **pay), True),
    "variance by": ("xg", lambda c, pay: c.variance("x", bounds=(-1, 3), missing="drop", by=BY, **pay), True),
    "variance, dropped": ("x", lambda c, pay: c.variance("x", bounds=(-1, 3), missing="drop", **pay), True),
    "covariance by": (
        "xyg",
        lambda c, pay: c.covariance("x", "y", bounds={"x": (-1, 3), "y": (0, 1)}, missing="drop", by=BY, **pay),
        True,
    ),
    "covariance": (
        "xy",
        lambda c, pay: c.covariance("x", "y", bounds={"x": (-1, 3), "y": (0, 1)}, missing=0, **pay),
        False,  # the others determine how close one person comes
    ),
    "two means": (
        "xyg",
        lambda c, pay: c.mean(["x", "y"], bounds={"x": (-1, 3), "y": (0, 1)}, missing="drop", by=BY, **pay),
        True,
    ),
    "std by": ("xg", lambda c, pay: c.std("x", bounds=(-1, 3), missing="drop", by=BY, **pay), True),
    "correlation by": (
        "xyg",
        lambda c, pay: c.correlation("x", "y", bounds={"x": (-1, 3), "y": (0, 1)}, missing="drop", by=BY, **pay),
        True,
    ),
    "margins": ("yg", lambda c, pay: c.count(by=[BY, {**BY, "y": [0, 1]}], where={"y": [0, 1]}, **pay), True),
    "bounds": ("x", lambda c, pay: c.bounds("x", powers=(-2, 3), **pay), True),
}
WEIGHTS: dict[str, Any] = {"weights": "y", "weight_bounds": ("1/4", 1), "weights_are_fixed": True}
WEIGHTED: dict[str, tuple[str, Call, bool]] = {
    "count": ("y", lambda c, pay: c.count(**pay), True),
    "count by": ("yg", lambda c, pay: c.count(by=BY, **pay), True),
    "sum": ("xy", lambda c, pay: c.sum("x", bounds=(-1, 3), missing=1, **pay), True),
    "sum by": ("xyg", lambda c, pay: c.sum("x", bounds=(-1, 3), missing="drop", by=BY, **pay), True),
    "mean": ("xy", lambda c, pay: c.mean("x", bounds=(-1, 3), missing="drop", **pay), True),
    "mean by": ("xyg", lambda c, pay: c.mean("x", bounds=(-1, 3), missing="drop", by=BY, **pay), True),
}
PEOPLE = {"x": (np.nan, -np.inf, 9.0), "y": (np.nan, 0.0, 1.0), "g": ("a", "b", None)}


@cache
def frames(columns: str) -> list[pd.DataFrame]:
    """Return tables of two people and every kind of third person in these columns; the last table has no third
    person.
    """
    others = [(1.0, 0.0, "b"), (np.nan, 1.0, "a")]
    kinds = product(*(values if name in columns else values[-1:] for name, values in PEOPLE.items()))
    return [frame(rows) for rows in ([*others, one] for one in kinds)] + [frame(others)]


def frame(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["x", "y", "g"])
    return table.astype({"x": float, "y": float, "g": "str"})


class Noises:
    """A replacement for all noise: it records the exact values and returns fixed numbers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.met: list[tuple[Laplace | Gaussian, list[int]]] = []
        for kind in (Laplace, Gaussian):
            monkeypatch.setattr(kind, "_add_noise", lambda mechanism, answer, _: self.given(mechanism, answer))
            monkeypatch.setattr(kind, "_perturb_integers", lambda mechanism, numbers, _: self.whole(mechanism, numbers))

    def given(self, mechanism: Laplace | Gaussian, answer: PrivateValue) -> Any:
        assert answer.is_whole
        self.met.append((mechanism, [int(number) for number in np.ravel(answer.entries)]))
        made = np.arange(answer.size) * 2**33 + len(self.met)
        return int(made[0]) if answer.is_scalar else made, mechanism._integer_law

    def whole(self, mechanism: Laplace | Gaussian, numbers: list[int]) -> Any:
        noisy, law = self.given(
            mechanism, PrivateValue(np.array(numbers, dtype=object), is_whole=True, is_scalar=False)
        )
        return noisy.tolist(), law

    def run(
        self, call: Call, table: pd.DataFrame, neighbors: str, pay: dict[str, Any], weights: dict[str, Any]
    ) -> tuple[Any, str]:
        """Return the recorded values and everything that is visible in a release."""
        self.met = []
        found = call(Curator(table, Ledger(Zcdp(100)), neighbors, **weights), pay)
        seen = [found, *([found.counts] if found.counts is not None else [])]
        told = [(one.value, one.se, one.cov, one.notes, one.method, one.labels, one.axes) for one in seen]
        return self.met, repr((told, found.release.noise, found.release.query))


@pytest.mark.slow
@pytest.mark.parametrize("currency", ["epsilon", "rho"])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("name", VERBS)
def test_the_largest_move_of_a_table_is_the_claimed_one(
    name: str, neighbors: str, currency: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For Laplace noise, the moves divided by their scales add up to at most 1; for Gaussian noise, the squared moves
    divided by twice the variances do. Both bounds are attained.
    """
    check_largest_move(VERBS[name], neighbors, {currency: 1}, {}, Noises(monkeypatch))


@pytest.mark.slow
@pytest.mark.parametrize("deff", [None, 2])
@pytest.mark.parametrize("currency", ["epsilon", "rho"])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("name", WEIGHTED)
def test_the_largest_move_of_a_weighted_table_is_the_claimed_one(
    name: str, neighbors: str, currency: str, deff: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One person's weight is missing, below its bounds or at the upper bound."""
    check_largest_move(WEIGHTED[name], neighbors, {currency: 1}, WEIGHTS | {"deff": deff}, Noises(monkeypatch))


def check_largest_move(
    verb: tuple[str, Call, bool], neighbors: str, pay: dict[str, Any], weights: dict[str, Any], noises: Noises
) -> None:
    columns, call, attained = verb
    tables = frames(columns)[: None if neighbors == "add_remove" else -1]
    runs = [noises.run(call, one, neighbors, pay, weights) for one in tables]
    assert len({told for _, told in runs}) == 1
    assert len({str([mechanism for mechanism, _ in met]) for met, _ in runs}) == 1
    seen = [met for met, _ in runs]
    pairs = combinations(seen, 2) if neighbors == "replace" else ((one, seen[-1]) for one in seen)
    costs = [_cost(x, y) for x, y in pairs]
    assert max(costs) <= 1
    if attained:
        assert float(max(costs)) == pytest.approx(1, abs=1e-9)  # except for an irrational root


def _cost(one: Any, other: Any) -> Fraction:
    """Return the cost of a move, given the noise that hides it."""
    total = Fraction(0)
    for (noise, x), (_, y) in zip(one, other, strict=True):
        power, scale = (2, 2 * noise.variance) if isinstance(noise, Gaussian) else (1, noise._exact_scale)
        total += Fraction(sum(abs(a - b) ** power for a, b in zip(x, y, strict=True))) / scale
    return total
