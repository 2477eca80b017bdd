"""Replies in other languages: complete for the translated notebooks, current, and with the same fields."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from tests.teaching.key import KEY, right
from toolkit.teaching import attempt, check, checking, copies, replies
from toolkit.teaching.checking import SLIPS, left_to_do
from toolkit.teaching.hidden_cases import functions_of
from toolkit.teaching.mistakes import MISTAKES
from toolkit.teaching.replies import languages, reply_text, set_language, translated_replies

LANGUAGES = languages()[1:]
TEACHING = Path(replies.__file__).parent


@pytest.fixture
def in_language():
    """Return a function that chooses the language of replies, which is English again after the test."""
    yield set_language
    set_language("en")


def general_replies():
    """Return the sentences that `check`, `left_to_do` and `attempt` pass to `reply_text`, for any exercise."""
    for file in ("checking.py", "attempts.py"):
        for node in ast.walk(ast.parse((TEACHING / file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "reply_text":
                strings = {part.value for part in ast.walk(node.args[0]) if isinstance(part, ast.Constant)}
                yield from (text for text in strings if isinstance(text, str))
            elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("template", "message"):
                yield from (part.value for part in ast.walk(node.value) if is_template(part))
    yield checking.NO_ANSWER
    yield from (hint for slips in SLIPS.values() for _, hint in slips)


def is_template(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and "{" in node.value


def exercise_replies(prefix):
    """Return the hints for the exercises and functions of one notebook."""
    for name in (name for name in KEY if name.startswith(prefix)):
        yield from (hint for part in KEY[name]["parts"] for _, hint in part.get("wrong", []))
    yield from (mistake.reason for name in functions_of(prefix) for mistake in MISTAKES[name])


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reply_of_a_translated_notebook_is_translated_and_no_other(language):
    """A reply that was reworded in English is missing here, and its old translation is left over."""
    prefixes = [f"{name[:2]}." for name in copies.translated_notebooks(language)]
    english = {*general_replies()} | {reply for prefix in prefixes for reply in exercise_replies(prefix)}
    translated = translated_replies(language)
    assert sorted(english - set(translated)) == []
    assert sorted(set(translated) - english) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translated_reply_has_the_fields_of_the_english_one_and_differs_from_it(language):
    for english, translation in translated_replies(language).items():
        assert sorted(re.findall(r"\{\w*\}", translation)) == sorted(re.findall(r"\{\w*\}", english)), english
        assert translation != english
        assert translation[0].isspace() is english[0].isspace()


def test_checks_answer_in_the_language_of_the_notebook(in_language):
    in_language("de")
    assert repr(check("03.2", 3362)) == "03.2: richtig."
    assert repr(check("03.2", 288)) == "03.2: Das gilt für eine Umfrage ohne Würfel."
    assert repr(check("03.2", ...)) == "03.2: noch keine Antwort. Schreiben Sie sie anstelle der drei Punkte."
    assert 'Schreiben Sie 0.75 oder "0,75".' in repr(check("03.3", (0, 125)))  # as 0,125 is read
    assert repr(check("05.2", (2, "nein"))).startswith("05.2: Teil 2 von 2: Das Rauschen wächst schnell")
    assert left_to_do(["03.9"], {"my_warner": None}) == "Noch zu tun: my_warner schreiben; Aufgabe 03.9."
    in_language("es")
    assert repr(check("03.4", 2)) == "03.4: Ese es el factor de una respuesta enviada. ¿Cuál es el de dos?"
    assert left_to_do([], {}) == "Todo hecho."
    assert reply_text("Why?") == "Why?"


@pytest.mark.parametrize(
    ("name", "answer"),
    [("05.2", (2, "Ja!")), ("05.2", (2, "sí")), ("05.3", (0.01923, "nein")), ("00.1", (0.3, "unendlich"))],
)
def test_words_in_other_languages_are_right_as_well(name, answer):
    assert check(name, answer)
    assert check(name, tuple(right(name)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_mistakes_and_errors_in_a_function_are_explained_in_the_language(language, in_language):
    in_language(language)
    table = translated_replies(language)

    def my_limit(before, after):
        return after - before

    def failing(before):
        return before["x"]

    for function, arguments, like, expected in (
        (my_limit, (0.1, 0.25), 1.0986, table["This is a difference. Epsilon is the logarithm of a ratio."]),
        (failing, ({"a": 1},), np.ones((2, 3)), f"2 {table['by']} 3"),
        (failing, ({"x": ...},), 1.0, table["a number"]),
        (failing, ({"x": "text"},), 1.0, table["Return the result alone."]),
        (failing, ({"x": np.nan},), 1.0, "NaN"),
        (failing, ({"x": 2},), np.array(True), "0 "),
    ):
        with pytest.raises(AssertionError) as caught:
            attempt(function, *arguments, like=like)
        assert expected in str(caught.value)
        assert "{" not in str(caught.value)
        assert not re.search(r"must return|returned|It was given", str(caught.value))


def test_an_unknown_language_is_rejected():
    for code in ("", "xx", "../answers"):
        with pytest.raises(ValueError, match="`language` must be one of en, de, es, got"):
            set_language(code)
