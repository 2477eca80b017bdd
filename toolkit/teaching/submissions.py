"""Submitted notebooks: reading their code cells, and running the cells in a process with limits.

The process gets the cells of one answer or one function at a time, a wall-clock limit for each, its own folder and an
empty environment. If it fails or takes too long, it is killed with all processes that it started, and the other items
run in a new process.
"""

import ast
import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import numpy as np

from toolkit.core.checks import reject, warn
from toolkit.core.extras import extra
from toolkit.teaching.copies import course
from toolkit.teaching.hidden_cases import HiddenCase, Seed

LARGEST_FILE = 50 * 2**20
"""The largest notebook that is read, in bytes."""
LARGEST_CODE = 200_000
"""The longest code of a notebook, in characters; a notebook of the course has at most 25,000."""
_LONGEST_LINE = 32 * 2**20
_STARTS = 4  # the largest number of processes for one notebook
_START_SECONDS = 300  # importing the toolkit takes two seconds, and much longer on a busy machine
_CHECK_CALL = re.compile(r"""\bcheck\(\s*["']([\w.]+)["']""")
_UNCONDITIONAL = ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
_CHILD = Path(__file__).with_name("submission_process.py")
Json = Any


@dataclass(frozen=True)
class SubmittedNotebook:
    """The code cells of a notebook, in order, without IPython's magic and shell lines.

    Parameters
    ----------
    cells : tuple of str
        The source of each code cell.
    """

    cells: tuple[str, ...]

    @property
    def exercises(self) -> dict[str, int]:
        """The index of the last cell that checks each exercise."""
        return {name: index for index, cell in enumerate(self.cells) for name in _CHECK_CALL.findall(cell)}

    def function_cell(self, name: str) -> int | None:
        """Return the index of the last cell that defines this function; None if there is none."""
        pattern = re.compile(rf"^def\s+{name}\s*\(", re.MULTILINE)
        indices = [index for index, cell in enumerate(self.cells) if pattern.search(cell)]
        return indices[-1] if indices else None

    def needed_cells(self, index: int) -> list[str]:
        """Return the source of a cell, preceded by the earlier cells that bind the names it needs."""
        needed, sources = _names(self.cells[index]).needed, [self.cells[index]]
        for source in reversed(self.cells[:index]):
            names = _names(source)
            if names.bound & needed:
                needed = (needed - names.always_bound) | names.needed
                sources.insert(0, source)
        return sources


def check_regular(path: Path) -> None:
    """Raise a ValueError if a submitted file is a link, a folder or a device, or if it is too large."""
    if path.is_symlink() or not path.is_file():
        reject("a hand-in must be a regular file", "another kind of file", "links are not followed")
    if path.stat().st_size > LARGEST_FILE:
        reject(
            f"a hand-in must have at most {LARGEST_FILE >> 20} MB", "a larger file", "clear the outputs of notebooks"
        )


def read_submission(path: Path) -> SubmittedNotebook:
    """Read the code cells of a notebook; raise a ValueError if the file is not a notebook."""
    expected = "a hand-in must be a notebook (.ipynb) in Jupyter's format"
    check_regular(path)
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        sources = ["".join(cell["source"]) for cell in cells]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        reject(expected, "other contents", "save the notebook again and hand in this file")
    if (length := sum(map(len, sources))) > LARGEST_CODE:
        consequence = "parsing it takes too much time and memory"
        reject(f"the code of a notebook must have at most {LARGEST_CODE:,} characters", f"{length:,}", consequence)
    return SubmittedNotebook(tuple(_without_magics(source) for source in sources))


def _without_magics(source: str) -> str:
    return "\n".join("" if line.startswith(("%", "!")) else line for line in source.splitlines())


@dataclass
class _Names:
    """The names that a cell needs from earlier cells, those that it may bind, and those that it always binds."""

    needed: set[str]
    bound: set[str]
    always_bound: set[str]


def _names(source: str) -> _Names:
    """Return the names of a cell, or empty sets if it is not valid Python."""
    names = _Names(set(), set(), set())
    try:
        statements = ast.parse(source).body
        for statement in reversed(statements):
            loads, stores = _statement_names(statement)
            if isinstance(statement, _UNCONDITIONAL):
                names.needed -= stores
                names.always_bound |= stores
            names.needed |= loads
            names.bound |= stores
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _Names(set(), set(), set())
    return names


def _statement_names(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """Return the names that a statement needs from elsewhere, and the names that it binds."""
    nodes = list(ast.walk(statement))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    loads = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    stores = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    imports = [alias for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names]
    stores |= {alias.asname or alias.name.partition(".")[0] for alias in imports}
    if isinstance(statement, ast.AugAssign):
        loads |= stores
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
        return loads - stores - parameters - {statement.name}, {statement.name}
    return loads, stores


def encode_argument(value: Any) -> Json:
    """Return an argument of a student's function as JSON, for `submission_process.decode_argument`."""
    if isinstance(value, Seed):
        return {"seed": value.value}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": str(value.dtype)}
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, Mapping):
        return {"dict": [[key, encode_argument(item)] for key, item in value.items()]}
    return [encode_argument(item) for item in value] if isinstance(value, list | tuple) else value


def answer_item(submission: SubmittedNotebook, exercise: str, index: int) -> dict[str, Any]:
    """Return what the process needs to give the answer to an exercise."""
    return {"kind": "answer", "exercise": exercise, "cells": submission.needed_cells(index)}


def function_item(submission: SubmittedNotebook, name: str, index: int, cases: list[HiddenCase]) -> dict[str, Any]:
    """Return what the process needs to call a student's function with the arguments of its hidden cases."""
    arguments = [
        {"arguments": [encode_argument(value) for value in case.arguments], "repeat": case.repeat} for case in cases
    ]
    return {"kind": "function", "name": name, "cells": submission.needed_cells(index), "cases": arguments}


def run_submission(items: list[dict[str, Any]], seconds: float) -> list[Json]:
    """Run answers and functions in processes with limits; return the result of each, or its error.

    Parameters
    ----------
    items : list of dict
        From `answer_item` and `function_item`.
    seconds : float
        The wall-clock limit for each item.

    Returns
    -------
    list
        A JSON object for each item, with the key "error" if there is no result.
    """
    results: list[Json] = []
    for _ in range(_STARTS):
        if len(results) == len(items):
            return results
        results += _run_process(items[len(results) :], seconds)
    stopped = {"error": "not run, because the cells before were stopped too often"}
    return results + [stopped] * (len(items) - len(results))


def _run_process(items: list[dict[str, Any]], seconds: float) -> list[Json]:
    """Return the results of one process: all of them, or those up to and including the first item without a result."""
    results: list[Json] = []
    with _started_process(items, seconds) as lines:
        started, problem = _read_line(lines, _START_SECONDS)
        if problem is not None:
            reject("the process for the students' code must start", problem, "nothing was graded", OSError)
        _warn_if_unprotected(started["layers"])
        while len(results) < len(items):
            result, problem = _read_line(lines, seconds)
            results.append({"error": problem} if problem is not None else result)
            if problem is not None:
                break
    return results


def _warn_if_unprotected(layers: list[str]) -> None:
    """Warn if the kernel lacks a layer without which only Python keeps a student's code from files and programs."""
    missing = " and ".join(name for name in ("Landlock", "seccomp") if name.lower() not in layers)
    if missing:
        message = (
            f"The code of students is not confined by the system's kernel (without {missing}), but only by Python, "
            "which does not stop an expert. Grade on a machine that holds no other data."
        )
        warn(message, RuntimeWarning)


@contextlib.contextmanager
def _started_process(items: list[dict[str, Any]], seconds: float) -> Iterator["queue.Queue[bytes]"]:
    """Start the process and yield the queue of its lines; finally kill it and all processes that it started."""
    with tempfile.TemporaryDirectory(prefix="grading-", ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(  # noqa: S603  our own words
            [sys.executable, "-P", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=_environment(folder),
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        lines: queue.Queue[bytes] = queue.Queue(maxsize=4)
        reader = threading.Thread(target=_pass_lines, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(_task(items, folder, seconds)).encode())
                process.stdin.close()
            yield lines
        finally:
            _kill(process)
            while reader.is_alive():  # the reader may be waiting for space in the queue
                with contextlib.suppress(queue.Empty):
                    lines.get(timeout=0.05)
            process.stdout.close()


def _task(items: list[dict[str, Any]], folder: str, seconds: float) -> dict[str, Any]:
    data = course() / "data"
    package = Path(__file__).parents[1]
    readable = [str(package), str(data / "campus.toml"), *map(str, sorted(data.rglob("*.csv"))), _font_cache()]
    cpu_seconds = int(seconds * len(items)) + _START_SECONDS
    return {
        "items": items,
        "folder": folder,
        "root": str(package.parent),
        "readable": readable,
        "cpu_seconds": cpu_seconds,
    }


def _environment(folder: str) -> dict[str, str]:
    """Return an environment without the variables of this process, which may contain passwords."""
    inherited = {name: os.environ[name] for name in ("SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ}
    folders = dict.fromkeys(("HOME", "TMPDIR", "TEMP", "TMP", "USERPROFILE", "IPYTHONDIR"), folder)
    folders["MPLCONFIGDIR"] = _font_cache() or folder
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**inherited, **folders, **threads, "MPLBACKEND": "agg", "PATH": os.defpath, "PYTHONUTF8": "1"}


@cache
def _font_cache() -> str:
    """Return the folder of Matplotlib's font cache, which takes seconds to build, or "" without Matplotlib."""
    return "" if find_spec("matplotlib") is None else str(extra("matplotlib").get_cachedir())


def _pass_lines(stream: IO[bytes], lines: "queue.Queue[bytes]") -> None:
    """Put the lines of a stream into a queue, up to a line that is too long; an empty line marks the end."""
    while True:
        line = stream.readline(_LONGEST_LINE)
        lines.put(line if line.endswith(b"\n") else b"")
        if not line.endswith(b"\n"):
            return


def _read_line(lines: "queue.Queue[bytes]", seconds: float) -> tuple[Json, str | None]:
    """Return the next result and None, or None and the reason why there is none."""
    try:
        line = lines.get(timeout=seconds)
    except queue.Empty:
        return None, f"took more than {seconds:g} seconds and was stopped"
    if not line:
        return None, "ended the process, used too much memory, or returned too much"
    try:
        result = json.loads(line)
    except (ValueError, RecursionError):
        return None, "returned something that cannot be read"
    return (result, None) if isinstance(result, dict) else (None, "returned something that cannot be read")


def _kill(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
