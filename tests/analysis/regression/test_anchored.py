"""Logistic regression with an anchor, held against a likelihood that is written out here."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from scipy.stats import norm

from tests.analysis.latent.own_likelihood import check
from toolkit import Question, Survey, crosswise, forced, warner
from toolkit.analysis import LogisticFit, Sample, logistic
from toolkit.analysis.regression.anchor import Anchor
from toolkit.analysis.regression.anchored import AnchoredFit
from toolkit.local.anchor import attention_counts, corrected_counts

TENTH, SEVENTH = crosswise("0.1"), crosswise("0.15")
TRAIT, ATTENTION = np.array([-1.2, 0.7, 0.3]), np.array([0.9, 0.6, -0.2])


def survey(seed: int, n: int = 4000, trait=TRAIT, attention=ATTENTION) -> dict[str, np.ndarray]:
    """Reports by the definition of the model: inattentive people toss a coin for each of the two questions."""
    rng = np.random.default_rng(seed)
    columns = np.column_stack([np.ones(n), rng.random(n) < 0.5, rng.normal(size=n)])
    carrier = rng.random(n) < expit(columns @ trait)
    birthday, other_birthday = rng.random(n) < 0.1, rng.random(n) < 0.15
    attentive = rng.random(n) < expit(columns @ attention)
    same = np.where(attentive, carrier == birthday, rng.random(n) < 0.5)
    anchor = np.where(attentive, ~other_birthday, rng.random(n) < 0.5)
    weight = np.where(rng.random(n) < 0.5, 1.0, 2.0)
    return {
        "y": same * 1, "a": anchor * 1, "f": columns[:, 1], "x": columns[:, 2], "w": weight, "c": np.arange(n) % 80
    }  # fmt: skip


def own_loglike(data, link=expit, weight=None, width: int = 3):
    """The log-likelihood from the sentences of the model: a loop over the four pairs of reports."""
    x = np.column_stack([np.ones(len(data["y"])), data["f"], data["x"]])

    def height(params: np.ndarray) -> float:
        share, attentive = link(x @ params[:3]), expit(x[:, :width] @ params[3:])
        total = np.zeros(len(x))
        for y in (0, 1):
            for a in (0, 1):
                by_the_rule = share * (0.1 if y else 0.9) + (1 - share) * (0.9 if y else 0.1)
                probability = attentive * by_the_rule * (0.85 if a else 0.15) + (1 - attentive) / 4
                total += ((data["y"] == y) & (data["a"] == a)) * np.log(probability)
        return float(total @ (np.ones(len(x)) if weight is None else weight))

    return height


def fitted(data, formula="y ~ f + x", attention=None, **options) -> AnchoredFit:
    return logistic(formula, data, TENTH, anchor=Anchor("a", SEVENTH, attention=attention), **options)


def test_the_fit_maximizes_a_likelihood_that_is_written_out_here() -> None:
    data = survey(1)
    fit = fitted(data)
    check(fit, own_loglike(data), exact=1e-6)
    assert fit.labels == (
        "Intercept", "f", "x", "attention: Intercept", "attention: f", "attention: x"
    )  # fmt: skip
    assert np.abs((fit.value - [*TRAIT, *ATTENTION]) / fit.se).max() < 4  # false alarms: 4 in 10,000
    assert fit.loss == TENTH.loss
    assert str(fit.covers) == "sampling, randomization and the anchor"


@pytest.mark.slow
@pytest.mark.parametrize(("link", "inverse"), [("probit", norm.cdf), ("cloglog", lambda eta: -np.expm1(-np.exp(eta)))])
def test_other_links_maximize_their_likelihood(link: str, inverse) -> None:
    data = survey(2)
    fit = fitted(data, link=link, attention="~ f")
    check(fit, own_loglike(data, inverse, width=2), exact=1e-6)
    share = inverse(np.array([1, 0, 0.5]) @ fit.value[:3])
    assert fit.predict({"f": [0], "x": [0.5]}).value == pytest.approx(
        [share], rel=1e-9
    )  # without covariates of attention


def test_the_derivatives_are_those_of_the_likelihood() -> None:
    data = survey(3, 500)
    model, at, width = fitted(data).model, np.array([-0.8, 0.3, 0.1, 0.5, 0.2, -0.4]), 1e-6
    slopes = [
        (model.evaluate(at + width * axis).loglike - model.evaluate(at - width * axis).loglike) / (2 * width)
        for axis in np.eye(6)
    ]
    assert model.evaluate(at).score == pytest.approx(slopes, rel=1e-5, abs=1e-4)
    assert model.scores(at).sum(axis=0) == pytest.approx(slopes, rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_counts_that_fit_exactly_give_the_corrected_share(link: str) -> None:
    """A share of 1/4 and attention of 4/5 with p = 1/4 and 1/8 give these 1,600 people. If counts fit exactly, the
    likelihood and the corrected share must agree. Otherwise, the likelihood also uses the association of the reports.
    """
    rows = 4 / 5 * np.outer([3 / 8, 5 / 8], [1 / 8, 7 / 8]) + 1 / 20
    counts = 1600 * rows
    assert counts == pytest.approx(np.rint(counts))
    data = {"y": [0, 0, 1, 1], "a": [0, 1, 0, 1], "n": np.rint(counts).ravel()}
    quarter, eighth = crosswise("1/4"), crosswise("1/8")
    fit = logistic("y ~ 1", data, quarter, anchor=Anchor("a", eighth), times="n", link=link)
    corrected = corrected_counts(quarter, np.rint(counts), anchor_design=eighth)
    assert float(fit.margins().value) == pytest.approx(corrected.value, abs=1e-7)
    assert float(fit.attention().value) == pytest.approx(attention_counts(eighth, counts.sum(axis=0)).value, abs=1e-7)
    assert 0.9 * corrected.se < float(fit.margins().se) <= corrected.se + 1e-9


def test_the_published_table_gives_a_share_within_the_error_of_the_corrected_one() -> None:
    """cWise's cmdata (Atsusaka and Stevenson 2023), with a corrected share of 0.1054."""
    table = [[148, 425], [311, 1116]]
    data = {"y": [0, 0, 1, 1], "a": [0, 1, 0, 1], "n": np.ravel(table)}
    fit, corrected = logistic("y ~ 1", data, SEVENTH, anchor="a", times="n"), corrected_counts(SEVENTH, table)
    share = fit.margins()
    spread = np.sqrt(corrected.se**2 - share.se**2)  # of the difference, because the likelihood is efficient
    assert abs(share.value - corrected.value) < 3 * spread
    assert fit.n == 2000


def test_weights_and_clusters_give_the_sandwich() -> None:
    data = survey(4)
    fit = fitted(data, weights="w", clusters="c")
    height = own_loglike(data, weight=data["w"] / data["w"].mean())
    assert fit.llf == pytest.approx(height(fit.value), abs=1e-6)
    weights = data["w"] / data["w"].mean()
    clusters = [own_loglike(data, weight=weights * (data["c"] == c)) for c in range(80)]
    steps, wide = np.diag(1e-3 * fit.se), np.diag(1e-2 * fit.se)
    scores = np.array([[(own(fit.value + h) - own(fit.value - h)) / 2e-3 for h in steps] for own in clusters])
    assert scores.sum(axis=0) == pytest.approx(np.zeros(6), abs=2e-3)  # in units of 1 / standard error
    scores -= scores.mean(axis=0)
    corners = [
        [sum(i * j * height(fit.value + i * h + j * k) for i in (1, -1) for j in (1, -1)) for k in wide] for h in wide
    ]
    bread = np.linalg.inv(-np.array(corners) / 4e-4)
    cov = bread @ (80 / 79 * scores.T @ scores) @ bread
    assert np.sqrt(np.diag(cov)) == pytest.approx(np.ones(6), rel=2e-3)
    by_sample = fitted(data, sample=Sample(weights="w", clusters="c"))
    assert by_sample.se == pytest.approx(fit.se, rel=1e-6)
    assert fit.coefficients.basis.df == 79


def test_a_row_may_stand_for_several_people_and_missing_answers_are_left_out() -> None:
    data = {name: values[:600] for name, values in survey(5).items()}
    frame = pd.DataFrame(data).astype({"y": object, "a": object})
    twice = fitted(pd.concat([frame, frame]))
    assert fitted(frame.assign(n=2), times="n").value == pytest.approx(twice.value, abs=1e-6)
    frame.loc[0, "a"], frame.loc[1, "y"], frame.loc[2, "x"] = 9, 9, np.nan
    with pytest.raises(ValueError, match="missing"):
        fitted(frame)
    fit = fitted(frame, missing=(9,))
    assert dict(fit.rows) == {"used": 597, "reports": 1, "anchor": 1, "covariates": 1}
    assert fit.value == pytest.approx(fitted(frame.iloc[3:]).value, abs=1e-6)


def test_engines_arrays_and_surveys_give_the_same_fit() -> None:
    data = survey(6, 2000)
    fit = fitted(data, "y ~ f")
    lazy = logistic("y ~ f", pl.LazyFrame(data), TENTH, anchor=Anchor("a", SEVENTH))
    assert lazy.value == pytest.approx(fit.value, abs=1e-6)
    arrays = logistic(data["y"], data["f"], TENTH, anchor=Anchor(data["a"], SEVENTH))
    assert arrays.value == pytest.approx(fit.value, abs=1e-6)
    both = {"same": TENTH, "other": TENTH}
    half = data | {"device": np.where(data["c"] < 40, "same", "other")}
    by_device = logistic("y ~ f", half, both, design_by="device", anchor=Anchor("a", SEVENTH))
    assert by_device.value == pytest.approx(fit.value, abs=1e-6)
    questions = [
        Question("y", "Cheated?", design=TENTH),
        Question("a", "Been to the moon?", design=SEVENTH, anchor="no"),
    ]
    form = Survey("Exams", questions, consent="Why.", check=False, ceiling=4)
    assert logistic("y ~ f", data, form, anchor="a").value == pytest.approx(fit.value, abs=1e-6)
    again = pickle.loads(pickle.dumps(fit))  # noqa: S301
    assert np.array_equal(again.predict({"f": [0, 1]}).value, fit.predict({"f": [0, 1]}).value)


def test_the_fit_compares_predicts_and_tabulates() -> None:
    data = survey(7, 3000)
    fit, smaller = fitted(data), fitted(data, attention="~ f")
    test = fit.compare(smaller)
    assert (test.df, test.method) == (1, "likelihood ratio")
    assert test.statistic == pytest.approx(2 * (fit.llf - smaller.llf))
    share = expit(np.array([1, 1, 0.5]) @ fit.value[:3])
    assert fit.predict({"f": [1], "x": [0.5]}).value == pytest.approx([share], rel=1e-9)
    columns = np.column_stack([np.ones(3000), data["f"], data["x"]])
    assert float(fit.margins().value) == pytest.approx(expit(columns @ fit.value[:3]).mean())
    assert float(fit.attention().value) == pytest.approx(expit(columns @ fit.value[3:]).mean())
    assert fit.to_frame(exp=True)["odds ratio"].to_numpy() == pytest.approx(np.exp(fit.value))
    assert fit.goodness_of_fit().p > 0.001  # false alarms: 1 in 1,000
    assert "attention: f" in str(fit.summary())
    plain = logistic("y ~ f + x", data, TENTH)
    assert isinstance(plain, LogisticFit)
    with pytest.raises(ValueError, match="of one kind"):
        fit.compare(plain)


def test_attentive_people_alone_have_no_maximum_and_the_message_says_so() -> None:
    data = survey(8, 800, attention=np.array([9.0, 0, 0])) | {"a": np.arange(800) % 10 < 9}
    with pytest.raises(ValueError, match="the anchor shows nobody who answered at random: leave out `anchor`"):
        fitted(data, "y ~ f")


@pytest.mark.slow
def test_the_penalty_keeps_the_coefficients_of_attentive_people_finite() -> None:
    data = survey(8, 800, attention=np.array([9.0, 0, 0])) | {"a": np.arange(800) % 10 < 9}
    fit = fitted(data, "y ~ f", penalty="jeffreys")
    assert np.isfinite(fit.se).all()
    assert fit.attention().value > 0.9


def test_an_anchor_without_attentive_people_is_named() -> None:
    data = survey(9, 400) | {"a": np.arange(400) % 10 < 4}
    with pytest.raises(ValueError, match="shows nobody who followed the instructions"):
        fitted(data, "y ~ 1")


def test_a_rare_trait_without_a_maximum_is_refused() -> None:
    data = survey(10, 300, trait=np.array([-9.0, 0, 0]))
    data["y"] = np.where(data["a"] == 1, 1, data["y"])
    with pytest.raises(ValueError, match="finite coefficients"):
        fitted(data, "y ~ 1")


def test_arguments_of_an_anchor_are_checked() -> None:
    data = survey(11, 100)
    with pytest.raises(TypeError, match="`anchor` must be an Anchor or the name of a column"):
        logistic("y ~ f", data, TENTH, anchor=data["a"])
    with pytest.raises(ValueError, match="`truth` must be an option of the anchor"):
        logistic("y ~ f", data, TENTH, anchor=Anchor("a", truth="never"))
    with pytest.raises(ValueError, match="must not be uniform"):
        logistic("y ~ f", data, TENTH, anchor=Anchor("a", forced("1/2", 0)))
    with pytest.raises(ValueError, match="needs a model with a formula"):
        logistic(data["y"], data["f"], TENTH, anchor=Anchor(data["a"], attention="~ f"))


@pytest.mark.slow
def test_intervals_cover_in_simulated_surveys() -> None:
    """In 600 surveys of 2,000 people, each of six coefficients is covered in at least 93 %. If the coverage is 95 %,
    one of the six falls below with probability 0.07; the seed is fixed, and the coverage is 94.7 to 96.2 %.
    """
    truth, covered = np.array([*TRAIT, *ATTENTION]), np.zeros(6)
    for seed in range(600):
        fit = fitted(survey(1000 + seed, 2000))
        covered += np.abs(fit.value - truth) < norm.ppf(0.975) * fit.se
    assert covered.min() / 600 >= 0.93, covered


@pytest.mark.slow
def test_the_truth_may_be_yes_and_designs_may_differ() -> None:
    """A die for the question and coins for an anchor whose true answer is yes."""
    rng, die, coins, n = np.random.default_rng(12), forced("1/6", "1/6"), warner("3/4"), 20000
    attentive, carrier = rng.random(n) < 0.7, rng.random(n) < 0.3
    y = np.where(attentive, die.randomize(carrier, rng=rng), rng.random(n) < 0.5)
    a = np.where(attentive, coins.randomize(carrier | True, rng=rng), rng.random(n) < 0.5)
    fit = logistic("y ~ 1", {"y": y, "a": a}, die, anchor=Anchor("a", coins, truth="yes"))
    for estimate, value in ((fit.margins(), 0.3), (fit.attention(), 0.7)):
        assert abs(float(estimate.value) - value) < 4 * float(estimate.se)  # false alarms: 1 in 10,000
