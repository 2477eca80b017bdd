"""The form can be seen, read and used: on a narrow screen, enlarged, by night, from right to left, with a
screen reader.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.forms import kinds, modes
from toolkit import k_ary, warner
from toolkit.survey import client
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import LANGUAGES, page_words_by_language

pytestmark = pytest.mark.browser

# All text that is seen, with its color and the first opaque color behind it.
COLOURS = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.getClientRects().length) continue;
    let behind = element;
    while (behind && getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
    const ground = getComputedStyle(behind || document.body).backgroundColor;
    found.push([walker.currentNode.textContent, getComputedStyle(element).color, ground]);
  }
  return found;
}"""
SMALL = """() => [...document.querySelectorAll("button, select, summary, label.choice, input[type=text], textarea")]
  .filter((one) => one.getClientRects().length)
  .map((one) => [one.tagName, one.getBoundingClientRect().width, one.getBoundingClientRect().height])
  .filter(([, width, height]) => width < 44 || height < 44)"""
# Every field has a name that a screen reader says, every group a legend, and nothing has a role that it does
# not fill.
NAMELESS = """() => [...document.querySelectorAll("input, select, textarea, progress, button, fieldset")]
  .filter((one) => {
    if (one.tagName === "PROGRESS" && one.closest("li")) return false; // its number stands beside it
    const labels = one.labels ? [...one.labels].map((label) => label.innerText).join("") : "";
    const legend = one.tagName === "FIELDSET" && one.firstElementChild.tagName === "LEGEND" ? one.firstElementChild.innerText : "";
    return !(labels || legend || one.getAttribute("aria-label") || (one.tagName === "BUTTON" && one.innerText)).trim();
  })
  .map((one) => one.outerHTML)"""  # noqa: E501


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """WCAG 2.2: (lighter + 0.05) / (darker + 0.05)."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def every_screen(person):
    """Walks through `modes`, and stops on each screen as it is when all of it is open."""
    person.open()

    def stop():
        for summary in person.page.locator("summary").all():
            summary.click()
        return person.heading.inner_text()

    yield stop()
    person.press("I take part")
    yield stop()
    person.choose("Yes")
    yield stop()
    person.press("Next").press("Continue")
    yield stop()
    person.choose("Yes").press("Next").choose("Yes")
    yield stop()
    person.write("12").choose("No").press("Next").press("Turn the wheel")
    yield stop()
    person.choose("Yes")
    yield stop()
    person.choose("Same")
    yield stop()
    person.write("")
    yield stop()
    person.press("Send").sees("Thank you")
    yield stop()


def sound(person):
    """What holds on every screen."""
    assert person.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), "one must scroll sideways"
    assert person.page.evaluate(SMALL) == []
    assert person.page.evaluate(NAMELESS) == []
    assert person.page.locator("h1").count() == person.page.locator("main").count() == 1
    assert person.page.locator("[role=status], [role=alert]").count() >= 1
    assert person.page.locator("form, [name]:not([type=radio]):not([type=checkbox]):not(meta)").count() == 0
    assert person.page.locator("input:not([autocomplete=off]), textarea:not([autocomplete=off])").count() == 0
    weak = [
        (text, round(contrast(words, ground), 2))
        for text, words, ground in person.page.evaluate(COLOURS)
        if contrast(words, ground) < 4.5
    ]
    assert weak == []


def test_every_screen_fits_a_small_phone_in_both_themes(phone):
    """Every screen fits a small phone and can be read by day and by night."""
    person = phone(modes(), hand=True)
    seen = []
    for heading in every_screen(person):
        seen.append(heading)
        for scheme in ("light", "dark"):
            person.page.emulate_media(color_scheme=scheme)
            sound(person)
    assert len(seen) == 10


def test_a_question_with_three_answers_fits_a_phone_without_scrolling(phone):
    options = ["never", "once", "more than once"]
    question = Question("cheated", "How often have you cheated on an exam?", design=k_ary(options, epsilon=1))
    survey = Survey("Exams", [question], consent="We study exams.", practice=False, check=False)
    person = phone(survey)
    person.begin()
    boxes = [one.bounding_box() for one in person.page.locator("main .choice, main button").all()]
    lowest = max(box["y"] + box["height"] for box in boxes)
    assert len(boxes) == 5
    assert lowest <= 740


def test_at_twice_the_size_nothing_is_cut_off(phone):
    """200 % of a 640 pixel wide window has the room of 320 pixels; the largest text setting adds to that."""
    person = phone(kinds(), viewport={"width": 320, "height": 480})
    person.begin()
    person.page.evaluate("() => { document.documentElement.style.fontSize = '32px'; }")
    for labels in (["Yes"], ["3"], ["car"]):
        assert person.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        person.choose(*labels)
        assert person.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        person.press("Next")


def test_borders_of_fields_and_the_hand_of_the_wheel_stand_out(phone):
    """WCAG 1.4.11: 3 to 1 for what must be seen to use the page."""
    person = phone(modes()).begin()
    style = "element => [getComputedStyle(element).borderTopColor, getComputedStyle(document.body).backgroundColor]"
    stroke = "one => getComputedStyle(one).stroke"
    for scheme in ("light", "dark"):
        person.page.emulate_media(color_scheme=scheme)
        assert contrast(*person.page.locator("label.choice").first.evaluate(style)) >= 3
    person.choose("Yes")
    for scheme in ("light", "dark"):
        person.page.emulate_media(color_scheme=scheme)
        for line in ("hand", "wheel path"):  # the hand, and what parts the sectors from each other
            drawn = person.page.locator(f".{line}").first.evaluate(stroke)
            for sector in person.page.locator(".wheel path").all():
                assert contrast(drawn, sector.evaluate("one => getComputedStyle(one).fill")) >= 3
        assert person.page.locator(".wheel text").all_text_contents() == ["A", "B"]


def test_the_wheel_turns_unless_reduced_motion_is_preferred(phone):
    """The wheel turns and words follow but not for those who asked for stillness."""
    for motion, turns in (("no-preference", "turn"), ("reduce", "none")):
        person = phone(modes(), reduced_motion=motion).begin().choose("Yes")
        assert person.page.locator(".hand").evaluate("hand => getComputedStyle(hand).animationName") == turns
        person.press("Next").sees("One question about the method")  # the way on is open while it turns


def arabic():
    text = {code: f"text {code}" for code in LANGUAGES}
    question = Question("cheated", text, design=warner(p="3/4"), mode="guided")
    return Survey({**text, "ar": "استطلاع"}, [question], consent=text, languages=LANGUAGES, practice=False)


def test_arabic_runs_from_right_to_left_and_every_language_can_be_chosen(phone):
    person = phone(arabic(), locale="ar-EG")
    person.open().sees("استطلاع")
    root = person.page.evaluate("() => [document.documentElement.lang, document.documentElement.dir]")
    assert root == ["ar", "rtl"]
    words = page_words_by_language(LANGUAGES)
    person.pin([0] * 4)  # the draw, and the order of the answers to the question about the method
    person.press(words["ar"]["take_part"]).sees(words["ar"]["check_title"])
    box, label = (person.page.locator("label.choice").first.locator(part).bounding_box() for part in ("input", "bdi"))
    assert box["x"] > label["x"], "the button stands on the right"
    assert person.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    person.page.get_by_label(words["ar"]["check_no"]).check()
    person.press(words["ar"]["continue"]).press(words["ar"]["next"])
    person.press(words["ar"]["turn"])
    expect(person.page.locator(".lead")).to_contain_text("المس «\u2068لا\u2069»")
    for code in ("de", "fr", "es", "en"):
        person.open().press(words[code]["name"])
        assert person.page.evaluate("() => [document.documentElement.lang, document.documentElement.dir]") == [
            code,
            "ltr",
        ]
        expect(person.button(words[code]["take_part"])).to_be_visible()


def test_the_page_takes_the_language_of_the_phone_if_the_survey_has_it(phone):
    for locale, spoken in (("de-CH", "de"), ("fr-FR", "fr"), ("ja-JP", "ar")):  # ar is the survey's first
        person = phone(arabic(), locale=locale).open()
        assert person.page.evaluate("() => document.documentElement.lang") == spoken


def test_a_screen_reader_hears_new_headings_and_errors(phone):
    """A screen reader hears the heading of a new screen and what is wrong."""
    person = phone(modes(practice=False, check=False)).begin()
    heading = person.page.get_by_role("heading", level=1)
    expect(heading).to_be_focused()
    expect(heading).to_have_text("Question 1 of 5 Do you work?")
    assert person.page.title() == "Question 1 of 5 – Campus"  # no question is kept in the browser's history
    person.press("Continue")
    assert person.page.title() == "Error: Question 1 of 5 – Campus"
    alert = person.page.get_by_role("alert")
    expect(alert).to_have_text("Please give an answer first.")
    group = person.page.get_by_role("group", name="Do you work?")
    assert group.get_attribute("aria-describedby") == alert.get_attribute("id")
    expect(person.page.get_by_role("progressbar", name="Step 2 of 8")).to_be_visible()
    person.page.get_by_label("Yes").check()  # what is repaired is no longer called wrong
    expect(alert).to_have_text("")
    assert person.page.title() == "Question 1 of 5 – Campus"
    person.press("Continue").write("eighty")
    box = person.page.get_by_role("textbox")
    assert (box.get_attribute("aria-invalid"), alert.inner_text()) == (
        "true",
        "You wrote “eighty”. Please write a number from 0 to 80.",
    )


def test_without_scripts_the_page_says_that_nothing_was_sent(phone):
    person = phone(modes(), java_script_enabled=False)
    person.page.goto(person.site.url)
    expect(person.page.locator("main")).to_contain_text("No answer was sent.")


def test_the_wheel_can_be_seen_in_the_colours_of_a_contrast_theme(phone):
    person = phone(modes(), forced_colors="active").begin().choose("Yes")
    sectors = [one.evaluate("one => getComputedStyle(one).fill") for one in person.page.locator(".wheel path").all()]
    ground = person.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert len({*sectors, ground}) == 3
    line = person.page.locator(".wheel path").first.evaluate("one => getComputedStyle(one).stroke")
    assert all(contrast(line, sector) >= 3 for sector in sectors)


def test_the_page_says_that_it_loads_and_requests_scripts_at_once(phone):
    """That a browser is too old is said after 15 seconds: until then it may just be slow."""
    person = phone(modes())
    held = []
    person.page.route("**/*.js", lambda route: held.append(route))
    person.page.goto(person.site.url, wait_until="commit")
    expect(person.page.get_by_text("One moment …", exact=True)).to_be_visible()
    expect(person.page.locator(".late")).to_be_hidden()
    expect(person.page.locator(".late")).to_contain_text("Or the connection was cut")
    person.page.wait_for_timeout(200)
    names = sorted(route.request.url.rpartition("/")[2] for route in held)
    later = {"blind.js", "signing.js", "station.js", "worker.js"}
    assert names == sorted({name for name in client.FILE_NAMES if name.endswith(".js")} - later)
    for route in held:
        route.continue_()
    person.sees("Campus")
    assert len(held) == len(names), "a script was asked for twice"


# The letters of a script in each paragraph, in the order in which they are written: those that are not seen
# behind the one before.
BACKWARDS = """([selector, script]) => [...document.querySelectorAll(selector)].flatMap((paragraph) => {
  const walker = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
  const seen = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    for (const found of node.data.matchAll(RegExp(`\\\\p{Script=${script}}`, "gu"))) {
      const range = new Range();
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      const { left, right, top, bottom } = range.getBoundingClientRect();
      seen.push([(top + bottom) / 2, script === "Latin" ? left : -right, found[0] + ": " + paragraph.innerText]);
    }
  }
  const behind = (one, other) => Math.abs(one[0] - other[0]) < 8 ? one[1] >= other[1] - 2 : one[0] > other[0];
  return seen.filter((one, i) => i && !behind(one, seen[i - 1])).map((one) => one[2]);
})"""
TURNED = ["Yes\u202e", "نعم (123) – a", "שלום עולם, 4–5 ; x", "نعم " * 20 + "b", "\u2069\u202eYes\u2067", "Yes”, “c"]


@pytest.mark.parametrize(("language", "script"), [("en", "Latin"), ("ar", "Arabic")])
def test_no_label_turns_the_promise_round(phone, language, script):
    """As in a collection that was made before such labels were refused; each question has one of them."""
    words = {"en": "Exams", "ar": "امتحانات"}
    texts = [{"en": f"Cheated {place}?", "ar": f"هل غششت {place}؟"} for place in range(len(TURNED))]
    asked = [Question(f"q{place}", text, design=warner(p="3/4"), mode="guided") for place, text in enumerate(texts)]
    languages = [language, {"en": "ar", "ar": "en"}[language]]
    data = Survey(words, asked, consent=words, languages=languages, practice=False, ceiling=20).to_dict()
    for question, label in zip(data["questions"], TURNED, strict=True):
        turned = label if language == "en" else label.replace("نعم", "No").replace("Yes", "No")
        question["labels"] = {"yes": {"en": turned, "ar": turned}}
    one = phone(Survey.from_collection(data), locale=language).open()
    one.page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert one.page.locator("details p", has_text="●●●○").count() == len(TURNED) - 1, "without marks, two are one"
    assert one.page.evaluate(BACKWARDS, ["p", script]) == []
