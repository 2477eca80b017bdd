"""Print all files, folder by folder, each with the first sentence of its docstring."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]


def list_files() -> str:
    """Return one section per folder with one line per file."""
    parts = []
    for folder in sorted({path.parent for path in (ROOT / "toolkit").rglob("*.py")}):
        files = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
        name = folder.relative_to(ROOT).as_posix()
        about = _first_paragraph(folder / "__init__.py")
        parts.append(f"### {name}/\n\n{about}\n\n| file | holds |\n|---|---|\n")
        parts[-1] += "".join(f"| `{path.name}` | {_first_paragraph(path)} |\n" for path in files)
    return "\n".join(parts)


def _first_paragraph(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.split("\n\n")[0].split()).replace("|", r"\|")


if __name__ == "__main__":
    print(list_files())
