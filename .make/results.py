"""benchmarks/RESULTS.md: what one run of the benchmarks printed, with machine and versions.

python .make/results.py local planning central=peers/bin/python oracles=peers/bin/python

A name runs with this Python, `name=program` with another, in which the peers are installed (extra `peers`).
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
    parts, programs = [], {}
    for name in names:
        name, _, program = name.partition("=")
        programs[program or sys.executable] = None
        path = ROOT / "benchmarks" / f"{name}.py"
        done = subprocess.run(  # noqa: S603  our own files
            [program or sys.executable, path], capture_output=True, text=True, check=False, env=os.environ
        )
        about = re.match(r'"""(.*?)\n\n', path.read_text(encoding="utf-8") + "\n\n", re.DOTALL)
        ended = "" if done.returncode == 0 else f"\n\nIt ended with an error: {done.stderr.splitlines()[-1][:200]}"
        first = " ".join(about[1].split()).removesuffix('"""') if about else ""
        parts.append(f"## {name}\n\n{first}\n\n```text\n{done.stdout.strip()}\n```{ended}\n")
    call = VERSIONS.format(names=("numpy", "scipy", "pandas", *PEERS))
    told = [subprocess.run([one, "-c", call], capture_output=True, text=True, check=True).stdout for one in programs]  # noqa: S603
    versions = ", ".join(dict.fromkeys(line for one in told for line in one.splitlines()))
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    ours = f"toolkit {version('privacy-survey-toolkit')}"
    page = "\n".join([HEAD, f"Machine: {machine}. Versions: {ours}; {versions}.\n", *parts])
    (ROOT / "benchmarks" / "RESULTS.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
