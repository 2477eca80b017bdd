"""Strict JSON: no repeated fields, no numbers that parsers interpret differently, no excessive nesting."""

import hashlib
import json
import math
from collections.abc import Callable
from functools import cache
from typing import Any


def canonical_json(data: object) -> str:
    """Return JSON with sorted keys, no spaces, and no NaN or infinity."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def json_digest(data: object) -> str:
    """Return the SHA-256 hash of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical_json(data).encode()).hexdigest()


def loads(raw: bytes, *, max_digits: int) -> Any:
    """Parse strict JSON in UTF-8; raise ValueError for anything else.

    Repeated fields, NaN, infinities (also by overflow), minus zero, whole numbers of more than `max_digits` digits, and
    nesting beyond Python's recursion limit are errors.
    """
    try:
        return decoder(max_digits).decode(raw.decode("utf-8"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


@cache
def decoder(max_digits: int) -> json.JSONDecoder:
    """Return a decoder, which is cached because creating one takes as long as parsing a submission."""
    return json.JSONDecoder(
        object_pairs_hook=_unique_fields,
        parse_int=_whole_number_parser(max_digits),
        parse_float=_parse_finite,
        parse_constant=_reject_constant,
    )


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a field occurs twice")
    return data


def _whole_number_parser(max_digits: int) -> Callable[[str], int]:
    def read(digits: str) -> int:
        if len(digits.removeprefix("-")) > max_digits or digits == "-0":
            raise ValueError("a whole number is too long, or minus zero")
        return int(digits)

    return read


def _parse_finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number) or (number == 0 and digits.startswith("-")):
        raise ValueError("a number is too large, or minus zero")
    return number


def _reject_constant(_: str) -> float:
    raise ValueError("NaN and infinity are not JSON")
