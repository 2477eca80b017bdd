"""Means, variances and covariances as sums of integers: for each row terms that are not negative and add up
to one unit.

With t from -1 to 1 for a value between its bounds, a row adds (1-t)/2 and (1+t)/2 for a mean, and
((1-t)/2)**2, (1-t)(1+t)/2 and ((1+t)/2)**2 for a variance: one unit in all, so one person who comes or goes
moves the whole vector by 1 in L1, and the count comes with it. (Fitzsimons, Honaker, Shoemate and Singhal
2024; Kulesza, Suresh and Wang 2024.) Where only one cell is, and a record changes, other coordinates are
better with Laplace noise: count and centred sum lie apart, and only one of them moves within the cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from operator import add
from typing import Any

import numpy as np

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.sensitivity import Sensitivity, table_shares
from toolkit.core.arrays import Array
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Loss, Zcdp
from toolkit.core.randomness import Rng
from toolkit.frames.persons import ONE, Caps


@dataclass(frozen=True)
class Composed:
    """Several mechanisms as one: their losses add up, and each draws for its own value."""

    parts: tuple[Laplace | Gaussian, ...]

    @property
    def loss(self) -> Loss:
        return reduce(add, (part.loss for part in self.parts))

    @property
    def zcdp(self) -> Zcdp:
        """The parts' concentrated costs added up: less than what the sum of their epsilons would cost."""
        costs = (part.zcdp if isinstance(part, Gaussian) else part.loss.to_zcdp() for part in self.parts)
        return Zcdp(sum((Fraction(cost.amount) for cost in costs), Fraction(0)))

    def facts(self) -> dict[str, Any]:
        """What a document says of it."""
        parts = [part.facts() | {"loss": str(part.loss)} for part in self.parts]
        words = f"{type(self.parts[0]).__name__} noise for each column"
        return {"mechanism": type(self).__name__, "words": words, "parts": parts}

    def release(self, value: Any, rng: Rng = None) -> tuple[Estimate, ...]:
        """One estimate per part."""
        return tuple(part.release(number, rng=rng) for part, number in zip(self.parts, value, strict=True))


Matrix = tuple[tuple[Fraction | int, ...], ...]
_HALF = Fraction(1, 2)


@dataclass(frozen=True, eq=False)
class Coding:
    """What is released of a cell.

    Parameters
    ----------
    terms : each entry, an integer, as a combination of the sums of powers of steps.
    back : each sum of powers of t as a combination of the entries, divided by `unit`: number first.
    unit : what a row adds in all.
    sensitivity : how far one person moves all entries of all cells.
    """

    terms: Matrix
    back: Matrix
    unit: int
    sensitivity: Sensitivity

    @property
    def size(self) -> int:
        return len(self.terms)

    def entries(self, sums: Sequence[Sequence[int]]) -> list[int]:
        """Of the sums of powers of each cell, one cell after the other."""
        factors = np.array([[int(factor) for factor in term] for term in self.terms], dtype=object)
        powers = np.array(sums, dtype=object).reshape(-1, factors.shape[1])
        found: list[int] = (powers @ factors.T).ravel().tolist()  # of Python's integers, without a limit
        return found

    def moments(self, entries: Sequence[int]) -> Array:
        """Sums of powers of t from entries, noisy ones: a row per cell."""
        shares = np.array([entry / self.unit for entry in entries]).reshape(-1, self.size)
        return shares @ self.slopes.T

    @cached_property
    def slopes(self) -> Array:
        """How much each sum of powers of t, a row, grows with each entry over its unit."""
        return np.array([[float(factor) for factor in row] for row in self.back])


@lru_cache(maxsize=128)
def first_order(span: int, cells: int, neighbors: str, caps: Caps = ONE, *, laplace: bool = True) -> Coding:
    """For counts and means, from number and sum of steps, 0 … span."""
    if laplace and cells == 1 and neighbors == "replace":
        reach = Sensitivity(Fraction(2 * span * caps.most(1)), Fraction(2 * span * caps.most(1)) ** 2, neighbors)
        return Coding(((span, 0), (-span, 2)), ((1, 0), (0, 1)), span, reach)
    reach = _times(table_shares(cells, neighbors, caps), span)
    return Coding(((span, -1), (0, 1)), ((1, 1), (-1, 1)), span, reach)


@lru_cache(maxsize=128)
def second_order(span: int, cells: int, neighbors: str, caps: Caps = ONE, *, laplace: bool = True) -> Coding:
    """For variances, from number, sum and sum of squares of steps.

    In one cell under "replace" with Laplace noise the entries are 2, 2t and 2t**2 - 1 a row: coming or going
    moves them by at most 5, a change from t to t' by 2|t-t'|(1 + |t+t'|), at most 4.5.
    """
    square = span**2
    if laplace and cells == 1 and neighbors == "replace":
        most = Fraction(5 * square * caps.most(1))
        terms = ((2 * square, 0, 0), (-2 * square, 4 * span, 0), (square, -8 * span, 8))
        back = ((_HALF, 0, 0), (0, _HALF, 0), (Fraction(1, 4), 0, _HALF))
        return Coding(terms, back, square, Sensitivity(most, most**2, neighbors))
    reach = _times(table_shares(cells, neighbors, caps), square)
    return Coding(_bernstein(span), _BACK, square, reach)


@lru_cache(maxsize=128)
def pairs(spans: tuple[int, int], cells: int, neighbors: str, caps: Caps = ONE) -> Coding:
    """For covariances, from the sums of all products of powers up to 2 of two steps: 1, y, y**2, x, x y, …"""
    first, second = (_bernstein(span) for span in spans)
    unit = spans[0] ** 2 * spans[1] ** 2
    return Coding(
        _product(first, second), _product(_BACK, _BACK), unit, _times(table_shares(cells, neighbors, caps), unit)
    )


_BACK: Matrix = ((1, 1, 1), (-1, 0, 1), (1, -1, 1))


def _bernstein(span: int) -> Matrix:
    return ((span**2, -2 * span, 1), (0, 2 * span, -2), (0, 0, 1))


def _product(first: Matrix, second: Matrix) -> Matrix:
    return tuple(tuple(a * b for a in row for b in other) for row in first for other in second)


def _times(reach: Sensitivity, unit: int) -> Sensitivity:
    return Sensitivity(reach.l1 * unit, reach.l2_squared * unit**2, reach.neighbors)
