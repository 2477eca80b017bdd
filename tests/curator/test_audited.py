"""The audit accepts every method whose releases are independent between groups, and refutes the same method with less
noise.

A table made of copies of one small frame gives as many releases of this frame, because the noise of a cell does not
depend on the number of other cells. So one call replaces thousands of runs. Other releases (consistent tables, limits,
choices) are enumerated exactly, in `test_enumerated` and `tests/budget/tables/test_moves`.
"""

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from toolkit.audit import Verdict, audit
from toolkit.budget.ledger import Ledger
from toolkit.core.loss import Approx
from toolkit.curator.curator import Curator
from toolkit.frames.engines.sql import DuckDbTable

RUNS = 3000
ONE: dict[str, Any] = {"bounds": (0, 1), "missing": "drop"}
TWO: dict[str, Any] = {"bounds": {"x": (0, 1), "y": (0, 1)}, "missing": "drop"}
TABLES: dict[str, Callable[..., Any]] = {
    "count": lambda c, **more: c.count(**more),
    "sum": lambda c, **more: c.sum("x", **ONE, **more),
    "mean": lambda c, **more: c.mean("x", **ONE, **more),
    "variance": lambda c, **more: c.variance("x", **ONE, **more),
    "std": lambda c, **more: c.std("x", **ONE, **more),
    "covariance": lambda c, **more: c.covariance("x", "y", **TWO, **more),
    "correlation": lambda c, **more: c.correlation("x", "y", **TWO, **more),
}
VERBS = [*TABLES, "keys"]
OTHERS = [("f", 0.0, 0.0), ("m", 1.0, 1.0)] * 3
PEOPLE = {"nobody more": OTHERS, "a woman": [*OTHERS, ("f", 1.0, 0.0)], "a man": [*OTHERS, ("m", 1.0, 1.0)]}
NEIGHBOURS = {"add_remove": ("nobody more", "a woman"), "replace": ("a woman", "a man")}
LESS = {"covariance": 8, "correlation": 4}
"""Of the nine sums behind a covariance one number is shown, and a count without its fraction, so that it
takes an eighth of the noise for the audit to see it in so few runs; of most others half of it is enough.
"""


class Copies:
    """Many simultaneous releases, each of a copy of the same people."""

    def __init__(self, verb: str, neighbors: str, epsilon: int, engine: Callable[[pd.DataFrame], Any]) -> None:
        self._verb, self._neighbors, self._epsilon, self._engine = verb, neighbors, epsilon, engine

    def randomize(self, names: list[str], rng: np.random.Generator) -> Any:
        people, copies = PEOPLE[names[0]], len(names)
        frame = pd.DataFrame(people * copies, columns=["sex", "x", "y"])
        copy = np.repeat(np.arange(copies), len(people))
        ledger = Ledger(Approx(8, "1/10"), simulated=True)
        if self._verb == "keys":
            frame["key"] = copy * 2 + (frame["sex"] == "m")
            keeper = Curator(self._engine(frame), ledger, self._neighbors)
            found = keeper.keys("key", epsilon=self._epsilon, delta="1/10", rng=rng)
            noisy = dict(zip(found.labels, found.value.tolist(), strict=True))
            return [[noisy.get(2 * place), noisy.get(2 * place + 1)] for place in range(copies)]
        by = {"copy": range(copies), "sex": ["f", "m"]}
        curator = Curator(self._engine(frame.assign(copy=copy)), ledger, self._neighbors)
        table = TABLES[self._verb](curator, by=by, epsilon=self._epsilon, rng=rng)
        shown = [table, *([table.counts] if table.counts is not None else [])]
        return np.hstack([np.reshape(one.value, (copies, -1)) for one in shown])


def in_memory(frame: pd.DataFrame) -> pd.DataFrame:
    return frame


def in_duckdb(frame: pd.DataFrame) -> Any:
    return duckdb.connect().from_arrow(pa.Table.from_pandas(frame, preserve_index=False))


def verdict(verb: str, neighbors: str, bought: int, engine: Callable[[pd.DataFrame], Any] = in_memory) -> Verdict:
    """Return the verdict on the claim epsilon = 1 for a release that cost `bought`."""
    return audit(
        Copies(verb, neighbors, bought, engine),
        NEIGHBOURS[neighbors],
        epsilon=1,
        delta="1/10" if verb == "keys" else 0,
        runs=RUNS,
        seconds=np.inf,
        last_bits=False,
        rng=np.random.default_rng(1),
    )


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", NEIGHBOURS)
@pytest.mark.parametrize("verb", VERBS)
def test_an_audit_clears_every_table(verb: str, neighbors: str) -> None:
    """A true claim is refuted with probability at most 1e-4, one of the sixteen with probability 0.0016."""
    assert not verdict(verb, neighbors, 1).violated


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["mean", "keys"])
def test_an_audit_refutes_a_sum_in_duckdb_only_with_half_the_noise(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise that was charged passes the audit, and half of it is refuted.

    No row is in this group; a true claim is refuted with probability at most 1e-4, one of the two with probability
    2e-4.
    """
    monkeypatch.setattr(DuckDbTable, "batches", None)
    assert not verdict(verb, "add_remove", 1, in_duckdb).violated
    assert verdict(verb, "add_remove", 2, in_duckdb).violated


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_the_same_audit_convicts_a_table_with_half_the_noise(verb: str) -> None:
    found = verdict(verb, "add_remove", LESS.get(verb, 2))
    assert found.violated
    assert found.epsilon > 1
