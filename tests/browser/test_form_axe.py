"""axe-core finds nothing wrong on any screen: WCAG 2.2, A and AA, by day, by night, from right to left."""

import json
from importlib.resources import files

import pytest
from playwright.sync_api import expect

from tests.browser.forms import modes
from tests.survey.desk import sha256
from toolkit import k_ary, warner
from toolkit.local import numeric, oracles
from toolkit.survey.questions.question import Question
from toolkit.survey.serving.blind import IssuerKey
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import page_words_by_language

pytestmark = pytest.mark.browser

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """async (rules) => {
  document.querySelectorAll("details").forEach((one) => (one.open = true));
  const found = await axe.run(document, { runOnly: rules, resultTypes: ["violations"] });
  const wide = document.documentElement.scrollWidth > innerWidth ? [["sideways", []]] : [];
  return wide.concat(found.violations.map((one) => [one.id, one.nodes.map((node) => node.html.slice(0, 120))]));
}"""
NIGHT, SMALL = {"color_scheme": "dark"}, {"width": 320, "height": 256}  # of 1280 pixels: 400 %


def look(page, rules=None):
    """What axe finds on this screen, with all that can be unfolded unfolded, and whether one must scroll sideways."""
    page.locator("h1").first.wait_for()  # a page is drawn by its scripts
    if not page.evaluate("() => Boolean(window.axe)"):
        page.evaluate(AXE)  # not as a script of the page, which its policy forbids
    found = page.evaluate(RUN, {"type": "rule" if rules else "tag", "values": rules or LEVELS})
    assert found == [], f"{page.title()}: {json.dumps(found, indent=1)}"


def look_around(page):
    """By day; then what night changes, which is colors, and what 400 % changes, which is sizes and places."""
    size = page.viewport_size
    look(page)
    page.emulate_media(**NIGHT)
    look(page, ["color-contrast"])
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(SMALL)
    look(page, ["target-size", "scrollable-region-focusable"])
    page.set_viewport_size(size)


def asked(texts):
    """One of each kind of field, in all modes; the last is a guided question with five options."""
    four = ["1–2", "3–4", "5–6", "7–8"]
    return [
        Question("cheated", texts, design=warner(p="3/4")),
        Question("boxes", texts, design=oracles.tick_boxes(four, 1.0)),
        Question("money", texts, design=numeric.piecewise((-500, 100_000), 1.0)),
        Question("age", texts, design=k_ary(list(range(18, 30)), epsilon=1)),
        Question("comment", {code: f"{text} 2" for code, text in texts.items()}, free_text=True, warning=texts),
        Question("often", texts, design=k_ary([1, 2, 3, 4, 5], epsilon=1), mode="guided"),
    ]


def walk(person, words):
    """Every kind of screen, also with what was left out; yields on each."""
    boxes = person.page.locator("label.choice")
    write = person.page.locator("input[type=text], textarea")
    person.press(words["take_part"])
    yield
    boxes.last.click()
    person.press(words["continue"])
    yield
    person.press(words["next"]).press(words["continue"])
    yield
    boxes.first.click()
    person.press(words["continue"])
    yield
    person.press(words["next"])
    for field in ("choice", "ticks", "number", "whole"):
        if field in ("choice", "ticks"):
            boxes.last.click()
        else:
            write.fill("x")
            person.press(words["continue"])
            yield
            write.fill("−1,5" if field == "number" else "٢٠")
        person.press(words["continue"])
        if field == "choice":
            person.page.locator("summary").first.click()
            person.press(words["try_button"])
        yield
        person.press(words["next"])
    yield
    write.fill("…")
    person.press(words["continue"]).press(words["turn"])
    yield
    boxes.nth(1).click()
    person.press(words["continue"])
    yield
    person.page.context.set_offline(True)
    person.press(words["send"])
    person.page.wait_for_function("() => document.getElementById('status').textContent.length > 40")
    yield
    person.page.context.set_offline(False)
    person.sees(words["thanks"])
    yield


WALKS = {
    "by night at 400 %": {**NIGHT, "viewport": SMALL},
    "by day from right to left": {
        "color_scheme": "light",
        "locale": "ar-EG",
        "viewport": {"width": 320, "height": 568},
    },
}


@pytest.mark.parametrize("name", WALKS)
def test_no_screen_breaks_a_rule_of_wcag(phone, name):
    code = "ar" if "locale" in WALKS[name] else "en"
    text = {"en": "How is it?", "ar": "كيف الحال؟"}[code]
    survey = Survey(text, asked({code: text}), consent=text, languages=(code,), ceiling=20)
    person = phone(survey, **WALKS[name]).open()
    look(person.page)
    screens = 1
    for _ in walk(person, page_words_by_language([code])[code]):
        look(person.page)
        screens += 1
    assert screens == 16


def test_screens_of_other_modes_and_refusals_are_accessible(phone):
    """The screens of other ways to answer and of refusals break none either."""
    person = phone(modes(practice=False, check=False)).begin().choose("No").choose("No").press("Next")
    person.press("Turn the wheel").choose("Yes")
    look(person.page)  # a device of one's own, and instructions
    person.choose("Same").write("").sees("Before you send")
    person.page.route("**/report", lambda route: route.fulfill(status=410, json={"error": "closed"}), times=1)
    person.press("Send").sees("Your answers were not accepted")
    look(person.page)


LOOKS = {
    "day, night and 400 %": ("en", "How is it?", look_around, {}),
    "from right to left by night": ("ar", "كيف الحال؟", look, {"locale": "ar-EG", **NIGHT}),
}


@pytest.mark.parametrize("name", LOOKS)
def test_the_screens_of_a_device_check_and_of_every_end_break_none(phone, name):
    """The consent unfolded, both tries, the answer that is kept and deleted, those who do not take part."""
    code, text, look, settings = LOOKS[name]
    asked = [Question("cheated", {code: text}, design=warner(p="3/4"))]
    said = {"debrief": text, "help": f"{text} 0800 1", "completion": "ABC-1"}
    survey = Survey(text, asked, consent=text, languages=(code,), practice=2, check="device", **said)
    words = page_words_by_language([code])[code]
    person = phone(survey, **settings).open()
    look(person.page)
    person.press(words["not_part"])
    look(person.page)
    person.press(words["back"]).press(words["take_part"])
    boxes = person.page.locator("label.choice")
    for _ in range(2):
        boxes.first.click()
        person.press(words["continue"])
        look(person.page)
        person.press(words["next"])
    for _ in range(2):
        person.page.get_by_label(words["check_nothing"], exact=True).check()
        person.press(words["continue"])
        look(person.page)
    person.press(words["next"])
    boxes.first.click()
    person.press(words["continue"]).sees(words["review"])  # what chance does was seen twice in practice
    look(person.page)
    person.page.route("**/report", lambda route: route.fulfill(status=400, json={"error": "no"}), times=1)
    person.press(words["send"]).sees(words["no_report"])
    look(person.page)
    person.press(words["delete"])
    look(person.page)


@pytest.mark.parametrize("name", LOOKS)
def test_the_screens_of_personal_links_and_of_a_household_break_none(phone, name):
    """Without a link, what is said before it is used up, on another phone; thanks, and who answers next on it."""
    (code, text, look, settings), token = LOOKS[name], "abcdefghijklmnopqrstuv"
    words = page_words_by_language([code])[code]

    def made(**changes):
        asked = [Question("cheated", {code: text}, design=warner(p="3/4"))]
        said = {
            "practice": False,
            "check": False,
            "debrief": text,
            "help": f"{text} 0800 1",
            "completion": "ABC-1",
            **changes,
        }
        return Survey(text, asked, consent=text, languages=(code,), **said)

    person = phone(made(access="blind"), key=IssuerKey.generate(), invited=[sha256(token)], **settings).open()
    person.reads(words["end_link"])
    look(person.page)
    person.page.goto("about:blank")
    person.open(f"#t={token}")
    person.reads(words["link_used"])
    look(person.page)
    person.press(words["take_part"])
    expect(person.button(words["continue"])).to_be_visible()
    other = phone(site=person.site, **settings).open(f"#t={token}").press(words["take_part"])
    other.reads(words["used_blind"])
    look(other.page)
    first = phone(made(household=True, completion="ABC-1"), **settings).open().press(words["take_part"])
    first.page.locator("label.choice").first.click()
    first.press(words["continue"]).press(words["next"]).press(words["send"]).sees(words["thanks"])
    look(first.page)
    first.page.reload()
    expect(first.page.get_by_text(words["already_household"], exact=True)).to_be_visible()
    look(first.page)
