"""A real PgBouncer in transaction mode stands between us and PostgreSQL: each transaction may get another session."""

import os
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from tests.needs import program
from tests.survey.entries import STORED, entry, opened, sha
from tests.survey.postgres_server import Postgres, new_name
from toolkit.survey.storage import Collection, State, open_store

PORT = 6432
SETTINGS = """
[databases]
postgres = host={folder} port=5432 user=owner
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = 2
logfile = {folder}/pgbouncer.log
pidfile = {folder}/pgbouncer.pid
ignore_startup_parameters = extra_float_digits
"""


@pytest.fixture(scope="module")
def bouncer(postgres: Postgres) -> Iterator[Postgres]:
    """Two sessions for all clients, handed out a transaction at a time."""
    command = program("pgbouncer", "PgBouncer")
    settings = postgres.folder / "pgbouncer.ini"
    settings.write_text(SETTINGS.format(folder=postgres.folder, port=PORT))
    settings.chmod(0o644)
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    with subprocess.Popen(
        [*user, command, "-q", str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_for(postgres.folder / f".s.PGSQL.{PORT}", process)
            yield postgres
        finally:
            process.terminate()


def wait_for(socket: Path, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + 60
    while not socket.exists():
        assert process.poll() is None, (socket.parent / "pgbouncer.log").read_text()
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("access", ["open", "token"])
def test_two_collections_of_one_survey_through_one_pool_get_their_own_reports_and_no_others(
    bouncer: Postgres, access: str
) -> None:
    """A pilot and the real thing, four servers, two sessions: nothing of one is in the other."""
    schemas = [new_name(), new_name()]
    stores: list[Collection] = []
    for schema in schemas:
        first = opened(open_store(bouncer.pooled(PORT, schema)), access=access)
        if access == "token":
            first.invite([sha(f"{i}") for i in range(400)])
        stores += [first, open_store(bouncer.pooled(PORT, schema))]
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
        assert one.count() == 200
        assert sorted(one.reports()) == sorted(sent[place])
        one.set_state(State.CLOSED)
        assert sorted(stores[2 * place + 1].reports()) == sorted(sent[place])
    for store in stores:
        store.close()


def test_the_pool_does_hand_out_the_sessions_of_others(bouncer: Postgres) -> None:
    """So that the test above is known to see it: what one client sets for its session, another finds."""
    url = f"postgresql://owner@/postgres?host={bouncer.folder}&port={PORT}"
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as one:
        one.execute("SELECT set_config('search_path', 'left_behind', false)")
        with psycopg.connect(url, autocommit=True, prepare_threshold=None) as other:
            assert other.execute("SHOW search_path").fetchone() == ("left_behind",)
        one.execute("RESET search_path")
