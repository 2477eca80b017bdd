"""The same people asked again: a phone's memos stay, its answers do not, a link works once in each wave."""

import json
import re
from dataclasses import dataclass

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.forms import BLOCKED, Phone
from tests.survey.samples import MEMO
from toolkit import Question, Survey, crosswise, forced
from toolkit.local.waves import Memo
from toolkit.survey.background import find
from toolkit.survey.client import asset
from toolkit.survey.collector import start

pytestmark = pytest.mark.browser

ANEW = "This phone has no draws for you from an earlier time."


def panel(wave: int = 1, **changes) -> Survey:
    question = Question("cheated", "Have you ever cheated?", design=MEMO)
    given = {"practice": False, "check": False, "waves": 2, **changes}
    return Survey("Exams", [question], consent="You may stop.", wave=wave, **given)


LAW = """async ([module, data, kept, sent]) => {
  const { report, remembered } = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
  const counts = Array.from({ length: 4 }, () => [0, 0, 0, 0]);
  const all = (n) => Array.from({ length: n }, (_, i) => i);
  const told = (truth, zero, one, last) => report(data, truth, () => last, remembered([zero, one], () => { throw Error(); }));
  for (const zero of all(kept)) for (const one of all(kept)) {
    const reports = [0, 1].map((truth) => all(sent).map((last) => told(truth, zero, one, last)));
    for (const first of [0, 1]) for (const second of [0, 1])
      reports[first].forEach((a) => reports[second].forEach((b) => (counts[2 * first + second][2 * a + b] += 1)));
  }
  return counts;
}"""  # noqa: E501


@pytest.mark.parametrize("memo", [MEMO, Memo(forced("1/6", "1/6"), crosswise("1/5"))])
def test_two_waves_of_a_phone_have_exactly_the_law_of_the_memo_s_pair(page, memo):
    """All words of both memos, drawn once, and all words of the fresh noise of each wave."""
    kept, sent = memo.permanent.denominator, memo.fresh.denominator
    blank = page.context.new_page()
    counts = blank.evaluate(LAW, [asset("randomizer.js").decode(), memo.browser_data(), kept, sent])
    blank.close()
    told = memo.pair.weights.astype(object)
    assert np.all(np.array(counts, dtype=object) * memo.pair.denominator == told * (kept * sent) ** 2)


def attic(person: Phone, survey: Survey) -> dict[str, dict]:
    """By link, what stays on the phone for later waves."""
    kept = person.page.evaluate("() => ({...localStorage})")
    mark = f"toolkit:{survey.panel}:"
    return {name.removeprefix(mark): json.loads(text) for name, text in kept.items() if name.startswith(mark)}


def test_storage_is_the_same_to_the_last_byte_whatever_is_answered_and_a_reload_draws_nothing(phone):
    """Two words for the memos and one for the noise; only what is sent depends on the answer."""
    survey, kept, sent = panel(), [], []
    for answer in ("Yes", "No"):
        person = phone(survey).begin(words=[0, 3, 1])
        expect(person.page.get_by_text(ANEW)).to_have_count(0)
        before = person.kept()
        other = phone(beside=person).begin(words=[2])  # a second tab has noise of its own, and the same memos
        assert attic(other, survey) == attic(person, survey)
        person.choose(answer).press("Next").sees("Before you send")
        assert person.kept() == before
        person.begin(words=[]).choose(answer).press("Next").sees("Before you send")
        assert person.kept() == before
        body = json.loads(person.page.locator("details pre").first.text_content())
        kept.append(before)
        sent.append(body["answers"])
        assert body["person"] == "07" * 16
        person.press("Send").sees("Thank you")
        assert person.session() == {}
        assert attic(person, survey) == {"null": {"person": "07" * 16, "words": {"cheated": [0, 3]}}}
    assert kept[0] == kept[1]
    assert sent == [{"cheated": 1}, {"cheated": 0}]  # the memos are no and yes, and the noise keeps both


def test_a_later_wave_draws_fresh_noise_alone_on_the_memos_that_are_there(phone):
    """The memos are the opposite of the answers, and the noise keeps both."""
    survey, kept = panel(2), {"person": "ab" * 16, "words": {"cheated": [3, 0]}}
    person = phone(survey).open()
    expect(person.page.get_by_text(ANEW)).to_be_visible()
    write = "([name, value]) => localStorage.setItem(name, JSON.stringify(value))"
    person.page.evaluate(write, [f"toolkit:{survey.panel}:null", kept])
    person.begin(words=[1])
    expect(person.page.get_by_text(ANEW)).to_have_count(0)
    for answer, sent in (("Yes", "A – “No”"), ("No", "B – “Yes”")):
        person.choose(answer)
        expect(person.page.get_by_text(sent, exact=True)).to_be_visible()
        person.page.go_back()
    person.choose("Yes").press("Next").press("Send").sees("Thank you")
    assert person.site.stored == [{"answers": {"cheated": 0}, "understood": None, "person": "ab" * 16}]
    assert attic(person, survey) == {"null": kept}


def test_where_the_browser_keeps_nothing_the_memos_last_as_long_as_the_page_and_people_are_told(phone):
    person = phone(panel())
    person.page.add_init_script(BLOCKED)
    person.open()
    expect(person.page.get_by_text(ANEW)).to_be_visible()
    person.begin(words=[0, 3, 1]).choose("Yes").press("Next").sees("Before you send")
    for kind in ("pagehide", "pageshow"):
        event = f"new PageTransitionEvent('{kind}', {{persisted: true}})"
        person.page.evaluate(f"() => window.dispatchEvent({event})")
    person.pin([])
    person.press("I take part").pin(None)
    person.choose("Yes").press("Next").press("Send").sees("Thank you")
    assert person.site.stored[0] == {"answers": {"cheated": 1}, "understood": None, "person": "07" * 16}


@dataclass
class Address:
    """Where a phone goes: the real server's address, as `Phone` wants it."""

    url: str


def answered(person: Phone, link: str, answer: str) -> Phone:
    """To the end of the form with a personal link."""
    person.page.goto("about:blank")
    person.begin(f"#t={link}")
    return person.choose(answer).press("Next").press("Send")


def bodies(person: Phone) -> list[dict]:
    return [json.loads(body) for body in person.posts()]


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Starts the collection of a wave, with the real server, and ends the servers afterwards."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    yield lambda wave, **options: start(
        panel(wave, access="token"), database=f"sqlite:///{wave}.db", **options
    )
    for path in tmp_path.glob("*.db"):
        if (server := find(f"sqlite:///{path}")) is not None:
            server.stop()


@pytest.mark.slow
def test_one_phone_answers_two_waves_with_the_same_links_and_the_change_is_found(served, phone):
    first = served(1)
    links = [link.partition("#t=")[2] for link in first.invitations(3)]
    person = phone(site=Address(first.url))
    for link, answer in zip(links[:2], ("Yes", "No"), strict=True):
        answered(person, link, answer).sees("Thank you")
    memos = attic(person, first.survey)
    assert set(memos) == set(links[:2])  # another link is another person
    assert all(re.fullmatch("[0-9a-f]{32}", memo["person"]) for memo in memos.values())
    person.open(f"?again#t={links[0]}").sees("Thank you")
    expect(person.page.get_by_text("answers were sent already this time")).to_be_visible()
    first.close()

    second = served(2, again="sqlite:///1.db")
    assert second.url == person.site.url  # else the phone would keep things apart
    for link, answer in zip(links[:2], ("No", "No"), strict=True):
        answered(person, link, answer).sees("Thank you")
    expect(person.page.get_by_text(ANEW)).to_have_count(0)
    assert attic(person, second.survey) == memos
    assert "token" in bodies(person)[0]
    assert [body["person"] for body in bodies(person)] == [memos[link]["person"] for link in links[:2]] * 2

    other = phone(site=person.site)
    other.open(f"#t={links[0]}")
    expect(other.page.get_by_text(ANEW)).to_be_visible()
    other.press("I take part").choose("Yes").press("Next").press("Send").sees("No report was taken")
    expect(other.page.get_by_text("This link has been used already")).to_be_visible()
    answered(other, links[2], "Yes").sees("Thank you")
    second.close()

    change = second.results().change(first.results(), "cheated")
    flows = second.results().flows(first.results(), "cheated")
    sent = {body["token"]: body["answers"]["cheated"] for body in bodies(person)[:2]}
    later = {body["token"]: body["answers"]["cheated"] for body in bodies(person)[2:]}
    assert (change.n, flows.n) == (2, 2)
    assert change.value == pytest.approx(4 * sum(later[link] - sent[link] for link in sent) / 2)
    assert "of people in both waves; in the earlier only 0, in the later only 1" in change.notes
    assert list(second.reports().columns) == ["cheated", "person"]
