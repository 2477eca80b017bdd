"""`estimates` by group on ten million rows, as a ratio to the engine's own group-by of the same columns.

Run with `make bench`. The limit is 1.2: what reading, estimates and intervals add to the counting.
"""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from toolkit import forced, warner
from toolkit.analysis import estimates

from _timing import best

N = 10_000_000
COLUMNS = ["region", "sex", "cheated", "paid"]
DESIGNS = {"cheated": forced("1/6", "1/6"), "paid": warner("3/4")}


def people() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {
        "region": rng.integers(0, 16, N).astype(np.int16),
        "sex": rng.integers(0, 2, N).astype(np.int8),
        "cheated": rng.random(N) < 0.3,
        "paid": rng.random(N) < 0.4,
    }


def compare(name: str, frame: object, own: object) -> None:
    ours = best(lambda: estimates(frame, DESIGNS, by=["region", "sex"]), 5)
    theirs = best(own, 5)
    verdict = "ok" if ours <= 1.2 * theirs else "TOO SLOW"
    ratio = f"{ours / theirs:5.2f} x  (at most 1.2 x: {verdict})"
    print(f"{name:10} {ours:6.2f} s, its own group-by {theirs:6.2f} s: {ratio}")


def main() -> None:
    rows = people()
    print(f"estimates of two questions in 32 groups, {N:,} rows")
    frame = pd.DataFrame(rows)
    compare("pandas", frame, lambda: frame.groupby(COLUMNS, dropna=False, observed=True).size())
    polars = pl.DataFrame(rows)
    compare("polars", polars, lambda: polars.group_by(COLUMNS).len())
    arrow = pa.table(rows)
    compare("pyarrow", arrow, lambda: arrow.group_by(COLUMNS).aggregate([([], "count_all")]))
    database = duckdb.connect()
    database.register("people", arrow)
    database.execute("create table kept as select * from people")
    relation = database.sql("select * from kept")
    names = ", ".join(COLUMNS)
    compare("duckdb", relation, lambda: relation.aggregate(f"{names}, count(*)", names).fetchall())


if __name__ == "__main__":
    main()
