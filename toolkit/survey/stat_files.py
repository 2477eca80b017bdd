"""SPSS and Stata files of reports, with value labels and declared codes for missing answers."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.analysis.plain import Plain
from toolkit.analysis.reports import QuestionModel
from toolkit.core.checks import is_missing
from toolkit.core.extras import extra
from toolkit.survey.questions.question import Question, answer_codes, coded_labels, readable_text
from toolkit.survey.questions.survey_fields import CHANNEL, PERSON, REHEARSAL, UNDERSTOOD
from toolkit.survey.results.table import cell_value, reject_invalid_values
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import phrases

if TYPE_CHECKING:
    import pandas as pd

_SET_RANDOMIZERS = ("capped_boxes", "subset", "unary")
"""Randomizers whose report is a set of options; the file has a column of 0 and 1 for each option."""

_RESERVED_WORDS = re.compile(
    r"all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with|byte|double|float|if|in|int|long|using|str\d+", re.IGNORECASE
)
"""Reserved words of SPSS and Stata, which cannot be used as column names."""


class _EmptyReason(str):
    """The reason why a cell is empty; the separate type prevents confusion with a respondent's text."""

    __slots__ = ()


EMPTY_REASONS = _NOT_ASKED, _NO_ANSWER = _EmptyReason("not asked"), _EmptyReason("no answer")
_LIMITS = {
    ".sav": {"label": 256, "value": 120, "name": 64, "file": 64},
    ".dta": {"label": 80, "value": 2000, "name": 31, "file": 80},
}


def whole_number(value: Any) -> Any:
    """Convert a float with an integer value to an integer; return anything else unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def column_name_in_file(name: str, suffix: str) -> str:
    """Return the name of a column in a file: the name in the survey, changed if the program does not allow it."""
    max_length = _LIMITS[suffix]["name"]
    allowed = f"{name}_" if _RESERVED_WORDS.fullmatch(name) else name
    if len(allowed) <= max_length:
        return allowed
    return f"{allowed[: max_length - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def reports_are_sets(question: Question) -> bool:
    """Return whether the reports of a question are sets of options."""
    return question.kind == "ticks" if question.design is None else model_reports_sets(question.design)


def model_reports_sets(model: QuestionModel) -> bool:
    """Return whether the reports of a design, or plain answers, are sets of options."""
    if isinstance(model, Plain):
        return model.answer_kind == "ticks"
    return model.matrix is None and model.name in _SET_RANDOMIZERS


@dataclass
class _StatFile:
    """The columns of a file with their labels, value labels, and codes for missing answers."""

    suffix: str
    columns: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    value_labels: dict[str, dict[Any, str]] = field(default_factory=dict)
    missing_codes: dict[str, list[Any]] = field(default_factory=dict)

    def add(self, name: str, label: str, cells: list[Any], value_labels: Mapping[Any, str] | None = None) -> None:
        """Add a column of numbers or strings, with an `_EmptyReason` in each empty cell."""
        has_texts = any(isinstance(cell, str) and not isinstance(cell, _EmptyReason) for cell in cells)
        self.labels[name] = _cut_text(label, _LIMITS[self.suffix]["label"], in_bytes=self.suffix == ".sav")
        if has_texts or (not value_labels and all(isinstance(cell, str) for cell in cells)):
            self.columns[name] = ["" if isinstance(cell, _EmptyReason) else cell for cell in cells]
            return
        codes: dict[str, Any] = (
            {_NOT_ASKED: "a", _NO_ANSWER: "b"} if self.suffix == ".dta" else _missing_codes(cells, value_labels)
        )
        self.columns[name] = [codes.get(cell, cell) if isinstance(cell, str) else float(cell) for cell in cells]
        self.value_labels[name] = {
            **self._value_labels(value_labels or {}),
            **{code: str(why) for why, code in codes.items()},
        }
        self.missing_codes[name] = list(codes.values())

    def _value_labels(self, texts_by_code: Mapping[Any, str]) -> dict[Any, str]:
        """Return labels of the allowed length; if two would be equal, all labels are numbered."""
        max_length = _LIMITS[self.suffix]["value"]
        labels = {code: _cut_text(text, max_length, in_bytes=True) for code, text in texts_by_code.items()}
        if len(set(labels.values())) == len(labels):
            return labels
        numbered = enumerate(texts_by_code.items(), start=1)
        return {code: _cut_text(f"{number}. {text}", max_length, in_bytes=True) for number, (code, text) in numbered}

    def frame(self) -> "pd.DataFrame":
        """Return the columns as a frame; a column of numbers and Stata's missing-value letters has dtype object."""
        pd = extra("pandas", "collect")
        texts = {name for name, cells in self.columns.items() if any(isinstance(cell, str) for cell in cells)}
        kinds = {
            name: "float64" if name in self.value_labels and name not in texts else object for name in self.columns
        }
        return pd.DataFrame({name: pd.Series(cells, dtype=kinds[name]) for name, cells in self.columns.items()})


def _missing_codes(cells: list[Any], value_labels: Mapping[Any, str] | None) -> dict[str, float]:
    """Return two codes that are smaller than all numbers in a column, such as -9 and -8, or -99 and -98."""
    lowest, power = min((*(cell for cell in cells if not isinstance(cell, str)), *(value_labels or ()), 0)), 10
    while lowest <= 2 - power:
        power *= 10
    return {_NOT_ASKED: 1.0 - power, _NO_ANSWER: 2.0 - power}


def _cut_text(text: str, max_length: int, *, in_bytes: bool) -> str:
    """Return a text on one line, truncated to the given length."""
    line = " ".join(text.split())
    length = len(line.encode()) if in_bytes else len(line)
    if length <= max_length:
        return line
    start = line.encode()[: max_length - 3].decode(errors="ignore") if in_bytes else line[: max_length - 1]
    return f"{start}…"


def write_stat(frame: "pd.DataFrame", path: Path, suffix: str, survey: Survey, language: str, note: list[str]) -> None:
    """Write reports as an SPSS (.sav) or Stata (.dta) file, with labels in one language."""
    program = extra("pyreadstat")
    file = _StatFile(suffix)
    for question in survey.questions:
        _add_question(file, survey, question, frame, language)
    for name, text in ((UNDERSTOOD, "passed the comprehension check"), (REHEARSAL, "a rehearsal: no real reports")):
        if name in frame:
            values = [_NO_ANSWER if is_missing(cell) else int(cell) for cell in frame[name]]
            tries = {0: "no", 1: "at the first try", 2: "at the second try"}
            by_try = name == UNDERSTOOD and survey.check == "device"
            file.add(name, text, values, tries if by_try else {0: "no", 1: "yes"})
    origins = {PERSON: "joins the reports of one phone over waves; no answer", CHANNEL: "where a report comes from"}
    for name, text in origins.items():
        if name in frame:
            file.add(name, text, [str(cell) for cell in frame[name]])
    names = {name: column_name_in_file(name, suffix) for name in file.columns}
    by_name: dict[str, Any] = {
        "column_labels": {names[name]: label for name, label in file.labels.items()},
        "variable_value_labels": {names[name]: values for name, values in file.value_labels.items()},
    }
    missing = {names[name]: codes for name, codes in file.missing_codes.items()}
    data, title = file.frame().rename(columns=names), f"{survey.name}; reports, not answers; hash {survey.hash[:12]}"
    title = _cut_text(title, _LIMITS[suffix]["file"], in_bytes=suffix == ".sav")
    if suffix == ".dta":
        program.write_dta(data, str(path), file_label=title, missing_user_values=missing, **by_name)
    else:
        program.write_sav(data, str(path), file_label=title, missing_ranges=missing, note=note, **by_name)


def _add_question(file: _StatFile, survey: Survey, question: Question, frame: "pd.DataFrame", language: str) -> None:
    """Add the column of a question, or a column for each option if the reports are sets of options."""
    text, cells = readable_text(question, language), _cells(question, frame)
    if question.randomized:
        text = f"RANDOMIZED, epsilon {question.loss.epsilon:.4g}: {text}"
    sentences = phrases(language, survey.words)
    if not reports_are_sets(question):
        options = zip(answer_codes(question), coded_labels(question), strict=True)
        labels = {code: question.label(option, language, sentences) for code, option in options}
        file.add(question.name, text, [str(cell) if isinstance(cell, list) else cell for cell in cells], labels)
        return
    for code, option in enumerate(question.options):
        ticked = [cell if isinstance(cell, str) else int(code in cell) for cell in cells]
        label = f"{question.label(option, language, sentences)} — {text}"
        file.add(f"{question.name}__{code + 1}", label, ticked, {0: "not ticked", 1: "ticked"})


def _cells(question: Question, frame: "pd.DataFrame") -> list[Any]:
    """Return the cells of a question as codes, numbers, strings or lists, with the reason in each empty cell."""
    is_text = question.kind == "text"
    empty = [is_missing(cell) for cell in frame[question.name]]
    distinct = frame[question.name].dropna().unique().tolist()
    values = {cell: cell if is_text else cell_value(question, cell) for cell in distinct}
    reject_invalid_values(question, values)
    if codes := answer_codes(question):
        values = {cell: codes[index] for cell, index in values.items()}
    is_asked = [True] * len(frame)
    for name, options in (question.show_if or {}).items():
        shown_options = {str(option) for option in options}
        is_asked = [
            is_shown and str(whole_number(cell)) in shown_options
            for is_shown, cell in zip(is_asked, frame[name], strict=True)
        ]
    return [
        (_NO_ANSWER if is_shown else _NOT_ASKED) if is_empty else values[cell]
        for cell, is_empty, is_shown in zip(frame[question.name], empty, is_asked, strict=True)
    ]
