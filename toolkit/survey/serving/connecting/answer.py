"""One answer of the server, with the headers that every answer has: made once, as bytes that a connection
writes as they are.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from toolkit.survey.serving.headers import HEADERS

Scope = Mapping[str, Any]
Send = Callable[[dict[str, Any]], Awaitable[None]]

WHOLE = "toolkit.whole_answer"
"""The extension of ASGI by which a connection takes an answer in one piece: `take` says whether it did."""


@dataclass(frozen=True)
class Answer:
    """A status, a body, and headers beside those that every answer has.

    `length` is that of the body; an answer to HEAD states the length of a body that it does not have.
    """

    status: int
    body: bytes
    own: Mapping[str, str]
    length: int | None = None

    @cached_property
    def headers(self) -> list[tuple[bytes, bytes]]:
        length = len(self.body) if self.length is None else self.length
        every = {**self.own, "content-length": str(length), **HEADERS, **self.own}
        return [(name.encode(), value.encode()) for name, value in every.items()]

    @cached_property
    def lines(self) -> bytes:
        """The headers as they are sent."""
        return b"".join(b"%s: %s\r\n" % field for field in self.headers)

    def same(self, body: bytes) -> "Answer":
        """The same with another body of the same length; its headers are not made again."""
        other = Answer(self.status, body, self.own, self.length)
        other.__dict__.update(headers=self.headers, lines=self.lines)
        return other

    @property
    def then_close(self) -> "Answer":
        """The same, after which the connection is closed."""
        return Answer(self.status, self.body, {**self.own, "connection": "close"}, self.length)

    @property
    def without_body(self) -> "Answer":
        """What HEAD gets."""
        return Answer(self.status, b"", self.own, len(self.body))

    async def give(self, scope: Scope, send: Send) -> None:
        """Answer a request: in one piece where the connection can, else by the two messages of ASGI."""
        whole = scope.get("extensions", {}).get(WHOLE)
        if whole is None or not whole["take"](self):
            await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
            await send({"type": "http.response.body", "body": self.body})


def in_json(status: int, data: object, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer that is one JSON value."""
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    return Answer(status, body, {"content-type": "application/json", **(headers or {})})
