"""Verbs that begin: a survey to change, and the notebooks with their data."""

import shlex
import shutil
from pathlib import Path

from toolkit.core.checks import refuse
from toolkit.verbs.common import Options, Verbs, add_verb, say

_STARTER = Path(__file__).parent / "starter"
_CHECKOUT = Path(__file__).parents[2]
FOLDERS = ("notebooks", "data")
"""What stands side by side, as notebooks read "../data"."""


def add(verbs: Verbs) -> None:
    new = add_verb(verbs, "new", _new, "write a survey to start from, with a comment on every part", database=False)
    new.add_argument("path", help="a .toml file that does not exist yet, such as survey.toml")
    notebooks = add_verb(
        verbs, "notebooks", _notebooks, "copy the notebooks and their data into a folder", database=False
    )
    notebooks.add_argument("folder", help="it gets two folders, notebooks and data; it is made if it does not exist")


def course() -> Path:
    """Where the notebooks and their data stand: inside an installed package, and beside it in a checkout."""
    for place in (_STARTER, _CHECKOUT):
        if all((place / folder).is_dir() for folder in FOLDERS):
            return place
    remedy = "install a wheel, or work in a checkout of the project"
    refuse("the notebooks must come with the package", "none", remedy, OSError)


def _new(options: Options) -> None:
    path = Path(options.path)
    if path.suffix != ".toml" or not options.path.isprintable():
        consequence = "the survey is written as TOML, which has comments"
        refuse("`path` must be the name of a .toml file", repr(path.name)[:60], consequence)
    text = (_STARTER / "survey.toml").read_text(encoding="utf-8").replace("survey.toml", _word(path))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        refuse("`path` must be a new file", f"{options.path}, which exists", "nothing is overwritten", FileExistsError)
    say(f"wrote {path}", f"Change it, then try: toolkit check {_word(path)}")


def _word(path: Path) -> str:
    """A path as one writes it in a shell."""
    return shlex.quote(str(path))


def _notebooks(options: Options) -> None:
    place, target = course(), Path(options.folder)
    for folder in FOLDERS:
        if (target / folder).exists():
            refuse(
                f"`folder` must hold no {folder} yet", str(target / folder), "nothing is overwritten", FileExistsError
            )
    shutil.copytree(place / "data", target / "data", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(place / "notebooks", target / "notebooks", ignore=_unless_read)
    first = target / "notebooks" / "00_start_here.ipynb"
    say(f"wrote {target / 'notebooks'} and {target / 'data'}", f"Open the first one: jupyter lab {_word(first)}")


def _unless_read(_: str, names: list[str]) -> set[str]:
    """What nobody reads: the project's own tools, and what a notebook left behind where it ran."""
    kinds = ("", ".ipynb", ".md", ".png")
    return {name for name in names if Path(name).suffix not in kinds or name.startswith((".", "__"))}
