"""The files for Qualtrics and LimeSurvey. That their scripts work is tested in tests/browser/test_web_forms.py."""

import csv
import json
import re

import pytest

from tests.survey.samples import cheated, faculty, survey
from toolkit import Question, Survey, crosswise, warner
from toolkit.local import oracles
from toolkit.survey import read_reports, write_web_form
from toolkit.survey.exchange.scripted_questions import LIMESURVEY_WORDS
from toolkit.survey.exchange.web import module_code

PROGRAMS = pytest.mark.parametrize("tool", ["qualtrics", "limesurvey"])
STOLEN = Question("stolen", "Stolen?", design=crosswise("1/4"), mode="physical", show_if={"faculty": ["arts", "law"]})
TRIED = Question("tried", "Which?", design=oracles.unary(["beer", "wine"], 1.0))
NOTES = Question("notes", "Anything else?", free_text=True, warning="Write no names.", required=False)


def texts(folder, tool, asked, **options):
    return {path.name: path.read_text(encoding="utf-8") for path in write_web_form(asked, folder, tool, **options)}


def limesurvey_rows(text):
    return list(csv.DictReader(text.splitlines(keepends=True), delimiter="\t"))


def scripts(files, tool):
    """The scripts by question."""
    if tool == "qualtrics":
        return {name.removesuffix(".js"): text for name, text in files.items() if name.endswith(".js")}
    rows = [row for row in limesurvey_rows(files["survey.txt"]) if row["class"] == "Q" and row["type/scale"] != "L"]
    return {row["name"]: re.search(r"<script>\n(.*)</script>", row["text"], re.DOTALL)[1] for row in rows}


@PROGRAMS
def test_a_script_contains_the_randomizer_and_fetches_nothing(tmp_path, tool):
    asked = survey(faculty(), cheated(), TRIED, ceiling=20)
    own = scripts(texts(tmp_path, tool, asked), tool)
    assert list(own) == ["faculty", "cheated", "tried"]
    randomizer = re.sub(r"^export ", "", module_code(), flags=re.MULTILINE)
    for name, text in own.items():
        assert re.sub(r"\s", "", randomizer) in re.sub(r"\s", "", text)
        assert f"The question {name} of the survey with hash {asked.hash}." in text
        assert "//" not in re.sub(r"^ *//.*| // .*", "", text, flags=re.MULTILINE), "no address"
        assert not re.search(r"\b(import|export)\b.*;", text)
        assert not re.search(r"\b(fetch|XMLHttpRequest|sendBeacon|localStorage|sessionStorage|console)\b", text)


@PROGRAMS
def test_a_question_cannot_be_read_without_its_script(tmp_path, tool):
    """If a program drops the scripts, nobody can answer truthfully into the text field."""
    files = texts(tmp_path, tool, survey(cheated(), check=False))
    rest = re.sub(r"<script>.*?</script>", "", files["survey.txt"], flags=re.DOTALL)
    assert "cheated on an exam" not in rest
    assert "its scripts are switched off" in rest
    assert "cheated on an exam" in scripts(files, tool)["cheated"]


@PROGRAMS
def test_texts_cannot_leave_their_place(tmp_path, tool):
    """Markup, piped text, expressions, tags of the text format, and the end of CDATA, into which LimeSurvey puts it."""
    hostile = "</script>${e://Field/x} {x} [[PageBreak]] ]]> \\' x"
    asked = Survey(hostile, [Question("cheated", hostile, design=warner("3/4"))], consent=hostile, check=False)
    files = texts(tmp_path, tool, asked)
    own = scripts(files, tool)["cheated"]
    data = re.search(r"const form = (.*?);\n\n", own, re.DOTALL)[1]
    assert json.loads(data)["question"]["text"] == hostile
    for text in (own, files["survey.txt"]):
        assert "${" not in text
        assert "]]>" not in text
        assert "{x}" not in text
    assert files["survey.txt"].count("</script>") == (1 if tool == "limesurvey" else 0)
    assert files["survey.txt"].count("[[PageBreak]]") == (0 if tool == "limesurvey" else 1)


def test_limesurvey_finds_no_expression_and_no_quotation_mark_after_a_backslash(tmp_path):
    """Expressions are braces without spaces; for PHP, a quotation mark after a backslash does not end a cell."""
    hostile = Question("cheated", '"Have" you {ever} \\ cheated?', design=warner("3/4"))
    asked = survey(faculty(), hostile, NOTES, ceiling=20)
    text = texts(tmp_path, "limesurvey", asked)["survey.txt"]
    assert not re.search(r"\{\S|\S\}", text)
    assert '\\"' not in text


def test_limesurvey_reads_types_conditions_and_settings(tmp_path):
    asked = survey(faculty(), cheated(), STOLEN, TRIED, NOTES, ceiling=20)
    rows = limesurvey_rows(texts(tmp_path, "limesurvey", asked)["survey.txt"])
    settings = {row["name"]: row["text"] for row in rows if row["class"] == "S"}
    assert settings["language"] == "en"
    assert [settings[name] for name in ("format", "allowprev", "savetimings", "ipaddr")] == ["S", "N", "N", "N"]
    questions = {row["name"]: row for row in rows if row["class"] == "Q"}
    types = {name: row["type/scale"] for name, row in questions.items()}
    assert types == {"consent": "L", "faculty": "S", "cheated": "S", "stolen": "S", "tried": "T", "notes": "T"}
    assert questions["cheated"]["relevance"] == '(consent.NAOK == "yes")'
    condition = '(consent.NAOK == "yes") and (faculty.NAOK == "arts" or faculty.NAOK == "law")'
    assert questions["stolen"]["relevance"] == condition
    assert [row["name"] for row in rows if row["class"] == "A"] == ["yes", "no"]
    assert [name for name, row in questions.items() if row["mandatory"] == "N"] == ["notes"]


def test_qualtrics_gets_one_page_per_question_and_the_steps_by_hand(tmp_path):
    files = texts(tmp_path, "qualtrics", survey(faculty(), cheated(), STOLEN, NOTES, ceiling=20))
    text = files["survey.txt"]
    assert text.startswith("[[AdvancedFormat]]\n\n[[Question:MC:SingleAnswer:Vertical]]\n[[ID:consent]]\n")
    assert text.count("[[PageBreak]]") == 4
    assert "[[Question:TE:SingleLine]]\n[[ID:cheated]]\n" in text
    assert "[[Question:TE:Essay]]\n[[ID:notes]]\n" in text
    assert "   - `stolen`: if `faculty`, *Text response*, *Is equal to* arts or law\n" in files["README.md"]
    assert "| `cheated` | `cheated.js` |" in files["README.md"]
    plain = texts(tmp_path, "qualtrics", survey(cheated(), check=False))
    assert "There are none." in plain["README.md"]


@pytest.mark.parametrize("name", ["stolen_goods", "a" * 21])
def test_names_that_limesurvey_would_change_are_rejected(tmp_path, name):
    asked = survey(Question(name, "Have you?", design=warner("3/4")))
    with pytest.raises(ValueError, match="at most 20 letters and digits"):
        write_web_form(asked, tmp_path / "form", "limesurvey")
    assert not (tmp_path / "form").exists()
    assert f"{name}.js" in texts(tmp_path, "qualtrics", asked)


@pytest.mark.parametrize("name", sorted(LIMESURVEY_WORDS))
def test_names_that_limesurvey_uses_are_rejected(tmp_path, name):
    asked = survey(Question(name, "Have you?", design=warner("3/4")))
    with pytest.raises(ValueError, match="that the program uses itself"):
        write_web_form(asked, tmp_path, "limesurvey")


def test_people_who_do_not_take_part_are_not_counted(tmp_path):
    """They finish the survey, and have empty cells."""
    path = tmp_path / "responses.csv"
    path.write_text("id,submitdate,consent,cheated\n1,1980-01-01,yes,yes\n2,1980-01-01,no,\n3,1980-01-01,yes,no\n")
    reports = read_reports(path, survey(cheated(), check=False))
    assert reports["cheated"].fillna("missing").tolist() == ["yes", "missing", "no"]
