"""Exact noise and selection, as multiples of numpy's `Generator.laplace` per number in the same run; peers
beside it if there.

Run with `make bench`. OpenDP and diffprivlib are in the group `peers`, for an environment of its own:

    python -m venv peers && peers/bin/pip install . --group peers pandas && peers/bin/python benchmarks/central.py

Our noise comes from the operating system's randomness. Each figure is the best of several; the baseline is
measured again before each block. Peers draw fewer numbers, scaled up: their cost is linear in the number.
"""

import importlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from toolkit import Curator, Ledger, Pure
from toolkit.central import Gaussian, Laplace
from toolkit.central.selection import Exponential, NoisyMax, PermuteAndFlip
from toolkit.core.sampling import discrete_gaussian, discrete_laplace

from _timing import best

N = 1_000_000
FEW = 20_000


def baseline() -> float:
    rng = np.random.default_rng(1)
    return best(lambda: rng.laplace(size=N))


def show(name: str, figure: str, limit: str = "", met: bool = True) -> None:
    verdict = f"  (at most {limit}: {'ok' if met else 'TOO SLOW'})" if limit else ""
    print(f"{name:58} {figure:>10}{verdict}")


def noise() -> None:
    unit = baseline()
    print(f"\nnoise, {N:,} numbers, as multiples of Generator.laplace ({1e9 * unit / N:.1f} ns a number)")
    whole, real = np.zeros(N, dtype=np.int64), np.zeros(N)
    laplace, gauss = Laplace.for_epsilon(0.5), Gaussian.for_loss(1, 1e-6)
    works: list[tuple[str, Callable[[], object], int]] = [
        ("discrete Laplace, scale 1", lambda: discrete_laplace(1, N), 6),
        ("discrete Laplace, scale 100", lambda: discrete_laplace(100, N), 6),
        ("discrete Laplace, scale 2**31", lambda: discrete_laplace(2**31, N), 6),
        ("discrete Gaussian, sigma 10", lambda: discrete_gaussian(100, N), 20),
        ("discrete Gaussian, sigma 2**31", lambda: discrete_gaussian(4**31, N), 20),
        ("Laplace.release, whole numbers", lambda: laplace.release(whole), 6),
        ("Laplace.release, reals", lambda: laplace.release(real), 10),
        ("Gaussian.release, whole numbers", lambda: gauss.release(whole), 20),
        ("Gaussian.release, reals", lambda: gauss.release(real), 20),
    ]
    for name, work, limit in works:
        ratio = best(work, 3) / unit
        show(name, f"{ratio:.1f} x", f"{limit} x", ratio <= limit)
    for name, work in peer_noise():
        show(name, f"{best(work, 1) / FEW * N / unit:.0f} x")


def scalars() -> None:
    print("\none number")
    laplace, gauss = Laplace.for_epsilon(0.5), Gaussian.for_loss(1, 1e-6)
    radial = Laplace.for_epsilon(0.5, norm="l2")
    for name, work in (
        ("Laplace.release(42)", lambda: laplace.release(42)),
        ("Laplace.release(42.5)", lambda: laplace.release(42.5)),
        ("Gaussian.release(42)", lambda: gauss.release(42)),
        ("Gaussian.release(42.5)", lambda: gauss.release(42.5)),
    ):
        cost = 1e6 * best(work, 300)
        show(name, f"{cost:.0f} µs", "60 µs", cost <= 60)
    show("Laplace, L2, 100 dimensions", f"{1e6 * best(lambda: radial.release(np.zeros(100)), 100):.0f} µs")
    show("calibrate Gaussian, new parameters", f"{1e3 * best(calibrations().__next__, 10):.0f} ms")
    for name, work in peer_scalars():
        show(name, f"{1e6 * best(work, 50):.0f} µs")


def calibrations() -> Iterator[Gaussian]:
    for i in range(1, 100):
        yield Gaussian.for_loss(f"{i}/7", 3e-7)


def selection() -> None:
    print(f"\nchoosing one of {N:,}: the time must not tell the scores")
    rng = np.random.default_rng(2)
    patterns = {
        "equal": np.zeros(N),
        "uniform to 10**6": rng.uniform(0, 1e6, N),
        "normal, sd 100": rng.normal(0, 100, N),
        "normal, sd 10**300": rng.normal(0, 1e300, N),
        "equal, whole": np.zeros(N, dtype=np.int64),
        "extremes of int64": rng.choice(np.array([-(2**63), 2**63 - 1]), N),
    }
    for mechanism, limit in (
        (Exponential.for_epsilon(1), 150),
        (PermuteAndFlip.for_epsilon(1), 0),
        (NoisyMax.for_epsilon(1), 0),
    ):
        for name, scores in patterns.items():
            cost = 1e3 * best(lambda: mechanism.choose(range(N), scores), 3)  # noqa: B023
            show(
                f"{type(mechanism).__name__}, scores {name}",
                f"{cost:.0f} ms",
                f"{limit} ms" if limit else "",
                cost <= limit,
            )
    values = rng.uniform(0, 100, N)
    edges, scores = np.concatenate([[0], np.sort(values), [100]]), -np.abs(np.arange(N + 1) - N / 2)
    cost, sort = (best(lambda: Exponential.for_epsilon(1)._choose_point(edges, scores)), best(lambda: np.sort(values)))
    show("choose_point among 10**6 intervals, in sorts of 10**6", f"{cost / sort:.1f} x")


def budget() -> None:
    import pandas as pd

    print("\ncurator and ledger")
    values = np.random.default_rng(3).normal(50, 10, N)
    curator, sort = (
        Curator(pd.DataFrame({"age": values}), Ledger(Pure(1000)), "replace"),
        best(lambda: np.sort(values)),
    )
    median = best(lambda: curator.median("age", bounds=(18, 100), epsilon=0.1)) / sort
    show("median of 10**6 rows, in sorts of 10**6", f"{median:.1f} x", "3 x", median <= 3)
    ledger, halves = Ledger(Pure(1000)), []
    for _ in range(2):
        start = time.perf_counter()
        for _ in range(5000):
            ledger.charge(Pure("1/1000"))
        halves.append(time.perf_counter() - start)
    ratio = halves[1] / halves[0]
    show("10**4 charges, second half against first", f"{ratio:.2f} x", "1.5 x", ratio <= 1.5)


def reading() -> None:
    """Statistics of a frame against what pandas and numpy need for the same, one after the other, the best of
    many.
    """
    import pandas as pd

    print(f"\nreading {N:,} rows: the curator against pandas and numpy")
    rng = np.random.default_rng(4)
    options = [f"option {i}" for i in range(100)]
    frame = pd.DataFrame(
        {"text": rng.choice(options, N), "year": rng.integers(0, 100, N), "age": rng.normal(50, 10, N)}
    )
    frame["category"] = frame["text"].astype("category")
    curator, edges, ages = (
        Curator(frame, Ledger(Pure(10**9)), "replace"),
        np.linspace(0, 100, 21),
        frame["age"].to_numpy(),
    )
    works: list[tuple[str, Callable[[], object], Callable[[], object], int]] = [
        *(
            work
            for name, some in (("text", options), ("category", options), ("year", range(100)))
            for work in (
                (f"histogram of 100 options, {name}: factorize", *histograms(curator, frame, name, some), 4),
                (f"where, {name}: isin", *conditions(curator, frame, name, list(some)[:2]), 4),
            )
        ),
        (
            "histogram of 20 bins: numpy.histogram",
            lambda: curator.histogram("age", edges=edges, epsilon=1),
            lambda: np.histogram(ages, edges),
            2,
        ),
        (
            "mean: numpy.mean and clip",
            lambda: curator.mean("age", bounds=(18, 100), missing=50, epsilon=1),
            lambda: np.mean(np.clip(ages, 18, 100)),
            3,
        ),
        (
            "mean, dropped: numpy.mean and clip",
            lambda: curator.mean("age", bounds=(18, 100), missing="drop", epsilon=1),
            lambda: np.mean(np.clip(ages, 18, 100)),
            3,
        ),
    ]
    for name, ours, theirs, limit in works:
        ratio = min(best(ours, 9), best(ours, 9)) / best(theirs, 9)
        show(name, f"{ratio:.1f} x", f"{limit} x", ratio <= limit)


def histograms(
    curator: Curator, frame: Any, name: str, options: Iterable[Any]
) -> tuple[Callable[[], object], Callable[[], object]]:
    pandas = importlib.import_module("pandas")
    return lambda: curator.histogram(name, options=options, epsilon=1), lambda: pandas.factorize(frame[name])


def conditions(
    curator: Curator, frame: Any, name: str, values: list[Any]
) -> tuple[Callable[[], object], Callable[[], object]]:
    return lambda: curator.count({name: values}, epsilon=1), lambda: frame[name].isin(values)


def peer(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"({name.split('.')[0]} is not installed: see the head of this file)")
        return None


def opendp_noise(domain_of: object, scale: float, gaussian: bool) -> Callable[[object], object]:
    """A measurement on a vector of numbers of the type of `domain_of`."""
    dp = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    kind = dp.vector_domain(
        dp.atom_domain(T=domain_of, nan=False) if domain_of is float else dp.atom_domain(T=domain_of)
    )
    if gaussian:
        return dp.m.make_gaussian(kind, dp.l2_distance(T=domain_of), scale)
    return dp.m.make_laplace(kind, dp.l1_distance(T=domain_of), scale)


def peer_noise() -> Iterator[tuple[str, Callable[[], object]]]:
    if peer("opendp.prelude"):
        for name, kind, scale, gaussian in (
            ("OpenDP Laplace, whole, scale 100", int, 100.0, False),
            ("OpenDP Laplace, reals", float, 2.0, False),
            ("OpenDP Gaussian, whole, sigma 10", int, 10.0, True),
        ):
            measure, zeros = opendp_noise(kind, scale, gaussian), [kind(0)] * FEW
            yield name, lambda measure=measure, zeros=zeros: measure(zeros)
    if peer("diffprivlib.mechanisms"):
        mechanisms = importlib.import_module("diffprivlib.mechanisms")
        whole, real = mechanisms.Geometric(epsilon=0.5), mechanisms.Laplace(epsilon=0.5, sensitivity=1)
        yield "diffprivlib Geometric", lambda: [whole.randomise(0) for _ in range(FEW)]
        yield "diffprivlib Laplace", lambda: [real.randomise(0.0) for _ in range(FEW)]


def peer_scalars() -> Iterator[tuple[str, Callable[[], object]]]:
    if peer("opendp.prelude"):
        dp = importlib.import_module("opendp.prelude")
        one = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), 2.0)
        yield "OpenDP Laplace, one real", lambda: one(42.5)
    if peer("diffprivlib.mechanisms"):
        mechanisms = importlib.import_module("diffprivlib.mechanisms")
        real = mechanisms.Laplace(epsilon=0.5, sensitivity=1)
        yield "diffprivlib Laplace, one real", lambda: real.randomise(42.5)


def main() -> None:
    noise()
    scalars()
    selection()
    budget()
    reading()


if __name__ == "__main__":
    main()
