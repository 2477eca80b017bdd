"""Rows that are not people's answers are left out, counted by reason, and read if the caller requests it."""

import warnings

import pandas as pd
import pytest

from tests.survey.samples import cheated, faculty, survey
from toolkit import Question, forced
from toolkit.analysis import plain
from toolkit.survey import read_reports
from toolkit.survey.exchange.tools import TOOLS

BOXES = Question("tried", "Tried?", options=["beer", "wine"], multiple=True, required=False)
ASKED = survey(faculty(), cheated(design=forced("1/6", "1/6")), check=False)

FILES = {
    "qualtrics": (
        """ResponseId,Status,Finished,faculty,cheated
1,IP Address,True,arts,yes
2,Survey Preview,True,law,no
3,Spam,True,law,no
4,Survey Test,True,law,no
5,IP Address,False,law,no
6,Imported,1,arts,yes
""",
        {"preview": 1, "test": 1, "spam": 1, "unfinished": 1},
    ),
    "qualtrics in numbers": (
        """ResponseId,Status,Finished,faculty,cheated
1,0,1,arts,yes
2,1,1,law,no
3,8,1,law,no
4,2,1,law,no
5,0,0,law,no
6,16,1,arts,yes
""",
        {"preview": 1, "test": 1, "spam": 1, "unfinished": 1},
    ),
    "limesurvey": (
        """id;"submitdate";faculty;cheated
1;2026-01-01;arts;Y
2;;law;N
3;2026-01-02;arts;Y
""",
        {"unfinished": 1},
    ),
    "kobo": (
        """_id,_validation_status,g/faculty,g/cheated
1,,arts,yes
2,validation_status_not_approved,law,no
3,On Hold,arts,yes
4,Not Approved,law,no
""",
        {"not approved": 2},
    ),
    "odk": (
        """KEY,ReviewState,faculty,cheated
1,,arts,yes
2,rejected,law,no
3,approved,arts,yes
""",
        {"not approved": 1},
    ),
    "redcap": (
        """record_id,e_timestamp,faculty,cheated,e_complete
1,2026-01-01,arts,1,2
2,[not completed],law,0,0
3,,law,0,0
4,,arts,1,1
""",
        {"unfinished": 2},
    ),
    "redcap, labelled": (
        """Record ID,Have you ever cheated on an exam?,Which faculty are you in?,Complete?
1,Yes,arts,Complete
2,No,law,Incomplete
3,Yes,arts,Unverified
""",
        {"unfinished": 1},
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_rows_that_are_not_people_are_left_out_and_counted(tmp_path, name):
    text, counts = FILES[name]
    path = tmp_path / "r.csv"
    path.write_text(text)
    rows, n = len(text.splitlines()) - 1, sum(counts.values())
    with pytest.warns(UserWarning, match=f"^{n} of {rows} rows left out") as caught:
        frame = read_reports(path, ASKED)
    assert frame.attrs["left_out"] == counts
    assert set(frame["faculty"]) == {"arts"}
    assert list(frame["cheated"]) == ["yes"] * (rows - n)
    assert str(caught[0].message) in frame.attrs["remarks"]
    for keep in ("all", list(counts)):
        everybody = read_reports(path, ASKED, keep=keep)
        assert (len(everybody), everybody.attrs["left_out"]) == (rows, {})


@pytest.mark.filterwarnings("ignore:.* rows left out")
@pytest.mark.parametrize("name", FILES)
def test_one_reason_can_be_kept_also_with_designs_by_column(tmp_path, name):
    text, counts = FILES[name]
    path = tmp_path / "r.csv"
    path.write_text(text)
    rows = len(text.splitlines()) - 1 - sum(counts.values())
    for reason, count in counts.items():
        assert len(read_reports(path, ASKED, keep=reason)) == rows + count
    names = text.splitlines()[0].replace(";", ",").split(",")
    columns = {"cheated": next(name for name in names if "cheated" in name)}
    assert len(read_reports(path, {"cheated": forced("1/6", "1/6")}, columns=columns)) == rows


def test_a_row_with_two_reasons_needs_both_to_be_kept(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("ResponseId,Status,Finished,faculty,cheated\n1,IP Address,True,arts,yes\n2,Spam,False,law,no\n")
    with pytest.warns(UserWarning, match="left out"):
        assert len(read_reports(path, ASKED, keep="spam")) == 1
    assert len(read_reports(path, ASKED, keep=("spam", "unfinished"))) == 2


def test_columns_of_questions_and_of_other_programs_leave_no_row_out(tmp_path):
    """A question may have the name of a tool's column, and a spreadsheet may have a column `Status`."""
    path = tmp_path / "r.csv"
    for text in ("ResponseId,Status\n1,Spam\n2,None\n", "nr,Status\n1,Spam\n2,None\n"):
        path.write_text(text)
        assert list(read_reports(path, {"Status": plain(["Spam", "None"])})["Status"]) == ["Spam", "None"]
    path.write_text("nr,Status,faculty,cheated\n1,Spam,arts,yes\n2,,law,no\n")
    assert len(read_reports(path, ASKED)) == 2
    with pytest.warns(UserWarning, match=r"1 of 2 rows left out \(spam: 1\); keep=\['spam'\] reads them"):
        assert len(read_reports(path, ASKED, source="qualtrics")) == 1


def test_a_file_without_a_finished_answer_says_how_to_read_it(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("id,submitdate,faculty,cheated\n1,,arts,yes\n2,,law,no\n")
    with pytest.raises(ValueError, match=r"got 2 of 2 rows left out \(unfinished: 2\).* pass keep=\['unfinished'\]"):
        read_reports(path, ASKED)
    assert len(read_reports(path, ASKED, keep=["unfinished"])) == 2


@pytest.mark.parametrize("argument", [{"keep": "drafts"}, {"source": "excel"}, {"decimal": ";"}])
def test_unknown_reasons_programs_and_marks_are_refused(tmp_path, argument):
    (tmp_path / "r.csv").write_text("faculty,cheated\narts,yes\n")
    with pytest.raises(ValueError, match=f"`{next(iter(argument))}` must be "):
        read_reports(tmp_path / "r.csv", ASKED, **argument)


FORMS = (
    "record_id,faculty,one_complete,tried___1,tried___2,cheated,two_complete\n"
    "1,arts,2,1,0,1,2\n"
    "2,law,2,0,0,,0\n"  # the second form was never opened
    "3,law,2,1,0,,0\n"  # the second form was not finished
    "4,,0,0,0,,0\n"
    "5,arts,2,0,0,0,2\n"
)


@pytest.mark.filterwarnings("ignore:.*missing in")
def test_a_form_of_redcap_that_was_never_opened_is_missing(tmp_path):
    """Boxes of a form that nobody opened are 0, as are those of a person who ticked nothing."""
    asked = survey(faculty(), BOXES, cheated(design=forced("1/6", "1/6")), check=False)
    path = tmp_path / "r.csv"
    path.write_text(FORMS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = read_reports(path, asked)
    assert frame["tried"].fillna("missing").tolist() == ["[0]", "missing", "missing", "[]"]
    assert frame["cheated"].fillna("missing").tolist() == ["yes", "missing", "missing", "no"]
    assert frame["faculty"].tolist() == ["arts", "law", "law", "arts"]
    assert "tried, cheated: missing in 2 rows, where the form was not finished." in [str(x.message) for x in caught]
    frame = read_reports(path, asked, keep="unfinished")
    assert frame["tried"].fillna("missing").tolist() == ["[0]", "missing", "[0]", "missing", "[]"]
    only = survey(BOXES, check=False)
    with pytest.warns(UserWarning, match=r"3 of 5 rows left out \(unfinished: 3\)"):
        assert read_reports(path, only)["tried"].tolist() == ["[0]", "[]"]


def test_labels_that_redcap_repeats_for_each_form_are_told_apart(tmp_path):
    path = tmp_path / "r.csv"
    head = "Record ID,Survey Timestamp,Which faculty are you in?,Complete?,Survey Timestamp,Tried? (choice=beer)"
    path.write_text(
        f"{head},Tried? (choice=wine),Complete?\n1,x,arts,Complete,[not completed],Unchecked,Unchecked,Incomplete\n"
        "2,x,law,Complete,x,Unchecked,Checked,Complete\n"
    )
    with pytest.warns(UserWarning, match="tried: missing in 1 rows"):
        frame = read_reports(path, survey(faculty(), BOXES, check=False))
    assert frame["tried"].fillna("missing").tolist() == ["missing", "[1]"]


def test_statuses_of_an_spss_file_are_read_by_their_labels(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame(
        {"ResponseId": ["a", "b"], "Status": [5.0, 6.0], "faculty": ["arts", "law"], "cheated": ["yes", "no"]}
    )
    labels = {"Status": {5: "IP Address", 6: "Survey Preview"}}
    pyreadstat.write_sav(frame, str(tmp_path / "r.sav"), variable_value_labels=labels)
    with pytest.warns(UserWarning, match="preview: 1"):
        assert list(read_reports(tmp_path / "r.sav", ASKED)["faculty"]) == ["arts"]


def test_an_export_of_this_package_has_no_rows_of_other_tools(tmp_path):
    from toolkit.survey.export import write  # the columns would look like those of a tool

    asked = survey(Question("form_complete", "Done?", options=["0", "1"]), check=False)
    path = write(pd.DataFrame({"form_complete": ["0", "1"]}), tmp_path / "r.csv", asked)
    assert list(read_reports(path)["form_complete"]) == ["0", "1"]


def test_the_table_names_each_tool_of_the_documentation():
    assert list(TOOLS) == ["qualtrics", "limesurvey", "kobo", "redcap", "jspsych"]
