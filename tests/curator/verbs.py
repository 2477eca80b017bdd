"""The methods of a publisher, called in the same way by all tests."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.central.publishing.test_adaptive import IndependentModels
from toolkit.budget.ledger import Ledger
from toolkit.central.robust import Huber
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Approx
from toolkit.curator.curator import Curator
from toolkit.frames.values import OTHER, bands

Verb = Callable[..., Estimate]
REGIONS, SEXES = ["north", "south", "west"], ["f", "m"]


def measured(keeper: Any, columns: Any, **more: Any) -> Any:
    """Call `synthesize` as if its extra were installed; return the measured counts, or the preview.

    The models of AIM are then those of independent columns.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("toolkit.curator.synthetic.check_extras", lambda *_, **__: None)
        patch.setattr("toolkit.curator.synthetic.GraphicalModels", IndependentModels)
        found = keeper.synthesize(columns, **more)
    return getattr(found, "marginals", found)


VERBS: dict[str, Verb] = {
    "bounds": lambda c, **more: c.bounds("pay", epsilon="1/2", **more),
    "top": lambda c, **more: c.top("region", 2, options=REGIONS, epsilon="1/2", **more),
    "quantiles": lambda c, **more: c.quantile("pay", [0.1, 0.5, 0.9], bounds=(0, 100), epsilon="1/2", **more),
    "quantiles by": lambda c, **more: c.quantile(
        "pay", [0.75, 0.25], bounds=(0, 100), by={"sex": SEXES}, step=1, epsilon="1/2", **more
    ),
    "location by": lambda c, **more: c.location(
        "pay", estimator=Huber(10), bounds=(0, 100), by={"sex": SEXES}, step=1, epsilon="1/2", **more
    ),
    "tables": lambda c, **more: c.count(
        by=[{"region": [*REGIONS, OTHER], "sex": SEXES}, {"sex": SEXES}, {}], epsilon="1/2", **more
    ),
    "tables of ages": lambda c, **more: c.count(
        by=[{"age": bands(18, 40, 90)}, {"age": bands(18, 40, 90), "sex": SEXES}], epsilon="1/2", **more
    ),
    "synthetic": lambda c, **more: measured(
        c, {"region": [*REGIONS, OTHER], "age": bands(18, 40, 90)}, epsilon="1/2", **more
    ),
}


def people(rows: int = 600, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "region": rng.choice([*REGIONS, "elsewhere"], rows),
            "sex": rng.choice(SEXES, rows),
            "age": rng.integers(18, 90, rows),
            "pay": rng.gamma(4, 8, rows),
            "id": rng.integers(0, max(rows // 2, 1), rows),
        }
    )
    frame.loc[rng.random(rows) < 0.05, "pay"] = np.nan
    return frame


def curator(frame: Any, neighbors: str = "replace", ceiling: Any = None, **more: Any) -> Curator:
    return Curator(frame, Ledger(ceiling or Approx(10**6, "1/2"), simulated=True), neighbors, **more)
