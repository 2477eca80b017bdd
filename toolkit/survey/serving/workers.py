"""Several worker processes at one address, so that the others continue if one dies; they do not increase the speed.

The parent process holds the listening socket and the lock of the collection. The parent answers no requests itself,
restarts workers that have died, and stops all of them on SIGTERM or SIGINT. Connections that arrive while no worker is
ready wait in the socket's backlog. When the parent exits, its pipe to each worker closes, and the workers stop. The
lock is held until the last worker has exited.
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
# The minimum seconds between two starts of a worker: if it became ready the last time, and if it did not.
_RESTART_SECONDS, _RETRY_SECONDS = 1.0, 5.0


@dataclass(frozen=True)
class WorkerCommand:
    """The command that starts a worker: arguments, environment, and file descriptors shared with the parent."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    shared_descriptors: Sequence[int]


@dataclass
class _Worker:
    """A worker process, with an event that is set when it is ready, and its error messages until then."""

    process: "subprocess.Popen[str]"
    start_time: float
    ready_event: threading.Event = field(default_factory=threading.Event)
    error_lines: list[str] = field(default_factory=list)
    _listeners: list[threading.Thread] = field(default_factory=list)

    @classmethod
    def start(cls, command: WorkerCommand) -> "_Worker":
        pipe = subprocess.PIPE
        process = subprocess.Popen(  # noqa: S603  our own module, by our own interpreter
            [sys.executable, "-m", "toolkit.survey.serving.process", *command.arguments],
            stdin=pipe,  # nothing is ever written to this pipe, which the system closes when the parent exits
            stdout=pipe,
            stderr=pipe,
            env=dict(command.environment),
            pass_fds=command.shared_descriptors,
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
            self.ready_event.set()

    def _forward_errors(self) -> None:
        """Log the error output of a ready worker; store the output of a worker that is not ready yet."""
        for line in self.process.stderr or ():
            if self.ready_event.is_set():
                _LOG.warning("%s", line.strip())
            else:
                self.error_lines.append(line.strip())

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
        return self.start_time + (_RESTART_SECONDS if self.ready_event.is_set() else _RETRY_SECONDS)


def supervise(n_workers: int, command: WorkerCommand, announce: Callable[[], None]) -> None:
    """Keep `n_workers` workers running until SIGTERM or SIGINT; raise `StoreError` if they cannot start."""
    with _stop_signal() as stopping:
        workers = [_Worker.start(command) for _ in range(n_workers)]
        try:
            _wait_until_ready(workers, stopping)
            if not stopping.is_set():
                announce()
            while not stopping.wait(_POLL_SECONDS):
                workers = [_restart_if_dead(worker, command) for worker in workers]
        finally:
            _stop_workers(workers)


def _wait_until_ready(workers: Sequence[_Worker], stopping: threading.Event) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not stopping.is_set() and not all(worker.ready_event.is_set() for worker in workers):
        dead_worker = next((worker for worker in workers if worker.is_dead), None)
        if dead_worker is not None or time.monotonic() > deadline:
            if dead_worker is not None:
                dead_worker.close()
            message = " ".join(dead_worker.error_lines).removeprefix("Not serving: ") if dead_worker else ""
            raise StoreError(message or "the workers must become ready, got one that does not: nothing is collected.")
        stopping.wait(_POLL_SECONDS)


def _restart_if_dead(worker: _Worker, command: WorkerCommand) -> _Worker:
    """Return the worker, or a new one if it is dead and due for a restart."""
    if not worker.is_dead or time.monotonic() < worker.restart_time:
        return worker
    worker.close()
    reason = "ended" if worker.ready_event.is_set() else f"could not begin ({' '.join(worker.error_lines)})"
    _LOG.warning("Worker %d %s, and is started again.", worker.process.pid, reason)
    return _Worker.start(command)


def _stop_workers(workers: Sequence[_Worker]) -> None:
    """Stop all workers once they have finished the requests in progress, and kill workers that take too long."""
    for worker in workers:
        worker.process.terminate()
    deadline = time.monotonic() + _STOP_SECONDS
    for worker in workers:
        try:
            worker.process.wait(max(0.0, deadline - time.monotonic()))
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
    """Make this worker stop gracefully when its parent exits."""

    def watch() -> None:
        while os.read(0, 1):  # not `sys.stdin`, whose lock a thread must not hold when the interpreter exits
            continue
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
