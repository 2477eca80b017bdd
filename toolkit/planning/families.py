"""Families of randomizers, one for each epsilon: declared by the keyword `epsilon`, and held to it whenever
one is made.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from toolkit.core.checks import Number, explains, positive, refuse
from toolkit.local.design import Design, has_matrix
from toolkit.local.matrix.devices import Device
from toolkit.local.protocol import Randomizer

Family = Callable[..., Randomizer]
"""A function with a parameter named `epsilon`: `warner`, `partial(k_ary, 4)`, `lambda epsilon: …`."""


def is_randomizer(source: object) -> bool:
    """Whether this hides answers itself; a class or a function that makes such things does not."""
    return not isinstance(source, type) and hasattr(source, "variance") and hasattr(source, "epsilon")


def check_family(family: object) -> None:
    """Refuse what does not say by its signature that it is made from an epsilon; nothing is guessed from a place."""
    name = _name(family)
    if not callable(family):
        rule = "`design` must be a randomizer or a family"
        refuse(rule, type(family).__name__, "warner is a family, warner(0.7) a design", TypeError)
    try:
        parameters = inspect.signature(family).parameters
    except (TypeError, ValueError):
        parameters = {}  # type: ignore[assignment]
    signature = f"{name}({', '.join(parameters)})"
    epsilon = parameters.get("epsilon")
    if epsilon is None or epsilon.kind not in (epsilon.POSITIONAL_OR_KEYWORD, epsilon.KEYWORD_ONLY):
        own = ", ".join(f"{key}=…" for key in parameters) or "…"
        advice = (
            f"give the design itself, {name}({own}), which has its own epsilon; or a function with the "
            "parameter `epsilon`"
        )
        refuse("a family must take the keyword `epsilon`", signature, advice)
    single = (epsilon.POSITIONAL_ONLY, epsilon.POSITIONAL_OR_KEYWORD, epsilon.KEYWORD_ONLY)
    needed = [
        key for key, one in parameters.items() if key != "epsilon" and one.default is one.empty and one.kind in single
    ]
    if needed:
        filled = ", ".join(f"{key}=…" for key in needed)
        refuse(
            "a family must need nothing but `epsilon`",
            signature,
            f"fill in the rest: functools.partial({name}, {filled})",
        )


def member(family: Family, epsilon: float) -> Randomizer:
    """The randomizer that a family makes for this epsilon; one that costs more is refused."""
    check_family(family)
    randomizer = family(epsilon=epsilon)
    if not is_randomizer(randomizer):
        refuse("a family must make a randomizer", type(randomizer).__name__, "warner(epsilon=1.0) is one", TypeError)
    if not randomizer.epsilon <= epsilon:
        rule = "a family must make a randomizer that costs at most the epsilon it is given"
        refuse(
            rule, f"{randomizer.epsilon:.6g} for {epsilon:.6g} from {_name(family)}", "nothing can be promised with it"
        )
    return randomizer


def not_above(limit: Fraction) -> float:
    """The float that stands for a promise: its digits never say more than was asked for."""
    number = float(limit)
    while Fraction(repr(number)) > limit:
        number = math.nextafter(number, 0)
    return number


def _name(family: object) -> str:
    inner = getattr(family, "func", family)
    name = str(getattr(inner, "__name__", type(inner).__name__))
    return name if name.isidentifier() else "f"


@dataclass(frozen=True, repr=False)
class Snapped:
    """A device near the wanted design.

    Parameters
    ----------
    device : Device
        What people use.
    wanted : float
        The epsilon that was asked for.
    people : float
        How many times as many people are needed as with the wanted design.

    Examples
    --------
    >>> from toolkit import warner
    >>> snap(warner, 1.2, 0.1)[0].keeps
    True
    """

    device: Device[Design]
    wanted: float
    people: float

    @property
    def epsilon(self) -> float:
        """The epsilon of the device."""
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
def snap(family: Family, epsilon: Number, prevalence: object) -> tuple[Snapped, ...]:
    """Find devices for a family of designs: those that keep epsilon first, then those that pass it.

    Parameters
    ----------
    family : callable
        A function with the parameter `epsilon`, as `warner`.
    epsilon : number
        What one person may lose.
    prevalence : number or sequence
        A guess of the truth.

    Returns
    -------
    tuple of Snapped
        Those that keep epsilon by the number of people, those that pass it by their epsilon.

    Examples
    --------
    >>> from toolkit import warner
    >>> snap(warner, 1.2, 0.1)[0]
    <Snapped two coins, one after the other: epsilon 1.1 keeps 1.2; 1.19 times the people; ...>
    >>> [found.device.name for found in snap(warner, 1.7, 0.1) if found.device.outcomes <= 6]
    ['a die', 'two coins, one after the other']
    """
    limit = not_above(positive(epsilon, "epsilon"))
    design = member(family, limit)
    if not has_matrix(design):
        refuse("only designs with a matrix have devices", type(design).__name__, "use k_ary, warner or another design")
    before = _worst(design, prevalence)
    devices = [Snapped(device, limit, _worst(device.design, prevalence) / before) for device in design.devices()]
    return tuple(
        sorted(devices, key=lambda snapped: (not snapped.keeps, snapped.people if snapped.keeps else snapped.epsilon))
    )


def _worst(design: Design, prevalence: Any) -> float:
    """The variance of one person's contribution, of the option with the largest."""
    return float(design.covariance(prevalence, 1).diagonal().max())
