"""People for lists: errors as the analysis estimates them, power as often as it rejects."""

from itertools import product

import numpy as np
import pytest
from scipy.special import nctdtr, ndtr, ndtri
from scipy.stats import nct, t

from toolkit.analysis import item_sum, list_experiment
from toolkit.planning import plan_item_sum, plan_list_experiment
from toolkit.planning.models.lists import _MAX_T_DEGREES

ITEMS = (0.9, 0.5, 0.5, 0.1)


def law_of_counts(shares) -> np.ndarray:
    """The distribution of the number of independent items that apply, by convolution."""
    law = np.ones(1)
    for share in shares:
        law = np.convolve(law, [1 - share, share])
    return law


@pytest.mark.slow
def test_planned_errors_are_those_that_the_analysis_estimates() -> None:
    """A million answers with the expected frequencies: estimate, margin, and the people whose counts reveal their
    answer.
    """
    law, with_it = law_of_counts(ITEMS), law_of_counts((*ITEMS, 0.2))
    short, long = (np.repeat(np.arange(len(one)), np.rint(10**6 * one).astype(int)) for one in (law, with_it))
    treatment = np.repeat([False, True], [len(short), len(long)])
    found = list_experiment(np.concatenate([short, long]), treatment=treatment, items=4)
    assert found.estimate.value == pytest.approx(0.2, abs=1e-5)
    planned = plan_list_experiment(ITEMS, prevalence=0.2, n=len(short))
    assert planned.margin == pytest.approx(ndtri(0.975) * found.estimate.se, rel=1e-4)
    for name in ("share_counting_none", "share_counting_all"):
        assert getattr(planned, name) == pytest.approx(getattr(found, name), abs=1e-5)
    again = plan_list_experiment(spread=short.std(), prevalence=0.2, n=len(short))
    assert again.margin == pytest.approx(planned.margin, rel=1e-4)
    assert again.share_counting_all is None


@pytest.mark.slow
def test_the_power_of_a_short_list_is_that_of_all_answers_enumerated() -> None:
    """One other item, held by half; 14 people a list, a share of .8 told from 0: every tally of both lists.
    Answers of 0, 1 and 2 are not normal: 1 % of power is what the approximation is off by.
    """
    n, level, share = 14, 0.95, 0.8
    planned = plan_list_experiment((0.5,), prevalence=0, detect=share, n=n)
    short, long = law_of_counts((0.5,)), law_of_counts((0.5, share))
    total = 0.0
    for a in range(n + 1):
        chance = _multinomial((n - a, a), short)
        for tally in ((n - b - c, b, c) for b, c in product(range(n + 1), repeat=2) if b + c <= n):
            weight = chance * _multinomial(tally, long)
            if weight > 1e-7 and a > 0:
                found = item_sum(np.repeat([0, 1], [n - a, a]), np.repeat([0, 1, 2], tally))
                total += weight * (not found.interval(level).low <= 0 <= found.interval(level).high)
    assert planned.power == pytest.approx(total, abs=0.01)


def _multinomial(tally, law) -> float:
    from scipy.stats import multinomial

    return float(multinomial.pmf(tally, sum(tally), law))


@pytest.mark.slow
@pytest.mark.parametrize("sides", [1, 2])
def test_so_many_people_have_the_power_and_one_fewer_have_not(sides: int) -> None:
    """4000 experiments: the power is 0.8 up to 0.025, four standard errors; false alarms 8e-5."""
    options = {"prevalence": 0.05, "detect": 0.25, "sides": sides, "ratio": 2}
    planned = plan_list_experiment(ITEMS, power=0.8, **options)
    assert planned.power >= 0.8
    assert plan_list_experiment(ITEMS, n=planned.n[0] - 1, **options).power < 0.8
    assert planned.n[1] == 2 * planned.n[0]
    rng, held = np.random.default_rng(4), []
    for size, shares in zip(planned.n, (ITEMS, (*ITEMS, 0.25)), strict=True):
        answers = (rng.random((4000, size, len(shares))) < np.array(shares)).sum(axis=2)
        held.append((answers.mean(axis=1), answers.var(axis=1, ddof=1) / size))
    z = (held[1][0] - held[0][0] - 0.05) / np.sqrt(held[0][1] + held[1][1])
    assert np.mean(z > ndtri(1 - 0.05 / sides)) == pytest.approx(planned.power, abs=0.025)


@pytest.mark.parametrize(
    ("sides", "n", "ratio", "apart"),
    [(1, 12, 1.5, 15), (2, 12, 1.5, 15), (2, 2, 0.1, 15), (1, 9000, 2, 0.4), (2, 9000, 2, 0.1)],
)
def test_power_is_that_of_the_noncentral_law_of_t(sides: int, n: int, ratio: float, apart: float) -> None:
    planned = plan_item_sum(20, mean=5, sd=15, detect=5 + apart, n=n, ratio=ratio, sides=sides, level=0.9)
    sizes = np.array([n, max(2, round(n * ratio))])
    parts = np.array([20**2, 20**2 + 15**2]) / sizes
    df, se = parts.sum() ** 2 / (parts**2 / (sizes - 1)).sum(), np.sqrt(parts.sum())
    reach, law = t.isf(0.1 / sides, df), nct(df, apart / se)
    assert planned.power == pytest.approx(law.sf(reach) + (law.cdf(-reach) if sides == 2 else 0), abs=2e-4)
    assert planned.margin == pytest.approx(t.isf(0.05, df) * se)
    assert planned.n == tuple(sizes)


def test_items_that_exclude_each_other_need_fewer_people() -> None:
    """Half of the people have one of two items, half the other: all counts are 1 without the trait."""
    wide = plan_list_experiment((0.5, 0.5), prevalence=0.1, margin=0.05)
    assert wide.n[0] == plan_list_experiment(spread=np.sqrt(0.5), prevalence=0.1, margin=0.05).n[0]
    assert plan_list_experiment(spread=0.1, prevalence=0.1, margin=0.05).n[0] < wide.n[0] / 5
    assert plan_list_experiment((0.5, 0.5), prevalence=0.1, margin=wide.margin).n == wide.n
    assert wide.margin <= 0.05 < plan_list_experiment((0.5, 0.5), prevalence=0.1, n=wide.n[0] - 1).margin


def test_sums_are_planned_in_their_own_unit() -> None:
    """The margins of Welch's interval for 40 and 60 sums with exactly these standard deviations."""
    planned = plan_item_sum(20, mean=5, sd=15, n=40, ratio=1.5, detect=9)
    short, long = (_spread_out(n, sd) for n, sd in ((40, 20), (60, 25)))
    low, high = item_sum(short, long).interval()
    assert planned.margin == pytest.approx((high - low) / 2, rel=2e-3)  # its df are rounded down
    assert planned.n == (40, 60)
    assert "margin ±8.97 at" in repr(planned)
    assert "power 0.14" in repr(planned)
    assert "points" in repr(plan_list_experiment(ITEMS, prevalence=0.1, n=100))
    assert planned.notes == ("2-sided t test at 5 %",)


def _spread_out(n: int, sd: float) -> np.ndarray:
    one = np.linspace(-1, 1, n)
    return one * sd / one.std(ddof=1)


def test_where_power_is_taken_from_the_normal_law_it_agrees_with_t() -> None:
    for apart in (0.5, 2.8, 4.0):
        assert nctdtr(_MAX_T_DEGREES, apart, 1.96) == pytest.approx(ndtr(1.96 - apart), abs=1e-4)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"n": 10, "spread": 1}, "exactly one of `items` and `spread` must be given, got both"),
        ({"items": None, "n": 10}, "got none"),
        ({"items": (), "n": 10}, "a share for each other item"),
        ({"items": (0.5, 1.5), "n": 10}, "must lie between 0 and 1"),
        ({}, "exactly one of n, power and margin"),
        ({"n": 10, "margin": 0.1}, "exactly one of n, power and margin"),
        ({"power": 0.8}, "`detect` must be another value"),
        ({"power": 0.8, "detect": 0.1}, "`detect` must be another value"),
        ({"power": 0.01, "detect": 0.2}, "`power` must lie between"),
        ({"n": 1}, "`n` must be at least 2"),
        ({"n": 10, "sides": 3}, "`sides` must be 1 or 2"),
        ({"n": 10, "ratio": 0}, "`ratio` must be above 0"),
        ({"items": (1.0,), "prevalence": 0, "n": 10}, "the answers must differ"),
    ],
)
def test_what_cannot_be_planned_is_refused(asked, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        plan_list_experiment(**({"items": ITEMS, "prevalence": 0.1} | asked))
    with pytest.raises(ValueError, match="`sd` must be above 0"):
        plan_item_sum(20, mean=5, sd=0, n=10)
