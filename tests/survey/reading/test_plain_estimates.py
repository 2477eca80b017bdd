import numpy as np
import pytest
from scipy.stats import t

from tests.survey.samples import faculty
from toolkit import Question
from toolkit.survey.reading.plain_estimates import plain_estimate


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


AGE = Question("age", "Age?", bounds=(0, 99))


def test_a_plain_mean_has_the_t_interval_of_its_degrees_of_freedom():
    numbers = [20, 25, 31, 44, 60]
    found = plain_estimate(AGE, [(number, 1) for number in numbers])
    assert tuple(found.interval()) == pytest.approx(
        t.interval(0.95, 4, np.mean(numbers), np.std(numbers, ddof=1) / np.sqrt(5))
    )
    assert found.interval().method == "t"
    assert found.method == "plain answers, t with 4 degrees of freedom"


def test_the_mean_of_five_numbers_is_covered_as_often_as_promised():
    """2000 normal samples of 5: at least 0.925, five standard errors below 0.95 (false alarms 3e-7); with z
    it is 0.879.
    """
    rng = np.random.default_rng(9)
    covered = 0
    for sample in rng.normal(40, 5, size=(2000, 5)):
        low, high = plain_estimate(AGE, [(number, 1) for number in sample]).interval()
        covered += low <= 40 <= high
    assert covered / 2000 > 0.925


def test_equal_answers_have_no_interval_of_width_zero():
    found = plain_estimate(AGE, [(20, 5)])
    assert np.isnan(found.interval().low)
    assert "all answers are equal" in found.notes[0]


def test_a_box_that_nobody_ticks_has_an_interval_that_is_no_point():
    """Wilson's interval of none in ten ends at 0.278."""
    question = Question("tried", "What?", options=["a", "b"], multiple=True)
    low, high = plain_estimate(question, [([1], 10)]).interval()
    assert low[0] == pytest.approx(0, abs=1e-12)
    assert high[0] == pytest.approx(0.278, abs=5e-4)
    assert low[1] == pytest.approx(0.722, abs=5e-4)
