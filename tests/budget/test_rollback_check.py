"""The note beside a ledger's file: an older copy in its place is noticed, and no honest death raises an alarm."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from toolkit.budget import ledger_file
from toolkit.budget.charges import RecordError
from toolkit.budget.ledger import Ledger
from toolkit.budget.ledger_file import note_path, read_note, write_note
from toolkit.core.loss import Pure


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


def test_an_old_copy_of_a_newer_file_is_noticed_by_whoever_opens_it(path: Path) -> None:
    Ledger(Pure(1), path).charge(Pure(0.25))
    old = path.read_bytes()
    Ledger.open(path).charge(Pure(0.5))  # nothing of this ledger lives on but the files
    path.write_bytes(old)
    for opening in (lambda: Ledger.open(path), lambda: Ledger(Pure(1), path)):
        with pytest.raises(RecordError, match=r"must only grow.*budget.db-last records them"):
            opening()


@pytest.mark.parametrize(
    "use", [lambda ledger: ledger.charge(Pure(0.5)), lambda ledger: ledger.spent, lambda ledger: ledger.entries()]
)
def test_an_old_copy_is_noticed_by_a_ledger_that_missed_a_charge(use: Callable[[Ledger], object], path: Path) -> None:
    """The row that it knows is still there: only the note tells of the charge of somebody else."""
    ledger = Ledger(Pure(1), path)
    ledger.charge(Pure(0.25))
    old = path.read_bytes()
    Ledger.open(path).charge(Pure(0.5))
    path.write_bytes(old)
    with pytest.raises(RecordError, match=r"must only grow.*budget.db-last records them"):
        use(ledger)


@pytest.mark.slow
def test_another_ledger_in_place_of_the_file_is_noticed(path: Path, tmp_path: Path) -> None:
    for file in (path, tmp_path / "other.db"):
        for _ in range(2):
            Ledger(Pure(1), file).charge(Pure(0.25), "the same")
    path.write_bytes((tmp_path / "other.db").read_bytes())
    with pytest.raises(RecordError, match="must only grow"):
        Ledger.open(path)


def test_another_ledger_in_place_of_one_without_a_charge_is_noticed(path: Path, tmp_path: Path) -> None:
    ledger = Ledger(Pure(1), path)
    Ledger(Pure(9), tmp_path / "other.db")
    path.write_bytes((tmp_path / "other.db").read_bytes())
    for use in (lambda: ledger.spent, ledger.entries, lambda: ledger.charge(Pure(0.5))):
        with pytest.raises(RecordError, match="must only grow, got another file"):
            use()
    assert Ledger.open(path).spent == Pure(0)


@pytest.mark.parametrize("left", ["no file", "an empty file"])
def test_a_budget_does_not_begin_anew_because_its_file_is_gone(left: str, path: Path) -> None:
    """What is left is as it was found: no new ledger lies there that could be copied and spent."""
    Ledger(Pure(1), path).charge(Pure(1))
    path.unlink()
    if left == "an empty file":
        path.touch()
    with pytest.raises(RecordError, match=rf"got {left}.*must be removed before a new ledger can begin"):
        Ledger(Pure(1), path)
    assert not path.exists() if left == "no file" else path.read_bytes() == b""
    note_path(path).unlink()
    assert Ledger(Pure(1), path).spent == Pure(0)


def test_a_link_to_the_file_leads_to_the_same_note(path: Path, tmp_path: Path) -> None:
    """Else an older copy goes unnoticed by whoever comes by the other name."""
    link = tmp_path / "link.db"
    link.symlink_to(path)
    Ledger(Pure(1), link).charge(Pure(0.25))
    old = path.read_bytes()
    Ledger.open(link).charge(Pure(0.5))
    assert [file.name for file in tmp_path.glob("*-last")] == ["budget.db-last"]
    path.write_bytes(old)
    for name in (path, link):
        with pytest.raises(RecordError, match=r"must only grow.*budget.db-last records them"):
            Ledger.open(name)


def test_a_file_that_was_moved_or_copied_without_its_note_works(path: Path, tmp_path: Path) -> None:
    """So a copy that is spent from beside the original is not noticed; the budget is then spent twice."""
    Ledger(Pure(1), path).charge(Pure(0.25))
    copy = tmp_path / "copy.db"
    copy.write_bytes(path.read_bytes())
    Ledger.open(copy).charge(Pure(0.25))
    assert Ledger.open(path).spent == Pure(0.25)
    assert Ledger.open(copy).spent == Pure(0.5)


def test_an_older_note_is_true_as_well_and_is_brought_up_to_date(path: Path) -> None:
    """What a process leaves that is killed between the charge and the note."""
    ledger = Ledger(Pure(1), path)
    ledger.charge(Pure(0.125))
    older = note_path(path).read_bytes()
    ledger.charge(Pure(0.125))
    note_path(path).write_bytes(older)
    assert Ledger.open(path).spent == Pure(0.25)
    ledger.charge(Pure(0.125))
    assert read_note(path) == (3, ledger._record._position.link)


@pytest.mark.parametrize(
    "text", [b"", b"7", b"\xff\xfe", b"1 2 3", b"00000000000000000001 " + b"0" * 64 + b" " + b"0" * 16 + b"\n"]
)
def test_a_note_that_is_not_whole_says_nothing(text: bytes, path: Path) -> None:
    ledger = Ledger(Pure(1), path)
    ledger.charge(Pure(0.25))
    note_path(path).write_bytes(text)
    assert read_note(path) is None
    ledger.charge(Pure(0.25))
    assert Ledger.open(path).spent == Pure(0.5)


@pytest.mark.slow
def test_every_half_of_a_write_is_either_the_old_note_the_new_one_or_none(path: Path) -> None:
    write_note(path, 9, "a" * 64)
    old = note_path(path).read_bytes()
    write_note(path, 10, "b" * 64)
    new = note_path(path).read_bytes()
    assert len(new) == len(old)
    for cut in range(len(old) + 1):
        note_path(path).write_bytes(new[:cut] + old[cut:])
        assert read_note(path) == {old: (9, "a" * 64), new: (10, "b" * 64)}.get(new[:cut] + old[cut:])


def test_a_note_that_was_written_is_closed(path: Path) -> None:
    """Else a process could charge a thousand times: the next file has the same number as before."""
    numbers = []
    for _ in range(2):
        numbers.append(os.open(os.devnull, os.O_RDONLY))
        os.close(numbers[-1])
        write_note(path, 9, "a" * 64)
    assert len(set(numbers)) == 1


def test_a_note_that_cannot_be_written_does_not_stop_a_charge(path: Path) -> None:
    note_path(path).mkdir()
    ledger = Ledger(Pure(1), path)
    ledger.charge(Pure(0.25))
    assert Ledger.open(path).spent == Pure(0.25)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_death_around_the_note_leaves_a_ledger_that_opens(moment: str, path: Path) -> None:
    """The charge counts whether the process dies before or after it writes the note."""
    script = f"""
        import os, signal
        from toolkit.budget import ledger_file
        from toolkit.budget.ledger import Ledger
        from toolkit.core.loss import Pure

        plain = ledger_file.write_note
        def dying(*values):
            if {moment!r} == "after":
                plain(*values)
            os.kill(os.getpid(), signal.SIGKILL)

        ledger = Ledger(Pure(1), {str(path)!r})
        ledger.charge(Pure(0.25))
        ledger_file.write_note = dying
        ledger.charge(Pure(0.25))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    noted = read_note(path)
    assert noted is not None
    assert noted[0] == (1 if moment == "before" else 2)
    ledger = Ledger.open(path)
    assert ledger.spent == Pure(0.5)
    ledger.charge(Pure(0.5))
    assert ledger.remaining == Pure(0)


def test_nobody_else_charges_before_the_note_is_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is never behind while processes that live take turns. Its permissions are those of any other file."""
    ledger = Ledger(Pure(1), path)

    def write(*values: Any) -> None:
        other = sqlite3.connect(path, timeout=0, isolation_level=None)
        with closing(other), pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        write_note(*values)

    monkeypatch.setattr(ledger_file, "write_note", write)
    ledger.charge(Pure(0.25))
    assert read_note(path) == (1, ledger._record._position.link)
    (path.parent / "any").touch()
    assert note_path(path).stat().st_mode == (path.parent / "any").stat().st_mode
