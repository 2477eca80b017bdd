"""`check`: whether an answer to an exercise is right, and a hint where a typical mistake made it; `grade`: its points.

The right answers are sealed, each as a hash of its plainest form. A file of hashes shows no solution to a reader; it is
no secret from who tries all numbers.
"""

import hashlib
import hmac
import json
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from importlib import resources
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.core.checks import reject

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


_ROUNDS = 2000  # a millisecond each, so that thousands of guesses are not free
_YES_NO = {"true": "yes", "false": "no", "y": "yes", "n": "no"}
_FUNCTION = re.compile(r"(-?)(.*?)[*·]?(ln|log|sqrt|√)\(?([^()]+)\)?")


def seal(exercise: str, part: int, plain: str) -> str:
    """The hash of one part of an answer in its plain form."""
    words = f"{exercise}/{part}/{plain}".encode()
    if not hasattr(hashlib, "pbkdf2_hmac"):  # a Python without OpenSSL, as in a browser
        return _stretched(words, b"the course").hex()[:24]
    return hashlib.pbkdf2_hmac("sha256", words, b"the course", _ROUNDS, 12).hex()


def _stretched(words: bytes, salt: bytes) -> bytes:
    """The first block of PBKDF2 with HMAC-SHA-256 (RFC 8018, section 5.2)."""
    block = hmac.digest(words, salt + (1).to_bytes(4, "big"), "sha256")
    total = int.from_bytes(block, "big")
    for _ in range(_ROUNDS - 1):
        block = hmac.digest(words, block, "sha256")
        total ^= int.from_bytes(block, "big")
    return total.to_bytes(32, "big")


def number(answer: object) -> float | None:
    """A number as people write it: 0.75, "3/4", "75 %", "3,362", "−0.5", "2 ln 3", "inf"; None for what is none."""
    if isinstance(answer, bool | np.bool_):
        return None
    try:
        if isinstance(answer, Real | np.number | Decimal):
            return float(answer)
        return _written(_plain(answer)) if isinstance(answer, str) else None
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def _plain(answer: str) -> str:
    text = answer.strip().lower().replace("infinity", "inf").replace("infinite", "inf").replace("∞", "inf")
    return re.sub(r"(?<=\d),(?=\d{3}\b)", "", text.replace("−", "-"))


def _written(text: str) -> float:
    """The value of a numeral, or of a multiple of a logarithm or of a root."""
    if text.endswith("%"):
        return _written(text.removesuffix("%").strip()) / 100
    if match := _FUNCTION.fullmatch(text.replace(" ", "")):
        sign, times, name, of = match.groups()
        value = (math.log if name in ("ln", "log") else math.sqrt)(_written(of))
        return (-1.0 if sign else 1.0) * (_written(times) if times else 1.0) * value
    return float(text) if "inf" in text else float(Fraction(text))


def word(answer: object) -> str:
    """A word in small letters, without an article; yes and no may be truth values."""
    text = re.sub(r"[^\w\s]", "", str(answer)).strip().lower()
    text = re.sub(r"^(the|a|an|one)\s+", "", text)
    return _YES_NO.get(text, text)


def rounded(value: float, digits: int) -> str:
    """A number by its first digits; with `digits` 0 all of them, as of whole numbers, which are exact."""
    if value == 0:
        return "0"
    return f"{value:.{digits - 1}e}" if digits else f"{value:.12g}"


def near(value: float, digits: int) -> set[str]:
    """Its first digits, and those of numbers half a step away and a trifle, which decides ties: it counts alike
    whether rounded before or cut.
    """
    if value == 0 or not math.isfinite(value) or not digits or (abs(value) >= 10 and value == int(value)):
        return {rounded(value, digits)}
    step = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    return {rounded(value + shift * step, digits) for shift in (-0.5 - 1e-9, 0, 0.5 + 1e-9)}


HINTED = 3
"""To how many digits a wrong answer is known where a whole number is asked for."""

_told: dict[str, "Reply"] = {}


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

    Examples
    --------
    >>> bool(Reply("03.1", right=True, said=""))
    True
    """

    exercise: str
    right: bool
    said: str

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return f"{self.exercise}: {self.said}"


def check(exercise: str, answer: object) -> Reply:
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
    >>> from toolkit.teaching import check
    >>> check("03.1", ("3/4", 1.0986, 5))
    03.1: right.
    >>> check("03.1", (75, 1.0986, 5))
    03.1: part 1 of 3: This is a number of per cent; a share between 0 and 1 is asked for.
    >>> check("03.1", ...)
    03.1: no answer yet. Put it in place of the three dots.
    """
    reply = compared(exercise, answer)
    _told[exercise] = reply
    return reply


def left_to_do(exercises: Iterable[str], functions: Mapping[str, Any]) -> str:
    """Say what a student has still to do in a notebook.

    Exercises that are not right yet, by their last answer in this session, and functions without lines of their own.

    Parameters
    ----------
    exercises : iterable of str
        Names of all exercises.
    functions : mapping of str to callable
        The functions that students write, by name.

    Returns
    -------
    str
        One sentence.

    Examples
    --------
    >>> left_to_do(["03.9"], {"my_warner": None})
    'Still to do: write my_warner; exercise 03.9.'
    """
    open_ones = [f"write {name}" for name, function in functions.items() if not _has_lines(function)]
    wrong = [name for name in exercises if not _told.get(name)]
    if wrong:
        open_ones.append(f"exercise{'s' if len(wrong) > 1 else ''} {', '.join(wrong)}")
    return f"Still to do: {'; '.join(open_ones)}." if open_ones else "All done."


def _has_lines(function: object) -> bool:
    """Whether a function has more than the line that a student's copy leaves, which says that it has none."""
    code = getattr(function, "__code__", None)
    return code is not None and "NotImplementedError" not in code.co_names


def right_parts(exercise: str, answer: object) -> list[bool]:
    """Whether each part of an exercise is right; one that is missing is not, and none is where there are too many."""
    parts, answers = _answers()[exercise], _several(answer)
    if len(answers) > len(parts):
        return [False] * len(parts)
    right = [not _fault(exercise, place, one, parts[place]) for place, one in enumerate(answers)]
    return right + [False] * (len(parts) - len(answers))


def compared(exercise: str, answer: object) -> Reply:
    """What is said to an answer; it is not noted that it was given."""
    parts = _answers().get(exercise)
    if parts is None:
        reject("`exercise` must be one of the course", repr(exercise), "there is nothing to compare with")
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


def _several(answer: object) -> list[Any]:
    if isinstance(answer, dict):
        return list(answer.values())
    if isinstance(answer, list | tuple | set):
        return list(answer)
    if hasattr(answer, "__array__") and np.ndim(answer):  # of NumPy, or a column of a frame
        return list(np.ravel(np.asarray(answer)).tolist())
    return [answer]


def _fault(exercise: str, place: int, answer: object, part: dict[str, Any]) -> str:
    """What is wrong with one part; nothing if it is right."""
    seals, digits = set(part["right"]), part.get("digits")
    if digits is None:
        answer_seal = seal(exercise, place, word(answer))
        return "" if answer_seal in seals else part["hints"].get(answer_seal, "not yet. A word is asked for.")
    value = number(answer)
    if value is None:
        return "a number is asked for."
    if {seal(exercise, place, plain) for plain in near(value, digits)} & seals:
        return ""
    for own in {seal(exercise, place, plain) for plain in near(value, digits or HINTED)} & part["hints"].keys():
        return str(part["hints"][own])
    return _slipped(exercise, place, value, part) or ("not yet." if digits else "not yet. It is a whole number.")


def _slipped(exercise: str, place: int, value: float, part: dict[str, Any]) -> str:
    for back, advice in (slip for kind in part["slips"] for slip in SLIPS[kind]):
        meant = back(value)
        if not math.isfinite(meant):
            continue
        meant = meant if part["digits"] else float(round(meant))
        if any(seal(exercise, place, plain) in part["right"] for plain in near(meant, part["digits"])):
            return advice
    return ""


@lru_cache(maxsize=1)
def _answers() -> dict[str, list[dict[str, Any]]]:
    text = resources.files("toolkit.teaching").joinpath("static", "answers.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


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
        What `check` says to the answer, or that there is none.

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
    >>> from toolkit.teaching import grade
    >>> [(mark.exercise, mark.points, mark.most) for mark in grade({"P.1": ["ln 3", "2 ln 3"], "P.2": [3586, 3586]})]
    [('P.1', 2, 2), ('P.2', 1, 2), ('P.3', 0, 3), ('P.4', 0, 2)]
    """
    names = [name for name in _answers() if name.startswith(of)]
    if not names:
        reject("`of` must be the beginning of an exercise's name", repr(of)[:60], "there is nothing to grade")
    if unknown := sorted(set(answers) - set(names)):
        reject(f"answers must be to {', '.join(names)}", repr(unknown[0])[:60], "it would count for nothing")
    marks = []
    for name in names:
        right = right_parts(name, answers.get(name, ()))
        said = compared(name, answers[name]).said if name in answers else "no answer."
        marks.append(Mark(name, sum(right), len(right), said))
    return marks


def read_answers(path: Path) -> dict[str, Any]:
    """The answers of a TOML file: a line for each exercise, `"P.1" = ["ln 3", 2.197]`."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        received, remedy = f"{path.name}: {problem}", 'write a line for each exercise, such as "P.1" = [1.5, 3]'
        reject("a hand-in must be a TOML file", received, remedy)
