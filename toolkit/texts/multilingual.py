"""Plain text in one or more languages, as people read it in a survey.

Markup has no meaning here: a page shows every character as it is. Line breaks are kept; control characters
are refused.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import TypeAlias, TypeVar

from toolkit.core.checks import reject

K = TypeVar("K")
V = TypeVar("V", covariant=True)

_CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")
_STRANGE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
JOINING = "\u200c\u200d"  # within words of some languages
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u2800\u3164\uffa0")
_VARIANT = re.compile("[\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]")  # seen at most in other letters
_QUOTES = frozenset('"“”„‟«»〝〞〟＂「」『』｢｣ʺ˝ˮ″‶〃❝❞❠🙶🙷🙸')
_DOUBLED = re.compile(r"['‘’‚‛`´′ʹʼ]{2}")  # two of them look like one of these
_TWINS = str.maketrans(  # letters of Cyrillic, Greek and Armenian that look like Latin ones
    "АВЕЅІЈКМНОРСТУХҮаеѕіјорсухһԁԛԝӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧονϲϳօոսհց", "ABESIJKMHOPCTYXYaesijopcyxhdqwlABEZHIKMNOPTYXovcjonuhg"
)
_TURNING = re.compile(r"[\u202a-\u202e]")
_SLOT = re.compile(r"\{\w+\}")
_GROUPED = re.compile(  # of a telephone, of thousands, of a date
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
"""Language code → words."""

Words: TypeAlias = str | Mapping[str, str]
"""Accepted words: a mapping by language, or a plain string in the survey's first language."""


def checked_words(value: object, name: str, longest: int) -> str | Text:
    """Check that words are plain text: no control characters, not empty, not too long."""
    if isinstance(value, str):
        return checked_string(value, name, longest)
    if not isinstance(value, Mapping):
        rule = f"`{name}` must be a string, or strings by language"
        reject(rule, type(value).__name__, 'write {"en": "…", "de": "…"}, in TOML {en = "…", de = "…"}', TypeError)
    if not value:
        reject(f"`{name}` must not be empty", "no language", "people must be able to read it")
    return Frozen(
        {checked_language(code): checked_string(words, f"{name}.{code}", longest) for code, words in value.items()}
    )


def checked_string(words: object, name: str, longest: int) -> str:
    if not isinstance(words, str):
        reject(f"`{name}` must be a string", type(words).__name__, "it is shown to people as it is", TypeError)
    if not words.strip():
        rule = f"`{name}` must not be empty"
        reject(rule, "only spaces" if words else "an empty string", "people must be able to read it")
    if len(words) > longest:
        reject(f"`{name}` must have at most {longest} characters", len(words), "nobody reads more on a phone")
    if strange := _STRANGE.search(words):
        rule = f"`{name}` must be plain text"
        reject(rule, f"the character {character_name(strange.group())}", "line breaks and tabs are allowed")
    return words


def character_name(character: str) -> str:
    r"""Return the name of a character, for those who cannot see it."""
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X}" + (f" ({name})" if name else "")


def turning(text: str) -> str | None:
    """Return the first character that turns the direction of the text after it."""
    return match.group() if (match := _TURNING.search(text)) else None


def unquotable(label: str, quote: str = "") -> str | None:
    r"""Return the first character of a label that could change how the sentence around it reads, quotes among them."""
    if doubled := _DOUBLED.search(label):
        return doubled.group()[0]
    marks = _QUOTES | {mark for mark in _SLOT.sub("", quote) if not mark.isspace() and not _hidden(mark)}
    return next((character for character in label if character in marks or _hidden(character)), None)


def _hidden(character: str) -> bool:
    kinds = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    return character in _UNSEEN or (character not in JOINING and unicodedata.category(character) in kinds)


def looks(text: str) -> str:
    r"""Return a text as readers see it: without invisible characters, and with Latin letters for lookalikes."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    plain = unicodedata.normalize("NFKC", " ".join(_VARIANT.sub("", text).split())).translate(_TWINS)
    return "".join(character for character in plain if not _hidden(character))


def checked_language(code: object) -> str:
    """Check a language code such as "en", "de-AT" or "zh-Hant"."""
    if not isinstance(code, str) or not _CODE.fullmatch(code):
        reject(
            "a language must be a code such as en, de or pt-BR", repr(code)[:40], "browsers and screen readers go by it"
        )
    return code


def right_to_left(language: str) -> bool:
    """Return whether a language is written from right to left; a script in the code, as in "ku-Arab", decides."""
    first, *rest = language.lower().split("-")
    return next((_SCRIPTS[part] for part in rest if part in _SCRIPTS), first in _RIGHT_TO_LEFT)


def isolated(pattern: str) -> str:
    r"""Return a pattern with Unicode isolates around its slots, whose values may have the other direction."""
    return _SLOT.sub(lambda slot: f"\u2068{slot.group()}\u2069", pattern)


def numbers_apart(text: str) -> str:
    """Return words from right to left in which groups of digits, as of a telephone, stand in the order to dial them."""

    def apart(match: re.Match[str]) -> str:
        digits = match[0] if match[0].isascii() else re.sub(r"[ \u00a0/-]", "\\g<0>\u200e", match[0])
        return f"\u2066{digits}\u2069"

    turned = _GROUPED.search(text) and any(unicodedata.bidirectional(character) in ("R", "AL") for character in text)
    return _GROUPED.sub(apart, text) if turned else text


def text_in(words: str | Text, language: str) -> str:
    """Return words in one language; a plain string is in every language."""
    return words if isinstance(words, str) else words[language]


def in_language(words: str | Text, language: str) -> Text:
    """Return words by language; a plain string is in the given language."""
    return Frozen({language: words}) if isinstance(words, str) else words
