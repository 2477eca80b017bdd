"""The tables of a ledger's file: how they are made, and how those of older versions are taken over."""

import os
import sqlite3
from typing import Any

from toolkit.budget.chain import begin, follow, link_of, read, written
from toolkit.budget.charges import nothing
from toolkit.core.loss import Loss

APPLICATION, VERSION = 0x4C454447, 3  # "LEDG"
_SIMULATED = "simulated-"
_KEPT = """
CREATE TRIGGER head_keep BEFORE UPDATE ON head BEGIN SELECT RAISE(ABORT, 'a ceiling never changes'); END

CREATE TRIGGER entries_keep BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'a charge is never taken back'); END
"""
_SCHEMA = """
CREATE TABLE head (id INTEGER PRIMARY KEY CHECK (id = 1), ceiling TEXT NOT NULL, neighbors TEXT, mark TEXT NOT NULL, unit TEXT)

CREATE TABLE entries (
  number INTEGER PRIMARY KEY, label TEXT NOT NULL, mechanism TEXT NOT NULL, neighbors TEXT,
  loss TEXT NOT NULL, charged TEXT NOT NULL, total TEXT NOT NULL, link TEXT NOT NULL, unit TEXT, terms TEXT)

CREATE TRIGGER head_stay BEFORE DELETE ON head BEGIN SELECT RAISE(ABORT, 'a ceiling never changes'); END

CREATE TRIGGER head_once BEFORE INSERT ON head WHEN (SELECT count(*) FROM head) > 0
  BEGIN SELECT RAISE(ABORT, 'a ceiling never changes'); END

CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'a charge is never taken back'); END

CREATE TRIGGER entries_once BEFORE INSERT ON entries WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entries)
  BEGIN SELECT RAISE(ABORT, 'charges are only added at the end'); END
"""  # the two triggers on insertion also stop INSERT OR REPLACE, which deletes without asking the others  # noqa: E501
_FIRST_VERSION = """
ALTER TABLE head ADD COLUMN mark TEXT NOT NULL DEFAULT ''

ALTER TABLE entries ADD COLUMN link TEXT NOT NULL DEFAULT ''

DROP TRIGGER head_keep

DROP TRIGGER entries_keep
"""
_SECOND_VERSION = """
ALTER TABLE head ADD COLUMN unit TEXT

ALTER TABLE entries ADD COLUMN unit TEXT

ALTER TABLE entries ADD COLUMN terms TEXT
"""
HEAD = "SELECT ceiling, neighbors, mark, unit FROM head"


def create(
    database: sqlite3.Connection,
    ceiling: Loss,
    neighbors: str | None,
    simulated: bool = False,
    unit: str | None = None,
) -> None:
    database.execute("BEGIN IMMEDIATE")
    if is_empty(database):  # still, now that nobody else writes
        _run(database, _SCHEMA)
        _run(database, _KEPT)
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute(f"PRAGMA user_version = {VERSION}")
        database.execute(
            "INSERT INTO head VALUES (1, ?, ?, ?, ?)", (written(ceiling), neighbors, _mark(simulated), unit)
        )
    database.execute("COMMIT")


def take_over(database: sqlite3.Connection) -> None:
    """Chain the rows of a file of version 1, if its totals are the sums of its charges, and make room for the
    unit in one of version 1 or 2, whose rows and links stay as they are; no charge is changed.

    All happens in one transaction. A process with an older version that has the file open can then no longer
    charge, because its rows are shorter.
    """
    database.execute("BEGIN IMMEDIATE")
    if marks(database) == (APPLICATION, 1):  # still, now that nobody else writes
        (ceiling, neighbors), mark = one(database, "SELECT ceiling, neighbors FROM head"), _mark()
        place = begin(ceiling, neighbors, mark, nothing(read(ceiling)))
        links = []
        for row in database.execute("SELECT * FROM entries ORDER BY number"):
            longer = (*row, None, None)
            ((place, entry),) = follow(place, [(longer, link_of(place.link, longer))])
            links.append((place.link, entry.number))
        _run(database, _FIRST_VERSION)
        database.execute("UPDATE head SET mark = ?", (mark,))
        database.executemany("UPDATE entries SET link = ? WHERE number = ?", links)
        _run(database, _KEPT)
        database.execute("PRAGMA user_version = 2")
    if marks(database) == (APPLICATION, 2):
        _run(database, _SECOND_VERSION)
        database.execute(f"PRAGMA user_version = {VERSION}")
    database.execute("COMMIT")


def is_empty(database: sqlite3.Connection) -> bool:
    return one(database, "SELECT 1 FROM sqlite_master") is None


def marks(database: sqlite3.Connection) -> tuple[int, int]:
    """Whose file it is, and of which version."""
    return (*one(database, "PRAGMA application_id"), *one(database, "PRAGMA user_version"))


def one(database: sqlite3.Connection, query: str) -> Any:
    return database.execute(query).fetchone()


def _run(database: sqlite3.Connection, statements: str) -> None:
    for statement in statements.strip().split("\n\n"):
        database.execute(statement)


def _mark(simulated: bool = False) -> str:
    """So that two files with the same charges are not taken for one; the chain of rows begins with it."""
    return (_SIMULATED if simulated else "") + os.urandom(16).hex()


def is_simulated(mark: str) -> bool:
    """Whether a file was made for a simulation."""
    return mark.startswith(_SIMULATED)
