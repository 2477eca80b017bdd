"""Tables of a curator beside the engine's own group sum in the same run, and their error beside other ways.

Run with `make bench`, or `python benchmarks/publishing.py 10000000 100000000` for other numbers of rows. With
OpenDP or diffprivlib installed (the group `peers`) their means, deciles and tables stand beside ours. Tumult
Analytics has no package for some machines: its mean and its quantile are written out here after its source.
"""

import importlib
import importlib.util
import itertools
import resource
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from toolkit import Approx, Curator, Ledger, Pure, Zcdp

from _timing import best

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
STREAMED = int(sys.argv[2]) if len(sys.argv) > 2 else 30_000_000
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
        ("pandas, category", panda, lambda: panda.groupby("category", observed=True)["x"].sum(), 3, "category"),
        ("polars, text (its own sum on all cores)", lake, lambda: lake.group_by("g").agg(pl.col("x").sum()), 3, "g"),
        ("polars, lazy", lake.lazy(), lambda: lake.lazy().group_by("g").agg(pl.col("x").sum()).collect(), 3, "g"),
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


def found() -> None:
    """Deciles of a million values against a sort of them, and unknown keys of a million rows against the
    engine's own counting.
    """
    import pandas as pd
    import polars as pl

    rng = np.random.default_rng(2)
    rows = 1_000_000
    values = rng.normal(50, 20, rows)
    texts = np.char.add("city ", (rng.zipf(1.3, rows) % 5000).astype(str)).astype(object)
    panda = pd.DataFrame({"x": values, "city": pd.Series(texts, dtype="str")})
    lake = pl.DataFrame({"x": values, "city": texts.tolist()})
    shares = [k / 10 for k in range(1, 10)]
    sort = best(lambda: np.sort(values))
    print(f"\ndeciles of {rows:,} values, in sorts; {panda['city'].nunique():,} unknown keys, in group-bys")
    for name, frame, own in (
        ("pandas", panda, lambda: panda.groupby("city").size()),
        ("polars", lake, lambda: lake.group_by("city").len()),
    ):
        curator = Curator(frame, Ledger(Approx(10**9, 0.9)), "add_remove")
        ratio = best(partial(curator.quantiles, "x", shares, bounds=(0, 100), epsilon=1)) / sort
        show(f"{name}, deciles", f"{ratio:.1f} x", "4 x", ratio <= 4)
        ratio = best(partial(curator.keys, "city", epsilon=1, delta=1e-6)) / best(own)
        show(f"{name}, keys", f"{ratio:.1f} x", "3 x", ratio <= 3)


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
    ours = np.std([float(curator.mean("x", bounds=(0, 100), missing="drop", epsilon=epsilon)) for _ in range(runs)])
    print(f"\nmean of {n:,} values, epsilon {epsilon}, the number of values private: standard deviation")
    show("one vector (ours)", f"{ours:.3f}")
    number = n + rng.laplace(0, 2 / epsilon, 10**5)
    centred = 50 + ((values - 50).sum() + rng.laplace(0, 100 / epsilon, 10**5)) / number
    show("Tumult's way: a centred sum and a count, half of epsilon each", f"{np.std(centred):.3f}")
    plain = (values.sum() + rng.laplace(0, 200 / epsilon, 10**5)) / number
    show("a sum and a count at half of epsilon each", f"{np.std(plain):.3f}")
    tools = peer("diffprivlib.tools")
    if tools is not None:
        found = [tools.mean(values, epsilon=epsilon, bounds=(0, 100)) for _ in range(runs)]
        show("diffprivlib (number of values public)", f"{np.std(found):.3f}")
    if (dp := peer("opendp.prelude")) is not None:
        show("OpenDP, sum and count at half of epsilon each", f"{np.std(opendp(dp, values, epsilon, runs)):.3f}")


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


def deciles() -> None:
    """10,000 log-normal values between 0 and 50, epsilon 1 for all nine: the mean error in ranks."""
    import pandas as pd

    rng, epsilon = np.random.default_rng(3), 1.0
    values = np.clip(rng.lognormal(0, 1, 10_000), 0, 50)
    ordered, shares = np.sort(values), [k / 10 for k in range(1, 10)]
    curator = Curator(pd.DataFrame({"x": values}), Ledger(Pure(10**9)), "add_remove")

    def off(find: Callable[[], Any], runs: int) -> str:
        found = np.array([find() for _ in range(runs)], dtype=float)
        ranks = np.searchsorted(ordered, found)
        errors = np.abs(ranks - np.array(shares) * len(values)).mean(axis=1)
        return f"{errors.mean():.1f} ± {2 * errors.std() / runs**0.5:.1f}"

    print(f"\ndeciles of {len(values):,} values, epsilon {epsilon} in all: mean error in ranks (± 2 s.e.)")
    ours = off(lambda: curator.quantile("x", shares, bounds=(0, 50), epsilon=1).value, 100)
    show("the middle one first (ours)", ours)
    each = epsilon / len(shares)
    show(
        "Tumult's way: intervals between values, epsilon / 9 each",
        off(lambda: [interval_quantile(ordered, q, (0, 50), each, rng) for q in shares], 100),
    )
    if (tools := peer("diffprivlib.tools")) is not None:
        found = off(lambda: tools.quantile(values, shares, epsilon=epsilon, bounds=(0, 50)), 30)
        show("diffprivlib (number of values public)", found)
    if (dp := peer("opendp.prelude")) is not None:
        for number in (501, 5001):
            show(
                f"OpenDP, private quantile among {number:,} candidates, epsilon / 9 each",
                off(opendp_deciles(dp, values, shares, each, number), 30),
            )
        for bins, branches in ((512, 8), (4096, 16)):
            tree = opendp_tree(dp, values, shares, epsilon, bins, branches)
            show(f"OpenDP, a tree of {branches} branches over {bins:,} bins, made to agree", off(tree, 30))


def interval_quantile(ordered: Any, q: float, bounds: Any, epsilon: float, rng: np.random.Generator) -> float:
    """One quantile as Smith (2011) and Tumult Core choose it: an interval between neighboring values, with
    probability in proportion to its length times e**(epsilon score / (2 max(q, 1 - q))), and a point in it.
    """
    edges = np.concatenate([[bounds[0]], ordered, [bounds[1]]])
    scores = -np.abs(np.arange(len(edges) - 1) - q * len(ordered))
    with np.errstate(divide="ignore"):
        odds = np.log(np.diff(edges)) + epsilon * scores / (2 * max(q, 1 - q))
    place = int(np.argmax(odds + rng.gumbel(size=len(odds))))
    return float(rng.uniform(edges[place], edges[place + 1]))


def opendp_deciles(dp: Any, values: Any, shares: list[float], epsilon: float, number: int) -> Callable[[], Any]:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    candidates, listed = np.linspace(0, 50, number).tolist(), values.tolist()
    found = [
        dp.binary_search_chain(
            lambda scale, q=q: space >> dp.m.then_private_quantile(dp.max_divergence(), candidates, q, scale),
            1,
            epsilon,
        )
        for q in shares
    ]
    return lambda: [one(listed) for one in found]


def opendp_tree(
    dp: Any, values: Any, shares: list[float], epsilon: float, bins: int, branches: int
) -> Callable[[], Any]:
    dp.enable_features("contrib")
    edges = np.linspace(0, 50, bins + 1)
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    tree = space >> dp.t.then_b_ary_tree(leaf_count=bins, branching_factor=branches)
    noisy = dp.binary_search_chain(lambda scale: tree >> dp.m.then_laplace(scale), 1, epsilon)
    agree = dp.t.make_consistent_b_ary_tree(branching_factor=branches)
    quantiles = dp.t.make_quantiles_from_counts(bin_edges=edges.tolist(), alphas=shares)
    counts = np.histogram(values, edges)[0].tolist()
    return lambda: quantiles(agree(noisy(counts)))


def margins() -> None:
    """All tables of one and two of five columns, 571 cells: the root of the mean squared error of a cell."""
    import pandas as pd

    rng, sizes, n, runs = np.random.default_rng(4), (2, 3, 5, 10, 20), 20_000, 20
    codes = {f"c{size}": rng.integers(0, size, n) ** 2 // size for size in sizes}
    frame = pd.DataFrame(codes)
    keys = {f"c{size}": range(size) for size in sizes}
    tables = [list(pair) for order in (1, 2) for pair in itertools.combinations(keys, order)]
    truth = [frame.groupby(names).size().reindex(_cells(names, keys), fill_value=0).to_numpy() for names in tables]
    whole = np.concatenate(truth)
    asked = [{name: keys[name] for name in names} for names in tables]
    print(f"\n15 margins of five columns, {len(whole)} cells in all: root mean squared error of a cell")
    for words, ceiling, amount in (
        ("epsilon 1", Pure(10**9), {"epsilon": 1}),
        ("rho 0.024354", Zcdp(10**9), {"rho": "0.024354"}),
    ):
        curator = Curator(frame, Ledger(ceiling), "add_remove")
        ours = [curator.count(by=asked, **amount).value - whole for _ in range(runs)]
        show(f"{words}: tables that agree (ours)", f"{np.sqrt(np.mean(np.square(ours))):.2f}")
        laplace = "epsilon" in amount
        spread = 2**0.5 * len(tables) if laplace else (len(tables) / (2 * 0.024354)) ** 0.5
        show(f"{words}: each table for itself, a fifteenth each", f"{spread:.2f}")
        if (dp := peer("opendp.prelude")) is not None:
            noises = opendp_tables(dp, truth, laplace, len(tables), runs)
            show(f"{words}: OpenDP, a fifteenth each", f"{np.sqrt(np.mean(np.square(noises))):.2f}")


def _cells(names: list[str], keys: dict[str, range]) -> Any:
    import pandas as pd

    return pd.Index(keys[names[0]]) if len(names) == 1 else pd.MultiIndex.from_product(keys[n] for n in names)


def opendp_tables(dp: Any, tables: list[Any], laplace: bool, parts: int, runs: int) -> list[Any]:
    dp.enable_features("contrib")
    distance = dp.l1_distance(T=int) if laplace else dp.l2_distance(T=float)
    noise, cost = (dp.m.then_laplace, 1 / parts) if laplace else (dp.m.then_gaussian, 0.024354 / parts)
    space = dp.vector_domain(dp.atom_domain(T=int)), distance
    noisy = dp.binary_search_chain(lambda scale: space >> noise(scale), 1 if laplace else 1.0, cost)
    return [np.concatenate([np.array(noisy(table.tolist())) - table for table in tables]) for _ in range(runs)]


def peer(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"({name.split('.')[0]} is not installed: see the head of this file)")
        return None


if __name__ == "__main__":
    accuracy()
    deciles()
    margins()
    if importlib.util.find_spec("duckdb") and importlib.util.find_spec("polars"):
        streamed()
        found()
        speed()
