"""Scripted phones: each sends report after report, and repeats each until it is acknowledged, byte for byte the
same.
"""

import json
import os
import random
import socket
import threading
import time
from contextlib import contextmanager

from tests.survey.desk import ANSWERS, payload, sent
from tests.survey.lines import post, read_answer


class Respondent(threading.Thread):
    """A phone that sends until it is stopped.

    `acknowledged` contains the stored reports by key. `odd` contains the status, head and body of any other response.
    Where tokens are required, each report takes the next of `tokens`.
    """

    def __init__(self, survey, port, number, tokens=None):
        super().__init__(daemon=True)
        self.rng = random.Random(number)  # noqa: S311
        self.survey, self.port, self.tokens = survey, port, tokens
        self.stop, self.acknowledged, self.deliveries, self.tries, self.odd = threading.Event(), {}, 0, 0, []
        self.refused = 0
        self.line = None

    def run(self):
        while not self.stop.is_set():
            shown = {} if self.tokens is None else {"token": self.tokens.pop()}
            answers = {**ANSWERS, "cheated": self.rng.randrange(2), "note": f"{self.rng.random()}"}
            data = payload(self.survey, answers=answers, **shown)
            self.deliver(data)
            if self.rng.random() < 0.2:
                self.deliver(data)  # a response that the phone did not receive
        if self.line is not None:
            self.line.close()

    def deliver(self, data):
        status = None
        self.deliveries += 1
        while status != 201:
            self.tries += 1
            status, head, body = self.attempt(post(sent(data)))
            if status not in (201, None):
                self.odd.append((status, head, body))
        assert json.loads(body) == {"stored": data["key"]}
        self.acknowledged[data["key"]] = data

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def attempt(self, request):
        try:
            self.line = self.line or self.connect()
            self.line.sendall(request)
            status, head, body = read_answer(self.line)
        except OSError as problem:
            self.refused += isinstance(problem, ConnectionRefusedError)
            status, head, body = None, b"", b""
        if status != 201:
            time.sleep(0.03)
        if self.line is not None and (status != 201 or b"\r\nconnection: close" in head.lower()):
            self.line.close()
            self.line = None
        return status, head, body


@contextmanager
def crowd(survey, port, size=8, tokens=None, first=0):
    """Run this many phones at the same time; afterwards each has delivered its last report."""
    clients = [Respondent(survey, port, number, tokens) for number in range(first, first + size)]
    for client in clients:
        client.start()
    try:
        yield clients
    finally:  # otherwise they would continue after a failed test, and send to the next server on this port
        for client in clients:
            client.stop.set()
    for client in clients:
        client.join(60)
        assert not client.is_alive(), client.odd[-3:]


def stored_once(clients, bodies):
    """Check that exactly the acknowledged reports are stored, once and as they were sent; return their number. (A note
    makes each report unique.)
    """
    acknowledged = {key: data for client in clients for key, data in client.acknowledged.items()}
    sent_off = [{"answers": data["answers"], "understood": True} for data in acknowledged.values()]
    assert sorted(map(json.loads, bodies), key=_note) == sorted(sent_off, key=_note)
    return len(acknowledged)


def _note(body):
    return body["answers"]["note"]


def free_port():
    """Find a free port below those that the system gives to clients, because a client that connects to one of these may
    be connected to itself.

    Each worker of a test run searches its own blocks, because two workers could find the same free port at the same
    moment.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 8
    for port in range(20_000 + 7 * os.getpid() % 10_000, 32_000):
        if port // 16 % 8 != worker:
            continue
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    raise AssertionError("no free port")
