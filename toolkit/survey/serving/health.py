"""Whether reports can be stored, as the last ones told: for the log, and for whoever asks the server how it
is.
"""

import logging
import time
from collections.abc import Callable

_LOG = logging.getLogger("toolkit.survey")
LOOK_SECONDS = 10.0
"""So long what is known of the collection's state is good enough."""

FORGET_SECONDS = 30.0
"""A failure counts so long: a proxy that sends nobody to an ailing server would otherwise never learn that it
is well again.
"""


class Health:
    """Good until a report could not be stored, and again when one was, or when the failure is old and nobody
    has tried since.

    The log hears when the store begins to fail and when it is back, once each: not of every report that comes
    meanwhile.

    >>> health = Health()
    >>> health.failed(TimeoutError())
    >>> health.is_good
    False
    >>> health.worked()
    >>> health.is_good
    True
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: float | None = None
        self._looked: float | None = None
        self.is_closed = False

    @property
    def is_time(self) -> bool:
        """Whether the collection's state may be looked at again; if so, it is taken for looked at."""
        now = self._clock()
        due = self._looked is None or now - self._looked >= LOOK_SECONDS
        self._looked = now if due else self._looked
        return due

    @property
    def is_good(self) -> bool:
        return self._failed is None or self._clock() - self._failed >= FORGET_SECONDS

    def failed(self, problem: Exception) -> None:
        if self._failed is None:
            _LOG.warning("No reports can be stored: %s", str(problem) or "the store does not answer in time.")
        self._failed = self._clock()

    def worked(self) -> None:
        if self._failed is not None:
            _LOG.warning("Reports are stored again.")
            self._failed = None
