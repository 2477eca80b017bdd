"""Amplification: what is gained when nobody knows which report is whose, or who was in the sample at all.

**Shuffling may be claimed only if** somebody whom the analyst does not control removes names, addresses, times and the order
of arrival from the reports before the analyst sees them, and mixes as many as were counted here. A server that logs when
or from where a report came has no amplification: claim the local epsilon. If the shuffler fails or colludes, the local
epsilon is all that is left, so both numbers belong in every report.

**Sampling may be claimed only if** nobody but the sampler learns who is in the sample.
"""

import functools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.core.checks import Number, exact, positive, probability, refuse, whole
from toolkit.core.crowd import EVERY_COMPOSITION, Delta, Pair, alike, blanket, coarse, every_composition, fewer
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.core.rounding import exp_below, log_up

CLAIM = (
    "claim it only if a shuffler outside the analyst's control removed names, addresses, times and order from all of these "
    "reports; otherwise claim the local epsilon"
)

_MOST_PAIRS = 6
_ROUGH, _CLOSE = 60, 400  # summands: to search with, and to tell the lower end
_TINY_DELTA = 1e-250
_HEADROOM, _NEAR = 1 + 1e-4, 4e-3  # of epsilon and of ln(delta): a first look that is confirmed saves a second


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Shuffled(Approx):
    """What shuffled reports cost each respondent: an `Approx` that remembers what it rests on.

    `local` is the epsilon of a report alone, `n` how many are mixed, `least` a number that the true epsilon is not below,
    `basis` how epsilon was bounded, `claim` when it may be claimed.
    """

    local: float
    n: int
    least: float
    basis: str
    claim: str

    def __init__(self, epsilon: Number, delta: Number, *, local: float, n: int, least: float, basis: str) -> None:
        super().__init__(epsilon, delta)
        for name, value in (("local", local), ("n", n), ("least", least), ("basis", basis), ("claim", CLAIM)):
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Approx) and (self.amount, self.slack) == (other.amount, other.slack)

    def __hash__(self) -> int:
        return hash((self.amount, self.slack))

    def __str__(self) -> str:
        return f"{super().__str__()} if shuffled among {self.n:,}, ε = {self.local:.3g} if not"


def shuffled(reports: Any, n: int, delta: Number, *, conjecture: bool = False) -> Shuffled:
    """What a report costs its sender when n reports are shuffled: (epsilon, delta), never below the truth.

    Warner's design (and every symmetric yes/no design): up to 300 people the exact value, the worst over all compositions of
    the others' answers. Beyond, and for more options or unequal forced answers, the privacy blanket, which is proved;
    `.least` is the value when all others answer alike, which the truth is not below. For k options they differ by 2 % at
    n = 1000 and 0.5 % at 10,000, for Warner's design by some 20 %. Anything else, by its `epsilon` alone: clones.

    Parameters
    ----------
    reports : a design (anything with integer `weights` and `denominator`), or anything else with a finite `epsilon`.
    n : how many reports are mixed, this one included: those that arrive, not those invited.
    delta : probability that the bound may fail; well below 1/n.
    conjecture : for symmetric yes/no designs and more than 300 people, the value when all others answer alike, for a few
        people fewer than n. That no composition is worse was checked by enumeration (of all up to n = 640, of a grid up
        to 2000) and is not proved: for comparison, not for a claim.

    See the head of this module for when the result may be claimed.

    >>> from toolkit import warner
    >>> print(shuffled(warner(epsilon=1.0), n=10_000, delta=1e-6))
    ε = 0.0432, δ = 1e-06 if shuffled among 10,000, ε = 1 if not

    References: B. Balle et al., The privacy blanket of the shuffle model (2019); V. Feldman, A. McMillan and K. Talwar,
    Hiding among the clones (2021).
    """
    people, slack = whole(n, "n"), probability(delta, "delta")
    local = float(reports.epsilon)
    if not math.isfinite(local):
        refuse("`reports` must have a finite epsilon", local, "a report that proves an answer proves it in any order")
    small = float(slack)
    if people == 1 or small < _TINY_DELTA or local == 0:
        return Shuffled(local, slack, local=local, n=people, least=local, basis="the local epsilon, as nothing is gained")
    ways = [_by_blanket("clones", Pair.any_randomizer(local), people, small)]
    least, pairs = 0.0, _pairs(reports)
    if pairs:
        ways = [_by_blanket("blanket", pair, people, small) for pair in pairs]
        least = max(_lower_end(pair, people, small, local) for pair in pairs)
    keep = _symmetric(pairs)
    if keep and (people <= EVERY_COMPOSITION or (conjecture and not coarse(keep, people))):
        ways = [_of_warner(pairs[0], keep, people)]
    epsilon = max(_solved(way, small, local, people, pairs) for way in ways)
    amount, basis = min(epsilon, local), ways[0].name
    if keep and EVERY_COMPOSITION < people <= 2 * EVERY_COMPOSITION:  # more people never hide worse, and fewer are exact
        fewer_people = shuffled(reports, EVERY_COMPOSITION, delta)
        amount, basis = min((amount, basis), (fewer_people.epsilon, f"{fewer_people.basis}, of {EVERY_COMPOSITION}"))
    return Shuffled(amount, slack, local=local, n=people, least=min(least, amount), basis=basis)


def local_epsilon(epsilon: Number, n: int, delta: Number, *, options: int = 2, conjecture: bool = False) -> float:
    """The largest local epsilon, rounded down, whose k-ary reports cost at most `epsilon` when n of them are shuffled.

    >>> round(local_epsilon(1.0, 10_000, 1e-6, conjecture=True), 2)
    5.68
    """
    wanted, k = float(positive(epsilon, "epsilon")), whole(options, "options", least=2)
    return largest_local(lambda local: shuffled(_KAry(local, k), n, delta, conjecture=conjecture).epsilon, wanted)


def largest_local(cost: Callable[[float], float], wanted: float, *, most: float = 16.0, tolerance: float = 1e-4) -> float:
    """The largest local epsilon up to `most`, rounded down, with cost(local) <= wanted; costs grow and are at most local."""
    low, high = wanted, min(wanted * 2 + 1, most)
    while high < most and cost(high) <= wanted:
        low, high = high, min(high + 1.5, most)
    while high - low > tolerance * low:
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) <= wanted else (low, middle)
    return low


def clones_2021(local: float, n: int, delta: float) -> float:
    """The closed form of Feldman, McMillan and Talwar (2021), for comparison: valid for every randomizer; NaN where it is not.

    >>> round(clones_2021(1.0, 10_000, 1e-6), 3)
    0.233
    """
    if local > math.log(n / (16 * math.log(4 / delta))):
        return math.nan
    growth = 8 * math.sqrt(math.exp(local) * math.log(4 / delta) / n) + 8 * math.exp(local) / n
    return math.log1p(-math.expm1(-local) / (1 + math.exp(-local - math.log1p(growth))) * growth)


def clones_2023(local: float, n: int, delta: float) -> float:
    """The closed form of Feldman, McMillan and Talwar (2023), for comparison; its erratum restricts it, Warner's design is covered.

    >>> round(clones_2023(1.0, 10_000, 1e-6), 3)
    0.18
    """
    if n / (8 * math.log(2 / delta)) <= 1 or local > math.log(n / (8 * math.log(2 / delta)) - 1):
        return math.nan
    growth = 4 * math.sqrt(2 * math.log(4 / delta) / ((math.exp(local) + 1) * n)) + 4 / n
    return math.log1p(math.expm1(local) * growth)


def subsampled(loss: Loss, rate: Number) -> Pure | Approx:
    """What a release from a secret random sample costs: ln(1 + rate (e**epsilon - 1)), and rate * delta; rounded up.

    Either everybody is in the sample with probability `rate`, independently, and neighbours are "add_remove"; or the sample
    is a fixed number of a known population, `rate` is the quotient, and neighbours are "replace".
    See the head of this module for when the result may be claimed.

    >>> subsampled(Pure(1.0), rate=0.01)
    Pure(0.01703686...)

    References: B. Balle, G. Barthe and M. Gaboardi, Privacy amplification by subsampling (2018).
    """
    share = exact(rate, "rate")
    if not 0 <= share <= 1:
        refuse("`rate` must lie between 0 and 1", rate, "it is the chance to be in the sample")
    if isinstance(loss, Zcdp) or not isinstance(loss, Pure | Approx):
        refuse("`loss` must be Pure or Approx", type(loss).__name__, "convert a Zcdp first with .to_approx(delta)", TypeError)
    epsilon = math.inf if share else 0.0
    if loss.amount != math.inf and loss.amount < 700:
        above = 1 / exp_below(-Fraction(loss.amount))
        epsilon = log_up(1 + share * (above - 1)) if above > 1 else 0.0
    amount = min(epsilon, loss.epsilon)
    return Pure(amount) if isinstance(loss, Pure) else Approx(amount, share * loss.slack)


@dataclass(frozen=True)
class _Way:
    """One way to bound delta: its name, the function, and a quick approximation of it to search with."""

    name: str
    fine: Callable[[], Delta]
    rough: Callable[[], Delta]


@dataclass(frozen=True)
class _KAry:
    """k-ary randomized response of a given epsilon, as floats: for searches."""

    epsilon: float
    options: int


def _pairs(reports: Any) -> tuple[Pair, ...]:
    """The different pairs of answers of a design in which reports are true or drawn from a fixed law; else none."""
    if isinstance(reports, _KAry):
        lie = Fraction(1 / (math.exp(reports.epsilon) + reports.options - 1))
        return (Pair.forced(1 - reports.options * lie, lie, lie, (reports.options - 2) * lie),)
    if not hasattr(reports, "weights") or not hasattr(reports, "denominator"):
        return ()
    table, total = np.asarray(reports.weights, dtype=np.int64), int(reports.denominator)
    if len(table) == 2 and table.shape == (2, 2) and table[0, 0] < table[1, 0]:
        table = table[:, ::-1]  # reports that lean to the opposite are told apart as well
    least = table.min(axis=0)
    truth = total - int(least.sum())
    if table.shape[0] != table.shape[1] or least.min() == 0 or (table != least + truth * np.eye(len(table), dtype=np.int64)).any():
        return ()
    counts = Counter(least.tolist())
    found = sorted((a, b) for a in counts for b in counts if a != b or counts[a] > 1)
    if len(found) > _MOST_PAIRS:
        return ()
    parts = [(Fraction(part, total) for part in (truth, a, b, total - truth - a - b)) for a, b in found]
    return tuple(Pair.forced(*part) for part in parts)


def _symmetric(pairs: tuple[Pair, ...]) -> float | None:
    """The probability of a true report where the design is Warner's."""
    return pairs[0].own if len(pairs) == 1 and not pairs[0].rest else None


def _of_warner(pair: Pair, keep: float, n: int) -> _Way:
    if n <= EVERY_COMPOSITION:
        everything = functools.partial(every_composition, keep, n)
        return _Way("exact: the worst of all compositions of the others' answers", everything, everything)
    all_alike = functools.partial(alike, pair, fewer(keep, n))
    return _Way("exact, when all others answer alike", all_alike, all_alike)


def _by_blanket(name: str, pair: Pair, n: int, delta: float) -> _Way:
    bound = functools.partial(blanket, pair, n, delta)
    return _Way(name, bound, functools.partial(bound, most=_ROUGH, third=True))


def _lower_end(pair: Pair, n: int, delta: float, local: float) -> float:
    """An epsilon that the true one is not below: all others hold one third answer or, of two, the same."""
    true = blanket(pair, n, delta, most=_CLOSE, third=True) if pair.rest else alike(pair, n)
    return _root(true, delta, local, pair.spread(n)) * (1 - 1e-5)


def _solved(way: _Way, delta: float, local: float, n: int, pairs: tuple[Pair, ...]) -> float:
    """The epsilon at which delta is met, from above: looked for with few summands, then mended and confirmed with all."""
    pair = pairs[0] if pairs else Pair.any_randomizer(local)
    rough, confirm, goal = way.rough(), way.fine(), math.log(delta)
    epsilon = _root(rough, delta, local, pair.spread(n))
    if epsilon == 0 and confirm(0.0) <= delta:
        return 0.0
    epsilon = min(epsilon * _HEADROOM, local)
    nearby = epsilon * 1.001
    slope = min((_log(rough(nearby)) - _log(rough(epsilon))) / (nearby - epsilon), -1e-9) if epsilon else -1.0
    safe = local
    for _ in range(8):
        height = _log(confirm(epsilon)) - goal
        if height <= 0:
            safe = min(safe, epsilon)
            if height > -_NEAR:
                break
        epsilon = min(epsilon - (height + 2e-5) / slope, local) if height > 0 else epsilon - (height + 2e-5) / slope
        if not 0 < epsilon < safe:
            break
    return safe


def _root(at: Delta, delta: float, local: float, spread: float) -> float:
    """Where a falling function of epsilon meets delta: secants of its logarithm, kept between bounds."""
    if at(0.0) <= delta:
        return 0.0
    goal, low, high = math.log(delta), 0.0, local
    before = min(local / 2, spread * math.sqrt(2 * math.log(1 / delta)) * 0.7 if delta < 1 else local / 2)
    now, value = before * 1.1, _log(at(before)) - goal
    for _ in range(60):
        height = _log(at(now)) - goal
        low, high = (now, high) if height > 0 else (low, now)
        if abs(height) < 1e-9 or high - low < 1e-13 * high:
            break
        slope = (height - value) / (now - before)
        before, value = now, height
        now = now - height / slope if slope < 0 and math.isfinite(slope) else (low + high) / 2
        if not low < now < high:
            now = (low + high) / 2
    return now


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -1e4
