"""What is installed only with an extra: imported when it is needed, and asked for by name where it is missing."""

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from toolkit.core.checks import refuse

_EXTRAS = {
    "lab": ("anywidget", "ipywidgets", "jupyterlab", "matplotlib", "pandas"),
    "collect": ("cryptography", "httptools", "narwhals", "psycopg", "segno", "tomli_w", "tomlkit", "uvicorn"),
    "scale": ("duckdb", "polars", "pyarrow"),
    "analysis": ("formulaic",),
    "accounting": ("dp_accounting",),
    "files": ("docx", "openpyxl", "pyreadstat"),
    "learning": ("sklearn",),
}

# Below these an engine reads otherwise than promised: pandas 2 holds text as objects, which would be added up
# as numbers; polars below 1.37 fails on a lazy frame after the charge, or prints a value of one that fails.
_LEAST = {"pandas": (3, 0), "polars": (1, 37), "pyarrow": (18, 0), "duckdb": (1, 5), "pyspark": (4, 0)}


class MissingExtraError(ImportError):
    """A package is missing that comes with one of the toolkit's extras; the message says with which."""


def extra(name: str) -> Any:
    """The module of that name; a sentence where it is not installed.

    >>> extra("json").dumps([1])
    '[1]'
    """
    check_extras(name)
    return import_module(name)


def check_extras(*names: str) -> None:
    """Refuse, before anything is done, where one of these modules is not installed."""
    for name in names:
        package = name.partition(".")[0]
        if find_spec(package) is None:
            extra_name = next((extra for extra, packages in _EXTRAS.items() if package in packages), None)
            command = f"pip install 'privacy-survey-toolkit[{extra_name}]'" if extra_name else f"pip install {package}"
            refuse(f"{package} must be installed for this", "none", f"run {command}", MissingExtraError)


def check_engine(frame: object) -> None:
    """Refuse, before anything is charged or read, a frame of an engine that is older than what was tried."""
    origins = {kind.__module__.partition(".")[0].lstrip("_") for kind in type(frame).__mro__}
    for package in origins & set(_LEAST):
        version = str(getattr(sys.modules.get(package), "__version__", "none that is told"))
        if tuple(map(int, re.findall(r"\d+", version)[:2])) < _LEAST[package]:
            required = f"{package}>={'.'.join(map(str, _LEAST[package]))}"
            consequence = f"older ones are read otherwise than promised; run pip install '{required}'"
            refuse(f"frames must be of {required}", version, consequence, MissingExtraError)
