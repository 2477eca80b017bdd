"""A table is read by its schema: no cell decides a type, an error or a shape, and no record is shown as a name."""

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toolkit.core.estimate import Estimate
from toolkit.curator.synthetic import SyntheticTable
from toolkit.studio.curating import STATISTICS, CuratorPage
from toolkit.studio.folder import Folder
from toolkit.studio.notebooks import curator_notebook
from toolkit.studio.tables import FileColumn, TableFile

ABOUT = {"age": {"type": "number", "low": 0, "high": 100, "options": [30, 40]}, "city": {"options": ["n", "s"]}}
WEIGHTS = {"column": "age", "low": 0, "high": 50, "fixed": True}
CLEAN = b"age,city\n" + b"30,n\n40,s\n" * 40
CELLS = {
    "words": b"33 years,n\n",
    "empty": b",\n",
    "infinite": b"1e999,n\n",
    "long": b"3" * 5000 + b",n\n",
    "huge": b"x" * 200_000 + b",n\n",
    "comma": b"33,5,n\n",
    "short": b"33\n",
    "quote": b'"33,n\n',
    "bytes": b"\xff\xfe,\xff\n",
    "null": b"\x00,n\n",
    "missing": b"NaN,NA\n",
}


def _plan(
    curating: CuratorPage, verbs: list[dict[str, object]], name: str = "t.csv", **more: object
) -> dict[str, object]:
    session = {"ceiling": "19", "neighbors": "replace", "columns": ABOUT, "statistics": verbs, "header": True, **more}
    return curating.save(name, curating.state(name)["hash"], session)


def _statistics() -> list[dict[str, object]]:
    columns: dict[str, dict[str, object]] = {"count": {"by": "city"}, "histogram": {"column": "city"}}
    columns["synthesize"] = {"columns": ["age", "city"], "other": True}
    plain = [{"verb": verb, "epsilon": "1", **columns.get(verb, {"column": "age"})} for verb in STATISTICS]
    return plain + [{**one, "weighted": True} for one in plain if one["verb"] in ("count", "histogram", "sum", "mean")]


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replacement for mbi: synthetic tables are measured, and have a single row."""
    monkeypatch.setattr("toolkit.curator.synthetic.check_extras", lambda *_, **__: None)
    monkeypatch.setattr(SyntheticTable, "frame", pd.DataFrame({"age": [30], "city": ["n"]}))


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS)
def test_no_cell_decides_an_error_a_price_or_a_shape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str
) -> None:
    monkeypatch.setattr(Estimate, "publish", lambda *_, **__: None)  # pages take most of the time
    shown, released = [], []
    for name, content in (("clean", CLEAN), ("other", CLEAN + CELLS[cell])):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "t.csv").write_bytes(content)
        curating = CuratorPage(Folder(folder))
        state = _plan(curating, _statistics(), weights=WEIGHTS)
        assert len(state["statistics"]) == len(STATISTICS) + 4
        shown.append(json.dumps(state))
        for place in range(len(STATISTICS) + 4):
            state = curating.release("t.csv", place, state["statistics"][place]["hash"])
        released.append([(len(one["rows"]), [row[0] for row in one["rows"]]) for one in state["statistics"]])
        assert state["ledger"]["spent"] == pytest.approx(len(STATISTICS) + 4)
    assert (shown[0], released[0]) == (shown[1], released[1])


def test_a_cell_that_does_not_fit_is_missing_and_its_row_stays(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for cell, content in CELLS.items():
        if cell != "quote":  # which opens a text that never ends
            path.write_bytes(CLEAN + content)
            frame = TableFile(path, True, {"age": "number"}).read()
            assert (len(frame), [str(one) for one in frame.dtypes]) == (81, ["float64", "object"]), cell
            assert frame["age"][:80].tolist() == [30, 40] * 40
            expected = {"short": 33, "infinite": float("inf"), "long": float("inf")}
            assert frame["age"].fillna(-1)[80] == expected.get(cell, -1), cell
    path.write_bytes(b"\xef\xbb\xbfage,city\r\n\r\n 33 ,\r\n1_0,x,,\r\n")
    frame = TableFile(path, True, {"age": "number"}).read()
    assert frame["age"].fillna(-1).tolist() == [33, -1]
    assert frame["city"].tolist() == [None, "x"]


def test_a_first_line_that_is_a_record_is_never_shown(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Secret,77345\nOther,78\n")
    curating = CuratorPage(Folder(tmp_path))
    asked = curating.state("t.csv")
    assert (asked["header"], asked["columns"]) == (None, [])
    wish = [{"verb": "bounds", "column": "column_2", "epsilon": "1"}]
    unanswered = _plan(curating, wish, header=None)
    assert "first line names the columns" in unanswered["statistics"][0]["problem"]
    answered = _plan(curating, wish, header=False, columns={"column_2": {"type": "number"}})
    assert [(one["name"], one["kind"]) for one in answered["columns"]] == [("column_1", "text"), ("column_2", "number")]
    assert "price" in answered["statistics"][0]
    assert not any(cell in json.dumps([asked, unanswered, answered]) for cell in ("Secret", "77345"))
    (tmp_path / "long.csv").write_text(f"{'x' * 200_000},b\nSecret,77345\n")
    assert (
        TableFile(tmp_path / "long.csv", True, {}).columns == []
    )  # names that cannot be read are not those of the next line
    assert len(TableFile(tmp_path / "t.csv", False, {}).read()) == 2
    assert len(TableFile(tmp_path / "t.csv", True, {}).read()) == 1


def test_no_row_is_read_before_something_is_paid_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_bytes(CLEAN)
    pq.write_table(pa.table({"age": [30, None], "city": ["n", "s"]}), tmp_path / "t.parquet")
    monkeypatch.setattr(TableFile, "read", lambda _: pytest.fail("it was read"))
    for name in ("t.csv", "t.parquet"):
        state = _plan(CuratorPage(Folder(tmp_path)), _statistics(), name, weights=WEIGHTS)
        assert ["price" in one for one in state["statistics"]] == [True] * (len(STATISTICS) + 4)
        (tmp_path / "t.release.toml").unlink()


def test_text_is_not_added_up_and_categories_are_what_a_column_holds(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("zip,age\n" + "007,7\n" * 9 + "7,8\n")
    curating, words = CuratorPage(Folder(tmp_path)), {"options": ["007", 7]}
    histograms = [{"verb": "histogram", "column": name, "epsilon": "1"} for name in ("zip", "age")]
    numbers = {"options": ["7", 8.0, "9.5"], "type": "number"}
    state = _plan(
        curating,
        [{"verb": "mean", "column": "zip", "epsilon": "1"}, *histograms],
        columns={"zip": words, "age": numbers},
    )
    mean, zips, ages = state["statistics"]
    assert "`zip` must hold numbers, got text" in mean["problem"]
    assert "options=['007', '7']" in zips["code"]
    assert "options=[7, 8, 9.5]" in ages["code"]
    wrong = _plan(curating, histograms[1:], columns={"age": {"options": ["n"], "type": "number"}})
    assert "categories of `age` must be numbers, got text" in wrong["statistics"][0]["problem"]


def test_a_parquet_file_keeps_its_types_whatever_is_missing(tmp_path: Path) -> None:
    kinds = {
        "whole": (pa.array([1, None]), "number"),
        "real": (pa.array([1.5, None]), "number"),
        "text": (pa.array(["a", None]), "text"),
        "coded": (pa.array(["a", None]).dictionary_encode(), "text"),
        "flag": (pa.array([True, None]), ""),
    }
    pq.write_table(pa.table({name: cells for name, (cells, _) in kinds.items()}), tmp_path / "t.parquet")
    table = TableFile(tmp_path / "t.parquet", None, {"text": "number"})
    assert [(one.name, one.kind) for one in table.columns] == [(name, kind) for name, (_, kind) in kinds.items()]
    assert table.read().schema.types == table.empty().schema.types
    curating = CuratorPage(Folder(tmp_path))
    about = {"whole": {"low": 0, "high": 9}, "coded": {"options": ["a", "b"]}, "flag": {"options": [False, True]}}
    wishes = [{"verb": "mean", "column": "whole", "epsilon": "1"}]
    wishes += [{"verb": "histogram", "column": name, "epsilon": "1"} for name in ("coded", "flag")]
    state = _plan(curating, wishes, "t.parquet", columns=about)
    for place in range(3):
        state = curating.release("t.parquet", place, state["statistics"][place]["hash"])
    assert state["ledger"]["spent"] == pytest.approx(3)


@pytest.mark.parametrize(
    ("header", "names"),
    [("a,a,,a.2", ["a", "a.2", "column_3", "a.2.2"]), ("a,b", ["a", "b"]), ("a,b,a", ["a", "b", "a.2"]), ("", [])],
)
def test_columns_have_distinct_names(tmp_path: Path, header: str, names: list[str]) -> None:
    (tmp_path / "t.csv").write_text(f"{header}\n")
    table = TableFile(tmp_path / "t.csv", True, {})
    assert table.columns == [FileColumn(name, "text") for name in names]
    assert [*table.empty().columns] == [*table.read().columns] == names


@pytest.mark.parametrize("header", [True, False])
def test_the_notebook_reads_the_same_table(tmp_path: Path, header: bool) -> None:
    (tmp_path / "t.csv").write_text("age,city,\n33 years,NA,x\n40,,y\n")
    table = TableFile(tmp_path / "t.csv", header, {"age": "number", "column_1": "number"})
    reading = json.loads(curator_notebook(table, "replace", [], "t-budget.db"))["cells"][1]["source"]
    (line, *lines) = [one for one in reading.splitlines() if one.startswith("table")]
    space = {"pd": pd}
    exec("\n".join([line.replace("'t.csv'", repr(str(table.path))), *lines]), space)  # noqa: S102  our own lines
    theirs, ours = (
        [[None if pd.isna(cell) else cell for cell in row] for row in frame.to_numpy(object).tolist()]
        for frame in (space["table"], table.read())
    )
    assert (theirs, [*space["table"].columns]) == (ours, [column.name for column in table.columns])
