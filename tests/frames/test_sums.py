import threading
import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from toolkit import between
from toolkit.frames import reader
from toolkit.frames.engines import streams
from toolkit.frames.frame import Frame
from toolkit.frames.persons import Caps, Persons
from toolkit.frames.reader import cell_counts, cell_values, power_sums, product_sums
from toolkit.frames.sums import PAIR_BITS, SQUARE_BITS, Bounds, Variable, parse_grouping, step_bits

KEYS = ["a", "b", "c"]
TABLE = {
    "g": ["a", "b", None, "c", "d"] * 40,
    "x": [1.5, None, 1e300, float("nan"), -3.0, 0.25, 8.0, 9.0, 7.0, 1.0] * 20,
    "y": list(range(200)),
}


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Frame:
    """A frame that is read in thirty parts."""
    monkeypatch.setattr(streams, "BATCH_ROWS", 7)
    monkeypatch.setattr(reader.os, "cpu_count", lambda: 3)
    return Frame(pl.DataFrame(TABLE))


@pytest.mark.slow
@pytest.mark.parametrize("by", [None, {"g": KEYS}])
def test_parts_that_several_threads_add_up_are_those_of_one(parts: Frame, by: object) -> None:
    limits = Bounds.of((0, 9), SQUARE_BITS)
    x, y = (Variable(name, Bounds.of((0, 9), PAIR_BITS), None) for name in ("x", "y"))

    def found(frame: Frame) -> tuple[object, ...]:
        rows = parse_grouping(frame, None, by)
        sums = power_sums(frame, rows, Variable("x", limits, None), 2)
        return cell_counts(frame, rows).tolist(), sums, product_sums(frame, rows, (x, y))

    assert found(parts) == found(Frame(pd.DataFrame(TABLE)))


def test_sums_of_powers_are_those_of_python() -> None:
    """Of rows that have all values that are asked for, by cell."""
    x, y = (Variable(name, Bounds.of((0, 9), PAIR_BITS), None) for name in ("x", "y"))
    frame = Frame(pd.DataFrame(TABLE))
    steps = list(zip(TABLE["g"], *(one.steps(frame).tolist() for one in (x, y)), strict=True))
    for by, cells in ((None, [{*TABLE["g"]}]), ({"g": KEYS}, [{key} for key in KEYS])):
        rows = parse_grouping(frame, None, by)
        here = [[(a, b) for g, a, b in steps if g in cell and a >= 0] for cell in cells]
        assert product_sums(frame, rows, (x, y)) == [
            [sum(a**i * b**j for a, b in pairs) for i in range(3) for j in range(3)] for pairs in here
        ]
        for order in (1, 2):
            sums = [[sum(x**i for x, _ in cell) for i in range(order + 1)] for cell in here]
            assert power_sums(frame, rows, x, order) == sums


def test_a_function_of_a_row_is_called_by_one_thread_alone_and_in_order(parts: Frame) -> None:
    seen: list[tuple[int, int]] = []

    def first_half(row: dict[str, object]) -> bool:
        seen.append((threading.get_ident(), int(str(row["y"]))))
        return int(str(row["y"])) < 100

    assert cell_counts(parts, parse_grouping(parts, first_half, None)).tolist() == [100]
    assert seen == [(threading.get_ident(), place) for place in range(200)]


def test_what_is_missing_is_filled_and_nothing_else() -> None:
    limits = Bounds.of((0, 10)).with_step(1)
    frame = Frame(pd.DataFrame({"x": [0.0, -5.0, np.nan, 3.0, 99.0]}))
    for fill, steps in ((None, [0, 0, -1, 3, 10]), (Fraction(7), [0, 0, 7, 3, 10]), (Fraction(0), [0, 0, 0, 3, 10])):
        assert Variable("x", limits, fill).steps(frame).tolist() == steps


def test_few_parts_are_in_memory_at_a_time(parts: Frame) -> None:
    """A stream of 10**9 rows has thousands: no more are begun than there are processors, and one."""
    held, most, lock = 0, 0, threading.Lock()

    def given() -> Iterator[Frame]:
        nonlocal held, most
        for _ in range(40):
            with lock:
                held += 1
                most = max(most, held)
            yield parts

    def work(_part: Frame) -> int:
        nonlocal held
        time.sleep(0.001)
        with lock:
            held -= 1
        return 1

    assert sum(reader._map_batches(work, given(), parse_grouping(parts, None, None))) == 40
    assert most <= 3 + 2


def test_what_a_thread_raises_comes_out_where_it_is_awaited(parts: Frame) -> None:
    def work(_part: Frame) -> int:
        raise ValueError("of one part")

    with pytest.raises(ValueError, match="of one part"):
        list(reader._map_batches(work, parts.batches(["x"]), parse_grouping(parts, None, None)))


def test_no_thread_warns_of_what_it_computes(parts: Frame) -> None:
    """NumPy keeps for each thread what it does about a division by zero."""
    found = list(reader._map_batches(lambda _: np.ones(1) / np.zeros(1), parts.batches(["x"]), parse_grouping(parts)))
    assert all(np.isinf(one) for one in found)


def test_values_come_from_all_parts_in_their_order(parts: Frame) -> None:
    whole, words = Frame(pd.DataFrame(TABLE)), ({"y": between(10, 189)}, {"g": KEYS})
    codes, numbers = cell_values(parts, parse_grouping(parts, *words), "x", Bounds.of((0, 8)))
    assert np.array_equal(numbers, np.array(TABLE["x"], dtype=float), equal_nan=True)
    assert np.array_equal(codes, parse_grouping(whole, *words).codes(whole))
    lazy = Frame(pl.LazyFrame(TABLE))
    with pytest.raises(RuntimeError, match="rows of an engine are read batch by batch"):
        parse_grouping(lazy, *words).codes(lazy)


def test_the_order_of_a_persons_rows_does_not_decide_which_are_used() -> None:
    table = pd.DataFrame({"id": np.repeat(np.arange(40), 5), "x": np.random.default_rng(1).random(200)})
    used = []
    for frame in (Frame(table), Frame(table[::-1])):
        rows = parse_grouping(frame, None, None, Persons("id", "id", Caps(1), b"secret"))
        codes, numbers = cell_values(frame, rows, "x", Bounds.of((0, 1)))
        used.append(sorted(numbers[codes >= 0].tolist()))
    assert used[0] == used[1]
    assert len(used[0]) == 40


def test_a_cell_and_a_step_have_as_many_bits_as_it_takes_to_tell_all_apart() -> None:
    """Fewer would take two for one, and use too many rows of a person."""
    frame = Frame(pd.DataFrame({"g": [1]}))
    for number in range(1, 70):
        (width,) = parse_grouping(frame, None, {"g": range(number)}).code_widths
        assert (number - 1) // 2**width == 0 == (2**width - 1) // (2 * number)
        assert 2 ** (step_bits(number) - 1) < number + 2 <= 2 ** step_bits(number)  # one for each, for 0 and for none


@pytest.mark.parametrize("rows", [1, 4, 10, 100])
def test_sums_by_cell_are_exact_however_rows_are_taken_together(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of numbers beside and beyond what a float adds up; rows without a cell are left out."""
    monkeypatch.setattr(reader, "_BATCH_ROWS", rows)
    monkeypatch.setattr(reader, "_BLOCK_ROWS", 2 * rows)
    rng = np.random.default_rng(1)
    codes, mosts = rng.integers(-1, 3, 41), (0, 1, 2**35 - 1, 2**35, 2**62)
    terms = [(rng.integers(max(most // 2, most - 9), most, 41, endpoint=True), most) for most in mosts]
    found = reader._sums_by_cell(codes, terms, 3).tolist()
    for cell in range(3):
        inside = np.flatnonzero(codes == cell).tolist()
        sums = [sum(int(values[row]) for row in inside) if most else len(inside) for values, most in terms]
        assert found[cell] == sums
