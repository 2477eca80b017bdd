"""Checks of a collection at its public address, where phones reach it, with a remedy for each problem.

Nothing is stored: the only report that is sent names a different survey, so the server rejects it. The checks cannot
cover what is invisible from outside: logs of the proxy, backups, and access to the database.
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
"""The port of http:// addresses, where the proxy should redirect to https://."""
_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True)
class ProbeResult:
    """An HTTP response; the names of its headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Address:
    """The address of a collection, such as https://survey.example.org/survey/."""

    has_tls: bool
    host: str
    port: int
    prefix: str

    @classmethod
    def from_url(cls, url: str) -> "Address":
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            reject(
                "the address must begin with https:// or http://", repr(url)[:60], "use the address of the respondents"
            )
        secure = parts.scheme == "https"
        return cls(secure, parts.hostname, parts.port or (443 if secure else 80), parts.path.rstrip("/"))

    def path(self, name: str = "") -> str:
        return f"{self.prefix}/{name}"

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """The server's certificate, verified for this host, with the TLS version under the key "version"."""
        tcp = socket.create_connection((self.host, self.port), timeout=_TIMEOUT_SECONDS)
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
        """Send a request; with `plain_http`, send it without TLS to port 80."""
        connection: http.client.HTTPConnection
        if self.has_tls and not plain_http:
            connection = http.client.HTTPSConnection(
                self.host, self.port, timeout=_TIMEOUT_SECONDS, context=ssl.create_default_context()
            )
        else:
            connection = http.client.HTTPConnection(
                self.host, PLAIN_PORT if self.has_tls else self.port, timeout=_TIMEOUT_SECONDS
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
    """The result of one check. `remedy` is empty if there is no problem; a problem with `is_severe` must be fixed."""

    observation: str
    remedy: str = ""
    is_severe: bool = True
    check_name: str = ""

    @property
    def is_failure(self) -> bool:
        return bool(self.remedy) and self.is_severe

    def __str__(self) -> str:
        mark = "FAIL" if self.is_failure else "note" if self.remedy else "ok"
        return f"{mark:4} {self.check_name}: {self.observation}{f'. {self.remedy}' if self.remedy else ''}"


@dataclass(frozen=True)
class Visit:
    """A collection's address, its page, and the survey data in the page."""

    address: Address
    page: ProbeResult
    data: dict[str, Any]


def examine(url: str) -> Iterator[Finding]:
    """Run the checks and yield their findings one by one; stop early if no page is found."""
    address = Address.from_url(url)
    try:
        yield replace(_check_tls(address), check_name="TLS")
        page = address.request("GET", address.path())
    except (OSError, http.client.HTTPException) as problem:
        yield _connection_failure(problem)
        return
    data = _find_survey(page)
    if data is None:
        remedy = "The proxy must forward requests below this path; if it keeps the path, start the server with --prefix"
        yield Finding(f"status {page.status} and no survey at {address.path()}", remedy, check_name="page")
        return
    title = data["title"][data["languages"][0]]
    yield Finding(f"{title!r}, hash {data['hash'][:12]}…, access {data['access']}", check_name="page")
    visit = Visit(address, page, data)
    for name, check in _CHECKS.items():
        try:
            yield replace(check(visit), check_name=name)
        except (OSError, http.client.HTTPException) as problem:
            observation = f"the connection broke ({type(problem).__name__})"
            yield Finding(observation, "Check the proxy and its limits", check_name=name)


def _check_tls(address: Address) -> Finding:
    if not address.has_tls:
        return Finding("none", "Anybody on the network could change the page so that it sends the truth: use https://")
    certificate = address.certificate
    days = int((ssl.cert_time_to_seconds(certificate["notAfter"]) - time.time()) // 86_400)
    observation = f"{certificate['version']}, a certificate that browsers trust, valid for {days} more days"
    return Finding(observation, "Renew it, and find out why automatic renewal failed" if days < _RENEW_DAYS else "")


def _connection_failure(problem: Exception) -> Finding:
    if isinstance(problem, ssl.SSLCertVerificationError):
        chain = "Give the proxy the certificate of this name with its whole chain (fullchain.pem)"
        return Finding(f"the certificate is not valid: {problem.verify_message}", chain, check_name="TLS")
    if isinstance(problem, ssl.SSLError):
        remedy = "Check ssl_protocols and the server name in the proxy"
        return Finding(f"no handshake ({problem.reason})", remedy, check_name="TLS")
    remedy = "Check the host name, the firewall and whether the proxy is running"
    return Finding(f"no answer ({type(problem).__name__})", remedy, check_name="address")


def _find_survey(page: ProbeResult) -> dict[str, Any] | None:
    block = _BLOCK.search(page.body)
    try:
        data = json.loads(block.group(1)) if block and page.status == 200 else None
    except ValueError:
        return None
    return data if isinstance(data, dict) and {"title", "languages", "hash", "access"} <= set(data) else None


def _check_redirect(visit: Visit) -> Finding:
    """Check that http:// redirects to https:// or is not served at all."""
    if not visit.address.has_tls:
        return Finding("not checked, as the address has no TLS")
    try:
        response = visit.address.request("GET", visit.address.path(), plain_http=True)
    except OSError:
        return Finding("nothing listens at port 80", "A redirection helps people who type the address", is_severe=False)
    target = response.headers.get("location", "")
    if 300 <= response.status < 400 and target.startswith("https://"):
        return Finding("http:// redirects to https://")
    return Finding(f"http:// answers with {response.status}", "Let it redirect to https:// and serve nothing")


def _check_prefix(visit: Visit) -> Finding:
    if not visit.address.prefix:
        return Finding("none")
    status = visit.address.request("GET", visit.address.prefix).status
    if status in (301, 302, 307, 308):
        return Finding(f"{visit.address.prefix} redirects to {visit.address.path()}")
    return Finding(
        f"{visit.address.prefix} without / answers with {status}", "Let the proxy redirect it", is_severe=False
    )


def _check_files(visit: Visit) -> Finding:
    """Check that the files of the page can be loaded from the same address."""
    names = sorted(set(_FILES.findall(visit.page.body.decode(errors="replace"))))
    missing = [name for name in names if visit.address.request("GET", visit.address.path(name)).status != 200]
    if missing or not names:
        return Finding(
            f"{', '.join(missing) or 'none'} cannot be loaded", "The proxy must forward all paths below the address"
        )
    return Finding(f"{', '.join(names)} load")


def _check_headers(visit: Visit) -> Finding:
    wrong = [key for key, value in HEADERS.items() if visit.page.headers.get(key) != value]
    if wrong:
        return Finding(f"{', '.join(wrong)} missing or changed", "The proxy must not change the headers of the server")
    if visit.address.has_tls and "strict-transport-security" not in visit.page.headers:
        return Finding("all except Strict-Transport-Security", "Let the proxy add it", is_severe=False)
    return Finding(f"all {len(HEADERS)} as the server sends them")


def _check_caching(visit: Visit) -> Finding:
    again = visit.address.request("GET", visit.address.path())
    if "set-cookie" in again.headers:
        return Finding("a cookie is set", "Something between server and phone tracks people: find it and turn it off")
    if "age" in again.headers or "hit" in again.headers.get("x-cache", "").lower():
        return Finding("the response came from a cache", "Turn the cache off: it records who requested what")
    proxy_headers = [key for key in ("via", "x-cache", "cf-ray", "x-varnish") if key in again.headers]
    if proxy_headers:
        advice = "Something other than your proxy may see and log every request: find out what it is"
        return Finding(f"the response has {', '.join(proxy_headers)}", advice, is_severe=False)
    return Finding("no sign of a cache or a cookie")


def _check_head(visit: Visit) -> Finding:
    status = visit.address.request("HEAD", visit.address.path()).status
    remedy = "Load balancers that send HEAD requests would consider the server dead" if status != 200 else ""
    return Finding(f"status {status}", remedy, is_severe=False)


def _check_health(visit: Visit) -> Finding:
    response = visit.address.request("GET", visit.address.path("health"))
    status = response.status
    if status == 200 and b"closed" in response.body:
        return Finding("the collection is closed", "Nobody can answer: stop its server")
    if status == 503:
        return Finding(
            "reports cannot be stored at the moment", "Check the server's log, and whether its database is running"
        )
    if status != 200:
        return Finding(
            f"status {status}", "The health cannot be checked: is the server an older version?", is_severe=False
        )
    return Finding("good")


def _check_host(visit: Visit) -> Finding:
    """Check that the survey is not served under other host names, where it could appear to be somebody else's."""
    try:
        response = visit.address.request("GET", visit.address.path(), headers={"Host": "another.example"})
    except (OSError, http.client.HTTPException):
        return Finding("another name gets nothing")
    if _find_survey(response) is None:
        return Finding(f"another name gets {response.status}")
    remedy = "Give the proxy a default server that rejects requests"
    return Finding("another name also gets the survey", remedy, is_severe=False)


def _check_body_limit(visit: Visit) -> Finding:
    limit = Limits.body_bytes
    rejected = Finding(f"more than {limit:,} bytes are rejected")
    try:
        status = visit.address.request("POST", visit.address.path("report"), b" " * (limit + 1), headers=_JSON).status
    except (ConnectionError, http.client.RemoteDisconnected):  # closing the connection early also rejects the body
        return rejected
    remedy = f"The proxy must reject bodies above {limit:,} bytes"
    return rejected if status == 413 else Finding(f"{limit + 1:,} bytes are answered with {status}", remedy)


def _check_origin(visit: Visit) -> Finding:
    """Warn if other pages share the origin, because they could read what the survey's page stores on phones."""
    address = visit.address
    advice = "serve nothing else there: all pages of an origin can read what each of them stores on a phone"
    observation = f"{'https' if address.has_tls else 'http'}://{address.host}:{address.port}; {advice}"
    if not address.prefix or (status := address.request("GET", "/").status) >= 400:
        return Finding(observation)
    remedy = "Give the collection a host name or a port of its own"
    return Finding(f"{observation}; / answers with {status}", remedy, is_severe=False)


def _check_report(visit: Visit) -> Finding:
    """Send a report for a different survey; it must pass through the proxy and be rejected with status 409."""
    body: dict[str, Any] = {"survey": "0" * 64, "key": "0" * 32, "answers": {}, "understood": None}
    if visit.data["access"] != "open":
        body["token"] = "A" * 22
    if "panel" in visit.data:
        body[PERSON] = "0" * 32
    response = visit.address.request("POST", visit.address.path("report"), json.dumps(body).encode(), headers=_JSON)
    if response.status == 409:
        return Finding("a report of another survey is rejected, and nothing was stored")
    return Finding(
        f"a report of another survey is answered with {response.status} instead of 409",
        _REMEDIES.get(response.status, _UNCLEAR_REMEDY),
    )


_UNCLEAR_REMEDY = "The request does not reach the server unchanged: check what the proxy does to POST and to bodies"
_REMEDIES = {
    502: "The proxy does not reach the server: check whether it is running, and its port",
    503: "The server is too busy, or its database is unreachable: check its log",
    504: "The server does not answer the proxy in time: check its log",
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
