"""What respondents' browsers talk to: the page and its files, one address for reports, one for blind signatures.

Nothing here belongs to the researcher: status, closing and results are done at the database, from another process. There are
no cookies, and nothing of a request is logged, quoted in an answer or kept but the report itself. 201 means that the report
is on the disk; whatever else is answered, sending the same bytes again is right. When the database fails, reports are
answered with 503 and a time to wait, and the page still loads: it was made when the server started.
"""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from toolkit.core.checks import refuse
from toolkit.survey import client
from toolkit.survey.serving.access import page_hash, pass_of, sign_request
from toolkit.survey.serving.headers import HEADERS
from toolkit.survey.serving.limits import Limits, whole_body
from toolkit.survey.serving.page import page
from toolkit.survey.serving.payload import OtherSurvey, PayloadError, checked
from toolkit.survey.serving.refusal import RefusalError
from toolkit.survey.spec import Survey
from toolkit.survey.store import Entry, Outcome, StoreError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from toolkit.survey.serving.blind import IssuerKey

_LOG = logging.getLogger("toolkit.survey")
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
_REFUSALS = {
    Outcome.PAUSED: (503, "This survey is not open at the moment: please try again later."),
    Outcome.CLOSED: (410, "This survey is closed."),
    Outcome.FULL: (410, "This survey has as many reports as it asked for, and takes no more."),
    Outcome.SPENT: (403, "This link was used before, or is not one of this survey."),
}
_PAUSE_SECONDS, _BUSY_SECONDS = 60, 5
_Result = TypeVar("_Result")


class Writing(Protocol):
    """What the server needs of a `Writer`: each returns when the database has it for good, or raises `StoreError`."""

    async def put(self, entry: Entry) -> Outcome: ...
    async def issue(self, invitation: bytes, blinded: bytes) -> bool: ...


def application(
    survey: Survey,
    writer: Writing,
    *,
    key: "IssuerKey | None" = None,
    limits: Limits | None = None,
    prefix: str = "",
    earlier: Sequence[str] = (),
) -> Starlette:
    """The server of one survey, as an ASGI application.

    Parameters
    ----------
    survey : what is asked.
    writer : takes the reports.
    key : the issuer's private key, for access by blind tokens and for nothing else.
    limits : of bodies; those of connections are the server process' own.
    prefix : the path below which a proxy passes requests on as they come, such as "/survey"; a proxy that takes it off needs none.
    earlier : hashes of the survey as earlier pages showed it, whose reports are still good.
    """
    if (key is None) != (survey.access != "blind"):
        refuse("`key` must be given for access by blind tokens, and only then", f"access {survey.access!r}", "it signs the tokens")
    if prefix and (not prefix.startswith("/") or prefix.endswith("/") or not prefix.isascii() or set(prefix) & set("{}%?#")):
        refuse("`prefix` must be a path such as '/survey'", repr(prefix), "requests would not be found")
    issuer = None if key is None else key.issuer
    pages = frozenset(page_hash(one, issuer) for one in (survey.hash, *earlier))
    desk = _Desk(survey, pages, writer, key, limits or Limits(), _Alarm())
    form = page(survey, issuer, earlier)
    routes = [Route(f"{prefix}/report", desk.report, methods=["POST"])]  # first, as they are tried in order
    routes += [Route(f"{prefix}/sign", desk.sign, methods=["POST"])] if key is not None else []
    routes += [_fixed(f"{prefix}/", form, "text/html; charset=utf-8")]
    routes += [_fixed(f"{prefix}/{name}", client.asset(name), _TYPES[Path(name).suffix]) for name in _files(survey)]
    app = Starlette(
        routes=routes, middleware=[Middleware(_Guard)], exception_handlers={HTTPException: _unknown, RefusalError: _refused}
    )
    app.router.redirect_slashes = False  # a redirection would repeat what was asked for
    return app


def _files(survey: Survey) -> list[str]:
    """The page's files by name: nothing else can be asked for, whatever lies beside them."""
    named = [name for name in client.NAMES if Path(name).suffix in _TYPES]
    return [name for name in named if name != "blind.js" or survey.access == "blind"]


def _fixed(path: str, content: bytes, kind: str) -> Route:
    answer = Response(content, headers={"content-type": kind})

    async def show(_: Request) -> Response:
        return answer

    route = Route(path, show, methods=["GET"])
    route.methods = {"GET"}  # Starlette adds HEAD
    return route


@dataclass(frozen=True, repr=False)
class _Desk:
    """Takes what is posted."""

    survey: Survey
    pages: frozenset[str]
    writer: Writing
    key: "IssuerKey | None"
    limits: Limits
    alarm: "_Alarm"

    async def report(self, request: Request) -> Response:
        """201 if this report is on the disk now, by this request or by one before."""
        raw = await self._body(request)
        try:
            submission = checked(self.survey, raw, self.pages)
        except PayloadError as problem:
            raise _said(problem) from None
        spent = pass_of(self.pages, submission, None if self.key is None else self.key.issuer)
        outcome = await self._done(self.writer.put(Entry(submission.key, submission.body, spent)))
        if outcome in _REFUSALS:
            raise RefusalError(*_REFUSALS[outcome], retry_after=_PAUSE_SECONDS if outcome is Outcome.PAUSED else None)
        return JSONResponse({"stored": submission.key.hex()}, 201)

    async def sign(self, request: Request) -> Response:
        """200 with a blind signature; the invitation is used up before it is made."""
        assert self.key is not None  # the route exists only with a key
        raw = await self._body(request)
        try:
            wanted = sign_request(self.pages, self.key.issuer, raw)
        except PayloadError as problem:
            raise _said(problem) from None
        if not await self._done(self.writer.issue(wanted.invitation, wanted.fingerprint)):
            raise RefusalError(403, "This link was used before, or is not one of this survey, or the survey is not open.")
        signature = await asyncio.to_thread(self.key.sign, wanted.blinded)
        return JSONResponse({"signature": signature.hex()})

    async def _body(self, request: Request) -> bytes:
        kinds = request.headers.getlist("content-type")
        if len(kinds) != 1 or kinds[0].replace(" ", "").lower() not in ("application/json", "application/json;charset=utf-8"):
            raise RefusalError(415, "Send application/json.")
        if "content-encoding" in request.headers:
            raise RefusalError(415, "Send it without a content encoding.")
        return await whole_body(request.receive, self.limits, stated=request.headers.get("content-length"))

    async def _done(self, work: Awaitable[_Result]) -> _Result:
        """What the store answers, if it does so in time; else 503."""
        try:
            async with asyncio.timeout(self.limits.answer_seconds / 2):
                result = await work
        except (StoreError, TimeoutError) as problem:
            self.alarm.failed(problem)
            seconds = problem.retry_after if isinstance(problem, StoreError) else _BUSY_SECONDS
            raise RefusalError(503, "This cannot be stored at the moment: please send it again.", retry_after=seconds) from None
        self.alarm.worked()
        return result


class _Alarm:
    """Tells the log when the store begins to fail and when it is back, once each: not every report that comes meanwhile."""

    def __init__(self) -> None:
        self._failing = False

    def failed(self, problem: Exception) -> None:
        if not self._failing:
            _LOG.warning("No reports can be stored: %s", str(problem) or "the store does not answer in time.")
        self._failing = True

    def worked(self) -> None:
        if self._failing:
            _LOG.warning("Reports are stored again.")
        self._failing = False


def _said(problem: PayloadError) -> RefusalError:
    return RefusalError(409 if isinstance(problem, OtherSurvey) else 400, str(problem))


def _error(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": sentence}, status, headers=headers)


async def _refused(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, RefusalError)
    return JSONResponse(problem.body, problem.status, headers=problem.headers)


async def _unknown(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    if problem.status_code == 405:
        return _error(405, "This address does not do that.", problem.headers)
    return _error(404, "There is nothing at this address.")


class _Guard:
    """Puts the headers on every answer, and keeps what went wrong inside: an error is logged by its kind and place alone."""

    def __init__(self, app: "ASGIApp") -> None:
        self.app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def guarded(message: "Message") -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": [*message["headers"], *_RAW_HEADERS]}
            await send(message)

        try:
            await self.app(scope, receive, guarded)
        except Exception as problem:
            _LOG.error("%s", _place(problem))
            if not started:
                await _error(500, "Something went wrong here; nothing was stored.")(scope, receive, guarded)


def _place(problem: Exception) -> str:
    """An error without its message, which might quote what was sent."""
    last = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__} in {Path(last.filename).name}, line {last.lineno}"
