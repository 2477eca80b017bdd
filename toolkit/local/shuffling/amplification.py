"""Privacy amplification when nobody knows who sent which report.

**Shuffling may be claimed only if** a third party whom the analyst does not control mixes at least n reports, and
removes names, addresses, times and the order of arrival before the analyst sees the reports. If a server logs the time
or origin of a report, there is no amplification; claim the local epsilon. If the shuffler fails or colludes, only the
local epsilon holds, so every document should state both numbers.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.checks import Number, check_integer, check_positive, exact_fraction, explain_call, reject
from toolkit.core.loss import Approx
from toolkit.core.search import bisect
from toolkit.local.shuffling.bounds import Pair, blanket, log_delta, solve_epsilon
from toolkit.local.shuffling.tally import MAX_PEOPLE, Side, delta_bounds

# The worst composition of the others' answers, for shuffled yes/no reports.
#
# With n reports there are n compositions: 0 to n - 1 of the others have the answer in question. Removing people from a
# crowd never lowers the loss, because an observer of the smaller tally can draw the missing reports and add them. So if
# at least `first` and at most `last` of the others have the answer, delta is at most the delta of a crowd of `first`
# people with the answer and n - 1 - last people without it. A range of compositions needs no further work if this bound
# does not exceed the target; otherwise it is split, down to single compositions, for which delta is computed. So the
# result holds for every composition, and it is nearly attained by at least one.

ENUMERATION_LIMIT = 1000
"""The largest number of reports for which every composition is evaluated."""

HEADROOM = 5e-4
"""The relative margin above the worst composition for more reports, which keeps the number of ranges small."""

_MIN_HEADROOM = 1e-6
_MAX_EXCESS = 1e-6  # a bound on the relative amount by which `delta_bounds` exceeds delta
_N_INITIAL_COMPOSITIONS = 17  # the number of compositions that are evaluated first
_N_INITIAL_RANGES, _N_PARTS = 128, 4  # the number of initial ranges, and of parts into which a failing range is split


def worst_case_epsilon(
    yes_if_yes: Fraction, yes_if_no: Fraction, n: int, delta: float, local: float
) -> tuple[float, float]:
    """Return lower and upper bounds on the largest epsilon at `delta` over all compositions of the others' answers.

    `yes_if_yes` and `yes_if_no` are the probabilities of a yes report given either answer. `local` is the epsilon of
    one report, which bounds both results.
    """
    p, q = max(yes_if_yes, yes_if_no), min(yes_if_yes, yes_if_no)
    sides = [Side(p, q)]
    if p + q != 1:  # otherwise the second side equals the first
        sides.append(Side(1 - q, 1 - p))
    lower, epsilon = 0.0, 0.0
    for side in sides:
        lower, epsilon = _Search(side, min(n, MAX_PEOPLE) - 1, delta, local).bounds_over_all_compositions(
            lower, epsilon
        )
    return lower * (1 - _MIN_HEADROOM), epsilon


@dataclass(frozen=True)
class _Search:
    """The search for the composition of the others' answers with the largest epsilon."""

    side: Side
    n_others: int
    delta: float
    local: float

    def bounds_over_all_compositions(self, lower: float, epsilon: float) -> tuple[float, float]:
        """Raise both bounds until the upper bound holds for all compositions."""
        lower, epsilon = self._raise_bounds(
            np.unique(np.round(np.linspace(0, self.n_others, _N_INITIAL_COMPOSITIONS))), lower, epsilon
        )
        ranges = _split_ranges(
            np.zeros(1),
            np.full(1, float(self.n_others)),
            self.n_others + 1 if self.n_others < ENUMERATION_LIMIT else _N_INITIAL_RANGES,
        )
        while len(ranges[0]) and epsilon < self.local:
            first, last = ranges
            is_undecided = delta_bounds(self.side, first, self.n_others - last, epsilon, self.delta) > self.delta
            first, last = first[is_undecided], last[is_undecided]
            single_compositions = first[first == last]
            if len(single_compositions):
                lower, epsilon = self._raise_bounds(single_compositions, lower, epsilon)
            ranges = _split_ranges(first, last, _N_PARTS)
        return lower, epsilon

    def _raise_bounds(self, holders: Array, lower: float, epsilon: float) -> tuple[float, float]:
        """Raise both bounds as far as these compositions require."""

        def delta_at(candidate: float) -> float:
            return float(delta_bounds(self.side, holders, self.n_others - holders, candidate, self.delta).max())

        if delta_at(epsilon) <= self.delta:
            return lower, epsilon
        lower = max(lower, solve_epsilon(delta_at, self.delta * (1 + _MAX_EXCESS), self.local, self._initial_epsilon()))
        raised = max(lower, epsilon) * (1 + (_MIN_HEADROOM if self.n_others < ENUMERATION_LIMIT else HEADROOM))
        if delta_at(raised) > self.delta:  # delta is nearly flat at `raised`, so the margin was not enough
            raised = max(raised, solve_epsilon(delta_at, self.delta * (1 - _MAX_EXCESS), self.local, raised))
        return lower, min(raised, self.local)

    def _initial_epsilon(self) -> float:
        p, q = float(self.side.p), float(self.side.q)
        variance = (self.n_others + 1) * max(p * (1 - p), q * (1 - q))
        return 0.7 * (p - q) * math.sqrt(2 * math.log(1 / self.delta) / variance)


def _split_ranges(first: Array, last: Array, parts: int) -> tuple[Array, Array]:
    """Split ranges of whole numbers into `parts` of nearly equal length, or into single numbers."""
    indices = np.arange(parts + 1)
    edges = first[:, None] + np.floor((last - first + 1)[:, None] * indices / parts)
    start, stop = edges[:, :-1].ravel(), edges[:, 1:].ravel() - 1
    nonempty = start <= stop
    return start[nonempty], stop[nonempty]


CLAIM = (
    "claim it only if a shuffler outside the analyst's control removed names, addresses, times and order "
    "from all of these "
    "reports; otherwise claim the local epsilon"
)

_MAX_PAIRS = 6
_ROUGH, _CLOSE = 60, 400  # the number of summands for the search and for the lower bound
_TINY_DELTA = 1e-250
_HEADROOM, _NEAR = (1 + 1e-4, 4e-3)  # margins for epsilon and ln(delta): the first candidate is usually confirmed


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Shuffled(Approx):
    """The privacy loss of each respondent when reports are shuffled, with the assumptions behind it.

    `claim` states when this loss may be claimed.

    Parameters
    ----------
    epsilon : number
        The epsilon of a report that is mixed with the others.
    delta : number
        The probability with which the bound may fail.
    local : float
        The epsilon of a report alone.
    n : int
        The number of reports that are mixed.
    lower_bound : float
        A lower bound on the true epsilon.
    basis : str
        The method that is used to bound epsilon.

    Examples
    --------
    >>> from toolkit import warner
    >>> cost = shuffled(warner(epsilon=1.0), n=10_000, delta=1e-6)
    >>> round(cost.epsilon, 3), cost.local
    (0.036, 1.0)
    """

    local: float
    n: int
    lower_bound: float
    basis: str
    claim: str

    def __init__(self, epsilon: Number, delta: Number, *, local: float, n: int, lower_bound: float, basis: str) -> None:
        super().__init__(epsilon, delta)
        values = {"local": local, "n": n, "lower_bound": lower_bound, "basis": basis, "claim": CLAIM}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Approx) and (self.amount, self.slack) == (other.amount, other.slack)

    def __hash__(self) -> int:
        return hash((self.amount, self.slack))

    def __str__(self) -> str:
        return f"{super().__str__()} if shuffled among {self.n:,}, ε = {self.local:.3g} if not"


@explain_call(
    "shuffled(warner(epsilon=1.0), n=10_000, delta=1e-6)", delta="the probability with which the bound may fail"
)
def shuffled(reports: object, n: int, delta: Number) -> Shuffled:
    """Bound the privacy loss of a report from above when n reports are shuffled.

    For a yes/no design the bound is the worst over all compositions of the others' answers, usually to within 0.1 %.
    For more options, the privacy blanket is used if a report is the truth or drawn from a fixed distribution. For k-ary
    reports this bound is usually within 2 % at n = 1000 and 0.5 % at 10,000. For any other randomizer the clones bound
    is used, which depends on `epsilon` alone. The true epsilon is at least `.lower_bound`, which shows how tight the
    result is; for clones it is 0. The docstring of this module states when the result may be claimed.

    Parameters
    ----------
    reports : Design or other randomizer
        Any object with integer `weights` and `denominator`, or with a finite `epsilon`.
    n : int
        The number of reports that arrive and are mixed, including this one.
    delta : number
        The probability with which the bound may fail; well below 1/n.

    Returns
    -------
    Shuffled
        Epsilon and delta, with their assumptions.

    References
    ----------
    B. Balle et al., The privacy blanket of the shuffle model (2019); V. Feldman, A. McMillan and K. Talwar,
    Hiding among the clones (2021).

    Examples
    --------
    >>> from toolkit import warner
    >>> print(shuffled(warner(epsilon=1.0), n=10_000, delta=1e-6))
    ε = 0.0357, δ = 1e-06 if shuffled among 10,000, ε = 1 if not
    """
    if not hasattr(reports, "epsilon"):
        consequence = "give a design, which has the loss of a report before shuffling: warner(epsilon=1.0)"
        reject("`reports` must be a design", type(reports).__name__, consequence, TypeError)
    people = check_integer(n, "n")
    slack = exact_fraction(delta, "delta")  # not `probability`, which rounds small floats
    if not 0 <= slack <= 1:
        reject("`delta` must lie between 0 and 1", delta, "it is a probability")
    local = float(reports.epsilon)
    if not math.isfinite(local):
        reject("`reports` must have a finite epsilon", local, "a report that proves an answer proves it in any order")
    small = float(slack)
    if people == 1 or small < _TINY_DELTA or local == 0:
        return Shuffled(
            local, slack, local=local, n=people, lower_bound=local, basis="the local epsilon, as nothing is gained"
        )
    yes_no, pairs = _yes_probabilities(reports), _answer_pairs(reports)
    if yes_no:
        lower_bound, epsilon = worst_case_epsilon(*yes_no, people, small, local)
        basis = "the worst of all compositions of the others' answers"
    elif pairs:
        lower_bound, basis = max(_lower_bound(pair, people, small, local) for pair in pairs), "blanket"
        epsilon = max(_blanket_epsilon(pair, people, small, local) for pair in pairs)
    else:
        lower_bound, basis = 0.0, "clones"
        epsilon = _blanket_epsilon(Pair.any_randomizer(local), people, small, local)
    amount = min(epsilon, local)
    return Shuffled(amount, slack, local=local, n=people, lower_bound=min(lower_bound, amount), basis=basis)


def local_epsilon(epsilon: Number, n: int, delta: Number, *, options: int = 2) -> float:
    """Return the largest local epsilon, rounded down, whose k-ary reports cost at most `epsilon` after shuffling."""
    goal, k = float(check_positive(epsilon, "epsilon")), check_integer(options, "options", minimum=2)
    return largest_local_epsilon(lambda local: shuffled(_KAry(local, k), n, delta).epsilon, goal)


def largest_local_epsilon(
    cost: Callable[[float], float], target: float, *, max_local: float = 16.0, tolerance: float = 1e-4
) -> float:
    """Return the largest local epsilon up to `max_local`, rounded down, with a cost of at most `target`."""
    low, high = target, min(target * 2 + 1, max_local)
    while high < max_local and cost(high) <= target:
        low, high = high, min(high + 1.5, max_local)
    return float(bisect(lambda local: cost(local) <= target, high, low, rtol=tolerance)[1])


@dataclass(frozen=True)
class _KAry:
    """k-ary randomized response with any epsilon, as floats, for searches."""

    epsilon: float
    options: int

    @property
    def lie(self) -> Fraction:
        """The probability of each report other than the truth."""
        return Fraction(1 / (math.exp(self.epsilon) + self.options - 1))


def _yes_probabilities(reports: object) -> tuple[Fraction, Fraction] | None:
    """Return Pr(second report) given the second and given the first of two answers; None for other designs."""
    if isinstance(reports, _KAry):
        lie = reports.lie
        return (1 - lie, lie) if reports.options == 2 else None
    if not hasattr(reports, "weights") or not hasattr(reports, "denominator") or np.shape(reports.weights) != (2, 2):
        return None
    first, second = (Fraction(int(row[1]), int(reports.denominator)) for row in reports.weights)
    return second, first


def _answer_pairs(reports: object) -> tuple[Pair, ...]:
    """Return the distinct pairs of answers if reports are the truth or drawn from a fixed distribution, else ()."""
    if isinstance(reports, _KAry):
        return (
            Pair.forced(
                1 - reports.options * reports.lie, reports.lie, reports.lie, (reports.options - 2) * reports.lie
            ),
        )
    if not hasattr(reports, "weights") or not hasattr(reports, "denominator"):
        return ()
    table, total = np.asarray(reports.weights, dtype=np.int64), int(reports.denominator)
    least = table.min(axis=0)
    truth = total - int(least.sum())
    if table.shape[0] != table.shape[1] or (table != least + truth * np.eye(len(table), dtype=np.int64)).any():
        return ()
    counts = Counter(least.tolist())
    pairs = sorted((a, b) for a in counts for b in counts if a != b or counts[a] > 1)
    if len(pairs) > _MAX_PAIRS:
        return ()
    parts = [(Fraction(part, total) for part in (truth, a, b, total - truth - a - b)) for a, b in pairs]
    return tuple(Pair.forced(*part) for part in parts)


def _lower_bound(pair: Pair, n: int, delta: float, local: float) -> float:
    """Return a lower bound on epsilon, from the case in which all others have the same third answer."""
    return solve_epsilon(
        blanket(pair, n, delta, max_summands=_CLOSE, others_agree=True), delta, local, pair.rough_epsilon(n, delta)
    ) * (1 - 1e-5)


def _blanket_epsilon(pair: Pair, n: int, delta: float, local: float) -> float:
    """Solve for the epsilon at which the blanket's delta is `delta`, from above.

    The search uses few summands; its result is corrected and confirmed with all of them.
    """
    rough, confirm, goal = (
        blanket(pair, n, delta, max_summands=_ROUGH, others_agree=True),
        blanket(pair, n, delta),
        math.log(delta),
    )
    epsilon = solve_epsilon(rough, delta, local, pair.rough_epsilon(n, delta))
    if epsilon == 0 and confirm(0.0) <= delta:
        return 0.0
    epsilon = min(epsilon * _HEADROOM, local)
    nearby = epsilon * 1.001
    slope = min((log_delta(rough(nearby)) - log_delta(rough(epsilon))) / (nearby - epsilon), -1e-9) if epsilon else -1.0
    safe = local
    for _ in range(8):
        excess = log_delta(confirm(epsilon)) - goal
        if excess <= 0:
            safe = min(safe, epsilon)
            if excess > -_NEAR:
                break
        epsilon = min(epsilon - (excess + 2e-5) / slope, local)
        if not 0 < epsilon < safe:
            break
    return safe
