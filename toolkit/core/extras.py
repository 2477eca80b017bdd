"""What is installed only with an extra: imported when it is needed, and asked for by name where it is
missing.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from toolkit.core.checks import refuse

_EXTRAS = {
    "lab": ("anywidget", "ipywidgets", "jupyterlab", "matplotlib", "pandas"),
    "collect": ("cryptography", "httptools", "narwhals", "psycopg", "segno", "tomli_w", "uvicorn"),
    "scale": ("duckdb", "polars", "pyarrow"),
    "analysis": ("formulaic",),
    "accounting": ("dp_accounting",),
    "learning": ("sklearn",),
}


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
            wanted = next((extra for extra, packages in _EXTRAS.items() if package in packages), None)
            command = (
                f"pip install 'privacy-survey-toolkit[{wanted}]'" if wanted else f"pip install {package}"
            )
            refuse(f"{package} must be installed for this", "none", f"run {command}", MissingExtraError)
