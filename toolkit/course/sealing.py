"""Sealed answers: an answer in its plainest form, and a hash of it. A file of hashes shows no solution to a
reader; it is no secret from who tries all numbers.
"""

import hashlib
import hmac
import math
import re
from decimal import Decimal
from fractions import Fraction
from numbers import Real

import numpy as np

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
    """A number as people write it: 0.75, "3/4", "75 %", "3,362", "−0.5", "2 ln 3", "inf"; None for what is
    none.

    >>> number("75 %"), number("3,362"), number("perhaps")
    (0.75, 3362.0, None)
    """
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
    if math.isnan(value) or math.isinf(value) or value == 0:
        return "0" if value == 0 else str(value)
    return f"{value:.{digits - 1}e}" if digits else f"{value:.12g}"


def near(value: float, digits: int) -> set[str]:
    """What a number is read as: its first digits, and those of numbers half a step away, so that it counts
    alike whether it was rounded before or cut. A whole number is rounded once: nobody cuts one.
    """
    if value == 0 or not math.isfinite(value) or not digits or (abs(value) >= 10 and value == int(value)):
        return {rounded(value, digits)}
    step = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    return {rounded(value + shift * step, digits) for shift in (-0.5, 0, 0.5)}
