import hashlib
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.survey.questions.strict_json import canonical_json, json_digest, loads

NUMBERS = st.integers(-(10**16), 10**16) | st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x != 0)
PLAIN = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.dictionaries(st.text(), PLAIN))
def test_plain_json_is_read_like_python_reads_it(data: dict[str, object]) -> None:
    """The order of fields does not matter."""
    assert loads(json.dumps(data).encode(), max_digits=17) == data
    assert loads(canonical_json(data).encode(), max_digits=17) == data
    assert canonical_json(data) == canonical_json(dict(reversed(data.items())))


def test_the_spelling_is_fixed() -> None:
    assert canonical_json({"b": 1, "a": ["é", True, None]}) == '{"a":["é",true,null],"b":1}'
    assert json_digest({"a": "é"}) == hashlib.sha256('{"a":"é"}'.encode()).hexdigest()


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_what_is_no_json_is_not_written(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": number})


REFUSED = {
    "nothing": b"",
    "not JSON": b"{'a': 1}",
    "more after it": b"{} {}",
    "a field twice": b'{"a": 1, "a": 1}',
    "a field twice, spelled otherwise": b'{"a": 1, "\\u0061": 2}',
    "a field twice, deep down": b'{"x": [{"a": 1, "a": 1}]}',
    "NaN": b"[NaN]",
    "infinity": b"[-Infinity]",
    "infinity by overflow": b"[1e999]",
    "minus zero": b"[-0]",
    "minus zero with a point": b"[-0.0]",
    "minus zero by underflow": b"[-1e-999]",
    "a long number": b"[123456789012345678]",
    "a very long number": b"[" + b"9" * 100_000 + b"]",
    "very deep lists": b"[" * 100_000,
    "very deep tables": b'{"a":' * 100_000,
    "deep and closed": b"[" * 50_000 + b"]" * 50_000,
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "UTF-32": '{"a": 1}'.encode("utf-32-le"),
    "a byte order mark": '{"a": 1}'.encode("utf-8-sig"),
    "Latin-1": '{"a": "é"}'.encode("latin-1"),
    "overlong UTF-8": b'{"a": "\xc0\xaf"}',
    "a half of a character in UTF-8": b'{"a": "\xed\xa0\x80"}',
    "a control character in a string": b'{"a": "\n"}',
    "a comment": b"{} // no",
    "a trailing comma": b"[1,]",
    "a leading zero": b"[01]",
    "a plus sign": b"[+1]",
    "hexadecimal": b"[0x1]",
}


@pytest.mark.parametrize("raw", REFUSED.values(), ids=REFUSED)
def test_everything_else_is_refused_by_one_kind_of_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(raw, max_digits=17)


@pytest.mark.slow
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    try:
        loads(raw, max_digits=17)
    except ValueError:
        return


def test_the_number_of_digits_is_the_callers() -> None:
    assert loads(b"[123456789012345678]", max_digits=18) == [123456789012345678]
