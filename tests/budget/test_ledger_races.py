"""The ledger under many processes and threads, under `kill -9`, and over thousands of spends."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from fractions import Fraction
from pathlib import Path

import pytest

from tests.budget.spending import race
from tests.work import calls
from toolkit.budget.charges import row_link
from toolkit.budget.ledger import BudgetError, Ledger
from toolkit.core.loss import Pure

unix = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def _check(ledger: Ledger, price: Fraction) -> None:
    """Numbers without gaps, totals that replay, a ceiling that holds."""
    entries = ledger.entries()
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    assert all(entry.total == Pure(entry.number * price) for entry in entries)
    assert ledger.spent <= ledger.ceiling


@pytest.mark.slow
@unix
def test_many_processes_some_killed_never_pass_the_ceiling(tmp_path: Path) -> None:
    """No charge that was granted is lost."""
    race(str(tmp_path / "budget.db"), tmp_path, 16, 6, 500)


@pytest.mark.slow
@unix
@pytest.mark.parametrize(("moment", "entries"), [("before commit", 0), ("while drawing", 1)])
def test_death_in_the_midst_can_only_overcharge(moment: str, entries: int, tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    script = f"""
        import os, signal
        from toolkit.budget import ledger_file
        from toolkit.budget.ledger import Ledger
        from toolkit.core.loss import Pure

        def die(*_, **__):
            os.kill(os.getpid(), signal.SIGKILL)

        class Deadly:
            loss = Pure(0.5)
            release = die

        plain = ledger_file.connect
        class Dying:
            def __init__(self, database): self.database = database
            def execute(self, query, *values):
                if query == "COMMIT":
                    die()
                return self.database.execute(query, *values)
            def close(self): self.database.close()

        ledger = Ledger(Pure(1), {str(path)!r})
        if {moment!r} == "before commit":
            ledger_file.connect = lambda *options: Dying(plain(*options))
        ledger.release(Deadly(), 1)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    ledger = Ledger.open(path)
    assert len(ledger.entries()) == entries
    ledger.charge(Pure(0.5))
    assert ledger.spent == Pure(Fraction(1 + entries, 2))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_threads_share_one_budget(kind: str, tmp_path: Path) -> None:
    ledger = Ledger(Pure(1), tmp_path / "budget.db" if kind == "file" else None)
    granted: list[int] = []

    def spend() -> None:
        try:
            while True:
                granted.append(ledger.charge(Pure("1/200")).number)
        except BudgetError:
            return

    threads = [threading.Thread(target=spend) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(granted) == list(range(1, 201))
    _check(ledger, Fraction(1, 200))


@pytest.mark.slow
def test_many_ledgers_opened_at_once_agree_on_one_file(tmp_path: Path) -> None:
    start, ledgers = threading.Barrier(8), []

    def open_and_spend() -> None:
        start.wait()
        ledger = Ledger(Pure(1), tmp_path / "budget.db")
        ledger.charge(Pure("1/8"))
        ledgers.append(ledger)

    threads = [threading.Thread(target=open_and_spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [ledger.remaining for ledger in ledgers] == [Pure(0)] * 8


def _charge(ledger: Ledger) -> int:
    """How many functions a charge calls."""
    return calls(lambda: ledger.charge(Pure("1/20000")))


def test_a_spend_after_hundreds_costs_what_the_first_ones_did() -> None:
    """A sum over all entries would call a function for each."""
    ledger = Ledger(Pure(1))
    costs = [_charge(ledger) for _ in range(300)]
    assert max(costs[1:]) <= costs[0] + 50


@pytest.mark.slow
def test_a_spend_from_a_file_of_two_thousand_costs_what_the_first_ones_did(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    ledger = Ledger(Pure(1), path)
    few = [_charge(ledger) for _ in range(20)]
    with sqlite3.connect(path) as database:
        (link,) = database.execute("SELECT link FROM entries WHERE number = 20").fetchone()
        for n in range(21, 2001):
            row = (n, "", "", None, "pure 1/20000", "pure 1/20000", f"pure {Fraction(n, 20000)}", None, None)
            link = row_link(link, row)
            columns = "number, label, mechanism, neighbors, loss, charged, total, unit, terms, link"
            places = ", ".join("?" * 10)
            database.execute(f"INSERT INTO entries ({columns}) VALUES ({places})", (*row, link))  # noqa: S608
    database.close()
    _charge(ledger)  # what another has written is read once
    assert _charge(ledger) <= few[-1] + 50  # two thousand rows that are read would be two thousand calls
    _check(ledger, Fraction(1, 20000))
