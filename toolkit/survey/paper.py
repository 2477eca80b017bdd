"""A survey on paper: the same questions and designs, with dice, coins and birthdays in people's own hands."""

import html
from collections.abc import Sequence

from toolkit.core.checks import choice, refuse
from toolkit.local.design import has_matrix
from toolkit.survey.language.phrases import phrases
from toolkit.survey.question import Question
from toolkit.survey.spec import Survey

_STYLE = (
    "body{font:12pt/1.5 serif;max-width:42em;margin:2em auto}section{break-inside:avoid;margin:1.5em "
    "0}li{list-style:'☐  '}"
)


def paper(survey: Survey, language: str | None = None) -> str:
    """A form to print, as HTML. Only yes/no and choice questions whose design a device realises exactly can
    be asked on paper.

    The reports of a paper form have the same meaning as those of phones, and can be estimated together with
    them.
    """
    code = survey.languages[0] if language is None else choice(language, "language", survey.languages)
    parts = [_question(question, code) for question in survey.questions]
    consent = "".join(f"<p>{_safe(text)}</p>" for text in survey.consent_text(code).split("\n\n"))
    title = _safe(survey.heading[code])
    head = f"<meta charset='utf-8'><title>{title}</title><style>{_STYLE}</style>"
    return (
        "<!doctype html><html "
        f"lang='{code}'><head>{head}</head><body><h1>{title}</h1>{consent}{''.join(parts)}</body></html>"
    )


def _question(question: Question, code: str) -> str:
    text = question.text if isinstance(question.text, str) else question.text[code]
    instructions, ticked = _asked(question, code)
    boxes = "".join(f"<li>{_safe(one)}</li>" for one in ticked)
    told = f"<p><i>{_safe(instructions)}</i></p>" if instructions else ""
    return f"<section><p><b>{_safe(text)}</b></p>{told}<ul>{boxes}</ul></section>"


def _asked(question: Question, code: str) -> tuple[str, Sequence[str]]:
    """What to do, and what to tick."""
    words = phrases(code)
    options = [question.label(option, code, words) for option in question.report_options or question.options]
    if question.design is None:
        return "", options if options else ["…………………………"]
    if question.instructions is not None:
        given = question.instructions
        return given if isinstance(given, str) else given[code], options
    return _device(question, code), options


def _device(question: Question, code: str) -> str:
    if question.design is None or not has_matrix(question.design):
        refuse(
            "a question on paper must have a design that is a matrix",
            question.name,
            "its report cannot be drawn by hand",
        )
    exact = [device for device in question.design.devices() if device.exact]
    if not exact:
        refuse(
            "a question on paper must have a design that a device realises exactly",
            question.name,
            "see design.devices()",
        )
    if code != "en":
        refuse(
            "instructions for a device are known in English only",
            f"{question.name} in {code}",
            "give the question `instructions`",
        )
    return f"Use {exact[0].name}. {exact[0].instructions}"


def _safe(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")
