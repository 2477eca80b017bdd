"""What every explorer has, whoever wrote it: a fixed repr, a still picture, plain code, numbers refused with
a reason.
"""

import base64
import html
import io
import json
import math
import re
import runpy
import sys
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import pytest
import traitlets
from PIL import Image

from tests.slowly import slowly
from toolkit import Approx, Ledger, show
from toolkit.show import canvas
from toolkit.show.widgets.explorer import STATIC, BoundedFloat, BoundedInt, Explorer, TextChoice, browser_code
from toolkit.teaching import explorers
from toolkit.teaching.explorers.design_explorer import DesignExplorer

LEDGER = Ledger(Approx(1, 1e-5), neighbors="replace")
for number in range(12):
    LEDGER.charge(Approx(0.02, 1e-7), f"count of faculty {number}")

EXPLORERS = {
    "design": explorers.design,
    "budget": explorers.budget,
    "many answers": partial(explorers.budget, 0.5, questions=10, years=10),
    "tradeoff": explorers.tradeoff,
    "mechanism": explorers.mechanism,
    "gaussian mechanism": partial(explorers.mechanism, "analytic", epsilon=0.1, sensitivity=100.0),
    "ledger": partial(show.show_ledger, LEDGER),
    "composition": explorers.composition,
    "reconstruction": explorers.reconstruction,
    "outlier": explorers.outlier,
    "one millionaire": partial(explorers.outlier, 1000.0, epsilon=0.25),
    "ten years of weeks": partial(explorers.weeks, 520, epsilon=0.1),
    "few people, no penalty": partial(explorers.learning, 250, epsilon=0.1, strength=10.0),
    "exact sums": partial(explorers.reconstruction, 1600, noise=0.0),
}
AGAIN = {"many answers", "gaussian mechanism", "one millionaire", "exact sums"}  # other settings of widgets above
FOLDERS = (STATIC, Path(explorers.__file__).parent / "static")
DESIGN_CODE = FOLDERS[1] / "design_explorer.js"
# The answer card's own tests ask for more.
SCRIPTS = sorted(path for folder in FOLDERS for path in folder.glob("*.js") if path.name != "answer_card.js")


class Small(Explorer):
    share = BoundedFloat(0, 1, "it is a share", strict=True)
    size = BoundedFloat(0.1, 2.0, "nothing else is drawn")
    people = BoundedInt(2, 50)
    way = TextChoice("one", "other")


def pytest_generate_tests(metafunc):
    if "make" in metafunc.fixturenames:
        slow = EXPLORERS["tradeoff"], EXPLORERS["mechanism"]
        metafunc.parametrize("make", slowly(EXPLORERS.values(), slow), ids=EXPLORERS)


@pytest.mark.slow
def test_widgets_with_the_same_setting_have_the_same_repr_and_content(make):
    """The content includes the table, the row and the sentences that go to the browser."""
    one, other = make(), make()
    assert repr(one) == repr(other)
    assert re.fullmatch(r"<[A-Z]\w+: [^<>\n]+>", repr(one))
    assert (one.table, one.row, one.describe()) == (other.table, other.row, other.describe())
    assert len(str(one.table)) + len(str(one.row)) < 400_000  # what goes to the browser is small


@cache
def drawn(make):
    """A widget and the figure of it: drawn once, for two tests."""
    widget = make()
    return widget, widget.picture()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EXPLORERS if name not in AGAIN])
def test_the_mime_bundle_holds_the_live_widget_a_picture_and_the_words(name, monkeypatch):
    """Of one widget in dots, which take half a second; the figures of all are drawn below."""
    widget, figure = drawn(EXPLORERS[name])
    monkeypatch.setattr(type(widget), "picture", lambda _: figure)
    if name != "design":
        monkeypatch.setattr(canvas, "png", lambda one: b"dots" if one is figure else b"")
    data, metadata = widget._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html", "image/png", "application/vnd.jupyter.widget-view+json"}
    assert data["text/plain"] == repr(widget)
    words = html.unescape(re.match(r'<img alt="([^"]+)"', data["text/html"])[1])
    assert [said for said in widget.describe().values() if said not in words] == []
    bits = base64.b64decode(data["image/png"])
    if name != "design":
        assert bits == b"dots"
        return
    image = Image.open(io.BytesIO(bits))
    assert image.width == pytest.approx(2 * metadata["image/png"]["width"], abs=2)


@pytest.mark.slow
def test_the_picture_shows_every_sentence_without_overlaps(make):
    """No text of the still picture leaves the page or overlaps another one."""
    widget, figure = drawn(make)
    words = "".join("".join(text.get_text().split()) for ax in figure.axes for text in ax.texts)
    assert [said for said in widget.describe().values() if "".join(said.split()) not in words] == []
    figure.draw_without_rendering()
    page = figure.bbox
    boxes = [(text.get_text(), text.get_window_extent()) for ax in figure.axes for text in ax.texts if text.get_text()]
    assert [said for said, box in boxes if box.x1 > page.x1 + 1 or box.y0 < page.y0 - 1 or box.y1 > page.y1 + 1] == []
    assert [(a, b) for i, (a, one) in enumerate(boxes) for b, two in boxes[i + 1 :] if one.overlaps(two)] == []


def test_the_browser_code_is_the_widgets_own_file_after_what_it_imports():
    assert DesignExplorer._esm == browser_code(DESIGN_CODE)
    files = [
        (STATIC / name).read_text(encoding="utf-8")
        for name in ("elements.js", "guess.js", "tools.js", "kit.js", "pictures.js", DESIGN_CODE)
    ]
    plain = "\n".join(re.sub(r"^import .*\n", "", file, flags=re.MULTILINE) for file in files)
    assert browser_code(DESIGN_CODE) == plain
    styles = [(STATIC / name).read_text(encoding="utf-8") for name in ("theme.css", "kit.css")]
    assert DesignExplorer._css == "\n".join(styles)


@pytest.mark.parametrize("name", SCRIPTS, ids=lambda path: path.name)
def test_the_browser_code_has_no_randomness_and_no_formula(name):
    """The code is plain and contains no formula of a design."""
    code = name.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    code = re.sub(r'^import .* from "[a-z./]+.js";$', "", code, flags=re.MULTILINE)
    forbidden = ("import ", "Math.random", "Math.exp", "fetch(", "http:", "innerHTML")
    assert [word for word in forbidden if word in code] == []


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"share": 0.0}, "`share` must lie strictly between 0 and 1, got 0.0: it is a share"),
        ({"share": 1.0}, "`share` must lie strictly between 0 and 1"),
        ({"size": 0.09}, "`size` must lie between 0.1 and 2.0, got 0.09: nothing else is drawn"),
        ({"size": math.inf}, "`size` must be a finite number"),
        ({"people": 1}, "`people` must be at least 2"),
        ({"people": 51}, "`people` must be at most 50, got 51"),
        ({"way": "third"}, "`way` must be one of one, other, got 'third'"),
    ],
)
def test_a_setting_out_of_bounds_is_refused_with_a_reason(setting, message):
    with pytest.raises(ValueError, match=message):
        Small(**setting)


GRIDS = [
    ("budget_explorer", "PRIORS", 0.01, 0.99),
    ("design_explorer", "EPSILONS", 0.1, 5.0),
    ("design_explorer", "PREVALENCES", 0.01, 0.95),
    ("design_explorer", "SIZES", 50, 100_000),
    ("mechanism_explorer", "_NOISE", -6, 11),
    ("tradeoff_explorer", "EPSILONS", 0.1, 5.0),
    ("tradeoff_explorer", "SIZES", 100, 100_000),
]


@pytest.mark.parametrize(("module", "name", "first", "last"), GRIDS)
def test_the_steps_of_a_slider_rise_from_one_end_to_the_other(module, name, first, last):
    steps = getattr(import_module(f"toolkit.teaching.explorers.{module}"), name)
    assert list(steps) == sorted(set(steps))
    assert (steps[0], steps[-1]) == (first, last)


BOUNDS = [
    ("budget", "epsilon", 0.001, "between 0.01 and 10.0"),
    ("budget", "questions", 0, "at least 1"),
    ("budget", "questions", 51, "at most 50"),
    ("budget", "years", 11, "at most 10"),
    ("budget", "prior", 1.0, "strictly between 0 and 1"),
    ("composition", "releases", 0, "at least 1"),
    ("composition", "releases", 366, "at most 365"),
    ("composition", "epsilon", 0.0, "between 0.01 and 2.0"),
    ("composition", "delta", 0.0, "between 1e-12 and 0.01"),
    ("design", "epsilon", 0.0, "between 0.1 and 5.0, got 0.0"),
    ("design", "epsilon", 11.0, "between 0.1 and 5.0, got 11.0"),
    ("design", "epsilon", math.nan, "a finite number"),
    ("design", "n", 0, "at least 1"),
    ("design", "prevalence", 0.0, "strictly between 0 and 1"),
    ("design", "prevalence", 1.0, "strictly between 0 and 1"),
    ("learning", "people", 100, "at least 250"),
    ("learning", "epsilon", 9.0, "between"),
    ("learning", "strength", 20.0, "between"),
    ("mechanism", "law", "uniform", "one of laplace, analytic, classic"),
    ("mechanism", "epsilon", 0.05, "between 0.1 and 5.0"),
    ("mechanism", "delta", 0.0, "strictly between 0 and 0.1"),
    ("mechanism", "sensitivity", 0.0, "between 0.001"),
    ("mechanism", "level", 1.0, "strictly between 0 and 1"),
    ("outlier", "salary", -1.0, "between"),
    ("outlier", "epsilon", 9.0, "between"),
    ("tradeoff", "epsilon", 0.05, "between 0.1 and 5.0"),
    ("tradeoff", "n", 99, "at least 100"),
    ("tradeoff", "n", 100_001, "at most 100,000"),
    ("tradeoff", "prevalence", 0.17, "one of 0.01, .*, got 0.17: use `plan` for other values"),
    ("tradeoff", "margin", 0.04, "one of 0.01, 0.02, 0.03, 0.05, 0.1, got 0.04"),
    ("weeks", "weeks", 521, "at most 520"),
    ("weeks", "epsilon", 9.0, "between"),
    ("reconstruction", "sums", 0, "at least 1"),
    ("reconstruction", "sums", 1601, "at most 1,600"),
    ("reconstruction", "noise", -1.0, "between 0 and 1600.0"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("maker", "name", "value", "rule"), BOUNDS)
def test_each_explorer_has_its_bounds_at_the_door_and_later(maker, name, value, rule):
    with pytest.raises(ValueError, match=f"`{name}` must (lie|be) {rule}"):
        getattr(explorers, maker)(**{name: value})
    with pytest.raises(ValueError, match=f"`{name}` must (lie|be) {rule}"):
        getattr(explorers, maker)().set_trait(name, value)


@pytest.mark.parametrize("setting", [{"share": "half"}, {"people": 2.5}, {"way": 3}])
def test_a_setting_of_the_wrong_kind_is_refused(setting):
    with pytest.raises(traitlets.TraitError):
        Small(**setting)


def test_ends_that_are_not_strict_are_taken_and_settings_are_synced():
    small = Small(size=2, people=50, share=0.5, way="other")
    assert (small.size, small.people, small.way) == (2.0, 50, "other")
    assert (Small().share, Small().size, Small().people, Small().way) == (0.5, 0.1, 2, "one")
    assert Small(size=0.1).size == 0.1  # a float a little above one tenth, which is meant
    assert {"share", "size", "people", "way", "table", "row"} < set(small.get_state())


GUESSED = {
    "design": "You guessed 3 points; at this setting it is 6.2.",
    "budget": "You guessed 3 of 100; at this setting it is 74.",
    "tradeoff": "You guessed 3 people; at this setting it is 4,310.",
    "mechanism": "You guessed 3 units; at this setting it is 3.00.",
    "composition": "You guessed 3 as total ε; at this setting it is 3.25.",
    "reconstruction": "You guessed 3 of 100; at this setting it is 85.",
    "outlier": "You guessed 3 thousand; at this setting it is 2.82.",
    "weeks": "You guessed 3 records; at this setting it is 19.0.",
    "learning": "You guessed 3 of 100; at this setting it is 84.5.",
}


def test_every_explorer_is_in_the_tables_of_this_file():
    names = set(explorers.__all__)
    assert {getattr(explorers, name) for name in names} <= {getattr(make, "func", make) for make in EXPLORERS.values()}
    assert ({maker for maker, *_ in BOUNDS}, set(GUESSED)) == (names, names)


@pytest.mark.slow
@pytest.mark.parametrize("maker", GUESSED)
def test_a_guess_is_held_against_the_number_that_the_sentences_say(maker):
    widget = getattr(explorers, maker)(guess=True)
    assert (widget.guess, widget.verdict()) == (True, "")
    widget.prediction = 3
    assert widget.verdict() == GUESSED[maker]
    truth = widget.right_answer()[1]
    assert any(re.search(rf"(?<![\d.,]){re.escape(truth)}(?![\d,])", said) for said in widget.describe().values())


@pytest.mark.slow
@pytest.mark.parametrize("maker", GUESSED)
def test_the_code_that_is_copied_makes_the_same_widget(maker):
    widget = getattr(explorers, maker)()
    plain, table = type(widget)(), widget.table
    assert (repr(plain), plain.guess, widget.guess) == (repr(widget), False, False)  # both begin alike
    widget.set_trait(*(("epsilon", 0.75) if widget.has_trait("epsilon") else ("noise", 10.0)))
    assert widget.table is table  # it goes to the browser once
    first, second = widget.code().split("\n")
    assert first == "from toolkit.teaching import explorers"
    assert repr(eval(second, {"explorers": explorers})) == repr(widget)  # noqa: S307 — made a line before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (10, "10"), (100.0, "100"), (0.1235, "0.124"), (1234567.5, "1,234,567.5")]
)
def test_a_guess_is_written_as_it_was_typed(value, text):
    game = explorers.reconstruction()
    game.prediction = value
    assert game.verdict() == f"You guessed {text} of 100; at this setting it is 85."


@pytest.mark.slow
def test_the_code_of_a_widget_reproduces_its_setting():
    """Names in the code are quoted, and a question has the epsilon that the widget showed."""
    assert 'law="laplace"' in explorers.mechanism(epsilon=1.0).code()
    names = {}
    first, second = explorers.design(0.75).code("question").split("\n")
    exec(first, names)  # noqa: S102 — a line of ours
    assert abs(eval(second, names).design.epsilon - 0.75) < 1e-6  # noqa: S307


def test_a_widget_without_a_question_has_no_guess_and_no_code():
    """Asking for a guess is rejected."""
    with pytest.raises(ValueError, match="`guess` must be False for a widget without a question"):
        Small(guess=True)
    assert Small().codes == {} == Small().prompt
    assert Small(prediction=3.0).verdict() == ""


@pytest.mark.slow
def test_the_picture_that_is_saved_is_that_of_the_setting_in_the_browser(monkeypatch):
    widget, sent = explorers.design(), []
    monkeypatch.setattr(widget, "send", lambda content, buffers: sent.append((content, *buffers)))
    widget._send_picture(widget, {"kind": "refresh"}, [])
    widget._send_picture(widget, {"kind": "picture", "setting": {"epsilon": 2.0, "table": {}}}, [])
    ((content, bits),) = sent
    assert content == {"kind": "picture", "name": "design.png"}
    assert bits.startswith(b"\x89PNG")
    assert widget.epsilon == 2.0
    assert widget.table


@pytest.mark.parametrize(
    "name", ["composition_explorer", "learning_explorer", "reconstruction_game", "tradeoff_explorer"]
)
def test_recomputing_a_widget_writes_its_file_in_the_same_form(name, monkeypatch, tmp_path):
    """The new file replaces the saved one byte for byte where nothing changed."""
    explorer = import_module(f"toolkit.teaching.explorers.{name}")
    kept = explorer.FILE.read_text(encoding="utf-8")
    monkeypatch.setattr(explorer, "compute_grid", lambda: json.loads(kept))
    monkeypatch.setattr(explorer, "FILE", tmp_path / "fresh.json")
    monkeypatch.setattr(sys, "argv", ["widgets", name])
    runpy.run_module("toolkit.teaching.explorers", run_name="__main__")
    assert explorer.FILE.read_text(encoding="utf-8") == kept
