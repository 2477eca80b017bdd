"""Results consist of numbers: no frame and no array with one entry per person can be reached from a result, and each
result can be pickled and copied without changing.
"""

import copy
import functools
import gc
import math
import pickle
import re
import types
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import cloudpickle
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.curator.test_curator import RELEASES
from tests.curator.verbs import REGIONS, SEXES, VERBS
from toolkit import OTHER, Approx, Curator, Gaussian, Laplace, Ledger, Pure, between, k_ary, warner
from toolkit.analysis import Sample, association, estimates, logistic, multinomial, plain, predictor
from toolkit.central.robust import Huber
from toolkit.central.stream import RunningTotal
from toolkit.core.estimate import Estimate
from toolkit.learning import PrivateLinearRegression, PrivateLogisticRegression, PrivatePCA, PrivateSVC
from toolkit.local.catalogue import make_example, makers

ROWS, MARK = 613, "a name that is in no result"
ENGINES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "pyarrow": pa.Table.from_pandas,
    "duckdb": lambda frame: duckdb.from_arrow(pa.Table.from_pandas(frame)),
}


def people(rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "hours": rng.gamma(4, 8, rows),
            "pay": rng.gamma(4, 8, rows),
            "age": rng.integers(18, 90, rows),
            "degree": rng.choice(["law", "art", "math"], rows),
            "region": rng.choice([*REGIONS, "elsewhere"], rows),
            "sex": rng.choice(SEXES, rows),
            "id": rng.integers(0, rows // 2, rows),
            "name": [MARK] * rows,
        }
    )


MORE: dict[str, Callable[[Curator], Any]] = {
    "mean of two": lambda c: c.mean(
        ["hours", "pay"], bounds={"hours": (0, 80), "pay": (0, 99)}, missing="drop", epsilon=1
    ),
    "variance by": lambda c: c.variance(
        "hours", bounds=(0, 80), missing="drop", by={"degree": ["law", "art"]}, epsilon=1
    ),
    "covariance by": lambda c: c.covariance(
        "hours", "pay", bounds={"hours": (0, 80), "pay": (0, 99)}, missing=1, by={"sex": SEXES}, epsilon=1
    ),
    "correlation": lambda c: c.correlation(
        "hours", "pay", bounds={"hours": (0, 80), "pay": (0, 99)}, missing="drop", epsilon=1
    ),
    "mean where a function holds": lambda c: c.mean(
        "hours", where=lambda row: row["age"] > 30, bounds=(0, 80), missing="drop", epsilon=1
    ),
    "count between": lambda c: c.count({"age": between(30, 39)}, by={"sex": [*SEXES, OTHER]}, epsilon=1),
    "keys": lambda c: c.keys("region", epsilon=1, delta="1e-6"),
    "location": lambda c: c.location("hours", estimator=Huber(10), bounds=(0, 80), step=1, epsilon=1),
}
OF_ONE_ROW: dict[str, Callable[[Curator], Any]] = {
    "smooth median": lambda c: c.median("hours", bounds=(0, 80), method="smooth", missing=1, epsilon=1),
    "trimmed mean": lambda c: c.trimmed_mean("hours", trim=0.1, bounds=(0, 80), missing=1, epsilon=1),
    "iqr": lambda c: c.iqr("hours", bounds=(0, 80), missing=1, epsilon=1),
}
PAID: dict[str, Callable[[Curator], Any]] = {
    **{name: functools.partial(lambda release, c: release(c, None), one) for name, one in RELEASES.items()},
    **VERBS,
    **MORE,
}


def curator(frame: Any, neighbors: str = "replace", **more: Any) -> Curator:
    return Curator(frame, Ledger(Approx(10**6, "1/2")), neighbors, **more)


def released() -> Iterator[Any]:
    for name, verb in PAID.items():
        yield pytest.param(lambda verb=verb: verb(curator(people())), id=name)
        if name not in ("tables", "quantile", "median"):
            several = functools.partial(curator, neighbors="add_remove", person="id", rows=2, groups=2)
            yield pytest.param(lambda verb=verb, made=several: verb(made(people())), id=f"{name}, persons")
    for name, verb in OF_ONE_ROW.items():
        yield pytest.param(lambda verb=verb: verb(curator(people())), id=name)
    for engine, make in ENGINES.items():
        verb = RELEASES["std by"]
        yield pytest.param(lambda make=make, verb=verb: verb(curator(make(people())), None), id=engine)


def mean() -> Estimate:
    return RELEASES["mean by"](curator(people()), None)


DERIVED: dict[str, Callable[[], Any]] = {
    "difference": lambda: mean() - mean(),
    "function": lambda: mean().map(np.exp, np.exp),
    "another unit": lambda: mean().rescaled(2.0),
    "contrast": lambda: mean().contrast([1, -1]),
    "tidied": lambda: RELEASES["count by"](curator(people()), None).tidied(),
    "interval": lambda: mean().interval(),
    "test": lambda: mean().test(0.0),
    "preview": lambda: curator(people()).preview.mean(
        "hours", bounds=(0, 80), missing="drop", by={"sex": SEXES}, epsilon=1
    ),
    "preview of a mechanism": lambda: Laplace.for_epsilon(1).preview(),
    "release of a mechanism": lambda: Gaussian.for_rho(1).release(np.arange(5)),
    "running total": lambda: Ledger(Pure(1)).every(RunningTotal.for_epsilon(1, periods=4), "new").add(3),
    "charge": lambda: Ledger(Pure(1)).charge(Pure(1), "one"),
}


def asked() -> pd.DataFrame:
    rng, frame = np.random.default_rng(4), people()
    frame["report"] = warner("3/4").randomize(rng.random(ROWS) < 0.4, rng)
    frame["other"] = warner("3/4").randomize(rng.random(ROWS) < 0.4, rng)
    frame["party"] = k_ary(["a", "b", "c"], epsilon=3).randomize(rng.choice(["a", "b", "c"], ROWS), rng)
    return frame


# Findings and fits themselves hold the reports that they were made from: pairs of questions are counted on demand, and
# margins are averages over people. The objects that they return hold no reports.
ANALYSED: dict[str, Callable[[], Any]] = {
    "findings": lambda: (
        estimates(
            asked(), {"report": warner("3/4"), "age": plain(bounds=(0, 99)), "sex": plain(SEXES)}, by="region"
        ).group_estimates
    ),
    "estimate of a sample": lambda: estimates(
        asked(), {"report": warner("3/4")}, sample=Sample(weights=np.arange(1, ROWS + 1))
    )["report"],
    "association": lambda: association(asked(), {"report": warner("3/4"), "other": warner("3/4")}),
    "odds ratio": lambda: association(asked(), {"report": warner("3/4"), "other": warner("3/4")}).odds_ratio(),
    "coefficients": lambda: fit().coefficients,
    "one coefficient": lambda: fit()["x1"],
    "contrast of coefficients": lambda: fit().contrast({"x1": 1}),
    "prediction": lambda: fit().predict(np.array([[30.0], [40.0]])),
    "margins": lambda: fit().margins("x1"),
    "comparison": lambda: fit().compare(fit(np.ones((ROWS, 0)))),
    "options' coefficients": lambda: (
        multinomial(
            asked()["party"].to_numpy(), asked()["age"].to_numpy(), k_ary(["a", "b", "c"], epsilon=3)
        ).coefficients
    ),
    "hidden predictor's coefficients": lambda: (
        predictor("hours ~ report", asked(), designs={"report": warner("3/4")}).coefficients
    ),
}


def fit(covariates: Any = None) -> Any:
    frame = asked()
    return logistic(
        frame["report"].to_numpy(), frame[["age"]].to_numpy() if covariates is None else covariates, warner("3/4")
    )


def drawn(name: str) -> Estimate:
    design, rng = make_example(name), np.random.default_rng(5)
    options, low, high = (getattr(design, part, None) for part in ("options", "low", "high"))
    if name == "tick_boxes":
        truth: Any = rng.random((ROWS, len(options))) < 0.5
    elif options:
        truth = rng.choice(np.array(options, dtype=object), ROWS)
    else:
        truth = rng.uniform(float(low), float(high), ROWS)
    return design.estimate(design.randomize(truth, rng))


X, Y = np.random.default_rng(6).random((ROWS, 2)), np.random.default_rng(7).integers(0, 2, ROWS)
LEARNED: dict[str, Callable[[], Any]] = {
    "logistic": lambda: PrivateLogisticRegression(epsilon=1, classes=(0, 1), bounds=(0, 1), missing="drop").fit(X, Y),
    "svc": lambda: PrivateSVC(epsilon=1, classes=(0, 1), bounds=(0, 1), missing="drop").fit(X, Y),
    "linear": lambda: PrivateLinearRegression(rho=1, bounds=(0, 1), target_bounds=(0, 1), missing="drop").fit(X, Y),
    "components": lambda: PrivatePCA(1, rho=1, bounds=(0, 1), missing="drop").fit(X),
}


def reachable(result: object) -> Iterator[tuple[str, object]]:
    """Yield everything that can be reached, with the path to it, except for the contents of modules and classes."""
    seen, ahead = dict[int, object](), [("result", result)]  # visited objects are kept alive, so that no id is reused
    while ahead:
        way, one = ahead.pop()
        if id(one) in seen or isinstance(one, types.ModuleType | type | types.CodeType):
            continue
        seen[id(one)] = one
        ahead_of = list(gc.get_referents(one))
        if isinstance(one, types.FunctionType):
            ahead_of = [one.__closure__, one.__defaults__, one.__kwdefaults__, one.__dict__]
        if isinstance(one, np.ndarray):
            ahead_of = [one.base, *(one.ravel().tolist() if one.dtype == object else ())]
        yield way, one
        ahead += [(f"{way} > {type(one).__name__}", other) for other in ahead_of]


def rows_in(result: object, rows: int = ROWS) -> list[str]:
    """Return frames, columns and anything else with as many entries as there are rows."""
    found = []
    for way, one in reachable(result):
        engine = type(one).__module__.split(".")[0] in ("pandas", "polars", "pyarrow", "duckdb", "_duckdb")
        size = max(one.shape, default=0) if isinstance(one, np.ndarray) else 0
        if isinstance(one, list | tuple | dict | set | frozenset):
            size = len(one)
        if engine or size >= rows or (isinstance(one, str) and MARK in one):
            found.append(f"{way} > {type(one).__name__}")
    return found


def same(one: Any, other: Any) -> bool:
    """Return whether two results are equal, field by field; functions are compared by name."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        if one.dtype == object:
            return one.shape == other.shape and same(one.ravel().tolist(), other.ravel().tolist())
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, str | int | bool | bytes | Fraction | type(None) | type):
        return bool(one == other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, functools.partial):
        return same((one.func, one.args, one.keywords), (other.func, other.args, other.keywords))
    if isinstance(one, types.MethodType):
        return same(one.__func__, other.__func__) and same(one.__self__, other.__self__)
    if isinstance(one, types.FunctionType | np.ufunc | types.BuiltinFunctionType):
        return bool(one.__name__ == other.__name__)
    ours, theirs = (vars(some) if hasattr(some, "__dict__") else some for some in (one, other))
    return same(ours, theirs) if isinstance(ours, dict) else bool(ours == theirs)


def test_the_walk_finds_what_a_closure_a_view_a_method_and_a_field_hold() -> None:
    frame = people()
    for hidden in (
        lambda: len(frame),
        functools.partial(len, frame),
        frame["hours"].to_numpy()[3:5],
        [frame["hours"]],
        frame.sum,
        {"a": (frame["age"].tolist(),)},
        Curator(frame, Ledger(Pure(1)), "replace"),
        (one for one in frame["age"].tolist()),
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
    ):
        assert rows_in(hidden), hidden


def check(result: Any) -> None:
    assert rows_in(result) == []
    for again in (
        pickle.loads(pickle.dumps(result)),  # noqa: S301  (made a moment ago)
        cloudpickle.loads(cloudpickle.dumps(result)),
        copy.copy(result),
        copy.deepcopy(result),
    ):
        assert same(result, again)
        assert repr(again) == repr(result)
        if isinstance(result, Estimate):
            assert same(result.interval(0.9), again.interval(0.9))
            assert again.to_frame().equals(result.to_frame())
    assert MARK.encode() not in cloudpickle.dumps(result)


@pytest.mark.slow
@pytest.mark.parametrize("make", list(released()))
def test_what_a_curator_released_is_numbers_and_comes_back_from_a_pickle(make, tmp_path) -> None:
    result = make()
    check(result)
    path = pickle.loads(pickle.dumps(result)).publish(tmp_path / "first")  # noqa: S301
    again = result.publish(tmp_path / "second")
    assert path.with_suffix(".csv").read_bytes() == again.with_suffix(".csv").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [pytest.param(make, id=name) for name, make in {**DERIVED, **ANALYSED, **LEARNED}.items()]
)
def test_other_results_are_numbers_and_come_back_from_a_pickle(make) -> None:
    check(make())


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(makers()))
def test_estimates_of_every_design_survive_a_pickle(name) -> None:
    """The estimate of every design consists of numbers and can be restored from a pickle."""
    check(drawn(name))


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [*list(released())[::3], *(pytest.param(one, id=name) for name, one in {**DERIVED, **LEARNED}.items())]
)
def test_what_is_shown_has_no_numpy_scalars_no_exponents_and_whole_people(make, tmp_path) -> None:
    result = make()
    shown = [repr(result), getattr(result, "_repr_html_", str)()]
    if isinstance(result, Estimate):
        shown += [repr(result.labels), *(text for row in result.text_rows() for text in map(str, row[1:]))]
        for part in (result, result.counts):
            if part is not None and part.whole:
                assert all("." not in value and "." not in ends for _, value, _, ends in part.text_rows())
                assert part.to_frame()["estimate"].dtype == np.int64
    if isinstance(result, Estimate) and result.release is not None:
        path = result.publish(tmp_path / "table.csv")
        shown += [path.with_suffix(kind).read_text() for kind in (".csv", ".json", ".md")]
    for text in shown:
        assert "np." not in text
        assert "float64" not in text
        assert not re.search(r"\de\+0[0-9]\b", text.replace("1e+06", ""))  # the ceiling of these ledgers


def test_a_label_that_was_a_number_of_numpy_is_one_of_python() -> None:
    found = curator(people()).top("pay", 1, options=np.array([1.5, 2.5]), epsilon=1)
    assert [type(label) for label in found.labels] == [float]
    made = Laplace.for_epsilon(1).release(np.arange(2), labels=np.array(["a", "b"]))
    assert repr(made.labels) == "('a', 'b')"
