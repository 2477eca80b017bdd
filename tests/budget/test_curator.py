import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import polars as pl
import pytest

from toolkit.budget.curator import Curator
from toolkit.budget.ledger import Ledger
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure

Release = Callable[[Curator, np.random.Generator | None], Estimate]
RELEASES: dict[str, Release] = {
    "count": lambda c, rng: c.count({"degree": "law"}, epsilon=0.1, rng=rng),
    "sum": lambda c, rng: c.sum("hours", bounds=(0, 80), epsilon=0.1, rng=rng),
    "sum, dropped": lambda c, rng: c.sum("hours", bounds=(5, 80), epsilon=0.1, missing="drop", rng=rng),
    "mean": lambda c, rng: c.mean("hours", bounds=(0, 80), epsilon=0.1, rng=rng),
    "mean, filled": lambda c, rng: c.mean("hours", bounds=(0, 80), epsilon=0.1, missing=40, rng=rng),
    "mean, dropped": lambda c, rng: c.mean("hours", bounds=(0, 80), epsilon=0.1, missing="drop", rng=rng),
    "variance": lambda c, rng: c.variance("hours", bounds=(0, 80), epsilon=0.1, rng=rng),
    "variance, dropped": lambda c, rng: c.variance("hours", bounds=(0, 80), epsilon=0.1, missing="drop", rng=rng),
    "histogram": lambda c, rng: c.histogram("degree", options=["law", "art", "math"], epsilon=0.1, rng=rng),
    "binned": lambda c, rng: c.histogram("hours", edges=[0, 20, 40, 80], epsilon=0.1, rng=rng),
    "quantile": lambda c, rng: c.quantile("hours", 0.9, bounds=(0, 80), epsilon=0.1, rng=rng),
    "median": lambda c, rng: c.median("hours", bounds=(0, 80), epsilon=0.1, step=1, rng=rng),
}


def frame(seed: int = 1, rows: int = 2000) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"hours": rng.gamma(4, 8, rows), "degree": rng.choice(["law", "art", "math"], rows, p=[0.5, 0.3, 0.2])})


def truth(name: str, data: pd.DataFrame) -> object:
    hours = data["hours"].clip(5 if name == "sum, dropped" else 0, 80)
    return {
        "count": (data["degree"] == "law").sum(),
        "histogram": [(data["degree"] == degree).sum() for degree in ("law", "art", "math")],
        "binned": np.histogram(data["hours"], [0, 20, 40, 80])[0],
        "quantile": hours.quantile(0.9),
        "median": hours.median(),
    }.get(name, {"s": hours.sum(), "m": hours.mean(), "v": hours.var()}[name[0]] if name[0] in "smv" else None)


def curator(data: object, neighbors: str, ceiling: float = 1e6) -> Curator:
    return Curator(data, Ledger(Pure(ceiling)), neighbors)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("name", RELEASES)
def test_releases_are_near_the_truth_and_their_intervals_hold_it(name: str, neighbors: str) -> None:
    """60 seeded releases; 95 % intervals that hold the noise alone miss at most 10 times: false alarms 1e-3."""
    data, rng = frame(), np.random.default_rng(7)
    expected = np.atleast_1d(truth(name, data)).astype(float)
    missed = 0
    for _ in range(60):
        estimate = RELEASES[name](curator(data, neighbors), rng)
        if name in ("quantile", "median"):
            missed += abs(float(estimate) - expected[0]) > 6
        else:
            interval = estimate.interval(0.95)
            missed += bool(np.mean((interval.low > expected + 1e-3) | (interval.high < expected - 1e-3)) > 0.34)
    assert missed <= 10


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("name", RELEASES)
def test_every_release_is_charged_once_and_says_what_it_is(name: str, neighbors: str) -> None:
    keeper = curator(frame(rows=50), neighbors)
    estimate = RELEASES[name](keeper, None)
    assert keeper.ledger.spent == estimate.loss == Pure(0.1)
    assert len(keeper.ledger.entries()) == 1
    assert keeper.ledger.neighbors == neighbors
    assert estimate.covers.startswith("noise")
    assert neighbors in estimate.method
    assert estimate.n == (50 if neighbors == "replace" else None)
    assert not any("seeded" in note for note in estimate.notes)
    assert any("seeded" in note for note in RELEASES[name](keeper, np.random.default_rng(1)).notes)


@pytest.mark.parametrize("name", RELEASES)
def test_nothing_is_released_beyond_the_ceiling(name: str) -> None:
    keeper = curator(frame(rows=20), "replace", ceiling=0.05)
    with pytest.raises(ValueError, match="a charge must fit into what remains"):
        RELEASES[name](keeper, None)
    assert keeper.ledger.spent == Pure(0)


HOSTILE = {
    "nan": [np.nan] * 6,
    "one nan": [1.0, np.nan, 3.0, 4.0, 5.0, 6.0],
    "infinite": [np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e308],
    "ordinary": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
}


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("name", RELEASES)
def test_nothing_about_the_data_decides_whether_an_error_a_warning_or_a_shape_appears(name: str, neighbors: str) -> None:
    shapes = set()
    for values in HOSTILE.values():
        data = pd.DataFrame({"hours": values, "degree": ["law", None, "other", "art", "", "law"]})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            estimate = RELEASES[name](curator(data, neighbors), None)
        assert np.all(np.isfinite(estimate.value))
        shapes.add((np.shape(estimate.value), estimate.labels, estimate.notes, estimate.method, estimate.n))
    assert len(shapes) == 1


@pytest.mark.parametrize("name", RELEASES)
def test_polars_and_pandas_release_the_same(name: str) -> None:
    data = frame(rows=100)
    one, other = (RELEASES[name](curator(kind, "replace"), np.random.default_rng(3)) for kind in (data, pl.from_pandas(data)))
    assert np.array_equal(one.value, other.value)


def test_extra_columns_row_order_and_index_do_not_matter() -> None:
    data = frame(rows=100)
    strange = data.sample(frac=1, random_state=1).assign(extra="x")
    strange.index = [0] * 100
    for release in RELEASES.values():
        one, other = (release(curator(kind, "replace"), np.random.default_rng(3)) for kind in (data, strange))
        assert np.array_equal(one.value, other.value)


def test_how_many_alices() -> None:
    """Strings as a histogram: names are counted against a public list, all others are not counted."""
    names = pd.DataFrame({"name": ["Alice"] * 30 + ["Bob"] * 10 + ["Zoë"] * 5})
    estimate = curator(names, "add_remove").histogram("name", options=["Alice", "Bob", "Carol"], epsilon=50.0)
    assert estimate.value.tolist() == [30, 10, 0]
    assert estimate.labels == ("Alice", "Bob", "Carol")


def test_a_choice_is_charged_and_prefers_the_best() -> None:
    keeper = curator(frame(), "add_remove")
    score = lambda data, degree: int((data["degree"] == degree).sum())  # noqa: E731
    assert keeper.choose(["art", "law", "math"], score, sensitivity=1, epsilon=1.0) == "law"
    assert keeper.ledger.entries()[0].mechanism == "Exponential"


def test_choosing_a_classifier_follows_the_lecture() -> None:
    """Candidates with error rates f are chosen with probability proportional to e**(-n epsilon f / 2); 4.5 standard errors."""
    errors, n, epsilon, draws = {"a": 0.10, "b": 0.14, "c": 0.30}, 100, 0.5, 3000
    weights = np.exp([-n * epsilon * f / 2 for f in errors.values()])
    law = weights / weights.sum()
    keeper, rng = curator(pd.DataFrame({"x": range(n)}), "replace"), np.random.default_rng(9)
    chosen = [
        keeper.choose(list(errors), lambda data, name: -round(errors[name] * len(data)), sensitivity=1, epsilon=epsilon, rng=rng)
        for _ in range(draws)
    ]
    shares = np.array([chosen.count(name) for name in errors]) / draws
    assert np.all(np.abs(shares - law) < 4.5 * np.sqrt(law * (1 - law) / draws))


def test_bad_calls_are_refused_before_anything_is_charged() -> None:
    keeper = curator(frame(rows=10), "replace")
    for call, message in (
        (lambda: keeper.count(epsilon=1), "`where` must be given under 'replace'"),
        (lambda: keeper.histogram("degree", epsilon=1), "exactly one of `options` and `edges`"),
        (lambda: keeper.histogram("degree", options=["a"], edges=[0, 1], epsilon=1), "exactly one of"),
        (lambda: keeper.mean("hours", bounds=(80, 0), epsilon=1), "must be below"),
        (lambda: keeper.mean("nothing", bounds=(0, 80), epsilon=1), "`column` must be one of"),
        (lambda: keeper.mean("hours", bounds=(0, 80), epsilon=0), "`epsilon` must be above 0"),
        (lambda: keeper.mean("hours", bounds=(0, 80), epsilon=-1), "`epsilon` must be above 0"),
        (lambda: keeper.mean("hours", bounds=(0, 80), epsilon=1, missing="skip"), "`missing` must be a number"),
        (lambda: keeper.quantile("hours", 1.5, bounds=(0, 80), epsilon=1), "`q` must lie between"),
        (lambda: Curator(frame(), Ledger(Pure(1)), "both"), "`neighbors` must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert keeper.ledger.spent == Pure(0)


def test_two_curators_of_one_ledger_cannot_mix_relations() -> None:
    ledger = Ledger(Pure(1))
    Curator(frame(rows=10), ledger, "replace").mean("hours", bounds=(0, 80), epsilon=0.1)
    with pytest.raises(ValueError, match="one neighbor relation"):
        Curator(frame(rows=10), ledger, "add_remove").mean("hours", bounds=(0, 80), epsilon=0.1)


def test_the_repr_holds_no_data() -> None:
    assert "42.42" not in repr(curator(pd.DataFrame({"secret": [42.42]}), "replace"))
