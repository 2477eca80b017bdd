"""Run Python as if on another processor: floating-point results inside `toolkit` move in their last place.

    ROUNDING=1 PYTHONPATH=.make/rounding .venv/bin/python -m pytest tests/analysis

Processors, linear algebra libraries and math libraries differ in the last bit of logarithms, sums, products of
matrices and solutions of equations. With the variable ROUNDING set to a whole number, Python rewrites every module of
the toolkit at import so that these results are moved up or down by one unit in the last place. The value and ROUNDING
decide the direction, so the same call gives the same result twice. Sums and products move by a unit of the sum of
magnitudes, because that is what another order of addition changes. Results that every processor computes exactly stay:
whole numbers, short binary fractions, sums of at most two terms.

Python imports this file at start-up when PYTHONPATH names its folder, so servers and notebook kernels are reached.
"""

import ast
import marshal
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

_NUMPY = """
exp log log1p expm1 log2 log10 exp2 power float_power sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh cbrt hypot
logaddexp average inner dot tensordot einsum cov corrcoef trapezoid nansum nanmean interp convolve cumsum cumprod prod
std var geomspace
"""
_MATH = "exp log log1p expm1 log2 log10 pow sin cos tan asin acos atan atan2 sinh cosh tanh hypot gamma lgamma erf erfc"
_LINALG = "solve inv cholesky eigh eigvalsh lstsq det slogdet svd qr pinv norm"
_FUNCTIONS = {"numpy": {*_NUMPY.split()}, "math": {*_MATH.split()}, "linalg": {*_LINALG.split()}}
_SPECIAL = {"scipy.special", "toolkit.core.inference.special"}
_SUMS = {"sum", "mean"}
_METHODS = {"cumsum", "cumprod", "prod", "std", "var", "trace"}
_HERE = Path(__file__).resolve()
_CACHE = _HERE.parents[2] / "build" / f"rounding-{sys.implementation.cache_tag}-{_HERE.stat().st_mtime_ns}"
_SEED = np.uint64(int(os.environ.get("ROUNDING") or 0) * 0x2545F4914F6CDD1D % 2**64)
_ODD = np.uint64(0x9E3779B97F4A7C15)


def _signs(values: Any) -> Any:
    """Return plus or minus one for each value: its magnitude and the seed decide whether it moves away from zero."""
    mixed = (np.abs(values).view(np.uint64) ^ _SEED) * _ODD
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _ODD
    return np.where(mixed >> np.uint64(63), 1.0, -1.0) * np.where(values < 0, -1.0, 1.0)


def _is_short(values: Any) -> Any:
    """Return whether each number is whole or a short binary fraction, with which every processor computes exactly."""
    scaled = np.asarray(values, float) * 1024
    return ~np.isfinite(scaled) | ((scaled == np.rint(scaled)) & (np.abs(scaled) < 2.0**50))


def _is_floats(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.float64) and value.dtype == np.float64


def move(value: Any) -> Any:
    """Move floats by one unit in the last place; an array that owns its data is changed in place, as `out` requires."""
    if isinstance(value, tuple):
        parts = [move(part) for part in value]
        return tuple(parts) if type(value) is tuple else type(value)(*parts)
    if type(value) is float:
        return float(move(np.array([value]))[0])
    if not _is_floats(value):
        return value
    with np.errstate(all="ignore"):
        flat = np.ascontiguousarray(value)
        moved = np.where(_is_short(flat), flat, np.nextafter(flat, _signs(flat) * np.inf))
    moved = moved.reshape(np.shape(value))
    if isinstance(value, np.ndarray) and value.flags.writeable and value.flags.owndata:
        value[...] = moved
        return value
    return np.float64(moved) if isinstance(value, np.float64) else moved


def _move_sum(value: Any, magnitude: Any, terms: Any) -> Any:
    """Move sums by one unit in the last place of the sum of magnitudes, unless two terms or fewer are added."""
    with np.errstate(all="ignore"):
        flat, unit = np.ascontiguousarray(value), np.spacing(magnitude)
        free = np.isfinite(flat) & np.isfinite(unit) & (terms > 2)
        moved = np.where(free, flat + _signs(flat) * unit, flat).reshape(np.shape(value))
    return np.float64(moved) if np.ndim(value) == 0 else moved


def multiply_matrices(left: Any, right: Any) -> Any:
    """Compute `left @ right` as another processor would."""
    value = left @ right
    arrays = isinstance(left, np.ndarray) and isinstance(right, np.ndarray) and _is_floats(value)
    if not arrays or (_is_short(left).all() and _is_short(right).all()):
        return value
    with np.errstate(all="ignore"):
        magnitude = np.abs(left) @ np.abs(right)
        terms = (left != 0).astype(float) @ (right != 0).astype(float)
    # Processors add two products with one or two roundings, unless one factor consists of signs only.
    signs = any(np.isin(side, (-1, 0, 1)).all() for side in (left, right))
    return _move_sum(value, magnitude, terms if signs else terms + (terms > 1))


def add_up(values: Any, name: str, *arguments: Any, **options: Any) -> Any:
    """Compute `values.sum(...)` or `values.mean(...)` as another processor would."""
    if not hasattr(values, name):
        values = np.asarray(values)
    value = getattr(values, name)(*arguments, **options)
    if not isinstance(values, np.ndarray):
        return move(value)
    if not _is_floats(value) or values.dtype != np.float64 or _is_short(values).all():
        return value
    with np.errstate(all="ignore"):
        magnitude = getattr(np.abs(values), name)(*arguments, **options)
        terms = (values != 0).sum(*arguments, **options)
    return _move_sum(value, magnitude, terms)


def add(values: Any, start: Any = 0) -> Any:
    """Compute `sum(values)` as another version of Python would: since 3.12 floats are added up with compensation."""
    terms = list(values)
    total = sum(terms, start)
    return move(total) if len(terms) > 2 else total


class _Rewriter(ast.NodeTransformer):
    """Wrap the calls and products of a module in the functions above."""

    def __init__(self, tree: ast.Module) -> None:
        self.modules: dict[str, str] = {}
        self.names: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self.modules |= {name.asname or name.name: name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module in _SPECIAL:
                self.names |= {name.asname or name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module == "math":
                self.names |= {name.asname or name.name for name in node.names} & _FUNCTIONS["math"]

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return (
            self._call("multiply_matrices", node, node.left, node.right) if isinstance(node.op, ast.MatMult) else node
        )

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Name) and function.id == "sum":
            return self._call("add", node, *node.args, keywords=node.keywords)
        if isinstance(function, ast.Name):
            return self._call("move", node, node) if function.id in self.names else node
        if not isinstance(function, ast.Attribute):
            return node
        owner, name = function.value, function.attr
        module = self.modules.get(owner.id) if isinstance(owner, ast.Name) else None
        if isinstance(owner, ast.Attribute) and owner.attr == "linalg":
            module = "linalg"
        if name in _SUMS and (module is None or module == "numpy"):
            values, *rest = node.args if module else (owner, *node.args)
            return self._call("add_up", node, values, ast.Constant(name), *rest, keywords=node.keywords)
        moves = name in (_METHODS if module is None else _FUNCTIONS.get(module, set()))
        return self._call("move", node, node) if moves else node

    @staticmethod
    def _call(name: str, node: ast.AST, *arguments: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.AST:
        owner = ast.Name("__rounding__", ast.Load())
        call = ast.Call(ast.Attribute(owner, name, ast.Load()), list(arguments), keywords or [])
        return ast.fix_missing_locations(ast.copy_location(call, node))


class _Loader(SourceFileLoader):
    """Compile rewritten modules once for all processes; Python's own cache holds the original modules."""

    def get_code(self, fullname: str) -> Any:
        cache = _CACHE / f"{fullname}-{Path(self.path).stat().st_mtime_ns}"
        try:
            return marshal.loads(cache.read_bytes())  # noqa: S302  written below
        except (OSError, EOFError, ValueError):
            tree = ast.parse(self.get_data(self.path))
            code = compile(_Rewriter(tree).visit(tree), self.path, "exec", dont_inherit=True)
        partial = cache.with_name(f"{cache.name}-{os.getpid()}")
        partial.write_bytes(marshal.dumps(code))
        partial.replace(cache)
        return code

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__rounding__"] = sys.modules[__name__]
        super().exec_module(module)


class _Finder(PathFinder):
    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = super().find_spec(fullname, path, target) if fullname.partition(".")[0] == "toolkit" else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader) and spec.origin:
            spec.loader = _Loader(spec.loader.name, spec.origin)
        return spec


if os.environ.get("ROUNDING"):
    _CACHE.mkdir(parents=True, exist_ok=True)
    sys.meta_path.insert(0, _Finder)
