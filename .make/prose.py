"""Check the spelling and style of all prose: pages, docstrings, and the markdown cells of the notebooks.

`codespell` finds misspelled words, and `proselint` runs the checks that `[tool.proselint]` of pyproject.toml names.
Code blocks, text between backticks, formulas and links are not checked.
"""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from proselint import checks
from proselint.registry import CheckRegistry
from proselint.tools import LintFile

ROOT = Path(__file__).parents[1]
CHECKS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["proselint"]["checks"]
PAGES = ("*.md", "docs/**/*.md", "notebooks/*.md", "notebooks/teaching/*.md", "data/*.md")
CODE = re.compile(
    r"```.*?^ *```|``[^`]+``|`[^`\n]+`|\$\$.*?\$\$|\$[^$\n]+\$|<!--.*?-->|\]\([^)]*\)"
    r"|^:(?:::|link:).*?$|^ *(?:>>>|\.\.\.|\w+ :).*?$|[0-9]",
    re.DOTALL | re.MULTILINE,
)


def prose(text: str) -> str:
    """Replace code, types of parameters and digits by placeholders of the same length, to preserve line numbers."""
    return CODE.sub(lambda found: re.sub(r"[^\n]", "·", found[0]), text)


def docstrings(source: str) -> str:
    """Blank all lines of a Python file except those of its docstrings."""
    lines, kept = source.split("\n"), set[int]()
    for node in ast.walk(ast.parse(source)):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node, clean=False):
            kept.update(range(node.body[0].lineno - 1, node.body[0].end_lineno or 0))
    return "\n".join(line.replace('"""', "") if number in kept else "" for number, line in enumerate(lines))


def texts() -> Iterator[tuple[str, str]]:
    """Yield the name and text of each page, of each file's docstrings, and of each markdown cell."""
    for page in sorted({page for pattern in PAGES for page in ROOT.glob(pattern)}):
        yield str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")
    for path in sorted((ROOT / "toolkit").rglob("*.py")):
        yield str(path.relative_to(ROOT)), docstrings(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                yield f"{path.relative_to(ROOT)}, cell {cell['id']}", "".join(cell["source"])


def spelling_faults(lines: list[tuple[str, int, str]]) -> Iterator[str]:
    """Yield the misspelled words of all lines, with their place; codespell runs only once."""
    command = [str(Path(sys.executable).with_name("codespell")), "--toml", str(ROOT / "pyproject.toml"), "-"]
    text = "\n".join(line for _, _, line in lines)
    found = subprocess.run(command, input=text, capture_output=True, text=True, check=False).stdout  # noqa: S603
    for number, fault in re.findall(r"^(\d+): .*\n\t(.*)$", found, flags=re.MULTILINE):
        name, line, _ = lines[int(number) - 1]
        yield f"{name}:{line}: {fault}"


def style_faults(name: str, text: str) -> Iterator[str]:
    """Yield the faults that proselint finds in one text, except for words that are repeated across a line break."""
    for fault in LintFile(name, text).lint({"max_errors": 1000, "checks": dict.fromkeys(CHECKS, True)}):
        if "\n" not in fault.check_result.message:
            yield f"{name}:{fault.pos[0] - 1}: {fault.check_result.message}"


def main() -> None:
    CheckRegistry().register_many(checks.__register__)
    passages = [(name, prose(text)) for name, text in texts()]
    lines = [(name, number, line) for name, text in passages for number, line in enumerate(text.split("\n"), 1)]
    faults = [*spelling_faults(lines), *(fault for passage in passages for fault in style_faults(*passage))]
    sys.stdout.writelines(f"{fault}\n" for fault in faults)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
