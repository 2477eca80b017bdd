import decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

from tests.slowly import each
from toolkit import Ledger, Zcdp
from toolkit.frames.engines import streams
from toolkit.learning import PrivateLinearRegression, PrivateLogisticRegression, PrivatePCA
from toolkit.learning.tables import class_codes, make_table, target_column, to_floats


def placed(target, classes):
    return class_codes(target.column, classes)(target.column)


WANTED = np.array([[1.0, 2.5], [3.0, np.nan]])
PANDAS = pd.DataFrame({"a": [1, 3], "b": [2.5, None]})


class Loud:
    def __float__(self) -> float:
        raise RuntimeError("a cell's own method was called")

    __eq__ = __hash__ = __float__  # type: ignore[assignment]


@each(
    given=[
        WANTED,
        WANTED.astype(np.float32),
        [[1, 2.5], [3, None]],
        [(1, 2.5), np.array([3, np.nan])],
        np.array([[1, 2.5], [3, "x"]], dtype=object),
        np.array([[True, decimal.Decimal("2.5")], [Fraction(3), Loud()]], dtype=object),
        np.ma.masked_array([[1, 2.5], [3, 7]], mask=[[0, 0], [0, 1]]),
        PANDAS,
        PANDAS.astype(object),
        PANDAS.convert_dtypes(),
        PANDAS.astype({"a": "int8", "b": "float32"}),
        pl.DataFrame({"a": [1, 3], "b": [2.5, None]}),
        pl.DataFrame({"a": [1, 3], "b": [2.5, float("nan")]}),
        pa.table({"a": [1, 3], "b": [2.5, None]}),
        pa.table({"a": pa.array([1, 3], pa.int8()), "b": pa.array([2.5, None], pa.float32())}),
    ]
)
def test_the_same_numbers_come_out_of_every_kind_of_table(given) -> None:
    found = make_table(given)
    assert (found.count(), found.n_columns) == (2, 2)
    np.testing.assert_array_equal(found.read(), WANTED)


def test_nothing_is_read_before_it_is_asked_for() -> None:
    found = make_table(np.array([[Loud()]], dtype=object))
    assert np.isnan(found.read()).all()


@pytest.mark.parametrize("cell", [np.inf, -np.inf, 10**400, "text", b"x", None, pd.NA, pd.NaT, {}, 1j, Loud()])
def test_no_cell_decides_an_error(cell) -> None:
    assert to_floats(np.array([cell, 1], dtype=object))[1] == 1
    assert make_table([[cell, 1], [2, 3]]).read()[1].tolist() == [2, 3]
    assert placed(target_column([cell, 1], 2), (0, 1)).tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (csr_matrix(np.eye(2)), "a sparse matrix"),
        (np.array([["a", "b"]]), "a table of numbers"),
        (np.array([["2024-01-01"]], dtype="datetime64[D]"), "a table of numbers"),
        (pd.DataFrame({"a": ["x", "y"]}), "must hold numbers"),
        (pd.DataFrame({"a": pd.Categorical(["x", "y"])}), "must hold numbers"),
        (pl.DataFrame({"a": ["x", "y"]}), "must hold numbers"),
        (pa.table({"a": ["x", "y"]}), "must hold numbers"),
        (np.eye(2) * 1j, "Complex data not supported"),
        (np.ones(3), "Reshape your data"),
        (np.ones((3, 0)), r"0 feature\(s\)"),
        (pd.DataFrame(index=[1, 2]), r"0 feature\(s\)"),
        ([[1, 2], [3]], "same length"),
        (3, "an array, lists or a frame"),
        ("text", "an array, lists or a frame"),
    ],
)
def test_types_and_shapes_are_refused_in_a_sentence(given, error) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        make_table(given)


@pytest.mark.parametrize(
    "given",
    [
        ["no", "yes", "maybe"],
        np.array(["no", "yes", "maybe"]),
        pd.Series(["no", "yes", "maybe"]),
        pd.Series(["no", "yes", None], dtype="category"),
        pl.Series(["no", "yes", None]),
        pa.chunked_array([["no", "yes", None]]),
    ],
    ids=lambda given: type(given).__module__.partition(".")[0],
)
def test_a_label_that_is_no_class_has_no_place(given) -> None:
    assert placed(target_column(given, 3), ("no", "yes")).tolist() == [0, 1, -1]


def test_numbers_and_truth_values_are_labels_too() -> None:
    for given, classes, expected in (
        (np.array([0.0, 1.0, np.nan]), (0, 1), [0, 1, -1]),
        (np.ma.masked_array([0, 1, 1], mask=[0, 0, 1]), (0, 1), [0, 1, -1]),
        ([False, True, 2], (0, 1), [0, 1, -1]),
        ([1, "1", 0], ("0", "1"), [-1, 1, -1]),
        (np.array([2**53, 2**53 + 1, 1]), (2**53 + 1, 1), [-1, 0, 1]),
    ):
        assert placed(target_column(given, 3), classes).tolist() == expected


@pytest.mark.parametrize(
    ("given", "classes"),
    [
        (np.array([0, 1]), ("0", "1")),
        (np.array([0, 1]), (0, 0.5)),
        (np.array([0, 1], dtype=np.uint8), (-1, 1)),
        (np.array([True, False]), (1, 2)),
        (np.array([0.0, 1.0]), (False, True)),
        (np.array(["a", "b"]), (0, 1)),
        (np.array([b"a", b"b"]), ("a", "b")),
        (np.array(["2024-01-01"] * 2, dtype="datetime64[D]"), (0, 1)),
        (pd.Series(["a", "b"], dtype="string"), (0, 1)),
        (pd.Series([True, None], dtype="boolean"), ("no", "yes")),
        (pd.Series([0, 1]), ("no", 1)),
        (pl.Series(["a", "b"]), (0, 1)),
        (pa.array([1, None]), ("no", "yes")),
    ],
)
def test_classes_that_a_column_can_never_hold_are_refused_by_its_type(given, classes) -> None:
    """Before anything is charged, and the same whatever is in it."""
    for rows in (2, 0):
        with pytest.raises((TypeError, ValueError), match=r"\by\b.* hold"):
            class_codes(target_column(given[:rows], rows).column, classes)


def test_a_frame_that_is_not_in_memory_is_refused_by_its_type() -> None:
    for call in (make_table, target_column):
        with pytest.raises((TypeError, ValueError), match=r"in memory|no pairs"):
            call(pl.LazyFrame({"a": [1]}))


def test_a_target_has_one_cell_for_each_row() -> None:
    with pytest.raises(ValueError, match="one cell for each row"):
        target_column([1, 2], 3)
    with pytest.warns(match="column-vector"):
        assert target_column(np.ones((3, 1)), 3).n_rows == 3
    with pytest.warns(match="column-vector"):
        assert target_column(pa.table({"a": [1, 2]}), 2).n_rows == 2
    with pytest.raises(ValueError, match="requires y"):
        target_column(None, 3)
    with pytest.raises(TypeError, match="sparse"):
        target_column(csr_matrix(np.eye(2)), 2)
    with pytest.raises(ValueError, match="Complex"):
        target_column(np.ones(2) * 1j, 2)


@pytest.mark.parametrize("missing", [None, True])
def test_a_missing_truth_value_is_read_the_same_way_as_any_other(missing, monkeypatch) -> None:
    """A column of a type is read whole, never cell by cell because something is missing in it: an array of
    objects takes a hundred times as long.
    """

    def cell_by_cell(_: object) -> float:
        raise AssertionError("a cell was read by itself")

    cells = [True, missing, False]
    columns = [pd.Series(cells, dtype="boolean"), pl.Series(cells), pa.array(cells)]
    frames = [column.to_frame("a") for column in columns[:2]] + [pa.table({"a": columns[2]})]
    tables = [make_table(frame) for frame in frames]
    targets = [target_column(column, 3).column for column in columns]
    labels = [class_codes(target, (False, True)) for target in targets]
    for name in ("learning.tables.number_or_nan", "frames.engines.column.number_or_nan", "frames.engines.cells.key"):
        monkeypatch.setattr(f"toolkit.{name}", cell_by_cell)
    for found, target, codes in zip(tables, targets, labels, strict=True):
        np.testing.assert_array_equal(found.cells()[:, 0], [1, np.nan if missing is None else 1, 0])
        assert codes(target).tolist() == [1, -1 if missing is None else 1, 0]


PEOPLE = pl.DataFrame(
    {
        "age": [None if place == 7 else place * 37 % 80 for place in range(500)],
        "pay": [place * 91 % 100 / 10 for place in range(500)],
        "cheated": [("no", "yes", None)[place % 3] for place in range(500)],
    }
)
LEARNERS = {
    "linear": lambda rng: PrivateLinearRegression(
        rho=1, bounds=(0, 80), target_bounds=(0, 10), missing="drop", rng=rng
    ),
    "descent": lambda rng: PrivateLogisticRegression(
        rho=1, bounds=(0, 80), classes=("no", "yes"), missing=0, method="descent", steps=3, rng=rng
    ),
    "objective": lambda rng: PrivateLogisticRegression(
        1, bounds=(0, 80), classes=("no", "yes"), missing="middle", rng=rng
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_fits_an_engine_in_batches_as_a_table_in_memory(name, monkeypatch) -> None:
    """In another order of rows, too; whether each row meets its own target would show in the weights."""
    monkeypatch.setattr(streams, "BATCH_ROWS", 64)
    target = "pay" if name == "linear" else "cheated"
    people = PEOPLE.select("age", target)

    def fitted(x, y):
        learner = LEARNERS[name](np.random.default_rng(3)).fit(x, y)
        assert list(learner.feature_names_in_) == ["age"]
        return np.append(learner.coef_, learner.intercept_)

    expected = fitted(people.drop(target), people[target])
    shuffled = people.sample(fraction=1, shuffle=True, seed=5)
    for x in (people, people.to_pandas(), people.lazy(), duckdb.connect().from_arrow(shuffled.to_arrow())):
        exact = not isinstance(x, duckdb.DuckDBPyRelation) or name != "objective"
        np.testing.assert_allclose(fitted(x, target), expected, rtol=0 if exact else 1e-9)


def test_components_of_an_engine_are_those_of_a_table_in_memory() -> None:
    people = PEOPLE.select("age", "pay")
    tables = (people, people.lazy(), duckdb.connect().from_arrow(people.to_arrow()))
    fits = [PrivatePCA(rho=1, bounds=(0, 80), missing=0, rng=np.random.default_rng(3)).fit(x) for x in tables]
    for one in fits[1:]:
        np.testing.assert_array_equal(one.components_, fits[0].components_)


def test_a_target_of_an_engine_goes_by_its_name() -> None:
    learner = LEARNERS["linear"](None)
    with pytest.raises(TypeError, match=r"y must name a column of X, .*fit\(frame, 'target'\)"):
        learner.fit(PEOPLE.lazy(), PEOPLE["pay"])
    with pytest.raises(ValueError, match="`column` must be one of age, pay, cheated"):
        learner.fit(PEOPLE.lazy(), "wages")
    with pytest.raises(ValueError, match="X must have columns"):
        learner.fit(PEOPLE.lazy().select("pay"), "pay")
    with pytest.raises(TypeError, match="X must be in memory"):
        make_table(PEOPLE.lazy())


BROKEN = pl.DataFrame({"age": [20.0, 40.0], "pay": [1.0, 2.0], "text": ["1", "Bob"]})


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_an_engine_computes_nothing_before_the_charge(engine: str) -> None:
    """A condition that fails at one value fails a count of the rows as well."""
    lazy = BROKEN.lazy().filter(pl.col("text").cast(pl.Float64) > 0).select("age", "pay")
    relation = duckdb.connect().from_arrow(BROKEN.to_arrow()).filter("CAST(text AS DOUBLE) > 0").select("age, pay")
    frame = lazy if engine == "polars" else relation
    said: dict[str, Any] = {"bounds": (0, 80), "missing": "drop", "neighbors": "add_remove"}
    learners = [
        PrivateLinearRegression(rho="1/2", target_bounds=(0, 9), **said),
        PrivateLogisticRegression(rho="1/2", classes=(1, 2), method="output", **said),
        PrivateLogisticRegression(rho="1/2", classes=(1, 2), method="descent", people=2, **said),
    ]
    for learner in learners:
        ledger = Ledger(Zcdp(1))
        with pytest.raises(RuntimeError, match="an error that is not shown: the charge remains"):
            learner.set_params(ledger=ledger).fit(frame, "pay")
        assert ledger.spent == Zcdp("1/2")
    with pytest.raises(RuntimeError, match="an error that is not shown: nothing was charged"):  # there it is public
        learners[0].set_params(neighbors="replace").fit(frame, "pay")
