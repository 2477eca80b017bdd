"""Fields of the form: what is typed is read as it was meant or not at all, and shown in the person's unit; a
tap that nobody aimed answers nothing.
"""

import pytest
from playwright.sync_api import expect

from tests.browser.forms import short
from toolkit import k_ary, warner
from toolkit.local import numeric, oracles
from toolkit.survey import client
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import page_words_by_language

pytestmark = pytest.mark.browser

READINGS = {
    "12": [12], " 7 ": [7], "-3": [-3], "−3": [-3], "+4": [4], ".5": [0.5], "5.": [5],
    "1,5": [1.5], "1.5": [1.5], "0.500": [0.5], "1.50": [1.5],
    "١٢": [12], "۱۲٫۵": [12.5], "١٬٥٠٠": [1500], "\u200f١٢": [12],
    "1.500": [1.5, 1500], "1,500": [1.5, 1500], "123.456": [123.456, 123456],
    "1.234,5": [1234.5], "1,234.5": [1234.5], "1.500.000": [1500000], "1\u202f500,25": [1500.25],
    "1 500": [1500], "1'000": [1000], "10 000 000": [10000000],
    "": [], "12h": [], "12 5": [], "1,5,0": [], "1.23.456": [], "1e5": [], "0x10": [], "1.500.5": [],
}  # fmt: skip
WRITTEN = [
    (12.5, 12, "12,5"), (0.0000125, 12, "0,0000125"), (80, 2, "80"), (1000, 3, "1000"), (-0.2, 0, "0"),
    (1234567.891, 1, "1\u202f234\u202f567,9"), (-3.14159, 2, "\u2066−3,14\u2069"), (56.4000001, 1, "56,4"),
]  # fmt: skip
NUMBERS = """async ([code, texts, values]) => {
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const { readings, written } = await import(address);
  const marks = { decimal: ",", thousands: "\u202f", grouped_from: 5 };
  return [texts.map(readings), values.map(([value, decimals]) => written(value, decimals, marks))];
}"""


def test_numbers_are_parsed_in_every_form_and_shown_without_exponent(page):
    """A text is read as every number that it can mean and a number is written without exponent."""
    blank = page.context.new_page()
    code = client.asset("numbers.js").decode()
    read, written = blank.evaluate(NUMBERS, [code, [*READINGS], [row[:2] for row in WRITTEN]])
    blank.close()
    assert dict(zip(READINGS, read, strict=True)) == READINGS
    assert written == [row[2] for row in WRITTEN]


def german(*questions):
    said = {"title": {"de": "Geld"}, "consent": {"de": "Danke."}}
    return Survey(
        said["title"], questions, consent=said["consent"], languages=("de",), practice=False, check=False, ceiling=20
    )


def pay(design, **rest):
    return Question("pay", {"de": "Wie viel?"}, design=design, **rest)


def facts(person):
    return person.page.locator("dd").all_inner_texts()


def test_numbers_use_the_language_and_the_unit_of_the_question(phone):
    """Word 0 is the first place of the window, half a window below the answer."""
    design = numeric.piecewise((0, 100_000), 1.0)
    person = phone(german(pay(design))).open()
    person.pin([0])
    person.press(page_words_by_language(["de"])["de"]["take_part"]).pin(None)
    field = person.page.get_by_role("textbox", name="Eine Zahl von 0 bis 100\u202f000")
    alert = person.page.get_by_role("alert")
    for typed, told in (
        ("1.500", "Sie haben „1.500“ geschrieben. Das lässt sich auf zwei Arten lesen."),
        ("viel", "Sie haben „viel“ geschrieben. Bitte schreiben Sie eine Zahl von 0 bis 100\u202f000."),
        ("100.000,5", "Sie haben „100.000,5“ geschrieben."),
        ("", "Bitte schreiben Sie eine Zahl von 0 bis 100\u202f000."),
    ):
        field.fill(typed)
        person.press("Weiter")
        expect(alert).to_contain_text(told)
    field.fill("12.345,5")
    field.hover()
    person.page.mouse.wheel(0, 100)  # turns no number
    person.press("Weiter").sees("Was der Zufall daraus gemacht hat")
    index = int(design._grid.nearest_indices(12345.5)[0][0])
    value = 100_000 * (index - (design.width - 1) / 2) / design.steps
    shown = f"{abs(value):,.0f}".replace(",", "\u202f")
    assert facts(person)[::2] == ["12\u202f345,5", f"\u2066−{shown}\u2069"]
    assert person.page.locator(".after").count() == 0, "where no wheel turns nobody waits for it"
    person.page.go_back()
    expect(field).to_have_value("12345,5")
    field.fill("٢٠٠٠")
    person.press("Weiter").press("Weiter")
    body = person.page.locator("details pre").first.text_content()
    assert f'"pay":{int(design._grid.nearest_indices(2000)[0][0])}' in body, (
        "what is sent is the step, as it always was"
    )


def test_a_yes_or_no_is_sent_as_one_and_whole_numbers_are_written(phone):
    ages = k_ary(list(range(18, 31)), epsilon=1)
    questions = [
        Question("bit", "How many hours?", design=numeric.one_bit((0, 80), 1.0)),
        Question("age", "How old are you?", design=ages),
        Question("group", "Which?", design=oracles.local_hash(["a", "b", "c", "d"], 1.0)),
    ]
    survey = Survey("Kinds", questions, consent="Stop.", practice=False, check=False, ceiling=20)
    person = phone(survey).begin().write("40")
    assert facts(person)[2] in ("yes", "no")
    person.press("Next").write("20.5").sees("Question 2 of 3")
    expect(person.page.get_by_role("alert")).to_contain_text("Please write a whole number from 18 to 30.")
    person.write("۲۰")
    assert facts(person)[0] == "“20”"
    person.press("Next").choose("a")
    assert facts(person)[2] in [f"Group {n} of 4" for n in range(1, 5)]


def test_a_double_tap_answers_nothing_that_was_not_seen(phone):
    """The second tap falls on what has just appeared: a box of the next question, or its button."""
    ticks = Question("ticks", "Which of these?", design=oracles.tick_boxes(["a", "b"], 1.0))
    again = Question("again", "Have you ever lied?", design=warner(p="2/3"))
    survey = Survey("Taps", [*short().questions, ticks, again], consent="Stop.", practice=False, check=False, ceiling=9)
    person = phone(survey).begin().choose("Yes")
    twice = """([name]) => {
      window.hasty = true;
      const all = () => [...document.querySelectorAll("button, input")];
      const real = { bubbles: true, cancelable: true, detail: 1 };
      const tap = (one) => one.dispatchEvent(new MouseEvent("click", real));
      const old = all();
      return new Promise((done) => setTimeout(() => {
        tap(old.find((one) => one.textContent === name));
        all().forEach(tap); // wherever the second tap falls
        done(document.querySelectorAll("input:checked").length);
      }, 400));
    }"""
    assert person.page.evaluate(twice, ["Next"]) == 0
    person.sees("Question 2 of 3").page.wait_for_timeout(360)
    person.page.get_by_label("b", exact=True).check()  # a person who has looked
    assert person.page.evaluate(twice, ["Continue"]) == 0
    person.sees("What chance has made of it")


@pytest.mark.parametrize("hidden", [True, False])
def test_where_whole_numbers_are_demanded_no_fraction_is_taken(phone, hidden):
    asked = {"design": numeric.one_bit((0, 80), 1.0)} if hidden else {"bounds": (0, 80)}
    person = phone(german(Question("hours", {"de": "Wie viele?"}, whole=True, **asked))).open()
    person.press("Ich nehme teil")
    field, proceed = person.page.locator("input[type=text]"), person.button("Weiter")
    person.reads("Eine ganze Zahl von 0 bis 80")
    assert field.get_attribute("inputmode") == "numeric"
    field.fill("7,5")
    proceed.click()
    expect(person.page.locator("#problem")).to_contain_text("Bitte schreiben Sie eine ganze Zahl von 0 bis 80.")
    field.fill("7")
    proceed.click()
    expect(person.page.locator("#problem")).to_have_count(0)
