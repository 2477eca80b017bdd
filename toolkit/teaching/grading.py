"""Marks for submitted notebooks: for the answer cells, and for the functions that students wrote.

The student's code runs in a process with limits (`submissions.py`), which has neither the key nor expected results.
This process draws the hidden cases, and compares the returned results with the key and with the toolkit's results.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.core.checks import reject
from toolkit.teaching.attempts import attempt
from toolkit.teaching.checking import Mark, grade
from toolkit.teaching.hidden_cases import CASES, NOTEBOOKS, HiddenCase, draw_cases, functions_of
from toolkit.teaching.mistakes import results_agree
from toolkit.teaching.submissions import SubmittedNotebook, answer_item, function_item, read_submission, run_submission

_RTOL = 1e-6
_NOT_FOUND = "not in the notebook."


def possible_marks(prefix: str) -> list[Mark]:
    """Return a mark without points for each exercise, and for each function, of the notebook with this prefix.

    Parameters
    ----------
    prefix : str
        The first characters of the exercises' names, such as "03.".

    Returns
    -------
    list[Mark]
        The marks, whose `max_points` is the number of parts of an exercise or of hidden cases of a function.

    Examples
    --------
    >>> [(mark.exercise, mark.max_points) for mark in possible_marks("05.")]
    [('05.1', 3), ('05.2', 2), ('05.3', 2), ('my_limit', 3), ('my_belief', 3)]
    """
    return [*grade({}, prefix), *(Mark(name, 0, CASES, _NOT_FOUND) for name in functions_of(prefix))]


def notebook_prefix(submission: SubmittedNotebook, file_name: str = "") -> str:
    """Return the prefix of a notebook's exercises, from its exercises and functions or else from its file name."""
    names = [f"{name.partition('.')[0]}." for name in submission.exercises]
    names += [prefix for name, prefix in NOTEBOOKS.items() if submission.function_cell(name) is not None]
    known = [name for name in names if _is_prefix(name)]
    if not known and _is_prefix(f"{file_name[:2]}."):
        return f"{file_name[:2]}."
    if not known:
        reject("a notebook must be one of the course", "a notebook without its exercises", "nothing can be graded")
    return Counter(known).most_common(1)[0][0]


def _is_prefix(text: str) -> bool:
    try:
        return len(text) > 1 and bool(grade({}, text))
    except ValueError:
        return False


def grade_notebook(path: Path, *, seed: int, student: str = "", seconds: float = 30) -> list[Mark]:
    """Grade a notebook that a student handed in.

    Its code runs in a separate process and folder, with limits on time and memory. Each right part of an answer gives a
    point, and so does each hidden case for which a function returns the toolkit's result.

    Parameters
    ----------
    path : Path
        The notebook.
    seed : int
        The seed from which the hidden cases are drawn.
    student : str, default ""
        The student's name; students with different names get different hidden cases.
    seconds : float, default 30
        The wall-clock limit for each answer and each function.

    Returns
    -------
    list[Mark]
        The marks of all exercises and functions of the notebook.

    Raises
    ------
    ValueError
        If the file is not a notebook of the course.
    """
    submission = read_submission(path)
    prefix = notebook_prefix(submission, path.name)
    marks = {mark.exercise: mark for mark in possible_marks(prefix)}
    exercises = {name: index for name, index in submission.exercises.items() if name in marks}
    functions = {name: submission.function_cell(name) for name in functions_of(prefix)}
    cases = {name: draw_cases(name, seed, student) for name, index in functions.items() if index is not None}
    items = [answer_item(submission, name, index) for name, index in exercises.items()]
    items += [
        function_item(submission, name, functions[name] or 0, hidden_cases) for name, hidden_cases in cases.items()
    ]
    results = dict(zip([*exercises, *cases], run_submission(items, seconds), strict=True))
    answers = {name: results[name] for name in exercises}
    graded = {mark.exercise: mark for mark in _grade_answers(answers, prefix)}
    graded |= {name: _grade_function(name, hidden_cases, results[name]) for name, hidden_cases in cases.items()}
    return [graded.get(name, mark) for name, mark in marks.items()]


def _grade_answers(results: dict[str, Any], prefix: str) -> list[Mark]:
    """Return the marks of the exercises, from the parts of the answers or the errors that were returned."""
    answers: dict[str, Any] = {}
    for name, result in results.items():
        parts = result.get("parts")
        if isinstance(parts, list) and all(isinstance(part, bool | int | float | str | None) for part in parts):
            answers[name] = parts
    marks = []
    for mark in grade(answers, prefix):
        is_missing = mark.exercise in results and mark.exercise not in answers
        message = _error_message(results[mark.exercise]) if is_missing else mark.message
        marks.append(Mark(mark.exercise, mark.points, mark.max_points, message))
    return marks


def _grade_function(name: str, cases: list[HiddenCase], result: Any) -> Mark:
    """Return the mark of a function: a point for each hidden case that is right, and the first fault."""
    outcomes = result.get("cases")
    if not isinstance(outcomes, list) or len(outcomes) != len(cases):
        return Mark(name, 0, len(cases), _error_message(result))
    faults = [_fault(name, case, outcome) for case, outcome in zip(cases, outcomes, strict=True)]
    first_fault = next((fault for fault in faults if fault), "right.")
    return Mark(name, faults.count(""), len(cases), first_fault)


def _error_message(result: Any) -> str:
    """Return the reason for a missing result as one printable line."""
    return f"stopped: {clean_line(result.get('error', 'returned something that cannot be read'))}."


def clean_line(text: object) -> str:
    """Return a student's text as one printable line of at most 200 characters."""
    line = " ".join(str(text)[:1000].split())
    return "".join(character if character.isprintable() else "?" for character in line)[:200]


def _fault(name: str, case: HiddenCase, outcome: Any) -> str:
    """Return what is wrong with the result of one hidden case, or "" if it is right."""
    if not isinstance(outcome, dict):
        return "returned something that cannot be read."
    if outcome.get("unwritten"):
        return "not written yet."
    results, expected = outcome.get("results"), np.asarray(case.expected)
    if not isinstance(results, list) or len(results) != case.repeat:
        return _error_message(outcome)
    remaining = iter(results)

    def replay(*_: Any) -> Any:
        value = next(remaining)
        return type(clean_line(value.get("type")), (), {})() if isinstance(value, dict) else value

    replay.__name__ = name
    try:
        result = np.asarray(attempt(replay, *case.arguments, like=case.expected, repeat=case.repeat), dtype=float)
    except AssertionError as fault:
        return str(fault)
    is_right = results_agree(name, result, expected.astype(float), case.arguments, _RTOL)
    return "" if is_right else "the result differs from the toolkit's."
