import numpy as np
import pytest

from toolkit.analysis import Sample
from toolkit.analysis.sampling.units import units

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
    assert merged.drawn.tolist() == [2, 3]
    assert merged.df == 3


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
