"""Exact answers where an output has finitely many values: epsilon and delta from the law itself, and whether
draws follow it.
"""

import math
from collections import Counter
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.attacks.audit.neighbors import Pair
from toolkit.attacks.audit.running import Law, law_of, protocol
from toolkit.core.digits import concise
from toolkit.core.inference.special import gammaincc
from toolkit.core.randomness import Rng
from toolkit.core.rounding import log_up

_DIGITS = Context(prec=60)
_ALMOST = Fraction(1, 10**40)  # what 60 digits of e**epsilon may leave
_DRAWS = 20_000
_ENOUGH = 10


@dataclass(frozen=True)
class Exact:
    """Epsilon over all pairs by enumeration (rounded up), and whether the claim fails for certain."""

    epsilon: float
    violated: bool

    __repr__ = concise


def exact_epsilon(first: Law, second: Law) -> float:
    """The largest |ln(p / q)| over all outputs, from exact fractions, rounded up; infinite where only one is
    zero.

    >>> exact_epsilon({"no": Fraction(2, 3), "yes": Fraction(1, 3)}, {"no": Fraction(1, 3), "yes": Fraction(2, 3)})
    0.6931471805599454
    """
    largest = Fraction(1)
    for output in first.keys() | second.keys():
        p, q = first.get(output, Fraction(0)), second.get(output, Fraction(0))
        if (p == 0) != (q == 0):
            return math.inf
        if p:
            largest = max(largest, p / q, q / p)
    return log_up(largest)


def exact_delta(first: Law, second: Law, epsilon: float) -> Fraction:
    """The sum over outputs of what p exceeds e**epsilon q by; e**epsilon to 60 digits.

    >>> float(exact_delta({0: Fraction(1, 2), 1: Fraction(1, 2)}, {0: Fraction(1)}, 1.0))
    0.5
    """
    if epsilon == math.inf:
        return Fraction(0)
    power = Fraction(_DIGITS.exp(Decimal(repr(float(epsilon)))))
    return sum(
        (max(p - power * second.get(output, Fraction(0)), Fraction(0)) for output, p in first.items()),
        Fraction(0),
    )


def enumerated(mechanism: Any, pairs: dict[str, Pair], target: tuple[float, float] | None) -> Exact | None:
    """Epsilon of all pairs whose laws the mechanism tells, held against the claim; None if it tells none."""
    laws = [(law_of(mechanism, a), law_of(mechanism, b)) for a, b in pairs.values()]
    known = [(a, b) for a, b in laws if a is not None and b is not None]
    if not known:
        return None
    epsilon = max(exact_epsilon(a, b) for a, b in known)
    violated = False
    if target is not None:
        worst = max(max(exact_delta(a, b, target[0]), exact_delta(b, a, target[0])) for a, b in known)
        violated = worst > Fraction(target[1]) + _ALMOST
    return Exact(epsilon, violated)


def misfit(mechanism: Any, pairs: dict[str, Pair], rng: Rng) -> float | None:
    """The smallest p-value, times their number, of Pearson's test that draws follow the law that is told."""
    run, many = protocol(mechanism)
    values = list(dict.fromkeys(value for pair in pairs.values() for value in pair))
    p_values = []
    for value in values:
        law = law_of(mechanism, value)
        if law is None:
            continue
        drawn = many([value] * _DRAWS, rng) if many else [run(value, rng) for _ in range(_DRAWS // 4)]
        p_values.append(_pearson(law, drawn.tolist() if isinstance(drawn, np.ndarray) else list(drawn)))
    return min(p_values) * len(p_values) if p_values else None


def _pearson(law: Law, drawn: list[Any]) -> float:
    """Pearson's chi-squared; outputs that are expected fewer than ten times count as one, with the rarest of
    the others.
    """
    counts = Counter(drawn)
    if any(law.get(output, 0) == 0 for output in counts):
        return 0.0
    pooled, seen, expected = [], 0, Fraction(0)
    for output in sorted(law, key=law.__getitem__):
        seen, expected = seen + counts[output], expected + len(drawn) * law[output]
        if expected >= _ENOUGH:
            pooled.append((seen, expected))
            seen, expected = 0, Fraction(0)
    statistic = sum(float((count - mean) ** 2 / mean) for count, mean in pooled)
    return float(gammaincc((len(pooled) - 1) / 2, statistic / 2)) if len(pooled) > 1 else 1.0
