"""Commands that create a survey, start the studio, and copy the notebooks of the course."""

import shlex
from pathlib import Path

from toolkit.commands import Options, Subparsers, add_command, echo
from toolkit.core.checks import reject
from toolkit.teaching.copies import copy_course, translated_notebooks
from toolkit.teaching.replies import ENGLISH, languages


def add(commands: Subparsers) -> None:
    new = add_command(
        commands, "new", _new, "write an example survey in which a comment explains each part", with_database=False
    )
    new.add_argument("path", help="a .toml file that does not exist yet, such as survey.toml")
    about = "prepare, run and analyse surveys, and release tables, in a browser on this machine, without code"
    studio = add_command(commands, "studio", _studio, about, with_database=False)
    studio.add_argument(
        "folder", nargs="?", default=".", help="the folder with the files (default: the current folder)"
    )
    studio.add_argument("--port", type=int, default=0, help="the port on this machine (default: any free port)")
    studio.add_argument("--public-url", help="the address of the studio behind a proxy, such as JupyterLab's")
    studio.add_argument("--no-browser", action="store_true", help="print the link without opening a browser")
    _add_notebooks(commands)


def _add_notebooks(commands: Subparsers) -> None:
    notebooks = add_command(
        commands, "notebooks", _notebooks, "copy the notebooks and their data into a folder", with_database=False
    )
    notebooks.add_argument(
        "folder", help="the folder that gets the subfolders notebooks and data; it is created if necessary"
    )
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
        "--teacher",
        dest="kind",
        action="store_const",
        const="teacher",
        help="with the answer key and the question bank",
    )
    notebooks.add_argument(
        "--install", action="store_true", help="add a first cell that installs the toolkit, for example for Colab"
    )
    notebooks.add_argument(
        "--language", choices=languages(), default=ENGLISH, help="the language, where a notebook is translated"
    )


def _new(options: Options) -> None:
    path = Path(options.path)
    if path.suffix != ".toml" or not options.path.isprintable():
        remedy = "choose a name that ends in .toml, such as survey.toml"
        reject("`path` must be the name of a .toml file", repr(path.name)[:60], remedy)
    from toolkit.studio.surveys import EXAMPLES

    text = EXAMPLES["exam"].read_text(encoding="utf-8").replace("survey.toml", _quoted(path))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        reject(
            "`path` must be a new file",
            f"{options.path}, which exists",
            "choose another name; nothing was overwritten",
            FileExistsError,
        )
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
    copy_course(target, options.kind, add_install_cell=options.install, language=options.language)
    first = target / "notebooks" / "00_start_here.ipynb"
    echo(f"wrote {target / 'notebooks'} and {target / 'data'}")
    if options.language != ENGLISH:
        translated = ", ".join(name[:2] for name in translated_notebooks(options.language))
        echo(f"Translated are {translated}; the other notebooks, pages and data are in English.")
    echo(f"Open the first one: jupyter lab {_quoted(first)}")
