"""The coding of outputs as rows of numbers; the outputs of the search determine the coding of all later runs.

An output may be a number, a string, None, or a list, a mapping or an array of these. Each leaf of an output has a path.
Each path has a column for its numbers, and a column for its kind or label if these vary. The shape of the output has a
column if it varies. A coding is a function of a single output. If it were chosen again for each batch, the audit would
distinguish batches instead of inputs.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array

Path = tuple[Hashable, ...]
Feature = Callable[[Any], float]

# This number replaces NaN, which cannot be compared; differences of two such numbers are still finite.
NAN = 8e307
MAX_COLUMNS = 512
_LARGEST = NAN / 4  # larger numbers are clipped; infinity is coded as twice this number
_OTHER = -1.0  # the code of all labels that occurred at most once in the search
_ABSENT = "absent"
_REPEATED = frozenset({str, bytes, bool, int, type(None)})  # kinds whose values often repeat
_NUMBERS = (bool, int, float, Fraction, Decimal, np.number, np.bool_)
_LEAVES = (str, bytes, type(None), *_NUMBERS)
_IN_TEXT = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Coding:
    """The meaning of the columns of a table.

    `paths` are the paths of the numeric columns. `labels` maps a path, or None for the shape, to the codes of its
    labels. `shape` is the shape of the outputs if all of them are arrays of the same shape. `features` are functions
    from an output to a number, which the caller defines by name; their columns come first.
    """

    paths: tuple[Path, ...]
    labels: dict[Path | None, dict[Hashable, float]]
    shape: tuple[int, ...] | None
    features: tuple[tuple[str, Feature], ...] = ()

    @classmethod
    def of(cls, outputs: Sequence[Any], features: Mapping[str, Feature] | None = None) -> "Coding":
        """Make a coding of everything that varies among these outputs, except labels that occur only once."""
        named_features, shape = tuple((features or {}).items()), _shape(outputs)
        if shape is not None:
            return cls(tuple(np.ndindex(*shape))[:MAX_COLUMNS], {}, shape, named_features)
        numbers, label_counts = dict[Path, None](), {cast("Path | None", None): Counter[Hashable]()}
        for output, times in _tally(outputs):
            leaves, form = leaves_of(output)
            label_counts[None][form] += times
            for path, leaf in leaves.items():
                if path in label_counts or len(label_counts) <= MAX_COLUMNS:
                    label_counts.setdefault(path, Counter())[leaf_label(leaf)] += times
                    if leaf_number(leaf) is not None:
                        numbers[path] = None
        labels = {path: _codes(counts) for path, counts in label_counts.items() if len(counts) > 1}
        return cls(
            tuple(numbers) or ((),),
            {path: codes for path, codes in labels.items() if len(codes) > 1},
            None,
            named_features,
        )

    @property
    def names(self) -> tuple[str, ...]:
        kinds = (
            "the shape of the output" if path is None else f"the kind of {_path_text(path)}" for path in self.labels
        )
        return (*(name for name, _ in self.features), *map(_path_text, self.paths), *kinds)

    def table(self, outputs: Sequence[Any]) -> Array:
        body = self._array_table(outputs)
        if body is None:
            keys = [_key(output) for output in outputs]
            some = {key: output for key, output in zip(keys, outputs, strict=True) if key is not None}
            rows_by_key = {key: self._row(output) for key, output in some.items()}
            rows = [
                self._row(output) if key is None else rows_by_key[key]
                for key, output in zip(keys, outputs, strict=True)
            ]
            body = np.array(rows, dtype=np.float64)
        extra = [[_finite(float(feature(output))) for output in outputs] for _, feature in self.features]
        return np.column_stack([*np.array(extra), body]) if extra else body

    def _array_table(self, outputs: Sequence[Any]) -> Array | None:
        """Return all rows in one step if every output is an array of the shape found in the search, otherwise None."""
        array = _array(outputs) if self.shape is not None else None
        if array is None or array.shape[1:] != self.shape:
            return None
        table = array.astype(float).reshape(len(outputs), -1)[:, :MAX_COLUMNS]
        finite = np.where(np.isinf(table), np.copysign(NAN / 2, table), np.clip(table, -_LARGEST, _LARGEST))
        return np.asarray(np.where(np.isnan(table), NAN, finite))

    def _row(self, output: object) -> list[float]:
        leaves, form = leaves_of(output)
        values = (leaf_number(leaves[path]) if path in leaves else None for path in self.paths)
        row = [NAN if value is None else value for value in values]
        for path, codes in self.labels.items():
            entry = form if path is None else leaf_label(leaves[path]) if path in leaves else _ABSENT
            row.append(codes.get(entry, _OTHER))
        return row


def leaves_of(output: object) -> tuple[dict[Path, Any], Hashable]:
    """Return the leaves of an output by path, and its shape: the containers, their lengths and the order of keys."""
    leaves, form = dict[Path, Any](), list[Hashable]()
    waiting: list[tuple[Path, Any]] = [((), output)]
    while waiting:
        path, part = waiting.pop()
        inside = _inside(part)
        if inside is None:
            leaves[path] = part.item() if isinstance(part, np.ndarray) else part
        else:
            form.append((path, type(part).__name__, tuple(inside)))
            waiting += [((*path, key), value) for key, value in reversed(inside.items())]
    return leaves, tuple(form)


def _inside(part: object) -> dict[Hashable, Any] | None:
    """Return the items of a container by key or index, or None for anything else."""
    if isinstance(part, _LEAVES):
        return None
    if isinstance(part, (list, tuple)):
        return dict(enumerate(part))
    if isinstance(part, dict):
        return part
    if hasattr(part, "to_dict") and hasattr(part, "__array__"):  # labels of data frames and series are kept
        part = part.to_dict()
    if isinstance(part, Mapping):
        return dict(part)
    if is_dataclass(part) and not isinstance(part, type):
        return {field.name: getattr(part, field.name) for field in fields(part)}
    if isinstance(part, complex):
        return {"real": part.real, "imag": part.imag}
    if isinstance(part, set | frozenset):
        return dict(enumerate(sorted(part, key=repr)))
    items = np.asarray(part).tolist() if hasattr(part, "__array__") else None
    return dict(enumerate(items)) if isinstance(items, list) else None


def leaf_number(leaf: object) -> float | None:
    """Return a number as a finite float, or the first number in a string; return None if there is no number."""
    if type(leaf) is float:
        return _finite(leaf)
    if isinstance(leaf, str):
        match = _IN_TEXT.search(leaf)
        return _finite(float(match[0])) if match else None
    if not isinstance(leaf, _NUMBERS):
        return None
    try:
        return _finite(float(cast("float", leaf)))
    except OverflowError:
        return _LARGEST if leaf > 0 else -_LARGEST
    except ValueError:  # a signaling NaN
        return NAN


def leaf_label(leaf: object) -> Hashable:
    """Return a label of a leaf: the kind of a number, the string itself, or the repr of anything else."""
    kind = _kind(type(leaf))
    return kind if kind is not None else (type(leaf).__name__, leaf if isinstance(leaf, str | bytes) else repr(leaf))


def _kind(leaf: type) -> str | None:
    """Return the kind of a number, which is the same for Python and NumPy, or None for other types."""
    for name, kinds in (("bool", (bool, np.bool_)), ("int", (int, np.integer)), ("float", (float, np.floating))):
        if issubclass(leaf, kinds):
            return name
    return leaf.__name__ if issubclass(leaf, _NUMBERS) else None


def _path_text(path: Path) -> str:
    return f"entry {', '.join(map(str, path))}" if path else "the output"


def _finite(value: float) -> float:
    if -_LARGEST <= value <= _LARGEST:
        return value
    if math.isnan(value):
        return NAN
    return math.copysign(NAN / 2, value) if math.isinf(value) else math.copysign(_LARGEST, value)


def _codes(counts: Counter[Hashable]) -> dict[Hashable, float]:
    """Return a code for each label, independent of the order of outputs; rare and unknown labels share a code."""
    common = sorted((entry for entry, times in counts.items() if times > 1), key=repr)
    return {entry: float(code) for code, entry in enumerate([*common, _ABSENT])}


def _key(output: Any) -> Hashable:
    """Return a key that distinguishes values and their types (1, True and 1.0 differ), or None for rare types."""
    kind = type(output)
    if kind in _REPEATED:
        return kind, output
    parts = (*output, *output.values()) if kind is dict else tuple(output) if kind in (list, tuple) else None
    if parts is None or not _REPEATED.issuperset(kinds := tuple(map(type, parts))):
        return None
    return kind, kinds, parts


def _tally(outputs: Sequence[Any]) -> Iterator[tuple[Any, int]]:
    """Yield distinct outputs with their counts if equality is easy to check, and all other outputs one by one."""
    keys = [_key(output) for output in outputs]
    some = {key: output for key, output in zip(keys, outputs, strict=True) if key is not None}
    yield from ((some[key], times) for key, times in Counter(keys).items() if key is not None)
    yield from ((output, 1) for key, output in zip(keys, outputs, strict=True) if key is None)


def _shape(outputs: Sequence[Any]) -> tuple[int, ...] | None:
    """Return the common shape of all outputs if each entry holds numbers of one kind, otherwise None."""
    array = _array(outputs)
    if array is None:
        return None
    columns = [outputs] if array.ndim == 1 else [] if isinstance(outputs[0], np.ndarray) else zip(*outputs, strict=True)
    kinds = [set(map(_kind, set(map(type, column)))) for column in columns]
    return array.shape[1:] if all(len(kind) == 1 for kind in kinds) else None


def _array(outputs: Sequence[Any]) -> npt.NDArray[Any] | None:
    """Return outputs as one array if all are arrays, lists, tuples or numbers of one shape, otherwise None."""
    kinds = set(map(type, outputs))
    alike = len(kinds) == 1 and all(kind is np.ndarray or issubclass(kind, list | tuple) for kind in kinds)
    if not alike and not all(issubclass(kind, _NUMBERS) for kind in kinds):
        return None
    if kinds == {np.ndarray} and len({(output.shape, output.dtype) for output in outputs}) > 1:
        return None
    try:
        array = np.array(outputs)
    except (ValueError, OverflowError):  # the lengths differ
        return None
    return array if array.dtype.kind in "biuf" else None
