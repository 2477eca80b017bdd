"""Forms for other programs, in which answers are randomized in the browser before the program has them."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from toolkit.core.checks import check_choice, reject
from toolkit.survey.client import asset
from toolkit.survey.consent.page_data import headings, page_words, shown_question
from toolkit.survey.consent.statement import merge_layers, promise, stated_layers
from toolkit.survey.consent.wheel import fill_slots
from toolkit.survey.exchange.scripted_questions import CONSENT, LIMESURVEY_WORDS, limesurvey_files, qualtrics_files
from toolkit.survey.exchange.web import STATIC, browser_questions, escape_markup, module_code, write_files
from toolkit.survey.questions.images import reject_image
from toolkit.survey.questions.question import Question, reject_insertions
from toolkit.survey.questions.survey_fields import question_units, statements
from toolkit.survey.spec import Survey
from toolkit.texts.multilingual import isolate_digit_groups
from toolkit.texts.phrases import phrases
from toolkit.texts.voice import Voice

_WORDS = ("take_part", "not_part", "next", "optional", "choose", "erased", "end_declined")
"""The texts of the page that the forms show."""

_JSPSYCH_COLUMNS = {"trial_type", "trial_index", "plugin_version", "time_elapsed", "declined"}


@dataclass(frozen=True)
class WebTool:
    """A program whose forms can ask hidden questions.

    `files` returns the form in one language, as files by name. `order_record` is how the program would store the order
    of questions; it is empty if nothing stores it.
    """

    files: Callable[[Survey, str], Mapping[str, str]]
    reserved: frozenset[str] = frozenset()
    order_record: str = ""


def write_web_form(survey: Survey, folder: str | Path, tool: str, *, language: str | None = None) -> list[Path]:
    """Write a form for another program, which gets the reports on hidden questions but not their answers.

    Parameters
    ----------
    survey : Survey
        A survey without waves, arms, stations or questions with a wheel (mode "guided"). Its options may be in random
        order in all programs, and its questions in jsPsych.
    folder : str or Path
        The folder for the files; it is created if necessary.
    tool : {"surveyjs", "jspsych", "qualtrics", "limesurvey"}
        The program.
    language : str, optional
        One of the survey's languages; by default its first.

    Returns
    -------
    list of Path
        The files. For SurveyJS and jsPsych: the form's data, the question for the program, the randomizer, and a page
        that shows the form. For Qualtrics and LimeSurvey: a survey to import, the scripts of its questions, which
        contain the randomizer, and a README.md that lists the steps.

    Raises
    ------
    ValueError
        If the form of the other program cannot ask the survey.

    Examples
    --------
    >>> import tempfile
    >>> from toolkit import Question, Survey, warner
    >>> survey = Survey("Exams", [Question("cheated", "Cheated?", design=warner("3/4"))], consent="We study exams.")
    >>> folder = tempfile.TemporaryDirectory()
    >>> [path.name for path in write_web_form(survey, folder.name, "jspsych")]
    ['survey.js', 'hide.js', 'numbers.js', 'ask.js', 'ask.css', 'jspsych.js', 'index.html']
    >>> folder.cleanup()
    """
    host = TOOLS[check_choice(tool, "tool", tuple(TOOLS))]
    code = survey.languages[0] if language is None else check_choice(language, "language", survey.languages)
    _check_survey(survey, host)
    return write_files(folder, dict(host.files(survey, code)))


def _page_files(
    survey: Survey, language: str, *, tool: str, exports: Callable[[Survey, str], Mapping[str, Any]]
) -> dict[str, str]:
    """Return modules for a page that loads the program; `exports` returns what `survey.js` defines for it."""
    page = (STATIC / f"{tool}.html").read_text(encoding="utf-8")
    title = headings(survey)[language].replace("&", "&amp;").replace("<", "&lt;")
    lines = [f"export const {name} = {_script_json(value)};\n" for name, value in exports(survey, language).items()]
    file_names = ("ask.js", "ask.css", f"{tool}.js")
    return {
        "survey.js": f"// The form of the survey with hash {survey.hash}.\n{''.join(lines)}",
        "hide.js": module_code(),
        "numbers.js": asset("numbers.js").decode(),
        **{name: (STATIC / name).read_text(encoding="utf-8") for name in file_names},
        "index.html": page.format(language=language, direction=page_words(survey)[language]["direction"], title=title),
    }


def _scripted_files(
    survey: Survey, language: str, *, files: Callable[[Mapping[str, Any]], dict[str, str]]
) -> dict[str, str]:
    """Return files for a program into which scripts are pasted or imported."""
    data, words = form_data(survey, language), page_words(survey)[language]
    page = {"language": language, "direction": words["direction"], "loading": words["loading"]}
    return files({**data, **page, "consent": _consent_html(data)})


def _script_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _check_survey(survey: Survey, host: WebTool) -> None:
    """Reject what a form of another program cannot ask as the survey says."""
    browser_questions(survey)  # rejects memos, and with them waves
    rule = "a form for another program must ask every person once, and the same questions"
    unsupported = {
        "arms": (survey.arms is not None, "write one form per arm, and assign the forms at random"),
        "a station": (survey.is_station, "leave `[field]` out"),
    }
    for name, (is_used, advice) in unsupported.items():
        if is_used:
            reject(rule, name, advice)
    if survey.random_order and host.order_record:
        advice = f"{host.order_record}; leave `random_order` of the survey out"
        reject("a form for this program must ask its questions in one order", "random_order", advice)
    for question in survey.questions:
        reject_insertions(question)
        reject_image(question)
        if question.mode == "guided":
            advice = "use mode 'auto', or 'physical' with the respondent's own die or coin"
            reject("a form for another program must have no wheel", f"{question.name!r} with mode 'guided'", advice)
        if question.name in host.reserved:
            reject("a question must not have a name that the program uses itself", repr(question.name), "rename it")


def form_data(survey: Survey, language: str) -> dict[str, Any]:
    """Return the title, the consent text and the questions of a form in one language, as plain data for `ask.js`."""
    words = page_words(survey)[language]
    units, mixed = question_units(survey.questions, survey.random_order)
    return {
        "title": headings(survey)[language],
        "hash": survey.hash,
        "sections": consent_sections(survey, language),
        "words": {name: words[name] for name in _WORDS},
        "questions": [_question_data(question, language, survey, words) for question in survey.questions],
        "units": units,
        "mixed": mixed,
    }


def consent_sections(survey: Survey, language: str) -> list[dict[str, Any]]:
    """Return the consent text without what only the toolkit's own server and page keep: what is stored, and sending."""
    stated = stated_layers(statements(survey), survey.consent[language], language, survey.words, paper=True)
    made = promise(survey, language, check=False, send=page_words(survey)[language]["send"], paper=False)
    layers = merge_layers([*(layer for layer in made if layer.name in ("head", "learn")), *stated])
    return [
        {
            "title": layer.title(language, survey.words),
            "lines": [isolate_digit_groups(line) for line in (*layer.open, *layer.more)],
        }
        for layer in layers
    ]


def _question_data(question: Question, language: str, survey: Survey, words: Mapping[str, str]) -> dict[str, Any]:
    others = {other.name: other for other in survey.questions}
    page_question = shown_question(question, (language,), others, survey.words)
    is_hidden = question.mode == "auto"
    choices = page_question["reports"] if question.mode == "physical" else page_question["options"]
    notes = [words[f"{question.mode}_note"], *(page_question[name] for name in ("help", "instructions", "warning"))]
    return {
        "name": question.name,
        "kind": "choice" if question.mode == "physical" else question.kind,
        "text": page_question["text"][language],
        "notes": [text if isinstance(text, str) else text[language] for text in notes if text],
        "odds": page_question["odds"][language] if page_question["odds"] else [],
        "options": [{"value": choice["value"], "label": choice["label"][language]} for choice in choices],
        "mixed": page_question.get("mixed", []),
        "design": page_question["randomizer"] if is_hidden else None,
        "required": question.required or question.randomized,
        "show_if": {name: list(options) for name, options in (question.show_if or {}).items()},
        **_limits(question, page_question, Voice(phrases(language, survey.words)), words),
    }


def _limits(
    question: Question, page_question: Mapping[str, Any], voice: Voice, words: Mapping[str, str]
) -> dict[str, Any]:
    """Return the limits of an answer, and the sentences that state them."""
    most = getattr(question.design, "most", None)
    if most is not None:
        return {"most": most, "wrong": fill_slots(words["most"], n=voice.number(most))}
    if question.kind == "text":
        return {"hint": words["text"]}
    if question.bounds is None:
        return {}
    low, high = page_question["bounds"]
    slots = {"low": voice.number(low), "high": voice.number(high)}
    names = ("whole", "wrong_whole") if question.whole else ("number", "wrong_number")
    hint, wrong = (fill_slots(words[name], **slots) for name in names)
    return {"bounds": [low, high], "whole": question.whole, "hint": hint, "wrong": wrong}


def _surveyjs_exports(survey: Survey, language: str) -> dict[str, Any]:
    """Return the form as a model of SurveyJS: the consent text, then one page for each question."""
    data = form_data(survey, language)
    consent = {"type": "html", "name": "consent_text", "html": f'<div class="toolkit">{_consent_html(data)}</div>'}
    pages: list[dict[str, Any]] = [{"name": "consent", "elements": [consent]}]
    for question in data["questions"]:
        is_own = survey[question["name"]].mode == "plain" and question["kind"] != "ticks" and not question["mixed"]
        page = {"name": f"page_{question['name']}", "elements": [_surveyjs_question(question, is_own=is_own)]}
        pages.append(page if is_own else {**page, "showNavigationButtons": False})
    model = {
        "title": data["title"],
        "locale": language,
        "firstPageIsStartPage": True,
        "startSurveyText": data["words"]["take_part"],
        "pageNextText": data["words"]["next"],
        "showPrevButton": False,
        "pages": pages,
    }
    return {"survey": {name: data[name] for name in ("words", "questions")}, "model": model}


def _surveyjs_question(question: Mapping[str, Any], *, is_own: bool) -> dict[str, Any]:
    """Return one question, which SurveyJS shows itself if `is_own`, and `ask.js` otherwise.

    SurveyJS shows plain questions, except lists of ticks, which would be lost if they are empty, and options in random
    order, because SurveyJS would compute the order from a seed, which it keeps in the state of the survey (`uiState`).
    """
    conditions = [
        f"{{{name}}} anyof [{', '.join(map(_surveyjs_value, options))}]"
        for name, options in question["show_if"].items()
    ]
    base = {"name": question["name"], "isRequired": question["required"], "visibleIf": " and ".join(conditions)}
    base = {key: value for key, value in base.items() if value != ""}
    if not is_own:
        return {"type": "toolkit", "titleLocation": "hidden", **base}
    base |= {"title": question["text"], "description": "\n".join(question["notes"])}
    if question["kind"] == "text":
        return {"type": "comment", "maxLength": 2000, **base}
    if question["kind"] == "number":
        low, high = question["bounds"]
        limits = {"min": low, "max": high, "minErrorText": question["wrong"], "maxErrorText": question["wrong"]}
        return {"type": "text", "inputType": "number", "step": 1 if question["whole"] else "any", **limits, **base}
    choices = [{"value": option["value"], "text": option["label"]} for option in question["options"]]
    return {"type": "radiogroup", "choices": choices, **base}


def _surveyjs_value(option: object) -> str:
    r"""Return an option in an expression of SurveyJS, where both kinds of quotation marks end a text.

    If the expression is invalid, SurveyJS asks the question of everybody.

    >>> print(_surveyjs_value("Master's"), _surveyjs_value(2))
    "Master\'s" 2
    """
    if not isinstance(option, str):
        return json.dumps(option)
    if option.endswith("\\"):
        reject("an option in a condition of SurveyJS must not end with a backslash", repr(option), "rename it")
    escaped = re.sub("[\"']", r"\\\g<0>", option)
    return f'"{escaped}"'


def _jspsych_exports(survey: Survey, language: str) -> dict[str, Any]:
    return {"survey": form_data(survey, language)}


def _consent_html(data: Mapping[str, Any]) -> str:
    """Return the consent text as one line of HTML."""
    return "".join(
        f"<{tag}>{escape_markup(text)}</{tag}>"
        for section in data["sections"]
        for tag, text in [("h2", section["title"]), *(("p", line) for line in section["lines"])]
        if text
    ).replace("\n", "<br>")


TOOLS = {
    "jspsych": WebTool(partial(_page_files, tool="jspsych", exports=_jspsych_exports), frozenset(_JSPSYCH_COLUMNS)),
    "surveyjs": WebTool(
        partial(_page_files, tool="surveyjs", exports=_surveyjs_exports),
        order_record="SurveyJS saves answers in the order in which they were given",
    ),
    "qualtrics": WebTool(
        partial(_scripted_files, files=qualtrics_files),
        frozenset({CONSENT}),
        order_record="Qualtrics stores the order in which it shows questions, and can export it",
    ),
    "limesurvey": WebTool(
        partial(_scripted_files, files=limesurvey_files),
        LIMESURVEY_WORDS,
        order_record="LimeSurvey stores with each response the seed from which the order can be computed",
    ),
}
"""The programs for which forms are written."""
