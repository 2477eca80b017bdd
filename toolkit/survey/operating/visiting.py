"""How the public address of a collection is asked, as a phone would: one request on a connection of its
own.
"""

import http.client
import socket
import ssl
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from toolkit.core.checks import refuse

PLAIN_PORT = 80
"""Where whoever types an address without https:// comes to."""
_SECONDS = 10.0


@dataclass(frozen=True)
class Answer:
    """What came back; the names of headers are in small letters."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Address:
    """Where a collection is found, such as https://survey.example.org/survey/.

    >>> Address.of("https://survey.example.org/survey").path("report")
    '/survey/report'
    """

    secure: bool
    host: str
    port: int
    prefix: str

    @classmethod
    def of(cls, url: str) -> "Address":
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            refuse(
                "the address must begin with https:// or http://",
                repr(url)[:60],
                "give the one that respondents use",
            )
        secure = parts.scheme == "https"
        return cls(secure, parts.hostname, parts.port or (443 if secure else 80), parts.path.rstrip("/"))

    def path(self, name: str = "") -> str:
        return f"{self.prefix}/{name}"

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """What the server shows; it was verified for this name. The version of TLS is with it."""
        plain = socket.create_connection((self.host, self.port), timeout=_SECONDS)
        with plain, ssl.create_default_context().wrap_socket(plain, server_hostname=self.host) as connection:
            return {**(connection.getpeercert() or {}), "version": connection.version()}

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        plainly: bool = False,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """The answer to one request; `plainly` without TLS at the usual port."""
        line: http.client.HTTPConnection
        if self.secure and not plainly:
            line = http.client.HTTPSConnection(
                self.host, self.port, timeout=_SECONDS, context=ssl.create_default_context()
            )
        else:
            line = http.client.HTTPConnection(self.host, PLAIN_PORT if self.secure else self.port, timeout=_SECONDS)
        try:
            line.request(method, path, body, headers or {})
            answer = line.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            line.close()
