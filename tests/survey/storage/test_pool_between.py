"""A real PgBouncer in transaction mode is between the toolkit and PostgreSQL: each transaction may get another
session.
"""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.postgres_server import STRANGERS, Postgres, new_name
from tests.survey.entries import STORED, entry, opened, sha
from toolkit.survey.storage import Collection, State, open_store


@pytest.mark.slow
@pytest.mark.parametrize("access", ["open", "token"])
def test_collections_behind_one_pooler_keep_their_reports(bouncer: Postgres, access: str) -> None:
    """A pilot and the real survey, four servers, two sessions: neither contains anything of the other."""
    schemas = [new_name(), new_name()]
    stores: list[Collection] = []
    for schema in schemas:
        first = opened(open_store(bouncer.pooled(schema)), access=access)
        if access == "token":
            first.invite([sha(f"{i}") for i in range(400)])
        stores += [first, open_store(bouncer.pooled(schema))]
    sent: list[list[str]] = [[], []]

    def serve(number: int) -> None:
        place, half = divmod(number, 2)
        for start in range(0, 100, 4):
            batch = [entry(f"{schemas[place]} {half} {i}", by=f"{half * 200 + i}") for i in range(start, start + 4)]
            assert stores[number].add(batch) == [STORED] * 4
            sent[place] += [one.body for one in batch]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(serve, range(4)))
    for place in (0, 1):
        one = stores[2 * place]
        assert one.count_reports() == 200
        assert sorted(one.reports()) == sorted(sent[place])
        one.set_state(State.CLOSED)
        assert sorted(stores[2 * place + 1].reports()) == sorted(sent[place])
    for store in stores:
        store.close()


def test_the_pool_does_hand_out_the_sessions_of_others(bouncer: Postgres) -> None:
    """This shows that the other tests can detect a leak: what one client leaves in its session, another client
    finds.
    """
    with psycopg.connect(bouncer.pool, autocommit=True, prepare_threshold=None) as one:
        one.execute("SELECT set_config('search_path', 'left_behind', false)")
        with psycopg.connect(bouncer.pool, autocommit=True, prepare_threshold=None) as other:
            assert other.execute("SHOW search_path").fetchone() == ("left_behind",)
            query = "SELECT relname FROM pg_catalog.pg_class WHERE relpersistence = 't' AND relkind = 'r'"
            assert {name for (name,) in other.execute(query)} >= {"entries", "report", "tally", "pg_locks", "text"}
            assert {name for (name,) in other.execute(query)} >= STRANGERS.keys()
        one.execute("RESET search_path")
