"""The difference in means of people with unequal sampling probabilities, and its comparison with a model."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import f

from toolkit.analysis import Sample, list_experiment


def survey(clusters: int, size: int) -> pd.DataFrame:
    """People with x have larger weights and more often the trait, and answers are correlated within clusters."""
    rng, group = np.random.default_rng(3), np.repeat(np.arange(clusters), size)
    n, tendency = len(group), rng.normal(0, 0.5, clusters)[group]
    x, treated = (rng.random(n) < 0.5) * 1.0, rng.random(n) < 0.5
    yes = rng.random(n) < np.where(x == 1, 0.7, 0.15)
    chance = 1 / (1 + np.exp(0.4 - tendency))
    frame = pd.DataFrame({"x": x, "t": treated, "g": group, "s": group % 3, "w": 1 + x + rng.random(n)})
    frame["y"], frame["z"] = rng.binomial(4, chance) + (treated & yes), rng.binomial(4, chance) + (~treated & yes)
    return frame


def variance(frame: pd.DataFrame, parts: np.ndarray) -> float:
    """The variance of a sum over clusters that were sampled within strata."""
    totals = frame.assign(parts=parts).groupby(["s", "g"]).parts.sum()
    return sum(len(one) * one.var(ddof=1) for _, one in totals.groupby("s"))


def moves(frame: pd.DataFrame, told: np.ndarray) -> tuple[float, np.ndarray]:
    """A difference of weighted means, and the influence of each person."""
    long, short = (frame.w * on / (frame.w * on).sum() for on in (frame.t, ~frame.t))
    means = long @ told, short @ told
    return means[0] - means[1], np.asarray(long * (told - means[0]) - short * (told - means[1]))


@pytest.mark.parametrize("second", [None, "z"])
def test_difference_and_agreement_are_those_of_the_formulas_of_surveys(second) -> None:
    """Least squares on x alone are a difference in each of its cells; their mean has a variance by hand."""
    frame = survey(45, 20)
    told = frame.y.to_numpy(float) if second is None else (frame.y - frame.z).to_numpy() / 2
    fit = list_experiment("y ~ x", frame, treatment="t", items=4, second=second, weights="w", strata="s", clusters="g")
    difference, own = moves(frame, told)
    known = Sample(frame.w, frame.s, frame.g).difference(told, frame.t, ~frame.t)
    assert (float(fit.difference), fit.difference.se) == pytest.approx((difference, variance(frame, own) ** 0.5))
    assert (float(fit.difference), fit.difference.se) == pytest.approx((float(known), known.se))
    assert [*fit.difference.interval()] == pytest.approx([*known.interval()])
    assert fit.difference.covers == "sampling (weights, strata, clusters; 42 df)"
    if second is not None:  # two curves of two lists have no such formula
        assert fit.agreement.p > 0.05
        return
    apart, mean = -own, 0.0
    for cell in (0.0, 1.0):
        here = frame.x == cell
        value, change = moves(frame[here], told[here])
        share = frame.w[here].sum() / frame.w.sum()
        apart[here] += share * change + frame.w[here] / frame.w.sum() * value
        mean += share * value
    apart -= frame.w / frame.w.sum() * mean
    assert float(fit.margins()) == pytest.approx(mean)
    statistic = (mean - difference) ** 2 / variance(frame, apart)
    assert fit.agreement.statistic == pytest.approx(statistic, rel=1e-6)
    assert fit.agreement.p == pytest.approx(f.sf(statistic, 1, 42), rel=1e-6)


def test_a_model_that_is_the_difference_itself_is_not_held_against_it() -> None:
    frame = survey(45, 20)
    fit = list_experiment("y ~ 1", frame, treatment="t", items=4, weights="w")
    assert float(fit.margins()) == pytest.approx(float(fit.difference))
    assert np.isnan(fit.agreement.p)


@pytest.mark.slow
def test_the_error_of_the_distance_matches_the_jackknife() -> None:
    """The distance is that of the likelihood's estimate from the difference in means."""
    frame = survey(30, 40)

    def distance(rows: pd.DataFrame) -> float:
        fit = list_experiment("y ~ x", rows, treatment="t", items=4, method="ml", weights="w", clusters="g")
        return float(fit.margins()) - float(fit.difference)

    left = np.array([distance(frame[frame.g != one]) for one in range(30)])
    fit = list_experiment("y ~ x", frame, treatment="t", items=4, method="ml", weights="w", clusters="g")
    gap = list_experiment(
        "y ~ x", frame.assign(x=1e7 * frame.x), treatment="t", items=4, method="ml", weights="w", clusters="g"
    ).gap
    assert fit.gap == pytest.approx(gap, rel=1e-6)
    assert fit.gap == pytest.approx(29 / 30 * ((left - left.mean()) ** 2).sum(), rel=0.15)
