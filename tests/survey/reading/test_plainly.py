import numpy as np
import pytest

from tests.survey.samples import faculty
from toolkit import Question
from toolkit.survey.reading.plainly import plain_estimate


def test_shares_of_a_plain_choice_are_counts_over_people_and_promise_nothing():
    found = plain_estimate(faculty(), [(0, 30), (1, 70)])
    assert (found.value, found.n, found.loss, found.covers) == (0.7, 100, None, "sampling")
    assert found.se == pytest.approx(np.sqrt(0.7 * 0.3 / 99))
    # Wilson's interval of 70 in 100, as in every textbook
    assert (found.interval().low, found.interval().high) == pytest.approx((0.6042, 0.7811), abs=5e-4)


def test_ticks_are_shares_of_each_option_with_their_covariance():
    question = Question("tried", "What?", options=["a", "b", "c"], multiple=True)
    values = [([0, 1], 3), ([], 2), ([1], 5)]
    rows = np.array([[1, 1, 0]] * 3 + [[0, 0, 0]] * 2 + [[0, 1, 0]] * 5, dtype=float)
    found = plain_estimate(question, values)
    assert found.value == pytest.approx(rows.mean(axis=0))
    assert found.cov == pytest.approx(np.cov(rows.T) / 10)
    assert found.labels == ("a", "b", "c")


def test_the_mean_of_a_number_is_weighted_by_how_often_it_came():
    found = plain_estimate(Question("age", "Age?", bounds=(0, 99)), [(20, 2), (30, 1)])
    assert found.value == pytest.approx(70 / 3)
    assert found.se == pytest.approx(np.std([20, 20, 30], ddof=1) / np.sqrt(3))


def test_one_person_has_a_mean_and_no_error():
    found = plain_estimate(Question("age", "Age?", bounds=(0, 99)), [(20, 1)])
    assert found.value == 20
    assert np.isnan(found.se)
