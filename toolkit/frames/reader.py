"""Counts, sums and values of a confidential frame by cell. Only this module decides how a frame is read.

An engine that computes its rows when they are read adds them up itself (`pushed`) where it can do so exactly. All
other tables are read in batches of rows; both methods give the same integers. Narwhals is not used here: its
expressions have no sums of 128 bits, no keyed hash of a person and no rounding of halves to even, and a cell that an
engine cannot read would show as an error.
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
from toolkit.frames.conditions import OfFunction
from toolkit.frames.frame import Frame
from toolkit.frames.persons import people_by_key, rows_by_key, sort_keys
from toolkit.frames.sums import Bounds, Grouping, Variable

# Rows that are added up at a time.
_ROWS = 2**18

# A float holds the sum of _ROWS numbers of 35 bits without error.
_BITS = 35

# Rows whose sums stay below 2**63.
_BLOCK = 2**27

# The most threads: each of them holds a batch in memory.
_MOST_WORKERS = 8

Whole: TypeAlias = npt.NDArray[np.object_]
"""Integers of Python, which do not overflow, in an array with one row per cell."""


def cell_values(frame: Frame, rows: Grouping, label: Label, limits: Bounds) -> tuple[Codes, Array]:
    """Return the cell and the value of each row, NaN where missing; `limits` decide which rows of a person are used."""

    def read(batch: Frame) -> tuple[Codes, Array]:
        numbers = batch.column(label).floats()
        return rows.codes(batch, *([(limits.steps(numbers), limits.span)] if rows.limited else ())), numbers

    arrays = [read(batch) for batch in frame.batches((*rows.columns, label), whole=rows.limited)]
    codes, numbers = zip((np.empty(0, dtype=np.int64), np.empty(0)), *arrays, strict=True)
    return (codes[1], numbers[1]) if len(arrays) == 1 else (np.concatenate(codes), np.concatenate(numbers))


def cell_counts(frame: Frame, rows: Grouping) -> Steps:
    """Count the rows of each cell."""
    if pushed.supports(frame, rows):
        return pushed.cell_counts(frame, rows)

    def count(batch: Frame) -> Steps:
        if not rows.axes and not rows.limited:
            return np.array([np.count_nonzero(rows.where.mask(batch))])
        return np.bincount(rows.codes(batch) + 1, minlength=rows.cells + 1)[1:]

    batches = frame.batches(rows.columns, whole=rows.limited)
    return sum(_each(count, batches, rows), start=np.zeros(rows.cells, dtype=np.int64))


def power_sums(frame: Frame, rows: Grouping, variable: Variable, order: int) -> list[list[int]]:
    """For each cell, return the number of values, the sum of their steps, and with order 2 the sum of squares."""
    return _sums(frame, rows, [variable], [(power,) for power in range(order + 1)])


def product_sums(frame: Frame, rows: Grouping, pair: tuple[Variable, Variable]) -> list[list[int]]:
    """For each cell, return the sums of x**i y**j up to squares, over rows that have both: 1, y, y**2, x, x y, …"""
    return _sums(frame, rows, pair, [(i, j) for i in range(3) for j in range(3)])


def _sums(
    frame: Frame, rows: Grouping, variables: Sequence[Variable], powers: Sequence[tuple[int, ...]]
) -> list[list[int]]:
    """For each cell, add up products of powers of the variables' steps, over rows in which no variable is missing."""
    labels, spans = [variable.label for variable in variables], [variable.limits.span for variable in variables]
    if pushed.supports(frame, rows, *labels):
        return pushed.sums(frame, rows, variables, powers)

    def sums_by_cell(batch: Frame) -> Whole:
        steps = [variable.steps(batch) for variable in variables]
        codes = rows.codes(batch, *zip(steps, spans, strict=True))
        present = np.logical_and.reduce([variable_steps >= 0 for variable_steps in steps])
        terms = []
        for exponents in powers:
            factors = [
                variable_steps for variable_steps, power in zip(steps, exponents, strict=True) for _ in range(power)
            ]
            most = prod(span**power for span, power in zip(spans, exponents, strict=True))
            terms.append((reduce(mul, factors), most) if factors else (steps[0], 0))
        return _by_cell(np.where(present, codes, -1), terms, rows.cells)

    alone = rows.cells == 1 and len(variables) == 1
    work = partial(_sums_of_one_cell, rows, variables[0], len(powers)) if alone else sums_by_cell
    exponents = _each(work, frame.batches((*rows.columns, *labels), whole=rows.limited), rows)
    return sum(exponents, start=np.zeros((rows.cells, len(powers)), dtype=object)).tolist()


def _sums_of_one_cell(rows: Grouping, variable: Variable, powers: int, batch: Frame) -> Whole:
    """Return the sums of a table of one cell; rows outside of it are treated as missing values."""
    limits, values, fill = variable.limits, batch.column(variable.label).floats(), variable.fill
    if rows.is_part or rows.limited:
        filled = values if fill is None else np.where(np.isnan(values), float(fill), values)
        steps = [(limits.steps(filled), limits.span)] if rows.limited else ()
        values, fill = np.where(rows.codes(batch, *steps) < 0, np.nan, filled), None
    return np.array([limits.sums(values, squares=powers == 3, fill=fill)[:powers]], dtype=object)


def _each(work: Callable[[Frame], Result], batches: Iterator[Frame], rows: Grouping) -> Iterator[Result]:
    """Iterate over the results of the batches, in order, with one more batch in memory than there are workers.

    A function of a row is called by a single thread, and a browser has only one.
    """

    def quiet(batch: Frame) -> Result:
        with np.errstate(all="ignore"):  # this setting belongs to a thread
            return work(batch)

    first = list(islice(batches, 2))
    if len(first) < 2 or isinstance(rows.where, OfFunction) or sys.platform == "emscripten":
        yield from map(work, chain(first, batches))
        return
    workers = min(os.cpu_count() or 1, _MOST_WORKERS)
    with ThreadPoolExecutor(workers) as pool:
        futures: deque[Future[Result]] = deque()
        for batch in chain(first, batches):
            futures.append(pool.submit(quiet, batch))
            if len(futures) > workers:
                yield futures.popleft().result()
        yield from (future.result() for future in futures)


def _by_cell(codes: Codes, terms: Sequence[tuple[Steps, int]], cells: int) -> Whole:
    """Add up each term by cell. A term is an array of integers and their largest possible value; 0 asks for the count.

    Integers are split into parts of 35 bits, and blocks of rows are short enough for floats to add them up exactly.
    """
    parts = [
        (index, shift) for index, (_, most) in enumerate(terms) for shift in range(0, most.bit_length() or 1, _BITS)
    ]
    sums: Whole = np.zeros((cells, len(terms)), dtype=object)
    for block in range(0, len(codes), _BLOCK):
        totals = np.zeros((len(parts), cells), dtype=np.int64)
        for start in range(block, min(block + _BLOCK, len(codes)), _ROWS):
            bins = codes[start : start + _ROWS] + 1
            for total, (index, shift) in zip(totals, parts, strict=True):
                values, most = terms[index]
                weights = values[start : start + _ROWS] if most else None
                if weights is not None and most >= 2**_BITS:
                    weights = (weights >> shift) & (2**_BITS - 1)
                total += np.bincount(bins, weights=weights, minlength=cells + 1)[1:].astype(np.int64)
        for (index, shift), total in zip(parts, totals, strict=True):
            sums[:, index] += total.astype(object) << shift
    return sums


def marginal_counts(frame: Frame, rows: Grouping, tables: Sequence[tuple[int, ...]]) -> list[Steps]:
    """Count the rows in each cell of each table, among rows that have a key in every column.

    A table is given by the indices of its axes.
    """
    if pushed.supports(frame, rows):
        return pushed.marginal_counts(frame, rows, tables)
    sizes = [len(axis.labels) for axis in rows.axes]
    shapes = [tuple(sizes[axis] for axis in table) for table in tables]
    counts = [np.zeros(prod(shape), dtype=np.int64) for shape in shapes]
    for batch in frame.batches(rows.columns, whole=rows.limited):
        codes = rows.codes(batch)
        joint = codes[codes >= 0]
        keys = [joint // prod(sizes[axis + 1 :]) % size for axis, size in enumerate(sizes)]
        for total, table in zip(counts, tables, strict=True):
            flat = np.zeros(len(joint), dtype=np.int64)
            for axis in table:
                flat = flat * sizes[axis] + keys[axis]
            total += np.bincount(flat, minlength=len(total))
    return [total.reshape(shape) for total, shape in zip(counts, shapes, strict=True)]


def histogram_or_values(frame: Frame, rows: Grouping, label: Label, limits: Bounds) -> Steps | tuple[Codes, Array]:
    """Return the counts by cell and step where an engine can count them, otherwise the cell and value of each row."""
    if pushed.supports_histogram(frame, rows, label, limits):
        return pushed.histogram(frame, rows, label, limits)
    return cell_values(frame, rows, label, limits)


def key_counts(frame: Frame, rows: Grouping, label: Label, most: int) -> Mapping[Any, int] | Iterable[tuple[Any, int]]:
    """Count each key that occurs, by rows or by people, of whom each counts in at most `most` keys."""
    if pushed.supports_keys(frame, rows, label):
        return pushed.key_counts(frame, rows, label, most)

    def occurring(batch: Frame) -> dict[Any, int]:
        mask, values = rows.where.mask(batch), batch.column(label)
        if rows.people is None:
            return rows_by_key(values, mask)
        return people_by_key(values, mask, batch, rows.people, most)

    batches = frame.batches((*rows.columns, label), whole=rows.limited)
    return sort_keys(item for batch in batches for item in occurring(batch).items())
