"""Every attack with every kind of frame: it reads the frame, or rejects it without quoting its contents."""

import decimal
import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.curator.hostile import CELLS
from toolkit.teaching import attacks
from toolkit.teaching.attacks import anonymity, linkage, marginals, membership, reconstruction, streams
from toolkit.teaching.attacks.anonymity import GeneralizedTable
from toolkit.teaching.attacks.differencing import GuardedTable

MARKER = "Bob"
DATA = {"zip": [MARKER, "b", "b", None, "b"], "year": [70, 71, 71, 70, 71], "ill": ["x", "y", "y", "y", "x"]}
FRAMES: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "mapping of lists": dict,
    "mapping of arrays": lambda data: {name: np.array(cells, dtype=object) for name, cells in data.items()},
    "pandas": pd.DataFrame,
    "pandas of objects": lambda data: pd.DataFrame(data, dtype=object),
    "pandas of arrow": lambda data: pa.table(data).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "duckdb": lambda data: _relation(pa.table(data)),
}
OTHERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {  # not frames: rejected
    "a text": lambda _: MARKER,
    "rows": lambda data: list(zip(*data.values(), strict=True)),
    "array": lambda data: np.array(list(data.values()), dtype=object),
    "series": lambda data: pd.Series(data["zip"]),
    "a batch": lambda data: pa.record_batch(data),
}
QUASI = ["zip", "year"]
READS: dict[str, Callable[[Any], Any]] = {
    "linkage.uniqueness": lambda frame: linkage.uniqueness(frame).shares,
    "linkage.link": lambda frame: linkage.link(frame, frame, QUASI).anonymous.tolist(),
    "anonymity.k_anonymity": lambda frame: anonymity.k_anonymity(frame, QUASI),
    "anonymity.homogeneity": lambda frame: [
        (given.size, given.value) for given in anonymity.homogeneity(frame, ["year"], "zip")
    ],
    "anonymity.background": lambda frame: anonymity.background(frame, "ill", {"year": 71}, ruled_out=["z"]),
    "anonymity.generalize": lambda frame: (
        anonymity.generalize(frame, {"zip": anonymity.prefixes(1), "year": anonymity.bands(10)}, k=5).steps
    ),
}
ROW = [[1.0], [0.0]]
ARRAYS: dict[str, Callable[[Any], Any]] = {
    "anonymity.possible_values": lambda x: anonymity.possible_values(
        x, [GeneralizedTable({"a": np.zeros(5, dtype=int)}, {}, np.ones(5, dtype=bool))]
    ),
    "membership.roc": lambda x: membership.roc(x, [1]),
    "membership.inner_product": lambda x: membership.inner_product([1], x),
    "membership.fit": lambda x: membership.fit(x, [1, -1]),
    "membership.fit of labels": lambda x: membership.fit(ROW, x),
    "reconstruction.answers": lambda x: reconstruction.answers(x, np.ones((2, 5), dtype=bool)),
    "reconstruction.reconstruct": lambda x: reconstruction.reconstruct(np.ones((2, 5), dtype=bool), x),
    "reconstruction.exhaustive": lambda x: reconstruction.exhaustive(x, 1),
    "reconstruction.subset_sums": reconstruction.subset_sums,
    "reconstruction.Reconstruction.share": lambda x: reconstruction.Reconstruction(
        np.ones(5, dtype=bool), np.ones(5)
    ).share(x),
    "marginals.marginals_of": lambda x: marginals.marginals_of(x, [(0,)]),
    "marginals.from_marginals": lambda x: marginals.from_marginals({(0,): x}, (2, 2)),
    "differencing.GuardedTable": lambda x: GuardedTable(x, 1).sum(np.array([1, 1, 0, 0, 0], dtype=bool), "zip"),
    "membership.canary_game": lambda x: membership.canary_game(lambda *_: 1 / 0, x, [1], ([1.0], 1)),
    "streams.exact_totals": streams.exact_totals,
    "streams.spot": lambda x: streams.spot(streams.exact_totals, x, 1, runs=4),
    "streams.canaries": lambda x: streams.canaries(streams.exact_totals, x),
}
NO_DATA = {  # they take arguments that the analyst writes, a release or a server, but no rows of people
    *("anonymity.bands", "anonymity.prefixes", "linkage.recognize", "averaging.ask_again"),
    *("differencing.outlier", "differencing.resignation", "differencing.tracker"),
    *("membership.inner_product_area", "membership.promised_advantage", "membership.simulate"),
    *("reconstruction.queries", "reconstruction.rounding_mechanism", "reconstruction.sweep"),
    *("streams.new_noise_every_week", "streams.one_loss"),
}


def _relation(table: pa.Table) -> duckdb.DuckDBPyRelation:
    return duckdb.connect().from_arrow(table)


def message(call: Callable[[], Any], capfd: pytest.CaptureFixture[str]) -> str:
    """Return everything that a failing call reveals: its own message, the chained errors and messages of engines."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            call()
            said = []
        except Exception as error:
            chain = (error, error.__cause__, None if error.__suppress_context__ else error.__context__)
            said = [str(one) for one in chain if one is not None]
    return " ".join([*said, *(str(one.message) for one in warned), *capfd.readouterr()])


def test_every_attack_is_handed_frames_here() -> None:
    rooms = (name for name in attacks.__all__ if inspect.ismodule(getattr(attacks, name)))
    shown = {"gallery"}  # exhibits: broken mechanisms with data of their own
    found = {
        f"{room}.{name}"
        for room in set(rooms) - shown
        for name, function in vars(getattr(attacks, room)).items()
        if inspect.isfunction(function) and function.__module__ == f"toolkit.teaching.attacks.{room}" and name[0] != "_"
    }
    assert found <= {*READS, *ARRAYS, *NO_DATA}
    assert found >= NO_DATA


@pytest.mark.parametrize("name", READS)
def test_an_attack_on_a_frame_reads_every_kind_alike(name: str) -> None:
    expected = READS[name](pd.DataFrame(DATA))
    for kind, made in FRAMES.items():
        assert READS[name](made(DATA)) == expected, kind


@pytest.mark.slow
@pytest.mark.parametrize("name", [*READS, *ARRAYS])
def test_no_message_holds_what_is_in_a_frame(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    call = {**READS, **ARRAYS}[name]
    for kind, made in {**FRAMES, **OTHERS}.items():
        assert MARKER not in message(partial(call, made(DATA)), capfd), kind


@pytest.mark.slow
@pytest.mark.parametrize("name", [*READS, *ARRAYS])
def test_no_message_comes_out_of_a_hostile_cell(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    call = {**READS, **ARRAYS}[name]
    for cell in [*CELLS.values(), [MARKER], (MARKER,), {MARKER: 1}]:
        for column in DATA:
            cells = np.empty(5, dtype=object)
            cells[:] = DATA[column]
            cells[1] = cell
            for held in (cells, list(cells), pd.Series(cells, dtype=object)):
                assert MARKER not in message(partial(call, {**DATA, column: held}), capfd)
                assert MARKER not in message(partial(call, held), capfd)
            frame = pd.DataFrame({**DATA, column: pd.Series(cells, dtype=object)})
            assert MARKER not in message(partial(call, frame), capfd)


@pytest.mark.slow
def test_an_engine_that_fails_while_it_is_read_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    table = duckdb.connect().from_arrow(pa.table(DATA)).project("zip, cast(zip as integer) as year, ill")
    lazy = pl.LazyFrame(DATA).with_columns(pl.col("zip").cast(pl.Int64, strict=True).alias("year"))
    for frame in (table, lazy):
        for call in READS.values():
            assert MARKER not in message(partial(call, frame), capfd)


def test_a_column_of_numbers_and_texts_keeps_them_apart() -> None:
    """As an array, all entries of the list would be texts, so 1 and "1" would be equal."""
    assert linkage.uniqueness({"a": [1, "1", 2, 2]}).shares == {("a",): 0.5}


def test_numbers_that_no_float_tells_apart_are_two() -> None:
    exact = pa.array([decimal.Decimal(10**18), decimal.Decimal(10**18 + 1)], pa.decimal128(25, 0))
    assert linkage.uniqueness(pa.table({"a": exact})).shares == {("a",): 1.0}
