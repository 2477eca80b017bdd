import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from tests.survey.desk import campus, payload, sent
from tests.survey.lines import exchange, post
from tests.survey.servers import begin, finish, foreground, opened
from toolkit.command import main
from toolkit.commands.collecting import TRY_AGAIN
from toolkit.survey.collector import Collector, serve
from toolkit.survey.serving import background
from toolkit.survey.serving.background import CollectError, find_server


@pytest.fixture
def database(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    campus().save(tmp_path / "survey.toml")
    return f"sqlite:///{tmp_path / 'campus.db'}"


def ends(folder, database, *options):
    """Start a server that fails to start; return its exit code and its message, which is one line."""
    command = [
        *(sys.executable, "-m", "toolkit.command", "serve", folder / "survey.toml", "--foreground"),
        *("--database", database),
    ]
    done = subprocess.run([*command, *map(str, options)], capture_output=True, text=True, timeout=60)
    assert done.stdout == ""
    assert done.stderr.startswith("toolkit serve: ")
    assert done.stderr.count("\n") == 1
    return done.returncode, done.stderr


@pytest.mark.slow
def test_it_is_no_daemon_says_one_line_and_ends_with_0_when_it_is_told_to(database, tmp_path):
    for number in (signal.SIGTERM, signal.SIGINT):
        with foreground(tmp_path, database) as (process, said):
            assert said["pid"] == process.pid
            assert exchange(said["port"], post(sent(payload(campus()))))[0] == 201
            process.send_signal(number)
            assert process.communicate(timeout=20) == ("", "")
            assert process.returncode == 0
    assert Collector.attach(database).status().n_stored == 2


@pytest.mark.slow
def test_status_and_close_of_the_same_user_find_it(database, tmp_path, capsys):
    with foreground(tmp_path, database) as (process, said):
        assert find_server(database).pid == process.pid
        assert main(["status", "--database", database]) == 0
        assert f"served at {said['url']}" in capsys.readouterr().out
        assert main(["close", "--database", database]) == 0
        assert process.wait(20) == 0
    code, error = ends(tmp_path, database)
    assert code == 2  # permanent: restarting it does not help
    assert "closing is final" in error


@pytest.mark.slow
def test_a_reason_that_may_pass_has_its_own_exit_code(database, tmp_path, postgres):
    with foreground(tmp_path, database) as (_, said):
        code, error = ends(tmp_path, database)
        assert code == TRY_AGAIN
        assert "the collection must have no server on this machine yet" in error
        other = f"sqlite:///{tmp_path / 'other.db'}"
        code, error = ends(tmp_path, other, "--port", said["port"])
        assert (code, "must be free and allowed" in error) == (TRY_AGAIN, True)
    code, error = ends(tmp_path, f"postgresql://nobody@/none?host={postgres.folder}")
    assert (code, "the database must answer" in error) == (TRY_AGAIN, True)


@pytest.mark.slow
def test_a_reason_that_stays_has_another(database, tmp_path):
    opened(tmp_path, database)
    campus(cap=3).save(tmp_path / "survey.toml")
    code, error = ends(tmp_path, database)
    assert (code, "one of another survey" in error) == (2, True)
    (tmp_path / "survey.toml").unlink()
    assert ends(tmp_path, database)[0] == 2


@pytest.mark.slow
def test_what_goes_wrong_is_said_on_stderr_without_the_client(database, tmp_path):
    with foreground(tmp_path, database) as (process, said):
        (tmp_path / "campus.db").rename(tmp_path / "away.db")
        assert exchange(said["port"], post(sent(payload(campus()))))[0] == 503
        (tmp_path / "away.db").rename(tmp_path / "campus.db")
        assert exchange(said["port"], post(sent(payload(campus()))))[0] == 201
        code, error = finish(process)
    assert code == 0
    first, second = error.splitlines()
    assert first.startswith("No reports can be stored: the database must exist")
    assert second == "Reports are stored again."


@pytest.mark.slow
def test_it_keeps_the_port_that_it_chose_and_not_the_one_that_it_was_given(database, tmp_path):
    ports = []
    with socket.create_server(("127.0.0.1", 0)) as free:
        given = free.getsockname()[1]
    for options in ((), ("--port", given), ()):
        process, said = begin(tmp_path, database, *options)
        ports.append(said["port"])
        assert finish(process)[0] == 0
    assert ports == [ports[0], given, ports[0]]


@pytest.mark.slow
def test_the_database_may_come_from_the_environment(database, tmp_path):
    """Its password is not among the arguments."""
    with foreground(tmp_path, database) as (process, _):
        shown = psutil.Process(process.pid).cmdline()
        assert "--foreground" in shown
        assert "campus.db" not in " ".join(shown)


@pytest.mark.slow
def test_it_takes_no_second_connection_to_the_database(tmp_path, postgres, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    opened(tmp_path, (url := postgres.url()))
    with foreground(tmp_path, url) as (process, _):
        sockets = [one for one in psutil.Process(process.pid).net_connections("unix") if one.raddr or one.laddr]
        assert len(sockets) <= 1, sockets


def test_windows_is_told_what_to_do(monkeypatch, database):
    monkeypatch.setattr(background, "_WINDOWS", True)
    with pytest.raises(CollectError, match="needs Linux or macOS, got Windows"):
        serve(campus(), database=database)
    assert not os.path.exists(database.removeprefix("sqlite:///"))  # noqa: PTH110
