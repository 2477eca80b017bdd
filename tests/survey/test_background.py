import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.survey.process import collection
from toolkit.survey import background
from toolkit.survey.background import CollectError, Server, note_of, running, started


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def test_a_started_server_is_found_again_by_anybody_who_knows_the_database_and_ends_when_it_is_stopped(home):
    url, survey, _ = collection(home)
    assert running(url) is None
    server = started(url, {"port": 0})
    try:
        assert running(url) == server
        assert server.survey == survey.hash
        assert note_of(url).stat().st_mode & 0o077 == 0 or note_of(url).parent.stat().st_mode & 0o077 == 0
    finally:
        server.stop()
    assert running(url) is None
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)


def test_it_outlives_the_process_that_started_it(home):
    url, _, _ = collection(home)
    code = "import sys; from toolkit.survey.background import started; print(started(sys.argv[1], {}).pid)"
    done = subprocess.run([sys.executable, "-c", code, url], capture_output=True, text=True, timeout=60, check=True)
    server = running(url)
    assert server is not None
    assert server.pid == int(done.stdout)
    server.stop()


def test_a_server_that_was_killed_is_not_taken_for_a_running_one(home):
    url, _, _ = collection(home)
    server = started(url, {})
    os.kill(server.pid, signal.SIGKILL)
    os.waitpid(server.pid, 0)
    assert note_of(url).exists()
    assert running(url) is None
    again = started(url, {})
    assert running(url) == again
    again.stop()


def test_another_program_at_the_same_address_is_not_taken_for_the_server(home):
    url, _, _ = collection(home)
    server = started(url, {})
    assert not Server(server.url, server.port, server.pid, "0" * 64).answers()
    server.stop()


def test_why_a_server_could_not_begin_is_said(home):
    with pytest.raises(CollectError, match=r"Not serving: .*the database must be there"):
        started(f"sqlite:///{home / 'nothing.db'}", {})
    url, _, _ = collection(home)
    with pytest.raises(CollectError, match="without TLS the host must be an address of this machine alone"):
        started(url, {"host": "0.0.0.0"})  # noqa: S104


def test_a_server_that_does_not_become_ready_is_stopped(home, monkeypatch):
    url, _, _ = collection(home)
    monkeypatch.setattr(background, "_START_SECONDS", 0.0)
    with pytest.raises(CollectError, match="must be ready within 0 seconds"):
        started(url, {})


def test_the_password_of_a_database_is_not_among_the_arguments(home):
    url, _, _ = collection(home)
    server = started(url, {})
    arguments = subprocess.run(["ps", "-o", "args=", "-p", str(server.pid)], capture_output=True, text=True, check=True).stdout
    server.stop()
    assert "toolkit.survey.serving.process" in arguments
    assert "campus.db" not in arguments


@pytest.mark.parametrize(
    "text", ["", "{}", "no json", json.dumps({"url": "http://127.0.0.1:9/", "port": 9, "pid": 1, "survey": "x"})]
)
@pytest.mark.usefixtures("home")
def test_a_note_that_leads_nowhere_is_no_server(text):
    note_of("sqlite:////x.db").parent.mkdir(parents=True)
    note_of("sqlite:////x.db").write_text(text)
    began = time.monotonic()
    assert running("sqlite:////x.db") is None
    assert time.monotonic() - began < 4
