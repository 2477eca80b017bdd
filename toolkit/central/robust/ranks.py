"""Statistics of sorted values, such as the median, trimmed mean and interquartile range, and their sensitivity.

Let x(1) <= ... <= x(n) be values in [a, b], with x(i) = a for i < 1 and x(i) = b for i > n. In tables that differ from
this table in at most k people (at distance k), the largest change that one person can cause has the form

    sensitivity_at(k) = max over t = 0 ... k + 1 of x(high + t) - x(low - k + t), divided by `divisor`,

under "replace", where n is public. Tests compare this formula with all tables and all neighbors on small domains.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import ArrayLike, Steps
from toolkit.core.checks import check_choice, check_integer, float_array, reject
from toolkit.frames.sums import Bounds

STATISTICS = ("median", "midpoint", "rank", "trimmed", "iqr")


@dataclass(frozen=True)
class RankStatistic:
    """A statistic of n sorted values: a sum of values of given ranks minus another such sum, divided by `divisor`.

    Parameters
    ----------
    name : str
        The name of the statistic.
    n : int
        The number of values.
    added_ranks : range
        The ranks of the values that are added.
    subtracted_ranks : range
        The ranks of the values that are subtracted.
    rank_pairs : tuple of pair of int
        The pairs (low, high) of ranks in the formula for the sensitivity, which is the maximum over all pairs.
    divisor : int
        The divisor of the sum.

    Examples
    --------
    >>> RankStatistic.from_name("median", 5)._evaluate([2, 4, 5, 7, 9]), RankStatistic.from_name("median", 4)
    (5, <midpoint median of 4 values>)
    """

    name: str
    n: int
    added_ranks: range
    subtracted_ranks: range
    rank_pairs: tuple[tuple[int, int], ...]
    divisor: int = 1

    @classmethod
    def from_name(cls, name: str, n: int, *, rank: int | None = None, trim: int | None = None) -> "RankStatistic":
        """Make a statistic by name.

        Parameters
        ----------
        name : {"median", "midpoint", "rank", "trimmed", "iqr"}
            The name of the statistic.
        n : int
            The number of values.
        rank : int, optional
            The rank of the value, for "rank".
        trim : int, optional
            The number of values removed at each end, for "trimmed".

        Returns
        -------
        RankStatistic
            The statistic.
        """
        n_values = check_integer(n, "n")
        check_choice(name, "statistic", STATISTICS)
        _check_option(rank, "rank", name == "rank")
        _check_option(trim, "trim", name == "trimmed")
        if name == "iqr":
            return _interquartile_range(n_values)
        if name == "trimmed":
            return _trimmed_mean(n_values, check_integer(trim, "trim", minimum=0))
        if name == "rank":
            return _order_statistic(n_values, check_integer(rank, "rank"), f"value of rank {rank}")
        if name == "midpoint" and n_values % 2:
            reject("a midpoint must lie between two values", f"{n_values} values", 'use "median"')
        return _order_statistic(n_values, (n_values + 1) // 2, "median") if n_values % 2 else _midpoint_median(n_values)

    def _evaluate(self, ordered: Sequence[Any] | npt.NDArray[Any]) -> Any:
        """Return the statistic times `divisor`, which is an integer if all values are integers."""
        return sum(ordered[rank - 1] for rank in self.added_ranks) - sum(
            ordered[rank - 1] for rank in self.subtracted_ranks
        )

    def _sensitivities(self, ordered: npt.NDArray[Any], low: object, high: object, max_distance: int) -> list[Any]:
        """Return the local sensitivity at distances k = 0 ... `max_distance`, each times `divisor`."""
        ends = [self._values_around(rank_pair, ordered, low, high, max_distance) for rank_pair in self.rank_pairs]
        return [max(_largest_gap(above, below, k) for above, below in ends) for k in range(max_distance + 1)]

    def _sensitivity_at(self, ordered: npt.NDArray[Any], low: object, high: object, k: int) -> Any:
        """Return the largest local sensitivity after at most k people change, times `divisor`."""
        ends = [self._values_around(rank_pair, ordered, low, high, k) for rank_pair in self.rank_pairs]
        return max(_largest_gap(above, below, k) for above, below in ends)

    def _values_around(
        self, rank_pair: tuple[int, int], ordered: npt.NDArray[Any], low: object, high: object, max_distance: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the values above the high rank and below the low rank that the formula needs up to `max_distance`."""
        low_rank, high_rank = rank_pair
        return (
            _values_at(ordered, low, high, range(high_rank, high_rank + max_distance + 2)),
            _values_at(ordered, low, high, range(low_rank - max_distance, low_rank + 2)),
        )

    def __repr__(self) -> str:
        return f"<{self.name} of {self.n} values>"


def sorted_steps(values: ArrayLike, bounds: Bounds, n: int) -> Steps:
    """Return n values as sorted grid steps from 0 to span; a missing value counts as the lower bound."""
    steps = bounds.steps(float_array(values, "values"))
    if len(steps) != n:
        reject(f"there must be {n} values", len(steps), "the number of values is public")
    return np.sort(np.maximum(steps, 0))


def _largest_gap(above: npt.NDArray[Any], below: npt.NDArray[Any], k: int) -> Any:
    return (above[: k + 2] - below[len(below) - k - 2 :]).max()


def _values_at(ordered: npt.NDArray[Any], low: object, high: object, ranks: range) -> npt.NDArray[Any]:
    """Return the values at these ranks, with the bounds for ranks outside 1 ... n."""
    inside = ordered[max(ranks.start, 1) - 1 : max(min(ranks.stop, len(ordered) + 1) - 1, 0)]
    before = min(max(1 - ranks.start, 0), len(ranks))
    entries = np.empty(len(ranks), dtype=ordered.dtype)
    entries[:before], entries[before : before + len(inside)] = low, inside
    entries[before + len(inside) :] = high
    return entries


def _order_statistic(n: int, rank: int, name: str) -> RankStatistic:
    if rank > n:
        reject(f"`rank` must be at most the number of values, {n}", rank, "there is no such value")
    return RankStatistic(name, n, range(rank, rank + 1), range(0), ((rank - 1, rank),))


def _midpoint_median(n: int) -> RankStatistic:
    half = n // 2
    return RankStatistic("midpoint median", n, range(half, half + 2), range(0), ((half - 1, half + 1),), 2)


def _trimmed_mean(n: int, trim: int) -> RankStatistic:
    if 2 * trim >= n:
        reject("`trim` must leave a value", f"{trim} at each end of {n}", "the others are averaged")
    inner = range(trim + 1, n - trim + 1)
    return RankStatistic(f"mean without {trim} at each end", n, inner, range(0), ((trim, n - trim),), n - 2 * trim)


def _interquartile_range(n: int) -> RankStatistic:
    """Return the interquartile range.

    One person cannot move the quartiles in opposite directions, so the sensitivity of the range is the larger of the
    sensitivities of the quartiles.
    """
    if n < 2:
        reject("an interquartile range needs at least 2 values", n, "both quartiles would be the same value")
    first_quartile, third_quartile = -(-n // 4), -(-3 * n // 4)
    rank_pairs = ((first_quartile - 1, first_quartile), (third_quartile - 1, third_quartile))
    name = f"distance of ranks {first_quartile} and {third_quartile}"
    return RankStatistic(
        name, n, range(third_quartile, third_quartile + 1), range(first_quartile, first_quartile + 1), rank_pairs
    )


def _check_option(value: int | None, name: str, is_needed: bool) -> None:
    if (value is not None) != is_needed:
        received = "none" if value is None else "one for another statistic"
        rule = f"`{name}` must be given for the corresponding statistic, and for no other"
        reject(rule, received, "see help(RankStatistic.from_name)")
