"""Find the asserts of the notebooks that depend on a seed: `make seeds` runs every notebook with 20 other seed sets.

The prose of a notebook states how often an assert on a random draw holds over all seeds. This script gives every
`np.random.default_rng(seed)` another seed, and counts the asserts that fail. It takes too long to be part of the
tests: run it after you have changed an assert on a random draw.
"""

import ast
import importlib
import json
import os
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import nbformat
import numpy as np

from toolkit.survey.serving.background import list_servers

FOLDER = Path(__file__).parents[1] / "notebooks"
SEEDS = 20


def find_failures(path: Path, seed_set: int) -> list[str]:
    """Run a notebook with the set of seeds number `seed_set`; return the statements that fail, each with its cell.

    A failed statement does not stop the notebook.
    """
    names: dict[str, Any] = {}
    default_rng, found = np.random.default_rng, []
    np.random.default_rng = lambda seed=None: default_rng([seed, seed_set] if isinstance(seed, int) else seed)  # type: ignore[assignment]
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code" and "raises-exception" not in cell.metadata.get("tags", []):
            for statement in ast.parse(cell.source).body:
                message = _run(statement, names)
                if message:
                    found.append(f"{path.name[:2]} {cell.id}: {ast.unparse(statement)[:90]} [{message}]")
    return found


def _run(statement: ast.stmt, names: dict[str, Any]) -> str:
    code = compile(ast.Module([statement], []), "a cell", "exec")
    try:
        exec(code, names)  # noqa: S102 — cells of this repository
    except Exception as error:
        return traceback.format_exception_only(error)[-1].strip()[:60]
    return ""


def _failures_in_child(path: Path, seed_set: int) -> list[str]:
    """Return the failures of one notebook with one set of seeds, run in a child process whose output is discarded."""
    read, written = os.pipe()
    if (child := os.fork()) == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        with tempfile.TemporaryDirectory() as state:
            os.environ["XDG_STATE_HOME"] = state
            os.write(written, json.dumps(find_failures(path, seed_set)).encode())
            # Stop the servers that the notebook started, because `os._exit` below skips `atexit`.
            for server in list_servers():
                server.stop()
        os._exit(0)
    os.close(written)
    with os.fdopen(read, encoding="utf-8") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return list(json.loads(found)) if found else [f"{path.name[:2]}: did not finish"]


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    for module in ("toolkit.show", "toolkit.survey", "toolkit.teaching.attacks", "pandas", "scipy.stats"):
        importlib.import_module(module)
    os.chdir(FOLDER)
    for name in sys.argv[1:] or sorted(path.name for path in FOLDER.glob("*.ipynb")):
        counted = Counter(
            message
            for seed_set in range(1, SEEDS + 1)
            for message in _failures_in_child(FOLDER / Path(name).name, seed_set)
        )
        sys.stdout.write(f"{name}: {len(counted)} asserts fail with some seed\n")
        for message, times in counted.most_common():
            sys.stdout.write(f"  {times} of {SEEDS}  {message}\n")
        sys.stdout.flush()
