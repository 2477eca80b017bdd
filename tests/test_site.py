"""The course in a browser: the notebooks can be imported and check answers in a Python without the modules that Pyodide
lacks, and the site is built with the wheel and the notebooks.
"""

import ast
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.needs import lacking

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
RUN = [path for path in sorted(FOLDER.glob("*.ipynb")) if path.name[:2] not in ("08", "15")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Modules: those that cannot be imported in Pyodide 314.0.7 (tested), those that Pyodide 0.29 has only as separate
# packages, and those that the notebooks need not have. Calls: processes, threads, sockets and hard links, as tested in
# Pyodide 314.0.7.
BLOCK = """
import sys
GONE = {"_hashlib", "pwd", "grp", "resource", "syslog", "readline", "curses", "dbm", "tkinter", "venv", "ensurepip"}
GONE |= {"sqlite3", "_sqlite3", "ssl", "_ssl", "lzma", "_lzma"}
GONE |= {"uvicorn", "httptools", "uvloop", "psycopg", "cryptography", "duckdb", "polars", "pyarrow", "segno", "tomli_w"}
GONE |= {"dp_accounting", "jupyterlab", "voila"}

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in GONE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

assert not GONE & {name.partition(".")[0] for name in sys.modules} - {"readline"}
sys.meta_path.insert(0, Gone())
import _thread, hashlib, os, socket, subprocess, threading

def refuse(*_, **__):
    raise OSError("a browser has none")

threads = [(threading, "_start_new_thread"), (threading, "_start_joinable_thread"), (_thread, "start_new_thread")]
processes = [(subprocess.Popen, "__init__"), (os, "fork"), (os, "posix_spawn")]
for owner, name in threads + processes + [(socket.socket, "connect"), (socket.socket, "bind")]:
    if hasattr(owner, name):
        setattr(owner, name, refuse)
del os.link
if hasattr(hashlib, "pbkdf2_hmac"):
    del hashlib.pbkdf2_hmac
"""
IMPORTS = """
import json
for name, source in json.load(sys.stdin).items():
    exec(compile(source, name, "exec"), {})
from toolkit import Ledger, Pure
from toolkit.teaching import check, dataset
ledger = Ledger(Pure(1))
ledger.charge(Pure("1/2"), "a count")
print(check("03.1", ("3/4", 1.0986, 5)), dataset("exam_survey.csv").exists(), ledger.remaining)
try:
    Ledger(Pure(1), path="budget.db")
except ModuleNotFoundError as problem:
    print(problem.name)
"""
STREAM = """
GONE -= {"sqlite3", "_sqlite3"}
from toolkit import Ledger, Pure
from toolkit.central.stream import RunningTotal
ledger = Ledger(Pure(1), neighbors="add_remove", path="budget.db")
claims = ledger.every(RunningTotal.for_epsilon("1/2", periods=4), "claims")
claims.add(3)
print(os.path.exists("budget.db-stream-claims"))
"""


def imports(path):
    """Return the import statements of a notebook."""
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    nodes = [node for cell in cells for node in ast.walk(ast.parse("".join(cell["source"])))]
    return "\n".join(ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))


def in_a_browser(code, folder, given=""):
    call = [sys.executable, "-c", f"{BLOCK}\nsys.path.insert(0, {str(ROOT)!r})\n{code}"]
    done = subprocess.run(call, cwd=folder, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")


@pytest.mark.slow
def test_all_that_notebooks_import_can_be_had_in_a_browser(tmp_path):
    sources = {path.name: imports(path) for path in RUN}
    assert len(sources) == 16
    assert all("toolkit" in source for source in sources.values())
    said = in_a_browser(IMPORTS, tmp_path, json.dumps(sources))
    assert said[:2] == ["03.1: right. True ε = 0.5", "sqlite3"]


@pytest.mark.slow
def test_a_stream_with_a_file_begins_where_files_have_one_name_each(tmp_path):
    assert in_a_browser(STREAM, tmp_path)[0] == "True"


@pytest.mark.slow
def test_what_the_notebooks_import_comes_with_the_extra_of_the_course():
    """Return the packages that Binder, Colab and the site install; `collect` is for 08 and 15, which need a server."""
    brought = {
        Requirement(line).name.replace("scikit-learn", "sklearn") for line in PROJECT["optional-dependencies"]["course"]
    }
    brought |= {Requirement(line).name for line in PROJECT["dependencies"]} | {
        "toolkit",
        "IPython",
    }  # a dependency of ipywidgets
    modules = {
        name for path in RUN for name in re.findall(r"^(?:import|from) (\w+)", imports(path), flags=re.MULTILINE)
    }
    assert modules - set(sys.stdlib_module_names) <= brought
    floors = {Requirement(line).name: line for lines in PROJECT["optional-dependencies"].values() for line in lines}
    assert all(
        line == floors[Requirement(line).name]
        for line in PROJECT["optional-dependencies"]["course"]
        if "scikit" not in line
    )


def test_binder_installs_this_repository_with_extras_that_it_has():
    (line,) = [line for line in (ROOT / "binder" / "requirements.txt").read_text().splitlines() if line[0] != "#"]
    extras = re.fullmatch(r"\.\[([\w,]+)\]", line)[1].split(",")
    assert {"lab", "course"} <= set(extras) <= set(PROJECT["optional-dependencies"])
    minor = re.fullmatch(r"python-3\.(\d+)\n", (ROOT / "binder" / "runtime.txt").read_text())[1]
    assert int(minor) >= 11


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if importlib.util.find_spec("jupyterlite_pyodide_kernel") is None:
        lacking("jupyterlite-pyodide-kernel must be installed for this test: make install")
    spec = importlib.util.spec_from_file_location("site_of_the_course", ROOT / ".make" / "site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("site")
    module.build_site(folder, "student")
    return folder


@pytest.mark.slow
def test_the_site_contains_wheel_notebooks_and_widgets(site):
    """The site contains the wheel, the notebooks and the scripts that draw widgets."""
    index = json.loads((site / "pypi" / "all.json").read_text())
    assert {"privacy-survey-toolkit", "anywidget", "comm", "formulaic", "ipywidgets"} <= set(index)
    (wheel,) = (site / "pypi").glob("privacy_survey_toolkit-*.whl")
    assert all(path.name.endswith("-none-any.whl") for path in (site / "pypi").glob("*.whl"))
    names = zipfile.ZipFile(wheel).namelist()
    assert "toolkit/teaching/starter/data/attacks/grades.csv" in names
    assert {path.name for path in (site / "files" / "notebooks").glob("*.ipynb")} == {
        path.name for path in FOLDER.glob("*.ipynb")
    }
    extensions = {path.parent.name for path in (site / "extensions").rglob("package.json")}
    assert {"jupyterlab-manager", "anywidget", "pyodide-kernel-extension"} <= extensions


@pytest.mark.slow
def test_each_site_notebook_installs_the_toolkit_or_is_recorded(site):
    """Every notebook of the site installs the toolkit or says that it is recorded."""
    for path in (site / "files" / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        if path.name[:2] in ("08", "15"):
            assert "**Recorded.**" in "".join(cells[0]["source"])
            assert all(cell["id"] != "install" for cell in cells)
        else:
            assert cells[1]["id"] == "install"
            assert 'piplite.install("privacy-survey-toolkit[course]")' in "".join(cells[1]["source"])
