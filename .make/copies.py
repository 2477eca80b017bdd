"""Copies of the notebooks for a class: `make student DIR=…` without solutions, `make teacher DIR=…` as they
are.

A student's copy has no saved outputs: they would show what the student is to find out. What the student
writes is left open, and the cell after it says whether the toolkit agrees. "Run all" goes to the end all the
same: cells that need what is still to be written may fail, and the last cell lists what is left to do. A copy
brings the data that it reads, without the key to what was planted in them, and expects the toolkit to be
installed.
"""

import ast
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
        _let_fail(notebook.cells)
        notebook.cells += _left(notebook.cells)
        _write(notebook, folder / "notebooks" / path.name)
    shutil.copy(FOLDER / "GLOSSARY.md", folder / "notebooks" / "GLOSSARY.md")
    shutil.copytree(FOLDER / "images", folder / "notebooks" / "images", dirs_exist_ok=True)
    _data(folder / "data", keys=False)


def teacher(folder: Path) -> None:
    """All notebooks as they are, with solutions and outputs, and the key."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        _write(nbformat.read(path, as_version=4), folder / "notebooks" / path.name)
    shutil.copy(FOLDER / "GLOSSARY.md", folder / "notebooks" / "GLOSSARY.md")
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
            first, name = cell.source.splitlines()[0], re.match(r"def (\w+)", cell.source)[1]
            cell.source = f'{first}\n    raise NotImplementedError("{name}: your lines go here")'
    return cell


def _let_fail(cells: list[NotebookNode]) -> None:
    """Cells that need a function which is still to be written, or what was made with one, get the tag by which
    Jupyter goes on after an error.
    """
    needed: set[str] = set()
    for cell in cells:
        if cell.cell_type == "code":
            nodes = list(ast.walk(ast.parse(cell.source)))
            names = [node for node in nodes if isinstance(node, ast.Name)]
            if "yours" in cell.metadata.get("tags", []):
                needed |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
            elif needed & {name.id for name in names if isinstance(name.ctx, ast.Load)}:
                needed |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
                cell.metadata["tags"] = [*cell.metadata.get("tags", []), "raises-exception"]
            else:
                needed -= {name.id for name in names if isinstance(name.ctx, ast.Store)}


def _left(cells: list[NotebookNode]) -> list[NotebookNode]:
    """A last cell that lists the exercises which are not right yet and the functions which are not written."""
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    asked = [name for source in code for name in re.findall(r'check\("([\d.]+)"', source)]
    names = [re.match(r"def (\w+)", cell.source)[1] for cell in cells if "yours" in cell.metadata.get("tags", [])]
    functions = ", ".join(f'"{name}": {name}' for name in names)
    source = f"from toolkit.course import left_to_do\n\nleft_to_do({asked}, {{{functions}}})"
    prose = nbformat.v4.new_markdown_cell("## What is left to do", id="left-intro")
    return [prose, nbformat.v4.new_code_cell(source, id="left")]


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
