import itertools
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chi2

from toolkit.budget import BudgetError, Ledger
from toolkit.central.laplace import Laplace
from toolkit.central.selection import Exponential
from toolkit.core.arrays import object_array
from toolkit.core.loss import Pure, Zcdp
from toolkit.learning import choosing
from toolkit.learning.choosing import best_of, choose_classifier, count_correct
from toolkit.learning.tables import target_column


def law_of_best(probabilities: Sequence[Fraction | str], stop: Fraction | float | str) -> list[Fraction]:
    """With which probability each outcome of a run is the best, outcomes in the order of their scores.

    With c the probability that a run is not better than an outcome, the best of all is not better with
    probability stop c / (1 - (1 - stop) c).
    """
    chance, below, law = Fraction(str(stop)), Fraction(0), list[Fraction]()
    reached = Fraction(0)
    for share in probabilities:
        below += Fraction(share)
        through = chance * below / (1 - (1 - chance) * below)
        law.append(through - reached)
        reached = through
    return law


class Fixed:
    """A classifier that says what it was told to."""

    def __init__(self, labels: object) -> None:
        self.labels = labels

    def predict(self, _: object) -> object:
        if isinstance(self.labels, Exception):
            raise self.labels
        return self.labels


def test_the_ledger_is_charged_before_a_row_is_read() -> None:
    ledger, read = Ledger(Zcdp(1), neighbors="replace"), []

    class Reading(Fixed):
        def predict(self, _: object) -> object:
            read.append(ledger.spent)
            return self.labels

    choose_classifier([Reading([1, 1])], [[0]] * 2, [1, 1], epsilon=1, ledger=ledger)
    assert read == [Zcdp("1/8")]
    with pytest.raises(BudgetError):
        choose_classifier([Reading([1, 1])], [[0]] * 2, [1, 1], epsilon=9, ledger=ledger)
    assert len(read) == 1


@pytest.mark.parametrize("bad", [ValueError("x = 3"), [1, 1], np.ones((50, 2)), [None] * 50, ["a"] * 50])
def test_a_candidate_that_fails_has_no_right_answer_and_nothing_is_said(bad: object) -> None:
    good = Fixed([1] * 50)
    assert choose_classifier([Fixed(bad), good], [[0]] * 50, [1] * 50, epsilon=2) is good


class Strict:
    """Says 1 of every row, and refuses rows with a missing number, as scikit-learn does."""

    def predict(self, rows: object) -> object:
        if np.isnan(np.asarray(rows, dtype=float)).any():
            raise ValueError("Input contains NaN")
        return np.ones(len(rows), dtype=int)


@pytest.mark.parametrize("make", [np.array, pd.DataFrame, partial(pl.DataFrame, orient="row"), list])
def test_one_row_or_label_moves_the_number_of_right_answers_by_one(make: Any) -> None:
    """Also where a candidate refuses a table for one row of it, and where one label is of another type."""
    rows = [[1.0, 2.0]] * 20
    assert count_correct([Strict()], make(rows), [1] * 20) == [20]
    assert count_correct([Strict()], make([[math.nan, 2.0], *rows[1:]]), [1] * 20) == [19]
    for label in (0, None, "x", math.nan, pd.NA, [1]):
        assert count_correct([Strict()], make(rows), [label, *[1] * 19]) == [19]
        assert count_correct([Strict()], make([[math.nan, 2.0], *rows[1:]]), [label, *[1] * 19]) == [19]


class Echo:
    """Says of each row what stands in it, as a list, an array of objects, or whatever numpy makes of it."""

    def __init__(self, made: Any) -> None:
        self.made = made

    def predict(self, rows: Any) -> Any:
        return self.made([row[0] for row in rows])


MIXED: list[Any] = [1, 0, "1", "x", 1.0, True, None, math.nan, np.int8(1), np.str_("x"), 2**63, [1], (1,)]


@pytest.mark.slow
@pytest.mark.parametrize("made", [list, object_array, tuple], ids=["list", "objects", "tuple"])
@pytest.mark.parametrize("columns", [list, object_array], ids=["list", "objects"])
def test_a_person_changes_scores_by_at_most_the_charged_sensitivity(
    made: Any, columns: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tables of two people beside ten others, with one replaced by any other row and label: what the
    mechanism is handed moves by at most 1, its sensitivity. An array of numbers and one text is all text.
    """
    handed: list[list[int]] = []
    monkeypatch.setattr(
        Exponential, "choose", lambda _, options, scores, **__: handed.append(list(scores)) or options[0]
    )
    crowd = [(1, 1)] * 10

    def scores(*people: tuple[Any, Any]) -> np.ndarray:
        rows, labels = zip(*people, *crowd, strict=True)
        candidates = [Echo(made), Fixed([1] * 12), Fixed(made([1, "x"] * 6)), Fixed(made(["1"] * 12))]
        choose_classifier(candidates, [[row] for row in rows], columns(labels), epsilon=1)
        return np.array(handed.pop())

    everyone = list(itertools.product(MIXED, repeat=2))
    for first in everyone[::29]:
        found = np.array([scores(first, person) for person in everyone])
        assert np.ptp(found, axis=0).max() <= 1
        assert found.min(axis=0).tolist() >= [10, 10, 5, 0]


@pytest.mark.parametrize("make", [pd.Series, np.array, list, lambda y: pd.Series(y, dtype="Int64")])
def test_labels_may_come_in_any_column(make: Any) -> None:
    assert chosen_scores(np.zeros((3, 1)), make([1, 0, 1])) == [2]
    assert chosen_scores(np.zeros((3, 1)), pd.Series(["1", "0", "1"])) == [0]


def chosen_scores(rows: Any, labels: Any) -> list[int]:
    return count_correct([Strict()], rows, target_column(labels).column.cells())


def test_what_is_no_classifier_is_refused() -> None:
    with pytest.raises(TypeError, match="`candidates` must be fitted classifiers, got none"):
        choose_classifier([], [[0]], [1], epsilon=1)
    with pytest.raises(TypeError, match="got one without `predict`"):
        choose_classifier([object()], [[0]], [1], epsilon=1)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        choose_classifier([Fixed([1])], [[0]], np.array([[1, 2]]), epsilon=1)


def test_best_of_books_three_times_epsilon_before_the_first_run() -> None:
    ledger, seen = Ledger(Pure(1)), []

    def run() -> tuple[int, str]:
        seen.append(ledger.spent)
        return 1, "model"

    assert best_of(run, epsilon="1/10", neighbors="replace", ledger=ledger) == (1, "model")
    (entry,) = ledger.entries()
    assert (entry.loss, entry.mechanism, entry.neighbors) == (Pure("3/10"), "best_of", "replace")
    assert set(seen) == {Pure("3/10")}
    with pytest.raises(BudgetError):
        best_of(run, epsilon="3/10", neighbors="replace", ledger=ledger)


@pytest.mark.slow
def test_the_best_of_a_geometric_number_of_runs_has_its_law() -> None:
    """Runs with outcomes 0, 1, 2 at 1/2, 1/4, 1/4; 2,000 bests against the law, false alarms 1e-6."""
    rng = np.random.default_rng(8)
    seen = np.zeros(3)
    for _ in range(2000):
        score, output = best_of(
            lambda: (outcome := int(rng.choice(3, p=[0.5, 0.25, 0.25])), f"{outcome}"),
            epsilon=1,
            stop="1/3",
            neighbors="replace",
            rng=rng,
        )
        assert output == str(score)
        seen[score] += 1
    expected = 2000 * np.array([float(share) for share in law_of_best(["1/2", "1/4", "1/4"], "1/3")])
    assert expected.sum() == pytest.approx(2000)
    assert chi2.sf(((seen - expected) ** 2 / expected).sum(), 2) > 1e-6


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_three_epsilon_is_never_passed_and_is_reached(epsilon: float) -> None:
    """Over pairs of laws of one run with three outcomes, each within epsilon, and over `stop`: the outcome
    between falls by e**epsilon itself, and by nearly e**(2 epsilon) because better ones rise.
    """
    worst, up, down = 0.0, math.exp(epsilon), math.exp(-epsilon)
    for middle, top, stop in itertools.product((1e-1, 1e-4, 1e-7), (0.01, 0.1, 0.3), (0.5, 1e-3, 1e-6)):
        first = [1 - middle - top, middle, top]
        for one, other in itertools.product((up, down), repeat=2):
            second = [1 - middle * one - top * other, middle * one, top * other]
            if second[0] > 0 and down <= second[0] / first[0] <= up:
                laws = [law_of_best([Fraction(share) for share in law], stop) for law in (first, second)]
                worst = max(worst, *(abs(math.log(a / b)) for a, b in zip(*laws, strict=True)))
    assert 2.99 * epsilon < worst <= 3 * epsilon + 1e-9


def best_of_scores(monkeypatch: pytest.MonkeyPatch, scores: list[Any]) -> int:
    """Which of some runs `best_of` keeps, where it ends after the last of them."""
    runs = iter([(score, place) for place, score in enumerate(scores)])
    coins = iter([*[1] * (len(scores) - 1), 0])
    monkeypatch.setattr(choosing, "big_below", lambda *_: next(coins))
    return best_of(lambda: next(runs), epsilon=1, stop="1/2", neighbors="replace")[1]


def exact_law(step: dict[tuple[int, int], int], run: list[Fraction], stop: Fraction) -> list[Fraction]:
    """Of the best when after each run it ends with probability `stop`: stop (1 - (1 - stop) T)^-1 run, where
    T moves from the best so far to the next by `step`; solved in fractions.
    """
    size = len(run)
    rows = [[Fraction(i == j) for j in range(size)] + [stop * run[i]] for i in range(size)]
    for (best, other), kept in step.items():
        rows[kept][best] -= (1 - stop) * run[other]
    for i in range(size):
        pivot = next(j for j in range(i, size) if rows[j][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [entry / rows[i][i] for entry in rows[i]]
        for j in range(size):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


SCORES: list[list[Any]] = [
    [math.nan, 0, 1, 2],
    [math.nan, -math.inf, 0, 1],
    [Decimal("sNaN"), 0.0, None, Fraction(1, 3)],
    [np.float64("nan"), 2, 10**400, "text"],
]


@pytest.mark.slow
@pytest.mark.parametrize("scores", SCORES, ids=str)
def test_the_law_of_the_best_costs_three_epsilon_whatever_the_scores(
    scores: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All orders of four scores: the step from the best so far to the next is `best_of`'s own. Over pairs of
    laws of one run within e, every outcome's probability is within e**3, with a NaN that comes first too.
    """
    step = {
        (best, other): (best, other)[best_of_scores(monkeypatch, [scores[best], scores[other]])]
        for best, other in itertools.product(range(4), repeat=2)
    }
    for order in itertools.product(range(4), repeat=4):
        kept = order[best_of_scores(monkeypatch, [scores[place] for place in order])]
        assert kept == reduce(lambda best, other: step[best, other], order)
    up, down, worst = Fraction(271828, 100000), Fraction(100000, 271828), 0.0
    small = (Fraction(1, 10**7), Fraction(1, 10**4), Fraction(1, 20))
    for place, shares in itertools.product(range(4), itertools.permutations(small)):
        for moves in itertools.product((up, down), repeat=3):
            moved = [share * move for share, move in zip(shares, moves, strict=True)]
            # The rest is at one place, and moves by less.
            first, second = ([*law[:place], 1 - sum(law), *law[place:]] for law in (list(shares), moved))
            assert down <= second[place] / first[place] <= up
            for stop in (Fraction(1, 10**9), Fraction(1, 100)):
                pairs = zip(exact_law(step, first, stop), exact_law(step, second, stop), strict=True)
                worst = max(worst, *(abs(math.log(a / b)) for a, b in pairs))
    assert 2.9 < worst <= 3


def test_nan_is_the_worst_score_wherever_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    for scores in itertools.permutations([math.nan, -1.0, -2.0]):
        assert scores[best_of_scores(monkeypatch, list(scores))] == -1.0
    assert best_of_scores(monkeypatch, [math.nan, math.nan]) == best_of_scores(monkeypatch, [0.5, "7"]) == 0
    assert best_of_scores(monkeypatch, [0.5, Laplace.for_epsilon(10**6).release(1)]) == 1


def test_a_number_of_runs_that_is_not_random_is_refused() -> None:
    for stop in (0, 1):
        with pytest.raises(ValueError, match="`stop` must lie strictly between 0 and 1"):
            best_of(lambda: (1, 1), epsilon=1, stop=stop, neighbors="replace")
    with pytest.raises(ValueError, match="`neighbors` must be one of"):
        best_of(lambda: (1, 1), epsilon=1, neighbors="any")


def test_of_equal_runs_the_first_is_told() -> None:
    for seed in range(5):
        runs = iter([(0, "low"), (1, "first"), *((1, "later") for _ in range(10**4))])
        found = best_of(
            lambda runs=runs: next(runs), epsilon=1, stop="1/1000", neighbors="replace", rng=np.random.default_rng(seed)
        )
        assert found == (1, "first")
