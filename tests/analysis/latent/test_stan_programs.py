"""Programs for Stan of models with latent classes: their text, evaluated by independent code, is the likelihood."""

import re

import numpy as np
import pytest
from scipy.special import expit

from tests.analysis.regression.stan_reader import accept, log_density
from tests.slowly import each
from toolkit import crosswise
from toolkit.analysis import (
    Anchor,
    cheater_detection,
    extended_crosswise,
    lie_detector,
    list_experiment,
    logistic,
    unknown_question,
)

rng = np.random.default_rng(8)
N = 1200
X, GROUP, U = rng.normal(size=N), rng.integers(2, size=N), rng.random((4, N))
CARRIER = U[0] < expit(X - 0.5)


def check(fit):
    """The program has the log-likelihood of the fit at the estimates and near them, and their labels."""
    model, generator = fit.to_stan(), np.random.default_rng(1)
    assert tuple(model.labels.values()) == fit.labels
    ends = np.cumsum([len(predictor.labels) for predictor in fit.predictors])
    names = [f"beta_{re.sub('[ -]', '_', predictor.name) or 'trait'}" for predictor in fit.predictors]
    accept(model)
    for scale in (0, 1, 1):
        params = fit.value + scale * fit.se * generator.uniform(-1, 1, len(fit.value))
        found = log_density(model, **dict(zip(names, np.split(params, ends[:-1]), strict=True)))
        assert found == pytest.approx(fit.model.evaluate(params).loglike, abs=1e-9)
        assert scale or found == pytest.approx(fit.llf, abs=1e-9)


def two_groups(name):
    p = {0: 0.2, 1: 0.8}
    odds = np.where(GROUP, 0.8, 0.2)
    told, second = U[1] < odds, U[2] < 0.3
    yes = {
        cheater_detection: CARRIER | (told & ~second),
        lie_detector: np.where(CARRIER, ~second, ~told),
        extended_crosswise: (told == CARRIER) & ~second,
        unknown_question: np.where(told, CARRIER, second),
    }[name]
    labels = ("different", "same") if name is extended_crosswise else ("no", "yes")
    return {"report": np.array(labels)[yes.astype(int)], "x": X, "version": GROUP}, p


@pytest.mark.slow
@each(name=[cheater_detection, lie_detector, extended_crosswise, unknown_question])
def test_programs_of_two_groups_have_the_fits_likelihood(name):
    data, p = two_groups(name)
    check(name("report ~ x", data, p=p, group="version"))
    direct = np.arange(N) % 3 == 0
    report = np.where(direct, np.where(CARRIER, "yes", "no"), data["report"])
    data |= {"report": report, "version": np.where(direct, 2, GROUP)}
    check(name("report ~ x", data, p=p, group="version", direct_group=2))


LISTS = [
    {},
    {"constrained": False},
    {"control": "beta-binomial", "constrained": False},
    {"floor": True, "ceiling": "~ x"},
    {"direct": "direct", "floor": True},
    {"error": "topcode"},
    {"error": "uniform"},
    {"outcome": "vote", "constrained": False},
]


@pytest.mark.slow
@each(options=LISTS)
def test_programs_of_one_list_have_the_fits_likelihood(options):
    count = (U[1:] < expit(np.stack([0.3 * X, X - 0.4, 0.2 + 0 * X]))).sum(axis=0)
    generator = np.random.default_rng(2)
    denies = ((count == 0) & (generator.random(N) < 0.4)) | ((count == 3) & (generator.random(N) < 0.3))
    denies &= "floor" in options
    count = np.where((generator.random(N) < 0.15) & ("error" in options), 3, count)
    data = {"x": X, "t": GROUP, "count": count + (GROUP & CARRIER & ~denies)}
    data["direct"] = CARRIER & (generator.random(N) < 0.5)
    data["vote"] = generator.random(N) < np.where(CARRIER, 0.7, 0.3)
    check(list_experiment("count ~ x", data, treatment="t", items=3, method="ml", **options))


@pytest.mark.slow
def test_denials_of_all_carriers_are_part_of_the_program():
    """A share that goes to 1 is a number in the program, and no parameter."""
    count = np.random.default_rng(3).binomial(3, 0.5, N)
    data = {"x": X, "t": GROUP, "count": count + (GROUP & CARRIER & (count < 3))}
    fit = list_experiment("count ~ x", data, treatment="t", items=3, method="ml", ceiling=True)
    assert "ceiling" not in " ".join(fit.labels)
    check(fit)


@pytest.mark.slow
@each(link=["logit", "probit"])
def test_programs_with_an_anchor_have_the_fits_likelihood(link):
    """Two designs, an anchor with a design of its own, and attention that depends on a covariate."""
    generator = np.random.default_rng(5)
    designs, moon = {0: crosswise("0.15"), 1: crosswise("0.85")}, crosswise("0.25")
    attentive, nobody = generator.random(N) < 0.8, np.zeros(N, dtype=bool)
    by_design = [designs[k].randomize(CARRIER, rng=generator) for k in (0, 1)]
    report, anchor = np.where(GROUP, by_design[1], by_design[0]), moon.randomize(nobody, rng=generator)
    coin = generator.random((2, N)) < 0.5
    data = {"x": X, "version": GROUP, "report": np.where(attentive, report, coin[0])}
    data["moon"] = np.where(attentive, anchor, coin[1])
    options = {"design_by": "version", "anchor": Anchor("moon", moon, attention="~ x"), "link": link}
    check(logistic("report ~ x", data, designs, **options))


def test_joint_lists_and_least_squares_have_no_program():
    count = np.random.default_rng(3).binomial(3, 0.5, (2, N))
    data = {"x": X, "t": GROUP, "a": count[0] + (GROUP & CARRIER), "b": count[1] + ((1 - GROUP) & CARRIER)}
    for fit in (
        list_experiment("a ~ x", data, treatment="t", items=3),
        list_experiment("a ~ 1", data, treatment="t", items=3, second="b", method="ml"),
    ):
        with pytest.raises(ValueError, match="a model whose likelihood is written in Stan"):
            fit.to_stan()
