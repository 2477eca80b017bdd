"""SPSS and Stata files of reports, with labels for codes and declared codes for missing answers."""

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
from toolkit.survey.questions.question import Question, answer_codes, code_labels
from toolkit.survey.questions.survey_fields import CHANNEL, PERSON, REHEARSAL, UNDERSTOOD
from toolkit.survey.results.table import reject_invalid_values, value_of
from toolkit.survey.spec import Survey
from toolkit.texts.multilingual import text_in
from toolkit.texts.phrases import phrases

if TYPE_CHECKING:
    import pandas as pd

_SETS = ("capped_boxes", "subset", "unary")
"""Randomizers whose report is a set of options, which has a column of 0 and 1 for each option."""

_RESERVED = re.compile(
    r"all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with|byte|double|float|if|in|int|long|using|str\d+", re.IGNORECASE
)
"""Words of SPSS and Stata that cannot be the name of a column."""


class _Gap(str):
    """The reason why a cell is empty, as a type of its own, so that no respondent's text is taken for one."""

    __slots__ = ()


GAPS = _NOT_ASKED, _NO_ANSWER = _Gap("not asked"), _Gap("no answer")
_LIMITS = {
    ".sav": {"label": 256, "value": 120, "name": 64, "file": 64},
    ".dta": {"label": 80, "value": 2000, "name": 31, "file": 80},
}


def whole_number(value: Any) -> Any:
    """Return a whole number that a program stored as a float as an integer, and anything else unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def file_name(name: str, suffix: str) -> str:
    """Return the name of a column in a file: that of the survey, unless the program does not allow it."""
    most = _LIMITS[suffix]["name"]
    allowed = f"{name}_" if _RESERVED.fullmatch(name) else name
    return allowed if len(allowed) <= most else f"{allowed[: most - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def is_set(question: Question) -> bool:
    """Return whether the reports of a question are sets of options."""
    return question.kind == "ticks" if question.design is None else reports_sets(question.design)


def reports_sets(model: QuestionModel) -> bool:
    """Return whether the reports of a design, or plain answers, are sets of options."""
    if isinstance(model, Plain):
        return model.asks == "ticks"
    return model.matrix is None and model.name in _SETS


@dataclass
class _StatFile:
    """The columns of a file with their labels, the labels of their codes, and their codes for missing answers."""

    suffix: str
    columns: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[Any, str]] = field(default_factory=dict)
    missing: dict[str, list[Any]] = field(default_factory=dict)

    def add(self, name: str, label: str, cells: list[Any], values: Mapping[Any, str] | None = None) -> None:
        """Add a column of numbers or texts, with a `_Gap` in each empty cell."""
        texts = any(isinstance(cell, str) and not isinstance(cell, _Gap) for cell in cells)
        self.labels[name] = _cut(label, _LIMITS[self.suffix]["label"], in_bytes=self.suffix == ".sav")
        if texts or (not values and all(isinstance(cell, str) for cell in cells)):
            self.columns[name] = ["" if isinstance(cell, _Gap) else cell for cell in cells]
            return
        codes: dict[str, Any] = {_NOT_ASKED: "a", _NO_ANSWER: "b"} if self.suffix == ".dta" else _codes(cells, values)
        self.columns[name] = [codes.get(cell, cell) if isinstance(cell, str) else float(cell) for cell in cells]
        self.values[name] = {**self._value_labels(values or {}), **{code: str(why) for why, code in codes.items()}}
        self.missing[name] = list(codes.values())

    def _value_labels(self, values: Mapping[Any, str]) -> dict[Any, str]:
        """Return labels that fit; if two would be the same, each gets its number."""
        most = _LIMITS[self.suffix]["value"]
        labels = {code: _cut(text, most, in_bytes=True) for code, text in values.items()}
        if len(set(labels.values())) == len(labels):
            return labels
        numbered = enumerate(values.items(), start=1)
        return {code: _cut(f"{number}. {text}", most, in_bytes=True) for number, (code, text) in numbered}

    def frame(self) -> "pd.DataFrame":
        """Return the columns; where Stata's letters for missing answers stand among numbers, cells are objects."""
        pd = extra("pandas", "collect")
        texts = {name for name, cells in self.columns.items() if any(isinstance(cell, str) for cell in cells)}
        kinds = {name: "float64" if name in self.values and name not in texts else object for name in self.columns}
        return pd.DataFrame({name: pd.Series(cells, dtype=kinds[name]) for name, cells in self.columns.items()})


def _codes(cells: list[Any], values: Mapping[Any, str] | None) -> dict[str, float]:
    """Return two codes below all numbers of a column, such as -9 and -8, or -99 and -98."""
    least, size = min((*(cell for cell in cells if not isinstance(cell, str)), *(values or ()), 0)), 10
    while least <= 2 - size:
        size *= 10
    return {_NOT_ASKED: 1.0 - size, _NO_ANSWER: 2.0 - size}


def _cut(text: str, most: int, *, in_bytes: bool) -> str:
    """Return a text on one line, cut to the length that the program allows."""
    line = " ".join(text.split())
    size = len(line.encode()) if in_bytes else len(line)
    if size <= most:
        return line
    cut = line.encode()[: most - 3].decode(errors="ignore") if in_bytes else line[: most - 1]
    return f"{cut}…"


def write_stat(frame: "pd.DataFrame", path: Path, suffix: str, survey: Survey, language: str, note: list[str]) -> None:
    """Write reports as an SPSS (.sav) or Stata (.dta) file, with labels in a language."""
    program = extra("pyreadstat")
    file = _StatFile(suffix)
    for question in survey.questions:
        _add_question(file, survey, question, frame, language)
    for name, text in ((UNDERSTOOD, "passed the comprehension check"), (REHEARSAL, "a rehearsal: no real reports")):
        if name in frame:
            truths = [_NO_ANSWER if is_missing(cell) else int(cell) for cell in frame[name]]
            tries = {0: "no", 1: "at the first try", 2: "at the second try"}
            by_try = name == UNDERSTOOD and survey.check == "device"
            file.add(name, text, truths, tries if by_try else {0: "no", 1: "yes"})
    origins = {PERSON: "joins the reports of one phone over waves; no answer", CHANNEL: "where a report comes from"}
    for name, text in origins.items():
        if name in frame:
            file.add(name, text, [str(cell) for cell in frame[name]])
    names = {name: file_name(name, suffix) for name in file.columns}
    by_name: dict[str, Any] = {
        "column_labels": {names[name]: label for name, label in file.labels.items()},
        "variable_value_labels": {names[name]: values for name, values in file.values.items()},
    }
    missing = {names[name]: codes for name, codes in file.missing.items()}
    data, title = file.frame().rename(columns=names), f"{survey.name}; reports, not answers; hash {survey.hash[:12]}"
    title = _cut(title, _LIMITS[suffix]["file"], in_bytes=suffix == ".sav")
    if suffix == ".dta":
        program.write_dta(data, str(path), file_label=title, missing_user_values=missing, **by_name)
    else:
        program.write_sav(data, str(path), file_label=title, missing_ranges=missing, note=note, **by_name)


def _add_question(file: _StatFile, survey: Survey, question: Question, frame: "pd.DataFrame", language: str) -> None:
    """Add the column of a question, or for a set of options a column for each."""
    text, cells = text_in(question.text, language), _cells(question, frame)
    if question.randomized:
        text = f"RANDOMIZED, epsilon {question.loss.epsilon:.4g}: {text}"
    sentences = phrases(language, survey.words)
    if not is_set(question):
        options = zip(answer_codes(question), code_labels(question), strict=True)
        labels = {code: question.label(option, language, sentences) for code, option in options}
        file.add(question.name, text, [str(cell) if isinstance(cell, list) else cell for cell in cells], labels)
        return
    for code, option in enumerate(question.options):
        ticked = [cell if isinstance(cell, str) else int(code in cell) for cell in cells]
        label = f"{question.label(option, language, sentences)} — {text}"
        file.add(f"{question.name}__{code + 1}", label, ticked, {0: "not ticked", 1: "ticked"})


def _cells(question: Question, frame: "pd.DataFrame") -> list[Any]:
    """Return codes, numbers, texts and lists, with the reason in each empty cell."""
    text = question.kind == "text"
    empty = [is_missing(cell) for cell in frame[question.name]]
    different = frame[question.name].dropna().unique().tolist()
    read = {cell: cell if text else value_of(question, cell) for cell in different}
    reject_invalid_values(question, read)
    if codes := answer_codes(question):
        read = {cell: codes[index] for cell, index in read.items()}
    is_asked = [True] * len(frame)
    for name, options in (question.show_if or {}).items():
        shown_options = {str(option) for option in options}
        is_asked = [
            is_shown and str(whole_number(cell)) in shown_options
            for is_shown, cell in zip(is_asked, frame[name], strict=True)
        ]
    return [
        (_NO_ANSWER if is_shown else _NOT_ASKED) if is_empty else read[cell]
        for cell, is_empty, is_shown in zip(frame[question.name], empty, is_asked, strict=True)
    ]
