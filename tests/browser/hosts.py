"""Forms for other programs, in a page with the real program from its npm package."""

import functools
import json
import subprocess
from pathlib import Path
from typing import Any

from tests.needs import lacking, program

PINNED = """(() => {  // the words of `window.pinned` instead of the browser's own, one at a time
  const own = crypto.getRandomValues.bind(crypto);
  crypto.getRandomValues = (array) => {
    if (!(array instanceof Uint32Array && array.length === 1)) return own(array);
    if (!window.pinned.length) throw new Error("no words are left");
    array[0] = window.pinned.shift();
    return array;
  };
  // What a program saves as a file is read from `window.saved`.
  URL.createObjectURL = (file) => { window.saved = file.text(); return "data:,"; };
})();"""
TAP = """async (steps) => {  // tap the label of each question, which is faster than one command for each tap
  const later = () => new Promise((resolve) => setTimeout(resolve, 5));
  for (const [question, label] of steps) {
    const legend = () => [...document.querySelectorAll("legend")].find((one) => one.textContent.includes(question));
    while (!legend()) await later();
    const fields = legend().parentElement;
    [...fields.querySelectorAll("label")].find((one) => one.textContent === label).click();
    fields.querySelector("button").click();
  }
  while (!window.saved) await later();
  return window.saved;
}"""
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
SITE = "http://survey.test/"


@functools.cache
def packages(folder: Path) -> Path:
    """Install the programs from the package registry into a folder that the run of the tests deletes."""
    npm = program("npm", "npm")
    names = ["jspsych", "survey-js-ui", "typescript"]  # survey-js-ui installs the survey-core that it needs
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--prefix", str(folder)]
    done = subprocess.run([npm, "install", *options, *names], capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        lacking("npm must reach a package registry for jspsych, survey-js-ui and typescript")
    return folder / "node_modules"


class Visit:
    """A page with a form, and everything that leaves it."""

    def __init__(self, context: Any, folder: Path, modules: Path) -> None:
        self.page, self.requests, self.console = context.new_page(), [], []
        self._folders = (folder, modules)
        self.page.set_default_timeout(60_000)
        self.page.add_init_script(f"window.pinned = []; {PINNED}")
        self.page.route("**/*", self._serve)
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))

    def begin(self, words: list[int], label: str = "I take part") -> "Visit":
        """Open the form and take part; these random words are drawn next."""
        self.page.goto(SITE + "index.html")
        self.page.evaluate("words => { window.pinned = words; }", words)
        button = self.page.locator(f"input[type=button][value='{label}']")
        self.page.get_by_text(label, exact=True).or_(button).click()
        return self

    def _serve(self, route: Any) -> None:
        request = route.request
        self.requests.append((request.method, request.url, request.post_data))
        path = request.url.removeprefix(SITE)
        found = next((folder / path for folder in self._folders if (folder / path).is_file()), None)
        if found is None:
            route.fulfill(status=404, body="")
        else:
            route.fulfill(body=found.read_bytes(), content_type=TYPES.get(found.suffix, "text/plain"))

    def answer(self, text: str, answer: str | list[str]) -> None:
        """Answer the question with this text: a number or a text to write, or labels to tap."""
        question = self.page.locator(".toolkit", has_text=text)
        if isinstance(answer, str):
            question.locator("input, textarea").fill(answer)
        for label in [] if isinstance(answer, str) else answer:
            question.get_by_label(label, exact=True).check()
        question.get_by_role("button").click()

    def seen(self) -> str:
        """Everything that the page shows or keeps now, and what it has logged."""
        here = self.page.evaluate(
            """() => JSON.stringify([document.documentElement.outerHTML, location.href, history.state,
            {...localStorage}, {...sessionStorage}, window.name, document.cookie, window.pinned.length,
            [...document.querySelectorAll("input, textarea")].map((field) => [field.value, field.checked])])"""
        )
        return json.dumps([here, self.console, self.requests])

    def saved(self) -> Any:
        """Return what the program has saved at the end."""
        self.page.wait_for_function("() => window.saved")
        return json.loads(self.page.evaluate("() => window.saved"))

    def tap(self, steps: list[tuple[str, str]]) -> Any:
        """Answer questions by tapping one label in each, and return what the program saves."""
        return json.loads(self.page.evaluate(TAP, steps))
