"""Files beside the code: they say what is so, and agree with each other."""

import re
import tomllib
from pathlib import Path

import toolkit

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_version_is_written_once_and_the_citation_and_the_changelog_have_it() -> None:
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "toolkit.__version__"}
    assert f"\nversion: {toolkit.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {toolkit.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_target_that_contributors_are_told_of_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for page in ("CONTRIBUTING.md", "README.md"):
        assert set(re.findall(r"\bmake ([a-z]+)\b", (ROOT / page).read_text())) <= targets


def test_files_that_are_pointed_to_exist() -> None:
    for page in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md"):
        text = (ROOT / page).read_text()
        links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
        assert [link for link in links if not (ROOT / link).exists()] == [], page


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
