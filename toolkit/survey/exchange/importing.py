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
from toolkit.core.checks import is_missing, refuse
from toolkit.core.document import as_written, harmless
from toolkit.core.extras import extra
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
            cells = _Cells(
                name, design, (_Names(()),) * 3, raw.labels.get(column, {}), (codes or {}).get(name, {}), missing
            )
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
            self.last.setdefault(_last_part(name), []).append(name)

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
            near = [self._ending(f"{left}{word}{right}") for word in words]
            if all(len(names) == 1 for names in near):
                return [names[0] for names in near]
        return None

    def _ending(self, end: str) -> list[str]:
        return [name for name in self.last.get(_last_part(end), []) if _path_ends(name, end)]


def _last_part(name: str) -> str:
    return re.split(r"[/.]", name)[-1].casefold()


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
            names = _Names.of(question, labels)
            cells = _Cells(
                name, question_model(question), names, raw.labels.get(column, {}), codes.get(name, {}), missing
            )
            columns[name] = cells.column(raw.frame[column], partial(cell, question))
    if absent:
        refuse("the file must have a column for each question", f"none for {', '.join(absent)}", _NAMED)
    return _with_marks(extra("pandas", "collect").DataFrame(columns), raw.frame, survey)


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
        each: list[list[Sequence[Any]]] = [[options], form, *([names] for names in labels)]
        return tuple(cls(options, *lists) for lists in (*each, [*form, *labels]))


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

    def column(self, entries: Any, told: Callable[[Any], Any]) -> list[Any]:
        """Each different cell is read and told once; those that are no report are counted, and never quoted."""
        reader = Reader(self.name, self.model, tuple(self.missing))
        own, form, *languages, _ = self.names
        labels = self._naming([label for label in self.file.values() if cell_key(label) not in GAPS], [*languages, own])
        named = {cell_key(code): self._checked(reader, labels, label) for code, label in self.file.items()}
        named |= {cell_key(code): self._checked(reader, self._either, label) for code, label in self.codes.items()}
        cells = [None if is_missing(entry) else entry for entry in entries]
        gone = {cell_key(code) for code in (*self.missing, *named)}
        words = [entry for entry in dict.fromkeys(cells) if entry is not None and cell_key(entry) not in gone]
        option = self._naming(words, [own, form, *languages])
        read = {entry: self._read(reader, named, option, entry) for entry in dict.fromkeys(cells)}
        if strange := sum(read[entry] is STRANGE for entry in cells):
            options = ", ".join(map(str, self.model.report_options[:8]))
            rule = f"the column of {self.name!r} must hold its reports{f' ({options})' if options else ''}"
            advice = f"say what codes stand for, codes={{{self.name!r}: {{…: …}}}}, or what is no answer, missing=(…)"
            refuse(rule, f"{strange:,} of {len(cells):,} rows with something else", f"{_NOTHING}; {advice}")
        shown = {entry: told(value) for entry, value in read.items()}
        return [shown[entry] for entry in cells]

    def _naming(self, words: Sequence[object], lists: Sequence[_Names]) -> Callable[[object], Any]:
        """The first list that knows all of these words: two languages may call different options the same."""
        return next((names for names in lists if all(names(word) is not None for word in words)), self._either)

    def _either(self, word: object) -> Any:
        """The option of this own name, or called so in a form or in any language."""
        own = self.names[0](word)
        return self.names[-1](word) if own is None else own

    def _checked(self, reader: Reader, names: Callable[[object], Any], label: object) -> Any:
        """What a label that the file or the caller has for a code stands for."""
        option = names(label)
        value = None if option is None and cell_key(label) in GAPS else reader.read(label if option is None else option)
        if value is STRANGE:
            options = ", ".join(map(str, self.model.report_options[:8]))
            rule = f"the labels of codes for {self.name!r} must be among its answers ({options})"
            refuse(rule, repr(str(label))[:60], f"{_NOTHING}; say codes={{{self.name!r}: {{…: …}}}}")
        return value

    def _read(self, reader: Reader, named: Mapping[str, Any], names: Callable[[object], Any], entry: object) -> Any:
        key = cell_key(entry)
        if entry is None or key in named or not self.model.report_options:
            return named[key] if key in named else reader.read(self._ticks(_number(entry)))
        if named and not isinstance(entry, str) and key not in map(cell_key, self.missing):
            return STRANGE  # a number for which the file has no label, where it has some
        options = (option for option in (names(entry), names(_number(entry))) if option is not None)
        return reader.read(next(options, entry))

    def _ticks(self, entry: object) -> Any:
        """Names of options with blanks between them, as ODK writes ticks, as the list of their places."""
        if not isinstance(entry, str) or not self.model.options:
            return entry
        parts = [entry] if self._either(entry) is not None else re.split(r"[;,|]\s*|\s+", entry.strip())
        options = [self._either(part) for part in parts]
        return entry if None in options else sorted({self.model.options.index(one) for one in options})


def _number(entry: object) -> Any:
    """A number or a list that came as text; whole numbers as such."""
    if isinstance(entry, str):
        with suppress(ValueError, RecursionError):
            entry = json.loads(entry)
    return whole_number(entry)


def _joined(raw: RawTable, question: Question, boxes: Sequence[str], missing: Sequence[Any]) -> list[Any]:
    """The list of places that are ticked, from columns of 0 and 1; missing where all of them are."""
    gone, rows, strange = {cell_key(code) for code in missing}, list[Any](), 0
    for entries in zip(*(raw.frame[name] for name in boxes), strict=True):
        words = ["" if is_missing(entry) or cell_key(entry) in gone else cell_key(entry) for entry in entries]
        ticked = [place for place, word in enumerate(words) if word in _TICKED]
        known = all(word in _TICKED | _NOT_TICKED | {""} for word in words) and accepts(question, ticked)
        strange += any(words) and not known
        rows.append(cell(question, ticked) if any(words) else None)
    if strange:
        rule = f"the columns of {question.name!r} must hold 0 and 1"
        refuse(rule, f"{strange:,} of {len(rows):,} rows with something else", _NOTHING)
    return rows
