"""Pairs of inputs that one person can turn into each other: where a broken promise is likely to show."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from toolkit.core.arrays import Values
from toolkit.core.checks import refuse, whole

Pair = tuple[Any, Any]

_MOST_OPTIONS = 4


def named_pairs(neighbors: object) -> dict[str, Pair]:
    """Pairs with names: from one pair (a tuple of two), a list of pairs, or a mapping from names to pairs."""
    if isinstance(neighbors, Mapping):
        pairs = {str(name): pair for name, pair in neighbors.items()}
    elif isinstance(neighbors, tuple) and len(neighbors) == 2:
        pairs = {"pair": neighbors}
    elif isinstance(neighbors, list) and neighbors:
        pairs = {f"pair {i + 1}": pair for i, pair in enumerate(neighbors)}
    else:
        rule = "`neighbors` must be two inputs in a tuple, or a list of such"
        refuse(rule, type(neighbors).__name__, "see shapes", TypeError)
    if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in pairs.values()):
        refuse(
            "each of `neighbors` must be two inputs", "another number", "one person changes the first into the second"
        )
    return {name: (pair[0], pair[1]) for name, pair in pairs.items()}


def pairs_for(mechanism: Any) -> dict[str, Pair]:
    """Neighbors that follow from what a mechanism says of its input: its options, its bounds, or its sensitivity."""
    options = list(getattr(mechanism, "options", ()))
    if options:
        some = options if len(options) <= _MOST_OPTIONS else [*options[:2], options[len(options) // 2], options[-1]]
        return {f"{a}, {b}": (a, b) for a, b in combinations(some, 2)}
    if getattr(mechanism, "bounds", None) is not None:
        low, high = (float(limit) for limit in mechanism.bounds)
        return {"lowest, highest": (low, high), "lowest, middle": (low, (low + high) / 2)}
    if hasattr(mechanism, "sensitivity"):
        reach = float(mechanism.sensitivity)
        pairs: dict[str, Pair] = {"at 0": (0.0, reach), "at 1000": (1000 * reach, 1001 * reach)}
        return pairs | ({"whole": (0, int(reach))} if reach == int(reach) else {})
    refuse("`neighbors` must be given", "none", "nothing says what this mechanism can be asked about", TypeError)


def shapes(size: int, *, reach: float = 1.0) -> dict[str, Pair]:
    """Answers to `size` queries on two neighbors, each at most `reach` apart: patterns that expose broken selections.

    References: Z. Ding et al., Detecting violations of differential privacy (2018), table 2.
    """
    k = whole(size, "size", least=2)
    level, half = np.full(k, 1.0), np.arange(k) < k // 2
    one = np.arange(k) == 0
    signs = {
        "one above": np.where(one, 1, 0),
        "one below": np.where(one, -1, 0),
        "one above, the rest below": np.where(one, 1, -1),
        "one below, the rest above": np.where(one, -1, 1),
        "half up, half down": np.where(half, -1, 1),
        "all above": np.full(k, 1),
        "all below": np.full(k, -1),
    }
    pairs: dict[str, Pair] = {name: (reach * level, reach * (level + sign)) for name, sign in signs.items()}
    pairs["crossed"] = (reach * np.where(half, 1.0, 0.0), reach * np.where(half, 0.0, 1.0))
    return pairs


def replacements(values: Values, bounds: tuple[float, float], *, options: Sequence[Any] = ()) -> dict[str, Pair]:
    """A column, and the same with its first record replaced: by a bound, by a value far outside, by `options`."""
    column = np.asarray(values, dtype=float)
    low, high = bounds
    others = {
        "lowest": low,
        "highest": high,
        "far above": high + 1e4 * (high - low),
        "far below": low - 1e4 * (high - low),
    }
    others |= {f"option {option}": option for option in options}
    return {name: (column, np.concatenate([[value], column[1:]])) for name, value in others.items()}
