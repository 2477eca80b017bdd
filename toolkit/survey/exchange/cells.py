"""Reading the cells of a question's columns as reports, from names of options, labels of codes, or ticked boxes."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, time
from itertools import chain
from typing import Any, NoReturn

from toolkit.analysis.reports import UNREADABLE, QuestionModel, Reader, cell_key
from toolkit.core.checks import is_missing, reject
from toolkit.core.tables import escape_formulas
from toolkit.survey.stat_files import EMPTY_REASONS, model_reports_sets, whole_number

_NOTHING = "nothing was read"
_TICKED = frozenset({"1", "true", "yes", "y", "x", "checked", "ticked", "quoted", "selected"})
_NOT_TICKED = frozenset(
    {"0", "false", "no", "n", "unchecked", "not checked", "not ticked", "not quoted", "not selected", "unselected"}
)
_OTHER = object()
"""The reading of a cell that names an option different from the option of its column."""

_SECOND = "2"
"""The code for an unticked box in files that code a ticked box as 1 and contain no 0."""


class OptionNames:
    """A lookup of options by exact name or, if it is unambiguous, by a name in any case or with a leading number."""

    def __init__(self, options: Sequence[Any], *lists: Sequence[Any]) -> None:
        self._exact, self._by_key, self._numbered = (defaultdict[str, set[Any]](set) for _ in range(3))
        for names in lists:
            for number, (name, option) in enumerate(zip(names, options, strict=True), 1):
                for text in (str(name), str(escape_formulas(name))):
                    self._exact[text].add(option)
                    self._by_key[cell_key(text)].add(option)
                    self._numbered[cell_key(f"{number}. {text}")].add(option)

    def __call__(self, text: object) -> Any:
        """Return the only option with this name, or None; "…" stands for the rest of a long name."""
        key = cell_key(text)
        options = self._exact.get(str(text)) or self._by_key.get(key) or self._numbered.get(key) or set()
        if not options and key.endswith("…"):
            entries = chain(self._by_key.items(), self._numbered.items())
            options = {option for name, matches in entries if name.startswith(key[:-1]) for option in matches}
        return next(iter(options)) if len(options) == 1 else None

    def unambiguous(self) -> dict[str, Any]:
        """Return the options by name, without names that several options share."""
        return {key: next(iter(options)) for key, options in self._by_key.items() if len(options) == 1 and key}


def split_options(text: str, names: Mapping[str, Any], separator: str) -> frozenset[Any] | None:
    """Return the options that a text names, or None if it cannot be read in exactly one way.

    Names may contain the separator: "beer, cold,wine" is "beer, cold" and "wine".
    """
    text, between, complete = cell_key(text), re.compile(separator), set[frozenset[Any]]()
    readings: dict[int, set[frozenset[Any]]] = {0: {frozenset()}}
    for start in range(len(text)):
        for name, option in names.items() if start in readings else ():
            if not text.startswith(name, start):
                continue
            sets = {options | {option} for options in readings[start] if option not in options}
            end = start + len(name)
            if end == len(text):
                complete |= sets
            elif match := between.match(text, end):
                # If the beginning can be read in two ways, the whole text is ambiguous.
                target = readings.setdefault(match.end(), set())
                target |= set(list(sets)[: max(2 - len(target), 0)])
    return complete.pop() if len(complete) == 1 else None


@dataclass(frozen=True)
class CellReader:
    """A reader of the cells of one question.

    `names` contains several lists of names for the options: the options themselves, the names in an exported form, the
    labels in each language, and finally the form names and labels together. `codes`, `missing` and `decimal` are
    arguments of `read_reports`.
    """

    name: str
    model: QuestionModel
    names: tuple[OptionNames, ...]
    codes: Mapping[Any, Any]
    missing: tuple[Any, ...]
    separator: str
    decimal: str | None = None

    def column(self, cells: Sequence[Any], labels: Mapping[Any, str], convert: Callable[[Any], Any]) -> list[Any]:
        """Read a column; an error message counts the cells that are not reports and never quotes them."""
        values = self.values(cells, labels)
        if strange := [cell for cell, value in zip(cells, values, strict=True) if value is UNREADABLE]:
            self._reject_cells(strange, len(cells))
        by_cell = dict(zip(cells, values, strict=True))
        is_text = any(isinstance(cell, str) and not cell.lstrip().startswith("[") for cell in by_cell)
        if model_reports_sets(self.model) and is_text and [] not in by_cell.values():
            self._check_blank(is_blank=None in by_cell.values(), codes=f"{{{self.name!r}: {{'': []}}}}")
        converted = {cell: convert(value) for cell, value in by_cell.items()}
        return [converted[cell] for cell in cells]

    def values(self, cells: Sequence[Any], labels: Mapping[Any, str]) -> list[Any]:
        """Return the report in each cell, None or UNREADABLE; each distinct cell is read only once."""
        cells = [None if is_missing(cell) else cell for cell in cells]
        different = list(dict.fromkeys(cells))
        by_code = self._meaning_by_code(different, labels)
        remaining = [cell for cell in different if cell is not None and _key(cell) not in by_code]
        if model_reports_sets(self.model):
            read = self._read_sets(remaining)
        elif self.model.report_options:
            read = self._read_choices(remaining, is_coded=bool(labels or self.codes))
        else:
            read = self._read_numbers(remaining)
        read |= {cell: by_code.get("" if cell is None else _key(cell)) for cell in different if cell not in read}
        return [read[cell] for cell in cells]

    def boxes(self, columns: Sequence[Sequence[Any]], labels: Sequence[Mapping[Any, str]]) -> list[Any]:
        """Read one column per option; return the positions of the ticked options in each row, or None."""
        words = [self._lowercase_texts(cells, by_code) for cells, by_code in zip(columns, labels, strict=True)]
        ticks = self._read_ticks(words)
        rows = list(zip(*ticks, strict=True))
        counts = Counter(rows)
        for kind, reject_rows in ((_OTHER, self._reject_options), (UNREADABLE, self._reject_ticks)):
            if strange := sum(count for row, count in counts.items() if kind in row):
                pairs = zip(chain(*ticks), chain(*columns), strict=True)
                kinds_of_cells = kinds(cell for tick, cell in pairs if tick is kind)
                reject_rows(f"{strange:,} of {len(rows):,} rows with something else ({kinds_of_cells})")
        read: dict[Any, Any] = {row: [index for index, tick in enumerate(row) if tick] for row in counts}
        read |= {row: None for row in counts if set(row) == {None}}
        is_explicit = any(False in row for row in counts)
        self._check_blank(is_blank=None in read.values() and not is_explicit, codes=f"{{{self.name!r}: {{'': False}}}}")
        accepted = {row: report is None or self.model._accepts(report) for row, report in read.items()}
        if strange := sum(count for row, count in counts.items() if not accepted[row]):
            rule = f"each row of the columns of {self.name!r} must be a report of its design"
            reject(rule, f"{strange:,} of {len(rows):,} rows with other options ticked", _NOTHING)
        return [read[row] for row in rows]

    def _read_ticks(self, words: Sequence[Sequence[str]]) -> list[list[Any]]:
        """Return whether each box is ticked; None if the cell is missing."""
        meaning, ticks = self._tick_meanings(words), []
        for texts, option in zip(words, self.model.options, strict=True):
            by_word: dict[str, Any] = {"": None, **meaning}
            for text in set(texts) - set(by_word):
                name = self._option_by_any_name(text)
                by_word[text] = UNREADABLE if name is None else name == option or _OTHER
            ticks.append([by_word[text] for text in texts])
        return ticks

    def _tick_meanings(self, words: Sequence[Sequence[str]]) -> dict[str, bool]:
        """Return which words in columns of boxes mean ticked or not ticked; all other words are names of options."""
        different = set(chain(*words))
        meaning = dict.fromkeys(_TICKED, True) | dict.fromkeys(_NOT_TICKED, False)
        if _SECOND in different and "0" not in different:
            meaning[_SECOND] = False
        by_caller = {_key(code): tick for code, tick in self.codes.items() if isinstance(tick, bool)}
        # A ticked box may contain the name of its option, which may be "0", "2" or "no".
        pairs = zip(words, self.model.options, strict=True)
        if not by_caller and all(
            self._option_by_any_name(text) == option for texts, option in pairs for text in set(texts) - {""}
        ):
            rows = zip(*words, strict=True)
            if any("" in row and set(row) != {""} for row in rows):
                return {}
            if any(meaning.get(text) is False for text in different):
                self._reject_ticks("words that may be names of options")
        return meaning | by_caller

    def _reject_options(self, received: str) -> NoReturn:
        options = self.model.options
        rule = f"each column of {self.name!r} must name only its own option"
        advice = f"give the column of each option, columns={{{self.name!r}: {{{options[0]!r}: '…', …}}}}"
        reject(rule, received, f"{_NOTHING}; {advice}")

    def _reject_ticks(self, received: str) -> NoReturn:
        rule = f"the columns of {self.name!r} must contain 1 for ticked and 0 for unticked boxes"
        advice = f"state the meaning of the codes, codes={{{self.name!r}: {{…: True, …: False}}}}"
        reject(rule, received, f"{_NOTHING}; {advice}, or which mean no answer, missing={{{self.name!r}: […]}}")

    def _lowercase_texts(self, cells: Sequence[Any], labels: Mapping[Any, str]) -> list[str]:
        """Return cells as lower-case strings, with labels in place of codes and empty strings for missing answers."""
        by_code = {_key(code): _key(label) for code, label in labels.items()}
        codes, missing = {_key(code) for code in self.codes}, {_key(code) for code in self.missing}
        texts = {}
        for cell in dict.fromkeys(cells):
            key = "" if is_missing(cell) else _key(cell)
            label = key if key in codes else "" if key in missing else by_code.get(key, key)
            texts[cell] = "" if label in EMPTY_REASONS else label
        return [texts[cell] for cell in cells]

    def _check_blank(self, *, is_blank: bool, codes: str) -> None:
        """Reject empty cells that may be reports: randomized sets may be empty, and omitting them would bias shares."""
        if is_blank and self.model.loss is not None and self.model._accepts([]) and "" not in self.missing:
            rule = f"the file must distinguish empty reports of {self.name!r} from missing reports"
            advice = f"state that they are reports, codes={codes}, or missing, missing={{{self.name!r}: ['']}}"
            reject(rule, "empty cells", f"{_NOTHING}; {advice}")

    def _meaning_by_code(self, different: Sequence[Any], labels: Mapping[Any, str]) -> dict[str, Any]:
        """Return the meaning of each code, from the caller's `codes`, then `missing`, then the labels in the file."""
        plain = Reader(self.name, self.model)
        by_caller = {
            _key(code): self._report_of_label(plain, self._option_by_any_name, label)
            for code, label in self.codes.items()
        }
        if UNREADABLE in by_caller.values():
            rule = f"the codes of {self.name!r} must stand for its answers{self._options_text()}"
            reject(rule, "something else", _NOTHING)
        by_code: dict[str, Any] = dict.fromkeys(map(_key, self.missing)) | by_caller
        present = {_key(cell) for cell in different if cell is not None}
        in_file = {_key(code): label for code, label in labels.items()}
        in_file = {key: label for key, label in in_file.items() if key in present and key not in by_code}
        own_names, _, *languages, _ = self.names
        names = self._first_matching_list(
            [label for label in in_file.values() if _key(label) not in EMPTY_REASONS], [*languages, own_names]
        )
        read = {key: self._report_of_label(plain, names, label) for key, label in in_file.items()}
        if strange := sum(value is UNREADABLE for value in read.values()):
            rule = f"the labels of codes for {self.name!r} must be among its answers{self._options_text()}"
            reject(rule, f"{strange:,} other labels", f"{_NOTHING}; {self._codes_advice()}")
        return by_code | read

    def _report_of_label(self, reader: Reader, names: Callable[[object], Any], label: object) -> Any:
        """Return the report that a label stands for, or UNREADABLE."""
        is_set = model_reports_sets(self.model)
        option = None if isinstance(label, bool | list) else names(label)
        if (option is None and label in EMPTY_REASONS) or (is_set and isinstance(label, bool)):
            return None
        if option is None:
            return reader.read(label)
        return [self.model.options.index(option)] if is_set else reader.read(option)

    def _first_matching_list(self, cells: Sequence[object], lists: Sequence[OptionNames]) -> Callable[[object], Any]:
        """Return the first list with all of these names; different options may share a name in two languages."""
        return next(
            (names for names in lists if all(names(cell) is not None for cell in cells)), self._option_by_any_name
        )

    def _option_by_any_name(self, cell: object) -> Any:
        """Return the option with this name in the survey, or otherwise in a form or in any language."""
        option = self.names[0](cell)
        return self.names[-1](cell) if option is None else option

    def _read_choices(self, cells: Sequence[Any], *, is_coded: bool) -> dict[Any, Any]:
        own_names, form, *languages, _ = self.names
        names, reader, read = (
            self._first_matching_list(cells, [own_names, form, *languages]),
            Reader(self.name, self.model),
            {},
        )
        for cell in cells:
            if is_coded and not isinstance(cell, str):
                read[cell] = UNREADABLE  # the file has labels for other numbers, but not for this one
                continue
            options = (option for option in (names(cell), names(number_in(cell))) if option is not None)
            read[cell] = reader.read(next(options, cell))
        return read

    def _read_numbers(self, cells: Sequence[Any]) -> dict[Any, Any]:
        """Read numbers and lists of numbers; a comma is a decimal mark if it cannot separate thousands."""
        reader, comma = Reader(self.name, self.model), re.compile(r"[-+]?\d+,\d+")
        with_comma = [cell for cell in cells if isinstance(cell, str) and comma.fullmatch(cell.strip())]
        decimal = self.decimal
        if with_comma and decimal is None:
            is_mixed = any("." in str(cell) for cell in cells)
            decimal = None if is_mixed or all(len(x.strip().partition(",")[2]) == 3 for x in with_comma) else ","
        return {cell: reader.read(number_in(_with_point(cell, decimal))) for cell in cells}

    def _read_sets(self, cells: Sequence[Any]) -> dict[Any, Any]:
        """Read sets of options, written as lists of positions by this package or as names in one text."""
        reader = Reader(self.name, self.model)
        read = {cell: reader.read(number_in(cell)) for cell in cells}
        texts = [cell for cell, value in read.items() if value is UNREADABLE]
        own_names, form, *languages, every = (names.unambiguous() for names in self.names)
        codes = {_key(code): self._option_by_any_name(label) for code, label in self.codes.items() if _key(code)}
        vocabularies = [codes] if codes else [own_names, form, *languages]
        for vocabulary in [*vocabularies, {**every, **own_names, **codes}]:
            parts = {cell: split_options(str(whole_number(cell)), vocabulary, self.separator) for cell in texts}
            if None not in parts.values():
                break
        indices = {option: index for index, option in enumerate(self.model.options)}
        for cell, options in parts.items():
            read[cell] = UNREADABLE if options is None else sorted(indices[option] for option in options)
        return read

    def _options_text(self) -> str:
        options = self.model.report_options or self.model.options
        return f" ({', '.join(map(str, options[:8]))})" if options else ""

    def _codes_advice(self) -> str:
        answers = [repr(option) for option in (self.model.report_options or self.model.options)[:2]] or ["a number"]
        pairs = ", ".join(f"…: {answer}" for answer in answers)
        return (
            f"state the meaning of the values, codes={{{self.name!r}: {{{pairs}}}}}, or which mean no answer, "
            f"missing={{{self.name!r}: […]}}"
        )

    def _reject_cells(self, strange: Sequence[Any], rows: int) -> NoReturn:
        """Reject cells that are not reports; state their number, their kinds, and the argument that would read them."""
        rule = f"the column of {self.name!r} must contain its reports{self._options_text()}"
        kind = kinds(strange)
        is_number = not self.model.options and not self.model.report_options
        advice = f"state the decimal mark, decimal=',' or decimal='.'; otherwise {self._codes_advice()}"
        received = f"{len(strange):,} of {rows:,} rows with something else ({kind})"
        reject(rule, received, f"{_NOTHING}; {advice if is_number and 'commas' in kind else self._codes_advice()}")


_KINDS = {
    r"[-+]?\d+": "whole numbers",
    r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*": "dates",
    r"[-+]?[\d.]*,[\d,.]*": "numbers with commas",
    r"[-+]?[\d.]+(e[-+]?\d+)?": "numbers with points",
    r"\[.*\]?": "lists",
    r"[^,;|]*": "texts",
}


def kinds(cells: Iterable[Any]) -> str:
    """Describe the kinds of values in cells without quoting a cell.

    >>> kinds(["3", "3,5", "yes"])
    'whole numbers, numbers with commas, texts'
    """
    names = {"dates" if isinstance(cell, date | time) else _kind(_key(cell)) for cell in dict.fromkeys(cells)}
    order = ["truth values", *_KINDS.values(), "texts with separators"]
    return ", ".join(sorted(names, key=order.index))


def _kind(key: str) -> str:
    if key in ("true", "false"):
        return "truth values"
    return next((kind for pattern, kind in _KINDS.items() if re.fullmatch(pattern, key)), "texts with separators")


def _key(cell: object) -> str:
    """Return a key that is equal for cells with the same meaning, such as "Yes " and "yes", or 1, "1" and "1.0"."""
    return re.sub(r"\A([-+]?\d+)\.0+\Z", r"\1", cell_key(cell))


def number_in(cell: object) -> Any:
    """Return the number or list that a string contains, with whole numbers as integers."""
    if isinstance(cell, str):
        with suppress(ValueError, RecursionError):
            cell = json.loads(cell)
    return whole_number(cell)


def _with_point(cell: Any, decimal: str | None) -> Any:
    """Return the text of a number with a decimal point and without thousands separators."""
    if not isinstance(cell, str) or decimal is None or cell.lstrip().startswith("["):
        return cell
    thousands = "." if decimal == "," else ","
    whole, mark, digits = cell.strip().partition(decimal)
    if re.fullmatch(rf"[-+]?\d{{1,3}}({re.escape(thousands)}\d{{3}})+", whole):
        whole = whole.replace(thousands, "")
    return f"{whole.removeprefix('+')}{'.' if mark else ''}{digits}"
