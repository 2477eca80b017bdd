"""Which asserts of the notebooks depend on their seeds: `make seeds` runs every notebook with 20 others.

An assert on a random draw holds for every seed at a rate that the prose states. Here every
`np.random.default_rng(seed)` of a notebook gets another seed, and every assert that then fails is counted. It
is no part of the tests, because it takes long: run it after an assert on a draw has changed.
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


def failures(path: Path, other: int) -> list[str]:
    """The statements of a notebook that fail with the `other`-th set of seeds, each with its cell; all others
    run.
    """
    names: dict[str, Any] = {}
    made, found = np.random.default_rng, []
    np.random.default_rng = lambda seed=None: made([seed, other] if isinstance(seed, int) else seed)  # type: ignore[assignment]
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code" and "raises-exception" not in cell.metadata.get("tags", []):
            for statement in ast.parse(cell.source).body:
                said = _run(statement, names)
                if said:
                    found.append(f"{path.name[:2]} {cell.id}: {ast.unparse(statement)[:90]} [{said}]")
    return found


def _run(statement: ast.stmt, names: dict[str, Any]) -> str:
    code = compile(ast.Module([statement], []), "a cell", "exec")
    try:
        exec(code, names)  # noqa: S102 — cells of this repository
    except Exception as error:
        return traceback.format_exception_only(error)[-1].strip()[:60]
    return ""


def _in_a_child(path: Path, other: int) -> list[str]:
    """One notebook with one set of seeds, in a process of its own; what it prints is left out."""
    read, written = os.pipe()
    if (child := os.fork()) == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        with tempfile.TemporaryDirectory() as state:
            os.environ["XDG_STATE_HOME"] = state
            os.write(written, json.dumps(failures(path, other)).encode())
            for server in list_servers():  # that the notebook has started: a child that ends so runs no `atexit`
                server.stop()
        os._exit(0)
    os.close(written)
    with os.fdopen(read, encoding="utf-8") as told:
        found = told.read()
    os.waitpid(child, 0)
    return list(json.loads(found)) if found else [f"{path.name[:2]}: did not end"]


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    for module in ("toolkit.show", "toolkit.survey", "toolkit.teaching.attacks", "pandas", "scipy.stats"):
        importlib.import_module(module)
    os.chdir(FOLDER)
    for name in sys.argv[1:] or sorted(path.name for path in FOLDER.glob("*.ipynb")):
        counted = Counter(
            said for other in range(1, SEEDS + 1) for said in _in_a_child(FOLDER / Path(name).name, other)
        )
        sys.stdout.write(f"{name}: {len(counted)} asserts fail with some seed\n")
        for said, times in counted.most_common():
            sys.stdout.write(f"  {times} of {SEEDS}  {said}\n")
        sys.stdout.flush()
