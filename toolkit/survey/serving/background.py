"""Starting, finding and stopping the background server of a collection, which runs at most once on a machine."""

import hashlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from toolkit.core.checks import reject
from toolkit.core.extras import check_extras
from toolkit.survey.serving.options import DEFAULTS, ServeOptions

_START_SECONDS, _STOP_SECONDS, _KILL_SECONDS, _POLL_SECONDS = 30.0, 15.0, 5.0, 0.02
_MAX_LOG_LINES = 5  # the number of log lines that a status contains
_WINDOWS = os.name == "nt"
DATABASE_VARIABLE = "TOOLKIT_DATABASE"
"""The environment variable for the database, since its password must not appear in the process list."""


class CollectError(RuntimeError):
    """The server could not be started or stopped; the message states the reason.

    Examples
    --------
    >>> issubclass(CollectError, RuntimeError)
    True
    """


@dataclass(frozen=True)
class Server:
    """A running process that serves one survey and holds the lock on `lock_file`."""

    url: str
    port: int
    pid: int
    page_hash: str
    lock_file: Path

    def stop(self) -> None:
        """Stop the server once it has finished the requests in progress; kill it if that takes more than 15 seconds."""
        for signal_number, seconds in ((signal.SIGTERM, _STOP_SECONDS), (signal.SIGKILL, _KILL_SECONDS)):
            if _is_running(self.lock_file, self.pid):  # otherwise another process may have this id now
                _send_signal(self.pid, signal_number)
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                if not _is_running(self.lock_file, self.pid):
                    return
                time.sleep(_POLL_SECONDS)
        reject(
            "the server must stop when it is killed",
            f"process {self.pid}, still running",
            "end it by hand",
            CollectError,
        )


def lock_path(database: str) -> Path:
    """Return the path of the lock file for a database's server, in the user's state folder."""
    return _state_folder() / f"{hashlib.sha256(database.encode()).hexdigest()[:24]}.json"


def log_path(lock_file: Path) -> Path:
    """Return the path of the server's error log, given the path of its lock file."""
    return lock_file.with_suffix(".log")


def log_tail(database: str) -> tuple[str, ...]:
    """Return the last lines of the error log of a database's server, which is empty if there were no errors."""
    try:
        return tuple(
            log_path(lock_path(database)).read_text(encoding="utf-8", errors="replace").splitlines()[-_MAX_LOG_LINES:]
        )
    except OSError:
        return ()


def find_server(database: str) -> Server | None:
    """Find the running server of a database that this user started on this machine."""
    return _read_server(lock_path(database))


def list_servers() -> list[Server]:
    """List the servers that this user runs on this machine."""
    return [server for path in sorted(_state_folder().glob("*.json")) if (server := _read_server(path)) is not None]


def launch(database: str, options: ServeOptions = DEFAULTS) -> Server:
    """Return the running server of a database, or start one in a process that outlives the caller."""
    check_system()
    lock_file = lock_path(database)
    files = ["--state", str(lock_file), "--log", str(log_path(lock_file))]
    command = [sys.executable, "-m", "toolkit.survey.serving.process", "--detach", *files, *options.arguments()]
    deadline = time.monotonic() + _START_SECONDS
    while (server := find_server(database)) is None:
        if time.monotonic() > deadline:
            rule = f"the server must be ready within {_START_SECONDS:.0f} seconds"
            reject(rule, "no answer", "it was stopped; try again when the machine is less busy", CollectError)
        _start_process(command, {**os.environ, DATABASE_VARIABLE: database}, deadline)
    return server


def check_system() -> None:
    """Raise an error on Windows, or if a package that the server needs is missing."""
    if _WINDOWS:
        reject(
            "a server needs Linux or macOS", "Windows", "run it in the Windows Subsystem for Linux (WSL)", CollectError
        )
    check_extras("httptools", "segno")


def _start_process(command: Sequence[str], environment: Mapping[str, str], deadline: float) -> None:
    """Start a process and wait until it is ready; it exits silently if another server already holds the lock."""
    with TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603  our own module, by our own interpreter
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            start_new_session=True,
        )
        with process:  # this process forks and exits immediately, so the server is detached and never becomes a zombie
            line = _read_first_line(process.stdout, deadline)  # type: ignore[arg-type]
            if line is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        errors.seek(0)
        error = errors.read().decode(errors="replace").strip()
    if line == b"" and error:
        raise CollectError(error)


def _read_first_line(stream: IO[bytes], deadline: float) -> bytes | None:
    """Read the line that a ready process prints; return b"" if the process exited first, None after a timeout."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        if not selector.select(max(0.0, deadline - time.monotonic())):
            return None
    return stream.readline()


def _state_folder() -> Path:
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return home / "privacy-survey-toolkit"


def _read_server(lock_file: Path) -> Server | None:
    if _WINDOWS:  # there are no background servers and no `fcntl` locks on Windows
        return None
    from toolkit.survey.serving.lock import read_locked

    try:
        fields = json.loads(read_locked(lock_file) or "null")
        return Server(fields["url"], fields["port"], fields["pid"], fields["survey"], lock_file)
    except (ValueError, KeyError, TypeError):
        return None


def _is_running(lock_file: Path, pid: int) -> bool:
    """Return whether a process still holds the lock."""
    server = _read_server(lock_file)
    return server is not None and server.pid == pid


def _send_signal(pid: int, signal_number: int) -> None:
    try:
        os.kill(pid, signal_number)
    except ProcessLookupError:
        return
    except PermissionError:
        reject("only a user's own server can be stopped", f"process {pid} of another user", "ask them", CollectError)
