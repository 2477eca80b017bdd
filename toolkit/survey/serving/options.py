"""The options of a collection and its server, shared by `collect`, the command line and the server's process."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from toolkit.core.checks import check_integer, reject
from toolkit.survey.consent.statement import THIS_MACHINE

_MAX_WORKERS = 64


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Options of a collection and its server; `toolkit.collect` has the same keyword arguments and documents them."""

    rehearsal: bool = False
    host: str = THIS_MACHINE
    port: int = 0
    certificate: str | Path | None = None
    private_key: str | Path | None = None
    issuer_key: str | Path | None = None
    public_url: str | None = None
    prefix: str = ""
    plain_http_beyond_this_machine: bool = False
    workers: int = 1
    amend: bool = False
    again: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.port, int) or isinstance(self.port, bool) or not 0 <= self.port < 2**16:
            rule = "`port` must be a whole number from 0 to 65535"
            reject(rule, repr(self.port)[:20], "0 chooses a free port the first time and reuses it later")
        check_integer(self.workers, "workers", maximum=_MAX_WORKERS)

    @classmethod
    def from_namespace(cls, parsed: Namespace) -> "ServeOptions":
        """Return the options that a command parsed; all other options keep their defaults."""
        return cls(**{name: value for name, value in vars(parsed).items() if name in HELP_TEXTS})

    def arguments(self) -> list[str]:
        """Return the command-line arguments of the server's process, which finds an open collection in the database.

        Options that matter only for opening a collection are left out, because `again` may contain a password and other
        users can see the arguments of a process.
        """
        values = {name: getattr(self, name) for name in SERVER_OPTIONS}
        changed = {_flag(name): value for name, value in values.items() if value != getattr(DEFAULTS, name)}
        return [flag if value is True else f"{flag}={value}" for flag, value in changed.items()]


DEFAULTS = ServeOptions()
HELP_TEXTS = {
    "rehearsal": "a trial: all screens and files say so, and no report counts as real",
    "host": "address to listen on (default: this machine only)",
    "port": "0: a free port, chosen the first time and stored with the collection",
    "certificate": "PEM file with the TLS certificate and its chain (blind tokens need TLS 1.3)",
    "private_key": "PEM file with the key of the TLS certificate",
    "issuer_key": "PEM file with the key that signs blind tokens",
    "public_url": "the address that respondents use, if a proxy stands in front",
    "prefix": "path below which a proxy passes requests on unchanged, such as /survey",
    "plain_http_beyond_this_machine": "serve other machines without TLS: anybody on the network could change the page",
    "workers": "number of server processes, so that one may fail; more are not faster and need PostgreSQL",
    "amend": "show this page from now on, in a collection that another version of the toolkit made or whose title or "
    "consent was corrected",
    "again": "the database of the previous wave, whose links work in this wave as well",
}
SERVER_OPTIONS = tuple(name for name in HELP_TEXTS if name not in ("rehearsal", "public_url", "amend", "again"))
"""Names of the options of the server's process. The others matter only when a collection is opened."""


def add_arguments(parser: ArgumentParser, option_names: Iterable[str] = tuple(HELP_TEXTS)) -> None:
    """Add an argument for each of these options to a command."""
    for name in option_names:
        default = getattr(DEFAULTS, name)
        if default is False:
            parser.add_argument(_flag(name), action="store_true", help=HELP_TEXTS[name])
        else:
            kind = int if isinstance(default, int) else str
            parser.add_argument(_flag(name), type=kind, default=default, help=HELP_TEXTS[name])


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
