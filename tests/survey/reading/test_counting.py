import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.survey.samples import cheated, faculty, survey
from toolkit import Question
from toolkit.survey.reading.counting import checked_groups, counted, refuse_strange

ROWS = {"faculty": ["arts", "law", "arts", None, "law"], "cheated": ["yes", "no", "yes", "no", None]}
FRAME = pd.DataFrame(ROWS)


def on_a_database(rows):
    return duckdb.from_arrow(pa.table(rows))


ENGINES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy polars": pl.LazyFrame,
    "pyarrow": pa.table,
    "duckdb": on_a_database,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_counts_alike_and_leaves_out_what_is_missing(engine):
    frame = ENGINES[engine](ROWS)
    assert counted(frame, "cheated") == {(): {"no": 2, "yes": 2}}
    assert counted(frame, "cheated", ["faculty"]) == {("arts",): {"yes": 2}, ("law",): {"no": 1}}


def test_a_frame_without_the_column_is_refused():
    with pytest.raises(ValueError, match="must have a column for each question, got none called paid"):
        counted(FRAME, "paid")


def test_reports_are_grouped_by_plain_choices_and_by_understanding():
    assert checked_groups(survey(), ["faculty"]) == ("faculty",)
    assert checked_groups(survey(), "understood") == ("understood",)
    assert checked_groups(survey(), None) == ()


@pytest.mark.parametrize(
    ("name", "words"),
    [("cheated", "which is randomized"), ("age", "which is a number")],
)
def test_people_cannot_be_sorted_by_what_is_hidden_or_has_no_options(name, words):
    age = Question("age", "Age?", bounds=(18, 99))
    with pytest.raises(ValueError, match=words):
        checked_groups(survey(faculty(), cheated(), age), name)


def test_understanding_is_no_group_where_it_was_not_checked():
    with pytest.raises(KeyError):
        checked_groups(survey(check=False), "understood")


def test_strange_values_are_refused_and_not_quoted():
    with pytest.raises(ValueError, match="1 kinds of value that are none") as refused:
        refuse_strange(cheated(), {"maybe, said Ann": -1, "yes": 1})
    assert "Ann" not in str(refused.value)
