"""A stream under a ledger: one charge before the first count, and what a restart means."""

import json
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import nullcontext, suppress
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.budget.spending import Opener
from toolkit import between
from toolkit.budget.charges import RecordError
from toolkit.budget.ledger import BudgetError, Ledger
from toolkit.central.stream import RunningTotal
from toolkit.core.loss import Approx, Pure, Zcdp


@pytest.mark.slow
def test_all_periods_are_charged_once_before_the_first(opener: Opener) -> None:
    ledger = opener(Pure(1))
    weekly = ledger.every(RunningTotal.for_epsilon("3/4", periods=3), "new members")
    assert ledger.spent == Pure("3/4")
    for count in (17, 12, 20):
        assert weekly.add(count).loss == Pure("3/4")
    with pytest.raises(RuntimeError, match="a running total ends with its last period, 3, got period 4"):
        weekly.add(3)
    (entry,) = ledger.entries()
    assert (entry.label, entry.mechanism, entry.neighbors) == ("new members", "RunningTotal", "add_remove")
    ledger.every(RunningTotal.for_epsilon("1/4", periods=52), "other")
    assert ledger.spent == Pure(1)


@pytest.mark.slow
def test_an_approximate_loss_is_charged_as_it_is_or_by_its_noise(tmp_path: Path) -> None:
    for ceiling, charged in ((Approx(1, 1e-6), Approx(1, 1e-6)), (Zcdp(1), Zcdp.within(Approx(1, 1e-6)))):
        ledger, path = Ledger(ceiling), tmp_path / f"{type(ceiling).__name__}.db"
        ledger.every(RunningTotal.for_loss(1, 1e-6, periods=4), path=path).add(3)
        (entry,) = ledger.entries()
        assert (entry.loss, entry.charged) == (Approx(1, 1e-6), charged)
        assert ledger.resume(path).add(3).loss == Approx(1, 1e-6)


def test_what_does_not_fit_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    ledger = Ledger(Pure("1/2"))
    with pytest.raises(BudgetError, match="nothing was charged or released"):
        ledger.every(RunningTotal.for_epsilon(1, periods=3), path=tmp_path / "weekly.db")
    assert list(tmp_path.iterdir()) == []


def test_neighbors_go_into_the_record(opener: Opener) -> None:
    ledger = opener(Pure(1), neighbors="replace")
    with pytest.raises(BudgetError, match="all charges of a ledger must have the same neighbor relation"):
        ledger.every(RunningTotal.for_epsilon("1/2", periods=3), "members")
    ledger.every(RunningTotal.for_epsilon("1/2", periods=3, neighbors="replace"), "members")
    assert ledger.spent == Pure("1/2")


def test_what_cannot_be_opened_is_refused_before_it_is_charged(opener: Opener, tmp_path: Path) -> None:
    ledger = opener(Pure(1))
    used = RunningTotal.for_epsilon(1, periods=3)
    used.add(1)
    with pytest.raises(ValueError, match="a total must be new when it is opened, got a total after 1 periods"):
        ledger.every(used, "members")
    with pytest.raises(ValueError, match="must be drawn with rng=None"):
        ledger.every(RunningTotal.for_epsilon(1, periods=3, rng=np.random.default_rng(1)), "members")
    with pytest.raises(ValueError, match="the folder of a stream's file must exist, got nowhere"):
        ledger.every(RunningTotal.for_epsilon(1, periods=3), path=tmp_path / "nowhere" / "weekly.db")
    with pytest.raises(TypeError, match="a stream must be a RunningTotal, got Pure"):
        ledger.every(Pure(1), "members")
    assert ledger.spent == Pure(0)


def test_the_loss_and_the_file_are_in_the_repr(tmp_path: Path) -> None:
    ledger = Ledger(Pure(2))
    weekly = ledger.every(RunningTotal.for_epsilon(1, periods=3), "members", path=tmp_path / "weekly.db")
    assert repr(weekly).startswith("<Stream 'members': <RunningTotal: 0 of 3 periods; ε = 1 for all of them")
    assert repr(weekly).endswith("weekly.db>")
    assert "it ends with its process" in repr(ledger.every(RunningTotal.for_epsilon(1, periods=3)))


@pytest.mark.slow
@pytest.mark.parametrize("total", ["tree", "root", "window"])
def test_a_stream_goes_on_after_a_restart(tmp_path: Path, total: str) -> None:
    """Nothing is charged again, nothing drawn again, and the last number is the same."""
    made = {
        "tree": lambda: RunningTotal.for_epsilon(1, periods=60, per_person=2),
        "root": lambda: RunningTotal.for_rho("1/2", periods=60),
        "window": lambda: RunningTotal.for_rho("1/2", periods=60, window=4, sensitivity=3),
    }[total]()
    path = tmp_path / "weekly.db"
    ledger = Ledger(Zcdp(1), tmp_path / "budget.db")
    weekly = ledger.every(made, "members", path=path)
    numbers = [weekly.add(count) for count in (17, 2**70, 5)]
    told = pytest.warns(UserWarning, match="a separate `Visits` counted them") if total == "tree" else nullcontext()
    with told:
        again = Ledger.open(tmp_path / "budget.db").resume(path)
    assert again.last is not None
    assert (again.last.value, again.last.labels) == (numbers[-1].value, numbers[-1].labels)
    assert repr(again) == repr(weekly)
    assert again.total.factorization == weekly.total.factorization
    assert again.total.sd.tolist() == weekly.total.sd.tolist()
    assert again.add(4).labels[0].endswith("after 4 of 60 periods")
    assert ledger.spent == Ledger.open(tmp_path / "budget.db").spent == ledger.entries()[0].charged


def test_of_two_that_go_on_only_one_publishes_a_period(tmp_path: Path) -> None:
    ledger = Ledger(Pure(1))
    first = ledger.every(RunningTotal.for_epsilon(1, periods=5), path=tmp_path / "weekly.db")
    second = ledger.resume(tmp_path / "weekly.db")
    first.add(3)
    with pytest.raises(RecordError, match="got a file after period 1 for a stream after period 0"):
        second.add(3)
    assert second.total.period == 0
    assert ledger.resume(tmp_path / "weekly.db").add(4).labels == ("total after 2 of 5 periods",)


def test_a_number_that_is_not_on_the_disk_is_not_handed_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(Pure(1))
    weekly = ledger.every(RunningTotal.for_epsilon(1, periods=5), path=tmp_path / "weekly.db")
    weekly.add(3)
    with monkeypatch.context() as patch:
        patch.setattr(weekly._stored, "append", lambda *_: (_ for _ in ()).throw(RecordError("disk full")))
        with pytest.raises(RecordError, match="disk full"):
            weekly.add(4)
    with pytest.raises(RuntimeError, match="a stream must be resumed after its file could not be written"):
        weekly.add(4)
    assert ledger.resume(tmp_path / "weekly.db").total.period == 1


def test_an_older_copy_in_its_place_is_noticed(tmp_path: Path) -> None:
    path, ledger = tmp_path / "weekly.db", Ledger(Pure(1))
    weekly = ledger.every(RunningTotal.for_epsilon(1, periods=5), path=path)
    weekly.add(3)
    shutil.copy(path, tmp_path / "old.db")
    weekly.add(4)
    shutil.copy(tmp_path / "old.db", path)
    with pytest.raises(RecordError, match="got an older or another file: a period must not be published"):
        ledger.resume(path)
    with pytest.raises(RecordError, match="a file after period 1 for a stream after period 2"):
        weekly.add(5)


def test_a_stream_goes_on_only_under_the_ledger_that_paid(tmp_path: Path) -> None:
    path, ledger = tmp_path / "weekly.db", Ledger(Pure(1))
    ledger.every(RunningTotal.for_epsilon(1, periods=5), "members", path=path)
    other = Ledger(Pure(2))
    with pytest.raises(ValueError, match="a stream must be resumed with the ledger"):
        other.resume(path)
    other.charge(Pure(1), "members")
    with pytest.raises(ValueError, match="of another ledger: its loss"):
        other.resume(path)
    with pytest.raises(ValueError, match="a new stream needs a new file, got weekly"):
        other.every(RunningTotal.for_epsilon(1, periods=5), path=path)
    path.unlink()
    (tmp_path / "weekly.db-last").write_text("")
    with pytest.raises(ValueError, match="-last, the note of an older stream"):
        other.every(RunningTotal.for_epsilon(1, periods=5), path=path)


def test_a_simulated_stream_is_resumed_with_a_generator(tmp_path: Path) -> None:
    ledger = Ledger(Pure(2), simulated=True)
    total = RunningTotal.for_epsilon(1, periods=5, rng=np.random.default_rng(1))
    ledger.every(total, path=tmp_path / "weekly.db").add(3)
    with pytest.raises(ValueError, match="a stream must be resumed with a generator if"):
        ledger.resume(tmp_path / "weekly.db")
    assert ledger.resume(tmp_path / "weekly.db", rng=np.random.default_rng(2)).add(3).loss is None


@pytest.mark.slow
def test_files_that_are_no_streams_are_refused(tmp_path: Path) -> None:
    ledger = Ledger(Pure(1), tmp_path / "budget.db")
    with pytest.raises(RecordError, match="another program or of a later version"):
        ledger.resume(tmp_path / "budget.db")
    with pytest.raises(RecordError, match=r"a stream's file must exist and be writable, got no file none\.db in "):
        ledger.resume(tmp_path / "none.db")
    weekly = ledger.every(RunningTotal.for_epsilon(1, periods=5), path=tmp_path / "weekly.db")
    weekly.add(1), weekly.add(2)
    database = sqlite3.connect(tmp_path / "weekly.db", isolation_level=None)
    database.execute("DELETE FROM periods WHERE number = 1")
    database.close()
    with pytest.raises(RecordError, match="a file with a missing period"):
        ledger.resume(tmp_path / "weekly.db")


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "duckdb": lambda columns: duckdb.from_arrow(pa.table(columns)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_period_may_be_the_rows_of_a_frame(kind: str) -> None:
    ledger = Ledger(Pure(10**6))
    weekly = ledger.every(RunningTotal.for_epsilon(10**6, periods=3))  # as good as no noise
    make = FRAMES[kind]
    rows = make({"age": [20, 30, 40, None], "degree": ["law", "law", "art", "law"]})
    assert weekly.count(rows).value == 4
    assert weekly.count(rows, {"degree": "law", "age": between(18, 35)}).value == 6
    assert weekly.count(make({"age": [1], "degree": ["law"]}), {"degree": "art"}).value == 6


def test_what_a_condition_says_is_refused_before_the_period_is_used() -> None:
    weekly = Ledger(Pure(1)).every(RunningTotal.for_epsilon(1, periods=3))
    frame = pd.DataFrame({"age": [20]})
    for where, error in (({"size": 3}, ValueError), ([True], TypeError), ({"age": "x"}, TypeError)):
        with pytest.raises(error):
            weekly.count(frame, where)
    with pytest.raises(TypeError):
        weekly.count([1, 2, 3])
    assert weekly.total.period == 0


def test_unreadable_rows_leave_the_period_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error does not quote the rows."""
    weekly = Ledger(Pure(1)).every(RunningTotal.for_epsilon(1, periods=3))
    monkeypatch.setattr("toolkit.budget.streams.cell_counts", lambda *_: 1 / 0)
    with pytest.raises(RuntimeError, match="an error that is not shown: the period was not published") as error:
        weekly.count(pd.DataFrame({"age": [20]}))
    assert error.value.__cause__ is None
    assert error.value.__context__ is None
    assert weekly.total.period == 0


def test_rows_are_no_people() -> None:
    weekly = Ledger(Pure(1)).every(RunningTotal.for_epsilon(1, periods=3, per_person=2))
    frame = pd.DataFrame({"age": [20]})
    with pytest.raises(ValueError, match=r"`count` needs `person` at user level.*got no `person`, user level: one"):
        weekly.count(frame)
    with pytest.raises(TypeError, match="column age must identify the person of each row"):
        weekly.count(frame.astype(complex), person="age")
    events = Ledger(Pure(1)).every(RunningTotal.for_epsilon(1, periods=3))
    with pytest.raises(ValueError, match="got a `person`, event level"):
        events.count(frame, person="age")


@pytest.mark.slow
def test_a_ledger_with_a_file_keeps_its_streams_beside_it(tmp_path: Path) -> None:
    """Another process resumes the streams by their labels."""
    ledger = Ledger(Pure(2), tmp_path / "budget.db")
    weekly = ledger.every(RunningTotal.for_epsilon(1, periods=52), "claims")
    first = weekly.add(17)
    other = ledger.every(RunningTotal.for_epsilon(1, periods=52), "new claims, all offices")
    other.add(3)
    code = """
import json, sys
from toolkit import Ledger
weekly = Ledger.open(sys.argv[1]).resume(sys.argv[2])
print(json.dumps([weekly.last.value, weekly.label, weekly.total.period, weekly.add(23).labels[0]]))
"""
    for label, value in (("claims", first.value), ("new claims, all offices", other.last and other.last.value)):
        arguments = [sys.executable, "-c", code, str(tmp_path / "budget.db"), label]
        said = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
        assert json.loads(said) == [value, label, 1, "total after 2 of 52 periods"]
    assert ledger.spent == Pure(2)
    assert (tmp_path / "budget.db-stream-claims").stat().st_mode & 0o077 == 0
    with pytest.raises(RecordError, match="got a file after period 2 for a stream after period 1"):
        weekly.add(1)


def test_a_stream_is_resumed_by_its_path_unless_that_is_a_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path may be given as text."""
    monkeypatch.chdir(tmp_path)
    ledger = Ledger(Pure(3), "budget.db")
    ledger.every(RunningTotal.for_epsilon(1, periods=5), "claims", path="weekly.db").add(3)
    assert ledger.resume("weekly.db").total.period == ledger.resume(Path("weekly.db")).total.period == 1
    ledger.every(RunningTotal.for_epsilon(1, periods=9), "weekly.db")
    assert ledger.resume("weekly.db").total.periods == 9


def test_a_label_belongs_to_one_stream_of_a_ledger(tmp_path: Path) -> None:
    ledger = Ledger(Pure(3), tmp_path / "budget.db")
    ledger.every(RunningTotal.for_epsilon(1, periods=5), "claims")
    with pytest.raises(ValueError, match=r"a new stream needs a new file, got budget\.db-stream-claims"):
        ledger.every(RunningTotal.for_epsilon(1, periods=5), "claims")
    with pytest.raises(ValueError, match="a stream of a stored ledger must have a label"):
        ledger.every(RunningTotal.for_epsilon(1, periods=5))
    with pytest.raises(RecordError, match="a stream's file must exist and be writable"):
        ledger.resume("members")
    assert ledger.spent == Pure(1)
    assert sorted(one.name for one in tmp_path.iterdir() if "-new-" in one.name) == []


DEATHS = ["nothing", "charge", "file", "draw", "period", "note"]
KILLED = """
import os, signal, sys
from toolkit import Ledger, Pure
from toolkit.budget import stream_file as kept
from toolkit.central.stream import RunningTotal

def dies(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def after(function):
    return lambda *given, **more: (function(*given, **more), dies())

path, death = sys.argv[1:]
ledger = Ledger(Pure(3), path)
if death == "charge":
    ledger.charge = after(ledger.charge)
if death == "file":
    os.link = dies
weekly = ledger.every(RunningTotal.for_epsilon(1, periods=9), "claims")
print(weekly.add(3).value, flush=True)
if death == "draw":
    kept.StoredStream.append = dies
if death == "period":
    kept.write_note = dies
if death == "note":
    kept.write_note = after(kept.write_note)
if death != "nothing":
    print(weekly.add(4).value, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("death", DEATHS)
def test_a_killed_process_publishes_no_period_twice(death: str, tmp_path: Path) -> None:
    """The process is killed between charge, file, draw, period and note, and can only overcharge; what is published
    after is what a file of before holds.
    """
    path = tmp_path / "budget.db"
    run = subprocess.run([sys.executable, "-c", KILLED, str(path), death], capture_output=True, text=True)
    assert run.returncode == (0 if death == "nothing" else -9), run.stderr
    published = [float(line) for line in run.stdout.split()]
    ledger = Ledger.open(path)
    if death in ("charge", "file"):
        assert published == []
        assert ledger.spent == Pure(1)
        assert [one.name for one in tmp_path.iterdir() if one.name.endswith("-stream-claims")] == []
        weekly = ledger.every(RunningTotal.for_epsilon(1, periods=9), "claims")  # and pays again
        assert (weekly.total.period, ledger.spent) == (0, Pure(2))
        return
    weekly = ledger.resume("claims")
    assert ledger.spent == Pure(1)
    period = {"nothing": 1, "draw": 1, "period": 2, "note": 2}[death]
    assert weekly.total.period == period
    assert weekly.last is not None
    if death in ("nothing", "draw"):
        assert published == [weekly.last.value]
    told = weekly.last
    again = Ledger.open(path).resume("claims")
    assert again.last is not None
    assert again.last.value == told.value
    assert again.add(5).labels == (f"total after {period + 1} of 9 periods",)


@pytest.mark.slow
def test_what_a_stream_tells_is_published_like_any_other_release(tmp_path: Path) -> None:
    ledger = Ledger(Pure(24), tmp_path / "budget.db", unit="person")
    weekly = ledger.every(RunningTotal.for_epsilon(2, periods=52), "claims", events=12)
    weekly.add(17)
    (tmp_path / "second").mkdir()
    path = weekly.add(4).publish(tmp_path / "second" / "claims")
    facts, page = json.loads(path.read_text()), path.with_suffix(".md").read_text()
    assert facts["query"] == {"statistic": "claims: total after 2 of 52 periods", "periods": 52}
    assert facts["unit"]["person"] == "event level: one record in one period"
    assert facts["noise"]["sd"] == pytest.approx(float(weekly.total.sd[1]))
    assert (facts["ledger"]["loss"], facts["ledger"]["charged"]) == ("ε = 2", "ε = 24")
    assert facts["ledger"]["terms"] == "at most 12 events of one person, charged together"
    assert "Whom it protects: one record, which comes or goes; event level" in page
    assert "Through one record no outcome becomes more than 7.39 times as probable." in page
    assert "- Charged: ε = 24; at most 12 events of one person, charged together." in page
    assert "claims.json (SHA-256" in ledger.report()
    assert weekly.last is not None
    again = Ledger.open(tmp_path / "budget.db").resume("claims").last
    assert again is not None
    assert again.publish(tmp_path / "again").with_suffix(".csv").read_text() == path.with_suffix(".csv").read_text()


PERIODS = [["ann", "bob", "ann", None], ["ann"], ["ann", "bob", "cid"], ["bob"]]
COUNTED = [2, 1, 2, 0]  # each in the first two periods in which they come


@pytest.mark.slow
@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("restart", [False, True])
def test_a_stream_counts_people_and_its_file_remembers_them(kind: str, restart: bool, tmp_path: Path) -> None:
    ledger = Ledger(Pure(10**6), tmp_path / "budget.db")
    weekly = ledger.every(RunningTotal.for_epsilon(10**6, periods=9, per_person=2), "visitors")
    for place, names in enumerate(PERIODS):
        frame = FRAMES[kind]({"who": names, "kept": [True] * len(names)})
        told = weekly.count(frame, {"kept": True}, person="who")
        assert told.value == sum(COUNTED[: place + 1])
        weekly = Ledger.open(tmp_path / "budget.db").resume("visitors") if restart else weekly
    assert weekly.total._history[0] == COUNTED
    everything = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"ann" not in everything
    with pytest.raises(ValueError, match="people must be counted by the stream in all periods, or in none"):
        weekly.add(3)


def test_people_with_long_numbers_are_counted_apart() -> None:
    """A column that identifies nobody is rejected."""
    weekly = Ledger(Pure(10**6)).every(RunningTotal.for_epsilon(10**6, periods=9, per_person=1))
    frame = pl.DataFrame({"who": pl.Series([10**18, 10**18 + 1, 10**18], dtype=pl.Int128), "list": [[1]] * 3})
    assert weekly.count(frame, person="who").value == 2
    assert weekly.count(frame, person="who").value == 2
    with pytest.raises(TypeError, match="column list must identify the person of each row"):
        weekly.count(frame, person="list")
    assert weekly.total.period == 2


TENTHS = {
    "pyarrow, one digit": lambda names: pa.table({"who": pa.array(names, pa.decimal128(20, 1))}),
    "pyarrow, two digits": lambda names: pa.table({"who": pa.array(names, pa.decimal128(20, 2))}),
    "pandas, as typed": lambda names: pd.DataFrame({"who": [Decimal(f"{name}0") for name in names]}),
    "polars, four digits": lambda names: pl.DataFrame({"who": pl.Series(names, dtype=pl.Decimal(20, 4))}),
    "DuckDB, three digits": lambda names: duckdb.sql(
        f"SELECT unnest({[str(name) for name in names]})::DECIMAL(20, 3) AS who"
    ),
}


def test_a_decimal_of_another_scale_is_the_same_person() -> None:
    """Each comes in the first period, and is counted in one alone, however the later ones write 0.1."""
    weekly = Ledger(Pure(10**6)).every(RunningTotal.for_epsilon(10**6, periods=9, per_person=1))
    names = [Decimal("0.1"), Decimal("-12.3"), Decimal("5.0")]
    totals = [weekly.count(make(names), person="who").value for make in TENTHS.values()]
    assert totals == [3] * len(TENTHS)


def test_a_link_to_a_streams_file_leads_to_the_same_note(tmp_path: Path) -> None:
    link, path = tmp_path / "link.db", tmp_path / "stream.db"
    link.symlink_to(path)
    ledger = Ledger(Pure(1), tmp_path / "budget.db")
    ledger.every(RunningTotal.for_epsilon(1, periods=9), "a", path=link).add(1)
    old = path.read_bytes()
    ledger.resume(path).add(1)
    path.write_bytes(old)
    with pytest.raises(RecordError, match=r"stream.db must contain.*stream.db-last records the last period"):
        ledger.resume(link)


def test_a_period_that_could_not_be_written_counts_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(Pure(10**6), tmp_path / "budget.db")
    weekly = ledger.every(RunningTotal.for_epsilon(10**6, periods=9, per_person=1), "visitors")
    frame = pd.DataFrame({"who": ["ann"]})
    with monkeypatch.context() as patch:
        patch.setattr(weekly._stored, "append", lambda *_: (_ for _ in ()).throw(RecordError("disk full")))
        with pytest.raises(RecordError, match="disk full"):
            weekly.count(frame, person="who")
    assert ledger.resume("visitors").count(frame, person="who").value == 1


@pytest.mark.parametrize("kept", [False, True])
def test_two_threads_do_not_count_the_same_person_twice(kept: bool, tmp_path: Path) -> None:
    """The second thread counts nobody whom the first has counted."""
    ledger = Ledger(Pure(1), tmp_path / "budget.db" if kept else None)
    weekly = ledger.every(RunningTotal.for_epsilon(1, periods=2, per_person=1), "visitors")
    frame, both = pd.DataFrame({"who": ["ann", "bob"]}), threading.Barrier(2)

    def here(_: object) -> bool:
        """For each waits for the other, for a moment."""
        with suppress(threading.BrokenBarrierError):
            both.wait(0.1)
        return True

    threads = [threading.Thread(target=weekly.count, args=(frame, here), kwargs={"person": "who"}) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert weekly.total._history[0] == [2, 0]
