"""`read_reports` reads a file from another program as reports on a survey's questions."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.analysis.estimating import estimates
from toolkit.analysis.plain import question_model
from toolkit.analysis.reports import UNREADABLE, QuestionModel, Reader, cell_key, checked_designs
from toolkit.core.checks import is_missing, reject, warn
from toolkit.core.extras import extra
from toolkit.core.tables import unescape_formulas
from toolkit.local.numeric.square_wave import SquareWave
from toolkit.survey.exchange.cells import CellReader, OptionNames, number_in
from toolkit.survey.exchange.columns import ColumnFinder, ColumnNames
from toolkit.survey.exchange.raw_files import RawTable, read_table
from toolkit.survey.exchange.tools import RowSelection, find_tool, select_rows
from toolkit.survey.exchange.xlsform import choice_names, numbered_names
from toolkit.survey.questions.question import Question, printed_answers
from toolkit.survey.questions.survey_fields import CHANNEL, PAPER, PERSON, PHONE, REHEARSAL, UNDERSTOOD
from toolkit.survey.results.table import report_cell
from toolkit.survey.spec import Survey
from toolkit.survey.stat_files import model_reports_sets
from toolkit.texts.multilingual import text_in
from toolkit.texts.phrases import phrases

if TYPE_CHECKING:
    import pandas as pd

IDS = (
    "ResponseId",
    "_uuid",
    "_id",
    "meta/instanceID",
    "meta-instanceID",
    "KEY",
    "record_id",
    "Record ID",
    "id",
    PERSON,
)
"""The columns in which Qualtrics, Kobo, ODK, REDCap, LimeSurvey and this package number rows."""

_NOTHING = "nothing was read"


def read_reports(
    path: str | Path,
    survey: Survey | Mapping[str, Any] | None = None,
    *,
    source: str | None = None,
    columns: Mapping[str, str | Mapping[Any, str]] | None = None,
    codes: Mapping[str, Mapping[Any, Any]] | None = None,
    missing: Sequence[Any] | Mapping[str, Sequence[Any]] = (),
    decimal: str | None = None,
    keep: str | Sequence[str] = (),
    unique: str | None = "auto",
) -> "pd.DataFrame":
    r"""Read the reports in a file from another program or `toolkit export`; if there is an error, nothing is read.

    A column belongs to the question with the same name or wording, even inside groups ("page/cheated"). Each option of
    a question may have its own column ("tried___1", "tried/beer", "tried[beer]", "tried_1"). Rows that are not
    completed responses are left out, with a warning that states their number. Values that the file declares as missing
    are missing, and codes stand for their labels in the file.

    Parameters
    ----------
    path : str or Path
        A .csv file from Qualtrics, LimeSurvey, Kobo, ODK, REDCap, jsPsych or a spreadsheet; a .json file from jsPsych
        or SurveyJS, which may contain the files of several people one after another; an .xlsx file; a .sav file from
        SPSS or a .dta file from Stata; or a .parquet or .feather file from R or Python.
    survey : Survey or mapping, optional
        The survey, or a mapping from column to design if the columns do not belong to a survey. By default the codebook
        beside the file or inside it is used.
    source : {"qualtrics", "limesurvey", "kobo", "redcap", "jspsych"}, optional
        The program that exported the file ("kobo" also for ODK); by default it is recognized from the columns.
    columns : mapping, optional
        The columns of questions that have a different name in the file, such as {"cheated": "Q7"}, or with one column
        per option, such as {"tried": {"beer": "Q8_1", "wine": "Q8_4"}}.
    codes : mapping, optional
        The meaning of codes that the file does not explain or explains wrongly, such as {"cheated": {1: "yes", 2:
        "no"}}. If each option has a column, the codes of ticked and unticked boxes, such as {"tried": {"x": True, "-":
        False}}.
    missing : sequence or mapping
        The values that mean no answer, such as [-99], or a mapping by question, such as {"age": [98, 99]}.
    decimal : {",", "."}, optional
        The decimal mark of numbers; by default a point, or a comma if it cannot separate thousands.
    keep : str or sequence of str
        The kinds of rows to read although they are not completed responses: "preview", "test", "spam", "unfinished",
        "not approved", "other trial" (of jsPsych), or "all".
    unique : str, optional
        The column that identifies each row by a different number; by default the column that these programs write for
        this purpose. None omits the check for repeated rows.

    Returns
    -------
    pandas.DataFrame
        A table as returned by `collector.reports()`, or, for a mapping, a table with the columns in the mapping.
        `attrs["left_out"]` counts the rows that were left out. A warning names the questions whose reports contradict
        their design. `attrs["remarks"]` contains the text of all warnings.

    Raises
    ------
    ValueError
        If the file is truncated, a column is missing, or a cell is not a report of its question.

    Examples
    --------
    >>> import tempfile
    >>> from toolkit import Question, Survey, warner
    >>> survey = Survey("Exams", [Question("cheated", "Cheated?", design=warner("3/4"))], consent="Why.", check=False)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "kobo.csv")
    >>> _ = path.write_text("_id;page/cheated\n1;yes\n2;no\n")
    >>> frame = read_reports(path, survey)
    >>> folder.cleanup()
    >>> list(frame["cheated"])
    ['yes', 'no']
    """
    if decimal not in (None, ",", "."):
        reject('`decimal` must be "," or "."', repr(decimal)[:20], _NOTHING)
    raw = read_table(path)
    specification = _survey_of(raw, survey)
    fields = _find_all_columns(raw, specification, columns or {})
    for argument, by_question in {"columns": columns, "codes": codes, "missing": missing}.items():
        _check_questions(argument, by_question, [field.name for field in fields])
    tool = find_tool(raw, source, [name for field in fields for name in field.columns])
    selection = select_rows(tool, raw, {field.name: field.columns for field in fields}, keep)
    if not all(selection.rows):
        raw = raw.rows(selection.rows)
    _check_unique(raw.frame, unique)
    arguments = _Arguments(codes or {}, missing, tool.separator, decimal)
    cells = {field.name: field.read(raw, arguments) for field in fields}
    for name, unanswered in selection.unanswered.items():
        cells[name] = [None if is_empty else value for value, is_empty in zip(cells[name], unanswered, strict=True)]
    if isinstance(specification, Survey):
        frame = _add_status_columns(extra("pandas", "collect").DataFrame(cells), raw.frame, specification)
        designs = {
            question.name: question.design for question in specification.questions if question.design is not None
        }
    else:
        frame, designs = raw.frame.assign(**cells), dict(specification)
    frame.attrs["left_out"] = dict(selection.counts)
    frame.attrs["remarks"] = [*_selection_remarks(selection), *_contradictions(frame, designs)]
    for remark in frame.attrs["remarks"]:
        warn(remark)
    return frame


def _selection_remarks(selection: RowSelection) -> list[str]:
    """Return sentences about rows that were left out, and about forms that were not answered."""
    remarks = [f"{selection.message()}; {selection.advice()} reads them."] if selection.counts else []
    by_rows: dict[int, list[str]] = {}
    for name, unanswered in selection.unanswered.items():
        by_rows.setdefault(sum(unanswered), []).append(name)
    by_rows.pop(0, None)
    return remarks + [
        f"{', '.join(names)}: missing in {rows:,} rows, where the form was not finished."
        for rows, names in by_rows.items()
    ]


def _contradictions(frame: "pd.DataFrame", designs: Mapping[str, Any]) -> list[str]:
    """Return the notes on estimates that contradict their design, except for distributions, which fit any reports."""
    tested = {name: design for name, design in designs.items() if not isinstance(design, SquareWave)}
    groups = estimates(frame, tested).group_estimates if tested else ()
    return [
        f"{group.question}: {note}." for group in groups if group.estimate.contradicted for note in group.estimate.notes
    ]


def _survey_of(raw: RawTable, survey: object) -> Survey | Mapping[str, Any]:
    if survey is None and raw.book is not None and "survey" in raw.book:
        return Survey.from_collection(raw.book["survey"])
    if isinstance(survey, Survey):
        _check_codebook(raw, survey)
        return survey
    if not isinstance(survey, Mapping):
        rule = "`survey` must be a Survey, or a mapping from column to design"
        reject(rule, "no codebook beside the file" if survey is None else type(survey).__name__, _NOTHING, TypeError)
    return checked_designs(dict(survey))


def _check_codebook(raw: RawTable, survey: Survey) -> None:
    """Reject a design that differs from the file's codebook, because it would give the reports another meaning."""
    for name, column in (raw.book or {}).get("columns", {}).items():
        question = {item.name: item for item in survey.questions}.get(name)
        if question is not None and question.design is not None and column.get("design") != question.design.to_dict():
            rule = f"the design of {name!r} must be the same as in the file's codebook"
            reject(rule, "a different one", f"{_NOTHING}; read it without a survey, or with the collection's survey")


def _check_unique(frame: "pd.DataFrame", unique: str | None) -> None:
    name = next((name for name in IDS if name in frame), None) if unique == "auto" else unique
    if name is None:
        return
    if name not in frame:
        reject("`unique` must be a column of the file", repr(name)[:60], _NOTHING)
    ids = frame[name].dropna()
    if repeated := int(ids.duplicated().sum()):
        rule = f"each number in {name!r} must occur once"
        reject(
            rule, f"{repeated:,} repeated rows", f"{_NOTHING}; remove them, or pass unique=None if each row is a person"
        )


def _check_questions(argument: str, by_question: object, names: Sequence[str]) -> None:
    if isinstance(by_question, Mapping) and (unknown := [str(name) for name in by_question if name not in names]):
        rule = f"`{argument}` must have questions as its keys ({', '.join(names[:8])})"
        reject(rule, ", ".join(map(repr, unknown[:4])), _NOTHING)


@dataclass(frozen=True)
class _Arguments:
    """The rules for reading all cells, from the caller and from the program that wrote the file."""

    codes: Mapping[str, Mapping[Any, Any]]
    missing: Sequence[Any] | Mapping[str, Sequence[Any]]
    separator: str
    decimal: str | None

    def missing_of(self, name: str) -> tuple[Any, ...]:
        """Return the values that mean no answer to a question."""
        return tuple(self.missing.get(name, ()) if isinstance(self.missing, Mapping) else self.missing)

    def check_missing(self, name: str, model: QuestionModel) -> None:
        """Reject a value that is declared as missing for all questions but is a possible report of this question."""
        if isinstance(self.missing, Mapping) or not model.report_options or self.codes.get(name):
            return
        reader = Reader(name, model)
        for code in self.missing:
            if cell_key(code) and reader.read(code) not in (None, UNREADABLE):
                rule = f"`missing` must not name a report of {name!r}"
                reject(rule, repr(code)[:40], f"{_NOTHING}; name it for other questions, missing={{'…': [{code!r}]}}")


@dataclass(frozen=True)
class _QuestionColumns:
    """One question and its columns in the file; a question with free text has no model."""

    name: str
    model: QuestionModel | None
    names: tuple[OptionNames, ...]
    convert: Callable[[Any], Any]
    column: str | None
    boxes: Sequence[str] = ()

    @property
    def columns(self) -> list[str]:
        return [*filter(None, [self.column]), *self.boxes]

    def read(self, raw: RawTable, arguments: _Arguments) -> list[Any]:
        """Read the reports of all rows."""
        missing, codes = arguments.missing_of(self.name), arguments.codes.get(self.name, {})
        if self.model is None:
            clean, keys = unescape_formulas if raw.defused else str, {"", *map(cell_key, missing)}
            cells = raw.cells(str(self.column))
            return [None if is_missing(entry) or cell_key(entry) in keys else clean(str(entry)) for entry in cells]
        if not any(raw.labels.get(column) for column in self.columns):
            arguments.check_missing(self.name, self.model)
        reader = CellReader(self.name, self.model, self.names, codes, missing, arguments.separator, arguments.decimal)
        if not self.boxes:
            column = str(self.column)
            return reader.column(raw.cells(column, codes), raw.labels.get(column, {}), self.convert)
        cells, labels = [raw.cells(box, codes) for box in self.boxes], [raw.labels.get(box, {}) for box in self.boxes]
        reports = reader.boxes(cells, labels)
        if self.column is not None:
            self._check_agreement(
                reports, reader.values(raw.cells(self.column, codes), raw.labels.get(self.column, {}))
            )
        sets = [None if report is None else tuple(report) for report in reports]
        converted = {report: self.convert(None if report is None else list(report)) for report in set(sets)}
        return [converted[report] for report in sets]

    def _check_agreement(self, reports: Sequence[Any], texts: Sequence[Any]) -> None:
        """Reject rows in which the column of a question contradicts the columns of its options."""
        pairs = zip(reports, texts, strict=True)
        if different := sum(text not in (None, UNREADABLE) and text != (report or []) for report, text in pairs):
            rule = f"the column {self.column!r} must agree with the columns of its options"
            advice = f"state which to read, columns={{{self.name!r}: {self.column!r}}} or the column of each option"
            reject(rule, f"{different:,} of {len(reports):,} rows that differ", f"{_NOTHING}; {advice}")


def _find_all_columns(
    raw: RawTable, survey: Survey | Mapping[str, Any], columns: ColumnNames
) -> list[_QuestionColumns]:
    finder, fields, absent = ColumnFinder(raw, columns), list[_QuestionColumns](), list[str]()
    questions = _survey_columns(survey) if isinstance(survey, Survey) else map(_design_column, survey.items())
    for field, texts, lists in questions:
        column, boxes = finder.column(field.name, texts), None
        if field.model is not None and model_reports_sets(field.model):
            boxes = finder.boxes(field.name, texts, lists)
        elif field.name in columns and column is None:
            advice = f"{_NOTHING}; its columns are {', '.join(map(str, list(raw.frame)[:8]))}"
            reject(f"`columns` must name a column for {field.name!r}", repr(columns[field.name])[:60], advice)
        if column is None and boxes is None:
            absent.append(field.name)
        fields.append(replace(field, column=column, boxes=boxes or ()))
    if absent:
        rule = f"the file must have a column for each {'question' if isinstance(survey, Survey) else 'design'}"
        advice = f"{_NOTHING}; if the column has another name, pass columns={{{absent[0]!r}: '…'}}"
        reject(rule, f"none for {', '.join(absent)}", advice)
    return fields


def _survey_columns(survey: Survey) -> Iterator[tuple[_QuestionColumns, list[str], list[list[str]]]]:
    """Yield a field without columns for each question, with its wordings and the names of its options."""
    wordings = [{text_in(question.text, code) for code in survey.languages} for question in survey.questions]
    counts = Counter(chain(*wordings))
    for question, texts in zip(survey.questions, wordings, strict=True):
        options = printed_answers(question)
        form = [choice_names(question), numbered_names(question)]
        languages = [_labels(survey, question, code) for code in survey.languages]
        names = (
            OptionNames(options, options),
            OptionNames(options, *form),
            *(OptionNames(options, labels) for labels in languages),
            OptionNames(options, *form, *languages),
        )
        model = None if question.kind == "text" else question_model(question)
        # A wording that several arms share does not identify a question.
        field = _QuestionColumns(question.name, model, names, partial(report_cell, question), None)
        yield field, [text for text in sorted(texts) if counts[text] == 1], [list(map(str, options)), *form, *languages]


def _design_column(item: tuple[str, QuestionModel]) -> tuple[_QuestionColumns, list[str], list[list[str]]]:
    """Convert the design of a column to a question, in a single language and without labels."""
    name, model = item
    options = model.report_options or model.options
    names = (OptionNames(options, options), *[OptionNames(())] * 2)
    return _QuestionColumns(name, model, names, partial(_label, model), None), [], [list(map(str, options))]


def _labels(survey: Survey, question: Question, language: str) -> list[str]:
    sentences = phrases(language, survey.words)
    return [question.label(option, language, sentences) for option in printed_answers(question)]


def _label(model: QuestionModel, value: Any) -> Any:
    """Return the label of a report in its design; lists become JSON strings, which can be counted and compared."""
    if isinstance(value, list):
        return json.dumps(value, separators=(",", ":"))
    return value if value is None or not model.report_options else model.report_options[value]


def _add_status_columns(frame: "pd.DataFrame", read: "pd.DataFrame", survey: Survey) -> "pd.DataFrame":
    """Add the columns of a collection's table that do not contain answers."""
    truth = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    tries: dict[str, Any] = {"0": 0, "1": 1, "2": 2}  # the try on which a check about the device was passed
    for name, values in ((UNDERSTOOD, tries if survey.check == "device" else truth), (REHEARSAL, truth)):
        if name in read:
            frame[name] = [values.get(cell_key(number_in(entry))) for entry in read[name]]
    if survey.check and UNDERSTOOD not in read:
        frame[UNDERSTOOD] = None
    if PERSON in read and survey.waves > 1:
        frame[PERSON] = [None if is_missing(entry) else str(entry) for entry in read[PERSON]]
    if CHANNEL in read:
        frame[CHANNEL] = [entry if entry in (PAPER, PHONE) else None for entry in read[CHANNEL]]
    return frame
