"""What every verb of a curator computes before noise, of a table with all that engines treat differently."""

import datetime as dt
from copy import copy
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from tests.curator.verbs import measured
from toolkit import MISSING, OTHER, bands, between
from toolkit.curator.curator import ReleaseMethods
from toolkit.curator.quantiles import GRID_BITS
from toolkit.curator.release import PlannedRelease, Unit
from toolkit.curator.weights import Weights
from toolkit.frames.frame import Frame
from toolkit.frames.persons import Caps, Persons
from toolkit.frames.sums import Bounds

ROWS = 600
TEXTS = [
    "a", "A", "a ", " a", "", "a\x00", "\x00", "\u00e9", "e\u0301", "ß", "ss", "\ufb01", "İ", "i", "NULL", "☕",
    None,
]  # fmt: skip
NUMBERS = [None, np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, 1e308, 0.5, 2.5, 79.99999999999999, 80.0, 1e12 + 0.5]
SPRING = dt.datetime(2024, 3, 30, 22, 30, tzinfo=dt.UTC)  # hours around a change of the clock there
OLD = dt.datetime(1969, 12, 31, 22, 30)


def people() -> pl.DataFrame:
    """Nullable numbers, decimals, dates with and without zones, categories, uint64, text with NUL."""
    rng, hours = np.random.default_rng(7), [dt.timedelta(hours=hour) for hour in range(8)]
    pick = [rng.integers(0, 10**6, ROWS).tolist() for _ in range(12)]
    large = [0, 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, None]
    digits = [Decimal(one).scaleb(-4) for one in (12345678901234567, -5, 99999999999999999, 250000)]
    columns: dict[str, Any] = {
        "pay": pl.Series([NUMBERS[i % 26] if i % 26 < 13 else i % 997 / 8 for i in pick[0]], dtype=pl.Float64),
        "small": pl.Series([[0.1, 0.25, None, np.nan, 3.0][i % 5] for i in pick[1]], dtype=pl.Float32),
        "age": pl.Series([None if i % 9 == 0 else i % 70 - 5 for i in pick[2]], dtype=pl.Int8),
        "large": pl.Series([large[i % 8] for i in pick[3]], dtype=pl.UInt64),
        "money": pl.Series([[*digits, None][i % 5] for i in pick[4]], dtype=pl.Decimal(38, 4)),
        "price": pl.Series(
            [None if i % 7 == 0 else Decimal(i % 999).scaleb(-2) for i in pick[5]], dtype=pl.Decimal(9, 2)
        ),
        "text": pl.Series([TEXTS[i % 17] for i in pick[6]], dtype=pl.String),
        "kind": pl.Series([["x", "y", "z", None][i % 4] for i in pick[7]], dtype=pl.Categorical),
        "yes": pl.Series([[True, False, None][i % 3] for i in pick[8]], dtype=pl.Boolean),
        "day": pl.Series([None if i % 8 == 0 else dt.date(1969, 12, 28) + dt.timedelta(i % 8) for i in pick[9]]),
        "at": pl.Series([None if i % 9 == 0 else OLD + hours[i % 8] for i in pick[10]], dtype=pl.Datetime("us")),
        "zoned": pl.Series([SPRING + hours[i % 8] for i in pick[10]]).dt.convert_time_zone("Europe/Berlin"),
        "id": pl.Series([None if i % 50 == 0 else i % 40 - 20 for i in pick[11]], dtype=pl.Int64),
        "name": pl.Series([None if i % 50 == 0 else f"p\x00{i % 40}é" for i in pick[11]], dtype=pl.String),
        "born": pl.Series([None if i % 50 == 0 else dt.date(1970, 1, 1) + dt.timedelta(i % 40 - 20) for i in pick[11]]),
        'odd "`{name}': pl.Series([i % 3 for i in pick[0]], dtype=pl.Int64),
    }
    return pl.DataFrame(columns)


class Reads(ReleaseMethods[Any]):
    """The integers that each verb would add noise to."""

    def __init__(self, table: Any, caps: Caps | None = None, person: str = "id") -> None:
        self._frame = Frame(table)
        persons = None if caps is None else Persons(person, person, caps, bytes(range(32)))
        self._unit = Unit("add_remove", persons)

    def weighted(self, label: str, bounds: Any, deff: Any = None) -> "Reads":
        """Return the same reads with a column of weights."""
        other = copy(self)
        other._weights = Weights.of(self._frame, label, bounds, deff, are_fixed=True)
        return other

    def _run(self, release: PlannedRelease[Any], rng: Any) -> Any:  # noqa: ARG002
        data = release.read()
        if isinstance(data, tuple):  # values in memory, where an engine has a histogram
            bounds = release.query["bounds"]["pay"]
            limits = Bounds.of((0, 80), GRID_BITS)
            limits = limits.with_step(bounds["step"]) if str(limits.step) != bounds["step"] else limits
            (codes, values), steps = data, limits.steps(data[1])
            assert len(codes) == len(values)
            used = (codes >= 0) & (steps >= 0)
            data = np.zeros((int(codes.max(initial=0)) + 1, limits.span + 1), dtype=np.int64)
            np.add.at(data, (codes[used], steps[used]), 1)
        if isinstance(data, np.ndarray) and data.ndim == 2:
            return [(cell, place, int(data[cell, place])) for cell, place in np.argwhere(data).tolist()]
        if isinstance(data, list) and data and isinstance(data[0], np.ndarray):
            return [one.tolist() for one in data]
        return list(data.items()) if isinstance(data, dict) else [*data]


BY: dict[str, dict[str, Any]] = {
    "text": {"text": [one for one in TEXTS if one is not None]},
    "marks": {"text": ["a", MISSING, "ß", OTHER], "yes": [True, MISSING]},
    "bands": {"age": bands(-5, 0, 18, 64), "pay": [*bands(0, 0.5, 40, 80), 100, MISSING, OTHER]},
    "numbers": {"small": [0.1, 3, MISSING], "price": [Decimal("5.25"), *bands(0, 1, 5), OTHER]},
    "days": {
        "day": [dt.date(1969, 12, 31), dt.date(1970, 1, 1), OTHER],
        "zoned": bands(*(dt.date(2024, 3, d) for d in (30, 31))),
    },
    "moments": {"at": [dt.date(1969, 12, 31), dt.date(1970, 1, 1)], "kind": ["y", "x", MISSING, "none"]},
}
WHERE: dict[str, Any] = {
    "either": {"kind": ["x", MISSING], "age": [between(0, 20), 33, MISSING]},
    "zone": {"zoned": dt.date(2024, 3, 31)},
    "moment": {"zoned": between(SPRING, SPRING + dt.timedelta(hours=3)), "at": [OLD, MISSING]},
    "odd": {'odd "`{name}': [0, 2], "yes": [False, MISSING]},
    "number": {"pay": between(0, 80)},
}


def integers(reads: Reads, *, unsigned: bool = True, few: bool = False) -> dict[str, Any]:
    """By call; a `few` where each takes long."""
    more: dict[str, Any] = {"epsilon": 1}
    pay: dict[str, Any] = {"bounds": (0, 80), "missing": "drop", **more}
    found: dict[str, Any] = {"rows": reads.count(**more)}
    for name, by in BY.items() if not few else [(one, BY[one]) for one in ("marks", "bands", "days")]:
        found[f"mean by {name}"] = reads.mean("pay", by=by, **pay)
        if not few:
            found[f"count by {name}"] = reads.count(by=by, **more)
    for name, where in WHERE.items() if not few else [("either", WHERE["either"])]:
        found[f"count where {name}"] = reads.count(where, **more)
        found[f"sum where {name}"] = reads.sum("pay", where=where, by={"yes": [True, False]}, **pay)
    if unsigned:
        found["large"] = reads.count(
            {"large": [2**64 - 1, 2**53]}, by={"large": [2**53, 2**63, 2**64 - 1, OTHER]}, **more
        )
        found["large bands"] = reads.count(by={"large": bands(0, 2**53, 2**63, 2**64 - 1)}, **more)
        found["large mean"] = reads.mean("large", bounds=(0, 2**64), missing="drop", **more)
    for label, bounds in (
        ("money", (-1, 2 * 10**13)),
        ("price", (0, 9.99)),
        ("yes", (0, 1)),
        ("age", (-3, 50)),
        ("pay", (0.1, 0.7)),
    )[: 1 if few else None]:
        found[f"filled {label}"] = reads.mean(label, bounds=bounds, missing=bounds[0], by={"kind": ["x", "y"]}, **more)
        found[f"variance {label}"] = reads.variance(label, bounds=bounds, missing="drop", **more)
    found["far"] = reads.mean("pay", bounds=(10**12, 10**12 + 1), missing="drop", **more)
    both = {"pay": (0, 80), "age": (-5, 64)}
    found["covariance"] = reads.covariance(
        "pay", "age", bounds=both, missing="drop", by={"yes": [True, False, MISSING]}, **more
    )
    found["correlation"] = reads.correlation("pay", "age", bounds=both, missing={"pay": "drop", "age": 0}, **more)
    found["several"] = reads.mean(["pay", "age"], bounds=both, missing="drop", **more)
    found["histogram"] = reads.histogram("pay", edges=[-1, 0, 0.5, 2.5, 80], **more)
    found["options"] = reads.histogram("text", options=["a", "a\x00", ""], **more)
    found["quantiles"] = reads.quantile("pay", [0.25, 0.5], bounds=(0, 80), **more)
    found["quantile by"] = reads.quantile("pay", 0.5, bounds=(0, 80), step=1, by={"kind": ["x", "y", MISSING]}, **more)
    found["tables"] = reads.count(by=[{"kind": ["x", "y"]}, {"yes": [True, False], "kind": ["x", "y"]}, {}], **more)
    found["synthetic"] = measured(reads, {"kind": ["x", "y"], "yes": [True, MISSING], "age": bands(-5, 18, 64)}, **more)
    for deff in (None, 2):
        sample = reads.weighted("age", (1, 50), deff)
        found[f"weighted mean {deff}"] = sample.mean("pay", by={"kind": ["x", "y"]}, **pay)
        found[f"weighted sum {deff}"] = sample.sum("pay", bounds=(0, 80), missing=1, **more)
        found[f"weighted count {deff}"] = sample.count(
            {"yes": [True, MISSING]}, by={"kind": ["x", "y", MISSING]}, **more
        )
    found["bounds"] = reads.bounds("pay", **({"powers": (-3, 8)} if few else {}), **more)
    found["top"] = reads.top("text", 2, options=["ß", "a", "A"], **more)
    for label in (
        ("text",) if few else ("text", "kind", "age", "yes", "day", *(() if reads._unit.persons else ("pay", "small")))
    ):
        found[f"keys {label}"] = reads.keys(label, where={"age": between(0, 40)}, delta=1e-6, **more)
    return found
