import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.survey.samples import DESIGNS, cheated, faculty, survey, survey_with
from toolkit import Question, Survey, k_ary
from toolkit.survey.export import write
from toolkit.survey.questions.question import accepts
from toolkit.survey.rehearsal import report
from toolkit.survey.results import estimate
from toolkit.survey.results.table import cell_value, report_cell, reports_table


def body(answers, understood=True):
    return json.dumps({"answers": answers, "understood": understood})


def test_a_table_has_a_row_a_person_and_labels_for_codes():
    frame = reports_table(survey(), [body({"faculty": 1, "cheated": 0}), body({"faculty": 0, "cheated": 1}, False)])
    assert frame.to_dict("list") == {"faculty": ["law", "arts"], "cheated": ["no", "yes"], "understood": [True, False]}


def test_without_a_check_there_is_no_column_for_it():
    """An empty store gives an empty table."""
    frame = reports_table(survey(check=False), [])
    assert list(frame.columns) == ["faculty", "cheated"]
    assert len(frame) == 0


@pytest.mark.parametrize("changed", ["{}", '{"answers": 7}', "[1]", "not JSON", body({"faculty": 9, "cheated": 0})])
def test_changed_reports_are_refused_and_not_quoted(changed):
    """Another program has changed these reports."""
    with pytest.raises(ValueError, match=r"^every stored report .* got another report: another program") as refused:
        reports_table(survey(), [body({"faculty": 1, "cheated": 0}), changed])
    assert refused.value.__context__ is None


def test_what_was_not_asked_is_missing():
    note = Question("note", "Why?", free_text=True, required=False, warning="Name nobody.")
    frame = reports_table(
        survey(cheated(), note), [body({"cheated": 1, "note": None}), body({"cheated": 1, "note": "so"})]
    )
    assert frame["note"].isna().tolist() == [True, False]


@pytest.mark.parametrize("name", DESIGNS)
def test_every_report_comes_back_from_its_cell_as_it_was(name):
    question = survey_with(DESIGNS[name])["asked"]
    truths = {
        "choice": question.options[0] if question.options else 0,
        "ticks": list(question.options[:1]),
        "number": 1,
    }
    rng = np.random.default_rng(3)
    for _ in range(200):
        sent = report(question, truths[question.kind], rng)
        assert accepts(question, sent)
        assert cell_value(question, report_cell(question, sent)) == sent


@pytest.mark.parametrize(("found", "code"), [(3, 2), (3.0, 2), ("3", 2), (np.int64(3), 2), (9, -1), ("no such", -1)])
def test_labels_keep_their_meaning_whatever_their_type(found, code):
    """Engines and files may change the type of a label."""
    assert cell_value(Question("year", "Year?", options=[1, 2, 3, 4]), found) == code


def test_a_plain_answer_in_words_stays_words():
    assert cell_value(faculty(), "law") == 1
    assert report_cell(faculty(), 1) == "law"


def test_mixed_labels_make_a_column_of_text(tmp_path):
    """As in data/campus.toml: five points, and "undisclosed"."""
    pressure = Question("pressure", "Pressure?", design=k_ary([1, 2, 3, "undisclosed"], epsilon=3.0))
    plain = Question("year", "Year?", options=[1, 2, "later"])
    asked = Survey("Mixed", [plain, pressure], consent="Why.", check=False)
    bodies = [json.dumps({"answers": {"year": code % 3, "pressure": code % 4}}) for code in range(24)]
    frame = reports_table(asked, bodies)
    assert set(frame["pressure"]) == {"1", "2", "3", "undisclosed"}
    found = estimate(asked, frame, by="year", minimum=0)["pressure"]
    assert list(found) == ["1", "2", "later"]
    write(frame, tmp_path / "out.parquet", asked)
    for again in (pd.read_parquet(tmp_path / "out.parquet"), pl.from_pandas(frame), frame.astype(object)):
        again, whole = (estimate(asked, one, minimum=0)["pressure"].value for one in (again, frame))
        assert np.array_equal(again, whole)
