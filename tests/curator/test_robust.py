import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.curator.watching import watch
from toolkit.budget.ledger import Ledger
from toolkit.central.robust import Huber, InverseSensitivity, Tukey
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.loss import Pure, Zcdp
from toolkit.curator.curator import Curator

Release = Callable[[Curator, np.random.Generator | None], Estimate]
SMOOTH: dict[str, Release] = {
    "median": lambda c, rng: c.median("x", bounds=(0, 80), method="smooth", missing=40, epsilon="1/10", rng=rng),
    "trimmed mean": lambda c, rng: c.trimmed_mean(
        "x", trim="1/10", bounds=(0, 80), missing=40, epsilon="1/10", rng=rng
    ),
    "iqr": lambda c, rng: c.iqr("x", bounds=(0, 80), missing=40, epsilon="1/10", rng=rng),
}
RELEASES: dict[str, Release] = SMOOTH | {
    "location": lambda c, rng: c.location("x", estimator=Huber(10), bounds=(0, 80), step=1, epsilon="1/10", rng=rng)
}
VALUES = {
    "nan": [np.nan] * 6,
    "one nan": [1.0, np.nan, 3.0, 4.0, 5.0, 6.0],
    "infinite": [np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e308],
    "ordinary": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    "all alike": [7.0] * 6,
    "two clusters": [0.0, 0.0, 0.0, 80.0, 80.0, 80.0],
}


def curator(values: Any, neighbors: str = "replace", ceiling: Any = None) -> Curator:
    frame = values if hasattr(values, "columns") else pd.DataFrame({"x": values})
    return Curator(frame, Ledger(ceiling or Pure(1e6), simulated=True), neighbors)


@pytest.mark.parametrize("name", RELEASES)
def test_every_release_is_charged_once_and_names_its_target(name: str) -> None:
    keeper = curator(np.linspace(0, 80, 50))
    found = RELEASES[name](keeper, None)
    assert keeper.ledger.spent == found.loss == Pure("1/10")
    entry = keeper.ledger.entries()[0]
    target = {"iqr": "interquartile range", "location": "Huber(10) location"}.get(name, name)
    assert entry.label == found.labels[0] == f"{target} of x"
    assert entry.mechanism == ("InverseSensitivity" if name == "location" else "SmoothSensitivity")
    assert found.n == 50
    assert SIMULATED not in found.notes
    drawn = RELEASES[name](keeper, np.random.default_rng(1))
    assert SIMULATED in drawn.notes
    assert drawn.loss is None


@pytest.mark.parametrize("name", RELEASES)
def test_nothing_but_the_number_depends_on_the_data(name: str) -> None:
    """For data of very different scales, nothing differs: no error, warning, shape, standard error, interval, note or
    repr.
    """
    seen = set()
    for values in VALUES.values():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = RELEASES[name](curator(values), None)
        assert np.isfinite(found.value)
        text = repr(found).split(" ", 2)[2]  # all except the number
        seen.add((text, found.notes, found.method, str(found.se), str(found.interval()), found.covers))
    assert len(seen) == 1
    assert "nan" in next(iter(seen))[3]


PEOPLE = [None, -5.0, 0.0, 3.0, 40.0, 41.5, 80.0, 1e9, float("inf")]


@pytest.mark.slow
@pytest.mark.parametrize("name", SMOOTH)
def test_no_person_moves_statistic_and_scale_further_than_the_noise_is_for(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Record and replay: the statistic moves by at most the smaller scale, and the scale by a factor of e**t."""
    seen = watch(monkeypatch)
    for others in ([1.0, 2.0, 30.0, 70.0], [5.0, 5.0, 5.0, 5.0, 5.0], [0.0, 0.0, 80.0, 80.0, np.nan]):
        seen.clear()
        for person in PEOPLE:
            SMOOTH[name](curator(np.array([*others, person], dtype=float)), None)
        for mechanism, one in seen:
            for _, other in seen:
                assert abs(one.value - other.value) <= min(one.smooth_sensitivity, other.smooth_sensitivity)
                assert one.smooth_sensitivity * mechanism._discount <= other.smooth_sensitivity * (
                    1 + Fraction(1, 2**100)
                )


def watched_lengths(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """Return the scores by which a location is chosen."""
    seen: list[np.ndarray] = []
    plain = InverseSensitivity.lengths

    def watched(self: InverseSensitivity, *call: Any) -> Any:
        seen.append(plain(self, *call))
        return seen[-1]

    monkeypatch.setattr(InverseSensitivity, "lengths", watched)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_no_person_moves_a_score_of_a_location_by_more_than_one(
    neighbors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = watched_lengths(monkeypatch)
    for others in ([1.0, 2.0, 30.0, 70.0], [5.0, 5.0, 5.0], [0.0, 0.0, 80.0, 80.0, np.nan], []):
        seen.clear()
        for person in PEOPLE:
            RELEASES["location"](curator(np.array([*others, person], dtype=float), neighbors), None)
        if neighbors == "add_remove":
            RELEASES["location"](curator(np.array(others, dtype=float), neighbors), None)
        for one in seen if neighbors == "replace" else seen[-1:]:
            assert max(int(np.abs(one - other).max()) for other in seen) <= 1


@pytest.mark.parametrize("name", RELEASES)
def test_every_engine_releases_the_same(name: str) -> None:
    data = pd.DataFrame({"x": np.random.default_rng(1).gamma(4, 8, 100)})
    engines = (data, pl.from_pandas(data), pa.Table.from_pandas(data), data.astype(object))
    found = [
        RELEASES[name](Curator(kind, Ledger(Pure(1), simulated=True), "replace"), np.random.default_rng(3))
        for kind in engines
    ]
    assert len({float(one) for one in found}) == 1


def test_releases_are_near_the_truth() -> None:
    """At epsilon = 5 and 4,000 values, each estimate is within a few hundredths of a standard deviation."""
    values = np.random.default_rng(2).gamma(4, 8, 4000)
    keeper, rng = curator(values), np.random.default_rng(5)
    ordered = np.sort(np.clip(values, 0, 80))
    for found, expected in (
        (keeper.median("x", bounds=(0, 80), method="smooth", missing=0, epsilon=5, rng=rng), np.median(values)),
        (
            keeper.trimmed_mean("x", trim="1/10", bounds=(0, 80), missing=0, epsilon=5, rng=rng),
            ordered[400:3600].mean(),
        ),
        (keeper.iqr("x", bounds=(0, 80), missing=0, epsilon=5, rng=rng), ordered[2999] - ordered[999]),
        (keeper.location("x", estimator=Huber(80), bounds=(0, 80), epsilon=5, rng=rng), ordered.mean()),
        (keeper.median("x", bounds=(0, 80), epsilon=5, rng=rng), np.median(values)),
    ):
        assert float(found) == pytest.approx(expected, abs=0.5)


def test_bad_calls_are_refused_before_anything_is_charged() -> None:
    keeper, moving = curator([1.0, 2.0]), curator([1.0, 2.0], "add_remove")
    bounds: Any = (0, 80)
    for error, message, call in (
        (ValueError, "`method` must be one of", lambda: keeper.median("x", bounds=bounds, epsilon=1, method="a")),
        (
            ValueError,
            "`step` must be given only",
            lambda: keeper.median("x", bounds=bounds, epsilon=1, method="smooth", step=1),
        ),
        (ValueError, "`missing` must be given only", lambda: keeper.median("x", bounds=bounds, epsilon=1, missing=1)),
        (ValueError, "the number that replaces missing values", lambda: keeper.iqr("x", bounds=bounds, epsilon=1)),
        (
            ValueError,
            "would be private; write missing=40",
            lambda: keeper.iqr("x", bounds=bounds, epsilon=1, missing="drop"),
        ),
        (ValueError, "needs neighbors='replace'", lambda: moving.iqr("x", bounds=bounds, epsilon=1, missing=0)),
        (ValueError, "at least 2 values", lambda: curator([1.0]).iqr("x", bounds=bounds, epsilon=1, missing=0)),
        (
            ValueError,
            "`trim` must be below 1/2",
            lambda: keeper.trimmed_mean("x", trim=0.5, bounds=bounds, epsilon=1, missing=0),
        ),
        (ValueError, "must be below the upper", lambda: keeper.iqr("x", bounds=(1, 0), epsilon=1, missing=0)),
        (ValueError, "above 0", lambda: keeper.iqr("x", bounds=bounds, epsilon=0, missing=0)),
        (TypeError, "bounded and monotone", lambda: keeper.location("x", estimator=Tukey(3), bounds=bounds, epsilon=1)),
        (TypeError, "got Huber", lambda: keeper.location("x", estimator=Huber, bounds=bounds, epsilon=1)),
        (
            ValueError,
            "`n` must be at least 1",
            lambda: curator([]).median("x", bounds=bounds, epsilon=1, method="smooth", missing=0),
        ),
    ):
        with pytest.raises(error, match=message):
            call()
    assert keeper.ledger.spent == moving.ledger.spent == Pure(0)


def test_a_location_costs_an_eighth_of_epsilon_squared_in_zcdp() -> None:
    """An M-estimate of location under concentrated privacy has the cost of the exponential mechanism."""
    keeper = curator([1.0, 2.0], ceiling=Zcdp(1))
    keeper.location("x", estimator=Huber(1), bounds=(0, 2), epsilon=1)
    assert keeper.ledger.spent == Zcdp("1/8")


def test_rho_buys_the_choice_that_costs_it() -> None:
    keeper = curator([1.0, 2.0], ceiling=Zcdp(1))
    assert keeper.location("x", estimator=Huber(1), bounds=(0, 2), rho="1/8").loss == Pure(1)
    assert keeper.choose([*"ab"], lambda *_: 0, sensitivity=1, rho="1/8") in "ab"
    keeper.median("x", bounds=(0, 2), rho="1/8")
    assert keeper.ledger.spent == Zcdp("3/8")
    for call in (keeper.location, keeper.median):
        more = {"estimator": Huber(1)} if call == keeper.location else {}
        with pytest.raises(ValueError, match="exactly one of `epsilon` and `rho`"):
            call("x", bounds=(0, 2), **more)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_a_location_of_selected_rows_moves_its_scores_by_at_most_one(
    neighbors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This holds for a person who is replaced, added or removed, inside or outside the selection."""
    seen = watched_lengths(monkeypatch)
    others = [(1.0, "a"), (30.0, "a"), (70.0, "b")]
    people = [(x, g) for x in (0.0, 80.0, np.nan) for g in "ab"]
    for rows in [[*others, one] for one in people] + [others] * (neighbors == "add_remove"):
        table = pd.DataFrame(rows, columns=["x", "g"])
        keeper = Curator(table, Ledger(Pure(100)), neighbors)
        found = keeper.location("x", estimator=Huber(10), bounds=(0, 80), step=1, where={"g": "a"}, epsilon=1)
        assert found.release.query["where"] == "g = 'a'"
    against = seen if neighbors == "replace" else seen[-1:]
    moves = [np.abs(one - other).max() for one in seen for other in against]
    assert max(moves) == 1
    assert np.array_equal(seen[1], seen[3])  # two people who are not in the group


def test_medians_of_groups_and_of_some_rows_are_those_of_quantiles() -> None:
    table = pd.DataFrame({"x": [10.0] * 200 + [60.0] * 200, "g": ["a"] * 200 + ["b"] * 200})
    keeper = Curator(table, Ledger(Pure(100)), "replace")
    found = keeper.median("x", bounds=(0, 80), step=1, by={"g": ["a", "b"]}, epsilon=10)
    assert found.value == pytest.approx([10, 60], abs=1)
    one = keeper.median("x", bounds=(0, 80), step=1, where={"g": "b"}, epsilon=10)
    assert float(one) == pytest.approx(60, abs=1)
    with pytest.raises(ValueError, match="method='smooth' takes `epsilon`, and no `where`"):
        keeper.median("x", bounds=(0, 80), method="smooth", missing=0, where={"g": "b"}, epsilon=1)


GROUPS = pd.DataFrame({"x": [10.0, np.nan] * 200 + [60.0] * 400, "g": ["a"] * 400 + ["b"] * 400})


@pytest.mark.parametrize(("neighbors", "parts"), [("replace", 2), ("add_remove", 1)])
def test_locations_of_groups_are_one_charge_with_their_keys(neighbors: str, parts: int) -> None:
    keeper = Curator(GROUPS, Ledger(Zcdp(10)), neighbors)
    more: dict[str, Any] = {"estimator": Huber(5), "bounds": (0, 80), "step": 1}
    found = keeper.location("x", by={"g": ["b", "a", "nobody"]}, epsilon=8, **more)
    assert (found.axes, found.labels) == (("g",), ("b", "a", "nobody"))
    assert found.value[:2] == pytest.approx([60, 10], abs=2)
    assert 0 <= found.value[2] <= 80
    assert np.isnan(found.se).all()
    # ln(81 * 20) * 2 / epsilon of a group, rounded up
    assert found.notes[0].startswith("separately in each of 3 groups: with probability 95 % it is the Huber(5) ")
    assert f"in at most {(4 if parts == 2 else 2)} people" in found.notes[0]
    (entry,) = keeper.ledger.entries()
    assert entry.label == "Huber(5) location of x by g (3)"
    assert (found.loss, entry.charged) == (Pure(8), Zcdp(parts * (Fraction(8, parts)) ** 2 / 8))
    assert keeper.location("x", by={"g": ["a", "b"]}, rho=1, **more).loss.to_zcdp().amount >= 1
    assert 0.999 < float(keeper.ledger.entries()[1].charged.amount) <= 1
    assert keeper.location("x", by={"g": ["a"]}, epsilon=1, **more).release.query["by"] == {"g": ["a"]}
    preview = keeper.preview.location("x", by={"g": ["a", "b"]}, epsilon="1/2", **more)
    assert preview.loss == Pure("1/2")
    assert len(keeper.ledger.entries()) == 3


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_the_scores_of_two_groups_move_by_one_row_each_at_most(neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each choice for a group has 1/2 of epsilon if two choices can move."""
    seen = watched_lengths(monkeypatch)
    others = [(1.0, "a"), (30.0, "a"), (70.0, "b"), (np.inf, "c")]
    people = [(x, g) for x in (0.0, 80.0, np.nan) for g in "abc"]
    runs = []
    for rows in [[*others, one] for one in people] + [others] * (neighbors == "add_remove"):
        seen.clear()
        keeper = Curator(pd.DataFrame(rows, columns=["x", "g"]), Ledger(Pure(100)), neighbors)
        keeper.location("x", estimator=Huber(10), bounds=(0, 80), step=1, by={"g": ["a", "b"]}, epsilon=1)
        runs.append(list(seen))
    pairs = [(one, other) for one in runs for other in (runs if neighbors == "replace" else runs[-1:])]
    moves = {tuple(int(np.abs(x - y).max()) for x, y in zip(*pair, strict=True)) for pair in pairs}
    assert moves == {(0, 0), (0, 1), (1, 0)} | ({(1, 1)} if neighbors == "replace" else set())


@pytest.mark.parametrize(
    ("neighbors", "by", "people"),
    [("replace", None, 15), ("replace", {"g": ["a", "b"]}, 30), ("add_remove", {"g": ["a", "b"]}, 15)],
)
def test_a_location_has_half_of_epsilon_only_where_two_groups_move(neighbors: str, by: Any, people: int) -> None:
    keeper = Curator(pd.DataFrame({"x": [1.0, 30.0], "g": ["a", "b"]}), Ledger(Pure(100)), neighbors)
    found = keeper.location("x", estimator=Huber(10), bounds=(0, 80), step=1, by=by, epsilon=1)
    assert f"in at most {people} people" in found.notes[0]  # 2 ln(81 * 20) = 14.8, or twice that


def test_several_rows_a_person_widen_the_choice_of_a_location(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three rows move a length by three, in one group or in several; each row has a third of epsilon."""
    seen = watched_lengths(monkeypatch)
    others = [(f"p{place}", value, "a") for place, value in enumerate((1.0, 30.0, 70.0, 70.0, 70.0))]
    mine = [[("me", 0.0, "a")] * 3, [("me", 0.0, "a")] * 9, [("me", 80.0, g) for g in "aab"], []]
    runs = []
    for rows in mine:
        seen.clear()
        table = pd.DataFrame([*others, *rows], columns=["id", "x", "g"])
        keeper = Curator(table, Ledger(Pure(100)), "add_remove", person="id", rows=3)
        found = keeper.location("x", estimator=Huber(10), bounds=(0, 80), step=1, by={"g": ["a", "b"]}, epsilon=3)
        runs.append(list(seen))
    assert found.loss == Pure(3)
    assert "in at most 15 rows" in found.notes[0]  # 2 * 3 / 3 * ln(81 * 20)
    moves = [sum(int(np.abs(x - y).max()) for x, y in zip(one, runs[-1], strict=True)) for one in runs]
    assert max(moves) == 3


@pytest.mark.parametrize(("neighbors", "ranks"), [("replace", 25), ("add_remove", 12)])
def test_the_rank_error_of_a_median_is_halved_under_add_remove(neighbors: str, ranks: int) -> None:
    """Epsilon / 2 per rank under "replace"; adding or removing a person moves a rank by 1/2."""
    found = curator(np.arange(80.0), neighbors).median("x", bounds=(0, 80), step=1, epsilon="5/6")
    assert found.notes == (f"with probability 95 % at most {ranks} values lie between it and its true quantile",)
