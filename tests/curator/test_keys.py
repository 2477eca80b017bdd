"""Keys that are not listed in advance, limits, and the most frequent values; and hostile calls of all three."""

import datetime as dt
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.curator.hostile import CELLS
from tests.curator.verbs import REGIONS, curator, people
from tests.curator.watching import watch
from toolkit.budget.ledger import Ledger
from toolkit.core.estimate import SIMULATED
from toolkit.core.loss import Approx, Pure, Zcdp
from toolkit.curator.curator import Curator
from toolkit.frames.values import between


def column(values: Any) -> Curator:
    return curator(pd.DataFrame({"city": values}))


def test_frequent_keys_are_found_and_can_split_a_table() -> None:
    keeper = curator(people(3000))
    found = keeper.keys("region", epsilon=1, delta=1e-6)
    assert set(found.labels) == {*REGIONS, "elsewhere"}
    assert found.axes == ("region",)
    assert found.loss == Approx(1, 1e-6)
    assert found.release.query["keys"] == "found"
    assert found.release.noise["threshold"] == 28
    assert keeper.ledger.entries()[0].label == "keys of region"
    assert keeper.count(by={"region": found.labels}, epsilon=1).labels == found.labels


def test_a_key_of_one_person_does_not_show() -> None:
    """At delta = 1e-12, an unexpected key appears in ten releases with probability below 1e-11."""
    keeper = column(["common"] * 500 + ["Bob"])
    assert all(keeper.keys("city", epsilon=1, delta=1e-12).labels == ("common",) for _ in range(10))


@pytest.mark.parametrize(("ceiling", "words"), [(Zcdp(10), "no ρ bounds it"), (Pure(10), "it has a δ")])
def test_a_ledger_that_cannot_count_delta_refuses_before_anything_is_read(ceiling: Any, words: str) -> None:
    keeper = Curator(pd.DataFrame({"city": ["a"]}), Ledger(ceiling), "replace")
    with pytest.raises(ValueError, match=words):
        keeper.keys("city", epsilon=1, delta=1e-6)
    with pytest.raises(ValueError, match="`delta` must be given for unknown keys, got none"):
        keeper.keys("city", epsilon=1)
    assert keeper.ledger.entries() == ()


def test_gaussian_noise_is_bought_with_rho_and_delta() -> None:
    found = curator(people(3000)).keys("region", rho="1/50", delta=1e-6)
    assert found.release.noise["noise"] == "Gaussian"
    assert found.loss.delta == 1e-6
    assert found.loss <= Approx(1, 1e-6)


DATES = [dt.date(2024, 1, 1), dt.date(1960, 5, 5)]
KINDS: dict[str, tuple[Any, list[Any]]] = {
    "text": (["b", "a"], ["a", "b"]),
    "whole": ([7, -2], [-2, 7]),
    "float": ([0.5, 3.0], [0.5, 3]),
    "truth": ([True, False], [False, True]),
    "dates": (DATES, sorted(DATES)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_every_kind_of_column_can_be_asked_for_again(kind: str) -> None:
    values, expected = KINDS[kind]
    listed = [value for value in values for _ in range(200)]
    frames = [
        pl.DataFrame({"city": listed}),
        pa.table({"city": listed}),
        pd.DataFrame({"city": pd.Series(listed, dtype=object)}),
    ]
    frames += [pd.DataFrame({"city": listed})] if kind != "dates" else []
    frames += [pd.DataFrame({"city": pd.Categorical(listed)})] if kind == "text" else []
    for frame in frames:
        keeper = curator(frame)
        found = keeper.keys("city", epsilon=20, delta=1e-6)
        assert sorted(found.labels) == expected
        assert found.value.tolist() == pytest.approx([200] * 2, abs=4)
        assert len(keeper.count(by={"city": found.labels}, epsilon=1).value) == 2


def test_equal_numbers_of_different_types_are_one_key_whoever_comes_first() -> None:
    for values in ([1, 1.0, np.int8(1), True] * 50, [True, np.int8(1), 1.0, 1] * 50):
        found = column(pd.Series(values, dtype=object)).keys("city", epsilon=20, delta=1e-6)
        assert [(type(label), label) for label in found.labels] == [(int, 1)]
    zero = column([0.0, -0.0] * 100).keys("city", epsilon=20, delta=1e-6)
    assert repr(zero.labels) == "(0,)"


@pytest.mark.filterwarnings("error")
def test_cells_that_raise_and_missing_ones_are_no_keys() -> None:
    strange = [*CELLS.values(), None, np.nan, pd.NA, pd.NaT, float("inf"), "x" * 10**6]
    values = np.full(200, "a", dtype=object)
    for place, cell in enumerate(strange):
        values[place] = cell
    found = column(values).keys("city", epsilon=5, delta=1e-12)
    assert found.labels == ("a",)


@pytest.mark.parametrize("values", [pd.to_datetime(["2024-01-01 10:00"] * 3), [[1], [2]]])
def test_a_type_that_holds_no_keys_is_refused_before_the_charge(values: Any) -> None:
    frame = pl.DataFrame({"city": values}) if isinstance(values, list) else pd.DataFrame({"city": values})
    keeper = curator(frame)
    with pytest.raises(TypeError, match="must hold text, numbers, truth values or dates"):
        keeper.keys("city", epsilon=1, delta=1e-6)
    assert keeper.ledger.entries() == ()


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_one_person_moves_the_counts_of_keys_by_what_the_noise_is_for(
    neighbors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Record and replay with two keys per person: all rows of a person are changed, and the counts of others stay the
    same.
    """
    seen = watch(monkeypatch)
    others = [("p", "a"), ("p", "b"), ("p", "c"), ("q", "a"), (None, "a"), (None, "d")]
    mine = [[("me", key) for key in keys] for keys in ("aaaa", "xyz", "abc", "", "zzx", "ab")]
    keeper = curator(pd.DataFrame({"id": ["p"], "city": ["a"]}), neighbors, person="id", rows=3, groups=2)
    for rows in mine:
        frame = pd.DataFrame([*others, *rows], columns=["id", "city"])
        again = curator(frame, neighbors, person="id", rows=3, groups=2)
        persons = replace(again._unit.persons, key=keeper._unit.persons.key)
        again._unit = replace(again._unit, persons=persons)
        again.keys("city", epsilon=1, delta=1e-6)
    assert {mechanism.keys_per_person for mechanism, _ in seen} == {2}
    everything = {key for _, counts in seen for key in counts}

    def apart(one: dict[Any, int], other: dict[Any, int]) -> int:
        return sum(abs(one.get(key, 0) - other.get(key, 0)) for key in everything)

    without = seen[3][1]
    assert sum(without.values()) == 3  # two keys of p, one of q, none of the others
    most = max(apart(one, other) for _, one in seen for _, other in seen)
    assert most == 4
    assert max(apart(one, without) for _, one in seen) == 2
    assert seen[0][0].noise.sensitivity == (4 if neighbors == "replace" else 2)


def test_where_keeps_rows_of_unknown_keys() -> None:
    keeper = curator(people(3000))
    found = keeper.keys("region", where={"age": between(18, 30)}, epsilon=20, delta=1e-6)
    assert max(found.value) < 300
    assert found.release.query["where"] == "age between 18 and 30"


def test_bounds_are_usable_as_bounds() -> None:
    """Of 7, 56, 1149 and 102 values below 4, 8, 64 and 128, only 7 is below the threshold of 33; any of the four is on
    the other side with probability 4e-11.
    """
    keeper = curator(people(3000))
    found = keeper.bounds("pay", epsilon=2, beta="1e-12")
    assert found.labels == ("low", "high")
    assert found.value.tolist() == [4.0, 128.0]
    query = keeper.bounds("pay", epsilon=1).release.query
    assert (query["powers of two"], query["beta"]) == ([-31, 32], "1/1000")
    assert keeper.mean("pay", bounds=found, missing="drop", epsilon=1).value == pytest.approx(31, abs=3)


def test_where_keeps_rows_of_unknown_limits() -> None:
    frame = pd.DataFrame({"pay": [1000.0, 3.0] * 300, "sex": ["f", "m"] * 300})
    assert curator(frame).bounds("pay", where={"sex": "m"}, epsilon=20, beta="1e-9").value.tolist() == [2, 4]


def test_where_nothing_is_found_the_bounds_are_the_whole_range() -> None:
    found = curator(people(3)).bounds("pay", powers=(-2, 7), epsilon="1/10", beta="1e-12")
    assert found.value.tolist() == [-128, 128]
    assert "2**7" in found.notes[0]


def test_limits_of_a_column_of_text_are_refused() -> None:
    with pytest.raises(TypeError, match="must hold numbers"):
        curator(people()).bounds("region", epsilon=1)


def test_moments_are_no_keys_and_nothing_is_charged_for_them() -> None:
    keeper = curator(pd.DataFrame({"at": pd.to_datetime(["2024-01-01 10:30"] * 9)}))
    with pytest.raises(TypeError, match="column at must hold text, numbers, truth values or dates"):
        keeper.keys("at", epsilon=1, delta=1e-6)
    assert keeper.ledger.entries() == ()


def test_the_most_frequent_are_chosen_in_order() -> None:
    keeper = column(["a"] * 300 + ["b"] * 900 + ["c"] * 5 + ["d"] * 600)
    found = keeper.top("city", 2, options=["a", "b", "c", "d"], epsilon=1)
    assert found.labels == ("b", "d")
    assert found.value.tolist() == [1, 2]
    assert keeper.ledger.entries()[0].label == "top 2 of city (4)"
    assert keeper.count(by={"city": found.labels}, epsilon=1).labels == ("b", "d")


@pytest.mark.parametrize("options", [[dt.date(2024, 1, 1), dt.date(2024, 1, 2)], [0.5, 1.5]])
def test_dates_and_numbers_that_were_chosen_can_be_asked_for_again(options: list[Any]) -> None:
    keeper = curator(pl.DataFrame({"city": [options[1]] * 200 + [options[0]]}))
    found = keeper.top("city", 1, options=options, epsilon=5)
    assert found.labels == (options[1],)
    assert len(keeper.count(by={"city": found.labels}, epsilon=1).value) == 1


def test_a_choice_in_a_concentrated_ledger_costs_an_eighth() -> None:
    keeper = Curator(people(), Ledger(Zcdp(1)), "replace")
    keeper.top("region", 2, options=REGIONS, epsilon=1)
    assert keeper.ledger.spent == Zcdp("1/9")  # two rounds, whose logarithms move within 2/3
    keeper.quantile("pay", [0.5], bounds=(0, 100), epsilon=1)
    assert keeper.ledger.spent == Zcdp("17/72")
    keeper.top("region", 1, options=REGIONS, rho="1/8")
    assert keeper.ledger.spent == Zcdp("26/72")
    keeper = Curator(people(), Ledger(Zcdp(1)), "replace", person="id", rows=4, groups=2, rows_in_group=2)
    keeper.top("region", 2, options=REGIONS, epsilon=1)
    assert keeper.ledger.spent == Zcdp("1/16")  # a person moves one option by 2 of 8, in both directions


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c.top("region", 4, options=REGIONS, epsilon=1), "`k` must be at most the number"),
        (lambda c: c.top("region", 0, options=REGIONS, epsilon=1), "`k` must be at least 1"),
        (lambda c: c.top("region", 1, options=[], epsilon=1), "must be distinct keys, at least one"),
        (lambda c: c.top("region", 1, options=["n", "n"], epsilon=1), "must be distinct"),
        (lambda c: c.top("region", 1, options="north", epsilon=1), "must be a list"),
        (lambda c: c.top("region", 1, options=REGIONS), "exactly one of `epsilon` and `rho`"),
        (lambda c: c.bounds("pay", epsilon=1, rho=1), "exactly one of `epsilon` and `rho`"),
        (lambda c: c.bounds("pay", powers=(3, 2), epsilon=1), "`powers` must be two increasing"),
        (lambda c: c.bounds("pay", powers=5, epsilon=1), "`powers` must be two whole numbers"),
        (lambda c: c.bounds("pay", beta=1, epsilon=1), "`beta` must lie strictly between"),
        (lambda c: c.keys("nobody", epsilon=1, delta=1e-6), "`column` must be one of"),
        (lambda c: c.keys("region", delta=1e-6), "exactly one of `epsilon` and `rho`"),
        (lambda c: c.keys("region", epsilon=1, delta=2), "`delta` must lie strictly"),
        (lambda c: c.keys("region", epsilon=1, delta=1e-6, where={"age": (30, 39)}), "between"),
    ],
)
def test_bad_calls_are_refused_before_anything_is_charged(call: Any, words: str) -> None:
    keeper = curator(people())
    with pytest.raises((ValueError, TypeError), match=words):
        call(keeper)
    assert keeper.ledger.entries() == ()


def test_a_simulated_search_says_so() -> None:
    found = curator(people(2000)).keys("region", epsilon=1, delta=1e-6, rng=np.random.default_rng(1))
    assert SIMULATED in found.notes
    assert found.loss is None
    assert found.notes.count(SIMULATED) == 1


@pytest.mark.parametrize(("powers", "bins"), [((0, 1), 4), ((-1, 1), 6), ((-3, 3), 14)])
def test_noise_of_limits_is_for_as_many_bins_as_a_person_can_be_in(powers: tuple[int, int], bins: int) -> None:
    """20 rows, two per bin: the bins determine the result while they are fewer than 20; half of them remain, half were
    entered.
    """
    frame = pd.DataFrame({"id": range(5), "pay": [1.0, 2, 3, 4, 5]})
    for neighbors, most in (("add_remove", min(20, 2 * bins)), ("replace", 2 * min(20, bins))):
        keeper = curator(frame, neighbors, person="id", rows=20, rows_in_group=2)
        noise = keeper.bounds("pay", powers=powers, epsilon=1).release.noise
        assert (noise["bins"], noise["sensitivity"]) == (bins, str(most))
