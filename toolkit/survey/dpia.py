"""A draft of a data protection impact assessment in the survey's languages, for an officer to complete."""

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from toolkit.local.birthdays import days
from toolkit.survey.client import code_hash, toolkit_version
from toolkit.survey.consent.page_data import headings
from toolkit.survey.consent.statement import missing, needs_secret_answer, odds, patterns
from toolkit.survey.questions.question import Question, loss_over_waves
from toolkit.survey.questions.survey_fields import PROTECTION, statements
from toolkit.survey.spec import Survey, at_station
from toolkit.texts.document import Document
from toolkit.texts.multilingual import Text, numbers_apart, text_in
from toolkit.texts.odds import WEAK_EPSILON
from toolkit.texts.phrases import base_language, phrases
from toolkit.texts.voice import Voice

_SOURCES = ("employer", "police", "partner", "operator", "thief", "finder", "device")


def sheet(survey: Survey, language: str | None = None) -> str:
    """Return the assessment as Markdown, in one of the survey's languages; the first by default."""
    return "\n".join(map(numbers_apart, _lines(survey, language or survey.languages[0]))) + "\n"


def sheet_html(survey: Survey, language: str | None = None) -> str:
    """Return the assessment as an HTML page for printing."""
    code = language or survey.languages[0]
    return Document.from_markdown(sheet(survey, code), code).html()


def _table(columns: str, rows: Sequence[Sequence[str]]) -> list[str]:
    heads = columns.split("|")
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(_one_line(cell).replace('|', '¦') for cell in line)} |" for line in lines]


def _one_line(text: str) -> str:
    return re.sub(r"[\t\r\n]+", " ", text)  # non-breaking spaces stay


def _lines(survey: Survey, code: str) -> list[str]:
    voice = Voice(phrases(code if base_language(code) else "en", None, "assessment"))
    say, tables, filled = voice.say, ("dp_asked", "dp_risks"), _filled(survey, code, voice)
    numbers = say("dp_numbers", survey=survey.hash, program=code_hash(), version=toolkit_version())
    sections: dict[str, list[str] | dict[str, bool]] = {
        "dp_who": _who(survey, code, voice),
        "dp_asked": _question_table(survey, code, voice),
        "dp_needed": _needed(survey, code, voice),
        "dp_loss": [_loss(survey, voice, filled["counted"])],
        "dp_stored": _stored(survey),
        "dp_trusted": _trusted(survey),
        "dp_risks": [say("risk_note"), *_risks(survey, voice)],
        "dp_rights": _rights(survey),
        "dp_remains": _remaining(survey),
        "dp_decision": [f"{line}: ________________" for line in voice.phrases["decision"].split("|")],
    }
    body = []
    for name, lines in sections.items():
        sentences = (
            lines if isinstance(lines, list) else [say(key, **filled) for key, is_true in lines.items() if is_true]
        )
        items = sentences if name in tables else [f"- {_one_line(sentence)}" for sentence in sentences]
        body += [f"## {say(name)}", *items]
    return [f"# {say('dp_title', title=headings(survey)[code])}", numbers, *body]


def _who(survey: Survey, code: str, voice: Voice) -> list[str]:
    protection: Mapping[str, Text] = survey.protection or {}
    given = statements(survey)
    lines = [voice.say(name, words=text[code]) for name, text in given.items() if text is not None]
    measures = {name: protection[name] for name in PROTECTION if name in protection and name != "necessity"}
    lines += [voice.say(name, words=text.get(code) or next(iter(text.values()))) for name, text in measures.items()]
    absent = [*missing(given), *(name for name in PROTECTION if name not in protection)]
    return lines + ([voice.say("not_said", names=", ".join(absent))] if absent else [])


def _question_table(survey: Survey, code: str, voice: Voice) -> list[str]:
    rows = [
        [text_in(question.text, code), _how(question, survey.waves, voice), _shows(survey, question, code, voice)]
        for question in survey.questions
    ]
    return _table(voice.phrases["asked_columns"], rows)


def _how(question: Question, waves: int, voice: Voice) -> str:
    if question.design is None:
        return f"{question.name}: {voice.say('how_plain')}"
    how = f"{question.name}: {question.design.name}, {question.mode}, epsilon {_up(question.loss.epsilon, voice)}"
    if waves > 1:
        total = _up(loss_over_waves(question, waves).epsilon, voice)
        how += f" {voice.say('how_waves', total=total, waves=voice.number(waves))}"
    if question.innocent is not None:
        months = question.innocent["born"]
        how += f"; {voice.say('how_born', months=months, days=voice.number(Decimal(str(float(days(months))))))}"
    return how if question.anchor is None else f"{how}; {voice.say('how_anchor')}"


def _shows(survey: Survey, question: Question, code: str, voice: Voice) -> str:
    if question.design is None:
        return _cells([question], voice)
    return " ".join(odds(question, code, survey.words))


def _needed(survey: Survey, code: str, voice: Voice) -> list[str]:
    groups = {
        "need_plain": [question for question in survey.questions if not question.randomized and not question.free_text],
        "need_text": [question for question in survey.questions if question.free_text],
        "need_hidden": [question for question in survey.questions if question.randomized],
    }
    necessity = None if survey.protection is None else survey.protection.get("necessity")
    lines = [] if necessity is None else [necessity[code]]
    return lines + [
        voice.say(name, names=", ".join(question.name for question in group)) for name, group in groups.items() if group
    ]


def _loss(survey: Survey, voice: Voice, often: str) -> str:
    spent = survey.loss.epsilon
    guess = None if math.isinf(spent) else voice.guess(spent)
    name = "shown_proof" if math.isinf(spent) else "shown_sure" if guess is None else "shown_guess"
    return voice.say("dp_in_all", epsilon=_up(spent, voice), often=often, shown=voice.say(name, guess=guess))


def _cells(questions: Sequence[Question], voice: Voice) -> str:
    """Return a sentence on the number of combinations of plain answers, any of which may identify a person."""
    if any(question.kind in ("text", "number") for question in questions):
        return voice.say("cells_any")
    sizes = [2 ** len(q.options) if q.multiple else len(q.options) + (not q.required) for q in questions]
    return voice.say("cells", count=voice.number(math.prod(sizes)))


def _stored(survey: Survey) -> dict[str, bool]:
    several, modes = survey.waves > 1, {question.mode for question in survey.questions}
    return {
        "keep_rows": True,
        "keep_joined": several,
        "keep_check": survey.check is True,
        "keep_tries": survey.check == "device",
        f"keep_{survey.access}": True,
        "keep_invited": several and survey.access != "open",
        "keep_browser": True,
        "keep_plain": "plain" in modes,
        "keep_memos": any(question.memo is not None for question in survey.questions),
        "keep_arms": survey.arms is not None,
        "keep_household": survey.household,
        "keep_station": survey.field is not None,
        "keep_paper": not several,
        "keep_network": True,
    }


def _trusted(survey: Survey) -> dict[str, bool]:
    modes = {question.mode for question in survey.questions}
    return {
        "rely_phone": bool(modes & {"auto", "guided"}),
        "rely_wheel": "guided" in modes,
        "rely_self": "physical" in modes,
        "rely_station": survey.field is not None,
        "rely_reader": "plain" in modes,
    }


def _rights(survey: Survey) -> dict[str, bool]:
    return {
        "right_before": True,
        "right_none": survey.withdrawal is None,
        "right_own": survey.withdrawal is not None,
        "right_found": True,
        "right_plain": not all(question.randomized for question in survey.questions),
        "right_authority": True,
    }


def _remaining(survey: Survey) -> dict[str, bool]:
    return {
        "rest_rare": not all(question.randomized for question in survey.questions),
        "rest_innocent": any(map(needs_secret_answer, survey.questions)),
        "rest_seen": True,
        "rest_again": True,
        "rest_pattern": survey.waves > 1 and survey.access != "open",
        "rest_receipt": survey.waves == 1,  # sheets of paper have a number
        "rest_server": True,
        "rest_open": survey.access == "open",
    }


def _filled(survey: Survey, code: str, voice: Voice) -> dict[str, str]:
    once = survey.waves == 1
    numbers = {name: voice.number(count) for name, count in patterns(survey.waves).items()}
    return numbers | {
        "fresh": _up(
            sum(question.memo.fresh.epsilon for question in survey.questions if question.memo is not None), voice
        ),
        "cells": _cells([question for question in survey.questions if not question.randomized], voice),
        "names": ", ".join(question.name for question in survey.questions if needs_secret_answer(question)),
        "counted": voice.say("often_once" if once else "often_waves", **numbers),
        "words": "" if survey.withdrawal is None else survey.withdrawal[code],
    }


def _risks(survey: Survey, voice: Voice) -> list[str]:
    """Return a table of risks: how each source could learn something, and levels that follow from the designs."""
    modes, spent, linked = (
        {question.mode for question in survey.questions},
        survey.loss.epsilon,
        survey.access != "open",
    )
    station_modes = modes if survey.field is None else {question.mode for question in at_station(survey).questions}
    worst = "high" if "plain" in modes or spent > WEAK_EPSILON else "medium" if spent > math.log(3) else "low"
    exposure = "medium" if modes & {"auto", "guided"} else "low"
    levels = {
        "employer": ("medium" if linked else "low", "low"),
        "police": ("low", worst),
        "partner": (exposure, exposure),
        "operator": ("medium" if survey.access == "token" else "low", worst),
        "thief": ("low", "low" if survey.waves == 1 else "medium"),
        "finder": ("low", worst),
        "device": ("medium", "high")
        if "auto" in station_modes
        else ("low", "medium")
        if "guided" in station_modes
        else ("low", "low"),
    }
    rows = []
    for source in _SOURCES if survey.waves == 1 else [source for source in _SOURCES if source != "finder"]:
        name, how, measure, remains = voice.phrases[f"risk_{source}"].split("|")
        rows.append([name, how, *(voice.say(level) for level in levels[source]), measure, remains])
    return _table(voice.phrases["risk_columns"], rows)


def _up(epsilon: float, voice: Voice) -> str:
    return "∞" if math.isinf(epsilon) else voice.rounded_up(epsilon)
