"""Clients that send too much, too slowly, too often or never: real sockets, limits of tenths of seconds."""

import asyncio
import json
import logging
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import fields, replace
from email.utils import parsedate_to_datetime

import pytest
import uvloop

from tests.survey.lines import GET, QUICK, exchange, line, post, read_answer, read_to_end, talk, until, watched
from toolkit.survey.serving.connection import Connection, error_response
from toolkit.survey.serving.limits import Limits, read_body
from toolkit.survey.serving.response import HEADERS, HttpError

LATE = 20.0  # seconds: far above every limit of QUICK, even on a busy machine


async def respond(send, status, body, headers=()):
    own = [(b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": own})
    await send({"type": "http.response.body", "body": body})


async def app(scope, receive, send):
    """Count the bytes of posted bodies; GET / returns the client's address, and /large is larger than the sockets'
    buffers.
    """
    if scope["path"] == "/large":
        await respond(send, 200, bytes(30_000_000))
    elif scope["method"] == "GET":
        await respond(send, 200, repr(scope["client"]).encode())
    else:
        try:
            body = await read_body(receive, QUICK, content_length=dict(scope["headers"]).get(b"content-length"))
            await respond(send, 201, str(len(body)).encode())
        except HttpError as problem:
            await respond(send, problem.status, b"")


@pytest.fixture(scope="module")
def server():
    with watched(app) as (port, server):
        server.port = port
        yield server


@pytest.fixture
def port(server):
    return server.port


@pytest.fixture
def only():
    """Start a server whose limits are long except for the named ones; return its port and the server."""
    with ExitStack() as stack:

        def start(name):
            others = {field.name for field in fields(QUICK) if field.name.endswith("_seconds")} - {name}
            patient = replace(QUICK, **dict.fromkeys(others, 300.0))
            return stack.enter_context(watched(app, patient))

        yield start


def dribble(connection, data, seconds):
    """Send one byte at a time for a given time or until the server closes; return the number of seconds."""
    start = time.monotonic()
    with suppress(BrokenPipeError, ConnectionResetError):
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(seconds / len(data))
    return time.monotonic() - start


def test_normal_clients_are_served_again_and_again_on_one_line(port):
    with line(port) as connection:
        for size in (0, 1, 8192):
            connection.sendall(post(b"x" * size))
            assert read_answer(connection)[::2] == (201, str(size).encode())


def test_the_application_never_learns_an_address(port):
    assert exchange(port, GET)[2] == b"None"


def test_an_empty_line_after_a_body_is_not_a_second_request(port):
    """Some clients send one in the same packet."""
    with line(port) as connection:
        for _ in range(3):
            connection.sendall(post(b"hello") + b"\r\n")
            assert read_answer(connection)[::2] == (201, b"5")


def test_chunks_are_counted_although_no_length_is_stated(port):
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with line(port) as connection:
        connection.sendall(head + b"400\r\n" + b"x" * 1024 + b"\r\n0\r\n\r\n")
        assert read_answer(connection)[::2] == (201, b"1024")
        connection.sendall(head + b"2001\r\n" + b"x" * 8193 + b"\r\n0\r\n\r\n")
        assert read_answer(connection)[0] == 413


def test_a_refused_body_is_drained(port):
    """The response arrives, and the connection remains open."""

    def statuses(size):
        with line(port) as connection:
            for body in (b"x" * size, b"x"):
                connection.sendall(post(body))
                yield read_answer(connection)[0]

    most = QUICK.drain_bytes - len(post(b"x" * 20_000)) + 20_000  # of a body with as many digits in its length
    assert [[*statuses(size)] for size in (20_000, most)] == [[413, 201]] * 2
    with suppress(OSError):  # one byte more, and the line is cut
        assert [*statuses(most + 1)][1] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "rest", [b"10000\r\n" + b"x" * 65536 + b"\r\n", b"0\r\nX: " + b"a" * 65536], ids=["chunks", "trailers"]
)
def test_draining_a_refused_request_is_limited(monkeypatch, rest):
    """Bytes are counted where the server reads them; the sockets' own buffers contain megabytes that were sent."""
    taken, original = [], Connection.data_received

    def counted(self, data):
        taken.append(len(data))
        original(self, data)

    monkeypatch.setattr(Connection, "data_received", counted)
    unhurried = replace(QUICK, head_seconds=30, body_seconds=30, linger_seconds=30)  # it ends only when bytes arrive
    with watched(app, unhurried) as (port, _), line(port) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(1600):
                connection.sendall(rest)
    assert QUICK.drain_bytes < sum(taken) <= QUICK.drain_bytes + max(taken)


LONG = {
    "one header": b"GET / HTTP/1.1\r\nHost: x\r\nX-A: " + b"a" * 10_000 + b"\r\n",
    "many headers": b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-B: b\r\n" * 2000,
    "path": b"GET /" + b"a" * 10_000 + b" HTTP/1.1\r\n",
}


@pytest.mark.parametrize("head", LONG.values(), ids=LONG)
@pytest.mark.parametrize("ending", [b"", b"\r\n"], ids=["open", "whole"])
def test_a_head_that_is_too_long_is_refused(port, head, ending):
    assert talk(port, head + ending).startswith(b"HTTP/1.1 431 ")


@pytest.mark.slow
def test_headers_that_stop_are_answered_with_408_and_our_headers(only):
    port, _ = only("head_seconds")
    start = time.monotonic()
    head, _, body = talk(port, b"POST /report HTTP/1.1\r\nHost: x\r\n").partition(b"\r\n\r\n")
    assert 0.3 < time.monotonic() - start < LATE
    assert head.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    for name, value in HEADERS.items():
        assert f"\r\n{name}: {value}".encode() in head
    assert json.loads(body) == {"error": "The request took too long."}


@pytest.mark.slow
@pytest.mark.parametrize("framing", [b"X: a", b"Content-Length: 1000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"])
def test_a_head_or_a_body_that_is_dribbled_is_answered_with_408(only, framing):
    port, _ = only("body_seconds" if framing.endswith(b"\n") else "head_seconds")
    with line(port) as connection:
        connection.sendall(b"POST /report HTTP/1.1\r\nHost: x\r\n" + framing)
        lasted = dribble(connection, b"1\r\nx\r\n" * 200 if framing.endswith(b"\n") else b"a" * 1000, 30)
        answer = read_to_end(connection)
    assert lasted < LATE
    assert answer == b"" or answer.startswith(b"HTTP/1.1 408 ")


@pytest.mark.slow
def test_a_body_that_stops_is_answered_with_408_and_the_line_is_closed(only):
    answer = talk(only("body_seconds")[0], post(b"x" * 1000)[:-500])
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in answer


@pytest.mark.slow
def test_a_body_that_nobody_wants_is_not_waited_for_either(only):
    """GET gets its response immediately; the rest of its body has as much time as that of a rejected request."""
    port, _ = only("linger_seconds")
    start = time.monotonic()
    with line(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
        assert read_answer(connection)[0] == 200
        dribble(connection, b"x" * 900, 30)
        assert read_to_end(connection) == b""
    assert time.monotonic() - start < LATE


@pytest.mark.slow
@pytest.mark.parametrize("noise", [b"", b"\r\n"], ids=["silent", "empty lines"])
def test_an_idle_line_is_closed_after_a_while(only, noise):
    port, _ = only("idle_seconds")
    start = time.monotonic()
    with line(port) as connection:
        connection.sendall(GET)
        assert read_answer(connection)[0] == 200
        dribble(connection, (noise or b"") * 200 or b"\r", 30 if noise else 0.01)
        read_to_end(connection)
    assert time.monotonic() - start < LATE


@pytest.mark.slow
def test_a_line_on_which_nothing_is_said_is_closed_without_a_word(only):
    port, _ = only("head_seconds")
    start = time.monotonic()
    assert talk(port, b"") == b""
    assert 0.3 < time.monotonic() - start < LATE


@pytest.mark.slow
def test_a_client_that_does_not_read_its_answer_is_cut_off(server, port):
    with line(port) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(0.3)
        assert len(server.connections) >= 1
        until(lambda: len(server.connections) == 0, 2 * LATE)
        assert len(read_to_end(connection)) < 30_000_000


@pytest.mark.slow
@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("keep", [b"close", b"keep-alive"])
def test_a_slow_client_takes_the_whole_of_a_large_answer(new_loop, keep):
    """The response takes longer than a connection may be idle, and is larger than the sockets' buffers."""
    patient = replace(QUICK, response_seconds=LATE)
    with watched(app, patient, new_loop=new_loop) as (port, server), line(port) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: %s\r\n\r\n" % keep)
        time.sleep(4 * QUICK.idle_seconds)
        assert read_to_end(connection).endswith(bytes(30_000_000))
        until(lambda: len(server.connections) == 0, LATE)


@pytest.mark.parametrize(
    "request_",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
        b"NONSENSE\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nX:\x00\r\n\r\n",
        b"GET http:// HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_is_no_request_gets_a_400_with_our_headers(port, request_):
    head, _, body = talk(port, request_).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-security-policy: default-src 'none'" in head
    assert json.loads(body) == {"error": "This is not a request that can be understood."}
    with line(port) as connection:  # nor after an idle one
        connection.sendall(GET)
        assert read_answer(connection)[0] == 200
        connection.sendall(request_)
        assert read_to_end(connection).startswith(b"HTTP/1.1 400 ")


@pytest.mark.slow
def test_an_upgrade_is_not_taken(port):
    upgrade = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    upgrade += b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    assert talk(port, upgrade).startswith(b"HTTP/1.1 200 ")


def taken(port, *pieces, pause=0.05):
    """Return the responses to pieces that are sent one after the other, without waiting for a response."""
    with line(port) as connection:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(pause)
        return read_to_end(connection)


@pytest.fixture
def stored():
    """A server that takes some time for each body, and the bodies that it received completely."""
    bodies = []

    async def slow(scope, receive, send):
        try:
            body = await read_body(receive, QUICK)
        except HttpError as problem:
            await respond(send, problem.status, b"")
            return
        if scope["method"] == "POST":
            bodies.append(body)
            await asyncio.sleep(0.1)
        await respond(send, 201, body)

    with watched(slow) as (port, _):
        yield port, bodies


def test_two_requests_in_one_piece_are_refused_before_either_is_begun(stored):
    port, bodies = stored
    answer = taken(port, post(b"first") + post(b"second"))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.endswith(b'{"error":"One request at a time: please wait for the answer."}')
    assert bodies == []


@pytest.mark.slow
def test_pipelined_requests_are_both_refused(stored):
    """The second request is in the chunk that ends the first, and neither has started."""
    port, bodies = stored
    first, second = post(b"first"), post(b"second")
    answer = taken(port, first[:-3], first[-3:] + second[:10], second[10:])
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert bodies == []


@pytest.mark.slow
def test_a_request_during_a_response_is_answered_after_it(stored):
    """It waits in the buffer."""
    port, bodies = stored
    second = post(b"second")
    answer = taken(port, post(b"first"), second[:30], second[30:])
    assert answer.count(b"HTTP/1.1 201 ") == answer.count(b"HTTP/1.1 ") == 2
    assert answer.index(b"first") < answer.index(b"second")
    assert bodies == [b"first", b"second"]


@pytest.mark.slow
def test_what_comes_after_the_last_answer_of_a_connection_is_not_read(stored):
    port, bodies = stored
    last = post(b"first").replace(b"Host: x", b"Host: x\r\nConnection: close")
    answer = taken(port, last, post(b"second"))
    assert answer.count(b"HTTP/1.1 201 ") == answer.count(b"HTTP/1.1 ") == 1
    assert bodies == [b"first"]


@pytest.mark.slow
def test_at_most_one_chunk_is_buffered_during_a_response(monkeypatch):
    """Megabytes that are sent in the meantime stay with their sender."""
    held, original = [], Connection.data_received

    def watch(self, data):
        original(self, data)
        held.append(len(self._buffer))

    async def slow(scope, receive, send):  # noqa: ARG001
        await asyncio.sleep(0.5)
        await respond(send, 200, b"done")

    monkeypatch.setattr(Connection, "data_received", watch)
    with watched(slow) as (port, _), line(port, timeout=0.3) as connection:
        connection.sendall(GET)
        time.sleep(0.1)
        # the server closes invalid connections as soon as it may read them
        with suppress(TimeoutError, ConnectionError):
            connection.sendall(bytes(50_000_000))
    assert 0 < max(held) <= 2**18


@pytest.mark.parametrize(
    "hosts",
    [
        *(b"", b"Host: x\r\nHost: x\r\n", b"Host: x\r\nhost: y\r\n", b"Host: a b\r\n", b"Host: a/b\r\n"),
        *(b"Host: a@b\r\n", b"Host: \xe9\r\n"),
    ],
)
@pytest.mark.parametrize("beginning", [b"GET / HTTP/1.1\r\n", b"POST /report HTTP/1.1\r\nContent-Length: 0\r\n"])
def test_requests_need_exactly_one_valid_host(port, beginning, hosts):
    """A request without a host, with two hosts or with an invalid one is rejected."""
    head, _, body = talk(port, beginning + hosts + b"\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-security-policy: default-src 'none'" in head
    assert json.loads(body) == {"error": "A request must have exactly one Host header."}


@pytest.mark.parametrize(
    "request_",
    [
        # which had no hosts; some health checks still use it
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost:\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: survey.example:8443\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: [::1]:8000\r\n\r\n",
    ],
)
def test_hosts_as_they_may_be_are_served(port, request_):
    assert exchange(port, request_)[0] == 200


def test_requests_are_not_piled_up(port):
    """Thousands of pipelined requests would each use memory before the first response."""
    answer = talk(port, GET * 100)
    assert answer.count(b"HTTP/1.1 200 ") <= 1
    assert b"One request at a time" in answer


def test_idle_lines_beyond_the_cap_keep_nobody_out(server, port):
    """100 connections with a limit of 20, all silent, in mid-header or in mid-body: a normal client is served
    immediately.
    """
    with ExitStack() as stack:
        for number in range(100):
            connection = stack.enter_context(line(port))
            connection.sendall((b"", b"GET / HTTP/1.1\r\n", post(b"x" * 100)[:-50])[number % 3])
        start = time.monotonic()
        assert exchange(port, post(b"hello"))[::2] == (201, b"5")
        assert time.monotonic() - start < LATE
        assert len(server.connections) <= QUICK.max_connections


@pytest.mark.slow
def test_when_every_place_is_at_work_a_newcomer_is_asked_to_come_again():
    """Work is never dropped for a newcomer."""
    gate = threading.Event()

    async def slow(scope, receive, send):  # noqa: ARG001
        while not gate.is_set():
            await asyncio.sleep(0.01)
        await respond(send, 200, b"done")

    limits = Limits(max_connections=3, response_seconds=30, idle_seconds=0.4)
    with watched(slow, limits) as (port, _), ExitStack() as stack:
        working = [stack.enter_context(line(port)) for _ in range(3)]
        for connection in working:
            connection.sendall(GET)
        time.sleep(0.3)
        head, _, body = talk(port, b"").partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nretry-after: 2" in head
        assert json.loads(body) == {"error": "The server is busy: please try again."}
        gate.set()
        assert [read_answer(connection)[::2] for connection in working] == [(200, b"done")] * 3


def test_lines_that_went_are_not_counted(server, port):
    for _ in range(60):
        exchange(port, GET)
    until(lambda: len(server.connections) == 0, LATE)


def test_nothing_of_a_request_is_logged_by_the_layers_below(port, caplog):
    with caplog.at_level(logging.DEBUG):
        for request_ in (post(b"SECRET-WORDS"), b"SECRET-WORDS\r\n\r\n", b"GET /SECRET-WORDS HTTP/1.1\r\n\r\n"):
            with line(port) as connection:
                connection.sendall(request_)
                connection.recv(100)
    assert "SECRET" not in caplog.text
    assert "127.0.0.1" not in caplog.text


@pytest.mark.parametrize("answered", [False, True])
def test_an_error_of_the_application_is_in_no_log_and_ends_in_an_answer(answered, caplog):
    """If it were logged, the log would contain the whole request."""
    seen = []

    async def failing(scope, _, send):
        seen.append(scope["client"])
        if answered:
            await respond(send, 200, b"")
        raise RuntimeError("words to keep")

    with watched(failing) as (port, _), caplog.at_level(logging.DEBUG):
        got = talk(port, b"GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 200 " if answered else b"HTTP/1.1 500 ")
    assert seen == [None]
    assert b"words" not in got
    assert caplog.records == []


def test_a_client_that_asks_first_is_told_to_go_on_when_its_body_is_wanted(port):
    head, _, body = post(b"hello").partition(b"\r\n\r\n")
    with line(port) as connection:
        connection.sendall(head + b"\r\nExpect: 100-Continue\r\n\r\n")
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert read_answer(connection)[::2] == (201, b"5")
    with line(port) as connection:  # the server does not ask for a body that it will reject
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        assert read_answer(connection)[0] == 200


def test_an_answer_says_when_it_was_given_and_whether_it_is_the_last(port):
    with line(port) as connection:
        connection.sendall(GET)
        head = read_answer(connection)[1]
        assert b"connection:" not in head
        (date,) = [field for field in head.split(b"\r\n") if field.startswith(b"date: ")]
        assert abs(parsedate_to_datetime(date[6:].decode()).timestamp() - time.time()) < LATE
        for request in (GET.replace(b"1.1", b"1.0"), GET.replace(b"Host: x", b"Host: x\r\nConnection: close")):
            assert talk(port, request).count(b"\r\nconnection: close\r\n") == 1


@pytest.mark.slow
def test_a_client_that_never_reads_gets_one_response(monkeypatch):
    """Otherwise its memory would grow with every request."""
    written, original = [], Connection.respond
    monkeypatch.setattr(Connection, "respond", lambda *given: written.append(0) or original(*given))
    with watched(app) as (port, server), line(port) as connection:
        for _ in range(3):
            connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            time.sleep(0.1)
        until(lambda: len(server.connections) == 0, 2 * LATE)
    assert written == [0]


def test_an_answer_outside_the_application_is_whole_and_has_every_header():
    head, _, body = error_response(503, "Later.").partition(b"\r\n\r\n")
    fields = dict(field.split(b": ", 1) for field in head.split(b"\r\n")[1:])
    assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert {name.encode(): value.encode() for name, value in HEADERS.items()}.items() <= fields.items()
    assert (fields[b"content-length"], fields[b"connection"], fields[b"retry-after"]) == (b"18", b"close", b"2")
    assert body == b'{"error":"Later."}'
    assert b"retry-after" not in error_response(400, "No.")


def test_an_answer_outside_the_application_has_no_body_for_head(port):
    for method, ending in ((b"HEAD", b"\r\n\r\n"), (b"GET", b"}")):
        assert talk(port, method + b" / HTTP/1.1\r\n\r\n").endswith(ending)  # it names no host
