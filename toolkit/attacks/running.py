"""How anything is run many times on one input: by protocol, never by what it is called.

An object with `randomize(answers, rng)`, an object with `release(value, rng)`, or a function of the input (and of `rng`, if
it has a parameter of that name). What comes out is made a table of numbers: one row a run.
"""

import inspect
import math
import time
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from toolkit.core.checks import is_missing, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.core.randomness import Rng

Array = npt.NDArray[np.float64]
Law = dict[Any, Fraction]

NAN = 1.7e308  # stands for "not a number", which compares with nothing
FEWEST = 100
_FEW = 20
_WIDEST = 512


class Runner:
    """Runs a mechanism `count` times on a value; outputs that are not numbers get codes, the same ones in every call."""

    def __init__(self, mechanism: Any, rng: Rng, features: dict[str, Callable[[Any], float]] | None = None) -> None:
        self._once, self._batch = protocol(mechanism)
        self._rng, self._features, self._codes = rng, features or {}, dict[Any, int]()
        self.runs, self._width = 0, cast("int | None", None)

    def __call__(self, value: Any, count: int, seconds: float = math.inf) -> Array:
        """Up to `count` runs; fewer, but at least `FEWEST`, where they would take longer than so many seconds."""
        start, parts, done, size = time.perf_counter(), [], 0, FEWEST
        while done < count and (not done or time.perf_counter() - start < seconds * done / (done + size)):
            size = min(size, count - done)
            parts.append(self._rows(value, size))
            done, size = done + size, 2 * size
        self.runs += done
        return np.concatenate(parts)

    def measure(self, values: Iterable[Any]) -> None:
        """Run a little on each value, and fix the width of the table: longer outputs are cut, shorter ones filled up.

        The width must be the same on all inputs, else it would tell them apart where the outputs do not.
        """
        self._width = max(self._rows(value, _FEW).shape[1] for value in values)

    def _rows(self, value: Any, count: int) -> Array:
        outputs = self._raw(value, count)
        table = self._table(outputs)
        extra = [[float(look(output)) for output in outputs] for look in self._features.values()]
        table = np.column_stack([*np.array(extra), table]) if extra else table
        if self._width is None or table.shape[1] == self._width:
            return table
        fill = np.full((count, max(self._width - table.shape[1], 0)), NAN)
        return np.hstack([table[:, : self._width], fill])

    def _raw(self, value: Any, count: int) -> Any:
        if self._batch is not None:
            many = np.repeat(value[None], count, axis=0) if isinstance(value, np.ndarray) else [value] * count
            return self._batch(many, self._rng)
        return [_plain(self._once(value, self._rng)) for _ in range(count)]

    def _table(self, outputs: Any) -> Array:
        array = outputs if isinstance(outputs, np.ndarray) else _array(outputs)
        if array.dtype == np.uint8 and array.ndim == 2:  # packed bits
            array = np.unpackbits(array, axis=1, bitorder="little")
        if array.ndim > 2:
            array = array.reshape(len(array), -1)
        if array.dtype.kind not in "biuf":
            array = self._coded(array)
        table = array.astype(float).reshape(len(array), -1)[:, :_WIDEST]
        return np.asarray(np.nan_to_num(table, nan=NAN, posinf=NAN / 2, neginf=-NAN / 2))

    def _coded(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Numbers stay; everything else gets a code, and a column beside says so; the length of the row comes first."""
        rows = [row if isinstance(row, tuple | list | np.ndarray) else (row,) for row in array.tolist()]
        width = max(len(row) for row in rows)
        table = np.full((len(rows), 2 * width + 1), NAN)
        for place, row in enumerate(rows):
            table[place, 0] = len(row)
            for column, cell in enumerate(row):
                number = isinstance(cell, int | float | Fraction | np.number | np.bool_)
                table[place, 2 * column + 1] = cell if number else self._codes.setdefault(_key(cell), len(self._codes))
                table[place, 2 * column + 2] = number
        return table


def protocol(mechanism: Any) -> tuple[Callable[[Any, Rng], Any], Callable[[Any, Rng], Any] | None]:
    """One run on a value; and many runs on a list of values, where the mechanism randomizes each on its own."""
    if hasattr(mechanism, "randomize"):
        return mechanism.randomize, mechanism.randomize
    if hasattr(mechanism, "release"):
        return mechanism.release, None
    if not callable(mechanism):
        refuse(
            "`mechanism` must have `randomize` or `release`, or be a function of the data",
            type(mechanism).__name__,
            "it cannot be run",
            TypeError,
        )
    if not takes_rng(mechanism):
        return (lambda value, _: mechanism(value)), None
    needed = inspect.signature(mechanism).parameters["rng"].default is inspect.Parameter.empty
    own = np.random.default_rng() if needed else None  # a function that cannot do without a Generator gets one
    return (lambda value, rng: mechanism(value, rng=own if rng is None else rng)), None


def takes_rng(mechanism: Any) -> bool:
    """Whether it can be run with a given source of randomness."""
    try:
        method = getattr(mechanism, "randomize", None) or getattr(mechanism, "release", None) or mechanism
        return "rng" in inspect.signature(method).parameters
    except (TypeError, ValueError):
        return False


def loss_of(mechanism: Any) -> Loss | None:
    """What a mechanism says that it costs, if it says so."""
    loss = getattr(mechanism, "loss", None)
    return loss if isinstance(loss, Pure | Approx | Zcdp) else None


def law_of(mechanism: Any, value: Any) -> Law | None:
    """The exact law of the output on a value, where the mechanism tells it: integer weights of options by reports, or `law`."""
    if hasattr(mechanism, "law"):
        return {output: Fraction(share) for output, share in mechanism.law(value).items()}
    table, options = getattr(mechanism, "weights", None), getattr(mechanism, "options", ())
    if not isinstance(table, np.ndarray) or table.ndim != 2 or value not in options:
        return None
    row = table[list(options).index(value)]
    return {report: Fraction(int(w), mechanism.denominator) for report, w in zip(mechanism.report_options, row, strict=True)}


def _plain(output: Any) -> Any:
    return output.value if isinstance(output, Estimate) else output


def _array(outputs: Sequence[Any]) -> npt.NDArray[Any]:
    try:
        array = np.array(outputs)
    except (ValueError, OverflowError):  # rows of several lengths
        array = np.empty(0)
    if len(array) == len(outputs) and array.dtype.kind in "biuf":
        return array
    whole = np.empty(len(outputs), dtype=object)
    whole[:] = [tuple(output) if isinstance(output, list | np.ndarray) else output for output in outputs]
    return whole


def _key(cell: Any) -> Any:
    if is_missing(cell):
        return None
    try:
        hash(cell)
    except TypeError:
        return repr(cell)
    return cell if not (isinstance(cell, float) and math.isnan(cell)) else None
