import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from toolkit.analysis import Sample, estimates, logistic, plain

AGE = plain(bounds=(0, 99))


def estimated(asked, values):
    return asked._estimate_from_raw_reports([value for value, _ in values], [times for _, times in values])


def test_shares_of_a_plain_choice_are_counts_over_people():
    """Such shares promise no privacy."""
    found = estimated(plain(["arts", "law"]), [(0, 30), (1, 70)])
    assert (found.value, found.n, found.loss, found.covers) == (0.7, 100, None, "sampling")
    assert found.se == pytest.approx(np.sqrt(0.7 * 0.3 / 99))
    # Wilson's interval of 70 in 100, as in every textbook
    assert (found.interval().low, found.interval().high) == pytest.approx((0.6042, 0.7811), abs=5e-4)


def test_ticks_are_shares_of_each_option_with_their_covariance():
    question = plain(["a", "b", "c"], multiple=True)
    values = [([0, 1], 3), ([], 2), ([1], 5)]
    rows = np.array([[1, 1, 0]] * 3 + [[0, 0, 0]] * 2 + [[0, 1, 0]] * 5, dtype=float)
    found = estimated(question, values)
    assert found.value == pytest.approx(rows.mean(axis=0))
    nobody = np.diag([0, 0, 1 / 12 * 11 / 12 / 10])  # as if one more had ticked it, and one had not
    assert found.cov == pytest.approx(np.cov(rows.T) / 10 + nobody)
    assert found.labels == ("a", "b", "c")
    two, one = estimated(question, [([0, 1], 1), ([1], 1)]), estimated(question, [([0, 1], 1)])
    assert two.cov[0, 1] == pytest.approx(0)
    assert np.isnan(one.cov[0, 1])


def test_the_mean_of_a_number_is_weighted_by_how_often_it_came():
    found = estimated(AGE, [(20, 2), (30, 1)])
    assert found.value == pytest.approx(70 / 3)
    assert found.se == pytest.approx(np.std([20, 20, 30], ddof=1) / np.sqrt(3))
    assert found.cov.item() == found.se**2


def test_one_person_has_a_mean_and_no_error():
    found = estimated(AGE, [(20, 1)])
    assert found.value == 20
    assert np.isnan(found.se)
    assert (found.notes, found.method) == ((), "plain answers")
    assert estimated(AGE, [(20, 1), (30, 1)]).method == "plain answers, t with 1 degrees of freedom"


@pytest.mark.parametrize("values", [[(20, 3)], [(20, 3), (30, 0)]])
def test_people_who_all_say_the_same_have_a_mean_and_no_error(values):
    found = estimated(AGE, values)
    assert (found.value, found.n, len(found.notes)) == (20, 3, 1)
    assert np.isnan(found.se)


def test_a_plain_mean_has_the_t_interval_of_its_degrees_of_freedom():
    numbers = [20, 25, 31, 44, 60]
    found = estimated(AGE, [(number, 1) for number in numbers])
    assert tuple(found.interval()) == pytest.approx(
        t.interval(0.95, 4, np.mean(numbers), np.std(numbers, ddof=1) / np.sqrt(5))
    )
    assert found.interval().method == "t"
    assert found.method == "plain answers, t with 4 degrees of freedom"


@pytest.mark.slow
def test_the_mean_of_five_numbers_is_covered_as_often_as_promised():
    """2000 normal samples of 5: at least 0.925, five standard errors below 0.95 (false alarms 3e-7); with z
    it is 0.879.
    """
    rng = np.random.default_rng(9)
    covered = 0
    for sample in rng.normal(40, 5, size=(2000, 5)):
        low, high = estimated(AGE, [(number, 1) for number in sample]).interval()
        covered += low <= 40 <= high
    assert covered / 2000 > 0.925


def test_equal_answers_have_no_interval_of_width_zero():
    found = estimated(AGE, [(20, 5)])
    assert np.isnan(found.interval().low)
    assert "all answers are equal" in found.notes[0]


def test_a_box_that_nobody_ticks_has_an_interval_that_is_no_point():
    """Wilson's interval of none in ten ends at 0.278."""
    question = plain(["a", "b"], multiple=True)
    low, high = estimated(question, [([1], 10)]).interval()
    assert low[0] == pytest.approx(0, abs=1e-12)
    assert high[0] == pytest.approx(0.278, abs=5e-4)
    assert low[1] == pytest.approx(0.722, abs=5e-4)


ASKED = {
    "two options": (plain(["f", "m"]), [0, 1, 1, 0, 1]),
    "three options": (plain(["a", "b", "c"]), [0, 1, 2, 2, 1]),
    "one option": (plain(["a"]), [0, 0, 0, 0, 0]),
    "boxes": (plain(["a", "b"], multiple=True), [[], [0], [0, 1], [1], [1]]),
    "number": (AGE, [20, 25.5, 31, 44, 60]),
}


@pytest.mark.parametrize("kind", ASKED)
def test_the_mean_score_is_the_estimate_and_its_error_that_of_a_mean(kind: str) -> None:
    asked, answers = ASKED[kind]
    scores, found = asked.scores(answers), asked._estimate_from_raw_reports(answers)
    assert scores.mean(axis=0) == pytest.approx(found.value)
    error = scores.std(axis=0, ddof=1) / np.sqrt(5)
    assert np.where(error > 0, error, np.sqrt(6 / 7 * 1 / 7 / 5)) == pytest.approx(found.se)
    assert all(asked._accepts(answer) for answer in answers)
    assert found.loss is None


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(AGE, 100), (AGE, True), (AGE, float("nan")), (AGE, "20"), (ASKED["boxes"][0], [1, 0]), (plain(["a", "b"]), 2)],
)
def test_what_is_no_answer_is_not_accepted(asked, answer) -> None:
    assert not asked._accepts(answer)


def test_plain_and_hidden_columns_stand_in_one_table() -> None:
    """A sample takes both kinds."""
    frame = pd.DataFrame({"age": [20, 25, 30, 35], "sex": ["F", "m", "m", None], "likes": ["[0]", "[]"] * 2})
    designs = {"age": AGE, "sex": plain(["f", "m"]), "likes": plain(["a", "b"], multiple=True)}
    counted, drawn = estimates(frame, designs), estimates(frame, designs, sample=Sample())
    for name in designs:
        assert counted[name].value == pytest.approx(drawn[name].value)
    for name in ("age", "likes"):  # who left no answer is outside a domain, and its error another
        assert counted[name].se == pytest.approx(drawn[name].se)
    assert (counted["sex"].value, counted["sex"].n) == (pytest.approx(2 / 3), 3)
    assert drawn["sex"].covers == "sampling (2 df)"  # of the three who answered
    assert drawn["age"].method.startswith("plain answers, weighted mean")
    assert counted.to_frame().epsilon.eq(float("inf")).all()
    women = estimates(frame, {"age": AGE}, by="sex").differences("F")
    assert women.difference.item() == pytest.approx(27.5 - 20)


def test_a_finite_population_lessens_all_of_a_plain_error() -> None:
    """Drawing 4 of 5 people leaves a fifth of the variance, of shares and of numbers: nothing else varies."""
    frame = pd.DataFrame({"age": [20, 25, 30, 35], "sex": ["f", "m", "m", "f"]})
    designs = {"age": AGE, "sex": plain(["f", "m"])}
    finite, endless = (estimates(frame, designs, sample=Sample(np.ones(4), population=p)) for p in (5, None))
    for name in designs:
        assert finite[name].se / endless[name].se == pytest.approx(np.sqrt(1 / 5))
        assert finite[name].notes == ()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "got none"),
        ({"options": ["a"], "bounds": (0, 1)}, "got both"),
        ({"bounds": (2, 1)}, "must be below the upper"),
        ({"bounds": (1, 1)}, "must be below the upper"),
        ({"options": ["a", "a"]}, "different labels"),
        ({"options": []}, "different labels"),
    ],
)
def test_what_says_not_what_was_asked_is_refused(given, words) -> None:
    with pytest.raises(ValueError, match=words):
        plain(**given)


def test_plain_booleans_may_be_the_outcome_of_a_regression() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.random(200) < 0.3, "x": rng.normal(size=200)})
    fit = logistic("y ~ x", frame, plain([False, True]))
    coded = logistic("y ~ x", frame.assign(y=frame["y"].astype(int)), plain([0, 1]))
    pd.testing.assert_series_equal(fit.params, coded.params)
    pd.testing.assert_series_equal(fit.bse, coded.bse)
