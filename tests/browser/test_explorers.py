"""Every explorer in one notebook of a real JupyterLab: by keyboard and by mouse, the words on the screen are Python's.

What Python says is held against the toolkit in `tests/show`; here, what the browser shows is held against Python.
"""

import json

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorers import Shown, open_notebook, shown
from tests.browser.lab import in_kernel
from toolkit.teaching import explorers
from toolkit.teaching.explorers import budget_explorer, mechanism_explorer, tradeoff_explorer
from toolkit.teaching.explorers.budget_explorer import BudgetExplorer
from toolkit.teaching.explorers.mechanism_explorer import MechanismExplorer
from toolkit.teaching.explorers.tradeoff_explorer import TradeoffExplorer

pytestmark = pytest.mark.browser

CELLS = {
    "design": "explorers.design()",
    "budget": "explorers.budget(0.5, questions=3, years=2)",
    "tradeoff": "explorers.tradeoff()",
    "mechanism": "explorers.mechanism()",
    "ledger": "show.show_ledger(account)",
}
SLIDERS = {
    "design": {"Epsilon": "epsilon", "Respondents": "n", "Guess of yes": "prevalence"},
    "budget": {"Epsilon": "epsilon", "Questions": "questions", "Years": "years", "Believed before": "prior"},
    "tradeoff": {"Epsilon": "epsilon", "Respondents": "n", "Guess of yes": "prevalence"},
    "mechanism": {"Epsilon": "epsilon", "Sensitivity": "sensitivity"},
}
EACH_SLIDER = [(widget, label, trait) for widget, sliders in SLIDERS.items() for label, trait in sliders.items()]
EACH_WIDGET = list(SLIDERS)


@pytest.fixture(scope="module")
def notebook(lab, page) -> Page:
    """A notebook with every explorer, run."""
    account = "from toolkit import Approx, Ledger, Pure\naccount = Ledger(Approx(1, 1e-5), neighbors='replace')"
    return open_notebook(lab, page, CELLS, account)


@pytest.fixture
def widget(notebook, request) -> Shown:
    return shown(notebook, CELLS, request.param)


@pytest.mark.parametrize(("widget", "label", "trait"), EACH_SLIDER, indirect=["widget"])
def test_arrow_keys_move_a_slider_and_the_words_follow(widget, label, trait):
    widget.follows_arrow_keys(label, trait)


@pytest.mark.parametrize("widget", EACH_WIDGET, indirect=True)
def test_dragging_redraws_without_the_kernel_which_hears_of_it_at_the_end(widget):
    before, value = widget.agrees(), widget.in_python("epsilon")
    place = widget.slider("Epsilon").bounding_box()
    height = place["y"] + place["height"] / 2
    widget.page.mouse.move(place["x"] + 0.3 * place["width"], height)
    widget.page.mouse.down()
    widget.page.mouse.move(place["x"] + 0.8 * place["width"], height, steps=4)
    on_the_way = widget.words()
    assert on_the_way != before
    assert widget.in_python("epsilon") == value
    widget.page.mouse.up()
    assert widget.agrees() == on_the_way
    assert widget.in_python("epsilon") != value
    in_kernel(widget.page, f"{widget.name}.epsilon = {value}")
    assert widget.agrees() == before


ECHO = """async ([module, state]) => {   // a model as JupyterLab's, whose echo of the first key comes after the second one
  const widget = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
  const [values, sent, el] = [JSON.parse(state), [], document.body.appendChild(document.createElement("div"))];
  let heard;
  const model = {
    get: (name) => values[name],
    set: (name, value) => { values[name] = value; heard(); },
    on: (_, listener) => (heard = listener),
    off: () => {},
    save_changes: () => sent.push(values.epsilon),
  };
  widget.default.render({ model, el });
  const slider = el.querySelector("input[type=range][data-name=epsilon]");
  const words = () => Array.from(el.querySelectorAll("p[data-name]"), (line) => line.textContent).join(" ");
  const key = () => {
    slider.stepUp();
    slider.dispatchEvent(new Event("input"));
    slider.dispatchEvent(new Event("change"));
    return words();
  };
  const started = words();
  const first = key();
  await new Promise((done) => setTimeout(done, 200));
  const told = values.epsilon;
  const second = key();
  values.epsilon = told;
  heard();
  const after = words();
  await new Promise((done) => setTimeout(done, 200));
  const last = words();
  el.remove();
  return { words: [started, first, second], after, last, sent, told };
}"""  # noqa: E501


@pytest.mark.parametrize("name", EACH_WIDGET)
def test_a_late_echo_does_not_undo_a_newer_move(page, name):
    """JupyterLab sends back what it was sent. On a slow machine that comes between two keys, and the slider
    once jumped back.
    """
    explorer = eval(CELLS[name], {"explorers": explorers})  # noqa: S307 — the cells of this file
    state = {trait: explorer.get_state()[trait] for trait in explorer.get_state() if not trait.startswith("_")}
    seen = page.evaluate(ECHO, [explorer._esm, json.dumps(state, default=str)])
    assert len(set(seen["words"])) == 3
    assert seen["after"] == seen["last"] == seen["words"][2]
    assert len(seen["sent"]) == 2
    assert state["epsilon"] < seen["sent"][0] == seen["told"] < seen["sent"][1]


@pytest.mark.parametrize("widget", EACH_WIDGET, indirect=True)
def test_an_epsilon_that_is_typed_is_taken_exactly(widget):
    value = widget.in_python("epsilon")
    box = widget.element.get_by_label("Epsilon, exactly")
    box.fill("0.7654")
    box.press("Enter")
    widget.agrees()
    expect(box).to_have_value("0.7654")
    assert widget.in_python("epsilon") == 0.7654
    in_kernel(widget.page, f"{widget.name}.epsilon = {value}")
    widget.agrees()


@pytest.mark.parametrize("widget", EACH_WIDGET, indirect=True)
def test_nothing_moves_while_a_slider_does(widget):
    value, slider, sizes, widths = widget.in_python("epsilon"), widget.slider("Epsilon"), set(), set()
    for key in ("Home", "End", "PageDown", "PageUp"):
        slider.press(key)
        box = widget.element.bounding_box()
        sizes.add(box["height"])
        widths.add((slider.bounding_box()["x"], slider.bounding_box()["width"]))
    assert (len(sizes), len(widths)) == (1, 1)
    widget.agrees()
    in_kernel(widget.page, f"{widget.name}.epsilon = {value}")
    widget.agrees()


@pytest.mark.parametrize("widget", EACH_WIDGET, indirect=True)
def test_every_picture_and_control_has_alternative_text(widget):
    """Every picture and every control has words for those who do not see."""
    assert widget.element.get_attribute("aria-label")
    for picture in widget.element.locator("svg[role=img]").all():
        assert len(picture.get_attribute("aria-label")) > 20
    for control in widget.element.locator("input, button").all():
        assert control.get_attribute("data-lm-suppress-shortcuts") == "true"
        assert control.get_attribute("aria-label") or control.text_content()
    for slider in widget.element.get_by_role("slider").all():
        assert slider.get_attribute("aria-valuetext")


@pytest.mark.parametrize("widget", ["mechanism"], indirect=True)
def test_noise_is_chosen_by_buttons_within_the_proven_range(widget):
    """The noise is chosen by buttons and the classic formula stops where it is proven."""
    in_kernel(widget.page, "mechanism.law, mechanism.epsilon, mechanism.level = 'laplace', 1.0, 0.95")
    before = widget.agrees()
    for law in ("Gaussian", "Gaussian, classic formula"):
        widget.element.get_by_role("button", name=law, exact=True).press("Enter")
        widget.agrees()
        expect(widget.element.get_by_role("button", name=law, exact=True)).to_have_attribute("aria-pressed", "true")
    widget.slider("Epsilon").press("End")
    widget.agrees()
    expect(widget.element.get_by_label("Epsilon, exactly")).to_have_value("1")
    widget.element.get_by_role("button", name="99 %").click()
    assert "With a probability of 99 %" in widget.agrees()["error"]
    in_kernel(widget.page, "mechanism.law, mechanism.epsilon, mechanism.level = 'laplace', 1.0, 0.95")
    assert widget.agrees() == before


@pytest.mark.parametrize("widget", ["tradeoff"], indirect=True)
def test_a_wanted_margin_is_chosen_by_a_button(widget):
    widget.element.get_by_role("button", name="5", exact=True).press("Enter")
    assert widget.agrees()["needed"].startswith("For ±\u00a05 points")
    assert widget.in_python("margin") == 0.05


@pytest.mark.parametrize("widget", ["tradeoff", "mechanism"], indirect=True)
def test_hypothetical_outcomes_play_stop_and_step(widget):
    """Hypothetical outcomes play and stop and step for those who prefer less motion."""
    button, counter = widget.element.locator("button.play"), widget.element.locator(".player .end")
    expect(counter).to_have_text("1 of 40")
    button.click()
    expect(counter).to_have_text("4 of 40")
    button.click()
    stopped = counter.text_content()
    widget.page.wait_for_timeout(700)
    assert counter.text_content() == stopped
    widget.page.emulate_media(reduced_motion="reduce")
    button.press("Enter")
    stepped = counter.text_content()
    widget.page.wait_for_timeout(700)
    assert counter.text_content() == stepped != stopped
    widget.page.emulate_media(reduced_motion="no-preference")


@pytest.mark.parametrize("widget", ["ledger"], indirect=True)
def test_a_charged_ledger_is_updated_after_cell_and_button(widget):
    """A ledger that is charged is shown after the cell and after the button."""
    expect(widget.element.locator("tbody tr")).to_have_count(0)
    in_kernel(widget.page, "_ = account.charge(Pure(0.25), 'mean of age')")
    expect(widget.element.locator("tbody tr")).to_have_count(1)
    assert "Spent ε\u00a0=\u00a00.25" in widget.agrees()["spent"]
    other_process = (
        "from IPython import get_ipython; get_ipython().events.unregister('post_run_cell', ledger._refresh_on_event)"
    )
    in_kernel(widget.page, f"{other_process}; _ = account.charge(Pure(0.5), 'median of age')")
    widget.element.get_by_role("button", name="Look again").press("Enter")
    expect(widget.element.locator("tbody tr")).to_have_count(2)
    assert "Spent ε\u00a0=\u00a00.75" in widget.agrees()["spent"]


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_words_stand_out_from_the_ground_in_both_themes(notebook, theme):
    notebook.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", f"JupyterLab {theme}"
    )
    notebook.wait_for_selector(f'body[data-jp-theme-light="{str(theme == "Light").lower()}"]', state="attached")
    for element in notebook.locator(".toolkit-explorer").all():
        ground, words = (element.evaluate(f"e => getComputedStyle(e).{name}") for name in ("backgroundColor", "color"))
        assert contrast(ground, words) > 7


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2: 4.5 is enough for words, 7 is good."""
    light = sorted((luminance(one), luminance(other)))
    return (light[1] + 0.05) / (light[0] + 0.05)


def luminance(colour: str) -> float:
    parts = [float(part) / 255 for part in colour.partition("(")[2].rstrip(")").split(",")[:3]]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


# ---------------------------------------------------------------- the words of the whole grid, without a
# kernel

MODULE = """async ([module, body, args]) => {
  const address = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
  const kit = await import(address);
  return JSON.stringify(new Function("kit", "args", body)(kit, JSON.parse(args)));
}"""


def in_browser(page: Page, module: str, body: str, args: object) -> object:
    return json.loads(page.evaluate(MODULE, [module, body, json.dumps(args)]))


def test_the_browser_words_every_budget_as_python_does(page):
    table = budget_explorer.budget_table()
    priors = (0.01, 0.1, 0.5, 0.99)
    settings = [
        (e, q, y, p) for e in table["epsilons"] for q in table["questions"][::6] for y in (1, 3, 10) for p in priors
    ]
    body = """return args.settings.map(([e, q, y, p]) =>
      kit.reading(args.table.words, kit.rowFor(args.table, {}, e, q), y, p).sentences)"""
    there = in_browser(page, BudgetExplorer._esm, body, {"table": table, "settings": settings})
    rows = {(e, q): budget_explorer.budget_row(e, q) for e, q, _, _ in settings}
    assert there == [budget_explorer.fill_sentences(table["words"], rows[e, q], y, p) for e, q, y, p in settings]


def test_the_browser_words_every_mechanism_as_python_does(page):
    table = mechanism_explorer.mechanism_table()
    settings = [
        {"law": law, "epsilon": e, "delta": d, "sensitivity": s, "level": level}
        for law in mechanism_explorer.LAWS
        for e in table["epsilons"][::3]
        for d in table["deltas"]
        for s in table["sensitivities"][::2]
        for level in table["levels"][1::2]
    ]
    body = "return args.settings.map((one) => kit.reading(args.table.words, kit.rowFor(args.table, {}, one)))"
    there = in_browser(page, MechanismExplorer._esm, body, {"table": table, "settings": settings})
    rows = [
        mechanism_explorer.mechanism_row(s["law"], s["epsilon"], s["delta"], s["sensitivity"], s["level"])
        for s in settings
    ]
    assert there == [mechanism_explorer.fill_sentences(table["words"], row) for row in rows]


def test_the_browser_words_every_tradeoff_as_python_does(page):
    table = tradeoff_explorer.tradeoff_table()
    settings = [
        {"epsilon": e, "n": n, "prevalence": x, "goal": goal}
        for e in table["epsilons"]
        for n in table["sizes"][::3]
        for x in table["prevalences"][::2]
        for goal in table["goals"][::2]
    ]
    body = "return args.settings.map((one) => kit.reading(args.table.words, kit.rowFor(args.table, {}, one)))"
    there = in_browser(page, TradeoffExplorer._esm, body, {"table": table, "settings": settings})
    rows = (tradeoff_explorer.tradeoff_row(s["epsilon"], s["n"], s["prevalence"], s["goal"]) for s in settings)
    assert there == [tradeoff_explorer.fill_sentences(table["words"], row) for row in rows]
