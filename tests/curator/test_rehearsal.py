"""Rehearsed releases: their errors are those of clamping and noise; nothing is charged or read."""

import math

import numpy as np
import pandas as pd
import pytest

from toolkit import Curator, Ledger, Pure, Zcdp
from toolkit.show import tradeoffs

OLD = pd.DataFrame(
    {
        "pay": np.random.default_rng(1).lognormal(8, 0.5, 1000),
        "age": np.random.default_rng(2).uniform(18, 90, 1000),
        "sex": ["f", "m"] * 500,
    }
)
BOUNDS = [(0, 4000), (0, 10_000)]


def curator(neighbors: str = "replace", **settings) -> Curator:
    frame = pd.DataFrame({"pay": [0.0] * 50, "age": [0.0] * 50, "sex": ["f"] * 50})
    return Curator(frame, Ledger(Zcdp(1)), neighbors, **settings)


def test_the_error_of_clamping_is_that_of_the_clipped_mean() -> None:
    trial = curator().rehearse(OLD, "mean", "pay", bounds=BOUNDS, epsilon=[10], missing=0, runs=2)
    expected = [np.clip(OLD.pay, *limits).mean() - OLD.pay.mean() for limits in BOUNDS]
    np.testing.assert_allclose(trial.clamping[:, 0], expected, rtol=1e-5)


def test_the_error_of_noise_is_its_standard_deviation() -> None:
    """Laplace noise of scale width / (n epsilon) on the mean, and Gaussian noise of width / (n sqrt(2 rho)).

    400 draws: the root mean square has a relative standard error of at most sqrt(5 / 400) / 2 = 0.056; five are 0.28.
    """
    rng, keeper = np.random.default_rng(3), curator()
    arguments = {"bounds": BOUNDS, "missing": 0, "runs": 400, "rng": rng}
    laplace = keeper.rehearse(OLD, "mean", "pay", epsilon=[0.5, 2], **arguments)
    gauss = keeper.rehearse(OLD, "mean", "pay", rho=[0.5], **arguments)
    for b, (_, high) in enumerate(BOUNDS):
        for p, epsilon in enumerate((0.5, 2)):
            assert laplace.noise[b, p, 0] == pytest.approx(math.sqrt(2) * high / 1000 / epsilon, rel=0.28)
        assert gauss.noise[b, 0, 0] == pytest.approx(high / 1000, rel=0.28)
    # the noise and the clamping are uncorrelated up to chance, of which the same five standard errors are allowed
    expected = np.hypot(laplace.noise, laplace.clamping[:, None, :])
    np.testing.assert_allclose(laplace.total, expected, rtol=0.28)


def test_little_noise_makes_wide_bounds_best_and_much_noise_narrow_ones() -> None:
    trial = curator().rehearse(
        OLD, "mean", "pay", bounds=[*BOUNDS, (0, 10**7)], epsilon=[0.01, 1, 10**6], missing="drop", runs=20
    )
    assert list(trial.best.values()) == ["0 to 4000", "0 to 10000", "0 to 1e+07"]
    assert "epsilon 1: 0 to 10000" in repr(trial)


def test_every_statistic_with_bounds_can_be_rehearsed() -> None:
    keeper, both = curator(), [{"pay": (0, 9000), "age": (18, 80)}, {"pay": (0, 99_000), "age": (18, 100)}]
    exact = OLD[["pay", "age"]].cov().iloc[0, 1]
    for name, columns, bounds, options in (
        ("sum", ["pay"], BOUNDS, {"missing": "drop"}),
        ("variance", ["pay"], BOUNDS, {"missing": "drop"}),
        ("std", ["pay"], BOUNDS, {"missing": 1000}),
        ("covariance", ["pay", "age"], both, {"missing": "drop"}),
        ("correlation", ["pay", "age"], both, {"missing": "drop"}),
        ("mean", [["pay", "age"]], both, {"missing": "drop"}),
        ("median", ["pay"], BOUNDS, {}),
        ("quantile", ["pay", 0.9], BOUNDS, {}),
    ):
        trial = keeper.rehearse(OLD, name, *columns, bounds=bounds, epsilon=[100], runs=3, **options)
        assert np.isfinite(trial.total).all()
        assert len(trial.to_frame()) == 2 * len(trial.cells)
        if name == "covariance":
            wide = keeper.rehearse(OLD, name, *columns, bounds=both[1:], epsilon=[10**8], runs=1, **options)
            assert wide.total[0, 0, 0] < 1e-3 * abs(exact)


def test_a_table_has_errors_for_each_cell() -> None:
    trial = curator("add_remove").rehearse(
        OLD, "sum", "pay", bounds=BOUNDS, epsilon=[1], missing="drop", by={"sex": ["f", "m"]}, runs=2
    )
    clipped = OLD.assign(pay=np.clip(OLD.pay, *BOUNDS[0])).groupby("sex").pay.sum() - OLD.groupby("sex").pay.sum()
    assert trial.cells == ("f", "m")
    np.testing.assert_allclose(trial.clamping[0], clipped, rtol=1e-5)
    assert trial.to_frame().cell.tolist() == ["f", "m"] * 2


def test_nothing_is_charged_and_the_confidential_frame_is_not_read(monkeypatch) -> None:
    keeper = curator()
    for name in ("batches", "copy"):
        monkeypatch.setattr(keeper._frame, name, None)
    monkeypatch.setattr(keeper._frame, "_table", None)
    keeper.rehearse(OLD, "mean", "pay", bounds=BOUNDS, rho=[1], missing="drop", runs=1)
    assert keeper.ledger.entries() == ()
    assert keeper.ledger.spent == Zcdp(0)


def test_the_settings_of_the_curator_apply() -> None:
    """With three rows per person, the noise of a sum is three times as large; five standard errors of 400 draws."""
    people = OLD.assign(id=np.arange(1000) // 2)
    frame = pd.DataFrame({"pay": [1.0], "age": [1.0], "id": [1]})
    keeper = Curator(frame, Ledger(Pure(1)), "add_remove", person="id", rows=3)
    arguments = {"bounds": [(0, 1000)], "epsilon": [1], "missing": 0, "runs": 400, "rng": np.random.default_rng(4)}
    trial = keeper.rehearse(people, "sum", "pay", **arguments)
    assert trial.noise[0, 0, 0] == pytest.approx(math.sqrt(2) * 3 * 1000, rel=0.28)


def test_what_cannot_be_rehearsed_is_an_error() -> None:
    frame = pd.DataFrame({"pay": [1.0, 2.0]})
    keeper = Curator(frame, Ledger(Pure(1)), "replace")
    with pytest.raises(ValueError, match="needs a public frame"):
        keeper.rehearse(frame, "mean", "pay", bounds=BOUNDS, epsilon=[1], missing="drop")
    with pytest.raises(ValueError, match="`statistic` must be"):
        keeper.rehearse(OLD, "count", bounds=BOUNDS, epsilon=[1])
    with pytest.raises(ValueError, match="`epsilon` or `rho` must list prices, got none"):
        keeper.rehearse(OLD, "mean", "pay", bounds=BOUNDS, missing="drop")
    with pytest.raises(TypeError, match="`epsilon` must be a list, got int"):
        keeper.rehearse(OLD, "mean", "pay", bounds=BOUNDS, epsilon=1, missing="drop")
    arrays = keeper.rehearse(OLD, "mean", "pay", bounds=BOUNDS, epsilon=np.array([0.5, 1]), missing="drop", runs=1)
    assert arrays.prices == ("epsilon 0.5", "epsilon 1")
    with pytest.raises(ValueError, match="`bounds` must not be empty"):
        keeper.rehearse(OLD, "mean", "pay", bounds=[], epsilon=[1], missing="drop")


def test_the_picture_has_a_line_for_each_price_and_one_for_clamping() -> None:
    trial = curator().rehearse(OLD, "mean", "pay", bounds=BOUNDS, epsilon=[0.1, 1], missing="drop", runs=3)
    lines = trial.plot().lines
    assert len(lines) == 3
    np.testing.assert_allclose(lines[0].get_ydata(), trial.total[:, 0, 0])
    np.testing.assert_allclose(lines[2].get_ydata(), np.abs(trial.clamping[:, 0]))
    assert "by bounds: epsilon 0.1 is best with" in tradeoffs.rehearsed_errors(trial).alt
