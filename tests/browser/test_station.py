"""One tablet of the researchers, many people, no network: what is stored, what waits, and what is left behind."""

import base64
import json
import re
import threading
from contextlib import suppress

import psutil
import pytest
from playwright.sync_api import Error, expect

from tests.browser.forms import PATIENT, Phone, listening, on_disk, served
from tests.browser.lab import chromium
from tests.browser.test_form_axe import LOOKS
from tests.survey.desk import Memory, sha256
from toolkit import warner
from toolkit.survey.client import FILE_NAMES, asset
from toolkit.survey.questions.question import Question
from toolkit.survey.serving.server import build_application
from toolkit.survey.serving.station import StationKey, new_station_link, station_padded_length
from toolkit.survey.spec import Survey
from toolkit.survey.storage import State
from toolkit.texts.phrases import LANGUAGES, page_words_by_language, station_words

pytestmark = pytest.mark.browser

PEOPLE = 30
KEY = StationKey.generate()
# What one person does, from "Begin" to "Send"; each screen is there at once.
ANSWERS = """([yes, text, stop]) => {
  const press = (name) => [...document.querySelectorAll("button")].find((one) => one.textContent === name).click();
  press("Begin");
  press("I take part");
  press("Turn the wheel");
  document.querySelectorAll("fieldset input")[yes].click();
  press("Continue");
  document.querySelector("textarea").value = text;
  if (stop) return;
  press("Continue");
  press("Send");
}"""
# All that the browser keeps for this page, but for the files of the program.
KEPT = """async () => {
  const [{ name }] = await indexedDB.databases();
  const asked = indexedDB.open(name);
  const database = await new Promise((done) => { asked.onsuccess = () => done(asked.result); });
  const all = (store, verb) => new Promise((done) => {
    const asked = database.transaction(store).objectStore(store)[verb]();
    asked.onsuccess = () => done(asked.result);
  });
  const found = {
    own: await all("own", "getAll"), names: await all("waiting", "getAllKeys"), waiting: await all("waiting", "getAll"),
    local: { ...localStorage }, session: { ...sessionStorage },
    length: history.length, state: history.state, text: document.body.innerText,
  };
  database.close();
  return found;
}"""
CACHED = """async () => {
  const found = {};
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const { url } of await cache.keys()) found[new URL(url).pathname] = await (await cache.match(url)).text();
  }
  return found;
}"""


def asked(**changes):
    questions = [
        Question("cheated", "Have you ever cheated?", design=warner(p="3/4")),
        Question("comment", "Anything else?", free_text=True, required=False, warning="Name nobody."),
    ]
    said = {"access": "token", "field": {"station": "kiosk"}, "practice": False, "check": False, **changes}
    return Survey("Exams", questions, consent="You may stop.", **said)


class Recording(Memory):
    """A store that remembers in which order reports came, and can end something right after it has stored one."""

    def __init__(self, invited):
        super().__init__("token", invited)
        self.order, self.after = [], {}

    async def put(self, entry):
        outcome = await super().put(entry)
        self.order.append(entry.key)
        if act := self.after.pop(len(self.order), None):
            act()
        return outcome


class Tablet:
    """A browser with a folder of its own, which outlives it."""

    def __init__(self, page, folder, url):
        self.folder, self.url, self._type = folder, url, page.context.browser.browser_type
        self.start()

    def start(self, fragment=""):
        self.context = self._type.launch_persistent_context(
            str(self.folder), executable_path=chromium(), args=["--no-sandbox"], viewport={"width": 800, "height": 1280}
        )
        self.context.add_init_script(PATIENT)
        self.page = self.context.pages[0]
        self.person = Phone(self.page, None)
        self.page.goto(f"{self.url}station{fragment}") if fragment else None

    def kill(self):
        """End all its processes at once, as when the battery is taken out."""
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if any(str(self.folder) in argument for argument in process.cmdline()):
                    process.kill()

    def again(self):
        with suppress(Error):
            self.context.close()
        (self.folder / "SingletonLock").unlink(missing_ok=True)
        self.start()

    def press(self, name):
        return self.person.press(name)

    def unlock(self):
        self.page.get_by_role("textbox").fill("2468")
        self.page.keyboard.press("Enter")


def test_thirty_people_on_an_offline_tablet_are_stored_once(page, tmp_path):
    """The browser is killed after a report was kept, in the middle of an answer, and while the server answers. That
    orders drawn by chance are those of arrival, or sorted by answers, has a probability below 1e-8.
    """
    survey = asked()
    link, uses = new_station_link("http://x/", PEOPLE)
    memory = Recording(map(sha256, uses))
    with listening(build_application(survey, memory, station_key=KEY)) as url:
        tablet = Tablet(page, tmp_path / "profile", url)
        tablet.page.goto(url + link.removeprefix("http://x/"))
        tablet.unlock()
        tablet.person.reads("This tablet now works without a network.")
        tablet.press("Hand over")
        fresh = None
        tablet.context.set_offline(True)
        for person in range(PEOPLE):
            text = f"secret words of person {person:02d}"
            tablet.person.reads("Begin")
            if person in (10, 20):
                if person == 20:
                    tablet.page.evaluate(ANSWERS, [0, text, True])
                tablet.kill()
                tablet.again()
                tablet.context.set_offline(True)
                tablet.page.goto(f"{url}station")
                tablet.person.reads("Begin")
                fresh = None
            tablet.page.evaluate(ANSWERS, [int(person < 15), text, False])
            tablet.person.sees("Thank you")
            tablet.press("Done: for the next person").reads("For the researchers")
            kept = tablet.page.evaluate(KEPT)
            here = [kept["length"], kept["state"], sorted(kept["own"][0])]
            assert len(kept["names"]) == person + 1
            assert here == (fresh or here)
            fresh = here
        check_waiting(kept, survey)
        tablet.page.go_back()
        assert tablet.page.evaluate(KEPT)["text"] == kept["text"]
        files = tablet.page.evaluate(CACHED)
        assert {name: files[f"/{name}"] for name in FILE_NAMES} == {name: asset(name).decode() for name in FILE_NAMES}
        assert set(files) == {f"/{name}" for name in (*FILE_NAMES, "station")}
        assert on_disk(tmp_path, "secret words of person") == set()
        assert memory.order == []
        check_sent(tablet, memory, kept, url)
        tablet.context.close()


def check_waiting(kept, survey):
    """Sealed, all of one length, in the order of random names, with nothing beside them; opened, all are there."""
    assert [kept["local"], kept["session"], kept["state"]] == [{}, {}, "guard"]
    assert kept["own"][0].keys() == {"links", "open", "salt", "pin", "contact"}
    assert all(one.keys() == {"sealed"} for one in kept["waiting"])
    assert {len(base64.b64decode(one["sealed"])) for one in kept["waiting"]} == {
        65 + station_padded_length(survey) + 16
    }
    bodies = [json.loads(KEY.decrypt(base64.b64decode(one["sealed"]))) for one in kept["waiting"]]
    arrived = [int(body["answers"]["comment"][-2:]) for body in bodies]
    assert sorted(arrived) == list(range(PEOPLE))
    assert arrived not in (list(range(PEOPLE)), list(range(PEOPLE))[::-1])
    answers = [body["answers"]["cheated"] for body in bodies]
    assert answers not in (sorted(answers), sorted(answers)[::-1])


def check_sent(tablet, memory, kept, url):
    """In another order; killed when the twelfth is stored and its answer not yet heard; then each is there once."""
    keys = [json.loads(KEY.decrypt(base64.b64decode(one["sealed"])))["key"] for one in kept["waiting"]]
    ended = threading.Event()
    memory.after[12] = lambda: [tablet.kill(), ended.set()]
    tablet.context.set_offline(False)
    tablet.press("For the researchers")
    tablet.unlock()
    tablet.press("Send what waits")
    assert ended.wait(60)
    tablet.again()
    tablet.page.goto(f"{url}station")
    tablet.unlock()
    expect(tablet.page.locator("dd")).to_have_text([str(PEOPLE - 11), "0"])
    tablet.press("Send what waits")
    expect(tablet.page.get_by_text("All that waited is stored.")).to_be_visible()
    expect(tablet.page.locator("dd")).to_have_text(["0", "0"])
    assert len(memory.reports) == len(memory.spent) == PEOPLE
    assert len(set(memory.order)) == PEOPLE < len(memory.order)  # the twelfth came again
    order = list(dict.fromkeys(one.hex() for one in memory.order))
    assert sorted(order) == sorted(keys)
    assert order not in (keys, keys[::-1])
    comments = sorted(json.loads(body)["answers"]["comment"] for body in memory.reports.values())
    assert comments == [f"secret words of person {person:02d}" for person in range(PEOPLE)]
    tablet.press("Remove the station from this tablet")
    expect(tablet.page.get_by_text("Nothing of the station is left")).to_be_visible()
    assert tablet.page.evaluate("async () => [await caches.keys(), await indexedDB.databases()]") == [[], []]


@pytest.fixture
def station(phone):
    """Makes a station that is set up, with so many uses; `link` opens another one."""
    opened = []

    def make(survey, uses=3, **options):
        link, tokens = new_station_link("http://x/", uses)
        context = served(survey, invited=set(map(sha256, tokens)), station_key=KEY)
        site = context.__enter__()
        opened.append(context)
        person = phone(site=site, **options)
        return person, link.removeprefix("http://x/")

    yield make
    for context in opened:
        context.__exit__(None, None, None)


@pytest.mark.parametrize("name", LOOKS)
def test_the_screens_of_a_station_break_no_rule_of_wcag(station, name):
    code, text, look, settings = LOOKS[name]
    questions = [Question("cheated", {code: text}, design=warner(p="3/4"))]
    said = {"practice": False, "check": False, "access": "token", "field": {"station": "interviewer"}}
    survey = Survey(text, questions, consent=text, languages=(code,), **said)
    words = {**page_words_by_language([code])[code], **station_words(code)}
    tablet, link = station(survey, 1, **settings)
    tablet.open("station")
    look(tablet.page)  # without a link
    tablet.page.goto("about:blank")
    tablet.open(link).press(words["station_set"])
    look(tablet.page)  # a PIN, and what is wrong with it
    tablet.page.get_by_role("textbox").fill("2468")
    tablet.press(words["station_set"])
    tablet.reads(words["station_offline"])
    look(tablet.page)
    tablet.press(words["station_over"])
    look(tablet.page)
    tablet.press(words["station_begin"])
    look(tablet.page)
    tablet.press(words["take_part"]).press(words["turn"])
    tablet.page.locator("label.choice").first.click()
    look(tablet.page)
    tablet.press(words["continue"])
    look(tablet.page)
    tablet.press(words["send"]).sees(words["thanks"])
    look(tablet.page)
    tablet.press(words["station_interviewer"])
    tablet.page.get_by_role("textbox").fill("1357")
    tablet.press(words["station_unlock"])
    tablet.reads(words["pin_wrong"])
    look(tablet.page)
    tablet.page.get_by_role("textbox").fill("2468")
    tablet.press(words["station_unlock"])
    expect(tablet.button(words["station_over"])).to_have_count(0)  # its one use is taken
    tablet.press(words["station_send"])
    tablet.reads(words["sent_all"])
    look(tablet.page)


def set_up(tablet, link):
    tablet.open(link)
    tablet.page.get_by_role("textbox").fill("2468")
    tablet.press("Set up")
    tablet.reads("This tablet now works without a network.")
    return tablet


def answer(tablet):
    tablet.press("Begin").press("I take part").press("Turn the wheel").choose("Yes").write("").press("Send")
    tablet.sees("Thank you")


def test_a_station_refuses_another_program(station, monkeypatch):
    """The server's files change: the tablet goes on with all of its own; a new tablet refuses what fits no pin."""
    tablet, link = station(asked())
    set_up(tablet, link).press("Hand over")
    site = tablet.site
    before = tablet.page.evaluate(CACHED)
    other = asset("form.js") + b"// another program\n"
    with monkeypatch.context() as changed:
        changed.setattr("toolkit.survey.client.asset", lambda name: other if name == "form.js" else asset(name))
        changed.setattr("toolkit.survey.client.code_hash", lambda: "0" * 64)  # that of neither
        with listening(build_application(site.survey, site.memory, station_key=KEY)) as url:
            tablet.page.reload()
            tablet.sees("Exams")
            assert tablet.page.evaluate(CACHED) == before
            fresh = Phone.of(tablet.page.context.browser.new_context(), type(site)(url, site.survey, site.memory))
            fresh.open(link)
            fresh.page.get_by_role("textbox").fill("2468")
            fresh.press("Set up")
            fresh.reads("does not work without a network yet")
            assert fresh.page.evaluate(CACHED) == {}
            fresh.page.context.close()


def test_an_ordinary_phone_meets_nothing_of_a_station(station):
    tablet, link = station(asked())
    set_up(tablet, link)
    person = Phone.of(tablet.page.context, tablet.site)
    person.open("#t=" + "a" * 22).sees("Exams")
    assert person.page.evaluate("() => navigator.serviceWorker.controller") is None
    assert not [one for one in person.requests if "station" in one.url or "worker" in one.url]
    expect(person.page.get_by_text("It stays on this phone")).to_have_count(0)


def test_on_a_station_the_truth_is_told_only_where_the_survey_allows_it(station):
    tablet, link = station(asked(field={"station": "kiosk", "auto": True}))
    set_up(tablet, link).press("Hand over").press("Begin").press("I take part")
    tablet.reads("This tablet is told it, and does not keep it")
    tablet.choose("Yes").press("Next").write("").press("Send").sees("Thank you")


def test_reports_wait_when_the_link_was_used_up_by_others(station):
    """A link that others have used up leaves reports waiting until another one is opened."""
    tablet, link = station(asked(), 2)
    set_up(tablet, link).press("Hand over")
    for _ in range(2):
        answer(tablet)
        tablet.press("Done: for the next person")
    tablet.reads("No more people can answer")
    memory = tablet.site.memory
    memory.spent = set(sorted(memory.invited)[:1])  # another tablet had the same link
    tablet.press("For the researchers")
    tablet.page.get_by_role("textbox").fill("2468")
    tablet.press("Unlock").press("Send what waits")
    tablet.reads("For some of what waits there is no place left.")
    assert len(memory.reports) == 1
    more, tokens = new_station_link("http://x/", 1)
    memory.invited |= set(map(sha256, tokens))
    tablet.open(more.removeprefix("http://x/"))
    tablet.page.get_by_role("textbox").fill("2468")
    tablet.press("Unlock").press("Send what waits")
    tablet.reads("All that waited is stored.")
    assert len(memory.reports) == 2


def unlock(tablet):
    tablet.page.get_by_role("textbox").fill("2468")
    return tablet.press("Unlock")


def test_a_link_that_a_second_tab_opens_is_kept_when_the_first_tab_saves(station, phone):
    """The first tab has read the list before; what it writes then must not be that list."""
    tablet, link = station(asked(), 3)
    set_up(tablet, link)
    more, tokens = new_station_link("http://x/", 2)
    tablet.site.memory.invited |= set(map(sha256, tokens))
    second = phone(beside=tablet).open(more.removeprefix("http://x/"))
    second.reads("For the researchers: please enter the PIN.")
    tablet.press("Hand over")
    answer(tablet)
    tablet.press("Done: for the next person").press("For the researchers")
    unlock(tablet)
    tablet.press("Send what waits").reads("All that waited is stored.")
    expect(tablet.page.locator("dd")).to_have_text(["0", "4"])
    unlock(second)
    expect(second.page.locator("dd")).to_have_text(["0", "4"])
    assert len(tablet.page.evaluate(KEPT)["own"][0]["links"]) == 2
    second.press("Remove the station from this tablet").reads("Nothing of the station is left")
    tablet.reads("Please open the link of a station")  # the other tab lets it go


LONG_AGO = """async (days) => {
  const [{ name }] = await indexedDB.databases();
  const asked = indexedDB.open(name);
  const database = await new Promise((done) => { asked.onsuccess = () => done(asked.result); });
  const store = database.transaction("own", "readwrite").objectStore("own");
  const kept = store.get("station");
  await new Promise((done) => {
    kept.onsuccess = () => {
      store.put({ ...kept.result, contact: Date.now() - days * 86400000 }, "station").onsuccess = done;
    };
  });
  database.close();
}"""


def test_a_tablet_locks_after_14_days_without_a_server(station):
    """A tablet that reaches no server for 14 days lets nobody in until it does."""
    tablet, link = station(asked())
    set_up(tablet, link).press("Hand over").reads("Here you can answer a survey")
    tablet.page.reload()
    expect(tablet.button("Begin")).to_be_visible()
    unlock(tablet.press("For the researchers")).press("Hand over")
    expect(tablet.button("Begin")).to_be_visible()
    assert not [one for one in tablet.requests if "health" in one.url], "it would tell when people come"
    tablet.page.context.set_offline(True)
    for days, buttons in ((13.9, 1), (14.1, 0)):
        tablet.page.evaluate(LONG_AGO, days)
        tablet.page.reload()
        tablet.sees("Exams")
        expect(tablet.button("Begin")).to_have_count(buttons)
    tablet.reads("This tablet has not reached the server of its survey for 14 days")
    unlock(tablet.press("For the researchers")).reads("has not reached the server")
    expect(tablet.button("Hand over")).to_have_count(0)
    tablet.page.context.set_offline(False)
    tablet.page.reload()
    unlock(tablet)
    expect(tablet.button("Hand over")).to_be_visible()
    assert [int(re.search(r"PATIENCE = (\d+);", asset("station.js").decode())[1])] * len(LANGUAGES) == [
        int(re.search(r"\d+", station_words(code)["station_lost"])[0]) for code in LANGUAGES
    ]


def test_a_tablet_lets_nobody_in_when_it_hears_that_the_survey_is_closed(station, monkeypatch):
    monkeypatch.setattr("toolkit.survey.serving.server.STATE_SECONDS", 0.0)
    tablet, link = station(asked(field={"station": "interviewer"}))
    set_up(tablet, link)
    tablet.site.memory.state = State.CLOSED
    tablet.page.evaluate(LONG_AGO, 1.1)
    tablet.page.reload()
    unlock(tablet).reads("or the survey is closed. Nobody can answer here for now.")
    expect(tablet.button("Hand over")).to_have_count(0)


def test_a_removed_station_gives_its_unused_uses_back_or_says_so(station):
    """A station that is removed gives its unused uses back or says that it could not."""
    tablet, link = station(asked(), 1200)  # more than one request holds
    set_up(tablet, link)
    assert tablet.site.memory.spent == set()
    tablet.press("Remove the station from this tablet").reads("Nothing of the station is left")
    assert tablet.site.memory.spent == tablet.site.memory.invited
    expect(tablet.page.get_by_text("could not be given back")).to_have_count(0)
    other, link = station(asked(), 2)
    set_up(other, link).page.context.set_offline(True)
    other.press("Remove the station from this tablet")
    other.reads("Nothing of the station is left", "could not be given back")
    assert other.site.memory.spent == set()


def test_who_goes_away_leaves_nothing_on_the_screen(station):
    """Long timers are run by the test, at once."""
    tablet, link = station(asked())
    held = "window.timers = {}; const own = setTimeout; window.setTimeout = (act, time) => "
    tablet.page.add_init_script(held + "(time < 30000 ? own(act, time) : (timers[time] = act))")
    set_up(tablet, link).press("Hand over").press("Begin").press("I take part").press("Turn the wheel")
    tablet.page.get_by_label("Yes", exact=True).check()
    tablet.page.evaluate("() => { timers[180000](); }")
    tablet.reads("Are you still there?")
    tablet.page.evaluate("() => { timers[30000](); }")
    expect(tablet.button("Begin")).to_be_visible()
    assert tablet.kept() == {}
    tablet.press("Begin").press("I take part").press("Stop, and clear everything")
    expect(tablet.button("Begin")).to_be_visible()
