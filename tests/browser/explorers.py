"""Explorers in a notebook of a real JupyterLab: the words on the screen, and what Python says."""

import json
from dataclasses import dataclass

import nbformat
from playwright.sync_api import Locator, Page, expect

from freeze import KERNEL
from tests.browser.lab import Lab, in_kernel, run_all

SENTENCES = """(element) => Object.fromEntries(
  Array.from(element.querySelectorAll("p[data-name]"), (line) => [line.dataset.name, line.textContent]))"""
# Until a minute is over: what the screen says, and what the kernel answers.
AGREED = f"""async (element, code) => {{
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const sorted = (words) => JSON.stringify(Object.entries(words).sort());
  for (const end = Date.now() + 60000; ; await new Promise((go) => setTimeout(go, 20))) {{
    let text = "";
    const reply = kernel.requestExecute({{ code, store_history: false }});
    reply.onIOPub = ({{ header, content }}) => (text += header.msg_type === "stream" ? content.text : "");
    await reply.done;
    const [said, other] = JSON.parse(text);
    const words = ({SENTENCES})(element);
    if (sorted(words) === sorted(said) || Date.now() > end) return [words, said, other];
  }}
}}"""


@dataclass
class Shown:
    """A widget on the screen, and the variable of the same name in the kernel."""

    page: Page
    name: str
    element: Locator

    def slider(self, label: str) -> Locator:
        return self.element.get_by_role("slider", name=label)

    def words(self) -> dict[str, str]:
        return self.element.evaluate(f"element => ({SENTENCES})(element)")

    def in_python(self, code: str) -> object:
        return json.loads(in_kernel(self.page, f"print(json.dumps({self.name}.{code}))"))

    def agrees(self) -> dict[str, str]:
        """Wait until the words on the screen are those of the kernel, which has then heard all that was set."""
        return self._agrees("None")[0]

    def _agrees(self, more: str) -> tuple[dict[str, str], object]:
        """The words, when they agree, and something else that the kernel says then."""
        words, said, other = self.element.evaluate(AGREED, f"print(json.dumps([{self.name}.describe(), {more}]))")
        assert words == said
        return said, other

    def follows_arrow_keys(self, label: str, trait: str) -> None:
        """Two steps up and two down: the words follow at once, before the kernel has heard, and the kernel follows.

        First down to a step, away from the end: a test before may have typed a number between two steps, or gone to the
        end.
        """
        original, known = self.in_python(trait), f"{self.name}.{trait}"
        self.slider(label).focus()
        for _ in range(3):
            self.page.keyboard.press("ArrowLeft")
        before, value = self._agrees(known)
        for _ in range(2):
            self.page.keyboard.press("ArrowRight")
        on_the_way = self.words()
        after, higher = self._agrees(known)
        assert on_the_way == after != before
        assert higher > value
        expect(self.slider(label)).to_be_focused()
        for _ in range(2):
            self.page.keyboard.press("ArrowLeft")
        assert self._agrees(known) == (before, value)
        in_kernel(self.page, f"{known} = {original!r}")  # as it was found
        self.agrees()


def shown(page: Page, cells: dict[str, str], name: str) -> Shown:
    """The widget of one of these cells, in sight."""
    element = page.locator(".toolkit-explorer").nth(list(cells).index(name))
    element.scroll_into_view_if_needed()
    return Shown(page, name, element)


def open_notebook(lab: Lab, page: Page, cells: dict[str, str], first: str = "") -> Page:
    """A notebook with one widget a cell, run."""
    sources = [
        f"import json\nfrom toolkit import show\nfrom toolkit.teaching import explorers\n{first}",
        *(f"{name} = {code}\n{name}" for name, code in cells.items()),
    ]
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in sources], metadata={"kernelspec": KERNEL}
    )
    path = f"notebooks/{'_and_'.join(cells)}.ipynb"
    nbformat.write(book, lab.root / path)
    lab.open(page, path)
    run_all(page)
    expect(page.locator(".toolkit-explorer")).to_have_count(len(cells))
    return page
