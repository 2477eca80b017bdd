"""Record and replay: of neighboring tables, one with a cell that may be anything, a learner shows the same.

The same charge, the same kind of result, the same words or none, no warning, and nothing on either output.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.curator.hostile import CELLS
from toolkit import Ledger
from toolkit.core.arrays import object_array
from toolkit.core.loss import Zcdp
from toolkit.learning import (
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePCA,
    PrivateSVC,
    Thresholdout,
    choose_classifier,
)


class Loud:
    """A cell that warns and speaks whenever it is asked anything."""

    def _warn(self, *_: object) -> float:
        warnings.warn("Bob", stacklevel=2)
        print("Bob")  # noqa: T201
        return 1.0

    __float__ = __eq__ = __hash__ = __len__ = __array__ = __bool__ = __iter__ = _warn  # type: ignore[assignment]


HOSTILE = [*CELLS.values(), Loud(), float("nan"), float("inf"), 1e308, -1e308, 10**30, (1,), [1, 2], "yes", 0]
SAID: dict[str, Any] = {"bounds": (0, 2), "missing": "drop"}


class Call(NamedTuple):
    """What is done with a table and a column; `only` one of the relations, where it has no other."""

    does: Callable[..., Any]
    only: str | None = None


def fitting(learner: Any, **said: Any) -> Callable[..., Any]:
    def call(rows: Any, y: Any, **where: Any) -> Any:
        model = learner(**said, **SAID, **where).fit(rows, y)
        verb = model.transform if isinstance(model, PrivatePCA) else model.predict
        return [repr(model), np.shape(verb(rows)), sorted(vars(model))]

    return call


CALLS = {
    "logistic": Call(fitting(PrivateLogisticRegression, epsilon=1, classes=("no", "yes")), "replace"),
    "logistic, numbers": Call(fitting(PrivateLogisticRegression, epsilon=1, method="output")),
    "logistic, truth": Call(fitting(PrivateLogisticRegression, epsilon=1, method="output", classes=(False, True))),
    "descent": Call(fitting(PrivateLogisticRegression, rho=1, method="descent", steps=2, people=4)),
    "hinge": Call(fitting(PrivateSVC, rho=1, method="output", classes=("no", 1))),
    "linear": Call(fitting(PrivateLinearRegression, rho=1, target_bounds=(0, 1))),
    "linear, no intercept": Call(fitting(PrivateLinearRegression, rho=1, target_bounds=(0, 1), fit_intercept=False)),
    "components": Call(fitting(PrivatePCA, rho=1)),
    "known labels": Call(
        lambda _, y, **where: np.shape(PrivateSVC(1, classes=("no", "yes"), **where).count_labeled(y, epsilon=1).value)
    ),
    "choice": Call(lambda rows, y, **where: isinstance(chosen(rows, y, **where), Says)),
    "holdout": Call(lambda _, y, ledger, neighbors: type(holdout(y, ledger)), "replace"),  # noqa: ARG005
}


class Says:
    """A classifier that says one thing of every row, a text or a number, or what stands in it."""

    def __init__(self, label: Any) -> None:
        self.label = label

    def predict(self, rows: Any) -> Any:
        return [row[0] for row in rows] if self.label == "row" else [self.label] * len(rows)


def chosen(rows: Any, y: Any, **where: Any) -> Any:
    return choose_classifier([Says("yes"), Says(1), Says("row")], rows, y, epsilon=1, **where)


def holdout(y: Any, ledger: Ledger) -> Any:
    return Thresholdout(len(y), answers=5, sigma=1, ledger=ledger).ask([0.5], y)


def played(call: Call, rows: Any, y: Any, neighbors: str, capfd: Any) -> tuple[object, ...]:
    """All that can be seen of a call but the released numbers."""
    ledger = Ledger(Zcdp(10**4), neighbors=neighbors)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            seen: Any = call.does(rows, y, ledger=ledger, neighbors=neighbors)
        except Exception as error:
            seen = type(error), str(error), error.__context__ is None
    entries = [(entry.label, entry.mechanism, entry.loss) for entry in ledger.entries()]
    return seen, ledger.spent, entries, [str(one.message) for one in warned], *capfd.readouterr()


ROWS = [[1.0, 0.5], [2.0, 1.5], [0.0, 0.1], [1.5, 1.0]]
LABELS = {"texts": ["no", "yes", "yes", "no"], "numbers": [0, 1, 1, 0], "mixed": ["no", 1, None, True]}
TABLES: dict[str, Callable[[list[list[Any]]], Any]] = {
    "list": list,
    "array": lambda rows: object_array([cell for row in rows for cell in row]).reshape(len(rows), 2),
    "pandas": lambda rows: pd.DataFrame(
        {name: pd.Series(object_array([row[place] for row in rows]), dtype=object) for place, name in enumerate("ab")}
    ),
}
COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "array": object_array,
    "pandas": lambda cells: pd.Series(object_array(cells), dtype=object),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "neighbors"),
    [
        (name, relation)
        for name, call in CALLS.items()
        for relation in ("replace", "add_remove")
        if call.only in (None, relation)
    ],
)
def test_a_hostile_cell_shows_in_nothing_but_the_released_numbers(
    name: str, neighbors: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A number of the first person and the label of the second at once: neither keeps the other from being read."""
    call = CALLS[name]
    for kind in TABLES if name not in ("choice", "holdout", "known labels") else ["list"]:
        rows = TABLES[kind]
        for labels in LABELS.values() if kind == "list" else [LABELS["mixed"]]:
            column = COLUMNS[kind]
            expected = played(call, rows(ROWS), column(labels), neighbors, capfd)
            assert expected[1] != Zcdp(0)  # it was charged, and did what it does
            assert expected[3:] == ([], "", "")
            for cell in HOSTILE:
                first, second = [[cell, 0.5], *ROWS[1:]], [labels[0], cell, *labels[2:]]
                assert played(call, rows(first), column(second), neighbors, capfd) == expected


NUMBERS = [1.0, None, float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 1e308, -1e308]
TYPED: dict[str, Callable[[list[Any]], Any]] = {
    "float64": lambda cells: pd.Series(cells, dtype="float64"),
    "long double": lambda cells: np.array([np.nan if c is None else c for c in cells], dtype=np.longdouble),
    "Float64": lambda cells: pd.Series(cells, dtype="Float64"),
    "arrow": lambda cells: pa.array(cells, pa.float64()),
    "polars": lambda cells: pl.Series("a", cells, dtype=pl.Float64),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("name", ["logistic, numbers", "descent", "linear", "components", "holdout"])
def test_a_number_of_any_size_shows_in_nothing_but_the_released_numbers(
    name: str, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    seen = set()
    for number in NUMBERS:
        column = TYPED[kind]([number, 1.0, 0.0, 1.0])
        table = pa.table({"a": column}) if kind == "arrow" else _framed(column)
        for rows, y in ((table, [0, 1, 1, 0]), (np.ones((4, 1)), column)):
            seen.add(str((y is column, played(CALLS[name], rows, y, "replace", capfd))))
    assert len(seen) == 2


def _framed(column: Any) -> Any:
    if isinstance(column, np.ndarray):
        return column[:, None]
    return column.to_frame("a")
