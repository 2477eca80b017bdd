"""Instructions for people without a phone are made from the device, in every language, and agree with the design."""

import re
from collections import Counter
from fractions import Fraction

import pytest

from toolkit import Question, Survey, crosswise, forced, kuk, mangat, triangular, unrelated, warner
from toolkit.local import born
from toolkit.survey.consent.instructions import device_of, instructions
from toolkit.survey.consent.page_data import shown_survey
from toolkit.survey.questions.question import localized_question
from toolkit.texts.phrases import LANGUAGES, phrases

DESIGNS = {
    "two coins": warner("3/4"),
    "die": forced("1/6", "1/6"),
    "thirds": warner("2/3"),
    "ten slips": kuk("7/10", "2/10"),
    "twelve slips": unrelated("2/3", "1/4"),
    "thirteen slips": warner("10/13"),
    "one-sided": mangat("2/3"),
    "named reports": crosswise("1/4"),
}


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_following_the_device_step_by_step_is_the_design(design) -> None:
    """Every outcome is equally likely: the share of outcomes that lead to a report is its exact probability."""
    device = device_of(Question("x", "X", design=design, mode="physical"))
    assert device is not None
    for truth, row in zip(design.options, design.weights.tolist(), strict=True):
        led = Counter[str | int]()
        for step in device.steps:
            if step.truth in (None, truth):
                led[truth if step.report is None else step.report] += len(step.outcomes)
        assert sum(led.values()) == device.outcomes
        shares = [Fraction(led[report], device.outcomes) for report in design.report_options]
        assert shares == [Fraction(weight, design.denominator) for weight in row]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_every_step_is_said_in_every_language(design, language: str) -> None:
    asked = Question("x", {language: "X"}, design=design, mode="physical")
    lines = instructions(asked, language)
    assert len(lines) == 1 + len(device_of(asked).steps)
    assert not any(re.search(r"[{}]|None|×|−", line) for line, _ in lines)
    page = shown_survey(
        Survey({language: "T"}, [asked], consent={language: "C"}, languages=[language], ceiling=float("inf"))
    )
    assert page["questions"][0]["instructions"] == {language: "\n".join(line for line, _ in lines)}


@pytest.mark.parametrize(
    ("yes", "no", "rest"), [("1/6", "1/3", "4 to 6"), ("1/3", "1/3", "5 or 6"), ("1/2", "1/3", "6")]
)
def test_one_outcome_is_named_two_are_a_choice_and_more_a_range(yes: str, no: str, rest: str) -> None:
    lines = instructions(localized_question(Question("x", "X?", design=forced(yes, no), mode="physical"), "en"), "en")
    assert lines[1][0] == "1 or 2: choose “No”, whatever your answer is."
    assert lines[3][0].startswith(f"{rest}: choose your real answer")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("design", [crosswise(born("jan-apr")), triangular(born("jan-apr"))], ids=["cross", "tri"])
def test_a_birthday_is_asked_for_in_every_language(design, language: str) -> None:
    asked = Question("x", {language: "X"}, design=design, mode="physical", innocent={"born": "jan-apr"})
    said = " ".join(line for line, _ in instructions(asked, language))
    months = phrases(language, None, "paper")["months"].split("|")
    assert months[0] in said
    assert months[3] in said
    assert "{" not in said
    for report in asked.report_options:
        assert asked.label(report, language, phrases(language)) in said


def test_a_file_names_the_months_and_leaves_the_share_out(tmp_path) -> None:
    path = tmp_path / "survey.toml"
    path.write_text(
        'title = "T"\nconsent = "C"\n[[questions]]\nname = "paid"\ntext = "Paid?"\nmode = "physical"\n'
        'design = {crosswise = {}}\ninnocent = {born = "jan-apr"}\n'
    )
    survey = Survey.load(path)
    assert survey["paid"].design == crosswise(born("jan-apr"))
    assert "the other question" not in survey.consent_text() or "birthday" in survey.consent_text()
    survey.save(tmp_path / "again.toml")
    assert Survey.load(tmp_path / "again.toml").hash == survey.hash


def test_where_a_device_takes_its_place_no_birthday_is_spoken_of() -> None:
    by_slips = Survey("T", [Question("x", "X", design=crosswise("1/4"), mode="physical")], consent="C")
    by_birthday = Survey(
        "T", [Question("x", "X", design=crosswise(born("mar")), mode="physical", innocent={"born": "mar"})], consent="C"
    )
    assert "birthday" not in by_slips.consent_text()
    assert "birthday" in by_birthday.consent_text()
