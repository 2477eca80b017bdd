"""`studio`: a web page, served on this machine only, for the files of one folder.

The link in the terminal works once. Its key is exchanged for a session token, which the page keeps until its tab is
closed and sends as a header with every request. There are no cookies, so a page from another origin cannot use the
session. Requests must also name this machine as their host and come from the studio's own page.
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
from toolkit.studio.curating import CuratorPage
from toolkit.studio.fieldwork import Fieldwork
from toolkit.studio.folder import ConflictError, Folder
from toolkit.studio.surveys import Surveys
from toolkit.survey.paper.sheets import printable_survey
from toolkit.survey.serving.background import CollectError, check_system
from toolkit.survey.serving.limits import Limits, Receive, read_body
from toolkit.survey.serving.response import HttpError, Response, Scope
from toolkit.survey.storage import StoreError

LOOPBACK = "127.0.0.1"
HEADER = b"x-studio-session"
_HTTP_LIMITS = Limits(
    body_bytes=4_000_000, drain_bytes=8_000_000, response_seconds=600.0, idle_seconds=60.0, max_connections=64
)
_STATIC = Path(__file__).parent / "static"
_SHARED_MODULES = {  # modules shared with the widgets and the form
    "elements.js": Path(__file__).parents[1] / "show" / "widgets" / "static" / "elements.js",
    "numbers.js": Path(__file__).parents[1] / "survey" / "static" / "numbers.js",
}
_MIME_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json"}
_MAX_PREVIEWS = 32
_CONTAINER_FILES = [Path("/.dockerenv"), Path("/run/.containerenv")]  # files that exist only in containers
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
# Previews have no origin and no network access, and only the studio may frame them.
_PREVIEW_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; "
)
_NO_BROWSER = "No browser was found: open the link by hand."
_FOREIGN_ORIGIN = "This request does not come from the studio's own page."
Action = Callable[..., Any]


class Actions:
    """The actions that the page can request, by name."""

    def __init__(self, folder: Folder) -> None:
        self.surveys = Surveys(folder)
        self.fieldwork = Fieldwork(folder, self.surveys)
        self.curating = CuratorPage(folder)
        self.previews: OrderedDict[str, tuple[str, bool]] = OrderedDict()
        self._folder = folder
        self.actions: dict[str, Action] = {
            "files": self.surveys.files,
            "new": self.surveys.new,
            "survey": self.surveys.state,
            "save": self.surveys.save,
            "undo": self.surveys.undo,
            "redo": self.surveys.redo,
            "plan": self._plan,
            "needed": self._people_needed,
            "curve": checking.design_curve,
            "consent": self._consent,
            "preview": self._preview,
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
            "table_rows": self.curating.rows,
            "table_notebook": self.curating.notebook,
        }

    def run(self, name: str, arguments: Mapping[str, Any]) -> Response:
        """Run an action and return its response; expected errors become messages for the page."""
        action = self.actions.get(name)
        if action is None:
            raise HttpError(404, "There is nothing at this address.")
        try:
            inspect.signature(action).bind(**arguments)
        except TypeError:
            raise HttpError(400, "The arguments do not match this action.") from None
        try:
            with self._folder.lock():
                return _json_response(200, action(**arguments))
        except ConflictError as problem:
            return _json_response(409, {"error": str(problem), "now": problem.current_state})
        except (ValueError, TypeError, OSError, StoreError, CollectError, MissingExtraError) as problem:
            return _json_response(422, {"error": str(problem)})
        except KeyError as problem:
            return _json_response(422, {"error": str(problem.args[0]) if problem.args else "something is missing"})

    def _plan(self, file: str, n: object, subgroup: object = None) -> dict[str, Any]:
        return checking.plan(self.surveys.data(file), n, subgroup)

    def _people_needed(self, file: str, name: str, margin: object) -> dict[str, Any]:
        return checking.people_needed(self.surveys.data(file), name, margin)

    def _consent(self, file: str, language: str) -> dict[str, Any]:
        return {"text": self.surveys.load(file).consent_text(language)}

    def _preview(self, file: str, view: str, language: str) -> dict[str, Any]:
        """Store a preview and return its address, which is a secret because a frame sends no session token."""
        ticket = secrets.token_urlsafe(24)
        self.previews[ticket] = self.surveys.preview(file, view, language)
        while len(self.previews) > _MAX_PREVIEWS:
            self.previews.popitem(last=False)
        omitted = printable_survey(self.surveys.load(file))[1] if view == "paper" else ()
        return {"path": f"preview/{ticket}", "omitted": omitted}


class AccessControl:
    """Checks of the host, the origin and the session token of requests.

    A proxy may serve the page at `public_url`; the host and origin of this URL are then accepted as well.
    """

    def __init__(self, port: int, public_url: str | None, announce: Callable[[str], None]) -> None:
        local_origins = [f"http://{host}:{port}" for host in (LOOPBACK, "localhost", "[::1]")]
        proxy = None if public_url is None else urlsplit(public_url)
        if proxy is not None and (proxy.scheme not in ("http", "https") or not proxy.hostname):
            rule = "`public_url` must be an address such as https://hub.example/user/ann/proxy/8899/"
            reject(rule, repr(public_url), "give the address that the browser shows for the proxy")
        self.base = f"{local_origins[0]}/" if public_url is None else f"{public_url.rstrip('/')}/"
        self._origins = {*local_origins, *([] if proxy is None else [f"{proxy.scheme}://{proxy.netloc}"])}
        self._hosts = {urlsplit(origin).netloc.lower() for origin in self._origins}
        self._announce, self._sessions = announce, set[str]()
        self.link = self._new_link()

    def _new_link(self) -> str:
        self._key = secrets.token_urlsafe(24)
        return f"{self.base}#key={self._key}"

    def check_origin(self, scope: Scope) -> None:
        """Reject requests from other pages and for other hosts, even with a valid session token."""
        headers = dict(scope["headers"])
        if headers.get(b"host", b"").decode("latin-1").lower() not in self._hosts:
            raise HttpError(421, "This address is not the studio's.")
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site", b"same-origin")
        if origin is not None and origin.decode("latin-1") not in self._origins:
            raise HttpError(403, _FOREIGN_ORIGIN)
        if scope["method"] != "GET" and (origin is None or site != b"same-origin"):
            raise HttpError(403, _FOREIGN_ORIGIN)

    def start_session(self, key: object) -> str:
        """Exchange the key of the current link for a session token and announce a new link."""
        if not isinstance(key, str) or not compare_digest(key.encode(), self._key.encode()):
            raise HttpError(403, "This link was used before. The terminal shows a new one.")
        self.link = self._new_link()
        self._announce(self.link)
        session = secrets.token_urlsafe(32)
        self._sessions.add(session)
        return session

    def has_session(self, scope: Scope) -> bool:
        """Return whether a request has the token of a session."""
        token = dict(scope["headers"]).get(HEADER, b"")
        return any(compare_digest(token, session.encode()) for session in self._sessions)


class StudioApplication:
    """The studio as an ASGI application."""

    def __init__(self, access: AccessControl, actions: Actions) -> None:
        self._access, self._actions = access, actions
        files = {path.name: path for path in _STATIC.iterdir() if path.suffix in _MIME_TYPES} | _SHARED_MODULES
        self._files = {
            f"/{name}": _response(200, path.read_bytes(), _MIME_TYPES[path.suffix]) for name, path in files.items()
        }
        self._files["/"] = self._files.pop("/index.html")

    async def __call__(self, scope: Scope, receive: Receive, send: Any) -> None:
        if scope["type"] != "http":
            return
        try:
            response = await self._route(scope, receive)
        except HttpError as problem:
            response = _json_response(problem.status, {"error": problem.message})
        except Exception as problem:
            # The message of an unexpected error might quote data, so only the type of the error is logged and sent.
            logging.getLogger("toolkit.studio").error("%s", type(problem).__name__)
            response = _json_response(500, {"error": f"An internal error of the studio: {type(problem).__name__}."})
        await response.send(scope, send)

    async def _route(self, scope: Scope, receive: Receive) -> Response:
        self._access.check_origin(scope)
        path, method = scope["path"], scope["method"]
        if method == "GET":
            if path.startswith("/preview/"):
                return self._preview(path.removeprefix("/preview/"))
            if path in self._files:
                return self._files[path]
        elif method == "POST" and path.startswith("/api/"):
            headers = dict(scope["headers"])
            if headers.get(b"content-type") != b"application/json":
                raise HttpError(415, "Send application/json.")
            if path != "/api/session" and not self._access.has_session(scope):
                raise HttpError(401, "Open the studio by the link that the terminal shows.")
            arguments = _arguments(
                await read_body(receive, _HTTP_LIMITS, content_length=headers.get(b"content-length"))
            )
            if path == "/api/session":
                return _json_response(200, {"session": self._access.start_session(arguments.get("key"))})
            return await asyncio.to_thread(self._actions.run, path.removeprefix("/api/"), arguments)
        raise HttpError(404, "There is nothing at this address.")

    def _preview(self, ticket: str) -> Response:
        if ticket not in self._actions.previews:
            raise HttpError(404, "There is nothing at this address.")
        text, has_scripts = self._actions.previews[ticket]
        sandbox = "sandbox allow-scripts; script-src 'unsafe-inline' data:" if has_scripts else "sandbox"
        return _response(200, text.encode(), "text/html", policy=_PREVIEW_POLICY + sandbox, frame_policy="SAMEORIGIN")


def _arguments(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise HttpError(400, "The body is not valid JSON.") from None
    if not isinstance(data, dict):
        raise HttpError(400, "The body must be a JSON object.")
    return data


def _response(
    status: int, body: bytes, mime_type: str, *, policy: str = POLICY, frame_policy: str = "DENY"
) -> Response:
    headers = {
        "content-type": f"{mime_type}; charset=utf-8",
        "content-security-policy": policy,
        "x-frame-options": frame_policy,
    }
    return Response(status, body, headers)


def _json_response(status: int, data: object) -> Response:
    return _response(status, json.dumps(data, ensure_ascii=False).encode(), "application/json")


class Studio:
    """A running studio.

    Parameters
    ----------
    folder : str or Path
        The folder with the surveys and tables.
    port : int
        The port to listen on; 0 for any free port.
    public_url : str, optional
        The address at which a proxy serves the page.
    announce : callable, optional
        A function that is called with a new link whenever the previous link was used.

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
            self._access = AccessControl(self._socket.getsockname()[1], public_url, announce)
        except ValueError:
            self._socket.close()
            raise
        ready = threading.Event()
        self._server = HttpServer(StudioApplication(self._access, Actions(self.folder)), _HTTP_LIMITS, ready.set)
        self._thread = threading.Thread(target=self._server.run, args=(self._socket,), daemon=True)
        self._thread.start()
        ready.wait(30)

    @property
    def url(self) -> str:
        """The link that opens the studio; each link works once."""
        return self._access.link

    def wait(self) -> None:
        """Wait until the studio stops."""
        while self._thread.is_alive():
            self._thread.join(1.0)

    def stop(self) -> None:
        """Stop the studio; collections that it opened keep running."""
        self._server.should_exit = True
        self._thread.join(60)
        self._socket.close()

    def __repr__(self) -> str:
        return f"<Studio in {self.folder.root.name!r}>"

    def _repr_html_(self) -> str:
        link = html.escape(self.url, quote=True)
        return f'<a href="{link}" target="_blank" rel="noopener">Open the studio</a> (this link works once)'


def studio(folder: str | Path = ".", *, port: int = 0, public_url: str | None = None) -> Studio:
    """Start the studio, a local web page for writing surveys, collecting answers and reading results.

    Parameters
    ----------
    folder : str or Path
        The folder for surveys, collections and results; nothing is written elsewhere.
    port : int
        The port to listen on, on this machine only; 0 for any free port.
    public_url : str, optional
        The address at which a proxy serves the page, for example "https://hub.example/user/ann/proxy/8899/" in
        JupyterLab.

    Returns
    -------
    Studio
        The running studio. A notebook displays the link to the studio; `stop()` ends the studio.

    Examples
    --------
    In a notebook::

        studio(".")
    """
    return Studio(folder, port=port, public_url=public_url)


def run(folder: str, port: int, public_url: str | None, opener: Callable[[str], Any] | None) -> None:
    """Serve until Ctrl-C and print each new link; `opener`, if given, opens the first link in a browser."""
    server = Studio(
        folder, port=port, public_url=public_url, announce=lambda link: _print(f"For another window: {link}")
    )
    # Container runtimes stop a process with SIGTERM.
    previous_handler = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _print(f"The studio of {server.folder.root} is open on this machine:", "", f"  {server.url}", "")
        _print("The link works once. Ctrl-C stops the studio; collections that it opened continue.")
        if public_url is None:
            _print(*_remote_hints(urlsplit(server.url).port))
        with nullcontext() if opener is None else _redirect(server.url) as address:
            if opener is not None and address is not None:
                has_browser = opener(address)
                _print("If the browser does not show it, open the link by hand." if has_browser else _NO_BROWSER)
            server.wait()
    except KeyboardInterrupt:
        _print("", "The studio stops when its current work is done. Press Ctrl-C again to stop immediately.")
    finally:
        try:
            server.stop()
        except KeyboardInterrupt:
            os._exit(130)
        signal.signal(signal.SIGTERM, previous_handler)


@contextmanager
def _redirect(link: str) -> Iterator[str]:
    """Yield the address of a temporary file that redirects to the link and that only this user can read.

    Every user of the machine can read the arguments of a browser in the list of processes. Therefore the browser gets a
    file instead of the link with its key.
    """
    target = html.escape(link, quote=True)
    with NamedTemporaryFile("w", prefix="studio-", suffix=".html", encoding="utf-8") as file:  # its mode is 0600
        file.write(
            '<!doctype html><meta charset="utf-8"><title>Studio</title><meta name="referrer" content="no-referrer">'
        )
        file.write(f'<meta http-equiv="refresh" content="0; url={target}"><a href="{target}">Open the studio</a>\n')
        file.flush()
        yield Path(file.name).as_uri()


def _print(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _remote_hints(port: int | None) -> list[str]:
    """Return instructions for a user whose browser runs on another machine."""
    if hub := os.environ.get("JUPYTERHUB_SERVICE_PREFIX"):
        options = f"--port {port} --public-url https://HUB{hub.rstrip('/')}/proxy/{port}/"
        return [f"This is a machine of JupyterHub. If it has jupyter-server-proxy, start the studio with {options}"]
    if any(path.exists() for path in _CONTAINER_FILES):
        remedy = f"start it with --network=host, or forward port {port} to the same port of your machine"
        return [f"This is a container with its own loopback interface: {remedy}, as editors and kubectl do."]
    if "SSH_CONNECTION" in os.environ:
        tunnel = f"ssh -N -L {port}:{LOOPBACK}:{port} HOST"
        return [f"You are connected by ssh. On your own machine, run {tunnel} and open the link there."]
    return []
