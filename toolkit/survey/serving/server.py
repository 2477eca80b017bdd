"""The ASGI application for respondents: the page and its files, and endpoints for reports, signatures and health.

There is no endpoint for researchers: status, closing and results go through the database, from a different process.
There are no cookies, and apart from the report itself no part of a request is logged, quoted in a response or stored.
Status 201 means that a report with this key is on disk; after any other response it is correct to send the same bytes
again. If the database fails, reports get status 503 with a Retry-After header, and the page still loads because it was
rendered when the server started.

The application looks up the path in a routing table, without a framework or middleware. `connection.py` enforces the
time limit for reading a body.
"""

import asyncio
import gzip
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from toolkit.core.checks import reject
from toolkit.survey import client
from toolkit.survey.serving.access import page_hash, parse_sign_request, required_token_hash
from toolkit.survey.serving.blind import IssuerKey
from toolkit.survey.serving.limits import Limits, Receive, read_body
from toolkit.survey.serving.page import render_page
from toolkit.survey.serving.payload import OtherSurveyError, PayloadError, Submission, parse_submission
from toolkit.survey.serving.response import HttpError, Response, Scope, Send, json_response
from toolkit.survey.serving.station import StationKey, parse_returned_uses, parse_sealed
from toolkit.survey.spec import Survey
from toolkit.survey.storage import NewReport, Outcome, StoreError
from toolkit.survey.storage.writer import Writer

_LOG = logging.getLogger("toolkit.survey")
_Result = TypeVar("_Result")

STATE_SECONDS = 10.0
"""Seconds for which the cached state of the collection is used."""
FAILURE_SECONDS = 30.0
"""Seconds for which a failure is reported.

Afterwards the server reports good health again. Otherwise a proxy that stops sending requests to a failing server
would never learn that it has recovered.
"""


class Health:
    """The health of a server: whether it can store reports.

    The health becomes bad when a report cannot be stored. It becomes good again when a report is stored or after
    `FAILURE_SECONDS`. Each change is logged once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failure_time: float | None = None
        self._checked_time: float | None = None
        self.collection_is_closed = False

    def start_check(self) -> bool:
        """Return whether the cached state of the collection is out of date; if so, record that it is being checked."""
        now = self._clock()
        is_due = self._checked_time is None or now - self._checked_time >= STATE_SECONDS
        if is_due:
            self._checked_time = now
        return is_due

    @property
    def is_good(self) -> bool:
        return self._failure_time is None or self._clock() - self._failure_time >= FAILURE_SECONDS

    def record_failure(self, error: Exception) -> None:
        if self._failure_time is None:
            _LOG.warning("No reports can be stored: %s", str(error) or "the store does not answer in time.")
        self._failure_time = self._clock()

    def record_success(self) -> None:
        if self._failure_time is not None:
            _LOG.warning("Reports are stored again.")
            self._failure_time = None


_SCRIPT = "text/javascript; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"
_HTML = "text/html; charset=utf-8"
_JSON_NAMES = (b"application/json", b"application/json;charset=utf-8")
_STORED = json_response(201, {"stored": "0" * 32})
_REFUSALS = {
    Outcome.PAUSED: (503, "This survey is not open at the moment: please try again later."),
    Outcome.CLOSED: (410, "This survey is closed."),
    Outcome.FULL: (410, "This survey has as many reports as it asked for, and takes no more."),
    Outcome.SPENT: (403, "This link was used before, or is not one of this survey."),
}
_PAUSE_SECONDS, _BUSY_SECONDS = 60, 5
Handler = Callable[[Scope, Receive], Awaitable[Response]]


def build_application(
    survey: Survey,
    writer: Writer,
    *,
    issuer_key: IssuerKey | None = None,
    station_key: StationKey | None = None,
    limits: Limits | None = None,
    prefix: str = "",
    earlier_hashes: Sequence[str] = (),
) -> "Application":
    """Build the ASGI application of one survey.

    `prefix` is the path below which a proxy forwards requests unchanged. Reports from earlier editions of the survey,
    which have the hashes `earlier_hashes`, are still accepted.
    """
    if (issuer_key is None) != (survey.access != "blind"):
        rule = "`key` must be given for access by blind tokens, and only then"
        reject(rule, f"access {survey.access!r}", "the key signs the blind tokens")
    if prefix and (
        not prefix.startswith("/") or prefix.endswith("/") or not prefix.isascii() or set(prefix) & set("{}%?#")
    ):
        reject("`prefix` must be a path such as '/survey'", repr(prefix), "no request would match it")
    issuer = None if issuer_key is None else issuer_key.issuer
    pages = frozenset(page_hash(edition, issuer) for edition in (survey.hash, *earlier_hashes))
    health, limits_or_default = Health(), limits or Limits()
    endpoints = _Endpoints(survey, pages, writer, issuer_key, limits_or_default, health, station_key)
    form = render_page(survey, issuer, earlier_hashes)
    table: dict[str, dict[str, Handler]] = {
        "/report": {"POST": endpoints.report},
        "/health": _get_and_head(endpoints.health),
    }
    table |= {"/sign": {"POST": endpoints.sign}} if issuer_key is not None else {}
    table |= {"/": _static_handlers(form, _HTML)}
    if station_key is not None:
        table |= {"/sealed": {"POST": endpoints.sealed_report}, "/returned": {"POST": endpoints.returned_uses}}
        table["/station"] = _static_handlers(render_page(survey, None, earlier_hashes, station_key.public_key), _HTML)
    for name in client.FILE_NAMES:  # exactly the files that the hash covers, so that anybody can compute the hash
        table[f"/{name}"] = _static_handlers(client.asset(name), _SCRIPT if name.endswith(".js") else _TEXT)
    return Application(
        {f"{prefix}{path}": methods for path, methods in table.items()}, closing_paths={f"{prefix}/sign"}
    )


def _static_handlers(content: bytes, content_type: str) -> dict[str, Handler]:
    """Return handlers that serve static content, compressed with gzip for clients that accept it."""
    plain = Response(200, content, {"content-type": content_type})
    compressed = Response(
        200, gzip.compress(content, mtime=0), {"content-type": content_type, "content-encoding": "gzip"}
    )

    async def content_for(scope: Scope) -> Response:
        accepted = b",".join(value for name, value in scope["headers"] if name == b"accept-encoding").split(b",")
        return (
            compressed if b"gzip" in map(bytes.strip, accepted) else plain
        )  # a client that sends q values gets the uncompressed content

    return _get_and_head(content_for)


def _get_and_head(content_for: Callable[[Scope], Awaitable[Response]]) -> dict[str, Handler]:
    """Return handlers for GET and HEAD; `Response.send` omits the body for HEAD."""

    async def get(scope: Scope, _: Receive) -> Response:
        return await content_for(scope)

    return {"GET": get, "HEAD": get}


class Application:
    """An ASGI application that dispatches requests to handlers by path and method.

    Errors are logged only with their type and line. Responses to the paths in `closing_paths` end the connection,
    because a report sent on the connection of a signature request would be linked to the invited person.
    """

    def __init__(self, routes: Mapping[str, Mapping[str, Handler]], closing_paths: Set[str] = frozenset()) -> None:
        self._table, self._closing = routes, closing_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            response = await self._respond(scope, receive)
        except HttpError as error:
            response = _http_error_response(error)
        except Exception as error:
            _LOG.error("%s", _error_location(error))
            response = _error_response(500, "Something went wrong here; nothing was stored.")
        if scope["path"] in self._closing:
            response = response.with_close
        try:
            await response.send(scope, send)
        except Exception as error:
            _LOG.error("%s", _error_location(error))

    async def _respond(self, scope: Scope, receive: Receive) -> Response:
        methods = self._table.get(scope["path"])
        if methods is None:
            return _error_response(404, "There is nothing at this address.")
        handler = methods.get(scope["method"])
        if handler is None:
            return _error_response(405, "This address does not do that.", {"allow": ", ".join(methods)})
        return await handler(scope, receive)


@dataclass(frozen=True, repr=False)
class _Endpoints:
    """The endpoints that depend on the store."""

    survey: Survey
    page_hashes: frozenset[str]
    writer: Writer
    key: IssuerKey | None
    limits: Limits
    store_health: Health
    station: StationKey | None = None

    async def report(self, scope: Scope, receive: Receive) -> Response:
        """Store a report; status 201 means that a report with this key is on disk, from this or an earlier request."""
        with _translate_payload_errors():
            submission = parse_submission(self.survey, await self._read_body(scope, receive), self.page_hashes)
        return await self._store_submission(submission, submission.key.hex())

    async def sealed_report(self, scope: Scope, receive: Receive) -> Response:
        """Store a report that a station has encrypted; the acknowledgment is the hash of the encrypted report."""
        assert self.station is not None  # the path exists only with a station key
        with _translate_payload_errors():
            report, token, sealed_hash = parse_sealed(self.station, await self._read_body(scope, receive))
            submission = parse_submission(self.survey, report, self.page_hashes, token=token)
        return await self._store_submission(submission, sealed_hash)

    async def returned_uses(self, scope: Scope, receive: Receive) -> Response:
        """Mark as spent the uses that a station returns; the status is 200 even if they are already marked."""
        with _translate_payload_errors():
            uses = parse_returned_uses(await self._read_body(scope, receive))
        await self._store_result(self.writer.return_uses(uses))
        return json_response(200, {"returned": len(uses)})

    async def _store_submission(self, submission: Submission, receipt: str) -> Response:
        token_hash = required_token_hash(self.page_hashes, submission, None if self.key is None else self.key.issuer)
        outcome = await self._store_result(self.writer.put(NewReport(submission.key, submission.body, token_hash)))
        if outcome in _REFUSALS:
            raise HttpError(*_REFUSALS[outcome], retry_after=_PAUSE_SECONDS if outcome is Outcome.PAUSED else None)
        return _STORED.with_body(b'{"stored":"%s"}' % receipt.encode())

    async def sign(self, scope: Scope, receive: Receive) -> Response:
        """Issue a blind signature; the invitation is used up before the signature is computed."""
        assert self.key is not None  # the path exists only with an issuer's key
        with _translate_payload_errors():
            request = parse_sign_request(self.page_hashes, self.key.issuer, await self._read_body(scope, receive))
        if not await self._store_result(self.writer.issue(request.invitation, request.fingerprint)):
            raise HttpError(403, "This link was used before, or is not one of this survey, or the survey is not open.")
        signature = await asyncio.to_thread(self.key.sign, request.blinded)
        return json_response(200, {"signature": signature.hex()})

    async def health(self, _: Scope) -> Response:
        """Report whether reports can be stored and whether the collection is closed, without any counts."""
        if self.writer.is_working and self.store_health.is_good:
            if self.store_health.start_check() and not self.store_health.collection_is_closed:
                self.store_health.collection_is_closed = await self._is_closed()
            return json_response(200, {"health": "closed" if self.store_health.collection_is_closed else "good"})
        return _http_error_response(
            HttpError(503, "Reports cannot be stored at the moment.", retry_after=_BUSY_SECONDS)
        )

    async def _is_closed(self) -> bool:
        """Return whether the collection is closed; False if the store fails, which the next report will reveal."""
        try:
            return await self._with_timeout(self.writer.is_closed())
        except (StoreError, TimeoutError):
            return False

    async def _read_body(self, scope: Scope, receive: Receive) -> bytes:
        headers = scope["headers"]
        content_types = [value for name, value in headers if name == b"content-type"]
        if len(content_types) != 1 or content_types[0].replace(b" ", b"").lower() not in _JSON_NAMES:
            raise HttpError(415, "Send application/json.")
        content_length = None
        for name, value in headers:
            if name == b"content-encoding":
                raise HttpError(415, "Send it without a content encoding.")
            if name == b"content-length":
                content_length = value
        return await read_body(receive, self.limits, content_length=content_length)

    async def _with_timeout(self, work: Awaitable[_Result]) -> _Result:
        async with asyncio.timeout(self.limits.response_seconds / 2):
            return await work

    async def _store_result(self, work: Awaitable[_Result]) -> _Result:
        """Wait for the store's result; raise `HttpError` 503 if it fails or takes too long."""
        try:
            result = await self._with_timeout(work)
        except (StoreError, TimeoutError) as error:
            self.store_health.record_failure(error)
            seconds = error.retry_after if isinstance(error, StoreError) else _BUSY_SECONDS
            raise HttpError(
                503, "This cannot be stored at the moment: please send it again.", retry_after=seconds
            ) from None
        self.store_health.record_success()
        return result


@contextmanager
def _translate_payload_errors() -> Iterator[None]:
    try:
        yield
    except PayloadError as error:
        raise HttpError(409 if isinstance(error, OtherSurveyError) else 400, str(error)) from None


def _error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return json_response(status, {"error": message}, headers)


def _http_error_response(error: HttpError) -> Response:
    return _error_response(error.status, error.message, error.headers)


def _error_location(error: Exception) -> str:
    """Format the type and line of an error without its message, which might quote a request."""
    frame: Any = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}"
