"""The tree and its tables: shares of the budget, the sensitivity of scores, and the enumerated law of the choice."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from tests.recorder import recorded
from toolkit.central.noise.laws import GeometricLaw, RoundedNormalLaw
from toolkit.central.publishing.spanning import SpanningTables, count_cells
from toolkit.core.estimate import SIMULATED
from toolkit.core.loss import Pure, Zcdp

SIZES = (2, 3, 2)
CELLS = list(product(*map(range, SIZES)))
PAIRS = list(combinations(range(3), 2))
OTHERS = [[], [(0, 0, 0)], [(0, 0, 0), (1, 2, 1), (1, 1, 0)], [(0, 1, 1)] * 7]
NOISY = [[[2, 1], [1, 1, 1], [3, 0]], [[-5, 40], [9, -9, 0], [1, 1]], [[-3, -3], [0, 0, 0], [-1, 0]]]


def tables(rows: list[tuple[int, ...]], sizes: tuple[int, ...] = SIZES) -> list[Any]:
    """Return the tables of all columns, followed by those of all pairs."""
    joint = np.zeros(sizes, dtype=np.int64)
    for row in rows:
        joint[row] += 1
    kept = [(axis,) for axis in range(len(sizes))] + list(combinations(range(len(sizes)), 2))
    return [joint.sum(axis=tuple(set(range(len(sizes))) - set(axes))) for axes in kept]


def neighbors(relation: str) -> Iterator[tuple[list[Any], list[tuple[int, int]]]]:
    """Yield tables that differ in one person, and the indices of neighbors among them.

    The last tables are those without the person; a person outside the options of a column is not counted, either.
    """
    last = len(CELLS)
    pairs = [(i, j) for i, j in combinations(range(last + 1), 2) if relation == "replace" or j == last]
    for others in OTHERS:
        yield [tables([*others, *own]) for own in (*([cell] for cell in CELLS), [])], pairs


def mechanism_for(relation: str, loss: Any) -> SpanningTables:
    people = 2 if relation == "replace" else 1
    return SpanningTables(loss, SIZES, people, people)


def choices(mechanism: SpanningTables, counts: list[Any], noisy: list[list[int]], path: tuple[int, ...]) -> Any:
    with recorded(choices=path) as drawn:
        pairs = {pair: np.ravel(table) for pair, table in zip(PAIRS, counts[3:], strict=True)}
        mechanism.choose_pairs([np.array(column) for column in noisy], pairs, None)
    return drawn


def law(mechanism: SpanningTables, counts: list[Any], noisy: list[list[int]]) -> dict[tuple[int, ...], float]:
    """Return the logarithm of the probability of each sequence of choices: three candidates, then two."""
    found = {}
    for path in product(range(3), range(2)):
        total = 0.0
        for draw, index in zip(choices(mechanism, counts, noisy, path), path, strict=True):
            logs = [float(draw.scale * (score - max(draw.about))) for score in draw.about]
            total += logs[index] - math.log(math.fsum(map(math.exp, logs)))
        found[path] = total
    return found


@pytest.mark.parametrize("loss", [Pure(1), Zcdp("1/50")])
def test_the_budget_has_three_equal_parts(loss: Pure | Zcdp) -> None:
    mechanism = SpanningTables(loss, (2, 3, 4, 5), 2, 2)
    third = Fraction(loss.amount) / 3
    columns, pairs = (Fraction(noise.loss.amount) for noise in (mechanism.column_noise, mechanism.pair_noise))
    assert (4 * columns, 3 * pairs) == (third, third)
    epsilon = Fraction(mechanism.selection.loss.amount)
    if isinstance(loss, Pure):
        assert 3 * epsilon == third
        assert mechanism.zcdp == Zcdp(4 * columns**2 / 2 + 3 * pairs**2 / 2 + 3 * epsilon**2 / 8)
    else:
        assert third * (1 - Fraction(1, 2**50)) < 3 * epsilon**2 / 8 <= third
        assert mechanism.zcdp == loss


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_one_person_moves_a_score_by_no_more_than_its_sensitivity(relation: str) -> None:
    """All neighbors with up to eight rows, with noisy columns that may be negative; the bound is attained."""
    mechanism, largest = mechanism_for(relation, Zcdp(1)), 0
    for noisy in NOISY:
        for counts, pairs in neighbors(relation):
            scores = [choices(mechanism, table, noisy, ())[0].about for table in counts]
            assert all(isinstance(score, int) for about in scores for score in about)
            moves = [abs(x - y) for i, j in pairs for x, y in zip(scores[i], scores[j], strict=True)]
            largest = max(largest, *moves)
    assert largest == mechanism.selection.sensitivity == (2 if relation == "replace" else 1) * 2**16


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_the_choice_of_a_tree_costs_a_third(relation: str) -> None:
    """The law of all choices, enumerated: epsilon for a pure loss, and Rényi divergences for a concentrated one."""
    pure, concentrated = mechanism_for(relation, Pure(6)), mechanism_for(relation, Zcdp(3))
    worst = 0.0
    for noisy in NOISY:
        for counts, pairs in neighbors(relation):
            laws = [law(pure, table, noisy) for table in counts]
            assert math.fsum(map(math.exp, laws[0].values())) == pytest.approx(1)
            worst = max(worst, *(abs(laws[i][path] - laws[j][path]) for i, j in pairs for path in laws[0]))
            laws = [law(concentrated, table, noisy) for table in counts]
            for order, (i, j) in product((1.01, 2, 5, 30), [*pairs, *((j, i) for i, j in pairs)]):
                terms = [math.exp(order * laws[i][path] + (1 - order) * laws[j][path]) for path in laws[i]]
                assert math.log(math.fsum(terms)) / (order - 1) <= order + 1e-9
    assert 0.5 < worst <= 2


def test_the_tables_and_choices_get_the_noise_of_their_parts() -> None:
    """Gaussian noise of 3 in the first cell of the table of each chosen pair."""
    counts = tables([(0, 0, 0), (1, 2, 1), (1, 2, 1)])
    mechanism = SpanningTables(Zcdp("1/10"), SIZES, 2, 2)
    named: list[Any] = []

    def labels(chosen: Any) -> range:
        named.extend(chosen)
        return range(sum(math.prod(SIZES[axis] for axis in axes) for axes in chosen))

    with recorded([0] * 7, choices=[2, 0]) as drawn:
        found = mechanism.release(counts, labels)
    assert [(one.law, one.size) for one in drawn] == [
        *(("gaussian", size) for size in SIZES), ("choice", 3), ("choice", 2), ("gaussian", 6), ("gaussian", 6)
    ]  # fmt: skip
    assert named == [(0,), (1,), (2,), (0, 1), (1, 2)]
    assert found.value.tolist() == np.concatenate([np.ravel(counts[i]) for i in (0, 1, 2, 3, 5)]).tolist()
    # rho / 9 for each column and rho / 6 for each pair; the squared sensitivity is 2
    variances = [2 / (2 * 0.1 / 9)] * 7 + [2 / (2 * 0.1 / 6)] * 12
    assert found.se**2 == pytest.approx(np.array(variances) + 1 / 12, rel=1e-3)
    assert np.diag(found.cov) == pytest.approx(found.se**2)
    for cells, noise in ((slice(0, 7), mechanism.column_noise), (slice(7, 19), mechanism.pair_noise)):
        law = noise._integer_law
        assert isinstance(law, RoundedNormalLaw)
        assert np.all((found.interval(0.9).high - found.value)[cells] == law.two_sided_quantile(0.9))
    assert found.loss == Zcdp("1/10")


def test_a_pure_loss_gives_laplace_noise_and_a_generator_a_simulation() -> None:
    mechanism = SpanningTables(Pure(1), SIZES, 1, 1)
    assert isinstance(mechanism.column_noise._integer_law, GeometricLaw)
    found = mechanism.release(
        tables(CELLS), lambda chosen: range(7 + 6 * len(chosen[3:]) - 2), np.random.default_rng(3)
    )
    assert found.loss is None
    assert SIMULATED in found.notes


def test_without_noise_the_tree_is_the_maximum_spanning_tree() -> None:
    """All 16 trees of four columns; the weights are L1 distances from independence, computed here."""
    rng, sizes = np.random.default_rng(2), (2, 3, 2, 4)
    first = rng.integers(0, 2, 4000)
    columns = [first, (first + (rng.random(4000) < 0.3)) % 3, rng.integers(0, 2, 4000)]
    columns.append(columns[2] + 2 * (columns[1] == 1))
    counts = tables(list(zip(*(map(int, column) for column in columns), strict=True)), sizes)
    singles, pairs = counts[:4], dict(zip(combinations(range(4), 2), counts[4:], strict=True))
    distance = {
        (a, b): float(np.abs(table - np.outer(singles[a], singles[b]) / 4000).sum()) for (a, b), table in pairs.items()
    }

    def connects(edges: Any) -> bool:
        reached = {0}
        for _ in edges:
            reached |= {node for edge in edges if reached & set(edge) for node in edge}
        return len(reached) == 4

    best = max(filter(connects, combinations(pairs, 3)), key=lambda edges: sum(distance[edge] for edge in edges))
    chosen: list[Any] = []
    SpanningTables(Zcdp(10**8), sizes, 1, 1).release(counts, lambda named: (chosen.extend(named[4:]), range(40))[1])
    assert chosen == sorted(best)


def test_cells_of_columns_and_pairs_are_counted() -> None:
    assert count_cells(SIZES) == sum(np.size(table) for table in tables([])) == 7 + 6 + 4 + 6
