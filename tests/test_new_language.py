"""A language consists only of its files: an invented one is added next to English, in a copy."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = "qaa"  # from the codes that ISO 639-2 reserves for local use
SIGN = "·"
SIGNS = ("decimal", "comma", "thousands", "grouped_from")  # the format of numbers stays as it is

CHAIN = """
import sys
from toolkit import Question, Survey, forced
from dataclasses import replace
from toolkit.survey.consent.page_data import headings
from toolkit.survey.export import codebook
from toolkit.survey.serving.page import page_content

code, sign = sys.argv[1:]
asked = Question("cheated", "Cheated?", design=forced("1/6", "1/6"), mode="guided")
survey = Survey("Exams", [asked], consent="Why we ask.", languages=[code], closes="2030-01-01")
survey.save("survey.toml")
survey = Survey.load("survey.toml")
told = survey.consent_text().splitlines()
assert told[0].endswith(sign), told
page = page_content(survey)
words = page["words"][code]
same = {name for name, text in words.items() if sign not in str(text)}
titles = {"head_link", "head_declined"}  # of screens that have no heading of their own
assert same == {"direction", "decimal", "thousands", "grouped_from"} | titles, same
assert page["consent"][code][0]["open"][0].endswith(sign)
assert sign in survey.preview()._repr_html_()
assert sign in codebook(survey)["consent"]
tried = replace(survey, rehearsal=True)
assert headings(tried) == {code: f"REHEARSAL{sign}: Exams"}, headings(tried)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The package and its tests with an additional language: English with a sign at the end of every text."""
    folder = tmp_path_factory.mktemp("language")
    for name in ("toolkit", "tests", "data"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for english in (folder / "toolkit").rglob("en.toml"):
        lines = english.read_text(encoding="utf-8").splitlines()
        english.with_name(f"{CODE}.toml").write_text("\n".join(map(foreign, lines)) + "\n", encoding="utf-8")
    return folder


def foreign(line: str) -> str:
    name = line.partition(" = ")[0]
    return line if name in SIGNS else re.sub(r'^(\w+ = ".*)"$', rf'\1{SIGN}"', line)


def run(copy: Path, *arguments: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    call = [sys.executable, *arguments]
    done = subprocess.run(call, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_an_added_language_reaches_page_promise_preview_and_rehearsal(copy):
    """An added language works from the survey file to the page, the promise, the preview and the rehearsal."""
    run(copy, "-c", CHAIN, CODE, SIGN)


@pytest.mark.slow
def test_the_tests_of_languages_take_it_from_the_folder(copy):
    files = [f"tests/texts/test_{name}.py" for name in ("marks", "page_words", "phrases")]
    run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "toolkit/texts")
