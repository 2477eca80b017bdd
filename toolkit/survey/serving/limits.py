"""What one client may cost the server: bytes, seconds and connections, and the reading of a body within them.

The sizes are far above what a phone sends (a report has a few hundred bytes), the times far above what a slow
network needs. A body is counted as it comes, so that one without a stated length, or with a false one, gets
no further; its time is watched by the connection.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from toolkit.core.checks import reject
from toolkit.survey.serving.response import HttpError

Receive = Callable[[], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True)
class Limits:
    """Bytes, seconds and connections."""

    head: int = 16 * 1024
    """Bytes of a request's first line and headers."""
    body: int = 64 * 1024
    """Bytes of a body."""
    drain: int = 1024 * 1024
    """Bytes of one request that are read to their end after it was refused, so that its sender sees the
    answer.
    """
    head_seconds: float = 10.0
    body_seconds: float = 20.0
    response_seconds: float = 30.0
    """For us to answer a whole request, and after a pause once more for a slow client to take the answer."""
    idle_seconds: float = 5.0
    """Between two requests."""
    linger_seconds: float = 2.0
    """For a refused sender to finish and to take the answer."""
    connections: int = 1000
    """At a time; beyond, the one that has let us wait longest is dropped."""

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            if not getattr(self, name) > 0:
                reject(f"`{name}` must be above 0", getattr(self, name), "nothing could pass")

    @property
    def sweep_seconds(self) -> float:
        """How often connections are looked at: often enough that no time is passed by more than a quarter."""
        return min(self.head_seconds, self.body_seconds, self.idle_seconds, self.linger_seconds, 4.0) / 4


async def read_body(receive: Receive, limits: Limits, *, content_length: bytes | None = None) -> bytes:
    """All bytes of a request's body, or a refusal (413, 400); `stated` is its Content-Length."""
    if (
        content_length is not None
        and content_length.isdigit()
        and (len(content_length) > 12 or int(content_length) > limits.body)
    ):
        raise _too_long()
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise HttpError(400, "The request was not finished.")
        body += message.get("body", b"")
        if len(body) > limits.body:
            raise _too_long()
        if not message.get("more_body", False):
            return bytes(body)


def _too_long() -> HttpError:
    return HttpError(413, "This is too long.")
