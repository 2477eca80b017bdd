"""Sensitivities of tables against the enumeration of all that one person can have."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tests.slowly import each, slowly
from toolkit.central.sensitivity import table_counts, table_shares, table_sums
from toolkit.frames.persons import ONE_ROW, Caps


def holdings(cells: int, caps: Caps, terms: list[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """The table that one person alone makes: every choice of rows within the caps, each with one of the
    terms, added up.
    """
    size = len(terms[0])
    found = {(((0,) * size,) * cells, (0,) * cells)}
    for _ in range(caps.rows):
        more = set(found)
        for table, used in found:
            for cell, term in product(range(cells), terms):
                now = (*used[:cell], used[cell] + 1, *used[cell + 1 :])
                if sum(map(bool, now)) > (caps.groups or cells) or max(now) > (caps.rows_in_group or caps.rows):
                    continue
                entry = tuple(a + b for a, b in zip(table[cell], term, strict=True))
                more.add(((*table[:cell], entry, *table[cell + 1 :]), now))
        found = more
    return {tuple(number for entry in table for number in entry) for table, _ in found}


def moves(neighbors: str, tables: set[tuple[int, ...]]) -> tuple[int, int]:
    """The largest distance in L1 and the largest in squared length."""
    nothing = (0,) * len(next(iter(tables)))
    others = tables if neighbors == "replace" else {nothing}
    gaps: Iterator[list[int]] = ([abs(x - y) for x, y in zip(a, b, strict=True)] for a in tables for b in others)
    pairs = [(sum(gap), sum(d * d for d in gap)) for gap in gaps]
    return max(l1 for l1, _ in pairs), max(l2 for _, l2 in pairs)


@each(bounds=[(0, 2), (-1, 3), (1, 3), (-2, 2), (-3, -1)], cells=[1, 2, 3], neighbors=["add_remove", "replace"])
def test_one_row_a_person_moves_a_table_exactly_as_far_as_is_said(
    bounds: tuple[int, int], cells: int, neighbors: str
) -> None:
    low, high = bounds
    values, width = range(low, high + 1), high - low
    for claim, terms in (
        (table_counts(cells, neighbors), [(1,)]),
        (table_sums(Fraction(low), Fraction(high), cells, neighbors), [(x,) for x in values]),
        (table_shares(cells, neighbors), [(x - low, high - x) for x in values]),
        (
            table_shares(cells, neighbors),
            [((x - low) ** 2, 2 * (x - low) * (high - x), (high - x) ** 2) for x in values],
        ),
    ):
        unit = sum(terms[0]) if len(terms[0]) > 1 else 1
        l1, squared = moves(neighbors, holdings(cells, ONE_ROW, terms))
        assert (claim.l1 * unit, claim.l2_squared * unit**2) == (l1, squared)
    assert width > 0


CAPS = [(3, 3, 1, 3, 3), (3, 2, 2, 3, 5), (5, 3, 2, 5, 9), (4, 1, 4, 4, 16), (5, 3, 3, 5, 13), (2, 2, 2, 2, 4)]


@pytest.mark.parametrize(("rows", "groups", "each", "l1", "squared"), CAPS)
def test_several_rows_of_a_person_move_counts_as_far_as_was_enumerated(
    rows: int, groups: int, each: int, l1: int, squared: int
) -> None:
    caps = Caps(rows, groups, each)
    claim, twice = table_counts(8, "add_remove", caps), table_counts(8, "replace", caps)
    assert (claim.l1, claim.l2_squared, twice.l1, twice.l2_squared) == (l1, squared, 2 * l1, 2 * squared)
    alone = Caps(rows)
    assert (table_counts(8, "add_remove", alone).l1, table_counts(8, "add_remove", alone).l2_squared) == (rows, rows**2)


@pytest.mark.parametrize("cells", slowly([1, 2, 3], [3]))
@each(caps=[Caps(2), Caps(3, 2, 2), Caps(3, 1), Caps(3, 3, 1)], neighbors=["add_remove", "replace"])
def test_several_rows_of_a_person_move_few_cells_exactly_as_far_as_is_said(
    caps: Caps, cells: int, neighbors: str
) -> None:
    for claim, terms in (
        (table_counts(cells, neighbors, caps), [(1,)]),
        (table_shares(cells, neighbors, caps), [(0, 1), (1, 0)]),
        (table_sums(Fraction(0), Fraction(2), cells, neighbors, caps), [(0,), (1,), (2,)]),
    ):
        assert (claim.l1, claim.l2_squared) == moves(neighbors, holdings(cells, caps, terms))
    claim = table_sums(Fraction(-1), Fraction(2), cells, neighbors, caps)
    l1, squared = moves(neighbors, holdings(cells, caps, [(-1,), (0,), (2,)]))
    assert claim.l1 >= l1
    assert claim.l2_squared >= squared


def test_sums_of_both_signs_need_more_than_the_largest_square() -> None:
    """The squared sensitivity exceeds the larger squared bound times that of the counts.

    From -1 to 2, caps (5, 3, 2), 4 cells, "replace": 86 by enumeration, where the guess gives 81.
    """
    caps = Caps(5, 3, 2)
    tables = np.array(sorted(holdings(4, caps, [(-1,), (2,)])))
    assert max(((tables - table) ** 2).sum(axis=1).max() for table in tables) == 86
    assert table_sums(Fraction(-1), Fraction(2), 4, "replace", caps).l2_squared == 108


def test_caps_are_whole_numbers() -> None:
    for wrong in ({"rows": 0}, {"groups": 0}, {"rows_in_group": -1}, {"rows": 1.5}):
        with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
            Caps(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("caps", [Caps(5, 2, 2), Caps(3, 1, 2), Caps(4, 1), Caps(4, 2, 3), Caps(3, 3, 1)])
def test_counts_move_exactly_as_far_as_is_said_for_all_three_caps(caps: Caps, neighbors: str) -> None:
    """Also where rows are left that no cell of the allowed ones takes: 5 rows, 2 groups, 2 rows in each."""
    for cells in (1, 2, 3, 4):
        claimed = table_counts(cells, neighbors, caps)
        assert moves(neighbors, holdings(cells, caps, [(1,)])) == (claimed.l1, claimed.l2_squared)
