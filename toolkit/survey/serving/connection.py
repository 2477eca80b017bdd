"""Connections: counted at the door, watched, sent away when their place is needed.

asyncio's own servers accept all that stand at a door at once, and tell nobody of a TLS connection before its handshake
is done: silent connections would use up the open files of the process, and nobody else would get in. Here a few are
accepted at a time, and each takes its place before a byte of it is read and before any TLS, if need be that of one that
has let us wait longer. uvicorn itself waits without end for a slow client, and reads any headers.

A connection is always in one phase, and each phase has its time: the head of a request, its body, our answer, the pause
before the next request, the rest of an answer that a slow client still takes, and that of a request that was refused.
One sweep looks at all connections a few times a second; whose time is over gets 408 or is cut off. When there are too
many, the one that has let us wait longest goes: idle connections, however many, do not keep anybody out. The client's
address is forgotten as soon as the connection stands.

Requests are answered one after the other. What comes while one is being answered stays unread until then; two requests
in one piece are both refused, before the first is begun: what is stored is always answered as stored.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Callable
from enum import IntEnum, auto
from typing import Any, Protocol

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from toolkit.survey.serving.answer import WHOLE, Answer, in_json
from toolkit.survey.serving.limits import Limits


class Member(Protocol):
    """A connection: when its time is over, and what to do then."""

    deadline: float

    def give_up(self) -> None:
        """Its time is over."""

    def drop(self) -> None:
        """Its place is needed."""


class Connections:
    """All connections of a server, and those of them that let it wait, longest first."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._members: set[Member] = set()
        self._waiting: dict[Member, None] = {}  # in order of insertion
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, connection: Member) -> bool:
        return connection in self._members

    def enter(self, connection: Member, place_of: Member | None = None) -> bool:
        """Take it in, if need be in the place of one that waits; False if all places are at work."""
        if place_of is not None:
            self.leave(place_of)
        if len(self._members) >= self.limits.connections:
            idlest = next(iter(self._waiting), None)
            if idlest is None:
                return False
            self.leave(idlest)
            idlest.drop()
        self._members.add(connection)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self.limits.sweep_seconds, self._sweep, loop)
        return True

    def leave(self, connection: Member) -> None:
        self._members.discard(connection)
        self._waiting.pop(connection, None)

    def waits(self, connection: Member, *, for_us: bool) -> None:
        """A connection begins to wait: for us, or we for it."""
        self._waiting.pop(connection, None)
        if not for_us and connection in self._members:
            self._waiting[connection] = None

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in [one for one in self._members if one.deadline <= now]:
            connection.give_up()
        self._timer = loop.call_later(self.limits.sweep_seconds, self._sweep, loop) if self._members else None


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

    def drop(self) -> None:
        """Cut it off; its protocol may have been told of it already, and looks here."""
        self.was_dropped = True
        self._work.cancel()

    give_up = drop


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


_HOST = re.compile(rb"[A-Za-z0-9.~!$&'()*+,;=:%_\[\]-]*")


class Phase(IntEnum):
    """What a connection is waiting for."""

    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    IDLE = auto()
    LAST = auto()
    DRAIN = auto()


class _StopError(Exception):
    """Stops the parser; what to answer is kept aside."""


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with limits."""

    def __init__(self, connections: Connections, arrival: Arrival, **rest: Any) -> None:
        super().__init__(**rest)
        self._connections, self._arrival = connections, arrival
        self._limits = connections.limits
        self._seconds = {
            Phase.HEAD: self._limits.head_seconds,
            Phase.BODY: self._limits.body_seconds,
            Phase.ANSWER: self._limits.answer_seconds,
            Phase.IDLE: self._limits.idle_seconds,
            Phase.DRAIN: self._limits.linger_seconds,
        }
        self.access_log = False  # whatever the process' logging is set to
        self._chunk = self._received = 0
        self._held = b""
        self._whole = False
        self._verdict = (400, "This is not a request that can be understood.")
        self._enter(Phase.HEAD)

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self.deadline = self.loop.time() + self._seconds[phase]
        self._connections.waits(self, for_us=phase is Phase.ANSWER)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        if self._arrival.was_dropped:  # in this very moment
            self.transport = transport
            transport.abort()
            return
        super().connection_made(transport)
        self.client = None
        if self._connections.enter(self, place_of=self._arrival):
            self._enter(Phase.HEAD)
        else:
            self.refuse(503, "The server is busy: please try again.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._phase is Phase.ANSWER or self._held:
            self._held += data
            self.flow.pause_reading()
            return
        self._chunk = len(data)
        self._received += self._chunk
        super().data_received(data)
        if self._phase is Phase.HEAD and self._received > self._limits.head:
            self.refuse(431, "The headers of this request are too long.")
        elif self._received > self._limits.drain:
            self.transport.abort()

    def on_message_begin(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # nothing has come of it yet: its end is in the piece that we are reading
            self.cycle.message_event.set()
            self._stop(400, "One request at a time: please wait for the answer.")
        super().on_message_begin()
        self.scope["extensions"] = {WHOLE: {"take": self._answer}}
        self._received, self._whole = self._chunk, False
        self._enter(Phase.HEAD)

    def on_headers_complete(self) -> None:
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > self._limits.head:
            self._stop(431, "The headers of this request are too long.")
        hosts = [value for name, value in self.headers if name == b"host"]
        if (
            len(hosts) > 1
            or not (hosts or self.parser.get_http_version() == "1.0")
            or not all(map(_HOST.fullmatch, hosts))
        ):
            self._stop(400, "A request must name its host, and once.")
        super().on_headers_complete()
        self._enter(Phase.BODY)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._whole = True
        self._enter(Phase.IDLE if self.cycle.response_complete else Phase.ANSWER)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._enter(Phase.IDLE if self._whole else Phase.DRAIN)
        if self._held:
            self.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        """Read what came while we were answering."""
        data, self._held = self._held, b""
        if not self.transport.is_closing():
            self.flow.resume_reading()
            self.data_received(data)

    def _answer(self, answer: Answer) -> bool:
        """Write an answer in one piece, unless the client has not taken what it got before."""
        cycle = self.cycle
        if cycle.disconnected:
            return True
        if cycle.response_started or self.flow.write_paused:
            return False
        cycle.response_started = cycle.response_complete = True
        close = answer.own.get("connection") == "close"
        cycle.keep_alive = cycle.keep_alive and not close
        date = b"".join(b"%s: %s\r\n" % field for field in cycle.default_headers)
        goodbye = b"" if cycle.keep_alive or close else b"connection: close\r\n"
        self.transport.write(b"".join((STATUS_LINE[answer.status], date, answer.lines, goodbye, b"\r\n", answer.body)))
        cycle.message_event.set()
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()
        return True

    def give_up(self) -> None:
        silent = self._received == 0 or self._phase not in (Phase.HEAD, Phase.BODY)
        if self._phase is Phase.IDLE:  # a slow client may not have taken the whole answer
            self._phase = Phase.LAST
            self.deadline += self._limits.answer_seconds
            if not self.transport.is_closing():  # asyncio's TLS that is closed twice can't be aborted
                self.transport.close()
        elif silent or (self._phase is Phase.BODY and self.cycle.response_started):
            self.transport.abort()
        else:
            self.refuse(408, "The request took too long.")

    def drop(self) -> None:
        self.transport.abort()

    def refuse(self, status: int, sentence: str) -> None:
        """Answer outside the application and hang up; abort what does not take the answer."""
        if not self.transport.is_closing():
            self.transport.write(refusal(status, sentence, self.parser.get_method()))
            self.transport.close()
        self._enter(Phase.DRAIN)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # uvicorn's words lack our headers
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()
        else:
            self.refuse(*self._verdict)

    def _stop(self, status: int, sentence: str) -> None:
        self._verdict = (status, sentence)
        raise _StopError


def refusal(status: int, sentence: str, method: bytes = b"") -> bytes:
    """A whole answer, for where there is no application to give it."""
    again = {"retry-after": "2"} if status == 503 else {}
    answer = in_json(status, {"error": sentence}, {**again, "connection": "close"})
    return STATUS_LINE[status] + answer.lines + b"\r\n" + (b"" if method == b"HEAD" else answer.body)


BACKLOG = 2048


class WatchedServer(uvicorn.Server):
    """Calls `announce` once, when a connection would be answered."""

    def __init__(self, config: uvicorn.Config, limits: Limits, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self.connections, self._announce = Connections(limits), announce
        self.servers: list[Any] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's own, but every connection is counted as soon as it stands."""
        await self.lifespan.startup()
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # its complaints name addresses
        self.servers = [Door(one, self.connections, self.config.ssl, self._connection) for one in sockets or []]
        self.started = True
        self._announce()

    def _connection(self, arrival: Arrival) -> Connection:
        state = self.server_state
        return Connection(
            self.connections, arrival, config=self.config, server_state=state, app_state=self.lifespan.state
        )
