"""Is it as private as it says? A lower confidence bound on epsilon and delta, for anything that can be run.

`audit(mechanism, neighbours)` runs the mechanism on pairs of neighbouring inputs, looks for events that are much likelier on
one than on the other, and confirms the best of them on fresh runs with Clopper-Pearson bounds. A mechanism that tells its
law is enumerated as well, exactly, and its draws are compared with that law. An audit can refute a claim; it cannot prove one.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from toolkit.attacks import enumeration
from toolkit.attacks.bounds import claimed, delta_bound, epsilon_bound, p_value
from toolkit.attacks.events import Array, Event, search
from toolkit.attacks.neighbours import Pair, named_pairs, pairs_for
from toolkit.attacks.running import FEWEST, Runner, loss_of
from toolkit.attacks.verdict import Trial, Verdict
from toolkit.core.checks import Number, refuse, whole
from toolkit.core.checks import level as check_level
from toolkit.core.loss import Approx, Loss, Pure
from toolkit.core.randomness import Rng, check_rng

_CONFIRMED_PAIRS = 3
_ZCDP_DELTA = 1e-3
_FOR_DRAWS = 0.1  # the share of the error that is left to the comparison of draws with a told law

Candidate = tuple[str, Pair, list[Event]]


class Half(NamedTuple):
    """One half of the runs and of the time: for the search, or for the confirmation."""

    runs: int
    seconds: float

    def shared(self, inputs: int) -> tuple[int, float]:
        return max(self.runs // inputs, FEWEST), self.seconds / inputs


def audit(
    mechanism: Any,
    neighbours: Any = None,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    runs: int = 100_000,
    seconds: float = 4.0,
    level: Number = 0.9999,
    features: dict[str, Callable[[Any], float]] | None = None,
    last_bits: bool = True,
    rng: Rng = None,
) -> Verdict:
    """Look for a violation of a privacy claim.

    Parameters
    ----------
    mechanism : something with `randomize` or `release`, or a function of the input (and of `rng`, if it has one).
    neighbours : a tuple of two inputs, a list of such, or a mapping with names; see `toolkit.attacks.neighbours`. None: from
        the options, bounds or sensitivity that the mechanism declares.
    epsilon, delta : the claim; the mechanism's own `loss` if left out.
    runs, seconds : how often to run it in all; less where that would take longer than so many seconds.
    level : of the bounds and of the verdict; a mechanism whose claim is true is refuted with probability at most 1 - level.
    features : further ways to look at one output, each a function from an output to a number.
    last_bits : whether to look at the last bits of floats, which betray almost all noise that was made of floats.
    rng : None audits the path of real releases; a Generator repeats the same audit.

    >>> import numpy as np
    >>> from toolkit import warner
    >>> audit(warner(p="2/3"), rng=np.random.default_rng(1)).violated
    False
    >>> audit(lambda count: count + np.random.default_rng(0).laplace(), (0, 1), epsilon=1).violated  # the seed is reused
    True

    References: Z. Ding et al., Detecting violations of differential privacy (2018); B. Bichsel et al., DP-Sniper (2021).
    """
    pairs = named_pairs(neighbours) if neighbours is not None else pairs_for(mechanism)
    claim = _claim(mechanism, epsilon, delta)
    target = claimed(claim, _ZCDP_DELTA)
    share = check_level(level)
    run = Runner(mechanism, check_rng(rng), features)
    run.measure(value for pair in pairs.values() for value in pair)
    half = Half(whole(runs, "runs", least=4 * FEWEST) // 2, seconds / 2)
    candidates = _searched(run, pairs, half, target[1] if target else 0.0, last_bits=last_bits)
    tried = _confirmed(run, candidates, half, (1 - _FOR_DRAWS) * (1 - share), target or (math.inf, 0.0))
    exact = enumeration.enumerated(mechanism, pairs, target)
    misfit = enumeration.misfit(mechanism, pairs, check_rng(rng)) if exact else None
    violated, evidence = _judged(tried, exact, misfit, 1 - share, has_claim=target is not None)
    return Verdict(
        claim=claim,
        epsilon=max(trial.epsilon for trial in tried),
        delta=max(trial.delta for trial in tried),
        violated=violated,
        evidence=evidence,
        level=share,
        tried=tuple(tried),
        pairs=tuple(pairs),
        runs=run.runs,
        exact=exact.epsilon if exact else None,
        notes=(f"{run.runs:,} runs instead of {runs:,}: more would take longer than {seconds:g} s",) if run.runs < runs / 2 else (),
    )


def _claim(mechanism: Any, epsilon: Number | None, delta: Number) -> Loss | None:
    if epsilon is None:
        if delta != 0:
            refuse("`delta` must come with `epsilon`", delta, "a claim has both")
        return loss_of(mechanism)
    return Approx(epsilon, delta) if delta != 0 else Pure(epsilon)


def _searched(run: Runner, pairs: dict[str, Pair], half: Half, slack: float, *, last_bits: bool) -> list[Candidate]:
    """For the most promising pairs, in either direction, the events to confirm."""
    count, seconds = half.shared(2 * len(pairs))
    found: list[Candidate] = []
    for name, (a, b) in pairs.items():
        first, second = run(a, count, seconds), run(b, count, seconds)
        there, back = search(first, second, delta=slack, last_bits=last_bits)
        found += [(name, (a, b), there), (f"{name}, reversed", (b, a), back)]
    found.sort(key=lambda candidate: -candidate[2][0].promise)
    return found[:_CONFIRMED_PAIRS]


def _confirmed(run: Runner, candidates: list[Candidate], half: Half, error: float, target: tuple[float, float]) -> list[Trial]:
    """Fresh runs for each candidate; the error is shared evenly among all events and their two bounds."""
    count, seconds = half.shared(2 * len(candidates))
    tail = error / (2 * sum(len(events) for _, _, events in candidates))
    trials = []
    for name, (a, b), events in candidates:
        first, second = run(a, count, seconds), run(b, count, seconds)
        trials += [_trial(name, event, first, second, tail, target) for event in events]
    return trials


def _trial(pair: str, event: Event, first: Array, second: Array, tail: float, target: tuple[float, float]) -> Trial:
    counts = (event.count(first), len(first), event.count(second), len(second))
    epsilon, delta = target
    return Trial(
        pair,
        event.words,
        *counts,
        epsilon=epsilon_bound(*counts, delta=delta, tail=tail),
        delta=delta_bound(*counts, epsilon=epsilon, tail=tail),
        p_value=p_value(*counts, epsilon=epsilon, delta=delta),
    )


def _judged(
    tried: list[Trial], exact: enumeration.Exact | None, misfit: float | None, error: float, *, has_claim: bool
) -> tuple[bool, str]:
    """Whether the claim is refuted, and by what; nine tenths of the error are for the events, one for the draws."""
    if exact is not None and exact.violated:
        return True, "a proof: the law it tells breaks the claim, by exact enumeration"
    if misfit is not None and misfit <= _FOR_DRAWS * error:
        return True, "its draws do not follow the law that it tells"
    if not has_claim:
        return False, "a bound only, as nothing was claimed"
    best = min(trial.p_value for trial in tried) * len(tried)
    if best >= 1:
        return False, "nothing seen speaks against the claim"
    return best <= (1 - _FOR_DRAWS) * error, f"p-value of the claim {'below 1e-90' if best < 1e-90 else f'{best:.2g}'}"
