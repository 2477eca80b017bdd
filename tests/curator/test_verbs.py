"""Promises of all methods of a publisher: one charge, and only the released numbers depend on the data."""

import json
import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from tests.curator.verbs import VERBS, curator, people
from toolkit import Pure
from toolkit.core.estimate import SIMULATED, Estimate

RELATIONS = ["replace", "add_remove"]


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("name", VERBS)
def test_every_verb_is_one_charge_with_its_label_and_can_be_published(
    name: str, neighbors: str, tmp_path: Path
) -> None:
    keeper = curator(people(), neighbors)
    found = VERBS[name](keeper)
    (entry,) = keeper.ledger.entries()
    assert entry.charged.epsilon == 0.5
    assert found.loss == Pure("1/2")
    assert SIMULATED not in found.notes
    assert found.cov is None or np.sqrt(np.diag(found.cov)) == pytest.approx(np.ravel(found.se), nan_ok=True)
    told = json.loads(found.publish(tmp_path / "table").read_text(encoding="utf-8"))
    assert told["query"]["statistic"] == entry.label
    assert told["ledger"]["entry"] == 1
    assert told["unit"]["neighbors"] == neighbors
    assert "table.json" in keeper.ledger.report()
    assert VERBS[name](keeper, rng=np.random.default_rng(1)).loss is None


def told_of(found: Estimate, folder: Path) -> Any:
    """Return everything that is visible in a release, except for its numbers."""
    facts = json.loads(found.publish(folder / "table", overwrite=True).read_text(encoding="utf-8"))
    for part, key in (("table", "sha256"), ("ledger", "id")):
        facts[part].pop(key)
    keys = sorted(map(str, found.labels)) if "top" in facts["query"]["statistic"] else list(found.labels)
    return facts, found.axes, found.notes, found.method, np.shape(found.value), len(keys), str(found.se)


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("name", VERBS)
def test_documents_and_charges_are_the_same_on_neighboring_tables(name: str, neighbors: str, tmp_path: Path) -> None:
    """Shapes, labels and notes of the releases are also equal."""
    frame = people(40)
    strange = frame.copy()
    strange.loc[3, ["region", "sex", "pay", "age"]] = ["???", None, np.inf, 1000]
    others = [strange, frame.iloc[1:]] if neighbors == "add_remove" else [strange]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = [told_of(VERBS[name](curator(one, neighbors)), tmp_path) for one in (frame, *others)]
    assert all(one == seen[0] for one in seen)


@pytest.mark.slow
@pytest.mark.parametrize("name", VERBS)
def test_every_engine_releases_the_same(name: str) -> None:
    frame = people()
    arrow = pa.Table.from_pandas(frame)
    lazy = (pl.from_pandas(frame).lazy(), duckdb.from_arrow(arrow))
    if name.startswith("quantile"):  # engines process rows in chunks, so random digits have another order
        lazy = ()
    engines = (frame, pl.from_pandas(frame), arrow, frame.astype(object), *lazy)
    found = [VERBS[name](curator(one), rng=np.random.default_rng(3)) for one in engines]
    assert all(np.array_equal(one.value, found[0].value) and one.labels == found[0].labels for one in found)


@pytest.mark.parametrize("name", VERBS)
def test_a_person_with_several_rows_is_cut_to_the_caps(name: str) -> None:
    found = VERBS[name](curator(people(), person="id", rows=2, groups=2))
    assert found.n is None
    assert "at most 2 rows, 2 groups of a person (id)" in found.method
    told = "at most 2 rows, 2 groups of a person (id) are used, selected by a secret key from that person"
    assert found.release.unit["person"].startswith(told)


@pytest.mark.parametrize("name", VERBS)
def test_an_empty_frame_has_the_same_shape(name: str) -> None:
    found = VERBS[name](curator(people(0), "add_remove"))
    assert np.shape(found.value) == np.shape(VERBS[name](curator(people(5), "add_remove")).value)


@pytest.mark.parametrize(
    ("verb", "arguments", "more"),
    [
        ("bounds", ("pay",), {}),
        ("top", ("region", 2), {"options": ["north", "south"]}),
        ("quantile", ("pay", [0.1, 0.5]), {"bounds": (0, 100)}),
        ("keys", ("region",), {"delta": 1e-6}),
        ("count", (), {"by": [{"sex": ["f", "m"]}, {}]}),
    ],
)
def test_every_verb_has_a_preview_that_reads_and_charges_nothing(verb: str, arguments: Any, more: Any) -> None:
    keeper = curator(people())
    told = getattr(keeper.preview, verb)(*arguments, epsilon="1/2", **more)
    assert told.loss.epsilon == 0.5
    assert told.fits
    assert keeper.ledger.entries() == ()
