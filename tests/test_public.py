"""The public names, and what `import toolkit` costs."""

import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import toolkit

ROOT = Path(__file__).parents[1]


def run(code: str, *options: str, **variables: str) -> str:
    environment = {**os.environ, **variables}
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


@pytest.mark.slow
def test_importing_the_toolkit_imports_nothing_heavy() -> None:
    loaded = run("import toolkit, sys; print(*sys.modules)").split()
    heavy = {
        "matplotlib",
        "ipywidgets",
        "pandas",
        "polars",
        "anywidget",
        "scipy.stats",
        "scipy.optimize",
        "IPython",
        "starlette",
        "sklearn",
    }
    assert not heavy & set(loaded)


@pytest.mark.slow
def test_importing_the_toolkit_is_fast(tmp_path: Path) -> None:
    """At most 1.1 times `import numpy, scipy.special`: processor time in turns, medians of seven.

    Everything has been compiled, ours and theirs: by a run before, into a place of its own, whatever this
    machine keeps.
    """

    def seconds(imported: str) -> float:
        timed = f"import time; start = time.process_time(); {imported}; print(time.process_time() - start)"
        return float(run(timed, "-X", f"pycache_prefix={tmp_path}", PYTHONDONTWRITEBYTECODE=""))

    runs = [(seconds("import toolkit"), seconds("import numpy, scipy.special")) for _ in range(8)]
    assert list(tmp_path.rglob("toolkit/__init__.*.pyc"))  # there it is
    ours, base = (statistics.median(times) for times in zip(*runs[1:], strict=True))
    assert ours <= 1.1 * base


def test_every_public_name_is_documented_and_explained_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    for name in set(toolkit.__all__) - {"__version__"}:
        assert getattr(toolkit, name).__doc__, name
        assert f"`{name}" in readme or f" {name}(" in readme or f" {name}," in readme, (
            f"{name} is not in the README"
        )


@pytest.mark.slow
def test_rooms_and_names_of_upper_floors_are_there_when_they_are_asked_for() -> None:
    asked = "import toolkit; print(toolkit.analysis.__name__, toolkit.show.__name__, toolkit.Survey.__name__)"
    assert run(asked).split() == ["toolkit.analysis", "toolkit.show", "Survey"]
    assert run("from toolkit import *; print(collect.__name__, plan.__name__)").split() == ["collect", "plan"]
    assert run("import sys, toolkit; print('toolkit.survey' in sys.modules)").strip() == "False"
    with pytest.raises(AttributeError, match="no attribute 'fourier'"):
        _ = toolkit.fourier
