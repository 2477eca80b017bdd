"""A survey served on this machine, and a phone that answers it: what the tests of the form share."""

import hashlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Error, Locator, Page, Request

from tests.survey.desk import Memory
from toolkit import crosswise, k_ary, warner
from toolkit.local import numeric, oracles
from toolkit.survey.questions.question import Question
from toolkit.survey.serving.connection import HttpServer
from toolkit.survey.serving.limits import Limits
from toolkit.survey.serving.server import build_application
from toolkit.survey.spec import Survey

# Whoever taps here has looked at the screen for long, and what waits for a second tab waits for 20 ms instead of 200 to
# 300, unless a test says otherwise.
PATIENT = """
window.hasty = window.slow = false;
const later = window.setTimeout;
window.setTimeout = (act, time, ...rest) => later(act, !window.slow && time >= 200 && time < 300 ? 20 : time, ...rest);
const stamp = Object.getOwnPropertyDescriptor(Event.prototype, "timeStamp").get;
Object.defineProperty(Event.prototype, "timeStamp", { get() { return window.hasty ? stamp.call(this) : Infinity; } });
"""
# A browser that keeps nothing.
BLOCKED = (
    "for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, "
    "{get() {throw Error()}})"
)
PINNED = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
window.pinned = null; // words for the draws; null leaves the browser's own
const own = Crypto.prototype.getRandomValues;
Crypto.prototype.getRandomValues = function (array) {
  if (window.pinned === null) return own.call(this, array);
  if (!(array instanceof Uint32Array)) return array.fill(7);
  if (window.pinned.length < array.length) throw new Error("more words were drawn than were pinned");
  array.forEach((_, i) => (array[i] = window.pinned.shift()));
  return array;
};
"""

# What a hand does, in one breath: wait for the one button, box or field of this name; it must be in sight and not
# covered; tap it, or write into it. Or wait for a heading, or for words that can be read.
DONE = """async ([verb, name, text]) => {
  const plain = (one) => one.innerText.replace(/\\s+/g, " ").trim();
  const all = (css) => [...document.querySelectorAll(css)].filter((one) => one.checkVisibility());
  const named = (css) => all(css).filter((one) => (one.ariaLabel || plain(one)) === name);
  const reached = (one) => {
    one.scrollIntoView({ block: "nearest", behavior: "instant" });
    const { left, top, width, height } = one.getBoundingClientRect();
    const there = document.elementFromPoint(left + width / 2, top + height / 2);
    return one.contains(there) || Boolean(there && there.contains(one) && there.closest("label"));
  };
  const seek = {
    press: () => named("button"),
    check: () => named("label").map((one) => one.control).filter(Boolean),
    write: () => all("input[type=text], textarea"),
    see: () => all("h1:not(:has(.count)), h1 .count"),
    read: () => [document.body],
  }[verb];
  const met = {
    see: ([one, more]) => one && !more && plain(one) === name,
    read: ([one]) => plain(one).includes(name.replace(/\\s+/g, " ").trim()),
  }[verb] || (([one, more]) => one && !more && !one.disabled && reached(one));
  let found = seek();
  for (const end = performance.now() + 60000; !met(found) && performance.now() < end; found = seek())
    await new Promise((go) => setTimeout(go, 4));
  if (verb === "see" || verb === "read") return found.map(plain);
  if (found.length !== 1) return "of this name there are " + found.length;
  if (found[0].disabled || !reached(found[0])) return "it cannot be tapped";
  if (verb === "write") {
    found[0].focus();
    found[0].value = text;
    found[0].dispatchEvent(new InputEvent("input", { bubbles: true }));
  } else if (verb === "press" || !found[0].checked) {
    found[0].dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1 }));
  }
}"""


@dataclass(frozen=True)
class Site:
    """A served survey; `memory` holds what was stored."""

    url: str
    survey: Survey
    memory: Memory

    @property
    def stored(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body in self.memory.reports.values()]


@contextmanager
def served(survey: Survey, **parts: Any) -> Iterator[Site]:
    """The real application on a port of this machine, with a store in memory."""
    memory = Memory(survey.access, parts.pop("invited", ()))
    with listening(build_application(survey, memory, **parts)) as url:
        yield Site(url, survey, memory)


@contextmanager
def together(surveys: Mapping[str, Survey], **parts: Any) -> Iterator[dict[str, Site]]:
    """Several surveys at one origin, each below its name."""
    stores = {name: Memory(survey.access, parts.get("invited", ())) for name, survey in surveys.items()}
    apps = {
        name: build_application(survey, stores[name], prefix=f"/{name}", issuer_key=parts.get("key"))
        for name, survey in surveys.items()
    }

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await apps[scope["path"].split("/")[1]](scope, receive, send)

    with listening(app) as url:
        yield {name: Site(f"{url}{name}/", survey, stores[name]) for name, survey in surveys.items()}


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """Where an application can be reached, on a port of this machine."""
    server = HttpServer(app, Limits(), lambda: None)
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        place.listen()  # who comes before the thread has begun waits, and is not turned away
        thread = threading.Thread(target=server.run, args=(place,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{place.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join(10)


@dataclass
class Phone:
    """One page of a browser, with everything that it asked of any server and everything that went wrong in it.

    With a `hand` it is tapped by the browser's own mouse, which takes ten times as long.
    """

    page: Page
    site: Site
    hand: bool = False
    requests: list[Request] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, context: BrowserContext, site: Site, *, hand: bool = False) -> "Phone":
        phone = cls(context.new_page(), site, hand)
        phone.page.add_init_script(PATIENT + PINNED)
        phone.page.on("request", lambda request: phone.requests.append(request))
        phone.page.on("pageerror", lambda error: phone.errors.append(str(error)))
        return phone

    def open(self, fragment: str = "") -> "Phone":
        self.page.goto(self.site.url + fragment)
        return self

    def begin(self, fragment: str = "", words: Sequence[int] | None = None) -> "Phone":
        """Open the survey and take part; all its draws are made here, of these words if they are given."""
        self.open(fragment)
        if words is not None:
            self.pin([*words])
        self.press("I take part")
        self.pin(None)
        return self

    def pin(self, words: list[int] | None) -> None:
        """These random words are drawn next; None gives the browser its own back."""
        self.page.evaluate("words => { window.pinned = words; }", words)

    @property
    def heading(self) -> Locator:
        """What heads a screen: of a question, which one it is."""
        return self.page.locator("h1:not(:has(.count)), h1 .count")

    def _do(self, *what: str) -> Any:
        """What the page says of it; a page that is being loaded is waited for."""
        while True:
            try:
                return self.page.evaluate(DONE, what)
            except Error as problem:
                if "context was destroyed" not in problem.message:
                    raise
                self.page.wait_for_load_state()

    def sees(self, heading: str) -> "Phone":
        assert self._do("see", heading) == [heading]
        return self

    def reads(self, *texts: str) -> "Phone":
        """All of this can be read on the page, sooner or later."""
        for text in texts:
            (shown,) = self._do("read", text)
            assert " ".join(text.split()) in shown
        return self

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def press(self, name: str) -> "Phone":
        if self.hand:
            self.button(name).click()
        else:
            assert self._do("press", name) is None, name
        return self

    def choose(self, *labels: str) -> "Phone":
        for label in labels:
            if self.hand:
                self.page.get_by_label(label, exact=True).check()
            else:
                assert self._do("check", label) is None, label
        return self.press("Continue")

    def fill(self, text: str) -> "Phone":
        if self.hand:
            self.page.locator("input[type=text], textarea").fill(text)
        else:
            assert self._do("write", "", text) is None
        return self

    def write(self, text: str) -> "Phone":
        return self.fill(text).press("Continue")

    def went_well(self) -> None:
        """No error, nothing that the policy forbids, and no request to anybody else."""
        origin = self.site.url[: self.site.url.index("/", len("https://")) + 1]
        assert self.errors == []
        assert self.page.evaluate("() => window.violations") == []
        assert [request.url for request in self.requests if not request.url.startswith((origin, "data:,"))] == []

    def name(self, item: str, link: str | None = None) -> str:
        """Under which something is kept by this page: of a link only its hash."""
        who = "" if link is None else f":{hashlib.sha256(link.encode()).hexdigest()}"
        return f"toolkit:{self.site.survey.hash}:{item}{who}"

    def session(self) -> dict[str, str]:
        """What is kept until this page is closed."""
        return self.page.evaluate("() => ({...sessionStorage})")

    def words(self) -> dict[str, list[list[int] | None]]:
        """The random words that outlive the page, by what they are kept under: both halves of them together."""
        kept = {name: json.loads(value) for name, value in self.session().items() if ":words" in name}
        pads = json.loads(self.page.evaluate("() => window.name") or "{}")
        pairs = {name: zip(hidden, pads[number], strict=True) for name, (number, hidden) in kept.items()}
        return {
            name: [one and [a ^ b for a, b in zip(one, pad, strict=True)] for one, pad in lists]
            for name, lists in pairs.items()
        }

    def posts(self) -> list[bytes]:
        return [request.post_data_buffer or b"" for request in self.requests if request.method == "POST"]

    def kept(self) -> dict[str, str]:
        """All that the page keeps on the phone, in either storage."""
        return self.page.evaluate("() => ({...localStorage, ...sessionStorage})")


def on_disk(folder: Path, text: str) -> set[str]:
    """The folders below this one, of a browser, with a file that holds the text as a browser may write it."""
    spellings = text.encode(), text.encode("utf-16-le")
    files = [file for file in folder.rglob("*") if file.is_file() and not file.is_symlink()]
    return {file.parent.name for file in files if any(spelling in file.read_bytes() for spelling in spellings)}


def short(**changes: Any) -> Survey:
    """One yes/no question and nothing else: for all that happens after the questions."""
    question = Question("cheated", "Have you ever cheated?", design=warner(p="3/4"))
    return Survey("Exams", [question], consent="You may stop.", **{"practice": False, "check": False, **changes})


def modes(**changes: Any) -> Survey:
    """The three ways to answer, and a plain question that decides whether another is asked."""
    questions = [
        Question("work", "Do you work?", options=["no", "yes"]),
        Question("hours", "How many hours?", bounds=(0, 80), show_if={"work": ["yes"]}),
        Question("cheated", "Have you ever cheated?", design=warner(p="3/4")),
        Question("stolen", "Have you ever stolen?", design=warner(p="2/3"), mode="guided"),
        Question(
            "paid", "Have you ever paid?", design=crosswise("1/4"), mode="physical", instructions="Compare.\nThen tap."
        ),
        Question("comment", "Anything else?", free_text=True, required=False, warning="Name nobody."),
    ]
    return Survey("Campus", questions, consent="You may stop.\n\nWrite to us.", **{"ceiling": 7, **changes})


def kinds() -> Survey:
    """Every kind of question and every randomizer that a phone may meet."""
    four = ["bus", "car", "bike", "foot"]
    questions = [
        Question("cheated", "Have you ever cheated?", design=warner(p="3/4")),
        Question("agree", "Do you agree?", design=k_ary([1, 2, 3, 4, 5], epsilon=1)),
        Question("travel", "How do you travel?", design=k_ary(four, epsilon=1)),
        Question("subset", "Which subset?", design=oracles.subset(four, 0.5)),
        Question("unary", "Which one?", design=oracles.unary(four, 1.0)),
        Question("hash", "Which hash?", design=oracles.local_hash(four, 1.0)),
        Question("box", "Which of these?", design=oracles.tick_boxes(four, 1.0, how="random")),
        Question("capped", "At most two of these?", design=oracles.tick_boxes(four, 1.0, most=2, how="capped")),
        Question("bit", "How many hours?", design=numeric.one_bit((0, 80), 1.0)),
        Question("window", "How much money?", design=numeric.piecewise((0, 1000), 1.0)),
        Question("noise", "How many points?", design=numeric.local_laplace((0, 4), 1.0)),
    ]
    return Survey("All kinds", questions, consent="You may stop.", practice=False, check=False, ceiling=20)
