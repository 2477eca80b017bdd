"""The ledger: a charge before every draw, and one neighbor relation for life."""

import sqlite3
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.budget.spending import Counter, Opener
from toolkit.budget import RecordError
from toolkit.budget.ledger import BudgetError, Ledger
from toolkit.core.extras import MissingExtraError
from toolkit.core.loss import Approx, Loss, Pure, Zcdp


def test_release_charges_first_and_hands_on_what_the_mechanism_made(opener: Opener) -> None:
    ledger = opener(Pure(1), simulated=True)
    seen: list[Loss] = []
    mechanism = Counter(Pure(0.4), before=lambda: seen.append(ledger.spent))
    rng = np.random.default_rng(1)
    assert ledger.release(mechanism, 42, "count of people", rng=rng) == 42
    assert seen == [Pure(0.4)]
    assert mechanism.drawn == [(42, rng)]
    (entry,) = ledger.entries()
    assert (entry.label, entry.mechanism, entry.loss) == ("count of people", "Counter", Pure(0.4))


def test_a_generator_draws_no_release(opener: Opener) -> None:
    ledger, mechanism = opener(Pure(1)), Counter(Pure(0.4))
    with pytest.raises(ValueError, match="must be drawn with rng=None, got a generator: whoever"):
        ledger.release(mechanism, 42, rng=np.random.default_rng(1))
    assert (mechanism.drawn, ledger.spent, ledger.simulated) == ([], Pure(0), False)


def test_a_ledger_of_a_simulation_says_so_everywhere_and_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    ledger = Ledger(Pure(1), path, simulated=True)
    ledger.charge(Pure("1/4"), "a try")
    for one in (ledger, Ledger.open(path), Ledger(Pure(1), path, simulated=True), Ledger(Pure(1), simulated=True)):
        assert one.simulated
        assert repr(one).startswith("<Ledger: simulated, no privacy claim; spent")
        assert "simulated, no privacy claim" in one._repr_html_()
    with pytest.raises(ValueError, match="`simulated` must be the same whenever"):
        Ledger(Pure(1), path)
    Ledger(Pure(1), tmp_path / "real.db")
    with pytest.raises(ValueError, match="`simulated` must be the same whenever"):
        Ledger(Pure(1), tmp_path / "real.db", simulated=True)
    assert "simulated" not in repr(Ledger.open(tmp_path / "real.db"))


def test_refused_release_draws_nothing(opener: Opener) -> None:
    ledger, mechanism = opener(Pure(1)), Counter(Pure(0.6))
    ledger.release(mechanism, 1)
    with pytest.raises(BudgetError):
        ledger.release(mechanism, 2)
    assert mechanism.drawn == [(1, None)]
    assert ledger.spent == Pure(0.6)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
def test_failure_while_drawing_leaves_the_charge(error: type[BaseException], opener: Opener) -> None:
    def fail() -> None:
        raise error

    ledger = opener(Pure(1))
    with pytest.raises(error):
        ledger.release(Counter(Pure(0.4), before=fail), 1)
    assert ledger.spent == Pure(0.4)


@pytest.mark.parametrize(
    ("mechanism", "options", "error"),
    [
        (object(), {}, TypeError),
        (SimpleNamespace(loss=Pure(0.1)), {}, TypeError),
        (Counter(0.5), {}, TypeError),  # type: ignore[arg-type]
        (Counter(Pure(0.1)), {"rng": 7}, TypeError),
        (Counter(Pure(0.1)), {"label": 7}, TypeError),
        (Counter(Pure(0.1)), {"label": b"seven"}, TypeError),
        (Counter(Pure(0.1)), {"label": "x" * 201}, ValueError),
        (Counter(Pure(0.1)), {"label": "two\nlines"}, ValueError),
        (Counter(Pure(0.1)), {"label": "\ud800"}, ValueError),
        (Counter(Pure(0.1)), {"neighbors": "friends"}, ValueError),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_charged(
    mechanism: Any, options: Any, error: type[Exception], opener: Opener
) -> None:
    ledger = opener(Pure(1))
    with pytest.raises(error):
        ledger.release(mechanism, 1, **options)
    assert ledger.entries() == ()
    assert getattr(mechanism, "drawn", []) == []


def test_values_are_never_written_down(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    Ledger(Pure(1), path).release(Counter(Pure(0.1)), "SECRET-VALUE", "mean")
    assert all(b"SECRET" not in file.read_bytes() for file in tmp_path.iterdir())
    with sqlite3.connect(path) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(entries)")]
    database.close()
    assert columns == ["number", "label", "mechanism", "neighbors", "loss", "charged", "total", "link", "unit", "terms"]


def test_one_neighbor_relation_for_life(opener: Opener) -> None:
    ledger = opener(Pure(1))
    ledger.charge(Pure(0.1))
    assert ledger.neighbors is None
    ledger.charge(Pure(0.1), neighbors="replace")
    ledger.charge(Pure(0.1))
    assert ledger.neighbors == "replace"
    with pytest.raises(BudgetError, match=r"loss.group\(2\)"):
        ledger.charge(Pure(0.1), neighbors="add_remove")
    assert ledger.spent == Pure(0.3)
    stated = Ledger(Pure(1), neighbors="add_remove")
    with pytest.raises(BudgetError, match="another ledger"):
        stated.release(Counter(Pure(0.1)), 1, neighbors="replace")
    assert stated.entries() == ()


def test_the_refusal_names_who_said_what_and_the_remedy_for_that(tmp_path: Path) -> None:
    """What the record says comes first, then what this ledger was opened with, then what is asked for."""
    path = tmp_path / "budget.db"
    first, second = Ledger(Pure(1), path), Ledger(Pure(1), path, neighbors="add_remove")
    with pytest.raises(BudgetError, match=r"got 'replace' in a ledger for 'add_remove': .* open another ledger"):
        second.charge(Pure(0.1), neighbors="replace")
    first.charge(Pure(0.1), neighbors="replace")
    for asked in (None, "add_remove"):
        with pytest.raises(BudgetError, match=r"got 'add_remove' in a ledger for 'replace': charge loss.group\(2\)"):
            second.charge(Pure(0.1), neighbors=asked)
    with pytest.raises(BudgetError, match="same neighbor relation"):
        Ledger(Pure(1), path, neighbors="add_remove")
    assert Ledger.open(path).neighbors == "replace"


def test_the_facts_of_an_entry_hold_its_cost_and_the_totals_around_it() -> None:
    """The facts also name the unit of privacy that was charged."""
    ledger = Ledger(Pure(3), unit="person")
    first = ledger.charge(Pure(1))
    facts = {"id": ledger.id, "entry": 2, "label": "claims", "loss": "ε = 0.25", "exact loss": "pure 1/4"}
    facts |= {"charged": "ε = 1", "before": "ε = 1", "after": "ε = 2", "ceiling": "ε = 3", "unit": "person"}
    facts |= {"terms": "at most 4 events of one person, charged together", "simulated": False}
    assert ledger.facts(ledger.charge(Pure("1/4"), "claims", unit="event", times=4)) == facts
    assert "terms" not in ledger.facts(first)


def test_a_ledger_in_postgresql_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkit.core.extras.find_spec", lambda _: None)
    for url in ("postgresql://ann@db.invalid/office", "postgres://ann@db.invalid/office"):
        for use in (partial(Ledger, Pure(1)), Ledger.open):
            with pytest.raises(MissingExtraError, match=r"psycopg must be installed for this.*toolkit\[collect\]"):
                use(url)


def test_charges_are_counted_in_words(opener: Opener) -> None:
    ledger = opener(Pure(1), neighbors="replace")
    for words in (
        "; 0 charges; neighbors: replace;",
        "; 1 charge; neighbors: replace;",
        "; 2 charges; neighbors: replace;",
    ):
        assert words in repr(ledger)
        assert words in ledger._repr_html_()
        ledger.charge(Pure(0.1))


def test_opening_a_missing_ledger_explains_how_to_make_one(tmp_path: Path) -> None:
    """Opening never creates a file, and a ledger that lost its file is reported as such."""
    path = tmp_path / "nofile.db"
    with pytest.raises(RecordError, match=r"got no file nofile\.db in .*: Ledger\(Pure\(1\.0\), path\)"):
        Ledger.open(path)
    assert not path.exists()
    Ledger(Pure(1), path).charge(Pure(0.5))
    path.unlink()
    with pytest.raises(RecordError, match="later charges are missing from it"):
        Ledger.open(path)


def test_reopened_file_keeps_ceiling_relation_and_sums(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    Ledger(Approx(1, 1e-6), path, neighbors="replace").charge(Approx("1/3", 1e-7), "first")
    again = Ledger(Approx(1, 1e-6), str(path))
    assert (again.neighbors, again.spent) == ("replace", Approx("1/3", 1e-7))
    assert Ledger.open(path).ceiling == Approx(1, 1e-6)
    for other in (Approx(2, 1e-6), Approx(1, 1e-5), Pure(1), Zcdp(1), Approx(0.5, 1e-6)):
        with pytest.raises(ValueError, match="the ceiling of a ledger must not change"):
            Ledger(other, path)
    with pytest.raises(BudgetError, match="same neighbor relation"):
        Ledger(Approx(1, 1e-6), path, neighbors="add_remove")


def test_local_and_central_losses_in_one_ledger(opener: Opener) -> None:
    from toolkit.local.questions import warner

    ledger = opener(Pure(2), neighbors="replace")
    design = warner(p="3/4")
    ledger.charge(design.loss, "campus survey", mechanism="warner", neighbors="replace")
    ledger.release(Counter(Pure(0.5)), 1, "mean of age", neighbors="replace")
    assert ledger.spent == design.loss + Pure(0.5)
