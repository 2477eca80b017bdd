"""Copies for a class: without solutions for students, and worked through by a script in the place of a student."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.teaching.key import KEY, right
from toolkit.teaching import copies as copies_of_the_course
from toolkit.teaching import dataset
from toolkit.teaching.grading import possible_marks

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "notebooks"
WORKED = """
import json, sys
told = []
for cells in json.load(sys.stdin):
    said, names = [], {}
    for cell in cells:
        try:
            exec(cell, names)
        except Exception as error:
            said.append(type(error).__name__)
        else:
            said.append(repr(names.get("reply", "")) if "reply = check(" in cell else "ran")
    told.append(said)
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    copies_of_the_course.copy_course(folder / "student", "student")
    copies_of_the_course.copy_course(folder / "teacher", "teacher")
    return folder


def cells(folder, number=""):
    paths = sorted((folder / "notebooks").glob(f"{number}*.ipynb"))
    return [cell for path in paths for cell in nbformat.read(path, as_version=4).cells]


def tagged(cell, tag):
    return tag in cell.metadata.get("tags", [])


@pytest.mark.slow
def test_a_students_copy_holds_no_solution_no_output_and_no_key(copies):
    student = copies / "student"
    everything = "\n".join(
        path.read_text(encoding="utf-8") for path in student.rglob("*") if path.suffix in (".ipynb", ".md")
    )
    assert "<details>" not in everything
    assert "answer key" not in everything
    for solution in (cell for cell in cells(ROOT) if tagged(cell, "solution") or tagged(cell, "yours")):
        assert max(solution.source.splitlines()[1:], key=len) not in everything
    assert all(not cell.get("outputs") for cell in cells(student))
    assert not [*student.rglob("answers.toml"), *student.rglob("exams.toml")]
    assert not list((student / "notebooks").rglob("README.md"))
    project = (student / "notebooks" / "teaching" / "PROJECT.md").read_text(encoding="utf-8")
    assert "## Rubric" in project
    assert "ln 3" not in project


@pytest.mark.slow
def test_a_students_copy_has_all_lessons_exercises_and_tables(copies):
    """The tables are the ones that the lessons and exercises read."""
    student = [cell for cell in cells(copies / "student") if not cell.id.startswith("left")]
    original = cells(ROOT)
    kept = [cell for cell in original if not tagged(cell, "solution") and "<details>" not in cell.source]
    assert [cell.id for cell in student] == [cell.id for cell in kept]
    asked = {name for cell in student for name in re.findall(r'check\("([\d.]+)"', cell.source)}
    assert asked == {name for name in KEY if not name.startswith("P.")}  # the other tables belong to the project
    read = {name for cell in student for name in re.findall(r'dataset\("([^"{]+)"\)', cell.source)}
    assert len(read) > 8
    assert all((copies / "student" / "data" / name).read_bytes() == dataset(name).read_bytes() for name in read)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("", {"notebooks/README.md"}),
        ("student", set()),
        ("teacher", {"notebooks/README.md", "data/key.toml", "notebooks/teaching/answers.toml"}),
    ],
)
def test_files_left_between_the_notebooks_are_not_copied(tmp_path, monkeypatch, kind, more):
    """Such files come from the operating system or from a class."""
    files = ("notebooks/a.ipynb", "notebooks/teaching/b.png", "data/t.csv", "data/campus.toml")
    left = ("notebooks/.a/a.ipynb", "notebooks/__b/b.md", "notebooks/class/c.csv", "data/.t.csv", "data/d.py")
    for name in (*files, *left, "notebooks/README.md", "data/key.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('{"cells": []}')
    monkeypatch.setattr(copies_of_the_course, "course", lambda: tmp_path)
    if kind == "teacher":
        with pytest.raises(FileNotFoundError, match="in a checkout of the project, `make teacher DIR=…` writes it"):
            copies_of_the_course.copy_course(tmp_path / "copy", kind)  # as from a wheel, which has no key
        (tmp_path / "notebooks" / "teaching" / "answers.toml").write_text("")
    copies_of_the_course.copy_course(tmp_path / "copy", kind)
    copied = (path for path in (tmp_path / "copy").rglob("*") if path.is_file())
    assert {path.relative_to(tmp_path / "copy").as_posix() for path in copied} == {*files, *more}
    assert kind == "student" or (tmp_path / "copy" / files[0]).read_text() == '{"cells": []}'


def test_a_table_outside_the_course_is_rejected():
    """The message lists the tables of the course."""
    for name in ("nothing.csv", "../pyproject.toml", "", "attacks"):
        with pytest.raises(
            FileNotFoundError, match=r"`name` must be a table of the course, got .*: there are attacks/block.csv"
        ):
            dataset(name)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["", "student"])
def test_a_copy_can_begin_with_a_cell_that_installs_the_toolkit(tmp_path, kind):
    """The cell does nothing if the toolkit is already installed."""
    copies_of_the_course.copy_course(tmp_path, kind, add_install_cell=True)
    path = tmp_path / "notebooks" / "03_randomized_response.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.cells[1].id == "install"
    parts = json.loads(path.read_text(encoding="utf-8"))["cells"]
    shown = [output.get("data", {}) for cell in parts for output in cell.get("outputs", [])]
    texts = [text for data in shown for name, text in data.items() if name.startswith("text/")]
    assert {type(text) for text in [cell["source"] for cell in parts] + texts} == {str}
    assert notebook.cells[1].source == copies_of_the_course._INSTALL_CODE
    if kind:
        return
    original = nbformat.read(FOLDER / path.name, as_version=4)
    assert [*notebook.cells[:1], *notebook.cells[2:]] == original.cells
    notebook.cells = [notebook.cells[1], nbformat.v4.new_code_cell('"wheels" in globals()')]
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=place).execute()
    assert notebook.cells[1].outputs[0].data["text/plain"] == "False"  # it is installed, so nothing was done


@pytest.mark.slow
def test_a_students_copy_tells_nbgrader_what_gives_points(copies):
    """The points are those of `toolkit grade`; a grade_id names one cell, and checks are locked."""
    for path in sorted((copies / "student" / "notebooks").glob("*.ipynb")):
        described = [cell for cell in nbformat.read(path, as_version=4).cells if "nbgrader" in cell.metadata]
        fields = [cell.metadata["nbgrader"] for cell in described]
        assert all(re.fullmatch(r"[\w-]+", field["grade_id"]) for field in fields)
        assert len({field["grade_id"] for field in fields}) == len(fields)
        marks = possible_marks(f"{path.name[:2]}.")
        assert sum(field.get("points", 0) for field in fields) == sum(mark.max_points for mark in marks)
        assert [field["solution"] for field in fields] == [
            tagged(cell, "yours") or tagged(cell, "answer") for cell in described
        ]
        assert all(field["locked"] is not field["solution"] for field in fields)
        assert all(field["grade"] is ("points" in field) for field in fields)


@pytest.mark.slow
def test_a_teachers_copy_is_the_notebooks_as_they_are_with_the_key(copies):
    for path in FOLDER.glob("*.ipynb"):
        assert (copies / "teacher" / "notebooks" / path.name).read_text(encoding="utf-8") == path.read_text(
            encoding="utf-8"
        )
    assert all(
        (copies / "teacher" / "notebooks" / "teaching" / f"{name}.toml").exists() for name in ("answers", "exams")
    )


def filled_in(copies, number, answer_of, written):
    """Return the code of a student's copy by cell, with answers filled in and functions written or not."""
    mine = {cell.id: cell.source for cell in cells(ROOT, number)}
    sources = {}
    for cell in cells(copies / "student", number):
        if cell.cell_type == "code":
            source = mine[cell.id] if tagged(cell, "yours") and written else cell.source
            if tagged(cell, "answer"):
                (name,) = re.findall(r'check\("([\d.]+)"', source)
                source = f"answer = {answer_of(name)!r}\nreply = check({name!r}, answer)"
            sources[cell.id] = source
    return sources


@pytest.fixture(scope="module")
def worked(copies):
    """Return the message of each cell of a copy, once worked through and once with nonsense as answers; one process
    runs both to save time.
    """
    runs = [filled_in(copies, "03", right, written=True)]
    runs.append(filled_in(copies, "03", lambda _: "nonsense", written=False))
    environment = os.environ | {"MPLBACKEND": "agg", "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    told = subprocess.run(
        [sys.executable, "-c", WORKED],
        input=json.dumps([list(run.values()) for run in runs]),
        cwd=copies / "student" / "notebooks",
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [dict(zip(run, said, strict=True)) for run, said in zip(runs, json.loads(told.stdout), strict=True)]


@pytest.mark.slow
def test_a_completed_students_copy_runs_and_every_answer_is_right(worked):
    """The solutions of notebook 03 are filled into the copy."""
    said, _ = worked
    answers = {cell: reply for cell, reply in said.items() if re.fullmatch(r"answer-\d", cell)}
    assert set(answers.values()) == {f"03.{n}: right." for n in range(1, 5)}
    assert {reply for cell, reply in said.items() if cell not in answers} == {"ran"}


@pytest.mark.slow
def test_open_and_nonsensical_answers_are_reported_where_they_stand(copies, worked):
    """Only cells that may fail raise an error, and nonsense gets a message that asks for a number."""
    _, said = worked
    failed = [cell for cell, reply in said.items() if reply.endswith("Error")]
    assert failed == ["my-warner-agrees", "my-estimate-agrees"]
    assert {*failed} <= {cell.id for cell in cells(copies / "student", "03") if tagged(cell, "raises-exception")}
    assert said["left"] == "ran"
    assert "right." not in " ".join(reply for cell, reply in said.items() if re.fullmatch(r"answer-\d", cell))
    assert "a number is asked for." in said["answer-2"]


@pytest.mark.slow
def test_an_unfinished_students_copy_runs_to_the_end(copies):
    """The last cell lists the remaining exercises.

    This is tested for a notebook whose later cells almost need a student's function; the nearest case is tested above.
    """
    (path,) = (copies / "student" / "notebooks").glob("05_*.ipynb")
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()
    told = notebook.cells[-1].outputs[0].data["text/plain"]
    assert told.startswith("'Still to do: write my_")
    assert "exercises 05.1" in told
    errors = [out.ename for cell in notebook.cells for out in cell.get("outputs", []) if out.output_type == "error"]
    assert set(errors) <= {"NotImplementedError", "NameError"}


@pytest.mark.slow
@pytest.mark.parametrize("number", [path.stem[:2] for path in sorted(FOLDER.glob("*.ipynb"))])
def test_a_cell_of_a_students_copy_has_what_it_needs_or_may_fail(copies, number):
    """Names that are bound only after an unwritten function are used only by cells that may fail."""
    bound, unsure = set(), set()
    for cell in cells(copies / "student", number):
        if cell.cell_type == "code":
            names = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Name)]
            loads, stores = ({n.id for n in names if isinstance(n.ctx, kind)} for kind in (ast.Load, ast.Store))
            if tagged(cell, "raises-exception"):
                unsure |= stores - bound
            else:
                assert not loads & (unsure - bound - stores), cell.id
                bound |= stores
