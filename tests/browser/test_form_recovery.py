"""The page and a server that dies: the real process, killed without warning before a report comes and after
it is stored.

And a page that is amended while a report waits.
"""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.forms import Site, served, short
from tests.survey.desk import sha256
from tests.survey.process import collected, mortal
from tests.survey.test_recovery import bodies

pytestmark = pytest.mark.browser

KILLS = 3
WAITING = re.compile("No answer from the server yet")


@pytest.fixture
def dying(tmp_path):
    url = f"sqlite:///{tmp_path / 'campus.db'}"
    collected(url, short())
    with mortal(url) as server:
        yield server


def waits(person):
    """The page tries, hears nothing, and says so."""
    expect(person.page.locator("#status")).to_have_text(WAITING)


def test_a_report_is_stored_once_by_a_server_that_keeps_dying(phone, dying):
    """First nobody listens. Then, three times, the report is stored and the server dies before it can say so."""
    person = phone(site=Site(f"http://127.0.0.1:{dying.port}/", short(), None)).begin()
    person.choose("Yes").press("Next").sees("Before you send")
    dying.kill()
    person.press("Send").sees("Sending")
    waits(person)
    assert bodies(dying.url) == []
    deaths = []

    def die(route):
        if len(deaths) == KILLS:
            return route.continue_()
        deaths.append(route.fetch().status)
        dying.kill()
        route.abort()
        return dying.start()

    dying.start()
    person.page.route("**/report", die)
    for died in range(1, KILLS + 1):  # the page tries by itself, too: a press may come after its own
        waits(person)
        if len(deaths) < died:
            person.press("Try now")
        while len(deaths) < died:
            person.page.wait_for_timeout(50)
    waits(person)
    person.page.evaluate("() => dispatchEvent(new Event('trynow'))")
    person.sees("Thank you")
    assert deaths == [201] * KILLS
    assert len(bodies(dying.url)) == 1
    assert len(person.posts()) >= KILLS + 2
    assert len(set(person.posts())) == 1


def test_a_waiting_report_survives_an_amendment_of_the_page(phone):
    """What the phone keeps under the hash of an earlier page is the new page's, too."""
    survey, before = short(access="token"), "ab" * 32
    used, mine = "u" * 22, "m" * 22
    sent = {"survey": before, "key": "0" * 32, "answers": {"cheated": 1}, "understood": None}
    who = sha256(mine).hex()
    body = json.dumps({**sent, "token": mine})
    record = {"key": "0" * 32, "body": json.dumps({**sent, "token": who})}
    with served(survey, earlier_hashes=[before], invited=[sha256(mine)]) as site:
        person = phone(site=site).open(f"#t={mine}")
        keep = "([hash, name, value]) => localStorage.setItem(`toolkit:${hash}:${name}`, JSON.stringify(value))"
        person.page.evaluate(keep, [before, f"report:{who}", record])
        person.page.evaluate(keep, [before, f"done:{sha256(used).hex()}", 1])
        person.page.reload()
        person.sees("Thank you")
        assert [sent.decode().rstrip() for sent in person.posts()] == [body]
        assert len(site.memory.reports) == 1
        assert not [name for name in person.kept() if ":report" in name]
        for link in (used, mine):
            person.page.goto("about:blank")
            person.open(f"#t={link}")
            person.reads("From this browser answers were sent already")
