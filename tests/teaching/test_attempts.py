"""If a student's function fails, the message states what was expected and what was received."""

from fractions import Fraction

import numpy as np
import pytest

from toolkit.teaching import attempt

VALUES = np.array([1.0, 2.0])


def no_return(x):
    x + 1


def stops(x):
    y = x * 2
    return y / 0


def takes_none():
    return 1


def logarithm(laws):
    return np.log(laws["yes"])


def several(x):
    return x, [x, x]


def too_many(x):
    return [x] * 3


def infinite(x):
    return [x, np.inf]


def half_true(x):
    return [x, 0.5]


def unwritten(x):
    raise NotImplementedError("unwritten: your lines go here")


@pytest.mark.parametrize(
    ("function", "argument", "like", "message"),
    [
        (no_return, 1, 2.0, "no_return returned nothing, and must return a number. Does it end with `return ...`?"),
        (stops, 1, 2.0, "its line 3, `return y / 0`, with ZeroDivisionError: division by zero. It was given 1"),
        (takes_none, 1, 2.0, "and must return a number. Keep the first line of the function as it was."),
        (logarithm, {"yes": Fraction(1, 2)}, 0.5, "convert them with float"),
        (logarithm, {"yes": Fraction(1, 2)}, 0.5, r"a dict with 1 values \(Fraction\)"),
        (several, 1, VALUES, "must return 2 numbers, and returned a tuple of 2. Return the result alone."),
        (too_many, 1, VALUES, "must return 2 numbers, and returned 3 numbers."),
        (too_many, 1, 1.0, "must return a number, and returned 3 numbers."),
        (infinite, 1, VALUES, "Is something divided by 0"),
        (half_true, 1, np.array([True, False]), "must return 2 truth values, and returned other numbers than 0 and 1"),
    ],
)  # fmt: skip
def test_a_failure_names_what_was_expected_and_what_came(function, argument, like, message):
    with pytest.raises(AssertionError, match=message) as failure:
        attempt(function, argument, like=like)
    assert failure.value.__suppress_context__ or failure.value.__context__ is None


def test_a_function_that_is_not_written_says_so():
    with pytest.raises(NotImplementedError, match="your lines go here"):
        attempt(unwritten, 1, like=1.0)


def test_a_wrong_number_of_no_known_mistake_is_returned():
    assert attempt(abs, -3, like=4.0) == 3
    assert attempt(too_many, 1, like=np.zeros(3)).tolist() == [1, 1, 1]
    assert attempt(np.isnan, VALUES, like=VALUES > 5).dtype == bool


def test_repeated_calls_are_stacked():
    rng = np.random.default_rng(5)
    assert attempt(rng.normal, 0, 1, 3, like=np.zeros((4, 3)), repeat=4).shape == (4, 3)
