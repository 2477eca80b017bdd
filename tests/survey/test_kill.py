"""kill -9, twenty times, under load: what was acknowledged is there, once; what was not is sent again and arrives."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from tests.survey.process import collection
from tests.survey.respondents import crowd, free_port, stored_once

KILLS = 20

NURSERY = """
import os, sys
from toolkit.survey.serving.process import main
while True:
    child = os.fork()
    if child == 0:
        os._exit(main(sys.argv[1:]))
    os.waitpid(child, 0)
"""
"""Starts the server again whenever it dies, from a process that has imported it before: twenty starts in two seconds."""


@pytest.fixture
def nursery(tmp_path):
    url, survey, _ = collection(tmp_path)
    port = free_port()
    command = [sys.executable, "-c", NURSERY, "--database", url, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process, survey, port
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def kill_often(process):
    """Read who serves, let it work for a moment, kill it; the last one lives until all is delivered."""
    rng = random.Random("kill")  # noqa: S311
    for _ in range(KILLS):
        pid = json.loads(process.stdout.readline())["pid"]
        time.sleep(rng.uniform(0.05, 0.35))
        os.kill(pid, signal.SIGKILL)
    assert process.stdout.readline()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_twenty_kills_lose_nothing_and_double_nothing(nursery, tmp_path):
    process, survey, port = nursery
    with crowd(survey, port) as clients:
        kill_often(process)
    database = sqlite3.connect(tmp_path / "campus.db")
    bodies = [body for (body,) in database.execute("SELECT body FROM report")]
    (integrity,) = database.execute("PRAGMA integrity_check").fetchone()
    database.close()
    assert integrity == "ok"
    count = stored_once(clients, bodies)
    assert count > 20 * KILLS
    assert [client.odd for client in clients] == [[]] * len(clients)
    assert sum(client.tries for client in clients) > count + KILLS  # the kills were felt
