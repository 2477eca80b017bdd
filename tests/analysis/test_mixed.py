"""Random intercepts through devices, against brute integration on a grid of 401 points, and against lme4."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import chi2, norm

from tests.analysis.reference_survey import DIE, DIRECT, WARNER
from toolkit import k_ary
from toolkit.analysis import logistic, mixed_logistic, random_intercepts
from toolkit.analysis.mixed import _Mixture
from toolkit.analysis.random_intercepts import GroupModel, distinct_rows, maximum
from toolkit.analysis.regression.scoring import Evaluation

DESIGNS = {"d": DIE, "w": WARNER}


def people(groups=40, size=30, seed=31):
    n = groups * size
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), size)
    x = rng.normal(size=n)
    u = 0.8 * rng.normal(size=groups)
    z = rng.random(n) < 1 / (1 + np.exp(0.8 - 0.6 * x - u[group]))
    way = np.arange(n) % 2
    y = rng.random(n) < np.where(z, np.where(way, 0.75, 5 / 6), np.where(way, 0.25, 1 / 6))
    return {"y": y * 1, "z": z * 1, "x": x, "g": group, "d": np.where(way, "w", "d")}


@pytest.fixture(scope="module")
def frame():
    return people()


@pytest.fixture(scope="module")
def fit(frame):
    return mixed_logistic("y ~ x", frame, DESIGNS, group="g", design_by="d")


def test_all_parameters_are_those_of_brute_integration(fit) -> None:
    assert fit.all_parameters.value == pytest.approx([-0.666365, 0.567606, -0.313635], abs=2e-6)
    assert fit.all_parameters.se == pytest.approx([0.171359, 0.126453, 0.271311], rel=1e-4)
    assert fit.llf == pytest.approx(-798.910063, abs=2e-6)
    assert fit.group_sd == pytest.approx(0.730786, abs=2e-6)
    for own, all_of_them in ((fit.value, fit.all_parameters.value), (fit.se, fit.all_parameters.se)):
        assert own.tolist() == all_of_them.tolist()[:2]
    assert (fit.labels, fit.cov.tolist()) == (("Intercept", "x"), fit.all_parameters.cov[:2, :2].tolist())
    assert fit.interval(0.9).high == pytest.approx(norm.ppf(0.95, fit.value, fit.se))
    assert "standard deviation of groups" in str(fit.summary())
    assert fit._fit_measures()[-2:] == [("groups", "40"), ("standard deviation of groups", "0.731")]


def test_the_null_of_no_groups_lies_on_the_edge(fit) -> None:
    """The likelihood ratio is 10.339561; half of chi-squared with one degree of freedom is above it."""
    assert fit.no_groups.statistic == pytest.approx(10.339561, abs=1e-5)
    assert fit.no_groups.p == pytest.approx(0.000651, abs=1e-6)


def test_plain_answers_are_those_of_lme4(frame) -> None:
    """glmer(z ~ x + (1 | g), binomial, nAGQ = 25), lme4 1.1-31."""
    found = mixed_logistic("z ~ x", frame, DIRECT, group="g")
    assert found.value == pytest.approx([-0.729039, 0.595601], abs=3e-6)
    assert found.group_sd == pytest.approx(0.902824, abs=3e-6)
    assert found.llf == pytest.approx(-697.406485, abs=2e-6)


@pytest.mark.slow
def test_three_kinds_of_prediction_are_told_apart(fit) -> None:
    assert float(fit.predict({"x": [0.0]}, at="typical").value) == pytest.approx(0.339311, abs=1e-6)
    assert float(fit.predict({"x": [0.0]}).value) == pytest.approx(0.355171, abs=1e-6)
    own = fit.predict({"x": [0.0] * 3, "g": [0, 1, 2]}, at="group")
    assert own.value == pytest.approx([0.477501, 0.403818, 0.535412], abs=2e-6)
    low, high = own.interval()
    assert np.all((np.asarray(low) > 0) & (np.asarray(high) < 1))
    unseen = fit.predict({"x": [0.0], "g": [99]}, at="group")
    assert float(unseen.value) == pytest.approx(0.355171, abs=1e-6)


def test_the_interval_of_a_groups_own_share_cuts_both_tails_of_the_mixture() -> None:
    """One part alone has the normal interval; of two the chance beyond each limit is half of what is left."""
    one = _Mixture(np.array([[0.4]]), np.array([[0.2]]), np.array([1.0]), single=True)
    assert logit([*one.interval(0.9, "mixture")]) == pytest.approx(norm.interval(0.9, 0.4, 0.2), abs=1e-9)
    centers, spreads = np.array([[-1.0, 0.2, -10.0], [1.5, 0.3, 10.0]]), np.array([[0.5, 3.0, 0.1], [0.8, 6.0, 0.1]])
    chances = np.array([0.3, 0.7])
    low, high = map(logit, _Mixture(centers, spreads, chances, single=False).interval(0.9, "mixture"))
    assert chances @ norm.cdf(low, centers, spreads) == pytest.approx([0.05] * 3, abs=1e-9)
    assert chances @ norm.sf(high, centers, spreads) == pytest.approx([0.05] * 3, abs=1e-9)


@pytest.mark.slow
def test_poststratification_counts_both_errors(fit) -> None:
    """Total .356032 with variance 3.390e-4 + 3.071e-4; by draws .3556 (.0263)."""
    groups = np.arange(40)
    census = {"g": np.repeat(groups, 2), "x": np.tile([-0.5, 0.5], 40), "N": np.repeat(100 * (1 + groups % 4) / 2, 2)}
    total = fit.poststratify(census, count="N")
    assert float(total.value) == pytest.approx(0.356032, abs=1e-6)
    assert float(total.se) == pytest.approx(0.025419, abs=1e-6)
    areas = fit.poststratify(census, count="N", by="g")
    assert areas.value[:3] == pytest.approx([0.477880, 0.405341, 0.534816], abs=2e-6)
    assert areas.se[:3] == pytest.approx([0.117218, 0.122523, 0.127705], abs=2e-6)


def test_groups_may_weigh_but_not_their_rows(frame, few) -> None:
    """By their proportions: weights have a mean of 1."""
    by_group = frame | {"w": 1 + 0.5 * (frame["g"] % 3)}
    found = mixed_logistic("y ~ x", by_group, DESIGNS, group="g", design_by="d", weights="w")
    assert found.all_parameters.value == pytest.approx([-0.657011, 0.570432, -0.293485], abs=3e-6)
    assert found.all_parameters.se == pytest.approx([0.185087, 0.109781, 0.237256], rel=1e-4)
    assert found._mixture([]) is None  # of weighted likelihoods there is no mixture
    twice = mixed_logistic("z ~ 1", FEW | {"w": np.full(160, 2.0)}, DIRECT, group="g", weights="w")
    assert twice.llf == pytest.approx(few.llf)
    assert twice.no_groups.statistic == pytest.approx(few.no_groups.statistic)
    within = frame | {"w": 0.5 + 0.5 * (np.arange(1200) % 5)}
    with pytest.raises(ValueError, match="must be the same for all rows of a group"):
        mixed_logistic("y ~ x", within, DESIGNS, group="g", design_by="d", weights="w")


@pytest.mark.slow
def test_five_hundred_groups_and_the_order_of_rows_does_not_matter() -> None:
    frame = people(500, 20, 32)
    found = mixed_logistic("y ~ x", frame, DESIGNS, group="g", design_by="d")
    assert found.all_parameters.value == pytest.approx([-0.891131, 0.643486, 0.012362], abs=5e-5)
    assert found.all_parameters.se == pytest.approx([0.069442, 0.052436, 0.079424], rel=1e-3)
    order = np.random.default_rng(1).permutation(10_000)
    mixed_up = mixed_logistic(
        "y ~ x", {name: values[order] for name, values in frame.items()}, DESIGNS, group="g", design_by="d"
    )
    assert mixed_up.all_parameters.value == pytest.approx(found.all_parameters.value, abs=1e-6)


@pytest.mark.slow
def test_groups_that_do_not_differ_have_a_standard_deviation_of_zero() -> None:
    """That standard deviation has no standard error."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=600)
    z = rng.random(600) < 1 / (1 + np.exp(0.5 - x))
    # Groups that are filled up evenly differ less than by chance.
    order = np.argsort(z, kind="stable")
    group = np.empty(600, dtype=int)
    group[order] = np.arange(600) % 20
    found = mixed_logistic("z ~ 1", {"z": z * 1, "x": x, "g": group}, DIRECT, group="g")
    assert found.group_sd == 0
    assert np.isnan(found.all_parameters.se[-1])
    assert found.no_groups.p == 1
    assert any("estimated as 0" in note for note in found.notes)
    share = z.mean()
    assert float(found.predict({"x": [0.0]}).value) == pytest.approx(share, abs=1e-6)
    assert found.se[0] == pytest.approx(1 / np.sqrt(600 * share * (1 - share)), rel=1e-6)


@pytest.mark.slow
def test_what_cannot_be_is_refused(frame, few) -> None:
    for nodes in (9, 127):
        mixed_logistic("z ~ 1", {"z": [0, 1, 1, 0, 1, 1], "g": [0, 0, 0, 1, 1, 1]}, DIRECT, group="g", nodes=nodes)
    for nodes in (8, 128):
        with pytest.raises(ValueError, match=f"at least 9, at most 127, got {nodes}"):
            mixed_logistic("y ~ x", frame, DESIGNS, group="g", design_by="d", nodes=nodes)
    census = {"g": [0, 1], "N": [1.0, 0.0]}
    with pytest.raises(ValueError, match="every part of the population must have people"):
        few.poststratify(census, count="N", by="g")
    for wrong in ([0.0, 0.0], [2.0, -1.0], [1.0, np.inf], ["a", "b"]):
        with pytest.raises(ValueError, match="`count` must be numbers of people"):
            few.poststratify(census | {"N": wrong}, count="N")
    with pytest.raises(ValueError, match="column of the data"):
        mixed_logistic("y ~ x", frame, DESIGNS, group="school", design_by="d")
    for term in ("(1 | g)", "(1|g)", "x + (x | g)"):
        with pytest.raises(
            ValueError, match=r"no random effects, got a term with \|: fit .* without its argument `group`"
        ):
            mixed_logistic(f"y ~ x + {term}", frame, DESIGNS, group="g", design_by="d")
    for terms in ("x", "x * (1 | g)", "x + (x || g)", "x + (1 | g / d)", "(1 | g) + (1 || d)"):
        with pytest.raises(ValueError, match=r"random effects: group='school', or terms such as \(1 \| school\)"):
            mixed_logistic(f"y ~ {terms}", frame, DESIGNS, design_by="d")
    with pytest.raises(ValueError, match=r"must have random effects.* got 0 terms"):
        mixed_logistic(None, frame, DESIGNS, design_by="d")
    with pytest.raises(ValueError, match="`design` must have two options, got 3"):
        mixed_logistic("y ~ x", frame, k_ary(3, epsilon=1.0), group="g")


@dataclass(frozen=True)
class Bowl:
    """A likelihood whose height depends on the number of nodes, too."""

    nodes: int
    heights: dict[int, float]

    def evaluate(self, at):
        return Evaluation(at, self.loglike(at), -at, np.eye(len(at)))

    def loglike(self, at):
        return self.heights[self.nodes] - float(at @ at) / 2


@pytest.mark.parametrize(
    ("heights", "nodes"),
    [
        ((0.0, 0.0099), 15),
        ((0.0, 0.0101, 0.02), 31),
        ((0.0, 0.1, 0.0, 0.1, 0.1099), 127),
        ((0.0, 0.1, 0.0, 0.1, 0.1101), None),
    ],
)
def test_nodes_are_doubled_until_the_log_likelihood_settles(heights, nodes) -> None:
    """The doubling stops once it changes the log-likelihood by less than 0.01."""
    bowl = Bowl(15, dict(zip((15, 31, 63, 127, 255), heights, strict=False)))
    plain = Evaluation(np.zeros(1), 0.0, np.zeros(1), np.eye(1))
    if nodes is None:
        with pytest.raises(ValueError, match=r"accurate to 0\.01, got a less accurate one with 127 nodes"):
            maximum(bowl, plain)
    else:
        assert maximum(bowl, plain)[0].nodes == nodes


FEW = {"z": np.concatenate([np.arange(40) < k for k in (8, 16, 24, 32)]) * 1, "g": np.repeat(range(4), 40)}


@pytest.fixture(scope="module")
def few():
    return mixed_logistic("z ~ 1", FEW, DIRECT, group="g")


def test_few_groups_may_differ_far_more_than_they_seem_to(few) -> None:
    """Standard deviations are looked at until one is a hundred times less likely than the likeliest, and no further."""
    *chances, last = (chance for *_, chance in few._by_sd)
    assert 2 * last < max(chances) / 100 <= chances[-1]
    assert len(chances) == 46


@pytest.mark.slow
def test_the_interval_of_a_groups_share_is_that_of_brute_integration(few) -> None:
    """For each standard deviation of groups: the likeliest intercept, its error, and their height with Laplace's
    factor; of a group its posterior log odds, with the error of the intercept on top; then the mixture of all.
    """
    counts, u = np.array([8, 16, 24, 32]), np.linspace(-9, 9, 1201)

    def law(middle, sd):
        """Of all u and the report counts of each group, together."""
        eta = middle + sd * u
        return norm.pdf(u) * np.exp(counts[:, None] * eta - 40 * np.logaddexp(0, eta)) * (u[1] - u[0])

    def share(middle, sd):
        """Of each group, and of one that was not asked."""
        known = np.vstack([law(middle, sd), norm.pdf(u)])
        return known / known.sum(axis=1, keepdims=True) @ expit(middle + sd * u)

    parts, d, weights = [], 1e-4, np.array([1, 2, 3, 1, 3]) / 10
    for place, (at, cov, chance) in enumerate(few._by_sd):
        middle, sd = at[0], place * 2.5 * few.group_sd / 12
        assert np.exp(at[1]) == pytest.approx(sd, rel=1e-12, abs=1e-8)
        low, here, high = (np.log(law(middle + step, sd).sum(axis=1)).sum() for step in (-d, 0, d))
        error = 1 / np.sqrt((2 * here - low - high) / d**2)
        assert (high - low) / (2 * d) == pytest.approx(0, abs=0.02 / error)  # by no more than .02 of its error
        assert cov == pytest.approx(np.diag([error**2, 0]), rel=0.01)
        known = np.vstack([law(middle, sd), norm.pdf(u)])
        known /= known.sum(axis=1, keepdims=True)
        center = middle + sd * known @ u
        own = sd**2 * (known @ u**2 - (known @ u) ** 2)
        value = share(middle, sd)
        slope = (share(middle + d, sd) - share(middle - d, sd)) / (2 * d) / (value * (1 - value))
        mean, scale = weights @ value, weights @ value * (1 - weights @ value)
        apart = (
            weights**2 @ (known @ expit(middle + sd * u) ** 2 - value**2)
            + (weights @ (slope * value * (1 - value)) * error) ** 2
        )
        center, spread = (
            np.append(center, logit(mean)),
            np.append(np.sqrt(own + (slope * error) ** 2), np.sqrt(apart) / scale),
        )
        parts.append((center, spread, np.exp(here) * error, chance))
    centers, spreads, heights, chances = (np.array(part) for part in zip(*parts, strict=True))
    heights[[0, -1]] /= 2
    assert chances == pytest.approx(heights / heights.sum(), rel=0.02, abs=1e-5)
    alone = few.predict({"g": [0, 1, 2, 3, 9]}, at="group").interval(0.9)
    together = few.poststratify({"g": [0, 1, 2, 3, 9], "N": 10 * weights}, count="N").interval(0.9)
    for limits, whole, tail in zip(alone, together, (0.05, 0.95), strict=True):
        cut = logit(np.append(limits, whole))
        assert chances @ norm.cdf(cut, centers, spreads) == pytest.approx(np.full(6, tail), abs=2e-3)


def test_a_typical_group_has_the_interval_of_the_log_odds(few) -> None:
    low, high = few.predict({"g": [0]}, at="typical").interval(0.9)
    assert logit([low, high]) == pytest.approx(norm.interval(0.9, few.value[0], few.se[0]), abs=1e-6)


def test_a_population_of_groups_has_the_share_of_brute_integration(fit, few) -> None:
    """Of groups that were not asked each is one for itself."""
    u = np.linspace(-9, 9, 1201)
    share = norm.pdf(u) @ expit(fit.value @ [1, -2] + fit.group_sd * u) * (u[1] - u[0])
    assert float(fit.predict({"x": [-2.0]})) == pytest.approx(share, rel=1e-6)
    assert few._group_codes({"g": [8, 3, 9, 8, 7]}).tolist() == [-1, 3, -2, -1, -3]


def test_the_margin_of_a_model_without_covariates_is_its_prediction(few) -> None:
    """The one has its slopes in closed form, the other by differences."""
    margin, prediction = few.margins(), few.predict({"g": [0]})
    assert (margin.value, margin.se) == pytest.approx((prediction.value, prediction.se), rel=1e-6)
    assert margin.labels == ("mean prevalence",)
    one, two = prediction.interval(), few.predict({"g": [0, 1]}).interval()
    assert (np.shape(one.low), np.shape(two.low)) == ((), (2,))
    assert [*two.low, *two.high] == pytest.approx([one.low] * 2 + [one.high] * 2)


@pytest.mark.parametrize(("middle", "sd"), [(-0.7, 0.3), (-3.0, 3.0), (-3.0, 8.0), (3.0, 8.0)])
def test_a_group_has_the_likelihood_of_brute_integration(middle, sd) -> None:
    """Through a device the curve of a group's intercept is flat on one side: its width is bounded there."""
    reports = [[1], [0, 0], [1, 1, 0], [1, 1, 1, 1, 1]]
    yes = np.concatenate(reports) == 1
    seen = np.stack([np.where(yes, chance, 1 - chance) for chance in (0.25, 0.75)])
    model = GroupModel(np.ones((11, 1)), seen, np.array([0, 1, 3, 6]), np.ones(4), 127, np.ones(11))
    u = np.linspace(-9, 9, 3601)
    chance = 0.25 + 0.5 * expit(middle + sd * u)
    brute = [np.prod([chance if one else 1 - chance for one in group], axis=0) @ norm.pdf(u) / 200 for group in reports]
    assert model.integrate(np.array([middle, np.log(sd)]))[0] == pytest.approx(np.log(brute), abs=1e-4)
    logs = [sum(np.log(chance if one else 1 - chance) for one in group) - u**2 / 2 for group in reports]
    assert model.modes(np.full(11, middle), sd)[0] == pytest.approx(u[np.argmax(logs, axis=1)], abs=0.003)


def census_of(groups):
    return {"g": np.repeat(groups, 2), "x": np.tile([-0.5, 0.5], len(groups)), "N": np.repeat(50.0, 2 * len(groups))}


@pytest.mark.slow
def test_five_hundred_groups_of_plain_answers_are_those_of_lme4() -> None:
    """glmer(z ~ x + (1 | g), binomial, nAGQ = 25), lme4 1.1-31, R 4.2.2; its AIC and BIC, too."""
    found = mixed_logistic("z ~ x", people(500, 20, 32), DIRECT, group="g")
    assert found.value == pytest.approx([-0.7833184377, 0.6309621411], abs=2e-5)
    assert found.se == pytest.approx([0.04540499, 0.02570461], rel=1e-2)
    assert found.group_sd == pytest.approx(0.8547028807, abs=2e-5)
    assert found.llf == pytest.approx(-5828.417497, abs=1e-4)
    assert (found.aic, found.bic) == (pytest.approx(11662.83499, abs=1e-3), pytest.approx(11684.46602, abs=1e-3))


@pytest.mark.slow
def test_a_group_without_reports_is_known_as_well_as_groups_are_alike(fit) -> None:
    """The variance of E(eta + sd u) over u, on a fine grid, comes on top of that of the parameters."""
    u = np.linspace(-9, 9, 200_001)
    law = np.exp(-(u**2) / 2) / np.exp(-(u**2) / 2).sum()
    share = 1 / (1 + np.exp(-(fit.value[0] + fit.group_sd * u)))
    between = law @ share**2 - (law @ share) ** 2
    population, own = fit.predict({"x": [0.0]}), fit.predict({"x": [0.0], "g": [99]}, at="group")
    assert float(own.value) == pytest.approx(float(population.value), abs=1e-9)
    assert float(own.se) ** 2 - float(population.se) ** 2 == pytest.approx(between, rel=1e-6)
    apart = fit.poststratify(census_of([98, 99]), count="N")
    together = fit.poststratify(census_of([99, 99]), count="N")
    assert float(apart.se) < float(together.se)


@pytest.mark.slow
def test_small_areas_stand_beside_what_their_own_reports_say(fit) -> None:
    """Direct estimates .525, .442, .658 with errors .164, .164, .161, of 30 people each."""
    table = fit.areas(census_of([0, 1, 2, 99]), count="N")
    assert table["direct"].tolist()[:3] == pytest.approx([0.525, 0.442, 0.658], abs=6e-4)
    assert table["direct se"].tolist()[:3] == pytest.approx([0.164, 0.164, 0.161], abs=6e-4)
    assert table["n"].tolist() == [30, 30, 30, 0]
    assert (table["se"].iloc[:3] < table["direct se"].iloc[:3]).all()
    assert np.isnan(table["direct"].iloc[3])
    assert table.index.tolist() == [0, 1, 2, 99]


@pytest.mark.slow
def test_margins_average_over_people_and_groups(fit, frame) -> None:
    predicted = fit.predict(frame)
    assert predicted.cov is None
    assert float(fit.margins()) == pytest.approx(predicted.value.mean(), abs=1e-9)
    first = fit.predict({"x": frame["x"][:3]})
    assert predicted.se[:3] == pytest.approx(first.se, rel=1e-9)
    at_zero = fit.margins("x", levels=[0.0])
    assert float(at_zero) == pytest.approx(0.355171, abs=1e-6)
    assert float(at_zero.se) == pytest.approx(float(fit.predict({"x": [0.0]}).se), rel=1e-5)
    assert fit.plot("x").alt.startswith("mean prediction along x")


@pytest.mark.slow
@pytest.mark.parametrize(("middle", "sd", "nodes"), [(-0.8, 0.8, 15), (-2.5, 2.5, 63)])
def test_as_many_nodes_are_taken_as_the_integral_needs(middle, sd, nodes) -> None:
    """Height and gradient on a grid of 721 points. With 15 nodes the first ended without a maximum, as heights that are
    off by 1e-8 did not rise; of the second, whose groups differ much, the height would be off by .2.
    """
    rng = np.random.default_rng([7, 2])
    group, x, u = np.repeat(np.arange(40), 15), rng.normal(size=600), sd * rng.normal(size=40)
    z = rng.random(600) < 1 / (1 + np.exp(-middle - 0.6 * x - u[group]))
    y = np.asarray(DESIGNS["d"].randomize(z, rng=rng)).astype(float)
    found = mixed_logistic("y ~ x", {"y": y, "x": x, "g": group}, DESIGNS["d"], group="g")
    grid = np.linspace(-9, 9, 721)
    law = np.exp(-(grid**2) / 2) / np.exp(-(grid**2) / 2).sum()

    def height(at):
        eta = at[0] + at[1] * x[:, None] + np.exp(at[2]) * grid
        yes = 1 / 6 + 4 / 6 / (1 + np.exp(-eta))
        logs = np.add.reduceat(np.log(np.where(y[:, None] == 1, yes, 1 - yes)), np.arange(0, 600, 15))
        return np.log(np.exp(logs) @ law).sum()

    at = np.asarray(found.all_parameters.value)
    assert found.llf == pytest.approx(height(at), abs=0.01)
    slopes = [(height(at + step) - height(at - step)) / 2e-4 for step in 1e-4 * np.eye(3)]
    # Times an error: by how much of that error a coefficient is off.
    assert np.abs(slopes * found.all_parameters.se).max() < 0.02
    assert f" {nodes} nodes" in found.method


def test_with_nodes_enough_the_gradient_is_that_of_the_height(frame) -> None:
    seen = np.stack([DIRECT.matrix[truth][frame["y"]] for truth in (0, 1)]) * 0.5 + 0.25
    columns = np.column_stack([np.ones(1200), frame["x"]])
    model = GroupModel(columns, seen, np.arange(0, 1200, 30), np.ones(40), 41, np.ones(1200))
    at, point = np.array([-0.5, 0.4, 0.2]), model.evaluate(np.array([-0.5, 0.4, 0.2]))
    slopes = [(model.evaluate(at + d).loglike - model.evaluate(at - d).loglike) / 2e-4 for d in 1e-4 * np.eye(3)]
    assert point.score == pytest.approx(slopes, rel=1e-5, abs=1e-5)
    rows = [(model.evaluate(at - d).score - model.evaluate(at + d).score) / 2e-4 for d in 1e-4 * np.eye(3)]
    assert point.information == pytest.approx(np.array(rows), rel=1e-4, abs=1e-4)
    assert model.loglike(at) == pytest.approx(point.loglike, rel=1e-12)


def test_blocks_of_groups_add_up_to_the_whole(monkeypatch) -> None:
    """Blocks of about 100 rows, one of which is a single large group."""
    rng, sizes = np.random.default_rng(8), np.array([30, 40, 50, 130, 20, 60, 70, 10])
    n = sizes.sum()
    seen = np.where(rng.random((1, n)) < 0.4, [[1 / 6], [5 / 6]], [[5 / 6], [1 / 6]])
    starts, columns = np.cumsum(sizes) - sizes, np.column_stack([np.ones(n), rng.normal(size=n)])
    times, weights, at = rng.integers(1, 4, size=n) * 1.0, rng.random(8) + 0.5, np.array([-0.3, 0.2, -0.5])
    whole = GroupModel(columns, seen, starts, weights, 15, times)
    one, scores = whole.evaluate(at), whole.group_scores(at)
    monkeypatch.setattr(random_intercepts, "_BLOCK", 100)
    parts = GroupModel(columns, seen, starts, weights, 15, times)
    assert (len(whole._blocks), len(parts._blocks)) == (1, 5)
    many = parts.evaluate(at)
    assert many.loglike == pytest.approx(one.loglike, rel=1e-9)
    assert many.score == pytest.approx(one.score, rel=1e-7, abs=1e-7)
    assert many.information == pytest.approx(one.information, rel=1e-7, abs=1e-7)
    for several, single in zip(parts.group_scores(at), scores, strict=True):
        assert several == pytest.approx(single, rel=1e-7, abs=1e-7)


@pytest.mark.slow
def test_a_formula_names_the_groups_as_in_lme4(frame) -> None:
    options = {"design_by": "d"}
    named = mixed_logistic("y ~ x", frame, DESIGNS, group="g", **options)
    for formula in ("y ~ x + (1 | g)", "y ~ (1|g) + x", "y~x+( 1 |g )"):
        fit = mixed_logistic(formula, frame, DESIGNS, **options)
        assert (fit.labels, fit.group) == (named.labels, "g")
        assert fit.value.tolist() == named.value.tolist()
    alone = mixed_logistic("y ~ (1 | g)", frame, DESIGNS, **options)
    assert alone.llf == mixed_logistic("y ~ 1", frame, DESIGNS, group="g", **options).llf
    without = mixed_logistic("y ~ 0 + x + (1 | g)", frame, DESIGNS, **options)
    assert without.labels == ("x",)


def test_rows_are_distinct_as_numpy_finds_them() -> None:
    table = np.random.default_rng(9).integers(3, size=(200, 4)) * 1.0
    first, times = distinct_rows([*table.T])
    _, index, counts = np.unique(table, axis=0, return_index=True, return_counts=True)
    assert (first.tolist(), times.tolist()) == (index.tolist(), counts.tolist())


@pytest.mark.slow
def test_a_fit_takes_few_evaluations_of_the_likelihood(monkeypatch, frame) -> None:
    """It took about 60; with a million people, each takes about a second."""
    evaluations, nodes = [], GroupModel._nodes

    def counting(model, params):
        evaluations.append(1)
        return nodes(model, params)

    monkeypatch.setattr(GroupModel, "_nodes", counting)
    mixed_logistic("y ~ x", frame, DESIGNS, group="g", design_by="d")
    assert len(evaluations) < 20


# Lesnoff and others (2004), contagious bovine pleuropneumonia in Ethiopian herds: the data `cbpp` of lme4, whose manual
# fits them under ?glmer. Of each herd: new cases / animals in the periods 1 to 4.
HERDS = """2/14 3/12 4/9 0/5; 3/22 1/18 1/21; 8/22 2/16 0/16 2/20; 2/10 0/10 2/9 0/6; 5/18 0/25 0/24 1/4;
3/17 0/17 0/18 1/20; 8/16 1/10 3/9 0/5; 12/34; 2/9 0/6 0/8 0/6; 1/22 1/22 0/18 2/22; 0/25 5/27 3/22 1/22;
2/10 1/8 0/6 0/5; 1/21 2/24 0/19 0/23; 11/19 0/2 0/3 0/2; 1/19 1/15 1/15 0/15"""


def test_the_herds_of_the_lme4_manual() -> None:
    """glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), nAGQ = 25), lme4 1.1-31, R 4.2.2; its standard
    errors come from differences. Animals of a herd and period are alike, and share a row of the likelihood.
    """
    cells = [
        (h, k, *map(int, one.split("/")))
        for h, row in enumerate(HERDS.split(";"))
        for k, one in enumerate(row.split(), 1)
    ]
    animals = [(herd, period, i < cases) for herd, period, cases, size in cells for i in range(size)]
    herd, period, ill = map(np.array, zip(*animals, strict=True))
    fit = mixed_logistic("ill ~ C(period)", {"ill": ill * 1, "period": period, "herd": herd}, DIRECT, group="herd")
    assert fit.value == pytest.approx([-1.399223728, -0.991408884, -1.127809594, -1.579480951], abs=2e-5)
    assert fit.se == pytest.approx([0.233511378, 0.306768201, 0.326767163, 0.427595710], rel=2e-3)
    assert fit.group_sd == pytest.approx(0.647519915, abs=2e-5)
    assert len(fit.model.columns) <= 2 * len(cells) < 0.2 * fit.nobs


def alike_groups() -> dict[str, np.ndarray]:
    """Reports filled up evenly into 20 groups, which weigh very different: their standard deviation is 0."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=600)
    report = DIE.randomize(rng.random(600) < 1 / (1 + np.exp(0.5 - x)), rng)
    group = np.empty(600, dtype=int)
    group[np.argsort(report, kind="stable")] = np.arange(600) % 20
    return {"y": report, "x": x, "g": group, "w": np.exp(rng.normal(size=20))[group]}


@pytest.mark.slow
def test_weighted_groups_that_are_alike_have_errors_by_their_scores() -> None:
    """The sandwich with derivatives of the likelihood by differences."""
    data = alike_groups()
    fit = mixed_logistic("y ~ x", data, DIE, group="g", weights="w")
    assert fit.group_sd == 0
    chances, w = DIE.matrix[:, data["y"].astype(int)], data["w"] / data["w"].mean()

    def log(at: np.ndarray) -> np.ndarray:
        share = 1 / (1 + np.exp(-at[0] - at[1] * data["x"]))
        return w * np.log(chances[0] * (1 - share) + chances[1] * share)

    steps = 1e-4 * np.eye(2)
    scores = np.array([(log(fit.value + step) - log(fit.value - step)) / 2e-4 for step in steps])
    sums = np.array([[one[data["g"] == group].sum() for one in scores] for group in range(20)])
    assert np.abs(sums.sum(axis=0)).max() < 1e-5
    ends = [
        [a * b * log(fit.value + a * s + b * t).sum() for a in (1, -1) for b in (1, -1)] for s in steps for t in steps
    ]
    bent = -np.sum(ends, axis=1).reshape(2, 2) / 4e-8
    expected = np.linalg.inv(bent) @ (20 * np.cov(sums.T)) @ np.linalg.inv(bent)
    assert fit.cov == pytest.approx(expected, rel=1e-4)
    clustered = logistic("y ~ x", data, DIE, weights="w", clusters="g")
    assert fit.se == pytest.approx(clustered.se, rel=1e-6)
    assert fit.interval().high == pytest.approx(clustered.interval().high, rel=1e-5)
    assert fit.covers == clustered.covers == "sampling (weights, clusters; 19 df) and randomization"


@pytest.mark.slow
def test_a_weighted_fit_has_no_likelihood() -> None:
    """Fits of other data are not compared."""
    data = alike_groups()

    def fitted(formula: str, **options: Any) -> Any:
        return mixed_logistic(formula, data, **({"design": DIE, "group": "g"} | options))

    weighted, plain = fitted("y ~ x", weights="w"), fitted("y ~ x")
    assert np.isnan([weighted.aic, weighted.bic]).all()
    assert plain.aic == 6 - 2 * plain.llf
    test = weighted.compare(fitted("y ~ 1", weights="w"))
    statistic = (weighted.value[1] / weighted.se[1]) ** 2
    assert (test.method, test.statistic) == ("Wald, F", pytest.approx(statistic))
    assert test.p == pytest.approx(weighted.coefficients.test().p[1])
    assert plain.compare(fitted("y ~ 1")).method == "likelihood ratio"
    data["h"] = (data["g"] + np.arange(600) % 2) % 20
    for other in ({"design": WARNER}, {"weights": "w"}, {"group": "h"}):
        with pytest.raises(ValueError, match="with the same designs and rows"):
            plain.compare(fitted("y ~ 1", **other))


def test_weights_do_not_make_groups_differ() -> None:
    """A ratio of weighted likelihoods is too large by the weights; scores of the variance by differences."""
    rng, group = np.random.default_rng(6), np.repeat(np.arange(20), 10)
    truth = rng.random(200) < 1 / (1 + np.exp(-rng.normal(size=20)[group]))
    data = {"z": truth * 1, "g": group, "w": np.exp(rng.normal(size=20))[group]}
    fit = mixed_logistic("z ~ 1", data, DIRECT, group="g", weights="w")
    share, w = np.average(truth, weights=data["w"]), fit.model.weights[:, None]
    odds, v = np.log(share / (1 - share)), 1e-3
    nothing = (np.average(np.where(truth, np.log(share), np.log(1 - share)), weights=data["w"])) * (w.sum() * 10)
    scores = fit.model.group_scores(np.array([odds, np.log(v) / 2]))[1] / [1, 2 * v]
    bread = np.linalg.inv(scores.T @ (w * scores))
    inflation = (bread @ (scores.T @ (w**2 * scores)) @ bread)[1, 1] / bread[1, 1]
    assert inflation > 1.3
    assert fit.no_groups.statistic == pytest.approx(2 * (fit.llf - nothing) / inflation, rel=0.02)
    assert fit.no_groups.p == pytest.approx(chi2.sf(fit.no_groups.statistic, 1) / 2)


def test_rows_that_an_engine_only_counts_are_refused() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="must hold its rows in order, got LazyFrame"):
        mixed_logistic("y ~ 1", polars.DataFrame(alike_groups()).lazy(), DIE, group="g")


def test_a_group_whose_reports_agree_has_the_error_of_its_design() -> None:
    """It was 0; and of two designs the distance of their scores."""
    rng, school, way = np.random.default_rng(3), np.repeat(np.arange(10), 20), np.tile(["die", "coin"], 100)
    data = {"r": np.where(school == 0, 0, rng.integers(0, 2, 200)), "school": school, "way": way}
    one, own = mixed_logistic("r ~ 1", data, DIE, group="school"), DIE.estimate_counts([20, 0])
    assert one.direct[0] == pytest.approx((20, own.value, own.se))
    two = mixed_logistic("r ~ 1", data, {"die": DIE, "coin": WARNER}, group="school", design_by="way")
    parts = [design.estimate_counts([10, 0]).se / 2 for design in (DIE, WARNER)]
    assert two.direct[0][2] == pytest.approx(np.hypot(*parts))


@pytest.mark.slow
def test_small_areas_have_limits_where_the_profile_is_flat(monkeypatch) -> None:
    """15 areas of 12 people; before, the grid of standard deviations of seeds 1 and 9 took 4,400 and 2,200."""
    evaluations, evaluate = [], GroupModel.evaluate_coefficients

    def counting(model, *args):
        evaluations.append(1)
        return evaluate(model, *args)

    monkeypatch.setattr(GroupModel, "evaluate_coefficients", counting)
    area = np.repeat(np.arange(15), 12)
    census = {"g": np.repeat(np.arange(15), 2), "x": np.tile([0, 1], 15), "n": np.full(30, 100)}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = rng.integers(2, size=180)
        truth = rng.random(180) < expit(-0.8 + 0.5 * x + 0.5 * rng.normal(size=15)[area])
        frame = {"y": DIE.randomize(truth, rng=rng), "x": x, "g": area}
        fit = mixed_logistic("y ~ x", frame, DIE, group="g")
        evaluations.clear()
        table = fit.areas(census, count="n")
        assert len(evaluations) < 500, seed
        limits = table[["low", "high"]].to_numpy()
        assert np.isfinite(limits).all()
        assert np.all((limits[:, 0] < table["estimate"]) & (table["estimate"] < limits[:, 1]))
