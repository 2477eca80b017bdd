"""Copies of notebooks without solutions: what is removed, and what replaces it.

`setup.py` loads this file for the notebooks in a wheel, so it imports only the standard library.
"""

import ast
import re
from typing import Any

_ANSWER_KEYS = re.compile(r"\n#+ (The answer key|A sample report).*?(</details>\n|\Z)", re.DOTALL)

Cell = dict[str, Any]


def seal_page(text: str) -> str:
    """Return a page in Markdown without its answer key or sample report."""
    return _ANSWER_KEYS.sub("\n", text)


def seal_translations(text: str) -> str:
    """Return a file of translations without those of the solutions."""
    return "".join(table for table in re.split(r"^(?=\[\")", text, flags=re.MULTILINE) if "<details>" not in table)


def seal_cells(cells: list[Cell]) -> list[Cell]:
    """Return the cells without solutions, with empty functions in place of those that a student writes."""
    visible = [cell for cell in cells if "<details>" not in source_of(cell) and "solution" not in tags_of(cell)]
    for cell in visible:
        if "yours" in tags_of(cell):
            header, name = source_of(cell).splitlines()[0], function_name(cell)
            cell["source"] = [f'{header}\n    raise NotImplementedError("{name}: your lines go here")']
    _let_fail(visible)
    return visible


def student_cells(cells: list[Cell]) -> list[Cell]:
    """Return the cells of a student's copy: sealed, without outputs, and with a list of what is left to do."""
    visible = seal_cells(cells)
    for cell in visible:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    return [*visible, *_remaining_cells(visible)]


def new_cell(name: str, source: str, kind: str = "code") -> Cell:
    code: Cell = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "id": name, "metadata": {}, "source": source, **code}


def source_of(cell: Cell) -> str:
    return "".join(cell["source"])


def tags_of(cell: Cell) -> list[str]:
    return list(cell["metadata"].get("tags", []))


def function_name(cell: Cell) -> str:
    return source_of(cell).removeprefix("def ").partition("(")[0]


def exercises_in(cell: Cell) -> list[str]:
    """Return the names of the exercises whose answers a cell checks."""
    return re.findall(r'check\("([\d.]+)"', source_of(cell))


def _let_fail(cells: list[Cell]) -> None:
    """Tag cells that need an unwritten function, so that Jupyter continues after their errors."""
    undefined_names: set[str] = set()
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        names = [node for node in ast.walk(ast.parse(source_of(cell))) if isinstance(node, ast.Name)]
        loads, stores = ({name.id for name in names if isinstance(name.ctx, kind)} for kind in (ast.Load, ast.Store))
        if "yours" in tags_of(cell):
            undefined_names.add(function_name(cell))
        elif undefined_names & loads:
            undefined_names |= stores
            cell["metadata"]["tags"] = list(dict.fromkeys([*tags_of(cell), "raises-exception"]))
        else:
            undefined_names -= stores


def _remaining_cells(cells: list[Cell]) -> list[Cell]:
    """Return the last cells, which list the exercises without a right answer and the unwritten functions."""
    exercises = [name for cell in cells if cell["cell_type"] == "code" for name in exercises_in(cell)]
    names = [function_name(cell) for cell in cells if "yours" in tags_of(cell)]
    functions = ", ".join(f'"{name}": {name}' for name in names)
    source = f"from toolkit.teaching.checking import left_to_do\n\nleft_to_do({exercises}, {{{functions}}})"
    return [new_cell("left-intro", "## What is left to do", "markdown"), new_cell("left", source)]
