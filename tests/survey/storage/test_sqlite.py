import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tests.survey.entries import CLOSED, REPEATED, STORED, entry, keys_in_order, opened, sha, small_survey
from toolkit.survey.serving.station import KEY_SETTING
from toolkit.survey.storage import Collection, NewReport, State, StoreError, open_store, sqlite
from toolkit.survey.storage.collection import PAPER_SETTING

ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "survey.db"


@pytest.fixture
def store(path: Path) -> Iterator[Collection]:
    store = open_store(f"sqlite:///{path}")
    yield store
    store.close()


def look(path: Path) -> "closing[sqlite3.Connection]":
    return closing(sqlite3.connect(path, timeout=0, isolation_level=None))


# Information in the file

COLUMNS = {
    "collection": "version INTEGER!, hash TEXT!, access TEXT!, cap INTEGER, state TEXT!",
    "edition": "number INTEGER!, hash TEXT!, toolkit TEXT!, survey TEXT!",
    "setting": "name TEXT!, value TEXT!",
    "tally": "server TEXT!, reports INTEGER!",
    "pool": "version INTEGER!, content TEXT!",
    "report": "key BLOB!, body TEXT!",
    "invited": "hash BLOB!",
    "issued": "invitation BLOB!, blinded BLOB!",
    "spent": "hash BLOB!",
}


def schema(database: sqlite3.Connection) -> dict[str, str]:
    """Return every table with all its columns, including hidden ones, and everything else that the file defines, by
    name.
    """
    found = {}
    for kind, name, text in database.execute("SELECT type, name, sql FROM sqlite_master"):
        if kind != "table":
            found[name] = f"{kind} {text or ''}".strip()
            continue
        columns = database.execute(
            'SELECT name, type, "notnull", dflt_value, hidden FROM pragma_table_xinfo(?)', [name]
        )
        found[name] = ", ".join(
            f"{column} {type_}{'!' * required}{f' DEFAULT {default}' if default else ''}{' hidden' * hidden}"
            for column, type_, required, default, hidden in columns
        )
        if not database.execute("SELECT wr AND strict FROM pragma_table_list(?)", [name]).fetchone()[0]:
            found[name] += ", rowid"
    return found


def test_there_is_no_column_that_could_tell_order_time_device_or_token(store: Collection, path: Path) -> None:
    opened(store)
    with look(path) as database:
        assert schema(database) == COLUMNS
        for table in COLUMNS:
            with pytest.raises(sqlite3.OperationalError, match="no such column"):
                database.execute(f"SELECT rowid FROM {table}")  # noqa: S608


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE report ADD COLUMN at TEXT",
        "ALTER TABLE report ADD COLUMN at TEXT NOT NULL DEFAULT 'now'",
        "ALTER TABLE report ADD COLUMN half TEXT GENERATED ALWAYS AS (substr(body, 1, 2)) VIRTUAL",
        "ALTER TABLE spent ADD COLUMN key BLOB",
        "CREATE TABLE visit (at TEXT)",
        "DROP TABLE spent; CREATE TABLE spent (hash BLOB NOT NULL PRIMARY KEY) STRICT",
        "CREATE TRIGGER watch AFTER INSERT ON report BEGIN UPDATE tally SET reports = unixepoch(); END",
        "CREATE VIEW seen AS SELECT key FROM report",
        "CREATE INDEX seen ON report (body)",
    ],
)
def test_the_test_of_the_schema_would_notice(store: Collection, path: Path, change: str) -> None:
    opened(store)
    with look(path) as database:
        database.executescript(change)
        assert schema(database) != COLUMNS


@pytest.mark.slow
def test_a_dump_holds_the_reports_and_nothing_else_of_anybody(store: Collection, path: Path) -> None:
    opened(store, access="token").invite([sha("a"), sha("b")])
    entries = [entry("one", by="a"), entry("two", by="b")]
    store.add(entries)
    store.set_state(State.CLOSED)
    with look(path) as database:
        rows = [line for line in database.iterdump() if line.startswith("INSERT") and '"edition"' not in line]
    in_order = sorted(entries, key=lambda one: one.key)
    there = [f"INSERT INTO \"report\" VALUES(X'{one.key.hex().upper()}','{one.body}');" for one in in_order]
    others = [
        f"INSERT INTO \"collection\" VALUES(2,'{store.survey().hash}','token',NULL,'closed');",
        "INSERT INTO \"pool\" VALUES(2,'');",
    ]
    assert rows == sorted([*others, *there, "INSERT INTO \"tally\" VALUES('all',2);"])


def closed_file(path: Path, batches: list[list[NewReport]], tokens: list[str]) -> bytes:
    store = opened(open_store(f"sqlite:///{path}"), access="token")
    store.invite(map(sha, tokens))
    for batch in batches:
        store.add(batch)
    store.set_state(State.CLOSED)
    store.close()
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name]  # no log is left
    return path.read_bytes()


@pytest.mark.slow
def test_a_closed_file_does_not_depend_on_the_order(tmp_path: Path) -> None:
    """The file is the same for every order in which reports arrived."""
    tokens = [f"{i}" for i in range(400)]
    entries = [
        entry(f"{i}" * 300, by=token, key=key)
        for i, (token, key) in enumerate(zip(tokens, keys_in_order(400), strict=True))
    ]
    orders = {
        "sorted": [entries],
        "backwards": [[one] for one in reversed(entries)],
        "mixed": [entries[start::37] for start in range(37)],
    }
    files = set()
    for name, batches in orders.items():
        (tmp_path / name).mkdir()
        files.add(closed_file(tmp_path / name / "survey.db", batches, tokens if name == "sorted" else tokens[::-1]))
    assert len(files) == 1
    (content,) = files
    assert all(sha(token) not in content for token in tokens)
    assert all(one.key in content for one in entries)


@pytest.mark.slow
def test_without_closing_the_order_does_show_in_the_file(tmp_path: Path) -> None:
    """This shows that the test above can detect an order."""
    files = set()
    entries = [entry(f"{i}" * 300, key=key) for i, key in enumerate(keys_in_order(400))]
    for name, order in (("one", entries), ("two", entries[::-1])):
        store = opened(open_store(f"sqlite:///{tmp_path / name}"))
        for one in order:
            store.add([one])
        store.close()
        files.add((tmp_path / name).read_bytes())
    assert len(files) == 2


@pytest.mark.slow
def test_what_left_the_pool_is_wiped_from_the_file_at_once(store: Collection, path: Path) -> None:
    """No page of the file contains a token next to its report, except for those who are in the pool now.

    A page with reports alone may contain one of them twice, because SQLite leaves some bytes behind when it splits a
    page.
    """
    people = [f"{i}" for i in range(57)]
    opened(store, access="token").invite(map(sha, people))
    entries = [entry(f"{i}" * 200, by=i) for i in people]
    for one in entries:
        store.add([one])
    content = path.read_bytes()
    assert path.with_name("survey.db-wal").stat().st_size == 0
    with look(path) as database:
        kept = {key for (key,) in database.execute("SELECT key FROM report")}
        size = database.execute("PRAGMA page_size").fetchone()[0]
    pages = [content[place : place + size] for place in range(0, len(content), size)]

    def holds(page: bytes, word: bytes) -> bool:
        return word in page or word.hex().encode() in page

    left = [one for one in entries if one.key in kept]
    assert len(left) == 40  # the others are in the pool
    for one in left:
        assert any(holds(page, one.key) for page in pages)
        assert any(holds(page, one.token_hash) for page in pages)
        assert not any(holds(page, one.key) and holds(page, one.token_hash) for page in pages)


@pytest.mark.slow
def test_a_closed_blind_collection_forgets_signatures(store: Collection, path: Path) -> None:
    """Neither invitations nor blinded messages nor passes remain: no table of tokens has a row, and no hash is in the
    bytes.
    """
    opened(store, access="blind").invite([sha("a"), sha("b")])
    assert store.issue(sha("a"), sha("blinded"))
    assert store.add([entry("one", by="pass")]) == [STORED]
    with look(path) as database:
        tokens = ("invited", "issued", "spent")
        before = [database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tokens]  # noqa: S608
        store.set_state(State.CLOSED)
        after = [database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tokens]  # noqa: S608
    store.close()
    assert (before, after) == ([2, 1, 0], [0, 0, 0])  # the pass was in the pool
    content = path.read_bytes()
    assert not [
        word for word in ("a", "b", "blinded", "pass") if sha(word) in content or sha(word).hex().encode() in content
    ]
    assert b"one" in content


def interrupted(_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.slow
def test_closing_that_was_interrupted_is_finished_later(store: Collection, path: Path, monkeypatch) -> None:
    opened(store, access="token").invite([sha("a")])
    one = entry("one", by="a")
    store.add([one])
    with monkeypatch.context() as broken:
        broken.setattr(sqlite.SqliteEngine, "finish_closing", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.set_state(State.CLOSED)
    assert store.state() is State.CLOSED
    assert store.add([one, entry()]) == [REPEATED, CLOSED]
    with look(path) as database:
        assert database.execute("SELECT state FROM collection").fetchone() == ("closing",)
    store.create(small_survey(access="token"))
    with look(path) as database:
        assert database.execute("SELECT state FROM collection").fetchone() == ("closed",)


@pytest.mark.slow
def test_closing_says_when_a_reader_keeps_the_log_alive(store: Collection, path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sqlite, "_PATIENT_WAIT", 0.05)
    opened(store)
    store.add([entry()])
    with look(path) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM report").fetchone()
        with pytest.raises(StoreError, match="close it again"):
            store.set_state(State.CLOSED)
        assert store.state() is State.CLOSED
    store.set_state(State.CLOSED)
    assert path.with_name("survey.db-wal").stat().st_size == 0


def test_setting_something_waits_longer_than_a_report(store: Collection, monkeypatch) -> None:
    """A phone is asked to try again; a researcher who closes the collection or stores a setting should not be."""
    opened(store, access="blind")
    waits, insist = [], sqlite._execute_when_free
    monkeypatch.setattr(sqlite, "_execute_when_free", lambda *asked: waits.append(asked[1:]) or insist(*asked))
    for patience, use in (
        (1.0, lambda: store.add([entry(by="a")])),
        (1.0, lambda: store.issue(sha("a"), sha("b"))),
        (15.0, lambda: store.set_setting("port", "1")),
        (15.0, lambda: store.set_state(State.PAUSED)),
    ):
        waits.clear()
        use()
        assert [seconds for statement, seconds in waits if statement == "BEGIN IMMEDIATE"] == [patience]


def test_closing_deletes_settings_of_disclosure_and_stations(store: Collection) -> None:
    """The secret of paper sheets is deleted as well."""
    names = (f"{KEY_SETTING} 1", "shown by faculty", PAPER_SETTING, "other")
    opened(store)
    assert [store.set_default(name, "x") for name in names] == ["x"] * 4
    store.set_state(State.CLOSED)
    assert [store.get_setting(name) for name in names] == [None, None, None, "x"]


@pytest.mark.parametrize(("access", "emptied"), [("token", True), ("blind", True), ("open", False)])
def test_a_log_that_a_dead_server_left_is_emptied_by_the_next_one(store, path, monkeypatch, access, emptied) -> None:
    monkeypatch.setattr(sqlite.SqliteEngine, "wipe_log", lambda _: None)
    opened(store, access=access)
    monkeypatch.undo()
    log = path.with_name(f"{path.name}-wal")
    for readonly in (True, False):
        assert log.stat().st_size > 0  # a reader leaves it
        with closing(open_store(f"sqlite:///{path}", readonly=readonly)) as other:
            other.state()
            assert (log.stat().st_size == 0) == (emptied and not readonly)


def test_the_log_is_emptied_when_an_invitation_was_signed(store: Collection, path: Path) -> None:
    """It would reveal who requested it together."""
    opened(store, access="blind").invite([sha("a")])
    log = path.with_name(f"{path.name}-wal")
    assert log.stat().st_size > 0
    assert not store.issue(sha("unknown"), sha("b"))
    assert store.issue(sha("a"), sha("b"))
    assert log.stat().st_size == 0


def test_a_store_that_is_closed_holds_no_file_open(store: Collection, path: Path) -> None:
    def held() -> list[str]:
        return [one.path for one in psutil.Process().open_files() if one.path.startswith(str(path))]

    opened(store)
    assert held()
    store.close()
    assert held() == []


def test_the_file_is_for_its_owner_alone(store: Collection, path: Path) -> None:
    opened(store).add([entry()])
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name


@pytest.mark.slow
def test_a_closed_collection_can_be_read_where_nothing_can_be_written(store: Collection, path: Path) -> None:
    opened(store).add([entry("one")])
    store.set_state(State.CLOSED)
    store.close()
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    looking = open_store(f"sqlite:///{path}", readonly=True)
    assert list(looking.reports()) == ["one"]
    looking.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


# Durability


def test_every_commit_is_synced(store: Collection) -> None:
    opened(store)
    with store._engine.writing() as session:
        names = ("journal_mode", "synchronous", "secure_delete", "fullfsync")
        settings = {name: session.row(f"PRAGMA {name}")[0] for name in names}
    assert settings == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "fullfsync": 1}


@pytest.mark.slow
def test_a_locked_database_is_said_soon_and_recovers(store: Collection, path: Path) -> None:
    opened(store)
    one = entry()
    with look(path) as other:
        other.execute("BEGIN EXCLUSIVE")
        start = time.monotonic()
        with pytest.raises(StoreError, match="the database must be free, got “database is locked”") as caught:
            store.add([one])
        assert time.monotonic() - start < 60  # rather than without limit
        assert caught.value.retry_after == 1
        assert (store.count_reports(), store.state()) == (0, State.OPEN)  # readers do not wait
        other.execute("ROLLBACK")
    assert store.add([one]) == [STORED]


@pytest.mark.parametrize(
    ("seconds", "causes"), [(1, "BUSY LOCKED"), (30, "FULL IOERR CANTOPEN READONLY NOTADB CORRUPT MISUSE")]
)
def test_every_failure_says_when_to_come_again(seconds: int, causes: str, store: Collection) -> None:
    for cause in causes.split():
        with pytest.raises(StoreError, match=r"must .*, got it for survey.db: nothing was stored\.") as caught:
            store._engine._fail(cause, "it")
        assert caught.value.retry_after == seconds


def test_a_report_that_no_file_can_hold_is_refused(store: Collection) -> None:
    """It is rejected permanently and not stored."""
    opened(store)
    with store._engine.reading() as session:
        session._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000)
    with pytest.raises(ValueError, match="a report must fit into the database, got one that does not"):
        store.add([entry("x" * 2000)])
    assert store.count_reports() == 0


def test_a_lock_that_stops_a_reader_half_way_leaves_nothing_behind(store: Collection, path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sqlite, "_WAIT", 0.01)
    opened(store).set_state(State.CLOSED)
    store.close()  # from now on without a separate log, so that writers block readers
    assert store.count_reports() == 0
    with look(path) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="the database must be free"):
            store.count_reports()
    assert store.count_reports() == 0


def test_a_report_waits_one_second_for_another_writer(store: Collection, monkeypatch) -> None:
    """A change of the collection waits fifteen seconds."""
    opened(store)
    insist, waits = sqlite._execute_when_free, []
    monkeypatch.setattr(sqlite, "_execute_when_free", lambda *told: waits.append(told[1:]) or insist(*told))
    store.add([entry()])
    assert {*waits} == {("BEGIN IMMEDIATE", 1.0)}
    waits.clear()
    store.set_state(State.PAUSED)
    assert waits == [("BEGIN IMMEDIATE", 15.0)]


@pytest.mark.slow
def test_a_short_lock_is_waited_for(store: Collection, path: Path) -> None:
    opened(store)
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.2, other.execute, ["ROLLBACK"])
        timer.start()
        assert store.add([entry()]) == [STORED]
        timer.join()


def test_an_interrupt_while_waiting_for_the_lock_is_the_error_that_arrives(store: Collection, monkeypatch) -> None:
    """Nothing has begun by then, so that there is nothing to roll back."""
    store.create(small_survey())

    def stopped(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "_execute_when_free", stopped)
        with pytest.raises(KeyboardInterrupt):
            store.count_reports()
    assert store.count_reports() == 0


@pytest.mark.slow
def test_a_full_disk_loses_nothing_that_was_acknowledged_and_recovers(store: Collection, path: Path) -> None:
    opened(store)
    store.close()
    worker = Path(__file__).with_name("full_disk.py")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(worker), f"sqlite:///{path}"],
        check=True,
        capture_output=True,
        timeout=60,
        cwd=ROOT,
        env=environment,
    )
    said = json.loads(done.stdout)
    assert len(said["failures"]) == 5
    assert all("the disk must have room" in message and wait == 30 for message, wait in said["failures"])
    assert said["after"] == ["stored"]
    expected = sorted([*said["acknowledged"], *(body + "twin" for body in said["acknowledged"])])
    assert len(expected) == said["counted"] > 10
    assert sorted(store.reports()) == [*expected, "room again"]
    with look(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_log_that_cannot_be_emptied_costs_no_report_and_is_emptied_later(
    store: Collection, path: Path, monkeypatch
) -> None:
    """Committed data are on the disk, whatever happens to the log; a full disk may prevent the log from being merged
    into the file.
    """
    opened(store, access="token").invite([sha("a"), sha("b")])
    store.count_reports()

    def failing(database: sqlite3.Connection, statement: str, wait: float) -> bool:
        if "checkpoint" in statement:
            raise sqlite3.OperationalError("disk I/O error")
        return insist(database, statement, wait)

    insist = sqlite._execute_when_free
    with monkeypatch.context() as broken:
        broken.setattr(sqlite, "_execute_when_free", failing)
        assert store.add([entry(by="a")]) == [STORED]
    assert path.with_name("survey.db-wal").stat().st_size > 0
    assert store.add([entry(by="b")]) == [STORED]
    assert path.with_name("survey.db-wal").stat().st_size == 0
    assert store.count_reports() == 2


@pytest.mark.slow
def test_a_database_that_may_not_grow_is_said_and_recovers(store: Collection) -> None:
    opened(store)
    with store._engine.writing() as session:
        database = session._connection
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    database.execute(f"PRAGMA max_page_count = {pages + 5}")
    acknowledged = []

    def fill() -> None:
        while True:
            acknowledged.extend(store.add([entry("x" * 3000), entry("y" * 3000)]))

    with pytest.raises(StoreError, match="the disk must have room, got “database or disk is full”") as caught:
        fill()
    assert caught.value.retry_after == 30
    assert store.count_reports() == len(acknowledged) == len(list(store.reports()))
    assert store.add([entry()]) == [STORED]  # on a new connection, which has no such limit


# Another file


def test_nothing_is_made_by_looking(store: Collection, path: Path) -> None:
    for use in (store.state, store.count_reports, lambda: store.add([entry()])):
        with pytest.raises(StoreError, match="the database must exist"):
            use()
    assert not path.exists()


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="must exist, and its folder must be writable, got FileNotFoundError"):
        open_store(f"sqlite:///{tmp_path}/nowhere/survey.db").create(small_survey())


def test_tables_without_a_collection_are_said(store: Collection) -> None:
    """Such files are left by servers that were killed before a transaction had begun."""
    with store._engine.creating():
        pass
    for use in (store.count_reports, store.survey, lambda: store.add([entry()])):
        with pytest.raises(StoreError, match="the database must hold a collection, got none: create one first"):
            use()
    assert opened(store).add([entry()]) == [STORED]


def test_a_file_that_is_moved_away_is_not_written_to(store: Collection, path: Path) -> None:
    opened(store)
    store.add([entry()])
    away = path.with_name("away.db")
    path.rename(away)
    with pytest.raises(StoreError, match="must exist"):
        store.add([entry()])
    assert not path.exists()
    away.rename(path)
    assert store.add([entry()]) == [STORED]
    assert store.count_reports() == 2


@pytest.mark.slow
@pytest.mark.parametrize("used", [True, False])
def test_an_exchanged_file_is_noticed_and_not_written_to(store: Collection, path: Path, used: bool) -> None:
    """This holds before its first use as well."""
    store.create(small_survey())
    if used:
        store.set_state(State.OPEN)
        store.add([entry()])
    opened(open_store(f"sqlite:///{path.with_name('other.db')}"), title="Theft").close()
    path.with_name("other.db").replace(path)
    for suffix in ("-wal", "-shm"):
        path.with_name(f"survey.db{suffix}").unlink(missing_ok=True)
    changes = (lambda: store.set_setting("port", "8000"), lambda: store.add([entry()]))
    for use in (store.count_reports, lambda: store.get_setting("port"), *changes):
        with pytest.raises(StoreError, match="the same collection as before, got a different one"):
            use()
    with look(path) as database:
        assert database.execute("SELECT count(*) FROM report").fetchone() == (0,)


def test_the_database_of_something_else_is_left_alone(store: Collection, path: Path) -> None:
    with look(path) as database:
        database.execute("CREATE TABLE thing (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(ValueError, match="a new collection needs a separate database"):
        store.create(small_survey())
    with pytest.raises(StoreError, match="the database must be a collection, got something else"):
        store.count_reports()
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"Dear diary, " * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_said(store: Collection, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for use in (store.count_reports, lambda: store.create(small_survey())):
        with pytest.raises(StoreError, match="the database must be"):
            use()
    assert path.read_bytes() == content


@pytest.mark.slow
def test_paths_are_relative_or_absolute_and_may_hold_anything(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("plain.db", "with space?mode=ro&x=1#%20ü.db"):
        store = open_store(f"sqlite:///{name}")
        monkeypatch.chdir("/")  # where it was opened, not the current directory
        store.create(small_survey())
        store.close()
        assert (tmp_path / name).exists()
        with closing(open_store(f"sqlite:///{tmp_path / name}")) as store:
            assert store.state() is State.DRAFT
        monkeypatch.chdir(tmp_path)


def test_a_collection_that_is_deleted_by_a_link_to_it_is_gone(tmp_path: Path) -> None:
    """And not only the link."""
    path, link = tmp_path / "survey.db", tmp_path / "link.db"
    with closing(open_store(f"sqlite:///{path}")) as store:
        opened(store).set_state(State.CLOSED)
    link.symlink_to(path)
    with closing(open_store(f"sqlite:///{link}")) as store:
        store.delete()
    assert not path.exists()
