"""What people see of a ledger: its text, its HTML and its frame."""

import pytest

from tests.budget.spending import Counter, Opener
from toolkit.budget.ledger import Ledger
from toolkit.core.loss import Approx, Loss, Pure, Zcdp


def test_repr_says_spent_ceiling_and_what_remains(opener: Opener) -> None:
    ledger = opener(Approx(1, 1e-6), neighbors="replace")
    ledger.charge(Approx(0.25, 1e-7))
    assert repr(ledger).startswith(
        "<Ledger: spent ε = 0.25, δ = 1e-07 of ε = 1, δ = 1e-06, remaining ε = 0.75, δ = 9e-07; 1 charge; "
        "neighbors: replace; unit not said; "
    )
    ledger.charge(Approx(0.25, 1e-7), unit="row")
    assert "; 2 charges; neighbors: replace; unit: row; " in repr(ledger)
    assert "; 0 charges; neighbors not said; unit: person; " in repr(Ledger(Pure(1), unit="person"))


def test_html_escapes_labels_and_draws_one_bar_for_each_measure() -> None:
    ledger = Ledger(Approx(1, 1e-6))
    ledger.charge(Approx(0.25, 5e-7), "<script>alert('x')</script>")
    page = ledger._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;alert(&#x27;x&#x27;)" in page
    assert page.count("width:25.000%") == page.count("width:50.000%") == 1


def test_html_of_a_long_record_is_short() -> None:
    ledger = Ledger(Pure(1))
    for number in range(100):
        ledger.charge(Pure(0.01), f"question {number}")
        page = ledger._repr_html_() if number in (11, 12, 19, 20, 99) else ""
        assert ("others: ε" in page) == (number in (12, 19, 20, 99))
        assert (" earlier</td>" in page) == (number in (20, 99))
    assert "80 earlier" in page
    assert "others: ε = 0.88" in page
    assert len(page) < 10_000
    assert Ledger(Pure(0))._repr_html_()


@pytest.mark.parametrize(
    ("ceiling", "columns"), [(Pure(1), ["epsilon"]), (Approx(1, 1e-3), ["epsilon", "delta"]), (Zcdp(1), ["rho"])]
)
def test_frame_has_one_row_a_charge(ceiling: Loss, columns: list[str], opener: Opener) -> None:
    ledger = opener(ceiling)
    assert list(ledger.to_frame().columns) == [
        "label",
        "mechanism",
        "unit",
        "loss",
        *columns,
        *(f"total {name}" for name in columns),
    ]
    ledger.charge(Pure(0.5), "a")
    ledger.release(Counter(Pure(0.5)), 1, "b")
    frame = ledger.to_frame()
    assert list(frame.index) == [1, 2]
    assert list(frame["label"]) == ["a", "b"]
    assert list(frame["mechanism"]) == ["", "Counter"]
    charge = 0.125 if columns == ["rho"] else 0.5
    assert list(frame[columns[0]]) == [charge, charge]
    assert list(frame[f"total {columns[0]}"]) == [charge, 2 * charge]
