"""A survey's file is the same byte for byte where nothing was edited, and has its comments where something was."""

import copy
import json
import tomllib
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.browser import forms
from tests.survey import samples
from toolkit import warner
from toolkit.local.waves import Memo
from toolkit.studio.editing import ORIGIN, are_equal, edit_text, is_javascript_safe, to_json_data
from toolkit.studio.folder import Folder
from toolkit.studio.surveys import EXAMPLES, Surveys
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey

ROOT = Path(__file__).parents[2]
FILES = {path.stem: path.read_text(encoding="utf-8") for path in (*EXAMPLES.values(), ROOT / "data" / "campus.toml")}


INSIDE = """consent = '''
[[questions]]
name = "no"
'''
title = "a" # t
[[questions]]
name = "a"
text = '''
[x]
'''
"""
BELOW = """[words.it]
next = "Avanti" # keep
[[questions]]
name = "a"
text = "x"
[questions.labels]
no = "Nein" # too
"""


def _made() -> dict[str, Survey]:
    """Surveys of the tests: every randomizer, every way to ask, several languages, arms, waves."""
    each = {
        name: Survey("One", [Question("q", "Text?", design=design)], consent="Why.", ceiling=float("inf"))
        for name, design in samples.DESIGNS.items()
    }
    memo = Question("cheated", "Cheated?", design=Memo(warner("3/4"), warner("3/4")))
    arms = [
        Question("direct", "Cheated?", options=["no", "yes"], show_if={"arm": ["direct"]}),
        Question("hidden", "Cheated?", design=warner("3/4"), show_if={"arm": ["hidden"]}),
    ]
    said = {
        "closes": "2026-12-01",
        "protection": {"review": "2027-06-01", "officer": "dpo@example.org"},
        **samples.SAID,
    }
    return {
        **each,
        "sample": samples.survey(),
        "short": forms.short(**said),
        "modes": forms.modes(),
        "kinds": forms.kinds(),
        "waves": Survey("Waves", [memo], consent="Why.", waves=3),
        "arms": Survey("Arms", arms, consent="Why.", arms={"direct": 0.3, "hidden": 0.7}),
    }


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("surveys")
    for name, survey in _made().items():
        survey.save(folder / f"{name}.toml")
    return {**FILES, **{path.stem: path.read_text(encoding="utf-8") for path in folder.iterdir()}}


def opened(text):
    """As the page has it: JSON, with the place of every question."""
    data = to_json_data(tomllib.loads(text))
    for place, question in enumerate(data.get("questions", [])):
        question[ORIGIN] = place
    return data


@pytest.mark.slow
def test_nothing_edited_is_nothing_written(texts):
    assert len(texts) > 30
    for name, text in texts.items():
        assert edit_text(text, opened(text)) == text, name


@pytest.mark.slow
def test_every_survey_that_is_opened_and_saved_is_the_same_byte_for_byte(texts, tmp_path):
    surveys = Surveys(Folder(tmp_path))
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        state = json.loads(json.dumps(surveys.state(f"{name}.toml")))
        for place, question in enumerate(state["data"].get("questions", [])):
            question[ORIGIN] = place
        surveys.save(f"{name}.toml", state["hash"], state["data"])
        assert (tmp_path / f"{name}.toml").read_bytes() == text.encode(), name


@pytest.mark.slow
def test_every_survey_can_be_edited_and_keeps_its_comments(texts):
    """Questions can also be reordered and added."""
    for name, text in texts.items():
        data = opened(text)
        data["title"], data["contact"] = "Another title", "us@example.org"
        data.setdefault("protection", {})["transfers"] = "None"
        questions = data.setdefault("questions", [])
        if questions:
            questions[0]["text"] = 'With "quotes", a # and\ntwo lines'
            questions.reverse()
        questions.append({"name": "new_one", "text": "New?", "options": ["a", "b"], "labels": {"a": {"en": "A"}}})
        after = edit_text(text, data)
        expected = copy.deepcopy(data)
        for question in expected["questions"]:
            question.pop(ORIGIN, None)
        assert are_equal(to_json_data(tomllib.loads(after)), expected), name
        comments = [line for line in text.splitlines() if line.lstrip().startswith("#")]
        assert sorted(comments) == sorted(line for line in after.splitlines() if line.lstrip().startswith("#")), name


def test_a_comment_moves_with_its_question_and_those_of_the_file_stay():
    text = FILES["exam"]
    data = opened(text)
    data["questions"].insert(0, data["questions"].pop())
    lines = edit_text(text, data).splitlines()
    first = lines.index("[[questions]]")
    assert lines[first - 1].startswith("# --- free text: sent unchanged")
    assert lines[first + 1] == 'name = "comment"'
    assert lines[-1].startswith("# necessity")
    assert text.splitlines()[:20] == lines[:20]


def test_a_question_that_is_edited_and_moved_takes_its_comments_along():
    """Those inside it, too; what stands below all questions, set apart by a blank line, stays there."""
    head, end = '# of the file\ntitle = "a"  # beside\n\n', "# at the end\n\n# and more\n"
    one, two = (
        f'# of {name}\n[[questions]]\nname = "{name}"\ntext = "{name}?"\n\n# inside\nhelp = "h"\n\n'
        for name in ("one", "two")
    )
    first, second = opened(text := head + one + two + end)["questions"]
    after = edit_text(text, {"title": "a", "questions": [{**second, "text": "New?"}, first]})
    assert after == head + two.replace("two?", "New?") + one + end
    new = {"name": "new", "text": "N?"}
    added = '[[questions]]\nname = "new"\ntext = "N?"\n\n'
    assert edit_text(text, {"title": "a", "questions": [first, new]}) == head + one + added + end
    for origin in (2, -1, True, "0", None):  # no question of the file
        assert (
            edit_text(text, {"title": "a", "questions": [first, {**new, ORIGIN: origin}]}) == head + one + added + end
        )


def test_inline_questions_become_tables_when_their_number_changes():
    """Questions that were written in one line become tables of their own."""
    text, table = 'title = "a"\nquestions = [{name = "q", text = "t"}]\n', '[[questions]]\nname = "q"\ntext = "t"\n'
    (first,) = opened(text)["questions"]
    two = {"title": "a", "questions": [first, {"name": "new", "options": []}]}
    assert edit_text(text, two) == f'title = "a"\n\n{table}\n[[questions]]\nname = "new"\noptions = []\n'
    more = text.replace("}]", '}, {name = "r", text = "t"}]')
    assert edit_text(more, {"title": "a", "questions": [first]}) == f'title = "a"\n\n{table}'
    assert tomllib.loads(edit_text(text, {"title": "a", "questions": []})) == {"title": "a", "questions": []}


def test_what_does_not_read_back_is_not_written(monkeypatch):
    monkeypatch.setattr("toolkit.studio.editing._reads_as", lambda *_: False)
    with pytest.raises(ValueError, match="must parse to the new survey"):
        edit_text('title = "a"\n', {"title": "b"})


def test_one_edit_changes_one_line():
    text = FILES["exam"]
    data = opened(text)
    data["questions"][1]["text"] = "Have you ever cheated?"
    before, after = text.splitlines(), edit_text(text, data).splitlines()
    assert len(before) == len(after)
    assert [new for old, new in zip(before, after, strict=True) if old != new] == ['text = "Have you ever cheated?"']


def test_what_is_new_stands_where_people_would_write_it():
    """Protection and words in tables of their own below the questions, all else in one line above them."""
    head, question = 'title = "a"\n', '[[questions]]\nname = "q"\ntext = "b"\n'
    below = '[protection]\nofficer = "o"\n\n[words]\nit = {next = "n"}\n'
    tables = {"protection": {"officer": "o"}, "words": {"it": {"next": "n"}}}
    data = opened(f"{head}\n{question}") | {"arms": {"x": 0.5}, **tables}
    assert edit_text(f"{head}\n{question}", data) == f"{head}arms = {{x = 0.5}}\n\n{question}{below}"
    asked = {"name": "q", "text": "b", "labels": {"yes": "y"}}
    after = f'{head}\n{question}labels = {{yes = "y"}}\n\n{below}'
    assert edit_text(head, {"title": "a", "questions": [asked], **tables}) == after


def test_a_change_inside_a_table_is_written_in_its_place():
    """A value that becomes a table stays in its line."""
    text = 'title = "a"\n\n[protection]\nofficer = "o"  # why\nreview = "2027-01-01"\n\n[words.it]\nnext = "n"\n'
    data = opened(text)
    data["protection"]["officer"], data["title"] = "p", {"en": "a", "de": "b"}
    data["words"] = {"it": {"next": "n", "back": "z"}}
    after = text.replace('"o"  #', '"p"  #').replace('title = "a"', 'title = {en = "a", de = "b"}')
    assert edit_text(text, data) == after + 'back = "z"\n'


@pytest.mark.parametrize(
    "text",
    [
        'title = "a"\nquestions = [ # why\n  {name = "a", text = "x [[questions]]"},\n]\n',
        INSIDE,
        BELOW,
        'title = "a"\r\n# windows\r\n[[questions]]\r\nname = "a"\r\ntext = "x"\r\n',
    ],
)
def test_files_that_are_written_otherwise(text):
    data = opened(text)
    assert edit_text(text, data) == text
    data["questions"][0]["text"] = "other"
    data["title"] = "b"
    after = edit_text(text, data)
    assert tomllib.loads(after)["questions"][0]["text"] == "other"
    for questions in ([*data["questions"], {"name": "b", "text": "y"}], [{"name": "b", "text": "y"}]):
        expected = [{key: value for key, value in one.items() if key != ORIGIN} for one in questions]
        assert tomllib.loads(edit_text(text, {**data, "questions": questions}))["questions"] == expected
    assert [
        part for part in ("# why", "# t", "# keep", "# too", "# windows") if part in text and part not in after
    ] == []


def test_days_truth_values_and_large_numbers():
    text = "closes = 2026-12-01\npractice = true\nceiling = inf\nminimum = 30.0\n"
    assert edit_text(text, {"closes": "2026-12-01", "practice": True, "ceiling": "inf", "minimum": 30}) == text
    assert tomllib.loads(edit_text(text, {"closes": "2026-12-02", "practice": 1}))["practice"] == 1
    assert not is_javascript_safe({"bounds": [0, 2**60]})
    assert is_javascript_safe({"bounds": [0, 2**53], "a": 1.5, "b": True})
    for several in ("a\nb", "\na", 'a\n"""b', "\n"):
        assert tomllib.loads(edit_text(text, {"title": several})) == {"title": several}
    assert "a\nb" in edit_text(text, {"title": "a\nb"}), "in several lines, as people write it"
    assert edit_text("{}", {"title": "a"}, toml=False) == '{\n  "title": "a"\n}\n'


WORDS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=30)


@pytest.mark.slow
@settings(max_examples=25)
@given(WORDS, WORDS)
def test_any_text_is_written_so_that_it_reads_back(first, second):
    text = '# top\ntitle = "a"\n\n# of q\n[[questions]]\nname = "q"\ntext = "b"  # beside\n'
    data = {"title": first, "questions": [{"name": "q", "text": second, "help": first, ORIGIN: 0}]}
    read = tomllib.loads(edit_text(text, data))
    assert (read["title"], read["questions"][0]["text"], read["questions"][0]["help"]) == (first, second, first)


def test_values_are_the_same_if_a_file_would_say_the_same():
    groups = [[{"a": 1}, {"a": 1.0}], [{"a": True}], [{"b": 1}], [{}], [[1], [1.0]], [[True]], [[1, 2]], [[]]]
    groups += [["a"], ["1"], [1, 1.0], [True], [{"a": [1]}], [{"a": 1, "b": 1}]]
    values = [(place, one) for place, group in enumerate(groups) for one in group]
    for (place, one), (other_place, other) in product(values, repeat=2):
        assert are_equal(one, other) == (place == other_place), (one, other)
    edges = {2**53: True, -(2**53): True, 2**53 + 1: False, -(2**53) - 1: False}
    assert {number: is_javascript_safe({"a": [number]}) for number in edges} == edges
