"""Cells: names of options in one text, ticked boxes, decimal marks, codes; and error messages whose advice works."""

import pandas as pd
import pytest

from tests.survey.samples import survey
from toolkit import Question, forced
from toolkit.local import oracles
from toolkit.survey import read_reports
from toolkit.survey.exchange.cells import OptionNames, kinds, split_options

CHOICE = Question("city", "City?", options=["arts", "law"])
CHEATED = Question("cheated", "Cheated?", design=forced("1/6", "1/6"), mode="physical")
TRIED = Question("tried", "Tried?", options=["beer", "wine"], multiple=True, required=False)
AGE = Question("age", "Age?", bounds=(0, 99_999), required=False)
YEAR = Question("year", "Year?", options=[1, 2, 3])


def read(tmp_path, text, question, **arguments):
    path = tmp_path / "r.csv"
    path.write_text(text, encoding="utf-8")
    frame = read_reports(path, survey(question, check=False), **arguments)
    return [None if pd.isna(cell) else cell for cell in frame[question.name]]


# The question, the file, the kind of value that the error names, an argument that it names, and the values that are
# then read.
ADVICE = [
    (CHOICE, "city\n1\n2\n", "whole numbers", {"codes": {"city": {1: "arts", 2: "law"}}}, ["arts", "law"]),
    (CHOICE, "city\narts\n9\n", "whole numbers", {"missing": {"city": [9]}}, ["arts", None]),
    (CHOICE, "city\narts\nmusic\n", "texts", {"codes": {"city": {"music": "arts"}}}, ["arts", "arts"]),
    (CHOICE, "city\narts\nmusic\n", "texts", {"missing": {"city": ["music"]}}, ["arts", None]),
    (CHOICE, 'city\narts\n"a, b"\n', "texts with separators", {"missing": {"city": ["a, b"]}}, ["arts", None]),
    (CHOICE, "city\narts\n2026-01-01\n", "dates", {"missing": {"city": ["2026-01-01"]}}, ["arts", None]),
    (CHEATED, "cheated\n1\n2\n", "whole numbers", {"codes": {"cheated": {1: "yes", 2: "no"}}}, ["yes", "no"]),
    (AGE, 'age\n"1,234"\n5\n', "numbers with commas", {"decimal": ","}, [1.234, 5]),
    (AGE, 'age\n"1,234"\n5\n', "numbers with commas", {"decimal": "."}, [1234, 5]),
    (AGE, 'age\n"3,5"\n1.5\n', "numbers with commas", {"decimal": ","}, [3.5, 1.5]),
    (AGE, "age\n-99\n5\n", "whole numbers", {"missing": {"age": [-99]}}, [None, 5]),
    (AGE, "age\nninety\n5\n", "texts", {"codes": {"age": {"ninety": 90}}}, [90, 5]),
    (TRIED, 'tried\n"1,2"\n2\n', "whole numbers", {"codes": {"tried": {1: "beer", 2: "wine"}}}, ["[0,1]", "[1]"]),
    (TRIED, 'tried\nbeer\n"rum,wine"\n', "texts with sep", {"missing": {"tried": ["rum,wine"]}}, ["[0]", None]),
    (TRIED, "tried_1,tried_2\nno,o\n", "texts", {"codes": {"tried": {"o": True}}}, ["[1]"]),
    (TRIED, "tried_1,tried_2\n1,0\n-9,-9\n", "whole numbers", {"missing": {"tried": [-9]}}, ["[0]", None]),
    (TRIED, "tried_1,tried_2\n1,0\n2,1\n", "whole numbers", {"codes": {"tried": {2: False}}}, ["[0]", "[1]"]),
    (YEAR, "year\n1\n9\n", "whole numbers", {"missing": [9]}, [1, None]),
]


@pytest.mark.parametrize(("question", "text", "kind", "argument", "reports"), ADVICE)
def test_a_refusal_names_column_kind_and_argument_and_the_argument_works(
    tmp_path, question, text, kind, argument, reports
):
    with pytest.raises(ValueError, match=rf"of '{question.name}' must .* \({kind}") as caught:
        read(tmp_path, text, question)
    message = str(caught.value)
    assert f"{next(iter(argument))}=" in message
    assert "nothing was read" in message
    assert not any(cell in message for cell in ("music", "ninety", "rum", "2026", "1,234", "-99"))
    assert read(tmp_path, text, question, **argument) == reports


def test_what_is_missing_everywhere_must_be_no_report_of_any_question(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("year,age\n1,20\n2,2\n")
    asked = survey(YEAR, AGE, check=False)
    with pytest.raises(ValueError, match=r"must not name a report of 'year', got 2: .* missing={'…': \[2\]}"):
        read_reports(path, asked, missing=[2])
    frame = read_reports(path, asked, missing={"age": [2]})
    assert (list(frame["year"]), list(frame["age"].isna())) == ([1, 2], [False, True])


@pytest.mark.parametrize(
    "argument", [{"codes": {"towns": {1: "arts"}}}, {"missing": {"x": [1]}}, {"columns": {"x": "city"}}]
)
def test_an_argument_for_a_question_that_was_not_asked_is_refused(tmp_path, argument):
    with pytest.raises(ValueError, match=rf"`{next(iter(argument))}` must have questions as its keys \(city\), got '"):
        read(tmp_path, "city\narts\n", CHOICE, **argument)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["3,5", "12", "7,25"], [3.5, 12, 7.25]),
        (["3.5", "12", "1e1"], [3.5, 12, 10]),
        (["-0,5", "1,234"], [-0.5, 1.234]),
    ],
)
def test_a_comma_that_cannot_separate_thousands_is_a_decimal_mark(tmp_path, cells, numbers):
    question = Question("age", "Age?", bounds=(-10, 9999))
    for separator in (";", "\t"):
        text = f"age{separator}x\n" + "".join(f"{cell}{separator}a\n" for cell in cells)
        assert read(tmp_path, text, question) == numbers
    assert read(tmp_path, "age\n" + "".join(f'"{cell}"\n' for cell in cells), question) == numbers


def test_marks_between_thousands_go_where_the_decimal_mark_is_given(tmp_path):
    assert read(tmp_path, "age;x\n1.234,5;a\n2.000;a\n", AGE, decimal=",") == [1234.5, 2000]
    assert read(tmp_path, 'age\n"1,234.5"\n"2,000"\n', AGE, decimal=".") == [1234.5, 2000]


@pytest.mark.parametrize(
    ("text", "options", "separator"),
    [
        ("Beer, cold,Wine", ["Beer, cold", "Wine"], ","),
        ("root beer beer", ["root beer", "beer"], r"\s+"),
        ("WINE;beer", ["wine", "beer"], "[;,]"),
        ("wine", ["wine"], ","),
    ],
)
def test_names_may_contain_what_separates_them(text, options, separator):
    names = {name.casefold(): name for name in ["Beer, cold", "Wine", "root beer", "beer", "wine", *options]}
    read = split_options(text, names, separator)
    assert {option.casefold() for option in read or ()} == {option.casefold() for option in options}


@pytest.mark.parametrize("text", ["a,b,a", "a,,b", "c", "", "a,b,", "x,y"])
def test_a_text_that_names_no_options_or_could_name_several_is_not_read(text):
    names = {name: name for name in ("a", "b", "x", "y", "x,y")}
    assert split_options(text, names, ",") is None


@pytest.mark.parametrize(
    ("rows", "reports"),
    [
        ("Y,N\nN,Y\n", ["[0]", "[1]"]),
        ("1,2\n2,1\n,\n", ["[0]", "[1]", None]),
        ("Checked,Unchecked\nUnchecked,Unchecked\n", ["[0]", "[]"]),
        ("beer,\n,wine\n,\n", ["[0]", "[1]", None]),
        ("beer,0\n0,wine\n", ["[0]", "[1]"]),
        ("quoted,not quoted\n", ["[0]"]),
        ("TRUE,FALSE\n", ["[0]"]),
        ("1.0,0.0\n", ["[0]"]),
        ("1.0,2.0\n", ["[0]"]),
    ],
)
def test_boxes_are_ticked_in_the_words_of_every_tool(tmp_path, rows, reports):
    assert read(tmp_path, f"tried_1,tried_2\n{rows}", TRIED) == reports


def test_a_box_that_holds_the_name_of_its_option_is_ticked(tmp_path):
    asked = Question("tried", "Tried?", options=["1", "2", "0"], multiple=True)
    assert read(tmp_path, "tried_1,tried_2,tried_3\n1,2,0\n,2,\n,,0\n", asked) == ["[0,1,2]", "[1]", "[2]"]
    text = "tried_1,tried_2\n1,2\n1,2\n"
    pair = Question("tried", "Tried?", options=["1", "2"], multiple=True)
    with pytest.raises(ValueError, match="words that may be names of options"):
        read(tmp_path, text, pair)
    assert read(tmp_path, text, pair, codes={"tried": {1: True, 2: False}}) == ["[0]", "[0]"]


def test_a_randomized_set_may_be_empty_so_blanks_must_be_explained(tmp_path):
    boxes = Question("tried", "Tried?", design=oracles.unary(["beer", "wine"], 1.0))
    for text, report in (("tried_1,tried_2\nY,\n,\n", False), ("tried,x\nbeer,1\n,1\n", [])):
        with pytest.raises(ValueError, match="must distinguish empty reports of 'tried' from missing") as caught:
            read(tmp_path, text, boxes)
        assert f"codes={{'tried': {{'': {report}}}}}" in str(caught.value)
        assert read(tmp_path, text, boxes, codes={"tried": {"": report}}) == ["[0]", "[]"]
        assert read(tmp_path, text, boxes, missing={"tried": [""]}) == ["[0]", None]


def test_kinds_are_named_without_a_value():
    cells = ["3", "3.5", "3,5", "yes", "a; b", "2026-01-01 10:00", "[1]", True, 7.5, pd.Timestamp("2026-01-01")]
    assert kinds(cells) == (
        "truth values, whole numbers, dates, numbers with commas, numbers with points, lists, texts, "
        "texts with separators"
    )


def test_a_name_that_two_options_have_is_no_name():
    names = OptionNames(["a", "b"], ["Same", "same"], ["first", "second"])
    assert (names("Same"), names("SAME"), names("second"), names("2. second"), names("fir…")) == (
        "a",
        None,
        "b",
        "b",
        "a",
    )
    assert names.unambiguous() == {"first": "a", "second": "b"}
