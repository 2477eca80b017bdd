# ruff: noqa: S608 (statements are our own)
"""Versions of tables: newer and older ones are rejected with one sentence, and older ones can be upgraded."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.postgres_server import Postgres, new_name
from tests.survey.entries import REPEATED, SPENT, STORED, entry, sha, small_survey
from toolkit.survey.storage import State, open_store, schema
from toolkit.survey.storage.schema import VERSION, check_version, migration_steps

VERSION_1 = """
CREATE TABLE collection (version INTEGER NOT NULL PRIMARY KEY CHECK (version = 1),
  survey TEXT NOT NULL, hash TEXT NOT NULL, access TEXT NOT NULL, cap INTEGER, state TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE tally (version INTEGER NOT NULL PRIMARY KEY CHECK (version = 1), reports INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE report (key BLOB NOT NULL PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE invited (hash BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE unspent (hash BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE issued (invitation BLOB NOT NULL PRIMARY KEY, blinded BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE spent (hash BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
"""  # noqa: E501
TOKENS = [sha("a"), sha("b"), sha("c")]


def migrate(url: str) -> int:
    with closing(open_store(url)) as store:
        return store.migrate()


def fill_sqlite(path: Path, access: str) -> str:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(VERSION_1 + "PRAGMA application_id = 0x53555256;")
        _create_tables(database.execute, "?", access)
        database.commit()
    return f"sqlite:///{path}"


def fill_postgres(postgres: Postgres, access: str) -> str:
    """Make an older collection and return the name of its schema."""
    name = new_name()
    made = VERSION_1.replace(" STRICT, WITHOUT ROWID", "").replace("BLOB", "bytea")
    with psycopg.connect(f"postgresql://owner@/postgres?host={postgres.folder}", autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}; SET search_path = {name}; {made}")
        _create_tables(connection.execute, "%s", access)
    return name


def _create_tables(execute, mark: str, access: str) -> None:
    """Make an open collection of version 1: three people are invited, and one has answered."""
    survey = small_survey(access=access)
    values = (json.dumps(survey.to_dict()), survey.hash, access, None, "open")
    execute(f"INSERT INTO collection VALUES (1, {', '.join([mark] * 5)})", values)
    execute("INSERT INTO tally VALUES (1, 1)")
    execute(f"INSERT INTO report VALUES ({mark}, 'one')", (bytes(16),))
    for token in TOKENS:
        execute(f"INSERT INTO invited VALUES ({mark})", (token,))
    for token in TOKENS[1:]:
        execute(f"INSERT INTO unspent VALUES ({mark})", (token,))
    if access == "blind":
        execute(f"INSERT INTO issued VALUES ({mark}, {mark})", (TOKENS[0], sha("blinded")))
        execute(f"INSERT INTO spent VALUES ({mark})", (sha("nonce"),))


@pytest.fixture(params=["sqlite", "postgresql", pytest.param("pool", id="postgresql-pool")])
def filled(request: pytest.FixtureRequest, tmp_path: Path):
    if request.param == "sqlite":
        return lambda access: fill_sqlite(tmp_path / "survey.db", access)
    if request.param == "pool":
        server = request.getfixturevalue("bouncer")
        return lambda access: server.pooled(fill_postgres(server, access))
    server = request.getfixturevalue("postgres")
    return lambda access: server.url(fill_postgres(server, access))


def test_an_older_collection_is_refused_with_what_to_do_and_left_as_it_is(filled) -> None:
    url = filled("token")
    for readonly in (True, False):
        with closing(open_store(url, readonly=readonly)) as store:
            for use in (store.count_reports, store.survey, lambda store=store: list(store.reports())):
                with pytest.raises(ValueError, match=r"version 2 for this toolkit, got the older version 1: .*migrate"):
                    use()
    with closing(open_store(url)) as store:
        for use in (lambda: store.add([entry()]), lambda: store.create(small_survey(access="token"))):
            with pytest.raises(ValueError, match="got the older version 1"):
                use()


@pytest.mark.slow
def test_an_older_collection_that_was_migrated_goes_on_where_it_was(filled) -> None:
    url = filled("token")
    assert (migrate(url), migrate(url)) == (1, VERSION)
    with closing(open_store(url)) as store:
        assert (store.state(), store.count_reports(), list(store.reports())) == (State.OPEN, 1, ["one"])
        assert store.survey() == small_survey(access="token")
        assert store.editions()[0].hash == small_survey(access="token").hash
        store.create(small_survey(access="token"))
        assert store.add([entry("one", by="a", key=bytes(16)), entry(by="a"), entry(by="b")]) == [
            REPEATED,
            SPENT,
            STORED,
        ]
        store.set_setting("port", "8000")
        store.set_state(State.CLOSED)
        assert store.count_reports() == 2


@pytest.mark.slow
def test_a_migrated_blind_collection_keeps_signatures(filled) -> None:
    """The collection knows which tokens were signed and spent."""
    url = filled("blind")
    migrate(url)
    with closing(open_store(url)) as store:
        assert store.issue(sha("a"), sha("blinded"))
        assert not store.issue(sha("a"), sha("another"))
        assert store.issue(sha("b"), sha("another"))
        assert store.add([entry(by="nonce"), entry(by="other")]) == [SPENT, STORED]


@pytest.mark.slow
def test_tables_that_were_migrated_are_those_that_are_made_today(tmp_path: Path) -> None:
    url = fill_sqlite(tmp_path / "survey.db", "token")
    migrate(url)
    with closing(sqlite3.connect(tmp_path / "survey.db")) as database:
        made = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
    words = {
        name: text.replace("IF NOT EXISTS ", "").replace("main.", "") for name, text in schema.SQLITE_TABLES.items()
    }
    assert made == words


@pytest.mark.slow
def test_a_newer_collection_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "survey.db"
    with closing(open_store(f"sqlite:///{path}")) as store:
        store.create(small_survey())
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE collection SET version = 3")
        database.commit()
    with closing(open_store(f"sqlite:///{path}")) as store:
        for use in (store.count_reports, store.migrate):
            with pytest.raises(
                ValueError, match="got the newer version 3: use the toolkit that created it, or a newer one"
            ):
                use()


def test_there_is_a_way_from_every_older_version() -> None:
    assert migration_steps(VERSION, schema.SQLITE_TABLES) == []
    assert all(migration_steps(version, schema.POSTGRES_TABLES) for version in range(1, VERSION))
    check_version(VERSION)


def test_both_databases_have_the_same_tables() -> None:
    assert schema.SQLITE_TABLES.keys() == schema.POSTGRES_TABLES.keys()
