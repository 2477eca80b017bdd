"""The same integers from tables that an engine computes when they are read."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from tests.frames.tables import BY, ROWS, table
from toolkit import Curator, Ledger, Pure
from toolkit.frames.engines import streams
from toolkit.frames.engines.sql import SparkTable
from toolkit.frames.frame import Frame
from toolkit.frames.reader import cell_counts, power_sums, product_sums
from toolkit.frames.sums import PAIR_BITS, Bounds, Variable, parse_grouping

ENGINES: dict[str, Callable[[pl.DataFrame], object]] = {
    "polars": lambda eager: eager,
    "polars lazy": lambda eager: eager.lazy().filter(pl.lit(True)),
    "pyarrow": lambda eager: eager.to_arrow(),
    "pandas": lambda eager: eager.to_pandas(),
    "duckdb": lambda eager: duckdb.connect().from_arrow(eager.to_arrow()),
}


@pytest.fixture(params=list(ENGINES))
def frame(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Frame:
    monkeypatch.setattr(streams, "BATCH_ROWS", 64)
    return Frame(ENGINES[request.param](table()))


def added_up(frame: Frame) -> list[object]:
    """Counts, sums and sums of products, of three choices of rows and cells."""
    found: list[object] = []
    coarse = tuple(Variable(label, Bounds.of((0, 90), PAIR_BITS), None) for label in ("pay", "age"))
    for where, by in ((None, None), ({"member": True}, BY), ({"came": dt.date(2020, 2, 1)}, None)):
        rows = parse_grouping(frame, where, by)
        found += [cell_counts(frame, rows).tolist(), product_sums(frame, rows, coarse)]  # type: ignore[arg-type]
        for label, bounds in (("pay", (0, 100)), ("member", (0, 1)), ("age", (0, 50))):
            for fill in (None, Bounds.of(bounds).low):
                found.append(power_sums(frame, rows, Variable(label, Bounds.of(bounds), fill), 1))
    return found


@pytest.fixture(scope="module")
def expected() -> list[object]:
    """In one part."""
    return added_up(Frame(table()))


@pytest.mark.slow
def test_every_engine_gives_the_same_integers(expected: list[object], frame: Frame) -> None:
    assert added_up(frame) == expected


@pytest.mark.slow
def test_the_sums_are_those_of_python(frame: Frame) -> None:
    bounds, rows = Bounds.of((0, 100), 14), parse_grouping(frame, None, {"region": ["n", "s"]})
    found = power_sums(frame, rows, Variable("pay", bounds, None), 2)
    for region, sums in zip(["n", "s"], found, strict=True):
        values = table().filter(pl.col("region") == region)["pay"].to_list()
        steps = [int(s) for s in bounds.steps(np.array([np.nan if v is None else v for v in values])) if s >= 0]
        assert sums == [len(steps), sum(steps), sum(s * s for s in steps)]


@pytest.mark.slow
def test_a_function_of_a_row_sees_the_rows_of_a_stream(frame: Frame) -> None:
    rows = parse_grouping(frame, lambda row: row["region"] == "n" and row["age"] is None)
    expected = table().filter((pl.col("region") == "n") & pl.col("age").is_null()).height
    assert cell_counts(frame, rows).tolist() == [expected]


@pytest.mark.slow
def test_kinds_lengths_and_single_columns_are_those_of_a_table_in_memory(frame: Frame) -> None:
    plain = Frame(table())
    assert len(frame) == ROWS
    assert frame.column("pay").floats().tolist() == pytest.approx(plain.column("pay").floats(), nan_ok=True)
    for name in ("pay", "region", "age", "member", "came"):
        assert frame.column(name).kind.name in (plain.column(name).kind.name, "object", "number", "moment")
        assert len(frame.column(name).cells()) == ROWS
        assert len(frame.column(name).empty().cells()) == 0
        assert frame.column(name).missing().sum() == plain.column(name).missing().sum()
    assert frame.column("region").codes(["s", "n"]).tolist() == plain.column("region").codes(["s", "n"]).tolist()


def test_two_columns_of_a_stream_are_never_put_together_row_by_row() -> None:
    frame = Frame(table().lazy())
    with pytest.raises(RuntimeError, match="batch by batch"):
        parse_grouping(frame, None, {"region": ["n"]}).codes(frame)


@pytest.mark.slow
def test_a_persons_rows_are_capped_over_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = Curator(table().lazy(), Ledger(Pure(10**9)), "add_remove", person="id", rows=2)
    people = table()["id"].value_counts()["count"].clip(upper_bound=2).sum()
    monkeypatch.setattr(streams, "BATCH_ROWS", 7)
    assert float(keeper.count(epsilon=10**6)) == people


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_what_an_engine_says_of_a_value_that_it_cannot_read_is_not_told(
    neighbors: str, capfd: pytest.CaptureFixture[str]
) -> None:
    text = pl.DataFrame({"x": ["1", "2", "Bob"]})
    con = duckdb.connect()
    con.register("people", text.to_arrow())
    for broken in (
        text.lazy().with_columns(pl.col("x").cast(pl.Float64)),
        con.sql("select cast(x as double) as x from people"),
    ):
        if neighbors == "replace" and isinstance(broken, pl.LazyFrame) and pl.__version__ < "2":
            with pytest.raises(RuntimeError, match="an error that is not shown: nothing was charged"):
                Curator(broken, Ledger(Pure(1)), neighbors)  # older ones cannot count its rows either
            continue
        keeper = Curator(broken, Ledger(Pure(1)), neighbors)
        for call in (
            lambda k: k.mean("x", bounds=(0, 9), missing="drop", epsilon="1/4"),
            lambda k: k.median("x", bounds=(0, 9), epsilon="1/4"),
        ):
            with pytest.raises(RuntimeError, match="an error that is not shown: the charge remains") as error:
                call(keeper)
            assert (error.value.__context__, error.value.__cause__) == (None, None)
        assert keeper.ledger.spent == Pure("1/2")
    assert "Bob" not in "".join(capfd.readouterr())


def test_an_unreadable_number_of_rows_is_rejected_before_any_charge() -> None:
    broken = pl.DataFrame({"x": ["1", "Bob"]}).lazy().filter(pl.col("x").cast(pl.Float64) > 0)
    with pytest.raises(RuntimeError, match="an error that is not shown: nothing was charged") as error:
        Curator(broken, Ledger(Pure(1)), "replace")
    assert (error.value.__context__, error.value.__cause__) == (None, None)


def test_a_choice_is_given_the_whole_table() -> None:
    con = duckdb.connect()
    for frame in (table().lazy(), con.from_arrow(table().to_arrow())):
        keeper = Curator(frame, Ledger(Pure(10)), "add_remove")
        chosen = keeper.choose(["a", "b"], lambda data, name: len(data) * (name == "b"), sensitivity=1, epsilon=1)
        assert chosen == "b"


class Sparks:
    """What a frame of PySpark does, for the few verbs that are used of it."""

    def __init__(self, held: pl.DataFrame) -> None:
        self.held, self.columns, self.schema, self.sparkSession = held, held.columns, held.schema, self

    def createDataFrame(self, rows: list[Any], schema: Any) -> "Sparks":  # noqa: N802
        return Sparks(pl.DataFrame(rows, schema))

    def select(self, *quoted: str) -> "Sparks":
        return Sparks(self.held.select([name[1:-1].replace("``", "`") for name in quoted]))

    def toArrow(self) -> object:  # noqa: N802
        return self.held.to_arrow()

    def count(self) -> int:
        return self.held.height


@pytest.mark.slow
def test_names_of_columns_are_quoted_for_spark() -> None:
    source = SparkTable(Sparks(table().rename({"pay": "the `pay`"})))
    (part,) = source.batches(["the `pay`", "age"])
    assert part.column_names == ["the `pay`", "age"]
    assert (source.row_count(), source.collect().num_rows, source.empty().num_rows) == (ROWS, ROWS, 0)
