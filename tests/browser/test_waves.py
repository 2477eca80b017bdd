"""The same people asked again: a phone's memos stay, its answers do not, a link works once in each wave."""

import json
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.forms import BLOCKED, Phone, Site, short, together
from tests.survey.desk import sha256
from tests.survey.samples import MEMO
from toolkit import Question, Survey, crosswise, forced
from toolkit.local.waves import Memo
from toolkit.survey.client import asset
from toolkit.survey.collector import collect
from toolkit.survey.serving.background import find_server
from toolkit.survey.serving.blind import IssuerKey
from toolkit.survey.storage import Collection, open_store

pytestmark = pytest.mark.browser

ANEW = "This phone has no draws for you from an earlier time."


def panel(wave: int = 1, title: str = "Exams", **changes) -> Survey:
    question = Question("cheated", "Have you ever cheated?", design=MEMO)
    given = {"practice": False, "check": False, "waves": 2, **changes}
    return Survey(title, [question], consent="You may stop.", wave=wave, **given)


def in_one(wave: int = 1, **changes) -> Survey:
    """As a collection shows it."""
    return panel(wave, panel={"identity": "ab" * 16, "loss": 3}, **changes)


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
    counts = blank.evaluate(LAW, [asset("randomizer.js").decode(), memo._browser_data(), kept, sent])
    blank.close()
    told = memo._two_wave_design.weights.astype(object)
    assert np.all(np.array(counts, dtype=object) * memo._two_wave_design.denominator == told * (kept * sent) ** 2)


def attic(person: Phone, survey: Survey) -> dict[str, dict]:
    """By the hash of a link, what stays on the phone for later waves."""
    kept = person.page.evaluate("() => ({...localStorage})")
    mark = f"toolkit:{survey.panel.identity}:memory"
    return {
        name.removeprefix(mark).removeprefix(":"): json.loads(text)
        for name, text in kept.items()
        if name.startswith(mark)
    }


def test_memo_storage_is_the_same_for_every_answer(phone):
    """Two words for the memos and one for the noise; only what is sent depends on the answer."""
    survey, kept, sent = in_one(), [], []
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
        memory = {"person": "07" * 16, "words": {"cheated": [0, 3]}, "seen": {"1": survey.hash}}
        assert attic(person, survey) == {"": memory}
    assert kept[0] == kept[1]
    assert sent == [{"cheated": 1}, {"cheated": 0}]  # the memos are no and yes, and the noise keeps both


def test_a_later_wave_draws_fresh_noise_alone_on_the_memos_that_are_there(phone):
    """The memos are the opposite of the answers, and the noise keeps both."""
    survey = in_one(2)
    kept = {"person": "ab" * 16, "words": {"cheated": [3, 0]}, "seen": {"1": "cd" * 32}}
    person = phone(survey).open()
    person.reads(ANEW)
    write = "([name, value]) => localStorage.setItem(name, JSON.stringify(value))"
    person.page.evaluate(write, [f"toolkit:{survey.panel.identity}:memory", kept])
    person.begin(words=[1])
    expect(person.page.get_by_text(ANEW)).to_have_count(0)
    for answer, sent in (("Yes", "A – “No”"), ("No", "B – “Yes”")):
        person.choose(answer)
        expect(person.page.get_by_text(sent, exact=True)).to_be_visible()
        person.page.go_back()
    person.choose("Yes").press("Next").press("Send").sees("Thank you")
    assert person.site.stored == [{"answers": {"cheated": 0}, "understood": None, "person": "ab" * 16}]
    assert attic(person, survey) == {"": {"seen": {"1": "cd" * 32, "2": survey.hash}}}  # it was the last


def test_without_storage_memos_last_as_long_as_the_page(phone):
    """Where the browser keeps nothing the memos last as long as the page and people are told."""
    person = phone(in_one())
    person.page.add_init_script(BLOCKED)
    person.open()
    person.reads(ANEW)
    person.begin(words=[0, 3, 1]).choose("Yes").press("Next").sees("Before you send")
    for kind in ("pagehide", "pageshow"):
        event = f"new PageTransitionEvent('{kind}', {{persisted: true}})"
        person.page.evaluate(f"() => window.dispatchEvent({event})")
    person.pin([])
    person.press("I take part").pin(None)
    person.choose("Yes").press("Next").press("Send").sees("Thank you")
    assert person.site.stored[0] == {"answers": {"cheated": 1}, "understood": None, "person": "07" * 16}


FILLED = """(left) => {
  let place = 0;
  for (let size = 1 << 22; size; ) {
    try { localStorage.setItem("other" + place++, "x".repeat(size)); } catch { size >>= 1; }
  }
  const name = Object.keys(localStorage).find((one) => localStorage[one].length > left);
  localStorage.setItem(name, localStorage[name].slice(left));
}"""


def test_full_storage_is_announced(phone):
    """150 took the memory and no word of a report: a second one was sent, and nobody was told."""
    person = phone(in_one()).open()
    expect(person.page.get_by_text("This browser keeps nothing")).to_have_count(0)
    person.page.evaluate(FILLED, 150)
    person.open()
    person.reads("This browser keeps nothing for this page")


# --- several surveys at one origin

ALREADY = "answers were sent already this time"


@pytest.fixture(scope="module")
def collected(tmp_path_factory) -> dict[str, Survey]:
    """Five surveys as their collections show them, and others with the same questions."""
    folder = tmp_path_factory.mktemp("waves")
    stores: dict[str, Collection] = {}

    def make(name: str, survey: Survey, earlier: str | None = None) -> None:
        stores[name] = open_store(f"sqlite:///{folder / name}.db")
        if earlier is None:
            stores[name].create(survey)
        else:
            stores[name].create_next_wave(survey, stores[earlier])

    make("2026-1", panel(1, "Exams 2026"))
    make("2026-2", panel(2, "Exams 2026, again"), "2026-1")
    make("2026-2b", panel(2, "Exams 2026, once again"), "2026-1")
    make("2027-1", panel(1, "Exams 2027"))
    make("2027-2", panel(2, "Exams 2027, again"), "2027-1")
    make("others", panel(1, "Exams of others"))
    found = {name: store.survey() for name, store in stores.items()}
    for store in stores.values():
        store.close()
    return {**found, "plain": replace(short(), title={"en": "Another survey"})}


def visit(person: Phone, site: Site) -> bool:
    """Answer a survey, if the phone lets it be answered; whether a report was stored."""
    before, person.site = len(site.stored), site
    person.page.goto("about:blank")
    person.open()
    expect(person.heading).to_be_visible()
    if person.button("I take part").count():
        person.press("I take part").choose("Yes").press("Next").press("Send").sees("Thank you")
    else:
        told = ALREADY if site.survey.waves > 1 else "answers were sent already."
        person.reads(told)
    return len(site.stored) > before


FIVE = ("2026-1", "2026-2", "2026-2b", "2027-1", "2027-2")


@pytest.mark.parametrize(
    ("order", "stored"),
    [
        (FIVE, ("2026-1", "2026-2", "2027-1", "2027-2")),
        # the last wave first, the correction before the first wave, and all of them twice
        (
            ("2026-2b", "2026-2", "2026-1", "2027-2", "2027-1", *FIVE, "others", "plain", "others", "plain"),
            ("2026-2b", "2026-1", "2027-2", "2027-1", "others", "plain"),
        ),
        (("2026-1", "others", "plain", "2026-2", "others", "2026-2b"), ("2026-1", "others", "plain", "2026-2")),
    ],
)
def test_a_phone_answers_each_wave_once_under_one_number_per_study(phone, collected, order, stored):
    """A phone answers each wave of a panel once and no two studies know it by one number."""
    with together(collected) as sites:
        person = phone(site=sites["2026-1"])
        assert tuple(name for name in order if visit(person, sites[name])) == stored
        assert sum(len(site.stored) for site in sites.values()) == len(stored)
        numbers = {name: site.stored[0].get("person") for name, site in sites.items() if site.stored}
        studies: dict[str, set] = {}
        for name, number in numbers.items():
            studies.setdefault(name.split("-")[0], set()).add(number)
        known = [number for found in studies.values() for number in found]
        assert len(known) == len(set(known))
        if order[0] == "2026-1":  # in their order, so that what was drawn is there for the second
            assert numbers["2026-1"] == numbers["2026-2"]
        for survey in (sites[name].survey for name in stored):
            for memory in attic(person, survey).values() if survey.panel else ():
                # after the last wave nothing stays but which ones were answered, and by which page
                assert (set(memory) == {"seen"}) == ("2" in memory["seen"])
                assert set(memory) <= {"seen", "person", "words"}


def test_a_waiting_report_bars_other_pages_and_tabs(phone, collected):
    """Its server cannot be reached: the report may have left the phone, and must be the only one."""
    with together(collected) as sites:
        person = phone(site=sites["2026-2"]).begin().choose("Yes").press("Next").sees("Before you send")
        other = phone(beside=person)
        other.site = sites["2026-2b"]
        other.begin().choose("No").press("Next").sees("Before you send")  # before the first was sent
        person.page.route("**/report", lambda route: route.abort())
        person.press("Send").sees("Sending")
        other.press("Send").sees("Thank you")
        other.reads(ALREADY)
        assert not visit(other, sites["2026-2b"])
        person.page.unroute("**/report")
        person.page.reload()
        person.sees("Thank you")
        assert [len(sites[name].stored) for name in ("2026-2", "2026-2b")] == [1, 0]


def test_no_older_tab_restores_memory_after_the_last_wave(phone, collected):
    """Of three tabs, one of each wave and one of a correction, the last wave is sent first."""
    with together(collected) as sites:
        last = phone(site=sites["2026-2"]).begin().choose("Yes").press("Next").sees("Before you send")
        first, corrected = phone(beside=last), phone(beside=last)
        for tab, name in ((first, "2026-1"), (corrected, "2026-2b")):
            tab.site = sites[name]
            tab.begin().choose("Yes").press("Next").sees("Before you send")
        last.press("Send").sees("Thank you")
        gone = {"": {"seen": {"2": last.site.survey.hash}}}
        assert attic(last, last.site.survey) == gone
        for kind in ("pagehide", "pageshow"):  # the browser brings a page back
            event = f"new PageTransitionEvent('{kind}', {{persisted: true}})"
            corrected.page.evaluate(f"() => window.dispatchEvent({event})")
        corrected.press("I take part").sees("Question 1 of 1")
        assert attic(last, last.site.survey) == gone
        corrected.choose("Yes").press("Next").press("Send").sees("Thank you")
        corrected.reads(ALREADY)
        first.press("Send").sees("Thank you")  # a wave of its own, by the number that it began with
        assert [sorted(memory) for memory in attic(last, last.site.survey).values()] == [["seen"]]
        assert [len(sites[name].stored) for name in ("2026-1", "2026-2", "2026-2b")] == [1, 1, 0]
        assert sites["2026-1"].stored[0]["person"] == sites["2026-2"].stored[0]["person"]


def test_a_reload_in_the_middle_of_a_later_wave_draws_nothing_anew(phone, collected):
    with together(collected) as sites:
        person = phone(site=sites["2026-1"])
        assert visit(person, sites["2026-1"])
        memory = attic(person, person.site.survey)
        person.site = sites["2026-2"]
        person.begin().choose("Yes").press("Next").sees("Before you send")
        body = person.page.locator("details pre").first.text_content()
        person.begin(words=[]).choose("Yes").press("Next").sees("Before you send")
        again = person.page.locator("details pre").first.text_content()
        for part in ("answers", "person"):
            assert json.loads(again)[part] == json.loads(body)[part]
        assert attic(person, person.site.survey) == memory


RECORDED = """const put = Storage.prototype.setItem;
Storage.prototype.setItem = function (name, value) {
  if (this === window.localStorage) window.record(name + " " + value);
  put.call(this, name, value);
};"""


@pytest.mark.parametrize("access", ["token", "blind"])
def test_at_no_moment_a_personal_link_is_in_local_storage_in_clear(phone, access):
    """With a report that waits, a reload, and two waves; everything that is ever written there."""
    key = IssuerKey.generate() if access == "blind" else None
    surveys = {"1": in_one(1, access=access), "2": in_one(2, access=access)}
    link, written = "a" * 22, []
    with together(surveys, invited=[sha256(link)], key=key) as sites:
        person = phone(site=sites["1"])
        person.page.expose_function("record", lambda text: written.append(text))
        person.page.add_init_script(RECORDED)
        for site in sites.values():
            person.site = site
            person.page.goto("about:blank")
            person.begin(f"#t={link}").choose("Yes").press("Next").sees("Before you send").pin([0] * 9)
            person.page.route("**/report", lambda route: route.abort(), times=1)
            person.press("Send")
            expect(person.page.locator("#status")).to_contain_text("No answer from the server yet")
            person.page.reload()
            person.sees("Thank you")
            assert len(site.stored) == 1
        assert sites["1"].stored[0]["person"] == sites["2"].stored[0]["person"]
    assert len(written) > 8
    assert not [text for text in written if link in text]
    who = sha256(link).hex()
    assert {text.split(" ")[0].split(":", 2)[2] for text in written} == {
        *("probe:" + who, "memory:" + who, "report:" + who, "done:" + who, "done"),
        *(["blind:" + who] if access == "blind" else []),
    }


def test_two_links_on_one_phone_are_two_people(phone):
    """Two links on one phone are two people and a cleared phone begins anew."""
    surveys = {"1": in_one(1, access="token"), "2": in_one(2, access="token")}
    links = ["a" * 22, "b" * 22]
    with together(surveys, invited=[*map(sha256, links)]) as sites:
        person = phone(site=sites["1"])
        for wave, link in (("1", 0), ("1", 1), ("2", 0), ("2", 1)):
            person.site = sites[wave]
            answered(person, links[link], "Yes").sees("Thank you")
        first, second = ([one["person"] for one in sites[wave].stored] for wave in surveys)
        assert len(set(first)) == 2
        assert first == second
        person.page.goto("about:blank")
        person.open(f"#t={links[0]}")
        person.reads(ALREADY)
        person.page.evaluate("() => localStorage.clear()")
        person.page.goto("about:blank")
        person.open(f"#t={links[0]}")
        person.reads(ANEW)
        person.press("I take part").choose("Yes").press("Next").press("Send").sees("Your answers were not accepted")


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
    yield lambda wave, **options: collect(panel(wave, access="token"), database=f"sqlite:///{wave}.db", **options)
    for path in tmp_path.glob("*.db"):
        if (server := find_server(f"sqlite:///{path}")) is not None:
            server.stop()


@pytest.mark.slow
def test_one_phone_in_two_waves_gives_the_change(served, phone):
    """One phone answers two waves with the same links and the change is found."""
    first = served(1)
    links = [link.partition("#t=")[2] for link in first.invitations(3)]
    person = phone(site=Address(first.url))
    for link, answer in zip(links[:2], ("Yes", "No"), strict=True):
        answered(person, link, answer).sees("Thank you")
    memos = attic(person, first.survey)
    assert set(memos) == {sha256(link).hex() for link in links[:2]}  # another link is another person
    kept = str(person.page.evaluate("() => ({...localStorage})"))
    assert not [link for link in links if link in kept]
    assert all(re.fullmatch("[0-9a-f]{32}", memo["person"]) for memo in memos.values())
    person.open(f"?again#t={links[0]}").sees("Thank you")
    person.reads("answers were sent already this time")
    first.close()

    second = served(2, previous_wave="sqlite:///1.db")
    assert second.url == person.site.url  # else the phone would keep things apart
    for link, answer in zip(links[:2], ("No", "No"), strict=True):
        answered(person, link, answer).sees("Thank you")
    expect(person.page.get_by_text(ANEW)).to_have_count(0)
    assert [list(memory) for memory in attic(person, second.survey).values()] == [["seen"]] * 2
    assert "token" in bodies(person)[0]
    numbers = [memos[sha256(link).hex()]["person"] for link in links[:2]]
    assert [body["person"] for body in bodies(person)] == numbers * 2

    other = phone(site=person.site)
    other.open(f"#t={links[0]}")
    other.reads(ANEW)
    other.press("I take part").choose("Yes").press("Next").press("Send").sees("Your answers were not accepted")
    other.reads("This link has been used already")
    answered(other, links[2], "Yes").sees("Thank you")
    second.close()

    change = second.results(minimum=1).change(first.results(minimum=1), "cheated")
    flows = second.results(minimum=1).flows(first.results(minimum=1), "cheated")
    sent = {body["token"]: body["answers"]["cheated"] for body in bodies(person)[:2]}
    later = {body["token"]: body["answers"]["cheated"] for body in bodies(person)[2:]}
    assert (change.n, flows.n) == (2, 2)
    assert change.value == pytest.approx(4 * sum(later[link] - sent[link] for link in sent) / 2)
    assert "of people in both waves; in the earlier only 0, in the later only 1" in change.notes
    assert list(second.reports().columns) == ["cheated", "person"]
