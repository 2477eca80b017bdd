"""What a reader has to open to follow one call: files and functions of the toolkit that a warm call runs through.

Run with `make bench`, or `python benchmarks/walks.py "Curator.mean(by=)"` to list what one call runs through.
Calls are counted, not timed, and the operating system's random bytes are replaced by those of a seed, so that every
machine says the same.
"""

import collections
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import toolkit
from toolkit import Curator, Ledger, Pure, plan, warner
from toolkit.analysis import estimates, logistic
from toolkit.learning import PrivateLogisticRegression
from toolkit.local.design import Design

ROOT = Path(toolkit.__file__).parent
LIMITS = {
    "Curator.mean(by=)": (14, 70),
    "Curator.quantile": (12, None),
    "estimates(by=)": (10, None),
    "logistic": (12, None),
    "PrivateLogisticRegression.fit": (14, None),
}
"""The most files and functions of each call."""


def walk(call: Callable[[], object]) -> dict[str, collections.Counter[str]]:
    """For each file of the toolkit how often the third of three equal calls enters each of its functions."""
    call()
    call()
    files: dict[str, collections.Counter[str]] = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        code, path = frame.f_code, Path(frame.f_code.co_filename)
        if event == "call" and ROOT in path.parents and not code.co_name.startswith("<"):
            files.setdefault(str(path.relative_to(ROOT)), collections.Counter())[code.co_qualname] += 1

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return files


def calls() -> dict[str, Callable[[], Any]]:
    rng, design = np.random.default_rng(1), warner("3/4")
    columns = {"pay": np.arange(2000.0), "city": ["a", "b"] * 1000}
    frame = pd.DataFrame({**columns, "answer": rng.integers(0, 2, 2000), "age": rng.normal(size=2000)})
    curator = Curator(frame, Ledger(Pure(10**6)), "replace")
    rows = rng.normal(size=(500, 3)) / 4
    model = PrivateLogisticRegression(1.0, classes=(0, 1), row_norm=1.0, missing="drop")
    by, pay = {"city": ["a", "b"]}, {"bounds": (0, 2000), "epsilon": 1}
    return {
        "Curator.mean(by=)": lambda: curator.mean("pay", by=by, missing="drop", **pay),
        "Curator.quantile": lambda: curator.quantile("pay", 0.5, **pay),
        "estimates(by=)": lambda: estimates(frame, {"answer": design}, by=["city"]),
        "logistic": lambda: logistic("answer ~ age", frame, design),
        "PrivateLogisticRegression.fit": lambda: model.fit(rows, (rows[:, 0] > 0).astype(int)),
        "plan": lambda: plan(warner, prevalence=0.2, margin=0.03, epsilon=1.0).n,
        "Design.randomize": lambda: design.randomize([0, 1, 1]),
    }


def main(*names: str) -> None:
    os.urandom = np.random.default_rng(1).bytes
    for name, call in calls().items():
        files = walk(call)
        functions = sum(map(len, files.values()))
        most_files, most_functions = LIMITS.get(name, (None, None))
        met = len(files) <= (most_files or len(files)) and functions <= (most_functions or functions)
        most = [f"{most} {what}" for most, what in ((most_files, "files"), (most_functions, "functions")) if most]
        verdict = f"  (at most {' and '.join(most)}: {'ok' if met else 'TOO MANY'})" if most else ""
        print(f"{name:32}{len(files):4} files{functions:5} functions{verdict}")
        if name in names:
            for file, entered in sorted(files.items()):
                print(f"    {file}: {', '.join(entered)}")
        if name == "plan":
            built = files["local/design.py"][Design.__init__.__qualname__]
            print(f"{'':32}{built:4} designs built  (at most 1: {'ok' if built <= 1 else 'TOO MANY'})")


if __name__ == "__main__":
    main(*sys.argv[1:])
