"""Randomize and estimate a million reports on many options: ours beside multi-freq-ldpy and pure-ldp, in one
run, as ratios.

The others have an environment of their own, because they need versions that nothing else here needs:

    python -m venv peers && peers/bin/pip install . --group peers && peers/bin/python benchmarks/oracles.py

Ours draws a million reports from the operating system's randomness, with exact probabilities; theirs draw
fewer, from a Mersenne twister and float thresholds, and are scaled up, which their cost, linear in the number
of reports, allows.
"""

import tracemalloc
from collections.abc import Callable

import numpy as np

from toolkit import k_ary
from toolkit.local.oracles import local_hash, optimized_unary, subset

from _timing import best

EPSILON, PEOPLE = 1.0, 1_000_000
TARGETS = {"k-ary": 20, "k-ary design": 20, "optimized unary": 5, "subset": 5}
Survey = Callable[[np.ndarray], object]


def ours(kind: str, k: int) -> Survey:
    make = {
        "k-ary": lambda: subset(k, EPSILON, size=1),
        "k-ary design": lambda: k_ary(k, epsilon=EPSILON),
        "optimized unary": lambda: optimized_unary(k, EPSILON),
        "subset": lambda: subset(k, EPSILON),
        "local hash": lambda: local_hash(k, EPSILON),
    }
    randomizer = make[kind]()
    return lambda answers: randomizer.estimate(randomizer.randomize(answers))


def multi_freq(kind: str, k: int) -> Survey:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    return {
        "k-ary": lambda x: GRR_Aggregator_MI([GRR_Client(v, k, EPSILON) for v in x], k, EPSILON),
        "optimized unary": lambda x: UE_Aggregator_MI([UE_Client(v, k, EPSILON) for v in x], EPSILON),
        "subset": lambda x: SS_Aggregator_MI([SS_Client(v, k, EPSILON) for v in x], k, EPSILON),
        "local hash": lambda x: LH_Aggregator_MI([LH_Client(v, k, EPSILON) for v in x], k, EPSILON),
    }[kind]


def pure_ldp(kind: str, k: int) -> Survey:
    from pure_ldp.frequency_oracles import DEClient, DEServer, LHClient, LHServer, UEClient, UEServer

    settings = {"epsilon": EPSILON, "d": k, "index_mapper": int}
    pairs = {
        "k-ary": lambda: (DEClient(**settings), DEServer(**settings)),
        "optimized unary": lambda: (UEClient(**settings, use_oue=True), UEServer(**settings, use_oue=True)),
        "local hash": lambda: (LHClient(**settings, use_olh=True), LHServer(**settings, use_olh=True)),
    }

    def survey(answers: np.ndarray) -> object:
        client, server = pairs[kind]()
        for answer in answers:
            server.aggregate(client.privatise(answer))
        return [server.estimate(option, suppress_warnings=True) for option in range(k)]

    if kind not in pairs:
        raise NotImplementedError(kind)
    return survey


def seconds(survey: Survey, answers: np.ndarray) -> float:
    """For one report, the best of three."""
    return best(lambda: survey(answers), 3) / len(answers)


def peers_time(kind: str, k: int, answers: np.ndarray) -> dict[str, float]:
    """Seconds a report of those that are installed and know this kind, from as many reports as take about a
    second.
    """
    found = {}
    for name, make in (("multi-freq-ldpy", multi_freq), ("pure-ldp", pure_ldp)):
        try:
            survey = make(kind.removesuffix(" design"), k)
        except (ImportError, NotImplementedError):
            continue
        survey(answers[:20])  # compiles
        first = seconds(survey, answers[:200])
        found[name] = seconds(survey, answers[: max(200, min(50_000, int(0.7 / first)))])
    return found


def memory(kind: str, k: int, answers: np.ndarray) -> float:
    """Megabytes at the peak, answers not counted."""
    tracemalloc.start()
    ours(kind, k)(answers)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main() -> None:
    rng = np.random.default_rng(1)
    print(f"{'':16}{'k':>6}{'ours, µs a report':>20}{'than for n/10':>15}   faster than")
    for kind in ("k-ary", "k-ary design", "optimized unary", "subset", "local hash"):
        for k in (16, 128, 1024):
            answers = rng.integers(0, k, PEOPLE)
            few, many = seconds(ours(kind, k), answers[: PEOPLE // 10]), seconds(ours(kind, k), answers)
            peers = peers_time(kind, k, answers)
            told = (
                ", ".join(f"{name} {theirs / many:.0f}×" for name, theirs in peers.items())
                or "(nobody else is installed)"
            )
            mark = ""
            if kind in TARGETS and peers:
                mark = "" if min(peers.values()) / many >= TARGETS[kind] else f"   BELOW THE TARGET OF {TARGETS[kind]}×"
            print(f"{kind:16}{k:>6}{many * 1e6:>20.3f}{many / few:>14.2f}×   {told}{mark}")
    for kind in ("optimized unary", "subset"):
        print(
            f"{kind}: {memory(kind, 1024, rng.integers(0, 1024, PEOPLE)):.0f} MB at k = 1024 for a million "
            "reports (target 200)"
        )
    if not peers_time("k-ary", 16, rng.integers(0, 16, 1000)):
        print("To compare, see the first lines of this file: the others have an environment of their own.")


if __name__ == "__main__":
    main()
