"""The explorers of weeks and of learning in a real JupyterLab: what the browser shows is what Python says."""

import pytest
from playwright.sync_api import Page

from tests.browser.explorers import open_notebook, shown
from tests.browser.lab import in_kernel

pytestmark = pytest.mark.browser

CELLS = {"weeks": "explorers.weeks(52, epsilon=1)", "learning": "explorers.learning(2000, epsilon=1, strength=0.3)"}


@pytest.fixture(scope="module")
def notebook(lab, page) -> Page:
    return open_notebook(lab, page, CELLS)


def test_sliders_words_bars_and_what_python_says_agree(notebook):
    widget = shown(notebook, CELLS, "weeks")
    widget.follows_arrow_keys("Weeks", "weeks")
    widget.follows_arrow_keys("Epsilon", "epsilon")
    drawn = widget.element.locator("svg text").all_text_contents()
    assert {"fresh noise", "binary tree", "best tree", "10.2", "19.0", "9.80", "week 52"} <= set(drawn)
    in_kernel(widget.page, "weeks.weeks = 53")  # stands in no table
    assert "each of 53 weeks" in widget.agrees()["errors"]


def test_people_epsilon_and_penalty_move_what_a_classifier_has_right(notebook):
    widget = shown(notebook, CELLS, "learning")
    for label, trait in (("People", "people"), ("Epsilon", "epsilon"), ("C", "strength")):
        widget.follows_arrow_keys(label, trait)
    drawn = widget.element.locator("svg text").all_text_contents()
    assert {"objective", "on the weights", "85.4", "84.5", "right of 100, over ε"} <= set(drawn)
