"""Several plain questions on one page, and conditions on plain answers that change on the way."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.test_form_axe import NIGHT, look
from tests.browser.test_form_secrecy import traffic
from toolkit import warner
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import page_words_by_language

pytestmark = pytest.mark.browser

WORKS = {"work": ["yes"]}
PLAIN = {"practice": False, "check": False}


def asked(code="en", text="How?"):
    """A page of three questions, a randomized question, and a page of which one question may be left."""
    return [
        Question("work", {code: f"{text} 1"}, options=["no", "yes"], page="you"),
        Question("age", {code: f"{text} 2"}, bounds=(18, 99), whole=True, page="you", help={code: text}),
        Question("likes", {code: f"{text} 3"}, options=["1", "2"], multiple=True, required=False, page="you"),
        Question("cheated", {code: f"{text} 4"}, design=warner("3/4")),
        Question("hours", {code: f"{text} 5"}, bounds=(0, 80), show_if=WORKS, page="job"),
        Question("tired", {code: f"{text} 6"}, options=["no", "yes"], show_if=WORKS, page="job"),
        Question("cars", {code: f"{text} 7"}, options=["no", "yes"], page="job"),
    ]


SURVEY = Survey("Campus", asked(), consent="You may stop.", **PLAIN)


def fill(person, **answers):
    """Answer the questions of a page by their numbers: a label, or a text."""
    for number, answer in answers.items():
        group = person.page.locator("fieldset", has=person.page.get_by_text(f"How? {number[1:]}"))
        box = group.locator("input[type=text]")
        box.fill(answer) if box.count() else group.get_by_label(answer, exact=True).check()
    return person.press("Continue")


def test_neighbors_share_a_page_with_one_note_and_an_error_below_each_question(phone):
    person = phone(SURVEY).begin().sees("Step 2 of 6")
    assert person.page.locator("legend h2").all_inner_texts() == [
        "Question 1 of 5\nHow? 1", "Question 2 of 5\nHow? 2", "Question 3 of 5\nHow? 3 (optional)"
    ]  # fmt: skip
    person.reads("These questions are not protected by chance: we receive your answers as they are.")
    person.press("Continue").sees("Step 2 of 6")
    errors = person.page.locator("[role=alert]")
    assert errors.all_inner_texts() == [
        "Please give an answer first.", "Please write a whole number from 18 to 99.", ""
    ]  # fmt: skip
    expect(person.page.get_by_label("No", exact=True)).to_be_focused()
    expect(person.page).to_have_title("Error: Step 2 of 6 – Campus")
    fill(person, q1="Yes").sees("Step 2 of 6")
    expect(errors.nth(0)).to_be_empty()
    expect(person.page.locator("input[type=text]")).to_be_focused()
    fill(person, q2="20").choose("Yes").press("Next").sees("Step 5 of 6")
    person.page.go_back()
    person.page.go_back()
    person.page.go_back()
    person.sees("Step 2 of 6")
    expect(person.page.get_by_label("Yes", exact=True)).to_be_checked()
    expect(person.page.locator("input[type=text]")).to_have_value("20")


def test_what_is_no_longer_asked_is_neither_reviewed_nor_sent(phone):
    """An answer that decides is changed from the review, on the page of another question: its followers are dropped."""
    person = phone(SURVEY).begin()
    fill(person, q1="Yes", q2="20").choose("Yes").press("Next")
    fill(person, q5="38", q6="Yes", q7="No").sees("Before you send")
    person.page.locator("button.link").nth(1).click()
    fill(person.sees("Step 2 of 6"), q1="No").sees("Before you send")
    assert person.page.locator("dt").all_inner_texts() == [f"How? {number}" for number in (1, 2, 3, 4, 7)]
    person.page.locator("button.link").last.click()
    person.sees("Question 5 of 5").reads("This question is not protected by chance")  # alone on its page
    person.choose("Yes").press("Send").sees("Thank you")
    (stored,) = person.site.stored
    assert {**stored["answers"], "cheated": 0} == {
        "work": 0, "age": 20, "likes": None, "cheated": 0, "hours": None, "tired": None, "cars": 1
    }  # fmt: skip


def test_a_condition_that_comes_true_at_the_review_asks_what_is_missing(phone):
    person = phone(SURVEY).begin()
    fill(person, q1="No", q2="20").choose("Yes").press("Next").choose("No").sees("Before you send")
    person.page.locator("button.link").first.click()
    fill(person.sees("Step 2 of 6"), q1="Yes").sees("Step 5 of 6")
    fill(person, q5="38", q6="No").sees("Before you send")
    person.press("Send").sees("Thank you")
    assert person.site.stored[0]["answers"]["hours"] == 38


LOOKS = {
    "by night": ("en", "How?", NIGHT),
    "from right to left at 400 %": ("ar", "كيف؟", {"locale": "ar-EG", "viewport": {"width": 320, "height": 256}}),
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_page_of_questions_breaks_no_rule_of_wcag(phone, name):
    code, text, settings = LOOKS[name]
    words = page_words_by_language([code])[code]
    person = phone(Survey(text, asked(code, text), consent=text, languages=(code,), **PLAIN), **settings).open()
    person.press(words["take_part"]).reads(words["plain_notes"])
    look(person.page)
    person.press(words["continue"])
    look(person.page)


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


def test_an_image_is_embedded_described_and_shown_on_a_page_and_alone(phone):
    image = {"data": f"data:image/png;base64,{PIXEL}", "alt": "A red card"}
    questions = [Question(name, f"{name}?", options=["no", "yes"], image=image, page="p") for name in "ab"]
    hidden = Question("cheated", "Cheated?", design=warner("3/4"), image={**image, "alt": "“>< card"})
    person = phone(Survey("Campus", [*questions, hidden], consent="Stop.", **PLAIN)).begin()
    images = person.page.get_by_role("img")
    assert [one.get_attribute("alt") for one in images.all()] == ["A red card"] * 2
    assert images.evaluate_all("all => all.map((one) => one.complete && one.naturalWidth)") == [1, 1]
    look(person.page)
    for box in person.page.get_by_label("Yes", exact=True).all():
        box.check()
    person.press("Continue").sees("Question 3 of 3")
    expect(images).to_have_attribute("alt", "“>< card")
    look(person.page)
    person.choose("No").press("Next").sees("Before you send")
    assert "data:image" not in person.page.locator("main").inner_text()


MARKUP = "</script><img src=x onerror=alert(1)>{answer:work}&lt;$&"
PLACES = {"arts": {"en": MARKUP, "de": MARKUP}, "law": {"en": "a law school", "de": "einer Rechtsschule"}}
TOLD = Survey(
    {"en": "Campus", "de": "Campus"},
    [
        Question("work", {"en": "Do you work?", "de": "Arbeiten Sie?"}, options=["no", "yes"]),
        Question("faculty", {"en": "Where?", "de": "Wo?"}, options=list(PLACES), labels=PLACES),
        Question(
            "cheated",
            {"en": "Cheated in {answer:faculty}?", "de": "Betrug in {answer:faculty}?"},
            help={"en": "You work: {answer:work}.", "de": "Arbeit: {answer:work}."},
            design=warner("3/4"),
        ),
    ],
    consent={"en": "Stop.", "de": "Halt."},
    languages=("en", "de"),
    **PLAIN,
)


def test_an_answer_is_inserted_as_text_in_the_language_of_the_page(phone):
    """Markup and braces in a label stay as they are, and a changed answer changes the text."""
    person = phone(TOLD, locale="en").begin().choose("Yes").choose(MARKUP)
    expect(person.page.locator("h1")).to_contain_text(f"Cheated in \u2068{MARKUP}\u2069?")
    person.reads("You work: \u2068Yes\u2069.")
    assert person.page.locator("img").count() == 0
    person.page.go_back()
    person.choose("a law school").reads("Cheated in \u2068a law school\u2069?").choose("No").press("Next")
    person.sees("Before you send").reads("Cheated in \u2068a law school\u2069?")
    words = page_words_by_language(["de"])["de"]
    german = phone(TOLD, locale="de").open().press(words["take_part"])
    for label in ("Ja", "einer Rechtsschule"):
        german.page.get_by_label(label, exact=True).check()
        german.press(words["continue"])
    german.reads("Betrug in \u2068einer Rechtsschule\u2069?", "Arbeit: \u2068Ja\u2069.")


def test_the_consent_shows_an_ellipsis_in_place_of_an_answer(phone):
    person = phone(TOLD, locale="en").open()
    person.page.get_by_label("More: What can be learned").click()
    person.reads("Cheated in …?")
    assert "{answer" not in person.page.inner_text("body")


def test_no_byte_depends_on_the_truth_on_pages_with_conditions_and_inserted_answers(phone):
    """(Yes, changed) and (no, kept) give the same report: all requests, and all that is stored before and after."""
    questions = [*asked()[:3], Question("cheated", "How? 4 {answer:work}", design=warner("3/4")), *asked()[4:]]
    survey = Survey("Campus", questions, consent="Stop.", **PLAIN)
    seen = []
    for answer, word in (("Yes", 0), ("No", 2)):
        person = phone(survey)
        person.page.add_init_script("window.pinned = [];")
        person.begin(words=[word]).pin([])
        fill(person, q1="Yes", q2="20").choose(answer).press("Next")
        fill(person, q5="38", q6="Yes", q7="No").sees("Before you send")
        person.page.locator("button.link").first.click()
        fill(person, q1="No").sees("Before you send").pin(None)
        kept = {name: value for name, value in person.kept().items() if ":words" not in name}  # encrypted in a real tab
        person.press("Send").sees("Thank you")
        port = person.site.url.split(":")[2].strip("/")
        seen.append(json.dumps([traffic(person), kept, person.kept()]).replace(port, "port"))
    assert seen[0] == seen[1]
    assert '\\"cheated\\":0' in seen[0]
