"""The server as a process of its own, as `collect()` starts it."""

import json
import subprocess
import sys
from contextlib import contextmanager

from tests.survey.desk import campus
from tests.survey.respondents import free_port
from toolkit.survey.serving.access import new_tokens, token_hash
from toolkit.survey.storage import State, open_store


def collection(folder, access="open", invited=0, url=None, **changes):
    """Open a collection, in a SQLite file unless a URL is given; return its URL, its survey and its tokens."""
    url = url or f"sqlite:///{folder / 'campus.db'}"
    survey, tokens = campus(access, **changes), new_tokens(invited) if invited else []
    collected(url, survey, tokens)
    return url, survey, tokens


def collected(url, survey, tokens=()):
    """Open a collection of this survey for everybody who has one of the tokens."""
    store = open_store(url)
    store.create(survey)
    if tokens:
        store.invite(map(token_hash, tokens))
    store.set_state(State.OPEN)
    store.close()


def start(url, *options):
    """Start a process, wait until it is ready, and return it with its output."""
    command = [sys.executable, "-m", "toolkit.survey.serving.process", "--database", url, *map(str, options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = process.stdout.readline()
    if not said:
        error = process.communicate(timeout=20)[1]
        raise AssertionError(f"it ended with {process.returncode} and said: {error}")
    return process, json.loads(said)


@contextmanager
def ended(command, **options):
    """Run a process that does not outlive its test, whatever happens in it."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def serving(url, *options):
    process, said = start(url, *options)
    try:
        yield process, said
    finally:
        process.kill()
        process.communicate(timeout=20)


class Mortal:
    """The server of a collection, which can be killed without warning and started again at the same address."""

    def __init__(self, url):
        self.url, self.port = url, free_port()
        self.start()

    def start(self):
        self.process, _ = start(self.url, "--port", self.port)

    def kill(self):
        self.process.kill()
        self.process.communicate(timeout=20)


@contextmanager
def mortal(url):
    server = Mortal(url)
    try:
        yield server
    finally:
        server.kill()
