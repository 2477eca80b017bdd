"""Mistakes in a list experiment: people who give the largest count, or any count, whatever is true of them."""

import math

import numpy as np
import pytest
from scipy.special import expit

from tests.analysis.latent.own_likelihood import check
from toolkit.analysis import list_experiment

ITEMS = 3


def survey(n, error, share=0.15, seed=1):
    """A list of three items, where this share of people answers by mistake."""
    rng = np.random.default_rng(seed)
    x, treated = rng.normal(size=n), rng.random(n) < 0.5
    count = rng.binomial(ITEMS, expit(-0.4 + 0.3 * x)) + (treated & (rng.random(n) < expit(-1 + 0.5 * x)))
    mistaken = {"topcode": ITEMS + treated, "uniform": rng.integers(0, ITEMS + 1 + treated)}[error]
    return {"y": np.where(rng.random(n) < share, mistaken, count), "x": x, "t": treated}


def written_out(data, error):
    """The log-likelihood of a list with mistakes, summed over people and classes."""
    y, x, long = (np.asarray(data[name]) for name in "yxt")
    choose = np.array([math.comb(ITEMS, k) for k in range(ITEMS + 1)])

    def binomial(count, mean):
        inside = (count >= 0) & (count <= ITEMS)
        k = np.where(inside, count, 0)
        return inside * choose[k] * mean**k * (1 - mean) ** (ITEMS - k)

    def height(params):
        trait, mean = expit(params[0] + params[1] * x), expit(params[2] + params[3] * x)
        truthful = trait * binomial(y - long, mean) + (1 - trait) * binomial(y, mean)
        largest = ITEMS + long
        if error == "topcode":
            share, mistaken = expit(params[4]), y == largest
        else:
            share, mistaken = expit(np.where(long, params[5], params[4])), 1 / (largest + 1)
        return float(np.log((1 - share) * truthful + share * mistaken).sum())

    return height


def fitted(data, error, **options):
    return list_experiment("y ~ x", data, treatment="t", items=ITEMS, method="ml", error=error, **options)


@pytest.mark.slow
@pytest.mark.parametrize("error", ["topcode", "uniform"])
def test_fits_with_mistakes_maximize_the_likelihood_written_out(error):
    data = survey(4000, error)
    fit = fitted(data, error)
    names = {
        "topcode": ("top-coding: Intercept",),
        "uniform": ("uniform error of the short list: Intercept", "uniform error of the long list: Intercept"),
    }[error]
    assert fit.labels == ("Intercept", "x", "control: Intercept", "control: x", *names)
    check(fit, written_out(data, error))


@pytest.mark.slow
@pytest.mark.parametrize("error", ["topcode", "uniform"])
def test_mistakes_bias_a_fit_that_does_not_model_them(error):
    """With 8,000 people, the estimates lie within 4.5 standard errors of the truth, which fails by chance once in
    10,000 surveys for all coefficients together; the fit without mistakes misses a coefficient by 0.3.
    """
    data = survey(8000, error)
    fit, plain = fitted(data, error), list_experiment("y ~ x", data, treatment="t", items=ITEMS, method="ml")
    truth = [-1, 0.5, -0.4, 0.3, *[np.log(0.15 / 0.85)] * (len(fit.value) - 4)]
    assert np.all(np.abs(fit.value - truth) < 4.5 * fit.se)
    assert np.abs(plain.value[:4] - truth[:4]).max() > 0.3
    assert fit.compare(plain).p < 1e-6


@pytest.mark.slow
def test_mistakes_that_nobody_makes_are_left_out():
    data = survey(3000, "topcode", share=0.0, seed=5)
    fit = fitted(data, "topcode")
    assert fit.labels == ("Intercept", "x", "control: Intercept", "control: x")
    assert "no top-coding was found: the model was fitted without it" in fit.notes
    assert fit.llf == pytest.approx(list_experiment("y ~ x", data, treatment="t", items=ITEMS, method="ml").llf)


def test_mistakes_are_modeled_for_one_list_by_likelihood():
    data = survey(200, "topcode") | {"direct": np.zeros(200), "second": np.ones(200)}
    with pytest.raises(ValueError, match="`error` must go with method='ml'"):
        list_experiment("y ~ x", data, treatment="t", items=ITEMS, error="topcode")
    with pytest.raises(ValueError, match="`error` must go with one list"):
        fitted(data, "topcode", second="second")
    with pytest.raises(ValueError, match="only one of `direct`, `outcome` and `error` may be given"):
        fitted(data, "topcode", direct="direct")
    with pytest.raises(ValueError, match="`error` must be one of"):
        fitted(data, "random")
    with pytest.raises(ValueError, match="`error` must go with a formula"):
        list_experiment([0, 1, 1, 2], treatment=[0, 0, 1, 1], items=3, error="topcode")
