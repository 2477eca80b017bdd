"""Drafts of data protection impact assessments in the survey's languages, for an officer to complete."""

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from toolkit.local.birthdays import count_days
from toolkit.survey.client import code_hash, toolkit_version
from toolkit.survey.consent.page_data import headings
from toolkit.survey.consent.statement import missing_statements, needs_secret_answer, odds, unique_patterns
from toolkit.survey.questions.question import Question, loss_over_waves, readable_text
from toolkit.survey.questions.survey_fields import PROTECTION_FIELDS, statements
from toolkit.survey.spec import Survey, station_version
from toolkit.texts.document import Document
from toolkit.texts.multilingual import Text, isolate_digit_groups
from toolkit.texts.odds import WEAK_EPSILON
from toolkit.texts.phrases import base_language, phrases
from toolkit.texts.voice import Voice

_SOURCES = ("employer", "police", "partner", "operator", "thief", "finder", "device")


def assessment(survey: Survey, language: str | None = None) -> str:
    """Return the assessment as Markdown, in one of the survey's languages, by default the first."""
    return "\n".join(map(isolate_digit_groups, _assessment_lines(survey, language or survey.languages[0]))) + "\n"


def assessment_html(survey: Survey, language: str | None = None) -> str:
    """Return the assessment as an HTML page for printing."""
    language = language or survey.languages[0]
    return Document.from_markdown(assessment(survey, language), language).html()


def _markdown_table(columns: str, rows: Sequence[Sequence[str]]) -> list[str]:
    heads = columns.split("|")
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(_one_line(cell).replace('|', '¦') for cell in line)} |" for line in lines]


def _one_line(text: str) -> str:
    return re.sub(r"[\t\r\n]+", " ", text)  # non-breaking spaces are kept


def _assessment_lines(survey: Survey, language: str) -> list[str]:
    voice = Voice(phrases(language if base_language(language) else "en", None, "assessment"))
    say, tables, values = voice.say, ("dp_asked", "dp_risks"), _sentence_values(survey, language, voice)
    numbers = say("dp_numbers", survey=survey.hash, program=code_hash(), version=toolkit_version())
    sections: dict[str, list[str] | dict[str, bool]] = {
        "dp_who": _responsibility_lines(survey, language, voice),
        "dp_asked": _question_table(survey, language, voice),
        "dp_needed": _necessity_lines(survey, language, voice),
        "dp_loss": [_loss_sentence(survey, voice, values["counted"])],
        "dp_stored": _storage_sentences(survey),
        "dp_trusted": _trust_sentences(survey),
        "dp_risks": [say("risk_note"), *_risk_table(survey, voice)],
        "dp_rights": _rights_sentences(survey),
        "dp_remains": _remaining_risk_sentences(survey),
        "dp_decision": [f"{line}: ________________" for line in voice.phrases["decision"].split("|")],
    }
    body = []
    for name, lines in sections.items():
        sentences = (
            lines if isinstance(lines, list) else [say(key, **values) for key, is_true in lines.items() if is_true]
        )
        items = sentences if name in tables else [f"- {_one_line(sentence)}" for sentence in sentences]
        body += [f"## {say(name)}", *items]
    return [f"# {say('dp_title', title=headings(survey)[language])}", numbers, *body]


def _responsibility_lines(survey: Survey, language: str, voice: Voice) -> list[str]:
    protection: Mapping[str, Text] = survey.protection or {}
    stated = statements(survey)
    lines = [voice.say(name, words=text[language]) for name, text in stated.items() if text is not None]
    measures = {name: protection[name] for name in PROTECTION_FIELDS if name in protection and name != "necessity"}
    lines += [voice.say(name, words=text.get(language) or next(iter(text.values()))) for name, text in measures.items()]
    absent = [*missing_statements(stated), *(name for name in PROTECTION_FIELDS if name not in protection)]
    return lines + ([voice.say("not_said", names=", ".join(absent))] if absent else [])


def _question_table(survey: Survey, language: str, voice: Voice) -> list[str]:
    rows = [
        [
            readable_text(question, language),
            _protection_text(question, survey.waves, voice),
            _report_odds(survey, question, language, voice),
        ]
        for question in survey.questions
    ]
    return _markdown_table(voice.phrases["asked_columns"], rows)


def _protection_text(question: Question, waves: int, voice: Voice) -> str:
    if question.design is None:
        return f"{question.name}: {voice.say('how_plain')}"
    text = (
        f"{question.name}: {question.design.name}, {question.mode}, epsilon {_rounded_up(question.loss.epsilon, voice)}"
    )
    if waves > 1:
        total = _rounded_up(loss_over_waves(question, waves).epsilon, voice)
        text += f" {voice.say('how_waves', total=total, waves=voice.number(waves))}"
    if question.innocent is not None:
        months = question.innocent["born"]
        text += f"; {voice.say('how_born', months=months, days=voice.number(Decimal(str(float(count_days(months))))))}"
    return text if question.anchor is None else f"{text}; {voice.say('how_anchor')}"


def _report_odds(survey: Survey, question: Question, language: str, voice: Voice) -> str:
    if question.design is None:
        return _combinations_sentence([question], voice)
    return " ".join(odds(question, language, survey.words))


def _necessity_lines(survey: Survey, language: str, voice: Voice) -> list[str]:
    groups = {
        "need_plain": [question for question in survey.questions if not question.randomized and not question.free_text],
        "need_text": [question for question in survey.questions if question.free_text],
        "need_hidden": [question for question in survey.questions if question.randomized],
    }
    necessity = None if survey.protection is None else survey.protection.get("necessity")
    lines = [] if necessity is None else [necessity[language]]
    return lines + [
        voice.say(name, names=", ".join(question.name for question in group)) for name, group in groups.items() if group
    ]


def _loss_sentence(survey: Survey, voice: Voice, frequency: str) -> str:
    epsilon = survey.loss.epsilon
    guess = None if math.isinf(epsilon) else voice.guess_frequency(epsilon)
    name = "shown_proof" if math.isinf(epsilon) else "shown_sure" if guess is None else "shown_guess"
    return voice.say(
        "dp_in_all", epsilon=_rounded_up(epsilon, voice), often=frequency, shown=voice.say(name, guess=guess)
    )


def _combinations_sentence(questions: Sequence[Question], voice: Voice) -> str:
    """Return a sentence on how many combinations of plain answers exist, any of which may identify a person."""
    if any(question.kind in ("text", "number") for question in questions):
        return voice.say("cells_any")
    sizes = [2 ** len(q.options) if q.multiple else len(q.options) + (not q.required) for q in questions]
    return voice.say("cells", count=voice.number(math.prod(sizes)))


def _storage_sentences(survey: Survey) -> dict[str, bool]:
    several_waves, modes = survey.waves > 1, {question.mode for question in survey.questions}
    return {
        "keep_rows": True,
        "keep_joined": several_waves,
        "keep_check": survey.check is True,
        "keep_tries": survey.check == "device",
        f"keep_{survey.access}": True,
        "keep_invited": several_waves and survey.access != "open",
        "keep_browser": True,
        "keep_plain": "plain" in modes,
        "keep_memos": any(question.memo is not None for question in survey.questions),
        "keep_arms": survey.arms is not None,
        "keep_household": survey.household,
        "keep_station": survey.field is not None,
        "keep_paper": not several_waves,
        "keep_network": True,
    }


def _trust_sentences(survey: Survey) -> dict[str, bool]:
    modes = {question.mode for question in survey.questions}
    return {
        "rely_phone": bool(modes & {"auto", "guided"}),
        "rely_wheel": "guided" in modes,
        "rely_self": "physical" in modes,
        "rely_station": survey.field is not None,
        "rely_reader": "plain" in modes,
    }


def _rights_sentences(survey: Survey) -> dict[str, bool]:
    return {
        "right_before": True,
        "right_none": survey.withdrawal is None,
        "right_own": survey.withdrawal is not None,
        "right_found": True,
        "right_plain": not all(question.randomized for question in survey.questions),
        "right_authority": True,
    }


def _remaining_risk_sentences(survey: Survey) -> dict[str, bool]:
    return {
        "rest_rare": not all(question.randomized for question in survey.questions),
        "rest_innocent": any(map(needs_secret_answer, survey.questions)),
        "rest_seen": True,
        "rest_again": True,
        "rest_pattern": survey.waves > 1 and survey.access != "open",
        "rest_receipt": survey.waves == 1,  # paper sheets are numbered
        "rest_server": True,
        "rest_open": survey.access == "open",
    }


def _sentence_values(survey: Survey, language: str, voice: Voice) -> dict[str, str]:
    one_wave = survey.waves == 1
    numbers = {name: voice.number(count) for name, count in unique_patterns(survey.waves).items()}
    return numbers | {
        "fresh": _rounded_up(
            sum(question.memo.fresh.epsilon for question in survey.questions if question.memo is not None), voice
        ),
        "cells": _combinations_sentence([question for question in survey.questions if not question.randomized], voice),
        "names": ", ".join(question.name for question in survey.questions if needs_secret_answer(question)),
        "counted": voice.say("often_once" if one_wave else "often_waves", **numbers),
        "words": "" if survey.withdrawal is None else survey.withdrawal[language],
    }


def _risk_table(survey: Survey, voice: Voice) -> list[str]:
    """Return a table of risks, with their sources, the levels implied by the designs, and countermeasures."""
    modes = {question.mode for question in survey.questions}
    epsilon, has_links = survey.loss.epsilon, survey.access != "open"
    station_modes = modes if survey.field is None else {question.mode for question in station_version(survey).questions}
    severity = "high" if "plain" in modes or epsilon > WEAK_EPSILON else "medium" if epsilon > math.log(3) else "low"
    exposure = "medium" if modes & {"auto", "guided"} else "low"
    levels = {
        "employer": ("medium" if has_links else "low", "low"),
        "police": ("low", severity),
        "partner": (exposure, exposure),
        "operator": ("medium" if survey.access == "token" else "low", severity),
        "thief": ("low", "low" if survey.waves == 1 else "medium"),
        "finder": ("low", severity),
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
    return _markdown_table(voice.phrases["risk_columns"], rows)


def _rounded_up(epsilon: float, voice: Voice) -> str:
    return "∞" if math.isinf(epsilon) else voice.rounded_up(epsilon)
