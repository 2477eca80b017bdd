"""A lecture hall answers at once: reports a second on 64 connections, each acknowledged after its commit, by one process.

Beside it, in the same run: Starlette that stores nothing, and SQLite that serves nobody. Absolute numbers depend on the machine,
its disk and what else it does (its load is printed); the ratios hardly do. Run with `make bench`.
"""

import json
import os
import secrets
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolkit import k_ary, warner
from toolkit.survey.question import Question
from toolkit.survey.spec import Survey
from toolkit.survey.store import State, open_store

from _timing import best

CONNECTIONS, ROWS, BATCH = 64, 20_000, 64
LEAST = {"SQLite": 1000, "PostgreSQL": 500}
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
    return {"survey": of.hash, "key": "0" * 32, "answers": {question.name: 1 for question in of.questions}, "understood": True}


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
    assert store.count() >= found["rate"]
    store.close()
    return found


def raw_starlette() -> dict[str, float]:
    with running(str(HERE / "_load.py"), "raw") as port:
        return measured(port, report(survey()))


def raw_sqlite(folder: Path) -> float:
    """Rows a second that SQLite alone takes, in synced commits of 64 rows: what 64 connections can have in one commit."""
    text = json.dumps(report(survey())["answers"])

    def work() -> None:
        path = folder / f"raw{secrets.token_hex(4)}.db"
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE report (key BLOB PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID")
        for _ in range(ROWS // BATCH):
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT INTO report VALUES (?, ?)", [(secrets.token_bytes(16), text) for _ in range(BATCH)])
            database.execute("COMMIT")
        database.close()

    return ROWS / best(work, repeats=2)


def shown(name: str, found: dict[str, float], beside: str = "") -> None:
    print(f"{name:40} {found['rate']:7,.0f} reports/s   p50 {found['p50']:5.1f} ms   p99 {found['p99']:5.1f} ms   {beside}")


def verdict(found: dict[str, float], engine: str) -> str:
    fast = f"at least {LEAST[engine]:,}/s: {'ok' if found['rate'] >= LEAST[engine] else 'TOO SLOW'}"
    even = f"; p99 at most {SLOWEST:.0f} ms: {'ok' if found['p99'] <= SLOWEST else 'TOO SLOW'}" if engine == "SQLite" else ""
    return f"({fast}{even})"


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
        yield cluster.url()
        cluster.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    print(f"{CONNECTIONS} connections, one process, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare = raw_starlette()
        shown("Starlette that stores nothing", bare)
        rows = raw_sqlite(folder)
        print(f"{f'SQLite that serves nobody, {BATCH} rows a commit':40} {rows:7,.0f} rows/s")
        found = ours(f"sqlite:///{folder / 'bench.db'}")
        ratios = f"{found['rate'] / bare['rate']:.2f} x Starlette, {found['rate'] / rows:.2f} x SQLite"
        shown("ours, SQLite", found, f"{ratios}  {verdict(found, 'SQLite')}")
    with postgresql() as url:
        if url is None:
            print("ours, PostgreSQL: not installed here")
        else:
            found = ours(url)
            shown("ours, PostgreSQL", found, f"{found['rate'] / bare['rate']:.2f} x Starlette  {verdict(found, 'PostgreSQL')}")
    print(f"load average {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
