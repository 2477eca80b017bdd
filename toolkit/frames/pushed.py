"""Integers of a table, counted and added up by the engine that holds it: what comes back is at most as large as the
public table, never as large as the data.

Rows are filtered, brought to the codes of public cells and to steps between public bounds, cut where a person has too
many, and added up: all in the engine's own expressions, so that the integers are those of a table in memory. A
column of text or whole numbers is grouped as it is, and the few groups are then looked up among the public keys;
ranges are found by halving. What engines cannot say exactly is read as other tables are: functions of a row, numbers of
more than 15 digits as keys, people named by others than whole numbers, dates or text, and more than 2**16 keys.
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
_MOST_STEPS = 2**24  # of a histogram in all cells
_MOST_BITS = (54, 20)  # of a person's cell, alone or beside steps of 34 bits: 8 are left to draw by


def can(frame: Frame, rows: Grouping, *labels: Label) -> bool:
    """Whether an engine can say which rows count, in which cells, and read these columns as numbers."""
    source, people = frame.source, rows.people
    if source is None or not isinstance(rows.where, OfColumns):
        return False
    numbers = [frame.column(label).kind for label in labels]
    names = people is None or (_names(frame, people) and sum(rows.widths) <= _MOST_BITS[bool(labels)])
    return (
        names
        and all(kind.name in ("number", "truth") or (kind.name == "whole" and not kind.long) for kind in numbers)
        and all(_says(frame, source, axis) for axis in (*rows.where.parts, *rows.axes))
    )


def can_find(frame: Frame, rows: Grouping, label: Label) -> bool:
    """The same of keys that are not known."""
    column = frame.column(label)
    drawn = rows.people is None or column.kind.name != "number"
    return can(frame, rows) and drawn and frame.source is not None and frame.source.says(column)


def can_spread(frame: Frame, rows: Grouping, label: Label, limits: Bounds) -> bool:
    """The same of a histogram over all steps."""
    return rows.cells * (limits.span + 1) <= _MOST_STEPS and can(frame, rows, label)


def _names(frame: Frame, people: Persons) -> bool:
    kind = frame.column(people.label).kind
    return kind.name in ("whole", "text", "day") and not kind.long


def _says(frame: Frame, source: EngineTable, axis: Axis) -> bool:
    column = frame.column(axis.label)
    if not isinstance(axis, Keys):
        return column.kind.name in ("number", "whole", "truth") and len(axis.labels) <= _MOST_RANGES
    ranges = sum(isinstance(item, Range) for item in axis.items)
    few = len(axis.items) <= (_MOST_RANGES if ranges else _MOST_KEYS)
    return few and source.says(column, days=axis.days)


def counts(frame: Frame, rows: Grouping) -> Steps:
    """How many rows each cell has."""
    table = _added_up(frame, rows, (), {"n": _source(frame).counted()})
    return _spread(table, "n", rows.cells).astype(np.int64)


def sums(
    frame: Frame, rows: Grouping, variables: Sequence[Variable], powers: Sequence[tuple[int, ...]]
) -> list[list[int]]:
    """Of each cell the sums of products of powers of the variables' steps, over rows that have all of them."""
    source = _source(frame)
    steps = [source.term(f"s{place}") for place in range(len(variables))]
    spans = [variable.limits.span for variable in variables]
    present = reduce(and_, [~source.missing(step) for step in steps])
    terms, shifts = dict[str, Term](), list[tuple[int, int, str]]()
    for place, each in enumerate(powers):
        factors = [step for step, power in zip(steps, each, strict=True) for _ in range(power)]
        most = prod(span**power for span, power in zip(spans, each, strict=True))
        term = reduce(mul, factors) if factors else source.constant(1)
        term = term if len(variables) == 1 and factors else source.case(present, term)
        lone = steps[0] if len(variables) == 1 else term  # what is missing is left out
        for shift, total in (source.totals(term, most) if factors else {0: source.counted(lone)}).items():
            terms[f"t{place}_{shift}"] = total
            shifts.append((place, shift, f"t{place}_{shift}"))
    table = _added_up(frame, rows, [(one.label, one.limits, one.filled) for one in variables], terms)
    totals = np.zeros((rows.cells, len(powers)), dtype=object)
    for place, shift, name in shifts:
        totals[:, place] += _spread(table, name, rows.cells) << shift
    return totals.tolist()


def histogram(frame: Frame, rows: Grouping, label: Label, limits: Bounds) -> Steps:
    """Of each cell how many values each step has, the steps of a cell side by side."""
    terms = {"n": _source(frame).counted()}
    table = _added_up(frame, rows, [(label, limits, None)], terms, by=("s0",), present=True)
    numbers, codes = np.zeros(rows.cells * (limits.span + 1), dtype=np.int64), table.get("code", np.zeros(1, int))
    numbers[codes.astype(np.int64) * (limits.span + 1) + table["s0"].astype(np.int64)] = table["n"].astype(np.int64)
    return numbers.reshape(rows.cells, -1)


def joint_counts(frame: Frame, rows: Grouping, tables: Sequence[tuple[int, ...]]) -> list[Steps]:
    """How many rows each cell of each table has, of those that have a key in every column."""
    source, found = _source(frame), []
    sizes = [len(axis.labels) for axis in rows.axes]
    for one in tables:
        shape = tuple(sizes[place] for place in one)
        table = _added_up(frame, rows, (), {"n": source.counted()}, axes=one)
        found.append(_spread(table, "n", prod(shape)).astype(np.int64).reshape(shape))
    return found


def people_by_key(frame: Frame, rows: Grouping, label: Label, most: int) -> Iterator[tuple[Any, int]]:
    """Each key with its rows, or with its people, of whom each counts in at most `most` keys; in their order."""
    source, column, people = _source(frame), frame.column(label), rows.people
    table, names = _started(frame, rows, (label,))
    terms = {"k": source.key(source.term(names[str(label)]), column)}
    if people is not None:
        terms["person"] = source.key(source.term(names[str(people.label)]), frame.column(people.label))
    table = source.extended(_where(frame, rows, table, names), terms, only=True)
    table = source.filtered(table, reduce(and_, [~source.missing(source.term(name)) for name in terms]))
    if people is not None:
        table = source.grouped(table, list(terms), {})
        tags = {"tag": _tag(frame, people), "other": source.tag(source.term("k"), column, people.key)}
        table = source.extended(table, tags)
        draw, _ = people.draws(source.term("tag"), source.term("other"), source.constant(0), source)
        table = source.ranked(source.extended(table, {"draw": draw}), ["person"], ["draw", "k"], "place")
        table = source.filtered(table, source.term("place") <= source.constant(most))
    counted = source.grouped(table, ["k"], {"n": source.counted()})
    for value, number in source.streamed(counted, "k", "n"):
        key = key_of(column.kind.name, value)
        if key is not None:
            yield key, int(number)


def _source(frame: Frame) -> EngineTable:
    assert frame.source is not None
    return frame.source


def _spread(table: Mapping[str, npt.NDArray[Any]], name: str, cells: int) -> npt.NDArray[Any]:
    """By cell, 0 where there is none."""
    by_cell = np.zeros(cells, dtype=object)
    by_cell[table.get("code", np.zeros(1, dtype=int)).astype(np.int64)] = table[name].astype(object)
    return by_cell


def _started(frame: Frame, rows: Grouping, labels: Sequence[Label]) -> tuple[Rows, dict[str, str]]:
    """The columns that are read, under names of no meaning, and these names."""
    names = {label: f"x{place}" for place, label in enumerate(dict.fromkeys(map(str, (*rows.columns, *labels))))}
    return _source(frame).start({name: label for label, name in names.items()}), names


def _where(frame: Frame, rows: Grouping, table: Rows, names: Mapping[str, str]) -> Rows:
    source, parts = _source(frame), []
    assert isinstance(rows.where, OfColumns)
    for keys in rows.where.parts:
        key = source.key(source.term(names[str(keys.label)]), frame.column(keys.label), days=keys.days)
        both = list(zip(keys.items, _stored(keys, frame), strict=True))
        either = [
            (key >= source.constant(stored[0])) & (key <= source.constant(stored[1]))
            for item, stored in both
            if isinstance(item, Range)
        ]
        values = [stored for item, stored in both if not isinstance(item, Range | SpecialValue)]
        either += [source.among(key, values)] if values else []
        either += [source.missing(key)] if MISSING in keys.items else []
        parts.append(reduce(or_, either))
    return source.filtered(table, reduce(and_, parts)) if parts else table


def _stored(keys: Keys, frame: Frame) -> list[Any]:
    """Values as `key` of a source has them: truth values are whole numbers there."""
    if frame.column(keys.label).kind.name != "truth":
        return list(keys.stored)
    return [one if isinstance(one, SpecialValue) else int(one) for one in keys.stored]


def _added_up(
    frame: Frame,
    rows: Grouping,
    columns: Sequence[tuple[Label, Bounds, int | None]],
    terms: Mapping[str, Term],
    *,
    by: Sequence[str] = (),
    axes: Sequence[int] | None = None,
    present: bool = False,
) -> dict[str, npt.NDArray[Any]]:
    """Terms by cell, those of some axes or of all, and by the columns `by`; with `present` of values that are there."""
    source, axes = _source(frame), range(len(rows.axes)) if axes is None else axes
    table, names = _started(frame, rows, [label for label, *_ in columns])
    table = _coded(frame, rows, _where(frame, rows, table, names), names, columns)
    if present and rows.people is None:
        table = source.filtered(table, ~source.missing(source.term("s0")))
    listed = [f"k{place}" for place, axis in enumerate(rows.axes) if _listed(axis)]
    if rows.people is not None:
        table = _capped(frame, rows, _placed(frame, rows, table, [*_steps(columns), "person"], None), columns)
        table = source.filtered(table, ~source.missing(source.term("s0"))) if present else table
        table = source.extended(table, {"code": _cell(source, rows, axes), **_same(source, _steps(columns))}, only=True)
    elif listed:
        keys = [f"{'k' if _listed(axis) else 'c'}{place}" for place, axis in enumerate(rows.axes)]
        table = source.grouped(table, [*keys, *by], terms)
        once = all(_listed(axis) and OTHER not in axis.items for axis in rows.axes) and len(axes) == len(rows.axes)
        table = _placed(frame, rows, table, [*by, *terms], axes, groups=not once and len(axes) > 0)
        if once:  # no two keys are of one cell
            return source.fetched(table)
        terms = {name: source.again(name) for name in terms}
    else:
        table = _placed(frame, rows, table, _steps(columns), axes)
    found = source.fetched(source.grouped(table, [*(["code"] if len(axes) else []), *by], terms))
    known = found["code"] >= 0 if len(axes) else slice(None)
    return {name: numbers[known] for name, numbers in found.items()}


def _steps(columns: Sequence[Any]) -> list[str]:
    return [f"s{place}" for place in range(len(columns))]


def _same(source: EngineTable, names: Sequence[str]) -> dict[str, Term]:
    return {name: source.term(name) for name in names}


def _listed(axis: Axis) -> TypeGuard[Keys]:
    """Whether an axis has values alone, which are looked up; else it has numbers to be compared with."""
    return isinstance(axis, Keys) and not any(isinstance(item, Range) for item in axis.items)


def _coded(
    frame: Frame,
    rows: Grouping,
    table: Rows,
    names: Mapping[str, str],
    columns: Sequence[tuple[Label, Bounds, int | None]],
) -> Rows:
    """Columns k0, … of keys that will be looked up, or c0, … of codes; s0, … of steps; and of the person."""
    source, terms, codes = _source(frame), dict[str, Term](), dict[str, Term]()
    for place, axis in enumerate(rows.axes):
        column, term = frame.column(axis.label), source.term(names[str(axis.label)])
        days = isinstance(axis, Keys) and axis.days
        terms[f"k{place}"] = (
            source.key(term, column, days=days) if isinstance(axis, Keys) else source.number(term, column)
        )
        if not _listed(axis):
            codes[f"c{place}"] = _found(source, source.term(f"k{place}"), axis, column.kind)
    for place, (label, limits, fill) in enumerate(columns):
        ends = float(limits.low), float(limits.high)
        terms[f"v{place}"] = source.clamped(source.term(names[str(label)]), frame.column(label), *ends)
        codes[f"s{place}"] = _step(source, source.term(f"v{place}"), limits, fill)
    if rows.people is not None:
        person = rows.people.label
        terms["person"] = source.key(source.term(names[str(person)]), frame.column(person))
    if not terms:
        return table
    table = source.extended(table, terms, only=True)
    same = _same(source, [name for name in terms if not name.startswith("v")])
    return source.extended(table, same | codes, only=True) if codes else table


def _step(source: EngineTable, clamped: Term, limits: Bounds, fill: int | None) -> Term:
    """As `Bounds.steps`: clamped, scaled and rounded with the same operations in the same order."""
    start, rate, first = limits.factors
    scaled = (clamped - source.constant(start) if start else clamped) * source.constant(rate)
    step = source.rounded(scaled) - source.constant(first) if first else source.rounded(scaled)
    return step if fill is None else source.case(source.missing(step), source.constant(fill), step)


def _found(source: EngineTable, key: Term, axis: Axis, kind: Kind) -> Term:
    """The code of a number, by halving; -1 where it has none."""
    numbers, codes = _cuts(axis, kind) if isinstance(axis, Keys) else axis.cuts
    absent, other = _marks(axis)
    codes = [other if code < 0 else code for code in codes]

    def among(low: int, high: int) -> Term:
        if low == high:
            return source.constant(codes[low])
        middle = (low + high) // 2
        return source.case(key < source.constant(numbers[middle]), among(low, middle), among(middle + 1, high))

    return source.case(source.missing(key), source.constant(absent), among(0, len(numbers)))


def _cuts(keys: Keys, kind: Kind) -> Cuts:
    """Where values and ranges, of which no two overlap, begin and end."""
    ends = []
    for place, (item, stored) in enumerate(zip(keys.items, keys.stored, strict=True)):
        if not isinstance(item, SpecialValue):
            low, high = stored if isinstance(item, Range) else (stored, stored)
            ends.append((low, high, place))
    numbers, codes = list[Any](), [-1]
    for low, high, place in sorted(ends):
        if numbers and numbers[-1] == low:
            codes[-1] = place
        else:
            numbers.append(low)
            codes.append(place)
        if kind.name == "number" or high < kind.limits[1]:
            numbers.append(nextafter(high, inf) if kind.name == "number" else high + 1)
            codes.append(-1)
    return numbers, codes


def _marks(axis: Axis) -> tuple[int, int]:
    """The codes of what is missing, and of what is none of the keys."""
    items = axis.items if isinstance(axis, Keys) else ()
    other = items.index(OTHER) if OTHER in items else -1
    return items.index(MISSING) if MISSING in items else other, other


def _placed(
    frame: Frame, rows: Grouping, table: Rows, more: Sequence[str], axes: Sequence[int] | None, *, groups: bool = False
) -> Rows:
    """Codes c0, … of keys that are looked up; then rows that have one in each column, with the number of their cell in
    some axes, or with the codes, if these are None. Rows that are `groups` all stay, with -1 for such as have none:
    engines ask a condition on groups of every row before.
    """
    source, codes = _source(frame), dict[str, Term]()
    for place, axis in enumerate(rows.axes):
        codes[f"c{place}"] = source.term(f"c{place}")
        if isinstance(axis, Keys) and _listed(axis):
            pairs = [(one, at) for at, one in enumerate(_stored(axis, frame)) if not isinstance(one, SpecialValue)]
            key, (absent, other) = source.term(f"k{place}"), _marks(axis)
            rest = source.case(source.missing(key), source.constant(absent), source.constant(other))
            if pairs:
                table = source.placed(table, f"k{place}", pairs, f"l{place}")
                code = source.term(f"l{place}")
                rest = source.case(source.missing(code), rest, code)
            codes[f"c{place}"] = rest
    if not codes and not more:
        return table
    table = source.extended(table, codes | _same(source, more), only=True)
    known = [source.term(name) >= source.constant(0) for name in codes]
    if known and not groups:
        table = source.filtered(table, reduce(and_, known))
    if axes is None:
        return table
    cell = _cell(source, rows, axes)
    cell = source.case(reduce(and_, known), cell, source.constant(-1)) if groups else cell
    return source.extended(table, {"code": cell, **_same(source, more)}, only=True)


def _cell(source: EngineTable, rows: Grouping, axes: Sequence[int]) -> Term:
    """The number of a cell, the last axis fastest."""
    code = source.constant(0)
    for number, place in enumerate(axes):
        own = source.term(f"c{place}")
        code = own if number == 0 else code * source.constant(len(rows.axes[place].labels)) + own
    return code


def _tag(frame: Frame, people: Persons) -> Term:
    source = _source(frame)
    return source.tag(source.term("person"), frame.column(people.label), people.key)


def _capped(frame: Frame, rows: Grouping, table: Rows, columns: Sequence[tuple[Label, Bounds, int | None]]) -> Rows:
    """The rows that are used of each person, as `Persons.limited` has them."""
    source, people = _source(frame), rows.people
    assert people is not None
    table = source.filtered(table, ~source.missing(source.term("person")))
    codes = {f"c{place}": (source.term(f"c{place}"), width) for place, width in enumerate(rows.widths)}
    steps = {}
    for place, (_, limits, _fill) in enumerate(columns):
        own, width = source.term(f"s{place}"), (limits.span + 1).bit_length()
        steps[f"s{place}"] = source.case(source.missing(own), source.constant(0), own + source.constant(1)), width
    cell = _cell(source, rows, range(len(rows.axes)))
    terms = {
        "tag": _tag(frame, people),
        "cell": cell if sum(rows.widths) <= TAG_BITS else source.bits(cell, 0, TAG_BITS),
        "step": _together(source, steps),
        "fields": _together(source, codes),
    }
    same = _same(source, ["person"])
    table = source.extended(table, same | terms, only=True)
    group, row = people.draws(source.term("tag"), source.term("cell"), source.term("step"), source)
    width, bits = sum(rows.widths), sum(width for _, width in steps.values())
    (groups,) = people.packed(group, source.term("fields"), width, source)
    (orders,) = people.packed(row, source.term("fields") * 2**bits + source.term("step"), width + bits, source)
    table = source.extended(table, same | {"group_": groups, "row_": orders}, only=True)
    for cap, by, order, dense in people.caps.windows:
        names = [name if name == "person" else f"{name}_" for name in by]
        if dense:
            table = source.ranked(table, names, [f"{order}_"], "rank", dense=True)
            table = source.filtered(table, source.term("rank") <= source.constant(cap))
        else:
            table = source.least(table, names, f"{order}_", cap)
    low, used = 0, dict[str, Term]()
    for name, (_, width) in reversed([*codes.items(), *steps.items()]):
        field = source.bits(source.term("row_"), low, width)
        used[name] = field if name in codes else source.case(field > source.constant(0), field - source.constant(1))
        low += width
    return source.extended(table, used, only=True) if used else table


def _together(source: EngineTable, fields: Mapping[str, tuple[Term, int]]) -> Term:
    """Whole numbers of so many bits each, one after the other."""
    together = source.constant(0)
    for number, (term, width) in enumerate(fields.values()):
        together = term if number == 0 else together * 2**width + term
    return together
