"""PostgreSQL for ledgers and collections: a URL with a schema, and transactions that do not depend on a session.

A connection pool (PgBouncer) may use another session for each transaction, with the settings of another client. So each
transaction sets everything on which it depends, and no statement is prepared.

The temporary tables of another client may be visible as well, and PostgreSQL looks up unqualified names in temporary
tables first. So every table is qualified by its schema, as in `main.entries`; SQLite calls its file `main`, and in
statements for PostgreSQL this name is replaced by the schema.
"""

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from toolkit.core.checks import reject

_LETTERS, _LENGTH = set("abcdefghijklmnopqrstuvwxyz0123456789_"), 63
_DEFAULTS = {"connect_timeout": 5, "keepalives_idle": 10, "tcp_user_timeout": 10_000, "client_encoding": "utf8"}


def address(url: str, schema: str) -> tuple[dict[str, Any], str]:
    """Parse postgresql://user@host/database?schema=campus; `schema` is the default schema."""
    start, _, query = url.partition("?")
    options = [option for option in query.split("&") if option]
    schema = next((option.removeprefix("schema=") for option in options if option.startswith("schema=")), schema)
    if not schema or set(schema) - _LETTERS or schema[0].isdigit() or len(schema) > _LENGTH:
        rule = "`schema` must consist of lowercase letters, digits and _"
        reject(rule, repr(schema), "any other name would have to be quoted in every statement")
    try:
        parameters = conninfo_to_dict(
            f"{start}?{'&'.join(option for option in options if not option.startswith('schema='))}"
        )
    except psycopg.Error:  # the message of this error would quote the URL, which may contain a password
        reject("`database` must be a URL as in postgresql://user@host/database", "another", "PostgreSQL cannot read it")
    return {**_DEFAULTS, **parameters}, schema


def qualified(statement: str, schema: str) -> str:
    """Replace `main.` in a statement by the schema, quoted because a schema may be called `user`."""
    return statement.replace("main.", f'"{schema}".')


def set_locally(connection: psycopg.Connection[Any], settings: Mapping[str, str]) -> None:
    """Change settings until the transaction ends, and make unqualified names refer to the system catalog first."""
    pairs = {**settings, "search_path": "pg_catalog, pg_temp"}
    calls = ", ".join("pg_catalog.set_config(%s, %s, true)" for _ in pairs)
    connection.execute(f"SELECT {calls}".encode(), [text for pair in pairs.items() for text in pair])


def check_encoding(encoding: str) -> None:
    """Reject a database whose `server_encoding` is not UTF8."""
    if encoding != "UTF8":
        reject("the database must have the encoding UTF8", "another", "some languages could not be stored")
