"""Questions and options in random order: every order is equally likely, and none leaves a trace."""

from collections import Counter
from itertools import permutations, product

import pytest
from playwright.sync_api import expect

from tests.browser.forms import modes
from toolkit import warner
from toolkit.survey.client import asset
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey

pytestmark = pytest.mark.browser

LOAD = """async (module) => {
  globalThis.browser = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
}"""
SHUFFLED = """([size, free, draws]) => draws.map((words) => {
  const left = [...words];
  return browser.shuffled(Array(size).fill(0), free, () => left.shift());
})"""


@pytest.mark.parametrize(("size", "free"), [(4, [0, 1, 2, 3]), (5, [1, 2, 4]), (3, []), (2, [0, 1])])
def test_every_order_is_equally_likely_and_the_others_keep_their_places(page, size, free):
    """Of each possible draw exactly one makes each order: the draws are uniform, so the orders are, too."""
    page.goto("about:blank")
    page.evaluate(LOAD, asset("randomizer.js").decode())
    draws = [list(draw) for draw in product(*(range(n) for n in range(len(free), 0, -1)))]
    orders = page.evaluate(SHUFFLED, [size, free, draws])
    assert Counter(tuple(order[i] for i in free) for order in orders) == dict.fromkeys(permutations(free), 1)
    fixed = [i for i in range(size) if i not in free]
    assert all([order[i] for i in fixed] == fixed for order in orders)


ASKED = [
    Question("faculty", "Where?", options=["arts", "law", "prefer not to say"], required=False, random_order=True),
    Question("work", "Work?", options=["no", "yes"]),
    Question("hours", "Hours?", bounds=(0, 80), show_if={"work": ["yes"]}),
    Question("cheated", "Cheated?", design=warner(p="3/4")),
    Question("stolen", "Stolen?", design=warner(p="3/4"), mode="guided", random_order=True),
]
MIXED = Survey("Orders", ASKED, consent="You may stop.", practice=False, check=False, ceiling=7, random_order=True)
FORWARDS, BACKWARDS = [0, 0, 0, 0], [3, 2, 1, 0]  # words for the four units of questions that stay together


def answered(phone, order):
    """A person who sees the questions in this order, with the same random words otherwise."""
    person = phone(MIXED)
    person.page.add_init_script(f"window.pinned = {order};")
    person.open().pin([1, 2, 0, 0])  # a word for each report, and for the options if they come first
    person.press("I take part")
    person.page.evaluate("() => { window.pinned = null; }")
    seen = []
    for number in range(1, 6):
        expect(person.heading).to_contain_text(f"Question {number}")
        (text,) = person.page.locator("legend h1").evaluate_all("all => all.map((h) => h.lastChild.textContent)")
        seen.append(text.removesuffix(" (optional)"))
        if text.startswith("Hours"):
            person.write("12")
            continue
        if text == "Stolen?":
            person.press("Turn the wheel")
        person.choose("law" if text.startswith("Where") else "Yes")
        if text == "Cheated?":
            person.press("Next")
    kept = person.kept()
    person.sees("Before you send").press("Send").sees("Thank you")
    return seen, kept, person.posts(), person.kept()


def test_an_order_is_neither_stored_nor_sent(phone):
    """Two orders, and the same answers and draws: the same bytes leave, and the same are kept before and after."""
    (seen, *left), (others, *left_by_others) = (answered(phone, order) for order in (FORWARDS, BACKWARDS))
    assert seen == ["Where?", "Work?", "Hours?", "Cheated?", "Stolen?"]
    assert others == ["Stolen?", "Cheated?", "Work?", "Hours?", "Where?"], "what depends on an answer follows it"
    kept, kept_by_others = (
        {name: value for name, value in stored.items() if ":words" not in name}  # these are encrypted anew each time
        for stored in (left[0], left_by_others[0])
    )
    assert kept == kept_by_others
    assert left[1] == left_by_others[1]
    assert left[2] == left_by_others[2]


def test_options_keep_their_codes_and_their_order_on_the_way_back(phone):
    person = phone(MIXED)
    person.page.add_init_script(f"window.pinned = {FORWARDS};")
    person.open().pin([1, 2, 1, 0])  # the reports, then the two options that are in random order
    person.press("I take part").pin(None)
    labels = person.page.locator("label.choice")
    assert labels.all_inner_texts() == ["law", "arts", "prefer not to say", "No answer"]
    person.choose("law").sees("Question 2 of 4")
    person.page.go_back()
    assert labels.all_inner_texts() == ["law", "arts", "prefer not to say", "No answer"]
    expect(person.page.get_by_label("law", exact=True)).to_be_checked()
    person.press("Continue").choose("No").choose("Yes").press("Next").press("Turn the wheel").choose("No")
    assert '"faculty":1,' in person.page.locator("details pre").first.text_content()


def test_nothing_is_drawn_for_an_order_where_none_is_random(phone):
    person = phone(modes())
    person.page.add_init_script("window.pinned = [];")
    person.open().reads("I take part")
    assert person.page.evaluate("() => window.pinned") == []
