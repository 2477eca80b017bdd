"""A class answers: thirty phones over TLS, of which one is a real browser, and what the room sees."""

import http.client
import json
import ssl
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.forms import PATIENT
from tests.survey.samples import SAID
from toolkit import Question, Survey, warner
from toolkit.show.widgets.collector_view import CollectorView
from toolkit.survey.rehearsal import report
from toolkit.teaching import open_class

pytestmark = pytest.mark.browser

HERE = "127.0.0.1"
SHOWN = """async ([code, table]) => {
  const model = { get: (name) => (name === "table" ? table : {}), on() {}, off() {}, send() {} };
  const module = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  module.default.render({ model, el: document.body });
}"""


def class_survey(**changes):
    question = Question("copied", "Have you ever copied homework?", design=warner("3/4"))
    texts = {"title": "A class answers", "consent": "An exercise.", "minimum": 10, "step": 5}
    return Survey(questions=[question], practice=False, check=False, **{**texts, **SAID, **changes})


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    collector = open_class(class_survey(), folder=tmp_path / "class", address=HERE)
    yield collector
    collector.close()


def sent(url, trust, body):
    """One phone: the page, then its report, over TLS with the certificate of the room and no other."""
    line = http.client.HTTPSConnection(urlsplit(url).netloc, context=trust, timeout=30)
    line.request("GET", "/")
    page = line.getresponse().read().decode()
    line.request("POST", "/report", json.dumps(body), {"Content-Type": "application/json"})
    answer = json.loads(line.getresponse().read())
    line.close()
    return body["survey"] in page, answer


def reports(survey, truth, rng):
    """What the phones of these people send."""
    told = [{"copied": report(survey["copied"], answer, rng)} for answer in truth]
    known = {"survey": survey.hash, "understood": None}
    return [{**known, "key": rng.bytes(16).hex(), "answers": answers} for answers in told]


def taps(browser, url):
    """One phone with a hand on it; its owner has looked at the warning and goes on."""
    context = browser.new_context(viewport={"width": 360, "height": 740}, ignore_https_errors=True)
    phone = context.new_page()
    phone.add_init_script(PATIENT)
    phone.goto(url)
    phone.get_by_role("button", name="I take part", exact=True).click()
    phone.get_by_label("No", exact=True).check()
    for button in ("Continue", "Next", "Send"):
        phone.get_by_role("button", name=button, exact=True).click()
    expect(phone.locator("h1")).to_contain_text("Thank you")
    context.close()


def projected(browser, view):
    """What the room sees."""
    context = browser.new_context(viewport={"width": 1920, "height": 1080})
    tab = context.new_page()
    tab.set_content(f"<style>{view._css}</style>")
    tab.evaluate(SHOWN, [view._esm, view.table])
    tab.get_by_role("button", name="Show large").click()
    told = tab.locator(".projector").inner_text(), tab.locator(".projector .growth rect").count()
    context.close()
    return told


def test_thirty_phones_answer_over_tls_and_the_estimate_grows(room, tmp_path, page):
    """Thirty phones answer over TLS and the room sees the estimate grow from ten on."""
    trust = ssl.create_default_context(cafile=str(tmp_path / "class" / "certificate.pem"))
    bodies = reports(room.survey, ["yes"] * 12 + ["no"] * 17, np.random.default_rng(30))
    view = CollectorView(room)
    assert (room.url.startswith(f"https://{HERE}:"), view.history) == (True, [])
    taps(page.context.browser, room.url)
    for first in range(0, 29, 5):
        some = bodies[first : first + 5]
        with ThreadPoolExecutor(5) as phones:
            told = list(phones.map(lambda body: sent(room.url, trust, body), some))
        assert told == [(True, {"stored": body["key"]}) for body in some]
        view.refresh()
    assert room.status().n_stored == 30
    assert [step[0] for step in view.history] == [10, 15, 20, 25]  # the last five wait until it is closed
    said, bars = projected(page.context.browser, view)
    assert "Have you ever copied homework?" in said
    assert ("30 reports" in said, bars) == (True, 4)
    assert "from 25 of 30 answers. The others are added in steps of 5, and the last at the end." in said
    with pytest.warns(UserWarning, match="Here are 25 of 30 reports"):
        yes = room.reports()["copied"].eq("yes").sum()
    assert view.history[-1][2] == pytest.approx(100 * (yes / 25 - 0.25) / 0.5)
    with pytest.raises(ssl.SSLCertVerificationError):
        sent(room.url, ssl.create_default_context(), bodies[0])
    with pytest.raises(ConnectionError, match="the network has changed"):
        open_class(room.survey, folder=tmp_path / "class", address="127.0.0.2")


@pytest.mark.parametrize(
    ("people", "before"),
    [(12, "The estimate is shown from 15 answers on, or at the end."), (30, "from 25 of 30 answers.")],
)
def test_the_projector_shows_the_result_after_closing(people, before, room, tmp_path, page):
    trust = ssl.create_default_context(cafile=str(tmp_path / "class" / "certificate.pem"))
    answers = np.resize(["yes", "no", "no", "yes", "no"], people)
    with ThreadPoolExecutor(5) as phones:
        bodies = reports(room.survey, answers, np.random.default_rng(people))
        list(phones.map(lambda body: sent(room.url, trust, body), bodies))
    view = CollectorView(room)
    assert before in projected(page.context.browser, view)[0]
    room.close()
    view.refresh()
    text, bars = projected(page.context.browser, view)
    assert "Estimate " in text
    assert f"from all {people} answers." in text
    assert f"{people} reports" in text
    assert bars == len(view.history)
    assert view.history[-1][0] == people
