"""Round trips to the last digit, and files of independent programs."""

import json
import warnings
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from tests.survey.samples import DESIGNS, MEMO, cheated, faculty, panel, survey, survey_with
from toolkit import Question, Survey, crosswise, k_ary, warner
from toolkit.local import oracles
from toolkit.survey import estimate, read_reports
from toolkit.survey.exchange import raw_files
from toolkit.survey.exchange.cells import CellReader
from toolkit.survey.export import SUFFIXES, write


def words(text: str) -> dict[str, str]:
    return {"en": text, "de": f"{text} (de)"}


MIXED = Survey(
    words("Exams"),
    [
        Question(
            "faculty",
            words("Where?"),
            options=["arts", "law"],
            labels={"arts": words("Arts; and more"), "law": words("Law")},
        ),
        Question("cheated", words("Cheated?" * 40), design=warner("3/4")),
        Question(
            "by",
            words("How?"),
            design=k_ary(["-1", "b", "c c"], epsilon=0.5),
            labels={"b": words("B" * 200), "c c": words("B" * 200 + "2")},
        ),
        Question("age", words("Age?"), bounds=(-20, 99), required=False),
        Question("tried", words("Tried?"), options=[1, 2, 3], multiple=True, show_if={"faculty": ["law"]}),
        Question("boxes", words("Boxes?"), design=oracles.unary(4, 0.5)),
        Question("note", words("Note?"), free_text=True, required=False, warning=words("w")),
    ],
    languages=("en", "de"),
    consent=words("We study exams."),
    minimum=1,
)
NOTES = ["=1+1;=2", "not asked", "no answer", "ü" * 2000, 'a\nb,"c"', "'=x", "-3", None]


def reports(asked: Survey = MIXED, n: int = 300) -> pd.DataFrame:
    frame = asked.simulate(n, np.random.default_rng(7))
    if asked is MIXED:
        frame["note"] = pd.Series([NOTES[i % len(NOTES)] for i in range(n)], dtype=object)
        frame.loc[::7, "age"] = None
    return frame


def same(asked: Survey, frame: pd.DataFrame, back: pd.DataFrame, by=None) -> None:
    one, other = (estimate(asked, some, by).to_frame() for some in (frame, back))
    pd.testing.assert_frame_equal(one, other, check_exact=True)


@pytest.fixture(scope="module")
def mixed() -> pd.DataFrame:
    return reports()


@pytest.fixture(scope="module")
def estimated(mixed) -> dict[str | None, pd.DataFrame]:
    return {by: estimate(MIXED, mixed, by).to_frame() for by in (None, "faculty")}


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_estimate_comes_back_to_the_last_digit(tmp_path, mixed, estimated, suffix, language):
    path = write(mixed, tmp_path / f"reports{suffix}", MIXED, language=language)
    back = read_reports(path)
    for by, frame in estimated.items():
        pd.testing.assert_frame_equal(estimate(MIXED, back, by).to_frame(), frame, check_exact=True)
    assert list(back) == list(mixed)
    assert [None if pd.isna(note) else note for note in back["note"]] == list(mixed["note"])
    assert list(back["tried"].isna()) == list(mixed["tried"].isna())
    (tmp_path / "reports.codebook.json").unlink()
    if suffix != ".csv":  # only the codebook identifies their texts as ours
        again = estimate(MIXED, read_reports(path, MIXED)).to_frame()
        pd.testing.assert_frame_equal(again, estimated[None], check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_the_reports_of_every_randomizer_come_back(tmp_path, name):
    asked = survey_with(DESIGNS[name], minimum=1)
    frame = reports(asked, 60)
    for suffix in SUFFIXES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # sixty reports may contradict a design
            back = read_reports(write(frame, tmp_path / f"r{suffix}", asked), asked)
        assert list(back["asked"]) == list(frame["asked"]), suffix


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_wave_keeps_the_number_that_joins_it(tmp_path, suffix):
    asked = panel(cheated(design=MEMO), faculty(), wave=2, panel={"identity": "ab" * 16, "loss": 3})
    frame = reports(asked, 50)
    back = read_reports(write(frame, tmp_path / f"r{suffix}", asked))
    assert list(back["person"]) == list(frame["person"])
    same(asked, frame, back)


def test_a_number_of_a_person_is_kept_only_where_it_joins_waves(tmp_path):
    read = read_reports(table_file(tmp_path, "person,faculty,cheated\n7,arts,yes\n"), ASKED)
    assert list(read) == ["faculty", "cheated"]


def table_file(tmp_path, text, name="file.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


ASKED = survey(faculty(), cheated(), check=False)
TICKS = survey(Question("tried", "Tried?", options=["beer", "wine"], multiple=True), check=False)
OURS = ["arts", "law"], ["yes", "no"]


QUALTRICS = """\
StartDate,ResponseId,faculty,cheated
Start Date,Response ID,"Which faculty, exactly?",Cheated?
"{""ImportId"":""startDate""}","{""ImportId"":""_recordId""}","{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"
2026-01-01,R_1,arts,Yes
2026-01-02,R_2,law,No
"""


@pytest.mark.parametrize(
    "text",
    [
        QUALTRICS,
        "_id;page/faculty;page/cheated\n1;arts;yes\n2;law;no\n",
        '"id","faculty","cheated"\n"1","arts","Y"\n"2","law","N"\n',
        "record_id,faculty,cheated\n1,arts,1\n2,law,0\n",
        "faculty,cheated\n1. arts,2. yes\n2. law,1. No\n",
        "cheated\tfaculty\nyes\tarts\nno\tlaw\n",
        "\N{ZERO WIDTH NO-BREAK SPACE}faculty,cheated\narts,yes\nlaw,no\n",
    ],
    ids=["qualtrics", "kobo", "limesurvey", "redcap", "numbered", "other order", "byte order mark"],
)
def test_files_of_others_are_read(tmp_path, text):
    frame = read_reports(table_file(tmp_path, text), ASKED)
    assert (list(frame["faculty"]), list(frame["cheated"])) == OURS
    assert list(read_reports(table_file(tmp_path, text, encoding="utf-16"), ASKED)["cheated"]) == OURS[1]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_try_at_which_a_check_about_the_device_was_passed_comes_back(tmp_path, suffix):
    asked = survey(cheated(), check="device", minimum=1)
    frame = pd.DataFrame({"cheated": ["yes", "no"] * 50, "understood": [1] * 60 + [2] * 15 + [0] * 24 + [None]})
    back = read_reports(write(frame, tmp_path / f"r{suffix}", asked))
    assert estimate(asked, back).understood == estimate(asked, frame).understood == (60, 15, 99)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_channel_of_a_report_comes_back_and_no_other_word_is_one(tmp_path, suffix):
    channels = ["paper", "phone", "phone"]
    frame = pd.DataFrame({"faculty": ["arts", "law", "law"], "cheated": ["yes", "no", "no"], "channel": channels})
    assert list(read_reports(write(frame, tmp_path / f"r{suffix}", ASKED))["channel"]) == channels
    frame["channel"] = ["mail", "phone", "phone"]
    assert list(read_reports(write(frame, tmp_path / f"r{suffix}", ASKED))["channel"].isna()) == [True, False, False]


def test_the_comprehension_check_is_read_and_missing_where_it_is_absent(tmp_path):
    checked, rows = survey(faculty(), cheated()), ["faculty,cheated,understood", "arts,yes,True", "law,no,0", "law,no,"]
    with_it, without = (
        table_file(tmp_path, "\n".join(rows)),
        table_file(tmp_path, "faculty,cheated\narts,yes\n", "b.csv"),
    )
    assert list(read_reports(with_it, checked)["understood"]) == [True, False, None]
    assert list(read_reports(without, checked)["understood"]) == [None]
    assert "understood" not in read_reports(without, ASKED)


@pytest.mark.parametrize(
    "text",
    [
        "tried,tried/beer,tried/wine\nbeer wine,1,1\nwine,0,1\n,,\n",
        'tried\nbeer wine\nwine\n""\n',
        "tried___1,tried___2\n1,1\n0,1\n,\n",
        "tried[beer];tried[wine]\nY;Y\nN;Y\n;\n",
        "g/tried/beer,g/tried/wine\nTrue,True\nFalse,True\n,\n",
    ],
)
def test_boxes_are_read_as_one_text_or_as_columns(tmp_path, text):
    frame = read_reports(table_file(tmp_path, text), TICKS)
    assert [None if pd.isna(one) else one for one in frame["tried"]] == ["[0,1]", "[1]", None]


def test_boxes_hold_yes_and_no_and_nothing_else(tmp_path):
    path = table_file(tmp_path, "tried___1,tried___2\n1,0\n-99,-99\n,1\n")
    assert read_reports(path, TICKS, missing=(-99,))["tried"].fillna("none").tolist() == ["[0]", "none", "[1]"]
    for missing, strange in (((-99,), 1), ((), 2)):
        path = table_file(tmp_path, "tried___1,tried___2\n1,0\n-99,-99\n2,1\n,\n")
        message = f"the columns of 'tried' must contain 1 for ticked .*, got {strange} of 4 rows with something else"
        with pytest.raises(ValueError, match=message):
            read_reports(path, TICKS, missing=missing)


def test_columns_of_questions_and_of_row_numbers_can_be_named(tmp_path):
    path = table_file(tmp_path, "nr,id,Q1,cheated\n1,7,arts,yes\n1,,law,no\n,,law,no\n")
    named = {"columns": {"faculty": "Q1"}}
    for unique in ("auto", "id", None):  # a missing value is not a number
        assert list(read_reports(path, ASKED, unique=unique, **named)["faculty"]) == ["arts", "law", "law"]
    messages = {"nr": "each number in 'nr' must occur once, got 1 repeated rows", "no": "must be a column"}
    for unique, message in messages.items():
        with pytest.raises(ValueError, match=message):
            read_reports(path, ASKED, unique=unique, **named)
    with pytest.raises(ValueError, match="`columns` must name a column for 'faculty', got 'Q2'"):
        read_reports(path, ASKED, columns={"faculty": "Q2"})
    for design in ({"other": warner("3/4")}, survey(faculty(), Question("other", "O?", options=["a", "b"]))):
        with pytest.raises(ValueError, match=r"none for (other|faculty, other): nothing was read; if the column has"):
            read_reports(path, design)


def test_of_many_options_eight_are_named_where_a_column_holds_others(tmp_path):
    asked = survey(Question("city", "City?", options=[f"c{place}" for place in range(9)]), check=False)
    named = r"\(c0, c1, c2, c3, c4, c5, c6, c7\)"
    for codes in ({}, {"city": {1: "nowhere"}}):
        with pytest.raises(ValueError, match=f"'city' must .* {named}"):
            read_reports(table_file(tmp_path, "city\n1\n"), asked, codes=codes)


def test_codes_stand_for_what_the_file_s_own_labels_say(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"faculty": [1.0, 2.0, 2.0], "cheated": [1.0, 2.0, 9.0]})
    labels = {"faculty": {1: "Arts", 2: "Law"}, "cheated": {1: "Yes", 2: "No", 9: "no answer"}}
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"), variable_value_labels=labels)
    read = read_reports(tmp_path / "a.sav", ASKED)
    assert list(read["faculty"]) == ["arts", "law", "law"]
    assert list(read["cheated"])[:2] == ["yes", "no"]
    assert pd.isna(read["cheated"][2])
    pyreadstat.write_sav(frame, str(tmp_path / "b.sav"), variable_value_labels={"faculty": labels["faculty"]})
    with pytest.raises(ValueError, match=r"'cheated' must contain its reports .* 2 of 3 rows .* codes={'cheated'"):
        read_reports(tmp_path / "b.sav", ASKED)
    given = read_reports(tmp_path / "b.sav", ASKED, codes={"cheated": {1: "yes", 2: "no"}}, missing=(9,))
    assert list(given["cheated"])[:2] == ["yes", "no"]
    fewer = {"faculty": labels["faculty"], "cheated": {1: "Yes", 2: "No"}}
    for number in (9.0, 0.0):  # without a label, although 0 is one of our codes
        pyreadstat.write_sav(frame.replace(9.0, number), str(tmp_path / "d.sav"), variable_value_labels=fewer)
        with pytest.raises(ValueError, match="1 of 3 rows with something else"):
            read_reports(tmp_path / "d.sav", ASKED)
    long = {"arts": "Subject A, and much more", "law": "Subject B, and much more"}
    cut = {"faculty": {1: "Subject A…", 2: "Subject B…"}, "cheated": labels["cheated"]}
    pyreadstat.write_sav(frame, str(tmp_path / "e.sav"), variable_value_labels=cut)
    by_label = survey(faculty(labels=long), cheated(), check=False)
    assert list(read_reports(tmp_path / "e.sav", by_label)["faculty"]) == ["arts", "law", "law"]
    wrong = {"faculty": {1: "Arts", 2: "Music"}, "cheated": labels["cheated"]}
    pyreadstat.write_dta(frame, str(tmp_path / "c.dta"), variable_value_labels=wrong)
    with pytest.raises(ValueError, match="the labels of codes for 'faculty' must be among its answers"):
        read_reports(tmp_path / "c.dta", ASKED)


def test_designs_by_column_and_other_names(tmp_path):
    path = table_file(tmp_path, "Q7,region\nsame,n\ndifferent,s\n-99,s\n")
    frame = read_reports(path, {"cheated": crosswise("1/4")}, columns={"cheated": "Q7"}, missing=(-99,))
    assert list(frame["cheated"])[:2] == ["same", "different"]
    assert pd.isna(frame["cheated"][2])
    assert list(frame["region"]) == ["n", "s", "s"]
    frame = read_reports(
        path, survey(cheated(design=crosswise("1/4")), check=False), columns={"cheated": "Q7"}, missing=("-99",)
    )
    assert list(frame["cheated"])[:2] == ["same", "different"]


def test_a_share_that_no_truth_could_give_is_told(tmp_path):
    path = table_file(tmp_path, "faculty,cheated\n" + "arts,yes\n" * 400)
    with pytest.warns(UserWarning, match="cheated: "):
        frame = read_reports(path, ASKED)
    assert frame.attrs["remarks"]


def test_a_workbook_is_read(tmp_path):
    book = openpyxl.Workbook()
    for row in (["faculty", "cheated", None], ["arts", "yes"], ["law", "no"], [None, None]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    assert list(read_reports(tmp_path / "a.xlsx", ASKED)["cheated"]) == ["yes", "no"]


def test_reports_are_not_read_under_another_design(tmp_path):
    path = write(reports(ASKED), tmp_path / "r.csv", ASKED)
    with pytest.raises(ValueError, match="the design of 'cheated' must be the same as in the file's codebook"):
        read_reports(path, survey(faculty(), cheated(design=warner("4/5")), check=False))


def test_reports_need_a_survey_and_columns_a_name_of_their_own(tmp_path):
    path = table_file(tmp_path, "faculty,cheated\narts,yes\n")
    with pytest.raises(ValueError, match=r"a file of reports must end in \.csv, .*, got '\.ods': nothing was read"):
        read_reports(tmp_path / "x.ods", ASKED)
    with pytest.raises(FileNotFoundError, match=r"the file must exist, got no file 'x\.csv' in .*: nothing was read"):
        read_reports(tmp_path / "x.csv", ASKED)
    for given, received in ((None, "no codebook beside the file"), (3, "int")):
        with pytest.raises(TypeError, match=f"a Survey, or a mapping from column to design, got {received}"):
            read_reports(path, given)
    columns = pa.table([["arts"], ["yes"], ["no"], ["law"]], names=["faculty", "cheated", "cheated", "other"])
    parquet.write_table(columns, tmp_path / "twice.parquet")
    feather.write_feather(columns, tmp_path / "twice.feather")
    for suffix in ("parquet", "feather"):
        with pytest.raises(ValueError, match="must have a unique name, got cheated more than once"):
            read_reports(tmp_path / f"twice.{suffix}", ASKED)


def test_an_apostrophe_before_a_formula_goes_where_we_wrote_it(tmp_path):
    asked = survey(Question("note", "Note?", free_text=True), check=False)
    frame = pd.DataFrame({"note": ["=1+1", "'=x", "plain"]})
    path = write(frame, tmp_path / "r.csv", asked)
    assert list(read_reports(path)["note"]) == list(frame["note"])
    (tmp_path / "r.codebook.json").unlink()
    assert list(read_reports(path, asked)["note"]) == ["'=1+1", "''=x", "plain"]
    assert list(read_reports(write(frame, tmp_path / "r.parquet", asked))["note"]) == list(frame["note"])


def test_everything_that_is_written_can_be_read():
    assert set(SUFFIXES) <= set(raw_files.SUFFIXES)


BAD = {
    "another encoding": ("faculty,cheated\nkünste,yes\n".encode("latin-1"), "must be in UTF-8"),
    "doubled head": (b"faculty,cheated,cheated\narts,yes,no\n", "cheated more than once"),
    "duplicate ids": (b"_id,faculty,cheated\n1,arts,yes\n1,law,no\n", "each number in '_id' must occur once"),
    "another answer": (b"faculty,cheated\nmusic,yes\n", "1 of 1 rows with something else"),
    "no column": (b"faculty,other\narts,yes\n", "none for cheated"),
    "two columns": (b"faculty,a/cheated,b/cheated\narts,yes,no\n", "only one column must match the question 'cheated'"),
    "ragged": (b"faculty,cheated\narts,yes,more\n", "each row must have 2 cells"),
    "open quote": (b'faculty,cheated\narts,"yes\n', "unmatched quotation marks"),
    "bytes": (b"faculty,cheated\narts,y\0es\n", "not text"),
    "empty": (b"", "must have a head and rows"),
    "head only": (b"faculty,cheated\n", "must have a head and rows"),
    "three heads": ("".join(QUALTRICS.splitlines(keepends=True)[:3]).encode(), "must have a head and rows"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_get_a_sentence_and_nothing_is_read(tmp_path, name):
    content, sentence = BAD[name]
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_reports(path, ASKED)
    assert "music" not in str(caught.value)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", [".sav", ".dta", ".parquet", ".feather", ".xlsx"])
@pytest.mark.parametrize("part", [0.3, 0.99, 0])
def test_files_that_are_cut_off_or_no_such_files_are_refused(tmp_path, suffix, part):
    if suffix == ".xlsx":
        book = openpyxl.Workbook()
        book.active.append(["faculty", "cheated"])
        book.save(tmp_path / "whole.xlsx")
    else:
        write(reports(ASKED), tmp_path / f"whole{suffix}", ASKED)
    whole = (tmp_path / f"whole{suffix}").read_bytes()
    (tmp_path / f"bad{suffix}").write_bytes(whole[: int(len(whole) * part)] or b"hello")
    with pytest.raises(ValueError, match=r"bad\.\w+ must be a complete"):
        read_reports(tmp_path / f"bad{suffix}", ASKED)


@pytest.mark.parametrize(
    ("size", "said"), [(2 * 10**8, "must be a complete"), (2 * 10**8 + 1, "must unpack to at most 500,000,000")]
)
def test_a_bomb_in_a_workbook_is_refused_unread(tmp_path, size, said):
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w") as packed:
        for name, told in (("a.png", 3 * 10**8), ("b.png", size)):
            packed.writestr(name, b"")
            packed.getinfo(name).file_size = told  # as its list of contents says
    with pytest.raises(ValueError, match=said):
        read_reports(tmp_path / "bomb.xlsx", ASKED)


@pytest.mark.parametrize("name", ["xl/workbook.xml", "_rels/.rels"])
def test_entities_in_a_workbook_are_refused_unread(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "xxe.xlsx", "w") as packed:
        packed.writestr(name, "<!doctype x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><x>&e;</x>")
    with pytest.raises(ValueError, match="must define no entities"):
        read_reports(tmp_path / "xxe.xlsx", ASKED)


@pytest.mark.slow
def test_many_rows_are_read_and_each_different_cell_once(tmp_path, monkeypatch):
    """If the time grew with the square of the number of rows, this test would not finish."""
    reads, read = [], CellReader._read_choices
    monkeypatch.setattr(
        CellReader, "_read_choices", lambda self, cells, **by: reads.extend(cells) or read(self, cells, **by)
    )
    path = table_file(tmp_path, "faculty,cheated\n" + "arts,yes\nlaw,no\n" * 50_000)
    assert len(read_reports(path, ASKED)) == 100_000
    assert reads == ["arts", "law", "yes", "no"]


@pytest.mark.slow
def test_a_codebook_is_a_survey_again(tmp_path):
    write(reports(), tmp_path / "r.csv", MIXED)
    again = Survey.load(tmp_path / "r.codebook.json")
    assert (again, again.hash) == (MIXED, MIXED.hash)
    assert json.loads((tmp_path / "r.codebook.json").read_text())["labels"]["de"]["faculty"]["values"] == [
        "Arts; and more (de)",
        "Law (de)",
    ]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_long_names_that_begin_alike_stay_apart(tmp_path, suffix):
    names = [f"{'a' * 38}{end}" for end in ("b", "c")]
    asked = [Question(name, "Which?", options=["x", "y"]) for name in names]
    boxes = Question("c" * 40, "Which?", options=["x", "y"], multiple=True)
    made = survey(*asked, boxes, check=False)
    frame = pd.DataFrame({names[0]: ["x"] * 3, names[1]: ["y"] * 3, boxes.name: ["[0]", "[1]", "[]"]})
    back = read_reports(write(frame, tmp_path / f"r{suffix}", made))
    assert [set(back[name]) for name in names] == [{"x"}, {"y"}]
    assert list(back[boxes.name]) == ["[0]", "[1]", "[]"]


LIKE_ANOTHER = {
    "another case": (["US", "us", "ß", "ss"], {}),
    "another's label": ([1, 2, 3], {1: words("None"), 2: words("1"), 3: words("2")}),
    "another's label in another language": (
        ["a", "b"],
        {"a": {"en": "Gift", "de": "Geschenk"}, "b": {"en": "Poison", "de": "Gift"}},
    ),
    "another's place": (["2. b", "b"], {}),
    "what is missing": (["yes", "No answer", "not asked"], {}),
    "a list": (["[other]", "[1]"], {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LIKE_ANOTHER)
def test_an_option_that_is_called_like_something_else_comes_back(tmp_path, name):
    """Plain and randomized questions, in every format and language; a word that fits two options is rejected."""
    options, labels = LIKE_ANOTHER[name]
    languages = ("en", "de") if labels else ("en",)
    plain = Question("plain", words("Which?"), options=options, labels=labels, required=False)
    hidden = Question("hidden", words("Which truly?"), design=k_ary(options, epsilon=1), labels=labels)
    asked = Survey(words("Exams"), [plain, hidden], languages=languages, consent=words("We study exams."), check=False)
    frame = pd.DataFrame({"plain": [*options, None], "hidden": [*options, options[0]]})
    for suffix in SUFFIXES:
        for language in languages:
            back = read_reports(write(frame, tmp_path / f"r{suffix}", asked, language=language), asked)
            assert [None if pd.isna(one) else one for one in back["plain"]] == [*options, None]
            assert list(back["hidden"]) == [*options, options[0]]


@pytest.mark.parametrize("cells", [["Us"], ["Gift", "elsewhere"]])
def test_a_word_that_could_mean_two_options_means_none(tmp_path, cells):
    labels = {"US": {"en": "Gift", "de": "Da"}, "us": {"en": "There", "de": "Gift"}, "elsewhere": words("Elsewhere")}
    asked = Question("where", words("Where?"), options=["US", "us", "elsewhere"], labels=labels)
    made = Survey(words("Exams"), [asked], languages=("en", "de"), consent=words("We."), check=False)
    pd.DataFrame({"where": cells}).to_csv(tmp_path / "r.csv", index=False)
    if cells == ["Us"]:
        with pytest.raises(ValueError, match="1 of 1 rows with something else"):
            read_reports(tmp_path / "r.csv", made)
    else:  # in one language all words are known
        assert list(read_reports(tmp_path / "r.csv", made)["where"]) == ["US", "elsewhere"]


@pytest.mark.parametrize(
    ("cells", "sets"),
    [(["Gift;Poison", "Gift"], ["[0,1]", "[0]"]), (["Geschenk;Gift", "Gift"], ["[0,1]", "[1]"])],
    ids=["en", "de"],
)
def test_lists_of_options_are_read_in_the_first_language_that_has_all(tmp_path, cells, sets):
    """The names of all languages together would leave "Gift" ambiguous."""
    labels = {"a": {"en": "Gift", "de": "Geschenk"}, "b": {"en": "Poison", "de": "Gift"}}
    asked = Question("bought", words("What?"), options=["a", "b"], multiple=True, labels=labels)
    made = Survey(words("Exams"), [asked], languages=("en", "de"), consent=words("We."), check=False)
    pd.DataFrame({"bought": cells}).to_csv(tmp_path / "r.csv", index=False)
    assert list(read_reports(tmp_path / "r.csv", made)["bought"]) == sets


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_numbers_as_options_and_empty_columns_come_back(tmp_path, suffix):
    asked = survey(
        Question("year", "Year?", options=[1, 2, 3], required=False),
        Question("age", "Age?", bounds=(0, 99), required=False),
        Question("note", "Note?", free_text=True, required=False, warning="Name nobody."),
        check=False,
    )
    frame = pd.DataFrame({"year": [1, None, 3], "age": [None] * 3, "note": [None] * 3})
    back = read_reports(write(frame, tmp_path / f"r{suffix}", asked))
    assert [None if pd.isna(one) else one for one in back["year"]] == [1, None, 3]
    assert back["age"].isna().all()
    assert back["note"].isna().all()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_collection_without_reports_is_written_and_is_told_when_read(tmp_path, suffix):
    path = write(reports().iloc[:0], tmp_path / f"r{suffix}", MIXED)
    with pytest.raises(ValueError, match="must have a head and rows"):
        read_reports(path)


@pytest.mark.slow
def test_a_broken_codebook_is_told(tmp_path):
    path = write(reports(ASKED), tmp_path / "r.csv", ASKED)
    (tmp_path / "r.codebook.json").write_text("{")
    with pytest.raises(ValueError, match=r"r\.codebook\.json must be a complete"):
        read_reports(path)
