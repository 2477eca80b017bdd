"""The link of a collection can be read by a camera, in every theme: it paints the QR code, module by module."""

import io

import pytest
import segno
from PIL import Image
from playwright.sync_api import expect

from toolkit.show.widgets.collector_view import CollectorView
from toolkit.survey.client import qr_path

LINK = "http://127.0.0.1:46205/"


@pytest.mark.browser
@pytest.mark.parametrize("ground", ["#fff", "#111"])
def test_the_painted_code_is_the_link_dark_on_white_whatever_lies_behind(page, ground):
    code = qr_path(LINK)
    size = code["size"]
    tab = page.context.new_page()
    tab.set_content(
        f"<style>{CollectorView._css} body {{ background: {ground} }}</style><div class='toolkit-explorer'>"
        f"<svg class='qr' viewBox='0 0 {size} {size}'><rect class='paper' width='{size}' height='{size}'/>"
        f"<path class='print' d='{code['path']}'/></svg></div>"
    )
    picture = Image.open(io.BytesIO(tab.locator(".qr").screenshot())).convert("L")
    tab.close()
    unit = picture.width / size
    seen = [
        [picture.getpixel((int((x + 0.5) * unit), int((y + 0.5) * unit))) < 128 for x in range(size)]
        for y in range(size)
    ]
    modules = [[bool(module) for module in row] for row in segno.make(LINK, error="m", micro=False).matrix]
    assert [row[4:-4] for row in seen[4:-4]] == modules
    assert not any(any(row) for row in seen[:4] + seen[-4:])


SHOWN = """async ([code, table]) => {
  const model = { get: (name) => (name === "table" ? table : {}), on() {}, off() {}, send() {} };
  const module = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  module.default.render({ model, el: document.body });
}"""
SIZES = """() => {
  const [code, link] = [".qr", ".link"].map((part) => document.querySelector(".projector " + part));
  return [code.getBoundingClientRect().width, parseFloat(getComputedStyle(link).fontSize)];
}"""


@pytest.mark.browser
def test_the_projector_shows_code_link_and_count_large(page):
    """Of 1920 points that are two meters wide 900 are 94 centimeters, and 50 are five."""
    link = "https://survey.example.org/campus"
    sentences = dict.fromkeys(("state", "reach", "access", "private", "so_far"), "")
    table = {"state": "open", "count": 128, "url": link, "head": [], "rows": [], "sentences": sentences}
    context = page.context.browser.new_context(viewport={"width": 1920, "height": 1080})
    tab = context.new_page()
    tab.set_content(f"<style>{CollectorView._css}</style>")
    tab.evaluate(SHOWN, [CollectorView._esm, {**table, "qr": qr_path(link)}])
    room = tab.locator(".projector")
    expect(room).to_be_hidden()
    tab.get_by_role("button", name="Show large").click()
    expect(room).to_be_visible()
    expect(room).to_contain_text("128 reports")
    width, letters = tab.evaluate(SIZES)
    assert width >= 900
    assert letters >= 50
    tab.keyboard.press("Escape")
    expect(room).to_be_hidden()
    context.close()


CELLS = """() => [...document.querySelectorAll(".estimates td")]
  .filter((cell) => cell.getClientRects().length && cell.cellIndex > 1)
  .map((cell) => [cell.innerText, cell.offsetHeight, cell.scrollWidth - cell.clientWidth])"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [380, 700, 1000])
def test_estimates_of_six_questions_are_single_lines_with_pictures(page, width):
    """As the results table; a narrow view leaves columns out, and scrolls nowhere."""
    names = ["cheated", "mood", "hours", "faculty", "stolen", "paid"]
    rows = [[name, "Yes", "59.6 %", "6.6 points", "46.6 to 72.2 %", "1,230"] for name in names]
    head = ["question", "answer", "estimate", "standard error", "95 % interval", "people"]
    sentences = dict.fromkeys(("state", "reach", "access", "private", "so_far"), "A sentence.")
    table = {"state": "open", "count": 128, "url": LINK, "qr": qr_path(LINK), "head": head, "rows": rows}
    table |= {"spans": [[0.4, 0.6, 0.7], [0.0, -0.1, 0.2], *[[None] * 3] * 4], "sentences": sentences}
    context = page.context.browser.new_context(viewport={"width": width, "height": 900})
    tab = context.new_page()
    tab.set_content(f"<!doctype html><style>{CollectorView._css}</style>")
    tab.evaluate(SHOWN, [CollectorView._esm, table])
    cells = tab.evaluate(CELLS)
    assert {height < 40 for _, height, _ in cells} == {True}
    assert max(beyond for _, _, beyond in cells) <= 1
    assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert len(cells) == 6 * (2 if width == 380 else 5)
    if width > 380:
        wide, panels = (tab.locator(part).bounding_box()["width"] for part in (".wide", ".panels"))
        assert wide == pytest.approx(panels, abs=1)
        assert tab.locator(".estimates svg rect").count() == 2
        assert tab.locator(".estimates circle[data-beyond=beyond]").count() == 1
    context.close()
