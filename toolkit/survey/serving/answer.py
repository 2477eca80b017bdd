"""One answer of the server, with its headers made once.

By the headers of every answer, errors too, the page may load only its own files, and nothing of it stays anywhere.
"""

import base64
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from toolkit.survey import client


class RefusalError(Exception):
    """A status of HTTP and a sentence of ours, never one of the client's."""

    def __init__(self, status: int, sentence: str, *, retry_after: int | None = None) -> None:
        self.status, self.sentence, self.retry_after = status, sentence, retry_after

    @property
    def headers(self) -> dict[str, str]:
        """When to come again."""
        return {} if self.retry_after is None else {"retry-after": str(self.retry_after)}


# The style stands in the page, so that nobody waits for one more answer; no other style has this hash.
_STYLE = base64.b64encode(hashlib.sha256(client.asset("style.css")).digest()).decode()

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'sha256-{_STYLE}'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)

HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


Scope = Mapping[str, Any]
Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass(frozen=True)
class Response:
    """A status, a body, and headers of its own; `length` is the body's, also where HEAD leaves it out."""

    status: int
    body: bytes
    own: Mapping[str, str]
    length: int | None = None

    @cached_property
    def headers(self) -> list[tuple[bytes, bytes]]:
        length = len(self.body) if self.length is None else self.length
        every = {**self.own, "content-length": str(length), **HEADERS, **self.own}
        return [(name.encode(), value.encode()) for name, value in every.items()]

    def same(self, body: bytes) -> "Response":
        """The same with another body of the same length; its headers are not made again."""
        other = Response(self.status, body, self.own, self.length)
        other.__dict__.update(headers=self.headers)
        return other

    @property
    def then_close(self) -> "Response":
        return Response(self.status, self.body, {**self.own, "connection": "close"}, self.length)

    @property
    def without_body(self) -> "Response":
        """What HEAD gets."""
        return Response(self.status, b"", self.own, len(self.body))

    async def give(self, scope: Scope, send: Send) -> None:
        """Answer a request by the two messages of ASGI; without a body for HEAD."""
        answer = self.without_body if scope.get("method") == "HEAD" else self
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.body})


def in_json(status: int, data: object, headers: Mapping[str, str] | None = None) -> Response:
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(status, body, {"content-type": "application/json", **(headers or {})})
