import pandas as pd
import pytest

from toolkit.budget.ledger import Ledger
from toolkit.central.laplace import Laplace
from toolkit.core.loss import Pure
from toolkit.curator.keeper import Keeper


def keeper() -> Keeper:
    return Keeper(pd.DataFrame({"x": [1.0, 2.0]}), Ledger(Pure(1)), "replace")


def test_what_is_computed_finds_the_charge_in_the_ledger() -> None:
    kept = keeper()
    assert kept._paid(Laplace.for_epsilon("1/4"), "a look", lambda: kept.ledger.spent) == Pure("1/4")


def test_a_failure_is_told_without_its_reason_and_the_charge_remains() -> None:
    kept = keeper()
    with pytest.raises(RuntimeError, match="a failure that is not told") as caught:
        kept._paid(Laplace.for_epsilon(1), "a look", lambda: 1 / 0)
    assert caught.value.__context__ is None
    assert kept.ledger.spent == Pure(1)


def test_a_long_label_is_cut() -> None:
    kept = keeper()
    kept._paid(Laplace.for_epsilon(1), "a" * 300, lambda: None)
    assert len(kept.ledger.entries()[0].label) == 200
