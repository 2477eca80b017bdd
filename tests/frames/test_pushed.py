"""Every verb on every engine has the integers of a table in memory, before noise, and no row comes here."""

import datetime as dt
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from tests.frames.contract import Reads, integers, people
from toolkit import Curator, Ledger, Pure, bands, between
from toolkit.frames import pushed
from toolkit.frames.conditions import EVERY_ROW
from toolkit.frames.engines.polars import PolarsLazyTable
from toolkit.frames.engines.sql import DuckDbTable, SparkTable, SqlExpression
from toolkit.frames.engines.streams import sum_pieces
from toolkit.frames.frame import Frame
from toolkit.frames.persons import Caps, Persons
from toolkit.frames.reader import cell_counts
from toolkit.frames.sums import Bounds, Grouping, parse_axes, parse_grouping

CAPS = {"rows": (None, "id"), "one": (Caps(1), "id"), "text": (Caps(2), "name"), "three": (Caps(5, 3, 2), "born")}


def relation(table: pl.DataFrame, *settings: str) -> Any:
    con = duckdb.connect()
    for setting in ("TimeZone = 'Europe/Berlin'", *settings):
        con.execute(f"set {setting}")
    con.register("given", table.with_columns(pl.col("kind").cast(pl.String)).to_arrow())
    con.execute("create type kinds as enum ('z', 'y', 'x')")
    con.execute("create table people as select * replace (cast(kind as kinds) as kind) from given")
    return con.table("people")


def read(table: Any, caps: str) -> dict[str, Any]:
    """All verbs; a few where only the most of a person differs."""
    return integers(Reads(table, *CAPS[caps]), few=caps == "one")


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return {caps: read(people(), caps) for caps in CAPS}


@pytest.fixture
def counted_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """No part of a table is read here."""
    for source in (PolarsLazyTable, DuckDbTable):
        monkeypatch.setattr(source, "batches", None)


@pytest.mark.slow
@pytest.mark.usefixtures("counted_there")
@pytest.mark.parametrize(
    ("engine", "caps"),
    [
        *(("polars lazy", caps) for caps in ("rows", "text", "three")),
        *(("duckdb", caps) for caps in ("rows", "one", "three")),
        ("duckdb with a collation", "text"),
    ],
)
def test_every_verb_has_the_integers_of_a_table_in_memory(engine: str, caps: str, expected: dict[str, Any]) -> None:
    collation = ["default_collation = 'NOCASE'"] if "collation" in engine else []
    table = people().lazy() if engine == "polars lazy" else relation(people(), *collation)
    found = read(table, caps)
    assert {name: one for name, one in found.items() if one != expected[caps][name]} == {}


@pytest.mark.slow
def test_and_so_have_other_tables_in_memory(expected: dict[str, Any]) -> None:
    """Decimals through Arrow among them."""
    for caps in CAPS:
        assert read(people().to_arrow(), caps) == expected[caps]


def test_decimals_of_arrow_are_the_nearest_floats() -> None:
    """30,000 of up to 17 digits: with pyarrow 26 its own way is a last bit off for 801 of them."""
    texts = [f"{one}e-4" for one in np.random.default_rng(1).integers(-(10**17), 10**17, 30_000).tolist()]
    column = pa.array([*map(Decimal, texts), None], pa.decimal128(38, 4))
    assert Frame(pa.table({"x": column})).column("x").floats()[:-1].tolist() == [*map(float, texts)]


def test_steps_are_those_in_memory_at_halves_and_their_neighbors() -> None:
    for limits in (Bounds.of((0, 80), 6), Bounds.of((0, 7)).with_step("1/3"), Bounds.of((10**12, 10**12 + 1), 6)):
        halves = float(limits.low) + (np.arange(200) / 2 - 3) * float(limits.step)
        values = np.concatenate([halves, np.nextafter(halves, np.inf), np.nextafter(halves, -np.inf)])
        expected = np.bincount(limits.steps(values), minlength=limits.span + 1)
        table = pl.DataFrame({"x": values})
        for one in (table.lazy(), duckdb.connect().from_arrow(table.to_arrow())):
            frame = Frame(one)
            assert np.array_equal(pushed.histogram(frame, parse_grouping(frame), "x", limits)[0], expected)


@pytest.mark.usefixtures("counted_there")
def test_what_comes_back_is_no_larger_than_the_public_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 5,000 different keys two are public: four cells, whatever the engine has."""
    table, sizes = pl.DataFrame({"k": range(5000), "x": [1.0] * 5000}), []
    fetched = {source: source.fetch for source in (PolarsLazyTable, DuckDbTable)}

    def watched(source: Any, rows: Any) -> Any:
        found = fetched[type(source)](source, rows)
        sizes.append(max(map(len, found.values())))
        return found

    for source in fetched:
        monkeypatch.setattr(source, "fetch", watched)
    for one in (table.lazy(), duckdb.connect().from_arrow(table.to_arrow())):
        keeper = Curator(one, Ledger(Pure(10)), "add_remove")
        assert len(keeper.mean("x", bounds=(0, 1), missing="drop", by={"k": [3, 4]}, epsilon=1).labels) == 2
    assert sizes == [2, 2]


@pytest.mark.usefixtures("counted_there")
def test_a_folder_that_is_partitioned_by_date_is_a_table(tmp_path: Any) -> None:
    days = [dt.date(2026, 1, 30), dt.date(2026, 1, 31)]
    for place, day in enumerate(days):
        (tmp_path / f"day={day}").mkdir()
        pl.DataFrame({"pay": [1.0, 2.0, 4.0][place:]}).write_parquet(tmp_path / f"day={day}" / "a.parquet")
    everything = str(tmp_path / "**" / "*.parquet")
    lake = duckdb.connect().read_parquet(everything, hive_partitioning=True)
    for one in (pl.scan_parquet(tmp_path, hive_partitioning=True), lake):
        frame = Frame(one)
        rows = parse_grouping(frame, None, {"day": days})
        assert pushed.supports(frame, rows, "pay")
        assert pushed.cell_counts(frame, rows).tolist() == [3, 2]


@pytest.mark.slow
def test_what_an_engine_cannot_say_is_read_part_by_part() -> None:
    table = people()
    for one in (table.lazy(), relation(table)):
        frame = Frame(one)
        assert not pushed.supports(frame, parse_grouping(frame, lambda row: row["age"] == 3))
        assert not pushed.supports(frame, parse_grouping(frame, {"money": 25}))
        assert not pushed.supports(frame, parse_grouping(frame, None, {"large": range(2**16 + 1)}))
        assert pushed.supports(frame, parse_grouping(frame, None, {"large": range(2**16)}))
        for ranges in (2**10, 2**10 + 1):
            rows = parse_grouping(frame, None, {"large": bands(*range(ranges + 1))})
            assert pushed.supports(frame, rows) == (ranges == 2**10)
        assert not pushed.supports_histogram(
            frame, parse_grouping(frame, None, {"age": range(100)}), "pay", Bounds.of((0, 80), 20)
        )


def test_an_engine_draws_people_if_it_can_name_them_and_the_draw_fits() -> None:
    """Whole numbers, text and dates name people; a cell has up to 54 bits, or 20 beside the steps of values."""
    table = people()
    for one in (table.lazy(), relation(table)):
        frame = Frame(one)
        (two_bits,) = parse_axes(frame, {"age": range(3)})
        for name in ("id", "name", "born", "large", "pay", "zoned", "yes", "money"):
            rows = Grouping(EVERY_ROW, (), Persons(name, name, Caps(1)))
            assert pushed.supports(frame, rows) == (name in ("id", "name", "born", "large"))
        for times, alone, beside in ((10, True, True), (11, True, False), (27, True, False), (28, False, False)):
            rows = Grouping(EVERY_ROW, (two_bits,) * times, Persons("id", "id", Caps(1)))
            assert (pushed.supports(frame, rows), pushed.supports(frame, rows, "pay")) == (alone, beside)


@pytest.mark.parametrize("most", [1, 100, 101])
def test_equal_rows_of_a_person_are_used_up_to_the_cap_however_large_it_is(most: int) -> None:
    table = pl.DataFrame({"id": [1] * 300 + [2] * 5})  # of one column, which is all that rows can be counted by
    for one in (table, table.lazy(), duckdb.connect().from_arrow(table.to_arrow())):
        frame = Frame(one)
        rows = parse_grouping(frame, None, None, Persons("id", "id", Caps(most)))
        assert cell_counts(frame, rows).tolist() == [most + min(most, 5)]
        assert cell_counts(frame, parse_grouping(frame)).tolist() == [305]


@pytest.mark.slow
@pytest.mark.usefixtures("counted_there")
def test_people_may_be_named_by_whole_numbers_of_64_bits_without_a_sign() -> None:
    """Seven people with some 75 rows each, of which two are used: by an engine those that are used in memory."""
    table, call = people(), {"bounds": (0, 80), "missing": "drop", "by": {"kind": ["x", "y"]}, "epsilon": 1}
    expected, *found = (
        Reads(one, Caps(2), "large").mean("pay", **call) for one in (table, table.lazy(), relation(table))
    )
    assert found == [expected] * 2
    for words in ({"by": {"large": [2**63 - 1, 2**63]}}, {"where": {"large": between(2**63, 2**63 + 1)}}):
        expected, *found = (Reads(one).count(**words, epsilon=1) for one in (table, table.lazy(), relation(table)))
        assert found == [expected] * 2


@pytest.mark.parametrize(("most", "bits"), [(2**27 - 1, 0), (2**27, 14), (2**52 + 1, 27)])
def test_spark_takes_sums_apart_so_that_no_2_to_the_35_rows_overflow(most: int, bits: int) -> None:
    """Low bits and high bits, neither above 2**28."""
    parts = {shift: part.text for shift, part in SparkTable.sums(None, SqlExpression("x"), most).items()}  # type: ignore[arg-type]
    apart = {0: f"sum(x & {2**bits - 1})", bits: f"sum(shiftright(x, {bits}))"}
    assert parts == (apart if bits else {0: "sum(x)"})
    assert max(2**bits, most >> bits) < 2**28


@pytest.mark.parametrize("largest", [0, 1, 2**27, 2**54, 2**60])
def test_numbers_are_the_sum_of_their_pieces_of_27_bits(largest: int) -> None:
    pieces = sum_pieces(largest)
    assert all(width <= 27 for _, width in pieces)
    for number in {0, largest // 3, largest}:
        assert sum(((number >> low) % 2**width) << low for low, width in pieces) == number
    frame = pl.LazyFrame({"x": [largest, largest // 3]})
    sums = frame.select(**{f"t{low}": part for low, part in _polars_sums("x", largest).items()}).collect()
    assert sum(sums[f"t{low}"][0] << low for low, _ in pieces) == largest + largest // 3


def _polars_sums(name: str, largest: int) -> Any:
    return PolarsLazyTable(pl.LazyFrame({name: [0]})).sums(pl.col(name), largest)
