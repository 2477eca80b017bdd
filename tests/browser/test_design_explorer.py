"""The design explorer as a reader meets it: in notebook 03, in a real JupyterLab, by keyboard and by mouse."""

import json
import time

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import in_kernel, run_all
from toolkit.teaching import explorers
from toolkit.teaching.explorers.design_explorer import PREVALENCES, DesignExplorer, explorer_table, fill_sentences

pytestmark = pytest.mark.browser

MODULE = DesignExplorer._esm
ALL_READINGS = """async ([module, tableText, sizes]) => {
  const table = JSON.parse(tableText);
  const address = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
  const { reading } = await import(address);
  const said = (row) => table.prevalences.map((x) => sizes.map((n) => reading(table, row, x, n).sentences));
  return JSON.stringify(table.rows.map(said));
}"""


def test_browser_and_python_agree_for_every_epsilon(page):
    """The one piece of arithmetic and all number formats stand twice: held together on the whole grid."""
    table, sizes = explorer_table(PREVALENCES), [50, 12_345]
    there = json.loads(page.evaluate(ALL_READINGS, [MODULE, json.dumps(table), sizes]))
    here = [[[fill_sentences(table, row, x, n) for n in sizes] for x in PREVALENCES] for row in table["rows"]]
    assert there == here


@pytest.fixture(scope="module")
def notebook(lab, page) -> Page:
    """Notebook 03, run from top to bottom, and its guess made: ± 10 points, where it is 8.4."""
    lab.open(page, "notebooks/03_randomized_response.ipynb")
    run_all(page)
    explorer = page.locator(".toolkit-explorer")
    explorer.scroll_into_view_if_needed()
    expect(explorer.locator(".panels")).to_be_hidden()
    explorer.get_by_label("Your guess, points").fill("10")
    explorer.get_by_role("button", name="Show me").click()
    expect(explorer.locator(".verdict")).to_have_text("You guessed 10 points; at this setting it is 8.4.")
    return page


@pytest.fixture
def explorer(notebook) -> Locator:
    """The explorer as the notebook sets it: the professor's die, 1,200 students, a quarter who cheated."""
    found = notebook.locator(".toolkit-explorer")
    agreed(notebook, found)
    in_kernel(notebook, "explorer.epsilon, explorer.n, explorer.prevalence = design.epsilon, 1200, 0.25")
    expect(found.get_by_label("Number of respondents, exactly")).to_have_value("1200")
    expect(found.get_by_role("slider", name="Epsilon")).to_have_attribute("aria-valuetext", "epsilon 0.69")
    return found


def agreed(notebook: Page, explorer: Locator) -> None:
    """Wait until the kernel has heard the browser's last word; else it would arrive after what a test sets in
    the kernel.
    """
    box = explorer.get_by_label("Epsilon, exactly")
    deadline = time.monotonic() + 60
    while round(in_python(notebook, "epsilon"), 4) != float(box.input_value()):
        assert time.monotonic() < deadline, "the kernel has not heard what was set in the browser"
        notebook.wait_for_timeout(20)


def test_the_kernel_hears_of_the_guess(explorer, notebook):
    expect(explorer.locator(".panels")).to_be_visible()
    assert in_python(notebook, "prediction") == 10


def says(explorer: Locator, epsilon: float, n: int = 1200, prevalence: float = 0.25) -> None:
    """Every sentence on the screen is the one that Python computes for this setting."""
    for name, text in explorers.design(epsilon, n=n, prevalence=prevalence).describe().items():
        expect(explorer.locator(f"p[data-name={name}]")).to_have_text(text)


def in_python(notebook: Page, name: str) -> float:
    return float(in_kernel(notebook, f"print(explorer.{name})"))


def step(epsilon: float, steps: int) -> float:
    """The epsilon so many rows further in the table that the slider walks along."""
    rows = [row["epsilon"] for row in explorers.design().table["rows"]]
    return rows[rows.index(epsilon) + steps]


def test_run_all_paints_the_explorer_with_the_numbers_of_the_design(notebook, explorer):
    says(explorer, in_python(notebook, "epsilon"))
    expect(explorer.locator("svg.icons g.yes")).to_have_count(67)
    expect(explorer.locator("svg.icons g.no")).to_have_count(33)


@pytest.mark.walk
def test_arrow_keys_move_epsilon_and_the_numbers_follow(notebook, explorer):
    start = in_python(notebook, "epsilon")
    slider = explorer.get_by_role("slider", name="Epsilon")
    slider.focus()
    for _ in range(6):
        notebook.keyboard.press("ArrowRight")
    says(explorer, step(start, 6))
    expect(slider).to_be_focused()
    for _ in range(9):
        notebook.keyboard.press("ArrowLeft")
    says(explorer, step(start, -3))
    agreed(notebook, explorer)
    assert in_python(notebook, "epsilon") == step(start, -3)


def test_dragging_redraws_without_the_kernel_until_release(notebook, explorer):
    """Dragging redraws without the kernel which hears of it when the mouse is let go."""
    start = in_python(notebook, "epsilon")
    slider = explorer.get_by_role("slider", name="Epsilon")
    place = slider.bounding_box()
    across = [place["x"] + place["width"] * share for share in (0.12, 0.3, 0.6)]
    notebook.mouse.move(across[0], place["y"] + place["height"] / 2)
    notebook.mouse.down()
    for x in across[1:]:
        notebook.mouse.move(x, place["y"] + place["height"] / 2, steps=4)
    rows = explorers.design().table["rows"]
    reached = rows[int(slider.input_value())]["epsilon"]
    assert 2.5 < reached < 3.5
    says(explorer, reached)
    assert in_python(notebook, "epsilon") == start
    notebook.mouse.up()
    says(explorer, reached)
    agreed(notebook, explorer)
    assert in_python(notebook, "epsilon") == reached


def test_a_typed_epsilon_is_taken_exactly(notebook, explorer):
    box = explorer.get_by_label("Epsilon, exactly")
    box.fill("1.2345")
    box.press("Enter")
    says(explorer, 1.2345)
    expect(box).to_have_value("1.2345")
    assert in_kernel(notebook, "print(explorer.design.epsilon <= 1.2345)") == "True"


def test_numbers_are_clamped_and_nonsense_is_ignored(notebook, explorer):
    """Numbers beyond the limits are brought back and nonsense is ignored."""
    box = explorer.get_by_label("Epsilon, exactly")
    box.fill("99")
    box.press("Enter")
    says(explorer, 5.0)
    box.fill("")
    box.press("Enter")
    expect(box).to_have_value("5")
    agreed(notebook, explorer)
    assert in_python(notebook, "epsilon") == 5.0


def test_respondents_prevalence_and_devices_are_set_by_keyboard_alone(notebook, explorer):
    explorer.get_by_label("Number of respondents, exactly").fill("3362")
    notebook.keyboard.press("Tab")
    says(explorer, in_python(notebook, "epsilon"), n=3362)
    explorer.get_by_role("slider", name="Guess of yes").press("ArrowRight")
    explorer.get_by_role("button", name="two coins").focus()
    notebook.keyboard.press("Enter")
    agreed(notebook, explorer)
    says(explorer, in_python(notebook, "epsilon"), n=3362, prevalence=0.3)
    expect(explorer.get_by_role("button", name="two coins")).to_have_attribute("aria-pressed", "true")
    expect(explorer.locator("svg.icons g.yes")).to_have_count(75)


def test_nothing_moves_when_the_numbers_grow(explorer):
    slider = explorer.get_by_role("slider", name="Epsilon")
    sizes = set()
    for key in ("Home", "End", "PageDown", "PageDown"):
        slider.press(key)
        sizes.add(tuple(explorer.bounding_box().values()) + tuple(slider.bounding_box().values()))
    assert len(sizes) == 1


def test_the_focused_control_is_outlined(notebook, explorer):
    slider = explorer.get_by_role("slider", name="Epsilon")
    slider.focus()
    notebook.keyboard.press("ArrowLeft")
    assert slider.evaluate("element => getComputedStyle(element).outlineStyle") == "solid"


def test_the_dark_theme_has_light_words_on_dark_ground(notebook, explorer):
    colour = "element => getComputedStyle(element).{}"
    light = explorer.evaluate(colour.format("backgroundColor"))
    notebook.evaluate("() => window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })")
    notebook.wait_for_selector('body[data-jp-theme-light="false"]', state="attached")
    expect(explorer).not_to_have_css("background-color", light)
    ground, words = (explorer.evaluate(colour.format(name)) for name in ("backgroundColor", "color"))
    assert brightness(ground) < 80 < 180 < brightness(words)


def brightness(colour: str) -> float:
    red, green, blue = (float(part) for part in colour.partition("(")[2].rstrip(")").split(",")[:3])
    return 0.299 * red + 0.587 * green + 0.114 * blue
