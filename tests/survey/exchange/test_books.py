"""The numbers in a codebook equal those of the design; they are read back from every format."""

import json
import re
import subprocess
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from tests.needs import lacking_program, program
from tests.survey.documents import read
from tests.survey.exchange.test_importing import MIXED, reports, words
from tests.survey.samples import DESIGNS, survey_with
from toolkit import Question, Survey, k_ary, kuk, warner
from toolkit.local import likert, numeric, oracles
from toolkit.survey import estimate, write_codebook
from toolkit.survey.exchange.books import program_lines
from toolkit.survey.export import write
from toolkit.survey.questions.question import answer_codes
from toolkit.survey.results.table import cell_value
from toolkit.survey.stat_files import column_name_in_file, reports_are_sets

NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
WITHOUT = {"local_hash", "random_box", "tick_boxes", "hybrid", "square_wave"}


NUMBERED = {
    "decades": k_ary([1980, 1990, 2000], epsilon=1),
    "likert": likert(5, epsilon=1).distribution,
    "below zero": k_ary([-2, 0, "no"], epsilon=1),
}
"""Designs whose options are whole numbers, which their columns hold."""

N = f"({NUMBER})"
LINES = {  # the syntax of each program for a line of code, and for a table of scores
    "R": (
        rf"mean\({N} \+ {N} \* d\$(\w+), na.rm = TRUE\)",
        r"c\(([^c]*?)\)(?:, ncol = (\d+), byrow = TRUE\))?\[match\(as\.numeric\(d\$\w+\), c\((.*?)\)\)",
    ),
    "Stata": (
        rf'mean\({N} :\+ {N} :\* select\(st_data\(., "(\w+)"\)',
        r"mean\(\(J\(1, (\d+), .*\) :== \((.*?)\)\) \* \((.*?)\)\)$",
    ),
    "SPSS": (rf"COMPUTE e = {N} \+ {N} \* (\w+)\.\nFORMATS e .*\nDESCRIPTIVES e\.", r"RECODE \w+ (.*) INTO e(\d+)\."),
}


def computed(program: str, text: str, columns: dict[str, np.ndarray]) -> np.ndarray:
    """Return the values that a program would compute from its lines."""
    line, table = LINES[program]
    if lines := re.findall(line, text):
        assert [name for _, _, name in lines] == list(columns)
        return np.array([(float(zero) + float(step) * columns[name]).mean() for zero, step, name in lines])
    found = re.findall(table, text)
    if program == "SPSS":
        parts = [dict(re.findall(rf"\((-?\d+)={N}\)", part)) for part, _ in found]
        assert [int(place) for _, place in found] == [*range(1, len(found) + 1)]
        codes, rows = list(parts[0]), [[part[code] for part in parts] for code in parts[0]]
    elif program == "R":
        ((numbers, width, listed),) = found
        codes, rows = listed.split(", "), np.reshape(numbers.split(", "), (-1, int(width or 1)))
    else:
        ((width, listed, numbers),) = found
        codes, rows = listed.split(", "), [part.split(", ") for part in numbers.split(" \\ ")]
        assert len(codes) == int(width)
    scores = {int(code): np.array(row, dtype=float) for code, row in zip(codes, rows, strict=True)}
    ((name, column),) = columns.items()
    assert name in text
    return np.mean([scores[code] for code in column], axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS | NUMBERED)
def test_the_line_for_a_file_computes_the_estimate(name):
    asked = survey_with((DESIGNS | NUMBERED)[name], minimum=1)
    question = asked["asked"]
    frame = asked.simulate(80, np.random.default_rng(5))
    codes = [cell_value(question, cell) for cell in frame["asked"]]
    programs = program_lines(question)
    assert bool(programs) == (name not in WITHOUT)
    if reports_are_sets(question):
        columns = {f"asked__{i + 1}": np.array([i in code for code in codes]) for i in range(len(question.options))}
    else:
        numbers = answer_codes(question)
        columns = {"asked": np.array([numbers[code] if numbers else code for code in codes])} if programs else {}
    expected = np.atleast_1d(estimate(asked, frame)["asked"].value) if programs else None
    for called, text in programs.items():
        assert computed(called, text, columns) == pytest.approx(expected, rel=1e-9), called


def test_a_plain_question_needs_no_line():
    assert program_lines(MIXED["faculty"]) == {}


def test_names_are_those_that_the_programs_know():
    long = "a" * 40
    assert [column_name_in_file(name, ".dta") for name in ("by", "cheated", "str5")] == ["by_", "cheated", "str5_"]
    assert column_name_in_file(long, ".sav") == long
    short = {column_name_in_file(name, ".dta") for name in (long, f"{long}b", f"{long}c")}
    assert sorted(map(len, short)) == [31] * 3
    lines = program_lines(Question(long, "Cheated?", design=warner("3/4")))
    assert [long in lines[program] for program in ("R", "SPSS", "Stata")] == [True, True, False]
    assert column_name_in_file(long, ".dta") in lines["Stata"]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".md", ".html", ".docx"])
def test_the_matrix_and_the_lines_stand_in_every_document(tmp_path, suffix):
    rows, text = read(write_codebook(MIXED, tmp_path / f"r{suffix}", "de"))
    assert ["no", "0.75", "0.25"] in rows
    assert "mean(c(-0.5, 1.5)[match(as.numeric(d$cheated), c(0, 1))], na.rm = TRUE)" in text
    assert MIXED.hash in text
    assert "Prüfungen" in text or "Exams (de)" in text


def test_a_codebook_says_of_each_question_who_was_asked_and_how(tmp_path):
    asked = [
        Question("home", "Home?", options=["yes", "no", "both"]),
        Question("rent", "Rent?", bounds=(0, 9), show_if={"home": ["no", "both"]}),
        Question("moon", "On the moon?", design=warner("3/4"), anchor="no"),
        Question("wide", "Which?", design=k_ary([*range(12)], epsilon=1)),
        Question("wider", "Which?", design=k_ary([*range(13)], epsilon=1)),
        Question("long", "Which?", design=kuk("1/2", "2/5", draws=12)),
        Question("ticks", "Boxes?", design=oracles.tick_boxes(["a", "b", "c"], 1)),
        Question("year", "Year?", options=[1980, 1990, "no idea"]),
        Question("tried", "Tried?", options=[7, 8], multiple=True),
    ]
    path = write_codebook(Survey("S", asked, consent="C", ceiling=9, check=False), tmp_path / "r.md")
    told = {part.partition("\n")[0]: part for part in path.read_text().split("\n## ")[1:]}
    marks = {
        "| 0 | yes | Yes |": {"home"},
        "| code | report |": {"moon", "wide", "wider", "long", "ticks"},
        "Asked if home is no or both.": {"rent"},
        "Plain: the answer as it was given.": {"home", "rent", "year", "tried"},
        "| 1990 | 1990 | 1990 |": {"year"},
        "| 1 | no idea | no idea |": {"year"},
        "| tried__2 | 8 | 8 |": {"tried"},
        "An anchor: everybody's true answer is no.": {"moon"},
        "Randomized (auto), epsilon 1.": {"moon", "wide", "wider", "ticks"},
        "| truth ": {"moon", "wide"},
        "The probabilities of its reports are in the .json codebook.": {"wider", "long"},
        "Reading: ": {"ticks", "tried"},
        "It estimates: ": {"moon", "wide", "wider", "long"},
        "Its estimate needs more than a line of code": {"ticks"},
    }
    assert {mark: {name for name, part in told.items() if mark in part} for mark in marks} == marks


def test_the_archive_s_codebook_has_the_structure_of_ddi_2_5(tmp_path):
    """Elements appear in the order of the DDI-Codebook 2.5 schema (ddialliance.org): var is a sequence."""
    root = ET.parse(write_codebook(MIXED, tmp_path / "r.xml")).getroot()  # noqa: S314  our own
    ns = {"d": "ddi:codebook:2_5"}
    assert root.tag == "{ddi:codebook:2_5}codeBook"
    assert [part.tag.split("}")[1] for part in root] == ["stdyDscr", "fileDscr", "dataDscr"]
    assert root.find("d:stdyDscr/d:citation/d:titlStmt/d:IDNo", ns).text == MIXED.hash
    assert root.find("d:fileDscr/d:fileTxt/d:fileName", ns).text == "r.sav"
    names = [var.get("name") for var in root.iterfind("d:dataDscr/d:var", ns)]
    assert names == [
        *("faculty", "cheated", "by_", "age", "tried__1", "tried__2", "tried__3"),
        *(f"boxes__{i}" for i in range(1, 5)),
        "note",
    ]
    order = ["labl", "qstn", "txt", "catgry", "notes"]
    for var in root.iterfind("d:dataDscr/d:var", ns):
        places = [order.index(part.tag.split("}")[1]) for part in var]
        assert places == sorted(places)
        assert len({var.get("ID") for var in root.iter("{ddi:codebook:2_5}var")}) == len(names)
    cheated = root.find("d:dataDscr/d:var[@name='cheated']", ns)
    assert '"weights": [[3, 1], [1, 3]]' in cheated.find("d:notes[@type='randomization']", ns).text
    labels = {"en": ["No", "Yes"], "de": ["Nein", "Ja"]}
    for language, said in labels.items():
        own = f"[@{{http://www.w3.org/XML/1998/namespace}}lang='{language}']"
        assert [one.text for one in cheated.iterfind(f"d:catgry/d:labl{own}", ns)] == said
        assert [one.text for one in cheated.iterfind(f"d:labl{own}", ns)] == [MIXED["cheated"].text[language]]
        assert cheated.find(f"d:qstn/d:qstnLit{own}", ns).text == MIXED["cheated"].text[language]
    assert cheated.find("d:txt", ns).text.startswith("Randomized, epsilon 1.09861. If your answer is")
    assert root.find("d:dataDscr/d:var[@name='faculty']/d:txt", ns).text == "Plain."
    asked = survey_with(NUMBERED["below zero"])
    root = ET.parse(write_codebook(asked, tmp_path / "n.xml")).getroot()  # noqa: S314  our own
    assert [value.text for value in root.iterfind(".//d:catValu", ns)] == ["-2", "0", "1"]


def test_a_codebook_has_the_exact_text_of_a_question_with_inserted_answers(tmp_path):
    """The label of the column is for readers; the wording and the JSON codebook have the text of the survey's file."""
    why = Question("why", "Why {answer:home}, if {answer:home}?", options=["a", "b"])
    asked = Survey("S", [Question("home", "Home?", options=["yes", "no"]), why], consent="C")
    _, text = read(write_codebook(asked, tmp_path / "r.md"))
    exact = "Why {answer:home}, if {answer:home}?"
    assert f"{exact}\n" in text
    assert text.count("In place of {answer:…}, people read the labels of their answers to: home.") == 1
    assert json.loads(write_codebook(asked, tmp_path / "r.json").read_text())["columns"]["why"]["text"] == exact
    root = ET.parse(write_codebook(asked, tmp_path / "r.xml")).getroot()  # noqa: S314  our own
    ns = {"d": "ddi:codebook:2_5"}
    texts = [root.find(f"d:dataDscr/d:var[@name='why']/{path}", ns).text for path in ("d:labl", "d:qstn/d:qstnLit")]
    assert texts == ["Why [home], if [home]?", exact]


def test_another_form_of_codebook_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"a codebook must end in \.json, "):
        write_codebook(MIXED, tmp_path / "r.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_r_computes_the_same_from_the_files(tmp_path):
    """The files are read by haven and foreign, which are independent of this project; PSPP and Stata are not tested."""
    rscript = program("Rscript", "R", "r-base-core")
    questions = [
        *MIXED.questions,
        Question("hours", words("Hours?"), design=numeric.one_bit((0, 80), 0.5)),
        Question("sub", words("Which?"), design=oracles.subset(6, 0.5)),
        Question("again", words("Cheated?"), design=warner("2/3")),
        *(Question(f"n{i}", words(f"Number {i}?"), design=design) for i, design in enumerate(NUMBERED.values())),
    ]
    asked = Survey(MIXED.title, questions, languages=("en", "de"), consent=MIXED.consent, ceiling=9, minimum=1)
    frame = reports(asked)
    for suffix in (".sav", ".dta"):
        write(frame, tmp_path / f"r{suffix}", asked)
    opened = ['haven::read_sav("r.sav")', 'haven::read_dta("r.dta")']
    opened.append('foreign::read.spss("r.sav", to.data.frame = TRUE, use.value.labels = FALSE)')
    lines = {one.name: program_lines(one)["R"].splitlines() for one in asked.questions if one.randomized}
    script = ["options(digits = 17, warn = -1)"]
    for reader in opened:
        script += [f"d <- {reader}", *(f"cat({line}, fill = 1e6)" for some in lines.values() for line in some)]
    (tmp_path / "t.R").write_text("\n".join(script))
    run = subprocess.run([rscript, "t.R"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    if "no package called" in run.stderr:
        lacking_program("R's haven and foreign", "r-cran-haven r-cran-foreign")
    numbers = [float(one) for one in run.stdout.split()]
    results = estimate(asked, frame)
    expected = np.concatenate([np.atleast_1d(results[name].value) for name in lines])
    assert numbers == pytest.approx(np.tile(expected, len(opened)), rel=1e-9)
