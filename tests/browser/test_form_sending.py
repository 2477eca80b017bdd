"""Sending: one report per phone, always the same bytes, and success only when the survey's own server says so."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.forms import BLOCKED, short
from tests.survey.desk import sha256
from toolkit.survey.serving.blind import IssuerKey
from toolkit.survey.storage import State

pytestmark = pytest.mark.browser

TOKEN = "abcdefghijklmnopqrstuv"  # noqa: S105 — of no survey but the one made here
WAITING = re.compile("No answer from the server yet. What is to be sent waits in this browser")
NOT_BEGUN = re.compile("could not be reached. None of your answers was sent. Please press “I take part” again")


def ready(phone, *arguments, fragment="", **rest):
    """A phone on which all is answered and nothing sent."""
    return phone(*arguments, **rest).begin(fragment).choose("Yes").press("Next").sees("Before you send")


def answering(person, *answers):
    """The server's answers to the next reports, in order: (status, body, headers); then the server itself."""
    left = list(answers)

    def handle(route):
        if not left:
            return route.continue_()
        status, body, *headers = left.pop(0)
        kind = "application/json" if body.startswith("{") else "text/html"
        return route.fulfill(status=status, body=body, content_type=kind, headers=headers[0] if headers else None)

    person.page.route("**/report", handle)
    return left


def waits(person):
    person.sees("Sending")
    expect(person.page.locator("#status")).to_have_text(WAITING)


def report_kept(person):
    return json.loads(next(value for name, value in person.kept().items() if name.endswith(":report")))


def one_report(person, sent=None):
    """However often it was sent: the same bytes each time, and one report stored."""
    assert len(person.site.memory.reports) == 1
    assert len(set(sent or person.posts())) == 1


def test_an_offline_report_waits_and_is_sent_unchanged(phone):
    """Offline the report waits and goes out unchanged when the network is back."""
    person = phone(short()).begin()
    person.page.context.set_offline(True)  # the airplane test: from here on nothing can be sent
    person.choose("Yes").press("Next").sees("Before you send")
    body = person.page.locator("details pre").first.text_content()
    person.press("Send")
    waits(person)
    assert report_kept(person)["body"] == body
    assert person.site.stored == []
    person.page.context.set_offline(False)
    person.sees("Thank you")
    assert {sent.decode().rstrip() for sent in person.posts()} == {body}
    assert len(set(person.posts())) == 1
    one_report(person)
    assert [name.rpartition(":")[2] for name in person.kept()] == ["done"]


def test_a_report_that_waits_outlives_the_page_and_is_not_made_anew(phone):
    person = ready(phone, short())
    answering(person, (503, '{"error": "busy"}'))
    person.press("Send")
    waits(person)
    person.page.reload()
    person.sees("Thank you")
    one_report(person)
    assert len(person.posts()) == 2


NO_SUCCESS = [
    (503, '{"error": "The report cannot be stored."}', {"Retry-After": "60"}),
    (200, "<html>Welcome to the hotel. Please log in.</html>"),
    (200, '{"stored": "yes"}'),
    (201, "<html>Created</html>"),
    (201, '{"stored": "00000000000000000000000000000000"}'),
    (403, "<html>Forbidden by a proxy</html>"),
    (410, '{"gone": true}'),
    (502, '{"error": "Bad gateway"}'),
]


def test_only_201_with_this_key_is_success(phone):
    """Only 201 with this key is success and only the survey server can refuse."""
    person = ready(phone, short())
    answering(person, *NO_SUCCESS)
    person.press("Send")
    for sent, answer in enumerate(NO_SUCCESS, start=1):
        waits(person)
        assert person.site.stored == [], f"{answer} was taken for success"
        assert len(person.posts()) == sent, f"{answer} was not followed by another try"
        person.press("Try now")
    person.sees("Thank you")
    one_report(person)


def test_a_report_is_sent_again_after_the_server_s_delay(phone):
    """It is sent again by itself after the time that the server asks for."""
    person = ready(phone, short())
    answering(person, (503, '{"error": "busy"}', {"Retry-After": "1"}))
    started = person.page.evaluate("() => performance.now()")
    person.press("Send").sees("Thank you")
    assert person.page.evaluate("() => performance.now()") - started >= 1000
    one_report(person)


LEFT = {  # by status: what is said, and whether what was to be sent stays in the browser
    400: ("The server did not take", True),
    409: ("has been changed", True),
    413: ("The server did not take", True),
    403: ("This link has been used already", False),
    410: ("The survey is closed", False),
}


def listed(person):
    """All that is kept, by its place and its last name, but for what is in it."""
    return person.page.evaluate(
        "() => [localStorage, sessionStorage].map((one) => Object.keys(one).map((name) => name.split(':')[2]).sort())"
    )


@pytest.mark.parametrize("status", LEFT)
def test_after_a_refusal_the_browser_keeps_what_the_page_says(phone, status):
    """Plain answers are on the phone until they are sent: after a refusal for good they are gone, else one can delete
    them. Whatever is done, no other report is made of other draws: a server that refused on purpose learns nothing.
    """
    person = ready(phone, short(debrief="That was it.", help="Call 0800 1.", completion="PAID-7"))
    answering(person, *[(status, '{"error": "no"}')] * 2)
    person.press("Send").sees("Your answers were not accepted")
    sentence, stays = LEFT[status]
    person.reads(sentence)
    person.reads("That was it.", "Call 0800 1.", "PAID-7")
    gone = person.page.get_by_text("erased from this page and from this browser")
    if not stays:
        expect(gone).to_be_visible()
        assert listed(person) == [["done"], []]
        assert list(person.kept().values()) == [str(status)]
        assert person.button("Try again").count() == person.button("Delete it").count() == 0
        person.page.reload()
        person.reads(sentence)
        assert len(person.posts()) == 1
        return
    person.reads("What you wanted to send is still in this browser")
    assert gone.count() == 0
    assert listed(person) == [["report"], []]
    assert "cheated" in report_kept(person)["body"]
    if status != 409:  # which loads the page anew
        person.press("Try again").sees("Your answers were not accepted")
        assert len(set(person.posts())) == 1
    person.press("Delete it")
    person.reads("What you wanted to send is deleted from this browser.")
    assert listed(person) == [["done"], []]
    assert list(person.kept().values()) == ['"deleted"']
    person.page.reload()
    person.reads("What you wanted to send is deleted from this browser.")
    assert person.site.stored == []


def test_offline_and_after_success_the_browser_keeps_what_the_page_says(phone):
    person = phone(short()).begin()
    person.page.context.set_offline(True)
    person.choose("Yes").press("Next").press("Send")
    waits(person)
    assert listed(person) == [["report"], []]
    person.page.context.set_offline(False)
    person.sees("Thank you")
    person.reads("erased from this page and from this browser")
    assert listed(person) == [["done"], []]
    assert list(person.kept().values()) == ["1"]


def test_what_is_tried_again_after_a_refusal_is_the_same_and_arrives_once(phone):
    person = ready(phone, short())
    answering(person, (400, '{"error": "no"}'), (413, '{"error": "no"}'))
    person.press("Send").sees("Your answers were not accepted").press("Try again")
    person.sees("Your answers were not accepted").page.reload()
    person.sees("Thank you")
    assert len(person.posts()) == 3
    one_report(person)


def test_people_who_decline_see_help_and_may_change_their_mind(phone):
    """Who does not take part is told so and where to find help and may think again."""
    person = phone(short(debrief="That was it.", help="Call 0800 1.", completion="PAID-7")).open()
    person.press("I do not take part").sees("Exams")
    person.reads("You do not take part. No answer was sent.")
    person.reads("That was it.", "Call 0800 1.")
    assert person.page.get_by_text("PAID-7").count() == 0, "it is for those who have answered"
    assert person.kept() == {}
    assert person.posts() == []
    person.press("Back").press("I take part").sees("Question 1 of 1")
    person.page.get_by_text("If you need help").click()
    person.reads("Call 0800 1.")
    person.choose("Yes").press("Next").press("Send").sees("Thank you")
    person.reads("That was it.", "Call 0800 1.", "PAID-7")


def test_a_code_by_link_is_its_end_and_is_in_no_report(phone):
    person = phone(short(access="token", completion="link"), invited=[sha256(TOKEN)])
    person.begin(f"#t={TOKEN}").choose("Yes").press("Next").press("Send").sees("Thank you")
    expect(person.page.get_by_text(TOKEN[-8:], exact=True)).to_be_visible()
    person.reads("It shows that your link was used, not what you answered")
    assert TOKEN[-8:] not in str(person.site.stored)
    person.page.goto("about:blank")
    person.open(f"#t={TOKEN}")
    expect(person.page.get_by_text(TOKEN[-8:], exact=True)).to_be_visible()


def test_a_closed_survey_says_so(phone):
    person = ready(phone, short())
    person.site.memory.state = State.CLOSED
    person.press("Send").sees("Your answers were not accepted")
    person.reads("The survey is closed")


def test_a_double_click_sends_once(phone):
    person = ready(phone, short())
    person.button("Send").dblclick()
    person.sees("Thank you")
    assert len(person.posts()) == 1
    one_report(person)


def test_of_two_tabs_only_one_report_is_sent(phone):
    """One after the other, and both at the same moment: what leaves the phone is the same bytes."""
    first = ready(phone, short())
    second = phone(beside=first).begin().choose("No").press("Next").sees("Before you send")
    late = phone(beside=first).begin().choose("No").press("Next").sees("Before you send")
    send = "() => { [...document.querySelectorAll('button')].find((one) => one.textContent === 'Send').click(); }"
    for tab in (first, second):
        tab.page.evaluate("() => { window.slow = true; }")
    first.page.evaluate(send)
    second.page.evaluate(send)
    first.sees("Thank you")
    second.sees("Thank you")
    late.press("Send").sees("Thank you")
    late.reads("From this browser answers were sent already")
    one_report(first, first.posts() + second.posts() + late.posts())
    assert late.posts() == []


OVERTAKEN = """([record]) => {
  window.slow = true;
  const own = Storage.prototype.setItem;
  Storage.prototype.setItem = function (name, value) {
    own.call(this, name, value);
    if (name.endsWith(":report")) setTimeout(() => own.call(this, name, record), 50);
  };
}"""


def test_two_tabs_that_write_at_once_send_the_same_report(phone):
    """The other tab's report appears on the phone just after this one has written its own."""
    person = ready(phone, short())
    body = json.dumps(
        {"survey": person.site.survey.hash, "key": "0" * 32, "answers": {"cheated": 0}, "understood": None}
    )
    person.page.evaluate(OVERTAKEN, [json.dumps({"key": "0" * 32, "body": body, "link": None})])
    person.press("Send").sees("Thank you")
    person.reads("From this browser answers were sent already")
    assert [sent.decode().rstrip() for sent in person.posts()] == [body]


def test_whoever_has_answered_is_not_asked_again(phone):
    person = ready(phone, short()).press("Send").sees("Thank you")
    person.page.go_back()
    person.sees("Thank you")
    person.page.reload()
    person.reads("From this browser answers were sent already")
    assert len(person.posts()) == 1


def test_the_page_works_where_the_browser_keeps_nothing(phone):
    """It says so before anything else, and says of nothing that it waits on the phone."""
    person = phone(short())
    person.page.add_init_script(BLOCKED)
    person.open()
    person.reads("This browser keeps nothing for this page")
    person.begin().choose("Yes").press("Next")
    answering(person, (503, '{"error": "busy"}'), (400, '{"error": "no"}'))
    person.press("Send")
    expect(person.page.locator("#status")).to_contain_text("Please leave this page open")
    person.press("Try now").sees("Your answers were not accepted").press("Try again").sees("Thank you")
    one_report(person)


def test_where_requests_cannot_be_stopped_they_are_sent_all_the_same(phone):
    person = phone(short())
    person.page.add_init_script("delete window.AbortController")
    person.begin().choose("Yes").press("Next").press("Send").sees("Thank you")


# --- personal links


def test_a_token_leaves_the_address_and_is_sent_once(phone):
    """A token leaves the address at once survives a reload and is sent once."""
    person = phone(short(access="token"), invited=[sha256(TOKEN)]).open(f"#t={TOKEN}")
    assert person.page.url == person.site.url
    person.page.reload()
    person.press("I take part").choose("Yes").press("Next").press("Send").sees("Thank you")
    assert json.loads(person.posts()[0])["token"] == TOKEN
    assert all(TOKEN not in request.url for request in person.requests)
    assert set(person.kept()) == {person.name("done"), person.name("done", TOKEN)}, (
        "that a link was used, and the hash of which, so that it is not used again"
    )
    person.page.goto("about:blank")
    person.open(f"#t={TOKEN}")
    person.reads("From this browser answers were sent already")


def test_a_used_link_is_refused_and_another_link_is_another_person(phone):
    """A link that was used elsewhere is refused and another link is another person."""
    other = "b" * 22
    person = ready(phone, short(access="token"), invited=[sha256(other)], fragment=f"#t={TOKEN}")
    person.press("Send").sees("Your answers were not accepted")
    person.reads("This link has been used already")
    person.page.goto("about:blank")
    person.begin(f"#t={other}").choose("No").press("Next").press("Send").sees("Thank you")
    assert len(person.site.stored) == 1


def test_where_no_link_is_needed_none_makes_another_person_of_somebody(phone):
    person = ready(phone, short()).press("Send").sees("Thank you")
    person.page.goto("about:blank")
    person.open(f"#t={TOKEN}")
    person.reads("From this browser answers were sent already")
    one_report(person)


def test_a_phone_remembers_every_link_that_was_used_on_it(phone):
    """A link whose report is stored must not lead to a second report, though another person has answered since."""
    links = [TOKEN, "b" * 22]
    person = phone(short(access="token"), invited=map(sha256, links))
    for link in links:
        person.begin(f"#t={link}").choose("No").press("Next").press("Send").sees("Thank you")
        person.page.goto("about:blank")
    for link in links:
        person.open(f"#t={link}")
        person.reads("From this browser answers were sent already")
        person.page.goto("about:blank")
    person.open("")
    assert len(person.posts()) == 2


def test_a_refused_report_does_not_block_the_next_person(phone):
    """Two tabs with two links; the first was refused for good when the second wants to send."""
    first = ready(phone, short(access="token"), invited=[sha256("b" * 22)], fragment=f"#t={TOKEN}")
    second = phone(beside=first).begin(f"#t={'b' * 22}").choose("No").press("Next").sees("Before you send")
    first.press("Send").sees("Your answers were not accepted")
    second.press("Send").sees("Thank you")
    assert [json.loads(body)["token"][0] for body in second.posts()] == ["b"]
    assert len(second.site.stored) == 1


def test_a_waiting_report_is_kept_without_its_link(phone):
    """Whatever else is on this host can read what waits: nobody may answer by a link that it finds there."""
    other = "b" * 22
    person = ready(phone, short(access="token"), invited=[sha256(TOKEN), sha256(other)], fragment=f"#t={TOKEN}")
    answering(person, (503, '{"error": "busy"}'))
    person.press("Send")
    waits(person)
    waiting = person.page.evaluate("() => ({...localStorage})")
    assert set(waiting) == {person.name("report", TOKEN)}
    assert TOKEN not in str(waiting)
    assert sha256(TOKEN).hex() in str(waiting)
    person.page.goto("about:blank")
    person.begin(f"#t={other}").choose("No").press("Next").press("Send").sees("Thank you")
    assert len(person.site.stored) == 1
    person.page.goto("about:blank")
    person.open(f"#t={TOKEN}").sees("Thank you")
    assert len(person.site.stored) == 2
    sent = [body for body in map(json.loads, person.posts()) if body["token"] == TOKEN]
    assert len(sent) == 2
    assert sent[0] == sent[1]


def test_without_a_link_the_page_asks_for_it(phone):
    person = phone(short(access="token")).open().sees("Exams")
    person.reads("Please open the personal link")


def test_blind_tokens_are_signed_first_and_reports_carry_no_invitation(phone):
    """Blind tokens are signed before the questions and the report carries no invitation."""
    person = phone(short(access="blind"), key=IssuerKey.generate(), invited=[sha256(TOKEN)])
    person.open(f"#t={TOKEN}").button("I take part").evaluate("button => { button.click(); button.click(); }")
    person.sees("Question 1 of 1").page.reload()  # the link works for one token only: the same is signed again
    person.page.route("**/sign", lambda route: route.abort(), times=1)
    person.press("I take part")
    expect(person.page.locator("#status")).to_have_text(NOT_BEGUN)  # nothing waits, nothing is sent again
    person.press("I take part").choose("Yes").press("Next").pin([0])  # the shortest wait
    person.press("Send").sees("Thank you")
    *signed, report = map(json.loads, person.posts())
    assert len({json.dumps(one) for one in signed}) == 1
    assert signed[0]["invitation"] == TOKEN
    assert TOKEN not in json.dumps(report)
    assert signed[0]["blinded"] not in json.dumps(report)
    assert {name.split(":", 2)[2] for name in person.kept()} == {"done", f"done:{sha256(TOKEN).hex()}"}


def test_what_keeps_a_blind_survey_from_beginning_is_told_as_it_is(phone):
    """A proxy that forbids is no survey that refuses; a module that does not parse is an old browser."""
    person = phone(short(access="blind"), key=IssuerKey.generate(), invited=[sha256(TOKEN)])
    person.open(f"#t={TOKEN}")
    assert person.page.locator("#foot summary").count() == 0  # to switch the network off now would end it
    said = person.page.locator("#status")
    answers = [(403, "<html>"), (503, '{"error": "busy"}'), (410, '{"error": "closed"}')]
    person.page.route("**/sign", lambda route: fulfil(route, *answers.pop(0)))
    person.page.route("**/signing.js", lambda route: fulfil(route, 200, "1 ?. 2 }", "text/javascript"), times=1)
    person.press("I take part")
    expect(said).to_contain_text("This browser is too old for this survey")
    person.open(f"?again#t={TOKEN}")
    for _ in range(2):
        person.press("I take part")
        expect(said).to_have_text(NOT_BEGUN)
    person.press("I take part").sees("Exams")  # nobody has answered yet
    person.reads("The survey is closed")


def fulfil(route, status, body, kind="application/json"):
    route.fulfill(status=status, body=body, content_type=kind)


def test_a_blind_invitation_that_was_used_is_refused_before_any_question(phone):
    person = phone(short(access="blind"), key=IssuerKey.generate())
    person.begin(f"#t={TOKEN}")
    person.reads("This link has been used already")


def test_a_blind_link_is_used_up_on_taking_part_and_says_so(phone):
    """A blind link is used up when somebody takes part which is said before and on another phone."""
    first = phone(short(access="blind"), key=IssuerKey.generate(), invited=[sha256(TOKEN)]).open(f"#t={TOKEN}")
    first.reads("your link counts as used, also if you stop. Then go on in this brow")
    first.press("I take part").sees("Question 1 of 1")
    other = phone(site=first.site).begin(f"#t={TOKEN}")
    said = "If you began on another phone or in another browser, please go on there."
    other.reads(said)
    first.page.goto("about:blank")
    first.begin(f"#t={TOKEN}").choose("Yes").press("Next").pin([0])  # as it says: here it goes on
    first.press("Send").sees("Thank you")


def test_in_a_household_the_next_person_finds_nothing_of_the_one_before(phone):
    """Ten people, one phone, one link: each is stored once, and between two the browser holds nothing but that."""
    survey = short(household=True)
    person = phone(survey).open()
    expect(person.page.get_by_text("Several people may answer on this phone")).to_have_count(1)
    for place in range(10):
        person.press("I take part").choose("Yes" if place % 2 else "No").press("Next").press("Send").sees("Thank you")
        assert listed(person) == [["done"], []]
        if place == 4:  # closed, and opened again by the next person
            person.page.goto("about:blank")
            person.open().sees("Thank you")
            person.reads("From this browser answers were sent already.")
        person.reads("Please do not answer a second time yourself")
        person.press("Another person answers on this phone").sees("Exams")
        assert person.kept() == {}
        if place != 4:  # what is behind it then is another page
            person.page.go_back()
            person.sees("Exams")
    assert len(person.site.stored) == 10
    keys = [json.loads(body)["key"] for body in person.posts()]
    assert len(set(keys)) == 10


@pytest.mark.parametrize(("changes", "said"), [({"access": "token"}, "open access"), ({"waves": 2}, "open access")])
def test_a_household_needs_one_link_for_all_and_one_wave(changes, said):
    with pytest.raises(ValueError, match=said):
        short(household=True, **changes)
