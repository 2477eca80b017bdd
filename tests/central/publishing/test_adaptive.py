"""AIM: the cost of every sequence of budgets, the sensitivity of scores, and the law of a choice."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tests.central.publishing.test_spanning import CELLS, OTHERS, SIZES, neighbors, tables
from tests.recorder import Meeting, recorded
from toolkit.central.gaussian import Gaussian
from toolkit.central.publishing.adaptive import ROUNDS_PER_COLUMN, AdaptiveTables, _add_measurement, next_budget
from toolkit.core.estimate import SIMULATED
from toolkit.core.loss import Pure, Zcdp


class IndependentModels:
    """A replacement for mbi: the columns of a model are independent, and its size is the number of its tables."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes

    def fit(self, tables: Mapping[Any, tuple[Any, float]]) -> Callable[[Any], Any]:
        columns = [np.maximum(tables[axis,][0], 0) + 1e-9 for axis in range(len(self.sizes))]
        total = float(np.mean([column.sum() for column in columns]))
        shares = [column / column.sum() for column in columns]
        # A table that was measured is that of the model, up to negative cells.
        fitted = {axes: np.maximum(value, 0) for axes, (value, _) in tables.items()}

        def table_of(axes: Any) -> Any:
            product = shares[axes[0]] if len(axes) == 1 else np.outer(shares[axes[0]], shares[axes[1]]).ravel()
            return fitted.get(axes, total * product)

        return table_of

    def megabytes(self, tables: Sequence[Any]) -> float:
        return float(len(tables))


def mechanism_for(relation: str, rho: Any = 1) -> AdaptiveTables:
    people = 2 if relation == "replace" else 1
    return AdaptiveTables(Zcdp(rho), SIZES, people, people)


def labels(chosen: Any) -> range:
    return range(sum(math.prod(SIZES[axis] for axis in axes) for axes in chosen))


class ChangingModels(IndependentModels):
    """Models that never converge."""

    fits = 0

    def fit(self, tables: Mapping[Any, tuple[Any, float]]) -> Callable[[Any], Any]:  # noqa: ARG002
        self.fits += 1
        cells = 1e9 * (self.fits % 2)
        return lambda axes: np.full(math.prod(self.sizes[axis] for axis in axes), cells)


class ConstantModels(IndependentModels):
    """Models that have converged from the beginning."""

    def fit(self, tables: Mapping[Any, tuple[Any, float]]) -> Callable[[Any], Any]:  # noqa: ARG002
        return lambda axes: np.zeros(math.prod(self.sizes[axis] for axis in axes))


@pytest.mark.parametrize("columns", [2, 3, 7])
def test_every_sequence_of_budgets_costs_exactly_rho(columns: int) -> None:
    """All states of all sequences, in exact arithmetic: a round is positive and never exceeds what is left."""
    mechanism = AdaptiveTables(Zcdp("1/10"), (2,) * columns, 1, 1)
    first, rho = mechanism.first_budget, Fraction(1, 10)
    assert first == rho / (16 * columns)
    states, longest = {(rho - columns * first * Fraction(9, 10), first)}, 0
    while states:
        longest += 1
        after = {(remaining - budget, budget) for remaining, budget in states}
        assert min(after)[0] >= 0
        states = {
            (remaining, next_budget(remaining, budget, has_converged=changed))
            for remaining, budget in after
            for changed in (False, True)
            if remaining
        }
        assert all(first <= budget <= remaining for remaining, budget in states)
    assert longest <= ROUNDS_PER_COLUMN * columns


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize("rho", ["1/1000", 1, 1000])
@pytest.mark.parametrize("kind", [IndependentModels, ChangingModels, ConstantModels])
def test_the_mechanisms_of_a_release_cost_at_most_rho(
    relation: str, rho: Any, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cost of each mechanism that is used, from its exact variance or rate."""
    mechanism, people = mechanism_for(relation, rho), 2 if relation == "replace" else 1
    meeting = Meeting(monkeypatch)
    met, _ = meeting.of(lambda: mechanism.release(tables(CELLS), labels, kind(SIZES)))
    costs = [
        Fraction(people) / (2 * one.variance) if isinstance(one, Gaussian) else Fraction(one.zcdp.amount)
        for one in (each.mechanism for each in met)
    ]
    assert [type(each.mechanism).__name__ for each in met[:5]] == ["Gaussian"] * 3 + ["Exponential", "Gaussian"]
    assert Fraction(rho) * (1 - Fraction(1, 2**20)) < sum(costs) <= Fraction(rho)
    rounds = (len(met) - 3) // 2
    assert rounds == {ChangingModels: 45, ConstantModels: 4}.get(kind, rounds)
    assert rounds <= 48


def models() -> list[Any]:
    """Return fixed tables of models, one of which no library should return."""
    rng = np.random.default_rng(4)
    return [
        IndependentModels(SIZES).fit({(axis,): (np.arange(size) + 0.3, 1) for axis, size in enumerate(SIZES)}),
        lambda axes: rng.permutation(math.prod(SIZES[axis] for axis in axes)) / 7,
        lambda axes: np.resize([np.nan, np.inf, -np.inf, -3.7, 1e300], math.prod(SIZES[axis] for axis in axes)),
    ]


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_one_person_moves_a_score_by_no_more_than_its_sensitivity(relation: str) -> None:
    """All neighbors with up to eight rows; the bound is attained."""
    mechanism, largest = mechanism_for(relation), Fraction(0)
    noise, sensitivity = mechanism.noise(mechanism.first_budget), mechanism.selection(Fraction(1)).sensitivity
    assert sensitivity == 2 * mechanism.l1_sensitivity * 2**16
    for model in models():
        fixed = {axes: model(axes) for axes in mechanism.tables}
        for counts, pairs in neighbors(relation):
            scores = [
                [
                    mechanism.score(axes, np.ravel(table), fixed[axes], noise)
                    for axes, table in zip(fixed, one, strict=True)
                ]
                for one in counts
            ]
            assert all(isinstance(score, int) and abs(score) < 2**62 for one in scores for score in one)
            moves = [abs(x - y) for i, j in pairs for x, y in zip(scores[i], scores[j], strict=True)]
            largest = max(largest, max(moves) / sensitivity)
    assert largest == 1


def test_a_score_is_that_of_the_paper() -> None:
    """A distance in rows, less sqrt(2 / pi) sigma n, times the number of columns."""
    mechanism, counts = mechanism_for("add_remove"), tables([*CELLS, (1, 2, 1)])
    noise = mechanism.noise(mechanism.first_budget)
    sigma = math.sqrt(1 / (2 * 0.9 / 48))
    assert noise._integer_law.sd**2 == pytest.approx(sigma**2 + 1 / 12, rel=1e-3), "and the rounding to integers"
    for axes, table in zip(mechanism.tables, counts, strict=True):
        model = np.full(table.size, 13 / table.size)
        expected = len(axes) * (
            np.abs(np.ravel(table) - model).sum() - math.sqrt(2 / math.pi) * noise._integer_law.sd * table.size
        )
        assert mechanism.score(axes, np.ravel(table), model, noise) / 2**16 == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_the_law_of_a_choice_has_the_divergence_of_its_budget(relation: str) -> None:
    """The exact probabilities on neighboring tables: each Rényi divergence is at most order * budget / 10."""
    mechanism, budget, worst = mechanism_for(relation), Fraction(1, 4), 0.0
    noise, selection = mechanism.noise(budget), mechanism.selection(budget)
    model = models()[0]
    for counts, pairs in neighbors(relation):
        logs = []
        for one in counts:
            scores = [
                mechanism.score(axes, np.ravel(table), model(axes), noise)
                for axes, table in zip(mechanism.tables, one, strict=True)
            ]
            weights = np.array([float(selection._rate * (score - max(scores))) for score in scores])
            logs.append(weights - math.log(math.fsum(np.exp(weights))))
            assert np.exp(logs[-1]) == pytest.approx(selection.probabilities(scores), rel=1e-6)
        for order in (1.5, 2, 8):
            for i, j in [*pairs, *((j, i) for i, j in pairs)]:
                terms = np.exp(order * logs[i] + (1 - order) * logs[j])
                divergence = math.log(math.fsum(terms)) / (order - 1)
                worst = max(worst, divergence / (order * float(budget) / 10))
    assert 0.05 < worst <= 1 + 1e-9


@pytest.mark.slow
def test_the_choices_follow_the_law() -> None:
    """The first choice in 500 simulated choices without other noise; a false alarm has a chance of 1e-6."""
    mechanism, rng = mechanism_for("add_remove", 30), np.random.default_rng(6)
    counts, seen = tables([*CELLS, *[(0, 0, 0)] * 6, *[(1, 2, 1)] * 6]), dict.fromkeys(mechanism.tables, 0)
    budget = mechanism.first_budget
    exact = dict(zip(mechanism.tables, (np.ravel(table) for table in counts), strict=True))
    model = IndependentModels(SIZES).fit({axes: (exact[axes], 1) for axes in mechanism.tables[:3]})
    scores = [mechanism.score(axes, exact[axes], model(axes), mechanism.noise(budget)) for axes in exact]
    expected = mechanism.selection(budget).probabilities(scores)
    runs = 500
    for _ in range(runs):
        seen[mechanism.selection(budget).choose(mechanism.tables, np.array(scores), rng=rng)] += 1
    chi_square = sum((seen[axes] - runs * p) ** 2 / (runs * p) for axes, p in zip(exact, expected, strict=True))
    assert chi_square < 38.0  # the quantile 1 - 1e-6 of chi-square with five degrees of freedom is 35.9
    with recorded() as draws:
        mechanism.release(counts, labels, IndependentModels(SIZES))
    assert draws[3].about == tuple(scores), "the first choice of a release has these scores"
    assert draws[3].scale == mechanism.selection(budget)._rate


def test_a_large_table_waits_until_the_budget_allows_its_model() -> None:
    """A model has 1 megabyte per table here, times 30: two pairs fit only after most of the budget is used."""

    class LargeModels(IndependentModels):
        def megabytes(self, tables: Sequence[Any]) -> float:
            return 30.0 * sum(len(axes) == 2 for axes in tables)

    with recorded() as draws:
        mechanism_for("replace").release(tables(CELLS), labels, LargeModels(SIZES))
    sizes = [draw.size for draw in draws if draw.law == "choice"]
    assert (sizes[0], max(sizes)) == (3, 6)
    assert 3 in sizes[:5]


def test_a_table_that_is_measured_twice_is_averaged() -> None:
    """The weights are inverse variances; the standard error of the average is that of both together."""
    mechanism, table, measured = mechanism_for("add_remove"), np.array([40, 2]), dict[Any, Any]()
    noises = [mechanism.noise(mechanism.first_budget), mechanism.noise(8 * mechanism.first_budget)]
    rng, again = np.random.default_rng(3), np.random.default_rng(3)
    for noise in noises:
        _add_measurement(measured, (0,), table, noise, rng)
    values = [np.asarray(noise.release(table, rng=again).value) for noise in noises]
    precisions = [noise._integer_law.sd**-2 for noise in noises]
    assert measured[0,][0] == pytest.approx(np.average(values, axis=0, weights=precisions))
    assert measured[0,][1] == pytest.approx(sum(precisions) ** -0.5)


def test_intervals_are_normal_and_tables_are_in_order() -> None:
    named: list[Any] = []
    with recorded(choices=[5, 3, 0]):
        found = mechanism_for("add_remove", "1/10").release(
            tables(CELLS), lambda chosen: (named.extend(chosen), labels(chosen))[1], IndependentModels(SIZES)
        )
    assert named == [(0,), (1,), (2,), (0, 1), (1, 2)]
    assert found.value.tolist() == [6, 6, 4, 4, 4, 6, 6, *[2] * 12]
    low, high = found.interval(0.95)
    assert high - low == pytest.approx(2 * 1.959964 * found.se)
    assert np.diag(found.cov) == pytest.approx(found.se**2)
    assert found.loss == Zcdp("1/10")


def test_a_generator_makes_a_simulation() -> None:
    found = mechanism_for("replace").release(
        tables(OTHERS[2]), labels, IndependentModels(SIZES), np.random.default_rng(1)
    )
    assert found.loss is None
    assert SIMULATED in found.notes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Pure(1), SIZES, 1, 1), "`loss` must be Zcdp, got Pure"),
        ((Zcdp(1), (3,), 1, 1), "must have at least two entries"),
        ((Zcdp(1), SIZES, 0, 1), "l1_sensitivity"),
        ((Zcdp(1), (0, 2), 1, 1), "axis_sizes"),
    ],
)
def test_wrong_arguments_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        AdaptiveTables(*arguments)


def test_the_description_is_that_of_public_numbers() -> None:
    mechanism = mechanism_for("replace", "12/25")
    facts = mechanism._describe()
    assert (facts["rounds"], facts["first round"]) == ("at most 48", str(Zcdp("1/100")))
    assert isinstance(mechanism.column_noise, Gaussian)
    assert mechanism.tables == ((0,), (1,), (2,), *combinations(range(3), 2))
