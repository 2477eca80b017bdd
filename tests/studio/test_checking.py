"""What is not written yet is a hint, and words that the studio filled in keep a survey from being opened."""

import json
from pathlib import Path

import pytest

from toolkit.studio import checking
from toolkit.studio.checking import check, placeholders
from toolkit.studio.folder import Folder
from toolkit.studio.server import Actions
from toolkit.studio.surveys import EXAMPLES

STATIC = Path(checking.__file__).parent / "static"
GOOD = {"title": "T", "consent": "Why.", "questions": [{"name": "a", "text": "A?", "options": ["x", "y"]}]}
FILLED = {"name": "a", "text": "A?", "options": ["first answer", "x"]}
LABELS = {"first answer": {"en": "Law", "de": "dritte Antwort"}}


def _unfinished(data):
    return [(one["question"], one["field"], one.get("unfinished")) for one in check(data).problems]


def test_the_examples_are_the_words_that_the_page_and_the_starter_fill_in():
    page = (STATIC / "questions.js").read_text(encoding="utf-8")
    starter = EXAMPLES["empty"].read_text(encoding="utf-8")
    title, *words = checking._PLACEHOLDERS
    assert f'title = "{title}"' in starter
    assert all(f't("{text}"' in page for text in words)
    german = json.loads((STATIC / "de.json").read_text(encoding="utf-8"))
    for text in [*words, *(german[one] for one in words)]:
        assert checking._placeholder_pattern().fullmatch(text.replace("{place}", "14"))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, []),
        ({"title": "A new survey"}, [(None, "title", "A new survey")]),
        ({"title": {"en": "Mine", "de": "A new survey"}}, [(None, "title", "A new survey")]),
        ({"title": "A new survey of ours"}, []),
        ({"questions": [FILLED]}, [(0, "options", "first answer")]),
        ({"questions": [{**FILLED, "options": ["Antwort 4", "x"]}]}, [(0, "options", "Antwort 4")]),
        ({"questions": [{**FILLED, "labels": {"first answer": "Law"}}]}, []),
        ({"questions": [{**FILLED, "labels": LABELS}]}, [(0, "options", "dritte Antwort")]),
        ({"questions": [{**FILLED, "options": [1, 2]}, 3]}, []),
        ({"questions": 3, "title": 3}, []),
    ],
)  # fmt: skip
def test_words_that_were_filled_in_are_found_where_people_would_read_them(change, found):
    assert placeholders({**GOOD, **change}) == found
    assert [one[:2] for one in _unfinished({**GOOD, **change}) if one[2] == "example"] == [one[:2] for one in found]


def test_what_is_empty_is_a_hint_and_what_is_wrong_is_not():
    assert _unfinished({"title": "T", "consent": "Why.", "questions": []}) == [(None, None, "empty")]
    assert _unfinished({**GOOD, "title": ""}) == [(None, "title", "empty")]
    assert _unfinished({**GOOD, "consent": ""}) == [(None, "consent", "empty")]
    assert _unfinished({**GOOD, "questions": [{**GOOD["questions"][0], "text": ""}]}) == [(0, "text", "empty")]
    assert _unfinished({**GOOD, "questions": [{**GOOD["questions"][0], "text": 3}]}) == [(0, "text", None)]
    assert _unfinished({**GOOD, "minimum": 0}) == [(None, "minimum", None)]
    assert _unfinished({**GOOD, "questions": 3}) == [(None, "questions", None)]


def test_a_survey_with_examples_is_valid_and_is_not_opened(tmp_path):
    actions = Actions(Folder(tmp_path))
    text = 'title = "T"\nconsent = "Why."\n[[questions]]\nname = "a"\ntext = "A?"\noptions = ["first answer", "x"]\n'
    (tmp_path / "a.toml").write_text(text)
    state = actions.surveys.state("a.toml")
    assert (state["valid"], [one["unfinished"] for one in state["problems"]]) == (True, ["example"])
    answer = actions.run("open", {"file": "a.toml", "hash": actions.fieldwork.state("a.toml")["hash"]})
    assert answer.status == 422
    assert b"must not contain placeholders, got the placeholder 'first answer'" in answer.body
    assert [path.name for path in tmp_path.iterdir()] == ["a.toml"]
