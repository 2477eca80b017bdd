"""People for models of two groups: variances as the analysis estimates them, power counted exactly."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from toolkit import analysis, crosswise, plan
from toolkit.planning import plan_two_groups
from toolkit.planning.models.two_groups import _TwoGroupCase

MODELS = {  # p, prevalence, the other unknown
    "unknown_question": ((0.75, 0.2), 0.3, 0.4),
    "cheater_detection": ((0.2, 0.8), 0.25, 0.05),
    "lie_detector": ((0.3, 0.8), 0.2, 0.7),
}


def carriers(model: str, counts, p) -> tuple[float, float]:
    """The analysis's own estimate of the share, and its standard error."""
    found = getattr(analysis, model)(counts, p=p)
    estimate = getattr(found, "estimate", found)
    return float(np.atleast_1d(estimate.value)[0]), float(np.atleast_1d(estimate.se)[0])


@pytest.mark.parametrize("n", [200, 10_000])
@pytest.mark.parametrize("model", MODELS)
def test_planned_errors_are_those_that_the_analysis_estimates(model: str, n: int) -> None:
    """Expected counts: the estimate is the truth and its error is the planned error, up to n and n - 1."""
    p, prevalence, other = MODELS[model]
    yes = np.rint(n * _TwoGroupCase(model, p, other, 0.95, 1.96, 1.0).yes(prevalence))
    value, se = carriers(model, np.stack([n - yes, yes], axis=1), p)
    assert value == pytest.approx(prevalence, abs=2e-4)
    planned = plan_two_groups(model, p, prevalence=prevalence, other_share=other, n=n)
    counts = np.stack([n - yes, yes], axis=1)
    shown = ndtri(0.975) * se
    if model == "cheater_detection":
        shown = analysis.cheater_detection(counts, p=p).interval().width / 2
    assert planned.margin == pytest.approx(shown, rel=max(1 / n, 1e-3))
    assert planned.n == (n, n)


@pytest.mark.slow
def test_cheater_detection_is_planned_for_the_interval_that_is_shown() -> None:
    """It was planned with 395 people a group, whose interval is ± .095 and not ± .06. The mean of 300 intervals that
    are shown spreads by 1 per mille: 1 % off is far out.
    """
    planned = plan_two_groups("cheater_detection", (0.2, 0.8), prevalence=0.25, other_share=0.05, margin=0.06)
    rng, n = np.random.default_rng(4), planned.n[0]
    shares = _TwoGroupCase("cheater_detection", (0.2, 0.8), 0.05, 0.95, 1.96, 1.0).yes(0.25)
    widths = []
    for _ in range(300):
        yes = rng.binomial(n, shares)
        widths.append(analysis.cheater_detection(np.stack([n - yes, yes], axis=1), p=(0.2, 0.8)).interval().width)
    assert np.mean(widths) / 2 == pytest.approx(0.06, rel=0.01)
    assert plan_two_groups("cheater_detection", (0.2, 0.8), prevalence=0.25, other_share=0.05, n=n - 1).margin > 0.06


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_power_is_that_of_the_analysis_over_all_counts(model: str) -> None:
    """Groups of 8 and 12: the estimate and the interval are computed for every pair of counts."""
    p, prevalence, other = MODELS[model]
    planned = plan_two_groups(model, p, prevalence=0.02, detect=prevalence, other_share=other, n=8, ratio=1.5)
    yes, sum_of = _TwoGroupCase(model, p, other, 0.95, 1.96, 1.5).yes(prevalence), 0.0
    for a, b in product(range(9), range(13)):
        value, se = carriers(model, [[8 - a, a], [12 - b, b]], p)
        if abs(value - 0.02) > ndtri(0.975) * se:  # false where there is no error
            sum_of += binom.pmf(a, 8, yes[0]) * binom.pmf(b, 12, yes[1])
    assert planned.power == pytest.approx(sum_of, abs=1e-12)
    assert planned.n == (8, 12)


def test_an_unknown_prevalence_costs_power_and_people() -> None:
    """p = 0.7 and 0.3, 200 people each, innocuous prevalence 0.25, 0.15 against 0.05, one-sided 5 %: rr's
    power.rr.test says 0.92, as if the prevalence were known; the z test with the null's variance has 0.70
    (Monte Carlo 0.7017), and the test that goes with our interval less, as its error is estimated.
    """
    case = _TwoGroupCase("unknown_question", (0.7, 0.3), 0.25, 0.95, 1.6449, 1.0)
    null, there = case._se(0.05, 200), case._se(0.15, 200)
    assert ndtr((0.1 - ndtri(0.95) * null) / there) == pytest.approx(0.7016, abs=5e-5)
    planned = plan_two_groups(
        "unknown_question", (0.7, 0.3), prevalence=0.05, detect=0.15, other_share=0.25, n=200, sides=1
    )
    assert planned.power == pytest.approx(0.61, abs=0.02)


def test_enough_people_have_the_power_and_fewer_do_not() -> None:
    options = {"prevalence": 0.05, "detect": 0.2, "other_share": 0.25}
    found = plan_two_groups("unknown_question", (0.75, 0.2), power=0.8, **options)
    assert found.power >= 0.8
    fewer = plan_two_groups("unknown_question", (0.75, 0.2), n=found.n[0] - 1, **options)
    assert fewer.power < 0.8
    assert "computed from the binomial distributions" in found.notes[0]
    assert "power 0.8" in repr(found)
    many = plan_two_groups("unknown_question", (0.75, 0.2), power=0.8, **{**options, "detect": 0.06})
    assert "normal approximation" in many.notes[0]
    options["detect"] = 0.06
    assert many.power >= 0.8 > plan_two_groups("unknown_question", (0.75, 0.2), n=many.n[0] - 1, **options).power


def test_power_is_counted_for_up_to_5000_people_in_the_larger_group() -> None:
    for people, ratio, counted in ((5000, 1, True), (5001, 1, False), (2500, 2, True), (2501, 2, False)):
        assert _TwoGroupCase("lie_detector", (0.3, 0.8), 0.7, 0.95, 1.96, ratio).is_exact(people) == counted
    case = _TwoGroupCase("lie_detector", (0.3, 0.8), 0.7, 0.95, 1.96, 1.0)
    assert replace(case, ratio=0.1).sizes(5) == (5, 2)  # one person has no error
    assert replace(case, ratio=0.1).sizes(30) == (30, 3)
    assert case.power(0.2, 0.22, 5001) == pytest.approx(ndtr(0.02 / case._se(0.22, 5001) - 1.96))


def test_a_margin_is_reached_and_not_by_one_person_fewer() -> None:
    options = {"prevalence": 0.1, "other_share": 0.25}
    found = plan_two_groups("unknown_question", (0.7, 0.3), margin=0.05, **options)
    assert found.margin <= 0.05
    assert plan_two_groups("unknown_question", (0.7, 0.3), margin=found.margin, **options).n == found.n
    assert plan_two_groups("unknown_question", (0.7, 0.3), n=found.n[0] - 1, **options).margin > 0.05


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "extended_crosswise"}, "`model` must be one of"),
        ({"p": (0.5, 0.5)}, "two different probabilities"),
        ({"p": (0.3, 0.5, 0.7)}, "two different probabilities"),
        ({"n": None}, "exactly one of n, power and margin"),
        ({"n": None, "power": 0.8}, "`detect` must be another share"),
        ({"n": None, "power": 0.8, "detect": 0.1}, "`detect` must be another share"),
        ({"n": None, "power": 0.01, "detect": 0.2}, "`power` must lie between"),
        ({"sides": 3}, "`sides` must be 1 or 2"),
        ({"model": "cheater_detection", "other_share": 0.95}, "must sum to at most 1"),
        ({"model": "cheater_detection", "n": None, "margin": 0.125}, "half the share of cheaters, 0.125, got 0.125"),
    ],
)
def test_what_cannot_be_planned_is_refused(change, words) -> None:
    given = {"model": "unknown_question", "p": (0.7, 0.3), "prevalence": 0.1, "other_share": 0.25, "n": 100}
    with pytest.raises(ValueError, match=words):
        plan_two_groups(**(given | change))
    assert _TwoGroupCase("cheater_detection", (0.7, 0.3), 0.75, 0.95, 1.96, 1.0).yes(0.25).tolist() == [0.25, 0.25]


def test_the_extended_crosswise_model_is_planned_as_one_group_of_all() -> None:
    """Counts of two mirrored groups of 1,000, pooled: 0.15 with 0.01392656; the plan of 2,000 people at one
    device has the same error, up to n and n - 1.
    """
    found = analysis.extended_crosswise([[250, 750], [740, 260]], p=(0.15, 0.85))
    planned = plan(crosswise("0.15"), prevalence=0.15, n=2000)
    assert planned.margin == pytest.approx(ndtri(0.975) * 0.01392656, rel=1e-3)
    assert found.estimate.se == pytest.approx(0.01392656, abs=5e-9)
