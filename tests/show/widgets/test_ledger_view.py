import gc

import pytest
from IPython.core.events import EventManager, available_events

from toolkit import Approx, Laplace, Ledger, Pure, show
from toolkit.show.canvas import GREY, new_figure
from toolkit.show.widgets import ledger_view
from toolkit.show.widgets.ledger_view import ledger_table


@pytest.fixture
def ledger():
    kept = Ledger(Pure(1), neighbors="replace")
    kept.charge(Pure(0.25), "mean of age")
    kept.release(Laplace.for_epsilon(0.1), 10, "students", rng=None)
    return kept


class Shell:
    """As much of a notebook as a view looks at."""

    def __init__(self):
        self.events = EventManager(self, available_events)


def test_the_view_says_what_was_spent_and_what_remains(ledger):
    view = show.show_ledger(ledger)
    assert repr(view) == "<LedgerView: spent ε = 0.35 of ε = 1, remaining ε = 0.65; charges: 2>"
    assert {name: text.replace("\u00a0", " ") for name, text in view.describe().items()} == {
        "spent": "Spent ε = 0.35 of ε = 1; ε = 0.65 remains.",
        "next": "That is enough for 6 more like the last one (ε = 0.1).",
        "state": "Charges: 2. Neighbors: one record changes. A charge is never taken back.",
    }
    assert view.table["rows"] == [["1", "mean of age", "0.25"], ["2", "students (Laplace)", "0.1"]]


def test_an_empty_ledger_says_so():
    view = show.show_ledger(Ledger(Pure(1)))
    assert view.describe()["next"] == "Nothing has been charged yet."
    assert "Neighbors: not stated" in view.describe()["state"]
    assert view.table["rows"] == []


def test_a_bar_has_a_segment_a_charge_and_their_sum_is_what_was_spent(ledger):
    (measure,) = ledger_table(ledger)["measures"]
    assert measure["segments"] == [0.25, 0.1]
    assert measure["earlier"] == 0
    assert measure["caption"] == "0.35 of 1 spent"


def test_many_charges_are_shown_by_the_latest_and_the_sum_of_the_earlier():
    ledger = Ledger(Approx(1, 1e-5))
    for i in range(50):
        ledger.charge(Approx(0.01, 1e-8), f"count {i}")
    table = ledger_table(ledger)
    assert (table["count"], table["earlier"], len(table["rows"])) == (50, 42, 8)
    for measure, share in zip(table["measures"], (0.5, 0.05), strict=True):
        assert measure["earlier"] + sum(measure["segments"]) == pytest.approx(share, rel=1e-5)
    assert table["head"] == ["", "for what", "ε", "δ"]


def test_ninety_charges_for_one_thing_are_one_line():
    ledger = Ledger(Pure(1))
    ledger.charge(Pure("1/10"), "mean of age by region (4)")
    for _ in range(90):
        ledger.charge(Pure("1/1000"), "a look")
    ledger.charge(Pure("1/10"), "count by sex (2)")
    table = ledger_table(ledger)
    assert table["rows"] == [
        ["1", "mean of age by region (4)", "0.1"],
        ["2–91", "a look, 90 times", "0.09"],
        ["92", "count by sex (2)", "0.1"],
    ]
    assert (table["count"], table["earlier"], table["measures"][0]["segments"]) == (92, 0, [0.1, 0.09, 0.1])


def test_the_scarcer_measure_decides_how_many_more_fit():
    ledger = Ledger(Approx(1, 1e-5))
    ledger.charge(Approx(0.01, 4e-6))
    assert ledger_table(ledger)["sentences"]["next"].startswith("That is enough for 1 more")


def test_what_remains_pays_exactly_so_many_more(ledger):
    for _ in range(6):
        ledger.charge(Pure(0.1))
    with pytest.raises(ValueError, match="remains"):
        ledger.charge(Pure(0.1))


def test_a_charge_is_seen_after_the_next_cell_and_after_the_button(ledger, monkeypatch):
    shell = Shell()
    monkeypatch.setattr(ledger_view, "get_ipython", lambda: shell)
    view = show.show_ledger(ledger)
    ledger.charge(Pure(0.3), "variance")
    assert view.table["count"] == 2
    shell.events.trigger("post_run_cell", None)
    assert view.table["count"] == 3
    ledger.charge(Pure(0.05), "median")
    view._handle_custom_msg({"kind": "refresh"}, [])
    assert view.table["rows"][-1] == ["4", "median", "0.05"]


def test_a_closed_view_looks_no_more(ledger, monkeypatch):
    shell = Shell()
    monkeypatch.setattr(ledger_view, "get_ipython", lambda: shell)
    view = show.show_ledger(ledger)
    view.close()
    assert shell.events.callbacks["post_run_cell"] == []


@pytest.mark.slow
def test_what_is_no_ledger_is_refused_and_leaves_nothing_to_be_closed():
    """A view that was never whole is closed with the others: an error there would be printed in the notebook."""
    with pytest.raises(TypeError, match="`ledger` must be a Ledger, got list: make one with Ledger"):
        show.show_ledger([1])
    gc.collect()


def test_the_view_cannot_charge(ledger):
    view = show.show_ledger(ledger)
    view._handle_custom_msg({"kind": "charge", "epsilon": 0.1}, [])
    assert len(ledger.entries()) == 2


def test_a_long_label_is_shortened_in_the_picture_of_a_ledger():
    """There is room for 38 letters, and for six fewer where the ledger has two measures."""
    for ceiling, longest in ((Pure(1), 38), (Approx(1, 1e-5), 32)):
        ledger = Ledger(ceiling)
        for label in ("a" * longest, "b" * (longest + 1)):
            ledger.charge(Pure(0.1), label)
        shown = [text.get_text() for ax in show.show_ledger(ledger).picture().axes for text in ax.texts]
        assert {"a" * longest, f"{'b' * longest}…"} <= set(shown)
    ledger_view._draw_charges(ax := new_figure(width=4, height=3).subplots(), ledger_table(ledger))
    assert [text.get_position()[0] for text in ax.texts[-4:]] == pytest.approx([0.05, 0.08, 0.85, 1])


@pytest.mark.parametrize(("charges", "height"), [(1, 2.5), (4, 2.5), (7, 2.98), (8, 3.24)])
def test_the_still_picture_grows_with_its_lines(charges, height):
    ledger = Ledger(Pure(1))
    for number in range(charges):
        ledger.charge(Pure("1/100"), f"count {number}")
    figure = ledger_view._draw_ledger(ledger_table(ledger))
    assert figure.get_size_inches()[1] == pytest.approx(height)
    assert figure.axes[0].get_ylim() == (3.2, -0.7)


def test_the_still_picture_has_a_line_a_charge(ledger):
    shown = [text.get_text() for ax in show.show_ledger(ledger).picture().axes for text in ax.texts]
    assert {"mean of age", "students (Laplace)", "ε: 0.35 of 1 spent"} <= set(shown)
    for charges, earlier, lowest in ((2, 0, 6), (8, 0, 9.5), (10, 2, 9.5)):  # few stand as close as many
        for number in range(len(ledger.entries()), charges):
            ledger.charge(Pure("1/100"), f"count {number}")
        ledger_view._draw_charges(ax := new_figure(width=4, height=3).subplots(), ledger_table(ledger))
        places, last = [row for row in range(charges - earlier + 1) for _ in range(3)], []
        if earlier:
            places, last = [*places, 9], [f"and {earlier} earlier"]
        assert ax.get_ylim() == (lowest, -0.6)
        assert [text.get_position()[0] for text in ax.texts[:3]] == [0.05, 0.08, 1]
        assert [text.get_position()[1] for text in ax.texts] == places
        assert [text.get_text() for text in ax.texts if text.get_color() == GREY] == ["", "for what", "ε", *last]
