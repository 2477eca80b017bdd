"""kill -9, twenty times, under load: what was acknowledged is there, once; what was not is sent again and arrives."""

import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from tests.survey.desk import ANSWERS, payload, sent
from tests.survey.lines import post, read_answer
from tests.survey.process import collection

KILLS, CLIENTS = 20, 8

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


class Respondent(threading.Thread):
    """Sends report after report, each until it is acknowledged, byte for byte the same."""

    def __init__(self, survey, port, number):
        super().__init__(daemon=True)
        self.rng = random.Random(number)  # noqa: S311
        self.survey, self.port = survey, port
        self.stop, self.acknowledged, self.tries, self.odd = threading.Event(), {}, 0, []
        self.line = None

    def run(self):
        while not self.stop.is_set():
            data = payload(self.survey, answers={**ANSWERS, "cheated": self.rng.randrange(2), "note": f"{self.rng.random()}"})
            self.deliver(data)
            if self.rng.random() < 0.2:
                self.deliver(data)  # an answer that the phone did not hear
        self.line.close()

    def deliver(self, data):
        status = None
        while status != 201:
            self.tries += 1
            status, body = self.attempt(post(sent(data)))
            if status not in (201, None):
                self.odd.append((status, body))
        assert json.loads(body) == {"stored": data["key"]}
        self.acknowledged[data["key"]] = data

    def attempt(self, request):
        try:
            self.line = self.line or socket.create_connection(("127.0.0.1", self.port), timeout=10)
            self.line.sendall(request)
            status, _, body = read_answer(self.line)
        except OSError:
            status, body = None, b""
        if status is None:
            time.sleep(0.01)
            if self.line is not None:
                self.line.close()
                self.line = None
        return status, body


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


def free_port():
    """Below those that the system hands out to clients: a client that knocks at one of these may be connected with itself."""
    for port in range(20_000 + os.getpid() % 10_000, 32_000):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    raise AssertionError("no free port")


def kill_often(process, clients):
    """Read who serves, let it work for a moment, kill it; the last one lives until all is delivered."""
    rng = random.Random("kill")  # noqa: S311
    for _ in range(KILLS):
        pid = json.loads(process.stdout.readline())["pid"]
        time.sleep(rng.uniform(0.05, 0.35))
        os.kill(pid, signal.SIGKILL)
    assert process.stdout.readline()
    for client in clients:
        client.stop.set()
    for client in clients:
        client.join(20)
        assert not client.is_alive(), client.odd[-3:]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_twenty_kills_lose_nothing_and_double_nothing(nursery, tmp_path):
    process, survey, port = nursery
    clients = [Respondent(survey, port, number) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    kill_often(process, clients)
    acknowledged = {key: data for client in clients for key, data in client.acknowledged.items()}
    database = sqlite3.connect(tmp_path / "campus.db")
    stored = dict(database.execute("SELECT hex(key), body FROM report").fetchall())
    (integrity,) = database.execute("PRAGMA integrity_check").fetchone()
    (rows,) = database.execute("SELECT count(*) FROM report").fetchone()
    database.close()
    assert integrity == "ok"
    assert rows == len(stored) == len(acknowledged) > 20 * KILLS
    for key, data in acknowledged.items():
        assert json.loads(stored[key.upper()]) == {"answers": data["answers"], "understood": True}
    assert [client.odd for client in clients] == [[]] * CLIENTS
    assert sum(client.tries for client in clients) > len(acknowledged) + KILLS  # the kills were felt
