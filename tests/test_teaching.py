"""Material for teachers: a bank of questions whose numbers are right, slides that need no network, cards with the odds
that the estimates use, and measured times.
"""

import html
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

from tests.slowly import each
from toolkit import Exponential, Laplace, Pure, compose, forced, k_ary, mangat, plan, warner
from toolkit.central import sensitivity, stream
from toolkit.local import anchor, compliance
from toolkit.planning import disclosure
from toolkit.teaching import check

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
BANK = tomllib.loads((FOLDER / "teaching" / "questions.toml").read_text(encoding="utf-8"))
KNOWN = {"math": math, "scipy": scipy, "sensitivity": sensitivity}
KNOWN |= {"warner": warner, "mangat": mangat, "forced": forced, "k_ary": k_ary, "plan": plan}


def made(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / ".make" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@each(name=BANK)
def test_a_question_has_one_right_answer_and_a_reason_for_each_wrong_one(name):
    entry = BANK[name]
    assert {"after", "asked", "right", "because", "wrong"} <= set(entry) <= {*entry, "claim"}
    assert list(FOLDER.glob(f"{entry['after']}_*.ipynb"))
    answers = [entry["right"], *(answer for answer, _ in entry["wrong"])]
    assert len(set(answers)) == len(answers) >= 3
    assert all(len(reason) > 10 for _, reason in entry["wrong"])


@each(name=[name for name, entry in BANK.items() if "claim" in entry])
def test_the_numbers_of_a_question_are_right(name):
    assert eval(BANK[name]["claim"], dict(KNOWN))  # noqa: S307 — of a file of this repository


def test_there_are_ten_questions_on_designing_on_budgets_and_on_sizes():
    for numbers in (("04", "16"), ("05",), ("06",)):
        assert sum(entry["after"] in numbers for entry in BANK.values()) >= 10


EXAMS = tomllib.loads((FOLDER / "teaching" / "exams.toml").read_text(encoding="utf-8"))
EXAM_QUESTIONS = [question for exam in EXAMS.values() for question in exam["questions"]]
EXAM_NAMES = KNOWN | {"np": np, "Laplace": Laplace, "Exponential": Exponential, "Pure": Pure, "compose": compose}
EXAM_NAMES |= {"stream": stream, "compliance": compliance, "disclosure": disclosure}
NUMBER = r"\d[\d,.]*\d|\d"


@each(exam=EXAMS.values())
def test_an_exam_has_sixty_points_at_three_levels(exam):
    points = dict.fromkeys(("recall", "apply", "judge"), 0)
    for question in exam["questions"]:
        points[question["level"]] += sum(given for given, _ in question["steps"])
    assert points == {"recall": 18, "apply": 27, "judge": 15}


@each(question=EXAM_QUESTIONS)
def test_every_number_in_a_solution_is_asked_or_computed(question):
    """A number is in the question, or the toolkit computes it; 0, 1 and 2 may also be written without either."""
    text = " ".join(step for _, step in question["steps"])
    numbers = question.get("numbers", {})
    for written, expression in numbers.items():
        assert written in text
        value = float(eval(expression, dict(EXAM_NAMES)))  # noqa: S307 — of a file of this repository
        digits = written.removesuffix(" %").partition(".")[2]
        assert f"{100 * value if written.endswith('%') else value:,.{len(digits)}f}" == written.removesuffix(" %")
    known = set(re.findall(NUMBER, " ".join([question["asked"], *numbers]))) | {"0", "1", "2"}
    assert set(re.findall(NUMBER, text)) <= known


@each(exam=EXAMS.values())
def test_only_the_solutions_of_an_exam_have_its_steps(exam):
    module = made("exams")
    paper, solved = module.render_exam(exam), module.render_exam(exam, solutions=True)
    for question in exam["questions"]:
        assert html.escape(question["asked"]) in paper
        assert html.escape(question["asked"]) in solved
        for _, step in question["steps"]:
            assert html.escape(step) not in paper
            assert html.escape(step) in solved
    assert "<th>60</th>" in paper
    assert re.findall(r"""(?:src|href)=|@import|url\(""", paper + solved) == []


SYLLABUS = (FOLDER / "teaching" / "SYLLABUS.md").read_text(encoding="utf-8")
WEEKS = re.split(r"^## ", SYLLABUS, flags=re.MULTILINE)[1:-1]
MINUTES = {
    number: (int(minutes), int(exercises))
    for number, minutes, exercises in re.findall(
        r"^\| (\d\d) [^|]+\|[^|]+\| (\d+) \| (\d+) \|",
        (FOLDER / "teaching" / "README.md").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
}


def notebooks_of(week):
    return re.findall(r"\]\(\.\./(\d\d)_\w+\.ipynb\)", week)


def homework_of(week):
    (homework,) = re.findall(r"\*\*Homework\*\*.*?(?=\n\n)", week, flags=re.DOTALL)
    return re.findall(r"\b\d\d\.\d\b", homework), re.findall(r"`([^`]+)`", homework)


def test_the_twelve_weeks_read_all_notebooks_and_use_all_homework_once():
    """Each notebook, each exercise and each question of the bank belongs to exactly one week."""
    assert [week.partition(":")[0] for week in WEEKS] == [f"Week {number}" for number in range(1, 13)]
    assert sorted(number for week in WEEKS for number in notebooks_of(week)) == sorted(MINUTES)
    exercises = [name for week in WEEKS for name in homework_of(week)[0]]
    key = tomllib.loads((FOLDER / "teaching" / "answers.toml").read_text(encoding="utf-8"))
    assert sorted(exercises) == sorted(name for name in key if not name.startswith("P."))
    assert sorted(name for week in WEEKS for name in homework_of(week)[1]) == sorted(BANK)


@pytest.mark.slow
@each(week=WEEKS)
def test_a_week_asks_about_its_own_notebooks_in_the_stated_minutes(week):
    """Sections that can be skipped exist, and every week has a goal, further reading and two prompts."""
    numbers, (exercises, questions) = notebooks_of(week), homework_of(week)
    assert {name[:2] for name in exercises} == set(numbers)
    assert {BANK[name]["after"] for name in questions} <= set(numbers)
    reading, solving = (sum(MINUTES[number][place] for number in numbers) for place in (0, 1))
    assert re.findall(r"\*\*(?:Read|Homework)\*\* \((\d+) minutes\)", week) == [str(reading), str(solving)]
    assert week.count("**Goal.**") == week.count("**Further reading.**") == week.count("**Discuss.**") == 1
    assert len(re.findall(r"^\* .+\?", week, flags=re.MULTILINE)) == 2
    skipped = re.findall(r"in (\d\d), ((?:\"[^\"]+\"(?:, )?)+)", week)
    assert bool(skipped) is ("Nothing can be skipped" not in week)
    for number, names in skipped:
        assert number in numbers
        (path,) = FOLDER.glob(f"{number}_*.ipynb")
        prose = "\n".join(c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "markdown")
        headings = re.findall(r"^#+ (.+)$", prose, flags=re.MULTILINE)
        assert [name for name in re.findall(r"\"([^\"]+)\"", names) if name not in headings] == []


@pytest.mark.slow
def test_further_reading_of_a_week_is_cited_elsewhere_in_the_course():
    """A title stands in the sources of a notebook or on the teachers' page, so that there is one list to correct."""
    pages = [path.read_text(encoding="utf-8") for path in FOLDER.glob("*.ipynb")]
    pages.append((FOLDER / "teaching" / "README.md").read_text(encoding="utf-8"))
    known = " ".join(re.sub(r'\\n",?\s+"', " ", " ".join(pages)).lower().split())
    for week in WEEKS:
        (reading,) = re.findall(r"\*\*Further reading\.\*\*.*?(?=\n\n)", week, flags=re.DOTALL)
        titles = [" ".join(title.lower().split()) for title in re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", reading)]
        assert titles
        assert [title for title in titles if title not in known] == []


DECKS = tomllib.loads((FOLDER / "teaching" / "slides.toml").read_text(encoding="utf-8"))
SLIDES = [(number, slide) for number, slides in DECKS.items() for slide in slides]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "slide"), SLIDES, ids=[f"{number} {slide['title']}" for number, slide in SLIDES])
def test_a_slide_is_short_and_its_numbers_are_in_the_notebook(number, slide):
    """A slide is short, has notes, and every number on it occurs in its notebook."""
    assert set(slide) == {"title", "lines", "picture", "notes"}
    assert 1 <= len(slide["lines"]) <= 3
    plain = [re.sub(r"\$[^$]*\$", "x", line) for line in slide["lines"]]
    assert max(map(len, [slide["title"], *plain])) <= 64
    assert len(slide["notes"].split()) >= 20
    (path,) = FOLDER.glob(f"{number}_*.ipynb")
    cells = nbformat.read(path, as_version=4).cells
    shown = [str(out.get("data", {}).get("text/plain", "")) for cell in cells for out in cell.get("outputs", [])]
    pages = [str(out.get("data", {}).get("text/html", "")) for cell in cells for out in cell.get("outputs", [])]
    shown += [words for page in pages for words in re.findall(r'<img alt="([^"]+)"', page)]
    known = set(re.findall(r"\d[\d,.]*\d|\d", "\n".join([cell.source for cell in cells] + shown).replace("{,}", ",")))
    known = {one.replace(",", "") for one in known}
    known |= {f"{float(one):g}" for one in known if one.replace(".", "", 1).isdigit()}
    assert {one.replace(",", "") for one in re.findall(r"\d[\d,.]*\d|\d", " ".join(plain))} <= known


def test_every_notebook_has_two_to_nine_slides():
    assert sorted(DECKS) == sorted(path.name[:2] for path in FOLDER.glob("*.ipynb"))
    assert all(2 <= len(slides) <= 9 for slides in DECKS.values())


@pytest.mark.slow
@pytest.mark.parametrize("number", DECKS)
def test_slides_need_no_network_and_are_legible_in_both_themes(number):
    """Slides need no network, have a picture or a table each, and are legible in light and dark mode."""
    module = made("slides")
    (path,) = FOLDER.glob(f"{number}_*.ipynb")
    page = module.render_deck(path)
    assert re.findall(r"""(?:src|href)=["']https?://|@import|url\(""", page) == []
    sections = re.findall(r"<section.*?</section>", page, flags=re.DOTALL)
    assert len(sections) == len(DECKS[number])
    for section in sections:
        assert section.count("<figure>") == section.count("<h1>") == section.count("<aside>") == 1
        assert re.search(
            r"<figure><(table( class='wide')?>|img alt=\"[^\"]{20,}|"
            r"svg class='moving' role='img' aria-label='[^']{20,})",
            re.sub(r">\s+<", "><", section),
        )
    for colours in (module.LIGHT, module.DARK):
        assert all(contrast(colours[name], colours["ground"]) >= 4.5 for name in ("ink", "faint", "yes", "no"))


@pytest.mark.slow
def test_the_pictures_that_move_show_what_the_theory_says():
    """The mean of 1,000 estimates is within 4 standard errors (for one in 16,000 seeds it is not); the totals equal
    those of added coins and of the exact rule, binomial tails of 52 coins, as in notebook 02.
    """
    module = made("moving")
    mean = float(re.search(r"mean of 1,000 surveys: ([\d.]+) %<", module.draw_sampling())[1])
    assert abs(mean - 25) < 4 * 100 * math.sqrt(warner(p="2/3").variance(0.25, n=1200) / 1000)
    assert module.draw_sampling().count("<circle") == 1000
    within = float(re.search(r"([\d.]+) % of 4,000 surveys are within 3 points", module.draw_planned_surveys())[1])
    assert abs(within - 95) < 4 * 100 * math.sqrt(0.95 * 0.05 / 4000)
    totals = re.findall(r"(added up|best rule): ε = ([\d.]+)<", module.draw_composition())
    assert totals == [("added up", "5.20"), ("best rule", "3.25")]
    assert module.draw_composition().count("<circle") == 2 * 52
    assert "prefers-reduced-motion" in module.STYLE


def contrast(one, other):
    """Return the contrast ratio of two colors (W3C, WCAG 2.2)."""

    def light(colour):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, bright = sorted((light(one), light(other)))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("number", ["03", "15"])
def test_handouts_have_all_prose_no_solution_and_ask_nothing_of_a_network(number):
    (path,) = FOLDER.glob(f"{number}_*.ipynb")
    page = made("handout").render_handout(path)
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
    drawn = made("handout").render_formula(text)
    assert drawn.startswith(f'<img alt="{text}"')
    assert made("handout").render_formula(r"\nosuchthing x") == r"<code>\nosuchthing x</code>"


@pytest.mark.slow
def test_a_formula_may_end_on_the_next_line_and_none_spans_a_paragraph():
    page = made("handout").render_markdown("odds of $e^{-\\varepsilon\\,\nx}$ at most 3 $\n\nor 4 $")
    assert page.count("<img alt=") == 1
    assert page.count("$") == 2


def test_cards_have_the_odds_of_the_designs_that_the_tally_names():
    page = made("cards").render_cards("Have you ever copied?")
    for words in ('1 or 2: tick "no"', '4–6: tick "yes"', "tails-heads or tails-tails: answer truthfully"):
        assert page.count(words.replace('"', "&quot;")) == 6
    assert [page.count(f'warner(p="{p}")') for p in ("2/3", "3/4")] == [1, 3]
    assert page.count("Have you ever copied?") == 18


def in_order():
    """Return all notebooks in the order of their numbers, except for 16, which follows 04 as its second part."""
    numbers = sorted(path.name[:2] for path in FOLDER.glob("*.ipynb"))
    numbers.remove("16")
    return [one for number in numbers for one in ([number, "16"] if number == "04" else [number])]


@pytest.mark.slow
def test_the_minutes_of_the_table_are_those_of_reading_and_looking():
    """Prose takes a minute for 130 words, a visible line of code six seconds, and a cell with output half a minute, to
    within four minutes. An exercise, or a function that the student writes, takes six minutes.
    """
    row = r"\| \[?(\d\d) [^|]+\|[^|]+\| (\d+) \| (\d+) \|"
    rows = re.findall(rf"^{row}", (FOLDER / "teaching" / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [number for number, _, _ in rows] == in_order()
    start = (FOLDER / "00_start_here.ipynb").read_text(encoding="utf-8")
    assert re.findall(row, start) == rows
    for number, minutes, exercises in rows:
        (path,) = FOLDER.glob(f"{number}_*.ipynb")
        cells = nbformat.read(path, as_version=4).cells
        told = [c.source for c in cells if c.cell_type == "markdown" and "<details>" not in c.source]
        code = [c for c in cells if c.cell_type == "code"]
        seen = [c for c in code if not {"solution", "check", "answer", "yours"} & set(c.metadata.get("tags", []))]
        lines = sum(bool(line.strip()) for c in seen for line in c.source.splitlines())
        counted = sum(len(text.split()) for text in told) / 130 + lines / 10 + 0.5 * sum(bool(c.outputs) for c in seen)
        assert abs(int(minutes) - counted) <= 4, (number, counted)
        assert int(exercises) == 6 * sum(bool({"answer", "yours"} & set(c.metadata.get("tags", []))) for c in code)


def test_every_notebook_has_something_to_read_on_with():
    page = (FOLDER / "teaching" / "README.md").read_text(encoding="utf-8").partition("## Further reading")[2]
    rows = re.findall(r"^- (\d\d): (.+)$", page.partition("\n## ")[0], flags=re.MULTILINE)
    assert [number for number, _ in rows] == in_order()
    assert all(re.search(r"\*.+\*.*\(\d{4}\)", words) for _, words in rows)


def test_project_key_and_sample_report_have_the_same_numbers():
    """The numbers of the project agree with its key and its sample report."""
    page = (FOLDER / "teaching" / "PROJECT.md").read_text(encoding="utf-8")
    coins, epsilon = forced("1/4", "1/4"), math.log((0.15 / 0.85) / (0.05 / 0.95))
    assert coins.epsilon < epsilon
    answers = plan(coins, prevalence=0.1, margin=0.028).n
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
    for words in (
        "ln(57/17) = 1.21",
        "4,116 answers",
        "10,290 invitations",
        "31.1 %",
        "12.2 %",
        "92 %",
        "8.9 %",
        "scale 4",
        "five times",
    ):
        assert words in page
    points = [int(number) for number in re.findall(r"^\| (\d+) \|", page, flags=re.MULTILINE)]
    assert sum(points) == 20
    assert sum(map(len, parts.values())) == points[0] == 9
