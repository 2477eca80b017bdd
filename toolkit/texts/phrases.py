"""The sentences and words of every language: `languages/` has one file per language.

The table `promise` says what a randomizer does and what is promised; `paper` what people do themselves and what is
printed for them; `assessment` what a board reads; `page` has the words of the page's own interface; `station` what
takes the place of either on a device of the researchers, and the words of its own screens.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Formatter

from toolkit.core.checks import reject
from toolkit.texts.multilingual import Frozen, Text, isolated, right_to_left

_FOLDER = Path(__file__).parent / "languages"
_SLOT = re.compile(r"\{\w+\}")
_COMMON = {name: name.replace(" ", "_") for name in ("yes", "no", "same", "different", "neither", "at least one")}

LANGUAGES = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))
"""The languages that come with the toolkit."""

Own = Mapping[str, Mapping[str, str]]
"""Words of the researcher: language → name → words."""

OWN = "promise_"
"""With this before its name, a researcher gives a sentence of the promise in a language without a file."""

STATION = "station"
"""The table of sentences for devices of the researchers."""

WAVES = (
    *("total_waves", "total_same", "waves", "waves_stored", "waves_phone", "waves_links", "odds_waves"),
    *("new_draws", "review_person", "already_waves", "stored_token_waves"),
)
"""The names of sentences for surveys that ask the same people several times."""

_IF_NEEDED = frozenset({"rehearsal", "until", "claims", "innocent_answer", *WAVES})  # what not every survey says

HEADINGS = ("check_title", "no_report", "practice", "question", "review", "sending_title", "sent_title", "thanks")
"""The words of the page that head its screens; the first screen has the survey's title instead."""

ASKING = frozenset(
    (
        *("name", "step", "back", "next", "continue", "yes", "no", "none", "no_answer", "optional", "quoted"),
        *("take_part", "not_part", "more", "delete", "help_title", "two_numbers", "practice", "check_title"),
        *("question", "turn", "text", "number", "most", "choose"),
        *("wrong_number", "sent_title", "you_answered", "chance", "change", "try", "try_label", "try_button"),
        *("review", "show", "send", "sending_title", "sending", "try_now", "thanks", "no_report", "try_again"),
        *("verify", "moment", "error", "none_of_these", "whole", "wrong_whole", "you_wrote", "two_ways", "orders"),
    )
)
"""Words that ask, name or lead on: a researcher may reword them. All others say what is done with an answer:
in a language of ours they stay as they are, because a promise that could be reworded could become untrue.
"""


@cache
def _file(language: str) -> dict[str, dict[str, str]]:
    """Return the tables `promise` and `page` of one language; what its file lacks is in English."""
    tables: dict[str, dict[str, str]] = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    if language == "en":
        return tables
    return {name: {**english, **tables.get(name, {})} for name, english in _file("en").items()}


def base_language(language: str) -> str | None:
    """Return the language with a file that serves a code, such as "de" for "de-AT"; None if there is none."""
    base = language.partition("-")[0]
    return base if base in LANGUAGES else None


def phrases(language: str = "en", custom: Own | None = None, *also: str) -> Mapping[str, str]:
    """Return the sentences of the promise in one language, by name; "de-AT" is served by "de".

    `also` names further tables: "paper" for what people do themselves and what is printed, "assessment".

    For a language without a file, `own` must have all that every survey says. Where there is a file it is used as it
    is: a promise that could be reworded could also become untrue.
    """
    base = base_language(language)
    if base is not None:
        return _sentences(base, also)
    sentences = {
        key.removeprefix(OWN): words for key, words in (custom or {}).get(language, {}).items() if key.startswith(OWN)
    }
    english = _sentences("en", also)
    for key, pattern in english.items():
        if key in _IF_NEEDED - set(sentences):
            continue
        if key not in sentences or fields(sentences[key]) != fields(pattern):
            supported, needed = ", ".join(LANGUAGES), len(english.keys() - _IF_NEEDED)
            rule = f"a language must be one of {supported}, or `words` must hold all of its {needed} {OWN}… sentences"
            fault = f"without {OWN}{key}" if key not in sentences else f"with other {{…}} in {OWN}{key}"
            reject(rule, f"{language!r} {fault}", "people must be able to read what they are promised")
    return Frozen(_set_apart(sentences, language))


def fields(pattern: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in Formatter().parse(pattern) if name is not None)


@cache
def _sentences(language: str, also: tuple[str, ...]) -> Mapping[str, str]:
    tables = _file(language)
    sentences = {name: text for table in ("promise", *also) for name, text in tables[table].items()}
    return Frozen(_set_apart(sentences, language))


def _set_apart(words: dict[str, str], language: str) -> dict[str, str]:
    """Isolate the slots of phrases in languages written from right to left, whose values may run from left to right."""
    return {name: isolated(text) for name, text in words.items()} if right_to_left(language) else words


def interface(languages: Sequence[str], custom: Own | None = None) -> dict[str, dict[str, str]]:
    """Return what the page says in each language, with the direction of its writing. `own` are the researcher's words,
    by language: all of them for a language without a file; else those that ask, never those that promise (`ASKING`).
    """
    return {language: _complete(language, (custom or {}).get(language, {})) for language in languages}


def station_words(language: str) -> Mapping[str, str]:
    """Return what the page says on a device of the researchers, besides or instead of what it says on a phone."""
    return _set_apart(_file(base_language(language) or "en")[STATION], language)


def raw_words(language: str, custom: Mapping[str, str]) -> dict[str, str]:
    """Return the words of the page without further processing, where the researcher's words take precedence."""
    base = base_language(language)
    return {**(_file(base)["page"] if base else {}), **custom}


def _complete(language: str, custom: Mapping[str, str]) -> dict[str, str]:
    english = _file("en")["page"]
    if unknown := sorted(set(custom) - english.keys()):
        reject(f"words must be named as in en.toml ({len(english)} names)", unknown[0][:40], "the page does not say it")
    if base_language(language) and (promised := sorted(set(custom) - ASKING)):
        rule = f"`words` in {language!r} may put otherwise what asks, not what is promised"
        reject(rule, promised[0], "reworded, it could be untrue")
    words = raw_words(language, custom)
    if missing := sorted(english.keys() - words.keys()):
        rule = f"the page must have all its words in {language!r}"
        received = f"{len(missing)} missing, such as {missing[0]!r}"
        reject(rule, received, f"known are {', '.join(LANGUAGES)}; give others as `words`")
    for name, text in custom.items():
        if set(_SLOT.findall(text)) != set(_SLOT.findall(english[name])):
            expected = " ".join(_SLOT.findall(english[name])) or "nothing in braces"
            reject(f"the words {name!r} in {language!r} must hold {expected}", "others", "values are put there")
    return {**_set_apart(words, language), "direction": "rtl" if right_to_left(language) else "ltr"}


def label(option: str | int, text: Text | None, language: str, words: Mapping[str, str]) -> str:
    """Return the given label, or a common answer such as yes in that language, or the option's name."""
    if text is not None and language in text:
        return text[language]
    return words[_COMMON[option]] if isinstance(option, str) and option in _COMMON else str(option)


def speaks_for_itself(option: str | int) -> bool:
    """Return whether an option needs no label in any language, because it is a number or a common answer."""
    return isinstance(option, int) or option in _COMMON or not any(character.isalpha() for character in option)


def rehearsal_mark(language: str) -> str:
    """Return the prefix of headings in a rehearsal, in English for a language without a file."""
    return phrases(base_language(language) or "en")["rehearsal"]


def marked_words(languages: Sequence[str], custom: Own) -> dict[str, dict[str, str]]:
    """Return the researcher's words, and with them every heading of the page behind the rehearsal's mark."""
    marked = {}
    for code in languages:
        words = raw_words(code, custom.get(code, {}))
        heads = {name: f"{rehearsal_mark(code)}: {words[name]}" for name in HEADINGS if name in words}
        marked[code] = {**custom.get(code, {}), **heads}
    return marked
