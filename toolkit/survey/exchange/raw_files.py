"""Tables as other programs wrote them: cells, and the labels that a file has for its codes; nothing is guessed."""

import csv
import io
import json
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from toolkit.core.checks import refuse
from toolkit.core.extras import extra
from toolkit.survey.export import METADATA

if TYPE_CHECKING:
    import pandas as pd

_TEXTS = (".csv", ".tsv", ".txt")
SUFFIXES = (*_TEXTS, ".xlsx", ".sav", ".dta", ".parquet", ".feather")
_MOST_UNPACKED = 500_000_000
_STATA = b"<stata_dta>"
_NOTHING = "nothing was read"


@dataclass(frozen=True)
class RawTable:
    """Cells and labels of codes by column; the codebook, if there is one; whether apostrophes were added to texts."""

    frame: "pd.DataFrame"
    labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    book: Mapping[str, Any] | None = None
    defused: bool = False


def read_table(path: str | Path) -> RawTable:
    """Return the table in a file; of text every cell is a text, and an empty one is missing."""
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        refuse(f"a file of reports must end in {', '.join(SUFFIXES)}", repr(file.suffix), _NOTHING)
    _check_there(file)
    labels: Mapping[str, Mapping[Any, str]] = {}
    book = _book_beside(file)
    if suffix in _TEXTS:
        frame = _from_text(file)
    elif suffix == ".xlsx":
        frame = _from_rows(sheets(file)[""])
    elif suffix in (".sav", ".dta"):
        frame, labels = _from_stat(file, suffix)
    else:
        frame, own = _from_arrow(file, suffix)
        book = own or book
    if not len(frame.columns) or not len(frame):
        refuse("a file of reports must have a head and rows", "none", _NOTHING)
    return RawTable(frame, labels, book, defused=suffix in _TEXTS and book is not None)


def _check_there(file: Path) -> None:
    if not file.is_file():
        refuse("the file must be there", f"no file {file.name!r} in {str(file.parent)!r}", _NOTHING, FileNotFoundError)


def _book_beside(file: Path) -> Any:
    beside = file.with_name(f"{file.stem}.codebook.json")
    if not beside.is_file():
        return None
    try:
        return dict(json.loads(beside.read_bytes()))
    except (ValueError, TypeError):
        _unreadable(beside, "something else")


def _unreadable(file: Path, why: str) -> NoReturn:
    refuse(f"{file.name} must be a whole {file.suffix} file", why, f"{_NOTHING}; export it again")


def _from_text(file: Path) -> "pd.DataFrame":
    """Separated by what separates its first line; in UTF-8, or UTF-16 if it says so."""
    raw = file.read_bytes()
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        refuse(f"{file.name} must be in UTF-8", "another encoding", f"{_NOTHING}; save it as CSV UTF-8")
    if "\0" in text:
        _unreadable(file, "one with bytes that are no text")
    text = text.lstrip("\ufeff")
    first = text.partition("\n")[0]
    separator = max(",;\t|", key=first.count)
    csv.field_size_limit(10_000_000)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error:
        _unreadable(file, "one whose quotes do not match")
    return _from_rows([row for row in rows if row])


def _from_rows(rows: list[Any]) -> "pd.DataFrame":
    """A head and its rows; without the two rows in which Qualtrics repeats the question and its own number."""
    if not rows:
        refuse("a file of reports must have a head and rows", "none", _NOTHING)
    head = [str("" if cell is None else cell).strip() for cell in rows[0]]
    if doubled := sorted({name for name in head if name and head.count(name) > 1}):
        rule = "each column must have a name of its own"
        refuse(rule, f"{', '.join(doubled[:5])} more than once", f"{_NOTHING}; rename or remove them")
    width = len(head)
    if ragged := sum(len(row) != width for row in rows[1:]):
        refuse(f"each row must have {width} cells, as the head has", f"{ragged:,} with another number", _NOTHING)
    start = 3 if len(rows) > 2 and _is_import_row(rows[2]) else 1
    cells = [[None if cell == "" else cell for cell in row] for row in rows[start:]]
    frame = extra("pandas").DataFrame(cells, columns=head, dtype=object)
    return frame[[name for name in head if name]]


def _is_import_row(row: Any) -> bool:
    """Whether Qualtrics numbers its columns here."""
    with suppress(ValueError, TypeError):
        return any("ImportId" in json.loads(cell) for cell in row if cell)
    return False


def sheets(file: Path) -> dict[str, list[Any]]:
    """Return the rows that hold something of each sheet of an .xlsx file by its name, of the first one by "" too."""
    filled = {name: _trimmed(rows) for name, rows in workbook(file).items()}
    return {"": next(iter(filled.values()), []), **filled}


def workbook(file: Path) -> dict[str, list[Any]]:
    """Return all rows of each sheet of an .xlsx file by its name. What unpacks to more than half a gigabyte, or defines
    entities, is refused before it is read.
    """
    load = extra("openpyxl").load_workbook
    _check_there(file)
    try:
        with zipfile.ZipFile(file) as packed:
            if sum(part.file_size for part in packed.infolist()) > _MOST_UNPACKED:
                refuse(f"{file.name} must unpack to at most {_MOST_UNPACKED:,} bytes", "more", _NOTHING)
            for part in packed.infolist():
                with packed.open(part) as stream:
                    if part.filename.endswith((".xml", ".rels")) and b"<!DOCTYPE" in stream.read(4096).upper():
                        refuse(f"{file.name} must define no entities", "a document type", _NOTHING)
        book = load(file, read_only=True, data_only=True)
        rows = {sheet.title: [list(row) for row in sheet.iter_rows(values_only=True)] for sheet in book.worksheets}
        book.close()
    except (zipfile.BadZipFile, KeyError, EOFError, OSError):
        _unreadable(file, "something else")
    return rows


def whole_number(value: Any) -> Any:
    """Return a whole number as one, where a program made a float of it; all else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def cell_text(cell: object) -> str:
    return "" if cell is None else str(whole_number(cell)).strip()


def _trimmed(rows: list[list[Any]]) -> list[list[Any]]:
    """Without empty rows, and without columns that have no head."""
    there = [row for row in rows if any(cell not in (None, "") for cell in row)]
    width = max((place for row in there[:1] for place, cell in enumerate(row, 1) if cell not in (None, "")), default=0)
    return [(row + [None] * width)[:width] for row in there]


def _from_stat(file: Path, suffix: str) -> tuple["pd.DataFrame", Mapping[str, Mapping[Any, str]]]:
    """What the file calls missing is missing."""
    program = extra("pyreadstat")
    reader = program.read_sav if suffix == ".sav" else program.read_dta
    with file.open("rb") as stream:
        start = stream.read(len(_STATA))
        stream.seek(-min(file.stat().st_size, 64), 2)
        if start == _STATA and b"</stata_dta>" not in stream.read():  # its reader would not miss what is cut off
            _unreadable(file, "one that is cut off")
    try:
        frame, meta = reader(str(file))
    except (program.ReadstatError, program.PyreadstatError, UnicodeDecodeError):
        _unreadable(file, "one that is cut off or of another kind")
    return frame, meta.variable_value_labels


def _from_arrow(file: Path, suffix: str) -> tuple["pd.DataFrame", Any]:
    arrow = extra("pyarrow")
    try:
        if suffix == ".parquet":
            with extra("pyarrow.parquet").ParquetFile(file) as whole:
                table = whole.read()
        else:
            table = extra("pyarrow.feather").read_table(file)
    except (arrow.ArrowException, OSError):
        _unreadable(file, "one that is cut off or of another kind")
    if doubled := sorted({name for name in table.column_names if table.column_names.count(name) > 1}):
        refuse("each column must have a name of its own", f"{', '.join(doubled[:5])} more than once", _NOTHING)
    text = (table.schema.metadata or {}).get(METADATA)
    return table.to_pandas(), json.loads(text) if text else None
