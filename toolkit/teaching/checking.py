"""`check` compares an answer with the key and gives a hint about typical mistakes; `grade` gives points.

Each right answer is stored as a hash of its normal form. The file of hashes does not show the answers, but they can be
found by trying all numbers.
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
from toolkit.teaching.replies import reply_text

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
"""Common slips, each with a function that undoes the slip and a hint."""


_HASH_ROUNDS = 2000  # a hash takes about a millisecond, which makes it slow to try thousands of answers
_LONGEST_NUMERAL = 300  # the pattern of functions takes a time that grows with the square of the length
_YES_NO = {"true": "yes", "false": "no", "y": "yes", "n": "no", "ja": "yes", "nein": "no", "sí": "yes", "si": "yes"}
_INFINITY = re.compile("infinity|infinite|infinito|unendlich|∞")
# A comma before three digits separates thousands, as in 3,362, except after a leading zero, as in 0,693.
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])(0|\d+(?!,\d{3}\b)),(?=\d)")
_FUNCTION_PATTERN = re.compile(r"(-?)(.*?)[*·]?(ln|log|sqrt|√)\(?([^()]+)\)?")


def seal(exercise: str, part: int, normal_form: str) -> str:
    """Return the hash of one part of an answer in its normal form."""
    text = f"{exercise}/{part}/{normal_form}".encode()
    if not hasattr(hashlib, "pbkdf2_hmac"):  # Python in a browser has no OpenSSL
        return _pbkdf2(text, b"the course").hex()[:24]
    return hashlib.pbkdf2_hmac("sha256", text, b"the course", _HASH_ROUNDS, 12).hex()


def _pbkdf2(text: bytes, salt: bytes) -> bytes:
    """Return the first block of PBKDF2 with HMAC-SHA-256 (RFC 8018, section 5.2)."""
    block = hmac.digest(text, salt + (1).to_bytes(4, "big"), "sha256")
    total = int.from_bytes(block, "big")
    for _ in range(_HASH_ROUNDS - 1):
        block = hmac.digest(text, block, "sha256")
        total ^= int.from_bytes(block, "big")
    return total.to_bytes(32, "big")


def parse_number(answer: object) -> float | None:
    """Parse a number such as 0.75, "3/4", "75 %", "0,75", "3,362", "−0.5", "2 ln 3" or "inf"; return None otherwise."""
    if isinstance(answer, bool | np.bool_):
        return None
    try:
        if isinstance(answer, Real | np.number | Decimal):
            return float(answer)
        if not isinstance(answer, str) or len(answer) > _LONGEST_NUMERAL:
            return None
        return _parse_numeral(_clean_numeral(_DECIMAL_COMMA.sub(r"\1.", answer)))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def _clean_numeral(answer: str) -> str:
    """Convert a numeral to lower case, remove thousands separators, and replace typographic signs."""
    text = _INFINITY.sub("inf", answer.strip().lower())
    return re.sub(r"(?<=\d),(?=\d{3}\b)", "", text.replace("−", "-"))


def _parse_numeral(text: str) -> float:
    """Return the value of a numeral, or of a multiple of a logarithm or a root."""
    if text.endswith("%"):
        return _parse_numeral(text.removesuffix("%").strip()) / 100
    if match := _FUNCTION_PATTERN.fullmatch(text.replace(" ", "")):
        sign, factor, name, argument = match.groups()
        value = (math.log if name in ("ln", "log") else math.sqrt)(_parse_numeral(argument))
        return (-1.0 if sign else 1.0) * (_parse_numeral(factor) if factor else 1.0) * value
    if "inf" in text:
        return float(text)
    # The exponent of a Fraction is expanded: "1e999999999" would have a billion digits.
    value = float(Fraction(text)) if "/" in text else float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def normalize_word(answer: object) -> str:
    """Return a word in lower case and without an article; True and False are yes and no."""
    text = re.sub(r"[^\w\s]", "", str(answer)).strip().lower()
    text = re.sub(r"^(the|a|an|one)\s+", "", text)
    return _YES_NO.get(text, text)


def round_to_digits(value: float, digits: int) -> str:
    """Format a number with this many significant digits; with `digits` 0, format a whole number exactly."""
    if value == 0:
        return "0"
    return f"{value:.{digits - 1}e}" if digits else f"{value:.12g}"


def nearby_roundings(value: float, digits: int) -> set[str]:
    """Round a number and the numbers half a unit of the last digit away, so that truncated answers match as well.

    The distance is slightly more than half a unit, which decides ties.
    """
    if value == 0 or not math.isfinite(value) or not digits or (abs(value) >= 10 and value == int(value)):
        return {round_to_digits(value, digits)}
    step = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    return {round_to_digits(value + shift * step, digits) for shift in (-0.5 - 1e-9, 0, 0.5 + 1e-9)}


HINT_DIGITS = 3
"""Number of digits by which wrong answers are recognized if the right answer is a whole number."""

NO_ANSWER = "no answer yet. Put it in place of the three dots."
"""The reply to an answer cell as it comes."""

_last_replies: dict[str, "Reply"] = {}


@dataclass(frozen=True)
class Reply:
    """The reply to an answer, which is true if the answer is right.

    Parameters
    ----------
    exercise : str
        Name of the exercise.
    is_right : bool
        Whether the answer is right.
    message : str
        A description of the fault in the answer, or a hint.

    Examples
    --------
    >>> bool(Reply("03.1", is_right=True, message=""))
    True
    """

    exercise: str
    is_right: bool
    message: str

    def __bool__(self) -> bool:
        return self.is_right

    def __repr__(self) -> str:
        return f"{self.exercise}: {self.message}"


def check(exercise: str, answer: object) -> Reply:
    """Compare an answer with the course's key.

    Numbers may have any form and are compared by their significant digits. The parts of an answer are checked one by
    one.

    Parameters
    ----------
    exercise : str
        Name of the exercise, such as "03.1".
    answer : Any
        The answer, or its parts in a list, tuple, array or dict.

    Returns
    -------
    Reply
        Whether the answer is right, with a hint if it is not.

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

    The list names the exercises without a correct answer in this session, and the functions not yet written.

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
    tasks = [reply_text("write {name}", name=name) for name, function in functions.items() if not _is_written(function)]
    wrong = [name for name in exercises if not _last_replies.get(name)]
    if wrong:
        tasks.append(reply_text("exercises {names}" if len(wrong) > 1 else "exercise {names}", names=", ".join(wrong)))
    return reply_text("Still to do: {tasks}.", tasks="; ".join(tasks)) if tasks else reply_text("All done.")


def _is_written(function: object) -> bool:
    """Return whether the student has replaced the line of the copy that raises NotImplementedError."""
    code = getattr(function, "__code__", None)
    return code is not None and "NotImplementedError" not in code.co_names


def right_parts(exercise: str, answer: object) -> list[bool]:
    """Return whether each part is right. Missing parts are wrong; if there are too many, all are wrong."""
    parts, answers = _answer_key()[exercise], split_parts(answer)
    if len(answers) > len(parts):
        return [False] * len(parts)
    are_right = [not _fault_message(exercise, index, part, parts) for index, part in enumerate(answers)]
    return are_right + [False] * (len(parts) - len(answers))


def compare(exercise: str, answer: object) -> Reply:
    """Compare an answer with the key without recording it."""
    parts = _answer_key().get(exercise)
    if parts is None:
        reject("`exercise` must be one of the course", repr(exercise), "there is nothing to compare with")
    answers = split_parts(answer)
    if any(part is Ellipsis or part is None for part in answers):
        return Reply(exercise, False, reply_text(NO_ANSWER))
    if len(answers) != len(parts):
        message = reply_text("parts asked for: {expected}; given: {given}.", expected=len(parts), given=len(answers))
        return Reply(exercise, False, message)
    faults = [_fault_message(exercise, index, part, parts) for index, part in enumerate(answers)]
    if not any(faults):
        return Reply(exercise, True, reply_text("right."))
    if len(faults) == 1:
        return Reply(exercise, False, faults[0])
    messages = [
        reply_text("part {part} of {parts}: {fault}", part=index, parts=len(faults), fault=fault)
        for index, fault in enumerate(faults, 1)
        if fault
    ]
    return Reply(exercise, False, " ".join(messages))


def split_parts(answer: object) -> list[Any]:
    """Return the parts of an answer as a list."""
    if isinstance(answer, dict):
        return list(answer.values())
    if isinstance(answer, list | tuple | set):
        return list(answer)
    if hasattr(answer, "__array__") and np.ndim(answer):  # an array, or a column of a frame
        return list(np.ravel(np.asarray(answer)).tolist())
    return [answer]


def _fault_message(exercise: str, index: int, answer: object, parts: list[dict[str, Any]]) -> str:
    """Return a description of the fault in one part, or "" if it is right."""
    part = parts[index]
    digits = part.get("digits")
    if digits is None:
        return _word_fault(exercise, index, answer, part)
    value = parse_number(answer)
    if value is None:
        return reply_text("a number is asked for.")
    if _is_right(exercise, index, value, part):
        return ""
    for text in nearby_roundings(value, digits or HINT_DIGITS):
        if hint := part["hints"].get(seal(exercise, index, text)):
            return reply_text(str(hint))
    hint = _slip_hint(exercise, index, value, part) or _general_hint(exercise, index, value, parts)
    return hint or reply_text("not yet.")


def _word_fault(exercise: str, index: int, answer: object, part: dict[str, Any]) -> str:
    """Return a description of the fault in a part that is a word, or "" if it is right."""
    answer_seal = seal(exercise, index, normalize_word(answer))
    if answer_seal in part["right"]:
        return ""
    if hint := part["hints"].get(answer_seal):
        return reply_text(str(hint))
    is_yes_no = {seal(exercise, index, choice) for choice in ("yes", "no")} & set(part["right"])
    if is_yes_no and normalize_word(answer) not in ("yes", "no"):
        return reply_text("not yet. Answer yes or no.")
    return reply_text("not yet. A word is asked for.")


def _is_right(exercise: str, index: int, value: float, part: dict[str, Any]) -> bool:
    return any(seal(exercise, index, text) in part["right"] for text in nearby_roundings(value, part["digits"]))


def _slip_hint(exercise: str, index: int, value: float, part: dict[str, Any]) -> str:
    """Return a hint about the slip that turned the right number into this value, or "" if there is no such slip."""
    for undo, hint in (slip for kind in part["slips"] for slip in SLIPS[kind]):
        undone = undo(value)
        if not math.isfinite(undone):
            continue
        undone = undone if part["digits"] else float(round(undone))
        if _is_right(exercise, index, undone, part):
            return reply_text(hint)
    return ""


def _general_hint(exercise: str, index: int, value: float, parts: list[dict[str, Any]]) -> str:
    """Return a hint that applies to any number: rounding, the decimal point, or the answer to a different part."""
    part = parts[index]
    if not math.isfinite(value) or not value:
        return ""
    if not part["digits"]:
        if value != int(value):
            is_rounded = _is_right(exercise, index, math.ceil(value), part)
            return reply_text("Round up." if is_rounded else "not yet. A whole number is asked for.")
        if _is_right(exercise, index, value + 1, part):
            return reply_text("One too few: round up, to the number that is enough.")
        if _is_right(exercise, index, value - 1, part):
            return reply_text("One too many: is one less not enough?")
    elif any(_is_right(exercise, index, near_value, part) for near_value in _nearby_values(value, part["digits"])):
        return reply_text("Close: carry more digits, and round at the end only.")
    for factor in (10, 100, 1000):
        if any(_is_right(exercise, index, shifted, part) for shifted in (value * factor, value / factor)):
            return reply_text("The digits are right; look at the decimal point.")
    for other, other_part in enumerate(parts):
        if other != index and other_part.get("digits") is not None and _is_right(exercise, other, value, other_part):
            return reply_text("This is the answer to part {part}.", part=other + 1)
    return ""


def _nearby_values(value: float, digits: int) -> list[float]:
    """Return the numbers up to two units of the last digit away, or up to one unit if `digits` is at most 2."""
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    steps = (-2, -1, 1, 2) if digits > 2 else (-1, 1)
    return [value + step * unit for step in steps]


@lru_cache(maxsize=1)
def _answer_key() -> dict[str, list[dict[str, Any]]]:
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
        Number of right parts.
    max_points : int
        Number of parts.
    message : str
        The message of `check` for the answer, or "no answer.".

    Examples
    --------
    >>> Mark("03.1", points=1, max_points=2, message="the second part is too small").points
    1
    """

    exercise: str
    points: int
    max_points: int
    message: str


def grade(answers: Mapping[str, Any], prefix: str = "P.") -> list[Mark]:
    """Give one point for each right part of each exercise, and none for a missing answer.

    Parameters
    ----------
    answers : Mapping[str, Any]
        The answer to each exercise, in the form that `check` accepts.
    prefix : str, default "P."
        The first characters of the exercises' names: "P." for the project, "03." for the third notebook.

    Returns
    -------
    list[Mark]
        A mark for each exercise, including exercises without an answer.

    Raises
    ------
    ValueError
        If the course has no such exercises, or if an answer belongs to none of these exercises.

    Examples
    --------
    >>> from toolkit.teaching import grade
    >>> marks = grade({"P.1": ["ln 5", "2 ln 5"]})
    >>> [(mark.exercise, mark.points, mark.max_points) for mark in marks]
    [('P.1', 0, 2), ('P.2', 0, 2), ('P.3', 0, 3), ('P.4', 0, 2)]
    """
    names = [name for name in _answer_key() if name.startswith(prefix)]
    if not names:
        reject("`prefix` must be the beginning of an exercise's name", repr(prefix)[:60], "no exercise has it")
    if unknown := sorted(set(answers) - set(names)):
        reject(f"answers must be to {', '.join(names)}", repr(unknown[0])[:60], "correct the name or remove it")
    marks = []
    for name in names:
        are_right = right_parts(name, answers.get(name, ()))
        message = compare(name, answers[name]).message if name in answers else "no answer."
        marks.append(Mark(name, sum(are_right), len(are_right), message))
    return marks


def read_answers(path: Path) -> dict[str, Any]:
    """Read answers from a TOML file that has a line for each exercise, such as `"P.1" = ["ln 3", 2.197]`."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        received, remedy = f"{path.name}: {problem}", 'write a line for each exercise, such as "P.1" = [1.5, 3]'
        reject("a hand-in must be a TOML file", received, remedy)
