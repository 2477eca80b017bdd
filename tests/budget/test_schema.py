"""Files of the first version are taken over with all their charges, or refused and left alone."""

import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from toolkit.budget import ledger_file
from toolkit.budget.charges import RecordError
from toolkit.budget.ledger import BudgetError, Ledger
from toolkit.budget.ledger_file import APPLICATION, VERSION, create, file_version, upgrade, write_note
from toolkit.core.loss import Approx, Pure

# The tables as version 1 made them, to the letter.
FIRST = """
CREATE TABLE head (id INTEGER PRIMARY KEY CHECK (id = 1), ceiling TEXT NOT NULL, neighbors TEXT);
CREATE TABLE entries (
  number INTEGER PRIMARY KEY, label TEXT NOT NULL, mechanism TEXT NOT NULL, neighbors TEXT,
  loss TEXT NOT NULL, charged TEXT NOT NULL, total TEXT NOT NULL);
CREATE TRIGGER head_keep BEFORE UPDATE ON head BEGIN SELECT RAISE(ABORT, 'a ceiling never changes'); END;
CREATE TRIGGER head_stay BEFORE DELETE ON head BEGIN SELECT RAISE(ABORT, 'a ceiling never changes'); END;
CREATE TRIGGER head_once BEFORE INSERT ON head WHEN (SELECT count(*) FROM head) > 0
  BEGIN SELECT RAISE(ABORT, 'a ceiling never changes'); END;
CREATE TRIGGER entries_keep BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'a charge is never taken back'); END;
CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'a charge is never taken back'); END;
CREATE TRIGGER entries_once BEFORE INSERT ON entries WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entries)
  BEGIN SELECT RAISE(ABORT, 'charges are only added at the end'); END;
PRAGMA application_id = 1279607879;
PRAGMA user_version = 1;
INSERT INTO head VALUES (1, 'approx 1 1/1000000', 'replace');
INSERT INTO entries VALUES (1, 'mean of age', 'Laplace', 'replace', 'pure 1/3', 'approx 1/3 0', 'approx 1/3 0');
INSERT INTO entries VALUES (2, 'wages', '', NULL, 'approx 1/4 1/10000000', 'approx 1/4 1/10000000', 'approx 7/12 1/10000000');
"""  # noqa: E501


@pytest.fixture
def first(tmp_path: Path) -> Path:
    path = tmp_path / "budget.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(FIRST)
    return path


def rows(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT * FROM entries ORDER BY number").fetchall()


def test_a_file_of_the_first_version_is_taken_over_and_goes_on(first: Path) -> None:
    before = rows(first)
    ledger = Ledger.open(first)
    assert (ledger.ceiling, ledger.neighbors, ledger.simulated) == (Approx(1, 1e-6), "replace", False)
    assert ledger.spent == Approx(Fraction(7, 12), 1e-7)
    assert [entry.label for entry in ledger.entries()] == ["mean of age", "wages"]
    ledger.charge(Pure("1/4"), "third")
    assert [row[:7] for row in rows(first)][:2] == before  # not a letter was changed
    with pytest.raises(BudgetError):
        ledger.charge(Pure("1/4"))
    with closing(sqlite3.connect(first)) as database:
        assert file_version(database) == (APPLICATION, VERSION)
        for statement in ("UPDATE entries SET label = ''", "UPDATE head SET mark = ''", "DELETE FROM entries"):
            with pytest.raises(sqlite3.IntegrityError, match="never"):
                database.execute(statement)
    assert Ledger(Approx(1, 1e-6), first).spent == Approx(Fraction(10, 12), 1e-7)


def test_a_file_of_the_first_version_is_the_same_table_afterwards(first: Path, tmp_path: Path) -> None:
    """Taken over or made today: the same triggers, and columns of the same names in the same order."""
    Ledger.open(first)
    Ledger(Pure(1), tmp_path / "today.db")
    found = []
    for path in (first, tmp_path / "today.db"):
        with closing(sqlite3.connect(path)) as database:
            triggers = set(database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
            columns = [
                [row[1:4] for row in database.execute(f"PRAGMA table_info({table})")] for table in ("head", "entries")
            ]
            found.append((triggers, columns))
    assert found[0] == found[1]
    assert len(found[0][0]) == 6


def test_an_open_process_of_the_first_version_can_no_longer_charge(first: Path) -> None:
    with closing(sqlite3.connect(first)) as old:
        Ledger.open(first)
        with pytest.raises(sqlite3.OperationalError, match="10 columns"):
            old.execute(
                "INSERT INTO entries VALUES (3, '', '', NULL, 'pure 0', 'approx 0 0', 'approx 7/12 1/10000000')"
            )


@pytest.mark.parametrize(
    "change",
    [
        "SET total = 'approx 0 0' WHERE number = 2",
        "SET charged = 'approx 1/5 0' WHERE number = 1",
        "SET number = 7 WHERE number = 2",
    ],
)
def test_a_file_of_the_first_version_with_wrong_totals_is_rejected(change: str, first: Path) -> None:
    """Totals that are not the sums of the charges are found, and the file stays as it was."""
    with closing(sqlite3.connect(first)) as database:
        database.execute("DROP TRIGGER entries_keep")
        database.execute(f"UPDATE entries {change}")
        database.commit()
    before = rows(first)
    with pytest.raises(RecordError, match="must be as they were written"):
        Ledger.open(first)
    assert rows(first) == before
    with closing(sqlite3.connect(first)) as database:
        assert file_version(database) == (APPLICATION, 1)


def test_a_read_only_file_of_the_first_version_is_rejected(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error gives the reason."""
    plain = ledger_file.connect
    monkeypatch.setattr(ledger_file, "connect", lambda path, _: plain(path, "ro"))
    with pytest.raises(RecordError, match="must be writable"):
        Ledger.open(first)


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    Ledger(Pure(1), path)
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(RecordError, match="a later version created it"):
        Ledger.open(path)


def test_whoever_comes_second_makes_nothing_and_changes_nothing(tmp_path):
    """Two processes may both have found the file empty; the second finds it made when its turn comes."""
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as database:
        create(database, (Pure(1), "replace", False, None))
        before = list(database.iterdump())
        create(database, (Pure(2), None, False, None))
        assert list(database.iterdump()) == before


def test_whoever_takes_a_file_over_second_changes_nothing(first: Path) -> None:
    """Two processes may both have found version 1; the second finds version 2 when its turn comes."""
    with closing(sqlite3.connect(first, isolation_level=None)) as database:
        upgrade(database)
        before = list(database.iterdump())
        upgrade(database)
        assert list(database.iterdump()) == before


# As version 2 wrote them, with the note beside the file.
SECOND = """
CREATE TABLE head (id INTEGER PRIMARY KEY CHECK (id = 1), ceiling TEXT NOT NULL, neighbors TEXT, mark TEXT NOT NULL);
CREATE TABLE entries (
  number INTEGER PRIMARY KEY, label TEXT NOT NULL, mechanism TEXT NOT NULL, neighbors TEXT,
  loss TEXT NOT NULL, charged TEXT NOT NULL, total TEXT NOT NULL, link TEXT NOT NULL);
PRAGMA application_id = 1279607879;
PRAGMA user_version = 2;
INSERT INTO entries VALUES(1,'mean of age','Laplace','replace','pure 1/4','pure 1/4','pure 1/4','59962f99d0264d8743a778c6851030407b974e4e93258c3e1ee3ed66fefdeb7a');
INSERT INTO entries VALUES(2,'wages','','replace','pure 1/4','pure 1/4','pure 1/2','f8c728a068cb1c6bdc3bc054498ca0c52cf533412fa2bc84927872e49d0677dd');
INSERT INTO head VALUES(1,'pure 1',NULL,'7875993031e4fc057f423ff833bc8368');
"""  # noqa: E501


@pytest.mark.slow
def test_a_file_of_the_second_version_keeps_its_rows_and_name(tmp_path: Path) -> None:
    """The links stay as they were, and the charges have no unit."""
    path = tmp_path / "budget.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SECOND)
    before = rows(path)
    write_note(path, 2, str(before[-1][-1]))
    with closing(sqlite3.connect(path)) as old:
        ledger = Ledger.open(path)
        with pytest.raises(sqlite3.OperationalError, match="10 columns"):
            old.execute("INSERT INTO entries VALUES (3, '', '', NULL, '', '', '', '')")
    assert [row[:8] for row in rows(path)] == before
    assert ledger.id == "1ec405cb52001f3d"  # by which documents that were published before name it
    assert ledger.unit is None
    assert [line.split(" | ")[3] for line in ledger.report().splitlines()[-2:]] == ["not stated"] * 2
    ledger.charge(Pure("1/4"), "third", unit="person")
    again = Ledger.open(path)
    assert [entry.unit for entry in again.entries()] == [None, None, "person"]
    with pytest.raises(BudgetError, match="all charges of a ledger must protect the same unit"):
        again.charge(Pure("1/4"), "fourth", unit="row")
