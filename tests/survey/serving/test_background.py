import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import psutil
import pytest

from tests.survey.lines import until
from tests.survey.process import collection, ended
from toolkit.survey.collector import Collector
from toolkit.survey.serving import background
from toolkit.survey.serving.background import (
    CollectError,
    find_server,
    launch,
    list_servers,
    lock_path,
    log_path,
    log_tail,
)
from toolkit.survey.serving.options import ServeOptions

LAUNCH = "import sys; from toolkit.survey.serving.background import launch; print(launch(sys.argv[1]).pid, flush=True)"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield tmp_path
    for server in list_servers():
        os.kill(server.pid, signal.SIGCONT)
        server.stop()


def test_locks_lie_in_the_folder_of_the_toolkit_among_the_users_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert lock_path("sqlite:///a.db").parent == tmp_path / "state" / "privacy-survey-toolkit"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert lock_path("sqlite:///a.db").parent == tmp_path / ".local" / "state" / "privacy-survey-toolkit"


def holders(url):
    """Return the processes that were started to serve this database, except for dead ones."""
    listed = psutil.process_iter(["cmdline", "status"])
    living = (one for one in listed if one.info["status"] != psutil.STATUS_ZOMBIE)
    return [one.pid for one in living if str(lock_path(url)) in (one.info["cmdline"] or ())]


@pytest.mark.slow
def test_a_launched_server_is_found_by_its_database(home, monkeypatch):
    """No process is checked with a signal, because on Windows each signal ends the process."""
    url, survey, _ = collection(home)
    sent, kill = [], os.kill
    monkeypatch.setattr(os, "kill", lambda pid, number: (sent.append(number), kill(pid, number)))
    assert find_server(url) is None
    server = launch(url)
    assert find_server(url) == server == launch(url)
    assert list_servers() == [server]
    assert server.page_hash == survey.hash
    assert lock_path(url).stat().st_mode & 0o077 == 0
    assert sent == []
    server.stop()
    assert find_server(url) is None
    assert list_servers() == []
    assert set(sent) == {signal.SIGTERM}


@pytest.mark.slow
def test_it_outlives_the_process_that_launched_it(home):
    url, _, _ = collection(home)
    done = subprocess.run([sys.executable, "-c", LAUNCH, url], capture_output=True, text=True, timeout=60, check=True)
    assert find_server(url).pid == int(done.stdout)


@pytest.mark.slow
def test_another_process_can_close_a_collection(home):
    """The collection is opened in a notebook and closed in another shell, so the server must not be a child of either;
    otherwise it would remain as a zombie.
    """
    url, _, _ = collection(home)
    waiting = [sys.executable, "-c", f"{LAUNCH}; sys.stdin.read()", url]
    with ended(waiting, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as notebook:
        pid = int(notebook.stdout.readline())
        assert not Collector.attach(url).close().is_serving
        assert notebook.poll() is None
        assert pid not in [child.pid for child in psutil.Process(notebook.pid).children()]


@pytest.mark.slow
def test_however_many_launch_it_at_once_there_is_one_server(home):
    url, _, _ = collection(home)
    with ThreadPoolExecutor(4) as pool:
        launched = set(pool.map(lambda _: launch(url), range(4)))
    assert launched == {find_server(url)}
    until(lambda: holders(url) == [find_server(url).pid])  # the others end a moment later


@pytest.mark.slow
def test_a_proxy_in_the_environment_is_not_asked_for_our_own_server(home, monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    url, _, _ = collection(home)
    server = launch(url)
    assert Collector.attach(url).status().url == server.url
    assert not Collector.attach(url).close().is_serving
    assert find_server(url) is None


@pytest.mark.slow
def test_a_server_that_was_killed_is_not_taken_for_a_running_one(home):
    url, _, _ = collection(home)
    server = launch(url)
    os.kill(server.pid, signal.SIGKILL)
    until(lambda: find_server(url) is None)
    assert json.loads(lock_path(url).read_text())["pid"] == server.pid
    again = launch(url)
    assert again.pid != server.pid
    assert find_server(url) == again
    server.stop()  # the old number: no other process is killed
    assert find_server(url) == again


@pytest.mark.slow
def test_a_server_that_ignores_sigterm_is_killed(home, monkeypatch):
    """A process that cannot be killed is named."""
    url, _, _ = collection(home)
    server = launch(url)
    monkeypatch.setattr(background, "_STOP_SECONDS", 0.3)
    monkeypatch.setattr(background, "_KILL_SECONDS", 0.3)
    os.kill(server.pid, signal.SIGSTOP)
    with monkeypatch.context() as deaf:
        deaf.setattr(background, "_send_signal", lambda *_: None)
        with pytest.raises(CollectError, match=f"process {server.pid}, still running"):
            server.stop()
    monkeypatch.setattr(background, "_KILL_SECONDS", 10)
    server.stop()
    assert find_server(url) is None


def test_servers_of_other_users_are_not_stopped(monkeypatch):
    """A server that has ended needs no action."""
    for problem, raises in (
        (PermissionError, pytest.raises(CollectError, match="can be stopped, got process 4711 of another user")),
        (ProcessLookupError, contextlib.nullcontext()),
    ):
        monkeypatch.setattr(os, "kill", mock.Mock(side_effect=problem))
        with raises:
            background._send_signal(4711, signal.SIGTERM)
        os.kill.assert_called_once_with(4711, signal.SIGTERM)


@pytest.mark.slow
def test_why_a_server_could_not_begin_is_said(home):
    with pytest.raises(CollectError, match=r"Not serving: .*the database must exist"):
        launch(f"sqlite:///{home / 'nothing.db'}")
    url, _, _ = collection(home)
    with pytest.raises(CollectError, match="without TLS the host must be an address of this machine only"):
        launch(url, ServeOptions(host="0.0.0.0"))  # noqa: S104


@pytest.mark.slow
def test_a_server_that_does_not_become_ready_is_stopped(home, monkeypatch):
    url, _, _ = collection(home)
    monkeypatch.setattr(background, "_START_SECONDS", 0.1)
    with pytest.raises(CollectError, match="must be ready within 0 seconds"):
        launch(url)
    until(lambda: not holders(url))  # it was killed, and is dead a moment later


@pytest.mark.slow
def test_the_password_of_a_database_is_not_among_the_arguments(home):
    url, _, _ = collection(home)
    server = launch(url)
    arguments = subprocess.run(
        ["ps", "-o", "args=", "-p", str(server.pid)], capture_output=True, text=True, check=True
    ).stdout
    assert "toolkit.survey.serving.process" in arguments
    assert "campus.db" not in arguments


@pytest.mark.slow
def test_what_goes_wrong_is_in_a_log_that_its_owner_can_read(home):
    url, _, _ = collection(home)
    server = launch(url)
    assert log_tail(url) == ()
    (home / "campus.db").rename(home / "away.db")
    refused = subprocess.run(
        [sys.executable, "-c", POST, server.url, server.page_hash],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert refused.stdout.strip() == "503"
    (home / "away.db").rename(home / "campus.db")
    (said,) = log_tail(url)
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d No reports can be stored: the database must exist", said)
    assert "127.0.0.1" not in said
    assert Collector.attach(url).status().log == (said,)
    assert log_path(lock_path(url)).stat().st_mode & 0o077 == 0


POST = """
import json, sys, httpx
from tests.survey.desk import ANSWERS
body = {"survey": sys.argv[2], "key": "0" * 32, "answers": ANSWERS, "understood": True}
print(httpx.post(sys.argv[1] + "report", content=json.dumps(body), headers={"content-type": "application/json"}).status_code)
"""  # noqa: E501


@pytest.mark.usefixtures("home")
def test_windows_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr(background, "_WINDOWS", True)
    assert find_server("sqlite:////x.db") is None
    with pytest.raises(CollectError, match="needs Linux or macOS, got Windows"):
        launch("sqlite:////x.db")


@pytest.mark.parametrize(
    "text", ["", "{}", "no json", json.dumps({"url": "http://127.0.0.1:9/", "port": 9, "pid": 1, "survey": "x"})]
)
@pytest.mark.usefixtures("home")
def test_a_state_that_nobody_holds_is_no_server(text):
    lock_path("sqlite:////x.db").parent.mkdir(parents=True)
    lock_path("sqlite:////x.db").write_text(text)
    assert find_server("sqlite:////x.db") is None
