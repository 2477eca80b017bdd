"""What is installed is what was written: a wheel is built, and used in an empty folder where there is no
checkout.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.needs import lacking

ROOT = Path(__file__).parents[1]
NEEDED = ("toolkit", "notebooks", "data", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The wheel, unpacked where nothing else is; pip fetches setuptools to build it."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in NEEDED:
        subprocess.run(["cp", "-r", ROOT / name, source], check=True)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source]
    done = subprocess.run(build, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode and "No matching distribution found for setuptools" in done.stderr:
        lacking("pip must reach a package index for setuptools, which builds the wheel")
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def run(installed, tmp_path):
    """Runs a verb of the wheel in an empty folder."""

    def run(*arguments):
        call = [sys.executable, "-m", "toolkit.command", *arguments]
        done = subprocess.run(
            call, cwd=tmp_path, env=alone(installed), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def alone(installed):
    return {**os.environ, "PYTHONPATH": str(installed)}


def test_the_wheel_is_what_runs_and_it_carries_every_file_of_the_package(installed, tmp_path):
    where = [sys.executable, "-c", "import toolkit; print(toolkit.__file__)"]
    told = subprocess.run(
        where, cwd=tmp_path, env=alone(installed), capture_output=True, text=True, check=True
    ).stdout
    assert Path(told.strip()) == installed / "toolkit" / "__init__.py"
    files = {
        path.relative_to(ROOT)
        for path in (ROOT / "toolkit").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {file for file in files if not (installed / file).is_file()} == set()


def test_a_survey_is_begun_and_checked_in_an_empty_folder(run):
    run("new", "survey.toml")
    assert run("check", "survey.toml").startswith("<Survey 'Study and exams': 5 questions")


def test_notebook_03_finds_its_data_where_the_wheel_put_it(run, installed, tmp_path, monkeypatch):
    run("notebooks", "course")
    monkeypatch.setenv("PYTHONPATH", str(installed))
    path = tmp_path / "course" / "notebooks" / "03_randomized_response.ipynb"
    notebook = nbformat.read(path, as_version=4)
    (reading,) = [
        place
        for place, cell in enumerate(notebook.cells)
        if "exam_survey.csv" in cell.source and cell.cell_type == "code"
    ]
    imports = [
        cell for cell in notebook.cells[:reading] if cell.cell_type == "code" and "import " in cell.source
    ][:1]
    where = nbformat.v4.new_code_cell("import toolkit; print(toolkit.__file__)")
    notebook.cells = [*imports, where, notebook.cells[reading]]
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    assert str(installed) in notebook.cells[-2].outputs[0].text
    assert notebook.cells[-1].outputs
