"""The process that serves one survey: `python -m toolkit.survey.serving.process --database URL`.

It is a process of its own, so that it outlives a notebook's kernel, and it knows nothing but the database: `collect()` and
the command line start it, watch it and stop it (SIGTERM: what has begun is finished). When it is ready it writes one line
of JSON: its address, port and process. It keeps no log of requests, reads no X-Forwarded-For, and forgets addresses at once.

Behind a proxy let it listen on 127.0.0.1 and give TLS to the proxy; turn off the proxy's own log of requests, too.
"""

import argparse
import ipaddress
import json
import os
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn

from toolkit.core.checks import refuse
from toolkit.survey.keeping.writer import Writer
from toolkit.survey.serving.blind import IssuerKey
from toolkit.survey.serving.limits import Limits
from toolkit.survey.serving.server import application
from toolkit.survey.serving.watched import BACKLOG, WatchedServer
from toolkit.survey.spec import Survey
from toolkit.survey.store import Store, StoreError, open_store

_GRACE_SECONDS = 10
_SPARE_FILES = 100  # the database, the page, what Python opens
_ALLOW = "--plain-http-beyond-this-machine"


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; 0 after a graceful end, 2 if it could not begin, with the reason on stderr."""
    options = _parser().parse_args(arguments)
    try:
        _serve(options)
    except (ValueError, StoreError, OSError) as problem:
        print(f"Not serving: {problem}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m toolkit.survey.serving.process", description="Serve one survey.")
    known = os.environ.get("TOOLKIT_DATABASE")  # a password must not stand in the list of processes
    told = "sqlite:///file.db or postgresql://…, made by collect() or toolkit serve; else TOOLKIT_DATABASE of the environment"
    parser.add_argument("--database", default=known, required=known is None, help=told)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--certificate", help="PEM file with the TLS certificate and its chain")
    parser.add_argument("--private-key", help="PEM file with the key of the TLS certificate")
    parser.add_argument("--issuer-key", help="PEM file with the key that signs blind tokens")
    parser.add_argument("--prefix", default="", help="path below which a proxy passes requests on unchanged, such as /survey")
    parser.add_argument("--connections", type=int, default=Limits.connections, help="at a time")
    parser.add_argument("--ready", type=Path, help="file for the line of JSON that otherwise goes to stdout")
    parser.add_argument(_ALLOW, action="store_true", help="serve without TLS to other machines: read what is said without it")
    return parser


def _serve(options: argparse.Namespace) -> None:
    check_address(options.host, tls=options.certificate is not None, allowed=options.plain_http_beyond_this_machine)
    store = open_store(options.database)
    try:
        survey = _survey(store)
        key = None if options.issuer_key is None else IssuerKey.load(options.issuer_key)
        limits = replace(Limits(), connections=_places(options.connections))
        writer = Writer(store)
        try:
            app = application(survey, writer, key=key, limits=limits, prefix=options.prefix)
            with _listening(options.host, options.port) as listening:
                _run(_config(app, options, limits), limits, listening, _announcement(options, listening, survey))
        finally:
            writer.stop()
            if options.ready is not None:
                options.ready.unlink(missing_ok=True)
    finally:
        store.close()


def check_address(host: str, *, tls: bool, allowed: bool = False) -> None:
    """Refuse to speak plain HTTP to other machines, unless told so.

    >>> check_address("127.0.0.1", tls=False)
    >>> check_address("0.0.0.0", tls=True)
    """
    if tls or allowed or all(_local(address) for address in _addresses(host)):
        return
    refuse(
        "without TLS the host must be an address of this machine alone, such as 127.0.0.1",
        repr(host),
        "on the way anybody could read the reports, and change the page so that it sends the truth. Give --certificate and "
        f"--private-key, or put a proxy with TLS in front, or say {_ALLOW}",
    )


def _addresses(host: str) -> list[str]:
    found = socket.getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)  # noqa: S104  # looked at, not listened on
    return [str(entry[4][0]) for entry in found]


def _local(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _survey(store: Store) -> Survey:
    """The survey of the store, if this code still shows people what was agreed when the collection was made."""
    survey = store.survey()
    if store.hash() != survey.hash:
        refuse(
            "a collection must be served by the code that it was made with",
            f"hash {survey.hash[:12]} for {store.hash()[:12]}",
            "people would see another page than the one whose hash was published; use the version of the toolkit from then",
        )
    return survey


def _places(connections: int) -> int:
    """How many connections the operating system lets us have."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < connections + _SPARE_FILES:
        soft = connections + _SPARE_FILES if hard == resource.RLIM_INFINITY else min(hard, connections + _SPARE_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return min(connections, soft - _SPARE_FILES)
    return connections


def _listening(host: str, port: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return socket.create_server(address[:2], family=family, backlog=BACKLOG)


def _announcement(options: argparse.Namespace, listening: socket.socket, survey: Survey) -> Callable[[], None]:
    """Say once where we are, when a connection would be answered."""
    host, port = listening.getsockname()[:2]
    scheme = "https" if options.certificate else "http"
    url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{options.prefix}/"
    line = json.dumps({"url": url, "host": host, "port": port, "pid": os.getpid(), "survey": survey.hash})

    def announce() -> None:
        if options.ready is None:
            print(line, flush=True)  # noqa: T201
        else:
            partial = options.ready.with_name(f"{options.ready.name}.{os.getpid()}")
            partial.write_text(line + "\n")
            partial.replace(options.ready)  # whoever reads it reads all of it

    return announce


def _config(app: Any, options: argparse.Namespace, limits: Limits) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",  # uvicorn logs errors with all that they say; ours say their kind and place
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=True,  # RFC 9110 wants it from whoever has a clock; it tells nothing that the client does not know
        backlog=BACKLOG,
        timeout_keep_alive=max(1, round(limits.idle_seconds)),
        timeout_graceful_shutdown=_GRACE_SECONDS,
        ssl_certfile=options.certificate,
        ssl_keyfile=options.private_key,
        ssl_version=ssl.PROTOCOL_TLS_SERVER,
    )


def _run(config: uvicorn.Config, limits: Limits, listening: socket.socket, announce: Callable[[], None]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _ignore)  # uvicorn raises the signal again after a graceful end; by then all is done
    WatchedServer(config, limits, announce).run(sockets=[listening])


def _ignore(*_: object) -> None:
    """A signal that has done its work."""


if __name__ == "__main__":
    sys.exit(main())
