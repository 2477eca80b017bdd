"""Statistics of sorted values, such as the median, trimmed mean and interquartile range, with their local sensitivity.

With values x(1) <= ... <= x(n) in [a, b], x(i) = a for i < 1 and b for i > n, each of them has a local
sensitivity of the form

    reach(k) = max over t = 0 ... k + 1 of x(high + t) - x(low - k + t), divided by `divisor`,

the largest move that one person can cause in a table that differs from this one in at most k people
("replace", n public). Tests compare it with all tables and all neighbors on small domains.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.checks import check_choice, check_integer, reject

STATISTICS = ("median", "midpoint", "rank", "trimmed", "iqr")


@dataclass(frozen=True)
class RankStatistic:
    """Compute (sum of values of ranks `plus` - sum of those of ranks `minus`) / divisor, of n sorted values.

    Parameters
    ----------
    name : str
        What it is called.
    n : int
        How many values.
    plus : range
        Ranks that are added.
    minus : range
        Ranks that are subtracted.
    windows : tuple of pair of int
        The pairs (low, high) of ranks that the reach is made of.
    divisor : int
        What the sum is divided by.

    Examples
    --------
    >>> RankStatistic.from_name("median", 5)._evaluate([2, 4, 5, 7, 9]), RankStatistic.from_name("median", 4)
    (5, <midpoint median of 4 values>)
    """

    name: str
    n: int
    plus: range
    minus: range
    windows: tuple[tuple[int, int], ...]
    divisor: int = 1

    @classmethod
    def from_name(cls, name: str, n: int, *, rank: int | None = None, trim: int | None = None) -> "RankStatistic":
        """Make the statistic of a name.

        Parameters
        ----------
        name : {"median", "midpoint", "rank", "trimmed", "iqr"}
            Which.
        n : int
            How many values.
        rank : int, optional
            For "rank".
        trim : int, optional
            For "trimmed": how many are cut off at each end.

        Returns
        -------
        RankStatistic
            The statistic.
        """
        size = check_integer(n, "n")
        check_choice(name, "statistic", STATISTICS)
        _only(rank, "rank", name == "rank")
        _only(trim, "trim", name == "trimmed")
        if name == "iqr":
            return _quartiles(size)
        if name == "trimmed":
            return _trimmed(size, check_integer(trim, "trim", minimum=0))
        if name == "rank":
            return _order(size, check_integer(rank, "rank"), f"value of rank {rank}")
        if name == "midpoint" and size % 2:
            reject("a midpoint must lie between two values", f"{size} values", "ask for the median")
        return _order(size, (size + 1) // 2, "median") if size % 2 else _midpoint(size)

    def _evaluate(self, ordered: Sequence[Any] | npt.NDArray[Any]) -> Any:
        """Return the statistic times `divisor`, a whole number for whole numbers."""
        return sum(ordered[rank - 1] for rank in self.plus) - sum(ordered[rank - 1] for rank in self.minus)

    def _sensitivities(self, ordered: npt.NDArray[Any], low: object, high: object, most: int) -> list[Any]:
        """Return the local sensitivity at distances k = 0 ... `most`, each times `divisor`."""
        ends = [self._ends(window, ordered, low, high, most) for window in self.windows]
        return [max(_largest_gap(above, below, k) for above, below in ends) for k in range(most + 1)]

    def _sensitivity_at(self, ordered: npt.NDArray[Any], low: object, high: object, k: int) -> Any:
        """Return the largest local sensitivity within k changed people, times `divisor`."""
        ends = [self._ends(window, ordered, low, high, k) for window in self.windows]
        return max(_largest_gap(above, below, k) for above, below in ends)

    def _ends(
        self, window: tuple[int, int], ordered: npt.NDArray[Any], low: object, high: object, most: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the values from rank `high` up and those up to rank `low` + 1, as many as k = most needs."""
        first, last = window
        return (
            _values(ordered, low, high, range(last, last + most + 2)),
            _values(ordered, low, high, range(first - most, first + 2)),
        )

    def __repr__(self) -> str:
        return f"<{self.name} of {self.n} values>"


def _largest_gap(above: npt.NDArray[Any], below: npt.NDArray[Any], k: int) -> Any:
    return (above[: k + 2] - below[len(below) - k - 2 :]).max()


def _values(ordered: npt.NDArray[Any], low: object, high: object, ranks: range) -> npt.NDArray[Any]:
    """Return the values of these ranks, with the bounds for ranks outside 1 ... n."""
    inside = ordered[max(ranks.start, 1) - 1 : max(min(ranks.stop, len(ordered) + 1) - 1, 0)]
    before = min(max(1 - ranks.start, 0), len(ranks))
    entries = np.empty(len(ranks), dtype=ordered.dtype)
    entries[:before], entries[before : before + len(inside)] = low, inside
    entries[before + len(inside) :] = high
    return entries


def _order(n: int, rank: int, name: str) -> RankStatistic:
    if rank > n:
        reject(f"`rank` must be at most the number of values, {n}", rank, "there is no such value")
    return RankStatistic(name, n, range(rank, rank + 1), range(0), ((rank - 1, rank),))


def _midpoint(n: int) -> RankStatistic:
    half = n // 2
    return RankStatistic("midpoint median", n, range(half, half + 2), range(0), ((half - 1, half + 1),), 2)


def _trimmed(n: int, trim: int) -> RankStatistic:
    if 2 * trim >= n:
        reject("`trim` must leave a value", f"{trim} at each end of {n}", "the others are averaged")
    inner = range(trim + 1, n - trim + 1)
    return RankStatistic(f"mean without {trim} at each end", n, inner, range(0), ((trim, n - trim),), n - 2 * trim)


def _quartiles(n: int) -> RankStatistic:
    """One person never moves both quartiles apart, so the larger of their reaches is that of the distance."""
    if n < 2:
        reject("a distance of quartiles needs at least 2 values", n, "both would be the same value")
    first, third = -(-n // 4), -(-3 * n // 4)
    windows = ((first - 1, first), (third - 1, third))
    name = f"distance of ranks {first} and {third}"
    return RankStatistic(name, n, range(third, third + 1), range(first, first + 1), windows)


def _only(value: int | None, name: str, needed: bool) -> None:
    if (value is not None) != needed:
        received = "none" if value is None else "one for another statistic"
        reject(f"`{name}` must be given for the statistic of that name, and for no other", received, "see help")
