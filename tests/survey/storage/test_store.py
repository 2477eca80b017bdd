"""Promises of every store, on every database: SQLite, a real PostgreSQL, and PostgreSQL behind a pool whose sessions
contain temporary tables with the same names.
"""

import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import product
from pathlib import Path

import pytest

from tests.postgres_server import new_name
from tests.survey.entries import (
    CLOSED,
    FULL,
    PAUSED,
    REPEATED,
    SPENT,
    STORED,
    entry,
    keys_in_order,
    opened,
    sha,
    small_survey,
)
from tests.survey.storage.killed import lines, report
from toolkit import warner
from toolkit.core import extras
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey
from toolkit.survey.storage import (
    Collection,
    NewReport,
    Outcome,
    State,
    StoreError,
    absolute_url,
    collection,
    merge,
    open_store,
)
from toolkit.survey.storage.engine import Session
from toolkit.survey.storage.protocol import MAX_BATCH

Connect = Callable[..., Collection]


@pytest.fixture(params=["sqlite", "postgresql", pytest.param("pool", id="postgresql-pool")])
def url(request: pytest.FixtureRequest, tmp_path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'survey.db'}"
    if request.param == "pool":
        return request.getfixturevalue("bouncer").pooled()
    return request.getfixturevalue("postgres").url(new_name())


@pytest.fixture
def connect(url: str) -> Iterator[Connect]:
    """Another connection to the same collection, like that of a second server or a notebook."""
    made = []

    def make(**options) -> Collection:
        made.append(open_store(url, **options))
        return made[-1]

    yield make
    for store in made:
        store.close()


@pytest.fixture
def store(connect: Connect) -> Collection:
    return connect()


def invited(store: Collection, *tokens: str, access: str = "token", **options) -> Collection:
    opened(store, access=access, **options).invite(map(sha, tokens))
    return store


# A collection and its states


def test_a_collection_begins_as_an_empty_draft_of_its_survey(store: Collection, connect: Connect) -> None:
    survey = small_survey(cap=7, access="token")
    store.create(survey)
    other = connect()
    assert other.state() is State.DRAFT
    assert other.survey() == survey
    assert other.survey().hash == survey.hash
    assert other.count_reports() == 0
    assert list(other.reports()) == []


def test_uses_of_stations_are_out_until_spent_or_returned(store: Collection, connect: Connect) -> None:
    """Personal links are never stored."""
    invited(store, "personal", "another")
    uses = [f"use {number}" for number in range(25)]
    store.invite(map(sha, uses[:20]), for_station=True)
    store.invite(map(sha, uses[20:]), for_station=True)
    other = connect()
    assert other.count_outstanding_uses() == 25
    store.add([entry(by=token) for token in uses[:3]])  # they wait in the pool with their reports
    assert other.count_outstanding_uses() == 22
    store.add([entry(by=token) for token in uses[3:15]])
    assert other.count_outstanding_uses() == 10
    for _ in range(2):
        other.return_uses([*map(sha, uses[14:17]), sha("personal"), sha("nobody's")])
    assert store.count_outstanding_uses() == 8
    assert store.add([entry(by=token) for token in (uses[16], uses[17], "personal")]) == [SPENT, STORED, STORED]
    store.set_state(State.CLOSED)
    assert other.count_outstanding_uses() == 0


def test_creating_the_same_again_changes_nothing(store: Collection, connect: Connect) -> None:
    """Another survey is rejected."""
    opened(store)
    store.add([entry()])
    keep_invitations = connect()
    keep_invitations.create(small_survey())
    assert keep_invitations.state() is State.OPEN
    assert keep_invitations.count_reports() == 1
    with pytest.raises(ValueError, match="a database holds one collection, got one of another survey"):
        connect().create(small_survey("Theft"))
    assert store.survey() == small_survey()


@pytest.mark.slow
def test_settings_are_kept_with_the_collection(store: Collection, connect: Connect) -> None:
    opened(store)
    assert store.get_setting("port") is None
    store.set_setting("port", "8000")
    store.set_setting("port", "9000")
    store.set_setting("public url", "https://survey.example/")
    assert connect().get_setting("port") == "9000"
    store.set_state(State.CLOSED)
    assert connect(readonly=True).get_setting("public url") == "https://survey.example/"
    assert connect().get_setting("other") is None


def test_a_setting_is_swapped_only_by_the_first(store: Collection, connect: Connect) -> None:
    """It is not replaced after closing."""
    opened(store)
    assert store.compare_and_set("shown", None, "a")
    assert not connect().compare_and_set("shown", None, "b")
    assert connect().compare_and_set("shown", "a", "c")
    assert store.get_setting("shown") == "c"
    assert (store.set_default("issuer", "a"), connect().set_default("issuer", "b")) == ("a", "a")
    store.set_state(State.CLOSED)
    assert not store.compare_and_set("shown", None, "d")
    assert not connect().compare_and_set("issuer", "a", "b")
    assert (store.get_setting("shown"), store.get_setting("issuer")) == (
        None,
        "a",
    )  # "shown" distinguishes earlier reports from later ones


def test_rows_are_reports_with_their_keys_in_the_pool_or_not(store: Collection) -> None:
    invited(store, *(f"{i}" for i in range(30)))
    entries = [entry(f"{i}", by=f"{i}") for i in range(30)]
    store.add(entries)
    assert list(store.rows()) == sorted((one.key, one.body) for one in entries)
    assert list(store.reports()) == [body for _, body in store.rows()]
    assert store.add([entry(by=f"{i}") for i in range(30)]) == [SPENT] * 30  # including those that left the pool


def test_the_survey_is_the_stored_one_where_two_share_a_page(connect: Connect) -> None:
    """Texts for the assessment are no part of the page, so its hash does not tell them apart."""
    stored = small_survey(protection={"officer": "A. Smith"})
    created = connect()
    created.create(stored)
    assert created.survey() is stored
    second = connect()
    second.create(small_survey(protection={"officer": "B. Jones"}))
    assert second.survey().protection == stored.protection


def test_of_many_who_create_at_once_all_find_one_collection(connect: Connect) -> None:
    stores = [connect() for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda store: store.create(small_survey()), stores))
    assert {store.survey().hash for store in stores} == {small_survey().hash}


@pytest.mark.parametrize(
    "use", [Collection.survey, Collection.state, Collection.count_reports, lambda store: store.add([entry()])]
)
def test_without_a_collection_every_use_says_so(store: Collection, use: Callable[[Collection], object]) -> None:
    with pytest.raises(StoreError, match="must"):
        use(store)


WAYS = {
    ("draft", "open"),
    ("open", "paused"),
    ("paused", "open"),
    *((old, "closed") for old in ("draft", "open", "paused")),
}


@pytest.mark.parametrize(("old", "new"), list(product(State, State)), ids=lambda state: state.value)
def test_states_move_only_along_their_ways(tmp_path, old: State, new: State) -> None:
    with closing(open_store(f"sqlite:///{tmp_path / 'survey.db'}")) as store:  # the rule is the same for all databases
        store.create(small_survey())
        for step in {State.DRAFT: (), State.PAUSED: (State.OPEN, State.PAUSED)}.get(old, (old,)):
            store.set_state(step)
        if old is new or (old.value, new.value) in WAYS:
            store.set_state(new)
            assert store.state() is new
        else:
            allowed = " or ".join(state.value for state in State if (old.value, state.value) in WAYS) or "nothing else"
            with pytest.raises(ValueError, match=f"a {old.value} collection may become {allowed}, got {new.value}"):
                store.set_state(new)
            assert store.state() is old
        store.close()


# Reports


def test_a_report_is_stored_once_however_often_it_is_sent(store: Collection) -> None:
    opened(store)
    one = entry("first")
    assert store.add([one]) == [STORED]
    assert store.add([one]) == [REPEATED]
    assert store.add([entry("second", key=one.key)]) == [REPEATED]
    assert list(store.reports()) == ["first"]
    assert store.count_reports() == 1


def test_reports_are_stored_without_reading_the_survey_again(store: Collection, monkeypatch) -> None:
    opened(store).add([entry()])
    monkeypatch.setattr(collection, "read_survey", None)
    assert store.add([entry()]) == [STORED]


def test_a_batch_counts_as_if_its_entries_had_come_one_by_one(store: Collection) -> None:
    opened(store, cap=3).add([entry("0")])
    one, two = entry("1"), entry("2")
    batch = [one, one, entry("x", key=one.key), two, entry("3"), two, one]
    assert store.add(batch) == [STORED, REPEATED, REPEATED, STORED, FULL, REPEATED, REPEATED]
    assert store.add([]) == []
    assert store.count_reports() == 3


def test_a_full_batch_fills_the_cap_to_the_last(store: Collection) -> None:
    opened(store, cap=MAX_BATCH)
    assert store.add([entry() for _ in range(MAX_BATCH)]) == [STORED] * MAX_BATCH
    assert store.add([entry()]) == [FULL]


def test_only_an_open_collection_accepts_reports(store: Collection) -> None:
    """Repeated reports are always acknowledged."""
    store.create(small_survey())
    assert store.add([entry()]) == [PAUSED]
    store.set_state(State.OPEN)
    one = entry()
    assert store.add([one]) == [STORED]
    for state, refused in ((State.PAUSED, PAUSED), (State.CLOSED, CLOSED)):
        store.set_state(state)
        assert store.add([entry(), one, entry("other", key=one.key)]) == [refused, REPEATED, REPEATED]
    assert store.count_reports() == 1


@pytest.mark.slow
def test_the_state_is_that_of_the_moment_whoever_changed_it(store: Collection, connect: Connect) -> None:
    opened(store)
    notebook = connect()
    assert store.add([entry()]) == [STORED]
    notebook.set_state(State.PAUSED)
    assert store.add([entry()]) == [PAUSED]
    notebook.set_state(State.OPEN)
    assert store.add([entry()]) == [STORED]
    notebook.set_state(State.CLOSED)
    assert store.add([entry()]) == [CLOSED]


BODIES = [
    *("", "{}", "ü–漢字–🙂–עברית", "'; DROP TABLE report; --", '\\u0000 \\ %s ? $1 "', "\n\r\t", "x" * 300_000),
    "NULL",
]


def test_bodies_come_back_letter_for_letter_in_the_order_of_their_keys(store: Collection, monkeypatch) -> None:
    monkeypatch.setattr(collection, "READ_BATCH", 3)
    opened(store)
    entries = [entry(body, key=key) for body, key in zip(BODIES, keys_in_order(len(BODIES)), strict=True)]
    entries = entries[::3] + entries[1::3] + entries[2::3]
    store.add(entries[:5])
    store.add(entries[5:])
    assert list(store.reports()) == BODIES


@pytest.mark.slow
def test_reports_that_come_while_one_reads_disturb_nothing(store: Collection, connect: Connect, monkeypatch) -> None:
    monkeypatch.setattr(collection, "READ_BATCH", 2)
    opened(store)
    before = [entry(f"before {i}") for i in range(9)]
    store.add(before)
    seen = []
    for body in connect(readonly=True).reports():
        seen.append(body)
        assert store.add([entry("while")]) == [STORED]
    assert sorted(body for body in seen if body != "while") == [one.body for one in before]
    assert store.count_reports() == 9 + len(seen)


def test_a_read_only_store_reads_everything_and_changes_nothing(store: Collection, connect: Connect) -> None:
    opened(store, access="token")
    looking = connect(readonly=True)
    assert (looking.state(), looking.count_reports(), looking.survey()) == (State.OPEN, 0, small_survey(access="token"))
    store.invite([sha("a")])
    store.add([entry("one", by="a")])
    assert looking.count_reports() == 1
    assert list(looking.reports()) == ["one"]
    changes = [
        lambda: looking.create(small_survey()),
        lambda: looking.set_state(State.CLOSED),
        lambda: looking.add([entry()]),
        lambda: looking.invite([sha("b")]),
    ]
    for change in changes:
        with pytest.raises(ValueError, match="open for writing, got a read-only one"):
            change()
    assert store.state() is State.OPEN


# Tokens


def test_a_token_is_good_for_one_report(store: Collection) -> None:
    invited(store, "a", "b")
    one = entry("1", by="a")
    assert store.add([entry(by="unknown"), entry(), one]) == [SPENT, SPENT, STORED]
    assert store.add([entry("2", by="a")]) == [SPENT]
    assert store.add([one]) == [REPEATED]  # its phone did not receive the first response
    assert store.add([entry(by="b"), entry(by="b")]) == [STORED, SPENT]
    assert store.count_reports() == 2


def test_a_token_is_not_spent_by_a_report_that_is_not_stored(store: Collection) -> None:
    invited(store, "a", "b", cap=1)
    first = entry(by="b")
    store.set_state(State.PAUSED)
    assert store.add([entry(by="a")]) == [PAUSED]
    store.set_state(State.OPEN)
    assert store.add([first, entry(by="a"), entry("other", by="a", key=first.key)]) == [STORED, FULL, REPEATED]
    assert store.add([entry(by="a"), entry(by="nobody's")]) == [FULL, SPENT]


@pytest.mark.slow
def test_nobody_without_a_token_learns_of_a_key(store: Collection) -> None:
    """Nobody learns the body of a report."""
    invited(store, "a", "b")
    first = entry("first", by="a")
    assert store.add([first]) == [STORED]
    stranger, other = entry("first", by="nobody's", key=first.key), entry("other", by="b", key=first.key)
    for state in (State.OPEN, State.PAUSED):
        store.set_state(state)
        assert store.add([stranger, entry(by="nobody's"), first, other]) == [SPENT, SPENT, REPEATED, REPEATED]
    store.set_state(State.CLOSED)  # which removes the tokens
    assert store.add([stranger, entry(by="nobody's"), first, other]) == [REPEATED, CLOSED, REPEATED, REPEATED]
    assert list(store.reports()) == ["first"]


@pytest.mark.slow
def test_inviting_again_gives_no_second_chance(store: Collection) -> None:
    invited(store, "a", "b")
    assert store.add([entry(by="a")]) == [STORED]
    store.invite(map(sha, ["a", "b", "c", "c"]))
    assert store.add([entry(by=token) for token in "abc"]) == [SPENT, STORED, STORED]


def test_a_pass_means_nothing_in_an_open_survey(store: Collection) -> None:
    opened(store)
    assert store.add([entry(by="a"), entry(by="a")]) == [STORED, STORED]
    with pytest.raises(ValueError, match="access by token or blind, got open"):
        store.invite([sha("a")])
    with pytest.raises(ValueError, match="blind access, got open"):
        store.issue(sha("a"), sha("blinded"))


def test_invitations_must_be_hashes_and_in_time(store: Collection) -> None:
    invited(store, "a")
    with pytest.raises(ValueError, match="32 bytes"):
        store.invite([b"short"])
    store.set_state(State.CLOSED)
    with pytest.raises(ValueError, match="not closed"):
        store.invite([sha("b")])


def test_a_blind_token_is_good_for_one_report_and_an_invitation_for_none(store: Collection) -> None:
    invited(store, "invitation", access="blind")
    one = entry("1", by="nonce")
    assert store.add([one, entry("2", by="nonce"), entry()]) == [STORED, SPENT, SPENT]
    assert store.add([one, entry(by="nonce"), entry(by="other nonce")]) == [REPEATED, SPENT, STORED]


def test_an_invitation_admits_one_signature(store: Collection) -> None:
    """It may be requested again."""
    invited(store, "a", "b", access="blind")
    assert store.issue(sha("a"), sha("first"))
    assert store.issue(sha("a"), sha("first"))
    assert not store.issue(sha("a"), sha("second"))
    assert not store.issue(sha("unknown"), sha("first"))
    store.invite([sha("a")])
    assert not store.issue(sha("a"), sha("second"))
    store.set_state(State.PAUSED)
    assert not store.issue(sha("b"), sha("third"))
    store.set_state(State.OPEN)
    assert store.issue(sha("b"), sha("third"))
    store.set_state(State.CLOSED)
    assert not store.issue(sha("b"), sha("third"))


# Several servers at once


@pytest.mark.parametrize("access", ["open", "token", "blind"])
def test_paper_reports_are_stored_all_or_none(store: Collection, access: str) -> None:
    """This holds for every access mode."""
    store.create(small_survey(access=access, cap=4))  # a draft: sheets may come back before the phones are invited
    first, second, *others = [entry() for _ in range(5)]
    assert store.add_paper_reports([first, second]) == [STORED, STORED]
    assert store.add_paper_reports([second, others[0]]) == [REPEATED, STORED]
    with pytest.raises(ValueError, match="all reports must fit below the cap of 4, got too many: nothing was stored"):
        store.add_paper_reports(others)
    assert store.count_reports() == len(list(store.reports())) == 3
    store.set_state(State.OPEN)
    if access == "token":
        store.invite([sha("a"), sha("b")])
        assert store.add([entry(by="a")]) == [STORED]
        assert store.add([entry(by="b")]) == [FULL]
    store.set_state(State.CLOSED)
    with pytest.raises(
        ValueError, match="takes reports on paper must not be closed, got a closed one: nothing was stored"
    ):
        store.add_paper_reports([first])
    assert store.count_reports() == 3 + (access == "token")


def raced(stores: list[Collection], batches: list[list[NewReport]]) -> list[Outcome]:
    """Every store adds its own batches at the same time; a store that waits too long tries again, as a server does."""
    gate = threading.Barrier(len(stores))

    def added(store: Collection, batch: list[NewReport]) -> list[Outcome]:
        for _ in range(20):
            with suppress(StoreError):
                return store.add(batch)
        return store.add(batch)

    def work(store: Collection, mine: list[list[NewReport]]) -> list[Outcome]:
        gate.wait()
        return [outcome for batch in mine for outcome in added(store, batch)]

    with ThreadPoolExecutor(len(stores)) as pool:
        shares = [batches[start :: len(stores)] for start in range(len(stores))]
        return [outcome for outcomes in pool.map(work, stores, shares) for outcome in outcomes]


@pytest.mark.slow
def test_of_servers_that_race_with_one_key_one_stores_it(store: Collection, connect: Connect) -> None:
    opened(store)
    stores = [store, connect(), connect(), connect()]
    for round_ in range(10):
        same = entry(f"{round_}")
        assert Counter(raced(stores, [[same]] * 4)) == {STORED: 1, REPEATED: 3}
        key = entry().key
        assert Counter(raced(stores, [[entry(f"{i}", key=key)] for i in range(4)])) == {STORED: 1, REPEATED: 3}
    assert store.count_reports() == 20 == len(list(store.reports()))


@pytest.mark.slow
def test_the_cap_is_exact_under_races(store: Collection, connect: Connect) -> None:
    opened(store, cap=101)
    stores = [store, connect(), connect(), connect()]
    outcomes = Counter(raced(stores, [[entry() for _ in range(7)] for _ in range(40)]))
    assert outcomes == {STORED: 101, FULL: 179}
    assert store.count_reports() == 101 == len(list(store.reports()))


@pytest.mark.slow
def test_a_token_is_spent_once_under_races(store: Collection, connect: Connect) -> None:
    tokens = [f"{i}" for i in range(30)]
    invited(store, *tokens)
    stores = [store, connect(), connect()]
    outcomes = Counter(raced(stores, [[entry(by=token)] for token in tokens for _ in stores]))
    assert outcomes == {STORED: 30, SPENT: 60}
    assert store.count_reports() == 30


@pytest.mark.slow
def test_nothing_is_stored_after_closing_was_done(store: Collection, connect: Connect) -> None:
    opened(store)
    server, stop, stored = connect(), threading.Event(), []

    def serve() -> None:
        while not stop.is_set():
            stored.extend(server.add([entry(), entry()]))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        while store.count_reports() < 20:
            pass
        store.set_state(State.CLOSED)
        count = store.count_reports()
        there = len(list(store.reports()))
    finally:
        stop.set()
        thread.join()
    assert server.add([entry()]) == [CLOSED]
    assert store.count_reports() == count == there == Counter(stored)[STORED]


@pytest.mark.slow
def test_one_store_may_be_used_by_many_threads(store: Collection) -> None:
    opened(store)

    def work(_: int) -> list[Outcome]:
        outcomes = store.add([entry()])
        assert store.state() is State.OPEN
        assert store.count_reports() >= 1
        return outcomes

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(80))) == [[STORED]] * 80
    assert store.count_reports() == 80


# All or nothing


def test_a_batch_that_fails_half_way_leaves_nothing(store: Collection, connect: Connect, monkeypatch) -> None:
    invited(store, "a", "b")
    with store._engine.reading() as own:
        assert isinstance(own, Session)
        session = type(own)
    with monkeypatch.context() as broken:
        flush_pool = session.flush_pool

        def fail(*arguments: object) -> None:
            flush_pool(*arguments)
            raise RuntimeError

        broken.setattr(session, "flush_pool", fail)  # the last step of a batch with tokens
        with pytest.raises(RuntimeError):
            store.add([entry(by="a"), entry(by="b")])
    assert store.count_reports() == 0
    assert list(connect().reports()) == []
    assert store.add([entry(by="a"), entry(by="b")]) == [STORED, STORED]


@pytest.mark.slow
def test_closing_forgets_the_tokens_and_keeps_the_reports(store: Collection, connect: Connect) -> None:
    invited(store, "a", "b", "c")
    one = entry("1", by="a")
    store.add([one, entry("2", by="b")])
    before = list(store.reports())
    store.set_state(State.CLOSED)
    store.set_state(State.CLOSED)
    assert connect().state() is State.CLOSED
    assert list(store.reports()) == before
    assert store.add([one, entry(by="c")]) == [REPEATED, CLOSED]
    with store._engine.reading() as session:
        assert (
            session.unspent_hashes([sha("a"), sha("b"), sha("c")])
            == session.spent_hashes([sha("a"), sha("b"), sha("c")])
            == set()
        )
        assert not session.count_and_pool()[1].token_hashes


# Entries and URLs


@pytest.mark.parametrize(
    "wrong",
    [
        (b"short", "{}"),
        (bytes(17), "{}"),
        ("0" * 16, "{}"),
        (bytes(16), "a\0b"),
        (bytes(16), "\ud800"),
        (bytes(16), b"{}"),
        (bytes(16), "{}", b"x"),
    ],
)
def test_entries_that_no_database_could_hold_cannot_be_made(wrong: tuple) -> None:
    with pytest.raises(ValueError, match="must be"):
        NewReport(*wrong)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("", "got nothing: write sqlite:///survey.db"),
        ("survey.db", "got 'survey.db': write sqlite:///survey.db"),
        ("sqlite://", "got 'sqlite://': no other database is supported"),
        ("sqlite://survey.db", "got 'sqlite://': write three slashes before a file"),
        ("sqlite:///", "must be a file, as in sqlite:///survey.db, got ''"),
        ("sqlite:///:memory:", "must be a file, as in sqlite:///survey.db, got ':memory:'"),
        ("mysql://user:secret@host/db", "got 'mysql://': no other database is supported"),
        ("mysql:///secret.db", "got 'mysql://': no other database is supported"),
        *(
            (f"{one}secret", "got another address: no other database is supported")
            for one in ("pw=", "pg:", "a@", "a;")
        ),
    ],
)
def test_other_urls_are_refused_without_quoting_a_password(wrong: str, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)) as caught:
        open_store(wrong)
    assert "secret" not in str(caught.value)


def test_without_its_driver_postgresql_is_refused_with_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "toolkit.survey.storage.postgres", raising=False)
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with pytest.raises(extras.MissingExtraError, match="psycopg must be installed"):
        open_store("postgresql://host/survey")


def test_relative_files_become_absolute(tmp_path, monkeypatch) -> None:
    """Other addresses do not change."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.db").symlink_to("real.db")
    for name in ("real.db", "link.db", "./real.db"):
        assert absolute_url(f"sqlite:///{name}") == f"sqlite:///{tmp_path.resolve() / 'real.db'}"
    for url in ("sqlite:///", "postgresql:///survey", "postgresql://host/survey", "survey.db", ""):
        assert absolute_url(url) == url
    with pytest.raises(TypeError, match="`database` must be text, got PosixPath"):
        absolute_url(tmp_path)  # type: ignore[arg-type]


# Death


@pytest.mark.slow
@pytest.mark.parametrize("access", ["open", "blind"])  # with a shared lock, and through the pool
def test_acknowledged_reports_survive_twenty_kills(connect: Connect, url: str, tmp_path, access: str) -> None:
    """Each is stored once."""
    store = opened(connect(), access=access)
    store.close()
    worker = Path(__file__).with_name("killed.py")
    subprocess.run(
        [sys.executable, str(worker), url, str(tmp_path), "20", "7"],
        check=True,
        timeout=60,
        cwd=Path(__file__).parents[3],
    )
    acknowledged, sent = lines(tmp_path / "acknowledged"), set(lines(tmp_path / "sent"))
    stored = list(connect(readonly=True).reports())  # the next reader is the first to find what the dead server left
    assert len(set(acknowledged)) == len(acknowledged) >= 20
    assert len(stored) == len(set(stored)) == store.count_reports()
    assert {report(key).body for key in acknowledged} <= set(stored) <= {report(key).body for key in sent}
    keep_invitations = [report(key) for key in sorted(sent)]
    assert set(store.add(keep_invitations)) <= {STORED, REPEATED}
    assert store.count_reports() == len(sent)


# Several collections become one


def closed_one(url: str, *entries: NewReport, **options) -> str:
    with closing(open_store(url)) as store:
        opened(store, **options).add(entries)
        store.set_state(State.CLOSED)
    return url


@pytest.mark.slow
def test_closed_collections_are_merged_and_what_was_sent_twice_is_told(url: str, tmp_path, monkeypatch) -> None:
    """Each collection had its own cap; an interrupted merge is repeated."""
    monkeypatch.setattr(collection, "READ_BATCH", 4)
    entries = [entry(f"report {i}") for i in range(20)]
    others = [
        closed_one(f"sqlite:///{tmp_path / 'north.db'}", *entries[:11], cap=11),
        closed_one(f"sqlite:///{tmp_path / 'south.db'}", *entries[8:], cap=12),
    ]
    with closing(open_store(url)) as target:
        target.create(small_survey(cap=11))
        target.merge_reports([open_store(others[0])])  # and then the machine was switched off
    assert merge(url, others) == (20, 3)
    with closing(open_store(url)) as target:
        assert target.state() is State.CLOSED
        assert sorted(target.rows()) == sorted((one.key, one.body) for one in entries)
    with pytest.raises(ValueError, match="must be a new collection, got closed"):
        merge(url, others)


@pytest.mark.slow
def test_only_closed_collections_of_the_same_questions_are_merged(url: str, tmp_path) -> None:
    north = closed_one(f"sqlite:///{tmp_path / 'north.db'}", entry())
    south, other, still = (f"sqlite:///{tmp_path / name}.db" for name in ("south", "other", "still"))
    closed_one(south, entry())
    with closing(open_store(other)) as store:
        question = Question("stolen", "Have you ever stolen?", design=warner(p="2/3"))
        store.create(Survey("Exams", [question], consent="I agree."))
        store.set_state(State.CLOSED)
    with closing(open_store(still)) as store:
        opened(store)
        with pytest.raises(ValueError, match="the same survey, got a different 'questions'"):
            merge(url, [north, other])
        with pytest.raises(ValueError, match="must be closed before they are merged, got open"):
            merge(url, [north, still])
        for few in ([north], [north, north], [url, north]):
            with pytest.raises(ValueError, match="two or more different collections and a new"):
                merge(url, few)
        with pytest.raises(ValueError, match="must be a new collection, got open"):
            merge(still, [north, south])
        assert store.state() is State.OPEN
    assert merge(url, [north, south]) == (2, 0)
