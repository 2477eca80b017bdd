"""Build a site that runs the course in a browser: `make site DIR=…` builds JupyterLite with the toolkit's wheel.

Any web server can serve the site. The browser fetches Pyodide, with NumPy and pandas, from Pyodide's content network;
the site contains the packages that Pyodide lacks. Notebooks 08 and 15 start a server, which a browser cannot do: the
site has them with their recorded outputs, and says so.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from toolkit.teaching.copies import copy_course

ROOT = Path(__file__).parents[1]
RECORDED_NOTEBOOKS = ("08", "15")
SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "toolkit", "notebooks", "data")
BUNDLED_PACKAGES = ("anywidget", "comm", "formulaic", "interface-meta", "ipywidgets", "jupyterlab-widgets", "psygnal")
"""Pure Python packages that the extra `course` needs and Pyodide 314 lacks."""
RECORDED_NOTE = (
    "> **Recorded.** This notebook starts a server, which a browser cannot do: read it, but do not run it here."
)


def build_site(folder: Path, kind: str = "", language: str = "en") -> None:
    """Build the wheel, write the notebooks with a cell that installs it, and build the site with JupyterLite."""
    with tempfile.TemporaryDirectory() as temporary:
        wheels, contents = _wheels(Path(temporary)), Path(temporary) / "contents"
        copy_course(contents, kind, add_install_cell=True, language=language)
        for path in sorted((contents / "notebooks").glob("*.ipynb")):
            if path.name[:2] in RECORDED_NOTEBOOKS:
                _mark_recorded(path)
        command = [sys.executable, "-m", "jupyterlite_core", "build", "--lite-dir", temporary, "--contents", contents]
        command += ["--apps", "lab", "--output-dir", folder.resolve(), "--no-sourcemaps"]
        command += [part for wheel in wheels for part in ("--piplite-wheels", wheel)]
        subprocess.run(command, cwd=temporary, check=True)  # noqa: S603  our own words


def _wheels(temporary: Path) -> list[Path]:
    """Return the wheels of the toolkit, built from a temporary copy of the checkout, and of the packages it needs."""
    for name in SOURCES:
        source, target = ROOT / name, temporary / "source" / name
        target.parent.mkdir(exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".*", "class"))
        else:
            shutil.copyfile(source, target)
    call = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", temporary / "wheel", "."]
    subprocess.run(call, cwd=temporary / "source", check=True)  # noqa: S603  our own words
    needed = [f"{name}=={version(name)}" for name in BUNDLED_PACKAGES]
    pure = ["--only-binary", ":all:", "--platform", "any", "--python-version", "3.14"]
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *pure, "--dest", temporary / "wheel"]
    subprocess.run([*fetch, *needed], check=True)  # noqa: S603  our own words
    return sorted((temporary / "wheel").glob("*.whl"))


def _mark_recorded(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    del notebook["cells"][1]  # the cell that installs the toolkit
    notebook["cells"].insert(0, {"cell_type": "markdown", "id": "recorded", "metadata": {}, "source": [RECORDED_NOTE]})
    path.write_text(json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    build_site(Path(sys.argv[1]), *sys.argv[2:])
