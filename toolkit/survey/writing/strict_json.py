"""JSON read strictly: no field twice, no number that another reader would read otherwise, no depth that
breaks the reader.
"""

import hashlib
import json
import math
from collections.abc import Callable
from functools import cache
from typing import Any


def canonical(data: Any) -> str:
    """JSON with its keys in order, no spaces, and no number that JSON does not know.

    >>> canonical({"b": [1, True], "a": "é"})
    '{"a":"é","b":[1,true]}'
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(data: Any) -> str:
    """SHA-256 of the spelling, in hexadecimal."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()


def loads(raw: bytes, *, digits: int) -> Any:
    """What the bytes hold; ValueError for everything that is not plain JSON in UTF-8.

    Refused are repeated fields, NaN and infinities (also by overflow), minus zero, whole numbers of more than
    so many digits, other encodings, and nesting beyond what Python follows.

    >>> loads(b'{"a": [1, 2.5, null]}', digits=17)
    {'a': [1, 2.5, None]}
    """
    try:
        return _reader(digits).decode(raw.decode("utf-8"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


@cache
def _reader(digits: int) -> json.JSONDecoder:
    """Made once: making one takes as long as reading a submission."""
    return json.JSONDecoder(
        object_pairs_hook=_once, parse_int=_whole(digits), parse_float=_finite, parse_constant=_refused
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a field is there twice")
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
