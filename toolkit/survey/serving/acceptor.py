"""The acceptor counts connections as soon as they are accepted, and drops idle ones when a server is full.

asyncio's own servers accept all pending connections of a socket at once, and report a TLS connection only after its
handshake. Silent connections could therefore use up the open files of the process and lock everybody else out. This
acceptor takes connections in small batches and counts each of them before it reads a byte or starts TLS. When the
limit is reached, the connection that has been idle longest is dropped, so that idle connections never keep anybody
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
        """End the idle connection to make room for another."""

    def shutdown(self) -> None:
        """Close because the server stops, after answering a request that has begun."""


class Connections:
    """All connections of a server, and the idle ones among them, longest idle first."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._open: set[TimedConnection] = set()
        self._waiting: dict[TimedConnection, None] = {}  # in order of insertion
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, connection: TimedConnection) -> bool:
        return connection in self._open

    def add(self, connection: TimedConnection, replacing: TimedConnection | None = None) -> bool:
        """Count a connection and drop the longest idle one if necessary; return False if none is idle."""
        if replacing is not None:
            self.remove(replacing)
        if len(self._open) >= self.limits.connections:
            idle = next(iter(self._waiting), None)
            if idle is None:
                return False
            self.remove(idle)
            idle.drop()
        self._open.add(connection)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self.limits.sweep_seconds, self._sweep, loop)
        return True

    def remove(self, connection: TimedConnection) -> None:
        self._open.discard(connection)
        self._waiting.pop(connection, None)

    def mark_waiting(self, connection: TimedConnection, *, for_server: bool) -> None:
        """Record that a connection waits for the server, or that the server waits for its client."""
        self._waiting.pop(connection, None)
        if not for_server and connection in self._open:
            self._waiting[connection] = None

    def shutdown(self) -> None:
        """Close all connections, each after answering a request that has begun."""
        for connection in list(self._open):
            connection.shutdown()

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in [member for member in self._open if member.deadline <= now]:
            connection.time_out()
        self._timer = loop.call_later(self.limits.sweep_seconds, self._sweep, loop) if self._open else None


_ACCEPT_BATCH = 32  # connections per batch; the event loop closes dropped ones in between
_PAUSE = 0.05  # seconds to wait when the system has no free file descriptor

ProtocolFactory = Callable[["PendingConnection"], asyncio.Protocol]


class PendingConnection:
    """A connection from accept() until its protocol takes over.

    A TLS handshake has as much time as the head of a request.
    """

    def __init__(
        self,
        connections: Connections,
        accepted: socket.socket,
        context: ssl.SSLContext | None,
        protocol: ProtocolFactory,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._connections, self._accepted, self._context, self._protocol = connections, accepted, context, protocol
        self.deadline = self._loop.time() + connections.limits.head_seconds
        self.was_dropped = False

    def start(self) -> "asyncio.Task[Any] | None":
        """Start connecting, or close a TLS connection at once if the server is full.

        A plain connection is still handed to its protocol then, which answers that the server is busy.
        """
        if self._connections.add(self):
            self._connections.mark_waiting(self, for_server=False)
        elif self._context is not None:
            self._accepted.close()
            return None
        seconds = None if self._context is None else self._connections.limits.head_seconds
        connecting = self._loop.connect_accepted_socket(
            lambda: self._protocol(self), self._accepted, ssl=self._context, ssl_handshake_timeout=seconds
        )
        self._task = self._loop.create_task(connecting)
        self._task.add_done_callback(self._finished)
        return self._task

    def _finished(self, task: "asyncio.Task[Any]") -> None:
        """Stop counting this connection; close its socket unless the protocol has taken over."""
        self._connections.remove(self)
        if task.cancelled() or task.exception() is not None:
            self._accepted.close()

    def drop(self) -> None:
        """Cancel the connection; a protocol that has just been created checks `was_dropped`."""
        self.was_dropped = True
        self._task.cancel()

    time_out = shutdown = drop


class Acceptor:
    """Accepts the connections of a listening socket, as a replacement for `asyncio.Server`."""

    def __init__(
        self,
        listening: socket.socket,
        connections: Connections,
        context: ssl.SSLContext | None,
        protocol: ProtocolFactory,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listening, self._connections, self._context, self._protocol = (listening, connections, context, protocol)
        self._pending: set[asyncio.Task[Any]] = set()
        self._closed = False
        listening.setblocking(False)
        self._watch()

    def _watch(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._listening.fileno(), self._accept)

    def _accept(self) -> None:
        for _ in range(_ACCEPT_BATCH):
            try:
                accepted, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                self._loop.remove_reader(self._listening.fileno())
                self._loop.call_later(_PAUSE, self._watch)
                return
            task = PendingConnection(self._connections, accepted, self._context, self._protocol).start()
            if task is not None:
                self._pending.add(task)
                task.add_done_callback(self._pending.discard)

    def close(self) -> None:
        """Accept no more connections."""
        self._closed = True
        self._loop.remove_reader(self._listening.fileno())

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._pending, return_exceptions=True)
