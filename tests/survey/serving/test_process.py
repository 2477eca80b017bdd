"""The process: how it starts, where it listens, what it prints, how it ends."""

import json
import logging
import os
import resource
import signal
import socket
import sqlite3
import ssl
import stat
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.needs import lacking
from tests.survey.blinding import issuer_key
from tests.survey.desk import ANSWERS, payload, sent
from tests.survey.lines import GET, certificate, exchange, line, post, read_answer, read_to_end
from tests.survey.process import collection, ended, serving
from toolkit.survey.serving import process as process_module
from toolkit.survey.serving.access import page_hash
from toolkit.survey.serving.blind import IssuerKey
from toolkit.survey.serving.lock import read_locked
from toolkit.survey.serving.process import main
from toolkit.survey.storage import State, open_store


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("serving")


@pytest.mark.parametrize(
    ("soft", "hard", "connections", "raised", "places"),
    [
        (1100, 4000, 1000, None, 1000),
        (1099, 4000, 1000, 1100, 1000),
        (500, 1100, 1000, 1100, 1000),
        (500, 1099, 1000, 1099, 999),
        (50, 90, 1000, 90, 1),
        (500, resource.RLIM_INFINITY, 1000, 1100, 1000),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 1000, None, 1000),
    ],
)
def test_the_limit_of_open_files_is_raised_as_far_as_need_be(monkeypatch, soft, hard, connections, raised, places):
    set_ = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: set_.append((which, limits)))
    assert process_module._max_connections(connections) == places
    assert set_ == ([] if raised is None else [(resource.RLIMIT_NOFILE, (raised, hard))])


@pytest.fixture
def failing(capsys, monkeypatch):
    """Return the exit code and stderr of a server that does not start."""

    def served(*_, **__):
        raise AssertionError("it was served")

    def run(url, *options):
        monkeypatch.setattr(process_module, "HttpServer", served)
        code = main(["--database", url, *map(str, options)])
        out, said = capsys.readouterr()
        assert out == ""
        assert said.startswith("Not serving: ")
        return code, said

    return run


def count(url):
    with closing(open_store(url, readonly=True)) as store:
        return store.count_reports()


@pytest.mark.parametrize(
    ("host", "scheme", "url"),
    [("127.0.0.1", "http", "http://127.0.0.1:8123/below/"), ("::1", "https", "https://[::1]:8123/below/")],
)
def test_an_address_of_either_kind_is_said(host, scheme, url, capsys):
    at = {"127.0.0.1": (host, 8123), "::1": (host, 8123, 0, 0)}[host]
    listening = SimpleNamespace(getsockname=lambda: at)
    process_module._make_announcer(listening, scheme, "/below", "0" * 64, None, None)()
    said = json.loads(capsys.readouterr().out)
    assert said == {"url": url, "host": host, "port": 8123, "pid": os.getpid(), "survey": "0" * 64}


@pytest.mark.slow
def test_a_server_loads_nothing_of_what_reads_reports():
    """The process starts faster without it, and the package provides it on request."""
    script = (
        "import sys, toolkit.survey.serving.process as _, toolkit.survey as face; print(*sys.modules); "
        "print(face.Collector.__module__, face.tally.__module__, hasattr(face, 'tallies'))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded, said = done.stdout.splitlines()
    assert not [name for name in loaded.split() if name.startswith("toolkit.analysis")]
    assert "toolkit.survey.results" not in loaded.split()
    assert said == "toolkit.survey.collector toolkit.survey.results False"


def test_what_a_server_in_the_background_writes_is_its_owners_alone(monkeypatch):
    monkeypatch.setattr(os, "fork", lambda: 0)
    before = os.umask(0o022)
    try:
        process_module._detach()
    finally:
        assert os.umask(before) == 0o077


def test_it_says_where_it_is_in_one_line(server):
    process, said, _, survey = server
    assert said == {
        "url": f"http://127.0.0.1:{said['port']}/",
        "host": "127.0.0.1",
        "port": said["port"],
        "pid": process.pid,
        "survey": survey.hash,
    }


def test_it_serves_the_page_and_stores_reports(server):
    _, said, url, survey = server
    status, head, page = exchange(said["port"], GET)
    assert status == 200
    assert survey.hash.encode() in page
    assert b"content-security-policy" in head
    assert b"\r\nserver:" not in head.lower()
    assert b"set-cookie" not in head.lower()
    data = payload(survey)
    before = count(url)
    status, _, stored = exchange(said["port"], post(sent(data)))
    assert (status, json.loads(stored)) == (201, {"stored": data["key"]})
    assert count(url) == before + 1


def test_it_learns_of_a_new_state_from_the_database(server):
    _, said, url, survey = server
    store = open_store(url)
    store.set_state(State.PAUSED)
    assert exchange(said["port"], post(sent(payload(survey))))[0] == 503
    store.set_state(State.OPEN)
    store.close()
    assert exchange(said["port"], post(sent(payload(survey))))[0] == 201


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at the process through /proc")
def test_it_listens_on_one_address_of_this_machine_only(server):
    process, said, _, _ = server
    listening = [row.split() for row in Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]]
    inodes = {link.readlink().name for link in Path(f"/proc/{process.pid}/fd").iterdir()}
    mine = {row[1] for row in listening if row[3] == "0A" and f"socket:[{row[9]}]" in inodes}
    assert mine == {f"0100007F:{said['port']:04X}"}


@pytest.mark.slow
def test_it_ends_gracefully_and_what_has_begun_is_finished(folder):
    """SIGTERM in the middle of a report's body: the rest is read, stored and acknowledged; then the process ends with
    0.
    """
    inner = folder / "graceful"
    inner.mkdir()
    url, survey, _ = collection(inner)
    body = post(sent(payload(survey)))
    with serving(url) as (process, said), line(said["port"]) as connection, line(said["port"]) as idle:
        idle.sendall(GET)
        assert read_answer(idle)[0] == 200
        connection.sendall(body[:-40])
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        connection.sendall(body[-40:])
        assert read_answer(connection)[0] == 201
        assert process.wait(10) == 0
        with pytest.raises(ConnectionRefusedError), line(said["port"]):
            pass
        assert process.stderr.read() == process.stdout.read() == ""
    assert count(url) == 1


@pytest.mark.slow
def test_nothing_of_any_request_is_written_anywhere(folder):
    """The only output of the process is its first line, whatever requests it receives."""
    inner = folder / "silent"
    inner.mkdir()
    url, survey, _ = collection(inner)
    words = "WORDS-TO-KEEP"
    with serving(url) as (process, said):
        for body in (payload(survey, answers={**ANSWERS, "note": words}), payload(survey, key=words), {words: words}):
            exchange(said["port"], post(sent(body)))
        for raw in (f"{words}\r\n\r\n", f"GET /{words} HTTP/1.1\r\nHost: {words}\r\nX-Forwarded-For: {words}\r\n\r\n"):
            exchange(said["port"], raw.encode())
        with line(said["port"]) as connection:
            connection.sendall(post(sent(payload(survey, key=words)))[:-5])
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=20) == ("", "")
    held = b"".join(path.read_bytes() for path in inner.iterdir())
    assert held.count(words.encode()) == 1  # the note that was a report; in the file or in its log
    assert b"127.0.0.1" not in held


@pytest.mark.slow
def test_the_address_stands_in_a_locked_file(folder, failing):
    """No second process starts while the first one lives."""
    state = folder / "state.json"
    inner = folder / "file"
    inner.mkdir()
    url, _, _ = collection(inner)
    command = [sys.executable, "-m", "toolkit.survey.serving.process", "--database", url, "--state", state]
    with ended(command, stdout=subprocess.PIPE) as process:
        said = json.loads(process.stdout.readline())
        assert json.loads(read_locked(state)) == said
        assert said["pid"] == process.pid
        assert exchange(said["port"], GET)[0] == 200
        code, error = failing(url, "--state", state)
        assert (code, "another server of this collection runs" in error) == (2, True)
        assert json.loads(read_locked(state)) == said
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    assert read_locked(state) is None


@pytest.mark.slow
@pytest.mark.parametrize("pieces", [1, 2, 3], ids=["in one piece", "one after the other", "in pieces that overlap"])
def test_reports_without_waiting_are_stored_if_acknowledged(server, pieces):
    """For two reports sent without waiting, the number of stored reports equals the number of 201 responses."""
    _, said, url, survey = server
    for _ in range(5):  # if they come in pieces, it depends on timing what is read together
        first, second = (post(sent(payload(survey))) for _ in range(2))
        cut = {1: [first + second], 2: [first, second], 3: [first[:100], first[100:] + second[:200], second[200:]]}
        before = count(url)
        with line(said["port"], timeout=2) as connection:
            for piece in cut[pieces]:
                connection.sendall(piece)
                time.sleep(0.01 if pieces == 3 else 0)
            answers = b""
            with suppress(TimeoutError):
                while answers.count(b"HTTP/1.1 ") < 2 and (chunk := connection.recv(65536)):
                    answers += chunk
        assert answers.count(b"HTTP/1.1 201 ") == count(url) - before
        assert answers.startswith((b"HTTP/1.1 201 ", b"HTTP/1.1 400 "))


@pytest.mark.slow
def test_health_is_503_while_the_database_is_away_and_the_page_still_loads(tmp_path):
    """The health check fails after a report that could not be stored, and succeeds again after one that was. HEAD gives
    the same status as GET.
    """
    url, survey, _ = collection(tmp_path)
    there, away = (Path(url.removeprefix("sqlite:///")), Path(url.removeprefix("sqlite:///")).with_suffix(".away"))
    with serving(url, "--prefix", "/survey") as (_, said):

        def statuses(*methods):
            asked = [
                f"{method} /survey/{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" for method, path in methods
            ]
            with ExitStack() as stack:
                lines = [stack.enter_context(line(said["port"])) for _ in asked]
                for connection, request in zip(lines, asked, strict=True):
                    connection.sendall(request.encode())
                return [read_to_end(connection) for connection in lines]

        def report():
            return exchange(said["port"], post(sent(payload(survey)), path="/survey/report"))[0]

        assert report() == 201
        assert statuses(("GET", "health"))[0].endswith(b'{"health":"good"}')
        there.rename(away)
        assert report() == 503
        got, head, page = statuses(("GET", "health"), ("HEAD", "health"), ("HEAD", ""))
        assert got.startswith(b"HTTP/1.1 503 ")
        assert head == got.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        assert page.startswith(b"HTTP/1.1 200 ")
        assert json.loads(got.partition(b"\r\n\r\n")[2]) == {"error": "Reports cannot be stored at the moment."}
        away.rename(there)
        assert report() == 201
        assert statuses(("GET", "health"))[0].startswith(b"HTTP/1.1 200 ")


# Where it listens


def test_the_process_refuses_to_speak_plainly_to_the_world_and_says_why(failing, server):
    code, said = failing(server[2], "--host", "0.0.0.0")  # noqa: S104
    assert code == 2
    assert said.startswith("Not serving: without TLS the host must be an address of this machine only")
    assert "--plain-http-beyond-this-machine" in said


@pytest.mark.parametrize(
    ("workers", "why"),
    [
        (0, "`workers` must be at least 1"),
        (65, "`workers` must be at most 64"),
        (64, "several workers need PostgreSQL"),
    ],
)
def test_there_are_one_to_64_workers_and_of_a_file_one(failing, server, workers, why):
    code, said = failing(server[2], "--workers", workers)
    assert (code, why in said) == (2, True)


@pytest.mark.slow
def test_it_does_so_when_told(server):
    with serving(server[2], "--host", "0.0.0.0", "--plain-http-beyond-this-machine") as (_, said):  # noqa: S104
        assert exchange(said["port"], GET)[0] == 200


@pytest.mark.slow
def test_with_a_certificate_it_speaks_tls_and_only_that(folder, server):
    public, private = certificate(folder)
    survey = server[3]
    context = ssl.create_default_context(cafile=public)
    with serving(server[2], "--host", "0.0.0.0", "--certificate", public, "--private-key", private) as (  # noqa: S104
        process,
        said,
    ):
        assert said["url"].startswith("https://")
        with line(said["port"]) as plain, context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            assert connection.version() in ("TLSv1.2", "TLSv1.3")
            connection.sendall(post(sent(payload(survey))))
            assert read_answer(connection)[0] == 201
        with line(said["port"]) as connection:
            connection.sendall(GET)
            assert b"HTTP" not in read_to_end(connection)
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=20) == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_with_blind_tokens_no_tls_session_is_resumed(tmp_path, version):
    """Otherwise it would reveal that the report comes from the client that received the signature, whatever the
    connection.
    """
    public, private = certificate(tmp_path)
    url, _, _ = collection(tmp_path, "blind", invited=1)
    issuer_key().save(tmp_path / "issuer.pem")
    context = ssl.create_default_context(cafile=public)
    context.maximum_version, wrapped = version, context.wrap_socket
    with serving(url, "--issuer-key", tmp_path / "issuer.pem", "--certificate", public, "--private-key", private) as (
        _,
        said,
    ):

        def connected(session=None):
            """Return the TLS session after a response, which a client would resume, and whether it was resumed."""
            with (
                line(said["port"]) as plain,
                wrapped(plain, server_hostname="127.0.0.1", session=session) as connection,
            ):
                connection.sendall(GET)
                assert read_answer(connection)[0] == 200
                return connection.session, connection.session_reused

        if version is ssl.TLSVersion.TLSv1_2:
            with pytest.raises((ssl.SSLError, ConnectionResetError)):
                connected()
        else:
            session, _ = connected()
            assert connected(session)[1] is False


# Arguments with which it does not start


@pytest.mark.slow
def test_a_taken_port_a_missing_database_and_a_missing_key_are_told(folder, server, failing):
    taken = socket.create_server(("127.0.0.1", 0))
    code, said = failing(server[2], "--port", taken.getsockname()[1])
    taken.close()
    assert (code, "must be free and allowed, got Address already in use: end the program" in said) == (2, True)
    code, _ = failing(f"sqlite:///{folder / 'nothing.db'}")
    assert code == 2
    assert not (folder / "nothing.db").exists()
    inner = folder / "blind"
    inner.mkdir()
    url, _, _ = collection(inner, "blind", invited=1)
    code, said = failing(url)
    assert (code, "`key` must be given for access by blind tokens" in said) == (2, True)
    issuer_key().save(inner / "issuer.pem")
    with serving(url, "--issuer-key", inner / "issuer.pem") as (_, ready):
        assert exchange(ready["port"], GET)[0] == 200
        assert exchange(ready["port"], b"GET /blind.js HTTP/1.1\r\nHost: x\r\n\r\n")[0] == 200


@pytest.mark.slow
def test_the_first_key_of_a_collection_is_its_only_one(folder, failing, monkeypatch):
    """The key belongs to the collection, whichever server started first: a key in another folder signs nothing
    for it.
    """
    inner, elsewhere = folder / "first", folder / "elsewhere"
    for number, one in enumerate((inner, elsewhere)):
        one.mkdir()
        issuer_key(number).save(one / "issuer-key.pem")
    url, survey, _ = collection(inner, "blind", invited=1)
    monkeypatch.chdir(inner)
    with serving(url, "--issuer-key", "issuer-key.pem") as (_, ready):
        assert ready["survey"] == page_hash(survey.hash, IssuerKey.load("issuer-key.pem").issuer)
    monkeypatch.chdir(elsewhere)
    code, said = failing(url, "--issuer-key", "issuer-key.pem")
    assert code == 2
    assert "must be served with its first issuer's key, got another key in issuer-key.pem" in said


@pytest.mark.slow
def test_a_collection_with_another_page_is_not_served(folder, failing):
    """The message names the version that made it."""
    inner = folder / "changed"
    inner.mkdir()
    url, _, _ = collection(inner)
    database = sqlite3.connect(inner / "campus.db")
    database.execute("UPDATE edition SET hash = ?, toolkit = '0.0.1'", ("0" * 64,))
    database.commit()
    database.close()
    code, said = failing(url)
    assert code == 2
    assert "must be served with the page with which it was created" in said
    assert "for 000000000000 of toolkit 0.0.1: use toolkit 0.0.1 as it was then, or amend" in said


@pytest.mark.slow
def test_an_amended_collection_accepts_earlier_reports(folder):
    """A report that waited on a phone while the page was amended names the hash of its own page."""
    inner = folder / "amended"
    inner.mkdir()
    url, survey, _ = collection(inner)
    database = sqlite3.connect(inner / "campus.db")
    database.execute("UPDATE edition SET hash = ?", ("0" * 64,))
    database.commit()
    database.close()
    with closing(open_store(url)) as store:
        store.amend(survey)
    with serving(url) as (_, ready):
        for page, status in (("0" * 64, 201), (survey.hash, 201), ("1" * 64, 409)):
            assert exchange(ready["port"], post(sent(payload(survey, survey=page))))[0] == status
        assert b"0" * 64 in exchange(ready["port"], GET)[2]
    with closing(open_store(url)) as store:
        assert store.count_reports() == 2


@contextmanager
def with_files(url, files, *options):
    """Start a server whose process may have this many open files."""

    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, files)

    command = [sys.executable, "-m", "toolkit.survey.serving.process", "--database", url, *map(str, options)]
    with ended(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=few_files) as process:
        yield process, json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=20) == ("", "")


@contextmanager
def many_files(number):
    """Raise the limit of open files of this process for the duration of the test."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < number + 200:
        lacking(f"the clients of this test need {number + 200} open files, and there may be {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, number + 200), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def page_in(port, context, seconds):
    """Return the status of the page for an honest client, and whether everything took at most this many seconds."""
    start = time.monotonic()
    with line(port, timeout=30) as plain:
        connection = plain if context is None else context.wrap_socket(plain, server_hostname="127.0.0.1")
        with connection:
            connection.sendall(GET)
            return read_answer(connection)[0], time.monotonic() - start < seconds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tls", "files", "silent"),
    [
        (False, (300, 300), 400),
        (True, (300, 300), 400),
        (False, (1024, 1024), 1500),
        (True, (1024, 4096), 1500),  # it may have more files than it has
    ],
    ids=["few", "few, tls", "usual", "more, tls"],
)
def test_silent_connections_keep_nobody_out(server, folder, tls, files, silent):
    """Connections are opened all at once, then more of them, while five clients request the page: each receives it
    within its time.

    A request's head and a handshake have ten seconds, so all others would wait this long if such connections counted
    only after sending data.
    """
    public, private = certificate(folder)
    context = ssl.create_default_context(cafile=public) if tls else None
    options = ("--certificate", public, "--private-key", private) if tls else ()
    with many_files(silent + 200), with_files(server[2], files, *options) as (_, said), ExitStack() as stack:
        for _ in range(silent):
            stack.enter_context(line(said["port"]))
        assert page_in(said["port"], context, 9) == (200, True)
        for _ in range(4):
            for _ in range(50):
                stack.enter_context(line(said["port"]))
            assert page_in(said["port"], context, 9) == (200, True)


def test_the_log_becomes_as_large_as_is_said():
    said = " ".join(process_module._parser().format_help().split())
    assert f"at most {process_module._LOG_BYTES // 1024} kB" in said


@pytest.mark.slow
def test_the_log_of_an_earlier_server_goes_when_the_next_one_begins(tmp_path):
    """This also applies because it may have been readable by others."""
    path, logger = tmp_path / "log", logging.getLogger("toolkit")
    path.write_text("an earlier server's")
    path.chmod(0o644)
    before = list(logger.handlers)
    process_module._log_to_file(path)
    (handler,) = set(logger.handlers) - set(before)
    try:
        logger.warning("this one's")
    finally:
        logger.removeHandler(handler)
        handler.close()
    assert path.read_text().endswith(" this one's\n")
    assert path.read_text().count("\n") == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.slow
def test_the_log_is_for_its_owner_alone_and_so_is_the_one_that_follows_it(tmp_path, monkeypatch):
    monkeypatch.setattr(process_module, "_LOG_BYTES", 100)
    before = list(logging.getLogger("toolkit").handlers)
    process_module._log_to_file(tmp_path / "log")
    (handler,) = set(logging.getLogger("toolkit").handlers) - set(before)
    logging.getLogger("toolkit").removeHandler(handler)
    for _ in range(5):
        handler.emit(logging.LogRecord("toolkit", logging.WARNING, "", 0, "x" * 40, (), None))
    handler.close()
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "log.1"]
