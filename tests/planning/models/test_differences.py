"""Two groups: power of the test that agrees with the default interval, by enumeration of both counts."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from toolkit import Design, forced, kuk, mangat, warner
from toolkit.local import oracles
from toolkit.planning import plan_difference, plan_slope
from toolkit.planning.models.differences import _DifferenceCase, difference_power, enough_people

DIE = forced("1/6", "1/6")


@pytest.mark.parametrize(
    ("shares", "sizes", "power"),
    [
        ((0.1, 0.2), (687, 687), 0.798828),
        ((0.1, 0.2), (690, 690), 0.800858),
        ((0.3, 0.0), (100, 100), 0.900308),
        ((0.15, 0.05), (300, 300), 0.487871),
        ((0.2, 0.1), (687, 1374), 0.900669),
    ],
)
def test_power_is_counted(shares, sizes, power: float) -> None:
    assert difference_power(DIE, shares, sizes) == pytest.approx(power, abs=1.5e-6)


@pytest.mark.parametrize("design", [DIE, warner("3/4"), mangat("2/3")], ids=["die", "warner", "mangat"])
def test_groups_that_are_equal_are_told_apart_no_oftener_than_said(design) -> None:
    assert difference_power(design, (0.1, 0.1), (300, 300)) == pytest.approx(0.05, abs=0.004)


@pytest.mark.slow
def test_the_power_is_how_often_the_analysis_rejects() -> None:
    """400 simulated surveys: 195 rejections on average, spread 10; 40 off is a false alarm of 1e-4."""
    rng, found = np.random.default_rng(1), 0
    for _ in range(400):
        a, b = (rng.binomial(300, 1 / 6 + 2 / 3 * share) for share in (0.15, 0.05))
        found += (DIE.estimate_counts([300 - a, a]) - DIE.estimate_counts([300 - b, b])).interval().low > 0
    assert found == pytest.approx(400 * 0.4879, abs=40)


@pytest.mark.slow
def test_so_many_people_have_the_power_and_so_have_more() -> None:
    """The normal formula gives 686.777 people per group, but 687 have a power of 0.7988."""
    each = plan_difference(DIE, prevalence=(0.1, 0.2), n=1000).margin ** 2 * 1000 / ndtri(0.975) ** 2
    assert each * ((ndtri(0.975) + ndtri(0.8)) / 0.1) ** 2 == pytest.approx(686.777, abs=5e-4)
    planned = plan_difference(DIE, prevalence=(0.1, 0.2), power=0.8)
    assert planned.n == (689, 689)
    assert planned.power >= 0.8
    assert all(difference_power(DIE, (0.1, 0.2), (n, n)) >= 0.8 for n in range(689, 700))
    assert difference_power(DIE, (0.1, 0.2), (688, 688)) < 0.8
    assert "computed" in planned.notes[0]
    assert repr(planned).startswith("<DifferencePlan: 689 and 689 people, power 0.8001")


def test_unequal_groups_margins_and_design_effects() -> None:
    double = plan_difference(DIE, prevalence=(0.2, 0.1), n=687, ratio=2)
    assert double.n == (687, 1374)
    assert double.power == pytest.approx(0.900669, abs=1.5e-6)
    for deff, weighting in ((1, 1), (2, 1), (1, 1.5)):
        found = plan_difference(DIE, prevalence=(0.2, 0.1), n=687, ratio=2, level=0.9, deff=deff, weighting=weighting)
        noise = DIE.variance(0.2, 687, respondents="fixed") + DIE.variance(0.1, 1374, respondents="fixed")
        variance = weighting * (noise + deff * (0.16 / 687 + 0.09 / 1374))
        assert found.margin == pytest.approx(ndtri(0.95) * np.sqrt(variance))
        if deff * weighting > 1:
            assert found.power == pytest.approx(ndtr(0.1 / np.sqrt(variance) - ndtri(0.95)))
    wide = plan_difference(DIE, prevalence=(0.1, 0.2), margin=0.03)
    assert plan_difference(DIE, prevalence=(0.1, 0.2), margin=wide.margin).n == wide.n  # which is reached exactly
    assert wide.margin <= 0.03 < plan_difference(DIE, prevalence=(0.1, 0.2), n=wide.n[0] - 1).margin
    clustered = plan_difference(DIE, prevalence=(0.1, 0.2), power=0.8, deff=1.95)
    weighted = plan_difference(DIE, prevalence=(0.1, 0.2), power=0.8, weighting=1.2)
    assert 689 < weighted.n[0] < 1.21 * 689
    assert 689 < clustered.n[0] < 1.95 * 689  # randomization has no design effect
    assert "normal approximation" in clustered.notes[0]
    fewer = plan_difference(DIE, prevalence=(0.1, 0.2), n=clustered.n[0] - 1, deff=1.95)
    assert clustered.power >= 0.8 > fewer.power


def test_power_is_counted_for_up_to_50_000_people_drawn_alike() -> None:
    for people, ratio, deff, weighting in ((50_000, 1, 1, 1), (50_000, 0.5, 1, 1), (25_000, 2, 1, 1)):
        assert "computed" in _DifferenceCase(DIE, (0.1, 0.2), 0.95, ratio, deff, weighting).power_method(people)
    for people, ratio, deff, weighting in ((50_001, 1, 1, 1), (25_001, 2, 1, 1), (5, 1, 2, 1), (5, 1, 1, 2)):
        assert "normal" in _DifferenceCase(DIE, (0.1, 0.2), 0.95, ratio, deff, weighting).power_method(people)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"prevalence": (0.1, 0.2)}, "exactly one of n, power and margin"),
        ({"prevalence": (0.1, 0.2), "n": 5, "power": 0.8}, "exactly one of n, power and margin"),
        ({"prevalence": (0.1, 0.1), "power": 0.8}, "the shares must differ"),
        ({"prevalence": (0.1, 0.2), "power": 1}, "`power` must lie between"),
        ({"prevalence": (0.1, 0.2), "power": 0.25, "level": 0.75}, "`power` must lie between 0.25 and 1"),
        ({"prevalence": (0.1, 0.2), "n": 1}, "`n` must be at least 2"),
        ({"prevalence": 0.1, "power": 0.8}, "the shares of two groups"),
        ({"prevalence": (0.1, 0.2, 0.3), "power": 0.8}, "the shares of two groups"),
        ({"prevalence": (0.1, 1.2), "power": 0.8}, "between 0 and 1"),
        ({"prevalence": (0.1, 0.2), "n": 5, "ratio": 0}, "`ratio` must be above 0"),
    ],
)
def test_what_is_no_plan_is_refused(asked, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        plan_difference(DIE, **asked)


@pytest.mark.parametrize("design", [kuk("4/5", "1/5", draws=2), oracles.best(20, 1.0), warner, 0.3], ids=range(4))
def test_what_has_not_two_answers_and_two_reports_is_refused(design) -> None:
    for plan in (partial(plan_difference, prevalence=(0.1, 0.2)), partial(plan_slope, intercept=-1, slope=0.5)):
        if not isinstance(design, Design) or plan.func is plan_difference:
            with pytest.raises(TypeError, match="two answers"):
                plan(design, power=0.8)


def test_a_number_of_people_is_enough_if_the_next_twelve_are_too() -> None:
    """Power is a sawtooth: 12 sizes that reach it before one that does not are not enough, 13 are."""

    def power(*gaps: int) -> Callable[[int], float]:
        return lambda people: 0.8 if people >= 5 and people not in gaps else 0.79

    assert enough_people(power(), 2, 0.8) == 5
    assert enough_people(power(6), 2, 0.8) == 7
    assert enough_people(power(17), 2, 0.8) == 18
    assert enough_people(power(18), 2, 0.8) == 5
