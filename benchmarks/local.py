"""Randomize and estimate ten million answers, as ratios to the plain `rng.random(n) < p` of the same run.

Run with `make bench`. Each figure is the best of five; the baseline is measured again before each block.
"""

import subprocess
import sys

import numpy as np

from toolkit import Design, k_ary, warner

from _timing import best

N = 10_000_000


def compare(name: str, design: Design, answers: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    baseline = best(lambda: rng.random(N) < 0.75)
    for source, generator, limit in (("seeded", rng, 2), ("system entropy", None, 4)):
        ours = best(lambda: design.estimate(design.randomize(answers, generator)))  # noqa: B023
        verdict = "ok" if ours <= limit * baseline else "TOO SLOW"
        print(f"{name:32} {source:16} {ours / baseline:5.2f} x  (at most {limit} x: {verdict})")


def imported(names: str) -> None:
    subprocess.run([sys.executable, "-c", f"import {names}"], check=True)  # noqa: S603


def main() -> None:
    ratio = best(lambda: imported("toolkit")) / best(lambda: imported("numpy, scipy.special"))
    print(f"import toolkit: {ratio:.2f} x import numpy, scipy.special (at most 1.1 x)")
    rng = np.random.default_rng(0)
    print(f"randomize + estimate, {N:,} answers, as multiples of rng.random(n) < p")
    compare("Warner, booleans", warner("3/4"), rng.random(N) < 0.2)
    codes = rng.integers(0, 16, N)
    compare("16 options, one-byte codes", k_ary(16, epsilon=1.0), codes.astype(np.uint8))
    compare("16 options, eight-byte codes", k_ary(16, epsilon=1.0), codes)
    for name, design, counts in (("Warner", warner("3/4"), [7, 3]), ("16 options", k_ary(16, epsilon=1.0), [5] * 16)):
        seconds = best(lambda: design.estimate_counts(counts), 200)  # noqa: B023  called here
        print(f"estimate from counts, {name}: {1e6 * seconds:.0f} microseconds")


if __name__ == "__main__":
    main()
