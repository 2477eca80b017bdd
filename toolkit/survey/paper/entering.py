"""Data entry from paper sheets, typed once or twice; nothing is stored until every problem is resolved."""

import json
import secrets
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from toolkit.core.checks import reject
from toolkit.survey.consent.device_check import sheet_tries
from toolkit.survey.paper.coding import NO_ANSWER, is_serial, legacy_report_key, normalize_text, read_cell, report_key
from toolkit.survey.paper.kit import SERIAL, read_rows
from toolkit.survey.paper.sheets import printable_survey, sheet_questions
from toolkit.survey.questions.declaring import declared_fields
from toolkit.survey.questions.question import TEXT_FIELDS, Question
from toolkit.survey.questions.survey_fields import CHANNEL, PAPER, UNDERSTOOD
from toolkit.survey.spec import Survey, is_asked
from toolkit.survey.storage import absolute_url, open_store
from toolkit.survey.storage.collection import PAPER_SETTING
from toolkit.survey.storage.protocol import NewReport, Outcome, StoreError

# Fields that do not affect which answers are possible. All others are compared, including fields that are added later.
_OTHER_FIELDS = (*TEXT_FIELDS, "labels", "mode", "anchor", "innocent")
_ANSWER_PROPERTIES = attrgetter(*(field.name for field in declared_fields(Question) if field.name not in _OTHER_FIELDS))


@dataclass(frozen=True, repr=False)
class EnteredSheets:
    """Answers by serial number, and problems that must be resolved first; descriptions of problems quote no entry."""

    sheets: Mapping[str, Mapping[str, Any]]
    problems: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Entered: {len(self.sheets)} sheets, {len(self.problems)} problems>"


def read_entries(survey: Survey, path: str | Path, second_path: str | Path | None = None) -> EnteredSheets:
    """Read a .csv or .xlsx file with the columns of entry.csv, and compare it with a second entry of the sheets."""
    entry = _EntryFile(survey, Path(path))
    if second_path is None:
        return EnteredSheets(entry.sheets, tuple(entry.problems))
    second_entry = _EntryFile(survey, Path(second_path))
    differing = [
        f"sheet {serial} (rows {entry.rows[serial]} and {second_entry.rows[serial]}), {name}: the two entries differ"
        for serial in entry.cells.keys() & second_entry.cells.keys()
        for name in entry.cells[serial]
        if entry.cells[serial][name] != second_entry.cells[serial][name]
    ]
    unmatched = [
        f"sheet {serial}: only in {file.path.name}, row {file.rows[serial]}"
        for file, missing in ((entry, second_entry), (second_entry, entry))
        for serial in file.cells.keys() - missing.cells.keys()
    ]
    return EnteredSheets(
        entry.sheets, (*entry.problems, *second_entry.problems, *sorted(differing), *sorted(unmatched))
    )


class _EntryFile:
    """One file of entries, with its cells for comparison, its answers to store, and its problems."""

    def __init__(self, survey: Survey, path: Path) -> None:
        self.path, self.survey, self.problems = path, survey, list[str]()
        self.cells, self.sheets, self.rows = dict[str, dict[str, Any]](), dict[str, dict[str, Any]](), dict[str, int]()
        printable = printable_survey(survey)[0]
        questions, self.tries = sheet_questions(printable), sheet_tries(printable)
        header, *rows = read_rows(path) or [[]]
        names = [SERIAL, *(question.name for question in questions)]
        if sorted(filter(None, header)) != sorted(names):
            why = "use entry.csv from the paper kit"
            reject(f"{path.name} must have the columns {', '.join(names)}", "other columns", why)
        for number, row in enumerate(rows, start=2):
            cells = dict(zip(header, row, strict=False))  # spreadsheets may omit empty cells at the end of a row
            unnamed = [cell for name, cell in zip(header, row, strict=False) if not name]
            if any(row) and (len(row) > len(header) or any(unnamed)):
                fault = 'more cells than columns; put cells with a comma in quotation marks, as in "7,5"'
                self.problems.append(f"{path.name}, row {number}: {fault}")
            elif any(row) and (serial := self._checked_serial(cells.get(SERIAL, ""), number)) is not None:
                self._add_sheet(serial, cells, questions)

    def _checked_serial(self, text: str, row: int) -> str | None:
        serial = "".join(normalize_text(text).split())
        fault = (
            "the number of the sheet is missing"
            if not serial
            else "no sheet of these questions has this number: a digit is wrong, or it belongs to another survey"
            if not is_serial(self.survey, serial)
            else f"sheet {serial} is in row {self.rows[serial]} already: it was entered twice, or copied"
            if serial in self.rows
            else None
        )
        if fault is not None:
            self.problems.append(f"{self.path.name}, row {row}: {fault}")
            return None
        self.rows[serial] = row
        return serial

    def _add_sheet(self, serial: str, cells: Mapping[str, str], questions: list[Question]) -> None:
        answers: dict[str, Any] = dict.fromkeys(question.name for question in self.survey.questions)
        compared, faulty = dict[str, Any](), set[str]()
        for question in questions:
            text = cells.get(question.name, "")
            try:
                answers[question.name] = self._answer_to_store(question, text, answers, faulty)
                compared[question.name] = answers[question.name] if text else ""
            except ValueError as problem:
                faulty.add(question.name)
                compared[question.name] = normalize_text(text)
                where = f"{self.path.name}, row {self.rows[serial]}, sheet {serial}"
                self.problems.append(f"{where}, {question.name}: {problem}")
        if self.tries:
            answers[UNDERSTOOD] = self._comprehension_result(
                [answers.pop(question.name, None) for question, _ in self.tries]
            )
        self.cells[serial], self.sheets[serial] = compared, answers

    def _comprehension_result(self, ticked: list[int | None]) -> int | None:
        """Return the number of the first correct try, 0 if no try was correct, or None if no try was answered."""
        right = [index for index, (_, answer) in enumerate(self.tries) if ticked[index] == answer]
        return right[0] + 1 if right else None if set(ticked) == {None} else 0

    def _answer_to_store(self, question: Question, text: str, answers: Mapping[str, Any], faulty: set[str]) -> Any:
        """Return the answer to store for a cell; raise ValueError, without quoting the cell, if it is invalid."""
        unclear = not faulty.isdisjoint(question.show_if or ())
        applies = unclear or is_asked(self.survey, question, dict(answers))
        if not text:
            if applies and not unclear and question.required:
                kind = "a protected answer" if question.randomized else "an answer"
                raise ValueError(f"{kind} is missing; type {NO_ANSWER} if the sheet has none that is legible")
            return None
        if not applies:
            raise ValueError("the question does not apply after the earlier answers; leave the cell empty")
        if text == NO_ANSWER:
            return None
        value = read_cell(self.survey, question, text)
        if value is None:
            raise ValueError("not a code or label of this question, or a number out of its range")
        return value


def store_entries(survey: Survey, entered: EnteredSheets, database: str) -> dict[str, int]:
    """Store all sheets in a collection, which is created if necessary; return the counts "stored" and "repeated"."""
    if entered.problems:
        reject("all problems must be solved before sheets are stored", f"{len(entered.problems)}", "see `problems`")
    bodies = {serial: _report_body(answers) for serial, answers in sorted(entered.sheets.items())}
    with closing(open_store(absolute_url(database))) as store:
        try:
            stored_survey = store.survey()
        except StoreError:
            store.create(survey)
            stored_survey = survey
        if _answer_properties(stored_survey) != _answer_properties(survey):
            rule = "the database must contain a collection of these questions"
            reject(rule, "a different collection", "use the survey of that collection")
        store.compare_and_set(PAPER_SETTING, None, secrets.token_hex(32))
        secret = store.get_setting(PAPER_SETTING) or ""  # a closed collection has no secret and rejects the sheets
        keys = {serial: report_key(survey, serial, secret) for serial in bodies}
        earlier = {serial: legacy_report_key(survey, serial) for serial in bodies}
        keys_to_check = {*keys.values(), *earlier.values()}
        stored = {key: body for key, body in store.rows() if key in keys_to_check}
        keys |= {serial: key for serial, key in earlier.items() if key in stored}
        batch = [NewReport(keys[serial], body) for serial, body in bodies.items()]
        if n_different := sum(stored.get(entry.key, entry.body) != entry.body for entry in batch):
            rule = "a sheet that was stored before must have the same answers"
            reject(rule, f"{n_different} with other answers", "a sheet was copied, or mistyped; nothing was stored")
        outcomes = store.add_paper_reports(batch)
    return {outcome.value: outcomes.count(outcome) for outcome in (Outcome.STORED, Outcome.REPEATED)}


def _answer_properties(survey: Survey) -> tuple[bool | str, list[Any]]:
    """Return the properties of a survey that determine the possible answers on a sheet."""
    return survey.check, [_ANSWER_PROPERTIES(question) for question in survey.questions]


def _report_body(answers: Mapping[str, Any]) -> str:
    question_answers = {name: answer for name, answer in answers.items() if name != UNDERSTOOD}
    data = {"answers": question_answers, UNDERSTOOD: answers.get(UNDERSTOOD), CHANNEL: PAPER}
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)
