"""All ways to publish a total every period, side by side: how errors grow with the number of periods."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from toolkit.central.stream.roots import SquareRoot, root
from toolkit.central.stream.trees import Tree, binary, candidates, from_below
from toolkit.central.stream.ways import Way, smallest
from toolkit.core.arrays import Array
from toolkit.core.checks import choice, refuse, whole
from toolkit.core.inference.digits import concise
from toolkit.core.loss import Pure, Zcdp


@dataclass(frozen=True)
class Error:
    """Standard deviations of the totals, as `error` and `compare` return them.

    Parameters
    ----------
    largest : float
        The largest over the periods.
    typical : float
        The root of the mean square.

    Examples
    --------
    >>> error("fresh noise for every period", Zcdp(0.5), 4).largest
    2.0
    """

    largest: float
    typical: float

    __repr__ = concise


Measured: TypeAlias = tuple[float, float, Array]
"""How far one record moves what is measured, absolute and squared, and the spread of the totals."""


def _of(way: Way, spread: Array | None = None) -> Measured:
    return float(way.absolute()), float(way.squared()), way.spread if spread is None else spread


def _plain_root(periods: int) -> Measured:
    entries = root(periods, one=1.0)
    squares = np.cumsum(entries**2)
    return float(entries.sum()), float(squares[-1]), np.asarray(np.sqrt(squares))


_WAYS: dict[str, Callable[[int, Pure | Zcdp], Measured]] = {
    "a share of the loss for every total": lambda count, _: (count, count, np.ones(count)),
    "fresh noise for every period": lambda count, _: _of(Tree(count)),
    "binary tree": lambda count, _: _of(binary(count)),
    "binary tree, averaged from below": lambda count, _: _of(binary(count), from_below(binary(count))),
    "best tree": lambda count, loss: _of(smallest(candidates(count), loss)),
    "square root": lambda count, _: _plain_root(count),
    "square root, columns of equal length": lambda count, _: _of(SquareRoot(count)),
}
NAMES = tuple(_WAYS)


def error(name: str, loss: Pure | Zcdp, periods: int) -> Error:
    """Compute the error of one way, for continuous noise, at event level, under "add_remove".

    A share of the loss for every total is what comes to mind first. Averaging from below (Honaker 2015) and
    the plain square root are here to be compared; a `RunningTotal` draws with the best of the others.

    Parameters
    ----------
    name : str
        One of the names that `compare` gives.
    loss : Pure or Zcdp
        Of all periods together.
    periods : int
        How many periods there will be.

    Returns
    -------
    Error
        Standard deviations of the totals: the largest, and the root of the mean square.

    Examples
    --------
    >>> round(error("binary tree", Pure(1), 52).largest, 2)
    18.97
    """
    choice(name, "name", NAMES)
    if not isinstance(loss, Pure | Zcdp) or not 0 < loss.amount < math.inf:
        refuse("`loss` must be Pure or Zcdp, above 0 and finite", loss, "noise is fitted to it", TypeError)
    absolute, squared, spread = _WAYS[name](whole(periods, "periods"), loss)
    amount = float(loss.amount)
    unit = math.sqrt(2) * absolute / amount if isinstance(loss, Pure) else math.sqrt(squared / (2 * amount))
    return Error(unit * float(spread.max()), unit * float(np.sqrt(np.mean(spread**2))))


def compare(loss: Pure | Zcdp, periods: int) -> dict[str, Error]:
    """Compute the error of every way.

    Parameters
    ----------
    loss : Pure or Zcdp
        Of all periods together.
    periods : int
        How many periods there will be.

    Returns
    -------
    dict of str to Error
        By name.

    Examples
    --------
    >>> round(compare(Pure(1), 52)["best tree"].largest, 2)
    9.8
    """
    return {name: error(name, loss, periods) for name in NAMES}


def crossing(loss: Pure | Zcdp, first: str, second: str, *, up_to: int = 1024) -> int | None:
    """Find the smallest number of periods at which the largest error of one way is below that of another.

    Parameters
    ----------
    loss : Pure or Zcdp
        Of all periods together.
    first : str
        The way that is better for few periods.
    second : str
        The other.
    up_to : int
        Where the search ends.

    Returns
    -------
    int or None
        The number of periods; None where there is none up to the end.

    Examples
    --------
    >>> crossing(Zcdp(0.5), "fresh noise for every period", "binary tree")
    13
    """
    for periods in range(1, whole(up_to, "up_to") + 1):
        # a billionth, so that two that are equal but for their last digits do not cross
        if error(second, loss, periods).largest < (1 - 1e-9) * error(first, loss, periods).largest:
            return periods
    return None
