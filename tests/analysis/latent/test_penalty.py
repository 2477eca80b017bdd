"""Latent fits with Jeffreys' penalty, against penalized likelihoods that are written out here.

The expected information is the sum over all responses of the outer products of their probabilities' gradients, which a
complex step gives without differences.
"""

import math
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.slowly import each
from toolkit.analysis import cheater_detection, extended_crosswise, lie_detector, list_experiment, unknown_question
from toolkit.analysis.regression.latent_model import FORM_ONLY
from toolkit.analysis.regression.responses import ResponseModel

P = {0: 0.2, 1: 0.85}
GROUPS = {
    "cheater": (cheater_detection, {}),
    "lie": (lie_detector, {"honesty": "~ w"}),
    "crosswise": (extended_crosswise, {}),
    "unknown": (unknown_question, {"innocuous": "~ w"}),
}
LISTS = {
    "list": {"floor": True, "ceiling": "~ w"},
    "overdispersed": {"control": "beta-binomial", "constrained": False},
    "direct": {"direct": "d"},
}
KINDS = [*GROUPS, *LISTS]


def logistic(eta):
    return 1 / (1 + np.exp(-eta))


@cache
def survey(n=240):
    rng = np.random.default_rng(4)
    x, w, group = rng.integers(-1, 2, n) * 1.0, rng.integers(2, size=n) * 1.0, rng.integers(2, size=n)
    trait, u = rng.random(n) < logistic(0.3 + 0.6 * x), rng.random(n)
    p = np.where(group, P[1], P[0])
    count = rng.binomial(3, logistic(0.2 + 0.3 * x)) + (trait & (group == 1))
    reports = {
        "cheater": trait | (u < p),
        "lie": np.where(trait, rng.random(n) < 0.7, u < 1 - p),
        "crosswise": trait == (u < p),
        "unknown": np.where(u < p, trait, rng.random(n) < 0.4),
    }
    return {"x": x, "w": w, "g": group, "y": count, "d": trait & (u < 0.5), **reports}


def fitted(kind, data, **options):
    if kind in GROUPS:
        function, further = GROUPS[kind]
        p = {0: 0.15, 1: 0.85} if kind == "crosswise" else P
        codes = data | {"r": data[kind].astype(int)}
        return function("r ~ x", codes, p=p, group="g", **further, **options)
    return list_experiment("y ~ x", data, treatment="g", items=3, method="ml", **LISTS[kind], **options)


@cache
def penalized_fit(kind):
    return fitted(kind, survey(), penalty="jeffreys")


def predictors_of(kind, b, x, w):
    """The linear predictors, from coefficients in the order of the fit."""
    lines = {"x": (x, 2), "w": (w, 2), "1": (0 * x, 1)}
    names = {
        "cheater": "xx",
        "lie": "xw",
        "crosswise": "x1",
        "unknown": "xw",
        "list": "xx1w",
        "overdispersed": "xxx11",
        "direct": "xx1",
    }[kind]
    etas, first = [], 0
    for name in names:
        values, width = lines[name]
        etas.append(b[first] + (b[first + 1] * values if width == 2 else 0 * values))
        first += width
    return etas


def probabilities(kind, b, data):
    """Pr(response | covariates, group): one column per response."""
    x, w, group = data["x"], data["w"], data["g"]
    first, second, *others = predictors_of(kind, b, x, w)
    p = np.where(group, 0.85, 0.15 if kind == "crosswise" else 0.2)
    trait = logistic(first)
    if kind in GROUPS:
        own = logistic(second)
        odds = np.exp(first), np.exp(second)
        yes = {
            "cheater": (odds[0] + p) / (1 + odds[0] + odds[1]),
            "lie": own * trait + (1 - p) * (1 - trait),
            "crosswise": (1 - own) * (p * trait + (1 - p) * (1 - trait)),
            "unknown": p * trait + (1 - p) * own,
        }[kind]
        return np.column_stack([1 - yes, yes])
    if kind == "overdispersed":
        carriers, *spreads = others
        both = [overdispersed(eta, np.exp(spread)) for eta, spread in zip((second, carriers), spreads, strict=True)]
    else:
        both = [overdispersed(second, 0 * x)] * 2
    zero = 0 * x
    short, long = [*both[1], zero], [zero, *both[1]]
    if kind == "list":
        floor, ceiling = (logistic(eta) for eta in others)
        long = [floor * short[0], (1 - floor) * short[0], short[1], short[2] + ceiling * short[3]]
        long.append((1 - ceiling) * short[3])
    counts = [np.where(group, one, other) for one, other in zip(long, short, strict=True)]
    rest = [*both[0], zero]
    if kind == "direct":
        confession = logistic(others[0])
        no = [trait * (1 - confession) * one + (1 - trait) * two for one, two in zip(counts, rest, strict=True)]
        yes = [trait * confession * one for one in counts]
        return np.column_stack([value for pair in zip(no, yes, strict=True) for value in pair])
    return np.column_stack([trait * one + (1 - trait) * two for one, two in zip(counts, rest, strict=True)])


def overdispersed(eta, theta):
    """The beta-binomial probabilities of 0 to 3 items."""
    mean = logistic(eta)
    scale = math.prod(1 + theta * j for j in range(3))
    return [
        math.comb(3, y)
        * math.prod([mean + theta * j for j in range(y)])
        * math.prod([1 - mean + theta * j for j in range(3 - y)])
        / scale
        for y in range(4)
    ]


def information(kind, b, data):
    law = probabilities(kind, b, data)
    gradients = np.array([probabilities(kind, b + 1e-30j * axis, data).imag / 1e-30 for axis in np.eye(len(b))])
    return np.einsum("aij,bij->ab", gradients, gradients / np.where(law > 0, law, 1.0))


def penalized(kind, b, data):
    """The log-likelihood without and with half the log determinant of the information."""
    law = probabilities(kind, b, data)
    observed = 2 * data["y"] + data["d"] if kind == "direct" else data["y"] if kind in LISTS else data[kind] * 1
    loglike = np.log(np.take_along_axis(law, np.asarray(observed)[:, None].astype(int), axis=1)).sum()
    return loglike, loglike + np.linalg.slogdet(information(kind, b, data))[1] / 2


@pytest.mark.slow
@each(kind=KINDS)
def test_estimates_maximize_the_penalized_likelihood(kind) -> None:
    data, fit = survey(), penalized_fit(kind)
    loglike, height = penalized(kind, fit.value, data)
    assert fit.llf == pytest.approx(loglike, abs=1e-6)
    assert fit.cov == pytest.approx(np.linalg.inv(information(kind, fit.value, data)), rel=1e-6, abs=1e-9)
    # Along each coefficient and along three directions in which all change, in standard errors.
    directions = np.vstack([np.eye(len(fit.value)), np.random.default_rng(1).normal(size=(3, len(fit.value)))]) * fit.se
    sides = np.array(
        [[penalized(kind, fit.value + side * d, data)[1] for side in (-1e-3, 1e-3, -0.3, 0.3)] for d in directions]
    )
    assert (sides[:, 1] - sides[:, 0]) / 2e-3 == pytest.approx(np.zeros(len(sides)), abs=1e-4)
    assert sides[:, 2:].max() < height
    assert np.isnan(fit.aic)
    assert "Jeffreys penalty" in fit.title
    assert "penalized likelihood, expected errors" in fit.method


@pytest.mark.slow
@each(kind=KINDS)
def test_the_penalty_and_its_gradient_are_those_written_out(kind) -> None:
    data, model = survey(), penalized_fit(kind).model
    rng = np.random.default_rng(2)
    width = sum(columns.shape[1] for columns in model.columns)
    jeffreys = ResponseModel(model.distribution, model.columns, model.responses, model.people, with_jeffreys=True)
    for _ in range(3):
        b = rng.normal(scale=0.7, size=width)
        point = jeffreys.evaluate(b)
        assert point.loglike == pytest.approx(penalized(kind, b, data)[1], abs=1e-6)
        slopes = [
            (penalized(kind, b + step, data)[1] - penalized(kind, b - step, data)[1]) / 2e-5
            for step in 1e-5 * np.eye(width)
        ]
        assert point.score == pytest.approx(slopes, rel=1e-6, abs=1e-5)


@pytest.mark.slow
@each(kind=["cheater", "direct"])
def test_the_penalized_fit_does_not_depend_on_the_unit_of_a_covariate(kind) -> None:
    """Jeffreys' prior is invariant: a change of units or of the reference adds a constant to the penalty."""
    data = survey()
    fit, other = penalized_fit(kind), fitted(kind, data | {"x": 40 - 7 * data["x"]}, penalty="jeffreys")
    assert other.value[1] == pytest.approx(fit.value[1] / -7, abs=1e-6)
    assert other.se[1] == pytest.approx(fit.se[1] / 7, rel=1e-6)
    assert other.llf == pytest.approx(fit.llf, abs=1e-6)
    assert other.predict({"x": [33.0, 47.0]}).value == pytest.approx(fit.predict({"x": [1.0, -1.0]}).value, abs=1e-6)


@pytest.mark.slow
def test_a_penalty_gives_finite_estimates_where_the_likelihood_has_no_maximum() -> None:
    """Nobody with x = 1 says yes, so that the log odds of cheaters have no finite maximum."""
    data = survey()
    data = data | {"cheater": data["cheater"] & (data["x"] != 1)}
    with pytest.raises(ValueError, match="use penalty='jeffreys'"):
        fitted("cheater", data)
    fit = fitted("cheater", data, penalty="jeffreys")
    assert np.abs(fit.value).max() < 10
    assert np.isfinite(fit.se).all()


@pytest.mark.slow
def test_errors_of_a_penalized_fit_of_a_complex_sample() -> None:
    """Clusters of one person each have the sandwich of the penalized likelihood, as se="robust" has."""
    data = survey()
    single = fitted("lie", data | {"c": np.arange(240)}, penalty="jeffreys", clusters="c")
    robust = fitted("lie", data, penalty="jeffreys", se="robust")
    assert single.value == pytest.approx(robust.value, abs=1e-8)
    assert single.se == pytest.approx(robust.se, rel=1e-6)


def from_counts(control, long, **options):
    """The fit without covariates, which counts of the two groups determine."""
    y = np.concatenate([np.repeat(np.arange(5), counts) for counts in (control, long)])
    t = np.repeat([False, True], [sum(control), sum(long)])
    return list_experiment("y ~ 1", {"y": y, "t": t}, treatment="t", items=3, method="ml", **options)


# Counts of 0 to 4 items in the 1991 National Race and Politics Survey (Blair and Imai, Political Analysis 20 (2012);
# the data sets `race` and `affirm` of R's package list): the control group, and those with the item on a black family
# and on affirmative action.
CONTROL, FAMILY, AFFIRM = (8, 132, 222, 227, 0), (19, 123, 229, 219, 34), (9, 78, 172, 184, 139)


@pytest.mark.slow
def test_shares_of_floor_and_ceiling_of_affirmative_action_are_finite_with_a_penalty() -> None:
    """Without the penalty both shares go to 0 and are left out."""
    plain = from_counts(CONTROL, AFFIRM, floor=True, ceiling=True)
    assert plain.labels == ("Intercept", "control: Intercept")
    assert sum("was found: the model was fitted without it" in note for note in plain.notes) == 2
    fit = from_counts(CONTROL, AFFIRM, floor=True, ceiling=True, penalty="jeffreys")
    assert fit.labels[2:] == ("floor: Intercept", "ceiling: Intercept")
    assert np.abs(fit.value).max() < 5
    assert abs(fit.value[0] - plain.value[0]) < 0.2 * plain.se[0]


@pytest.mark.slow
def test_floor_and_ceiling_with_covariates_have_finite_estimates_with_a_penalty() -> None:
    """As in table 7 of Blair and Imai (2012), where R's package list has a weak prior: the likelihood has no maximum,
    because few people are at the floor or the ceiling.
    """
    race = pd.read_csv(Path(__file__).parents[2] / "reference" / "race.csv")
    options: dict = {"treatment": "treat", "items": 3, "method": "ml", "floor": "~ south", "ceiling": "~ south"}
    with pytest.raises(ValueError, match="use penalty='jeffreys'"):
        list_experiment("y ~ south", race, **options)
    fit = list_experiment("y ~ south", race, **options, penalty="jeffreys")
    assert fit.labels[4:] == ("floor: Intercept", "floor: south", "ceiling: Intercept", "ceiling: south")
    assert np.abs(fit.value).max() < 2
    # The trait is more frequent in the South, as without floor and ceiling.
    plain = list_experiment("y ~ south", race, treatment="treat", items=3, method="ml")
    assert abs(fit.value[1] - plain.value[1]) < fit.se[1]


@pytest.mark.slow
def test_a_share_that_goes_to_1_is_left_out_with_a_note() -> None:
    """With a control count of their own, carriers of the item on a black family all deny it at the floor."""
    fit = from_counts(CONTROL, FAMILY, floor=True, constrained=False)
    assert fit.labels == ("Intercept", "control: Intercept", "control of carriers: Intercept")
    assert any("deny at the floor went to 1" in note for note in fit.notes)
    trait, others, carriers = 1 / (1 + np.exp(-fit.value))
    law, own = (
        np.array([math.comb(3, y) * share**y * (1 - share) ** (3 - y) for y in range(4)] + [0])
        for share in (others, carriers)
    )
    long = np.array([own[0], 0, *own[1:4]])
    short = (trait * own + (1 - trait) * law)[:4]
    loglike = CONTROL[:4] @ np.log(short) + FAMILY @ np.log(trait * long + (1 - trait) * law)
    assert fit.llf == pytest.approx(loglike, abs=1e-6)
    # The log-likelihood is lower for any other share of carriers who deny it.
    for share in (0.5, 0.9, 0.99):
        some = long - (1 - share) * np.array([own[0], -own[0], 0, 0, 0])
        assert CONTROL[:4] @ np.log(short) + FAMILY @ np.log(trait * some + (1 - trait) * law) < loglike


@pytest.mark.slow
def test_what_the_penalty_does_not_go_with_is_a_sentence() -> None:
    data = survey()
    with pytest.raises(ValueError, match="`penalty` must go with method='ml'"):
        list_experiment("y ~ x", data, treatment="g", items=3, penalty="jeffreys")
    with pytest.raises(ValueError, match="`penalty` must be one of jeffreys"):
        fitted("cheater", data, penalty="firth")
    with pytest.raises(ValueError, match="`penalty` must go with a formula"):
        cheater_detection([[748, 483], [201, 968]], p=(0.2, 0.8), penalty="jeffreys")
    answers = data | {"r": data["cheater"] * 1}
    smaller = cheater_detection("r ~ 1", answers, p=P, group="g", penalty="jeffreys")
    with pytest.raises(ValueError, match="models to compare must not be penalized"):
        penalized_fit("cheater").compare(smaller)


@pytest.mark.slow
@each(kind=["cheater", "lie"])
def test_one_group_asks_for_a_second_one(kind) -> None:
    """With a slope the shape of the curve identifies the model, so that there may be a maximum."""
    data = survey()
    one = {name: values[data["g"] == 0] for name, values in data.items()}
    options = {"honesty": None} if kind == "lie" else {}
    function = GROUPS[kind][0]
    codes = one | {"r": one[kind] * 1}
    for penalty in (None, "jeffreys"):
        with pytest.raises(ValueError, match="a second group with other odds"):
            function("r ~ 1", codes, p=P, group="g", penalty=penalty, **options)
    try:
        assert FORM_ONLY in function("r ~ x", codes, p=P, group="g", **options).notes
    except ValueError as error:
        assert "second group with other odds" in str(error)  # noqa: PT017  # whether there is an error is the data's
