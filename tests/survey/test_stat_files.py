"""Files for SPSS and Stata: codes below all others for missing values, and labels of valid length; read back by
pyreadstat.
"""

import json
import re
import subprocess
from dataclasses import replace

import pandas as pd
import pytest

from tests.needs import lacking_program, program
from tests.survey.samples import cheated, faculty, survey
from toolkit import Design, Question, Survey, k_ary, warner
from toolkit.core.tables import unescape_formulas
from toolkit.survey import read_reports
from toolkit.survey.export import SUFFIXES, write
from toolkit.survey.stat_files import (
    _cut_text,
    _missing_codes,
    _StatFile,
    column_name_in_file,
    reports_are_sets,
    whole_number,
)

pyreadstat = pytest.importorskip("pyreadstat")
ASKED = survey(
    faculty(required=False),
    Question("rent", "Rent?", bounds=(-20, 9), show_if={"faculty": ["law"]}, required=False),
    cheated(),
    Question("tried", "Tried?", options=["beer", "wine"], multiple=True, required=False),
    Question("note", "Note?", free_text=True, required=False, warning="Name nobody."),
)
FRAME = pd.DataFrame(
    {
        "faculty": ["arts", "law", None, "law"],
        "rent": [None, -8, None, None],
        "cheated": ["yes", "no", "no", "yes"],
        "tried": ["[0]", "[]", None, "[0,1]"],
        "note": ["a", None, "b", "c"],
        "understood": [True, False, None, True],
    }
)


@pytest.mark.parametrize(("suffix", "low", "lower"), [(".sav", (-9, -8), (-99, -98)), (".dta", "ab", "ab")])
def test_codes_stand_for_answers_and_for_why_there_is_none(tmp_path, suffix, low, lower):
    path = write(FRAME, tmp_path / f"r{suffix}", ASKED)
    frame, meta = getattr(pyreadstat, f"read_{suffix[1:]}")(str(path), user_missing=True)
    assert {name: list(frame[name]) for name in frame} == {
        "faculty": [0, 1, low[1], 1],
        "rent": [lower[0], -8, lower[0], lower[1]],  # -8 is an answer here
        "cheated": [1, 0, 0, 1],
        "tried__1": [1, 0, low[1], 1],
        "tried__2": [0, 0, low[1], 1],
        "note": ["a", "", "b", "c"],
        "understood": [1, 0, low[1], 1],
    }
    why = {low[0]: "not asked", low[1]: "no answer"}
    assert meta.variable_value_labels == {
        "faculty": {0: "arts", 1: "law", **why},
        "rent": {lower[0]: "not asked", lower[1]: "no answer"},
        "cheated": {0: "No", 1: "Yes", **why},
        **{name: {0: "not ticked", 1: "ticked", **why} for name in ("tried__1", "tried__2")},
        "understood": {0: "no", 1: "yes", **why},
    }
    assert meta.column_names_to_labels["cheated"].startswith("RANDOMIZED, epsilon 0.6931: Have you ever")
    assert [meta.column_names_to_labels[name] for name in ("rent", "tried__2")] == ["Rent?", "wine — Tried?"]
    assert meta.file_label == f"Exams; reports, not answers; hash {ASKED.hash[:12]}"
    if suffix == ".sav":
        assert meta.notes[:2] == ["Reports, not answers: columns marked", "RANDOMIZED were changed by chance."]
        assert max(map(len, meta.notes)) <= 40
        said = " ".join(meta.notes)
        assert f"Survey hash {ASKED.hash}" in said.replace(f"{ASKED.hash[:28]} ", ASKED.hash[:28])
        assert f"Epsilon of all questions 0.693147 cheated: {ASKED['cheated'].design.describe()}" in said
    plain, _ = getattr(pyreadstat, f"read_{suffix[1:]}")(str(path))
    assert plain["rent"].isna().tolist() == [True, False, True, True]


def test_a_column_s_label_names_the_question_whose_answer_was_inserted(tmp_path):
    asked = survey(faculty(), Question("why", "Why {answer:faculty}?", options=["a", "b"]), check=False)
    path = write(pd.DataFrame({"faculty": ["arts"], "why": ["a"]}), tmp_path / "r.sav", asked)
    assert pyreadstat.read_sav(str(path))[1].column_names_to_labels["why"] == "Why [faculty]?"


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_a_text_that_nobody_wrote_stays_a_text(tmp_path, suffix):
    path = write(FRAME.assign(note=None), tmp_path / f"r{suffix}", ASKED)
    frame, meta = getattr(pyreadstat, f"read_{suffix[1:]}")(str(path))
    assert (list(frame["note"]), "note" in meta.variable_value_labels) == ([""] * 4, False)


def test_only_the_tries_of_a_check_about_the_device_have_labels(tmp_path):
    for check, labels in ((True, ["no", "yes"]), ("device", ["no", "at the first try", "at the second try"])):
        frame = pd.DataFrame({"cheated": ["yes"] * 2, "understood": [0, 1], "REHEARSAL": True})
        path = write(frame, tmp_path / "r.sav", replace(survey(cheated(), check=check), rehearsal=True))
        found = pyreadstat.read_sav(str(path))[1].variable_value_labels
        assert [found["understood"][code] for code in range(len(labels))] == labels
        assert found["REHEARSAL"] == {0: "no", 1: "yes", -9: "not asked", -8: "no answer"}


def test_codes_for_what_is_missing_lie_below_all_others():
    lowest = {5: -9, -7: -9, -7.5: -9, -8: -99, -97: -99, -98: -999}
    for least, code in lowest.items():
        for cells, values in (([least, "no answer"], None), ([], {least: "x"})):
            assert list(_missing_codes(cells, values).values()) == [code, code + 1]


def test_what_is_too_long_is_cut_within_the_limit_of_the_program():
    cases = {  # in bytes, of which the mark takes three; and in characters
        "x" * 10: ("x" * 10, "x" * 10),
        "x" * 11: ("x" * 7 + "…", "x" * 9 + "…"),
        "ü" * 5: ("ü" * 5, "ü" * 5),
        "ü" * 6: ("üüü…", "ü" * 6),
        " a\n\tb ": ("a b", "a b"),
    }
    assert {text: tuple(_cut_text(text, 10, in_bytes=so) for so in (True, False)) for text in cases} == cases
    same = ["B" * 120, "B" * 121, "B" * 122]
    cut = {0: "B" * 120, 1: "B" * 117 + "…", 2: "B" * 117 + "…"}
    assert _StatFile(".sav")._value_labels({0: same[0], 1: same[1]}) == {0: cut[0], 1: cut[1]}
    numbered = _StatFile(".sav")._value_labels(dict(zip((0, 5, -2), same, strict=True)))  # two labels would be equal
    assert [text[:4] for text in numbered.values()] == ["1. B", "2. B", "3. B"]
    # Stata limits the characters of a label
    for suffix, *sizes in ((".sav", 256 - 2, 120 - 2), (".dta", 80, 2000 - 2)):
        file = _StatFile(suffix)
        file.add("a", "x" * 3000, [0], {0: "y" * 3000})
        assert [len(file.labels["a"]), len(file.value_labels["a"][0])] == sizes


def test_the_name_of_a_column_is_cut_where_the_program_says_so():
    assert [column_name_in_file("a" * size, ".dta") == "a" * size for size in (31, 32)] == [True, False]
    assert [column_name_in_file("a" * size, ".sav") == "a" * size for size in (64, 65)] == [True, False]
    assert [len(column_name_in_file("a" * 70, suffix)) for suffix in (".dta", ".sav")] == [31, 64]


LABEL_SETS: dict[str, list[str | int]] = {
    "words": ["arts", "law"],
    "yes and no": ["no", "yes"],
    "from one": [1, 2, 3],
    "from zero": [0, 1],
    "a scale": [1, 2, 3, 4, 5],
    "decades": [1980, 1990, 2000],
    "downwards": [5, 3, 1],
    "below zero": [-2, -1, 0, 1, 2],
    "codes for missing values": [-9, -8, 1],
    "nine digits": [-999_999_999, 999_999_999],
    "too long for Stata": [1, 2_147_483_648, 10**17],
    "numbers as texts": ["3", "2", "1"],
    "zeros before them": ["01", "02", "10"],
    "zeros before one of two": ["01", "1", "001"],
    "numbers and words": [1, 2, "I do not know", 3],
    "words first": ["under 18", 18, 19, "older"],
    "other digits": ["\u0661", "\u0662"],
    "almost numbers": ["1.0", "1e3", "+1", "- 1", "-0"],
    "what is missing": ["no answer", "not asked", "yes"],
    "long": ["a" * 100, "b" * 100],
}
"""Options as people write them; each is asked plainly and with chance."""


def coded_survey() -> tuple[Survey, pd.DataFrame]:
    """Each label set without a design, with a design and with labels, and a table in which every answer occurs."""
    questions, columns = [], {}
    for number, options in enumerate(LABEL_SETS.values()):
        named = {option: f"{place}. {'x' * 150}" for place, option in enumerate(options)}
        asked = {
            f"plain{number}": {"options": options, "required": False},
            f"hidden{number}": {"design": k_ary(options, epsilon=0.1)},
            f"labelled{number}": {"options": options, "labels": named},
        }
        questions += [Question(name, f"{name}?", **fields) for name, fields in asked.items()]
        texts = [str(one) for one in options] if len({type(one) for one in options}) > 1 else options
        cells = [texts[row % len(texts)] for row in range(6)]
        columns |= {name: [*cells[:5], None if name.startswith("plain") else cells[5]] for name in asked}
    return survey(*questions, check=False, ceiling=9), pd.DataFrame(columns, dtype=object)


def check_numbers(cells, frame, book) -> None:
    """A numeric file stores cells that are numbers as they are, and all others as their code in the codebook."""
    for name in cells:
        codes = book["columns"][name]["codes"]
        for cell, value in zip(cells[name], frame[name], strict=True):
            assert pd.isna(value) if cell == "" else codes[cell] == value, name
            if re.fullmatch("0|-?[1-9][0-9]{0,8}", cell):
                assert int(cell) == value, name


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_file_has_the_values_of_the_csv_file(tmp_path, suffix):
    """The files are read back by pyreadstat and by R's haven, which know nothing about the survey."""
    asked, frame = coded_survey()
    csv = pd.read_csv(write(frame, tmp_path / "r.csv", asked), dtype=str, keep_default_na=False)
    csv = csv.map(unescape_formulas)  # drops the apostrophe that protects cells from being read as formulas
    for name in csv:  # pandas writes 1.0 if another row is missing
        numbers = all(isinstance(option, int) for option in asked[name].options)
        csv[name] = [str(int(float(cell))) if numbers and cell else cell for cell in csv[name]]
    book = json.loads((tmp_path / "r.codebook.json").read_text())
    path = write(frame, tmp_path / f"again{suffix}", asked)
    back = read_reports(path).map(lambda cell: "" if pd.isna(cell) else str(whole_number(cell)))
    assert {name: list(back[name]) for name in back} == {name: list(csv[name]) for name in csv}
    if suffix in (".sav", ".dta"):
        numbers, meta = getattr(pyreadstat, f"read_{suffix[1:]}")(str(path))
        check_numbers(csv, numbers, book)
        check_numbers(csv, read_by_haven(path, frame), book)
        for name, column in book["columns"].items():
            assert meta.variable_value_labels[name].keys() >= set(column["codes"].values())


def read_by_haven(path, frame) -> pd.DataFrame:
    rscript = program("Rscript", "R", "r-base-core")
    lines = [
        f'd <- haven::read_{path.suffix[1:]}("{path.name}")',
        "d <- as.data.frame(lapply(d, function(x) format(as.numeric(x), digits = 17, scientific = FALSE)))",
        'write.csv(d, "haven.csv", row.names = FALSE, quote = FALSE)',
    ]
    (path.parent / "t.R").write_text("\n".join(lines))
    run = subprocess.run([rscript, "t.R"], cwd=path.parent, capture_output=True, text=True, check=False, timeout=120)
    if "no package called" in run.stderr:
        lacking_program("R's haven and foreign", "r-cran-haven r-cran-foreign")
    assert run.returncode == 0, run.stderr
    return pd.read_csv(path.parent / "haven.csv", skipinitialspace=True)[list(frame)]


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_files_whose_codes_count_from_zero_are_read_by_their_labels(tmp_path, suffix):
    """As earlier versions wrote them, for all kinds of options."""
    asked = survey(Question("year", "Year?", options=[1, 2, 3]), cheated(), check=False)
    frame = pd.DataFrame({"year": [0.0, 1.0, 2.0], "cheated": [0.0, 1.0, 1.0]})
    labels = {"year": {0: "1", 1: "2", 2: "3"}, "cheated": {0: "No", 1: "Yes"}}
    path = tmp_path / f"r{suffix}"
    getattr(pyreadstat, f"write_{suffix[1:]}")(frame, str(path), variable_value_labels=labels)
    back = read_reports(path, asked)
    assert (list(back["year"]), list(back["cheated"])) == ([1, 2, 3], ["no", "yes", "yes"])


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_a_cell_that_is_no_answer_is_not_written_as_the_code_of_one(tmp_path, suffix):
    with pytest.raises(ValueError, match="the column must hold reports of this question") as caught:
        write(FRAME.assign(faculty="music"), tmp_path / f"r{suffix}", ASKED)
    assert "music" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_design_that_is_called_like_one_whose_reports_are_sets_has_codes() -> None:
    design = Design(warner("3/4").weights, 4, ("no", "yes"), name="unary")
    assert not reports_are_sets(cheated(design=design))
