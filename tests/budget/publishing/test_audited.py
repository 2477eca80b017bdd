"""The audit runs each verb on neighbours and finds nothing; a claim of an eighth of the cost it refutes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from toolkit.attacks.audit import audit
from toolkit.budget.curator import Curator
from toolkit.budget.ledger import Ledger
from toolkit.core.loss import Approx

ONE = pd.DataFrame({"city": [*"aaaaabbbbc"], "x": [1.0] * 5 + [9.0] * 5, "sex": ["f", "m"] * 5})
OTHER = ONE.assign(city=[*"aaaaabbbba"], x=[1.0] * 6 + [9.0] * 4, sex=[*"fmfmfmfmff"])
VERBS: dict[str, Callable[..., Any]] = {
    "keys": lambda c, rng: c.keys("city", epsilon=4, delta="1/10", rng=rng).labels,
    "bounds": lambda c, rng: tuple(c.bounds("x", epsilon=4, powers=(0, 4), beta="9/10", rng=rng).value),
    "top": lambda c, rng: c.top("city", 1, options=["a", "b", "c"], epsilon=4, rng=rng).labels[0],
    "quantiles": lambda c, rng: tuple(
        c.quantiles("x", [0.25, 0.5, 0.75], bounds=(0, 10), step=5, epsilon=4, rng=rng).value
    ),
    "tables": lambda c, rng: tuple(c.count(by=[{"sex": ["f", "m"]}, {}], epsilon=4, rng=rng).value.round(3)),
}


def verdict(name: str, epsilon: float, delta: float = 0) -> Any:
    def run(frame: pd.DataFrame, rng: np.random.Generator) -> Any:
        return VERBS[name](Curator(frame, Ledger(Approx(4, "1/10"), simulated=True), "replace"), rng)

    rng = np.random.default_rng(1)
    return audit(run, (ONE, OTHER), epsilon=epsilon, delta=delta, runs=400, seconds=600, rng=rng)


@pytest.mark.slow
@pytest.mark.parametrize("name", VERBS)
def test_an_audit_clears_every_verb(name: str) -> None:
    assert not verdict(name, 4, 0.1 if name == "keys" else 0).violated


@pytest.mark.slow
def test_an_audit_of_as_many_runs_refutes_an_eighth_of_the_cost() -> None:
    assert verdict("tables", 0.5).violated
