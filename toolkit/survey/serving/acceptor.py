"""The acceptor: connections are counted as soon as they are accepted, and dropped when their place is needed.

asyncio's own servers accept everything that waits at a socket at once, and report a TLS connection only after its
handshake: silent connections would use up the open files of the process, and nobody else would get in. Here a few are
accepted at a time, and each takes its place before a byte of it is read and before any TLS, if need be the place of one
that has been idle for longer. One sweep looks at all connections a few times a second; those whose time is over are
ended. When there are too many, the one that has been idle longest is dropped: idle connections, however many, do not
keep anybody out.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any, Protocol

from toolkit.survey.serving.limits import Limits


class TimedConnection(Protocol):
    """A connection: when its time is over, and what to do then."""

    deadline: float

    def time_out(self) -> None:
        """Its time is over."""

    def drop(self) -> None:
        """Its place is needed."""

    def shutdown(self) -> None:
        """The server ends: close when a request that has begun is answered."""


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
        """Take it in, if need be in the place of one that waits; False if all places are at work."""
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
        """A connection begins to wait: for us, or we for it."""
        self._waiting.pop(connection, None)
        if not for_server and connection in self._open:
            self._waiting[connection] = None

    def shutdown(self) -> None:
        """Close all connections, each when a request that has begun is answered."""
        for connection in list(self._open):
            connection.shutdown()

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in [member for member in self._open if member.deadline <= now]:
            connection.time_out()
        self._timer = loop.call_later(self.limits.sweep_seconds, self._sweep, loop) if self._open else None


_ACCEPT_BATCH = 32  # connections that are accepted before those that were sent away are closed
_PAUSE = 0.05  # seconds, when the system has no open file left for us

ProtocolFactory = Callable[["PendingConnection"], asyncio.Protocol]


class PendingConnection:
    """A connection from accept() until its protocol takes over; a TLS handshake has the time of a request's head."""

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
        """Take a place and go on; where every place is at work, say so to a plain connection and close one for TLS."""
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
        """The protocol has it; or there was no TLS, or not in time, or its place was given to another."""
        self._connections.remove(self)
        if task.cancelled() or task.exception() is not None:
            self._accepted.close()

    def drop(self) -> None:
        """Cut it off; its protocol may have been told of it already, and looks here."""
        self.was_dropped = True
        self._task.cancel()

    time_out = shutdown = drop


class Acceptor:
    """Accepts the connections of a listening socket, in the place of an `asyncio.Server`."""

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
