"""The printed pages: consent text, numbered sheets, instructions for interviewers, and devices to cut out.

This module decides the content of each page. The HTML is in `templates`, where every text is escaped.
"""

import html
import math
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

from toolkit.core.checks import reject
from toolkit.core.extras import extra
from toolkit.local.design import Design
from toolkit.local.matrix.devices import Device
from toolkit.survey.consent.device_check import paper_layers, sheet_tries
from toolkit.survey.consent.instructions import device_of, device_words, instructions
from toolkit.survey.consent.linter import SHEET_TRIES
from toolkit.survey.consent.page_data import as_number, headings, page_words
from toolkit.survey.consent.wheel import fill_slots
from toolkit.survey.paper.coding import box_codes
from toolkit.survey.questions.question import Question, printed_answers, reject_insertions
from toolkit.survey.spec import Survey
from toolkit.texts.multilingual import is_right_to_left, isolate_digit_groups, text_in
from toolkit.texts.phrases import phrases
from toolkit.texts.voice import Voice

_PAGE_SPACE, _LINE_SPACE = 240.0, 5.5  # the usable height of a page and the height of a line, in millimeters
_IMAGE_SPACE = 65.0  # the largest height of an image with its margins, in millimeters
_PIPS = {1: "4", 2: "08", 3: "048", 4: "0268", 5: "02468", 6: "023568"}
"""Positions of the pips on each face of a die, in a grid of nine fields numbered from 0."""


@cache
def _environment() -> Any:
    """Return the environment of the templates, which escapes all strings and keeps their line breaks."""
    jinja2, markup = extra("jinja2"), extra("markupsafe", "collect").Markup

    def escaped(value: object) -> object:
        if type(value) is not str:
            return value  # numbers and markup need no escaping
        return markup(html.escape(isolate_digit_groups(value)).replace("\n", "<br>"))

    loader = jinja2.PackageLoader("toolkit.survey.paper")
    return jinja2.Environment(
        loader=loader,
        autoescape=True,
        finalize=escaped,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _render(template: str, **values: object) -> str:
    return str(_environment().get_template(f"{template}.html.j2").render(values))


def printable_survey(survey: Survey) -> tuple[Survey, tuple[str, ...]]:
    """Return the survey with the questions that can be asked on paper, and the names of the other questions."""
    if survey.waves > 1:
        consequence = "sheets cannot join a person's answers over waves; ask on phones"
        reject("a survey on paper must have one wave", survey.waves, consequence)
    language, own_words = survey.languages[0], survey.words
    left_out = tuple(
        question.name
        for question in survey.questions
        if question.randomized and not instructions(question, language, own_words)
    )
    remaining = tuple(question for question in survey.questions if question.name not in left_out)
    if not left_out or not remaining:
        return survey, left_out
    unasked = survey.check == "device" and not sheet_tries(survey, remaining)
    return replace(survey, questions=remaining, check=False if unasked else survey.check), left_out


def sheet_questions(survey: Survey) -> list[Question]:
    """Return the questions of a sheet in order: first those of the comprehension check, then those of the survey."""
    return [*(question for question, _ in sheet_tries(survey)), *survey.questions]


def printed_pages(survey: Survey, language: str, serials: Sequence[str], hash_text: str = "") -> dict[str, str]:
    """Return all pages in one language as HTML by file name, with one sheet for each serial number.

    `hash_text` is the printed hash, by default the survey's hash. `printable_survey` returns the survey that can be
    printed.
    """
    for question in survey.questions:
        reject_insertions(question)
        if question.randomized and not instructions(question, language, survey.words):
            rule = "a question on paper must have a design that a coin, a die or slips draw exactly"
            reject(rule, question.name, "see design.devices() for the nearest one, or add `instructions`")
    voice = Voice(phrases(language, survey.words, "paper"))
    devices = {device.name: device for device in map(device_of, survey.questions) if device is not None}
    pages = {
        "consent": _consent_content(survey, language),
        "form": {"sheets": _sheet_pages(survey, language, voice, serials, (hash_text or survey.hash)[:8])},
        "interviewer": _interviewer_content(survey, language, voice, [*devices.values()]),
    }
    if slips := sorted({device._n_slips for device in devices.values() if device._n_slips}):
        pages["devices"] = {"spinners": [_spinner_fields(count) for count in slips]}
    direction = "rtl" if is_right_to_left(language) else "ltr"
    common = {"language": language, "direction": direction, "title": headings(survey)[language], "voice": voice}
    return {f"{name}.{language}.html": _render(name, **common, **page) for name, page in pages.items()}


def _consent_content(survey: Survey, language: str) -> dict[str, Any]:
    """Return the content of the consent page, which people keep."""
    return {
        "consent": survey.consent_text(language, paper=True).split("\n\n"),
        "headings": {layer.title(language, survey.words) for layer in paper_layers(survey, language)},
        "help": None if survey.help is None else survey.help[language],
        "help_title": page_words(survey)[language]["help_title"],
    }


def _sheet_pages(
    survey: Survey, language: str, voice: Voice, serials: Sequence[str], hash_text: str
) -> Iterator[dict[str, object]]:
    """Yield each page of each sheet, with its header and its questions."""
    pages = _page_breaks(survey, language, voice)
    for serial, (page, questions) in product(serials, enumerate(pages, start=1)):
        # Isolates display the number from left to right in every script.
        spaced = f"\u2066{serial[:3]} {serial[3:6]} {serial[6:]}\u2069"
        label = [
            voice.say("sheet_survey", hash=hash_text),
            voice.say("sheet_number", serial=spaced),
            voice.say("sheet_page", page=voice.number(page), pages=voice.number(len(pages))),
        ]
        # The options of the comprehension check are rotated at random, so that no position is always correct.
        sections = [secrets.choice(versions) for versions in questions]
        yield {"label": " · ".join(label), "is_first": page == 1, "sections": sections}


def _page_breaks(survey: Survey, language: str, voice: Voice) -> list[list[list[str]]]:
    """Distribute the questions over pages; return the HTML of each question, one version per rotation of its boxes."""
    pages: list[list[list[str]]] = [[]]
    remaining = _PAGE_SPACE
    for question in sheet_questions(survey):
        text, height = _question_section(question, survey, language, voice)
        rotations = range(1, len(question.options) if question.name in SHEET_TRIES else 1)
        versions = [text, *(_question_section(question, survey, language, voice, turn)[0] for turn in rotations)]
        if height > _PAGE_SPACE:
            reject("a question on paper must fit on a page", question.name, "shorten it, or ask it on phones")
        if height > remaining:
            pages.append([])
            remaining = _PAGE_SPACE
        pages[-1].append(versions)
        remaining -= height
    return pages


def _question_section(
    question: Question, survey: Survey, language: str, voice: Voice, rotation: int = 0
) -> tuple[str, float]:
    """Render a question with its boxes rotated by `rotation`; return the HTML and its approximate height in mm."""
    optional = "" if question.required else f" {voice.say('sheet_optional')}"
    text = text_in(question.text, language) + optional
    notes = [text_in(note, language) for note in (question.help, question.warning) if note is not None]
    notes += [voice.say("sheet_ticks")] if question.kind == "ticks" else []
    notes += _range_sentences(question, survey, language, voice)
    conditions = _condition_sentences(question, survey, language, voice)
    device, steps = device_of(question), instructions(question, language, survey.words) if question.randomized else []
    is_die = device is not None and device.name == "a die"
    boxes, in_a_row, lines, area_height = _answer_area(question, survey, language, voice)
    printed = [
        line
        for text_block in [*conditions, text, *notes, *(step for step, _ in steps)]
        for line in text_block.split("\n")
    ]
    height = (
        4.5
        + area_height
        + (_IMAGE_SPACE if question.image else 0)
        + sum(_LINE_SPACE * math.ceil(len(line) / 70) + 1.4 for line in printed)
    )
    section = _render(
        "question",
        conditions=conditions,
        text=text,
        image=_printed_image(question, language),
        notes=notes,
        steps=[{"text": step, "faces": map(_die_face, outcomes) if is_die else ()} for step, outcomes in steps],
        boxes=boxes[rotation:] + boxes[:rotation],
        in_a_row=in_a_row,
        lines=lines,
    )
    return extra("markupsafe", "collect").Markup(section), height


def _printed_image(question: Question, language: str) -> dict[str, object] | None:
    """Return the data URI of a question's image, which needs no escaping, and its description."""
    if question.image is None:
        return None
    source = extra("markupsafe", "collect").Markup(question.image["data"])  # a checked URI, made of base64
    return {"source": source, "alt": text_in(question.image["alt"], language)}


def _answer_area(
    question: Question, survey: Survey, language: str, voice: Voice
) -> tuple[list[tuple[int, str]], bool, int, float]:
    """Return the boxes with codes and labels, whether they form a row, the number of writing lines, and the height."""
    options = printed_answers(question)
    if not options:
        lines = 4 if question.free_text else 1
        return [], False, lines, 10.5 * lines
    labels = [question.label(option, language, voice.phrases) for option in options]
    codes = box_codes(question)
    if question.kind == "ticks" and question.required:
        labels, codes = [*labels, page_words(survey)[language]["none_of_these"]], [*codes, 0]
    in_a_row = len(labels) <= 6 and sum(len(label) + 8 for label in labels) <= 70
    height = 11 if in_a_row else 3 + sum(_LINE_SPACE * math.ceil(len(label) / 65) + 1 for label in labels)
    return list(zip(codes, labels, strict=True)), in_a_row, 0, height


def _range_sentences(question: Question, survey: Survey, language: str, voice: Voice) -> list[str]:
    """Return the sentence on the range of a number, and on whether it must be whole, as on the page."""
    if question.bounds is None:
        return []
    pattern = page_words(survey)[language]["whole" if question.whole else "number"]
    low, high = (voice.number(as_number(bound)) for bound in question.bounds)
    return [fill_slots(pattern, low=low, high=high)]


def _condition_sentences(question: Question, survey: Survey, language: str, voice: Voice) -> list[str]:
    """Return the sentences on who is asked, one for each question in the condition."""
    lines = []
    for name, options in (question.show_if or {}).items():
        labels = [voice.quoted(survey[name].label(option, language, voice.phrases)) for option in options]
        earlier = voice.quoted(text_in(survey[name].text, language))
        lines.append(voice.say("paper_if", question=earlier, answers=voice.join_words(labels, "or")))
    return lines


def _interviewer_content(
    survey: Survey, language: str, voice: Voice, devices: Sequence[Device[Design]]
) -> dict[str, Any]:
    """Return the interviewer's page: materials, script, practice, and the columns of the log."""
    practice_question = next(
        (question for question in survey.questions if device_of(question) and question.options == ("no", "yes")), None
    )
    steps = (
        []
        if practice_question is None
        else [line for line, _ in instructions(practice_question, language, survey.words)]
    )
    names = [device_words(device, voice) for device in devices]
    needed = [voice.say("materials_device", devices=voice.join_words(names))] if names else []
    return {
        "materials": [voice.say("materials_forms"), *needed],
        "script": [voice.quoted(voice.say(f"script_{number}")) for number in range(1, 5)],
        "practice": [voice.say("practice_how"), *steps, voice.say("practice_check")] if names else [],
        "log_columns": voice.phrases["log_columns"].split("|"),
    }


def _die_face(outcome: str) -> dict[str, object]:
    """Return the number of a die's face and the positions of its pips."""
    fields = [divmod(int(field), 3) for field in _PIPS[int(outcome)]]
    return {"number": outcome, "pips": [(5 + 7 * column, 5 + 7 * row) for row, column in fields]}


def _spinner_fields(n_fields: int) -> list[dict[str, str]]:
    """Return the fields of a spinner clockwise from the top: the end of each edge, and the position of the number."""
    fields = []
    for field in range(n_fields):
        edge, middle = 2 * math.pi * field / n_fields, 2 * math.pi * (field + 0.5) / n_fields
        fields.append(
            {
                "edge": f"{90 * math.sin(edge):.2f} {-90 * math.cos(edge):.2f}",
                "x": f"{75 * math.sin(middle):.2f}",
                "y": f"{-75 * math.cos(middle):.2f}",
            }
        )
    return fields
