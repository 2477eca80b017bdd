"""Means and variances by groups: near the truth, with their counts, and for several columns at once."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.slowly import each
from toolkit import OTHER, Curator, Estimate, Ledger, Pure, Zcdp
from toolkit.curator.release import by_column, resolve_missing
from toolkit.frames.sums import Bounds

KEYS = ["n", "s", "nobody", OTHER]


def frame(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    hours = rng.normal(40, 15, rows)
    return pd.DataFrame(
        {
            "region": rng.choice(["n", "s", "e", "w"], rows),
            "hours": np.where(rng.random(rows) < 0.1, np.nan, hours),
            "pay": 10 * hours + rng.normal(0, 150, rows),
        }
    )


def curator(neighbors: str, ceiling: Any = None, **more: Any) -> Curator:
    return Curator(frame(), Ledger(ceiling or Pure(10**15), simulated=True), neighbors, **more)


@pytest.mark.slow
@each(missing=["drop", 30], verb=["mean", "variance", "std"], neighbors=["replace", "add_remove"])
def test_without_much_noise_they_are_those_of_pandas(verb: str, neighbors: str, missing: object) -> None:
    data = frame()
    hours = data["hours"].clip(0, 80)
    hours = hours if missing == "drop" else hours.fillna(30)
    region = data["region"].where(data["region"].isin(["n", "s"]), "other")
    truth = getattr(hours.groupby(region), {"variance": "var"}.get(verb, verb))()
    keeper = curator(neighbors)
    found = getattr(keeper, verb)("hours", bounds=(0, 80), missing=missing, by={"region": KEYS}, epsilon=10**12)
    assert found.labels == ("n", "s", "nobody", "other")
    kept = [0, 1, 3]
    assert found.value[kept] == pytest.approx([truth[k] for k in ("n", "s", "other")], rel=1e-4)
    numbers = hours.groupby(region).count()
    assert found.counts.value[kept] == pytest.approx([numbers[k] for k in ("n", "s", "other")], abs=1e-3)
    assert np.isfinite(found.value).all()
    low, high = found.interval()
    assert np.all((low[kept] <= found.value[kept] + 1e-9) & (found.value[kept] <= high[kept] + 1e-9))
    where = getattr(keeper, verb)("hours", bounds=(0, 80), missing=missing, where={"region": "n"}, epsilon=10**12)
    assert float(where) == pytest.approx(truth["n"], rel=1e-4)


@pytest.mark.slow
def test_a_mean_has_the_error_of_one_vector_in_the_curator_too() -> None:
    """n = 2000, all values in the middle, epsilon 0.2: the error is 10.0 in units of half the width over n; with 600
    runs the standard error is 0.3, and the tolerance is 4 standard errors.
    """
    data, rng = pd.DataFrame({"x": np.full(2000, 50.0)}), np.random.default_rng(1)
    keeper = Curator(data, Ledger(Pure(10**9), simulated=True), "add_remove")
    found = [float(keeper.mean("x", bounds=(0, 100), missing="drop", epsilon="1/5", rng=rng)) for _ in range(600)]
    assert np.std(found) * 2000 / 50 == pytest.approx(10.0, abs=1.2)


@pytest.mark.parametrize(("missing", "most"), [("drop", 80), (30, 80), ("drop", 1)])
def test_a_standard_deviation_is_the_root_of_the_variance(missing: object, most: int) -> None:
    """A standard deviation is the root of the variance, and its error follows from the slope."""
    said: dict[str, Any] = {"bounds": (0, most), "missing": missing, "epsilon": 1}
    data = frame().assign(hours=lambda d: d["hours"] * most / 80)
    keeper = Curator(data, Ledger(Pure(10), simulated=True), "replace")
    spread, squared = (
        getattr(keeper, verb)("hours", **said, rng=np.random.default_rng(5)) for verb in ("std", "variance")
    )
    assert float(spread) ** 2 == pytest.approx(float(squared))
    assert spread.se == pytest.approx(squared.se / (2 * float(spread)))


def test_several_columns_share_one_charge() -> None:
    keeper = curator("add_remove", Zcdp(1))
    bounds = {"hours": (0, 80), "pay": (0, 900)}
    found = keeper.mean(["pay", "hours"], bounds=bounds, missing="drop", by={"region": ["s", "n"]}, epsilon=1)
    assert found.axes == ("region", "column")
    assert found.labels == (("s", "pay"), ("s", "hours"), ("n", "pay"), ("n", "hours"))
    assert (keeper.ledger.spent, found.loss) == (Zcdp("1/4"), Pure(1))  # two halves: 1/8 each
    assert len(keeper.ledger.entries()) == 1
    assert np.sqrt(np.diag(found.cov)) == pytest.approx(found.se)
    low, high = found.interval()
    assert low.shape == high.shape == (4,)
    assert np.all((low <= found.value) & (found.value <= high) & (low < high))
    plain = keeper.mean(["hours", "pay"], bounds=bounds, missing={"hours": 40, "pay": "drop"}, rho="1/8")
    assert (plain.labels, plain.axes) == (("hours", "pay"), ("column",))
    assert "hours: missing counted as 40, pay: missing dropped" in plain.method
    for columns, wrong, message in (
        (["hours", "hours"], bounds, "distinct columns"),
        ([], bounds, "at least one"),
        (["hours", "pay"], (0, 1), "a mapping from column"),
        (["hours", "pay"], {"hours": (0, 1)}, "an entry for each column"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            keeper.mean(columns, bounds=wrong, missing="drop", epsilon=1)
    assert by_column("drop", "x", "missing") == "drop"


def test_a_missing_value_counts_as_any_number_within_the_bounds() -> None:
    limits = Bounds.of((0, 80), 10)
    assert [resolve_missing(fill, limits)[0] for fill in (0, 80, "1/2")] == [0, 80, Fraction(1, 2)]
    for beyond in (-0.01, 80.01):
        with pytest.raises(ValueError, match="within the bounds"):
            resolve_missing(beyond, limits)


def test_several_columns_are_near_the_truth() -> None:
    found = curator("replace").mean(
        ["pay", "hours"], bounds={"hours": (0, 80), "pay": (0, 900)}, missing="drop", epsilon=10**12
    )
    data = frame()
    assert found.value == pytest.approx([data["pay"].clip(0, 900).mean(), data["hours"].clip(0, 80).mean()], rel=1e-5)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_counts_come_along_only_where_their_number_is_private(neighbors: str) -> None:
    keeper = curator(neighbors)
    mean = keeper.mean("hours", bounds=(0, 80), missing=40, epsilon=1)
    assert (mean.counts is None) == (neighbors == "replace")
    dropped = keeper.mean("hours", bounds=(0, 80), missing="drop", epsilon=1)
    assert isinstance(dropped.counts, Estimate)
    assert dropped.counts.loss == dropped.loss == Pure(1)
    assert dropped.counts.labels == ("values behind mean of hours",)
    assert abs(float(dropped.counts) - 540) < 60


def test_a_mean_of_people_is_said_to_be_one_of_at_most_so_many_rows() -> None:
    data = pd.DataFrame({"id": [1] * 90 + list(range(2, 12)), "x": [100.0] * 90 + [0.0] * 10})
    keeper = Curator(data, Ledger(Pure(10**15)), "add_remove", person="id", rows=1)
    found = keeper.mean("x", bounds=(0, 100), missing="drop", epsilon=10**12)
    assert float(found) == pytest.approx(100 / 11)
    assert "at most 1 row of a person (id)" in repr(found)
    assert "at most 1 row of a person (id)" in repr(keeper)


def test_the_noise_grows_with_the_rows_of_a_person() -> None:
    data = frame().assign(id=range(600))
    ses = [
        Curator(data, Ledger(Pure(10)), "replace", person="id", rows=m)
        .mean("pay", bounds=(0, 900), missing="drop", by={"region": ["n", "s"]}, epsilon=1)
        .counts.se[0]
        for m in (1, 3)
    ]
    assert ses[1] == pytest.approx(3 * ses[0])
