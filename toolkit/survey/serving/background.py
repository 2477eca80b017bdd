"""The server as a process in the background: one per collection and machine; launch it, find it again, stop it."""

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

_START_SECONDS, _STOP_SECONDS, _KILL_SECONDS, _PAUSE = 30.0, 15.0, 5.0, 0.02
_LAST_LINES = 5  # of the log, in a status
_WINDOWS = os.name == "nt"
DATABASE = "TOOLKIT_DATABASE"
"""The environment variable with the database: a password must not stand in the list of processes."""


class CollectError(RuntimeError):
    """The server could not be started or stopped; the message says why.

    Examples
    --------
    >>> issubclass(CollectError, RuntimeError)
    True
    """


@dataclass(frozen=True)
class Server:
    """A running process that serves one survey. It holds `lock_file` locked while it runs."""

    url: str
    port: int
    pid: int
    survey: str
    lock_file: Path

    def stop(self) -> None:
        """Let it finish what has begun, and end; by force if it does not, within twenty seconds."""
        for number, seconds in ((signal.SIGTERM, _STOP_SECONDS), (signal.SIGKILL, _KILL_SECONDS)):
            if _is_running(self.lock_file, self.pid):  # else the number may belong to another process by now
                _signal(self.pid, number)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                if not _is_running(self.lock_file, self.pid):
                    return
                time.sleep(_PAUSE)
        reject(
            "a server must end when it is told to", f"process {self.pid}, which goes on", "end it by hand", CollectError
        )


def lock_path(database: str) -> Path:
    """The file that the server of a database holds locked: in the user's own folder, for all databases."""
    return _state_folder() / f"{hashlib.sha256(database.encode()).hexdigest()[:24]}.json"


def log_path(path: Path) -> Path:
    """Where its server writes what goes wrong."""
    return path.with_suffix(".log")


def log_tail(database: str) -> tuple[str, ...]:
    """The end of the log of a database's server; empty if nothing went wrong since it was started."""
    try:
        return tuple(log_path(lock_path(database)).read_text(errors="replace").splitlines()[-_LAST_LINES:])
    except OSError:
        return ()


def find(database: str) -> Server | None:
    """The server of a database, if one was started here by this user and lives."""
    return _read_server(lock_path(database))


def servers() -> list[Server]:
    """All servers that this user runs on this machine."""
    return [server for path in sorted(_state_folder().glob("*.json")) if (server := _read_server(path)) is not None]


def launch(database: str, options: ServeOptions = DEFAULTS) -> Server:
    """The server of a database: the one that runs, or a new process that outlives this one; never two."""
    check_system()
    path = lock_path(database)
    files = ["--state", str(path), "--log", str(log_path(path))]
    command = [sys.executable, "-m", "toolkit.survey.serving.process", "--detach", *files, *options.arguments()]
    end = time.monotonic() + _START_SECONDS
    while (server := find(database)) is None:
        if time.monotonic() > end:
            rule = f"the server must be ready within {_START_SECONDS:.0f} seconds"
            reject(rule, "silence", "it was stopped", CollectError)
        _start(command, {**os.environ, DATABASE: database}, end)
    return server


def check_system() -> None:
    """Refuse where no server can be, or where what it needs is not installed."""
    if _WINDOWS:
        reject(
            "a server needs Linux or macOS", "Windows", "run it in the Windows Subsystem for Linux (WSL)", CollectError
        )
    check_extras("httptools", "segno")


def _start(command: Sequence[str], environment: Mapping[str, str], end: float) -> None:
    """Start a process and wait until it is ready; one that finds another server ends silently, and so do we."""
    with TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603  our own module, by our own interpreter
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            start_new_session=True,
        )
        with process:  # it forks and ends at once: the server is nobody's child, and no zombie stays behind it
            line = _first_line(process.stdout, end)  # type: ignore[arg-type]
            if line is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        errors.seek(0)
        error = errors.read().decode(errors="replace").strip()
    if line == b"" and error:
        raise CollectError(error)


def _first_line(stream: IO[bytes], end: float) -> bytes | None:
    """What the process says first: a line when it is ready, nothing if it ended before; None if time is over."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        if not selector.select(max(0.0, end - time.monotonic())):
            return None
    return stream.readline()


def _state_folder() -> Path:
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return home / "privacy-survey-toolkit"


def _read_server(path: Path) -> Server | None:
    if _WINDOWS:  # where no server can be, and no such lock
        return None
    from toolkit.survey.serving.lock import read

    try:
        note = json.loads(read(path) or "null")
        return Server(note["url"], note["port"], note["pid"], note["survey"], path)
    except (ValueError, KeyError, TypeError):
        return None


def _is_running(path: Path, pid: int) -> bool:
    """Whether this process still holds the state."""
    server = _read_server(path)
    return server is not None and server.pid == pid


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError:
        reject("the server must be your own to stop it", f"process {pid} of somebody else", "ask them", CollectError)
