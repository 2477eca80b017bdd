"""Counts and sums by groups: one charge, a row for every key, and noise that fits the neighbor relation."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest

from toolkit import MISSING, OTHER, BudgetError, Curator, Ledger, Pure, Zcdp, bands, between
from toolkit.central.statistics import _integer_array
from toolkit.curator.counts import Bins
from toolkit.curator.release import Query

KEYS = ["n", "s", "e", "w"]


def frame(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "region": rng.choice([*KEYS, "?"], rows),
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.integers(18, 80, rows),
            "pay": rng.normal(50, 20, rows),
            "came": [dt.date(2024, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 90, rows)],
        }
    )


def curator(neighbors: str = "add_remove", ceiling: Any = None, **more: Any) -> Curator:
    return Curator(frame(), Ledger(ceiling or Pure(10**9), simulated=True), neighbors, **more)


@pytest.mark.parametrize(
    ("neighbors", "epsilon", "se"),
    [("add_remove", "1/2", 2.799178), ("replace", "1/2", 5.642150), ("add_remove", 1, 1.356962)],
)
def test_a_table_of_counts_is_one_charge_with_the_noise_of_its_neighbors(
    neighbors: str, epsilon: object, se: float
) -> None:
    """The noise is that of one count, or of two counts if a row is replaced.

    The standard deviation of the discrete Laplace distribution is the root of 2q over 1 - q.
    """
    keeper = curator(neighbors)
    found = keeper.count(by={"region": KEYS}, epsilon=epsilon)
    assert found.se == pytest.approx(np.full(4, se), rel=1e-6)
    assert (keeper.ledger.spent, len(keeper.ledger.entries())) == (Pure(epsilon), 1)
    assert keeper.ledger.entries()[0].label == "count by region (4)"


def test_a_cross_tab_has_every_cell_in_the_given_order() -> None:
    """With the category "other", every row within the bounds belongs to a cell."""
    data = frame()
    by = {"region": [*KEYS, "nowhere", OTHER], "age": bands(18, 30, 45, 65)}
    found = curator().count(by=by, where={"sex": "f"}, epsilon=10**6)
    women = data[data["sex"] == "f"]
    edges = pd.cut(women["age"], [18, 30, 45, 65], right=False).astype(object)
    edges[women["age"] == 65] = pd.Interval(45, 65, closed="left")
    region = women["region"].where(women["region"].isin(KEYS), "other")
    for (key, band), value in zip(found.labels, found.value, strict=True):
        low = float(band.split(" ")[0])
        assert value == ((region == key) & edges.map(lambda i, low=low: getattr(i, "left", -1) == low)).sum()
    assert found.axes == ("region", "age")
    assert found.labels[:3] == (("n", "18 to under 30"), ("n", "30 to under 45"), ("n", "45 to 65"))
    wide = found.to_frame(wide="age")
    assert wide.shape == (6, 3)
    assert wide.loc["nowhere"].tolist() == [0, 0, 0]


def test_a_histogram_is_a_count_by_one_column() -> None:
    keeper, rng = curator("replace"), np.random.default_rng
    one = keeper.histogram("region", options=iter(KEYS), epsilon=1, rng=rng(1))
    other = keeper.count(by={"region": KEYS}, epsilon=1, rng=rng(1))
    assert one.value.tolist() == other.value.tolist()
    assert (one.labels, one.axes) == (other.labels, other.axes) == (tuple(KEYS), ("region",))
    assert (
        keeper.histogram("age", edges=[0, 40, 99], where={"sex": "f"}, epsilon=10**6).value.sum()
        == (frame()["sex"] == "f").sum()
    )
    assert Bins.__doc__


def test_sums_by_group_are_those_of_pandas_within_the_bounds() -> None:
    data = frame()
    for neighbors in ("replace", "add_remove"):
        found = curator(neighbors).sum(
            "pay", bounds=(20, 80), missing="drop", by={"region": KEYS, "sex": ["m", "f"]}, epsilon=10**6
        )
        truth = data["pay"].clip(20, 80).groupby([data["region"], data["sex"]]).sum()
        assert found.to_frame()["estimate"].to_numpy() == pytest.approx([truth[key] for key in found.labels], abs=0.01)


def test_rho_buys_gaussian_noise_in_a_concentrated_ledger() -> None:
    keeper = curator("replace", Zcdp(1))
    found = keeper.count(by={"region": KEYS}, rho="1/8")
    assert found.se[0] == pytest.approx(np.sqrt(2 / (2 / 8) + 1 / 12))
    assert (keeper.ledger.spent, found.loss) == (Zcdp("1/8"), Zcdp("1/8"))
    assert "Gaussian mechanism" in found.method
    for ceiling in (Pure(1), None):
        other = curator("replace", ceiling)
        with pytest.raises(BudgetError, match="no ε bounds it"):
            other.count(by={"region": KEYS}, rho="1/8")
        assert other.ledger.spent == Pure(0)


def test_exactly_one_currency_is_given() -> None:
    for pay in ({}, {"epsilon": 1, "rho": 1}):
        with pytest.raises(ValueError, match="exactly one of `epsilon` and `rho`"):
            curator().count(by={"region": KEYS}, **pay)
    assert Query.__doc__


HOSTILE = [
    ({"by": {"region": []}}, "at least one, got none"),
    ({"by": {"region": ["n", "n"]}}, "repetitions"),
    ({"by": {"age": [1, True]}}, "a truth value"),
    ({"by": {"age": [1, 1.0]}}, "repetitions"),
    ({"by": {"region": "north"}}, "must be a list, got str"),
    ({"by": {"age": range(1001), "pay": range(1001)}}, "1 to 1,000,000 cells, got 1,002,001 cells"),
    ({"where": {"age": (30, 39)}}, r"between\(30, 40\) for the range"),
    ({"where": {"region": None}}, "write MISSING"),
    ({"where": {"region": OTHER}}, "got OTHER"),
]


@pytest.mark.parametrize(("arguments", "message"), HOSTILE)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_hostile_calls_are_refused_before_anything_is_charged(
    arguments: dict[str, Any], message: str, neighbors: str
) -> None:
    keeper = curator(neighbors)
    for verb in (
        lambda **more: keeper.count(epsilon=1, **more),
        lambda **more: keeper.sum("pay", bounds=(0, 9), missing="drop", epsilon=1, **more),
        lambda **more: keeper.mean("pay", bounds=(0, 9), missing="drop", epsilon=1, **more),
        lambda **more: keeper.std("pay", bounds=(0, 9), missing="drop", epsilon=1, **more),
        lambda **more: keeper.covariance(
            "pay", "age", bounds={"pay": (0, 9), "age": (0, 9)}, missing="drop", epsilon=1, **more
        ),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            verb(**arguments)
    assert keeper.ledger.spent == Pure(0)


def test_a_generator_of_keys_is_read_once_by_every_verb() -> None:
    keeper = curator()
    bounds: dict[str, Any] = {"bounds": (0, 80), "missing": "drop"}
    for verb in (keeper.sum, keeper.mean, keeper.variance, keeper.std):
        found = verb("pay", by={"region": (key for key in KEYS)}, epsilon=1, **bounds)
        assert (found.labels, np.shape(found.value)) == (tuple(KEYS), (4,))


def test_a_function_that_fails_is_charged_and_holds_for_no_row() -> None:
    keeper = curator()
    found = keeper.count(lambda row: row / 0, by={"sex": ["f", "m"]}, epsilon=10**6)
    assert found.value.tolist() == [0, 0]
    assert keeper.ledger.spent == Pure(10**6)


def test_dates_are_keys_bands_and_conditions() -> None:
    months = bands(dt.date(2024, 1, 1), dt.date(2024, 2, 1), dt.date(2024, 3, 31))
    found = curator().count(
        by={"came": [*months, MISSING]},
        where={"came": between(dt.date(2024, 1, 1), dt.date(2024, 2, 15))},
        epsilon=10**6,
    )
    came = pd.to_datetime(frame()["came"])
    assert found.value.tolist() == [(came < "2024-02-01").sum(), came.between("2024-02-01", "2024-02-15").sum(), 0]
    assert found.labels[0] == "2024-01-01 to under 2024-02-01"


def test_a_long_query_ends_with_a_hash_of_all_of_it_in_the_ledger() -> None:
    keeper = curator()
    for last in ("x", "y"):
        keeper.count({"region": [*(f"option {i}" for i in range(40)), last]}, epsilon=1)
    one, other = (entry.label for entry in keeper.ledger.entries())
    assert len(one) == len(other) == 200
    assert one[:134] == other[:134]
    assert one[136:] != other[136:]
    words = len(keeper.preview.count({"region": "x"}, epsilon=1).label) - 1
    asked = {"region": "x" * (200 - words)}
    keeper.count(asked, epsilon=1)
    # which is just within the limit
    assert keeper.ledger.entries()[-1].label == keeper.preview.count(asked, epsilon=1).label


def test_a_person_counts_once_however_many_rows_there_are() -> None:
    data = pd.DataFrame({"id": [1] * 50 + [2] * 2 + [None] * 9, "g": ["a"] * 30 + ["b"] * 31})
    keeper = Curator(data, Ledger(Pure(10**9)), "replace", person="id", rows=3, groups=1)
    found = keeper.count(epsilon=10**6)
    assert (found.value, type(found.value)) == (3 + 2, int)
    assert found.n is None
    assert "at most 3 rows, 1 group of a person (id)" in found.method
    assert keeper.count(by={"g": ["a", "b"]}, epsilon="1/2").se[0] == pytest.approx(6 * np.sqrt(2) * 2, rel=0.01)
    with pytest.raises(ValueError, match="needs one row per person"):
        keeper.iqr("id", bounds=(0, 9), missing=0, epsilon=1)
    for wrong in ({"person": "id"}, {"rows": 2}, {"groups": 2}):
        with pytest.raises(ValueError, match="must be given together"):
            Curator(data, Ledger(Pure(1)), "replace", **wrong)


@pytest.mark.parametrize("numbers", [[0, 2**63], [-(2**63) - 1, 0], [0, 1], [-(2**63), 2**63 - 1]])
def test_cells_are_whole_numbers_of_64_bits_or_else_floats(numbers: list[int]) -> None:
    """One number beyond 64 bits turns all cells into floats."""
    found = _integer_array(numbers)
    whole = all(-(2**63) <= number < 2**63 for number in numbers)
    assert found.dtype == (np.int64 if whole else np.float64)
    assert [int(number) for number in found] == ([*numbers] if whole else [int(float(one)) for one in numbers])
