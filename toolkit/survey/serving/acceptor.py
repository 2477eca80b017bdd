"""An acceptor that counts connections as soon as they are accepted, and drops idle ones when the server is full.

asyncio's own servers accept all pending connections of a socket at once, and report a TLS connection only after its
handshake. Silent connections could therefore exhaust the file descriptors of the process and lock everybody else out.
This acceptor takes connections in small batches and counts each of them before it reads a byte or starts TLS. When the
limit is reached, the connection that has been idle longest is dropped, so that idle connections never keep others
out. A periodic sweep ends connections whose deadline has passed.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any, Protocol

from toolkit.survey.serving.limits import Limits


class TimedConnection(Protocol):
    """A connection with a deadline."""

    deadline: float

    def time_out(self) -> None:
        """End the connection because its deadline has passed."""

    def drop(self) -> None:
        """End the idle connection to make room for a new one."""

    def shutdown(self) -> None:
        """Close because the server is stopping, after answering the request in progress, if any."""


class Connections:
    """All connections of a server, with a list of the idle connections, longest idle first."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._open: set[TimedConnection] = set()
        self._idle: dict[TimedConnection, None] = {}  # connections in the order in which they became idle
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, connection: TimedConnection) -> bool:
        return connection in self._open

    def add(self, connection: TimedConnection, replaced: TimedConnection | None = None) -> bool:
        """Count a connection; if the server is full, drop the longest idle one, or return False if none is idle."""
        if replaced is not None:
            self.remove(replaced)
        if len(self._open) >= self.limits.max_connections:
            longest_idle = next(iter(self._idle), None)
            if longest_idle is None:
                return False
            self.remove(longest_idle)
            longest_idle.drop()
        self._open.add(connection)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self.limits.sweep_seconds, self._sweep, loop)
        return True

    def remove(self, connection: TimedConnection) -> None:
        self._open.discard(connection)
        self._idle.pop(connection, None)

    def set_idle(self, connection: TimedConnection, *, is_idle: bool) -> None:
        """Record whether a connection is idle, which means that the server is waiting for its client."""
        self._idle.pop(connection, None)
        if is_idle and connection in self._open:
            self._idle[connection] = None

    def shutdown(self) -> None:
        """Close all connections, each after answering the request in progress, if any."""
        for connection in list(self._open):
            connection.shutdown()

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in [candidate for candidate in self._open if candidate.deadline <= now]:
            connection.time_out()
        self._timer = loop.call_later(self.limits.sweep_seconds, self._sweep, loop) if self._open else None


_ACCEPT_BATCH = 32  # connections per batch; between batches the event loop closes dropped connections
_RETRY_SECONDS = 0.05  # seconds to wait when the system has no free file descriptor

ProtocolFactory = Callable[["PendingConnection"], asyncio.Protocol]


class PendingConnection:
    """A connection from accept() until its protocol takes over.

    A TLS handshake has the same time limit as the head of a request.
    """

    def __init__(
        self,
        connections: Connections,
        accepted_socket: socket.socket,
        tls_context: ssl.SSLContext | None,
        make_protocol: ProtocolFactory,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._connections, self._socket = connections, accepted_socket
        self._context, self._make_protocol = tls_context, make_protocol
        self.deadline = self._loop.time() + connections.limits.head_seconds
        self.was_dropped = False

    def start(self) -> "asyncio.Task[Any] | None":
        """Start connecting, or close a TLS connection immediately if the server is full.

        If the server is full, a plain connection is still passed to its protocol, which answers that the server is
        busy.
        """
        if self._connections.add(self):
            self._connections.set_idle(self, is_idle=True)
        elif self._context is not None:
            self._socket.close()
            return None
        seconds = None if self._context is None else self._connections.limits.head_seconds
        connecting = self._loop.connect_accepted_socket(
            lambda: self._make_protocol(self), self._socket, ssl=self._context, ssl_handshake_timeout=seconds
        )
        self._task = self._loop.create_task(connecting)
        self._task.add_done_callback(self._finished)
        return self._task

    def _finished(self, task: "asyncio.Task[Any]") -> None:
        """Stop counting this connection; close its socket unless the protocol has taken over."""
        self._connections.remove(self)
        if task.cancelled() or task.exception() is not None:
            self._socket.close()

    def drop(self) -> None:
        """Cancel the connection; a protocol that has just been created checks `was_dropped`."""
        self.was_dropped = True
        self._task.cancel()

    time_out = shutdown = drop


class Acceptor:
    """A replacement for `asyncio.Server` that accepts the connections of a listening socket."""

    def __init__(
        self,
        listening_socket: socket.socket,
        connections: Connections,
        tls_context: ssl.SSLContext | None,
        make_protocol: ProtocolFactory,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listening, self._connections = listening_socket, connections
        self._context, self._make_protocol = tls_context, make_protocol
        self._pending: set[asyncio.Task[Any]] = set()
        self._is_closed = False
        listening_socket.setblocking(False)
        self._watch()

    def _watch(self) -> None:
        if not self._is_closed:
            self._loop.add_reader(self._listening.fileno(), self._accept)

    def _accept(self) -> None:
        for _ in range(_ACCEPT_BATCH):
            try:
                accepted, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                self._loop.remove_reader(self._listening.fileno())
                self._loop.call_later(_RETRY_SECONDS, self._watch)
                return
            task = PendingConnection(self._connections, accepted, self._context, self._make_protocol).start()
            if task is not None:
                self._pending.add(task)
                task.add_done_callback(self._pending.discard)

    def close(self) -> None:
        """Accept no more connections."""
        self._is_closed = True
        self._loop.remove_reader(self._listening.fileno())

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._pending, return_exceptions=True)
