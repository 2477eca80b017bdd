"""Waiting for many things that all have the same time, by one timer: a timer for each costs more than reading
a report.
"""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class Patience:
    """Waits so many seconds, and about a quarter more at the most, then raises `TimeoutError`.

    A task waits for one thing at a time.

    >>> asyncio.run(Patience(1.0).with_(asyncio.sleep(0, "done")))
    'done'
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: dict[asyncio.Task[Any], float] = {}
        self._looking: asyncio.AbstractEventLoop | None = None

    async def with_(self, work: Awaitable[_Result]) -> _Result:
        """What the work gives, if it does so in time; else it is cancelled."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # a coroutine is run by one
        self._waiting[task] = loop.time() + self._seconds
        if self._looking is not loop:
            self._looking = loop
            loop.call_later(self._seconds / 4, self._look, loop)
        try:
            return await work
        except asyncio.CancelledError:
            if task in self._waiting or task.uncancel():  # it was not us who lost patience, or not us alone
                raise
            raise TimeoutError from None
        finally:
            self._waiting.pop(task, None)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for task in [one for one, end in self._waiting.items() if end <= now]:
            del self._waiting[task]
            task.cancel()
        if self._waiting:
            loop.call_later(self._seconds / 4, self._look, loop)
        else:
            self._looking = None
