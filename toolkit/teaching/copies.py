"""The notebooks and their data: paths, copies for students and teachers, and a cell that installs the toolkit.

A student's copy has no saved outputs, because they would show what the student should find out. The functions that the
student writes are empty. The cell after each function compares it with the toolkit. "Run all" still reaches the end:
cells that need an unwritten function may fail, and the last cell lists what is left to do. The copy omits the sample
report of the project and the key to the patterns that were planted in the data.
"""

import json
import shutil
from pathlib import Path

from toolkit.core.checks import reject
from toolkit.teaching.checking import right_parts
from toolkit.teaching.hidden_cases import CASES
from toolkit.teaching.replies import ENGLISH, check_language
from toolkit.teaching.student_cells import (
    Cell,
    exercises_in,
    function_name,
    new_cell,
    seal_page,
    source_of,
    student_cells,
    tags_of,
)
from toolkit.teaching.translations import Translations, read_translations, translate_notebook

_STARTER = Path(__file__).parent / "starter"
_CHECKOUT = Path(__file__).parents[2]
FOLDERS = ("notebooks", "data")
"""The folders of the course, which are next to each other."""
_KEY = "notebooks/teaching/answers.toml"
_TEACHER_PAGES = ("README.md",)
"""Pages for teachers only: the list of the answers, and the materials to hand out."""
_INSTALL_CODE = '''\
# Installs the toolkit where it is not, as in JupyterLite or Colab.
import importlib.util
import sys
from pathlib import Path

if importlib.util.find_spec("toolkit") is None:
    if sys.platform == "emscripten":  # JupyterLite, which brings the wheel
        import piplite

        await piplite.install("privacy-survey-toolkit[course]")
    else:  # a wheel that lies beside this notebook, or else the package index
        here = map(str, Path().glob("privacy_survey_toolkit-*.whl"))
        wheels = [*here, "privacy-survey-toolkit"]
        %pip install -q "{wheels[0]}[course]"'''


def course() -> Path:
    """Return the folder of the notebooks and their data: inside an installed package, or next to it in a checkout."""
    for root in (_STARTER, _CHECKOUT):
        if all((root / folder).is_dir() for folder in FOLDERS):
            return root
    remedy = "install a wheel, or work in a checkout of the project"
    reject("the notebooks must come with the package", "none", remedy, OSError)


def dataset(name: str) -> Path:
    """Return the path of a data file of the course, wherever the toolkit is installed.

    Parameters
    ----------
    name : str
        Path of the file relative to the data folder.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    FileNotFoundError
        If the course has no such file.

    Examples
    --------
    >>> dataset("attacks/grades.csv").read_text().splitlines()[0]
    'course,year,grade'
    """
    folder = course() / "data"
    if (folder / name) not in folder.rglob("*.*"):
        tables = ", ".join(sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.csv")))
        reject("`name` must be a table of the course", repr(name)[:60], f"there are {tables}", FileNotFoundError)
    return folder / name


def translated_notebooks(language: str) -> list[str]:
    """Return the names of the notebooks that are translated into a language, without `.ipynb`; all if it is English."""
    if language == ENGLISH:
        return sorted(path.stem for path in (course() / "notebooks").glob("*.ipynb"))
    return sorted(_translations(language).notebooks)


def _translations(language: str) -> Translations:
    check_language(language)
    return read_translations(course() / "notebooks" / "teaching" / "languages" / f"{language}.toml")


def copy_course(target: Path, audience: str = "", *, add_install_cell: bool = False, language: str = ENGLISH) -> None:
    """Copy notebooks and data into a folder that has none; a "student" gets no solutions, outputs or answer keys.

    Notebooks without a translation into the language are copied in English.
    """
    translations = None if language == ENGLISH else _translations(language)
    _check_target(target, audience)
    for path in _course_files(audience):
        copied = target / path.relative_to(course())
        copied.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".ipynb":
            notebook_texts = translations if translations and path.stem in translations.notebooks else None
            _copy_notebook(path, copied, audience, add_install_cell=add_install_cell, translations=notebook_texts)
        elif path.suffix == ".md" and audience == "student":
            copied.write_text(seal_page(path.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            shutil.copyfile(path, copied)


def _check_target(target: Path, audience: str) -> None:
    """Raise an error if the folder has a course already, or if a copy for teachers lacks the key."""
    for folder in FOLDERS:
        if (target / folder).exists():
            reject(
                f"`folder` must not contain {folder} yet",
                str(target / folder),
                "nothing was overwritten; choose another folder",
                FileExistsError,
            )
    if audience == "teacher" and not (course() / _KEY).is_file():
        remedy = "in a checkout of the project, `make teacher DIR=…` writes it"
        reject(
            "a copy for teachers must be made where the key is", "a wheel, which has no key", remedy, FileNotFoundError
        )


def _course_files(audience: str) -> list[Path]:
    """Return the files that a copy contains."""
    suffixes = {".ipynb", ".md", ".png", ".csv"} | ({".toml"} if audience == "teacher" else set())
    files = []
    for path in sorted(path for folder in FOLDERS for path in (course() / folder).rglob("*.*")):
        name = path.relative_to(course())
        is_hidden = any(part.startswith((".", "__")) for part in name.parts)
        is_used_here = bool({"class", "languages"} & {*name.parts[1:-1]})
        is_readable = path.suffix in suffixes or name.as_posix() == "data/campus.toml"
        is_for_teachers = audience == "student" and name.parts[0] == "notebooks" and path.name in _TEACHER_PAGES
        if is_readable and not (is_hidden or is_used_here or is_for_teachers):
            files.append(path)
    return files


def _copy_notebook(
    path: Path, target: Path, audience: str, *, add_install_cell: bool, translations: Translations | None
) -> None:
    if audience != "student" and not add_install_cell and translations is None:
        shutil.copyfile(path, target)
        return
    notebook = json.loads(path.read_text(encoding="utf-8"))
    if audience == "student":
        notebook["cells"] = student_cells(notebook["cells"])
        _add_nbgrader_metadata(notebook["cells"])
    if translations:
        translate_notebook(path.stem, notebook["cells"], translations)
    if add_install_cell:
        notebook["cells"].insert(1, new_cell("install", _INSTALL_CODE))
    # Lists of lines are joined, because the table of contents of JupyterLite cannot read them.
    for cell in notebook["cells"]:
        cell["source"] = source_of(cell)
        for data in (output.get("data", {}) for output in cell.get("outputs", [])):
            data |= {mime: "".join(text) for mime, text in data.items() if mime.startswith("text/")}
    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False)
    target.write_text(f"{text}\n", encoding="utf-8")


def _add_nbgrader_metadata(cells: list[Cell]) -> None:
    """Mark for nbgrader which cells a student fills in, and how many points each gives in `toolkit grade`.

    nbgrader runs the check after each function, and leaves the answers to `toolkit grade` or to the teacher.
    """
    name = ""
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        if "yours" in tags_of(cell):
            name = function_name(cell)
            _set_nbgrader(cell, name, is_solution=True)
        elif name and "attempt(" in source_of(cell):
            _set_nbgrader(cell, f"{name}-check", points=CASES)
            name = ""
        elif "answer" in tags_of(cell):
            (exercise,) = exercises_in(cell)
            points = len(right_parts(exercise, ()))
            _set_nbgrader(cell, f"answer-{exercise.replace('.', '-')}", is_solution=True, points=points)


def _set_nbgrader(cell: Cell, grade_id: str, *, is_solution: bool = False, points: int = 0) -> None:
    """Set the metadata of nbgrader's schema 3; cells that are not for the student's solution are locked."""
    fields = {"grade": points > 0, "grade_id": grade_id, "locked": not is_solution, "schema_version": 3}
    fields |= {"solution": is_solution, "task": False} | ({"points": points} if points else {})
    cell["metadata"]["nbgrader"] = fields
