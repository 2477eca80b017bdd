"""The server in this process, where processes are supervised already: systemd, a container, a terminal.

Nothing goes to the background, what goes wrong is said on stderr, SIGTERM and SIGINT end it when what has begun is
finished. It holds the same lock as a server in the background, so `status` and `close` of the same user find it.
"""

import socket
from pathlib import Path

from toolkit.survey import background
from toolkit.survey.collector import PORT, Collector, prepare
from toolkit.survey.spec import Survey


class AgainError(RuntimeError):
    """The server could not begin, but may if it is tried again: the database or the address was not free or absent."""


def serve(
    survey: Survey | str | Path,
    *,
    database: str | None = None,
    rehearsal: bool = False,
    amend: bool = False,
    again: str | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    issuer_key: str | Path | None = None,
    public_url: str | None = None,
    **options: object,
) -> None:
    """Collect answers from this process, until it is told to end; `options` are those of
    `toolkit.survey.collector.start`.

    Raises `AgainError` if trying again may help. A port or a key's file that is given is not kept with the collection:
    of several servers each has its own, and a server need not have the right to write more than reports.
    """
    background.check_system()
    from toolkit.survey.serving import process
    from toolkit.survey.serving.lock import TakenError
    from toolkit.survey.store import StoreError

    survey = survey if isinstance(survey, Survey) else Survey.load(survey)  # what is wrong with it stays wrong
    try:
        collector, key = prepare(
            survey,
            database,
            rehearsal=rehearsal,
            amend=amend,
            again=again,
            host=host,
            public_url=public_url,
            issuer_key=issuer_key,
            keep=issuer_key is None,
        )
        address = {"host": host, "port": port or _port(collector, host)}
        place = {"database": collector.database, "state": background.state_of(collector.database)}
        collector.release()  # the server has a connection of its own
        process.serve(background.arguments(place | address | {"issuer_key": key} | options))
    except (StoreError, TakenError, OSError) as problem:
        raise AgainError(str(problem)) from None


def _port(collector: Collector, host: str) -> int:
    """The collection's own port; if it has none yet, a free one, which is kept."""
    if (known := collector.kept(PORT)) is not None:
        return int(known)
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as free:
        port: int = free.getsockname()[1]
    collector.keep(PORT, str(port))
    return port
