"""The messages of a type checker on a user's script: correct scripts pass, and messages about errors are helpful."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = """
import numpy as np
import pandas as pd

from toolkit import Curator, Ledger, Pure, Zcdp, bands, between, plan, warner
from toolkit.analysis import estimates, logistic
from toolkit.learning import PrivateLogisticRegression
from toolkit.local.numeric import one_bit
from toolkit.local.oracles import subset
from toolkit.survey import Question, Survey

people = np.random.default_rng(1)
design = warner("3/4")
reports = design.randomize(["no", "yes"] * 500)
reveal_type(design)  # Design
estimate = design.estimate(reports)
reveal_type(estimate)  # Estimate
low, high = estimate.interval(0.9)
reveal_type(estimate.test(0.3))  # Significance

frame = pd.DataFrame({"pay": people.gamma(4, 500, 1000), "city": ["north", "south"] * 500})
ledger = Ledger(Pure(4), neighbors="replace", simulated=True)
curator = Curator(frame, ledger, neighbors="replace")
cities = {"city": ["north", "south"]}
reveal_type(curator.mean("pay", bounds=(0, 9000), missing="drop", by=cities, epsilon=0.5))  # Estimate
reveal_type(curator.quantile("pay", [0.25, 0.5, 0.75], bounds=(0, 9000), epsilon=0.5))  # Estimate
reveal_type(curator.histogram("pay", edges=[0, 1000, 9000], where={"city": "north"}, epsilon=0.25))  # Estimate
reveal_type(curator.count({"pay": between(1000, 2000)}, epsilon="1/8"))  # Estimate
reveal_type(curator.count(by={"pay": bands(0, 1000, 9000)}, epsilon=0.125))  # Estimate
reveal_type(curator.preview.mean("pay", bounds=(0, 9000), missing=0, epsilon=0.5))  # Preview
reveal_type(ledger.remaining)  # Pure | Approx | Zcdp
reveal_type(ledger.charge(Pure(0.1), "a survey", neighbors="replace"))  # Entry
reveal_type(Ledger(Zcdp("1/8")).spent)  # Pure | Approx | Zcdp

answers = pd.DataFrame({"answer": reports, "age": people.integers(18, 80, 1000), "city": frame["city"]})
reveal_type(estimates(answers, {"answer": design}, by=["city"]))  # Findings
reveal_type(logistic("answer ~ age", answers, design))  # LogisticFit
needed = plan(warner, prevalence=0.2, margin=0.03, epsilon=1.0)
reveal_type(needed)  # Plan
reveal_type(needed.n)  # int

rows = people.normal(size=(1000, 2)) / 4
model = PrivateLogisticRegression(1.0, classes=("no", "yes"), row_norm=1.0, missing="drop", ledger=ledger)
reveal_type(model.fit(rows, reports))  # PrivateLogisticRegression
questions = [
    Question("cheated", "Did you ever cheat?", design=design),
    Question("hours", "How many hours do you learn a week?", design=one_bit((0, 80), 0.9)),
    Question("subject", "What do you learn?", design=subset(["law", "medicine", "physics"], 0.9)),
]
survey = Survey("Exams", questions, consent="We are a university.")
reveal_type(survey.plan(1000))  # SurveyPlan
reveal_type(survey.plan(goals={"cheated": {"margin": 0.05}}))  # PeopleNeeded
"""
EXPECTED = {
    place: line.split("  # ")[1]
    for place, line in enumerate(SCRIPT.splitlines(), start=1)
    if line.startswith("reveal_type(")
}


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("user") / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def shown(*command: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout


@pytest.mark.slow
def test_the_script_passes_mypy_and_every_result_has_its_type(script: Path) -> None:
    output = shown("mypy", "--strict", str(script))
    assert re.findall(r"script\.py:\d+: error: .*", output) == []
    types = re.findall(r'script\.py:(\d+): note: Revealed type is "(.*)"', output)
    assert {int(line): re.sub(r"[\w.]+\.", "", kind) for line, kind in types} == EXPECTED


@pytest.mark.slow
@pytest.mark.skipif(find_spec("basedpyright") is None, reason="basedpyright is not installed")
def test_the_script_passes_pyright_and_every_result_has_its_type(script: Path) -> None:
    output = shown("basedpyright", "--pythonpath", sys.executable, "--outputjson", str(script))
    notes = json.loads(output)["generalDiagnostics"]
    assert [note["message"] for note in notes if note["severity"] == "error"] == []
    types = {
        note["range"]["start"]["line"] + 1: re.search(r'is "([^"]*)"$', note["message"])[1]
        for note in notes
        if note["severity"] == "information"
    }
    assert types == EXPECTED


@pytest.mark.slow
def test_the_script_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The checked calls are the calls of a user, so they must run as well as pass the type checker."""
    kinds = dict[int, str]()
    exec(SCRIPT, {"reveal_type": lambda value: kinds.setdefault(len(kinds), type(value).__name__)})  # noqa: S102
    assert [kind in expected for kind, expected in zip(kinds.values(), EXPECTED.values(), strict=True)].count(
        False
    ) == 0
    assert capsys.readouterr().err == ""
