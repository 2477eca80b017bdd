"""Group commit: one thread stores all waiting reports together, in one transaction.

A commit to disk takes milliseconds, regardless of the number of reports. Therefore the thread takes all reports that
arrived while it was busy, stores them in one batch, and wakes each waiting task with its own outcome. If the store
fails, these tasks get a `StoreError` and the thread continues; the next batch shows whether the store works again.

With tokens, a small batch costs more than a large one, because its traces must be wiped (see `mixing.py`). After a
large batch, more reports are likely, so the thread waits a few milliseconds until there are enough of them to hide one
another.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from toolkit.survey.questions.survey_fields import is_over
from toolkit.survey.storage.collection import Collection
from toolkit.survey.storage.mixing import MIN_POOL
from toolkit.survey.storage.protocol import MAX_BATCH, NewReport, Outcome, State, StoreError

_GATHER_SECONDS = 0.005


@dataclass(frozen=True, eq=False)
class _Job:
    """A report to store or a call to run, and the future of the task that waits for its result."""

    work: NewReport | Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"


class Writer:
    """The thread that writes to the store, in batches of at most `max_batch` reports.

    If `max_waiting` jobs are waiting, another job raises `StoreError`.
    """

    def __init__(self, store: Collection, *, max_batch: int = MAX_BATCH, max_waiting: int = 4096) -> None:
        self._store, self._max_batch, self._max_waiting = store, max_batch, max_waiting
        self._waiting: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._is_stopped = False
        self._is_busy = False  # whether the last batch had many reports with tokens
        self._thread = threading.Thread(target=self._run, name="survey-writer", daemon=True)
        self._thread.start()

    async def put(self, report: NewReport) -> Outcome:
        """Store a report; return when it is durable. After a `StoreError`, the same report may be sent again."""
        outcome: Outcome = await self._wait_for(report)
        return outcome

    async def issue(self, invitation: bytes, blinded_hash: bytes) -> bool:
        """Call `Collection.issue` in the writing thread."""
        is_allowed: bool = await self._wait_for(lambda: self._store.issue(invitation, blinded_hash))
        return is_allowed

    async def return_uses(self, hashes: Sequence[bytes]) -> None:
        """Call `Collection.return_uses` in the writing thread."""
        await self._wait_for(lambda: self._store.return_uses(hashes))

    async def is_closed(self) -> bool:
        """Return whether the collection is closed or its last day is over; this is checked in the writing thread."""
        is_closed: bool = await self._wait_for(self._check_closed)
        return is_closed

    @property
    def is_working(self) -> bool:
        """Whether the thread is running and has not been stopped."""
        return self._thread.is_alive() and not self._is_stopped

    def stop(self) -> None:
        """Finish the waiting jobs and end the thread; later calls raise `StoreError`."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify()
        self._thread.join()

    def _wait_for(self, work: NewReport | Callable[[], Any]) -> "asyncio.Future[Any]":
        loop = asyncio.get_running_loop()
        job = _Job(work, loop, loop.create_future())
        with self._changed:
            if self._is_stopped:
                raise StoreError("the server must be running, got one that stops: nothing was stored.")
            if len(self._waiting) >= self._max_waiting:
                raise StoreError(f"at most {self._max_waiting} reports may wait, got one more: nothing was stored.", 1)
            self._waiting.append(job)
            self._changed.notify()
        return job.future

    def _run(self) -> None:
        while jobs := self._next_batch():
            _deliver(list(zip(jobs, self._process(jobs), strict=True)))

    def _next_batch(self) -> list[_Job]:
        """Wait for jobs and return up to a batch of them; an empty list means that the writer is stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_stopped)
            if self._is_busy:
                self._changed.wait_for(lambda: len(self._waiting) >= MIN_POOL or self._is_stopped, _GATHER_SECONDS)
            return [self._waiting.popleft() for _ in range(min(len(self._waiting), self._max_batch))]

    def _process(self, jobs: Sequence[_Job]) -> list[Any]:
        """Return the outcome of every job in order, with failures as exceptions."""
        reports = [job.work for job in jobs if isinstance(job.work, NewReport)]
        self._is_busy = sum(report.token_hash is not None for report in reports) >= MIN_POOL
        outcomes = iter(self._store_batch(reports))
        return [next(outcomes) if isinstance(job.work, NewReport) else _result_or_error(job.work) for job in jobs]

    def _check_closed(self) -> bool:
        closes = self._store.survey().closes
        return self._store.state() is State.CLOSED or (closes is not None and is_over(closes))

    def _store_batch(self, batch: list[NewReport]) -> list[Any]:
        """Store a batch; if a report makes it fail, halve it until that report is alone in its batch."""
        outcomes = _result_or_error(lambda: self._store.add(batch))
        if isinstance(outcomes, list):
            return outcomes
        if isinstance(outcomes, StoreError) or len(batch) == 1:
            return [outcomes] * len(batch)
        middle = len(batch) // 2
        return self._store_batch(batch[:middle]) + self._store_batch(batch[middle:])


def _result_or_error(work: Callable[[], Any]) -> Any:
    """Return the result or the error of a call; a raised error would end the thread and leave all tasks waiting."""
    try:
        return work()
    except BaseException as error:
        return error


def _deliver(results: list[tuple[_Job, Any]]) -> None:
    """Wake the waiting tasks, once per event loop; loops that were closed in the meantime are skipped."""
    for loop in {job.loop for job, _ in results}:
        outcomes = [(job.future, outcome) for job, outcome in results if job.loop is loop]
        try:
            loop.call_soon_threadsafe(_resolve, outcomes)
        except RuntimeError:
            continue


def _resolve(outcomes: list[tuple["asyncio.Future[Any]", Any]]) -> None:
    for future, outcome in outcomes:
        if future.done():  # the waiting task was canceled
            continue
        if isinstance(outcome, BaseException):
            future.set_exception(_store_error(outcome))
        else:
            future.set_result(outcome)


def _store_error(error: BaseException) -> StoreError:
    """Return a new error for each task, because an error that is raised many times accumulates tracebacks."""
    if isinstance(error, StoreError):
        return StoreError(str(error), error.retry_after)
    return StoreError(f"the store must take a report, got {type(error).__name__}: nothing was stored.", 30)
