"""An explorer that asks for a guess keeps its answer back, then shows both; what it hands out is Python's."""

import ast
import json

import pytest

from toolkit.teaching import explorers

pytestmark = pytest.mark.browser

WIDGETS = {
    "design": lambda: explorers.design(0.1, n=50, guess=True),  # a margin that leaves the axis
    "budget": lambda: explorers.budget(guess=True),
    "tradeoff": lambda: explorers.tradeoff(guess=True),
    "mechanism": lambda: explorers.mechanism(guess=True),
    "composition": lambda: explorers.composition(guess=True),
    "game": lambda: explorers.reconstruction(guess=True),
    "outlier": lambda: explorers.outlier(guess=True),
    "learning": lambda: explorers.learning(guess=True),
}
GUESS = """async ([module, style, state]) => {   // a model as JupyterLab's; a guess is made, and what can be copied is asked for
  const widget = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
  const [values, sent, listeners] = [JSON.parse(state), [], {}];
  const sheet = document.head.appendChild(document.createElement("style"));
  sheet.textContent = style;
  const el = document.body.appendChild(document.createElement("div"));
  const model = {
    get: (name) => values[name],
    set: (name, value) => { values[name] = value; },
    on: (events, listener) => { listeners[events] = listener; },
    off: () => {},
    send: (content) => sent.push(content),
    save_changes: () => {},
  };
  widget.default.render({ model, el });
  const find = (name) => el.querySelector(`[data-name="${name}"]`);
  const seen = () => [".panels", ".tools", ".verdict"].map((part) => el.querySelector(part).getClientRects().length > 0);
  const [before, box] = [seen(), find("guess-box")];
  find("guess").click();
  const nothing = seen();
  box.value = "1500";
  find("guess").click();
  const [after, verdict] = [seen(), el.querySelector(".verdict").textContent];
  const off = Array.from(el.querySelectorAll("text.beyond"), (text) => text.textContent).filter(Boolean);
  const codes = {};
  for (const kind of Object.keys(values.codes)) {
    find(kind).click();
    codes[kind] = el.querySelector("textarea").value;
  }
  find("picture").click();
  await new Promise((done) => setTimeout(done, 200));
  const heard = values.prediction;
  find("guess-again").click();
  const again = seen();
  el.remove();
  sheet.remove();
  return { before, nothing, after, verdict, codes, sent, heard, again, off };
}"""  # noqa: E501


def _constants(code):
    """The names, and the numbers as numbers: JavaScript writes 1 for 1.0."""
    parts = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant | ast.keyword))
    return [part.value if isinstance(part, ast.Constant) else part.arg for part in parts]


def _plain(widget):
    return {name: value for name, value in widget.get_state().items() if not name.startswith("_")}


@pytest.mark.parametrize("name", WIDGETS)
def test_the_answer_is_kept_back_until_a_guess_is_made_and_both_are_shown(page, name):
    widget = WIDGETS[name]()
    state = json.dumps(_plain(widget), default=str)
    seen = page.evaluate(GUESS, [widget._esm, widget._css, state])
    assert seen["before"] == seen["nothing"] == seen["again"] == [False, False, False]
    assert seen["after"] == [True, True, True]
    assert seen["heard"] == 1500
    widget.prediction = 1500
    assert seen["verdict"] == widget.verdict()
    assert seen["codes"].keys() == widget.codes.keys()
    for kind, code in seen["codes"].items():
        assert _constants(code) == _constants(widget.code(kind))
    (asked,) = seen["sent"]
    assert asked["kind"] == "picture"
    assert asked["setting"].keys() == set(widget.setting_names())
    assert ("↑ off the axis" in seen["off"]) == (name == "design")
