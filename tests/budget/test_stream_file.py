import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from toolkit.budget.charges import RecordError
from toolkit.budget.ledger import Ledger
from toolkit.budget.ledger_file import file_version
from toolkit.budget.stream_file import StoredStream, StreamFile
from toolkit.central.stream import RunningTotal, Tree
from toolkit.core.loss import Pure


@pytest.mark.slow
def test_a_file_holds_what_it_takes_to_go_on(tmp_path: Path) -> None:
    ledger = Ledger(Pure(1))
    total = RunningTotal.for_epsilon(
        1, periods=9, window=3, neighbors="replace", sensitivity=2, per_person=2, factorization=Tree(9, 3, 2, 3)
    )
    weekly = ledger.every(total, "members", path=tmp_path / "weekly.db")
    for count in (1, 0, 2**62, 4):
        weekly.add(count)
    kept = StoredStream(StreamFile(tmp_path / "weekly.db"))
    assert kept.entry == ledger.entries()[0]
    assert kept.periods() == total._history
    assert not kept.seeded
    other = kept.total(None)
    assert (other.factorization, other.per_person, other.sensitivity, other.neighbors) == (
        total.factorization,
        2,
        2,
        "replace",
    )
    assert other.period == 0


def test_labels_have_files_of_their_own_beside_the_ledger() -> None:
    ledger = Path("folder") / "budget.db"
    assert StreamFile.of(ledger, "claims").base_path == Path("folder") / "budget.db-stream-claims"
    labels = ["claims", "Claims!", "claims!", "claims?", "../claims", "a/b", "a_b", "ε", "x" * 40, "x" * 41]
    files = [StreamFile.of(ledger, label).base_path for label in labels]
    assert len(set(files)) == len(labels)
    assert all(file.parent == ledger.parent and len(file.name) < 80 for file in files)
    assert files[-2].name == f"budget.db-stream-{'x' * 40}"
    assert (
        files[-1].name == f"budget.db-stream-{'x' * 40}-{sha256(b'x' * 41).hexdigest()[:12]}"
    )  # found by later versions


@pytest.mark.slow
def test_a_file_of_the_first_version_goes_on(tmp_path: Path) -> None:
    """As version 1 made it, to the letter, with the note beside it and the ledger that paid for it."""
    for name, script in (("budget.db", LEDGER), ("weekly.db", STREAM)):
        with closing(sqlite3.connect(tmp_path / name)) as database:
            database.executescript(script)
    (tmp_path / "weekly.db-last").write_text(NOTE)
    ledger = Ledger.open(tmp_path / "budget.db")
    weekly = ledger.resume(tmp_path / "weekly.db")
    assert weekly.last is not None
    assert (weekly.last.value, weekly.total.period) == (35, 2)
    weekly.add(5)
    again = ledger.resume(tmp_path / "weekly.db")
    assert again.total._history[0] == [3, 4, 5]
    assert again.last is not None
    assert again.last.release is not None
    assert again.last.release.ledger["unit"] is None


LEDGER = """
CREATE TABLE head (id INTEGER PRIMARY KEY CHECK (id = 1), ceiling TEXT NOT NULL, neighbors TEXT, mark TEXT NOT NULL);
CREATE TABLE entries (
  number INTEGER PRIMARY KEY, label TEXT NOT NULL, mechanism TEXT NOT NULL, neighbors TEXT,
  loss TEXT NOT NULL, charged TEXT NOT NULL, total TEXT NOT NULL, link TEXT NOT NULL);
PRAGMA application_id = 1279607879;
PRAGMA user_version = 2;
INSERT INTO entries VALUES(1,'mean of age','Laplace','replace','pure 1/4','pure 1/4','pure 1/4','59962f99d0264d8743a778c6851030407b974e4e93258c3e1ee3ed66fefdeb7a');
INSERT INTO entries VALUES(2,'wages','','replace','pure 1/4','pure 1/4','pure 1/2','f8c728a068cb1c6bdc3bc054498ca0c52cf533412fa2bc84927872e49d0677dd');
INSERT INTO entries VALUES(3,'claims','RunningTotal','replace','pure 1/4','pure 1/4','pure 3/4','3051e8972cbc714a3acaeaf8fdd13cb54ddce4c769c2a75b11e81ced8767f7c1');
INSERT INTO head VALUES(1,'pure 1',NULL,'7875993031e4fc057f423ff833bc8368');
"""  # noqa: E501
STREAM = """
PRAGMA application_id = 1398035021;
PRAGMA user_version = 1;
CREATE TABLE head (content TEXT NOT NULL);
CREATE TABLE periods (number INTEGER PRIMARY KEY, count TEXT NOT NULL, noisy TEXT NOT NULL);
INSERT INTO head VALUES('{"entry": [3, "claims", "RunningTotal", "replace", "pure 1/4", "pure 1/4", "pure 3/4"], "total": {"periods": 4, "window": null, "neighbors": "replace", "sensitivity": 1, "per_person": null, "way": ["tree", 2, 1, null]}, "seeded": false, "mark": "8fa00fe1c77fcf523045d642ca158177"}');
INSERT INTO periods VALUES(1,'3','17');
INSERT INTO periods VALUES(2,'4','18');
"""  # noqa: E501
NOTE = "00000000000000000002 11deffa682955e00550546e7bdef5ac603590a0bc9bcd4cfd29758c7190e21c8 79910ae7a5044c54\n"


@pytest.mark.slow
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
    kept = StoredStream(StreamFile(path))
    for period in (1, 3):
        with pytest.raises(RecordError, match=f"a file after period 1 for a stream after period {period - 1}"):
            kept.append(period, 4, (4,))
    kept.append(2, 4, (4,))
    assert StoredStream(StreamFile(path)).periods()[0] == [5, 4]


@pytest.mark.parametrize("links", [True, False])
def test_a_finished_file_gets_its_name_once(tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With hard links, and in a browser, which has none: who comes second is refused, and changes nothing."""
    if not links:
        monkeypatch.delattr("os.link")
    place = StreamFile(tmp_path / "weekly.db")
    place.create("first")
    with pytest.raises(ValueError, match=r"needs a new file.*another process created it first"):
        place.create("second")
    assert [file.name for file in tmp_path.iterdir()] == ["weekly.db"]
    assert place.base_path.stat().st_mode & 0o777 == 0o600  # it will hold the counts
    with place.connected() as database:
        assert database.execute("SELECT content FROM head").fetchall() == [("first",)]
        assert file_version(database) == (0x5354524D, 2)  # by which every version knows it
