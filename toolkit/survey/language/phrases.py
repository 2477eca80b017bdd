"""The sentences of the promise, language by language: one file a language in `wording/`, and with them those
on odds, which `toolkit.local.wording` has.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Formatter

from toolkit.core.checks import refuse
from toolkit.local.wording import odds_phrases
from toolkit.survey.language.text import Frozen, Text, isolated, right_to_left
from toolkit.survey.language.words import raw_words

_COMMON = {name: name.replace(" ", "_") for name in ("yes", "no", "same", "different", "neither", "at least one")}


def label(option: str | int, given: Text | None, language: str, phrases: Mapping[str, str]) -> str:
    """The label that was given; else a common answer such as yes in that language; else the option's own
    name.

    >>> from toolkit.survey.language.phrases import phrases
    >>> label("yes", None, "de", phrases("de")), label(5, None, "de", phrases("de"))
    ('Ja', '5')
    """
    if given is not None and language in given:
        return given[language]
    return phrases[_COMMON[option]] if isinstance(option, str) and option in _COMMON else str(option)


def speaks_for_itself(option: str | int) -> bool:
    """Whether an option is understood in every language without a label: a number, or an answer that we can
    say.

    >>> speaks_for_itself("18–24"), speaks_for_itself("yes"), speaks_for_itself("arts")
    (True, True, False)
    """
    return isinstance(option, int) or option in _COMMON or not any(character.isalpha() for character in option)


_FOLDER = Path(__file__).parent / "wording"
OWN = "promise_"
"""With this before its name, a sentence can be given for a language that there is no file of."""

WAVES = (
    *("total_waves", "total_same", "waves", "waves_stored", "waves_phone", "waves_links", "odds_waves"),
    *("new_draws", "review_person", "already_waves", "stored_token_waves"),
)
"""What is said only where the same people are asked several times."""

_IF_NEEDED = frozenset({"rehearsal", "until", "claims", *WAVES})  # what not every survey says

Own = Mapping[str, Mapping[str, str]]
"""Words of the researcher: language → name → words."""


@cache
def languages() -> tuple[str, ...]:
    """The languages that the promise is written in.

    >>> "de" in languages()
    True
    """
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def phrases(language: str, own: Own | None = None) -> Mapping[str, str]:
    """The sentences in one language; "de-AT" is served by "de".

    For a language without a file all of them that every survey says must be in `own`. Where there is a file
    it is used as it is: a promise that could be reworded could also be made untrue.

    >>> phrases("de-AT")["yes"]
    'Ja'
    """
    for known in (language, language.split("-")[0]):
        if known in languages():
            return _of(known)
    given = {
        key.removeprefix(OWN): words for key, words in (own or {}).get(language, {}).items() if key.startswith(OWN)
    }
    for key, pattern in _of("en").items():
        if key in _IF_NEEDED - set(given):
            continue
        if key not in given or fields(given[key]) != fields(pattern):
            known, needed = ", ".join(languages()), len(_of("en").keys() - _IF_NEEDED)
            rule = f"a language must be one of {known}, or `words` must hold all of its {needed} {OWN}… sentences"
            received = f"{language!r} " + (
                f"without {OWN}{key}" if key not in given else f"with other {{…}} in {OWN}{key}"
            )
            refuse(rule, received, "people must be able to read what they are promised")
    return _set_apart(given, language)


def fields(pattern: str) -> frozenset[str]:
    """What is filled into a sentence."""
    return frozenset(name for _, name, _, _ in Formatter().parse(pattern) if name is not None)


@cache
def _of(language: str) -> Mapping[str, str]:
    promised = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    return _set_apart({**odds_phrases(language), **promised}, language)


def _set_apart(words: Mapping[str, str], language: str) -> Mapping[str, str]:
    """Where writing runs from right to left, a number or a label that is filled in may run the other way."""
    return Frozen({name: isolated(text) for name, text in words.items()} if right_to_left(language) else words)


HEADINGS = ("check_title", "no_report", "practice", "question", "review", "sending_title", "sent_title", "thanks")
"""The words of the page that head its screens; the first screen has the survey's title instead."""


def rehearsal_mark(language: str) -> str:
    """What stands before a heading; in English where the language is not known here.

    >>> rehearsal_mark("de-AT"), rehearsal_mark("it")
    ('PROBELAUF', 'REHEARSAL')
    """
    base = language.partition("-")[0]
    return phrases(base if base in languages() else "en")["rehearsal"]


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
