"""Lines to copy and notebooks to run: whatever a survey or a plan calls something, it stays one word or one string."""

import ast
import csv
import json
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from toolkit import Ledger, Pure
from toolkit.studio.folder import Folder, fingerprint
from toolkit.studio.notebooks import analysis_notebook, code_by_screen, curator_notebook
from toolkit.studio.server import Actions
from toolkit.studio.tables import TableFile

HOSTILE = ["fac; touch x", 'a"b', "a'b", "$(touch x)", "`touch x`", "a\\", "x]); import os; ([", "a\nimport os", "-x"]
SHARE = {"design": {"warner": {"epsilon": 1}}}


def _code(notebook: bytes) -> list[str]:
    return [cell["source"] for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "code"]


def _strings(code: list[str]) -> set[str]:
    """All strings in the code, which must be Python."""
    nodes = (node for source in code for node in ast.walk(ast.parse(source)))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _shape(code: list[str]) -> list[str]:
    """What the code does, without the strings in it."""
    lines = []
    for source in code:
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                node.value = ""
        lines.append(ast.dump(tree))
    return lines


def _table(folder: Path, name: str, *, header: bool) -> TableFile:
    """A table of one column of numbers, which has this name if the file says so."""
    with (folder / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerow([name])
    return TableFile(folder / "t.csv", header, {name: "number", "column_1": "number"})


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_one_word_of_the_shell_and_one_string_of_python(tmp_path: Path, name: str) -> None:
    data = {"questions": [{"name": name, "options": ["x", "y"]}, {"name": name, **SHARE}]}
    usual = {"questions": [{"name": "fac", "options": ["x", "y"]}, {"name": "fac", **SHARE}]}
    words = shlex.split(code_by_screen("survey.toml", data)["results"]["shell"])
    assert words[:4] == ["toolkit", "results", "--by", name]
    assert name in _strings([code_by_screen("survey.toml", data)["results"]["python"]])
    code = _code(analysis_notebook("survey.toml", data))
    assert {name, f"{name} ~ C({name})"} <= _strings(code)
    assert _shape(code) == _shape(_code(analysis_notebook("survey.toml", usual)))
    for header in (True, False):
        hostile, plain = (
            _code(curator_notebook(_table(tmp_path, column, header=header), promise, [], "t-budget.db"))
            for column, promise in ((name, name), ("fac", "replace"))
        )
        assert (name in _strings(hostile), _shape(hostile)) == (True, _shape(plain))


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_notebook_of_a_table_runs_and_reads_the_table(tmp_path: Path, monkeypatch, ending: str) -> None:
    """The cells run as written, in the folder of the table, and the curator holds all rows."""
    frame = pd.DataFrame({"age": [20.0, 30.0, 40.0]})
    path = tmp_path / f"t.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    Ledger(Pure(1), path=tmp_path / "t-budget.db")
    calls = ["curator.mean('age', bounds=(18, 90), epsilon=0.5, missing='drop')"]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for source in _code(curator_notebook(TableFile(path, True, {"age": "number"}), "replace", calls, "t-budget.db")):
        exec(source, names)  # noqa: S102
    assert (len(names["table"]), names["ledger"].spent) == (3, Pure(0))
    assert names["curator"].mean("age", bounds=(18, 90), epsilon=0.5, missing="drop").loss == Pure(0.5)


def test_a_title_makes_no_image_heading_or_element_of_a_notebook() -> None:
    title = "![x](https://evil.example/y) <img src=x>\n# *Run* `this` $x$"
    first = json.loads(analysis_notebook("survey.toml", {"title": title}))["cells"][0]["source"]
    heading = first.splitlines()[0]
    assert heading == r"# \!\[x\](https://evil.example/y) \<img src=x\> \# \*Run\* \`this\` \$x\$"


def test_nothing_is_written_for_an_invalid_survey(tmp_path: Path) -> None:
    text = 'title = "T"\nconsent = "Why."\n[[questions]]\nname = "fac; touch x"\ntext = "F?"\noptions = ["x", "y"]\n'
    (tmp_path / "a.toml").write_text(text)
    actions, before = Actions(Folder(tmp_path)), [path.name for path in tmp_path.iterdir()]
    state = actions.surveys.state("a.toml")
    assert (state["valid"], "touch" in json.dumps(state["steps"])) == (False, False)
    for what in ("notebook", "paper", "xlsform", "jspsych", "surveyjs", "assessment", "codebook"):
        arguments = {"file": "a.toml", "document": what, "hash": fingerprint(text.encode())}
        answer = actions.run("write", arguments | ({"ending": ".html"} if what == "codebook" else {}))
        assert (answer.status, b"name" in answer.body) == (422, True)
    assert [path.name for path in tmp_path.iterdir()] == before
