"""The installed package equals the source: a source distribution and a wheel are built, and the wheel is used in an
empty folder without a checkout.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import toolkit
from tests.alone import core_packages
from tests.needs import lacking

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
MADE = shutil.ignore_patterns(
    ".git",
    ".venv",
    ".venv-lowest",
    ".venv-newest",
    ".*_cache",
    ".hypothesis",
    "__pycache__",
    "build",
    "*.egg-info",
    "*.db",
    ".ipynb_checkpoints",
)
BUILD = "import setuptools.build_meta as b, sys; getattr(b, sys.argv[1])(sys.argv[2])"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Return a copy of the checkout, without generated files."""
    return shutil.copytree(ROOT, tmp_path_factory.mktemp("checkout") / "copy", ignore=MADE)


@pytest.fixture(scope="module")
def setuptools(tmp_path_factory):
    """Return the newest setuptools, which pip downloads for every build of a wheel."""
    folder = tmp_path_factory.mktemp("setuptools")
    fetch = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, "setuptools>=77"]
    done = subprocess.run(fetch, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode and "No matching distribution found for setuptools" in done.stderr:
        lacking("pip must reach a package index for setuptools, which builds the wheel")
    assert done.returncode == 0, done.stderr
    return folder


def built(what, setuptools, source, target):
    call = [sys.executable, "-c", BUILD, f"build_{what}", target]
    environment = {**os.environ, "PYTHONPATH": str(setuptools)}
    done = subprocess.run(call, cwd=source, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = target.glob("*.whl" if what == "wheel" else "*.tar.gz")
    return path


@pytest.fixture(scope="module")
def unpacked(source, setuptools, tmp_path_factory):
    """Return the unpacked source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(built("sdist", setuptools, source, folder)) as packed:
        packed.extractall(folder, filter="data")
    return folder / f"privacy_survey_toolkit-{toolkit.__version__}"


@pytest.fixture(scope="module")
def environment(unpacked, setuptools, tmp_path_factory):
    """Return an empty environment with numpy, scipy and the wheel, which is built from the source distribution."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel = built("wheel", setuptools, unpacked, folder)
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    call = [sys.executable, "-m", "pip", "--python", folder / "venv", "install", "--quiet", "--no-deps", wheel]
    subprocess.run([*call, "--no-index", "--no-compile"], check=True, timeout=120)
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    core_packages(site)
    return folder / "venv"


@pytest.fixture(scope="module")
def installed(environment):
    """Return the folder of the toolkit in this environment."""
    (site,) = (environment / "lib").glob("python*/site-packages")
    return site


@pytest.fixture
def run(installed, tmp_path):
    """Return a function that runs a command of the wheel in an empty folder."""

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


def test_the_source_distribution_holds_what_the_repository_holds(source, unpacked):
    # A build compiles the module that setup.py imports, and may keep it in the copy.
    files = {path.relative_to(source) for path in source.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert {str(file) for file in files if not (unpacked / file).is_file()} == set()
    for name in ("Makefile", "tests/test_wheel.py", "notebooks/00_start_here.ipynb", "data/campus.toml"):
        assert (unpacked / name).is_file()


def test_in_an_empty_environment_it_is_imported_and_its_command_answers(environment, tmp_path):
    code = "import toolkit; print(toolkit.__version__, toolkit.__file__)"
    bare = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    for call, answer in (
        ([environment / "bin" / "python", "-c", code], f"{toolkit.__version__} {environment}"),
        ([environment / "bin" / "toolkit", "--help"], "usage: toolkit"),
    ):
        told = subprocess.run(call, cwd=tmp_path, env=bare, capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stderr
        assert told.stdout.startswith(answer), told.stdout


def test_what_the_package_index_shows_leads_to_no_file_beside_it(installed):
    """In the wheel, the README's links to files of the repository are plain text until the repository has an
    address.
    """
    (about,) = installed.glob("*.dist-info/METADATA")
    text = about.read_text(encoding="utf-8")
    assert "If you come from another tool, see the tables of equivalents." in text
    assert re.findall(r"\]\((?!https:)|src=\"(?!https:)", text) == []


def test_the_snippets_of_the_readme_run_from_the_wheel_with_its_extras(installed, unpacked, tmp_path):
    flags = "doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE"
    code = (
        "import doctest, sys, toolkit; assert toolkit.__file__.startswith(sys.argv[2]); "
        f"print(*doctest.testfile(sys.argv[1], module_relative=False, optionflags={flags}))"
    )
    call = [sys.executable, "-c", code, unpacked / "README.md", installed]
    told = subprocess.run(call, cwd=tmp_path, env=alone(installed), capture_output=True, text=True, check=True)
    failed, tried = map(int, told.stdout.splitlines()[-1].split())
    assert failed == 0, told.stdout
    assert tried > 15
    assert list(tmp_path.iterdir()) == []


def test_the_wheel_is_what_runs_and_it_carries_every_file_of_the_package(installed, tmp_path):
    where = [sys.executable, "-c", "import toolkit; print(toolkit.__file__)"]
    told = subprocess.run(where, cwd=tmp_path, env=alone(installed), capture_output=True, text=True, check=True).stdout
    assert Path(told.strip()) == installed / "toolkit" / "__init__.py"
    files = {
        path.relative_to(ROOT)
        for path in (ROOT / "toolkit").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {file for file in files if not (installed / file).is_file()} == set()


def test_the_wheel_has_neither_the_key_nor_the_solutions(installed, tmp_path):
    """A copy for teachers is refused, and the message says where it is made."""
    names = {path.name for path in (installed / "toolkit").rglob("*")}
    assert not names & {
        "answers.toml",
        "exams.toml",
        "questions.toml",
        "slides.toml",
        "make_data.py",
        "make_attack_data.py",
    }
    course = installed / "toolkit" / "teaching" / "starter"
    texts = [
        path.read_text(encoding="utf-8") for path in course.rglob("*") if path.suffix in (".ipynb", ".md", ".toml")
    ]
    assert len(texts) > 18
    everything = "\n".join(texts)
    assert "<details>" not in everything
    assert "answer key (for teachers)" not in everything
    assert "A sample report, in short" not in everything
    hidden = 0
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            if {"solution", "yours"} & set(cell.metadata.get("tags", [])):
                assert max(cell.source.splitlines()[1:], key=len) not in everything
                hidden += 1
    assert hidden > 60
    call = [sys.executable, "-m", "toolkit.command", "notebooks", "desk", "--teacher"]
    done = subprocess.run(call, cwd=tmp_path, env=alone(installed), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "in a checkout of the project, `make teacher DIR=…` writes it" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_survey_is_begun_and_checked_in_an_empty_folder(run):
    run("new", "survey.toml")
    assert run("check", "survey.toml").startswith("<Survey 'Study and exams': 6 questions")


def test_notebook_03_finds_its_data_where_the_wheel_put_it(run, installed, tmp_path, monkeypatch):
    """It is the German one: the wheel has the translations as well."""
    run("notebooks", "course", "--language", "de")
    monkeypatch.setenv("PYTHONPATH", str(installed))
    path = tmp_path / "course" / "notebooks" / "03_randomized_response.ipynb"
    notebook = nbformat.read(path, as_version=4)
    assert notebook.cells[0].source.startswith("# Fragen Sie einen Kurs")
    (reading,) = [
        place
        for place, cell in enumerate(notebook.cells)
        if "exam_survey.csv" in cell.source and cell.cell_type == "code"
    ]
    imports = [cell for cell in notebook.cells[:reading] if cell.cell_type == "code" and "import " in cell.source][:1]
    where = nbformat.v4.new_code_cell("import toolkit; print(toolkit.__file__)")
    notebook.cells = [*imports, where, notebook.cells[reading]]
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    assert str(installed) in notebook.cells[-2].outputs[0].text
    assert notebook.cells[-1].outputs
