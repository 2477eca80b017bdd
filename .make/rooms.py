"""Write the table of all files in ARCHITECTURE.md, made of how their docstrings begin; a test holds
it.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- made by `make rooms` -->", "<!-- end -->"


def table() -> str:
    """One section a folder, one line a file."""
    parts = []
    for folder in sorted({path.parent for path in (ROOT / "toolkit").rglob("*.py")}):
        files = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
        name = folder.relative_to(ROOT).as_posix()
        about = _first_words(folder / "__init__.py")
        parts.append(f"### {name}/\n\n{about}\n\n| file | holds |\n|---|---|\n")
        parts[-1] += "".join(f"| `{path.name}` | {_first_words(path)} |\n" for path in files)
    return "\n".join(parts)


def _first_words(path: Path) -> str:
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(said.split("\n\n")[0].split()).replace("|", r"\|")


def with_table(text: str) -> str:
    """The page, with the table as it should be now."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    page = ROOT / "ARCHITECTURE.md"
    page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")
