"""Rules that hold for every call and every class of the package: names in messages, lengths, encodings, comparisons."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "toolkit").rglob("*.py"))

# Functions that quote the name of the argument that they reject; the name is their second argument.
CHECKS = {
    "as_list", "check_choice", "check_integer", "check_labels", "check_magnitude", "check_positive",
    "check_probability", "exact_fraction", "float_array", "read_private_value", "read_shares",
}  # fmt: skip
RULE = re.compile(r"^\{|\b(must|needs?|requires?|takes?|has|have|may|can|cannot|is|are|holds?|should|stays)\b")
ARRAYS = re.compile(r"\b(Array|NDArray|Codes|Counts|Indices|Mask|DataFrame|Series)\b")


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def calls(*names: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield the file and the call of each function or method with one of these names."""
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in names:
                yield path.relative_to(ROOT / "toolkit").as_posix(), node


def option(call: ast.Call, name: str) -> str | None:
    return next((ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg == name), None)


@cache
def classes() -> dict[str, ast.ClassDef]:
    return {node.name: node for path in FILES for node in nodes(path) if isinstance(node, ast.ClassDef)}


def ancestors(node: ast.ClassDef) -> list[ast.ClassDef]:
    """Return a class of the package and the classes of the package that it inherits from."""
    bases = [classes().get(ast.unparse(base).partition("[")[0]) for base in node.bases]
    return [node, *(ancestor for base in bases if base is not None for ancestor in ancestors(base))]


def defines_repr(node: ast.ClassDef) -> bool:
    return any(isinstance(line, ast.FunctionDef) and line.name == "__repr__" for line in node.body)


def data_classes() -> Iterator[tuple[ast.ClassDef, str]]:
    for path in FILES:
        for node in nodes(path):
            for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else []:
                if (text := ast.unparse(decorator)).startswith("dataclass"):
                    assert isinstance(node, ast.ClassDef)
                    yield node, text


def test_a_rejected_value_has_the_name_of_an_argument_or_field():
    """A message that names an argument names one that exists; `sensitivity / epsilon` names two."""
    known = {"the", "items", "number", "field", "uses", "weight"}  # words of prose, and of the studio's requests
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.arg):
                known.add(node.arg)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                known.add(node.target.id)
    stated = [(file, call.args[1]) for file, call in calls(*CHECKS) if len(call.args) > 1]
    names = [(file, str(name.value)) for file, name in stated if isinstance(name, ast.Constant)]
    assert len(names) > 300
    assert [(file, name) for file, name in names if not set(re.findall(r"[^\W\d]\w*", name)) <= known] == []


def literal_text(node: ast.expr) -> str | None:
    """Return the text of a literal, with {} for each inserted value."""
    if isinstance(node, ast.JoinedStr):
        return "".join("{}" if literal_text(value) is None else literal_text(value) for value in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def test_a_message_states_the_rule_before_what_was_received():
    """A test that looks for the rule in the message would not notice "none, got a file must have rows"."""
    stated = [(file, call.args) for file, call in calls("reject") if isinstance(call.func, ast.Name)]
    rules = [(file, literal_text(args[0])) for file, args in stated]
    assert len(rules) > 1000
    assert [(file, text) for file, text in rules if text is not None and not RULE.search(text)] == []
    received = [(file, literal_text(args[1]) or ast.unparse(args[1])) for file, args in stated if len(args) > 1]
    assert [(file, text) for file, text in received if re.search(r"\b(must|needs|rule)\b", text)] == []


def test_lists_that_belong_together_have_one_length():
    """A `zip` that may stop early is an exception; each is here because a list has more entries than are needed."""
    lengths = [(file, call) for file, call in calls("zip") if "cycle(" not in ast.unparse(call)]
    assert sorted(file for file, call in lengths if option(call, "strict") != "True") == [
        "frames/engines/column.py",
        "show/fits.py",
        "show/fits.py",
        "show/promises.py",
        "show/robust.py",
        "survey/paper/entering.py",
        "survey/paper/entering.py",
        "survey/rehearsal.py",
    ]


def test_texts_are_read_and_written_in_utf_8_everywhere():
    """Without an encoding, Python before 3.15 uses that of the machine."""
    encodings = [(file, option(call, "encoding")) for file, call in calls("read_text", "write_text")]
    assert len(encodings) > 30
    assert [(file, name) for file, name in encodings if name not in {"'utf-8'", "'ascii'"}] == []


def test_values_that_hold_arrays_are_equal_only_to_themselves():
    """The `==` of a data class with an array would raise an error, because arrays are compared entry by entry."""
    for node, decorator in data_classes():
        lines = [line for ancestor in ancestors(node) for line in ancestor.body]
        fields = [ast.unparse(line.annotation) for line in lines if isinstance(line, ast.AnnAssign)]
        holds_arrays = any(ARRAYS.search(field) and "Callable" not in field for field in fields)
        # An interval is one of numbers more often than of arrays.
        assert not holds_arrays or "eq=False" in decorator or node.name in {"Interval", "Design"}, node.name


def test_a_class_inherits_that_its_values_are_equal_only_to_themselves():
    decorators = {node.name: decorator for node, decorator in data_classes()}
    for node, decorator in data_classes():
        inherited = [decorators.get(ancestor.name, "") for ancestor in ancestors(node)[1:]]
        assert "eq=False" in decorator or not any("eq=False" in text for text in inherited), node.name


def test_an_inherited_repr_is_not_replaced_by_a_generated_one():
    for node, decorator in data_classes():
        inherits = any(map(defines_repr, ancestors(node))) and not defines_repr(node)
        assert not inherits or "repr=False" in decorator, node.name


def test_values_with_data_of_people_show_none_of_them():
    """No repr that could appear in an error message or a log holds a report, a token or a private bound."""
    hidden = {
        node.name
        for node, decorator in data_classes()
        if "repr=False" in decorator and not any(map(defines_repr, ancestors(node)))
    }
    assert hidden > {"NewReport", "DisclosedReports", "Pool", "SignRequest", "_Endpoints"}
    assert hidden > {"SmoothSummary", "ScaleBound", "ProposeTestRelease"}


def test_only_values_within_one_file_are_changed():
    mutable = {node.name for node, decorator in data_classes() if "frozen=True" not in decorator}
    assert mutable == {"CheckedSurvey", "_HandIn", "_Names", "_StatFile", "_Worker"}


def test_a_missing_package_comes_with_the_extra_of_the_folder():
    """Several extras install pandas; without a name, the error would recommend the one for notebooks."""
    extras = {"analysis": ["'analysis'"], "survey": ["'collect'"]}
    given = [
        (file, list(map(ast.unparse, call.args[1:])))
        for file, call in calls("extra")
        if ast.unparse(call.args[0]) == "'pandas'" and file.partition("/")[0] in extras
    ]
    assert len(given) > 15
    assert [file for file, names in given if names != extras[file.partition("/")[0]]] == []


def test_only_one_function_counts_the_frames_of_a_warning():
    """`core.checks.warn` points to the user's line; a number of frames in the call is wrong after the next change."""
    assert [file for file, call in calls("warn") if ast.unparse(call.func) == "warnings.warn"] == ["core/checks.py"]


def defaults(function: ast.FunctionDef) -> dict[str, str]:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(named[::-1], arguments.defaults[::-1], strict=False)]
    pairs += [(name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    return {name.arg: ast.unparse(value) for name, value in pairs}


def methods(node: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {line.name: line for line in node.body if isinstance(line, ast.FunctionDef)}


def test_a_method_has_the_defaults_of_the_method_that_it_overrides():
    """An abstract method states the defaults that callers may rely on."""
    pairs = {
        f"{node.name}.{name}({argument})": (default, defaults(methods(ancestor)[name]).get(argument, default))
        for node in classes().values()
        for name, method in methods(node).items()
        for argument, default in defaults(method).items()
        for ancestor in ancestors(node)[1:]
        if name != "__init__" and name in methods(ancestor)
    }
    assert len(pairs) > 50
    assert [name for name, (default, inherited) in pairs.items() if default != inherited] == []
