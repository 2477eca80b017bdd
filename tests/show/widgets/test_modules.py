"""Modules of widgets: what they take from each other, and that nothing is used that was not taken."""

import re
from pathlib import Path

import pytest

from toolkit.show.widgets.explorer import STATIC, bundle_module, exported_names, imported_names
from toolkit.teaching import explorers

EXPLORERS = Path(explorers.__file__).parent / "static"

FILES = {path.name: path for folder in (STATIC, EXPLORERS) for path in sorted(folder.glob("*.js"))}
SHARED = {name: path.read_text(encoding="utf-8") for name, path in FILES.items()}
OFFERED = {
    name: other for other, code in SHARED.items() for name in exported_names(code) if not name.startswith("default")
}


def words_of(code: str) -> set[str]:
    """Names that a module uses, without comments, texts, properties, keys and imports."""
    for pattern in (r"/\*.*?\*/", r"//[^\n]*", r"^import .*?;$", r'"(?:[^"\\\n]|\\.)*"'):
        code = re.sub(pattern, "", code, flags=re.DOTALL | re.MULTILINE)
    code = re.sub(
        r"`[^`]*`", lambda text: " ".join(re.findall(r"\$\{([^}]*)\}", text.group())), code
    )  # only what is filled in
    return set(re.findall(r"(?<![\w.$])([A-Za-z_]\w*)\b(?!\s*:)", code))


def own_names(code: str) -> set[str]:
    """Names that a module declares itself, at any depth: functions, variables, parameters."""
    lists = re.findall(r"\b(?:const|let) ([{\[][^=]*[}\]]) =|\(([^()]*)\) =>|function \w*\(([^)]*)\)", code)
    alone = re.findall(r"\b(?:const|let|function|class) (\w+)|\b(\w+) =>", code)
    listed = re.findall(r"\w+", " ".join(part for group in lists for part in group))
    return {name for group in alone for name in group} | set(listed)


@pytest.mark.parametrize("name", SHARED)
def test_a_module_imports_what_it_uses_of_the_others_and_nothing_else(name):
    code = SHARED[name]
    taken = {one for names in imported_names(code).values() for one in names}
    assert taken <= words_of(code)
    kit = {one for one, other in OFFERED.items() if other in ("elements.js", "kit.js", "pictures.js") and other != name}
    assert (words_of(code) & kit) - taken - own_names(code) == set()


@pytest.mark.parametrize("name", SHARED)
def test_joined_modules_have_no_import_left_and_every_name_once(name):
    code = bundle_module(FILES[name])
    assert not re.search(r"^import ", code, flags=re.MULTILINE)
    names = re.findall(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", code, flags=re.MULTILINE)
    assert len(names) == len(set(names))


def test_a_name_that_is_not_exported_is_noticed(tmp_path):
    (tmp_path / "parts.js").write_text("export const one = 1;\nconst two = 2;\n")
    (tmp_path / "whole.js").write_text('import { one } from "./parts.js";\nexport default one;\n')
    assert bundle_module(tmp_path / "whole.js") == "export const one = 1;\nconst two = 2;\n\nexport default one;\n"
    (tmp_path / "whole.js").write_text('import { two } from "./parts.js";\n')
    with pytest.raises(RuntimeError, match=r"whole.js imports two, which parts.js does not export"):
        bundle_module(tmp_path / "whole.js")


def test_a_circle_of_modules_is_noticed(tmp_path):
    (tmp_path / "a.js").write_text('import { b } from "./b.js";\nexport const a = 1;\n')
    (tmp_path / "b.js").write_text('import { a } from "./a.js";\nexport const b = 1;\n')
    with pytest.raises(RuntimeError, match=r"a.js imports itself through b.js"):
        bundle_module(tmp_path / "a.js")
