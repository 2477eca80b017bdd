"""PostgreSQL as ledgers and collections use it: an address with a schema, and transactions that depend on no session.

A pool between us and the server (PgBouncer) may hand out another session for each transaction, with the settings that
somebody else left there: each transaction sets all that it depends on, and no statement is prepared.

Somebody else's temporary tables are there as well, and PostgreSQL looks a bare name up among them first. So every table
is named with its schema, as `main.entries`: `main` is what SQLite calls the tables of its file, and stands for
the schema in statements for PostgreSQL.
"""

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from toolkit.core.checks import reject

_LETTERS, _LENGTH = set("abcdefghijklmnopqrstuvwxyz0123456789_"), 63
_DEFAULTS = {"connect_timeout": 5, "keepalives_idle": 10, "tcp_user_timeout": 10_000, "client_encoding": "utf8"}


def address(url: str, schema: str) -> tuple[dict[str, Any], str]:
    """How to connect, and in which schema: postgresql://user@host/database?schema=campus, else that of the caller."""
    start, _, query = url.partition("?")
    options = [option for option in query.split("&") if option]
    schema = next((option.removeprefix("schema=") for option in options if option.startswith("schema=")), schema)
    if not schema or set(schema) - _LETTERS or schema[0].isdigit() or len(schema) > _LENGTH:
        rule = "`schema` must be small letters, digits and _"
        reject(rule, repr(schema), "PostgreSQL would ask for quotes everywhere else")
    try:
        own = conninfo_to_dict(f"{start}?{'&'.join(one for one in options if not one.startswith('schema='))}")
    except psycopg.Error:  # its words would quote the URL, and with it a password
        reject("`database` must be a URL as in postgresql://user@host/database", "another", "PostgreSQL cannot read it")
    return {**_DEFAULTS, **own}, schema


def qualified(statement: str, schema: str) -> str:
    """Name the schema in a statement where it says `main.`; quoted, as a schema may be called `user`."""
    return statement.replace("main.", f'"{schema}".')


def set_locally(connection: psycopg.Connection[Any], settings: Mapping[str, str]) -> None:
    """Change settings until the transaction ends; a bare name is then looked up in PostgreSQL's catalogue first."""
    pairs = {**settings, "search_path": "pg_catalog, pg_temp"}
    calls = ", ".join("pg_catalog.set_config(%s, %s, true)" for _ in pairs)
    connection.execute(f"SELECT {calls}".encode(), [text for pair in pairs.items() for text in pair])


def check_encoding(encoding: str) -> None:
    """Refuse a database whose `server_encoding` is not UTF8."""
    if encoding != "UTF8":
        reject("the database must have the encoding UTF8", "another", "not every language could be stored")
