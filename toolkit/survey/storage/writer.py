"""Group commit: what waits is stored together, by one thread, in one transaction.

To be sure that a report is on the disk takes milliseconds, however many reports there are. So the thread takes all that
came while it was busy, stores them at once, and wakes those who wait, each with its own outcome. A store that fails
answers with `StoreError` and the thread goes on: the next batch finds out whether the store is back.

With tokens a batch of few people costs more than one of many: its traces must be wiped (see `mixing.py`). So after a
batch of many, when others are about to come, the thread waits a few milliseconds for as many as hide each other.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from toolkit.survey.questions.survey_fields import is_over
from toolkit.survey.storage.collection import Collection
from toolkit.survey.storage.mixing import LEAST
from toolkit.survey.storage.protocol import LARGEST, NewReport, Outcome, State, StoreError

_GATHERING = 0.005  # seconds


@dataclass(frozen=True, eq=False)
class _Job:
    """Somebody waits for a report to be stored or for something else that the store does."""

    work: NewReport | Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    answer: "asyncio.Future[Any]"


class Writer:
    """The one thread that writes, at most `most` reports a batch; beyond `waiting` ones calls raise `StoreError`."""

    def __init__(self, store: Collection, *, most: int = LARGEST, waiting: int = 4096) -> None:
        self._store, self._most, self._limit = store, most, waiting
        self._waiting: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._stopped = False
        self._is_busy = False  # whether many came with a token in the last batch
        self._thread = threading.Thread(target=self._run, name="survey-writer", daemon=True)
        self._thread.start()

    async def put(self, entry: NewReport) -> Outcome:
        """Store a report; returns when it is durable. After a `StoreError` sending it again is right."""
        outcome: Outcome = await self._wait_for(entry)
        return outcome

    async def issue(self, invitation: bytes, blinded: bytes) -> bool:
        """`Store.issue`, in turn with the reports."""
        good: bool = await self._wait_for(lambda: self._store.issue(invitation, blinded))
        return good

    async def take_back(self, hashes: Sequence[bytes]) -> None:
        """`Store.take_back`, in turn with the reports."""
        await self._wait_for(lambda: self._store.take_back(hashes))

    async def is_closed(self) -> bool:
        """Whether the collection takes no more reports for good, in turn with them."""
        closed: bool = await self._wait_for(self._is_over)
        return closed

    @property
    def is_working(self) -> bool:
        """Whether what is put now will be taken: the thread lives and was not told to stop."""
        return self._thread.is_alive() and not self._stopped

    def stop(self) -> None:
        """Finish what waits, then end the thread; further calls raise `StoreError`."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _wait_for(self, work: NewReport | Callable[[], Any]) -> "asyncio.Future[Any]":
        loop = asyncio.get_running_loop()
        job = _Job(work, loop, loop.create_future())
        with self._changed:
            if self._stopped:
                raise StoreError("the server must be running, got one that stops: nothing was stored.")
            if len(self._waiting) >= self._limit:
                raise StoreError(f"at most {self._limit} reports may wait, got one more: nothing was stored.", 1)
            self._waiting.append(job)
            self._changed.notify()
        return job.answer

    def _run(self) -> None:
        while jobs := self._next_batch():
            _deliver(list(zip(jobs, self._done(jobs), strict=True)))

    def _next_batch(self) -> list[_Job]:
        """What waits, up to a batch; nothing when the writer was stopped and all is done."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._stopped)
            if self._is_busy:
                self._changed.wait_for(lambda: len(self._waiting) >= LEAST or self._stopped, _GATHERING)
            return [self._waiting.popleft() for _ in range(min(len(self._waiting), self._most))]

    def _done(self, jobs: Sequence[_Job]) -> list[Any]:
        """The outcome of every job, in their order; failures as exceptions."""
        entries = [job.work for job in jobs if isinstance(job.work, NewReport)]
        self._is_busy = sum(entry.pass_ is not None for entry in entries) >= LEAST
        outcomes = iter(self._stored(entries))
        return [next(outcomes) if isinstance(job.work, NewReport) else _caught(job.work) for job in jobs]

    def _is_over(self) -> bool:
        closes = self._store.survey().closes
        return self._store.state() is State.CLOSED or (closes is not None and is_over(closes))

    def _stored(self, batch: list[NewReport]) -> list[Any]:
        """Store a batch. One that fails for another reason than the store's state is halved: the culprit ends alone."""
        outcomes = _caught(lambda: self._store.add(batch))
        if isinstance(outcomes, list):
            return outcomes
        if isinstance(outcomes, StoreError) or len(batch) == 1:
            return [outcomes] * len(batch)
        middle = len(batch) // 2
        return self._stored(batch[:middle]) + self._stored(batch[middle:])


def _caught(work: Callable[[], Any]) -> Any:
    """What the work returns or raises; nothing may end the thread, or everybody would wait without end."""
    try:
        return work()
    except BaseException as error:
        return error


def _deliver(done: list[tuple[_Job, Any]]) -> None:
    """Wake those who wait, once per event loop; a loop that was closed meanwhile has nobody left to wake."""
    for loop in {job.loop for job, _ in done}:
        mine = [(job.answer, outcome) for job, outcome in done if job.loop is loop]
        try:
            loop.call_soon_threadsafe(_answer, mine)
        except RuntimeError:
            continue


def _answer(done: list[tuple["asyncio.Future[Any]", Any]]) -> None:
    for future, outcome in done:
        if future.done():  # the one who waited has gone
            continue
        if isinstance(outcome, BaseException):
            future.set_exception(_store_error(outcome))
        else:
            future.set_result(outcome)


def _store_error(error: BaseException) -> StoreError:
    """A fresh error for everybody, as one that is raised many times collects the traces of all."""
    if isinstance(error, StoreError):
        return StoreError(str(error), error.retry_after)
    return StoreError(f"the store must take a report, got {type(error).__name__}: nothing was stored.", 30)
