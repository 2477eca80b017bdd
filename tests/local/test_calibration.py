import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from toolkit.core.rounding import log_up
from toolkit.local.calibration import check_odds, checked_epsilon, flip_threshold, option_labels, weights_for_epsilon
from toolkit.local.numeric.bounded import OneBit
from toolkit.local.numeric.scrambling import Scrambled
from toolkit.local.numeric.window import Window
from toolkit.local.oracles.hashing import LocalHash
from toolkit.local.oracles.random_box import RandomBox
from toolkit.local.oracles.subset import Subset


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, "1/3", 1, math.log(3), 7.5, 22])
@pytest.mark.parametrize(("inside", "outside"), [(1, 1), (1, 999), (5, 3), (100, 1)])
def test_odds_are_on_the_private_side_and_fit_into_32_bits(epsilon: object, inside: int, outside: int) -> None:
    if epsilon == 22 and outside == 999:
        return  # the odds leave no room for a thousand others
    a, b = weights_for_epsilon(epsilon, n_inside=inside, n_outside=outside)
    assert inside * a + outside * b <= 2**32
    assert a > b
    assert (
        Fraction(repr(log_up(Fraction(a, b)))) <= Fraction(epsilon)
        if isinstance(epsilon, str)
        else log_up(Fraction(a, b)) <= epsilon
    )


def test_an_epsilon_without_a_float_is_given_a_little_less() -> None:
    assert checked_epsilon("1/3") < Fraction(1, 3)
    assert Fraction(1, 3) - checked_epsilon("1/3") < Fraction(1, 10**15)


@pytest.mark.parametrize("epsilon", [0, -1, 23, "x", float("inf"), 1e-300])
def test_what_no_draw_can_keep_is_refused(epsilon: object) -> None:
    with pytest.raises(ValueError, match="`epsilon` must"):
        weights_for_epsilon(epsilon, n_inside=1, n_outside=1)
    assert checked_epsilon("1e-100") == Fraction(1, 10**100)
    with pytest.raises(ValueError, match="got less than 1e-100"):
        checked_epsilon(Fraction(1, 10**100 + 1))


def test_a_threshold_never_lies_less_than_asked() -> None:
    for factor in (Fraction(3), Fraction(27183, 10000), Fraction(10**6)):
        assert Fraction(flip_threshold(factor), 2**32) >= 1 / (factor + 1) > Fraction(flip_threshold(factor) - 1, 2**32)


def test_options_may_be_a_number_or_labels() -> None:
    assert option_labels(3) == (0, 1, 2)
    assert option_labels(["a", "b"]) == ("a", "b")
    with pytest.raises(ValueError, match="`options` must be at most 4,194,304, got 4194305"):
        option_labels(2**22 + 1)


def test_weights_must_be_in_order_and_fit_into_a_32_bit_word() -> None:
    check_odds(3, 1, 2**32)
    with pytest.raises(
        ValueError, match="`inside` must be above `outside`, got 2 and 2: otherwise the set says nothing"
    ):
        check_odds(2, 2, 4, noun="set")
    with pytest.raises(ValueError, match="`keep` must be above `lie`"):
        check_odds(1, 2, 3, ("keep", "lie"))
    with pytest.raises(ValueError, match=r"at most 2\*\*32"):
        check_odds(3, 1, 2**32 + 1)


TOTALS: dict[str, tuple[Callable[[int], object], int]] = {  # the largest weight that leaves room for the others
    "one bit": (lambda keep: OneBit(Fraction(0), Fraction(1), 4, keep, 1), 2**32 - 1),
    "a box": (lambda keep: RandomBox(("a", "b", "c"), keep, 1), 2**32 - 1),
    "a window": (lambda inside: Window(4, 2, inside, 3), 2**31 - 6),
    "a hash": (lambda inside: LocalHash(("a", "b", "c"), 5, inside, 3), 2**32 - 12),
    "a deck": (
        lambda one: Scrambled(Fraction(0), Fraction(1), 1, "additive", (Fraction(0), Fraction(1)), (one, 5)),
        2**32 - 5,
    ),
    "a set": (lambda inside: Subset(("a", "b", "c", "d", "e"), 2, inside, 4), 2**31 - 6),
}


@pytest.mark.parametrize(("make", "last"), TOTALS.values(), ids=TOTALS)
def test_the_weights_of_all_reports_together_fit_into_a_32_bit_word(make: Callable[[int], object], last: int) -> None:
    make(last)
    with pytest.raises(ValueError, match=r"the weights must sum to at most 2\*\*32"):
        make(last + 1)
