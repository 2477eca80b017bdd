"""Plain data with one spelling, so that equal things have equal bytes and equal hashes."""

import hashlib
import json
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
