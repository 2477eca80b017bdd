"""Composition: the total loss of several releases.

Several releases of the same person's data cost more privacy than a single release. Every rule below gives a valid upper
bound, rounded up; the rules differ in how tight the bound is.
"""

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, TypeAlias, cast

from toolkit.core.checks import Number, check_choice, check_neighbors, exact_fraction, explain_call, reject
from toolkit.core.extras import extra
from toolkit.core.loss import Amount, Approx, Loss, Pure, Zcdp
from toolkit.core.rounding import exp_below, float_up, log_up, sum_up, to_decimal
from toolkit.core.sampling import floor_log2

# The exact cost of many pure losses: no analysis that uses only their epsilons can improve on it.
#
# The worst mechanism with loss epsilon is a coin that shows the truth with odds e**epsilon. Only the number of coins
# that show the truth matters, so the worst k-fold mechanism is a binomial distribution and its mirror image. The
# smallest epsilon at a given delta is a maximum over tails of the binomial distribution. These are finite sums,
# rounded here so that the loss is never understated (Kairouz, Oh and Viswanath 2015). For unequal losses see Murtagh
# and Vadhan (2016); if they have too many different sums to enumerate, the losses are rounded up to a grid.

_UP = Context(prec=60, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
_DOWN = Context(prec=60, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
# The largest number of multiplications; this many take a second or two.
_WORK_LIMIT = 1_200_000
# A grid of fewer points is too coarse to be useful.
_FEWEST_POINTS = 1000
# A larger epsilon protects nobody.
_LARGEST = 100_000

Law: TypeAlias = dict[int, tuple[Decimal, Decimal]]
"""A privacy loss in whole units, with its probabilities under one truth (rounded up) and the other (rounded down)."""


def coarsen_if_needed(epsilon_counts: Mapping[Fraction, int]) -> Mapping[Fraction, int] | None:
    """Round the losses {epsilon: count} up to a grid if there are too many different sums; return None on failure."""
    if not epsilon_counts or max(epsilon_counts) > _LARGEST:
        return None
    if _least_work(epsilon_counts) <= _WORK_LIMIT and _work(epsilon_counts) <= _WORK_LIMIT:
        return epsilon_counts
    points = _WORK_LIMIT // sum(times + 1 for times in epsilon_counts.values())
    if points < _FEWEST_POINTS:
        return None
    grain = 4 * sum_up(epsilon * times for epsilon, times in epsilon_counts.items()) / points
    coarse: Counter[Fraction] = Counter()
    for epsilon, times in epsilon_counts.items():
        coarse[math.ceil(epsilon / grain) * grain] += times
    return coarse if _work(coarse) <= _WORK_LIMIT else None


def optimal_epsilon(epsilon_counts: Mapping[Fraction, int], delta: Fraction) -> Fraction:
    """Return the smallest total epsilon at `delta`, rounded up to a float, for losses from `coarsen_if_needed`."""
    law = _composed(epsilon_counts)
    upper, lower, ratio = Decimal(0), Decimal(0), Decimal(1)
    spare = to_decimal(delta, _DOWN)
    for loss in sorted(law, reverse=True):  # the worst events are upper tails of the loss
        upper, lower = _UP.add(upper, law[loss][0]), _DOWN.add(lower, law[loss][1])
        ratio = max(ratio, _UP.divide(_UP.subtract(upper, spare), lower))
    epsilon = log_up(Fraction(ratio))
    while _excess(law, epsilon) > spare:  # the logarithm above may be too small in the last digit
        epsilon = math.nextafter(epsilon, math.inf)
    return Fraction(repr(epsilon))


def _excess(law: Law, epsilon: float) -> Decimal:
    """Return delta at epsilon, rounded up: the maximum over events of P - e**epsilon * Q."""
    factor = to_decimal(exp_below(Fraction(repr(epsilon))), _DOWN) if epsilon else Decimal(1)
    total = Decimal(0)
    for upper, lower in law.values():
        over = _UP.subtract(upper, _DOWN.multiply(factor, lower))
        total = _UP.add(total, over) if over > 0 else total
    return total


def _composed(epsilon_counts: Mapping[Fraction, int]) -> Law:
    law: Law = {0: (Decimal(1), Decimal(1))}
    for (epsilon, times), units in zip(epsilon_counts.items(), _in_units(epsilon_counts), strict=True):
        coins = _coins(epsilon, times, units)
        law = _convolved(law, coins) if len(law) > 1 else coins
    return law


def _convolved(first: Law, second: Law) -> Law:
    law: Law = {}
    nothing = (Decimal(0), Decimal(0))
    for a, (a_upper, a_lower) in first.items():
        for b, (b_upper, b_lower) in second.items():
            upper, lower = law.get(a + b, nothing)
            law[a + b] = _UP.fma(a_upper, b_upper, upper), _DOWN.fma(a_lower, b_lower, lower)
    return law


def _work(epsilon_counts: Mapping[Fraction, int]) -> int:
    work, size, largest = 0, 1, 0
    for times, units in zip(epsilon_counts.values(), _in_units(epsilon_counts), strict=True):
        work += (size + 10) * (times + 1)  # creating a number takes about ten times as long as a product
        largest += times * units
        size = min(size * (times + 1), 2 * largest + 1)
    return work


def _least_work(epsilon_counts: Mapping[Fraction, int]) -> int:
    """Return a lower bound on `_work` without computing the common unit, which can have very many digits."""
    work, coins = 0, 0
    for times in epsilon_counts.values():
        work += (coins + 1 + 10) * (times + 1)  # n coins have at least n + 1 different sums
        coins += times
    return work


def _coins(epsilon: Fraction, times: int, units: int) -> Law:
    """Return the distribution of `times` coins with odds just above e**epsilon, so that no loss is understated."""
    odds = to_decimal(1 / exp_below(-epsilon), _UP)
    upper = _power(_UP.divide(Decimal(1), _DOWN.add(1, odds)), times, _UP)
    lower = _power(_DOWN.divide(odds, _UP.add(1, odds)), times, _DOWN)
    law: Law = {-times * units: (upper, lower)}
    for true in range(times):
        remaining, coins = Decimal(times - true), Decimal(true + 1)
        upper = _UP.divide(_UP.multiply(_UP.multiply(upper, remaining), odds), coins)
        lower = _DOWN.divide(_DOWN.divide(_DOWN.multiply(lower, remaining), coins), odds)
        law[(2 * true + 2 - times) * units] = upper, lower
    return law


def _power(base: Decimal, exponent: int, rounding: Context) -> Decimal:
    """Compute a power by squaring, because `Context.power` does not round in a given direction."""
    result = Decimal(1)
    while exponent:
        if exponent & 1:
            result = rounding.multiply(result, base)
        base, exponent = rounding.multiply(base, base), exponent >> 1
    return result


def unit(epsilon_counts: Mapping[Fraction, int]) -> Fraction:
    """Return the greatest common divisor of all epsilons: gcd of the numerators over lcm of the denominators."""
    return Fraction(
        math.gcd(*(epsilon.numerator for epsilon in epsilon_counts)),
        math.lcm(*(epsilon.denominator for epsilon in epsilon_counts)),
    )


def _in_units(epsilon_counts: Mapping[Fraction, int]) -> Iterator[int]:
    """Convert every epsilon to a whole number of units."""
    grain = unit(epsilon_counts)
    return (
        (epsilon.numerator // grain.numerator) * (grain.denominator // epsilon.denominator)
        for epsilon in epsilon_counts
    )


# Privacy-loss distributions by Google's `dp-accounting` give the optimum for many unequal losses, on a grid.
#
# The package is optional and is imported at the first use.

_POINTS = 2**18
# Together with the bits of a grid point, these bits fit into a float.
_INTERVAL_BITS = 20
# A bound on the error in delta due to the Fourier transforms; observed errors are below 10**-14.
_TAIL_ERROR = Fraction(1, 10**11)


def pld_epsilon(epsilon_counts: Mapping[Fraction, int], delta: Fraction) -> Fraction:
    """Return the total epsilon at `delta` of the losses {epsilon: count}, after rounding each loss up to a grid."""
    if delta < 100 * _TAIL_ERROR:
        consequence = "its tails are floating-point sums"
        reject(f"rule='pld' needs a delta of at least {float(100 * _TAIL_ERROR)}", float(delta), consequence)
    tool, parameters = _module("privacy_loss_distribution"), _module("common").DifferentialPrivacyParameters
    kinds, interval = _on_grid(epsilon_counts)
    composed = tool.identity(value_discretization_interval=interval)
    for epsilon, times in kinds.items():
        distribution = tool.from_privacy_parameters(parameters(epsilon, 0.0), value_discretization_interval=interval)
        composed = composed.compose(distribution.self_compose(times))
    return _rounded(Fraction(float(composed.get_epsilon_for_delta(float(delta - _TAIL_ERROR)))))


def _on_grid(epsilon_counts: Mapping[Fraction, int]) -> tuple[Mapping[float, int], float]:
    """Round losses up to multiples of a step; return the count of losses at each multiple, and the step.

    The step is the common unit of the losses. If this unit is too fine, the step is a number with so few digits that
    its multiples are floats.
    """
    if not epsilon_counts:
        return {}, 1.0
    least = sum_up(epsilon * times for epsilon, times in epsilon_counts.items()) / _POINTS
    if (common := unit(epsilon_counts)) >= least:  # different losses are then different floats
        return {float_up(epsilon): times for epsilon, times in epsilon_counts.items()}, float_up(common)
    grain = Fraction(2) ** (floor_log2(least) - _INTERVAL_BITS)
    interval = math.ceil(least / grain) * grain
    kinds: Counter[float] = Counter()
    for epsilon, times in epsilon_counts.items():
        kinds[float(math.ceil(epsilon / interval) * interval)] += times
    return kinds, float(interval)


def _module(name: str) -> Any:
    return extra(f"dp_accounting.pld.{name}")


@explain_call("compose([Pure(1), Pure(2)])")
def compose(losses: Iterable[Loss], delta: Number | None = None, rule: str = "best") -> Loss:
    """Compose the losses of several releases from the same data.

    The losses must be fixed in advance; the releases may depend on earlier outcomes. If the *loss* of a later release
    depends on earlier outcomes, only sums are valid, which is why a ledger stores sums.

    Parameters
    ----------
    losses : iterable of Pure, Approx and Zcdp
        The loss of each release. An `Approx` contributes its epsilon, and its delta is deducted from `delta`.
    delta : number, optional
        The total delta of the result.
    rule : {"best", "basic", "advanced", "optimal", "zcdp", "pld"}
        The method. "basic": sums of epsilons, deltas and rhos. "advanced": Dwork, Rothblum and Vadhan (2010) in the
        sharper form of Kairouz, Oh and Viswanath (2015, theorem 3.5). "optimal": the exact optimum for pure losses with
        few different values; many different values are rounded up to a grid, and several thousand are rejected. "zcdp":
        the sum of all rhos, where an epsilon contributes epsilon**2 / 2; the sum is converted if a delta is given.
        "pld": privacy-loss distributions of Google's dp-accounting, an optional package, for many unequal losses.
        "best": the smallest result of all rules that apply except "pld", because a result must not depend on the
        installed packages.

    Returns
    -------
    Pure, Approx or Zcdp
        The total loss, rounded up.

    Raises
    ------
    ValueError
        If the rule cannot be used with the given delta.

    Examples
    --------
    >>> fifty = [Pure(0.1)] * 50
    >>> [round(compose(fifty, 1e-6, rule).epsilon, 3) for rule in ("basic", "advanced", "zcdp", "optimal")]
    [5.0, 3.92, 3.542, 3.173]
    """
    check_choice(rule, "rule", ("basic", "best", *_RULES))
    checked = _checked(losses)
    if any(loss.amount == math.inf for loss in checked):
        return Pure(math.inf)  # an infinite loss makes the total infinite
    split = _split(checked)
    if delta is None:
        return _without_delta(split, rule)
    target = split.check(exact_fraction(delta, "delta"))
    if rule == "basic" or not (split.epsilon_counts or split.rho):
        return split.basic(target)
    names = split.applicable(target) if rule == "best" else (rule,)
    candidates = [Approx(_RULES[name](split, target - split.delta), target) for name in names]
    return (
        candidates[0] if rule != "best" else min([split.basic(target), *candidates], key=operator.attrgetter("amount"))
    )


def parallel(losses: Iterable[Loss], *, neighbors: str) -> Loss:
    """Compose releases about disjoint groups of people.

    Parameters
    ----------
    losses : iterable of Pure, Approx and Zcdp
        The loss of the release about each group.
    neighbors : {"add_remove", "replace"}
        "add_remove": one person affects one group, so the largest loss counts. "replace": a new record may move a
        person from one group to another, so the two largest losses add up; each loss must then cover a person who
        enters or leaves its group.

    Returns
    -------
    Pure, Approx or Zcdp
        The total loss.

    Examples
    --------
    >>> parallel([Pure(0.1)] * 5, neighbors="add_remove"), parallel([Pure(0.1)] * 5, neighbors="replace")
    (Pure(0.1), Pure(0.2))
    """
    touched = 1 if check_neighbors(neighbors) == "add_remove" else 2
    group = _checked(losses)
    deltas = [loss.slack for loss in group if isinstance(loss, Approx)]
    if not any(isinstance(loss, Zcdp) for loss in group):
        pure = Pure(_largest((loss.amount for loss in group), touched))
        return pure.to_approx(min(Fraction(1), Fraction(_largest(deltas, touched)))) if deltas else pure
    if deltas:
        consequence = "convert the Zcdp first with .to_approx(delta)"
        reject("Approx and Zcdp have no common measure", "both", consequence, TypeError)
    return Zcdp(_largest(((Zcdp(0) + loss).amount for loss in group), touched))


def _largest(amounts: Iterable[Amount], count: int) -> Amount:
    return sum(sorted(amounts, reverse=True)[:count], Fraction(0))


@dataclass(frozen=True)
class _SplitLosses:
    """Losses by component: the count of each epsilon, the sums of deltas and rhos, and the types of the losses."""

    epsilon_counts: Mapping[Fraction, int]
    delta: Fraction
    rho: Fraction
    currencies: frozenset[type[Loss]]

    def check(self, delta: Fraction) -> Fraction:
        """Check that a total delta is at least the sum of deltas."""
        if not self.delta <= delta <= 1:
            limits = f"from {float(self.delta):.4g}, the sum of the losses' deltas, to 1"
            reject(f"`delta` must lie {limits}", float(delta), "it is the total delta")
        return delta

    def plain(self) -> Pure | Approx:
        """Return the sums of epsilons and deltas, without the Zcdp losses."""
        epsilon = sum_up(epsilon * times for epsilon, times in self.epsilon_counts.items())
        return Approx(epsilon, min(Fraction(1), self.delta)) if Approx in self.currencies else Pure(epsilon)

    def basic(self, delta: Fraction) -> Loss:
        """Return plain sums; Zcdp losses are first converted with the part of delta that remains."""
        if not self.rho:
            return self.plain()
        return Approx((self.plain() + Zcdp(self.rho).to_approx(delta - self.delta)).amount, delta)

    def applicable(self, delta: Fraction) -> tuple[str, ...]:
        """Return the rules that apply at a total delta, other than plain sums."""
        if delta == self.delta:
            return ()
        if self.rho:
            return ("zcdp",)
        return ("advanced", "zcdp", "optimal") if coarsen_if_needed(self.epsilon_counts) else ("advanced", "zcdp")


def _split(losses: tuple[Loss, ...]) -> _SplitLosses:
    epsilon_counts = Counter(Fraction(loss.amount) for loss in losses if not isinstance(loss, Zcdp) and loss.amount)
    delta = sum_up(loss.slack for loss in losses if isinstance(loss, Approx))
    rho = sum_up(Fraction(loss.amount) for loss in losses if isinstance(loss, Zcdp))
    return _SplitLosses(epsilon_counts, delta, rho, frozenset(map(type, losses)))


def _checked(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    items: tuple[object, ...] = tuple(losses) if isinstance(losses, Iterable) else (losses,)
    for loss in items:
        if not isinstance(loss, Pure | Approx | Zcdp) or not isinstance(losses, Iterable):
            consequence = "nothing else can be added up; write [Pure(1), Pure(2)]"
            reject("`losses` must be a list of Pure, Approx or Zcdp", type(loss).__name__, consequence, TypeError)
    return cast(tuple[Loss, ...], items)


def _without_delta(split: _SplitLosses, rule: str) -> Loss:
    if rule in ("basic", "best"):
        if Zcdp not in split.currencies:
            return split.plain()
        return split.plain() + Zcdp(split.rho) if Approx in split.currencies else Zcdp(_rho(split))
    if rule == "zcdp" and not split.delta:
        return Zcdp(_rho(split))
    reject(f"rule='{rule}' needs `delta`", "none", "a small delta gives a smaller epsilon; try delta=1e-6")


def _rho(split: _SplitLosses) -> Fraction:
    return split.rho + _squares(split) / 2


def _squares(split: _SplitLosses) -> Fraction:
    return sum_up(epsilon * epsilon * times for epsilon, times in split.epsilon_counts.items())


def _advanced(split: _SplitLosses, spare: Fraction) -> Fraction:
    _check_applicable(split, spare, "advanced")
    squares = _squares(split)
    mean = sum_up(epsilon * _tanh_half_up(epsilon) * times for epsilon, times in split.epsilon_counts.items())
    tail = min(1 / spare, 1 / exp_below(Fraction(-1)) + _sqrt_up(squares) / spare)
    return _rounded(mean + _sqrt_up(2 * squares * Fraction(repr(log_up(tail)))))


def _optimal(split: _SplitLosses, spare: Fraction) -> Fraction:
    _check_applicable(split, spare, "optimal")
    epsilon_counts = coarsen_if_needed(split.epsilon_counts)
    if epsilon_counts is None:
        kinds = f"{sum(split.epsilon_counts.values())} with {len(split.epsilon_counts)} values"
        consequence = "use rule='best', or 'pld' for many values"
        reject("rule='optimal' takes up to about 100,000 losses with few different values", kinds, consequence)
    return optimal_epsilon(epsilon_counts, spare)


def _zcdp(split: _SplitLosses, spare: Fraction) -> Fraction:
    _check_applicable(split, spare, "zcdp")
    return Fraction(Zcdp(_rho(split)).to_approx(spare).amount)


def _pld(split: _SplitLosses, spare: Fraction) -> Fraction:
    _check_applicable(split, spare, "pld")
    return pld_epsilon(split.epsilon_counts, spare)


def _check_applicable(split: _SplitLosses, spare: Fraction, rule: str) -> None:
    if split.rho and rule != "zcdp":
        reject(f"rule='{rule}' takes Pure and Approx", "a Zcdp", "rule='zcdp' and rule='best' take all three")
    if not spare:
        consequence = f"rule='{rule}' needs the remainder"
        reject("`delta` must exceed the sum of the losses' deltas", float(split.delta), consequence)


def _tanh_half_up(epsilon: Fraction) -> Fraction:
    """Return tanh(epsilon / 2), the mean loss of a coin in units of epsilon, rounded up to 200 bits."""
    if epsilon > 100:
        return Fraction(1)
    part, whole = exp_below(-epsilon).as_integer_ratio()
    return min(epsilon / 2, Fraction(-(-(whole - part << 200) // (whole + part)), 1 << 200))


def _sqrt_up(value: Fraction) -> Fraction:
    """Return the square root, rounded up by at most 10**-40."""
    return Fraction(math.isqrt(math.ceil(value * 10**80)) + 1, 10**40)


def _rounded(epsilon: Fraction) -> Fraction:
    """Round up to the next float, so that a result does not have hundreds of digits."""
    return Fraction(repr(float_up(epsilon)))


_RULES: dict[str, Callable[[_SplitLosses, Fraction], Fraction]] = {
    "advanced": _advanced,
    "optimal": _optimal,
    "zcdp": _zcdp,
    "pld": _pld,
}
