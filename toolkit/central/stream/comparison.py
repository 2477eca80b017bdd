"""A comparison of methods that publish a total every period: how errors grow with the number of periods."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from toolkit.central.stream.calibration import lowest_error_factorization
from toolkit.central.stream.factorization import Factorization
from toolkit.central.stream.roots import SquareRoot, root_coefficients
from toolkit.central.stream.trees import Tree, averaged_error_factors, binary_tree, candidate_trees
from toolkit.core.arrays import Array
from toolkit.core.checks import check_choice, check_integer, reject
from toolkit.core.inference.digits import concise
from toolkit.core.loss import Pure, Zcdp


@dataclass(frozen=True)
class Error:
    """Standard deviations of the totals over all periods.

    Parameters
    ----------
    largest : float
        The largest standard deviation over all periods.
    typical : float
        The root mean square of the standard deviations of all periods.

    Examples
    --------
    >>> error("fresh noise for every period", Zcdp(0.5), 4).largest
    2.0
    """

    largest: float
    typical: float

    __repr__ = concise


Properties: TypeAlias = tuple[float, float, Array]
"""The L1 sensitivity, the squared L2 sensitivity, and the error factor of every period."""


def _properties(factorization: Factorization, factors: Array | None = None) -> Properties:
    factors = factorization.error_factors if factors is None else factors
    return float(factorization.l1_sensitivity()), float(factorization._l2_squared()), factors


def _plain_root(periods: int) -> Properties:
    entries = root_coefficients(periods, unit=1.0)
    squares = np.cumsum(entries**2)
    return float(entries.sum()), float(squares[-1]), np.asarray(np.sqrt(squares))


_METHODS: dict[str, Callable[[int, Pure | Zcdp], Properties]] = {
    "a share of the loss for every total": lambda count, _: (count, count, np.ones(count)),
    "fresh noise for every period": lambda count, _: _properties(Tree(count)),
    "binary tree": lambda count, _: _properties(binary_tree(count)),
    "binary tree, averaged from below": lambda count, _: _properties(
        binary_tree(count), averaged_error_factors(binary_tree(count))
    ),
    "best tree": lambda count, loss: _properties(lowest_error_factorization(candidate_trees(count), loss)),
    "square root": lambda count, _: _plain_root(count),
    "square root, columns of equal length": lambda count, _: _properties(SquareRoot(count)),
}
NAMES = tuple(_METHODS)


def error(name: str, loss: Pure | Zcdp, periods: int) -> Error:
    """Compute the error of one method for continuous noise at event level under "add_remove".

    The naive method spends a share of the loss on every total. Averaging from below (Honaker 2015) and the plain square
    root are included for comparison only; a `RunningTotal` uses the best of the other methods.

    Parameters
    ----------
    name : str
        The name of a method, as returned by `compare`.
    loss : Pure or Zcdp
        The total loss of all periods.
    periods : int
        The total number of periods.

    Returns
    -------
    Error
        The largest standard deviation of the totals and the root mean square.

    Examples
    --------
    >>> round(error("binary tree", Pure(1), 52).largest, 2)
    18.97
    """
    check_choice(name, "name", NAMES)
    if not isinstance(loss, Pure | Zcdp) or not 0 < loss.amount < math.inf:
        reject(
            "`loss` must be Pure or Zcdp, above 0 and finite",
            loss,
            "choose an amount that noise can be calibrated to",
            TypeError,
        )
    l1, l2_squared, factors = _METHODS[name](check_integer(periods, "periods"), loss)
    amount = float(loss.amount)
    sd = math.sqrt(2) * l1 / amount if isinstance(loss, Pure) else math.sqrt(l2_squared / (2 * amount))
    return Error(sd * float(factors.max()), sd * float(np.sqrt(np.mean(factors**2))))


def compare(loss: Pure | Zcdp, periods: int) -> dict[str, Error]:
    """Compute the error of every method.

    Parameters
    ----------
    loss : Pure or Zcdp
        The total loss of all periods.
    periods : int
        The total number of periods.

    Returns
    -------
    dict of str to Error
        The error of each method, by name.

    Examples
    --------
    >>> round(compare(Pure(1), 52)["best tree"].largest, 2)
    9.8
    """
    return {name: error(name, loss, periods) for name in NAMES}


def crossing(loss: Pure | Zcdp, first: str, second: str, *, up_to: int = 1024) -> int | None:
    """Find the smallest number of periods at which the second method has a lower maximum error than the first.

    Parameters
    ----------
    loss : Pure or Zcdp
        The total loss of all periods.
    first : str
        The name of the method that is better for few periods.
    second : str
        The name of the method that is better for many periods.
    up_to : int
        The largest number of periods to try.

    Returns
    -------
    int or None
        The number of periods; None if the second method is not better up to `up_to`.

    Examples
    --------
    >>> crossing(Zcdp(0.5), "fresh noise for every period", "binary tree")
    13
    """
    for periods in range(1, check_integer(up_to, "up_to") + 1):
        # Errors that differ by less than a billionth, which may be rounding, count as equal.
        if error(second, loss, periods).largest < (1 - 1e-9) * error(first, loss, periods).largest:
            return periods
    return None
