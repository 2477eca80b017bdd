"""An HTTP/1.1 server with strict limits, built on httptools, that runs an ASGI application.

A connection is always in one of several phases, each with a time limit: reading the head of a request, reading its
body, waiting for the application's response, idling before the next request, sending the rest of a response to a slow
client, and draining a rejected request. A connection that exceeds its limit gets status 408 or is aborted. The server
never asks for a client's address.

Requests on a connection are answered one after the other. Bytes that arrive while a request is being answered wait in a
buffer. Two requests in one chunk are both rejected before the first one starts, because a client must never receive an
error for a report that was stored.

The server implements only the subset of ASGI that the applications here use: method, path and headers of a request, its
body in chunks, and responses that consist of one body with its length.
"""

import asyncio
import re
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from email.utils import formatdate
from enum import IntEnum, auto
from functools import lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

import httptools

from toolkit.survey.serving.acceptor import Acceptor, Connections, PendingConnection
from toolkit.survey.serving.limits import Limits, Receive
from toolkit.survey.serving.response import Scope, Send, json_response

AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
_HOST = re.compile(rb"[A-Za-z0-9.~!$&'()*+,;=:%_\[\]-]*")
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_CONTINUE = _STATUS_LINES[100] + b"\r\n"
_CLOSE_HEADER = (b"connection", b"close")


class Phase(IntEnum):
    """The phase of a connection, which determines its time limit."""

    HEAD = auto()
    BODY = auto()
    RESPONSE = auto()
    IDLE = auto()
    FLUSH = auto()
    DRAIN = auto()


class _StopError(Exception):
    """Stop the parser; `Connection._parse_error` holds the response."""


class _Exchange:
    """One request and its response, with the functions `receive` and `send` for an ASGI application."""

    def __init__(self, connection: "Connection", *, keep_alive: bool, expects_continue: bool) -> None:
        self.keep_alive = keep_alive
        self.is_over = False  # whether the response was sent or the client has disconnected
        self._connection, self._expects_continue = connection, expects_continue
        self._body, self._more_body, self._event = b"", True, asyncio.Event()
        self._start_message: Mapping[str, Any] = {}

    def feed(self, body: bytes, *, more_body: bool) -> None:
        """Pass a chunk of the request's body to the application."""
        if not self.is_over:
            self._body += body
            self._more_body = more_body
            self._event.set()

    def end(self) -> None:
        """Tell the application that the client has disconnected."""
        self.is_over = True
        self._event.set()

    async def receive(self) -> Mapping[str, Any]:
        if self._expects_continue and not self.is_over:
            self._expects_continue = False
            self._connection.write(_CONTINUE)
        await self._event.wait()
        if self.is_over:
            return {"type": "http.disconnect"}
        self._event.clear()
        body, self._body = self._body, b""
        return {"type": "http.request", "body": body, "more_body": self._more_body}

    async def send(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._start_message = message
            return
        await self._connection.writable.wait()  # a slow client may still be reading the previous response
        if not self.is_over:
            self.end()
            self._connection.respond(
                self, self._start_message["status"], self._start_message["headers"], message.get("body", b"")
            )

    async def run(self, application: AsgiApp, scope: Scope) -> None:
        """Run the application, which logs its own errors, because a traceback logged here could quote a request."""
        with suppress(Exception):
            await application(scope, self.receive, self.send)
        if not self.is_over:
            self._connection.reject(500, "Something went wrong here.")


class Connection(asyncio.Protocol):
    """A client's connection, which parses requests, runs the application, and enforces the limits."""

    def __init__(self, server: "HttpServer", pending: PendingConnection) -> None:
        self._server, self._connections, self._pending = server, server.connections, pending
        self._limits = server.connections.limits
        self._loop = asyncio.get_running_loop()
        self._time_limits = {
            Phase.HEAD: self._limits.head_seconds,
            Phase.BODY: self._limits.body_seconds,
            Phase.RESPONSE: self._limits.response_seconds,
            Phase.IDLE: self._limits.idle_seconds,
            Phase.DRAIN: self._limits.linger_seconds,
        }
        self._parser = httptools.HttpRequestParser(self)
        # Without this, an empty line after the last request would be an error.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._exchange: _Exchange | None = None
        self._chunk_bytes = self._received_bytes = 0
        self._buffer = b""
        self._is_complete = False
        self._parse_error = (400, "This is not a request that can be understood.")
        self.writable = asyncio.Event()
        self.writable.set()
        self._enter_phase(Phase.HEAD)

    def _enter_phase(self, phase: Phase) -> None:
        self._phase = phase
        self.deadline = self._loop.time() + self._time_limits[phase]
        self._connections.set_idle(self, is_idle=phase is not Phase.RESPONSE)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # always a full transport
        self._transport = transport
        if self._pending.was_dropped:  # the connection was dropped between the handshake and this call
            transport.abort()
        elif self._connections.add(self, replaced=self._pending):
            self._enter_phase(Phase.HEAD)
        else:
            self.reject(503, "The server is busy: please try again.")

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._connections.remove(self)
        if self._exchange is not None:
            self._exchange.end()
        self.writable.set()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def data_received(self, data: bytes) -> None:
        if self._phase is Phase.RESPONSE or self._buffer:
            self._buffer += data
            self._transport.pause_reading()
            return
        self._chunk_bytes = len(data)
        self._received_bytes += self._chunk_bytes
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # ignore the upgrade: answer the request normally, then close
            if self._exchange is not None:
                self._exchange.keep_alive = False
        except httptools.HttpParserError:
            self.reject(*self._parse_error)
        if self._phase is Phase.HEAD and self._received_bytes > self._limits.head_bytes:
            self.reject(431, "The headers of this request are too long.")
        elif self._received_bytes > self._limits.drain_bytes:
            self._transport.abort()

    # Callbacks of the httptools parser.

    def on_message_begin(self) -> None:
        if self._exchange is not None and not self._exchange.is_over:
            self._abort_parsing(400, "One request at a time: please wait for the answer.")
        self._url, self._headers = b"", list[tuple[bytes, bytes]]()
        self._received_bytes, self._is_complete = self._chunk_bytes, False
        self._enter_phase(Phase.HEAD)

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if len(self._url) + sum(len(name) + len(value) for name, value in self._headers) > self._limits.head_bytes:
            self._abort_parsing(431, "The headers of this request are too long.")
        version = self._parser.get_http_version()
        hosts = [value for name, value in self._headers if name == b"host"]
        if len(hosts) > 1 or not (hosts or version == "1.0") or not all(map(_HOST.fullmatch, hosts)):
            self._abort_parsing(400, "A request must have exactly one Host header.")
        url = httptools.parse_url(self._url)  # raises an error that stops the parser if this is not a URL with a path
        scope = {
            "type": "http",
            "method": self._parser.get_method().decode("ascii"),
            "path": unquote(url.path.decode("ascii")),
            "headers": self._headers,
            "client": None,
        }
        self._exchange = _Exchange(
            self,
            keep_alive=version != "1.0" and self._parser.should_keep_alive(),
            expects_continue=(b"expect", b"100-continue") in ((name, value.lower()) for name, value in self._headers),
        )
        self._server.start_task(self._exchange.run(self._server.application, scope))
        self._enter_phase(Phase.BODY)

    def on_body(self, body: bytes) -> None:
        if self._exchange is not None:
            self._exchange.feed(body, more_body=True)

    def on_message_complete(self) -> None:
        if self._exchange is not None:
            self._exchange.feed(b"", more_body=False)
            self._is_complete = True
            self._enter_phase(Phase.IDLE if self._exchange.is_over else Phase.RESPONSE)

    def _abort_parsing(self, status: int, message: str) -> None:
        self._parse_error = (status, message)
        raise _StopError

    # Responses.

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def respond(self, exchange: _Exchange, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> None:
        """Write a response in a single call, then close or wait for the next request."""
        close = _CLOSE_HEADER in headers
        added_headers = [] if close or exchange.keep_alive else [_CLOSE_HEADER]
        lines = b"".join(b"%s: %s\r\n" % field for field in (*headers, *added_headers))
        self.write(b"".join((_STATUS_LINES[status], _date_line(int(time.time())), lines, b"\r\n", body)))
        if close or added_headers:
            self._transport.close()
        self._enter_phase(Phase.IDLE if self._is_complete else Phase.DRAIN)
        if self._buffer:
            self._loop.call_soon(self._resume)

    def _resume(self) -> None:
        """Parse the bytes that arrived while a request was being answered."""
        data, self._buffer = self._buffer, b""
        if not self._transport.is_closing():
            self._transport.resume_reading()
            self.data_received(data)

    def reject(self, status: int, message: str) -> None:
        """Send an error in place of the application's response, and close; abort if the client does not read."""
        if self._exchange is not None:
            self._exchange.end()
        if not self._transport.is_closing():
            self._transport.write(error_response(status, message, self._parser.get_method()))
            self._transport.close()
        self._enter_phase(Phase.DRAIN)

    # Called by `Connections`.

    def time_out(self) -> None:
        if self._phase is Phase.IDLE:  # a slow client may not have read the whole response
            self._phase = Phase.FLUSH
            self.deadline += self._limits.response_seconds
            self.shutdown()
        elif self._received_bytes == 0 or self._phase not in (Phase.HEAD, Phase.BODY):
            self._transport.abort()
        else:
            self.reject(408, "The request took too long.")

    def drop(self) -> None:
        self._transport.abort()

    def shutdown(self) -> None:
        if self._exchange is not None and not self._exchange.is_over:
            self._exchange.keep_alive = False
        elif not self._transport.is_closing():  # a TLS transport that was closed twice could not be aborted
            self._transport.close()


@lru_cache(maxsize=1)
def _date_line(second: int) -> bytes:
    """Format the Date header, which RFC 9110 requires and which reveals nothing new to the client."""
    return f"date: {formatdate(second, usegmt=True)}\r\n".encode()


def error_response(status: int, message: str, method: bytes = b"") -> bytes:
    """Serialize a complete error response without running the application."""
    retry = {"retry-after": "2"} if status == 503 else {}
    response = json_response(status, {"error": message}, {**retry, "connection": "close"})
    lines = b"".join(b"%s: %s\r\n" % field for field in response.raw_headers)
    return _STATUS_LINES[status] + lines + b"\r\n" + (b"" if method == b"HEAD" else response.body)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Make an event loop, from uvloop if it is installed, or otherwise from asyncio."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


_TICK_SECONDS = 0.1


class HttpServer:
    """A server that runs an ASGI application on a listening socket until `should_exit` is set.

    `announce` is called once, as soon as connections are accepted. After `should_exit` is set, requests in progress
    have `grace_seconds` to finish.
    """

    def __init__(
        self,
        application: AsgiApp,
        limits: Limits,
        announce: Callable[[], None],
        *,
        tls_context: ssl.SSLContext | None = None,
        grace_seconds: float = 10.0,
        new_loop: Callable[[], asyncio.AbstractEventLoop] = new_event_loop,
    ) -> None:
        self.application, self.connections, self.should_exit = application, Connections(limits), False
        self._announce, self._context, self._grace, self._new_loop = announce, tls_context, grace_seconds, new_loop
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, listening_socket: socket.socket) -> None:
        """Serve in this thread until a signal handler or another thread sets `should_exit`."""
        with asyncio.Runner(loop_factory=self._new_loop) as runner:
            runner.run(self.serve(listening_socket))

    async def serve(self, listening_socket: socket.socket) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # the default handler would log addresses
        acceptor = Acceptor(
            listening_socket, self.connections, self._context, lambda pending: Connection(self, pending)
        )
        self._announce()
        while not self.should_exit:
            await asyncio.sleep(_TICK_SECONDS)
        acceptor.close()
        listening_socket.close()
        self.connections.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._grace):
                while len(self.connections) or self._tasks:
                    await asyncio.sleep(_TICK_SECONDS)
                await acceptor.wait_closed()

    def start_task(self, coroutine: Any) -> None:
        """Start a task and keep a reference to it, because the event loop holds only a weak reference."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
