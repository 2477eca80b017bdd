"""Likert questions: the whole distribution or the mean alone."""

import math

import numpy as np
import pytest

from toolkit.local.questionnaire import likert


def test_five_points_at_epsilon_one() -> None:
    """For scores from -1 to 1: one bit has a variance of at most 4.68; k-ary has 8.60 from randomization alone, 9.60 in
    a survey.
    """
    scale = likert(5, 1.0)
    ends, scores = np.array([0.5, 0, 0, 0, 0.5]), np.linspace(-1, 1, 5)
    survey, noise = (scale.distribution.covariance(ends, 1, respondents=r) for r in ("sample", "fixed"))
    assert round(scale.mean.variance(3, 1) / 4, 2) == 4.68
    assert round(scores @ survey @ scores, 2) == 9.6
    assert round(scores @ noise @ scores, 2) == 8.6
    assert round(scale.saving_ends, 2) == 2.05
    assert round(scale.saving_spread, 2) == 1.63
    assert likert(2, 1.0).distribution.options == (1, 2)
    with pytest.raises(ValueError, match="`points` must be at least 2"):
        likert(1, 1.0)


@pytest.mark.slow
def test_the_ends_are_the_worst_case_of_the_distribution() -> None:
    """None of a thousand random distributions, with a fixed seed, has a larger variance of the mean; the variance of
    one bit is largest in the middle.
    """
    scale, rng, points = likert(7, 0.8), np.random.default_rng(1), np.arange(1, 8)
    worst = scale.saving_ends * scale.mean.variance(4, 1)
    for shares in rng.dirichlet(np.full(7, 0.3), 1000):
        assert points @ scale.distribution.covariance(shares, 1) @ points <= worst * (1 + 1e-9)
        assert scale.mean.variance(float(points @ shares), 1) <= scale.mean.variance(4, 1) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
def test_the_likert_mean_is_unbiased_by_both_methods(epsilon: float) -> None:
    """The predicted saving of the direct method is correct.

    200,000 answers with a fixed seed; 4.5 standard errors, false alarms 7e-6.
    """
    scale, rng, points = likert(5, epsilon), np.random.default_rng(2), np.arange(1, 6)
    answers = rng.choice(points, size=200_000)
    shares = scale.distribution.estimate(scale.distribution.randomize(answers, rng))
    direct = scale.mean.estimate(scale.mean.randomize(answers, rng))
    through = points @ shares.value, math.sqrt(points @ shares.cov @ points)
    assert abs(through[0] - answers.mean()) < 4.5 * through[1]
    assert abs(direct.value - answers.mean()) < 4.5 * direct.se
    assert math.isclose((through[1] / direct.se) ** 2, scale.saving_spread, rel_tol=0.03)
    assert ("use one_bit" in scale.advice()) == (direct.se < through[1]) == (epsilon < 2)
