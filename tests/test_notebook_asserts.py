"""Asserts that bite: with one formula of the toolkit changed, a cell of a notebook fails by its own assert,
not only by a saved output that differs.

Each mutant runs in a process of its own: the code cells of one notebook as plain Python, without a kernel, up
to the first that fails.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
BUILT_ON = (
    "anywidget",
    "IPython.display",
    "matplotlib.figure",
    "matplotlib.offsetbox",
    "pandas",
    "scipy.integrate",
    "scipy.optimize",
    "sqlite3",
    "ssl",
)


@dataclass(frozen=True)
class Mutant:
    """One place in one module of the toolkit, what stands there, and what the mutant has instead."""

    notebook: str
    module: str
    here: str
    instead: str


MUTANTS = {
    "general inverse x 1.1": Mutant(
        "03", "toolkit.local.matrix.moments", "np.linalg.inv(matrix)", "1.1 * np.linalg.inv(matrix)"
    ),
    "Wilson's z squared x 0.9": Mutant(
        "03", "toolkit.core.inference.intervals", "level / 2) ** 2 / self.n", "level / 2) ** 2 / self.n * 0.9"
    ),
    "margin x 1.02": Mutant("06", "toolkit.planning.accuracy", "found = ndtri", "found = 1.02 * ndtri"),
    "Laplace scale x 2": Mutant(
        "07", "toolkit.central.laplace", "return self.sensitivity / ", "return 2 * self.sensitivity / "
    ),
    "Laplace sampler x 2": Mutant(
        "07", "toolkit.core.sampling.noise", "LatticeSampler(1 / scale,", "LatticeSampler(1 / (2 * scale),"
    ),
    "the largest move for their sum": Mutant("07", "toolkit.central.sensitivity", "moves = sum(", "moves = max("),
    "epsilon for epsilon / 2": Mutant(
        "07", "toolkit.central.selection", "/ (2 * self.sensitivity)", "/ self.sensitivity"
    ),
    "the least ratio for the largest": Mutant(
        "04", "toolkit.local.design", "max(Fraction(int(a), int(b))", "min(Fraction(int(a), int(b))"
    ),
    "a canary that is never planted": Mutant(
        "11", "toolkit.attacks.membership", "planted[0], marked[0] =", "planted[:0], marked[:0] ="
    ),
    "the larger loss for the sum of two": Mutant(
        "02",
        "toolkit.core.loss",
        "return Pure(self.amount + other.amount)",
        "return Pure(max(self.amount, other.amount))",
    ),
    "half the sensitivity of a mean": Mutant(
        "07", "toolkit.central.sensitivity", '(high - low) / whole(n, "n")', '(high - low) / (2 * whole(n, "n"))'
    ),
    "k delta for a group": Mutant("02", "toolkit.core.loss", "_geometric_up(self.amount, people)", "people"),
    "a guess rate without its 1": Mutant(
        "05", "toolkit.planning.disclosure", "return 1 / (1 + math.exp(-", "return 1 / (1.02 + math.exp(-"
    ),
    "subsampling at twice the rate": Mutant(
        "06", "toolkit.core.loss", "log_up(1 + share * (above - 1))", "log_up(1 + 2 * share * (above - 1))"
    ),
    "a classic formula with 1.2": Mutant("07", "toolkit.central.gaussian", "Fraction(5, 4) if", "Fraction(6, 5) if"),
    "a tree whose levels cost nothing": Mutant(
        "12", "toolkit.central.stream.trees", "Fraction(self.levels * min(", "Fraction(1 * min("
    ),
    "beliefs that do not sum to one": Mutant(
        "03", "toolkit.local.design", "joint / joint.sum(axis=0)", "joint / joint.sum(axis=1)"
    ),
}


class _Loader(SourceFileLoader):
    """Reads a module with the mutant's words in place of the toolkit's; they must be there once."""

    def __init__(self, name: str, path: str, mutant: Mutant) -> None:
        super().__init__(name, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text(encoding="utf-8")
        if source.count(self._mutant.here) != 1:
            raise LookupError(f"{self._mutant.here!r} must stand once in {fullname}: adapt the mutant")
        return compile(source.replace(self._mutant.here, self._mutant.instead), self.path, "exec")


class _Finder:
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, name: str, path: object, _target: object = None) -> ModuleSpec | None:
        if name != self._mutant.module:
            return None
        spec = PathFinder.find_spec(name, path)
        spec.loader = _Loader(name, spec.origin, self._mutant)
        return spec


def _first_failure(mutant: Mutant) -> dict[str, str]:
    """The cell of the notebook that fails, with what, and where the error was raised."""
    sys.meta_path.insert(0, _Finder(mutant))
    (path,) = FOLDER.glob(f"{mutant.notebook}_*.ipynb")
    names: dict[str, object] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            try:
                exec(compile(source, f"cell {cell['id']}", "exec"), names)  # noqa: S102 — cells of this repository
            except Exception as error:
                frame = error.__traceback__
                while frame.tb_next:
                    frame = frame.tb_next
                raised = frame.tb_frame.f_code.co_filename
                return {"cell": cell["id"], "error": type(error).__name__, "in": raised, "said": str(error)[:200]}
    return {"cell": "", "error": "", "in": "", "said": "no cell failed"}


def _all_failures() -> None:
    """A line for each mutant, written by a child of its own: forked before the toolkit is imported and after
    what it is built on, for time. A mutant that never ends is ended.
    """
    for name in BUILT_ON:
        importlib.import_module(name)
    os.chdir(FOLDER)
    for name, mutant in MUTANTS.items():
        if (child := os.fork()) == 0:
            signal.alarm(60)
            sys.stdout.write(json.dumps({"name": name, **_first_failure(mutant)}) + "\n")
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)


@pytest.fixture(scope="module")
def failures():
    """By a process that has imported nothing of the toolkit, and has no threads."""
    environment = os.environ | {"MPLBACKEND": "agg", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {found["name"]: found for found in map(json.loads, told.stdout.splitlines())}


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_changed_formula_is_refuted_by_an_assert_of_a_notebook(name, failures):
    failure = failures[name]
    assert failure["error"] == "AssertionError", failure
    assert failure["in"] == f"cell {failure['cell']}", "the toolkit noticed by itself, not the notebook"


if __name__ == "__main__":
    _all_failures()
