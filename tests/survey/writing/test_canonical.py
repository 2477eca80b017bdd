import hashlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.survey.writing.strict_json import canonical, digest

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.dictionaries(st.text(), PLAIN))
def test_the_order_of_fields_does_not_matter(data: dict[str, object]) -> None:
    assert canonical(data) == canonical(dict(reversed(data.items())))


def test_the_spelling_is_fixed() -> None:
    assert canonical({"b": 1, "a": ["é", True, None]}) == '{"a":["é",true,null],"b":1}'
    assert digest({"a": "é"}) == hashlib.sha256('{"a":"é"}'.encode()).hexdigest()


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_what_is_no_json_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"a": number})
