"""benchmarks/RESULTS.md: what one run of the benchmarks printed, with machine and versions.

python .make/results.py local planning central=peers/bin/python oracles=peers/bin/python

A name runs with this Python, `name=program` with another, in which the peers are installed (extra `peers`). A benchmark
that is not named is "not run"; `SECONDS=240` ends each after that time, with what it had printed until then.
"""

import os
import platform
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
PEERS = ("opendp", "diffprivlib", "dp-accounting", "multi-freq-ldpy", "pure-ldp", "statsmodels", "scikit-learn")
VERSIONS = (
    "from importlib.metadata import *\nfor name in {names}:\n try: print(name, version(name))\n except Exception: pass"
)
HEAD = """# Results

What one run of the benchmarks printed; peers stand in the same run where they could be installed, so that only ratios
within a block mean something. The machine was shared with other work: absolute times are too long, and a figure that is
missed by a little may be met on a quiet one. "ok" and "TOO SLOW" are against the limits that each benchmark states.
"""


def main(names: list[str]) -> None:
    """Run each, and write the page."""
    programs = {name: program or sys.executable for name, _, program in (one.partition("=") for one in names)}
    there = sorted(path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py"))
    parts = [part(name, programs.get(name)) for name in there]
    call = VERSIONS.format(names=("numpy", "scipy", "pandas", *PEERS))
    run = dict.fromkeys(programs.values())
    told = [subprocess.run([one, "-c", call], capture_output=True, text=True, check=True).stdout for one in run]  # noqa: S603
    versions = ", ".join(dict.fromkeys(line for one in told for line in one.splitlines()))
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    ours = f"toolkit {version('privacy-survey-toolkit')}"
    page = "\n".join([HEAD, f"Machine: {machine}. Versions: {ours}; {versions}.\n", *parts])
    (ROOT / "benchmarks" / "RESULTS.md").write_text(page, encoding="utf-8")


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
    with subprocess.Popen([program, path], stdout=-1, stderr=-1, text=True, env=env) as running:  # noqa: S603  our own files
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
