from itertools import product

import numpy as np
import pytest

from toolkit.analysis import cheater_detection, lie_detector
from toolkit.analysis.twogroup.group_counts import Groups, Kinds


def test_shares_of_yes_that_the_kinds_would_make_give_the_kinds_back() -> None:
    shares, sometimes = np.array([0.2, 0.7, 0.1]), (0.2, 0.8)
    yes = np.array([shares @ [1, p, 0] for p in sometimes])
    found = Kinds(Groups(1000 * np.stack([1 - yes, yes], axis=1), sometimes), sometimes)
    assert found.value == pytest.approx(shares)
    assert found.cov.sum(axis=1) == pytest.approx(0, abs=1e-15)  # three shares of one whole


@pytest.mark.slow
def test_the_likeliest_shares_are_higher_than_any_others_on_a_grid() -> None:
    """All counts of 6 and 6 people against 231 points of the triangle of shares."""
    grid = np.array([(a, b, 20 - a - b) for a in range(21) for b in range(21 - a)]) / 20
    corners = np.array([[1.0, 1.0], [0.2, 0.8], [0.0, 0.0]])
    for a, b in product(range(7), repeat=2):
        groups = Groups(np.array([[6 - a, a], [6 - b, b]], dtype=float), (0.2, 0.8))
        shares, height = Kinds(groups, (0.2, 0.8)).likeliest
        assert shares.min() >= 0
        assert shares.sum() == pytest.approx(1)
        assert height >= max(groups.log_likelihood(point @ corners) for point in grid) - 1e-9
        assert groups.log_likelihood(np.clip(shares @ corners, 0, 1)) == pytest.approx(height, abs=1e-9)


def test_the_lie_detector_is_cheater_detection_by_other_names() -> None:
    """A non-carrier of the one says yes as often as an honest non-carrier of the other is told to."""
    counts = [[300, 700], [750, 250]]
    lying, cheating = lie_detector(counts, (0.3, 0.8)), cheater_detection(counts, (0.7, 0.2))
    admit, others, _ = cheating.estimate.value
    assert lying.estimate.value == pytest.approx([1 - others, admit / (1 - others)])
    assert lying.estimate.se[0] == pytest.approx(cheating.estimate.se[1])
    assert lying.test.statistic == pytest.approx(cheating.test.statistic)
