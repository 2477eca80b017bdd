"""The process that serves one survey: `python -m toolkit.survey.serving.process --database URL`.

The server is a separate process, so that it outlives a notebook's kernel. It reads everything from the database.
`collect()` and the command line start it, monitor it and stop it with SIGTERM, after which it finishes the requests in
progress. When it is ready, it prints one line of JSON with its address, port and process id. It keeps no log of
requests, ignores X-Forwarded-For, and never stores addresses. Its own log records failures and recoveries of the
database, and the source lines at which errors occurred.

Behind a proxy it should listen on 127.0.0.1, and the proxy should provide TLS and keep no log of requests. With blind
tokens the proxy must also do what this server does for direct connections: close the browser's connection after a
response from /sign, and never resume a TLS session.
"""

import argparse
import ipaddress
import json
import logging
import logging.handlers
import os
import resource
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path

from toolkit.core.checks import reject
from toolkit.survey.serving.access import page_hash
from toolkit.survey.serving.background import DATABASE_VARIABLE
from toolkit.survey.serving.blind import IssuerKey
from toolkit.survey.serving.connection import HttpServer
from toolkit.survey.serving.limits import Limits
from toolkit.survey.serving.lock import FileLock, LockedError, hold_lock
from toolkit.survey.serving.options import SERVER_OPTIONS, ServeOptions, add_arguments
from toolkit.survey.serving.server import build_application
from toolkit.survey.serving.station import StationKey
from toolkit.survey.serving.workers import WorkerCommand, end_with_parent, supervise
from toolkit.survey.storage import Collection, StoreError, open_store
from toolkit.survey.storage.editions import check_page
from toolkit.survey.storage.writer import Writer

ALLOW_OPTION = "--plain-http-beyond-this-machine"
"""The command-line option that allows plain HTTP to other machines."""


def check_address(host: str, *, has_tls: bool, is_allowed: bool = False) -> None:
    """Reject an address at which a server without TLS would be reachable from other machines, unless `is_allowed`."""
    if has_tls or is_allowed or _is_loopback(host):
        return
    reject(
        "without TLS the host must be an address of this machine only, such as 127.0.0.1",
        repr(host),
        "anybody on the network could read the reports, and change the page so that it sends the truth. Give "
        f"--certificate and --private-key, or put a proxy with TLS in front, or add {ALLOW_OPTION}",
    )


def _is_loopback(host: str) -> bool:
    entries = socket.getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)  # noqa: S104  # this is only resolved, not bound
    return all(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]).is_loopback for entry in entries)


def bind_socket(host: str, port: int, socket_descriptor: int | None = None) -> socket.socket:
    """Return a listening socket, either inherited through its descriptor or new; port 0 means any free port."""
    if socket_descriptor is not None:
        return socket.socket(fileno=socket_descriptor)
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    try:
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as problem:
        reject(
            f"port {port} of {host} must be free and allowed",
            os.strerror(problem.errno or 0),
            "end the program that uses it, or choose another port; links that were handed out lead to the old port",
            OSError,
        )


_BACKLOG = 2048
_LOG_BYTES = 2**18
_SPARE_FILES = 100  # file descriptors for the database, the page, and Python itself
ISSUER_SETTING = "issuer"
"""The setting with the fingerprint of the key that signs blind tokens."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; return 0, or 2 with the reason on stderr if the server cannot start."""
    parsed = _parser().parse_args(arguments)
    if parsed.detach:
        _detach()
    try:
        options = ServeOptions.from_namespace(parsed)
        serve(parsed.database, options, lock_file=parsed.state, log_file=parsed.log, socket_descriptor=parsed.listening)
    except LockedError:
        return 0 if parsed.detach else _report_failure("another server of this collection runs on this machine")
    except (ValueError, StoreError, OSError) as problem:
        return _report_failure(problem)
    return 0


def serve(
    database: str,
    options: ServeOptions,
    *,
    lock_file: Path | None = None,
    log_file: Path | None = None,
    socket_descriptor: int | None = None,
) -> None:
    """Serve in this process until SIGTERM or SIGINT; raise an error if the server cannot start.

    Without `lock_file`, several servers may run. Errors are written to `log_file`. A worker inherits the listening
    socket with this `socket_descriptor`.
    """
    if socket_descriptor is not None:
        end_with_parent()
    tls = options.certificate is not None
    check_address(options.host, has_tls=tls, is_allowed=options.plain_http_beyond_this_machine)
    if options.workers > 1 and database.startswith("sqlite:"):
        consequence = "an SQLite file allows one writer at a time, so workers would reject each other's reports"
        reject("several workers need PostgreSQL", "SQLite", consequence)
    locking = nullcontext() if lock_file is None else hold_lock(lock_file)
    with locking as lock, closing(open_store(database)) as store:
        check_page(store.survey(), store.editions())
        key = None if options.issuer_key is None else load_issuer_key(store, options.issuer_key)
        page = page_hash(store.survey().hash, None if key is None else key.issuer)
        with bind_socket(options.host, options.port, socket_descriptor) as listening_socket:
            announce = _make_announcer(
                listening_socket, "https" if tls else "http", options.prefix, page, lock, log_file
            )
            if options.workers > 1:
                store.close()  # each worker opens its own connection
                supervise(options.workers, _worker_command(database, options, listening_socket, lock), announce)
            else:
                context = _tls_context(options.certificate, options.private_key, forget_sessions=key is not None)
                _run_server(store, key, options.prefix, context, listening_socket, announce)


def _report_failure(problem: object) -> int:
    print(f"Not serving: {problem}", file=sys.stderr)  # noqa: T201
    return 2


def _detach() -> None:
    """Fork and exit the parent, so that the process that started this one need not wait for it."""
    if os.fork():
        os._exit(0)
    os.umask(0o077)  # only the owner can read the files that this process creates


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m toolkit.survey.serving.process", description="Serve one survey.")
    add = parser.add_argument
    default = os.environ.get(DATABASE_VARIABLE)
    databases = "sqlite:///file.db or postgresql://…, made by collect() or toolkit serve"
    add(
        "--database",
        default=default,
        required=default is None,
        help=f"{databases}; by default the environment variable {DATABASE_VARIABLE}",
    )
    add_arguments(parser, SERVER_OPTIONS)
    # Options for programs that start a background server or a worker.
    add("--listening", type=int, help="descriptor of a listening socket, for workers")
    add("--state", type=Path, help="lock file for the line of JSON: one server at a time holds it")
    add("--log", type=Path, help="file for errors, at most 256 kB and as much of older ones")
    add("--detach", action="store_true", help="go into the background, and print the line of JSON when it is ready")
    return parser


def _run_server(
    store: Collection,
    key: IssuerKey | None,
    prefix: str,
    context: ssl.SSLContext | None,
    listening_socket: socket.socket,
    announce: Callable[[], None],
) -> None:
    survey, limits = store.survey(), replace(Limits(), max_connections=_max_connections(Limits.max_connections))
    writer = Writer(store)
    try:
        earlier = [edition.hash for edition in store.editions() if edition.hash != survey.hash]
        station = StationKey.load_or_create(store)
        app = build_application(
            survey, writer, issuer_key=key, station_key=station, limits=limits, prefix=prefix, earlier_hashes=earlier
        )
        server = HttpServer(app, limits, announce, tls_context=context)

        def stop(*_: object) -> None:
            server.should_exit = True

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        server.run(listening_socket)
    finally:
        writer.stop()


def _tls_context(
    certificate: str | Path | None, private_key: str | Path | None, *, forget_sessions: bool
) -> ssl.SSLContext | None:
    """Create the TLS context if there is a certificate.

    With `forget_sessions`, as blind tokens require, no session can be resumed. A resumed session would link the
    connection of a report to the connection of a signature request.
    """
    if certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, private_key)
    if forget_sessions:
        # Session tickets can be turned off, but not the server-side session cache of TLS 1.2, so TLS 1.3 is required.
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
    return context


def _worker_command(
    database: str, options: ServeOptions, listening_socket: socket.socket, lock: FileLock | None
) -> WorkerCommand:
    """Return the command that starts a worker, which inherits the socket and the lock of this process."""
    shared = [listening_socket.fileno(), *([] if lock is None else [lock.descriptor])]
    arguments = [*replace(options, workers=1).arguments(), f"--listening={listening_socket.fileno()}"]
    return WorkerCommand(arguments, {**os.environ, DATABASE_VARIABLE: database}, shared)


def load_issuer_key(store: Collection, path: str | Path) -> IssuerKey:
    """Load the issuer's key from a file; reject a key other than the first key of the collection."""
    key = IssuerKey.load(path)
    if (
        store.get_setting(ISSUER_SETTING) or store.set_default(ISSUER_SETTING, key.issuer.fingerprint)
    ) != key.issuer.fingerprint:
        rule = "a collection must be served with its first issuer's key"
        consequence = "signed tokens would be rejected; use the first key again"
        reject(rule, f"another key in {path}", consequence)
    return key


def _max_connections(requested: int) -> int:
    """Return the number of connections that the system allows, after raising the limit on open files if necessary."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = requested + _SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, min(requested, soft - _SPARE_FILES))
    return requested


def _make_announcer(
    listening_socket: socket.socket, scheme: str, prefix: str, page: str, lock: FileLock | None, log: Path | None
) -> Callable[[], None]:
    """Return the function that the server calls to publish its address once it accepts connections."""
    host, port = listening_socket.getsockname()[:2]
    url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{prefix}/"
    line = json.dumps({"url": url, "host": host, "port": port, "pid": os.getpid(), "survey": page})

    def announce() -> None:
        if lock is not None:
            lock.write(line)
        print(line, flush=True)  # noqa: T201
        if log is not None:
            _log_to_file(log)

    return announce


class _PrivateLogHandler(logging.handlers.RotatingFileHandler):
    """A rotating log file that only its owner can read."""

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600))


def _log_to_file(path: Path) -> None:
    """Log warnings, which contain no part of a request, to a file that only its owner can read."""
    path.unlink(missing_ok=True)
    handler = _PrivateLogHandler(path, maxBytes=_LOG_BYTES, backupCount=1)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    logging.getLogger("toolkit").addHandler(handler)


if __name__ == "__main__":
    sys.exit(main())
