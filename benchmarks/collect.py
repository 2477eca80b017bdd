"""A lecture hall answers at once: reports a second on 64 connections, each acknowledged after its commit, by
one process.

Beside it, in the same run and in turns: Starlette that stores nothing; and SQLite that serves nobody.
Absolute numbers depend on the machine, its disk and what else it does (its load is printed); the ratios of
one round far less, and their median is judged. Run with `make bench`.
"""

import json
import os
import re
import secrets
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from toolkit import k_ary, warner
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey
from toolkit.survey.storage import State, open_store

from _timing import best

CONNECTIONS, ROWS, BATCH, ROUNDS = 64, 20_000, 64, 3
LEAST = {"SQLite": 1000, "PostgreSQL": 500}  # reports a second
SHARE = {"SQLite": 0.5, "PostgreSQL": 0.35}  # of what Starlette that stores nothing answers
SEVERAL = 1.5  # what four servers store, of what one does
SLOWEST = 100.0  # milliseconds, for 99 of 100 with SQLite
HERE = Path(__file__).parent


def survey() -> Survey:
    sensitive = [Question(f"q{i}", f"Sensitive question {i}?", design=warner(epsilon=0.3)) for i in range(5)]
    plain = [
        Question("faculty", "Faculty?", options=["arts", "law", "science"]),
        Question("grade", "Grade?", design=k_ary(5, epsilon=1.0)),
    ]
    return Survey("Benchmark", [*plain, *sensitive], consent="Yes?", ceiling=5)


def report(of: Survey) -> dict[str, Any]:
    return {
        "survey": of.hash,
        "key": "0" * 32,
        "answers": {question.name: 1 for question in of.questions},
        "understood": True,
    }


@contextmanager
def running(*command: str) -> Iterator[int]:
    """A server's port, while it runs."""
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["port"]
        finally:
            process.terminate()


def measured(port: int, body: dict[str, Any]) -> dict[str, float]:
    text = json.dumps(body, separators=(",", ":"))
    command = [sys.executable, str(HERE / "_load.py"), "load", str(port), str(CONNECTIONS), text]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)  # noqa: S603
    assert found["refused"] == 0
    return dict(found)


def ours(url: str) -> dict[str, float]:
    asked = survey()
    store = open_store(url)
    store.create(asked)
    store.set_state(State.OPEN)
    with running("-m", "toolkit.survey.serving.process", "--database", url) as port:
        found = measured(port, report(asked))
    assert store.count_reports() >= found["rate"]
    store.close()
    return found


def raw_starlette() -> dict[str, float]:
    with running(str(HERE / "_load.py"), "raw") as port:
        return measured(port, report(survey()))


def raw_sqlite(folder: Path) -> float:
    """Rows a second that SQLite alone takes, in synced commits of 64 rows: what 64 connections can have in
    one commit.
    """
    text = json.dumps(report(survey())["answers"])

    def work() -> None:
        path = folder / f"raw{secrets.token_hex(4)}.db"
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE report (key BLOB PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID")
        for _ in range(ROWS // BATCH):
            database.execute("BEGIN IMMEDIATE")
            database.executemany(
                "INSERT INTO report VALUES (?, ?)", [(secrets.token_bytes(16), text) for _ in range(BATCH)]
            )
            database.execute("COMMIT")
        database.close()

    return ROWS / best(work, repeats=2)


def shown(name: str, found: dict[str, float], beside: str = "") -> None:
    print(
        f"{name:40} {found['rate']:7,.0f} reports/s   p50 {found['p50']:5.1f} ms   p99 {found['p99']:5.1f} "
        f"ms   {beside}"
    )


def verdict(found: dict[str, float], share: float, engine: str) -> str:
    wanted = [
        (f"at least {LEAST[engine]:,}/s", found["rate"] >= LEAST[engine]),
        (f"at least {SHARE[engine]} x", share >= SHARE[engine]),
    ]
    wanted += [(f"p99 at most {SLOWEST:.0f} ms", found["p99"] <= SLOWEST)] if engine == "SQLite" else []
    return "; ".join(f"{rule}: {'ok' if held else 'TOO SLOW'}" for rule, held in wanted)


def body() -> str:
    """What is stored of a report."""
    return json.dumps({"answers": report(survey())["answers"], "understood": True}, separators=(",", ":"))


def filling(url: str, seconds: float) -> int:
    """Reports that a server stores below a cap, in full commits of 64, for some seconds."""
    from toolkit.survey.storage import NewReport

    store, text, count = open_store(url), body(), 0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        outcomes = store.add([NewReport(secrets.token_bytes(16), text) for _ in range(BATCH)])
        count += len(outcomes)
    store.close()
    return count


def several(url: str, servers: int, seconds: float = 4.0) -> float:
    """Reports a second that servers store into one collection with a cap, without phones: the database decides."""
    store = open_store(url)
    store.create(replace(survey(), cap=10_000_000))
    store.set_state(State.OPEN)
    with ProcessPoolExecutor(servers, mp_context=get_context("spawn")) as pool:
        list(pool.map(filling, [url] * servers, [0.2] * servers))  # they are up
        counts = list(pool.map(filling, [url] * servers, [seconds] * servers))
    store.close()
    return sum(counts) / seconds


@contextmanager
def postgresql() -> Iterator[str | None]:
    """The URL of a private PostgreSQL, synced to the disk like a real one; None where it is not installed."""
    sys.path.append(str(HERE.parent))
    from tests.survey.postgres_server import Postgres, programs

    if programs() is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # a socket's path must be short
    try:
        cluster = Postgres(folder)
        yield re.sub(r"&schema=\w+", "", cluster.url())  # each collection has a schema of its own
        cluster.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def middle(found: list[dict[str, float]]) -> dict[str, float]:
    """The medians over the rounds."""
    return {name: median(one[name] for one in found) for name in found[0]}


def rounds(urls: dict[str, str]) -> tuple[list[dict[str, float]], dict[str, list[dict[str, float]]]]:
    """Starlette and ours on each database, in turns: whatever else the machine does meets all of them."""
    bare, found = [], {engine: [] for engine in urls}
    for number in range(ROUNDS):
        bare.append(raw_starlette())
        for engine, url in urls.items():
            found[engine].append(ours(f"{url}{number}"))
        told = ", ".join(f"{engine} {found[engine][-1]['rate'] / bare[-1]['rate']:.2f} x" for engine in urls)
        print(f"round {number + 1}: Starlette {bare[-1]['rate']:,.0f}/s, {told}, load average {os.getloadavg()[0]:.1f}")
    return bare, found


def main() -> None:
    print(
        f"{CONNECTIONS} connections, one process, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before"
    )
    with tempfile.TemporaryDirectory() as name, postgresql() as server:
        urls = {"SQLite": f"sqlite:///{Path(name) / 'bench'}"}
        if server is None:
            print("PostgreSQL is not installed here")
        else:
            urls["PostgreSQL"] = f"{server}&schema=bench" if "?" in server else f"{server}?schema=bench"
        rows = raw_sqlite(Path(name))
        print(f"{f'SQLite that serves nobody, {BATCH} rows a commit':40} {rows:7,.0f} rows/s")
        bare, found = rounds(urls)
        if server is not None:
            ratios = []
            for number in range(3):
                one, four = (several(f"{urls['PostgreSQL']}_{number}_{count}", count) for count in (1, 4))
                ratios.append(four / one)
            goal = f"at least {SEVERAL} x: {'ok' if median(ratios) >= SEVERAL else 'TOO SLOW'}"
            print(f"four servers beside one, capped, PostgreSQL: {median(ratios):.2f} x ({goal})")
    shown("Starlette that stores nothing", middle(bare))
    for engine, each in found.items():
        share = median(one["rate"] / beside["rate"] for one, beside in zip(each, bare, strict=True))
        shown(f"ours, {engine}", middle(each), f"{share:.2f} x Starlette  ({verdict(middle(each), share, engine)})")


if __name__ == "__main__":
    main()
