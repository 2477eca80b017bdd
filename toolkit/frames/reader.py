"""Counts, sums and values of a confidential frame by cell. Only this module decides how a frame is read.

The engine of a lazy table computes the sums itself (`pushed`) if it can do so exactly. All other tables are read in
batches of rows; both methods give the same integers. Narwhals is not used here: its expressions have no 128-bit sums,
no keyed hash of a person and no rounding of halves to even, and a cell that an engine cannot read would raise an error.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial, reduce
from itertools import chain, islice
from math import prod
from operator import mul
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Codes, Label, Steps
from toolkit.core.checks import Result
from toolkit.frames import pushed
from toolkit.frames.conditions import FunctionCondition
from toolkit.frames.frame import Frame
from toolkit.frames.persons import count_people_by_key, count_rows_by_key, merge_counts
from toolkit.frames.sums import Bounds, Grouping, Variable

# The number of rows whose values are summed at a time.
_BATCH_ROWS = 2**18

# A float holds the sum of _BATCH_ROWS numbers of 35 bits exactly.
_CHUNK_BITS = 35

# The number of rows whose sums stay below 2**63.
_BLOCK_ROWS = 2**27

# The maximum number of threads; each holds a batch in memory.
_MAX_WORKERS = 8

ExactSums: TypeAlias = npt.NDArray[np.object_]
"""Python integers, which do not overflow, in an array with one row per cell."""


def cell_values(frame: Frame, grouping: Grouping, label: Label, limits: Bounds) -> tuple[Codes, Array]:
    """Return the cell and the value of each row; a missing value is NaN.

    If the rows of a person are limited, the selection uses the steps of the values between `limits`.
    """

    def read(batch: Frame) -> tuple[Codes, Array]:
        numbers = batch.column(label).floats()
        return grouping.codes(batch, *([(limits.steps(numbers), limits.span)] if grouping.has_caps else ())), numbers

    arrays = [read(batch) for batch in frame.batches((*grouping.columns, label), in_one_batch=grouping.has_caps)]
    codes, numbers = zip((np.empty(0, dtype=np.int64), np.empty(0)), *arrays, strict=True)
    return (codes[1], numbers[1]) if len(arrays) == 1 else (np.concatenate(codes), np.concatenate(numbers))


def cell_counts(frame: Frame, grouping: Grouping) -> Steps:
    """Count the rows of each cell."""
    if pushed.supports(frame, grouping):
        return pushed.cell_counts(frame, grouping)

    def count(batch: Frame) -> Steps:
        if not grouping.axes and not grouping.has_caps:
            return np.array([np.count_nonzero(grouping.where.mask(batch))])
        return np.bincount(grouping.codes(batch) + 1, minlength=grouping.n_cells + 1)[1:]

    batches = frame.batches(grouping.columns, in_one_batch=grouping.has_caps)
    return sum(_map_batches(count, batches, grouping), start=np.zeros(grouping.n_cells, dtype=np.int64))


def power_sums(frame: Frame, grouping: Grouping, variable: Variable, order: int) -> list[list[int]]:
    """Return for each cell the number of values, the sum of their steps, and with order 2 the sum of squares."""
    return _sums(frame, grouping, [variable], [(power,) for power in range(order + 1)])


def product_sums(frame: Frame, grouping: Grouping, pair: tuple[Variable, Variable], order: int = 2) -> list[list[int]]:
    """For each cell, sum x**i y**j over the rows that have both values, in the order 1, y, y**2, x, x y, …

    The powers j go from 0 to 2, and the powers i from 0 to `order`.
    """
    return _sums(frame, grouping, pair, [(i, j) for i in range(order + 1) for j in range(3)])


def _sums(
    frame: Frame, grouping: Grouping, variables: Sequence[Variable], powers: Sequence[tuple[int, ...]]
) -> list[list[int]]:
    """Sum products of powers of the variables' steps by cell, over the rows in which no variable is missing."""
    labels, spans = [variable.label for variable in variables], [variable.limits.span for variable in variables]
    if pushed.supports(frame, grouping, *labels):
        return pushed.sums(frame, grouping, variables, powers)

    def sums_by_cell(batch: Frame) -> ExactSums:
        steps = [variable.steps(batch) for variable in variables]
        codes = grouping.codes(batch, *zip(steps, spans, strict=True))
        present = np.logical_and.reduce([variable_steps >= 0 for variable_steps in steps])
        terms = []
        for exponents in powers:
            factors = [
                variable_steps for variable_steps, power in zip(steps, exponents, strict=True) for _ in range(power)
            ]
            max_value = prod(span**power for span, power in zip(spans, exponents, strict=True))
            terms.append((reduce(mul, factors), max_value) if factors else (steps[0], 0))
        return _sums_by_cell(np.where(present, codes, -1), terms, grouping.n_cells)

    has_one_cell = grouping.n_cells == 1 and len(variables) == 1
    work = partial(_sums_of_one_cell, grouping, variables[0], len(powers)) if has_one_cell else sums_by_cell
    batches = frame.batches((*grouping.columns, *labels), in_one_batch=grouping.has_caps)
    batch_sums = _map_batches(work, batches, grouping)
    return sum(batch_sums, start=np.zeros((grouping.n_cells, len(powers)), dtype=object)).tolist()


def _sums_of_one_cell(grouping: Grouping, variable: Variable, n_powers: int, batch: Frame) -> ExactSums:
    """Return the sums of a table with one cell; values of rows outside the cell are treated as missing."""
    limits, values, fill = variable.limits, batch.column(variable.label).floats(), variable.fill
    if grouping.may_omit_rows or grouping.has_caps:
        filled = values if fill is None else np.where(np.isnan(values), float(fill), values)
        steps = [(limits.steps(filled), limits.span)] if grouping.has_caps else ()
        values, fill = np.where(grouping.codes(batch, *steps) < 0, np.nan, filled), None
    return np.array([limits.sums(values, squares=n_powers == 3, fill=fill)[:n_powers]], dtype=object)


def _map_batches(work: Callable[[Frame], Result], batches: Iterator[Frame], grouping: Grouping) -> Iterator[Result]:
    """Iterate over the results of the batches, in order, with one more batch in memory than there are workers.

    If the condition is a function of a row, a single thread calls it. A browser has only one thread.
    """

    def work_quietly(batch: Frame) -> Result:
        with np.errstate(all="ignore"):  # NumPy keeps this setting per thread
            return work(batch)

    first = list(islice(batches, 2))
    if len(first) < 2 or isinstance(grouping.where, FunctionCondition) or sys.platform == "emscripten":
        yield from map(work, chain(first, batches))
        return
    workers = min(os.cpu_count() or 1, _MAX_WORKERS)
    with ThreadPoolExecutor(workers) as pool:
        futures: deque[Future[Result]] = deque()
        for batch in chain(first, batches):
            futures.append(pool.submit(work_quietly, batch))
            if len(futures) > workers:
                yield futures.popleft().result()
        yield from (future.result() for future in futures)


def _sums_by_cell(codes: Codes, terms: Sequence[tuple[Steps, int]], n_cells: int) -> ExactSums:
    """Sum each term by cell. A term is an array of integers with their largest possible value; 0 requests the count.

    Integers are split into parts of 35 bits, and blocks of rows are short enough for floats to sum them exactly.
    """
    parts = [
        (index, shift)
        for index, (_, max_value) in enumerate(terms)
        for shift in range(0, max_value.bit_length() or 1, _CHUNK_BITS)
    ]
    sums: ExactSums = np.zeros((n_cells, len(terms)), dtype=object)
    for block in range(0, len(codes), _BLOCK_ROWS):
        totals = np.zeros((len(parts), n_cells), dtype=np.int64)
        for start in range(block, min(block + _BLOCK_ROWS, len(codes)), _BATCH_ROWS):
            bins = codes[start : start + _BATCH_ROWS] + 1
            for total, (index, shift) in zip(totals, parts, strict=True):
                values, max_value = terms[index]
                weights = values[start : start + _BATCH_ROWS] if max_value else None
                if weights is not None and max_value >= 2**_CHUNK_BITS:
                    weights = (weights >> shift) & (2**_CHUNK_BITS - 1)
                total += np.bincount(bins, weights=weights, minlength=n_cells + 1)[1:].astype(np.int64)
        for (index, shift), total in zip(parts, totals, strict=True):
            sums[:, index] += total.astype(object) << shift
    return sums


def marginal_counts(frame: Frame, grouping: Grouping, tables: Sequence[tuple[int, ...]]) -> list[Steps]:
    """Count the rows in each cell of each table, among rows that have a key in every column.

    Each table is a tuple of the indices of its axes.
    """
    if pushed.supports(frame, grouping):
        return pushed.marginal_counts(frame, grouping, tables)
    sizes = [len(axis.labels) for axis in grouping.axes]
    shapes = [tuple(sizes[axis] for axis in table) for table in tables]
    counts = [np.zeros(prod(shape), dtype=np.int64) for shape in shapes]
    for batch in frame.batches(grouping.columns, in_one_batch=grouping.has_caps):
        codes = grouping.codes(batch)
        joint = codes[codes >= 0]
        keys = [joint // prod(sizes[axis + 1 :]) % size for axis, size in enumerate(sizes)]
        for total, table in zip(counts, tables, strict=True):
            flat = np.zeros(len(joint), dtype=np.int64)
            for axis in table:
                flat = flat * sizes[axis] + keys[axis]
            total += np.bincount(flat, minlength=len(total))
    return [total.reshape(shape) for total, shape in zip(counts, shapes, strict=True)]


def histogram_or_values(frame: Frame, grouping: Grouping, label: Label, limits: Bounds) -> Steps | tuple[Codes, Array]:
    """Return the counts by cell and step if an engine can count them, otherwise the cell and value of each row."""
    if pushed.supports_histogram(frame, grouping, label, limits):
        return pushed.histogram(frame, grouping, label, limits)
    return cell_values(frame, grouping, label, limits)


def key_counts(
    frame: Frame, grouping: Grouping, label: Label, max_keys: int
) -> Mapping[Any, int] | Iterable[tuple[Any, int]]:
    """Count the rows or people with each key that occurs; a person counts in at most `max_keys` keys."""
    if pushed.supports_keys(frame, grouping, label):
        return pushed.key_counts(frame, grouping, label, max_keys)

    def occurring(batch: Frame) -> dict[Any, int]:
        mask, values = grouping.where.mask(batch), batch.column(label)
        if grouping.people is None:
            return count_rows_by_key(values, mask)
        return count_people_by_key(values, mask, batch, grouping.people, max_keys)

    batches = frame.batches((*grouping.columns, label), in_one_batch=grouping.has_caps)
    return merge_counts(item for batch in batches for item in occurring(batch).items())
