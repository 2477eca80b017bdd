import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.tables import escape_formulas, unescape_formulas

TEXTS = st.text(st.sampled_from("a1'\" =+-@;,\t\r\n＝＠[]"), max_size=12)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+1", "@SUM(A1)", "＝1", " =1", '"=1"', "'=1"])
def test_a_text_that_begins_like_a_formula_gets_an_apostrophe(text):
    assert escape_formulas(text) == f"'{text}"


@pytest.mark.parametrize("value", ["fine", "a=1", "", -3, 2.5, None, True, "[0,1]", "that's; it, or - not", "1,5"])
def test_everything_else_stays_as_it_is(value):
    assert escape_formulas(value) is value


@pytest.mark.slow
@given(TEXTS)
def test_no_part_begins_a_formula(text):
    parts = escape_formulas(text).translate({ord(sign): ";" for sign in ",\t\r\n"}).split(";")
    assert [part for part in parts if part.lstrip(' "').startswith(tuple("=+-@＝＠"))] == []


@pytest.mark.slow
@given(TEXTS)
def test_every_text_comes_back_as_it_was_written(text):
    assert unescape_formulas(escape_formulas(text)) == text
