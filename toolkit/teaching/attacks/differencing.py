"""Differencing attacks: two statistics that are harmless alone, but whose difference reveals one person."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Mask
from toolkit.core.checks import check_integer, float_array, reject
from toolkit.core.inference.digits import concise

__all__ = ["GuardedTable", "outlier", "resignation", "tracker"]


def resignation(before: float, n: int, after: float) -> float:
    """Compute, from the means before and after, the salary of a person who resigned: n before - (n-1) after.

    Parameters
    ----------
    before : float
        The mean of n people, before the resignation.
    n : int
        The number of people before the resignation.
    after : float
        The mean of n - 1 people, after the resignation.

    Returns
    -------
    float
        The salary.

    Examples
    --------
    >>> resignation(before=52_000, n=11, after=50_000)
    72000
    """
    n_people = check_integer(n, "n", minimum=2)
    return n_people * before - (n_people - 1) * after


@dataclass(frozen=True, eq=False)
class GuardedTable:
    """A query server that answers counts and sums, except for groups that are too small or too large.

    Parameters
    ----------
    columns : dict
        A mapping from names to columns.
    min_size : int
        The minimum size of a group and of its complement.
    noise : callable, optional
        A function that adds noise to an answer, such as a mechanism's release.

    Examples
    --------
    >>> table = GuardedTable({"pay": np.arange(20.0)}, min_size=5)
    >>> table.sum(np.arange(20) < 10, "pay")
    45.0
    """

    columns: dict[str, npt.NDArray[Any]]
    min_size: int
    noise: Callable[[float], float] | None = None

    def sum(self, group: Mask, column: str | None = None) -> float:
        """Return the sum of a column over a group, or the size of the group.

        Parameters
        ----------
        group : Mask
            The members of the group.
        column : str, optional
            The column to add up; with None, people are counted.

        Returns
        -------
        float
            The answer, with noise if the server adds any.
        """
        size = int(np.count_nonzero(group))
        max_size = len(group) - self.min_size
        if not self.min_size <= size <= max_size:
            reject(f"a group must have {self.min_size} to {max_size} people", "another size", "it is not answered")
        answer = float(size if column is None else float_array(self.columns[column], column)[group].sum())
        return answer if self.noise is None else float(self.noise(answer))


def tracker(server: GuardedTable, common: Mask, special: Mask, column: str | None = None) -> float:
    """Compute an answer that the server does not give, as the difference of two answers that it gives.

    This is a tracker attack. The sum over "common and special" is the sum over "common" minus the sum over "common and
    not special".

    Parameters
    ----------
    server : GuardedTable
        The server.
    common : Mask
        A large group.
    special : Mask
        The people with the target's property.
    column : str, optional
        The column to add up; with None, people are counted.

    Returns
    -------
    float
        The refused answer.

    References
    ----------
    D. E. Denning, P. J. Denning and M. D. Schwartz, The tracker (1979).

    Examples
    --------
    >>> people = {"pay": np.array([10.0, 20.0, 30.0, 99.0, 40.0, 50.0])}
    >>> staff, dean = np.array([1, 1, 1, 1, 0, 0], bool), np.array([0, 0, 0, 1, 0, 0], bool)
    >>> tracker(GuardedTable(people, min_size=2), staff, dean, "pay")
    99.0
    """
    return server.sum(common, column) - server.sum(common & ~special, column)


@dataclass(frozen=True)
class Outlier:
    """The largest value in a group, as implied by the mean.

    Parameters
    ----------
    implied : float
        The value that one person must have.
    surprise : float
        The number of standard errors by which the mean exceeds the usual mean.

    Examples
    --------
    >>> Outlier(implied=2_000_000, surprise=9.5).surprise
    9.5
    """

    implied: float
    surprise: float

    __repr__ = concise

    @property
    def is_present(self) -> bool:
        """Whether the mean is more than five standard errors above the usual mean, which only an outlier explains."""
        return self.surprise > 5


def outlier(mean: float, n: int, *, usual: float, sd: float, noise_sd: float = 0.0) -> Outlier:
    """Compute the value that one person ("Fill Nates") must have if the other n - 1 values have the usual mean.

    implied = n mean - (n-1) usual; surprise = (mean - usual) / sqrt(sd**2 / n + noise_sd**2).

    Parameters
    ----------
    mean : float
        The mean of the group.
    n : int
        The size of the group.
    usual : float
        The mean of other groups.
    sd : float
        The standard deviation of single values.
    noise_sd : float
        The standard deviation of noise in the mean.

    Returns
    -------
    Outlier
        The implied value, with its surprise in standard errors.

    Examples
    --------
    >>> outlier(mean=1_050_000, n=1000, usual=50_000, sd=30_000).is_present
    True
    """
    n_people = check_integer(n, "n", minimum=2)
    se = float(np.sqrt(sd**2 / n_people + noise_sd**2))
    return Outlier(n_people * mean - (n_people - 1) * usual, (mean - usual) / se)
