import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from toolkit.budget.chain import RecordError
from toolkit.budget.ledger import Ledger
from toolkit.budget.streams.kept import KeptStream
from toolkit.central.stream import RunningTotal, Tree
from toolkit.core.loss import Pure


def test_a_file_holds_what_it_takes_to_go_on(tmp_path: Path) -> None:
    ledger = Ledger(Pure(1))
    total = RunningTotal.for_epsilon(
        1, periods=9, window=3, neighbors="replace", sensitivity=2, per_person=2, way=Tree(9, 3, 2, 3)
    )
    weekly = ledger.every(total, "members", path=tmp_path / "weekly.db")
    for count in (1, 0, 2**62, -4):
        weekly.add(count)
    kept = KeptStream(tmp_path / "weekly.db")
    assert kept.entry == ledger.entries()[0]
    assert kept.periods() == total.kept
    assert not kept.seeded
    other = kept.total(None)
    assert (other.way, other.per_person, other.sensitivity, other.neighbors) == (total.way, 2, 2, "replace")
    assert other.period == 0


def test_a_number_that_was_edited_is_not_resumed(tmp_path: Path) -> None:
    """The note beside the file knows the chain of the noisy numbers, however many there are."""
    ledger, path = Ledger(Pure(1)), tmp_path / "weekly.db"
    weekly = ledger.every(RunningTotal.for_epsilon(1, periods=9), "members", path=path)
    told = [weekly.add(count).value for count in (5, 6, 7)]
    assert ledger.resume(path).last.value == told[-1]
    for number in (1, 3):
        with closing(sqlite3.connect(path)) as database, database:
            (noisy,) = database.execute("SELECT noisy FROM periods WHERE number = ?", (number,)).fetchone()
            first, *rest = noisy.split()
            edited = " ".join([str(int(first) + 1000), *rest])
            database.execute("UPDATE periods SET noisy = ? WHERE number = ?", (edited, number))
        with pytest.raises(RecordError, match="an older or another file"):
            ledger.resume(path)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE periods SET noisy = ? WHERE number = ?", (noisy, number))
    assert ledger.resume(path).last.value == told[-1]


def test_a_period_is_written_after_the_one_before_it_and_once(tmp_path: Path) -> None:
    ledger, path = Ledger(Pure(1)), tmp_path / "weekly.db"
    ledger.every(RunningTotal.for_epsilon(1, periods=9), "members", path=path).add(5)
    kept = KeptStream(path)
    for period in (1, 3):
        with pytest.raises(
            RecordError, match=f"a file after period 1 for a stream after period {period - 1}"
        ):
            kept.append(period, 4, (4,))
    kept.append(2, 4, (4,))
    assert KeptStream(path).periods()[0] == [5, 4]
