"""A table with all that engines treat differently, and what a curator releases of it, whatever holds it."""

import datetime as dt
from typing import Any

import numpy as np
import polars as pl

from toolkit import MISSING, OTHER, Curator, Ledger, bands, between
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
PAIR: dict[str, Any] = {"bounds": {"pay": (0, 100), "age": (0, 90)}, "missing": "drop"}


def released(frame: Any) -> dict[str, Any]:
    """What is released with the same noise: equal if all integers behind it are. Random digits of quantiles are drawn
    in another order where an engine counts: `test_pushed` compares their histograms.
    """
    keeper = Curator(frame, Ledger(Approx(100, "1/2"), simulated=True), "replace")
    rng, days = np.random.default_rng(1), between(dt.date(2020, 1, 15), dt.date(2020, 2, 28))
    more: dict[str, Any] = {"epsilon": 1, "rng": rng}
    found = {
        "count": keeper.count({"member": True, "came": days}, by=BY, **more),
        "mean": keeper.mean("pay", bounds=(0, 100), missing="drop", by=BY, **more),
        "covariance": keeper.covariance("pay", "age", **PAIR, where={"region": ["n", "s"]}, **more),
        "keys": keeper.keys("region", delta="1/10", **more),
        "tables": keeper.count(by=[{"region": ["n", "s"]}, {"member": [True, False]}], **more),
        "location": keeper.location("age", estimator=Huber(5), bounds=(0, 90), step=1, **more),
    }
    return {name: (np.ravel(one.value).tolist(), one.labels, one.notes) for name, one in found.items()}


def keys_of(frame: Frame, label: Any, keys: Any, name: str) -> Keys:
    """The keys of one column of a table, as `by` reads them."""
    return Keys.of(frame, label, as_list(keys, name), name)
