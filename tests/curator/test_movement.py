"""One person with many rows moves computed statistics by at most the charged amount, for every method and on every
engine; and apart from the noisy numbers, no part of a release depends on this person.

The input of the mechanisms is recorded, and their output is fixed (`tests/recorder.py`).
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.curator.verbs import measured
from tests.recorder import Meeting, Met, share
from toolkit import MISSING, OTHER, Approx, Curator, Ledger, Pure, Zcdp
from toolkit.central.robust import Huber
from toolkit.curator import quantiles
from toolkit.frames import persons as people
from toolkit.frames.engines import streams

Call = Callable[..., Any]
BY = {"g": ["a", "b", "c", "d", MISSING]}
X: dict[str, Any] = {"bounds": (-1, 3), "missing": "drop"}
PAIR: dict[str, Any] = {"bounds": {"x": (-1, 3), "y": (0, 1)}, "missing": "drop"}
CALLS: dict[str, dict[str, Call]] = {
    "count": {
        "where": lambda c, **pay: c.count({"y": [0, 1]}, **pay),
        "by": lambda c, **pay: c.count(by=BY, **pay),
        "everybody": lambda c, **pay: c.count(by={"g": ["a", OTHER]}, **pay),
        "tables": lambda c, **pay: c.count(by=[{**BY, "y": [0, 1, MISSING]}, BY, {}], **pay),
        "function": lambda c, **pay: c.count(lambda row: row["g"] == "a", **pay),
    },
    "histogram": {
        "options": lambda c, **pay: c.histogram("g", options=["a", "c", OTHER], **pay),
        "edges": lambda c, **pay: c.histogram("x", edges=[-9, 0, 9], **pay),
    },
    "sum": {
        "all": lambda c, **pay: c.sum("x", **X, **pay),
        "by": lambda c, **pay: c.sum("x", **X, by=BY, **pay),
        "positive": lambda c, **pay: c.sum("x", bounds=(1, 3), missing=2, by=BY, **pay),
    },
    "mean": {
        "all": lambda c, **pay: c.mean("x", **X, **pay),
        "filled": lambda c, **pay: c.mean("x", bounds=(-1, 3), missing=1, **pay),
        "by": lambda c, **pay: c.mean("x", **X, by=BY, **pay),
        "two": lambda c, **pay: c.mean(["x", "y"], **PAIR, **pay),
    },
    "variance": {
        "all": lambda c, **pay: c.variance("x", **X, **pay),
        "by": lambda c, **pay: c.variance("x", **X, by=BY, **pay),
    },
    "std": {"where": lambda c, **pay: c.std("x", **X, where={"g": ["a", "c"]}, **pay)},
    "covariance": {
        "all": lambda c, **pay: c.covariance("x", "y", **PAIR, **pay),
        "by": lambda c, **pay: c.covariance("x", "y", **PAIR, by=BY, **pay),
    },
    "correlation": {"by": lambda c, **pay: c.correlation("x", "y", **PAIR, by=BY, **pay)},
    "keys": {"all": lambda c, **pay: c.keys("g", delta="1/1000", **pay)},
    "bounds": {
        "all": lambda c, **pay: c.bounds("x", powers=(-2, 3), **pay),
        "two bins": lambda c, **pay: c.bounds("x", powers=(1, 2), **pay),
    },
    "top": {
        "one": lambda c, **pay: c.top("g", 1, options=["a", "b", "c", "d"], **pay),
        "two": lambda c, **pay: c.top("g", 2, options=["a", "b", "c", "d"], **pay),
    },
    "synthesize": {
        "three": lambda c, **pay: measured(c, {"g": BY["g"], "y": [0, 1, MISSING], "x": [9, OTHER]}, **pay),
        "where": lambda c, **pay: measured(c, {"g": [*"abcd"], "x": [9, OTHER]}, where={"y": [0, 1]}, **pay),
    },
    "quantile": {
        "one": lambda c, **pay: c.quantile("x", "1/4", bounds=(-1, 3), step=1, **pay),
        "all": lambda c, **pay: c.quantile("x", ["1/4", "1/2", "3/4"], bounds=(-1, 3), step=1, **pay),
        "by": lambda c, **pay: c.quantile("x", ["1/2"], bounds=(-1, 3), step=1, by=BY, **pay),
    },
    "median": {"where": lambda c, **pay: c.median("x", bounds=(-1, 3), step=1, where={"y": [0, 1]}, **pay)},
    "location": {
        "all": lambda c, **pay: c.location("x", estimator=Huber(1), bounds=(-1, 3), step=1, **pay),
        "by": lambda c, **pay: c.location("x", estimator=Huber(1), bounds=(-1, 3), step=1, by=BY, **pay),
    },
}
ONE_ROW: dict[str, dict[str, Call]] = {
    "choose": {
        "score": lambda c, **pay: c.choose(
            [0, 1], lambda t, k: float(np.sum(np.asarray(t["y"]) == k)), sensitivity=1, **pay
        )
    },
    "quantile": {"one": lambda c, **pay: c.quantile("x", "1/4", bounds=(-1, 3), step=1, **pay)},
    "median": {"smooth": lambda c, **pay: c.median("x", bounds=(-1, 3), method="smooth", missing=1, **pay)},
    "trimmed_mean": {"smooth": lambda c, **pay: c.trimmed_mean("x", trim="1/4", bounds=(-1, 3), missing=1, **pay)},
    "iqr": {"smooth": lambda c, **pay: c.iqr("x", bounds=(-1, 3), missing=1, **pay)},
}
WEIGHTS: dict[str, Any] = {"weights": "y", "weight_bounds": ("1/4", 1), "weights_are_fixed": True}
WEIGHTED: dict[str, dict[str, Call]] = {
    "count": {"all": lambda c, **pay: c.count(**pay), "by": lambda c, **pay: c.count(by=BY, **pay)},
    "histogram": {"edges": lambda c, **pay: c.histogram("x", edges=[-9, 0, 9], **pay)},
    "sum": {"filled": lambda c, **pay: c.sum("x", bounds=(-1, 3), missing=1, by=BY, **pay)},
    "mean": {"all": lambda c, **pay: c.mean("x", **X, **pay), "by": lambda c, **pay: c.mean("x", **X, by=BY, **pay)},
}

CAPS: dict[str, dict[str, int]] = {
    "each row is a person": {},
    "three rows": {"rows": 3},
    "five rows": {"rows": 5, "groups": 2, "rows_in_group": 2},
}
ENGINES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda table: table,
    "polars": pl.from_pandas,
    "lazy polars": lambda table: pl.from_pandas(table).lazy(),
    "pyarrow": lambda table: pa.Table.from_pandas(table, preserve_index=False),
    "duckdb": lambda table: duckdb.from_arrow(pa.Table.from_pandas(table, preserve_index=False)),
}
OTHERS = [("p", 1.0, 0.0, "b"), ("q", np.nan, 1.0, "a"), (None, 3.0, 1.0, "a")]
OTHERS += [(f"r{place}", 0.0, 1.0, "d") for place in range(200)]
PEOPLE = {
    "high in one": [("me", 9.0, 1.0, "a")],
    "low in one": [("me", -np.inf, 0.0, "a")],
    "high in another": [("me", 9.0, 0.0, "c")],
    "high in two": [("me", np.inf, 1.0, "a"), ("me", 9.0, 1.0, "b")],
    "high in others": [("me", 9.0, 0.0, "c"), ("me", 9.0, 0.0, "d")],
    "low in others": [("me", -9.0, 0.0, "c"), ("me", -9.0, 1.0, "d")],
    "missing": [("me", np.nan, np.nan, None), ("me", 1.0, np.nan, "?")],
    "nobody": [(None, 9.0, 1.0, "a")],
}
FEW = ("high in two", "low in others", "missing", "gone")


def table(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    found = pd.DataFrame(rows, columns=["id", "x", "y", "g"])
    return found.astype({"id": "str", "x": float, "y": float, "g": "str"})


@cache
def frames(own_rows: int, neighbors: str, others: int) -> dict[str, pd.DataFrame]:
    """Return frames in which one person's rows follow those of others; a person who is added or removed may have no
    rows.
    """
    own = {name: rows[:own_rows] * (own_rows // min(own_rows, len(rows))) for name, rows in PEOPLE.items()}
    found = {name: table(OTHERS[:others] + rows) for name, rows in own.items()}
    return found | ({"gone": table(OTHERS[:others])} if neighbors == "add_remove" else {})


def seen(found: Any) -> str:
    """Return everything that is visible in a release."""
    if not hasattr(found, "labels"):
        return repr(found)
    parts = [found, *([found.counts] if found.counts is not None else [])]
    numbers = [np.asarray(number).tolist() for one in parts for number in (one.value, one.se, one.cov)]
    told = [numbers, *((one.notes, one.method, one.labels, one.axes, one.n) for one in parts)]
    return repr((told, found.release.noise, found.release.query, found.release.unit))


def moved(
    call: Call,
    currency: str,
    neighbors: str,
    engine: Callable[..., Any],
    caps: dict[str, int],
    people_of: tuple[str, ...] = (*PEOPLE, "gone"),
    others: int = 1000,
    rows: int = 500,
    weights: dict[str, Any] | None = None,
) -> Fraction:
    """Return the largest cost of one person's change, as a share of the charge."""
    keyed = call is CALLS["keys"]["all"]  # the labels are then those of the data
    ceiling = Approx(100, "1/2") if keyed else {"rho": Zcdp(100), "epsilon": Pure(100)}[currency]
    more: dict[str, Any] = {**({"person": "id", **caps} if caps else {}), **(weights or {})}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BATCH_ROWS", 64)  # one person's rows are in several chunks
        patch.setattr(people.secrets, "token_bytes", bytes)  # always the same rows of a person
        patch.setattr(quantiles, "words", lambda size, bits, _: np.zeros(size, dtype=f"uint{bits}"))
        meeting, met, told, charged = Meeting(patch), dict[str, list[Met]](), set(), set()
        for name, one in frames(rows if caps else 1, neighbors, others).items():
            if name not in people_of:
                continue
            keeper = Curator(engine(one), Ledger(ceiling), neighbors, **more)
            met[name], released = meeting.of(lambda keeper=keeper: call(keeper, **{currency: 1}))
            told.add("" if keyed else seen(released))
            charged.add(keeper.ledger.spent)
    assert all(met.values())
    assert len(told) == 1, "something else than a noisy number depends on one person"
    (spent,) = charged
    assert keyed or Fraction(10**8 - 1, 10**8) < spent.amount <= 1, "what is asked for is charged, no more"
    pairs = combinations(met, 2) if neighbors == "replace" else ((name, "gone") for name in met)
    return max(share(met[x], met[y], spent) for x, y in pairs)


def calls(listed: dict[str, dict[str, Call]]) -> list[Any]:
    return [pytest.param(call, id=f"{verb} {name}") for verb, named in listed.items() for name, call in named.items()]


def test_every_verb_has_a_case() -> None:
    """A rehearsal releases nothing."""
    verbs = {name for name in dir(Curator) if not name.startswith("_") and callable(getattr(Curator, name))}
    assert verbs - {"rehearse"} == set(CALLS) | set(ONE_ROW)


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("caps", CAPS)
@pytest.mark.parametrize("call", calls(CALLS))
def test_a_person_with_150_rows_moves_a_release_within_its_charge(call: Call, caps: str, neighbors: str) -> None:
    """The change costs more than a third of the charge, so it is visible to the test."""
    for currency in ("epsilon",) if caps == "three rows" else ("epsilon", "rho"):
        assert Fraction(1, 3) < moved(call, currency, neighbors, ENGINES["pandas"], CAPS[caps], rows=150) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "pandas"])
@pytest.mark.parametrize("call", calls(CALLS))
def test_and_so_on_every_engine(call: Call, engine: str) -> None:
    """This also holds if a person's rows are in several chunks; `tests/frames/test_streams.py` compares the
    integers.
    """
    assert Fraction(1, 5) < moved(call, "epsilon", "add_remove", ENGINES[engine], CAPS["five rows"], FEW, rows=150) <= 1


ADAPTIVE: dict[str, Call] = {
    "three": lambda c, **pay: measured(c, {"g": BY["g"], "y": [0, 1, MISSING], "x": [9, OTHER]}, method="aim", **pay),
    "where": lambda c, **pay: measured(c, {"g": [*"abcd"], "x": [9, OTHER]}, where={"y": [0, 1]}, method="aim", **pay),
}


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("caps", CAPS)
@pytest.mark.parametrize("name", ADAPTIVE)
def test_a_person_moves_the_tables_of_aim_within_their_charge(name: str, caps: str, neighbors: str) -> None:
    """All rounds together: the released tables are fixed, so the rounds and their budgets are the same."""
    assert Fraction(1, 3) < moved(ADAPTIVE[name], "rho", neighbors, ENGINES["pandas"], CAPS[caps], rows=150) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "pandas"])
@pytest.mark.parametrize("name", ADAPTIVE)
def test_a_person_moves_the_tables_of_aim_within_their_charge_on_every_engine(name: str, engine: str) -> None:
    share = moved(ADAPTIVE[name], "rho", "add_remove", ENGINES[engine], CAPS["five rows"], FEW, rows=150)
    assert Fraction(1, 5) < share <= 1


@pytest.mark.slow
@pytest.mark.parametrize("deff", [None, 2])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("caps", CAPS)
@pytest.mark.parametrize("call", calls(WEIGHTED))
def test_a_person_moves_a_weighted_release_within_its_charge(call: Call, caps: str, neighbors: str, deff: Any) -> None:
    """The weights of the person are at, between and outside their bounds, or missing."""
    weights = WEIGHTS | {"deff": deff}
    for currency in ("epsilon",) if caps == "three rows" else ("epsilon", "rho"):
        share = moved(call, currency, neighbors, ENGINES["pandas"], CAPS[caps], rows=150, weights=weights)
        assert Fraction(1, 3) < share <= 1


@pytest.mark.slow
@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "pandas"])
@pytest.mark.parametrize("call", calls(WEIGHTED))
def test_a_person_moves_a_weighted_release_within_its_charge_on_every_engine(call: Call, engine: str) -> None:
    share = moved(call, "epsilon", "add_remove", ENGINES[engine], CAPS["five rows"], FEW, rows=150, weights=WEIGHTS)
    assert Fraction(1, 5) < share <= 1


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("call", calls(ONE_ROW))
def test_one_row_of_a_person_moves_a_release_within_its_charge(call: Call, engine: str) -> None:
    """If a person has one row, replacing it moves computed statistics by at most the charged amount."""
    assert 0 < moved(call, "epsilon", "replace", ENGINES[engine], {}, others=7) <= 1


@pytest.mark.parametrize("call", calls({verb: ONE_ROW[verb] for verb in ("median", "trimmed_mean", "iqr")}))
def test_what_is_known_for_one_row_a_person_is_refused_for_several(call: Call) -> None:
    keeper = Curator(table(OTHERS), Ledger(Pure(1)), "replace", person="id", rows=2)
    with pytest.raises(ValueError, match="needs one row per person"):
        call(keeper, epsilon=1)
    assert keeper.ledger.entries() == ()
