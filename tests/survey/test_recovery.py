"""A store that fails while people answer: they are asked to wait, no acknowledged report is lost, and no restart is
needed.
"""

import json
import re
import resource
import sqlite3
from contextlib import contextmanager

import pytest

from tests.survey.lines import GET, exchange, until
from tests.survey.process import collection, serving
from tests.survey.respondents import crowd, stored_once
from toolkit.survey.storage import open_store


@contextmanager
def a_locked_file(path, _):
    """Another program writes, and holds the lock for a long time."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


@contextmanager
def a_full_disk(_, process):
    """No file of the server can grow: the system fails writes, as on a full disk, and the limit can be removed."""
    before = resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    yield
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, before)


def refused(clients):
    return sum(len(client.odd) for client in clients)


def stored(clients):
    return sum(len(client.acknowledged) for client in clients)


def wait_for(more, count, clients):
    """Wait until this many more reports are counted than now."""
    enough = count(clients) + more
    until(lambda: count(clients) >= enough)


def clear_refusals(clients):
    """Everybody who was rejected was asked to try again, in one sentence that says nothing about the report."""
    for status, head, body in (answer for client in clients for answer in client.odd):
        assert status == 503
        assert re.search(rb"(?i)^retry-after: \d+\r?$", head, flags=re.MULTILINE)
        assert list(json.loads(body)) == ["error"]
        assert b"cheated" not in body


def bodies(url):
    store = open_store(url)
    held = list(store.reports())
    store.close()
    return held


@pytest.mark.slow
@pytest.mark.parametrize("failure", [a_locked_file, a_full_disk])
def test_a_file_that_cannot_be_written_costs_patience_and_nothing_else(tmp_path, failure):
    url, survey, _ = collection(tmp_path)
    with serving(url) as (process, said), crowd(survey, said["port"], 4) as clients:
        for _ in range(2):
            wait_for(20, stored, clients)
            with failure(tmp_path / "campus.db", process):
                wait_for(4, refused, clients)
                there = stored(clients)
                assert exchange(said["port"], GET)[0] == 200
                wait_for(4, refused, clients)
                assert stored(clients) == there
        wait_for(20, stored, clients)
        assert process.poll() is None
    clear_refusals(clients)
    stored_once(clients, bodies(url))


def test_a_postgresql_that_is_restarted_costs_patience_and_nothing_else(postgres, tmp_path):
    url, survey, _ = collection(tmp_path, url=postgres.url())
    with serving(url) as (process, said), crowd(survey, said["port"], 4) as clients:
        for mode in ("fast", "immediate", "immediate"):
            wait_for(20, stored, clients)
            postgres.stop(mode)
            try:
                wait_for(4, refused, clients)
                assert exchange(said["port"], GET)[0] == 200
            finally:
                postgres.start()
        wait_for(20, stored, clients)
        assert process.poll() is None
    clear_refusals(clients)
    stored_once(clients, bodies(url))
