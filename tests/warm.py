"""Servers for tests, forked from a Python that has imported the toolkit: a start takes a tenth of the time.

What a test starts as `python -m toolkit.command …` or `python -m toolkit.survey.serving.process …` is a process of its
own and a child of the test's, with the files, environment and folder that it was started with; only the imports are
done. Tests of the start itself, or of what a list of processes shows, take the fixture `cold`.
"""

import atexit
import ctypes
import inspect
import json
import os
import runpy
import socket
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

MODULES = ("toolkit.command", "toolkit.survey.serving.process")
COLD = subprocess.Popen
# Where the Python at hand starts a process in another way, ours starts as everybody's does.
_KNOWN = (
    *(
        "self",
        "args",
        "executable",
        "preexec_fn",
        "close_fds",
        "pass_fds",
        "cwd",
        "env",
        "startupinfo",
        "creationflags",
    ),
    *("shell", "p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"),
    *("restore_signals", "gid", "gids", "uid", "umask", "start_new_session", "process_group"),
)
_FORKS = sys.platform.startswith("linux") and tuple(inspect.signature(COLD._execute_child).parameters) == _KNOWN  # type: ignore[attr-defined]
_SUBREAPER = 36  # of <linux/prctl.h>: whose parent has died becomes a child of ours
_LOCK = threading.Lock()
_line: list[Any] = []  # to the nursery, and its process


def _nursery() -> socket.socket:
    """The line to the Python that forks; it ends when the line does, with this process."""
    if not _line:
        ours, theirs = socket.socketpair()
        options = {"stdin": subprocess.DEVNULL, "start_new_session": True, "pass_fds": [theirs.fileno()]}
        command = [sys.executable, "-m", "tests.warm", str(theirs.fileno())]
        _line[:] = ours, COLD(command, cwd=Path(__file__).parents[1], **options)
        theirs.close()
        atexit.register(_end)
    return _line[0]


def _end() -> None:
    line, process = _line
    line.close()
    process.wait(20)


def _forked(told: dict[str, Any], files: list[int]) -> int:
    """The number of a new process, which is our child though another one has forked it."""
    system = ctypes.CDLL(None)
    with _LOCK:
        line = _nursery()
        gate, opened = os.pipe()
        system.prctl(_SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(line, [json.dumps(told).encode() + b"\n"], [gate, *files])
            return int(line.recv(20))
        finally:
            system.prctl(_SUBREAPER, 0, 0, 0, 0)  # what the new one leaves behind shall be nobody's child
            os.close(gate)
            os.close(opened)  # it begins


class Popen(subprocess.Popen):  # type: ignore[type-arg]
    """As `subprocess.Popen`; who asks for one of our modules gets a fork."""

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, close_fds: Any, pass_fds: Any,
                       cwd: Any, env: Any, *rest: Any) -> None:  # fmt: skip
        words = [] if isinstance(args, str) else [os.fspath(one) for one in args]
        ours = words[:2] == [sys.executable, "-m"] and words[2] in MODULES
        if not ours or preexec_fn or pass_fds or not _FORKS:
            return super()._execute_child(args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest)  # type: ignore[misc]
        pipes, is_leader = rest[3:9], bool(rest[14])
        files = [place if one == -1 else one for place, one in enumerate((pipes[0], pipes[3], pipes[5]))]
        told = {"words": words[2:], "folder": os.fspath(cwd or os.getcwd()), "leader": is_leader}  # noqa: PTH109
        self.pid = _forked({**told, "environment": dict(os.environ if env is None else env)}, files)
        self._child_created = True
        return self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def _serve(line: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """In the nursery: fork for each that asks; returns in the new process with what it was told, or at the end."""
    while True:
        heard, files, _, _ = socket.recv_fds(line, 2**16, 4)
        while heard and not heard.endswith(b"\n"):
            heard += line.recv(2**16)
        if not heard:
            return None
        reading, writing = os.pipe()
        middle = os.fork()
        if middle == 0:
            if os.fork():
                os._exit(0)
            told = json.loads(heard)
            if told["leader"]:
                os.setsid()  # before anybody asks for its group
            os.write(writing, str(os.getpid()).encode())
            for one in (reading, writing, line.fileno()):
                os.close(one)
            line.detach()
            return told, files
        os.waitpid(middle, 0)
        line.send(os.read(reading, 20))
        for one in (reading, writing, *files):
            os.close(one)


def _main() -> None:
    for name in (*MODULES, "toolkit.survey.collector", "psycopg"):
        __import__(name)
    born = _serve(socket.socket(fileno=int(sys.argv[1])))
    if born is None:
        return
    told, (gate, *files) = born
    os.read(gate, 1)
    for place, one in enumerate(files):
        os.dup2(one, place)
        os.close(one)
    os.close(gate)
    os.chdir(told["folder"])
    os.environ.clear()
    os.environ.update(told["environment"])
    warnings.filterwarnings("ignore", "'toolkit.* found in sys.modules", RuntimeWarning)
    sys.argv = told["words"]
    runpy.run_module(told["words"][0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
