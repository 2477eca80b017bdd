"""The server as a process in the background: start it, find it again after a kernel's restart, stop it."""

import hashlib
import json
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from toolkit.core.checks import refuse

_START_SECONDS, _STOP_SECONDS = 30.0, 15.0
DATABASE = "TOOLKIT_DATABASE"
"""The environment variable that tells the process its database: a password in it must not stand in the list of processes."""


class CollectError(RuntimeError):
    """The server could not be started or stopped; the message says why."""


@dataclass(frozen=True)
class Server:
    """A running process that serves one survey."""

    url: str
    port: int
    pid: int
    survey: str

    def answers(self) -> bool:
        """Whether it is there and serves this survey: another process may have got its number since."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # we ask who it is, and tell nothing
        try:
            with urllib.request.urlopen(self.url, timeout=5, context=context) as page:  # noqa: S310  our own http address
                return self.survey.encode() in page.read()
        except OSError:
            return False

    def stop(self) -> None:
        """Let it finish what has begun, and end; at once if it does not."""
        _send(self.pid, signal.SIGTERM)
        end = time.monotonic() + _STOP_SECONDS
        while _is_alive(self.pid):
            if time.monotonic() > end:
                _send(self.pid, signal.SIGKILL)
            time.sleep(0.02)


def note_of(database: str) -> Path:
    """Where the address of a database's server is noted down: in the user's own folder, for all databases."""
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return home / "privacy-survey-toolkit" / f"{hashlib.sha256(database.encode()).hexdigest()[:24]}.json"


def running(database: str) -> Server | None:
    """The server of a database, if one was started here and still answers."""
    try:
        noted = json.loads(note_of(database).read_text())
        server = Server(noted["url"], noted["port"], noted["pid"], noted["survey"])
    except (OSError, ValueError, KeyError):
        return None
    return server if server.answers() else None


def started(database: str, options: Mapping[str, Any]) -> Server:
    """A new server in a process of its own, which outlives this one; returns when it answers."""
    note = note_of(database)
    note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    note.unlink(missing_ok=True)
    command = [sys.executable, "-m", "toolkit.survey.serving.process", "--ready", str(note), *_arguments(options)]
    with TemporaryFile() as said:
        process = subprocess.Popen(  # noqa: S603  our own module, by our own interpreter
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            env={**os.environ, DATABASE: database},
            start_new_session=True,
        )
        _wait_for(process, note, said)
    process.returncode = 0  # let it go: it outlives us, and Popen would warn that it still runs
    server = running(database)
    if server is None:
        _send(process.pid, signal.SIGKILL)
        raise CollectError("the server must answer at its own address, got silence: nothing is collected.")
    return server


def _wait_for(process: "subprocess.Popen[bytes]", note: Path, said: IO[bytes]) -> None:
    end = time.monotonic() + _START_SECONDS
    while not note.exists():
        if process.poll() is not None:
            said.seek(0)
            raise CollectError(said.read().decode(errors="replace").strip() or "the server ended without a word.")
        if time.monotonic() > end:
            process.kill()
            process.wait()
            raise CollectError(f"the server must be ready within {_START_SECONDS:.0f} seconds, got silence: it was stopped.")
        time.sleep(0.02)


def _arguments(options: Mapping[str, Any]) -> list[str]:
    """Options by name as arguments: True for a flag, None and False for none."""
    found = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        flag = f"--{name.replace('_', '-')}"
        found += [flag] if value is True else [flag, str(value)]
    return found


def _is_alive(pid: int) -> bool:
    try:
        reaped, _ = os.waitpid(pid, os.WNOHANG)  # our own child, if this kernel started it
    except ChildProcessError:
        reaped = 0
    if reaped:
        return False
    return _send(pid, 0)


def _send(pid: int, number: int) -> bool:
    """Send a signal, 0 to send none; whether there is such a process."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        refuse("the server must be your own to stop it", f"process {pid} of somebody else", "ask them", CollectError)
    return True
