"""The sentences on odds and on what they prove, language by language: one file a language in `languages/`."""

import tomllib
from functools import cache
from pathlib import Path
from types import MappingProxyType

_FOLDER = Path(__file__).parent / "languages"

LANGUAGES = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))
"""The languages that they are written in."""


@cache
def odds_phrases(language: str = "en") -> MappingProxyType[str, str]:
    """The sentences of one language, by name.

    >>> odds_phrases("de")["yes"], LANGUAGES
    ('Ja', ('ar', 'de', 'en', 'es', 'fr'))
    """
    words: dict[str, str] = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    return MappingProxyType(words)
