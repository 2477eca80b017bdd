"""What SPSS and Stata get: codes below all others for what is missing, and labels that fit; read back by pyreadstat."""

import pandas as pd
import pytest

from tests.survey.samples import cheated, faculty, survey
from toolkit import Question
from toolkit.survey.exchange.stat_files import _codes, _cut, _File, file_name
from toolkit.survey.export import write

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


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_a_text_that_nobody_wrote_stays_a_text(tmp_path, suffix):
    path = write(FRAME.assign(note=None), tmp_path / f"r{suffix}", ASKED)
    frame, meta = getattr(pyreadstat, f"read_{suffix[1:]}")(str(path))
    assert (list(frame["note"]), "note" in meta.variable_value_labels) == ([""] * 4, False)


def test_the_tries_of_a_check_about_the_device_have_labels_and_those_of_others_none(tmp_path):
    for check, labels in ((True, ["no", "yes"]), ("device", ["no", "at the first try", "at the second try"])):
        frame = pd.DataFrame({"cheated": ["yes"] * 2, "understood": [0, 1], "REHEARSAL": True})
        path = write(frame, tmp_path / "r.sav", survey(cheated(), check=check).as_rehearsal())
        found = pyreadstat.read_sav(str(path))[1].variable_value_labels
        assert [found["understood"][code] for code in range(len(labels))] == labels
        assert found["REHEARSAL"] == {0: "no", 1: "yes", -9: "not asked", -8: "no answer"}


def test_codes_for_what_is_missing_lie_below_all_others():
    lowest = {5: -9, -7: -9, -7.5: -9, -8: -99, -97: -99, -98: -999}
    for least, code in lowest.items():
        for cells, values in (([least, "no answer"], None), ([], {least: "x"})):
            assert list(_codes(cells, values).values()) == [code, code + 1]


def test_what_is_too_long_is_cut_within_the_limit_of_the_program():
    cases = {  # in bytes, of which the mark takes three; and in characters
        "x" * 10: ("x" * 10, "x" * 10),
        "x" * 11: ("x" * 7 + "…", "x" * 9 + "…"),
        "ü" * 5: ("ü" * 5, "ü" * 5),
        "ü" * 6: ("üüü…", "ü" * 6),
        " a\n\tb ": ("a b", "a b"),
    }
    assert {text: tuple(_cut(text, 10, in_bytes=so) for so in (True, False)) for text in cases} == cases
    same = ["B" * 120, "B" * 121, "B" * 122]
    cut = {0: "B" * 120, 1: "B" * 117 + "…", 2: "B" * 117 + "…"}
    assert _File(".sav")._named({0: same[0], 1: same[1]}) == {0: cut[0], 1: cut[1]}
    numbered = _File(".sav")._named(dict(enumerate(same)))  # two would read the same
    assert [text[:4] for text in numbered.values()] == ["1. B", "2. B", "3. B"]
    for suffix, *sizes in ((".sav", 256 - 2, 120 - 2), (".dta", 80, 2000 - 2)):  # a label of Stata counts characters
        file = _File(suffix)
        file.add("a", "x" * 3000, [0], {0: "y" * 3000})
        assert [len(file.labels["a"]), len(file.values["a"][0])] == sizes


def test_the_name_of_a_column_is_cut_where_the_program_says_so():
    assert [file_name("a" * size, ".dta") == "a" * size for size in (31, 32)] == [True, False]
    assert [file_name("a" * size, ".sav") == "a" * size for size in (64, 65)] == [True, False]
    assert [len(file_name("a" * 70, suffix)) for suffix in (".dta", ".sav")] == [31, 64]
