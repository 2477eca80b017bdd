"""ES modules that import each other, joined into the one text that anywidget takes."""

import re
from pathlib import Path

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)


def joined(path: Path) -> str:
    """A module with all that it imports in front of it, each file once, and no import left.

    Files share one scope then, as they share no names: what is imported must be exported under the same name.
    """
    return "\n".join(_in_order(path.resolve(), []).values())


def exports(code: str) -> set[str]:
    r"""The names that a module offers to others.

    >>> sorted(exports("export function html() {}\nconst own = 1;\nexport const SIZE = 3;"))
    ['SIZE', 'html']
    """
    return set(_EXPORT.findall(code))


def imports(code: str) -> dict[str, set[str]]:
    r"""The names that a module takes from others, by the other's address.

    >>> imports('import { html, svg } from "./elements.js";\n') == {"./elements.js": {"html", "svg"}}
    True
    """
    return {
        source: {name.strip() for name in names.split(",") if name.strip()} for names, source in _IMPORT.findall(code)
    }


def _in_order(path: Path, waiting: list[Path]) -> dict[Path, str]:
    if path in waiting:
        raise RuntimeError(f"{path.name} imports itself, by way of {waiting[-1].name}")
    code = path.read_text(encoding="utf-8")
    found: dict[Path, str] = {}
    for source, names in imports(code).items():
        other = (path.parent / source).resolve()
        missing = names - exports(other.read_text(encoding="utf-8"))
        if missing:
            raise RuntimeError(f"{path.name} imports {', '.join(sorted(missing))}, which {other.name} does not export")
        found |= {key: text for key, text in _in_order(other, [*waiting, path]).items() if key not in found}
    return found | {path: _IMPORT.sub("", code)}
