"""What is guaranteed: every sentence names the test that holds it, and that test exists; so does every row of the
threat model, or it says that nothing does.
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


def bullets() -> str:
    found = SECTION.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    return found[1][found[1].index("\n- ") :]


def missing(names: list[str]) -> list[str]:
    """Those that are no test of that file."""
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
def test_every_row_of_the_threat_model_names_its_test() -> None:
    """Every row of the threat model names its test or says that there is none."""
    text = THREATS.read_text(encoding="utf-8").partition("## Collecting")[2]
    rows = [line.split(" | ")[-1].removesuffix(" |") for line in text.splitlines() if re.match(r"\| [^-]", line)]
    rows = [row for row in rows if row != "test"]
    assert len(rows) > 25
    names = [row for row in rows if row != "not tested"]
    assert len(names) > 15
    assert missing(names) == []
