"""What is used of a person depends on that person's own rows alone."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from toolkit.budget.frames.people import People
from toolkit.budget.frames.rows import rows_of
from toolkit.central.tables.caps import Caps
from toolkit.core.frames.frame import Frame

KEY = bytes(range(32))


def used(table: pd.DataFrame, caps: Caps, by: dict | None = None) -> pd.Series:
    """The code of each row, by its index; always with the same key."""
    frame = Frame(table)
    people = People(label="id", name="id", caps=caps, key=KEY)
    return pd.Series(rows_of(frame, None, by, people).codes(frame), index=table.index)


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
    assert kept.groupby("id").size().max() == (
        caps.rows if caps.groups != 1 else kept.groupby("id").size().max()
    )
    assert kept.groupby("id").size().max() <= caps.rows
    assert kept.groupby("id")["code"].nunique().max() <= (caps.groups or 6)
    assert kept.groupby(["id", "code"]).size().max() <= (caps.each or caps.rows)
    assert (every[every >= 0] == data["group"][every >= 0]).all()


def test_the_same_rows_are_used_in_every_table_and_another_key_uses_others() -> None:
    data = table()
    assert (used(data, Caps(2)) == used(data, Caps(2))).all()
    frame = Frame(data)
    other = People(label="id", name="id", caps=Caps(2), key=b"another")
    assert (rows_of(frame, None, None, other).codes(frame) != used(data, Caps(2)).to_numpy()).any()
    assert People.of(frame, "id", Caps(2)).key != People.of(frame, "id", Caps(2)).key
    assert "key" not in repr(other)


def test_each_row_of_a_person_is_equally_likely() -> None:
    """3000 people with 4 rows, 1 used: each place a quarter of the time; 4.5 standard errors."""
    data = pd.DataFrame({"id": np.repeat(np.arange(3000), 4), "place": np.tile(np.arange(4), 3000)})
    shares = np.bincount(data["place"][used(data, Caps(1)) >= 0], minlength=4) / 3000
    assert np.abs(shares - 0.25).max() < 4.5 * np.sqrt(0.25 * 0.75 / 3000)


def test_rows_that_name_nobody_are_not_used_and_one_is_not_the_text_one() -> None:
    ids = [1, 1.0, "1", True, None, float("nan"), Decimal("sNaN"), [1], 2, Decimal(2), np.int64(2), "", 2.5]
    data = pd.DataFrame({"id": pd.Series(ids, dtype=object)})
    codes = used(data, Caps(1))
    assert (codes[[0, 1, 3]] >= 0).sum() == 1
    assert codes[2] == 0
    assert codes[[4, 5, 6, 7]].tolist() == [-1] * 4
    assert (codes[[8, 9, 10]] >= 0).sum() == 1
    assert codes[[11, 12]].tolist() == [0, 0]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    "ids",
    [
        [1, 1, 2, None],
        ["a", "a", "b", None],
        [1.0, 1.0, -0.5, None],
        [dt.date(2020, 1, 1), dt.date(2020, 1, 1), dt.date(2020, 1, 2), None],
        [dt.datetime(2020, 1, 1, 3), dt.datetime(2020, 1, 1, 3), dt.datetime(2020, 1, 1, 4), None],
        [True, True, False, None],
    ],
)
def test_people_are_told_apart_by_every_type(make: object, ids: list[object]) -> None:
    frame = Frame(make({"id": ids}))  # type: ignore[operator]
    codes = rows_of(frame, None, None, People.of(frame, "id", Caps(1))).codes(frame)
    assert sorted(codes.tolist()) == [-1, -1, 0, 0]
    assert codes[2] == 0


def test_an_empty_frame_has_nobody() -> None:
    frame = Frame(pd.DataFrame({"id": pd.Series([], dtype="int64")}))
    for caps in (Caps(1), Caps(3, 2, 1)):
        assert rows_of(frame, None, None, People.of(frame, "id", caps)).codes(frame).tolist() == []


def test_what_is_used_is_said_in_words() -> None:
    frame = Frame(table())
    assert People.of(frame, "id", Caps(1)).words == "at most 1 row of a person (id)"
    assert People.of(frame, "id", Caps(5, 3, 2)).words == (
        "at most 5 rows, 3 groups, 2 rows in a group of a person (id)"
    )
    strange = Frame(pa.table({"id": pa.array([[1]], pa.list_(pa.int64()))}))
    with pytest.raises(TypeError, match="must say whose a row is"):
        People.of(strange, "id", Caps(1))
