"""How often default 95 % intervals hold the truth, and tests a true null: at least .93, and about .05. Run by itself:
`python benchmarks/interval_coverage.py 2000 shares strata tests numbers ratios lists areas`, or a part; `areas` takes
half an hour, the others minutes.

Shares of samples: simple random samples and domains by enumeration of all counts, the others by as many surveys as are
asked for. Clusters are of 20 people whose answers correlate by .05 (beta-binomial), weights lognormal.
"""

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import binom, norm

from toolkit import crosswise, forced, k_ary
from toolkit.analysis import Sample, estimates, linear, list_experiment, logistic, mixed_logistic, plain
from toolkit.local import numeric

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


def strata(design: object, share: float, units: int, spread: float, rng: np.random.Generator) -> Iterator[Survey]:
    """Five strata of different sizes and shares, each with as many clusters of 20, as analysts draw them."""
    sizes, shares = np.array([0.1, 0.15, 0.2, 0.25, 0.3]), share * np.array([0.2, 0.6, 1.0, 1.2, 1.3])
    shares *= share / (sizes @ shares)
    stratum = np.repeat(np.arange(5), 20 * units)
    unit = np.repeat(np.arange(5 * units), 20)
    while True:
        own = rng.beta(np.repeat(shares, units) * 19, (1 - np.repeat(shares, units)) * 19)
        frame = pd.DataFrame({"a": reports(design, rng.random(len(unit)) < own[unit], rng)})
        weights = sizes[stratum] * rng.lognormal(0, spread, len(unit))
        yield frame, Sample(weights=weights, strata=stratum, clusters=unit), share


def leaning(design: object, share: float, n: int, rng: np.random.Generator) -> Iterator[Survey]:
    """Those who have done it are drawn half as often, and weigh twice as much."""
    while True:
        truth = rng.random(n) < share / 2 / (share / 2 + 1 - share)
        weights = np.where(truth, 2.0, 1.0) * rng.lognormal(0, 0.5, n)
        yield pd.DataFrame({"a": reports(design, truth, rng)}), Sample(weights=weights), share


def stratified(repeats: int) -> Iterator[tuple[str, Callable[[], float]]]:
    """Eighteen: five strata with two or four clusters each, and weights that go with the truth."""
    rng = np.random.default_rng(2)
    for name, design in (("plain", OPEN), ("die", DIE), ("crosswise", BIRTHDAY)):
        rare = 0.05 if design is OPEN else 0.2
        for units, spread in itertools.product((2, 4), (0.0, 1.2)):
            drawn = strata(design, rare, units, spread, rng)
            yield f"{name}, 5 strata x {units} clusters, weights {spread}", partial(simulated, design, drawn, repeats)
        for n in (100, 300):
            drawn = leaning(design, rare, n, rng)
            yield f"{name}, n {n}, weights go with the truth", partial(simulated, design, drawn, repeats)


def inside(found: Any, truth: Any) -> np.ndarray:
    low, high = found.interval()
    return np.atleast_1d((np.asarray(low) <= truth) & (truth <= np.asarray(high)))


WAYS = {
    **{
        f"{one.__name__}, epsilon {e}": one((0, 20), e)
        for one in (numeric.piecewise, numeric.hybrid, numeric.one_bit, numeric.local_laplace)
        for e in (1, 2)
    },
    "RRlin, a drawn number added": numeric.additive((0, 20), {0: "1/2", 10: "1/4", -10: "1/4"}),
    "RRlin, times a drawn number": numeric.multiplicative((0, 20), {1: "1/2", 2: "1/4", 3: "1/4"}),
    "item sum": None,
}


def number(name: str, n: int, part: float, rng: np.random.Generator) -> np.ndarray:
    """Both coefficients of a number on a covariate that a part of people have."""
    # Two lists to half of the people each.
    n *= 2 if name == "item sum" else 1
    x = np.zeros(n)
    x[: round(n * part)] = 1
    truth = np.clip(rng.normal(6 + 3 * x, 2.5), 0, 20)
    if name == "item sum":
        on = np.arange(n) % 2 == 0
        answers = rng.gamma(4, 2, n) + on * rng.normal(6 + 3 * x, 2.5)
        return inside(linear("y ~ x", {"y": answers, "x": x, "on": on}, treatment="on"), np.array([6, 3, 8, 0.0]))[:2]
    design = WAYS[name]
    return inside(linear("y ~ x", {"y": design.randomize(truth, rng=rng), "x": x}, design), CUT)


def cut_mean(mean: float) -> float:
    """Of a normal number with a standard deviation of 2.5 that is cut at 0 and 20."""
    ends = (np.array([0.0, 20.0]) - mean) / 2.5
    inner = mean * np.diff(norm.cdf(ends)) - 2.5 * np.diff(norm.pdf(ends))
    return float(inner[0] + 20 * norm.sf(ends[1]))


CUT = np.array([cut_mean(6), cut_mean(9) - cut_mean(6)])


def ratio(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """A risk ratio: of two groups of a sample, of margins of a model with a covariate, of two of three options."""
    group, age = np.arange(n) % 2, rng.normal(size=n)
    if name == "two of three options":
        truth = rng.choice(3, n, p=[0.5, 0.3, 0.2])
        return inside(THREE.estimate(THREE.randomize(truth, rng=rng)).ratio(2, 1), 2 / 3)
    if name == "groups of a weighted, clustered sample":
        unit = np.arange(n) // 20
        own = rng.beta(0.2 * 19, 0.8 * 19, unit.max() + 1)
        truth = rng.random(n) < own[unit] * (1 + group)
        frame = pd.DataFrame({"a": reports(DIE, truth, rng), "g": group})
        sample = Sample(weights=rng.lognormal(0, 0.5, n), clusters=unit)
        found = estimates(frame, {"a": DIE}, by="g", sample=sample)["a"]
        return inside(found[1] / found[0], 2.0)
    frame = pd.DataFrame(
        {"y": DIE.randomize(rng.random(n) < expit(-1 + group + 0.5 * age), rng=rng), "g": group, "age": age}
    )
    fit = logistic("y ~ g + age", frame, DIE)
    one, zero = (expit(-1 + level + 0.5 * age).mean() for level in (1, 0))
    found = fit.margins("g", levels=[1, 0])
    return inside(found.ratio(*found.labels), one / zero)


def listed(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Both coefficients of the trait, from two lists or from items one by one; people's answers go together, or not."""
    x, on = rng.normal(size=n), rng.random(n) < 0.5
    carrier = rng.random(n) < expit(-0.8 + 0.5 * x)
    u = (0.7 if "together" in name else 0.0) * rng.normal(size=n)
    control = "logit-normal" if "logit-normal" in name else "binomial"
    options: dict[str, Any] = {"treatment": "t", "items": 3, "method": "nls" if "squares" in name else "ml"}
    options |= {} if "squares" in name else {"control": control}
    if name.startswith("two lists"):
        one, two = (rng.binomial(3, expit(middle + 0.3 * x + u)) for middle in (-0.2, 0.1))
        data = {"y": one + (on & carrier), "b": two + (~on & carrier), "x": x, "t": on}
        options["second"] = "b"
    else:
        items = rng.random((n, 3)) < expit(np.array([-0.5, 0.0, 0.4]) + (0.3 * x + u)[:, None])
        data = {"y": items.sum(axis=1) + (on & carrier), "x": x, "t": on} | {
            f"c{j}": items[:, j] * 1.0 for j in range(3)
        }
        options["control_items"] = ["c0", "c1", "c2"]
    low, high = list_experiment("y ~ x", data, **options).interval()
    truth = np.array([-0.8, 0.5])
    return (np.asarray(low)[:2] <= truth) & (truth <= np.asarray(high)[:2])


LISTS = [
    f"{design}, {law}, answers {how}"
    for design in ("two lists", "items one by one")
    for law, how in (
        ("least squares", "together"),
        ("binomial", "apart"),
        ("binomial", "together"),
        ("logit-normal", "together"),
    )
]


def area(rng: np.random.Generator) -> np.ndarray:
    """Poststratification, by a die: 40 groups of 15 people whose log odds differ by .8, and 5 without reports."""
    group, u = np.repeat(np.arange(40), 15), 0.8 * rng.normal(size=45)
    x = rng.integers(0, 2, 600) - 0.5
    truth = rng.random(600) < expit(-0.8 + 0.6 * x + u[group])
    frame = {"y": np.asarray(DIE.randomize(truth, rng=rng)), "x": x, "g": group}
    census = {"g": np.repeat(np.arange(45), 2), "x": np.tile([-0.5, 0.5], 45), "N": np.ones(90)}
    shares = expit(-0.8 + 0.6 * census["x"] + u[census["g"]]).reshape(45, 2).mean(axis=1)
    fit = mixed_logistic("y ~ x", frame, DIE, group="g")
    each = inside(fit.poststratify(census, count="N", by="g"), shares)
    return np.array([*inside(fit.poststratify(census, count="N"), shares.mean()), each[:40].mean(), each[40:].mean()])


def several(
    survey: Callable[[np.random.Generator], np.ndarray], repeats: int, seed: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, int]:
    """Of each number of a survey how often it was held, the simulation's error, and surveys that had no fit."""
    covered, refused = [], 0
    for place in range(repeats):
        try:
            covered.append(survey(np.random.default_rng([*seed, place])))
        except ValueError:
            refused += 1
    rows = np.array(covered, dtype=float)
    return rows.mean(axis=0), rows.std(axis=0) / np.sqrt(len(rows)), refused


def models(part: str, repeats: int) -> Iterator[tuple[str, Callable[[], tuple[np.ndarray, np.ndarray, int]]]]:
    """Simulated surveys of one kind."""
    if part == "numbers":
        for place, (name, n, share) in enumerate(itertools.product(WAYS, (30, 100), (0.1, 0.5))):
            yield (
                f"{name}, n {n}, {share:.0%} have it",
                partial(several, partial(number, name, n, share), repeats, (3, place)),
            )
    elif part == "ratios":
        for place, name in enumerate(
            ("margins of logistic", "groups of a weighted, clustered sample", "two of three options")
        ):
            for n in (300, 1000):
                yield (
                    f"ratio, {name}, n {n}",
                    partial(several, lambda rng, name=name, n=n: ratio(name, n, rng), repeats, (4, place, n)),
                )
    elif part == "lists":
        for place, name in enumerate(LISTS):
            yield f"{name}, n 600", partial(several, lambda rng, name=name: listed(name, 600, rng), repeats, (5, place))
    elif part == "areas":
        yield "areas: all, groups, groups without reports", partial(several, area, repeats, (6,))


THREE = k_ary(3, epsilon=1.5)


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


def main(repeats: str = "2000", *parts: str) -> None:
    many = int(repeats)
    for part in parts or ("shares", "strata", "tests", "numbers", "ratios", "lists", "areas"):
        print(
            f"{part}, {many:,} surveys a cell" if part != "shares" else f"shares, enumerated or {many:,} surveys",
            flush=True,
        )
        for name, cell in {"shares": cells, "strata": stratified}.get(part, lambda _: iter(()))(many):
            covered = cell()
            print(f"{name:44} {covered:.3f}  ({'ok' if covered >= LEAST else 'TOO SELDOM'})", flush=True)
        for name, simulation in models(part, many):
            held, error, refused = simulation()
            numbers = "  ".join(f"{one:.3f} ({spread:.3f})" for one, spread in zip(held, error, strict=True))
            verdict = "ok" if held.min() >= LEAST else "TOO SELDOM"
            print(f"{name:48} {numbers}  ({verdict}{f'; {refused} refused' if refused else ''})", flush=True)
        for method, (count, spread) in itertools.product(("rao-scott", "wald") if part == "tests" else (), SIZES):
            rejected = size(method, count, spread, many)
            print(f"{method}, {count} clusters, weights {spread}: size {rejected:.3f}", flush=True)


SIZES = ((8, 0.0), (15, 0.0), (15, 1.2), (40, 1.2))

if __name__ == "__main__":
    main(*sys.argv[1:])
