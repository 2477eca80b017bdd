"""The currency decides the noise: `epsilon` buys Laplace noise, `rho` Gaussian noise."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.noise.grid import NO_END
from toolkit.central.selection import root_below
from toolkit.central.sensitivity import Sensitivity
from toolkit.core.checks import Number, positive, refuse


@dataclass(frozen=True)
class Spending:
    """An amount of epsilon, or of rho, and the noise that it buys."""

    amount: Fraction
    laplace: bool

    @classmethod
    def of(cls, epsilon: Number | None, rho: Number | None) -> "Spending":
        """Exactly one of the two."""
        if (epsilon is None) == (rho is None):
            received = "none" if epsilon is None else "both"
            refuse(
                "exactly one of `epsilon` and `rho` must be given",
                received,
                "epsilon buys Laplace noise; rho buys Gaussian noise, in a ledger with a Zcdp ceiling",
            )
        if rho is None:
            return cls(positive(epsilon, "epsilon", NO_END), True)  # type: ignore[arg-type]
        return cls(positive(rho, "rho", NO_END), False)

    @lru_cache(maxsize=256)  # noqa: B019  (amounts and sensitivities are public, and small)
    def mechanism(self, reach: Sensitivity) -> Laplace | Gaussian:
        """Noise for what one person moves by so much: in L1 for Laplace, in L2 for Gaussian noise."""
        if self.laplace:
            return Laplace.for_epsilon(self.amount, sensitivity=reach.l1)
        return Gaussian.for_rho(self.amount, sensitivity=reach.l2)

    @property
    def of_choice(self) -> Fraction:
        """The epsilon of one exponential mechanism that it buys: rho = epsilon**2 / 8."""
        return self.amount if self.laplace else root_below(8 * self.amount)

    def part(self, parts: int) -> "Spending":
        """An equal part of it."""
        return self if parts == 1 else Spending(self.amount / parts, self.laplace)
