"""The options of a collection and its server, shared by `collect`, the command line and the server's process."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from toolkit.core.checks import check_integer, reject
from toolkit.survey.consent.statement import missing_statements
from toolkit.survey.questions.survey_fields import statements
from toolkit.survey.spec import Survey

THIS_MACHINE = "127.0.0.1"
_LOOPBACK_HOSTS = (THIS_MACHINE, "localhost", "::1")
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
    previous_wave: str | None = None

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

        Options that matter only for opening a collection are left out, because `previous_wave` may contain a password
        and other users can see the arguments of a process.
        """
        values = {name: getattr(self, name) for name in SERVER_OPTIONS}
        changed = {_flag(name): value for name, value in values.items() if value != getattr(DEFAULTS, name)}
        return [flag if value is True else f"{flag}={value}" for flag, value in changed.items()]


DEFAULTS = ServeOptions()
HELP_TEXTS = {
    "rehearsal": "collect for a trial: every screen and file says so, and no report counts as real",
    "host": "address to listen on (default: this machine only)",
    "port": "the port to listen on (default: a free port, which is stored with the collection and used again)",
    "certificate": "PEM file with the TLS certificate and its chain (blind tokens need TLS 1.3)",
    "private_key": "PEM file with the key of the TLS certificate",
    "issuer_key": "PEM file with the key that signs blind tokens",
    "public_url": "the address that respondents open, if it differs because of a proxy",
    "prefix": "the path prefix with which a proxy forwards requests, such as /survey",
    "plain_http_beyond_this_machine": "serve other machines without TLS; anybody on the network could change the page",
    "workers": "the number of server processes, in case one fails; several are not faster, and need PostgreSQL",
    "amend": "show respondents the new page, if the toolkit was updated or the title or consent was corrected",
    "previous_wave": "the database of the previous wave, whose links work in this wave as well",
}
SERVER_OPTIONS = tuple(name for name in HELP_TEXTS if name not in ("rehearsal", "public_url", "amend", "previous_wave"))
"""Names of the options of the server's process. The others matter only when a collection is opened."""


def check_network_exposure(survey: Survey, options: ServeOptions) -> None:
    """Reject a server for other machines if required statements are missing, except in a rehearsal."""
    beyond = options.host not in _LOOPBACK_HOSTS or options.public_url is not None
    if beyond and not survey.rehearsal and (absent := missing_statements(statements(survey))):
        rule = f"a survey that is served beyond this machine must state {', '.join(absent)}"
        reject(rule, "nothing", "people must know who asks, and what happens to their answers")


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
