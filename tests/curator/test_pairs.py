"""Covariances and correlations of two columns."""

import numpy as np
import pandas as pd
import pytest

from toolkit import Curator, Ledger, Pure

BOUNDS = {"x": (-3, 3), "y": (0, 10)}


def frame(rows: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    x = rng.normal(0, 1, rows)
    y = 5 + x + rng.normal(0, 1, rows)
    return pd.DataFrame({"x": x, "y": np.where(rng.random(rows) < 0.1, np.nan, y), "g": rng.choice(["a", "b"], rows)})


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_without_much_noise_they_are_those_of_pandas(neighbors: str) -> None:
    """The grid has 2**12 steps."""
    data = frame().assign(x=lambda d: d["x"].clip(-3, 3), y=lambda d: d["y"].clip(0, 10))
    keeper = Curator(frame(), Ledger(Pure(10**19)), neighbors)
    for verb, frames in (("covariance", "cov"), ("correlation", "corr")):
        found = getattr(keeper, verb)("x", "y", bounds=BOUNDS, missing="drop", epsilon=10**15)
        assert float(found) == pytest.approx(getattr(data["x"], frames)(data["y"]), rel=1e-3)
        table = getattr(keeper, verb)("x", "y", bounds=BOUNDS, missing="drop", by={"g": ["b", "a"]}, epsilon=10**15)
        truth = [getattr(part["x"], frames)(part["y"]) for _, part in data.groupby("g")]
        assert table.value == pytest.approx(truth[::-1], rel=1e-3)
        filled = getattr(keeper, verb)("x", "y", bounds=BOUNDS, missing={"x": 0, "y": 5}, epsilon=10**15)
        assert float(filled) == pytest.approx(getattr(data["x"], frames)(data["y"].fillna(5)), rel=1e-3)
        assert float(filled.interval().low) <= float(filled) <= float(filled.interval().high)


def test_under_replace_a_public_number_makes_a_covariance_more_precise() -> None:
    """A covariance is one number with noise for the product of the widths over n, not a table of nine numbers."""
    keeper = Curator(frame(), Ledger(Pure(100)), "replace")
    filled = keeper.covariance("x", "y", bounds=BOUNDS, missing={"x": 0, "y": 5}, epsilon=1)
    assert filled.se == pytest.approx(np.sqrt(2) * 60 / 500, rel=0.01)
    dropped = keeper.covariance("x", "y", bounds=BOUNDS, missing="drop", epsilon=1)
    assert dropped.se > filled.se
    assert dropped.counts is not None
    assert filled.method.startswith("covariance of x and y, x: missing counted as 0, y: missing counted as 5")


def test_what_an_interval_of_a_correlation_is_worth_is_said() -> None:
    keeper = Curator(frame(), Ledger(Pure(100)), "add_remove")
    found = keeper.correlation("x", "y", bounds=BOUNDS, missing="drop", epsilon=5)
    assert found.interval().method == "linear"
    assert any("linear approximation" in note for note in found.notes)
    assert np.shape(found.value) == ()


@pytest.mark.slow
def test_what_noise_makes_impossible_is_cut_to_what_two_values_could_have() -> None:
    """Two people at opposite ends: half the squared distance of the bounds, twice; for two columns the product of the
    distances.
    """
    keeper, rng = Curator(frame(4), Ledger(Pure(100), simulated=True), "add_remove"), np.random.default_rng(5)
    more = {"missing": "drop", "epsilon": "1/100", "rng": rng}
    for verb, columns, bounds, ends in (
        ("mean", ("y",), (0, 10), (0, 10)),
        ("variance", ("y",), (0, 10), (0, 50)),
        ("std", ("y",), (0, 10), (0, 50**0.5)),
        ("covariance", ("x", "y"), BOUNDS, (-30, 30)),
        ("correlation", ("x", "y"), BOUNDS, (-1, 1)),
    ):
        found = [getattr(keeper, verb)(*columns, bounds=bounds, **more) for _ in range(40)]
        for numbers in (list(map(float, found)), [limit for one in found for limit in one.interval()]):
            assert (np.nanmin(numbers), np.nanmax(numbers)) == pytest.approx(ends, rel=1e-6)


def test_bounds_are_given_by_name() -> None:
    keeper = Curator(frame(), Ledger(Pure(1)), "add_remove")
    for bounds in ((0, 1), {"x": (0, 1)}):
        with pytest.raises((ValueError, TypeError), match="bounds"):
            keeper.covariance("x", "y", bounds=bounds, missing="drop", epsilon=1)
    with pytest.raises(ValueError, match="missing"):
        keeper.correlation("x", "y", bounds=BOUNDS, epsilon=1)
    assert keeper.ledger.spent == Pure(0)
