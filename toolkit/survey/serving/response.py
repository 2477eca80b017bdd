"""HTTP responses of the server, and the security headers of all responses, including errors.

The headers allow the page to load only its own files and forbid all caching.
"""

import base64
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from toolkit.survey import client


class HttpError(Exception):
    """An error response: an HTTP status and a message, which never quotes the request."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None) -> None:
        self.status, self.message, self.retry_after = status, message, retry_after

    @property
    def headers(self) -> dict[str, str]:
        """The Retry-After header, if the client should send the request again."""
        return {} if self.retry_after is None else {"retry-after": str(self.retry_after)}


# The style is embedded in the page to save a request. The hash in the policy allows only this style.
_STYLE_HASH = base64.b64encode(hashlib.sha256(client.asset("style.css")).digest()).decode()

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'sha256-{_STYLE_HASH}'",
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
    """An HTTP response; its `headers` are added to `HEADERS` and replace headers of the same name.

    `content_length` is given if the body is omitted, as in a response to HEAD.
    """

    status: int
    body: bytes
    headers: Mapping[str, str]
    content_length: int | None = None

    @cached_property
    def raw_headers(self) -> list[tuple[bytes, bytes]]:
        """All headers in the form that ASGI expects, encoded once for all requests that get this response."""
        length = len(self.body) if self.content_length is None else self.content_length
        merged = {**self.headers, "content-length": str(length), **HEADERS, **self.headers}
        return [(name.encode(), value.encode()) for name, value in merged.items()]

    def with_body(self, body: bytes) -> "Response":
        """Return the response with a different body of the same length, without encoding the headers again."""
        response = Response(self.status, body, self.headers, self.content_length)
        response.__dict__.update(raw_headers=self.raw_headers)
        return response

    @property
    def with_close(self) -> "Response":
        """The response with a header that ends the connection."""
        return Response(self.status, self.body, {**self.headers, "connection": "close"}, self.content_length)

    @property
    def without_body(self) -> "Response":
        """The response to HEAD, which states the length of the body but omits the body."""
        return Response(self.status, b"", self.headers, len(self.body))

    async def send(self, scope: Scope, send: Send) -> None:
        """Send the response as two ASGI messages, without the body for HEAD."""
        response = self.without_body if scope.get("method") == "HEAD" else self
        await send({"type": "http.response.start", "status": response.status, "headers": response.raw_headers})
        await send({"type": "http.response.body", "body": response.body})


def json_response(status: int, data: object, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a JSON body."""
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(status, body, {"content-type": "application/json", **(headers or {})})
