"""What a teacher gets: a bank of questions whose numbers are right, slides that need no network, cards with
the odds that are estimated with, and minutes that were counted.
"""

import importlib.util
import math
import re
import tomllib
from fractions import Fraction
from pathlib import Path

import nbformat
import numpy as np
import pytest
import scipy.stats

from toolkit import forced, mangat, plan, warner
from toolkit.central import sensitivity
from toolkit.course import check
from toolkit.local import anchor

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
BANK = tomllib.loads((FOLDER / "teaching" / "questions.toml").read_text(encoding="utf-8"))
KNOWN = {"math": math, "scipy": scipy, "warner": warner, "mangat": mangat, "sensitivity": sensitivity}


def made(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / ".make" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", BANK)
def test_a_question_has_one_right_answer_and_a_reason_for_each_wrong_one(name):
    entry = BANK[name]
    assert {"after", "asked", "right", "because", "wrong"} <= set(entry) <= {*entry, "claim"}
    assert list(FOLDER.glob(f"{entry['after']}_*.ipynb"))
    answers = [entry["right"], *(answer for answer, _ in entry["wrong"])]
    assert len(set(answers)) == len(answers) >= 3
    assert all(len(reason) > 10 for _, reason in entry["wrong"])


@pytest.mark.parametrize("name", [name for name, entry in BANK.items() if "claim" in entry])
def test_the_numbers_of_a_question_are_right(name):
    assert eval(BANK[name]["claim"], dict(KNOWN))  # noqa: S307 — of a file of this repository


@pytest.mark.slow
@pytest.mark.parametrize("number", ["03", "15"])
def test_slides_have_all_prose_no_solution_and_ask_nothing_of_a_network(number):
    (path,) = FOLDER.glob(f"{number}_*.ipynb")
    page = made("slides").slides(path)
    assert "<details>" not in page
    assert "The solution above" not in page
    assert re.findall(r"""(?:src|href)=["']https?://(?!doi)|@import|url\(""", page) == []
    assert page.count("<section") == page.count("</section>") > 15
    headings = [
        line.lstrip("# ")
        for cell in nbformat.read(path, as_version=4).cells
        for line in cell.source.splitlines()
        if cell.cell_type == "markdown" and line.startswith("#")
    ]
    text = re.sub(r"<[^>]+>", "", page)
    assert [heading for heading in headings if heading not in text] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        r"\tfrac13\,x",
        r"\frac1n \ell, \frac\lambda2, \frac5{16}, \operatorname{argmin}",
        r"\sqrt n",
        r"\underbrace{\frac{x}{n}}_{\text{who}}",
        r"\Pr[A] \le e^{\varepsilon}",
    ],
)
def test_a_formula_becomes_a_picture_whose_words_are_the_formula(text):
    drawn = made("slides").formula(text)
    assert drawn.startswith(f'<img alt="{text}"')
    assert made("slides").formula(r"\nosuchthing x") == r"<code>\nosuchthing x</code>"


@pytest.mark.slow
def test_a_formula_may_end_on_the_next_line_and_none_spans_a_paragraph():
    page = made("slides")._rendered("odds of $e^{-\\varepsilon\\,\nx}$ at most 3 $\n\nor 4 $")
    assert page.count("<img alt=") == 1
    assert page.count("$") == 2


def test_cards_have_the_odds_of_the_designs_that_the_tally_names():
    page = made("cards").cards("Have you ever copied?")
    for words in ('1 or 2: tick "no"', '4–6: tick "yes"', "tails-heads or tails-tails: answer truthfully"):
        assert page.count(words.replace('"', "&quot;")) == 6
    assert [page.count(f'warner(p="{p}")') for p in ("2/3", "3/4")] == [1, 3]
    assert page.count("Have you ever copied?") == 18


def test_the_minutes_of_the_table_are_those_of_reading_and_looking():
    """Prose at 130 words a minute, six seconds for a line of code that is shown, half a minute for each cell
    that shows something, to five minutes; six minutes for an exercise.
    """
    row = r"\| \[?(\d\d) [^|]+\|[^|]+\| (\d+) \| (\d+) \|"
    rows = re.findall(rf"^{row}", (FOLDER / "teaching" / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [number for number, _, _ in rows] == sorted(path.name[:2] for path in FOLDER.glob("*.ipynb"))
    start = (FOLDER / "00_start_here.ipynb").read_text(encoding="utf-8")
    assert re.findall(row, start) == rows
    for number, minutes, exercises in rows:
        (path,) = FOLDER.glob(f"{number}_*.ipynb")
        cells = nbformat.read(path, as_version=4).cells
        told = [c.source for c in cells if c.cell_type == "markdown" and "<details>" not in c.source]
        code = [c for c in cells if c.cell_type == "code"]
        seen = [c for c in code if not {"solution", "check", "answer"} & set(c.metadata.get("tags", []))]
        lines = sum(bool(line.strip()) for c in seen for line in c.source.splitlines())
        counted = sum(len(text.split()) for text in told) / 130 + lines / 10 + 0.5 * sum(bool(c.outputs) for c in seen)
        assert abs(int(minutes) - counted) <= 4, (number, counted)
        assert int(exercises) == 6 * sum("answer" in c.metadata.get("tags", []) for c in code)


def test_the_numbers_of_the_project_are_those_of_the_key_and_of_its_sample_report():
    page = (FOLDER / "teaching" / "PROJECT.md").read_text(encoding="utf-8")
    coins, epsilon = forced("1/4", "1/4"), math.log((0.25 / 0.75) / (0.1 / 0.9))
    assert coins.epsilon == pytest.approx(epsilon)
    answers = plan(coins, prevalence=0.1, margin=0.03).n
    people = np.arange(4600)
    said, moon = people < 1430, people < 1242
    found = [coins.estimate(said).value, anchor.attention(coins, moon).value, anchor.corrected(coins, said, moon).value]
    one, table = sensitivity.counts(["x"], neighbors="replace").l1, sensitivity.histogram(neighbors="replace").l1
    parts = {
        "P.1": (epsilon, 2 * epsilon),
        "P.2": (answers, math.ceil(answers / 0.4)),
        "P.3": found,
        "P.4": (table / Fraction(1, 2), 10 * one / table),
    }
    for name, given in parts.items():
        assert check(name, tuple(map(float, given))), name
        assert f'check("{name}"' in page
    for words in ("3,586 answers", "8,965 invitations", "31.1 %", "12.2 %", "92 %", "8.9 %", "scale 4", "five times"):
        assert words in page
    points = [int(number) for number in re.findall(r"^\| (\d+) \|", page, flags=re.MULTILINE)]
    assert sum(points) == 20
    assert sum(map(len, parts.values())) == points[0] == 9
