"""Confidential tables as files: the columns are read without any row, and no error reveals a cell.

A CSV file has no types. Its cells are text, or numbers in columns that the curator declares as numbers. The curator
also states whether the first line names the columns, because it may be a person's record. A Parquet file stores names
and types.
"""

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from toolkit.core.checks import reject
from toolkit.core.extras import extra


@dataclass(frozen=True)
class FileColumn:
    """A column of a file; `kind` is "text", "number" or "" for other kinds, and `type` is its Parquet type."""

    name: str
    kind: str
    type: str = ""


class TableFile:
    """A CSV or Parquet file with its schema.

    Parameters
    ----------
    path : Path
        The path of the file.
    header : bool, optional
        Whether the first line of a CSV file names its columns; None if this has not been determined.
    types : mapping
        The columns of a CSV file that hold numbers, as a mapping from name to "number"; all others hold text.
    """

    def __init__(self, path: Path, header: bool | None, types: Mapping[str, str]) -> None:
        self.path = path
        self.is_csv = path.suffix.lower() != ".parquet"
        self.header = header if self.is_csv else True
        try:
            self.columns = _csv_columns(path, header, types) if self.is_csv else _parquet_columns(path)
        except (ValueError, csv.Error):
            _reject_table(path)

    def schema(self) -> list[dict[str, str]]:
        """Return the columns as plain data."""
        return [asdict(column) for column in self.columns]

    def empty(self) -> Any:
        """Return a frame without rows, which is enough to compute privacy costs and noise."""
        return (
            _csv_frame(self.columns, [])
            if self.is_csv
            else extra("pyarrow.parquet").read_schema(self.path).empty_table()
        )

    def read(self) -> Any:
        """Return all rows. A CSV cell that does not fit the type of its column becomes missing."""
        if self.is_csv:
            return _csv_frame(self.columns, _data_rows(self.path, len(self.columns), skip_header=bool(self.header)))
        try:
            return extra("pyarrow.parquet").read_table(self.path)
        except Exception:
            _reject_table(self.path)


def number_or_nan(text: object) -> float:
    """Return a cell or a category as a number, or NaN if it is not a number.

    >>> number_or_nan(" 33 "), number_or_nan("33 years"), number_or_nan("1_000")
    (33.0, nan, nan)
    """
    try:
        return math.nan if "_" in str(text) else float(str(text))
    except ValueError:
        return math.nan


def _reject_table(path: Path) -> NoReturn:
    """Reject a file with a message that, unlike the parser's message, quotes no cell."""
    reject("a table must be readable", f"{path.name}, which is not", "save it again as CSV or Parquet")


def _parquet_columns(path: Path) -> list[FileColumn]:
    types = extra("pyarrow").types
    columns = []
    for entry in extra("pyarrow.parquet").read_schema(path):
        value = entry.type.value_type if types.is_dictionary(entry.type) else entry.type
        is_number = types.is_integer(value) or types.is_floating(value) or types.is_decimal(value)
        is_text = types.is_string(value) or types.is_large_string(value)
        columns.append(
            FileColumn(str(entry.name), "number" if is_number else "text" if is_text else "", str(entry.type))
        )
    return columns


def _csv_columns(path: Path, header: bool | None, types: Mapping[str, str]) -> list[FileColumn]:
    """Return the columns, named by the first line or by position; the list is empty if `header` is None."""
    if header is None:
        return []
    # Only empty lines are skipped. After an unreadable first line, the next line would be a person's record.
    first = next((record for record in _csv_records(path) if record != []), None) or []
    names = _distinct(first) if header else [f"column_{position}" for position in range(1, len(first) + 1)]
    return [FileColumn(name, "number" if types.get(name) == "number" else "text") for name in names]


def _distinct(names: Sequence[str]) -> list[str]:
    """Make column names unique: empty names are replaced by their position, and repeated names get a number."""
    taken: dict[str, None] = {}
    for position, name in enumerate(names, start=1):
        stem = candidate = name or f"column_{position}"
        repeat = 1
        while candidate in taken:
            repeat += 1
            candidate = f"{stem}.{repeat}"
        taken[candidate] = None
    return [*taken]


def _csv_records(path: Path) -> Iterator[list[str] | None]:
    """Yield the cells of each line of a CSV file; None for a line that cannot be parsed, such as a huge one."""
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        reader = csv.reader(file)
        while True:
            try:
                yield next(reader)
            except StopIteration:
                return
            except csv.Error:
                yield None


def _data_rows(path: Path, width: int, *, skip_header: bool) -> Iterator[list[str]]:
    """Yield all records with `width` cells; all cells of an unreadable or longer record are missing."""
    filled = (record for record in _csv_records(path) if record != [])  # empty lines are skipped
    for position, record in enumerate(filled):
        if position or not skip_header:
            fits = record is not None and not any(record[width:])
            yield [*(record or ()), *[""] * width][:width] if fits else [""] * width


def _csv_frame(columns: Sequence[FileColumn], rows: Any) -> Any:
    """Return a pandas frame of CSV cells; empty cells are missing."""
    pandas = extra("pandas", "collect")
    cells = [*zip(*rows, strict=True)] or [()] * len(columns)
    data = {
        column.name: pandas.Series([number_or_nan(cell) for cell in values], dtype="float64")
        if column.kind == "number"
        else pandas.Series([cell or None for cell in values], dtype="object")
        for column, values in zip(columns, cells, strict=True)
    }
    return pandas.DataFrame(data)
