"""`Factorization`: the matrix of running totals as a product B C, in which C is measured with noise."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

from toolkit.core.arrays import Array


class Decoder(Protocol):
    """A decoder that computes totals from noisy measurements, which arrive period by period."""

    def decode(self, noisy: Sequence[int]) -> int | Fraction:
        """Return the next number to publish, given the noisy measurements of the next period."""
        ...


class Factorization(ABC):
    """A factorization A = B C of the matrix of totals: C x is measured with noise, and B turns it into totals.

    The change that one person can cause is a column of C, and the error of a period depends on a row of B. The
    subclasses are `Tree` and `SquareRoot`.

    References
    ----------
    Li, Miklau, Hay, McGregor and Rastogi (2015), The matrix mechanism.

    Examples
    --------
    >>> from toolkit.central.stream import Tree
    >>> Tree(52, branches=8, levels=2).l1_sensitivity()
    Fraction(2, 1)
    """

    periods: int
    window: int | None

    @property
    @abstractmethod
    def description(self) -> str:
        """A phrase that describes the measurements."""

    @property
    @abstractmethod
    def error_factors(self) -> Array:
        """The standard deviation of the published number at every period, for noise with standard deviation 1."""

    @abstractmethod
    def encode(self, counts: Sequence[int]) -> list[int]:
        """Return the measurements that the last count completes, which are entries of C x without noise.

        Parameters
        ----------
        counts : sequence of int
            The count of each period so far.

        Returns
        -------
        list of int
            The measurements, as whole numbers of units.
        """

    @abstractmethod
    def l1_sensitivity(self, per_person: int = 1) -> Fraction:
        """Return the L1 sensitivity of all measurements if the counts of `per_person` periods change.

        Each count changes by at most 1.

        Parameters
        ----------
        per_person : int
            The number of periods in which one person is counted.

        Returns
        -------
        Fraction
            The largest sum of absolute changes.
        """

    @abstractmethod
    def _l2_squared(self, per_person: int = 1) -> Fraction:
        """Return the squared L2 sensitivity if the counts of `per_person` periods change by 1 each."""

    @property
    @abstractmethod
    def _unit(self) -> int:
        """The number of units in a count of 1; measurements are whole numbers of units."""

    @property
    @abstractmethod
    def _settings(self) -> list[Any]:
        """The kind and the parameters, without the number of periods, as stored in a stream's file."""

    @abstractmethod
    def _decoder(self) -> Decoder:
        """Return a new decoder, before its first period."""
