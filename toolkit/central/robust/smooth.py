"""Local sensitivity, the effect of one person on a statistic of given values, and its smooth upper bound.

Both sensitivities depend on the data, so neither may be published. Noise must not be scaled to the local sensitivity: a
scale of 0 would reveal that the values agree. The functions of this module are for teaching and for planning with
assumed data. The releases of `toolkit.central.robust.releases` never reveal the sensitivities that they compute. All
functions assume "replace", where n is public.

References: Nissim, Raskhodnikova and Smith, Smooth sensitivity and sampling in private data analysis (2007).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from toolkit.central.robust.ranks import RankStatistic
from toolkit.core.arrays import Array, object_array
from toolkit.core.checks import Number, check_bounds, check_positive, exact_fraction, float_array, quietly, reject
from toolkit.frames.sums import BoundsLike

Table: TypeAlias = tuple[Any, ...]
Function: TypeAlias = Callable[[Sequence[Any]], Any]

MAX_TABLES = 100_000


def tables(domain: Sequence[Any], n: int) -> list[Table]:
    """Return all tables of n values of the domain; tables are sorted, because the order of rows does not matter."""
    number = comb(len(domain) + n - 1, n)
    if number > MAX_TABLES:
        reject(f"`domain` must allow at most {MAX_TABLES:,} tables", f"{number:,}", "the function is called on each")
    return list(combinations_with_replacement(sorted(domain), n))


def neighbors(table: Table, domain: Sequence[Any]) -> Iterator[Table]:
    """Yield the tables that result if one value of the table is replaced."""
    for i in range(len(table)):
        if i and table[i] == table[i - 1]:
            continue
        others = table[:i] + table[i + 1 :]
        yield from (tuple(sorted((*others, value))) for value in domain if value != table[i])


def distance(first_table: Table, second_table: Table) -> int:
    """Return the number of values that must be replaced to turn one table into the other."""
    return len(first_table) - sum((Counter(first_table) & Counter(second_table)).values())


def local_by_brute_force(function: Function, values: Sequence[Any], domain: Sequence[Any]) -> Any:
    """Return the largest change of the function from this table to any neighbor with values of the domain."""
    table = _sort_within(values, domain)
    start = function(list(table))
    return max((abs(function(list(neighbor)) - start) for neighbor in neighbors(table, domain)), default=0)


def sensitivities_by_brute_force(function: Function, values: Sequence[Any], domain: Sequence[Any]) -> list[Any]:
    """Return the largest local sensitivity of any table at a distance of at most k, for k = 0 ... n."""
    table = _sort_within(values, domain)
    all_tables = tables(domain, len(table))
    results = {other: function(list(other)) for other in all_tables}
    sensitivities: list[Any] = [0] * (len(table) + 1)
    for other in all_tables:
        change = max((abs(results[neighbor] - results[other]) for neighbor in neighbors(other, domain)), default=0)
        k = distance(table, other)
        sensitivities[k] = max(sensitivities[k], change)
    for k in range(len(table)):
        sensitivities[k + 1] = max(sensitivities[k + 1], sensitivities[k])
    return sensitivities


def _sort_within(values: Sequence[Any], domain: Sequence[Any]) -> Table:
    table = tuple(sorted(values))
    if not set(table) <= set(domain):
        reject("`values` must be values of the `domain`", "others", "only tables of such values are compared")
    return table


Statistic = str | Callable[[Sequence[Any]], Any]


def local_sensitivity(
    statistic: Statistic,
    values: Any,
    *,
    bounds: Any = None,
    domain: Sequence[Any] | None = None,
    rank: int | None = None,
    trim: int | None = None,
) -> Any:
    """Compute the largest change of the statistic when one of these values is replaced.

    Parameters
    ----------
    statistic : str or callable
        "median", "midpoint", "rank", "trimmed" or "iqr" (the difference of the values of ranks 3n/4 and n/4, rounded
        up), or a function of a list that does not depend on the order.
    values : array-like
        The values.
    bounds : pair of number, optional
        Public limits to which values are clamped; required for a named statistic.
    domain : sequence, optional
        All possible values; required for a function. The domain must be small, because every neighbor is evaluated.
    rank : int, optional
        The rank of the value, for "rank".
    trim : int, optional
        The number of values removed at each end, for "trimmed".

    Returns
    -------
    Fraction or number
        The largest change; for a function, it has the type that the function returns.

    Examples
    --------
    >>> local_sensitivity("median", [0, 0, 0, 0, 100], bounds=(0, 100))
    Fraction(0, 1)
    >>> local_sensitivity("median", [0, 0, 0, 100, 100], bounds=(0, 100))
    Fraction(100, 1)
    >>> local_sensitivity(max, [1, 2, 3], domain=range(10))
    6
    """
    if not isinstance(statistic, str):
        return local_by_brute_force(statistic, list(values), _check_domain(domain))
    ranks, ordered, (low, high) = _prepare(statistic, _exact_values(values), bounds, rank, trim)
    return Fraction(ranks._sensitivity_at(ordered, low, high, 0)) / ranks.divisor


def smooth_sensitivity(
    statistic: Statistic,
    values: Any,
    *,
    bounds: Any = None,
    domain: Sequence[Any] | None = None,
    beta: Number | None = None,
    q: Number | None = None,
    rank: int | None = None,
    trim: int | None = None,
) -> Any:
    """Compute the maximum over k of e**(-beta k) times the largest local sensitivity at distance k.

    The result is at least the local sensitivity, and changes by at most a factor e**beta between neighbors.

    Parameters
    ----------
    statistic : str or callable
        As for `local_sensitivity`.
    values : array-like
        The values.
    bounds : pair of number, optional
        As for `local_sensitivity`.
    domain : sequence, optional
        As for `local_sensitivity`.
    beta : number, optional
        The rate at which sensitivities are discounted with distance.
    q : number, optional
        A rational number that replaces e**-beta. The result is then an exact Fraction, and changes by at most a factor
        1/q between neighbors.
    rank : int, optional
        The rank of the value, for "rank".
    trim : int, optional
        The number of values removed at each end, for "trimmed".

    Returns
    -------
    float or Fraction
        The smooth sensitivity.

    Examples
    --------
    >>> round(smooth_sensitivity("median", [2, 4, 5, 7, 9], bounds=(0, 10), beta=0.1), 6)
    6.065307
    >>> smooth_sensitivity("median", [2, 4, 5, 7, 9], bounds=(0, 10), q="17/20")
    Fraction(751689, 160000)
    """
    discount = _discount_factor(beta, q)
    if not isinstance(statistic, str):
        sensitivities = sensitivities_by_brute_force(statistic, list(values), _check_domain(domain))
        return max(sensitivity_at * discount**k for k, sensitivity_at in enumerate(sensitivities))
    numbers = _exact_values(values) if isinstance(discount, Fraction) else _finite_floats(values)
    ranks, ordered, ends = _prepare(statistic, numbers, bounds, rank, trim)
    if isinstance(discount, Fraction):
        return (
            _maximize_discounted(lambda k: ranks._sensitivity_at(ordered, *ends, k), ranks.n, discount) / ranks.divisor
        )
    low, high = map(float, ends)
    return (
        float(_maximize_discounted(lambda k: ranks._sensitivity_at(ordered, low, high, k), ranks.n, discount))
        / ranks.divisor
    )


def _maximize_discounted(sensitivity_at: Callable[[int], Any], n: int, discount: Any) -> Any:
    """Maximize discount**k sensitivity_at(k) over k = 0 ... n, where the sensitivity is non-decreasing in k.

    For k between l and r the product is at most discount**l sensitivity_at(r). Intervals whose bound does not exceed
    the best value so far are skipped.
    """
    evaluated = {0: sensitivity_at(0), n: sensitivity_at(n)}
    best = max(evaluated[0], discount**n * evaluated[n])
    intervals = [(0, n)]
    while intervals:
        low_k, high_k = intervals.pop()
        if discount ** (low_k + 1) * evaluated[high_k] <= best:  # true if no k lies in between
            continue
        middle = (low_k + high_k) // 2
        evaluated[middle] = sensitivity_at(middle)
        best = max(best, discount**middle * evaluated[middle])
        intervals += [(middle, high_k), (low_k, middle)]
    return best


def _discount_factor(beta: Number | None, q: Number | None) -> Fraction | float:
    if (beta is None) == (q is None):
        reject("exactly one of `beta` and `q` must be given", "none" if q is None else "both", "q is e**-beta")
    if q is None and beta is not None:
        return math.exp(-float(check_positive(beta, "beta", "at 0 the result is the global sensitivity")))
    discount = exact_fraction(q if q is not None else 0, "q")
    if not 0 < discount < 1:
        reject("`q` must lie between 0 and 1", q, "it stands for e**-beta")
    return discount


def _prepare(
    statistic: str, values: npt.NDArray[Any], bounds: BoundsLike, rank: int | None, trim: int | None
) -> tuple[RankStatistic, npt.NDArray[Any], tuple[Fraction, Fraction]]:
    """Return the statistic, the values clamped and sorted, and the bounds."""
    low, high = check_bounds(bounds)
    ranks = RankStatistic.from_name(statistic, len(values), rank=rank, trim=trim)
    ends = (low, high) if values.dtype == object else (float(low), float(high))
    return ranks, np.sort(np.clip(values, *ends)), (low, high)


def _exact_values(values: Any) -> npt.NDArray[Any]:
    return object_array(quietly(lambda: [exact_fraction(value, "values") for value in values], *_FINITE))


def _finite_floats(values: Any) -> Array:
    numbers = (
        float_array(values, "values") if hasattr(values, "__array__") else _exact_values(values).astype(np.float64)
    )
    return numbers if np.all(np.isfinite(numbers)) else reject(*_FINITE)


_FINITE = ("`values` must be finite numbers", "others", "fill or drop missing and infinite values first", ValueError)


def _check_domain(domain: Sequence[Any] | None) -> Sequence[Any]:
    if domain is None:
        reject("`domain` must be given for a function", "none", "the function is called on all tables of its values")
    return list(domain)
