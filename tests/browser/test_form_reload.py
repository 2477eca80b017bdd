"""A page that is loaded again before it was sent: the same answer gives the same report, and what is kept
knows no answer.
"""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.forms import BLOCKED, kinds, modes, short
from tests.browser.randomizers import designs, long, others, truths
from tests.survey.desk import sha256
from toolkit.survey import client
from toolkit.survey.serving.blind import IssuerKey

pytestmark = pytest.mark.browser

ANSWERS = (["Yes"], ["3"], ["car"], ["car"], ["foot"], ["bus"], ["bus", "bike"], ["foot"], "40", "999.5", "4")
NONE = ["None of these"]
OTHERS = (["No"], ["5"], ["foot"], ["bus"], ["bus"], ["car"], NONE, ["bus", "car"], "0", "3", "0.5")


def answered(person, answers):
    """All questions of `kinds`, and what would be sent."""
    for answer in answers:
        person.write(answer) if isinstance(answer, str) else person.choose(*answer)
        person.press("Next")
    person.sees("Before you send")
    return json.loads(person.page.locator("details pre").first.text_content())["answers"]


def load_again(person):
    person.page.reload()


def come_back(person):
    person.page.goto("about:blank")
    person.page.go_back()


def from_the_cache(person):
    for kind in ("pagehide", "pageshow"):
        person.page.evaluate(f"() => window.dispatchEvent(new PageTransitionEvent('{kind}', {{persisted: true}}))")


WAYS = [load_again, from_the_cache]


def test_the_same_answer_gives_the_same_report_after_a_reload(phone):
    """One after the other, on one phone: each must find the draws that the one before it left.

    Alone the last two reports, a place in a window and a number with noise, agree by chance less than once in
    10**10 runs.
    """
    person = phone(kinds()).begin()
    first = answered(person, ANSWERS)
    for way in WAYS:
        way(person)
        person.sees("All kinds").press("I take part")
        assert answered(person, ANSWERS) == first
    person.press("Send").sees("Thank you")
    assert person.site.stored[0]["answers"] == first


def test_coming_back_without_the_cache_begins_afresh(phone):
    """The tab's half of the words is gone; what is left of them on the shelf goes with the next draw."""
    person = phone(short()).begin(words=[1])
    come_back(person)
    person.sees("Exams")
    expect(person.page.get_by_text("There is no second draw")).to_have_count(0)
    person.begin(words=[2])
    assert list(person.words().values()) == [[[2]]]


def orders(person):
    """What the wheel of the guided question says; on the way there the other questions are answered."""
    person.choose("No").choose("No").press("Next").press("Turn the wheel")
    return person.page.locator(".after.lead").inner_text()


def test_a_guided_wheel_stops_at_the_same_place_after_a_reload(phone):
    """warner(2/3): each draw says something else. After a reload there are no words to draw, and the wheel waits."""
    for drawn, says in ((0, "Tap “No”, whatever"), (2, "Tap “Yes”, whatever")):
        person = phone(modes(practice=False, check=False)).begin(words=[0, drawn, 0])
        assert f"The wheel stopped at {drawn + 1}. {says}" in orders(person)
        person.begin(words=[])
        assert f"The wheel stopped at {drawn + 1}. {says}" in orders(person)


def stored(person):
    """Both storages and the tab's name, byte for byte."""
    return json.dumps(person.page.evaluate("() => [{...localStorage}, {...sessionStorage}, window.name]"))


def test_storage_is_the_same_for_every_answer_of_every_kind(phone):
    """Storage is the same to the last byte whatever is answered of every kind."""
    kept = set()
    for answers in (ANSWERS, OTHERS):
        person = phone(kinds()).begin(words=range(1000))
        kept.add(stored(person))
        answered(person, answers)
        kept.add(stored(person))
    assert len(kept) == 1


def test_storage_is_the_same_in_every_mode_and_condition(phone):
    """The same words; who works is asked for the hours, and nothing says so. Physical questions have words
    that nobody reads. Once the practice is over, it is kept that it is.
    """
    both = []
    for work, cheated, tapped in (("Yes", "Yes", "Different"), ("No", "No", "Same")):
        person = phone(modes(check=False)).begin(words=[5, 6, 4, 8]).choose(cheated)
        kept = [stored(person)]
        person.press("Next").choose(work)
        kept.append(stored(person))
        if work == "Yes":
            person.write("12")
        person.choose(cheated).press("Next").press("Turn the wheel")
        kept.append(stored(person))
        person.choose(cheated).choose(tapped).write(work)
        person.sees("Before you send")
        both.append([*kept, stored(person)])
    assert both[0] == both[1]
    words, practised = person.name("words"), person.name("practised")
    assert person.words() == {words: [[5], None, None, [6], [4], [8]]}
    assert [set(json.loads(one)[1]) for one in kept] == [{words}] + [{words, practised}] * 2


def test_a_reload_in_the_middle_explains_the_restart(phone):
    """A reload in the middle says why it begins again and leaves out the practice that is over."""
    person = phone(modes())
    anew = person.page.get_by_text("This page was loaded anew")
    person.begin()
    assert anew.count() == 0
    person.choose("Yes").page.reload()
    expect(anew).to_be_visible()
    person.press("I take part").sees("Practice")  # it was not over yet
    person.choose("Yes").press("Next").choose("Yes").press("Next").sees("Question 1 of 5")
    from_the_cache(person)
    expect(anew).to_be_visible()
    person.page.reload()
    person.press("I take part").sees("Question 1 of 5")
    person.page.go_back()
    expect(anew).to_be_hidden()  # nothing was lost on the way back
    person.press("I take part").choose("No").choose("No").press("Next").press("Turn the wheel").choose("Yes")
    person.choose("Same").write("").press("Send").sees("Thank you")
    assert person.site.stored[0]["understood"] is False  # the first answer, of the page before
    assert person.session() == {}


COUNT = """async ([code, cases]) => {
  const { report } = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  return Array.from({ length: 20 }, () => crypto.getRandomValues(new Uint32Array(10000))).map((words) =>
    cases.map(([data, truths]) => new Set(truths.map((truth) => {
      let taken = 0;
      report(data, truth, () => words[taken++]);
      return taken;
    })).size));
}"""


def test_how_many_words_a_draw_takes_does_not_depend_on_the_truth(page):
    """So the words can be drawn for any truth, before there is one: 20 lists of words, the same for all
    truths of a randomizer.
    """
    every = [*designs().values(), *others().values(), *long().values()]
    cases = [[one._browser_data(), truths(one)] for one in every]
    blank = page.context.new_page()
    for counts in blank.evaluate(COUNT, [client.asset("randomizer.js").decode(), cases]):
        assert [data for (data, _), count in zip(cases, counts, strict=True) if count != 1] == []
    blank.close()


def test_random_words_are_erased_before_the_report_is_kept(phone):
    """The words are erased when the report is made and before it is kept."""
    person = phone(short()).begin().choose("Yes").press("Next").sees("Before you send")
    assert [name.split(":")[2] for name in person.session()] == ["words"]
    person.page.evaluate(
        """() => {
          window.together = [];
          const own = Storage.prototype.setItem;
          Storage.prototype.setItem = function (name, value) {
            own.call(this, name, value);
            window.together.push([name, Object.keys(sessionStorage)]);
          };
        }"""
    )
    person.page.context.set_offline(True)
    person.press("Send").sees("Sending")
    person.page.wait_for_function("() => window.together.length > 0")
    ((name, beside),) = person.page.evaluate("() => window.together")
    assert name.endswith(":report")
    assert beside == []
    person.page.context.set_offline(False)
    person.sees("Thank you")
    assert person.session() == {}


def test_a_copied_tab_forgets_its_words_when_the_phone_has_answered(phone):
    """A tab that was copied forgets its words when it hears that the phone has answered."""
    person = phone(short()).begin().choose("Yes").press("Next").sees("Before you send")
    other = phone(beside=person).open()
    other.page.evaluate(
        "kept => Object.entries(kept).forEach(([name, value]) => sessionStorage.setItem(name, value))", person.session()
    )
    person.press("Send").sees("Thank you")
    other.page.reload()
    other.sees("Thank you")
    assert other.session() == {}


# Numbers that are no words for draws differ although they are pinned.
COUNTED = """() => {
  const before = Crypto.prototype.getRandomValues;
  Crypto.prototype.getRandomValues = function (array) {
    return array instanceof Uint8Array ? array.map(() => Math.floor(256 * Math.random())) : before.call(this, array);
  };
}"""


def test_another_link_has_words_of_its_own_and_the_first_one_keeps_its_own(phone):
    links = ["a" * 22, "b" * 22]
    person = phone(short(access="token"), invited=map(sha256, links))
    for place, (link, word) in enumerate(zip(links, (1, 2), strict=True)):
        person.open(f"?{place}#t={link}").page.evaluate(COUNTED)
        person.pin([word])
        person.press("I take part").pin(None)
    person.begin(f"?2#t={links[0]}", words=[])
    assert person.words() == {person.name("words", links[0]): [[1]], person.name("words", links[1]): [[2]]}
    person.choose("Yes").press("Next").press("Send").sees("Thank you")
    assert person.words() == {person.name("words", links[1]): [[2]]}


def test_without_storage_draws_last_as_long_as_the_page(phone):
    """Where the browser keeps nothing the draws last as long as the page."""
    person = phone(kinds())
    person.page.add_init_script(BLOCKED)
    person.begin()
    first = answered(person, ANSWERS)
    from_the_cache(person)
    person.sees("All kinds").press("I take part")
    assert answered(person, ANSWERS) == first
    person.press("Send").sees("Thank you")


# --- blind tokens: signing and sending shall not be told together by time


def test_a_report_with_a_blind_token_waits_by_chance_and_says_so(phone):
    person = phone(short(access="blind"), key=IssuerKey.generate(), invited=[sha256("a" * 22)])
    person.begin("#t=" + "a" * 22).choose("Yes").press("Next").sees("Before you send").pin([4800])
    started = person.page.evaluate("() => performance.now()")
    with person.page.expect_request("**/report"):
        person.press("Send").sees("Sending")
        expect(person.page.locator("#status")).to_contain_text("What you send waits here for up to 20 seconds")
        person.press("Try now")  # nobody's haste shortens it
    assert person.page.evaluate("() => performance.now()") - started >= 5000
    person.pin(None)
    person.sees("Thank you")
    assert len(person.site.stored) == 1


def test_no_wait_is_longer_than_what_is_said():
    queue = client.asset("queue.js").decode()
    least, more = (int(re.search(rule, queue)[1]) for rule in (r"await pause\((\d+), blind", r"const LINGER = (\d+);"))
    assert least + more == 20_000
