"""Storage of reports at a URL: SQLite by default, PostgreSQL for large collections.

    store = open_store("sqlite:///campus.db")
    store.create(survey)
    store.set_state(State.OPEN)
    store.add([NewReport(key, body)])

`collection.py` documents what a store guarantees; `sqlite.py` and `postgres.py` document what their files still reveal.
"""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NoReturn

from toolkit.core.checks import reject
from toolkit.core.extras import check_extras
from toolkit.survey.storage.collection import Collection
from toolkit.survey.storage.editions import check_same_questions
from toolkit.survey.storage.protocol import NewReport, Outcome, State, StoreError

__all__ = ["Collection", "NewReport", "Outcome", "State", "StoreError", "absolute_url", "merge", "open_store"]


def open_store(url: str, *, readonly: bool = False) -> Collection:
    """Return the collection at a URL.

    URLs are sqlite:///relative.db, sqlite:////absolute.db and postgresql://host/database?schema=name. The database is
    opened or created at its first use. `readonly` is for notebooks that read while a server writes.
    """
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/"):
        from toolkit.survey.storage.sqlite import sqlite_store

        return sqlite_store(rest[1:], readonly)
    if scheme in ("postgresql", "postgres"):
        check_extras("psycopg")
        from toolkit.survey.storage.postgres import postgres_store

        return postgres_store(url, readonly)
    _reject_url(url)


def merge(database: str, source_urls: Sequence[str]) -> tuple[int, int]:
    """Merge closed collections of the same questions into a new one; return the numbers of reports and of duplicates.

    A report that was sent to two of the collections has the same random key in both and is stored once. The caps of
    the collections do not apply to the merged one. After an interruption, the same call completes the merge.
    """
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(open_store(absolute_url(url), readonly=True))) for url in source_urls]
        if len({absolute_url(url) for url in (database, *source_urls)}) <= max(len(source_urls), 2):
            rule = "`merge` needs two or more different collections and a new database"
            reject(rule, "fewer, or a repeated one", "nothing was created")
        for store in stores:
            if (state := store.state()) is not State.CLOSED:
                reject("collections must be closed before they are merged", state.value, "nothing was created")
            check_same_questions(store.survey(), stores[0].editions()[-1])
        target = stack.enter_context(closing(open_store(absolute_url(database))))
        target.create(stores[0].survey())
        if (state := target.state()) is not State.DRAFT:
            reject("the target of a merge must be a new collection", state.value, "nothing was changed")
        target.merge_reports(stores)
        target.set_state(State.CLOSED)
        count = target.count_reports()
        return count, sum(store.count_reports() for store in stores) - count


def _reject_url(url: str) -> NoReturn:
    """Reject a URL of an unknown kind of database; quote only its beginning, because a password may follow."""
    rule = "`database` must begin with sqlite:/// or postgresql://"
    scheme, mark, rest = url.partition("://")
    if not mark and url and not set(url) & set("@:;="):  # a file name
        reject(rule, repr(url[:80]), f"write sqlite:///{url[:80]}")
    if not url:
        reject(rule, "nothing", "write sqlite:///survey.db")
    remedy = "write three slashes before a file" if scheme == "sqlite" and rest else "no other database is supported"
    reject(rule, repr(scheme[:20] + "://") if mark else "another address", remedy)


def absolute_url(url: str) -> str:
    """Return a URL that names the same database from any folder: paths become absolute, symbolic links are resolved."""
    if not isinstance(url, str):
        reject("`database` must be text", type(url).__name__, 'write "sqlite:///survey.db"', TypeError)
    scheme, _, path = url.partition(":///")
    return f"{scheme}:///{Path(path).expanduser().resolve()}" if scheme == "sqlite" and path else url
