"""Verbs that open, watch and close a collection."""

from toolkit.verbs.common import Options, Verbs, add_verb, collector, say


def add(verbs: Verbs) -> None:
    serve = add_verb(verbs, "serve", _serve, "collect answers to a survey, until it is closed; the server runs in the background")
    serve.add_argument("survey", help="a .toml or .json file")
    for name, told in _SERVE.items():
        serve.add_argument(f"--{name.replace('_', '-')}", help=told)
    serve.add_argument("--port", type=int, default=0, help="0: any free one")
    serve.add_argument("--rehearsal", action="store_true", help="to try it out: everything says so, and no report counts as real")
    serve.add_argument("--plain-http-beyond-this-machine", action="store_true", help="without TLS; the refusal says why not")
    serve.add_argument("--amend", action="store_true", help=_AMEND)
    for verb, run, told in _PLAIN:
        add_verb(verbs, verb, run, told)
    invite = add_verb(verbs, "invite", _invite, "print links that work once, for surveys with access by token or blind")
    invite.add_argument("count", type=int)


_AMEND = (
    "show this page from now on, in a collection that another version of the toolkit made or whose title or consent was corrected"
)
_SERVE = {
    "host": "address to listen on (default: this machine only)",
    "certificate": "PEM file with the TLS certificate",
    "private_key": "PEM file with its key",
    "issuer_key": "PEM file with the key that signs blind tokens",
    "public_url": "the address that respondents use, if a proxy stands in front",
    "prefix": "the path below which a proxy passes requests on",
}


def _serve(options: Options) -> None:
    from toolkit.survey.collector import start
    from toolkit.survey.serving.access import PROMISES
    from toolkit.survey.sharing import qr_text

    given = {name: getattr(options, name) for name in _SERVE if getattr(options, name) is not None}
    given |= {name: getattr(options, name) for name in ("port", "amend", "rehearsal", "plain_http_beyond_this_machine")}
    started = start(options.survey, database=options.database, **given)
    say(qr_text(started.url), started.url, "", started.survey.name, PROMISES[started.survey.access])
    say("The server runs in the background. See `toolkit status`, `toolkit results` and `toolkit close`, with the same --database.")


def _status(options: Options) -> None:
    found = collector(options)
    status = found.status()
    tried = "rehearsal, " if found.survey.rehearsal else ""
    cap = "" if status.cap is None else f" of at most {status.cap:,}"
    serving = f"served at {status.url}" if status.serving else "no server that you started is running on this machine"
    say(f"{tried}{status.state}: {status.reports:,} reports{cap}; {serving}", *(f"log: {line}" for line in status.log))


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


def _migrate(options: Options) -> None:
    from toolkit.survey.keeping.schema import VERSION
    from toolkit.survey.store import migrate, settled

    found = migrate(settled(options.database))
    say(f"tables of version {found}" + ("" if found == VERSION else f", now of version {VERSION}"))


_PLAIN = (
    ("status", _list_servers, "how a collection stands, and what other servers you run here"),
    ("pause", _pause, "take no more reports for now"),
    ("resume", _resume, "take reports again"),
    ("close", _close, "end a collection for good, and its server"),
    ("migrate", _migrate, "bring a collection that an older toolkit made to today's tables; stop its servers and copy it first"),
)


def _invite(options: Options) -> None:
    say(*collector(options).invitations(options.count))
