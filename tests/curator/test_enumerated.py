"""Methods that choose: the exact distribution of the release, or the exact change of the scores.

Each random number that a method requests takes every possible value with its probability, so the distribution covers
everything from the call to the estimate. For several quantiles, whose random digits are too many for this, the test
shows that one person changes one value of the input of `RecursiveQuantiles`, whose distribution is enumerated in
`tests/central/publishing/test_quantiles.py`.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.curator.verbs import curator
from toolkit.central.publishing.quantiles import RecursiveQuantiles
from toolkit.central.robust import Huber
from toolkit.central.selection import Exponential
from toolkit.core.loss import Pure
from toolkit.curator import quantiles
from toolkit.curator.curator import Curator
from toolkit.frames.engines.sql import DuckDbTable
from toolkit.frames.values import between

RELATIONS = ["replace", "add_remove"]
PEOPLE = [(0.0, "a"), (16.0, "b"), (np.nan, "c"), (1.0, "c")]
OTHERS = [[], [PEOPLE[3]], [PEOPLE[0]] * 12]
GRID: dict[str, Any] = {"bounds": (0, 16), "step": 1}
VERBS: dict[str, Callable[[Curator, int], Any]] = {
    "top": lambda c, epsilon: c.top("g", 2, options=["a", "b", "c"], epsilon=epsilon),
    "choose": lambda c, epsilon: c.choose([*"abc"], _how_many, sensitivity=1, epsilon=epsilon),
}
LARGEST = {
    ("top", "replace"): 0.9779,
    ("top", "add_remove"): 0.9971,
    ("choose", "replace"): 0.9965,
    ("choose", "add_remove"): 0.4984,
}
"""The largest log ratio at epsilon = 1, by this enumeration. `choose` cannot know that counts move in one
direction under "add_remove".
"""


def _how_many(frame: pd.DataFrame, candidate: str) -> float:
    return float((frame["g"] == candidate).sum())


def frame_of(people: Sequence[tuple[float, str]]) -> pd.DataFrame:
    return pd.DataFrame(list(people), columns=["x", "g"]).astype({"x": float, "g": "str"})


class Tape:
    """Choices in the order in which they are requested; the tests go through all tapes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._written: list[int] = []
        self._asked: list[list[float]] = []

        def choose(one: Exponential, candidates: Any, scores: Any, **_: Any) -> Any:
            return candidates[self._next(one.probabilities(scores).tolist())]

        monkeypatch.setattr(Exponential, "choose", choose)

    def law(self, run: Callable[[], Any]) -> dict[str, float]:
        found: dict[str, float] = defaultdict(float)
        self._written = []
        while True:
            self._asked = []
            seen = run()
            key = seen if isinstance(seen, str) else str((np.ravel(seen.value).tolist(), seen.labels))
            found[key] += math.prod(p[i] for p, i in zip(self._asked, self._written, strict=True))
            while self._written and self._written[-1] == len(self._asked[len(self._written) - 1]) - 1:
                self._written.pop()
            if not self._written:
                return found
            self._written[-1] += 1

    def _next(self, chances: list[float]) -> int:
        self._asked.append(chances)
        if len(self._asked) > len(self._written):
            self._written.append(0)
        return self._written[len(self._asked) - 1]


def worst(
    verb: Callable[[Curator, int], Any],
    neighbors: str,
    epsilon: int,
    tape: Tape,
    engine: Callable[[pd.DataFrame], Any] = lambda frame: frame,
) -> float:
    """Return the largest log ratio over all outputs, for all data of the others and all changes of one person."""
    ratios = []
    for others in OTHERS:
        frames = [frame_of([*others, one]) for one in PEOPLE] + [frame_of(others)] * (neighbors != "replace")
        laws = [tape.law(lambda f=one: verb(curator(f, neighbors), epsilon)) for one in map(engine, frames)]
        assert all(sum(law.values()) == pytest.approx(1) for law in laws)
        assert len({tuple(sorted(law)) for law in laws}) == 1
        against = laws if neighbors == "replace" else laws[-1:]
        ratios += [abs(math.log(x[seen] / y[seen])) for x in laws for y in against for seen in x]
    return max(ratios)


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("name", VERBS)
def test_no_choice_becomes_more_than_e_to_the_epsilon_times_likelier(
    name: str, neighbors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The enumeration covers everything that a method chooses from neighboring tables."""
    tape = Tape(monkeypatch)
    found = worst(VERBS[name], neighbors, 1, tape)
    assert found <= 1
    assert found == pytest.approx(LARGEST[name, neighbors], abs=1e-4)


@pytest.mark.slow
def test_what_is_chosen_from_counts_of_duckdb_has_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDbTable, "batches", None)  # no row is in this group

    def engine(frame: pd.DataFrame) -> Any:
        return duckdb.connect().from_arrow(pa.Table.from_pandas(frame, preserve_index=False))

    found = worst(VERBS["top"], "add_remove", 1, Tape(monkeypatch), engine)
    assert found == pytest.approx(LARGEST["top", "add_remove"], abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", VERBS)
def test_the_same_enumeration_convicts_a_choice_with_twice_the_rate(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert worst(VERBS[name], "replace", 2, Tape(monkeypatch)) > 1.4


@pytest.mark.slow
@pytest.mark.parametrize(("neighbors", "largest"), [("replace", 0.3388), ("add_remove", 0.4637)])
def test_locations_of_groups_keep_epsilon_together(
    neighbors: str, largest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The joint distribution for both groups; adding or removing a person moves all lengths of these tables in one
    direction, which costs half of the charge.
    """

    def verb(keeper: Curator, epsilon: int) -> Any:
        by = {"g": ["a", "b"]}
        return keeper.location("x", estimator=Huber(1), bounds=(0, 16), step=8, by=by, epsilon=epsilon)

    assert worst(verb, neighbors, 1, Tape(monkeypatch)) == pytest.approx(largest, abs=1e-4)


LISTS: dict[str, Callable[[Curator], Any]] = {
    "median": lambda c: c.median("x", **GRID, epsilon=1),
    "quantiles": lambda c: c.quantile("x", [0.25, 0.5], **GRID, epsilon=1),
    "quantiles where": lambda c: c.quantile("x", [0.5], **GRID, where={"x": between(0, 1)}, epsilon=1),
    "quantile where": lambda c: c.quantile("x", 0.5, **GRID, where={"g": ["a", "c"]}, epsilon=1),
    "quantiles by": lambda c: c.quantile("x", [0.5, 0.75], **GRID, by={"g": ["a", "b"]}, epsilon=1),
}


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("name", LISTS)
def test_one_person_moves_one_value_of_what_quantiles_are_chosen_from(
    name: str, neighbors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    met: list[tuple[RecursiveQuantiles, Counter[int]]] = []

    def choose(one: RecursiveQuantiles, values: Any, most: int, _: Any = None) -> list[int]:
        met.append((one, Counter(values.tolist())))
        return [most // 2] * len(one.quantiles)

    monkeypatch.setattr(RecursiveQuantiles, "choose", choose)
    monkeypatch.setattr(  # the random digits of each row
        quantiles, "words", lambda count, bits, _: np.arange(count, dtype=np.uint64) << np.uint64(bits - 4)
    )
    runs, told = [], set()
    others = [(1.0, "a"), (0.0, "b"), (np.nan, "a")]
    rows = [[*others, one] for one in PEOPLE] + [others] * (neighbors == "add_remove")
    for people in rows:
        met.clear()
        found = LISTS[name](curator(frame_of(people), neighbors))
        told.add(str((found.value, found.se, found.labels, found.notes, found.method, found.release.noise)))
        runs.append(list(met))
    assert len(told) == 1
    groups = 2 if name == "quantiles by" else 1
    for mechanism, _ in (one for run in runs for one in run):
        assert (mechanism.loss, mechanism.neighbors, mechanism.rows_per_person) == (Pure(1), neighbors, 1)
        assert mechanism.is_grouped == (groups == 2)
    moves = {
        (sum(gone.total() for gone, _ in moved), sum(came.total() for _, came in moved))
        for one in runs
        for other in (runs if neighbors == "replace" else runs[-1:])
        for moved in [[(x - y, y - x) for (_, x), (_, y) in zip(one, other, strict=True)]]
    }
    assert all(len(run) == groups for run in runs)
    assert moves == ({(0, 0), (0, 1), (1, 0), (1, 1)} if neighbors == "replace" else {(0, 0), (1, 0)})
