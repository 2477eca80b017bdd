"""Write benchmarks/RESULTS.md: the output of one run of the benchmarks, with the machine and the versions.

python .make/results.py local planning central=peers/bin/python oracles=peers/bin/python

`name` runs a benchmark with this Python, and `name=program` with another Python, in which the peers are installed
(group `peers`); `all` and `all=program` run all benchmarks that are not named. Without `all`, a benchmark that is not
named is listed as "not run". `SECONDS=240` stops each benchmark after that time and keeps its output so far. All
benchmarks together take about a quarter of an hour on two idle cores.
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
ARGUMENTS = {"interval_coverage": ("400",), "scale": ("duckdb", "10000000")}  # smaller than their defaults
HEAD = """# Results

This page has the output of one run of the benchmarks. Other packages were measured in the same run if they could be
installed, so only ratios within a block are meaningful. "ok" and "TOO SLOW" compare with the limits that each benchmark
states for an idle machine. If the load below is above the number of cores, wall-clock times are too long by about the
ratio of load to cores, and "TOO SLOW" for a time in milliseconds means nothing.

<img src="results.png" width="440"
alt="Multiples of the baseline of each block, for the toolkit and its peers, on a log scale; the numbers are below.">
"""


def main(names: list[str]) -> None:
    """Run the benchmarks and write the page."""
    load = [os.getloadavg()[0]]
    programs = {name: program or sys.executable for name, _, program in (text.partition("=") for text in names)}
    benchmarks = sorted(path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py"))
    rest = programs.pop("all", None)
    sections = [section(name, programs.get(name, rest)) for name in benchmarks]
    call = VERSIONS.format(names=("numpy", "scipy", "pandas", *PEERS))
    run = dict.fromkeys([*programs.values(), *([rest] if rest else [])])
    outputs = [
        subprocess.run([program, "-c", call], capture_output=True, text=True, check=True).stdout  # noqa: S603
        for program in run
    ]
    versions = ", ".join(dict.fromkeys(line for text in outputs for line in text.splitlines()))
    load.append(os.getloadavg()[0])
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    machine += f", load {load[0]:.0f} when it began and {load[1]:.0f} when it ended"
    ours = f"toolkit {version('privacy-survey-toolkit')}"
    page = "\n".join([HEAD, f"Machine: {machine}. Versions: {ours}; {versions}.\n", *sections])
    (ROOT / "benchmarks" / "RESULTS.md").write_text(page, encoding="utf-8")
    draw_picture(page)


def draw_picture(page: str) -> None:
    """Save benchmarks/results.png: every time as a multiple of its baseline, with its limit if there is one.

    The picture is narrow, with the names above the bars, so that it can be read on a phone.
    """
    line = r"^## (\w+)$|^(\S.*?)\s{2,}([\d.]+) x(?! \w)(?: \([^)]*\))?(?:  \(at most ([\d.]+) x)?"
    rows: list[tuple[str, float, float]] = []
    for title, name, times, limit in [*re.findall(line, page, re.MULTILINE), ("end", "", "", "")]:
        if title and rows and not rows[-1][1]:
            rows.pop()  # a benchmark without results
        label = re.sub(r"\s{2,}", ", ", re.sub(r"\s{2,}\d.*", "", name))
        rows.append((title or label, float(times or 0), float(limit or "nan")))
    rows.pop()
    figure, ax = plt.subplots(figsize=(4, 0.27 * len(rows) + 0.6), layout="constrained")
    for y, (name, times, limit) in enumerate(rows):
        ax.barh(y, times, 0.3, color="#d55e00" if name.lower().startswith(PROJECTS) else "#0072b2")
        ax.plot(limit, y, "k|", markersize=6)
        ax.text(0.1, y - 0.25 if times else y + 0.15, name, size=8.5, weight="normal" if times else "bold")
    ax.set(xscale="log", xlim=(0.1, None), ylim=(len(rows) - 0.5, -1), yticks=[])
    ax.xaxis.set_major_formatter("{x:,g}")
    ax.set_xlabel("times the baseline of its block\norange: peers; black stroke: our limit", size=9)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(ROOT / "benchmarks" / "results.png", dpi=160, metadata={"Software": None})


def section(name: str, program: str | None) -> str:
    """Return the section of a benchmark."""
    path = ROOT / "benchmarks" / f"{name}.py"
    about = re.match(r'"""(.*?)(\n\n|""")', path.read_text(encoding="utf-8"), re.DOTALL)
    head = f"## {name}\n\n{' '.join(about[1].split()) if about else ''}\n\n"
    return head + (run_benchmark(path, program) if program else "Not run.\n")


def run_benchmark(path: Path, program: str) -> str:
    """Run a benchmark; return its output, with a note if it failed or was stopped."""
    seconds = float(os.environ.get("SECONDS", "inf"))
    env = os.environ | {"PYTHONUNBUFFERED": "1"}
    call = [program, path, *ARGUMENTS.get(path.stem, ())]
    with subprocess.Popen(call, stdout=-1, stderr=-1, text=True, env=env) as running:  # noqa: S603  our own files
        try:
            printed, errors = running.communicate(timeout=None if seconds == float("inf") else seconds)
            note = "" if running.returncode == 0 else f"It failed with an error: {errors.splitlines()[-1][:200]}\n"
        except subprocess.TimeoutExpired:
            running.kill()
            printed, _ = running.communicate()
            note = f"It was stopped after {seconds:g} seconds; the rest was not run.\n"
    return (f"```text\n{printed.strip()}\n```\n" if printed.strip() else "") + (note and f"\n{note}")


if __name__ == "__main__":
    main(sys.argv[1:])
