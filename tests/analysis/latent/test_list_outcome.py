"""List answers on the right-hand side: another answer, regressed on the trait that a list hides."""

import math

import numpy as np
import pytest
from scipy.special import expit

from tests.analysis.latent.own_likelihood import check
from toolkit.analysis import list_experiment

ITEMS = 3


def survey(n, effect, seed=2):
    """A list of three items, and a vote whose log odds differ by `effect` between carriers and others."""
    rng = np.random.default_rng(seed)
    x, treated = rng.normal(size=n), rng.random(n) < 0.5
    carrier = rng.random(n) < expit(-0.5 + 0.8 * x)
    count = rng.binomial(ITEMS, expit(np.where(carrier, 0.2, -0.4) + 0.3 * x)) + (treated & carrier)
    vote = rng.random(n) < expit(-0.3 + 0.4 * x + effect * carrier)
    return {"y": count, "x": x, "t": treated, "vote": vote}


def written_out(data):
    """The log-likelihood of count and vote, summed over people, each a sum over carriers and others."""
    y, x, long, vote = (np.asarray(data[name]) for name in ("y", "x", "t", "vote"))
    choose = np.array([math.comb(ITEMS, k) for k in range(ITEMS + 1)])

    def binomial(count, mean):
        inside = (count >= 0) & (count <= ITEMS)
        k = np.where(inside, count, 0)
        return inside * choose[k] * mean**k * (1 - mean) ** (ITEMS - k)

    def height(params):
        line = [expit(a + b * x) for a, b in np.reshape(params[:6], (3, 2))]
        yes = [expit(params[6] + params[7] * x + params[8] * carrier) for carrier in (0, 1)]
        of_vote = [np.where(vote, chance, 1 - chance) for chance in yes]
        carriers = line[0] * binomial(y - long, line[2]) * of_vote[1]
        others = (1 - line[0]) * binomial(y, line[1]) * of_vote[0]
        return float(np.log(carriers + others).sum())

    return height


def fitted(data, **options):
    return list_experiment("y ~ x", data, treatment="t", items=ITEMS, method="ml", outcome="vote", **options)


@pytest.mark.slow
def test_fits_with_an_outcome_maximize_the_likelihood_written_out():
    data = survey(4000, 1.0)
    fit = fitted(data, constrained=False)
    parts = ("control: ", "control of carriers: ", "outcome: ")
    covariates = tuple(f"{part}{name}" for part in parts for name in ("Intercept", "x"))
    assert fit.labels == ("Intercept", "x", *covariates, "outcome of carriers: Intercept")
    check(fit, written_out(data), exact=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.0, 1.5])
def test_the_effect_of_the_trait_on_the_outcome_is_found(effect):
    """With 10,000 people, all estimates lie within 4.5 standard errors of the truth, which fails by chance once in
    10,000 surveys.
    """
    fit = fitted(survey(10000, effect), constrained=False)
    truth = [-0.5, 0.8, -0.4, 0.3, 0.2, 0.3, -0.3, 0.4, effect]
    assert np.all(np.abs(fit.value - truth) < 4.5 * fit.se)
    assert (fit.coefficients.test().p[-1] < 1e-6) == bool(effect)


def test_outcomes_are_modeled_for_one_list_by_likelihood():
    data = survey(200, 0.0) | {"direct": np.zeros(200), "second": np.ones(200)}
    with pytest.raises(ValueError, match="`outcome` must go with method='ml'"):
        list_experiment("y ~ x", data, treatment="t", items=ITEMS, outcome="vote")
    with pytest.raises(ValueError, match="`outcome` must go with one list"):
        fitted(data, second="second")
    for options in ({"direct": "direct"}, {"error": "topcode"}):
        with pytest.raises(ValueError, match="only one of `direct`, `outcome` and `error` may be given"):
            fitted(data, **options)
    with pytest.raises(ValueError, match="`outcome` must go with a formula"):
        list_experiment([0, 1, 1, 2], treatment=[0, 0, 1, 1], items=3, outcome=[0, 1, 0, 1])
