"""kill -9, twenty times, under load: what was acknowledged is there, once; what was not is sent again and arrives."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager

import pytest

from tests.survey.process import collection
from tests.survey.respondents import crowd, free_port, stored_once
from tests.survey.test_recovery import bodies

KILLS, INVITED = 20, 20_000

NURSERY = """
import os, sys
from toolkit.survey.serving.process import main
while True:
    child = os.fork()
    if child == 0:
        os._exit(main(sys.argv[1:]))
    os.waitpid(child, 0)
"""
"""Starts the server again whenever it dies, from a process that has imported it before: twenty starts in two
seconds.
"""


@contextmanager
def nursery(url):
    """Serves a collection at a port, and goes on doing so: the process that says who serves, and the port."""
    port = free_port()
    command = [sys.executable, "-c", NURSERY, "--database", url, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process, port
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def kill_often(process):
    """Read who serves, let it work for a moment, kill it; the last one lives until all is delivered."""
    rng = random.Random("kill")  # noqa: S311
    for _ in range(KILLS):
        pid = json.loads(process.stdout.readline())["pid"]
        time.sleep(rng.uniform(0.03, 0.15))
        os.kill(pid, signal.SIGKILL)
    assert process.stdout.readline()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("access", ["open", "token"])
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_twenty_kills_lose_nothing_and_double_nothing(request, tmp_path, database, access):
    url = request.getfixturevalue("postgres").url() if database == "postgres" else None
    url, survey, tokens = collection(tmp_path, access, invited=INVITED if access == "token" else 0, url=url)
    with nursery(url) as (process, port), crowd(survey, port, tokens=tokens or None) as clients:
        kill_often(process)
    count = stored_once(clients, bodies(url))
    assert count > 2 * KILLS
    assert len(tokens) == (INVITED - count if tokens else 0)  # each report took a token of its own
    assert [client.odd for client in clients] == [[]] * len(clients)
    assert sum(client.tries for client in clients) > count + KILLS  # the kills were felt
    if database == "sqlite":
        with closing(sqlite3.connect(tmp_path / "campus.db")) as file:
            assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_nor_do_twenty_kills_among_four_servers_of_one_collection(postgres, tmp_path):
    """Each server has its own phones; whichever is killed, the others go on, below a cap that they share."""
    url, survey, _ = collection(tmp_path, url=postgres.url(), cap=100_000)
    with ExitStack() as stack:
        servers, crowds = [], []
        for place in range(4):
            process, port = stack.enter_context(nursery(url))
            servers.append((process, process.stdout.readline()))  # it has its port, and the next finds another
            crowds.append(stack.enter_context(crowd(survey, port, size=2, first=10 * place)))
        for _ in range(KILLS // 4):
            for place, (process, line) in enumerate(servers):
                time.sleep(0.05)
                os.kill(json.loads(line)["pid"], signal.SIGKILL)
                servers[place] = process, process.stdout.readline()
    clients = [client for one in crowds for client in one]
    count = stored_once(clients, bodies(url))
    assert count > 2 * KILLS
    assert [client.odd for client in clients] == [[]] * len(clients)
    assert sum(client.tries - client.deliveries for client in clients) >= KILLS // 2  # the kills were felt
