"""The record: it cannot be rewritten, copied or lost, and nothing is released without it."""

import contextlib
import copy
import os
import pickle
import sqlite3
import subprocess
import sys
import textwrap
from fractions import Fraction
from pathlib import Path

import pytest

from tests.budget.spending import Counter
from toolkit.budget import ledger_file
from toolkit.budget.charges import Entry, RecordError
from toolkit.budget.ledger import BudgetError, Ledger
from toolkit.core.loss import Pure


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET charged = 'pure 0'",
        "UPDATE entries SET total = 'pure 0'",
        "DELETE FROM entries",
        "DELETE FROM entries WHERE number = 1",
        "INSERT OR REPLACE INTO entries VALUES (1, '', '', NULL, '', 'pure 0', 'pure 0', '', NULL, NULL)",
        "INSERT INTO entries VALUES (9, '', '', NULL, 'pure 0', 'pure 0', 'pure 0', '', NULL, NULL)",
        "UPDATE head SET ceiling = 'pure 100'",
        "DELETE FROM head",
        "INSERT OR REPLACE INTO head VALUES (1, 'pure 100', NULL, '', NULL)",
    ],
)
def test_record_refuses_to_be_rewritten(statement: str, tmp_path: Path) -> None:
    ledger = Ledger(Pure(1), tmp_path / "budget.db")
    ledger.charge(Pure(0.5))
    database = sqlite3.connect(tmp_path / "budget.db")
    with pytest.raises(sqlite3.IntegrityError, match=r"never|end"):
        database.execute(statement)
    database.close()
    assert ledger.spent == Pure(0.5)


def _spend(ledger: Ledger) -> Counter:
    mechanism = Counter(Pure(0.1))
    with pytest.raises(RecordError, match=r"nothing was released|missing|spent"):
        ledger.release(mechanism, 1, "x" * 200)
    return mechanism


def test_locked_file_releases_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(Pure(1), tmp_path / "budget.db")
    monkeypatch.setattr(ledger_file, "_WAIT", 0.05)
    other = sqlite3.connect(tmp_path / "budget.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert _spend(ledger).drawn == []
    other.execute("ROLLBACK")
    other.close()
    assert ledger.spent == Pure(0)
    ledger.charge(Pure(1))


@pytest.mark.slow
def test_full_disk_releases_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(Pure(100), tmp_path / "budget.db")
    plain = ledger_file.connect

    def connect(path: Path, mode: str) -> sqlite3.Connection:
        database = plain(path, mode)
        database.execute("PRAGMA max_page_count = 4")
        return database

    monkeypatch.setattr(ledger_file, "connect", connect)
    granted, mechanism = 0, Counter(Pure(0.1))
    with contextlib.suppress(RecordError):
        while granted < 100:
            ledger.release(mechanism, 1, "x" * 200)
            granted += 1
    assert 0 < granted == len(mechanism.drawn) < 100
    with pytest.raises(RecordError, match="must have free space"):
        ledger.release(mechanism, 1, "x" * 200)
    monkeypatch.setattr(ledger_file, "connect", plain)
    assert ledger.spent == Pure(Fraction(granted, 10))


def test_a_commit_that_fails_leaves_the_ledger_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that had taken it for done would look for the missing row, and refuse its own file from then on."""

    class Failing(sqlite3.Connection):
        def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
            if statement == "COMMIT":
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(statement, *values)  # type: ignore[arg-type]

    ledger = Ledger(Pure(1), tmp_path / "budget.db")
    ledger.charge(Pure(0.25))
    plain = ledger_file.connect
    monkeypatch.setattr(
        ledger_file, "connect", lambda path, _: sqlite3.connect(path, isolation_level=None, factory=Failing)
    )
    assert _spend(ledger).drawn == []
    monkeypatch.setattr(ledger_file, "connect", plain)
    assert ledger.spent == Pure(0.25)
    ledger.charge(Pure(0.75))
    assert ledger.remaining == Ledger.open(tmp_path / "budget.db").remaining == Pure(0)


def test_a_charge_is_synced_to_the_disk_and_undone_from_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What SQLite itself says while a charge is decided: only so a power cut leaves the whole row, or none of it."""
    used, plain = [], ledger_file.connect

    def connect(path: Path, mode: str) -> sqlite3.Connection:
        used.append(plain(path, mode))
        return used[-1]

    monkeypatch.setattr(ledger_file, "connect", connect)
    kept = ledger_file.FileRecord(tmp_path / "budget.db", (Pure(1), None, False, None))

    def decide(_: object) -> Entry:
        assert used[-1].in_transaction
        assert used[-1].execute("PRAGMA synchronous").fetchone()[0] >= 2  # FULL or EXTRA
        assert used[-1].execute("PRAGMA journal_mode").fetchone()[0] in ("delete", "truncate", "persist")
        return Entry(1, "", "", None, Pure(0.25), Pure(0.25), Pure(0.25))

    assert kept.append(decide).number == 1


def test_nobody_else_may_write_while_a_charge_is_decided(tmp_path: Path) -> None:
    kept = ledger_file.FileRecord(tmp_path / "budget.db", (Pure(1), None, False, None))

    def decide(_: object) -> Entry:
        other = sqlite3.connect(kept.path, timeout=0, isolation_level=None)
        with contextlib.closing(other), pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        return Entry(1, "", "", None, Pure(0.25), Pure(0.25), Pure(0.25))

    assert kept.append(decide).number == 1


def test_read_only_file_can_be_read_and_releases_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(Pure(1), tmp_path / "budget.db")
    ledger.charge(Pure(0.25))
    plain = ledger_file.connect
    monkeypatch.setattr(ledger_file, "connect", lambda path, _: plain(path, "ro"))
    assert _spend(ledger).drawn == []
    assert Ledger.open(tmp_path / "budget.db").spent == Pure(0.25)


def _unreadable(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DROP TRIGGER entries_keep")
        database.execute("UPDATE entries SET total = 'pure 1/0'")


DAMAGES = {
    "overwritten": lambda path: path.write_bytes(b"not a database, but long enough to be taken for one" * 100),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "unreadable": _unreadable,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_file_releases_nothing(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    ledger = Ledger(Pure(1), path)
    ledger.charge(Pure(0.25))
    DAMAGES[damage](path)
    assert _spend(ledger).drawn == []
    with pytest.raises(RecordError, match=r"must be a ledger|must be undamaged|as they were written"):
        Ledger(Pure(1), path)


def test_vanished_or_older_file_releases_nothing(tmp_path: Path) -> None:
    path, kept = tmp_path / "budget.db", tmp_path / "kept.db"
    ledger = Ledger(Pure(1), path)
    ledger.charge(Pure(0.25))
    kept.write_bytes(path.read_bytes())
    ledger.charge(Pure(0.25))
    path.write_bytes(kept.read_bytes())
    assert _spend(ledger).drawn == []
    path.unlink()
    assert _spend(ledger).drawn == []
    assert not path.exists()
    with pytest.raises(RecordError, match="must only grow"):
        Ledger(Pure(2), path)
    assert not path.exists()
    (tmp_path / "budget.db-last").unlink()
    Ledger(Pure(2), path)
    assert _spend(ledger).drawn == []


def test_file_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE answers (x)")
    database.close()
    before = path.read_bytes()
    with pytest.raises(RecordError, match="must be a ledger"):
        Ledger(Pure(1), path)
    assert path.read_bytes() == before
    with pytest.raises(RecordError, match="must exist"):
        Ledger.open(tmp_path / "missing.db")
    with pytest.raises(RecordError, match="must exist"):
        Ledger(Pure(1), tmp_path / "no" / "such" / "folder.db")
    with pytest.raises(RecordError, match="must exist"):
        Ledger(Pure(1), tmp_path)


def test_change_of_directory_does_not_lead_to_a_fresh_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger(Pure(1), "budget ?#%.db")
    ledger.charge(Pure(0.75))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(BudgetError):
        ledger.charge(Pure(0.5))
    assert (tmp_path / "budget ?#%.db").exists()


def test_one_file_is_the_whole_truth(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    ledger = Ledger(Pure(1), path)
    ledger.charge(Pure(0.25), "a")
    (tmp_path / "copy.db").write_bytes(path.read_bytes())
    assert Ledger.open(tmp_path / "copy.db").entries() == ledger.entries()


def test_ledger_in_memory_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(Pure(1))
    ledger.charge(Pure(0.5))
    for duplicate in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="spend the budget twice"):
            duplicate(ledger)  # type: ignore[operator]
    with monkeypatch.context() as patch:
        patch.setattr("os.getpid", lambda: 0)
        with pytest.raises(TypeError, match="got a forked process"):
            ledger.charge(Pure(0.5))
    copy.copy(ledger).charge(Pure(0.25))  # a shallow copy is another name for the same record
    assert ledger.spent == Pure(0.75)


def test_ledger_in_a_file_travels_as_a_pickle(tmp_path: Path) -> None:
    ledger = Ledger(Pure(1), tmp_path / "budget.db", neighbors="replace")
    ledger.charge(Pure(0.5))
    again = pickle.loads(pickle.dumps(ledger))  # noqa: S301
    again.charge(Pure(0.25))
    assert ledger.spent == again.spent == Pure(0.75)
    assert again.neighbors == "replace"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_child_shares_the_file_and_is_refused_the_memory(tmp_path: Path) -> None:
    script = f"""
        import os, threading, time
        from toolkit.budget.ledger import Ledger
        from toolkit.core.loss import Pure
        shared, own = Ledger(Pure(1), {str(tmp_path / "budget.db")!r}), Ledger(Pure(1))
        shared.charge(Pure(0.25))
        stop = threading.Event()
        def spend():
            while not stop.wait(0.0003):
                shared.charge(Pure(0))
        # so that forks happen in the midst of transactions
        thread = threading.Thread(target=spend, daemon=True)
        thread.start()
        children = []
        for wait in range(20):
            time.sleep(wait / 10_000)
            child = os.fork()
            if not child:
                shared.charge(Pure("1/32"))
                try:
                    own.charge(Pure(0.5))
                except TypeError:
                    os._exit(7)
                os._exit(1)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        stop.set()
        thread.join()
        print(set(codes), float(shared.spent.amount), own.spent)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == "{7} 0.875 ε = 0", done.stderr
