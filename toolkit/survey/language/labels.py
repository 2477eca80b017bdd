"""How options and reports are shown, language by language."""

from collections.abc import Mapping

from toolkit.survey.language.text import Text

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
