"""A single reading of the database of an open collection does not reveal which report came with which token.

Sixty people answer one by one, in groups of three, or in groups of fifteen. Before the pool was introduced, both
attacks found the report of each of the sixty if they came one by one, and otherwise narrowed it down to three or
fifteen reports.
"""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from tests.postgres_server import Postgres, new_name
from tests.survey.entries import STORED, entry, opened, sha
from tests.survey.samples import MEMO, cheated, panel
from tests.survey.storage.linkage import Reader, Wave, by_log, by_marks, by_order, by_place, linked, over_waves
from toolkit.survey.storage import Collection, State, collection, mixing, open_store
from toolkit.survey.storage.mixing import MIN_POOL, Pool
from toolkit.survey.storage.sqlite import SqliteEngine

PEOPLE = 60
TOKENS = [sha(f"{i}") for i in range(PEOPLE)]
KEYS = [sha(f"key {i}")[:16] for i in range(PEOPLE)]
SIZES = [1, 3, 15]


@pytest.fixture(autouse=True)
def _the_same_lots_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random("lots")  # noqa: S311
    monkeypatch.setattr(mixing, "SystemRandom", lambda: chance)


def collecting(url: str) -> Collection:
    store = opened(open_store(url), access="token")
    store.invite([*TOKENS, *(sha(f"silent {i}") for i in range(PEOPLE))])
    return store


def arrive(store: Collection, size: int) -> None:
    entries = [entry(f"report {i}", by=f"{i}", key=key) for i, key in enumerate(KEYS)]
    for start in range(0, PEOPLE, size):
        assert store.add(entries[start : start + size]) == [STORED] * size


@pytest.fixture
def watched(postgres: Postgres) -> Iterator[tuple[Collection, Reader]]:
    """A collection in PostgreSQL, and a role that may only read it."""
    schema = new_name()
    store = collecting(postgres.url(schema))
    with psycopg.connect(f"postgresql://owner@/postgres?host={postgres.folder}", autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {schema} LOGIN")
        owner.execute(
            f"GRANT USAGE ON SCHEMA {schema} TO {schema}; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {schema}"
        )
        reader = Reader(f"postgresql://{schema}@/postgres?host={postgres.folder}", schema)
        yield store, reader
        reader.close()
        store.close()
        owner.execute(f"DROP OWNED BY {schema}; DROP ROLE {schema}")


def no_pool(_: Pool, reports: dict[bytes, str], token_hashes: set[bytes], *, keep_all: bool) -> tuple[Pool, Pool]:  # noqa: ARG001
    return Pool(), Pool(reports, frozenset(token_hashes))


@pytest.mark.parametrize("size", SIZES)
def test_the_marks_of_transactions_do_not_tie_tokens_to_reports(watched: tuple[Collection, Reader], size: int) -> None:
    """Each token shares its mark with at least ten reports; half of the time its own is among them."""
    store, reader = watched
    arrive(store, size)
    guesses = by_marks(reader, TOKENS, KEYS)
    assert min(map(len, guesses)) >= MIN_POOL
    sure, hits = linked(guesses, KEYS)
    assert sure == 0
    assert 1 < hits < Fraction(PEOPLE, MIN_POOL)
    assert linked(by_order(reader, TOKENS, KEYS), KEYS)[0] <= PEOPLE // MIN_POOL


def test_without_the_pool_transactions_would_link_tokens(
    watched: tuple[Collection, Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The marks of transactions would link all tokens to their reports."""
    monkeypatch.setattr(collection, "mix", no_pool)
    store, reader = watched
    arrive(store, 1)
    assert linked(by_marks(reader, TOKENS, KEYS), KEYS) == (PEOPLE, PEOPLE)
    assert linked(by_order(reader, TOKENS, KEYS), KEYS) == (PEOPLE, PEOPLE)


def test_while_few_have_answered_they_hide_among_each_other(watched: tuple[Collection, Reader]) -> None:
    store, reader = watched
    for i in range(7):
        store.add([entry(by=f"{i}", key=KEYS[i])])
    guesses = by_marks(reader, TOKENS[:7], KEYS[:7])
    assert {len(guess) for guess in guesses} == {7}


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_the_log_of_a_file_does_not_tie_tokens_to_reports(tmp_path: Path, size: int) -> None:
    """Commits of few people are erased; those of many people show who was in them."""
    path = tmp_path / "survey.db"
    store = collecting(f"sqlite:///{path}")
    arrive(store, size)
    guesses = by_log(path, TOKENS, KEYS, tmp_path)
    assert min(map(len, guesses)) == (size if size >= MIN_POOL else PEOPLE)
    assert linked(guesses, KEYS) == (0, 4 if size >= MIN_POOL else 1)
    store.close()


@pytest.mark.slow
def test_a_log_that_is_not_wiped_would_link_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log of a file would link all tokens to their reports."""
    monkeypatch.setattr(SqliteEngine, "wipe_log", lambda _: None)
    path = tmp_path / "survey.db"
    store = collecting(f"sqlite:///{path}")
    arrive(store, 1)
    assert linked(by_log(path, TOKENS, KEYS, tmp_path), KEYS) == (PEOPLE, PEOPLE)
    store.close()


@pytest.mark.slow
def test_the_next_server_wipes_the_log_of_a_killed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The killed server had not erased it."""
    path = tmp_path / "survey.db"
    killed = collecting(f"sqlite:///{path}")
    with monkeypatch.context() as patch:
        patch.setattr(SqliteEngine, "wipe_log", lambda _: None)
        arrive(killed, 1)
    assert path.with_name("survey.db-wal").stat().st_size > 0
    following = open_store(f"sqlite:///{path}")
    assert following.add([entry()]) != [STORED]  # it only read it
    assert path.with_name("survey.db-wal").stat().st_size == 0
    assert following.count_reports() == PEOPLE
    for store in (following, killed):
        store.close()


@pytest.mark.slow
def test_a_reader_who_holds_the_log_delays_its_wiping_until_the_next_batch(tmp_path: Path) -> None:
    path = tmp_path / "survey.db"
    store = collecting(f"sqlite:///{path}")
    log = path.with_name("survey.db-wal")
    reader = open_store(f"sqlite:///{path}", readonly=True)
    with closing(reader), reader._engine.reading() as session:
        session.count_reports()
        assert store.add([entry(by="0")]) == [STORED]  # durable, and acknowledged
        assert log.stat().st_size > 0
    assert store.add([entry(by=f"{i}") for i in range(1, 31)]) == [STORED] * 30
    assert log.stat().st_size == 0
    store.close()


# --- several waves, each read once while it is open

WAVES = 4


def answering(seed: int) -> list[list[int]]:
    """Return who answers in each wave, and in which order: four people in five."""
    rng = random.Random(seed)  # noqa: S311
    waves = [[i for i in range(PEOPLE) if rng.random() < 0.8] for _ in range(WAVES)]
    return [rng.sample(people, len(people)) for people in waves]


def phone(i: int) -> str:
    return sha(f"phone {i}").hex()[:32]


def collected_waves(kind: str, request: pytest.FixtureRequest, tmp_path: Path, answered: list[list[int]]) -> list[Wave]:
    """A panel in which each wave is read once, after all have answered and before it is closed."""
    waves: list[Wave] = []
    earlier: Collection | None = None
    for number, people in enumerate(answered, start=1):
        path, schema = tmp_path / f"{number}.db", new_name()
        server = request.getfixturevalue("postgres") if kind == "postgresql" else None
        url = f"sqlite:///{path}" if server is None else server.url(schema)
        store = open_store(url)
        survey = panel(cheated(design=MEMO), wave=number, waves=WAVES, access="token")
        if earlier is None:
            store.create(survey)
            store.invite(TOKENS)
        else:
            store.create_next_wave(survey, earlier)
            earlier.close()
        store.set_state(State.OPEN)
        keys = {i: sha(f"{number} {i}")[:16] for i in people}
        for i in people:
            body = f'{{"answers":{{"cheated":1}},"understood":true,"person":"{phone(i)}"}}'
            assert store.add([entry(body, by=f"{i}", key=keys[i])]) == [STORED]
        tokens, sent = [TOKENS[i] for i in people], list(keys.values())
        if server is None:
            groups = by_place(path, tokens, sent, tmp_path)
        else:
            with closing(Reader(f"postgresql://owner@/postgres?host={server.folder}", schema)) as reader:
                groups = by_marks(reader, tokens, sent)
        used = dict(zip(tokens, groups, strict=True))
        waves.append(Wave(used, {key.hex(): phone(i) for i, key in keys.items()}))
        store.set_state(State.CLOSED)
        assert store.count_reports() == len(people)
        assert len(list(store.reports())) == len(people)
        earlier = store
    assert earlier is not None
    earlier.close()
    return waves


def told_apart(waves: list[Wave]) -> tuple[int, Fraction]:
    guesses = over_waves(waves, TOKENS)
    return linked(guesses, [bytes.fromhex(phone(i)) for i in range(PEOPLE)])


def by_pattern(answered: list[list[int]]) -> tuple[int, int]:
    """Return how many people are alone with their pattern of answered waves, and how many patterns there are; a guess
    among people with the same pattern is right for one of them.
    """
    pattern = Counter(tuple(i in people for people in answered) for i in range(PEOPLE))
    del pattern[(False,) * WAVES]
    return sum(count == 1 for count in pattern.values()), len(pattern)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_one_reading_per_wave_reveals_only_participation(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Issue 28: 26 of 60 people were identified after four waves, 56 after eight."""
    answered = answering(28)
    assert told_apart(collected_waves(kind, request, tmp_path, answered)) == by_pattern(answered)


@pytest.mark.parametrize(("waves", "held"), [(1, False), (2, True), (3, True)])
def test_from_two_waves_on_reports_stay_in_the_pool(
    waves: int, held: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holds = []
    monkeypatch.setattr(
        collection, "mix", lambda *joined, keep_all: holds.append(keep_all) or mixing.mix(*joined, keep_all=keep_all)
    )
    store = open_store(f"sqlite:///{tmp_path / 'reports.db'}")
    question = cheated() if waves == 1 else cheated(design=MEMO)
    store.create(panel(question, waves=waves, access="token"))
    store.invite(TOKENS)
    store.set_state(State.OPEN)
    person = "" if waves == 1 else f',"person":"{phone(0)}"'
    assert store.add([entry(f'{{"answers":{{"cheated":1}},"understood":true{person}}}', by="0")]) == [STORED]
    assert holds == [held]


@pytest.mark.slow
def test_they_would_learn_more_if_reports_left_the_pool_of_an_open_wave(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "mix", lambda *joined, **_: mixing.mix(*joined))
    answered = answering(28)
    sure, hits = told_apart(collected_waves("postgresql", request, tmp_path, answered))
    alone, patterns = by_pattern(answered)
    assert sure > 3 * alone
    assert hits > 1.5 * patterns
