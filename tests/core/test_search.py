import math
from decimal import Decimal

import numpy as np
import pytest

from toolkit.core.search import (
    bisect,
    bisect_elementwise,
    bisect_integers,
    bracket,
    smallest_integer_where,
    smallest_where,
)


def test_the_least_whole_number_is_found_from_wherever_it_is_sought() -> None:
    for answer in range(3, 60):
        assert {
            smallest_integer_where(lambda n, answer=answer: n >= answer, 2, start) for start in (3, 4, 10, 100)
        } == {answer}


def test_a_bracket_ends_where_the_condition_holds() -> None:
    assert bracket(lambda x: x >= 5, 0.0, 1.0) == (4.0, 8.0)
    assert bracket(lambda x: x >= 5, 0, 1, 6) == (4, 6)
    assert bracket(lambda x: x >= 5, 0.0, 7.0) == (0.0, 7.0)
    assert bracket(lambda x: x >= 5, 0, 1, 4) == (4, math.inf)


@pytest.mark.parametrize("ends", [(0.0, 2.0), (Decimal(0), Decimal(2))])
def test_the_condition_holds_at_the_second_end_and_not_at_the_first(ends: tuple[float, float]) -> None:
    low, high = bisect(lambda x: x * x >= 2, *ends, rtol=0, max_rounds=40)
    assert low * low < 2 <= high * high
    assert float(high - low) == pytest.approx(2**-39, rel=1e-6)


def test_the_condition_may_hold_below() -> None:
    low, high = bisect(lambda x: x * x <= 2, 2.0, 0.0, rtol=1e-9)
    assert high * high <= 2 < low * low
    assert low - high <= 1e-9 * high


def test_without_a_limit_it_ends_at_neighboring_floats() -> None:
    low, high = bisect(lambda x: x * x >= 2, 0.0, 2.0)
    assert high == math.nextafter(low, 2)
    assert bisect(lambda x: x > 0, 0.0, 1.0) == (0.0, 5e-324)


def test_arrays_are_narrowed_entry_by_entry() -> None:
    squares = np.array([2.0, 9.0, 0.25])
    low, high = bisect_elementwise(lambda x: x * x >= squares, np.zeros(3), np.full(3, 10.0))
    assert high == pytest.approx(np.sqrt(squares), abs=1e-15)
    assert np.all(low <= high)


@pytest.mark.parametrize("digits", [1, 3])
@pytest.mark.parametrize("answer", [1, 2, 9, 10, 777, 54_321])
def test_whole_numbers_may_be_sought_to_a_few_digits(answer: int, digits: int) -> None:
    def holds(number: int) -> bool:
        return number >= answer

    for start in (2, answer, 10 * answer):
        found = bisect_integers(holds, *bracket(holds, 0, start, 10**6), significant_digits=digits)
        assert answer <= found <= answer + max(1, found // 10**digits) - 1
    assert smallest_integer_where(holds, 0, 2, highest=answer) == answer
    assert bracket(holds, 0, 2, answer - 1) == (answer - 1, math.inf)


def test_the_least_number_is_infinite_where_there_is_none_in_reach() -> None:
    assert smallest_where(lambda x: x >= 5, 0.0, 1.0, rtol=1e-9, highest=4) == math.inf
    assert 5 <= smallest_where(lambda x: x >= 5, 0.0, 1.0, rtol=1e-9) <= 5 + 1e-8
