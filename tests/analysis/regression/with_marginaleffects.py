"""Fits as models of marginaleffects: its averages are the margins of the fit, where both are defined.

`test_marginal_effects.py` runs these tests, in an environment that has marginaleffects.
"""

import numpy as np
import pandas as pd
import pytest

from toolkit import forced, k_ary
from toolkit.analysis import logistic, multinomial, ordinal

DIE = forced("1/6", "1/6")


def frame(n=2000):
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"age": rng.integers(18, 70, n), "sex": rng.choice(["f", "m"], n), "w": rng.uniform(1, 3, n)})
    truth = rng.random(n) < 1 / (1 + np.exp(2 - 0.03 * data["age"]))
    return data.assign(report=DIE.randomize(truth, rng))


def compare(found, estimate):
    assert found["estimate"].to_numpy() == pytest.approx(np.atleast_1d(estimate.value), abs=1e-6)
    assert found["std_error"].to_numpy() == pytest.approx(np.atleast_1d(estimate.se), rel=1e-3)


def test_averages_of_a_logistic_fit_are_its_margins():
    import marginaleffects

    fit = logistic("report ~ age", frame(), DIE)
    model = fit.to_marginaleffects()
    compare(marginaleffects.avg_predictions(model), fit.margins())
    compare(marginaleffects.avg_slopes(model, variables="age"), fit.margins("age"))
    compare(
        marginaleffects.avg_predictions(model, variables={"age": [20, 60]}, by="age"),
        fit.margins("age", levels=[20, 60]),
    )


@pytest.mark.filterwarnings("ignore:.*get_categories.*:DeprecationWarning")
def test_differences_between_categories_are_the_margins():
    import marginaleffects

    fit = logistic("report ~ age + sex", frame(), DIE)
    compare(marginaleffects.avg_comparisons(fit.to_marginaleffects(), variables="sex"), fit.margins("sex"))


def test_weighted_averages_and_t_intervals():
    import marginaleffects

    fit = logistic("report ~ age", frame(), DIE, weights="w")
    found = marginaleffects.avg_predictions(fit.to_marginaleffects(), wts="row_weight")
    compare(found, fit.margins())
    plain = fit.margins()
    quantile = (found["conf_high"][0] - found["estimate"][0]) / found["std_error"][0]
    assert quantile == pytest.approx((plain.interval().high - plain.value) / plain.se, rel=1e-6)


def test_models_of_several_options_have_a_group_for_each():
    import marginaleffects

    rng = np.random.default_rng(6)
    scale, age = k_ary(("low", "medium", "high"), epsilon=1.5), rng.normal(size=2000)
    reports = scale.randomize(np.digitize(age + rng.logistic(size=2000), [-1, 1]), rng)
    for fit in (ordinal("report ~ age", {"report": reports, "age": age}, scale), multinomial(reports, age, scale)):
        found = marginaleffects.avg_predictions(fit.to_marginaleffects())
        margins = fit.margins()
        order = [found["group"].to_list().index(label) for label in margins.labels]
        compare(found[order], margins)
