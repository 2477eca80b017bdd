"""Record and replay: for neighboring frames, both calls raise the same message before any charge, or both release the
same shape.

The neighbors differ in one cell, which may be any object; the calls include ordinary ones and calls that once revealed
such a cell.
"""

import datetime as dt
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.curator.hostile import CELLS
from toolkit import MISSING, OTHER, Curator, Ledger, Pure, bands, between
from toolkit.central.robust import Huber

CALLS: dict[str, Callable[[Curator], Any]] = {
    "count": lambda c: c.count({"x": 1}, epsilon=1),
    "count of text": lambda c: c.count({"x": "Bob"}, epsilon=1),
    "count of several": lambda c: c.count({"x": ["Bob", 1, True, MISSING]}, epsilon=1),
    "count of a date": lambda c: c.count({"x": dt.date(2020, 1, 1)}, epsilon=1),
    "count between": lambda c: c.count({"x": between(0, 2)}, epsilon=1),
    "count missing": lambda c: c.count({"x": MISSING}, epsilon=1),
    "count by a function": lambda c: c.count(lambda row: row["x"] > 0, epsilon=1),
    "count with the whole cell": lambda c: c.count(lambda row: str(row["x"]) == "Bob", epsilon=1),
    "sum": lambda c: c.sum("x", bounds=(1, 2), missing="drop", epsilon=1),
    "sum in tiny bounds": lambda c: c.sum("x", bounds=(0, 1e-320), missing="drop", epsilon=1),
    "mean": lambda c: c.mean("x", bounds=(0, 2), missing=1, epsilon=1),
    "mean, dropped": lambda c: c.mean("x", bounds=(0, 2), missing="drop", epsilon=1),
    "mean without missing": lambda c: c.mean("x", bounds=(0, 2), epsilon=1),
    "variance": lambda c: c.variance("x", bounds=(0, 2), missing="drop", epsilon=1),
    "histogram": lambda c: c.histogram("x", options=(option for option in (1, "Bob", MISSING)), epsilon=1),
    "histogram of a text": lambda c: c.histogram("x", options="Bob", epsilon=1),
    "histogram of what raises": lambda c: c.histogram("x", options=[1, CELLS["raises"]], epsilon=1),
    "histogram between edges": lambda c: c.histogram("x", edges=iter([0, 1, 2]), epsilon=1),
    "median": lambda c: c.median("x", bounds=(0, 2), epsilon=1),
    "median with smooth noise": lambda c: c.median("x", bounds=(0, 2), epsilon=1, method="smooth", missing=1),
    "location": lambda c: c.location("x", estimator=Huber(1), bounds=(0, 2), epsilon=1),
    "trimmed mean": lambda c: c.trimmed_mean("x", trim=0.1, bounds=(0, 2), missing=1, epsilon=1),
    "iqr": lambda c: c.iqr("x", bounds=(0, 2), missing=1, epsilon=1),
    "iqr, dropped": lambda c: c.iqr("x", bounds=(0, 2), missing="drop", epsilon=1),
    "quantile of many digits": lambda c: c.quantile("x", "0.123456789123456789123456789", bounds=(0, 2), epsilon=1),
    "count by": lambda c: c.count(by={"x": (key for key in (1, "Bob", MISSING, OTHER))}, epsilon=1),
    "count by numbers": lambda c: c.count(by={"x": [*bands(0, 1, 2), MISSING]}, epsilon=1),
    "count by a list": lambda c: c.count(by={"x": "Bob"}, epsilon=1),
    "count by nothing": lambda c: c.count(by={"x": []}, epsilon=1),
    "count by a day": lambda c: c.count(by={"x": [dt.date(2020, 1, 1), OTHER]}, epsilon=1),
    "sum by": lambda c: c.sum("x", bounds=(-1, 2), missing="drop", by={"x": [1, OTHER]}, epsilon=1),
    "mean by": lambda c: c.mean("x", bounds=(0, 2), missing=1, by={"x": [1, 2, MISSING]}, epsilon=1),
    "mean where": lambda c: c.mean("x", bounds=(0, 2), missing="drop", where={"x": between(0, 2)}, epsilon=1),
    "mean, Gaussian": lambda c: c.mean("x", bounds=(0, 2), missing="drop", rho=1),
    "std by": lambda c: c.std("x", bounds=(0, 2), missing="drop", by={"x": [1, OTHER]}, epsilon=1),
    "covariance": lambda c: c.covariance("x", "x", bounds={"x": (0, 2)}, missing="drop", epsilon=1),
    "covariance, filled": lambda c: c.covariance("x", "x", bounds={"x": (0, 2)}, missing=1, epsilon=1),
    "choice": lambda c: c.choose([1, 2], lambda data, k: float(data["x"].iloc[0]) * k, sensitivity=1, epsilon=1),
}


def played(table: Any, call: Callable[[Curator], Any], neighbors: str) -> tuple[object, ...]:
    """Return everything that is visible in a call, except for the released numbers."""
    curator = Curator(table, Ledger(Pure(100)), neighbors)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            seen = call(curator)
        except Exception as error:
            return (
                type(error),
                str(error),
                curator.ledger.spent,
                error.__context__ is None or curator.ledger.spent == Pure(0),
            )
    if not hasattr(seen, "labels"):
        return type(seen), curator.ledger.spent
    entries = [(entry.label, entry.mechanism) for entry in curator.ledger.entries()]
    finite = bool(np.all(np.isfinite(seen.value)))
    return (
        np.shape(seen.value),
        seen.labels,
        seen.notes,
        seen.method,
        seen.n,
        finite,
        curator.ledger.spent,
        entries,
        repr(curator),
    )


@cache
def hostile() -> list[pd.DataFrame]:
    return [objects(cell) for cell in CELLS.values()]


def objects(cell: object) -> pd.DataFrame:
    cells = np.empty(4, dtype=object)
    cells[:] = [1, 2, "Bob", None]
    cells[0] = cell
    return pd.DataFrame({"x": pd.Series(cells, dtype=object)})


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("name", CALLS)
def test_a_hostile_cell_shows_in_nothing_but_the_released_number(name: str, neighbors: str) -> None:
    """Nor does the call reveal whether its person is in the data."""
    expected = played(objects(1), CALLS[name], neighbors)
    for table in hostile():
        assert played(table, CALLS[name], neighbors) == expected
    assert neighbors == "replace" or played(objects(1).iloc[1:], CALLS[name], neighbors) == expected
    assert "Bob" not in str(expected[1]) or "Bob" in name or isinstance(expected[1], tuple)


ENGINES: dict[str, Callable[[list[Any]], Any]] = {
    "numpy": lambda cells: pd.DataFrame({"x": pd.Series(cells, dtype="float64")}),
    "long double": lambda cells: pd.DataFrame(
        {"x": np.array([np.nan if c is None else c for c in cells], dtype=np.longdouble)}
    ),
    "nullable": lambda cells: pd.DataFrame({"x": pd.Series(cells, dtype="Float64")}),
    "arrow in pandas": lambda cells: pd.DataFrame({"x": pd.Series(cells, dtype="double[pyarrow]")}),
    "polars": lambda cells: pl.DataFrame({"x": pl.Series(cells, dtype=pl.Float64)}),
    "pyarrow": lambda cells: pa.table({"x": pa.array(cells, pa.float64())}),
}
NUMBERS = [1.0, None, float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 1e308, -1e308]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_number_of_any_size_shows_in_nothing_but_the_released_number(engine: str) -> None:
    tables = [ENGINES[engine]([number, 2.0, None, 1.0]) for number in NUMBERS]
    for name, call in CALLS.items():
        if name == "choice":
            continue
        assert len({str(played(table, call, "replace")) for table in tables}) == 1, name


def test_a_long_double_beyond_float64_is_infinite_without_a_warning() -> None:
    """The value is clipped to the nearer bound, like any infinite number."""
    for cell in (np.longdouble("1e400"), np.longdouble("-1e400")):
        table = pd.DataFrame({"x": np.array([cell, 1.0], dtype=np.longdouble)})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = Curator(table, Ledger(Pure(10**7), simulated=True), "replace").sum(
                "x", bounds=(0, 2), missing="drop", epsilon=10**6
            )
        assert float(found) == pytest.approx(3 if cell > 0 else 1, abs=0.01)
