"""One client's connection, watched: uvicorn itself waits for ever for a slow client and reads headers of any length.

A connection is always in one phase, and each phase has its time: the head of a request, its body, our answer, the pause
before the next request, and the rest of a request that was refused. One sweep looks at all connections a few times a
second; whose time is over gets 408 or is cut off. When there are too many, the one that has let us wait longest goes: idle
connections, however many, do not keep anybody out. The client's address is forgotten as soon as the connection stands.
"""

import asyncio
import json
from enum import Enum, auto
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from toolkit.survey.serving.headers import HEADERS
from toolkit.survey.serving.limits import Limits
from toolkit.survey.serving.refusal import RefusalError


class Phase(Enum):
    """What a connection is waiting for."""

    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    IDLE = auto()
    DRAIN = auto()


class Crowd:
    """All connections of a server, and those of them that let it wait, longest first."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._members: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}  # in order of insertion
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._members)

    def enter(self, connection: "Connection") -> bool:
        """Take it in, if need be in the place of one that waits; False if all places are at work."""
        if len(self._members) >= self.limits.connections:
            idlest = next(iter(self._waiting), None)
            if idlest is None:
                return False
            self.leave(idlest)
            idlest.transport.abort()
        self._members.add(connection)
        if self._timer is None:
            self._timer = connection.loop.call_later(self.limits.sweep_seconds, self._sweep, connection.loop)
        return True

    def leave(self, connection: "Connection") -> None:
        self._members.discard(connection)
        self._waiting.pop(connection, None)

    def waits(self, connection: "Connection", phase: Phase) -> None:
        self._waiting.pop(connection, None)
        if phase is not Phase.ANSWER and connection in self._members:
            self._waiting[connection] = None

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in [one for one in self._members if one.deadline <= now]:
            connection.give_up()
        self._timer = loop.call_later(self.limits.sweep_seconds, self._sweep, loop) if self._members else None


class _StopError(Exception):
    """Stops the parser; what to answer is kept aside."""


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with limits."""

    def __init__(self, crowd: Crowd, **rest: Any) -> None:
        super().__init__(**rest)
        self._crowd = crowd
        self._limits = crowd.limits
        self._seconds = {
            Phase.HEAD: self._limits.head_seconds,
            Phase.BODY: self._limits.body_seconds + self._limits.linger_seconds,  # the application answers first
            Phase.ANSWER: self._limits.answer_seconds,
            Phase.IDLE: self._limits.idle_seconds,
            Phase.DRAIN: self._limits.linger_seconds,
        }
        self.access_log = False  # whatever the process' logging is set to
        self._chunk = self._received = 0
        self._whole = False
        self._verdict = (400, "This is not a request that can be understood.")
        self._enter(Phase.HEAD)

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self.deadline = self.loop.time() + self._seconds[phase]
        self._crowd.waits(self, phase)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self.client = None
        if self._crowd.enter(self):
            self._enter(Phase.HEAD)
        else:
            self.refuse(503, "The server is busy: please try again.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._chunk = len(data)
        self._received += self._chunk
        super().data_received(data)
        if self._phase is Phase.HEAD and self._received > self._limits.head:
            self.refuse(431, "The headers of this request are too long.")
        elif self._received > self._limits.drain:
            self.transport.abort()

    def on_message_begin(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop(400, "One request at a time: please wait for the answer.")
        super().on_message_begin()
        self._received, self._whole = self._chunk, False
        self._enter(Phase.HEAD)

    def on_headers_complete(self) -> None:
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > self._limits.head:
            self._stop(431, "The headers of this request are too long.")
        super().on_headers_complete()
        self._enter(Phase.BODY)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._whole = True
        self._enter(Phase.IDLE if self.cycle.response_complete else Phase.ANSWER)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._enter(Phase.IDLE if self._whole else Phase.DRAIN)

    def give_up(self) -> None:
        """The time of the phase is over."""
        silent = self._received == 0 or self._phase not in (Phase.HEAD, Phase.BODY)
        if silent or (self._phase is Phase.BODY and self.cycle.response_started):
            self.transport.abort()
        else:
            self.refuse(408, "The request took too long.")

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
    body = json.dumps(problem.body).encode()
    own = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
    fields = {**HEADERS, **problem.headers, **own}
    head = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*head, "", ""]).encode() + body
