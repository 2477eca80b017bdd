"""The end of what was collected: a closed collection is removed for good, and what is beyond reach is named.

Retention is a promise to people. What a program can keep of it is to take away what it made: the reports, the tables or
the file, the log and the note of its server. Copies were made by others, and only they can delete them.
"""

from contextlib import closing

from toolkit.core.checks import refuse
from toolkit.survey import background
from toolkit.survey.collector import KEY_FILE, check_there
from toolkit.survey.store import Collection, State, absolute_url, open_store

_SQLITE = (
    "Not reached: copies and backups of the file, snapshots of its disk, and the blocks where it lay, which keep its "
    "content until they are written to again (encrypted disks are safe from that)."
)
_POSTGRES = (
    "Not reached: dumps and other backups of the database, its log of changes (WAL) and where that is archived, "
    "replicas that lag, and the blocks where the tables lay. Whoever runs the database decides how long these live."
)
_EXPORTS = "Not reached: exported files, and what was computed from the reports."


def deletable(database: str) -> tuple[str, str]:
    """The title of a collection and a sentence about it, if it may be deleted: closed, and without a server."""
    check_there(database)
    with closing(open_store(absolute_url(database))) as store:
        survey = store.survey()
        _check(store, absolute_url(database))
        title = survey.title[survey.languages[0]]
        return title, f"{title!r} is closed and holds {store.count():,} reports."


def delete(database: str) -> list[str]:
    """Remove a closed collection; sentences on what is beyond reach, and on what is left to do."""
    url = absolute_url(database)
    with closing(open_store(url)) as store:
        _check(store, url)
        key = store.setting(KEY_FILE)
        store.delete()
    state = background.state_of(url)
    log = background.log_of(state)
    for path in (state, log, log.with_name(f"{log.name}.1")):
        path.unlink(missing_ok=True)
    keys = (
        []
        if key is None
        else [f"The key that signed its blind tokens is in {key}: delete it, if no other collection uses it."]
    )
    return [_SQLITE if url.startswith("sqlite") else _POSTGRES, _EXPORTS, *keys]


def _check(store: Collection, url: str) -> None:
    state = store.state()
    if state is not State.CLOSED:
        refuse("a collection must be closed before it is deleted", state.value, "close it first; nothing was deleted")
    if background.find(url) is not None:
        refuse(
            "a collection must have no server when it is deleted", "one that runs", "stop it first; nothing was deleted"
        )
