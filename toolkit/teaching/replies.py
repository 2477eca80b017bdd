"""The language in which the checks of exercises reply to students.

The files in `languages/` map each English sentence to its translation. They cover the exercises and functions of the
translated notebooks; other replies stay in English.
"""

import tomllib
from functools import cache
from pathlib import Path

from toolkit.core.checks import reject

ENGLISH = "en"
_FOLDER = Path(__file__).with_name("languages")

_language = ENGLISH


def languages() -> list[str]:
    """Return the codes of all languages of replies, English first."""
    return [ENGLISH, *sorted(path.stem for path in _FOLDER.glob("*.toml"))]


def set_language(code: str) -> None:
    """Choose the language of all following replies.

    Parameters
    ----------
    code : str
        A code such as "de".

    Raises
    ------
    ValueError
        If there are no replies in this language.

    Examples
    --------
    >>> from toolkit.teaching import check
    >>> set_language("de")
    >>> check("03.1", (3, 1.0986, 5))
    03.1: Teil 1 von 3: noch nicht.
    >>> set_language("en")
    """
    global _language
    check_language(code)
    _language = code


def check_language(code: str) -> None:
    """Raise a ValueError if there are no replies in this language."""
    if code not in languages():
        reject(f"`language` must be one of {', '.join(languages())}", repr(code)[:60], "choose one of them")


def reply_text(template: str, **values: object) -> str:
    """Return a sentence in the language of the replies, with values for its fields in braces."""
    text = translated_replies(_language).get(template, template)
    return text.format(**values) if values else text


@cache
def translated_replies(code: str) -> dict[str, str]:
    """Return the translation of each English sentence; English itself has none."""
    if code == ENGLISH:
        return {}
    return tomllib.loads((_FOLDER / f"{code}.toml").read_text(encoding="utf-8"))
