"""`read_reports`: reports that another program collected or wrote, read as reports of a survey's questions."""

import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.analysis.estimating import estimates
from toolkit.analysis.plain import question_model
from toolkit.analysis.reports import STRANGE, QuestionModel, Reader, cell_key, checked_designs
from toolkit.core.checks import is_missing, refuse
from toolkit.core.document import as_written, harmless
from toolkit.core.extras import extra
from toolkit.local.numeric.square_wave import SquareWave
from toolkit.survey.exchange.raw_files import RawTable, read_table, whole_number
from toolkit.survey.exchange.stat_files import GAPS, file_name, is_set
from toolkit.survey.exchange.xlsform import choice_names
from toolkit.survey.questions.question import Question, answers_of
from toolkit.survey.questions.survey_fields import CHANNEL, PAPER, PERSON, PHONE, REHEARSAL, UNDERSTOOD
from toolkit.survey.results.table import cell
from toolkit.survey.spec import Survey
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
    r"""Read reports from a file of another program, or from one that `toolkit export` wrote; all of them, or nothing.

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
        As of `collector.reports()`; of a mapping, its columns. A share that no truth could give is told in a warning,
        and in `attrs["remarks"]`.

    Raises
    ------
    ValueError
        If the file is not whole, a column is missing, or a cell is no report of its question.

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
        designs = {one.name: one.design for one in source.questions if one.design is not None}
    else:
        designs, frame, find = checked_designs(dict(source)), raw.frame.copy(), _Columns(raw.frame, columns or {})
        for name, design in designs.items():
            column = find.one(name)
            if column is None:
                refuse("the file must have a column for each design", f"none for {name}", _NAMED)
            cells = _Cells(name, design, {}, raw.labels.get(column, {}), (codes or {}).get(name, {}), missing)
            frame[name] = cells.column(raw.frame[column], partial(_label, design))
    # A distribution of many points fits any reports.
    tested = {name: design for name, design in designs.items() if not isinstance(design, SquareWave)}
    estimated = estimates(frame, tested).group_estimates if tested else ()
    doubts = [one for one in estimated if one.estimate.contradicted]
    frame.attrs["remarks"] = [f"{one.question}: {note}." for one in doubts for note in one.estimate.notes]
    for remark in frame.attrs["remarks"]:
        warnings.warn(remark, stacklevel=2)
    return frame


def _survey_of(raw: RawTable, survey: object) -> Survey | Mapping[str, Any]:
    if survey is None and raw.book is not None and "survey" in raw.book:
        return Survey.from_collection(raw.book["survey"])
    if not isinstance(survey, Survey | Mapping):
        rule = "`survey` must be a Survey, or designs by column"
        refuse(rule, "no codebook beside the file" if survey is None else type(survey).__name__, _NOTHING, TypeError)
    return survey


def _check_book(raw: RawTable, survey: Survey) -> None:
    """Reports of one design say nothing under another: a file that says which it was must say the same."""
    for name, column in (raw.book or {}).get("columns", {}).items():
        known = {one.name: one for one in survey.questions}.get(name)
        if known is not None and known.design is not None and column.get("design") != known.design.to_dict():
            rule = f"the design of {name!r} must be the one that the file's codebook has"
            refuse(rule, "another", f"{_NOTHING}; read it without a survey, or with the one of the collection")


def _check_unique(frame: "pd.DataFrame", unique: str | None) -> None:
    name = next((one for one in IDS if one in frame), None) if unique == "auto" else unique
    if name is None:
        return
    if name not in frame:
        refuse("`unique` must be a column of the file", repr(name)[:60], _NOTHING)
    ids = frame[name].dropna()
    if doubled := int(ids.duplicated().sum()):
        rule = f"each number in {name!r} must be there once"
        refuse(rule, f"{doubled:,} rows more", f"{_NOTHING}; remove them, or say unique=None if each row is a person")


class _Columns:
    """Finds the column, or the boxes, of a question."""

    def __init__(self, frame: "pd.DataFrame", named: Mapping[str, str]) -> None:
        self.frame, self.named = frame, named
        self.last: dict[str, list[str]] = {}
        for name in map(str, frame):
            self.last.setdefault(re.split(r"[/.]", name)[-1].casefold(), []).append(name)

    def one(self, name: str) -> str | None:
        """By its own name, that of an export, or the last part of a path; refused where two could be meant."""
        if name in self.named:
            if self.named[name] not in self.frame:
                refuse(f"`columns` must name a column for {name!r}", repr(self.named[name])[:60], _NOTHING)
            return self.named[name]
        exported = [file_name(name, suffix) for suffix in (".sav", ".dta")]
        for known in (name, *exported):
            if known in self.frame:
                return known
        near = self.last.get(name.casefold(), [])
        if len(near) > 1:
            refuse(f"one column must be that of {name!r}", ", ".join(near[:4]), f"{_NOTHING}; say columns={{…}}")
        return near[0] if near else None

    def boxes(self, question: Question, labels: Sequence[Sequence[str]]) -> list[str] | None:
        """A column for each option, by its number or name."""
        own = self.named.get(question.name, question.name)
        places = [str(place) for place in range(1, len(question.options) + 1)]
        schemes: list[tuple[str, Sequence[str], str]] = [
            ("", [file_name(f"{own}__{place}", suffix) for place in places], "") for suffix in (".sav", ".dta")
        ]
        for left, right in (("___", ""), ("/", ""), ("[", "]")):
            named = [list(map(str, question.options)), *labels, places]
            schemes += [(f"{own}{left}", words, right) for words in named]
        for left, words, right in schemes:
            near = [[name for name in map(str, self.frame) if _path_ends(name, f"{left}{w}{right}")] for w in words]
            if all(len(names) == 1 for names in near):
                return [names[0] for names in near]
        return None


def _path_ends(name: str, end: str) -> bool:
    folded = f"/{name}".casefold()
    return folded.endswith((f"/{end}".casefold(), f".{end}".casefold()))


def _of_survey(raw: RawTable, survey: Survey, named: Any, codes: Any, missing: Sequence[Any]) -> "pd.DataFrame":
    """A column for each question, as a collection would hand it out."""
    find, columns, absent = _Columns(raw.frame, named), dict[str, Any](), []
    for question in survey.questions:
        name, column = question.name, find.one(question.name)
        labels = [_labels(survey, question, code) for code in survey.languages]
        boxes = find.boxes(question, labels) if question.options else None
        if boxes is not None and (column is None or is_set(question)):
            columns[name] = _joined(raw, question, boxes, missing)
        elif column is None:
            absent.append(name)
        elif question.kind == "text":
            clean = as_written if raw.defused else str
            gone = {"", *map(cell_key, missing)}
            columns[name] = [
                None if is_missing(entry) or cell_key(entry) in gone else clean(str(entry))
                for entry in raw.frame[column]
            ]
        else:
            words = _words(question, labels)
            cells = _Cells(
                name, question_model(question), words, raw.labels.get(column, {}), codes.get(name, {}), missing
            )
            columns[name] = cells.column(raw.frame[column], partial(cell, question))
    if absent:
        refuse("the file must have a column for each question", f"none for {', '.join(absent)}", _NAMED)
    return _with_marks(extra("pandas").DataFrame(columns), raw.frame, survey)


def _with_marks(frame: "pd.DataFrame", read: "pd.DataFrame", survey: Survey) -> "pd.DataFrame":
    """What a collection's table has besides answers."""
    truth = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    tries: dict[str, Any] = {"0": 0, "1": 1, "2": 2}  # which one was right, of a check about the device
    for name, known in ((UNDERSTOOD, tries if survey.check == "device" else truth), (REHEARSAL, truth)):
        if name in read:
            frame[name] = [known.get(cell_key(_number(entry))) for entry in read[name]]
    if survey.check and UNDERSTOOD not in read:
        frame[UNDERSTOOD] = None
    if PERSON in read and survey.waves > 1:
        frame[PERSON] = [None if is_missing(entry) else str(entry) for entry in read[PERSON]]
    if CHANNEL in read:
        frame[CHANNEL] = [entry if entry in (PAPER, PHONE) else None for entry in read[CHANNEL]]
    return frame


def _labels(survey: Survey, question: Question, language: str) -> list[str]:
    words = phrases(language, survey.words)
    return [question.label(one, language, words) for one in answers_of(question)]


def _words(question: Question, labels: Sequence[Sequence[str]]) -> dict[str, Any]:
    """What may stand for an option, in any language or as a form or an export writes it; its own name wins."""
    options, words = answers_of(question), dict[str, Any]()
    for some in (choice_names(question), *labels, options):
        for place, (word, option) in enumerate(zip(some, options, strict=True), 1):
            words |= {cell_key(one): option for one in (word, harmless(str(word)), f"{place}. {word}")}
    return words


def _label(model: QuestionModel, value: Any) -> Any:
    """A report as its design calls it."""
    return value if value is None or not model.report_options else model.report_options[value]


@dataclass(frozen=True)
class _Cells:
    """Reads a column by what options are called in any file (`words`), in this `file`, and by the caller (`given`)."""

    name: str
    model: QuestionModel
    words: Mapping[str, Any]
    file: Mapping[Any, str]
    codes: Mapping[Any, Any]
    missing: Sequence[Any]

    def column(self, entries: Any, told: Callable[[Any], Any]) -> list[Any]:
        """Each different cell is read and told once; those that are no report are counted, and never quoted."""
        reader = Reader(self.name, self.model, tuple(self.missing))
        named = {cell_key(code): self._checked(reader, label) for code, label in {**self.file, **self.codes}.items()}
        cells = [None if is_missing(entry) else entry for entry in entries]
        read = {entry: self._read(reader, named, entry) for entry in dict.fromkeys(cells)}
        if strange := sum(read[entry] is STRANGE for entry in cells):
            options = ", ".join(map(str, self.model.report_options[:8]))
            rule = f"the column of {self.name!r} must hold its reports{f' ({options})' if options else ''}"
            advice = f"say what codes stand for, codes={{{self.name!r}: {{…: …}}}}, or what is no answer, missing=(…)"
            refuse(rule, f"{strange:,} of {len(cells):,} rows with something else", f"{_NOTHING}; {advice}")
        words = {entry: told(value) for entry, value in read.items()}
        return [words[entry] for entry in cells]

    def _checked(self, reader: Reader, label: object) -> Any:
        """What a label that the file or the caller has for a code stands for."""
        text = cell_key(label)
        cut = {option for word, option in self.words.items() if text.endswith("…") and word.startswith(text[:-1])}
        value = None if text in GAPS else reader.read(cut.pop() if len(cut) == 1 else self.words.get(text, label))
        if value is STRANGE:
            options = ", ".join(map(str, self.model.report_options[:8]))
            rule = f"the labels of codes for {self.name!r} must be among its answers ({options})"
            refuse(rule, repr(str(label))[:60], f"{_NOTHING}; say codes={{{self.name!r}: {{…: …}}}}")
        return value

    def _read(self, reader: Reader, named: Mapping[str, Any], entry: object) -> Any:
        key = cell_key(entry)
        if entry is None or key in named or not self.model.report_options:
            return named[key] if key in named else reader.read(self._ticks(_number(entry)))
        if named and not isinstance(entry, str) and key not in map(cell_key, self.missing):
            return STRANGE  # a number for which the file has no label, where it has some
        return reader.read(self.words.get(key, self.words.get(cell_key(_number(entry)), entry)))

    def _ticks(self, entry: object) -> Any:
        """Names of options with blanks between them, as ODK writes ticks, as the list of their places."""
        if not isinstance(entry, str) or not self.model.options:
            return entry
        parts = [entry] if cell_key(entry) in self.words else re.split(r"[;,|]\s*|\s+", entry.strip())
        options = [self.words.get(cell_key(part)) for part in parts]
        return entry if None in options else sorted({self.model.options.index(one) for one in options})


def _number(entry: object) -> Any:
    """A number or a list that came as text; whole numbers as such."""
    if isinstance(entry, str):
        with suppress(ValueError):
            entry = json.loads(entry)
    return whole_number(entry)


def _joined(raw: RawTable, question: Question, boxes: Sequence[str], missing: Sequence[Any]) -> list[Any]:
    """The list of places that are ticked, from columns of 0 and 1; missing where all of them are."""
    gone, rows, strange = {cell_key(code) for code in missing}, list[Any](), 0
    for entries in zip(*(raw.frame[name] for name in boxes), strict=True):
        words = ["" if is_missing(entry) or cell_key(entry) in gone else cell_key(entry) for entry in entries]
        ticked = [place for place, word in enumerate(words) if word in _TICKED]
        known = all(word in _TICKED | _NOT_TICKED | {""} for word in words) and question.accepts(ticked)
        strange += any(words) and not known
        rows.append(cell(question, ticked) if any(words) else None)
    if strange:
        rule = f"the columns of {question.name!r} must hold 0 and 1"
        refuse(rule, f"{strange:,} of {len(rows):,} rows with something else", _NOTHING)
    return rows
