"""Optional imports: packages that come with an extra, and a progress bar where tqdm is installed."""

import re
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from toolkit.core.checks import reject

# For a package of several extras, the message suggests the first extra, unless the caller names another.
_EXTRAS = {
    "lab": ("anywidget", "ipywidgets", "jupyterlab", "matplotlib", "pandas"),
    "analysis": ("formulaic", "narwhals", "pandas"),
    "collect": ("cryptography", "httptools", "jinja2", "narwhals", "pandas", "psycopg", "segno", "tomli_w", "tomlkit"),
    "scale": ("duckdb", "polars", "pyarrow"),
    "accounting": ("dp_accounting",),
    "files": ("docx", "openpyxl", "pyreadstat"),
    "learning": ("sklearn",),
    "synthetic": ("jax", "mbi"),
}

# Older engines are not safe: pandas 2 stores text as objects, which would be added up as numbers, and polars before
# 1.37 fails on a lazy frame after the charge, or its error prints a value of the frame.
_OLDEST = {"pandas": (3, 0), "polars": (1, 37), "pyarrow": (18, 0), "duckdb": (1, 5), "pyspark": (4, 0)}


class MissingExtraError(ImportError):
    """A package that comes with one of the toolkit's extras is missing; the message names the extra.

    Examples
    --------
    >>> issubclass(MissingExtraError, ImportError)
    True
    """


def extra(module: str, name: str | None = None) -> Any:
    """Import a module of an optional package; if it is missing, the error names the extra (`name`) to install."""
    check_extras(module, name=name)
    return import_module(module)


def check_extras(*modules: str, name: str | None = None) -> None:
    """Raise `MissingExtraError` if the package of one of these modules is not installed."""
    for module in modules:
        package = module.partition(".")[0]
        if find_spec(package) is None:
            offer = name or next((offered for offered, packages in _EXTRAS.items() if package in packages), None)
            command = f"pip install 'privacy-survey-toolkit[{offer}]'" if offer else f"pip install {package}"
            reject(f"{package} must be installed for this", "none", f"run {command}", MissingExtraError)


def check_engine(frame: object) -> None:
    """Reject a frame of an engine that is older than the tested versions, before anything is charged or read."""
    packages = {base.__module__.partition(".")[0].lstrip("_") for base in type(frame).__mro__}
    for package in packages & set(_OLDEST):
        version = str(getattr(sys.modules.get(package), "__version__", "an unknown version"))
        if tuple(map(int, re.findall(r"\d+", version)[:2])) < _OLDEST[package]:
            required = f"{package}>={'.'.join(map(str, _OLDEST[package]))}"
            consequence = f"older versions read data differently; run pip install '{required}'"
            reject(f"frames must be of {required}", version, consequence, MissingExtraError)


# With fewer chunks than this, no progress bar is shown.
_MANY = 64


def chunks(total: int, size: int, description: str) -> Iterator[slice]:
    """Yield slices that cover 0 … total-1, with a progress bar if that takes longer than a second."""
    starts = range(0, total, size)
    for start in starts if len(starts) < _MANY else _with_bar(starts, description):
        yield slice(start, start + size)


def _with_bar(starts: range, description: str) -> Iterable[int]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return starts
    bar: Iterable[int] = tqdm(starts, desc=description, unit=" pieces", delay=1, leave=False)
    return bar
