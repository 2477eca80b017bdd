import numpy as np
import pytest

from toolkit import warner
from toolkit.local import numeric, oracles
from toolkit.survey.reading.hidden import checked_method, counts_of, hidden_estimate


def test_a_matrix_has_every_method_from_its_counts():
    design, values = warner(p="2/3"), [(1, 20), (0, 75), (1, 5)]
    assert counts_of(design, values) == [75, 25]
    for method in ("moment", "mle", "simplex"):
        assert hidden_estimate(design, values, method).value == design.estimate_counts([75, 25], method).value
    assert hidden_estimate(design, values).value == pytest.approx(-0.25)
    assert hidden_estimate(design, values, "mle").value == pytest.approx(0, abs=1e-9)


def test_an_oracle_takes_the_nearest_distribution_for_both():
    oracle = oracles.subset(10, 1.0)
    values = [([0, 1, 2], 400), ([0, 2, 3], 300), ([0, 3, 4], 10)]
    nearest = hidden_estimate(oracle, values, "simplex")
    assert np.array_equal(hidden_estimate(oracle, values, "mle").value, nearest.value)
    assert nearest.value.min() >= 0
    assert nearest.value.sum() == pytest.approx(1)
    assert hidden_estimate(oracle, values).value.min() < 0


def test_a_mean_has_one_estimator_whatever_is_asked_for():
    bit = numeric.one_bit((0, 80), 1.0)
    values = [(0, 60), (1, 40)]
    assert hidden_estimate(bit, values, "mle").value == hidden_estimate(bit, values).value


def test_a_wrong_method_is_refused_with_the_near_miss():
    assert checked_method(None) == "moment"
    with pytest.raises(ValueError, match="got 'MLE': write 'mle'"):
        checked_method("MLE")
    with pytest.raises(ValueError, match="one of moment, mle, simplex, got 'em'"):
        checked_method("em")
