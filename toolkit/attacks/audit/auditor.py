"""Is it as private as it says? A lower confidence bound on epsilon and delta, for anything that can be run.

`audit(mechanism, neighbours)` runs the mechanism on pairs of neighbouring inputs, looks for events that are
much likelier on one than on the other, and confirms the best of them on fresh runs, which are taken to be
independent. A mechanism that tells its law is enumerated as well, exactly, and its draws are compared with
that law. An audit can refute a claim; it cannot prove one.
"""

import math
from collections.abc import Callable
from typing import Any

from toolkit.attacks.audit import enumeration
from toolkit.attacks.audit.bounds import claimed, delta_bound, epsilon_bound, p_value
from toolkit.attacks.audit.coding import Coding
from toolkit.attacks.audit.events import Event
from toolkit.attacks.audit.neighbors import Pair, named_pairs, pairs_for
from toolkit.attacks.audit.running import FEWEST, Runner, loss_of
from toolkit.attacks.audit.searching import Candidate, Search, distinct, identity
from toolkit.attacks.audit.verdict import Trial, Verdict
from toolkit.core.arrays import Array
from toolkit.core.checks import Number, refuse, whole
from toolkit.core.checks import level as check_level
from toolkit.core.loss import Approx, Loss, Pure
from toolkit.core.randomness import Rng, check_rng

_PACED = 4  # on so many inputs it is seen how long a run takes
_FOR_SECOND = 0.4  # the share of the confirming runs that goes to the second pair of neighbours, if there is one
_ZCDP_DELTA = 1e-3
_FOR_DRAWS = 0.1  # the share of the error that is left to the comparison of draws with a told law

Target = tuple[float, float]


def audit(
    mechanism: Any,
    neighbours: Any = None,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    runs: int = 200_000,
    seconds: float = 60.0,
    level: Number = 0.9999,
    features: dict[str, Callable[[Any], float]] | None = None,
    last_bits: bool = True,
    rng: Rng = None,
) -> Verdict:
    """Look for a violation of a privacy claim.

    Parameters
    ----------
    mechanism : something with `randomize` or `release`, or a function of the input (and of `rng`, if it has
    one). neighbours : a tuple of two inputs, a list of such, or a mapping with names; see
    `toolkit.attacks.audit.neighbors`. None: from
        the options, bounds or sensitivity that the mechanism declares.
    epsilon, delta : the claim; the mechanism's own `loss` if left out.
    runs : how often to run it in all: half of the runs to search, half to confirm.
    seconds : at most how long, at the pace of a few runs at the beginning; fewer runs are made where all
    would take longer, and
        a note says so. Else, what is found depends on no clock; with `math.inf` it never does.
    level : of the bounds and of the verdict; a mechanism whose claim is true is refuted with probability at
    most 1 - level. features : further ways to look at one output, each a function from an output to a number.
    last_bits : whether to look at the last bits of floats, which betray almost all noise that was made of
    floats. rng : None audits the path of real releases; a Generator repeats the same audit.

    >>> import numpy as np
    >>> from toolkit import warner
    >>> audit(warner(p="2/3"), rng=np.random.default_rng(1)).violated
    False
    >>> def count(value):
    ...     return value + np.random.default_rng(0).laplace()  # the seed is used again
    >>> audit(count, (0, 1), epsilon=1, runs=4000).violated
    True

    References: Z. Ding et al., Detecting violations of differential privacy (2018); B. Bichsel et al.,
    DP-Sniper (2021).
    """
    pairs = named_pairs(neighbours) if neighbours is not None else pairs_for(mechanism)
    claim = _claim(mechanism, epsilon, delta)
    target = claimed(claim, _ZCDP_DELTA)
    share = check_level(level)
    run = Runner(mechanism, check_rng(rng))
    affordable, notes = _affordable(run, pairs, whole(runs, "runs", least=4 * FEWEST), seconds)
    held = target or (math.inf, 0.0)
    coding, candidates = Search(run, pairs, held, features, last_bits)(affordable // 2)
    tried = _confirmed(run, coding, candidates, affordable - affordable // 2, (1 - _FOR_DRAWS) * (1 - share), held)
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
        notes=notes,
    )


def _claim(mechanism: Any, epsilon: Number | None, delta: Number) -> Loss | None:
    if epsilon is None:
        if delta != 0:
            refuse("`delta` must come with `epsilon`", delta, "a claim has both")
        return loss_of(mechanism)
    return Approx(epsilon, delta) if delta != 0 else Pure(epsilon)


def _affordable(run: Runner, pairs: dict[str, Pair], runs: int, seconds: float) -> tuple[int, tuple[str, ...]]:
    """How many runs there is time for at the pace of a few; settled before the others, so that none is left
    out for its time.
    """
    if seconds == math.inf:
        return runs, ()
    pace = run.pace(list(distinct(pairs.values()).values())[:_PACED], runs // 100)
    if pace * runs <= seconds:
        return runs, ()
    fewer = max(int(seconds / pace), 4 * FEWEST)
    return fewer, (
        (
            f"{fewer:,} runs instead of {runs:,}: at the pace of the first ones, more would take longer than "
            f"{seconds:g} s"
        ),
    )


def _confirmed(
    run: Runner, coding: Coding, candidates: list[Candidate], runs: int, error: float, target: Target
) -> list[Trial]:
    """Fresh runs on each pair of neighbours, for its events in both directions."""
    shares = [1.0] if len(candidates) == 1 else [1 - _FOR_SECOND, _FOR_SECOND]
    tables: dict[object, Array] = {}
    for candidate, share in zip(candidates, shares, strict=True):
        for key, value in distinct([candidate.pair]).items():
            if key not in tables:
                tables[key] = coding.table(run(value, max(int(share * runs / 2), FEWEST)))
    trials = []
    for name, event, (a, b), share in _shared(candidates):
        first, second = tables[identity(a)], tables[identity(b)]
        counts = (event.count(first), len(first), event.count(second), len(second))
        trials.append(_trial(name, event.words, counts, share, share * error, target))
    return trials


def _shared(candidates: list[Candidate]) -> list[tuple[str, Event, Pair, float]]:
    """All events with their parts of the error: the one that exceeds the claim most has half, the others
    share the rest evenly.
    """
    events = [(one.name, event, one.pair) for one in candidates for event in one.there]
    events += [(f"{one.name}, reversed", event, one.pair[::-1]) for one in candidates for event in one.back]
    first = max(range(len(events)), key=lambda i: events[i][1].excess)
    return [(*event, 0.5 if i == first else 0.5 / (len(events) - 1)) for i, event in enumerate(events)]


def _trial(
    pair: str, words: str, counts: tuple[int, int, int, int], share: float, error: float, target: Target
) -> Trial:
    epsilon, delta = target
    return Trial(
        pair,
        words,
        *counts,
        epsilon=epsilon_bound(*counts, delta=delta, error=error),
        delta=delta_bound(*counts, epsilon=epsilon, error=error),
        p_value=p_value(*counts, epsilon=epsilon, delta=delta),
        share=share,
    )


def _judged(
    tried: list[Trial],
    exact: enumeration.Exact | None,
    misfit: float | None,
    error: float,
    *,
    has_claim: bool,
) -> tuple[bool, str]:
    """Whether the claim is refuted, and by what; nine tenths of the error are for the events, one for the
    draws.
    """
    if exact is not None and exact.violated:
        return True, "a proof: the law it tells breaks the claim, by exact enumeration"
    if misfit is not None and misfit <= _FOR_DRAWS * error:
        return True, "its draws do not follow the law that it tells"
    if not has_claim:
        return False, "a bound only, as nothing was claimed"
    best = min(trial.p_value / trial.share for trial in tried)
    if best >= 1:
        return False, "nothing seen speaks against the claim"
    return best <= (1 - _FOR_DRAWS) * error, f"p-value of the claim {'below 1e-90' if best < 1e-90 else f'{best:.2g}'}"
