"""Verbs that open, watch and close a collection."""

import argparse
from importlib import import_module

from toolkit.verbs.common import Options, Verbs, add_verb, collector, say


def add(verbs: Verbs) -> None:
    told = "collect answers to a survey, until it is closed; the server runs in the background"
    serve = add_verb(verbs, "serve", _serve, told, examples=_EXAMPLES)
    serve.add_argument("survey", help="a .toml or .json file")
    for name, told in _SERVE.items():
        serve.add_argument(f"--{name.replace('_', '-')}", help=told)
    serve.add_argument("--port", type=_port, default=0, help="0: any free one")
    serve.add_argument("--plain-http-beyond-this-machine", action="store_true", help="without TLS; the refusal says why not")
    for verb, run, told in _PLAIN:
        add_verb(verbs, verb, run, told)
    invite = add_verb(verbs, "invite", _invite, "print links that work once, for surveys with access by token or blind")
    invite.add_argument("count", type=int)


_EXAMPLES = """\
To try it on this machine, then look at it and end it:
  toolkit serve survey.toml
  toolkit status
  toolkit close

In the field, with a certificate, for phones that open https://survey.example:
  toolkit serve survey.toml --database sqlite:///campus.db --host 0.0.0.0 --port 443 \\
    --certificate cert.pem --private-key key.pem --public-url https://survey.example/
"""
_SERVE = {
    "host": "address to listen on (default: this machine only)",
    "certificate": "PEM file with the TLS certificate",
    "private_key": "PEM file with its key",
    "issuer_key": "PEM file with the key that signs blind tokens",
    "public_url": "the address that respondents use, if a proxy stands in front",
    "prefix": "the path below which a proxy passes requests on",
}


def _port(text: str) -> int:
    if not (text.isdecimal() and int(text) < 2**16):
        raise argparse.ArgumentTypeError(f"a port must be a number from 0 to 65535, got {text[:20]!r}")
    return int(text)


def _serve(options: Options) -> None:
    from toolkit.survey.collector import start
    from toolkit.survey.serving.access import PROMISES
    from toolkit.survey.sharing import qr_text
    from toolkit.survey.spec import Survey

    import_module("toolkit.survey.serving.process")  # a package that is missing is named here, and not by a process that dies
    survey = Survey.load(options.survey)
    given = {name: getattr(options, name) for name in _SERVE if getattr(options, name) is not None}
    plain = options.plain_http_beyond_this_machine
    started = start(survey, database=options.database, port=options.port, plain_http_beyond_this_machine=plain, **given)
    say(qr_text(started.url), started.url, "", PROMISES[survey.access])
    say("The server runs in the background. See `toolkit status`, `toolkit results` and `toolkit close`, with the same --database.")


def _status(options: Options) -> None:
    status = collector(options).status()
    cap = "" if status.cap is None else f" of at most {status.cap:,}"
    serving = f"served at {status.url}" if status.serving else "no server that you started is running on this machine"
    say(f"{status.state}: {status.reports:,} reports{cap}; {serving}", *(f"log: {line}" for line in status.log))


def _list_servers(options: Options) -> None:
    """The collection at hand, and what else this person runs."""
    from toolkit.survey.background import find, servers
    from toolkit.survey.store import settled

    _status(options)
    mine = find(settled(options.database))
    for server in servers():
        if server != mine:
            say(f"also running: {server.url} (process {server.pid})")


def _pause(options: Options) -> None:
    collector(options).pause()
    _status(options)


def _resume(options: Options) -> None:
    collector(options).resume()
    _status(options)


def _close(options: Options) -> None:
    collector(options).close()
    _status(options)


_PLAIN = (
    ("status", _list_servers, "how a collection stands, and what other servers you run here"),
    ("pause", _pause, "take no more reports for now"),
    ("resume", _resume, "take reports again"),
    ("close", _close, "end a collection for good, and its server"),
)


def _invite(options: Options) -> None:
    say(*collector(options).invitations(options.count))
