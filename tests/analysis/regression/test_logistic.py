"""Logistic regression through designs: numbers from two independent computations, and from R's rr and RRreg.

The reference fits M1 to M10 were computed by Fisher scoring and, independently, by BFGS with Nelder and Mead,
and agree to 8e-8; those of rr 1.4.2 and RRreg 0.7.6 were made with R 4.2 on the same file.
"""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from tests.analysis.reference_survey import BIRTHDAY, BOTH, COINS, COVARIATES, DIE, DIRECT, UNRELATED, runaway, survey
from tests.slowly import each
from toolkit import warner
from toolkit.analysis import logistic
from toolkit.analysis.regression.logistic import LINKS, link_named

DATA = survey()
MIXED: dict[str, Any] = {"design_by": "group"}

FITS: dict[str, tuple[str, Any, dict[str, Any], list[float], float | None, dict[str, list[float]]]] = {
    "M1": (
        "forced",
        DIE,
        {},
        [-1.04908979, 0.37158643, -0.25785424, -0.01064048],
        -1544.58689685,
        {
            "observed": [0.11336019, 0.14972633, 0.04332550, 0.15012234],
            "expected": [0.11275504, 0.14942102, 0.04337067, 0.15214843],
            "opg": [0.11251348, 0.14930505, 0.04342006, 0.15326986],
            "robust": [0.11427173, 0.15022194, 0.04325666, 0.14713344],
        },
    ),
    "M1 clusters": (
        "forced",
        DIE,
        {"clusters": "c60"},
        [-1.04908979, 0.37158643, -0.25785424, -0.01064048],
        -1544.58689685,
        {"robust": [0.10735689, 0.14052662, 0.04371642, 0.16023295]},
    ),
    "M1 strata": (
        "forced",
        DIE,
        {"clusters": "psu", "strata": "stratum"},
        [-1.04908979, 0.37158643, -0.25785424, -0.01064048],
        -1544.58689685,
        {"robust": [0.11826747, 0.14506180, 0.04522743, 0.13467322]},
    ),
    "M2": (
        "forced",
        DIE,
        {"link": "probit"},
        [-0.63840836, 0.22052621, -0.15430714, -0.01032651],
        -1544.63700408,
        {
            "observed": [0.06678834, 0.08951783, 0.02566458, 0.09034968],
            "expected": [0.06650169, 0.08937256, 0.02565396, 0.09127709],
        },
    ),
    "M3": (
        "warner",
        COINS,
        {"link": "cloglog"},
        [-1.09704160, 0.31696581, -0.15071983, -0.08214477],
        -1615.50573281,
        {
            "observed": [0.12155308, 0.15704885, 0.04473289, 0.16069415],
            "opg": [0.12177161, 0.15749195, 0.04428549, 0.15879820],
        },
    ),
    "M4": (
        "die_or_coins",
        {1: DIE, 2: COINS},
        MIXED,
        [-0.89861810, 0.26280504, -0.26252081, 0.04530101],
        -1583.80963340,
        {"observed": [0.12313038, 0.16451320, 0.04843552, 0.16721000]},
    ),
    "M4 clusters": (
        "die_or_coins",
        {1: DIE, 2: COINS},
        MIXED | {"clusters": "c60"},
        [-0.89861810, 0.26280504, -0.26252081, 0.04530101],
        -1583.80963340,
        {"robust": [0.11439406, 0.17741501, 0.04653347, 0.17238984]},
    ),
    "M5": (
        "forced",
        DIE,
        {"weights": "weight"},
        [-1.04599748, 0.40717223, -0.25172248, 0.04488037],
        -1721.78583307,
        {"robust": [0.12207333, 0.16338584, 0.04546742, 0.16327494]},
    ),
    "M5 clusters": (
        "forced",
        DIE,
        {"weights": "weight", "clusters": "c60"},
        [-1.04599748, 0.40717223, -0.25172248, 0.04488037],
        -1721.78583307,
        {"robust": [0.10781594, 0.13882142, 0.04418811, 0.18841069]},
    ),
    "M5 strata": (
        "forced",
        DIE,
        {"weights": "weight", "clusters": "psu", "strata": "stratum"},
        [-1.04599748, 0.40717223, -0.25172248, 0.04488037],
        -1721.78583307,
        {"robust": [0.13502213, 0.17880488, 0.04627501, 0.14527606]},
    ),
    "M6": (
        "crosswise",
        BIRTHDAY,
        {"weights": "weight"},
        [-1.00658422, 0.43814999, -0.25284190, 0.22655761],
        -1718.96920483,
        {"robust": [0.11225982, 0.15242779, 0.04198932, 0.15739170]},
    ),
    "M6 strata": (
        "crosswise",
        BIRTHDAY,
        {"weights": "weight", "clusters": "psu", "strata": "stratum"},
        [-1.00658422, 0.43814999, -0.25284190, 0.22655761],
        -1718.96920483,
        {"robust": [0.12291656, 0.17388563, 0.04713011, 0.16113807]},
    ),
    "M7": (
        "forced",
        DIE,
        {"penalty": "jeffreys"},
        [-1.03973507, 0.36759395, -0.25511391, -0.01081858],
        None,
        {"expected": [0.11228785, 0.14896586, 0.04318983, 0.15172491]},
    ),
    "M9": (
        "die_or_unrelated",
        {1: DIE, 2: UNRELATED},
        MIXED | {"weights": "weight"},
        [-1.02592949, 0.29573143, -0.21830774, 0.18868803],
        -1657.90995854,
        {"robust": [0.11411890, 0.15559928, 0.04236812, 0.15526982]},
    ),
    "M9 clusters": (
        "die_or_unrelated",
        {1: DIE, 2: UNRELATED},
        MIXED | {"weights": "weight", "clusters": "c60"},
        [-1.02592949, 0.29573143, -0.21830774, 0.18868803],
        -1657.90995854,
        {"robust": [0.10412065, 0.16769479, 0.03919990, 0.18950420]},
    ),
    "M10": (
        "both",
        BOTH,
        {},
        [-0.97784482, 0.33260006, -0.23517085, -0.01996961],
        -3057.28964409,
        {
            "observed": [0.09492435, 0.12893925, 0.03694653, 0.13086702],
            "expected": [0.09603996, 0.12955116, 0.03696131, 0.13248215],
        },
    ),
}


@pytest.mark.slow
@each(name=FITS)
def test_coefficients_likelihood_and_errors_are_those_of_the_reference(name: str) -> None:
    report, design, options, value, log_likelihood, errors = FITS[name]
    for place, (kind, se) in enumerate(errors.items()):
        fit = logistic(report + COVARIATES, DATA, design, se=kind if len(errors) > 1 else None, **options)
        assert fit.labels == ("Intercept", "female", "age10", "loginc")
        assert np.allclose(fit.value, value, rtol=0, atol=2e-8)
        assert np.allclose(fit.se, se, rtol=2e-7)
        assert f"{kind} errors" in fit.coefficients.method
        if place == 0 and log_likelihood is not None:
            mean = DATA.weight.mean() if "weights" in options else 1  # the references have weights as they are
            assert abs(fit.llf - log_likelihood / mean) < 1e-7


def test_150_rows_with_and_without_penalty() -> None:
    """M8."""
    few = DATA[:150]
    free = logistic("forced" + COVARIATES, few, DIE, se="expected")
    assert np.allclose(free.value, [-0.57023956, -1.17249013, -0.08571023, 1.61499365], atol=5e-8)
    assert np.allclose(free.se, [0.45506539, 0.72056036, 0.17835460, 0.80541201], rtol=1e-7)
    bound = logistic("forced" + COVARIATES, few, DIE, penalty="jeffreys")
    assert np.allclose(bound.value, [-0.47829008, -0.98516820, -0.06975787, 1.33429835], atol=2e-8)
    assert np.allclose(bound.se, [0.43110482, 0.65378027, 0.16773614, 0.72934332], rtol=1e-7)
    share = 1 / (1 + np.exp(-bound.covariates.matrix @ bound.value))
    height = np.log(np.where(few.forced == 1, 1 + 4 * share, 5 - 4 * share) / 6).sum()
    assert bound.llf == pytest.approx(height)  # without the penalty


RR = {
    "forced": (
        DIE,
        [-1.04908981025644, 0.371586446408286, -0.257854248503329, -0.0106404790804621],
        {
            "opg": [0.112513478633109, 0.149305046096601, 0.0434200595815392, 0.153269859980718],
            "observed": [0.113360190431263, 0.149726401773706, 0.043325504371625, 0.150122388227406],
        },
    ),
    "warner": (
        COINS,
        [-0.920813475922848, 0.388701482639952, -0.181830979355511, -0.0955083613878542],
        {
            "opg": [0.144302871918772, 0.191605193796345, 0.0540210752983658, 0.194621574733858],
            "observed": [0.144047252885481, 0.191021839603065, 0.0541740547701285, 0.196893102052453],
        },
    ),
    "unrelated": (
        UNRELATED,
        [-0.957387479143171, 0.226128071098738, -0.229313170874031, 0.282930465787575],
        {"opg": [0.0971661003200127, 0.132711006230733, 0.0385002170851544, 0.139196040364287]},
    ),
    "crosswise": (
        BIRTHDAY,
        [-1.0222411875869, 0.419236102455406, -0.263573937510671, 0.1794367119633],
        {"observed": [0.106022027669467, 0.140217855541457, 0.0404851644968465, 0.141922848854208]},
    ),
}


@pytest.mark.parametrize("name", RR)
def test_rr_and_rrreg_give_the_same_coefficients_and_errors(name: str) -> None:
    """rr's default errors are by the outer product of gradients; RRreg's by the Hessian."""
    design, value, errors = RR[name]
    for kind, se in errors.items():
        fit = logistic(name + COVARIATES, DATA, design, se=kind)
        assert np.allclose(fit.value, value, rtol=0, atol=1e-5)
        assert np.allclose(fit.se, se, rtol=1e-3)


def test_rr_has_the_same_mean_prediction() -> None:
    assert abs(logistic("forced" + COVARIATES, DATA, DIE).margins().value - 0.288537994165367) < 1e-7


def test_likelihood_ratio_and_null_model() -> None:
    full, null = logistic("forced" + COVARIATES, DATA, DIE), logistic("forced ~ 1", DATA, DIE)
    assert abs(null.llf + 1567.04932109) < 1e-7
    found = full.compare(logistic("forced ~ female + age10", DATA, DIE))
    assert abs(found.statistic - 0.00502355) < 1e-7
    assert found.df == 1
    assert full.compare(null).df == 3


def test_the_null_model_is_the_moment_estimate_on_the_logit_scale() -> None:
    null = logistic("forced ~ 1", DATA, DIE)
    assert abs(1 / (1 + np.exp(-null.value[0])) - DIE.estimate(DATA.forced).value) < 1e-9


def test_a_maximum_at_infinity_is_refused_and_the_penalty_is_finite() -> None:
    """Fifty yes of 300 through a die are expected if nobody has the trait: the likelihood has no maximum."""
    reports, x = runaway()
    assert reports.sum() == 50
    with pytest.raises(ValueError, match="the maximum is not at finite coefficients; use penalty='jeffreys'"):
        logistic(reports, x, DIE)
    fit = logistic(reports, x, DIE, penalty="jeffreys")
    assert np.allclose(fit.value, [-3.32537116, -0.76059012], atol=2e-7)
    assert np.allclose(fit.se, [1.15980351, 0.92306091], rtol=1e-6)


@pytest.mark.parametrize("seed", [29, 49, 54])
def test_a_maximum_that_scoring_is_slow_to_find_is_not_refused(seed: int) -> None:
    """200 people and a weak design: Fisher scoring alone does not end within 100 steps."""
    design, rng = warner("3/5"), np.random.default_rng(seed)
    x = rng.normal(size=200)
    reports = np.asarray(design.randomize(rng.random(200) < expit(x - 1), rng=rng))
    fit = logistic(reports, x, design)

    def loss(at: np.ndarray) -> float:
        yes = 0.4 + 0.2 * expit(at[0] + at[1] * x)
        return -float(np.log(np.where(reports == 1, yes, 1 - yes)).sum())

    assert fit.value == pytest.approx(minimize(loss, np.zeros(2), tol=1e-9).x, abs=2e-3)


def test_separation_is_refused_as_a_maximum_at_infinity() -> None:
    truth = np.repeat([0, 1], 50)
    with pytest.raises(ValueError, match="maximum is not at finite coefficients"):
        logistic(truth, np.arange(100.0), DIRECT)
    fit = logistic(truth, np.arange(100.0), DIRECT, penalty="jeffreys")
    assert np.isfinite(fit.value).all()


def test_a_rare_trait_of_many_people_is_no_runaway() -> None:
    """One in ten thousand of ten million people, asked directly: little information per person, but enough in total."""
    cells = {"y": [0, 1, 0, 1], "x": [0, 0, 1, 1], "n": [4_999_500, 500, 4_999_000, 1000]}
    fit = logistic("y ~ x", cells, DIRECT, times="n")
    assert abs(fit.value[1] - np.log(1000 / 4_999_000 / (500 / 4_999_500))) < 1e-6
    assert fit.n == 10_000_000


def test_counts_give_the_same_fit_as_rows() -> None:
    """Rows that were counted where the reports are, by categorical covariates."""
    DATA["old"] = DATA.age > 50
    counted = DATA.groupby(["forced", "female", "old"]).size().reset_index(name="people")
    for kind in ("observed", "expected", "opg", "robust"):
        rows = logistic("forced ~ female * old", DATA, DIE, se=kind)
        cells = logistic("forced ~ female * old", counted, DIE, se=kind, times="people")
        assert np.allclose(rows.value, cells.value, atol=1e-10)
        assert np.allclose(rows.se, cells.se, rtol=1e-9)
        assert abs(rows.llf - cells.llf) < 1e-8
        assert rows.n == cells.n


def test_weights_that_are_all_the_same_change_nothing() -> None:
    plain = logistic("forced" + COVARIATES, DATA, DIE, se="robust")
    twice = logistic("forced" + COVARIATES, DATA, DIE, weights=np.full(2400, 2.0))
    assert np.allclose(plain.value, twice.value, atol=1e-9)
    assert np.allclose(plain.se, twice.se, rtol=1e-8)
    assert abs(plain.llf - twice.llf) < 1e-8


def test_clusters_give_t_intervals_with_their_degrees_of_freedom() -> None:
    fit = logistic("forced ~ 1", DATA, DIE, clusters="c60")
    assert fit.interval().method == "t"
    assert "59 df" in fit.coefficients.covers
    low, high = fit.interval()
    assert abs((high - low)[0] / 2 / fit.se[0] - 2.0009953780882674) < 1e-9  # t of 59 df at 0.975


def test_the_direction_of_a_code_does_not_matter() -> None:
    """Warner's design with p, and mirrored reports with 1 - p, have the same likelihood."""
    mirrored = DATA.assign(other=1 - DATA.warner)
    one = logistic("warner" + COVARIATES, DATA, COINS)
    two = logistic("other" + COVARIATES, mirrored, warner("1/4"))
    assert np.allclose(one.value, two.value, atol=1e-9)
    assert np.allclose(one.se, two.se, rtol=1e-9)


def test_shifted_and_scaled_covariates_give_the_same_model() -> None:
    """Columns are standardized inside: years since Christ are as good as decades since 45."""
    far = DATA.assign(year=2026.0 - DATA.age, cents=DATA.loginc * 1e6)
    one = logistic("forced" + COVARIATES, DATA, DIE)
    two = logistic("forced ~ female + year + cents", far, DIE)
    assert abs(one.llf - two.llf) < 1e-9
    assert abs(two.value[2] + one.value[2] / 10) < 1e-10
    assert np.allclose(two.se[3] * 1e6, one.se[3], rtol=1e-7)


@pytest.mark.slow
def test_wald_intervals_of_a_slope_cover_at_the_planned_size() -> None:
    """200 surveys of 600 people through a die, intercept -1, slope 0.5: at least 180 cover.

    A binomial of 200 with chance 0.95 is below 180 with probability 1.2e-3; the seed is fixed. The mean of
    200 slopes has a standard error of 0.012, and 0.05 is four of them.
    """
    rng, covered, slopes = np.random.default_rng(5), 0, []
    for _ in range(200):
        x = rng.normal(size=600)
        fit = logistic(DIE.randomize(rng.random(600) < 1 / (1 + np.exp(1 - 0.5 * x)), rng=rng), x, DIE)
        low, high = fit.interval()
        covered += low[1] <= 0.5 <= high[1]
        slopes.append(fit.value[1])
    assert covered >= 180
    assert abs(np.mean(slopes) - 0.5) < 0.05


ETA = np.linspace(-4, 2, 61)


@pytest.mark.parametrize("name", LINKS)
def test_share_and_rest_sum_to_one(name: str) -> None:
    """The derivatives are those of finite differences."""
    link, step = link_named(name), 1e-5
    assert np.allclose(link.probability(ETA) + link.complement(ETA), 1, atol=1e-15)
    slope = (link.probability(ETA + step) - link.probability(ETA - step)) / (2 * step)
    assert np.allclose(link.slope(ETA), slope, rtol=1e-7)
    bend = (link.slope(ETA + step) - link.slope(ETA - step)) / (2 * step) / link.slope(ETA)
    assert np.allclose(link.curvature(ETA), bend, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", LINKS)
def test_the_far_ends_are_finite_and_keep_their_small_tail(name: str) -> None:
    link, far = link_named(name), np.array([-30.0, 3.0, 800.0, -800.0])
    for part in (link.probability, link.complement, link.slope, link.curvature):
        assert np.isfinite(part(far)).all()
    assert 0 < link.probability(far)[0] < 1e-12
    assert link.complement(np.array([3.0]))[0] > 0
