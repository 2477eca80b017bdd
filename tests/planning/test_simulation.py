"""Power by simulation: of analyses whose power is known, and of any other."""

import numpy as np
import pandas as pd
import pytest

from toolkit import forced
from toolkit.analysis import estimates, logistic
from toolkit.planning import plan, plan_by_simulation, plan_slope

DIE = forced("1/6", "1/6")


def _reports(share: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(n) < 2 / 3, rng.random(n) < share, rng.random(n) < 0.5)


@pytest.mark.slow
def test_power_of_one_share_is_the_one_that_is_counted() -> None:
    """600 surveys: 5 standard errors are a false alarm of 6e-7."""
    counted = plan(DIE, prevalence=0, detect=0.1, n=277).power
    simulated = plan_by_simulation(DIE.estimate, lambda n, rng: _reports(0.1, n, rng), 277, repeats=600, rng=5)
    (row,) = simulated.rows
    assert row["power"] == pytest.approx(counted, abs=5 * np.sqrt(counted * (1 - counted) / 600))
    assert row["low"] < row["power"] < row["high"]
    assert row["margin"] == pytest.approx(plan(DIE, prevalence=0.1, n=277).margin, rel=0.1)
    again = plan_by_simulation(DIE.estimate, lambda n, rng: _reports(0.1, n, rng), 277, repeats=600, rng=5)
    assert again.rows == simulated.rows


@pytest.mark.slow
def test_a_model_with_a_covariate_of_two_values_reaches_its_planned_power() -> None:
    """200 surveys fitted by `logistic`: 4.5 standard errors are a false alarm of 7e-6; the few without a finite maximum
    detect nothing, in both.
    """
    planned = plan_slope(DIE, intercept=-1, slope=1.2, covariate=0.1, power=0.8)

    def truth(n: int, rng: np.random.Generator) -> pd.DataFrame:
        x = rng.random(n) < 0.1
        return pd.DataFrame({"x": x * 1, "y": _reports(1 / (1 + np.exp(1 - 1.2 * x)), n, rng)})  # type: ignore[arg-type]

    found = plan_by_simulation(lambda frame: logistic("y ~ x", frame, DIE)["x"], truth, planned.n, repeats=200, rng=2)
    assert found.rows[0]["power"] == pytest.approx(0.8, abs=4.5 * np.sqrt(0.16 / 200))


@pytest.mark.slow
def test_several_numbers_and_several_kinds_of_result() -> None:
    def truth(n: int, rng: np.random.Generator) -> pd.DataFrame:
        group = np.arange(n) % 2
        return pd.DataFrame({"a": np.where(_reports(0.1 + 0.5 * group, n, rng), "yes", "no"), "g": group})  # type: ignore[arg-type]

    analyses = (
        lambda frame: estimates(frame, {"a": DIE}, by="g").homogeneity("a"),
        lambda frame: estimates(frame, {"a": DIE}, by="g").differences(0).p.item(),
        lambda frame: bool(estimates(frame, {"a": DIE}, by="g").differences(0).low.item() > 0),
    )
    for analysis in analyses:
        found = plan_by_simulation(analysis, truth, [20, 200], repeats=12, rng=1)
        table = found.to_frame()
        assert table.n.tolist() == [20, 200]
        assert table.power[0] < table.power[1]
        assert np.isnan(table.margin).all()


def test_a_p_value_at_the_level_detects_and_those_from_0_to_1_are_taken() -> None:
    for p, power in ((0, 1), (0.5, 1), (np.nextafter(0.5, 1), 0), (1, 0)):
        assert plan_by_simulation(lambda _, p=p: p, lambda *_: 0, 5, repeats=2, level=0.5).rows[0]["power"] == power
    with pytest.raises(ValueError, match="`repeats`"):
        plan_by_simulation(lambda _: 0.5, lambda *_: 0, 5, repeats=1)


def test_what_cannot_be_analyzed_detects_nothing_and_is_counted() -> None:
    def analysis(number: float) -> float:
        if number < 0.5:
            raise ValueError("no maximum")
        return 0.001

    found = plan_by_simulation(analysis, lambda _, rng: rng.random(), 5, repeats=100, rng=1)
    assert found.rows[0]["power"] + found.rows[0]["refused"] / 100 == pytest.approx(1)
    assert "could not be analyzed, and detect nothing" in repr(found)
    with pytest.raises(ValueError, match="no maximum"):
        plan_by_simulation(analysis, lambda *_: 0.0, 5, repeats=10)
    for result in ("yes", [0.1, 0.2], 1.5):
        with pytest.raises(TypeError, match="must lead to one test"):
            plan_by_simulation(lambda _, result=result: result, lambda *_: 0, 5, repeats=10)
