"""Weights say how many people a row stands for, or in proportion to that: no result depends on their scale."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from toolkit import forced, k_ary
from toolkit.analysis import (
    LogisticFit,
    MultinomialFit,
    OrdinalFit,
    PredictorFit,
    Replicates,
    Sample,
    cheater_detection,
    linear,
    list_experiment,
    logistic,
    mixed_logistic,
    multinomial,
    ordinal,
    predictor,
)

DIE, THREE = forced("1/6", "1/6"), k_ary(("a", "b", "c"), epsilon=2.0)


def survey() -> pd.DataFrame:
    rng, n = np.random.default_rng(12), 400
    x, group = rng.normal(size=n), np.arange(n) % 40
    yes, version = rng.random(n) < 1 / (1 + np.exp(1 - 1.2 * x)), rng.integers(2, size=n)
    told = rng.random(n) < np.where(version, 0.8, 0.2)
    frame = pd.DataFrame({"x": x, "g": group, "c": group % 3, "v": version, "w": rng.gamma(2, size=n) + 0.1})
    frame["all"] = (1 + rng.random(40))[group]
    frame["r"], frame["k"] = DIE.randomize(yes, rng), THREE.randomize(yes + rng.integers(0, 2, n), rng)
    frame["pay"], frame["ill"] = 1 + yes + 0.5 * x + rng.normal(size=n), rng.random(n) < 0.3 + 0.4 * yes
    frame["y"], frame["said"] = rng.binomial(4, 0.4, n) + (yes & (version == 1)), yes | (told & (rng.random(n) < 0.9))
    frame["times"] = 1 + np.arange(n) % 3
    return frame.assign(half=frame.w * np.where(group % 2, 1.5, 0.5), other=frame.w * np.where(group % 2, 0.5, 1.5))


def by(model: Any, formula: str, *rest: Any, **options: Any) -> Any:
    return lambda frame: model(formula, frame, *rest, **({"weights": "w"} | options))


WEIGHTED: dict[str, Any] = {
    "logistic": by(logistic, "r ~ x", DIE),
    "penalized": by(logistic, "r ~ x", DIE, penalty="jeffreys"),
    "persons": by(logistic, "r ~ x", DIE, penalty="jeffreys", times="times"),
    "sample": by(logistic, "r ~ x", DIE, weights=None, sample=Sample("w", "c", "g")),
    "finite": by(logistic, "r ~ x", DIE, weights=None, sample=Sample("w", population=900)),
    "replicates": by(
        logistic, "r ~ x", DIE, weights=None, sample=Replicates.given("w", ["half", "other"], kind="BRR", df=2)
    ),
    "known totals": lambda frame: logistic(
        "r ~ x",
        frame,
        DIE,
        penalty="jeffreys",
        sample=Sample("w").poststratified("c", {0: 4 * frame.w.sum(), 1: 5 * frame.w.sum(), 2: 3 * frame.w.sum()}),
    ),
    "multinomial": by(multinomial, "k ~ x", THREE),
    "multinomial, penalized": by(multinomial, "k ~ x", THREE, penalty="jeffreys"),
    "multinomial, finite": by(multinomial, "k ~ x", THREE, weights=None, sample=Sample("w", population=900)),
    "ordinal": by(ordinal, "k ~ x", THREE),
    "ordinal, penalized": by(ordinal, "k ~ x", THREE, penalty="jeffreys"),
    "ordinal, finite": by(ordinal, "k ~ x", THREE, weights=None, sample=Sample("w", population=900)),
    "ordinal, replicates": by(
        ordinal, "k ~ x", THREE, weights=None, sample=Replicates.given("w", ["half", "other"], kind="BRR", df=2)
    ),
    "predictor": by(predictor, "pay ~ r", {"r": DIE}),
    "predictor, penalized": by(predictor, "pay ~ r", {"r": DIE}, penalty="jeffreys"),
    "predictor, logistic": by(predictor, "ill ~ r", {"r": DIE}, family="logistic", penalty="jeffreys"),
    "linear": by(linear, "r ~ x", DIE, clusters="g"),
    "lists": by(list_experiment, "y ~ x", treatment="v", items=4),
    "lists, likelihood": by(list_experiment, "y ~ x", treatment="v", items=4, method="ml", clusters="g"),
    "cheaters": by(cheater_detection, "said ~ 1", p={0: 0.2, 1: 0.8}, group="v"),
    "mixed": by(mixed_logistic, "r ~ x", DIE, group="g", weights="all"),
}


def results(fit: Any) -> list[float]:
    numbers = [fit.value, fit.se, fit.llf, fit.n]
    if hasattr(fit, "margins") and not isinstance(fit, PredictorFit):
        numbers += [fit.margins().value, fit.margins().se]
    if isinstance(fit, LogisticFit | MultinomialFit | OrdinalFit) and not fit.provenance.is_penalized:
        numbers += [fit.margins(respondents="sample").se]
    if hasattr(fit, "agreement"):
        numbers += [float(fit.difference), fit.difference.se, fit.agreement.p]
    return [float(one) for many in numbers for one in np.ravel(many)]


SLOW = ("predictor", "predictor, penalized", "predictor, logistic", "mixed", "lists, likelihood")


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.slow) if one in SLOW else one for one in WEIGHTED]
)
def test_no_result_depends_on_the_scale_of_the_weights(name: str) -> None:
    frame, fit = survey(), WEIGHTED[name]
    expected = results(fit(frame))
    for scale in (1e-20, 1e20, 1 / frame.w.sum()):
        scaled = frame.assign(**{one: frame[one] * scale for one in ("w", "half", "other", "all")})
        assert results(fit(scaled)) == pytest.approx(expected, rel=1e-8, abs=1e-8, nan_ok=True)


@pytest.mark.parametrize("yes", [99, 101])
def test_rejecting_a_fit_does_not_depend_on_the_unit_of_its_weights(yes: int) -> None:
    """The die alone makes 100 of 600 say yes: of 99 the likeliest share is 0, of 101 it is 0.0025, a weak maximum."""
    frame = pd.DataFrame({"g": np.repeat([0, 1], 600), "r": np.r_[np.arange(600) < 240, np.arange(600) < yes]})
    for weight in (1.0, 100.0, 1e-20):
        weights = np.full(1200, weight)
        if yes < 100:
            with pytest.raises(ValueError, match="coefficients grow without limit"):
                logistic("r ~ g", frame, DIE, weights=weights)
        else:
            fit = logistic("r ~ g", frame, DIE, weights=weights)
            assert expit(fit.value.sum()) == pytest.approx((101 / 600 - 1 / 6) / (2 / 3), rel=1e-6)
