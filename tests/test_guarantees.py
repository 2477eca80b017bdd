"""Guarantees: every sentence names the test that checks it, and this test exists; the same holds for every row of the
threat model, or it says that there is no test.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECTION = re.compile(r"^## What is guaranteed\n(.*?)^## ", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!-- (\S+) -->")


PAGE = ROOT / "docs" / "project" / "guarantees.md"
THREATS = ROOT / "docs" / "understand" / "threats.md"
EVALUATION = THREATS.with_name("evaluation.md")


def bullets() -> str:
    found = SECTION.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    return found[1][found[1].index("\n- ") :]


def missing(names: list[str]) -> list[str]:
    """Return the names that are not tests of that file."""
    absent = []
    for path, name in (named.split("::") for named in names):
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        if name not in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}:
            absent.append(f"{path}::{name}")
    return absent


def test_every_sentence_of_the_guarantees_names_its_test() -> None:
    *sentences, rest = re.split(r"<!--.*?-->", bullets())
    assert rest.strip() == ""
    assert len(sentences) > 20
    for sentence in (" ".join(one.lstrip("\n -").split()) for one in sentences):
        assert re.fullmatch(r"[A-Z][^.]*(?:\d\.\d[^.]*)?\.", sentence), sentence


@pytest.mark.slow
def test_every_test_that_is_named_exists() -> None:
    names = COMMENT.findall(bullets())
    assert len(names) == bullets().count("<!--")
    assert missing(names) == []


def test_the_readme_s_five_are_held_by_tests_too() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Five guarantees")[2].partition("\n## ")[0]
    names = COMMENT.findall(section)
    assert len(names) == section.count("\n- ") == 5
    assert missing(names) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "first_section", "count"), [(THREATS, "Collecting", 25), (EVALUATION, "The promise", 15)]
)
def test_every_row_of_the_tables_names_its_test(page: Path, first_section: str, count: int) -> None:
    """Every row of the threat model and of the evaluation names its test or says that there is none."""
    text = page.read_text(encoding="utf-8").partition(f"## {first_section}")[2]
    rows = [line.split(" | ")[-1].removesuffix(" |") for line in text.splitlines() if re.match(r"\| [^-]", line)]
    rows = [row for row in rows if row != "test"]
    assert len(rows) > count
    names = [row for row in rows if row != "not tested"]
    assert len(names) > count / 2
    assert missing(names) == []
