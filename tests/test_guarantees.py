"""What README.md guarantees: every sentence names the test that holds it, and that test exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECTION = re.compile(r"^## What is guaranteed\n(.*?)^## ", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!-- (\S+) -->")


def bullets() -> str:
    found = SECTION.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    return found[1][found[1].index("\n- ") :]


def test_every_sentence_of_the_guarantees_names_its_test() -> None:
    *sentences, rest = re.split(r"<!--.*?-->", bullets())
    assert rest.strip() == ""
    assert len(sentences) > 20
    for sentence in (" ".join(one.lstrip("\n -").split()) for one in sentences):
        assert re.fullmatch(r"[A-Z][^.]*(?:\d\.\d[^.]*)?\.", sentence), sentence


def test_every_test_that_is_named_exists() -> None:
    names = COMMENT.findall(bullets())
    assert len(names) == bullets().count("<!--")
    for path, name in (named.split("::") for named in names):
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert name in defined, f"{path}::{name}"
