"""The assessment for a board is made from the survey, is true for it, is available in its languages, and is the same as
a page.
"""

import math
import re
from pathlib import Path

import pytest

from tests.survey.documents import Cells
from tests.survey.samples import DESIGNS, MEMO, SAID, cheated, faculty, panel, survey, survey_with
from toolkit import Question, Survey, crosswise, warner
from toolkit.local import born
from toolkit.survey.client import code_hash
from toolkit.survey.consent.page_data import shown_survey
from toolkit.survey.dpia import assessment, assessment_html
from toolkit.survey.questions.errors import SurveyError
from toolkit.survey.questions.survey_fields import PROTECTION_FIELDS
from toolkit.survey.spec import STATEMENT_FIELDS
from toolkit.texts.phrases import LANGUAGES, phrases

CAMPUS = Path(__file__).parents[2] / "data" / "campus.toml"
PROTECTED = {name: f"about {name}" for name in PROTECTION_FIELDS} | {"review": "2027-06-01"}


def row(told: str, source: str) -> list[str]:
    line = next(line for line in told.splitlines() if line.startswith(f"| {source}"))
    return line[2:-2].split(" | ")


def test_it_says_who_asks_what_is_asked_stored_and_shown_and_what_remains() -> None:
    told = assessment(Survey.load(CAMPUS))
    assert "- Who is responsible: Institute for Higher Education Research" in told
    assert (
        "| Have you ever cheated in an exam at this university? | cheated: forced, auto, epsilon 0.694 | If your"
        in told
    )
    assert "| faculty: plain, sent as it is | 5 different answers |" in told
    assert "Epsilon in all: 3." in told
    assert "at most 96 times in 100 after" in told
    assert "moon: warner, auto, epsilon 0.406; an anchor" in told
    assert "paid: crosswise, physical, epsilon 0.712; birthdays in jan-apr are counted as 120.25 of 365.25 days" in told
    assert "make any number of different answers" in told  # including a free text
    assert f"program {code_hash()}" in told
    assert "Asked without protection: faculty, year. Say for each" in told
    assert "Free text: comment." in told
    assert f"Not said yet: {', '.join(PROTECTION_FIELDS)}." in told


def test_the_section_protection_is_not_part_of_the_hash(tmp_path) -> None:
    """It is stored in the survey file and read back."""
    whole = survey(cheated(), protection=PROTECTED, **SAID)
    told = assessment(whole)
    assert "Not said yet" not in told
    assert "- Legal basis: about legal_basis" in told
    assert "- Next review: 2027-06-01" in told
    assert told.index("Necessity and proportionality") < told.index("- about necessity")
    assert whole.hash == survey(cheated(), **SAID).hash
    assert shown_survey(whole) == shown_survey(survey(cheated(), **SAID))
    whole.save(tmp_path / "x.toml")
    assert Survey.load(tmp_path / "x.toml") == whole


@pytest.mark.parametrize(
    "name", [*STATEMENT_FIELDS, *(f"protection.{name}" for name in PROTECTION_FIELDS if name != "review")]
)
@pytest.mark.parametrize("word", ["x", " - ", "x.", "…"])
def test_fields_of_one_letter_are_refused(name: str, word: str) -> None:
    given = {"protection": {name.partition(".")[2]: word}} if "." in name else {name: word}
    with pytest.raises(ValueError, match=f"`{name}` must be a statement, got a single letter"):
        survey(**given)


def test_what_the_block_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`protection` has the fields legal_basis.*got 'lawyer'"):
        survey(protection={"lawyer": "Dr Who"})
    with pytest.raises(ValueError, match="review"):
        survey(protection={"review": "soon"})
    with pytest.raises(SurveyError, match="`protection` must be a table, got str"):
        survey(protection="consent")
    both = {"en": "X", "de": "X"}
    with pytest.raises(ValueError, match=r"`protection.officer` must be given in every language"):
        Survey(both, [Question("a", both, options=[1, 2])], consent=both, languages=["en", "de"],
               protection={"officer": {"en": "Dr Who"}})  # fmt: skip


def test_what_is_missing_is_listed_and_cells_are_counted() -> None:
    told = assessment(survey(faculty(required=False), Question("year", "Year?", options=[1, 2, 3]), cheated()))
    assert "Not said yet: controller, contact, purpose, retention, publication, approval, legal_basis" in told
    assert "Plain answers together make 9 different answers" in told  # two faculties or none, three years
    ticks = Question("year", "Year?", options=[1, 2, 3], multiple=True, required=False)
    assert "together make 16 different answers" in assessment(survey(faculty(), ticks, cheated()))


@pytest.mark.parametrize("access", ["open", "token", "blind"])
def test_access_decides_the_risks_from_links(access: str) -> None:
    """It determines what is stored about links and how likely an employer sees who took part."""
    told = assessment(survey(cheated(), access=access))
    assert ("Hashes of all links" in told) == (access != "open")
    assert ("one person can answer often" in told) == (access == "open")
    assert row(told, "Employer")[2:4] == ["low" if access == "open" else "medium", "low"]
    assert row(told, "Operator")[2] == ("medium" if access == "token" else "low")


@pytest.mark.parametrize(
    ("questions", "severity"),
    [
        ([cheated(design=warner("2/3"))], "low"),
        ([cheated(design=warner("7/8"))], "medium"),
        ([cheated(design=warner("99/100"))], "high"),
        ([cheated(design=warner("2/3")), faculty()], "high"),
    ],
    ids=["ln 2", "ln 7", "ln 99", "plain"],
)
def test_how_severe_a_seized_database_is_follows_from_the_design(questions: list[Question], severity: str) -> None:
    told = assessment(survey(*questions, ceiling=9))
    assert [row(told, source)[3] for source in ("Police", "Operator", "Whoever finds")] == [severity] * 3


def test_what_a_shared_device_risks_follows_from_the_mode() -> None:
    assert row(assessment(survey(cheated())), "Whoever owns")[2:4] == ["medium", "high"]
    assert row(assessment(survey(cheated(mode="physical"))), "Whoever owns")[2:4] == ["low", "low"]


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_every_design_has_an_assessment_in_every_language(design: object, language: str) -> None:
    """The HTML page has the same content."""
    asked = Question("asked", {language: "Q"}, design=design, labels={
        one: {language: f"({one})"} for one in (*getattr(design, "options", ()), *design.report_options)
    })  # fmt: skip
    made = Survey({language: "T"}, [asked], consent={language: "C"}, languages=[language], ceiling=math.inf)
    told = assessment(made)
    lines = [line for line in told.splitlines() if not line.startswith("| ---")]
    plain = [cell for line in lines for cell in (line[2:-2].split(" | ") if line[0] == "|" else [line.lstrip("#- ")])]
    page = assessment_html(made)
    assert Cells(page.split("</style>")[1]).text == plain
    assert (phrases(language, None, "assessment")["shown_proof"] in told) == math.isinf(made.loss.epsilon)
    assert f"dir='{'rtl' if language == 'ar' else 'ltr'}'" in page
    assert not re.search(r"[{}]|None\b(?! of)", told)


def test_a_language_without_a_file_has_its_texts_in_an_english_frame() -> None:
    from toolkit.texts.phrases import page_words_by_language

    own = {name: word for name, word in page_words_by_language(["en"])["en"].items() if name != "direction"}
    own |= {f"promise_{name}": words for name, words in phrases("en").items()}
    made = Survey("Titolo", [faculty()], consent="Perché.", languages=["it"], words={"it": own}, controller="Istituto")
    assert "# Data protection impact assessment: Titolo" in assessment(made)
    assert "- Who is responsible: Istituto" in assessment(made)


def test_who_must_follow_what_and_what_hangs_on_a_birthday_is_said() -> None:
    wheel = assessment(survey(cheated(mode="guided")))
    assert "to tap what the wheel asks for" in wheel
    physical = {"mode": "physical", "instructions": "Compare."}
    hanging = assessment(survey(cheated(design=crosswise(born("jan")), mode="physical", innocent={"born": "jan"})))
    assert "to follow the instructions" in hanging
    assert "- cheated: whoever can find out a respondent’s answer to the other question" in hanging
    assert "other question" not in wheel + assessment(survey(cheated(**physical)))
    assert "the number that a respondent kept" in wheel


def test_plain_answers_in_the_browser_are_not_called_hidden() -> None:
    assert "Plain answers stand in what waits there as they are" in assessment(survey(faculty(), cheated()))
    assert "Plain answers stand" not in assessment(survey(cheated()))
    assert "Plain answers together may tell who a row is" in assessment(survey(faculty()))


def test_rights_say_what_can_be_taken_back() -> None:
    assert "After sending nothing can be taken back, and people are told so before." in assessment(survey())
    told = assessment(survey(withdrawal="write to us with your receipt"))
    assert "- After sending: write to us with your receipt" in told
    assert "nothing can be taken back" not in told


def test_what_nobody_could_count_is_called_almost_certain() -> None:
    assert "can be almost certain after" in assessment(survey_with(warner(epsilon=12.0), ceiling=20))


def test_the_assessment_of_waves_covers_all_of_them() -> None:
    """It states what all waves cost, what is stored and what this reveals."""
    told = assessment(panel(access="token"))
    assert "cheated: memo, auto, epsilon 0.511 a wave, 1.03 in 2 waves" in told
    assert "answered in all 2 waves, whatever answers change and whatever a phone loses: a guess" in told
    assert "the same in each wave: it joins the reports of one phone over waves" in told
    assert "the reports of one wave to questions with a memo show up to epsilon 1.1." in told  # ln 3, of the noise
    assert "the hashes of all links stay when it is closed" in told
    assert row(told, "Thief")[3] == "medium"
    assert "sheets of paper" not in told
    assert "the hashes of all links stay" not in assessment(panel())
    assert "memo" not in assessment(survey())


PARTS = ("keep_", "rely_", "right_", "rest_")
EVER = {"keep_rows", "keep_browser", "keep_network", "right_before", "right_found", "right_authority"}
EVER |= {"rest_seen", "rest_again", "rest_server"}
ONCE, OPEN = {"keep_paper", "rest_receipt"}, {"keep_open", "rest_open"}
PLAIN = {"keep_plain", "rely_reader", "right_plain", "rest_rare"}
LINES = {
    "auto": (survey(cheated(), check=False), ONCE | OPEN | {"rely_phone", "right_none"}),
    "plain": (survey(faculty(), withdrawal="Write."), ONCE | OPEN | PLAIN | {"right_own"}),
    "guided": (
        survey(cheated(mode="guided"), check="device", household=True),
        ONCE | OPEN | {"keep_tries", "rely_phone", "rely_wheel", "right_none", "keep_household"},
    ),
    "physical": (survey(cheated(mode="physical")), ONCE | OPEN | {"keep_check", "rely_self", "right_none"}),
    "birthday": (
        survey(cheated(design=crosswise(born("jan")), mode="physical", innocent={"born": "jan"}), access="blind"),
        ONCE | {"keep_blind", "keep_check", "rely_self", "right_none", "rest_innocent"},
    ),
    "station": (
        survey(cheated(mode="guided"), access="token", field={"station": "kiosk"}, check=False),
        ONCE | {"keep_token", "keep_station", "rely_phone", "rely_wheel", "rely_station", "right_none"},
    ),
    "arms": (
        survey(
            Question("a", "A?", design=warner("2/3"), show_if={"arm": ["x"]}),
            Question("b", "A?", design=warner("3/4"), show_if={"arm": ["y"]}),
            arms={"x": 0.5, "y": 0.5},
            check=False,
        ),
        ONCE | OPEN | PLAIN | {"keep_arms", "rely_phone", "right_none"},
    ),
    "waves": (
        panel(cheated(design=MEMO), access="token", check=False),
        {"keep_joined", "keep_token", "keep_invited", "keep_memos", "rely_phone", "right_none", "rest_pattern"},
    ),
    "open waves": (
        panel(cheated(design=MEMO), check=False),
        OPEN | {"keep_joined", "keep_memos", "rely_phone", "right_none"},
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_the_assessment_mentions_only_what_applies(name: str) -> None:
    """This holds for stored data, trusted parties and remaining risks."""
    made, lines = LINES[name]
    known = {key: text for key, text in phrases("en", None, "assessment").items() if key.startswith(PARTS)}
    told = [line[2:] for line in assessment(made).splitlines() if line.startswith("- ")]
    found = {key for key, text in known.items() if any(re.fullmatch(pattern(text), line) for line in told)}
    assert found == lines | EVER


def pattern(text: str) -> str:
    """Return a pattern for a sentence with any text in its placeholders."""
    return ".*".join(map(re.escape, re.split(r"\{\w+\}", text)))


def test_texts_stay_in_their_line_and_cell() -> None:
    told = assessment(survey(Question("a", "One | two?\nThree?", options=[1, 2]), controller="Us\n# Them"))
    assert "| One ¦ two? Three? |" in told
    assert "- Who is responsible: Us # Them" in told
