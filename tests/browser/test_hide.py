"""`hide` gives the same report as Python for the same random words, for every randomizer of a browser."""

import json
import re

import numpy as np
import pytest

from tests.browser import randomizers
from tests.browser.randomizers import WORD, drawn_in_python, truths
from toolkit import warner
from toolkit.local import numeric, oracles
from toolkit.survey.exchange.web import module_code, write_web_module
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey

pytestmark = pytest.mark.browser

WORDS = np.random.default_rng(20_261_119).integers(0, WORD, size=1500, dtype=np.uint32)
LOAD = """async ([module, words]) => {
  globalThis.module = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
  globalThis.shared = JSON.parse(words);
}"""
HIDDEN = """([design, answers]) => {
  const [data, given, reports] = [JSON.parse(design), JSON.parse(answers), []];
  let place = 0;
  const next = () => {
    if (place === shared.length) throw new RangeError("used up");
    return shared[place++];
  };
  try {
    for (;;) reports.push(module.hide(data, given[reports.length % given.length], next));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return JSON.stringify(reports);
}"""
KINDS = {
    name: made
    for group in (randomizers.designs(), randomizers.others(), randomizers.long())
    for name, made in group.items()
    if not isinstance(made, randomizers.Sent)  # a memo is for the toolkit's own page
}


@pytest.fixture(scope="module")
def blank(page):
    """An empty page with the module and the shared words."""
    fresh = page.context.new_page()
    fresh.evaluate(LOAD, [module_code(), json.dumps(WORDS.tolist())])
    yield fresh
    fresh.close()


def answer(randomizer, truth):
    """The answer of a person whose truth has this code: an option, a list of options, or a number on the grid."""
    if not randomizer.options:
        return float(randomizer.low + (randomizer.high - randomizer.low) * truth / randomizer.steps)
    return [randomizer.options[code] for code in truth] if isinstance(truth, list) else randomizer.options[truth]


@pytest.mark.parametrize("name", KINDS)
def test_the_same_words_give_the_same_report_as_in_python(blank, name):
    randomizer, codes = KINDS[name], truths(KINDS[name])
    reports, _ = drawn_in_python(randomizer._draw_report, codes, WORDS)
    if randomizer.matrix is not None:
        reports = [randomizer.report_options[report] for report in reports]
    answers = [answer(randomizer, code) for code in codes]
    there = blank.evaluate(HIDDEN, [json.dumps(randomizer._browser_data()), json.dumps(answers)])
    assert json.loads(there) == reports
    assert len(reports) > 10, "else the words would test little"


REFUSED = """([data, answer]) => {
  let used = 0;
  try { module.hide(data, answer, () => used++); } catch (error) { return [error.message, used]; }
}"""


@pytest.mark.parametrize(
    ("design", "wrong"),
    [
        (warner("3/4"), "zebra"),
        (warner("3/4"), 1),
        (warner("3/4"), None),
        (warner("3/4"), ["yes"]),
        (oracles.tick_boxes(["beer", "wine"], 1.0), "beer"),
        (oracles.tick_boxes(["beer", "wine"], 1.0), ["beer", "zebra"]),
        (numeric.one_bit((0, 80), 1.0), 80.5),
        (numeric.one_bit((0, 80), 1.0), "40"),
        (numeric.one_bit((0, 80), 1.0), None),
    ],
)
def test_a_wrong_answer_draws_nothing_and_is_not_quoted(blank, design, wrong):
    message, used = blank.evaluate(REFUSED, [design._browser_data(), wrong])
    assert used == 0
    assert "zebra" not in message
    assert "80.5" not in message


def test_without_words_the_generator_for_secret_keys_is_asked(blank):
    script = """(data) => {
      const asked = [];
      const real = crypto.getRandomValues.bind(crypto);
      crypto.getRandomValues = (array) => { asked.push(array.constructor.name); return real(array); };
      const report = module.hide(data, "yes");
      crypto.getRandomValues = real;
      return [report, asked];
    }"""
    report, asked = blank.evaluate(script, warner("3/4")._browser_data())
    assert report in ("no", "yes")
    assert set(asked) == {"Uint32Array"}


@pytest.mark.parametrize("is_right", [True, False])
def test_the_lines_of_the_readme_run_with_the_right_file_alone(page, tmp_path, is_right):
    """With one byte more than its hash covers the browser refuses the module."""
    asked = Survey("Exams", [Question("cheated", "Have you?", design=warner("3/4"))], consent="Why.", check=False)
    files = {path.name: path.read_text(encoding="utf-8") for path in write_web_module(tmp_path, asked)}
    lines = re.search(r"```html\n(.*?)```", files["README.md"], re.DOTALL)[1]
    html = f'<!doctype html><script>var answer = "yes";</script>{lines}'.replace(
        "; // store", "; document.title = report; //"
    )
    files["hide.js"] += "" if is_right else " "
    fresh = page.context.new_page()
    fresh.route("**/*", lambda route: route.fulfill(body=html, content_type="text/html"))
    fresh.route(
        "**/*.js",
        lambda route: route.fulfill(body=files[route.request.url.rpartition("/")[2]], content_type="text/javascript"),
    )
    fresh.goto("http://module.test/")
    assert fresh.title() in ({"no", "yes"} if is_right else {""})
    fresh.close()
