"""Pages to print: what people agreed to, numbered sheets, a page for the interviewer, and devices to cut out.

The HTML is in `templates`, where every text is escaped; here is what stands on which page.
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
from toolkit.survey.consent.wheel import filled
from toolkit.survey.paper.coding import box_codes
from toolkit.survey.questions.question import Question, answers_of
from toolkit.survey.spec import Survey
from toolkit.texts.multilingual import numbers_apart, right_to_left, text_in
from toolkit.texts.phrases import phrases
from toolkit.texts.voice import Voice

_PAGE_HEIGHT, _LINE_HEIGHT = 240.0, 5.5  # millimetres; of a page below its header, with something to spare
_PIPS = {1: "4", 2: "08", 3: "048", 4: "0268", 5: "02468", 6: "023568"}
"""The fields of a die with a pip, of nine fields numbered from 0."""


@cache
def _environment() -> Any:
    """The templates: every string that one of them writes is escaped, and its line breaks are kept."""
    jinja2, markup = extra("jinja2"), extra("markupsafe", "collect").Markup

    def escaped(value: object) -> object:
        if type(value) is not str:
            return value  # a number, or what a template has made
        return markup(html.escape(numbers_apart(value)).replace("\n", "<br>"))

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


def on_paper(survey: Survey) -> tuple[Survey, tuple[str, ...]]:
    """Return the survey with the questions that can be asked on paper, and the names of all others."""
    if survey.waves > 1:
        consequence = "no sheet joins what a person answers in several; ask it on phones"
        reject("a survey on paper must have one wave", survey.waves, consequence)
    language, own_words = survey.languages[0], survey.words
    left_out = tuple(
        question.name
        for question in survey.questions
        if question.randomized and not instructions(question, language, own_words)
    )
    rest = tuple(question for question in survey.questions if question.name not in left_out)
    if not left_out or not rest:
        return survey, left_out
    unasked = survey.check == "device" and not sheet_tries(survey, rest)
    return replace(survey, questions=rest, check=False if unasked else survey.check), left_out


def sheet_questions(survey: Survey) -> list[Question]:
    """Return what a sheet asks, in its order: about the device, then the questions."""
    return [*(question for question, _ in sheet_tries(survey)), *survey.questions]


def printed_pages(survey: Survey, code: str, serials: Sequence[str], number: str = "") -> dict[str, str]:
    """Return all pages in one language as HTML, by the names of their files: one sheet for each serial number.

    `number` is the hash that is printed, if not the survey's own. `on_paper` returns the survey that can be printed.
    """
    for question in survey.questions:
        if question.randomized and not instructions(question, code, survey.words):
            rule = "a question on paper must have a design that a coin, a die or slips draw exactly"
            reject(rule, question.name, "see design.devices() for the nearest, or give the question `instructions`")
    voice = Voice(phrases(code, survey.words, "paper"))
    devices = {device.name: device for device in map(device_of, survey.questions) if device is not None}
    pages = {
        "consent": _consent(survey, code),
        "form": {"sheets": _sheets(survey, code, voice, serials, (number or survey.hash)[:8])},
        "interviewer": _interviewer(survey, code, voice, [*devices.values()]),
    }
    if slips := sorted({device._slips for device in devices.values() if device._slips}):
        pages["devices"] = {"spinners": [_spinner(count) for count in slips]}
    direction = "rtl" if right_to_left(code) else "ltr"
    common = {"language": code, "direction": direction, "title": headings(survey)[code], "voice": voice}
    return {f"{name}.{code}.html": _render(name, **common, **page) for name, page in pages.items()}


def _consent(survey: Survey, code: str) -> dict[str, Any]:
    """The page to keep."""
    return {
        "consent": survey.consent_text(code, paper=True).split("\n\n"),
        "headings": {layer.title(code, survey.words) for layer in paper_layers(survey, code)},
        "help": None if survey.help is None else survey.help[code],
        "help_title": page_words(survey)[code]["help_title"],
    }


def _sheets(
    survey: Survey, code: str, voice: Voice, serials: Sequence[str], number: str
) -> Iterator[dict[str, object]]:
    """Each page of each sheet: what its header says, and the questions on it."""
    pages = _page_breaks(survey, code, voice)
    for serial, (page, questions) in product(serials, enumerate(pages, start=1)):
        spaced = f"\u2066{serial[:3]} {serial[3:6]} {serial[6:]}\u2069"  # from left to right in any writing
        label = [
            voice.say("sheet_survey", hash=number),
            voice.say("sheet_number", serial=spaced),
            voice.say("sheet_page", page=voice.number(page), pages=voice.number(len(pages))),
        ]
        # The options of a question about the device start at a random one: no position is the right answer.
        sections = [secrets.choice(versions) for versions in questions]
        yield {"label": " · ".join(label), "is_first": page == 1, "sections": sections}


def _page_breaks(survey: Survey, code: str, voice: Voice) -> list[list[list[str]]]:
    """For each page its questions, on as few pages as hold them; for each question one HTML per order of its boxes."""
    pages: list[list[list[str]]] = [[]]
    remaining = _PAGE_HEIGHT
    for question in sheet_questions(survey):
        text, height = _section(question, survey, code, voice)
        turns = range(1, len(question.options) if question.name in SHEET_TRIES else 1)
        versions = [text, *(_section(question, survey, code, voice, turn)[0] for turn in turns)]
        if height > _PAGE_HEIGHT:
            reject("a question on paper must fit on a page", question.name, "shorten it, or ask it on phones")
        if height > remaining:
            pages.append([])
            remaining = _PAGE_HEIGHT
        pages[-1].append(versions)
        remaining -= height
    return pages


def _section(question: Question, survey: Survey, code: str, voice: Voice, turn: int = 0) -> tuple[str, float]:
    """A question as HTML, its boxes turned by some positions, and about how high it is in millimetres."""
    optional = "" if question.required else f" {voice.say('sheet_optional')}"
    text = text_in(question.text, code) + optional
    notes = [text_in(note, code) for note in (question.help, question.warning) if note is not None]
    notes += [voice.say("sheet_ticks")] if question.kind == "ticks" else []
    notes += _range(question, survey, code, voice)
    conditions = _conditions(question, survey, code, voice)
    device, steps = device_of(question), instructions(question, code, survey.words) if question.randomized else []
    is_die = device is not None and device.name == "a die"
    boxes, in_a_row, lines, size = _answer_area(question, survey, code, voice)
    printed = [
        line
        for text_block in [*conditions, text, *notes, *(step for step, _ in steps)]
        for line in text_block.split("\n")
    ]
    height = 4.5 + size + sum(_LINE_HEIGHT * math.ceil(len(line) / 70) + 1.4 for line in printed)
    section = _render(
        "question",
        conditions=conditions,
        text=text,
        notes=notes,
        steps=[{"text": step, "faces": map(_face, outcomes) if is_die else ()} for step, outcomes in steps],
        boxes=boxes[turn:] + boxes[:turn],
        in_a_row=in_a_row,
        lines=lines,
    )
    return extra("markupsafe", "collect").Markup(section), height


def _answer_area(
    question: Question, survey: Survey, code: str, voice: Voice
) -> tuple[list[tuple[int, str]], bool, int, float]:
    """Boxes with their codes and labels, and whether they stand in a row; or lines to write on; and the height."""
    options = answers_of(question)
    if not options:
        lines = 4 if question.free_text else 1
        return [], False, lines, 10.5 * lines
    labels = [question.label(option, code, voice.phrases) for option in options]
    codes = box_codes(question)
    if question.kind == "ticks" and question.required:
        labels, codes = [*labels, page_words(survey)[code]["none_of_these"]], [*codes, 0]
    in_a_row = len(labels) <= 6 and sum(len(label) + 8 for label in labels) <= 70
    height = 11 if in_a_row else 3 + sum(_LINE_HEIGHT * math.ceil(len(label) / 65) + 1 for label in labels)
    return list(zip(codes, labels, strict=True)), in_a_row, 0, height


def _range(question: Question, survey: Survey, code: str, voice: Voice) -> list[str]:
    """Which numbers can be written, and whether they must be whole: as the page says it."""
    if question.bounds is None:
        return []
    pattern = page_words(survey)[code]["whole" if question.whole else "number"]
    low, high = (voice.number(as_number(bound)) for bound in question.bounds)
    return [filled(pattern, low=low, high=high)]


def _conditions(question: Question, survey: Survey, code: str, voice: Voice) -> list[str]:
    """Who is asked: what must have been ticked before, one line for each question."""
    lines = []
    for name, options in (question.show_if or {}).items():
        labels = [voice.quoted(survey[name].label(option, code, voice.phrases)) for option in options]
        earlier = voice.quoted(text_in(survey[name].text, code))
        lines.append(voice.say("paper_if", question=earlier, answers=voice.joined(labels, "or")))
    return lines


def _interviewer(survey: Survey, code: str, voice: Voice, devices: Sequence[Device[Design]]) -> dict[str, Any]:
    """What the interviewer needs, says and practises, and the columns of the log."""
    practised = next(
        (question for question in survey.questions if device_of(question) and question.options == ("no", "yes")), None
    )
    steps = [] if practised is None else [line for line, _ in instructions(practised, code, survey.words)]
    names = [device_words(device, voice) for device in devices]
    needed = [voice.say("materials_device", devices=voice.joined(names))] if names else []
    return {
        "materials": [voice.say("materials_forms"), *needed],
        "script": [voice.quoted(voice.say(f"script_{number}")) for number in range(1, 5)],
        "practice": [voice.say("practice_how"), *steps, voice.say("practice_check")] if names else [],
        "log_columns": voice.phrases["log_columns"].split("|"),
    }


def _face(outcome: str) -> dict[str, object]:
    """A face of a die: its number, and where its pips are."""
    fields = [divmod(int(field), 3) for field in _PIPS[int(outcome)]]
    return {"number": outcome, "pips": [(5 + 7 * column, 5 + 7 * row) for row, column in fields]}


def _spinner(count: int) -> list[dict[str, str]]:
    """The fields of a spinner, clockwise from noon: where the edge before each ends, and where its number stands."""
    fields = []
    for field in range(count):
        edge, middle = 2 * math.pi * field / count, 2 * math.pi * (field + 0.5) / count
        fields.append(
            {
                "edge": f"{90 * math.sin(edge):.2f} {-90 * math.cos(edge):.2f}",
                "x": f"{75 * math.sin(middle):.2f}",
                "y": f"{-75 * math.cos(middle):.2f}",
            }
        )
    return fields
