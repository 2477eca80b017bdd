"""Make NumPy's sorts put equal values in random order, as another processor might; stable sorts are not changed.

Python imports this file at start-up if PYTHONPATH names its folder. `make test` runs the notebooks in this way: an
output that depends on the order of equal values then differs from the saved output. The notebooks also get only the
extras that docs/start/install.md tells readers to install: the packages of other extras cannot be imported.
"""

import sys
from importlib.machinery import PathFinder
from typing import Any

import numpy as np

_HIDDEN_PACKAGES = ("docx", "dp_accounting", "duckdb", "jax", "mbi", "openpyxl", "polars", "pyarrow", "pyreadstat")


class _HidingFinder(PathFinder):
    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> Any:
        return None if fullname.partition(".")[0] in _HIDDEN_PACKAGES else super().find_spec(fullname, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = _HidingFinder

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
    indices = _random_ties(values, -1 if axis is None else axis, kind, order, **more)
    return np.take_along_axis(values, indices, -1 if axis is None else axis)


def _argpartition(a: Any, _kth: Any, axis: int | None = -1, _kind: Any = None, order: Any = None) -> Any:
    """Sort instead, because a sorted array is also partitioned."""
    return _random_ties(a, axis, None, order)


np.argsort, np.sort, np.argpartition = _random_ties, _sort, _argpartition
