"""Files next to the code: their statements are true, and they agree with each other."""

import re
import tomllib
from pathlib import Path

import toolkit
from tests.slowly import each

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_version_is_the_same_in_all_files() -> None:
    """The version is written once, and the citation, the recipe and the changelog (without ".dev") agree with it."""
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "toolkit.__version__"}
    assert f"\nversion: {toolkit.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {toolkit.__version__.partition('.dev')[0]}" in (ROOT / "CHANGELOG.md").read_text()
    assert f'set version = "{toolkit.__version__}"' in (ROOT / "conda" / "meta.yaml").read_text()


def test_the_conda_recipe_asks_for_the_versions_of_the_project() -> None:
    floors = dict(re.findall(r'"([\w-]+)[^">]*>=([\d.]+)', (ROOT / "pyproject.toml").read_text()))
    renamed = {"matplotlib-base": "matplotlib", "python-duckdb": "duckdb"}
    recipe = re.findall(r"- ([\w-]+) >=([\d.]+)", (ROOT / "conda" / "meta.yaml").read_text().partition("  run:")[2])
    asked = {renamed.get(name, name): floor for name, floor in recipe}
    assert asked.pop("python") == PROJECT["project"]["requires-python"].removeprefix(">=")
    assert {"numpy", "scipy"} < asked.keys()
    assert asked == {name: floors[name] for name in asked}


def test_every_target_that_contributors_are_told_of_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for page in ("CONTRIBUTING.md", "README.md"):
        assert set(re.findall(r"\bmake ([a-z-]+)\b", (ROOT / page).read_text())) <= targets


MADE = {".venv", ".venv-lowest", ".venv-newest", "build"}
PAGES = [page for page in sorted(ROOT.glob("**/*.md")) if not MADE & set(page.parts)]


@each(page=PAGES)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    """The links hold in a checkout and in the source distribution, which contains the same files; no link leads
    outside.
    """
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        name, _, heading = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if heading:
            assert heading in headings(target), link


def headings(page: Path) -> list[str]:
    """Return the anchors of a page's headings: lower case, hyphens for spaces, no punctuation."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles]


def test_every_dependency_has_its_reason_in_a_line() -> None:
    listed = re.findall(r'^  "[^"]+",?(.*)$', (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE)
    assert len([reason for reason in listed if "::" not in reason]) > 20
    lines = (
        (ROOT / "pyproject.toml")
        .read_text()
        .split("[project.optional-dependencies]")[1]
        .split("[tool.")[0]
        .splitlines()
    )
    assert [line for line in lines if line.startswith('  "') and "  # " not in line] == []


def test_the_places_where_new_things_go_are_there() -> None:
    """Return every path in the table "Where do I put …", relative to the package or to the repository."""
    table = (ROOT / "ARCHITECTURE.md").read_text().partition("## Where do I put")[2].partition("\n## ")[0]
    paths = [path for path in re.findall(r"`([^`\s]+)`", table) if "/" in path and "NN_" not in path]
    assert len(paths) > 20
    assert [path for path in paths if not any((base / path).exists() for base in (ROOT, ROOT / "toolkit"))] == []
    code = "".join(path.read_text() for path in (ROOT / "toolkit").rglob("*.py"))
    classes = re.findall(r"`([A-Z][a-z]\w+)`", table)
    assert len(classes) > 5
    assert [name for name in classes if not re.search(rf"^class {name}\b", code, re.MULTILINE)] == []
