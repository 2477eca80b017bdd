import numpy as np
import pytest

from toolkit.analysis import Sample
from toolkit.analysis.sampling.units import mean, randomization, total, units

Z = np.array([1.0, 2.0, 4.0, 7.0, 11.0])
STRATA = ["a", "a", "b", "c", "c"]


def test_a_lonely_cluster_is_merged_with_the_next_stratum() -> None:
    merged = units(5, STRATA, None, None, "collapse")
    by_hand = units(5, ["a", "a", "c", "c", "c"], None, None, "refuse")
    assert merged.df == by_hand.df == 3
    assert merged.covariance(Z[:, None]) == pytest.approx(by_hand.covariance(Z[:, None]))


def test_the_last_one_is_merged_with_the_one_before() -> None:
    merged = units(5, ["a", "a", "b", "b", "c"], None, None, "collapse")
    by_hand = units(5, ["a", "a", "b", "b", "b"], None, None, "refuse")
    assert merged.covariance(Z[:, None]) == pytest.approx(by_hand.covariance(Z[:, None]))
    assert units(3, ["a", "b", "c"], None, None, "collapse").df == 2  # all three in one


def test_two_lonely_ones_are_merged_with_each_other_and_with_no_third() -> None:
    merged = units(5, ["a", "b", "c", "c", "c"], None, None, "collapse")
    assert merged.counts.tolist() == [2, 3]
    assert merged.df == 3
    assert units(5, ["a", "b", "b", "c", "c"], None, None, "collapse").counts.tolist() == [3, 2]


def test_or_compared_with_the_mean_of_all() -> None:
    found = units(5, STRATA, None, None, "centre")
    by_hand = (1 - 2) ** 2 + (4 - 5) ** 2 + (7 - 11) ** 2  # two in a stratum: the square of their distance
    assert found.covariance(Z[:, None])[0, 0] == pytest.approx(by_hand)
    assert found.df == 2


def test_merged_strata_have_the_population_of_both() -> None:
    merged = units(5, STRATA, None, {"a": 10, "b": 4, "c": 6}, "collapse")
    assert merged.fraction == pytest.approx([0.2, 0.3])
    assert merged.row_fraction() == pytest.approx([0.2, 0.2, 0.3, 0.3, 0.3])


def test_clusters_may_be_numbered_within_strata_or_across_them() -> None:
    within = Sample(strata=[1, 1, 1, 2, 2, 2], clusters=[1, 1, 2, 1, 2, 2])
    across = Sample(strata=[1, 1, 1, 2, 2, 2], clusters=[11, 11, 12, 21, 22, 22])
    scores = [0.1, 0.5, 0.2, 0.9, 0.3, 0.4]
    assert within.mean(scores).se == across.mean(scores).se
    assert within.df == across.df == 2


def test_a_cluster_sum_is_what_the_variance_is_made_of() -> None:
    found = units(4, None, [1, 1, 2, 2], None, "refuse")
    assert found.totals(np.array([[1.0], [2.0], [3.0], [4.0]])).ravel().tolist() == [3.0, 7.0]
    assert found.covariance(np.array([[1.0], [2.0], [3.0], [4.0]]))[0, 0] == pytest.approx(2 * (2**2 + 2**2))


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
    for one in (sample, sample.jackknife()):
        both = one.mean([[3.0, 1], [3.0, 2], [3.0, 1], [3.0, 2]])
        assert np.isnan(both.se).tolist() == [True, False]
        assert one.difference([3.0, 3.0, 1.0, 2.0], [True, True, False, False], [False, False, True, True]).se > 0
