"""How often default intervals hold the truth, and tests a true null: at least .93, and about .05. Run by itself:
`python benchmarks/coverage.py 4000`; it takes minutes.

Shares of samples: simple random samples and domains by enumeration of all counts, the others by as many surveys as are
asked for. Clusters are of 20 people whose answers correlate by .05 (beta-binomial), weights lognormal.
"""

import itertools
import sys
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import binom

from toolkit import crosswise, forced
from toolkit.analysis import Sample, estimates, plain

DIE, BIRTHDAY, OPEN = forced("1/6", "1/6"), crosswise("0.15"), plain(["no", "yes"])
LEAST = 0.93
Survey = tuple[pd.DataFrame, Sample, float]


def chance(design: object, share: float) -> float:
    """The chance of the last report."""
    matrix = np.eye(2) if design is OPEN else design.matrix  # type: ignore[attr-defined]
    return float(matrix[0, 1] * (1 - share) + matrix[1, 1] * share)


def reports(design: object, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    labels = np.array(design.report_options)  # type: ignore[attr-defined]
    codes = truth if design is OPEN else design.randomize(truth, rng)  # type: ignore[attr-defined]
    return np.asarray(labels[np.asarray(codes).astype(int)])


def holds(design: object, frame: pd.DataFrame, sample: Sample, share: float, group: object = None) -> bool:
    found = estimates(frame, {"a": design}, by=None if group is None else "g", sample=sample)["a"]
    low, high = (found if group is None else found[group]).interval()
    return bool(low <= share <= high)


def enumerated(design: object, n: int, share: float) -> float:
    """A simple random sample, as weights of 1."""
    first, last = design.report_options  # type: ignore[attr-defined]
    law = binom.pmf(np.arange(n + 1), n, chance(design, share))
    covered = 0.0
    for count in np.flatnonzero(law > 1e-7):
        frame = pd.DataFrame({"a": [first] * (n - count) + [last] * count})
        covered += law[count] * holds(design, frame, Sample(weights=np.ones(n)), share)
    return covered / law[law > 1e-7].sum()


def domain(design: object, share: float) -> float:
    """About 20 of 200 people."""
    first, last = design.report_options  # type: ignore[attr-defined]
    sizes, covered, total = binom.pmf(np.arange(201), 200, 0.1), 0.0, 0.0
    for size in np.flatnonzero(sizes > 1e-4):
        law = binom.pmf(np.arange(size + 1), size, chance(design, share))
        for count in np.flatnonzero(law > 1e-4):
            cells = [first] * (size - count) + [last] * count + [first] * (200 - size)
            frame = pd.DataFrame({"a": cells, "g": np.arange(200) < size})
            weight = sizes[size] * law[count]
            covered += weight * holds(design, frame, Sample(weights=np.ones(200)), share, group=True)
            total += weight
    return covered / total


def clusters(design: object, share: float, count: int, spread: float, rng: np.random.Generator) -> Iterator[Survey]:
    unit = np.repeat(np.arange(count), 20)
    while True:
        own = rng.beta(share * 19, (1 - share) * 19, count)
        frame = pd.DataFrame({"a": reports(design, rng.random(20 * count) < own[unit], rng)})
        yield frame, Sample(weights=rng.lognormal(0, spread, 20 * count), clusters=unit), share


def alone(design: object, share: float, n: int, rng: np.random.Generator) -> Iterator[Survey]:
    while True:
        frame = pd.DataFrame({"a": reports(design, rng.random(n) < share, rng)})
        yield frame, Sample(weights=rng.lognormal(0, 1.2, n)), share


def poststratified(design: object, part: float, rng: np.random.Generator) -> Iterator[Survey]:
    """Sixty people in four cells of known sizes."""
    sizes, shares = np.array([0.1, 0.2, 0.3, 0.4]), part * np.array([0.05, 0.15, 0.2, 0.4])
    while True:
        cell = rng.choice(4, 60, p=sizes)
        if len(set(cell.tolist())) == 4:
            frame = pd.DataFrame({"a": reports(design, rng.random(60) < shares[cell], rng)})
            yield frame, Sample().poststratified(cell, dict(enumerate(1000 * sizes))), float(sizes @ shares)


def simulated(design: object, surveys: Iterator[Survey], repeats: int) -> float:
    return float(np.mean([holds(design, *next(surveys)) for _ in range(repeats)]))


def size(method: str, count: int, spread: float, repeats: int) -> float:
    """How often three groups with one share are told apart at 5 %: of clusters of 20, asked with a die."""
    rng, rejected = np.random.default_rng(count), 0
    surveys = clusters(DIE, 0.2, count, spread, rng)
    for _ in range(repeats):
        frame, sample, _ = next(surveys)
        frame["g"] = rng.integers(0, 3, len(frame))
        rejected += estimates(frame, {"a": DIE}, by="g", sample=sample).homogeneity("a", method).p < 0.05
    return rejected / repeats


def cells(repeats: int) -> Iterator[tuple[str, Callable[[], float]]]:
    """Seventy-four: three designs, alone, in domains, poststratified, in clusters, with and without heavy weights."""
    rng = np.random.default_rng(1)
    for name, design in (("plain", OPEN), ("die", DIE), ("crosswise", BIRTHDAY)):
        for n, share in itertools.product((20, 50, 100), (0.01, 0.05, 0.2, 0.5)):
            yield f"{name}, n {n}, share {share}", partial(enumerated, design, n, share)
        for share in (0.05, 0.2):
            yield f"{name}, about 20 of 200, share {share}", partial(domain, design, share)
        rare = 0.05 if design is OPEN else 0.2
        surveys = {f"n {n}, weights 1.2": alone(design, rare, n, rng) for n in (50, 200) if design is not BIRTHDAY}
        parts = (0.2, 1.0) if design is not BIRTHDAY else ()
        surveys |= {f"poststratified, shares by {part}": poststratified(design, part, rng) for part in parts}
        for count, spread in itertools.product((4, 8, 15, 40), (0.0, 1.2)):
            surveys[f"{count} clusters, weights {spread}"] = clusters(design, rare, count, spread, rng)
        for what, drawn in surveys.items():
            yield f"{name}, {what}", partial(simulated, design, drawn, repeats)


def main(repeats: int = 4000) -> None:
    for name, cell in cells(repeats):
        covered = cell()
        print(f"{name:40} {covered:.3f}  ({'ok' if covered >= LEAST else 'TOO SELDOM'})", flush=True)
    for method in ("rao-scott", "wald"):
        for count, spread in ((8, 0.0), (15, 0.0), (15, 1.2), (40, 1.2)):
            print(
                f"{method}, {count} clusters, weights {spread}: size {size(method, count, spread, repeats):.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
