"""`audit`: lower confidence bounds on the epsilon and delta of any mechanism that can be run.

`audit(mechanism, neighbors)` runs the mechanism on pairs of neighboring inputs, and looks for events that are much
likelier on one input than on the other. It confirms the best events on fresh runs, which are assumed to be independent.
If a mechanism declares its output distribution, the distribution is enumerated exactly, and outputs are compared with
it. An audit can refute a claim, but it cannot prove a claim.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from toolkit.audit.bounds import delta_bound, epsilon_and_delta, epsilon_bound, p_value
from toolkit.audit.coding import Coding
from toolkit.audit.events import Event, search
from toolkit.audit.running import MIN_RUNS, Law, Pair, Runner, law_of, loss_of, named_pairs, pairs_for, protocol
from toolkit.audit.verdict import Trial, Verdict
from toolkit.core.arrays import Array
from toolkit.core.checks import Number, check_integer, check_level, reject
from toolkit.core.inference.special import gammaincc
from toolkit.core.loss import Approx, Loss, Pure
from toolkit.core.randomness import Rng, check_rng
from toolkit.core.rounding import log_up

_DIGITS = Context(prec=60)
_ROUNDING_TOLERANCE = Fraction(1, 10**40)  # tolerance for the rounding of e**epsilon to 60 digits
_N_DRAWS = 20_000
_MIN_EXPECTED = 10


@dataclass(frozen=True)
class ExactAudit:
    """The largest exact epsilon over all pairs, rounded up, and whether it refutes the claim."""

    epsilon: float
    violated: bool


def exact_epsilon(first: Law, second: Law) -> float:
    """Compute the largest abs(ln(p / q)) over all outputs, from exact fractions, rounded up.

    Parameters
    ----------
    first : dict
        The exact probability of each output on one input.
    second : dict
        The exact probability of each output on its neighbor.

    Returns
    -------
    float
        Epsilon, which is infinite if some output has probability zero on only one of the inputs.

    Examples
    --------
    >>> exact_epsilon({"no": Fraction(2, 3), "yes": Fraction(1, 3)}, {"no": Fraction(1, 3), "yes": Fraction(2, 3)})
    0.6931471805599454
    """
    largest = Fraction(1)
    for output in first.keys() | second.keys():
        p, q = Fraction(first.get(output, 0)), Fraction(second.get(output, 0))
        if (p == 0) != (q == 0):
            return math.inf
        if p:
            largest = max(largest, p / q, q / p)
    return log_up(largest)


def exact_delta(first: Law, second: Law, epsilon: float) -> Fraction:
    """Compute delta: the maximum over events of Pr[event] minus e**epsilon times the probability on the neighbor.

    Parameters
    ----------
    first : dict
        The exact probability of each output on one input.
    second : dict
        The exact probability of each output on its neighbor.
    epsilon : float
        The claimed epsilon; e**epsilon is computed to 60 digits.

    Returns
    -------
    Fraction
        Delta, the maximum over both directions.

    Examples
    --------
    >>> float(exact_delta({0: Fraction(1)}, {0: Fraction(1, 2), 1: Fraction(1, 2)}, 1.0))
    0.5
    """
    if epsilon == math.inf:
        return Fraction(0)
    power = Fraction(_DIGITS.exp(Decimal(repr(float(epsilon)))))
    return max(
        sum((max(Fraction(p) - power * Fraction(other.get(x, 0)), Fraction(0)) for x, p in law.items()), Fraction(0))
        for law, other in ((first, second), (second, first))
    )


def enumerate_laws(mechanism: object, pairs: dict[str, Pair], target: tuple[float, float] | None) -> ExactAudit | None:
    """Compare the exact epsilon of all pairs with the claim; return None if no output distribution is declared."""
    laws = [(law_of(mechanism, a), law_of(mechanism, b)) for a, b in pairs.values()]
    declared = [(a, b) for a, b in laws if a is not None and b is not None]
    if not declared:
        return None
    epsilon = max(exact_epsilon(a, b) for a, b in declared)
    violated = False
    if target is not None:
        worst = max(exact_delta(a, b, target[0]) for a, b in declared)
        violated = worst > Fraction(target[1]) + _ROUNDING_TOLERANCE
    return ExactAudit(epsilon, violated)


def misfit_p_value(mechanism: object, pairs: dict[str, Pair], rng: Rng) -> float | None:
    """Return the Bonferroni-corrected p-value of Pearson's tests that outputs follow the declared distribution."""
    run, run_many = protocol(mechanism)
    values = list(dict.fromkeys(value for pair in pairs.values() for value in pair))
    p_values = []
    for value in values:
        law = law_of(mechanism, value)
        if law is None:
            continue
        outputs = run_many([value] * _N_DRAWS, rng) if run_many else [run(value, rng) for _ in range(_N_DRAWS // 4)]
        p_values.append(_pearson(law, outputs.tolist() if isinstance(outputs, np.ndarray) else list(outputs)))
    return min(p_values) * len(p_values) if p_values else None


def _pearson(law: Law, outputs: list[Any]) -> float:
    """Return the p-value of Pearson's chi-squared test; outputs with an expected count below ten are pooled."""
    counts = Counter(outputs)
    if any(law.get(output, 0) == 0 for output in counts):
        return 0.0
    pooled, observed, expected = [], 0, Fraction(0)
    for output in sorted(law, key=law.__getitem__):
        observed, expected = observed + counts[output], expected + len(outputs) * law[output]
        if expected >= _MIN_EXPECTED:
            pooled.append((observed, expected))
            observed, expected = 0, Fraction(0)
    statistic = sum(float((count - mean) ** 2 / mean) for count, mean in pooled)
    return float(gammaincc((len(pooled) - 1) / 2, statistic / 2)) if len(pooled) > 1 else 1.0


_MAX_FINALISTS = 3  # the number of pairs that half of the runs select for examination with the other half
_MAX_CONFIRMED = 2

Outputs = dict[object, list[Any]]


@dataclass(frozen=True)
class Candidate:
    """Two neighbors, and the events to confirm: some are likelier on the first and some on the second."""

    name: str
    pair: Pair
    forward: list[Event]
    back: list[Event]

    def best_value(self, measure: str) -> float:
        return max(float(getattr(event, measure)) for event in (*self.forward, *self.back))


@dataclass(frozen=True)
class Search:
    """A search for events: the neighbors, the claim and the features."""

    run: Runner
    pairs: dict[str, Pair]
    target: tuple[float, float]
    features: dict[str, Callable[[Any], float]] | None = None
    last_bits: bool = True

    def __call__(self, runs: int) -> tuple[Coding, list[Candidate]]:
        """Return the coding of outputs and the one or two best pairs of neighbors, best first."""
        if len(self.pairs) <= _MAX_FINALISTS:
            coding, candidates = self._search(self.pairs, self.collect_outputs(self.pairs.values(), runs))
            return coding, candidates[:_MAX_CONFIRMED]
        outputs = self.collect_outputs(self.pairs.values(), runs // 2)
        finalists = {
            candidate.name: candidate.pair for candidate in self._search(self.pairs, outputs)[1][:_MAX_FINALISTS]
        }
        more = self.collect_outputs(finalists.values(), runs - runs // 2)
        coding, candidates = self._search(finalists, {key: outputs[key] + further for key, further in more.items()})
        return coding, candidates[:_MAX_CONFIRMED]

    def collect_outputs(self, pairs: Iterable[Pair], runs: int) -> Outputs:
        """Return the outputs for each input, from `runs` runs in total; pairs that share an input share its outputs."""
        inputs = distinct_inputs(pairs)
        return {key: self.run(value, max(runs // len(inputs), MIN_RUNS)) for key, value in inputs.items()}

    def _search(self, pairs: dict[str, Pair], outputs: Outputs) -> tuple[Coding, list[Candidate]]:
        coding = Coding.of(list(chain.from_iterable(outputs.values())), self.features)
        tables = {key: coding.table(rows) for key, rows in outputs.items()}
        candidates = []
        for name, (a, b) in pairs.items():
            first, second = tables[input_key(a)], tables[input_key(b)]
            events = search(first, second, coding.names, target=self.target, last_bits=self.last_bits)
            candidates.append(Candidate(name, (a, b), *events))
        return coding, _rank_candidates(candidates)


def _rank_candidates(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Interleave the rankings by excess and by promise, so that promising pairs are tried if none exceeds the claim."""
    orders = [
        sorted(candidates, key=lambda candidate: -candidate.best_value(measure)) for measure in ("excess", "promise")
    ]
    return list({candidate.name: candidate for rank in zip(*orders, strict=True) for candidate in rank}.values())


def distinct_inputs(pairs: Iterable[Pair]) -> dict[object, Any]:
    """Return the distinct inputs of all pairs, by key."""
    return {input_key(value): value for value in chain.from_iterable(pairs)}


def input_key(value: object) -> object:
    """Return a key for equal inputs: the repr of a number or string, the bytes of an array, otherwise the id."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return value.dtype.str, value.shape, value.tobytes()
    has_text = value is None or isinstance(value, str | int | float | np.generic)
    return (type(value), repr(value)) if has_text else id(value)


_TIMED_INPUTS = 4
_SECOND_PAIR_SHARE = 0.4  # the share of the confirmation runs that the second pair of neighbors gets, if any
_ZCDP_DELTA = 1e-3
_MISFIT_ERROR_SHARE = 0.1  # the share of the error probability for the comparison with a declared distribution

Target = tuple[float, float]


def audit(
    mechanism: object,
    neighbors: object = None,
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
    mechanism : object
        An object with `randomize` or `release`, or a function of the input (and of `rng`, if it has this parameter).
    neighbors : tuple or list or dict, optional
        A tuple of two inputs, a list of such tuples, or a mapping from names to tuples; see `toolkit.audit.running`. By
        default, neighbors follow from the options, bounds or sensitivity that the mechanism declares.
    epsilon : Number, optional
        The claimed epsilon; the default is the `loss` of the mechanism.
    delta : Number
        The claimed delta, which is used together with `epsilon`.
    runs : int
        The total number of runs: half for the search, half for the confirmation.
    seconds : float
        The time limit. If the first few runs show that it would be exceeded, fewer runs are made, and a note says so.
        The result depends on the clock only in this case, and never with `math.inf`.
    level : Number
        The confidence of the bounds and of the verdict: a true claim is refuted with probability at most 1 - level.
    features : dict, optional
        Further features of an output by name, each a function from an output to a number.
    last_bits : bool
        Whether to examine the last bits of floats, which expose almost every mechanism that generates its noise in
        floating point.
    rng : Generator, optional
        A generator, which makes the audit reproducible; the default audits the randomness of real releases.

    Returns
    -------
    Verdict
        Whether the claim is refuted, and lower bounds on epsilon and delta.

    References
    ----------
    Z. Ding et al., Detecting violations of differential privacy (2018); B. Bichsel et al., DP-Sniper (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from toolkit import warner
    >>> audit(warner(p="2/3"), rng=np.random.default_rng(1)).violated
    False
    >>> def count(value):
    ...     return value + np.random.default_rng(0).laplace()  # the seed is used again
    >>> audit(count, (0, 1), epsilon=1, runs=4000).violated
    True
    """
    pairs = named_pairs(neighbors) if neighbors is not None else pairs_for(mechanism)
    claim = _claim(mechanism, epsilon, delta)
    target = epsilon_and_delta(claim, _ZCDP_DELTA)
    confidence = check_level(level)
    run = Runner(mechanism, check_rng(rng))
    affordable, notes = _affordable_runs(run, pairs, check_integer(runs, "runs", minimum=4 * MIN_RUNS), seconds)
    search_target = target or (math.inf, 0.0)
    coding, candidates = Search(run, pairs, search_target, features, last_bits)(affordable // 2)
    error = (1 - _MISFIT_ERROR_SHARE) * (1 - confidence)
    trials = _confirm(run, coding, candidates, affordable - affordable // 2, error, search_target)
    exact = enumerate_laws(mechanism, pairs, target)
    misfit = misfit_p_value(mechanism, pairs, check_rng(rng)) if exact else None
    violated, evidence = _judge(trials, exact, misfit, 1 - confidence, has_claim=target is not None)
    return Verdict(
        claim=claim,
        epsilon=max(trial.epsilon for trial in trials),
        delta=max(trial.delta for trial in trials),
        violated=violated,
        evidence=evidence,
        level=confidence,
        tried=tuple(trials),
        pairs=tuple(pairs),
        runs=run.runs,
        exact=exact.epsilon if exact else None,
        notes=notes,
    )


def _claim(mechanism: object, epsilon: Number | None, delta: Number) -> Loss | None:
    if epsilon is None:
        if delta != 0:
            reject("`delta` must come with `epsilon`", delta, "a claim has both")
        return loss_of(mechanism)
    return Approx(epsilon, delta) if delta != 0 else Pure(epsilon)


def _affordable_runs(run: Runner, pairs: dict[str, Pair], runs: int, seconds: float) -> tuple[int, tuple[str, ...]]:
    """Estimate from a few runs how many runs fit into the time limit; return this number and notes."""
    if seconds == math.inf:
        return runs, ()
    pace = run.seconds_per_run(list(distinct_inputs(pairs.values()).values())[:_TIMED_INPUTS], runs // 100)
    if pace * runs <= seconds:
        return runs, ()
    fewer = max(int(seconds / pace), 4 * MIN_RUNS)
    note = (
        f"{fewer:,} runs instead of {runs:,}: at the speed of the first runs, more would take longer than {seconds:g} s"
    )
    return fewer, (note,)


def _confirm(
    run: Runner, coding: Coding, candidates: list[Candidate], runs: int, error: float, target: Target
) -> list[Trial]:
    """Confirm the events of each pair of neighbors, in both directions, on fresh runs."""
    shares = [1.0] if len(candidates) == 1 else [1 - _SECOND_PAIR_SHARE, _SECOND_PAIR_SHARE]
    tables: dict[object, Array] = {}
    for candidate, share in zip(candidates, shares, strict=True):
        for key, value in distinct_inputs([candidate.pair]).items():
            if key not in tables:
                tables[key] = coding.table(run(value, max(int(share * runs / 2), MIN_RUNS)))
    trials = []
    for name, event, (a, b), share in _split_error(candidates):
        first, second = tables[input_key(a)], tables[input_key(b)]
        counts = (event.count(first), len(first), event.count(second), len(second))
        trials.append(_trial(name, event.description, counts, share, share * error, target))
    return trials


def _split_error(candidates: list[Candidate]) -> list[tuple[str, Event, Pair, float]]:
    """Split the error probability among all events: half for the event with the largest excess, and the rest evenly."""
    events = [(candidate.name, event, candidate.pair) for candidate in candidates for event in candidate.forward]
    events += [
        (f"{candidate.name}, reversed", event, candidate.pair[::-1])
        for candidate in candidates
        for event in candidate.back
    ]
    first = max(range(len(events)), key=lambda i: events[i][1].excess)
    return [(*event, 0.5 if i == first else 0.5 / (len(events) - 1)) for i, event in enumerate(events)]


def _trial(
    pair: str, event: str, counts: tuple[int, int, int, int], share: float, error: float, target: Target
) -> Trial:
    epsilon, delta = target
    return Trial(
        pair,
        event,
        *counts,
        epsilon=epsilon_bound(*counts, delta=delta, error=error),
        delta=delta_bound(*counts, epsilon=epsilon, error=error),
        p_value=p_value(*counts, epsilon=epsilon, delta=delta),
        share=share,
    )


def _judge(
    trials: list[Trial], exact: ExactAudit | None, misfit: float | None, error: float, *, has_claim: bool
) -> tuple[bool, str]:
    """Decide whether the claim is refuted, and why; events get 90 % of the error probability, outputs 10 %."""
    if exact is not None and exact.violated:
        return True, "a proof: the declared distribution violates the claim, by exact enumeration"
    if misfit is not None and misfit <= _MISFIT_ERROR_SHARE * error:
        return True, "the outputs do not follow the declared distribution"
    if not has_claim:
        return False, "only a bound, because nothing was claimed"
    best = min(trial.p_value / trial.share for trial in trials)
    if best >= 1:
        return False, "no evidence against the claim"
    is_refuted = best <= (1 - _MISFIT_ERROR_SHARE) * error
    return is_refuted, f"p-value of the claim {'below 1e-90' if best < 1e-90 else f'{best:.2g}'}"
