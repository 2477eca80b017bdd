"""Where connections come in: each is counted as soon as it stands, before a byte of it is read and before any TLS.

asyncio's own servers accept all that stand at a door at once, and tell nobody of a TLS connection before its handshake
is done: silent connections would use up the open files of the process, and nobody else would get in. Here a few are
accepted at a time, and each takes its place in the connections, if need be that of one that has let us wait longer.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any

from toolkit.survey.serving.connecting.connections import Connections

_AT_ONCE = 32  # connections that are accepted before those that were sent away are closed
_PAUSE = 0.05  # seconds, when the system has no open file left for us

Above = Callable[["Arrival"], asyncio.Protocol]


class Arrival:
    """A connection from accept() until its protocol takes over; a TLS handshake has the time of a request's head."""

    def __init__(
        self, connections: Connections, accepted: socket.socket, context: ssl.SSLContext | None, above: Above
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._connections, self._accepted, self._context, self._above = connections, accepted, context, above
        self.deadline = self._loop.time() + connections.limits.head_seconds
        self.was_dropped = False

    def begin(self) -> "asyncio.Task[Any] | None":
        """Take a place and go on; where every place is at work, say so to a plain connection and close one for TLS."""
        if self._connections.enter(self):
            self._connections.waits(self, for_us=False)
        elif self._context is not None:
            self._accepted.close()
            return None
        seconds = None if self._context is None else self._connections.limits.head_seconds
        connecting = self._loop.connect_accepted_socket(
            lambda: self._above(self), self._accepted, ssl=self._context, ssl_handshake_timeout=seconds
        )
        self._work = self._loop.create_task(connecting)
        self._work.add_done_callback(self._over)
        return self._work

    def _over(self, work: "asyncio.Task[Any]") -> None:
        """The protocol has it; or there was no TLS, or not in time, or its place was given to another."""
        self._connections.leave(self)
        if work.cancelled() or work.exception() is not None:
            self._accepted.close()

    def give_up(self) -> None:
        """Its time is over."""
        self.drop()

    def drop(self) -> None:
        """Cut it off; its protocol may have been told of it already, and looks here."""
        self.was_dropped = True
        self._work.cancel()


class Door:
    """Accepts what comes to a listening socket. It stands in for an `asyncio.Server`."""

    def __init__(
        self, listening: socket.socket, connections: Connections, context: ssl.SSLContext | None, above: Above
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listening, self._connections, self._context, self._above = (listening, connections, context, above)
        self._arriving: dict[asyncio.Task[Any], Arrival] = {}
        self._closed = False
        listening.setblocking(False)
        self._watch()

    def _watch(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._listening.fileno(), self._accept)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                self._loop.remove_reader(self._listening.fileno())
                self._loop.call_later(_PAUSE, self._watch)
                return
            accepted.setblocking(False)
            arrival = Arrival(self._connections, accepted, self._context, self._above)
            work = arrival.begin()
            if work is not None:
                self._arriving[work] = arrival
                work.add_done_callback(self._arriving.pop)

    def close(self) -> None:
        """Take nobody in any more; what has not finished its handshake is not waited for."""
        self._closed = True
        self._loop.remove_reader(self._listening.fileno())
        for arrival in self._arriving.values():
            if arrival in self._connections:  # else its protocol has it
                arrival.drop()

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._arriving, return_exceptions=True)
