"""`read_reports`: reports that another program collected or wrote, read as reports of a survey's questions."""

import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.analysis.estimating import estimates
from toolkit.analysis.reports import STRANGE, Reader, cell_key, checked_designs
from toolkit.core.checks import is_missing, refuse
from toolkit.core.extras import extra
from toolkit.core.spreadsheet import as_written, harmless
from toolkit.local.numeric.square_wave import SquareWave
from toolkit.survey.exchange.raw_files import RawTable, read_table
from toolkit.survey.exchange.stat_files import file_names, is_set
from toolkit.survey.exchange.xlsform import choice_names
from toolkit.survey.question import Question
from toolkit.survey.reading.table import REHEARSAL, UNDERSTOOD, cell, code_labels
from toolkit.survey.spec import Survey
from toolkit.survey.writing.survey_fields import PERSON
from toolkit.texts.phrases import phrases

if TYPE_CHECKING:
    import pandas as pd

IDS = ("ResponseId", "_uuid", "_id", "meta/instanceID", "meta-instanceID", "KEY", "record_id", PERSON)
"""What Qualtrics, Kobo, ODK, REDCap and this package call the number of a row."""

_NOTHING = "nothing was read"
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
    made = _survey_of(raw, survey)
    _check_unique(raw.frame, unique)
    designs: Any
    if isinstance(made, Survey):
        _check_book(raw, made)
        frame = _of_survey(raw, made, columns or {}, codes or {}, missing)
        designs = {one.name: one.design for one in made.questions if one.design is not None}
    else:
        designs = checked_designs(dict(made))
        frame = _of_designs(raw, designs, columns or {}, codes or {}, missing)
    # A distribution of many points fits any reports.
    tested = {name: design for name, design in designs.items() if not isinstance(design, SquareWave)}
    found = estimates(frame, tested, missing=missing).group_estimates if tested else ()
    doubts = [one for one in found if one.estimate.contradicted]
    frame.attrs["remarks"] = [f"{one.question}: {note}." for one in doubts for note in one.estimate.notes]
    for remark in frame.attrs["remarks"]:
        warnings.warn(remark, stacklevel=2)
    return frame


def _survey_of(raw: RawTable, survey: Any) -> Survey | Mapping[str, Any]:
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
        exported = [file_names([name], suffix)[name] for suffix in (".sav", ".dta")]
        for known in (name, *exported):
            if known in self.frame:
                return known
        near = self.last.get(name.casefold(), [])
        if len(near) > 1:
            refuse(f"one column must be that of {name!r}", ", ".join(near[:4]), f"{_NOTHING}; say columns={{…}}")
        return near[0] if near else None

    def boxes(self, question: Question, labels: Sequence[Mapping[Any, str]]) -> list[str] | None:
        """A column for each option, by its number or name."""
        own = self.named.get(question.name, question.name)
        places = [str(place) for place in range(1, len(question.options) + 1)]
        schemes = [(f"{file_names([own], suffix)[own]}__", places, "") for suffix in (".sav", ".dta")]
        for left, right in (("___", ""), ("/", ""), ("[", "]")):
            named = [list(map(str, question.options)), *(list(by_code.values()) for by_code in labels), places]
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
    find, made, gone = _Columns(raw.frame, named), dict[str, Any](), {cell_key(code) for code in missing} | {""}
    absent = []
    for question in survey.questions:
        labels = [_labels(survey, question, code) for code in survey.languages]
        column, boxes = find.one(question.name), find.boxes(question, labels) if question.options else None
        if boxes is not None and (column is None or is_set(question)):
            made[question.name] = _joined(raw, question, boxes, gone)
        elif column is None:
            absent.append(question.name)
        else:
            read = _Cells(question, labels, raw.labels.get(column, {}), codes.get(question.name, {}), raw.defused)
            made[question.name] = _mapped(raw.frame[column], read, question.name, gone)
    if absent:
        rule = "the file must have a column for each question"
        refuse(rule, f"none for {', '.join(absent)}", f"{_NOTHING}; say columns={{{absent[0]!r}: …}}")
    frame = extra("pandas").DataFrame(made)
    return _with_marks(frame, raw.frame, survey)


def _with_marks(frame: "pd.DataFrame", read: "pd.DataFrame", survey: Survey) -> "pd.DataFrame":
    """What a collection's table has besides answers."""
    truth = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    for name in (UNDERSTOOD, REHEARSAL):
        if name in read:
            frame[name] = [truth.get(cell_key(cell)) for cell in read[name]]
    if survey.check and UNDERSTOOD not in read:
        frame[UNDERSTOOD] = None
    if PERSON in read and survey.waves > 1:
        frame[PERSON] = [None if is_missing(cell) else str(cell) for cell in read[PERSON]]
    return frame


def _labels(survey: Survey, question: Question, language: str) -> dict[int, str]:
    words = phrases(language, survey.words)
    return {i: question.label(one, language, words) for i, one in enumerate(code_labels(question) or question.options)}


class _Cells:
    """Reads the cells of one question: a label, a code that the file or the caller names, a number, a list, a text."""

    def __init__(
        self, question: Question, labels: Sequence[Mapping[int, str]], own: Any, given: Mapping[Any, Any], defused: bool
    ) -> None:
        self.question, self.defused = question, defused
        self.options = code_labels(question)
        self.known: dict[str, int] = {}
        form = dict(enumerate(choice_names(question)))
        for by_code in (form, *labels, dict(enumerate(self.options))):  # an option's own name wins
            for code, label in by_code.items():
                for word in (label, harmless(str(label)), f"{code + 1}. {label}"):
                    self.known[cell_key(word)] = code
        self.file = {cell_key(code): self._code(label, "the file's labels") for code, label in own.items()}
        self.given = {cell_key(code): self._code(label, "`codes`") for code, label in given.items()}
        self.reader = Reader(question.name, question.design) if question.design is not None and self.options else None

    def _code(self, label: Any, whose: str) -> int | None:
        """Of a label that the file or the caller has for a code; None for what is no answer."""
        text = cell_key(label)
        if not self.options or text in ("not asked", "no answer"):
            return None
        cut = [code for word, code in self.known.items() if text.endswith("…") and word.startswith(text[:-1])]
        code = self.known.get(text, cut[0] if len(set(cut)) == 1 else None)
        if code is None:
            words = self.reader_word(label)
            if words is None:
                shown = ", ".join(map(str, self.options[:8]))
                rule = f"{whose} for {self.question.name!r} must be among its answers ({shown})"
                refuse(rule, repr(str(label))[:60], f"{_NOTHING}; say codes={{{self.question.name!r}: {{…}}}}")
            return words
        return code

    def reader_word(self, label: Any) -> int | None:
        """A usual word for yes or no, where the reports are these."""
        if self.question.design is None or not self.options:
            return None
        read = Reader(self.question.name, self.question.design).read(label)
        return None if read is STRANGE else read

    def read(self, entry: Any) -> Any:
        """What stands in a collection's table; STRANGE for what is no report."""
        key = cell_key(entry)
        if self.options:
            if key in self.given or key in self.file:
                code = self.given.get(key, self.file.get(key))
                return None if code is None else cell(self.question, code)
            code = None if self.file or self.given else self.known.get(key)
            code = self.known.get(key) if code is None and isinstance(entry, str) else code
            if code is None and self.reader is not None and not self.file and not self.given:
                code = self.reader.read(entry)
            return STRANGE if code is None or code is STRANGE else cell(self.question, code)
        if self.question.kind == "text":
            return as_written(str(entry)) if self.defused else str(entry)
        value = self._ticks(entry) if isinstance(entry, str) and is_set(self.question) else _parsed(entry)
        return cell(self.question, value) if self.question.accepts(value) else STRANGE

    def _ticks(self, entry: str) -> Any:
        """A list of numbers as we write it; or the names of options with blanks between them, as ODK does."""
        value = _parsed(entry)
        if isinstance(value, list):
            return value
        both = (choice_names(self.question), self.question.options)
        names = {cell_key(name): place for some in both for place, name in enumerate(some)}
        words = [entry] if cell_key(entry) in names else re.split(r"[;,|]\s*|\s+", entry.strip())
        return sorted({names[cell_key(word)] for word in words}) if all(cell_key(w) in names for w in words) else None


def _parsed(entry: Any) -> Any:
    """A number or a list, whatever it came as; whole numbers as such."""
    value = entry.item() if hasattr(entry, "item") else entry
    if isinstance(value, str):
        try:
            value = json.loads(value if value.startswith("[") else value.strip().lstrip("'"))
        except ValueError:
            return None
    if isinstance(value, bool):
        return int(value)
    return int(value) if isinstance(value, float) and math.isfinite(value) and value.is_integer() else value


def _mapped(column: Any, cells: _Cells, name: str, gone: set[str]) -> list[Any]:
    """Each different cell is read once; those that are no report are counted, and never quoted."""
    entries = [None if is_missing(entry) else entry for entry in column]
    read = {
        entry: None if entry is None or (not isinstance(entry, bool) and cell_key(entry) in gone) else cells.read(entry)
        for entry in dict.fromkeys(entries)
    }
    strange = sum(read[entry] is STRANGE for entry in entries)
    if strange:
        options = ", ".join(map(str, cells.options[:8]))
        rule = f"the column of {name!r} must hold its reports{f' ({options})' if options else ''}"
        advice = f"say what codes stand for, codes={{{name!r}: {{…: …}}}}, or what is no answer, missing=(…)"
        refuse(rule, f"{strange:,} of {len(column):,} rows with something else", f"{_NOTHING}; {advice}")
    return [read[entry] for entry in entries]


def _joined(raw: RawTable, question: Question, boxes: Sequence[str], gone: set[str]) -> list[Any]:
    """The list of places that are ticked, from columns of 0 and 1; missing where all of them are."""
    rows: list[Any] = []
    strange = 0
    for entries in zip(*(raw.frame[name] for name in boxes), strict=True):
        words = ["" if is_missing(entry) else cell_key(entry) for entry in entries]
        words = ["" if word in gone else word for word in words]
        if not any(words):
            rows.append(None)
            continue
        ticked = [place for place, word in enumerate(words) if word in _TICKED]
        strange += any(word and word not in _TICKED | _NOT_TICKED for word in words) or not question.accepts(ticked)
        rows.append(cell(question, ticked))
    if strange:
        rule = f"the columns of {question.name!r} must hold 0 and 1"
        refuse(rule, f"{strange:,} of {len(rows):,} rows with something else", _NOTHING)
    return rows


def _of_designs(raw: RawTable, designs: Any, named: Any, codes: Any, missing: Sequence[Any]) -> "pd.DataFrame":
    """The columns of the designs as reports; all others as they are."""
    find, frame = _Columns(raw.frame, named), raw.frame.copy()
    for name, design in designs.items():
        column = find.one(name)
        if column is None:
            refuse("the file must have a column for each design", f"none for {name}", f"{_NOTHING}; say columns={{…}}")
        given = {**raw.labels.get(column, {}), **codes.get(name, {})}
        meant = {cell_key(code): label for code, label in given.items()}
        cells = [None if is_missing(one) else meant.get(cell_key(one), one) for one in raw.frame[column]]
        Reader(name, design, tuple(missing)).read_all([(one, 1) for one in cells])
        frame[name] = cells
    return frame
