import io
from contextlib import closing

import psycopg
import pytest

from tests.commands.shell import said
from tests.survey.desk import campus
from tests.survey.entries import entry
from tests.survey.process import collection, serving
from toolkit.command import main
from toolkit.survey.collector import delete, describe_deletable
from toolkit.survey.serving.background import lock_path, log_path
from toolkit.survey.storage import State, StoreError, open_store


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path, monkeypatch):
    """An open collection with three reports."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    url = None if request.param == "sqlite" else request.getfixturevalue("postgres").url()
    url, _, _ = collection(tmp_path, url=url)
    store = open_store(url)
    store.add([entry() for _ in range(3)])
    store.close()
    return url


def moved(url, state):
    store = open_store(url)
    store.set_state(state)
    store.close()


def test_a_closed_collection_is_deleted_for_good(database, capsys):
    """The sentences state which copies remain."""
    moved(database, State.CLOSED)
    log_path(lock_path(database)).parent.mkdir(parents=True)
    log_path(lock_path(database)).write_text("something went wrong\n")
    told = said(capsys, "delete", "--database", database, "--yes")
    assert told.splitlines()[0] == "'Campus' is closed and holds 3 reports."
    assert ("WAL" in told) == database.startswith("postgresql")
    assert "backups" in told
    assert "exported files" in told
    assert not log_path(lock_path(database)).exists()
    with closing(open_store(database)) as gone, pytest.raises(StoreError):
        gone.state()
    assert main(["status", "--database", database]) == 2
    _, survey, _ = collection(None, url=database)  # the name is free again
    assert survey == campus()


@pytest.mark.parametrize("state", [State.OPEN, State.PAUSED])
def test_what_is_not_closed_is_not_deleted(database, state):
    moved(database, state)
    for attempt in (describe_deletable, delete):
        with pytest.raises(ValueError, match=f"must be closed before it is deleted, got {state.value}"):
            attempt(database)
    store = open_store(database)
    with pytest.raises(ValueError, match="must be closed"):
        store.delete()
    assert store.count_reports() == 3
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "code"), [("Campus\n", 0), ("campus\n", 2), ("y\n", 2), ("", 2)])
def test_it_asks_for_the_title(database, typed, code, monkeypatch, capsys):
    moved(database, State.CLOSED)
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert main(["delete", "--database", database]) == code
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("Type its title to delete it permanently: ")
    assert ("nothing was deleted" in err) == (code == 2)
    if code:
        store = open_store(database)
        assert store.count_reports() == 3
        store.close()


@pytest.mark.slow
def test_while_a_server_of_it_runs_it_is_not_deleted(database):
    with serving(database, "--state", lock_path(database)):
        moved(database, State.CLOSED)
        with pytest.raises(ValueError, match="must have no server when it is deleted"):
            delete(database)
    assert main(["delete", "--yes", "--database", database]) == 0


def test_nothing_of_a_file_is_left_in_its_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    url, _, _ = collection(tmp_path)
    moved(url, State.CLOSED)
    delete(url)
    assert [path.name for path in tmp_path.iterdir()] in ([], ["state"])


def test_a_schema_with_something_else_in_it_is_left_alone(postgres, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    url, _, _ = collection(tmp_path, url=postgres.url())
    moved(url, State.CLOSED)
    schema = url.partition("schema=")[2]
    with psycopg.connect(url.partition("&schema=")[0], autocommit=True) as owner:
        owner.execute(f"CREATE TABLE {schema}.mine (x int)")
        with pytest.raises(ValueError, match="must contain only the collection, got 1 other"):
            delete(url)
        owner.execute(f"DROP TABLE {schema}.mine")
        delete(url)
        assert owner.execute("SELECT to_regnamespace(%s)", [schema]).fetchone() == (None,)


@pytest.mark.slow
def test_the_key_of_blind_tokens_is_named_and_left(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    campus("blind").save("survey.toml")
    said(capsys, "open", "survey.toml")
    said(capsys, "close")
    assert f"is in {tmp_path / 'issuer-key.pem'}: delete it" in said(capsys, "delete", "--yes")
    assert (tmp_path / "issuer-key.pem").exists()
