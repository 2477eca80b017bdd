"""kill -9, twenty times, under load: acknowledged reports are stored exactly once, and others are sent again and
arrive.
"""

import random
import sqlite3
import time
from contextlib import ExitStack, closing

import pytest

from tests.survey.process import collection, mortal
from tests.survey.respondents import crowd, stored_once
from tests.survey.test_recovery import bodies, stored, wait_for

KILLS, INVITED = 20, 20_000


def kill_often(clients, *servers):
    """Let each server work until it has stored some reports, kill it and start it again; the last ones live until all
    reports are delivered.
    """
    rng = random.Random("kill")  # noqa: S311
    for kill in range(KILLS):
        wait_for(3, stored, clients)
        time.sleep(rng.uniform(0, 0.05))
        servers[kill % len(servers)].kill()
        servers[kill % len(servers)].start()


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_twenty_kills_lose_nothing_and_double_nothing(request, tmp_path, database):
    """With tokens, a report and its pass are written together; for open access see below, and for the store see
    `storage/test_store.py`.
    """
    url = request.getfixturevalue("postgres").url() if database == "postgres" else None
    url, survey, tokens = collection(tmp_path, "token", invited=INVITED, url=url)
    with mortal(url) as server, crowd(survey, server.port, 4, tokens) as clients:
        kill_often(clients, server)
    count = stored_once(clients, bodies(url))
    assert count > 2 * KILLS
    assert len(tokens) == INVITED - count  # each report took a token of its own
    assert [client.odd for client in clients] == [[]] * len(clients)
    assert sum(client.tries for client in clients) > count + KILLS  # the kills had an effect
    if database == "sqlite":
        with closing(sqlite3.connect(tmp_path / "campus.db")) as file:
            assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.slow
def test_nor_do_twenty_kills_among_four_servers_of_one_collection(postgres, tmp_path):
    """Each server has its own phone; whichever is killed, the others continue, below a cap that they share."""
    url, survey, _ = collection(tmp_path, url=postgres.url(), cap=100_000)
    with ExitStack() as stack:
        servers = [stack.enter_context(mortal(url)) for _ in range(4)]
        crowds = [stack.enter_context(crowd(survey, one.port, 1, first=one.port)) for one in servers]
        clients = [client for one in crowds for client in one]
        kill_often(clients, *servers)
    count = stored_once(clients, bodies(url))
    assert count > 2 * KILLS
    assert [client.odd for client in clients] == [[]] * len(clients)
    assert sum(client.tries - client.deliveries for client in clients) >= KILLS // 2  # the kills had an effect
