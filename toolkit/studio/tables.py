"""Confidential tables as files: their columns without a row, and their rows without an error that a cell decides.

A CSV file has no types. Its cells are text, and numbers in the columns of which the curator says so. Whether its first
line names the columns is asked, as it may be a person's record. A Parquet file has names and types in writing.
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
    """A column: `kind` is "text", "number" or "" for any other, `type` what a Parquet file calls it."""

    name: str
    kind: str
    type: str = ""


class TableFile:
    """A CSV or Parquet file with its schema.

    Parameters
    ----------
    path : Path
        Where it is.
    header : bool, optional
        Whether the first line of a CSV file names its columns; None if nobody has said.
    types : mapping
        "number" by name of a column of a CSV file; all others hold text.
    """

    def __init__(self, path: Path, header: bool | None, types: Mapping[str, str]) -> None:
        self.path = path
        self.is_csv = path.suffix.lower() != ".parquet"
        self.header = header if self.is_csv else True
        try:
            self.columns = _of_csv(path, header, types) if self.is_csv else _of_parquet(path)
        except (ValueError, csv.Error):
            _refuse_table(path)

    def schema(self) -> list[dict[str, str]]:
        """Return the columns as plain data."""
        return [asdict(column) for column in self.columns]

    def empty(self) -> Any:
        """Return a frame without rows: prices and noise follow from it, and nothing is read."""
        return (
            _frame(self.columns, []) if self.is_csv else extra("pyarrow.parquet").read_schema(self.path).empty_table()
        )

    def read(self) -> Any:
        """Return all rows. A cell of CSV that is not what its column holds is missing, whatever it is."""
        if self.is_csv:
            return _frame(self.columns, _rows(self.path, len(self.columns), skip=bool(self.header)))
        try:
            return extra("pyarrow.parquet").read_table(self.path)
        except Exception:
            _refuse_table(self.path)


def number(text: object) -> float:
    """Return a cell or a category as a number, NaN if it is none.

    >>> number(" 33 "), number("33 years"), number("1_000")
    (33.0, nan, nan)
    """
    try:
        return math.nan if "_" in str(text) else float(str(text))
    except ValueError:
        return math.nan


def _refuse_table(path: Path) -> NoReturn:
    """In words of our own: a reader's may quote a cell."""
    reject("a table must be readable", f"{path.name}, which is not", "save it anew as CSV or Parquet")


def _of_parquet(path: Path) -> list[FileColumn]:
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


def _of_csv(path: Path, header: bool | None, types: Mapping[str, str]) -> list[FileColumn]:
    """Columns by the names in the first line, or by their positions; none if it is not known which."""
    if header is None:
        return []
    first = next((record for record in _records(path) if record != []), None) or []  # never a later line: a record
    names = _distinct(first) if header else [f"column_{position}" for position in range(1, len(first) + 1)]
    return [FileColumn(name, "number" if types.get(name) == "number" else "text") for name in names]


def _distinct(names: Sequence[str]) -> list[str]:
    """Names of columns, each once: an empty one is named by its position, a repeated one gets a number."""
    taken: dict[str, None] = {}
    for position, name in enumerate(names, start=1):
        stem = candidate = name or f"column_{position}"
        repeat = 1
        while candidate in taken:
            repeat += 1
            candidate = f"{stem}.{repeat}"
        taken[candidate] = None
    return [*taken]


def _records(path: Path) -> Iterator[list[str] | None]:
    """The lines of a CSV file as cells; None for one that cannot be taken apart, such as one with a huge cell."""
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        reader = csv.reader(file)
        while True:
            try:
                yield next(reader)
            except StopIteration:
                return
            except csv.Error:
                yield None


def _rows(path: Path, width: int, *, skip: bool) -> Iterator[list[str]]:
    """All records with as many cells as there are columns, the first left out if it is to be skipped."""
    filled = (record for record in _records(path) if record != [])  # an empty line is no record
    for position, record in enumerate(filled):
        if position or not skip:
            fits = record is not None and not any(record[width:])
            yield [*(record or ()), *[""] * width][:width] if fits else [""] * width


def _frame(columns: Sequence[FileColumn], rows: Any) -> Any:
    pandas = extra("pandas", "collect")
    cells = [*zip(*rows, strict=True)] or [()] * len(columns)
    data = {
        column.name: pandas.Series([number(cell) for cell in values], dtype="float64")
        if column.kind == "number"
        else pandas.Series([cell or None for cell in values], dtype="object")
        for column, values in zip(columns, cells, strict=True)
    }
    return pandas.DataFrame(data)
