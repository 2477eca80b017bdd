"""Commands that create a survey, start the studio, copy the notebooks of the course, and grade answers."""

import shlex
from pathlib import Path

from toolkit.commands import Options, Subparsers, add_command, echo, print_error
from toolkit.core.checks import reject
from toolkit.teaching.checking import grade, read_answers
from toolkit.teaching.copies import copy_course


def add(commands: Subparsers) -> None:
    new = add_command(
        commands, "new", _new, "write a survey to start from, with a comment on every part", with_database=False
    )
    new.add_argument("path", help="a .toml file that does not exist yet, such as survey.toml")
    about = "write, rehearse, open and read surveys on a page of this machine, without code; and release tables"
    studio = add_command(commands, "studio", _studio, about, with_database=False)
    studio.add_argument("folder", nargs="?", default=".", help="where the files are (default: this folder)")
    studio.add_argument("--port", type=int, default=0, help="on this machine alone; 0: any free one")
    studio.add_argument("--public-url", help="the address at which a proxy shows it, such as that of JupyterLab")
    studio.add_argument("--no-browser", action="store_true", help="only print the link")
    notebooks = add_command(
        commands, "notebooks", _notebooks, "copy the notebooks and their data into a folder", with_database=False
    )
    notebooks.add_argument("folder", help="it gets two folders, notebooks and data; it is made if it does not exist")
    kind = notebooks.add_mutually_exclusive_group()
    kind.add_argument(
        "--student",
        dest="kind",
        action="store_const",
        const="student",
        default="",
        help="without solutions and outputs",
    )
    kind.add_argument(
        "--teacher", dest="kind", action="store_const", const="teacher", help="with the key and the bank of questions"
    )
    notebooks.add_argument(
        "--install", action="store_true", help="each begins with a cell that installs the toolkit, as Colab needs it"
    )
    grading = add_command(
        commands, "grade", _grade, "give points to the numbers that were handed in", with_database=False
    )
    grading.add_argument("files", nargs="+", help='TOML files with a line for each exercise: "P.1" = [1.5, 3]')
    grading.add_argument("--of", default="P.", help="which exercises: P. is the project (the default), 03. a notebook")


def _new(options: Options) -> None:
    path = Path(options.path)
    if path.suffix != ".toml" or not options.path.isprintable():
        consequence = "the survey is written as TOML, which has comments"
        reject("`path` must be the name of a .toml file", repr(path.name)[:60], consequence)
    from toolkit.studio.surveys import EXAMPLES

    text = EXAMPLES["exam"].read_text(encoding="utf-8").replace("survey.toml", _quoted(path))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        reject("`path` must be a new file", f"{options.path}, which exists", "nothing is overwritten", FileExistsError)
    echo(f"wrote {path}", f"Change it, then try: toolkit check {_quoted(path)}")


def _studio(options: Options) -> None:
    import webbrowser

    from toolkit.studio.server import run

    run(options.folder, options.port, options.public_url, None if options.no_browser else webbrowser.open)


def _quoted(path: Path) -> str:
    """Return a path quoted for the shell."""
    return shlex.quote(str(path))


def _notebooks(options: Options) -> None:
    target = Path(options.folder)
    copy_course(target, options.kind, add_install_cell=options.install)
    first = target / "notebooks" / "00_start_here.ipynb"
    echo(f"wrote {target / 'notebooks'} and {target / 'data'}", f"Open the first one: jupyter lab {_quoted(first)}")


def _grade(options: Options) -> int:
    """Print a line of CSV for each file on stdout, and remarks on wrong answers on stderr."""
    complaints = 0
    echo(",".join(["file", *(f"{mark.exercise} (of {mark.max_points})" for mark in grade({}, options.of)), "points"]))
    for file in map(Path, options.files):
        try:
            marks = grade(read_answers(file), options.of)
        except (OSError, ValueError) as problem:
            complaints += 1
            print_error(f"{file.name}: {problem}")
            continue
        points = [mark.points for mark in marks]
        echo(",".join([file.name.replace(",", " "), *map(str, points), str(sum(points))]))
        for mark in marks:
            if mark.points < mark.max_points:
                print_error(f"{file.name}: {mark.exercise}: {mark.message}")
    return 1 if complaints else 0
