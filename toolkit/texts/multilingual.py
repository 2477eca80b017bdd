"""Plain text in one or more languages, as respondents read it.

Markup has no meaning: a page shows every character literally. Line breaks are kept; control characters are rejected.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import TypeAlias, TypeVar

from toolkit.core.checks import reject

K = TypeVar("K")
V = TypeVar("V", covariant=True)

_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
JOINERS = "\u200c\u200d"  # invisible characters that the spelling of some languages requires
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u2800\u3164\uffa0")
_VARIANT_SELECTORS = re.compile(
    "[\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)  # invisible themselves; they only change how neighboring letters are drawn
_QUOTES = frozenset('"“”„‟«»〝〞〟＂「」『』｢｣ʺ˝ˮ″‶〃❝❞❠🙶🙷🙸')
_DOUBLED_QUOTES = re.compile(r"['‘’‚‛`´′ʹʼ]{2}")  # a pair of these looks like one double quote
_LOOKALIKES = str.maketrans(  # Cyrillic, Greek and Armenian letters that look like Latin letters
    "АВЕЅІЈКМНОРСТУХҮаеѕіјорсухһԁԛԝӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧονϲϳօոսհց", "ABESIJKMHOPCTYXYaesijopcyxhdqwlABEZHIKMNOPTYXovcjonuhg"
)
_DIRECTION_CHANGES = re.compile(r"[\u202a-\u202e]")
_SLOT = re.compile(r"\{\w+\}")
_DIGIT_GROUPS = re.compile(  # digit groups of telephone numbers, of large numbers, and of dates
    r"(?<![\d.,])(?:(?:\+\d+|\([0٠۰]\d*\)|[0٠۰]\d+)(?:[ \u00a0/-](?:\(\d+\)\d*|\d+))+"
    r"|\+\d+|\d+(?:[ \u00a0]\d+)+|\d+(?:-\d+){2,})"
)
_RIGHT_TO_LEFT = frozenset(["ar", "arc", "ckb", "dv", "fa", "he", "iw", "nqo", "ps", "sd", "syr", "ug", "ur", "yi"])
_SCRIPTS = dict.fromkeys(("arab", "hebr", "thaa", "nkoo", "syrc"), True) | dict.fromkeys(
    ("latn", "cyrl", "deva"), False
)


class Frozen(Mapping[K, V]):
    """A read-only dictionary, so that its checked contents cannot change."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[K, V]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)


Text: TypeAlias = Frozen[str, str]
"""A text in one or more languages, by language code."""

Words: TypeAlias = str | Mapping[str, str]
"""An accepted text: strings by language code, or a plain string in the survey's first language."""


def checked_words(value: object, name: str, max_length: int) -> str | Text:
    """Check and return a plain text, in one or more languages; see `checked_string`."""
    if isinstance(value, str):
        return checked_string(value, name, max_length)
    if not isinstance(value, Mapping):
        rule = f"`{name}` must be a string, or strings by language"
        reject(rule, type(value).__name__, 'write {"en": "…", "de": "…"}, in TOML {en = "…", de = "…"}', TypeError)
    if not value:
        reject(f"`{name}` must not be empty", "no language", "people must be able to read it")
    return Frozen(
        {checked_language(code): checked_string(words, f"{name}.{code}", max_length) for code, words in value.items()}
    )


def checked_string(words: object, name: str, max_length: int) -> str:
    if not isinstance(words, str):
        reject(f"`{name}` must be a string", type(words).__name__, "it is shown to people as it is", TypeError)
    if not words.strip():
        rule = f"`{name}` must not be empty"
        reject(rule, "only spaces" if words else "an empty string", "people must be able to read it")
    if len(words) > max_length:
        reject(f"`{name}` must have at most {max_length} characters", len(words), "nobody reads more on a phone")
    if strange := _FORBIDDEN.search(words):
        rule = f"`{name}` must be plain text"
        reject(rule, f"the character {character_name(strange.group())}", "line breaks and tabs are allowed")
    return words


def character_name(character: str) -> str:
    r"""Return the code and name of a character, since the character itself may be invisible."""
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X}" + (f" ({name})" if name else "")


def find_direction_change(text: str) -> str | None:
    """Return the first character that changes the direction of the text after it, or None."""
    return match.group() if (match := _DIRECTION_CHANGES.search(text)) else None


def find_unquotable(label: str, quote: str = "") -> str | None:
    r"""Return the first character of a label, such as a quote, that could change the sentence around it."""
    if doubled := _DOUBLED_QUOTES.search(label):
        return doubled.group()[0]
    marks = _QUOTES | {mark for mark in _SLOT.sub("", quote) if not mark.isspace() and not _is_invisible(mark)}
    return next((character for character in label if character in marks or _is_invisible(character)), None)


def _is_invisible(character: str) -> bool:
    kinds = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    return character in _INVISIBLE or (character not in JOINERS and unicodedata.category(character) in kinds)


def visible_form(text: str) -> str:
    r"""Return a text as readers see it: without invisible characters, and with Latin letters instead of lookalikes."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    plain = unicodedata.normalize("NFKC", " ".join(_VARIANT_SELECTORS.sub("", text).split())).translate(_LOOKALIKES)
    return "".join(character for character in plain if not _is_invisible(character))


def checked_language(code: object) -> str:
    """Check a language code such as "en", "de-AT" or "zh-Hant"."""
    if not isinstance(code, str) or not _LANGUAGE_CODE.fullmatch(code):
        reject(
            "a language must be a code such as en, de or pt-BR", repr(code)[:40], "browsers and screen readers use it"
        )
    return code


def is_right_to_left(language: str) -> bool:
    """Return whether a language is written from right to left; a script in the code, as in "ku-Arab", is decisive."""
    first, *rest = language.lower().split("-")
    return next((_SCRIPTS[part] for part in rest if part in _SCRIPTS), first in _RIGHT_TO_LEFT)


def isolate_slots(pattern: str) -> str:
    r"""Return a pattern with Unicode isolates around its slots, whose values may have the opposite direction."""
    return _SLOT.sub(lambda slot: f"\u2068{slot.group()}\u2069", pattern)


def isolate_digit_groups(text: str) -> str:
    """Isolate digit groups in right-to-left text, such as telephone numbers, so that they run from left to right."""

    def apart(match: re.Match[str]) -> str:
        digits = match[0] if match[0].isascii() else re.sub(r"[ \u00a0/-]", "\\g<0>\u200e", match[0])
        return f"\u2066{digits}\u2069"

    turned = _DIGIT_GROUPS.search(text) and any(
        unicodedata.bidirectional(character) in ("R", "AL") for character in text
    )
    return _DIGIT_GROUPS.sub(apart, text) if turned else text


def text_in(words: str | Text, language: str) -> str:
    """Return a text in one language; a plain string applies to every language."""
    return words if isinstance(words, str) else words[language]


def in_language(words: str | Text, language: str) -> Text:
    """Return a text as a mapping by language; a plain string is assumed to be in the given language."""
    return Frozen({language: words}) if isinstance(words, str) else words
