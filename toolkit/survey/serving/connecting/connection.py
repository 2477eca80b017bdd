"""One client's connection, watched: uvicorn itself waits without end for a slow client, and reads any headers.

A connection is always in one phase, and each phase has its time: the head of a request, its body, our answer, the pause
before the next request, and the rest of a request that was refused. One sweep looks at all connections a few times a
second; whose time is over gets 408 or is cut off. When there are too many, the one that has let us wait longest goes:
idle connections, however many, do not keep anybody out. The client's address is forgotten as soon as the connection
stands.

Requests are answered one after the other. What comes while one is being answered stays unread until then; two requests
in one piece are both refused, before the first is begun: what is stored is always answered as stored.
"""

import asyncio
import re
import socket
from collections.abc import Callable
from enum import IntEnum, auto
from http import HTTPStatus
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from toolkit.survey.serving.connecting.acceptor import Arrival, Door
from toolkit.survey.serving.connecting.answer import WHOLE, Answer, in_json
from toolkit.survey.serving.connecting.connections import Connections
from toolkit.survey.serving.headers import RefusalError
from toolkit.survey.serving.limits import Limits

_HOST = re.compile(rb"[A-Za-z0-9.~!$&'()*+,;=:%_\[\]-]*")


class Phase(IntEnum):
    """What a connection is waiting for."""

    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    IDLE = auto()
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
        """The time of the phase is over."""
        silent = self._received == 0 or self._phase not in (Phase.HEAD, Phase.BODY)
        if silent or (self._phase is Phase.BODY and self.cycle.response_started):
            self.transport.abort()
        else:
            self.refuse(408, "The request took too long.")

    def drop(self) -> None:
        self.transport.abort()

    def refuse(self, status: int, sentence: str) -> None:
        """Answer outside the application and hang up; abort what does not take the answer."""
        if not self.transport.is_closing():
            self.transport.write(refusal(status, sentence))
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


def refusal(status: int, sentence: str) -> bytes:
    """A whole answer, for where there is no application to give it."""
    problem = RefusalError(status, sentence, retry_after=2 if status == HTTPStatus.SERVICE_UNAVAILABLE else None)
    answer = in_json(status, {"error": sentence}, {**problem.headers, "connection": "close"})
    return STATUS_LINE[status] + answer.lines + b"\r\n" + answer.body


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
