from fractions import Fraction

import numpy as np
import pytest

from toolkit.central.robust.ranks import RankStatistic


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 100])
def test_the_median_is_numpys(n: int) -> None:
    values = np.sort(np.random.default_rng(n).integers(0, 50, n))
    found = RankStatistic.from_name("median", n)
    assert Fraction(int(found._evaluate(values)), found.divisor) == Fraction(float(np.median(values)))


def test_a_trimmed_mean_leaves_out_as_many_at_each_end() -> None:
    values = np.array([0, 10, 20, 60, 1000])
    for trim, expected in ((0, 218), (1, 30), (2, 20)):
        found = RankStatistic.from_name("trimmed", 5, trim=trim)
        assert Fraction(int(found._evaluate(values)), found.divisor) == expected


def test_quartiles_are_values_of_the_sample() -> None:
    """Ranks n/4 and 3n/4, rounded up: numpy calls this inverted_cdf."""
    for n in (2, 3, 4, 5, 6, 7, 8, 101):
        values = np.sort(np.random.default_rng(n).normal(size=n))
        low, high = np.quantile(values, [0.25, 0.75], method="inverted_cdf")
        assert RankStatistic.from_name("iqr", n)._evaluate(values) == high - low


def test_whole_numbers_stay_whole_and_one_reach_is_the_one_of_the_list() -> None:
    values = np.array([1, 2, 3, 5, 8, 13, 21, 34])
    found = RankStatistic.from_name("iqr", 8)
    listed = found._sensitivities(values, 0, 40, 8)
    assert listed == [8, 21, 27, 32, 35, 37, 38, 39, 40]
    assert [found._sensitivity_at(values, 0, 40, k) for k in range(9)] == listed
    assert all(isinstance(reach, np.int64) for reach in listed)


def test_an_unknown_statistic_is_rejected_with_those_that_exist() -> None:
    for n in (4, 5):
        with pytest.raises(ValueError, match=r"`statistic` must be .*trimmed.*got 'mode'"):
            RankStatistic.from_name("mode", n)


@pytest.mark.parametrize("name", ["median", "iqr"])
def test_the_sensitivity_is_the_largest_change_by_one_replaced_value(name: str) -> None:
    """Every value is replaced by every other number within the bounds."""
    rng = np.random.default_rng(3)
    for n in (5, 8, 11):
        found = RankStatistic.from_name(name, n)
        for _ in range(10):
            values = np.sort(rng.choice([0, 1, 2, 9, 10, 24, 25, 26, 39, 40], n))
            replaced = [np.sort([*np.delete(values, i), new]) for i in range(n) for new in range(41)]
            changes = [abs(found._evaluate(other) - found._evaluate(values)) for other in replaced]
            assert found._sensitivity_at(values, 0, 40, 0) == max(changes)
