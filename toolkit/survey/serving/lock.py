"""One server for one collection on a machine: a file that the server holds locked for as long as it lives.

The operating system lets the lock go with the process, however it ends, even if nobody has taken notice of
its end yet: that the lock is held means that there is a server. What stands in the file (its address and
process) counts only while it is held.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE, _PAUSE = 1.0, 0.02  # seconds: asking whether the lock is held takes it for a moment


class LockedError(RuntimeError):
    """Another process holds the lock."""


class FileLock:
    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        """Of the file: a process that it is handed to holds the lock, too."""

    def write(self, line: str) -> None:
        """Replace what stands in the file, in one write: a reader gets all of it or nothing."""
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, line.encode(), 0)


@contextmanager
def hold_lock(path: Path) -> Iterator[FileLock]:
    """Hold the lock of a file, which is made if need be and stays: an empty file says nothing, and costs nothing."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _acquire(descriptor)
        lock = FileLock(descriptor)
        lock.write("")  # what the last one left
        yield lock
    finally:
        os.close(descriptor)


def read(path: Path) -> str | None:
    """What the holder of the lock has written; None if nobody holds it."""
    try:
        with path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read()
    except FileNotFoundError:
        pass
    return None


def _acquire(descriptor: int) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise LockedError(
                    "the collection must have no server on this machine yet, got one that runs."
                ) from None
            time.sleep(_PAUSE)
