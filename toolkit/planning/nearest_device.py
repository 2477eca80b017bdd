"""From a wanted epsilon to a coin, a die or a birthday: the devices that come near, and what each costs in
people.
"""

from dataclasses import dataclass
from typing import Any

from toolkit.core.checks import Number, explains, positive, refuse
from toolkit.local.design import Design, has_matrix
from toolkit.local.devices import Device
from toolkit.planning.families import Family, member, not_above


@dataclass(frozen=True, repr=False)
class Snapped:
    """A device near the wanted design. `people` is how many times as many are needed as with the wanted
    design.
    """

    device: Device[Design]
    wanted: float
    people: float

    @property
    def epsilon(self) -> float:
        return self.device.epsilon

    @property
    def keeps(self) -> bool:
        """Whether it is at least as private as was wanted."""
        return self.epsilon <= self.wanted

    def __repr__(self) -> str:
        side = "keeps" if self.keeps else "passes"
        cost = f"{self.people:.3g} times the people"
        return (
            f"<Snapped {self.device.name}: epsilon {self.epsilon:.3g} {side} {self.wanted:.3g}; {cost}; "
            f"{self.device.instructions}>"
        )


@explains("snap(warner, 1.2, 0.1)")
def snap(family: Family, epsilon: Number, prevalence: Any) -> tuple[Snapped, ...]:
    """Devices for a family of designs: first those that keep epsilon, fewest people first; then those that
    pass it, nearest first.

    >>> from toolkit import warner
    >>> snap(warner, 1.2, 0.1)[0]
    <Snapped two coins, one after the other: epsilon 1.1 keeps 1.2; 1.19 times the people; ...>
    >>> [found.device.name for found in snap(warner, 1.7, 0.1) if found.device.outcomes <= 6]
    ['a die', 'two coins, one after the other']
    """
    wanted = not_above(positive(epsilon, "epsilon"))
    design = member(family, wanted)
    if not has_matrix(design):
        refuse(
            "only designs with a matrix have devices",
            type(design).__name__,
            "use k_ary, warner or another design",
        )
    before = _worst(design, prevalence)
    found = [Snapped(device, wanted, _worst(device.design, prevalence) / before) for device in design.devices()]
    return tuple(
        sorted(
            found,
            key=lambda snapped: (not snapped.keeps, snapped.people if snapped.keeps else snapped.epsilon),
        )
    )


def _worst(design: Design, prevalence: Any) -> float:
    """The variance of one person's contribution, of the option with the largest."""
    return float(design.covariance(prevalence, 1).diagonal().max())
