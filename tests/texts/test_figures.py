import pytest

from toolkit.texts.figures import (
    fill_templates,
    format_chance,
    format_factor,
    format_lower_chance,
    format_margin,
    format_number,
    format_three_digits,
    format_upper_chance,
    round_for_browser,
    round_to_three_digits,
)


def test_figures_for_people():
    assert [format_number(x) for x in (0.5, 9.994, 10, 99.94, 100, 12345)] == [
        "0.50",
        "9.99",
        "10.0",
        "99.9",
        "100",
        "12,345",
    ]
    assert [format_number(x, 0) for x in (0, 0.4, 1, 40)] == ["0", "0.4", "1", "40"]
    chances = {0: "0", 0.05: "under 0.1", 0.14: "0.1", 14.3: "14", 99.4: "99", 99.5: "99.5", 99.99: "99.9", 100: "100"}
    assert {x: format_chance(x) for x in chances} == chances
    assert [round_to_three_digits(x) for x in (0.6, 7, 999.4, 1234, 1235, 98765)] == [1, 7, 999, 1230, 1240, 98800]


def test_a_promised_factor_is_rounded_up_and_nothing_else_is():
    assert [format_factor(x) for x in (1.001, 9.991, 10.01, 100.4)] == ["1.01", "10.00", "10.1", "101"]
    assert [format_number(x) for x in (1.001, 9.991, 10.01, 100.4)] == ["1.00", "9.99", "10.0", "100"]
    assert [format_factor(x) for x in (1.01, 10, 100, 100_000)] == ["1.01", "10.0", "100", "100,000"]
    assert format_factor(100_000.1) == "100,000 and more"


def test_the_ends_of_a_percentage_are_rounded_outwards():
    """A percentage below one has one decimal."""
    ends = {0.04: ("0", "0.1"), 0.3: ("0.3", "0.3"), 0.41: ("0.4", "0.5"), 0.96: ("0.9", "1"), 1: ("1", "1")}
    ends |= {1.2: ("1", "2"), 1.6: ("1", "2"), 54: ("54", "54"), 99.2: ("99", "100")}
    assert {x: (format_lower_chance(x), format_upper_chance(x)) for x in ends} == ends


def test_errors_in_three_digits_and_margins_in_points():
    errors = {0.01236: "0.0124", 0.5: "0.500", 1.236: "1.24", 12.36: "12.4", 123.6: "124", 1236: "1,240"}
    assert {x: format_three_digits(x) for x in errors} == errors
    margins = {0.126: "0.13", 0.99: "0.99", 1: "1.0", 12.36: "12.4", 99.9: "99.9", 100: "100 or more"}
    assert {x: format_margin(x) for x in margins} == margins


def test_sentences_are_filled_by_name_and_a_missing_number_is_noticed():
    assert fill_templates({"a": "{x} and {y}", "b": "plain"}, {"x": 1, "y": "two"}) == {"a": "1 and two", "b": "plain"}
    with pytest.raises(KeyError):
        fill_templates({"a": "{x}"}, {})


def test_six_digits_go_to_the_browser():
    assert (round_for_browser(123456789.0), round_for_browser(1 / 3)) == (123457000.0, 0.333333)
