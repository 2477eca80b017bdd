"""What people see of a ledger: its text, its HTML and its frame."""

from fractions import Fraction
from pathlib import Path

import pytest
import yaml

from tests.budget.spending import Counter, Opener
from toolkit.budget.ledger import Ledger
from toolkit.core.loss import Approx, Loss, Pure, Zcdp


def test_repr_says_spent_ceiling_and_what_remains(opener: Opener) -> None:
    ledger = opener(Approx(1, 1e-6), neighbors="replace")
    ledger.charge(Approx(0.25, 1e-7))
    assert repr(ledger).startswith(
        "<Ledger: spent ε = 0.25, δ = 1e-07 of ε = 1, δ = 1e-06, remaining ε = 0.75, δ = 9e-07; 1 charge; "
        "neighbors: replace; unit not stated; "
    )
    ledger.charge(Approx(0.25, 1e-7), unit="row")
    assert "; 2 charges; neighbors: replace; unit: row; " in repr(ledger)
    assert "; 0 charges; neighbors not stated; unit: person; " in repr(Ledger(Pure(1), unit="person"))


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


# The fields of a record: schema of the Differential Privacy Deployments Registry (OpenDP), version of 2026.
RECORD_FIELDS = {
    "basic": "name data_curators intended_use data_product_type data_product_region description publication_date "
    "data_product_sector",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details privacy_parameters details",
    "deployment_model": "model_name details actors release_type data_source_type access_type",
    "accounting": "post_processing composition",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms justification",
    "administrative": "sources notes registry_authors",
}


def test_a_deployment_record_has_the_fields_of_the_registry(tmp_path: Path) -> None:
    ledger = Ledger(Approx(1, 1e-6), neighbors="replace", unit="person")
    ledger.charge(Approx(Fraction(1, 3), 1e-7), 'counts: "a" # b\\', mechanism="Laplace")
    ledger.charge(Approx(Fraction(1, 3), 1e-7), "Größe — 年龄", mechanism="Gaussian")
    path = ledger.deployment(tmp_path / "deployment.yaml")
    record = yaml.safe_load(path.read_text(encoding="utf-8"))
    sections = record["deployment"]
    assert list(record) == ["url_slug", "status", "tier", "deployment"]
    assert sections.keys() == RECORD_FIELDS.keys()
    assert all(fields.keys() <= set(RECORD_FIELDS[section].split()) for section, fields in sections.items())
    assert sections["dp_variant"]["variant_name"] == "Approximate DP"
    assert sections["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.666667, "delta": 2e-7}
    assert sections["privacy_loss"]["privacy_unit"] == "Person-level"
    assert [line.partition(", ")[0] for line in sections["implementation"]["mechanisms"]] == [
        'counts: "a" # b\\: Laplace',
        "Größe — 年龄: Gaussian",
    ]


@pytest.mark.parametrize(
    ("ceiling", "name", "parameters"),
    [(Pure(1), "Pure DP", {"epsilon": 0.0}), (Zcdp(1), "Zero-concentrated DP", {"rho": 0.0})],
)
def test_a_deployment_record_says_what_is_left_to_fill_in(
    tmp_path: Path, ceiling: Loss, name: str, parameters: dict[str, float]
) -> None:
    sections = yaml.safe_load(Ledger(ceiling).deployment(tmp_path / "d.yaml").read_text())["deployment"]
    assert (sections["dp_variant"]["variant_name"], sections["privacy_loss"]["privacy_parameters"]) == (
        name,
        parameters,
    )
    assert sections["privacy_loss"]["privacy_unit"].startswith("FILL IN: ")
    assert sections["privacy_loss"]["privacy_unit_details"].startswith("FILL IN: ")
    assert all(str(value).lstrip("['").startswith("FILL IN: ") for value in sections["basic"].values())


def test_a_deployment_record_overwrites_nothing_and_is_not_of_a_simulation(tmp_path: Path) -> None:
    path = tmp_path / "d.yaml"
    path.write_text("mine")
    with pytest.raises(ValueError, match=r"`path` must be a new file, got 'd\.yaml', which exists"):
        Ledger(Pure(1)).deployment(path)
    with pytest.raises(ValueError, match="got a simulated one: its releases have no privacy guarantee"):
        Ledger(Pure(1), simulated=True).deployment(tmp_path / "e.yaml")
    assert [file.name for file in tmp_path.iterdir()] == ["d.yaml"]
    assert path.read_text() == "mine"
