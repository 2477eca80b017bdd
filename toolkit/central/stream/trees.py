"""`Tree`: sums of blocks of periods, each with independent noise; a single level is fresh noise for every period."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.central.stream.factorization import Factorization
from toolkit.core.arrays import Array
from toolkit.core.checks import check_integer, reject

Node = tuple[int, int]
"""A level and an index: with b branches, (j, i) is the sum of the periods i b**j + 1 … (i + 1) b**j."""


@dataclass(frozen=True)
class Tree(Factorization):
    """Noisy sums of 1, b, b**2, … periods on `levels` levels; a period belongs to at most one sum per level.

    Each total is added up from as few complete sums as possible. The numbers of sums per level are the digits of the
    period in base b, where the leading digit may exceed b - 1. A sum over a window is the difference of two totals, in
    which common sums cancel. Only sums of past periods are used, so that counts may depend on earlier releases.

    Parameters
    ----------
    periods : int
        The total number of periods.
    branches : int
        The number of sums of one level that add up to a sum of the next level.
    levels : int
        The number of levels; 1 means fresh noise for every period.
    window : int, optional
        The number of most recent periods to sum; by default, all periods so far.

    Examples
    --------
    >>> Tree(52, branches=8, levels=2).node_counts.max(), Tree(52).node_counts.max()
    (np.int64(12), np.int64(52))
    """

    periods: int
    branches: int = 2
    levels: int = 1
    window: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("periods", 1), ("branches", 2), ("levels", 1)):
            object.__setattr__(self, name, check_integer(getattr(self, name), name, minimum=least))
        if self.branches ** (self.levels - 1) > self.periods:
            rule = "the largest blocks must fit into `periods`"
            consequence = "a level without a complete block would only add to the cost"
            reject(rule, f"{self.branches}**{self.levels - 1} of {self.periods} periods", consequence)

    @property
    def description(self) -> str:
        if self.levels == 1:
            return "fresh noise for every period"
        sizes = " and ".join(f"{self.branches**level:,}" for level in range(1, self.levels))
        return f"a tree of {self.levels} levels: noise on periods and on blocks of {sizes}"

    @property
    def _unit(self) -> int:
        return 1

    @property
    def _settings(self) -> list[Any]:
        return ["tree", self.branches, self.levels, self.window]

    def l1_sensitivity(self, per_person: int = 1) -> Fraction:
        return Fraction(self.levels * min(per_person, self.periods))

    def _l2_squared(self, per_person: int = 1) -> Fraction:
        """Return the squared L2 sensitivity: on each level, the change is largest if the periods share blocks."""
        count, total = min(per_person, self.periods), 0
        for level in range(self.levels):
            size = self.branches**level
            full, rest = divmod(count, size)
            total += full * size**2 + rest**2
        return Fraction(total)

    @cached_property
    def node_counts(self) -> npt.NDArray[np.int64]:
        """The number of noisy sums in the published number at every period."""
        ends = np.arange(1, self.periods + 1)
        starts = np.maximum(ends - self.window, 0) if self.window else np.zeros_like(ends)
        numbers = np.zeros_like(ends)
        for level in range(self.levels):
            (a, b), (c, d) = self._node_ranges(level, ends), self._node_ranges(level, starts)
            common = np.maximum(np.minimum(b, d) - np.maximum(a, c), 0)
            numbers += (b - a) + (d - c) - 2 * common
        return numbers

    @property
    def error_factors(self) -> Array:
        return np.asarray(np.sqrt(self.node_counts))

    def _node_ranges(self, level: int, ends: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], ...]:
        """Return, for one level, the half-open ranges of the nodes that belong to the totals up to `ends`."""
        size = self.branches**level
        last = level == self.levels - 1
        first = np.zeros_like(ends) if last else ends // (size * self.branches) * self.branches
        return first, ends // size

    def terms(self, period: int) -> tuple[set[Node], set[Node]]:
        """Return the sums that are added, and the sums that are subtracted, at a period.

        Parameters
        ----------
        period : int
            The period, counted from 1.

        Returns
        -------
        tuple of set
            The level and index of each sum.
        """
        ends = np.array([period, max(period - self.window, 0) if self.window else 0])
        sides: tuple[set[Node], set[Node]] = (set(), set())
        for level in range(self.levels):
            first, after = self._node_ranges(level, ends)
            for side in (0, 1):
                sides[side].update((level, index) for index in range(int(first[side]), int(after[side])))
        return sides[0] - sides[1], sides[1] - sides[0]

    def _completed_nodes(self, period: int) -> Iterator[Node]:
        """Yield the level and index of each sum that ends with a period."""
        for level in range(self.levels):
            size = self.branches**level
            if period % size:
                return
            yield level, period // size - 1

    def encode(self, counts: Sequence[int]) -> list[int]:
        return [sum(counts[-(self.branches**level) :]) for level, _ in self._completed_nodes(len(counts))]

    def _decoder(self) -> "TreeDecoder":
        return TreeDecoder(self)


class TreeDecoder:
    """A decoder that computes totals from noisy sums of blocks."""

    def __init__(self, tree: Tree) -> None:
        self._tree, self._sums, self._period = tree, dict[Node, int](), 0

    def decode(self, noisy: Sequence[int]) -> int:
        """Return the next number to publish, given the noisy sums that end with the next period."""
        self._period += 1
        self._sums.update(zip(self._tree._completed_nodes(self._period), noisy, strict=True))
        added, subtracted = self._tree.terms(self._period)
        return sum(self._sums[node] for node in added) - sum(self._sums[node] for node in subtracted)


def averaged_error_factors(tree: Tree) -> Array:
    """Return the error factors of a tree whose blocks are averaged with the sums of their children (Honaker 2015).

    Let v be the variance of a block's noise relative to the noise of a single period. From level to level, v becomes 1
    / (1 + 1 / (b v)). No `RunningTotal` publishes such averages. Under Zcdp the square root has a smaller error than
    every averaged tree. Under Pure, the best tree without averaging beats the averaged binary tree. Averaging the best
    tree would lower its largest error by at most 6 % (5.7 % at 48 periods), but its totals would no longer be whole
    numbers.
    """
    if tree.window:
        reject("`tree` must have no window", tree.window, "the common sums of two averaged totals would not cancel")
    ends = np.arange(1, tree.periods + 1)
    total, variance = np.zeros(tree.periods), 1.0
    for level in range(tree.levels):
        first, after = tree._node_ranges(level, ends)
        total += variance * (after - first)
        variance = 1 / (1 + 1 / (tree.branches * variance))
    return np.asarray(np.sqrt(total))


def binary_tree(periods: int) -> Tree:
    """Return the binary tree (Chan, Shi and Song 2011; Dwork, Naor, Pitassi and Rothblum 2010)."""
    return Tree(periods, 2, periods.bit_length())


def candidate_trees(periods: int, window: int | None = None) -> Iterator[Tree]:
    """Yield the tree with one level (fresh noise), and trees of every depth with nearly the best number of branches."""
    yield Tree(periods, window=window)
    for levels in range(2, periods.bit_length() + 1):
        middle = periods ** (1 / levels)
        for branches in range(2, math.ceil(2.5 * middle) + 2):
            if branches ** (levels - 1) <= periods:
                yield Tree(periods, branches, levels, window)
