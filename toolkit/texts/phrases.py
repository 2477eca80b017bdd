"""The sentences and words of every language: `languages/` has one file per language.

The table `promise` describes what a randomizer does and what is promised; `paper` has instructions and printed texts;
`assessment` has the sentences for review boards; `page` has the texts of the page's interface; `station` has the texts
that replace or supplement them on devices of the researchers.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Formatter

from toolkit.core.checks import reject
from toolkit.texts.multilingual import Frozen, Text, is_right_to_left, isolate_slots

_FOLDER = Path(__file__).parent / "languages"
_SLOT = re.compile(r"\{\w+\}")
_COMMON = {name: name.replace(" ", "_") for name in ("yes", "no", "same", "different", "neither", "at least one")}

LANGUAGES = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))
"""The languages that come with the toolkit."""

Own = Mapping[str, Mapping[str, str]]
"""Texts of the researcher, by language and name."""

PROMISE_PREFIX = "promise_"
"""The prefix of the names under which a researcher gives promise sentences in a language without a file."""

STATION = "station"
"""The table of sentences for devices of the researchers."""

WAVES = (
    *("total_waves", "total_same", "waves", "waves_stored", "waves_phone", "waves_links", "odds_waves"),
    *("new_draws", "review_person", "already_waves", "stored_token_waves"),
)
"""The names of sentences for surveys that ask the same people several times."""

_OPTIONAL = frozenset({"rehearsal", "until", "claims", "innocent_answer", *WAVES})  # not every survey needs these

HEADINGS = ("check_title", "no_report", "practice", "question", "review", "sending_title", "sent_title", "thanks")
"""Page texts that are headings of screens; the first screen has the survey's title instead."""

REWORDABLE = frozenset(
    (
        *("name", "step", "back", "next", "continue", "yes", "no", "none", "no_answer", "optional", "quoted"),
        *("take_part", "not_part", "more", "delete", "help_title", "two_numbers", "practice", "check_title"),
        *("question", "turn", "text", "number", "most", "choose"),
        *("wrong_number", "sent_title", "you_answered", "chance", "change", "try", "try_label", "try_button"),
        *("review", "show", "send", "sending_title", "sending", "try_now", "thanks", "no_report", "try_again"),
        *("verify", "moment", "error", "none_of_these", "whole", "wrong_whole", "you_wrote", "two_ways", "orders"),
    )
)
"""Page texts that only ask, name or navigate, which a researcher may reword. All others state what happens to an
answer: in a language of the toolkit they are fixed, because a promise that could be reworded could become untrue.
"""


@cache
def _language_tables(language: str) -> dict[str, dict[str, str]]:
    """Return all tables of one language; entries that are missing in its file are in English."""
    tables: dict[str, dict[str, str]] = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    if language == "en":
        return tables
    return {name: {**english, **tables.get(name, {})} for name, english in _language_tables("en").items()}


def base_language(language: str) -> str | None:
    """Return the language whose file is used for a code, such as "de" for "de-AT"; None if there is no file."""
    base = language.partition("-")[0]
    return base if base in LANGUAGES else None


def phrases(language: str = "en", custom: Own | None = None, *extra_tables: str) -> Mapping[str, str]:
    """Return the sentences of the promise in one language by name; "de-AT" uses the file of "de".

    `extra_tables` names further tables, such as "paper" and "assessment".

    For a language without a file, `custom` must contain all sentences that every survey needs. If the
    language has a file, its sentences cannot be changed, because a reworded promise might be untrue.
    """
    base = base_language(language)
    if base is not None:
        return _sentences(base, extra_tables)
    sentences = {
        key.removeprefix(PROMISE_PREFIX): words
        for key, words in (custom or {}).get(language, {}).items()
        if key.startswith(PROMISE_PREFIX)
    }
    english = _sentences("en", extra_tables)
    for key, pattern in english.items():
        if key in _OPTIONAL - set(sentences):
            continue
        if key not in sentences or slot_names(sentences[key]) != slot_names(pattern):
            needed = f"{len(english.keys() - _OPTIONAL)} {PROMISE_PREFIX}… sentences"
            rule = f"a language must be one of {', '.join(LANGUAGES)}, or `words` must contain all of its {needed}"
            fault = (
                f"without {PROMISE_PREFIX}{key}"
                if key not in sentences
                else f"with other {{…}} in {PROMISE_PREFIX}{key}"
            )
            reject(rule, f"{language!r} {fault}", "people must be able to read what they are promised")
    return Frozen(_isolate_if_right_to_left(sentences, language))


def slot_names(pattern: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in Formatter().parse(pattern) if name is not None)


@cache
def _sentences(language: str, extra_tables: tuple[str, ...]) -> Mapping[str, str]:
    tables = _language_tables(language)
    sentences = {name: text for table in ("promise", *extra_tables) for name, text in tables[table].items()}
    return Frozen(_isolate_if_right_to_left(sentences, language))


def _isolate_if_right_to_left(words: dict[str, str], language: str) -> dict[str, str]:
    """Isolate the slots of phrases in right-to-left languages, because their values may run from left to right."""
    return {name: isolate_slots(text) for name, text in words.items()} if is_right_to_left(language) else words


def page_words_by_language(languages: Sequence[str], custom: Own | None = None) -> dict[str, dict[str, str]]:
    """Return the texts of the page in each language, with the direction of writing.

    `custom` contains the researcher's texts by language: all texts for a language without a file, otherwise only texts
    in `REWORDABLE`.
    """
    return {language: _checked_page_words(language, (custom or {}).get(language, {})) for language in languages}


def station_words(language: str) -> Mapping[str, str]:
    """Return the texts of the page on a researcher's device, which replace or supplement those on a phone."""
    return _isolate_if_right_to_left(_language_tables(base_language(language) or "en")[STATION], language)


def raw_words(language: str, custom: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of the page without further processing; the researcher's texts take precedence."""
    base = base_language(language)
    return {**(_language_tables(base)["page"] if base else {}), **custom}


def _checked_page_words(language: str, custom: Mapping[str, str]) -> dict[str, str]:
    english = _language_tables("en")["page"]
    if unknown := sorted(set(custom) - english.keys()):
        rule = f"the names in `words` must be those of en.toml ({len(english)} names)"
        reject(rule, unknown[0][:40], "the page has no such text")
    if base_language(language) and (promised := sorted(set(custom) - REWORDABLE)):
        rule = f"`words` in {language!r} may reword questions and labels but no promise"
        reject(rule, promised[0], "a reworded promise could be untrue")
    words = raw_words(language, custom)
    if missing := sorted(english.keys() - words.keys()):
        rule = f"the page must have all its texts in {language!r}"
        received = f"{len(missing)} missing, such as {missing[0]!r}"
        reject(rule, received, f"the toolkit has {', '.join(LANGUAGES)}; give other languages as `words`")
    for name, text in custom.items():
        if set(_SLOT.findall(text)) != set(_SLOT.findall(english[name])):
            expected = " ".join(_SLOT.findall(english[name])) or "nothing in braces"
            reject(f"the text {name!r} in {language!r} must contain {expected}", "others", "values are inserted there")
    return {**_isolate_if_right_to_left(words, language), "direction": "rtl" if is_right_to_left(language) else "ltr"}


def label(option: str | int, text: Text | None, language: str, words: Mapping[str, str]) -> str:
    """Return the given label, or the translation of a common answer such as yes, or the option as text."""
    if text is not None and language in text:
        return text[language]
    return words[_COMMON[option]] if isinstance(option, str) and option in _COMMON else str(option)


def needs_no_label(option: str | int) -> bool:
    """Return whether an option needs no label in any language, for example a number or a common answer."""
    return isinstance(option, int) or option in _COMMON or not any(character.isalpha() for character in option)


def rehearsal_mark(language: str) -> str:
    """Return the prefix of headings in a rehearsal; it is in English for a language without a file."""
    return phrases(base_language(language) or "en")["rehearsal"]


def rehearsal_words(languages: Sequence[str], custom: Own) -> dict[str, dict[str, str]]:
    """Return the researcher's texts together with all headings of the page, prefixed by the mark of rehearsals."""
    marked = {}
    for code in languages:
        words = raw_words(code, custom.get(code, {}))
        heads = {name: f"{rehearsal_mark(code)}: {words[name]}" for name in HEADINGS if name in words}
        marked[code] = {**custom.get(code, {}), **heads}
    return marked
