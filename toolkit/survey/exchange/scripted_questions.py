"""Surveys for Qualtrics and LimeSurvey, whose questions have a script that randomizes the answer in the browser.

The programs get one text field per question, which a respondent does not see. A script shows the question, and writes
the report into this field. The text of the question is in the script only, so that nobody can answer without it.
"""

import csv
import io
import json
import re
from collections.abc import Mapping
from typing import Any

from toolkit.core.checks import reject
from toolkit.survey.client import asset
from toolkit.survey.exchange.web import STATIC, escape_markup, module_code

CONSENT = "consent"
"""The name of the question that asks whether a person takes part; the programs ask it without a script."""

LIMESURVEY_WORDS = frozenset({CONSENT, "self", "that", "this"})
"""Names that a question of LimeSurvey must not have: the consent question, and words of its expressions."""

_LINKS = re.compile(r"^import .*\n|^export (?=const |function |async |class )", re.MULTILINE)
_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_SPECIAL = re.compile(r"\\.|[<>{}\[\]$&]")
_LIMESURVEY_NAME = re.compile(r"[a-z][a-z0-9]{0,19}")
_LIMESURVEY_COLUMNS = ("class", "type/scale", "name", "relevance", "text", "language", "mandatory")
_LIMESURVEY_SETTINGS = {
    "format": "S",  # one question per page
    "anonymized": "Y",
    "datestamp": "N",
    "ipaddr": "N",
    "refurl": "N",
    "savetimings": "N",
    "allowprev": "N",
    "allowsave": "N",
    "printanswers": "N",
    "publicstatistics": "N",
    "showwelcome": "N",
    "showgroupinfo": "X",
    "showqnumcode": "X",
}


def qualtrics_files(form: Mapping[str, Any]) -> dict[str, str]:
    """Return a survey in the advanced text format of Qualtrics, and the JavaScript of each question.

    `form` contains the data of `form_data`, and the language, its direction, the consent text as HTML (`consent`), and
    the text that is shown where scripts do not run (`loading`).
    """
    questions, words = form["questions"], form["words"]
    choices = "\n".join(escape_markup(words[name]) for name in ("take_part", "not_part"))
    consent = f"[[Question:MC:SingleAnswer:Vertical]]\n[[ID:{CONSENT}]]\n{form['consent']}\n[[Choices]]\n{choices}"
    blocks = ["[[AdvancedFormat]]", consent]
    for question in questions:
        kind = "SingleLine" if _is_line(question) else "Essay"
        text = escape_markup(form["loading"])
        blocks += ["[[PageBreak]]", f"[[Question:TE:{kind}]]\n[[ID:{question['name']}]]\n{text}"]
    scripts = {f"{question['name']}.js": _script("qualtrics.js", question, form) for question in questions}
    rows = "".join(f"| `{question['name']}` | `{question['name']}.js` |\n" for question in questions)
    readme = (STATIC / "qualtrics.md").read_text(encoding="utf-8")
    slots = {"rows": rows, "conditions": _conditions(questions), "not_part": words["not_part"]}
    return {"survey.txt": "\n\n".join(blocks) + "\n", **scripts, "README.md": readme.format(**slots)}


def _conditions(questions: list[Mapping[str, Any]]) -> str:
    """Return the steps with which conditions are entered by hand, because the text format has none."""
    steps = [
        f"   - `{question['name']}`: if `{name}`, *Text response*, *Is equal to* {' or '.join(map(str, options))}\n"
        for question in questions
        for name, options in question["show_if"].items()
    ]
    return "".join(steps) or "   - There are none.\n"


def limesurvey_files(form: Mapping[str, Any]) -> dict[str, str]:
    """Return a survey as LimeSurvey's tab-separated structure; `form` is as for `qualtrics_files`.

    Braces are surrounded by spaces, because LimeSurvey evaluates braces without spaces as expressions.
    """
    language, words = form["language"], form["words"]
    rows = [{"class": "S", "name": name, "text": text} for name, text in _LIMESURVEY_SETTINGS.items()]
    rows += [
        {"class": "S", "name": "language", "text": language},
        {"class": "SL", "name": "surveyls_title", "text": escape_markup(form["title"]), "language": language},
        {"class": "G", "name": escape_markup(form["title"]), "language": language},
        _limesurvey_question(CONSENT, "L", form["consent"], "1", language=language, mandatory=True),
        {"class": "A", "name": "yes", "text": escape_markup(words["take_part"]), "language": language},
        {"class": "A", "name": "no", "text": escape_markup(words["not_part"]), "language": language},
    ]
    for question in form["questions"]:
        name = question["name"]
        if not _LIMESURVEY_NAME.fullmatch(name):
            rule = "a question of LimeSurvey must have a name of at most 20 letters and digits"
            reject(rule, repr(name), "rename it; LimeSurvey would do so, and the columns would have other names")
        script = _script("limesurvey.js", question, form).replace("{", "{ ").replace("}", " }")
        text = f'<div id="toolkit-{name}">{escape_markup(form["loading"])}</div>\n<script>\n{script}</script>'
        kind = "S" if _is_line(question) else "T"
        condition, mandatory = _relevance(question["show_if"]), bool(question["required"])
        rows.append(_limesurvey_question(name, kind, text, condition, language=language, mandatory=mandatory))
    table = io.StringIO()
    writer = csv.DictWriter(table, _LIMESURVEY_COLUMNS, restval="", delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return {"survey.txt": table.getvalue(), "README.md": (STATIC / "limesurvey.md").read_text(encoding="utf-8")}


def _relevance(show_if: Mapping[str, list[Any]]) -> str:
    """Return the condition of a question as an expression of LimeSurvey."""
    return " and ".join(
        f"({' or '.join(f'{name}.NAOK == {json.dumps(str(option), ensure_ascii=False)}' for option in options)})"
        for name, options in {CONSENT: ["yes"], **show_if}.items()
    )


def _limesurvey_question(
    name: str, kind: str, text: str, relevance: str, *, language: str, mandatory: bool
) -> dict[str, str]:
    return {
        "class": "Q",
        "type/scale": kind,
        "name": name,
        "relevance": relevance,
        "text": text,
        "language": language,
        "mandatory": "Y" if mandatory else "N",
    }


def _is_line(question: Mapping[str, Any]) -> bool:
    """Return whether the report is short and has no line breaks; lists can exceed what a short text holds."""
    design = question["design"]
    is_option = question["kind"] == "choice" and (design is None or "report_options" in design)
    return is_option or question["kind"] == "number"


def _script(adapter: str, question: Mapping[str, Any], form: Mapping[str, Any]) -> str:
    """Return the modules of a question as one script, which needs no other file."""
    data = {
        "language": form["language"],
        "direction": form["direction"],
        "words": form["words"],
        "question": question,
        "style": (STATIC / "ask.css").read_text(encoding="utf-8"),
    }
    scripts = [(STATIC / name).read_text(encoding="utf-8") for name in ("ask.js", "fill.js", adapter)]
    code = "\n".join(_LINKS.sub("", module) for module in (module_code(), asset("numbers.js").decode(), *scripts))
    head = f"// The question {question['name']} of the survey with hash {form['hash']}."
    return f'{head}\n(() => {{\n"use strict";\n\nconst form = {_literal(data)};\n\n{code}}})();\n'


def _literal(value: object) -> str:
    r"""Return a value as JSON in which markup, expressions and piped text have no effect.

    >>> print(_literal('"</script>${x}'))
    "\u0022\u003c/script\u003e\u0024\u007bx\u007d"
    """
    text = json.dumps(value, ensure_ascii=False, indent=1)
    return _JSON_TEXT.sub(lambda found: f'"{_SPECIAL.sub(_escaped, found[0][1:-1])}"', text)


def _escaped(match: re.Match[str]) -> str:
    """Return an escape without quotation marks, which would end a field for CSV readers that know backslashes."""
    text = match[0]
    return text if text.startswith("\\") and text != '\\"' else f"\\u{ord(text[-1]):04x}"
