"""`check`: whether an answer to an exercise is right, and a hint where a typical mistake made it."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np

from toolkit.core.checks import refuse
from toolkit.course.sealing import near, number, seal, word

SLIPS: dict[str, tuple[tuple[Callable[[float], float], str], ...]] = {
    "percent": (
        (lambda x: x / 100, "This is a number of per cent; a share between 0 and 1 is asked for."),
        (lambda x: x * 100, "This is a share; the number itself is asked for."),
    ),
    "root2": (
        (lambda x: x / math.sqrt(2), "Too large by √2: is it a scale, or a standard deviation?"),
        (lambda x: x * math.sqrt(2), "Too small by √2: is it a scale, or a standard deviation?"),
    ),
    "neighbors": (
        (lambda x: x / 2, "Twice too large. Which neighbors are meant: does somebody come or go, or change?"),
        (lambda x: x * 2, "Half of it. Which neighbors are meant: does somebody come or go, or change?"),
    ),
    "log": (
        (lambda x: math.log(x) if x > 0 else math.nan, "This is a factor; epsilon is its logarithm."),
        (lambda x: math.exp(min(x, 700)), "This is a logarithm; the factor itself is asked for."),
    ),
    "sign": ((lambda x: -x, "The size is right; look at the sign."),),
    "inverse": ((lambda x: 1 / x if x else math.nan, "Upside down: what is divided by what?"),),
}
"""Slips of the hand, as the way back to the right number, with what to say."""


@dataclass(frozen=True)
class Reply:
    """What is said to an answer; true if it is right.

    Parameters
    ----------
    exercise : str
        Name of the exercise.
    right : bool
        Whether the answer is right.
    said : str
        What is wrong with it, or a hint.
    """

    exercise: str
    right: bool
    said: str

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return f"{self.exercise}: {self.said}"


def check(exercise: str, answer: Any) -> Reply:
    """Compare an answer with the sealed one of the course.

    Numbers count to the digits that matter, in any form; of several parts each is looked at.

    Parameters
    ----------
    exercise : str
        Name of the exercise, such as "03.1".
    answer : Any
        The answer, or its parts in a list, tuple, array or dict.

    Returns
    -------
    Reply
        What is said to the answer; true if it is right.

    Raises
    ------
    ValueError
        If the course has no such exercise.

    Examples
    --------
    >>> from toolkit.course import check
    >>> check("03.1", ("3/4", 1.0986, 5))
    03.1: right.
    >>> check("03.1", (75, 1.0986, 5))
    03.1: part 1 of 3: This is a number of per cent; a share between 0 and 1 is asked for.
    >>> check("03.1", ...)
    03.1: no answer yet. Put it in place of the three dots.
    """
    parts = _answers().get(exercise)
    if parts is None:
        refuse("`exercise` must be one of the course", repr(exercise), "there is nothing to compare with")
    answers = _several(answer)
    if any(one is Ellipsis or one is None for one in answers):
        return Reply(exercise, False, "no answer yet. Put it in place of the three dots.")
    if len(answers) != len(parts):
        return Reply(exercise, False, f"parts asked for: {len(parts)}; given: {len(answers)}.")
    faults = [_fault(exercise, place, one, parts[place]) for place, one in enumerate(answers)]
    if not any(faults):
        return Reply(exercise, True, "right.")
    if len(faults) == 1:
        return Reply(exercise, False, faults[0])
    words = [f"part {place} of {len(faults)}: {fault}" for place, fault in enumerate(faults, 1) if fault]
    return Reply(exercise, False, " ".join(words))


def _several(answer: Any) -> list[Any]:
    if isinstance(answer, np.ndarray):
        return list(np.ravel(answer).tolist())
    if isinstance(answer, dict):
        return list(answer.values())
    return list(answer) if isinstance(answer, list | tuple | set) else [answer]


def _fault(exercise: str, place: int, answer: Any, part: dict[str, Any]) -> str:
    """What is wrong with one part; nothing if it is right."""
    seals, digits = set(part["right"]), part.get("digits")
    if digits is None:
        answer_seal = seal(exercise, place, word(answer))
        return "" if answer_seal in seals else part["hints"].get(answer_seal, "not yet. A word is asked for.")
    value = number(answer)
    if value is None:
        return "a number is asked for."

    def sealed(number: float) -> set[str]:
        return {seal(exercise, place, plain) for plain in near(number, digits)}

    own = sealed(value)
    if own & seals:
        return ""
    for known in own & part["hints"].keys():
        return str(part["hints"][known])
    for back, hint in (slip for kind in part["slips"] for slip in SLIPS[kind]):
        meant = back(value)
        if not math.isnan(meant) and sealed(meant) & seals:
            return hint
    return "not yet."


@lru_cache(maxsize=1)
def _answers() -> dict[str, list[dict[str, Any]]]:
    text = resources.files("toolkit.course").joinpath("static", "answers.json").read_text(encoding="utf-8")
    return dict(json.loads(text))
