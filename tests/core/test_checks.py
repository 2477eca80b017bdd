import re
import threading
import warnings
from fractions import Fraction

import numpy as np
import pytest

from toolkit.core import checks


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (" 2/3 ", Fraction(2, 3)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int8(3), Fraction(3)),
        (Fraction(5, 7), Fraction(5, 7)),
        (1e-300, Fraction(1, 10**300)),
    ],
)
def test_numbers_are_read_as_they_were_written(written: object, exact: Fraction) -> None:
    assert checks.exact_fraction(written, "x") == exact


@pytest.mark.parametrize("bad", ["abc", "1/0", "", float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_a_value_error(bad: object) -> None:
    with pytest.raises(ValueError, match="`x` must be"):
        checks.exact_fraction(bad, "x")


@pytest.mark.parametrize("bad", [True, np.True_, None, [1], 1j, b"1"])
def test_what_is_no_number_type_is_a_type_error(bad: object) -> None:
    with pytest.raises(TypeError, match="`x` must be a number, got"):
        checks.exact_fraction(bad, "x")


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        (1 / 3, Fraction(1, 3)),
        (2 / 3, Fraction(2, 3)),
        (5 / 6, Fraction(5, 6)),
        (0.15, Fraction(3, 20)),
        (1 / 999_983, Fraction(1, 999_983)),  # of those with a denominator up to a million
        (1 / 1_000_003, Fraction(4295, 2**32)),
        (np.float32(0.5), Fraction(1, 2)),
    ],
)
def test_floats_that_stand_for_simple_fractions_become_them(written: float, exact: Fraction) -> None:
    assert checks.check_probability(written, "p") == exact


@pytest.mark.parametrize("bad", [-0.1, 1.0000001, "5/4", 2])
def test_a_probability_lies_between_0_and_1(bad: object) -> None:
    with pytest.raises(ValueError, match="`p` must lie between 0 and 1"):
        checks.check_probability(bad, "p")


@pytest.mark.parametrize("bad", [0, 1, 0.0, 1.0, -1, 95, "nan?"])
def test_a_level_lies_strictly_between_0_and_1(bad: object) -> None:
    with pytest.raises(ValueError, match="`level` must"):
        checks.check_level(bad)


@pytest.mark.parametrize(
    ("received", "quoted"), [((0, 5), "(0, 5)"), ("three", "three"), ([1, 2, 3], "list"), (np.ones(4), "ndarray")]
)
def test_what_holds_more_than_two_things_may_be_data_and_is_not_quoted(received: object, quoted: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"it must be so, got {quoted}: else not.")):
        checks.reject("it must be so", received, "else not")


def test_what_is_read_warns_of_nothing_and_what_fails_tells_nothing() -> None:
    assert checks.quietly(lambda: (warnings.warn("Bob", stacklevel=1), np.ones(1) / np.zeros(1), 3)[-1]) == 3
    with pytest.raises(
        RuntimeError, match="data must be readable, got an error that is not shown: its message"
    ) as error:
        checks.quietly(lambda: int("Bob"))
    assert (error.value.__cause__, error.value.__context__) == (None, None)


def test_a_panic_of_an_engine_is_a_failure_and_what_ends_a_program_is_none() -> None:
    for raised, seen in ((BaseException, RuntimeError), (KeyboardInterrupt, KeyboardInterrupt)):
        with pytest.raises(seen) as error:
            checks.quietly(lambda raised=raised: (_ for _ in ()).throw(raised("Bob")).__next__())
        assert ("Bob" in str(error.value)) == (seen is KeyboardInterrupt)


def test_who_reads_last_of_two_threads_puts_the_filters_of_warnings_back() -> None:
    before, inside, leave = list(warnings.filters), threading.Event(), threading.Event()
    first = threading.Thread(target=checks.quietly, args=(lambda: (inside.set(), leave.wait(9)),))
    first.start()
    inside.wait(9)
    assert checks.quietly(lambda: (leave.set(), first.join(), warnings.filters[0][0])[-1]) == "ignore"
    assert warnings.filters == before


@pytest.mark.parametrize("bad", [["Bob", 1], "Bob", [[1], 2], [10**400], [1j], np.array([1j]), [{}], {"Bob": 1}])
def test_what_are_no_numbers_is_refused_and_not_quoted(bad: object) -> None:
    with pytest.raises(TypeError, match=r"^`ages` must be numbers, got values that are not: they are not quoted.$"):
        checks.float_array(bad, "ages")


def test_numbers_are_read_as_floats_and_missing_ones_are_nan() -> None:
    assert checks.float_array([1, True, "2", 10**30], "ages").tolist() == [1.0, 1.0, 2.0, 1e30]
    assert np.isnan(checks.float_array([1, None], "ages")).tolist() == [False, True]


def test_shares_may_leave_0_to_1_by_rounding_and_no_further() -> None:
    above, below = np.nextafter(1, 2), -np.finfo(float).eps
    assert checks.read_shares([above, below, 0.3], "shares").tolist() == [1, 0, 0.3]
    assert checks.read_shares([1.001, -0.001], "shares").tolist() == [1.001, -0.001]


@pytest.mark.parametrize(
    ("bad", "received"),
    [(None, "NoneType"), ("01", "str"), ((0,), r"\(0,\)"), ([5, 6, 7], "list"), ((0, np.inf), r"\(0, inf\)")],
)
def test_limits_are_two_numbers_and_longer_lists_are_not_quoted(bad: object, received: str) -> None:
    """A longer list may be data."""
    with pytest.raises(ValueError, match=f"^`span` must be two finite numbers, got {received}: so.$"):
        checks.check_bounds(bad, "span", "so")


def test_the_lower_limit_is_below_the_upper_and_both_are_exact() -> None:
    assert checks.check_bounds((0.1, "2/3")) == (Fraction(1, 10), Fraction(2, 3))
    for bad in ((1, 1), [2, 1]):
        with pytest.raises(
            ValueError, match=r"^the lower limit in `bounds` must be below the upper limit, got .*: values are clamped"
        ):
            checks.check_bounds(bad)


@pytest.mark.parametrize("bad", [1.5, True, "3", float("nan"), float("inf"), None, [2], np.True_])
def test_a_whole_number_is_whole_and_others_are_quoted_if_they_are_short(bad: object) -> None:
    received = repr(bad) if isinstance(bad, float | bool | str) else type(bad).__name__
    with pytest.raises(TypeError, match=f"^`n` must be a whole number, got {received}: it is a count.$"):
        checks.check_integer(bad, "n")


def test_a_whole_number_may_come_as_a_numpy_integer_or_a_whole_float() -> None:
    assert checks.check_integer(np.int64(7), "n") == checks.check_integer(7.0, "n") == 7
    with pytest.raises(ValueError, match="`n` must be at least 1, got 0"):
        checks.check_integer(0, "n")


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ("ab", TypeError),
        ([True, False], TypeError),
        (["a"], ValueError),
        (["a", "a"], ValueError),
        (["1", 1], ValueError),
        ([0.5, 1], TypeError),
    ],
)
def test_labels_are_distinct_strings_or_whole_numbers(bad: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="`options` must"):
        checks.check_labels(bad, "options")


@pytest.mark.parametrize(
    ("number", "percent"),
    [(1.5, ": for 1.5 percent write 0.015"), (100, ": for 100 percent write 1"), (100.5, ""), (-1, "")],
)
def test_of_what_could_be_percent_the_probability_is_said(number: float, percent: str) -> None:
    assert checks.check_probability(0, "p") == 0
    assert checks.check_probability(1, "p") == 1
    rule = "`p` must lie between 0 and 1"
    with pytest.raises(ValueError, match=rf"^{rule}, got {number}: it is a probability{percent}\.$"):
        checks.check_probability(number, "p")


@pytest.mark.parametrize(("number", "received"), [(8, "8"), (10**20 - 1, "9" * 20), (10**20, "a number of more than")])
def test_a_number_that_is_too_large_is_quoted_unless_it_fills_the_line(number: int, received: str) -> None:
    assert checks.check_integer(7, "n", maximum=7) == 7
    with pytest.raises(ValueError, match=f"`n` must be at most 7, got {received}"):
        checks.check_integer(number, "n", maximum=7)


@pytest.mark.parametrize(("word", "here"), [("bounded", "replace"), ("swap", "replace"), ("unbounded", "add_remove")])
def test_whom_a_promise_is_about_has_one_name_here(word: str, here: str) -> None:
    assert checks.check_neighbors(here) == here
    with pytest.raises(ValueError, match=f"got '{word}': here it is '{here}'"):
        checks.check_neighbors(word)


def test_a_long_float_is_read_as_a_multiple_of_two_to_the_minus_32():
    """The nearest such multiple is taken."""
    rng = np.random.default_rng(32)
    for value in rng.random(200):
        found = checks.check_probability(value, "p")
        assert 2**32 % found.denominator == 0
        assert abs(found - Fraction(value)) <= Fraction(1, 2**33)
