"""What is printed: a page to keep, numbered sheets, a page for the interviewer, and devices to cut out."""

import html
import math
import secrets
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from toolkit.core.checks import refuse
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

_STYLE = (
    "@page{size:A4;margin:15mm}*{box-sizing:border-box}"
    "body{font:11pt/1.4 sans-serif;margin:0 auto;max-width:180mm;color:#000;background:#fff}"
    "h1{font-size:15pt;margin:0 0 .6em}h2{font-size:12pt;margin:1em 0 .3em}p{margin:.3em 0}"
    "header{display:flex;justify-content:space-between;gap:1em;font-size:9pt;"
    "border-bottom:1px solid #000;padding-bottom:1mm;margin-bottom:3mm}"
    ".sheet{break-after:page}.sheet:last-child{break-after:auto}section{break-inside:avoid;margin:0 0 4mm}"
    ".do{margin:1mm 0;padding-inline-start:3mm;border-inline-start:2px solid #777}"
    "ul.boxes{list-style:none;padding:0;margin:1.5mm 0}ul.boxes li{margin:.8mm 0}"
    "ul.row li{display:inline-block;margin-inline-end:8mm}"
    ".box{display:inline-block;width:4mm;height:4mm;border:1.2px solid #000;vertical-align:-.5mm;margin-inline-end:2mm}"
    "small{color:#333;margin-inline-end:2mm;font-size:8pt}.line{border-bottom:1px solid #000;height:9mm}"
    ".face{width:6mm;height:6mm;vertical-align:-1.5mm;margin-inline-end:1mm}"
    "table{border-collapse:collapse;width:100%}"
    "td,th{border:1px solid #555;padding:1mm 2mm;height:8mm;text-align:start}"
    ".slips{display:grid;grid-template-columns:repeat(5,1fr)}"
    ".slips b{border:1px dashed #555;height:24mm;display:grid;place-items:center;font-size:20pt;break-inside:avoid}"
)
_HEIGHT, _LINE = 240.0, 5.5  # millimetres: of a page below its head, with something to spare; and of a line of text
_PIPS = {1: "4", 2: "08", 3: "048", 4: "0268", 5: "02468", 6: "023568"}


def on_paper(survey: Survey) -> tuple[Survey, tuple[str, ...]]:
    """Return the survey with what can be asked on paper, and the names of what only phones can ask."""
    if survey.waves > 1:
        consequence = "no sheet joins what a person answers in several; ask it on phones"
        refuse("a survey on paper must have one wave", survey.waves, consequence)
    first, own = survey.languages[0], survey.words
    left_out = tuple(one.name for one in survey.questions if one.randomized and not instructions(one, first, own))
    rest = tuple(question for question in survey.questions if question.name not in left_out)
    if not left_out or not rest:
        return survey, left_out
    unasked = survey.check == "device" and not sheet_tries(survey, rest)
    return replace(survey, questions=rest, check=False if unasked else survey.check), left_out


def columns(survey: Survey) -> list[Question]:
    """Return what a sheet asks, in its order: about the device, then the questions."""
    return [*(question for question, _ in sheet_tries(survey)), *survey.questions]


def sheets(survey: Survey, code: str, serials: Sequence[str], number: str = "") -> dict[str, str]:
    """Return all pages in one language by the names of their files, as HTML: one sheet for each serial number. `number`
    is the hash that is printed, if not the survey's own. What can be asked on paper says `on_paper`.
    """
    for question in survey.questions:
        if question.randomized and not instructions(question, code, survey.words):
            rule = "a question on paper must have a design that a coin, a die or slips draw exactly"
            refuse(rule, question.name, "see design.devices() for the nearest, or give the question `instructions`")
    voice, text = Voice(phrases(code, survey.words, "paper")), survey.consent_text(code, paper=True)
    titles = {layer.title(code, survey.words) for layer in paper_layers(survey, code)}
    agreed = "".join(_heading(one, 2) if one in titles else _paragraphs(one) for one in text.split("\n\n"))
    if survey.help is not None:
        agreed += _heading(page_words(survey)[code]["help_title"], 2) + _paragraphs(survey.help[code])
    devices = {one.name: one for one in map(device_of, survey.questions) if one is not None}
    pages = {
        "consent": _heading(headings(survey)[code]) + _paragraphs(voice.say("keep")) + agreed,
        "form": _forms(survey, code, voice, serials, (number or survey.hash)[:8]),
        "interviewer": _interviewer(survey, code, voice, [*devices.values()]),
    }
    if slips := sorted({one.slips for one in devices.values() if one.slips}):
        pages["devices"] = _heading(voice.say("devices_title")) + "".join(_slips(n, voice) for n in slips)
    return {f"{name}.{code}.html": _page(body, headings(survey)[code], code) for name, body in pages.items()}


def _page(body: str, title: str, code: str) -> str:
    head = f"<meta charset='utf-8'><title>{_safe(title)}</title><style>{_STYLE}</style>"
    direction = "rtl" if right_to_left(code) else "ltr"
    return f"<!doctype html><html lang='{code}' dir='{direction}'><head>{head}</head><body>{body}</body></html>"


def _heading(text: str, level: int = 1) -> str:
    return f"<h{level}>{_safe(text)}</h{level}>"


def _paragraphs(*texts: str) -> str:
    return "".join(f"<p>{_safe(text)}</p>" for text in texts)


def _forms(survey: Survey, code: str, voice: Voice, serials: Sequence[str], number: str) -> str:
    """The sheets: questions on as few pages as hold them, and on each page which sheet and page it is."""
    pages: list[list[list[str]]] = [[]]  # each question in all orders of its boxes
    left = _HEIGHT
    for question in columns(survey):
        text, height = _question(question, survey, code, voice)
        turns = range(1, len(question.options) if question.name in SHEET_TRIES else 1)
        ways = [text, *(_question(question, survey, code, voice, turn)[0] for turn in turns)]
        if height > _HEIGHT:
            refuse("a question on paper must fit on a page", question.name, "shorten it, or ask it on phones")
        if height > left:
            pages.append([])
            left = _HEIGHT
        pages[-1].append(ways)
        left -= height
    forms = []
    for serial, (place, parts) in product(serials, enumerate(pages, start=1)):
        spaced = f"\u2066{serial[:3]} {serial[3:6]} {serial[6:]}\u2069"  # from left to right in any writing
        page = voice.say("sheet_page", page=voice.number(place), pages=voice.number(len(pages)))
        right = [voice.say("sheet_survey", hash=number), voice.say("sheet_number", serial=spaced), page]
        header = f"<header><span>{_safe(headings(survey)[code])}</span><b>{_safe(' · '.join(right))}</b></header>"
        note = f"<p><small>{_safe(voice.say('sheet_note'))}</small></p>" if place == 1 else ""
        forms.append(f"<div class='sheet'>{header}{note}{''.join(map(secrets.choice, parts))}</div>")
    return "".join(forms)


def _question(question: Question, survey: Survey, code: str, voice: Voice, turn: int = 0) -> tuple[str, float]:
    """A question as it is printed, its boxes turned by so many places, and about how high it is."""
    optional = "" if question.required else f" {voice.say('sheet_optional')}"
    wording = text_in(question.text, code) + optional
    beside = [text_in(words, code) for words in (question.help, question.warning) if words is not None]
    ticks = [voice.say("sheet_ticks")] if question.kind == "ticks" else []
    only = _condition(question, survey, code, voice)
    before = [*beside, *ticks, *_range(question, survey, code, voice)]
    device, own = device_of(question), instructions(question, code, survey.words) if question.randomized else []
    die = device is not None and device.name == "a die"
    do = "".join(f"<p class='do'>{''.join(map(_face, got)) if die else ''} {_safe(line)}</p>" for line, got in own)
    field, size = _field(question, survey, code, voice, turn)
    lines = [part for text in [*only, wording, *before, *(line for line, _ in own)] for part in text.split("\n")]
    height = 4.5 + size + sum(_LINE * math.ceil(len(line) / 70) + 1.4 for line in lines)
    text = f"<section>{_paragraphs(*only)}<p><b>{_safe(wording)}</b></p>{_paragraphs(*before)}{do}{field}</section>"
    return text, height


def _field(question: Question, survey: Survey, code: str, voice: Voice, turn: int) -> tuple[str, float]:
    """Boxes with their codes, or lines to write on, and about how high they are."""
    options = answers_of(question)
    if not options:
        count = 4 if question.free_text else 1
        return "<p class='line'></p>" * count, 10.5 * count
    labels = [question.label(option, code, voice.phrases) for option in options]
    numbers = box_codes(question)
    if question.kind == "ticks" and question.required:
        labels, numbers = [*labels, page_words(survey)[code]["none_of_these"]], [*numbers, 0]
    short = len(labels) <= 6 and sum(len(label) + 8 for label in labels) <= 70
    boxes = [
        f"<li><span class='box'></span><small>{number}</small><bdi>{_safe(label)}</bdi></li>"
        for label, number in zip(labels, numbers, strict=True)
    ]
    height = 11 if short else 3 + sum(_LINE * math.ceil(len(label) / 65) + 1 for label in labels)
    return f"<ul class='boxes{' row' if short else ''}'>{''.join(boxes[turn:] + boxes[:turn])}</ul>", height


def _range(question: Question, survey: Survey, code: str, voice: Voice) -> list[str]:
    """Which numbers can be written, and whether they must be whole: as the page says it."""
    if question.bounds is None:
        return []
    pattern = page_words(survey)[code]["whole" if question.whole else "number"]
    low, high = (voice.number(as_number(bound)) for bound in question.bounds)
    return [filled(pattern, low=low, high=high)]


def _condition(question: Question, survey: Survey, code: str, voice: Voice) -> list[str]:
    """Who is asked: what must have been ticked before, one line for each question."""
    lines = []
    for name, options in (question.show_if or {}).items():
        labels = [voice.quoted(survey[name].label(option, code, voice.phrases)) for option in options]
        before = voice.quoted(text_in(survey[name].text, code))
        lines.append(voice.say("paper_if", question=before, answers=voice.listed(labels, "or")))
    return lines


def _interviewer(survey: Survey, code: str, voice: Voice, devices: Sequence[Device[Design]]) -> str:
    first = next((one for one in survey.questions if device_of(one) and one.options == ("no", "yes")), None)
    steps = [] if first is None else [line for line, _ in instructions(first, code, survey.words)]
    named = [device_words(one, voice) for one in devices]
    needed = [voice.say("materials_device", devices=voice.listed(named))] if named else []
    columns = voice.phrases["log_columns"].split("|")
    rows = f"<tr>{'<td></td>' * len(columns)}</tr>" * 20
    parts = {
        "materials": [voice.say("materials_forms"), *needed],
        "script": [voice.quoted(voice.say(f"script_{i}")) for i in range(1, 5)],
        "practice_title": [voice.say("practice_how"), *steps, voice.say("practice_check")] if named else [],
    }
    sections = "".join(_heading(voice.say(name), 2) + _paragraphs(*lines) for name, lines in parts.items() if lines)
    table = "".join(f"<th>{_safe(column)}</th>" for column in columns)
    rules = _paragraphs(headings(survey)[code], *(voice.say(f"interviewer_{i}") for i in range(1, 5)))
    log = f"{_heading(voice.say('log_title'))}{_paragraphs(voice.say('log_note'))}<table><tr>{table}</tr>{rows}</table>"
    return f"<div class='sheet'>{_heading(voice.say('interviewer'))}{rules}{sections}</div>{log}"


def _face(outcome: str) -> str:
    places = [divmod(int(place), 3) for place in _PIPS[int(outcome)]]
    pips = "".join(f"<circle cx='{5 + 7 * column}' cy='{5 + 7 * row}' r='2'/>" for row, column in places)
    frame = "<rect x='.5' y='.5' width='23' height='23' rx='3' fill='none' stroke='#000'/>"
    return f"<svg class='face' viewBox='0 0 24 24' role='img' aria-label='{outcome}'>{frame}{pips}</svg>"


def _slips(count: int, voice: Voice) -> str:
    """Slips to cut out, and a spinner with as many equal fields."""
    slips = "".join(f"<b>{number}</b>" for number in range(1, count + 1))
    edges, numbers = "", ""
    for place in range(count):
        edge, middle = 2 * math.pi * place / count, 2 * math.pi * (place + 0.5) / count
        edges += f"<path d='M0 0L{90 * math.sin(edge):.2f} {-90 * math.cos(edge):.2f}' stroke='#000'/>"
        numbers += f"<text x='{75 * math.sin(middle):.2f}' y='{-75 * math.cos(middle):.2f}'>{place + 1}</text>"
    spinner = (
        "<svg viewBox='-95 -95 190 190' style='width:120mm;break-inside:avoid' font-size='9' text-anchor='middle' "
        f"dominant-baseline='central'><circle r='90' fill='none' stroke='#000'/>{edges}{numbers}</svg>"
    )
    total = voice.number(count)
    cut = f"{_paragraphs(voice.say('devices_slips', count=total))}<div class='slips'>{slips}</div>"
    return f"{cut}<section>{_paragraphs(voice.say('devices_spinner'))}{spinner}</section>"


def _safe(text: str) -> str:
    return html.escape(numbers_apart(text)).replace("\n", "<br>")
