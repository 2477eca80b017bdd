"""Synthetic tables: what is measured and charged. The tests of the model and its rows are in `with_mbi.py`."""

import json
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.curator.verbs import REGIONS, SEXES, curator, measured, people
from tests.needs import run_with_packages
from toolkit import MISSING, OTHER, Curator, Ledger, Zcdp, bands
from toolkit.core.estimate import SIMULATED
from toolkit.core.extras import MissingExtraError
from toolkit.curator import synthetic
from toolkit.curator.synthetic import SyntheticTable

COLUMNS: dict[str, Any] = {"region": [*REGIONS, OTHER], "sex": SEXES, "age": bands(18, 40, 90)}


def test_the_counts_are_those_of_columns_and_of_a_tree_of_pairs() -> None:
    """With very little noise, they are the counts of rows that have an option in every column."""
    frame = people()
    found = measured(curator(frame, "replace", Zcdp(10**12)), {**COLUMNS, "pay": [MISSING, OTHER]}, rho=10**10)
    kept = frame[frame["sex"].isin(SEXES) & frame["age"].between(18, 90)]
    coded = pd.DataFrame(
        {
            "region": kept["region"].where(kept["region"].isin(REGIONS), "other"),
            "sex": kept["sex"],
            "age": np.where(kept["age"] < 40, "18 to under 40", "40 to 90"),
            "pay": np.where(kept["pay"].isna(), "missing", "other"),
        }
    )
    assert found.axes == ("region", "sex", "age", "pay")
    assert found.n == 600
    for label, value in zip(found.labels, found.value, strict=True):
        wanted = [coded[name] == key for name, key in zip(found.axes, label, strict=True) if key != "(all)"]
        assert value == np.logical_and.reduce(wanted).sum()
    tables = SyntheticTable(found, {}).measured
    assert tables[:4] == (("region",), ("sex",), ("age",), ("pay",))
    assert len(tables) == 7
    assert len(set().union(*tables[4:])) == 4
    assert [list(table) for table in tables] == found.release.query["tables"]
    text = repr(SyntheticTable(found, {}))
    assert text.startswith("<SyntheticTable: measured with noise: region, sex, age, pay, ")
    assert text.endswith("; all other statistics: model, no interval>")


def test_it_is_one_charge_with_a_document(tmp_path: Path) -> None:
    ledger = Ledger(Zcdp(1))
    keeper = Curator(people(), ledger, "add_remove")
    price = measured(keeper.preview, COLUMNS, rho="1/10")
    assert ledger.entries() == ()
    found = measured(keeper, COLUMNS, rho="1/10")
    assert ledger.spent == found.loss == price.charged == Zcdp("1/10")
    assert ledger.entries()[0].label == price.label == "synthetic table by region (4) × sex (2) × age (2)"
    assert found.se[0] == price.noise.sd == price.se()
    assert price.noise.n_cells == 8
    assert SIMULATED not in found.notes
    assert "no interval" in found.notes[-1]
    document = found.publish(tmp_path / "table").read_text(encoding="utf-8")
    assert "which the exponential mechanism chose edge by edge" in document.replace("\\n", " ")
    assert pickle.loads(pickle.dumps(found)).interval().low[0] == found.interval().low[0]  # noqa: S301


def test_aim_is_one_charge_with_a_document(tmp_path: Path) -> None:
    """The counts of columns are more precise than the preview says if they are measured again."""
    ledger = Ledger(Zcdp(1))
    keeper = Curator(people(), ledger, "add_remove")
    price = measured(keeper.preview, COLUMNS, rho="1/10", method="aim")
    found = measured(keeper, COLUMNS, rho="1/10", method="aim")
    assert ledger.spent == found.loss == price.charged == Zcdp("1/10")
    assert ledger.entries()[0].label == price.label == "synthetic table by region (4) × sex (2) × age (2)"
    assert np.all(found.se[:8] <= price.noise.sd)
    tables = SyntheticTable(found, {}).measured
    assert tables[:3] == (("region",), ("sex",), ("age",))
    assert 3 <= len(tables) <= 6
    assert [list(table) for table in tables] == found.release.query["tables"]
    document = json.loads(found.publish(tmp_path / "table").read_text(encoding="utf-8"))
    assert document["noise"]["rounds"] == "at most 48"
    assert pickle.loads(pickle.dumps(found)).interval().low[0] == found.interval().low[0]  # noqa: S301


def test_aim_needs_rho_and_a_method_has_a_name() -> None:
    keeper = curator(people())
    for subject in (keeper, keeper.preview):
        with pytest.raises(ValueError, match='`rho` must be given for method="aim", got epsilon'):
            measured(subject, COLUMNS, epsilon=1, method="aim")
        with pytest.raises(ValueError, match="`method` must be"):
            measured(subject, COLUMNS, epsilon=1, method="pgm")
    assert keeper.ledger.entries() == ()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["sex"], "`columns` must be a mapping of columns"),
        ({"sex": SEXES}, "must have at least two columns, got 1"),
        ({"sex": SEXES, "age": "18"}, "`columns` must be a list"),
        ({"sex": SEXES, "region": ["north", "north"]}, "must be distinct"),
        ({"sex": SEXES, "region": []}, "must be distinct keys, at least one"),
        ({"sex": SEXES, "region": ["(all)"]}, "a key must not be called"),
        ({"sex": SEXES, "region": ["north", "other", OTHER]}, "region must differ in the synthetic rows"),
        ({"sex": SEXES, "job": ["a"]}, "job"),
        ({"age": range(1500), "id": range(1500)}, "must have at most 1,000,000 cells, got 2,253,000 cells"),
    ],
)
def test_wrong_columns_are_refused_before_any_charge(columns: Any, message: str) -> None:
    keeper = curator(people())
    for subject in (keeper, keeper.preview):
        with pytest.raises((ValueError, TypeError, KeyError), match=message):
            measured(subject, columns, epsilon=1)
    assert keeper.ledger.entries() == ()


def test_a_missing_extra_is_named_before_any_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkit.core.extras.find_spec", {}.get)
    keeper = curator(people())
    with pytest.raises(MissingExtraError, match=r"run pip install 'privacy-survey-toolkit\[synthetic\]'"):
        keeper.synthesize(COLUMNS, epsilon=1)
    assert keeper.ledger.entries() == ()


def test_threads_do_not_restore_the_seeded_state_of_each_other() -> None:
    """A second thread waits until the first has restored NumPy's global generator."""
    before, entered = np.random.get_state()[1].tolist(), threading.Event()  # noqa: NPY002

    def enter() -> None:
        with synthetic._global_seed(2):
            entered.set()

    second = threading.Thread(target=enter)
    with synthetic._global_seed(1):
        second.start()
        assert not entered.wait(0.05)
    second.join()
    assert entered.is_set()
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


@pytest.mark.slow
def test_the_model_fits_with_the_library_installed(tmp_path: Path) -> None:
    """The tests of the model need mbi, which brings JAX, and run in an environment of their own."""
    assert "7 passed" in run_with_packages(tmp_path, Path(__file__).with_name("with_mbi.py"), "mbi>=2.0")
