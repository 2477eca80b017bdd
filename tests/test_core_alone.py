"""With numpy and scipy alone, as after `pip install privacy-survey-toolkit` without an extra, everything works that can
work, and everything else raises one sentence with the extra and the command.
"""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.alone import core_packages, extra_packages
from toolkit.core import extras

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "toolkit"
OURS = {package for packages in extras._EXTRAS.values() for package in packages}
BROUGHT = OURS | {"IPython", "traitlets", "tqdm", "uvloop"}  # their dependencies
CHECKED = {  # modules that import a package of an extra, and the module that checks for it first
    "show/": "toolkit/show/__init__.py",
    "learning/": "toolkit/learning/__init__.py",
    "core/postgres.py": "toolkit/budget/ledger.py",
    "budget/ledger_postgres.py": "toolkit/budget/ledger.py",
    "survey/storage/postgres.py": "toolkit/survey/storage/__init__.py",
    "survey/serving/connection.py": "toolkit/survey/serving/background.py",
    "teaching/classroom.py": "toolkit/teaching/classroom.py",
    "teaching/explorers/": "toolkit/teaching/explorers/__init__.py",
    "teaching/breaches.py": "toolkit/show/__init__.py",
}
GIVEN = {  # functions that receive an object of the package
    "frames/": "a frame",
    "core/extras.py": "nothing: without tqdm there is no bar",
}

NAMES = """
import importlib, json
found = {}
for face in ("", ".teaching.attacks", ".audit", ".teaching", ".budget", ".central", ".core", ".local", ".local.numeric",
             ".local.oracles", ".planning", ".survey", ".learning", ".show"):
    try:
        module = importlib.import_module(f"toolkit{face}")
        found[face] = [name for name in module.__all__ if not hasattr(module, name)]
    except ImportError as problem:
        found[face] = f"{type(problem).__name__}: {problem}"
print(json.dumps(found))
"""

CALLS = """
import json
import toolkit
from toolkit import *
from toolkit.analysis import Findings, estimates
from toolkit.audit import audit
from toolkit.planning import split
from toolkit.survey import Collector, Results, estimate, tally
from toolkit.survey.serving.blind import Issuer, IssuerKey
from toolkit.survey.client import qr_path, qr_text
from toolkit.survey.storage import open_store

design = warner(p="3/4")
shares = design.estimate_counts([60, 40])
questions = [Question("cheated", "Cheated?", design=design), Question("drink", "Drink?", options=["a", "b"])]
survey = Survey("Exams", questions, consent="Why we ask.")
blind = Survey("Exams", questions, consent="Why we ask.", access="blind")
store = open_store("sqlite:///there.db")
store.create(survey)
store.close()
there = Collector.attach("sqlite:///there.db")
ledger, verdict, planned = Ledger(Pure(3)), audit(design), plan(warner, prevalence=0.2, epsilon=1, n=500)
parts = split.budget_for({"a": (warner, 0.2), "b": (warner, 0.1)}, epsilon=1)
nothing = Results({}, (), group_estimates=(), source=None, survey=survey, understood=None, attention={})
findings = Findings({}, (), (), None)
found = {}

def call(wanted, *runs):
    for run in runs:
        try:
            run()
            said = "works"
        except Exception as problem:
            said = f"{type(problem).__name__}: {problem}"
        found[f"{len(found)} {wanted}"] = said

call(
    "works",
    lambda: design.randomize(["yes", "no"]), lambda: repr(shares), shares._repr_html_, shares.interval,
    lambda: shares.test(0.5), lambda: repr(planned), planned._repr_html_, planned.trust_models, lambda: repr(parts),
    lambda: repr(survey.plan(500)), lambda: repr(survey), survey._repr_html_, survey.consent_text,
    lambda: survey.save("survey.json"), lambda: Survey.load("survey.json"),
    lambda: survey.preview().save("preview.html"), lambda: survey.preview()._repr_html_(),
    lambda: ledger.charge(Pure(1), "first"), lambda: repr(ledger), ledger._repr_html_,
    lambda: repr(verdict), verdict._repr_html_, lambda: Gaussian.for_rho(1).release(3),
    lambda: Laplace(Pure(1)).release(3), lambda: compose([Pure(1), Zcdp(1)], delta=1e-6),
    lambda: shuffled(design, n=1000, delta=1e-6), there.status, there.__repr__, there.close,
)
call(
    "lab",
    shares.to_frame, planned.compare, planned.sensitivity, parts.to_frame, ledger.to_frame, verdict.to_frame,
    nothing.plot,
)
call(
    "collect",
    survey.plan(500).to_frame, nothing.to_frame, nothing.summary, there.reports, there.results,
    lambda: there.export("reports.csv"),
    lambda: estimate(survey, {"cheated": ["yes"]}), lambda: tally(survey, {"cheated": ["yes"]}),
    lambda: collect(survey),
    lambda: collect(survey, database="postgresql://nowhere/x"),
    lambda: collect(blind, database="sqlite:///blind.db"),
    lambda: Collector.attach("postgresql://nowhere/x"), lambda: survey.save("survey.toml"),
    lambda: qr_path("https://survey.example/"), lambda: qr_text("https://survey.example/"),
    IssuerKey.generate,
    lambda: IssuerKey.load("key.pem"), lambda: Issuer(3233, 17).verify(b"", b""),
)
call("analysis", findings.to_frame, lambda: estimates([1], {"a": design}))
call("accounting", lambda: compose([Pure(1)] * 3, rule="pld", delta=1e-6))
# refused for what it is, with nothing installed that could read it
call(
    "`frame` must be a frame of pandas, polars or PySpark, a pyarrow Table or a DuckDB relation",
    lambda: Curator([1, 2, 3], ledger, "replace_one"),
    lambda: Curator({"pay": [1, 2, 3]}, ledger, "replace_one"),
)
print(json.dumps(found))
"""

VERBS = """
import contextlib, io, json
from toolkit.command import main
found = {}
for typed in json.loads(input()):
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            code = main(typed.split())
        except SystemExit as end:
            code = end.code
    found[typed] = [code, said.getvalue()]
print(json.dumps(found))
"""
TYPED = {
    "--help": None,
    "new survey.toml": None,
    "notebooks course": None,
    "grade none.toml": 1,
    "check survey.toml": None,
    "codebook survey.toml book.html": None,
    "register survey.toml plan.toml": 2,
    "xlsform survey.toml form.xlsx": 2,
    "web site survey.toml": None,
    "form survey.toml form --for jspsych": None,
    "codebook survey.toml book.docx": "files",
    "paper survey.toml kit": "collect",
    "enter survey.toml kit/entry.csv --database sqlite:///paper.db": 2,
    "plan warner --prevalence 0.2 --epsilon 1 --n 500": None,
    "studio . --no-browser": "collect",
    "serve survey.toml": "collect",
    "serve survey.toml --foreground": "collect",
    "serve survey.toml --database postgresql://nowhere/x": "collect",
    "open survey.toml": None,
    "open survey.toml --database postgresql://nowhere/x": "collect",
    "status": None,
    "pause": None,
    "resume": None,
    "results": "collect",
    "report report.html": 2,
    "export reports.csv": "collect",
    "export reports.parquet": "collect",
    "export reports.sav": "collect",
    "close": None,
    "migrate": None,
    "merge a.db b.db": 2,
    "delete --yes": None,
    "doctor http://127.0.0.1:1/": 1,
    "invite 3": 2,
    "station new 3": 2,
}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory):
    """Run a program in an environment with only the standard library, numpy, scipy and the toolkit."""
    return running(tmp_path_factory.mktemp("alone"))


def running(folder: Path, extra: str | None = None):
    """Run programs in a folder, with the packages of an extra if one is named."""
    packages = folder / "packages"
    packages.mkdir()
    core_packages(packages)
    if extra is not None:
        extra_packages(packages, extra)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PYTHONPATH": f"{packages}:{ROOT}", "XDG_RUNTIME_DIR": str(folder), "HOME": str(folder)}

    def run(program: str, given: str = "") -> dict:
        call = [sys.executable, "-S", "-c", program]  # -S: no site-packages
        done = subprocess.run(
            call, cwd=folder, env=environment, input=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def sentence(extra: str) -> str:
    return f" must be installed for this, got none: run pip install 'privacy-survey-toolkit[{extra}]'."


@pytest.mark.slow
def test_every_public_name_is_there_and_pictures_say_what_they_need(alone) -> None:
    found = alone(NAMES)
    assert found.pop(".show") == f"MissingExtraError: matplotlib{sentence('lab')}"
    assert found.pop(".learning") == f"MissingExtraError: sklearn{sentence('learning')}"
    assert {face: names for face, names in found.items() if names} == {}


@pytest.mark.slow
def test_what_needs_an_extra_names_it_and_the_rest_works(alone) -> None:
    for name, said in alone(CALLS).items():
        wanted = name.partition(" ")[2]
        if wanted in extras._EXTRAS:
            assert said.startswith("MissingExtraError: "), (name, said)
            assert said.endswith(sentence(wanted)), (name, said)
        else:
            assert wanted in said, (name, said)


@pytest.mark.slow
def test_every_command_works_or_says_a_sentence(alone) -> None:
    told = alone(VERBS, json.dumps(list(TYPED)))
    for typed, (code, said) in told.items():
        wanted = TYPED[typed]
        assert "Traceback" not in said
        assert "error of the toolkit itself" not in said
        if isinstance(wanted, str):
            assert (code, said.count("\n")) == (2, 1), (typed, said)
            assert said.startswith(f"toolkit {typed.split()[0]}: ")
            assert said.endswith(f"{sentence(wanted)}\n"), (typed, said)
        else:
            assert code == (wanted or 0), (typed, said)


READ = (
    """
import json, secrets
from toolkit import Question, Survey, warner
from toolkit.survey.storage import NewReport, State, open_store
survey = Survey("Exams", [Question("cheated", "?", design=warner(p="3/4"))], consent="Why.", check=False)
store = open_store("sqlite:///survey.db")
store.create(survey)
store.set_state(State.OPEN)
body = json.dumps({"answers": {"cheated": 1}, "understood": None})
store.add([NewReport(secrets.token_bytes(16), body) for _ in range(40)])
store.set_state(State.CLOSED)
store.close()
"""
    + VERBS
)


@pytest.mark.slow
def test_with_the_extra_for_collecting_alone_a_collection_is_read(tmp_path: Path) -> None:
    told = running(tmp_path, "collect")(READ, json.dumps(["results", "export reports.csv"]))
    assert told == {"results": [0, ""], "export reports.csv": [0, ""]}
    assert (tmp_path / "reports.csv").read_text().count("yes") == 40
    assert not (tmp_path / "packages" / "matplotlib").exists()


def test_every_command_is_typed_here() -> None:
    from toolkit.command import _build_parser

    (commands,) = [action.choices for action in _build_parser()._actions if action.dest == "command"]
    assert {typed.split()[0] for typed in TYPED} - {"--help"} == set(commands)


def loose(path: Path) -> Iterator[str]:
    """Imports of optional packages occur only for types, and in functions that have checked for them before."""
    text = path.read_text()
    tree, asking = ast.parse(text), "check_extras(" in text
    for node in ast.walk(tree):
        asks = asking and isinstance(node, ast.FunctionDef) and "check_extras(" in ast.unparse(node)
        if asks or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            for inner in ast.walk(node):
                inner.skipped = True  # type: ignore[attr-defined]
    for node in ast.walk(tree):
        if hasattr(node, "skipped"):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


@pytest.mark.slow
def test_nothing_of_an_extra_is_imported_without_asking_for_it_first() -> None:
    known = (*CHECKED, *GIVEN)
    found = {
        str(path.relative_to(PACKAGE)): sorted(names)
        for path in sorted(PACKAGE.rglob("*.py"))
        if (names := BROUGHT & set(loose(path)))
    }
    assert {path: names for path, names in found.items() if not path.startswith(known)} == {}
    assert [one for one in known if not any(path.startswith(one) for path in found)] == []
    assert all("check_extras(" in (ROOT / asks).read_text() for asks in CHECKED.values())
