"""All connections of a server, from the moment that they stand: how many there are, and who lets it wait longest.

What is counted here has taken up an open file, whether it has said anything or not: a TLS handshake counts like a
request.
"""

import asyncio
from typing import Protocol

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
