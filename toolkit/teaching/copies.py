"""The notebooks and their data: where they stand, copies for students and teachers, and the cell that installs the
toolkit where it is not.

A student's copy has no saved outputs: they would show what the student is to find out. What the student
writes is left open, and the cell after it says whether the toolkit agrees. "Run all" goes to the end all the
same: cells that need what is still to be written may fail, and the last cell lists what is left to do. The data
come without the key to what was planted in them, and the project without its sample report.
"""

import ast
import json
import re
import shutil
from pathlib import Path
from typing import Any

from toolkit.core.checks import reject

_STARTER = Path(__file__).parent / "starter"
_CHECKOUT = Path(__file__).parents[2]
FOLDERS = ("notebooks", "data")
"""What stands side by side."""
_KEYS = re.compile(r"\n#+ (The answer key|A sample report).*?(</details>\n|\Z)", re.DOTALL)
_TEACHERS = ("README.md",)
"""Pages that are for teachers: the map of the answers, and what to hand out."""
_INSTALL = '''\
# Installs the toolkit where it is not, as in JupyterLite or Colab.
import importlib.util
import sys
from pathlib import Path

if importlib.util.find_spec("toolkit") is None:
    if sys.platform == "emscripten":  # JupyterLite, which brings the wheel
        import piplite

        await piplite.install("privacy-survey-toolkit[course]")
    else:  # a wheel that lies beside this notebook, or else the package index
        here = map(str, Path().glob("privacy_survey_toolkit-*.whl"))
        wheels = [*here, "privacy-survey-toolkit"]
        %pip install -q "{wheels[0]}[course]"'''

Cell = dict[str, Any]


def course() -> Path:
    """Where the notebooks and their data stand: inside an installed package, and beside it in a checkout."""
    for place in (_STARTER, _CHECKOUT):
        if all((place / folder).is_dir() for folder in FOLDERS):
            return place
    remedy = "install a wheel, or work in a checkout of the project"
    reject("the notebooks must come with the package", "none", remedy, OSError)


def dataset(name: str) -> Path:
    """Find a table of the course, wherever the toolkit is installed.

    Parameters
    ----------
    name : str
        Name of the file below the folder of the data.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    FileNotFoundError
        If the course has no such table.

    Examples
    --------
    >>> dataset("attacks/grades.csv").read_text().splitlines()[0]
    'course,year,grade'
    """
    folder = course() / "data"
    if (folder / name) not in folder.rglob("*.*"):
        tables = ", ".join(sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.csv")))
        reject("`name` must be a table of the course", repr(name)[:60], f"there are {tables}", FileNotFoundError)
    return folder / name


def write(target: Path, kind: str = "", *, install: bool = False) -> None:
    """Copy notebooks and data into a folder that has none: for a "student" without solutions, outputs and keys."""
    for folder in FOLDERS:
        if (target / folder).exists():
            reject(
                f"`folder` must hold no {folder} yet", str(target / folder), "nothing is overwritten", FileExistsError
            )
    kinds = {".ipynb", ".md", ".png", ".csv"} | ({".toml"} if kind == "teacher" else set())
    for path in sorted(path for folder in FOLDERS for path in (course() / folder).rglob("*.*")):
        name = path.relative_to(course())
        hidden = any(part.startswith((".", "__")) for part in name.parts) or "class" in name.parts[1:-1]
        read = path.suffix in kinds or name.as_posix() == "data/campus.toml"
        if hidden or not read or (kind == "student" and name.parts[0] == "notebooks" and path.name in _TEACHERS):
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".ipynb" and (kind == "student" or install):
            notebook = json.loads(path.read_text(encoding="utf-8"))
            if kind == "student":
                notebook["cells"] = _for_student(notebook["cells"])
            if install:
                notebook["cells"].insert(1, _cell("install", _INSTALL))
            for cell in notebook["cells"]:  # texts as one: the table of contents of JupyterLite takes no lists of lines
                cell["source"] = _source(cell)
                for data in (output.get("data", {}) for output in cell.get("outputs", [])):
                    data |= {kind: "".join(text) for kind, text in data.items() if kind.startswith("text/")}
            text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False)
            (target / name).write_text(f"{text}\n", encoding="utf-8")
        elif path.suffix == ".md" and kind == "student":
            (target / name).write_text(_KEYS.sub("\n", path.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            shutil.copyfile(path, target / name)


def _cell(name: str, source: str, kind: str = "code") -> Cell:
    code: Cell = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "id": name, "metadata": {}, "source": source, **code}


def _source(cell: Cell) -> str:
    return "".join(cell["source"])


def _tags(cell: Cell) -> list[str]:
    return list(cell["metadata"].get("tags", []))


def _for_student(cells: list[Cell]) -> list[Cell]:
    visible = [cell for cell in cells if "<details>" not in _source(cell) and "solution" not in _tags(cell)]
    for cell in visible:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
            if "yours" in _tags(cell):
                first = _source(cell).splitlines()[0]
                cell["source"] = [f'{first}\n    raise NotImplementedError("{_function(cell)}: your lines go here")']
    _let_fail(visible)
    return [*visible, *_left(visible)]


def _function(cell: Cell) -> str:
    return _source(cell).removeprefix("def ").partition("(")[0]


def _let_fail(cells: list[Cell]) -> None:
    """Tag cells that need a function which is still to be written: Jupyter then goes on after their error."""
    needed: set[str] = set()
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        names = [node for node in ast.walk(ast.parse(_source(cell))) if isinstance(node, ast.Name)]
        loads, stores = ({name.id for name in names if isinstance(name.ctx, kind)} for kind in (ast.Load, ast.Store))
        if "yours" in _tags(cell):
            needed.add(_function(cell))
        elif needed & loads:
            needed |= stores
            cell["metadata"]["tags"] = [*_tags(cell), "raises-exception"]
        else:
            needed -= stores


def _left(cells: list[Cell]) -> list[Cell]:
    """A last cell that lists the exercises which are not right yet and the functions which are not written."""
    code = [_source(cell) for cell in cells if cell["cell_type"] == "code"]
    exercises = [name for source in code for name in re.findall(r'check\("([\d.]+)"', source)]
    functions = ", ".join(f'"{_function(cell)}": {_function(cell)}' for cell in cells if "yours" in _tags(cell))
    source = f"from toolkit.teaching.checking import left_to_do\n\nleft_to_do({exercises}, {{{functions}}})"
    return [_cell("left-intro", "## What is left to do", "markdown"), _cell("left", source)]
