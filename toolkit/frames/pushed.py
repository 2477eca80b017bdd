"""Counts and sums that the engine of a table computes: the result is at most as large as the public table, never as
large as the data.

Rows are filtered, assigned to public cells and to steps between public bounds, limited to the caps of each person, and
added up, all in expressions of the engine; the integers equal those of a table in memory. A column of text or whole
numbers is grouped as it is, and its groups are then looked up among the public keys; ranges are found by bisection.
Some tables are read in batches instead, because engines cannot express them exactly: conditions that are functions of
a row, keys of more than 15 digits, people who are not named by whole numbers, dates or text, and more than 2**16 keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from math import inf, nextafter, prod
from operator import and_, mul, or_
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Label, Steps
from toolkit.frames.conditions import OfColumns
from toolkit.frames.engines.column import Kind
from toolkit.frames.engines.streams import TAG_BITS, EngineTable, Rows, Term
from toolkit.frames.frame import Frame
from toolkit.frames.persons import Persons, key_of
from toolkit.frames.sums import Axis, Bounds, Cuts, Grouping, Variable
from toolkit.frames.values import MISSING, OTHER, Keys, Range, SpecialValue

_MOST_KEYS, _MOST_RANGES = 2**16, 2**10
# The most steps of a histogram, over all cells.
_MOST_STEPS = 2**24
# The most bits of a person's cell, alone or beside steps of 34 bits; the other bits hold at least 8 of the random draw.
_MOST_BITS = (54, 20)


def supports(frame: Frame, rows: Grouping, *labels: Label) -> bool:
    """Whether the engine can select the rows, compute their cells, and read these columns as numbers."""
    source, people = frame.source, rows.people
    if source is None or not isinstance(rows.where, OfColumns):
        return False
    numbers = [frame.column(label).kind for label in labels]
    names = people is None or (_names_people(frame, people) and sum(rows.widths) <= _MOST_BITS[bool(labels)])
    return (
        names
        and all(kind.name in ("number", "truth") or (kind.name == "whole" and not kind.long) for kind in numbers)
        and all(_supports_axis(frame, source, axis) for axis in (*rows.where.parts, *rows.axes))
    )


def supports_keys(frame: Frame, rows: Grouping, label: Label) -> bool:
    """Whether the engine can count the rows or people of each key that occurs in a column."""
    column = frame.column(label)
    hashable = rows.people is None or column.kind.name != "number"
    return supports(frame, rows) and hashable and frame.source is not None and frame.source.supports(column)


def supports_histogram(frame: Frame, rows: Grouping, label: Label, limits: Bounds) -> bool:
    """Whether the engine can compute a histogram over all steps of each cell."""
    return rows.cells * (limits.span + 1) <= _MOST_STEPS and supports(frame, rows, label)


def _names_people(frame: Frame, people: Persons) -> bool:
    kind = frame.column(people.label).kind
    return kind.name in ("whole", "text", "day") and not kind.long


def _supports_axis(frame: Frame, source: EngineTable, axis: Axis) -> bool:
    column = frame.column(axis.label)
    if not isinstance(axis, Keys):
        return column.kind.name in ("number", "whole", "truth") and len(axis.labels) <= _MOST_RANGES
    ranges = sum(isinstance(item, Range) for item in axis.items)
    few = len(axis.items) <= (_MOST_RANGES if ranges else _MOST_KEYS)
    return few and source.supports(column, days=axis.days)


def cell_counts(frame: Frame, rows: Grouping) -> Steps:
    """Count the rows of each cell."""
    table = _aggregate(frame, rows, (), {"n": _source(frame).count()})
    return _by_cell(table, "n", rows.cells).astype(np.int64)


def sums(
    frame: Frame, rows: Grouping, variables: Sequence[Variable], powers: Sequence[tuple[int, ...]]
) -> list[list[int]]:
    """For each cell, add up products of powers of the variables' steps, over rows in which no variable is missing."""
    source = _source(frame)
    steps = [source.term(f"s{index}") for index in range(len(variables))]
    spans = [variable.limits.span for variable in variables]
    present = reduce(and_, [~source.missing(step) for step in steps])
    terms, shifts = dict[str, Term](), list[tuple[int, int, str]]()
    for index, each in enumerate(powers):
        factors = [step for step, power in zip(steps, each, strict=True) for _ in range(power)]
        most = prod(span**power for span, power in zip(spans, each, strict=True))
        term = reduce(mul, factors) if factors else source.constant(1)
        term = term if len(variables) == 1 and factors else source.case(present, term)
        # Counting a term skips the rows in which it is missing.
        counted_term = steps[0] if len(variables) == 1 else term
        for shift, total in (source.sums(term, most) if factors else {0: source.count(counted_term)}).items():
            terms[f"t{index}_{shift}"] = total
            shifts.append((index, shift, f"t{index}_{shift}"))
    table = _aggregate(
        frame, rows, [(variable.label, variable.limits, variable.filled) for variable in variables], terms
    )
    totals = np.zeros((rows.cells, len(powers)), dtype=object)
    for index, shift, name in shifts:
        totals[:, index] += _by_cell(table, name, rows.cells) << shift
    return totals.tolist()


def histogram(frame: Frame, rows: Grouping, label: Label, limits: Bounds) -> Steps:
    """Count the values at each step, in an array of cells by steps."""
    terms = {"n": _source(frame).count()}
    table = _aggregate(frame, rows, [(label, limits, None)], terms, by=("s0",), present=True)
    numbers, codes = np.zeros(rows.cells * (limits.span + 1), dtype=np.int64), table.get("code", np.zeros(1, int))
    numbers[codes.astype(np.int64) * (limits.span + 1) + table["s0"].astype(np.int64)] = table["n"].astype(np.int64)
    return numbers.reshape(rows.cells, -1)


def marginal_counts(frame: Frame, rows: Grouping, tables: Sequence[tuple[int, ...]]) -> list[Steps]:
    """Count the rows in each cell of each table, among rows that have a key in every column."""
    source, tables_counts = _source(frame), []
    sizes = [len(axis.labels) for axis in rows.axes]
    for table_axes in tables:
        shape = tuple(sizes[axis] for axis in table_axes)
        table = _aggregate(frame, rows, (), {"n": source.count()}, axes=table_axes)
        tables_counts.append(_by_cell(table, "n", prod(shape)).astype(np.int64).reshape(shape))
    return tables_counts


def key_counts(frame: Frame, rows: Grouping, label: Label, most: int) -> Iterator[tuple[Any, int]]:
    """Iterate over the sorted keys with their numbers of rows, or of people who count in at most `most` keys each."""
    source, column, people = _source(frame), frame.column(label), rows.people
    table, names = _select(frame, rows, (label,))
    terms = {"k": source.key(source.term(names[str(label)]), column)}
    if people is not None:
        terms["person"] = source.key(source.term(names[str(people.label)]), frame.column(people.label))
    table = source.with_columns(_filter(frame, rows, table, names), terms, only=True)
    table = source.filter(table, reduce(and_, [~source.missing(source.term(name)) for name in terms]))
    if people is not None:
        table = source.group_by(table, list(terms), {})
        tags = {"tag": _person_tag(frame, people), "other": source.tag(source.term("k"), column, people.key)}
        table = source.with_columns(table, tags)
        draw, _ = people.draws(source.term("tag"), source.term("other"), source.constant(0), source)
        table = source.with_rank(source.with_columns(table, {"draw": draw}), ["person"], ["draw", "k"], "rank")
        table = source.filter(table, source.term("rank") <= source.constant(most))
    groups = source.group_by(table, ["k"], {"n": source.count()})
    for value, number in source.stream(groups, "k", "n"):
        key = key_of(column.kind.name, value)
        if key is not None:
            yield key, int(number)


def _source(frame: Frame) -> EngineTable:
    assert frame.source is not None
    return frame.source


def _by_cell(table: Mapping[str, npt.NDArray[Any]], name: str, cells: int) -> npt.NDArray[Any]:
    """Return a column by cell, with 0 for a cell without rows."""
    by_cell = np.zeros(cells, dtype=object)
    by_cell[table.get("code", np.zeros(1, dtype=int)).astype(np.int64)] = table[name].astype(object)
    return by_cell


def _select(frame: Frame, rows: Grouping, labels: Sequence[Label]) -> tuple[Rows, dict[str, str]]:
    """Select the columns that are read, under generated names, and return these names by label."""
    names = {label: f"x{index}" for index, label in enumerate(dict.fromkeys(map(str, (*rows.columns, *labels))))}
    return _source(frame).select({name: label for label, name in names.items()}), names


def _filter(frame: Frame, rows: Grouping, table: Rows, names: Mapping[str, str]) -> Rows:
    """Select the rows that meet the condition."""
    source, parts = _source(frame), []
    assert isinstance(rows.where, OfColumns)
    for keys in rows.where.parts:
        key = source.key(source.term(names[str(keys.label)]), frame.column(keys.label), days=keys.days)
        both = list(zip(keys.items, _stored_values(keys, frame), strict=True))
        either = [
            (key >= source.constant(stored[0])) & (key <= source.constant(stored[1]))
            for item, stored in both
            if isinstance(item, Range)
        ]
        values = [stored for item, stored in both if not isinstance(item, Range | SpecialValue)]
        either += [source.is_in(key, values)] if values else []
        either += [source.missing(key)] if MISSING in keys.items else []
        parts.append(reduce(or_, either))
    return source.filter(table, reduce(and_, parts)) if parts else table


def _stored_values(keys: Keys, frame: Frame) -> list[Any]:
    """Return the values in the form of `EngineTable.key`, in which truth values are integers."""
    if frame.column(keys.label).kind.name != "truth":
        return list(keys.stored)
    return [value if isinstance(value, SpecialValue) else int(value) for value in keys.stored]


def _aggregate(
    frame: Frame,
    rows: Grouping,
    columns: Sequence[tuple[Label, Bounds, int | None]],
    terms: Mapping[str, Term],
    *,
    by: Sequence[str] = (),
    axes: Sequence[int] | None = None,
    present: bool = False,
) -> dict[str, npt.NDArray[Any]]:
    """Compute terms by the cells of some or all axes and by the columns `by`; `present` leaves out missing values."""
    source, axes = _source(frame), range(len(rows.axes)) if axes is None else axes
    table, names = _select(frame, rows, [label for label, *_ in columns])
    table = _with_terms(frame, rows, _filter(frame, rows, table, names), names, columns)
    if present and rows.people is None:
        table = source.filter(table, ~source.missing(source.term("s0")))
    lookups = [f"k{index}" for index, axis in enumerate(rows.axes) if _is_lookup(axis)]
    if rows.people is not None:
        table = _limited(frame, rows, _with_codes(frame, rows, table, [*_step_names(columns), "person"], None), columns)
        table = source.filter(table, ~source.missing(source.term("s0"))) if present else table
        table = source.with_columns(
            table, {"code": _cell_code(source, rows, axes), **_unchanged(source, _step_names(columns))}, only=True
        )
    elif lookups:
        keys = [f"{'k' if _is_lookup(axis) else 'c'}{index}" for index, axis in enumerate(rows.axes)]
        table = source.group_by(table, [*keys, *by], terms)
        direct = all(_is_lookup(axis) and OTHER not in axis.items for axis in rows.axes) and len(axes) == len(rows.axes)
        table = _with_codes(frame, rows, table, [*by, *terms], axes, groups=not direct and len(axes) > 0)
        # Where each key has its own cell, the groups are the cells, and nothing needs to be added up again.
        if direct:
            return source.fetch(table)
        terms = {name: source.total(name) for name in terms}
    else:
        table = _with_codes(frame, rows, table, _step_names(columns), axes)
    result = source.fetch(source.group_by(table, [*(["code"] if len(axes) else []), *by], terms))
    in_cell = result["code"] >= 0 if len(axes) else slice(None)
    return {name: numbers[in_cell] for name, numbers in result.items()}


def _step_names(columns: Sequence[Any]) -> list[str]:
    return [f"s{index}" for index in range(len(columns))]


def _unchanged(source: EngineTable, names: Sequence[str]) -> dict[str, Term]:
    return {name: source.term(name) for name in names}


def _is_lookup(axis: Axis) -> TypeGuard[Keys]:
    """Whether an axis consists of values alone, which are looked up; otherwise its numbers are bisected."""
    return isinstance(axis, Keys) and not any(isinstance(item, Range) for item in axis.items)


def _with_terms(
    frame: Frame,
    rows: Grouping,
    table: Rows,
    names: Mapping[str, str],
    columns: Sequence[tuple[Label, Bounds, int | None]],
) -> Rows:
    """Add the columns k0, … of keys to look up, or c0, … of codes; s0, … of steps; and that of the person."""
    source, terms, codes = _source(frame), dict[str, Term](), dict[str, Term]()
    for index, axis in enumerate(rows.axes):
        column, term = frame.column(axis.label), source.term(names[str(axis.label)])
        days = isinstance(axis, Keys) and axis.days
        terms[f"k{index}"] = (
            source.key(term, column, days=days) if isinstance(axis, Keys) else source.number(term, column)
        )
        if not _is_lookup(axis):
            codes[f"c{index}"] = _bisected(source, source.term(f"k{index}"), axis, column.kind)
    for index, (label, limits, fill) in enumerate(columns):
        ends = float(limits.low), float(limits.high)
        terms[f"v{index}"] = source.clamped(source.term(names[str(label)]), frame.column(label), *ends)
        codes[f"s{index}"] = _step_term(source, source.term(f"v{index}"), limits, fill)
    if rows.people is not None:
        person = rows.people.label
        terms["person"] = source.key(source.term(names[str(person)]), frame.column(person))
    if not terms:
        return table
    table = source.with_columns(table, terms, only=True)
    same = _unchanged(source, [name for name in terms if not name.startswith("v")])
    return source.with_columns(table, same | codes, only=True) if codes else table


def _step_term(source: EngineTable, clamped: Term, limits: Bounds, fill: int | None) -> Term:
    """Scale and round clamped values to steps, by the same operations in the same order as `Bounds.steps`."""
    start, rate, first = limits.factors
    scaled = (clamped - source.constant(start) if start else clamped) * source.constant(rate)
    step = source.rounded(scaled) - source.constant(first) if first else source.rounded(scaled)
    return step if fill is None else source.case(source.missing(step), source.constant(fill), step)


def _bisected(source: EngineTable, key: Term, axis: Axis, kind: Kind) -> Term:
    """Find the code of a number by bisection; -1 for a number without a code."""
    numbers, codes = _thresholds(axis, kind) if isinstance(axis, Keys) else axis.cuts
    absent, other = _special_codes(axis)
    codes = [other if code < 0 else code for code in codes]

    def among(low: int, high: int) -> Term:
        if low == high:
            return source.constant(codes[low])
        middle = (low + high) // 2
        return source.case(key < source.constant(numbers[middle]), among(low, middle), among(middle + 1, high))

    return source.case(source.missing(key), source.constant(absent), among(0, len(numbers)))


def _thresholds(keys: Keys, kind: Kind) -> Cuts:
    """Return the numbers at which values and ranges begin and end; no two of them overlap."""
    ends = []
    for index, (item, stored) in enumerate(zip(keys.items, keys.stored, strict=True)):
        if not isinstance(item, SpecialValue):
            low, high = stored if isinstance(item, Range) else (stored, stored)
            ends.append((low, high, index))
    numbers, codes = list[Any](), [-1]
    for low, high, index in sorted(ends):
        if numbers and numbers[-1] == low:
            codes[-1] = index
        else:
            numbers.append(low)
            codes.append(index)
        if kind.name == "number" or high < kind.limits[1]:
            numbers.append(nextafter(high, inf) if kind.name == "number" else high + 1)
            codes.append(-1)
    return numbers, codes


def _special_codes(axis: Axis) -> tuple[int, int]:
    """Return the codes of missing values and of values that are not among the keys."""
    items = axis.items if isinstance(axis, Keys) else ()
    other = items.index(OTHER) if OTHER in items else -1
    return items.index(MISSING) if MISSING in items else other, other


def _with_codes(
    frame: Frame, rows: Grouping, table: Rows, more: Sequence[str], axes: Sequence[int] | None, *, groups: bool = False
) -> Rows:
    """Look up the codes c0, … of keys, and select the rows that have a code in each column.

    With `axes` the column `code` holds the cell in these axes; otherwise the columns of codes remain. Rows that are
    `groups` are all kept, with code -1 for groups outside of the table: engines would push a condition on groups down
    to every row.
    """
    source, codes = _source(frame), dict[str, Term]()
    for index, axis in enumerate(rows.axes):
        codes[f"c{index}"] = source.term(f"c{index}")
        if isinstance(axis, Keys) and _is_lookup(axis):
            codes_by_value = [
                (value, code)
                for code, value in enumerate(_stored_values(axis, frame))
                if not isinstance(value, SpecialValue)
            ]
            key, (absent, other) = source.term(f"k{index}"), _special_codes(axis)
            code_or_rest = source.case(source.missing(key), source.constant(absent), source.constant(other))
            if codes_by_value:
                table = source.join_codes(table, f"k{index}", codes_by_value, f"l{index}")
                code = source.term(f"l{index}")
                code_or_rest = source.case(source.missing(code), code_or_rest, code)
            codes[f"c{index}"] = code_or_rest
    if not codes and not more:
        return table
    table = source.with_columns(table, codes | _unchanged(source, more), only=True)
    in_table = [source.term(name) >= source.constant(0) for name in codes]
    if in_table and not groups:
        table = source.filter(table, reduce(and_, in_table))
    if axes is None:
        return table
    cell = _cell_code(source, rows, axes)
    cell = source.case(reduce(and_, in_table), cell, source.constant(-1)) if groups else cell
    return source.with_columns(table, {"code": cell, **_unchanged(source, more)}, only=True)


def _cell_code(source: EngineTable, rows: Grouping, axes: Sequence[int]) -> Term:
    """Compute the index of a cell, in which the last axis varies fastest."""
    code = source.constant(0)
    for number, index in enumerate(axes):
        axis_code = source.term(f"c{index}")
        code = axis_code if number == 0 else code * source.constant(len(rows.axes[index].labels)) + axis_code
    return code


def _person_tag(frame: Frame, people: Persons) -> Term:
    source = _source(frame)
    return source.tag(source.term("person"), frame.column(people.label), people.key)


def _limited(frame: Frame, rows: Grouping, table: Rows, columns: Sequence[tuple[Label, Bounds, int | None]]) -> Rows:
    """Select the rows that are used of each person, as `Persons.limited` does."""
    source, people = _source(frame), rows.people
    assert people is not None
    table = source.filter(table, ~source.missing(source.term("person")))
    codes = {f"c{index}": (source.term(f"c{index}"), width) for index, width in enumerate(rows.widths)}
    steps = {}
    for index, (_, limits, _fill) in enumerate(columns):
        step, width = source.term(f"s{index}"), (limits.span + 1).bit_length()
        steps[f"s{index}"] = source.case(source.missing(step), source.constant(0), step + source.constant(1)), width
    cell = _cell_code(source, rows, range(len(rows.axes)))
    terms = {
        "tag": _person_tag(frame, people),
        "cell": cell if sum(rows.widths) <= TAG_BITS else source.bits(cell, 0, TAG_BITS),
        "step": _concatenated(source, steps),
        "fields": _concatenated(source, codes),
    }
    same = _unchanged(source, ["person"])
    table = source.with_columns(table, same | terms, only=True)
    group, row = people.draws(source.term("tag"), source.term("cell"), source.term("step"), source)
    width, bits = sum(rows.widths), sum(width for _, width in steps.values())
    (groups,) = people.packed(group, source.term("fields"), width, source)
    (orders,) = people.packed(row, source.term("fields") * 2**bits + source.term("step"), width + bits, source)
    table = source.with_columns(table, same | {"group_": groups, "row_": orders}, only=True)
    for cap, by, order, dense in people.caps.windows:
        names = [name if name == "person" else f"{name}_" for name in by]
        if dense:
            table = source.with_rank(table, names, [f"{order}_"], "rank", dense=True)
            table = source.filter(table, source.term("rank") <= source.constant(cap))
        else:
            table = source.smallest(table, names, f"{order}_", cap)
    low, used = 0, dict[str, Term]()
    for name, (_, width) in reversed([*codes.items(), *steps.items()]):
        field = source.bits(source.term("row_"), low, width)
        used[name] = field if name in codes else source.case(field > source.constant(0), field - source.constant(1))
        low += width
    return source.with_columns(table, used, only=True) if used else table


def _concatenated(source: EngineTable, fields: Mapping[str, tuple[Term, int]]) -> Term:
    """Pack integers, each with its number of bits, into one integer."""
    packed = source.constant(0)
    for number, (term, width) in enumerate(fields.values()):
        packed = term if number == 0 else packed * 2**width + term
    return packed
