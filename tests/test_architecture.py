"""The layers: which folder may import which, and the maximum sizes of files, functions and folders."""

import ast
import json
import re
import subprocess
import sys
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
    "budget": GROUND | {"central", "budget"},
    "analysis": GROUND | {"local", "analysis"},
    "planning": GROUND | {"local", "central", "planning"},
    "curator": GROUND | {"central", "budget", "curator"},
    "audit": GROUND | {"local", "central", "audit"},
    "learning": GROUND | {"central", "budget", "learning"},
    "survey": GROUND | {"local", "analysis", "planning", "survey"},
}
BELOW["show"] = {*BELOW, "show"}
BELOW["studio"] = GROUND | {"local", "planning", "budget", "curator", "survey", "show", "studio"}
BELOW["teaching"] = {*BELOW, "teaching"} - {"studio"}
BELOW["commands"] = {*BELOW, "commands"}
"""The folders that each folder may import, and whose files it may open; nothing is imported sideways or upward."""

_PLOT = "a result has a method that draws it; only `show` knows how, and is loaded by the call"
UPWARD = {
    ("toolkit.core.estimate", "toolkit.show.tables"): _PLOT,
    ("toolkit.curator.rehearsal", "toolkit.show.tradeoffs"): _PLOT,
    ("toolkit.analysis.findings", "toolkit.show.plots"): _PLOT,
    ("toolkit.analysis.regression.fit", "toolkit.show.fits"): _PLOT,
    ("toolkit.analysis.regression.diagnostics", "toolkit.show.fits"): _PLOT,
    ("toolkit.analysis.noncompliance", "toolkit.show.fits"): _PLOT,
    ("toolkit.survey.results.survey_results", "toolkit.show.findings"): _PLOT,
    ("toolkit.survey.results.survey_results", "toolkit.survey.exchange.written_report"): "`results.report(path)`",
    ("toolkit.survey.spec", "toolkit.survey.serving.page"): "`survey.preview()` shows the page that is served",
    ("toolkit.survey.spec", "toolkit.survey.rehearsal"): "`survey.simulate(600)` needs no second object",
    ("toolkit.survey.collector", "toolkit.show.widgets.collector_view"): "`collect` in a notebook shows live counts",
}
"""Imports that point up, from inside of functions, each with its reason."""

SHOW_ONLY = {"matplotlib", "ipywidgets", "anywidget", "IPython"}
FOLDERS = sorted({path.parent for path in FILES})
MODULES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in FILES}


# Sorts that put equal values into an order that depends on the processor, unless they are stable.
SORTS = {"argsort", "sort_values", "argpartition", "sort_index", "nlargest", "nsmallest"}
STABLE = {"kind": "stable", "keep": "first"}


@dataclass(frozen=True)
class Facts:
    """The facts about a file that the rules need, from one reading; the syntax tree is large and is not kept."""

    imports: frozenset[str]
    documented: bool
    long: tuple[str, ...]
    unstable: tuple[int, ...]
    classes: frozenset[str]
    mutable: frozenset[str]


@cache
def facts(path: Path) -> Facts:
    source = path.read_text()
    tree = ast.parse(source)
    long, unstable, documentation = list[str](), list[int](), _documentation(tree)
    classes, mutable = set[str](), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            docstring = _documentation(node)
            documentation += docstring
            lines = (node.end_lineno or node.lineno) - node.lineno + 1 - docstring
            if lines > 40 and not isinstance(node, ast.ClassDef):
                long.append(f"{path.name}: {node.name} has {lines} lines")
        elif _is_unstable(node):
            unstable.append(node.lineno)
        if isinstance(node, ast.ClassDef):
            classes.add(node.name)
            decorators = map(ast.unparse, node.decorator_list)
            if any(text.startswith("dataclass") and "frozen=True" not in text for text in decorators):
                mutable.add(node.name)
    if len(source.splitlines()) - documentation > 500:
        long.append(f"{path.name} itself")
    imports, documented = frozenset(_imports(tree, path)), _documentation(tree) > 0
    return Facts(imports, documented, tuple(long), tuple(unstable), frozenset(classes), frozenset(mutable))


def _imports(node: ast.AST, path: Path) -> set[str]:
    """Return the modules that a file imports, at its top or inside functions, and the folders whose files it opens.

    The name of a module in a string counts, because `import_module` takes it. Imports for type checkers do not count,
    nor does `python -m toolkit.command`, which is another process.
    """
    names: set[str] = set()
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.List) and any(ast.unparse(element) == "'-m'" for element in child.elts):
            continue
        if isinstance(child, ast.Import):
            names |= {alias.name for alias in child.names}
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"{path.name} imports relatively"
            members = {alias.name: f"{child.module}.{alias.name}" for alias in child.names}
            names |= {member if member in MODULES else str(child.module) for member in members.values()}
        elif isinstance(child, ast.Constant) and child.value in MODULES:
            names.add(child.value)
        elif (file := _file(child, path)) is not None and PACKAGE in file.parents:
            names.add(f"toolkit.{file.relative_to(PACKAGE).parts[0]}")
        names |= _imports(child, path)
    return names


def _file(node: ast.AST, path: Path) -> Path | None:
    """Return the path that an expression such as `Path(__file__).parents[1] / "static"` stands for."""
    match node:
        case ast.Call(func=ast.Name(id="Path"), args=[ast.Name(id="__file__")]):
            return path
        case ast.Attribute(value=inner, attr="parent"):
            file = _file(inner, path)
            return file and file.parent
        case ast.Subscript(value=ast.Attribute(value=inner, attr="parents"), slice=ast.Constant(value=int(index))):
            file = _file(inner, path)
            return file and file.parents[index]
        case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=str(name))):
            file = _file(left, path)
            return file and file / name
    return None


def _documentation(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of lines of a docstring."""
    first = node.body[0] if node.body else None
    documented = isinstance(first, ast.Expr) and ast.get_docstring(node, clean=False)
    return (first.end_lineno or 0) - first.lineno + 1 if documented else 0


def _is_unstable(node: ast.AST) -> bool:
    """Return whether a call is a sort that is not declared stable."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SORTS):
        return False
    words = {word.arg or "": word.value.value for word in node.keywords if isinstance(word.value, ast.Constant)}
    return not words.items() & STABLE.items()


@pytest.mark.slow
def test_arrows_point_down() -> None:
    wrong = []
    for module, path in MODULES.items():
        folder = path.relative_to(PACKAGE).parts[0]
        if folder.endswith(".py"):  # __init__ and the command line may import everything
            continue
        for name in facts(path).imports:
            top, _, rest = name.partition(".")
            up = top == "toolkit" and rest and rest.partition(".")[0] not in BELOW[folder]
            if (up and (module, name) not in UPWARD) or (folder not in {"show", "teaching"} and top in SHOW_ONLY):
                wrong.append(f"{path.relative_to(ROOT)} must not import {name}")
    for path in PACKAGE.rglob("*.js"):
        for source in re.findall(r' from "(\.[^"]+)"', path.read_text(encoding="utf-8")):
            own, other = (file.relative_to(PACKAGE).parts[0] for file in (path, (path.parent / source).resolve()))
            if other not in BELOW[own]:
                wrong.append(f"{path.relative_to(ROOT)} must not import {source}")
    assert wrong == []


def test_every_exception_is_an_import_inside_of_a_function() -> None:
    for module, target in UPWARD:
        assert target in facts(MODULES[module]).imports, (module, target)
        top = ast.Module([node for node in ast.parse(MODULES[module].read_text()).body if _is_import(node)], [])
        assert target not in _imports(top, MODULES[module]), (module, target)


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("import toolkit.show", "toolkit.show"),
        ("def f():\n    from toolkit.show import plots", "toolkit.show.plots"),
        ("import_module('toolkit.show.plots')", "toolkit.show.plots"),
        ("A = Path(__file__).parents[1] / 'show' / 'static'", "toolkit.show"),
        ("A = Path(__file__).parent.parent / 'show'", "toolkit.show"),
    ],
)
def test_imports_are_found_wherever_they_stand(source: str, target: str) -> None:
    path = PACKAGE / "survey" / "spec.py"
    assert target in _imports(ast.parse(source), path)
    assert _imports(ast.parse("if TYPE_CHECKING:\n    from toolkit.show import plots\n"), path) == set()


@pytest.mark.slow
def test_statistics_and_surveys_load_no_pictures() -> None:
    code = "import sys, toolkit.survey.results, toolkit.survey.spec; print(*{'matplotlib', 'IPython'} & {*sys.modules})"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == ""


@pytest.mark.slow
def test_files_and_functions_can_be_read_in_one_go() -> None:
    assert [one for path in FILES for one in facts(path).long] == []


@pytest.mark.slow
def test_every_file_and_every_package_says_what_it_is() -> None:
    files = {*FILES, *(folder / "__init__.py" for folder in FOLDERS)}
    assert [str(path.relative_to(ROOT)) for path in files if not facts(path).documented] == []


@pytest.mark.slow
def test_tests_mirror_the_package() -> None:
    """A file has its own test_<file>.py, or is imported by name in a test of the corresponding folder or of one of its
    parents.
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
    "unit_of", [lambda name: name, lambda name: ".".join(name.split(".")[:3])], ids=["files", "packages"]
)
def test_there_are_no_import_cycles(unit_of) -> None:
    """There are no cycles between files, nor between the packages (such as `survey/storage`) and files of a folder."""
    graph: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        targets = {target for target in facts(path).imports if target in MODULES and (name, target) not in UPWARD}
        graph.setdefault(unit_of(name), set()).update(map(unit_of, targets))
    # A package's `__init__` imports its modules, and Python loads it before them: that is not a cycle.
    graph = {name: {to for to in targets if not f"{name}.".startswith(f"{to}.")} for name, targets in graph.items()}
    finished: set[str] = set()
    while ready := [name for name, targets in graph.items() if name not in finished and targets <= finished]:
        finished.update(ready)
    assert set(graph) == finished


@pytest.mark.slow
def test_property_tests_have_one_profile_without_a_deadline() -> None:
    """The profile is set in tests/conftest.py and nowhere else; a test may only change the number of examples."""
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
    files_of = {folder: [path for path in folder.glob("*.py") if path.name != "__init__.py"] for folder in FOLDERS}
    assert [str(folder.relative_to(ROOT)) for folder, files in files_of.items() if len(files) > 20] == []


def unstable(source: str) -> list[int]:
    return [node.lineno for node in ast.walk(ast.parse(source)) if _is_unstable(node)]


@pytest.mark.slow
def test_no_order_of_equals_is_left_to_the_processor() -> None:
    """NumPy's sort for AVX-512 orders equal values differently from the sort for AVX2."""
    assert unstable("np.argsort(x)") == unstable("x.argsort(axis=1)") == unstable("f.sort_values('a')") == [1]
    assert unstable("np.argsort(x, kind='stable')") == []
    assert {path.name: facts(path).unstable for path in FILES if facts(path).unstable} == {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        assert [source for source in code if unstable(source)] == [], path.name


@pytest.mark.parametrize("mark", ["release", "report"])
def test_the_pictures_show_files_and_functions_that_are_there(mark: str) -> None:
    """`make overview` draws the charts; every file and function that they name must still exist."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    picture = page.partition(f"<!-- {mark}: made by `make overview` -->")[2].partition("<!-- end -->")[0]
    files = {str(path.relative_to(PACKAGE).with_suffix("")).replace("/", "_"): path for path in FILES}
    arrows = re.findall(r'-->\|"\d+ (\w+)"\| (\w+)', picture)
    assert len(arrows) > 10
    for function, file in arrows:
        assert re.search(rf"(def|class) {function}\b", files[file].read_text(encoding="utf-8")), (function, file)


def test_every_class_name_exists_once():
    """A reader who searches for a class finds exactly one. (A class may be defined twice in one file, for type
    checkers.)
    """
    files = defaultdict(set)
    for path in FILES:
        for name in facts(path).classes:
            files[name].add(path.relative_to(ROOT).as_posix())
    assert {name: sorted(paths) for name, paths in files.items() if len(paths) > 1} == {}


def test_only_data_classes_of_one_file_can_be_changed():
    """Values that several files share are frozen, except for the survey that the studio is checking."""
    mutable = set[str]().union(*(facts(path).mutable for path in FILES))
    assert {name for name in mutable if not name.startswith("_")} == {"CheckedSurvey"}
