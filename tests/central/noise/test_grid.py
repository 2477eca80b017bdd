import math
import sys
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.slowly import each
from toolkit.central.noise import grid
from toolkit.central.noise.grid import (
    add_grid_noise,
    add_integer_noise,
    check_magnitude,
    grid_exponent,
    read_private_value,
    round_to_steps,
    rounded_sensitivity,
    steps_below_maximum,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
MAX = sys.float_info.max


@pytest.mark.slow
@given(x=FLOATS, exponent=st.integers(-60, 60))
def test_arrays_are_rounded_as_fractions_are(x: float, exponent: int) -> None:
    """floor(x / unit + 1/2) in exact arithmetic, whatever the float: halves, subnormals and the largest included."""
    rounded = grid._round_to_grid(np.array([x]), exponent)[0]
    assert Fraction(float(rounded)) == round_to_steps(Fraction(x), exponent) * Fraction(2) ** exponent


@pytest.mark.parametrize(
    "x",
    [
        0.5, -0.5, 1.5, 2.5, 0.49999999999999994, -0.49999999999999994, 2.0**52 + 0.5, 4503599627370497.5,
        5e-324, -5e-324,
    ],
)  # fmt: skip
def test_halves_and_near_halves_are_rounded_exactly(x: float) -> None:
    assert grid._round_to_grid(np.array([x]), 0)[0] == math.floor(Fraction(x) + Fraction(1, 2))


@pytest.mark.slow
@given(x=FLOATS, distance=st.fractions(0, 1000), exponent=st.integers(-20, 10), sign=st.sampled_from([-1, 1]))
def test_rounding_never_moves_two_numbers_further_apart_than_charged(
    x: float, distance: Fraction, exponent: int, sign: int
) -> None:
    unit = Fraction(2) ** exponent
    apart = round_to_steps(Fraction(x) + sign * distance, exponent) - round_to_steps(Fraction(x), exponent)
    assert abs(apart) <= rounded_sensitivity(distance / unit, 1, "l1") == math.ceil(distance / unit)


PARTS = st.builds(Fraction, st.integers(-300, 300), st.sampled_from([7, 16, 96]))  # halves of the grid, and between


@pytest.mark.slow
@given(pairs=st.lists(st.tuples(PARTS, PARTS), min_size=2, max_size=6), exponent=st.integers(-3, 3))
def test_rounding_never_moves_two_vectors_further_apart_than_charged(
    pairs: list[tuple[Fraction, Fraction]], exponent: int
) -> None:
    unit = Fraction(2) ** exponent
    moves = [abs(round_to_steps(x + move, exponent) - round_to_steps(x, exponent)) for x, move in pairs]
    size, l1, l2 = len(pairs), sum(abs(move) for _, move in pairs), sum(move**2 for _, move in pairs)
    assert sum(moves) <= max(rounded_sensitivity(l1 / unit, size, "l1"), 0)
    upper = Fraction(math.isqrt(math.ceil(l2 * 4**40)) + 1, 2**40)
    assert sum(move**2 for move in moves) <= rounded_sensitivity(upper / unit, size, "l2") ** 2


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("apart", ["1/8", "1", "5/4", "2"])
def test_what_rounding_adds_to_a_distance_is_reached_and_no_more(size: int, apart: str) -> None:
    """All ways to share so many sixteenths among the entries; each moves an entry by its ceiling at most."""
    sixteenths = int(16 * Fraction(apart))
    ways = (way for way in product(range(sixteenths + 1), repeat=size) if sum(way) == sixteenths)
    most = max(sum(math.ceil(Fraction(part, 16)) for part in way) for way in ways)
    assert rounded_sensitivity(Fraction(apart), size, "l1") >= most
    assert size > sixteenths or rounded_sensitivity(Fraction(apart), size, "l1") == most
    assert size > 1 or rounded_sensitivity(Fraction(apart), 1, "l2") == most


@pytest.mark.parametrize("exponent", [-3, 0, 2])
def test_gaps_in_steps_are_differences_of_rounded_scores(exponent: int) -> None:
    scores = [0.5, -1.25, 7.0, 6.9375, 100.5]
    steps = [round_to_steps(Fraction(score), exponent) for score in scores]
    assert steps_below_maximum(read_private_value(scores), exponent).tolist() == [max(steps) - step for step in steps]
    assert steps_below_maximum(read_private_value([2**63 - 1, 0, -(2**63)]), 0).tolist() == [0.0, 2.0**63, 2.0**64]


def check_sum(x: float, noise: int, exponent: int) -> None:
    exact = (round_to_steps(Fraction(x), exponent) + noise) * Fraction(2) ** exponent
    expected = float(exact) if abs(exact) <= Fraction(MAX) else math.copysign(MAX, exact)
    for value, step in (
        (x, np.array([noise])),
        (np.array([x]), np.array([noise])),
        (np.array([x]), np.array([noise], dtype=object)),
    ):
        found = np.atleast_1d(add_grid_noise(read_private_value(value), step, exponent))[0]
        assert found == expected
        assert not (found == 0 and np.signbit(found))


@pytest.mark.slow
@given(x=FLOATS, noise=st.integers(-(2**62), 2**62), exponent=st.integers(-300, 300))
def test_the_float_of_a_sum_depends_on_the_exact_sum_alone(x: float, noise: int, exponent: int) -> None:
    """Scalars in exact arithmetic and arrays in doubles agree to the last bit, so both are functions of the
    exact sum.
    """
    check_sum(x, noise, exponent)


@each(
    x=[0.0, -0.5, 1 / 3, 2.0**52 + 0.5, -(2.0**53) - 2, 1e300, -1e-300, 5e-324, MAX, -MAX, 7, 2**53 + 1, -(2**63)],
    noise=[0, 1, -3, 2**53 + 1, -(2**62)],
    exponent=[-300, -2, 0, 1, 300],
)
def test_so_it_does_where_floats_end(x: float, noise: int, exponent: int) -> None:
    check_sum(x, noise, exponent)


@each(x=[-(2**63), -1, 0, 5, 2**63 - 1], noise=[-(2**62), -1, 0, 1, 2**62])
def test_whole_sums_are_cut_to_64_bits_and_never_wrap(x: int, noise: int) -> None:
    expected = min(max(x + noise, -(2**63)), 2**63 - 1)
    for kind in (np.int64, object):
        assert add_integer_noise(read_private_value(np.array([x])), np.array([noise], dtype=kind)).tolist() == [
            expected
        ]
    assert add_integer_noise(read_private_value(x), np.array([noise])) == x + noise


@pytest.mark.parametrize(
    ("value", "entries", "whole"),
    [
        (3, 3, True),
        (np.int8(-3), -3, True),
        (2.5, Fraction(5, 2), False),
        (np.float32(0.1), Fraction(float(np.float32(0.1))), False),
        (Fraction(1, 3), Fraction(1, 3), False),
        (np.array(4), 4, True),
        (2**70, 2**70, True),
    ],
)
def test_numbers_are_read_exactly(value: object, entries: object, whole: bool) -> None:
    answer = read_private_value(value)
    assert (answer.entries, answer.is_whole, answer.is_scalar) == (entries, whole, True)


def test_arrays_and_lists_are_read_by_type_not_by_value() -> None:
    assert read_private_value([1, 2**80, -(2**80)]).entries.tolist() == [1, 2**63 - 1, -(2**63)]
    assert read_private_value(np.array([1, 2**64 - 1], dtype=np.uint64)).entries.tolist() == [1, 2**63 - 1]
    assert read_private_value([1, 2.5]).entries.tolist() == [1.0, 2.5]
    assert read_private_value([10**400, 2.5, np.int64(-(2**60))]).entries.tolist() == [2.0**53, 2.5, -(2.0**53)]
    assert read_private_value(np.array([1.5], dtype=np.float32)).entries.dtype == np.float64
    assert read_private_value((1, np.int32(5))).is_whole


@each(
    value=[
        True,
        np.True_,
        np.array([True]),
        [True, 1],
        Decimal("1.5"),
        1j,
        "12",
        None,
        [None, 1],
        [Decimal(1)],
        np.array([1, None], dtype=object),
        np.array(["1"]),
        np.ma.masked_array([1, 2], [False, True]),
        np.array([1], dtype="datetime64[s]"),
        np.array([1], dtype=np.longdouble),
        np.longdouble(1),
    ]
)
def test_other_types_are_refused_by_type(value: object) -> None:
    with pytest.raises(TypeError, match="`value` must"):
        read_private_value(value)


@pytest.mark.parametrize(
    "value", [np.zeros((2, 2)), np.array([]), [], np.zeros((0, 3))], ids=["square", "empty", "list", "flat"]
)
def test_other_shapes_are_refused_by_shape(value: object) -> None:
    with pytest.raises(ValueError, match="one-dimensional and not empty"):
        read_private_value(value)


def test_what_is_not_finite_is_refused_in_one_way_that_quotes_nothing() -> None:
    messages = set()
    for bad in (math.nan, math.inf, -math.inf, np.float32("nan"), [1.0, math.nan], np.array([12345.0, math.inf])):
        with pytest.raises(ValueError, match="must be finite") as caught:
            read_private_value(bad)
        messages.add(str(caught.value))
    assert messages == {
        "`value` must be finite, got NaN or an infinity: replace missing and infinite values before a release."
    }


def test_the_grid_is_finer_than_every_size_by_thirty_powers_of_two() -> None:
    for sizes in ((Fraction(1), Fraction(2)), (Fraction(1, 3), Fraction(10**9)), (Fraction(10**300),)):
        unit = Fraction(2) ** grid_exponent(*sizes)
        assert unit <= min(sizes) / 2**30 < 2 * unit


@pytest.mark.slow
@given(scores=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8))
@example(scores=[2**62, 2**62 + 1])
@example(scores=[-(2**63), -(2**63) + 1, 2**63 - 1])
def test_gaps_of_whole_scores_do_not_overflow(scores: list[int]) -> None:
    assert steps_below_maximum(read_private_value(np.array(scores)), 0).tolist() == [
        float(max(scores) - score) for score in scores
    ]


@pytest.mark.slow
@given(scores=st.lists(FLOATS, min_size=1, max_size=8), exponent=st.integers(-40, 40))
def test_gaps_of_real_scores_are_exact_below_2_to_the_53_steps(scores: list[float], exponent: int) -> None:
    steps = [round_to_steps(Fraction(score), exponent) for score in scores]
    for gap, step in zip(
        steps_below_maximum(read_private_value(np.array(scores)), exponent).tolist(), steps, strict=True
    ):
        true = max(steps) - step
        assert gap == true if true < 2**53 else gap >= 2**53


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, True, "abc", "1e-301", 10**301, None])
def test_a_size_is_a_positive_number_within_reach_of_floats(bad: object) -> None:
    with pytest.raises((ValueError, TypeError), match="`sensitivity` must"):
        check_magnitude(bad, "sensitivity", "why")  # type: ignore[arg-type]
    for last in (Fraction(1, 10**300), Fraction(10**300)):
        assert check_magnitude(last, "sensitivity", "why") == last


@pytest.mark.parametrize("size", [2, 3, 5, 10, 1000, 10**6 + 1])
def test_the_root_that_rounding_adds_to_a_length_is_never_rounded_down(size: int) -> None:
    """Exactly: what is added is at least the root of a number that is no square, and hardly more."""
    for sensitivity in (Fraction(0), Fraction(1, 3), Fraction(10**9)):
        added = rounded_sensitivity(sensitivity, size, "l2") - sensitivity
        assert size <= added**2 < size + Fraction(1, 10**5)


@pytest.mark.parametrize("steps", [2**53 + 1, -(2**53) - 1, 2**54 - 1, 3 * 2**52 + 1])
def test_noise_beyond_the_floats_is_added_exactly_in_arrays(steps: int) -> None:
    """As a float the noise alone would lose its last digit, and the sum would be rounded twice."""
    for value in (1.0, -1.0, 3.0):
        found = add_grid_noise(read_private_value(np.array([value])), np.array([steps]), 0)
        assert found.tolist() == [float(int(value) + steps)]  # type: ignore[union-attr]


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_sum_beyond_the_floats_is_the_last_of_them(sign: int) -> None:
    last = sign * sys.float_info.max
    for kind in (np.int64, object):
        noise = np.array([sign * 2**60], dtype=kind)  # of 2**970 each
        assert add_grid_noise(read_private_value(last), noise, 970) == last
        assert add_grid_noise(read_private_value(np.array([last])), noise, 970).tolist() == [last]  # type: ignore[union-attr]
