"""Live checks of a survey while it is being written: problems by field, privacy losses, odds and margins of error."""

import json
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

from toolkit.core.checks import Number
from toolkit.local.catalogue import CATALOGUE, make_example, parameter_requirements
from toolkit.local.protocol import Randomizer
from toolkit.survey.consent.statement import OPTIONAL, loss, missing_statements, odds
from toolkit.survey.plan import margin_text, plan_questions
from toolkit.survey.questions.errors import SurveyError, SurveyWarning
from toolkit.survey.questions.images import embed_image
from toolkit.survey.questions.question import Question, localized_question, loss_over_waves, read_questions
from toolkit.survey.spec import STATEMENT_FIELDS, Survey
from toolkit.texts.odds import WEAK_EPSILON

_MAX_PROBLEMS = 12  # problems of the survey as a whole; each is found after the previously rejected field is dropped
_EPSILONS = [step / 10 for step in range(1, 31)]
_LIKERT = ("The phone, by chance", "The true point is likelier to be sent than any other.")
_OWN_SETTINGS = ("forced", "crosswise")  # dice and birthdays allow few settings; other designs have a slider
_PLACEHOLDERS = ("A new survey", "first answer", "second answer", "third answer", "answer {place}")
_GERMAN = Path(__file__).parent / "static" / "de.json"
_MONTHS = ("jan-feb", "jan-mar", "jan-apr", "jan-may")


@dataclass
class CheckedSurvey:
    """A survey that may be unfinished: rejected questions are None, and the survey is None while it has problems."""

    survey: Survey | None = None
    questions: list[Question | None] = field(default_factory=list)
    problems: list[dict[str, Any]] = field(default_factory=list)

    @property
    def readable(self) -> list[Question]:
        """The questions without problems."""
        if self.survey is not None:
            return [*self.survey.questions]
        return [question for question in self.questions if question is not None]


def check(data: Mapping[str, Any], folder: Path | None = None) -> CheckedSurvey:
    """Return all problems that the linter finds in a survey; images are read from `folder`, or left out without one.

    The linter stops at the first error. Therefore each question is read by itself first. Then the whole survey is read
    repeatedly, each time without the field that was rejected last.
    """
    checked = CheckedSurvey()
    questions = data.get("questions", [])
    tables = list(questions) if isinstance(questions, list) else []
    for index, table in enumerate(tables):
        try:
            tables[index] = embed_image(table, folder)
            # Reading the whole survey repeats these warnings.
            with recorded_warnings():
                checked.questions += read_questions([tables[index]])
        except (ValueError, TypeError) as problem:
            checked.questions.append(None)
            checked.problems.append(_problem_entry(problem, tables, index))
    valid = [table for table, question in zip(tables, checked.questions, strict=True) if question is not None]
    remaining_data = {**data, "questions": valid if isinstance(questions, list) else questions}
    _check_survey(checked, remaining_data, tables, has_rejected_questions=bool(checked.problems))
    checked.problems = [
        {**problem, "unfinished": "empty"} if _is_empty_field(problem, data, tables) else problem
        for problem in checked.problems
    ]
    for question, name, text in placeholders(data):
        message = f"`{name}` must be your own text, got the placeholder {text!r}: respondents would read it."
        checked.problems.append({"question": question, "field": name, "message": message, "unfinished": "example"})
    return checked


def _check_survey(
    checked: CheckedSurvey, remaining_data: dict[str, Any], tables: Sequence[Any], *, has_rejected_questions: bool
) -> None:
    """Add the problems of the whole survey; it is read repeatedly, without the fields that were rejected before."""
    for _ in range(_MAX_PROBLEMS):
        try:
            with recorded_warnings() as caught:
                survey = Survey.from_dict(remaining_data)
        except (ValueError, TypeError) as problem:
            # If every question was rejected, an empty list of questions is not a separate problem.
            if tables and not remaining_data["questions"]:
                break
            rejected = _problem_entry(problem, tables)
            # A condition may refer to a question that was rejected above.
            if not (has_rejected_questions and rejected["field"] == "show_if"):
                checked.problems.append(rejected)
            if not _drop_rejected(remaining_data, rejected, tables):
                break
        else:
            notes = [{**_problem_entry(warning.message, tables), "warning": True} for warning in caught]
            checked.survey = None if checked.problems else survey
            checked.problems += notes
            break


def _is_empty_field(problem: Mapping[str, Any], data: Mapping[str, Any], tables: Sequence[Any]) -> bool:
    """Return whether a field is rejected only because it is still empty."""
    if problem["question"] is None and problem["field"] is None:
        return not tables
    table = data if problem["question"] is None else tables[problem["question"]]
    value = table.get(problem["field"]) if isinstance(table, Mapping) else None
    return problem["field"] in ("title", "consent", "text") and not value


def placeholders(data: Mapping[str, Any]) -> list[tuple[int | None, str, str]]:
    """Return the placeholder texts that are still in a survey as (question index, field, text)."""
    tables = data.get("questions")
    texts: list[tuple[int | None, str, object]] = [(None, "title", data.get("title"))]
    for index, table in enumerate(tables if isinstance(tables, list) else []):
        fields = table if isinstance(table, Mapping) else {}
        options, labels = fields.get("options"), fields.get("labels")
        captions_by_option = labels if isinstance(labels, Mapping) else {}
        captions = (
            [captions_by_option.get(str(option), option) for option in options] if isinstance(options, list) else []
        )
        texts += [(index, "options", text) for text in captions]
    return [
        (question, name, text)
        for question, name, value in texts
        for text in _translations(value)
        if _placeholder_pattern().fullmatch(text)
    ]


def _translations(text: object) -> list[str]:
    """Return all translations of a text."""
    values = text.values() if isinstance(text, Mapping) else [text]
    return [value for value in values if isinstance(value, str)]


@cache
def _placeholder_pattern() -> re.Pattern[str]:
    """Return a pattern that matches the placeholders in both languages of the page."""
    german = json.loads(_GERMAN.read_text(encoding="utf-8"))
    texts = {*_PLACEHOLDERS, *(german[text] for text in _PLACEHOLDERS if text in german)}
    return re.compile("|".join(re.escape(text).replace(re.escape("{place}"), r"\d+") for text in sorted(texts)))


@contextmanager
def recorded_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Record warnings for the page instead of printing them in the terminal."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def _problem_entry(problem: object, tables: Sequence[Any], index: int | None = None) -> dict[str, Any]:
    """Return the question index, the field and the message of an error or a warning."""
    if not isinstance(problem, SurveyError | SurveyWarning):
        return {"question": index, "field": None, "message": str(problem)}
    if index is None and problem.question is not None:
        names = [table.get("name") if isinstance(table, Mapping) else None for table in tables]
        index = names.index(problem.question) if problem.question in names else None
    # The page has an input for each argument of a design.
    field = problem.field and problem.field.removeprefix("design.")
    return {"question": index, "field": field, "message": problem.reason}


def _drop_rejected(remaining_data: dict[str, Any], problem: Mapping[str, Any], tables: Sequence[Any]) -> bool:
    """Drop the rejected question or field from `remaining_data`; return whether anything was dropped.

    The title, the consent text and the ceiling are required, so they are replaced by values that are always accepted.
    """
    name = problem["field"]
    if problem["question"] is not None:
        remaining = [table for table in remaining_data["questions"] if table is not tables[problem["question"]]]
        changed = len(remaining) < len(remaining_data["questions"])
        remaining_data["questions"] = remaining
        return changed
    if name in ("title", "consent") and remaining_data.get(name) != "…":
        remaining_data[name] = {code: "…" for code in remaining_data.get("languages", ["en"]) if isinstance(code, str)}
        return True
    if name == "ceiling" and remaining_data.get(name) != "inf":
        remaining_data[name] = "inf"
        return True
    parent, _, child = (name or "").partition(".")
    if isinstance(remaining_data.get(parent), dict) and child in remaining_data[parent]:
        remaining_data[parent] = {key: value for key, value in remaining_data[parent].items() if key != child}
        return True
    return parent not in ("", "questions") and remaining_data.pop(parent, None) is not None


def page_facts(data: Mapping[str, Any], checked: CheckedSurvey, page_language: str) -> dict[str, Any]:
    """Return the data that the page shows beside the survey: privacy losses, odds and missing statements."""
    survey, waves = checked.survey, data.get("waves", 1)
    waves = waves if isinstance(waves, int) and 0 < waves <= 24 else 1
    total, language = loss(checked.readable, waves).epsilon, _display_language(data, page_language)
    stated = {name: data.get(name) for name in STATEMENT_FIELDS}
    return {
        "questions": [
            None
            if question is None
            else {
                "epsilon": _json_number(loss_over_waves(question, waves).epsilon),
                "odds": _odds_sentences(question, language),
            }
            for question in checked.questions
        ],
        "epsilon": _json_number(total),
        "ceiling": _json_number(float(data["ceiling"])) if _is_amount(data.get("ceiling")) else WEAK_EPSILON,
        "missing": missing_statements(stated),
        "optional": list(OPTIONAL),
        "hash": None if survey is None else survey.hash,
        "families": offered_designs(),
        "kinds": design_kinds(),
    }


def offered_designs() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the designs that the page offers for each kind of question: those of the catalogue that have a title."""
    kinds = design_kinds()
    offered: dict[str, dict[str, dict[str, Any]]] = {"likert": {"likert": _offer("likert", *_LIKERT)}}
    for name, entry in CATALOGUE.items():
        if entry.title:
            family = _offer(name, entry.title, entry.description)
            offered.setdefault(kinds.get(name, "options"), {})[name] = family
    return offered


def _offer(name: str, title: str, description: str) -> dict[str, Any]:
    return {"title": title, "description": description, "by_epsilon": name not in _OWN_SETTINGS}


def design_kinds() -> dict[str, str]:
    """Return the kind of question for each design of the catalogue, unless the kind depends on the options."""
    kinds = {name: _design_kind(name) for name in CATALOGUE}
    return {name: kind for name, kind in kinds.items() if kind is not None}


@cache
def _design_kind(name: str) -> str | None:
    """Return the kind of question for a design, which is cached because making examples of all designs takes long."""
    design = make_example(name)
    if design.answer_kind != "choice":
        return design.answer_kind
    if "options" in parameter_requirements(CATALOGUE[name].maker):
        return None
    return "yesno" if tuple(design.options) == ("no", "yes") else "options"


def _is_amount(value: Any) -> bool:
    try:
        return value is not None and not isinstance(value, bool) and float(value) >= 0
    except (TypeError, ValueError):
        return False


def _display_language(data: Mapping[str, Any], page_language: str) -> str:
    codes = data.get("languages")
    codes = [code for code in codes if isinstance(code, str)] if isinstance(codes, list) else []
    return page_language if page_language in codes or not codes else codes[0]


def _json_number(value: float) -> float | str:
    return value if math.isfinite(value) else "inf"


def _odds_sentences(question: Question, language: str) -> list[str]:
    try:
        return odds(localized_question(question, language), language)
    except ValueError:  # the survey is not translated into this language yet
        return []


def plan(data: Mapping[str, Any], n: Any, subgroup: Any) -> dict[str, Any]:
    """Return the margin of error of every question with n respondents, overall and in the smallest subgroup."""
    table: Any = plan_questions("", check(data).readable, n, subgroup=subgroup or None)
    rows = {row.question: {"margin": margin_text(row, row.margin)} for row in table.questions}
    return {"rows": rows, "notes": table.notes}


def people_needed(data: Mapping[str, Any], name: str, margin: object) -> dict[str, Any]:
    """Return the sample size at which a question with its current design reaches a margin of error."""
    question = next((question for question in check(data).readable if question.name == name), None)
    if question is None or question.design is None:
        return {"n": None}
    needed: Any = plan_questions("", [question], goals={name: {"margin": margin}})
    return {"n": needed.n}


def design_curve(
    table: Mapping[str, Any], family: str, n: int, subgroup: Number | None, page_language: str
) -> list[dict[str, Any]]:
    """Return epsilon, odds and margins for each setting of a randomizer, so that a slider needs no further request."""
    rows = []
    for change in _design_settings(table, family):
        changed = {key: value for key, value in {**table, **change}.items() if value is not None}
        try:
            with recorded_warnings():
                (question,) = read_questions([embed_image(changed, None)])
            result: Any = plan_questions("", [question], n, subgroup=subgroup or None)
        except (ValueError, TypeError) as problem:
            rows.append({"change": change, "problem": str(problem)})
            continue
        # The design is never None, because every setting includes one.
        row, design = result.questions[0], cast("Randomizer", question.design)
        rows.append(
            {
                "change": change,
                "epsilon": _json_number(design.epsilon),
                "odds": _odds_sentences(question, _display_language({}, page_language)),
            }
            | {"margin": margin_text(row, row.margin), "small_margin": margin_text(row, row.subgroup_margin)}
            | {"number": _json_number(row.margin), "share": row.is_share, "pictures": _icon_counts(design)}
        )
    return rows


def _design_settings(table: Mapping[str, Any], family: str) -> list[dict[str, Any]]:
    """Return the changes that each setting makes to a question's table; None removes a field."""
    default: dict[str, Any] = {"innocent": None}
    if family == "forced":
        shares = ("1/3", "1/4", "1/6", "1/8", "1/10", "1/20")
        return [{**default, "design": {"forced": {"yes": share, "no": share}}} for share in shares]
    if family == "crosswise":
        manual = {"mode": "physical", "instructions": table.get("instructions")}
        return [{**manual, "innocent": {"born": months}, "design": {"crosswise": {}}} for months in reversed(_MONTHS)]
    points = table.get("design", {}).get("likert", {}).get("points", 5) if family == "likert" else None
    arguments = {} if points is None else {"points": points}
    mode = {"mode": None} if table.get("mode") == "physical" else {}
    return [{**default, **mode, "design": {family: {**arguments, "epsilon": epsilon}}} for epsilon in _EPSILONS]


def _icon_counts(design: Randomizer) -> list[dict[str, Any]]:
    """Return counts out of a hundred people that describe a design.

    For a yes/no question, these are the numbers of people who report "yes", among people whose answer is yes and among
    people whose answer is no. If the reports are options of the question, the count is the minimum number of people who
    report their true answer. For all other designs, the count is an upper bound on the number of correct guesses from a
    report.
    """
    matrix = design.matrix
    if matrix is not None and matrix.shape == (2, 2):
        (_, yes_if_no), (_, yes_if_yes) = matrix.tolist()
        return [
            {"what": "of_yes", "count": round(100 * yes_if_yes)},
            {"what": "of_no", "count": round(100 * yes_if_no)},
        ]
    if matrix is not None and design.options == design.report_options:
        return [{"what": "same", "count": round(100 * min(matrix.diagonal()))}]
    correct = 1.0 if math.isinf(design.epsilon) else 1 / (1 + math.exp(-design.epsilon))
    return [{"what": "guess", "count": math.ceil(100 * correct - 1e-9)}]
