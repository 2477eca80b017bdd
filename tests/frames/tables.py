"""A table with all that engines treat differently, and what a curator releases of it, whatever holds it."""

import datetime as dt
from typing import Any

import numpy as np
import polars as pl

from toolkit import MISSING, OTHER, Curator, Ledger, bands
from toolkit.central.robust import Huber
from toolkit.core.loss import Approx
from toolkit.frames.frame import Frame, as_list
from toolkit.frames.values import Keys

ROWS = 500


def table() -> pl.DataFrame:
    """Nulls, NaN, both infinities and minus zero."""
    rng = np.random.default_rng(5)
    special = [None, float("nan"), float("inf"), -float("inf"), -0.0, 1e308]
    return pl.DataFrame(
        {
            "pay": [special[i % 7] if i % 7 < 6 else float(v) for i, v in enumerate(rng.normal(50, 30, ROWS))],
            "region": [["n", "s", None, "?", "w"][i] for i in rng.integers(0, 5, ROWS)],
            "age": [None if v < 20 else int(v) for v in rng.integers(15, 80, ROWS)],
            "member": [[True, False, None][i] for i in rng.integers(0, 3, ROWS)],
            "came": [dt.date(2020, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 90, ROWS)],
            "id": [int(i) for i in rng.integers(0, 60, ROWS)],
        }
    )


BY = {"region": ["n", "s", MISSING, OTHER], "age": bands(20, 40, 80)}


def released(frame: Any) -> dict[str, Any]:
    """With the same noise it is equal if the integers behind it are; `contract` has those of all verbs."""
    keeper = Curator(frame, Ledger(Approx(100, "1/2"), simulated=True), "replace")
    more: dict[str, Any] = {"epsilon": 1, "rng": np.random.default_rng(1)}
    found = {
        "mean": keeper.mean("pay", bounds=(0, 100), missing="drop", by=BY, **more),
        "keys": keeper.keys("region", delta="1/10", **more),
        "location": keeper.location("age", estimator=Huber(5), bounds=(0, 90), step=1, **more),
    }
    return {name: (np.ravel(one.value).tolist(), one.labels, one.notes) for name, one in found.items()}


def keys_of(frame: Frame, label: Any, keys: Any, name: str) -> Keys:
    """The keys of one column of a table, as `by` reads them."""
    return Keys.parse(frame, label, as_list(keys, name), name)
