"""What is used of a person depends on that person's own rows alone."""

import datetime as dt
import hashlib
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.slowly import each
from toolkit import bands, between
from toolkit.frames.engines.streams import text_tag
from toolkit.frames.frame import Frame
from toolkit.frames.persons import Caps, Persons, _name_bytes, count_people_by_key, count_rows_by_key
from toolkit.frames.sums import parse_grouping

KEY = bytes(range(32))


def used(table: pd.DataFrame, caps: Caps, by: dict | None = None, *steps: tuple[Any, int]) -> pd.Series:
    """The code of each row, by its index; always with the same key."""
    frame = Frame(table)
    people = Persons(label="id", name="id", caps=caps, key=KEY)
    return pd.Series(parse_grouping(frame, None, by, people).codes(frame, *steps), index=table.index)


def table(people: int = 200, rows: int = 10) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "id": rng.permutation(np.repeat(np.arange(people), rows)),
            "group": rng.integers(0, 6, people * rows),
            "pay": rng.normal(size=people * rows),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("caps", [Caps(2), Caps(5, 3, 2), Caps(3, 2), Caps(4, None, 1), Caps(10, 1)])
@pytest.mark.parametrize("as_text", [False, True])
def test_removing_a_person_changes_no_row_of_another_and_the_caps_hold(caps: Caps, as_text: bool) -> None:
    data, by = table(), {"group": range(6)}
    data = data.assign(id=data["id"].astype(str)) if as_text else data
    every = used(data, caps, by)
    for person in data["id"].unique()[:5]:
        others = data[data["id"] != person]
        assert (used(others, caps, by) == every[others.index]).all()
        changed = data.assign(pay=data["pay"].where(data["id"] != person, 1e9))
        assert (used(changed, caps, by) == every).all()  # a value cannot be chosen so as to be kept
    kept = data.assign(code=every)[every >= 0]
    assert kept.groupby("id").size().max() == (caps.rows if caps.groups != 1 else kept.groupby("id").size().max())
    assert kept.groupby("id").size().max() <= caps.rows
    assert kept.groupby("id")["code"].nunique().max() <= (caps.groups or 6)
    assert kept.groupby(["id", "code"]).size().max() <= (caps.rows_in_group or caps.rows)
    assert (every[every >= 0] == data["group"][every >= 0]).all()


def test_the_same_rows_of_a_table_are_used_again() -> None:
    """Another key uses other rows."""
    data, by = table(), {"group": range(6)}
    assert (used(data, Caps(2), by) == used(data, Caps(2), by)).all()
    frame = Frame(data)
    other = Persons(label="id", name="id", caps=Caps(2), key=b"another")
    assert (parse_grouping(frame, None, by, other).codes(frame) != used(data, Caps(2), by).to_numpy()).any()
    assert Persons.of(frame, "id", Caps(2)).key != Persons.of(frame, "id", Caps(2)).key
    assert "key" not in repr(other)


def test_each_row_of_a_person_is_equally_likely() -> None:
    """3000 people with 4 rows, 1 used: each step, and each cell, a quarter of the time; 4.5 standard errors, which for
    eight shares has a probability of 6e-5. Rows of one cell and one step are interchangeable, and the first is used.
    """
    data = pd.DataFrame({"id": np.repeat(np.arange(3000), 4), "place": np.tile(np.arange(4), 3000)})
    by_step = used(data, Caps(1), None, (data["place"].to_numpy(), 3))
    for rows in (by_step, used(data, Caps(1), {"place": range(4)}), used(data, Caps(4, 1), {"place": range(4)})):
        shares = np.bincount(data["place"][rows >= 0], minlength=4) / 3000
        assert np.abs(shares - 0.25).max() < 4.5 * np.sqrt(0.25 * 0.75 / 3000)
    assert data["place"][used(data, Caps(1)) >= 0].eq(0).all()


@pytest.mark.slow
def test_no_key_prefers_a_row_where_values_or_people_lie_in_a_pattern() -> None:
    """The first of eight rows, over 4000 people and 40 keys, for six patterns: the mean of 240 chi-squares is within
    4.5 standard errors of its expectation, which fails by chance with 7e-6; the sum of products alone is off by 40,000.
    """
    places, people, squares = np.arange(8), np.arange(4000)[:, None], []
    steps = [places, places * 1000, places * 2**26, places * 2**30, 2 ** (places * 4), places]
    for key in range(40):
        for number, span in enumerate(steps):
            tags = people * 2**19 if number == 5 else people
            _, draws = Persons("id", "id", Caps(1), bytes([key] * 32)).hash_draws(tags, 3, span + 1)
            counts = np.bincount(draws.argmin(axis=1), minlength=8)
            squares.append(((counts - 500) ** 2 / 500).sum())
    assert abs(np.mean(squares) - 7) < 4.5 * np.sqrt(2 * 7 / len(squares))


@pytest.mark.slow
def test_what_a_person_adds_depends_on_their_own_rows_only() -> None:
    """All sets of up to four rows in two cells with two steps, every cap: alone and among others the same counts and
    sums, in any order of rows; their sum and squares within what `Caps` claims, which some set reaches.
    """
    kinds = [(cell, step) for cell in range(2) for step in range(2)]
    sets = [rows for number in range(1, 5) for rows in combinations_with_replacement(kinds, number)]
    for caps in (Caps(1), Caps(2), Caps(3, 1), Caps(3, None, 1), Caps(3, 2, 2), Caps(4, 1, 2)):
        people = [(person, *row) for person, rows in enumerate(sets) for row in rows]
        together = _added(people, caps, len(sets))
        assert np.array_equal(together, _added(people[::-1], caps, len(sets)))
        alone = [_added([(place, *row) for row in rows], caps, len(sets))[place] for place, rows in enumerate(sets)]
        assert np.array_equal(together, alone)
        counts = together[:, :, 0]
        assert counts.sum(axis=1).max() == caps.max_rows(2)
        assert (counts**2).sum(axis=1).max() == caps.max_sum_of_squares(2)
        assert (together[:, :, 1] <= counts).all()  # a step is at most 1


def _added(rows: list[tuple[int, int, int]], caps: Caps, people: int) -> Any:
    """Of each person and cell the rows that are used, and the sum of their steps."""
    data = pd.DataFrame(rows, columns=["id", "cell", "step"])
    codes = used(data, caps, {"cell": range(2)}, (data["step"].to_numpy(), 1))
    found = np.zeros((people, 2, 2), dtype=int)
    at = codes[codes >= 0].index
    np.add.at(found, (data["id"][at], codes[at], 0), 1)
    np.add.at(found, (data["id"][at], codes[at], 1), data["step"][at])
    return found


def test_rows_that_name_nobody_are_not_used_and_one_is_not_the_text_one() -> None:
    ids = [1, 1.0, "1", True, None, float("nan"), Decimal("sNaN"), [1], 2, Decimal(2), np.int64(2), "", 2.5]
    data = pd.DataFrame({"id": pd.Series(ids, dtype=object)})
    codes = used(data, Caps(1))
    assert (codes[[0, 1, 3]] >= 0).sum() == 1
    assert codes[2] == 0
    assert codes[[4, 5, 6, 7]].tolist() == [-1] * 4
    assert (codes[[8, 9, 10]] >= 0).sum() == 1
    assert codes[[11, 12]].tolist() == [0, 0]


@each(
    ids=[
        [1, 1, 2, None],
        ["a", "a", "b", None],
        [1.0, 1.0, -0.5, None],
        [dt.date(2020, 1, 1), dt.date(2020, 1, 1), dt.date(2020, 1, 2), None],
        [dt.datetime(2020, 1, 1, 3), dt.datetime(2020, 1, 1, 3), dt.datetime(2020, 1, 1, 4), None],
        [True, True, False, None],
    ],
    make=[pd.DataFrame, pl.DataFrame, pa.table],
)
def test_people_are_told_apart_by_every_type(make: object, ids: list[object]) -> None:
    frame = Frame(make({"id": ids}))  # type: ignore[operator]
    codes = parse_grouping(frame, None, None, Persons.of(frame, "id", Caps(1))).codes(frame)
    assert sorted(codes.tolist()) == [-1, -1, 0, 0]
    assert codes[2] == 0


def test_an_empty_frame_has_nobody() -> None:
    frame = Frame(pd.DataFrame({"id": pd.Series([], dtype="int64")}))
    for caps in (Caps(1), Caps(3, 2, 1)):
        assert parse_grouping(frame, None, None, Persons.of(frame, "id", caps)).codes(frame).tolist() == []


def test_what_is_used_is_said_in_words() -> None:
    frame = Frame(table())
    assert Persons.of(frame, "id", Caps(1)).description == "at most 1 row of a person (id)"
    assert Persons.of(frame, "id", Caps(5, 3, 2)).description == (
        "at most 5 rows, 3 groups, 2 rows in a group of a person (id)"
    )
    strange = Frame(pa.table({"id": pa.array([[1]], pa.list_(pa.int64()))}))
    with pytest.raises(TypeError, match="must identify the person of each row"):
        Persons.of(strange, "id", Caps(1))


NEAR = [10**18, 10**18 + 1]  # one float
LONG = [2**100, 2**100 + 1]
_STORED = pa.decimal128(38, 2)
OF_LONG_NUMBERS: dict[str, Callable[[list[int]], Any]] = {
    "pandas int64": lambda ids: pd.DataFrame({"id": ids}),
    "pandas Int64": lambda ids: pd.DataFrame({"id": pd.Series(ids, dtype="Int64")}),
    "pandas uint64": lambda ids: pd.DataFrame({"id": pd.Series(ids, dtype="uint64")}),
    "pandas categories": lambda ids: pd.DataFrame({"id": pd.Series(ids, dtype="category")}),
    "pandas categories of Decimal": lambda ids: pd.DataFrame(
        {"id": pd.Series([Decimal(one) for one in ids], dtype="category")}
    ),
    "pandas long double": lambda ids: pd.DataFrame({"id": np.array(ids, dtype=np.longdouble)}),
    "pandas int": lambda ids: pd.DataFrame({"id": pd.Series(ids, dtype=object)}),
    "pandas Decimal": lambda ids: pd.DataFrame({"id": [Decimal(one) for one in ids]}),
    "pandas Fraction": lambda ids: pd.DataFrame({"id": [Fraction(one) for one in ids]}),
    "pandas Fraction of thirds": lambda ids: pd.DataFrame({"id": [Fraction(one, 3) for one in ids]}),
    "pandas Decimal after a point": lambda ids: pd.DataFrame({"id": [Decimal(one).scaleb(-18) for one in ids]}),
    "pandas UUID": lambda ids: pd.DataFrame({"id": [UUID(int=one) for one in ids]}),
    "pandas text": lambda ids: pd.DataFrame({"id": [str(one) for one in ids]}),
    "pandas arrow decimal": lambda ids: pd.DataFrame(
        {"id": pd.Series([Decimal(one) for one in ids], dtype=pd.ArrowDtype(_STORED))}
    ),
    "polars Int64": lambda ids: pl.DataFrame({"id": pl.Series(ids, dtype=pl.Int64)}),
    "polars Int128": lambda ids: pl.DataFrame({"id": pl.Series(ids, dtype=pl.Int128)}),
    "polars Decimal": lambda ids: pl.DataFrame(
        {"id": pl.Series([Decimal(one) for one in ids], dtype=pl.Decimal(38, 2))}
    ),
    "polars lazy Decimal": lambda ids: pl.LazyFrame(
        {"id": pl.Series([Decimal(one) for one in ids], dtype=pl.Decimal(38, 0))}
    ),
    "polars objects": lambda ids: pl.DataFrame({"id": pl.Series([Fraction(one) for one in ids], dtype=pl.Object)}),
    "pyarrow decimal128": lambda ids: pa.table({"id": pa.array([Decimal(one) for one in ids], _STORED)}),
    "pyarrow decimal256": lambda ids: pa.table({"id": pa.array([Decimal(one) for one in ids], pa.decimal256(60, 1))}),
    "pyarrow dictionary of decimals": lambda ids: pa.table(
        {"id": pa.array([Decimal(one) for one in ids], _STORED).dictionary_encode()}
    ),
    "DuckDB HUGEINT": lambda ids: _relation(ids, "HUGEINT"),
    "DuckDB UHUGEINT": lambda ids: _relation(ids, "UHUGEINT"),
    "DuckDB DECIMAL": lambda ids: _relation(ids, "DECIMAL(38, 2)"),
    "DuckDB VARCHAR": lambda ids: _relation(ids, "VARCHAR"),
}


def _relation(ids: list[int], kind: str) -> Any:
    rows = ", ".join(f"('{one}')" for one in ids)
    return duckdb.sql(f"SELECT CAST(id AS {kind}) AS id FROM (VALUES {rows}) AS ids(id)")  # noqa: S608


SIZED = ("int64", "uint64", "long double", "Int64", "Decimal after", "categories")  # of 64 bits, or 28 digits
CASES = [(engine, NEAR) for engine in OF_LONG_NUMBERS] + [
    (engine, LONG) for engine in OF_LONG_NUMBERS if not any(word in engine for word in SIZED)
]


@pytest.mark.parametrize(("engine", "ids"), CASES)
def test_two_people_whose_numbers_are_one_float_are_two(engine: str, ids: list[int]) -> None:
    frame = Frame(OF_LONG_NUMBERS[engine]([*ids, ids[0]]))
    people = Persons.of(frame, "id", Caps(1))
    (part,) = frame.batches(["id"], in_one_batch=True)
    codes = parse_grouping(frame, None, None, people).codes(part)
    assert codes[1] == 0
    assert sorted(codes[[0, 2]].tolist()) == [-1, 0]
    assert len(set(people.person_codes_and_tags(part)[1][:2].tolist())) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda ids: pd.DataFrame({"id": [Decimal(one) for one in ids]}),
        lambda ids: pl.DataFrame({"id": pl.Series(ids, dtype=pl.Int128)}),
    ],
)
def test_as_many_people_are_counted_as_there_are(make: Any) -> None:
    """10,000 people by numbers of 19 digits, which are 79 floats."""
    frame = Frame(make([10**18 + place for place in range(10_000)]))
    codes = parse_grouping(frame, None, None, Persons.of(frame, "id", Caps(1))).codes(frame)
    assert np.count_nonzero(codes >= 0) == 10_000


def test_a_text_is_numbered_by_31_bits_of_its_hash() -> None:
    """The last 31 of the first 32 bits, as DuckDB and Spark compute them."""
    for text in ("Ann", "Bob", "ü", ""):
        digits = hashlib.sha256(b"secret" + text.encode()).hexdigest()[:8]
        assert text_tag(text, b"secret") == int(digits, 16) % 2**31


def test_equal_numbers_are_one_person_whatever_holds_them() -> None:
    same: list[object] = [Decimal("1E+18"), 10**18, Fraction(10**18), 1e18, np.float64(1e18), np.int64(10**18)]
    halves = [Fraction(1, 2), 0.5, Decimal("0.50"), np.longdouble("0.5")]
    far = [Decimal("1E+400"), 10**400, Fraction(10**400)]
    huge = [Decimal("1E+999999999"), Decimal("10E+999999998"), Decimal("1E+999999998")]
    near = [np.longdouble(1), np.nextafter(np.longdouble(1), np.longdouble(2)), np.longdouble("inf")]
    frame = Frame(pd.DataFrame({"id": pd.Series([*same, *halves, *far, *huge, *near], dtype=object)}))
    people = Persons.of(frame, "id", Caps(1))
    person, tags = people.person_codes_and_tags(frame)
    assert person.tolist() == [0] * 6 + [1] * 4 + [2] * 3 + [3, 3, 4] + [5, 6, 7]
    assert len(set(tags.tolist())) == 8


SHORT, LONG_ONES, REFUSED = "by a float or 64 bits", "one by one", "refused"
_ARROW = {
    SHORT: [
        "int8", "uint64", "float16", "float32", "float64", "bool_", "string", "large_string", "string_view",
        "date32", "date64",
    ],
    LONG_ONES: ["null"],
    REFUSED: ["binary", "large_binary", "month_day_nano_interval", "uuid"],
}  # fmt: skip
_ARROW_MADE: dict[str, list[Any]] = {
    SHORT: [pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.decimal128(15, 3), pa.dictionary(pa.int8(), pa.string())],
    LONG_ONES: [pa.decimal128(16, 3), pa.decimal128(38, 0), pa.decimal256(76, 0)],
    REFUSED: [
        *(pa.binary(16), pa.time32("s"), pa.time64("us"), pa.duration("ms"), pa.list_(pa.int64())),
        *(pa.struct([("a", pa.int64())]), pa.map_(pa.string(), pa.int64()), pa.dictionary(pa.int8(), pa.binary())),
    ],
}
_POLARS: dict[str, list[Any]] = {
    SHORT: [
        *(pl.Int8, pl.UInt64, pl.Float32, pl.Float64, pl.Boolean, pl.String, pl.Date, pl.Datetime("ns")),
        *(pl.Categorical, pl.Enum(["a"]), pl.Decimal(15, 2)),
    ],
    LONG_ONES: [pl.Int128, pl.Decimal(38, 2), pl.Null, pl.Object],
    REFUSED: [pl.Binary, pl.Time, pl.Duration, pl.List(pl.Int64), pl.Struct({"a": pl.Int64})],
}
_PANDAS = {
    SHORT: ["int8", "uint64", "Int64", "float32", "Float64", "bool", "boolean", "string", "datetime64[ns]"],
    LONG_ONES: ["longdouble", "object", "category"],
    REFUSED: ["timedelta64[ns]", "complex128", "period[D]", "interval"],
}
_DUCKDB = {
    SHORT: [
        "TINYINT", "UBIGINT", "FLOAT", "DOUBLE", "UUID", "VARCHAR", "TIMESTAMP", "TIMESTAMPTZ", "DATE",
        "BOOLEAN", "DECIMAL(9)", "JSON",
    ],
    LONG_ONES: ["HUGEINT", "UHUGEINT", "DECIMAL(38)"],
    REFUSED: ["BLOB", "BIT", "TIME", "INTERVAL", "INTEGER[]", "STRUCT(a INTEGER)", "BIGNUM"],
}  # fmt: skip


def _typed() -> dict[str, tuple[str, Any]]:
    found: dict[str, tuple[str, Any]] = {}
    for how in (SHORT, LONG_ONES, REFUSED):
        for arrow in (*(getattr(pa, name)() for name in _ARROW[how]), *_ARROW_MADE[how]):
            found[f"pyarrow {arrow}"] = how, pa.schema([("id", arrow)]).empty_table()
        for polars in _POLARS[how]:
            found[f"polars {polars}"] = how, pl.DataFrame({"id": pl.Series([], dtype=polars)})
        for pandas in _PANDAS[how]:
            found[f"pandas {pandas}"] = how, pd.DataFrame({"id": pd.Series([], dtype=pandas)})
        for sql in _DUCKDB[how]:
            found[f"DuckDB {sql}"] = how, duckdb.sql(f"SELECT CAST(NULL AS {sql}) AS id LIMIT 0")
    return found


TYPES = _typed()


@each(kind=TYPES)
def test_every_type_of_column_is_read_exactly_or_refused(kind: str) -> None:
    """By floats only where no two values of the type are one float, by 64 bits only where it has no more."""
    how, table = TYPES[kind]
    frame = Frame(table)
    if how == REFUSED:
        with pytest.raises(TypeError, match="must identify the person of each row"):
            Persons.of(frame, "id", Caps(1))
        return
    (part,) = frame.batches(["id"], in_one_batch=True)
    assert Persons.of(frame, "id", Caps(1)).person_codes_and_tags(part)[0].tolist() == []
    assert frame.column("id").kind.is_compared_by_cell == (how == LONG_ONES)


@each(
    engine=[
        one
        for one in OF_LONG_NUMBERS
        if not any(word in one for word in ("text", "UUID", "VARCHAR", "thirds", "after"))
    ]
)
def test_conditions_tables_bands_and_keys_tell_long_numbers_apart(engine: str) -> None:
    first, second = NEAR
    frame = Frame(OF_LONG_NUMBERS[engine]([first, second, second, first - 1]))
    (part,) = frame.batches(["id"], in_one_batch=True)
    asked: list[tuple[object, list[int]]] = [
        (first, [0, -1, -1, -1]),
        (Decimal(second), [-1, 0, 0, -1]),
        ([first, first - 1], [0, -1, -1, 0]),
        (between(first, first), [0, -1, -1, -1]),
        (between(second, 10**19), [-1, 0, 0, -1]),
    ]
    for where, codes in asked:
        assert parse_grouping(frame, {"id": where}).codes(part).tolist() == codes
    by = {"id": [first, second]}
    assert parse_grouping(frame, None, by).codes(part).tolist() == [0, 1, 1, -1]
    by = {"id": bands(first - 1, first, second, second + 1)}
    assert parse_grouping(frame, None, by).codes(part).tolist() == [1, 2, 2, 0]
    everybody = np.ones(4, dtype=bool)
    assert count_rows_by_key(part.column("id"), everybody) == {first - 1: 1, first: 1, second: 2}
    owners = Frame(pd.DataFrame({"owner": [0, 0, 0, 1]}))
    once = count_people_by_key(part.column("id"), everybody, owners, Persons("owner", "owner", Caps(2), KEY), 2)
    assert once == {first - 1: 1, first: 1, second: 1}


def test_a_number_with_a_point_is_found_by_its_float_and_by_its_digits() -> None:
    for table in (
        pd.DataFrame({"id": [Decimal("0.1"), Decimal("0.2"), Decimal("0.30")]}),
        pa.table({"id": pa.array([Decimal("0.1"), Decimal("0.2"), Decimal("0.3")], pa.decimal128(38, 2))}),
    ):
        frame = Frame(table)
        for low, high in ((0.1, 0.2), (Decimal("0.1"), Decimal("0.2")), (Fraction(1, 10), Fraction(1, 5))):
            assert parse_grouping(frame, {"id": low}).codes(frame).tolist() == [0, -1, -1]
            assert parse_grouping(frame, {"id": between(low, high)}).codes(frame).tolist() == [0, 0, -1]
            split = {"id": bands(0, low, high, 1)}
            assert parse_grouping(frame, None, split).codes(frame).tolist() == [1, 2, 2]


def test_no_product_of_a_hash_leaves_63_bits() -> None:
    """Secret odd numbers of so many bits, times tags and cells of 31 bits and steps of 34."""
    factors = np.array(
        [Persons("id", "id", Caps(1), bytes([key] * 32)).hash_factors for key in range(64)], dtype=object
    )
    assert (factors % 2 == 1).all()
    most = [int(one).bit_length() for one in factors.max(axis=0)]
    assert most == [30, 30, 27, 31, 31]
    assert sum(2 ** (bits + other) for bits, other in zip(most, (31, 31, 34), strict=False)) <= 2**63


def test_rows_are_ordered_by_as_much_of_a_draw_as_fits_beside_a_value() -> None:
    """Where too little would fit, the draw and the value are two keys. 62 bits in all, and at least eight of the
    draw.
    """
    rng = np.random.default_rng(1)
    draw = rng.integers(0, 2**31, 100)
    for width in range(55):
        value = rng.integers(0, 2**width, 100)
        (order,) = Persons.pack_sort_keys(draw, value, width)
        kept = draw >> max(0, width - 31)
        assert order.tolist() == [int(first) * 2**width + int(last) for first, last in zip(kept, value, strict=True)]
    assert [
        part is given for part, given in zip(Persons.pack_sort_keys(draw, value, 55), (draw, value), strict=True)
    ] == [1, 1]


def test_numbers_of_any_length_can_name_people() -> None:
    """Ordinary numbers keep their spelling. Which rows of a person are used, and whom the file of a stream knows,
    follows from how a name is spelled.
    """
    ordinary = {7: b"number 7", 2.0: b"number 2", 0.5: b"number 0.5", "7": b"text 7"}
    assert {name: _name_bytes(name) for name in ordinary} == ordinary
    far = [10**5000, 10**5000 + 1, -(10**5000), Fraction(1, 10**5000), Fraction(3, 10**5000), 16**5000]
    assert len({_name_bytes(name) for name in far}) == len(far)
    frame = Frame(pd.DataFrame({"who": pd.Series(["ann", *far], dtype=object)}))
    assert np.unique(Persons.of(frame, "who", Caps(1)).person_codes_and_tags(frame)[0]).tolist() == list(range(7))


EQUAL: list[list[Any]] = [
    [Decimal("0.1"), Decimal("0.10"), Decimal("1E-1"), Fraction(1, 10)],
    [Decimal("-12.340"), Decimal("-12.34"), Fraction(-617, 50)],
    [Decimal("1000000000000000000.10"), Decimal(f"1{'0' * 18}.1"), Fraction(10**19 + 1, 10)],
    [Decimal(f"0.{'123456789' * 9}"), Decimal(f"0.{'123456789' * 9}00")],
    [Decimal("0.5"), Decimal("0.50"), Fraction(1, 2), 0.5],
    [Decimal("7.00"), Decimal(7), 7, 7.0, Fraction(7)],
    [Decimal("1E+2000"), Decimal("10E+1999"), 10**2000, Fraction(10**2000)],
    [Decimal("1E+999999999"), Decimal("1.00E+999999999")],
    [Decimal("-1.5E-3000"), Decimal("-15E-3001")],
    [Decimal(0), Decimal("0.00"), 0, -0.0],
]


def test_equal_numbers_of_any_type_and_scale_are_spelled_alike() -> None:
    """Different numbers are spelled differently. A person must not come anew because a column of decimals got
    another scale.
    """
    spelled = [{_name_bytes(number) for number in group} for group in EQUAL]
    assert all(len(set(group)) == 1 for group in EQUAL)  # in Python
    assert [len(names) for names in spelled] == [1] * len(EQUAL)
    assert len(set.union(*spelled)) == len(EQUAL)
