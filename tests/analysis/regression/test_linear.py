"""Randomized numbers as outcomes: least squares with sandwich errors, against numbers computed by another code."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from toolkit import forced, k_ary
from toolkit.analysis import linear
from toolkit.analysis.regression.linear import _randomization_variance
from toolkit.local import numeric

E = np.e


@pytest.fixture(scope="module")
def frame():
    rng, n = np.random.default_rng(51), 4000
    x = rng.normal(size=n)
    g = (rng.random(n) < 0.5) * 1.0
    t = np.clip(0.1 + 0.2 * x + 0.15 * g + 0.3 * rng.normal(size=n), -1, 1)
    top = (E + 1) / (E - 1)
    bit = np.where(rng.random(n) < 0.5 + t / (2 * top), 1, -1)
    noisy = t + rng.laplace(scale=2, size=n)
    return {"t": t, "x": x, "g": g, "c": np.arange(n) % 50, "bit": (bit > 0) * 1, "score": top * bit, "noisy": noisy}


REFERENCE = {
    "t": ([0.103699, 0.203817, 0.143563], [0.006715, 0.004842, 0.009622], [0.006585, 0.004385, 0.010164]),
    "score": ([0.151961, 0.206082, 0.063026], [0.047804, 0.033873, 0.067905], [0.059058, 0.029491, 0.070023]),
    "noisy": ([0.099973, 0.258629, 0.076877], [0.060583, 0.041909, 0.086760], [0.052276, 0.043777, 0.078341]),
}


@pytest.mark.parametrize("outcome", REFERENCE)
def test_coefficients_and_both_errors_are_those_of_another_code(frame, outcome) -> None:
    value, robust, clustered = REFERENCE[outcome]
    fit = linear(f"{outcome} ~ x + g", frame, se="HC1")
    assert fit.value == pytest.approx(value, abs=1e-6)
    assert fit.se == pytest.approx(robust, abs=1e-6)
    by_cluster = linear(f"{outcome} ~ x + g", frame, clusters="c")
    assert by_cluster.se == pytest.approx(clustered, abs=1e-6)
    assert by_cluster.provenance.df == 49
    assert "design errors" in by_cluster.method


def test_reports_are_read_by_the_randomizer_that_made_them(frame) -> None:
    """One bit at epsilon 1 has the scores ±(e + 1) / (e - 1)."""
    device = numeric.one_bit((-1, 1), 1)
    for table in (frame, pd.DataFrame(frame), pl.DataFrame(frame)):
        fit = linear("bit ~ x + g", table, device, se="HC1")
        assert fit.value == pytest.approx(REFERENCE["score"][0], abs=1e-6)
        assert fit.se == pytest.approx(REFERENCE["score"][1], abs=1e-6)
    assert fit.loss == device.loss
    assert fit.covers == "sampling and randomization"
    assert linear("score ~ x", frame).covers == "sampling"


@pytest.mark.parametrize("make", ["one_bit", "piecewise", "hybrid", "local_laplace"])
def test_every_randomizer_of_numbers_leads_to_the_truth(make: str) -> None:
    """Within 4.5 standard errors: three coefficients of four randomizers fail once in 12,000 seeds."""
    rng, n = np.random.default_rng(5), 20_000
    x, g = rng.uniform(-1, 1, n), rng.integers(0, 2, n)
    truth = 20 + 4 * x + 6 * g + rng.uniform(-5, 5, n)
    device = getattr(numeric, make)((0, 60), 2)
    fit = linear("r ~ x + g", {"r": device.randomize(truth, rng=rng), "x": x, "g": g}, device)
    assert np.all(np.abs(fit.value - [20, 4, 6]) < 4.5 * fit.se)


def test_scrambled_numbers_and_yes_or_no_are_outcomes_too() -> None:
    """RRlin of RRreg: a number plus a random number from a known distribution. A die: differences of shares."""
    rng, n = np.random.default_rng(6), 4000
    group = rng.integers(0, 2, n)
    cards = numeric.additive((0, 10), {0: "1/2", 5: "1/4", -5: "1/4"})
    fit = linear("r ~ g", {"r": cards.randomize(rng.integers(0, 6, n) + 3 * group, rng=rng), "g": group}, cards)
    assert np.all(np.abs(fit.value - [2.5, 3]) < 4.5 * fit.se)
    die = forced("1/6", "1/6")
    report = die.randomize(rng.random(n) < 0.2 + 0.2 * group, rng=rng)
    shares = linear("r ~ g", {"r": report, "g": group}, die, se="HC1")
    one, zero = (die.estimate(report[group == side]) for side in (1, 0))
    assert shares.value == pytest.approx([zero.value, one.value - zero.value])
    assert shares.se[1] == pytest.approx((one - zero).se, rel=1e-3)


def test_an_item_sum_is_two_separate_regressions() -> None:
    rng, n = np.random.default_rng(52), 2000
    x = rng.normal(size=n)
    on = rng.random(n) < 0.5
    others = np.exp(0.5 + 0.2 * x + 0.3 * rng.normal(size=n))
    hidden = np.maximum(0, 2 + 0.8 * x + rng.normal(size=n))
    data = {"y": others + on * hidden, "x": x, "on": on}
    fit = linear("y ~ x", data, treatment="on", se="HC1")
    assert fit.value[:2] == pytest.approx([2.023115, 0.678573], abs=1e-6)
    assert fit.se[:2] == pytest.approx([0.039352, 0.037042], abs=1e-6)
    assert fit.labels[2:] == ("other items: Intercept", "other items: x")
    apart = [linear("y ~ x", {name: values[side] for name, values in data.items()}) for side in (on, ~on)]
    assert fit.value[:2] == pytest.approx(apart[0].value - apart[1].value)
    assert fit.predict({"x": [0.0]}).value == pytest.approx(fit.value[:1])
    most = fit.predict({"x": x[:1000]})
    assert np.sqrt(np.diag(most.cov)) == pytest.approx(most.se)
    assert fit.predict({"x": x[:1001]}).cov is None  # a huge matrix
    assert float(fit.margins("x")) == pytest.approx(fit.value[1])


@pytest.mark.slow
def test_several_outcomes_have_one_covariance(frame) -> None:
    both = linear("t + noisy ~ x", frame)
    alone = [linear(f"{name} ~ x", frame) for name in ("t", "noisy")]
    assert both.labels == ("t: Intercept", "t: x", "noisy: Intercept", "noisy: x")
    assert both.value == pytest.approx(np.concatenate([one.value for one in alone]))
    assert both.se == pytest.approx(np.concatenate([one.se for one in alone]))
    difference = linear("d ~ x", frame | {"d": frame["t"] - frame["noisy"]})
    assert both.contrast({"t: x": 1, "noisy: x": -1}).se == pytest.approx(difference.se[1])
    predicted, apart = both.predict({"x": [0.0, 1.0]}), [one.predict({"x": [0.0, 1.0]}) for one in alone]
    assert predicted.labels == ("0: t", "0: noisy", "1: t", "1: noisy")
    assert predicted.value == pytest.approx(np.ravel([one.value for one in apart], order="F"))
    assert predicted.se == pytest.approx(np.ravel([one.se for one in apart], order="F"))
    mixed = linear("bit + t ~ x", frame, {"bit": numeric.one_bit((-1, 1), 1), "t": None})
    assert mixed.loss is None
    assert both.plot("x").get_ylabel() == "mean prediction"


def test_errors_with_leverage_are_those_of_the_formula() -> None:
    """HC3 by hand: residuals over 1 - h, with t on n - k."""
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=30), rng.normal(size=30)
    rows = np.column_stack([np.ones(30), x])
    inverse = np.linalg.inv(rows.T @ rows)
    left = (y - rows @ inverse @ rows.T @ y) / (1 - np.diag(rows @ inverse @ rows.T))
    fit = linear("y ~ x", {"y": y, "x": x})
    assert fit.cov == pytest.approx(inverse @ rows.T @ np.diag(left**2) @ rows @ inverse)
    assert fit.interval().high - fit.interval().low == pytest.approx(2 * 2.048407141795244 * fit.se)
    smaller = linear("y ~ 1", {"y": y, "x": x})
    assert fit.compare(smaller).p == pytest.approx(float(fit["x"].test().p))


@pytest.mark.parametrize(
    "device",
    [
        numeric.one_bit((5, 60), 1),
        numeric.piecewise((-3, -1), 2),
        numeric.local_laplace((2, 4), 1),
        forced("1/6", "1/3"),
    ],
    ids=lambda device: device.name,
)
def test_no_error_is_below_that_of_the_device_alone(device) -> None:
    """The variance if all people have the same number, or at a share; beyond the bounds, at the nearest bound."""
    low, high = map(float, device.bounds or (0, 1))
    means = np.array([low - 1, low, 0.7 * low + 0.3 * high, high, high + 1])
    same = {} if device.bounds is None else {"sd": 0}
    known = [device.variance(float(mean), 1, **same) for mean in np.clip(means, low, high)]
    assert _randomization_variance(device, means) == pytest.approx(known)
    assert _randomization_variance(None, means).tolist() == [0] * 5
    alike = {
        "r": np.ones(10) if device.bounds is None else device.randomize(np.full(10, high), rng=np.random.default_rng(0))
    }
    alike["r"][:] = alike["r"][0]
    for se in (None, "HC1"):
        fit = linear("r ~ 1", alike, device, se=se)
        floor = np.sqrt(_randomization_variance(device, fit.value) / 10)
        assert fit.se == pytest.approx(floor if se is None else [0], abs=1e-9)


def test_what_cannot_be_an_outcome_is_refused(frame) -> None:
    with pytest.raises(ValueError, match="must have two options, got 3"):
        linear("bit ~ x", frame, k_ary(3, epsilon=1.0))
    with pytest.raises(TypeError, match="reports with scores, got SquareWave"):
        linear("bit ~ x", frame, numeric.square_wave((0, 1), 1))
    with pytest.raises(TypeError, match="must have scores, like one_bit"):
        linear("bit ~ x", frame, "one_bit")
    with pytest.raises(ValueError, match="must name every outcome, got none of t"):
        linear("bit + t ~ x", frame, {"bit": numeric.one_bit((-1, 1), 1)})
    with pytest.raises(ValueError, match="an item sum must be one number"):
        linear("t + noisy ~ x", frame, treatment="g")
    with pytest.raises(ValueError, match="`se` must be left out"):
        linear("t ~ x", frame, clusters="c", se="HC1")
    with pytest.raises(TypeError, match="must hold its rows in order, got LazyFrame"):
        linear("t ~ x", pl.LazyFrame(frame))
    with pytest.raises(ValueError, match="must depend on several people, got 1 that depend on one person"):
        linear("y ~ x", {"y": [1.0, 2.0, 3.0, 5.0], "x": [0, 0, 0, 1]})
    assert linear("y ~ x", {"y": [1.0, 2.0, 4.0], "x": [0.0, 1.0, 2.0]}).provenance.df == 1
    with pytest.raises(ValueError, match="more people than coefficients, got 2"):
        linear("y ~ x", {"y": [1.0, 2.0], "x": [0.0, 1.0]})
