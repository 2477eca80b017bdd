"""Several worker processes at one address, so that the others go on if one dies; they do not increase the speed.

The parent process holds the listening socket and the lock of the collection. It answers no requests itself, restarts
workers that have died, and stops all of them on SIGTERM or SIGINT. Connections that arrive while no worker is ready
wait in the socket's backlog. A worker notices the end of its parent by the closed pipe between them, and stops. The
lock is held until the last worker has ended.
"""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from toolkit.survey.storage import StoreError

_LOG = logging.getLogger("toolkit.survey")
_START_SECONDS, _STOP_SECONDS, _POLL_SECONDS = 25.0, 12.0, 0.1
_RESTART_SECONDS, _RETRY_SECONDS = 1.0, 5.0  # after a death, and after a start that failed


@dataclass(frozen=True)
class Command:
    """The command that starts a worker: arguments, environment, and file descriptors shared with the parent."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    shared: Sequence[int]


@dataclass
class _Worker:
    """A worker process, with an event that is set when it is ready and its error messages from before that."""

    process: "subprocess.Popen[str]"
    started: float
    ready: threading.Event = field(default_factory=threading.Event)
    messages: list[str] = field(default_factory=list)
    _listeners: list[threading.Thread] = field(default_factory=list)

    @classmethod
    def start(cls, command: Command) -> "_Worker":
        pipe = subprocess.PIPE
        process = subprocess.Popen(  # noqa: S603  our own module, by our own interpreter
            [sys.executable, "-m", "toolkit.survey.serving.process", *command.arguments],
            stdin=pipe,  # nothing is ever written to it; the system closes it when the parent ends
            stdout=pipe,
            stderr=pipe,
            env=dict(command.environment),
            pass_fds=command.shared,
            text=True,
        )
        worker = cls(process, time.monotonic())
        worker._listeners += [
            threading.Thread(target=work, daemon=True) for work in (worker._wait_until_ready, worker._forward_errors)
        ]
        for listener in worker._listeners:
            listener.start()
        return worker

    def _wait_until_ready(self) -> None:
        for _ in self.process.stdout or ():
            self.ready.set()

    def _forward_errors(self) -> None:
        """Log the error output of a ready worker; collect it before the worker is ready."""
        for line in self.process.stderr or ():
            if self.ready.is_set():
                _LOG.warning("%s", line.strip())
            else:
                self.messages.append(line.strip())

    def close(self) -> None:
        """Read the remaining output of a dead worker and close its pipes."""
        for listener in self._listeners:
            listener.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    @property
    def is_dead(self) -> bool:
        return self.process.poll() is not None

    @property
    def restart_time(self) -> float:
        return self.started + (_RESTART_SECONDS if self.ready.is_set() else _RETRY_SECONDS)


def supervise(count: int, command: Command, announce: Callable[[], None]) -> None:
    """Keep `count` workers running until SIGTERM or SIGINT; raise `StoreError` if they cannot start."""
    with _stop_signal() as stopping:
        workers = [_Worker.start(command) for _ in range(count)]
        try:
            _wait_for(workers, stopping)
            if not stopping.is_set():
                announce()
            while not stopping.wait(_POLL_SECONDS):
                workers = [_restarted(worker, command) for worker in workers]
        finally:
            _stop(workers)


def _wait_for(workers: Sequence[_Worker], stopping: threading.Event) -> None:
    end = time.monotonic() + _START_SECONDS
    while not stopping.is_set() and not all(worker.ready.is_set() for worker in workers):
        dead_worker = next((worker for worker in workers if worker.is_dead), None)
        if dead_worker is not None or time.monotonic() > end:
            if dead_worker is not None:
                dead_worker.close()
            message = " ".join(dead_worker.messages).removeprefix("Not serving: ") if dead_worker else ""
            raise StoreError(message or "the workers must become ready, got one that does not: nothing is collected.")
        stopping.wait(_POLL_SECONDS)


def _restarted(worker: _Worker, command: Command) -> _Worker:
    """Return the worker, or a new one if it is dead and its restart time has come."""
    if not worker.is_dead or time.monotonic() < worker.restart_time:
        return worker
    worker.close()
    reason = "ended" if worker.ready.is_set() else f"could not begin ({' '.join(worker.messages)})"
    _LOG.warning("Worker %d %s, and is started again.", worker.process.pid, reason)
    return _Worker.start(command)


def _stop(workers: Sequence[_Worker]) -> None:
    """Stop all workers after the requests that have begun, and kill those that take too long."""
    for worker in workers:
        worker.process.terminate()
    end = time.monotonic() + _STOP_SECONDS
    for worker in workers:
        try:
            worker.process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()
        worker.close()


@contextmanager
def _stop_signal() -> Iterator[threading.Event]:
    """Yield an event that SIGTERM and SIGINT set within the context."""
    stopping = threading.Event()
    previous = {number: signal.signal(number, lambda *_: stopping.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stopping
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def end_with_parent() -> None:
    """Make this worker stop gracefully when its parent ends."""

    def watch() -> None:
        while os.read(0, 1):  # not `sys.stdin`, whose lock a thread must not hold when the interpreter exits
            continue
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
