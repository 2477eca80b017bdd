"""The view of a ledger in a browser: one bar per measure of the budget, and a table of the latest charges."""

import pytest

from tests.browser.test_collector_view import SHOWN
from toolkit import Ledger, Pure, show

pytestmark = pytest.mark.browser


@pytest.fixture
def tab(page):
    """Return a function that shows the view of a ledger with these charges on a page of its own."""
    context = page.context.browser.new_context(viewport={"width": 800, "height": 900})

    def shown(*charges):
        ledger = Ledger(Pure(1))
        for amount, label in charges:
            ledger.charge(Pure(amount), label)
        view = show.show_ledger(ledger)
        tab = context.new_page()
        tab.set_content(f"<style>{view._css}</style>")
        tab.evaluate(SHOWN, [view._esm, view.table])
        return tab

    yield shown
    context.close()


def test_charges_are_rows_of_cells_newest_first(tab):
    table = tab((0.25, "mean of age"), (0.5, "students")).locator("table")
    assert [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()] == [
        ["2", "students", "0.5"],
        ["1", "mean of age", "0.25"],
    ]
    heads = table.locator("thead th")
    assert heads.count() == 3
    assert {head.get_attribute("scope") for head in heads.all()} == {"col"}


def test_the_bar_has_a_segment_per_charge_and_leaves_the_rest_empty(tab):
    page = tab((0.25, "mean of age"), (0.5, "students"))
    frame = page.locator("svg rect.frame")
    shares = [float(part.get_attribute("width")) for part in page.locator("svg g rect").all()]
    whole = float(frame.get_attribute("width"))
    assert [share / whole for share in shares] == pytest.approx([0, 0.25, 0.5])
    assert "0.75" in page.locator("svg[aria-label]").first.get_attribute("aria-label")


def test_earlier_charges_are_counted_in_the_last_row(tab):
    rows = tab(*[(0.01, f"count {number}") for number in range(40)]).locator("tbody tr")
    shown = rows.count() - 1
    assert rows.first.locator("td").all_inner_texts()[1] == "count 39"
    assert rows.last.locator("td").all_inner_texts() == ["", f"and {40 - shown} earlier"]
