"""Python and the browser give the same reports for the same random words: 20,000 words for every kind."""

import json
import os

import numpy as np
import pytest

from tests.browser import randomizers
from tests.browser.randomizers import WORD, drawn_in_python, truths
from toolkit import Design, warner
from toolkit.core import randomness
from toolkit.local import numeric
from toolkit.survey.client import asset

pytestmark = pytest.mark.browser

WORDS = np.random.default_rng(20_260_729).integers(0, WORD, size=20_000, dtype=np.uint32)
MODULE = asset("randomizer.js").decode()

LOAD = """async ([module, words, old]) => {
  if (old) delete globalThis.BigInt;   // a phone of 2018 may have none
  globalThis.browser = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
  globalThis.shared = Uint32Array.from(JSON.parse(words));
}"""
DRAWN = """([dataText, truthsText, edges]) => {
  const [data, truths] = [JSON.parse(dataText), JSON.parse(truthsText)];
  const words = Uint32Array.from([...edges, ...shared]);
  const [reports, used] = [[], []];
  let place = 0;
  const next = () => {
    if (place === words.length) throw new RangeError("used up");
    return words[place++];
  };
  try {
    for (;;) {
      reports.push(browser.report(data, truths[used.length % truths.length], next));
      used.push(place);
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return JSON.stringify([reports, used]);
}"""


@pytest.fixture(scope="module")
def blank(page):
    """An empty page with the module and the shared words, in a browser with BigInt."""
    yield from opened(page, old=False)


@pytest.fixture(scope="module")
def old(page):
    """The same in a browser that has never heard of BigInt."""
    yield from opened(page, old=True)


def opened(page, *, old: bool):
    fresh = page.context.new_page()
    fresh.evaluate(LOAD, [MODULE, json.dumps(WORDS.tolist()), old])
    yield fresh
    fresh.close()


def edges(design: Design) -> list[int]:
    """The words at both sides of every edge of every cell."""
    marks = np.cumsum(design.weights, axis=1).ravel()
    near = {int(mark) + side for mark in marks for side in (-1, 0, 1)}
    return sorted(word for word in near | {0, WORD - 1} if 0 <= word < WORD)


def in_browser(page, randomizer, first: list[int]) -> str:
    return page.evaluate(DRAWN, [json.dumps(randomizer._browser_data()), json.dumps(truths(randomizer)), first])


@pytest.mark.parametrize("name", randomizers.designs())
def test_every_design_gives_the_same_reports_for_the_same_words(old, name):
    design = randomizers.designs()[name]
    words = np.concatenate([np.array(edges(design), dtype=np.uint32), WORDS])
    low_digits = words & np.uint32((1 << (design.denominator - 1).bit_length()) - 1)
    kept = np.flatnonzero(low_digits < design.denominator)
    codes = np.resize(truths(design), len(kept))
    draws = zip(codes, low_digits[kept].tolist(), strict=True)
    here = [[design._draw_report(code, lambda _, drawn=drawn: drawn) for code, drawn in draws], (kept + 1).tolist()]
    assert in_browser(old, design, edges(design)) == json.dumps(here, separators=(",", ":"))


@pytest.mark.parametrize("name", randomizers.others())
def test_every_other_kind_gives_the_same_reports_for_the_same_words(old, name):
    randomizer = randomizers.others()[name]
    here = drawn_in_python(randomizer._draw_report, truths(randomizer), WORDS)
    assert in_browser(old, randomizer, []) == json.dumps(here, separators=(",", ":"))


@pytest.mark.parametrize("name", randomizers.long())
def test_big_integers_are_exact_where_the_browser_has_them(blank, name):
    """Integers beyond two to the 53 are exact where the browser has them."""
    randomizer = randomizers.long()[name]
    here = drawn_in_python(randomizer._draw_report, truths(randomizer), WORDS)
    assert in_browser(blank, randomizer, []) == json.dumps(here, separators=(",", ":"))


def test_browsers_without_big_integers_never_round(old):
    """Integers beyond two to the 53 are never rounded by a browser that has none."""
    with pytest.raises(Exception, match="BigInt is not defined"):
        in_browser(old, randomizers.long()["laplace, ln 3"], [])


BELOW = """([bound, size]) => {
  let place = 0;
  const [n, drawn] = [BigInt(bound) > BigInt(2 ** 53) ? BigInt(bound) : Number(bound), []];
  while (drawn.length < size) drawn.push(String(browser.below(n, () => shared[place++])));
  return [drawn, place];
}"""


@pytest.mark.parametrize(
    "bound", [1, 2, 3, 6, 7, 100, 2**16, 2**31, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1, 2**53, 2**53 + 1, 2**64]
)
def test_uniform_integers_are_those_that_python_draws_from_the_same_bytes(blank, monkeypatch, bound):
    """The bytes that Python reads from the operating system, as words for the browser: also the same number of them."""
    stream, read = WORDS.astype("<u4").tobytes(), [0]

    def bytes_in_order(count: int) -> bytes:
        read[0] += count
        return stream[read[0] - count : read[0]]

    monkeypatch.setattr(os, "urandom", bytes_in_order)
    here = [str(randomness.below(bound, 1)[0]) for _ in range(2000)]
    monkeypatch.undo()
    assert blank.evaluate(BELOW, [str(bound), 2000]) == [here, read[0] // 4]


GRIDS = {
    "hours of a week": numeric.one_bit((0, 168), 1.0),
    "a tenth to seven tenths": numeric.piecewise((0.1, 0.7), 1.0),
    "from minus three to a third": numeric.local_laplace((-3, "1/3"), 1.0),
    "21 points, halves between them": numeric.square_wave((0, 20), 1.0, points=21),
    "temperatures": numeric.hybrid((-273.15, 1e6), 1.0),
    "a deck": numeric.additive((0, 20), {-3: 0.5, 3: 0.5}),
}


@pytest.mark.parametrize("name", GRIDS)
def test_numbers_are_rounded_to_the_same_place_of_the_grid(blank, name):
    """20,000 numbers anywhere, and every place of the grid, and the middle between every two."""
    randomizer = GRIDS[name]
    low, high, steps = float(randomizer.low), float(randomizer.high), randomizer.steps
    marks = low + (high - low) * np.arange(2 * min(steps, 4000) + 1) / (2 * min(steps, 4000))
    anywhere = np.random.default_rng(5).uniform(low, high, size=20_000)
    numbers = np.clip(np.concatenate([marks, anywhere, [low, high]]), low, high)
    script = "([data, numbers]) => JSON.stringify(JSON.parse(numbers).map((number) => browser.gridIndex(data, number)))"
    there = blank.evaluate(script, [randomizer._browser_data(), json.dumps(numbers.tolist())])
    assert json.loads(there) == randomizer._grid.nearest_indices(numbers)[0].tolist()


@pytest.mark.parametrize("number", [-0.001, 20.0001, None, "5", True])
def test_a_number_out_of_bounds_is_refused_and_not_pushed_inside(blank, number):
    with pytest.raises(Exception, match="out of bounds"):
        blank.evaluate("([data, number]) => browser.gridIndex(data, number)", [GRIDS["a deck"]._browser_data(), number])


IMPOSSIBLE = """([data, truth]) => {
  let used = 0;
  try { browser.report(data, truth, () => used++); } catch (error) { return [error.message, used]; }
}"""


@pytest.mark.parametrize(
    ("name", "truth", "message"),
    [
        ("warner", 2, "none of the options"),
        ("warner", -1, "none of the options"),
        ("warner", 0.5, "none of the options"),
        ("warner", None, "none of the options"),
        ("warner", "1", "none of the options"),
        ("warner", [1], "none of the options"),
        ("subset of 16", 16, "none of the options"),
        ("unary", 3, "none of the options"),
        ("local hash", 1000, "none of the options"),
        ("random box", [0, 6], "none of the options"),
        ("random box", 1, "a list"),
        ("capped boxes", [0, 1, 2], "more boxes"),
        ("one bit", 65521, "none of the options"),
        ("piecewise", 70_000, "none of the options"),
        ("square wave", 21, "none of the options"),
        ("laplace", -1, "none of the options"),
        ("additive", 21, "none of the options"),
    ],
)
def test_an_impossible_answer_stops_before_anything_is_drawn(blank, name, truth, message):
    randomizer = {**randomizers.others(), "warner": warner(p="2/3")}[name]
    said, used = blank.evaluate(IMPOSSIBLE, [randomizer._browser_data(), truth])
    assert message in said
    assert used == 0


def test_a_tick_that_is_given_twice_counts_once(blank):
    boxes = randomizers.others()["capped boxes"]
    twice, once = (
        blank.evaluate(DRAWN, [json.dumps(boxes._browser_data()), json.dumps([way]), []]) for way in ([3, 3, 1], [1, 3])
    )
    assert twice == once


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("laplace", {"kind": "nonsense"}),
        ("laplace", {"kind": "toString"}),
        ("laplace", {"s": 2**53 + 2}),
        ("laplace", {"s": 2**53 + 2, "t": 2**53 + 4}),
        ("laplace", {"s": 0.5}),
        ("laplace", {"s": "9" * 30, "t": "1"}),
        ("laplace", {"t": None}),
        ("additive", {"cards": [{"start": 2**53, "slope": -1}] * 3}),
        ("additive", {"cards": [{"start": 0, "slope": 2**52}] * 3}),
        ("additive", {"cards": [{"start": 2**53 - 1, "slope": 1}] * 3}),
        ("additive", {"cards": [{"start": 0.5, "slope": 1}] * 3}),
    ],
)
def test_randomizers_that_a_browser_cannot_hold_exactly_are_refused(blank, name, changes):
    said, used = blank.evaluate(IMPOSSIBLE, [{**randomizers.others()[name]._browser_data(), **changes}, 20])
    assert "too large" in said or "unknown randomizer" in said
    assert used == 0


@pytest.mark.parametrize("changes", [{"low": [-(2**53), 1]}, {"high": [20, 2**53]}, {"span": [2**53 + 2, 1]}])
def test_bounds_that_a_browser_cannot_hold_exactly_are_refused(blank, changes):
    with pytest.raises(Exception, match="too large"):
        blank.evaluate("([data]) => browser.gridIndex(data, 0)", [{**GRIDS["a deck"]._browser_data(), **changes}])


def test_a_corrected_answer_meets_the_words_of_the_first_one(blank):
    """One person's draw, told for every answer in turn and again: the same words each time, and no more than needed."""
    script = """([data, truths]) => {
      const kept = [];
      let used = 0;
      const coin = () => browser.remembered(kept, () => shared[used++]);
      const tell = () => truths.map((truth) => browser.report(data, truth, coin()));
      return [tell(), tell(), used];
    }"""
    subset = randomizers.others()["subset of 16"]
    first, second, used = blank.evaluate(script, [subset._browser_data(), truths(subset)])
    apart = [drawn_in_python(subset._draw_report, [code], WORDS[:200]) for code in truths(subset)]
    assert first == second == [reports[0] for reports, _ in apart]
    assert used == max(used[0] for _, used in apart)


def test_the_instruction_of_a_draw_is_the_report_of_every_truth(blank):
    for design in (warner(p="2/3"), randomizers.designs()["custom, zeros inside"]):
        draws = list(range(design.denominator))
        script = "([data, draws]) => draws.map((drawn) => data.weights.map((row) => browser.cell(row, drawn)))"
        there = blank.evaluate(script, [design._browser_data(), draws])
        codes = truths(design)
        assert there == [[design._draw_report(code, lambda _, draw=draw: draw) for code in codes] for draw in draws]
