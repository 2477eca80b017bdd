"""The reconstruction game and the composition explorer in a real JupyterLab: what the browser shows is what
Python says.
"""

import json

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorers import Shown, open_notebook, shown
from tests.browser.lab import in_kernel
from toolkit.teaching.explorers import composition_explorer
from toolkit.teaching.explorers.composition_explorer import CompositionExplorer
from toolkit.teaching.explorers.reconstruction_game import ReconstructionGame, game_table
from toolkit.teaching.explorers.reconstruction_game import fill_sentences as game_reading

pytestmark = pytest.mark.browser

CELLS = {"game": "explorers.reconstruction(400, noise=3)", "composition": "explorers.composition(52, epsilon=0.1)"}
SLIDERS = [
    ("game", "Sums", "sums"),
    ("game", "Noise on each", "noise"),
    ("composition", "Releases", "releases"),
    ("composition", "ε of each", "epsilon"),
    ("composition", "δ in all", "delta"),
]


@pytest.fixture(scope="module")
def notebook(lab, page) -> Page:
    """A notebook with both widgets, run."""
    return open_notebook(lab, page, CELLS)


@pytest.fixture
def widget(notebook, request) -> Shown:
    return shown(notebook, CELLS, request.param)


@pytest.mark.parametrize(("widget", "label", "trait"), SLIDERS, indirect=["widget"])
def test_arrow_keys_move_a_slider_and_the_words_follow_at_once(widget, label, trait):
    widget.follows_arrow_keys(label, trait)


@pytest.mark.parametrize("widget", ["game"], indirect=True)
def test_the_people_found_out_are_filled_and_other_games_can_be_played(widget):
    found = widget.in_python("row")["right"]
    expect(widget.element.locator("svg.icons g.yes")).to_have_count(found[0].count("1"))
    kinds = widget.element.locator("svg.icons g").evaluate_all(
        "people => people.map(person => person.getAttribute('class'))"
    )
    assert "".join("1" if kind == "yes" else "0" for kind in kinds) == found[0]
    widget.page.emulate_media(reduced_motion="reduce")
    play = widget.element.locator("button.play")
    play.press("Enter")
    expect(widget.element.locator("svg.icons g.yes")).to_have_count(found[1].count("1"))
    expect(widget.element.locator("p[data-name=found]")).to_contain_text(f"has {found[1].count('1')} of 100")
    for _ in found[1:]:
        play.press("Enter")
    expect(widget.element.locator(".player .end")).to_have_text("1 of 5")
    widget.page.emulate_media(reduced_motion="no-preference")
    widget.agrees()


@pytest.mark.parametrize("widget", ["game"], indirect=True)
def test_a_game_that_stands_in_no_table_is_played_when_it_is_typed(widget):
    for label, value in (("Number of sums, exactly", "333"), ("Noise, exactly", "2.5")):
        box = widget.element.get_by_label(label)
        box.fill(value)
        box.press("Enter")
        widget.agrees()
        expect(box).to_have_value(value)
    assert (widget.in_python("sums"), widget.in_python("noise")) == (333, 2.5)
    in_kernel(widget.page, "game.sums, game.noise = 400, 3.0")
    widget.agrees()


@pytest.mark.parametrize("widget", ["composition"], indirect=True)
def test_exact_settings_of_a_composition_can_be_typed(widget):
    for label, value in (
        ("Releases, exactly", "33"),
        ("Epsilon of each, exactly", "0.123"),
        ("Delta, exactly", "0.000003"),
    ):
        box = widget.element.get_by_label(label)
        box.fill(value)
        box.press("Enter")
        widget.agrees()
        expect(box).to_have_value(value)
    assert [widget.in_python(trait) for trait in ("releases", "epsilon", "delta")] == [33, 0.123, 3e-6]
    in_kernel(widget.page, "composition.releases, composition.epsilon, composition.delta = 52, 0.1, 1e-6")
    widget.agrees()


@pytest.mark.parametrize("widget", list(CELLS), indirect=True)
def test_nothing_moves_while_a_slider_does_and_everything_has_words(widget):
    sizes = set()
    slider = widget.element.get_by_role("slider").first
    for key in ("Home", "End", "PageDown"):
        slider.press(key)
        sizes.add(widget.element.bounding_box()["height"])
    assert len(sizes) == 1
    for picture in widget.element.locator("svg[role=img]").all():
        assert len(picture.get_attribute("aria-label")) > 20
    for control in widget.element.locator("input, button").all():
        assert control.get_attribute("data-lm-suppress-shortcuts") == "true"


# ---------------------------------------------------------------- the words of the whole grid, without a
# kernel

READ = """async ([module, body, args]) => {
  const widget = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
  return JSON.stringify(new Function("widget", "args", body)(widget, JSON.parse(args)));
}"""


def in_browser(page: Page, module: str, body: str, args: object) -> object:
    return json.loads(page.evaluate(READ, [module, body, json.dumps(args)]))


def test_the_browser_words_every_game_as_python_does(page):
    table = game_table()
    body = """return args.rows.map((line) => line.map(({ sums, noise }) => {
      const row = widget.rowFor(args, {}, { sums, noise });
      return row.found.map((_, game) => widget.reading(args, row, game).sentences);
    }))"""
    here = [[[game_reading(table, row, game) for game in range(5)] for row in line] for line in table["rows"]]
    assert in_browser(page, ReconstructionGame._esm, body, table) == here


def test_the_browser_words_every_composition_as_python_does(page):
    table = composition_explorer.composition_table()
    settings = [(k, e, d) for k in table["releases"] for e in table["epsilons"] for d in table["deltas"]]
    body = """return args.settings.map(([releases, epsilon, delta]) =>
      widget.reading(args.table.words, widget.rowFor(args.table, {}, { releases, epsilon, delta })).sentences)"""
    rows = (composition_explorer.composition_row(*setting) for setting in settings)
    here = [composition_explorer.fill_sentences(table["words"], row) for row in rows]
    assert in_browser(page, CompositionExplorer._esm, body, {"table": table, "settings": settings}) == here
