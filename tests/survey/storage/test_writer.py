import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

import pytest

from tests.survey.entries import REPEATED, STORED, entry, opened, sha
from toolkit.survey.storage import Collection, NewReport, Outcome, State, StoreError, open_store
from toolkit.survey.storage.writer import Writer


class Shelf:
    """A store that follows instructions and records the batches. `gate` blocks it, like a slow disk."""

    def __init__(self) -> None:
        self.batches: list[list[NewReport]] = []
        self.kept: dict[bytes, str] = {}
        self.failures: list[BaseException] = []
        self.gate = threading.Event()
        self.gate.set()
        self.busy = threading.Event()

    def add(self, batch: Sequence[NewReport]) -> list[Outcome]:
        self.busy.set()
        self.gate.wait(10)
        self.batches.append(list(batch))
        if self.failures:
            raise self.failures.pop(0)
        if any(one.body == "poison" for one in batch):
            raise ValueError("no database takes this")
        outcomes = [REPEATED if one.key in self.kept else STORED for one in batch]
        self.kept |= {one.key: one.body for one in batch}
        return outcomes

    def issue(self, invitation: bytes, blinded: bytes) -> bool:
        if invitation == sha("broken"):
            raise StoreError("away", 7)
        return blinded == sha("good")


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def start(shelf: Shelf) -> Iterator[Callable[..., Writer]]:
    made: list[Writer] = []

    def make(**options: int) -> Writer:
        made.append(Writer(shelf, **options))
        return made[-1]

    yield make
    shelf.gate.set()
    for writer in made:
        writer.stop()


@pytest.fixture
def writer(start: Callable[..., Writer]) -> Writer:
    return start()


def finished(work: Coroutine[Any, Any, Any]) -> Any:
    """Nobody may wait without limit."""
    return asyncio.run(asyncio.wait_for(work, 30))


async def together(writer: Writer, entries: Sequence[NewReport]) -> list[Any]:
    return await asyncio.gather(*(writer.put(one) for one in entries), return_exceptions=True)


async def after(seconds: float, work: Coroutine[Any, Any, Outcome]) -> Outcome:
    await asyncio.sleep(seconds)
    return await work


async def held_up(writer: Writer, shelf: Shelf) -> "asyncio.Task[Outcome]":
    """The thread is busy with a first batch, so that the next reports must wait."""
    shelf.gate.clear()
    first = asyncio.create_task(writer.put(entry("first")))
    await asyncio.to_thread(shelf.busy.wait, 10)
    return first


def test_what_waits_is_stored_together_and_everybody_gets_the_own_outcome(writer: Writer, shelf: Shelf) -> None:
    async def run() -> None:
        first = await held_up(writer, shelf)
        entries = [entry(f"{i}") for i in range(50)]
        later = asyncio.create_task(together(writer, [*entries, entries[3]]))
        await asyncio.sleep(0.02)
        shelf.gate.set()
        assert await first is STORED
        assert await later == [STORED] * 51  # this store only considers what was there before the batch
        assert await together(writer, [entries[0], entry()]) == [REPEATED, STORED]

    finished(run())
    sizes = [len(batch) for batch in shelf.batches]
    assert (sizes[:2], sum(sizes[2:])) == ([1, 51], 2)  # the last two may come in two batches
    assert [one.body for one in shelf.batches[1]] == [f"{i}" for i in [*range(50), 3]]


def test_a_batch_is_bounded(start: Callable[..., Writer], shelf: Shelf) -> None:
    writer = start(max_batch=20)

    async def run() -> None:
        first = await held_up(writer, shelf)
        entries = [entry() for _ in range(50)]
        later = asyncio.create_task(together(writer, entries))
        await asyncio.sleep(0.02)
        shelf.gate.set()
        outcomes = await later
        assert {await first, *outcomes} == {STORED}

    finished(run())
    assert [len(batch) for batch in shelf.batches] == [1, 20, 20, 10]


def test_batches_are_gathered_only_after_ten_with_tokens(
    writer: Writer, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise nobody waits."""
    monkeypatch.setattr("toolkit.survey.storage.writer._GATHER_SECONDS", 60)  # longer than any waiting time here

    async def run() -> None:
        for count in (9, 10):
            shelf.busy.clear()
            first = await held_up(writer, shelf)
            later = asyncio.create_task(together(writer, [entry(by=f"{i} of {count}") for i in range(count)]))
            await asyncio.sleep(0.02)
            shelf.gate.set()
            assert {await first, *await later} == {STORED}
        more = [writer.put(entry()) for _ in range(9)]
        assert await asyncio.gather(*more, after(0.05, writer.put(entry()))) == [STORED] * 10

    finished(run())
    assert [len(batch) for batch in shelf.batches] == [1, 9, 1, 10, 10]


def test_too_many_who_wait_are_sent_away_and_may_come_again(start: Callable[..., Writer], shelf: Shelf) -> None:
    writer = start(max_waiting=5)

    async def run() -> None:
        first = await held_up(writer, shelf)
        entries = [entry() for _ in range(8)]
        later = asyncio.create_task(together(writer, entries))
        await asyncio.sleep(0.02)
        with pytest.raises(StoreError, match="at most 5 reports may wait"):
            await writer.issue(sha("a"), sha("good"))
        shelf.gate.set()
        outcomes = await later
        assert await first is STORED
        assert outcomes[:5] == [STORED] * 5
        assert [(type(error), error.retry_after) for error in outcomes[5:]] == [(StoreError, 1)] * 3
        assert await together(writer, entries[5:]) == [STORED] * 3

    finished(run())


def test_after_a_failure_the_next_batch_tries_again(writer: Writer, shelf: Shelf) -> None:
    """All who wait for the failed batch get an error."""

    async def run() -> None:
        shelf.failures = [StoreError("the disk must have room", 30)]
        first = await held_up(writer, shelf)
        entries = [entry() for _ in range(10)]
        shelf.failures.append(StoreError("still", 30))
        later = asyncio.create_task(together(writer, entries))
        await asyncio.sleep(0.02)
        shelf.gate.set()
        with pytest.raises(StoreError, match="room") as caught:
            await first
        assert caught.value.retry_after == 30
        answers = await later
        assert [str(error) for error in answers] == ["still"] * 10
        assert len({id(error) for error in answers}) == 10  # an exception that is raised twice collects both tracebacks
        assert await together(writer, entries) == [STORED] * 10

    finished(run())
    sizes = [len(batch) for batch in shelf.batches]
    assert sizes[:2] == [1, 10]  # an unavailable store is not queried for each report
    assert sum(sizes[2:]) == 10  # in one batch, or in several if the thread was faster than the senders


@pytest.mark.parametrize(
    "failure", [RuntimeError("secret"), MemoryError(), KeyboardInterrupt(), SystemExit(), GeneratorExit()]
)
def test_the_thread_survives_whatever_the_store_raises(writer: Writer, shelf: Shelf, failure: BaseException) -> None:
    async def run() -> None:
        shelf.failures = [failure]
        with pytest.raises(StoreError, match=f"got {type(failure).__name__}") as caught:
            await writer.put(entry())
        assert ("secret" in str(caught.value), caught.value.retry_after) == (False, 30)
        assert await writer.put(entry()) is STORED

    finished(run())


def test_a_report_that_can_never_be_stored_does_not_keep_its_neighbors_out(writer: Writer, shelf: Shelf) -> None:
    async def run() -> None:
        first = await held_up(writer, shelf)
        entries = [entry("poison" if i in (7, 40) else f"{i}") for i in range(64)]
        later = asyncio.create_task(together(writer, entries))
        await asyncio.sleep(0.02)
        shelf.gate.set()
        await first
        answers = await later
        assert [i for i, answer in enumerate(answers) if answer is not STORED] == [7, 40]
        assert isinstance(answers[7], StoreError)

    finished(run())
    halves = {64: 1, 32: 2, 16: 4, 8: 4, 4: 4, 2: 4, 1: 5}  # at most two attempts per level for each culprit
    assert Counter(map(len, shelf.batches)) == halves
    assert len(shelf.kept) == 63


def test_who_has_gone_is_not_waited_for(writer: Writer, shelf: Shelf) -> None:
    async def run() -> None:
        first = await held_up(writer, shelf)
        leaving = asyncio.create_task(writer.put(entry("leaving")))
        staying = asyncio.create_task(writer.put(entry("staying")))
        await asyncio.sleep(0.02)
        leaving.cancel()
        shelf.gate.set()
        assert await staying is STORED
        assert await first is STORED
        assert leaving.cancelled()

    finished(run())


def test_an_event_loop_that_ends_does_not_end_the_thread(writer: Writer, shelf: Shelf) -> None:
    async def leave() -> None:
        first = await held_up(writer, shelf)
        first.cancel()

    async def stay() -> None:
        assert await writer.put(entry()) is STORED

    finished(leave())
    shelf.gate.set()
    finished(stay())


def test_stopping_finishes_what_waits_and_sends_away_who_comes_later(writer: Writer, shelf: Shelf) -> None:
    async def run() -> None:
        first = await held_up(writer, shelf)
        entries = [entry() for _ in range(10)]
        later = asyncio.create_task(together(writer, entries))
        await asyncio.sleep(0.02)
        stopping = asyncio.create_task(asyncio.to_thread(writer.stop))
        await asyncio.sleep(0.02)
        with pytest.raises(StoreError, match="one that stops"):
            await writer.put(entry())
        assert (stopping.done(), writer.is_working) == (False, False)
        shelf.gate.set()
        await stopping
        outcomes = await later
        assert {await first, *outcomes} == {STORED}

    finished(run())
    assert not writer._thread.is_alive()
    writer.stop()
    assert len(shelf.kept) == 11


def test_invitations_take_their_turn_and_fail_alone(writer: Writer) -> None:
    async def run() -> None:
        answers = await asyncio.gather(
            writer.issue(sha("a"), sha("good")),
            writer.put(entry()),
            writer.issue(sha("broken"), sha("good")),
            writer.issue(sha("b"), sha("bad")),
            writer.put(entry()),
            return_exceptions=True,
        )
        assert [answers[0], answers[1], answers[3], answers[4]] == [True, STORED, False, STORED]
        assert isinstance(answers[2], StoreError)
        assert answers[2].retry_after == 7

    finished(run())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_many_phones_at_once_are_each_stored_once(kind: str, request: pytest.FixtureRequest, tmp_path) -> None:
    url = f"sqlite:///{tmp_path}/survey.db" if kind == "sqlite" else request.getfixturevalue("postgres").url()
    store: Collection = opened(open_store(url), access="token", cap=900)
    tokens = [f"{i}" for i in range(1000)]
    store.invite(map(sha, tokens))
    writer = Writer(store)

    async def phone(mine: list[NewReport]) -> list[Outcome]:
        return [await writer.put(one) for one in mine for _ in range(2)]  # each sends twice

    async def run() -> list[list[Outcome]]:
        entries = [entry(token, by=token) for token in tokens]
        return await asyncio.gather(*(phone(entries[start::50]) for start in range(50)))

    outcomes = [outcome.value for phone_ in finished(run()) for outcome in phone_]
    writer.stop()
    assert {value: outcomes.count(value) for value in set(outcomes)} == {"stored": 900, "repeated": 900, "full": 200}
    assert store.count_reports() == 900 == len(set(store.reports()))
    store.close()


@pytest.mark.parametrize("day", ["2000-01-01", None])
def test_a_collection_is_closed_by_hand_or_after_its_last_day(day: str | None, tmp_path) -> None:
    store = opened(open_store(f"sqlite:///{tmp_path}/survey.db"), closes=day)
    writer = Writer(store)
    assert finished(writer.is_closed()) is (day is not None)
    store.set_state(State.CLOSED)
    assert finished(writer.is_closed()) is True
    writer.stop()
    store.close()


def test_a_writer_works_until_it_is_stopped(writer: Writer, shelf: Shelf) -> None:
    assert writer.is_working
    shelf.failures.append(StoreError("away", 7))
    assert isinstance(finished(together(writer, [entry()]))[0], StoreError)
    assert writer.is_working  # the next report finds out whether the store is back
    writer.stop()
    assert not writer.is_working
