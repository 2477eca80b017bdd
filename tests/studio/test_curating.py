"""Weights and synthetic tables on the curator's page: what is refused, charged, stored and written as code."""

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from toolkit import OTHER, Ledger
from toolkit.curator.synthetic import SyntheticTable
from toolkit.studio.curating import CuratorPage, curator_call
from toolkit.studio.folder import ConflictError, Folder

COLUMNS = {"pay": {"type": "number", "low": 0, "high": 9}, "w": {"type": "number"}, "city": {"options": ["n", "s"]}}
FIXED = {"column": "w", "low": 0, "high": 30, "fixed": True}
MEAN = {"verb": "mean", "column": "pay", "epsilon": "1", "weighted": True}
TABLE = {"verb": "synthesize", "columns": ["city", "sex"], "other": True, "epsilon": "1"}


@pytest.fixture
def page(tmp_path: Path) -> CuratorPage:
    rows = "".join(
        f"{place % 10},{10 + 10 * (place % 2)},{'ns'[place % 2]},{'fm'[place % 3 % 2]}\n" for place in range(900)
    )
    (tmp_path / "t.csv").write_text(f"pay,w,city,sex\n{rows}")
    return CuratorPage(Folder(tmp_path))


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replacement for mbi: synthetic tables are measured, and have two rows."""
    monkeypatch.setattr("toolkit.curator.synthetic.check_extras", lambda *_, **__: None)
    monkeypatch.setattr(SyntheticTable, "frame", pd.DataFrame({"city": ["n", "other"], "sex": ["f", "m"]}))


def plan(page: CuratorPage, statistics: list[Any], weights: Any = FIXED, **columns: Any) -> dict[str, Any]:
    about = {**COLUMNS, "sex": {"options": ["f", "m"]}, **columns}
    session = {"ceiling": "10", "neighbors": "replace", "header": True, "columns": about, "statistics": statistics}
    return page.save("t.csv", page.state("t.csv")["hash"], session | ({} if weights is None else {"weights": weights}))


def cells(page: CuratorPage) -> list[str]:
    file = page.notebook("t.csv", page.state("t.csv")["hash"])["file"]
    book = json.loads((page.folder.root / file).read_text())
    return [cell["source"] for cell in book["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        ({"fixed": False}, "weights calibrated on the data .* depend on other people's rows"),
        ({"fixed": None}, "weights calibrated on the data"),
        ({"fixed": "true"}, "weights calibrated on the data"),
        ({"low": None}, "`weight_bounds` must be given"),
        ({"low": -1}, "must not be negative"),
        ({"high": 0}, "must be below"),
        ({"column": "city"}, "`city` must hold numbers, got text"),
        ({"column": "nothing"}, "must be one of"),
        ({"deff": "0"}, "`deff` must be above 0"),
    ],
)
def test_weights_are_refused_with_the_reason_and_nothing_is_charged(page, weights: Any, reason: str) -> None:
    given = {name: value for name, value in (FIXED | weights).items() if value is not None}
    state = plan(page, [MEAN], given)
    for shown in (state["weights"], state["statistics"][0]):
        with pytest.raises(ValueError, match=reason):
            raise ValueError(shown["problem"])
    for known in (None, ""):
        with pytest.raises(ConflictError):
            page.release("t.csv", 0, known)
    assert not (page.folder.root / "t-budget.db").exists()


def test_a_weighted_statistic_needs_weights_and_an_unweighted_one_ignores_them(page) -> None:
    state = plan(page, [MEAN, {**MEAN, "weighted": False}, {"verb": "median", "column": "pay", "epsilon": "1"}], None)
    assert state["weights"] == {}
    assert "a weighted statistic must have weights, got none" in state["statistics"][0]["problem"]
    without = [one["hash"] for one in state["statistics"][1:]]
    state = plan(page, state["session"]["statistics"])
    assert [one["hash"] for one in state["statistics"][1:]] == without
    assert state["session"]["weights"] == FIXED
    assert "weights" not in plan(page, [], {"column": "", "low": 3})["session"]
    refused = plan(page, [{**MEAN, "verb": "median"}])["statistics"][0]["problem"]
    assert "releases count, histogram, sum and mean" in refused


def test_weighted_releases_estimate_the_population(page) -> None:
    """One person moves the count by at most 30 / 1000, and the weights sum to 13,500."""
    statistics = [
        {"verb": "count", "epsilon": "1000", "weighted": True},
        {"verb": "histogram", "column": "city", "epsilon": "1000", "weighted": True},
        {"verb": "sum", "column": "pay", "epsilon": "1000", "weighted": True},
        {**MEAN, "epsilon": "1000"},
    ]
    state = plan(page, statistics)
    page.save("t.csv", state["hash"], {**state["session"], "ceiling": "5000"})
    for place in range(4):
        state = page.release("t.csv", place, page.state("t.csv")["statistics"][place]["hash"])
    people, cities, total, mean = ([float(row[1]) for row in one["rows"]] for one in state["statistics"])
    rows = pd.read_csv(page.folder.root / "t.csv")
    assert people == pytest.approx([rows["w"].sum()], abs=30)
    assert cities == pytest.approx(rows.groupby("city")["w"].sum().tolist(), abs=30)
    assert total == pytest.approx([(rows["w"] * rows["pay"]).sum()], abs=400)
    assert mean == pytest.approx([(rows["w"] * rows["pay"]).sum() / rows["w"].sum()], abs=0.05)
    assert state["ledger"]["spent"] == 4000
    document = json.loads((page.folder.root / "t-release-04.json").read_text())
    assert document["query"]["weights"] == "w, clipped to 0 to 30; each depends on its own row alone"


@pytest.mark.parametrize("change", [{"high": 31}, {"deff": "1.5"}, {"column": "pay"}])
def test_other_weights_are_another_release(page, change: dict[str, Any]) -> None:
    shown = plan(page, [MEAN])["statistics"][0]["hash"]
    plan(page, [MEAN], FIXED | change)
    with pytest.raises(ConflictError):
        page.release("t.csv", 0, shown)
    assert not (page.folder.root / "t-budget.db").exists()


@pytest.mark.usefixtures("library")
def test_a_synthetic_table_is_charged_once_and_its_rows_are_written(page) -> None:
    state = plan(page, [TABLE])
    (shown,) = state["statistics"]
    assert "'city': ['n', 's', OTHER], 'sex': ['f', 'm', OTHER]" in shown["code"]
    assert (shown["price"], shown["sd"] > 0) == ("ε = 1", True)
    state = page.release("t.csv", 0, shown["hash"])
    (released,) = state["statistics"]
    assert released["measured"] == ["city", "sex", "city × sex"]
    assert released["columns"] == ["city", "sex", "estimate", "se", "low", "high"]
    assert len(released["rows"]) == 3 + 3 + 9
    assert state["ledger"]["spent"] == 1
    for known in (None, "", shown["hash"]):
        with pytest.raises(ConflictError):
            page.release("t.csv", 0, known)
    made = page.rows("t.csv", "t-release-01")
    assert made == {"file": "t-release-01-rows.csv", "text": "city,sex\nn,f\nother,m\n"}
    assert CuratorPage(page.folder).rows("t.csv", "t-release-01") == made, "after a restart of the studio"
    for other in ("t-release-02", "t", "../t-release-01", "", None):
        with pytest.raises(ValueError, match="must be the name of a released synthetic table"):
            page.rows("t.csv", other)
    numbers = [*csv.reader((page.folder.root / "t-release-01.csv").read_text().splitlines())]
    assert numbers == [released["columns"], *released["rows"]]


@pytest.mark.usefixtures("library")
def test_rows_that_cannot_be_written_are_written_later(page, monkeypatch) -> None:
    def fails(_: object) -> None:
        raise OSError(28, "No space left on device")

    shown = plan(page, [TABLE])["statistics"][0]["hash"]
    with monkeypatch.context() as patch:
        patch.setattr(SyntheticTable, "frame", property(fails))
        state = page.release("t.csv", 0, shown)
    assert "No space left" in state["unpublished"]
    assert (state["statistics"][0]["published"], state["ledger"]["spent"]) == (False, 1)
    assert page.publish("t.csv", "t-release-01")["statistics"][0]["published"] is True
    assert page.rows("t.csv", "t-release-01")["text"].startswith("city,sex")


def test_a_synthetic_table_without_its_extra_names_it_before_any_charge(page, monkeypatch) -> None:
    monkeypatch.setattr("toolkit.core.extras.find_spec", lambda name: None if name == "mbi" else name)
    (shown,) = plan(page, [TABLE])["statistics"]
    assert "pip install 'privacy-survey-toolkit[synthetic]'" in shown["problem"]


@pytest.mark.usefixtures("library")
def test_wrong_columns_of_a_synthetic_table_are_refused(page) -> None:
    for columns, reason in (
        (None, "a synthetic table must have a list of columns"),
        ("city", "a synthetic table must have a list of columns"),
        ([3], "a synthetic table must have a list of columns"),
        (["city"], "must have at least two columns"),
        (["city", "pay"], "`pay` must have categories"),
        (["city", "nothing"], "`nothing` must have categories"),
    ):
        (shown,) = plan(page, [{**TABLE, "columns": columns} if columns else {**TABLE, "columns": 3}])["statistics"]
        assert reason in shown["problem"]
    settings = {"city": {"options": ["n"], "type": "text"}, "sex": {"options": ["f"], "type": "text"}}
    names, keywords, code = curator_call({**TABLE, "other": False}, settings)
    assert (names, keywords) == ([{"city": ["n"], "sex": ["f"]}], {"epsilon": "1"})
    assert curator_call(TABLE, settings)[0] == [{"city": ["n", OTHER], "sex": ["f", OTHER]}]
    assert code == "{'city': ['n'], 'sex': ['f']}, epsilon='1'"


@pytest.mark.usefixtures("library")
def test_the_notebook_contains_all_calls_and_runs(page, monkeypatch) -> None:
    """Previews charge nothing; without its `#`, each release is charged as on the page."""
    plan(page, [MEAN, TABLE, {**MEAN, "weighted": False}], FIXED | {"deff": "1.4"})
    for place in range(3):
        page.release("t.csv", place, page.state("t.csv")["statistics"][place]["hash"])
    code = cells(page)
    settings = "weights='w', weight_bounds=(0, 30), weights_are_fixed=True, deff='1.4'"
    assert f"weighted = Curator(table, ledger, neighbors='replace', {settings})" in code[0]
    assert [line.partition("(")[0] for line in code[1:-1]] == [
        "weighted.preview.mean", "curator.preview.synthesize", "curator.preview.mean",
        "# weighted.mean", "# curator.synthesize", "# curator.mean",
    ]  # fmt: skip
    monkeypatch.chdir(page.folder.root)
    names: dict[str, Any] = {}
    for source in code:
        exec(source, names)  # noqa: S102  our own notebook
    assert names["ledger"].spent.epsilon == 3
    for source in code[4:7]:
        exec(source.removeprefix("# "), names)  # noqa: S102
    assert Ledger.open("t-budget.db").spent.epsilon == 6
