"""Several random effects and slopes: against lme4, simulated posteriors, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from tests.analysis.reference_survey import DIE, DIRECT, WARNER
from toolkit import k_ary
from toolkit.analysis import mixed_logistic, random_effects
from toolkit.analysis.mixed_effects import MixedEffectsFit
from toolkit.analysis.random_effects import LaplaceModel


def crossed(n=1500, seed=8):
    rng = np.random.default_rng(seed)
    state, age, x = rng.integers(20, size=n), rng.integers(7, size=n), rng.normal(size=n)
    effects, by_age = rng.normal(size=(20, 2)) * [0.8, 0.5], 0.6 * rng.normal(size=7)
    odds = -0.5 + 0.6 * x + effects[state, 0] + (0.5 * effects[state, 0] + effects[state, 1]) * x + by_age[age]
    truth = rng.random(n) < 1 / (1 + np.exp(-odds))
    return {"z": truth * 1, "x": x, "state": state, "age": age}


@pytest.fixture(scope="module")
def frame():
    data = crossed()
    data["y"] = DIE.randomize(data["z"], rng=np.random.default_rng(2))
    return pd.DataFrame(data)


@pytest.fixture(scope="module")
def fit(frame):
    return mixed_logistic("y ~ x + (x | state) + (1 | age)", frame, DIE)


# glmer(…, binomial, nAGQ = 1, control = glmerControl("bobyqa", tolPwrss = 1e-12, optCtrl = list(rhoend = 1e-9))) of
# crossed(), lme4 1.1-31, R 4.2.2: coefficients, standard errors (by differences), sds, correlation, log-likelihood.
LME4 = {
    "z ~ x + (1 | state) + (1 | age)": (
        [-0.696954443, 0.699032094],
        [0.2913622233, 0.0646352594],
        {"state": 0.812346624, "age": 0.578360093},
        {},
        -848.979704,
    ),
    "z ~ x + (x | state)": (
        [-0.618140410, 0.715274271],
        [0.177458006, 0.145457539],
        {"state": 0.740194759, "state: x": 0.570120849},
        {"state: Intercept, x": 0.586481584},
        -859.518665,
    ),
    "z ~ x + (x | state) + (1 | age)": (
        [-0.670085092, 0.750111859],
        [0.298330976, 0.153587235],
        {"state": 0.822144762, "state: x": 0.603229774, "age": 0.595724312},
        {"state: Intercept, x": 0.586040476},
        -829.790123,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("formula", LME4)
def test_plain_answers_are_those_of_lme4(formula) -> None:
    value, se, sd, correlation, llf = LME4[formula]
    found = mixed_logistic(formula, crossed(), DIRECT)
    assert found.value == pytest.approx(value, abs=2e-6)
    assert found.se == pytest.approx(se, rel=1e-4)
    assert found.group_sd == pytest.approx(sd, abs=2e-6)
    assert found.group_correlation == pytest.approx(correlation, abs=2e-6)
    assert found.llf == pytest.approx(llf, abs=2e-6)
    assert found._n_parameters == len(value) + len(sd) + len(correlation)


@pytest.mark.slow
def test_units_and_order_do_not_matter(frame, fit) -> None:
    """A slope per year of birth is that per standardized year; terms may come in any order, and rows as well."""
    moved = frame.assign(x=1970 + 8 * frame.x).sample(frac=1, random_state=1)
    found = mixed_logistic("y ~ (1|age) + (1 + x|state) + x", moved, DIE)
    assert found.llf == pytest.approx(fit.llf, abs=1e-7)
    assert found.value[1] == pytest.approx(fit.value[1] / 8, rel=1e-5)
    assert found.se[1] == pytest.approx(fit.se[1] / 8, rel=1e-4)
    assert found.group_sd["state: x"] == pytest.approx(fit.group_sd["state: x"] / 8, rel=1e-4)
    assert found.group_sd["age"] == pytest.approx(fit.group_sd["age"], rel=1e-4)
    assert found.predict(moved[:5], at="group").value == pytest.approx(
        fit.predict(moved[:5].assign(x=(moved.x[:5] - 1970) / 8), at="group").value, abs=1e-5
    )


@pytest.mark.slow
def test_errors_of_all_parameters_are_on_scales_without_limits(fit) -> None:
    """The errors of log standard deviations and transformed correlations are those of a profile by differences."""
    assert fit.all_parameters.labels == (
        "Intercept",
        "x",
        "log sd state",
        "log sd state: x",
        "log sd age",
        "atanh correlation state: Intercept, x",
    )
    sd = [fit.group_sd[name] for name in ("state", "state: x", "age")]
    assert np.exp(fit.all_parameters.value[2:5]) == pytest.approx(sd)
    assert np.tanh(fit.all_parameters.value[5]) == pytest.approx(fit.group_correlation["state: Intercept, x"])
    assert fit.all_parameters.se[:2] == pytest.approx(fit.se)
    effect, model = fit.effects[0], fit.model

    def loglike(natural):
        """Own triangular root of the covariance, in the units of the covariates."""
        a, b, c, r = *np.exp(natural[2:5]), np.tanh(natural[5])
        scale = np.diag([1, effect.scale[0]]) @ np.array([[1, effect.center[0]], [0, 1]])
        own = np.array([[a**2, r * a * b], [r * a * b, b**2]])
        standardized = np.linalg.cholesky(scale @ own @ scale.T)
        return model.mode(np.array([*natural[:2], *standardized[np.tril_indices(2)], c])).loglike

    at, steps = np.asarray(fit.all_parameters.value), 1e-3 * np.eye(6)
    information = [
        [-sum(i * j * loglike(at + i * s + j * t) for i in (-1, 1) for j in (-1, 1)) / 4e-6 for t in steps]
        for s in steps
    ]
    assert fit.all_parameters.cov == pytest.approx(np.linalg.inv(information), rel=0.01, abs=1e-4)


def draws(fit, cells, count=40_000):
    """Prevalences of cells if parameters are known and effects are normal around their mean."""
    rng, mode = np.random.default_rng(3), fit.model.mode(fit.point)
    size = fit.model.offsets[-1]
    effects = rng.multivariate_normal(fit.model.mean_effects(mode), mode.precision.solve(np.eye(size)), size=count)
    root, sd = fit.model.roots(fit.point)[0], fit.model.roots(fit.point)[1][0, 0]
    first, second = fit.effects
    x, odds = cells["x"].to_numpy(), []
    for row in range(len(cells)):
        columns = np.array([1, (x[row] - first.center[0]) / first.scale[0]])
        state, age = first.groups.get(cells.state[row]), second.groups.get(cells.age[row])
        u = effects[:, [2 * state, 2 * state + 1]] if state is not None else rng.normal(size=(count, 2))
        v = effects[:, 40 + age] if age is not None else rng.normal(size=count)
        odds.append(fit.value @ [1, x[row]] + u @ root.T @ columns + sd * v)
    return expit(np.array(odds))


@pytest.mark.slow
def test_shares_of_groups_are_those_of_simulated_effects(fit) -> None:
    """Means by 40,000 draws, within five of their errors; the covariance is that to first order, within 10 %."""
    cells = pd.DataFrame({"x": [0.0, 1.0, -1.0, 0.5], "state": [1, 2, 99, 2], "age": [0, 5, 3, 99], "n": [4, 3, 2, 1]})
    shares = draws(fit, cells)
    fixed = pd.Series({"point_cov": 0 * fit.point_cov})
    known = MixedEffectsFit(**{**{name: getattr(fit, name) for name in fit.__dataclass_fields__}, **fixed})
    found = known.predict(cells, at="group")
    assert np.abs(found.value - shares.mean(axis=1)).max() < 5 * shares.std(axis=1).max() / 200
    assert found.se == pytest.approx(shares.std(axis=1), rel=0.1)
    total, weights = known.poststratify(cells, count="n"), cells.n / cells.n.sum()
    assert float(total.value) == pytest.approx(weights @ shares.mean(axis=1), abs=0.003)
    assert float(total.se) == pytest.approx((weights @ shares).std(), rel=0.1)
    block = (fit.covariates.matrix_of(cells), fit._group_codes(cells), np.eye(4))
    center, variance = fit._log_odds([block], fit.point, 1e9 * np.eye(2))
    limits = center + 1.96 * np.sqrt(variance) * [[-1], [1]]
    assert limits == pytest.approx(logit(np.quantile(shares, [0.025, 0.975], axis=1)), abs=0.2)


def test_margins_average_over_the_population_of_groups(fit, frame) -> None:
    """By a grid of normal effects; the gradient is that of differences."""
    at = fit.covariates.matrix
    root, sd = fit.model.roots(fit.point)[0], fit.group_sd["age"]
    columns = fit.effects[0].columns(at) @ root
    spread = np.sqrt((columns**2).sum(axis=1) + sd**2)
    grid = np.linspace(-8, 8, 401)
    weights = np.exp(-(grid**2) / 2) / np.exp(-(grid**2) / 2).sum()
    expected = expit((at @ fit.value)[:, None] + spread[:, None] * grid) @ weights
    assert fit.predict().value[:50] == pytest.approx(expected[:50], abs=1e-9)
    margin = fit.margins()
    assert float(margin) == pytest.approx(expected.mean(), abs=1e-9)
    one = fit.predict(frame[:1])
    effect = fit._predictions(at[:1])[0]
    assert float(one.se) == pytest.approx(np.sqrt(effect.gradient[0] @ fit.point_cov @ effect.gradient[0]), rel=1e-5)
    assert 0.05 < float(fit.margins("x")) < 0.3
    typical = fit.predict(frame[:1], at="typical")
    assert float(typical) == pytest.approx(expit(at[0] @ fit.value), abs=1e-9)


@pytest.mark.slow
def test_areas_are_those_of_any_factor(fit, frame) -> None:
    census = frame.assign(x=frame.x.round()).groupby(["state", "age", "x"]).size().rename("n").reset_index()
    for by, count in (("state", 20), ("age", 7)):
        table = fit.areas(census, count="n", by=by)
        assert len(table) == count
        assert table.n.sum() == 1500
        assert np.all((table.low < table.estimate) & (table.estimate < table.high))
        assert np.corrcoef(table.estimate, table.direct)[0, 1] > 0.8
        first = frame.y[frame[by] == table.index[0]]
        assert table.direct.iloc[0] == pytest.approx((first.mean() - 1 / 6) * 1.5)
    with pytest.raises(ValueError, match="`by` must be"):
        fit.areas(census, count="n")


@pytest.mark.slow
def test_groups_that_do_not_differ_have_a_standard_deviation_of_zero() -> None:
    rng = np.random.default_rng(4)
    z = rng.random(600) < 0.4
    group, other = np.empty(600, dtype=int), np.arange(600) // 30
    group[np.argsort(z, kind="stable")] = np.arange(600) % 20
    found = mixed_logistic("z ~ 1 + (1 | g) + (1 | h)", {"z": z * 1, "g": group, "h": other}, DIRECT)
    assert found.group_sd["g"] == 0
    assert np.isnan(found.all_parameters.se[1:]).any()
    assert any("standard deviation of g is estimated as 0" in note for note in found.notes)
    share = found.predict({"g": [0, 99], "h": [99, 99]}, at="group")
    assert np.isfinite(share.se).all()
    assert share.value[0] == pytest.approx(share.value[1])


def test_what_cannot_be_fitted_is_refused(frame) -> None:
    def fit(terms, **options):
        return mixed_logistic(f"y ~ x + {terms}", frame.assign(one=1), **({"design": DIE} | options))

    with pytest.raises(
        ValueError, match="must be among the covariates of the formula, got 'age' in a random effect alone"
    ):
        fit("(age | state)")
    with pytest.raises(ValueError, match="in one term, got 'state' twice"):
        fit("(1 | state) + (x | state)")
    with pytest.raises(ValueError, match="at least two groups, got one of 'one'"):
        fit("(1 | state) + (1 | one)")
    with pytest.raises(ValueError, match="`weights` needs a model with one random intercept"):
        fit("(1 | state) + (1 | age)", weights="x")
    with pytest.raises(ValueError, match="column of the data"):
        fit("(1 | state) + (1 | village)")
    with pytest.raises(ValueError, match="`design` must have two options, got 3"):
        fit("(1 | state) + (1 | age)", design=k_ary(3, epsilon=1.0))
    broken = frame.assign(age=frame.age.astype(float).where(frame.index > 0))
    with pytest.raises(ValueError, match="no value may be missing, got 1 in the groups age"):
        mixed_logistic("y ~ x + (1 | state) + (1 | age)", broken, DIE)


@pytest.mark.slow
def test_missing_groups_are_left_out_and_codes_are_those_of_answers(frame, fit) -> None:
    """The code 3 of a missing answer is not a missing age."""
    more = pd.concat([frame.assign(age=frame.age.astype(float)), frame[:5].assign(age=np.nan)])
    found = mixed_logistic("y ~ x + (x | state) + (1 | age)", more, DIE, missing=(3,))
    assert found.llf == pytest.approx(fit.llf, abs=1e-8)
    assert any("left out 5 with missing the groups age" in note for note in found.notes)


@pytest.mark.slow
def test_fits_are_compared_if_their_random_effects_are_equal(frame, fit) -> None:
    smaller = mixed_logistic("y ~ 1 + (1 | state) + (1 | age)", frame, DIE)
    larger = mixed_logistic("y ~ x + (1 | state) + (1 | age)", frame, DIE)
    assert larger.compare(smaller).statistic == pytest.approx(2 * (larger.llf - smaller.llf))
    for other in (fit, mixed_logistic("y ~ x + (1 | state) + (1 | age)", frame, WARNER)):
        with pytest.raises(ValueError, match="with the same designs and rows"):
            other.compare(smaller)


@pytest.mark.slow
def test_people_who_are_alike_share_a_row_and_a_fit_takes_few_modes(monkeypatch) -> None:
    modes, mode = [], LaplaceModel.mode

    def counting(model, *args):
        modes.append(len(model.columns))
        return mode(model, *args)

    monkeypatch.setattr(random_effects.LaplaceModel, "mode", counting)
    rng = np.random.default_rng(1)
    data = {name: rng.integers(size, size=20_000) for name, size in (("state", 20), ("age", 5), ("x", 2))}
    odds = rng.normal(size=20)[data["state"]] + 0.4 * rng.normal(size=5)[data["age"]] + 0.5 * data["x"] - 1
    data["y"] = DIE.randomize(rng.random(20_000) < expit(odds), rng=rng)
    mixed_logistic("y ~ x + (1 | state) + (1 | age)", data, DIE)
    assert set(modes) == {400}
    assert len(modes) < 60
