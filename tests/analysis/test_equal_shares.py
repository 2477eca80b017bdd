import numpy as np
import pytest

from toolkit import forced, kuk
from toolkit.analysis.homogeneity import chi_squared, homogeneity, wald_f

KUK = kuk("4/5", "1/5", draws=2)


def test_more_reports_than_truths_are_compared_by_likelihood() -> None:
    same = homogeneity(KUK, [[150, 100, 50], [150, 100, 50]])
    assert (same.statistic, same.df) == (pytest.approx(0, abs=1e-9), 1)
    apart = homogeneity(KUK, [[150, 100, 50], [50, 100, 150]])
    assert apart.p < 1e-6
    assert apart.method == "likelihood ratio"


@pytest.mark.slow
def test_under_equal_shares_the_p_value_is_small_as_often_as_it_says() -> None:
    """60 surveys of 2 x 300 people: 3 below .05 on average; more than 12 are a false alarm of 1e-5."""
    rng, law = np.random.default_rng(3), np.array([0.7, 0.3]) @ KUK.matrix
    small = sum(homogeneity(KUK, rng.multinomial(300, law, size=2)).p <= 0.05 for _ in range(60))
    assert small <= 12


def test_reports_that_nobody_gave_are_left_out() -> None:
    assert chi_squared([[5, 0, 5], [4, 0, 6]]).df == 1
    assert chi_squared([[5], [4]]).p == 1


def test_nothing_to_compare_is_refused() -> None:
    for table in ([[5, 5]], [[5, 5], [0, 0]]):
        with pytest.raises(ValueError, match="at least two groups"):
            chi_squared(table)
        with pytest.raises(ValueError, match="at least two groups"):
            homogeneity(KUK, [[*row, 1] if any(row) else [0, 0, 0] for row in table])
    with pytest.raises(ValueError, match="must have 2 columns"):
        homogeneity(forced("1/6", "1/6"), [[1, 2, 3], [1, 2, 3]])
    with pytest.raises(ValueError, match="more clusters than differences"):
        wald_f(np.zeros(4), np.eye(4), 3)
