"""The process in which a student's code runs: it gets cells and arguments, and returns plain JSON.

It never has the key or the expected results, so a forged result earns no more points than a wrong answer.
`submissions.py` starts it and documents its limits.
"""

import ast
import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from importlib import import_module
from typing import Any

_LARGEST_RESULT = 1_000_000
_PRELOADED = {
    "pandas": "pandas",
    "IPython": "IPython.display",
    "show": "toolkit.show",
    "explorers": "toolkit.teaching.explorers",
    "analysis": "toolkit.analysis",
}
"""Words in the cells, and what is loaded for them before the time of a student's code begins to count."""
Json = Any


def decode_argument(value: Json) -> Any:
    """Make an argument of a student's function from its JSON form; see `submissions.encode_argument`."""
    if not isinstance(value, dict):
        return [decode_argument(item) for item in value] if isinstance(value, list) else value
    if "array" in value:
        import numpy as np

        return np.array(value["array"], dtype=value["dtype"])
    if "seed" in value:
        import numpy as np

        return np.random.default_rng(value["seed"])
    if "fraction" in value:
        return Fraction(value["fraction"])
    return {key: decode_argument(item) for key, item in value["dict"]}


def run_items(items: list[dict[str, Any]], send: Callable[[Json], None]) -> None:
    """Run each answer cell or function in a new namespace, and send its result."""
    for item in items:
        try:
            result = _answer(item) if item["kind"] == "answer" else _function_results(item)
        except BaseException as error:  # also SystemExit and KeyboardInterrupt from the student's code
            result = {"error": _error_text(error)}
        send(result)


def _answer(item: dict[str, Any]) -> Json:
    """Return the parts of an answer, as the cell passes them to `check`, or else those of the variable `answer`."""
    recorded: dict[str, Any] = {}

    def check(exercise: str, answer: object = ...) -> None:
        recorded[str(exercise)] = answer

    names, problem = _run_cells(item["cells"][:-1])
    names["check"] = check
    try:
        _execute(item["cells"][-1], names)
    except BaseException as error:
        if item["exercise"] not in recorded:
            return {"error": _error_text(problem or error)}
    answer = recorded.get(item["exercise"], names.get("answer", ...))
    from toolkit.teaching.checking import split_parts

    return {"parts": [_plain_part(part) for part in split_parts(answer)[:50]]}


def _plain_part(part: Any) -> Json:
    """Return one part of an answer as JSON; None stands for a missing part."""
    if part is None or part is Ellipsis:
        return None
    if hasattr(part, "item") and getattr(part, "ndim", None) == 0:
        part = part.item()
    if isinstance(part, bool | str):
        return part[:200] if isinstance(part, str) else bool(part)
    if isinstance(part, int):
        return int(part) if abs(part) < 10**300 else "a number that is too large"
    from toolkit.teaching.checking import parse_number

    number = parse_number(part)
    return str(part)[:200] if number is None else float(number)


def _function_results(item: dict[str, Any]) -> Json:
    """Call a student's function with the arguments of each case; return the results or errors."""
    names, problem = _run_cells(item["cells"])
    function = names.get(item["name"])
    if not callable(function):
        return {"error": _error_text(problem) if problem else f"{item['name']} is not a function"}
    return {"cases": [_call(function, case) for case in item["cases"]]}


def _call(function: Callable[..., Any], case: dict[str, Any]) -> Json:
    arguments = [decode_argument(value) for value in case["arguments"]]
    try:
        return {"results": [_plain_result(function(*arguments)) for _ in range(case["repeat"])]}
    except NotImplementedError:
        return {"unwritten": True}
    except BaseException as error:
        return {"error": _error_text(error)}


def _plain_result(result: Any) -> Json:
    """Return a function's result as nested lists of numbers, None if it is empty, or a description of its type."""
    import numpy as np

    if result is None or result is Ellipsis:
        return None
    try:
        array = np.asarray(result, dtype=float)
    except (TypeError, ValueError):
        return {"type": type(result).__name__[:60]}
    if array.size > _LARGEST_RESULT:
        return {"type": f"array of {array.size} numbers"}
    return array.tolist()


def _run_cells(cells: list[str]) -> tuple[dict[str, Any], BaseException | None]:
    """Run all cells in a new namespace, even after an error; return the namespace and the first error."""
    names: dict[str, Any] = {"__name__": "__main__", "display": lambda *_, **__: None}
    problem: BaseException | None = None
    for source in cells:
        try:
            _execute(source, names)
        except BaseException as error:
            problem = problem or error
    return names, problem


def _execute(source: str, names: dict[str, Any]) -> None:
    exec(compile(ast.parse(source), "<cell>", "exec"), names)  # noqa: S102  this is what the process is for


def _error_text(error: BaseException) -> str:
    try:
        return f"{type(error).__name__[:60]}: {str(error)[:200]}"
    except BaseException:  # `str` can fail for an exception class that the student wrote
        return "an exception"


def main(task: Mapping[str, Any]) -> None:
    """Confine this process, and then run the items of a task; results go to a copy of the standard output."""
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    cells = {cell for item in task["items"] for cell in item["cells"]}
    for word, module in _PRELOADED.items():
        if any(word in cell for cell in cells):
            with contextlib.suppress(ImportError):
                import_module(module)
    from toolkit.teaching.confinement import confine

    layers = confine(task["folder"], task["readable"], cpu_seconds=task["cpu_seconds"])

    def send(result: Json) -> None:
        results.write(json.dumps(result) + "\n")
        results.flush()

    send({"layers": layers})
    run_items(task["items"], send)


if __name__ == "__main__":
    _task = json.load(sys.stdin)
    sys.path.append(_task["root"])
    main(_task)
