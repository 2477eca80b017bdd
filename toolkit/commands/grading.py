"""The command that grades students' submissions: notebooks, and files with the numbers of the project."""

import csv
import io
import os
import re
import secrets
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from toolkit.commands import Options, Subparsers, add_command, echo, print_error
from toolkit.core.checks import reject
from toolkit.teaching.checking import Mark, grade, read_answers
from toolkit.teaching.submissions import check_regular, read_submission

_SUFFIXES = (".ipynb", ".toml")
_EXAMPLES = """examples:
  toolkit grade handed_in --feedback back > points.csv   a folder with a subfolder for each student
  toolkit grade handed_in/*.toml > points.csv            the numbers of the project"""


@dataclass
class _HandIn:
    """A submitted file: its name in the table, the prefix of its exercises, and the reason if it is rejected."""

    path: Path
    name: str
    prefix: str = ""
    remark: str = ""


def add(commands: Subparsers) -> None:
    about = "grade what students handed in: notebooks, or the numbers of the project"
    parser = add_command(commands, "grade", _grade, about, with_database=False, examples=_EXAMPLES)
    parser.add_argument(
        "files",
        nargs="+",
        help='notebooks, TOML files with one line per exercise, such as "P.1" = [1.5, 3], or folders with such files',
    )
    parser.add_argument(
        "--of",
        help="grade these exercises only, such as 03. for notebook 03 (default: those of each notebook, and P., "
        "the project, for TOML files)",
    )
    parser.add_argument("--feedback", metavar="DIR", help="write a page for each file into this folder")
    parser.add_argument(
        "--seed",
        type=int,
        help="draw the hidden cases of functions from this number (default: a new one, which is printed)",
    )
    parser.add_argument(
        "--per-student", action="store_true", help="draw other hidden cases for each file, from the seed and its name"
    )
    parser.add_argument(
        "--seconds", type=float, default=30, help="limit for each answer and each function (default: 30)"
    )


def _grade(options: Options) -> int:
    """Print a line of CSV for each file, and write comments on wrong answers to stderr or into the feedback folder."""
    if not options.seconds > 0:
        reject("`--seconds` must be positive", options.seconds, "nothing was graded")
    if options.of is not None:
        grade({}, options.of)  # an unknown prefix is rejected before anything is read
    hand_ins = _find_hand_ins([Path(file) for file in options.files])
    for hand_in in hand_ins:
        _set_prefix(hand_in, options.of)
    columns = _columns(hand_ins, options.of or "P.")
    seed = options.seed if options.seed is not None else secrets.randbelow(2**31)
    if options.seed is None and any(hand_in.path.suffix.lower() == ".ipynb" for hand_in in hand_ins):
        print_error(f"hidden cases: repeat them with --seed {seed}")
    echo(_csv_line(["file", *(f"{mark.exercise} (of {mark.max_points})" for mark in columns), "points", "remark"]))
    warned = set[str]()
    for hand_in in hand_ins:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            marks = _grade_one(hand_in, seed, options)
        for message in dict.fromkeys(str(warning.message) for warning in caught):
            if message not in warned:
                print_error(message)
            warned.add(message)
        points = {mark.exercise: mark.points for mark in marks}
        cells = [str(points.get(mark.exercise, "")) for mark in columns]
        total = "" if hand_in.remark else str(sum(points.values()))
        echo(_csv_line([_spreadsheet_text(hand_in.name), *cells, total, hand_in.remark]))
        _report(hand_in, marks, options.feedback)
    return 1 if any(hand_in.remark for hand_in in hand_ins) else 0


def _find_hand_ins(paths: list[Path]) -> list[_HandIn]:
    """Return the files, including those in folders; a student's folder without any files is listed with a remark."""
    base = Path(os.path.commonpath([_absolute(path if path.is_dir() else path.parent) for path in paths]))
    hand_ins = []
    for path in paths:
        groups = [[path]]
        if path.is_dir():
            children = sorted(child for child in path.iterdir() if not child.name.startswith("."))
            groups = [list(_files_in(child)) or [child] for child in children if _is_candidate(child)]
            groups = groups or [[path]]
        for file in (file for group in groups for file in group):
            name = _absolute(file).relative_to(base).as_posix()
            remark = "no notebook and no TOML file in this folder" if file.is_dir() else ""
            hand_ins.append(_HandIn(file, name if name != "." else file.name, remark=remark))
    return hand_ins


def _absolute(path: Path) -> Path:
    return Path(os.path.normpath(path.absolute()))


def _is_candidate(path: Path) -> bool:
    return path.is_dir() or path.suffix.lower() in _SUFFIXES


def _files_in(path: Path) -> Iterator[Path]:
    """Yield the submissions in a student's folder, except checkpoints and the data of the course."""
    if not path.is_dir() or path.is_symlink():
        yield path
        return
    for child in sorted(path.iterdir()):
        if not child.name.startswith(".") and child.name != "data" and _is_candidate(child):
            yield from _files_in(child)


def _set_prefix(hand_in: _HandIn, prefix: str | None) -> None:
    """Set the prefix of a file's exercises, or the reason why the file is rejected."""
    if hand_in.remark:
        return
    try:
        if hand_in.path.suffix.lower() == ".ipynb":
            from toolkit.teaching.grading import notebook_prefix

            hand_in.prefix = notebook_prefix(read_submission(hand_in.path), hand_in.path.name)
        else:
            hand_in.prefix = prefix or "P."
    except (OSError, ValueError) as problem:
        hand_in.remark = str(problem)
    if prefix and hand_in.prefix and hand_in.prefix != prefix:
        hand_in.remark = f"a notebook with the exercises {hand_in.prefix}, not {prefix}"


def _columns(hand_ins: list[_HandIn], default: str) -> list[Mark]:
    """Return a column for each exercise and function in any of the files, in the order of the course."""
    from toolkit.teaching.hidden_cases import CASES, functions_of

    accepted = [hand_in for hand_in in hand_ins if not hand_in.remark]
    columns = []
    for prefix in sorted({hand_in.prefix for hand_in in accepted}) or [default]:
        columns += grade({}, prefix)
        if any(hand_in.prefix == prefix and hand_in.path.suffix.lower() == ".ipynb" for hand_in in accepted):
            columns += [Mark(name, 0, CASES, "") for name in functions_of(prefix)]
    return columns


def _grade_one(hand_in: _HandIn, seed: int, options: Options) -> list[Mark]:
    """Return the marks of a file; if it cannot be graded, return an empty list and set the remark."""
    if hand_in.remark:
        return []
    student = f"{hand_in.path.absolute().parent.name}/{hand_in.path.name}" if options.per_student else ""
    try:
        if hand_in.path.suffix.lower() == ".ipynb":
            from toolkit.teaching.grading import grade_notebook

            return grade_notebook(hand_in.path, seed=seed, student=student, seconds=options.seconds)
        if hand_in.path.exists():
            check_regular(hand_in.path)
        return grade(read_answers(hand_in.path), hand_in.prefix)
    except (OSError, ValueError) as problem:
        hand_in.remark = str(problem)
    except Exception as problem:  # an error in one file must not prevent the others from being graded
        hand_in.remark = f"could not be graded ({type(problem).__name__})"
    return []


def _report(hand_in: _HandIn, marks: list[Mark], folder: str | None) -> None:
    """Write the feedback on a file into the feedback folder, or print its wrong answers on stderr."""
    if folder is None:
        lines = [f"{mark.exercise}: {mark.message}" for mark in marks if mark.points < mark.max_points]
        for line in [hand_in.remark] if hand_in.remark else lines:
            print_error(_one_line(f"{hand_in.name}: {line}"))
        return
    page = Path(folder) / f"{hand_in.name}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    points, possible = sum(mark.points for mark in marks), sum(mark.max_points for mark in marks)
    lines = [f"- **{mark.exercise}**: {mark.points} of {mark.max_points}. {_plain(mark.message)}" for mark in marks]
    summary = _plain(hand_in.remark) or f"{points} of {possible} points."
    try:
        # If the folder is that of the hand-ins, a student may have put a link or a pipe in the place of the page.
        if page.is_symlink() or (page.exists() and not page.is_file()):
            page.unlink()
        page.write_text("\n".join([f"# {_plain(hand_in.name)}", "", summary, "", *lines, ""]), encoding="utf-8")
    except OSError as problem:
        print_error(_one_line(f"{hand_in.name}: no page was written: {problem}"))


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(map(_one_line, cells))
    return line.getvalue()


def _one_line(text: str) -> str:
    """Return a text, which may be a student's, as one line of printable characters."""
    return "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))


def _plain(text: str) -> str:
    """Return a text as one line of Markdown without links, images and HTML."""
    return re.sub(r"[\\<\[]", r"\\\g<0>", _one_line(text))


def _spreadsheet_text(text: str) -> str:
    """Return a file's name, with an apostrophe in front if a spreadsheet would interpret it as a formula."""
    line = _one_line(text)
    return f"'{line}" if line.startswith(("=", "+", "-", "@")) else line
