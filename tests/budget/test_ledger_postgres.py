# ruff: noqa: S608 (schemas have names of our own)
"""A ledger in PostgreSQL keeps what one in a file promises: under many machines, kills, a pool, roles, old backups."""

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.budget.spending import race
from tests.postgres_server import Postgres, new_name
from toolkit import Curator, Estimate
from toolkit.budget.charges import RecordError, row_link
from toolkit.budget.ledger import BudgetError, Ledger
from toolkit.budget.ledger_postgres import Schema, StreamSchema
from toolkit.central.stream import RunningTotal
from toolkit.core.loss import Approx, Loss, Pure, Zcdp


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What this machine knows of ledgers elsewhere."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture(params=["straight", pytest.param("through a pool", marks=pytest.mark.slow)])
def url(postgres: Postgres, request: pytest.FixtureRequest) -> str:
    """Through a pool, sessions hold temporary tables of the same names."""
    if request.param == "straight":
        return postgres.url()
    return request.getfixturevalue("bouncer").pooled()


def run(postgres: Postgres, statement: str, user: str = "owner") -> None:
    with psycopg.connect(postgres.url("public", user).replace("&schema=public", "")) as connection:
        connection.execute(statement.encode())


def schema_of(url: str) -> str:
    return url.rpartition("=")[2]


@pytest.mark.walk
def test_a_second_process_goes_on_and_the_ceiling_holds(url: str) -> None:
    first, second = Ledger(Pure(1), url, neighbors="replace", unit="person"), Ledger.open(url)
    assert first.charge(Pure("1/4"), "mean of age").number == 1
    assert second.charge(Pure("1/2"), "count").number == 2
    with pytest.raises(BudgetError):
        first.charge(Pure("1/3"))
    assert first.spent == second.spent == Pure("3/4")
    assert [entry.label for entry in Ledger.open(url).entries()] == ["mean of age", "count"]
    assert (second.neighbors, second.unit, second.id) == ("replace", "person", first.id)
    assert f"schema {schema_of(url)} of PostgreSQL" in repr(first)


@pytest.mark.parametrize("other", [{"ceiling": Pure(2)}, {"simulated": True}, {"neighbors": "add_remove"}])
def test_what_it_was_made_with_stays(url: str, other: dict[str, object]) -> None:
    Ledger(Pure(1), url, neighbors="replace")
    with pytest.raises(ValueError, match=r"ceiling of a ledger|must be the same|replace"):
        Ledger(**{"ceiling": Pure(1), "path": url, **other})  # type: ignore[arg-type]


def test_a_curator_releases_under_it_and_publications_are_listed(url: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    curator = Curator(pandas.DataFrame({"age": [20, 30, 40]}), Ledger(Pure(1), url), "replace")
    estimate = curator.mean("age", bounds=(0, 100), epsilon=1, missing="drop")
    assert isinstance(estimate, Estimate)
    estimate.publish(tmp_path / "age")
    (publication,) = Ledger.open(url).register.publications()
    assert publication.entry == 1
    assert publication.file in Ledger.open(url).report()


def test_no_ledger_there_is_said_and_another_schema_is_not_taken_for_one(postgres: Postgres, url: str) -> None:
    with pytest.raises(RecordError, match="must hold a ledger, got none in schema"):
        Ledger.open(url)
    name = new_name()
    run(postgres, f"CREATE SCHEMA {name}; CREATE TABLE {name}.mine (a int)")
    with pytest.raises(RecordError, match="must hold a ledger"):
        Ledger(Pure(1), postgres.url(name))


def test_a_server_that_is_away_is_said_without_the_password() -> None:
    with pytest.raises(RecordError, match="must be available") as refusal:
        Ledger(Pure(1), "postgresql://ann:secret@/office?host=/nowhere")
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "statement",
    ["UPDATE {0}.entries SET charged = 'pure 0'", "DELETE FROM {0}.entries", "TRUNCATE {0}.entries",
     "UPDATE {0}.head SET ceiling = 'pure 9'", "DELETE FROM {0}.head", "TRUNCATE {0}.head",
     "INSERT INTO {0}.entries VALUES (7, '', '', NULL, 'pure 1', 'pure 1', 'pure 1', '')"],
)  # fmt: skip
def test_nothing_is_changed_or_taken_back_even_by_the_owner(postgres: Postgres, url: str, statement: str) -> None:
    Ledger(Pure(1), url).charge(Pure("1/4"))
    with pytest.raises(psycopg.errors.RaiseException, match=r"never taken back|only added at the end"):
        run(postgres, statement.format(schema_of(url)))


@pytest.mark.slow
def test_a_colleagues_temporary_table_in_the_pool_swallows_no_charge(bouncer: Postgres) -> None:
    """A bare `entries` would mean this copy, and what is charged there is gone with the session."""
    name = new_name()
    ledger = Ledger(Pure(1), bouncer.pooled(name))
    ledger.charge(Pure("1/10"))
    for _ in range(2):  # the pool has two sessions
        with psycopg.connect(bouncer.pool, prepare_threshold=None) as colleague:
            colleague.execute(f"DROP TABLE pg_temp.entries; CREATE TEMP TABLE entries AS TABLE {name}.entries")
    for _ in range(9):
        ledger.charge(Pure("1/10"))
    with pytest.raises(BudgetError):
        Ledger.open(bouncer.pooled(name)).charge(Pure("1/10"))
    with psycopg.connect(bouncer.url(name).partition("&")[0]) as server:
        rows = server.execute(f"SELECT total FROM {name}.entries ORDER BY number").fetchall()
    assert (len(rows), rows[-1]) == (10, ("pure 1",))


def test_a_transaction_that_waited_sees_the_charges_made_meanwhile(postgres: Postgres, url: str) -> None:
    """The default isolation level of the role does not matter. At another isolation level a transaction would not
    see a charge that was made while it waited.
    """
    ledger = Ledger(Pure(1), url)
    run(postgres, "ALTER ROLE owner SET default_transaction_isolation = 'repeatable read'")
    try:
        with ledger._record._connected() as database:
            assert database.execute("SHOW transaction_isolation").fetchone() == ("read committed",)
    finally:
        run(postgres, "ALTER ROLE owner RESET ALL")


ROW = (2, "", "", "replace", "pure 1/4", "pure 1/4", "pure 1/2", "person", None)
DAMAGED = {  # by what it is refused with: the columns that differ from a row that fits
    "charges are only added": {0: 9},
    "loss_check": {4: "pure 1/0"},
    "a delta is a probability": {4: "approx 1/4 5/4"},
    "check": {4: f"pure 1/{'9' * 5000}"},
    "unit never change": {7: "row"},
    "neighbors and unit": {3: "add_remove"},
    "currency of the ceiling": {5: "zcdp 1/4", 6: "zcdp 1/2"},
    "charged_check": {5: "pure -1/4", 6: "pure 0"},
    "numeric": {5: "pure nothing"},
    "total_check": {6: "pure 1/2/1"},
    "sum of the charges": {6: "pure 1/4"},
    "does not pass the ceiling": {5: "pure 1", 6: "pure 5/4"},
}


@pytest.mark.slow
@pytest.mark.parametrize("reason", ["", "follows the one before", *DAMAGED])
def test_the_server_takes_no_row_that_could_not_be_read(postgres: Postgres, reason: str) -> None:
    """Else one row of one who may charge would end the ledger for everybody. Without a reason the row is good."""
    ledger = Ledger(Pure(1), postgres.url(schema := new_name()))
    ledger.charge(Pure("1/4"), neighbors="replace", unit="person")
    row = tuple(DAMAGED.get(reason, {}).get(column, content) for column, content in enumerate(ROW))
    link = row_link(ledger._record._position.link, row) if "before" not in reason else "0" * 64
    query = f"INSERT INTO {schema}.entries VALUES ({', '.join(['%s'] * 10)})"
    with psycopg.connect(postgres.url(schema).rpartition("&")[0]) as connection:
        if reason:
            with pytest.raises(psycopg.Error, match=reason):
                connection.execute(query, (*row[:7], link, *row[7:]))
        else:
            connection.execute(query, (*row[:7], link, *row[7:]))
    assert ledger.charge(Pure("1/4")).number == (2 if reason else 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "content", "reason"), [(3, "anybody", "neighbors_check"), (7, "family", "unit_check")]
)
def test_nor_a_first_row_about_nobody(postgres: Postgres, column: int, content: str, reason: str) -> None:
    """Of which every later charge would be refused: neighbors and unit never change."""
    ledger = Ledger(Pure(1), postgres.url(schema := new_name()))
    first: list[Any] = [1, "", "", None, "pure 1/4", "pure 1/4", "pure 1/4", None, None]
    first[column] = content
    link = row_link(ledger._record._position.link, tuple(first))
    query = f"INSERT INTO {schema}.entries VALUES ({', '.join(['%s'] * 10)})"
    address = postgres.url(schema).rpartition("&")[0]
    with psycopg.connect(address) as connection, pytest.raises(psycopg.Error, match=reason):
        connection.execute(query, (*first[:7], link, *first[7:]))
    assert ledger.charge(Pure("1/4")).number == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ceiling", "charge"),
    [
        (Pure(1), Pure(Fraction(1, 3**40))),
        (Approx(1, "1/1000"), Approx("1/7", Fraction(1, 10**70))),
        (Zcdp("1/2"), Zcdp(Fraction(2**200 - 1, 2**210))),
    ],
)
@pytest.mark.parametrize("simulated", [False, True])
def test_the_server_computes_links_and_sums_as_we_do(url: str, ceiling: Loss, charge: Loss, simulated: bool) -> None:
    """Every character that a label may hold in three planes, each unit with and without terms."""
    letters = [
        chr(code) for code in (*range(0x20, 0x180), 0x2028, 0xFFFD, 0x1F600, 0x10FFFD) if chr(code).isprintable()
    ]
    ledger = Ledger(ceiling, url, neighbors="replace" if simulated else None, simulated=simulated)
    for number, label in enumerate(["", *("".join(letters[at::3]) for at in range(3)), '\\"', "n"]):
        ledger.charge(charge, label, terms="several\n\tlines\x7f" if number % 2 else "", mechanism=label)
    known = Ledger(ceiling, url.replace("schema=", "schema=u"), unit="person", simulated=simulated)
    known.charge(charge, "a", neighbors="add_remove", terms="at most 1 row")
    known.charge(charge, "b")
    known.charge(charge, "c", unit="row", times=1)
    assert [len(Ledger.open(one).entries()) for one in (url, url.replace("schema=", "schema=u"))] == [6, 3]


def test_the_owner_can_repair_a_ledger_as_documented(postgres: Postgres, url: str) -> None:
    """The steps remove a row that no charge wrote. It can only come about with the checks off, or before there were
    any; what was charged stays charged.
    """
    ledger, schema = Ledger(Pure(1), url), schema_of(url)
    ledger.charge(Pure("1/4"))
    run(
        postgres,
        f"ALTER TABLE {schema}.entries DISABLE TRIGGER next;"
        f" INSERT INTO {schema}.entries VALUES (2, '', '', NULL, 'pure 1', 'pure 1', 'pure 1', 'by hand');"
        f" ALTER TABLE {schema}.entries ENABLE TRIGGER next",
    )
    for use in (lambda: Ledger.open(url), lambda: ledger.charge(Pure("1/4"))):
        with pytest.raises(RecordError, match=r"got charge 2 changed.*docs/production.md explains how its owner"):
            use()
    page = (Path(__file__).parents[2] / "docs" / "production.md").read_text(encoding="utf-8")
    (statements,) = re.findall(r"```sql\n(BEGIN;\n.*?)```", page, re.DOTALL)
    assert "number >= 7" in statements
    run(postgres, statements.replace("claims.", f"{schema}.").replace(">= 7", ">= 2"))
    assert (Ledger.open(url).spent, ledger.charge(Pure("1/4")).number) == (Pure("1/4"), 2)
    with pytest.raises(psycopg.errors.RaiseException, match="never taken back"):
        run(postgres, f"DELETE FROM {schema}.entries")


@pytest.mark.parametrize(
    "statement",
    ["UPDATE {0}.entries SET charged = 'pure 0', total = 'pure 0'", "DELETE FROM {0}.entries WHERE number = 2"],
)
def test_an_edited_record_is_refused(postgres: Postgres, url: str, statement: str, notes: Path) -> None:
    ledger = Ledger(Pure(1), url)
    for _ in range(3):
        ledger.charge(Pure("1/4"))
    schema = schema_of(url)
    run(postgres, f"ALTER TABLE {schema}.entries DISABLE TRIGGER ALL; {statement.format(schema)}")
    shutil.rmtree(notes)  # a machine that knows nothing, too
    with pytest.raises(RecordError, match="as they were written"):
        Ledger.open(url)


def test_an_older_backup_is_refused_by_who_charged_since(postgres: Postgres, url: str, notes: Path) -> None:
    ledger = Ledger(Pure(1), url)
    ledger.charge(Pure("1/4"))
    schema = schema_of(url)
    run(postgres, f"CREATE SCHEMA {schema}_old; CREATE TABLE {schema}_old.entries AS TABLE {schema}.entries")
    ledger.charge(Pure("1/4"))
    run(postgres, f"ALTER TABLE {schema}.entries DISABLE TRIGGER ALL; DELETE FROM {schema}.entries")
    run(postgres, f"INSERT INTO {schema}.entries TABLE {schema}_old.entries")
    run(postgres, f"ALTER TABLE {schema}.entries ENABLE TRIGGER ALL")
    for look in (lambda: ledger.spent, lambda: ledger.charge(Pure("1/4")), lambda: Ledger.open(url)):
        with pytest.raises(RecordError, match="an older or another database"):
            look()
    shutil.rmtree(notes)
    assert Ledger.open(url).spent == Pure("1/4")  # another machine cannot know


def test_a_schema_that_went_is_not_begun_again(postgres: Postgres, url: str) -> None:
    Ledger(Pure(1), url).charge(Pure("1/4"))
    run(postgres, f"DROP SCHEMA {schema_of(url)} CASCADE")
    with pytest.raises(RecordError, match="no schema"):
        Ledger(Pure(1), url)


def test_roles_say_who_may_charge_and_who_may_read(postgres: Postgres, url: str) -> None:
    Ledger(Pure(1), url).charge(Pure("1/4"), "mean")
    schema, analyst, auditor = schema_of(url), new_name(), new_name()
    run(postgres, f"CREATE ROLE {analyst} LOGIN; CREATE ROLE {auditor} LOGIN;"
        f" GRANT USAGE ON SCHEMA {schema} TO {analyst}, {auditor};"
        f" GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {analyst}, {auditor};"
        f" GRANT INSERT ON {schema}.entries, {schema}.published TO {analyst}")  # fmt: skip
    assert Ledger.open(postgres.url(schema, analyst)).charge(Pure("1/4"), "count").number == 2
    reader = Ledger.open(postgres.url(schema, auditor))
    assert reader.spent == Pure("1/2")
    with pytest.raises(
        RecordError, match=r"allowed to do this in schema \w+, got a role without the permission: nothing was released"
    ):
        reader.charge(Pure("1/4"))
    with pytest.raises(RecordError, match="allowed to do this in schema"):
        Ledger.open(postgres.url(schema, _new_role(postgres)))
    assert reader.spent == Pure("1/2")


def _new_role(postgres: Postgres) -> str:
    run(postgres, f"CREATE ROLE {(name := new_name())} LOGIN")
    return name


def test_a_stream_goes_on_in_another_process(postgres: Postgres, url: str) -> None:
    """Readers of the ledger do not see its counts."""
    ledger = Ledger(Pure(1), url)
    weekly = ledger.every(RunningTotal.for_epsilon(1, periods=5), "new members")
    told = [weekly.add(count).value for count in (17, 12)]
    again = Ledger.open(url).resume("new members")
    assert again.last is not None
    assert again.last.value == told[-1]
    again.add(3)
    with pytest.raises(RecordError, match="a file after period 3 for a stream after period 2"):
        weekly.add(3)
    auditor = _new_role(postgres)
    schema = schema_of(url)
    run(
        postgres,
        f"GRANT USAGE ON SCHEMA {schema} TO {auditor}; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {auditor}",
    )
    with pytest.raises(RecordError, match="allowed to do this in schema"):
        Ledger.open(postgres.url(schema, auditor)).resume("new members")


@pytest.mark.parametrize("gone", ["nothing", "the notes of this machine", "the schema"])
def test_a_stream_that_there_was_is_not_begun_again_and_nothing_is_charged(
    postgres: Postgres, url: str, notes: Path, gone: str
) -> None:
    ledger = Ledger(Pure(1), url)
    ledger.every(RunningTotal.for_epsilon("1/2", periods=2), "new members").add(3)
    if gone == "the notes of this machine":
        shutil.rmtree(notes)
    if gone == "the schema":
        run(postgres, f"DROP SCHEMA {StreamSchema.of(Schema({}, schema_of(url)), 'new members').schema.name} CASCADE")
    with pytest.raises(ValueError, match="a new stream needs a new schema"):
        ledger.every(RunningTotal.for_epsilon("1/2", periods=2), "new members")
    assert ledger.spent == Pure("1/2")


@pytest.mark.slow
def test_many_machines_some_killed_never_pass_the_ceiling(url: str, tmp_path: Path) -> None:
    """No charge that was granted is lost."""
    race(url, tmp_path, 8, 4, 100)


@pytest.mark.slow
@pytest.mark.parametrize(("moment", "entries"), [("before commit", 0), ("while drawing", 1)])
def test_death_in_the_midst_can_only_overcharge(moment: str, entries: int, url: str) -> None:
    script = f"""
import os, signal
from toolkit.budget import ledger_postgres
from toolkit import Ledger, Pure

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

class Deadly:
    loss = Pure(0.5)
    release = die

ledger = Ledger(Pure(1), {url!r})
if {moment!r} == "before commit":
    ledger_postgres.PostgresRecord._commit = die
ledger.release(Deadly(), 1)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    ledger = Ledger.open(url)
    assert len(ledger.entries()) == entries
    ledger.charge(Pure(0.5))


def test_a_connection_that_breaks_at_the_end_releases_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the charge is on the disk is not known: it may count, and nothing was drawn."""
    ledger, drawn = Ledger(Pure(1), url), list[int]()

    class Mechanism:
        loss = Pure("1/4")

        def release(self, value: int, rng: object = None) -> None:  # noqa: ARG002
            drawn.append(value)

    plain: Callable[..., None] = psycopg.Connection.commit

    def commit(connection: "psycopg.Connection[object]") -> None:
        plain(connection)
        raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(psycopg.Connection, "commit", commit)
    with pytest.raises(RecordError, match="nothing was released"):
        ledger.release(Mechanism(), 1)
    monkeypatch.setattr(psycopg.Connection, "commit", plain)
    assert (drawn, Ledger.open(url).spent) == ([], Pure("1/4"))


def test_a_streams_schema_is_named_after_its_label() -> None:
    """The label stays whole as long as PostgreSQL keeps all of it. What it is called stays: a stream is found by it."""
    ledger, begin = Schema({}, "budget"), len("budget_stream_")
    longest = "x" * (63 - begin)
    assert StreamSchema.of(ledger, longest).schema.name == f"budget_stream_{longest}"
    for label in (f"{longest}x", "Claims"):
        name = StreamSchema.of(ledger, label).schema.name
        assert len(name) <= 63
        assert re.fullmatch(r"budget_stream_(x{20}|_laims)_[0-9a-f]{12}", name)
