"""How a rehearsal says what it is, on every screen: a word before each heading, in the reader's language."""

from collections.abc import Mapping, Sequence

from toolkit.survey.language.phrases import languages as known_languages
from toolkit.survey.language.phrases import phrases
from toolkit.survey.language.words import raw_words

HEADINGS = (
    "check_title",
    "no_report",
    "practice",
    "question",
    "review",
    "sending_title",
    "sent_title",
    "thanks",
)
"""The words of the page that head its screens; the first screen has the survey's title instead."""


def rehearsal_mark(language: str) -> str:
    """What stands before a heading; in English where the language is not known here.

    >>> rehearsal_mark("de-AT"), rehearsal_mark("it")
    ('PROBELAUF', 'REHEARSAL')
    """
    base = language.partition("-")[0]
    return phrases(base if base in known_languages() else "en")["rehearsal"]


def marked_words(languages: Sequence[str], own: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """The researcher's words, and with them every heading of the page behind the mark.

    >>> marked_words(["en"], {"en": {"next": "Go on"}})["en"]["review"]
    'REHEARSAL: Before you send'
    """
    marked = {}
    for code in languages:
        words = raw_words(code, own.get(code, {}))
        heads = {name: f"{rehearsal_mark(code)}: {words[name]}" for name in HEADINGS if name in words}
        marked[code] = {**own.get(code, {}), **heads}
    return marked
