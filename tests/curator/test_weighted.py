"""Weighted releases compared with the formulas of R's survey package, and the coverage of their intervals."""

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.curator.test_weights import curator
from toolkit import Pure, Zcdp
from toolkit.core.covers import ErrorSource

BY = {"g": ["a", "b"]}
RELEASES: dict[str, Any] = {
    "count": lambda c, **pay: c.count(**pay),
    "count by": lambda c, **pay: c.count(by=BY, **pay),
    "count where": lambda c, **pay: c.count({"g": "a"}, **pay),
    "histogram": lambda c, **pay: c.histogram("x", edges=[0, 20, 80], **pay),
    "sum": lambda c, **pay: c.sum("x", bounds=(-10, 80), missing=0, **pay),
    "sum by": lambda c, **pay: c.sum("x", bounds=(0, 80), missing="drop", by=BY, **pay),
    "mean": lambda c, **pay: c.mean("x", bounds=(0, 80), missing="drop", **pay),
    "mean by": lambda c, **pay: c.mean("x", bounds=(0, 80), missing="drop", by=BY, **pay),
}


def sample(rows: int = 240, seed: int = 1) -> pd.DataFrame:
    """Return values and weights on a grid that all bounds of this file contain."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 80 * 16, rows) / 16
    return pd.DataFrame(
        {
            "x": np.where(rng.random(rows) < 0.1, np.nan, x),
            "w": rng.integers(16, 50 * 16, rows) / 16,
            "g": rng.choice(["a", "b", "c"], rows),
            "id": rng.integers(0, rows // 2, rows),
        }
    )


def survey_total(data: pd.DataFrame, y: Any) -> tuple[float, float]:
    """Return the total and the standard error of `svytotal(~y, svydesign(ids = ~1, weights = ~w))`.

    The error is sqrt(n / (n - 1) * sum((w y - mean(w y))**2)); rows outside a domain have y = 0.
    """
    scores = data["w"] * y
    n = len(data)
    return scores.sum(), np.sqrt(n / (n - 1) * ((scores - scores.mean()) ** 2).sum())


def survey_mean(data: pd.DataFrame, y: Any, domain: Any) -> tuple[float, float]:
    """Return the mean and the standard error of `svymean`, or of `svyby` for a domain.

    The error is sqrt(n / (n - 1) * sum(u**2)) with u = w (y - mean) / sum(w) in the domain, and 0 outside.
    """
    weights = data["w"] * domain
    mean = (weights * y).sum() / weights.sum()
    scores = weights * (y - mean) / weights.sum()
    n = len(data)
    return mean, np.sqrt(n / (n - 1) * (scores**2).sum())


def expected(name: str, data: pd.DataFrame) -> list[tuple[float, float]]:
    x, groups = data["x"].fillna(0), [(data["g"] == key).astype(float) for key in ("a", "b")]
    known = data["x"].notna().astype(float)
    return {
        "count": lambda: [survey_total(data, 1.0)],
        "count by": lambda: [survey_total(data, group) for group in groups],
        "count where": lambda: [survey_total(data, groups[0])],
        "histogram": lambda: [survey_total(data, known * (x < 20)), survey_total(data, known * (x >= 20))],
        "sum": lambda: [survey_total(data, x)],
        "sum by": lambda: [survey_total(data, x * group) for group in groups],
        "mean": lambda: [survey_mean(data, x, known)],
        "mean by": lambda: [survey_mean(data, x, known * group) for group in groups],
    }[name]()


@pytest.mark.parametrize("name", RELEASES)
def test_without_noise_they_are_those_of_the_survey_package(name: str) -> None:
    data = sample()
    found = RELEASES[name](curator(data, ceiling=Pure(10**20)), epsilon=10**13)
    values, errors = zip(*expected(name, data), strict=True)
    assert np.ravel(found.value) == pytest.approx(values, rel=1e-6)
    assert np.ravel(found.se) == pytest.approx(errors, rel=1e-6)


@pytest.mark.parametrize("name", RELEASES)
def test_a_private_sample_size_changes_no_value_and_lowers_no_error(name: str) -> None:
    data = sample()
    found = RELEASES[name](curator(data, "add_remove", ceiling=Pure(10**20)), epsilon=10**13)
    values, errors = zip(*expected(name, data), strict=True)
    assert np.ravel(found.value) == pytest.approx(values, rel=1e-6)
    assert np.all(np.ravel(found.se) > np.array(errors) * (1 - 1e-9))
    assert found.n is None
    assert found.counts is not None


@pytest.mark.parametrize("deff", [None, 1.5])
@pytest.mark.parametrize("name", RELEASES)
def test_a_release_is_one_charge_that_names_both_errors(name: str, deff: Any, tmp_path: Path) -> None:
    keeper = curator(sample(), ceiling=Pure(1), deff=deff)
    found = RELEASES[name](keeper, epsilon="1/2")
    (entry,) = keeper.ledger.entries()
    source = "noised squares" if deff is None else "design effect 1.5"
    assert (entry.charged, found.loss) == (Pure("1/2"), Pure("1/2"))
    assert entry.label.startswith("weighted ")
    assert found.covers == f"sampling ({source}) and noise"
    assert found.covers.sources == (ErrorSource.SAMPLING, ErrorSource.NOISE)
    low, high = found.interval()
    assert np.all((low <= found.value) & (found.value <= high))
    narrow = found.interval(method="noise")
    assert np.all((low <= narrow.low) & (narrow.high <= high))
    document = json.loads(found.publish(tmp_path / "table").read_text(encoding="utf-8"))
    assert document["query"]["weights"] == "w, clipped to 0 to 50; each depends on its own row alone"
    assert document["query"]["sampling variance"] == source
    assert document["query"]["bounds"]["w"]["high"] == "50"
    assert "due to the sample and the noise" in document["table"]["columns"]["se"]
    page = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert f"covers sampling ({source}) and noise alone, not what was clamped" in page
    assert "Weights: w, clipped to 0 to 50" in page


@pytest.mark.parametrize("deff", [None, 1.5])
@pytest.mark.parametrize("name", RELEASES)
def test_a_preview_says_the_noise(name: str, deff: Any) -> None:
    """For a total it is exact; for a mean it is the error of many evenly spread weights and values."""
    data = pd.DataFrame({"x": np.linspace(0, 80, 300), "g": ["a", "b", "a"] * 100})
    data = data.merge(pd.DataFrame({"w": np.linspace(0, 50, 300)}), how="cross")
    keeper = curator(data, ceiling=Zcdp(100), deff=deff)
    before, found = RELEASES[name](keeper.preview, rho=1), RELEASES[name](keeper, rho=1)
    narrow, wide = (found.interval(method=method) for method in ("noise", "combined"))
    assert np.all(narrow.high - narrow.low < wide.high - wide.low)
    n = 200 * 300 if "by" in name else len(data)
    assert before.se(n) == pytest.approx(np.ravel(narrow.high - narrow.low)[0] / (2 * 1.96), rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"person": "id", "rows": 1}, {"person": "id", "rows": 3, "groups": 1}])
@pytest.mark.parametrize("name", RELEASES)
def test_every_engine_releases_the_same(name: str, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkit.frames.persons.secrets.token_bytes", bytes)  # always the same rows of a person
    data = sample()
    arrow = pa.Table.from_pandas(data)
    engines = (data, pl.from_pandas(data), pl.from_pandas(data).lazy(), arrow, duckdb.from_arrow(arrow))
    found = [RELEASES[name](curator(one, **more), rng=np.random.default_rng(3), epsilon=1) for one in engines]
    assert all(np.array_equal(one.value, found[0].value) and np.array_equal(one.se, found[0].se) for one in found)


def test_a_person_with_several_rows_widens_the_noise() -> None:
    ses = [curator(sample(), "add_remove", person="id", rows=rows).preview.count(epsilon=1).se() for rows in (1, 3)]
    assert ses[1] == pytest.approx(3 * ses[0], rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("deff", [None, "Kish"])
def test_intervals_cover_in_stratified_samples(neighbors: str, deff: Any) -> None:
    """400 samples of 600 from 3 strata with weights 4, 20 and 50: coverage of at least .93.

    With a true coverage of .95, fewer than .93 of 400 occur with probability .03 in one cell; the seed is fixed.
    """
    rng = np.random.default_rng(5)
    sizes, weights, shifts = (300, 200, 100), (4, 20, 50), (20, 35, 50)
    population = [
        pd.DataFrame({"x": np.clip(rng.normal(shift, 15, size * weight), 0, 80), "w": float(weight)})
        for size, weight, shift in zip(sizes, weights, shifts, strict=True)
    ]
    everybody = pd.concat(population)
    truth = {"mean": everybody["x"].mean(), "sum": everybody["x"].sum(), "share": (everybody["x"] > 40).sum()}
    w = np.repeat(weights, sizes)
    effect = None if deff is None else float(1 + np.var(w) / np.mean(w) ** 2)
    covered = dict.fromkeys(truth, 0)
    for _ in range(400):
        data = pd.concat(
            stratum.iloc[rng.integers(0, len(stratum), size)] for stratum, size in zip(population, sizes, strict=True)
        )
        keeper = curator(data, neighbors, deff=effect)
        found = {
            "mean": keeper.mean("x", bounds=(0, 80), missing="drop", epsilon=1, rng=rng),
            "sum": keeper.sum("x", bounds=(0, 80), missing="drop", epsilon=1, rng=rng),
            "share": keeper.histogram("x", edges=[40.000001, 80], epsilon=1, rng=rng),
        }
        for name, estimate in found.items():
            low, high = (float(np.ravel(limit)[0]) for limit in estimate.interval())
            covered[name] += low <= truth[name] <= high
    assert min(covered.values()) >= 0.93 * 400
