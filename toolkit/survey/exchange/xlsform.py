"""Conversion between XLSForms for ODK and Kobo and surveys in which respondents use their own die or coin."""

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from toolkit.core.checks import reject, warn
from toolkit.core.extras import extra
from toolkit.local.catalogue import restore
from toolkit.survey.consent.instructions import instructions
from toolkit.survey.consent.page_data import as_number, page_words
from toolkit.survey.consent.statement import odds_of_questions, stated_layers
from toolkit.survey.consent.wheel import fill_slots
from toolkit.survey.exchange.raw_files import MOST_DIGITS, cell_text, sheets
from toolkit.survey.questions.errors import error_location
from toolkit.survey.questions.images import reject_image
from toolkit.survey.questions.question import Question, printed_answers, reject_insertions
from toolkit.survey.questions.strict_json import loads
from toolkit.survey.questions.survey_fields import statements
from toolkit.survey.spec import Survey
from toolkit.texts.multilingual import text_in
from toolkit.texts.phrases import phrases
from toolkit.texts.voice import Voice

_LANGUAGES = {"en": "English", "de": "Deutsch", "fr": "Français", "es": "Español", "ar": "العربية"}
_DESIGN, _OPTION = "rr::design", "rr_option"
"""Columns of this package, which ODK and Kobo ignore."""

_CHOICE_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_METADATA = {"start", "end", "today", "deviceid", "username", "email", "phonenumber", "audit", "note"}
_GROUPS = {"begin group", "begin_group", "end group", "end_group"}
_CONDITION = re.compile(r"\$\{(\w+)\}\s*=\s*(?:'([^']*)'|\"([^\"]*)\")")
_RANGE = re.compile(r"\.\s*(>=|<=)\s*(-?\d+(?:\.\d+)?)(?![\d.eE])")


def write_xlsform(survey: Survey, path: str | Path) -> Path:
    """Write an XLSForm with all languages, instructions and ranges, for ODK, Kobo and similar tools.

    Parameters
    ----------
    survey : Survey
        The survey, whose protected questions must have mode "physical": people use their own die or coin. A form that
        randomized on the device would store the true answer.
    path : str or Path
        An .xlsx file.

    Returns
    -------
    Path
        The file; `read_reports` reads the answers that are collected with it.

    Raises
    ------
    ValueError
        If a question would be randomized on the device, or the file's suffix is not .xlsx.

    Examples
    --------
    >>> import tempfile
    >>> from toolkit import Question, forced
    >>> cheated = Question("cheated", "Have you ever cheated?", design=forced("1/6", "1/6"), mode="physical")
    >>> survey = Survey("Exams", [cheated], consent="We are a research group.")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_xlsform(survey, f"{folder}/form.xlsx").name
    'form.xlsx'
    """
    target = Path(path)
    if target.suffix != ".xlsx":
        reject("an XLSForm must end in .xlsx", repr(target.suffix), "nothing was written")
    if survey.random_order:
        why = "a form would have to store the order: leave `random_order` out, or write forms in several orders"
        reject("a form for ODK and Kobo must ask its questions in one order", "random_order", why)
    for question in survey.questions:
        _check_question(question)
        reject_insertions(question)
        reject_image(question)
    book = extra("openpyxl").Workbook()
    rows = {"survey": _survey_rows(survey), "choices": _choice_rows(survey), "settings": [_settings_cells(survey)]}
    for index, (name, sheet_rows) in enumerate(rows.items()):
        sheet = book.active if index == 0 else book.create_sheet()
        sheet.title = name
        head = list(dict.fromkeys(key for row in sheet_rows for key in row)) or ["list_name", "name", "label"]
        for row in [dict(zip(head, head, strict=True)), *sheet_rows]:
            sheet.append([None] * len(head))
            for column, key in enumerate(head, 1):
                cell = sheet.cell(sheet.max_row, column)
                cell.value, cell.data_type = str(row.get(key, "")), "s"  # never a formula
    book.save(target)
    return target


def _check_question(question: Question) -> None:
    if question.draw_probabilities is not None:
        rule = "a form for ODK and Kobo must not have arms"
        reject(rule, "arms", "people would choose their arm: write one form per arm, and assign the forms at random")
    if question.mode not in ("plain", "physical"):
        why = "the form would also store the true answer: use mode='physical', with instructions for respondents"
        received = f"{question.name!r} with mode {question.mode!r}"
        reject("in a form, answers must be randomized with the respondent's own die or coin", received, why)


def _translated_cells(survey: Survey, column: str, texts: Mapping[str, str | None]) -> dict[str, str]:
    """Return a column for each language, in which "${" no longer starts a reference."""
    headers = {code: f"{column}::{_LANGUAGES.get(code, code)} ({code})" for code in survey.languages}
    return {headers[code]: text.replace("${", "$ {") for code, text in texts.items() if text}


def _consent_paragraphs(survey: Survey, code: str) -> list[str]:
    """Return the researchers' text and what can be learned; storage is left out, as it depends on the other program."""
    layers = stated_layers(statements(survey), survey.consent[code], code, survey.words, paper=True)
    lines = [text for layer in layers for text in (*layer.open, *layer.more)]
    return [*lines, *odds_of_questions(survey.questions, code, survey.words, survey.waves)]


def _survey_rows(survey: Survey) -> list[dict[str, str]]:
    consent = {code: "\n\n".join(_consent_paragraphs(survey, code)) for code in survey.languages}
    rows = [{"type": "note", "name": "consent_text", **_translated_cells(survey, "label", consent)}]
    for question in survey.questions:
        hints = {code: _hint_text(survey, question, code) for code in survey.languages}
        row = {"type": _question_type(question), "name": question.name}
        row |= _translated_cells(survey, "label", {code: text_in(question.text, code) for code in survey.languages})
        row |= _translated_cells(survey, "hint", hints)
        row |= {"required": "yes" if question.required or question.randomized else "no"}
        row |= {"relevant": _relevant_cell(survey, question), **_constraint_cells(survey, question)}
        row |= {"parameters": "randomize=true"} if question.random_order else {}
        if question.design is not None:
            row[_DESIGN] = json.dumps(question.design.to_dict())
        rows.append(row)
    return rows


def _hint_text(survey: Survey, question: Question, code: str) -> str:
    help_text, warning = ([] if text is None else [text_in(text, code)] for text in (question.help, question.warning))
    steps = [line for line, _ in instructions(question, code, survey.words)] if question.randomized else []
    return "\n\n".join([*help_text, *steps, *warning])


def _question_type(question: Question) -> str:
    kinds = {"choice": f"select_one {question.name}", "ticks": f"select_multiple {question.name}", "text": "text"}
    return kinds.get(question.kind, "integer" if question.whole else "decimal")


def choice_names(question: Question) -> list[str]:
    """Return a name for each choice: the option itself if it is a valid name in a form, or otherwise its number."""
    options, numbered = [str(option) for option in printed_answers(question)], numbered_names(question)
    names = [
        option if _CHOICE_NAME.fullmatch(option) else number for option, number in zip(options, numbered, strict=True)
    ]
    return names if len(set(names)) == len(names) else numbered


def numbered_names(question: Question) -> list[str]:
    """Return a numbered name for each choice; earlier forms used these if any option was not a valid name."""
    return [f"option{number}" for number in range(1, len(printed_answers(question)) + 1)]


def _choice_rows(survey: Survey) -> list[dict[str, str]]:
    rows = []
    for question in survey.questions:
        for option, name in zip(printed_answers(question), choice_names(question), strict=True):
            labels = {code: question.label(option, code, phrases(code, survey.words)) for code in survey.languages}
            row = {"list_name": question.name, "name": name, **_translated_cells(survey, "label", labels)}
            rows.append({**row, _OPTION: json.dumps(option, ensure_ascii=False)})
    return rows


def _relevant_cell(survey: Survey, question: Question) -> str:
    conditions = []
    for name, options in (question.show_if or {}).items():
        names = dict(zip(survey[name].options, choice_names(survey[name]), strict=True))
        conditions.append("(" + " or ".join(f"${{{name}}} = '{names[option]}'" for option in options) + ")")
    return " and ".join(conditions)


def _constraint_cells(survey: Survey, question: Question) -> dict[str, str]:
    if question.bounds is None:
        return {}
    low, high = (as_number(bound) for bound in question.bounds)
    least, most = (format(Decimal(str(bound)), "f") for bound in (low, high))  # XPath does not allow 1e-05
    key = "whole" if question.whole else "number"
    messages = {}
    for code in survey.languages:
        voice = Voice(phrases(code, survey.words))
        messages[code] = fill_slots(page_words(survey)[code][key], low=voice.number(low), high=voice.number(high))
    return {"constraint": f". >= {least} and . <= {most}", **_translated_cells(survey, "constraint_message", messages)}


def _settings_cells(survey: Survey) -> dict[str, str]:
    code = survey.languages[0]
    form = re.sub(r"\W+", "_", survey.name.lower(), flags=re.ASCII).strip("_") or "survey"
    language = f"{_LANGUAGES.get(code, code)} ({code})"
    version = {"version": survey.hash[:16], "default_language": language}
    return {"form_title": survey.name.replace("${", "$ {"), "form_id": f"f_{form[:40]}", **version}


def from_xlsform(path: str | Path, *, consent: object, **fields: Any) -> Survey:
    """Make a survey from the choices, numbers and texts of an XLSForm.

    Types, conditions and ranges that a survey does not support are rejected. Times, devices and similar elements are
    left out with a warning.

    Parameters
    ----------
    path : str or Path
        An .xlsx file.
    consent : str or mapping
        The consent text.
    **fields : Any
        Other parameters of `Survey`.

    Returns
    -------
    Survey
        A survey with the form's questions, languages and title. A warning names the elements that were left out.

    Raises
    ------
    SurveyError
        If a question has a type, condition or range that a survey does not support.

    Examples
    --------
    >>> from toolkit.survey.exchange.xlsform import from_xlsform
    >>> survey = from_xlsform("form.xlsx", consent="We are a research group.")  # doctest: +SKIP
    """
    read = {name: _rows_by_column(rows) for name, rows in sheets(Path(path)).items()}
    if not read.get("survey"):
        reject("an XLSForm must have the sheet survey", "none", "nothing was read")
    languages = _find_languages(read["survey"])
    choices: dict[str, list[dict[str, str]]] = {}
    for row in read.get("choices", []):
        choices.setdefault(row.get("list_name") or row.get("list name", ""), []).append(row)
    questions, left_out = list[Question](), []
    for row in read["survey"]:
        kind, name = row.get("type", ""), row.get("name", "")
        if kind in _METADATA | _GROUPS:
            left_out += [] if kind in _GROUPS or name == "consent_text" else [name or kind]
            if kind in _GROUPS and row.get("relevant"):
                reject("a group must have no condition", name, "write it as the `relevant` of each of its questions")
            continue
        with error_location(question=name):
            questions.append(_parse_question(row, choices, languages, questions))
    if left_out:
        warn(f"Left out of the form: {', '.join(left_out)}.")
    settings = (read.get("settings") or [{}])[0]
    title = settings.get("form_title") or Path(path).stem
    codes = [code for code, _ in languages]
    texts = {"title": dict.fromkeys(codes, title), "consent": consent}
    return Survey(**{**texts, "questions": questions, "languages": codes, **fields})


def _rows_by_column(rows: Sequence[Sequence[Any]]) -> list[dict[str, str]]:
    if not rows:
        return []
    head = [str(cell).strip() for cell in rows[0]]
    return [
        {key: cell_text(cell) for key, cell in zip(head, row, strict=True) if cell not in (None, "")}
        for row in rows[1:]
    ]


def _find_languages(rows: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    """Return language codes with the suffixes of their columns; English if no language is named."""
    ends = dict.fromkeys(key.removeprefix("label") for row in rows for key in row if re.match(r"label(::|$)", key))
    languages = [(match[1], end) for end in ends if (match := re.search(r"\(([\w-]+)\)$", end))]
    return languages or [("en", next(iter(ends), ""))]


def _by_language(row: Mapping[str, str], column: str, languages: Sequence[tuple[str, str]]) -> dict[str, str] | None:
    texts = {code: row[f"{column}{end}"] for code, end in languages if f"{column}{end}" in row}
    return texts or None


def _parse_question(row: Mapping[str, str], choices: Any, languages: Any, before: Sequence[Question]) -> Question:
    kind, _, list_name = row.get("type", "").partition(" ")
    fields: dict[str, Any] = {"required": row.get("required", "").lower() in ("yes", "true", "true()")}
    hint = _by_language(row, "hint", languages)
    if kind in ("select_one", "select_multiple"):
        options = choices.get(list_name.strip(), [])
        names = [
            _stored_data(choice, _OPTION) if _OPTION in choice else _whole_number_or_text(choice.get("name", ""))
            for choice in options
        ]
        labels = {name: _by_language(choice, "label", languages) for name, choice in zip(names, options, strict=True)}
        fields |= {"labels": {name: texts for name, texts in labels.items() if texts}}
        fields |= {"options": names, "multiple": kind == "select_multiple", "help": hint}
        fields |= {"random_order": _is_random_order(row)}
    elif kind in ("integer", "decimal"):
        fields |= {"bounds": _parse_bounds(row.get("constraint", "")), "whole": kind == "integer", "help": hint}
    elif kind == "text":
        fields |= {"free_text": True, "warning": hint}
    else:
        reject("a type must be select_one, select_multiple, integer, decimal or text", row.get("type"), "change it")
    if _DESIGN in row:
        other_fields: dict[str, Any] = {name: fields[name] for name in ("labels", "random_order") if name in fields}
        fields = {**other_fields, "design": restore(_stored_data(row, _DESIGN)), "mode": "physical"}
        fields["instructions"] = hint
    condition = _parse_conditions(row.get("relevant", ""), before)
    return Question(
        row.get("name", "").lower(), _by_language(row, "label", languages) or "", show_if=condition, **fields
    )


def _is_random_order(row: Mapping[str, str]) -> bool:
    """Return whether a form shows the choices of a question in random order; a seeded order is rejected."""
    parameters = row.get("parameters", "").lower()
    if "seed" in parameters:
        why = "an order that depends on an answer can reveal it: write only randomize=true"
        reject("choices in random order must have no seed", "seed", why)
    return bool(re.search(r"\brandomize\s*=\s*(true|yes)\b", parameters))


def _stored_data(row: Mapping[str, str], column: str) -> Any:
    """Return the data in a column that this package has written."""
    try:
        return loads(row[column].encode(), max_digits=MOST_DIGITS)
    except ValueError:
        reject(f"the column {column} must be as `write_xlsform` wrote it", "something else", "write the form again")


def _whole_number_or_text(name: str) -> str | int:
    """Return a whole number as an integer, unless the form's data would spell it differently, such as "01"."""
    return int(name) if re.fullmatch("0|-?[1-9][0-9]*", name) else name


def _parse_bounds(constraint: str) -> tuple[str, str]:
    limits = dict(_RANGE.findall(constraint))
    if set(limits) != {">=", "<="}:
        reject("a number must have a constraint such as . >= 0 and . <= 80", repr(constraint)[:60], "give it bounds")
    return limits[">="], limits["<="]


def _parse_conditions(relevant: str, before: Sequence[Question]) -> dict[str, list[Any]] | None:
    """Return the plain answers of earlier questions on which a question depends.

    Answers to one question are joined by "or", and questions by "and".
    """
    pairs = [(name, first or second) for name, first, second in _CONDITION.findall(relevant)]
    rest = re.sub(r"\band\b|\bor\b|[()\s]", "", _CONDITION.sub("", relevant))
    options_by_name = {
        plain.name: dict(zip([*numbered_names(plain), *choice_names(plain)], plain.options * 2, strict=True))
        for plain in before
        if not plain.randomized
    }
    if rest or any(value not in options_by_name.get(name.lower(), {}) for name, value in pairs):
        rule = "a condition must compare earlier plain choices with options, as in ${faculty} = 'law'"
        reject(rule, repr(relevant)[:60], "change it")
    conditions: dict[str, list[Any]] = {}
    for name, value in pairs:
        conditions.setdefault(name.lower(), []).append(options_by_name[name.lower()][value])
    return conditions or None
