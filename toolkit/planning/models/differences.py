"""`plan_difference`: sample sizes for the difference between two groups, with the test that the analysis uses."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array
from toolkit.core.checks import (
    Number,
    check_integer,
    check_level,
    check_positive,
    check_probability,
    exact_fraction,
    explain_call,
    reject,
)
from toolkit.core.inference.contrasts import mover
from toolkit.core.inference.intervals import Shares
from toolkit.core.inference.special import gammaln, ndtr, ndtri, xlog1py, xlogy
from toolkit.core.search import smallest_integer_where
from toolkit.local.design import Design, has_matrix
from toolkit.local.protocol import Randomizer
from toolkit.planning.accuracy import critical_value
from toolkit.planning.families import is_randomizer
from toolkit.planning.fieldwork import whole_people

_MAX_EXACT_N = 50_000  # the largest size of the larger group for which power is exact
_MIN_PROBABILITY = 1e-14
_CHECKED_SIZES = 12  # the number of larger sizes that must also reach the power, which is a sawtooth in n


@dataclass(frozen=True)
class DifferencePlan:
    """A plan for a comparison of two groups, as returned by `plan_difference`.

    Parameters
    ----------
    design : Design
        The design of the question.
    prevalence : tuple of float
        The shares of both groups.
    n : tuple of int
        The number of people whose reports arrive, in each of the two groups.
    level : float
        The confidence level.
    margin : float
        Half the width of the interval of the difference.
    power : float
        The power of the test of no difference.
    notes : tuple of str
        Notes on how the power was computed.

    Examples
    --------
    >>> from toolkit import forced
    >>> plan_difference(forced("1/6", "1/6"), prevalence=(0.1, 0.2), n=689).power > 0.8
    True
    """

    design: Design
    prevalence: tuple[float, ...]
    n: tuple[int, int]
    level: float
    margin: float
    power: float
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        first, second = self.n
        return (
            f"<DifferencePlan: {first:,} and {second:,} people, power {self.power:.4g} to tell "
            f"{self.prevalence[0]:g} from {self.prevalence[1]:g}, margin ±{100 * self.margin:.3g} points; "
            f"{self.design.name}>"
        )


@explain_call('plan_difference(forced("1/6", "1/6"), prevalence=(0.1, 0.2), power=0.8)')
def plan_difference(
    design: Design,
    *,
    prevalence: tuple[Number, Number],
    n: int | None = None,
    power: Number | None = None,
    margin: Number | None = None,
    level: Number = 0.95,
    ratio: Number = 1,
    deff: Number = 1,
    weighting: Number = 1,
) -> DifferencePlan:
    """Plan a comparison of two groups, given n, a power or a margin.

    The test is two-sided and agrees with the default interval of a difference (MOVER). For up to 50,000 people per
    group its power is computed exactly, from the binomial distributions of the reports, and the 12 sizes above n reach
    the target as well. Margins, and power with a design effect or weights, use the normal approximation.

    Parameters
    ----------
    design : Design
        A design with two answers and two reports.
    prevalence : tuple of two numbers
        The shares of both groups.
    n : int, optional
        The number of people in the first group.
    power, margin : number, optional
        The target, in place of n.
    level : number
        The confidence level; the test has size 1 - level.
    ratio : number
        The size of the second group, divided by the size of the first.
    deff, weighting : number
        As for `plan`.

    Returns
    -------
    DifferencePlan
        A plan with the numbers of people, the margin and the power.

    Examples
    --------
    >>> from toolkit import forced
    >>> plan_difference(forced("1/6", "1/6"), prevalence=(0.1, 0.2), power=0.8).n
    (689, 689)
    """
    case = _DifferenceCase(
        _check_binary(design),
        tuple(float(check_probability(share, "prevalence")) for share in _check_pair(prevalence)),
        check_level(level),
        float(check_positive(ratio, "ratio", "it compares numbers of people")),
        float(check_positive(deff, "deff", "it multiplies a variance")),
        float(check_positive(weighting, "weighting", "it multiplies a variance")),
    )
    n_people = people_for_target(n, margin, power, case.level, case.people_for_margin, case.people_for_power)
    notes = (f"two-sided test at {100 * (1 - case.level):.3g} %, power {case.power_method(n_people)}",)
    return DifferencePlan(
        design, case.shares, case.sizes(n_people), case.level, case.margin(n_people), case.power(n_people), notes
    )


@dataclass(frozen=True)
class _DifferenceCase:
    design: Design
    shares: tuple[float, ...]
    level: float
    ratio: float
    deff: float
    weighting: float

    def sizes(self, n_people: int) -> tuple[int, int]:
        return n_people, whole_people(n_people * self.ratio)

    def _variance(self, n_people: int) -> float:
        total = 0.0
        for share, size in zip(self.shares, self.sizes(n_people), strict=True):
            noise = float(np.asarray(self.design.variance(share, 1, respondents="fixed")))
            total += self.weighting * (noise + self.deff * share * (1 - share)) / size
        return total

    def margin(self, n_people: int) -> float:
        return critical_value(self.level, 2) * math.sqrt(self._variance(n_people))

    def _is_exact(self, n_people: int) -> bool:
        return self.deff == self.weighting == 1 and max(self.sizes(n_people)) <= _MAX_EXACT_N

    def power_method(self, n_people: int) -> str:
        return "computed from the binomial distributions" if self._is_exact(n_people) else "by the normal approximation"

    def power(self, n_people: int) -> float:
        if self._is_exact(n_people):
            return difference_power(self.design, self.shares, self.sizes(n_people), self.level)
        gap = abs(self.shares[0] - self.shares[1])
        return float(ndtr(gap / math.sqrt(self._variance(n_people)) - critical_value(self.level, 2)))

    def people_for_margin(self, margin: float) -> int:
        return smallest_integer_where(lambda n_people: self.margin(n_people) <= margin, 1, 64)

    def people_for_power(self, power: float) -> int:
        gap = abs(self.shares[0] - self.shares[1])
        if gap == 0:
            reject("the shares must differ", self.shares[0], "write prevalence=(0.1, 0.2), for example")
        z = critical_value(self.level, 2) + float(ndtri(power))
        rough = max(2, math.ceil(self._variance(10**6) * 10**6 * (z / gap) ** 2))
        if not self._is_exact(rough + _CHECKED_SIZES):
            return rough
        return enough_people(self.power, max(2, int(0.9 * rough)), power)


def people_for_target(
    n: int | None,
    margin: Number | None,
    power: Number | None,
    level: float,
    for_margin: Callable[[float], int],
    for_power: Callable[[float], int],
) -> int:
    """Return the size of the first group: n if given, otherwise enough people for the margin or power."""
    if sum(goal is not None for goal in (n, power, margin)) != 1:
        reject("exactly one of n, power and margin must be given", "none or several of them", "write power=0.8 alone")
    if margin is not None:
        return for_margin(float(check_positive(margin, "margin", "every sample has an error")))
    return check_integer(n, "n", minimum=2) if power is None else for_power(check_power(power, level))


def enough_people(power: Callable[[int], float], start: int, target: float) -> int:
    """Return the smallest size, at least `start`, that reaches the power together with the next 12 sizes."""
    n_people, enough = start, 0
    while enough <= _CHECKED_SIZES:
        enough = enough + 1 if power(n_people) >= target else 0
        n_people += 1
    return n_people - enough


def check_power(power: Number, level: float) -> float:
    """Check that a power lies between 1 - level, the size of the test, and 1."""
    target = float(exact_fraction(power, "power"))
    if not 1 - level < target < 1:
        rule = f"`power` must lie between {1 - level:.3g} and 1"
        reject(rule, power, "write 0.8 for 80 percent")
    return target


def difference_power(design: Design, shares: tuple[float, ...], sizes: tuple[int, int], level: float = 0.95) -> float:
    """Return the probability that the default interval of a difference excludes 0, over all pairs of counts."""
    (p, *a), (q, *b) = (_group_counts(design, share, size, level) for share, size in zip(shares, sizes, strict=True))
    low, high = mover(*(part[:, None] for part in a), *b)
    return float(p @ ((low > 0) | (high < 0)) @ q)


def _group_counts(design: Design, share: float, size: int, level: float) -> tuple[Array, Array, Array, Array]:
    """Return the probabilities of the counts of one group, with their estimates and unclipped limits."""
    no, yes = design.matrix[0, 1], design.matrix[1, 1]
    likely, chances = binomial_support(size, float(no + (yes - no) * share))
    ones = np.ones(len(likely))
    basis = Shares.from_support(likely.astype(np.float64), size, yes * ones, no * ones)
    low, high = basis.uncut(level, "wilson")
    return chances, basis.value, low, high


def binomial_support(n: int, p: float) -> tuple[npt.NDArray[np.intp], Array]:
    """Return the counts of a Binomial(n, p) that are not negligible, with their probabilities.

    For n up to 50,000, the omitted probabilities total less than 1e-9.
    """
    k = np.arange(n + 1)
    log_binomial = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    chances = np.exp(log_binomial + xlogy(k, p) + xlog1py(n - k, -p))
    likely = np.flatnonzero(chances > _MIN_PROBABILITY)
    return likely, np.asarray(chances[likely])


def _check_binary(design: Randomizer) -> Design:
    if not is_randomizer(design) or not has_matrix(design) or design.matrix.shape != (2, 2):
        rule = "`design` must have two answers and two reports"
        reject(rule, type(design).__name__, "other differences are planned by simulation", TypeError)
    return design


def _check_pair(shares: object) -> tuple[Number, Number]:
    if not isinstance(shares, tuple | list) or len(shares) != 2:
        reject("`prevalence` must be the shares of two groups", type(shares).__name__, "write (0.1, 0.2)", TypeError)
    return shares[0], shares[1]
