"""Incoming connections are counted before anything is read, with or without TLS."""

import asyncio
import errno
import socket
import ssl
import time

import pytest
import uvloop

from tests.survey.lines import (
    GET,
    QUICK,
    certificate,
    line,
    read_answer,
    read_to_end,
    server_context,
    talk,
    until,
    watched,
)
from toolkit.survey.serving.acceptor import Acceptor, Connections
from toolkit.survey.serving.connection import HttpServer
from toolkit.survey.serving.limits import Limits


async def app(scope, receive, send):  # noqa: ARG001
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(params=[uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
def tls(request, pem):
    """Start a server with TLS on each event loop; return its port, the server, and what a client needs."""
    settings = {"new_loop": request.param, "tls_context": server_context(*pem)}
    with watched(app, Limits(max_connections=20), **settings) as (port, server):
        yield port, server, ssl.create_default_context(cafile=pem[0])


def test_what_an_event_loop_complains_of_is_in_no_log(caplog):
    async def complained(listening):
        server = HttpServer(app, QUICK, lambda: None)
        serving = asyncio.create_task(server.serve(listening))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_exception_handler({"message": "lost 192.0.2.7"})
        server.should_exit = True
        await serving

    with socket.create_server(("127.0.0.1", 0)) as listening:
        asyncio.run(complained(listening))
    assert caplog.records == []


def test_a_connection_counts_before_its_handshake(tls):
    port, server, _ = tls
    with line(port), line(port) as other:
        other.sendall(b"\x16\x03\x01")
        until(lambda: len(server.connections) == 2)
    until(lambda: len(server.connections) == 0)


@pytest.mark.slow
def test_what_is_said_with_the_end_of_the_handshake_is_heard(tls):
    """The test is repeated, because the outcome depends on timing; a connection has one position, before and after its
    handshake.
    """
    port, server, context = tls
    for _ in range(30):
        with line(port) as plain, context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            connection.sendall(GET)
            assert read_answer(connection)[::2] == (200, b"ok")
            until(lambda: len(server.connections) == 1)
        until(lambda: len(server.connections) == 0)


def test_what_is_no_tls_is_closed_and_its_place_is_free(tls):
    port, server, _ = tls
    assert b"HTTP" not in talk(port, GET)
    until(lambda: len(server.connections) == 0)


def test_silent_handshakes_beyond_the_limit_are_closed(tls):
    """They are closed immediately, the oldest first."""
    port, server, context = tls
    silent = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(60)]
    try:
        assert [read_to_end(one) for one in silent[:40]] == [b""] * 40  # long before the ten seconds of a handshake
        with line(port) as plain, context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            connection.sendall(GET)
            assert read_answer(connection)[0] == 200
        assert len(server.connections) <= 20
    finally:
        for one in silent:
            one.close()


@pytest.mark.slow
def test_a_server_ends_without_waiting_for_handshakes(pem):
    with watched(app, Limits(head_seconds=300), tls_context=server_context(*pem)) as (port, server):
        silent = socket.create_connection(("127.0.0.1", port))
        until(lambda: len(server.connections) == 1)
        start = time.monotonic()
    assert time.monotonic() - start < 100
    silent.close()


@pytest.mark.slow
def test_a_handshake_that_does_not_come_is_not_waited_for(pem):
    with watched(app, tls_context=server_context(*pem)) as (port, _):
        for beginning in (b"", b"\x16\x03\x01"):
            start = time.monotonic()
            assert talk(port, beginning) == b""
            assert 0.3 < time.monotonic() - start < 20


@pytest.mark.slow
def test_who_does_not_say_good_bye_over_tls_is_cut_off(pem):
    """If asyncio's TLS is closed twice, it cannot be aborted and waits 30 seconds; the response has already closed it
    once.
    """
    settings = {"new_loop": asyncio.new_event_loop, "tls_context": server_context(*pem)}
    with watched(app, **settings) as (port, server), line(port) as plain:
        context = ssl.create_default_context(cafile=pem[0])
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            connection.sendall(GET.replace(b"Host: x", b"Host: x\r\nConnection: close"))
            assert read_answer(connection)[0] == 200
            until(lambda: len(server.connections) == 0, 20)


def test_at_the_end_whoever_has_not_finished_a_handshake_is_dropped(pem):
    async def story():
        connections = Connections(Limits(head_seconds=300))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            acceptor = Acceptor(listening, connections, server_context(*pem), lambda _: asyncio.Protocol())
            with line(listening.getsockname()[1]) as silent:
                while not len(connections):
                    await asyncio.sleep(0.01)
                acceptor.close()
                connections.shutdown()
                await acceptor.wait_closed()
                assert (len(connections), len(acceptor._pending)) == (0, 0)
                assert read_to_end(silent) == b""
            with line(listening.getsockname()[1]):  # a newcomer is placed before it
                await asyncio.sleep(0.05)
                assert len(connections) == 0

    asyncio.run(asyncio.wait_for(story(), 60))


class Full:
    """A listening socket of a process that has run out of open files, a few times."""

    def __init__(self, listening, times):
        self._listening, self._times = listening, times
        self.fileno, self.setblocking = listening.fileno, listening.setblocking

    def accept(self):
        if self._times:
            self._times -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return self._listening.accept()


@pytest.mark.slow
def test_without_free_file_descriptors_connections_wait():
    """A connection is accepted a little later."""

    async def story():
        heard = asyncio.Event()

        class Above(asyncio.Protocol):
            def data_received(self, _):
                heard.set()

        with socket.create_server(("127.0.0.1", 0)) as listening:
            acceptor = Acceptor(Full(listening, 3), Connections(QUICK), None, lambda _: Above())
            with line(listening.getsockname()[1]) as connection:
                connection.sendall(b"x")
                await asyncio.wait_for(heard.wait(), 5)
            acceptor.close()
            await acceptor.wait_closed()

    asyncio.run(story())
