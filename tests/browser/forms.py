"""A survey served on this machine, and a phone that answers it: what the tests of the form share."""

import hashlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from playwright.sync_api import BrowserContext, Locator, Page, Request, expect

from tests.survey.desk import Memory
from toolkit import crosswise, k_ary, warner
from toolkit.local import numeric, oracles
from toolkit.survey.question import Question
from toolkit.survey.serving.server import application
from toolkit.survey.spec import Survey

# Whoever taps here has looked at the screen for long, unless a test says otherwise.
PATIENT = """
window.hasty = false;
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
    with listening(application(survey, memory, **parts)) as url:
        yield Site(url, survey, memory)


@contextmanager
def together(surveys: Mapping[str, Survey], **parts: Any) -> Iterator[dict[str, Site]]:
    """Several surveys at one origin, each below its name."""
    stores = {name: Memory(survey.access, parts.get("invited", ())) for name, survey in surveys.items()}
    apps = {
        name: application(survey, stores[name], prefix=f"/{name}", key=parts.get("key"))
        for name, survey in surveys.items()
    }

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await apps[scope["path"].split("/")[1]](scope, receive, send)

    with listening(app) as url:
        yield {name: Site(f"{url}{name}/", survey, stores[name]) for name, survey in surveys.items()}


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """Where an application can be reached, on a port of this machine."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{place.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join(10)


@dataclass
class Phone:
    """One page of a browser, with everything that it asked of any server and everything that went wrong in it."""

    page: Page
    site: Site
    requests: list[Request] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, context: BrowserContext, site: Site) -> "Phone":
        phone = cls(context.new_page(), site)
        phone.page.add_init_script(PATIENT)
        phone.page.add_init_script(PINNED)
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

    def sees(self, heading: str) -> "Phone":
        expect(self.heading).to_have_text(heading)
        return self

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def press(self, name: str) -> "Phone":
        self.button(name).click()
        return self

    def choose(self, *labels: str) -> "Phone":
        for label in labels:
            self.page.get_by_label(label, exact=True).check()
        return self.press("Continue")

    def write(self, text: str) -> "Phone":
        self.page.locator("input[type=text], textarea").fill(text)
        return self.press("Continue")

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

    def posts(self) -> list[bytes]:
        return [request.post_data_buffer or b"" for request in self.requests if request.method == "POST"]

    def kept(self) -> dict[str, str]:
        """All that the page keeps on the phone, in either storage."""
        return self.page.evaluate("() => ({...localStorage, ...sessionStorage})")


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
