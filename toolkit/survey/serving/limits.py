"""Limits on the bytes, seconds and connections of clients, and the reading of a request's body within them.

The sizes are far above what a phone sends (a report has a few hundred bytes), and the times are far above what a slow
network needs. The bytes of a body are counted as they arrive, so a missing or false Content-Length cannot circumvent
the limit. `connection.py` enforces the time limits.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from toolkit.core.checks import reject
from toolkit.survey.serving.response import HttpError

Receive = Callable[[], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True)
class Limits:
    """Limits on bytes, seconds and connections."""

    head_bytes: int = 16 * 1024
    """Largest size of a request line with its headers, in bytes."""
    body_bytes: int = 64 * 1024
    """Largest size of a request's body, in bytes."""
    drain_bytes: int = 1024 * 1024
    """Largest number of bytes of a rejected request that are still read, so that its sender gets the response."""
    head_seconds: float = 10.0
    body_seconds: float = 20.0
    response_seconds: float = 30.0
    """Time for the application to respond, and for a slow client to read a response after the idle time."""
    idle_seconds: float = 5.0
    """Time between two requests."""
    linger_seconds: float = 2.0
    """Time for the sender of a rejected request to finish sending and read the response."""
    max_connections: int = 1000
    """Largest number of open connections; beyond it, the connection that has been idle longest is dropped."""

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            if not getattr(self, name) > 0:
                reject(f"`{name}` must be above 0", getattr(self, name), "every request would be rejected")

    @property
    def sweep_seconds(self) -> float:
        """Seconds between two sweeps: a quarter of the shortest time limit, and at most one second."""
        return min(self.head_seconds, self.body_seconds, self.idle_seconds, self.linger_seconds, 4.0) / 4


async def read_body(receive: Receive, limits: Limits, *, content_length: bytes | None = None) -> bytes:
    """Read a request's body; raise `HttpError` if it is too long (413) or incomplete (400)."""
    if (
        content_length is not None
        and content_length.isdigit()
        and (len(content_length) > 12 or int(content_length) > limits.body_bytes)
    ):
        raise _too_long()
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise HttpError(400, "The request was not finished.")
        body += message.get("body", b"")
        if len(body) > limits.body_bytes:
            raise _too_long()
        if not message.get("more_body", False):
            return bytes(body)


def _too_long() -> HttpError:
    return HttpError(413, "This is too long.")
