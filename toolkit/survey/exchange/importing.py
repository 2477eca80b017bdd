"""`read_reports`: reports that another program collected or wrote, read as reports of a survey's questions."""

import json
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.analysis.estimating import estimates
from toolkit.analysis.plain import question_model
from toolkit.analysis.reports import STRANGE, QuestionModel, Reader, cell_key, checked_designs
from toolkit.core.checks import is_missing, reject
from toolkit.core.extras import extra
from toolkit.core.tables import as_written, harmless
from toolkit.local.numeric.square_wave import SquareWave
from toolkit.survey.exchange.raw_files import RawTable, read_table
from toolkit.survey.exchange.xlsform import choice_names, numbered_names
from toolkit.survey.questions.question import Question, accepts, answers_of
from toolkit.survey.questions.survey_fields import CHANNEL, PAPER, PERSON, PHONE, REHEARSAL, UNDERSTOOD
from toolkit.survey.results.table import cell
from toolkit.survey.spec import Survey
from toolkit.survey.stat_files import GAPS, file_name, is_set, whole_number
from toolkit.texts.phrases import phrases

if TYPE_CHECKING:
    import pandas as pd

IDS = ("ResponseId", "_uuid", "_id", "meta/instanceID", "meta-instanceID", "KEY", "record_id", "id", PERSON)
"""What Qualtrics, Kobo, ODK, REDCap, LimeSurvey and this package call the number of a row."""

_NOTHING = "nothing was read"
_NAMED = f"{_NOTHING}; where it is called otherwise, say columns={{'question': 'column'}}"
_TICKED = frozenset({"1", "true", "yes", "y", "checked", "ticked", "quoted"})
_NOT_TICKED = frozenset({"0", "false", "no", "n", "unchecked", "not ticked", "not quoted"})


def read_reports(
    path: str | Path,
    survey: Survey | Mapping[str, Any] | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    codes: Mapping[str, Mapping[Any, Any]] | None = None,
    missing: Sequence[Any] = (),
    unique: str | None = "auto",
) -> "pd.DataFrame":
    r"""Read the reports in a file of another program or of `toolkit export`; an error reads none of them.

    A column belongs to the question of its name, also inside of groups ("page/cheated"); the boxes of one question may
    be columns of their own ("tried___1", "tried/beer", "tried[beer]"). Codes stand for what the file's own labels say.

    Parameters
    ----------
    path : str or Path
        A .csv file of Qualtrics, LimeSurvey, Kobo, ODK or REDCap, or of a spreadsheet; .xlsx; .sav of SPSS, .dta of
        Stata; .parquet or .feather, as R and Python write them.
    survey : Survey or mapping, optional
        What was asked; or the design of each column, for others than questions of a survey. Without it, the codebook
        that lies beside the file or in it.
    columns : mapping, optional
        The column of a question, where it is called otherwise: {"cheated": "Q7"}.
    codes : mapping, optional
        What codes stand for, where the file does not say: {"cheated": {1: "yes", 2: "no"}}.
    missing : sequence
        What stands for no answer, as -99.
    unique : str, optional
        The column that numbers the rows, each number once; by default one that those programs write. None for no such.

    Returns
    -------
    pandas.DataFrame
        The table that `collector.reports()` returns, or for a mapping its columns. Shares of reports that contradict a
        design are named in a warning and in `attrs["remarks"]`.

    Raises
    ------
    ValueError
        If the file is cut off, a column is missing, or a cell is not a report of its question.

    Examples
    --------
    >>> import tempfile
    >>> from toolkit import Question, Survey, warner
    >>> survey = Survey("Exams", [Question("cheated", "Cheated?", design=warner("3/4"))], consent="Why.", check=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "kobo.csv")
    ...     _ = path.write_text("_id;page/cheated\n1;yes\n2;no\n")
    ...     frame = read_reports(path, survey)
    >>> list(frame["cheated"])
    ['yes', 'no']
    """
    raw = read_table(path)
    source = _survey_of(raw, survey)
    _check_unique(raw.frame, unique)
    designs: Any
    if isinstance(source, Survey):
        _check_book(raw, source)
        frame = _of_survey(raw, source, columns or {}, codes or {}, missing)
        designs = {item.name: item.design for item in source.questions if item.design is not None}
    else:
        designs, frame, find = checked_designs(dict(source)), raw.frame.copy(), _Columns(raw.frame, columns or {})
        for name, design in designs.items():
            column = find.column(name)
            if column is None:
                reject("the file must have a column for each design", f"none for {name}", _NAMED)
            cells = _Cells(
                name, design, (_Names(()),) * 3, raw.labels.get(column, {}), (codes or {}).get(name, {}), missing
            )
            frame[name] = cells.column(raw.frame[column], partial(_label, design))
    # A distribution of many points fits any reports.
    tested = {name: design for name, design in designs.items() if not isinstance(design, SquareWave)}
    estimated = estimates(frame, tested).group_estimates if tested else ()
    doubts = [item for item in estimated if item.estimate.contradicted]
    frame.attrs["remarks"] = [f"{item.question}: {note}." for item in doubts for note in item.estimate.notes]
    for remark in frame.attrs["remarks"]:
        warnings.warn(remark, stacklevel=2)
    return frame


def _survey_of(raw: RawTable, survey: object) -> Survey | Mapping[str, Any]:
    if survey is None and raw.book is not None and "survey" in raw.book:
        return Survey.from_collection(raw.book["survey"])
    if not isinstance(survey, Survey | Mapping):
        rule = "`survey` must be a Survey, or designs by column"
        reject(rule, "no codebook beside the file" if survey is None else type(survey).__name__, _NOTHING, TypeError)
    return survey


def _check_book(raw: RawTable, survey: Survey) -> None:
    """Reports of one design say nothing under another: a file that says which it was must say the same."""
    for name, column in (raw.book or {}).get("columns", {}).items():
        question = {item.name: item for item in survey.questions}.get(name)
        if question is not None and question.design is not None and column.get("design") != question.design.to_dict():
            rule = f"the design of {name!r} must be the one that the file's codebook has"
            reject(rule, "another", f"{_NOTHING}; read it without a survey, or with the one of the collection")


def _check_unique(frame: "pd.DataFrame", unique: str | None) -> None:
    name = next((name for name in IDS if name in frame), None) if unique == "auto" else unique
    if name is None:
        return
    if name not in frame:
        reject("`unique` must be a column of the file", repr(name)[:60], _NOTHING)
    ids = frame[name].dropna()
    if doubled := int(ids.duplicated().sum()):
        rule = f"each number in {name!r} must be there once"
        reject(rule, f"{doubled:,} rows more", f"{_NOTHING}; remove them, or say unique=None if each row is a person")


class _Columns:
    """Finds the column, or the boxes, of a question."""

    def __init__(self, frame: "pd.DataFrame", columns: Mapping[str, str]) -> None:
        self.frame, self.named = frame, columns
        self.last: dict[str, list[str]] = {}
        for name in map(str, frame):
            self.last.setdefault(_last_part(name), []).append(name)

    def column(self, name: str) -> str | None:
        """By its own name, that of an export, or the last part of a path; refused where two could be meant."""
        if name in self.named:
            if self.named[name] not in self.frame:
                reject(f"`columns` must name a column for {name!r}", repr(self.named[name])[:60], _NOTHING)
            return self.named[name]
        exported = [file_name(name, suffix) for suffix in (".sav", ".dta")]
        for known in (name, *exported):
            if known in self.frame:
                return known
        near = self.last.get(name.casefold(), [])
        if len(near) > 1:
            reject(f"one column must be that of {name!r}", ", ".join(near[:4]), f"{_NOTHING}; say columns={{…}}")
        return near[0] if near else None

    def boxes(self, question: Question, labels: Sequence[Sequence[str]]) -> list[str] | None:
        """A column for each option, by its number or name."""
        column = self.named.get(question.name, question.name)
        numbers = [str(number) for number in range(1, len(question.options) + 1)]
        schemes: list[tuple[str, Sequence[str], str]] = [
            ("", [file_name(f"{column}__{number}", suffix) for number in numbers], "") for suffix in (".sav", ".dta")
        ]
        for prefix, suffix in (("___", ""), ("/", ""), ("[", "]")):
            names_of_options = [list(map(str, question.options)), *labels, numbers]
            schemes += [(f"{column}{prefix}", endings, suffix) for endings in names_of_options]
        for prefix, endings, suffix in schemes:
            matches = [self._ending(f"{prefix}{ending}{suffix}") for ending in endings]
            if all(len(names) == 1 for names in matches):
                return [names[0] for names in matches]
        return None

    def _ending(self, end: str) -> list[str]:
        return [name for name in self.last.get(_last_part(end), []) if _path_ends(name, end)]


def _last_part(name: str) -> str:
    return re.split(r"[/.]", name)[-1].casefold()


def _path_ends(name: str, end: str) -> bool:
    folded = f"/{name}".casefold()
    return folded.endswith((f"/{end}".casefold(), f".{end}".casefold()))


def _of_survey(raw: RawTable, survey: Survey, column_names: Any, codes: Any, missing: Sequence[Any]) -> "pd.DataFrame":
    """A column for each question, as a collection would hand it out."""
    columns_of, cells_by_name, absent = _Columns(raw.frame, column_names), dict[str, Any](), []
    for question in survey.questions:
        name, column = question.name, columns_of.column(question.name)
        labels = [_labels(survey, question, code) for code in survey.languages]
        boxes = columns_of.boxes(question, labels) if question.options else None
        if boxes is not None and (column is None or is_set(question)):
            cells_by_name[name] = _joined(raw, question, boxes, missing)
        elif column is None:
            absent.append(name)
        elif question.kind == "text":
            clean = as_written if raw.defused else str
            missing_keys = {"", *map(cell_key, missing)}
            cells_by_name[name] = [
                None if is_missing(entry) or cell_key(entry) in missing_keys else clean(str(entry))
                for entry in raw.frame[column]
            ]
        else:
            names = _Names.of(question, labels)
            cells = _Cells(
                name, question_model(question), names, raw.labels.get(column, {}), codes.get(name, {}), missing
            )
            cells_by_name[name] = cells.column(raw.frame[column], partial(cell, question))
    if absent:
        reject("the file must have a column for each question", f"none for {', '.join(absent)}", _NAMED)
    return _with_marks(extra("pandas", "collect").DataFrame(cells_by_name), raw.frame, survey)


def _with_marks(frame: "pd.DataFrame", read: "pd.DataFrame", survey: Survey) -> "pd.DataFrame":
    """What a collection's table has besides answers."""
    truth = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    tries: dict[str, Any] = {"0": 0, "1": 1, "2": 2}  # which one was right, of a check about the device
    for name, values in ((UNDERSTOOD, tries if survey.check == "device" else truth), (REHEARSAL, truth)):
        if name in read:
            frame[name] = [values.get(cell_key(_number(entry))) for entry in read[name]]
    if survey.check and UNDERSTOOD not in read:
        frame[UNDERSTOOD] = None
    if PERSON in read and survey.waves > 1:
        frame[PERSON] = [None if is_missing(entry) else str(entry) for entry in read[PERSON]]
    if CHANNEL in read:
        frame[CHANNEL] = [entry if entry in (PAPER, PHONE) else None for entry in read[CHANNEL]]
    return frame


def _labels(survey: Survey, question: Question, language: str) -> list[str]:
    sentences = phrases(language, survey.words)
    return [question.label(option, language, sentences) for option in answers_of(question)]


class _Names:
    """What options are called: as it is written, else in any case or with its number, where one option alone is."""

    def __init__(self, options: Sequence[Any], *lists: Sequence[Any]) -> None:
        self._written, self._known, self._numbered = (defaultdict[str, set[Any]](set) for _ in range(3))
        for names in lists:
            for place, (name, option) in enumerate(zip(names, options, strict=True), 1):
                for word in (str(name), str(harmless(name))):
                    self._written[word].add(option)
                    self._known[cell_key(word)].add(option)
                    self._numbered[cell_key(f"{place}. {word}")].add(option)

    def __call__(self, word: object) -> Any:
        """The option, or None where none or several are called so; "…" stands for the rest of a long name."""
        key = cell_key(word)
        options = self._written.get(str(word)) or self._known.get(key) or self._numbered.get(key) or set()
        if not options and key.endswith("…"):
            longer = [some.items() for some in (self._known, self._numbered)]
            options = {one for name, some in chain(*longer) if name.startswith(key[:-1]) for one in some}
        return next(iter(options)) if len(options) == 1 else None

    @classmethod
    def of(cls, question: Question, labels: Sequence[Sequence[str]]) -> "tuple[_Names, ...]":
        """Its own names, those of a form, each language's, and all but its own together."""
        options = answers_of(question)
        form: list[Sequence[Any]] = [choice_names(question), numbered_names(question)]
        groups: list[list[Sequence[Any]]] = [[options], form, *([names] for names in labels)]
        return tuple(cls(options, *lists) for lists in (*groups, [*form, *labels]))


def _label(model: QuestionModel, value: Any) -> Any:
    """A report as its design calls it."""
    return value if value is None or not model.report_options else model.report_options[value]


@dataclass(frozen=True)
class _Cells:
    """Reads a column by what options are called (`names`), in this `file`, and by the caller (`codes`)."""

    name: str
    model: QuestionModel
    names: tuple[_Names, ...]
    file: Mapping[Any, str]
    codes: Mapping[Any, Any]
    missing: Sequence[Any]

    def column(self, entries: Any, convert: Callable[[Any], Any]) -> list[Any]:
        """Each different cell is read and told once; those that are no report are counted, and never quoted."""
        reader = Reader(self.name, self.model, tuple(self.missing))
        own_names, form_names, *languages, _ = self.names
        labels = self._naming(
            [label for label in self.file.values() if cell_key(label) not in GAPS], [*languages, own_names]
        )
        by_code = {cell_key(code): self._checked(reader, labels, label) for code, label in self.file.items()}
        by_code |= {cell_key(code): self._checked(reader, self._either, label) for code, label in self.codes.items()}
        cells = [None if is_missing(entry) else entry for entry in entries]
        coded = {cell_key(code) for code in (*self.missing, *by_code)}
        remaining = [entry for entry in dict.fromkeys(cells) if entry is not None and cell_key(entry) not in coded]
        option = self._naming(remaining, [own_names, form_names, *languages])
        read = {entry: self._read(reader, by_code, option, entry) for entry in dict.fromkeys(cells)}
        if strange := sum(read[entry] is STRANGE for entry in cells):
            options = ", ".join(map(str, self.model.report_options[:8]))
            rule = f"the column of {self.name!r} must hold its reports{f' ({options})' if options else ''}"
            advice = f"say what codes stand for, codes={{{self.name!r}: {{…: …}}}}, or what is no answer, missing=(…)"
            reject(rule, f"{strange:,} of {len(cells):,} rows with something else", f"{_NOTHING}; {advice}")
        converted = {entry: convert(value) for entry, value in read.items()}
        return [converted[entry] for entry in cells]

    def _naming(self, entries: Sequence[object], lists: Sequence[_Names]) -> Callable[[object], Any]:
        """The first list that knows all of these words: two languages may call different options the same."""
        return next((names for names in lists if all(names(entry) is not None for entry in entries)), self._either)

    def _either(self, entry: object) -> Any:
        """The option of this own name, or called so in a form or in any language."""
        option = self.names[0](entry)
        return self.names[-1](entry) if option is None else option

    def _checked(self, reader: Reader, names: Callable[[object], Any], label: object) -> Any:
        """What a label that the file or the caller has for a code stands for."""
        option = names(label)
        value = None if option is None and cell_key(label) in GAPS else reader.read(label if option is None else option)
        if value is STRANGE:
            options = ", ".join(map(str, self.model.report_options[:8]))
            rule = f"the labels of codes for {self.name!r} must be among its answers ({options})"
            reject(rule, repr(str(label))[:60], f"{_NOTHING}; say codes={{{self.name!r}: {{…: …}}}}")
        return value

    def _read(self, reader: Reader, by_code: Mapping[str, Any], names: Callable[[object], Any], entry: object) -> Any:
        key = cell_key(entry)
        if entry is None or key in by_code or not self.model.report_options:
            return by_code[key] if key in by_code else reader.read(self._ticks(_number(entry)))
        if by_code and not isinstance(entry, str) and key not in map(cell_key, self.missing):
            return STRANGE  # a number for which the file has no label, where it has some
        options = (option for option in (names(entry), names(_number(entry))) if option is not None)
        return reader.read(next(options, entry))

    def _ticks(self, entry: object) -> Any:
        """Names of options with blanks between them, as ODK writes ticks, as the list of their places."""
        if not isinstance(entry, str) or not self.model.options:
            return entry
        entries = [entry] if self._either(entry) is not None else re.split(r"[;,|]\s*|\s+", entry.strip())
        options = [self._either(part) for part in entries]
        return entry if None in options else sorted({self.model.options.index(option) for option in options})


def _number(entry: object) -> Any:
    """A number or a list that came as text; whole numbers as such."""
    if isinstance(entry, str):
        with suppress(ValueError, RecursionError):
            entry = json.loads(entry)
    return whole_number(entry)


def _joined(raw: RawTable, question: Question, boxes: Sequence[str], missing: Sequence[Any]) -> list[Any]:
    """The list of places that are ticked, from columns of 0 and 1; missing where all of them are."""
    missing_keys, rows, strange = {cell_key(code) for code in missing}, list[Any](), 0
    for entries in zip(*(raw.frame[name] for name in boxes), strict=True):
        texts = ["" if is_missing(entry) or cell_key(entry) in missing_keys else cell_key(entry) for entry in entries]
        ticked = [index for index, text in enumerate(texts) if text in _TICKED]
        is_valid = all(text in _TICKED | _NOT_TICKED | {""} for text in texts) and accepts(question, ticked)
        strange += any(texts) and not is_valid
        rows.append(cell(question, ticked) if any(texts) else None)
    if strange:
        rule = f"the columns of {question.name!r} must hold 0 and 1"
        reject(rule, f"{strange:,} of {len(rows):,} rows with something else", _NOTHING)
    return rows
