"""All responses of a person, compared with likelihoods that are written out cell by cell, in independent code."""

import math
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import betabinom, binom, chi2, norm

from tests.analysis.latent.own_likelihood import check
from tests.slowly import each
from toolkit.analysis import list_experiment
from toolkit.analysis.latent.joint import ERRORS, JointDistribution, ListDistribution
from toolkit.analysis.latent.list_counts import item_counts
from toolkit.analysis.latent.two_groups import TwoGroupDistribution
from toolkit.analysis.regression.covariates import Covariates
from toolkit.analysis.regression.fit import Comparison, Fit
from toolkit.analysis.regression.latent_model import (
    FORM_ONLY,
    LatentFit,
    Predictor,
    _identified,
    _maximum,
    vanishing_share,
)
from toolkit.analysis.regression.responses import ResponseModel
from toolkit.analysis.regression.rows import People
from toolkit.analysis.regression.scoring import Evaluation
from toolkit.local.two_groups import TWO_GROUP_DESIGNS

GRID = np.linspace(-8, 8, 161)
NORMAL = np.exp(-(GRID**2) / 2) / np.exp(-(GRID**2) / 2).sum()


def double_survey(n=400, spread=0.7):
    """Two lists of three items for the same people, whose answers are correlated."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=n)
    z = rng.random(n) < expit(-0.5 + 0.5 * x)
    u = spread * rng.normal(size=n)
    first, second = rng.binomial(3, expit(-0.2 + 0.3 * x + u)), rng.binomial(3, expit(0.1 + 0.2 * x + u))
    t = rng.random(n) < 0.5
    return {"a": first + (t & z), "b": second + (~t & z), "x": x, "t": t}


def item_survey(n=400, spread=0.0):
    """Three control items, asked one by one of the people without the long list."""
    rng = np.random.default_rng(12)
    x = rng.normal(size=n)
    z = rng.random(n) < expit(-0.5 + 0.5 * x)
    t = rng.random(n) < 0.5
    u = spread * rng.normal(size=n)
    items = rng.random((n, 3)) < expit(np.column_stack([-0.5 + 0.3 * x, 0.4 - 0.2 * x, -0.1 + 0 * x]) + u[:, None])
    single = {f"c{j}": np.where(t, np.nan, items[:, j]) for j in range(3)}
    return {"y": np.where(t, items.sum(axis=1) + (t & z), np.nan), "x": x, "t": t} | single


def binomial(count, p):
    """The distribution of a count of three items; 0 for impossible counts."""
    choose = np.array([math.comb(3, int(k)) if 0 <= k <= 3 else 0 for k in count])
    k = np.clip(count, 0, 3)
    return choose[:, None] * p ** k[:, None] * (1 - p) ** (3 - k)[:, None]


def of_two_lists(data, classes, shared):
    """The log-likelihood of two lists; `classes` : how many control curves a list has; integrated on a grid."""
    x, t = data["x"], data["t"]

    def height(at):
        b = at.reshape(-1, 2) if not shared else at[:-1].reshape(-1, 2)
        u, law = (np.exp(at[-1]) * GRID, NORMAL) if shared else (np.zeros(1), np.ones(1))
        trait, total = expit(b[0, 0] + b[0, 1] * x), 0
        for carrier in (0, 1):
            place = 1 + 2 * carrier * (classes - 1)
            first, second = (expit((b[k, 0] + b[k, 1] * x)[:, None] + u) for k in (place, place + 1))
            both = binomial(data["a"] - carrier * t, first) * binomial(data["b"] - carrier * ~t, second)
            total = total + np.where(carrier, trait, 1 - trait) * (both @ law)
        return np.log(total).sum()

    return height


def of_single_items(data, shared):
    """The log-likelihood of items one by one, and of a long list: the sum over all ways to reach its count."""
    x, t = data["x"], data["t"]

    def height(at):
        b = at[:-1].reshape(-1, 2) if shared else at.reshape(-1, 2)
        u, law = (np.exp(at[-1]) * GRID, NORMAL) if shared else (np.zeros(1), np.ones(1))
        trait, p = expit(b[0, 0] + b[0, 1] * x), [expit((c[0] + c[1] * x)[:, None] + u) for c in b[1:]]
        chance = np.zeros((len(x), 5))
        for way in product((0, 1), repeat=3):
            one = math.prod(q if yes else 1 - q for q, yes in zip(p, way, strict=True)) @ law
            chance[:, sum(way)] += (1 - trait) * one
            chance[:, sum(way) + 1] += trait * one
        long = np.take_along_axis(chance, np.nan_to_num(data["y"]).astype(int)[:, None], axis=1)[:, 0]
        short = math.prod(np.where(np.nan_to_num(data[f"c{j}"])[:, None] == 1, q, 1 - q) for j, q in enumerate(p))
        return np.log(np.where(t, long, short @ law)).sum()

    return height


TWO = {"treatment": "t", "items": 3, "second": "b", "method": "ml"}
ONE_BY_ONE = {"treatment": "t", "items": 3, "control_items": ["c0", "c1", "c2"], "method": "ml"}


@pytest.mark.slow
@pytest.mark.parametrize(("constrained", "control"), [(True, "binomial"), (False, "binomial"), (True, "logit-normal")])
def test_two_lists_have_the_likelihood_of_pairs_of_counts(constrained, control) -> None:
    data, shared = double_survey(), control == "logit-normal"
    fit = list_experiment("a ~ x", data, **TWO, constrained=constrained, control=control)
    check(fit, of_two_lists(data, 1 if constrained else 2, shared), exact=1e-5)
    assert fit.labels[2:4] == ("control: Intercept", "control: x")
    assert ("spread of people: Intercept" in fit.labels) == shared


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "control"), [(0.0, "binomial"), (1.0, "logit-normal")])
def test_items_one_by_one_have_the_likelihood_of_all_ways_to_a_sum(spread, control) -> None:
    data = item_survey(spread=spread)
    fit = list_experiment("y ~ x", data, **ONE_BY_ONE, control=control)
    check(fit, of_single_items(data, control == "logit-normal"), exact=1e-5)
    assert fit.difference.value == pytest.approx(
        np.nanmean(data["y"]) - np.nanmean(sum(data[f"c{j}"] for j in range(3)))
    )


@pytest.mark.slow
def test_answers_that_go_together_are_detected() -> None:
    """Of independent items the likelihood is far from the difference in means and from least squares (.428 for .385);
    with a spread of people it is near both (.384), and the likelihood ratio, on the edge, says which holds.
    """
    data = double_survey(1500, spread=1.2)
    squares = list_experiment("a ~ 1", data, **(TWO | {"method": "nls"}))
    apart, together = (list_experiment("a ~ 1", data, **TWO, control=c) for c in ("binomial", "logit-normal"))
    assert apart.agreement.p < 0.05 < together.agreement.p
    assert float(apart.margins()) - float(squares.margins()) > 0.04
    assert abs(float(together.margins()) - float(squares.margins())) < 0.01
    test = together.compare(apart)
    assert (test.method, test.df, test.p < 1e-12) == ("likelihood ratio, on the edge", 1, True)
    assert together.se[0] < squares.se[0]


@pytest.mark.slow
def test_lists_of_one_item_are_two_lists() -> None:
    """Cases in which a control count is 0 or 1, such as a single item."""
    rng, n = np.random.default_rng(3), 800
    z, t = rng.random(n) < 0.3, rng.random(n) < 0.5
    data = {"a": (rng.random(n) < 0.5) + 1 * (t & z), "b": (rng.random(n) < 0.4) + 1 * (~t & z), "t": t}
    fit = list_experiment("a ~ 1", data, **(TWO | {"items": 1}))
    one, two, share = (expit(fit.value[k]) for k in (1, 2, 0))

    def chance(a, b):
        def told(p, k):
            return (p if k == 1 else 1 - p) * (k in (0, 1))

        return np.where(
            t,
            share * told(one, a - 1) * told(two, b) + (1 - share) * told(one, a) * told(two, b),
            share * told(one, a) * told(two, b - 1) + (1 - share) * told(one, a) * told(two, b),
        )

    height = sum(np.log(chance(a, b)[(data["a"] == a) & (data["b"] == b)]).sum() for a in range(3) for b in range(3))
    assert fit.llf == pytest.approx(height, abs=1e-9)
    assert (fit.margins().labels, float(fit.margins())) == (("mean prevalence",), pytest.approx(share))
    low, high = fit.predict().interval(0.9)
    assert logit([low[0], high[0]]) == pytest.approx(norm.interval(0.9, fit.value[0], fit.se[0]))


TREATED, TWICE = np.array([True, False] * 2), (False, True)
LAWS = [ListDistribution(3, TREATED, *options) for options in product(TWICE, repeat=5)]
LAWS += [
    JointDistribution(parts, single, TREATED, constrained, shared)
    for parts, single in (({"a": 2, "b": 2}, False), ({"a": 3}, False), ({"a": 1, "b": 1, "c": 1}, True))
    for constrained, shared in product(TWICE, repeat=2)
]
LAWS += [
    ListDistribution(3, TREATED, True, constrained, True, True, False, errors=errors)
    for errors, constrained in product(ERRORS.values(), TWICE)
]
LAWS += [ListDistribution(3, TREATED, True, constrained, True, True, False, outcome=True) for constrained in TWICE]


def test_a_law_describes_itself_and_can_drop_a_parameter() -> None:
    """Without that parameter, the distribution is the same."""
    plain, full = LAWS[0], LAWS[31]
    assert (plain.form, plain.further_shares) == ("unconstrained binomial", "")
    assert (full.form, full.further_shares) == ("constrained beta-binomial", ", floor, ceiling, direct question")
    for name in ("overdispersion", "floor", "ceiling"):
        assert full.without(name).names == tuple(one for one in full.names if one != name)
    free = ListDistribution(3, TREATED, True, False, False, True, False)
    assert free.without("overdispersion of carriers").names == ("", "control", "control of carriers", "ceiling")
    together = LAWS[35]
    assert (together.form, together.without("spread of people").form) == (
        "constrained logit-normal",
        "constrained binomial",
    )
    assert together.names == ("", "a", "b", "spread of people")
    assert LAWS[32].names == ("", "a", "b", "a of carriers", "b of carriers")


NOBODY = np.zeros(4, dtype=bool)
CURVES = [TwoGroupDistribution(design, np.array([0.2, 0.8] * 2), NOBODY) for design in TWO_GROUP_DESIGNS.values()]


@pytest.mark.slow
@each(law=[*((one, len(one.names)) for one in LAWS), *((one, 2) for one in CURVES)])
def test_chances_of_all_answers_add_up_and_slope_as_they_say(law) -> None:
    chances_of, width = law
    eta = np.random.default_rng(3).uniform(-2, 2, size=(width, 4))
    chances, slopes = chances_of(eta)
    assert chances.min() >= 0
    assert chances.sum(axis=1) == pytest.approx(np.ones(4))
    for slope, step in zip(slopes, 1e-5 * np.eye(width), strict=True):
        up, down = (chances_of(eta + side * step[:, None])[0] for side in (1, -1))
        assert slope == pytest.approx((up - down) / 2e-5, abs=1e-8)
    far, _ = chances_of(5000 * eta)
    assert far.sum(axis=1) == pytest.approx(np.ones(4))


@pytest.mark.slow
@each(law=LAWS[:32])
def test_chances_of_one_list_are_those_of_all_ways_to_answer_it(law) -> None:
    """Written out: a trait, a binomial or beta-binomial count, one more for carriers of the long list unless floor or
    ceiling holds them back, and a confession of carriers alone.
    """
    eta = np.random.default_rng(4).normal(size=(len(law.names), 4))
    chances, _ = law(eta)
    for person, long in enumerate(TREATED):
        by = dict(zip(law.names, eta[:, person], strict=True))
        expected = np.zeros((5, 2))
        for carrier in (0, 1):
            whose = " of carriers" if carrier and not law.constrained else ""
            mean, theta = expit(by[f"control{whose}"]), np.exp(by.get(f"overdispersion{whose}", -np.inf))
            count = betabinom(3, mean / theta, (1 - mean) / theta) if theta else binom(3, mean)
            for y in range(4):
                one = count.pmf(y) * (expit(by[""]) if carrier else expit(-by[""]))
                name = {0: "floor", 3: "ceiling"}.get(y, "")
                kept = expit(by[name]) if carrier and long and name in by and name else 0.0
                told = expit(by["confession"]) if carrier and law.direct else 0.0
                for silent, confessed in product((0, 1), repeat=2):
                    way = (kept if silent else 1 - kept) * (told if confessed else 1 - told)
                    expected[y + (carrier and long and not silent), confessed] += one * way
        right = expected.ravel() if law.direct else expected.sum(axis=1)
        assert chances[person] == pytest.approx(right)


def test_what_a_person_tells_has_the_place_of_its_chance() -> None:
    """Pairs of counts in order, a count alone, items as digits; behind those the counts of long lists."""
    told, nobody = [np.array([2.0, 1.0]), np.array([0.0, 3.0])], np.zeros(2, dtype=bool)
    assert JointDistribution({"a": 2, "b": 2}, False, nobody, True, False).codes(told).tolist() == [8, 7]
    assert JointDistribution({"a": 2}, False, nobody, True, False).codes(told[:1]).tolist() == [2, 1]
    items = [np.array([1.0, 0.0]), np.array([0.0, 0.0]), np.array([1.0, 0.0]), np.array([0.0, 4.0])]
    one_by_one = JointDistribution({"a": 1, "b": 1, "c": 1}, True, np.array([False, True]), True, False)
    assert one_by_one.codes(items).tolist() == [0b101, 8 + 4]


@pytest.mark.parametrize(
    ("eta", "gone"),
    [
        ([-9, -7.1], ("floor", 0)),
        ([-9, -6.9], None),
        ([-7.1, -9], ("floor", 0)),
        ([9, 7.1], ("floor", 1)),
        ([9, 6.9], None),
    ],
)
def test_a_share_has_gone_where_it_is_within_a_thousandth_of_0_or_1_for_everybody(eta, gone) -> None:
    at = Covariates(np.ones((2, 1)), ("Intercept",), np.asarray, None)
    parts = [Predictor("confession", at, np.zeros(1)), Predictor("floor", at, np.zeros(1), limits=(0, 1))]
    there = Evaluation(np.zeros(2), 0.0, np.zeros(2), np.eye(2))
    model = SimpleNamespace(evaluate=lambda _: there, predictors=lambda _: np.array([[-20.0, -20.0], eta]))
    assert vanishing_share(model, parts, np.zeros(2)) == gone


@each(edge=[1, 2, 3], more=[0, 1, 2], statistic=[0.0, 3.2])
def test_shares_of_zero_lie_on_the_edge_each_for_itself(edge, more, statistic) -> None:
    """Each is 0 half of the time: chi-squared laws with the weights of a binomial law (Self and Liang 1987)."""
    one = Covariates(np.ones((3, 1)), ("Intercept",), np.asarray, None)
    shares = [Predictor(f"share {place}", one, np.zeros(1), limits=(0,)) for place in range(edge)]
    fit, smaller = LatentFit.__new__(LatentFit), SimpleNamespace(labels=("Intercept",))
    object.__setattr__(fit, "predictors", (Predictor("", one, np.zeros(1)), *shares))
    object.__setattr__(fit, "model", None)
    plain = Comparison(statistic, edge + more, 0.5, "likelihood ratio")
    with mock.patch.object(Fit, "compare", return_value=plain):
        found = fit.compare(smaller)
    above = [chi2.sf(statistic, more + there) if more + there else float(statistic == 0) for there in range(edge + 1)]
    assert found.p == pytest.approx(binom.pmf(range(edge + 1), edge, 0.5) @ above)
    assert found.method == "likelihood ratio, on the edge"
    two = Covariates(np.ones((3, 2)), ("Intercept", "x"), np.asarray, None)
    wide = Predictor("wide", two, np.zeros(2), limits=(0,))
    for others, method in (((wide,), "likelihood ratio"), (shares, "Wald, F")):
        object.__setattr__(fit, "predictors", (Predictor("", one, np.zeros(1)), *others))
        other = replace(plain, method=method)
        with mock.patch.object(Fit, "compare", return_value=other):
            assert fit.compare(smaller) is other


@pytest.mark.parametrize(("alike", "notes"), [(1.9e-8, (FORM_ONLY,)), (0.0199, (FORM_ONLY,)), (0.0201, ())])
def test_parameters_are_identified_by_the_least_eigenvalue(alike, notes) -> None:
    """The eigenvalue is that of their correlations: of two it is one less their correlation, whatever their units."""
    assert _identified(np.array([[4.0, 6 * (1 - alike)], [6 * (1 - alike), 9.0]])) == notes
    with pytest.raises(ValueError, match="must identify the parameters, got a smallest eigenvalue of 9"):
        _identified(np.array([[4.0, 6 * (1 - 0.9e-8)], [6 * (1 - 0.9e-8), 9.0]]))


def test_a_likelihood_counts_people_and_has_a_finite_maximum() -> None:
    """Its gradient by differences; its information as the mean square over all possible scores."""
    x, weights = np.array([[1.0, -0.5], [1.0, 0.3], [1.0, 1.0], [1.0, 2.0]]), np.array([0.6, 1.9, 0.3, 1.2])
    law = TwoGroupDistribution(TWO_GROUP_DESIGNS["lie_detector"], np.array([0.2, 0.8] * 2), NOBODY)
    columns, at = (x, np.ones((4, 1))), np.array([-0.3, 0.4, 0.9])
    model = ResponseModel(law, columns, np.array([0, 1, 1, 0]), People(4, weights))
    point, steps = model.evaluate(at), 1e-5 * np.eye(3)
    slopes = [(model.evaluate(at + step).loglike - model.evaluate(at - step).loglike) / 2e-5 for step in steps]
    assert point.score == pytest.approx(slopes, abs=1e-8)
    assert model.scores(at).sum(axis=0) == pytest.approx(slopes, abs=1e-8)
    alike = [replace(model, responses=np.full(4, report), people=People(4)).scores(at) for report in (0, 1)]
    chances = law(model.predictors(at))[0] * weights[:, None]
    squares = sum(s.T @ (s * chance[:, None]) for s, chance in zip(alike, chances.T, strict=True))
    assert point.information == pytest.approx(squares)
    with pytest.raises(ValueError, match=r"maximum at finite coefficients.*fewer covariates, or ask more people"):
        _maximum(replace(model, responses=np.ones(4, dtype=np.intp)), np.zeros(3))


def test_what_has_no_solution_is_refused() -> None:
    """A person with the long list counts more than all control items and the trait."""
    on = np.arange(20) % 2 == 0
    data = {"y": np.where(on, 4, np.arange(20) // 2 % 4), "t": on}
    with pytest.raises(ValueError, match="curve of the sensitive item must have finite coefficients"):
        list_experiment("y ~ 1", data, treatment="t", items=3)
    with pytest.raises(ValueError, match="`control` must be one of binomial, beta-binomial, logit-normal"):
        list_experiment("y ~ 1", data, treatment="t", items=3, control="poisson")
    assert item_counts(np.array([4, 0, 1, 3]), on[:4], 3).tolist() == [4, 0, 1, 3]
    for few in ([True, False, False], [True, True, False]):
        with pytest.raises(ValueError, match="each list must have at least two people, got 1 with the"):
            item_counts(np.zeros(3), np.array(few), 3)
    with pytest.raises(TypeError, match="counts must be whole numbers"):
        list_experiment("y ~ 1", data | {"y": ["many"] * 20}, treatment="t", items=3)


def test_what_has_no_likelihood_is_refused() -> None:
    data = double_survey()
    with pytest.raises(ValueError, match="`floor` must go with one list, and a binomial or beta-binomial control"):
        list_experiment("a ~ x", data, **TWO, floor=True)
    with pytest.raises(ValueError, match="`control='beta-binomial'` must go with one list"):
        list_experiment("a ~ x", data, **TWO, control="beta-binomial")
    with pytest.raises(ValueError, match="`second` must be given without `control_items`"):
        list_experiment("a ~ x", data, **TWO, control_items=["x"])
    many = {f"c{j}": np.zeros(4) for j in range(10)} | {"y": [0, 0, 1, 1], "t": [0, 0, 1, 1]}
    with pytest.raises(ValueError, match="at most 600 possible responses"):
        list_experiment("y ~ 1", many, treatment="t", items=10, control_items=[f"c{j}" for j in range(10)], method="ml")


@pytest.mark.parametrize(
    ("parts", "single", "ways"),
    [
        (lambda size: {"a": size, "b": size}, False, {22: 24**2, 23: None}),  # a pair of counts up to 23
        (lambda size: {"a": size}, False, {598: 600, 599: None}),  # 0 to 599
        (lambda size: dict.fromkeys("abcdefghij"[:size], 1), True, {9: 2**9 + 11, 10: None}),  # items, or 0 to 10
    ],
    ids=["two lists", "one list", "items"],
)
def test_what_people_can_say_is_counted_and_limited(parts, single, ways) -> None:
    for size, many in ways.items():
        law = JointDistribution(parts(size), single, np.zeros(1, dtype=bool), constrained=True, correlated=False)
        if many is None:
            with pytest.raises(ValueError, match="at most 600 possible responses"):
                _ = law._response_matrices
        else:
            assert {matrix.shape[1] for pair in law._response_matrices for matrix in pair} == {many}
