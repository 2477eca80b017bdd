"""`check` says whether an answer to an exercise is right, with a hint for a typical mistake; `grade` gives points.

Each right answer is stored as a hash of its normal form. A reader of the file of hashes sees no solution, but somebody
who tries all numbers finds it.
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
"""Common slips: each undoes the slip, so that the right number is left, and has a hint."""


_ROUNDS = 2000  # a millisecond each, so that thousands of guesses are not free
_YES_NO = {"true": "yes", "false": "no", "y": "yes", "n": "no"}
_FUNCTION = re.compile(r"(-?)(.*?)[*·]?(ln|log|sqrt|√)\(?([^()]+)\)?")


def seal(exercise: str, part: int, plain: str) -> str:
    """Hash one part of an answer in its normal form."""
    text = f"{exercise}/{part}/{plain}".encode()
    if not hasattr(hashlib, "pbkdf2_hmac"):  # a Python without OpenSSL, as in a browser
        return _pbkdf2(text, b"the course").hex()[:24]
    return hashlib.pbkdf2_hmac("sha256", text, b"the course", _ROUNDS, 12).hex()


def _pbkdf2(text: bytes, salt: bytes) -> bytes:
    """Return the first block of PBKDF2 with HMAC-SHA-256 (RFC 8018, section 5.2)."""
    block = hmac.digest(text, salt + (1).to_bytes(4, "big"), "sha256")
    total = int.from_bytes(block, "big")
    for _ in range(_ROUNDS - 1):
        block = hmac.digest(text, block, "sha256")
        total ^= int.from_bytes(block, "big")
    return total.to_bytes(32, "big")


def number(answer: object) -> float | None:
    """Read a number as people write it: 0.75, "3/4", "75 %", "3,362", "−0.5", "2 ln 3" or "inf"; None if it is none."""
    if isinstance(answer, bool | np.bool_):
        return None
    try:
        if isinstance(answer, Real | np.number | Decimal):
            return float(answer)
        return _parse(_plain(answer)) if isinstance(answer, str) else None
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def _plain(answer: str) -> str:
    """Return a numeral in lower case, without thousands separators and typographic signs."""
    text = answer.strip().lower().replace("infinity", "inf").replace("infinite", "inf").replace("∞", "inf")
    return re.sub(r"(?<=\d),(?=\d{3}\b)", "", text.replace("−", "-"))


def _parse(text: str) -> float:
    """Return the value of a numeral, or of a multiple of a logarithm or a root."""
    if text.endswith("%"):
        return _parse(text.removesuffix("%").strip()) / 100
    if match := _FUNCTION.fullmatch(text.replace(" ", "")):
        sign, factor, name, argument = match.groups()
        value = (math.log if name in ("ln", "log") else math.sqrt)(_parse(argument))
        return (-1.0 if sign else 1.0) * (_parse(factor) if factor else 1.0) * value
    return float(text) if "inf" in text else float(Fraction(text))


def word(answer: object) -> str:
    """Return a word in lower case and without an article; True and False are yes and no."""
    text = re.sub(r"[^\w\s]", "", str(answer)).strip().lower()
    text = re.sub(r"^(the|a|an|one)\s+", "", text)
    return _YES_NO.get(text, text)


def rounded(value: float, digits: int) -> str:
    """Round a number to its first digits; with `digits` 0 it is a whole number, and exact."""
    if value == 0:
        return "0"
    return f"{value:.{digits - 1}e}" if digits else f"{value:.12g}"


def near(value: float, digits: int) -> set[str]:
    """Round a number and the numbers half a unit of the last digit away: so it counts whether it was rounded or cut.

    A trifle more than half a unit decides ties.
    """
    if value == 0 or not math.isfinite(value) or not digits or (abs(value) >= 10 and value == int(value)):
        return {rounded(value, digits)}
    step = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    return {rounded(value + shift * step, digits) for shift in (-0.5 - 1e-9, 0, 0.5 + 1e-9)}


HINTED = 3
"""Number of digits by which a wrong answer is recognized where a whole number is asked for."""

_last_replies: dict[str, "Reply"] = {}


@dataclass(frozen=True)
class Reply:
    """The reply to an answer; true if the answer is right.

    Parameters
    ----------
    exercise : str
        Name of the exercise.
    right : bool
        Whether the answer is right.
    message : str
        What is wrong with it, or a hint.

    Examples
    --------
    >>> bool(Reply("03.1", right=True, message=""))
    True
    """

    exercise: str
    right: bool
    message: str

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return f"{self.exercise}: {self.message}"


def check(exercise: str, answer: object) -> Reply:
    """Compare an answer with the course's key.

    Numbers are compared to the digits that matter, in any form. An answer of several parts is checked part by part.

    Parameters
    ----------
    exercise : str
        Name of the exercise, such as "03.1".
    answer : Any
        The answer, or its parts in a list, tuple, array or dict.

    Returns
    -------
    Reply
        A hint, or that the answer is right.

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
    reply = compare(exercise, answer)
    _last_replies[exercise] = reply
    return reply


def left_to_do(exercises: Iterable[str], functions: Mapping[str, Any]) -> str:
    """List what a student still has to do in a notebook.

    These are the exercises whose last answer in this session is not right, and the functions that are not written.

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
    tasks = [f"write {name}" for name, function in functions.items() if not _is_written(function)]
    wrong = [name for name in exercises if not _last_replies.get(name)]
    if wrong:
        tasks.append(f"exercise{'s' if len(wrong) > 1 else ''} {', '.join(wrong)}")
    return f"Still to do: {'; '.join(tasks)}." if tasks else "All done."


def _is_written(function: object) -> bool:
    """Whether a function has more than the line of a student's copy, which raises NotImplementedError."""
    code = getattr(function, "__code__", None)
    return code is not None and "NotImplementedError" not in code.co_names


def right_parts(exercise: str, answer: object) -> list[bool]:
    """Return whether each part is right. A missing part is wrong; with too many parts, all are."""
    parts, answers = _answers()[exercise], _several(answer)
    if len(answers) > len(parts):
        return [False] * len(parts)
    right = [not _fault(exercise, index, part, parts) for index, part in enumerate(answers)]
    return right + [False] * (len(parts) - len(answers))


def compare(exercise: str, answer: object) -> Reply:
    """Compare an answer with the key, without recording that it was given."""
    parts = _answers().get(exercise)
    if parts is None:
        reject("`exercise` must be one of the course", repr(exercise), "there is nothing to compare with")
    answers = _several(answer)
    if any(part is Ellipsis or part is None for part in answers):
        return Reply(exercise, False, "no answer yet. Put it in place of the three dots.")
    if len(answers) != len(parts):
        return Reply(exercise, False, f"parts asked for: {len(parts)}; given: {len(answers)}.")
    faults = [_fault(exercise, index, part, parts) for index, part in enumerate(answers)]
    if not any(faults):
        return Reply(exercise, True, "right.")
    if len(faults) == 1:
        return Reply(exercise, False, faults[0])
    messages = [f"part {index} of {len(faults)}: {fault}" for index, fault in enumerate(faults, 1) if fault]
    return Reply(exercise, False, " ".join(messages))


def _several(answer: object) -> list[Any]:
    """Return the parts of an answer."""
    if isinstance(answer, dict):
        return list(answer.values())
    if isinstance(answer, list | tuple | set):
        return list(answer)
    if hasattr(answer, "__array__") and np.ndim(answer):  # an array, or a column of a frame
        return list(np.ravel(np.asarray(answer)).tolist())
    return [answer]


def _fault(exercise: str, index: int, answer: object, parts: list[dict[str, Any]]) -> str:
    """Return what is wrong with one part, or "" if it is right."""
    part = parts[index]
    digits = part.get("digits")
    if digits is None:
        return _fault_of_word(exercise, index, answer, part)
    value = number(answer)
    if value is None:
        return "a number is asked for."
    if _is_right(exercise, index, value, part):
        return ""
    for plain in near(value, digits or HINTED):
        if hint := part["hints"].get(seal(exercise, index, plain)):
            return str(hint)
    return _slip(exercise, index, value, part) or _general_hint(exercise, index, value, parts) or "not yet."


def _fault_of_word(exercise: str, index: int, answer: object, part: dict[str, Any]) -> str:
    """Return what is wrong with a part that is a word."""
    answer_seal = seal(exercise, index, word(answer))
    if answer_seal in part["right"]:
        return ""
    if hint := part["hints"].get(answer_seal):
        return str(hint)
    is_yes_no = {seal(exercise, index, choice) for choice in ("yes", "no")} & set(part["right"])
    if is_yes_no and word(answer) not in ("yes", "no"):
        return "not yet. Answer yes or no."
    return "not yet. A word is asked for."


def _is_right(exercise: str, index: int, value: float, part: dict[str, Any]) -> bool:
    return any(seal(exercise, index, plain) in part["right"] for plain in near(value, part["digits"]))


def _slip(exercise: str, index: int, value: float, part: dict[str, Any]) -> str:
    """Return the hint of the slip that the right number was changed by, if it is one of those that the part lists."""
    for undo, hint in (slip for kind in part["slips"] for slip in SLIPS[kind]):
        undone = undo(value)
        if not math.isfinite(undone):
            continue
        undone = undone if part["digits"] else float(round(undone))
        if _is_right(exercise, index, undone, part):
            return hint
    return ""


def _general_hint(exercise: str, index: int, value: float, parts: list[dict[str, Any]]) -> str:
    """Return a hint that does for any number: rounding, the decimal point, or the answer to another part."""
    part = parts[index]
    if not math.isfinite(value) or not value:
        return ""
    if not part["digits"]:
        if value != int(value):
            is_rounded = _is_right(exercise, index, math.ceil(value), part)
            return "Round up." if is_rounded else "not yet. A whole number is asked for."
        if _is_right(exercise, index, value + 1, part):
            return "One too few: round up, to the number that is enough."
        if _is_right(exercise, index, value - 1, part):
            return "One too many: is one less not enough?"
    elif any(_is_right(exercise, index, near_value, part) for near_value in _nearby(value, part["digits"])):
        return "Close: carry more digits, and round at the end only."
    for factor in (10, 100, 1000):
        if any(_is_right(exercise, index, shifted, part) for shifted in (value * factor, value / factor)):
            return "The digits are right; look at the decimal point."
    for other, other_part in enumerate(parts):
        if other != index and other_part.get("digits") is not None and _is_right(exercise, other, value, other_part):
            return f"This is the answer to part {other + 1}."
    return ""


def _nearby(value: float, digits: int) -> list[float]:
    """Return the numbers up to two units of the last digit away, or one unit if only two digits count."""
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    steps = (-2, -1, 1, 2) if digits > 2 else (-1, 1)
    return [value + step * unit for step in steps]


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
    message : str
        What `check` says to the answer, or that there is none.

    Examples
    --------
    >>> Mark("03.1", points=1, most=2, message="the second part is too small").points
    1
    """

    exercise: str
    points: int
    most: int
    message: str


def grade(answers: Mapping[str, Any], prefix: str = "P.") -> list[Mark]:
    """Give one point for each right part of each exercise, and none for a missing answer.

    Parameters
    ----------
    answers : Mapping[str, Any]
        The answer to each exercise, as `check` takes it.
    prefix : str, default "P."
        The beginning of the exercises' names: "P." is the project, "03." the third notebook.

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
    names = [name for name in _answers() if name.startswith(prefix)]
    if not names:
        reject("`prefix` must be the beginning of an exercise's name", repr(prefix)[:60], "no exercise has it")
    if unknown := sorted(set(answers) - set(names)):
        reject(f"answers must be to {', '.join(names)}", repr(unknown[0])[:60], "correct the name or remove it")
    marks = []
    for name in names:
        right = right_parts(name, answers.get(name, ()))
        message = compare(name, answers[name]).message if name in answers else "no answer."
        marks.append(Mark(name, sum(right), len(right), message))
    return marks


def read_answers(path: Path) -> dict[str, Any]:
    """Read the answers of a TOML file, which has a line for each exercise, such as `"P.1" = ["ln 3", 2.197]`."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        received, remedy = f"{path.name}: {problem}", 'write a line for each exercise, such as "P.1" = [1.5, 3]'
        reject("a hand-in must be a TOML file", received, remedy)
