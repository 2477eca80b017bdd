"""Tables of a curator on an engine, beside what the engine does itself, in one run; and the memory of our process.

Run `python benchmarks/scale.py duckdb 100000000`, or `polars`, or `spark`, with a number of rows, and a word of what is
to be measured ("means", "caps", "deciles"), else all. Data are made by the engine and stay there: a file of DuckDB, or
a folder of Parquet, in the current directory, removed afterwards. Ours and the engine's own run in turns; CPU and wall
are those of the best after the first: of two, on Spark of seven, as Java gets faster for a while. What a user would
write for one cap is a window query, sorted by a value, or drawn by a hash as ours is.
"""

import os
import resource
import shutil
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolkit import Curator, Ledger, Pure

ENGINE = sys.argv[1] if len(sys.argv) > 1 else "duckdb"
ROWS = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
ONLY = sys.argv[3] if len(sys.argv) > 3 else ""
KEYS = [f"region {number:02d}" for number in range(100)]
ROW = """'region ' || lpad(cast(i * 7919 % 100 as {text}), 2, '0') as g,
    cast(i * 104729 % 100003 as double) / 1000 as x, i * 48271 % {people} as id"""
WINDOW = """select g, sum(x) from (select g, x, row_number() over (partition by id order by x) as r from {t})
    where r <= 3 group by g"""
DRAWN = WINDOW.replace("order by x", "order by hash(id, g, x)")  # which of a person's rows no value decides
DECILES = "select quantile_disc(x, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]) from {t}"


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def compared(name: str, ours: Callable[[], object], own: Callable[[], object], limit: float) -> None:
    """By CPU, which other work on the machine changes little; on Spark by wall, as its CPU is Java's."""
    if ONLY not in name:
        return
    turns = [(timed(ours), timed(own)) for _ in range(8 if ENGINE == "spark" else 3)]
    (wall, cpu), (own_wall, own_cpu) = (min(each[1:]) for each in zip(*turns, strict=True))
    ratio = wall / own_wall if ENGINE == "spark" else cpu / own_cpu
    times = f"{wall:6.2f} s wall, {cpu:6.2f} s CPU, of {own_wall:.2f} and {own_cpu:.2f}"
    print(f"{name:42} {ratio:.2f} x ({times})  (at most {limit} x: {'ok' if ratio <= limit else 'MISSED'})", flush=True)


def memory() -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{'peak of our process, engine included' if ENGINE != 'spark' else 'peak of our process':42} {peak:7.0f} MiB"
    )


def held(work: Callable[[], object]) -> None:
    """What Python and numpy hold at most while it works, without the engine in the same process."""
    tracemalloc.start()
    work()
    print(f"{'peak of Python and numpy alone':42} {tracemalloc.get_traced_memory()[1] / 2**20:7.1f} MiB")
    tracemalloc.stop()


def measured(table: Any, own: Callable[[str], object], sums: str) -> None:
    """Means by 100 groups, deciles, and people with several rows."""
    bounds: dict[str, Any] = {"bounds": (0, 100), "epsilon": 1}
    rows = Curator(table, Ledger(Pure(10**9)), "add_remove")
    by = {"g": KEYS}
    limit = {"duckdb": 1.8, "polars": 1.8, "spark": 1.5}[ENGINE]
    means = lambda: rows.mean("x", by=by, missing="drop", **bounds)  # noqa: E731
    compared("means by 100 groups", means, lambda: own(sums), limit)
    held(means)
    memory()
    if ENGINE == "duckdb":
        for caps, most in (({}, 1.2), ({"groups": 2, "rows_in_group": 2}, 2.5)):
            people = Curator(table, Ledger(Pure(10**9)), "add_remove", person="id", rows=3, **caps)
            for query, word in ((WINDOW, "sorted"), (DRAWN, "drawn")):
                name = f"{1 + len(caps)} caps a person, of a window, {word}"
                work = lambda one=people: one.mean("x", by=by, missing="drop", **bounds)  # noqa: E731
                compared(name, work, lambda query=query: own(query), most)
        deciles = [f"0.{place}" for place in range(1, 10)]
        compared("deciles, of quantile_disc", lambda: rows.quantile("x", deciles, **bounds), lambda: own(DECILES), 3)
        memory()


def duckdb(folder: Path) -> None:
    import duckdb

    con = duckdb.connect(str(folder / "people.duckdb"), config={"memory_limit": "6GB", "temp_directory": str(folder)})
    row = ROW.format(text="varchar", people=ROWS // 10)
    con.execute(f"create table people as select {row} from range({ROWS}) as rows(i)")  # noqa: S608
    memory()
    run = lambda sql: con.execute(sql.format(t="people")).fetchall()  # noqa: E731
    measured(con.table("people"), run, "select g, sum(x), count(x) from {t} group by g")
    con.close()


def polars(folder: Path) -> None:
    import polars as pl

    for part in range(10):
        i = pl.int_range(part * ROWS // 10, (part + 1) * ROWS // 10, eager=True)
        text = (pl.lit("region ") + (pl.col("i") * 7919 % 100).cast(pl.String).str.zfill(2)).alias("g")
        pl.DataFrame({"i": i}).select(text, (pl.col("i") * 104729 % 100003 / 1000).alias("x")).write_parquet(
            folder / f"{part}.parquet"
        )
    lake = pl.scan_parquet(folder / "*.parquet")
    own = lake.group_by("g").agg(pl.col("x").sum(), pl.col("x").count().alias("n"))
    memory()
    measured(lake, lambda _: own.collect(engine="streaming"), "")


def spark(folder: Path) -> None:
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(os.environ.get("SPARK_MASTER", "local[2]")).config(
        "spark.ui.enabled", "false"
    )
    session = builder.config("spark.local.dir", str(folder)).config("spark.driver.memory", "2g").getOrCreate()
    row = ROW.format(text="string", people=ROWS // 10)
    session.sql(f"select {row} from (select id as i from range({ROWS}))").write.parquet(str(folder / "people"))  # noqa: S608
    table = session.read.parquet(str(folder / "people"))
    table.createOrReplaceTempView("people")
    memory()
    run = lambda sql: session.sql(sql.format(t="people")).collect()  # noqa: E731
    measured(table, run, "select g, sum(x), count(x) from {t} group by g")
    session.stop()


if __name__ == "__main__":
    work = Path(tempfile.mkdtemp(dir=Path.cwd()))
    print(f"{ENGINE}, {ROWS:,} rows, 100 groups; multiples of the engine's own; load {os.getloadavg()[0]:.1f}")
    try:
        {"duckdb": duckdb, "polars": polars, "spark": spark}[ENGINE](work)
    finally:
        shutil.rmtree(work)
