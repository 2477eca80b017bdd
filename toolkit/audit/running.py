"""Repeated runs of any mechanism, and the pairs of neighboring inputs for these runs.

A mechanism is an object with `randomize(answers, rng)`, an object with `release(value, rng)`, or a function of the
input (and of `rng`, if it has a parameter of that name). One person can change the first input of a pair into the
second.
"""

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from toolkit.audit.coding import MAX_COLUMNS
from toolkit.core.arrays import Values
from toolkit.core.checks import check_integer, float_array, reject
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.core.randomness import Rng

Pair = tuple[Any, Any]

_MOST_OPTIONS = 4


def named_pairs(neighbors: object) -> dict[str, Pair]:
    """Return pairs by name, from one pair (a tuple of two), a list of pairs, or a mapping from names to pairs."""
    if isinstance(neighbors, Mapping):
        pairs = {str(name): pair for name, pair in neighbors.items()}
    elif isinstance(neighbors, tuple) and len(neighbors) == 2:
        pairs = {"pair": neighbors}
    elif isinstance(neighbors, list) and neighbors:
        pairs = {f"pair {i + 1}": pair for i, pair in enumerate(neighbors)}
    else:
        rule = "`neighbors` must be a tuple of two inputs, or a list or mapping of such tuples"
        reject(rule, type(neighbors).__name__, "see help(toolkit.audit.audit)", TypeError)
    if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in pairs.values()):
        reject(
            "each pair of `neighbors` must have two inputs",
            "another number",
            "one person changes the first into the second",
        )
    return {name: (pair[0], pair[1]) for name, pair in pairs.items()}


def pairs_for(mechanism: Any) -> dict[str, Pair]:
    """Return neighbors that follow from the options, bounds or sensitivity that a mechanism declares."""
    options = list(getattr(mechanism, "options", ()))
    if options:
        some = options if len(options) <= _MOST_OPTIONS else [*options[:2], options[len(options) // 2], options[-1]]
        return {f"{a}, {b}": (a, b) for a, b in combinations(some, 2)}
    if getattr(mechanism, "bounds", None) is not None:
        low, high = (float(limit) for limit in mechanism.bounds)
        return {"lowest, highest": (low, high), "lowest, middle": (low, (low + high) / 2)}
    if hasattr(mechanism, "sensitivity"):
        sensitivity = float(mechanism.sensitivity)
        pairs: dict[str, Pair] = {"at 0": (0.0, sensitivity), "at 1000": (1000 * sensitivity, 1001 * sensitivity)}
        return pairs | ({"whole": (0, int(sensitivity))} if sensitivity == int(sensitivity) else {})
    reject("`neighbors` must be given", "none", "this mechanism declares no options, bounds or sensitivity", TypeError)


def shapes(size: int, *, sensitivity: float = 1.0) -> dict[str, Pair]:
    """Return pairs of answers to `size` queries, at most `sensitivity` apart, that expose broken selection mechanisms.

    The shapes are those of Ding et al. (2018).
    """
    k = check_integer(size, "size", minimum=2)
    level, half = np.full(k, 1.0), np.arange(k) < k // 2
    is_first = np.arange(k) == 0
    signs = {
        "one above": np.where(is_first, 1, 0),
        "one below": np.where(is_first, -1, 0),
        "one above, the rest below": np.where(is_first, 1, -1),
        "one below, the rest above": np.where(is_first, -1, 1),
        "half up, half down": np.where(half, -1, 1),
        "all above": np.full(k, 1),
        "all below": np.full(k, -1),
    }
    pairs: dict[str, Pair] = {name: (sensitivity * level, sensitivity * (level + sign)) for name, sign in signs.items()}
    pairs["crossed"] = (sensitivity * np.where(half, 1.0, 0.0), sensitivity * np.where(half, 0.0, 1.0))
    return pairs


def replacements(values: Values, bounds: tuple[float, float], *, options: Sequence[Any] = ()) -> dict[str, Pair]:
    """Return pairs of a column and its copy with the first record replaced by a bound, an outlier or an option."""
    column = float_array(values, "values")
    low, high = bounds
    others = {
        "lowest": low,
        "highest": high,
        "far above": high + 1e4 * (high - low),
        "far below": low - 1e4 * (high - low),
    }
    others |= {f"option {option}": option for option in options}
    return {name: (column, np.concatenate([[value], column[1:]])) for name, value in others.items()}


Law = dict[Any, Fraction]

MIN_RUNS = 100
_N_TIMED_RUNS = 20
_CHUNK = 4096


class Runner:
    """A function that runs a mechanism repeatedly on a value and counts all runs."""

    def __init__(self, mechanism: object, rng: Rng) -> None:
        self._run_once, self._run_many = protocol(mechanism)
        self._rng, self.runs = rng, 0

    def __call__(self, value: object, count: int) -> list[Any]:
        outputs: list[Any] = []
        while len(outputs) < count:
            outputs += self._run_batch(value, min(_CHUNK, count - len(outputs)))
        self.runs += count
        return outputs

    def seconds_per_run(self, values: Sequence[Any], max_runs: int) -> float:
        """Return the seconds per run, from the fastest of three tries of up to `max_runs` runs on each value.

        The number of runs does not depend on a clock, so a generator is in the same state afterwards on any machine.
        """
        size = min(_CHUNK // 4 if self._run_many is not None else _N_TIMED_RUNS, max_runs)
        return float(np.mean([min(self._time_runs(value, size) for _ in range(3)) for value in values])) / size

    def _time_runs(self, value: object, count: int) -> float:
        start = time.perf_counter()
        self(value, count)
        return time.perf_counter() - start

    def _run_batch(self, value: object, count: int) -> list[Any]:
        if self._run_many is None:
            return [_truncate(self._run_once(value, self._rng)) for _ in range(count)]
        many = np.repeat(value[None], count, axis=0) if isinstance(value, np.ndarray) else [value] * count
        outputs = self._run_many(many, self._rng)
        if not isinstance(outputs, np.ndarray):
            return [_truncate(output) for output in outputs]
        if outputs.dtype == np.uint8 and outputs.ndim == 2:  # packed bits
            outputs = np.unpackbits(outputs[:, : MAX_COLUMNS // 8], axis=1, bitorder="little")
        rows = outputs if outputs.ndim == 1 else outputs.reshape(len(outputs), -1)[:, :MAX_COLUMNS]
        return list(rows) if rows.ndim > 1 and rows.dtype.kind in "biuf" else list(rows.tolist())


def unwrap_estimate(output: Any) -> Any:
    """Return the value of an estimate, and anything else unchanged."""
    return output.value if isinstance(output, Estimate) else output


def _truncate(output: object) -> Any:
    """Return the value, truncated if it is a long array, because the outputs of many runs are held in memory."""
    output = unwrap_estimate(output)
    return (
        output.ravel()[:MAX_COLUMNS].copy() if isinstance(output, np.ndarray) and output.size > MAX_COLUMNS else output
    )


def protocol(mechanism: object) -> tuple[Callable[[Any, Rng], Any], Callable[[Any, Rng], Any] | None]:
    """Return a function for one run and, if values are randomized independently, a function for a list of values."""
    if hasattr(mechanism, "randomize"):
        return mechanism.randomize, mechanism.randomize
    if hasattr(mechanism, "release"):
        return mechanism.release, None
    if not callable(mechanism):
        rule = "`mechanism` must have `randomize` or `release`, or be a function of the data"
        reject(rule, type(mechanism).__name__, "it cannot be run", TypeError)
    if not takes_rng(mechanism):
        return (lambda value, _: mechanism(value)), None
    needed = inspect.signature(mechanism).parameters["rng"].default is inspect.Parameter.empty
    # A function whose `rng` has no default always receives a Generator.
    default = np.random.default_rng() if needed else None
    return (lambda value, rng: mechanism(value, rng=default if rng is None else rng)), None


def takes_rng(mechanism: Any) -> bool:
    """Return whether a mechanism accepts a source of randomness."""
    try:
        method = getattr(mechanism, "randomize", None) or getattr(mechanism, "release", None) or mechanism
        return "rng" in inspect.signature(method).parameters
    except (TypeError, ValueError):
        return False


def loss_of(mechanism: object) -> Loss | None:
    """Return the loss that a mechanism declares, if it declares one."""
    loss = getattr(mechanism, "loss", None)
    return loss if isinstance(loss, Pure | Approx | Zcdp) else None


def law_of(mechanism: Any, value: object) -> Law | None:
    """Return the exact distribution of the output on a value, if the mechanism declares it.

    Parameters
    ----------
    mechanism : object
        A mechanism with integer weights of options by reports, or with a `law(value)` method.
    value : object
        The input.

    Returns
    -------
    dict or None
        The exact probability of each output; None if no distribution is declared.

    Examples
    --------
    >>> from toolkit import warner
    >>> law_of(warner(p="2/3"), "yes")
    {'no': Fraction(1, 3), 'yes': Fraction(2, 3)}
    """
    if hasattr(mechanism, "law"):
        return {output: Fraction(share) for output, share in mechanism.law(value).items()}
    table, options = getattr(mechanism, "weights", None), getattr(mechanism, "options", ())
    if not isinstance(table, np.ndarray) or table.ndim != 2 or value not in options:
        return None
    row = table[list(options).index(value)]
    weights = zip(mechanism.report_options, row, strict=True)
    return {report: Fraction(int(weight), mechanism.denominator) for report, weight in weights}
