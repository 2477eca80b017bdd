import numpy as np
import pytest

from toolkit.analysis import Sample
from toolkit.analysis.sampling.units import mean, randomization, total


def test_what_a_person_moves_a_mean_by_is_its_derivative() -> None:
    """By a small step of one weight, for means and totals of a domain."""
    scores, weights = np.array([[1.0], [0.0], [3.0], [2.0]]), np.array([1.0, 2.0, 1.0, 0.5])
    inside = np.array([[True], [True], [True], [False]])
    for made in (mean, total):
        found = made(scores, weights, inside)
        for row in range(4):
            moved = weights.copy()
            moved[row] += 1e-7
            slope = (made(scores, moved, inside).value - found.value) / 1e-7
            assert found.influence[row] == pytest.approx(slope, abs=1e-5)
            raised = scores.copy()
            raised[row] += 1
            assert made(raised, weights, inside).value - found.value == pytest.approx(found.factors[row])


def test_scores_of_options_have_the_noise_that_their_answers_leave() -> None:
    """Warner's design with 3/4: scores of the two options, all four outcomes weighed by their chances."""
    scores = np.array([[1.5, -0.5], [-0.5, 1.5]])
    found = sum(
        chance * randomization(np.ones((1, 2)), scores[report : report + 1], np.ones(1), "shares")
        for report, chance in ((0, 0.75), (1, 0.25))
    )
    assert found == pytest.approx(np.array([[0.75, -0.75], [-0.75, 0.75]]))


def test_nobody_has_no_mean() -> None:
    with pytest.raises(ValueError, match="an empty domain"):
        mean(np.ones((2, 1)), np.ones(2), np.zeros((2, 1), dtype=bool))


def test_scores_that_are_all_equal_have_no_error_rather_than_none() -> None:
    sample = Sample(weights=[1, 2, 1, 2])
    found = sample.mean([3.0, 3.0, 3.0, np.nan])
    assert found.value == 3
    assert np.isnan(found.se)
    assert np.isnan(found.interval().low)
    assert "all answers are equal" in found.notes[0]
    both = sample.mean([[3.0, 1], [3.0, 2], [3.0, 1], [3.0, 2]])
    assert np.isnan(both.se).tolist() == [True, False]
