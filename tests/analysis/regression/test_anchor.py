"""A randomized answer on the right-hand side with an anchor, held against a likelihood that is written out here."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
from scipy.stats import norm

from tests.analysis.latent.own_likelihood import check
from toolkit import Question, Survey, crosswise
from toolkit.analysis import predictor
from toolkit.analysis.regression.anchor import Anchor, as_anchor, attention_side
from toolkit.analysis.regression.mixture import FAMILIES, AnchoredMixture
from toolkit.analysis.regression.rows import people

TENTH, SEVENTH = crosswise("0.1"), crosswise("0.15")
OUTCOME, TRUTH, ATTENTION = np.array([1.0, 0.5, -0.9]), np.array([-1.0, 0.5]), np.array([1.2, 0.4])
ANCHOR = Anchor("a", SEVENTH, attention="~ x")


def survey(seed: int, n: int = 3000) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    f, x = (rng.random(n) < 0.5) * 1.0, rng.normal(size=n)
    carrier = rng.random(n) < expit(TRUTH[0] + TRUTH[1] * f)
    attentive = rng.random(n) < expit(ATTENTION[0] + ATTENTION[1] * x)
    y = np.where(attentive, carrier == (rng.random(n) < 0.1), rng.random(n) < 0.5) * 1
    a = np.where(attentive, rng.random(n) < 0.85, rng.random(n) < 0.5) * 1
    eta = OUTCOME[0] + OUTCOME[1] * f + OUTCOME[2] * carrier
    v, b = eta + 0.8 * rng.normal(size=n), (rng.random(n) < expit(eta)) * 1.0
    return {"v": v, "b": b, "y": y, "a": a, "f": f, "x": x, "w": rng.integers(1, 4, n) * 1.0, "c": np.arange(n) % 60}


def own_loglike(data, family: str, weight=1.0):
    """The four terms of Atsusaka and Stevenson (2023): with and without the trait, attentive and inattentive."""
    f, x, n_nuisance = data["f"], data["x"], int(family == "linear")

    def height(params: np.ndarray) -> float:
        beta, nuisance = params[:3], params[3 : 3 + n_nuisance]
        gamma, delta = params[3 + n_nuisance : 5 + n_nuisance], params[5 + n_nuisance :]
        share, attentive = expit(gamma[0] + gamma[1] * f), expit(delta[0] + delta[1] * x)
        total = np.zeros(len(f))
        for z in (0, 1):
            eta = beta[0] + beta[1] * f + beta[2] * z
            if family == "linear":
                density = norm.pdf(data["v"], eta, np.exp(nuisance[0]))
            else:
                density = np.where(data["b"] == 1, expit(eta), expit(-eta))
            same = 0.1 if z else 0.9
            reports = np.where(data["y"] == 1, same, 1 - same) * np.where(data["a"] == 1, 0.85, 0.15)
            prior = share if z else 1 - share
            total += density * prior * (attentive * reports + (1 - attentive) / 4)
        return float(np.sum(weight * np.log(total)))

    return height


def fitted(data, family: str = "linear", anchor: Any = ANCHOR, **options):
    formula = "v ~ f + y" if family == "linear" else "b ~ f + y"
    return predictor(formula, data, {"y": TENTH}, family=family, anchor=anchor, **options)


def all_parameters(fit) -> np.ndarray:
    sigma = [] if fit.sigma is None else [np.log(fit.sigma)]
    return np.concatenate([fit.value, sigma, fit.truth.value, fit.attention.value])


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_the_fit_maximizes_a_likelihood_that_is_written_out_here(family: str) -> None:
    data = survey(1)
    fit = fitted(data, family)
    height, at = own_loglike(data, family), all_parameters(fit)
    hessian = np.empty((len(at),) * 2)
    steps = 1e-3 * np.eye(len(at))
    for i, first in enumerate(steps):
        for j, second in enumerate(steps):
            hessian[i, j] = sum(
                s * t * height(at + s * first + t * second) for s in (1, -1) for t in (1, -1)
            ) / 4e-6  # fmt: skip
    cov = np.linalg.inv(-hessian)
    se = np.sqrt(np.diag(cov))
    kept = np.r_[0:3, (4 if family == "linear" else 3) : len(at)]
    assert np.r_[fit.se, fit.truth.se, fit.attention.se] == pytest.approx(se[kept], rel=1e-3)
    check(SimpleNamespace(value=at, se=se, cov=cov, llf=fit.llf), height, exact=1e-6)
    truth = np.concatenate([OUTCOME, TRUTH, ATTENTION])
    assert np.abs((at[kept] - truth) / se[kept]).max() < 4  # false alarms: 4 in 10,000
    assert fit.attention.labels == ("attention: Intercept", "attention: x")
    assert fit.combination_shares[1] == pytest.approx(expit(at[-4] + at[-3] * data["f"]).mean())
    assert fit.aic == pytest.approx(2 * len(at) - 2 * fit.llf)


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_the_derivatives_are_those_of_the_likelihood(family: str) -> None:
    rng, n, law = np.random.default_rng(2), 60, FAMILIES[family]
    columns = np.column_stack([np.ones(n), rng.normal(size=n)])
    by_cell = np.stack([columns, columns + np.array([0, 1])])
    model = AnchoredMixture(
        np.concatenate([by_cell, by_cell]),
        columns,
        rng.uniform(0.1, 0.9, size=(4, n)),
        rng.integers(0, 2, n) * 1.0,
        law,
        people(n, rng.uniform(1, 2, n), None, None, None),
        attention_covariates=columns,
    )
    at = rng.normal(scale=0.5, size=model.n_parameters)
    assert len(at) == 2 + law.n_nuisance + 2 + 2
    steps = 1e-5 * np.eye(len(at))
    slopes = [(model.evaluate(at + h).loglike - model.evaluate(at - h).loglike) / 2e-5 for h in steps]
    assert model.evaluate(at).score == pytest.approx(slopes, rel=1e-6, abs=1e-6)
    assert model.scores(at).sum(axis=0) == pytest.approx(slopes, rel=1e-6, abs=1e-6)
    bends = [-(model.evaluate(at + h).score - model.evaluate(at - h).score) / 2e-5 for h in steps]
    assert model.observed_information(at) == pytest.approx(np.array(bends), rel=1e-5, abs=1e-5)


def test_weights_rows_for_several_people_and_engines_agree() -> None:
    data = survey(3, 1500)
    weighted = fitted(data, weights="w")
    height = own_loglike(data, "linear", data["w"] / data["w"].mean())
    at = all_parameters(weighted)
    slopes = [height(at + h) - height(at - h) for h in 1e-3 * np.diag(np.full(len(at), 0.1))]
    assert slopes == pytest.approx(np.zeros(len(at)), abs=1e-5)
    times = fitted(data, times="w")
    assert all_parameters(times) == pytest.approx(at, abs=1e-5)
    counted = fitted(pl.LazyFrame({name: data[name] for name in ("b", "y", "a", "f", "x")}), "logistic")
    assert all_parameters(counted) == pytest.approx(all_parameters(fitted(data, "logistic")), abs=1e-5)
    questions = [Question("y", "Cheated?", design=TENTH), Question("a", "Moon?", design=SEVENTH, anchor="no")]
    form = Survey("Exams", questions, consent="Why.", check=False, ceiling=4)
    by_survey = predictor("v ~ f + y", data, form, anchor=Anchor("a", attention="~ x"))
    assert by_survey.value == pytest.approx(fitted(data).value, abs=1e-6)


def test_a_smaller_model_of_attention_is_nested_and_the_anchor_matters() -> None:
    data = survey(4)
    fit = fitted(data)
    constant = fitted(data, anchor=Anchor("a", SEVENTH, attention="~ 1"))
    assert fit.llf > constant.llf
    default = fitted(data, anchor=Anchor("a", SEVENTH))
    assert default.attention.labels == ("attention: Intercept", "attention: f")  # those of the truth
    naive = predictor("v ~ f + y", data, {"y": TENTH})
    assert naive.attention is None
    assert abs(naive["y"].value) < abs(fit["y"].value)  # inattentive people attenuate the coefficient


def test_without_a_maximum_the_message_names_the_anchor() -> None:
    data = survey(5, 400) | {"a": np.arange(400) % 20 < 19}
    with pytest.raises(ValueError, match="the anchor shows nobody who answered at random: leave out `anchor`"):
        fitted(data, anchor=Anchor("a", SEVENTH, attention="~ 1"))


def test_arguments_are_checked() -> None:
    data = survey(6, 100)
    with pytest.raises(ValueError, match="must not contain the randomized answers"):
        fitted(data, anchor=Anchor("a", SEVENTH, attention="~ y"))
    with pytest.raises(ValueError, match="the anchor must have a design"):
        predictor("v ~ y + b", data, {"y": TENTH, "b": SEVENTH}, anchor="a")
    with pytest.raises(TypeError, match="`anchor` must be an Anchor or the name of a column"):
        as_anchor(3)
    assert as_anchor("moon").reports == "moon"
    assert attention_side(Anchor("a"), "x + f") == "x + f"
    assert attention_side(Anchor("a", attention="~ x"), "x + f") == "x"


@pytest.mark.slow
def test_intervals_cover_in_simulated_surveys() -> None:
    """In 150 surveys of 2,000 people, each of seven coefficients is covered in at least 91 %. If the coverage is 95 %,
    one of the seven falls below with probability 0.12; the seed is fixed.
    """
    truth, covered = np.concatenate([OUTCOME, TRUTH, ATTENTION]), np.zeros(7)
    for seed in range(150):
        fit = fitted(survey(500 + seed, 2000))
        value, se = (
            np.r_[fit.value, fit.truth.value, fit.attention.value],
            np.r_[fit.se, fit.truth.se, fit.attention.se],
        )
        covered += np.abs(value - truth) < norm.ppf(0.975) * se
    assert covered.min() >= 137, covered
    assert covered.mean() / 150 >= 0.93, covered
