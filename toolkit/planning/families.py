"""Families of randomizers: functions that make a randomizer for a given `epsilon`, and a check of its loss."""

import inspect
import math
from collections.abc import Callable
from fractions import Fraction

from toolkit.core.checks import reject
from toolkit.local.protocol import Randomizer

Family = Callable[..., Randomizer]
"""A function with a parameter named `epsilon`: `warner`, `partial(k_ary, 4)`, `lambda epsilon: …`."""


def is_randomizer(source: object) -> bool:
    """Return whether `source` is a randomizer, and not a class or function that makes randomizers."""
    return not isinstance(source, type) and hasattr(source, "variance") and hasattr(source, "epsilon")


def check_family(family: object) -> None:
    """Reject a family that does not accept the keyword `epsilon`, or that needs further arguments."""
    name = _name(family)
    if not callable(family):
        rule = "`design` must be a randomizer or a family"
        reject(rule, type(family).__name__, "warner is a family, warner(0.7) a design", TypeError)
    try:
        parameters = inspect.signature(family).parameters
    except (TypeError, ValueError):
        parameters = {}  # type: ignore[assignment]
    signature = f"{name}({', '.join(parameters)})"
    epsilon = parameters.get("epsilon")
    if epsilon is None or epsilon.kind not in (epsilon.POSITIONAL_OR_KEYWORD, epsilon.KEYWORD_ONLY):
        arguments = ", ".join(f"{key}=…" for key in parameters) or "…"
        advice = (
            f"give the design itself, {name}({arguments}), which has its own epsilon; or a function with the "
            "parameter `epsilon`"
        )
        reject("a family must take the keyword `epsilon`", signature, advice)
    single = (epsilon.POSITIONAL_ONLY, epsilon.POSITIONAL_OR_KEYWORD, epsilon.KEYWORD_ONLY)
    needed = [
        key
        for key, parameter in parameters.items()
        if key != "epsilon" and parameter.default is parameter.empty and parameter.kind in single
    ]
    if needed:
        filled = ", ".join(f"{key}=…" for key in needed)
        reject(
            "a family must need nothing but `epsilon`",
            signature,
            f"fill in the rest: functools.partial({name}, {filled})",
        )


def make_randomizer(family: Family, epsilon: float) -> Randomizer:
    """Return the randomizer that a family makes for this epsilon; reject a randomizer that costs more."""
    check_family(family)
    randomizer = family(epsilon=epsilon)
    if not is_randomizer(randomizer):
        reject("a family must make a randomizer", type(randomizer).__name__, "warner(epsilon=1.0) is one", TypeError)
    if not randomizer.epsilon <= epsilon:
        rule = "a family must make a randomizer that costs at most the epsilon it is given"
        reject(rule, f"{randomizer.epsilon:.6g} for {epsilon:.6g} from {_name(family)}", "it would break the promise")
    return randomizer


def round_down(limit: Fraction) -> float:
    """Return the nearest float whose decimal value is at most the limit."""
    number = float(limit)
    while Fraction(repr(number)) > limit:
        number = math.nextafter(number, 0)
    return number


def _name(family: object) -> str:
    inner = getattr(family, "func", family)
    name = str(getattr(inner, "__name__", type(inner).__name__))
    return name if name.isidentifier() else "f"
