"""Grading: a line for each file that was handed in, whatever is in it, and a page of feedback."""

import csv
import os
import warnings

import pytest

from tests.teaching.test_notebook_grading import BELIEF, LIMIT, RIGHT, answer_cell, write
from toolkit.command import main
from toolkit.teaching.checking import Mark

PROJECT = '"P.1" = ["ln(57/17)", "2 ln(57/17)"]\n"P.2" = [4116, 10290]\n"P.3" = [0.12, 0.92, 0.089]\n"P.4" = [4, 5]'
ANSWERS = [answer_cell(name, repr(answer)) for name, answer in RIGHT.items()]
HEADER = "file,05.1 (of 3),05.2 (of 2),05.3 (of 2),my_limit (of 3),my_belief (of 3),points,remark"


@pytest.fixture
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_each_hand_in_gets_a_line_and_reasons_for_missing_points(empty, capsys):
    """A file that cannot be read is reported, and the exit code is 1."""
    (empty / "a.toml").write_text(PROJECT)
    (empty / "b.toml").write_text('"P.1" = [1.2098, 1.2098]\n"P.4" = [4]')
    (empty / "c.toml").write_text("P.1 = ln 3")
    (empty / "d.toml").write_text('"03.1" = 1')
    assert main(["grade", "a.toml", "b.toml", "c.toml", "d.toml", "e.toml"]) == 1
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[:3] == [
        "file,P.1 (of 2),P.2 (of 2),P.3 (of 3),P.4 (of 2),points,remark",
        "a.toml,2,2,3,2,9,",
        "b.toml,1,0,0,1,2,",
    ]
    assert [line.partition(",,,,,,")[0] for line in lines[3:]] == ["c.toml", "d.toml", "e.toml"]
    assert all(row[6] for row in list(csv.reader(lines))[4:])
    reasons = told.err.splitlines()
    assert reasons[0] == "b.toml: P.1: part 2 of 2: That is for one question. The losses of one person add up."
    assert reasons[3] == "b.toml: P.4: parts asked for: 2; given: 1."
    assert "c.toml: a hand-in must be a TOML file" in reasons[4]
    assert "d.toml: answers must be to P.1, P.2, P.3, P.4, got '03.1'" in reasons[5]
    assert reasons[6].startswith("e.toml: ")
    assert main(["grade", "a.toml", "--of", "99."]) == 2
    assert "`prefix` must be the beginning of an exercise's name" in capsys.readouterr().err


def test_files_of_all_kinds_get_a_line(empty, capsys, monkeypatch):
    """Refused: no notebook, a link, a device, an empty folder, another notebook. None of these starts a process."""
    monkeypatch.setattr("toolkit.teaching.submissions.subprocess.Popen", None)
    (empty / "in").mkdir()
    for name in ("a, b", "empty", "link", "pipe", "other", "no notebook", "=cmd", "fails"):
        (empty / "in" / name).mkdir()
    write(empty / "in" / "a, b" / "05.ipynb", answer_cell("05.9", 1))
    (empty / "in" / "a, b" / "data").mkdir()
    (empty / "in" / "a, b" / "data" / "campus.toml").write_text("")
    (empty / "in" / "link" / "05.ipynb").symlink_to(empty / "in" / "a, b" / "05.ipynb")
    os.mkfifo(empty / "in" / "pipe" / "05.ipynb")
    write(empty / "in" / "other" / "03.ipynb", answer_cell("03.1", 1))
    (empty / "in" / "no notebook" / "05.ipynb").write_text("{")
    write(empty / "in" / "=cmd" / "05.ipynb")
    write(empty / "in" / "fails" / "05.ipynb", answer_cell("05.1", 1))
    assert main(["grade", "in", "--of", "05.", "--seed", "1", "--feedback", "back"]) == 1
    rows = {row[0]: row[1:] for row in csv.reader(capsys.readouterr().out.splitlines())}
    remarks = {name: row[-1].partition(",")[0] for name, row in rows.items() if name != "file"}
    assert remarks == {
        "'=cmd/05.ipynb": "",
        "a, b/05.ipynb": "",
        "empty": "no notebook and no TOML file in this folder",
        "fails/05.ipynb": "could not be graded (TypeError)",
        "link/05.ipynb": "a hand-in must be a regular file",
        "no notebook/05.ipynb": "a hand-in must be a notebook (.ipynb) in Jupyter's format",
        "other/03.ipynb": "a notebook with the exercises 03.",
        "pipe/05.ipynb": "a hand-in must be a regular file",
    }
    assert rows["a, b/05.ipynb"] == ["0", "0", "0", "0", "0", "0", ""]
    assert "0 of 13 points." in (empty / "back" / "a, b" / "05.ipynb.md").read_text()


def test_names_and_messages_of_students_have_no_effect_elsewhere(empty, capsys, monkeypatch):
    """Neither in a spreadsheet, nor in a page of feedback, nor in the terminal; and a warning is printed once."""
    message = "stopped: Wrong: ![](http://x.test/a.png) <img src=x> \\[b](c)."

    def marks(*_):
        warnings.warn("only by Python", RuntimeWarning, stacklevel=2)
        return [Mark("P.1", 0, 2, message)]

    monkeypatch.setattr("toolkit.commands.grading._grade_one", marks)
    for name in (" =1+1.toml", "x\n- **P.1**: 2 of 2.toml", "\x1b[2J.toml"):
        (empty / name).write_text("")
    assert main(["grade", ".", "--feedback", "back"]) == 0
    told = capsys.readouterr()
    assert told.err == "only by Python\n"
    assert [row[0] for row in csv.reader(told.out.splitlines())][1:] == [
        "?[2J.toml",
        "'=1+1.toml",
        "x - **P.1**: 2 of 2.toml",
    ]
    pages = sorted(page.read_text() for page in (empty / "back").iterdir())
    assert [page.splitlines()[0] for page in pages] == ["# =1+1.toml", "# ?\\[2J.toml", "# x - **P.1**: 2 of 2.toml"]
    expected = r"- **P.1**: 0 of 2. stopped: Wrong: !\[](http://x.test/a.png) \<img src=x> \\\[b](c)."
    assert [page.splitlines()[4:] for page in pages] == [[expected]] * 3
    assert main(["grade", "."]) == 1, "the folder of the pages has no hand-in"
    assert "\x1b" not in capsys.readouterr().err


def test_a_page_is_not_written_through_what_a_student_put_there(empty, capsys, monkeypatch):
    """A link to a file of the teacher, a pipe that nobody reads, and a folder."""
    monkeypatch.setattr("toolkit.commands.grading._grade_one", lambda *_: [Mark("P.1", 2, 2, "right.")])
    for name in ("link", "pipe", "folder"):
        (empty / "in" / name).mkdir(parents=True)
        (empty / "in" / name / "a.toml").write_text("")
    (empty / "mine").write_text("of the teacher")
    (empty / "in" / "link" / "a.toml.md").symlink_to(empty / "mine")
    os.mkfifo(empty / "in" / "pipe" / "a.toml.md")
    (empty / "in" / "folder" / "a.toml.md").mkdir()
    assert main(["grade", "in", "--feedback", "in"]) == 0
    assert (empty / "mine").read_text() == "of the teacher"
    for name in ("link", "pipe"):
        assert "2 of 2 points." in (empty / "in" / name / "a.toml.md").read_text()
    assert capsys.readouterr().err.startswith("folder/a.toml: no page was written: ")


def test_a_limit_that_is_not_positive_is_refused(capsys):
    assert main(["grade", "a.toml", "--seconds", "0"]) == 2
    assert "`--seconds` must be positive" in capsys.readouterr().err


FORGED = """
for descriptor in range(100):
    try:
        os.write(descriptor, b'{"parts": [1]}\\n{"cases": []}\\n')
    except OSError:
        pass
answer = 1
check('05.2', answer)
"""
KINDS = {
    "right": ([LIMIT, BELIEF, *ANSWERS], "3,2,2,3,3,13,"),
    "partly": ([LIMIT, *ANSWERS[:2]], "3,2,0,3,0,8,"),
    "wrong": (["def my_limit(before, after):\n    return 0.5", answer_cell("05.1", "[1, 2, 3]")], "0,0,0,0,0,0,"),
    "forged": ([FORGED, answer_cell("05.1", "open('/etc/passwd').read()")], "0,0,0,0,0,0,"),
    "forks": ([LIMIT, "while True:\n    os.fork()\n" + ANSWERS[0], *ANSWERS[1:]], "0,2,2,3,0,7,"),
    "exits": ([BELIEF, "os._exit(1)\n" + ANSWERS[0], *ANSWERS[1:]], "0,2,2,0,3,7,"),
    "fills": (["print('x' * 10**8)\nx = bytearray(10**11)\n" + ANSWERS[0], ANSWERS[2]], "0,0,2,0,0,2,"),
    "hangs": (["while True:\n    pass\n" + ANSWERS[0]], "0,0,0,0,0,0,"),
    "sleeps": (["import time\ntime.sleep(10**6)\n" + ANSWERS[0]], "0,0,0,0,0,0,"),
}


@pytest.mark.slow
def test_a_class_of_thirty_is_graded_in_one_command(empty, capsys):
    """Thirty folders: right, partly right, wrong, hostile, hanging and refused notebooks."""
    expected = {}
    for number in range(30):
        kind = [*KINDS, "broken"][number % 10] if number < 10 else ("right", "partly", "wrong", "empty")[number % 4]
        folder = empty / "handed_in" / f"{number:02}"
        folder.mkdir(parents=True)
        if kind == "broken":
            (folder / "05.ipynb").write_text("broken")
        elif kind != "empty":
            write(folder / "05.ipynb", *KINDS[kind][0])
        expected[f"{number:02}" if kind == "empty" else f"{number:02}/05.ipynb"] = KINDS.get(kind, ("", ""))[1]
    before = sorted(path for path in empty.rglob("*"))
    call = ["grade", "handed_in", "--seed", "1", "--per-student", "--feedback", "back", "--seconds", "20"]
    assert main(call) == 1
    header, *lines = capsys.readouterr().out.splitlines()
    assert header == HEADER
    assert len(lines) == 30
    for line in lines:
        name, _, points = line.partition(",")
        assert points == expected[name] or (not expected[name] and points.startswith(",,,,,,")), line
    assert sorted(path for path in empty.rglob("*") if "back" not in path.parts) == before
    assert len(list((empty / "back").rglob("*.md"))) == 30
    assert "13 of 13 points." in (empty / "back" / "00" / "05.ipynb.md").read_text()
