"""Values that SPSS and Stata files declare as missing, and labels of codes that no answer has."""

import pandas as pd
import pytest

from tests.survey.samples import survey
from toolkit import Question, forced
from toolkit.survey import read_reports

pyreadstat = pytest.importorskip("pyreadstat")
CHEATED = Question("cheated", "Cheated?", design=forced("1/6", "1/6"), mode="physical")
ASKED = survey(
    CHEATED,
    Question("age", "Age?", bounds=(0, 120), required=False),
    Question("tried", "Tried?", options=["beer", "wine"], multiple=True, required=False),
    check=False,
)
LABELS = {
    "cheated": {1: "Yes", 2: "No", 9: "Refused"},
    "age": {97: "Refused", 98: "Does not know"},
    "tried_1": {1: "Quoted", 2: "Not quoted", 9: "Refused"},
    "tried_2": {1: "Quoted", 2: "Not quoted", 9: "Refused"},
}
CELLS = {"cheated": [1, 2, 9, 9], "age": [20, 97, 98, 99], "tried_1": [1, 2, 9, 9], "tried_2": [2, 2, 9, 9]}
DECLARED = {"cheated": [9], "age": [{"lo": 97, "hi": 99}], "tried_1": [9], "tried_2": [9]}


def sav(path, missing=None, cells=CELLS):
    frame = pd.DataFrame(cells, dtype=float)
    pyreadstat.write_sav(frame, str(path), variable_value_labels=LABELS, missing_ranges=missing or {})
    return path


def dta(path):
    """The letters .a to .z of Stata, with and without labels."""
    cells = {name: [1.0, 2.0, "a", "z"] for name in ("cheated", "tried_1", "tried_2")} | {"age": [20.0, "a", "b", "z"]}
    cells["tried_2"] = [2.0, 2.0, "a", "z"]
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in cells.items()})
    labels = {name: {1: "Yes", 2: "No", "a": "Refused"} for name in ("cheated", "tried_1", "tried_2")}
    letters = {name: ["a", "b", "z"] for name in frame}
    pyreadstat.write_dta(
        frame, str(path), variable_value_labels=labels | {"age": {"a": "Refused"}}, missing_user_values=letters
    )
    return path


def columns(frame):
    return {name: [None if pd.isna(cell) else cell for cell in frame[name]] for name in frame}


EXPECTED = {"cheated": ["yes", "no", None, None], "age": [20, None, None, None], "tried": ["[0]", "[]", None, None]}


def test_declared_missing_values_are_missing_whatever_their_labels(tmp_path):
    for path in (sav(tmp_path / "r.sav", DECLARED), dta(tmp_path / "r.dta")):
        assert columns(read_reports(path, ASKED)) == EXPECTED
        frame = read_reports(path, {"cheated": CHEATED.design})
        assert columns(frame)["cheated"] == EXPECTED["cheated"]
        assert columns(frame)["age"] == EXPECTED["age"]


def test_the_caller_overrules_what_the_file_declares_and_its_labels(tmp_path):
    path = sav(tmp_path / "r.sav", DECLARED)
    frame = read_reports(path, ASKED, codes={"cheated": {9: "no"}, "age": {97: 97}, "tried": {9: True}})
    assert columns(frame) == {
        "cheated": ["yes", "no", "no", "no"],
        "age": [20, 97, None, None],
        "tried": ["[0]", "[]", "[0,1]", "[0,1]"],
    }
    assert columns(read_reports(path, ASKED, codes={"cheated": {1: "no", 2: "yes"}}))["cheated"] == [
        "no",
        "yes",
        None,
        None,
    ]
    assert columns(read_reports(dta(tmp_path / "r.dta"), ASKED, codes={"cheated": {"a": "no"}}))["cheated"][2] == "no"
    assert columns(read_reports(path, ASKED, missing={"cheated": [2]}))["cheated"] == ["yes", None, None, None]


def test_labels_that_are_no_answers_are_refused_only_where_they_occur(tmp_path):
    path = sav(tmp_path / "r.sav")
    with pytest.raises(ValueError, match="labels of codes for 'cheated' must be among its answers") as caught:
        read_reports(path, ASKED)
    assert "Refused" not in str(caught.value)
    assert "missing={'cheated': […]}" in str(caught.value)
    missing = {"cheated": [9], "age": [97, 98, 99], "tried": [9]}
    assert columns(read_reports(path, ASKED, missing=missing)) == EXPECTED
    assert columns(read_reports(path, {"cheated": CHEATED.design}, missing=[9]))["cheated"] == EXPECTED["cheated"]
    fewer = {name: cells[:1] for name, cells in CELLS.items()}
    assert columns(read_reports(sav(tmp_path / "s.sav", cells=fewer), ASKED)) == {
        name: EXPECTED[name][:1] for name in EXPECTED
    }


def test_the_word_zero_may_be_missing_where_the_file_has_labels(tmp_path):
    """Without labels, 0 would be read as "no", and could not be missing."""
    frame = pd.DataFrame({"cheated": [1.0, 2.0, 0.0]})
    labels = {"cheated": {1: "Yes", 2: "No", 0: "Refused"}}
    pyreadstat.write_sav(frame, str(tmp_path / "r.sav"), variable_value_labels=labels)
    asked = survey(CHEATED, check=False)
    assert columns(read_reports(tmp_path / "r.sav", asked, missing=[0])) == {"cheated": ["yes", "no", None]}
    frame.to_csv(tmp_path / "r.csv", index=False)
    with pytest.raises(ValueError, match="`missing` must not name a report of 'cheated'"):
        read_reports(tmp_path / "r.csv", asked, missing=[0])
    codes = {"cheated": {1: "yes", 2: "no"}}
    assert columns(read_reports(tmp_path / "r.csv", asked, missing=[0], codes=codes)) == {
        "cheated": ["yes", "no", None]
    }
