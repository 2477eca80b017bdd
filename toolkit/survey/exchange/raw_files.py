"""Reading the files of other programs as tables, together with the labels of codes and columns."""

import csv
import io
import json
import re
import struct
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from toolkit.analysis.reports import cell_key
from toolkit.core.checks import reject, warn
from toolkit.core.extras import extra
from toolkit.survey.exchange.json_records import json_records
from toolkit.survey.export import METADATA
from toolkit.survey.questions.strict_json import loads
from toolkit.survey.stat_files import whole_number

if TYPE_CHECKING:
    import pandas as pd

_TEXTS = (".csv", ".tsv", ".txt")
SUFFIXES = (*_TEXTS, ".json", ".xlsx", ".sav", ".dta", ".parquet", ".feather")
_MOST_UNPACKED = 500_000_000
_MOST_COLUMNS = 32_767
"""The largest number of columns that SPSS allows, which no survey reaches."""

_MOST_CELLS = 50_000_000
"""A million people and fifty columns, which is about the largest table that fits in a laptop's memory."""

MOST_DIGITS = 4000  # the largest number of digits of an integer in a codebook, as in a survey's file
_STATA = b"<stata_dta>"
_STATA_WIDTHS = {251: 1, 252: 2, 253: 4, 254: 4, 255: 8}  # bytes per number, by type; the length of strings varies
_STATA_7_WIDTHS = dict(zip(b"bilfd", (1, 2, 4, 4, 8), strict=True)) | {kind: kind - 127 for kind in range(128, 256)}
_SPSS_ROWS = slice(80, 84)  # the number of rows; all bits are 1 if it is not stated
_ROW = re.compile(rb"<(?:\w+:)?row[\s/>]")
_STATED_SEPARATOR = re.compile(r'"?sep=([,;\t|])"?(?:\r\n|\r|\n)', re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"?')
_REPEATED = re.compile(r"complete\?|survey timestamp|survey identifier", re.IGNORECASE)
"""Columns that REDCap writes once for each form under the same label."""

_NO_VALUE = re.compile(
    rb"""<(?:\w+:)?c\s(?![^>]{0,200}t=.str)[^>]{0,200}>
    <(?:\w+:)?f(?:[^>]{0,200}/>|[^>]{0,200}>[^<]*</(?:\w+:)?f>)(?:<(?:\w+:)?v\s?/>|<(?:\w+:)?v></(?:\w+:)?v>)?
    </(?:\w+:)?c>""",
    re.VERBOSE,
)
"""A pattern for a formula whose result was not stored. If the result is an empty text, the cell states its type."""

_NOTHING = "nothing was read"


@dataclass(frozen=True, eq=False)
class RawTable:
    """The cells of a file, and the file's information about its columns.

    In `frame` the values that the file declares as missing are missing; `declared` contains the columns with such
    values as they are stored. For each column, `labels` contains the labels of its codes and `texts` contains the
    wording of its question. `book` is the codebook. `defused` states whether formulas were prefixed with apostrophes,
    and `has_import_ids` whether Qualtrics wrote the file.
    """

    frame: "pd.DataFrame"
    labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    declared: Mapping[str, "pd.Series[Any]"] = field(default_factory=dict)
    book: Mapping[str, Any] | None = None
    defused: bool = False
    has_import_ids: bool = False

    def rows(self, mask: Sequence[bool]) -> "RawTable":
        """Return the rows for which the mask is true."""
        declared = {name: column[mask].reset_index(drop=True) for name, column in self.declared.items()}
        return replace(self, frame=self.frame[mask].reset_index(drop=True), declared=declared)

    def cells(self, column: str, codes: Iterable[Any] = ()) -> list[Any]:
        """Return a column; values that are declared as missing are missing unless they are among `codes`."""
        cells = list(self.frame[column])
        if column not in self.declared:
            return cells
        keys = {cell_key(code) for code in codes}
        stored_cells = zip(cells, self.declared[column], strict=True)
        return [stored if cell_key(stored) in keys else cell for cell, stored in stored_cells]


def read_table(path: str | Path) -> RawTable:
    """Return the table in a file; in a text file every cell is a string, and empty cells are missing."""
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        reject(f"a file of reports must end in {', '.join(SUFFIXES)}", repr(file.suffix), _NOTHING)
    _check_exists(file)
    book = _codebook_beside(file)
    if suffix in _TEXTS:
        table = _from_rows(file, [row for row in text_rows(file, ",;\t|") if row])
        table = replace(table, defused=book is not None)
    elif suffix == ".json":
        table = _from_json(file)
    elif suffix == ".xlsx":
        table = _from_rows(file, sheets(file)[""])
    elif suffix in (".sav", ".dta"):
        table = _from_stat(file, suffix)
    else:
        table = _from_arrow(file, suffix)
    if not len(table.frame.columns) or not len(table.frame):
        reject("a file of reports must have a head and rows", "none", _NOTHING)
    return replace(table, book=table.book or book)


def _check_exists(file: Path) -> None:
    if not file.is_file():
        reject("the file must exist", f"no file {file.name!r} in {str(file.parent)!r}", _NOTHING, FileNotFoundError)


def _codebook_beside(file: Path) -> Any:
    beside = file.with_name(f"{file.stem}.codebook.json")
    if not beside.is_file():
        return None
    try:
        return dict(loads(beside.read_bytes(), max_digits=MOST_DIGITS))
    except (ValueError, TypeError):
        _reject_file(beside, "something else")


def _reject_file(file: Path, why: str) -> NoReturn:
    reject(f"{file.name} must be a complete {file.suffix} file", why, f"{_NOTHING}; export it again")


def _check_size(file: Path, rows: int, columns: int) -> None:
    """Reject a table that would take minutes to read or exhaust the memory, as soon as its size is known."""
    if columns > _MOST_COLUMNS:
        reject(
            f"{file.name} must have at most {_MOST_COLUMNS:,} columns",
            f"{columns:,}",
            f"{_NOTHING}; export only the columns of the questions",
        )
    if rows * columns > _MOST_CELLS:
        _reject_size(file, f"{rows:,} rows of {columns:,} columns")


def _reject_size(file: Path, received: str) -> NoReturn:
    advice = "export only the columns of the questions, or fewer rows at a time"
    reject(f"{file.name} must have at most {_MOST_CELLS:,} cells", received, f"{_NOTHING}; {advice}")


def _check_names(names: Sequence[str]) -> None:
    if doubled := sorted(name for name, times in Counter(names).items() if name and times > 1):
        rule = "each column must have a unique name"
        reject(rule, f"{', '.join(doubled[:5])} more than once", f"{_NOTHING}; rename or remove them")


def text_rows(file: Path, separators: str) -> list[list[str]]:
    """Return the rows of a text file in UTF-8, or in UTF-16 if it has a byte order mark.

    The separator may be stated in a first line such as `sep=;`, which Excel writes. Otherwise it is the most frequent
    separator in the first line outside of quotation marks.
    """
    text = _text(file)
    if stated := _STATED_SEPARATOR.match(text):
        separator, text = stated[1], text[stated.end() :]
    else:
        first_line = text.partition("\n")[0]
        separator = max(separators, key=(_QUOTED.sub("", first_line) or first_line).count)
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as problem:
        if "field limit" in str(problem):
            rule = f"a cell of {file.name} must have at most {csv.field_size_limit():,} characters"
            reject(rule, "a longer one", f"{_NOTHING}; a quotation mark may lack its pair")
        _reject_file(file, "one with unmatched quotation marks")


def _text(file: Path) -> str:
    raw = file.read_bytes()
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        reject(f"{file.name} must be in UTF-8", "another encoding", f"{_NOTHING}; save it as UTF-8")
    if "\0" in text:
        _reject_file(file, "one with bytes that are not text")
    return text.lstrip("\ufeff")


def _from_json(file: Path) -> RawTable:
    """Return the table of the objects in a JSON file; a key that an object lacks is missing there."""
    text = _text(file)
    try:
        records = json_records(text, max_digits=MOST_DIGITS)
    except ValueError:
        _reject_file(file, "something else than objects with one key per column")
    names = list(dict.fromkeys(name for record in records for name in record))
    _check_size(file, len(records), len(names))
    cells = [[record.get(name) for name in names] for record in records]
    return RawTable(extra("pandas", "collect").DataFrame(cells, columns=names, dtype=object))


def _from_rows(file: Path, rows: list[Any]) -> RawTable:
    """Return the table of a header and its rows; Qualtrics writes two more headers, with questions and import ids."""
    if not rows:
        reject("a file of reports must have a head and rows", "none", _NOTHING)
    head = _numbered([str("" if cell is None else cell).strip() for cell in rows[0]])
    width = len(head)
    _check_size(file, len(rows), width)
    _check_names(head)
    if ragged := sum(len(row) != width for row in rows[1:]):
        reject(f"each row must have {width} cells like the header", f"{ragged:,} with another number", _NOTHING)
    has_import_ids = len(rows) > 2 and _is_import_row(rows[2])
    texts = {name: str(cell or "") for name, cell in zip(head, rows[1], strict=True)} if has_import_ids else {}
    cells = [[None if cell == "" else cell for cell in row] for row in rows[3 if has_import_ids else 1 :]]
    frame = extra("pandas", "collect").DataFrame(cells, columns=head, dtype=object)
    return RawTable(frame[[name for name in head if name]], texts=texts, has_import_ids=has_import_ids)


def _numbered(head: list[str]) -> list[str]:
    """Number the columns that REDCap repeats for each form."""
    counts = Counter[str]()
    for index, name in enumerate(head):
        if _REPEATED.fullmatch(name):
            counts[name] += 1
            head[index] = name if counts[name] == 1 else f"{name} ({counts[name]})"
    return head


def _is_import_row(row: Any) -> bool:
    """Return whether a row has the import ids of Qualtrics."""
    with suppress(ValueError, TypeError, RecursionError):
        return any("ImportId" in json.loads(cell) for cell in row if cell)
    return False


def sheets(file: Path) -> dict[str, list[Any]]:
    """Return the nonempty rows of each sheet of an .xlsx file by its name; the key "" stands for the first sheet."""
    filled = {name: _trimmed(rows) for name, rows in workbook(file).items()}
    return {"": next(iter(filled.values()), []), **filled}


def workbook(file: Path) -> dict[str, list[Any]]:
    """Return all rows of each sheet of an .xlsx file by its name, even if the file states a different number of rows.

    A file that unpacks to more than half a gigabyte, or defines entities, is rejected before it is read. A sheet is
    rejected if the reader would skip some of its rows, or if it contains formulas without results.
    """
    load = extra("openpyxl").load_workbook
    _check_exists(file)
    try:
        with zipfile.ZipFile(file) as packed:
            _check_parts(file, packed)
        with _quoting_nothing(file):
            book = load(file, read_only=True, data_only=True)
        rows = {sheet.title: _sheet_rows(file, sheet) for sheet in book.worksheets}
        book.close()
    except (zipfile.BadZipFile, KeyError, EOFError, OSError, SyntaxError):
        _reject_file(file, "something else")
    return rows


@contextmanager
def _quoting_nothing(file: Path) -> Iterator[None]:
    """Replace the errors of a reader, because they quote the cells that it cannot read."""
    try:
        yield
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError):
        try:
            _reject_file(file, "one with a value that does not match its type")
        except ValueError as sentence:
            raise sentence from None


def _check_parts(file: Path, packed: zipfile.ZipFile) -> None:
    if sum(member.file_size for member in packed.infolist()) > _MOST_UNPACKED:
        reject(f"{file.name} must unpack to at most {_MOST_UNPACKED:,} bytes", "more", _NOTHING)
    for member in packed.infolist():
        with packed.open(member) as stream:
            if member.filename.endswith((".xml", ".rels")) and b"<!DOCTYPE" in stream.read(4096).upper():
                reject(f"{file.name} must define no entities", "a document type", _NOTHING)


def _sheet_rows(file: Path, sheet: Any) -> list[Any]:
    """Return the rows of a sheet; reject the sheet if the reader skips some of them."""
    sheet.reset_dimensions()  # other programs write wrong dimensions, and the reader would trust them
    rows, cells, filled = list[Any](), 0, 0
    for row in _foreign_rows(file, sheet):
        cells += len(row) + 1  # empty rows also take time
        if cells > _MOST_CELLS:
            _reject_size(file, "more")
        filled += isinstance(row, tuple)  # for a row that is missing from the file, the reader returns a list
        rows.append(list(row))
    with sheet._get_source() as source:
        text = source.read()
    if (stored := len(_ROW.findall(text))) != filled:
        rule = f"the rows of the sheet {sheet.title!r} must have distinct numbers in ascending order"
        reject(
            rule, f"{stored:,} rows, of which {filled:,} have", f"{_NOTHING}; save it again in a spreadsheet program"
        )
    if empty := len(_NO_VALUE.findall(text)):
        rule = f"the formulas in the sheet {sheet.title!r} must have been computed"
        reject(rule, f"{empty:,} without a value", f"{_NOTHING}; save it again in a spreadsheet program")
    return rows


def _foreign_rows(file: Path, sheet: Any) -> Iterator[Any]:
    with _quoting_nothing(file):
        yield from sheet.iter_rows(values_only=True)


def cell_text(cell: object) -> str:
    return "" if cell is None else str(whole_number(cell)).strip()


def _trimmed(rows: list[list[Any]]) -> list[list[Any]]:
    """Return the nonempty rows, without columns that have no header."""
    filled = [row for row in rows if any(cell not in (None, "") for cell in row)]
    width = max((index for row in filled[:1] for index, cell in enumerate(row, 1) if cell not in (None, "")), default=0)
    return [(row + [None] * width)[:width] for row in filled]


def _from_stat(file: Path, suffix: str) -> RawTable:
    """Return the table in an SPSS or Stata file; values that the file declares as missing are missing."""
    program = extra("pyreadstat")
    raw = file.read_bytes()
    # The reader does not notice that a file is truncated, or that it has more rows than it states.
    if suffix == ".dta" and (
        b"</stata_dta>" not in raw[-64:] if raw.startswith(_STATA) else not _ends_with_labels(raw)
    ):
        _reject_file(file, "one that is truncated, or has a different number of rows than it states")
    reader = program.read_sav if suffix == ".sav" else program.read_dta
    try:
        _, meta = reader(io.BytesIO(raw), metadataonly=True)
        _check_size(file, meta.number_rows or 0, meta.number_columns)
        most = _MOST_CELLS // max(meta.number_columns, 1) + 1
        stored, meta = reader(io.BytesIO(raw), row_limit=most, user_missing=True)
        _check_size(file, len(stored), len(stored.columns))
        if suffix == ".sav":
            _check_rows(file, raw, len(stored))
    except (program.ReadstatError, program.PyreadstatError, UnicodeDecodeError):
        _reject_file(file, "one that is truncated or has another format")
    frame, declared = stored.copy(), {}
    for name in {*meta.missing_ranges, *meta.missing_user_values}:
        is_declared = _declared_missing(meta.missing_ranges.get(name, ()), meta.missing_user_values.get(name, ()))
        column = stored[name].mask(stored[name].map(is_declared).astype(bool))
        frame[name], declared[name] = column.infer_objects(), stored[name]
    texts = {name: text for name, text in meta.column_names_to_labels.items() if text}
    return RawTable(frame, meta.variable_value_labels, texts, declared)


def _declared_missing(ranges: Sequence[Mapping[str, Any]], letters: Sequence[str]) -> Callable[[Any], bool]:
    """Return a predicate for cells that SPSS declares as missing by a range, or Stata by a letter."""

    def is_declared(cell: Any) -> bool:
        limits = ((limit["lo"], limit["hi"]) for limit in ranges)
        return cell in letters or any(isinstance(cell, type(low)) and low <= cell <= high for low, high in limits)

    return is_declared


def _ends_with_labels(raw: bytes) -> bool:
    """Return whether a file from Stata 7 to 12 ends after the stated number of rows and the tables of labels.

    The layout is described in `help dta_115`: a header, six descriptions of each column, expansion fields, rows, and
    tables. Files from other releases are accepted.
    """
    release = raw[0] if raw else 0
    if release not in (110, 113, 114, 115):
        return True
    order, formats = "<" if raw[1:2] == b"\x02" else ">", 12 if release < 114 else 49
    widths_by_type = _STATA_7_WIDTHS if release == 110 else _STATA_WIDTHS
    with suppress(struct.error):
        columns, rows = struct.unpack_from(f"{order}hi", raw, 4)
        widths = [widths_by_type.get(kind, kind) for kind in raw[109 : 109 + columns]]
        end, field = 109 + columns * (1 + 33 + 2 + formats + 33 + 81) + 2, (1, 0)
        while field != (0, 0):
            field = struct.unpack_from(f"{order}bi", raw, end)
            end += 5 + max(field[1], 0)
        end += rows * sum(widths)
        while 0 <= end < len(raw):
            end += 4 + 36 + max(struct.unpack_from(f"{order}i", raw, end)[0], 0)
        return bool(end == len(raw))
    return False


def _check_rows(file: Path, raw: bytes, rows: int) -> None:
    """Reject an SPSS file with more rows than it states, because its reader would ignore the others."""
    unstated = b"\xff" * 4
    if raw[_SPSS_ROWS] == unstated:
        advice = "compare this number with the program that wrote the file, since truncation would not be noticed"
        warn(f"{file.name} does not state how many rows it has. {rows:,} were read: {advice}.")
        return
    endless = io.BytesIO(raw[: _SPSS_ROWS.start] + unstated + raw[_SPSS_ROWS.stop :])
    more, _ = extra("pyreadstat").read_sav(endless, row_offset=rows, row_limit=1)
    if len(more):
        rule = f"{file.name} must have as many rows as it states"
        reject(rule, f"more than {rows:,}", f"{_NOTHING}; export it again")


def _from_arrow(file: Path, suffix: str) -> RawTable:
    arrow = extra("pyarrow")
    try:
        table = _from_parquet(file) if suffix == ".parquet" else _from_feather(file)
    except (arrow.ArrowException, OSError):
        _reject_file(file, "one that is truncated or has another format")
    text = (table.schema.metadata or {}).get(METADATA)
    try:
        book = loads(text, max_digits=MOST_DIGITS) if text else None
    except ValueError:
        _reject_file(file, "one whose codebook cannot be read")
    return RawTable(table.to_pandas(), book=book)


def _from_parquet(file: Path) -> Any:
    """Read a Parquet file after checking the size of its strings, which are first read as dictionaries.

    The check is necessary because a few hundred bytes can expand to more text than fits into memory.
    """
    arrow, reader = extra("pyarrow"), extra("pyarrow.parquet").ParquetFile
    kinds = [getattr(arrow, name)() for name in ("string", "large_string", "string_view", "binary", "large_binary")]
    with reader(file) as whole:
        facts, names = whole.metadata, whole.schema_arrow.names
        groups = [facts.row_group(index) for index in range(facts.num_row_groups)]
        values = sum(group.column(index).num_values for group in groups for index in range(facts.num_columns))
        _check_size(file, max(facts.num_rows, -(-values // max(facts.num_columns, 1))), facts.num_columns)
        _check_names(names)
        texts = [field.name for field in whole.schema_arrow if field.type in kinds]
        with reader(file, read_dictionary=texts) as short:
            packed = short.read()
            if packed.nbytes + sum(_text_bytes(packed[name]) for name in texts) > _MOST_UNPACKED:
                reject(f"{file.name} must unpack to at most {_MOST_UNPACKED:,} bytes", "more", _NOTHING)
        table = whole.read()
    if len(table) != facts.num_rows:
        rule = f"{file.name} must have as many rows as it states"
        reject(rule, f"{len(table):,} instead of {facts.num_rows:,}", f"{_NOTHING}; export it again")
    return table


def _text_bytes(column: Any) -> int:
    """Return the total length of the strings in a column, computed from its dictionaries."""
    compute = extra("pyarrow.compute")
    lengths = (compute.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks)
    return sum(compute.sum(some).as_py() or 0 for some in lengths)


def _from_feather(file: Path) -> Any:
    with file.open("rb") as stream:
        is_first_edition = stream.read(4) == b"FEA1"  # the first edition of the format has no compression
    if not is_first_edition:
        with extra("pyarrow.ipc").open_file(file) as whole:
            names = whole.schema.names
        _check_names(names)
        _check_size(file, extra("pyarrow.dataset").dataset(file, format="feather").count_rows(), len(names))
    return extra("pyarrow.feather").read_table(file)
