"""Files of other programs are read completely or not at all, with a count; maliciously crafted files are rejected in
one sentence.
"""

import re
import struct
import subprocess
import traceback
import warnings
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from tests.needs import lacking_program, program
from tests.survey.samples import cheated, faculty, survey
from toolkit import Question, forced
from toolkit.survey import from_xlsform, read_reports, write_xlsform
from toolkit.survey.exchange import raw_files
from toolkit.survey.export import METADATA, SUFFIXES, write
from toolkit.survey.paper.coding import serial_numbers
from toolkit.survey.paper.entering import read_entries

pyreadstat = pytest.importorskip("pyreadstat")
ASKED = survey(faculty(), cheated(), check=False)
ROWS = 60
FRAME = pd.DataFrame({"faculty": ["arts", "law"] * (ROWS // 2), "cheated": ["yes", "no", "no"] * (ROWS // 3)})
DIMENSIONS = [
    '<dimension ref="A1:B5"/>',
    '<dimension ref="A1:A2"/>',
    '<dimension ref="A1"/>',
    "",
    '<dimension ref="A1:ZZ9999"/>',
]


def changed_sheet(path, change) -> None:
    """Write a workbook again with other XML in its first sheet."""
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    name = "xl/worksheets/sheet1.xml"
    text = change(parts[name].decode())
    assert text != parts[name].decode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for part, content in (parts | {name: text.encode()}).items():
            packed.writestr(part, content)


def with_dimension(path, dimension) -> None:
    changed_sheet(path, lambda text: re.sub("<dimension[^>]*/>", f"{dimension}<!-- -->", text))


def workbook_file(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


@pytest.fixture
def reports_xlsx(tmp_path):
    return workbook_file(tmp_path / "r.xlsx", [list(FRAME), *FRAME.values.tolist()])


@pytest.mark.slow
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_all_rows_are_read_whatever_a_workbook_says_of_its_size(tmp_path, reports_xlsx, dimension):
    """Reports, sheets that were typed in, and forms: 60, 20 and 3 of them."""
    with_dimension(reports_xlsx, dimension)
    back = read_reports(reports_xlsx, ASKED)
    assert [list(back[name]) for name in FRAME] == [list(FRAME[name]) for name in FRAME]
    paper = survey(faculty(), cheated(design=forced("1/6", "1/6")), check=False)
    entries = [["serial", "faculty", "cheated"], *([int(one), 1, 2] for one in serial_numbers(paper, 20))]
    with_dimension(workbook_file(tmp_path / "e.xlsx", entries), dimension)
    entered = read_entries(paper, tmp_path / "e.xlsx")
    assert (len(entered.sheets), entered.problems) == (20, ())
    asked = [Question(f"q{i}", f"Q{i}?", options=["a", "b"]) for i in range(3)]
    form = write_xlsform(survey(*asked, check=False), tmp_path / "form.xlsx")
    with_dimension(form, dimension)
    assert len(from_xlsform(form, consent="Why.").questions) == 3


def test_rows_that_a_reader_of_workbooks_would_pass_over_are_counted(reports_xlsx):
    """Two rows have one number; openpyxl reads only the first of them."""
    changed_sheet(reports_xlsx, lambda text: text.replace('<row r="7"', '<row r="6"'))
    with pytest.raises(
        ValueError, match="must have distinct numbers in ascending order, got 61 rows, of which 60 have"
    ):
        read_reports(reports_xlsx, ASKED)


def test_a_formula_that_no_program_has_computed_is_no_missing_answer(tmp_path):
    path = workbook_file(tmp_path / "r.xlsx", [["faculty", "cheated"], ["arts", "yes"], ["law", '=IF(1=1,"yes","no")']])
    with pytest.raises(
        ValueError, match="formulas in the sheet 'Sheet' must have been computed, got 1 without a value"
    ):
        read_reports(path, ASKED)
    results = {
        '"><f>A1</f></c>': None,
        '"><f>A1</f><v/></c>': None,
        '"><f t="shared" si="0"/></c>': None,
        '" t="str"><f>A1</f><v>no</v></c>': "no",
        '" t="str"><f>A1</f><v></v></c>': "none",
    }
    for form, result in results.items():
        workbook_file(path, [["faculty", "cheated"], ["arts", "yes"], ["law", "=A1"]])
        changed_sheet(path, lambda text, form=form: re.sub('"><f>A1</f>.*?</c>', form, text) + "\n")
        if result is not None:
            assert list(read_reports(path, ASKED)["cheated"].fillna("none")) == ["yes", result]
            continue
        with pytest.raises(ValueError, match="got 1 without a value"):
            read_reports(path, ASKED)


def test_a_cell_that_is_not_of_its_type_is_not_quoted(tmp_path):
    path = workbook_file(tmp_path / "r.xlsx", [["faculty", "cheated"], ["arts", 71], ["law", "no"]])
    changed_sheet(path, lambda text: text.replace("<v>71</v>", "<v>secret</v>"))
    with pytest.raises(ValueError, match=r"r\.xlsx must be a complete \.xlsx file") as caught:
        read_reports(path, ASKED)
    assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_a_gap_of_a_billion_rows_ends_at_the_limit(reports_xlsx, monkeypatch):
    monkeypatch.setattr(raw_files, "_MOST_CELLS", 10_000)
    changed_sheet(reports_xlsx, lambda text: text.replace('<row r="7"', '<row r="1000000007"'))
    with pytest.raises(ValueError, match="must have at most 10,000 cells, got more"):
        read_reports(reports_xlsx, ASKED)


def test_a_workbook_may_have_more_cells_than_columns_are_allowed(reports_xlsx, monkeypatch):
    monkeypatch.setattr(raw_files, "_MOST_COLUMNS", 2)
    assert len(read_reports(reports_xlsx, ASKED)) == ROWS
    monkeypatch.setattr(raw_files, "_MOST_COLUMNS", 1)
    with pytest.raises(ValueError, match="must have at most 1 columns, got 2"):
        read_reports(reports_xlsx, ASKED)


def test_xml_that_is_broken_gets_a_sentence(reports_xlsx):
    changed_sheet(reports_xlsx, lambda text: text.replace("</sheetData>", "</other>"))
    with pytest.raises(ValueError, match=r"r\.xlsx must be a complete \.xlsx file"):
        read_reports(reports_xlsx, ASKED)


@pytest.mark.slow
@pytest.mark.parametrize(
    "suffix", [*sorted({*SUFFIXES, ".xlsx"} - {".csv"}), ".dta 113", ".sav by bytes", ".sav by zlib"]
)
def test_a_file_that_is_cut_anywhere_gives_all_rows_or_none(tmp_path, suffix):
    """Text files are excluded, because a text file that is cut between two lines is a valid file with fewer rows."""
    end, _, kind = suffix.partition(" ")
    path = tmp_path / f"r{end}"
    codes = FRAME.replace({"arts": 0.0, "law": 1.0, "no": 0.0, "yes": 1.0}).astype(float)
    labels = {"faculty": {0: "arts", 1: "law"}, "cheated": {0: "no", 1: "yes"}}
    if kind == "113":
        pyreadstat.write_dta(codes, str(path), version=8, variable_value_labels=labels)
    elif kind:
        compression = {"row_compress": kind == "by bytes", "compress": kind == "by zlib"}
        pyreadstat.write_sav(codes, str(path), variable_value_labels=labels, **compression)
    elif end == ".xlsx":
        workbook_file(path, [list(FRAME), *FRAME.values.tolist()])
    else:
        write(FRAME, path, ASKED)
    whole, counts = path.read_bytes(), set()
    for cut in np.linspace(1, len(whole), 150).astype(int):
        path.write_bytes(whole[:cut])
        try:
            counts.add(len(read_reports(path, ASKED)))
        except ValueError as problem:
            assert "must" in str(problem)  # noqa: PT017  one of our sentences
            counts.add("refused")
    assert counts == {ROWS, "refused"}


@pytest.mark.parametrize(
    "compression", [{}, {"row_compress": True}, {"compress": True}], ids=["plain", "bytes", "zlib"]
)
def test_an_spss_file_with_more_rows_than_it_states_is_refused(tmp_path, compression):
    path = tmp_path / "r.sav"
    labels = {"faculty": {0: "arts", 1: "law"}, "cheated": {0: "no", 1: "yes"}}
    codes = FRAME.replace({"arts": 0.0, "law": 1.0, "no": 0.0, "yes": 1.0}).astype(float)
    pyreadstat.write_sav(codes, str(path), variable_value_labels=labels, **compression)
    whole = path.read_bytes()
    assert len(read_reports(path, ASKED)) == ROWS
    path.write_bytes(whole[:80] + struct.pack("<i", 50) + whole[84:])
    with pytest.raises(ValueError, match=r"r\.sav must have as many rows as it states, got more than 50"):
        read_reports(path, ASKED)
    path.write_bytes(whole[:80] + struct.pack("<i", -1) + whole[84:])
    with pytest.warns(UserWarning, match=rf"does not state how many rows it has\. {ROWS} were read"):
        assert len(read_reports(path, ASKED)) == ROWS


@pytest.mark.parametrize("writer", [8, 10, 12, 13, 15, "pandas 114", "pandas 117"])
@pytest.mark.parametrize("labelled", [True, False])
def test_a_stata_file_with_other_rows_than_it_states_is_refused(tmp_path, writer, labelled):
    """The number of rows is in the header, in four bytes up to Stata 12, and in eight since 14."""
    path = tmp_path / "r.dta"
    codes = FRAME.replace({"arts": 0.0, "law": 1.0, "no": 0.0, "yes": 1.0}).astype(float).assign(note="é a text")
    labels = {"faculty": {0: "arts", 1: "law"}, "cheated": {0: "no", 1: "yes"}} if labelled else {}
    if isinstance(writer, int):
        pyreadstat.write_dta(codes, str(path), version=writer, variable_value_labels=labels)
    else:
        codes["note"] = "a text"
        codes.to_stata(path, version=int(writer[-3:]), write_index=False, value_labels=labels or None)
    asked = ASKED if labelled else survey(cheated(), check=False)
    assert len(read_reports(path, asked)) == ROWS
    raw = path.read_bytes()
    start = raw.find(b"<N>") + 3 if raw.startswith(b"<") else 6
    for rows in (0, ROWS - 1, ROWS + 1):
        path.write_bytes(raw[:start] + struct.pack("<i", rows) + raw[start + 4 :])
        with pytest.raises(ValueError, match=r"r\.dta must be a complete \.dta file|must have a head and rows"):
            read_reports(path, asked)


@pytest.mark.slow
def test_stata_files_of_r_are_read_to_the_last_row(tmp_path):
    """The files are read by foreign, which writes the format of Stata 7 by default, and by haven."""
    rscript = program("Rscript", "R", "r-base-core")
    lines = [
        'd <- data.frame(faculty = factor(rep(c("arts", "law"), 30)), cheated = factor(rep(c("yes", "no", "no"), 20)))',
        'd$note <- "a text"; d$number <- 1:60; d$share <- 0.5',
        'for (v in c(7, 8, 10)) foreign::write.dta(d, paste0("foreign", v, ".dta"), version = v)',
        'for (v in c(8, 10, 12, 13, 15)) haven::write_dta(d, paste0("haven", v, ".dta"), version = v)',
    ]
    (tmp_path / "t.R").write_text("\n".join(lines))
    run = subprocess.run([rscript, "t.R"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    if "no package called" in run.stderr:
        lacking_program("R's haven and foreign", "r-cran-haven r-cran-foreign")
    paths = sorted(tmp_path.glob("*.dta"))
    assert len(paths) == 8, run.stderr
    for path in paths:
        assert read_reports(path, ASKED)["cheated"].value_counts().to_dict() == {"no": 40, "yes": 20}
        raw = path.read_bytes()
        if not raw.startswith(b"<"):
            path.write_bytes(raw[:6] + struct.pack("<i", 50) + raw[10:])
            with pytest.raises(ValueError, match="has a different number of rows than it states"):
                read_reports(path, ASKED)


def test_a_quotation_mark_without_its_pair_swallows_no_sheets(tmp_path):
    """Read naively, the cell would contain all lines below it, without any error."""
    note = Question("note", "Note?", free_text=True, required=False, warning="Name nobody.")
    paper = survey(cheated(design=forced("1/6", "1/6")), note, check=False)
    rows = [f"{serial},1,{'' if i else chr(34)}fine\n" for i, serial in enumerate(serial_numbers(paper, 5))]
    (tmp_path / "e.csv").write_text("serial,cheated,note\n" + "".join(rows))
    with pytest.raises(ValueError, match="one with unmatched quotation marks"):
        read_entries(paper, tmp_path / "e.csv")
    (tmp_path / "e.csv").write_text("serial,cheated,note\n" + "".join(rows).replace('"', "a\u2028b\x85"))
    assert len(read_entries(paper, tmp_path / "e.csv").sheets) == 5


@pytest.mark.parametrize("reader", ["reports", "entries"])
def test_a_cell_longer_than_a_reader_of_text_takes_gets_a_sentence(tmp_path, reader):
    path = tmp_path / "r.csv"
    for size, said in ((131_072, "must have the columns|rows with something else"), (131_073, "at most 131,072 char")):
        path.write_text(f"faculty,cheated\narts,{'x' * size}\n")
        with pytest.raises(ValueError, match=said) as caught:
            read_reports(path, ASKED) if reader == "reports" else read_entries(ASKED, path)
        assert "xxx" not in str(caught.value)


@pytest.mark.slow
def test_many_columns_are_refused_and_those_up_to_the_limit_are_read(tmp_path):
    path = tmp_path / "r.csv"
    for more, said in ((32_765, None), (32_766, "at most 32,767 columns, got 32,768"), (200_000, "got 200,002")):
        names, cells = (",".join(texts) for texts in ((f"c{i}" for i in range(more)), ("1" for _ in range(more))))
        path.write_text(f"faculty,cheated,{names}\narts,yes,{cells}\n")
        if said is None:
            assert len(read_reports(path, ASKED)) == 1
            continue
        with pytest.raises(ValueError, match=said):
            read_reports(path, ASKED)


@pytest.mark.slow
def test_finding_the_boxes_of_a_question_looks_at_no_other_column(tmp_path):
    """Otherwise a thousand options and thirty thousand columns would take minutes."""
    asked = survey(Question("tried", "Tried?", options=[f"o{i}" for i in range(1000)], multiple=True), check=False)
    names = [f"g.tried___o{i}" for i in range(1000)] + [f"c{i}" for i in range(30_000)]
    (tmp_path / "r.csv").write_text(f"{','.join(names)}\n{','.join(['1'] + ['0'] * 30_999)}\n")
    assert list(read_reports(tmp_path / "r.csv", asked)["tried"]) == ["[0]"]


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv", ".sav"])
def test_too_many_cells_are_refused_by_what_the_file_states(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(raw_files, "_MOST_CELLS", 2 * ROWS - 1)
    path = write(FRAME, tmp_path / f"r{suffix}", ASKED)
    with pytest.raises(
        ValueError, match=r"must have at most 119 cells, got (60|61) rows of 2 columns: nothing was read"
    ):
        read_reports(path, ASKED)


@pytest.mark.slow
def test_a_small_parquet_file_of_a_large_table_is_refused_unread(tmp_path, monkeypatch):
    """A file that declares many rows; a long text that a dictionary repeats; many numbers in one row."""
    path = tmp_path / "bomb.parquet"
    monkeypatch.setattr(parquet.ParquetFile, "read", lambda *_, **__: pytest.fail("it was read"))
    with parquet.ParquetWriter(path, pa.schema([("faculty", pa.string())]), compression="zstd") as file:
        part = pa.table({"faculty": pa.array(["arts"]).take(pa.array(np.zeros(1_000_000, dtype=np.int8)))})
        for _ in range(51):
            file.write_table(part)
    assert path.stat().st_size < 500_000
    with pytest.raises(ValueError, match="at most 50,000,000 cells, got 51,000,000 rows of 1 columns"):
        read_reports(path, ASKED)
    numbers = pa.ListArray.from_arrays([0, 51_000_000], pa.array(np.zeros(51_000_000, dtype=np.int8)))
    parquet.write_table(pa.table({"faculty": numbers}), path, compression="zstd")
    with pytest.raises(ValueError, match="at most 50,000,000 cells"):
        read_reports(path, ASKED)
    monkeypatch.undo()
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(600, dtype=np.int32)), ["b" * 1_000_000])
    table = pa.table({"faculty": texts, "cheated": ["yes"] * 600})
    parquet.write_table(table, path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 2000
    with pytest.raises(ValueError, match="must unpack to at most 500,000,000 bytes, got more"):
        read_reports(path, ASKED)


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_texts_of_every_kind_are_read_from_parquet(tmp_path, kind):
    answers = pa.array(["arts", "law", None]).cast(kind)
    parquet.write_table(pa.table({"faculty": answers, "cheated": ["yes", "no", "no"]}), tmp_path / "r.parquet")
    back = read_reports(tmp_path / "r.parquet", ASKED)["faculty"]
    assert [None if pd.isna(cell) else cell for cell in back] == ["arts", "law", None]


@pytest.mark.parametrize("book", [b"[" * 100_000, b'{"a":' * 100_000, b"{", b"\xff"])
def test_a_codebook_that_is_none_gets_a_sentence(tmp_path, book):
    """In the file's own metadata, next to it, and in a cell."""
    table = pa.table({"faculty": ["arts"], "cheated": ["yes"]}).replace_schema_metadata({METADATA: book})
    parquet.write_table(table, tmp_path / "r.parquet")
    feather.write_feather(table, tmp_path / "r.feather")
    (tmp_path / "s.csv").write_text("faculty,cheated\narts,yes\n")
    (tmp_path / "s.codebook.json").write_bytes(book)
    for name in ("r.parquet", "r.feather", "s.csv"):
        with pytest.raises(ValueError, match=r"(r|s\.codebook)\.\w+ must be a complete"):
            read_reports(tmp_path / name, ASKED)


def test_a_cell_of_many_brackets_is_no_report(tmp_path):
    boxes = Question("tried", "Tried?", options=["a", "b"], multiple=True)
    asked = survey(boxes, check=False)
    (tmp_path / "r.csv").write_text(f"tried\n{'[' * 100_000}\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="1 of 1 rows with something else"):
            read_reports(tmp_path / "r.csv", asked)


@pytest.mark.parametrize("column", ["rr_option", "rr::design"])
@pytest.mark.parametrize("cell", ["[" * 30_000, "{", "3"])
def test_a_form_whose_own_columns_hold_something_else_gets_a_sentence(tmp_path, column, cell):
    asked = cheated(design=forced("1/6", "1/6"), mode="physical")
    path = write_xlsform(survey(asked, check=False), tmp_path / "form.xlsx")
    book = openpyxl.load_workbook(path)
    sheet = book["choices" if column == "rr_option" else "survey"]
    place = [head.value for head in sheet[1]].index(column) + 1
    for row in range(2, sheet.max_row + 1):
        if sheet.cell(row, place).value:
            sheet.cell(row, place).value = cell
    book.save(path)
    with pytest.raises(ValueError, match="must") as caught:
        from_xlsform(path, consent="Why.")
    assert "[[[" not in str(caught.value)
