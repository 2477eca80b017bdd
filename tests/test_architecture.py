"""Five floors, arrows down: what may import what, and how large a room may be."""

import ast
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "toolkit"
FILES = sorted(PACKAGE.rglob("*.py"))
GROUND = {"core", "frames", "texts"}
BELOW = {
    "core": {"core"},
    "frames": {"core", "frames"},
    "texts": {"core", "texts"},
    "local": GROUND | {"local"},
    "central": GROUND | {"central"},
    "budget": GROUND | {"budget"},
    "analysis": GROUND | {"local", "analysis"},
    "planning": GROUND | {"local", "central", "planning"},
    "curator": GROUND | {"central", "budget", "curator"},
    "audit": GROUND | {"local", "central", "audit"},
    "learning": GROUND | {"central", "budget", "learning"},
    "survey": GROUND | {"local", "analysis", "planning", "survey"},
    "studio": GROUND | {"local", "planning", "budget", "curator", "survey", "studio"},
}
BELOW["show"] = {*BELOW, "show"} - {"studio"}
BELOW["teaching"] = {*BELOW, "teaching"} - {"studio"}
BELOW["commands"] = {*BELOW, "commands"}
SHOWN_ONLY = {"matplotlib", "ipywidgets", "anywidget", "IPython"}
FOLDERS = sorted({path.parent for path in FILES})


# What puts equals into an order that depends on the processor unless it is told to be stable.
SORTS = {"argsort", "sort_values", "argpartition", "sort_index", "nlargest", "nsmallest"}
STABLE = {"kind": "stable", "keep": "first"}


@dataclass(frozen=True)
class Facts:
    """What the rules ask of a file, from one reading of it: a tree is large, and not kept."""

    imports: frozenset[str]
    documented: bool
    long: tuple[str, ...]
    unstable: tuple[int, ...]


@cache
def facts(path: Path) -> Facts:
    source = path.read_text()
    tree = ast.parse(source)
    named, long, unstable, documentation = set(), list[str](), list[int](), _documentation(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            named |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own = _documentation(node)
            documentation += own
            lines = (node.end_lineno or node.lineno) - node.lineno + 1 - own
            if lines > 40 and not isinstance(node, ast.ClassDef):
                long.append(f"{path.name}: {node.name} has {lines} lines")
        elif _is_unstable(node):
            unstable.append(node.lineno)
    if len(source.splitlines()) - documentation > 500:
        long.append(f"{path.name} itself")
    return Facts(frozenset(named), _documentation(tree) > 0, tuple(long), tuple(unstable))


def _documentation(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of its docstring."""
    first = node.body[0] if node.body else None
    documented = isinstance(first, ast.Expr) and ast.get_docstring(node, clean=False)
    return (first.end_lineno or 0) - first.lineno + 1 if documented else 0


def _is_unstable(node: ast.AST) -> bool:
    """Whether it is a sort that is not said to be stable."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SORTS):
        return False
    words = {word.arg or "": word.value.value for word in node.keywords if isinstance(word.value, ast.Constant)}
    return not words.items() & STABLE.items()


@pytest.mark.slow
def test_arrows_point_down() -> None:
    wrong = []
    for path in FILES:
        room = path.relative_to(PACKAGE).parts[0]
        if room.endswith(".py"):  # __init__ and the command line stand on the roof
            continue
        for name in facts(path).imports:
            parts = name.split(".")
            own = parts[0] == "toolkit" and len(parts) > 1 and (PACKAGE / parts[1]).is_dir()
            up = own and parts[1] not in BELOW[room]
            if up or (room not in {"show", "teaching"} and parts[0] in SHOWN_ONLY):
                wrong.append(f"{path.relative_to(ROOT)} must not import {name}")
    assert wrong == []


@pytest.mark.slow
def test_files_and_functions_can_be_read_in_one_go() -> None:
    assert [one for path in FILES for one in facts(path).long] == []


@pytest.mark.slow
def test_every_file_and_every_package_says_what_it_is() -> None:
    files = {*FILES, *(folder / "__init__.py" for folder in FOLDERS)}
    assert [str(path.relative_to(ROOT)) for path in files if not facts(path).documented] == []


@pytest.mark.slow
def test_tests_mirror_the_package() -> None:
    """A file has its test_<file>.py, or is imported by name in a test of the mirrored folder or of one around
    it.
    """
    untested = []
    for path in FILES:
        folder = ROOT / "tests" / path.parent.relative_to(PACKAGE)
        around = [above for above in (folder, *folder.parents) if ROOT / "tests" in above.parents]
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if path.stem not in {"__init__", "__main__"} and not (folder / f"test_{path.name}").exists():
            named = {target for one in around for test in one.glob("*.py") for target in facts(test).imports}
            if name not in named:
                untested.append(name)
    assert untested == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "room", [lambda name: name, lambda name: ".".join(name.split(".")[:3])], ids=["files", "rooms"]
)
def test_there_are_no_import_cycles(room) -> None:
    """Neither between files, nor between the rooms of a floor: a package such as `survey/storage`, or a file
    beside it.
    """
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in FILES}
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        graph.setdefault(room(name), set()).update(room(target) for target in facts(path).imports if target in names)
    # A package's face imports its rooms, and Python loads the face before any of them: that is no cycle.
    graph = {name: {to for to in targets if not f"{name}.".startswith(f"{to}.")} for name, targets in graph.items()}
    finished: set[str] = set()
    while ready := [name for name, targets in graph.items() if name not in finished and targets <= finished]:
        finished.update(ready)
    assert set(graph) == finished


@pytest.mark.slow
def test_properties_have_one_profile_without_a_deadline_and_with_the_same_examples_every_time() -> None:
    """Set in tests/conftest.py and nowhere else; a test may only ask for more or fewer examples."""
    loaded = settings.get_profile("same")
    assert (loaded.deadline, loaded.derandomize, loaded.print_blob) == (None, True, True)
    assert all(settings.get_profile(name).deadline is None for name in ("search", "deep"))
    assert settings.default is not None
    assert settings.default.deadline is None
    own = [path for path in (ROOT / "tests").rglob("test_*.py") if "settings(" in path.read_text()]
    for path in own:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "settings":
                assert {keyword.arg for keyword in node.keywords} <= {"max_examples"}, path.name


def test_a_folder_can_be_seen_at_a_glance() -> None:
    rooms = {one: [path for path in one.glob("*.py") if path.name != "__init__.py"] for one in FOLDERS}
    assert [str(one.relative_to(ROOT)) for one, files in rooms.items() if len(files) > 20] == []


def unstable(source: str) -> list[int]:
    return [node.lineno for node in ast.walk(ast.parse(source)) if _is_unstable(node)]


@pytest.mark.slow
def test_no_order_of_equals_is_left_to_the_processor() -> None:
    """NumPy's sort for AVX-512 puts equals in another order than that for AVX2."""
    assert unstable("np.argsort(x)") == unstable("x.argsort(axis=1)") == unstable("f.sort_values('a')") == [1]
    assert unstable("np.argsort(x, kind='stable')") == []
    assert {path.name: facts(path).unstable for path in FILES if facts(path).unstable} == {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        assert [source for source in code if unstable(source)] == [], path.name


@pytest.mark.parametrize("mark", ["release", "report"])
def test_the_pictures_show_files_and_functions_that_are_there(mark: str) -> None:
    """Drawn by `make rooms`; here only that no file or function on them was renamed or went since."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    picture = page.partition(f"<!-- {mark}: made by `make rooms` -->")[2].partition("<!-- end -->")[0]
    files = {str(path.relative_to(PACKAGE).with_suffix("")).replace("/", "_"): path for path in FILES}
    arrows = re.findall(r'-->\|"\d+ (\w+)"\| (\w+)', picture)
    assert len(arrows) > 10
    for function, file in arrows:
        assert re.search(rf"(def|class) {function}\b", files[file].read_text(encoding="utf-8")), (function, file)


def test_every_class_name_exists_once():
    """A reader who looks for a class finds one. (A class may be defined twice in one file, for type checkers.)"""
    files = defaultdict(set)
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                files[node.name].add(path.relative_to(ROOT).as_posix())
    assert {name: sorted(paths) for name, paths in files.items() if len(paths) > 1} == {}
