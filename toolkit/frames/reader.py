"""Counts, sums and values of a confidential frame by cell: the one place that decides how a frame is read.

An engine that computes its rows when they are read adds up by itself (`pushed`) what it can say exactly. All else is
read in batches of rows, as tables in memory are; both give the same integers. Nothing is read with narwhals here: its
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
from toolkit.frames.persons import ordered, people_by_key, people_by_key_once
from toolkit.frames.sums import Bounds, Grouping, Variable

_ROWS = 2**18  # added up at a time

_BITS = 35  # sums over _ROWS numbers of 35 bits are floats without error

_BLOCK = 2**27  # rows whose sums stay below 2**63

_MOST_WORKERS = 8  # each has a part in memory

Whole: TypeAlias = npt.NDArray[np.object_]
"""Python's integers, which have no limit: a row per cell."""


def values_of(frame: Frame, rows: Grouping, label: Label, limits: Bounds) -> tuple[Codes, Array]:
    """The cell of each row, and its number in a column, NaN where missing; of a person's rows by their steps."""

    def read(part: Frame) -> tuple[Codes, Array]:
        numbers = part.column(label).floats()
        return rows.codes(part, *([(limits.steps(numbers), limits.span)] if rows.limited else ())), numbers

    both = [read(part) for part in frame.parts((*rows.columns, label), whole=rows.limited)]
    codes, numbers = zip((np.empty(0, dtype=np.int64), np.empty(0)), *both, strict=True)
    return (codes[1], numbers[1]) if len(both) == 1 else (np.concatenate(codes), np.concatenate(numbers))


def counted(frame: Frame, rows: Grouping) -> Steps:
    """How many rows each cell has."""
    if pushed.can(frame, rows):
        return pushed.counts(frame, rows)

    def count(part: Frame) -> Steps:
        if not rows.axes and not rows.limited:
            return np.array([np.count_nonzero(rows.where.mask(part))])
        return np.bincount(rows.codes(part) + 1, minlength=rows.cells + 1)[1:]

    parts = frame.parts(rows.columns, whole=rows.limited)
    return sum(_each(count, parts, rows), start=np.zeros(rows.cells, dtype=np.int64))


def summed(frame: Frame, rows: Grouping, variable: Variable, order: int) -> list[list[int]]:
    """Of each cell the number of values, the sum of their steps, and with order 2 that of their squares."""
    return _summed(frame, rows, [variable], [(power,) for power in range(order + 1)])


def summed_pairs(frame: Frame, rows: Grouping, pair: tuple[Variable, Variable]) -> list[list[int]]:
    """Of each cell the sums of x**i y**j up to squares, of rows that have both: 1, y, y**2, x, x y, …"""
    return _summed(frame, rows, pair, [(i, j) for i in range(3) for j in range(3)])


def _summed(
    frame: Frame, rows: Grouping, variables: Sequence[Variable], powers: Sequence[tuple[int, ...]]
) -> list[list[int]]:
    """Of each cell the sums of products of powers of the variables' steps, over rows that have all of them."""
    labels, spans = [variable.label for variable in variables], [variable.limits.span for variable in variables]
    if pushed.can(frame, rows, *labels):
        return pushed.sums(frame, rows, variables, powers)

    def of_cells(part: Frame) -> Whole:
        steps = [variable.steps(part) for variable in variables]
        codes = rows.codes(part, *zip(steps, spans, strict=True))
        present = np.logical_and.reduce([own >= 0 for own in steps])
        terms = []
        for each in powers:
            factors = [own for own, power in zip(steps, each, strict=True) for _ in range(power)]
            most = prod(span**power for span, power in zip(spans, each, strict=True))
            terms.append((reduce(mul, factors), most) if factors else (steps[0], 0))
        return _by_cell(np.where(present, codes, -1), terms, rows.cells)

    alone = rows.cells == 1 and len(variables) == 1
    work = partial(_sums_of_one_cell, rows, variables[0], len(powers)) if alone else of_cells
    each = _each(work, frame.parts((*rows.columns, *labels), whole=rows.limited), rows)
    return sum(each, start=np.zeros((rows.cells, len(powers)), dtype=object)).tolist()


def _sums_of_one_cell(rows: Grouping, variable: Variable, powers: int, part: Frame) -> Whole:
    """The sums of the only cell; rows that do not count are left out as missing values are."""
    limits, values, fill = variable.limits, part.column(variable.label).floats(), variable.fill
    if rows.is_part or rows.limited:
        filled = values if fill is None else np.where(np.isnan(values), float(fill), values)
        steps = [(limits.steps(filled), limits.span)] if rows.limited else ()
        values, fill = np.where(rows.codes(part, *steps) < 0, np.nan, filled), None
    return np.array([limits.sums(values, squares=powers == 3, fill=fill)[:powers]], dtype=object)


def _each(work: Callable[[Frame], Result], parts: Iterator[Frame], rows: Grouping) -> Iterator[Result]:
    """The result of each part, in their order: on several processors, with one part more than these in memory.

    A function of a row is called by one thread alone, and a browser has no other.
    """

    def quiet(part: Frame) -> Result:
        with np.errstate(all="ignore"):  # such a setting is that of one thread
            return work(part)

    first = list(islice(parts, 2))
    if len(first) < 2 or isinstance(rows.where, OfFunction) or sys.platform == "emscripten":
        yield from map(work, chain(first, parts))
        return
    workers = min(os.cpu_count() or 1, _MOST_WORKERS)
    with ThreadPoolExecutor(workers) as pool:
        begun: deque[Future[Result]] = deque()
        for part in chain(first, parts):
            begun.append(pool.submit(quiet, part))
            if len(begun) > workers:
                yield begun.popleft().result()
        yield from (one.result() for one in begun)


def _by_cell(codes: Codes, terms: Sequence[tuple[Steps, int]], cells: int) -> Whole:
    """Sums by cell of integers from 0 up to a most, and how many there are where that is 0.

    Few rows are added at a time, and in parts so short that a float adds them up without error.
    """
    parts = [
        (place, shift) for place, (_, most) in enumerate(terms) for shift in range(0, most.bit_length() or 1, _BITS)
    ]
    sums: Whole = np.zeros((cells, len(terms)), dtype=object)
    for block in range(0, len(codes), _BLOCK):
        totals = np.zeros((len(parts), cells), dtype=np.int64)
        for start in range(block, min(block + _BLOCK, len(codes)), _ROWS):
            bins = codes[start : start + _ROWS] + 1
            for total, (place, shift) in zip(totals, parts, strict=True):
                values, most = terms[place]
                some = values[start : start + _ROWS] if most else None
                if some is not None and most >= 2**_BITS:
                    some = (some >> shift) & (2**_BITS - 1)
                total += np.bincount(bins, weights=some, minlength=cells + 1)[1:].astype(np.int64)
        for (place, shift), total in zip(parts, totals, strict=True):
            sums[:, place] += total.astype(object) << shift
    return sums


def counted_by_table(frame: Frame, rows: Grouping, tables: Sequence[tuple[int, ...]]) -> list[Steps]:
    """How many rows each cell of each table has, of those that have a key in every column; a table is split by the
    axes whose indices it lists.
    """
    if pushed.can(frame, rows):
        return pushed.joint_counts(frame, rows, tables)
    sizes = [len(axis.labels) for axis in rows.axes]
    shapes = [tuple(sizes[axis] for axis in table) for table in tables]
    counts = [np.zeros(prod(shape), dtype=np.int64) for shape in shapes]
    for part in frame.parts(rows.columns, whole=rows.limited):
        codes = rows.codes(part)
        joint = codes[codes >= 0]
        keys = [joint // prod(sizes[axis + 1 :]) % size for axis, size in enumerate(sizes)]
        for total, table in zip(counts, tables, strict=True):
            flat = np.zeros(len(joint), dtype=np.int64)
            for axis in table:
                flat = flat * sizes[axis] + keys[axis]
            total += np.bincount(flat, minlength=len(total))
    return [total.reshape(shape) for total, shape in zip(counts, shapes, strict=True)]


def steps_or_values(frame: Frame, rows: Grouping, label: Label, limits: Bounds) -> Steps | tuple[Codes, Array]:
    """How many values of each cell are at each step, where an engine counts them; else the cell and the value of each
    row.
    """
    if pushed.can_spread(frame, rows, label, limits):
        return pushed.histogram(frame, rows, label, limits)
    return values_of(frame, rows, label, limits)


def counted_by_key(
    frame: Frame, rows: Grouping, label: Label, most: int
) -> Mapping[Any, int] | Iterable[tuple[Any, int]]:
    """Each key that occurs, with its rows, or with its people, of whom each counts in at most `most` keys."""
    if pushed.can_find(frame, rows, label):
        return pushed.people_by_key(frame, rows, label, most)

    def occurring(part: Frame) -> dict[Any, int]:
        mask, values = rows.where.mask(part), part.column(label)
        if rows.people is None:
            return people_by_key(values, mask)
        return people_by_key_once(values, mask, part, rows.people, most)

    parts = frame.parts((*rows.columns, label), whole=rows.limited)
    return ordered(item for part in parts for item in occurring(part).items())
