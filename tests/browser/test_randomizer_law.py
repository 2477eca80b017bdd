"""The reports that a browser draws with its own random numbers follow the law of the design, whichever the true answer.

The browser's randomness is real, so every run is new. A test fails if its p-value is below 1e-9; there are 28 of them,
so by Pearson's law one run in 35 million fails without cause, and the promised bound of one in a million leaves room
for that law being an approximation (every cell expects at least 80 of the 20,000 reports).
"""

import json
import math
from collections import Counter
from fractions import Fraction

import pytest
from scipy.stats import chi2

from tests.browser import randomizers
from tests.local.channel import law_of
from toolkit import Design
from toolkit.local.numeric.bounded import Hybrid
from toolkit.local.numeric.laplace import LocalLaplace
from toolkit.survey.client import asset

pytestmark = pytest.mark.browser

ALARM = 1e-9
PEOPLE = 20_000
MODULE = asset("randomizer.js").decode()
TALLY = """async ([module, data, truths, people]) => {
  const { report } = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
  const drawn = new Uint32Array(16384);  // many at a time: `words`, which draws one, has a test of its own
  let place = drawn.length;
  const next = () => {
    if (place === drawn.length) place = crypto.getRandomValues(drawn).length - drawn.length;
    return drawn[place++];
  };
  return truths.map((truth) => {
    const tally = {};
    for (let i = 0; i < people; i += 1) {
      const said = JSON.stringify(report(data, truth, next));
      tally[said] = (tally[said] || 0) + 1;
    }
    return tally;
  });
}"""


@pytest.fixture(scope="module")
def blank(page):
    fresh = page.context.new_page()
    yield fresh
    fresh.close()


def law(randomizer, truth) -> dict[str, Fraction | float]:
    """Every report with its probability: a row of the matrix, or all draws enumerated, or a formula where
    they have no end.
    """
    if isinstance(randomizer, Design):
        return {
            str(report): Fraction(int(w), randomizer.denominator) for report, w in enumerate(randomizer.weights[truth])
        }
    if isinstance(randomizer, LocalLaplace):
        ratio = math.exp(-1 / randomizer.scale)
        return {str(truth + z): (1 - ratio) / (1 + ratio) * ratio ** abs(z) for z in range(-60, 61)}
    if isinstance(randomizer, Hybrid):
        share = Fraction(randomizer.turn, 2**16)
        window = {
            str(2 + report): share * p
            for report, p in law_of(lambda draw: randomizer._window.draw_report(truth, draw)).items()
        }
        bit = {
            str(report): (1 - share) * p
            for report, p in law_of(lambda draw: randomizer.bit._draw_report(truth, draw)).items()
        }
        return {**window, **bit}
    return law_of(lambda draw: json.dumps(randomizer._draw_report(truth, draw), separators=(",", ":")))


def p_value(tally: dict[str, int], law: dict[str, Fraction | float]) -> float:
    """Pearson's test; reports that expect fewer than 80 count as one, and one that cannot be is never by chance."""
    if set(tally) - set(law):
        return 0.0
    people = sum(tally.values())
    cells = Counter()
    expected = Counter()
    for report, share in law.items():
        cell = report if people * share >= 80 else "rare"
        cells[cell] += tally.get(report, 0)
        expected[cell] += people * float(share)
    score = sum((cells[cell] - expected[cell]) ** 2 / expected[cell] for cell in expected)
    return float(chi2.sf(score, len(expected) - 1))


def p_values(page, name: str, module: str = MODULE) -> list[float]:
    randomizer, truths = randomizers.laws()[name]
    tallies = page.evaluate(TALLY, [module, randomizer._browser_data(), list(truths), PEOPLE])
    return [p_value(tally, law(randomizer, truth)) for tally, truth in zip(tallies, truths, strict=True)]


@pytest.mark.parametrize("name", randomizers.laws())
def test_reports_drawn_by_the_browser_follow_the_law_of_the_design(blank, name):
    assert min(p_values(blank, name)) > ALARM


FAULTS = {
    "modulo instead of drawing again": ("if (drawn < n) return drawn;", "return drawn % n;", "design yes/no"),
    "a digit too few": ("while (reach < n)", "while (reach * 2 < n)", "design, five options"),
    "one word for two draws": ("whole(next())", "whole((below.last = below.last ? 0 : next()))", "unary"),
    "a cell too wide": ("left >= widths[place]", "left > widths[place]", "design yes/no"),
    "the set holds the answer too often": ("(holds ? 1 : 0), count - 1", "0, count - 1", "subset"),
    "the hash is left out": ("[(value + shift)", "[shift", "local_hash"),
    "lies never": ("(draw(keep + lie) < keep === yes", "((draw(keep + lie), yes)", "random_box"),
    "flips too often": ("< boxes.flip", "<= boxes.flip", "capped_boxes"),
    "the bit is always told": ("(draw(keep + lie) < keep", "(draw(keep + lie) >= 0", "one_bit"),
    "the window stands still": ("return index + quotient", "return quotient", "piecewise"),
    "no turns": ("draw(65536) < both.turn", "true", "hybrid"),
    "the window is not skipped": ("beside : beside + wave.width", "beside : beside + 1", "square_wave"),
    "zero counted twice": ("if (size > 0 || !minus)", "if (true)", "local_laplace"),
    "the other answer's memo": ("memos[own]", "memos[1 - own]", "memo"),
    "no fresh noise": ("return RULES.design(fresh, memos[own], draw)", "return memos[own]", "memo"),
    "one card only": ("reports[cell(", "reports[0 && cell(", "scrambled"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_randomizer_with_a_fault_is_found_out(blank, fault):
    """The same test on a module with one line changed: it must be able to fail, and does so at any draw."""
    line, changed, name = FAULTS[fault]
    assert MODULE.count(line) == 1
    assert min(p_values(blank, name, MODULE.replace(line, changed))) < ALARM


def test_words_come_from_the_generator_for_keys_one_at_a_time(blank):
    """So that whoever pins that generator, a test or a suspicious reader, pins everything."""
    script = """async (module) => {
      const { words } = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
      const [real, seen] = [crypto.getRandomValues, []];
      crypto.getRandomValues = (array) => {
        seen.push([array.constructor.name, array.length]);
        return array.fill(4294967295);
      };
      const next = words();
      const drawn = [next(), next()];
      crypto.getRandomValues = real;
      return [drawn, seen];
    }"""
    assert blank.evaluate(script, MODULE) == [[4294967295] * 2, [["Uint32Array", 1]] * 2]
