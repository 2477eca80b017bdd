"""benchmarks/RESULTS.md: what one run of the benchmarks printed, with machine and versions.

python .make/results.py local planning central=peers/bin/python oracles=peers/bin/python

A name runs with this Python, `name=program` with another, in which the peers are installed (extra `peers`); `all` and
`all=program` are those that are not named. A benchmark that is not named is "not run"; `SECONDS=240` ends each after
that time, with what it had printed until then. All of them take about a quarter of an hour on two quiet cores.
"""

import os
import platform
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
PEERS = ("opendp", "diffprivlib", "dp-accounting", "multi-freq-ldpy", "pure-ldp", "statsmodels", "scikit-learn")
PROJECTS = ("opendp", "diffprivlib", "multi-freq", "pure-ldp")
VERSIONS = (
    "from importlib.metadata import *\nfor name in {names}:\n try: print(name, version(name))\n except Exception: pass"
)
ARGUMENTS = {"interval_coverage": ("400",), "scale": ("duckdb", "10000000")}  # less than they do by themselves
HEAD = """# Results

What one run of the benchmarks printed; peers stand in the same run where they could be installed, so that only ratios
within a block mean something. "ok" and "TOO SLOW" are against the limits that each benchmark states, for a quiet
machine: where the load below is above the number of cores, times on the clock are too long by about their quotient,
and "TOO SLOW" of a time in milliseconds says nothing.

![Multiples of the baseline of each block, ours and peers, on a logarithmic axis; the numbers stand below.](results.png)
"""


def main(names: list[str]) -> None:
    """Run each, and write the page."""
    load = [os.getloadavg()[0]]
    programs = {name: program or sys.executable for name, _, program in (one.partition("=") for one in names)}
    there = sorted(path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py"))
    rest = programs.pop("all", None)
    parts = [part(name, programs.get(name, rest)) for name in there]
    call = VERSIONS.format(names=("numpy", "scipy", "pandas", *PEERS))
    run = dict.fromkeys([*programs.values(), *([rest] if rest else [])])
    told = [subprocess.run([one, "-c", call], capture_output=True, text=True, check=True).stdout for one in run]  # noqa: S603
    versions = ", ".join(dict.fromkeys(line for one in told for line in one.splitlines()))
    load.append(os.getloadavg()[0])
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    machine += f", load {load[0]:.0f} when it began and {load[1]:.0f} when it ended"
    ours = f"toolkit {version('privacy-survey-toolkit')}"
    page = "\n".join([HEAD, f"Machine: {machine}. Versions: {ours}; {versions}.\n", *parts])
    (ROOT / "benchmarks" / "RESULTS.md").write_text(page, encoding="utf-8")
    picture(page)


def picture(page: str) -> None:
    """benchmarks/results.png: every multiple of a baseline that the page has, and the limit where there is one."""
    found = re.findall(r"^(\S.*?)\s{2,}([\d.]+) x(?:  \(at most ([\d.]+) x)?", page, re.MULTILINE)
    rows = [(re.sub(r"\s{2,}", ", ", name), float(times), float(limit or "nan")) for name, times, limit in found][::-1]
    figure, ax = plt.subplots(figsize=(8, 0.24 * len(rows) + 0.8), layout="constrained")
    peers = [name.lower().startswith(PROJECTS) for name, _, _ in rows]
    bars = ax.barh([name for name, _, _ in rows], [times for _, times, _ in rows], color="#0072b2")
    for bar, peer in zip(bars, peers, strict=True):
        bar.set(color="#d55e00") if peer else None
    ax.plot([limit for _, _, limit in rows], range(len(rows)), "k|", markersize=10)
    ax.set(xscale="log", xlabel="times the baseline of its block\norange: peers; black stroke: our limit")
    ax.tick_params(labelsize="small")
    figure.savefig(ROOT / "benchmarks" / "results.png", dpi=110, metadata={"Software": None})


def part(name: str, program: str | None) -> str:
    """A section of the page."""
    path = ROOT / "benchmarks" / f"{name}.py"
    about = re.match(r'"""(.*?)(\n\n|""")', path.read_text(encoding="utf-8"), re.DOTALL)
    head = f"## {name}\n\n{' '.join(about[1].split()) if about else ''}\n\n"
    return head + (output(path, program) if program else "Not run.\n")


def output(path: Path, program: str) -> str:
    """What a benchmark printed, and how it ended."""
    seconds = float(os.environ.get("SECONDS", "inf"))
    env = os.environ | {"PYTHONUNBUFFERED": "1"}
    call = [program, path, *ARGUMENTS.get(path.stem, ())]
    with subprocess.Popen(call, stdout=-1, stderr=-1, text=True, env=env) as running:  # noqa: S603  our own files
        try:
            printed, errors = running.communicate(timeout=None if seconds == float("inf") else seconds)
            ended = "" if running.returncode == 0 else f"It ended with an error: {errors.splitlines()[-1][:200]}\n"
        except subprocess.TimeoutExpired:
            running.kill()
            printed, _ = running.communicate()
            ended = f"It was ended after {seconds:g} seconds: what would have followed was not run.\n"
    return (f"```text\n{printed.strip()}\n```\n" if printed.strip() else "") + (ended and f"\n{ended}")


if __name__ == "__main__":
    main(sys.argv[1:])
