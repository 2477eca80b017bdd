from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.slowly import each
from tests.work import calls
from toolkit.frames import sums as module
from toolkit.frames.sums import _BATCH_ROWS, _COUNT_SHIFT, _PACKED_ROWS, SQUARE_BITS, SUM_BITS, Bounds, StepSums

WHOLE = (0, 80)
LIMITS = [
    WHOLE,
    (-1, 1),
    (-5.5, 80),
    ("1/3", "2/3"),
    (1024, 1024 + 4 * np.spacing(1024.0)),
    (10**9, 10**9 + 1),
    (-3, -1),
    (1e15, 2e15),
]
extremes = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 80.0, np.nextafter(80, 0), np.inf, -np.inf, np.nan, 5e-324, 1e308, -1e308, 2.0**53]
)
columns = st.lists(st.one_of(extremes, st.floats(), st.floats(-100, 100)), min_size=0, max_size=30)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((1, 0), "must be below"), ((1, 1), "must be below"), ((0, np.inf), "finite"), ((np.nan, 1), "finite"),
        (5, "two finite"), ((0, 1, 2), "two finite"), ((0, True), "two finite"),
    ],
)  # fmt: skip
def test_bounds_that_bound_nothing_are_refused(bounds: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Bounds.of(bounds)


@pytest.mark.parametrize("bounds", [(0, 1e-320), (0, 9.9e-141), (-1.01e140, 0), (0, 1e300), (10**20, 10**20 + 1)])
def test_bounds_that_no_grid_of_floats_can_hold_are_rejected(bounds: object) -> None:
    """(0, 1e-320) divided by zero, for some data only."""
    with pytest.raises(ValueError, match="must lie within ±1e140"):
        Bounds.of(bounds)


@each(
    bounds=[*LIMITS, (0, 1e-140), (-1e140, 1e140), (1e139, 1e140), (16, 17), (7e5, 7e5 + 1)],
    bits=[SUM_BITS, SQUARE_BITS],
)
def test_no_value_leaves_the_steps_of_the_limits(bounds: object, bits: int) -> None:
    box = Bounds.of(bounds, bits)
    low, high = (float(limit) for limit in (box.low, box.high))
    values = np.array(
        [low, np.nextafter(low, high), (low + high) / 2, np.nextafter(high, low), high, -np.inf, np.inf, 1e308, np.nan]
    )
    steps = box.steps(values)
    assert steps[:5].tolist() == sorted(steps[:5].tolist())
    assert (steps[0], steps[4], steps[5], steps[6], steps[7], steps[8]) == (0, box.span, 0, box.span, box.span, -1)
    assert 2**bits - 2 <= box.span <= 2 ** (bits + 1) + 2


@pytest.mark.slow
@given(columns, st.sampled_from(LIMITS), st.sampled_from([SUM_BITS, SQUARE_BITS]))
def test_sums_are_those_of_the_steps_in_exact_arithmetic(values: list[float], bounds: object, bits: int) -> None:
    box = Bounds.of(bounds, bits)
    steps = [step for step in box.steps(np.array(values, dtype=float)).tolist() if step >= 0]
    found = box.sums(np.array(values, dtype=float), squares=bits == SQUARE_BITS)
    assert found == StepSums(len(steps), sum(steps), sum(step**2 for step in steps) if bits == SQUARE_BITS else 0)


@pytest.mark.slow
@given(columns, st.sampled_from(LIMITS))
def test_a_step_is_the_nearest_one_to_the_value(values: list[float], bounds: object) -> None:
    """Within half a step, and what the floating-point value of the lower limit is off where that is no double."""
    box = Bounds.of(bounds, SQUARE_BITS)
    present = [value for value in values if not np.isnan(value)]
    for value, step in zip(present, box.steps(np.array(present)).tolist(), strict=True):
        clamped = min(
            max(Fraction(value) if np.isfinite(value) else Fraction(10**400 if value > 0 else -(10**400)), box.low),
            box.high,
        )
        slack = Fraction(np.spacing(max(abs(float(box.low)), abs(float(box.high))))) * 2
        assert abs((box.low_steps + step) * box.step - clamped) <= box.step / 2 + slack


def test_a_value_moves_by_at_most_a_step_from_an_uneven_lower_limit() -> None:
    """The lower limit is not a whole number of steps. Bounds so far from zero that the lower limit is subtracted
    first; half a step for the value, and half for the limit.
    """
    for bounds in (("101/3", "104/3"), ("-104/3", "-101/3"), (100.1, 101.3)):
        box = Bounds.of(bounds)
        assert abs(box.low) / box.step > 2**36
        assert (box.low / box.step).denominator > 1
        values = np.linspace(float(box.low), float(box.high), 1001)[1:-1]
        for value, step in zip(values.tolist(), box.steps(values).tolist(), strict=True):
            assert abs((box.low_steps + step) * box.step - Fraction(value)) <= box.step * (1 + Fraction(1, 1000))


def test_a_missing_value_is_left_out_or_counts_as_what_is_said() -> None:
    box = Bounds.of((0, 1), SQUARE_BITS)
    column = np.array([0.25, np.nan, 1.0, np.nan])
    quarter, whole = box.steps(np.array([0.25, 1.0])).tolist()
    assert box.sums(column, squares=True) == StepSums(2, quarter + whole, quarter**2 + whole**2)
    assert box.sums(column, squares=True, fill=0.25) == StepSums(4, 3 * quarter + whole, 3 * quarter**2 + whole**2)


def test_an_infinite_value_is_clamped_and_not_taken_for_a_missing_one() -> None:
    box = Bounds.of((-1, 3), SQUARE_BITS)
    (fill,) = box.steps(np.array([0.5])).tolist()
    column = np.array([np.inf, np.nan, -np.inf])
    assert box.sums(column, squares=True) == StepSums(2, box.span, box.span**2)
    assert box.sums(column, squares=True, fill=0.5) == StepSums(3, box.span + fill, box.span**2 + fill**2)


def test_no_sum_overflows_across_many_rows() -> None:
    """More rows than are added up at a time, all at the far end."""
    rows = 2 * _BATCH_ROWS + 3
    for bounds in (WHOLE, (10**9, 10**9 + 1), (-80, 0)):
        box = Bounds.of(bounds)
        assert box.sums(np.full(rows, 1e300)).total == rows * box.span
        assert box.sums(np.full(rows, -1e300)).total == 0
    coarse = Bounds.of((0, 1), SQUARE_BITS)
    assert coarse.sums(np.ones(rows), squares=True).total_of_squares == rows * coarse.span**2
    assert 2**18 * 2**18 * _BATCH_ROWS < 2**63
    with pytest.raises(ValueError, match="squares need a coarser grid"):
        Bounds.of((0, 1)).sums(np.ones(3), squares=True)


@pytest.mark.slow
@each(bounds=[WHOLE, (10**9, 10**9 + 1), ("1/3", "2/3")], missing=[0, 1, 2**14, _BATCH_ROWS + 1, 2 * _BATCH_ROWS + 3])
def test_missing_values_and_steps_are_told_apart_in_one_sum(bounds: object, missing: int) -> None:
    """Counted above 2**48, where the steps of 2**14 rows, all at the far end, do not reach."""
    rows = 2 * _BATCH_ROWS + 3
    column = np.where(np.arange(rows) < missing, np.nan, 1e300)
    for bits in (SUM_BITS, SQUARE_BITS):
        box = Bounds.of(bounds, bits)
        found, here = box.sums(column, squares=bits == SQUARE_BITS), rows - missing
        assert found == StepSums(here, here * box.span, here * box.span**2 if bits == SQUARE_BITS else 0)
        assert _PACKED_ROWS * box.span < 2**_COUNT_SHIFT
        assert _PACKED_ROWS * 2**_COUNT_SHIFT < 2**63


def test_every_bit_pattern_of_a_missing_value_counts_as_one() -> None:
    """Signs, signaling ones and payloads: bits of a float with the largest exponent that are no infinity."""
    payloads = [1, 2**48, 2**51 - 1, 2**51, 2**51 + 12345, 2**52 - 1]
    bits = [(sign << 63) | (0x7FF << 52) | payload for sign in (0, 1) for payload in payloads]
    column = np.concatenate([np.array(bits, dtype=np.uint64).view(np.float64), [0.25, 80.0]])
    for limits in LIMITS:
        box = Bounds.of(limits, SQUARE_BITS)
        low, high = box.steps(column[-2:]).tolist()
        assert box.steps(column).tolist() == [-1] * len(bits) + [low, high]
        assert box.sums(column, squares=True) == StepSums(2, low + high, low**2 + high**2)


def test_signalling_numbers_and_raising_settings_make_no_difference() -> None:
    signalling = np.array([0x7FF0000000000001, 0x3FF0000000000000], dtype=np.uint64).view(np.float64)
    with np.errstate(all="raise"):
        assert Bounds.of((0, 1)).sums(signalling).n_values == 1
        assert Bounds.of((0, 1)).steps(signalling)[0] == -1


def test_a_step_may_be_chosen() -> None:
    box = Bounds.of((18, 100)).with_step(1)
    assert box.span == 82
    assert box.steps(np.array([18.0, 18.4, 99.6, 120.0])).tolist() == [0, 0, 82, 82]
    tenth = Bounds.of((0, 1000)).with_step("1/10")
    assert tenth.steps(np.array([0.04, 0.06, 999.96])).tolist() == [0, 1, 10_000]
    for step in (2, 3, 7, 6, "1/4", "3/4", "7/8", "1/3", "1/7", "2/3"):  # powers of two go another way
        fine = Bounds.of((0, 84)).with_step(step)
        assert fine.steps(np.arange(fine.span + 1) * float(fine.step)).tolist() == list(range(fine.span + 1))
    far = Bounds.of((10, 20))
    assert (far.with_step(10).span, far.with_step(Fraction(10, 2**20)).span) == (1, 2**20)
    for step in (Fraction(10, 2**20 + 1), 10.1):
        with pytest.raises(ValueError, match="`step` must be at least"):
            far.with_step(step)


class Unmasked(np.ndarray):
    """No mask selects from it: how long that takes depends on the mask."""

    def __getitem__(self, key):
        assert not isinstance(key, np.ndarray)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        assert not isinstance(key, np.ndarray)
        super().__setitem__(key, value)


# operations whose work depends on the number of values alone
EVEN = ["add", "arange", "array", "clip", "dot", "float64", "fmax", "int64", "minimum", "multiply", "subtract"]


@pytest.mark.parametrize("verb", ["sums", "steps"])
def test_how_many_values_are_missing_or_clamped_changes_no_operation(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of them at random made it three times as slow, as NumPy's masked copy goes from run to run."""
    rng, limits = np.random.default_rng(5), Bounds.of(WHOLE, SUM_BITS)
    values = rng.random(2 * _BATCH_ROWS + 1) * 80
    half = rng.random(len(values)) < 0.5
    tables = [values, np.where(half, np.nan, values), np.where(half, 1e9 * (rng.random(len(values)) - 0.5), values)]
    numpy = SimpleNamespace(**{name: getattr(np, name) for name in EVEN})
    numpy.empty = lambda *size, **kind: np.empty(*size, **kind).view(Unmasked)
    monkeypatch.setattr(module, "np", numpy)
    getattr(limits, verb)(values)  # what is computed once
    assert len({calls(lambda table=table: getattr(limits, verb)(table)) for table in tables}) == 1
