"""The words of the page's own interface, by language: one file a language in `languages/`, easy to correct or
to add to.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from toolkit.core.checks import refuse
from toolkit.survey.language.text import isolated, right_to_left

_FOLDER = Path(__file__).parent / "languages"
_SLOT = re.compile(r"\{\w+\}")

KNOWN = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))
"""The languages whose words come with the toolkit."""

ASKING = frozenset(
    (
        *("name", "step", "back", "next", "continue", "yes", "no", "none", "no_answer"),
        *(
            "optional",
            "quoted",
            "take_part",
            "practice",
            "check_title",
            "question",
            "turn",
            "text",
            "number",
            "most",
            "choose",
        ),
        *("wrong_number", "sent_title", "you_answered", "chance", "change", "try", "try_label"),
        *("try_button", "review", "show", "send", "sending_title", "sending", "try_now", "thanks"),
        *("no_report", "try_again", "verify", "moment", "error", "none_of_these", "whole", "wrong_whole"),
        *("you_wrote", "two_ways", "orders"),
    )
)
"""Words that ask, name or lead on: a researcher may put them otherwise. All others say what is done with an
answer: where we know a language they stay as they are, because a promise that could be reworded could also be
made untrue.
"""


@cache
def _file(language: str) -> dict[str, str]:
    words: dict[str, str] = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    return words


def interface(
    languages: Sequence[str], own: Mapping[str, Mapping[str, str]] | None = None
) -> dict[str, dict[str, str]]:
    """What the page says in each language, with the direction of its writing.

    `own` are the researcher's words, by language: all of them for a language that the toolkit does not know;
    else those that ask, never those that promise (`ASKING`). "de-AT" takes the words of "de".

    >>> words = interface(["de", "ar"], own={"de": {"send": "Abschicken"}})
    >>> words["de"]["send"], words["de"]["next"], words["ar"]["direction"]
    ('Abschicken', 'Weiter', 'rtl')
    """
    return {language: _complete(language, (own or {}).get(language, {})) for language in languages}


def raw_words(language: str, own: Mapping[str, str]) -> dict[str, str]:
    """The words of a language as they are written, the researcher's own before those of the toolkit; some may
    be missing.
    """
    base = language.partition("-")[0]
    return {**(_file(base) if base in KNOWN else {}), **own}


def _complete(language: str, own: Mapping[str, str]) -> dict[str, str]:
    english = _file("en")
    if unknown := sorted(set(own) - set(english)):
        refuse(f"words must be named as in en.toml ({len(english)} names)", unknown[0][:40], "the page does not say it")
    if language.partition("-")[0] in KNOWN and (promised := sorted(set(own) - ASKING)):
        rule = f"`words` in {language!r} may put otherwise what asks, not what is promised"
        refuse(rule, promised[0], "reworded, it could be untrue")
    words = raw_words(language, own)
    if missing := sorted(set(english) - set(words)):
        rule = f"the page must have all its words in {language!r}"
        refuse(
            rule,
            f"{len(missing)} missing, such as {missing[0]!r}",
            f"known are {', '.join(KNOWN)}; give others as `words`",
        )
    for name, text in own.items():
        if set(_SLOT.findall(text)) != set(_SLOT.findall(english[name])):
            expected = " ".join(_SLOT.findall(english[name])) or "nothing in braces"
            refuse(f"the words {name!r} in {language!r} must hold {expected}", "others", "values are put there")
    if not right_to_left(language):
        return {**words, "direction": "ltr"}
    return {**{name: isolated(text) for name, text in words.items()}, "direction": "rtl"}
