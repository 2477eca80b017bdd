"""Privacy losses as values: bounds on what one person's participation may reveal, in three units.

`Pure(epsilon)`: one person's data change the probability of any outcome by a factor of at most e**epsilon.
`Approx(epsilon, delta)`: no set of outcomes has a probability above e**epsilon times its probability without these
data, plus delta. `Zcdp(rho)`: zero-concentrated differential privacy (Bun and Steinke 2016), the natural unit for
Gaussian noise.

Amounts are exact fractions, so that ten releases at 0.1 cost exactly 1. Results that cannot be exact are rounded up,
and so are amounts that are converted to floats. `a <= b` means "a budget of b allows a loss of a". If it is true, every
a-private mechanism is provably b-private. If it is false, no rule in this module proves that every a-private mechanism
is b-private, so two losses may be incomparable.
`+` is plain sequential composition; sharper rules need the full list of losses (`toolkit.core.composition`).
"""

import math
from dataclasses import dataclass
from decimal import Context
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, TypeAlias

from toolkit.core.checks import Number, check_integer, exact_fraction, explain_call, reject, warn
from toolkit.core.inference.digits import concise, digits_up
from toolkit.core.rounding import exp_below, float_up, log_up, to_decimal
from toolkit.core.search import bisect, bracket

Amount: TypeAlias = Fraction | float
"""An exact fraction, or math.inf."""

_PRECISE = Context(prec=60)
# An upper bound on the errors of the logarithms below; each error is under 10**-58 before division.
_ERROR = Fraction(1, 10**35)


@explain_call("Pure(1.0)", delta="with a delta it is Approx(epsilon, delta)")
@dataclass(frozen=True, init=False, repr=False)
class Pure:
    """Pure differential privacy: likelihoods change by at most a factor of e**epsilon.

    Parameters
    ----------
    epsilon : number
        The epsilon, at least 0, which is stored as an exact fraction or infinity.

    Examples
    --------
    >>> Pure(0.1) + Pure(0.2) == Pure(0.3), Pure(0.5) <= Approx(0.5, 1e-6)
    (True, True)
    """

    amount: Amount

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "amount", _amount(epsilon, "epsilon"))

    @property
    def epsilon(self) -> float:
        """Epsilon as a float, rounded up."""
        return _float(self.amount)

    def group(self, k: int) -> "Pure":
        """Return the loss of k people together: k * epsilon.

        Parameters
        ----------
        k : int
            The number of people.

        Returns
        -------
        Pure
            Their loss.
        """
        return Pure(self.amount * check_integer(k, "k"))

    def to_approx(self, delta: Number = 0) -> "Approx":
        """Return the same loss with a delta.

        Parameters
        ----------
        delta : number
            The delta, between 0 and 1.

        Returns
        -------
        Approx
            The same epsilon with this delta.
        """
        return Approx(self.amount, _delta(delta))

    def to_zcdp(self) -> "Zcdp":
        """Convert to epsilon**2 / 2 (Bun and Steinke 2016, proposition 1.4).

        Returns
        -------
        Zcdp
            A rho that this loss does not exceed.
        """
        return Zcdp(self.amount * self.amount / 2)

    def __add__(self, other: "Loss") -> "Loss":
        if isinstance(other, Pure):
            return Pure(self.amount + other.amount)
        return other + self if isinstance(other, Approx | Zcdp) else NotImplemented

    def __le__(self, other: "Loss") -> bool:
        if isinstance(other, Zcdp):
            return self.to_zcdp().amount <= other.amount
        return self.amount <= other.amount if isinstance(other, Pure | Approx) else NotImplemented

    def __repr__(self) -> str:
        return f"Pure({digits_up(self.epsilon)})"

    def __str__(self) -> str:
        return f"ε = {format_amount(self.amount)}"


@explain_call("Approx(1.0, 1e-6)", delta="the excess probability; choose it far below one over the number of people")
@dataclass(frozen=True, init=False, repr=False)
class Approx:
    """Approximate differential privacy: a probability p changes to at most e**epsilon * p + delta.

    Parameters
    ----------
    epsilon : number
        The epsilon, at least 0, which is stored as an exact fraction or infinity.
    delta : number
        The delta, between 0 and 1 and far below one over the number of people.

    Examples
    --------
    >>> Approx(0.5, 1e-6) + Pure(0.5)
    Approx(1.0, 1e-06)
    """

    amount: Amount
    slack: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        object.__setattr__(self, "amount", _amount(epsilon, "epsilon"))
        object.__setattr__(self, "slack", _delta(delta))

    @property
    def epsilon(self) -> float:
        """Epsilon as a float, rounded up."""
        return _float(self.amount)

    @property
    def delta(self) -> float:
        """Delta as a float, rounded up."""
        return _float(self.slack)

    def group(self, k: int) -> "Approx":
        """Return the loss of k people together.

        Parameters
        ----------
        k : int
            The number of people.

        Returns
        -------
        Approx
            Epsilon times k, and delta * (1 + e**epsilon + … + e**((k-1) epsilon)), rounded up and at most 1.
        """
        people = check_integer(k, "k")
        return Approx(
            self.amount * people, min(Fraction(1), self.slack * _geometric_up(self.amount, people)) if self.slack else 0
        )

    def __add__(self, other: "Loss") -> "Loss":
        if isinstance(other, Zcdp):
            reject("Approx and Zcdp have no sum", "both", "convert the Zcdp first with .to_approx(delta)", TypeError)
        if isinstance(other, Pure):
            return Approx(self.amount + other.amount, self.slack)
        if isinstance(other, Approx):
            return Approx(self.amount + other.amount, min(Fraction(1), self.slack + other.slack))
        return NotImplemented

    def __le__(self, other: "Loss") -> bool:
        if isinstance(other, Approx):
            return self.amount <= other.amount and self.slack <= other.slack
        return self.slack == 0 and Pure(self.amount) <= other if isinstance(other, Pure | Zcdp) else NotImplemented

    def __repr__(self) -> str:
        return f"Approx({digits_up(self.epsilon)}, {digits_up(self.delta)})"

    def __str__(self) -> str:
        return f"ε = {format_amount(self.amount)}, δ = {format_amount(self.slack)}"


@explain_call("Zcdp(0.1)", delta="convert it with to_approx(1e-6)")
@dataclass(frozen=True, init=False, repr=False)
class Zcdp:
    """Zero-concentrated differential privacy: the Rényi loss of every order a is at most rho * a.

    Parameters
    ----------
    rho : number
        The rho, at least 0, which is stored as an exact fraction or infinity.

    Examples
    --------
    >>> Zcdp(0.1) + Zcdp(0.2) == Zcdp(0.3), Zcdp(0.005).to_approx(1e-6)
    (True, Approx(0.429942, 1e-06))
    """

    amount: Amount

    def __init__(self, rho: Number) -> None:
        object.__setattr__(self, "amount", _amount(rho, "rho"))

    @property
    def rho(self) -> float:
        """Rho as a float, rounded up."""
        return _float(self.amount)

    def group(self, k: int) -> "Zcdp":
        """Return the loss of k people together: k**2 * rho.

        Parameters
        ----------
        k : int
            The number of people.

        Returns
        -------
        Zcdp
            Their loss.
        """
        return Zcdp(self.amount * check_integer(k, "k") ** 2)

    def to_approx(self, delta: Number) -> Approx:
        """Convert to the smallest epsilon that Canonne, Kamath and Steinke (2020, corollary 13) allow.

        For every order a > 1, the bound epsilon = a rho + (ln(1/delta) + (a-1) ln(1-1/a) - ln a) / (a-1) is valid, so
        the search over orders needs no proof.

        Parameters
        ----------
        delta : number
            The delta, above 0 and at most 1.

        Returns
        -------
        Approx
            An epsilon at this delta, rounded up.
        """
        slack = _delta(delta)
        if slack == 0:
            reject("`delta` must be above 0 to convert a Zcdp", delta, "at delta 0 no finite epsilon bounds it")
        if self.amount == 0 or self.rho == math.inf:
            return Approx(self.rho, slack)
        extra = Fraction(_best_order(self.rho, log_up(1 / slack)))
        return Approx(float_up(max(Fraction(0), _epsilon_at(extra, Fraction(self.amount), slack))), slack)

    @classmethod
    def within(cls, target: Approx) -> "Zcdp":
        """Return the largest rho, to twelve digits, whose conversion stays within a target.

        Parameters
        ----------
        target : Approx
            A loss with a finite epsilon and a delta above 0.

        Returns
        -------
        Zcdp
            The budget as a rho, for which composition is tighter.

        Examples
        --------
        >>> Zcdp.within(Approx(1, 1e-6)), Zcdp.within(Approx(1, 1e-6)) <= Approx(1, 1e-6)
        (Zcdp(0.024356), True)
        """
        if not isinstance(target, Approx):
            reject("`target` must be Approx", type(target).__name__, "write Approx(1, 1e-6)", TypeError)
        if target.slack == 0 or target.amount == math.inf:
            consequence = "otherwise no largest finite rho exists"
            reject("`target` must have a finite epsilon and a delta above 0", target, consequence)

        def exceeds(rho: float) -> bool:
            return not cls(rho) <= target

        return cls(bisect(exceeds, *bracket(exceeds, 0.0, 1.0), rtol=1e-12)[0])

    def __add__(self, other: "Loss") -> "Loss":
        if isinstance(other, Approx):
            return other + self
        if isinstance(other, Pure):
            return Zcdp(self.amount + other.to_zcdp().amount)
        return Zcdp(self.amount + other.amount) if isinstance(other, Zcdp) else NotImplemented

    def __le__(self, other: "Loss") -> bool:
        if isinstance(other, Zcdp):
            return self.amount <= other.amount
        if isinstance(other, Approx) and other.slack > 0:
            return self.to_approx(other.slack).amount <= other.amount
        return self.amount == 0 or other.amount == math.inf if isinstance(other, Pure | Approx) else NotImplemented

    def __repr__(self) -> str:
        return f"Zcdp({digits_up(self.rho)})"

    def __str__(self) -> str:
        return f"ρ = {format_amount(self.amount)}"


Loss: TypeAlias = Pure | Approx | Zcdp

WEAK = 10
"""Above this epsilon, a guess which of two people's data were used may be wrong in fewer than 1 of 22,000 cases."""


class WeakPromiseWarning(UserWarning):
    """A warning about a release whose loss is so large that it protects almost nothing.

    Examples
    --------
    >>> issubclass(WeakPromiseWarning, UserWarning)
    True
    """


def warn_if_weak(loss: Loss) -> None:
    """Warn about a loss beyond `WEAK`."""
    most = Pure(WEAK).to_zcdp() if isinstance(loss, Zcdp) else Pure(WEAK)
    if loss.amount <= most.amount:
        return
    message = (
        f"a promise should be at most {most}, got {loss}: whoever compares two people's data with the result "
        "is nearly sure whose they are, so that next to nothing is promised; epsilons of 0.1 to 3 are usual."
    )
    warn(message, WeakPromiseWarning)


@dataclass(frozen=True)
class AsymptoticPromise:
    """Epsilon and delta that hold as n grows, for well-behaved populations.

    A ledger rejects such a loss: it depends on the data, and no sample size makes it valid for all data.

    Parameters
    ----------
    epsilon : float
        Epsilon in the limit.
    delta : float
        Delta in the limit.

    Examples
    --------
    >>> str(AsymptoticPromise(1.0, 1e-6))
    'ε = 1, δ = 1e-06 as n → ∞'
    """

    epsilon: float
    delta: float

    reason: ClassVar[str] = "it holds as n → ∞ for well-behaved populations; adversarial data break it at any n"

    __repr__ = concise

    def __str__(self) -> str:
        return f"ε = {self.epsilon:g}, δ = {self.delta:g} as n → ∞"


@lru_cache(maxsize=1024)
def format_amount(amount: Amount) -> str:
    """Format an amount with three significant digits, or with the infinity sign."""
    if amount >= 10**300:
        return "∞"
    digits = f"{float(amount):.3g}"
    return f"{float(digits):,.0f}" if 1000 <= float(digits) < 1e15 else digits


def _float(amount: Amount) -> float:
    """Return the smallest float whose decimal representation is at least the amount."""
    return float_up(amount) if isinstance(amount, Fraction) and amount < 10**300 else math.inf


def _amount(value: Number, name: str) -> Amount:
    if isinstance(value, float) and value == math.inf:
        return math.inf
    number = exact_fraction(value, name)
    if number < 0:
        reject(f"`{name}` must not be negative", value, "a loss is never below zero")
    return number


def _delta(value: Number) -> Fraction:
    number = exact_fraction(value, "delta")
    if not 0 <= number <= 1:
        reject("`delta` must lie between 0 and 1", value, "it is a probability")
    return number


def _geometric_up(epsilon: Amount, terms: int) -> Fraction:
    """Return 1 + e**epsilon + … + e**((terms-1) epsilon), rounded up; 10**400 if it exceeds every float."""
    exponent = epsilon * terms
    if exponent > 700:  # e**exponent exceeds every float
        return Fraction(10**400)
    if exponent < Fraction(1, 10**6):  # e**x is at most 1 + 2 x here, and the quotient below would be inexact
        return terms * (1 + 2 * Fraction(exponent))
    return Fraction(math.expm1(exponent) / math.expm1(epsilon)) * (1 + Fraction(1, 10**9))


def _best_order(rho: float, log_inverse_delta: float) -> float:
    """Find the order, minus 1, with about the smallest epsilon, by golden-section search on its logarithm."""

    def epsilon(position: float) -> float:
        extra = math.exp(position)
        return (1 + extra) * rho + (log_inverse_delta - math.log1p(extra)) / extra - math.log1p(1 / extra)

    low, high, ratio = -30.0, 60.0, (math.sqrt(5) - 1) / 2
    for _ in range(120):
        first, second = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, second) if epsilon(first) <= epsilon(second) else (first, high)
    return math.exp((low + high) / 2)


def _epsilon_at(extra: Fraction, rho: Fraction, delta: Fraction) -> Fraction:
    """Return the epsilon at the order 1 + extra, rounded up; extra lies between e**-30 and e**60."""
    return (1 + extra) * rho - (_log(delta) + _log(1 + extra)) / extra - _log(1 + 1 / extra) + _ERROR


def _log(ratio: Fraction) -> Fraction:
    return Fraction(to_decimal(ratio, _PRECISE).ln(_PRECISE))


@explain_call("subsampled(Pure(1.0), 0.1)", rate="the probability of being in the sample")
def subsampled(loss: Loss, rate: Number) -> Pure | Approx:
    """Return the loss of a release from a secret random sample: amplification by subsampling.

    The loss is ln(1 + rate (e**epsilon - 1)) and rate * delta, rounded up (Balle, Barthe and Gaboardi 2018). With
    neighbors "add_remove", everybody is in the sample with probability `rate`, independently. With neighbors "replace",
    the sample has a fixed size, and `rate` is its share of a population of known size. **Claim this loss only if**
    nobody but the sampler learns who is in the sample.

    Parameters
    ----------
    loss : Pure or Approx
        The loss of the release for a person in the sample.
    rate : number
        The probability of being in the sample.

    Returns
    -------
    Pure or Approx
        The loss if nobody knows who is in the sample.

    Examples
    --------
    >>> subsampled(Pure(1.0), rate=0.01)
    Pure(0.0170369)
    """
    share = exact_fraction(rate, "rate")
    if not 0 <= share <= 1:
        reject("`rate` must lie between 0 and 1", rate, "it is the probability of being in the sample")
    if isinstance(loss, Zcdp) or not isinstance(loss, Pure | Approx):
        consequence = "convert a Zcdp first with .to_approx(delta)"
        reject("`loss` must be Pure or Approx", type(loss).__name__, consequence, TypeError)
    epsilon = math.inf if share else 0.0
    if loss.amount != math.inf and loss.amount < 700:
        above = 1 / exp_below(-Fraction(loss.amount))
        epsilon = log_up(1 + share * (above - 1)) if above > 1 else 0.0
    amount = min(epsilon, loss.epsilon)
    return Pure(amount) if isinstance(loss, Pure) else Approx(amount, share * loss.slack)
