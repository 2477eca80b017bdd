"""The tables of a collection in the dialects of both databases, their version, and the migration of older versions.

Every version has a table `collection` with one row and a column `version`. If the code finds a different version, it
changes nothing and explains what to do. `migrate` upgrades an older version step by step. To change a table, increment
VERSION and add a step. In PostgreSQL, tables that are created again lose the privileges granted on them.

`main` is SQLite's name for the tables of its file; for PostgreSQL, `core/postgres.py` replaces it with the schema.
"""

from collections.abc import Mapping

from toolkit.core.checks import reject

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
"""Columns of each table. The tally is a separate table, so that a batch does not rewrite the collection's row."""


def _create_statements(integer_type: str, text_type: str, bytes_type: str, suffix: str) -> dict[str, str]:
    types = {"INT": integer_type, "TEXT": text_type, "BYTES": bytes_type}
    statements = {}
    for table, columns in _COLUMNS.items():
        columns_sql = ", ".join(columns).replace("!", " NOT NULL")
        for placeholder, type_ in types.items():
            columns_sql = columns_sql.replace(f" {placeholder}", f" {type_}")
        statements[table] = f"CREATE TABLE main.{table} ({columns_sql}){suffix}"
    return statements


SQLITE_TABLES = _create_statements("INTEGER", "TEXT", "BLOB", " STRICT, WITHOUT ROWID")
POSTGRES_TABLES = _create_statements("bigint", "text", "bytea", "")
"""The statement that creates each table, by the table's name."""

_FIRST_VERSIONS = "0.1.0 or 0.2.0"  # a collection of version 1 does not record which release created it


def migration_steps(version: int, tables: Mapping[str, str]) -> list[str]:
    """Return the statements that upgrade a collection of an older version, in SQL that both databases understand."""
    return _migrate_from_1(tables) if version == 1 else []


def _migrate_from_1(tables: Mapping[str, str]) -> list[str]:
    """Upgrade version 1, which stored unspent instead of spent tokens, and no editions."""
    used = "SELECT hash FROM main.invited EXCEPT SELECT hash FROM main.unspent"
    return [
        "CREATE TABLE main.collection_1 AS SELECT * FROM main.collection",
        "CREATE TABLE main.tally_1 AS SELECT * FROM main.tally",
        "DROP TABLE main.collection",
        "DROP TABLE main.tally",
        *(tables[name] for name in ("collection", "edition", "tally", "pool")),
        tables["setting"].replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"),
        "INSERT INTO main.collection SELECT 2, hash, access, cap, state FROM main.collection_1",
        f"INSERT INTO main.edition SELECT 1, hash, '{_FIRST_VERSIONS}', survey FROM main.collection_1",  # noqa: S608
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
    """Reject a collection whose tables have a different version, before anything else is read or changed."""
    rule = f"a collection's tables must be of version {VERSION} for this toolkit"
    if version > VERSION:
        reject(rule, f"the newer version {version}", "use the toolkit that created it, or a newer one")
    if version < VERSION:
        remedy = "stop its servers, copy the database, and bring it up to date with `toolkit migrate`"
        reject(rule, f"the older version {version}", remedy)
