"""The true answer does not leave the page, and does not stay in it.

Every request is captured. Two runs have different answers to every question and different random words,
chosen so that the reports are the same: then every byte that leaves the phone must be the same, too.
"""

import json
import random

import pytest

from tests.browser.forms import Phone, kinds, modes, on_disk, served, short
from tests.browser.lab import chromium
from tests.survey.desk import sha256
from toolkit import warner
from toolkit.local import oracles
from toolkit.survey.questions.question import Question
from toolkit.survey.serving.blind import IssuerKey
from toolkit.survey.spec import Survey

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror=alert(1)>{label}{{data}}&lt;'\"<!--"
LABEL = HOSTILE.replace('"', "")  # of which no label may have any
HERE = """() => JSON.stringify([
  document.documentElement.outerHTML.replace(document.getElementById("survey").outerHTML, ""), location.href, history.state,
  {...localStorage}, {...sessionStorage}, window.name, document.cookie,
  [...document.querySelectorAll("input, textarea, select")].map((one) => one.value),
])"""  # noqa: E501


PAIRS = {  # for the lowest and the highest answer
    # in the window of the lowest answer, beside that of the highest: the very first report
    "window": ([0], [next(one.design.width * one.design.inside for one in kinds().questions if one.name == "window")]),
    # noise of 30,000 steps up, and of 35,536 steps down; each: the size, that it is kept, that no round is
    # added, the sign
    "noise": ([30_000, 2**32 - 1, 0, 1, 0], [35_536, 2**32 - 1, 0, 1, 1]),
}


def drawing(words):
    """The rule of `below` in randomizer.js, for numbers up to 2**32; it takes its words out of the list."""

    def draw(bound):
        while True:
            drawn = words.pop(0) & ((1 << (bound - 1).bit_length()) - 1)
            if drawn < bound:
                return drawn

    return draw


def report(design, truth, words):
    return design._draw_report(truth, drawing([*words]))


def used(design, truth, words):
    """The words that this report takes; how many does not depend on the truth."""
    left = [*words]
    design._draw_report(truth, drawing(left))
    return words[: len(words) - len(left)]


def words_for(design, truth, wanted=None):
    """Words that lead from this answer to the report that is wanted, or to any other than the answer itself."""
    source = random.Random(1)  # noqa: S311 — the tests' words, not a person's
    for _ in range(200_000):
        words = [source.getrandbits(32) for _ in range(40)]
        found = report(design, truth, words)
        if found == wanted or (wanted is None and found not in (truth, [truth])):
            return used(design, truth, words), found
    raise AssertionError("no such words")


def paired(question):
    """Two answers and the words with which both give one report: (what to tap or write, words) twice."""
    design = question.design
    if question.kind == "number":
        (low, high), pair = (0, design.steps), PAIRS.get(question.name)
        words, wanted = (pair[0], report(design, low, pair[0])) if pair else words_for(design, low)
        others = pair[1] if pair else words_for(design, high, wanted)[0]
        assert report(design, high, others) == wanted
        return (str(design.low), words), (str(design.high), others)
    first, second = ([0], [1, 2]) if question.kind == "ticks" else (0, 1)
    words, wanted = words_for(design, first)
    labels = [{"no": "No", "yes": "Yes"}.get(option, str(option)) for option in question.options]
    return (labels[:1], words), (
        [labels[1], *labels[2:3]] if question.kind == "ticks" else labels[1:2],
        words_for(design, second, wanted)[0],
    )


def traffic(person):
    """Everything that a watcher of the network sees, but for the port of this run."""
    return [
        (request.method, request.url.replace(person.site.url, "/"), request.post_data, request.headers)
        for request in person.requests
    ]


def fill_in(person, answers):
    for answer in answers:
        person.write(answer) if isinstance(answer, str) else person.choose(*answer)
        person.press("Next")
    return person.sees("Before you send")


def test_no_request_depends_on_the_truth_for_any_kind_of_question(phone):
    """Answered, loaded again without new words to draw, and answered once more."""
    survey = kinds()
    pairs = [paired(question) for question in survey.questions]
    seen = []
    for side in (0, 1):
        answers, words = zip(*(pair[side] for pair in pairs), strict=True)
        person = phone(survey).begin(words=[word for some in words for word in some])
        fill_in(person, answers).begin(words=[])
        fill_in(person, answers).press("Send").sees("Thank you")
        seen.append([(method, url, body) for method, url, body, _ in traffic(person)])
    keyless = [[(m, u, b and {**json.loads(b), "key": 0}) for m, u, b in one] for one in seen]
    assert keyless[0] == keyless[1]


def test_the_bytes_are_the_same_to_the_last_when_even_the_key_is_the_same(phone):
    """(Yes, changed) and (no, kept): headers, addresses and bodies of all requests, in their order, also
    after a reload.
    """
    seen = []
    for answer, word in (("Yes", 0), ("No", 2)):
        person = phone(short())
        person.page.add_init_script("window.pinned = [];")
        person.begin(words=[word]).choose(answer).press("Next")
        person.page.reload()
        person.press("I take part").choose(answer).press("Next").pin(None)
        person.press("Send").sees("Thank you")
        port = person.site.url.split(":")[2].strip("/")
        seen.append(json.dumps(traffic(person)).replace(port, "port"))
    assert seen[0] == seen[1]
    assert '\\"cheated\\":0' in seen[0]


@pytest.mark.parametrize("access", ["open", "token", "blind"])
def test_every_report_of_a_survey_has_the_same_size(phone, access):
    """Also with words whose characters take one to four bytes; what is stored is what was written."""
    four = ["bus", "car", "bike", "foot"]
    questions = [
        Question("travel", "How?", design=oracles.tick_boxes(four, 1.0, most=3, how="capped")),
        Question("comment", "Anything else?", free_text=True, required=False, warning="Name nobody."),
    ]
    survey = Survey("Exams", questions, consent="Stop.", practice=False, check=False, ceiling=9, access=access)
    link = "a" * 22
    fragment = "" if access == "open" else f"#t={link}"
    key = IssuerKey.generate() if access == "blind" else None
    sizes = set()
    for ticks, text in ((["None of these"], ""), (["bus", "car", "foot"], "\U0001f512é“" * 300)):
        person = phone(survey, invited=[sha256(link)], key=key).begin(fragment).choose(*ticks).press("Next").write(text)
        person.sees("Before you send")
        if access == "blind":
            person.pin([0] * 9)  # it waits no longer than it must
        person.press("Send").sees("Thank you")
        sizes.add(len(person.posts()[-1]))
        assert person.site.stored[0]["answers"]["comment"] == (text or None)
    assert len(sizes) == 1


def test_nothing_is_asked_of_the_server_between_the_page_and_the_report(phone):
    person = phone(modes()).open()
    person.page.wait_for_load_state("networkidle")
    loaded = len(person.requests)
    person.press("I take part").choose("Yes").press("Next").choose("No, chance may have changed it").press("Next")
    person.choose("No").choose("Yes").press("Next").press("Turn the wheel").choose("No").choose("Same").write("")
    person.sees("Before you send")
    assert len(person.requests) == loaded
    person.press("Send").sees("Thank you")
    assert [request.url for request in person.requests[loaded:]] == [person.site.url + "report"]


UNUSUAL = "zebra"


def secret():
    """The truth is a word that stands nowhere else; in numbers, one that does not come by chance."""
    questions = [
        Question("cheated", "Have you?", design=warner(p="3/4"), labels={"yes": UNUSUAL, "no": "plain"}),
        Question("travel", "How?", design=oracles.tick_boxes([UNUSUAL, "bus"], 1.0)),
        Question("money", "How much?", design=next(one.design for one in kinds().questions if one.name == "window")),
    ]
    return Survey("Exams", questions, consent="Stop.", practice=False, check=False, ceiling=9)


def test_after_sending_no_trace_of_the_truth_is_left(phone):
    """After sending nothing of the truth is left in page address history or storage."""
    person = phone(secret()).begin(
        words=[0, 1, 0, 5]
    )  # a no for everybody; the second box, which was not ticked; any number
    person.choose(UNUSUAL).press("Next").choose(UNUSUAL).press("Next")
    person.write("123.456").press("Next").sees("Before you send")
    assert UNUSUAL not in person.page.locator("main").inner_text(), "only what is sent is on this screen"
    person.page.route("**/report", lambda route: route.fulfill(status=503, body='{"error": "busy"}'), times=1)
    person.press("Send").sees("Sending")
    for screen in ("Sending", "Thank you"):
        person.sees(screen)
        assert UNUSUAL not in person.page.evaluate(HERE)
        assert "123.456" not in person.page.evaluate(HERE)
        if screen == "Sending":
            person.page.wait_for_function("() => Object.keys(localStorage).length > 0")
            assert "pinned" not in json.dumps(person.kept())
            person.press("Try now")
    person.page.go_back()
    assert UNUSUAL not in person.page.evaluate(HERE)


def in_memory(person):
    """Everything that scripts can still reach: strings and numbers in a snapshot of the heap, after all waste
    was collected.
    """
    session, parts = person.page.context.new_cdp_session(person.page), []
    session.on("HeapProfiler.addHeapSnapshotChunk", lambda event: parts.append(event["chunk"]))
    session.send("HeapProfiler.collectGarbage")
    session.send("HeapProfiler.takeHeapSnapshot", {"captureNumericValue": True, "reportProgress": False})
    return set(json.loads("".join(parts))["strings"])


def test_the_truth_is_in_memory_until_it_is_sent_and_not_longer(phone):
    person = phone(secret()).begin()
    person.choose("plain").press("Next").choose("bus").press("Next").write("123.456").press("Next").sees(
        "Before you send"
    )
    assert "123.456" in in_memory(person), "else this test would see nothing"
    person.press("Send").sees("Thank you")
    assert "123.456" not in in_memory(person)


ENDED = """async () => {
  const { sheet } = await import("./answers.js");
  const survey = JSON.parse(document.getElementById("survey").textContent);
  const stored = new Map();
  const shelf = { read: (name) => stored.get(name) ?? null, write: (name, value) => stored.set(name, value),
                  drop: (name) => stored.delete(name) };
  const answers = sheet(survey, shelf, shelf, null);
  answers.begin();
  const before = JSON.stringify(answers.begun());
  answers.put(survey.questions[0], 1);
  answers.end();
  return [before, answers.begun(), answers.answer(survey.questions[0]) ?? null, [...stored.keys()]];
}"""


def test_when_the_report_is_made_its_words_and_answers_are_dropped(phone):
    """With the report both together would tell the answer: neither is in memory or on the shelf."""
    person = phone(secret()).open()
    before, after, answer, stored = person.page.evaluate(ENDED)
    assert len(json.loads(before)) == 3
    assert (after, answer, stored) == (None, None, [])


def test_before_sending_only_random_words_are_kept(phone):
    """Before sending the words alone are kept and the address never changes."""
    person = phone(secret()).begin(words=[0, 1, 0, 5])
    person.choose(UNUSUAL)
    states = {person.page.evaluate("() => JSON.stringify(history.state)")}
    person.press("Next")
    states.add(person.page.evaluate("() => JSON.stringify(history.state)"))
    assert states == {'"sent:cheated"', '"ask:travel"'}
    name = f"toolkit:{person.site.survey.hash}:words"
    assert person.kept().keys() == person.session().keys() == {name}
    assert person.words() == {name: [[0], [1, 0], [5]]}
    assert person.page.url == person.site.url


@pytest.mark.slow
def test_draws_are_never_on_disk_and_are_released(page, tmp_path):
    """Chromium writes a session's storage to a log some seconds later, and leaves it there when it is emptied: the test
    waits for that. With the report the words would tell the truth; what is on the disk instead is them under a pad.
    """
    word = 3_735_928_559
    context = page.context.browser.browser_type.launch_persistent_context(
        str(tmp_path), executable_path=chromium(), args=["--no-sandbox"]
    )
    with served(short()) as site:
        person = Phone.of(context, site).begin(words=[word])
        (hidden,) = [json.loads(value)[1][0][0] for value in person.session().values()]
        assert list(person.words().values()) == [[[word]]]
        person.page.reload()
        person.press("I take part").choose("Yes").press("Next").sees("Before you send")
        while not on_disk(tmp_path, str(hidden)):
            person.page.wait_for_timeout(100)
        person.press("Send").sees("Thank you")
        assert person.page.evaluate("() => window.name") == "{}"
        context.close()
    assert on_disk(tmp_path, str(hidden)) == {"Session Storage"}, "else this test would see nothing"
    assert on_disk(tmp_path, str(word)) == on_disk(tmp_path, str(word ^ hidden)) == set()


def test_the_tab_s_name_alone_tells_another_site_nothing(phone):
    """A random number, and a pad of its own each time: four of 32 bits are alike by chance in 1.4e-9 of the runs."""
    names = []
    for _ in range(2):
        person = phone(short()).begin()
        person.page.evaluate("() => sessionStorage.clear()")
        person.begin(words=None)
        names.append(json.loads(person.page.evaluate("() => window.name")))
    assert {len(number) for name in names for number in name} == {32}
    assert len({json.dumps(pad) for name in names for pad in name.values()}) == 4


def test_before_somebody_takes_part_nothing_is_kept(phone):
    assert phone(short()).open().kept() == {}


def test_what_is_kept_on_the_phone_is_the_report_alone(phone):
    person = phone(short()).begin()
    person.choose("Yes").press("Next")
    body = person.page.locator("details pre").first.text_content()
    person.page.context.set_offline(True)
    person.press("Send").sees("Sending")
    person.page.wait_for_function("() => Object.keys(localStorage).length > 0")
    (value,) = person.kept().values()
    assert json.loads(value) == {"key": json.loads(body)["key"], "body": body}


def test_a_page_that_is_left_is_emptied_and_starts_again(phone):
    """A page that is left is emptied and begins anew when the browser brings it back."""
    person = phone(short()).begin().choose("Yes").sees("What chance has made of it")
    person.page.evaluate("() => window.dispatchEvent(new PageTransitionEvent('pagehide', {persisted: true}))")
    assert person.page.locator("main").inner_text() == ""
    person.page.evaluate("() => window.dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    person.sees("Exams").press("I take part").sees("Question 1 of 1")
    assert person.page.locator("input:checked").count() == 0


def test_guided_and_physical_questions_never_ask_for_the_truth(phone):
    """What the page knows of a guided question is the draw and the tap; on the screen and in the report is
    the tap alone.
    """
    person = phone(modes(practice=False, check=False)).begin().choose("No").choose("No").press("Next")
    person.press("Turn the wheel").choose("Yes").choose("Different").write("").sees("Before you send")
    for card, tapped in (("Have you ever stolen?", "“Yes”"), ("Have you ever paid?", "“Different”")):
        section = person.page.locator(".list > div", has_text=card)
        assert tapped in section.locator("dd").inner_text()


def hostile():
    """Markup in every text of a survey."""
    labels = {"no": LABEL + "0", "yes": LABEL + "1"}
    plain = Question("plain", HOSTILE + "plain", options=["no", "yes"], labels=labels, help=HOSTILE)
    auto = Question("auto", HOSTILE, design=warner(p="3/4"), labels=labels, help=HOSTILE)
    guided = Question("guided", HOSTILE, design=warner(p="3/4"), labels=labels, mode="guided")
    physical = Question(
        "physical", HOSTILE, design=warner(p="3/4"), labels=labels, mode="physical", instructions=HOSTILE
    )
    text = Question("text", HOSTILE + "text", free_text=True, warning=HOSTILE)
    return Survey(HOSTILE, [plain, auto, guided, physical, text], consent=HOSTILE, ceiling=9, practice=False)


def test_markup_in_any_text_of_a_survey_is_shown_as_it_is_and_does_nothing(phone):
    person = phone(hostile())
    person.page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    person.begin().choose("Yes").press("Next")

    def literal():
        text = person.page.locator("body").evaluate("body => body.innerText")
        assert HOSTILE in text or LABEL in text
        assert person.page.locator("main img, main script").count() == 0

    assert person.page.title() == f"Question 1 of 5 – {HOSTILE}"
    literal()
    person.choose(LABEL + "1")
    person.choose(LABEL + "1")
    literal()
    person.press("Next").press("Turn the wheel")
    literal()
    person.choose(LABEL + "0")
    literal()
    person.choose(LABEL + "0").write(HOSTILE + "\x07")
    literal()
    person.press("Send").sees("Thank you")
    assert person.site.stored[0]["answers"]["text"] == HOSTILE
