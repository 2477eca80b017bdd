"""The model and the rows of synthetic tables: run by `test_synthetic.py`, in an environment that has mbi."""

import doctest
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from tests.curator.verbs import REGIONS, SEXES, curator, people
from toolkit import MISSING, OTHER, Zcdp, bands
from toolkit.curator.synthetic import SyntheticTable, _library, _split_by_table
from toolkit.studio.curating import CuratorPage
from toolkit.studio.folder import Folder

ROOT = Path(__file__).parents[2]
COLUMNS: dict[str, Any] = {"region": [*REGIONS, OTHER], "sex": SEXES, "age": bands(18, 40, 90)}


def synthetic_of(frame: pd.DataFrame, columns: Any, rho: Any = 1, seed: int = 3, **more: Any) -> SyntheticTable:
    keeper = curator(frame, "add_remove", Zcdp(10**9))
    found: SyntheticTable = keeper.synthesize(columns, rho=rho, rng=np.random.default_rng(seed), **more)
    return found


def test_rows_have_the_options_as_they_were_given() -> None:
    frame = people()
    frame.loc[:99, "pay"] = np.nan
    options = {"region": [*REGIONS, OTHER], "age": bands(18, 40, 90), "pay": [MISSING, OTHER]}
    found = synthetic_of(frame, options, rho=10**6)
    rows = found.frame
    assert rows.columns.tolist() == list(options)
    assert set(rows["region"]) == {*REGIONS, "other"}
    assert set(rows["age"]) == {"18 to under 40", "40 to 90"}
    assert abs(rows["pay"].isna().sum() - frame["pay"].isna().sum()) <= 3
    assert len(rows) == 600
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    again = SyntheticTable(found.marginals, found.options).frame
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002
    pd.testing.assert_frame_equal(rows, again)


def test_the_model_attains_the_least_squares_of_the_tree() -> None:
    """The loss of mbi's model is that of a quadratic program over consistent tables, solved by other means."""
    import jax

    found = synthetic_of(people(), COLUMNS, rho="1/20")
    total = float(found._model.total)
    sizes, pairs = (4, 2, 2), [table for table in found.measured if len(table) == 2]
    value, labels = found.marginals.value, found.marginals.labels
    keys = [list(dict.fromkeys(label[axis] for label in labels if label[axis] != "(all)")) for axis in range(3)]
    index = [[None if key == "(all)" else keys[axis].index(key) for axis, key in enumerate(label)] for label in labels]
    # A joint table over three columns can have any margins that agree, so its cells are the unknowns.
    design = np.array(
        [
            [all(want in (None, have) for want, have in zip(wanted, cell, strict=True)) for cell in np.ndindex(*sizes)]
            for wanted in index
        ],
        dtype=float,
    )

    def loss(joint: Any) -> float:
        return float(np.sum(((design @ joint - value) / found.marginals.se) ** 2) / 2)

    def slope(joint: Any) -> Any:
        return design.T @ ((design @ joint - value) / found.marginals.se**2)

    least = minimize(
        loss, np.full(16, total / 16), jac=slope, bounds=[(0, None)] * 16, method="SLSQP", tol=1e-12,
        constraints={"type": "eq", "fun": lambda joint: joint.sum() - total}, options={"maxiter": 1000},
    )  # fmt: skip
    names = found.marginals.axes
    with jax.enable_x64(True):
        tables = [tuple(str(names.index(name)) for name in table) for table in found.measured]
        ours = np.concatenate([np.ravel(found._model.project(table).datavector()) for table in tables])
    assert np.sum(((ours - value) / found.marginals.se) ** 2) / 2 == pytest.approx(least.fun, rel=1e-4)
    assert len(pairs) == 2


def test_the_model_is_that_of_another_solver_of_mbi() -> None:
    """L-BFGS instead of mirror descent, on the same noisy counts: the loss agrees to 1e-4."""
    import jax
    import mbi

    found = synthetic_of(people(3000), COLUMNS, rho="1/20")
    with jax.enable_x64(True):
        measurements, start = [], 0
        for table in found.measured:
            axes = tuple(str(found.marginals.axes.index(name)) for name in table)
            cells = found._model.domain.size(axes)
            part = slice(start, start := start + cells)
            measurements.append(mbi.LinearMeasurement(found.marginals.value[part], axes, found.marginals.se[part][0]))
        other = mbi.estimation.LBFGS().estimate(found._model.domain, measurements, iters=2000)
        function = mbi.marginal_loss.from_linear_measurements(measurements, found._model.domain)
        assert float(function(found._model.marginals)) == pytest.approx(float(function(other.marginals)), rel=1e-4)


def test_aim_measures_pairs_that_the_model_fits_badly() -> None:
    """The pair of two dependent columns is measured, and the loss is that of L-BFGS."""
    rng = np.random.default_rng(5)
    first = rng.integers(0, 3, 20_000)
    second = np.where(rng.random(20_000) < 0.8, first, rng.integers(0, 3, 20_000))
    frame = pd.DataFrame({"a": first, "c": second})
    found = synthetic_of(frame, {"a": range(3), "c": range(3)}, rho="1/100", method="aim")
    assert found.measured == (("a",), ("c",), ("a", "c"))
    real, made = (pd.crosstab(table["a"], table["c"]).to_numpy() for table in (frame, found.frame))
    assert np.abs(real - made).sum() < 0.05 * 20_000, "independent columns would be wrong by 0.7"
    with _library() as mbi:
        measurements = [
            mbi.LinearMeasurement(value, tuple(map(str, axes)), sd)
            for axes, value, sd in _split_by_table(found.marginals)
        ]
        other = mbi.estimation.LBFGS().estimate(found._model.domain, measurements, iters=2000)
        function = mbi.marginal_loss.from_linear_measurements(measurements, found._model.domain)
        assert float(function(found._model.marginals)) == pytest.approx(float(function(other.marginals)), rel=1e-4)


def test_rows_keep_dependence_and_the_settings_of_jax() -> None:
    """Three columns in a chain: the synthetic pairs that were measured are those of the data, up to noise."""
    import jax

    rng = np.random.default_rng(5)
    before = jax.config.jax_enable_x64
    first = rng.integers(0, 3, 20_000)
    second = np.where(rng.random(20_000) < 0.8, first, rng.integers(0, 3, 20_000))
    third = np.where(rng.random(20_000) < 0.7, second, 0)
    frame = pd.DataFrame({"a": first, "b": second, "c": third})
    found = synthetic_of(frame, {"a": range(3), "b": range(3), "c": range(3)}, rho=1)
    assert found.measured[3:] == (("a", "b"), ("b", "c"))
    for pair in combinations("abc", 2):
        real, made = (pd.crosstab(table[pair[0]], table[pair[1]]).to_numpy() for table in (frame, found.frame))
        assert np.abs(real - made).sum() < 0.02 * 20_000, "five times the noise and the rounding of nine cells"
    assert jax.config.jax_enable_x64 == before


def test_the_studio_writes_the_rows_of_a_synthetic_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("city,sex\n" + "n,f\ns,m\nn,m\n" * 200)
    page, options = CuratorPage(Folder(tmp_path)), {"city": {"options": ["n", "s"]}, "sex": {"options": ["f", "m"]}}
    table = {"verb": "synthesize", "columns": ["city", "sex"], "other": True, "epsilon": "1"}
    plan = {"ceiling": "1", "neighbors": "replace", "header": True, "columns": options, "statistics": [table]}
    (shown,) = page.save("t.csv", page.state("t.csv")["hash"], plan)["statistics"]
    state = page.release("t.csv", 0, shown["hash"])
    assert "unpublished" not in state
    header, *rows = page.rows("t.csv", "t-release-01")["text"].splitlines()
    assert header == "city,sex"
    assert abs(len(rows) - 600) < 100
    assert (
        {"n,f", "s,m", "n,m"}
        <= set(rows)
        <= {f"{city},{sex}" for city in ("n", "s", "other") for sex in ("f", "m", "other")}
    )


def test_the_page_runs_as_it_is_printed() -> None:
    """The doctests leave out its examples that need mbi."""
    page = (ROOT / "docs" / "howto" / "synthetic.md").read_text(encoding="utf-8").replace("# doctest: +SKIP", "")
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(doctest.DocTestParser().get_doctest(page, {}, "synthetic.md", None, 0))
    assert runner.summarize(verbose=False) == (0, 14)
