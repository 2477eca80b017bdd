"""A survey on paper: the same questions and designs, with dice, coins and cards in people's own hands."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace

from toolkit.core.checks import choice, refuse
from toolkit.local.design import Design, has_matrix
from toolkit.local.devices import Device, Step
from toolkit.survey.consent.page_data import as_number
from toolkit.survey.consent.wheel import filled
from toolkit.survey.question import Question
from toolkit.survey.spec import Survey
from toolkit.texts.multilingual import right_to_left, text_in
from toolkit.texts.phrases import phrases
from toolkit.texts.voice import Voice

_STYLE = (
    "@page{margin:2cm}body{font:12pt/1.5 serif;max-width:42em;margin:2em auto;color:#000;background:#fff}"
    "section{break-inside:avoid;margin:1.5em 0;border-top:1px solid #999;padding-top:.5em}"
    "ul{list-style:none;padding:0}li::before{content:'☐';font-size:1.4em;margin-inline-end:.5em}"
    ".page{break-before:page}ol{padding-inline-start:1.5em}.steps{margin:.2em 0 .6em}"
    ".line{border-bottom:1px solid #000;height:2em}"
)
_DEVICES = {
    "a coin": "device_coin",
    "two coins, one after the other": "device_two_coins",
    "a die": "device_die",
    "one of ten slips numbered 1 to 10": "device_slips",
    "a card drawn from 13 of one suit": "device_card",
    "a die thrown twice (6 × first + second − 6)": "device_two_dice",
}
"""The devices whose outcome nobody can look up, and the words for them."""


def paper(survey: Survey, language: str | None = None) -> str:
    """Return a form to print, as HTML, with a page for those who hand it out.

    Only yes/no and choice questions whose design a device realizes exactly can be asked on paper. Its devices
    are those whose outcome nobody can look up: never a birthday or a phone number. The reports of a paper form
    have the same meaning as those of phones, and can be estimated together with them.
    """
    code = survey.languages[0] if language is None else choice(language, "language", survey.languages)
    voice = Voice(phrases(code, survey.words))
    consent = "".join(f"<p>{_safe(text)}</p>" for text in survey.consent_text(code, paper=True).split("\n\n"))
    parts = [_question(question, survey, code, voice) for question in survey.questions]
    title = _safe(survey.heading[code])
    head = f"<meta charset='utf-8'><title>{title}</title><style>{_STYLE}</style>"
    direction = "rtl" if right_to_left(code) else "ltr"
    body = f"<h1>{title}</h1>{consent}<div class='page'>{''.join(parts)}</div>{_interviewer(voice)}"
    return f"<!doctype html><html lang='{code}' dir='{direction}'><head>{head}</head><body>{body}</body></html>"


def on_paper(survey: Survey) -> tuple[Survey, tuple[str, ...]]:
    """Return the survey with what can be asked on paper, and the names of what only phones can ask."""
    left_out = tuple(question.name for question in survey.questions if not _by_hand(question))
    rest = tuple(question for question in survey.questions if question.name not in left_out)
    return (replace(survey, questions=rest) if left_out and rest else survey), left_out


def _by_hand(question: Question) -> bool:
    if question.design is None or question.instructions is not None:
        return True
    return has_matrix(question.design) and bool(_exact(question.design))


def _exact(design: Design) -> list[Device[Design]]:
    return [device for device in design.devices() if device.exact and device.name in _DEVICES]


def _interviewer(voice: Voice) -> str:
    rules = "".join(f"<p>{_safe(voice.say(f'interviewer_{i}'))}</p>" for i in range(1, 5))
    return f"<div class='page'><h1>{_safe(voice.say('interviewer'))}</h1>{rules}</div>"


def _question(question: Question, survey: Survey, code: str, voice: Voice) -> str:
    instructions, ticked = _asked(question, code, voice)
    boxes = "".join(f"<li><bdi>{_safe(one)}</bdi></li>" for one in ticked)
    asked = "".join(f"<p>{_safe(line)}</p>" for line in _range(question, survey, code, voice))
    field = f"<ul>{boxes}</ul>" if ticked else f"{asked}<p class='line'></p>"
    some = "".join(f"<p>{_safe(line)}</p>" for line in _condition(question, survey, code, voice))
    beside = [text_in(words, code) for words in (question.help, question.warning) if words is not None]
    steps = "".join(f"<p class='steps'><i>{_safe(line)}</i></p>" for line in [*beside, *instructions])
    return f"<section>{some}<p><b>{_safe(text_in(question.text, code))}</b></p>{steps}{field}</section>"


def _range(question: Question, survey: Survey, code: str, voice: Voice) -> list[str]:
    """Which numbers can be written, and whether they must be whole: as the page says it."""
    if question.bounds is None:
        return []
    pattern = survey.page_words()[code]["whole" if question.whole else "number"]
    low, high = (voice.number(as_number(bound)) for bound in question.bounds)
    return [filled(pattern, low=low, high=high)]


def _condition(question: Question, survey: Survey, code: str, voice: Voice) -> list[str]:
    """Who is asked: what must have been ticked before, one line for each question."""
    lines = []
    for name, options in (question.show_if or {}).items():
        other = survey[name]
        labels = [voice.quoted(other.label(option, code, voice.phrases)) for option in options]
        before = voice.quoted(text_in(other.text, code))
        lines.append(voice.say("paper_if", question=before, answers=voice.listed(labels, "or")))
    return lines


def _asked(question: Question, code: str, voice: Voice) -> tuple[Sequence[str], Sequence[str]]:
    """What to do, line by line, and what to tick; nothing where one writes."""
    given = question.report_options or question.options
    options = [question.label(option, code, voice.phrases) for option in given]
    if question.design is None:
        return [], options
    if question.instructions is not None:
        return [text_in(question.instructions, code)], options
    shown = (*question.options, *question.report_options)
    names = {option: question.label(option, code, voice.phrases) for option in shown}
    return device_words(_device(question), voice, names), options


def _device(question: Question) -> Device[Design]:
    if question.design is None or not has_matrix(question.design):
        rule = "a question on paper must have a design that is a matrix"
        refuse(rule, question.name, "its report cannot be drawn by hand")
    exact = _exact(question.design)
    if not exact:
        rule = "a question on paper must have a design that a coin, die, slips or cards realize exactly"
        refuse(rule, question.name, "see design.devices(), or give the question `instructions`")
    return exact[0]


def device_words(device: Device[Design], voice: Voice, names: Mapping[str | int, str]) -> list[str]:
    """Return what to do with a device, in a language: a line per step, or per answer."""
    use = [f"{voice.say('paper_use', device=voice.say(_DEVICES[device.name]))} {voice.say('paper_secret')}"]
    if all(step.answer is None for step in device.steps):
        return use + [_forced(step, voice, names) for step in device.steps]
    cases: dict[str, list[str]] = {}
    for step in device.steps:
        report = voice.quoted(names[step.report])  # type: ignore[index]
        done = voice.say("paper_step", outcomes=_outcomes(step.outcomes, voice), report=report)
        cases.setdefault(names[step.answer], []).append(done)  # type: ignore[index]
    return use + [
        voice.say("paper_case", answer=voice.quoted(answer), steps=voice.listed(steps))
        for answer, steps in cases.items()
    ]


def _forced(step: Step, voice: Voice, names: Mapping[str | int, str]) -> str:
    outcomes = _outcomes(step.outcomes, voice)
    if step.report is None:
        return voice.say("paper_truth", outcomes=outcomes)
    return voice.say("paper_say", outcomes=outcomes, report=voice.quoted(names[step.report]))


def _outcomes(outcomes: Sequence[str], voice: Voice) -> str:
    """Consecutive numbers as a range; faces of coins in words."""
    if outcomes[0].isdigit() and len(outcomes) > 2:
        return voice.say("to", first=outcomes[0], last=outcomes[-1])
    shown = ["–".join(voice.phrases.get(face, face) for face in one.split("-")) for one in outcomes]
    return voice.listed(shown, "or")


def _safe(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")
