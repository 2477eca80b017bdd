"""The columns of a question are found by names and wordings, and rejected if two columns would fit."""

import pandas as pd
import pytest

from tests.survey.samples import cheated, faculty, survey
from toolkit import Question, warner
from toolkit.local import oracles
from toolkit.survey import read_reports


def boxes(options, **changes):
    asked = Question("tried", "Tried?", options=options, multiple=True, required=False, **changes)
    return survey(asked, check=False)


def read(tmp_path, text, asked, **arguments):
    path = tmp_path / "r.csv"
    path.write_text(text, encoding="utf-8")
    frame = read_reports(path, asked, **arguments)
    return [None if pd.isna(cell) else cell for cell in frame["tried"]] if "tried" in frame else frame


DRINKS = boxes(["beer", "wine"])
ADVICE = [
    # The text of a file, a part of the error message, the argument that it names, and the values that are then read.
    (
        "tried___1,tried___2,tried___99\n1,0,1\n",
        "got tried___99 besides",
        {"beer": "tried___1", "wine": "tried___2"},
        "[0]",
    ),
    ("tried_1,tried_2,tried_3\n1,0,1\n", "got tried_3 besides", {"beer": "tried_1", "wine": "tried_3"}, "[0,1]"),
    (
        "tried/beer,tried/wine,tried/rum\n1,0,1\n",
        "got tried/rum besides",
        {"beer": "tried/beer", "wine": "tried/wine"},
        "[0]",
    ),
    ("tried_1,tried_4\n1,0\n", "none for tried", {"beer": "tried_1", "wine": "tried_4"}, "[0]"),
    ("tried,tried/beer,tried/wine\nbeer,0,1\n", "got 1 of 1 rows that differ", "tried", "[0]"),
    (
        "tried,tried/beer,tried/wine\nbeer,0,1\n",
        "must agree with the columns",
        {"beer": "tried/beer", "wine": "tried/wine"},
        "[1]",
    ),
    ("tried,tried/beer,tried/wine\nbeer,,\n", "got 1 of 1 rows that differ", "tried", "[0]"),
    ("a/tried,b/tried\nbeer,wine\n", "only one column must match the question 'tried'", "a/tried", "[0]"),
    (
        "tried_1,tried_2\nWine,Beer\n,Beer\n",
        "must name only its own option",
        {"beer": "tried_2", "wine": "tried_1"},
        "[0,1]",
    ),
    ("Q7\nwine\n", r"if the column has another name, pass columns={'tried': '…'}", "Q7", "[1]"),
    ("Q7___1,Q7___2\n0,1\n", r"if the column has another name, pass columns={'tried': '…'}", "Q7", "[1]"),
]


@pytest.mark.parametrize(("text", "message", "columns", "report"), ADVICE)
def test_a_refusal_names_the_columns_that_can_be_named(tmp_path, text, message, columns, report):
    with pytest.raises(ValueError, match=message) as caught:
        read(tmp_path, text, DRINKS)
    assert "columns={'tried': " in str(caught.value)
    assert read(tmp_path, text, DRINKS, columns={"tried": columns})[0] == report


def test_a_code_that_may_be_an_option_or_its_position_is_refused(tmp_path):
    """Options 2, 3 and 1 have the codes 1, 2 and 3, or are their own codes."""
    asked, text = boxes([2, 3, 1]), "tried___1,tried___2,tried___3\n1,0,0\n"
    with pytest.raises(ValueError, match="got numbers that may be options or positions"):
        read(tmp_path, text, asked)
    columns = {2: "tried___1", 3: "tried___2", 1: "tried___3"}
    assert read(tmp_path, text, asked, columns={"tried": columns}) == ["[0]"]
    # Kobo's columns contain the name of a choice, Qualtrics' its number.
    assert read(tmp_path, text.replace("___", "/"), asked) == ["[2]"]
    assert read(tmp_path, text.replace("___", "_"), asked) == ["[0]"]


def test_options_that_have_no_column_are_named(tmp_path):
    for columns in ({"beer": "b"}, {"beer": "b", "wine": "x"}):
        with pytest.raises(ValueError, match="for each option of 'tried', got none for wine"):
            read(tmp_path, "b,w\n1,0\n", DRINKS, columns={"tried": columns})
    labelled = boxes(["beer", "wine"], labels={"beer": "A beer"})
    assert read(tmp_path, "b,w\n1,0\n", labelled, columns={"tried": {"A beer": "b", "wine": "w"}}) == ["[0]"]


def test_a_column_is_found_by_its_wording_unless_two_questions_share_it(tmp_path):
    asked = survey(faculty(), cheated(), check=False)
    frame = read(tmp_path, "Which  faculty are you in?,Q2\narts,yes\n", asked, columns={"cheated": "Q2"})
    assert list(frame["faculty"]) == ["arts"]
    twins = survey(
        Question("one", "Same?", options=["a", "b"]), Question("two", "Same?", options=["a", "b"]), check=False
    )
    with pytest.raises(ValueError, match="none for one, two"):
        read(tmp_path, "Same?,other\na,b\n", twins)


def test_boxes_of_a_design_by_column_are_found(tmp_path):
    design = oracles.unary(["a", "b", "c"], 1.0)
    text = "tried_1,tried_2,tried_3\n1,0,1\n0,0,0\n"
    path = tmp_path / "r.csv"
    path.write_text(text)
    assert list(read_reports(path, {"tried": design})["tried"]) == ["[0,2]", "[]"]
    with pytest.raises(ValueError, match="each design, got none for other"):
        read_reports(path, {"other": warner("3/4")})
