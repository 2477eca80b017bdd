"""Lists with covariates, against numbers from two independent computations."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import least_squares
from scipy.special import expit
from scipy.stats import chi2

from tests.analysis.latent.own_likelihood import check
from toolkit.analysis import list_experiment

pytestmark = pytest.mark.slow


def survey(n, dependent, seed=1):
    """A control count that is independent of the trait, or that depends on it and is overdispersed."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    w = (rng.random(n) < 0.5) * 1.0
    z = rng.random(n) < expit(-1 + 0.5 * x + 0.6 * w)
    mean = expit(-0.2 + 0.3 * x + (0.6 * z if dependent else 0))
    chance = rng.beta(4 * mean, 4 * (1 - mean)) if dependent else mean
    count = rng.binomial(4, chance)
    treated = rng.random(n) < 0.5
    return {"y": count + (treated & z), "x": x, "w": w, "t": treated}


SQUARES = {
    (1500, False): ([-0.871006, 0.293367, 0.840827], [0.369995, 0.236764, 0.479668], (0.408163921, 0.056017790)),
    (6000, False): ([-0.844026, 0.624569, 0.648811], [0.190671, 0.137124, 0.248208], (0.400693956, 0.028023390)),
    (1500, True): ([-1.488746, 0.670824, 0.943719], [0.666721, 0.402804, 0.779216], (0.265097979, 0.073084689)),
    (6000, True): ([-0.493369, 0.314711, 0.238517], [0.215082, 0.147882, 0.297243], (0.414933580, 0.036398065)),
}


@pytest.mark.parametrize("key", SQUARES, ids=str)
def test_least_squares_count_the_errors_of_both_steps(key) -> None:
    value, se, (difference, spread) = SQUARES[key]
    fit = list_experiment("y ~ x + w", survey(*key), treatment="t", items=4)
    assert fit.value[:3] == pytest.approx(value, abs=2e-6)
    assert fit.se[:3] == pytest.approx(se, rel=1e-5)
    assert float(fit.difference) == pytest.approx(difference, abs=1e-9)
    assert fit.difference.se == pytest.approx(spread, abs=1e-9)


# Imai (2011), JASA 106, table 1, nonlinear least squares on the 1991 National Race and Politics Survey (the data set
# `race` of R's package list); age in tens of years. Errors from Newton's solution by a code of its own: the published
# ones (3.669, 1.268, 0.31, 2.929, 1.03) stem from an optimizer that had stopped before.
RACE = [-7.084, 2.490, 0.261, 3.096, 0.612], [3.668, 1.268, 0.315, 2.828, 1.029]


@cache
def race():
    return pd.read_csv(Path(__file__).parents[2] / "reference" / "race.csv")


def test_least_squares_of_the_race_survey_are_the_published_ones() -> None:
    """Residuals are large here: Gauss and Newton alone stop 0.0002 away after 250 steps."""
    value, se = RACE
    fit = list_experiment("y ~ south + age + male + college", race(), treatment="treat", items=3)
    assert fit.value[:5] == pytest.approx(value, abs=6e-4)
    assert fit.se[:5] == pytest.approx(se, abs=6e-4)
    assert float(fit.difference) == pytest.approx(0.068, abs=5e-4)
    assert fit.difference.se == pytest.approx(0.050, abs=5e-4)


def test_maximum_likelihood_of_the_race_survey_is_the_published_one() -> None:
    """Imai (2011), JASA 106, table 1, constrained binomial likelihood; age in tens of years, which R's list prints with
    two digits.
    """
    value = [-5.508, 1.675, 0.64, 0.846, -0.315, 1.191, -0.292, 0.03, -0.251, -0.516]
    se, digit = [1.021, 0.559, 0.16, 0.494, 0.474], np.array([6e-4, 6e-4, 5e-3, 6e-4, 6e-4])
    fit = list_experiment("y ~ south + age + male + college", race(), treatment="treat", items=3, method="ml")
    assert np.all(np.abs(fit.value - value) < np.tile(digit, 2))
    assert np.all(np.abs(fit.se[:5] - se) < digit)


def test_least_squares_do_not_depend_on_the_unit_of_a_covariate() -> None:
    frame = race().assign(born=lambda one: 365 * (1991 - 10 * one["age"]))
    by_age, by_birth = (
        list_experiment(f"y ~ south + {name} + male", frame, treatment="treat", items=3) for name in ("age", "born")
    )
    assert by_birth.value[[1, 3]] == pytest.approx(by_age.value[[1, 3]], rel=1e-5)
    assert by_birth.se[[1, 3]] == pytest.approx(by_age.se[[1, 3]], rel=1e-5)
    assert -3650 * by_birth.value[2] == pytest.approx(by_age.value[2], rel=1e-5)


@pytest.mark.parametrize("seed", [1, 21, 82, 132, 145, 181, 249])
def test_a_minimum_of_least_squares_in_a_small_survey_is_not_refused(seed) -> None:
    """Surveys of 300 people where another optimizer stays at the minimum that is reported."""
    data = survey(300, False, seed)
    fit = list_experiment("y ~ x + w", data, treatment="t", items=4)
    rows, t = np.column_stack([np.ones(300), data["x"], data["w"]]), data["t"]
    rest = data["y"] - 4 * expit(rows @ fit.value[3:])
    other = least_squares(lambda b: (rest - expit(rows @ b))[t], fit.value[:3] + 0.02, xtol=1e-12, ftol=1e-14)
    assert fit.value[:3] == pytest.approx(other.x, rel=1e-3, abs=1e-3)


def test_a_curve_that_turns_into_a_step_is_refused_for_that() -> None:
    """Nobody with w has the item, and the long list's mean among them is below the short one's."""
    data = survey(1500, False)
    data["y"] = np.where((data["w"] == 1) & data["t"], np.minimum(data["y"], 1), data["y"])
    with pytest.raises(ValueError, match="must have finite coefficients, got one that turns into a step"):
        list_experiment("y ~ w", data, treatment="t", items=4)


LIKELIHOODS = [
    ((1500, False), {}, -2136.311574, [-0.992888, 0.211973, 0.987770], [0.405898, 0.278747, 0.517525], 0.387556),
    (
        (1500, False),
        {"constrained": False},
        -2135.406677,
        [-0.829210, 0.273929, 0.810487],
        [0.353809, 0.251784, 0.476977],
        0.401766,
    ),
    ((6000, False), {}, -8555.906024, [-0.801957, 0.630087, 0.597945], [0.179356, 0.150838, 0.249991], 0.387010),
    ((1500, True), {}, -2628.518854, [-0.501623, 0.398387, 0.342979], [0.206043, 0.153191, 0.278645], 0.418946),
    (
        (1500, True),
        {"control": "beta-binomial"},
        -2456.830614,
        [-0.667410, 0.130312, 0.210212],
        [0.256358, 0.191073, 0.348945],
        0.363418,
    ),
    (
        (6000, True),
        {"control": "beta-binomial", "constrained": False},
        -9798.796471,
        [-0.603532, 0.279198, 0.330692],
        [0.215650, 0.149837, 0.288733],
        0.394052,
    ),
]


@cache
def likelihood(n, dependent, **options):
    return list_experiment("y ~ x + w", survey(n, dependent), treatment="t", items=4, method="ml", **options)


@pytest.mark.parametrize(("key", "options", "height", "value", "se", "mean"), LIKELIHOODS, ids=str)
def test_likelihoods_are_those_of_two_other_codes(key, options, height, value, se, mean) -> None:
    fit = likelihood(*key, **options)
    assert fit.llf == pytest.approx(height, abs=1e-5)
    assert fit.value[:3] == pytest.approx(value, abs=3e-6)
    assert fit.se[:3] == pytest.approx(se, rel=2e-5)
    assert float(fit.margins()) == pytest.approx(mean, abs=2e-6)


def test_a_wrong_law_of_the_control_count_is_detected() -> None:
    """The estimate of the wrong model disagrees with the difference in means. The constrained binomial model of
    B, 6,000 people: .455 ± .017 where .358 are carriers.
    """
    wrong, right = likelihood(1500, True), likelihood(6000, False)
    z = (0.418946 - 0.265097979) / np.sqrt(0.073084689**2 - float(wrong.margins().se) ** 2)
    assert wrong.agreement.statistic == pytest.approx(z**2, rel=1e-4)
    assert wrong.agreement.p < 0.05 < right.agreement.p
    assert (wrong.agreement.df, wrong.agreement.p) == (1, pytest.approx(chi2.sf(z**2, 1), rel=1e-3))


def floored():
    rng = np.random.default_rng(5)
    n = 6000
    x = rng.normal(size=n)
    z = rng.random(n) < expit(-0.5 + 0.5 * x)
    count = rng.binomial(3, expit(-0.6 + 0.3 * x))
    treated = rng.random(n) < 0.5
    silent = (rng.random(n) < 0.4) & treated & z & (count == 0)
    return {"y": count + (treated & z & ~silent), "x": x, "t": treated}


@pytest.mark.parametrize("options", [{"floor": True}, {"floor": True, "ceiling": True}])
def test_a_floor_is_estimated_and_a_ceiling_that_is_not_there_is_left_out(options) -> None:
    fit = list_experiment("y ~ x", floored(), treatment="t", items=3, method="ml", **options)
    assert fit.value == pytest.approx([-0.406564, 0.297770, -0.598274, 0.313687, 0.479183], abs=2e-5)
    assert fit.se[[0, 1, 4]] == pytest.approx([0.100658, 0.089283, 0.309395], rel=1e-4)
    assert fit.llf == pytest.approx(-7725.450232, abs=1e-5)
    assert any("no ceiling was found" in note for note in fit.notes) == ("ceiling" in options)


def test_who_denies_at_the_floor_may_depend_on_covariates() -> None:
    data = floored()
    x, y, treated = data["x"], data["y"], data["t"]
    fit = list_experiment("y ~ x", data, treatment="t", items=3, method="ml", floor="~ x")
    assert fit.labels[4:] == ("floor: Intercept", "floor: x")

    def height(at):
        trait, item, deny = (expit(at[k] + at[k + 1] * x) for k in (0, 2, 4))
        choose = np.array([1, 3, 3, 1, 0])
        law = np.array([choose[k] * item**k * (1 - item) ** (3 - k) if k < 4 else 0 * x for k in range(5)])
        long = np.array([0 * x, *law[:4]])
        long[0], long[1] = deny * law[0], (1 - deny) * law[0]
        chance = np.where(treated, trait * long + (1 - trait) * law, law)
        return np.log(np.take_along_axis(chance, y[None], axis=0)).sum()

    check(fit, height)
    assert fit.llf >= -7725.450232 - 1e-5


def test_who_denies_at_the_ceiling_may_depend_on_covariates() -> None:
    rng, n = np.random.default_rng(9), 4000
    x, w = rng.normal(size=n), (rng.random(n) < 0.5) * 1.0
    z = rng.random(n) < expit(-0.3 + 0.5 * x)
    harmless = rng.binomial(3, expit(0.6 + 0.3 * x))
    treated = rng.random(n) < 0.5
    silent = (rng.random(n) < expit(-0.5 + 1.0 * w)) & treated & z & (harmless == 3)
    y = harmless + (treated & z & ~silent)
    frame = {"y": y, "x": x, "w": w, "t": treated}
    fit = list_experiment("y ~ x", frame, treatment="t", items=3, method="ml", ceiling="~ w")
    assert fit.labels[4:] == ("ceiling: Intercept", "ceiling: w")

    def height(at):
        trait, item, deny = expit(at[0] + at[1] * x), expit(at[2] + at[3] * x), expit(at[4] + at[5] * w)
        law = np.array([[1, 3, 3, 1][k] * item**k * (1 - item) ** (3 - k) for k in range(4)] + [0 * x])
        long = np.array([0 * x, law[0], law[1], law[2] + deny * law[3], (1 - deny) * law[3]])
        chance = np.where(treated, trait * long + (1 - trait) * law, law)
        return np.log(np.take_along_axis(chance, y[None], axis=0)).sum()

    check(fit, height)
    # 3.5 errors: once in 2,000 seeds.
    assert abs(fit.value[5] - 1.0) < 3.5 * fit.se[5]


def test_a_direct_question_beside_the_list() -> None:
    rng = np.random.default_rng(6)
    n = 3000
    x = rng.normal(size=n)
    z = rng.random(n) < expit(-0.8 + 0.5 * x)
    direct = z & (rng.random(n) < 0.5)
    count = rng.binomial(4, expit(-0.2 + 0.3 * x))
    treated = rng.random(n) < 0.5
    frame = {"y": count + (treated & z), "x": x, "t": treated, "d": direct}
    fit = list_experiment("y ~ x", frame, treatment="t", items=4, method="ml", direct="d")
    assert fit.value == pytest.approx([-0.605038, 0.529515, -0.224563, 0.316192, -0.228703], abs=2e-6)
    assert fit.se[[0, 1, 4]] == pytest.approx([0.131993, 0.072049, 0.151442], rel=1e-4)
    assert fit.llf == pytest.approx(-5543.348168, abs=1e-5)
    alone = list_experiment("y ~ x", frame, treatment="t", items=4, method="ml")
    assert alone.se[1] == pytest.approx(0.184685, rel=1e-4)


def test_overdispersion_that_is_not_there_is_left_out_with_a_note() -> None:
    fit = list_experiment(
        "y ~ x + w", survey(1500, False), treatment="t", items=4, method="ml", control="beta-binomial"
    )
    assert fit.llf == pytest.approx(-2136.311574, abs=1e-5)
    assert any("no overdispersion was found" in note for note in fit.notes)


@pytest.mark.parametrize("method", ["nls", "ml"])
def test_whole_weights_are_that_many_rows_of_one_cluster(method) -> None:
    rng, n = np.random.default_rng(21), 400
    t, x, w = rng.random(n) < 0.5, rng.normal(size=n), rng.integers(1, 4, n)
    y = rng.binomial(3, 0.4, n) + (t & (rng.random(n) < expit(x)))
    data = {"y": y, "x": x, "t": t, "w": w, "id": np.arange(n)}
    asked = {"treatment": "t", "items": 3, "method": method}
    weighted = list_experiment("y ~ x", data, **asked, weights="w")
    rows = list_experiment("y ~ x", {name: np.repeat(own, w) for name, own in data.items()}, **asked, clusters="id")
    assert weighted.value == pytest.approx(rows.value, abs=1e-5)
    assert weighted.se == pytest.approx(rows.se, rel=1e-4)


def test_what_cannot_be_is_refused() -> None:
    frame = survey(1500, False)
    with pytest.raises(ValueError, match="1 of 1500 that are not"):
        list_experiment("y ~ x", frame | {"y": np.where(np.arange(1500) == 7, 6, frame["y"])}, treatment="t", items=4)
    with pytest.raises(ValueError, match="`floor` must go with method='ml'"):
        list_experiment("y ~ x", frame, treatment="t", items=4, floor=True)
    with pytest.raises(ValueError, match="at least two people"):
        list_experiment("y ~ x", frame | {"t": np.ones(1500, bool)}, treatment="t", items=4)


def double_survey():
    """Two lists for the same people, whose answers are correlated."""
    rng, n = np.random.default_rng(7), 1500
    x = rng.normal(size=n)
    z = rng.random(n) < expit(-0.8 + 0.5 * x)
    u = 0.7 * rng.normal(size=n)
    first, second = rng.binomial(4, expit(-0.2 + 0.3 * x + u)), rng.binomial(4, expit(-0.1 + 0.2 * x + u))
    t = rng.random(n) < 0.5
    return {"a": first + (t & z), "b": second + (~t & z), "x": x, "t": t}


def item_survey():
    """The control items, asked one by one in the control group."""
    rng, n = np.random.default_rng(8), 1500
    x = rng.normal(size=n)
    z = rng.random(n) < expit(-0.8 + 0.5 * x)
    t = rng.random(n) < 0.5
    items = rng.random((n, 3)) < expit(np.column_stack([-0.5 + 0.3 * x, 0.4 - 0.2 * x, -0.1 + 0 * x]))
    single = {f"c{j}": np.where(t, np.nan, items[:, j]) for j in range(3)}
    return {"y": np.where(t, items.sum(axis=1) + (t & z), np.nan), "x": x, "t": t} | single


def by_equations(at, equations):
    """The root of a person's estimating equations, and its sandwich: derivatives by differences."""

    def total(b):
        return equations(b).sum(axis=0)

    for _ in range(50):
        slope = np.array([(total(at + d) - total(at - d)) / 2e-6 for d in 1e-6 * np.eye(len(at))]).T
        at = at - np.linalg.solve(slope, total(at))
    # Expected derivatives, as the errors of the toolkit have: those of the residuals' factor are left out.
    return at, equations(at)


def test_two_lists_are_one_set_of_estimating_equations() -> None:
    data = double_survey()
    rows, t = np.column_stack([np.ones(1500), data["x"]]), data["t"]

    def equations(b):
        trait, one, two = (expit(rows @ part) for part in b.reshape(3, 2))
        long = np.where(t, data["a"] - 4 * one, data["b"] - 4 * two) - trait
        parts = [long * trait * (1 - trait), ~t * (data["a"] - 4 * one) * 4 * one * (1 - one)]
        parts.append(t * (data["b"] - 4 * two) * 4 * two * (1 - two))
        return np.column_stack([rows * part[:, None] for part in parts])

    fit = list_experiment("a ~ x", data, treatment="t", items=4, second="b")
    root, scores = by_equations(fit.value + 0.02, equations)
    assert fit.value == pytest.approx(root, abs=1e-6)
    assert fit.labels[2:] == ("control: Intercept", "control: x", "second control: Intercept", "second control: x")
    trait, one, two = (expit(rows @ part) for part in root.reshape(3, 2))
    d, g, h = (rows * (w * s * (1 - s))[:, None] for w, s in ((1, trait), (4, one), (4, two)))
    bread = np.zeros((6, 6))
    bread[:2] = np.column_stack([d.T @ d, d[t].T @ g[t], d[~t].T @ h[~t]])
    bread[2:4, 2:4], bread[4:, 4:] = g[~t].T @ g[~t], h[t].T @ h[t]
    inverse = np.linalg.inv(bread)
    assert fit.cov == pytest.approx(inverse @ scores.T @ scores @ inverse.T, rel=1e-5, abs=1e-9)
    assert float(fit.difference) == pytest.approx(0.301546942, abs=1e-9)
    alone = list_experiment("a ~ x", data, treatment="t", items=4)
    assert fit.se[1] < 0.8 * alone.se[1]


def test_items_asked_one_by_one_are_one_set_of_estimating_equations() -> None:
    data = item_survey()
    rows, t = np.column_stack([np.ones(1500), data["x"]]), data["t"]
    single = [np.nan_to_num(data[f"c{j}"]) for j in range(3)]

    def equations(b):
        trait, *shares = (expit(rows @ part) for part in b.reshape(4, 2))
        long = t * (np.nan_to_num(data["y"]) - sum(shares) - trait) * trait * (1 - trait)
        others = [~t * (y - s) * s * (1 - s) for y, s in zip(single, shares, strict=True)]
        return np.column_stack([rows * part[:, None] for part in (long, *others)])

    fit = list_experiment("y ~ x", data, treatment="t", items=3, control_items=["c0", "c1", "c2"])
    root, scores = by_equations(fit.value + 0.02, equations)
    assert fit.value == pytest.approx(root, abs=1e-6)
    slopes = [rows * (s * (1 - s))[:, None] for s in (expit(rows @ part) for part in root.reshape(4, 2))]
    bread = np.zeros((8, 8))
    bread[:2] = np.column_stack([slopes[0][t].T @ one[t] for one in slopes])
    for j in (1, 2, 3):
        bread[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = slopes[j][~t].T @ slopes[j][~t]
    inverse = np.linalg.inv(bread)
    assert fit.cov == pytest.approx(inverse @ scores.T @ scores @ inverse.T, rel=1e-5, abs=1e-9)
    assert fit.labels[2] == "control item c0: Intercept"
    control = np.sum(single, axis=0)[~t].mean()
    assert float(fit.difference) == pytest.approx(np.nanmean(data["y"][t]) - control)


def test_items_that_are_no_items_are_refused() -> None:
    with pytest.raises(ValueError, match="must name the items of the short list, got 2"):
        list_experiment("y ~ x", item_survey(), treatment="t", items=3, control_items=["c0", "c1"])
    odd = item_survey()
    with pytest.raises(ValueError, match="'c0' must be 0 or 1"):
        list_experiment("y ~ x", odd | {"c0": odd["c0"] * 2}, treatment="t", items=3, control_items=["c0", "c1", "c2"])


def test_likelihoods_are_told_apart() -> None:
    """29.46 on 4 degrees of freedom (Intercept, x, w and an overdispersion of their own for carriers); a spread of 0
    lies on the edge, so that half of chi-squared is above its likelihood ratio.
    """
    frame = survey(6000, True)
    ways = [{}, {"control": "beta-binomial"}, {"control": "beta-binomial", "constrained": False}]
    one, two, three = (likelihood(6000, True, **way) for way in ways)
    apart = three.compare(two)
    assert (apart.statistic, apart.df) == (pytest.approx(29.457842, abs=1e-4), 4)
    assert apart.method == "likelihood ratio, on the edge"
    assert apart.p == pytest.approx((chi2.sf(apart.statistic, 3) + chi2.sf(apart.statistic, 4)) / 2)
    spread = two.compare(one)
    assert spread.statistic == pytest.approx(2 * (10498.465862 - 9813.525392), abs=1e-3)
    near = list_experiment("y ~ 1", frame, treatment="t", items=4, method="ml").compare
    with pytest.raises(ValueError, match="must be nested in this one"):
        near(one)
    squares = list_experiment("y ~ x + w", frame, treatment="t", items=4)
    assert squares.compare(list_experiment("y ~ x", frame, treatment="t", items=4)).method == "Wald, F"
