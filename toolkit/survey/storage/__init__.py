"""Reports at rest: the store at a URL, SQLite by default, PostgreSQL for large collections.

    store = open_store("sqlite:///campus.db")
    store.create(survey)
    store.set_state(State.OPEN)
    store.add([Entry(key, body)])

What a store promises is told in `storage/collection.py`; what its files still show, in `sqlite.py` and
`postgres.py` beside it.
"""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NoReturn

from toolkit.core.checks import refuse
from toolkit.core.extras import check_extras
from toolkit.survey.storage.collection import Collection
from toolkit.survey.storage.editions import check_same
from toolkit.survey.storage.protocol import NewReport, Outcome, State, StoreError

__all__ = ["Collection", "NewReport", "Outcome", "State", "StoreError", "absolute_url", "merge", "open_store"]


def open_store(url: str, *, readonly: bool = False) -> Collection:
    """The collection at a URL: sqlite:///relative.db, sqlite:////absolute.db, postgresql://host/database?schema=name.
    Nothing is opened or made before it is used. `readonly` is for notebooks that look while a server writes.
    """
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/"):
        from toolkit.survey.storage.sqlite import sqlite_store

        return sqlite_store(rest[1:], readonly)
    if scheme in ("postgresql", "postgres"):
        check_extras("psycopg")
        from toolkit.survey.storage.postgres import postgres_store

        return postgres_store(url, readonly)
    _refuse_unknown(url)


def merge(database: str, others: Sequence[str]) -> tuple[int, int]:
    """Make a closed collection of several closed ones of the same questions; how many reports it has, how many came
    twice. A report that was sent to two of them has the same random key there, and is taken once; the cap was each
    one's own. What was interrupted is done by the same call again.
    """
    with ExitStack() as open_ones:
        stores = [open_ones.enter_context(closing(open_store(absolute_url(one), readonly=True))) for one in others]
        if len({absolute_url(one) for one in (database, *others)}) <= max(len(others), 2):
            refuse("`merge` needs two or more collections and a new one", "fewer, or one twice", "nothing was made")
        for store in stores:
            if (state := store.state()) is not State.CLOSED:
                refuse("collections must be closed before they are merged", state.value, "nothing was made")
            check_same(store.survey(), stores[0].editions()[-1])
        target = open_ones.enter_context(closing(open_store(absolute_url(database))))
        target.create(stores[0].survey())
        if (state := target.state()) is not State.DRAFT:
            refuse("a collection must be new to take over others", state.value, "nothing was changed")
        target.gather(stores)
        target.set_state(State.CLOSED)
        count = target.count()
        return count, sum(store.count() for store in stores) - count


def _refuse_unknown(url: str) -> NoReturn:
    """Say what was meant; of an address only its beginning is quoted, as a password may follow."""
    rule = "`database` must begin with sqlite:/// or postgresql://"
    scheme, mark, rest = url.partition("://")
    if not mark and url and not set(url) & set("@:;="):  # a file's name
        refuse(rule, repr(url[:80]), f"write sqlite:///{url[:80]}")
    if not url:
        refuse(rule, "nothing", "write sqlite:///survey.db")
    known = "write three slashes before a file" if scheme == "sqlite" and rest else "no other database is known"
    refuse(rule, repr(scheme[:20] + "://") if mark else "another address", known)


def absolute_url(url: str) -> str:
    """The same database from any folder: a relative file becomes absolute, and a symbolic link the file behind it."""
    if not isinstance(url, str):
        refuse("`database` must be text", type(url).__name__, 'write "sqlite:///survey.db"', TypeError)
    scheme, _, path = url.partition(":///")
    return f"{scheme}:///{Path(path).expanduser().resolve()}" if scheme == "sqlite" and path else url
