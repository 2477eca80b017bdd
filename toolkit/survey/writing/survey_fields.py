"""What a survey may be made of, besides its questions: languages, words of one's own, what its researchers
say of themselves; and all of it as plain data.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from toolkit.core.checks import refuse, whole
from toolkit.survey.language.phrases import Own
from toolkit.survey.language.text import (
    Frozen,
    Text,
    checked_language,
    checked_string,
    checked_words,
    in_language,
)
from toolkit.survey.writing.canonical import digest

STATED = ("controller", "contact", "purpose", "retention", "publication", "withdrawal", "approval", "hashes")
"""What those who ask say of themselves: who is responsible, whom to write to, what it is for, how long
answers are kept, what is published, how to take something back, who approved it, where the page's two
hashes can be compared.
"""

STEP = 10
"""By how many reports at once an open collection moves on."""

MOST_WAVES = 24
"""How often the same people may be asked."""

MOST_LANGUAGES = 100
"""In which one survey may be read."""

MOST_REPORTS = 10**9
"""Reports that a collection may wait for."""

PERSON = "person"
"""What a phone sends to join its reports over waves; only surveys of several waves have it."""


def stated_fields(given: Mapping[str, Any], language: str) -> dict[str, Text | None]:
    """The researchers' statements out of all arguments; a plain string is in the given language."""
    return {
        name: None if given[name] is None else in_language(checked_words(given[name], name, 2000), language)
        for name in STATED
    }


def as_data(survey: Any) -> dict[str, Any]:
    """A survey as plain data for JSON and TOML: nothing in it is null, and designs are their integers."""
    data = {
        "title": dict(survey.title),
        "languages": list(survey.languages),
        "consent": dict(survey.consent),
        **{name: None if text is None else dict(text) for name, text in survey.stated.items()},
        "practice": survey.practice,
        "check": survey.check,
        "access": survey.access,
        "cap": survey.cap,
        "closes": None if survey.closes is None else survey.closes.isoformat(),
        "ceiling": _whole_if_it_is(survey.ceiling),
        "minimum": survey.minimum,
        "words": None
        if survey.words is None
        else {code: dict(words) for code, words in survey.words.items()},
        "step": None if survey.step == STEP else survey.step,  # as in files and hashes of earlier versions
        "rehearsal": survey.rehearsal or None,
        "waves": None if survey.waves == 1 else survey.waves,
        "wave": None if survey.wave == 1 else survey.wave,
        "questions": [question.to_dict() for question in survey.questions],
    }
    return {key: value for key, value in data.items() if value is not None}


def checked_waves(waves: Any, wave: Any) -> dict[str, int]:
    """How often the same people are asked, and which time this is."""
    of, this = whole(waves, "waves", most=MOST_WAVES), whole(wave, "wave")
    if this > of:
        refuse(f"`wave` must be at most `waves`, {of}", this, "people are told how often they are asked")
    return {"waves": of, "wave": this}


def panel_hash(survey: Any) -> str | None:
    """SHA-256 of what must stay the same over waves, so that what a phone has drawn is good for the next one;
    None without waves.

    It covers the number of waves, whether it is a rehearsal, and of each question with a memo its name, its
    text in the survey's first language, and its designs with their options. Title, consent, labels, the other
    questions and their order may differ.
    """
    if survey.waves == 1:
        return None
    kept = {
        question.name: [question.text[survey.languages[0]], question.memo.to_dict()]
        for question in survey.questions
        if question.memo is not None
    }
    return digest({"waves": survey.waves, "rehearsal": survey.rehearsal, "questions": kept})


def check_panel(survey: Any, earlier: Any, rule: str, consequence: str) -> None:
    """Refuse, with this rule, two surveys that are not waves of one panel."""
    if survey.panel is None or survey.panel != earlier.panel:
        refuse(rule, "another panel" if survey.panel else "a survey without waves", consequence)


def _whole_if_it_is(ceiling: Any) -> int | str:
    return int(ceiling) if ceiling == ceiling // 1 != math.inf else str(ceiling)


def checked_languages(given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        refuse("`languages` must be a list of codes", type(given).__name__, 'write ["en", "de"]', TypeError)
    whole(len(given), "languages", most=MOST_LANGUAGES)
    codes = tuple(checked_language(code) for code in given)
    if len(set(codes)) < len(codes):
        refuse("`languages` must be distinct", ", ".join(codes), "people choose one of them")
    return codes


def own_words(given: Own | None, languages: Sequence[str]) -> Frozen[str, Text] | None:
    if not given:
        return None
    if not isinstance(given, Mapping) or not all(isinstance(words, Mapping) for words in given.values()):
        refuse(
            "`words` must be words by language and name",
            type(given).__name__,
            'write {"it": {"next": "Avanti"}}, in TOML {it = {next = "Avanti"}}',
            TypeError,
        )
    if unused := [code for code in given if code not in languages]:
        rule = f"`words` must be in a language of the survey ({', '.join(languages)})"
        refuse(rule, repr(unused[0])[:40], "nobody would see them")
    return Frozen({code: Frozen(_strings(words, code)) for code, words in given.items()})


def _strings(words: Mapping[str, str], code: str) -> dict[str, str]:
    return {str(key): checked_string(text, f"words.{code}.{key}", 2000) for key, text in words.items()}


def flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        refuse(f"`{name}` must be true or false", type(value).__name__, "nothing else is defined", TypeError)
    return value
