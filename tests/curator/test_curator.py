import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.slowly import each
from toolkit import MISSING, OTHER, between
from toolkit.budget.ledger import Ledger
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.loss import Pure
from toolkit.curator.curator import Curator, _score

Release = Callable[[Curator, np.random.Generator | None], Estimate]
RELEASES: dict[str, Release] = {
    "count": lambda c, rng: c.count({"degree": "law"}, epsilon=0.1, rng=rng),
    "sum": lambda c, rng: c.sum("hours", bounds=(0, 80), missing=40, epsilon=0.1, rng=rng),
    "sum, dropped": lambda c, rng: c.sum("hours", bounds=(5, 80), epsilon=0.1, missing="drop", rng=rng),
    "mean": lambda c, rng: c.mean("hours", bounds=(0, 80), missing=40, epsilon=0.1, rng=rng),
    "mean, dropped": lambda c, rng: c.mean("hours", bounds=(0, 80), epsilon=0.1, missing="drop", rng=rng),
    "variance": lambda c, rng: c.variance("hours", bounds=(0, 80), missing=40, epsilon=0.1, rng=rng),
    "variance, dropped": lambda c, rng: c.variance("hours", bounds=(0, 80), epsilon=0.1, missing="drop", rng=rng),
    "histogram": lambda c, rng: c.histogram("degree", options=["law", "art", "math"], epsilon=0.1, rng=rng),
    "binned": lambda c, rng: c.histogram("hours", edges=[0, 20, 40, 80], epsilon=0.1, rng=rng),
    "count by": lambda c, rng: c.count(by={"degree": ["art", OTHER]}, epsilon=0.1, rng=rng),
    "sum by": lambda c, rng: c.sum(
        "hours", bounds=(5, 80), missing="drop", by={"degree": ["law", "art"]}, epsilon=0.1, rng=rng
    ),
    "mean by": lambda c, rng: c.mean(
        "hours", bounds=(0, 80), missing="drop", by={"degree": ["law", "art"]}, epsilon=0.1, rng=rng
    ),
    "mean where": lambda c, rng: c.mean(
        "hours", bounds=(0, 80), missing=40, where={"degree": ["law", "art"]}, epsilon=0.1, rng=rng
    ),
    "std by": lambda c, rng: c.std(
        "hours", bounds=(0, 80), missing=40, by={"degree": ["law", "art"]}, epsilon=0.1, rng=rng
    ),
    "covariance": lambda c, rng: c.covariance(
        "hours", "hours", bounds={"hours": (0, 80)}, missing="drop", epsilon=0.1, rng=rng
    ),
    "quantile": lambda c, rng: c.quantile("hours", 0.9, bounds=(0, 80), epsilon=0.1, rng=rng),
    "median": lambda c, rng: c.median("hours", bounds=(0, 80), epsilon=0.1, step=1, rng=rng),
}


def frame(seed: int = 1, rows: int = 2000) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"hours": rng.gamma(4, 8, rows), "degree": rng.choice(["law", "art", "math"], rows, p=[0.5, 0.3, 0.2])}
    )


def truth(name: str, data: pd.DataFrame) -> object:
    hours = data["hours"].clip(5 if name in ("sum, dropped", "sum by") else 0, 80)
    groups = [hours[data["degree"] == degree] for degree in ("law", "art")]
    return {
        "count by": [(data["degree"] == "art").sum(), (data["degree"] != "art").sum()],
        "sum by": [group.sum() for group in groups],
        "mean by": [group.mean() for group in groups],
        "mean where": pd.concat(groups).mean(),
        "std by": [group.std() for group in groups],
        "covariance": hours.var(),
        "count": (data["degree"] == "law").sum(),
        "histogram": [(data["degree"] == degree).sum() for degree in ("law", "art", "math")],
        "binned": np.histogram(data["hours"], [0, 20, 40, 80])[0],
        "quantile": hours.quantile(0.9),
        "median": hours.median(),
    }.get(name, {"s": hours.sum(), "m": hours.mean(), "v": hours.var()}[name[0]] if name[0] in "smv" else None)


def curator(data: object, neighbors: str, ceiling: float = 1e6) -> Curator:
    """Return a curator of simulated data, for which seeded draws are allowed."""
    return Curator(data, Ledger(Pure(ceiling), simulated=True), neighbors)


@pytest.mark.slow
@each(name=RELEASES, neighbors=["replace", "add_remove"])
def test_releases_are_near_the_truth_and_their_intervals_hold_it(name: str, neighbors: str) -> None:
    """20 seeded releases: 95 % intervals that include only the noise miss at most 5 times (false alarms 3e-4)."""
    data, rng = frame(), np.random.default_rng(7)
    expected = np.atleast_1d(truth(name, data)).astype(float)
    missed = 0
    for _ in range(20):
        estimate = RELEASES[name](curator(data, neighbors), rng)
        if name in ("quantile", "median"):
            missed += abs(float(estimate) - expected[0]) > 6
        else:
            interval = estimate.interval(0.95)
            missed += bool(np.mean((interval.low > expected + 1e-3) | (interval.high < expected - 1e-3)) > 0.34)
    assert missed <= 5


@pytest.mark.slow
@each(name=RELEASES, neighbors=["replace", "add_remove"])
def test_every_release_is_charged_once_and_says_what_it_is(name: str, neighbors: str) -> None:
    keeper = curator(frame(rows=50), neighbors)
    estimate = RELEASES[name](keeper, None)
    assert keeper.ledger.spent == estimate.loss == Pure(0.1)
    assert len(keeper.ledger.entries()) == 1
    assert keeper.ledger.neighbors == neighbors
    assert estimate.covers.startswith("noise")
    assert neighbors in estimate.method
    assert estimate.n == (50 if neighbors == "replace" else None)
    assert SIMULATED not in estimate.notes
    drawn = RELEASES[name](keeper, np.random.default_rng(1))
    assert SIMULATED in drawn.notes
    assert drawn.loss is None
    assert "simulated, no privacy claim" in repr(drawn)


def test_a_generator_and_a_charge_beyond_the_ceiling_release_nothing() -> None:
    for release in RELEASES.values():
        keeper = Curator(frame(rows=20), Ledger(Pure(0.05)), "replace")
        with pytest.raises(ValueError, match="must be drawn with rng=None, got a generator"):
            release(keeper, np.random.default_rng(1))
        with pytest.raises(ValueError, match="a charge must fit into what remains"):
            release(keeper, None)
        assert keeper.ledger.spent == Pure(0)


HOSTILE = {
    "nan": [np.nan] * 6,
    "one nan": [1.0, np.nan, 3.0, 4.0, 5.0, 6.0],
    "infinite": [np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e308],
    "ordinary": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
}


@pytest.mark.slow
@each(name=RELEASES, neighbors=["replace", "add_remove"])
def test_the_data_decide_no_error_no_warning_and_no_shape(name: str, neighbors: str) -> None:
    """A release of hostile values has the shape, labels and notes of any other release."""
    shapes = set()
    for values in HOSTILE.values():
        data = pd.DataFrame({"hours": values, "degree": ["law", None, "other", "art", "", "law"]})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            estimate = RELEASES[name](curator(data, neighbors), None)
        assert np.all(np.isfinite(estimate.value))
        shapes.add((np.shape(estimate.value), estimate.labels, estimate.notes, estimate.method, estimate.n))
    assert len(shapes) == 1


def _pandas_by_types(file: Path) -> object:
    table = pd.read_csv(file, dtype=str)
    return table.assign(hours=pd.to_numeric(table["hours"], errors="coerce").astype(float))


def _duckdb_by_types(file: Path) -> object:
    con = duckdb.connect()
    con.execute("CREATE TABLE raw AS SELECT * FROM read_csv(?, all_varchar=true)", [str(file)])
    return con.sql("SELECT TRY_CAST(hours AS DOUBLE) AS hours, degree FROM raw")


READERS: dict[str, Callable[[Path], object]] = {
    "pandas": _pandas_by_types,
    "polars": lambda file: pl.read_csv(file, schema={"hours": pl.Float64, "degree": pl.String}, ignore_errors=True),
    "DuckDB": _duckdb_by_types,
}


@pytest.mark.slow
@each(reader=READERS, neighbors=("replace", "add_remove"))
def test_types_that_are_written_leave_no_error_to_a_cell(reader: str, neighbors: str, tmp_path: Path) -> None:
    """The curator's page reads files this way. If pandas guesses types, one cell silently turns a mean into an
    error.
    """
    file, kinds = tmp_path / "staff.csv", set()
    for cell in ("38", "", "33 hours", "1.5", "1e400", "-", "nan", "99999999999999999999", "true"):
        file.write_text(f"hours,degree\n20,law\n{cell},art\n30,law\n")
        keeper = Curator(READERS[reader](file), Ledger(Pure(1)), neighbors)  # type: ignore[arg-type]
        kinds.add(keeper._frame.column("hours").kind)
        keeper.mean("hours", bounds=(0, 80), missing="drop", epsilon=1)
    assert len(kinds) == 1
    file.write_text("hours,degree\n20,law\n33 hours,art\n")
    guessed = Curator(pd.read_csv(file), Ledger(Pure(1)), neighbors)
    with pytest.raises(TypeError, match="hours"):
        guessed.mean("hours", bounds=(0, 80), missing="drop", epsilon=1)
    assert guessed.ledger.spent == Pure(0)


@pytest.mark.slow
@each(name=RELEASES)
def test_every_engine_releases_the_same(name: str) -> None:
    data = frame(rows=100)
    engines = (
        data,
        pl.from_pandas(data),
        pa.Table.from_pandas(data),
        data.astype(object),
        data.convert_dtypes(),
        pl.from_pandas(data).lazy(),
        duckdb.connect().from_df(data),
    )
    first, *others = (RELEASES[name](curator(kind, "replace"), np.random.default_rng(3)) for kind in engines)
    counted = ("quantile", "median")  # engines process rows in chunks, so random digits have another order
    for place, other in enumerate(others):
        assert np.array_equal(first.value, other.value) or (name in counted and place >= 4)
        assert (first.labels, first.method, first.notes) == (other.labels, other.method, other.notes)


def test_extra_columns_row_order_and_index_do_not_matter() -> None:
    data = frame(rows=100)
    strange = data.sample(frac=1, random_state=1).assign(extra="x")
    strange.index = [0] * 100
    for name, release in RELEASES.items():
        one, other = (release(curator(kind, "replace"), np.random.default_rng(3)) for kind in (data, strange))
        # The random digits that separate equal values are assigned by row: the distribution is the same, but not the
        # draw.
        assert np.array_equal(one.value, other.value) or name in ("quantile", "median")
        assert (one.labels, one.notes) == (other.labels, other.notes)


def test_how_many_alices() -> None:
    """Strings as a histogram: names are counted against a public list, and all others are not counted."""
    names = pd.DataFrame({"name": ["Alice"] * 30 + ["Bob"] * 10 + ["Zoë"] * 5})
    estimate = curator(names, "add_remove").histogram("name", options=["Alice", "Bob", "Carol"], epsilon=50.0)
    assert estimate.value.tolist() == [30, 10, 0]
    assert estimate.labels == ("Alice", "Bob", "Carol")


def test_a_choice_is_charged_and_prefers_the_best() -> None:
    keeper = curator(frame(), "add_remove")
    score = lambda data, degree: int((data["degree"] == degree).sum())  # noqa: E731
    assert keeper.choose(["art", "law", "math"], score, sensitivity=1, epsilon=1.0) == "law"
    assert keeper.ledger.entries()[0].mechanism == "Exponential"


@pytest.mark.slow
def test_choosing_a_classifier_follows_the_lecture() -> None:
    """Candidates with error rates f are chosen with probability proportional to e**(-n epsilon f / 2); 4.5 standard
    errors.
    """
    errors, n, epsilon, draws = {"a": 0.10, "b": 0.14, "c": 0.30}, 100, 0.5, 1000
    weights = np.exp([-n * epsilon * f / 2 for f in errors.values()])
    law = weights / weights.sum()
    keeper, rng = curator(pd.DataFrame({"x": range(n)}), "replace"), np.random.default_rng(9)
    chosen = [
        keeper.choose(
            list(errors), lambda data, name: -round(errors[name] * len(data)), sensitivity=1, epsilon=epsilon, rng=rng
        )
        for _ in range(draws)
    ]
    shares = np.array([chosen.count(name) for name in errors]) / draws
    assert np.all(np.abs(shares - law) < 4.5 * np.sqrt(law * (1 - law) / draws))


def test_bad_calls_are_refused_before_anything_is_charged() -> None:
    keeper = curator(frame(rows=10), "replace")
    for call, message in (
        (lambda: keeper.count(epsilon=1), "`where` or `by` must be given under 'replace'"),
        (lambda: keeper.count({}, epsilon=1), "`where` or `by` must be given under 'replace'"),
        (lambda: keeper.histogram("degree", epsilon=1), "exactly one of `options` and `edges`"),
        (lambda: keeper.histogram("degree", options=["a"], edges=[0, 1], epsilon=1), "exactly one of"),
        (lambda: keeper.mean("hours", bounds=(80, 0), epsilon=1), "must be below"),
        (lambda: keeper.mean("nothing", bounds=(0, 80), epsilon=1), "`column` must be one of"),
        (lambda: keeper.mean("hours", bounds=(0, 80), missing="drop", epsilon=0), "`epsilon` must be above 0"),
        (lambda: keeper.mean("hours", bounds=(0, 80), missing="drop", epsilon=-1), "`epsilon` must be above 0"),
        (
            lambda: keeper.mean("hours", bounds=(0, 80), epsilon=1, missing="skip"),
            '`missing` must be "drop" or a number',
        ),
        (lambda: keeper.mean("hours", bounds=(0, 80), epsilon=1, missing=81), "a number within the bounds"),
        (
            lambda: keeper.mean("hours", bounds=(0, 80), epsilon=1, missing=float("nan")),
            "`missing` must be a finite number",
        ),
        (lambda: keeper.choose([], max, sensitivity=1, epsilon=1), "needs candidates and a score"),
        (lambda: keeper.choose(["a"], 5, sensitivity=1, epsilon=1), "needs candidates and a score"),
        (lambda: keeper.quantile("hours", 1.5, bounds=(0, 80), epsilon=1), "`q` must lie between"),
        (lambda: Curator(frame(), Ledger(Pure(1)), "both"), "`neighbors` must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert keeper.ledger.spent == Pure(0)


def test_two_curators_of_one_ledger_cannot_mix_relations() -> None:
    ledger = Ledger(Pure(1))
    Curator(frame(rows=10), ledger, "replace").mean("hours", bounds=(0, 80), missing="drop", epsilon=0.1)
    with pytest.raises(ValueError, match="same neighbor relation"):
        Curator(frame(rows=10), ledger, "add_remove").mean("hours", bounds=(0, 80), missing="drop", epsilon=0.1)


def test_neither_the_repr_nor_an_error_holds_data() -> None:
    """A pyarrow Table was once printed as the names of its columns."""
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        keeper = curator(make({"secret": [42.42, 7.0]}), "replace")
        assert repr(keeper).startswith("<Curator: columns secret; neighbors: replace; <Ledger")
        assert "42.42" not in repr(keeper)
        with pytest.raises(ValueError, match="`column` must be one of secret, got 'pay'"):
            keeper.mean("pay", bounds=(0, 80), missing="drop", epsilon=1)


@pytest.mark.parametrize("verb", ["sum", "mean", "variance"])
def test_missing_is_required_for_any_data_and_shown_in_the_repr(verb: str) -> None:
    """The argument must be given whether or not a value is missing."""
    for values in ([1.0, 2.0], [1.0, np.nan]):
        keeper = curator(pd.DataFrame({"hours": values}), "replace")
        with pytest.raises(ValueError, match=r'write missing="drop" to drop them, or the number'):
            getattr(keeper, verb)("hours", bounds=(0, 80), epsilon=1)
        assert keeper.ledger.spent == Pure(0)
        assert "missing dropped" in repr(getattr(keeper, verb)("hours", bounds=(0, 80), missing="drop", epsilon=1))
        assert "missing counted as 40.5" in repr(
            getattr(keeper, verb)("hours", bounds=(0, 80), missing="81/2", epsilon=1)
        )


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("bounds", [(5, 80), (-80, -5), (-5, 80)])
def test_dropped_values_add_nothing_to_a_sum_and_the_others_are_clamped(
    bounds: tuple[int, int], neighbors: str
) -> None:
    values = np.array([np.nan, 1.0, 6.0, 79.0, 81.0, np.nan, -100.0, np.inf])
    expected = np.clip(values[~np.isnan(values)], *bounds).sum()
    found = curator(pd.DataFrame({"hours": values}), neighbors).sum(
        "hours", bounds=bounds, missing="drop", epsilon=10**6
    )
    assert float(found) == pytest.approx(expected, abs=0.01)
    filled = curator(pd.DataFrame({"hours": values}), neighbors).sum(
        "hours", bounds=bounds, missing=bounds[0], epsilon=10**6
    )
    assert float(filled) == pytest.approx(expected + 2 * bounds[0], abs=0.01)


def test_the_ledger_says_the_condition() -> None:
    keeper = curator(pd.DataFrame({"degree": ["law"], "age": [33], "pay": [None], 0: [1]}), "replace")
    keeper.count({"degree": "law", "age": between(30, 39), "pay": MISSING, 0: [1, 2]}, epsilon=1)
    words = "count where degree = 'law' and age between 30 and 39 and pay missing and column number 4 in [1, 2]"
    assert keeper.ledger.entries()[0].label == words
    long = keeper.count({"degree": [f"option {i}" for i in range(100)]}, epsilon=1)
    assert "option 99" in long.method


def test_a_column_may_be_labelled_by_a_whole_number() -> None:
    keeper = curator(pd.DataFrame(np.full((50, 2), 3.0)), "replace", ceiling=1e7)
    estimate = keeper.mean(0, bounds=(0, 5), missing="drop", epsilon=10**6)
    assert float(estimate) == pytest.approx(3, abs=0.01)
    assert estimate.labels == ("mean of column number 1",)
    assert float(keeper.count({1: 3}, epsilon=10**6)) == 50


def test_a_generator_of_options_is_read_once() -> None:
    """Its first pass was over the data, so the shape of the release depended on the data."""
    for values in (["law"] * 3, ["art"] * 3, [None] * 3):
        keeper = curator(pd.DataFrame({"degree": values}), "replace")
        estimate = keeper.histogram("degree", options=(option for option in ("law", "art")), epsilon=1)
        assert (estimate.labels, np.shape(estimate.value)) == (("law", "art"), (2,))
        binned = curator(pd.DataFrame({"x": [1.0, 9.0]}), "replace").histogram(
            "x", edges=iter([0, 5, 10]), epsilon=10**6
        )
        assert binned.value.tolist() == [1, 1]
    with pytest.raises(TypeError, match="`options` must be a list, got str"):
        keeper.histogram("degree", options="law", epsilon=1)


@pytest.mark.parametrize(
    "q", [Fraction(10**40 + 1, 3 * 10**40), "0.33333333333333333333333333333333333333", Fraction(1, 2**61 - 1), 1e-17]
)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_a_quantile_of_many_digits_overflows_nowhere(q: object, neighbors: str) -> None:
    """In an earlier version, scores overflowed: a table and its neighbor released different values almost surely, and
    2,768 values raised errors.
    """
    for rows in (2767, 2768, 5000):
        values = np.linspace(0, 80, rows)
        estimate = curator(pd.DataFrame({"x": values}), neighbors).quantile("x", q, bounds=(0, 80), epsilon=100)
        assert abs(float(estimate) - 80 * float(Fraction(q))) < 1


def test_a_stateful_function_is_told_of_in_notes_and_repr() -> None:
    """A score function can violate the guarantee (one that stores data moved a count by 1,010), and no check can detect
    this, so the documentation says so.
    """
    keeper = curator(frame(rows=50), "replace")
    estimate = keeper.count(lambda row: row["hours"] > 20, epsilon=1)
    assert any("the curator guarantees" in note for note in estimate.notes)
    assert "a function of the row holds" in repr(estimate)
    assert keeper.ledger.entries()[0].label == "count where a function of the row holds"
    assert not any("the curator guarantees" in note for note in keeper.count({"degree": "law"}, epsilon=1).notes)


def test_the_frame_is_read_only_after_the_charge() -> None:
    """A condition that looks at the ledger while rows are read finds the charge there."""
    keeper = curator(frame(rows=5), "replace")
    spent = []
    keeper.count(lambda row: spent.append(keeper.ledger.spent) or bool(row), epsilon=0.25)
    assert spent == [Pure(0.25)] * 5
    keeper.choose(
        ["a"],
        lambda data, name: spent.append(keeper.ledger.spent) or len(data) + len(name),
        sensitivity=1,
        epsilon=0.25,
    )
    assert spent[-1] == Pure(0.5)


def test_a_score_gets_a_copy_and_failures_reveal_nothing() -> None:
    """A score function receives a copy, and a function that fails or returns a value that is not finite changes no
    visible result.
    """
    data = frame(rows=20)
    before = data.copy()

    def score(table: pd.DataFrame, candidate: str) -> float:
        table["hours"] = 0.0
        return {"raises": lambda: 1 / 0, "nan": lambda: np.nan, "array": lambda: np.array([1, 2]), "good": lambda: 500}[
            candidate
        ]()

    chosen = curator(data, "add_remove").choose(
        iter(["raises", "nan", "array", "good"]), score, sensitivity=1, epsilon=1
    )
    assert chosen == "good"
    pd.testing.assert_frame_equal(data, before)


def test_infinite_scores_count_as_zero() -> None:
    scores = {"infinite": np.inf, "minus infinite": -np.inf, "huge": 10**400, "good": 500}
    keeper = curator(frame(rows=20), "add_remove")
    assert keeper.choose(list(scores), lambda _, candidate: scores[candidate], sensitivity=1, epsilon=1) == "good"
    for nothing in (lambda *_: 1 / 0, lambda *_: np.nan, lambda *_: -np.inf, lambda *_: [1, 2], lambda *_: None):
        assert _score(nothing, None, "a") == 0


def test_a_score_never_warns_about_the_data() -> None:
    """A warning, or an error in its place, would reveal that somebody's row caused it."""

    def score(_: object, candidate: int) -> float:
        warnings.warn("Bob", stacklevel=1)
        return candidate + 0 * np.exp(-np.float64(1) / np.float64(0))

    with np.errstate(all="raise"):
        assert curator(frame(rows=20), "add_remove").choose([0, 500], score, sensitivity=1, epsilon=1) == 500


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_dropped_values_count_neither_in_a_mean_nor_in_a_variance(neighbors: str) -> None:
    values = np.array([np.nan, 10.0, 30.0, np.nan, 70.0, np.nan, 100.0])
    keeper = curator(pd.DataFrame({"hours": values}), neighbors, ceiling=1e13)
    known = np.array([10, 30, 70, 80])
    for verb, expected in (("mean", known.mean()), ("variance", known.var(ddof=1))):
        found = getattr(keeper, verb)("hours", bounds=(0, 80), missing="drop", epsilon=10**12)
        assert float(found) == pytest.approx(expected, rel=1e-3)
        assert float(found.interval(0.95).low) <= float(found) <= float(found.interval(0.95).high)


def test_a_mean_is_measured_from_the_middle_of_the_bounds() -> None:
    """There are 2**32 + 1 steps of 1 between the bounds: counted from the wrong one of the two middle points, the mean
    would be off by 1.
    """
    keeper = curator(pd.DataFrame({"x": [1.0, 2.0**32 + 1, np.nan]}), "add_remove", ceiling=1e16)
    found = keeper.mean("x", bounds=(0, 2**32 + 1), missing="drop", epsilon=10**15)
    assert float(found) == (1 + 2**32 + 1) / 2


@pytest.mark.slow
def test_the_note_of_a_quantile_bounds_its_error_in_rank() -> None:
    """The number of values between a released quantile and the true one is at most the number in the note.

    If all values are equal, every other candidate is as wrong as possible: of 100 draws, each exceeds the number in the
    note with probability at most 5 %, so more than 14 do with probability at most 2e-4 (binomial).
    """
    rng = np.random.default_rng(11)

    def median(rows: int) -> Estimate:
        data = pd.DataFrame({"x": np.full(rows, 40.0)})
        return curator(data, "replace").median("x", bounds=(0, 80), step=1, epsilon=1, rng=rng)

    (reach,) = {int(note.split("at most ")[1].split(" ")[0]) for note in median(1).notes if "at most" in note}
    assert sum(float(median(2 * reach + 2)) != 40 for _ in range(100)) <= 14


def test_a_quantile_lies_within_its_bounds_where_their_grid_does_not() -> None:
    """The multiples of 4 that are nearest to the bounds 1 and 7 are 0 and 8."""
    for value, bound in ((-100.0, 1.0), (100.0, 7.0)):
        data = pd.DataFrame({"x": [value] * 50})
        assert float(curator(data, "replace").median("x", bounds=(1, 7), step=4, epsilon=10**3)) == bound


def test_an_empty_frame_is_released_where_its_number_of_rows_is_private() -> None:
    for data in (
        frame(rows=1).iloc[:0],
        pl.from_pandas(frame(rows=1)).head(0),
        pa.Table.from_pandas(frame(rows=1)).slice(0, 0),
    ):
        for release in RELEASES.values():
            assert np.all(np.isfinite(release(curator(data, "add_remove"), None).value))


def test_a_caller_who_wants_errors_of_numpy_is_told_nothing_of_the_data() -> None:
    """For all settings, a number that overflows before it is clamped to its bounds raises no error."""
    data = pd.DataFrame({"pay": [1e308, -1e308, np.inf, -np.inf, 5.0] * 4})
    with np.errstate(all="raise"):
        found = curator(data, "replace").mean("pay", bounds=(0, 1e-5), missing=0, epsilon=1)
    assert found.n == 20


def test_a_warning_that_the_data_cause_does_not_come_out():
    def loud(row):
        warnings.warn(f"age {row['age']}", stacklevel=1)
        return True

    curator = Curator(pd.DataFrame({"age": [30, 40]}), Ledger(Pure(1)), neighbors="replace")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        curator.count(loud, epsilon="1/2")
    assert heard == []


def test_scores_are_exact_where_they_are_whole() -> None:
    """Whole numbers beyond the range of exact floats are compared to the last digit, others by their nearest float."""
    keeper = Curator(frame(rows=20), Ledger(Pure(10**9)), "add_remove")
    for scores in ([2**60 + one for one in range(8)], [Fraction(one, 3) for one in range(8)], np.arange(8.0) / 4):
        found = keeper.choose(range(8), lambda _, one, scores=scores: scores[one], sensitivity="1/8", epsilon=1000)
        assert found == 7


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_table_whose_public_number_of_rows_has_changed_is_refused(engine: str, tmp_path: Path) -> None:
    """Under "replace", noise is calibrated to this public number; under "add_remove" the number is private and is not
    reported.
    """
    rows, path = pl.DataFrame({"x": [0.0, 1.0] * 50}), tmp_path / "rows.csv"
    rows.write_csv(path)
    table = duckdb.read_csv(str(path)) if engine == "duckdb" else pl.scan_csv(path)
    curators = [Curator(table, Ledger(Pure(10**6)), neighbors) for neighbors in ("replace", "add_remove")]
    asked: list[Callable[[Curator], Estimate]] = [
        lambda c: c.sum("x", bounds=(0, 1), missing=0, epsilon=1),
        lambda c: c.mean("x", bounds=(0, 1), missing=0, epsilon=1),
        lambda c: c.variance("x", bounds=(0, 1), missing=0, epsilon=1),
        lambda c: c.covariance("x", "x", bounds={"x": (0, 1)}, missing=0, epsilon=1),
        lambda c: c.median("x", bounds=(0, 1), method="smooth", missing=0, epsilon=1),
    ]
    for ask in asked:
        assert ask(curators[0]).n == 100
    pl.concat([rows, rows]).write_csv(path)
    for place, ask in enumerate(asked):
        with pytest.raises(
            RuntimeError, match="the table of a curator must not change, got a different number of rows"
        ):
            ask(curators[0])
        assert place == 4 or ask(curators[1]).n is None
    assert len(curators[0].ledger.entries()) == 10


def test_a_score_or_a_condition_that_panics_is_one_that_fails() -> None:
    """A panic of polars is not an `Exception`."""

    def panic(*_: object) -> float:
        raise BaseException("out-of-range date")

    curator = Curator(pd.DataFrame({"x": [1.0]}), Ledger(Pure(10**6)), "add_remove")
    assert curator.choose(["a"], panic, sensitivity=1, epsilon=1) == "a"
    assert curator.count(panic, epsilon=10**5).value == 0
