"""A dry run against the public address of a collection: what a phone would meet there, and what to do about
what is wrong.

Nothing is stored: the one report that is sent names another survey, and is refused for that. What cannot be
seen from outside is not judged: logs of the proxy, backups, readers of the database.
"""

import http.client
import json
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from toolkit.core.checks import reject
from toolkit.survey.questions.survey_fields import PERSON
from toolkit.survey.serving.limits import Limits
from toolkit.survey.serving.response import HEADERS

PLAIN_PORT = 80
"""Where an address without https:// leads."""
_SECONDS = 10.0


@dataclass(frozen=True)
class ProbeResult:
    """What came back; the names of headers are in small letters."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Address:
    """Where a collection is found, such as https://survey.example.org/survey/."""

    secure: bool
    host: str
    port: int
    prefix: str

    @classmethod
    def of(cls, url: str) -> "Address":
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            reject(
                "the address must begin with https:// or http://", repr(url)[:60], "give the one that respondents use"
            )
        secure = parts.scheme == "https"
        return cls(secure, parts.hostname, parts.port or (443 if secure else 80), parts.path.rstrip("/"))

    def path(self, name: str = "") -> str:
        return f"{self.prefix}/{name}"

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """What the server shows; it was verified for this name. The version of TLS is with it."""
        tcp = socket.create_connection((self.host, self.port), timeout=_SECONDS)
        with tcp, ssl.create_default_context().wrap_socket(tcp, server_hostname=self.host) as connection:
            return {**(connection.getpeercert() or {}), "version": connection.version()}

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        plain_http: bool = False,
        headers: dict[str, str] | None = None,
    ) -> ProbeResult:
        """The answer to one request; `plainly` without TLS at the usual port."""
        connection: http.client.HTTPConnection
        if self.secure and not plain_http:
            connection = http.client.HTTPSConnection(
                self.host, self.port, timeout=_SECONDS, context=ssl.create_default_context()
            )
        else:
            connection = http.client.HTTPConnection(
                self.host, PLAIN_PORT if self.secure else self.port, timeout=_SECONDS
            )
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return ProbeResult(
                response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
            )
        finally:
            connection.close()


_RENEW_DAYS = 14
_BLOCK = re.compile(rb'<script[^>]*type="application/json"[^>]*>(.*?)</script>', re.DOTALL)
_FILES = re.compile(r'(?:src|href)="([a-z_]+\.(?:js|css))"')
_JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Finding:
    """What one check found. `remedy`: what to do, if it is not as it should be; `grave`: whether it must be done."""

    observation: str
    remedy: str = ""
    severe: bool = True
    check: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.remedy) and self.severe

    def __str__(self) -> str:
        mark = "FAIL" if self.failed else "note" if self.remedy else "ok"
        return f"{mark:4} {self.check}: {self.observation}{f'. {self.remedy}' if self.remedy else ''}"


@dataclass(frozen=True)
class Visit:
    """An address and the page that was found there, with the survey in it."""

    address: Address
    page: ProbeResult
    data: dict[str, Any]


def examine(url: str) -> Iterator[Finding]:
    """One finding a check, each as soon as it is known; without a page there is nothing more to learn."""
    address = Address.of(url)
    try:
        yield replace(_check_tls(address), check="TLS")
        page = address.request("GET", address.path())
    except (OSError, http.client.HTTPException) as problem:
        yield _connection_failure(problem)
        return
    data = _find_survey(page)
    if data is None:
        path = "The proxy must pass requests below it on, with --prefix if it leaves the path as it is"
        yield Finding(f"status {page.status} and no survey at {address.path()}", path, check="page")
        return
    title = data["title"][data["languages"][0]]
    yield Finding(f"{title!r}, hash {data['hash'][:12]}…, access {data['access']}", check="page")
    visit = Visit(address, page, data)
    for name, check in _CHECKS.items():
        try:
            yield replace(check(visit), check=name)
        except (OSError, http.client.HTTPException) as problem:
            observation = f"the connection broke ({type(problem).__name__})"
            yield Finding(observation, "Look at the proxy and its limits", check=name)


def _check_tls(address: Address) -> Finding:
    if not address.secure:
        return Finding("none", "Anybody on the way could change the page so that it sends the truth: use https://")
    certificate = address.certificate
    days = int((ssl.cert_time_to_seconds(certificate["notAfter"]) - time.time()) // 86_400)
    observation = f"{certificate['version']}, a certificate that browsers trust, good for {days} more days"
    return Finding(observation, "Renew it, and see why that was not done by itself" if days < _RENEW_DAYS else "")


def _connection_failure(problem: Exception) -> Finding:
    if isinstance(problem, ssl.SSLCertVerificationError):
        chain = "Give the proxy the certificate of this name with its whole chain (fullchain.pem)"
        return Finding(f"the certificate is not good: {problem.verify_message}", chain, check="TLS")
    if isinstance(problem, ssl.SSLError):
        remedy = "Look at ssl_protocols and the name of the server in the proxy"
        return Finding(f"no handshake ({problem.reason})", remedy, check="TLS")
    remedy = "Look at the name, the firewall and whether the proxy runs"
    return Finding(f"no answer ({type(problem).__name__})", remedy, check="address")


def _find_survey(page: ProbeResult) -> dict[str, Any] | None:
    block = _BLOCK.search(page.body)
    try:
        data = json.loads(block.group(1)) if block and page.status == 200 else None
    except ValueError:
        return None
    return data if isinstance(data, dict) and {"title", "languages", "hash", "access"} <= set(data) else None


def _check_redirect(visit: Visit) -> Finding:
    """Who types the address without https:// must be led to it, or find nothing; never the page."""
    if not visit.address.secure:
        return Finding("not asked, as the address has no TLS")
    try:
        response = visit.address.request("GET", visit.address.path(), plain_http=True)
    except OSError:
        return Finding("nothing listens at port 80", "A redirection helps people who type the address", severe=False)
    target = response.headers.get("location", "")
    if 300 <= response.status < 400 and target.startswith("https://"):
        return Finding("http:// leads to https://")
    return Finding(f"http:// answers with {response.status}", "Let it redirect to https:// and serve nothing")


def _check_prefix(visit: Visit) -> Finding:
    if not visit.address.prefix:
        return Finding("none")
    status = visit.address.request("GET", visit.address.prefix).status
    if status in (301, 302, 307, 308):
        return Finding(f"{visit.address.prefix} leads to {visit.address.path()}")
    return Finding(f"{visit.address.prefix} without / answers with {status}", "Let the proxy redirect it", severe=False)


def _check_files(visit: Visit) -> Finding:
    """What the page loads must come from the same place."""
    names = sorted(set(_FILES.findall(visit.page.body.decode(errors="replace"))))
    missing = [name for name in names if visit.address.request("GET", visit.address.path(name)).status != 200]
    if missing or not names:
        return Finding(
            f"{', '.join(missing) or 'none'} cannot be loaded", "The proxy must pass on all that is below the address"
        )
    return Finding(f"{', '.join(names)} load")


def _check_headers(visit: Visit) -> Finding:
    wrong = [key for key, value in HEADERS.items() if visit.page.headers.get(key) != value]
    if wrong:
        return Finding(
            f"{', '.join(wrong)} missing or changed", "The proxy must pass on the headers of the server as they are"
        )
    if visit.address.secure and "strict-transport-security" not in visit.page.headers:
        return Finding("all but Strict-Transport-Security", "Let the proxy add it", severe=False)
    return Finding(f"all {len(HEADERS)} as the server sends them")


def _check_caching(visit: Visit) -> Finding:
    again = visit.address.request("GET", visit.address.path())
    if "set-cookie" in again.headers:
        return Finding("a cookie is set", "Something between server and phone marks people: find it and turn it off")
    if "age" in again.headers or "hit" in again.headers.get("x-cache", "").lower():
        return Finding("the answer was kept on the way", "Turn that off: it holds who asked for what")
    others = [key for key in ("via", "x-cache", "cf-ray", "x-varnish") if key in again.headers]
    if others:
        advice = "Something else than your proxy may see and log every request: know what it is"
        return Finding(f"the answer has {', '.join(others)}", advice, severe=False)
    return Finding("no sign of a cache or of a cookie")


def _check_head(visit: Visit) -> Finding:
    status = visit.address.request("HEAD", visit.address.path()).status
    remedy = "Load balancers that ask so would take the server for dead" if status != 200 else ""
    return Finding(f"status {status}", remedy, severe=False)


def _check_health(visit: Visit) -> Finding:
    response = visit.address.request("GET", visit.address.path("health"))
    status = response.status
    if status == 200 and b"closed" in response.body:
        return Finding("the collection is closed", "Nobody can answer: end its server")
    if status == 503:
        return Finding(
            "reports cannot be stored at the moment", "See the log of the server, and whether its database runs"
        )
    if status != 200:
        return Finding(
            f"status {status}", "Nothing tells whether the server works: is it of an older version?", severe=False
        )
    return Finding("good")


def _check_host(visit: Visit) -> Finding:
    """Another name must not get the survey: it could be shown at the address of others."""
    try:
        response = visit.address.request("GET", visit.address.path(), headers={"Host": "another.example"})
    except (OSError, http.client.HTTPException):
        return Finding("another name gets nothing")
    if _find_survey(response) is None:
        return Finding(f"another name gets {response.status}")
    return Finding("another name gets the survey, too", "Give the proxy a default server that refuses", severe=False)


def _check_body_limit(visit: Visit) -> Finding:
    limit = Limits.body
    refused = Finding(f"more than {limit:,} bytes are refused")
    try:
        status = visit.address.request("POST", visit.address.path("report"), b" " * (limit + 1), headers=_JSON).status
    except (ConnectionError, http.client.RemoteDisconnected):  # hung up before the end: that is a refusal, too
        return refused
    remedy = f"The proxy must refuse what is above {limit:,}"
    return refused if status == 413 else Finding(f"{limit + 1:,} bytes are answered with {status}", remedy)


def _check_origin(visit: Visit) -> Finding:
    """Whatever else is served at the same scheme, host and port could read what phones keep for it."""
    address = visit.address
    advice = "a collection must have it to itself: every page of it can read what any of them keeps on a phone"
    observation = f"{'https' if address.secure else 'http'}://{address.host}:{address.port}; {advice}"
    if not address.prefix or (status := address.request("GET", "/").status) >= 400:
        return Finding(observation)
    remedy = "Give the collection a name or a port at which nothing else is served"
    return Finding(f"{observation}; / answers with {status}", remedy, severe=False)


def _check_report(visit: Visit) -> Finding:
    """A report of another survey: it goes the whole way, and is refused with 409."""
    body: dict[str, Any] = {"survey": "0" * 64, "key": "0" * 32, "answers": {}, "understood": None}
    if visit.data["access"] != "open":
        body["token"] = "A" * 22
    if "panel" in visit.data:
        body[PERSON] = "0" * 32
    response = visit.address.request("POST", visit.address.path("report"), json.dumps(body).encode(), headers=_JSON)
    if response.status == 409:
        return Finding("a report of another survey is refused, and nothing was stored")
    return Finding(
        f"a report of another survey is answered with {response.status} instead of 409",
        _REMEDIES.get(response.status, _UNCLEAR_REMEDY),
    )


_UNCLEAR_REMEDY = "It does not reach the server as it was sent: look at what the proxy does to POST and to bodies"
_REMEDIES = {
    502: "The proxy finds no server: see whether it runs, and its port",
    503: "The server is too busy, or its database is away: see its log",
    504: "The server does not answer the proxy in time: see its log",
}
_CHECKS: dict[str, Callable[[Visit], Finding]] = {
    "redirect": _check_redirect,
    "prefix": _check_prefix,
    "files": _check_files,
    "headers": _check_headers,
    "caching": _check_caching,
    "HEAD": _check_head,
    "health": _check_health,
    "host": _check_host,
    "origin": _check_origin,
    "body limit": _check_body_limit,
    "test report": _check_report,
}
