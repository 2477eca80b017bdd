"""Tables of a curator beside the engine's own group sum in the same run, and their error beside other ways.

Run with `make bench`, or `python benchmarks/publishing.py 10000000 100000000` for other numbers of rows. With
OpenDP or diffprivlib installed (the extra `peers`) their means of one group stand beside ours.
"""

import importlib
import importlib.util
import resource
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from toolkit import Curator, Ledger, Pure

from _timing import best

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
STREAMED = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000_000
KEYS = [f"region {number:02d}" for number in range(100)]


def show(name: str, figure: str, limit: str = "", met: bool = True) -> None:
    verdict = f"  (at most {limit}: {'ok' if met else 'MISSED'})" if limit else ""
    print(f"{name:64} {figure:>12}{verdict}")


def means(frame: Any, column: str = "x", keys: Any = KEYS, key: str = "g") -> Callable[[], object]:
    curator = Curator(frame, Ledger(Pure(10**9)), "add_remove")
    return lambda: curator.mean(column, bounds=(0, 100), missing="drop", by={key: keys}, epsilon=1)


def speed() -> None:
    """A table of means by 100 groups against the sum of each group, by the engine itself."""
    import duckdb
    import pandas as pd
    import polars as pl

    rng = np.random.default_rng(1)
    codes, values = rng.integers(0, 100, ROWS), rng.normal(50, 20, ROWS)
    texts = pl.Series("g", codes).replace_strict(list(range(100)), KEYS, return_dtype=pl.String)
    lake = pl.DataFrame({"g": texts, "x": values})
    panda = lake.to_pandas()
    panda["category"] = panda["g"].astype("category")
    base = duckdb.connect()
    base.register("given", lake.to_arrow())
    base.execute("create table people as select * from given")
    print(f"\nmeans by 100 groups, {ROWS:,} rows, as multiples of the engine's own group sum")
    works: list[tuple[str, Any, Callable[[], object], int, str]] = [
        ("pandas, text", panda, lambda: panda.groupby("g")["x"].sum(), 3, "g"),
        (
            "pandas, category",
            panda,
            lambda: panda.groupby("category", observed=True)["x"].sum(),
            3,
            "category",
        ),
        (
            "polars, text (its own sum on all cores)",
            lake,
            lambda: lake.group_by("g").agg(pl.col("x").sum()),
            3,
            "g",
        ),
        (
            "polars, lazy",
            lake.lazy(),
            lambda: lake.lazy().group_by("g").agg(pl.col("x").sum()).collect(),
            6,
            "g",
        ),
        (
            "DuckDB",
            base.table("people"),
            lambda: base.execute("select g, sum(x) from people group by g").fetchall(),
            6,
            "g",
        ),
    ]
    assert isinstance(panda, pd.DataFrame)
    for name, frame, own, limit, key in works:
        ratio = best(means(frame, key=key), 2) / best(own, 2)
        show(name, f"{ratio:.1f} x", f"{limit} x", ratio <= limit)


def streamed() -> None:
    """Rows that DuckDB computes as they are read: memory stays what one part takes. It must run before
    anything that takes much, since what is measured is the most that was ever used.
    """
    import duckdb

    rows = "select i % 100 as g, (i * 7919) % 101 as x from range(?) t(i)"
    relation = duckdb.connect().sql(rows, params=[STREAMED])
    work = means(relation, keys=range(100))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = best(work, 1)
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"\n{STREAMED:,} rows through DuckDB, means by 100 groups")
    show("seconds", f"{seconds:.1f}")
    show("memory beyond what was used before", f"{more:.0f} MiB", "2,000 MiB", more <= 2000)


def accuracy() -> None:
    """One group of 2,000 values, epsilon 0.2: the standard deviation of the mean over 400 releases."""
    import pandas as pd

    rng, n, epsilon, runs = np.random.default_rng(2), 2000, 0.2, 400
    values = rng.beta(2, 2, n) * 100
    curator = Curator(pd.DataFrame({"x": values}), Ledger(Pure(10**9)), "add_remove")
    ours = np.std(
        [float(curator.mean("x", bounds=(0, 100), missing="drop", epsilon=epsilon)) for _ in range(runs)]
    )
    print(f"\nmean of {n:,} values, epsilon {epsilon}, the number of values private: standard deviation")
    show("one vector (ours)", f"{ours:.3f}")
    number = n + rng.laplace(0, 2 / epsilon, 10**5)
    centred = 50 + ((values - 50).sum() + rng.laplace(0, 100 / epsilon, 10**5)) / number
    show("a centred sum and a count at half of epsilon each", f"{np.std(centred):.3f}")
    plain = (values.sum() + rng.laplace(0, 200 / epsilon, 10**5)) / number
    show("a sum and a count at half of epsilon each", f"{np.std(plain):.3f}")
    tools = peer("diffprivlib.tools")
    if tools is not None:
        found = [tools.mean(values, epsilon=epsilon, bounds=(0, 100)) for _ in range(runs)]
        show("diffprivlib (number of values public)", f"{np.std(found):.3f}")
    if (dp := peer("opendp.prelude")) is not None:
        show(
            "OpenDP, sum and count at half of epsilon each",
            f"{np.std(opendp(dp, values, epsilon, runs)):.3f}",
        )


def opendp(dp: Any, values: Any, epsilon: float, runs: int) -> list[float]:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    total = space >> dp.t.then_clamp((0.0, 100.0)) >> dp.t.then_sum()
    number = space >> dp.t.then_count()
    noisy = [
        dp.binary_search_chain(lambda scale, of=of: of >> dp.m.then_laplace(scale), 1, epsilon / 2)
        for of in (total, number)
    ]
    return [noisy[0](values.tolist()) / noisy[1](values.tolist()) for _ in range(runs)]


def peer(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"({name.split('.')[0]} is not installed: see the head of this file)")
        return None


if __name__ == "__main__":
    accuracy()
    if importlib.util.find_spec("duckdb") and importlib.util.find_spec("polars"):
        streamed()
        speed()
