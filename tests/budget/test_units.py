"""One ledger counts what one unit loses: other units are refused, or counted as often as it has them."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.budget.spending import Opener
from toolkit import Curator
from toolkit.budget.charges import UNITS, resolve_unit
from toolkit.budget.ledger import BudgetError, Ledger
from toolkit.central.stream import RunningTotal
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.learning import PrivateLogisticRegression, Thresholdout, best_of, choose_classifier

FRAME = pd.DataFrame({"id": [1, 1, 2, 3], "pay": [1.0, 2.0, 3.0, 4.0]})
SLACK = Approx("1/4", "1e-9")
PAY: dict[str, Any] = {"bounds": (0, 9), "missing": "drop", "epsilon": 1}


def learned(ledger: Ledger) -> Any:
    learner = PrivateLogisticRegression(epsilon=1, classes=(0, 1), bounds=(0, 9), missing="drop", ledger=ledger)
    return learner.fit(FRAME[["pay"]], [0, 1, 0, 1])


class Right:
    """A classifier."""

    def predict(self, rows: Any) -> Any:
        return np.zeros(len(rows))


SPENDERS: dict[str, tuple[str, Callable[[Ledger], Any]]] = {
    "rows": ("row", lambda ledger: Curator(FRAME, ledger, "replace").mean("pay", **PAY)),
    "persons": (
        "person",
        lambda ledger: Curator(FRAME, ledger, "replace", person="id", rows=2, groups=1).mean("pay", **PAY),
    ),
    "events": (
        "event",
        lambda ledger: ledger.every(RunningTotal.for_epsilon(1, periods=4, neighbors="replace"), "week"),
    ),
    "visitors": (
        "person",
        lambda ledger: ledger.every(
            RunningTotal.for_epsilon(1, periods=4, neighbors="replace", per_person=2), "people"
        ),
    ),
    "learner": ("row", learned),
    "holdout": ("row", lambda ledger: Thresholdout(400, sigma=0.01, answers=2, ledger=ledger)),
    "choice": ("row", lambda ledger: choose_classifier([Right()], FRAME, [0] * 4, epsilon=1, ledger=ledger)),
    "best": ("row", lambda ledger: best_of(lambda: (1, 1), epsilon="1/3", neighbors="replace", ledger=ledger)),
}


@pytest.mark.parametrize(("first", "second"), list(product(SPENDERS, SPENDERS)))
def test_a_ledger_adds_up_only_what_is_about_one_unit(first: str, second: str, opener: Opener) -> None:
    (unit, spend), (other, again) = SPENDERS[first], SPENDERS[second]
    ledger = opener(Pure(9))
    spend(ledger)
    assert (ledger.unit, ledger.entries()[0].unit) == (unit, unit)
    if first == second == "events" or first == second == "visitors":
        return  # a label belongs to one stream
    if unit == other:
        again(ledger)
        assert ledger.spent == Pure(2)
        return
    received = f"got a charge for one {other} in a ledger for one {unit}"
    with pytest.raises(BudgetError, match=f"all charges of a ledger must protect the same unit, {received}"):
        again(ledger)
    assert ledger.spent == Pure(1)


@pytest.mark.parametrize("name", SPENDERS)
def test_a_ledger_that_was_given_a_unit_refuses_others_from_the_start(name: str, tmp_path: Path) -> None:
    unit, spend = SPENDERS[name]
    for number, own in enumerate(UNITS):
        ledger = Ledger(Pure(9), tmp_path / f"{number}.db", unit=own)
        again = Ledger.open(tmp_path / f"{number}.db")
        assert again.unit == ledger.unit == own
        if own == unit:
            spend(again)
            continue
        with pytest.raises(BudgetError, match="all charges of a ledger must protect the same unit"):
            spend(again)
        assert ledger.entries() == ()
    with pytest.raises(BudgetError, match="a charge for one row in a ledger for one person"):
        Ledger(Pure(9), tmp_path / "2.db", unit="row")


@pytest.mark.parametrize(
    ("total", "ceiling", "charged"),
    [
        (RunningTotal.for_epsilon("1/4", periods=52), Pure(9), Pure(3)),
        (RunningTotal.for_rho("1/16", periods=52), Zcdp(9), Zcdp(9)),
        (RunningTotal.for_epsilon("1/4", periods=52), Zcdp(9), Zcdp("9/2")),
        (RunningTotal.for_loss("1/4", "1e-9", periods=52), Approx(9, "1e-3"), SLACK.group(12)),
    ],
)
def test_events_of_a_person_are_charged_together(total: RunningTotal, ceiling: Loss, charged: Loss) -> None:
    """The entry and the report say so."""
    ledger = Ledger(ceiling, unit="person")
    ledger.every(total, "claims", events=12)
    (entry,) = ledger.entries()
    assert (entry.unit, entry.loss, entry.charged, ledger.spent) == ("person", total.loss, charged, charged)
    assert entry.terms == "at most 12 events of one person, charged together"
    assert f"| person: {entry.terms} | {total.loss} | {charged} |" in ledger.report()
    assert list(ledger.to_frame()["unit"]) == ["person"]
    assert "unit: person" in repr(ledger)


def test_the_group_of_a_stream_is_what_the_ledger_charges() -> None:
    total = RunningTotal.for_epsilon("1/4", periods=52)
    ledger = Ledger(Pure(9), unit="row")
    ledger.every(total, "claims", events=12)
    assert ledger.spent == total.group(12) == Pure(3)


def test_a_wrong_number_of_events_is_called_events_and_nothing_is_charged() -> None:
    ledger = Ledger(Pure(9), unit="person")
    with pytest.raises(ValueError, match="`events`"):
        ledger.every(RunningTotal.for_epsilon(1, periods=52), "claims", events=0)
    assert not list(ledger.entries())


def test_what_is_used_of_a_person_is_in_entry_report_and_document() -> None:
    ledger = Ledger(Pure(9))
    told = SPENDERS["persons"][1](ledger)
    assert ledger.entries()[0].terms == "at most 2 rows, 1 group of a person (id)"
    assert "| person: at most 2 rows, 1 group of a person (id) |" in ledger.report()
    assert told.release is not None
    assert told.release.ledger["unit"] == "person"
    SPENDERS["visitors"][1](ledger)
    assert ledger.entries()[1].terms == "user level: one person, in at most 2 of the periods"


def test_a_charge_without_a_unit_counts_as_the_ledgers(opener: Opener) -> None:
    """Charges from before the ledger had a unit are reported as "not stated"."""
    ledger = opener(Pure(9))
    ledger.charge(Pure(1), "before")
    assert (ledger.unit, "unit not stated" in repr(ledger)) == (None, True)
    ledger.charge(Pure(1), "a table", unit="row")
    ledger.charge(Pure(1), "after")
    assert [entry.unit for entry in ledger.entries()] == [None, "row", "row"]
    lines = ledger.report().splitlines()[-3:]
    assert [line.split(" | ")[3] for line in lines] == ["not stated", "row", "row"]


@pytest.mark.parametrize(
    ("known", "stated", "times"),
    [("person", "person", 2), ("row", "person", 2), (None, "event", 2), ("person", None, 2), ("event", "row", 1)],
)
def test_times_are_for_a_finer_unit_than_the_ledgers(known: str, stated: str, times: int) -> None:
    with pytest.raises(BudgetError, match="`times`, or `events` of a stream, must be given only for a finer"):
        resolve_unit(known, stated, times)
    ledger = Ledger(Pure(9), unit=known)
    with pytest.raises(BudgetError, match="`times`, or `events` of a stream, must be given only for a finer"):
        ledger.charge(Pure(1), unit=stated, times=times)
    assert ledger.entries() == ()


@pytest.mark.parametrize("times", [0, -1, 1.5, "two"])
def test_times_are_a_whole_number_of_at_least_one(times: Any) -> None:
    ledger = Ledger(Pure(9), unit="person")
    with pytest.raises((ValueError, TypeError), match="`times` must be"):
        ledger.charge(Pure(1), unit="event", times=times)
    with pytest.raises(ValueError, match="`unit` must be one of event, row, person"):
        ledger.charge(Pure(1), unit="household")
    assert ledger.entries() == ()


def test_every_refusal_says_what_to_do() -> None:
    for known, stated, remedy in (
        ("person", "row", "a Curator with person=… and rows=… protects persons"),
        ("person", "event", "state how many events one person has, as in every(total, label, events=12)"),
        ("row", "person", "use another ledger, Ledger(…, unit='person')"),
    ):
        with pytest.raises(BudgetError) as error:
            resolve_unit(known, stated, None)
        assert remedy in str(error.value)


def test_a_preview_knows_that_another_unit_or_relation_is_not_paid_for() -> None:
    ledger = Ledger(Pure(9), unit="person", neighbors="replace")
    assert not Curator(FRAME, ledger, "replace").preview.mean("pay", **PAY).fits
    assert not Curator(FRAME, ledger, "add_remove", person="id", rows=1).preview.mean("pay", **PAY).fits
    assert Curator(FRAME, ledger, "replace", person="id", rows=1).preview.mean("pay", **PAY).fits
    assert ledger.entries() == ()
