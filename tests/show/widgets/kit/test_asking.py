import pytest

from toolkit.show.widgets.explorer import QUESTION, Asked, call, filled, plain, verdict


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (3, "3"), (10, "10"), (100.0, "100"), (0.1235, "0.124"), (1234567.5, "1,234,567.5")]
)
def test_a_number_is_written_as_it_was_typed(value, text):
    assert plain(value) == text


def test_a_verdict_names_the_guess_its_unit_and_the_truth():
    told = verdict(Asked("How many?", "people"), 1500, "4,310")
    assert told == "You guessed 1,500 people; at this setting it is 4,310."


def test_gaps_are_filled_with_numbers_and_quoted_names():
    code = filled(call("explore_mechanism", ["law", "epsilon"]), {"law": "laplace", "epsilon": 1.0, "n": 3})
    assert code == 'from toolkit import show\nshow.explore_mechanism(law="laplace", epsilon=1.0)'


def test_the_question_that_is_copied_has_the_epsilon_that_was_shown():
    names = {}
    first, second = filled(QUESTION, {"epsilon": 0.75}).split("\n")
    exec(first, names)  # noqa: S102 — the line of this file
    assert abs(eval(second, names).design.epsilon - 0.75) < 1e-6  # noqa: S307
