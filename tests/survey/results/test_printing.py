import re

import numpy as np
import pandas as pd
import pytest

from tests.survey.samples import DESIGNS, cheated, faculty, survey
from toolkit import Question, warner
from toolkit.local.numeric import one_bit
from toolkit.survey.questions.question import estimates_shares
from toolkit.survey.results import estimate
from toolkit.survey.results.survey_results import option_label, table_rows

YEAR = Question("year", "Year?", options=[1, 2], labels={1: "first", 2: "second or later"})
DRINKS = Question("drinks", "How many drinks a week?", design=one_bit((0, 40), 1.0))


def asked():
    return survey(
        faculty(labels={"arts": "Arts & Letters", "law": "Law"}),
        YEAR,
        cheated(design=warner(p="3/4")),
        DRINKS,
        check=False,
    )


def frame(n=400):
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "faculty": rng.choice(["arts", "law"], n, p=[0.9, 0.1]),
            "year": rng.choice([1, 2], n),
            "cheated": rng.choice(["no", "yes"], n, p=[0.6, 0.4]),
            "drinks": rng.integers(0, 2, n),
        }
    )


def test_groups_and_options_have_their_labels():
    table = estimate(asked(), frame(), by=["faculty", "year"], minimum=0).summary()
    assert set(table["faculty"]) == {"Arts & Letters", "Law"}
    assert set(table["year"]) == {"first", "second or later"}
    assert set(table.query("question == 'cheated'")["answer"]) == {"Yes"}
    page = estimate(asked(), frame(), by="faculty", minimum=0)._repr_html_()
    assert "Arts &amp; Letters" in page
    assert page.count("<table>") == 3  # one for each question: year, cheated, drinks


def test_a_question_is_one_table_with_groups_as_rows_and_its_text_once():
    page = estimate(asked(), frame(), by="faculty", minimum=0)._repr_html_()
    assert page.count("Have you ever cheated on an exam?") == 1
    table = re.search(r"cheated on an exam\?</h4>(<table>.*?</table>)", page)[1]
    assert table.count("<tr>") == 3


@pytest.mark.parametrize("by", [None, "faculty", ["faculty", "year"]])
def test_in_one_table_every_number_has_the_same_decimals(by):
    """Groups of 360 and 40 people have errors of different sizes; two digits of the smallest error determine the number
    of digits.
    """
    found = estimate(asked(), frame(), by=by, minimum=0)
    for name in ("cheated", "drinks"):
        rows = table_rows(found, name)
        numbers = [
            text for row in rows for text in re.findall(r"\d+(?:\.\d+)?", f"{row.estimate} {row.se} {row.interval}")
        ]
        assert len({len(text.partition(".")[2]) for text in numbers}) == 1


def test_shares_are_in_percent_and_a_mean_of_drinks_is_not():
    found = estimate(asked(), frame())
    (share,), (mean,) = table_rows(found, "cheated"), table_rows(found, "drinks")
    assert share.estimate.endswith(" %")
    assert share.se.endswith(" points")
    assert share.interval.endswith(" %")
    assert float(share.estimate.removesuffix(" %")) == pytest.approx(100 * found["cheated"].value, abs=0.05)
    assert float(mean.estimate) == pytest.approx(found["drinks"].value, abs=0.05)
    assert "%" not in mean.estimate + mean.se + mean.interval


def test_intervals_are_never_printed_as_points():
    """An empty interval is not printed as numbers."""
    nobody = pd.DataFrame({"cheated": ["no"] * 60})
    (row,) = table_rows(estimate(survey(cheated(), check=False), nobody), "cheated")
    assert row.interval == "no share fits"
    assert row.estimate.startswith("\N{MINUS SIGN}")
    alike = survey(Question("age", "Age?", bounds=(0, 99)), check=False)
    (row,) = table_rows(estimate(alike, pd.DataFrame({"age": [20, 20]}), minimum=2), "age")
    assert (row.estimate, row.se) == ("20", "—")


def test_where_nobody_answered_there_are_dashes():
    with_gap = frame(40).assign(cheated=lambda one: one["cheated"].where(one["faculty"] == "arts"))
    rows = {row.group: row for row in table_rows(estimate(asked(), with_gap, by="faculty", minimum=0), "cheated")}
    assert (rows["Law",].estimate, rows["Law",].se, rows["Law",].interval, rows["Law",].n) == ("—", "—", "—", 0)


@pytest.mark.parametrize("by", [None, "faculty"])
def test_tables_name_their_columns(by):
    """The column of answers is present only if there are answers."""
    page = estimate(asked(), frame(), by=by, minimum=0)._repr_html_()
    numbers = ["estimate", "standard error", "95 % interval", "people"]
    tables = re.findall(r"<h4>(.*?)</h4><table>(.*?)</table>", page)
    assert len(tables) == (4 if by is None else 3)
    for text, table in tables:
        answers = [] if text == DRINKS.text else ["answer"]
        assert re.findall("<th>(.*?)</th>", table) == [*([] if by is None else [by]), *answers, *numbers]
        for row in re.findall("<tr>(.*?)</tr>", table)[1:]:
            named, cells = (re.findall(f"<{kind}", row) for kind in ("th", "td"))
            assert (len(named), len(cells)) == (len(answers) + (by is not None), len(numbers))


def test_the_comprehension_check_as_a_group_is_in_words():
    """The values include every form in which an engine or a file stores true, or the number of the successful
    attempt.
    """
    words = {
        "passed": (True, np.True_, "True", "true", 1, 1.0, "1", "1.0"),
        "passed at the second try": (2, 2.0, np.int64(2), "2", "2.0"),
        "did not pass": (False, "False", "false", 0, 0.0, "0", "0.0", 3),
    }
    for label, values in words.items():
        assert {option_label(survey(), "understood", value) for value in values} == {label}


@pytest.mark.slow
def test_a_frame_for_csv_and_latex_has_whole_people_and_no_code(tmp_path):
    table = estimate(asked(), frame(), by="faculty", minimum=0).summary()
    assert list(table.columns) == [
        "question", "faculty", "answer", "estimate", "standard error", "95 % interval", "people",
    ]  # fmt: skip
    assert table["people"].dtype.kind == "i"
    latex = table.to_latex(index=False, escape=True)
    assert "Arts \\& Letters" in latex
    table.to_csv(tmp_path / "results.csv", index=False)
    assert pd.read_csv(tmp_path / "results.csv", dtype={"people": int}).equals(table)
    assert "99 % interval" in estimate(asked(), frame()).summary(level=0.99)


@pytest.mark.parametrize("name", DESIGNS)
def test_every_randomizer_is_a_share_or_a_mean(name):
    question = Question("asked", "What?", design=DESIGNS[name])
    assert estimates_shares(question) == (question.kind != "number" or name == "square_wave")
