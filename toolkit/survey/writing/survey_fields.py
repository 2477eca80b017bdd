"""What a survey may be made of, besides its questions: languages, words of one's own, yes or no."""

from collections.abc import Mapping, Sequence

from toolkit.core.checks import refuse
from toolkit.survey.language.phrases import Own
from toolkit.survey.language.text import Frozen, Text, checked_language, checked_string


def checked_languages(given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        refuse("`languages` must be a list of codes", type(given).__name__, 'write ["en", "de"]', TypeError)
    codes = tuple(checked_language(code) for code in given)
    if len(set(codes)) < len(codes):
        refuse("`languages` must be distinct", ", ".join(codes), "people choose one of them")
    return codes


def own_words(given: Own | None, languages: Sequence[str]) -> Frozen[str, Text] | None:
    if not given:
        return None
    if not isinstance(given, Mapping) or not all(isinstance(words, Mapping) for words in given.values()):
        refuse(
            "`words` must be words by language and name",
            type(given).__name__,
            'write {it = {next = "Avanti"}}',
            TypeError,
        )
    if unused := [code for code in given if code not in languages]:
        rule = f"`words` must be in a language of the survey ({', '.join(languages)})"
        refuse(rule, repr(unused[0])[:40], "nobody would see them")
    return Frozen({code: Frozen(_strings(words, code)) for code, words in given.items()})


def _strings(words: Mapping[str, str], code: str) -> dict[str, str]:
    return {str(key): checked_string(text, f"words.{code}.{key}", 2000) for key, text in words.items()}


def flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        refuse(f"`{name}` must be true or false", type(value).__name__, "nothing else is defined", TypeError)
    return value
