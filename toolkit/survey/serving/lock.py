"""The lock file that ensures that a collection has at most one server on a machine.

The operating system releases the lock when the process ends for any reason, so a held lock means that the server is
running. The content of the file (the server's address and process id) is valid only while the lock is held.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Seconds to keep trying, and seconds between attempts. Retrying is necessary because the brief shared lock of
# `read_locked` must not prevent a start.
_RETRY_SECONDS, _PAUSE = 1.0, 0.02


class LockedError(RuntimeError):
    """Another process holds the lock."""


class FileLock:
    """A lock on a file, held by this process."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        """The file descriptor; a process that inherits it holds the lock as well."""

    def write(self, line: str) -> None:
        """Replace the content of the file in a single write, so that readers see all of it or nothing."""
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, line.encode(), 0)


@contextmanager
def hold_lock(path: Path) -> Iterator[FileLock]:
    """Hold the lock on a file within the context; the file is created if necessary and never deleted."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _acquire(descriptor)
        lock = FileLock(descriptor)
        lock.write("")  # removes the content of the previous holder
        yield lock
    finally:
        os.close(descriptor)


def read_locked(path: Path) -> str | None:
    """Return what the holder of the lock has written, or None if nobody holds the lock."""
    try:
        with path.open(encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read()
    except FileNotFoundError:
        pass
    return None


def _acquire(descriptor: int) -> None:
    deadline = time.monotonic() + _RETRY_SECONDS
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise LockedError(
                    "the collection must have no server on this machine yet, got one that is running."
                ) from None
            time.sleep(_PAUSE)
