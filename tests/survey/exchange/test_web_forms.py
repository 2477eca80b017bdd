"""The files of forms for other programs. That they work is tested in a browser, in tests/browser/test_web_forms.py."""

import base64
import json
import re

import pytest

from tests.survey.samples import cheated, faculty, survey
from toolkit import Question, Survey, crosswise, warner
from toolkit.local import numeric, oracles
from toolkit.local.waves import Memo
from toolkit.survey import read_reports, write_web_form
from toolkit.survey.exchange.web import module_code
from toolkit.survey.exchange.web_forms import form_data

TRIED = Question("tried", "Which?", design=oracles.tick_boxes(["beer", "wine", "gin"], 1.0, most=2, how="capped"))
HOURS = Question("hours", "How long?", design=numeric.local_laplace((0, 80), 1.0))
CARD = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
BORN = Question("stolen", "Have you?", design=crosswise("1/4"), mode="physical", show_if={"faculty": ["arts"]})
AGE = Question("age", "How old?", bounds=(18, 99), whole=True, required=False)


def exported(folder, name):
    text = (folder / "survey.js").read_text(encoding="utf-8")
    found = re.search(rf"^export const {name} = (.*?);\n(?=export|\Z)", text, re.DOTALL | re.MULTILINE)
    return json.loads(found[1])


@pytest.mark.parametrize("tool", ["jspsych", "surveyjs"])
def test_a_form_has_the_module_unchanged_and_fetches_nothing_from_elsewhere(tmp_path, tool):
    files = {path.name: path.read_text(encoding="utf-8") for path in write_web_form(survey(), tmp_path, tool)}
    assert files["hide.js"] == module_code()
    assert survey().hash in files["survey.js"]
    for name, text in files.items():
        assert "//" not in re.sub(r"^ *//.*| // .*", "", text, flags=re.MULTILINE), f"{name} has an address"


def test_questions_have_their_texts_limits_and_designs(tmp_path):
    asked = survey(faculty(), cheated(), TRIED, HOURS, BORN, AGE, ceiling=20)
    write_web_form(asked, tmp_path, "jspsych")
    form = exported(tmp_path, "survey")
    assert form == json.loads(json.dumps(form_data(asked, "en")))
    by_name = {question["name"]: question for question in form["questions"]}
    assert by_name["cheated"]["design"] == json.loads(json.dumps(cheated().design._browser_data()))
    assert by_name["faculty"]["design"] is None
    assert (by_name["tried"]["most"], by_name["tried"]["wrong"]) == (2, "Tick at most 2.")
    assert by_name["hours"]["bounds"] == [0, 80]
    assert by_name["hours"]["wrong"] == "Please write a number from 0 to 80."
    assert by_name["age"]["whole"] is True
    assert by_name["age"]["required"] is False
    assert by_name["stolen"]["show_if"] == {"faculty": ["arts"]}
    assert by_name["stolen"]["design"] is None, "the person has used chance, so the result is sent as it is"
    assert [option["value"] for option in by_name["stolen"]["options"]] == ["different", "same"]


def test_consent_says_nothing_of_storage_and_sending_that_another_program_does():
    asked = survey(retention="One year.", access="token")
    lines = [line for section in form_data(asked, "en")["sections"] for line in section["lines"]]
    assert (
        lines[0] == "Nobody can be sure of your real answers to protected questions from what we receive: not even we."
    )
    assert "We study exams." in lines
    assert "How long the answers are kept: One year." in lines
    assert not [line for line in lines if "random number" in line or "personal link" in line or "press" in line]


def test_surveyjs_asks_plain_questions_itself_and_shows_no_way_back(tmp_path):
    write_web_form(survey(faculty(), cheated(), BORN, AGE, ceiling=20), tmp_path, "surveyjs")
    model = exported(tmp_path, "model")
    questions = {question["name"]: question for page in model["pages"] for question in page["elements"]}
    assert model["showPrevButton"] is False
    assert {name: question["type"] for name, question in questions.items()} == {
        "consent_text": "html",
        "faculty": "radiogroup",
        "cheated": "toolkit",
        "stolen": "toolkit",
        "age": "text",
    }
    assert questions["stolen"]["visibleIf"] == '{faculty} anyof ["arts"]'
    assert (questions["age"]["min"], questions["age"]["max"], questions["age"]["step"]) == (18, 99, 1)


def test_a_condition_of_surveyjs_keeps_apostrophes(tmp_path):
    """In a text between double quotation marks, SurveyJS takes an apostrophe for the end of the text."""
    options = ["Master's", "a \\ b", "other\\"]
    faculties = Question("faculty", "Faculty?", options=options)
    for chosen in (options[:2], options[2:]):
        question = Question("stolen", "Stolen?", design=crosswise("1/4"), mode="physical", show_if={"faculty": chosen})
        asked = survey(faculties, question)
        if chosen == options[2:]:
            with pytest.raises(ValueError, match="must not end with a backslash"):
                write_web_form(asked, tmp_path, "surveyjs")
        else:
            write_web_form(asked, tmp_path, "surveyjs")
    elements = [page["elements"][0] for page in exported(tmp_path, "model")["pages"]]
    assert elements[-1]["visibleIf"] == r"""{faculty} anyof ["Master\'s", "a \ b"]"""


def test_markup_in_a_text_has_no_effect(tmp_path):
    hostile = "</title><img src=x onerror=alert(1)>{x}"
    write_web_form(Survey(hostile, [cheated()], consent=hostile), tmp_path, "surveyjs")
    (html,) = [element["html"] for element in exported(tmp_path, "model")["pages"][0]["elements"]]
    assert "<img" not in html
    assert "{x}" not in html
    assert "<img" not in (tmp_path / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        (lambda: survey(cheated(mode="guided")), "must have no wheel"),
        (
            lambda: survey(Question("cheated", "Have you?", design=Memo(warner("3/4"), warner("3/4"))), waves=2),
            "no memo",
        ),
        (
            lambda: survey(faculty(), Question("why", "Why {answer:faculty}?", options=["a", "b"])),
            "another program's form must be the same for everybody",
        ),
        (
            lambda: survey(cheated(image={"data": f"data:image/png;base64,{CARD}", "alt": "A card"})),
            "must have no image",
        ),
        (
            lambda: survey(Question("trial_type", "Have you?", design=warner("3/4"))),
            "a name that the program uses itself",
        ),
    ],
)
def test_what_a_form_cannot_ask_is_rejected_before_a_file_is_written(tmp_path, asked, rule):
    with pytest.raises(ValueError, match=rule):
        write_web_form(asked(), tmp_path / "form", "jspsych")
    assert not (tmp_path / "form").exists()


DECLINING = Question("sex", "Sex?", options=["f", "m", "prefer not to say"], random_order=True)


@pytest.mark.parametrize("tool", ["jspsych", "surveyjs"])
def test_options_in_random_order_are_listed_and_declining_keeps_its_position(tmp_path, tool):
    born = Question("stolen", "Have you?", design=crosswise("1/4"), mode="physical", random_order=True)
    write_web_form(survey(faculty(), cheated(random_order=True), DECLINING, born), tmp_path, tool)
    by_name = {question["name"]: question["mixed"] for question in exported(tmp_path, "survey")["questions"]}
    assert by_name == {"faculty": [], "cheated": [0, 1], "sex": [0, 1], "stolen": [0, 1]}


def test_surveyjs_draws_no_order_because_it_would_keep_the_seed(tmp_path):
    write_web_form(survey(faculty(), DECLINING), tmp_path, "surveyjs")
    model = exported(tmp_path, "model")
    assert [page["elements"][0]["type"] for page in model["pages"]] == ["html", "radiogroup", "toolkit"]
    assert "random" not in json.dumps(model)


def test_questions_are_in_random_order_in_jspsych_only(tmp_path):
    """All questions are one trial of jsPsych, without a record of the order; the other programs would store it."""
    asked = survey(faculty(), cheated(), BORN, ceiling=20, random_order=True)
    write_web_form(asked, tmp_path, "jspsych")
    form = exported(tmp_path, "survey")
    assert (form["units"], form["mixed"]) == ([[0, 2], [1]], [0, 1])
    reasons = {"surveyjs": "in the order in which", "qualtrics": "stores the order", "limesurvey": "the seed"}
    for tool, reason in reasons.items():
        with pytest.raises(ValueError, match=f"in one order, got random_order: .*{reason}"):
            write_web_form(asked, tmp_path / tool, tool)
        assert not (tmp_path / tool).exists()


def test_rows_of_other_trials_and_of_people_who_declined_are_left_out(tmp_path):
    """A CSV file and a JSON file as jsPsych writes them, with the trials of an experiment around the form."""
    asked = survey(faculty(), cheated(), check=False)
    rows = [{"trial_type": "html-keyboard-response", "rt": 512}, {"trial_type": "toolkit-form", "declined": True}]
    rows += [{"trial_type": "toolkit-form", "faculty": "law", "cheated": report} for report in ("yes", "no")]
    (tmp_path / "trials.json").write_text(json.dumps(rows))
    cells = [
        [json.dumps(row.get(name, "")).strip('"') for name in ("trial_type", "declined", "faculty", "cheated")]
        for row in rows
    ]
    table = [["trial_type", "declined", "faculty", "cheated"], *cells]
    (tmp_path / "trials.csv").write_text("\n".join(",".join(f'"{cell}"' for cell in row) for row in table))
    for name in ("trials.json", "trials.csv"):
        with pytest.warns(UserWarning, match=r"2 of 4 rows left out \(unfinished: 1, other trial: 1\)"):
            reports = read_reports(tmp_path / name, asked)
        assert reports["cheated"].tolist() == ["yes", "no"]
