"""Python reads this when it starts, where PYTHONPATH names this folder: NumPy's sorts then put equals in
random order, as another processor puts them in another; the stable ones stay as they are.

`make test` runs the notebooks so: an output that rests on an order of equals differs from the saved one. They
have no more than what docs/start/install.md tells readers to install: what the other extras bring is not there.
"""

import sys
from importlib.machinery import PathFinder
from typing import Any

import numpy as np

_ABSENT = ("docx", "dp_accounting", "duckdb", "openpyxl", "polars", "pyarrow", "pyreadstat")


class _Installed(PathFinder):
    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> Any:
        return None if fullname.partition(".")[0] in _ABSENT else super().find_spec(fullname, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = _Installed

_RNG = np.random.default_rng()
_argsort = np.argsort


def _random_ties(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, **more: Any) -> Any:
    values = np.ravel(a) if axis is None else np.asanyarray(a)
    if kind in ("stable", "mergesort") or order is not None or more.get("stable") or values.ndim == 0:
        return _argsort(a, axis, kind, order, **more)
    along = -1 if axis is None else axis
    shuffled = _argsort(_RNG.random(values.shape), axis=along, kind="stable")
    sorted_ = _argsort(np.take_along_axis(values, shuffled, along), axis=along, kind="stable")
    return np.take_along_axis(shuffled, sorted_, along)


def _sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, **more: Any) -> Any:
    values = np.ravel(a) if axis is None else np.asanyarray(a)
    places = _random_ties(values, -1 if axis is None else axis, kind, order, **more)
    return np.take_along_axis(values, places, -1 if axis is None else axis)


def _argpartition(a: Any, _kth: Any, axis: int | None = -1, _kind: Any = None, order: Any = None) -> Any:
    """What is sorted is partitioned."""
    return _random_ties(a, axis, None, order)


np.argsort, np.sort, np.argpartition = _random_ties, _sort, _argpartition
