"""What is wrong with a survey, field by field, and what it would cost and tell: live, while it is being written."""

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
from toolkit.local.catalogue import CATALOGUE, example, parameters
from toolkit.local.protocol import Randomizer
from toolkit.survey.consent.statement import OPTIONAL, loss, missing, odds
from toolkit.survey.plan import margin_text, planned
from toolkit.survey.questions.errors import SurveyError, SurveyWarning
from toolkit.survey.questions.question import Question, localized, loss_over_waves, read_questions
from toolkit.survey.spec import STATED, Survey
from toolkit.texts.odds import WEAK_EPSILON

_TRIES = 12  # refusals that are told at once
_GRID = [step / 10 for step in range(1, 31)]
FAMILIES = {
    "yesno": ("warner", "forced", "crosswise"),
    "options": ("k_ary",),
    "likert": ("likert",),
    "ticks": ("tick_boxes",),
    "number": ("one_bit", "piecewise", "hybrid", "local_laplace", "square_wave"),
}
"""Designs that the page offers for each kind of question, the usual one first."""

_EXAMPLES = ("A new survey", "first answer", "second answer", "third answer", "answer {place}")
_GERMAN = Path(__file__).parent / "static" / "de.json"
_MONTHS = ("jan-feb", "jan-mar", "jan-apr", "jan-may")


@dataclass
class Checked:
    """A survey that may be half written: a refused question is None, and so is the survey while a problem is left."""

    survey: Survey | None = None
    questions: list[Question | None] = field(default_factory=list)
    problems: list[dict[str, Any]] = field(default_factory=list)

    @property
    def readable(self) -> list[Question]:
        return [one for one in self.questions if one is not None] if self.survey is None else [*self.survey.questions]


def check(data: Mapping[str, Any]) -> Checked:
    """Return all that the linter says about a survey, as far as it can be said at once."""
    checked = Checked()
    questions = data.get("questions", [])
    tables = questions if isinstance(questions, list) else []
    for place, table in enumerate(tables):
        try:
            with quiet():  # what is warned of comes again with the whole survey
                checked.questions += read_questions([table])
        except (ValueError, TypeError) as problem:
            checked.questions.append(None)
            checked.problems.append(_problem(problem, tables, place))
    left = [table for table, one in zip(tables, checked.questions, strict=True) if one is not None]
    rest, broken = {**data, "questions": left if isinstance(questions, list) else questions}, bool(checked.problems)
    for _ in range(_TRIES):
        try:
            with quiet() as caught:
                survey = Survey.from_dict(rest)
        except (ValueError, TypeError) as problem:
            if tables and not rest["questions"]:  # all of them were refused: that none is left is no fault of its own
                break
            refusal = _problem(problem, tables)
            if not (broken and refusal["field"] == "show_if"):
                checked.problems.append(refusal)
            if not _leave_out(rest, refusal, tables):
                break
        else:
            notes = [{**_problem(one.message, tables), "warning": True} for one in caught]
            checked.survey = None if checked.problems else survey
            checked.problems += notes
            break
    checked.problems = [
        {**one, "unfinished": "empty"} if _is_empty(one, data, tables) else one for one in checked.problems
    ]
    for question, name, text in examples(data):
        message = f"`{name}` must be in your words, got {text!r}: people would read it."
        checked.problems.append({"question": question, "field": name, "message": message, "unfinished": "example"})
    return checked


def _is_empty(problem: Mapping[str, Any], data: Mapping[str, Any], tables: Sequence[Any]) -> bool:
    """Whether something is refused only because nobody has written it yet."""
    if problem["question"] is None and problem["field"] is None:
        return not tables
    table = data if problem["question"] is None else tables[problem["question"]]
    value = table.get(problem["field"]) if isinstance(table, Mapping) else None
    return problem["field"] in ("title", "consent", "text") and not value


def examples(data: Mapping[str, Any]) -> list[tuple[int | None, str, str]]:
    """Return the words in a survey that the studio filled in, with the question and the field that they are in."""
    tables = data.get("questions")
    texts: list[tuple[int | None, str, object]] = [(None, "title", data.get("title"))]
    for index, table in enumerate(tables if isinstance(tables, list) else []):
        fields = table if isinstance(table, Mapping) else {}
        options, labels = fields.get("options"), fields.get("labels")
        words = labels if isinstance(labels, Mapping) else {}
        captions = [words.get(str(option), option) for option in options] if isinstance(options, list) else []
        texts += [(index, "options", text) for text in captions]
    return [
        (question, name, text)
        for question, name, value in texts
        for text in _texts(value)
        if _example_words().fullmatch(text)
    ]


def _texts(text: object) -> list[str]:
    """A text in all its languages."""
    values = text.values() if isinstance(text, Mapping) else [text]
    return [value for value in values if isinstance(value, str)]


@cache
def _example_words() -> re.Pattern[str]:
    """The words that the page fills in, in both of its languages."""
    german = json.loads(_GERMAN.read_text(encoding="utf-8"))
    words = {*_EXAMPLES, *(german[text] for text in _EXAMPLES if text in german)}
    return re.compile("|".join(re.escape(text).replace(re.escape("{place}"), r"\d+") for text in sorted(words)))


@contextmanager
def quiet() -> Iterator[list[warnings.WarningMessage]]:
    """Hand out what is warned of: it is shown on the page, and not in the terminal."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def _problem(problem: object, tables: Sequence[Any], index: int | None = None) -> dict[str, Any]:
    """Return where a refusal, or a warning, belongs: the index of the question, and the field; and what it says."""
    if not isinstance(problem, SurveyError | SurveyWarning):
        return {"question": index, "field": None, "message": str(problem)}
    if index is None and problem.question is not None:
        names = [table.get("name") if isinstance(table, Mapping) else None for table in tables]
        index = names.index(problem.question) if problem.question in names else None
    field = problem.field and problem.field.removeprefix("design.")  # the page has a field for each of its arguments
    return {"question": index, "field": field, "message": problem.reason}


def _leave_out(rest: dict[str, Any], refusal: Mapping[str, Any], tables: Sequence[Any]) -> bool:
    """Drop the rejected field, to see what else is wrong; return whether there was one."""
    name = refusal["field"]
    if refusal["question"] is not None:
        others = [one for one in rest["questions"] if one is not tables[refusal["question"]]]
        changed = len(others) < len(rest["questions"])
        rest["questions"] = others
        return changed
    if name in ("title", "consent") and rest.get(name) != "…":
        rest[name] = {code: "…" for code in rest.get("languages", ["en"]) if isinstance(code, str)}
        return True
    if name == "ceiling" and rest.get(name) != "inf":
        rest[name] = "inf"
        return True
    parent, _, child = (name or "").partition(".")
    if isinstance(rest.get(parent), dict) and child in rest[parent]:
        rest[parent] = {key: value for key, value in rest[parent].items() if key != child}
        return True
    return parent not in ("", "questions") and rest.pop(parent, None) is not None


def facts(data: Mapping[str, Any], checked: Checked, speak: str) -> dict[str, Any]:
    """Return what the page tells of a survey besides its text: costs, odds, what is still to be said."""
    survey, waves = checked.survey, data.get("waves", 1)
    waves = waves if isinstance(waves, int) and 0 < waves <= 24 else 1
    total, language = loss(checked.readable, waves).epsilon, _language(data, speak)
    stated = {name: data.get(name) for name in STATED}
    return {
        "questions": [
            None
            if one is None
            else {"epsilon": _number(loss_over_waves(one, waves).epsilon), "odds": _odds(one, language)}
            for one in checked.questions
        ],
        "epsilon": _number(total),
        "ceiling": _number(float(data["ceiling"])) if _is_amount(data.get("ceiling")) else WEAK_EPSILON,
        "missing": missing(stated),
        "optional": list(OPTIONAL),
        "hash": None if survey is None else survey.hash,
        "families": FAMILIES,
        "kinds": design_kinds(),
    }


def design_kinds() -> dict[str, str]:
    """Return the kind of question behind each design of the catalogue whose answers do not depend on its options."""
    kinds: dict[str, str] = {}
    for name, entry in CATALOGUE.items():
        design = example(name)
        if design.asks != "choice":
            kinds[name] = design.asks
        elif "options" not in parameters(entry.maker):
            kinds[name] = "yesno" if tuple(design.options) == ("no", "yes") else "options"
    return kinds


def _is_amount(value: Any) -> bool:
    try:
        return value is not None and not isinstance(value, bool) and float(value) >= 0
    except (TypeError, ValueError):
        return False


def _language(data: Mapping[str, Any], speak: str) -> str:
    codes = data.get("languages")
    codes = [code for code in codes if isinstance(code, str)] if isinstance(codes, list) else []
    return speak if speak in codes or not codes else codes[0]


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else "inf"


def _odds(question: Question, language: str) -> list[str]:
    try:
        return odds(localized(question, language), language)
    except ValueError:  # a language whose own words are not written yet
        return []


def plan(data: Mapping[str, Any], n: Any, subgroup: Any) -> dict[str, Any]:
    """Return the margins of all questions with n people, in all and in the smallest subgroup."""
    table: Any = planned("", check(data).readable, n, subgroup=subgroup or None)
    rows = {row.question: {"margin": margin_text(row, row.margin)} for row in table.questions}
    return {"rows": rows, "notes": table.notes}


def people_needed(data: Mapping[str, Any], name: str, margin: object) -> dict[str, Any]:
    """Return how many people one margin of one question needs, with the protection that it has."""
    question = next((one for one in check(data).readable if one.name == name), None)
    if question is None or question.design is None:
        return {"n": None}
    needed: Any = planned("", [question], wishes={name: {"margin": margin}})
    return {"n": needed.n}


def curve(table: Mapping[str, Any], family: str, n: int, subgroup: Number | None, speak: str) -> list[dict[str, Any]]:
    """Return every setting of one way to protect a question, with cost and margins, for a slider to repaint from."""
    rows = []
    for change in _settings(table, family):
        changed = {key: value for key, value in {**table, **change}.items() if value is not None}
        try:
            with quiet():
                (question,) = read_questions([changed])
            result: Any = planned("", [question], n, subgroup=subgroup or None)
        except (ValueError, TypeError) as problem:
            rows.append({"change": change, "problem": str(problem)})
            continue
        one, design = result.questions[0], cast("Randomizer", question.design)  # every setting has one
        rows.append(
            {"change": change, "epsilon": _number(design.epsilon), "odds": _odds(question, _language({}, speak))}
            | {"margin": margin_text(one, one.margin), "small_margin": margin_text(one, one.small_margin)}
            | {"number": _number(one.margin), "share": one.share, "pictures": _pictures(design)}
        )
    return rows


def _settings(table: Mapping[str, Any], family: str) -> list[dict[str, Any]]:
    """What each setting changes in a question's table; None takes a field away."""
    usual: dict[str, Any] = {"innocent": None}
    if family == "forced":
        shares = ("1/3", "1/4", "1/6", "1/8", "1/10", "1/20")
        return [{**usual, "design": {"forced": {"yes": share, "no": share}}} for share in shares]
    if family == "crosswise":
        by_hand = {"mode": "physical", "instructions": table.get("instructions")}
        return [{**by_hand, "innocent": {"born": months}, "design": {"crosswise": {}}} for months in reversed(_MONTHS)]
    points = table.get("design", {}).get("likert", {}).get("points", 5) if family == "likert" else None
    more = {} if points is None else {"points": points}
    mode = {"mode": None} if table.get("mode") == "physical" else {}
    return [{**usual, **mode, "design": {family: {**more, "epsilon": epsilon}}} for epsilon in _GRID]


def _pictures(design: Randomizer) -> list[dict[str, Any]]:
    """Of a hundred people: how many reports say the last answer, or the true one; else how many guesses are right."""
    matrix = design.matrix
    if matrix is not None and matrix.shape == (2, 2):
        (_, rarely), (_, often) = matrix.tolist()
        return [{"what": "of_yes", "count": round(100 * often)}, {"what": "of_no", "count": round(100 * rarely)}]
    if matrix is not None and design.options == design.report_options:
        return [{"what": "same", "count": round(100 * min(matrix[place][place] for place in range(len(matrix))))}]
    right = 1.0 if math.isinf(design.epsilon) else 1 / (1 + math.exp(-design.epsilon))
    return [{"what": "guess", "count": math.ceil(100 * right - 1e-9)}]
