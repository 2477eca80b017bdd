"""Imports that wait: of what comes with an extra, asked for by name where it is missing, and of higher floors;
and a bar for long work, where tqdm is installed.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from toolkit.core.checks import refuse

_EXTRAS = {
    "lab": ("anywidget", "ipywidgets", "jupyterlab", "matplotlib", "pandas"),
    "collect": ("cryptography", "httptools", "narwhals", "pandas", "psycopg", "segno", "tomli_w", "tomlkit"),
    "scale": ("duckdb", "polars", "pyarrow"),
    "analysis": ("formulaic", "narwhals", "pandas"),
    "accounting": ("dp_accounting",),
    "files": ("docx", "openpyxl", "pyreadstat"),
    "learning": ("sklearn",),
}

_ROOMS = {"analysis": "analysis", "survey": "collect", "commands": "collect"}

# Below these an engine reads otherwise than promised: pandas 2 holds text as objects, which would be added up
# as numbers; polars below 1.37 fails on a lazy frame after the charge, or prints a value of one that fails.
_LEAST = {"pandas": (3, 0), "polars": (1, 37), "pyarrow": (18, 0), "duckdb": (1, 5), "pyspark": (4, 0)}


class MissingExtraError(ImportError):
    """A package is missing that comes with one of the toolkit's extras; the message says with which.

    Examples
    --------
    >>> issubclass(MissingExtraError, ImportError)
    True
    """


def extra(name: str) -> Any:
    """The module of that name; a sentence where it is not installed."""
    check_extras(name)
    return import_module(name)


def check_extras(*names: str) -> None:
    """Refuse, before anything is done, where one of these modules is not installed."""
    for name in names:
        package = name.partition(".")[0]
        if find_spec(package) is None:
            extra_name = _extra_with(package)
            command = f"pip install 'privacy-survey-toolkit[{extra_name}]'" if extra_name else f"pip install {package}"
            refuse(f"{package} must be installed for this", "none", f"run {command}", MissingExtraError)


def _extra_with(package: str) -> str | None:
    """The extra that brings a package: that of the room which asks for it, if several do."""
    offers, frame = [name for name, packages in _EXTRAS.items() if package in packages], sys._getframe(2)
    while frame.f_back and len(offers) > 1:
        room = frame.f_globals.get("__name__", "").removeprefix("toolkit.").partition(".")[0]
        offers, frame = [name for name in offers if name == _ROOMS.get(room)] or offers, frame.f_back
    return offers[0] if offers else None


def check_engine(frame: object) -> None:
    """Refuse, before anything is charged or read, a frame of an engine that is older than what was tried."""
    origins = {kind.__module__.partition(".")[0].lstrip("_") for kind in type(frame).__mro__}
    for package in origins & set(_LEAST):
        version = str(getattr(sys.modules.get(package), "__version__", "none that is told"))
        if tuple(map(int, re.findall(r"\d+", version)[:2])) < _LEAST[package]:
            required = f"{package}>={'.'.join(map(str, _LEAST[package]))}"
            consequence = f"older ones are read otherwise than promised; run pip install '{required}'"
            refuse(f"frames must be of {required}", version, consequence, MissingExtraError)


def lazy(module: str, name: str) -> Any:
    """One function or class of a module on a higher floor, or beside, imported now: a picture, a form in a notebook."""
    return getattr(import_module(module), name)


_LONG = 64  # fewer pieces are done before anyone could read a bar


def chunks(total: int, size: int, what: str) -> Iterator[slice]:
    """Slices that cover 0 … total-1; a bar appears when they take longer than a second and tqdm is installed."""
    starts = range(0, total, size)
    for start in starts if len(starts) < _LONG else _with_bar(starts, what):
        yield slice(start, start + size)


def _with_bar(starts: range, what: str) -> Iterable[int]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return starts
    bar: Iterable[int] = tqdm(starts, desc=what, unit=" pieces", delay=1, leave=False)
    return bar
