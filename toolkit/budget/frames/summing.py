"""Integers of each cell: how many rows it has, and sums of powers of their steps, exactly, however many there
are.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from toolkit.budget.frames.conditions import OfFunction
from toolkit.budget.frames.rows import Rows
from toolkit.central.steps import Bounds
from toolkit.core.arrays import Array, Codes, Steps
from toolkit.core.frames.frame import Frame

Found = TypeVar("Found")
Numbers = TypeVar("Numbers", Array, Steps)
Whole: TypeAlias = npt.NDArray[np.object_]
"""Python's integers, which have no limit: a row a cell."""
_ROWS, _BITS = 2**18, 35  # sums of so many numbers of so many bits are floats without error
_BLOCK = 2**27  # and of so many rows below 2**63
_MOST_WORKERS = 8  # each has a part in memory


@dataclass(frozen=True, eq=False)
class Variable:
    """A column of numbers, clamped to limits; a missing value counts as `fill`, or is left out."""

    label: Any
    limits: Bounds
    fill: Fraction | None

    def values(self, frame: Frame) -> Array:
        return frame.column(self.label).floats()

    def steps(self, frame: Frame) -> Steps:
        """0 … span, and -1 for what is left out."""
        steps = self.limits.steps(self.values(frame))
        if self.fill is None:
            return steps
        return np.where(steps < 0, int(self.limits.steps(np.array([float(self.fill)]))[0]), steps)


def values_of(frame: Frame, rows: Rows, label: Any) -> tuple[list[Array], int]:
    """The numbers of a column in each cell, NaN where missing, and how many rows there are in all."""
    parts = frame.parts((*rows.columns, label), whole=rows.limited)
    read = [(rows.codes(part), part.column(label).floats()) for part in parts]
    cells = split([(np.empty(0, dtype=np.int64), np.empty(0)), *read], rows.cells)
    return cells, sum(len(values) for _, values in read)


def split(read: Sequence[tuple[Codes, Numbers]], cells: int) -> list[Numbers]:
    """The numbers of each cell, in the order of the rows, from the codes and numbers of some rows after the
    other: at least of none.
    """
    if cells == 1:
        return [np.concatenate([numbers[codes >= 0] for codes, numbers in read])]
    codes, numbers = np.concatenate([one for one, _ in read]), np.concatenate([one for _, one in read])
    used = np.flatnonzero(codes >= 0)
    order = used[np.argsort(codes[used], kind="stable")]
    return np.split(numbers[order], np.searchsorted(codes[order], np.arange(1, cells)))


def counted(frame: Frame, rows: Rows) -> Steps:
    """How many rows each cell has."""

    def count(part: Frame) -> Steps:
        if not rows.axes and not rows.limited:
            return np.array([np.count_nonzero(rows.where.mask(part))])
        return np.bincount(rows.codes(part) + 1, minlength=rows.cells + 1)[1:]

    parts = frame.parts(rows.columns, whole=rows.limited)
    return sum(_each(count, parts, rows), start=np.zeros(rows.cells, dtype=np.int64))


def summed(frame: Frame, rows: Rows, variable: Variable, order: int) -> list[list[int]]:
    """Of each cell the number of values, the sum of their steps, and with order 2 that of their squares."""
    some = _of_one_cell if rows.cells == 1 else _of_cells
    parts = frame.parts((*rows.columns, variable.label), whole=rows.limited)
    each = _each(lambda part: some(part, rows, variable, order), parts, rows)
    return _added(each, rows.cells, order + 1)


def summed_pairs(frame: Frame, rows: Rows, pair: tuple[Variable, Variable]) -> list[list[int]]:
    """Of each cell the sums of x**i y**j up to squares, of rows that have both: 1, y, y**2, x, x y, …"""
    spans = [variable.limits.span for variable in pair]

    def some(part: Frame) -> Whole:
        x, y = (variable.steps(part) for variable in pair)
        codes, both = rows.codes(part), (x >= 0) & (y >= 0)
        powers = [(x**i * y**j, spans[0] ** i * spans[1] ** j if i + j else 0) for i in range(3) for j in range(3)]
        return _by_cell(np.where(both, codes, -1), powers, rows.cells)

    parts = frame.parts((*rows.columns, *(variable.label for variable in pair)), whole=rows.limited)
    return _added(_each(some, parts, rows), rows.cells, 9)


def _each(work: Callable[[Frame], Found], parts: Iterator[Frame], rows: Rows) -> Iterator[Found]:
    """What is found in each part, in their order: on several processors, with one part more than these in
    memory. A function of a row is called by one thread alone.
    """

    def quiet(part: Frame) -> Found:
        with np.errstate(all="ignore"):  # such a setting is that of one thread
            return work(part)

    first = list(islice(parts, 2))
    if len(first) < 2 or isinstance(rows.where, OfFunction):
        yield from map(quiet, chain(first, parts))
        return
    workers = min(os.cpu_count() or 1, _MOST_WORKERS)
    with ThreadPoolExecutor(workers) as pool:
        begun: deque[Future[Found]] = deque()
        for part in chain(first, parts):
            begun.append(pool.submit(quiet, part))
            if len(begun) > workers:
                yield begun.popleft().result()
        yield from (one.result() for one in begun)


def _of_one_cell(frame: Frame, rows: Rows, variable: Variable, order: int) -> Whole:
    """Rows that do not count are left out as missing values are."""
    values, limits, fill = variable.values(frame), variable.limits, variable.fill
    if rows.some or rows.limited:
        filled = values if fill is None else np.where(np.isnan(values), float(fill), values)
        values, fill = np.where(rows.codes(frame) < 0, np.nan, filled), None
    sums = limits.sums(values, squares=order == 2, fill=fill)
    return np.array([[sums.number, sums.first, sums.second][: order + 1]], dtype=object)


def _of_cells(frame: Frame, rows: Rows, variable: Variable, order: int) -> Whole:
    steps = variable.steps(frame)
    powers = [(steps, variable.limits.span), *([(steps**2, variable.limits.span**2)] if order == 2 else [])]
    return _by_cell(np.where(steps < 0, -1, rows.codes(frame)), [(steps, 0), *powers], rows.cells)


def _by_cell(codes: Codes, terms: Sequence[tuple[Steps, int]], cells: int) -> Whole:
    """Sums by cell of integers from 0 up to a most, and how many there are where that is 0: of so few rows at
    a time, and in parts so short, that a float adds them up without error.
    """
    parts = [
        (place, shift) for place, (_, most) in enumerate(terms) for shift in range(0, most.bit_length() or 1, _BITS)
    ]
    found: Whole = np.zeros((cells, len(terms)), dtype=object)
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
        for (place, shift), sums in zip(parts, totals, strict=True):
            found[:, place] += sums.astype(object) << shift
    return found


def _added(parts: Iterator[Whole], cells: int, terms: int) -> list[list[int]]:
    found: list[list[int]] = sum(parts, start=np.zeros((cells, terms), dtype=object)).tolist()
    return found
