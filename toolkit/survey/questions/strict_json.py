"""Strict JSON: without repeated fields, numbers that readers interpret differently, or excessive nesting."""

import datetime as dt
import hashlib
import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any


def as_plain(value: Any) -> Any:
    """Return plain data for JSON and TOML: fractions as text unless whole, days as text, tuples as lists."""
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else str(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [as_plain(item) for item in value]
    return value.to_dict()


def canonical(data: object) -> str:
    """Return JSON with sorted keys, no spaces, and no NaN or infinity."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(data: object) -> str:
    return hashlib.sha256(canonical(data).encode()).hexdigest()


def loads(raw: bytes, *, digits: int) -> Any:
    """Parse strict JSON in UTF-8; raise ValueError for anything else.

    Repeated fields, NaN, infinities (also by overflow), minus zero, whole numbers of more than `digits` digits, and
    nesting beyond Python's recursion limit are errors.
    """
    try:
        return _reader(digits).decode(raw.decode("utf-8"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


@cache
def _reader(digits: int) -> json.JSONDecoder:
    """Return a decoder, cached because creating one takes as long as parsing a submission."""
    return json.JSONDecoder(
        object_pairs_hook=_once, parse_int=_whole(digits), parse_float=_finite, parse_constant=_refused
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a field occurs twice")
    return data


def _whole(most: int) -> Callable[[str], int]:
    def read(digits: str) -> int:
        if len(digits.removeprefix("-")) > most or digits == "-0":
            raise ValueError("a whole number is too long, or minus zero")
        return int(digits)

    return read


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number) or (number == 0 and digits.startswith("-")):
        raise ValueError("a number is too large, or minus zero")
    return number


def _refused(_: str) -> float:
    raise ValueError("NaN and infinity are not JSON")
