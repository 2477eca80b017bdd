"""The answer card's own behavior, on an empty page with a stand-in for the kernel: fast, and every message is seen."""

import json

import pytest
from playwright.sync_api import Page, expect

from toolkit import crosswise, k_ary, kuk, warner
from toolkit.local import numeric, oracles
from toolkit.show.widgets.answer_card import AnswerCard
from toolkit.survey.questions.question import Question, accepts

pytestmark = pytest.mark.browser

SET_UP = """async ([code, card, again]) => {
  if (globalThis.closeCard) closeCard();
  delete crypto.getRandomValues; // what an earlier test has pinned
  if (!again) delete globalThis.toolkitOpenDraws;
  document.body.replaceChildren();
  globalThis.sent = [];
  const listeners = [];
  globalThis.kernel = {
    get: (name) => ({ card, receipt: kernel.receipt })[name],
    receipt: { id: "", number: 0 },
    send: (message) => sent.push(JSON.stringify(message)),
    on: (_, listener) => listeners.push(listener),
    off: (_, listener) => listeners.splice(listeners.indexOf(listener), 1),
    confirm(id) {
      kernel.receipt = { id, number: kernel.receipt.number + 1 };
      listeners.forEach((listener) => listener());
    },
  };
  const module = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  globalThis.closeCard = module.default.render({ model: kernel, el: document.body });
}"""
PIN = """([words, ids]) => {
  const real = Crypto.prototype.getRandomValues;
  const pinned = (array) => (array instanceof Uint32Array && array.length === 1) || (ids && array instanceof Uint8Array);
  crypto.getRandomValues = (array) => (pinned(array) ? array.fill(words.shift()) : real.call(crypto, array));
}"""  # noqa: E501


@pytest.fixture(scope="module")
def blank(page):
    fresh = page.context.new_page()
    yield fresh
    fresh.close()


class Seen:
    """A card on the empty page."""

    def __init__(self, page: Page, question, *words: int, patience: int = 4000, again: bool = False) -> None:
        self.page, self.card = page, AnswerCard(question)
        code = self.card._esm.replace("const PATIENCE = 4000", f"const PATIENCE = {patience}")
        page.evaluate(SET_UP, [code, self.card.card, again])
        if words:
            page.evaluate(PIN, [list(words), False])
        self.root = page.locator(".toolkit-card")

    def press(self, name: str) -> None:
        self.root.get_by_role("button", name=name, exact=True).click()

    def sent(self) -> list[dict]:
        return [json.loads(text) for text in self.page.evaluate("() => sent")]

    def reports(self) -> list:
        return [message["r"] for message in self.sent()]

    def confirm(self, place: int = -1) -> None:
        self.page.evaluate("(id) => kernel.confirm(id)", self.sent()[place]["id"])

    def state(self) -> str:
        return self.root.get_attribute("data-state")

    def told(self) -> list[str]:
        return self.root.locator("dd").all_inner_texts()


CHEATED = Question("cheated", "Have you ever cheated on an exam?", design=warner(p="3/4"))


def test_one_tap_sends_one_report_and_shows_the_way_it_took(blank):
    seen = Seen(blank, CHEATED, 0)
    seen.press("Yes")
    assert seen.told() == ["Yes", "changed it", "No"]
    (message,) = seen.sent()
    assert {key: message[key] for key in ("kind", "q", "r")} == {"kind": "report", "q": "cheated", "r": 0}
    assert set(message) == {"kind", "q", "r", "id"}
    assert len(message["id"]) == 32


@pytest.mark.parametrize(
    ("name", "word", "told", "sent"),
    [
        ("Yes", 0, ["Yes", "changed it", "No"], 0),
        ("Yes", 3, ["Yes", "left it as it is", "Yes"], 1),
        ("No", 0, ["No", "left it as it is", "No"], 0),
        ("No", 3, ["No", "changed it", "Yes"], 1),
    ],
)
def test_what_is_shown_is_what_is_sent(blank, name, word, told, sent):
    seen = Seen(blank, CHEATED, word)
    seen.press(name)
    assert seen.told() == told
    assert seen.reports() == [sent]


BOXES = oracles.tick_boxes(["a", "b", "c"], 1.0, how="random")


@pytest.mark.parametrize(
    ("question", "answers", "words"),
    [
        (CHEATED, ("Yes", "No"), [0]),
        (CHEATED, ("Yes", "No"), [3]),
        (("How often?", k_ary(["never", "once", "often"], epsilon=1.0)), ("never", "often"), [2**31]),
        (("Which?", oracles.subset(["p", "q", "r", "s", "t"], 0.5, size=3)), ("p", "q"), [0, 0, 1]),
        (("Which?", BOXES), ("a", "c"), [1, 0]),
        (("Hours?", numeric.one_bit((0, 80), 1.0)), ("20", "40"), [0, 0]),
    ],
)
def test_with_all_chance_fixed_the_very_bytes_are_the_same_for_both_truths(blank, question, answers, words):
    """The number of a report is fixed here, too: it could carry the truth as well as anything else could."""
    sent = []
    for answer in answers:
        seen = Seen(blank, question)
        blank.evaluate(PIN, [[*words, 77], True])
        if seen.card.question.kind == "number":
            seen.root.get_by_role("textbox").fill(answer)
        if seen.card.question.kind == "ticks":
            seen.root.get_by_label(answer).check()
        seen.press(answer if seen.card.question.kind == "choice" else "Answer")
        assert seen.told()[0] == answer
        sent.append(blank.evaluate("() => sent"))
    assert sent[0] == sent[1]
    assert f'"id":"{"4d" * 16}"' in sent[0][0]


def test_reports_that_are_not_answers_are_explained_as_mixed(blank):
    """A design whose reports are no answers says only that chance was mixed in."""
    seen = Seen(blank, ("Have you cheated?", crosswise("1/4")), 3)
    seen.press("Yes")
    assert seen.told()[:2] == ["Yes", "was mixed in"]
    assert seen.told()[2] in ("Same", "Different")


def test_there_is_no_second_draw_and_no_way_back(blank):
    seen = Seen(blank, CHEATED)
    seen.press("Yes")
    assert seen.root.get_by_role("button").all_inner_texts() == ["Next person"]


def test_sending_lasts_until_the_kernel_has_confirmed(blank):
    seen = Seen(blank, CHEATED)
    assert seen.state() == "ready"
    seen.press("No")
    expect(seen.root.get_by_role("status")).to_have_text("Sending …")
    assert seen.state() == "sending"
    blank.evaluate("() => kernel.confirm('0'.repeat(32))")  # of somebody else's card
    assert seen.state() == "sending"
    seen.confirm()
    assert seen.state() == "done"
    expect(seen.root.get_by_role("status")).to_have_text("The report has arrived.")


def test_the_same_bytes_are_sent_until_they_are_confirmed(blank):
    """Without a confirmation the same bytes are sent again until there is one."""
    seen = Seen(blank, CHEATED, patience=60)
    seen.press("Yes")
    blank.wait_for_function("() => sent.length >= 3")
    expect(seen.root.get_by_role("status")).to_contain_text("No answer from the notebook yet")
    seen.confirm()
    count = len(seen.sent())
    blank.wait_for_timeout(600)  # the next would have come after 240 or 480
    assert len(set(blank.evaluate("() => sent"))) == 1
    assert len(seen.sent()) == count


def test_the_next_person_may_answer_while_reports_are_on_their_way(blank):
    seen = Seen(blank, CHEATED)
    for _ in range(3):
        seen.press("Yes")
        seen.press("Next person")
    expect(seen.root.get_by_role("status")).to_have_text("(3 earlier on the way)")
    assert len({message["id"] for message in seen.sent()}) == 3
    seen.press("No")
    expect(seen.root.get_by_role("status")).to_have_text("Sending … (3 earlier on the way)")
    for place in (1, 0, 2):
        seen.confirm(place)
    assert seen.state() == "sending"
    seen.confirm(3)
    assert seen.state() == "done"


def test_next_person_leaves_nothing_of_the_last_one(blank):
    """The whole card, letter by letter, is what it was before; and so is everything that can be typed or ticked."""
    everything = (
        "() => document.body.outerHTML + [...document.querySelectorAll('input')].map((i) => i.value + i.checked)"
    )
    questions = [
        CHEATED,
        ("Which?", oracles.tick_boxes(["a", "b", "c"], 1.0)),
        ("Hours?", numeric.one_bit((0, 80), 1.0)),
    ]
    for question in questions:
        seen = Seen(blank, question)
        before = blank.evaluate(everything)
        if seen.card.question.kind == "choice":
            seen.press("Yes")
        elif seen.card.question.kind == "ticks":
            seen.root.get_by_label("b").check()
            seen.press("Answer")
        else:
            seen.root.get_by_role("textbox").fill("41")
            seen.press("Answer")
        seen.confirm()
        assert blank.evaluate(everything) != before
        seen.press("Next person")
        assert blank.evaluate(everything) == before


def test_a_double_click_makes_one_report(blank):
    """A double click makes one report even where buttons take each other's place."""
    seen = Seen(blank, CHEATED)
    blank.add_style_tag(content=".toolkit-card button { position: fixed; left: 0; top: 0; width: 99px; height: 99px; }")
    blank.mouse.click(50, 50, click_count=3)
    assert len(seen.sent()) == 1
    assert len(seen.told()) == 3
    blank.evaluate("() => document.querySelector('style').remove()")


def test_a_key_held_down_makes_one_report(blank):
    seen = Seen(blank, CHEATED)
    seen.root.get_by_role("button", name="Yes").focus()
    for _ in range(5):
        blank.keyboard.down("Enter")  # the second and later ones are repetitions
    blank.keyboard.up("Enter")
    assert len(seen.sent()) == 1
    assert len(seen.told()) == 3


def test_many_options_are_a_list_that_must_be_chosen_from(blank):
    seen = Seen(blank, ("Which subject?", k_ary([f"subject {i}" for i in range(20)], epsilon=1.0)), 2**32 - 1)
    seen.press("Answer")
    expect(seen.root.get_by_role("alert")).to_have_text("Choose one …")
    assert seen.sent() == []
    seen.root.get_by_role("combobox").select_option("subject 7")
    seen.press("Answer")
    assert seen.told()[0] == "subject 7"
    assert accepts(seen.card.question, seen.reports()[0])


def test_ticks_are_sent_as_the_design_says_and_no_more_than_may_be(blank):
    boxes = oracles.tick_boxes([f"box {i}" for i in range(30)], 1.0, most=1)
    seen = Seen(blank, ("Which?", boxes))
    seen.root.get_by_label("box 3", exact=True).check()
    seen.root.get_by_label("box 5", exact=True).check()
    seen.press("Answer")
    expect(seen.root.get_by_role("alert")).to_have_text("Tick at most 1.")
    seen.root.get_by_label("box 5", exact=True).uncheck()
    seen.press("Answer")
    assert seen.told()[0] == "box 3"
    assert boxes._accepts(seen.reports()[0])


def test_no_tick_at_all_is_no_answer_and_none_of_these_is_one(blank):
    seen = Seen(blank, ("Which?", oracles.tick_boxes(["a", "b", "c"], 1.0)), 1, 0)
    seen.press("Answer")
    expect(seen.root.get_by_role("alert")).to_have_text("Tick at least one box.")
    assert seen.sent() == []
    seen.root.get_by_label("a").check()
    seen.root.get_by_label("None of these").check()
    expect(seen.root.get_by_label("a")).not_to_be_checked()
    seen.press("Answer")
    assert seen.told() == ["none", "was mixed in", "b: no"]
    assert seen.reports() == [[1, 0]]


@pytest.mark.parametrize("typed", ["", "-1", "80.5", "1e99"])
def test_a_number_out_of_bounds_is_not_sent(blank, typed):
    seen = Seen(blank, ("Hours?", numeric.one_bit((0, 80), 1.0)))
    seen.root.get_by_role("textbox").fill(typed)
    seen.press("Answer")
    expect(seen.root.get_by_role("alert")).to_contain_text("A number from 0 to 80.")
    assert seen.sent() == []


def test_numbers_are_read_as_on_phones_with_their_unit(blank):
    """Numbers are read as on phones and shown in the unit of the question."""
    seen = Seen(blank, ("Pay?", numeric.local_laplace((0, 4096), 1.0)), 0, 2**32 - 1, 0, 1, 0)  # no noise
    seen.root.get_by_role("textbox").fill("1.500")
    seen.press("Answer")
    expect(seen.root.get_by_role("alert")).to_contain_text("You wrote “1.500”. This can be read in two ways.")
    seen.root.get_by_role("textbox").fill("١٥٠٠,٢٥")
    seen.press("Answer")
    assert seen.told()[::2] == ["1500.25", "1500"]
    assert seen.reports() == [1500 * 16 + 4]


def test_a_number_is_sent_from_its_place_on_the_grid_by_the_enter_key(blank):
    wave = numeric.square_wave((0, 20), 1.0, points=21)
    seen = Seen(blank, ("Years?", wave), 0)
    seen.root.get_by_role("textbox").fill("12.4")
    blank.keyboard.press("Enter")
    lowest = 12 - (wave.width - 1) / 2  # word 0 is the first place of the window
    assert seen.told() == ["12.4", "was mixed in", f"{lowest:g}".replace("-", "−")]
    assert seen.reports() == [wave._draw_report(12, lambda _: 0)]


def test_guided_says_what_to_tap_and_never_asks_for_the_truth(blank):
    design = warner(p="3/4")
    seen = Seen(blank, Question("cheated", "Have you cheated?", design=design, mode="guided"), 0, 1)
    assert seen.root.get_by_role("button").all_inner_texts() == ["Let chance decide"]
    seen.press("Let chance decide")
    expect(seen.root.locator(".orders")).to_have_text("Tap “No”, whatever your true answer is.")
    seen.press("No")
    assert seen.told() == ["No", "No"]
    seen.press("Next person")
    seen.press("Let chance decide")
    expect(seen.root.locator(".orders")).to_have_text("Tap your true answer.")
    seen.press("Yes")
    assert seen.reports() == [0, 1]


GUIDED = Question("cheated", "Have you cheated?", design=warner(p="3/4"), mode="guided")


def test_a_cell_that_is_run_again_does_not_draw_a_guided_question_anew(blank):
    """Word 0 asks for a no, word 3 for a yes, 1 and 2 for the truth; a new card of the same question finds the draw."""
    said = []
    for word, again in ((0, False), (3, True), (1, True)):
        seen = Seen(blank, GUIDED, word, again=again)
        seen.press("Let chance decide")
        said.append(seen.root.locator(".orders").inner_text())
    assert said == ["Tap “No”, whatever your true answer is."] * 3
    seen.press("No")
    seen.press("Next person")
    seen.press("Let chance decide")
    expect(seen.root.locator(".orders")).to_have_text("Tap your true answer.")


def test_another_question_is_drawn_for_itself(blank):
    Seen(blank, GUIDED, 0).press("Let chance decide")
    other = Seen(blank, Question("stolen", "Have you stolen?", design=warner(p="3/4"), mode="guided"), 3, again=True)
    other.press("Let chance decide")
    expect(other.root.locator(".orders")).to_have_text("Tap “Yes”, whatever your true answer is.")


def test_a_draw_that_two_cards_show_serves_one_person(blank):
    """Two reports of one draw would tell more than either promises: the second card begins again."""
    seen = Seen(blank, GUIDED, 0, 3)
    blank.evaluate("() => document.body.append(document.createElement('section'))")
    blank.evaluate(
        """async (code) => {
          const module = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
          module.default.render({ model: kernel, el: document.querySelector("section") });
        }""",
        seen.card._esm,
    )
    first, second = (blank.locator(".toolkit-card").nth(place) for place in (0, 1))
    for card in (first, second):
        card.get_by_role("button", name="Let chance decide").click()
        expect(card.locator(".orders")).to_have_text("Tap “No”, whatever your true answer is.")
    first.get_by_role("button", name="No", exact=True).click()
    assert second.get_by_role("button").all_inner_texts() == ["Let chance decide"]
    second.get_by_role("button", name="Let chance decide").click()
    expect(second.locator(".orders")).to_have_text("Tap “Yes”, whatever your true answer is.")


def test_guided_tells_every_answer_apart_where_the_reports_are_no_answers(blank):
    design = kuk("3/4", "1/4")
    seen = Seen(blank, Question("cheated", "Have you cheated?", design=design, mode="guided"), 2)
    seen.press("Let chance decide")
    said = ["If your true answer is “No”, tap “0”.", "If your true answer is “Yes”, tap “1”."]
    assert seen.root.locator(".orders p").all_inner_texts() == said
    assert [design._draw_report(truth, lambda _: 2) for truth in (0, 1)] == [0, 1]


def test_guided_with_many_options_asks_for_one_answer_or_the_truth(blank):
    """Eight options: nine orders of a few words; draw 0 is the first option for everybody."""
    options = [f"o{i}" for i in range(8)]
    first = Question("which", "Which?", design=k_ary(options, epsilon=1.0), mode="guided")
    seen = Seen(blank, first, 0)
    seen.press("Let chance decide")
    told = seen.root.locator(".orders")
    expect(told).to_have_text("Tap “o0”, whatever your true answer is.")
    expect(told).to_be_focused()


def test_physical_shows_the_instructions_and_takes_the_result(blank):
    said = "Throw a die. 1: tap no. 2: tap yes. 3 to 6: tap your answer."
    seen = Seen(blank, Question("cheated", "Cheated?", design=warner(p="5/6"), mode="physical", instructions=said))
    expect(seen.root).to_contain_text(said)
    seen.press("Yes")
    assert seen.told() == ["Yes", "Yes"]
    assert seen.reports() == [1]


def test_words_of_a_question_are_words_and_never_markup(blank):
    evil = "<img src=x onerror='window.broken = 1'>"
    seen = Seen(blank, Question("q", f"Is {evil} fine?", design=k_ary(["a", "b", evil], epsilon=1.0), help=evil))
    seen.press(evil)
    blank.wait_for_timeout(50)
    assert blank.evaluate("() => [window.broken, document.images.length]") == [None, 0]
    assert seen.told()[0] == evil


def test_a_closed_card_is_silent(blank):
    seen = Seen(blank, CHEATED, patience=40)
    seen.press("Yes")
    blank.evaluate("() => closeCard()")
    count = len(seen.sent())
    blank.wait_for_timeout(200)
    assert len(seen.sent()) == count
