import pytest

from tests.survey.samples import cheated, faculty, panel, survey
from toolkit import Question, Survey, crosswise, forced, kuk, unrelated, warner
from toolkit.local import numeric
from toolkit.survey.paper import paper
from toolkit.texts.phrases import LANGUAGES, phrases
from toolkit.texts.voice import Voice

DIE = forced("1/6", "1/6")


def test_a_die_in_the_respondents_hand_realises_the_design_exactly():
    form = paper(survey(faculty(), cheated(design=forced(yes="1/6", no="1/6"))))
    assert "Use a die. Let nobody see what comes out." in form
    assert "1: tick “No”, whatever your answer is." in form
    assert "2: tick “Yes”," in form
    assert "3 to 6: tick your real answer." in form
    assert form.count("<li>") == 4


def test_paper_has_its_own_words_and_a_page_for_the_interviewer():
    form = paper(survey(faculty(), cheated(design=forced(yes="1/6", no="1/6"))))
    assert not any(word in form for word in ("phone", "browser", "airplane", "birthday", "server’s"))
    assert "We receive only what you tick" in form
    assert "handwriting" in form
    assert "<h1>For the interviewer</h1>" in form


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "design",
    [warner("3/5"), warner("3/4"), warner("1/3"), DIE, kuk("7/10", "2/10"), unrelated("2/3", "1/4")],
    ids=["tenths", "quarters", "mirrored", "die", "kuk", "unrelated"],
)
def test_a_device_that_nobody_can_look_up_is_worded_in_every_language(design, language):
    asked = Question("x", {language: "X"}, design=design)
    form = paper(Survey({language: "T"}, [asked], consent={language: "C"}, languages=[language], ceiling=9))
    assert "{" not in form.split("</style>")[1]
    device = next(one for one in design.devices() if one.exact and one.secret)
    assert device.design == design
    assert phrases(language)["paper_secret"] in form


def test_devices_that_can_be_looked_up_are_marked():
    notes = {device.name: device.secret for device in kuk("7/10", "2/10").devices()}
    assert not notes["the last digit of a phone number"]
    assert notes["one of ten slips numbered 1 to 10"]
    assert notes["a die"]


def test_own_instructions_come_before_a_device_and_reports_are_what_is_ticked():
    question = Question("paid", "Paid?", design=crosswise("1/4"), mode="physical", instructions="Think of a birthday.")
    form = paper(survey(question))
    assert "Think of a birthday." in form
    assert (
        "<li><bdi>Different</bdi></li><li><bdi>The same</bdi></li>" in form
        or "<li><bdi>Different</bdi></li><li><bdi>Same</bdi></li>" in form
    )


def test_where_one_writes_there_is_a_line_and_the_sheet_does_not_ask_for_ticks_alone():
    hours = Question("hours", "Hours?", bounds=(0, 80), help="In a week.")
    form, ticked = paper(survey(hours, cheated(design=DIE))), paper(survey(faculty(), cheated(design=DIE)))
    assert form.count("<p class='line'></p>") == 1
    assert ("Please write only where you are asked to" in form) != ("Please only tick boxes" in form)
    assert "<i>In a week.</i>" in form
    assert "class='line'" not in ticked
    assert ("Please write only where you are asked to" in ticked) != ("Please only tick boxes" in ticked)


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_is_asked_a_question_that_not_everybody_is_asked_is_said(language):
    work = Question("work", {language: "W"}, options=["no", "yes"])
    asked = Question("x", {language: "X"}, design=DIE, show_if={"work": ["yes"]})
    made = Survey({language: "T"}, [work, asked], consent={language: "C"}, languages=[language], ceiling=9)
    voice = Voice(phrases(language))
    line = voice.say("paper_if", answers=voice.quoted(voice.phrases["yes"]), question=voice.quoted("W"))
    assert f"<section><p>{line}</p><p><b>X</b></p>" in paper(made)
    assert paper(made).count(f"<p>{line}</p>") == 1


def test_texts_of_a_survey_are_text():
    form = paper(Survey("<b>x</b>", [faculty(), cheated()], consent="<script>alert(1)</script>"))
    assert "<script>" not in form
    assert "<b>x</b>" not in form


def test_what_no_hand_can_draw_is_refused():
    hours = Question("hours", "Hours?", design=numeric.one_bit((0, 80), 1.0))
    with pytest.raises(ValueError, match="a design that is a matrix, got hours"):
        paper(survey(hours))
    with pytest.raises(ValueError, match="that a coin, die, slips or cards realize exactly, got cheated"):
        paper(survey(cheated(design=warner(epsilon=1))))


def test_the_language_must_be_one_of_the_survey():
    with pytest.raises(ValueError, match="language"):
        paper(survey(), "de")


def test_a_survey_of_several_waves_has_no_sheet() -> None:
    with pytest.raises(ValueError, match="a survey with waves cannot be asked on paper, got 4 waves: paper keeps"):
        paper(panel())


def test_numbers_on_paper_say_which_can_be_written() -> None:
    asked = [Question("age", "Age?", bounds=(18, 99), whole=True), Question("km", "Far?", bounds=(0, "9.5"))]
    form = paper(Survey("Exams", asked, consent="Why.", languages=["de"]))
    assert "<p>Eine ganze Zahl von 18 bis 99</p><p class='line'>" in form
    assert "<p>Eine Zahl von 0 bis 9,5</p><p class='line'>" in form
