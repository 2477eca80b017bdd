"""The folder of paper forms: its files, no overwriting, and spreadsheets that check the typed values."""

import csv
import sys
from importlib.util import find_spec

import openpyxl
import pytest

from tests.survey.samples import cheated, survey
from toolkit import Question, forced, warner
from toolkit.core.extras import MissingExtraError
from toolkit.survey.paper.coding import NumberCell, is_serial, serial_remainder
from toolkit.survey.paper.kit import _validation_rule, read_rows, write_kit

DIE = forced("1/6", "1/6")
MADE = survey(
    Question("who", "Who?", options=["a", "b"], labels={"a": "=cmd()", "b": "B"}),
    Question("age", "Age?", bounds=(16, 99), whole=True),
    cheated(design=DIE),
    Question("far", "Far?", design=warner(epsilon=1)),
)


def test_a_folder_holds_pages_and_tables_and_nothing_is_overwritten(tmp_path) -> None:
    files = write_kit(MADE, tmp_path / "kit", copies=3)
    names = ["consent.en.html", "form.en.html", "interviewer.en.html", "entry.csv", "entry.xlsx"]
    assert [path.name for path in files] == names
    form = files[1].read_text(encoding="utf-8")
    assert form.count(MADE.hash[:8]) == form.count("class='sheet'") == 3
    before = files[3].read_bytes()
    with pytest.raises(FileExistsError, match="files are not overwritten"):
        write_kit(MADE, tmp_path / "kit")
    assert files[3].read_bytes() == before
    for copies in (0, 10_001):
        with pytest.raises(ValueError, match="copies"):
            write_kit(MADE, tmp_path / "other", copies=copies)
    with pytest.raises(ValueError, match="language"):
        write_kit(MADE, tmp_path / "other", language="de")
    assert not (tmp_path / "other").exists()


def test_the_tables_have_a_column_for_each_question_on_paper(tmp_path) -> None:
    """The first column is the number of the sheet."""
    write_kit(MADE, tmp_path)
    header = ["serial", "who", "age", "cheated"]
    assert read_rows(tmp_path / "entry.csv") == read_rows(tmp_path / "entry.xlsx") == [header]
    with (tmp_path / "entry.csv").open(encoding="utf-8-sig") as file:
        assert next(csv.reader(file)) == header


@pytest.mark.slow
def test_the_spreadsheet_validates_entries_and_has_no_formula(tmp_path) -> None:
    """The spreadsheet checks numbers, codes and ranges."""
    write_kit(MADE, tmp_path, copies=600)
    book = openpyxl.load_workbook(tmp_path / "entry.xlsx")
    rules = {str(one.sqref): (one.type, one.formula1) for one in book["entry"].data_validations.dataValidation}
    rest = serial_remainder(MADE)
    assert rules["A2:A601"] == ("custom", f"AND(ISNUMBER(A2),MOD(A2,97)={rest},COUNTIF($A$2:$A$601,A2)=1)")
    assert rules["B2:B601"] == ("list", '"1,2,-"')
    assert rules["C2:C601"] == ("custom", 'OR(C2="-",AND(ISNUMBER(C2),C2>=16.0,C2<=99.0,MOD(C2,1)=0))')
    assert rules["D2:D601"] == ("list", '"1,2,-"')
    assert [cell.value for cell in book["codes"][1]] == ["question", "code", *MADE.languages]
    cells = [cell.value for sheet in book for row in sheet.iter_rows() for cell in row]
    assert "'=cmd()" in cells
    assert not any(isinstance(cell, str) and cell.startswith("=") for cell in cells)


def test_codes_are_a_list_as_long_as_a_spreadsheet_takes_one():
    longest, longer = ([*range(1, last), 100, *more] for last, more in ((85, []), (84, [101])))
    rules = [_validation_rule(Question("q", "Which?", options=options), "B2") for options in (longest, longer)]
    assert (len(rules[0]), rules[1]) == (250, None)


@pytest.mark.slow
def test_files_of_spreadsheets_are_read_whatever_parts_their_cells(tmp_path) -> None:
    for mark in ",;\t":
        path = tmp_path / "x.csv"
        path.write_bytes(f"serial{mark}who\r\n123{mark}ä\r\n".encode("utf-8-sig"))
        assert read_rows(path) == [["serial", "who"], ["123", "ä"]]
    path.write_bytes("serial,who\n1,ä\n".encode("cp1252"))
    with pytest.raises(
        ValueError, match=r"x\.csv must be in UTF-8, got another encoding: nothing was read; save it as UTF-8"
    ):
        read_rows(path)
    (tmp_path / "x.xlsx").write_bytes(b"no workbook")
    with pytest.raises(ValueError, match=r"x\.xlsx must be a complete \.xlsx file, got something else"):
        read_rows(tmp_path / "x.xlsx")
    with pytest.raises(FileNotFoundError, match=r"no file 'y\.xlsx'"):
        read_rows(tmp_path / "y.xlsx")
    book = openpyxl.Workbook()
    book.active.append(["serial", "age", "x"])
    book.active.append([None, None, None])  # rows keep their numbers
    book.active.append([183103819.0, 1.5, None])
    book.save(tmp_path / "x.xlsx")
    assert read_rows(tmp_path / "x.xlsx") == [["serial", "age", "x"], ["", "", ""], ["183103819", "1.5", ""]]
    assert isinstance(read_rows(tmp_path / "x.xlsx")[2][1], NumberCell)


def test_without_openpyxl_the_extra_is_named(tmp_path, monkeypatch) -> None:
    """The other files are written."""
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    monkeypatch.setattr("toolkit.core.extras.find_spec", lambda name: None if name == "openpyxl" else find_spec(name))
    with pytest.warns(UserWarning, match=r"entry\.xlsx is not written: openpyxl must be installed.*\[files\]"):
        files = write_kit(MADE, tmp_path / "kit")
    assert [path.name for path in files][-1] == "entry.csv"
    with pytest.raises(MissingExtraError, match=r"openpyxl must be installed.*\[files\]"):
        read_rows(tmp_path / "x.xlsx")


def test_numbers_on_the_sheets_are_those_of_the_survey(tmp_path) -> None:
    write_kit(MADE, tmp_path, copies=2)
    form = (tmp_path / "form.en.html").read_text(encoding="utf-8")
    numbers = {part.partition("\u2069")[0].replace(" ", "") for part in form.split("\u2066")[1:]}
    assert len(numbers) == 2
    assert all(is_serial(MADE, number) for number in numbers)
