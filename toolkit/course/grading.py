"""`grade`: the points of a hand-in, one for each number that `check` finds right."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.core.checks import refuse
from toolkit.course.checking import compared, exercises, right_parts


@dataclass(frozen=True)
class Mark:
    """The points for one exercise.

    Parameters
    ----------
    exercise : str
        Name of the exercise.
    points : int
        How many of its parts are right.
    most : int
        How many parts it has.
    said : str
        What `check` says to the answer.

    Examples
    --------
    >>> Mark("03.1", points=1, most=2, said="the second part is too small").points
    1
    """

    exercise: str
    points: int
    most: int
    said: str


def grade(answers: Mapping[str, Any], of: str = "P.") -> list[Mark]:
    """Give a point for each right part of each exercise, and none for what is not answered.

    Parameters
    ----------
    answers : Mapping[str, Any]
        The answer to each exercise, as `check` takes it.
    of : str
        How the names of the exercises begin: "P." is the project, "03." the third notebook.

    Returns
    -------
    list[Mark]
        One for each exercise, answered or not.

    Raises
    ------
    ValueError
        If the course has no such exercises, or an answer is to none of them.

    Examples
    --------
    >>> from toolkit.course import grade
    >>> [(mark.exercise, mark.points, mark.most) for mark in grade({"P.1": ["ln 3", "2 ln 3"], "P.2": [3586, 3586]})]
    [('P.1', 2, 2), ('P.2', 1, 2), ('P.3', 0, 3), ('P.4', 0, 2)]
    """
    names = [name for name in exercises() if name.startswith(of)]
    if not names:
        refuse("`of` must be the beginning of an exercise's name", repr(of)[:60], "there is nothing to grade")
    if unknown := sorted(set(answers) - set(names)):
        refuse(f"answers must be to {', '.join(names)}", repr(unknown[0])[:60], "it would count for nothing")
    marks = []
    for name in names:
        answer = answers.get(name, ...)
        right = right_parts(name, answer)
        marks.append(Mark(name, sum(right), len(right), compared(name, answer).said))
    return marks


def read_answers(path: Path) -> dict[str, Any]:
    """The answers of a TOML file: a line for each exercise, `"P.1" = ["ln 3", 2.197]`."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        received, remedy = f"{path.name}: {problem}", 'write a line for each exercise, such as "P.1" = [1.5, 3]'
        refuse("a hand-in must be a TOML file", received, remedy)
