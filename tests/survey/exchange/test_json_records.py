import pytest

from toolkit.survey.exchange.json_records import json_records


def records(text):
    return json_records(text, max_digits=20)


def test_lists_objects_and_joined_files_give_the_same_records():
    expected = [{"a": "x"}, {"a": "y", "b": 2}, {}]
    for text in (
        '[{"a":"x"},{"a":"y","b":2},{}]',
        '{"a":"x"}\n{"a":"y","b":2} {}',
        '\n[{"a":"x"}]\n[{"a":"y","b":2},{}]',
    ):
        assert records(text) == expected
    assert records(" \n") == []


def test_a_list_in_a_cell_becomes_its_text_and_other_values_stay():
    assert records('{"a": [], "b": [0, 12], "c": {"d": null}, "e": null, "f": true, "g": 1.5}') == [
        {"a": "[]", "b": "[0,12]", "c": '{"d":null}', "e": None, "f": True, "g": 1.5}
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "zebra"',
        '["zebra"]',
        '"zebra"',
        "zebra",
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        "[" * 100_000,
        '{"a": ' + "9" * 30 + "}",
    ],
)
def test_anything_else_is_rejected_without_being_quoted(text):
    with pytest.raises(ValueError, match="not a sequence of JSON objects") as caught:
        records(text)
    assert caught.value.__suppress_context__
