"""Both databases do what a collection asks of them, and nothing beside it."""

import inspect

import pytest

from toolkit.survey.storage.engine import Engine, Session
from toolkit.survey.storage.postgres import PostgresEngine, PostgresSession
from toolkit.survey.storage.sqlite import SqliteEngine, SqliteSession


def verbs(one: type) -> dict[str, list[str]]:
    """The public methods, and what their parameters are called."""
    found = inspect.getmembers(one, inspect.isfunction)
    return {name: list(inspect.signature(verb).parameters) for name, verb in found if name[0] != "_"}


@pytest.mark.parametrize("session", [SqliteSession, PostgresSession])
def test_a_session_has_the_verbs_of_the_protocol(session: type) -> None:
    assert verbs(session) == verbs(Session)


@pytest.mark.parametrize("engine", [SqliteEngine, PostgresEngine])
def test_an_engine_has_the_verbs_of_the_protocol(engine: type) -> None:
    assert verbs(engine).items() >= verbs(Engine).items()
