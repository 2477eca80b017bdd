"""Copies of the notebooks for a class: `make student DIR=…` without solutions, `make teacher DIR=…` as they
are.

A student's copy has no saved outputs: they would show what the student is to find out. What the student
writes is left open, and the cell after it says whether the toolkit agrees. A copy brings the data that it
reads, without the key to what was planted in them, and expects the toolkit to be installed.
"""

import re
import shutil
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
KEYS = re.compile(r"\n#+ The answer key.*?</details>\n", re.DOTALL)


def student(folder: Path) -> None:
    """All notebooks, with what a student is to write and to answer left open."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        notebook.cells = [_open(cell) for cell in notebook.cells if not _solves(cell)]
        _write(notebook, folder / "notebooks" / path.name)
    shutil.copytree(FOLDER / "images", folder / "notebooks" / "images", dirs_exist_ok=True)
    _data(folder / "data", keys=False)


def teacher(folder: Path) -> None:
    """All notebooks as they are, with solutions and outputs, and the key."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        _write(nbformat.read(path, as_version=4), folder / "notebooks" / path.name)
    for name in ("images", "teaching"):
        shutil.copytree(FOLDER / name, folder / "notebooks" / name, dirs_exist_ok=True)
    _data(folder / "data", keys=True)


def _solves(cell: NotebookNode) -> bool:
    return "<details>" in cell.source or "solution" in cell.metadata.get("tags", [])


def _open(cell: NotebookNode) -> NotebookNode:
    """A cell without its outputs; of a function that the student writes, the first line alone."""
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
        if "yours" in cell.metadata.get("tags", []):
            cell.source = f"{cell.source.splitlines()[0]}\n    ...  # your lines"
    return cell


def _write(notebook: NotebookNode, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def _data(folder: Path, *, keys: bool) -> None:
    """The tables that notebooks read, and the pages that describe them."""
    for path in sorted((ROOT / "data").rglob("*")):
        if path.suffix in (".csv", ".toml", ".md"):
            target = folder / path.relative_to(ROOT / "data")
            target.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text(encoding="utf-8")
            target.write_text(text if keys else KEYS.sub("\n", text), encoding="utf-8")


if __name__ == "__main__":
    {"student": student, "teacher": teacher}[sys.argv[1]](Path(sys.argv[2]))
