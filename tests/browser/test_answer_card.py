"""The answer card in a real JupyterLab: what leaves the browser does not depend on the truth, and nothing gets lost."""

import json
import re
import struct
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import in_kernel, run_all

pytestmark = pytest.mark.browser

TRIALS = 20
CELLS = (
    """from toolkit import k_ary, warner
from toolkit.local import numeric
from toolkit.show import answer_card
from toolkit.survey.questions.question import Question""",
    """card = answer_card(Question("cheated", "Have you ever cheated on an exam?", design=warner(p="3/4")))
card""",
    """hours = answer_card(("How many hours do you work a week?", numeric.one_bit((0, 80), 1.0)))
hours""",
    """subject = answer_card(("Which subject?", k_ary([f"subject {i}" for i in range(12)], epsilon=1.0)))
subject""",
)
PIN = """(() => {   // words for the randomizer, one at a time; JupyterLab itself asks for other shapes
  const real = crypto.getRandomValues.bind(crypto);
  crypto.getRandomValues = (array) =>
    array instanceof Uint32Array && array.length === 1 && window.pinned !== undefined ? array.fill(window.pinned) : real(array);
})();"""  # noqa: E501
CHANGES = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}|\d{4}-\d\d-\d\dT[\d:.]+Z"
)


class Wire:
    """Everything that the page sends: frames of websockets, and requests other than for reading."""

    def __init__(self, page: Page) -> None:
        self._frames: list[str] = []
        self._requests: list[str] = []
        page.on("websocket", self._listen)
        page.on("request", self._request)

    def _listen(self, socket) -> None:
        socket.on("framesent", lambda payload: self._frames.append(CHANGES.sub("…", _decoded(payload))))

    def _request(self, request) -> None:
        if request.method != "GET":
            self._requests.append(
                CHANGES.sub("…", f"{request.method} {request.url.partition('?')[0]} {request.post_data}")
            )

    def taken(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Frames and requests since the last call, without what differs anyway: random ids and dates."""
        taken = tuple(self._frames), tuple(self._requests)
        self._frames, self._requests = [], []
        return taken


def _decoded(payload: str | bytes) -> str:
    """A frame of Jupyter's websocket protocol v1: the number of offsets, the offsets, then the parts that
    they point to.

    The parts are channel, header, parent header, metadata, content, buffers; all of them are kept.
    """
    if isinstance(payload, str):
        return payload
    count = struct.unpack_from("<Q", payload)[0]
    offsets = struct.unpack_from(f"<{count}Q", payload, 8)
    parts = [payload[start:end].decode() for start, end in pairwise(offsets)]
    return " ".join(parts)


@pytest.fixture(scope="module")
def notebook(lab, page):
    """A notebook with three cards, in a page of its own, and the wire that it speaks through."""
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"cell{i}",
            "metadata": {},
            "outputs": [],
            "source": source,
        }
        for i, source in enumerate(CELLS)
    ]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    path = lab.root / "card.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))
    fresh = page.context.new_page()
    fresh.add_init_script(PIN)
    fresh.wire, fresh.file = Wire(fresh), path
    lab.open(fresh, "card.ipynb")
    run_all(fresh)
    expect(fresh.locator(".toolkit-card")).to_have_count(3)
    yield fresh
    fresh.close()


@pytest.fixture
def card(notebook) -> Locator:
    """The yes/no card, as a new person meets it."""
    found = notebook.locator(".toolkit-card").first
    if found.get_attribute("data-state") != "ready":
        press(found, "Next person")
    found.scroll_into_view_if_needed()
    return found


def press(card: Locator, name: str) -> None:
    card.get_by_role("button", name=name, exact=True).click()


def answered(page: Page, card: Locator, truth: str, word: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All that the page sends while a person answers, with the draw fixed, and hands the laptop on."""
    page.evaluate("(word) => { window.pinned = word; }", word)
    page.wire.taken()
    press(card, truth)
    expect(card).to_have_attribute("data-state", "done")
    press(card, "Next person")
    return page.wire.taken()


def kept(page: Page, name: str = "card") -> list:
    return json.loads(in_kernel(page, f"import json; print(json.dumps({name}.reports))"))


def saved(page: Page) -> str:
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    return page.file.read_text()


def test_what_is_sent_depends_on_the_report_and_not_on_the_truth(notebook, card):
    """The draw is pinned: (yes, changed) and (no, kept) make one report, (yes, kept) and (no, changed) the other.

    In each of 20 trials, five of each of these, the page sends one frame, which must be the same for both truths but
    for random ids and dates. Its only request is JupyterLab's own, which keeps the layout now and then: that must be
    the same in all trials. And after all of it the notebook's file is what it was before.
    """
    before, here = saved(notebook), kept(notebook)
    frames, requests = {0: set(), 1: set()}, set()
    for trial in range(TRIALS):
        truth, word, report = (("Yes", 0, 0), ("No", 0, 0), ("Yes", 3, 1), ("No", 3, 1))[trial % 4]
        sent, asked = answered(notebook, card, truth, word)
        frames[report].add(sent)
        requests.update(asked)
    assert [len(seen) for seen in frames.values()] == [1, 1]
    for report, ((frame,),) in frames.items():
        assert frame.endswith(f'"content":{{"kind":"report","q":"cheated","r":{report},"id":"…"}}}}}}')
    asked = [request.partition("/lab/api/")[2].partition(" ")[0] for request in requests]
    assert len(asked) <= 1
    assert [path for path in asked if not re.fullmatch(r"workspaces/(default|auto-\w)", path)] == []
    assert kept(notebook) == sorted([*here, *[0, 1] * (TRIALS // 2)])
    assert saved(notebook) == before


def test_neither_the_widget_s_state_nor_the_page_remembers_the_truth(notebook, card):
    def remains(truth: str) -> tuple[str, str]:
        answered(notebook, card, truth, 0)
        state = in_kernel(notebook, "print(json.dumps(card.get_state(), sort_keys=True, default=str))")
        return re.sub(r'"number": \d+', "", CHANGES.sub("…", state)), card.evaluate("(element) => element.outerHTML")

    kept(notebook)
    assert remains("Yes") == remains("No")


def test_twenty_answers_to_a_busy_kernel_are_twenty_reports(notebook, card, lab):
    """Twenty people who answer while the kernel is busy are twenty reports."""
    before, flag = len(kept(notebook)), lab.root / "clicked"
    # New kernels hear the card in a thread of its own while a cell runs; the lock keeps that one waiting,
    # too.
    code = (
        f"import pathlib, time\nwith card._lock:\n    while not pathlib.Path({str(flag)!r}).exists(): time.sleep(0.02)"
    )
    notebook.evaluate("() => { window.pinned = undefined; }")
    notebook.evaluate(
        "(code) => { window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({ code }); }",
        code,
    )
    try:
        for person in range(20):
            press(card, ("Yes", "No")[person % 2])
            expect(card).to_have_attribute("data-state", "sending")
            if person < 19:
                press(card, "Next person")
        expect(card.get_by_role("status")).to_have_text(re.compile(r"\(19 earlier on the way\)"))
    finally:
        flag.touch()
    expect(card).to_have_attribute("data-state", "done")
    expect(card.get_by_role("status")).to_have_text("The report has arrived.")
    assert len(kept(notebook)) == before + 20


def test_keys_reach_the_card_and_not_the_notebook(notebook, card):
    """JupyterLab in command mode would take digits, letters, arrows and Enter for itself."""
    before, cells = len(kept(notebook)), notebook.locator(".jp-Cell").count()
    card.get_by_role("button", name="Yes").focus()
    notebook.keyboard.press("Enter")
    expect(card).to_have_attribute("data-state", "done")
    expect(card.get_by_role("button", name="Next person")).to_be_focused()
    notebook.keyboard.press("Space")
    notebook.keyboard.press("Tab")
    notebook.keyboard.press("Space")
    expect(card).to_have_attribute("data-state", "done")
    assert len(kept(notebook)) == before + 2
    hours = notebook.locator(".toolkit-card").nth(1)
    hours.get_by_role("textbox").focus()
    notebook.keyboard.type("12")
    notebook.keyboard.press("ArrowUp")  # turns no number, and leaves no cell
    notebook.keyboard.press("Enter")
    expect(hours.locator("dd").first).to_have_text("12")
    subject = notebook.locator(".toolkit-card").nth(2)
    subject.get_by_role("combobox").focus()
    notebook.keyboard.press("ArrowDown")
    notebook.keyboard.press("ArrowDown")
    notebook.keyboard.press("Tab")
    notebook.keyboard.press("Enter")
    expect(subject.locator("dd").first).to_have_text("subject 1")
    expect(subject).to_have_attribute("data-state", "done")
    assert (len(kept(notebook, "hours")), len(kept(notebook, "subject"))) == (1, 1)
    assert notebook.locator(".jp-Cell").count() == cells
    assert notebook.locator(".jp-MarkdownCell").count() == 0


def test_the_card_follows_the_theme(notebook, card):
    colour = "(element) => [getComputedStyle(element).backgroundColor, getComputedStyle(element).color]"
    pairs = {}
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        light = "true" if theme.endswith("Light") else "false"
        notebook.evaluate("(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
        notebook.wait_for_selector(f'body[data-jp-theme-light="{light}"]', state="attached")
        expect(card).to_have_css("color", re.compile(r"\(0, 0, 0" if light == "true" else r"\(255, 255, 255"))
        pairs[theme] = card.evaluate(colour)
    assert pairs["JupyterLab Dark"][0] != pairs["JupyterLab Light"][0]
