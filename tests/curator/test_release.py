"""One function charges, reads, draws and documents, in this order."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from toolkit.budget.ledger import Ledger
from toolkit.central.laplace import Laplace
from toolkit.core.loss import Pure
from toolkit.curator.curator import Curator
from toolkit.curator.release import PlannedRelease, Unit


def look(read: Callable[[], Any], epsilon: object = 1) -> PlannedRelease[Any]:
    mechanism = Laplace.for_epsilon(epsilon)  # type: ignore[arg-type]
    return PlannedRelease("a look", mechanism, Unit("replace", n=2), read, lambda value, _: value)


def run(release: PlannedRelease[Any], ledger: Ledger) -> Any:
    return Curator(pd.DataFrame({"x": [1, 2]}), ledger, "replace")._run(release, None)


def test_what_is_read_comes_after_the_charge() -> None:
    ledger = Ledger(Pure(1))
    assert run(look(lambda: ledger.spent, epsilon="1/4"), ledger) == Pure("1/4")


def test_a_failure_is_told_without_its_reason_and_the_charge_remains() -> None:
    ledger = Ledger(Pure(1))
    with pytest.raises(RuntimeError, match="an error that is not shown: the charge remains") as caught:
        run(look(lambda: 1 / 0), ledger)
    assert (caught.value.__context__, caught.value.__cause__) == (None, None)
    assert ledger.spent == Pure(1)


def test_what_the_ledger_refuses_is_never_read() -> None:
    seen: list[int] = []
    with pytest.raises(ValueError, match="must fit"):
        run(look(lambda: seen.append(1), epsilon=2), Ledger(Pure(1)))
    assert seen == []
