"""While a collection is open, whoever reads its database once does not learn which report came with which token."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.survey.entries import STORED, entry, opened, sha
from tests.survey.keeping.linkage import Reader, by_log, by_marks, linked
from tests.survey.postgres_server import Postgres, new_name
from toolkit.survey.store import Store, open_store

PEOPLE = 60
TOKENS = [sha(f"{i}") for i in range(PEOPLE)]
SIZES = [1, 3, 15]


def arrive(store: Store, size: int) -> list[bytes]:
    """Sixty people answer, so many in a batch; the keys of their reports."""
    entries = [entry(f"report {i}", by=f"{i}") for i in range(PEOPLE)]
    for start in range(0, PEOPLE, size):
        assert store.add(entries[start : start + size]) == [STORED] * size
    return [one.key for one in entries]


@pytest.fixture
def reader(postgres: Postgres) -> Iterator[tuple[Store, Reader]]:
    schema = new_name()
    store = opened(open_store(postgres.url(schema)), access="token")
    store.invite([*TOKENS, *(sha(f"silent {i}") for i in range(PEOPLE))])
    owner = f"postgresql://owner@/postgres?host={postgres.folder}"
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {schema} LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {schema}")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {schema}")
        looking = Reader(f"postgresql://{schema}@/postgres?host={postgres.folder}", schema)
        yield store, looking
        looking.close()
        store.close()
        connection.execute(f"DROP OWNED BY {schema}")
        connection.execute(f"DROP ROLE {schema}")


@pytest.mark.parametrize("size", SIZES)
def test_the_marks_of_transactions_do_not_tie_tokens_to_reports(reader: tuple[Store, Reader], size: int) -> None:
    store, looking = reader
    keys = arrive(store, size)
    guesses = by_marks(looking, TOKENS, keys)
    print("PG", size, linked(guesses, keys), sorted(map(len, guesses)))


@pytest.mark.parametrize("size", SIZES)
def test_the_log_of_a_file_does_not_tie_tokens_to_reports(tmp_path: Path, size: int) -> None:
    path, scratch = tmp_path / "survey.db", tmp_path / "scratch"
    scratch.mkdir()
    store = opened(open_store(f"sqlite:///{path}"), access="token")
    store.invite([*TOKENS, *(sha(f"silent {i}") for i in range(PEOPLE))])
    keys = arrive(store, size)
    guesses = by_log(path, TOKENS, keys, scratch)
    print("LITE", size, linked(guesses, keys), sorted(map(len, guesses)))
    store.close()
