"""The pages of the site: what they name exists, what they show runs, and every public room is in the reference."""

import argparse
import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

import reference
from links import faults
from tests.test_docstrings import ROOMS
from toolkit.command import _parser, main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Words for a reader that run nothing here: what a peer would type, files, what `make` and pip do.
NOT_RUN = {"r", "sql", "text"}


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def typed(page: Path) -> list[str]:
    """The lines of a page's shell blocks, without comments."""
    text = "".join(block for kind, block in blocks(page) if kind == "sh")
    return [line.partition("  #")[0].strip() for line in text.splitlines() if line.strip() and line.strip()[0] != "#"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_of_a_kind_that_is_run(page: Path) -> None:
    """Python as a session, which the doctests of README.md and docs/ run; shells as below."""
    for kind, block in blocks(page):
        if kind == "python":
            assert block.startswith(">>> "), block
        else:
            assert kind in {"sh"} | NOT_RUN, kind


def test_what_a_page_has_a_shell_do_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page in an empty folder, its lines one after the other; pip, jupyter and make are not tried here."""
    ran = 0
    for page in (page for page in PAGES if page.name != "production.md"):  # tests/production does that
        folder = tmp_path / str(page.relative_to(ROOT)).replace("/", "-")
        folder.mkdir()
        monkeypatch.chdir(folder)
        for line in typed(page):
            program, *words = shlex.split(line)
            assert program in {"toolkit", "pip", "jupyter", "make"}, line
            if program == "toolkit":
                assert main(words) == 0, (page.name, line)
                ran += 1
    assert ran >= 8


def test_every_verb_and_target_that_is_named_exists() -> None:
    (verbs,) = (action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert set(re.findall(r"`toolkit ([a-z]+)", text)) <= set(verbs.choices), page
        assert set(re.findall(r"`make ([a-z]+)", text)) <= targets, page


def named(text: str) -> object:
    """What a dotted name stands for."""
    parts = text.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value = import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            value = getattr(value, part)
        return value
    raise ImportError(text)


@pytest.mark.filterwarnings("ignore:Widget:DeprecationWarning")
def test_every_formula_names_a_function_that_exists() -> None:
    """In the last column of each table of mathematics.md, and wherever a page links a name."""
    text = (ROOT / "docs" / "understand" / "mathematics.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if re.match(r"\| [^-]", line) and not line.endswith("| function |")]
    assert len(rows) > 45
    for row in rows:
        name = re.search(r"`(toolkit\.[\w.]+)` \|$", row)
        assert name, row
        assert named(name[1]) is not None
    for page in PAGES:
        for link in re.findall(r"\{py:obj\}`[^<`]*<([\w.]+)>`", page.read_text(encoding="utf-8")):
            assert named(link) is not None


@pytest.mark.filterwarnings("ignore:Widget:DeprecationWarning")
def test_every_room_is_in_the_reference_and_every_name_has_a_first_sentence() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    shown = set(re.findall(r"^```\{room\} (\S+)$", pages, flags=re.MULTILINE))
    assert shown == set(reference.FACES)
    assert {f"toolkit.{room}" for room in ROOMS} <= shown
    for face in reference.FACES:
        for name, value in reference.offered(face):
            assert len(reference._first_sentence(value)) > 10, f"{face}.{name}"


def test_every_notebook_is_in_the_course() -> None:
    listed = (ROOT / "docs" / "course" / "index.md").read_text(encoding="utf-8")
    assert [path.stem for path in (ROOT / "notebooks").glob("*.ipynb") if f"notebooks/{path.stem}>" not in listed] == []


def test_pictures_of_the_first_page_are_small() -> None:
    assert {path.name for path in (ROOT / "docs" / "images").iterdir()} == {"phone.png", "result.png"}
    assert all(path.stat().st_size < 100_000 for path in (ROOT / "docs" / "images").iterdir())


def test_links_that_lead_nowhere_and_things_from_elsewhere_are_seen(tmp_path: Path) -> None:
    """What `make docs` ends with."""
    page = '<p id="here"><a href="b.html#there">x</a><a href="#here">y</a><a href="c.html">z</a><script src="https://x.example/a.js"></script>'
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b.html").write_text("<p>")
    assert faults(tmp_path) == [
        "a.html: fetched from elsewhere: https://x.example/a.js",
        "a.html: no such place: b.html#there",
        "a.html: no such file: c.html",
    ]
