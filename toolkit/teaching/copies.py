"""The notebooks and their data: paths, copies for students and teachers, and a cell that installs the toolkit.

A student's copy has no saved outputs, because they would show what the student should find out. The functions that the
student writes are empty. The cell after each function compares it with the toolkit. "Run all" still reaches the end:
cells that need an unwritten function may fail, and the last cell lists what is left to do. The copy omits the sample
report of the project and the key to the patterns that were planted in the data.
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
"""The folders of the course, which are next to each other."""
_ANSWER_KEYS = re.compile(r"\n#+ (The answer key|A sample report).*?(</details>\n|\Z)", re.DOTALL)
_TEACHER_PAGES = ("README.md",)
"""Pages for teachers only: the list of the answers, and the materials to hand out."""
_INSTALL_CODE = '''\
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
    """Return the folder of the notebooks and their data: inside an installed package, or next to it in a checkout."""
    for root in (_STARTER, _CHECKOUT):
        if all((root / folder).is_dir() for folder in FOLDERS):
            return root
    remedy = "install a wheel, or work in a checkout of the project"
    reject("the notebooks must come with the package", "none", remedy, OSError)


def dataset(name: str) -> Path:
    """Return the path of a data file of the course, wherever the toolkit is installed.

    Parameters
    ----------
    name : str
        Path of the file relative to the data folder.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    FileNotFoundError
        If the course has no such file.

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


def copy_course(target: Path, audience: str = "", *, add_install_cell: bool = False) -> None:
    """Copy notebooks and data into a folder that has none; a "student" gets no solutions, outputs or answer keys."""
    for folder in FOLDERS:
        if (target / folder).exists():
            reject(
                f"`folder` must hold no {folder} yet", str(target / folder), "nothing is overwritten", FileExistsError
            )
    suffixes = {".ipynb", ".md", ".png", ".csv"} | ({".toml"} if audience == "teacher" else set())
    for path in sorted(path for folder in FOLDERS for path in (course() / folder).rglob("*.*")):
        name = path.relative_to(course())
        is_hidden = any(part.startswith((".", "__")) for part in name.parts) or "class" in name.parts[1:-1]
        is_readable = path.suffix in suffixes or name.as_posix() == "data/campus.toml"
        if (
            is_hidden
            or not is_readable
            or (audience == "student" and name.parts[0] == "notebooks" and path.name in _TEACHER_PAGES)
        ):
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".ipynb" and (audience == "student" or add_install_cell):
            notebook = json.loads(path.read_text(encoding="utf-8"))
            if audience == "student":
                notebook["cells"] = _student_cells(notebook["cells"])
            if add_install_cell:
                notebook["cells"].insert(1, _new_cell("install", _INSTALL_CODE))
            # Lists of lines are joined, because the table of contents of JupyterLite cannot read them.
            for cell in notebook["cells"]:
                cell["source"] = _source(cell)
                for data in (output.get("data", {}) for output in cell.get("outputs", [])):
                    data |= {mime: "".join(text) for mime, text in data.items() if mime.startswith("text/")}
            text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False)
            (target / name).write_text(f"{text}\n", encoding="utf-8")
        elif path.suffix == ".md" and audience == "student":
            (target / name).write_text(_ANSWER_KEYS.sub("\n", path.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            shutil.copyfile(path, target / name)


def _new_cell(name: str, source: str, kind: str = "code") -> Cell:
    code: Cell = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "id": name, "metadata": {}, "source": source, **code}


def _source(cell: Cell) -> str:
    return "".join(cell["source"])


def _tags(cell: Cell) -> list[str]:
    return list(cell["metadata"].get("tags", []))


def _student_cells(cells: list[Cell]) -> list[Cell]:
    visible = [cell for cell in cells if "<details>" not in _source(cell) and "solution" not in _tags(cell)]
    for cell in visible:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
            if "yours" in _tags(cell):
                header, name = _source(cell).splitlines()[0], _function_name(cell)
                cell["source"] = [f'{header}\n    raise NotImplementedError("{name}: your lines go here")']
    _let_fail(visible)
    return [*visible, *_remaining_cells(visible)]


def _function_name(cell: Cell) -> str:
    return _source(cell).removeprefix("def ").partition("(")[0]


def _let_fail(cells: list[Cell]) -> None:
    """Tag cells that need an unwritten function, so that Jupyter continues after their errors."""
    undefined_names: set[str] = set()
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        names = [node for node in ast.walk(ast.parse(_source(cell))) if isinstance(node, ast.Name)]
        loads, stores = ({name.id for name in names if isinstance(name.ctx, kind)} for kind in (ast.Load, ast.Store))
        if "yours" in _tags(cell):
            undefined_names.add(_function_name(cell))
        elif undefined_names & loads:
            undefined_names |= stores
            cell["metadata"]["tags"] = [*_tags(cell), "raises-exception"]
        else:
            undefined_names -= stores


def _remaining_cells(cells: list[Cell]) -> list[Cell]:
    """Return the last cells, which list the exercises without a right answer and the unwritten functions."""
    code = [_source(cell) for cell in cells if cell["cell_type"] == "code"]
    exercises = [name for source in code for name in re.findall(r'check\("([\d.]+)"', source)]
    names = [_function_name(cell) for cell in cells if "yours" in _tags(cell)]
    functions = ", ".join(f'"{name}": {name}' for name in names)
    source = f"from toolkit.teaching.checking import left_to_do\n\nleft_to_do({exercises}, {{{functions}}})"
    return [_new_cell("left-intro", "## What is left to do", "markdown"), _new_cell("left", source)]
