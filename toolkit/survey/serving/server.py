"""What respondents' browsers talk to: the page and its files, one address for reports, one for blind signatures, one
for health.

Nothing here belongs to the researcher: status, closing and results are done at the database, from another process.
There are no cookies, and nothing of a request is logged, quoted in an answer or kept but the report itself. 201 means
that a report with this key is on the disk; whatever else is answered, sending the same bytes again is right. When the
database fails, reports are answered with 503 and a time to wait, and the page still loads: it was made when the server
started.

It is a plain ASGI application: an address is found in a table, and there is nothing between it and the connection. How
long a body may take is watched by the connection (`connection.py`), which counts seconds anyway.
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
from toolkit.survey.serving.access import page_hash, parse_sign_request, required_pass
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
"""How long what is known of the collection's state is good enough."""
FAILURE_SECONDS = 30.0
"""How long a failure counts: else a proxy that sends nobody to an ailing server never learns that it is well again."""


class Health:
    """Good until a report could not be stored, and again when one was, or much later; logged once each."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failure_time: float | None = None
        self._checked_time: float | None = None
        self.is_closed = False

    @property
    def take_turn(self) -> bool:
        """Whether the collection's state may be looked at again; if so, it is taken for looked at."""
        now = self._clock()
        due = self._checked_time is None or now - self._checked_time >= STATE_SECONDS
        self._checked_time = now if due else self._checked_time
        return due

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


def application(
    survey: Survey,
    writer: Writer,
    *,
    key: IssuerKey | None = None,
    station: StationKey | None = None,
    limits: Limits | None = None,
    prefix: str = "",
    earlier: Sequence[str] = (),
) -> "Application":
    """The server of one survey, as an ASGI application. `prefix` is the path below which a proxy passes requests on as
    they come; `earlier` are hashes of the survey as earlier pages showed it, whose reports are still good.
    """
    if (key is None) != (survey.access != "blind"):
        rule = "`key` must be given for access by blind tokens, and only then"
        reject(rule, f"access {survey.access!r}", "it signs the tokens")
    if prefix and (
        not prefix.startswith("/") or prefix.endswith("/") or not prefix.isascii() or set(prefix) & set("{}%?#")
    ):
        reject("`prefix` must be a path such as '/survey'", repr(prefix), "requests would not be found")
    issuer = None if key is None else key.issuer
    pages = frozenset(page_hash(one, issuer) for one in (survey.hash, *earlier))
    health, limits_or_default = Health(), limits or Limits()
    endpoints = _Endpoints(survey, pages, writer, key, limits_or_default, health, station)
    form = render_page(survey, issuer, earlier)
    table: dict[str, dict[str, Handler]] = {
        "/report": {"POST": endpoints.report},
        "/health": _get_and_head(endpoints.health),
    }
    table |= {"/sign": {"POST": endpoints.sign}} if key is not None else {}
    table |= {"/": _static(form, _HTML)}
    if station is not None:
        table |= {"/sealed": {"POST": endpoints.sealed}, "/returned": {"POST": endpoints.returned}}
        table["/station"] = _static(render_page(survey, None, earlier, station.public), _HTML)
    for name in client.NAMES:  # all that the hash covers, so that anybody can compute it, and nothing else
        table[f"/{name}"] = _static(client.asset(name), _SCRIPT if name.endswith(".js") else _TEXT)
    return Application({f"{prefix}{path}": methods for path, methods in table.items()}, closing={f"{prefix}/sign"})


def _static(content: bytes, kind: str) -> dict[str, Handler]:
    """What is the same for everybody, with gzip where the client takes it: a slow phone waits half as long."""
    plain = Response(200, content, {"content-type": kind})
    compressed = Response(200, gzip.compress(content, mtime=0), {"content-type": kind, "content-encoding": "gzip"})

    async def content_for(scope: Scope) -> Response:
        accepted = b",".join(value for name, value in scope["headers"] if name == b"accept-encoding").split(b",")
        return compressed if b"gzip" in map(bytes.strip, accepted) else plain  # without a q value

    return _get_and_head(content_for)


def _get_and_head(content_for: Callable[[Scope], Awaitable[Response]]) -> dict[str, Handler]:
    """For GET the content; for HEAD its headers, as its body is left out when it is given."""

    async def get(scope: Scope, _: Receive) -> Response:
        return await content_for(scope)

    return {"GET": get, "HEAD": get}


class Application:
    """Find who answers a path and method; an error is logged by its kind and place alone. Every answer of the paths in
    `closing` ends its connection: a report on that of a signature would be the invited person's.
    """

    def __init__(self, table: Mapping[str, Mapping[str, Handler]], closing: Set[str] = frozenset()) -> None:
        self._table, self._closing = table, closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            response = await self._respond(scope, receive)
        except HttpError as error:
            response = _http_error_response(error)
        except Exception as error:
            _LOG.error("%s", _location(error))
            response = _error_response(500, "Something went wrong here; nothing was stored.")
        if scope["path"] in self._closing:
            response = response.with_close
        try:
            await response.send(scope, send)
        except Exception as error:
            _LOG.error("%s", _location(error))

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
    """Answer what is posted, and say how the server is."""

    survey: Survey
    pages: frozenset[str]
    writer: Writer
    key: IssuerKey | None
    limits: Limits
    state: Health
    station: StationKey | None = None

    async def report(self, scope: Scope, receive: Receive) -> Response:
        """201 if a report with this key is on the disk now, by this request or by one before."""
        with _payload_errors():
            submission = parse_submission(self.survey, await self._body(scope, receive), self.pages)
        return await self._stored(submission, submission.key.hex())

    async def sealed(self, scope: Scope, receive: Receive) -> Response:
        """The same for a report that a station has sealed, which is acknowledged by the hash of what was sent."""
        assert self.station is not None  # the address exists only with a key
        with _payload_errors():
            report, token, name = parse_sealed(self.station, await self._body(scope, receive))
            submission = parse_submission(self.survey, report, self.pages, token)
        return await self._stored(submission, name)

    async def returned(self, scope: Scope, receive: Receive) -> Response:
        """200 when the uses that a station gives back are spent, by this request or by one before."""
        with _payload_errors():
            uses = parse_returned_uses(await self._body(scope, receive))
        await self._from_store(self.writer.return_uses(uses))
        return json_response(200, {"returned": len(uses)})

    async def _stored(self, submission: Submission, name: str) -> Response:
        spent = required_pass(self.pages, submission, None if self.key is None else self.key.issuer)
        outcome = await self._from_store(self.writer.put(NewReport(submission.key, submission.body, spent)))
        if outcome in _REFUSALS:
            raise HttpError(*_REFUSALS[outcome], retry_after=_PAUSE_SECONDS if outcome is Outcome.PAUSED else None)
        return _STORED.with_body(b'{"stored":"%s"}' % name.encode())

    async def sign(self, scope: Scope, receive: Receive) -> Response:
        """200 with a blind signature; the invitation is used up before it is made."""
        assert self.key is not None  # the address exists only with a key
        with _payload_errors():
            request = parse_sign_request(self.pages, self.key.issuer, await self._body(scope, receive))
        if not await self._from_store(self.writer.issue(request.invitation, request.fingerprint)):
            raise HttpError(403, "This link was used before, or is not one of this survey, or the survey is not open.")
        signature = await asyncio.to_thread(self.key.sign, request.blinded)
        return json_response(200, {"signature": signature.hex()})

    async def health(self, _: Scope) -> Response:
        """Whether reports can be stored, by the last one, and whether the collection is closed; no number is said."""
        if self.writer.is_working and self.state.is_good:
            if self.state.take_turn and not self.state.is_closed:
                self.state.is_closed = await self._is_closed()
            return json_response(200, {"health": "closed" if self.state.is_closed else "good"})
        return _http_error_response(
            HttpError(503, "Reports cannot be stored at the moment.", retry_after=_BUSY_SECONDS)
        )

    async def _is_closed(self) -> bool:
        """Whether nothing more is taken for good; that a store does not answer is found out by reports."""
        try:
            return await self._with_timeout(self.writer.is_closed())
        except (StoreError, TimeoutError):
            return False

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
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

    async def _from_store(self, work: Awaitable[_Result]) -> _Result:
        """What the store answers, if it does so in time; else 503."""
        try:
            result = await self._with_timeout(work)
        except (StoreError, TimeoutError) as error:
            self.state.record_failure(error)
            seconds = error.retry_after if isinstance(error, StoreError) else _BUSY_SECONDS
            raise HttpError(
                503, "This cannot be stored at the moment: please send it again.", retry_after=seconds
            ) from None
        self.state.record_success()
        return result


@contextmanager
def _payload_errors() -> Iterator[None]:
    try:
        yield
    except PayloadError as error:
        raise HttpError(409 if isinstance(error, OtherSurveyError) else 400, str(error)) from None


def _error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return json_response(status, {"error": message}, headers)


def _http_error_response(error: HttpError) -> Response:
    return _error_response(error.status, error.message, error.headers)


def _location(error: Exception) -> str:
    """An error without its message, which might quote what was sent."""
    last: Any = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
