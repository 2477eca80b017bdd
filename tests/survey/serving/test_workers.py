"""Several processes at one address: one may die, the others continue, and all end together."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import psutil
import pytest

from tests.survey.desk import campus, payload, sent
from tests.survey.lines import exchange, line, post, read_answer, until
from tests.survey.process import collection, ended
from tests.survey.respondents import crowd, free_port, stored_once
from tests.survey.servers import finish, foreground, opened
from tests.survey.test_recovery import bodies, stored, wait_for
from toolkit.command import main
from toolkit.survey.collector import collect
from toolkit.survey.serving import workers as workers_module
from toolkit.survey.serving.background import find_server, launch
from toolkit.survey.serving.workers import WorkerCommand, supervise
from toolkit.survey.storage import StoreError


@pytest.fixture
def database(postgres, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    url = postgres.url()
    opened(tmp_path, url)
    yield url
    server = find_server(url)
    if server is not None:
        server.stop()


def workers(pid):
    return [one for one in psutil.Process(pid).children() if lives(one)]


def replaced(pid, gone):
    """Return the processes from a single look; in a second look, a worker of the first one may have died."""
    living = [one.pid for one in workers(pid)]
    return len(living) == 2 and gone not in living


def lives(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # it ended between the two looks
        return False


def answered(port):
    """Return the status of the response to a report."""
    return exchange(port, post(sent(payload(campus()))))[0]


def patiently(port):
    """The same, if it comes soon: a stopped worker keeps accepted connections waiting."""
    with suppress(TimeoutError), line(port, timeout=2) as connection:
        connection.sendall(post(sent(payload(campus()))))
        return read_answer(connection)[0]


@pytest.mark.slow
def test_a_killed_worker_is_restarted_without_losses(database, tmp_path):
    """Under load nobody is rejected and no report is lost."""
    with foreground(tmp_path, database, "--workers", 2, "--port", free_port()) as (process, said):
        assert said["pid"] == process.pid
        first = workers(process.pid)
        assert len(first) == 2
        with crowd(campus(), said["port"], 4) as clients:
            for _ in range(2):
                wait_for(40, stored, clients)
                victim = workers(process.pid)[0]
                victim.kill()
                until(lambda gone=victim.pid: replaced(process.pid, gone))
        assert [client.odd for client in clients] == [[]] * len(clients)
        assert sum(client.refused for client in clients) == 0
        living = workers(process.pid)
        code, error = finish(process)
        assert code == 0
        lines = error.splitlines()  # one that was killed before it was ready "could not begin"
        assert [line_.rpartition(", ")[2] for line_ in lines] == ["and is started again."] * 2
        assert not any(one.is_running() for one in living)
    stored_once(clients, bodies(database))


@pytest.mark.slow
def test_both_workers_take_requests_and_what_one_says_is_in_the_log_of_all(database, postgres, tmp_path):
    """One of them is stopped, and the other continues, whichever it is. Then the database is unavailable for a
    while.
    """
    with foreground(tmp_path, database, "--workers", 2, "--port", free_port()) as (process, said):
        for one in workers(process.pid):
            one.suspend()
            until(lambda: patiently(said["port"]) == 201)
            one.resume()
        postgres.stop()
        try:
            until(lambda: answered(said["port"]) == 503)
        finally:
            postgres.start()
        until(lambda: answered(said["port"]) == 201)
        code, error = finish(process)
    assert code == 0
    assert "No reports can be stored: " in error
    assert "127.0.0.1" not in error


@pytest.mark.slow
def test_workers_in_the_background_are_found_and_all_end_with_close(database, capsys):
    collector = collect(campus(), database=database, workers=2)
    server = find_server(database)
    assert len(workers(server.pid)) == 2
    assert launch(database) == server
    assert answered(server.port) == 201
    assert main(["status", "--database", database]) == 0
    assert f"served at {server.url}" in capsys.readouterr().out
    all_of_them = [psutil.Process(server.pid), *workers(server.pid)]
    assert collector.close().state == "closed"
    until(lambda: not any(one.is_running() for one in all_of_them))


@pytest.mark.slow
def test_workers_end_with_their_parent(database, tmp_path):
    """The lock is held until then."""
    with foreground(tmp_path, database, "--workers", 2, "--port", free_port()) as (process, said):
        orphans = workers(process.pid)
        orphans[0].suspend()
        os.kill(process.pid, signal.SIGKILL)
        process.wait(10)
        until(lambda: not orphans[1].is_running() or orphans[1].status() == psutil.STATUS_ZOMBIE)
        assert find_server(database) is not None
        orphans[0].resume()
        until(lambda: find_server(database) is None)
    with foreground(tmp_path, database, "--port", said["port"]) as (process, _):
        assert answered(said["port"]) == 201
        assert finish(process)[0] == 0


@pytest.mark.slow
def test_with_a_file_there_is_one_process(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    url, survey, _ = collection(tmp_path)
    survey.save(tmp_path / "survey.toml")
    for options in (("--foreground",), ()):
        assert main(["serve", str(tmp_path / "survey.toml"), "--database", url, "--workers", "2", *options]) == 2
        assert "several workers need PostgreSQL, got SQLite" in capsys.readouterr().err
    assert find_server(url) is None
    assert main(["serve", str(tmp_path / "survey.toml"), "--database", url, "--workers", "0"]) == 2


def test_a_worker_that_never_was_ready_restarts_later():
    """A worker that was ready is restarted sooner."""
    worker = workers_module._Worker(None, 100.0)
    assert worker.restart_time == 100.0 + workers_module._RETRY_SECONDS
    worker.ready_event.set()
    assert worker.restart_time == 100.0 + workers_module._RESTART_SECONDS < 100.0 + workers_module._RETRY_SECONDS


DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(5)"


def test_a_worker_that_does_not_end_when_told_is_ended_by_force(monkeypatch):
    monkeypatch.setattr(workers_module, "_STOP_SECONDS", 0.1)
    with ended([sys.executable, "-S", "-c", DEAF], stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        workers_module._stop_workers([workers_module._Worker(process, 0.0)])
        assert process.returncode == -signal.SIGKILL
        assert process.stdout.closed


POLITE = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); print(flush=True)"


def test_a_worker_that_ends_when_told_is_waited_for():
    with ended([sys.executable, "-S", "-c", f"{POLITE}; time.sleep(60)"], stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        workers_module._stop_workers([workers_module._Worker(process, 0.0)])
        assert process.returncode == 7


@pytest.mark.slow
def test_workers_that_cannot_begin_say_why_and_leave_nothing_behind():
    command = WorkerCommand(["--database=sqlite:////nowhere/campus.db"], dict(os.environ), [])
    before = workers(os.getpid())  # of other tests: a tracker of shared memory lives as long as the session
    with pytest.raises(StoreError, match="the database must exist"):
        supervise(2, command, lambda: None)
    assert [one for one in workers(os.getpid()) if one not in before] == []
