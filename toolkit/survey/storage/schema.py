"""The tables of a collection in the dialects of both databases, their version, and the way from an older one
to today's.

The rule: every version has a table `collection` with one row and a column `version`. Code that finds a newer
version, or an older one, touches nothing and says what to do; `migrate` brings an older one to today's, one
step per version. A change of a table raises VERSION and adds the step. In PostgreSQL tables that are made
again have lost what was granted on them.

`main` is what SQLite calls the tables of its file; for PostgreSQL it stands for the schema (`core/postgres.py`).
"""

from collections.abc import Mapping

from toolkit.core.checks import refuse

VERSION = 2

_COLUMNS = {
    "collection": ("version INT! PRIMARY KEY", "hash TEXT!", "access TEXT!", "cap INT", "state TEXT!"),
    "edition": ("number INT! PRIMARY KEY", "hash TEXT!", "toolkit TEXT!", "survey TEXT!"),
    "setting": ("name TEXT! PRIMARY KEY", "value TEXT!"),
    "tally": ("server TEXT! PRIMARY KEY", "reports INT!"),
    "pool": ("version INT! PRIMARY KEY", "content TEXT!"),
    "report": ("key BYTES! PRIMARY KEY", "body TEXT!"),
    "invited": ("hash BYTES! PRIMARY KEY",),
    "issued": ("invitation BYTES! PRIMARY KEY", "blinded BYTES!"),
    "spent": ("hash BYTES! PRIMARY KEY",),
}
"""The tally is apart from the collection, which would otherwise be written again with every batch."""


def _tables(integer: str, text: str, octets: str, ending: str) -> dict[str, str]:
    words = {"INT": integer, "TEXT": text, "BYTES": octets}
    statements = {}
    for table, columns in _COLUMNS.items():
        listed = ", ".join(columns).replace("!", " NOT NULL")
        for word, type_ in words.items():
            listed = listed.replace(f" {word}", f" {type_}")
        statements[table] = f"CREATE TABLE main.{table} ({listed}){ending}"
    return statements


SQLITE = _tables("INTEGER", "TEXT", "BLOB", " STRICT, WITHOUT ROWID")
POSTGRES = _tables("bigint", "text", "bytea", "")
"""What makes each table, by name."""

_FIRST = "0.1.0 or 0.2.0"  # which of them made a collection of version 1 is kept nowhere


def steps(version: int, tables: Mapping[str, str]) -> list[str]:
    """The statements that bring a collection of an older version to today's; the same SQL for both databases."""
    return _from_1(tables) if version == 1 else []


def _from_1(tables: Mapping[str, str]) -> list[str]:
    """Version 1 kept unspent tokens, and no editions: the spent ones are those that are missing among them."""
    used = "SELECT hash FROM main.invited EXCEPT SELECT hash FROM main.unspent"
    return [
        "CREATE TABLE main.collection_1 AS SELECT * FROM main.collection",
        "CREATE TABLE main.tally_1 AS SELECT * FROM main.tally",
        "DROP TABLE main.collection",
        "DROP TABLE main.tally",
        *(tables[name] for name in ("collection", "edition", "tally", "pool")),
        tables["setting"].replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"),
        "INSERT INTO main.collection SELECT 2, hash, access, cap, state FROM main.collection_1",
        f"INSERT INTO main.edition SELECT 1, hash, '{_FIRST}', survey FROM main.collection_1",  # noqa: S608
        "INSERT INTO main.tally SELECT 'all', reports FROM main.tally_1",
        "INSERT INTO main.pool SELECT 2, '' FROM main.collection_1",
        (
            f"INSERT INTO main.spent SELECT used.hash FROM ({used}) AS used, main.collection WHERE access = 'token' "  # noqa: S608
            "ORDER BY used.hash"
        ),
        "DROP TABLE main.unspent",
        "DROP TABLE main.collection_1",
        "DROP TABLE main.tally_1",
    ]


def check_version(version: int) -> None:
    """Refuse a collection of other tables than today's; nothing of it was read or changed."""
    rule = f"a collection's tables must be of version {VERSION} for this toolkit"
    if version > VERSION:
        refuse(rule, f"the newer version {version}", "use the toolkit that made it, or a newer one")
    if version < VERSION:
        remedy = "stop its servers, copy the database, and bring it up to date with `toolkit migrate`"
        refuse(rule, f"the older version {version}", remedy)
