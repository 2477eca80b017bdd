"""The paper kit: a folder with the pages to print in each language, and tables for data entry."""

from collections.abc import Sequence
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Any

from toolkit.core.checks import check_choice, check_integer, reject, warn
from toolkit.core.extras import MissingExtraError, extra
from toolkit.core.tables import escape_formulas
from toolkit.survey.exchange.raw_files import cell_text, text_rows, workbook
from toolkit.survey.paper.coding import (
    MODULUS,
    NO_ANSWER,
    NumberCell,
    box_codes,
    codes_with_labels,
    serial_numbers,
    serial_remainder,
)
from toolkit.survey.paper.sheets import printable_survey, printed_pages, sheet_questions
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey

SERIAL = "serial"
_MOST_COPIES = 10_000
_LONGEST_LIST = 250  # maximum number of characters that spreadsheets accept for a list of values


def write_kit(survey: Survey, folder: str | Path, *, copies: int = 1, language: str | None = None) -> list[Path]:
    """Write the pages to print and the tables for data entry; return the new files.

    There are `copies` sheets in each language.
    """
    printable, _ = printable_survey(survey)
    languages = survey.languages if language is None else (check_choice(language, "language", survey.languages),)
    n_each = check_integer(copies, "copies", maximum=_MOST_COPIES)
    serials = serial_numbers(survey, n_each * len(languages))
    pages: dict[str, str] = {}
    for index, code in enumerate(languages):
        pages |= printed_pages(printable, code, serials[index * n_each : (index + 1) * n_each], survey.hash)
    files = {name: text.encode() for name, text in pages.items()}
    names = ",".join([SERIAL, *(question.name for question in sheet_questions(printable))])
    files["entry.csv"] = f"{names}\r\n".encode("utf-8-sig")  # the BOM makes spreadsheets use UTF-8
    try:
        files["entry.xlsx"] = _entry_workbook(printable, serial_remainder(survey), len(serials))
    except MissingExtraError as problem:
        warn(f"entry.xlsx is not written: {problem}")
    target = Path(folder)
    if existing := [name for name in files if (target / name).exists()]:
        rule = "`folder` must not contain any of the files yet"
        reject(rule, existing[0], "files are not overwritten, as they may contain entries", FileExistsError)
    target.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (target / name).write_bytes(content)
    return [target / name for name in files]


def _entry_workbook(survey: Survey, remainder: int, n_sheets: int) -> bytes:
    """Return the entry table as a workbook with input validation and a second sheet that lists all codes."""
    book = extra("openpyxl").Workbook()
    table, codes, last = book.active, book.create_sheet("codes"), max(n_sheets, 500) + 1
    table.title = "entry"
    table.append([SERIAL, *(question.name for question in sheet_questions(survey))])
    table.freeze_panes = "B2"
    rule = f"AND(ISNUMBER(A2),MOD(A2,{MODULUS})={remainder},COUNTIF($A$2:$A${last},A2)=1)"
    _add_validation(
        table, f"A2:A{last}", "custom", rule, "Not the number of a sheet of this survey, or a repeated number."
    )
    codes.append(["question", "code", *survey.languages])
    for column, question in enumerate(sheet_questions(survey), start=2):
        letter = extra("openpyxl.utils").get_column_letter(column)
        cells = f"{letter}2:{letter}{last}"
        for number, labels in codes_with_labels(question, survey.languages, survey.words):
            codes.append([question.name, number, *map(escape_formulas, labels)])
        if (checked := _validation_rule(question, f"{letter}2")) is not None:
            prompt = f"A code of the sheet (see the sheet codes), or {NO_ANSWER} if it has no answer there."
            _add_validation(table, cells, "list" if checked.startswith('"') else "custom", checked, prompt)
    file = BytesIO()
    book.save(file)
    return file.getvalue()


def _validation_rule(question: Question, cell: str) -> str | None:
    """Return the validation rule of a question: one of the codes, or a number in its range."""
    if question.kind == "choice":
        code_list = f'"{",".join(map(str, [*box_codes(question), NO_ANSWER]))}"'
        return code_list if len(code_list) <= _LONGEST_LIST else None
    if question.bounds is None:
        return None
    low, high = map(float, question.bounds)
    conditions = [
        f"ISNUMBER({cell})",
        f"{cell}>={low!r}",
        f"{cell}<={high!r}",
        *([f"MOD({cell},1)=0"] * question.whole),
    ]
    return f'OR({cell}="{NO_ANSWER}",AND({",".join(conditions)}))'


def _add_validation(table: Any, cells: str, kind: str, rule: str, message: str) -> None:
    validation = extra("openpyxl.worksheet.datavalidation").DataValidation(
        type=kind, formula1=rule, allow_blank=True, showErrorMessage=True, errorTitle="entry", error=message
    )
    validation.add(cells)
    table.add_data_validation(validation)


def read_rows(path: str | Path) -> list[list[str]]:
    """Read the rows of a .csv or .xlsx file as text, with the column names first."""
    source = Path(path)
    if source.suffix == ".xlsx":
        rows: Sequence[Sequence[Any]] = [*zip(*zip_longest(*next(iter(workbook(source).values()))), strict=True)]
    else:
        rows = text_rows(source, ",;\t")
    return [[(NumberCell if isinstance(cell, float) else str)(cell_text(cell)) for cell in row] for row in rows]
