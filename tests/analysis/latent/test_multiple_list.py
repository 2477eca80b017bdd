"""Several sensitive items, each on a list of its own, against a likelihood that is written out."""

import math

import numpy as np
import pytest
from scipy.special import expit

from tests.analysis.latent.own_likelihood import check
from toolkit.analysis import multiple_list

ITEMS = 3
NAMES = ("control", "fraud", "bribes")


def survey(n=3000, seed=3):
    rng = np.random.default_rng(seed)
    x, group = rng.normal(size=n), rng.integers(3, size=n)
    trait = rng.random(n) < expit(np.where(group == 1, -1 + 0.5 * x, 0.3 * x))
    count = rng.binomial(ITEMS, expit(0.2 - 0.3 * x)) + ((group > 0) & trait)
    return {"y": count, "x": x, "list": np.array(NAMES)[group]}


def fitted(data, formula="y ~ x", **options):
    return multiple_list(formula, data, treatment="list", items=ITEMS, sensitive=NAMES[1:], **options)


def written_out(data):
    y, x, shown = np.asarray(data["y"]), np.asarray(data["x"]), np.asarray(data["list"])
    choose = np.array([math.comb(ITEMS, k) for k in range(ITEMS + 1)])

    def binomial(count, mean):
        inside = (count >= 0) & (count <= ITEMS)
        k = np.where(inside, count, 0)
        return inside * choose[k] * mean**k * (1 - mean) ** (ITEMS - k)

    def height(params):
        fraud, bribes, mean = (expit(a + b * x) for a, b in np.reshape(params, (3, 2)))
        trait = np.select([shown == "fraud", shown == "bribes"], [fraud, bribes], 0.0)
        return float(np.log(trait * binomial(y - 1, mean) + (1 - trait) * binomial(y, mean)).sum())

    return height


@pytest.mark.slow
def test_fits_of_several_items_maximize_the_likelihood_written_out():
    data = survey()
    fit = fitted(data)
    assert fit.labels == tuple(
        f"{name}: {label}" for name in ("fraud", "bribes", "control") for label in ("Intercept", "x")
    )
    check(fit, written_out(data))


@pytest.mark.slow
def test_predictions_have_an_entry_for_each_item():
    data = survey()
    fit = fitted(data)
    new = fit.predict({"x": np.array([0.0, 1.0])})
    assert new.labels == ("0: fraud", "0: bribes", "1: fraud", "1: bribes")
    assert new.value == pytest.approx(expit([fit.value[0], fit.value[2], sum(fit.value[:2]), sum(fit.value[2:4])]))
    margins, x = fit.margins(), data["x"]
    assert margins["fraud"].value == pytest.approx(expit(fit.value[0] + fit.value[1] * x).mean())
    # The items share the control group: the variance of the difference includes their covariance.
    slopes = [
        np.mean([s * (1 - s), s * (1 - s) * x], axis=1)
        for s in (expit(fit.value[k] + fit.value[k + 1] * x) for k in (0, 2))
    ]
    gradient = np.concatenate([-slopes[0], slopes[1]])
    difference = margins["bribes"] - margins["fraud"]
    assert difference.se == pytest.approx(np.sqrt(gradient @ fit.cov[:4, :4] @ gradient))


# Counts of 0 to 4 items in the 1991 National Race and Politics Survey (Blair and Imai, Political Analysis 20 (2012)).
COUNTS = {"control": (8, 132, 222, 227, 0), "fraud": (19, 123, 229, 219, 34), "bribes": (9, 78, 172, 184, 139)}


@pytest.mark.slow
def test_items_of_the_race_survey_maximize_the_likelihood_of_their_counts():
    """The black family and affirmative action, without covariates: the likelihood of the table of counts."""
    data = {
        "y": np.concatenate([np.repeat(np.arange(5), counts) for counts in COUNTS.values()]),
        "list": np.repeat(list(COUNTS), [sum(counts) for counts in COUNTS.values()]),
    }
    fit = fitted(data, "y ~ 1")

    def height(params):
        fraud, bribes, mean = expit(params)
        short = np.array([math.comb(3, k) * mean**k * (1 - mean) ** (3 - k) for k in range(4)] + [0.0])
        one_more = np.roll(short, 1)
        laws = [short[:4], *(share * one_more + (1 - share) * short for share in (fraud, bribes))]
        tables = [COUNTS["control"][:4], COUNTS["fraud"], COUNTS["bribes"]]
        return float(sum(table @ np.log(law) for table, law in zip(map(np.array, tables), laws, strict=True)))

    check(fit, height)
    assert fit.margins().value == pytest.approx(expit(fit.value[:2]))


@pytest.mark.slow
def test_residuals_and_penalty_are_those_of_every_latent_model():
    data = survey(1500)
    fit = fitted(data, penalty="jeffreys")
    residuals = fit.residuals(rng=np.random.default_rng(1))
    assert residuals.shape == (1500,)
    assert abs(residuals.mean()) < 4 / np.sqrt(1500)
    assert abs(fit.value[0] - fitted(data).value[0]) < 0.2 * fit.se[0]


def test_lists_that_do_not_fit_are_rejected():
    data = survey(60)
    with pytest.raises(ValueError, match="must not be called 'control'"):
        multiple_list("y ~ 1", data, treatment="list", items=3, sensitive=["control", "fraud"])
    with pytest.raises(ValueError, match="every list must have at least two people"):
        multiple_list("y ~ 1", data, treatment="list", items=3, sensitive=["fraud", "bribes", "theft"])
    with pytest.raises(ValueError, match="counts must be whole numbers from 0 to 2"):
        multiple_list("y ~ 1", data, treatment="list", items=2, sensitive=["fraud", "bribes"])
    with pytest.raises(ValueError, match="a model whose likelihood is written in Stan"):
        fitted(survey(400), "y ~ 1").to_stan()
