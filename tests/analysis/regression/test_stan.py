"""Programs for Stan: their text, evaluated by independent code, is the log-likelihood of the fit."""

import json

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from tests.analysis.regression.stan_reader import accept, log_density
from toolkit import forced, k_ary, warner
from toolkit.analysis import linear, logistic, mixed_logistic, multinomial, ordinal
from toolkit.analysis.regression.stan import StanModel
from toolkit.local.numeric import one_bit


def frame(n=300):
    """Reports of two designs with different numbers of reports; a row stands for one to three people."""
    rng = np.random.default_rng(5)
    age, design = rng.normal(size=n), rng.integers(2, size=n)
    truth = rng.random(n) < 1 / (1 + np.exp(1 - age))
    reports = np.where(design, forced("1/6", "1/6").randomize(truth, rng), warner("3/4").randomize(truth, rng))
    times = rng.integers(1, 4, n)
    return {"report": reports, "age": age, "design": np.array(["coin", "die"])[design], "times": times}


def options_frame(n=600):
    rng, scale = np.random.default_rng(6), k_ary(("low", "medium", "high"), epsilon=1.5)
    age = rng.normal(size=n)
    truth = np.digitize(age + rng.logistic(size=n), [-1, 1])
    return {"report": scale.randomize(truth, rng), "age": age}, scale


def near(fit, rng):
    """Parameters within a few standard errors of the estimates."""
    return fit.value + 2 * fit.se * rng.uniform(-1, 1, len(fit.value))


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_logistic_program_has_the_fits_likelihood(link):
    designs = {"coin": warner("3/4"), "die": forced("1/6", "1/6")}
    fit = logistic("report ~ age", frame(), designs, design_by="design", times="times", link=link)
    model, rng = fit.to_stan(), np.random.default_rng(1)
    accept(model)
    assert log_density(model, beta=fit.value) == pytest.approx(fit.llf, abs=1e-9)
    for _ in range(3):
        params = near(fit, rng)
        assert log_density(model, beta=params) == pytest.approx(fit._model().evaluate(params).loglike, abs=1e-9)


def test_multinomial_program_has_the_fits_likelihood():
    data, scale = options_frame()
    fit, rng = multinomial("report ~ age", data, scale, base="medium"), np.random.default_rng(2)
    model = fit.to_stan()
    accept(model)
    assert model.labels["beta[2,1]"] == fit.labels[1] == "low: age"
    assert tuple(model.labels.values()) == fit.labels
    for params in (fit.value, near(fit, rng), near(fit, rng)):
        expected = fit._model().evaluate(params).loglike
        assert log_density(model, beta=params.reshape(2, 2).T) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_ordinal_program_has_the_fits_likelihood(link):
    data, scale = options_frame()
    fit, rng = ordinal("report ~ age", data, scale, link=link), np.random.default_rng(3)
    model = fit.to_stan()
    accept(model)
    assert model.labels == {"beta[1]": "age", "threshold[1]": "low|medium", "threshold[2]": "medium|high"}
    for params in (fit.value, near(fit, rng), near(fit, rng)):
        expected = fit._model().evaluate(params).loglike
        found = log_density(model, beta=params[:1], threshold=params[1:])
        assert found == pytest.approx(expected, abs=1e-9)


def test_ordinal_program_without_covariates():
    data, scale = options_frame()
    fit = ordinal("report ~ 1", data, scale)
    model = fit.to_stan()
    accept(model)
    assert (model.data["K"], model.data["X"][0]) == (0, [])
    assert log_density(model, beta=np.empty(0), threshold=fit.value) == pytest.approx(fit.llf, abs=1e-9)


def test_mixed_program_has_the_fits_likelihood_given_intercepts():
    """The integral over the intercepts, by the trapezoidal rule, is the log-likelihood of the fit."""
    rng, die = np.random.default_rng(4), forced("1/6", "1/6")
    x, school = rng.normal(size=600), rng.permutation(np.repeat(np.arange(20), 30))
    truth = rng.random(600) < expit(0.5 * x - 0.5 + 1.2 * rng.normal(size=20)[school])
    data = {"report": die.randomize(truth, rng), "x": x, "school": [f"s{number}" for number in school]}
    fit = mixed_logistic("report ~ x", data, die, group="school", nodes=61)
    model, yes = fit.to_stan(), (np.asarray(data["report"]) == "yes") | (np.asarray(data["report"]) == 1)
    columns = np.column_stack([np.ones(600), x])
    accept(model)

    def row_loglikes(beta, sd, z):
        share = expit(columns @ beta + sd * z)
        reports_yes = 5 / 6 * share + 1 / 6 * (1 - share)
        return np.log(np.where(yes, reports_yes, 1 - reports_yes))

    order = [fit.groups[label] for label in data["school"]]
    z, beta, sd = rng.normal(size=20), near(fit, rng), 0.8
    expected = row_loglikes(beta, sd, z[order]).sum() + norm.logpdf(z).sum()
    assert log_density(model, beta=beta, group_sd=sd, z=z) == pytest.approx(expected, abs=1e-9)
    grid = np.linspace(-8, 8, 2001)
    by_group = np.zeros((20, len(grid)))
    loglikes = np.stack([row_loglikes(fit.value, fit.group_sd, point) for point in grid], axis=1)
    np.add.at(by_group, order, loglikes)
    integral = np.log((np.exp(by_group) * norm.pdf(grid)).sum(axis=1) * (grid[1] - grid[0])).sum()
    assert fit.llf == pytest.approx(integral, abs=1e-5)
    assert model.labels["z[1]"] == f"school {data['school'][0]}"


def test_priors_replace_the_comment_and_are_counted():
    fit = logistic("report ~ age", {**frame(), "report": frame()["report"]}, warner("3/4"))
    flat, model = fit.to_stan(), fit.to_stan("target += std_normal_lpdf(beta);")
    assert "Priors are flat" in flat.program
    assert "Priors are flat" not in model.program
    expected = fit.llf - (fit.value @ fit.value + 2 * np.log(2 * np.pi)) / 2
    assert log_density(model, beta=fit.value) == pytest.approx(expected, abs=1e-9)


def test_files_are_those_that_cmdstan_reads(tmp_path):
    fit = logistic("report ~ age", frame(), warner("3/4"))
    model = fit.to_stan()
    program, data = model.write(tmp_path / "new" / "folder")
    assert (program.name, program.read_text()) == ("model.stan", model.program)
    assert json.loads(data.read_text()) == model.data
    as_written = StanModel(program.read_text(), json.loads(data.read_text()), {})
    assert log_density(as_written, beta=fit.value) == pytest.approx(fit.llf, abs=1e-9)


def test_labels_stay_out_of_the_program():
    """A category with a line break cannot become a statement."""
    data = {**frame(), "kind": np.where(frame()["age"] > 0, "a", "b\n} reject();")}
    model = logistic("report ~ kind", data, warner("3/4")).to_stan()
    assert "reject" not in model.program
    assert "reject" in model.labels["beta[2]"]


def test_penalty_is_named_as_absent():
    fit = logistic("report ~ age", frame(), warner("3/4"), penalty="jeffreys")
    model = fit.to_stan()
    accept(model)
    assert "Jeffreys' penalty, which is not part of this program" in model.program
    assert log_density(model, beta=fit.value) == pytest.approx(fit.llf, abs=1e-9)


def test_other_fits_and_complex_samples_are_rejected():
    data = frame()
    with pytest.raises(ValueError, match="without weights, strata or clusters"):
        logistic("report ~ age", data, warner("3/4"), weights="times").to_stan()
    with pytest.raises(TypeError, match="`priors` must be a text"):
        logistic("report ~ age", data, warner("3/4")).to_stan(priors=3)
    bit = one_bit((0, 60), 2)
    reports = bit.randomize(np.full(200, 13.0), rng=np.random.default_rng(1))
    with pytest.raises(ValueError, match="a model whose likelihood is written in Stan"):
        linear("hours ~ 1", {"hours": reports}, bit).to_stan()
