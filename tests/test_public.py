"""The public names, and the cost of `import toolkit`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import toolkit
from reference import expand

ROOT = Path(__file__).parents[1]


def run(code: str, *options: str, **variables: str) -> str:
    environment = {**os.environ, **variables}
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


@pytest.mark.slow
def test_importing_the_toolkit_imports_nothing_heavy() -> None:
    loaded = run("import toolkit, sys; print(*sys.modules)").split()
    heavy = {
        "matplotlib", "ipywidgets", "pandas", "polars", "anywidget", "scipy.stats", "scipy.optimize", "IPython",
        "starlette", "sklearn",
    }  # fmt: skip
    assert not heavy & set(loaded)


def test_every_public_name_is_documented_and_listed_by_what_it_is_for() -> None:
    page = expand((ROOT / "docs" / "reference" / "toolkit.md").read_text())
    for name in set(toolkit.__all__) - {"__version__"}:
        assert getattr(toolkit, name).__doc__, name
        assert f"`{name}" in page, name


@pytest.mark.slow
def test_rooms_and_names_of_upper_floors_are_there_when_they_are_asked_for() -> None:
    asked = (
        "import sys, toolkit; print('toolkit.survey' in sys.modules)",
        "print(toolkit.analysis.__name__, toolkit.show.__name__, toolkit.Survey.__name__)",
        "from toolkit import *; print(collect.__name__, plan.__name__)",
        "from toolkit import estimates, likert, logistic",
        "print(estimates.__name__, likert.__name__, logistic.__name__)",
    )
    expected = ["False", "toolkit.analysis toolkit.show Survey", "collect plan", "estimates likert logistic"]
    assert run("\n".join(asked)).splitlines() == expected
    with pytest.raises(AttributeError, match="No toolkit attribute fourier"):
        _ = toolkit.fourier
