"""Counts and sums that the engine of a table computes, so that the result is no larger than the public table.

Expressions of the engine filter the rows, assign them to public cells and to steps between public bounds, limit the
rows of each person, and sum. The integers equal those of a table in memory. A column of text or whole numbers is
grouped by its values, and the groups are then looked up among the public keys; ranges are found by bisection. Some
tables are read in batches instead, because engines cannot express them exactly. They have a condition that is a
function of a row, keys of more than 15 digits, more than 2**16 keys, or people who are not identified by whole numbers,
dates or text.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from math import inf, nextafter, prod
from operator import and_, mul, or_
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Label, Steps
from toolkit.frames.conditions import ColumnCondition
from toolkit.frames.engines.column import Kind
from toolkit.frames.engines.streams import TAG_BITS, EngineTable, Expression, LazyTable
from toolkit.frames.frame import Frame
from toolkit.frames.persons import Persons, released_key
from toolkit.frames.sums import Axis, Bounds, Grouping, ThresholdCodes, Variable
from toolkit.frames.values import MISSING, OTHER, Keys, Range, SpecialValue

_MAX_KEYS, _MAX_RANGES = 2**16, 2**10
# The maximum number of steps of a histogram, over all cells.
_MAX_STEPS = 2**24
# The maximum number of bits of a cell code, alone and together with steps of 34 bits. The remaining bits hold at least
# 8 bits of the random draw.
_MAX_CELL_BITS = (54, 20)


def supports(frame: Frame, grouping: Grouping, *labels: Label) -> bool:
    """Return whether the engine can select the rows, compute their cells, and convert these columns to numbers."""
    source, people = frame.engine_table, grouping.people
    if source is None or not isinstance(grouping.where, ColumnCondition):
        return False
    kinds = [frame.column(label).kind for label in labels]
    can_limit_people = people is None or (
        _can_identify_people(frame, people) and sum(grouping.code_widths) <= _MAX_CELL_BITS[bool(labels)]
    )
    return (
        can_limit_people
        and all(kind.name in ("number", "truth") or (kind.name == "whole" and not kind.is_long) for kind in kinds)
        and all(_supports_axis(frame, source, axis) for axis in (*grouping.where.column_keys, *grouping.axes))
    )


def supports_keys(frame: Frame, grouping: Grouping, label: Label) -> bool:
    """Return whether the engine can count the rows or people of each key that occurs in a column."""
    column = frame.column(label)
    hashable = grouping.people is None or column.kind.name != "number"
    return (
        supports(frame, grouping)
        and hashable
        and frame.engine_table is not None
        and frame.engine_table.supports(column)
    )


def supports_histogram(frame: Frame, grouping: Grouping, label: Label, limits: Bounds) -> bool:
    """Return whether the engine can compute a histogram over all steps of each cell."""
    return grouping.n_cells * (limits.span + 1) <= _MAX_STEPS and supports(frame, grouping, label)


def _can_identify_people(frame: Frame, people: Persons) -> bool:
    kind = frame.column(people.label).kind
    return kind.name in ("whole", "text", "day") and not kind.is_long


def _supports_axis(frame: Frame, source: EngineTable, axis: Axis) -> bool:
    column = frame.column(axis.label)
    if not isinstance(axis, Keys):
        return column.kind.name in ("number", "whole", "truth") and len(axis.labels) <= _MAX_RANGES
    ranges = sum(isinstance(item, Range) for item in axis.items)
    is_small = len(axis.items) <= (_MAX_RANGES if ranges else _MAX_KEYS)
    return is_small and source.supports(column, as_days=axis.as_days)


def cell_counts(frame: Frame, grouping: Grouping) -> Steps:
    """Count the rows of each cell."""
    table = _aggregate(frame, grouping, (), {"n": _source(frame).count()})
    return _values_by_cell(table, "n", grouping.n_cells).astype(np.int64)


def sums(
    frame: Frame, grouping: Grouping, variables: Sequence[Variable], powers: Sequence[tuple[int, ...]]
) -> list[list[int]]:
    """Sum products of powers of the variables' steps by cell, over the rows in which no variable is missing."""
    source = _source(frame)
    steps = [source.col(f"s{index}") for index in range(len(variables))]
    spans = [variable.limits.span for variable in variables]
    present = reduce(and_, [~source.missing(step) for step in steps])
    expressions, shifts = dict[str, Expression](), list[tuple[int, int, str]]()
    for index, exponents in enumerate(powers):
        factors = [step for step, power in zip(steps, exponents, strict=True) for _ in range(power)]
        max_value = prod(span**power for span, power in zip(spans, exponents, strict=True))
        expression = reduce(mul, factors) if factors else source.constant(1)
        expression = expression if len(variables) == 1 and factors else source.case(present, expression)
        # Counting an expression skips the rows in which it is missing.
        counted_term = steps[0] if len(variables) == 1 else expression
        for shift, total in (
            source.sums(expression, max_value) if factors else {0: source.count(counted_term)}
        ).items():
            expressions[f"t{index}_{shift}"] = total
            shifts.append((index, shift, f"t{index}_{shift}"))
    table = _aggregate(
        frame, grouping, [(variable.label, variable.limits, variable.fill_step) for variable in variables], expressions
    )
    totals = np.zeros((grouping.n_cells, len(powers)), dtype=object)
    for index, shift, name in shifts:
        totals[:, index] += _values_by_cell(table, name, grouping.n_cells) << shift
    return totals.tolist()


def histogram(frame: Frame, grouping: Grouping, label: Label, limits: Bounds) -> Steps:
    """Count the values at each step, in an array of cells by steps."""
    expressions = {"n": _source(frame).count()}
    table = _aggregate(frame, grouping, [(label, limits, None)], expressions, by=("s0",), drop_missing=True)
    numbers, codes = np.zeros(grouping.n_cells * (limits.span + 1), dtype=np.int64), table.get("code", np.zeros(1, int))
    numbers[codes.astype(np.int64) * (limits.span + 1) + table["s0"].astype(np.int64)] = table["n"].astype(np.int64)
    return numbers.reshape(grouping.n_cells, -1)


def marginal_counts(frame: Frame, grouping: Grouping, tables: Sequence[tuple[int, ...]]) -> list[Steps]:
    """Count the rows in each cell of each table, among rows that have a key in every column."""
    source, counts = _source(frame), []
    sizes = [len(axis.labels) for axis in grouping.axes]
    for table_axes in tables:
        shape = tuple(sizes[axis] for axis in table_axes)
        table = _aggregate(frame, grouping, (), {"n": source.count()}, axes=table_axes)
        counts.append(_values_by_cell(table, "n", prod(shape)).astype(np.int64).reshape(shape))
    return counts


def key_counts(frame: Frame, grouping: Grouping, label: Label, max_keys: int) -> Iterator[tuple[Any, int]]:
    """Iterate over the sorted keys with their counts of rows or people; a person counts in at most `max_keys` keys."""
    source, column, people = _source(frame), frame.column(label), grouping.people
    table, names = _select(frame, grouping, (label,))
    expressions = {"k": source.key(source.col(names[str(label)]), column)}
    if people is not None:
        expressions["person"] = source.key(source.col(names[str(people.label)]), frame.column(people.label))
    table = source.with_columns(_filter(frame, grouping, table, names), expressions, drop_others=True)
    table = source.filter(table, reduce(and_, [~source.missing(source.col(name)) for name in expressions]))
    if people is not None:
        table = source.group_by(table, list(expressions), {})
        tags = {"tag": _person_tag(frame, people), "other": source.tag(source.col("k"), column, people.key)}
        table = source.with_columns(table, tags)
        draw, _ = people.hash_draws(source.col("tag"), source.col("other"), source.constant(0), source)
        table = source.with_rank(source.with_columns(table, {"draw": draw}), ["person"], ["draw", "k"], "rank")
        table = source.filter(table, source.col("rank") <= source.constant(max_keys))
    groups = source.group_by(table, ["k"], {"n": source.count()})
    for value, number in source.iter_key_counts(groups, "k", "n"):
        key = released_key(column.kind.name, value)
        if key is not None:
            yield key, int(number)


def _source(frame: Frame) -> EngineTable:
    assert frame.engine_table is not None
    return frame.engine_table


def _values_by_cell(table: Mapping[str, npt.NDArray[Any]], name: str, n_cells: int) -> npt.NDArray[Any]:
    """Arrange a column by cell, with 0 for a cell without rows."""
    by_cell = np.zeros(n_cells, dtype=object)
    by_cell[table.get("code", np.zeros(1, dtype=int)).astype(np.int64)] = table[name].astype(object)
    return by_cell


def _select(frame: Frame, grouping: Grouping, labels: Sequence[Label]) -> tuple[LazyTable, dict[str, str]]:
    """Select the columns to read under generated names; return these names by label."""
    names = {label: f"x{index}" for index, label in enumerate(dict.fromkeys(map(str, (*grouping.columns, *labels))))}
    return _source(frame).select({name: label for label, name in names.items()}), names


def _filter(frame: Frame, grouping: Grouping, table: LazyTable, names: Mapping[str, str]) -> LazyTable:
    """Select the rows that meet the condition."""
    source, conditions = _source(frame), []
    assert isinstance(grouping.where, ColumnCondition)
    for keys in grouping.where.column_keys:
        key = source.key(source.col(names[str(keys.label)]), frame.column(keys.label), as_days=keys.as_days)
        pairs = list(zip(keys.items, _stored_values(keys, frame), strict=True))
        alternatives = [
            (key >= source.constant(stored[0])) & (key <= source.constant(stored[1]))
            for item, stored in pairs
            if isinstance(item, Range)
        ]
        values = [stored for item, stored in pairs if not isinstance(item, Range | SpecialValue)]
        alternatives += [source.is_in(key, values)] if values else []
        alternatives += [source.missing(key)] if MISSING in keys.items else []
        conditions.append(reduce(or_, alternatives))
    return source.filter(table, reduce(and_, conditions)) if conditions else table


def _stored_values(keys: Keys, frame: Frame) -> list[Any]:
    """Return the values in the form that `EngineTable.key` returns, in which truth values are integers."""
    if frame.column(keys.label).kind.name != "truth":
        return list(keys.stored_items)
    return [value if isinstance(value, SpecialValue) else int(value) for value in keys.stored_items]


def _aggregate(
    frame: Frame,
    grouping: Grouping,
    columns: Sequence[tuple[Label, Bounds, int | None]],
    expressions: Mapping[str, Expression],
    *,
    by: Sequence[str] = (),
    axes: Sequence[int] | None = None,
    drop_missing: bool = False,
) -> dict[str, npt.NDArray[Any]]:
    """Aggregate by the cells of some or all axes and by the columns `by`; `drop_missing` omits missing values."""
    source, axes = _source(frame), range(len(grouping.axes)) if axes is None else axes
    steps = _step_names(columns)
    table, names = _select(frame, grouping, [label for label, *_ in columns])
    table = _with_terms(frame, grouping, _filter(frame, grouping, table, names), names, columns)
    if drop_missing and grouping.people is None:
        table = source.filter(table, ~source.missing(source.col("s0")))
    if grouping.people is not None:
        table = _with_codes(frame, grouping, table, [*steps, "person"], None)
        table = _limit_rows(frame, grouping, table, columns)
        table = source.filter(table, ~source.missing(source.col("s0"))) if drop_missing else table
        code = {"code": _cell_code(source, grouping, axes)}
        table = source.with_columns(table, code | _unchanged_columns(source, steps), drop_others=True)
    elif any(map(_is_lookup, grouping.axes)):
        keys = [f"{'k' if _is_lookup(axis) else 'c'}{index}" for index, axis in enumerate(grouping.axes)]
        table = source.group_by(table, [*keys, *by], expressions)
        one_to_one = all(_is_lookup(axis) and OTHER not in axis.items for axis in grouping.axes)
        one_to_one = one_to_one and len(axes) == len(grouping.axes)
        keep_all = not one_to_one and len(axes) > 0
        table = _with_codes(frame, grouping, table, [*by, *expressions], axes, are_groups=keep_all)
        # If each key has its own cell, the groups are the cells, and no second aggregation is needed.
        if one_to_one:
            return source.fetch(table)
        expressions = {name: source.sum_column(name) for name in expressions}
    else:
        table = _with_codes(frame, grouping, table, steps, axes)
    result = source.fetch(source.group_by(table, [*(["code"] if len(axes) else []), *by], expressions))
    in_cell = result["code"] >= 0 if len(axes) else slice(None)
    return {name: numbers[in_cell] for name, numbers in result.items()}


def _step_names(columns: Sequence[Any]) -> list[str]:
    return [f"s{index}" for index in range(len(columns))]


def _unchanged_columns(source: EngineTable, names: Sequence[str]) -> dict[str, Expression]:
    return {name: source.col(name) for name in names}


def _is_lookup(axis: Axis) -> TypeGuard[Keys]:
    """Return whether an axis has no ranges, so that its values are looked up and not located by bisection."""
    return isinstance(axis, Keys) and not any(isinstance(item, Range) for item in axis.items)


def _with_terms(
    frame: Frame,
    grouping: Grouping,
    table: LazyTable,
    names: Mapping[str, str],
    columns: Sequence[tuple[Label, Bounds, int | None]],
) -> LazyTable:
    """Add columns of keys to look up (k0, …) or codes (c0, …), of steps (s0, …), and of the person."""
    source, expressions, codes = _source(frame), dict[str, Expression](), dict[str, Expression]()
    for index, axis in enumerate(grouping.axes):
        column, expression = frame.column(axis.label), source.col(names[str(axis.label)])
        as_days = isinstance(axis, Keys) and axis.as_days
        expressions[f"k{index}"] = (
            source.key(expression, column, as_days=as_days)
            if isinstance(axis, Keys)
            else source.to_float(expression, column)
        )
        if not _is_lookup(axis):
            codes[f"c{index}"] = _bisect_codes(source, source.col(f"k{index}"), axis, column.kind)
    for index, (label, limits, fill) in enumerate(columns):
        ends = float(limits.low), float(limits.high)
        expressions[f"v{index}"] = source.clamp(source.col(names[str(label)]), frame.column(label), *ends)
        codes[f"s{index}"] = _step_term(source, source.col(f"v{index}"), limits, fill)
    if grouping.people is not None:
        person = grouping.people.label
        expressions["person"] = source.key(source.col(names[str(person)]), frame.column(person))
    if not expressions:
        return table
    table = source.with_columns(table, expressions, drop_others=True)
    same = _unchanged_columns(source, [name for name in expressions if not name.startswith("v")])
    return source.with_columns(table, same | codes, drop_others=True) if codes else table


def _step_term(source: EngineTable, clamped_values: Expression, limits: Bounds, fill: int | None) -> Expression:
    """Scale and round clamped values to steps by the operations of `Bounds.steps`, in the same order."""
    start, rate, first = limits.scaling
    scaled = (clamped_values - source.constant(start) if start else clamped_values) * source.constant(rate)
    step = source.round_to_integer(scaled) - source.constant(first) if first else source.round_to_integer(scaled)
    return step if fill is None else source.case(source.missing(step), source.constant(fill), step)


def _bisect_codes(source: EngineTable, key: Expression, axis: Axis, kind: Kind) -> Expression:
    """Return the code of a number by bisection; -1 for a number without a code."""
    numbers, codes = _thresholds(axis, kind) if isinstance(axis, Keys) else axis.cuts
    absent, other = _special_codes(axis)
    codes = [other if code < 0 else code for code in codes]

    def code_within(low: int, high: int) -> Expression:
        if low == high:
            return source.constant(codes[low])
        middle = (low + high) // 2
        return source.case(
            key < source.constant(numbers[middle]), code_within(low, middle), code_within(middle + 1, high)
        )

    return source.case(source.missing(key), source.constant(absent), code_within(0, len(numbers)))


def _thresholds(keys: Keys, kind: Kind) -> ThresholdCodes:
    """Return the numbers at which values and ranges begin and end, and the codes between them; ranges are disjoint."""
    ends = []
    for index, (item, stored) in enumerate(zip(keys.items, keys.stored_items, strict=True)):
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
    frame: Frame,
    grouping: Grouping,
    table: LazyTable,
    more: Sequence[str],
    axes: Sequence[int] | None,
    *,
    are_groups: bool = False,
) -> LazyTable:
    """Look up the codes of keys (c0, …), and select the rows that have a code in each column.

    If `axes` are given, the column `code` holds the cell in these axes; otherwise the columns of codes remain. If the
    rows `are_groups`, all are kept, and those outside the table get the code -1: engines would push a filter on groups
    down to every row.
    """
    source, codes = _source(frame), dict[str, Expression]()
    for index, axis in enumerate(grouping.axes):
        codes[f"c{index}"] = source.col(f"c{index}")
        if isinstance(axis, Keys) and _is_lookup(axis):
            codes_by_value = [
                (value, code)
                for code, value in enumerate(_stored_values(axis, frame))
                if not isinstance(value, SpecialValue)
            ]
            key, (absent, other) = source.col(f"k{index}"), _special_codes(axis)
            code_or_rest = source.case(source.missing(key), source.constant(absent), source.constant(other))
            if codes_by_value:
                table = source.join_codes(table, f"k{index}", codes_by_value, f"l{index}")
                code = source.col(f"l{index}")
                code_or_rest = source.case(source.missing(code), code_or_rest, code)
            codes[f"c{index}"] = code_or_rest
    if not codes and not more:
        return table
    table = source.with_columns(table, codes | _unchanged_columns(source, more), drop_others=True)
    in_table = [source.col(name) >= source.constant(0) for name in codes]
    if in_table and not are_groups:
        table = source.filter(table, reduce(and_, in_table))
    if axes is None:
        return table
    cell = _cell_code(source, grouping, axes)
    cell = source.case(reduce(and_, in_table), cell, source.constant(-1)) if are_groups else cell
    return source.with_columns(table, {"code": cell, **_unchanged_columns(source, more)}, drop_others=True)


def _cell_code(source: EngineTable, grouping: Grouping, axes: Sequence[int]) -> Expression:
    """Compute the index of a cell; the last axis varies fastest."""
    code = source.constant(0)
    for number, index in enumerate(axes):
        axis_code = source.col(f"c{index}")
        code = axis_code if number == 0 else code * source.constant(len(grouping.axes[index].labels)) + axis_code
    return code


def _person_tag(frame: Frame, people: Persons) -> Expression:
    source = _source(frame)
    return source.tag(source.col("person"), frame.column(people.label), people.key)


def _limit_rows(
    frame: Frame, grouping: Grouping, table: LazyTable, columns: Sequence[tuple[Label, Bounds, int | None]]
) -> LazyTable:
    """Select the rows of each person that are used, as `Persons.limit_codes` does."""
    source, people = _source(frame), grouping.people
    assert people is not None
    table = source.filter(table, ~source.missing(source.col("person")))
    codes = {f"c{index}": (source.col(f"c{index}"), width) for index, width in enumerate(grouping.code_widths)}
    steps = {}
    for index, (_, limits, _fill) in enumerate(columns):
        step, width = source.col(f"s{index}"), (limits.span + 1).bit_length()
        steps[f"s{index}"] = source.case(source.missing(step), source.constant(0), step + source.constant(1)), width
    cell = _cell_code(source, grouping, range(len(grouping.axes)))
    expressions = {
        "tag": _person_tag(frame, people),
        "cell": cell if sum(grouping.code_widths) <= TAG_BITS else source.bits(cell, 0, TAG_BITS),
        "step": _pack_integers(source, steps),
        "fields": _pack_integers(source, codes),
    }
    same = _unchanged_columns(source, ["person"])
    table = source.with_columns(table, same | expressions, drop_others=True)
    group, row = people.hash_draws(source.col("tag"), source.col("cell"), source.col("step"), source)
    width, bits = sum(grouping.code_widths), sum(width for _, width in steps.values())
    (groups,) = people.pack_sort_keys(group, source.col("fields"), width, source)
    (orders,) = people.pack_sort_keys(row, source.col("fields") * 2**bits + source.col("step"), width + bits, source)
    table = source.with_columns(table, same | {"group_": groups, "row_": orders}, drop_others=True)
    for cap, by, order, dense in people.caps.rank_limits:
        names = [name if name == "person" else f"{name}_" for name in by]
        if dense:
            table = source.with_rank(table, names, [f"{order}_"], "rank", dense=True)
            table = source.filter(table, source.col("rank") <= source.constant(cap))
        else:
            table = source.smallest(table, names, f"{order}_", cap)
    low, used = 0, dict[str, Expression]()
    for name, (_, width) in reversed([*codes.items(), *steps.items()]):
        field = source.bits(source.col("row_"), low, width)
        used[name] = field if name in codes else source.case(field > source.constant(0), field - source.constant(1))
        low += width
    return source.with_columns(table, used, drop_others=True) if used else table


def _pack_integers(source: EngineTable, fields: Mapping[str, tuple[Expression, int]]) -> Expression:
    """Pack integers, each with its number of bits, into one integer."""
    packed = source.constant(0)
    for number, (expression, width) in enumerate(fields.values()):
        packed = expression if number == 0 else packed * 2**width + expression
    return packed
