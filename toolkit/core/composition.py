"""Composition: what several losses come to together.

The same person's data behind several releases lose more than behind one. How much more depends on how cleverly one
counts: every rule below is valid, rounded up, and never below the truth; they differ in how far above it they are.
"""

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, TypeAlias, cast

from toolkit.core.checks import Number, choice, exact, explain_call, reject
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.extras import extra
from toolkit.core.loss import Amount, Approx, Loss, Pure, Zcdp
from toolkit.core.rounding import exp_below, float_up, log_up, sum_up
from toolkit.core.sampling import floor_log2

# The exact cost of many pure losses together: what no analysis that knows only their epsilons can improve.
#
# The worst mechanism of loss epsilon is a coin that shows the truth with odds e**epsilon. Of k coins only the number
# of true ones matters, so the worst k-fold mechanism is a binomial law and its mirror image, and the smallest epsilon
# at a given delta is a maximum over tails of the binomial: finite sums, computed here with all roundings to the
# private side (Kairouz, Oh and Viswanath 2015; for unequal losses Murtagh and Vadhan 2016: their sums may be too many
# to be listed, and are then rounded up to a grid).

_UP = Context(prec=60, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
_DOWN = Context(prec=60, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
_WORK_LIMIT = 1_200_000  # products of two numbers: a second or two
_FEWEST_POINTS = 1000  # a grid coarser than this is not worth the time
_LARGEST = 100_000  # beyond this epsilon there is no privacy left to account for

Law: TypeAlias = dict[int, tuple[Decimal, Decimal]]
"""Privacy loss in whole units, and its probability under the one truth (rounded up) and the other (rounded down)."""


def manageable(steps: Mapping[Fraction, int]) -> Mapping[Fraction, int] | None:
    """The losses {epsilon: how many}, if need be rounded up to a grid on which their sums are few; else None."""
    if not steps or max(steps) > _LARGEST:
        return None
    if _least_work(steps) <= _WORK_LIMIT and _work(steps) <= _WORK_LIMIT:
        return steps
    points = _WORK_LIMIT // sum(times + 1 for times in steps.values())
    if points < _FEWEST_POINTS:
        return None
    grain = 4 * sum_up(epsilon * times for epsilon, times in steps.items()) / points
    coarse: Counter[Fraction] = Counter()
    for epsilon, times in steps.items():
        coarse[math.ceil(epsilon / grain) * grain] += times
    return coarse if _work(coarse) <= _WORK_LIMIT else None


def optimal_epsilon(steps: Mapping[Fraction, int], delta: Fraction) -> Fraction:
    """The smallest epsilon at `delta` of manageable losses, rounded up in the last digit of a float."""
    law = _composed(steps)
    one, other, ratio = Decimal(0), Decimal(0), Decimal(1)
    spare = _decimal(delta, _DOWN)
    for loss in sorted(law, reverse=True):  # the worst events are tails: the largest losses together
        one, other = _UP.add(one, law[loss][0]), _DOWN.add(other, law[loss][1])
        ratio = max(ratio, _UP.divide(_UP.subtract(one, spare), other))
    epsilon = log_up(Fraction(ratio))
    while _excess(law, epsilon) > spare:  # the proof; the logarithm above may miss it in the last digit
        epsilon = math.nextafter(epsilon, math.inf)
    return Fraction(repr(epsilon))


def _excess(law: Law, epsilon: float) -> Decimal:
    """Delta at epsilon: how much likelier the worst event is than e**epsilon allows, rounded up."""
    factor = _decimal(exp_below(Fraction(repr(epsilon))), _DOWN) if epsilon else Decimal(1)
    total = Decimal(0)
    for one, other in law.values():
        over = _UP.subtract(one, _DOWN.multiply(factor, other))
        total = _UP.add(total, over) if over > 0 else total
    return total


def _composed(steps: Mapping[Fraction, int]) -> Law:
    law: Law = {0: (Decimal(1), Decimal(1))}
    for (epsilon, times), units in zip(steps.items(), _in_units(steps), strict=True):
        coins = _coins(epsilon, times, units)
        law = _convolved(law, coins) if len(law) > 1 else coins
    return law


def _convolved(left: Law, right: Law) -> Law:
    law: Law = {}
    nothing = (Decimal(0), Decimal(0))
    for a, (a_one, a_other) in left.items():
        for b, (b_one, b_other) in right.items():
            one, other = law.get(a + b, nothing)
            law[a + b] = _UP.fma(a_one, b_one, one), _DOWN.fma(a_other, b_other, other)
    return law


def _work(steps: Mapping[Fraction, int]) -> int:
    work, size, reach = 0, 1, 0
    for times, units in zip(steps.values(), _in_units(steps), strict=True):
        work += (size + 10) * (times + 1)  # to make a number costs some ten times as much as to multiply two
        reach += times * units
        size = min(size * (times + 1), 2 * reach + 1)
    return work


def _least_work(steps: Mapping[Fraction, int]) -> int:
    """Not above `_work`, and found without a common unit, which has a digit or more for every different loss."""
    work, coins = 0, 0
    for times in steps.values():
        work += (coins + 1 + 10) * (times + 1)  # n coins have at least one sum more than they are
        coins += times
    return work


def _coins(epsilon: Fraction, times: int, units: int) -> Law:
    """The law of `times` coins with odds just above e**epsilon; a larger epsilon is never more private."""
    odds = _decimal(1 / exp_below(-epsilon), _UP)
    one = _power(_UP.divide(Decimal(1), _DOWN.add(1, odds)), times, _UP)
    other = _power(_DOWN.divide(odds, _UP.add(1, odds)), times, _DOWN)
    law: Law = {-times * units: (one, other)}
    for true in range(times):
        ways, coins = Decimal(times - true), Decimal(true + 1)
        one = _UP.divide(_UP.multiply(_UP.multiply(one, ways), odds), coins)
        other = _DOWN.divide(_DOWN.divide(_DOWN.multiply(other, ways), coins), odds)
        law[(2 * true + 2 - times) * units] = one, other
    return law


def _power(base: Decimal, exponent: int, rounding: Context) -> Decimal:
    """By squaring: `Context.power` does not round in a given direction."""
    result = Decimal(1)
    while exponent:
        if exponent & 1:
            result = rounding.multiply(result, base)
        base, exponent = rounding.multiply(base, base), exponent >> 1
    return result


def unit(steps: Mapping[Fraction, int]) -> Fraction:
    """The largest amount that every epsilon is a whole multiple of; of fractions in lowest terms it has this form."""
    return Fraction(
        math.gcd(*(epsilon.numerator for epsilon in steps)), math.lcm(*(epsilon.denominator for epsilon in steps))
    )


def _in_units(steps: Mapping[Fraction, int]) -> Iterator[int]:
    """Every epsilon as a whole number of units."""
    grain = unit(steps)
    return ((epsilon.numerator // grain.numerator) * (grain.denominator // epsilon.denominator) for epsilon in steps)


def _decimal(value: Fraction, rounding: Context) -> Decimal:
    return rounding.divide(Decimal(value.numerator), Decimal(value.denominator))


# Privacy-loss distributions, by Google's `dp-accounting`: the optimum for many unequal losses, on a grid.
#
# An optional package; nothing is imported before it is asked for.

_POINTS = 2**18
_INTERVAL_BITS = 20  # with those of a point they fit into a float
_TAIL_ERROR = Fraction(1, 10**11)  # what its Fourier transforms may lose of delta; seen: below 10**-14


def pld_epsilon(steps: Mapping[Fraction, int], delta: Fraction) -> Fraction:
    """The epsilon at `delta` of losses {epsilon: how many of them}; each loss is rounded up to the grid."""
    if delta < 100 * _TAIL_ERROR:
        consequence = "its tails are floating-point sums"
        reject(f"rule='pld' needs a delta of at least {float(100 * _TAIL_ERROR)}", float(delta), consequence)
    tool, parameters = _module("privacy_loss_distribution"), _module("common").DifferentialPrivacyParameters
    kinds, interval = _on_grid(steps)
    composed = tool.identity(value_discretization_interval=interval)
    for epsilon, times in kinds.items():
        one = tool.from_privacy_parameters(parameters(epsilon, 0.0), value_discretization_interval=interval)
        composed = composed.compose(one.self_compose(times))
    return _rounded(Fraction(float(composed.get_epsilon_for_delta(float(delta - _TAIL_ERROR)))))


def _on_grid(steps: Mapping[Fraction, int]) -> tuple[Mapping[float, int], float]:
    """The losses as whole multiples of an interval, and that interval; of many different losses few kinds are left.

    The interval is their common unit, or where that is too fine a number of so few digits that its multiples
    are floats.
    """
    if not steps:
        return {}, 1.0
    least = sum_up(epsilon * times for epsilon, times in steps.items()) / _POINTS
    if (common := unit(steps)) >= least:  # then no two of them are the same float
        return {float_up(epsilon): times for epsilon, times in steps.items()}, float_up(common)
    grain = Fraction(2) ** (floor_log2(least) - _INTERVAL_BITS)
    interval = math.ceil(least / grain) * grain
    kinds: Counter[float] = Counter()
    for epsilon, times in steps.items():
        kinds[float(math.ceil(epsilon / interval) * interval)] += times
    return kinds, float(interval)


def _module(name: str) -> Any:
    return extra(f"dp_accounting.pld.{name}")


@explain_call("compose([Pure(1), Pure(2)])")
def compose(losses: Iterable[Loss], delta: Number | None = None, rule: str = "best") -> Loss:
    """Compose the losses of several releases from the same data.

    The losses must be fixed in advance; the releases may depend on the outcomes before them. Where the *loss*
    of a later release depends on earlier outcomes, only sums are sure to hold: that is what a ledger stores.

    Parameters
    ----------
    losses : iterable of Pure, Approx and Zcdp
        What each release costs; an `Approx` enters with its epsilon, and its delta is taken from `delta` first.
    delta : number, optional
        Delta of the result, in total.
    rule : {"best", "basic", "advanced", "optimal", "zcdp", "pld"}
        How to count. "basic": sums of epsilons, deltas and rhos. "advanced": Dwork, Rothblum and Vadhan (2010) as
        sharpened by Kairouz, Oh and Viswanath (2015, theorem 3.5). "optimal": the exact optimum for pure losses of
        few kinds; many kinds are rounded up to a grid, some thousand are refused. "zcdp": epsilon**2 / 2 of each,
        summed and converted; the sum itself without a delta. "pld": privacy-loss distributions of Google's
        dp-accounting, an optional package, for many unequal losses. "best": the smallest that applies, without
        "pld", as a result must not depend on what is installed.

    Returns
    -------
    Pure, Approx or Zcdp
        The loss of all together, rounded up.

    Raises
    ------
    ValueError
        If the rule needs another delta than the one given.

    Examples
    --------
    >>> fifty = [Pure(0.1)] * 50
    >>> [round(compose(fifty, 1e-6, rule).epsilon, 3) for rule in ("basic", "advanced", "zcdp", "optimal")]
    [5.0, 3.92, 3.542, 3.173]
    """
    choice(rule, "rule", ("basic", "best", *_RULES))
    checked = _checked(losses)
    if any(loss.amount == math.inf for loss in checked):
        return Pure(math.inf)  # whatever else is released, nothing bounds the total
    parts = _taken_apart(checked)
    if delta is None:
        return _without_delta(parts, rule)
    target = parts.check(exact(delta, "delta"))
    if rule == "basic" or not (parts.steps or parts.rho):
        return parts.basic(target)
    names = parts.applicable(target) if rule == "best" else (rule,)
    candidates = [Approx(_RULES[name](parts, target - parts.delta), target) for name in names]
    return (
        candidates[0] if rule != "best" else min([parts.basic(target), *candidates], key=operator.attrgetter("amount"))
    )


def parallel(losses: Iterable[Loss], *, neighbors: str) -> Loss:
    """Compose releases that each look at one group of people, when nobody is in two groups.

    Parameters
    ----------
    losses : iterable of Pure, Approx and Zcdp
        What the release about each group costs.
    neighbors : {"add_remove", "replace"}
        "add_remove": one person touches one group, so the largest loss counts. "replace": a new record may move a
        person from one group to another, so the two largest add up; each loss must then cover a person who enters
        or leaves its group.

    Returns
    -------
    Pure, Approx or Zcdp
        The loss of all together.

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
class _Parts:
    """Losses taken apart: how many of each epsilon, the sums of deltas and rhos, and their currencies."""

    steps: Mapping[Fraction, int]
    delta: Fraction
    rho: Fraction
    currencies: frozenset[type[Loss]]

    def check(self, delta: Fraction) -> Fraction:
        if not self.delta <= delta <= 1:
            own = f"from {float(self.delta):.4g}, the sum of the losses' own, to 1"
            reject(f"`delta` must lie {own}", float(delta), "it is the delta of all together")
        return delta

    def plain(self) -> Pure | Approx:
        """The sums of epsilons and deltas, without what is Zcdp."""
        epsilon = sum_up(epsilon * times for epsilon, times in self.steps.items())
        return Approx(epsilon, min(Fraction(1), self.delta)) if Approx in self.currencies else Pure(epsilon)

    def basic(self, delta: Fraction) -> Loss:
        """Plain sums; what is Zcdp is first converted with what the others leave of delta."""
        if not self.rho:
            return self.plain()
        return Approx((self.plain() + Zcdp(self.rho).to_approx(delta - self.delta)).amount, delta)

    def applicable(self, delta: Fraction) -> tuple[str, ...]:
        if delta == self.delta:
            return ()
        if self.rho:
            return ("zcdp",)
        return ("advanced", "zcdp", "optimal") if manageable(self.steps) else ("advanced", "zcdp")


def _taken_apart(losses: tuple[Loss, ...]) -> _Parts:
    steps = Counter(Fraction(loss.amount) for loss in losses if not isinstance(loss, Zcdp) and loss.amount)
    delta = sum_up(loss.slack for loss in losses if isinstance(loss, Approx))
    rho = sum_up(Fraction(loss.amount) for loss in losses if isinstance(loss, Zcdp))
    return _Parts(steps, delta, rho, frozenset(map(type, losses)))


def _checked(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    listed: tuple[object, ...] = tuple(losses) if isinstance(losses, Iterable) else (losses,)
    for loss in listed:
        if not isinstance(loss, Pure | Approx | Zcdp) or not isinstance(losses, Iterable):
            consequence = "nothing else can be added up; write [Pure(1), Pure(2)]"
            reject("`losses` must be a list of Pure, Approx or Zcdp", type(loss).__name__, consequence, TypeError)
    return cast(tuple[Loss, ...], listed)


def _without_delta(parts: _Parts, rule: str) -> Loss:
    if rule in ("basic", "best"):
        if Zcdp not in parts.currencies:
            return parts.plain()
        return parts.plain() + Zcdp(parts.rho) if Approx in parts.currencies else Zcdp(_rho(parts))
    if rule == "zcdp" and not parts.delta:
        return Zcdp(_rho(parts))
    reject(f"rule='{rule}' needs `delta`", "none", "it buys a smaller epsilon with a small delta; try delta=1e-6")


def _rho(parts: _Parts) -> Fraction:
    return parts.rho + _squares(parts) / 2


def _squares(parts: _Parts) -> Fraction:
    return sum_up(epsilon * epsilon * times for epsilon, times in parts.steps.items())


def _advanced(parts: _Parts, spare: Fraction) -> Fraction:
    _need(parts, spare, "advanced")
    squares = _squares(parts)
    mean = sum_up(epsilon * _tanh_half_up(epsilon) * times for epsilon, times in parts.steps.items())
    tail = min(1 / spare, 1 / exp_below(Fraction(-1)) + _sqrt_up(squares) / spare)
    return _rounded(mean + _sqrt_up(2 * squares * Fraction(repr(log_up(tail)))))


def _optimal(parts: _Parts, spare: Fraction) -> Fraction:
    _need(parts, spare, "optimal")
    steps = manageable(parts.steps)
    if steps is None:
        kinds = f"{sum(parts.steps.values())} of {len(parts.steps)} kinds"
        consequence = "use rule='best', or 'pld' for many kinds"
        reject("rule='optimal' takes some 100,000 losses, few of them different", kinds, consequence)
    return optimal_epsilon(steps, spare)


def _zcdp(parts: _Parts, spare: Fraction) -> Fraction:
    _need(parts, spare, "zcdp")
    return Fraction(Zcdp(_rho(parts)).to_approx(spare).amount)


def _pld(parts: _Parts, spare: Fraction) -> Fraction:
    _need(parts, spare, "pld")
    return pld_epsilon(parts.steps, spare)


def _need(parts: _Parts, spare: Fraction, rule: str) -> None:
    if parts.rho and rule != "zcdp":
        reject(f"rule='{rule}' takes Pure and Approx", "a Zcdp", "rule='zcdp' and rule='best' take all three")
    if not spare:
        consequence = f"rule='{rule}' pays with what is left of it"
        reject("`delta` must exceed the sum of the losses' own", float(parts.delta), consequence)


def _tanh_half_up(epsilon: Fraction) -> Fraction:
    """tanh(epsilon / 2), the mean loss of a coin in units of epsilon, to 200 bits; at most epsilon / 2 and 1."""
    if epsilon > 100:
        return Fraction(1)
    part, whole = exp_below(-epsilon).as_integer_ratio()
    return min(epsilon / 2, Fraction(-(-(whole - part << 200) // (whole + part)), 1 << 200))


def _sqrt_up(value: Fraction) -> Fraction:
    """Above the square root by at most 10**-40."""
    return Fraction(math.isqrt(math.ceil(value * 10**80)) + 1, 10**40)


def _rounded(epsilon: Fraction) -> Fraction:
    """Up to the next float, so that a result has a dozen digits and not hundreds."""
    return Fraction(repr(float_up(epsilon)))


_RULES: dict[str, Callable[[_Parts, Fraction], Fraction]] = {
    "advanced": _advanced,
    "optimal": _optimal,
    "zcdp": _zcdp,
    "pld": _pld,
}
