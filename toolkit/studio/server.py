"""`studio`: a page on this machine alone, over the files of one folder.

Whoever has the link of the terminal gets in, once: the secret in it is exchanged for one that the page keeps until its
tab is closed and sends as a header with every request. There are no cookies, so a page of another origin has nothing to
ride on; requests must name this machine as their host, and come from the studio's own page.
"""

import asyncio
import html
import inspect
import json
import logging
import os
import secrets
import signal
import socket
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from hmac import compare_digest
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from urllib.parse import urlsplit

from toolkit.core.checks import reject
from toolkit.core.extras import MissingExtraError
from toolkit.studio import checking
from toolkit.studio.curating import Curating
from toolkit.studio.fieldwork import Fieldwork
from toolkit.studio.folder import ConflictError, Folder
from toolkit.studio.surveys import Surveys
from toolkit.survey.paper.sheets import on_paper
from toolkit.survey.serving.background import CollectError, check_system
from toolkit.survey.serving.limits import Limits, Receive, read_body
from toolkit.survey.serving.response import HttpError, Response, Scope, json_response
from toolkit.survey.storage import StoreError

LOOPBACK = "127.0.0.1"
HEADER = b"x-studio-session"
_LIMITS = Limits(body=4_000_000, drain=8_000_000, response_seconds=600.0, idle_seconds=60.0, connections=64)
_STATIC = Path(__file__).parent / "static"
_SHARED = {  # modules that the widgets and the form have, too
    "elements.js": Path(__file__).parents[1] / "show" / "widgets" / "static" / "elements.js",
    "numbers.js": Path(__file__).parents[1] / "survey" / "static" / "numbers.js",
}
_KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json"}
_MOST_PAGES = 32
_CONTAINER = [Path("/.dockerenv"), Path("/run/.containerenv")]  # files that there are in containers alone
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
# A page that others would see: without an origin, without a network, in no frame but ours.
_SEEN = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; "
)
_NO_BROWSER = "There is no browser here: open the link by hand."
_FOREIGN = "This is not a request of the studio's own page."
Action = Callable[..., Any]


class Desk:
    """All that the page can ask for, by name."""

    def __init__(self, folder: Folder) -> None:
        self.surveys = Surveys(folder)
        self.fieldwork = Fieldwork(folder, self.surveys)
        self.curating = Curating(folder)
        self.pages: OrderedDict[str, tuple[str, bool]] = OrderedDict()
        self._folder = folder
        self.actions: dict[str, Action] = {
            "files": self.surveys.files,
            "new": self.surveys.new,
            "survey": self.surveys.state,
            "save": self.surveys.save,
            "undo": self.surveys.undo,
            "redo": self.surveys.redo,
            "plan": self._plan,
            "needed": self._needed,
            "curve": checking.curve,
            "consent": self._consent,
            "seen": self._seen,
            "field": self.fieldwork.state,
            "rehearse": self.fieldwork.rehearse,
            "open": self.fieldwork.open,
            "invite": self.fieldwork.invite,
            "station": self.fieldwork.station,
            "change": self.fieldwork.change,
            "results": self.fieldwork.results,
            "write": self.fieldwork.write,
            "table": self.curating.state,
            "table_save": self.curating.save,
            "release": self.curating.release,
            "publish": self.curating.publish,
            "table_notebook": self.curating.notebook,
        }

    def do(self, name: str, arguments: Mapping[str, Any]) -> Response:
        """Return what one action answers; a refusal is a sentence."""
        action = self.actions.get(name)
        if action is None:
            raise HttpError(404, "There is nothing at this address.")
        try:
            inspect.signature(action).bind(**arguments)
        except TypeError:
            raise HttpError(400, "This action does not take that.") from None
        try:
            with self._folder.alone():
                return _json_response(200, action(**arguments))
        except ConflictError as problem:
            return _json_response(409, {"error": str(problem), "now": problem.now})
        except (ValueError, TypeError, OSError, StoreError, CollectError, MissingExtraError) as problem:
            return _json_response(422, {"error": str(problem)})
        except KeyError as problem:
            return _json_response(422, {"error": str(problem.args[0]) if problem.args else "something is missing"})

    def _plan(self, file: str, n: object, subgroup: object = None) -> dict[str, Any]:
        return checking.plan(self.surveys.data(file), n, subgroup)

    def _needed(self, file: str, name: str, margin: object) -> dict[str, Any]:
        return checking.people_needed(self.surveys.data(file), name, margin)

    def _consent(self, file: str, language: str) -> dict[str, Any]:
        return {"text": self.surveys.load(file).consent_text(language)}

    def _seen(self, file: str, what: str, language: str) -> dict[str, Any]:
        """An address under which a page can be seen; it cannot be guessed."""
        ticket = secrets.token_urlsafe(24)
        self.pages[ticket] = self.surveys.seen(file, what, language)
        while len(self.pages) > _MOST_PAGES:
            self.pages.popitem(last=False)
        left_out = on_paper(self.surveys.load(file))[1] if what == "paper" else ()
        return {"path": f"seen/{ticket}", "left_out": left_out}


class Gate:
    """Who may come in: by what host and origin (a proxy shows the page at `public_url`), and with which secret."""

    def __init__(self, port: int, public_url: str | None, announce: Callable[[str], None]) -> None:
        own = [f"http://{host}:{port}" for host in (LOOPBACK, "localhost", "[::1]")]
        front = None if public_url is None else urlsplit(public_url)
        if front is not None and (front.scheme not in ("http", "https") or not front.hostname):
            rule = "`public_url` must be an address such as https://hub.example/user/ann/proxy/8899/"
            reject(rule, repr(public_url), "give the address that the browser shows for the proxy")
        self.base = f"{own[0]}/" if public_url is None else f"{public_url.rstrip('/')}/"
        self._origins = {*own, *([] if front is None else [f"{front.scheme}://{front.netloc}"])}
        self._hosts = {urlsplit(one).netloc.lower() for one in self._origins}
        self._announce, self._sessions = announce, set[str]()
        self.link = self._new()

    def _new(self) -> str:
        self._once = secrets.token_urlsafe(24)
        return f"{self.base}#key={self._once}"

    def check(self, scope: Scope) -> None:
        """Refuse a request of another page or for another host, whatever secret it has."""
        headers = dict(scope["headers"])
        if headers.get(b"host", b"").decode("latin-1").lower() not in self._hosts:
            raise HttpError(421, "This address is not the studio's.")
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site", b"same-origin")
        if origin is not None and origin.decode("latin-1") not in self._origins:
            raise HttpError(403, _FOREIGN)
        if scope["method"] != "GET" and (origin is None or site != b"same-origin"):
            raise HttpError(403, _FOREIGN)

    def enter(self, key: object) -> str:
        """Return a session for the secret of a link, which then works no more."""
        if not isinstance(key, str) or not compare_digest(key.encode(), self._once.encode()):
            raise HttpError(403, "This link was used before. The terminal shows a new one.")
        self.link = self._new()
        self._announce(self.link)
        session = secrets.token_urlsafe(32)
        self._sessions.add(session)
        return session

    def knows(self, scope: Scope) -> bool:
        """Whether a request has the secret of a session."""
        secret = dict(scope["headers"]).get(HEADER, b"")
        return any(compare_digest(secret, one.encode()) for one in self._sessions)


class Page:
    """The studio as an ASGI application."""

    def __init__(self, gate: Gate, desk: Desk) -> None:
        self._gate, self._desk = gate, desk
        files = {path.name: path for path in _STATIC.iterdir() if path.suffix in _KINDS} | _SHARED
        self._files = {f"/{name}": _answer(200, one.read_bytes(), _KINDS[one.suffix]) for name, one in files.items()}
        self._files["/"] = self._files.pop("/index.html")

    async def __call__(self, scope: Scope, receive: Receive, send: Any) -> None:
        if scope["type"] != "http":
            return
        try:
            answer = await self._to(scope, receive)
        except HttpError as problem:
            answer = _json_response(problem.status, {"error": problem.message})
        except Exception as problem:  # its message might quote data
            logging.getLogger("toolkit.studio").error("%s", type(problem).__name__)
            answer = _json_response(500, {"error": f"An error of the studio itself: {type(problem).__name__}."})
        await answer.send(scope, send)

    async def _to(self, scope: Scope, receive: Receive) -> Response:
        self._gate.check(scope)
        path, method = scope["path"], scope["method"]
        if method == "GET":
            if path.startswith("/seen/"):
                return self._seen(path.removeprefix("/seen/"))
            if path in self._files:
                return self._files[path]
        elif method == "POST" and path.startswith("/api/"):
            headers = dict(scope["headers"])
            if headers.get(b"content-type") != b"application/json":
                raise HttpError(415, "Send application/json.")
            if path != "/api/session" and not self._gate.knows(scope):
                raise HttpError(401, "Open the studio by the link that the terminal shows.")
            arguments = _arguments(await read_body(receive, _LIMITS, content_length=headers.get(b"content-length")))
            if path == "/api/session":
                return _json_response(200, {"session": self._gate.enter(arguments.get("key"))})
            return await asyncio.to_thread(self._desk.do, path.removeprefix("/api/"), arguments)
        raise HttpError(404, "There is nothing at this address.")

    def _seen(self, ticket: str) -> Response:
        if ticket not in self._desk.pages:
            raise HttpError(404, "There is nothing at this address.")
        text, runs = self._desk.pages[ticket]
        scripts = "sandbox allow-scripts; script-src 'unsafe-inline' data:" if runs else "sandbox"
        return _answer(200, text.encode(), "text/html", policy=_SEEN + scripts, frame="SAMEORIGIN")


def _arguments(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise HttpError(400, "This is not JSON.") from None
    if not isinstance(data, dict):
        raise HttpError(400, "Send one object.")
    return data


def _answer(status: int, body: bytes, kind: str, *, policy: str = POLICY, frame: str = "DENY") -> Response:
    own = {"content-type": f"{kind}; charset=utf-8", "content-security-policy": policy, "x-frame-options": frame}
    return Response(status, body, own)


def _json_response(status: int, data: object) -> Response:
    return _answer(status, json_response(status, data).body, "application/json")


class Studio:
    """A running studio.

    Parameters
    ----------
    folder : str or Path
        The folder that it works in.
    port : int
        Where it listens; 0 for any free one.
    public_url : str, optional
        The address at which a proxy shows it.
    announce : callable, optional
        Called with each new link: the one before works once.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     running = Studio(folder)
    ...     running.stop()
    >>> running.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self,
        folder: str | Path = ".",
        *,
        port: int = 0,
        public_url: str | None = None,
        announce: Callable[[str], None] = lambda _: None,
    ) -> None:
        check_system()
        from toolkit.survey.serving.connection import HttpServer

        self.folder = Folder(folder)
        self._socket = socket.create_server((LOOPBACK, port), backlog=64)
        try:
            self._gate = Gate(self._socket.getsockname()[1], public_url, announce)
        except ValueError:
            self._socket.close()
            raise
        ready = threading.Event()
        self._server = HttpServer(Page(self._gate, Desk(self.folder)), _LIMITS, ready.set)
        self._thread = threading.Thread(target=self._server.run, args=(self._socket,), daemon=True)
        self._thread.start()
        ready.wait(30)

    @property
    def url(self) -> str:
        """The link to open it by; each works once."""
        return self._gate.link

    def wait(self) -> None:
        """Wait until it ends."""
        while self._thread.is_alive():
            self._thread.join(1.0)

    def stop(self) -> None:
        """End it; collections that it opened go on."""
        self._server.should_exit = True
        self._thread.join(60)
        self._socket.close()

    def __repr__(self) -> str:
        return f"<Studio in {self.folder.root.name!r}>"

    def _repr_html_(self) -> str:
        link = html.escape(self.url, quote=True)
        return f'<a href="{link}" target="_blank" rel="noopener">Open the studio</a> (this link works once)'


def studio(folder: str | Path = ".", *, port: int = 0, public_url: str | None = None) -> Studio:
    """Start the studio of a folder: a page on this machine that writes surveys, opens them and reads them.

    Parameters
    ----------
    folder : str or Path
        Surveys, collections and results are files in it; nothing is written elsewhere.
    port : int
        Where it listens, on this machine alone; 0 for any free one.
    public_url : str, optional
        The address at which a proxy shows it, such as that of JupyterLab: "https://hub.example/user/ann/proxy/8899/".

    Returns
    -------
    Studio
        A notebook shows its link; `stop()` ends it.

    Examples
    --------
    In a notebook::

        studio(".")
    """
    return Studio(folder, port=port, public_url=public_url)


def run(folder: str, port: int, public_url: str | None, opener: Callable[[str], Any] | None) -> None:
    """Serve until Ctrl-C, telling each new link; the first is opened in a browser, if there is an `opener`."""
    server = Studio(folder, port=port, public_url=public_url, announce=lambda link: _say(f"For another window: {link}"))
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # how containers end what runs in them
    try:
        _say(f"The studio of {server.folder.root} is open on this machine:", "", f"  {server.url}", "")
        _say("The link works once. Ctrl-C ends the studio; collections that it opened go on.")
        if public_url is None:
            _say(*_elsewhere(urlsplit(server.url).port))
        with nullcontext() if opener is None else _redirect(server.url) as address:
            if opener is not None and address is not None:
                has_browser = opener(address)
                _say("If the browser does not show it, open the link by hand." if has_browser else _NO_BROWSER)
            server.wait()
    except KeyboardInterrupt:
        _say("", "The studio ends; what it is doing is finished first. Ctrl-C again: at once.")
    finally:
        try:
            server.stop()
        except KeyboardInterrupt:
            os._exit(130)
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _redirect(link: str) -> Iterator[str]:
    """The address of a file that leads to the link, for the time of the block; only this user can read it.

    A browser's arguments are in the list of processes, which every user of the machine can read. So it is given a file
    instead of the link with its secret.
    """
    target = html.escape(link, quote=True)
    with NamedTemporaryFile("w", prefix="studio-", suffix=".html", encoding="utf-8") as file:  # made with mode 0600
        file.write(
            '<!doctype html><meta charset="utf-8"><title>Studio</title><meta name="referrer" content="no-referrer">'
        )
        file.write(f'<meta http-equiv="refresh" content="0; url={target}"><a href="{target}">Open the studio</a>\n')
        file.flush()
        yield Path(file.name).as_uri()


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _elsewhere(port: int | None) -> list[str]:
    """What to do where the browser of whoever reads this is not on this machine."""
    if hub := os.environ.get("JUPYTERHUB_SERVICE_PREFIX"):
        way = f"--port {port} --public-url https://HUB{hub.rstrip('/')}/proxy/{port}/"
        return [f"This is a machine of JupyterHub. If it has jupyter-server-proxy, start the studio with {way}"]
    if any(path.exists() for path in _CONTAINER):
        way = (
            f"start it with --network=host, or forward port {port} to the same port of yours, as editors and kubectl do"
        )
        return [f"This is a container, whose loopback is not that of your machine: {way}."]
    if "SSH_CONNECTION" in os.environ:
        return [
            f"You came here by ssh. On your own machine: ssh -N -L {port}:{LOOPBACK}:{port} HOST; open the link there."
        ]
    return []
