"""The language of the package: names, docstrings and messages, and the values that docstrings list."""

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from api import own_members
from reference import PUBLIC_MODULES, public_objects

ROOT = Path(__file__).parents[1]

# Words that stood for values of many kinds. A name says which kind it is: `message`, `observed`, `sample`, `loglike`.
FORBIDDEN = {"told", "said", "seen", "listed", "written", "drawn", "reach", "climb", "height", "lean", "bend"}

# Heights in the usual sense: of a picture, a tree, or a table of polars.
HEIGHTS = {"show/canvas.py", "show/findings.py", "show/widgets/explorer.py", "teaching/attacks/gallery.py"}


@cache
def trees() -> dict[str, ast.Module]:
    """Return the parsed files of the package."""
    files = sorted((ROOT / "toolkit").rglob("*.py"))
    return {
        path.relative_to(ROOT / "toolkit").as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in files
    }


def names(tree: ast.Module) -> Iterator[str]:
    """Return the functions, parameters and attributes that a file defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.ClassDef):
            fields = [statement.target for statement in node.body if isinstance(statement, ast.AnnAssign)]
            yield from (field.id for field in fields if isinstance(field, ast.Name))


def test_names_say_what_they_stand_for() -> None:
    found = {
        file: {name.strip("_") for name in names(tree)} & FORBIDDEN - ({"height"} if file in HEIGHTS else set())
        for file, tree in trees().items()
    }
    assert {file: sorted(left) for file, left in found.items() if left} == {}


def docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def test_a_docstring_begins_with_what_the_thing_is() -> None:
    """A docstring does not begin with "Of …", which leaves the reader to guess the noun."""
    found = {
        file: [text.partition("\n")[0] for text in docstrings(tree) if text.startswith("Of ")]
        for file, tree in trees().items()
    }
    assert {file: lines for file, lines in found.items() if lines} == {}


def refusals(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "reject":
            yield node


def test_no_message_lacks_its_consequence() -> None:
    for file, tree in trees().items():
        for call in refusals(tree):
            texts = [part.value for part in call.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            assert all(text.strip() for text in texts), f"{file}:{call.lineno}"


Choice = tuple[str, Any, str, list[str]]

# Calls of methods whose docstrings have no example: the function whose examples run first, and the call.
CALLS = {
    "LogisticFit.test": ("logistic", "fit.test(sides=1)"),
    "LinearFit.test": ("linear", "fit.test(sides=1)"),
    "LogisticFit.margins": ("logistic", "fit.margins()"),
    "Estimate.test": ("forced", "forced(yes='1/6', no='1/6').estimate_counts([1538, 862]).test(0.25, sides=1)"),
}


def choices() -> Iterator[Choice]:
    """Each public function with a parameter whose docstring lists texts: its name, itself, the parameter, the texts."""
    for name, value in {name: value for face in PUBLIC_MODULES for name, value in public_objects(face)}.items():
        members = own_members(value) if inspect.isclass(value) else set()
        inner = [(f"{name}.{member}", inspect.getattr_static(value, member)) for member in sorted(members)]
        for path, described in [(name, value), *inner]:
            text = inspect.getdoc(described) or ""
            for parameter, texts in re.findall(r'^(\w+) : \{("[^}]*)\}', text, flags=re.MULTILINE):
                yield path, described, parameter, re.findall(r'"([^"]+)"', texts)


def example(described: Any, wanted: str | None = None) -> tuple[dict[str, Any], ast.Call | None]:
    """Run the examples of a docstring up to the first call of this function; return the session's names and the
    call.
    """
    scope = dict(vars(import_module(described.__module__)))
    for line in doctest.DocTestParser().get_examples(inspect.getdoc(described) or ""):
        tree = ast.parse(line.source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == wanted:
                return scope, node
        with redirect_stdout(StringIO()):
            exec(line.source, scope)  # noqa: S102  our own examples
    return scope, None


def broken_rule(scope: dict[str, Any], call: ast.Call, parameter: str, text: str) -> str:
    """Return the rule that the call violates with this text, according to its error message; empty if it
    violates none.
    """
    function = eval(ast.unparse(call.func), dict(scope))  # noqa: S307  our own examples
    before = list(inspect.signature(function).parameters).index(parameter)
    keywords = [word for word in call.keywords if word.arg != parameter]
    changed = ast.Call(call.func, call.args[:before], [*keywords, ast.keyword(parameter, ast.Constant(text))])
    try:
        eval(ast.unparse(changed), dict(scope))  # noqa: S307
    except (TypeError, ValueError) as error:
        return str(error).partition(", got")[0]
    return ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_functions_take_the_texts_that_their_docstrings_list() -> None:
    accepted, wrong = 0, []
    public = {name: value for face in PUBLIC_MODULES for name, value in public_objects(face)}
    for name, described, parameter, texts in choices():
        if name in CALLS:
            scope, _ = example(public[CALLS[name][0]])
            call = ast.parse(CALLS[name][1], mode="eval").body
        else:
            scope, call = example(described, name.split(".")[-1])
        if isinstance(call, ast.Call):
            unknown = broken_rule(scope, call, parameter, "no such text")
            if not unknown.startswith(f"`{parameter}` must be "):  # another argument of the example fails first
                continue
            rejected = [text for text in texts if broken_rule(scope, call, parameter, text) == unknown]
            wrong += [(name, parameter, text, unknown) for text in rejected]
            accepted += len(texts) - len(rejected)
    assert wrong == []
    assert accepted >= 50
