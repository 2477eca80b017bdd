"""Composition: what several losses come to together.

The same person's data behind several releases lose more than behind one. How much more depends on how
cleverly one counts: every rule below is valid, rounded up, and never below the truth; they differ in how far
above it they are.
"""

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from toolkit.core.checks import Number, choice, exact, explains, refuse
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.loss import Amount, Approx, Loss, Pure, Zcdp
from toolkit.core.optimal import manageable, optimal_epsilon
from toolkit.core.pld import pld_epsilon
from toolkit.core.rounding import exp_below, float_up, log_up, sum_up


@explains("compose([Pure(1), Pure(2)])")
def compose(losses: Iterable[Loss], delta: Number | None = None, rule: str = "best") -> Loss:
    """The loss of several releases from the same data; `delta` is that of the result, in total.

    The losses must be fixed in advance; the releases may depend on the outcomes before them. Where the *loss*
    of a later release depends on earlier outcomes, only sums are sure to hold: that is what a ledger keeps.

    ==========
    ================================================================================================= "basic"
    sums of epsilons, deltas and rhos "advanced"  sum of epsilon * tanh(epsilon/2) + sqrt(2 ln(1/delta) * sum
    of epsilon**2), or its variant for small
                losses: Dwork, Rothblum and Vadhan (2010) as sharpened by Kairouz, Oh and Viswanath (2015, th.
                3.5)
    "optimal"   the exact optimum for pure losses of few kinds; of many kinds each is rounded up to a grid,
    which may cost
                more than it gains; some thousand kinds are refused. See `toolkit.core.optimal`
    "zcdp"      epsilon**2 / 2 of each, summed and converted; the sum itself when there is no delta
    "pld"       privacy-loss distributions of Google's dp-accounting, an optional package; for many unequal
    losses "best"      the smallest that applies, without "pld": a result must not depend on what is installed
    ==========
    =================================================================================================

    An `Approx` enters with its epsilon; its delta is taken from `delta` first.

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
    found = [Approx(_RULES[name](parts, target - parts.delta), target) for name in names]
    return found[0] if rule != "best" else min([parts.basic(target), *found], key=operator.attrgetter("amount"))


def parallel(losses: Iterable[Loss], *, neighbors: str) -> Loss:
    """The loss of releases that each look at one group of people, when nobody is in two groups.

    "add_remove": one person's coming or going touches one group, so the largest loss is the loss of all
    together. "replace": one person's new record may move them from one group to another and touch both, so
    the two largest add up; each loss must then cover a person who enters or leaves its group.

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
        refuse(
            "Approx and Zcdp have no common measure",
            "both",
            "convert the Zcdp first with .to_approx(delta)",
            TypeError,
        )
    return Zcdp(_largest(((Zcdp(0) + loss).amount for loss in group), touched))


def _largest(amounts: Iterable[Amount], count: int) -> Amount:
    return sum(sorted(amounts, reverse=True)[:count], Fraction(0))


@dataclass(frozen=True)
class _Parts:
    """Losses taken apart: how many of each epsilon, the sums of deltas and rhos, and the currencies that they
    came in.
    """

    steps: Mapping[Fraction, int]
    delta: Fraction
    rho: Fraction
    currencies: frozenset[type[Loss]]

    def check(self, delta: Fraction) -> Fraction:
        if not self.delta <= delta <= 1:
            own = f"from {float(self.delta):.4g}, the sum of the losses' own, to 1"
            refuse(f"`delta` must lie {own}", float(delta), "it is the delta of all together")
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
    listed = tuple(losses) if isinstance(losses, Iterable) else (losses,)
    for loss in listed:
        if not isinstance(loss, Pure | Approx | Zcdp) or not isinstance(losses, Iterable):
            refuse(
                "`losses` must be a list of Pure, Approx or Zcdp",
                type(loss).__name__,
                "nothing else can be added up; write [Pure(1), Pure(2)]",
                TypeError,
            )
    return listed


def _without_delta(parts: _Parts, rule: str) -> Loss:
    if rule in ("basic", "best"):
        if Zcdp not in parts.currencies:
            return parts.plain()
        return parts.plain() + Zcdp(parts.rho) if Approx in parts.currencies else Zcdp(_rho(parts))
    if rule == "zcdp" and not parts.delta:
        return Zcdp(_rho(parts))
    refuse(f"rule='{rule}' needs `delta`", "none", "it buys a smaller epsilon with a small delta; try delta=1e-6")


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
        refuse(
            "rule='optimal' takes some 100,000 losses, few of them different",
            kinds,
            "use rule='best', or 'pld' for many kinds",
        )
    return optimal_epsilon(steps, spare)


def _zcdp(parts: _Parts, spare: Fraction) -> Fraction:
    if not spare:
        refuse(
            "`delta` must exceed the sum of the losses' own",
            float(parts.delta),
            "rule='zcdp' pays with what is left of it",
        )
    return Fraction(Zcdp(_rho(parts)).to_approx(spare).amount)


def _pld(parts: _Parts, spare: Fraction) -> Fraction:
    _need(parts, spare, "pld")
    return pld_epsilon(parts.steps, spare)


def _need(parts: _Parts, spare: Fraction, rule: str) -> None:
    if parts.rho:
        refuse(f"rule='{rule}' takes Pure and Approx", "a Zcdp", "rule='zcdp' and rule='best' take all three")
    if not spare:
        refuse(
            "`delta` must exceed the sum of the losses' own",
            float(parts.delta),
            f"rule='{rule}' pays with what is left of it",
        )


def _tanh_half_up(epsilon: Fraction) -> Fraction:
    """(e**epsilon - 1) / (e**epsilon + 1), the mean loss of a coin in units of epsilon, to 200 bits; at most
    epsilon / 2 and 1.
    """
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
