"""The outlier explorer in a real JupyterLab: what the browser shows is what Python says."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorers import Shown, open_notebook, shown
from tests.browser.lab import in_kernel

pytestmark = pytest.mark.browser

CELLS = {"outlier": "explorers.outlier(30, epsilon=1)"}


@pytest.fixture(scope="module")
def notebook(lab, page) -> Page:
    return open_notebook(lab, page, CELLS)


@pytest.fixture
def widget(notebook) -> Shown:
    return shown(notebook, CELLS, "outlier")


@pytest.mark.parametrize(("label", "trait"), [("One salary", "salary"), ("Epsilon", "epsilon")])
def test_arrow_keys_move_a_slider_and_the_words_follow_at_once(widget, label, trait):
    widget.follows_arrow_keys(label, trait)


def test_a_salary_that_stands_in_no_table_is_computed_when_it_is_typed(widget):
    box = widget.element.get_by_role("spinbutton", name="One salary in thousands, exactly")
    box.fill("333")
    box.press("Enter")
    expect(widget.element.locator("p[data-name=values]")).to_contain_text("One of 501 people earns 333 thousand")
    widget.agrees()
    in_kernel(widget.page, "outlier.salary = 30")
    widget.agrees()


def test_each_statistic_and_its_noise_has_a_bar_with_its_number(widget):
    widget.agrees()
    row = widget.in_python("row")
    drawn = widget.element.locator("svg text").all_text_contents()
    for name in ("mean", "trimmed mean", "Huber location", "median"):
        assert drawn.count(name) == 2
    assert f"{row['values'][3]:.1f}" in drawn
    assert f"{row['noise'][0]:.2f}" in drawn
