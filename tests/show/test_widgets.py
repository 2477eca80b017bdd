import base64
import io
import math
from pathlib import Path

import pytest
import traitlets
from PIL import Image

from toolkit import show, warner
from toolkit.show import widgets
from toolkit.show.table import PREVALENCES

STATIC = Path(widgets.__file__).parent / "static"


@pytest.fixture
def explorer():
    return show.explore_design(epsilon=1.0, n=500, prevalence=0.2)


def test_the_explorer_in_one_call_has_sensible_defaults():
    explorer = show.explore_design()
    assert (explorer.epsilon, explorer.n, explorer.prevalence) == (1.0, 1000, 0.1)
    assert isinstance(explorer, show.DesignExplorer)


def test_the_repr_is_fixed(explorer):
    assert repr(explorer) == "<DesignExplorer: epsilon 1, 500 respondents, prevalence 0.2>"
    assert repr(explorer) == repr(show.explore_design(epsilon=1.0, n=500, prevalence=0.2))


def test_the_mime_bundle_holds_the_live_widget_a_picture_and_the_words(explorer):
    data, metadata = explorer._repr_mimebundle_()
    assert set(data) == {"text/plain", "image/png", "application/vnd.jupyter.widget-view+json"}
    assert data["text/plain"] == repr(explorer)
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert image.width == pytest.approx(2 * metadata["image/png"]["width"], abs=2)


def test_the_table_goes_to_the_browser_once_and_moving_needs_no_new_one(explorer):
    before = explorer.table
    explorer.epsilon, explorer.n, explorer.prevalence = 2.0, 700, 0.3
    assert explorer.table is before
    assert {"epsilon", "n", "prevalence", "table", "row", "limits"} < set(explorer.get_state())


def test_an_epsilon_between_the_steps_of_the_slider_gets_a_row_of_its_own(explorer):
    explorer.epsilon = math.log(4)
    assert explorer.row["epsilon"] == math.log(4)
    assert explorer.row["p"] == pytest.approx(0.8)
    assert "80 report yes" in explorer.describe()["icons"]


def test_a_prevalence_between_the_steps_of_the_slider_gets_a_column_of_its_own(explorer):
    explorer.prevalence = 0.17
    assert explorer.table["prevalences"] == sorted({*PREVALENCES, 0.17})
    assert len(explorer.row["margin"]) == len(explorer.table["prevalences"])
    assert explorer.describe()["belief"].startswith("An observer who guessed 17 %")


def test_the_design_on_the_screen_is_found_again_in_python(explorer):
    explorer.epsilon = 1.35
    assert explorer.design == warner(epsilon=1.35)
    assert explorer.row["p"] == explorer.design.matrix[1, 1]


def test_the_sentences_follow_the_design(explorer):
    margin = 100 * 1.959964 * math.sqrt(explorer.design.variance(0.2, n=500))
    assert f"± {margin:.1f} points. Asking" in explorer.describe()["margin"]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"epsilon": 0.0}, "`epsilon` must lie between 0.1 and 5.0, got 0.0"),
        ({"epsilon": 11.0}, "`epsilon` must lie between 0.1 and 5.0, got 11.0"),
        ({"epsilon": math.nan}, "`epsilon` must be a finite number"),
        ({"n": 0}, "`n` must be at least 1"),
        ({"prevalence": 0.0}, "`prevalence` must lie strictly between 0 and 1"),
        ({"prevalence": 1.0}, "`prevalence` must lie strictly between 0 and 1"),
    ],
)
def test_bad_settings_are_refused_at_the_door_and_later(explorer, setting, message):
    with pytest.raises(ValueError, match=message):
        show.explore_design(**setting)
    with pytest.raises(ValueError, match=message):
        explorer.set_trait(*next(iter(setting.items())))


def test_a_setting_of_the_wrong_kind_is_refused():
    with pytest.raises(traitlets.TraitError):
        show.explore_design(n="many")


def test_the_browser_code_is_plain_and_draws_no_randomness_and_knows_no_formula_of_a_design():
    code = (STATIC / "design_explorer.js").read_text(encoding="utf-8")
    assert [
        word
        for word in ("import ", "Math.random", "Math.exp", "fetch(", "http:", "innerHTML")
        if word in code.replace("http://www.w3.org/2000/svg", "")
    ] == []


def test_the_browser_code_and_its_style_are_files_of_the_package():
    explorer = show.explore_design()
    assert explorer._esm == (STATIC / "design_explorer.js").read_text(encoding="utf-8")
    assert explorer._css == (STATIC / "design_explorer.css").read_text(encoding="utf-8")
