"""Notebooks that students hand in: points for right parts, and nothing escapes the process that runs their code."""

import json
import os
import socket
from pathlib import Path

import pytest

from tests.teaching.key import KEY, right
from toolkit.teaching import grade, grading
from toolkit.teaching.grading import grade_notebook, notebook_prefix, possible_marks
from toolkit.teaching.student_cells import function_name
from toolkit.teaching.submissions import SubmittedNotebook, _warn_if_unprotected, read_submission

ROOT = Path(__file__).parents[2]
LIMIT = """
def my_limit(before, after):
    return np.log(after / (1 - after) / (before / (1 - before)))
"""
BELIEF = """
def my_belief(before, epsilons):
    odds = before / (1 - before) * np.exp(sum(epsilons))
    return odds / (1 + odds)
"""
RIGHT = {name: right(name) for name in ("05.1", "05.2", "05.3")}


def answer_cell(name, answer):
    return f"answer = {answer}  # the parts\ncheck({name!r}, answer)"


def write(path, *cells):
    """A notebook with these cells of code, after a cell of imports."""
    imports = "import os, numpy as np\nfrom toolkit.teaching import attempt, check"
    made = [{"cell_type": "code", "source": source, "metadata": {}} for source in (imports, *cells)]
    path.write_text(json.dumps({"cells": made, "nbformat": 4, "nbformat_minor": 5}), encoding="utf-8")
    return path


def graded(path, seconds=300.0):
    return {mark.exercise: mark for mark in grade_notebook(path, seed=1, seconds=seconds)}


def points(marks):
    return [mark.points for mark in marks.values()]


@pytest.mark.slow
def test_a_right_notebook_gets_every_point(tmp_path):
    answers = [answer_cell(name, repr(answer)) for name, answer in RIGHT.items()]
    marks = graded(write(tmp_path / "05.ipynb", LIMIT, BELIEF, *answers))
    assert {mark.message for mark in marks.values()} == {"right."}
    assert [(name, mark.points) for name, mark in marks.items()] == [
        (mark.exercise, mark.max_points) for mark in possible_marks("05.")
    ]


@pytest.mark.slow
def test_parts_give_points_and_messages_name_the_wrong_step(tmp_path):
    """Answers may be computed from earlier cells; a wrong function gets the name of its mistake."""
    first, second, third = RIGHT["05.1"]
    path = write(
        tmp_path / "05.ipynb",
        f"people, table = {second!r}, [1, 2]\n%matplotlib inline",
        "def my_limit(before, after):\n    return np.log(after / before)",
        "def my_belief(before, epsilons):\n    raise NotImplementedError('my lines go here')",
        answer_cell("05.1", f"({first!r}, people, {third!r} + 1)"),
        "answer = 1 / 0\ncheck('05.2', answer)",
        "answer = 3 +\ncheck('05.3', answer)",
    )
    marks = graded(path)
    assert points(marks) == [2, 0, 0, 0, 0]
    assert marks["05.1"].message.startswith("part 3 of 3: ")
    assert marks["05.2"].message == "stopped: ZeroDivisionError: division by zero."
    assert marks["05.3"].message.startswith("stopped: SyntaxError")
    assert marks["my_limit"].message == "my_limit: This compares beliefs. Compare odds."
    assert marks["my_belief"].message == "not written yet."


def test_missing_answers_and_functions_give_no_points_and_start_no_process(tmp_path, monkeypatch):
    monkeypatch.setattr("toolkit.teaching.submissions.subprocess.Popen", None)
    marks = graded(write(tmp_path / "05_choosing_a_budget.ipynb"))
    assert points(marks) == [0] * 5
    assert [mark.message for mark in marks.values()] == ["no answer."] * 3 + ["not in the notebook."] * 2


HOSTILE = """
import ctypes, glob, pathlib, signal, socket, subprocess, sys

def tried(action):
    try:
        action()
    except Exception as error:
        return False
    return True

print("x" * 10_000_000)
print('{"parts": [1, 2, 3]}', flush=True)
libc = ctypes.CDLL(None)
outside = pathlib.Path(OUTSIDE)
done = [
    tried(lambda: outside.joinpath("written").write_text("x")),
    tried(lambda: outside.joinpath("secret.txt").read_text()),
    tried(lambda: outside.joinpath("secret.txt").unlink()),
    tried(lambda: outside.joinpath("secret.txt").chmod(0)),
    tried(lambda: os.listdir(outside)),
    tried(lambda: pathlib.Path(KEY).read_text()),
    tried(lambda: os.fork()),
    tried(lambda: os.system("true")),
    tried(lambda: subprocess.run(["true"])),
    tried(lambda: os.kill(os.getppid(), 0)),
    tried(lambda: socket.create_connection(("127.0.0.1", PORT), timeout=5)),
    tried(lambda: pathlib.Path("/proc/%d/environ" % os.getppid()).read_bytes()),
    "HIDDEN_PASSWORD" in os.environ,
]
secret = str(outside.joinpath("secret.txt")).encode()
native = [libc.fork() >= 0, libc.kill(os.getppid(), 0) == 0, libc.open(KEY.encode(), 0) >= 0]
native += [libc.chmod(secret, 0o666) == 0, libc.utimensat(-100, secret, None, 0) == 0]
native += [libc.setpriority(0, os.getppid(), 10) == 0, libc.shmget(0, 4096, 0o1600) >= 0]
pathlib.Path("mine.txt").write_text("a file in its own folder is allowed")
"""


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """A notebook whose answers count what its code could do outside of its process."""
    monkeypatch.setenv("HIDDEN_PASSWORD", "1")
    (tmp_path / "secret.txt").write_text("not for students")
    key = ROOT / "notebooks" / "teaching" / "answers.toml"
    with socket.create_server(("127.0.0.1", 0)) as server:
        names = f"OUTSIDE, KEY, PORT = {str(tmp_path)!r}, {str(key)!r}, {server.getsockname()[1]}"
        code = HOSTILE.replace("import ctypes", f"{names}\nimport ctypes", 1)
        yield write(
            tmp_path / "05.ipynb",
            code,
            answer_cell("05.1", "str(done)"),
            answer_cell("05.2", "str(native)"),
            answer_cell("05.3", "os.getcwd() != OUTSIDE"),
        )


@pytest.mark.slow
def test_code_reads_and_changes_nothing_outside_of_its_process(hostile, tmp_path, monkeypatch):
    answers = {}
    monkeypatch.setattr(grading, "grade", lambda given, prefix: answers.update(given) or grade({}, prefix))
    graded(hostile)
    assert answers["05.1"] == [str([False] * 13)]
    assert answers["05.3"] == [True]
    if os.uname().sysname == "Linux" and os.uname().machine in ("x86_64", "aarch64"):
        assert answers["05.2"] == [str([False] * 7)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["05.ipynb", "secret.txt"]
    assert (tmp_path / "secret.txt").read_text() == "not for students"


@pytest.mark.slow
def test_what_a_process_does_not_survive_costs_its_own_points_alone(tmp_path):
    """An exit, a crash, too much memory and too long a result; the rest is graded in new processes."""
    path = write(
        tmp_path / "05.ipynb",
        LIMIT,
        "def my_belief(before, epsilons):\n    os._exit(0)",
        answer_cell("05.1", repr(RIGHT["05.1"])),
        "import ctypes\nanswer = ctypes.string_at(0)\ncheck('05.2', answer)",
        "import sys\nanswer = sys.exit()\ncheck('05.3', answer)",
    )
    marks = graded(path)
    assert points(marks) == [3, 0, 0, 3, 0]
    assert "ended the process" in marks["05.2"].message
    assert marks["05.3"].message.startswith("stopped: SystemExit")
    assert "ended the process" in marks["my_belief"].message


@pytest.mark.slow
def test_code_that_does_not_end_is_stopped(tmp_path):
    endless = "while True:\n    pass\n"
    path = write(tmp_path / "05.ipynb", endless + answer_cell("05.3", "1"), answer_cell("05.1", repr(RIGHT["05.1"])))
    marks = graded(path, seconds=2)
    assert marks["05.3"].message == "stopped: took more than 2 seconds and was stopped."


@pytest.mark.slow
def test_too_many_processes_are_not_started(tmp_path):
    """After the fourth death the remaining cells are not run."""
    cells = [f"import os\nanswer = os._exit(0)\ncheck('03.{n}', answer)" for n in range(1, 5)]
    path = write(tmp_path / "03.ipynb", *cells, "def my_estimate(matrix, reported):\n    return reported")
    marks = graded(path)
    assert points(marks) == [0] * 6
    assert marks["my_estimate"].message == "stopped: not run, because the cells before were stopped too often."


@pytest.mark.slow
def test_too_large_results_and_too_much_memory_are_stopped(tmp_path):
    path = write(
        tmp_path / "05.ipynb",
        "def my_limit(before, after):\n    return np.zeros(10**9)",
        "def my_belief(before, epsilons):\n    return [0.5] * 3_000_000",
    )
    marks = graded(path)
    assert points(marks) == [0] * 5
    assert "MemoryError" in marks["my_limit"].message
    assert "must return a number" in marks["my_belief"].message


@pytest.mark.parametrize("contents", ["", "{", "[]", '{"cells": 3}', '{"cells": [{}]}', "[" * 100_000])
def test_what_is_no_notebook_is_refused(tmp_path, contents):
    (tmp_path / "05.ipynb").write_text(contents)
    with pytest.raises(ValueError, match="a hand-in must be a notebook"):
        read_submission(tmp_path / "05.ipynb")


def test_a_notebook_with_more_code_than_the_course_has_is_refused(tmp_path):
    """Parsing six megabytes of short statements takes a minute and gigabytes, in the teacher's own process."""
    path = write(tmp_path / "05.ipynb", "a=1\n" * 50_000)
    with pytest.raises(ValueError, match="must have at most 200,000 characters, got 200,0"):
        read_submission(path)


def test_a_kernel_that_does_not_confine_the_code_is_reported():
    _warn_if_unprotected(["limits", "landlock", "seccomp", "hook"])
    for layers, missing in ((["limits", "landlock", "hook"], "seccomp"), (["hook"], "Landlock and seccomp")):
        with pytest.warns(RuntimeWarning, match=rf"\(without {missing}\), but only by Python"):
            _warn_if_unprotected(layers)


def test_links_and_other_notebooks_are_refused(tmp_path):
    target = write(tmp_path / "other.ipynb", "print('nothing of the course')")
    (tmp_path / "05.ipynb").symlink_to(target)
    with pytest.raises(ValueError, match="must be a regular file"):
        read_submission(tmp_path / "05.ipynb")
    with pytest.raises(ValueError, match="a notebook must be one of the course"):
        grade_notebook(target, seed=1)
    assert notebook_prefix(SubmittedNotebook((answer_cell("05.1", 1), answer_cell("99.1", 1)))) == "05."


def test_a_cell_gets_the_earlier_cells_that_it_needs():
    cells = ("a = 1", "b = a", "b = 2", "c = [x for x in range(b)]", "answer = 3", "answer = c\ncheck('03.1', answer)")
    assert SubmittedNotebook(cells).needed_cells(5) == [cells[2], cells[3], cells[5]]
    looped = ("n = 3", "m = 0", "for i in range(n):\n    m += i", "def f(n):\n    k = m\n    return k + n")
    assert SubmittedNotebook(looped).needed_cells(3) == list(looped)


@pytest.mark.slow
def test_every_function_of_the_course_has_points():
    """Each notebook's functions are those tagged `yours`."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        names = [function_name(cell) for cell in cells if "yours" in cell["metadata"].get("tags", [])]
        marks = possible_marks(f"{path.name[:2]}.")
        assert [mark.exercise for mark in marks if not mark.exercise[0].isdigit()] == names
        assert sum(mark.max_points for mark in marks) == 3 * len(names) + sum(
            len(entry["parts"]) for name, entry in KEY.items() if name.startswith(path.name[:2])
        )
