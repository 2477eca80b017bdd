# ruff: noqa: S608 (the names of schemas are our own)
import asyncio
import contextlib
import re
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import psycopg
import pytest
from psycopg import errors

from tests.postgres_server import Postgres, new_name
from tests.survey.entries import BODY, CLOSED, REPEATED, STORED, entry, keys_in_order, opened, sha, small_survey
from toolkit.core.postgres import set_locally
from toolkit.survey.storage import Collection, NewReport, Outcome, State, StoreError, open_store
from toolkit.survey.storage.postgres import _store_error
from toolkit.survey.storage.writer import Writer

TOKENS = ("invited", "issued", "spent")


@pytest.fixture
def schema() -> str:
    return new_name()


@pytest.fixture
def store(postgres: Postgres, schema: str) -> Iterator[Collection]:
    store = open_store(postgres.url(schema))
    yield store
    store.close()


@pytest.fixture
def ask(postgres: Postgres, schema: str):
    """Return the rows of a query on the tables, as an outsider would see them."""
    with psycopg.connect(f"postgresql://owner@/postgres?host={postgres.folder}", autocommit=True) as connection:
        connection.execute(f"SET search_path = {schema}")

        def rows(query: str, *values: object) -> list[tuple[Any, ...]]:
            cursor = connection.execute(query, values)
            return cursor.fetchall() if cursor.description else []

        yield rows


def server_has(store: Collection, setting: str) -> str:
    with store._engine.reading() as session:
        return session.row(f"SHOW {setting}")[0]


# Information in the tables

SHAPES = {  # a question mark: it may be empty
    "collection": "access text, cap bigint?, hash text, state text, version bigint",
    "edition": "hash text, number bigint, survey text, toolkit text",
    "invited": "hash bytea",
    "issued": "blinded bytea, invitation bytea",
    "pool": "content text, version bigint",
    "report": "body text, key bytea",
    "setting": "name text, value text",
    "spent": "hash bytea",
    "tally": "reports bigint, server text",
}
COLUMNS = [
    (table, name, kind.rstrip("?"), kind[-1] != "?", "")
    for table, columns in SHAPES.items()
    for name, kind in map(str.split, columns.split(", "))
]
TABLES = sorted({table for table, *_ in COLUMNS})
RELATIONS = sorted([*((table, "r") for table in TABLES), *((f"{table}_pkey", "i") for table in TABLES)])


def defined(ask, schema: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return every column, relation, trigger and function of a schema."""
    columns = """SELECT relname, attname, format_type(atttypid, atttypmod), attnotnull,
        concat(pg_get_expr(adbin, adrelid), attidentity, attgenerated)
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE relnamespace = %s::regnamespace AND relkind <> 'i' AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2"""  # noqa: E501
    relations = "SELECT relname, relkind::text FROM pg_class WHERE relnamespace = %s::regnamespace ORDER BY 1, 2"
    triggers = (
        "SELECT tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid WHERE relnamespace = %s::regnamespace"
    )
    functions = "SELECT proname FROM pg_proc WHERE pronamespace = %s::regnamespace"
    queries = {"columns": columns, "relations": relations, "triggers": triggers, "functions": functions}
    return {name: ask(query, schema) for name, query in queries.items()}


EXPECTED = {"columns": COLUMNS, "relations": RELATIONS, "triggers": [], "functions": []}


def test_there_is_no_column_that_could_tell_order_time_device_or_token(store: Collection, ask, schema: str) -> None:
    opened(store)
    assert defined(ask, schema) == EXPECTED
    store.set_state(State.CLOSED)
    assert defined(ask, schema) == EXPECTED


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE report ADD COLUMN at timestamptz DEFAULT now()",
        "ALTER TABLE report ADD COLUMN number bigserial",
        "ALTER TABLE report ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY",
        "ALTER TABLE report ALTER COLUMN body SET DEFAULT now()::text",
        "ALTER TABLE spent ADD COLUMN key bytea",
        "CREATE TABLE visit (at text)",
        "CREATE SEQUENCE visitor",
        "CREATE INDEX seen ON report (body)",
        "CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE TRIGGER watch AFTER INSERT ON report EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    ],
)
def test_the_test_of_the_schema_would_notice(store: Collection, ask, schema: str, change: str) -> None:
    opened(store)
    ask(change)
    assert defined(ask, schema) != EXPECTED


def test_a_dump_is_in_the_order_of_keys(store: Collection, postgres: Postgres, schema: str) -> None:
    """It contains the reports and nothing else."""
    opened(store, access="token").invite([sha(f"{i}") for i in range(40)])
    entries = [entry(f"report {i}", by=f"{i}") for i in range(30)]
    for one in entries:
        store.add([one])
    store.set_state(State.CLOSED)
    dump = postgres.dump(schema)
    in_order = sorted(entries, key=lambda one: one.key)
    assert "".join(f"\\\\x{one.key.hex()}\t{one.body}\n" for one in in_order) in dump
    assert set(re.findall(r"^CREATE (\w+)", dump, re.MULTILINE)) == {"SCHEMA", "TABLE"}
    assert not any(word in dump for word in (" DEFAULT ", " timestamp", " IDENTITY", " GENERATED "))
    assert not any(sha(f"{i}").hex() in dump for i in range(40))


def test_closing_leaves_no_order_in_the_places_and_marks_of_rows(store: Collection, ask) -> None:
    opened(store, access="token").invite([sha(f"{i}") for i in range(300)])
    # large values are stored in a separate table
    bodies = [secrets.token_hex(5000 if i < 9 else 50) for i in range(300)]
    entries = [
        entry(body, by=f"{i}", key=key) for i, (body, key) in enumerate(zip(bodies, keys_in_order(300), strict=True))
    ]
    for start in reversed(range(0, 300, 7)):
        store.add(entries[start : start + 7])
    places = "SELECT key FROM report ORDER BY ctid"
    keys = [(one.key,) for one in entries]
    assert ask("SELECT count(DISTINCT xmin::text), count(*) > 280 FROM report") == [
        (21, True)
    ]  # every second time some left the pool
    assert ask(places) != keys
    files = dict(
        ask(
            "SELECT relname, pg_relation_filenode(oid) FROM pg_class WHERE relnamespace = "
            "current_schema()::regnamespace"
        )
    )
    store.set_state(State.CLOSED)
    assert ask("SELECT count(DISTINCT xmin::text), count(*) FROM report") == [(1, 300)]
    assert ask(places) == keys
    after = dict(
        ask(
            "SELECT relname, pg_relation_filenode(oid) FROM pg_class WHERE relnamespace = "
            "current_schema()::regnamespace"
        )
    )
    assert set(after) == set(files)
    assert not {files[name] for name in ("report", "report_pkey", *TOKENS)} & set(after.values())
    beside = "SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = 'report'::regclass"
    ((toast,),) = ask(beside)
    assert ask(f"SELECT count(DISTINCT xmin::text), count(DISTINCT chunk_id) FROM {toast}") == [(1, 9)]


def test_rows_that_left_the_pool_are_in_the_order_of_keys(store: Collection, ask) -> None:
    """This is the order of their positions while the collection is open."""
    opened(store, access="blind").invite([sha(f"{i}") for i in range(50)])
    store.add([entry(by=f"{i}") for i in range(50)])
    assert ask("SELECT count(*) FROM report UNION ALL SELECT count(*) FROM spent") == [(40,), (40,)]
    for table, column in (("report", "key"), ("spent", "hash"), ("invited", "hash")):
        assert ask(f"SELECT {column} FROM {table} ORDER BY ctid") == ask(f"SELECT {column} FROM {table} ORDER BY 1"), (
            table
        )


def test_invitations_that_were_used_do_not_show_in_which_order(store: Collection, ask) -> None:
    opened(store, access="blind").invite([sha(f"{i}") for i in range(40)])
    for i in range(40):
        assert store.issue(sha(f"{i}"), sha("blinded"))
    assert ask("SELECT count(DISTINCT xmin::text), count(*) FROM issued") == [(1, 40)]
    assert ask("SELECT invitation FROM issued ORDER BY ctid") == ask("SELECT invitation FROM issued ORDER BY 1")


def test_nothing_of_a_report_is_in_the_log_of_the_server(
    store: Collection, postgres: Postgres, ask, schema: str
) -> None:
    opened(store, cap=3)
    mark = new_name()  # statements contain the schema
    entries = [entry(f'{{"answers":"{mark}"}}') for _ in range(5)]
    store.add(entries)
    store.add([entry(f"other {mark}", key=entries[0].key)])
    with locked(postgres, schema), pytest.raises(StoreError):
        store.add(entries)
    ask("DROP TABLE tally")
    with pytest.raises(StoreError):
        store.add([entry(f"lost {mark}")])
    log = postgres.log.read_text()
    assert "lock timeout" in log  # the errors are in it
    assert mark not in log
    assert not any(one.key.hex() in log for one in entries)


def test_messages_quote_no_row(store: Collection) -> None:
    opened(store)
    for error, expected in (
        (errors.UniqueViolation, ValueError),
        (errors.StringDataRightTruncation, ValueError),
        (psycopg.InternalError, StoreError),
    ):
        with pytest.raises(expected) as caught, store._engine.writing():
            raise error("DETAIL: Failing row contains (secret)")
        assert "secret" not in str(caught.value)
        assert caught.value.__suppress_context__
        assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "setting", ["log_statement = 'all'", "log_min_duration_statement = 0", "log_transaction_sample_rate = 1"]
)
def test_settings_that_would_log_every_report_are_warned_of(postgres: Postgres, ask, schema: str, setting: str) -> None:
    name = setting.split()[0]
    ask(f"ALTER ROLE owner SET {setting}")
    try:
        store = open_store(postgres.url(schema))
        with pytest.warns(UserWarning, match=f"PostgreSQL's {name} may keep the time of every report"):
            store.create(small_survey())
        store.set_state(State.OPEN)
        one = entry(f"logged {schema}")
        store.add([one])
        store.close()
    finally:
        ask(f"ALTER ROLE owner RESET {name}")
    log = postgres.log.read_text()
    assert f"{schema}" in log  # it logged our statements
    assert one.key.hex() not in log  # but, except for a superuser, not their parameters
    assert f"logged {schema}" not in log


# Durability and concurrency


def test_a_commit_is_durable_whatever_the_role_is_used_to(store: Collection, ask) -> None:
    ask("ALTER ROLE owner SET synchronous_commit = off")
    ask("ALTER ROLE owner SET default_transaction_isolation = 'serializable'")
    try:
        opened(store)
        assert server_has(store, "synchronous_commit") == "on"
        assert server_has(store, "transaction_isolation") == "read committed"
    finally:
        ask("ALTER ROLE owner RESET ALL")


@contextlib.contextmanager
def locked(postgres: Postgres, schema: str) -> Iterator[None]:
    with psycopg.connect(f"postgresql://owner@/postgres?host={postgres.folder}") as other:
        other.execute(f"LOCK TABLE {schema}.tally IN EXCLUSIVE MODE")
        yield


def test_a_locked_collection_is_said_soon_and_recovers(store: Collection, postgres: Postgres, schema: str) -> None:
    opened(store)
    one = entry()
    with locked(postgres, schema):
        start = time.monotonic()
        with pytest.raises(StoreError, match="the collection must be free, got a lock of another session") as caught:
            store.add([one])
        assert time.monotonic() - start < 60  # rather than without limit
        assert caught.value.retry_after == 1
        assert (store.count_reports(), store.state()) == (0, State.OPEN)  # readers do not wait
    assert store.add([one]) == [STORED]


def test_setting_something_waits_longer_than_a_report(store: Collection, monkeypatch) -> None:
    """A researcher would rather wait for another writer."""
    opened(store, access="blind")
    waits, usual = [], set_locally
    monkeypatch.setattr(
        "toolkit.survey.storage.postgres.set_locally",
        lambda connection, settings: waits.append(settings["lock_timeout"]) or usual(connection, settings),
    )
    store.add([entry(by="a")])
    store.issue(sha("a"), sha("b"))
    store.set_setting("port", "1")
    store.set_state(State.PAUSED)
    assert waits == ["1s", "1s", "8s", "8s"]


@pytest.mark.parametrize(
    ("options", "waits"), [({}, False), ({"cap": 5000}, False), ({"cap": 100}, True), ({"access": "blind"}, True)]
)
def test_servers_wait_for_each_other_only_where_more_than_the_key_decides(
    store: Collection, postgres: Postgres, schema: str, options: dict[str, Any], waits: bool
) -> None:
    """In open access, far from the cap, a batch that is not yet on the disk does not delay any other batch."""
    opened(store, **options)
    with contextlib.closing(open_store(postgres.url(schema))) as other:
        assert [one.add([entry(by=f"{place}")]) for place, one in enumerate((store, other))] == [[STORED]] * 2
        with store._engine.writing(**({} if waits else {"is_shared": True})) as session:
            session.insert_reports({bytes(16): "not yet on the disk"})
            if waits:
                with pytest.raises(StoreError, match="a lock of another session"):
                    other.add([entry(by="2")])
            else:
                assert other.add([entry()]) == [STORED]
        assert store.count_reports() == (3 if waits else 4) == len(list(store.reports()))


def test_the_cap_leaves_room_for_what_other_servers_have_not_yet_committed(
    store: Collection, postgres: Postgres, schema: str
) -> None:
    """Two full batches fit below 1,100; a third server waits, and when both are stored it fills the cap exactly."""
    opened(store, cap=1100)
    foreign = [open_store(postgres.url(schema)) for _ in range(2)]
    assert [one.add([entry()]) for one in (store, *foreign)] == [[STORED]] * 3
    with store._engine.writing(is_shared=True) as session:
        session.insert_reports({secrets.token_bytes(16): "not yet on the disk" for _ in range(512)})
        assert foreign[0].add([entry() for _ in range(512)]) == [STORED] * 512
        with pytest.raises(StoreError, match="a lock of another session"):
            foreign[1].add([entry() for _ in range(512)])
    assert foreign[1].add([entry() for _ in range(512)]) == [STORED] * 73 + [Outcome.FULL] * 439
    assert store.count_reports() == 1100 == len(list(store.reports()))
    for other in foreign:
        other.close()


def test_several_servers_fill_the_cap_exactly(postgres: Postgres, schema: str) -> None:
    """Far from the cap servers share the lock; near the end each has it exclusively."""
    with contextlib.closing(open_store(postgres.url(schema))) as store:
        opened(store, cap=3500)

        def fill(_: int) -> list[Outcome]:
            outcomes: list[Outcome] = []
            with contextlib.closing(open_store(postgres.url(schema))) as server:
                while Outcome.FULL not in outcomes:
                    with contextlib.suppress(StoreError):  # another server has the lock: sent again
                        outcomes += server.add([entry() for _ in range(70)])
            return outcomes

        with ThreadPoolExecutor(4) as pool:
            outcomes = [one for each in pool.map(fill, range(4)) for one in each]
        assert outcomes.count(STORED) == store.count_reports() == len(list(store.reports())) == 3500


def test_a_report_that_two_servers_store_in_the_same_moment_is_stored_once(
    store: Collection, postgres: Postgres, schema: str
) -> None:
    """The second batch waits until the first is on the disk; then it is a repetition, and the server's log has nothing
    to quote.
    """
    opened(store)
    same = entry(f"same {schema}")
    with contextlib.closing(open_store(postgres.url(schema))) as other, ThreadPoolExecutor(1) as pool:
        for one in (store, other):
            assert one.add([entry()]) == [STORED]
        with store._engine.writing(is_shared=True) as session:
            session.insert_reports({same.key: same.body})
            second = pool.submit(other.add, [entry(), same, entry()])
            time.sleep(0.2)
            assert not second.done()
        assert second.result(10) == [STORED, REPEATED, STORED]
        assert other.count_reports() == 5 == len(list(other.reports()))
    assert same.key.hex() not in postgres.log.read_text()


def test_closing_is_not_put_off_by_servers_that_add_all_the_time(
    store: Collection, postgres: Postgres, schema: str
) -> None:
    """Closing waits for batches in progress: nothing is stored afterwards, and no acknowledged report is missing."""
    opened(store)
    servers = [open_store(postgres.url(schema)) for _ in range(3)]
    stored: list[Outcome] = []

    def serve(server: Collection) -> None:
        outcomes = [STORED]
        while outcomes == [STORED]:
            stored.extend(outcomes := server.add([entry()]))

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(serve, server) for server in servers]
        while store.count_reports() < 50:
            time.sleep(0.01)
        start = time.monotonic()
        store.set_state(State.CLOSED)
        assert time.monotonic() - start < 60  # rather than without limit
        assert [one.result(10) for one in running] == [None] * 3
    assert stored.count(STORED) == store.count_reports() == len(list(store.reports()))
    for server in servers:
        server.close()


def test_a_lost_connection_is_made_anew_without_anybody_noticing(store: Collection, ask) -> None:
    opened(store)
    for _ in range(3):
        assert ask("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'survey'")
        assert store.add([entry()]) == [STORED]
    assert store.count_reports() == 3


@pytest.mark.parametrize(
    ("error", "words", "seconds"),
    [
        (errors.LockNotAvailable, "the collection must be free, got a lock", 1),
        (errors.DeadlockDetected, "the collection must be free, got a lock", 1),
        (errors.SerializationFailure, "the collection must be free, got a lock", 1),
        (errors.DiskFull, "the database's disk must have room", 30),
        (errors.InsufficientPrivilege, "the role must have the privilege", 30),
        (errors.ReadOnlySqlTransaction, "the database must be writable", 30),
        (errors.UndefinedTable, "the database must be available, got UndefinedTable (42P01): send it again", 5),
    ],
)
def test_every_failure_says_when_to_come_again(error: type[psycopg.Error], words: str, seconds: int) -> None:
    told = _store_error(error("password=secret"))
    assert str(told).startswith(words)
    assert "secret" not in str(told)
    assert told.retry_after == seconds


def test_a_server_that_is_gone_is_said_and_recovers(store: Collection, postgres: Postgres) -> None:
    opened(store)
    one = entry()
    assert store.add([one]) == [STORED]
    postgres.stop()
    try:
        for _ in range(2):
            with pytest.raises(StoreError, match=r"the database must answer, got “connection .*”: nothing") as caught:
                store.add([entry()])
            assert caught.value.retry_after == 5
    finally:
        postgres.start()
    assert store.add([one, entry()]) == [REPEATED, STORED]
    assert store.count_reports() == 2


def test_a_connection_that_cannot_be_prepared_is_closed(store: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = mock.Mock(**{"execute.side_effect": psycopg.OperationalError})
    monkeypatch.setattr(psycopg, "connect", lambda **_: connection)
    with pytest.raises(psycopg.OperationalError):
        store._engine._connect()  # type: ignore[attr-defined]
    connection.close.assert_called_once_with()


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_loses_and_repeats_nothing(store: Collection, postgres: Postgres, mode: str) -> None:
    """`immediate` is a crash: the server recovers from its log. Forty phones continue to send all the time."""
    opened(store, access="blind")
    writer = Writer(store)
    sent: list[NewReport] = []
    outcomes: list[Outcome] = []
    failures: list[StoreError] = []
    restarted = asyncio.Event()

    async def phone() -> None:
        afterwards = 0
        while afterwards < 5:
            sent.append(entry(f"{BODY}{len(sent)}", by=f"{len(sent)}"))
            outcomes.append(await stubborn(sent[-1]))
            afterwards += restarted.is_set()

    async def stubborn(one: NewReport) -> Outcome:
        while True:
            try:
                return await writer.put(one)
            except StoreError as error:
                failures.append(error)
                await asyncio.sleep(0.05)

    async def restart() -> None:
        while len(outcomes) < 200:
            await asyncio.sleep(0.002)
        await asyncio.to_thread(postgres.restart, mode)
        restarted.set()

    async def load() -> None:
        await asyncio.gather(restart(), *(phone() for _ in range(40)))

    asyncio.run(asyncio.wait_for(load(), 60))
    writer.stop()
    assert failures
    assert len(outcomes) == len(sent) >= 400
    assert set(outcomes) <= {STORED, REPEATED}
    assert store.count_reports() == len(sent)
    assert sorted(store.reports()) == sorted(one.body for one in sent)


def test_several_collections_live_in_one_database(postgres: Postgres) -> None:
    urls = [postgres.url(), postgres.url()]
    stores = [opened(open_store(url), title=title) for url, title in zip(urls, ("Exams", "Theft"), strict=True)]
    stores[0].add([entry("one")])
    stores[0].set_state(State.CLOSED)
    assert [store.count_reports() for store in stores] == [1, 0]
    assert stores[1].state() is State.OPEN
    for store in stores:
        store.close()


def test_a_collection_that_is_exchanged_is_not_written_to(
    store: Collection, postgres: Postgres, ask, schema: str
) -> None:
    opened(store)
    ask(f"DROP SCHEMA {schema} CASCADE")
    with pytest.raises(StoreError, match=f"must hold a collection, got none in schema {schema}") as refused:
        store.add([entry()])
    assert refused.value.retry_after == 30
    other = opened(open_store(postgres.url(schema)), title="Theft")
    other.close()
    with pytest.raises(StoreError, match="the same collection as before, got a different one"):
        store.add([entry()])
    assert ask("SELECT count(*) FROM report") == [(0,)]


def test_a_session_that_cannot_be_made_silent_is_closed(store: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    made, connect = [], psycopg.connect
    monkeypatch.setattr(psycopg, "connect", lambda **options: made.append(connect(**options)) or made[-1])
    monkeypatch.setattr("toolkit.survey.storage.postgres._HIDE_PARAMETERS", "no statement")
    with pytest.raises(StoreError, match="must be available, got SyntaxError"):
        store.count_reports()
    assert [one.closed for one in made] == [True]


def test_sessions_of_other_collections_do_no_harm(store: Collection, postgres: Postgres, schema: str) -> None:
    """Sessions as PgBouncer provides them in transaction mode: settings of another client, and none of ours."""
    opened(store)
    pilot = open_store(postgres.url(f"{schema}_pilot"))
    opened(pilot)  # the same survey
    connection = store._engine._connection
    for left in (f"SET search_path = {schema}_pilot", "SET synchronous_commit = off", "SET lock_timeout = 0"):
        connection.execute(left)
    report = entry()
    assert store.add([report]) == [STORED]
    assert (store.count_reports(), pilot.count_reports()) == (1, 0)
    assert server_has(store, "synchronous_commit") == "on"
    assert server_has(store, "lock_timeout") == "1s"
    for patience, wait in (
        ({}, "1s"),
        ({"is_shared": True}, "1s"),
        ({"wait_longer": True}, "8s"),
    ):  # a phone may try again
        with store._engine.writing(**patience) as session:
            assert session.row("SHOW lock_timeout") == (wait,)
    connection.execute("DISCARD ALL")
    for _ in range(8):  # more often than psycopg needs to prepare a statement
        assert store.add([report]) == [REPEATED]
    assert connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)
    pilot.close()


def test_an_exchanged_collection_is_not_written_to(store: Collection, postgres: Postgres, ask, schema: str) -> None:
    """Another collection of the same survey has taken its place."""
    opened(store)
    ask(f"ALTER SCHEMA {schema} RENAME TO {schema}_first")
    with contextlib.closing(open_store(postgres.url(schema))) as other:
        opened(other)
        with pytest.raises(StoreError, match="the same collection as before"):
            store.add([entry()])
        assert other.count_reports() == 0


def test_the_schema_of_something_else_is_left_alone(store: Collection, ask, schema: str) -> None:
    ask(f"CREATE SCHEMA {schema}")
    ask(f"CREATE TABLE {schema}.collection (name text)")
    with pytest.raises(ValueError, match=f"needs a separate schema, got {schema}"):
        store.create(small_survey())
    assert ask(f"SELECT relname FROM pg_class WHERE relnamespace = '{schema}'::regnamespace") == [("collection",)]


def test_who_may_only_read_reads_and_still_may_after_closing(
    store: Collection, postgres: Postgres, ask, schema: str
) -> None:
    opened(store)
    store.add([entry("one")])
    ask(f"CREATE ROLE {schema} LOGIN")
    ask(f"GRANT USAGE ON SCHEMA {schema} TO {schema}; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {schema}")
    looking = open_store(postgres.url(schema, user=schema), readonly=True)
    assert list(looking.reports()) == ["one"]
    store.set_state(State.CLOSED)
    assert (list(looking.reports()), looking.count_reports(), looking.state()) == (["one"], 1, State.CLOSED)
    assert server_has(looking, "transaction_read_only") == "on"
    looking.close()
    writing = open_store(postgres.url(schema, user=schema))
    with pytest.raises(StoreError, match="must have the privilege"):
        writing.add([entry()])
    writing.close()
    ask(f"DROP OWNED BY {schema}; DROP ROLE {schema}")


RIGHTS = """
GRANT SELECT ON collection, edition, setting, invited TO {role};
GRANT SELECT, INSERT, UPDATE ON tally TO {role};
GRANT SELECT, UPDATE (content) ON pool TO {role};
GRANT SELECT, INSERT ON report, spent TO {role};
GRANT SELECT, INSERT, DELETE ON issued TO {role};
"""


@pytest.mark.parametrize("access", ["open", "token", "blind"])
def test_a_server_needs_no_more_rights_than_to_add(
    store: Collection, postgres: Postgres, ask, schema: str, access: str
) -> None:
    """The role can change neither the survey nor its state nor any report, and cannot invite."""
    opened(store, access=access)
    if access != "open":
        store.invite([sha(f"{i}") for i in range(40)])
    store.set_setting("issuer", "fingerprint")
    ask(f"CREATE ROLE {schema} LOGIN")
    ask(f"GRANT USAGE ON SCHEMA {schema} TO {schema}; {RIGHTS.format(role=schema)}")
    with contextlib.closing(open_store(postgres.url(schema, user=schema))) as server:
        assert (server.survey().access, len(server.editions()), server.set_default("issuer", "x")) == (
            access,
            1,
            "fingerprint",
        )
        if access == "blind":
            assert server.issue(sha("0"), sha("blinded"))
        for start in range(0, 40, 8):
            assert server.add([entry(by=f"{i}") for i in range(start, start + 8)]) == [STORED] * 8
        for act in (
            lambda: server.set_state(State.CLOSED),
            lambda: server.set_setting("port", "1"),
            lambda: server.amend(small_survey("B")),
        ):
            with pytest.raises((StoreError, ValueError)):
                act()
        assert (server.state(), server.count_reports()) == (State.OPEN, 40)
    store.set_state(State.CLOSED)
    assert store.count_reports() == 40 == len(list(store.reports()))
    ask(f"DROP OWNED BY {schema}; DROP ROLE {schema}")


def test_closing_waits_for_readers_and_is_all_or_nothing(
    store: Collection, postgres: Postgres, schema: str, monkeypatch
) -> None:
    monkeypatch.setattr("toolkit.survey.storage.postgres._PATIENT_WAIT", "100ms")
    opened(store, access="token").invite([sha("a"), sha("b")])
    store.add([entry("one", by="a")])
    with psycopg.connect(f"postgresql://owner@/postgres?host={postgres.folder}") as reader:
        reader.execute(f"SELECT FROM {schema}.report")
        with pytest.raises(StoreError, match="a lock of another session"):
            store.set_state(State.CLOSED)
    assert store.state() is State.OPEN
    assert store.add([entry("two", by="b")]) == [STORED]
    store.set_state(State.CLOSED)
    assert store.count_reports() == 2 == len(list(store.reports()))
    assert store.add([entry()]) == [CLOSED]


def test_a_database_of_another_encoding_is_refused(postgres: Postgres, ask) -> None:
    name = new_name()
    ask(f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    store = open_store(f"postgresql://owner@/{name}?host={postgres.folder}")
    with pytest.raises(ValueError, match="the encoding UTF8"):
        store.create(small_survey())
    store.close()
    ask(f"DROP DATABASE {name}")


@pytest.mark.parametrize("schema", ["Survey", "1st", "a-b", "x; DROP SCHEMA y", "s" * 64, ""])
def test_strange_names_of_schemas_are_refused(schema: str) -> None:
    with pytest.raises(ValueError, match="`schema` must consist of lowercase letters"):
        open_store(f"postgresql://localhost/survey?schema={schema}")


def test_urls_that_cannot_be_read_are_refused_without_quoting_a_password() -> None:
    with pytest.raises(ValueError, match="must be a URL") as caught:
        open_store("postgresql://user:secret@localhost/survey?nonsense=1")
    assert "secret" not in str(caught.value)
