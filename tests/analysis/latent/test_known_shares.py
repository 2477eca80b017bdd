"""Fits with known shares, held against a likelihood written out here and maximized in two steps by BFGS."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from tests.analysis.latent.own_likelihood import check
from toolkit import analysis
from toolkit.analysis.sampling.replicates import Replicates
from toolkit.analysis.sampling.sample import Sample

pytestmark = pytest.mark.slow
N = 700
EFFECT = {"a": 0.0, "b": 0.6, "c": -0.4}
LIE = {0: 0.3, 1: 0.8}


def mean_share(region: str) -> float:
    """Integrate the share of carriers of a region over a standard normal covariate, by the midpoint rule."""
    x = np.linspace(-8, 8, 4001)
    density = np.exp(-(x**2) / 2)
    return float(density @ expit(-1 + 0.5 * x + EFFECT[region]) / density.sum())


KNOWN = {region: mean_share(region) for region in EFFECT}


def people(seed: int, n: int = N) -> tuple[np.random.Generator, dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    region, x, group = rng.choice(["a", "b", "c"], n), rng.normal(size=n), rng.integers(2, size=n)
    effect = np.array([EFFECT[name] for name in region])
    return rng, {"x": x, "g": group, "region": region}, rng.random(n) < expit(-1 + 0.5 * x + effect)


def liars(seed: int, n: int = N) -> dict[str, np.ndarray]:
    rng, data, carrier = people(seed, n)
    p = np.where(data["g"], 0.8, 0.3)
    yes = np.where(carrier, rng.random(n) < 0.7, rng.random(n) < 1 - p)
    return data | {"y": yes * 1}


def cheaters(seed: int) -> dict[str, np.ndarray]:
    rng, data, carrier = people(seed)
    yes = carrier | ((rng.random(N) < 0.8) & (rng.random(N) < np.where(data["g"], 0.8, 0.3)))
    return data | {"y": yes * 1}


def crosswise(seed: int) -> dict[str, np.ndarray]:
    rng, data, carrier = people(seed)
    same = (carrier == (rng.random(N) < np.where(data["g"], 0.8, 0.3))) & (rng.random(N) < 0.9)
    return data | {"y": same * 1}


def unrelated(seed: int) -> dict[str, np.ndarray]:
    rng, data, carrier = people(seed)
    asked = rng.random(N) < np.where(data["g"], 0.8, 0.3)
    return data | {"y": np.where(asked, carrier, rng.random(N) < 0.4) * 1}


def design_matrix(data: dict[str, np.ndarray]) -> np.ndarray:
    return np.column_stack([np.ones(len(data["x"])), data["region"] == "b", data["region"] == "c", data["x"]]) * 1.0


def softmax_shares(params: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    odds = np.exp(x @ params.reshape(2, -1).T)
    return tuple((odds / (1 + odds.sum(axis=1, keepdims=True))).T)


def plain_shares(params: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return expit(x @ params[:-1]), np.full(len(x), expit(params[-1]))


CASES = [
    SimpleNamespace(
        fit=analysis.lie_detector, data=liars, shares=plain_shares, yes=lambda p, t, s: t * s + (1 - p) * (1 - t)
    ),
    SimpleNamespace(
        fit=analysis.cheater_detection, data=cheaters, shares=softmax_shares, yes=lambda p, t, s: t + p * (1 - t - s)
    ),
    SimpleNamespace(
        fit=analysis.extended_crosswise,
        data=crosswise,
        shares=plain_shares,
        yes=lambda p, t, s: (1 - s) * (p * t + (1 - p) * (1 - t)),
    ),
    SimpleNamespace(
        fit=analysis.unknown_question, data=unrelated, shares=plain_shares, yes=lambda p, t, s: p * t + (1 - p) * s
    ),
]


class OwnLikelihood:
    """The log-likelihood of the reports, and of normal differences between mean predictions and known shares."""

    def __init__(self, reports, shares, groups, known, errors) -> None:
        self.reports, self.shares, self.groups = reports, shares, groups
        self.known, self.errors = np.array(known), np.array(errors)
        self.of_known = (self.errors / (self.known * (1 - self.known))) ** 2
        counts = np.array([group.sum() for group in groups])
        self.covariance = np.diag(1 / (counts * self.known * (1 - self.known)) + self.of_known)

    def __call__(self, params) -> float:
        share = self.shares(params)
        difference = np.array([logit(share[group].mean()) for group in self.groups]) - logit(self.known)
        return self.reports(params) - difference @ np.linalg.inv(self.covariance) @ difference / 2

    def maximize(self, start) -> np.ndarray:
        """Maximize with the largest variances, then with the sampling variance at that maximum."""
        first = minimize(lambda params: -self(params), start, method="BFGS", options={"gtol": 1e-6}).x
        share, least = self.shares(first), 1e-6 * (np.diag(self.covariance) - self.of_known)
        n, rows = len(share), []
        for group in self.groups:
            mean = share[group].mean()
            rows.append(group * (share - mean) / group.sum() / (mean * (1 - mean)))
        self.covariance = n * np.cov(rows) + np.diag(self.of_known + least)
        return minimize(lambda params: -self(params), first, method="BFGS", options={"gtol": 1e-6}).x


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.fit.__name__)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_fit_maximizes_the_likelihood_of_reports_and_shares(case, seed) -> None:
    data = case.data(seed)
    x, p = design_matrix(data), np.where(data["g"], 0.8, 0.3)

    def reports(params: np.ndarray) -> float:
        yes = case.yes(p, *case.shares(params, x))
        return float(np.log(np.where(data["y"], yes, 1 - yes)).sum())

    groups = [data["region"] == name for name in EFFECT]
    own = OwnLikelihood(reports, lambda params: case.shares(params, x)[0], groups, [*KNOWN.values()], [0, 0, 0.02])
    known = {"region": KNOWN | {"c": (KNOWN["c"], 0.02)}}
    fit = case.fit("y ~ region + x", data, p=LIE, group="g", known=known)
    at = own.maximize(np.asarray(fit.value) + 0.1)
    assert fit.value == pytest.approx(at, abs=1e-4 * float(max(fit.se)))
    check(fit, own, exact=1e-6)
    assert "3 known shares" in fit.method


def listed(seed: int, n: int = N) -> dict[str, np.ndarray]:
    rng, data, carrier = people(seed, n)
    long = rng.random(n) < 0.5
    return data | {"y": rng.binomial(3, expit(-0.2 + 0.3 * data["x"])) + (long & carrier), "long": long}


def test_known_shares_enter_the_likelihood_of_a_list() -> None:
    data = listed(3, 1100)
    x, y, long = design_matrix(data), data["y"], data["long"] * 1
    ways = np.array([1, 3, 3, 1, 0, 0])  # numbers of sets of 0, 1, 2, 3 of three items; none of 4 or of -1

    def reports(params: np.ndarray) -> float:
        carrier, item = expit(x @ params[:4]), expit(x @ params[4:])
        of_carrier, of_other = (
            ways[k] * item ** np.maximum(k, 0) * (1 - item) ** np.maximum(3 - k, 0) for k in (y - long, y)
        )
        likelihood = carrier * of_carrier + (1 - carrier) * of_other
        return float(np.log(likelihood).sum())

    groups = [data["region"] == name for name in EFFECT]
    own = OwnLikelihood(reports, lambda params: expit(x @ params[:4]), groups, [*KNOWN.values()], [0, 0, 0])
    options = {"treatment": "long", "items": 3, "method": "ml"}
    fit = analysis.list_experiment("y ~ region + x", data, known={"region": KNOWN}, **options)
    at = own.maximize(np.asarray(fit.value) + 0.1)
    assert fit.value == pytest.approx(at, abs=1e-4 * float(max(fit.se)))
    check(fit, own, exact=1e-6)
    free = analysis.list_experiment("y ~ region + x", data, **options)
    assert fit.se[0] < free.se[0] / 2
    assert free.compare(fit).df == 3
    with pytest.raises(ValueError, match="`known` must go with method='ml'"):
        analysis.list_experiment("y ~ x", data, treatment="long", items=3, known={"region": KNOWN})


def test_one_group_suffices_where_the_shares_are_known() -> None:
    """Without covariates within regions, the shares are those given, and only honesty is left to estimate."""
    data = liars(4)
    one = {name: values[data["g"] == 0] for name, values in data.items()}
    with pytest.raises(ValueError, match="a second group with other odds"):
        analysis.lie_detector("y ~ region", one, p={0: 0.3}, group="g")
    fit = analysis.lie_detector("y ~ region", one, p={0: 0.3}, group="g", known={"region": KNOWN})
    assert fit.predict({"region": [*EFFECT]}).value == pytest.approx([*KNOWN.values()], abs=1e-6)
    share = np.array([KNOWN[name] for name in one["region"]])

    def reports(honesty: float) -> float:
        yes = share * expit(honesty) + 0.7 * (1 - share)
        return float(np.log(np.where(one["y"], yes, 1 - yes)).sum())

    best = minimize(lambda at: -reports(at[0]), [0.5], method="BFGS", options={"gtol": 1e-7})
    honesty = fit["honesty: Intercept"]
    assert honesty.value == pytest.approx(float(best.x[0]), abs=1e-3 * float(honesty.se))
    assert fit.llf == pytest.approx(-best.fun, abs=1e-5)
    assert not fit.notes


def test_the_test_of_known_shares_finds_wrong_ones() -> None:
    data = liars(5, 1500)
    free = analysis.lie_detector("y ~ region + x", data, p=LIE, group="g")
    right, wrong = (
        analysis.lie_detector("y ~ region + x", data, p=LIE, group="g", known={"region": shares})
        for shares in (KNOWN, {"a": 0.6, "b": 0.7, "c": 0.6})
    )
    assert free.compare(right).p > 0.05
    test = free.compare(wrong)
    assert (test.df, test.method) == (3, "likelihood ratio, known shares")
    assert test.p < 1e-3
    for larger, smaller in ((right, free), (right, wrong)):
        with pytest.raises(ValueError, match="must be the smaller model"):
            larger.compare(smaller)
    other = analysis.lie_detector("y ~ region", data, p=LIE, group="g", known={"region": KNOWN})
    with pytest.raises(ValueError, match="must otherwise be the same"):
        free.compare(other)
    penalized = analysis.lie_detector("y ~ region + x", data, p=LIE, group="g", penalty="jeffreys")
    with pytest.raises(ValueError, match="must not be penalized"):
        penalized.compare(right)
    again = pickle.loads(pickle.dumps(right))  # noqa: S301
    assert again.value.tolist() == right.value.tolist()


def test_known_shares_go_with_weights_and_replicates() -> None:
    """Equal weights give the errors of the sandwich; the jackknife, which fits the model again, nearly agrees."""
    data = liars(6, 1200) | {"w": np.ones(1200), "ward": np.arange(1200) % 40}
    model = {"p": LIE, "group": "g", "known": {"region": KNOWN}}
    fit = analysis.lie_detector("y ~ region + x", data, clusters="ward", **model)
    free = analysis.lie_detector("y ~ region + x", data, clusters="ward", p=LIE, group="g")
    plain = analysis.lie_detector("y ~ region + x", data, **model)
    assert plain.se[:3] == pytest.approx(fit.se[:3], rel=0.5)
    assert fit.se[0] < free.se[0] / 2
    test, simple = free.compare(fit), analysis.lie_detector("y ~ region + x", data, p=LIE, group="g").compare(plain)
    assert (test.df, test.method) == (3, "Wald, F, known shares")
    assert abs(test.statistic - simple.statistic / 3) < 1.5
    wards = 1.0 * (data["ward"][:, None] != np.arange(40)) * 40 / 39
    columns = {f"r{k}": wards[:, k] for k in range(40)}
    sample = Replicates.given("w", [*columns], kind="JK1")
    jackknife = analysis.lie_detector("y ~ region + x", data | columns, sample=sample, **model)
    assert jackknife.se == pytest.approx(fit.se, rel=0.15)


def test_known_shares_with_a_sample_are_those_with_its_columns() -> None:
    """The clusters also determine how exactly the known shares hold in the sample: here, x hardly varies in a ward."""
    data = liars(6, 1200)
    order = np.argsort(data["x"], kind="stable")
    data = {name: column[order] for name, column in data.items()} | {"ward": np.arange(1200) // 30}
    model = {"p": LIE, "group": "g", "known": {"region": KNOWN}}
    by_columns = analysis.lie_detector("y ~ region + x", data, clusters="ward", **model)
    by_sample = analysis.lie_detector("y ~ region + x", data, sample=Sample(clusters="ward"), **model)
    assert by_sample.value == pytest.approx(by_columns.value, rel=1e-6)
    assert by_sample.se == pytest.approx(by_columns.se, rel=1e-6)


def test_known_shares_are_checked() -> None:
    data = liars(7, 200)

    def fit(known: object, formula: str = "y ~ region + x", **options: object) -> object:
        return analysis.lie_detector(formula, data, p=LIE, group="g", known=known, **options)

    for known, text in [
        ({"region": {"a": 1.0}}, "a known share must be above 0 and below 1"),
        ({"region": {"a": (0.3, -1)}}, "a known share must be above 0 and below 1"),
        ({"region": {"a": "much"}}, "a known share must be a number or a pair"),
        ({"region": {"d": 0.3}}, "must have people in the data, got 1 of 1 without people"),
        ({"region": {}}, "must have people in the data, got no group"),
    ]:
        with pytest.raises(ValueError, match=text):
            fit(known)
    with pytest.raises(TypeError, match="`known` must be a mapping from columns"):
        fit({"a": 0.3})
    with pytest.raises(ValueError, match="got 3 shares, of which 1 determine the others: put the column"):
        fit({"region": KNOWN}, "y ~ 1")
    with pytest.raises(ValueError, match="`known` must go with a formula"):
        analysis.lie_detector([[300, 700], [750, 250]], p=(0.3, 0.8), known={"region": KNOWN})


def test_known_shares_have_no_stan_program_and_no_test_of_fit() -> None:
    fit = analysis.lie_detector("y ~ region + x", liars(8), p=LIE, group="g", known={"region": KNOWN})
    with pytest.raises(ValueError, match="a Stan program needs"):
        fit.to_stan()
    with pytest.raises(ValueError, match="coefficients estimated from the reports alone"):
        fit.goodness_of_fit()
    assert np.isfinite(fit.residuals("pearson")).all()


def test_intervals_cover_the_covariate_and_honesty_in_surveys() -> None:
    """200 surveys of 1,020 people, 170 in each cell of device and region. In 2,000 such surveys the intervals of the
    covariate's coefficient and of honesty covered 96.4 and 95.2 %, and that of the intercept 88.2 %. At these rates,
    one of them falls below its limit here with a probability below 0.01; the seeds are fixed.
    """
    covered, truth = np.zeros(3), np.array([0.5, logit(0.7), -1.0])
    for seed in range(200):
        data = liars(20_000 + seed, 1020)
        fit = analysis.lie_detector("y ~ region + x", data, p=LIE, group="g", known={"region": KNOWN})
        at = [fit.labels.index(label) for label in ("x", "honesty: Intercept", "Intercept")]
        covered += np.abs(fit.value[at] - truth) < 1.96 * fit.se[at]
    assert (covered / 200 >= [0.92, 0.905, 0.8]).all(), covered
